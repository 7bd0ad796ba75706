//! Passes without gradients, what is kept of their logits, and what they generate.

use super::Counted;
use crate::estimator::counted::forms;
use crate::estimator::counted::instants::StageInstants;
use crate::estimator::counted::states::{Kind, gathered_bytes, of_two_layers};
use crate::estimator::counted::task::{self, GeneratedTogether};
use crate::estimator::counted::types::Types;
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::estimator::meaning::Part;
use crate::source::{DEEPSPEED, FSDP, LIGER, PYTORCH, Source, TRAINER, TRANSFORMERS, TRL_HEAD};
use crate::{Adapter, AdapterType, Engine, Evaluation, LossHead, Outside, Precision, Scenario, formula::Expr};

/// Sequences whose logits are in one tensor at the end of an evaluation, or when they go to CPU memory: those of the
/// evaluation set, or of so many batches from all devices (`gather_for_metrics` in accelerate/accelerator.py, 1.15.0).
pub(in crate::estimator::counted) fn kept_sequences(scenario: &Scenario) -> f64 {
    let Outside { eval_batch, eval_sequences, eval_steps, .. } = scenario.outside;
    let all = f64::from(eval_sequences);
    let window = devices(scenario) * f64::from(eval_batch) * f64::from(eval_steps);
    if eval_steps > 0 && eval_batch > 0 { all.min(window) } else { all }
}

fn devices(scenario: &Scenario) -> f64 {
    f64::from(scenario.cluster.data_parallel())
}

/// The shapes of a pass of an evaluation, by its own batch or by the micro-batch.
struct Shapes {
    residual: &'static Expr,
    logits: &'static Expr,
    tokens: &'static Expr,
    generated: &'static GeneratedTogether,
}

static OWN_BATCH: Shapes = Shapes {
    residual: &forms::EVALUATED_RESIDUAL,
    logits: &forms::EVALUATED_LOGITS,
    tokens: &forms::EVALUATED_TOKENS,
    generated: &GeneratedTogether {
        cache: &forms::EVALUATED_CACHE,
        wide_cache: &forms::EVALUATED_WIDE_CACHE,
        next_logits: &forms::EVALUATED_NEXT_LOGITS,
        prompt_inner: &forms::EVALUATED_PROMPT_INNER,
        prompt_residual: &forms::EVALUATED_PROMPT_RESIDUAL,
        prompt_cache: &forms::EVALUATED_PROMPT_CACHE,
        wide_prompt_cache: &forms::EVALUATED_WIDE_PROMPT_CACHE,
    },
};
static MICRO_BATCH: Shapes = Shapes {
    residual: &forms::RESIDUAL,
    logits: &forms::LOGITS,
    tokens: &forms::TOKENS,
    generated: &task::MICRO_BATCH,
};

/// The same shape by the batch of an evaluation.
fn evaluated(shape: &'static Expr) -> &'static Expr {
    let pairs: [(&'static Expr, &'static Expr); 3] = [
        (&forms::INNER, &forms::EVALUATED_INNER),
        (&forms::EXPERT_INNER, &forms::EVALUATED_EXPERT_INNER),
        (&forms::SCORES, &forms::EVALUATED_SCORES),
    ];
    pairs.into_iter().find(|(own, _)| std::ptr::eq(*own, shape)).map_or(shape, |(_, evaluated)| evaluated)
}

impl Counted<'_> {
    fn push(&mut self, name: &'static str, shape: &'static Expr, bytes: f64, alive: Instants, source: &'static Source) {
        self.pushed(Bucket::Temporary, name, shape, bytes, alive, source);
    }

    fn logits(
        &mut self,
        name: &'static str,
        shape: &'static Expr,
        bytes: f64,
        alive: Instants,
        source: &'static Source,
    ) {
        self.pushed(Bucket::Logits, name, shape, bytes, alive, source);
    }

    fn pushed(
        &mut self,
        bucket: Bucket,
        name: &'static str,
        shape: &'static Expr,
        bytes: f64,
        alive: Instants,
        source: &'static Source,
    ) {
        if bytes > 0.0 {
            let line = Line::new(name, bucket, shape, source, alive);
            self.to.lines.push(Line { coefficient: bytes, ..line });
        }
    }

    /// A pass without gradients by `Trainer.prediction_step`, and what `evaluation_loop` keeps of it
    /// (transformers/trainer.py, 5.23.0).
    pub(super) fn evaluation(&mut self) {
        let scenario = self.scenario;
        let at = self.stage.at.outside;
        let [Some(layers), Some(loss), joined] = at.evaluate else { return };
        let shapes = if scenario.outside.eval_batch > 0 { &OWN_BATCH } else { &MICRO_BATCH };
        let Types { element: e, residual: r, .. } = Types::of(scenario);
        let (inside, bytes) = task::widest(scenario, self.stage, false);
        let inside = if scenario.outside.eval_batch > 0 { evaluated(inside) } else { inside };
        let [in_layers, at_loss] = [layers, loss].map(StageInstants::only);
        let passes = in_layers.or(at_loss);
        let ids = Line::new("Evaluated token ids and labels", Bucket::Batch, shapes.tokens, &TRAINER, passes);
        self.to.lines.push(Line { coefficient: 16.0, ..ids });
        let residual = "Residual stream and its norm, evaluated";
        self.push(residual, shapes.residual, r + e, in_layers, &TRANSFORMERS);
        self.push("Inside one layer, evaluated", inside, bytes, in_layers, &TRANSFORMERS);
        self.push("Last hidden state, evaluated", shapes.residual, r, at_loss, &TRANSFORMERS);
        self.evaluated_loss(shapes, e, at_loss);
        if let Some(joined) = joined {
            self.kept_logits(shapes, at_loss, StageInstants::only(joined));
        }
        self.casts(in_layers, at_loss);
        self.gathered_for_passes(in_layers, passes.or(Instants::among(&[joined])));
        if let [Some(prompts), Some(last)] = at.generate {
            task::cache_and_next(self.to, scenario, self.stage, shapes.generated, 1.0, [prompts, last]);
            let generating = Instants::at(&[prompts, last]);
            self.casts(generating, generating);
            self.gathered_for_passes(generating, generating);
        }
    }

    /// The loss inside the model. Liger's has no logits where nobody keeps them (`skip_logits` in
    /// `Trainer.prediction_step`, transformers/trainer.py, 5.23.0).
    fn evaluated_loss(&mut self, shapes: &Shapes, e: f64, at_loss: Instants) {
        let recipe = &self.scenario.recipe;
        let kept = self.scenario.outside.evaluation == Evaluation::Logits;
        match recipe.loss {
            LossHead::Classifier => {}
            LossHead::Fused if !kept => {
                self.logits("One chunk of logits, evaluated", shapes.residual, e + 4.0, at_loss, &LIGER);
            }
            LossHead::Tiled if !kept => {
                self.logits("One tile of logits, evaluated", &forms::TILE, e, at_loss, &TRL_HEAD);
            }
            LossHead::MaskedLm => {
                let softmax = if recipe.precision == Precision::Autocast { 4.0 } else { e };
                self.logits("Logits, evaluated", shapes.logits, e, at_loss, &TRANSFORMERS);
                self.logits("Log-softmax of the evaluated logits", shapes.logits, softmax, at_loss, &TRANSFORMERS);
            }
            _ => {
                self.logits("Logits, evaluated", shapes.logits, e, at_loss, &TRANSFORMERS);
                let cast = if e < 4.0 { 4.0 } else { 0.0 };
                self.logits("Evaluated logits in fp32", shapes.logits, cast, at_loss, &TRANSFORMERS);
                self.logits("Log-softmax of the evaluated logits", shapes.logits, 4.0, at_loss, &TRANSFORMERS);
            }
        }
    }

    /// Each batch makes one tensor of what was kept and what is new (`nested_concat` in
    /// transformers/trainer_pt_utils.py, 5.23.0); the batch before is held by a variable of the loop until the next
    /// one is there. Labels are kept in the same way.
    fn kept_logits(&mut self, shapes: &Shapes, at_loss: Instants, joined: Instants) {
        let scenario = self.scenario;
        if scenario.recipe.loss == LossHead::Classifier {
            return;
        }
        let Outside { eval_batch, eval_steps, .. } = scenario.outside;
        let l = task::logit_bytes(scenario);
        let of_all = devices(scenario);
        if eval_batch == 0 && eval_steps > 0 {
            // So many batches of the micro-batch, whatever the evaluation set has.
            let steps = f64::from(eval_steps);
            let before = if steps > 2.0 { steps } else { steps - 1.0 };
            let both = if steps > 1.0 { 2.0 * steps * of_all } else { of_all + alone(of_all) };
            self.keep("Kept logits", shapes.logits, l * before * of_all, at_loss, Part::KeptLogits);
            let part = if steps > 1.0 { Part::Joined } else { Part::KeptLogits };
            self.keep("Kept logits, and the same in a new tensor", shapes.logits, l * both, joined, part);
            return;
        }
        let kept = kept_sequences(scenario);
        let gathered = of_all * f64::from(eval_batch);
        let batches = if eval_batch > 0 { (kept / gathered).ceil() } else { f64::INFINITY };
        if batches <= 1.0 {
            // Nothing is joined; where there are several devices their batches are.
            let own = alone(of_all) / of_all;
            self.keep("Kept logits", &forms::KEPT_LOGITS, l * (1.0 + own), joined, Part::KeptLogits);
            return;
        }
        if batches > 2.0 {
            self.keep("Kept logits", &forms::KEPT_LOGITS, l, at_loss, Part::KeptLogits);
        } else {
            self.keep("Kept logits", shapes.logits, l * of_all, at_loss, Part::KeptLogits);
        }
        self.keep("Kept logits", &forms::KEPT_LOGITS, l, joined, Part::KeptLogits);
        self.keep("The same, joined with the next", &forms::KEPT_LOGITS, l, joined, Part::Joined);
    }

    fn keep(&mut self, name: &'static str, shape: &'static Expr, bytes: f64, alive: Instants, part: Part) {
        let before = self.to.lines.len();
        self.logits(name, shape, bytes, alive, &TRAINER);
        self.to.are(part, before);
    }

    /// Autocast keeps 16-bit casts of trained weights to the end of a pass, also where nobody asks for gradients
    /// (`cached_cast` in aten/src/ATen/autocast_mode.cpp, PyTorch 2.15).
    fn casts(&mut self, in_layers: Instants, at_loss: Instants) {
        let recipe = &self.scenario.recipe;
        if recipe.precision != Precision::Autocast {
            return;
        }
        let layers = self.stage.layers();
        let (cached, head) = match recipe.adapter {
            Adapter::None => {
                let head = if recipe.loss == LossHead::Classifier { 0.0 } else { self.weights.embedding as f64 };
                (self.to.cast_weights(self.scenario, self.weights, self.stage) * layers, head)
            }
            _ if recipe.adapter_type == AdapterType::Full => (self.to.adapter_weights(self.scenario, self.stage), 0.0),
            _ => return,
        };
        let passing = Bucket::Temporary;
        let both = in_layers.or(at_loss);
        self.to.own("16-bit casts of an evaluation", passing, 2.0, cached, both, &PYTORCH);
        self.to.own("16-bit cast of the head, evaluated", passing, 2.0, head, at_loss, &PYTORCH);
    }

    /// Two layers and the root unit, as in the training pass; the root stays whole behind the last layer.
    fn gathered_for_passes(&mut self, in_layers: Instants, whole: Instants) {
        let (to, stage, scenario) = (&*self.to, self.stage, self.scenario);
        if !task::layer_by_layer(to, scenario) {
            return;
        }
        let ends = to.end_weights(self.weights, stage);
        let outside = gathered_bytes(scenario, Kind::Embedding);
        let source: &'static Source = if scenario.cluster.engine == Engine::DeepSpeed { &DEEPSPEED } else { &FSDP };
        for (bytes, layers) in of_two_layers(to, self.weights, stage, |kind| gathered_bytes(scenario, kind)) {
            self.to.own("Gathered layers, evaluated", Bucket::Parameters, bytes, layers, in_layers, source);
        }
        self.to.own("Gathered embedding and head, evaluated", Bucket::Parameters, outside, ends, whole, source);
    }
}

/// One where there are other devices, whose batches are gathered in a tensor of their own.
fn alone(devices: f64) -> f64 {
    if devices > 1.0 { 1.0 } else { 0.0 }
}
