use leptos::prelude::*;

/// A value that a control shows and sets, wherever it lives.
pub struct Model<T: Send + Sync + 'static> {
    value: Signal<T>,
    set: Callback<T>,
}

// Derived, these would ask the same of the value.
impl<T: Send + Sync + 'static> Clone for Model<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Send + Sync + 'static> Copy for Model<T> {}

impl<T: Clone + Send + Sync + 'static> Model<T> {
    /// A value that is read from one place and written by a function, as the inputs of the scenario are.
    pub fn new(value: Signal<T>, set: impl Fn(T) + Send + Sync + 'static) -> Self {
        Self { value, set: Callback::new(set) }
    }

    /// The value; whatever reads it here runs again when it changes.
    pub fn get(self) -> T {
        self.value.get()
    }

    /// The value as an event handler reads it.
    pub fn peek(self) -> T {
        self.value.get_untracked()
    }

    /// Sets the value.
    pub fn set(self, value: T) {
        self.set.run(value);
    }
}

impl<T: Clone + Send + Sync + 'static> From<RwSignal<T>> for Model<T> {
    fn from(signal: RwSignal<T>) -> Self {
        Self::new(signal.into(), move |value| signal.set(value))
    }
}
