//! One declared range per numeric input.
//!
//! From this one table come the check, the text of its message, where the number is kept in a
//! scenario and how, the form's `min`, `max` and `step`, the link's parameter names and the
//! generators of the property tests.

use std::fmt;

use super::change::Input;
use super::choice::{BatchUnit, Choice};
use super::scenario::Scenario;
use crate::number::{self, NumberError};

/// What a numeric input accepts, and how it is called everywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bound {
    /// The link's parameter name.
    pub key: &'static str,
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
    /// One sentence on what the field is.
    pub help: &'static str,
}

macro_rules! fields {
    ($($(#[$meta:meta])* $field:ident {
        $key:literal, $name:literal, $symbol:literal, $unit:literal,
        $($place:ident).+ as $kept:ident $min:literal ..= $max:literal, $help:literal
    })+) => {
        /// A numeric input of a [`Scenario`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Field { $($(#[$meta])* $field,)+ }

        impl Field {
            /// Every field, in the order of the form.
            pub const ALL: &'static [Self] = &[$(Self::$field,)+];

            /// The declared range of this field.
            pub const fn bound(self) -> Bound {
                match self {
                    $(Self::$field => Bound {
                        key: $key, name: $name, symbol: $symbol, unit: $unit,
                        min: $min as f64, max: $max as f64, whole: kept::$kept::WHOLE, help: $help,
                    },)+
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

            /// The same scenario with one numeric field set, in the unit of its [`Bound`].
            ///
            /// # Errors
            /// [`InputError`] when `value` is outside the declared range; nothing changes then.
            pub fn with_number(mut self, field: Field, value: f64) -> Result<Self, InputError> {
                let value = field.check(value)?;
                match field {
                    $(Field::$field => self.$($place).+ = kept::$kept::stored(value),)+
                }
                Ok(self)
            }
        }
    };
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
    Parameters { "params", "Parameters", "N", "billion", model.parameters as billions 0.0001 ..= 100_000,
        "How many weights the model has; the 16-byte rule multiplies this." }
    /// H.
    Hidden { "hidden", "Hidden size", "H", "", model.hidden as whole 8 ..= 131_072,
        "Width of the residual stream: each token carries H numbers from layer to layer." }
    /// L.
    Layers { "layers", "Layers", "L", "", model.layers as whole 1 ..= 1_024,
        "Transformer blocks; each keeps its own activations." }
    /// n.
    Heads { "heads", "Attention heads", "n", "", model.heads as whole 1 ..= 1_024,
        "Each head keeps an S × S score matrix unless attention is recomputed." }
    /// k.
    KvHeads { "kv", "Key/value heads", "k", "", model.kv_heads as whole 1 ..= 1_024,
        "Fewer than n means grouped-query attention (GQA): keys and values shrink by k / n." }
    /// Width of one head.
    HeadDim { "head_dim", "Head width", "d", "", model.head_dim as whole 1 ..= 4_096,
        "Elements of one head’s query; usually H / n." }
    /// f.
    FeedForward { "ffn", "Feed-forward width", "f", "", model.feed_forward as whole 8 ..= 1_048_576,
        "Inner width of the feed-forward block." }
    /// V.
    Vocabulary { "vocab", "Vocabulary", "V", "", model.vocabulary as whole 2 ..= 2_000_000,
        "Entries of the embedding table; the loss head keeps some bytes per token for each of them." }
    /// Norms in one block.
    Norms { "norms", "Norms per block", "", "", model.norms as whole 1 ..= 4,
        "Two in most models, one where attention and feed-forward share it (Phi), four in Gemma 2 and 3." }
    /// Rows of a learned position table.
    Positions { "positions", "Learned positions", "", "", model.positions as whole 0 ..= 4_194_304,
        "Rows of the learned position table; 0 for rotary positions." }
    /// E.
    Experts { "experts", "Experts", "E", "", model.experts.count as whole 0 ..= 4_096,
        "Feed-forward experts of one layer; 0 for a dense model." }
    /// Experts a token visits.
    ActiveExperts { "active", "Active experts", "a", "", model.experts.active as whole 1 ..= 4_096,
        "Experts that each token is routed to." }
    /// Width of one expert.
    ExpertWidth { "expert_ffn", "Expert width", "f_e", "", model.experts.width as whole 0 ..= 1_048_576,
        "Inner width of one routed expert; 0 for that of the dense block, f." }
    /// Width of the expert that every token visits.
    SharedWidth { "shared_ffn", "Shared expert width", "f_s", "", model.experts.shared_width as whole 0 ..= 1_048_576,
        "Inner width of the experts that every token visits, together; 0 when there are none." }
    /// Layers without experts.
    DenseLayers { "dense_layers", "Dense layers", "", "", model.experts.dense_layers as whole 0 ..= 1_024,
        "Layers of a mixture of experts that have a plain feed-forward block of width f instead." }
    /// Rank of compressed queries.
    QueryRank { "q_rank", "Query rank", "", "", model.latent.query_rank as whole 0 ..= 131_072,
        "Width to which multi-head latent attention (MLA) compresses queries; 0 when it does not." }
    /// Rank of compressed keys and values.
    KvRank { "kv_rank", "Key/value rank", "", "", model.latent.kv_rank as whole 0 ..= 131_072,
        "Width to which multi-head latent attention (MLA) compresses keys and values; 0 for ordinary attention." }
    /// Rotary part of a head under MLA.
    RopeDim { "rope_dim", "Rotary width", "", "", model.latent.rope_dim as whole 0 ..= 4_096,
        "Rotated elements that multi-head latent attention adds to each head; 0 for ordinary attention." }
    /// S.
    Sequence { "s", "Sequence length", "S", "tokens", recipe.sequence as whole 1 ..= 4_194_304,
        "Tokens in one sequence." }
    /// b.
    Batch { "b", "Micro-batch", "b", "sequences", recipe.batch as whole 1 ..= 1_048_576,
        "Sequences one GPU processes at once." }
    /// How unevenly tokens reach the experts.
    Imbalance { "imbalance", "Load of the busiest expert GPU", "ρ", "", recipe.imbalance as hundredths 1 ..= 64,
        "Tokens that the GPU with the busiest experts gets, as a multiple of the mean: 1 when the load is even." }
    /// Micro-batches of one optimizer step.
    MicroBatches { "accum", "Micro-batches per step", "m", "", recipe.micro_batches as whole 1 ..= 1_000_000,
        "Gradient accumulation: above 1, gradients stay alive through the next forward pass, and a pipeline is kept full." }
    /// K.
    Every { "every", "K of recomputation", "K", "", recipe.every as whole 1 ..= 1_024,
        "K of recomputation by segments of K layers, or of every K-th layer alone." }
    /// N of recomputation by blocks.
    RecomputedLayers { "recompute_layers", "Recomputed layers of a stage", "N_r", "", recipe.recomputed_layers as whole 1 ..= 1_024,
        "How many layers of each pipeline stage are computed again when recomputation takes the first N." }
    /// Chunks of the loss.
    Chunks { "chunks", "Loss chunks", "", "", recipe.chunks as whole 1 ..= 65_536,
        "Into how many pieces a chunked loss divides the tokens." }
    /// r of LoRA.
    Rank { "rank", "Adapter rank", "r", "", recipe.rank as whole 1 ..= 8_192,
        "Rank of the two thin matrices of an adapter." }
    /// All devices of the job.
    Gpus { "gpus", "Number of GPUs", "D", "", cluster.gpus as whole 1 ..= 131_072,
        "Devices that train together." }
    /// T.
    TensorParallel { "tp", "Tensor parallel", "T", "", cluster.tensor_parallel as whole 1 ..= 128,
        "GPUs that share each layer's matrices." }
    /// P.
    PipelineParallel { "pp", "Pipeline parallel", "P", "", cluster.pipeline_parallel as whole 1 ..= 1_024,
        "Stages that the layers are divided into; the stage that needs most is reported." }
    /// v.
    VirtualStages { "vpp", "Chunks per stage", "v", "", cluster.virtual_stages as whole 1 ..= 128,
        "Chunks of layers that each pipeline stage holds under an interleaved schedule; 1 without interleaving." }
    /// Layers of the first stage.
    FirstStageLayers { "pp_first", "Layers of the first stage", "", "", cluster.first_stage_layers as whole 0 ..= 1_024,
        "Layers of the first pipeline stage when stages are uneven; 0 for the same as the others." }
    /// Layers of the last stage.
    LastStageLayers { "pp_last", "Layers of the last stage", "", "", cluster.last_stage_layers as whole 0 ..= 1_024,
        "Layers of the last pipeline stage when stages are uneven; 0 for the same as the others." }
    /// C.
    ContextParallel { "cp", "Context parallel", "C", "", cluster.context_parallel as whole 1 ..= 1_024,
        "GPUs that share the tokens of one sequence." }
    /// Expert-parallel size.
    ExpertParallel { "ep", "Expert parallel", "X", "", cluster.expert_parallel as whole 1 ..= 4_096,
        "Data-parallel GPUs that divide the experts of a layer among themselves." }
    /// GPUs over which FSDP keeps weights between forward and backward.
    Reshard { "reshard", "Resharded over", "", "GPUs", cluster.reshard as whole 0 ..= 131_072,
        "GPUs over which FSDP divides the weights between the forward and the backward pass: 0 for all that share them, 1 to keep them whole, or the size of a group." }
    /// DeepSpeed's reduction bucket.
    ReduceBucket { "bucket", "Reduction bucket", "", "million", cluster.reduce_bucket as whole 1 ..= 100_000,
        "Elements of DeepSpeed’s reduce_bucket_size, in millions." }
    /// Device memory.
    Memory { "mem", "GPU memory", "M", "GiB", device.memory as mebibytes 0.5 ..= 4_096,
        "Memory of one device as its driver reports it." }
    /// Share of device memory kept free.
    Headroom { "headroom", "Headroom", "r", "%", device.headroom as percent 0 ..= 50,
        "Kept free by the workshop’s and the paper’s method; the ledger counts what it stands for, entry by entry." }
    /// Memory that the driver keeps.
    Driver { "driver", "Driver’s reserve", "", "GiB", device.driver as mebibytes 0 ..= 64,
        "What the driver keeps for itself: the difference between the memory it reports and what a program can get." }
    /// The CUDA context.
    CudaContext { "context", "CUDA context", "", "GiB", device.cuda_context as gibibytes 0 ..= 16,
        "Code and tables of the CUDA runtime, 0.5 to 0.9 GiB per process." }
    /// NCCL buffers.
    Communication { "comm", "Communication buffers", "", "GiB", device.communication as gibibytes 0 ..= 64,
        "What NCCL allocates with more than one GPU, 1 to 1.5 GiB." }
    /// Workspaces of the math libraries.
    Workspace { "workspace", "Library workspaces", "", "MiB", device.workspace as whole_mebibytes 0 ..= 4_096,
        "What cuBLAS takes for each of the two threads that multiply: 8 MiB before Hopper, 32 MiB from Hopper on. Transformer Engine takes more beside it." }
    /// Fragmentation.
    Fragmentation { "frag", "Fragmentation", "φ", "%", device.fragmentation as percent 0 ..= 100,
        "What the caching allocator holds beyond live activations, gradients and temporaries." }
    /// Target of the accumulation planner.
    GlobalBatch { "target", "Target global batch", "B", "", goal.global_batch as whole 1 ..= 1_000_000_000,
        "What one optimizer step should see, over all GPUs." }
    /// Devices assumed for the chart's reference curves.
    ComparisonGpus { "chart_gpus", "GPUs of the reference curves", "D", "", comparison.gpus as whole 1 ..= 131_072,
        "How many GPUs the chart's four reference models are spread over." }
}

impl Field {
    /// The field with this link parameter name.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|field| field.bound().key == key)
    }

    /// Accepts `value` when it lies in the declared range.
    ///
    /// # Errors
    /// [`InputError`], which names the field and the range, for NaN, for a fraction where a whole
    /// number is asked for, and for anything below or above the range.
    pub fn check(self, value: f64) -> Result<f64, InputError> {
        let bound = self.bound();
        let fault = if value.is_nan() {
            InputErrorKind::Unreadable(NumberError::Malformed)
        } else if value < bound.min {
            InputErrorKind::TooSmall
        } else if value > bound.max {
            InputErrorKind::TooLarge
        } else if bound.whole && value.fract() != 0.0 {
            InputErrorKind::NotWhole
        } else {
            return Ok(value);
        };
        Err(InputError { input: Input::Number(self), given: number::grouped(value), fault })
    }

    /// Reads what somebody typed or pasted: separators, the field's own unit and the letters behind a
    /// number that people use for it are accepted.
    ///
    /// # Errors
    /// [`InputError`] as for [`check`](Self::check), for text that is no number, and for a unit that has to be set
    /// beside the number, which [`Scenario::with_text`] does.
    ///
    /// ```
    /// use bmax::Field;
    /// assert_eq!(Field::Sequence.read("4,096 tokens"), Ok(4096.0));
    /// assert_eq!(Field::Sequence.read("4k"), Ok(4096.0));
    /// assert_eq!(Field::Parameters.read("350M"), Ok(0.35));
    /// let problem = Field::Sequence.read("-1").unwrap_err();
    /// assert_eq!(
    ///     problem.to_string(),
    ///     "Sequence length: “-1” is too small; it takes a whole number from 1 to 4,194,304 tokens."
    /// );
    /// ```
    pub fn read(self, text: &str) -> Result<f64, InputError> {
        let typed = self.typed(text)?;
        match typed.unit {
            None => Ok(typed.value),
            Some(_) => {
                let fault = InputErrorKind::Unreadable(NumberError::Malformed);
                Err(InputError { input: Input::Number(self), given: excerpt(text.trim()), fault })
            }
        }
    }

    /// Reads what somebody typed or pasted, with what is to be known about it beside its value.
    ///
    /// # Errors
    /// [`InputError`] as for [`check`](Self::check), and for text that is no number.
    ///
    /// ```
    /// use bmax::{BatchUnit, Field};
    /// let card = Field::Memory.typed("80GB")?;
    /// assert_eq!((card.value, card.in_gb), (80.0, true));
    /// let target = Field::GlobalBatch.typed("1e6 tokens")?;
    /// assert_eq!((target.value, target.unit), (1e6, Some(BatchUnit::Tokens)));
    /// # Ok::<(), bmax::InputError>(())
    /// ```
    pub fn typed(self, text: &str) -> Result<Typed, InputError> {
        let text = text.trim();
        let refused = |fault| InputError { input: Input::Number(self), given: excerpt(text), fault };
        let mut bare = without(text, self.bound().unit).unwrap_or(text);
        let mut unit = None;
        if self == Self::GlobalBatch {
            // Its unit is an input of its own.
            for &one in BatchUnit::ALL {
                if let Some(number) = without(bare, one.key()) {
                    (bare, unit) = (number, Some(one));
                }
            }
        }
        let letters = bare.len() - bare.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len();
        let (digits, suffix) = bare.split_at(bare.len() - letters);
        let known = self.suffixes().iter().find(|known| known.letters.eq_ignore_ascii_case(suffix));
        let value = match known {
            None => number::parse(bare),
            // Without a digit there is nothing for the letters to stand behind.
            Some(_) if digits.trim().is_empty() => Err(NumberError::Malformed),
            // The digits are read together with the power of ten, so that 4.35M is exactly 4,350,000.
            Some(Suffix { ten, two, .. }) => match *ten {
                0 => number::parse(digits),
                ten => number::parse(&format!("{}e{ten}", digits.trim_end())),
            }
            .map(|value| value * number::power(2.0, *two)),
        };
        let value = value.map_err(|fault| refused(InputErrorKind::Unreadable(fault)))?;
        let value = self.check(value).map_err(|problem| refused(problem.fault))?;
        Ok(Typed { value, unit, in_gb: known.is_some_and(|known| known.letters.starts_with('G')) })
    }

    /// The letters behind a number that people use for this field. Where two meanings are in use, as for
    /// vocabularies of “32k”, there are none.
    fn suffixes(self) -> &'static [Suffix] {
        match (self, self.bound().unit) {
            // Targets are given as papers give them, in rounded decimal numbers: table 2.1 of Brown et al. 2020
            // (arXiv 2005.14165) has batches of 0.5M to 3.2M tokens.
            (Self::GlobalBatch, _) => const { &[ten("k", 3), ten("M", 6), ten("B", 9)] },
            // Names of models count contexts in steps of 1,024: 8k is 8,192 and 128k is 131,072, as in
            // Dubey et al. 2024 (arXiv 2407.21783), sections 3.4.1 and 3.4.2.
            (Self::Positions, _) | (_, "tokens") => const { &[two("k", 10), two("M", 20)] },
            // Names of models count weights in powers of ten, and the unit here is a billion.
            (_, "billion") => const { &[ten("T", 3), ten("B", 0), ten("M", -3), ten("k", -6)] },
            // GPUs are named by GB, which counts their memory in GiB: of an “H100 80 GB” the driver
            // reports 81,559 MiB, which is 79.6 GiB and 85.5 GB (src/catalogue/devices.rs).
            (Self::Memory, _) => const { &[two("MiB", -10), two("GB", 0), two("G", 0)] },
            // What a driver or a profiler reports is in MiB.
            (_, "GiB") => const { &[two("MiB", -10)] },
            _ => &[],
        }
    }
}

/// What somebody typed for a field.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Typed {
    /// The number in the unit of the field, inside the declared range.
    pub value: f64,
    /// The unit that a target was given in.
    pub unit: Option<BatchUnit>,
    /// Whether a memory was given in GB, which is taken as GiB: whoever shows the value should say so.
    pub in_gb: bool,
}

impl Scenario {
    /// The same scenario with one numeric field set as somebody typed it, and with its unit if that is an input
    /// of its own.
    ///
    /// # Errors
    /// [`InputError`] as for [`Field::typed`]; nothing changes then.
    ///
    /// ```
    /// use bmax::{BatchUnit, Field, Scenario};
    /// let scenario = Scenario::default().with_text(Field::GlobalBatch, "4M tokens")?;
    /// assert_eq!((scenario.goal.global_batch, scenario.goal.unit), (4_000_000, BatchUnit::Tokens));
    /// # Ok::<(), bmax::InputError>(())
    /// ```
    pub fn with_text(self, field: Field, text: &str) -> Result<Self, InputError> {
        self.with_typed(field, field.typed(text)?)
    }

    /// The same with what was read already.
    ///
    /// # Errors
    /// [`InputError`] as for [`with_number`](Self::with_number).
    pub fn with_typed(self, field: Field, typed: Typed) -> Result<Self, InputError> {
        let mut scenario = self.with_number(field, typed.value)?;
        scenario.goal.unit = typed.unit.unwrap_or(scenario.goal.unit);
        Ok(scenario)
    }
}

/// Letters behind a number, and what they multiply it by.
struct Suffix {
    letters: &'static str,
    /// The power of ten.
    ten: i32,
    /// The power of two.
    two: i32,
}

const fn ten(letters: &'static str, ten: i32) -> Suffix {
    Suffix { letters, ten, two: 0 }
}

const fn two(letters: &'static str, two: i32) -> Suffix {
    Suffix { letters, ten: 0, two }
}

/// What stands before a unit at the end of a text, if it is there in any case, singular or plural.
fn without<'a>(text: &'a str, unit: &str) -> Option<&'a str> {
    [unit, unit.strip_suffix('s').unwrap_or(unit)].into_iter().find_map(|unit| {
        let at = text.len().checked_sub(unit.len())?;
        let end = text.get(at..)?;
        end.eq_ignore_ascii_case(unit).then(|| text[..at].trim_end())
    })
}

/// The first characters of a text that may be very long or hold characters which are not for reading:
/// control characters, and those that end a line or would turn the direction of our own words around it.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 32;
    let is_mark = |c: char| c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut shown: String = text.chars().take(SHOWN).map(|c| if is_mark(c) { ' ' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// A refused input: which one, what was given, why, and what would be accepted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InputError {
    /// The input it was meant for.
    pub input: Input,
    /// What was given, shortened.
    pub given: String,
    /// Why it was refused.
    pub fault: InputErrorKind,
}

/// Why a value was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputErrorKind {
    /// It cannot be read as a number.
    Unreadable(NumberError),
    /// It is below the declared range.
    TooSmall,
    /// It is above the declared range.
    TooLarge,
    /// It has a fraction where whole numbers are asked for.
    NotWhole,
    /// It is none of the listed words.
    NotListed,
    /// It names another unit than the one that is given beside it.
    OtherUnit,
}

impl fmt::Display for InputErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(reason) => reason.fmt(f),
            Self::TooSmall => f.write_str("is too small"),
            Self::TooLarge => f.write_str("is too large"),
            Self::NotWhole => f.write_str("is not a whole number"),
            Self::NotListed => f.write_str("is not known"),
            Self::OtherUnit => f.write_str("is not in the unit that is given beside it"),
        }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.input.name())?;
        match self.fault {
            InputErrorKind::Unreadable(NumberError::Empty) => write!(f, "nothing is given")?,
            fault => write!(f, "“{}” {fault}", self.given)?,
        }
        match self.input {
            Input::Number(field) => write!(f, "; it takes {}.", field.bound()),
            Input::Word(setting) => write!(f, "; it takes {}.", setting.keys()),
            Input::Model | Input::Gpu => write!(f, "; it takes a row of the list."),
        }
    }
}

impl std::error::Error for InputError {}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_accepts_its_ends_and_refuses_what_lies_beyond() {
        for &field in Field::ALL {
            let bound = field.bound();
            assert_eq!(field.check(bound.min), Ok(bound.min), "{}", bound.key);
            assert_eq!(field.check(bound.max), Ok(bound.max), "{}", bound.key);
            assert_eq!(field.check(bound.min - 1.0).unwrap_err().fault, InputErrorKind::TooSmall, "{}", bound.key);
            assert_eq!(field.check(bound.max * 2.0).unwrap_err().fault, InputErrorKind::TooLarge, "{}", bound.key);
            assert!(field.check(f64::NAN).is_err(), "{}", bound.key);
        }
    }

    #[test]
    fn every_message_names_the_field_and_the_range() {
        for &field in Field::ALL {
            let bound = field.bound();
            for text in ["", "abc", "-1", "NaN", "1e400", "7,5"] {
                let message = field.read(text).unwrap_err().to_string();
                assert!(message.contains(bound.name), "{message}");
                assert!(message.contains(&number::grouped(bound.max)), "{message}");
            }
        }
    }

    #[test]
    fn keys_are_unique() {
        for (i, a) in Field::ALL.iter().enumerate() {
            for b in &Field::ALL[i + 1..] {
                assert_ne!(a.bound().key, b.bound().key);
            }
        }
    }

    #[test]
    fn a_hundred_kilobytes_of_text_give_a_short_message() {
        let message = Field::Batch.read(&"9".repeat(100_000)).unwrap_err().to_string();
        assert!(message.len() < 200, "{} bytes", message.len());
    }

    #[test]
    fn a_pasted_unit_is_accepted_in_any_case() {
        assert_eq!(Field::Memory.read("80 gib"), Ok(80.0));
        assert_eq!(Field::Headroom.read("10%"), Ok(10.0));
        assert_eq!(Field::Parameters.read("8.03 billion"), Ok(8.03));
    }

    #[test]
    fn letters_behind_a_number_are_read_by_the_field_they_stand_in() {
        for (field, text, expected) in [
            // What the papers and names say that are quoted at the table of letters.
            (Field::Sequence, "8k", 8_192.0),
            (Field::Sequence, "128K tokens", 131_072.0),
            (Field::Sequence, "1M", 1_048_576.0),
            (Field::Sequence, "0.5k", 512.0),
            (Field::Positions, "2k", 2_048.0),
            (Field::GlobalBatch, "3.2M", 3_200_000.0),
            (Field::GlobalBatch, "0.5 M", 500_000.0),
            (Field::GlobalBatch, "1k", 1_000.0),
            (Field::Parameters, "8B", 8.0),
            (Field::Parameters, "350M", 0.35),
            (Field::Parameters, "1.5 t", 1_500.0),
            (Field::Parameters, "124439k", 0.124439),
            (Field::Memory, "80 GB", 80.0),
            (Field::Memory, "24564MiB", 24_564.0 / 1_024.0),
            (Field::Driver, "453 MiB", 453.0 / 1_024.0),
            (Field::Batch, "1 sequence", 1.0),
        ] {
            assert_eq!(field.read(text), Ok(expected), "{field:?} {text}");
        }
    }

    #[test]
    fn letters_that_mean_nothing_or_two_things_are_refused() {
        for (field, text) in [
            (Field::Vocabulary, "32k"),
            (Field::Gpus, "1k"),
            (Field::Sequence, "k"),
            (Field::Sequence, "4kk"),
            (Field::Sequence, "4 GB"),
            (Field::Parameters, "8BB"),
            (Field::Driver, "1GB"),
            (Field::GlobalBatch, "1e6M"),
            (Field::GlobalBatch, "tokens"),
        ] {
            assert!(
                matches!(field.read(text), Err(InputError { fault: InputErrorKind::Unreadable(_), .. })),
                "{field:?} {text}"
            );
        }
        assert_eq!(Field::Sequence.read("4.1k").map_err(|problem| problem.fault), Err(InputErrorKind::NotWhole));
        assert_eq!(Field::Sequence.read("5M").map_err(|problem| problem.fault), Err(InputErrorKind::TooLarge));
    }

    #[test]
    fn a_number_alone_never_stands_for_another_unit() {
        // Whoever asks for the number only is not told the unit, and gets nothing.
        assert!(Field::GlobalBatch.read("4M tokens").is_err());
        let with = Scenario::default().with_text(Field::GlobalBatch, "4M tokens").expect("a number and its unit");
        assert_eq!((with.goal.global_batch, with.goal.unit), (4_000_000, BatchUnit::Tokens));
    }
}
