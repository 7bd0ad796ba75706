//! Two configurations side by side: the one that the reader has pinned, and the present one.

mod shown;

use bmax::{Choice, Optimizer, Recomputation, ZeroStage};
use bmax::{Field, Scenario, setting};
use leptos::html::Button;
use leptos::prelude::*;
use leptos_use_fn_debounce_throttle::use_debounce_fn;

use crate::components::{Column, DataTable, MemoryBar, MemoryLegend, NumberField, SettingField};
use crate::site::{State, derived, read};
use shown::{Shown, Side, example};

static COLUMNS: [Column; 5] = [
    Column::words("Entry"),
    // A phone shows this one without scrolling.
    Column::numbers("B − A"),
    Column::numbers("A"),
    Column::numbers("B"),
    Column::words("Bucket"),
];

/// The verdict is spoken once the reader has stopped changing it for so long, in milliseconds; it follows the answer
/// of the bar at the top, which waits for 800.
const SETTLE: f64 = 1_200.0;

/// What is pinned, what changed since, and what that gives.
#[component]
pub fn Compare(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let shown = Memo::new(move |_| {
        let pinned = state.beside.get();
        state.asked(|scenario| Shown::of(scenario, pinned.as_ref()))
    });
    view! {
        <p class="live-note" data-testid="about">{read(shown, |shown| &shown.about)}</p>
        <Buttons state shown/>
        <Controls state/>
        <p class="compare-verdict" data-testid="verdict">{read(shown, |shown| &shown.verdict)}</p>
        <Spoken shown/>
        <div class="compare-sides">
            <OneSide shown at=0 letter="A"/>
            <OneSide shown at=1 letter="B"/>
        </div>
        <Changes shown/>
        <DataTable
            caption="One GPU at the two peaks, in GiB: what differs most comes first"
            name="entries"
            label="Entries of A and B"
            columns=&COLUMNS
            rows=derived(shown, |shown| &shown.rows)
            class="compare-table"
        />
    }
}

/// Pins the present configuration, lets go of it, and goes back to it; and an example for a first look. They follow the
/// button pattern with the browser's own buttons: <https://www.w3.org/WAI/ARIA/apg/patterns/button/>.
#[component]
fn Buttons(state: State, shown: Memo<Shown>) -> impl IntoView {
    let pin = NodeRef::<Button>::new();
    let is_pinned = move || shown.with(|shown| shown.is_pinned);
    // The pressed button may be gone: the keyboard goes on from the first one.
    let set = move |pinned: Option<Scenario>, now: Scenario| {
        state.pinned.set(pinned);
        state.scenario.set(now);
        if let Some(pin) = pin.get_untracked() {
            _ = pin.focus();
        }
    };
    let now = move || state.scenario.get_untracked();
    view! {
        <div class="button-row">
            <button type="button" class="button" data-testid="pin" node_ref=pin on:click=move |_| set(Some(now()), now())>
                "Pin this configuration"
            </button>
            <button
                type="button"
                class="button button-quiet"
                hidden=is_pinned
                on:click=move |_| set(Some(now()), example(&now()))
            >
                "Pin it and try the example"
            </button>
            <button
                type="button"
                class="button button-quiet"
                hidden=move || !is_pinned()
                on:click=move |_| set(None, now())
            >
                "Clear"
            </button>
            <button
                type="button"
                class="button button-quiet"
                hidden=move || !is_pinned()
                on:click=move |_| {
                    let pinned = state.pinned.get_untracked();
                    set(pinned, pinned.unwrap_or_else(now));
                }
            >
                "Go back to the pinned one"
            </button>
        </div>
    }
}

/// The settings that people change most. All others are on the first page.
#[component]
fn Controls(state: State) -> impl IntoView {
    view! {
        <div class="live-controls">
            <NumberField input=state.field(Field::Batch) id="compare-b" help=const { Field::Batch.help() }/>
            <NumberField input=state.field(Field::Sequence) id="compare-s" help=const { Field::Sequence.help() }/>
            <NumberField input=state.field(Field::Gpus) id="compare-gpus" help=const { Field::Gpus.help() }/>
            <SettingField handle=state.setting(&setting::RECOMPUTATION, Recomputation::EFFECTS) id="compare-recompute"/>
            <SettingField handle=state.setting(&setting::ZERO, ZeroStage::EFFECTS) id="compare-zero"/>
            <SettingField handle=state.setting(&setting::OPTIMIZER, Optimizer::EFFECTS) id="compare-optimizer"/>
        </div>
    }
}

/// Tells the verdict to who does not see it, by a status message:
/// <https://www.w3.org/WAI/WCAG22/Techniques/aria/ARIA22>. Of an example there is no news.
#[component]
fn Spoken(shown: Memo<Shown>) -> impl IntoView {
    let spoken = RwSignal::new(String::new());
    let news = move || shown.with(|shown| shown.is_pinned.then(|| shown.verdict.clone())).unwrap_or_default();
    let speak = use_debounce_fn(move || spoken.set(untrack(news)), SETTLE);
    Effect::watch(news, move |_, _, _| _ = speak(), false);
    // As a property it leaves the element empty while there is nothing to say.
    view! {
        <p class="visually-hidden" role="status" data-testid="spoken" prop:textContent=move || spoken.get()></p>
    }
}

/// One of the two: what it is, its answer, and its memory at its own peak.
#[component]
fn OneSide(shown: Memo<Shown>, at: usize, letter: &'static str) -> impl IntoView {
    let text = move |of: fn(&Side) -> &String| move || shown.with(|shown| of(&shown.sides[at]).clone());
    let name = move || shown.with(|shown| shown.sides[at].name);
    let bar = Signal::derive(move || shown.with(|shown| shown.sides[at].bar.clone()));
    view! {
        <div class="compare-side" role="group" aria-label=move || format!("{letter}: {}", name())>
            <p class="compare-name">
                <strong>{letter}</strong>" "<span data-testid=format!("name-{letter}")>{name}</span>
            </p>
            <p class="small soft compare-configuration">{text(|side| &side.configuration)}</p>
            <p class="num">
                <i>"b"</i><sub>"max"</sub>": "
                <strong data-testid=format!("answer-{letter}")>{text(|side| &side.answer)}</strong>
                <span class="soft">" · bar at "<i>"b"</i>" = "<span>{text(|side| &side.batch)}</span></span>
            </p>
            <MemoryBar bar/>
            <MemoryLegend bar/>
        </div>
    }
}

/// The inputs that differ.
#[component]
fn Changes(shown: Memo<Shown>) -> impl IntoView {
    let line = |line: String| view! { <li>{line}</li> };
    view! {
        <div class="compare-changes" hidden=move || shown.with(|shown| shown.changes.is_empty())>
            <p class="figure-part" id="compare-changes-title">"What changes from A to B"</p>
            <ul aria-labelledby="compare-changes-title" data-testid="changes">
                {move || shown.with(|shown| shown.changes.clone()).into_iter().map(line).collect_view()}
            </ul>
        </div>
    }
}
