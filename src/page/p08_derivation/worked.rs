//! Llama 3.1 8B on A100 80 GB, solved for a number of GPUs that the reader chooses.

use bmax::catalogue;
use bmax::{
    Answer, Bucket, Bytes, Cluster, Estimate, Method, Percent, Precision, Recomputation, Scenario, Switch, b_max,
    estimate,
};

use crate::site::views::draw_bar;
use crate::site::{Live, format};

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
    // The paper's 34 bytes have the masks of dropout among them.
    scenario.recipe.dropout = Switch::On;
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

/// The number of GPUs that the reader chose.
fn gpus(live: &Live) -> u32 {
    live.number("gpus").max(1.0) as u32
}

/// Draws the example.
pub fn draw(live: &Live) {
    let solved = Solved::of(gpus(live));
    live.text("fixed", &solved.fixed_text());
    live.text("left", &solved.left_text());
    for (answer, sequence, texts) in [
        (&solved.workshop, solved.workshop_sequence, ["workshop", "workshop-sequence"]),
        (&solved.paper, solved.paper_sequence, ["paper", "paper-sequence"]),
    ] {
        let fits = answer.batch().map_or_else(|| "no sequence fits".to_owned(), |_| format::answer(answer));
        live.text(texts[0], &fits);
        live.text(texts[1], &format::gib(sequence));
    }
    live.text("sequences", &format::counted(solved.batch, "sequence", "sequences"));
    draw_bar(&live.place("bar"), &solved.estimate, None);
    let same = live.facts(|facts| adopted(facts.scenario, solved.gpus) == facts.scenario);
    live.attr("use", "aria-disabled", if same { "true" } else { "false" });
    live.show("same", same);
    live.show("differs", !same);
}

/// Makes the example the reader's scenario.
pub fn press(live: &Live, _: &str) {
    live.state().change(|scenario| adopted(scenario, gpus(live)));
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let taken = adopted(Scenario::default(), 8);
        assert_eq!(b_max(&taken).batch(), Solved::of(8).workshop.batch());
        assert_eq!(
            catalogue::model_row_of(&taken).map(|(row, edited)| (row.slug, edited)),
            Some(("llama-3.1-8b", false))
        );
    }
}
