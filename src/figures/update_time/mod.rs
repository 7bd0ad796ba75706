//! What accumulation costs in time.

mod shown;

use bmax::Field;
use leptos::prelude::*;

use crate::components::{Assumed, Column, DataTable, Fold, Key, Legend, NumberField, NumberInput, Plot, Scrub, Slider};
use crate::site::{State, derived, read};
use shown::{DOUBLINGS, Shown};

/// Both ends of the slider, in doublings of one step.
const ENDS: (f64, f64) = (0.0, DOUBLINGS as f64);
/// Tokens of a run, in billions: the least and the most that are believed.
const TOKENS: (f64, f64) = (0.001, 1e6);
/// Billions of tokens for a run whose length is no number.
const USUAL: f64 = 10.0;

static KEYS: [Key; 5] = [
    Key::new("series-own legend-line", "time of one optimizer step"),
    Key::new("series-2 legend-line is-dashed", "optimizer steps of the run"),
    Key::new("series-4 legend-line", "time of the run"),
    Key::new("legend-mark", "your target"),
    Key::new("legend-mark is-read", "read-out"),
];

static COLUMNS: [Column; 6] = [
    Column::words("Steps"),
    Column::words("Global batch"),
    Column::words("Optimizer step"),
    Column::words("Each sequence, pair or row"),
    Column::words("Optimizer steps"),
    Column::words("Run"),
];

/// The time of an update and of a run against accumulation steps.
#[component]
pub fn UpdateTime(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let at = RwSignal::new(3.0);
    let tokens = RwSignal::new(USUAL);
    let shown = Memo::new(move |_| state.asked(|scenario| Shown::of(scenario, at.get(), tokens.get())));
    view! {
        <div class="live-controls">
            <Slider id="update-at" value=at ends=ENDS text=Signal::derive(move || shown.with(Shown::spoken))>
                "Accumulation, in doublings"
            </Slider>
            <NumberField
                input=NumberInput::of("Tokens of the run, in billions", TOKENS, USUAL, tokens)
                id="update-tokens"
            />
            <NumberField input=state.field(Field::Batch) id="update-time-b" help=const { Field::Batch.help() }/>
        </div>
        <Answer shown/>
        <Assumed text=derived(shown, |shown| &shown.assumed)/>
        <Plot
            plot=derived(shown, |shown| &shown.plot)
            name="times"
            label="Optimizer steps grow longer and fewer; the run takes the same time"
            scrub=Scrub { value: at.into(), ends: ENDS, step: 1.0 }
        />
        <Legend keys=&KEYS/>
        <p class="live-note batches-2">
            "Your target takes " <strong class="num" data-testid="goal">{read(shown, |shown| &shown.goal)}</strong>
            " of this micro-batch, and an optimizer step "
            <span class="num">{read(shown, |shown| &shown.goal_seconds)}</span> "."
        </p>
        <Fold summary="The same as a table">
            <DataTable
                caption="All GPUs together"
                name="steps"
                label="Time against accumulation steps"
                columns=&COLUMNS
                rows=derived(shown, |shown| &shown.rows)
            />
        </Fold>
    }
}

/// What so many steps take, and the run with them.
#[component]
fn Answer(shown: Memo<Shown>) -> impl IntoView {
    view! {
        <p class="live-note batches-4">
            "With " <strong class="num" data-testid="steps">{read(shown, |shown| &shown.steps)}</strong>
            " " {move || shown.with(|shown| shown.nouns[0])} " an optimizer step of " <span class="num">{read(shown, |shown| &shown.sequences)}</span>
            " " {move || shown.with(|shown| shown.nouns[1])} " takes " <strong class="num" data-testid="seconds">{read(shown, |shown| &shown.seconds)}</strong>
            " (" <span class="num">{read(shown, |shown| &shown.once)}</span> " with one), which is "
            <span class="num" data-testid="each">{read(shown, |shown| &shown.each)}</span> " a "
            {move || shown.with(|shown| shown.unit.one())} ". A run of "
            <span class="num" data-testid="billions">{read(shown, |shown| &shown.billions)}</span>
            " billion tokens has " <span class="num">{read(shown, |shown| &shown.updates)}</span>
            " optimizer steps and takes " <strong class="num" data-testid="run">{read(shown, |shown| &shown.run)}</strong> "."
        </p>
    }
}
