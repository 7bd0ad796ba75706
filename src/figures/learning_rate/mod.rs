//! The learning rate of a larger batch.

mod shown;

use bmax::course::convergence::EPOCHS;
use bmax::course::quoted::GOYAL_BATCH;
use leptos::prelude::*;

use crate::components::{Column, DataTable, Fold, Key, Legend, NumberField, NumberInput, Plot, Scrub, Select, Slider};
use crate::site::{State, derived, read};
use shown::{Asked, Shown};

/// Both ends of the slider, in epochs.
const ENDS: (f64, f64) = (0.0, EPOCHS);
/// The distance of two values of the slider.
const STEP: f64 = 0.5;
/// The batch that the rate was tuned for, and that rate, as long as nothing else is entered.
const TUNED: (f64, f64) = (32.0, 0.1);

/// The batches to scale to: the reader's own, or one that is known.
static GOALS: [(Option<f64>, &str); 2] =
    [(None, "your global batch"), (Some(GOYAL_BATCH.number()), "ImageNet in an hour: 8,192")];

static KEYS: [Key; 3] = [
    Key::new("series-own legend-line", "k times the rate"),
    Key::new("series-2 legend-line is-dashed", "√k times the rate"),
    Key::new("legend-mark", "the batch to scale to"),
];

static COLUMNS: [Column; 3] = [Column::words("Batch"), Column::numbers("Rate · √k"), Column::numbers("Rate · k")];

/// Two rules for the rate of a larger batch, and the schedule that leads there.
#[component]
pub fn LearningRate(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let goal = RwSignal::new(None);
    let (base, rate) = (RwSignal::new(TUNED.0), RwSignal::new(TUNED.1));
    let at = RwSignal::new(2.5);
    let own = move || state.asked(|scenario| f64::from(scenario.target()));
    let asked = move || Asked { base: base.get(), rate: rate.get(), batch: goal.get().unwrap_or_else(own) };
    let shown = Memo::new(move |_| Shown::of(asked(), at.get()));
    let spoken = Signal::derive(move || shown.with(|shown| shown.reading.spoken()));
    view! {
        <div class="live-controls">
            <Select id="rate-goal" label="Batch to scale to" options=GOALS value=goal/>
            <NumberField
                input=NumberInput::of("Batch the rate was tuned for", (1.0, 1e9), TUNED.0, base)
                id="rate-base"
            />
            <NumberField input=NumberInput::of("Learning rate there", (1e-9, 1e3), TUNED.1, rate) id="rate-rate"/>
        </div>
        <Answer shown/>
        <div class="batches-pair">
            <Plot
                plot=derived(shown, |shown| &shown.band)
                name="band"
                label="Learning rate against the batch, by both rules"
            />
            <Plot
                plot=derived(shown, |shown| &shown.schedule)
                name="schedule"
                label="Learning rate over 90 epochs: five of warm-up, then three falls to a tenth"
                scrub=Scrub { value: at.into(), ends: ENDS, step: STEP }
            />
        </div>
        <Legend keys=&KEYS/>
        <Slider id="rate-at" value=at ends=ENDS step=STEP text=spoken>"Moment of the schedule, in epochs"</Slider>
        <Readout shown/>
        <Fold summary="The same as a table">
            <DataTable
                caption="From the batch that the rate was tuned for"
                name="rates"
                label="Learning rate against the batch"
                columns=&COLUMNS
                rows=derived(shown, |shown| &shown.rows)
            />
        </Fold>
    }
}

/// Between which rates the larger batch learns.
#[component]
fn Answer(shown: Memo<Shown>) -> impl IntoView {
    view! {
        <p class="live-note batches-3">
            "From " <span class="num">{read(shown, |shown| &shown.from)}</span> " to "
            <strong class="num">{read(shown, |shown| &shown.to)}</strong> " "
            {move || shown.with(|shown| shown.noun)} ", " <math><mi>"k"</mi></math> " is "
            <span class="num" data-testid="times">{read(shown, |shown| &shown.times)}</span> " and its root "
            <span class="num">{read(shown, |shown| &shown.root)}</span> ": a learning rate between "
            <strong class="num" data-testid="low">{read(shown, |shown| &shown.low)}</strong> " and "
            <strong class="num" data-testid="high">{read(shown, |shown| &shown.high)}</strong> "."
        </p>
    }
}

/// The rates at the moment that is read off.
#[component]
fn Readout(shown: Memo<Shown>) -> impl IntoView {
    view! {
        <p class="live-note batches-2">
            "At epoch " <span class="num" data-testid="epoch">{read(shown, |shown| &shown.reading.epoch)}</span>
            " the rate is " <strong class="num">{read(shown, |shown| &shown.reading.slow)}</strong>
            " by the root and "
            <strong class="num" data-testid="fast">{read(shown, |shown| &shown.reading.fast)}</strong>
            " by the linear rule."
        </p>
    }
}
