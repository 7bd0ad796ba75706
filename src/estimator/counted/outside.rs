//! What a training program does outside its step: evaluation, gathering and writing a checkpoint, merging adapters,
//! loading and resuming.
//!
//! Each stands at instants of its own beside what is there all the time, so that the peak is one of them where it is
//! higher than the step. It was counted in the code that the sources name and seen in runs of it
//! (tests/vectors/outside.json); docs/outside-the-step.md says what rests on reading alone.

use super::Assembly;
use super::forms;
use super::instants::StageInstants;
use super::stage::Stage;
use super::states::{Kind, StateBytes, frozen_bytes, gathered_bytes};
use super::task::{self, GeneratedTogether};
use super::types::Types;
use super::{Shards, optimizer, states};
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::source::{DEEPSPEED, LIGER, PEFT, PYTORCH, STATE_DICT, Source, TRAINER, TRANSFORMERS};
use crate::{
    Adapter, AdapterTargets, AdapterType, Engine, Evaluation, Gather, Gathered, Load, LossHead, Merge, Method,
    Optimizer, Outside, Precision, Resume, Scenario, StepKernel, Switch, TaskKind, Weights, ZeroStage, formula::Expr,
};

/// The scenario with what is outside its step as far as that is counted: `run` is the scenario as its task runs it.
/// [`Scenario::conflicts`] names what is left out.
pub(super) fn as_run(scenario: &Scenario, mut run: Scenario) -> Scenario {
    let outside = &mut run.outside;
    if !outside.is_on() || !is_counted_with(scenario) {
        *outside = Outside::OFF;
        return run;
    }
    if !can_evaluate(scenario) {
        outside.evaluation = Evaluation::Off;
    }
    if !can_generate(scenario) {
        outside.eval_generate = Switch::Off;
    }
    if outside.generates() {
        run.task.completion = outside.eval_tokens;
    }
    if scenario.cluster.engine == Engine::DeepSpeed {
        if outside.gather == Gather::Gpu {
            outside.gather = Gather::Cpu;
        }
        outside.gathered = Gathered::Weights;
        if outside.resume != Resume::Off {
            outside.resume = Resume::Cpu;
        }
    }
    if !divides_weights(scenario) {
        outside.gather = Gather::Off;
    }
    let adapter = scenario.recipe.adapter;
    if outside.load == Load::Gpu && adapter.is_quantized() {
        outside.load = Load::Cpu;
    }
    if adapter == Adapter::None || divides_weights(scenario) {
        outside.merge = Merge::Off;
    }
    if outside.merge == Merge::Whole && !adapter.is_quantized() {
        outside.merge = Merge::On;
    }
    run
}

/// Whether anything outside the step is counted for this division of the work.
pub(crate) fn is_counted_with(scenario: &Scenario) -> bool {
    let cluster = &scenario.cluster;
    let alone = cluster.pipeline_parallel == 1 && cluster.tensor_parallel == 1 && cluster.context_parallel == 1;
    scenario.method == Method::Ledger && alone && matches!(cluster.engine, Engine::Torch | Engine::DeepSpeed)
}

/// Whether transformers' evaluation has a loss like this one.
pub(crate) fn can_evaluate(scenario: &Scenario) -> bool {
    let has_loss =
        matches!(scenario.recipe.loss, LossHead::Plain | LossHead::Fused | LossHead::MaskedLm | LossHead::Classifier);
    scenario.task.kind == TaskKind::Train && has_loss
}

/// Whether the model puts out one token after another.
pub(crate) fn can_generate(scenario: &Scenario) -> bool {
    matches!(scenario.recipe.loss, LossHead::Plain | LossHead::Fused)
}

/// Whether no device has all weights.
pub(crate) fn divides_weights(scenario: &Scenario) -> bool {
    Shards::of(scenario).at(states::parameters_from(scenario), scenario) > 1.0
}

/// What one device has outside the step.
pub(super) fn assemble(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    if !scenario.outside.is_on() {
        return;
    }
    let mut counted = Counted { to, scenario, weights, stage };
    counted.evaluation();
    counted.gathering();
    counted.merging();
    counted.loading();
    counted.resuming();
}

/// Sequences whose logits are in one tensor at the end of an evaluation, or when they go to CPU memory: those of the
/// evaluation set, or of so many batches from all devices (`gather_for_metrics` in accelerate/accelerator.py, 1.15.0).
pub(super) fn kept_sequences(scenario: &Scenario) -> f64 {
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

struct Counted<'a> {
    to: &'a mut Assembly,
    scenario: &'a Scenario,
    weights: &'a Weights,
    stage: &'a Stage,
}

impl Counted<'_> {
    fn push(&mut self, name: &'static str, shape: &'static Expr, bytes: f64, alive: Instants, source: &'static Source) {
        if bytes > 0.0 {
            let line = Line::new(name, Bucket::Temporary, shape, source, alive);
            self.to.lines.push(Line { coefficient: bytes, ..line });
        }
    }

    /// A pass without gradients by `Trainer.prediction_step`, and what `evaluation_loop` keeps of it
    /// (transformers/trainer.py, 5.23.0).
    fn evaluation(&mut self) {
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
                self.push("One chunk of logits, evaluated", shapes.residual, e + 4.0, at_loss, &LIGER);
            }
            LossHead::MaskedLm => {
                let softmax = if recipe.precision == Precision::Autocast { 4.0 } else { e };
                self.push("Logits, evaluated", shapes.logits, e, at_loss, &TRANSFORMERS);
                self.push("Log-softmax of the evaluated logits", shapes.logits, softmax, at_loss, &TRANSFORMERS);
            }
            _ => {
                self.push("Logits, evaluated", shapes.logits, e, at_loss, &TRANSFORMERS);
                let cast = if e < 4.0 { 4.0 } else { 0.0 };
                self.push("Evaluated logits in fp32", shapes.logits, cast, at_loss, &TRANSFORMERS);
                self.push("Log-softmax of the evaluated logits", shapes.logits, 4.0, at_loss, &TRANSFORMERS);
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
            self.push("Kept logits", shapes.logits, l * before * of_all, at_loss, &TRAINER);
            self.push("Kept logits, and the same in a new tensor", shapes.logits, l * both, joined, &TRAINER);
            return;
        }
        let kept = kept_sequences(scenario);
        let gathered = of_all * f64::from(eval_batch);
        let batches = if eval_batch > 0 { (kept / gathered).ceil() } else { f64::INFINITY };
        if batches <= 1.0 {
            // Nothing is joined; where there are several devices their batches are.
            let own = alone(of_all) / of_all;
            self.push("Kept logits", &forms::KEPT_LOGITS, l * (1.0 + own), joined, &TRAINER);
            return;
        }
        if batches > 2.0 {
            self.push("Kept logits", &forms::KEPT_LOGITS, l, at_loss, &TRAINER);
        } else {
            self.push("Kept logits", shapes.logits, l * of_all, at_loss, &TRAINER);
        }
        self.push("Kept logits", &forms::KEPT_LOGITS, l, joined, &TRAINER);
        self.push("The same, joined with the next", &forms::KEPT_LOGITS, l, joined, &TRAINER);
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
                (self.to.matrix_weights(self.weights, self.stage) * layers, head)
            }
            _ if recipe.adapter_type == AdapterType::Full => (self.to.adapter_weights(self.scenario) * layers, 0.0),
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
        let layer = to.shared_layer_weights(self.weights, stage) + to.expert_weights(self.weights, stage);
        let (layers, ends) = (stage.layers().min(2.0) * layer, to.end_weights(self.weights, stage));
        let [inside, outside] = [Kind::Attention, Kind::Embedding].map(|kind| gathered_bytes(scenario, kind));
        let source: &'static Source =
            if scenario.cluster.engine == Engine::DeepSpeed { &DEEPSPEED } else { &crate::source::FSDP };
        self.to.own("Gathered layers, evaluated", Bucket::Parameters, inside, layers, in_layers, source);
        self.to.own("Gathered embedding and head, evaluated", Bucket::Parameters, outside, ends, whole, source);
    }

    /// Elements of the largest tensor.
    fn largest(&self) -> f64 {
        self.weights.largest_matrix(&self.scenario.model) as f64
    }

    /// Bytes of a weight as the model holds it, inside the blocks and outside them.
    fn held(&self) -> [f64; 2] {
        [Kind::Attention, Kind::Embedding].map(|kind| match frozen_bytes(self.scenario, kind) {
            Some((bytes, _)) => bytes,
            None => StateBytes::of(self.scenario).weight,
        })
    }

    /// Weights of the whole model, inside the blocks and outside them.
    fn whole(&self) -> [f64; 2] {
        let (all, ends) =
            (self.to.stage_weights(self.weights, self.stage), self.to.end_weights(self.weights, self.stage));
        [all - ends, ends]
    }

    /// A full state dict: `full_tensor` of one tensor after another, which stay on the GPU or go to CPU memory
    /// (`_gather_state_dict` in torch/distributed/_state_dict_utils.py, PyTorch 2.15). DeepSpeed gathers the tensors of one
    /// module (`_zero3_consolidated_16bit_state_dict` in deepspeed/runtime/engine.py).
    fn gathering(&mut self) {
        let scenario = self.scenario;
        let Outside { gather, gathered, .. } = scenario.outside;
        let [at_weights, at_states] = self.stage.at.outside.gather;
        let Some(at_weights) = at_weights else { return };
        let deepspeed = scenario.cluster.engine == Engine::DeepSpeed;
        let source: &'static Source = if deepspeed { &DEEPSPEED } else { &STATE_DICT };
        let [inside, outside] = self.held();
        let [blocks, ends] = self.whole();
        let at = StageInstants::only(at_weights);
        if self.to.parameter_shards > 1.0 {
            let weights = Bucket::Parameters;
            if gather == Gather::Gpu {
                self.to.own("Full state dict", weights, inside, blocks, at, source);
                // A tied head stands in it under its own name and is gathered once more.
                let tied = if self.scenario.model.tied_embeddings.is_on() { 2.0 * ends } else { ends };
                self.to.own("Full state dict, embedding and head", weights, outside, tied, at, source);
            } else {
                let bytes = if deepspeed { StateBytes::of(scenario).compute } else { inside.max(outside) };
                self.to.own("One tensor, gathered", weights, bytes, self.largest(), at, source);
            }
        }
        let Some(at_states) = at_states.filter(|_| gathered == Gathered::All) else { return };
        let divided = self.to.optimizer_shards > 1.0 && scenario.cluster.zero >= ZeroStage::Stage2;
        if !divided || scenario.recipe.offload.takes_optimizer() {
            return;
        }
        let at = StageInstants::only(at_states);
        let bytes = StateBytes::of(scenario);
        let adapters = scenario.recipe.adapter != Adapter::None;
        let (moments, _) = optimizer::moment_bytes(scenario.recipe.optimizer, Kind::Attention, &bytes);
        let layers = self.stage.layers();
        let (all, largest) = if adapters {
            let all = self.to.adapter_weights(scenario);
            (all * layers, all)
        } else {
            (blocks + ends, self.largest())
        };
        if gather == Gather::Gpu {
            let each = moments + bytes.master;
            self.to.own("Optimizer state, gathered", Bucket::Optimizer, each, all, at, source);
        } else if moments > 0.0 {
            // One moment of the largest weight.
            let one = bytes.moment.min(moments);
            self.to.own("One tensor of the state, gathered", Bucket::Optimizer, one, largest, at, source);
        }
    }

    /// peft's merge, matrix by matrix: the product of the two thin matrices and the same times their scale, beside what
    /// the way of merging has (`get_delta_weight` and `merge` in peft/tuners/lora/layer.py and bnb.py, 0.21.2).
    fn merging(&mut self) {
        let Some(at) = self.stage.at.outside.merge.map(StageInstants::only) else { return };
        let scenario = self.scenario;
        let recipe = &scenario.recipe;
        let delta = StateBytes::of(scenario).weight;
        let [held, _] = self.held();
        let quantized = recipe.adapter.is_quantized();
        let merge = scenario.outside.merge;
        let largest = self.largest_adapted();
        let passing = Bucket::Temporary;
        if quantized && merge != Merge::Whole {
            // The sum goes to CPU memory and comes back to be quantized, while the loop holds what it was made of.
            let (sum, eight) = (delta.max(2.0), recipe.adapter == Adapter::Lora8);
            let back = if eight { 2.0 } else { sum };
            self.to.own(
                "One matrix, dequantized to be merged",
                passing,
                if eight { 4.0 } else { 2.0 },
                largest,
                at,
                &PEFT,
            );
            self.to.own("Product of one adapter", passing, delta, largest, at, &PEFT);
            self.to.own("Their sum, and the same to be quantized", passing, sum + back, largest, at, &PEFT);
            self.to.own("One matrix, quantized anew", passing, held, largest, at, &PEFT);
            return;
        }
        self.to.own("Product of one adapter, and scaled", passing, 2.0 * delta, largest, at, &PEFT);
        if merge == Merge::Whole {
            // Quantized matrices go as their 16-bit copies come.
            let (weights, stage) = (self.weights, self.stage);
            let small = stage.layers() * (weights.norms + weights.biases) as f64
                + stage.expert_layers * weights.router as f64
                + (weights.final_norm + weights.positions) as f64;
            let [blocks, _] = self.whole();
            self.to.own("What dequantizing adds", Bucket::Parameters, 2.0 - held, blocks - small, at, &PEFT);
        } else if merge == Merge::Safe {
            self.to.own("Copy of one matrix", passing, held, largest, at, &PEFT);
        }
    }

    /// Elements of the largest matrix that has an adapter.
    fn largest_adapted(&self) -> f64 {
        let model = &self.scenario.model;
        let [h, d] = [model.hidden, model.head_dim].map(f64::from);
        let attention = h * d * f64::from(model.heads);
        match self.scenario.recipe.targets {
            AdapterTargets::All => {
                let width = if self.stage.experts_are_wider { model.expert_width() } else { model.feed_forward };
                attention.max(h * f64::from(width))
            }
            _ => attention,
        }
    }

    /// Weights that are read into the model. Nothing but the model is there where they come tensor by tensor
    /// (`from_pretrained` in transformers/modeling_utils.py, 5.23.0); divided, each is whole before it is
    /// (`fsdp2_load_full_state_dict` in accelerate/utils/fsdp_utils.py, 1.15.0).
    fn loading(&mut self) {
        let at = self.stage.at.outside;
        let Some(load) = at.load else { return };
        let scenario = self.scenario;
        let [inside, outside] = self.held();
        let alive = StageInstants::only(load);
        if scenario.outside.load == Load::Gpu {
            // A variable holds what was read while the optimizer's state is read to the GPU as well.
            let resumed = at.resume.filter(|_| scenario.outside.resume == Resume::Gpu);
            let alive = Instants::among(&[Some(load), resumed]);
            let [blocks, ends] = self.whole();
            self.to.own("Weights as they were read", Bucket::Parameters, inside, blocks, alive, &TRAINER);
            self.to.own("Embedding and head as they were read", Bucket::Parameters, outside, ends, alive, &TRAINER);
        } else if scenario.recipe.adapter.is_quantized() {
            let matrices = f64::from(scenario.model.mlp.matrices());
            let one = self.weights.dense_mlp.max(self.weights.expert) as f64 / matrices;
            self.to.own("One matrix, before it is quantized", Bucket::Temporary, 2.0, one, alive, &TRAINER);
        } else if self.to.parameter_shards > 1.0 {
            let bytes = inside.max(outside);
            self.to.own("One tensor, before it is divided", Bucket::Temporary, bytes, self.largest(), alive, &TRAINER);
        }
    }

    /// State that is read for the optimizer: `load_state_dict` takes tensors that are on the GPU in the type of the weights
    /// as they are (`_process_value_according_to_param_policy` in torch/optim/optimizer.py, PyTorch 2.15), and
    /// bitsandbytes copies them (`load_state_dict` in bitsandbytes/optim/optimizer.py, 0.50.2).
    fn resuming(&mut self) {
        let Some(at) = self.stage.at.outside.resume.map(StageInstants::only) else { return };
        let scenario = self.scenario;
        let recipe = &scenario.recipe;
        if recipe.offload.takes_optimizer() {
            return;
        }
        let bytes = StateBytes::of(scenario);
        let [blocks, ends] = self.whole();
        let trained = if recipe.adapter == Adapter::None {
            blocks + ends
        } else {
            self.to.adapter_weights(scenario) * self.stage.layers()
        };
        match scenario.outside.resume {
            Resume::Gpu if recipe.optimizer == Optimizer::Adam8bit => {
                let (moments, source) = optimizer::moment_bytes(recipe.optimizer, Kind::Attention, &bytes);
                let own = trained / self.to.optimizer_shards;
                self.to.own("State as it was read", Bucket::Optimizer, moments, own, at, source);
            }
            Resume::Init => {
                let own = trained / self.to.parameter_shards;
                self.to.own("Gradients of zeros", Bucket::Gradients, bytes.weight, own, at, &STATE_DICT);
                if recipe.optimizer == Optimizer::AdamW && recipe.step == StepKernel::Foreach {
                    let own = trained / self.to.optimizer_shards;
                    self.to.own("Root of the moments, of zeros", Bucket::Temporary, bytes.moment, own, at, &PYTORCH);
                }
            }
            _ => {}
        }
    }
}

/// One where there are other devices, whose batches are gathered in a tensor of their own.
fn alone(devices: f64) -> f64 {
    if devices > 1.0 { 1.0 } else { 0.0 }
}
