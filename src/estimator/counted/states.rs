//! Weights, gradients and master copies, matrix by matrix.

use super::forms::{self, Divided};
use super::instants::StageInstants;
use super::matrices::Largest;
use super::stage::Stage;
use super::types::base_bytes;
use super::{Assembly, optimizer, small};
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::estimator::meaning::Part;
use crate::source::{DEEPSPEED, FSDP, LORA, MEGATRON, MICIKEVICIUS, MODEL, PEFT, PYTORCH, QLORA, Source};
use crate::{
    Adapter, AdapterType, Engine, Fp8, GradientType, LossHead, Position, Precision, Scenario, StepKernel, Switch,
    TaskKind, Weights, ZeroStage,
};

/// The kinds of matrices that are counted apart.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Embedding,
    Positions,
    Head,
    Attention,
    Mlp,
    Experts,
    SharedExperts,
    Small,
    Adapters,
    Cross,
    Encoder,
}

/// The names of the lines that a kind of matrix has.
pub(super) struct Names {
    pub(super) weights: &'static str,
    pub(super) master: &'static str,
    pub(super) moments: &'static str,
}

macro_rules! names {
    ($name:literal) => {
        Names { weights: $name, master: concat!($name, ", fp32 master"), moments: concat!($name, ", moments") }
    };
}

impl Kind {
    pub(super) const fn names(self) -> Names {
        match self {
            Self::Embedding => names!("Embedding"),
            Self::Positions => names!("Position table"),
            Self::Head => names!("Output head"),
            Self::Attention => names!("Attention matrices"),
            Self::Mlp => names!("Feed-forward matrices"),
            Self::Experts => names!("Experts"),
            Self::SharedExperts => names!("Shared experts"),
            Self::Small => names!("Norms, biases and routers"),
            Self::Adapters => names!("Adapters"),
            Self::Cross => names!("Matrices that attend to the encoder"),
            Self::Encoder => names!("Matrices of the encoder"),
        }
    }

    /// Whether it is a matrix inside a block: what adapters stand beside, what quantization shrinks
    /// and what Muon orthogonalizes.
    pub(super) const fn is_block_matrix(self) -> bool {
        matches!(self, Self::Attention | Self::Mlp | Self::Experts | Self::SharedExperts | Self::Cross | Self::Encoder)
    }

    const fn is_outside_blocks(self) -> bool {
        matches!(self, Self::Embedding | Self::Positions | Self::Head)
    }
}

/// One kind of matrix on one pipeline stage.
pub(super) struct Group {
    pub(super) kind: Kind,
    pub(super) divided: &'static Divided,
    pub(super) layers: f64,
    pub(super) weights: f64,
}

impl Group {
    /// The line of this group in one bucket.
    pub(super) fn line(&self, bucket: Bucket, bytes: f64, alive: Instants, source: &'static Source) -> Line {
        let shape = match bucket {
            Bucket::Parameters => &self.divided.parameters,
            Bucket::Gradients => &self.divided.gradients,
            _ => &self.divided.optimizer,
        };
        let line = Line::new(self.kind.names().weights, bucket, shape, source, alive);
        Line { coefficient: bytes, layers: self.layers, weights: self.weights, ..line }
    }
}

pub(super) fn groups(scenario: &Scenario, weights: &Weights, stage: &Stage) -> Vec<Group> {
    let model = &scenario.model;
    let gated = model.mlp.is_gated();
    let mut groups = Vec::with_capacity(9);
    let mut push = |kind, divided, layers: f64, weights: f64| groups.push(Group { kind, divided, layers, weights });
    if stage.has_embedding {
        push(Kind::Embedding, &forms::VOCABULARY, 1.0, 1.0);
        if model.position == Position::Learned && model.positions > 0 {
            push(Kind::Positions, &forms::POSITIONS, 1.0, 1.0);
        }
    }
    // A tied head is the embedding; in a pipeline the two ends hold a copy each.
    let own_head = model.tied_embeddings == Switch::Off || !stage.has_embedding;
    if stage.has_head && own_head {
        push(Kind::Head, &forms::VOCABULARY, 1.0, 1.0);
    }
    if model.latent.kv_rank > 0 {
        push(Kind::Attention, &forms::LATENT, stage.layers(), weights.attention as f64);
    } else {
        push(Kind::Attention, &forms::ATTENTION, stage.layers(), 1.0);
    }
    if stage.dense_layers > 0.0 {
        push(Kind::Mlp, if gated { &forms::GATED_MLP } else { &forms::PLAIN_MLP }, stage.dense_layers, 1.0);
    }
    if stage.expert_layers > 0.0 {
        let divided = if gated { &forms::GATED_EXPERTS } else { &forms::PLAIN_EXPERTS };
        push(Kind::Experts, divided, stage.expert_layers, 1.0);
        if model.experts.shared_width > 0 {
            let divided = if gated { &forms::GATED_SHARED } else { &forms::PLAIN_SHARED };
            push(Kind::SharedExperts, divided, stage.expert_layers, 1.0);
        }
    }
    if model.encoder.is_there() {
        push(Kind::Cross, &forms::ATTENTION, stage.layers(), 1.0);
        push(Kind::Encoder, &forms::COUNTED, 1.0, weights.encoder as f64);
    }
    let small = small::weights(&small::of(model, weights, stage));
    if small > 0.0 {
        push(Kind::Small, &forms::SMALL, 1.0, small);
    }
    groups
}

/// Bytes of a weight that is trained, of its gradient, its master copy and its moments.
#[derive(Clone, Copy)]
pub(super) struct StateBytes {
    pub(super) weight: f64,
    pub(super) gradient: f64,
    pub(super) master: f64,
    /// Bytes of one optimizer moment.
    pub(super) moment: f64,
    /// Bytes of the weights that a layer computes with.
    pub(super) compute: f64,
}

impl StateBytes {
    /// fp32 4 + 4; autocast and FSDP's mixed precision keep fp32 weights and gradients, 4 + 4; 16-bit
    /// weights with a master copy 2 + 2 + 4, or with gradients added up in fp32 2 + 4 + 4, where fp16
    /// keeps its 16-bit gradients beside them; all in bf16 2 + 2 (Micikevicius et al. 2018; table of
    /// Megatron Core's distributed optimizer).
    ///
    /// Adapters in fp32 are 4 + 4 and have no master copy; those in the type of 16-bit weights beside
    /// them are 2 + 2 without one, unless the recipe keeps one.
    pub(super) fn of(scenario: &Scenario) -> Self {
        let recipe = &scenario.recipe;
        let full = recipe.gradients == GradientType::Full;
        let gradient = if full { 4.0 } else { 2.0 };
        let all = |bytes: f64, compute| Self { weight: bytes, gradient: bytes, master: 0.0, moment: bytes, compute };
        let adapted = recipe.adapter != Adapter::None;
        match recipe.precision {
            Precision::Fp32 => all(4.0, 4.0),
            _ if adapted && recipe.adapter_type == AdapterType::Full => all(4.0, 2.0),
            Precision::Mixed | Precision::Autocast if adapted => all(2.0, 2.0),
            Precision::Mixed | Precision::Autocast => all(4.0, 2.0),
            // DeepSeek-V3 adds gradients up in fp32 and keeps moments in bf16 (DeepSeek-AI 2024b, section 3.3.3).
            Precision::Bf16 if recipe.fp8 == Fp8::DeepSeekV3 => {
                Self { weight: 2.0, gradient: 4.0, master: 4.0, moment: 2.0, compute: 2.0 }
            }
            Precision::Bf16 => Self { weight: 2.0, gradient, master: 4.0, moment: 4.0, compute: 2.0 },
            Precision::Fp16 => {
                let gradient = if full { 6.0 } else { 2.0 };
                Self { weight: 2.0, gradient, master: 4.0, moment: 4.0, compute: 2.0 }
            }
            Precision::PureBf16 => Self { gradient, ..all(2.0, 2.0) },
        }
    }
}

/// Whether the gradients of the step before are there in the forward pass: because several
/// micro-batches add up, or because the framework keeps a buffer for them.
pub(super) fn gradients_persist(scenario: &Scenario) -> bool {
    scenario.recipe.micro_batches > 1 || scenario.cluster.pipeline_parallel > 1 || gradients_have_a_buffer(scenario)
}

/// Whether the framework keeps a buffer for gradients from one step to the next.
fn gradients_have_a_buffer(scenario: &Scenario) -> bool {
    let recipe = &scenario.recipe;
    let buffered = matches!(recipe.precision, Precision::Bf16 | Precision::Fp16 | Precision::PureBf16)
        && recipe.gradients == GradientType::Full;
    (buffered && recipe.adapter == Adapter::None)
        || scenario.cluster.engine == Engine::Megatron
        // DeepSpeed's third stage has a buffer for its part of them (`__grad_partitions_flat_buffer`).
        || (scenario.cluster.engine == Engine::DeepSpeed && scenario.cluster.zero == ZeroStage::Stage3)
}

/// Whether the gradients of a stage are added up whole, in the type they are reduced in, and divided only
/// behind the last micro-batch, as PyTorch's pipelines do with FSDP
/// (`set_requires_gradient_sync(False)` in torch/distributed/pipelining/stage.py, and
/// `unsharded_accumulated_grad` in torch/distributed/fsdp/_fully_shard/_fsdp_param.py, PyTorch 2.15).
pub(super) fn gradients_whole_until_the_last(to: &Assembly, scenario: &Scenario) -> bool {
    to.stages > 1
        && to.gradient_shards > 1.0
        && scenario.recipe.adapter == Adapter::None
        && scenario.cluster.engine.is_torch()
}

/// Whether whole gradients are let go of before the step, which keeps this device's part of them alone: under
/// DeepSpeed's first stage, with gradients in 16 bits (`free_grad_in_param_list`, as below).
fn parted_before_the_step(scenario: &Scenario, stages: u32) -> bool {
    let adds_up = scenario.recipe.micro_batches > 1 || stages > 1;
    scenario.cluster.engine == Engine::DeepSpeed
        && scenario.cluster.zero == ZeroStage::Stage1
        && StateBytes::of(scenario).gradient <= 2.0
        && adds_up
}

/// The ZeRO stage from which gradients are divided. DeepSpeed's first stage divides them as well where one
/// backward pass makes them (runtime/zero/stage_1_and_2.py).
pub(super) fn gradients_from(scenario: &Scenario) -> ZeroStage {
    let cluster = &scenario.cluster;
    let at_once = scenario.recipe.micro_batches == 1 && cluster.pipeline_parallel == 1;
    if cluster.engine == Engine::DeepSpeed && at_once { ZeroStage::Stage1 } else { ZeroStage::Stage2 }
}

/// The ZeRO stage from which the weights are divided. FSDP's mixed precision divides its fp32 weights
/// as soon as it divides gradients: what it then keeps whole is the 16-bit copy.
pub(super) fn parameters_from(scenario: &Scenario) -> ZeroStage {
    if scenario.recipe.precision == Precision::Mixed { ZeroStage::Stage2 } else { ZeroStage::Stage3 }
}

/// Weights, gradients and optimizer state of one stage.
pub(super) fn assemble(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    let bytes = StateBytes::of(scenario);
    let always = stage.at.always();
    let groups = groups(scenario, weights, stage);
    // In CPU memory but for small ones, which DeepSpeed does not divide (`stage3_param_persistence_threshold`: 100,000
    // elements in runtime/zero/config.py, edaa72212672).
    let kept = |kind| {
        let persists = scenario.cluster.engine == Engine::DeepSpeed && kind == Kind::Small;
        !scenario.recipe.offload.takes_parameters() || persists
    };
    for group in groups.iter().filter(|group| kept(group.kind)) {
        let (bytes, source) = frozen_bytes(scenario, group.kind).unwrap_or((bytes.weight, &MODEL));
        to.lines.push(group.line(Bucket::Parameters, bytes, always, source));
    }
    super::encoder::fixed_positions(to, scenario, weights, stage);
    whole_weights(to, scenario, weights, stage);
    if scenario.recipe.adapter == Adapter::None {
        trained(to, scenario, weights, stage, &groups);
    } else {
        let adapters = Group {
            kind: Kind::Adapters,
            divided: &forms::COUNTED,
            layers: 1.0,
            weights: to.all_adapter_weights(scenario, stage) * to.tensor_parallel,
        };
        // They are made when the weights beside them have been loaded.
        if kept(Kind::Adapters) {
            to.lines.push(adapters.line(Bucket::Parameters, bytes.weight, stage.at.with_the_optimizer(), &LORA));
        }
        trained(to, scenario, weights, stage, &[adapters]);
    }
}

/// FSDP without resharding keeps a 16-bit copy of all weights beside the fp32 shards, and with resharding
/// to a group each device keeps the group's part of it between the passes (`reshard_after_forward` of
/// fully_shard, torch/distributed/fsdp/_fully_shard/_fully_shard.py, PyTorch 2.15). A device that has all of the weights
/// needs no copy of them, unless they lie in CPU memory.
fn whole_weights(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    let cluster = &scenario.cluster;
    let mixed = scenario.recipe.precision == Precision::Mixed;
    let (parts, shards) = match cluster.zero {
        ZeroStage::Stage3 if cluster.reshard > 0 => (f64::from(cluster.reshard), to.parameter_shards),
        ZeroStage::Stage3 => return,
        _ if mixed => (1.0, f64::INFINITY),
        _ => return,
    };
    let elsewhere = scenario.recipe.offload.takes_parameters();
    if parts >= shards && !(elsewhere && parts <= 1.0) {
        return;
    }
    let alive = if mixed && cluster.zero != ZeroStage::Stage3 {
        stage.at.in_passes().or(StageInstants::only(stage.at.end))
    } else {
        stage.at.in_passes()
    };
    // Other passes of the same model gather it, too.
    let alive = alive.or(stage.at.scoring()).or(stage.at.generating()).or(stage.at.evaluating());
    for (bytes, copied) in copied_whole(to, scenario, weights, stage) {
        let name = if parts > 1.0 { "Weights, resharded over a group" } else { "16-bit copy of the weights" };
        to.own(name, Bucket::Parameters, bytes, copied / parts, alive, &FSDP);
    }
}

/// Bytes of a weight in such a copy, and how many weights there are: inside the blocks, outside them, and in
/// adapters. Frozen weights that nobody has divided are read as they are, unless they have to be cast or lie in CPU memory.
fn copied_whole(to: &Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) -> Vec<(f64, f64)> {
    let ends = to.end_weights(weights, stage);
    let bytes = |kind| {
        let gathered = gathered_bytes(scenario, kind);
        match frozen_bytes(scenario, kind) {
            Some((kept, _)) if to.has_weights_whole(scenario) && gathered >= kept => 0.0,
            _ => gathered,
        }
    };
    let recipe = &scenario.recipe;
    let in_fp32 = recipe.adapter != Adapter::None && recipe.adapter_type == AdapterType::Full;
    let adapters =
        if in_fp32 && recipe.precision == Precision::Mixed { to.all_adapter_weights(scenario, stage) } else { 0.0 };
    let mut copied = in_blocks(to, weights, stage, bytes);
    copied.extend([(bytes(Kind::Embedding), ends), (2.0, adapters)]);
    copied
}

/// Bytes of a weight and how many of them the blocks of a stage have on this device, before ZeRO divides them: routed
/// experts by themselves where `bytes` has something else for them than for all others.
pub(super) fn in_blocks(
    to: &Assembly,
    weights: &Weights,
    stage: &Stage,
    bytes: impl Fn(Kind) -> f64,
) -> Vec<(f64, f64)> {
    let all = to.stage_weights(weights, stage) - to.end_weights(weights, stage);
    let experts = stage.expert_layers * to.expert_weights(weights, stage);
    by_bytes([(bytes(Kind::Attention), all - experts), (bytes(Kind::Experts), experts)])
}

/// Parts of the weights, each with the bytes that a weight of it has: neighbours of as many bytes are one part, and empty
/// ones none.
pub(super) fn by_bytes<const N: usize>(parts: [(f64, f64); N]) -> Vec<(f64, f64)> {
    let mut joined: Vec<(f64, f64)> = Vec::with_capacity(N);
    for (bytes, weights) in parts.into_iter().filter(|(_, weights)| *weights > 0.0) {
        match joined.last_mut() {
            Some((before, all)) if *before == bytes => *all += weights,
            _ => joined.push((bytes, weights)),
        }
    }
    joined
}

/// Bytes of a weight in the blocks of a stage, in the mean.
pub(super) fn mean_in_blocks(to: &Assembly, weights: &Weights, stage: &Stage, bytes: impl Fn(Kind) -> f64) -> f64 {
    let parts = in_blocks(to, weights, stage, bytes);
    match parts[..] {
        [(bytes, _)] => bytes,
        _ => {
            let sum: f64 = parts.iter().map(|(bytes, weights)| bytes * weights).sum();
            // A block has weights, and the least is one.
            sum / parts.iter().map(|(_, weights)| weights).sum::<f64>().max(1.0)
        }
    }
}

/// The bytes and weights of two layers, or of the one there is: that many are whole while one after the other is gathered.
pub(super) fn of_two_layers(
    to: &Assembly,
    weights: &Weights,
    stage: &Stage,
    bytes: impl Fn(Kind) -> f64,
) -> Vec<(f64, f64)> {
    let live = stage.layers().min(2.0);
    let [shared, experts] = [to.shared_layer_weights(weights, stage), to.expert_weights(weights, stage)];
    by_bytes([(bytes(Kind::Attention), live * shared), (bytes(Kind::Experts), live * experts)])
}

/// The kind that most weights of a layer are of.
pub(super) fn most_of_a_layer(stage: &Stage) -> Kind {
    if stage.expert_layers > 0.0 { Kind::Experts } else { Kind::Attention }
}

/// Bytes of a weight in what FSDP gathers: its mixed precision casts to 16 bits first, but for what is
/// quantized; autocast casts what has been gathered (`param_dtype` in
/// torch/distributed/fsdp/_fully_shard/_fsdp_param.py, PyTorch 2.15).
pub(super) fn gathered_bytes(scenario: &Scenario, kind: Kind) -> f64 {
    let mixed = scenario.recipe.precision == Precision::Mixed;
    match frozen_bytes(scenario, kind) {
        None if scenario.recipe.precision == Precision::Autocast => StateBytes::of(scenario).weight,
        None => StateBytes::of(scenario).compute,
        Some((bytes, _)) if mixed => bytes.min(2.0),
        Some((bytes, _)) => bytes,
    }
}

/// Bytes of a frozen weight beside adapters. It has no master copy, and nothing but its own type. bitsandbytes replaces
/// linear layers and no others (`replace_with_bnb_linear` in transformers/integrations/bitsandbytes.py, 5.23.0), which
/// experts in a stack are not (`MixtralExperts` in models/mixtral/modeling_mixtral.py there).
pub(super) fn frozen_bytes(scenario: &Scenario, kind: Kind) -> Option<(f64, &'static Source)> {
    let stacked = kind == Kind::Experts && scenario.recipe.stacks_experts(&scenario.model);
    let is_linear = kind.is_block_matrix() && !stacked;
    match scenario.recipe.adapter {
        Adapter::None => None,
        Adapter::Lora8 if is_linear => Some((1.0, &QLORA)),
        // Four bits, and 0.127 bits of doubly quantized constants (QLoRA, section 3).
        Adapter::Qlora if is_linear => Some(((4.0 + 0.127) / 8.0, &QLORA)),
        Adapter::Lora | Adapter::LoraFp32 | Adapter::Lora8 | Adapter::Qlora => Some((base_bytes(scenario), &PEFT)),
    }
}

/// Gradients, master copies and optimizer state of what is trained.
fn trained(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage, groups: &[Group]) {
    if scenario.recipe.step == StepKernel::InBackward || scenario.recipe.offload.takes_parameters() {
        passing_gradients(to, scenario, weights, stage);
    } else {
        gradients(to, scenario, weights, stage, groups);
    }
    if scenario.recipe.offload.takes_optimizer() {
        return;
    }
    let bytes = StateBytes::of(scenario);
    if bytes.master > 0.0 {
        for group in groups {
            let mut master = group.line(Bucket::Optimizer, bytes.master, stage.at.always(), &MICIKEVICIUS);
            master.name = group.kind.names().master;
            to.lines.push(master);
        }
    }
    optimizer::assemble(to, scenario, weights, stage, groups);
}

/// Gradients that are gone as soon as they are there: because each weight is updated at once
/// (`register_post_accumulate_grad_hook`, torch/_tensor.py, PyTorch 2.15), or because they go to CPU memory. FSDP hands
/// them over unit by unit (`foreach_reduce` in torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py), autograd one by
/// one; those of a tied head wait for the embedding's.
fn passing_gradients(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    let at = &stage.at;
    let bytes = StateBytes::of(scenario).gradient;
    let adapted = scenario.recipe.adapter != Adapter::None;
    let units = to.gradient_shards > 1.0 || adapted || scenario.recipe.offload.takes_parameters();
    let in_layer = if units {
        first_gradients(to, scenario, weights, stage)
    } else {
        Largest::of(scenario, weights, stage).on_device(to).in_blocks()
    };
    let tied = stage.has_head && is_tied_head(scenario) && !adapted;
    let one = weights.embedding as f64 / to.tensor_parallel;
    let ends = if adapted || !stage.has_embedding { 0.0 } else { one / to.gradient_shards };
    let name = if units { "Gradients of one layer" } else { "Gradient of one matrix" };
    let before = to.lines.len();
    let mut push = |name, weights, alive| to.own(name, Bucket::Gradients, bytes, weights, alive, &PYTORCH);
    push(name, in_layer, at.in_backward());
    let alive = if tied { at.in_backward().or(StageInstants::only(at.end)) } else { StageInstants::only(at.end) };
    push("Gradient of the embedding", ends, alive);
    to.are(Part::Passing, before);
}

/// Gradients that wait for the optimizer step.
fn gradients(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage, groups: &[Group]) {
    let bytes = StateBytes::of(scenario);
    let at = &stage.at;
    let always = at.with_the_optimizer();
    let persist = gradients_persist(scenario);
    let late = gradients_whole_until_the_last(to, scenario);
    let before = to.lines.len();
    if late {
        let whole = to.stage_weights(weights, stage);
        to.lines.push(Line {
            coefficient: bytes.gradient,
            weights: whole,
            ..Line::new("Gradients, added up whole", Bucket::Gradients, &forms::OWN_WEIGHTS, &FSDP, at.in_passes())
        });
    }
    let lets_go = parted_before_the_step(scenario, to.stages);
    // Those that add up are there while a reference scores within the step, and gone when the next step generates.
    let kept = if gradients_have_a_buffer(scenario) { always } else { at.in_step().or(at.scores_within()) };
    for group in groups {
        let alive = match (late, persist) {
            (true, _) => Instants::at(&[at.end, at.step]),
            (false, true) if lets_go => at.in_passes().or(StageInstants::only(at.end)),
            (false, true) => kept,
            (false, false) => gradient_lifetime(group.kind, scenario, stage),
        };
        let source: &'static Source = if bytes.gradient > 4.0 { &MEGATRON } else { &MICIKEVICIUS };
        let mut gradients = group.line(Bucket::Gradients, bytes.gradient, alive, source);
        // While K layers are computed again together, the gradients of all but one of them are yet to
        // come.
        let there = 1.0 - (stage.layers_per_segment(scenario) - 1.0) / stage.layers();
        if there < 1.0 && !persist && !group.kind.is_outside_blocks() {
            let mut early = gradients;
            early.alive = StageInstants::only(at.first);
            early.coefficient *= there;
            to.lines.push(early);
            gradients.alive = at.with_all_gradients();
        }
        to.lines.push(gradients);
        if lets_go {
            // The same name as in the passes, and the division of the optimizer state.
            let own = group.line(Bucket::Optimizer, bytes.gradient, StageInstants::only(at.step), source);
            to.lines.push(Line { bucket: Bucket::Gradients, source: &DEEPSPEED, ..own });
        }
    }
    if !persist {
        // The last layer's gradients come first; the others' are counted once all are there.
        let one = first_gradients(to, scenario, weights, stage);
        to.lines.push(Line {
            coefficient: bytes.gradient,
            weights: one,
            ..Line::new(
                "Gradients of one layer",
                Bucket::Gradients,
                &forms::OWN_WEIGHTS,
                &MICIKEVICIUS,
                StageInstants::only(at.last),
            )
        });
    }
    to.are(Part::Waiting, before);
}

/// Weights whose gradients are there once the last layer has run backward, as far as this device keeps
/// them: the layer's and the last norm's.
fn first_gradients(to: &Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) -> f64 {
    if scenario.recipe.adapter != Adapter::None {
        return to.adapter_weights_of_one_layer(scenario, stage) / to.gradient_shards;
    }
    let last_norm = if stage.has_head { weights.final_norm as f64 } else { 0.0 };
    let shared = to.shared_layer_weights(weights, stage) + last_norm;
    shared / to.gradient_shards + to.expert_weights(weights, stage) / to.expert_gradient_shards
}

/// Whether the embedding's matrix makes logits as well, from which the backward pass starts.
pub(super) fn is_tied_head(scenario: &Scenario) -> bool {
    let vocabulary = scenario.recipe.loss != LossHead::Classifier && scenario.task.kind != TaskKind::Reward;
    scenario.model.tied_embeddings.is_on() && vocabulary
}

/// From when on the gradients of a kind are there, when none are left over from before.
fn gradient_lifetime(kind: Kind, scenario: &Scenario, stage: &Stage) -> Instants {
    let at = &stage.at;
    let late = at.with_all_gradients();
    match kind {
        // The backward pass starts at the head, which a tied embedding is.
        Kind::Head => late.or(at.in_backward()),
        Kind::Embedding if stage.has_head && is_tied_head(scenario) => late.or(at.in_backward()),
        Kind::Embedding | Kind::Positions => late,
        Kind::Encoder => late.or(Instants::among(&at.encoder[1..])),
        _ => late.or(at.behind_the_last_layer()),
    }
}
