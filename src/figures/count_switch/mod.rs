//! The switch between the three counts, with what each makes of the configuration.

mod shown;

use bmax::{Choice, Method, Scenario};
use leptos::prelude::*;

use crate::components::{Model, Segmented};
use crate::site::State;
use shown::{COUNTS, Shown, name};

/// Whose count the figures of the page show, and the answers of all three beside each other.
#[component]
pub fn CountSwitch(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let shown = Memo::new(move |_| state.read(Shown::of));
    let method = Signal::derive(move || state.asked(|scenario| scenario.method));
    let pick = move |method| state.change(|scenario| Scenario { method, ..scenario });
    view! {
        <div class="count-switch">
            <Segmented
                id="count"
                legend="Counted by"
                options=COUNTS.map(|method| (method, name(method)))
                value=Model::new(method, pick)
            />
            <ul class="counts">{COUNTS.map(|method| view! { <Count shown method/> }).collect_view()}</ul>
        </div>
    }
}

/// The largest micro-batch by one count, and what the chosen one takes.
#[component]
fn Count(shown: Memo<Shown>, method: Method) -> impl IntoView {
    let of = move |of: fn(&shown::Count) -> &String| move || shown.with(|shown| of(shown.by(method)).clone());
    view! {
        <li
            class="count"
            data-testid=format!("count-{}", method.key())
            data-chosen=move || shown.with(|shown| shown.by(method).chosen.to_string())
        >
            <p class="soft small">{name(method)}</p>
            <p class="count-most num">{of(|count| &count.most)}</p>
            <p class="soft small num">{of(|count| &count.takes)}</p>
        </li>
    }
}
