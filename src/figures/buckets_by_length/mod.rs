//! Every bucket of memory against sequence length, one above the other.

mod shown;

use bmax::Precision;
use leptos::prelude::*;

use crate::components::{DataTable, Fold, Legend, Plot, Scrub, Segmented, Slider};
use crate::figures::stacked::{KEYS, policies};
use crate::site::{State, derived, read};
use shown::{COLUMNS, ENDS, Reading, Stack};

/// Where the slider starts: at 4,096 tokens.
const START: f64 = 48.0;

/// The precision that the figure shows: the configuration's, or one of those in which training is taught.
const PRECISIONS: [(Option<Precision>, &str); 4] = [
    (None, "Yours"),
    (Some(Precision::Bf16), "bf16, fp32 master"),
    (Some(Precision::PureBf16), "pure bf16"),
    (Some(Precision::Fp32), "fp32"),
];

/// What a step holds at its peak at every length, and one length read off.
#[component]
pub fn BucketsByLength(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let policy = RwSignal::new(None);
    let precision = RwSignal::new(None);
    let at = RwSignal::new(START);
    let ends = (ENDS.0.into(), ENDS.1.into());
    let stack = Memo::new(move |_| state.asked(|scenario| Stack::of(scenario, policy.get(), precision.get())));
    let reading = Memo::new(move |_| stack.with(|stack| stack.reading(at.get())));
    let plot = Memo::new(move |_| stack.with(|stack| stack.plot(at.get())));
    view! {
        <div class="live-controls">
            <Segmented id="stack-policy" legend="Recomputation" options=policies() value=policy/>
            <Segmented id="stack-precision" legend="Precision" options=PRECISIONS value=precision/>
        </div>
        <Notes stack reading/>
        <Plot
            plot
            name="stack"
            label="Memory by bucket against sequence length, on a logarithmic axis"
            described_by="stack-notes"
            scrub=Scrub { value: at.into(), ends, step: 1.0 }
            class="stack-plot"
        />
        <Legend keys=&KEYS/>
        <Slider id="stack-at" value=at ends text=Signal::derive(move || reading.with(Reading::spoken))>
            "Sequence length "<math><mi>"S"</mi></math>" "
            <span class="soft">"(or drag across the drawing)"</span>
        </Slider>
        <Fold summary="The same as a table">
            <DataTable
                caption="GiB of every bucket at the peak of a step"
                name="stack-rows"
                label="Memory by bucket and sequence length"
                columns=&COLUMNS
                rows=derived(stack, |stack| &stack.rows)
            />
        </Fold>
    }
}

/// What is said: what a length takes, and the longest that fits.
#[component]
fn Notes(stack: Memo<Stack>, reading: Memo<Reading>) -> impl IntoView {
    view! {
        <div class="stack-notes" id="stack-notes">
            <p class="live-note">
                "At "<strong data-testid="stack-tokens">{read(reading, |reading| &reading.tokens)}</strong>
                " tokens a step takes "
                <strong data-testid="stack-total">{read(reading, |reading| &reading.total)}</strong>" of "
                <span>{read(stack, |stack| &stack.usable_text)}</span>" at its peak: "
                <strong data-testid="stack-fixed">{read(reading, |reading| &reading.fixed)}</strong>
                " of parameters, gradients and optimizer state, "
                <strong data-testid="stack-activations">{read(reading, |reading| &reading.activations)}</strong>
                " of activations, " <span>{read(reading, |reading| &reading.logits)}</span> " of logits, and "
                <span>{read(reading, |reading| &reading.rest)}</span> " of the rest. " <span data-testid="stack-verdict">{read(reading, |reading| &reading.verdict)}</span>
            </p>
            <p class="live-note" data-testid="stack-longest">{read(stack, |stack| &stack.longest_text)}</p>
        </div>
    }
}
