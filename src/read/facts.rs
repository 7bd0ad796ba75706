//! What keys of training programs say that is a parameter of a link only together with what others say.

/// A 16-bit type of mixed precision, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    Off,
    Bf16,
    Fp16,
}

/// The type in which weights are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loaded {
    /// fp32.
    Full,
    /// bf16 or fp16, or the checkpoint’s own type, which nearly always is one of these.
    Half,
}

/// How frozen weights are quantized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Whole,
    EightBits,
    FourBits,
}

/// What divides model states over the GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shards {
    /// Nothing: DistributedDataParallel, or one GPU.
    Nothing,
    Fsdp,
    DeepSpeed,
}

/// By whose rule the type of adapters is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AdapterRule {
    /// fp32, as peft’s `autocast_adapter_dtype` makes them.
    Peft,
    /// 16 bits beside quantized weights and under ZeRO 3, fp32 otherwise (`SFTTrainer.__init__` of trl 1.16).
    Trl,
    /// The type of the weights beside them.
    Half,
}

/// What torchtitan computes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selects {
    Nothing,
    /// Some operators, or some layers.
    Some,
    Layers,
}

/// What Megatron-LM computes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Granularity {
    Selective,
    Full,
}

/// How Transformer Engine scales fp8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fp8Scaling {
    Delayed,
    Current,
    Block,
    Mxfp8,
}

/// An optimizer that a switch of its own asks for, in the place of the one that is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnOptimizer {
    /// GaLore, of the type of states that the named one has.
    Galore,
    Apollo,
    Muon,
}

/// A fact about a run. Of two facts of one kind the first in rank counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    /// Mixed precision.
    Half(Half),
    /// Weights stay in fp32 and are cast for each product.
    Autocast(bool),
    /// All weights are in bf16 and there is no fp32 copy of them.
    Pure(bool),
    Loaded(Loaded),
    /// Weights are loaded in the type in which mixed precision computes.
    LoadsAsItComputes(bool),
    /// What is trained is cast to fp32, whatever was loaded.
    CastsTrained(bool),
    /// FSDP leaves weights in the type in which they were loaded.
    FsdpKeepsType(bool),
    Base(Base),
    /// Frozen weights are quantized, to four bits where nobody says how many.
    Quantizes(bool),
    /// Whether adapters are trained in place of all weights.
    Adapters(bool),
    AdapterRule(AdapterRule),
    Shards(Shards),
    /// Whether FSDP divides anything (`fsdp: true`, or its words).
    Fsdp(bool),
    /// Whether FSDP lets weights go between the forward and the backward pass.
    Reshards(bool),
    /// Whether it does where experts are divided over GPUs.
    ReshardsExperts(bool),
    /// FSDP divides nothing.
    NoShard,
    /// DeepSpeed’s stage.
    Stage(u8),
    OffloadsOptimizer(bool),
    OffloadsParameters(bool),
    OffloadsActivations(bool),
    /// Each layer is computed again.
    Recomputes(bool),
    /// FSDP does that.
    FsdpRecomputes(bool),
    Compiles(bool),
    /// Liger’s kernels.
    Liger(bool),
    LigerLinear(bool),
    LigerCrossEntropy(bool),
    LigerNorms(bool),
    /// Liger’s fused linear cross-entropy alone.
    FusedLoss,
    /// trl’s own head, tile by tile.
    TiledLoss,
    /// Unsloth’s own losses.
    UnslothLoss,
    OwnOptimizer(OwnOptimizer),
    /// SGD keeps a velocity.
    Momentum(bool),
    /// Log-probabilities of the reference are computed before.
    ReferenceBefore(bool),
    /// Whether the loss compares with a reference.
    Reference(bool),
    /// FSDP casts weights to bf16 as it gathers them, and nothing else does.
    FsdpCasts(bool),
    /// Chunks of layers of a stage are interleaved.
    Interleaves(bool),
    Selects(Selects),
    SelectsOperators(bool),
    /// The flags are Megatron-LM’s, which describe the model, too.
    Megatron(bool),
    LearnsPositions(bool),
    Gated(bool),
    Biased(bool),
    BiasedQueries(bool),
    Fp8(bool),
    Fp8Scaling(Fp8Scaling),
    Granularity(Granularity),
    /// Recomputation takes the first layers of each stage.
    ByBlocks(bool),
    DividesOptimizer(bool),
    /// What Megatron’s FSDP divides, as a ZeRO stage.
    Divides(u8),
    /// Tensor parallelism divides no expert.
    ExpertsWhole(bool),
    /// FSDP divides everything where there are several GPUs.
    DividesAll(bool),
    /// Feed-forward matrices have adapters, too.
    AdaptsFeedForward(bool),
    StepsInBackward(bool),
    /// PyTorch’s optimizer takes all tensors at once, where it is not fused.
    Foreach(bool),
    /// Rows are packed.
    Packed(bool),
    /// The micro-batch is one row without padding.
    Flattened(bool),
    /// An inference engine generates: none, on other GPUs, or on these.
    Engine(bool),
    EngineElsewhere(bool),
    EngineSleeps(bool),
}

/// A number that says something together with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// All processes.
    Processes,
    /// Processes of one machine.
    PerMachine,
    /// Machines.
    Machines,
    /// Machines, or GPUs of a single one, that generate and do not train.
    MachinesAway,
    GpusAway,
    /// GPUs that a variable makes visible: a list.
    Visible,
    /// Sequences of an optimizer step over all GPUs.
    GlobalBatch,
    /// Sequences of a data-parallel GPU: a micro-batch, or all micro-batches of a pipeline’s step.
    LocalBatch,
    /// Micro-batch of a pipeline.
    PipelineBatch,
    /// Copies of the model.
    Replicas,
    /// GPUs that a copy of the model is divided over.
    Shards,
    /// Tokens of a packed row; no rows are packed at 0.
    Row,
    /// Layers of one chunk of a pipeline stage.
    LayersOfChunk,
    /// Layers that are computed again together, or the first layers of a stage that are.
    RecomputedLayers,
    /// Rows of a learned position table.
    Positions,
    /// Completions of a prompt, by which the batch of an optimizer step counts prompts.
    PerPrompt,
    /// Tokens of a prompt.
    Prompt,
    /// Tokens of a completion.
    Completion,
    /// Weights in the files of a model.
    SavedWeights,
    /// Their bytes.
    SavedBytes,
}

impl Fact {
    /// The parameters of links that depend on it.
    pub(super) const fn concerns(self) -> &'static [&'static str] {
        match self {
            Self::Half(_) | Self::Autocast(_) | Self::Pure(_) | Self::CastsTrained(_) | Self::FsdpKeepsType(_) => {
                &["precision"]
            }
            Self::Loaded(_) | Self::LoadsAsItComputes(_) => &["precision", "adapter"],
            Self::Base(_) | Self::Quantizes(_) | Self::Adapters(_) => &["adapter"],
            Self::AdapterRule(_) => &["adapter_type"],
            Self::Shards(_) | Self::Fsdp(_) | Self::NoShard => &["engine", "zero"],
            Self::Reshards(_) | Self::ReshardsExperts(_) | Self::Stage(_) => &["zero"],
            Self::OffloadsOptimizer(_) | Self::OffloadsParameters(_) | Self::OffloadsActivations(_) => &["offload"],
            Self::Recomputes(_) | Self::FsdpRecomputes(_) => &["recompute"],
            Self::Compiles(_) | Self::LigerNorms(_) => &["kernels"],
            Self::Liger(_) => &["loss", "kernels"],
            Self::LigerLinear(_)
            | Self::LigerCrossEntropy(_)
            | Self::FusedLoss
            | Self::TiledLoss
            | Self::UnslothLoss => &["loss"],
            Self::Momentum(_) | Self::OwnOptimizer(_) => &["optimizer"],
            Self::ReferenceBefore(_) | Self::Reference(_) => &["ref"],
            Self::FsdpCasts(_) => &["precision"],
            Self::Interleaves(_) => &["vpp"],
            Self::Selects(_) | Self::SelectsOperators(_) | Self::Granularity(_) | Self::ByBlocks(_) => &["recompute"],
            Self::Megatron(_) => &["grad"],
            Self::LearnsPositions(_) => &["position", "positions"],
            Self::Gated(_) => &["mlp"],
            Self::Biased(_) | Self::BiasedQueries(_) => &["bias"],
            Self::Fp8(_) | Self::Fp8Scaling(_) => &["fp8"],
            Self::DividesOptimizer(_) | Self::Divides(_) => &["zero"],
            Self::ExpertsWhole(_) => &["ep"],
            Self::DividesAll(_) => &["zero", "engine"],
            Self::AdaptsFeedForward(_) => &["targets"],
            Self::StepsInBackward(_) | Self::Foreach(_) => &["step"],
            Self::Packed(_) | Self::Flattened(_) => &["lengths"],
            Self::Engine(_) | Self::EngineElsewhere(_) | Self::EngineSleeps(_) => &["rollout"],
        }
    }
}

impl Count {
    /// The parameters of links that depend on it.
    pub(super) const fn concerns(self) -> &'static [&'static str] {
        match self {
            Self::Processes
            | Self::PerMachine
            | Self::Machines
            | Self::MachinesAway
            | Self::GpusAway
            | Self::Visible => &["gpus"],
            Self::GlobalBatch => &["target", "accum"],
            Self::LocalBatch | Self::PipelineBatch => &["b"],
            Self::Replicas | Self::Shards => &["zero", "gpus"],
            Self::Row => &["s", "lengths"],
            Self::LayersOfChunk => &["vpp"],
            Self::RecomputedLayers => &["recompute", "every", "recompute_layers"],
            Self::Positions => &["positions"],
            Self::PerPrompt => &["target", "accum"],
            Self::Prompt => &["s"],
            Self::Completion => &["s", "completion"],
            Self::SavedWeights | Self::SavedBytes => &["params"],
        }
    }
}
