//! One input of the form, and whether anything reads it.

use bmax::{
    Adapter, AdapterType, AttentionKernel, Engine, Field, LossHead, Method, Position, Precision, Recomputation,
    Scenario, ZeroStage,
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
            Batch, ContextParallel, Gpus, Headroom, Heads, Hidden, Layers, Memory, Parameters, PipelineParallel,
            Sequence, TensorParallel,
        };
        let everywhere = match self {
            Number(field) => {
                matches!(field, Parameters | Hidden | Layers | Heads | Sequence | Batch | Gpus | Memory | Headroom)
            }
            Word(word) => [&setting::PRECISION, &setting::RECOMPUTATION].contains(&word),
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
const OTHER_RECOMPUTATION: &str = "No effect on other recomputation.";

fn number_needs(field: Field, scenario: &Scenario) -> &'static str {
    use Field::{
        ActiveExperts, Chunks, Communication, DenseLayers, EncoderPositions, Every, ExpertParallel, ExpertWidth,
        FirstStageLayers, Imbalance, LastStageLayers, MelChannels, Positions, QueryRank, Rank, RecomputedLayers,
        ReduceBucket, Reshard, RopeDim, SharedWidth, Source, VirtualStages,
    };
    let Scenario { model, recipe, cluster, .. } = scenario;
    let (missing, reason) = match field {
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
        _ => (false, ""),
    };
    if missing { reason } else { "" }
}

fn word_needs(word: &Setting, scenario: &Scenario) -> &'static str {
    let Scenario { model, recipe, cluster, .. } = scenario;
    let adapted = recipe.adapter != Adapter::None;
    let in_fp32 = recipe.precision == Precision::Fp32;
    let over_fp32 = matches!(recipe.precision, Precision::Mixed | Precision::Autocast);
    let never_whole = matches!(recipe.loss, LossHead::Fused | LossHead::ChunkedHead | LossHead::Classifier);
    let quantized = recipe.adapter.is_quantized();
    let rules = [
        (&setting::TARGETS, !adapted, NO_ADAPTER),
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
        (&setting::PARALLEL, model.norms == 1, "No effect with one norm per block."),
        (&setting::LOGITS, never_whole, "No effect: this loss head never holds all logits."),
        (&setting::UNQUANTIZED, !quantized, "No effect on weights that are not quantized."),
    ];
    rules.into_iter().find(|(of, missing, _)| *of == word && *missing).map_or("", |(_, _, reason)| reason)
}
