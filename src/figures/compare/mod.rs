//! Configurations side by side: those that the reader has pinned, and the present one.

mod shown;

use bmax::link::Pinned;
use bmax::{Choice, Optimizer, Recomputation, ZeroStage};
use bmax::{Field, Scenario, setting};
use leptos::html::Button;
use leptos::prelude::*;
use leptos_use_fn_debounce_throttle::use_debounce_fn;

use crate::components::{Column, DataTable, MemoryBar, MemoryLegend, NumberField, SettingField};
use crate::site::{State, derived, read};
use shown::{LETTERS, Role, SIDES, Shown, Side, example};

static COLUMNS: [Column; 5] = [
    Column::words("Entry"),
    // A phone shows this one without scrolling.
    Column::numbers("Last − A"),
    Column::numbers("A"),
    Column::numbers("Last"),
    Column::words("Bucket"),
];

/// The verdict is spoken once the reader has stopped changing it for so long, in milliseconds; it follows the answer
/// of the bar at the top, which waits for 800.
const SETTLE: f64 = 1_200.0;

/// What the parts of the figure share.
#[derive(Clone, Copy)]
struct Comparing {
    state: State,
    shown: Memo<Shown>,
    /// What is told to who does not see the figure.
    spoken: RwSignal<String>,
    /// The button that is always there: the keyboard goes on from it where the pressed one is gone.
    pin: NodeRef<Button>,
}

impl Comparing {
    fn pin(self) {
        self.spoken.set(self.state.pin().to_owned());
    }

    fn set(self, pinned: Pinned, now: Scenario) {
        self.state.pinned.set(pinned);
        self.state.scenario.set(now);
        self.focus();
    }

    fn clear(self) {
        self.state.pinned.set(Pinned::NONE);
        self.focus();
    }

    /// Lets go of that at a place. The next one takes the place, and the focus stays in it.
    fn remove(self, at: usize) {
        let pinned = self.state.pinned.get_untracked().without(at);
        self.state.pinned.set(pinned);
        if at >= pinned.len() {
            self.focus();
        }
    }

    fn go_back(self, at: usize) {
        if let Some(pinned) = self.state.pinned.get_untracked().get(at) {
            self.state.scenario.set(*pinned);
        }
    }

    fn focus(self) {
        if let Some(pin) = self.pin.get_untracked() {
            _ = pin.focus();
        }
    }
}

/// What is pinned, what is different now, and what that gives.
#[component]
pub fn Compare(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let shown = Memo::new(move |_| {
        let pinned = state.beside.get();
        state.asked(|scenario| Shown::of(scenario, &pinned))
    });
    let comparing = Comparing { state, shown, spoken: RwSignal::new(String::new()), pin: NodeRef::new() };
    view! {
        <p class="live-note" data-testid="about">{read(shown, |shown| &shown.about)}</p>
        <Buttons comparing/>
        <Controls state/>
        <p class="compare-verdict" data-testid="verdict">{read(shown, |shown| &shown.verdict)}</p>
        <Spoken comparing/>
        <div class="compare-sides">{(0..SIDES).map(|at| view! { <OneSide comparing at/> }).collect_view()}</div>
        {(1..SIDES).map(|at| view! { <Changes shown at/> }).collect_view()}
        <DataTable
            caption="One GPU at the peaks of A and of the last one, in GiB: what differs most comes first"
            name="entries"
            label="Entries of A and of the last one"
            columns=&COLUMNS
            rows=derived(shown, |shown| &shown.rows)
            class="compare-table"
        />
    }
}

/// Pins the present configuration, and lets go of all; and an example for a first look. They follow the button pattern with
/// the browser's own buttons: <https://www.w3.org/WAI/ARIA/apg/patterns/button/>.
#[component]
fn Buttons(comparing: Comparing) -> impl IntoView {
    let is_pinned = move || comparing.shown.with(|shown| shown.is_pinned);
    let try_example = move |_| {
        let now = comparing.state.scenario.get_untracked();
        comparing.set(Pinned::from(now), example(&now));
    };
    view! {
        <div class="button-row">
            <button
                type="button"
                class="button"
                data-testid="pin"
                node_ref=comparing.pin
                aria-disabled=move || comparing.shown.with(|shown| shown.is_full).then_some("true")
                on:click=move |_| comparing.pin()
            >
                "Pin this configuration"
            </button>
            <button type="button" class="button button-quiet" hidden=is_pinned on:click=try_example>
                "Pin it and try the example"
            </button>
            <button
                type="button"
                class="button button-quiet"
                hidden=move || !is_pinned()
                on:click=move |_| comparing.clear()
            >
                "Clear"
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
/// <https://www.w3.org/WAI/WCAG22/Techniques/aria/ARIA22>.
#[component]
fn Spoken(comparing: Comparing) -> impl IntoView {
    let Comparing { shown, spoken, .. } = comparing;
    // Of what the example shows there is no news, only that it is one.
    let news = move || {
        shown.with(|shown| if shown.is_pinned { shown.verdict.clone() } else { "Nothing is pinned.".to_owned() })
    };
    let speak = use_debounce_fn(move || spoken.set(untrack(news)), SETTLE);
    Effect::watch(news, move |_, _, _| _ = speak(), false);
    // As a property it leaves the element empty while there is nothing to say.
    view! {
        <p class="visually-hidden" role="status" data-testid="spoken" prop:textContent=move || spoken.get()></p>
    }
}

/// One of them: what it is, its answer, and its memory at its own peak. A place that is not taken is hidden.
#[component]
fn OneSide(comparing: Comparing, at: usize) -> impl IntoView {
    let (shown, letter) = (comparing.shown, LETTERS[at]);
    let text = move |of: fn(&Side) -> &String| move || shown.with(|shown| of(shown.side(at)).clone());
    let role = move || shown.with(|shown| shown.side(at).role);
    let name = move || role().name();
    let bar = Signal::derive(move || shown.with(|shown| shown.side(at).bar.clone()));
    let is_absent = move || shown.with(|shown| at >= shown.sides.len());
    view! {
        <div class="compare-side" role="group" aria-label=move || format!("{letter}: {}", name()) hidden=is_absent>
            <p class="compare-name">
                <strong>{letter}</strong>" "<span data-testid=format!("name-{letter}")>{name}</span>
            </p>
            <p class="compare-caption" data-testid=format!("caption-{letter}")>{text(|side| &side.caption)}</p>
            <p class="small soft">{text(|side| &side.configuration)}</p>
            <p class="num">
                <i>"b"</i><sub>"max"</sub>": "
                <strong data-testid=format!("answer-{letter}")>{text(|side| &side.answer)}</strong>
                <span class="soft">" · bar at "<i>"b"</i>" = "<span>{text(|side| &side.batch)}</span></span>
            </p>
            <p class="small" data-testid=format!("reason-{letter}")>{move || shown.with(|shown| shown.side(at).reason.clone())}</p>
            <div><MemoryBar bar/></div>
            <div><MemoryLegend bar/></div>
            <div class="button-row" hidden=move || role() != Role::Pinned>
                <SideButton comparing at label="Go back to " press=Comparing::go_back/>
                <SideButton comparing at label="Remove " press=Comparing::remove/>
            </div>
        </div>
    }
}

/// A button of one of them.
#[component]
fn SideButton(comparing: Comparing, at: usize, label: &'static str, press: fn(Comparing, usize)) -> impl IntoView {
    view! {
        <button type="button" class="button button-quiet button-small" on:click=move |_| press(comparing, at)>
            {label}
            {LETTERS[at]}
        </button>
    }
}

/// The inputs of one that differ from the first.
#[component]
fn Changes(shown: Memo<Shown>, at: usize) -> impl IntoView {
    let changes = Memo::new(move |_| {
        shown.with(|shown| shown.sides.get(at).map(|side| side.changes.clone())).unwrap_or_default()
    });
    let (letter, id) = (LETTERS[at], format!("compare-changes-{at}"));
    let line = |line: String| view! { <li>{line}</li> };
    view! {
        <div class="compare-changes" hidden=move || changes.with(Vec::is_empty)>
            <p class="figure-part" id=id.clone()>{format!("What changes from A to {letter}")}</p>
            <ul aria-labelledby=id data-testid=format!("changes-{letter}")>
                {move || changes.get().into_iter().map(line).collect_view()}
            </ul>
        </div>
    }
}
