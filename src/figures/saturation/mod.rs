//! Throughput of one GPU against the tokens of its micro-batch.

mod shown;

use bmax::Field;
use leptos::prelude::*;

use crate::components::{Assumed, Column, DataTable, Fold, Key, Legend, NumberField, Plot, Scrub, Slider};
use crate::site::{State, derived, read};
use shown::{DOUBLINGS, Shown};

/// Both ends of the slider, in doublings of one token.
const ENDS: (f64, f64) = (0.0, DOUBLINGS as f64);

static KEYS: [Key; 4] = [
    Key::new("series-own legend-line", "computing takes longer than reading"),
    Key::new("batches-band", "down to where each waits for the other"),
    Key::new("legend-mark", "your micro-batch"),
    Key::new("legend-mark is-read", "read-out"),
];

static COLUMNS: [Column; 3] =
    [Column::words("Tokens"), Column::words("Part of the roof"), Column::words("Tokens a second, at least")];

/// The curve with the ridge, where computing takes over from reading.
#[component]
pub fn Saturation(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let at = RwSignal::new(6.0);
    let shown = Memo::new(move |_| state.asked(|scenario| Shown::of(scenario, at.get())));
    let spoken = Signal::derive(move || shown.with(|shown| shown.reading.spoken()));
    view! {
        <div class="live-controls">
            <NumberField input=state.field(Field::Batch) id="saturation-b" help=const { Field::Batch.help() }/>
            <NumberField input=state.field(Field::Sequence) id="saturation-s" help=const { Field::Sequence.help() }/>
            <Slider id="saturation-at" value=at ends=ENDS step=0.25 text=spoken>
                "Read off at (doublings of one)"
            </Slider>
        </div>
        <Answer shown/>
        <Assumed text=derived(shown, |shown| &shown.assumed)/>
        <Plot
            plot=derived(shown, |shown| &shown.plot)
            name="roofline"
            label="Throughput rises with the micro-batch up to the ridge, then levels off"
            scrub=Scrub { value: at.into(), ends: ENDS, step: 0.25 }
        />
        <Legend keys=&KEYS/>
        <p class="live-note batches-2">
            "At " <strong class="num" data-testid="at-tokens">{read(shown, |shown| &shown.reading.tokens)}</strong> " "
            {move || shown.with(|shown| shown.reading.noun)} ": "
            <span class="num">{read(shown, |shown| &shown.reading.part)}</span> " of the roof, at least "
            <span class="num" data-testid="at-speed">{read(shown, |shown| &shown.reading.speed)}</span> " tokens a second."
        </p>
        <Fold summary="The same as a table">
            <DataTable
                caption="One GPU, this model"
                name="tokens"
                label="Throughput against the micro-batch"
                columns=&COLUMNS
                rows=derived(shown, |shown| &shown.rows)
            />
        </Fold>
    }
}

/// What the configuration's own micro-batch reaches.
#[component]
fn Answer(shown: Memo<Shown>) -> impl IntoView {
    view! {
        <p class="live-note batches-4">
            "Your micro-batch of " <span class="num">{read(shown, |shown| &shown.batch)}</span> " · "
            <span class="num">{read(shown, |shown| &shown.sequence)}</span> " = "
            <strong class="num" data-testid="tokens">{read(shown, |shown| &shown.tokens)}</strong> " "
            {move || shown.with(|shown| shown.noun)} ", against a ridge of "
            <strong class="num" data-testid="ridge">{read(shown, |shown| &shown.ridge)}</strong> ", keeps the GPU at "
            <strong class="num">{read(shown, |shown| &shown.part)}</strong>
            " of what it reaches in training: at least "
            <span class="num">{read(shown, |shown| &shown.speed)}</span> " sequences a second. "
            {move || shown.with(|shown| shown.advice)}
        </p>
    }
}
