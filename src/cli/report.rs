//! The report: everything that is said about one scenario, as JSON.
//!
//! These types are a contract of their own, apart from the estimator's: fields are added, never
//! renamed, and never change their meaning or unit. Sizes are in bytes unless a name says otherwise.
//! What does not exist is null; what a report is not made for is left out, and never null. The README lists
//! both, and a test holds it to the schema.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::formula;
use super::input::{Id, Question, Refusal};
use super::values::{Number, Parameters, Value, difference};
use super::words;
use crate::{
    Balance, Bucket, Bytes, Choice, Measure, Mend, Method, Rung, Scenario, Shortage, StagePeak, b_max, catalogue,
    cheapest_plan, counters, estimate, fewest_gpus, largest_model, least_memory_mib, levers, link, longest_sequence,
    range,
};

/// One line of output: a report, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Line {
    /// The answer to a question.
    Report(Box<Report>),
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
    /// The accounting in use.
    #[schemars(schema_with = "methods")]
    pub method: &'static str,
    /// The largest micro-batch, or why not even one sequence fits.
    pub answer: Answer,
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
    /// The same question solved for other quantities; only in full reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Solve")]
    pub solve: Option<Solve>,
    /// The cheapest way to the global batch; only in full reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Plan")]
    pub plan: Option<Plan>,
}

/// Two settings that do not go together. The estimate is that of the nearest scenario they can be
/// read as.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conflict {
    /// The parameter to change.
    pub key: &'static str,
    /// The nearest value that resolves the conflict.
    pub nearest: Value,
    /// One sentence on what contradicts what.
    pub message: String,
}

/// The largest micro-batch, or why not even one sequence fits.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Answer {
    /// At least one sequence fits.
    Fits(Room),
    /// Not even one does.
    Infeasible(Box<Infeasible>),
}

/// How the largest micro-batch sits in the device.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Room {
    /// True: at least one sequence fits.
    #[schemars(extend("const" = true))]
    pub fits: bool,
    /// The largest micro-batch, in sequences per GPU.
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
}

/// Why no sequence fits, and what mends it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Infeasible {
    /// False: not even one sequence fits.
    #[schemars(extend("const" = false))]
    pub fits: bool,
    /// What is too large: the model states alone, or the first sequence beside them.
    #[schemars(extend("enum" = ["model-states", "first-sequence"]))]
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
    /// Sequences per GPU; null when not even one fits.
    pub b_max: Option<u32>,
    /// Why not even one fits; null when one does.
    pub reason: Option<String>,
}

/// The memory of one training step on one GPU.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The accounting that made it.
    #[schemars(schema_with = "methods")]
    pub method: &'static str,
    /// The micro-batch it is made for, in sequences per GPU.
    pub micro_batch: u32,
    /// The instant with most memory.
    pub peak: Peak,
    /// What a step may use.
    pub usable_bytes: Number,
    /// Memory of the GPU as its driver reports it.
    pub memory_bytes: Number,
    /// How the peak stands to the GPU.
    pub balance: Balanced,
    /// The peaks of the ranks of a pipeline that are counted: the last, the first and the second, and up to two
    /// that have more layers with experts. One of them is the worst of all. Empty without a pipeline.
    pub ranks: Vec<Rank>,
    /// The instants of a step, in order.
    pub instants: Vec<Instant>,
    /// Every named tensor or group of tensors.
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
    /// off the headroom; “over”: it exceeds the memory of the GPU by so much.
    #[schemars(extend("enum" = ["free", "close", "over"]))]
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
    /// What is alive then, in one sentence.
    pub meaning: &'static str,
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
}

/// What another method answers.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherMethod {
    /// The method.
    #[schemars(schema_with = "methods")]
    pub method: &'static str,
    /// The largest micro-batch; null when not even one sequence fits.
    pub b_max: Option<u32>,
    /// Why not even one fits; null when one does.
    pub reason: Option<String>,
    /// Its peak at the micro-batch of the scenario.
    pub peak_bytes: Number,
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

/// A single change that gains sequences.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lever {
    /// The change, as names and values of inputs.
    pub change: String,
    /// The same as parameters.
    pub parameters: BTreeMap<&'static str, Value>,
    /// What the change costs, in one sentence.
    pub cost: &'static str,
    /// The largest micro-batch before; null when not even one sequence fits.
    pub before: Option<u32>,
    /// The largest micro-batch with the change.
    pub after: u32,
}

/// The same question solved for other quantities, each alone, at the micro-batch of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Solve {
    /// The micro-batch that is to fit, in sequences per GPU.
    pub micro_batch: u32,
    /// The longest sequence, in tokens.
    pub longest_sequence: Option<u32>,
    /// The fewest GPUs.
    pub fewest_gpus: Option<u32>,
    /// The least memory of a GPU, in MiB as its driver reports it.
    pub least_memory_mib: Option<u32>,
    /// The GPU of the list with the least memory, by its word in links; unified memory is left out.
    pub smallest_device: Option<&'static str>,
    /// The parameters of the largest model of the same shape.
    pub largest_model_parameters: Option<u64>,
    /// For each that is null, why.
    pub reasons: BTreeMap<&'static str, &'static str>,
}

/// The cheapest way to the global batch: what was tried, in the order of cost, to the first that holds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The global batch in sequences.
    pub target_sequences: u32,
    /// Whether the last step reaches it.
    pub reached: bool,
    /// The speed that times are worked out with.
    pub assumed_speed: AssumedSpeed,
    /// What was tried; each step keeps the measures of those before it.
    pub steps: Vec<Step>,
}

/// The speed that times are worked out with: 40 % of the peak on the data sheet of the GPU, that of fp32
/// where training is in fp32 and that of 16-bit products with fp32 sums otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssumedSpeed {
    /// Sustained floating-point operations per second.
    pub flops_per_second: Number,
    /// Bytes per second to and from the host, each way.
    pub host_bytes_per_second: Number,
    /// What stands in for the data sheet of a GPU without a listed speed, in words; null for all others.
    pub assumed: Option<String>,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What it adds to the step before.
    #[schemars(extend("enum" = ["accumulate", "recompute", "swap", "more-gpus"]))]
    pub measure: &'static str,
    /// The scenario with it, as the query of a link.
    pub link: String,
    /// The largest micro-batch there; null when not even one sequence fits.
    pub b_max: Option<u32>,
    /// How the global batch is reached; null when nothing fits.
    pub accumulation: Option<Accumulation>,
    /// What an optimizer step costs on one GPU; null when nothing fits.
    pub cost: Option<Cost>,
}

/// Micro-batches whose gradients are added up.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Accumulation {
    /// Sequences a GPU processes at once.
    pub micro_batch: u32,
    /// Data-parallel GPUs.
    pub data_parallel: u32,
    /// Micro-batches of one optimizer step.
    pub steps: u32,
    /// Sequences an optimizer step sees.
    pub global_batch: u64,
}

/// What an optimizer step costs on one GPU.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Floating-point operations without any recomputation.
    pub flops: Number,
    /// What recomputation adds, as a part of them.
    pub extra: Number,
    /// What waiting for the other stages of a pipeline adds to the time of computing, as a part of it.
    pub bubble: Number,
    /// Bytes that cross the host link, there and back together.
    pub host_traffic_bytes: Number,
    /// Seconds of a step at the assumed speed.
    pub seconds: Number,
}

/// How much is worked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Answer, estimate, counters and the other methods.
    Brief,
    /// Levers, solved quantities and the plan as well, which takes many searches.
    Full,
}

/// The report on a question.
///
/// ```
/// use bmax::cli::{Depth, question, report};
/// let asked = question("model=llama-3.1-8b&gpu=h100-80", None)?;
/// let report = report(&asked, Depth::Brief);
/// assert_eq!(report.link, "v=3&model=llama-3.1-8b&gpu=h100-80");
/// # Ok::<(), bmax::cli::Refusal>(())
/// ```
pub fn report(question: &Question, depth: Depth) -> Report {
    let scenario = &question.scenario;
    let full = depth == Depth::Full;
    Report {
        line: None,
        id: question.id.clone(),
        link: link::encode(scenario),
        scenario: Parameters(*scenario),
        notices: question.notices.iter().map(ToString::to_string).collect(),
        conflicts: scenario.conflicts().into_iter().map(conflict).collect(),
        method: scenario.method.key(),
        answer: answered(scenario, b_max(scenario)),
        range: ranged(scenario),
        estimate: estimated(scenario),
        counters: counted(scenario),
        other_methods: other_methods(scenario),
        parameters: ParameterCount { typed: scenario.model.parameters, derived: scenario.model.derived_parameters() },
        levers: full.then(|| gaining(scenario)),
        solve: full.then(|| solved(scenario)),
        plan: full.then(|| planned(scenario)),
    }
}

/// The line of output for a line of input.
pub fn line(number: Option<u64>, asked: Result<Question, Refusal>, depth: Depth) -> Line {
    match asked {
        Ok(question) => Line::Report(Box::new(Report { line: number, ..report(&question, depth) })),
        Err(refusal) => Line::Failure(Failure { line: number, error: refusal.to_string() }),
    }
}

pub(super) fn conflict(found: crate::Conflict) -> Conflict {
    let nearest = match found.mend {
        Mend::Number(_, value) => Value::Number(Number(value)),
        Mend::Word(_, word) => Value::Word(word),
    };
    Conflict { key: found.mend.key(), nearest, message: found.message }
}

/// An answer to a scenario, with what it has to be told with.
pub(super) fn answered(scenario: &Scenario, answer: crate::Answer) -> Answer {
    match answer {
        crate::Answer::Fits(room) => Answer::Fits(Room {
            fits: true,
            b_max: room.batch,
            capped: room.capped,
            instant: estimate(&scenario.with_batch(room.batch)).peak().instant.name,
            peak_bytes: room.peak.into(),
            per_sequence_bytes: room.per_sequence.into(),
            next_lacks_bytes: room.next_lacks.into(),
        }),
        crate::Answer::Infeasible(reason) => Answer::Infeasible(Box::new(Infeasible {
            fits: false,
            reason: match reason.shortage {
                Shortage::ModelStates => "model-states",
                Shortage::FirstSequence => "first-sequence",
            },
            message: words::shortage(&reason),
            over_bytes: reason.over.into(),
            instant: reason.instant.name,
            largest_entry: entry(&estimate(&scenario.with_batch(1)), &reason.largest),
            fewest_gpus: reason.fewest_gpus,
        })),
    }
}

fn outcome(answer: &crate::Answer) -> Outcome {
    let reason = match answer {
        crate::Answer::Fits(_) => None,
        crate::Answer::Infeasible(reason) => Some(words::shortage(reason)),
    };
    Outcome { b_max: answer.batch(), reason }
}

fn ranged(scenario: &Scenario) -> Range {
    let range = range(scenario);
    Range { safe: outcome(&range.safe), likely: outcome(&range.likely), optimistic: outcome(&range.optimistic) }
}

fn estimated(scenario: &Scenario) -> Estimate {
    let estimate = estimate(scenario);
    let (state, bytes) = match estimate.balance() {
        Balance::Free(bytes) => ("free", bytes),
        Balance::Close(bytes) => ("close", bytes),
        Balance::Over(bytes) => ("over", bytes),
    };
    Estimate {
        method: estimate.method.key(),
        micro_batch: scenario.recipe.batch,
        peak: self::peak(&estimate.peak()),
        usable_bytes: estimate.usable().into(),
        memory_bytes: estimate.memory.into(),
        balance: Balanced { state, bytes: bytes.into() },
        ranks: estimate.stages().iter().map(|stage| rank(&estimate, stage)).collect(),
        instants: (0..estimate.instants.len()).map(|position| instant(&estimate, position)).collect(),
        entries: estimate.entries.iter().map(|listed| entry(&estimate, listed)).collect(),
    }
}

pub(super) fn peak(peak: &crate::Peak) -> Peak {
    Peak { instant: peak.instant.name, bytes: peak.bytes.into(), gib: Number(peak.bytes.gib()) }
}

fn rank(estimate: &crate::Estimate, stage: &StagePeak) -> Rank {
    Rank {
        rank: stage.rank,
        stage: stage.stage,
        worst: stage.peak.instant.name == estimate.peak().instant.name,
        peak: peak(&stage.peak),
    }
}

fn instant(estimate: &crate::Estimate, position: usize) -> Instant {
    let at = &estimate.instants[position];
    let bytes = |bucket| Number::from(estimate.bucket_at(bucket, position));
    Instant {
        name: at.name,
        meaning: at.meaning,
        total_bytes: estimate.total_at(position).into(),
        buckets: Buckets {
            parameters: bytes(Bucket::Parameters),
            gradients: bytes(Bucket::Gradients),
            optimizer: bytes(Bucket::Optimizer),
            activations: bytes(Bucket::Activations),
            batch: bytes(Bucket::Batch),
            temporary: bytes(Bucket::Temporary),
            runtime: bytes(Bucket::Runtime),
        },
    }
}

fn entry(estimate: &crate::Estimate, entry: &crate::Entry) -> Entry {
    let values = entry.values(estimate);
    let source = entry.source;
    let instants = estimate.instants.iter().enumerate();
    Entry {
        name: entry.name,
        bucket: entry.bucket.key(),
        bytes: entry.bytes.into(),
        formula: formula::in_symbols(entry.formula, &values),
        formula_with_numbers: formula::in_numbers(entry.formula, &values),
        source: Source {
            short: source.short,
            title: source.details().title,
            locus: source.details().locus,
            url: source.url,
            date: source.details().date,
        },
        alive: instants.filter(|(position, _)| entry.alive.contains(*position)).map(|(_, at)| at.name).collect(),
    }
}

fn counted(scenario: &Scenario) -> Counters {
    let seen = counters(scenario);
    Counters {
        allocated_bytes: seen.allocated.into(),
        reserved_bytes: seen.reserved.into(),
        device_bytes: seen.device.into(),
    }
}

fn other_methods(scenario: &Scenario) -> Vec<OtherMethod> {
    let others = Method::ALL.iter().copied().filter(|method| *method != scenario.method);
    let told = |method: Method| {
        let under = Scenario { method, ..*scenario };
        let Outcome { b_max, reason } = outcome(&b_max(&under));
        OtherMethod { method: method.key(), b_max, reason, peak_bytes: estimate(&under).peak().bytes.into() }
    };
    others.map(told).collect()
}

fn gaining(scenario: &Scenario) -> Vec<Lever> {
    let ranked = levers::ranked(scenario, &catalogue::larger_devices(scenario.device.memory_mib));
    let told = |lever: levers::Lever| {
        let change = difference(scenario, &lever.change.apply(*scenario));
        Some(Lever {
            change: change.text,
            parameters: change.parameters,
            cost: lever.change.cost(),
            before: lever.before,
            // Where something is gained, something fits.
            after: lever.after?,
        })
    };
    ranked.into_iter().filter(|lever| lever.gain() > 0).filter_map(told).collect()
}

fn solved(scenario: &Scenario) -> Solve {
    let batch = scenario.recipe.batch;
    let solve = Solve {
        micro_batch: batch,
        longest_sequence: longest_sequence(scenario, batch),
        fewest_gpus: fewest_gpus(scenario, batch),
        least_memory_mib: least_memory_mib(scenario, batch),
        smallest_device: catalogue::smallest_device(scenario).map(|row| row.slug),
        largest_model_parameters: largest_model(scenario, batch).map(|model| model.parameters),
        reasons: BTreeMap::new(),
    };
    let missing = [
        ("longest_sequence", solve.longest_sequence.is_none(), "Not even sequences of one token fit."),
        ("fewest_gpus", solve.fewest_gpus.is_none(), "What more GPUs do not divide is too large by itself."),
        ("least_memory_mib", solve.least_memory_mib.is_none(), "No memory in the range of “mem” is enough."),
        ("smallest_device", solve.smallest_device.is_none(), "No GPU of the list is large enough."),
        ("largest_model_parameters", solve.largest_model_parameters.is_none(), "Not even one attention head fits."),
    ];
    let reasons = missing.into_iter().filter(|(_, missing, _)| *missing).map(|(key, _, why)| (key, why)).collect();
    Solve { reasons, ..solve }
}

fn planned(scenario: &Scenario) -> Plan {
    let speed = catalogue::speed(scenario);
    let strategy = cheapest_plan(scenario, speed);
    Plan {
        target_sequences: scenario.goal.sequences(scenario.recipe.sequence),
        reached: strategy.reached,
        assumed_speed: AssumedSpeed {
            flops_per_second: Number(speed.flops_per_second),
            host_bytes_per_second: Number(speed.host_bytes_per_second),
            assumed: catalogue::assumption(scenario),
        },
        steps: strategy.rungs.iter().map(step).collect(),
    }
}

fn step(rung: &Rung) -> Step {
    Step {
        measure: match rung.measure {
            Measure::Accumulate => "accumulate",
            Measure::Recompute(_) => "recompute",
            Measure::Swap(_) => "swap",
            Measure::MoreGpus(_) => "more-gpus",
        },
        link: link::encode(&rung.scenario),
        b_max: rung.b_max,
        accumulation: rung.accumulation.map(|plan| Accumulation {
            micro_batch: plan.micro_batch,
            data_parallel: plan.data_parallel,
            steps: plan.steps,
            global_batch: plan.global_batch(),
        }),
        cost: rung.cost.map(|cost| Cost {
            flops: Number(cost.flops),
            extra: Number(cost.extra),
            bubble: Number(cost.bubble),
            host_traffic_bytes: cost.host_traffic.into(),
            seconds: Number(cost.seconds()),
        }),
    }
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
