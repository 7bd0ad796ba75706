//! Inputs of a scenario that a formula may have no place for.

use crate::input::Input;
use crate::{
    Adapter, AttentionKernel, Batching, Evaluation, Field, Gather, Load, LossHead, Merge, Offload, Optimizer,
    Precision, Recomputation, Resume, Save, Scenario, StepKernel, TaskKind, ZeroStage, setting,
};

/// An input that a formula has no place for.
#[derive(Debug)]
pub(super) struct Absent {
    /// The input.
    pub(super) input: Input,
    /// Whether a scenario asks for something else than what the formula takes for granted.
    pub(super) is_asked: fn(&Scenario) -> bool,
}

macro_rules! absent {
    ($($(#[$meta:meta])* $name:ident = $input:expr, |$scenario:ident| $asked:expr;)+) => {$(
        $(#[$meta])*
        pub(super) static $name: Absent = Absent { input: $input, is_asked: |$scenario| $asked };
    )+};
}

const fn number(field: Field) -> Input {
    Input::Number(field)
}

const fn word(setting: &'static setting::Setting) -> Input {
    Input::Word(setting)
}

absent! {
    /// Frozen weights.
    ADAPTER = word(&setting::ADAPTER), |s| s.recipe.adapter != Adapter::None;
    /// Adapters on weights in fp32.
    FP32_ADAPTER = word(&setting::ADAPTER), |s| s.recipe.adapter == Adapter::LoraFp32;
    /// A mixture of experts.
    EXPERTS = number(Field::Experts), |s| s.model.experts.count > 0;
    /// Experts that every token visits.
    SHARED_EXPERTS = number(Field::SharedWidth), |s| s.model.experts.count > 0 && s.model.experts.shared_width > 0;
    /// Layers without experts among those with them.
    DENSE_LAYERS = number(Field::DenseLayers), |s| s.model.experts.count > 0 && s.model.experts.dense_layers > 0;
    /// Models beside the trained one, and passes before the step.
    TASK = word(&setting::TASK), |s| s.task.kind != TaskKind::Train;
    /// A vision tower.
    VISION = word(&setting::VISION), |s| s.model.vision.is_there();
    /// Sequences of different lengths.
    LENGTHS = word(&setting::LENGTHS), |s| s.lengths.batching != Batching::Equal;
    /// Copies of weights and inputs in 8 bits beside those in 16.
    FP8 = word(&setting::FP8), |s| s.recipe.fp8.is_on();
    /// Gradients that go as soon as they are there.
    IN_BACKWARD = word(&setting::STEP), |s| s.recipe.step == StepKernel::InBackward;
    /// A pass over an evaluation set.
    EVALUATION = word(&setting::EVALUATION), |s| s.outside.evaluation != Evaluation::Off;
    /// Weights that are gathered from all GPUs.
    GATHER = word(&setting::GATHER), |s| s.outside.gather != Gather::Off;
    /// A checkpoint that is written.
    SAVE = word(&setting::SAVE), |s| s.outside.save != Save::Off;
    /// Weights that are read.
    LOAD = word(&setting::LOAD), |s| s.outside.load != Load::Off;
    /// Optimizer state that is read.
    RESUME = word(&setting::RESUME), |s| s.outside.resume != Resume::Off;
    /// Adapters that are merged.
    MERGE = word(&setting::MERGE), |s| s.outside.merge != Merge::Off;
    /// An encoder before the decoder.
    ENCODER = number(Field::EncoderLayers), |s| s.model.encoder.is_there();
    /// Latent attention.
    LATENT = number(Field::KvRank), |s| s.model.latent.kv_rank > 0;
    /// Matrices that several GPUs share.
    TENSOR = number(Field::TensorParallel), |s| s.cluster.tensor_parallel > 1;
    /// Layers that several GPUs share.
    PIPELINE = number(Field::PipelineParallel), |s| s.cluster.pipeline_parallel > 1;
    /// Tokens that several GPUs share.
    CONTEXT = number(Field::ContextParallel), |s| s.cluster.context_parallel > 1;
    /// Experts that several GPUs share.
    EXPERT_PARALLEL = number(Field::ExpertParallel), |s| s.model.experts.count > 0 && s.cluster.expert_parallel > 1;
    /// Anything in the memory of the host.
    OFFLOAD = word(&setting::OFFLOAD), |s| s.recipe.offload != Offload::None;
    /// Inputs of layers in the memory of the host.
    OFFLOADED_ACTIVATIONS = word(&setting::OFFLOAD), |s| s.recipe.offload.takes_activations();
    /// Another optimizer than Adam.
    OPTIMIZER = word(&setting::OPTIMIZER), |s| s.recipe.optimizer != Optimizer::AdamW;
    /// States in another type than those of mixed precision or of fp32: 16 bits for all.
    PURE = word(&setting::PRECISION), |s| s.recipe.precision == Precision::PureBf16;
    /// fp32 alone.
    FP32 = word(&setting::PRECISION), |s| s.recipe.precision == Precision::Fp32;
    /// Anything but mixed precision.
    NOT_MIXED = word(&setting::PRECISION), |s| matches!(s.recipe.precision, Precision::PureBf16 | Precision::Fp32);
    /// Which 16-bit recipe it is: where the fp32 weights are.
    RECIPE = word(&setting::PRECISION), |s| s.recipe.precision != Precision::Bf16;
    /// Model states that GPUs share.
    SHARDED = word(&setting::ZERO), |s| is_sharded(s);
    /// Any recomputation.
    RECOMPUTATION = word(&setting::RECOMPUTATION), |s| s.recipe.recomputation != Recomputation::None;
    /// Recomputation that is neither none, nor selective, nor full.
    FINER_RECOMPUTATION = word(&setting::RECOMPUTATION), |s| {
        !matches!(s.recipe.recomputation, Recomputation::None | Recomputation::Selective | Recomputation::Full)
    };
    /// Recomputation that is neither none nor full.
    PARTIAL_RECOMPUTATION = word(&setting::RECOMPUTATION), |s| {
        !matches!(s.recipe.recomputation, Recomputation::None | Recomputation::Full)
    };
    /// Attention that keeps no scores.
    FLASH = word(&setting::ATTENTION), |s| s.recipe.attention == AttentionKernel::Flash;
    /// Attention that keeps no scores, where scores are not recomputed anyway.
    FLASH_UNLESS_RECOMPUTED = word(&setting::ATTENTION), |s| {
        s.recipe.attention == AttentionKernel::Flash && s.recipe.recomputation == Recomputation::None
    };
    /// Fewer keys and values than queries.
    GROUPS = number(Field::KvHeads), |s| s.model.latent.kv_rank == 0 && s.model.kv_heads != s.model.heads;
    /// Heads whose widths do not add up to the hidden size.
    HEAD_DIM = number(Field::HeadDim), |s| {
        u64::from(s.model.heads) * u64::from(s.model.head_dim) != u64::from(s.model.hidden)
    };
    /// A feed-forward width other than four times the hidden size.
    WIDTH = number(Field::FeedForward), |s| u64::from(s.model.feed_forward) != 4 * u64::from(s.model.hidden);
    /// A feed-forward block of three matrices.
    GATE = word(&setting::MLP), |s| s.model.mlp.is_gated();
    /// A feed-forward block of two matrices.
    NO_GATE = word(&setting::MLP), |s| !s.model.mlp.is_gated();
    /// Blocks without dropout.
    NO_DROPOUT = word(&setting::DROPOUT), |s| !s.recipe.dropout.is_on();
    /// Blocks with dropout.
    DROPOUT = word(&setting::DROPOUT), |s| s.recipe.dropout.is_on();
    /// A head with a matrix of its own.
    UNTIED = word(&setting::TIED), |s| !s.model.tied_embeddings.is_on();
    /// A head that is the input embedding.
    TIED = word(&setting::TIED), |s| s.model.tied_embeddings.is_on();
    /// A loss that is not the plain one.
    LOSS = word(&setting::LOSS), |s| s.recipe.loss != LossHead::Plain;
    /// Gradients that several micro-batches add up in.
    GRADIENTS = word(&setting::GRADIENTS), |s| {
        s.recipe.precision != Precision::Fp32 && s.recipe.gradients == crate::GradientType::Full
    };
    /// Gradients in 16 bits.
    HALF_GRADIENTS = word(&setting::GRADIENTS), |s| {
        matches!(s.recipe.precision, Precision::Bf16 | Precision::Fp16)
            && s.recipe.gradients == crate::GradientType::Half
    };
    /// Layers in several chunks on a stage.
    VIRTUAL = number(Field::VirtualStages), |s| s.cluster.pipeline_parallel > 1 && s.cluster.virtual_stages > 1;
    /// A first stage of another size.
    FIRST_STAGE = number(Field::FirstStageLayers), |s| {
        s.cluster.pipeline_parallel > 1 && s.cluster.first_stage_layers > 0
    };
    /// A last stage of another size.
    LAST_STAGE = number(Field::LastStageLayers), |s| {
        s.cluster.pipeline_parallel > 1 && s.cluster.last_stage_layers > 0
    };
    /// Weights that only a part of the GPUs shards between the passes.
    RESHARD = number(Field::Reshard), |s| s.cluster.zero == ZeroStage::Stage3 && s.cluster.reshard > 0;
}

/// What none of the estimators has: a second stack of layers, anything beside the trained model, more than one length,
/// products in 8 bits, an optimizer step within the backward pass, and any moment outside the step.
pub(super) static COMMON: &[&Absent] =
    &[&ENCODER, &VISION, &TASK, &LENGTHS, &FP8, &IN_BACKWARD, &EVALUATION, &GATHER, &SAVE, &LOAD, &RESUME, &MERGE];

/// Whether data-parallel GPUs share model states.
pub(super) fn is_sharded(scenario: &Scenario) -> bool {
    scenario.cluster.zero != ZeroStage::Stage0 && scenario.cluster.data_parallel() > 1
}
