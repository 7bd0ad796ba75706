//! Method 3: every tensor by name, and the instants at which it is alive.
//!
//! Peak is the maximum over instants of what is alive, not the sum of buckets. Without pipeline a
//! step has six instants; with one, the last stage has six and the first stage five, and the worst
//! of the two is found like the worst instant. Identical layers are one line times their number.

mod copies;
mod forms;
mod head;
mod layer;
mod moments;
mod overhead;
mod states;

use self::layer::{Compute, Scope, Tensor};
use self::moments::{FIRST_STAGE, LAST_STAGE, Moments, ONE_STAGE, TWO_STAGES};
use self::states::Stage;
use super::formula::{Expr, Symbol, Values};
use super::ledger::{Bucket, Instants, Ledger, Line, common_values};
use super::source::{CHECKPOINTS, FSDP, KORTHIKANTI, PYTORCH, TRANSFORMERS};
use super::{Adapter, Kernels, Mlp, Offload, Precision, Recomputation, Scenario, Weights, ZeroStage};

/// The lines as they come together, with the sizes that several parts ask for.
struct Assembly {
    lines: Vec<Line>,
    tensor_parallel: f64,
    expert_parallel: f64,
    parameter_shards: f64,
    gradient_shards: f64,
    expert_gradient_shards: f64,
    optimizer_shards: f64,
}

/// What of the caching allocator is counted.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Allocator {
    /// What is alive, and the fragmentation the scenario states.
    Live,
    /// Also what stays in the pools of communication streams, which no other stream can use until the
    /// allocator runs short and empties them.
    Reserved,
}

/// The ledger of every tensor.
pub(crate) fn ledger(scenario: &Scenario, allocator: Allocator) -> Ledger {
    let weights = Weights::of(&scenario.model);
    let mut assembly = Assembly::new(scenario);
    let pipeline = scenario.cluster.pipeline_parallel.clamp(1, scenario.model.layers.max(1));
    let instants = if pipeline > 1 {
        assembly.stage(scenario, &weights, &stage(scenario, &weights, pipeline, LAST_STAGE));
        assembly.stage(scenario, &weights, &stage(scenario, &weights, pipeline, FIRST_STAGE));
        TWO_STAGES
    } else {
        assembly.stage(scenario, &weights, &stage(scenario, &weights, 1, LAST_STAGE));
        ONE_STAGE
    };
    overhead::assemble(&mut assembly, scenario);
    if allocator == Allocator::Reserved {
        assembly.held_by_streams(scenario, &weights);
        assembly.widened_by_autocast(scenario, &weights);
    }
    Ledger {
        lines: assembly.lines,
        instants,
        values: values(scenario),
        fragmentation: scenario.device.fragmentation.fraction(),
    }
}

/// The layers of the only stage, of the first or of the last. L / P is rounded up, because some
/// stage has that many; experts gather at the end and dense layers at the beginning. The first of P
/// stages keeps min(P, m) micro-batches on their way, the last one (1F1B, Narayanan et al. 2021).
fn stage(scenario: &Scenario, weights: &Weights, pipeline: u32, moments: Moments) -> Stage {
    let layers = u64::from(scenario.model.layers.div_ceil(pipeline.max(1)));
    let is_last = moments.loss.is_some();
    let (dense_layers, expert_layers) = if pipeline == 1 {
        (weights.dense_layers, weights.expert_layers)
    } else if is_last {
        let experts = weights.expert_layers.min(layers);
        (layers - experts, experts)
    } else {
        let dense = weights.dense_layers.min(layers);
        (dense, layers - dense)
    };
    let model = &scenario.model;
    let expert_width =
        u64::from(model.expert_width()) * u64::from(model.experts.active) + u64::from(model.experts.shared_width);
    Stage {
        moments,
        experts_lead: expert_layers > 0 && (dense_layers == 0 || expert_width >= u64::from(model.feed_forward)),
        has_embedding: pipeline == 1 || !is_last,
        has_head: is_last,
        dense_layers: dense_layers as f64,
        expert_layers: expert_layers as f64,
        in_flight: if is_last { 1.0 } else { f64::from(pipeline.min(scenario.recipe.micro_batches)) },
    }
}

/// The values of the symbols that the ledger's formulas use.
fn values(scenario: &Scenario) -> Values {
    let Scenario { model, recipe, cluster, device, .. } = scenario;
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
        (Symbol::Vocabulary, model.vocabulary.into()),
        (Symbol::Positions, model.positions.into()),
        (Symbol::ContextParallel, cluster.context_parallel.into()),
        (Symbol::SequenceSplit, sequence_split.into()),
        (Symbol::ExpertParallel, shards.experts),
        (Symbol::ParameterShards, shards.at(states::parameters_from(scenario), scenario)),
        (Symbol::GradientShards, shards.at(ZeroStage::Stage2, scenario)),
        (Symbol::OptimizerShards, shards.at(ZeroStage::Stage1, scenario)),
        (Symbol::ExpertParameterShards, shards.expert_at(states::parameters_from(scenario), scenario)),
        (Symbol::ExpertGradientShards, shards.expert_at(ZeroStage::Stage2, scenario)),
        (Symbol::ExpertOptimizerShards, shards.expert_at(ZeroStage::Stage1, scenario)),
        (Symbol::GradientBytes, states::Recipe::of(scenario).gradient),
        (Symbol::Chunks, recipe.chunks.into()),
        (Symbol::Fragmentation, device.fragmentation.fraction()),
    ]
    .into_iter()
    .fold(common_values(scenario), |values, (symbol, value)| values.with(symbol, value))
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
    fn new(scenario: &Scenario) -> Self {
        let shards = Shards::of(scenario);
        Self {
            lines: Vec::with_capacity(96),
            tensor_parallel: scenario.cluster.tensor_parallel.into(),
            expert_parallel: shards.experts,
            parameter_shards: shards.at(states::parameters_from(scenario), scenario),
            gradient_shards: shards.at(ZeroStage::Stage2, scenario),
            expert_gradient_shards: shards.expert_at(ZeroStage::Stage2, scenario),
            optimizer_shards: shards.at(ZeroStage::Stage1, scenario),
        }
    }

    fn stage(&mut self, scenario: &Scenario, weights: &Weights, stage: &Stage) {
        states::assemble(self, scenario, weights, stage);
        copies::assemble(self, scenario, weights, stage);
        self.activations(scenario, stage);
        head::assemble(self, scenario, stage);
        // Ids and labels, eight bytes each.
        self.lines.push(Line {
            coefficient: 16.0,
            ..Line::new("Token ids and labels", Bucket::Batch, &forms::TOKENS, &TRANSFORMERS, stage.moments.in_passes())
        });
    }

    /// What the layers of a stage keep, what a recomputed layer brings back, and the gradients inside
    /// the layer that runs backward.
    fn activations(&mut self, scenario: &Scenario, stage: &Stage) {
        let recomputation = scenario.recipe.recomputation;
        let moments = &stage.moments;
        let whole = layer::kept(scenario);
        let later = stage.in_flight - 1.0;
        match recomputation {
            Recomputation::None | Recomputation::Selective => {
                let selective = recomputation == Recomputation::Selective;
                for tensor in &whole {
                    let recomputed = selective && tensor.scores;
                    if recomputed {
                        self.tensor(tensor, stage, 1.0, 0.0, moments.in_backward());
                    } else {
                        self.tensor(tensor, stage, 0.0, stage.in_flight, moments.all_layers_kept());
                        self.tensor(tensor, stage, 1.0, later, Moments::only(moments.first));
                    }
                }
            }
            Recomputation::Operators | Recomputation::Full | Recomputation::EveryK => {
                self.boundaries(scenario, stage);
                if recomputation == Recomputation::Operators {
                    for tensor in &layer::kept_by_operators(scenario) {
                        self.tensor(tensor, stage, 0.0, stage.in_flight, moments.around_loss());
                        // The layer that runs backward has them among its own again.
                        self.tensor(tensor, stage, -1.0, stage.in_flight, Moments::only(moments.last));
                        self.tensor(tensor, stage, 0.0, later, Moments::only(moments.first));
                    }
                }
                let together = states::together(scenario, stage);
                for tensor in whole.iter().filter(|tensor| !gives_way(scenario, stage, tensor)) {
                    self.tensor(tensor, stage, together, 0.0, moments.in_backward());
                }
            }
        }
        self.gradients_inside(scenario, stage);
        self.gathered_sequence(scenario, stage);
    }

    /// Sequence parallelism keeps a part of each activation and gathers the whole for every product,
    /// forward and backward; the product's own output, or its gradient, is whole as well until it is
    /// scattered (Korthikanti et al. 2022, section 4.2.2).
    fn gathered_sequence(&mut self, scenario: &Scenario, stage: &Stage) {
        let cluster = &scenario.cluster;
        if cluster.tensor_parallel > 1 && cluster.sequence_parallel.is_on() {
            self.lines.push(Line {
                coefficient: 2.0 * Compute::of(scenario.recipe.precision).element(),
                ..Line::new(
                    "Gathered over the tensor-parallel group",
                    Bucket::Temporary,
                    &forms::WHOLE_RESIDUAL,
                    &KORTHIKANTI,
                    stage.moments.in_passes(),
                )
            });
        }
    }

    /// Adds the lines of one tensor: `single` layers of it, and the whole stage `times` over.
    fn tensor(&mut self, tensor: &Tensor, stage: &Stage, single: f64, times: f64, alive: Instants) {
        // Layers that run backward count as layers of the wider kind as far as there are any.
        let with_experts = if stage.experts_lead {
            single.clamp(-stage.expert_layers, stage.expert_layers)
        } else {
            single - single.clamp(-stage.dense_layers, stage.dense_layers)
        };
        let layers = match tensor.scope {
            Scope::Every => single + times * stage.layers(),
            Scope::Dense => times * stage.dense_layers + single - with_experts,
            Scope::Expert => times * stage.expert_layers + with_experts,
        };
        if layers > 0.0 {
            self.lines.push(Line {
                coefficient: tensor.bytes,
                layers,
                weights: tensor.width,
                ..Line::new(tensor.name, Bucket::Activations, tensor.shape, tensor.source, alive)
            });
        }
    }

    /// The inputs from which layers are computed again.
    fn boundaries(&mut self, scenario: &Scenario, stage: &Stage) {
        let recipe = &scenario.recipe;
        let moments = &stage.moments;
        let segments = if recipe.recomputation == Recomputation::EveryK {
            (stage.layers() / f64::from(recipe.every.max(1))).ceil()
        } else {
            stage.layers()
        };
        // Swapped to the host, one is on its way out or in while another is in use.
        let swapped = matches!(recipe.offload, Offload::Activations | Offload::Both);
        let kept = if swapped { segments.min(2.0) } else { segments };
        let bytes = Compute::of(recipe.precision).residual();
        let mut push = |layers: f64, alive| {
            if layers > 0.0 {
                self.lines.push(Line {
                    coefficient: bytes,
                    layers,
                    ..Line::new("Layer inputs", Bucket::Activations, &forms::RESIDUAL, &CHECKPOINTS, alive)
                });
            }
        };
        // The input of the layer that is computed again is among the inputs of its norms.
        let all = kept * if swapped { 1.0 } else { stage.in_flight };
        let others = if swapped { 0.0 } else { kept * (stage.in_flight - 1.0) };
        push(all, moments.around_loss());
        push(all - 1.0, Moments::only(moments.last));
        push(others, Moments::only(moments.first));
    }

    fn gradients_inside(&mut self, scenario: &Scenario, stage: &Stage) {
        let compute = Compute::of(scenario.recipe.precision);
        let (e, r) = (compute.element(), compute.residual());
        let alive = stage.moments.in_backward();
        let mut push = |name, shape: &'static Expr, bytes: f64| {
            self.lines
                .push(Line { coefficient: bytes, ..Line::new(name, Bucket::Temporary, shape, &TRANSFORMERS, alive) });
        };
        push("Gradient of the residual stream", &forms::RESIDUAL, r);
        let inner = layer::inner_gradients(scenario) * e;
        if attention_leads(scenario, stage) {
            let bytes = score_gradients(scenario);
            self.lines.push(Line {
                coefficient: bytes,
                ..Line::new(
                    "Gradients of the attention scores",
                    Bucket::Temporary,
                    &forms::SCORES,
                    &TRANSFORMERS,
                    alive,
                )
            });
        } else if stage.experts_lead {
            push("Gradients inside the experts", &forms::EXPERT_INNER, inner);
        } else {
            push("Gradients inside the feed-forward block", &forms::INNER, inner);
        }
    }

    /// The sharded gradients and the raw buffers of gathered units come from the pools of streams of
    /// their own; what was alive there once stays reserved while only the compute stream is short.
    fn held_by_streams(&mut self, scenario: &Scenario, weights: &Weights) {
        let zero = scenario.cluster.zero;
        if zero < ZeroStage::Stage2 || scenario.recipe.adapter != Adapter::None {
            return;
        }
        let recipe = states::Recipe::of(scenario);
        let stage = stage(scenario, weights, 1, LAST_STAGE);
        let stages = f64::from(scenario.cluster.pipeline_parallel.max(1));
        let shards = self.stage_weights(weights, &stage) / stages / self.gradient_shards;
        let unit = self.end_weights(weights, &stage) + self.matrix_weights(weights, &stage);
        let mut push = |name, coefficient, weights, shape: &'static Expr, alive| {
            self.lines.push(Line { coefficient, weights, ..Line::new(name, Bucket::Runtime, shape, &FSDP, alive) });
        };
        if !states::gradients_persist(scenario) {
            let early = stage.moments.all_layers_kept();
            push("Reserved for sharded gradients", recipe.gradient, shards, &forms::OWN_WEIGHTS, early);
        }
        push("Reserved for gathering", recipe.compute, unit, &forms::FOREIGN_PARAMETERS, Instants::ALWAYS);
    }

    /// CUDA's autocast takes powers in fp32 and the CPU's does not, so that a GELU spelt out as GPT-2's
    /// is keeps 16 bytes an element instead of the 10 that were counted on a CPU.
    fn widened_by_autocast(&mut self, scenario: &Scenario, weights: &Weights) {
        let recipe = &scenario.recipe;
        let widened = recipe.precision == Precision::Autocast
            && recipe.kernels == Kernels::Eager
            && scenario.model.mlp == Mlp::GeluTanh;
        if widened && !is_recomputed(recipe.recomputation) {
            let stage = stage(scenario, weights, 1, LAST_STAGE);
            self.lines.push(Line {
                coefficient: 6.0,
                layers: stage.layers() / f64::from(scenario.cluster.pipeline_parallel.max(1)),
                ..Line::new(
                    "fp32 copies inside GELU",
                    Bucket::Activations,
                    &forms::INNER,
                    &PYTORCH,
                    stage.moments.all_layers_kept(),
                )
            });
        }
    }

    /// Weights of the adapters beside one layer, on this device.
    fn adapter_weights(&self, scenario: &Scenario) -> f64 {
        let recipe = &scenario.recipe;
        Weights::adapter(&scenario.model, recipe.targets, recipe.rank.into()) as f64 / self.tensor_parallel
    }

    /// Weights of one layer on this device, without routed experts: those that every data-parallel
    /// device has.
    fn shared_layer_weights(&self, weights: &Weights, stage: &Stage) -> f64 {
        let small = (weights.norms + weights.biases) as f64;
        let (inner, router) = if stage.expert_layers > 0.0 {
            (weights.shared_experts as f64, weights.router as f64)
        } else {
            (weights.dense_mlp as f64, 0.0)
        };
        (weights.attention as f64 + inner) / self.tensor_parallel + small + router
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
        (weights.attention + inner) as f64 / self.tensor_parallel + self.expert_weights(weights, stage)
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
        let small = (weights.norms + weights.biases) as f64;
        let dense = (weights.attention + weights.dense_mlp) as f64 / t + small;
        let experts = weights.experts as f64 * weights.expert as f64 / self.expert_parallel;
        let expert =
            (weights.attention as f64 + experts + weights.shared_experts as f64) / t + small + weights.router as f64;
        let last_norm = if stage.has_head { weights.final_norm as f64 } else { 0.0 };
        let positions = if stage.has_embedding { weights.positions as f64 } else { 0.0 };
        let ends = self.end_weights(weights, stage) + last_norm + positions;
        ends + stage.dense_layers * dense + stage.expert_layers * expert
    }

    /// Rows and columns of every matrix of the stage: what Adafactor keeps numbers for.
    fn factors(&self, scenario: &Scenario, weights: &Weights, stage: &Stage) -> f64 {
        let model = &scenario.model;
        let [h, f, v, d] = [model.hidden, model.feed_forward, model.vocabulary, model.head_dim].map(f64::from);
        let (query, key) = (f64::from(model.heads) * d, f64::from(model.kv_heads) * d);
        let matrices = f64::from(model.mlp.matrices());
        let attention = 2.0 * (h + query) + 2.0 * (h + key);
        let dense = attention + matrices * (h + f);
        let width = f64::from(model.expert_width());
        let experts = attention + weights.experts as f64 * matrices * (h + width);
        let ends = [stage.has_embedding, stage.has_head && weights.head > 0].iter().filter(|there| **there).count();
        ends as f64 * (v + h) + stage.dense_layers * dense + stage.expert_layers * experts
    }
}

/// The two ways in which a layer's backward pass can be at its highest: inside the MLP, with the
/// gradients of its products, or inside eager attention, with those of its scores. A recomputed layer
/// has let go of its MLP by then.
fn attention_leads(scenario: &Scenario, stage: &Stage) -> bool {
    let model = &scenario.model;
    let scores = score_gradients(scenario) * f64::from(model.heads) * f64::from(scenario.recipe.sequence);
    let e = Compute::of(scenario.recipe.precision).element();
    let mut tensors = layer::inner_gradients(scenario);
    if is_recomputed(scenario.recipe.recomputation) {
        tensors += layer::inner_tensors(scenario);
    }
    let width = if stage.experts_lead {
        f64::from(model.expert_width()) * f64::from(model.experts.active.min(model.experts.count))
    } else {
        f64::from(model.feed_forward)
    };
    scores > tensors * e * width
}

/// Bytes that the backward pass of the softmax adds to the scores that are kept: three tensors in the
/// softmax's own type are alive where one was, and its copy for the product is gone.
fn score_gradients(scenario: &Scenario) -> f64 {
    let (kept, softmax) = layer::score_bytes(scenario);
    (3.0 * softmax - kept).max(softmax)
}

/// Whether whole layers run forward again.
fn is_recomputed(recomputation: Recomputation) -> bool {
    !matches!(recomputation, Recomputation::None | Recomputation::Selective)
}

/// Whether a recomputed tensor is gone when the layer is at its highest: the MLP's, when that is
/// inside attention.
fn gives_way(scenario: &Scenario, stage: &Stage, tensor: &Tensor) -> bool {
    let inner = std::ptr::eq(tensor.shape, &forms::INNER) || std::ptr::eq(tensor.shape, &forms::EXPERT_INNER);
    inner && attention_leads(scenario, stage)
}
