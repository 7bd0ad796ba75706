//! Llama 3.1 8B on A100 80 GB, solved for a number of GPUs that the reader chooses.

use std::rc::Rc;

use bmax::{
    Answer, Bucket, Bytes, Cluster, Estimate, Method, Percent, Precision, Recomputation, Scenario, b_max, estimate,
};
use bmax::{ChoiceOption, catalogue};
use leptos::prelude::*;

use crate::site::controls::segmented;
use crate::site::dom::{El, el};
use crate::site::views::memory_bar;
use crate::site::{SettingHandle, State, format};

/// The example's number of GPUs, as words of its control.
static COUNTS: [ChoiceOption; 5] = [count("1"), count("2"), count("4"), count("8"), count("16")];

const fn count(word: &'static str) -> ChoiceOption {
    ChoiceOption { key: word, label: word, effect: "" }
}

/// The first that is shown: it fits, and the text above has shown that one GPU does not.
const FIRST: u32 = 8;

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
    scenario.cluster = Cluster { gpus, ..Scenario::default().cluster };
    scenario
}

/// The same with the model's name taken at its word.
fn rounded(mut scenario: Scenario) -> Scenario {
    scenario.model.parameters = 8_000_000_000;
    scenario
}

/// What the figure shows for one number of GPUs.
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
pub fn worked_example(state: State) -> El {
    let gpus = RwSignal::new(FIRST);
    let title = el("p").class("soft small").bind_text(move || bar_title(&Solved::of(gpus.get())));
    let bar = memory_bar(Rc::new(move || Solved::of(gpus.get()).estimate));
    el("div").class("worked").children(vec![
        segmented(gpu_count(gpus), "worked-gpus", false),
        numbers(gpus),
        el("div").class("worked-memory").child(title).child(bar),
        adoption(state, gpus),
    ])
}

/// The button that makes the example the reader's scenario.
fn adoption(state: State, gpus: RwSignal<u32>) -> El {
    let same = move || state.asked(|scenario| adopted(*scenario, gpus.get()) == *scenario);
    let button = el("button")
        .attr("type", "button")
        .class("button button-quiet")
        .attr("data-testid", "worked-use")
        .bind("aria-disabled", move || same().to_string())
        .on("click", move |_| state.change(|scenario| adopted(scenario, gpus.get_untracked())))
        .text("Use this configuration");
    let help = move || {
        if same() {
            "Every figure on this page shows it now."
        } else {
            "Takes the model with its exact 8.03 billion parameters; every figure follows."
        }
    };
    let help = el("span").class("field-help").bind_text(move || help().to_owned());
    el("div").class("worked-adopt").child(button).child(help)
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
fn gpu_count(gpus: RwSignal<u32>) -> SettingHandle {
    let find = |word: &str| COUNTS.iter().map(|count| count.key).find(|key| *key == word);
    let word = Memo::new(move |_| find(&gpus.get().to_string()).unwrap_or_default());
    SettingHandle {
        name: "GPUs in the example",
        options: &COUNTS,
        value: word.into(),
        default: word.into(),
        write: Callback::new(move |chosen: String| {
            if let Some(count) = find(&chosen).and_then(|word| word.parse().ok()) {
                gpus.set(count);
            }
        }),
    }
}

/// Fixed part, what is left of the device, and both answers.
fn numbers(gpus: RwSignal<u32>) -> El {
    let with = move |text: fn(&Solved) -> String| move || text(&Solved::of(gpus.get()));
    let row = move |name: El, test: &str, text: fn(&Solved) -> String| {
        let value = el("dd").class("num").attr("data-testid", test).bind_text(with(text));
        el("div").child(name).child(value)
    };
    let answer = move |method: &str, sequence: fn(&Solved) -> String| {
        let name = el("dt").child(el("i").text("b")).child(el("sub").text("max"));
        name.text(method).bind_text(with(sequence)).text(" a sequence")
    };
    let fixed = el("dt").text("Fixed on each GPU, 16").child(el("i").text("N")).text(" / ").child(el("i").text("D"));
    let workshop = answer(", workshop: ", |solved| format::gib(solved.workshop_sequence));
    let paper = answer(", paper: ", |solved| format::gib(solved.paper_sequence));
    el("dl").class("worked-numbers").children(vec![
        row(fixed, "worked-fixed", Solved::fixed_text),
        row(el("dt").text("Left for activations"), "worked-left", Solved::left_text),
        row(workshop, "worked-workshop", |solved| fits(&solved.workshop)),
        row(paper, "worked-paper", |solved| fits(&solved.paper)),
    ])
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
        let answers = COUNTS.map(|count| {
            let solved = Solved::of(count.key.parse().expect("a number"));
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
