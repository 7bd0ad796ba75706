//! What stands above the groups: the way to one setting, and those that are changed.

use bmax::Scenario;
use bmax::compare::{Input, Value};
use leptos::prelude::*;

use super::sieve::Sieve;
use super::{Form, Home};
use crate::site::{self, State, format};

/// The field that finds a setting. It says how many there are as a status message:
/// <https://www.w3.org/WAI/WCAG22/Techniques/aria/ARIA22>.
#[component]
pub fn Finder(form: Form) -> impl IntoView {
    let Sieve { text, found } = form.sieve;
    let said = form.id("found");
    let name = move |name: &'static str| {
        view! {
            <button type="button" class="button button-quiet button-small" on:click=move |_| text.set(name.to_owned())>
                {name}
            </button>
        }
    };
    view! {
        <div class="field form-find">
            <label for=form.id("find")>"Find a setting"</label>
            <input
                id=form.id("find")
                type="search"
                // A drawer that opens gives it the focus.
                autofocus=form.home == Home::Drawer
                autocomplete="off"
                spellcheck="false"
                aria-describedby=said.clone()
                prop:value=move || text.get()
                on:input=move |event| text.set(event_target_value(&event))
            />
            <p class="field-help num" id=said role="status">
                <span prop:textContent=move || found.with(|found| found.said.clone())></span>
            </p>
            <div class="button-row" hidden=move || found.with(|found| found.near.is_empty())>
                <span class="field-help">"Nearest:"</span>
                {move || found.with(|found| found.near.clone()).into_iter().map(name).collect_view()}
            </div>
        </div>
    }
}

/// The settings that differ from their defaults, each with its way back, and the way back from all of them.
#[component]
pub fn Changed(state: State) -> impl IntoView {
    let changed = Memo::new(move |_| state.read(|facts| site::changed(facts).collect::<Vec<_>>()));
    let count = move || match changed.with(Vec::len) {
        0 => "No setting is changed.".to_owned(),
        some => format!("{some} changed:"),
    };
    let as_at_first = move || state.asked(|scenario| *scenario == Scenario::default()).to_string();
    view! {
        <div class="form-changed">
            <span class="field-label num">{count}</span>
            <ul>{move || changed.get().into_iter().map(|input| one(state, input)).collect_view()}</ul>
            <button
                type="button"
                class="button button-quiet button-small"
                aria-disabled=as_at_first
                on:click=move |_| state.change(|_| Scenario::default())
            >
                "Reset everything"
            </button>
        </div>
    }
}

/// One of them, with its value.
fn one(state: State, input: Input) -> impl IntoView {
    // The field says its unit; of one it would be in the plural here.
    let value = move || match state.asked(|scenario| input.value(scenario)) {
        Value::Number(number) => format::input(number),
        word @ Value::Word(_) => format::bare(input, word),
    };
    let label = format!("Reset {} to its default", input.name());
    view! {
        <li>
            {input.name()} " " <span class="num">{value}</span>
            <button type="button" class="button button-quiet reset" aria-label=label on:click=move |_| state.reset(input)>
                "↺"
            </button>
        </li>
    }
}
