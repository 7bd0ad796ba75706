//! Method 3: every tensor by name, and the instants at which it is alive.
//!
//! Peak is the maximum over instants of what is alive, not the sum of buckets. Without pipeline a
//! step has six instants; with one, the last stage has six and the others that are counted have five each,
//! and the worst of them is found like the worst instant. Identical layers are one line times their
//! number.

mod activations;
mod copies;
mod encoder;
mod engine;
mod forms;
mod fp8;
mod head;
mod host;
mod instants;
mod layer;
mod lengths;
mod matrices;
mod operators;
mod optimizer;
pub(super) mod outside;
mod overhead;
mod pinned;
mod ppo;
mod recipes;
mod small;
mod stage;
mod states;
mod task;
mod types;
mod vision;

use self::host::Extent;
use self::stage::{Pipeline, Stage};
use self::types::Types;
use super::formula::{Symbol, Values};
use super::ledger::{Bucket, Instants, Ledger, Line, common_values};
use super::source::{FSDP, Source, TRANSFORMERS};
use super::stages::StageShare;
use super::{Adapter, AdapterWeights, Scenario, TaskKind, Unit, Weights, ZeroStage};

/// The lines as they come together, with the sizes that several parts ask for.
struct Assembly {
    lines: Vec<Line>,
    /// P.
    stages: u32,
    tensor_parallel: f64,
    expert_parallel: f64,
    parameter_shards: f64,
    expert_parameter_shards: f64,
    gradient_shards: f64,
    expert_gradient_shards: f64,
    optimizer_shards: f64,
    expert_optimizer_shards: f64,
}

/// What of the caching allocator is counted.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Allocator {
    /// What is alive, and the fragmentation the scenario states.
    Live,
    /// Also what stays in blocks that nothing fits into and in the pools of communication streams, which
    /// no other stream can use until the allocator runs short and empties them.
    Reserved,
}

pub(in crate::estimator) use fp8::has_products;
pub(in crate::estimator) use recipes::{Unfit, unfit};

/// Bytes of a weight that is trained, and of its gradient.
pub(crate) fn bytes_of_a_trained_weight(scenario: &Scenario) -> (f64, f64) {
    let bytes = states::StateBytes::of(scenario);
    (bytes.weight, bytes.gradient)
}

/// The ledger of every tensor.
pub(crate) fn ledger(scenario: &Scenario, allocator: Allocator) -> Ledger {
    counted(scenario, allocator, Extent::Asked)
}

/// The same with all that the allocator may hold, and with what nobody said of CPU memory.
pub(crate) fn careful_ledger(scenario: &Scenario) -> Ledger {
    counted(scenario, Allocator::Reserved, Extent::Careful)
}

/// The scenario as far as it is counted: without what its task, its model and its recipe leave unread.
/// [`Scenario::conflicts`] names what was asked for and is left out.
pub(crate) fn as_run(scenario: &Scenario) -> Scenario {
    outside::as_run(scenario, recipes::as_run(vision::as_run(task::as_run(scenario))))
}

fn counted(scenario: &Scenario, allocator: Allocator, in_host: Extent) -> Ledger {
    let scenario = &as_run(&scenario.at_longest());
    let weights = Weights::of(&scenario.model);
    let pipeline = Pipeline::of(scenario);
    let mut assembly = Assembly::new(scenario, pipeline.stages);
    let counted = pipeline.counted(scenario, &weights);
    let instants = match scenario.task.kind {
        _ if scenario.model.vision.is_there() => instants::WITH_TOWER,
        TaskKind::Train if scenario.model.encoder.is_there() => instants::WITH_ENCODER,
        TaskKind::Train => instants::instants_of(counted.len()),
        kind => instants::instants_of_task(kind),
    };
    let instants = instants.iter().chain(instants::outside(&scenario.outside)).collect();
    let ranks = if counted.len() > 1 { counted.iter().map(|stage| stage.rank).collect() } else { Vec::new() };
    for stage in counted {
        assembly.stage(scenario, &weights, &stage);
        if allocator == Allocator::Reserved {
            assembly.held_by_streams(scenario, &weights, &stage);
            head::held_by_blocks(&mut assembly, scenario, &stage);
            engine::held_by_the_step(&mut assembly, scenario, &weights, &stage);
        }
    }
    if scenario.model.vision.is_there() {
        vision::assemble(&mut assembly, scenario);
    }
    if scenario.task.kind.unit() == Unit::Pairs {
        task::twice(&mut assembly);
    }
    overhead::assemble(&mut assembly, scenario);
    engine::workspaces(&mut assembly, scenario, &weights);
    Ledger {
        lines: assembly.lines,
        instants,
        ranks,
        host: host::lines(scenario, in_host),
        values: values(scenario),
        fragmentation: scenario.device.fragmentation.fraction(),
    }
}

/// What one device of each stage holds, from the first stage to the last.
pub(super) fn stages(scenario: &Scenario) -> Vec<StageShare> {
    let weights = Weights::of(&scenario.model);
    let pipeline = Pipeline::of(scenario);
    let assembly = Assembly::new(scenario, pipeline.stages);
    let share = |stage: Stage| StageShare {
        rank: stage.rank,
        layers: stage.layers(),
        expert_layers: stage.expert_layers,
        weights: assembly.stage_weights(&weights, &stage),
        micro_batches: stage.in_flight,
    };
    pipeline.all(scenario, &weights).into_iter().map(share).collect()
}

/// Bytes of an element of a product, and of an element of the residual stream.
pub(super) fn element_bytes(scenario: &Scenario) -> (f64, f64) {
    let types = Types::of(scenario);
    (types.element, types.residual)
}

/// The values of the symbols that the ledger's formulas use.
fn values(scenario: &Scenario) -> Values {
    let Scenario { model, recipe, task, cluster, device, .. } = scenario;
    let shards = Shards::of(scenario);
    let sequence_split = if cluster.sequence_parallel.is_on() { cluster.tensor_parallel } else { 1 };
    [
        (Symbol::KvHeads, f64::from(model.kv_heads)),
        (Symbol::HeadDim, model.head_dim.into()),
        (Symbol::RotaryHeadDim, f64::from(model.head_dim) + f64::from(model.latent.rope_dim)),
        (Symbol::FeedForward, model.feed_forward.into()),
        (Symbol::ExpertWidth, model.expert_width().into()),
        (Symbol::SharedWidth, model.experts.shared_width.into()),
        (Symbol::Experts, model.experts.count.into()),
        (Symbol::ActiveExperts, model.experts.active.min(model.experts.count).into()),
        (Symbol::Imbalance, imbalance(scenario)),
        (Symbol::Vocabulary, model.vocabulary.into()),
        (Symbol::Positions, model.positions.into()),
        (Symbol::Rank, recipe.rank.into()),
        (Symbol::ContextParallel, cluster.context_parallel.into()),
        (Symbol::SequenceSplit, sequence_split.into()),
        (Symbol::ExpertParallel, shards.experts),
        (Symbol::ParameterShards, shards.at(states::parameters_from(scenario), scenario)),
        (Symbol::GradientShards, shards.at(states::gradients_from(scenario), scenario)),
        (Symbol::OptimizerShards, shards.at(ZeroStage::Stage1, scenario)),
        (Symbol::ExpertParameterShards, shards.expert_at(states::parameters_from(scenario), scenario)),
        (Symbol::ExpertGradientShards, shards.expert_at(states::gradients_from(scenario), scenario)),
        (Symbol::ExpertOptimizerShards, shards.expert_at(ZeroStage::Stage1, scenario)),
        (Symbol::GradientBytes, states::StateBytes::of(scenario).gradient),
        (Symbol::Chunks, recipe.chunks.into()),
        (Symbol::Completion, task.completed(recipe.sequence).into()),
        (Symbol::Prompt, (recipe.sequence - task.completed(recipe.sequence)).into()),
        (Symbol::Generations, task.generations.into()),
        (Symbol::Scored, task.scored.into()),
        (Symbol::Evaluated, scenario.outside.eval_batch.into()),
        (Symbol::KeptSequences, outside::kept_sequences(scenario)),
        (Symbol::Patches, vision::of_a_sequence(scenario).0),
        (Symbol::ImageTokens, vision::of_a_sequence(scenario).1),
        (Symbol::VisionHidden, model.vision.hidden.into()),
        (Symbol::VisionFeedForward, model.vision.feed_forward.into()),
        (Symbol::Source, scenario.source().into()),
        (Symbol::Memory, device.memory.get()),
        (Symbol::Fragmentation, device.fragmentation.fraction()),
    ]
    .into_iter()
    .fold(common_values(scenario), |values, (symbol, value)| values.with(symbol, value))
}

/// Tokens of the busiest device over the mean: one where every device has all experts.
fn imbalance(scenario: &Scenario) -> f64 {
    if Shards::of(scenario).experts > 1.0 { scenario.recipe.imbalance } else { 1.0 }
}

/// Over how many devices ZeRO divides: data-parallel times context-parallel, after T and P, because
/// devices that share a sequence hold the same weights.
struct Shards {
    all: f64,
    experts: f64,
}

impl Shards {
    fn of(scenario: &Scenario) -> Self {
        let all = f64::from(scenario.cluster.data_parallel()) * f64::from(scenario.cluster.context_parallel);
        let experts = if scenario.model.experts.count > 0 {
            f64::from(scenario.cluster.expert_parallel).min(all).min(scenario.model.experts.count.into())
        } else {
            1.0
        };
        Self { all, experts }
    }

    fn at(&self, stage: ZeroStage, scenario: &Scenario) -> f64 {
        if scenario.cluster.zero >= stage { self.all } else { 1.0 }
    }

    fn expert_at(&self, stage: ZeroStage, scenario: &Scenario) -> f64 {
        (self.at(stage, scenario) / self.experts).max(1.0)
    }
}

impl Assembly {
    fn new(scenario: &Scenario, stages: u32) -> Self {
        let shards = Shards::of(scenario);
        Self {
            lines: Vec::with_capacity(if stages > 1 { 192 } else { 80 }),
            stages,
            tensor_parallel: scenario.cluster.tensor_parallel.into(),
            expert_parallel: shards.experts,
            parameter_shards: shards.at(states::parameters_from(scenario), scenario),
            expert_parameter_shards: shards.expert_at(states::parameters_from(scenario), scenario),
            gradient_shards: shards.at(states::gradients_from(scenario), scenario),
            expert_gradient_shards: shards.expert_at(states::gradients_from(scenario), scenario),
            optimizer_shards: shards.at(ZeroStage::Stage1, scenario),
            expert_optimizer_shards: shards.expert_at(ZeroStage::Stage1, scenario),
        }
    }

    fn stage(&mut self, scenario: &Scenario, weights: &Weights, stage: &Stage) {
        states::assemble(self, scenario, weights, stage);
        copies::assemble(self, scenario, weights, stage);
        fp8::weight_copies(self, scenario, weights, stage);
        engine::assemble(self, scenario, weights, stage);
        activations::assemble(self, scenario, stage);
        head::assemble(self, scenario, stage);
        task::assemble(self, scenario, weights, stage);
        outside::assemble(self, scenario, weights, stage);
        lengths::assemble(self, scenario, stage);
        // Ids and labels, eight bytes each.
        self.lines.push(Line {
            coefficient: 16.0,
            ..Line::new("Token ids and labels", Bucket::Batch, &forms::TOKENS, &TRANSFORMERS, stage.at.in_passes())
        });
    }

    /// The sharded gradients and the raw buffers of gathered units come from the pools of streams of
    /// their own; what was alive there once stays reserved while only the compute stream is short.
    fn held_by_streams(&mut self, scenario: &Scenario, weights: &Weights, stage: &Stage) {
        let zero = scenario.cluster.zero;
        if zero < ZeroStage::Stage2 || scenario.recipe.adapter != Adapter::None || self.parameter_shards <= 1.0 {
            return;
        }
        let bytes = states::StateBytes::of(scenario);
        let shards = self.divided_weights(weights, stage, self.gradient_shards, self.expert_gradient_shards);
        let unit = self.end_weights(weights, stage) + self.matrix_weights(weights, stage);
        let mut push = |name, coefficient, weights, shape, alive: Instants| {
            self.lines.push(Line { coefficient, weights, ..Line::new(name, Bucket::Runtime, shape, &FSDP, alive) });
        };
        if !states::gradients_persist(scenario) && !scenario.recipe.offload.takes_parameters() {
            let early = stage.at.all_layers_kept();
            push("Reserved for sharded gradients", bytes.gradient, shards, &forms::OWN_WEIGHTS, early);
        }
        let gathered = states::gathered_bytes(scenario, states::Kind::Attention);
        push("Reserved for gathering", gathered, unit, &forms::OWN_WEIGHTS, stage.at.always());
    }

    /// So many bytes for each of these weights, which are this device's own; nothing where there are none.
    fn own(
        &mut self,
        name: &'static str,
        bucket: Bucket,
        bytes: f64,
        weights: f64,
        alive: Instants,
        source: &'static Source,
    ) {
        if weights > 0.0 && bytes > 0.0 {
            let line = Line::new(name, bucket, &forms::OWN_WEIGHTS, source, alive);
            self.lines.push(Line { coefficient: bytes, weights, ..line });
        }
    }

    /// Weights of the adapters beside one layer on this device, dense or with experts.
    fn adapter_weights_of_layers(&self, scenario: &Scenario) -> [f64; 2] {
        let beside = AdapterWeights::of(&scenario.model, &scenario.recipe);
        let experts = beside.expert_layer as f64 + beside.routed as f64 / self.expert_parallel;
        [beside.dense_layer as f64, experts].map(|weights| weights / self.tensor_parallel)
    }

    /// The same of the layer whose gradients come first.
    fn adapter_weights_of_one_layer(&self, scenario: &Scenario, stage: &Stage) -> f64 {
        let [dense, experts] = self.adapter_weights_of_layers(scenario);
        if stage.expert_layers > 0.0 { experts } else { dense }
    }

    /// Weights of the adapters beside the layers of a stage, on this device.
    fn adapter_weights(&self, scenario: &Scenario, stage: &Stage) -> f64 {
        let [dense, experts] = self.adapter_weights_of_layers(scenario);
        dense * stage.dense_layers + experts * stage.expert_layers
    }

    /// Whether the device has all of the weights that it works with: nobody else has a part of them, and none lie in CPU
    /// memory, from where they would be brought.
    fn has_weights_whole(&self, scenario: &Scenario) -> bool {
        self.parameter_shards <= 1.0 && !scenario.recipe.offload.takes_parameters()
    }

    /// Weights of all adapters.
    fn all_adapter_weights(&self, scenario: &Scenario, stage: &Stage) -> f64 {
        let beside = encoder::adapters(scenario) / self.tensor_parallel;
        self.adapter_weights(scenario, stage) + beside
    }

    /// Weights of one layer on this device, without routed experts: those that every data-parallel
    /// device has.
    fn shared_layer_weights(&self, weights: &Weights, stage: &Stage) -> f64 {
        let small = (weights.norms + weights.biases + weights.cross_small) as f64;
        let (inner, router) = if stage.expert_layers > 0.0 {
            (weights.shared_experts as f64, weights.router as f64)
        } else {
            (weights.dense_mlp as f64, 0.0)
        };
        ((weights.attention + weights.cross) as f64 + inner) / self.tensor_parallel + small + router
    }

    /// Routed experts of one layer on this device, where the stage has any.
    fn expert_weights(&self, weights: &Weights, stage: &Stage) -> f64 {
        if stage.expert_layers > 0.0 {
            weights.experts as f64 * weights.expert as f64 / self.expert_parallel / self.tensor_parallel
        } else {
            0.0
        }
    }

    /// Matrices of one layer on this device.
    fn matrix_weights(&self, weights: &Weights, stage: &Stage) -> f64 {
        let inner = if stage.expert_layers > 0.0 { weights.shared_experts } else { weights.dense_mlp };
        (weights.attention + weights.cross + inner) as f64 / self.tensor_parallel + self.expert_weights(weights, stage)
    }

    /// Those of one layer that autocast casts: all but stacks of experts that are multiplied in their own type.
    fn cast_weights(&self, scenario: &Scenario, weights: &Weights, stage: &Stage) -> f64 {
        let stacks = if Types::of(scenario).widens_experts() { self.expert_weights(weights, stage) } else { 0.0 };
        self.matrix_weights(weights, stage) - stacks
    }

    /// Embedding and head of the stage on this device.
    fn end_weights(&self, weights: &Weights, stage: &Stage) -> f64 {
        let embedding = if stage.has_embedding { weights.embedding } else { 0 };
        let head = match (stage.has_head, stage.has_embedding) {
            (true, true) => weights.head,
            // In a pipeline a tied head is a second copy of the embedding.
            (true, false) => weights.embedding,
            (false, _) => 0,
        };
        (embedding + head) as f64 / self.tensor_parallel
    }

    /// All weights of the stage on this device, before ZeRO divides them.
    fn stage_weights(&self, weights: &Weights, stage: &Stage) -> f64 {
        let t = self.tensor_parallel;
        let small = (weights.norms + weights.biases + weights.cross_small) as f64;
        let dense = (weights.attention + weights.cross + weights.dense_mlp) as f64 / t + small;
        let experts = weights.experts as f64 * weights.expert as f64 / self.expert_parallel;
        let expert = ((weights.attention + weights.cross) as f64 + experts + weights.shared_experts as f64) / t
            + small
            + weights.router as f64;
        let last_norm = if stage.has_head { weights.final_norm as f64 } else { 0.0 };
        let positions = if stage.has_embedding { weights.positions as f64 } else { 0.0 };
        let encoder = weights.encoder as f64 / t + (weights.encoder_small + weights.encoder_positions) as f64;
        let ends = self.end_weights(weights, stage) + last_norm + positions + encoder;
        ends + stage.dense_layers * dense + stage.expert_layers * expert
    }

    /// Weights of the stage that one device has a part of, where so many devices divide what all of them have, and so many
    /// what the ones with the same routed experts have.
    fn divided_weights(&self, weights: &Weights, stage: &Stage, shards: f64, expert_shards: f64) -> f64 {
        let experts = stage.expert_layers * self.expert_weights(weights, stage);
        (self.stage_weights(weights, stage) - experts) / shards + experts / expert_shards
    }

    /// Trained weights whose optimizer state this device has.
    fn updated_weights(&self, scenario: &Scenario, weights: &Weights, stage: &Stage) -> f64 {
        if scenario.recipe.adapter == Adapter::None {
            self.divided_weights(weights, stage, self.optimizer_shards, self.expert_optimizer_shards)
        } else {
            self.all_adapter_weights(scenario, stage) / self.optimizer_shards
        }
    }

    /// Rows and columns of every matrix of the stage whose optimizer state this device has: what Adafactor keeps numbers
    /// for.
    fn factors(&self, scenario: &Scenario, weights: &Weights, stage: &Stage) -> f64 {
        let model = &scenario.model;
        let [h, f, v, d] = [model.hidden, model.feed_forward, model.vocabulary, model.head_dim].map(f64::from);
        let (query, key) = (f64::from(model.heads) * d, f64::from(model.kv_heads) * d);
        let matrices = f64::from(model.mlp.matrices());
        let attention = 2.0 * (h + query) + 2.0 * (h + key);
        let cross = if model.encoder.is_there() { attention } else { 0.0 };
        let encoder = f64::from(model.encoder.layers) * (attention + matrices * (h + f));
        let attention = attention + cross;
        let dense = attention + matrices * (h + f);
        let width = f64::from(model.expert_width());
        let routed = weights.experts as f64 * matrices * (h + width) / self.expert_parallel;
        let ends = [stage.has_embedding, stage.has_head && weights.head > 0].iter().filter(|there| **there).count();
        let shared = encoder + ends as f64 * (v + h) + stage.dense_layers * dense + stage.expert_layers * attention;
        shared / self.optimizer_shards + stage.expert_layers * routed / self.expert_optimizer_shards
    }
}
