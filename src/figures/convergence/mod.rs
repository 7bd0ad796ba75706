//! Steps and examples to a target against the batch.

mod shown;

use bmax::Field;
use bmax::course::quoted::{RULE_CIFAR, RULE_IMAGENET, RULE_LANGUAGE};
use leptos::prelude::*;

use crate::components::{Column, DataTable, Fold, Key, Legend, NumberField, NumberInput, Plot, Scrub, Select, Slider};
use crate::site::{State, derived, read};
use shown::{Critical, Shown, Unit};

/// Where the slider starts, in doublings of the reader's batch: nearest to the critical batch of the default.
const START: f64 = 1.0;
/// The distance of two values of the slider.
const STEP: f64 = 0.25;
/// The size of a critical batch of one's own, as long as none is entered.
const OWN: f64 = 1e6;

/// Language models by the formula of Kaplan et al. 2020, rough figures that go around, one of them in two units, and a
/// critical batch of one's own.
static TASKS: [(Option<Critical>, &str); 7] = [
    (Some(AT_A_LOSS_OF_3), "a language model at a loss of 3.0: 1.1 million tokens"),
    (Some(AT_A_LOSS_OF_2_3), "a language model at a loss of 2.3: 3.8 million tokens"),
    (Some(Critical { size: RULE_CIFAR.number(), unit: Unit::Examples }), "often repeated, CIFAR-10: 256 images"),
    (Some(Critical { size: RULE_IMAGENET.number(), unit: Unit::Examples }), "often repeated, ImageNet: 2,048 images"),
    (
        Some(Critical { size: RULE_LANGUAGE.number(), unit: Unit::Tokens }),
        "often repeated, language: 65,536, if tokens",
    ),
    (
        Some(Critical { size: RULE_LANGUAGE.number(), unit: Unit::Examples }),
        "often repeated, language: 65,536, if sequences",
    ),
    (None, "your own task"),
];

/// Its critical batch at two losses, to two digits (Kaplan et al. 2020, equation 5.3); the lower is that of its largest
/// model.
const AT_A_LOSS_OF_3: Critical = Critical { size: 1.1e6, unit: Unit::Tokens };
const AT_A_LOSS_OF_2_3: Critical = Critical { size: 3.8e6, unit: Unit::Tokens };

static KEYS: [Key; 4] = [
    Key::new("series-own legend-line", "optimizer steps"),
    Key::new("series-2 legend-line is-dashed", "examples"),
    Key::new("legend-mark", "your global batch"),
    Key::new("legend-mark is-read", "read-out"),
];

static COLUMNS: [Column; 4] = [
    Column::words("Batch"),
    Column::numbers("Steps"),
    Column::numbers("Examples"),
    Column::numbers("Steps saved by doubling"),
];

/// Two curves that cross at the critical batch, and one place of them read off.
#[component]
pub fn Convergence(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let task = RwSignal::new(TASKS[0].0);
    let (size, unit) = (RwSignal::new(OWN), RwSignal::new(Unit::Tokens));
    let at = RwSignal::new(START);
    let critical = move || task.get().unwrap_or_else(|| Critical { size: size.get(), unit: unit.get() });
    let shown = Memo::new(move |_| state.asked(|scenario| Shown::of(scenario, critical(), at.get())));
    let ends = Signal::derive(move || shown.with(|shown| shown.ends));
    let spoken = Signal::derive(move || shown.with(|shown| shown.reading.spoken()));
    view! {
        <div class="live-controls">
            <TaskFields task size unit/>
            <NumberField
                input=state.field(Field::GlobalBatch)
                id="convergence-target"
                help=const { Field::GlobalBatch.help() }
            />
            <Slider id="convergence-at" value=at ends step=STEP text=spoken>
                "Read off at (doublings of your batch)"
            </Slider>
        </div>
        <Answer shown/>
        <Plot
            plot=derived(shown, |shown| &shown.plot)
            name="curves"
            label="A larger batch saves steps and takes more examples"
            scrub=Scrub { value: at.into(), ends, step: STEP }
        />
        <Legend keys=&KEYS/>
        <Readout shown/>
        <Fold summary="The same as a table">
            <DataTable
                caption="Around the critical batch, from a 64th of it to 64 times it"
                name="batches"
                label="Steps and examples against the batch"
                columns=&COLUMNS
                rows=derived(shown, |shown| &shown.rows)
            />
        </Fold>
    }
}

/// The critical batch, by the name of a task or by a number.
#[component]
fn TaskFields(task: RwSignal<Option<Critical>>, size: RwSignal<f64>, unit: RwSignal<Unit>) -> impl IntoView {
    let help = "These are orders of magnitude. The true one depends on the data, and grows tenfold and more as the loss falls. Those of language models are by Kaplan et al. 2020.";
    let own = NumberInput::of("Its critical batch", (1.0, 1e9), OWN, size);
    let units = [(Unit::Examples, "examples"), (Unit::Tokens, "tokens")];
    view! {
        <div class="batches-task">
            <Select id="convergence-task" label="Critical batch of" options=TASKS value=task help/>
            <div class="batches-own" hidden=move || task.get().is_some()>
                <NumberField input=own id="convergence-size"/>
                <Select id="convergence-unit" label="Counted in" options=units value=unit/>
            </div>
        </div>
    }
}

/// What the reader's own batch takes.
#[component]
fn Answer(shown: Memo<Shown>) -> impl IntoView {
    view! {
        <p class="live-note batches-4">
            "At your global batch of " <strong class="num">{read(shown, |shown| &shown.batch)}</strong>
            " " {move || shown.with(|shown| shown.unit)} " (" <span class="num">{read(shown, |shown| &shown.tokens)}</span> " "
            {move || shown.with(|shown| shown.noun)} ") training takes "
            <strong class="num" data-testid="steps">{read(shown, |shown| &shown.steps)}</strong>
            " the fewest possible steps and "
            <strong class="num" data-testid="examples">{read(shown, |shown| &shown.examples)}</strong>
            " the fewest examples; the critical batch is "
            <span class="num">{read(shown, |shown| &shown.critical)}</span> ". "
            {move || shown.with(|shown| shown.advice)}
        </p>
    }
}

/// What the batch takes that is read off.
#[component]
fn Readout(shown: Memo<Shown>) -> impl IntoView {
    view! {
        <p class="live-note batches-3">
            "At " <strong class="num" data-testid="at-batch">{read(shown, |shown| &shown.reading.batch)}</strong>
            " examples: "
            <span class="num" data-testid="at-steps">{read(shown, |shown| &shown.reading.steps)}</span>
            " the fewest steps, "
            <span class="num" data-testid="at-examples">{read(shown, |shown| &shown.reading.examples)}</span>
            " the fewest examples. Twice as many would save "
            <span class="num" data-testid="at-saved">{read(shown, |shown| &shown.reading.saved)}</span>
            " of the steps."
        </p>
    }
}
