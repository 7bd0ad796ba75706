//! One step with recomputation and one without, in one drawing.

use bmax::{Choice, Recomputation};
use leptos::prelude::*;

use super::overlaid::{COLUMNS, Overlay, PARTS};
use crate::components::{DataTable, Fold, Key, Legend, Model, Plot, Scrub, Segmented, Slider};
use crate::site::{State, derived, read};

/// Where the slider starts: half-way through the backward pass.
const START: f64 = 2.0 * PARTS;

static KEYS: [Key; 3] = [
    Key::new("step-own series-own", "the curve above"),
    Key::new("legend-line series-4 is-dashed", "compared with it"),
    Key::new("legend-line step-usable", "usable GPU memory"),
];

/// The step of the curve above over the work it takes, and over it the same step with another recomputation.
#[component]
pub fn StepOverlay(
    /// The shared state.
    state: State,
    /// The recomputation of the curve above; nothing for the configuration's.
    policy: RwSignal<Option<Recomputation>>,
    /// Its micro-batches; nothing for the configuration's.
    micro_batches: RwSignal<Option<u32>>,
) -> impl IntoView {
    let compared = RwSignal::new(None);
    let at = RwSignal::new(START);
    let overlay =
        Memo::new(move |_| state.read(|facts| Overlay::of(facts, policy.get(), micro_batches.get(), compared.get())));
    let plot = Memo::new(move |_| overlay.with(|overlay| overlay.plot(at.get())));
    let reading = Memo::new(move |_| overlay.with(|overlay| overlay.reading(at.get())));
    let ends = Memo::new(move |_| overlay.with(Overlay::ends));
    let options = [Recomputation::None, Recomputation::Selective, Recomputation::Full];
    let chosen = Signal::derive(move || overlay.with(Overlay::compared));
    view! {
        <div class="step-overlay">
            <div class="live-controls">
                <Segmented
                    id="step-compared"
                    legend="Compare it with recomputation"
                    options=options.map(|policy| (policy, policy.label()))
                    value=Model::new(chosen, move |policy| compared.set(Some(policy)))
                />
            </div>
            <p class="live-note step-words" id="step-words" data-testid="overlay-words">
                {read(overlay, |overlay| &overlay.words)}
            </p>
            <Plot
                plot
                name="overlay"
                label="Memory over one step with both kinds of recomputation"
                described_by="step-words"
                scrub=Scrub { value: at.into(), ends: Signal::<(f64, f64)>::from(ends), step: 1.0 }
                class="step-plot"
            />
            <Legend keys=&KEYS/>
            <Slider id="step-work" value=at ends text=reading>
                "Work done "<span class="soft">"(or drag across the drawing)"</span>
            </Slider>
            <p class="live-note step-words" data-testid="overlay-reading">{move || reading.get()}</p>
            <Fold summary="Both steps as a table">
                <DataTable
                    caption="Where each named moment of a step is, in forward passes of work, and what is alive then"
                    name="overlay-moments"
                    label="Both steps at every named moment"
                    columns=&COLUMNS
                    rows=derived(overlay, |overlay| &overlay.rows)
                />
            </Fold>
        </div>
    }
}
