//! One declared range per numeric input.
//!
//! From this one table come the check, the text of its message, where the number is kept in a
//! scenario and how, the form's `min`, `max` and `step`, the link's parameter names, the schema and the
//! generators of the property tests. `reading.rs` reads a value by its row.

use std::fmt;

use super::needs::{Need, Readers};
use super::scenario::Scenario;
use crate::number;

pub(crate) use super::text::excerpt;

/// What a numeric input accepts, and how it is called everywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bound {
    /// The link's parameter name.
    pub key: &'static str,
    /// The version of links that it came with. In a link of an older one its default stands for it.
    pub since: u32,
    /// The name shown to the reader.
    pub name: &'static str,
    /// The symbol used in formulas.
    pub symbol: &'static str,
    /// The unit of `min`, `max` and of what the reader types; may be empty.
    pub unit: &'static str,
    /// Smallest accepted value.
    pub min: f64,
    /// Largest accepted value.
    pub max: f64,
    /// Whether only whole numbers are accepted.
    pub whole: bool,
}

macro_rules! fields {
    ($($(#[$meta:meta])* $field:ident {
        $key:literal since $since:literal, $name:literal, $symbol:literal, $unit:literal,
        $($place:ident).+ as $kept:ident $min:literal ..= $max:literal, $help:literal
        $(, needs $($need:ident)|+)? $(, read by $readers:ident)?
    })+) => {
        /// A numeric input of a [`Scenario`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Field { $($(#[$meta])* $field,)+ }

        impl Field {
            /// Every field, in the order of the form.
            pub const ALL: &'static [Self] = &[$(Self::$field,)+];

            /// The declared range of this field.
            pub const fn bound(self) -> &'static Bound {
                match self {
                    $(Self::$field => &Bound {
                        key: $key, since: $since, name: $name, symbol: $symbol, unit: $unit,
                        min: $min as f64, max: $max as f64, whole: kept::$kept::WHOLE,
                    },)+
                }
            }

            /// One sentence on what the field is. It stands beside the range and not in it, so that a part of the page
            /// that explains nothing need not carry the sentences.
            pub const fn help(self) -> &'static str {
                match self {
                    $(Self::$field => $help,)+
                }
            }

            /// What it needs to change anything.
            pub(super) const fn needs(self) -> &'static [Need] {
                match self {
                    $(Self::$field => &[$($(Need::$need),+)?],)+
                }
            }

            /// The methods that read it.
            pub(super) const fn readers(self) -> Readers {
                match self {
                    $(Self::$field => fields!(@readers $($readers)?),)+
                }
            }
        }

        impl Scenario {
            /// The value of a numeric field, in the unit of its [`Bound`].
            pub fn number(&self, field: Field) -> f64 {
                match field {
                    $(Field::$field => kept::$kept::shown(self.$($place).+),)+
                }
            }

            /// Puts a checked value in its place, in the unit of its [`Bound`].
            pub(super) fn store(&mut self, field: Field, value: f64) {
                match field {
                    $(Field::$field => self.$($place).+ = kept::$kept::stored(value),)+
                }
            }
        }
    };
    (@readers) => { Readers::Ledger };
    (@readers $readers:ident) => { Readers::$readers };
}

/// How a number is kept in the scenario, and how it is shown: a module for each way.
mod kept {
    macro_rules! ways {
        ($($(#[$meta:meta])* $way:ident: $ty:ty, $whole:literal, |$stored:ident| $shown:expr, |$value:ident| $kept:expr;)+) => {$(
            $(#[$meta])*
            pub(super) mod $way {
                pub(in super::super) const WHOLE: bool = $whole;
                pub(in super::super) fn shown($stored: $ty) -> f64 { $shown }
                pub(in super::super) fn stored($value: f64) -> $ty { $kept }
            }
        )+};
    }

    use crate::estimator::units::{Bytes, Percent};

    /// Hundredths of a percent or a GiB are enough for anybody and keep links short.
    fn nearest_hundredth(value: f64) -> f64 {
        (value * 100.0).round() / 100.0
    }

    ways! {
        /// A whole number as it is. The declared range keeps every one inside `u32`.
        whole: u32, true, |number| number.into(), |value| value as u32;
        /// Weights one by one, shown in billions.
        billions: u64, false, |weights| weights as f64 / 1e9, |value| (value * 1e9).round() as u64;
        /// Whole MiB, shown in GiB.
        mebibytes: super::Bytes, false, |bytes| bytes.gib(), |value| super::Bytes::from_mib((value * 1024.0).round());
        /// Whole MiB, shown as they are.
        whole_mebibytes: super::Bytes, true, |bytes| bytes.mib(), |value| super::Bytes::from_mib(value);
        /// Hundredths of a GiB.
        gibibytes: super::Bytes, false, |bytes| bytes.gib(), |value| super::Bytes::from_gib(super::nearest_hundredth(value));
        /// Hundredths of the unit.
        hundredths: f64, false, |number| number, |value| super::nearest_hundredth(value);
        /// Hundredths of a percent.
        percent: super::Percent, false, |percent| percent.get(), |value| super::Percent::new(super::nearest_hundredth(value));
    }
}

fields! {
    /// N, in billions as people say it.
    Parameters { "params" since 1, "Parameters", "N", "billion", model.parameters as billions 0.0001 ..= 100_000,
        "How many weights the model has; the 16-byte rule multiplies this.", read by WeightRules }
    /// H.
    Hidden { "hidden" since 1, "Hidden size", "H", "", model.hidden as whole 8 ..= 131_072,
        "Width of the residual stream: each token carries H numbers from layer to layer.", read by All }
    /// L.
    Layers { "layers" since 1, "Layers", "L", "", model.layers as whole 1 ..= 1_024,
        "Transformer blocks; each keeps its own activations.", read by All }
    /// n.
    Heads { "heads" since 1, "Attention heads", "n", "", model.heads as whole 1 ..= 1_024,
        "Each head has S × S attention scores, which eager attention stores.", read by All }
    /// k.
    KvHeads { "kv" since 1, "Key/value heads", "k", "", model.kv_heads as whole 1 ..= 1_024,
        "Fewer than n means grouped-query attention (GQA): keys and values shrink by k / n." }
    /// Width of one head.
    HeadDim { "head_dim" since 1, "Head width", "d", "", model.head_dim as whole 1 ..= 4_096,
        "Elements of one head’s query; usually H / n." }
    /// f.
    FeedForward { "ffn" since 1, "Feed-forward width", "f", "", model.feed_forward as whole 8 ..= 1_048_576,
        "Inner width of the feed-forward block." }
    /// V.
    Vocabulary { "vocab" since 1, "Vocabulary", "V", "", model.vocabulary as whole 2 ..= 2_000_000,
        "Entries of the embedding table; the loss head keeps some bytes per token for each of them." }
    /// Norms in one block.
    Norms { "norms" since 2, "Norms per block", "", "", model.norms as whole 1 ..= 4,
        "Two in most models, one where attention and feed-forward share it (Phi), four in Gemma 2 and 3." }
    /// Rows of a learned position table.
    Positions { "positions" since 2, "Learned positions", "", "", model.positions as whole 0 ..= 4_194_304,
        "Rows of the learned position table; 0 for rotary positions.", needs PositionTable }
    /// Rows of it that no token uses.
    SparePositions { "pos_spare" since 3, "Positions without a token", "", "", model.spare_positions as whole 0 ..= 4_194_304,
        "Rows of learned position tables that no token of a sequence uses, as the first two of BART, OPT and RoBERTa; the others are the longest sequence.", needs LearnedPositions }
    /// E.
    Experts { "experts" since 2, "Experts", "E", "", model.experts.count as whole 0 ..= 4_096,
        "Feed-forward experts of one layer; 0 for a dense model." }
    /// Experts a token visits.
    ActiveExperts { "active" since 2, "Active experts", "a", "", model.experts.active as whole 1 ..= 4_096,
        "Experts that each token is routed to.", needs Experts }
    /// Width of one expert.
    ExpertWidth { "expert_ffn" since 2, "Expert width", "f_e", "", model.experts.width as whole 0 ..= 1_048_576,
        "Inner width of one routed expert; 0 for that of the dense block, f.", needs Experts }
    /// Width of the expert that every token visits.
    SharedWidth { "shared_ffn" since 2, "Shared expert width", "f_s", "", model.experts.shared_width as whole 0 ..= 1_048_576,
        "Inner width of the experts that every token visits, together; 0 when there are none.", needs Experts }
    /// Layers without experts.
    DenseLayers { "dense_layers" since 2, "Dense layers", "", "", model.experts.dense_layers as whole 0 ..= 1_024,
        "Layers of a mixture of experts that have a plain feed-forward block of width f instead.", needs Experts }
    /// Rank of compressed queries.
    QueryRank { "q_rank" since 2, "Query rank", "", "", model.latent.query_rank as whole 0 ..= 131_072,
        "Width to which multi-head latent attention (MLA) compresses queries; 0 when it does not.", needs LatentAttention }
    /// Rank of compressed keys and values.
    KvRank { "kv_rank" since 2, "Key/value rank", "", "", model.latent.kv_rank as whole 0 ..= 131_072,
        "Width to which multi-head latent attention (MLA) compresses keys and values; 0 for ordinary attention." }
    /// Rotary part of a head under MLA.
    RopeDim { "rope_dim" since 2, "Rotary width", "", "", model.latent.rope_dim as whole 0 ..= 4_096,
        "Rotated elements that multi-head latent attention adds to each head; 0 for ordinary attention.", needs LatentAttention }
    /// Blocks of the tower.
    VisionLayers { "vision_layers" since 3, "Layers of the tower", "", "", model.vision.layers as whole 0 ..= 1_024,
        "Blocks of the vision tower; 0 for a model of text.", needs VisionTower }
    /// H_v.
    VisionHidden { "vision_hidden" since 3, "Width of the tower", "H_v", "", model.vision.hidden as whole 0 ..= 131_072,
        "Width of the vision tower: each patch carries so many numbers from block to block.", needs VisionTower }
    /// Heads of the tower.
    VisionHeads { "vision_heads" since 3, "Heads of the tower", "", "", model.vision.heads as whole 0 ..= 1_024,
        "Attention heads of the vision tower.", needs VisionTower }
    /// f_v.
    VisionFeedForward { "vision_ffn" since 3, "Feed-forward width of the tower", "f_v", "", model.vision.feed_forward as whole 0 ..= 1_048_576,
        "Inner width of the tower’s feed-forward blocks.", needs VisionTower }
    /// Pixels along a patch.
    Patch { "patch" since 3, "Patch", "", "pixels", model.vision.patch as whole 0 ..= 1_024,
        "Pixels along one side of a patch.", needs VisionTower }
    /// Pixels along a tile.
    ImageSide { "image_side" since 3, "Side of a tile", "", "pixels", model.vision.side as whole 0 ..= 16_384,
        "Pixels along one side of an image or tile in the tower; 0 where images keep their shape.", needs SquareTiles }
    /// L of the encoder.
    EncoderLayers { "enc_layers" since 3, "Encoder layers", "L_e", "", model.encoder.layers as whole 0 ..= 1_024,
        "Layers of an encoder before the decoder, as in T5, BART and Whisper; each decoder layer then attends to its output as well. 0 for none." }
    /// Rows of the encoder's position table.
    EncoderPositions { "enc_positions" since 3, "Encoder positions", "", "", model.encoder.positions as whole 0 ..= 4_194_304,
        "Rows of the encoder’s own position table; with relative positions its buckets, and with sound the length of the source.", needs Encoder }
    /// Channels of sound.
    MelChannels { "mels" since 3, "Channels of sound", "", "", model.encoder.mels as whole 0 ..= 1_024,
        "Mel channels that two convolutions turn into the source, as in Whisper; 0 for a source of tokens.", needs Encoder }
    /// S of the encoder.
    Source { "source" since 3, "Source length", "S_e", "tokens", recipe.source as whole 0 ..= 4_194_304,
        "Tokens that the encoder reads; 0 for as many as the decoder has. With sound it is the encoder’s positions.", needs EncoderOfTokens }
    /// S.
    Sequence { "s" since 1, "Sequence length", "S", "tokens", recipe.sequence as whole 1 ..= 4_194_304,
        "Tokens in one sequence.", read by All }
    /// b.
    Batch { "b" since 1, "Micro-batch", "b", "", recipe.batch as whole 1 ..= 1_048_576,
        "Sequences that one GPU processes at once. Some tasks count pairs or completions instead, and packing counts rows.", read by All }
    /// How unevenly tokens reach the experts.
    Imbalance { "imbalance" since 3, "Load of the busiest expert GPU", "ρ", "", recipe.imbalance as hundredths 1 ..= 64,
        "Tokens that the GPU with the busiest experts gets, as a multiple of the mean: 1 when the load is even.", needs DividedExperts }
    /// Micro-batches of one optimizer step.
    MicroBatches { "accum" since 2, "Micro-batches per step", "m", "", recipe.micro_batches as whole 1 ..= 1_000_000,
        "Gradient accumulation: above 1, gradients stay alive through the next forward pass, and a pipeline is kept full." }
    /// K.
    Every { "every" since 2, "K of recomputation", "K", "", recipe.every as whole 1 ..= 1_024,
        "K of recomputation by segments of K layers, or of every K-th layer alone.", needs EveryKth }
    /// N of recomputation by blocks.
    RecomputedLayers { "recompute_layers" since 3, "Recomputed layers of a stage", "N_r", "", recipe.recomputed_layers as whole 1 ..= 1_024,
        "How many layers of each pipeline stage are computed again when recomputation takes the first N.", needs FirstLayers }
    /// Chunks of the loss.
    Chunks { "chunks" since 2, "Loss chunks", "", "", recipe.chunks as whole 1 ..= 65_536,
        "Into how many pieces a chunked loss divides the tokens.", needs ChunkedLoss }
    /// r of LoRA.
    Rank { "rank" since 2, "Adapter rank", "r", "", recipe.rank as whole 1 ..= 8_192,
        "Rank of the two thin matrices of an adapter.", needs Adapter }
    /// Images of a sequence.
    Images { "images" since 3, "Number of images", "", "", recipe.images.count as whole 0 ..= 4_096,
        "Images in one sequence. Their tokens are among those of the sequence length.", needs VisionTower }
    /// Height of an image.
    ImageHeight { "image_h" since 3, "Height of an image", "", "pixels", recipe.images.height as whole 1 ..= 65_536,
        "Pixels from top to bottom.", needs SidesOfImages }
    /// Width of an image.
    ImageWidth { "image_w" since 3, "Width of an image", "", "pixels", recipe.images.width as whole 1 ..= 65_536,
        "Pixels from left to right.", needs SidesOfImages }
    /// Pixels of an image at most.
    MaxPixels { "max_pixels" since 3, "max_pixels", "", "pixels", recipe.images.max_pixels as whole 784 ..= 1_000_000_000,
        "Pixels to which the processor of Qwen2-VL or Qwen2.5-VL shrinks larger images.", needs LimitOfPixels }
    /// Tiles of an image at most.
    Tiles { "tiles" since 3, "Tiles of an image", "", "", recipe.images.tiles as whole 0 ..= 64,
        "Tiles at most in LLaVA-NeXT and Llama 4, crops at most in Gemma 3; 0 for what the processor does by itself.", needs Tiles }
    /// Weights of a teacher.
    Teacher { "teacher" since 3, "Teacher’s parameters", "", "billion", task.teacher as billions 0 ..= 100_000,
        "Weights of the frozen teacher in distillation; 0 for as many as the trained model has. Its activations are counted with the widths of the trained model.", needs Teacher }
    /// Tokens of a completion.
    Completion { "completion" since 3, "Completion", "S_c", "tokens", task.completion as whole 0 ..= 4_194_304,
        "Tokens of each sequence that are its completion, the rest being its prompt; 0 for all of them.", needs Completions }
    /// Sequences generated at once.
    Generations { "generations" since 3, "Generated at once", "G", "completions", task.generations as whole 0 ..= 1_048_576,
        "Completions that one GPU generates at once: prompts times completions of each. 0 for all micro-batches of a step, as in GRPO of trl.", needs OwnCompletions }
    /// Sequences scored at once.
    Scored { "score_b" since 3, "Scored at once", "b_s", "completions", task.scored as whole 0 ..= 1_048_576,
        "Completions of one pass that scores them without gradients; 0 for the micro-batch.", needs Completions }
    /// Share of an engine.
    EngineShare { "engine_share" since 3, "Engine’s share of the GPU", "", "%", task.engine as percent 0 ..= 100,
        "Memory that an inference engine on the same GPU takes for its weights and its cache: gpu_memory_utilization of vLLM.", needs InferenceEngine }
    /// Half of the sequences are no longer.
    LengthMedian { "len_median" since 3, "Median length", "", "tokens", lengths.median as whole 1 ..= 4_194_304,
        "Half of the sequences have no more tokens. It says what a typical micro-batch is like; what must fit is the worst.", needs UnequalLengths, read by All }
    /// Nineteen of twenty are no longer.
    LengthP95 { "len_p95" since 3, "95th percentile", "", "tokens", lengths.p95 as whole 1 ..= 4_194_304,
        "Nineteen of twenty sequences have no more tokens. With the median it says how widely lengths are spread.", needs UnequalLengths, read by All }
    /// The longest.
    LengthMax { "len_max" since 3, "Longest document", "", "tokens", lengths.longest as whole 0 ..= 4_194_304,
        "Tokens of the longest sequence; 0 for S. Longer ones than S are cut to S, as max_length does.", needs UnequalLengths, read by All }
    /// To a multiple of which a micro-batch is padded.
    LengthMultiple { "len_multiple" since 3, "Padded to a multiple of", "", "tokens", lengths.multiple as whole 1 ..= 1_024,
        "pad_to_multiple_of of a collator: 8 where tensor cores are to be full, 1 for no more than the longest sequence.", needs UnequalLengths | Padding, read by All }
    /// All devices of the job. D is those that see different data: gpus / (T·P·C).
    Gpus { "gpus" since 1, "Number of GPUs", "", "", cluster.gpus as whole 1 ..= 131_072,
        "Devices that train together; 2 × 8 is two machines of eight. Without tensor, pipeline and context parallelism they are the D of the formulas.", read by All }
    /// T.
    TensorParallel { "tp" since 1, "Tensor parallel", "T", "", cluster.tensor_parallel as whole 1 ..= 128,
        "GPUs that share each layer's matrices.", read by Paper }
    /// P.
    PipelineParallel { "pp" since 2, "Pipeline parallel", "P", "", cluster.pipeline_parallel as whole 1 ..= 1_024,
        "Stages that the layers are divided into; the stage that needs most is reported.", read by Paper }
    /// v.
    VirtualStages { "vpp" since 3, "Chunks per stage", "v", "", cluster.virtual_stages as whole 1 ..= 128,
        "Chunks of layers that each pipeline stage holds under an interleaved schedule; 1 without interleaving.", needs Pipeline }
    /// Layers of the first stage.
    FirstStageLayers { "pp_first" since 3, "Layers of the first stage", "", "", cluster.first_stage_layers as whole 0 ..= 1_024,
        "Layers of the first pipeline stage when stages are uneven; 0 for the same as the others.", needs Pipeline }
    /// Layers of the last stage.
    LastStageLayers { "pp_last" since 3, "Layers of the last stage", "", "", cluster.last_stage_layers as whole 0 ..= 1_024,
        "Layers of the last pipeline stage when stages are uneven; 0 for the same as the others.", needs Pipeline }
    /// C.
    ContextParallel { "cp" since 2, "Context parallel", "C", "", cluster.context_parallel as whole 1 ..= 1_024,
        "GPUs that share the tokens of one sequence.", read by Paper }
    /// Expert-parallel size.
    ExpertParallel { "ep" since 2, "Expert parallel", "X", "", cluster.expert_parallel as whole 1 ..= 4_096,
        "Data-parallel GPUs that divide the experts of a layer among themselves.", needs Experts }
    /// GPUs over which FSDP keeps weights between forward and backward.
    Reshard { "reshard" since 3, "Resharded over", "", "GPUs", cluster.reshard as whole 0 ..= 131_072,
        "GPUs over which FSDP divides the weights between the forward and the backward pass: 0 for all that share them, 1 to keep them whole, or the size of a group.", needs DividedByZero3 }
    /// DeepSpeed's reduction bucket.
    ReduceBucket { "bucket" since 3, "Reduction bucket", "", "million", cluster.reduce_bucket as whole 1 ..= 100_000,
        "Elements of DeepSpeed’s reduce_bucket_size, in millions.", needs DeepSpeedZero }
    /// Device memory.
    Memory { "mem" since 1, "GPU memory", "M", "GiB", device.memory as mebibytes 0.5 ..= 4_096,
        "Memory of one device as its driver reports it.", read by All }
    /// Share of device memory kept free.
    Headroom { "headroom" since 1, "Headroom", "r", "%", device.headroom as percent 0 ..= 50,
        "Kept free by the workshop’s and the paper’s method; the ledger counts what it stands for, entry by entry.", read by HeadroomRules }
    /// Memory that the driver keeps.
    Driver { "driver" since 2, "Driver’s reserve", "", "GiB", device.driver as mebibytes 0 ..= 64,
        "What the driver keeps for itself: the difference between the memory it reports and what a program can get." }
    /// The CUDA context.
    CudaContext { "context" since 2, "CUDA context", "", "GiB", device.cuda_context as gibibytes 0 ..= 16,
        "Code and tables of the CUDA runtime, 0.5 to 0.9 GiB per process." }
    /// NCCL buffers.
    Communication { "comm" since 2, "Communication buffers", "", "GiB", device.communication as gibibytes 0 ..= 64,
        "What NCCL allocates with more than one GPU, 1 to 1.5 GiB.", needs SeveralGpus }
    /// Workspaces of the math libraries.
    Workspace { "workspace" since 3, "Library workspaces", "", "MiB", device.workspace as whole_mebibytes 0 ..= 4_096,
        "What cuBLAS takes for each of the two threads that multiply: 8 MiB before Hopper, 32 MiB from Hopper on. Transformer Engine takes more beside it." }
    /// Fragmentation.
    Fragmentation { "frag" since 2, "Fragmentation", "φ", "%", device.fragmentation as percent 0 ..= 100,
        "What the caching allocator holds beyond live activations, gradients and temporaries." }
    /// Target of the accumulation planner.
    GlobalBatch { "target" since 1, "Target global batch", "B", "", goal.global_batch as whole 1 ..= 1_000_000_000,
        "What one optimizer step should see, over all GPUs." }
    /// Rank of GaLore and APOLLO.
    Projection { "opt_rank" since 3, "Rank of projected gradients", "r", "", recipe.projection as whole 1 ..= 131_072,
        "Rank to which GaLore and APOLLO project the gradient of each matrix of the blocks; 1 is APOLLO-Mini.", needs ProjectedGradients }
    /// Widest side of a preconditioner.
    Preconditioner { "precond_dim" since 3, "Widest preconditioner", "", "", recipe.preconditioner as whole 0 ..= 131_072,
        "Shampoo cuts matrices into blocks of this side, and SOAP leaves wider sides as they are; 0 for their usual 1,024 and 10,000.", needs Preconditioners }
    /// Memory of the machine.
    HostMemory { "ram" since 3, "CPU memory", "", "GiB", host.ram as mebibytes 0 ..= 65_536,
        "Memory of one machine outside its GPUs; 0 where it is not known, and then nothing is compared with it." }
    /// GPUs in a machine.
    NodeGpus { "node_gpus" since 3, "GPUs of one machine", "g", "", host.gpus as whole 1 ..= 1_024,
        "GPUs whose processes share the CPU memory of one machine; no more of them than the job has count.", needs HostMemory }
    /// Devices assumed for the chart's reference curves.
    ComparisonGpus { "chart_gpus" since 1, "GPUs of the reference curves", "D", "", comparison.gpus as whole 1 ..= 131_072,
        "How many GPUs the chart's four reference models are spread over." }
    /// Sequences of a pass of an evaluation.
    EvalBatch { "eval_b" since 3, "Evaluation batch", "b_e", "sequences", outside.eval_batch as whole 0 ..= 1_048_576,
        "Sequences that one GPU evaluates or generates at once: per_device_eval_batch_size of transformers. 0 for the micro-batch.", needs Evaluation }
    /// Sequences of the evaluation set.
    EvalSequences { "eval_n" since 3, "Evaluation set", "n_e", "sequences", outside.eval_sequences as whole 1 ..= 1_000_000_000,
        "Sequences of the evaluation set: every GPU keeps the logits of all of them, because each gathers those of the others.", needs KeptLogits }
    /// Batches of an evaluation after which logits go to CPU memory.
    EvalSteps { "eval_steps" since 3, "Batches kept on the GPU", "", "", outside.eval_steps as whole 0 ..= 1_000_000,
        "Evaluation batches after which kept logits go to CPU memory: eval_accumulation_steps of transformers. 0 for never.", needs KeptLogits }
    /// Tokens that an evaluation generates.
    EvalTokens { "eval_tokens" since 3, "Generated in evaluation", "", "tokens", outside.eval_tokens as whole 0 ..= 4_194_304,
        "Tokens that an evaluation generates at the end of each sequence, the rest being its prompt; 0 for all of them.", needs GeneratingEvaluation }
}

impl Field {
    /// The field with this link parameter name.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|field| field.bound().key == key)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.whole { "a whole number" } else { "a number" };
        write!(f, "{kind} from {} to {}", number::grouped(self.min), number::grouped(self.max))?;
        match self.unit {
            "" => Ok(()),
            "%" => f.write_str(" %"),
            unit => write!(f, " {unit}"),
        }
    }
}
