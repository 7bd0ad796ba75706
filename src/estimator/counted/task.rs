//! What a task has beside the training step: frozen models, a value model, an engine, and the passes that generate and
//! score.
//!
//! It is counted as trl 1.10.0 runs it, on data-parallel devices alone. What its passes make of logits was counted in
//! its code and seen in runs of it (tests/vectors/README.md). The head that works in tiles is that of trl 1.16.0. What PPO has of its own is in `ppo.rs`.

use super::Assembly;
use super::forms;
use super::head::{self, Head};
use super::instants::StageInstants;
use super::layer;
use super::ppo;
use super::stage::Stage;
use super::states::{Kind, StateBytes, by_bytes, frozen_bytes, gathered_bytes, mean_in_blocks, of_two_layers};
use super::types::Types;
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::estimator::meaning::Part;
use crate::source::{TRANSFORMERS, TRL, TRL_HEAD, VLLM};
use crate::{
    Adapter, Encoder, Engine, FrozenType, LossHead, Precision, Reference, RewardModel, Rollout, Scenario, Switch, Task,
    TaskKind, Weights, ZeroStage, formula::Expr, formula::Symbol,
};

/// The scenario as the trainers of tasks run it: without what they do not have. [`Scenario::conflicts`] names it.
pub(super) fn as_run(scenario: &Scenario) -> Scenario {
    let mut run = super::encoder::as_run(scenario);
    if run.task.kind == TaskKind::Train {
        // Nothing else of a task is read.
        run.task = Task::TRAIN;
        return run;
    }
    let cluster = &mut run.cluster;
    (cluster.tensor_parallel, cluster.pipeline_parallel, cluster.context_parallel) = (1, 1, 1);
    cluster.sequence_parallel = Switch::Off;
    if !matches!(cluster.engine, Engine::Torch | Engine::DeepSpeed) {
        cluster.engine = Engine::Torch;
    }
    if !has_tiles(&run) {
        run.recipe.loss = LossHead::Plain;
    }
    // trl trains decoders.
    (run.model.encoder, run.recipe.source) = (Encoder::NONE, 0);
    if run.task.kind == TaskKind::Reward {
        // One output in the place of a vocabulary (`num_labels` in trl/trainer/reward_trainer.py).
        run.model.tied_embeddings = Switch::On;
    }
    if run.task.reference == Reference::Adapter && run.recipe.adapter == Adapter::None {
        run.task.reference = Reference::Copy;
    }
    if run.task.kind == TaskKind::Distil && matches!(run.task.reference, Reference::Adapter | Reference::None) {
        run.task.reference = Reference::Copy;
    }
    run
}

/// Whether log-probabilities come of a head that works in tiles, in the passes without gradients as well
/// (`add_fused_lm_head` in trl/trainer/dpo_trainer.py and grpo_trainer.py, 1.16.0).
fn has_tiles(scenario: &Scenario) -> bool {
    scenario.recipe.loss == LossHead::Tiled && scenario.task.kind.has_tiled_head()
}

/// A chosen and a rejected answer are two sequences of one pass (`DataCollatorForPreference` in
/// trl/trainer/dpo_trainer.py, and the collator of reward_trainer.py), so that each pair takes everything twice.
pub(super) fn twice(to: &mut Assembly) {
    for line in &mut to.lines {
        if line.formula.contains(Symbol::Batch) {
            line.coefficient *= 2.0;
        }
    }
}

/// What a task has on one device.
pub(super) fn assemble(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    if matches!(scenario.task.kind, TaskKind::Train | TaskKind::Reward) {
        return;
    }
    let with_gradients = scenario;
    let scenario = &ppo::without_autocast(scenario);
    let mut frozen = Frozen { to, scenario, weights, stage };
    frozen.reference();
    frozen.reward_model();
    let before = frozen.to.lines.len();
    if scores(scenario) {
        frozen.scoring_pass();
    }
    frozen.to.are(Part::Scoring, before);
    if scenario.task.kind == TaskKind::Ppo {
        ppo::assemble(to, with_gradients, weights, stage);
    }
    if scenario.task.kind.generates() {
        generation(to, scenario, weights, stage);
    }
}

/// Whether anything runs without gradients before the loss. GRPO computes old log-probabilities beside an engine,
/// whose own differ (`_generate_and_score_completions` in trl/trainer/grpo_trainer.py).
fn scores(scenario: &Scenario) -> bool {
    let task = &scenario.task;
    match task.kind {
        TaskKind::Train | TaskKind::Reward => false,
        TaskKind::Dpo => task.reference != Reference::None,
        TaskKind::Ppo | TaskKind::Distil => true,
        TaskKind::Grpo => {
            task.reference != Reference::None
                || task.rollout != Rollout::Model
                || matches!(task.rewarded_by(), RewardModel::Model | RewardModel::Offloaded)
        }
    }
}

/// Bytes of a logit outside the model: accelerate casts what a model puts out under bf16=True to fp32
/// (`convert_outputs_to_fp32` in accelerate/utils/operations.py, 1.15.0).
pub(super) fn logit_bytes(scenario: &Scenario) -> f64 {
    match scenario.recipe.precision {
        Precision::Autocast | Precision::Mixed => 4.0,
        _ => Types::of(scenario).element,
    }
}

/// Bytes of a weight of a frozen model inside the blocks and outside them. It is loaded with the arguments of the
/// trained one (`create_model_from_path` in trl/trainer/dpo_trainer.py), which is in fp32 where that has fp32 weights.
pub(super) fn bytes_of_frozen(scenario: &Scenario, kind: Kind) -> f64 {
    let loaded = frozen_bytes(scenario, kind).map_or_else(|| StateBytes::of(scenario).weight, |(bytes, _)| bytes);
    match scenario.task.frozen {
        FrozenType::Policy => loaded,
        FrozenType::Half => loaded.min(2.0),
    }
}

/// Where a frozen model is.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Divided as the weights of the trained model are.
    Beside,
    /// Divided over all data-parallel devices.
    Sharded,
    /// In CPU memory.
    Host,
}

/// The frozen models of one device.
struct Frozen<'a> {
    to: &'a mut Assembly,
    scenario: &'a Scenario,
    weights: &'a Weights,
    stage: &'a Stage,
}

impl Frozen<'_> {
    fn push(&mut self, name: &'static str, bucket: Bucket, bytes: f64, weights: f64, alive: Instants) {
        self.to.own(name, bucket, bytes, weights, alive, &TRL);
    }

    /// The weights of the trained model as one device of `place` holds them: inside its blocks, of their routed experts,
    /// and outside them.
    fn held(&self, place: Place) -> [f64; 3] {
        let (to, stage) = (&*self.to, self.stage);
        let all = f64::from(self.scenario.cluster.data_parallel());
        let (shards, expert_shards) = match place {
            Place::Beside => (to.parameter_shards, to.expert_parameter_shards),
            Place::Sharded => (all, (all / to.expert_parallel).max(1.0)),
            Place::Host => return [0.0; 3],
        };
        let experts = stage.expert_layers * to.expert_weights(self.weights, stage);
        let ends = to.end_weights(self.weights, stage);
        let shared = to.stage_weights(self.weights, stage) - experts - ends;
        [shared / shards, experts / expert_shards, ends / shards]
    }

    /// A teacher of its own size, of which nothing is quantized.
    fn teacher(&mut self, place: Place, weights: f64) {
        let shards = match place {
            Place::Beside => self.to.parameter_shards,
            Place::Sharded => f64::from(self.scenario.cluster.data_parallel()),
            Place::Host => return,
        };
        let bytes = bytes_of_frozen(self.scenario, Kind::Embedding);
        self.push("Teacher", Bucket::Parameters, bytes, weights / shards, self.stage.at.always());
    }

    /// A frozen model of the same shape as the trained one.
    fn model(&mut self, name: &'static str, place: Place) {
        self.parts(name, self.held(place));
    }

    /// A line for all weights that have the same number of bytes.
    fn parts(&mut self, name: &'static str, held: [f64; 3]) {
        let always = self.stage.at.always();
        let [blocks, experts, ends] = held;
        let of_kind = |kind, weights| (bytes_of_frozen(self.scenario, kind), weights);
        let parts = [of_kind(Kind::Attention, blocks), of_kind(Kind::Experts, experts), of_kind(Kind::Embedding, ends)];
        for (bytes, weights) in by_bytes(parts) {
            self.push(name, Bucket::Parameters, bytes, weights, always);
        }
    }

    fn reference(&mut self) {
        let task = &self.scenario.task;
        let place = match task.reference {
            Reference::Copy => Place::Beside,
            Reference::Sharded => Place::Sharded,
            Reference::Offloaded => Place::Host,
            Reference::Adapter | Reference::None => return,
        };
        if task.kind == TaskKind::Distil {
            if task.teacher == 0 {
                self.model("Teacher", place);
            } else {
                self.teacher(place, task.teacher as f64);
            }
        } else {
            self.model("Reference model", place);
        }
    }

    fn reward_model(&mut self) {
        let task = &self.scenario.task;
        if task.kind.generates() && task.rewarded_by() == RewardModel::Model {
            // One output in the place of a vocabulary (`AutoModelForSequenceClassification` in
            // trl/trainer/grpo_trainer.py and examples/scripts/ppo/ppo.py).
            let [blocks, experts, ends] = self.held(Place::Beside);
            // Without tensor parallelism (`as_run`) only ZeRO divides a head.
            let head = self.weights.head as f64 / self.to.parameter_shards;
            self.parts("Reward model", [blocks, experts, ends - head]);
        }
    }

    /// The largest of the passes without gradients, in one of its layers and at its logits.
    fn scoring_pass(&mut self) {
        let (scenario, at) = (self.scenario, &self.stage.at);
        let [Some(layers), Some(logits)] = at.score else { return };
        self.copies(at.scoring());
        let fixed = scenario.task.kind.generates() && scenario.task.scored > 0;
        let (shape, bytes) = widest(scenario, self.stage, fixed);
        let Types { element: e, residual: r, .. } = Types::of(scenario);
        let residual: &'static Expr = if fixed { &forms::SCORED_RESIDUAL } else { &forms::RESIDUAL };
        let mut pushed = |bucket, name, shape, bytes: f64, position, source| {
            let line = Line::new(name, bucket, shape, source, StageInstants::only(position));
            self.to.lines.push(Line { coefficient: bytes, ..line });
        };
        let mut passing = |name, shape, bytes, position, source| {
            pushed(Bucket::Temporary, name, shape, bytes, position, source);
        };
        passing("Residual stream and its norm, without gradients", residual, r + e, layers, &TRANSFORMERS);
        if scenario.task.kind == TaskKind::Ppo {
            ppo::held_by_a_pass(&mut passing, scenario, self.stage, fixed);
        }
        let l = logit_bytes(scenario);
        // The head is one more layer, and the widest where the vocabulary is wide.
        let completed = scenario.task.completed(scenario.recipe.sequence);
        let tokens = if scenario.task.kind == TaskKind::Grpo { completed } else { scenario.recipe.sequence };
        let head = e * f64::from(tokens) * f64::from(scenario.model.vocabulary);
        let tiles = has_tiles(scenario);
        if scenario.task.kind.generates() && !tiles && head > bytes * inside(scenario, self.stage, shape) {
            let shape: &'static Expr = match (scenario.task.kind, fixed) {
                (TaskKind::Grpo, true) => &forms::SCORED_COMPLETION_LOGITS,
                (TaskKind::Grpo, false) => &forms::COMPLETION_LOGITS,
                (_, true) => &forms::SCORED_LOGITS,
                (_, false) => &forms::LOGITS,
            };
            pushed(Bucket::Logits, "Logits, as the model puts them out", shape, e, layers, &TRL);
        } else {
            pushed(Bucket::Temporary, "Inside one layer, without gradients", shape, bytes, layers, &TRANSFORMERS);
        }
        if tiles {
            let name = "One tile of the logits, without gradients";
            pushed(Bucket::Logits, name, &forms::TILE, e, logits, &TRL_HEAD);
            return;
        }
        let mut of_logits = |name, shape, bytes| pushed(Bucket::Logits, name, shape, bytes, logits, &TRL);
        match scenario.task.kind {
            // Behind the model the reference’s are among those of the loss.
            TaskKind::Dpo | TaskKind::Distil => {
                of_logits("Logits of the frozen model", &forms::LOGITS, e);
            }
            kind => {
                // What the model puts out, and its quotient by the temperature, which PPO takes in place.
                let (shape, bytes): (&'static Expr, f64) = match (kind, fixed) {
                    (TaskKind::Grpo, true) => (&forms::SCORED_COMPLETION_LOGITS, 2.0 * l),
                    (TaskKind::Grpo, false) => (&forms::COMPLETION_LOGITS, 2.0 * l),
                    (_, true) => (&forms::SCORED_LOGITS, if l > e { e + l } else { l }),
                    (_, false) => (&forms::LOGITS, if l > e { e + l } else { l }),
                };
                of_logits("Logits of a scoring pass", shape, bytes);
                let row = if l > 2.0 && kind != TaskKind::Ppo { 2.0 * l } else { l };
                of_logits("Exponentials of one sequence", &forms::ONE_COMPLETION, row);
            }
        }
    }

    /// Weights that a pass without gradients gathers or casts.
    fn copies(&mut self, alive: Instants) {
        let (scenario, stage) = (self.scenario, self.stage);
        let task = &scenario.task;
        let elsewhere = matches!(task.reference, Reference::Sharded | Reference::Offloaded)
            || (task.kind.generates() && task.rewarded_by() == RewardModel::Offloaded);
        if layer_by_layer(self.to, scenario) || elsewhere {
            self.gathered(alive);
        } else if self.to.parameter_shards > 1.0 && task.reference == Reference::Copy {
            // FSDP that keeps what it has gathered has all of a pass together (`reshard_after_forward=False`).
            let all = match task.teacher {
                weights if weights > 0 && task.kind == TaskKind::Distil => weights as f64,
                _ => self.to.stage_weights(self.weights, stage),
            };
            let bytes = mean_in_blocks(self.to, self.weights, stage, |kind| gathered_bytes(scenario, kind));
            self.push("16-bit copy of a frozen model", Bucket::Parameters, bytes, all, alive);
        }
        // Autocast keeps the casts of all weights that a pass has read, because nobody has said that those of a copy
        // need no gradient (`cached_cast` in aten/src/ATen/autocast_mode.cpp; a run of trl’s DPOTrainer).
        if scenario.recipe.precision == Precision::Autocast && scenario.recipe.adapter == Adapter::None {
            let read = match task.kind {
                TaskKind::Dpo | TaskKind::Distil => bytes_of_frozen(scenario, Kind::Attention) > 2.0,
                _ => true,
            };
            // The casts go when the model is through, before a trainer of completions takes its logits further.
            let alive = match (task.kind.generates(), self.stage.at.score[0]) {
                (true, Some(layers)) => StageInstants::only(layers),
                _ => alive,
            };
            if read {
                let matrices = self.to.cast_weights(scenario, self.weights, stage) * stage.layers()
                    + self.weights.embedding as f64;
                self.push("16-bit casts of a pass without gradients", Bucket::Temporary, 2.0, matrices, alive);
            }
        }
    }

    /// Two layers and the root unit, as in the training pass.
    fn gathered(&mut self, alive: Instants) {
        let (to, stage, scenario) = (&*self.to, self.stage, self.scenario);
        let ends = to.end_weights(self.weights, stage);
        // A frozen copy is gathered in its own type, and nothing larger than the trained model is.
        let is_copy = matches!(scenario.task.kind, TaskKind::Dpo | TaskKind::Distil)
            && scenario.task.reference != Reference::Adapter;
        let bytes = |kind| {
            let own = gathered_bytes(scenario, kind);
            if is_copy { own.min(bytes_of_frozen(scenario, kind)) } else { own }
        };
        let outside = bytes(Kind::Embedding);
        for (bytes, layers) in of_two_layers(to, self.weights, stage, bytes) {
            self.push("Gathered layers, without gradients", Bucket::Parameters, bytes, layers, alive);
        }
        // Within the step the model’s own root is whole as it is.
        let task = &scenario.task;
        if task.kind.scores_in_the_step() && task.reference == Reference::Adapter {
            return;
        }
        self.push("Gathered embedding and head, without gradients", Bucket::Parameters, outside, ends, alive);
    }
}

/// The shape and the bytes an element of what is inside a layer at its highest when nothing is kept: both factors of a
/// gated product and the product, or the scores of eager attention and their softmax
/// (transformers 5.23.0, `LlamaMLP.forward` and `eager_attention_forward` in models/llama/modeling_llama.py).
pub(super) fn widest(scenario: &Scenario, stage: &Stage, fixed: bool) -> (&'static Expr, f64) {
    let types = Types::of(scenario);
    let tensors = if scenario.model.mlp.is_gated() { 3.0 } else { 2.0 };
    let (e, inner) = (types.inner, tensors * types.inside(stage));
    let (kept, softmax) = layer::score_bytes(scenario);
    let scores = if kept > 0.0 { e + softmax } else { 0.0 };
    let model = &scenario.model;
    if scores * f64::from(model.heads) * f64::from(scenario.recipe.sequence) > inner * width(scenario, stage) {
        return (if fixed { &forms::SCORED_SCORES } else { &forms::SCORES }, scores);
    }
    let shape: &'static Expr = match (stage.experts_are_wider, fixed) {
        (true, true) => &forms::SCORED_EXPERT_INNER,
        (true, false) => &forms::EXPERT_INNER,
        (false, true) => &forms::SCORED_INNER,
        (false, false) => &forms::INNER,
    };
    (shape, inner)
}

/// Elements of one sequence in the shape that [`widest`] says.
fn inside(scenario: &Scenario, stage: &Stage, shape: &'static Expr) -> f64 {
    let (model, sequence) = (&scenario.model, f64::from(scenario.recipe.sequence));
    if std::ptr::eq(shape, &forms::SCORES) || std::ptr::eq(shape, &forms::SCORED_SCORES) {
        return f64::from(model.heads) * sequence * sequence;
    }
    sequence * width(scenario, stage)
}

/// Elements of one token inside the wider feed-forward block.
fn width(scenario: &Scenario, stage: &Stage) -> f64 {
    let model = &scenario.model;
    let active = f64::from(model.experts.active.min(model.experts.count)) * super::imbalance(scenario);
    if stage.experts_are_wider { f64::from(model.expert_width()) * active } else { f64::from(model.feed_forward) }
}

/// From the last hidden state to the loss of a task, and back.
pub(super) fn loss(to: &mut Assembly, scenario: &Scenario, stage: &Stage) {
    let at = &stage.at;
    let Some(backward) = at.loss else { return };
    let (e, l) = (Types::of(scenario).element, logit_bytes(scenario));
    let [logits, forward, backward] = [at.logits, at.forward, backward].map(StageInstants::only);
    if has_tiles(scenario) {
        // The labels of a prompt are none; how long a prompt of a pair is, nobody says.
        let is_completion = scenario.task.kind == TaskKind::Grpo;
        let labelled: &'static Expr = if is_completion { &forms::COMPLETION_RESIDUAL } else { &forms::RESIDUAL };
        let mut head = Head { to, forward: logits, backward, both: logits.or(backward) };
        head::tiled(&mut head, scenario, labelled);
        // Autograd keeps them while the reference runs and the loss is taken.
        let name = "Hidden states that have a label";
        let (residual, alive) = (Types::of(scenario).residual, forward.or(at.scores_within()));
        head.push(name, Bucket::Logits, labelled, residual, alive, &TRL_HEAD);
        return;
    }
    let vocabulary = f64::from(scenario.model.vocabulary);
    let mut push = |name, shape: &'static Expr, bytes: f64, alive| {
        if bytes > 0.0 {
            to.lines.push(Line { coefficient: bytes, ..Line::new(name, Bucket::Logits, shape, &TRL, alive) });
        }
    };
    // In 16 bits the log-softmax of each row is kept, in fp32 the logits (`selective_log_softmax` in
    // trl/trainer/utils.py).
    let halves = if l > 2.0 { 0.0 } else { l };
    let kind = scenario.task.kind;
    let completed: &'static Expr = if kind == TaskKind::Grpo { &forms::COMPLETION_LOGITS } else { &forms::LOGITS };
    match kind {
        TaskKind::Train | TaskKind::Reward => return,
        TaskKind::Ppo => return ppo::loss(to, scenario, stage),
        TaskKind::Distil => {
            push("Logits", &forms::LOGITS, e, logits);
            push("Logits", &forms::LOGITS, l, at.scores_within());
            // `generalized_jsd_loss` of trl/experimental/gkd at its default mixture, under the allocator: seventeen
            // tensors of that size with the logits of both, and twelve in the backward pass.
            push("Logits of both, and their divergence", &forms::LOGITS, 17.0 * l, forward);
            // What the backward pass will read.
            push("Divergence and its gradients", &forms::LOGITS, 9.0 * l, Instants::among(&[at.rows]));
            push("Divergence and its gradients", &forms::LOGITS, 12.0 * l, backward);
            return;
        }
        TaskKind::Dpo => {
            push("Logits", completed, e, logits);
            push("Logits", completed, l, forward.or(at.scores_within()));
            push("Log-softmax of the logits", completed, halves, forward.or(at.scores_within()));
            if scores(scenario) {
                push("Logits of the frozen model", completed, l, forward);
            }
            // A slice without the last token has no flat view (`entropy_from_logits`, as above).
            push("Logits, copied for their entropy", completed, l, forward);
        }
        TaskKind::Grpo => {
            push("Logits", completed, e, logits);
            push("Logits, and divided by the temperature", completed, 2.0 * l, forward);
            push("Log-softmax of the logits", completed, halves, forward);
        }
    }
    let gradients: &'static Expr = if kind == TaskKind::Dpo { &forms::LOGITS } else { &forms::COMPLETION_LOGITS };
    // DPO takes log-probabilities of whole sequences and masks the prompt behind them.
    let one: &'static Expr = if kind == TaskKind::Dpo { &forms::ONE_SEQUENCE } else { &forms::ONE_COMPLETION };
    push("Logits, or their log-softmax", gradients, l, backward);
    // In fp32 what was gathered has a gradient of its own beside that of the log-sum-exp.
    push("Gradients of the logits", gradients, if l > 2.0 { 2.0 * l } else { l }, backward);
    // Before, one sequence after another: two temporaries of its log-sum-exp, or of its gather, stand beside what is
    // there of the others.
    let rows = Instants::among(&[at.rows]);
    push("Logits, or their log-softmax", gradients, l, rows);
    push("Gradients of the logits", gradients, if l > 2.0 { l } else { 0.0 }, rows);
    push("Temporaries of one sequence’s gradient", one, 2.0 * l, rows);
    // 128 rows at a time: log-softmax, exponential and their product; or, before, the exponentials of one sequence.
    let chunk = 3.0 * l * ENTROPY_ROWS;
    let rows = f64::from(scenario.task.completed(scenario.recipe.sequence));
    let row = if l > 2.0 { 2.0 * l } else { 0.0 } * rows;
    if kind == TaskKind::Dpo || chunk >= row {
        to.own("128 rows of their entropy", Bucket::Logits, chunk, vocabulary, forward, &TRL);
    } else {
        let line = Line::new("Exponentials of one sequence", Bucket::Logits, one, &TRL, forward);
        to.lines.push(Line { coefficient: 2.0 * l, ..line });
    }
}

/// Rows that are taken at once for entropies (`chunk_size` of `entropy_from_logits`, trl/trainer/utils.py).
const ENTROPY_ROWS: f64 = 128.0;

/// Completions, token by token, or an engine that makes them.
fn generation(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    let (task, at) = (&scenario.task, &stage.at);
    let alive = match task.rollout {
        Rollout::Server => return,
        Rollout::Awake => Instants::ALWAYS,
        // The second level of sleep keeps neither weights nor cache.
        Rollout::Asleep => at.generating(),
        Rollout::Model => return by_the_model(to, scenario, weights, stage),
    };
    if task.engine.get() > 0.0 {
        let line = Line::new("Inference engine", Bucket::Runtime, &forms::SHARE, &VLLM, alive);
        to.lines.push(Line { coefficient: task.engine.fraction(), part: Part::Engine, ..line });
    }
}

/// The shapes of what is generated at once.
pub(super) struct GeneratedTogether {
    pub(super) cache: &'static Expr,
    pub(super) wide_cache: &'static Expr,
    pub(super) next_logits: &'static Expr,
    pub(super) prompt_inner: &'static Expr,
    pub(super) prompt_residual: &'static Expr,
    pub(super) prompt_cache: &'static Expr,
    pub(super) wide_prompt_cache: &'static Expr,
}

static GROUP: GeneratedTogether = GeneratedTogether {
    cache: &forms::CACHE,
    wide_cache: &forms::WIDE_CACHE,
    next_logits: &forms::NEXT_LOGITS,
    prompt_inner: &forms::PROMPT_INNER,
    prompt_residual: &forms::PROMPT_RESIDUAL,
    prompt_cache: &forms::PROMPT_CACHE,
    wide_prompt_cache: &forms::WIDE_PROMPT_CACHE,
};
pub(super) static MICRO_BATCH: GeneratedTogether = GeneratedTogether {
    cache: &forms::STEP_CACHE,
    wide_cache: &forms::WIDE_STEP_CACHE,
    next_logits: &forms::NEXT_STEP_LOGITS,
    prompt_inner: &forms::PROMPT_STEP_INNER,
    prompt_residual: &forms::PROMPT_STEP_RESIDUAL,
    prompt_cache: &forms::PROMPT_STEP_CACHE,
    wide_prompt_cache: &forms::WIDE_PROMPT_STEP_CACHE,
};

/// The cache, what a token adds to it, and the logits of the next, so many times; at the end of the prompts and of the
/// last token.
pub(super) fn cache_and_next(
    to: &mut Assembly,
    scenario: &Scenario,
    stage: &Stage,
    shapes: &GeneratedTogether,
    times: f64,
    at: [usize; 2],
) {
    let model = &scenario.model;
    let Types { element: e, residual: r, .. } = Types::of(scenario);
    let mut push = |name, bucket, shape, bytes: f64, layers: f64, alive| {
        // What is kept of a token is the cache.
        let part = if bucket == Bucket::Activations { Part::Cache } else { Part::Other };
        let line = Line::new(name, bucket, shape, &TRANSFORMERS, alive);
        to.lines.push(Line { coefficient: bytes * times, layers, part, ..line });
    };
    let (cache, read) = if model.latent.kv_rank > 0 {
        (shapes.wide_cache, shapes.wide_prompt_cache)
    } else {
        (shapes.cache, shapes.prompt_cache)
    };
    let [reading, grown] = at.map(StageInstants::only);
    // Rotated keys have the type of the hidden states.
    let key = if model.position.rotates() { r } else { e };
    push("Cache of keys", Bucket::Activations, cache, key, stage.layers(), grown);
    // `DynamicLayer.lazy_initialization` makes the empty values in the type of the keys, and `torch.cat` keeps the wider.
    push("Cache of values", Bucket::Activations, cache, key, stage.layers(), grown);
    push("One layer’s keys, longer by a token", Bucket::Temporary, cache, key, 1.0, grown);
    push("Logits of the next tokens", Bucket::Logits, shapes.next_logits, e + 12.0, 1.0, grown);
    let inner = if model.mlp.is_gated() { 3.0 } else { 2.0 } * Types::of(scenario).inner;
    push("Inside one layer, reading prompts", Bucket::Temporary, shapes.prompt_inner, inner, 1.0, reading);
    // In the last layer: the embeddings, which the model keeps to the end, the layer's input, the stream behind its
    // attention, and the norm of that (`LlamaModel.forward` and `LlamaDecoderLayer.forward`).
    push("Residual streams, reading prompts", Bucket::Temporary, shapes.prompt_residual, 4.0 * r, 1.0, reading);
    push("Cache of the prompts", Bucket::Activations, read, 2.0 * key, stage.layers(), reading);
}

/// transformers' `generate`: keys and values of every token in a `DynamicCache`, which a new token copies layer by layer
/// (`torch.cat` in transformers/cache_utils.py, 5.23.0), and the logits of the next tokens in fp32
/// (`_sample` in transformers/generation/utils.py).
fn by_the_model(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    let (task, at) = (&scenario.task, &stage.at);
    let [Some(prompts), Some(last)] = at.generate else { return };
    let fixed = task.generations > 0;
    // Sequences of all micro-batches of a step are generated at once.
    let steps = if fixed { 1.0 } else { f64::from(scenario.recipe.micro_batches) };
    cache_and_next(to, scenario, stage, if fixed { &GROUP } else { &MICRO_BATCH }, steps, [prompts, last]);
    let grown = StageInstants::only(last);
    if task.kind == TaskKind::Ppo {
        ppo::generated_logits(to, scenario, grown, at);
    }
    weights_that_generate(to, scenario, weights, stage, stage.at.generating());
}

/// Whether weights are gathered for each layer and let go of behind it.
pub(super) fn layer_by_layer(to: &Assembly, scenario: &Scenario) -> bool {
    to.parameter_shards > 1.0 && scenario.cluster.zero == ZeroStage::Stage3
}

/// Weights that are divided are gathered for every token: whole under DeepSpeed (`unwrap_model_for_generation` in
/// trl/models/utils.py, `ds3_gather_for_generation`), layer by layer under FSDP.
pub(super) fn weights_that_generate(
    to: &mut Assembly,
    scenario: &Scenario,
    weights: &Weights,
    stage: &Stage,
    alive: Instants,
) {
    let whole = scenario.cluster.engine == Engine::DeepSpeed && scenario.cluster.zero == ZeroStage::Stage3;
    if to.parameter_shards > 1.0 && whole {
        let all = to.stage_weights(weights, stage);
        let bytes = mean_in_blocks(to, weights, stage, |kind| gathered_bytes(scenario, kind));
        to.own("Weights, gathered to generate", Bucket::Parameters, bytes, all, alive, &TRL);
    }
    let gathers = layer_by_layer(to, scenario) && !whole;
    let mut frozen = Frozen { to, scenario, weights, stage };
    if gathers {
        frozen.gathered(alive);
    }
    if scenario.recipe.precision == Precision::Autocast && scenario.recipe.adapter == Adapter::None {
        let name = "16-bit casts of a pass without gradients";
        let matrices = frozen.to.cast_weights(scenario, weights, stage) * stage.layers();
        frozen.push(name, Bucket::Temporary, 2.0, matrices, alive);
        // The head comes behind the layers.
        let head = Instants::among(&[stage.at.generate[1]]);
        frozen.push(name, Bucket::Temporary, 2.0, weights.embedding as f64, head);
    }
}
