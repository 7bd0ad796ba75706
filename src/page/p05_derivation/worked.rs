//! Llama 3.1 8B on A100 80 GB, solved for a number of GPUs that the reader chooses.

use bmax::{
    Answer, Bucket, Bytes, Cluster, Estimate, Method, Percent, Precision, Recomputation, Scenario, Switch, ZeroStage,
    b_max, estimate,
};
use bmax::{ChoiceOption, catalogue};
use leptos::prelude::*;

use crate::site::controls::Segmented;
use crate::site::views::MemoryBar;
use crate::site::{SettingHandle, State, format};

/// The example's number of GPUs, as words of its control.
static COUNTS: [ChoiceOption; 5] = [count("1"), count("2"), count("4"), count("8"), count("16")];

const fn count(word: &'static str) -> ChoiceOption {
    ChoiceOption { key: word, label: word, effect: "" }
}

/// The first that is shown: it fits, and the text above has shown that one GPU does not.
const FIRST: &str = "8";

/// The example on `gpus` devices. The recipe is written out, so that the example stays what its text
/// says when the page's first view changes.
fn example(gpus: u32) -> Scenario {
    let mut scenario = Scenario::default();
    if let (Some(model), Some(device)) = (catalogue::model("llama-3.1-8b"), catalogue::device("a100-80")) {
        scenario = device.apply(model.apply(scenario));
    }
    scenario.method = Method::Workshop;
    scenario.recipe.sequence = 2_048;
    scenario.recipe.precision = Precision::Bf16;
    scenario.recipe.recomputation = Recomputation::Selective;
    scenario.recipe.batch = 1;
    scenario.device.headroom = Percent::new(10.0);
    scenario.cluster = Cluster { gpus, zero: ZeroStage::Stage3, tensor_parallel: 1, sequence_parallel: Switch::Off };
    scenario
}

/// The same with the model's name taken at its word.
fn rounded(mut scenario: Scenario) -> Scenario {
    scenario.model.parameters = 8_000_000_000;
    scenario
}

/// What the figure shows for one number of GPUs.
#[derive(Clone, PartialEq)]
struct Solved {
    gpus: u32,
    /// The ledger at the workshop's b_max, or at one sequence where none fits.
    estimate: Estimate,
    batch: u32,
    workshop: Answer,
    paper: Answer,
    /// Activations of one sequence, by each method.
    workshop_sequence: Bytes,
    paper_sequence: Bytes,
}

impl Solved {
    fn of(gpus: u32) -> Self {
        let scenario = rounded(example(gpus));
        let paper = Scenario { method: Method::Paper, ..scenario };
        let workshop = b_max(&scenario);
        let batch = workshop.batch().unwrap_or(1);
        Self {
            gpus,
            estimate: estimate(&scenario.with_batch(batch)),
            batch,
            workshop,
            paper: b_max(&paper),
            workshop_sequence: estimate(&scenario).bucket(Bucket::Activations),
            paper_sequence: estimate(&paper).bucket(Bucket::Activations),
        }
    }

    fn fixed(&self) -> Bytes {
        self.estimate.peak().bytes - self.estimate.bucket(Bucket::Activations)
    }

    fn fixed_text(&self) -> String {
        let whole = Bytes::new(self.fixed().get() * f64::from(self.gpus));
        format!("{} / {} = {}", format::digits(whole.gib(), 1), self.gpus, format::gib(self.fixed()))
    }

    fn left_text(&self) -> String {
        let usable = self.estimate.usable();
        let left = usable - self.fixed();
        if left.get() < 0.0 {
            return format!("none: {} over {}", format::gib(Bytes::new(-left.get())), format::gib(usable));
        }
        format!("{} of {}", format::gib(left), format::gib(usable))
    }
}

/// The example, with a control of its own.
#[component]
pub fn WorkedExample(state: State) -> impl IntoView {
    let word = RwSignal::new(FIRST);
    let gpus = move || word.get().parse().unwrap_or(8);
    let solved = Memo::new(move |_| Solved::of(gpus()));
    let adopt = move |_| state.change(|scenario| adopted(scenario, gpus()));
    let same = move || state.scenario.with(|scenario| adopted(*scenario, gpus()) == *scenario);
    view! {
        <div class="worked">
            <Segmented handle=gpu_count(word) id="worked-gpus" explained=false />
            <Numbers solved />
            <div class="worked-memory">
                <p class="soft small">{move || solved.with(bar_title)}</p>
                <MemoryBar estimate=Signal::derive(move || solved.with(|solved| solved.estimate.clone())) />
            </div>
            <div class="worked-adopt">
                <button type="button" class="button button-quiet" data-testid="worked-use" on:click=adopt aria-disabled=move || same().to_string()>"Use this configuration"</button>
                <span class="field-help">
                    {move || if same() { "Every figure on this page shows it now." } else { "Takes the model with its exact 8.03 billion parameters; every figure follows." }}
                </span>
            </div>
        </div>
    }
}

/// The reader's scenario with everything that the example fixes; method and targets stay.
fn adopted(scenario: Scenario, gpus: u32) -> Scenario {
    let example = example(gpus);
    let mut adopted = Scenario {
        model: example.model,
        cluster: example.cluster,
        device: example.device,
        recipe: example.recipe,
        ..scenario
    };
    adopted.recipe.batch = scenario.recipe.batch;
    adopted
}

/// A control over the figure's own signal; nothing of it is in the link, so nothing is marked as changed.
fn gpu_count(word: RwSignal<&'static str>) -> SettingHandle {
    SettingHandle {
        name: "GPUs in the example",
        options: &COUNTS,
        value: word.into(),
        default: word.into(),
        write: Callback::new(move |chosen: String| {
            if let Some(count) = COUNTS.iter().find(|count| count.key == chosen) {
                word.set(count.key);
            }
        }),
    }
}

/// Fixed part, what is left of the device, and both answers.
#[component]
fn Numbers(solved: Memo<Solved>) -> impl IntoView {
    let with = move |text: fn(&Solved) -> String| move || solved.with(text);
    view! {
        <dl class="worked-numbers">
            <div>
                <dt>"Fixed on each GPU, 16"<i>"N"</i>" / "<i>"D"</i></dt>
                <dd class="num" data-testid="worked-fixed">{with(Solved::fixed_text)}</dd>
            </div>
            <div>
                <dt>"Left for activations"</dt>
                <dd class="num" data-testid="worked-left">{with(Solved::left_text)}</dd>
            </div>
            <div>
                <dt><i>"b"</i><sub>"max"</sub>", workshop: "{with(|solved| format::gib(solved.workshop_sequence))}" a sequence"</dt>
                <dd class="num" data-testid="worked-workshop">{with(|solved| fits(&solved.workshop))}</dd>
            </div>
            <div>
                <dt><i>"b"</i><sub>"max"</sub>", paper: "{with(|solved| format::gib(solved.paper_sequence))}" a sequence"</dt>
                <dd class="num" data-testid="worked-paper">{with(|solved| fits(&solved.paper))}</dd>
            </div>
        </dl>
    }
}

fn fits(answer: &Answer) -> String {
    answer.batch().map_or_else(|| "no sequence fits".to_owned(), |_| format::answer(answer))
}

fn bar_title(solved: &Solved) -> String {
    format!(
        "Memory of one GPU at {} of 2,048 tokens, selective recomputation, bf16, workshop method",
        format::counted(solved.batch, "sequence", "sequences")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_has_the_answers_of_the_table_below_it() {
        let answers = COUNTS.map(|option| {
            let solved = Solved::of(option.key.parse().expect("a number"));
            (format::gib(solved.fixed()), solved.workshop.batch(), solved.paper.batch())
        });
        let expected = [
            ("119.2 GiB", None, None),
            ("59.6 GiB", None, Some(1)),
            ("29.8 GiB", Some(2), Some(4)),
            ("14.9 GiB", Some(3), Some(6)),
        ];
        for (found, (fixed, workshop, paper)) in answers.iter().zip(expected) {
            assert_eq!((found.0.as_str(), found.1, found.2), (fixed, workshop, paper));
        }
    }

    #[test]
    fn one_gpu_is_short_by_47_gib_and_eight_leave_57() {
        assert_eq!(Solved::of(1).left_text(), "none: 47.2 GiB over 72.0 GiB");
        assert_eq!(Solved::of(8).left_text(), "57.1 GiB of 72.0 GiB");
        assert_eq!(Solved::of(8).fixed_text(), "119.2 / 8 = 14.9 GiB");
    }

    #[test]
    fn adopting_the_example_keeps_its_answer_and_names_the_catalogue_row() {
        let taken = adopted(Scenario::default(), 8);
        assert_eq!(b_max(&taken).batch(), Solved::of(8).workshop.batch());
        assert_eq!(
            catalogue::model_row_of(&taken).map(|(row, edited)| (row.slug, edited)),
            Some(("llama-3.1-8b", false))
        );
    }
}
