//! A report as text for a terminal: the same facts as the JSON, in the order in which one asks.

use super::report::{Answer, Entry, Estimate, Lengths, Lever, Outcome, Plan, Report, Solve, Step, Ways};
use super::table::{Side, Table};
use super::values::Number;
use super::words::{self, count, counted, gib, memory, percent};
use crate::{Bucket, Bytes, Scenario, Unit, catalogue, format, link, number};

/// How many levers are listed; all are in the JSON.
const LEVERS_SHOWN: usize = 8;

/// The whole report.
pub fn text(report: &Report) -> String {
    // Whoever reads the answer has to know first what it is the answer to.
    let mut sections = vec![asked(&report.scenario.0)];
    sections.extend(listed("Notices", &report.notices));
    sections.push(answer(report));
    sections.extend(report.ways.as_ref().map(|found| ways(found, report.scenario.0.unit())));
    let mends: Vec<String> = report.conflicts.iter().map(|one| format!("{}={}", one.key, one.nearest)).collect();
    sections.extend(listed("What mends each of these", &mends));
    let remarks: Vec<String> = report.remarks.iter().flatten().map(|remark| remark.message.to_owned()).collect();
    sections.extend(listed("Remarks", &remarks));
    sections.extend(report.lengths.as_ref().map(lengths));
    sections.push(breakdown(&report.estimate));
    sections.extend(ranks(&report.estimate));
    sections.extend(host(&report.estimate));
    sections.extend([instants(&report.estimate), counters(report), methods(report)]);
    match &report.ways {
        // They stand beside the answer, and single changes are among them.
        Some(_) => {}
        None => sections.extend(report.levers.as_deref().map(|found| levers(found, report.scenario.0.unit()))),
    }
    sections.extend(report.solve.as_ref().map(solve));
    let planned = report.plan.as_ref().filter(|plan| !plan.steps.is_empty());
    sections.extend(planned.map(|found| plan(found, report.scenario.0.unit())));
    sections.join("\n")
}

/// Model, GPUs and length, and the query of all of it.
pub(super) fn asked(scenario: &Scenario) -> String {
    format!("{}\n?{}\n", format::configuration(scenario), link::encode(scenario))
}

fn answer(report: &Report) -> String {
    match &report.answer {
        Answer::Fits(room) => {
            let sequences = format::batch(room.b_max, report.scenario.0.unit());
            let tokens = format::most_tokens(&report.scenario.0, room.b_max);
            let tokens = tokens.map_or_else(String::new, |tokens| format!("  {tokens}\n"));
            let at_least = if room.capped { "at least " } else { "" };
            let next = if room.capped {
                "the search ends there".to_owned()
            } else {
                format!(
                    "one more takes {} and would lack {}{}",
                    memory(room.per_sequence_bytes.bytes()),
                    memory(room.next_lacks_bytes.bytes()),
                    if room.limited_by == "ram" { " of CPU memory" } else { "" }
                )
            };
            format!(
                "b_max = {at_least}{sequences} per GPU ({})\n  {} of {} GiB at the peak, “{}”; {next}.\n{tokens}{}",
                outlooks(report),
                gib(room.peak_bytes.bytes()),
                gib(report.estimate.usable_bytes.bytes()),
                room.instant,
                words::safe(&report.scenario.0)
            )
        }
        Answer::Infeasible(reason) => format!(
            "Not even one {} fits ({})\n  {}\n  The peak is “{}”, and most of it “{}” with {}.\n",
            report.scenario.0.unit().one(),
            outlooks(report),
            reason.message,
            reason.instant,
            reason.largest_entry.name,
            memory(reason.largest_entry.bytes.bytes())
        ),
        Answer::Refused(refusal) => format!("{}\n", refusal.message),
    }
}

fn outlooks(report: &Report) -> String {
    let told = |outcome: &Outcome| fitting(outcome.b_max);
    let range = &report.range;
    format!("safe {}, likely {}, optimistic {}", told(&range.safe), told(&range.likely), told(&range.optimistic))
}

fn fitting(b_max: Option<u32>) -> String {
    b_max.map_or("none".to_owned(), count)
}

/// Sentences under a title, if there are any.
pub(super) fn listed(title: &str, sentences: &[String]) -> Option<String> {
    if sentences.is_empty() {
        return None;
    }
    let lines: Vec<String> = sentences.iter().map(|sentence| format!("  - {sentence}\n")).collect();
    Some(format!("{title}\n{}", lines.concat()))
}

/// What one machine holds outside its GPUs, if that is anything.
fn host(estimate: &Estimate) -> Option<String> {
    let host = &estimate.host;
    if host.entries.is_empty() {
        return None;
    }
    let mut table =
        Table::new(&[("CPU memory", Side::Left), ("entry", Side::Left), ("GiB", Side::Right), ("source", Side::Left)]);
    for entry in &host.entries {
        let when = entry.alive.first().copied().unwrap_or_default();
        let source = entry.source.short.to_owned();
        table.row([when.to_owned(), entry.name.to_owned(), gib(entry.bytes.bytes()), source]);
    }
    let known = host.memory_bytes.map_or_else(String::new, |memory| format!(" of {} GiB", gib(memory.bytes())));
    Some(format!(
        "CPU memory of one machine with {}: {} GiB{known} while {}\n{}",
        counted(host.gpus, "GPU", "GPUs"),
        gib(host.peak.bytes.bytes()),
        host.peak.instant,
        table.text()
    ))
}

fn breakdown(estimate: &Estimate) -> String {
    let peak = estimate.peak.bytes.bytes();
    let mut table = Table::new(&[
        ("bucket", Side::Left),
        ("entry", Side::Left),
        ("GiB", Side::Right),
        ("share", Side::Right),
        ("source", Side::Left),
        ("formula", Side::Left),
    ]);
    let is_alive = |entry: &&Entry| entry.alive.contains(&estimate.peak.instant);
    let (alive, idle): (Vec<&Entry>, Vec<&Entry>) = estimate.entries.iter().partition(is_alive);
    for entry in by_bucket(alive) {
        let bytes = entry.bytes.bytes();
        table.row([
            entry.bucket.to_owned(),
            entry.name.to_owned(),
            gib(bytes),
            percent(bytes.share_of(peak)),
            entry.source.short.to_owned(),
            entry.formula_with_numbers.clone(),
        ]);
    }
    table.row(["total".to_owned(), balance(estimate), gib(peak), percent(1.0), String::new(), String::new()]);
    let others = match idle.len() {
        0 => String::new(),
        others => format!("  {others} more are alive only at other moments; --json lists them.\n"),
    };
    let batch = estimate.micro_batch;
    format!(
        "Memory of one GPU at b = {}, when most is alive: “{}”\n{}{others}",
        count(batch),
        estimate.peak.instant,
        table.text()
    )
}

/// What a typical micro-batch holds, beside the worst, and when one that is too large fails.
fn lengths(lengths: &Lengths) -> String {
    let mut table = Table::new(&[
        ("tokens of a micro-batch", Side::Left),
        ("worst", Side::Right),
        ("computed", Side::Right),
        ("real", Side::Right),
        ("padding", Side::Right),
    ]);
    let whole = |tokens: Number| number::grouped(tokens.0.round());
    for way in &lengths.ways {
        let name = if way.batching == lengths.batching {
            format!("{}, as asked", way.batching)
        } else {
            way.batching.to_owned()
        };
        let sizes = [way.worst_tokens, way.computed_tokens, way.real_tokens].map(whole);
        let [worst, computed, real] = sizes;
        table.row([name, worst, computed, real, percent(way.padding_share.0)]);
    }
    let [median, p95, mean] = [lengths.median, lengths.p95, lengths.mean.0.round() as u32].map(count);
    let rows = number::fixed(lengths.documents_a_row.0, 1);
    let failing = lengths.failing.as_ref().map_or_else(String::new, |failing| {
        format!(
            "  With b = {}, one more than always fits, padded runs fail at step {} on average: half of them by step {}, \
             nine of ten by step {}.\n",
            count(failing.micro_batch),
            whole(failing.expected_step),
            whole(failing.half_by_step),
            whole(failing.nine_of_ten_by_step)
        )
    });
    format!(
        "Lengths at b = {}: median {median}, 95th percentile {p95}, mean {mean}, longest {} tokens; {rows} documents a \
         packed row\n{}{failing}",
        count(lengths.micro_batch),
        count(lengths.longest),
        table.text()
    )
}

/// The entries of a bucket one below the other; their order is the ledger's otherwise.
fn by_bucket(mut entries: Vec<&Entry>) -> Vec<&Entry> {
    entries.sort_by_key(|entry| Bucket::ALL.iter().position(|bucket| bucket.key() == entry.bucket));
    entries
}

fn balance(estimate: &Estimate) -> String {
    let bytes = memory(estimate.balance.bytes.bytes());
    let (memory, usable) = (gib(estimate.memory_bytes.bytes()), gib(estimate.usable_bytes.bytes()));
    match estimate.balance.state {
        "free" => format!("of {usable}: {bytes} are free"),
        "close" => format!("of {usable}: {bytes} of the headroom are used"),
        "host-memory" => format!("of {usable}; one machine lacks {bytes} of CPU memory"),
        _ => format!("of {memory}: {bytes} too much"),
    }
}

/// What the ranks of a pipeline need, the worst of them first.
fn ranks(estimate: &Estimate) -> Option<String> {
    if estimate.ranks.is_empty() {
        return None;
    }
    let mut table =
        Table::new(&[("rank", Side::Right), ("stage", Side::Left), ("GiB", Side::Right), ("when", Side::Left)]);
    let mut ranks: Vec<_> = estimate.ranks.iter().collect();
    ranks.sort_by_key(|rank| (!rank.worst, rank.rank));
    for rank in ranks {
        let stage = if rank.worst { format!("{}, the worst", rank.stage) } else { rank.stage.to_owned() };
        table.row([count(rank.rank), stage, gib(rank.peak.bytes.bytes()), rank.peak.instant.to_owned()]);
    }
    Some(format!("Ranks of the pipeline at b = {}\n{}", count(estimate.micro_batch), table.text()))
}

fn instants(estimate: &Estimate) -> String {
    let columns = [
        "instant",
        "total",
        "parameters",
        "gradients",
        "optimizer",
        "activations",
        "logits",
        "batch",
        "temporary",
        "runtime",
    ];
    let sides = columns.map(|name| (name, if name == "instant" { Side::Left } else { Side::Right }));
    let mut table = Table::new(&sides);
    for instant in &estimate.instants {
        let buckets = &instant.buckets;
        let cell = |bytes: Number| gib(bytes.bytes());
        table.row([
            instant.name.to_owned(),
            cell(instant.total_bytes),
            cell(buckets.parameters),
            cell(buckets.gradients),
            cell(buckets.optimizer),
            cell(buckets.activations),
            cell(buckets.logits),
            cell(buckets.batch),
            cell(buckets.temporary),
            cell(buckets.runtime),
        ]);
    }
    format!("Moments of a step, in GiB\n{}", table.text())
}

fn counters(report: &Report) -> String {
    let counters = &report.counters;
    let mut table = Table::new(&[("counter", Side::Left), ("GiB", Side::Right), ("read with", Side::Left)]);
    for (name, bytes, tool) in [
        ("allocated", counters.allocated_bytes, "torch.cuda.max_memory_allocated"),
        ("reserved", counters.reserved_bytes, "torch.cuda.max_memory_reserved"),
        ("device", counters.device_bytes, "nvidia-smi"),
    ] {
        table.row([name.to_owned(), gib(bytes.bytes()), tool.to_owned()]);
    }
    let given_back = counters.given_back_bytes.bytes();
    let (would, note) = match report.estimate.balance.state {
        "over" => ("would show, had the GPU so much,", String::new()),
        _ if given_back > Bytes::ZERO => {
            let more = memory(given_back);
            (
                "would show",
                format!("  The allocator would cache {more} more; at the end of the GPU it gives that back.\n"),
            )
        }
        _ => ("would show", String::new()),
    };
    format!("What tools {would} at b = {}\n{}{note}", count(report.estimate.micro_batch), table.text())
}

fn methods(report: &Report) -> String {
    let mut table = Table::new(&[("method", Side::Left), ("b_max", Side::Right), ("peak GiB", Side::Right)]);
    for other in &report.other_methods {
        // A method that cannot say has no peak.
        let (most, peak) = match other.peak_bytes {
            Some(peak) => (fitting(other.b_max), gib(peak.bytes())),
            None => ("cannot say".to_owned(), "–".to_owned()),
        };
        table.row([other.method.to_owned(), most, peak]);
    }
    format!("Other methods\n{}", table.text())
}

fn levers(levers: &[Lever], unit: Unit) -> String {
    if levers.is_empty() {
        return format!("No single change gains a {}.\n", unit.one());
    }
    let columns = [("change", Side::Left), ("from", Side::Right), ("to", Side::Right), ("cost", Side::Left)];
    let mut table = Table::new(&columns);
    for lever in levers.iter().take(LEVERS_SHOWN) {
        table.row([lever.change.clone(), fitting(lever.before), count(lever.after), lever.cost.to_owned()]);
    }
    format!("Single changes that gain most\n{}", table.text())
}

/// What makes room where nothing fits, or mends what has no answer.
fn ways(ways: &Ways, unit: Unit) -> String {
    if let Some(closest) = &ways.closest {
        let with = if closest.change.is_empty() { String::new() } else { format!(" with {}", closest.change) };
        return format!(
            "Nothing that was tried makes room, alone or three together. Closest{with}: one {} lacks {}.\n",
            unit.one(),
            memory(closest.lacks_bytes.bytes())
        );
    }
    let mut table = Table::new(&[("change", Side::Left), ("b_max", Side::Right), ("cost", Side::Left)]);
    for way in ways.fitting.iter().take(LEVERS_SHOWN) {
        table.row([way.change.clone(), count(way.b_max), way.cost.clone()]);
    }
    let more = match ways.fitting.len().saturating_sub(LEVERS_SHOWN) {
        0 => String::new(),
        more => format!("  {more} more are in --json.\n"),
    };
    format!("Ways that fit, the cheapest first\n{}{more}", table.text())
}

fn solve(solve: &Solve) -> String {
    let or_why = |key: &str, found: Option<String>| {
        found.unwrap_or_else(|| solve.reasons.get(key).copied().unwrap_or("none").to_owned())
    };
    let mut table = Table::new(&[("sought", Side::Left), ("found", Side::Left)]);
    for (what, key, found) in [
        (
            "longest sequence",
            "longest_sequence",
            solve.longest_sequence.map(|length| counted(length, "token", "tokens")),
        ),
        ("fewest GPUs", "fewest_gpus", solve.fewest_gpus.map(count)),
        (
            "least memory",
            "least_memory_mib",
            solve.least_memory_mib.map(|mib| format!("{} GiB", gib(Bytes::from_mib(mib.into())))),
        ),
        ("smallest GPU", "smallest_device", solve.smallest_device.map(device_name)),
        ("largest model of this shape", "largest_model_parameters", solve.largest_model_parameters.map(billions)),
    ] {
        table.row([what.to_owned(), or_why(key, found)]);
    }
    format!("One input alone changed, at b = {}\n{}", count(solve.micro_batch), table.text())
}

fn device_name(slug: &'static str) -> String {
    catalogue::device(slug).map_or(slug, |row| row.name).to_owned()
}

fn billions(parameters: u64) -> String {
    format!("{} billion parameters", number::with_commas(&number::fixed(parameters as f64 / 1e9, 3)))
}

fn plan(plan: &Plan, unit: Unit) -> String {
    let target = format::batch(plan.target_sequences, unit);
    let mut table = Table::new(&[
        ("measure", Side::Left),
        ("b", Side::Right),
        ("data-parallel", Side::Right),
        ("steps", Side::Right),
        ("more work", Side::Right),
        ("seconds", Side::Right),
    ]);
    for step in &plan.steps {
        table.row(measures(step));
    }
    let end = if plan.reached { "" } else { "  None of them reaches it.\n" };
    let assumed = plan.assumed_speed.assumed.as_ref().map_or_else(String::new, |text| format!("  {text}\n"));
    format!("The cheapest way to {target} an optimizer step\n{}{end}{assumed}", table.text())
}

fn measures(step: &Step) -> [String; 6] {
    let [batch, gpus, steps] = match &step.accumulation {
        Some(plan) => [plan.micro_batch, plan.data_parallel, plan.steps].map(count),
        None => ["none", "", ""].map(str::to_owned),
    };
    let [extra, seconds] = match &step.cost {
        Some(cost) => [percent(cost.extra.0), number::with_commas(&number::fixed(cost.seconds.0, 2))],
        None => [String::new(), String::new()],
    };
    [step.measure.to_owned(), batch, gpus, steps, extra, seconds]
}
