//! Inside one training step.

mod overlaid;
mod overlay;
mod shown;

use bmax::Evaluation;
use leptos::prelude::*;

use crate::components::{Column, DataTable, Fold, Legend, Plot, Scrub, Segmented, Slider};
use crate::figures::stacked::{BANDS, KEYS, columns, policies};
use crate::site::{State, derived, read};
use overlay::StepOverlay;
use shown::{Curve, Reading};

/// Both ends of the slider, in parts of a step: two steps.
const ENDS: (f64, f64) = (0.0, 400.0);
/// Where the slider starts: at the peak of the default.
const START: f64 = 268.0;

static COLUMNS: [Column; 10] = columns(Column::words("Moment"));

/// Two steps of this configuration as a curve, one moment of them read off, and one step with another recomputation over
/// it.
#[component]
pub fn Step(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let policy = RwSignal::new(None);
    let micro_batches = RwSignal::new(None);
    let evaluation = RwSignal::new(None);
    let at = RwSignal::new(START);
    let curve =
        Memo::new(move |_| state.read(|facts| Curve::of(facts, policy.get(), micro_batches.get(), evaluation.get())));
    let reading = Memo::new(move |_| curve.with(|curve| curve.reading(at.get())));
    let plot = Memo::new(move |_| curve.with(|curve| curve.plot(at.get())));
    view! {
        <div class="live-controls">
            <Segmented id="step-policy" legend="Recomputation" options=policies() value=policy/>
            <Segmented
                id="step-micro"
                legend="Micro-batches per step"
                options=[(None, "Yours"), (Some(1), "1"), (Some(2), "2"), (Some(4), "4")]
                value=micro_batches
            />
            <Segmented
                id="step-outside"
                legend="Outside the step"
                options=[(None, "Yours"), (Some(Evaluation::Logits), "Evaluation with logits")]
                value=evaluation
            />
        </div>
        <Notes curve/>
        <Plot
            plot
            name="memory"
            label="Memory by bucket over two training steps"
            described_by="step-notes"
            scrub=Scrub { value: at.into(), ends: ENDS, step: 1.0 }
            class="step-plot"
        />
        <Legend keys=&KEYS/>
        <Slider id="step-at" value=at ends=ENDS text=Signal::derive(move || reading.with(Reading::spoken))>
            "Moment "<span class="soft">"(or drag across the drawing)"</span>
        </Slider>
        <Jumps curve at/>
        <p class="live-note step-moment" data-testid="moment">{read(reading, |reading| &reading.words)}</p>
        <Readout reading/>
        <Fold summary="The moments as a table">
            <DataTable
                caption="GiB alive at every named moment of two steps"
                name="moments"
                label="Memory at every named moment"
                columns=&COLUMNS
                rows=derived(curve, |curve| &curve.rows)
            />
        </Fold>
        <StepOverlay state policy micro_batches/>
    }
}

/// What is to be said about the whole curve.
#[component]
fn Notes(curve: Memo<Curve>) -> impl IntoView {
    let missing = move || match curve.with(|curve| curve.missing.clone()) {
        Some(missing) => format!("Before its optimizer step, {missing} of optimizer state do not exist."),
        None => "Its optimizer step adds no state, so both steps are alike.".to_owned(),
    };
    let remark = |remark: String| view! { <p class="live-note">{remark}</p> };
    view! {
        <div class="step-notes" id="step-notes">
            <p class="live-note">
                "The highest moment is " <strong data-testid="peak-name">{read(curve, |curve| &curve.peak_name)}</strong>
                " of the second step: " <strong data-testid="peak">{read(curve, |curve| &curve.peak)}</strong> " of "
                <span>{read(curve, |curve| &curve.usable_text)}</span> " usable. The first step reaches "
                <strong data-testid="first">{read(curve, |curve| &curve.first)}</strong> ". " {missing}
            </p>
            {move || curve.with(|curve| curve.remarks.clone()).into_iter().map(remark).collect_view()}
        </div>
    }
}

/// The ways from one named moment to another.
#[component]
fn Jumps(curve: Memo<Curve>, at: RwSignal<f64>) -> impl IntoView {
    let jump = move |name: &'static str, to: fn(&Curve, f64) -> f64| {
        let press = move |_| at.update(|at| *at = curve.with_untracked(|curve| to(curve, *at)));
        view! { <button type="button" class="button button-quiet button-small" on:click=press>{name}</button> }
    };
    view! {
        <div class="button-row">
            {jump("Go to the peak", |curve, _| curve.peak_at())}
            {jump("Moment before", Curve::before)}
            {jump("Moment after", Curve::after)}
        </div>
    }
}

/// What is alive at the moment that is read off.
#[component]
fn Readout(reading: Memo<Reading>) -> impl IntoView {
    let size = move |at: usize| {
        let bucket = BANDS[at];
        view! {
            <div class=format!("bucket-{}", bucket.key())>
                <dt>{bucket.name()}</dt>
                <dd data-testid=bucket.key()>{move || reading.with(|reading| reading.sizes[at].clone())}</dd>
            </div>
        }
    };
    view! {
        <dl class="step-readout">
            {(0..BANDS.len()).map(size).collect_view()}
            <div class="step-total">
                <dt>"Together"</dt>
                <dd data-testid="total">{read(reading, |reading| &reading.total)}</dd>
            </div>
        </dl>
    }
}
