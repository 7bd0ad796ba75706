//! Activations against sequence length.

pub(super) mod shown;

use bmax::{Choice, Recomputation};
use leptos::prelude::*;

use crate::components::{DataTable, Fold, Key, Legend, Plot, Scrub, Segmented, Slider};
use crate::site::{State, derived, read};
use shown::{COLUMNS, Curves, ENDS, Reading};

/// Where the slider starts: at 8,192 tokens.
const START: f64 = 52.0;

static KEYS: [Key; 4] = [
    Key::new("legend-line series-4", "eager, all"),
    Key::new("legend-line series-1 is-dashed", "its part in proportion to S"),
    Key::new("legend-line series-3 is-dashed", "its part with S²"),
    Key::new("legend-line series-own", "flash, all"),
];

/// The recomputation that the figure shows: one of these, or the configuration's.
fn policies() -> impl Iterator<Item = (Option<Recomputation>, &'static str)> {
    let named = [Recomputation::None, Recomputation::Selective, Recomputation::Full];
    named.map(|policy| (Some(policy), policy.label())).into_iter().chain([(None, "Yours")])
}

/// What eager and flash attention keep at every length, and one length read off.
#[component]
pub fn Activations(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let policy = RwSignal::new(Some(Recomputation::None));
    let at = RwSignal::new(START);
    let ends = (ENDS.0.into(), ENDS.1.into());
    let curves = Memo::new(move |_| state.asked(|scenario| Curves::of(scenario, policy.get())));
    let reading = Memo::new(move |_| curves.with(|curves| curves.reading(at.get())));
    let plot = move || curves.with(|curves| reading.with(|reading| curves.plot(reading)));
    view! {
        <div class="live-controls">
            <Segmented id="activations-policy" legend="Recomputation" options=policies() value=policy/>
            <Slider
                id="activations-at"
                value=at
                ends
                text=Signal::derive(move || reading.with(Reading::spoken))
            >
                "Sequence length "<math><mi>"S"</mi></math>" "
                <span class="soft">"(or drag across the drawing)"</span>
            </Slider>
        </div>
        <Notes reading/>
        <Plot
            plot=Signal::derive(plot)
            name="lengths"
            label="Activations against sequence length, both axes logarithmic"
            described_by="length-notes"
            scrub=Scrub { value: at.into(), ends, step: 1.0 }
            class="length-plot"
        />
        <Legend keys=&KEYS/>
        <p class="small soft">
            "Both axes are logarithmic: in proportion is a slope of one, the square a slope of two."
        </p>
        <Fold summary="The same as a table">
            <DataTable
                caption="Activations of one micro-batch at their highest, in GiB"
                name="lengths"
                label="Activations by sequence length"
                columns=&COLUMNS
                rows=derived(curves, |curves| &curves.rows)
            />
        </Fold>
    }
}

/// What both kernels keep at the length that is read off, and where the parts of eager attention cross.
#[component]
fn Notes(reading: Memo<Reading>) -> impl IntoView {
    let cross = move || reading.with(Reading::cross);
    let remark = |remark: &'static str| view! { <p class="live-note">{remark}</p> };
    view! {
        <div class="length-notes" id="length-notes">
            <p class="live-note">
                "At "<strong data-testid="tokens">{read(reading, |reading| &reading.tokens)}</strong>
                " tokens, eager attention keeps "
                <strong data-testid="eager">{read(reading, |reading| &reading.eager)}</strong>": "
                <strong data-testid="linear">{read(reading, |reading| &reading.linear)}</strong>
                " that grow in proportion and "
                <strong data-testid="quadratic">{read(reading, |reading| &reading.quadratic)}</strong>
                " that grow with the square, "<strong>{read(reading, |reading| &reading.share)}</strong>
                " of all. Flash attention keeps "
                <strong data-testid="flash">{read(reading, |reading| &reading.flash)}</strong>"."
            </p>
            <Show when=move || cross().is_some()>
                <p class="live-note">
                    "The two parts are equal at a length of "
                    <strong data-testid="cross">{move || cross().unwrap_or_default()}</strong>"; "
                    <math><mn>"34"</mn><mi>"H"</mi><mo>"/"</mo><mo>"("</mo><mn>"5"</mn><mi>"n"</mi><mo>")"</mo></math>" gives "
                    <span data-testid="paper">{read(reading, |reading| &reading.paper)}</span>"."
                </p>
            </Show>
            {move || reading.with(|reading| reading.remarks.clone()).into_iter().map(remark).collect_view()}
        </div>
    }
}
