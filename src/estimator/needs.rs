//! What an input needs to change anything, and which methods read it: each row of the inputs names it
//! ([`Field`](super::Field), [`setting`](super::setting)).

use super::choice::{
    Adapter, AdapterType, AttentionKernel, Batching, Engine, Evaluation, Gather, HostLoad, LossHead, Method, Offload,
    Optimizer, Position, Precision, Recomputation, Reference, RewardModel, Rollout, TaskKind, Tower, ZeroStage,
};
use super::counted::as_run;
use super::input::Input;
use super::scenario::Scenario;
use crate::Bytes;

/// The methods that read an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Readers {
    /// The ledger alone.
    Ledger,
    /// The paper’s method and the ledger.
    Paper,
    /// Every method.
    All,
    /// The workshop’s method and the paper’s: the ledger counts the weights of every matrix.
    WeightRules,
    /// The workshop’s method and the paper’s: the ledger counts what headroom stands for.
    HeadroomRules,
}

impl Readers {
    /// Why `method` does not read the input; empty where it does.
    pub fn unread_by(self, method: Method) -> &'static str {
        match (self, method) {
            (Self::WeightRules, Method::Ledger) => "Not read by the ledger, which counts the weights of every matrix.",
            (Self::HeadroomRules, Method::Ledger) => "Not read by the ledger, which counts it in entries of its own.",
            (Self::Ledger, Method::Workshop | Method::Paper) => "Read by the ledger only.",
            (Self::Paper, Method::Workshop) => "Not read by the workshop’s method; the paper’s and the ledger read it.",
            _ => "",
        }
    }
}

macro_rules! needs {
    ($($(#[$meta:meta])* $need:ident: $reason:literal, |$scenario:ident| $is_met:expr;)+) => {
        /// What must hold in a scenario for an input to change anything.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Need { $($(#[$meta])* $need,)+ }

        impl Need {
            /// Whether it holds.
            pub fn is_met(self, scenario: &Scenario) -> bool {
                match self { $(Self::$need => { let $scenario = scenario; $is_met })+ }
            }

            /// What is said where it does not hold.
            pub const fn reason(self) -> &'static str {
                match self { $(Self::$need => $reason,)+ }
            }
        }
    };
}

needs! {
    /// Sequences of different lengths.
    UnequalLengths: "No effect where all sequences are as long.", |s| s.lengths.batching != Batching::Equal;
    /// Padding in micro-batches.
    Padding: "No effect without padding.", |s| s.lengths.batching.pads();
    /// Attention that can leave padding out.
    AttentionWithoutScores: "No effect on eager attention, which has its scores anyway.",
        |s| s.recipe.attention != AttentionKernel::Eager;
    /// Attention that stores its scores.
    StoredScores: "No effect under flash attention.", |s| s.recipe.attention != AttentionKernel::Flash;
    /// A mixture of experts.
    Experts: "No effect without experts.", |s| s.model.experts.count > 0;
    /// GPUs that divide the experts.
    DividedExperts: "No effect unless GPUs divide experts among themselves.",
        |s| s.model.experts.count > 0 && s.cluster.expert_parallel > 1;
    /// Multi-head latent attention.
    LatentAttention: "No effect without a key/value rank.", |s| s.model.latent.kv_rank > 0;
    /// An encoder before the decoder.
    Encoder: "No effect without an encoder.", |s| s.model.encoder.is_there();
    /// An encoder of tokens: one that hears has as many positions as its table.
    EncoderOfTokens: "No effect without an encoder, or with one that hears.",
        |s| s.model.encoder.is_there() && !(s.model.encoder.hears() && s.model.encoder.positions > 0);
    /// A table of positions.
    PositionTable: "No effect without a learned table.",
        |s| matches!(s.model.position, Position::Learned | Position::Relative);
    /// A table with a row for each position.
    LearnedPositions: "No effect without a learned table.", |s| s.model.position == Position::Learned;
    /// More than one norm in a block; attention to an encoder has one of its own.
    SeveralNorms: "No effect with one norm per block.", |s| s.model.norms != 1 || s.model.encoder.is_there();
    /// A vision tower.
    VisionTower: "No effect without a vision tower.", |s| s.model.vision.tower != Tower::None;
    /// A tower whose tokens depend on the sides of an image.
    SidesOfImages: "No effect on a tower that makes one square of every image.",
        |s| s.model.vision.tower.keeps_shape() || s.model.vision.tower.has_tiles();
    /// A processor with a limit of pixels.
    LimitOfPixels: "Read by the processors of Qwen2-VL and Qwen2.5-VL only.", |s| s.model.vision.tower.keeps_shape();
    /// A tower that cuts images.
    Tiles: "No effect on a tower without tiles or crops.", |s| s.model.vision.tower.has_tiles();
    /// A tower with tiles of one size.
    SquareTiles: "No effect where images keep their shape.",
        |s| s.model.vision.tower != Tower::None && !s.model.vision.tower.keeps_shape();
    /// Recomputation that has a K.
    EveryKth: "No effect on other recomputation.",
        |s| matches!(s.recipe.recomputation, Recomputation::EveryK | Recomputation::KthLayer);
    /// Recomputation of the first layers.
    FirstLayers: "No effect on other recomputation.", |s| s.recipe.recomputation == Recomputation::Block;
    /// A loss in chunks.
    ChunkedLoss: "No effect on other loss heads.",
        |s| matches!(s.recipe.loss, LossHead::Chunked | LossHead::ChunkedHead);
    /// A loss that holds all logits at once.
    WholeLogits: "No effect: this loss head never holds all logits.",
        |s| s.recipe.loss.makes_all_logits();
    /// Adapters.
    Adapter: "No effect without an adapter.", |s| s.recipe.adapter != Adapter::None;
    /// A precision in which adapters have a type of their own.
    TypedAdapters: "No effect: adapters beside fp32 are in fp32.", |s| s.recipe.precision != Precision::Fp32;
    /// Gradients that have a type of their own beside adapters: DeepSpeed adds those up in a type that is set apart
    /// (`grad_accum_dtype` in runtime/config.py), and PPO trains a value model whole beside them.
    TypedAdapterGradients: "No effect: gradients of adapters are in the adapters’ type.",
        |s| s.recipe.adapter == Adapter::None
            || s.task.kind == TaskKind::Ppo
            || s.cluster.engine == Engine::DeepSpeed
            || !(is_over_fp32(s) || s.recipe.adapter_type == AdapterType::Full);
    /// Weights that are kept in 16 bits.
    HalfWeights: "No effect: gradients of fp32 weights are in fp32.", |s| !is_over_fp32(s);
    /// A quantized base.
    QuantizedBase: "No effect on weights that are not quantized.", |s| s.recipe.adapter.is_quantized();
    /// An optimizer that projects gradients.
    ProjectedGradients: "No effect without GaLore or APOLLO.", |s| s.recipe.optimizer.projects();
    /// An optimizer with preconditioners.
    Preconditioners: "No effect without Shampoo or SOAP.", |s| s.recipe.optimizer.preconditions();
    /// Several GPUs.
    SeveralGpus: "No effect on one GPU.", |s| s.cluster.gpus > 1;
    /// Tensor parallelism.
    TensorParallel: "No effect without tensor parallelism.", |s| s.cluster.tensor_parallel > 1;
    /// A pipeline.
    Pipeline: "No effect without a pipeline.", |s| s.cluster.pipeline_parallel > 1;
    /// Weights that ZeRO 3 brings together: from other GPUs, or from CPU memory.
    DividedByZero3: "No effect unless ZeRO 3 divides the weights.", |s| s.cluster.zero == ZeroStage::Stage3
        && (s.cluster.data_parallel().saturating_mul(s.cluster.context_parallel) != 1
            || s.recipe.offload.takes_parameters());
    /// DeepSpeed with a stage of ZeRO.
    DeepSpeedZero: "No effect without DeepSpeed’s ZeRO.",
        |s| s.cluster.engine == Engine::DeepSpeed && s.cluster.zero != ZeroStage::Stage0;
    /// Weights that GPUs divide.
    DividedWeights: "No effect unless GPUs divide the weights.", |s| s.divides_weights();
    /// A state dict that is gathered.
    FullStateDict: "No effect without a full state dict.",
        |s| s.divides_weights() && s.outside.gather != Gather::Off;
    /// A teacher.
    Teacher: "No effect without distillation.", |s| s.task.kind == TaskKind::Distil;
    /// An inference engine on the same GPU.
    InferenceEngine: "No effect without an engine on the same GPU.", |s| s.task.has_engine();
    /// A task with completions.
    Completions: "No effect on a task without completions.", |s| s.task.kind.generates();
    /// Completions that the trained model generates.
    OwnCompletions: "No effect unless the trained model generates.",
        |s| s.task.kind.generates() && s.task.rollout == Rollout::Model;
    /// A task with a frozen model.
    FrozenModel: "No effect on a task without a frozen model.",
        |s| !matches!(s.task.kind, TaskKind::Train | TaskKind::Reward);
    /// An evaluation.
    Evaluation: "No effect without an evaluation.", |s| s.outside.evaluation != Evaluation::Off;
    /// An evaluation that keeps logits.
    KeptLogits: "No effect unless an evaluation keeps logits.", |s| s.outside.evaluation == Evaluation::Logits;
    /// An evaluation that generates.
    GeneratingEvaluation: "No effect unless an evaluation generates.", |s| s.outside.generates();
    /// Something that lies in CPU memory, or a memory to compare with.
    HostMemory: "No effect until something is offloaded or the machine’s memory is given.", |s| counts_host(s);
}

fn is_over_fp32(scenario: &Scenario) -> bool {
    matches!(scenario.recipe.precision, Precision::Fp32 | Precision::Mixed | Precision::Autocast)
}

/// Whether anything asks for the memory of the machine.
fn counts_host(scenario: &Scenario) -> bool {
    let (recipe, task) = (&scenario.recipe, &scenario.task);
    recipe.offload != Offload::None
        || recipe.optimizer == Optimizer::PagedAdam8bit
        || task.reference == Reference::Offloaded
        || task.reward == RewardModel::Offloaded
        || scenario.host.load != HostLoad::Off
        || scenario.host.ram > Bytes::ZERO
}

impl Input {
    /// What it needs to change anything, in the order in which it is said.
    pub fn needs(self) -> &'static [Need] {
        match self {
            Self::Model | Self::Gpu => &[],
            Self::Number(field) => field.needs(),
            Self::Word(setting) => setting.needs,
        }
    }

    /// The methods that read it.
    pub fn readers(self) -> Readers {
        match self {
            Self::Model | Self::Gpu => Readers::All,
            Self::Number(field) => field.readers(),
            Self::Word(setting) => setting.readers,
        }
    }

    /// The first of its needs that is not met by the scenario as it is run.
    ///
    /// ```
    /// use bmax::{Field, Scenario, input::{Input, Need}};
    /// let scenario = Scenario::default();
    /// assert_eq!(Input::Number(Field::Rank).missing(&scenario), Some(Need::Adapter));
    /// ```
    pub fn missing(self, scenario: &Scenario) -> Option<Need> {
        // Only the ledger knows what a task leaves out.
        let run = if scenario.method == Method::Ledger { as_run(&scenario.at_longest()) } else { *scenario };
        self.needs().iter().copied().find(|need| !need.is_met(&run))
    }

    /// Why it changes nothing as things stand; empty where it may.
    pub fn idle(self, scenario: &Scenario) -> &'static str {
        match self.readers().unread_by(scenario.method) {
            "" => self.missing(scenario).map_or("", Need::reason),
            unread => unread,
        }
    }
}
