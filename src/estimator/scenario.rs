//! What is asked: a model, a training recipe, a cluster and a device.

use serde::Serialize;

use super::choice::{
    Adapter, AdapterTargets, AdapterType, AttentionKernel, BatchUnit, Batching, Bias, ChartAxis, Engine,
    ExpertMatrices, Fp8, FrozenType, GradientType, HostLoad, Kernels, Logits, LossHead, Method, Mlp, Norm, Offload,
    Optimizer, Packing, PaddedAttention, Position, Precision, QkNorm, Recomputation, Reference, RewardModel, Rollout,
    Segments, Softmax, StepKernel, Switch, TaskKind, Unquantized, ZeroStage,
};
use super::outside::Outside;
use super::runtime::fragmentation;
use super::units::{Bytes, Percent};
pub use super::vision::Images;
use super::vision::Vision;

/// Everything an answer depends on. Two equal scenarios have equal estimates, byte for byte.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scenario {
    /// The accounting in use.
    pub method: Method,
    /// The network.
    pub model: Model,
    /// How it is trained.
    pub recipe: Recipe,
    /// For what it is trained.
    pub task: Task,
    /// What is done outside the training step.
    pub outside: Outside,
    /// How long its sequences are.
    pub lengths: Lengths,
    /// On how many devices, and how the work is divided.
    pub cluster: Cluster,
    /// One of those devices.
    pub device: Device,
    /// What one optimizer step should see.
    pub goal: Goal,
    /// What the chart's reference curves assume.
    pub comparison: Comparison,
    /// The machine around the device.
    pub host: Host,
}

/// A transformer: a decoder, or an encoder of its own, and where there is one an encoder before it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Model {
    /// Where these numbers come from. No size depends on it, but numbers that stand in for an unknown model have no answer.
    pub origin: Origin,
    /// N: trainable parameters, 10⁵ to 10¹⁴.
    pub parameters: u64,
    /// H: width of the residual stream.
    pub hidden: u32,
    /// L: transformer blocks.
    pub layers: u32,
    /// n: attention (query) heads.
    pub heads: u32,
    /// k: key/value heads.
    pub kv_heads: u32,
    /// Width of one head.
    pub head_dim: u32,
    /// f: inner width of the feed-forward block.
    pub feed_forward: u32,
    /// V: entries of the vocabulary.
    pub vocabulary: u32,
    /// Whether input and output embeddings are one matrix.
    pub tied_embeddings: Switch,
    /// The kind of feed-forward block.
    pub mlp: Mlp,
    /// The normalization.
    pub norm: Norm,
    /// Norms in one block, 1 to 4.
    pub norms: u32,
    /// Whether attention and feed-forward block stand side by side and read the same input.
    pub parallel: Switch,
    /// Norms on queries and keys.
    pub qk_norm: QkNorm,
    /// Which matrices of a block carry a bias.
    pub bias: Bias,
    /// Whether logits and scores pass a tanh that keeps them below a cap, as in Gemma 2.
    pub soft_cap: Switch,
    /// How queries, keys and values are computed.
    pub packing: Packing,
    /// In what the softmax of eager attention is taken.
    pub softmax: Softmax,
    /// How positions enter.
    pub position: Position,
    /// Rows of a learned position table; 0 without one.
    pub positions: u32,
    /// Rows of that table, and of the encoder's, that no token of a sequence uses.
    pub spare_positions: u32,
    /// The feed-forward experts.
    pub experts: Experts,
    /// Multi-head latent attention.
    pub latent: Latent,
    /// What sees images.
    pub vision: Vision,
    /// The encoder whose output every layer attends to.
    pub encoder: Encoder,
}

/// Where the numbers of a model come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The row of the catalogue with this slug; single numbers may have been changed since.
    Row(&'static str),
    /// The reader's own model: all numbers were given, or are defaults.
    Own,
    /// A model was named that nobody knows; the numbers of another one stand in.
    Unknown,
}

impl Origin {
    /// The slug of the row, if it is one.
    pub const fn slug(self) -> Option<&'static str> {
        match self {
            Self::Row(slug) => Some(slug),
            Self::Own | Self::Unknown => None,
        }
    }
}

/// The mixture of experts of a layer; without experts it is a dense model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Experts {
    /// E: routed experts of a layer, 0 for a dense model.
    pub count: u32,
    /// Experts that each token is routed to, 1 to E.
    pub active: u32,
    /// Inner width of one routed expert; 0 for the f of the dense block.
    pub width: u32,
    /// Inner width of the experts every token visits, together; 0 when there are none.
    pub shared_width: u32,
    /// Layers that have the dense block instead of experts.
    pub dense_layers: u32,
}

impl Experts {
    /// No experts.
    pub const NONE: Self = Self { count: 0, active: 1, width: 0, shared_width: 0, dense_layers: 0 };
}

/// The ranks of multi-head latent attention (DeepSeek-AI 2024, arXiv 2405.04434, section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Latent {
    /// Width of compressed queries; 0 when they are not compressed.
    pub query_rank: u32,
    /// Width of compressed keys and values; 0 for ordinary attention.
    pub kv_rank: u32,
    /// Rotated elements added to each head.
    pub rope_dim: u32,
}

impl Latent {
    /// Ordinary attention.
    pub const NONE: Self = Self { query_rank: 0, kv_rank: 0, rope_dim: 0 };
}

/// An encoder before the decoder, in layers of the decoder's width, heads and feed-forward width, without the
/// attention to another stack that each layer of the decoder then has (Vaswani et al. 2017, arXiv 1706.03762, section
/// 3.1). Vocabulary and its matrix are those of the decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Encoder {
    /// Layers of the encoder, 0 when there is none.
    pub layers: u32,
    /// Rows of its own position table; with sound as many as the source is long.
    pub positions: u32,
    /// Channels of sound that two convolutions turn into the source; 0 for a source of tokens.
    pub mels: u32,
}

impl Encoder {
    /// No encoder.
    pub const NONE: Self = Self { layers: 0, positions: 0, mels: 0 };

    /// Whether there is one.
    pub const fn is_there(&self) -> bool {
        self.layers > 0
    }

    /// Whether it hears: its table then holds sines, which are no trained weights (`requires_grad_(False)` in
    /// transformers/models/whisper/modeling_whisper.py, 5.23.0).
    pub const fn hears(&self) -> bool {
        self.layers > 0 && self.mels > 0
    }
}

/// How the model is trained.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Recipe {
    /// S: tokens in a sequence.
    pub sequence: u32,
    /// b: sequences one device processes at once.
    pub batch: u32,
    /// m: micro-batches whose gradients one optimizer step adds up.
    pub micro_batches: u32,
    /// In what weights, activations and states are held.
    pub precision: Precision,
    /// In what gradients of 16-bit weights are kept.
    pub gradients: GradientType,
    /// The update rule.
    pub optimizer: Optimizer,
    /// How the optimizer step is carried out.
    pub step: StepKernel,
    /// What is computed again in the backward pass.
    pub recomputation: Recomputation,
    /// K of [`Recomputation::EveryK`] and [`Recomputation::KthLayer`].
    pub every: u32,
    /// N of [`Recomputation::Block`].
    pub recomputed_layers: u32,
    /// Tokens that the device with the busiest experts gets, over the mean, 1 to 64.
    pub imbalance: f64,
    /// Whether the blocks use dropout, whose masks take a byte an element.
    pub dropout: Switch,
    /// The attention kernel.
    pub attention: AttentionKernel,
    /// What turns the last hidden state into a loss.
    pub loss: LossHead,
    /// Pieces into which a chunked loss divides the tokens.
    pub chunks: u32,
    /// Whether the training loop holds on to the logits.
    pub logits: Logits,
    /// How many operations share a kernel.
    pub kernels: Kernels,
    /// What lies in the memory of the host.
    pub offload: Offload,
    /// Low-rank adapters beside frozen weights.
    pub adapter: Adapter,
    /// r: rank of the adapters.
    pub rank: u32,
    /// The matrices that get an adapter.
    pub targets: AdapterTargets,
    /// How the model holds the matrices of routed experts; read beside adapters.
    pub expert_matrices: ExpertMatrices,
    /// In what adapters beside 16-bit or quantized weights are kept.
    pub adapter_type: AdapterType,
    /// Whether the inputs of adapters pass a dropout of their own.
    pub adapter_dropout: Switch,
    /// In what weights beside quantized matrices are kept.
    pub unquantized: Unquantized,
    /// Which products run in fp8.
    pub fp8: Fp8,
    /// Rank to which GaLore and APOLLO project gradients.
    pub projection: u32,
    /// Widest side that Shampoo and SOAP precondition whole; 0 for the usual of either.
    pub preconditioner: u32,
    /// The images of a sequence; read with a vision tower only.
    pub images: Images,
    /// Tokens of the sequence that an encoder reads; 0 for as many as the decoder has.
    pub source: u32,
}

impl Recipe {
    /// Whether the experts of a layer of `model` are in stacks, which differs from linear layers beside adapters.
    pub(crate) fn stacks_experts(&self, model: &Model) -> bool {
        let in_some_layer = model.experts.count > 0 && model.experts.dense_layers < model.layers;
        in_some_layer && self.adapter != Adapter::None && self.expert_matrices == ExpertMatrices::Stacked
    }

    /// Whether the gates of a stack of experts lie in one parameter with what they multiply, `gate_up_proj` of
    /// [E, 2·f, H], as in transformers (`MixtralExperts` in models/mixtral/modeling_mixtral.py, `GptOssExperts` in
    /// models/gpt_oss/modeling_gpt_oss.py, 5.23.0). torchtitan has two stacks, and Megatron-LM a matrix an expert.
    pub(crate) fn joins_gates(&self, engine: Engine) -> bool {
        matches!(engine, Engine::Torch | Engine::DeepSpeed)
            && (self.adapter == Adapter::None || self.expert_matrices == ExpertMatrices::Stacked)
    }

    /// Whether stacks of experts have adapters, which peft adds to a whole stack before every use: `baddbmm` of the stack
    /// and the two thin matrices (`_LoraFactorsProxy` and `ParamWrapper` in peft/tuners/lora/layer.py, 0.21.2).
    pub(crate) fn adapts_stacks(&self, model: &Model) -> bool {
        self.targets == AdapterTargets::All && self.stacks_experts(model)
    }
}

/// What the model is trained for, and what stands beside the training step for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Task {
    /// The task; all else is read where it is not [`TaskKind::Train`].
    pub kind: TaskKind,
    /// The reference, or the teacher.
    pub reference: Reference,
    /// In what frozen models are kept.
    pub frozen: FrozenType,
    /// Weights of the teacher; 0 for as many as the trained model has.
    pub teacher: u64,
    /// What scores completions.
    pub reward: RewardModel,
    /// What generates completions.
    pub rollout: Rollout,
    /// The share of the device that an engine beside the trained model takes.
    pub engine: Percent,
    /// Tokens of a sequence that are its completion; 0 for all of them.
    pub completion: u32,
    /// Sequences that one device generates at once; 0 for those of one optimizer step.
    pub generations: u32,
    /// Sequences of a pass that scores completions; 0 for the micro-batch.
    pub scored: u32,
}

/// Lengths that vary, and how they become a micro-batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Lengths {
    /// How; all else is read where it is not [`Batching::Equal`].
    pub batching: Batching,
    /// How attention leaves padding out.
    pub attention: PaddedAttention,
    /// Half of the sequences have no more tokens. No entry of a ledger depends on it.
    pub median: u32,
    /// Nineteen of twenty have no more. No entry of a ledger depends on it.
    pub p95: u32,
    /// Tokens of the longest, 0 for S; what is longer than S is cut.
    pub longest: u32,
    /// To a multiple of which a micro-batch is padded.
    pub multiple: u32,
}

/// The devices and the division of work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cluster {
    /// All devices of the job: D · T · P · C.
    pub gpus: u32,
    /// The program that carries out a step.
    pub engine: Engine,
    /// What the data-parallel devices shard.
    pub zero: ZeroStage,
    /// Devices over which FSDP keeps weights between the passes: 0 for all that share them.
    pub reshard: u32,
    /// Elements of DeepSpeed's reduction bucket, in millions.
    pub reduce_bucket: u32,
    /// T: devices that share each matrix.
    pub tensor_parallel: u32,
    /// P: stages that divide the layers.
    pub pipeline_parallel: u32,
    /// v: chunks of layers on each stage, under an interleaved schedule.
    pub virtual_stages: u32,
    /// Layers of the first stage; 0 for the same as the others.
    pub first_stage_layers: u32,
    /// Layers of the last stage; 0 for the same as the others.
    pub last_stage_layers: u32,
    /// C: devices that share the tokens of a sequence.
    pub context_parallel: u32,
    /// Data-parallel devices that divide the experts among themselves.
    pub expert_parallel: u32,
    /// Whether the parts outside attention and MLP are split over the T devices too.
    pub sequence_parallel: Switch,
}

/// One device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Device {
    /// The catalogue row these numbers were taken from; the estimator does not read it.
    pub origin: &'static str,
    /// Total memory as the driver reports it, in whole MiB.
    pub memory: Bytes,
    /// The part of it kept free by the workshop's and the paper's method.
    pub headroom: Percent,
    /// What the driver keeps for itself, in whole MiB.
    pub driver: Bytes,
    /// The CUDA context.
    pub cuda_context: Bytes,
    /// Communication buffers, with more than one device.
    pub communication: Bytes,
    /// What cuBLAS and its like keep for each thread that multiplies, in whole MiB.
    pub workspace: Bytes,
    /// How the caching allocator gets memory.
    pub segments: Segments,
    /// What the caching allocator holds beyond live activations, gradients and temporaries.
    pub fragmentation: Percent,
    /// Ten times its compute capability, by its row of the catalogue; 0 where nobody said.
    pub capability: u32,
    /// Whether it has no units for bf16, which PyTorch then emulates, by its row of the catalogue.
    pub emulates_bf16: bool,
}

/// The machine that the device stands in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Host {
    /// Its memory, in whole MiB; 0 where nobody said.
    pub ram: Bytes,
    /// Devices in one machine, at most.
    pub gpus: u32,
    /// What is held while the model is loaded.
    pub load: HostLoad,
}

impl Host {
    /// A machine that nobody described: eight devices, as in NVIDIA's DGX and HGX, and no limit that is known.
    pub const UNSAID: Self = Self { ram: Bytes::ZERO, gpus: 8, load: HostLoad::Off };
}

/// The target of the accumulation planner.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Goal {
    /// B, in the unit beside it.
    pub global_batch: u32,
    /// Sequences or tokens.
    pub unit: BatchUnit,
}

/// The setting of the chart: its horizontal axis and its four reference curves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Devices the reference models are spread over.
    pub gpus: u32,
    /// Recomputation of the reference models.
    pub recomputation: Recomputation,
    /// What b_max is drawn against.
    pub against: ChartAxis,
}

impl Model {
    /// Inner width of one routed expert: its own, or that of the dense block where it has none.
    pub fn expert_width(&self) -> u32 {
        if self.experts.width > 0 { self.experts.width } else { self.feed_forward }
    }

    /// Whether one matrix makes queries, keys and values.
    pub fn packs_attention(&self) -> bool {
        self.packing != Packing::Separate
    }

    /// Whether one matrix makes both halves of a gated feed-forward block: `gate_up_proj` in
    /// models/phi3/modeling_phi3.py, transformers 5.23.0.
    pub fn joins_gate(&self) -> bool {
        self.packing == Packing::PackedGate && self.mlp.is_gated()
    }
}

impl Task {
    /// Training on the next token, with the usual of all other tasks: what trl 1.10.0 does by default
    /// (`num_generations`, `vllm_gpu_memory_utilization` and `vllm_enable_sleep_mode` in
    /// trl/trainer/grpo_config.py; the reference of trl/trainer/dpo_trainer.py).
    pub const TRAIN: Self = Self {
        kind: TaskKind::Train,
        reference: Reference::Copy,
        frozen: FrozenType::Policy,
        teacher: 0,
        reward: RewardModel::Usual,
        rollout: Rollout::Model,
        engine: Percent::new(30.0),
        completion: 0,
        generations: 0,
        scored: 0,
    };

    /// Tokens of a sequence of `sequence` tokens that are its completion.
    pub fn completed(&self, sequence: u32) -> u32 {
        if self.completion == 0 { sequence } else { self.completion.min(sequence) }
    }

    /// Whether an inference engine takes a share of the device.
    pub fn has_engine(&self) -> bool {
        self.kind.generates() && matches!(self.rollout, Rollout::Awake | Rollout::Asleep)
    }

    /// What scores completions, with what is usual for the task.
    pub fn rewarded_by(&self) -> RewardModel {
        match (self.reward, self.kind) {
            (RewardModel::Usual, TaskKind::Ppo) => RewardModel::Model,
            (RewardModel::Usual, _) => RewardModel::Function,
            (named, _) => named,
        }
    }
}

impl Device {
    /// The same device with another way of getting memory. A fragmentation that is the likely one follows;
    /// any other is the reader's and stays.
    #[must_use]
    pub fn with_segments(mut self, segments: Segments) -> Self {
        if self.fragmentation == fragmentation(self.segments).likely {
            self.fragmentation = fragmentation(segments).likely;
        }
        self.segments = segments;
        self
    }
}

impl Cluster {
    /// T·P·C: devices that work on one micro-batch together.
    pub fn group(&self) -> u32 {
        let sizes = [self.tensor_parallel, self.pipeline_parallel, self.context_parallel];
        sizes.iter().fold(1, |group: u32, size| group.saturating_mul((*size).max(1)))
    }

    /// D, the data-parallel size: how many different micro-batches are processed at once, at least 1.
    ///
    /// When T·P·C does not divide the GPUs the incomplete group is left out;
    /// [`Scenario::conflicts`] says so.
    pub fn data_parallel(&self) -> u32 {
        (self.gpus / self.group()).max(1)
    }
}

impl Scenario {
    /// Devices of the job in one machine.
    pub fn node_gpus(&self) -> u32 {
        self.host.gpus.min(self.cluster.gpus).max(1)
    }
}

impl Goal {
    /// The target in sequences of `sequence` tokens, rounded up.
    pub fn sequences(&self, sequence: u32) -> u32 {
        match self.unit {
            BatchUnit::Sequences => self.global_batch,
            BatchUnit::Tokens => self.global_batch.div_ceil(sequence.max(1)),
        }
    }
}

impl Scenario {
    /// S_e: positions of the encoder. Sound is cut to as many as its table has rows.
    pub fn source(&self) -> u32 {
        let (encoder, recipe) = (&self.model.encoder, &self.recipe);
        match recipe.source {
            _ if encoder.hears() && encoder.positions > 0 => encoder.positions,
            0 => recipe.sequence,
            given => given,
        }
    }

    /// The part of the device kept free: the headroom, for the methods that know no other overhead.
    pub fn reserved(&self) -> Bytes {
        match self.method {
            // Driver, context, communication and fragmentation are entries of the ledger.
            Method::Ledger => Bytes::ZERO,
            Method::Workshop | Method::Paper => Bytes::new(self.device.memory.get() * self.device.headroom.fraction()),
        }
    }

    /// Devices that see different data. The workshop's method knows no groups, so there it is all of
    /// them.
    pub fn data_parallel(&self) -> u32 {
        match self.method {
            Method::Workshop => self.cluster.gpus,
            Method::Ledger | Method::Paper => self.cluster.data_parallel(),
        }
    }

    /// What a training step may use.
    pub fn usable(&self) -> Bytes {
        self.device.memory - self.reserved()
    }
}
