//! One scenario, one estimate.
//!
//! Every control writes the scenario and every figure reads it or what follows from it, so two
//! figures can never disagree. What only one figure needs to know (a hover, an open panel) is a
//! signal of that figure.

use bmax::link::{self, Notice};
use bmax::{Answer, ChoiceOption, Estimate, Field, Method, Problem, Scenario, Setting, b_max, estimate};
use leptos::prelude::*;

use super::address;

/// What is asked and all that follows from it, in one piece.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// What is asked.
    pub scenario: Scenario,
    /// The defaults of the chosen catalogue rows, against which controls are marked as changed.
    pub base: Scenario,
    /// The ledger at the scenario's micro-batch.
    pub estimate: Estimate,
    /// The largest micro-batch.
    pub answer: Answer,
    /// The method that is not chosen.
    pub other_method: Method,
    /// The largest micro-batch by that method.
    pub other_answer: Answer,
}

impl Facts {
    fn of(scenario: Scenario) -> Self {
        let other_method = match scenario.method {
            Method::Workshop => Method::Paper,
            Method::Paper => Method::Workshop,
        };
        Self {
            scenario,
            base: link::base_of(&scenario),
            estimate: estimate(&scenario),
            answer: b_max(&scenario),
            other_method,
            other_answer: b_max(&Scenario { method: other_method, ..scenario }),
        }
    }
}

/// The shared state. It is a handful of handles and is passed by value.
#[derive(Clone, Copy)]
pub struct State {
    /// What is asked.
    pub scenario: RwSignal<Scenario>,
    /// What follows from it.
    pub facts: Memo<Facts>,
    /// What was wrong with the link the page was opened by.
    pub notices: RwSignal<Vec<Notice>>,
}

/// A numeric input of the scenario, as controls take it.
#[derive(Clone, Copy)]
pub struct FieldHandle {
    /// Which input it is: its name, unit and range.
    pub field: Field,
    /// Its value.
    pub value: Signal<f64>,
    /// The value it has when nobody changed it.
    pub default: Signal<f64>,
    /// Writes what the reader typed; a refused text lets the default stand in and comes back as the
    /// problem to show.
    pub write: Callback<String, Result<(), Problem>>,
}

/// An input of the scenario that is picked from a list, as controls take it.
#[derive(Clone, Copy)]
pub struct SettingHandle {
    /// What it is called.
    pub name: &'static str,
    /// Its options.
    pub options: &'static [ChoiceOption],
    /// The word of the chosen option.
    pub value: Signal<&'static str>,
    /// The word it has when nobody changed it.
    pub default: Signal<&'static str>,
    /// Picks the option with this word; an unknown word changes nothing.
    pub write: Callback<String>,
}

impl SettingHandle {
    /// The option with this word.
    pub fn option(self, key: &str) -> Option<&'static ChoiceOption> {
        self.options.iter().find(|option| option.key == key)
    }

    /// One sentence on what the chosen option changes.
    pub fn effect(self) -> &'static str {
        self.option(self.value.get()).map_or("", |option| option.effect)
    }
}

impl State {
    /// The state that the address of the page describes.
    pub fn from_address() -> Self {
        let read = link::decode(&address::query());
        let scenario = RwSignal::new(read.scenario);
        Self { scenario, facts: Memo::new(move |_| Facts::of(scenario.get())), notices: RwSignal::new(read.notices) }
    }

    /// Reads the facts; whatever reads them here runs again when they change.
    pub fn read<T>(self, read: impl FnOnce(&Facts) -> T) -> T {
        self.facts.with(read)
    }

    /// Reads the facts once, as an event handler does.
    pub fn peek<T>(self, read: impl FnOnce(&Facts) -> T) -> T {
        self.facts.with_untracked(read)
    }

    /// Changes the scenario by a function of its value.
    pub fn change(self, change: impl FnOnce(Scenario) -> Scenario) {
        self.scenario.update(|scenario| *scenario = change(*scenario));
    }

    /// The handle of a numeric input.
    pub fn field(self, field: Field) -> FieldHandle {
        FieldHandle {
            field,
            value: Memo::new(move |_| self.scenario.with(|scenario| scenario.number(field))).into(),
            default: Memo::new(move |_| self.read(|facts| facts.base.number(field))).into(),
            write: Callback::new(move |text: String| {
                let read = field.read(&text);
                let value = read.as_ref().copied().unwrap_or_else(|_| self.peek(|facts| facts.base.number(field)));
                // Both a value that was read and a default lie in the declared range.
                if let Ok(with) = self.scenario.get_untracked().with_number(field, value) {
                    self.scenario.set(with);
                }
                read.map(|_| ())
            }),
        }
    }

    /// The handle of an input with a list of values.
    pub fn setting(self, setting: &'static Setting) -> SettingHandle {
        SettingHandle {
            name: setting.name,
            options: setting.options,
            value: Memo::new(move |_| self.scenario.with(setting.get)).into(),
            default: Memo::new(move |_| self.read(|facts| (setting.get)(&facts.base))).into(),
            write: Callback::new(move |word: String| {
                let mut changed = self.scenario.get_untracked();
                if (setting.set)(&mut changed, &word) {
                    self.scenario.set(changed);
                }
            }),
        }
    }
}
