//! Lengths that vary: how they are spread, what padding costs, and when a run fails.

mod shown;

use bmax::{Batching, Field};
use leptos::prelude::*;

use crate::components::{DataTable, Fold, Key, Legend, Model, NumberField, Plot, Slider};
use crate::site::{State, derived, read};
use shown::{COLUMNS, Pasted, Ways};

static KEYS: [Key; 3] = [
    Key::new("lengths-real", "tokens of sequences"),
    Key::new("lengths-padding", "padding"),
    Key::new("lengths-unused", "room kept for the worst micro-batch"),
];

/// The parts of a bar, in the order of its shares.
const PARTS: [&str; 3] = ["lengths-real", "lengths-padding", "lengths-unused"];

/// Four ways beside each other, and the micro-batch that fails sometime.
#[component]
pub fn Lengths(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let pasted = RwSignal::new(Pasted::default());
    let ways =
        Memo::new(move |_| pasted.with(|pasted| state.asked(|scenario| Ways::of(scenario, pasted.sample.as_ref()))));
    view! {
        <div class="live-controls lengths-controls">
            <NumberField input=state.field(Field::LengthMedian) id="lengths-median"/>
            <NumberField input=state.field(Field::LengthP95) id="lengths-p95"/>
            <NumberField input=state.field(Field::LengthMax) id="lengths-max"/>
        </div>
        <Paste state pasted/>
        <p class="live-note lengths-note" data-testid="worst">{read(ways, |ways| &ways.worst)}</p>
        <Bars ways/>
        <Legend keys=&KEYS/>
        <Drawings ways/>
        <Fold summary="The four ways as a table">
            <DataTable
                caption="Tokens of a micro-batch, each way at the largest that always fits"
                name="ways"
                label="Ways of making micro-batches"
                columns=&COLUMNS
                rows=derived(ways, |ways| &ways.rows)
            />
        </Fold>
    }
}

/// Lengths of the reader's own data, which stay in the page.
#[component]
fn Paste(state: State, pasted: RwSignal<Pasted>) -> impl IntoView {
    let typed = move |event| {
        let read = Pasted::of(&event_target_value(&event));
        if let Some(sample) = &read.sample {
            state.change(|mut scenario| {
                scenario.lengths = sample.told(scenario.lengths);
                scenario
            });
        }
        pasted.set(read);
    };
    let says = move || pasted.with(|pasted| pasted.says.clone());
    let is_wrong = move || pasted.with(|pasted| pasted.is_wrong);
    view! {
        <Fold summary="Paste the lengths of your own data" name="lengths-paste">
            <div class="field">
                <label for="lengths-text">"Tokens of each sequence"</label>
                <textarea
                    id="lengths-text"
                    rows="6"
                    spellcheck="false"
                    autocapitalize="off"
                    autocomplete="off"
                    aria-describedby="lengths-help lengths-says"
                    aria-invalid=move || is_wrong().to_string()
                    on:input=typed
                ></textarea>
                <p class="field-help" id="lengths-help">
                    "One length a line, a length and how often it occurs, or lengths with commas between them. They set the three numbers above. This page reads them and sends them nowhere."
                </p>
            </div>
            <p class="lengths-says" id="lengths-says" role="status">
                <span class:field-error=is_wrong data-testid="says">{says}</span>
            </p>
        </Fold>
    }
}

/// Each way at the largest micro-batch that always fits.
#[component]
fn Bars(ways: Memo<Ways>) -> impl IntoView {
    let bar = move |at: usize| {
        let share = move |part: usize| move || ways.with(|ways| ways.bars[at].shares[part].clone());
        let part = move |(place, class): (usize, &'static str)| {
            view! { <span class=class style=("--share", share(place))></span> }
        };
        view! {
            <li>
                <span class="lengths-name">{move || ways.with(|ways| ways.bars[at].name)}</span>
                <span class="lengths-bar" aria-hidden="true">{PARTS.into_iter().enumerate().map(part).collect_view()}</span>
                <span class="lengths-says num">{move || ways.with(|ways| ways.bars[at].says.clone())}</span>
            </li>
        }
    };
    view! { <ul class="lengths-bars">{(0..Batching::varied().count()).map(bar).collect_view()}</ul> }
}

/// How lengths are spread, and how many runs have failed by each step.
#[component]
fn Drawings(ways: Memo<Ways>) -> impl IntoView {
    let chosen = RwSignal::new(None);
    let shown = Memo::new(move |_| ways.with(|ways| ways.trial(chosen.get())));
    let batch = Signal::derive(move || shown.with(|shown| shown.batch));
    let value = Model::new(batch, move |batch| chosen.set(Some(batch)));
    let ends = Signal::derive(move || ways.with(|ways| ways.ends));
    let text = derived(shown, |shown| &shown.batch_text);
    view! {
        <Slider id="lengths-batch" value ends text shown=true>
            "Micro-batch of a padded run"
        </Slider>
        <p class="live-note lengths-note" id="lengths-fails" data-testid="fails">
            {read(shown, |shown| &shown.fails)}
        </p>
        <div class="lengths-drawings">
            <Plot
                plot=derived(shown, |shown| &shown.failed)
                name="failed"
                label="Runs that have failed by each optimizer step"
                described_by="lengths-fails"
                class="lengths-plot"
            />
            <Plot
                plot=derived(shown, |shown| &shown.spread)
                name="spread"
                label="Sequences up to each length"
                class="lengths-plot"
            />
        </div>
        <p class="field-help">
            "The other chart shows how lengths are spread: "
            <span data-testid="whose">{move || ways.with(|ways| ways.whose)}</span> ", cut to S."
        </p>
    }
}
