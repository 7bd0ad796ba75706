//! What is not counted beside a vision tower, and images that have no place.

use super::Conflicts;
use crate::{
    Adapter, AdapterTargets, Engine, Field, Kernels, Method, Recomputation, Scenario, TaskKind, Tower, TowerTraining,
    number, setting::Word,
};

impl Conflicts {
    /// A tower is counted by the ledger alone, as transformers runs it under PyTorch's own step.
    pub(super) fn vision(&mut self, scenario: &Scenario) {
        let (model, recipe, cluster) = (&scenario.model, &scenario.recipe, &scenario.cluster);
        let (vision, images) = (&model.vision, &recipe.images);
        if vision.tower == Tower::None {
            return;
        }
        if !vision.is_there() {
            let message = "A vision tower needs layers, a width and patches; without them only text is counted.";
            return self.word(Word::Vision(Tower::None), message);
        }
        if scenario.method != Method::Ledger {
            let message = "The workshop’s and the paper’s methods know no vision tower; the ledger counts it.";
            return self.uncounted(Word::Method(Method::Ledger), message);
        }
        if scenario.task.kind == TaskKind::Train {
            self.divides_data_alone(scenario, "A vision tower is counted on data-parallel GPUs alone");
        } else {
            let message = "A vision tower is counted in training on the next token alone, not in other tasks.";
            self.uncounted(Word::Task(TaskKind::Train), message);
        }
        if cluster.engine != Engine::Torch {
            let message = "A vision tower is counted under PyTorch’s own step, not under DeepSpeed, torchtitan or \
                           Megatron-LM.";
            self.uncounted(Word::Engine(Engine::Torch), message);
        }
        if recipe.kernels != Kernels::Eager {
            let message = "A vision tower is counted as a framework’s own operations; fused ones are not counted.";
            self.uncounted(Word::Kernels(Kernels::Eager), message);
        }
        if !matches!(recipe.recomputation, Recomputation::None | Recomputation::Full) {
            let message = "With a vision tower all layers are computed again or none; other recomputation is not \
                           counted.";
            self.uncounted(Word::Recomputation(Recomputation::Full), message);
        }
        let adapted = recipe.adapter != Adapter::None;
        match images.tower {
            TowerTraining::Adapters if !adapted => self.word(
                Word::Tower(TowerTraining::Frozen),
                "Without adapters there are none in the tower: it is frozen or trained.",
            ),
            TowerTraining::Adapters if recipe.targets != AdapterTargets::All => self.word(
                Word::Targets(AdapterTargets::All),
                "Adapters in the tower are those of PEFT’s “all-linear”, beside every matrix of the model.",
            ),
            TowerTraining::Trained if adapted => self.uncounted(
                Word::Tower(TowerTraining::Frozen),
                "Beside adapters a tower is counted frozen or with adapters of its own, not trained in full.",
            ),
            _ => {}
        }
        self.images(scenario);
    }

    /// Tokens of images are among those of the sequence.
    fn images(&mut self, scenario: &Scenario) {
        let images = &scenario.recipe.images;
        if images.count > 0 && images.is_too_stretched(&scenario.model.vision) {
            let (field, nearest) = if images.height > images.width {
                (Field::ImageHeight, images.width.saturating_mul(200))
            } else {
                (Field::ImageWidth, images.height.saturating_mul(200))
            };
            let message = format!(
                "An image of {} × {} pixels is refused by the processor: one side may be 200 times the other at most.",
                number::grouped(images.height.into()),
                number::grouped(images.width.into())
            );
            return self.number(field, nearest, message);
        }
        let (tokens, sequence) = (scenario.image_tokens(), scenario.recipe.sequence);
        if tokens <= u64::from(sequence) {
            return;
        }
        let [tokens_text, sequence_text] = [tokens as f64, f64::from(sequence)].map(number::grouped);
        let word = if tokens == 1 { "token" } else { "tokens" };
        let message = format!("The images take {tokens_text} {word} of a sequence of {sequence_text}");
        let fits = |other: &Scenario| other.image_tokens() <= u64::from(sequence);
        if let Some(pixels) = scenario.largest_max_pixels(fits) {
            let pixels_text = number::grouped(pixels.into());
            return self.number(
                Field::MaxPixels,
                pixels,
                format!("{message}; with max_pixels {pixels_text} they fit."),
            );
        }
        let why = if scenario.shrinks_images() { "no max_pixels makes room" } else { "max_pixels has no effect here" };
        let longer = u32::try_from(tokens).ok().filter(|tokens| Field::Sequence.check((*tokens).into()).is_ok());
        match longer {
            Some(longer) => self.number(
                Field::Sequence,
                longer,
                format!("{message}; {why}, and a sequence of {tokens_text} holds them."),
            ),
            None if scenario.recipe.images.count > 1 => {
                self.number(Field::Images, 1, format!("{message}; fewer images may fit."));
            }
            None => self.number(Field::Images, 0, format!("{message}; without images it holds text alone.")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ledger, only};
    use super::*;
    use crate::{Change, Images, Switch, Vision};

    fn qwen() -> Scenario {
        let mut scenario = ledger();
        scenario.model.vision = Vision {
            tower: Tower::Qwen25Vl,
            layers: 32,
            hidden: 1280,
            heads: 16,
            feed_forward: 3420,
            patch: 14,
            side: 0,
        };
        scenario.recipe.recomputation = Recomputation::Full;
        scenario
    }

    #[test]
    fn a_tower_goes_with_the_defaults_of_its_recipe() {
        assert_eq!(qwen().conflicts(), []);
    }

    #[test]
    fn images_that_exceed_the_sequence_name_max_pixels() {
        let mut scenario = qwen();
        scenario.recipe.sequence = 1_024;
        let conflict = only(scenario);
        // A square of 33 tokens a side is too large; one unit of 28 × 28 pixels less leaves 32.
        assert_eq!(conflict.mend, Change::Number(Field::MaxPixels, f64::from((33 * 33 - 1) * 28 * 28)));
        assert!(conflict.message.contains("max_pixels 852,992"), "{}", conflict.message);
        scenario.model.vision = Vision { tower: Tower::Llava, side: 336, ..scenario.model.vision };
        scenario.recipe.images = Images { count: 2, ..Images::ONE };
        assert_eq!(only(scenario).mend, Change::Number(Field::Sequence, 1_152.0));
    }

    #[test]
    fn images_that_no_sequence_holds_are_led_to_one_and_then_to_none() {
        let mut scenario = qwen();
        // 4,096² tokens of an image are more than the longest sequence.
        scenario.model.vision = Vision { tower: Tower::Llava, patch: 1, side: 4_096, ..scenario.model.vision };
        scenario.recipe.images = Images { count: 2, ..Images::ONE };
        let mends = |scenario: &Scenario| scenario.conflicts().into_iter().map(|found| found.mend).collect::<Vec<_>>();
        assert_eq!(mends(&scenario), [Change::Number(Field::Images, 1.0)]);
        scenario.recipe.images.count = 1;
        assert_eq!(only(scenario).mend, Change::Number(Field::Images, 0.0));
    }

    #[test]
    fn the_shape_of_images_is_not_asked_for_where_there_are_none() {
        let mut scenario = qwen();
        (scenario.recipe.images.height, scenario.recipe.images.width) = (4_000, 10);
        assert_eq!(scenario.conflicts().len(), 1);
        scenario.recipe.images.count = 0;
        assert_eq!(scenario.conflicts(), []);
    }

    #[test]
    fn what_a_task_and_a_tower_refuse_alike_is_said_once() {
        let mut scenario = qwen();
        scenario.task.kind = TaskKind::Dpo;
        scenario.cluster.tensor_parallel = 2;
        scenario.cluster.sequence_parallel = Switch::On;
        let messages: Vec<_> = scenario.conflicts().into_iter().map(|conflict| conflict.message).collect();
        assert!(messages.iter().any(|message| message.contains("sequence parallelism")), "{messages:?}");
        for message in &messages {
            assert_eq!(messages.iter().filter(|other| *other == message).count(), 1, "{message}");
        }
    }

    #[test]
    fn what_is_not_counted_beside_a_tower_is_refused_and_mended() {
        let changes: [fn(&mut Scenario); 7] = [
            |s| s.method = Method::Paper,
            |s| s.task.kind = TaskKind::Grpo,
            |s| s.recipe.kernels = Kernels::Fused,
            |s| s.recipe.recomputation = Recomputation::Selective,
            |s| s.recipe.images.tower = TowerTraining::Adapters,
            |s| s.cluster.engine = Engine::Megatron,
            |s| s.recipe.images.height = 65_536,
        ];
        for change in changes {
            let mut scenario = qwen();
            scenario.recipe.images.width = if scenario.recipe.images.height > 65_000 { 100 } else { 1_024 };
            change(&mut scenario);
            if scenario.recipe.images.height == 65_536 {
                scenario.recipe.images.width = 10;
            }
            let found = scenario.conflicts();
            assert!(!found.is_empty());
            let mut mended = scenario;
            for _ in 0..4 {
                if let Some(conflict) = mended.conflicts().first() {
                    mended = conflict.mend.apply(mended);
                }
            }
            assert_eq!(mended.conflicts(), []);
        }
    }
}
