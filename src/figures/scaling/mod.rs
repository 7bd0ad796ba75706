//! What is left of perfect scaling with more GPUs.

mod shown;

use bmax::setting;
use bmax::{Choice, ZeroStage};
use leptos::prelude::*;

use crate::components::{Assumed, Column, DataTable, Fold, Key, Legend, Plot, Scrub, Select, SettingField, Slider};
use crate::site::{State, derived, read};
use shown::{DOUBLINGS, Shown};

/// Both ends of the slider, in doublings of one GPU.
const ENDS: (f64, f64) = (0.0, DOUBLINGS as f64);

/// Links of a GPU by what they carry one way, in GB/s.
static LINKS: [(f64, &str); 6] = [
    (31.5, "PCIe 4.0 ×16: 31.5 GB/s"),
    (63.0, "PCIe 5.0 ×16: 63 GB/s"),
    (300.0, "NVLink 3 (A100): 300 GB/s"),
    (450.0, "NVLink 4 (H100): 450 GB/s"),
    (25.0, "InfiniBand, 200 Gb/s: 25 GB/s"),
    (50.0, "InfiniBand, 400 Gb/s: 50 GB/s"),
];

static KEYS: [Key; 5] = [
    Key::new("series-own legend-line", "with all possible overlap"),
    Key::new("series-own legend-line is-dashed", "without overlap"),
    Key::new("batches-thumb", "rule of thumb, to 64 GPUs"),
    Key::new("legend-mark", "your D"),
    Key::new("legend-mark is-read", "read-out"),
];

static COLUMNS: [Column; 4] = [
    Column::words("GPUs"),
    Column::numbers("Rule of thumb"),
    Column::numbers("Communication"),
    Column::numbers("By bytes"),
];

/// Two curves between which the speed-up lies, and a rule of thumb.
#[component]
pub fn Scaling(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let link = RwSignal::new(LINKS[4].0);
    let at = RwSignal::new(6.0);
    let shown = Memo::new(move |_| state.asked(|scenario| Shown::of(scenario, link.get(), at.get())));
    let spoken = Signal::derive(move || shown.with(|shown| shown.reading.spoken()));
    let help = "A ring is as fast as its slowest link: between servers that is the network, not NVLink.";
    view! {
        <div class="live-controls">
            <Select id="scaling-link" label="Link of each GPU, one way" options=LINKS value=link help/>
            <SettingField handle=state.setting(&setting::ZERO, ZeroStage::EFFECTS) id="scaling-zero"/>
            <Slider id="scaling-at" value=at ends=ENDS text=spoken>"Read off at (doublings of one)"</Slider>
        </div>
        <Answer shown/>
        <Assumed text=derived(shown, |shown| &shown.assumed)/>
        <Plot
            plot=derived(shown, |shown| &shown.plot)
            name="efficiency"
            label="Only communication that does not overlap with computing costs time"
            scrub=Scrub { value: at.into(), ends: ENDS, step: 1.0 }
        />
        <Legend keys=&KEYS/>
        <Readout shown/>
        <Fold summary="The same as a table">
            <DataTable
                caption="Speed-up when each GPU keeps its micro-batch"
                name="gpus"
                label="Speed-up against GPUs"
                columns=&COLUMNS
                rows=derived(shown, |shown| &shown.rows)
            />
        </Fold>
    }
}

/// What the configuration's own GPUs reach.
#[component]
fn Answer(shown: Memo<Shown>) -> impl IntoView {
    view! {
        <p class="live-note batches-4">
            "On your " <span class="num" data-testid="own">{read(shown, |shown| &shown.own)}</span> " "
            {move || shown.with(|shown| shown.gpus)} " the computing of an optimizer step takes " <strong class="num">{read(shown, |shown| &shown.compute)}</strong>
            ", and its communication " <strong class="num">{read(shown, |shown| &shown.communicate)}</strong>
            ": a speed-up of " <strong class="num" data-testid="speed">{read(shown, |shown| &shown.speed)}</strong>
            ", the lower if computing waits for all communication, the higher with all possible overlap. "
            {read(shown, |shown| &shown.advice)}
        </p>
    }
}

/// What the GPUs reach that are read off.
#[component]
fn Readout(shown: Memo<Shown>) -> impl IntoView {
    view! {
        <p class="live-note batches-3">
            "On " <strong class="num" data-testid="at-gpus">{read(shown, |shown| &shown.reading.gpus)}</strong> " "
            {move || shown.with(|shown| shown.reading.noun)} ": " <span class="num">{read(shown, |shown| &shown.reading.communicate)}</span>
            " of communication, "
            <strong class="num" data-testid="at-speed">{read(shown, |shown| &shown.reading.speed)}</strong>
            " times as fast as one; the rule of thumb says "
            <span class="num" data-testid="at-usual">{read(shown, |shown| &shown.reading.usual)}</span> "."
        </p>
    }
}
