//! What the figure shows: Llama 3.1 8B on A100 80 GB, solved for a number of GPUs.

use bmax::catalogue;
use bmax::chart::MemoryBar;
use bmax::link::Beginning;
use bmax::{
    Answer, Bucket, Bytes, Cluster, Estimate, Method, Percent, Precision, Recomputation, Scenario, Switch, b_max,
    estimate,
};

use crate::site::format;

/// The example on `gpus` devices. The recipe is written out, so that the example stays what its text
/// says when the page's first view changes.
fn example(gpus: u32) -> Scenario {
    let first = Beginning::Workshop.scenario();
    let mut scenario = first;
    if let (Some(model), Some(device)) = (catalogue::model("llama-3.1-8b"), catalogue::device("a100-80")) {
        scenario = device.apply(model.apply(scenario));
    }
    scenario.method = Method::Workshop;
    scenario.recipe.sequence = 2_048;
    scenario.recipe.precision = Precision::Bf16;
    scenario.recipe.recomputation = Recomputation::Selective;
    // The paper's 34 bytes have the masks of dropout among them.
    scenario.recipe.dropout = Switch::On;
    scenario.recipe.batch = 1;
    scenario.device.headroom = Percent::new(10.0);
    scenario.cluster = Cluster { gpus, ..first.cluster };
    scenario
}

/// The same with the model's name taken at its word.
fn rounded(mut scenario: Scenario) -> Scenario {
    scenario.model.parameters = 8_000_000_000;
    scenario
}

/// The example on one number of GPUs.
struct Solved {
    gpus: u32,
    /// The estimate at the workshop's b_max, or at one sequence where none fits.
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

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// What is fixed on each GPU, and how that comes about.
    pub fixed: String,
    /// What is left for activations.
    pub left: String,
    /// The largest micro-batch by the workshop's method.
    pub workshop: String,
    /// What a sequence takes by it.
    pub workshop_sequence: String,
    /// The largest micro-batch by the paper's method.
    pub paper: String,
    /// What a sequence takes by it.
    pub paper_sequence: String,
    /// The sequences of the bar.
    pub sequences: String,
    /// The bar.
    pub bar: MemoryBar,
}

impl Shown {
    /// The example on so many GPUs.
    pub fn of(gpus: u32) -> Self {
        let solved = Solved::of(gpus);
        let most = |answer: &Answer| answer.batch().map_or("no sequence fits".to_owned(), |_| format::answer(answer));
        Self {
            fixed: solved.fixed_text(),
            left: solved.left_text(),
            workshop: most(&solved.workshop),
            workshop_sequence: format::gib(solved.workshop_sequence),
            paper: most(&solved.paper),
            paper_sequence: format::gib(solved.paper_sequence),
            sequences: format::counted(solved.batch, "sequence", "sequences"),
            bar: MemoryBar::of(&solved.estimate, None),
        }
    }
}

/// The reader's scenario with everything that the example fixes; method and targets stay.
pub fn adopted(scenario: Scenario, gpus: u32) -> Scenario {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use proptest::prelude::*;

    #[test]
    fn the_example_has_the_answers_of_the_table_below_it() {
        let answers = [1, 2, 4, 8].map(|gpus| {
            let solved = Solved::of(gpus);
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
        let taken = adopted(Scenario::workshop(), 8);
        assert_eq!(b_max(&taken).batch(), Solved::of(8).workshop.batch());
        assert_eq!(
            catalogue::model_row_of(&taken).map(|(row, edited)| (row.slug, edited)),
            Some(("llama-3.1-8b", false))
        );
    }

    #[test]
    fn every_number_of_gpus_is_solved_in_words() {
        for (gpus, fixed, workshop, paper) in [
            (1, "119.2 / 1 = 119.2 GiB", "no sequence fits", "no sequence fits"),
            (2, "119.2 / 2 = 59.6 GiB", "no sequence fits", "1"),
            (4, "119.2 / 4 = 29.8 GiB", "2", "4"),
            (8, "119.2 / 8 = 14.9 GiB", "3", "6"),
        ] {
            let shown = Shown::of(gpus);
            assert_eq!((shown.fixed.as_str(), shown.workshop.as_str(), shown.paper.as_str()), (fixed, workshop, paper));
            texts_are_sound(&shown);
        }
        texts_are_sound(&Shown::of(16));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_can_adopt_the_example_and_has_it_then(scenario in any_scenario(), gpus in 1_u32..=16) {
            let taken = adopted(scenario, gpus);
            prop_assert_eq!(adopted(taken, gpus), taken);
            prop_assert_eq!((taken.method, taken.recipe.batch), (scenario.method, scenario.recipe.batch));
        }
    }
}
