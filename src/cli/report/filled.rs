//! The report on a question, filled in.

use super::{
    Accumulation, Added, Answer, AssumedSpeed, Balanced, Buckets, Closest, Conflict, Cost, Counters, Entry, Estimate,
    Factor, Failing, Failure, Growth, Host, Infeasible, Instant, Lengths, Lever, Line, OtherMethod, Outcome,
    ParameterCount, Peak, Plan, Range, Rank, Refused, Remark, Report, Room, Solve, Source, Step, Way, WayOut, Ways,
};
use std::collections::BTreeMap;

use crate::cli::input::{Question, QuestionError};
use crate::cli::network::{NetworkReport, network_report};
use crate::cli::values::{Number, Parameters};
use crate::cli::words;
use crate::{
    Balance, Batching, Bucket, Change, Choice, ConflictKind, Method, Scenario, Shortage, StagePeak, Unit, b_max,
    catalogue, counters,
    course::lengths::{self, Spread},
    estimate, fewest_gpus, format,
    growth::{self, Kind, Of},
    inverse::{largest_model, least_memory, longest_sequence},
    largest_micro_batch, levers, link, others,
    range::range,
    setting::Word,
    strategy::{Rung, cheapest_plan},
    ways,
};

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
/// let asked = question("model=llama-3.1-8b&gpu=h200", None)?;
/// let report = report(&asked, Depth::Brief);
/// assert_eq!(report.link, "v=4&gpu=h200");
/// # Ok::<(), bmax::cli::QuestionError>(())
/// ```
pub fn report(question: &Question, depth: Depth) -> Report {
    let scenario = &question.scenario;
    let full = depth == Depth::Full;
    let answer = b_max(scenario);
    Report {
        line: None,
        id: question.id.clone(),
        link: link::encode(scenario),
        scenario: Parameters(*scenario),
        notices: question.notices.iter().map(ToString::to_string).collect(),
        conflicts: scenario.conflicts().into_iter().map(conflict).collect(),
        remarks: Some(scenario.remarks().into_iter().map(remark).collect::<Vec<_>>()).filter(|found| !found.is_empty()),
        method: scenario.method.key(),
        estimate: estimated(scenario, &answer),
        answer: answered(scenario, answer),
        lengths: varied(question),
        range: ranged(scenario),
        counters: counted(scenario),
        other_methods: other_methods(scenario),
        parameters: ParameterCount { typed: scenario.model.parameters, derived: scenario.model.derived_parameters() },
        levers: full.then(|| gaining(scenario)),
        ways: full.then(|| ways_out(scenario)).flatten(),
        solve: full.then(|| solved(scenario)),
        plan: full.then(|| planned(scenario)),
    }
}

/// The line of output for a line of input.
pub fn line(number: Option<u64>, asked: Result<Question, QuestionError>, depth: Depth) -> Line {
    match asked {
        Ok(question) => match &question.network {
            Some(named) => Line::Network(Box::new(NetworkReport { line: number, ..network_report(named, &question) })),
            None => Line::Report(Box::new(Report { line: number, ..report(&question, depth) })),
        },
        Err(refusal) => Line::Failure(Failure::of(number, &refusal)),
    }
}

pub(in crate::cli) fn conflict(found: crate::Conflict) -> Conflict {
    Conflict {
        kind: match found.kind {
            ConflictKind::Contradiction => "contradiction",
            ConflictKind::Uncounted => "uncounted",
        },
        key: found.mend.key(),
        nearest: found.mend.value().into(),
        message: found.message,
    }
}

fn remark(found: crate::Remark) -> Remark {
    let better = found.mend.map(|mend| mend.value().into());
    Remark { key: found.mend.map(crate::Change::key), better, message: found.message }
}

/// An answer to a scenario, with what it has to be told with.
pub(in crate::cli) fn answered(scenario: &Scenario, answer: crate::Answer) -> Answer {
    match answer {
        crate::Answer::Fits(room) => Answer::Fits(Room {
            fits: true,
            b_max: room.batch,
            capped: room.capped,
            instant: estimate(&scenario.with_batch(room.batch)).peak().instant.name,
            peak_bytes: room.peak.into(),
            per_sequence_bytes: room.per_sequence.into(),
            next_lacks_bytes: room.next_lacks.into(),
            limited_by: if room.by_host { "ram" } else { "gpu" },
        }),
        crate::Answer::Infeasible(reason) => Answer::Infeasible(Box::new(Infeasible {
            fits: false,
            reason: match reason.shortage {
                Shortage::ModelStates => "model-states",
                Shortage::FirstSequence => "first-sequence",
                Shortage::Outside => "outside",
                Shortage::HostMemory => "host-memory",
            },
            message: words::shortage(&reason, scenario.unit()),
            over_bytes: reason.over.into(),
            instant: reason.instant.name,
            largest_entry: {
                let estimate = estimate(&scenario.with_batch(1));
                let in_host = reason.shortage == Shortage::HostMemory;
                if in_host { entry_in_host(&estimate, &reason.largest) } else { entry(&estimate, &reason.largest) }
            },
            fewest_gpus: reason.fewest_gpus,
            training_b_max: reason.training,
        })),
        crate::Answer::Refused(refusal) => Answer::Refused(Box::new(Refused {
            fits: (),
            reason: refusal.kind.key(),
            message: format::refusal(&refusal, scenario.unit()),
            would_be_b_max: refusal.would_be,
        })),
    }
}

/// What typical micro-batches hold, where lengths vary.
fn varied(question: &Question) -> Option<Lengths> {
    let scenario = &question.scenario;
    let batching = scenario.batching();
    if batching == Batching::Equal {
        return None;
    }
    let cut = scenario.recipe.sequence;
    let lengths = question.lengths.as_ref().map_or_else(|| Spread::of_scenario(scenario), |lengths| lengths.cut(cut));
    let batch = scenario.recipe.batch;
    let way = |way: Batching| {
        let made = lengths::batched(scenario, &lengths, way, batch);
        Way {
            batching: way.key(),
            worst_tokens: Number(made.worst),
            computed_tokens: Number(made.computed),
            real_tokens: Number(made.real),
            padding_share: Number(made.padding()),
        }
    };
    let mut padded = *scenario;
    padded.lengths.batching = Batching::Padded;
    let too_many = largest_micro_batch(&padded).unwrap_or(0).saturating_add(1);
    let failing = lengths::failing(&padded, &lengths, too_many).map(|failing| (too_many, failing));
    Some(Lengths {
        batching: batching.key(),
        worst_length: scenario.longest(),
        max_tokens_at_b_max: largest_micro_batch(scenario).map(|batch| scenario.tokens_at(batch)),
        median: lengths.quantile(0.5),
        p95: lengths.quantile(0.95),
        longest: lengths.longest(),
        mean: Number(lengths.mean()),
        micro_batch: batch,
        ways: Batching::varied().map(way).collect(),
        documents_a_row: Number(lengths::documents_a_row(&lengths, cut)),
        failing: failing.map(|(micro_batch, failing)| Failing {
            micro_batch,
            per_step: Number(failing.per_step),
            expected_step: Number(failing.expected),
            half_by_step: Number(failing.by(0.5)),
            nine_of_ten_by_step: Number(failing.by(0.9)),
        }),
    })
}

fn outcome(answer: &crate::Answer, unit: Unit) -> Outcome {
    let reason = match answer {
        crate::Answer::Fits(_) => None,
        crate::Answer::Infeasible(reason) => Some(words::shortage(reason, unit)),
        crate::Answer::Refused(refusal) => Some(format::would_be(refusal, unit)),
    };
    Outcome { b_max: answer.batch(), reason }
}

fn ranged(scenario: &Scenario) -> Range {
    let (range, unit) = (range(scenario), scenario.unit());
    let told = |answer| outcome(answer, unit);
    Range { safe: told(&range.safe), likely: told(&range.likely), optimistic: told(&range.optimistic) }
}

fn estimated(scenario: &Scenario, answer: &crate::Answer) -> Estimate {
    let estimate = estimate(scenario);
    let (state, bytes) = match estimate.balance() {
        Balance::Free(bytes) => ("free", bytes),
        Balance::Close(bytes) => ("close", bytes),
        Balance::Over(bytes) => ("over", bytes),
        Balance::LacksHost(bytes) => ("host-memory", bytes),
    };
    Estimate {
        method: estimate.method.key(),
        micro_batch: scenario.recipe.batch,
        peak: self::peak(&estimate.peak()),
        usable_bytes: estimate.usable().into(),
        memory_bytes: estimate.memory.into(),
        balance: Balanced { state, bytes: bytes.into() },
        growth: growth::growth(scenario, answer).map(|growth| grown(&growth)),
        ranks: estimate.stages().iter().map(|stage| rank(&estimate, stage)).collect(),
        instants: (0..estimate.instants.len()).map(|position| instant(&estimate, position)).collect(),
        entries: estimate.entries.iter().map(|listed| entry(&estimate, listed)).collect(),
        host: host(&estimate),
    }
}

fn grown(growth: &growth::Growth) -> Growth {
    let added = |added: &growth::Added| Added {
        kind: match added.kind {
            Kind::Logits => "logits",
            Kind::Layers(_) => "layers",
            Kind::Inputs(_) => "layer-inputs",
            Kind::Again(_) => "recomputed",
            Kind::Cache => "cache",
            Kind::Rest(_) => "rest",
        },
        name: format::kind_of_growth(added.kind),
        bucket: added.bucket.key(),
        bytes: added.bytes.into(),
    };
    let factor = |factor: &growth::Factor| Factor {
        of: match factor.of {
            Of::Tokens => "tokens",
            Of::Patches => "patches",
            Of::Words => "words",
            Of::Layers => "layers",
            Of::LayersInFlight => "layers-in-flight",
            Of::Hidden => "numbers",
            Of::Bytes => "bytes",
        },
        count: Number(factor.count),
    };
    Growth {
        unit: growth.unit.one(),
        instant: growth.instant.name,
        bytes: growth.each.into(),
        parts: growth.parts.iter().map(added).collect(),
        product: growth.product.iter().map(factor).collect(),
        sentence: format::growth(growth),
    }
}

pub(in crate::cli) fn peak(peak: &crate::Peak) -> Peak {
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
        meaning: estimate.meaning(position),
        total_bytes: estimate.total_at(position).into(),
        buckets: Buckets {
            parameters: bytes(Bucket::Parameters),
            gradients: bytes(Bucket::Gradients),
            optimizer: bytes(Bucket::Optimizer),
            activations: bytes(Bucket::Activations),
            logits: bytes(Bucket::Logits),
            batch: bytes(Bucket::Batch),
            temporary: bytes(Bucket::Temporary),
            runtime: bytes(Bucket::Runtime),
        },
    }
}

fn host(estimate: &crate::Estimate) -> Host {
    let host = &estimate.host;
    let memory = host.memory;
    Host {
        gpus: host.gpus,
        memory_bytes: (memory > crate::Bytes::ZERO).then(|| memory.into()),
        peak: peak(&host.peak()),
        entries: host.entries.iter().map(|listed| entry_in_host(estimate, listed)).collect(),
    }
}

fn entry(estimate: &crate::Estimate, entry: &crate::Entry) -> Entry {
    entry_at(estimate, estimate.instants.iter().copied(), entry)
}

fn entry_in_host(estimate: &crate::Estimate, entry: &crate::Entry) -> Entry {
    entry_at(estimate, estimate.host.instants.iter(), entry)
}

fn entry_at(
    estimate: &crate::Estimate,
    instants: impl Iterator<Item = &'static crate::Instant>,
    entry: &crate::Entry,
) -> Entry {
    let values = entry.values(estimate);
    let source = entry.source;
    let instants = instants.enumerate();
    Entry {
        name: entry.name,
        bucket: entry.bucket.key(),
        bytes: entry.bytes.into(),
        formula: entry.formula.in_symbols(&values),
        formula_with_numbers: entry.formula.in_numbers(&values),
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
        given_back_bytes: seen.given_back.into(),
    }
}

fn other_methods(scenario: &Scenario) -> Vec<OtherMethod> {
    let others = Method::ALL.iter().copied().filter(|method| *method != scenario.method);
    let told = |method: Method| {
        let under = Scenario { method, ..*scenario };
        let Outcome { b_max, reason } = match others::lacking(method, scenario) {
            Some(lacking) => Outcome {
                b_max: None,
                reason: Some(format!("It cannot say: it has no input for {}.", format::lacking(&lacking))),
            },
            None => outcome(&b_max(&under), under.unit()),
        };
        let peak = others::lacking(method, scenario).is_none().then(|| estimate(&under).peak().bytes.into());
        OtherMethod { method: method.key(), b_max, reason, peak_bytes: peak }
    };
    others.map(told).collect()
}

fn gaining(scenario: &Scenario) -> Vec<Lever> {
    let ranked = levers::ranked(scenario, &catalogue::larger_devices(scenario.device.memory));
    let told = |lever: levers::Lever| {
        let change = words::difference(scenario, &lever.change.apply(*scenario));
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

/// The ways out, where the scenario has no number.
fn ways_out(scenario: &Scenario) -> Option<Ways> {
    let devices: Vec<Change> = catalogue::sizes_above(scenario.device.memory).collect();
    let found = ways::ways(scenario, &devices);
    let with = |changes: &[Change]| changes.iter().fold(*scenario, |scenario, change| change.apply(scenario));
    let told = |way: &ways::Way| {
        let after = with(&way.changes);
        let change = words::difference(scenario, &after);
        let costs: Vec<&str> = way.changes.iter().map(|change| change.cost()).filter(|cost| !cost.is_empty()).collect();
        WayOut {
            change: change.text,
            parameters: change.parameters,
            cost: costs.join(" "),
            link: link::encode(&after),
            b_max: way.after,
        }
    };
    let closest = found.closest.as_ref().map(|(changes, lacking)| {
        let after = with(changes);
        let change = words::difference(scenario, &after);
        Closest {
            change: change.text,
            parameters: change.parameters,
            link: link::encode(&after),
            lacks_bytes: (*lacking).into(),
        }
    });
    let fitting: Vec<WayOut> = found.fitting.iter().map(told).collect();
    (!fitting.is_empty() || closest.is_some()).then_some(Ways { fitting, closest })
}

fn solved(scenario: &Scenario) -> Solve {
    let batch = scenario.recipe.batch;
    let solve = Solve {
        micro_batch: batch,
        longest_sequence: longest_sequence(scenario, batch),
        fewest_gpus: fewest_gpus(scenario, batch),
        least_memory_mib: least_memory(scenario, batch).map(|memory| memory.mib() as u32),
        smallest_device: catalogue::smallest_device(scenario).map(|row| row.slug),
        largest_model_parameters: largest_model(scenario, batch).map(|model| model.parameters),
        reasons: BTreeMap::new(),
    };
    // A larger GPU does not help a machine with too little memory.
    let in_host = estimate(scenario).host.lacks().is_some();
    let larger = |why| if in_host { "The machine has too little CPU memory." } else { why };
    let missing = [
        ("longest_sequence", solve.longest_sequence.is_none(), "Not even sequences of one token fit."),
        ("fewest_gpus", solve.fewest_gpus.is_none(), "What more GPUs do not divide is too large by itself."),
        ("least_memory_mib", solve.least_memory_mib.is_none(), larger("No memory in the range of “mem” is enough.")),
        ("smallest_device", solve.smallest_device.is_none(), larger("No GPU of the list is large enough.")),
        ("largest_model_parameters", solve.largest_model_parameters.is_none(), "Not even one attention head fits."),
    ];
    let reasons = missing.into_iter().filter(|(_, missing, _)| *missing).map(|(key, _, why)| (key, why)).collect();
    Solve { reasons, ..solve }
}

fn planned(scenario: &Scenario) -> Plan {
    let speed = catalogue::speed(scenario);
    let strategy = cheapest_plan(scenario, speed);
    Plan {
        target_sequences: scenario.target(),
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
            None => "accumulate",
            Some(Change::Word(Word::Offload(_))) => "swap",
            Some(Change::Word(_)) => "recompute",
            Some(Change::Number(..) | Change::Device { .. }) => "more-gpus",
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
