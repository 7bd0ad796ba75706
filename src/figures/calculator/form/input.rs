//! One input of the form, and whether anything reads it.

use bmax::{
    Adapter, AdapterType, AttentionKernel, Batching, Bytes, Engine, Evaluation, Field, Gather, HostLoad, LossHead,
    Method, Offload, Optimizer, Position, Precision, Recomputation, Reference, RewardModel, Rollout, Scenario,
    TaskKind, Tower, ZeroStage,
    setting::{self, Setting},
};

/// A number or a word of the scenario.
#[derive(Clone, Copy)]
pub enum Input {
    /// A number.
    Number(Field),
    /// A choice from a list.
    Word(&'static Setting),
}

use Input::{Number, Word};

impl Input {
    /// Its name in links.
    pub fn key(self) -> &'static str {
        match self {
            Number(field) => field.bound().key,
            Word(word) => word.key,
        }
    }

    /// Whether two scenarios differ in it.
    pub fn differs(self, one: &Scenario, other: &Scenario) -> bool {
        match self {
            Number(field) => one.number(field) != other.number(field),
            Word(word) => word.get(one) != word.get(other),
        }
    }

    /// Why it changes nothing as things stand; empty when it does.
    pub fn idle(self, scenario: &Scenario) -> &'static str {
        let unread = self.unread(scenario.method);
        if unread.is_empty() { self.needs(scenario) } else { unread }
    }

    /// Whether nothing can come of it. A changed value is never out of sight, but for the number of parameters, for
    /// which the ledger has a count of its own that stands in its place.
    pub fn hidden(self, scenario: &Scenario, base: &Scenario) -> bool {
        match self {
            Number(Field::Parameters) => scenario.method == Method::Ledger,
            _ => !self.needs(scenario).is_empty() && !self.differs(scenario, base),
        }
    }

    /// Why the method does not read it; empty when it does.
    fn unread(self, method: Method) -> &'static str {
        use Field::{
            Batch, ContextParallel, Gpus, Headroom, Heads, Hidden, Layers, LengthMax, LengthMedian, LengthMultiple,
            LengthP95, Memory, Parameters, PipelineParallel, Sequence, TensorParallel,
        };
        let everywhere = match self {
            Number(LengthMedian | LengthP95 | LengthMax | LengthMultiple) => true,
            Number(field) => {
                matches!(field, Parameters | Hidden | Layers | Heads | Sequence | Batch | Gpus | Memory | Headroom)
            }
            Word(word) => [&setting::PRECISION, &setting::RECOMPUTATION, &setting::LENGTHS].contains(&word),
        };
        let in_paper = match self {
            Number(field) => matches!(field, TensorParallel | PipelineParallel | ContextParallel),
            Word(word) => [&setting::ZERO, &setting::SEQUENCE_PARALLEL, &setting::DROPOUT].contains(&word),
        };
        match (method, self) {
            (Method::Ledger, Number(Parameters)) => "Not read by the ledger, which counts the weights of every matrix.",
            (Method::Ledger, Number(Headroom)) => "Not read by the ledger, which counts it in entries of its own.",
            (Method::Ledger, _) => "",
            _ if everywhere || (in_paper && method == Method::Paper) => "",
            _ if in_paper => "Not read by the workshop’s method; the paper’s and the ledger read it.",
            _ => "Read by the ledger only.",
        }
    }

    /// What it needs to change anything, where that is missing; empty otherwise.
    fn needs(self, scenario: &Scenario) -> &'static str {
        match self {
            Number(field) => number_needs(field, scenario),
            Word(word) => word_needs(word, scenario),
        }
    }
}

const NO_ADAPTER: &str = "No effect without an adapter.";
const NO_COMPLETIONS: &str = "No effect on a task without completions.";
const NO_FROZEN: &str = "No effect on a task without a frozen model.";
const NO_EVALUATION: &str = "No effect without an evaluation.";
const EQUAL_LENGTHS: &str = "No effect where all sequences are as long.";
const NO_PADDING: &str = "No effect without padding.";
const NOTHING_IN_HOST: &str = "No effect until something is offloaded or the machine’s memory is given.";

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

const NO_TOWER: &str = "No effect without a vision tower.";
const OTHER_RECOMPUTATION: &str = "No effect on other recomputation.";

fn number_needs(field: Field, scenario: &Scenario) -> &'static str {
    use Field::{
        ActiveExperts, Chunks, Communication, Completion, DenseLayers, EncoderPositions, EngineShare, Every,
        ExpertParallel, ExpertWidth, FirstStageLayers, Generations, ImageHeight, ImageSide, ImageWidth, Images,
        Imbalance, LastStageLayers, LengthMax, LengthMedian, LengthMultiple, LengthP95, MaxPixels, MelChannels,
        NodeGpus, Patch, Positions, Preconditioner, Projection, QueryRank, Rank, RecomputedLayers, ReduceBucket,
        Reshard, RopeDim, Scored, SharedWidth, Source, SparePositions, Teacher, Tiles, VirtualStages,
        VisionFeedForward, VisionHeads, VisionHidden, VisionLayers,
    };
    let Scenario { model, recipe, cluster, task, outside, .. } = scenario;
    let batching = scenario.lengths.batching;
    let sees_nothing = model.vision.tower == Tower::None;
    let (missing, reason) = match field {
        LengthMedian | LengthP95 | LengthMax => (batching == Batching::Equal, EQUAL_LENGTHS),
        LengthMultiple if batching == Batching::Equal => (true, EQUAL_LENGTHS),
        LengthMultiple => (!batching.pads(), NO_PADDING),
        ActiveExperts | ExpertWidth | SharedWidth | DenseLayers | ExpertParallel => {
            (model.experts.count == 0, "No effect without experts.")
        }
        Imbalance => (
            model.experts.count == 0 || cluster.expert_parallel == 1,
            "No effect unless GPUs divide experts among themselves.",
        ),
        QueryRank | RopeDim => (model.latent.kv_rank == 0, "No effect without a key/value rank."),
        Source => (
            !model.encoder.is_there() || (model.encoder.hears() && model.encoder.positions > 0),
            "No effect without an encoder, or with one that hears.",
        ),
        EncoderPositions | MelChannels => (!model.encoder.is_there(), "No effect without an encoder."),
        Positions => {
            let table = matches!(model.position, Position::Learned | Position::Relative);
            (!table, "No effect without a learned table.")
        }
        SparePositions => (model.position != Position::Learned, "No effect without a learned table."),
        Every => {
            let reads = matches!(recipe.recomputation, Recomputation::EveryK | Recomputation::KthLayer);
            (!reads, OTHER_RECOMPUTATION)
        }
        RecomputedLayers => (recipe.recomputation != Recomputation::Block, OTHER_RECOMPUTATION),
        Chunks => (!matches!(recipe.loss, LossHead::Chunked | LossHead::ChunkedHead), "No effect on other loss heads."),
        Rank => (recipe.adapter == Adapter::None, NO_ADAPTER),
        VirtualStages | FirstStageLayers | LastStageLayers => {
            (cluster.pipeline_parallel == 1, "No effect without a pipeline.")
        }
        Reshard => {
            let shards = cluster.data_parallel().saturating_mul(cluster.context_parallel);
            (cluster.zero != ZeroStage::Stage3 || shards == 1, "No effect unless ZeRO 3 divides the weights.")
        }
        ReduceBucket => {
            let reduces = cluster.engine == Engine::DeepSpeed && cluster.zero != ZeroStage::Stage0;
            (!reduces, "No effect without DeepSpeed’s ZeRO.")
        }
        Communication => (cluster.gpus == 1, "No effect on one GPU."),
        Teacher => (task.kind != TaskKind::Distil, "No effect without distillation."),
        EngineShare => (!task.has_engine(), "No effect without an engine on the same GPU."),
        Completion | Scored => (!task.kind.generates(), NO_COMPLETIONS),
        Generations => {
            let generates = task.kind.generates() && task.rollout == Rollout::Model;
            (!generates, "No effect unless the trained model generates.")
        }
        Field::EvalBatch => (outside.evaluation == Evaluation::Off, NO_EVALUATION),
        Field::EvalSequences | Field::EvalSteps => {
            (outside.evaluation != Evaluation::Logits, "No effect unless an evaluation keeps logits.")
        }
        Field::EvalTokens => (!outside.generates(), "No effect unless an evaluation generates."),
        Projection => (!recipe.optimizer.projects(), "No effect without GaLore or APOLLO."),
        Preconditioner => (!recipe.optimizer.preconditions(), "No effect without Shampoo or SOAP."),
        NodeGpus => (!counts_host(scenario), NOTHING_IN_HOST),
        Images | VisionLayers | VisionHidden | VisionHeads | VisionFeedForward | Patch => (sees_nothing, NO_TOWER),
        ImageHeight | ImageWidth => (
            sees_nothing || !(model.vision.tower.keeps_shape() || model.vision.tower.has_tiles()),
            "No effect on a tower that makes one square of every image.",
        ),
        MaxPixels => (!model.vision.tower.keeps_shape(), "Read by the processors of Qwen2-VL and Qwen2.5-VL only."),
        Tiles => (!model.vision.tower.has_tiles(), "No effect on a tower without tiles or crops."),
        ImageSide => (sees_nothing || model.vision.tower.keeps_shape(), "No effect where images keep their shape."),
        _ => (false, ""),
    };
    if missing { reason } else { "" }
}

fn word_needs(word: &Setting, scenario: &Scenario) -> &'static str {
    let Scenario { model, recipe, cluster, task, outside, .. } = scenario;
    let alone = matches!(task.kind, TaskKind::Train | TaskKind::Reward);
    let adapted = recipe.adapter != Adapter::None;
    let in_fp32 = recipe.precision == Precision::Fp32;
    let over_fp32 = matches!(recipe.precision, Precision::Mixed | Precision::Autocast);
    let never_whole = matches!(recipe.loss, LossHead::Fused | LossHead::ChunkedHead | LossHead::Classifier);
    let quantized = recipe.adapter.is_quantized();
    let rules = [
        (&setting::TARGETS, !adapted, NO_ADAPTER),
        (&setting::EXPERT_MATRICES, model.experts.count == 0, "No effect on a model without experts."),
        (&setting::EXPERT_MATRICES, !adapted, NO_ADAPTER),
        (&setting::ADAPTER_TYPE, !adapted, NO_ADAPTER),
        (&setting::ADAPTER_TYPE, in_fp32, "No effect: adapters beside fp32 are in fp32."),
        (&setting::ADAPTER_DROPOUT, !adapted, NO_ADAPTER),
        (&setting::SEQUENCE_PARALLEL, cluster.tensor_parallel == 1, "No effect without tensor parallelism."),
        (
            &setting::GRADIENTS,
            adapted && (in_fp32 || over_fp32 || recipe.adapter_type == AdapterType::Full),
            "No effect: gradients of adapters are in the adapters’ type.",
        ),
        (&setting::GRADIENTS, in_fp32 || over_fp32, "No effect: gradients of fp32 weights are in fp32."),
        (&setting::SOFTMAX, recipe.attention == AttentionKernel::Flash, "No effect under flash attention."),
        (&setting::PADDED_ATTENTION, !scenario.lengths.batching.pads(), NO_PADDING),
        (
            &setting::PADDED_ATTENTION,
            recipe.attention == AttentionKernel::Eager,
            "No effect on eager attention, which has its scores anyway.",
        ),
        (&setting::PARALLEL, model.norms == 1, "No effect with one norm per block."),
        (&setting::LOGITS, never_whole, "No effect: this loss head never holds all logits."),
        (&setting::EVAL_GENERATE, outside.evaluation == Evaluation::Off, NO_EVALUATION),
        (&setting::GATHER, !scenario.divides_weights(), "No effect unless GPUs divide the weights."),
        (
            &setting::GATHERED,
            !scenario.divides_weights() || outside.gather == Gather::Off,
            "No effect without a full state dict.",
        ),
        (&setting::MERGE, !adapted, NO_ADAPTER),
        (&setting::HOST_LOAD, !counts_host(scenario), NOTHING_IN_HOST),
        (&setting::TOWER, model.vision.tower == Tower::None, NO_TOWER),
        (&setting::PROJECTOR, model.vision.tower == Tower::None, NO_TOWER),
        (&setting::UNQUANTIZED, !quantized, "No effect on weights that are not quantized."),
        (&setting::REFERENCE, alone, NO_FROZEN),
        (&setting::FROZEN, alone, NO_FROZEN),
        (&setting::REWARD, !task.kind.generates(), NO_COMPLETIONS),
        (&setting::ROLLOUT, !task.kind.generates(), NO_COMPLETIONS),
    ];
    rules.into_iter().find(|(of, missing, _)| *of == word && *missing).map_or("", |(_, _, reason)| reason)
}
