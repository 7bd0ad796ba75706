//! The report: everything that is said about one scenario, as JSON.
//!
//! These types are a contract of their own, apart from the estimator's: fields are added, never
//! renamed, and never change their meaning or unit. Sizes are in bytes unless a name says otherwise.
//! What does not exist is null; what a report is not made for is left out, and never null.
//! `docs/json.md` lists both, and a test holds it to the schema.

mod filled;
mod lengths;
mod questions;

pub use filled::{Depth, line, report};
pub(super) use filled::{answered, conflict, peak};
pub use lengths::{Failing, Lengths, Way};
pub use questions::{Accumulation, AssumedSpeed, Closest, Cost, Lever, Plan, Solve, Step, WayOut, Ways};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::input::{Id, QuestionError};
use super::network::NetworkReport;
use super::values::{Number, Parameters, Value};
use crate::{Bucket, Bytes, Choice, Method, RefusalKind};

/// One line of output: a report, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Line {
    /// The answer to a question.
    Report(Box<Report>),
    /// The answer to a question about a network of layers.
    Network(Box<NetworkReport>),
    /// There was no question.
    Failure(Failure),
}

/// Why a line of input has no report.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The line of standard input, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub line: Option<u64>,
    /// What is wrong, in one sentence.
    pub error: String,
    /// What kind of thing that is, where programs may want to know: “unknown-model”.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "&'static str", extend("enum" = ["unknown-model"]))]
    pub reason: Option<&'static str>,
    /// The models that are most like an unknown one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<&'static str>,
}

impl Failure {
    /// The failure of a line, if it is one of several.
    pub fn of(line: Option<u64>, refusal: &QuestionError) -> Self {
        let (reason, nearest) = match refusal {
            QuestionError::UnknownModel { nearest, .. } => (Some(RefusalKind::UnknownModel.key()), nearest.clone()),
            _ => (None, Vec::new()),
        };
        Self { line, error: refusal.to_string(), reason, nearest }
    }
}

/// Everything that is said about one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The line of standard input, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub line: Option<u64>,
    /// The “id” of the JSON scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Id")]
    pub id: Option<Id>,
    /// The scenario as the query of a link, with only what differs from the defaults.
    pub link: String,
    /// Every parameter with the value in use.
    pub scenario: Parameters,
    /// What could not be used as it stands, and what was read in a way that should be known; one or two
    /// sentences each.
    pub notices: Vec<String>,
    /// Settings that contradict each other.
    pub conflicts: Vec<Conflict>,
    /// What should be known of settings that go together; only where there is something.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Remark>")]
    pub remarks: Option<Vec<Remark>>,
    /// The accounting in use.
    #[schemars(schema_with = "methods")]
    pub method: &'static str,
    /// The largest micro-batch, or why not even one sequence fits.
    pub answer: Answer,
    /// What typical micro-batches hold and when one that is too large fails; only where lengths vary.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Lengths")]
    pub lengths: Option<Lengths>,
    /// The largest micro-batch if what nobody can know turns out well, as expected, or badly.
    pub range: Range,
    /// The memory of one training step on one GPU, entry by entry, at the micro-batch of the scenario.
    pub estimate: Estimate,
    /// The ledger's peak at the micro-batch of the scenario, as tools that read memory would show it.
    pub counters: Counters,
    /// What the other methods answer.
    pub other_methods: Vec<OtherMethod>,
    /// The parameter count.
    pub parameters: ParameterCount,
    /// Single changes that gain sequences, the strongest first; only in full reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Lever>")]
    pub levers: Option<Vec<Lever>>,
    /// Ways out where b_max is null: changes, alone or together, with which at least one sequence fits; only in full
    /// reports, and only where there is no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Ways")]
    pub ways: Option<Ways>,
    /// The same question solved for other quantities; only in full reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Solve")]
    pub solve: Option<Solve>,
    /// The cheapest way to the global batch; only in full reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Plan")]
    pub plan: Option<Plan>,
}

/// Settings that have no answer. The estimate is that of the nearest scenario they can be read as.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conflict {
    /// “contradiction”: no program runs them together; “uncounted”: a part of what they ask for is not counted.
    #[schemars(extend("enum" = ["contradiction", "uncounted"]))]
    pub kind: &'static str,
    /// The parameter to change.
    pub key: &'static str,
    /// The nearest value that resolves the conflict.
    pub nearest: Value,
    /// One sentence on what contradicts what.
    pub message: String,
}

/// What should be known of settings that go together. No answer depends on it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remark {
    /// The parameter to change, where one change is better.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "&'static str")]
    pub key: Option<&'static str>,
    /// The better value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    pub better: Option<Value>,
    /// One or two sentences.
    pub message: &'static str,
}

/// The largest micro-batch, or why not even one sequence fits, or why that cannot be said.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Answer {
    /// At least one sequence fits.
    Fits(Room),
    /// Not even one does.
    Infeasible(Box<Infeasible>),
    /// The question has no answer.
    Refused(Box<Refused>),
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// Null: neither true nor false can be said.
    pub fits: (),
    /// What is wrong with the question: its settings contradict each other, or a part of what they ask for is not
    /// counted, or nobody knows the model. The first two are listed under “conflicts”.
    #[schemars(extend("enum" = ["contradiction", "uncounted", "unknown-model"]))]
    pub reason: &'static str,
    /// The same in whole sentences.
    pub message: String,
    /// What b_max would be by what is counted, which is no answer; null when not even one sequence would fit.
    pub would_be_b_max: Option<u32>,
}

/// How the largest micro-batch sits in the device.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Room {
    /// True: at least one sequence fits.
    #[schemars(extend("const" = true))]
    pub fits: bool,
    /// The largest micro-batch, in sequences per GPU, or in pairs, completions or rows where its
    /// task or its lengths count those.
    pub b_max: u32,
    /// Whether the search stopped at the end of the range of “b”, so that more may fit.
    pub capped: bool,
    /// The instant with most memory at `b_max`.
    pub instant: &'static str,
    /// The peak at `b_max`.
    pub peak_bytes: Number,
    /// What the peak grows by with one sequence more.
    pub per_sequence_bytes: Number,
    /// What one sequence more would lack; 0 when capped.
    pub next_lacks_bytes: Number,
    /// What one sequence more would lack it of: memory of the GPU, or of the machine.
    #[schemars(extend("enum" = ["gpu", "ram"]))]
    pub limited_by: &'static str,
}

/// Why no sequence fits, and what mends it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Infeasible {
    /// False: not even one sequence fits.
    #[schemars(extend("const" = false))]
    pub fits: bool,
    /// What is too large: the model states alone, the first sequence beside them, or something outside the training
    /// step, which itself would fit, or what the machine has to hold.
    #[schemars(extend("enum" = ["model-states", "first-sequence", "outside", "host-memory"]))]
    pub reason: &'static str,
    /// The same in one sentence.
    pub message: String,
    /// By how much the peak with one sequence exceeds the usable memory.
    pub over_bytes: Number,
    /// The instant of that peak.
    pub instant: &'static str,
    /// The largest entry alive then.
    pub largest_entry: Entry,
    /// The fewest GPUs with which one sequence fits; null when no number of them is enough.
    pub fewest_gpus: Option<u32>,
    /// b_max of the training step alone, where only something outside it does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pub training_b_max: Option<u32>,
}

/// The largest micro-batch under three outlooks on context, communication buffers, fragmentation,
/// kernels and the allocator's pools.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// Every unknown at the most that was seen.
    pub safe: Outcome,
    /// As the scenario has them.
    pub likely: Outcome,
    /// Every unknown at the least that was seen.
    pub optimistic: Outcome,
}

/// The largest micro-batch, or null and why.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// Sequences per GPU; null when not even one fits, and when there is no answer.
    pub b_max: Option<u32>,
    /// Why there is no number; null when there is one.
    pub reason: Option<String>,
}

/// The memory of one training step on one GPU.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The accounting that made it.
    #[schemars(schema_with = "methods")]
    pub method: &'static str,
    /// The micro-batch it is made for, in sequences per GPU, or in pairs, completions or rows where its
    /// task or its lengths count those.
    pub micro_batch: u32,
    /// The instant with most memory.
    pub peak: Peak,
    /// What a step may use.
    pub usable_bytes: Number,
    /// Memory of the GPU as its driver reports it.
    pub memory_bytes: Number,
    /// How the peak stands to the GPU.
    pub balance: Balanced,
    /// What each sequence adds at the instant that stops the next one, at the `b_max` of the answer; left out where
    /// nothing fits or there is no answer, where the memory of the machine stops the next one, and where no sequence
    /// adds anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Growth")]
    pub growth: Option<Growth>,
    /// The peaks of the ranks of a pipeline that are counted: the last, the first and the second, and up to two
    /// that have more layers with experts. One of them is the worst of all. Empty without a pipeline.
    pub ranks: Vec<Rank>,
    /// The instants of a step, in order.
    pub instants: Vec<Instant>,
    /// Every named tensor or group of tensors.
    pub entries: Vec<Entry>,
    /// The memory of one machine outside its GPUs, which nothing above counts.
    pub host: Host,
}

/// What each sequence adds to the memory of one GPU.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Growth {
    /// What is added.
    #[schemars(extend("enum" = ["sequence", "pair", "completion", "row"]))]
    pub unit: &'static str,
    /// The instant that stops the next one.
    pub instant: &'static str,
    /// Bytes that each adds in all.
    pub bytes: Number,
    /// The same by kind, the largest first.
    pub parts: Vec<Added>,
    /// The bytes of the largest kind as a product.
    pub product: Vec<Factor>,
    /// The same in a sentence.
    pub sentence: String,
}

/// Bytes of one kind that a sequence adds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Added {
    /// Logits and the loss; what layers keep, their inputs alone, what is computed again; keys and values of what is
    /// generated; what else there is of the bucket.
    #[schemars(extend("enum" = ["logits", "layers", "layer-inputs", "recomputed", "cache", "rest"]))]
    pub kind: &'static str,
    /// The same in words, which tell stacks of layers apart.
    pub name: &'static str,
    /// The bucket that it belongs to.
    #[schemars(schema_with = "buckets")]
    pub bucket: &'static str,
    /// How many bytes of it.
    pub bytes: Number,
}

/// One number of a product.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// What it counts on one GPU. “layers-in-flight” are those of a pipeline stage, once for each micro-batch that it
    /// keeps; “numbers” are those of the residual stream of a token; “bytes” are for each of what the others count.
    #[schemars(extend("enum" = ["tokens", "patches", "words", "layers", "layers-in-flight", "numbers", "bytes"]))]
    pub of: &'static str,
    /// How many.
    pub count: Number,
}

/// What one machine holds outside its GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// GPUs of the machine, whose processes share it.
    pub gpus: u32,
    /// Memory of the machine; null where nobody said.
    pub memory_bytes: Option<Number>,
    /// The fuller of loading and training.
    pub peak: Peak,
    /// What is there, for all GPUs of the machine together.
    pub entries: Vec<Entry>,
}

/// A rank of a pipeline that is counted.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rank {
    /// Its number, from 0.
    pub rank: u32,
    /// Which stage of the pipeline it has.
    #[schemars(extend("enum" = ["last", "first", "second", "more-experts", "most-experts"]))]
    pub stage: &'static str,
    /// Whether no rank needs more.
    pub worst: bool,
    /// The instant with most memory on it.
    pub peak: Peak,
}

/// The instant with most memory.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Peak {
    /// Its name.
    pub instant: &'static str,
    /// What is alive then.
    pub bytes: Number,
    /// The same in GiB, 2³⁰ bytes.
    pub gib: Number,
}

/// How the peak stands to the GPU.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Balanced {
    /// “free”: it leaves so much of the usable memory; “close”: it exceeds that by so much and lives
    /// off the headroom; “over”: it exceeds the memory of the GPU by so much; “host-memory”: the GPU has room
    /// for it, and the machine lacks so much CPU memory.
    #[schemars(extend("enum" = ["free", "close", "over", "host-memory"]))]
    pub state: &'static str,
    /// By how much.
    pub bytes: Number,
}

/// A moment of the training step.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Instant {
    /// Its name.
    pub name: &'static str,
    /// What is done and what is alive then, in sentences.
    pub meaning: String,
    /// Everything alive then.
    pub total_bytes: Number,
    /// The same by bucket.
    pub buckets: Buckets,
}

/// Memory by bucket, in bytes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Buckets {
    /// Weights.
    pub parameters: Number,
    /// Gradients of the weights.
    pub gradients: Number,
    /// Moments and master copies.
    pub optimizer: Number,
    /// What the forward pass keeps for the backward pass.
    pub activations: Number,
    /// Logits, their copies and gradients, and the buffers of the loss.
    pub logits: Number,
    /// Token ids and labels.
    pub batch: Number,
    /// What lives for a moment.
    pub temporary: Number,
    /// What the process takes beside its tensors.
    pub runtime: Number,
}

/// One named tensor or group of tensors.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// What it is.
    pub name: &'static str,
    /// The bucket it belongs to.
    #[schemars(schema_with = "buckets")]
    pub bucket: &'static str,
    /// Its size on one GPU.
    pub bytes: Number,
    /// The formula whose value that is.
    pub formula: String,
    /// The formula with the numbers of the scenario.
    pub formula_with_numbers: String,
    /// Where the formula comes from.
    pub source: Source,
    /// The names of the instants at which it is alive.
    pub alive: Vec<&'static str>,
}

/// Where a formula comes from.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Author and year.
    pub short: &'static str,
    /// Its title.
    pub title: &'static str,
    /// The place in it.
    pub locus: &'static str,
    /// Its address.
    pub url: &'static str,
    /// When it was published or last changed.
    pub date: &'static str,
}

/// The ledger's peak, whatever the method, as three counters would show it. A published measurement
/// is compared with the one that it was read from.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// Live tensors: `torch.cuda.max_memory_allocated`.
    pub allocated_bytes: Number,
    /// What the caching allocator holds: `torch.cuda.max_memory_reserved`.
    pub reserved_bytes: Number,
    /// What `nvidia-smi` shows for the process.
    pub device_bytes: Number,
    /// Cached blocks that the allocator gives back where it comes to the end of the GPU, and that none of these counters
    /// has; 0 where it does not come there, or where the step does not fit and the counters say what it would take.
    pub given_back_bytes: Number,
}

/// What another method answers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherMethod {
    /// The method.
    #[schemars(schema_with = "methods")]
    pub method: &'static str,
    /// The largest micro-batch; null when not even one sequence fits, and when the method cannot say.
    pub b_max: Option<u32>,
    /// Why not even one fits, or which input the method lacks; null when one fits.
    pub reason: Option<String>,
    /// Its peak at the micro-batch of the scenario; null when the method cannot say.
    pub peak_bytes: Option<Number>,
}

/// The parameter count.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParameterCount {
    /// As the scenario gives it.
    pub typed: u64,
    /// As it follows from the architecture.
    pub derived: u64,
}

/// The words of the methods.
fn methods(_: &mut SchemaGenerator) -> Schema {
    let words: Vec<_> = Method::ALL.iter().map(|method| method.key()).collect();
    json_schema!({ "enum": words })
}

/// The words of the buckets.
pub(super) fn buckets(_: &mut SchemaGenerator) -> Schema {
    let words: Vec<_> = Bucket::ALL.iter().map(|bucket| bucket.key()).collect();
    json_schema!({ "enum": words })
}

impl Number {
    /// The number as a quantity of memory.
    pub(super) const fn bytes(self) -> Bytes {
        Bytes::new(self.0)
    }
}
