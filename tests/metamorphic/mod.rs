//! What must be true of any scenario, and of any two that differ in one measure, over scenarios by the million: more
//! memory never lowers b_max, and smaller sizes, freezing, quantizing, sharding, recomputing and offloading never raise
//! the peak, but for the exceptions of one table. What a measure is for never grows, even where the peak does.

mod exceptions;
mod random;
mod relations;

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use bmax::{
    Adapter, Answer, Bytes, Encoder, Entry, Estimate, Field, Offload, Optimizer, Scenario, StepKernel, b_max, estimate,
    largest_micro_batch, link,
};

use exceptions::Exception;
use random::{Random, mended};
use relations::{Measure, Part};

/// Sums of the same terms in another order may differ in the last bits.
const NEARLY: f64 = 1e-12;

/// What was found: how often each measure was taken and how often a peak rose by it, and what broke an invariant.
#[derive(Default)]
struct Tally {
    scenarios: u64,
    mended: u64,
    measures: BTreeMap<String, [u64; 2]>,
    slowest: (Duration, String),
    broken: Vec<Broken>,
}

/// An invariant that does not hold.
struct Broken {
    what: String,
    scenario: Scenario,
    /// What is more at the peak, the largest first.
    entries: Vec<&'static str>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.scenarios += other.scenarios;
        self.mended += other.mended;
        for (name, [taken, rose]) in other.measures {
            let sum = self.measures.entry(name).or_default();
            *sum = [sum[0] + taken, sum[1] + rose];
        }
        if other.slowest.0 > self.slowest.0 {
            self.slowest = other.slowest;
        }
        self.broken.extend(other.broken);
    }
}

fn peak(scenario: &Scenario) -> f64 {
    estimate(scenario).peak().bytes.get()
}

fn at_most(smaller: f64, larger: f64) -> bool {
    smaller <= larger * (1.0 + NEARLY)
}

/// What is true of one scenario, whatever its settings.
fn alone(scenario: &Scenario) -> Result<(), &'static str> {
    let holds = |holds: bool, what| if holds { Ok(()) } else { Err(what) };
    let (once, again) = (estimate(scenario), estimate(scenario));
    holds(once == again && b_max(scenario) == b_max(scenario), "the same question has the same answer")?;
    let is_size = |bytes: Bytes| bytes.get().is_finite() && bytes >= Bytes::ZERO;
    holds(once.entries.iter().all(|entry| is_size(entry.bytes)), "entries are finite and not negative")?;
    let totals = (0..once.instants.len()).all(|position| is_size(once.total_at(position)));
    holds(totals && is_size(once.host.peak().bytes), "totals are finite and not negative")?;

    let mut device = *scenario;
    device.host.ram = Bytes::ZERO;
    let usable = device.usable().get();
    match b_max(&device) {
        Answer::Fits(room) => {
            holds(at_most(peak(&device.with_batch(room.batch)), usable), "b_max fits")?;
            let next = room.capped || at_most(usable, peak(&device.with_batch(room.batch + 1)));
            holds(next, "one sequence more than b_max does not fit")?;
        }
        Answer::Infeasible(_) => holds(at_most(usable, peak(&device.with_batch(1))), "what is refused does not fit")?,
        Answer::Refused(refusal) => {
            let would_be = refusal.would_be.unwrap_or(0);
            let fits = would_be == 0 || at_most(peak(&device.with_batch(would_be)), usable);
            holds(fits, "what would be b_max would fit")?;
        }
    }
    for factor in [1.01, 1.5, 4.0] {
        let more = (scenario.number(Field::Memory) * factor).min(Field::Memory.bound().max);
        let larger = scenario.with_number(Field::Memory, more).expect("in range");
        holds(largest_micro_batch(scenario) <= largest_micro_batch(&larger), "more memory does not lower b_max")?;
    }
    experts_in_no_layer(scenario)?;
    one_moment(&once, scenario)
}

/// Experts that no layer has change nothing.
fn experts_in_no_layer(scenario: &Scenario) -> Result<(), &'static str> {
    let mut dense = *scenario;
    dense.model.experts.dense_layers = scenario.model.layers;
    let mut without = dense;
    without.model.experts.count = 0;
    if [dense, without].iter().any(|scenario| !scenario.conflicts().is_empty()) {
        return Ok(());
    }
    let [dense, without] = [dense, without].map(|scenario| estimate(&scenario));
    let differs = |at: usize| dense.total_at(at) != without.total_at(at);
    if dense.instants.len() != without.instants.len() || (0..dense.instants.len()).any(differs) {
        return Err("experts in no layer change nothing");
    }
    Ok(())
}

/// The root of the second moments is of as many bytes as one of the two moments, stage by stage.
fn one_moment(estimate: &Estimate, scenario: &Scenario) -> Result<(), &'static str> {
    let Scenario { recipe, model, .. } = scenario;
    let held = matches!(
        (recipe.optimizer, recipe.step, recipe.offload),
        (Optimizer::AdamW, StepKernel::Foreach, Offload::None)
    );
    if !held || model.vision.is_there() || model.encoder != Encoder::NONE || recipe.adapter != Adapter::None {
        return Ok(());
    }
    for at in 0..estimate.instants.len() {
        let root = bytes_at(estimate, "Root of the second moments", at);
        let moments =
            estimate.entries.iter().filter(|entry| entry.name.ends_with(", moments") && entry.alive.contains(at));
        let moments: f64 = moments.map(|entry| entry.bytes.get()).sum();
        if root > 0.0 && (2.0 * root - moments).abs() > 1e-9 * moments {
            return Err("the root of the second moments is as large as one of both");
        }
    }
    Ok(())
}

/// The bytes at an instant of the entries of this name, or of the bucket of this name.
fn bytes_at(estimate: &Estimate, name: &str, position: usize) -> f64 {
    let is_there = |entry: &&Entry| is_of(entry, name) && entry.alive.contains(position);
    estimate.entries.iter().filter(is_there).map(|entry| entry.bytes.get()).sum()
}

fn is_of(entry: &Entry, name: &str) -> bool {
    entry.name == name || entry.bucket.name() == name
}

/// By how much the entries of one name are larger at the peak of `after` than they were at that instant before, with
/// the allocator's share of what comes and goes.
fn rise(before: &Estimate, after: &Estimate, name: &str, fragmentation: f64) -> f64 {
    let (position, _) = after.binding();
    let instant = after.instants[position];
    let same = before.instants.iter().position(|other| (other.name, other.stage) == (instant.name, instant.stage));
    let was = match same {
        Some(position) => bytes_at(before, name, position),
        None => (0..before.instants.len()).map(|at| bytes_at(before, name, at)).fold(0.0, f64::max),
    };
    let is_dynamic = |entry: &Entry| is_of(entry, name) && entry.bucket.is_dynamic();
    let share = if after.entries.iter().any(is_dynamic) { fragmentation } else { 0.0 };
    (bytes_at(after, name, position) - was).max(0.0) * (1.0 + share)
}

/// What a measure does to the peak of a pair.
enum Effect {
    Lowers,
    /// By no more than the entries of the exceptions.
    Raises,
    /// By more, with the entries that are larger at the peak.
    Breaks(Vec<&'static str>),
}

/// The effect by all exceptions, or by all but one.
fn effect(measure: Measure, pair: &(Scenario, Scenario), but: Option<&Exception>) -> Effect {
    let (before, after) = (estimate(&pair.0), estimate(&pair.1));
    let (low, high) = (before.peak().bytes.get(), after.peak().bytes.get());
    if at_most(high, low) {
        return Effect::Lowers;
    }
    let name = measure.name();
    let rise = |name: &str| rise(&before, &after, name, pair.1.device.fragmentation.fraction());
    let of = |one: &&Exception| one.is_of(&name) && but.is_none_or(|but| !std::ptr::eq(*one, but));
    let mut names: Vec<&str> = exceptions::ALL.iter().filter(of).flat_map(|one| one.entries).copied().collect();
    if but.is_none() && !names.is_empty() {
        // What is the allocator's share of one thing may become that of another.
        names.push("Fragmentation");
    }
    names.sort_unstable();
    names.dedup();
    if at_most(high, low + names.iter().map(|name| rise(name)).sum::<f64>()) {
        return Effect::Raises;
    }
    let mut larger: Vec<(&str, f64)> = Vec::new();
    for entry in after.largest() {
        if !larger.iter().any(|(name, _)| *name == entry.name) && !names.contains(&entry.name) {
            larger.push((entry.name, rise(entry.name)));
        }
    }
    larger.retain(|(_, rise)| *rise > NEARLY * high);
    larger.sort_by(|one, other| other.1.total_cmp(&one.1));
    Effect::Breaks(larger.into_iter().map(|(name, _)| name).collect())
}

/// The most of these buckets at the instants that a part speaks of.
fn most(estimate: &Estimate, part: &Part) -> f64 {
    let there = estimate.instants.iter().enumerate().filter(|(_, instant)| (part.at)(instant.name));
    let sums =
        there.map(|(at, _)| part.buckets.iter().map(|bucket| estimate.bucket_at(*bucket, at).get()).sum::<f64>());
    sums.fold(0.0, f64::max)
}

/// What a part is called where it does not hold.
fn name_of(part: &Part) -> String {
    let buckets: Vec<_> = part.buckets.iter().map(|bucket| bucket.name()).collect();
    format!("{}: {}", part.measure.name(), buckets.join(" and "))
}

/// Whether what a measure is for does not grow by it.
fn holds_in_part(part: &Part, pair: &(Scenario, Scenario)) -> bool {
    at_most(most(&estimate(&pair.1), part), most(&estimate(&pair.0), part))
}

/// The pair that a measure makes of a scenario, where the settings of both go together.
fn pair(measure: Measure, scenario: Scenario) -> Option<(Scenario, Scenario)> {
    measure.pair(scenario).filter(|pair| pair.0.conflicts().is_empty() && pair.1.conflicts().is_empty())
}

/// Holds everything for the scenarios with these numbers: of each kind of measure one that is drawn.
fn hold(numbers: impl Iterator<Item = u64>) -> Tally {
    let mut tally = Tally::default();
    for number in numbers {
        let mut random = Random::of(number);
        let scenario = random.scenario();
        tally.scenarios += 1;
        let began = Instant::now();
        _ = b_max(&scenario);
        let took = began.elapsed();
        if took > tally.slowest.0 {
            tally.slowest = (took, link::encode(&scenario));
        }
        if let Err(what) = alone(&scenario) {
            tally.broken.push(Broken { what: what.to_owned(), scenario, entries: Vec::new() });
        }
        let Some(scenario) = mended(scenario) else { continue };
        tally.mended += 1;
        let part = random.one(&relations::PARTS);
        if pair(part.measure, scenario).is_some_and(|pair| !holds_in_part(part, &pair)) {
            tally.broken.push(Broken { what: name_of(part), scenario, entries: Vec::new() });
        }
        for (_, measures) in &relations::ALL {
            let measure = *random.one(measures);
            let Some(pair) = pair(measure, scenario) else { continue };
            let count = tally.measures.entry(measure.name()).or_default();
            count[0] += 1;
            match effect(measure, &pair, None) {
                Effect::Lowers => {}
                Effect::Raises => count[1] += 1,
                Effect::Breaks(entries) => {
                    count[1] += 1;
                    tally.broken.push(Broken { what: measure.name(), scenario, entries });
                }
            }
        }
    }
    tally
}

/// The same on all cores.
fn hold_all(count: u64) -> Tally {
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get()) as u64;
    let mut tally = Tally::default();
    thread::scope(|scope| {
        let parts: Vec<_> = (0..cores)
            .map(|core| scope.spawn(move || hold((0..count).filter(|number| number % cores == core))))
            .collect();
        for part in parts {
            tally.add(part.join().expect("nothing panics"));
        }
    });
    tally
}

/// A link to a scenario that breaks the same, with all parameters taken away that it can do without.
fn shrunk(broken: &Broken) -> String {
    let fails = |link: &str| {
        let scenario = link::decode(link).scenario;
        let part = relations::PARTS.iter().find(|part| name_of(part) == broken.what);
        match measure(&broken.what) {
            None if part.is_some() => part.zip(mended(scenario)).is_some_and(|(part, scenario)| {
                pair(part.measure, scenario).is_some_and(|pair| !holds_in_part(part, &pair))
            }),
            None => alone(&scenario).is_err_and(|what| what == broken.what),
            Some(measure) => mended(scenario)
                .and_then(|scenario| pair(measure, scenario))
                .is_some_and(|pair| matches!(effect(measure, &pair, None), Effect::Breaks(_))),
        }
    };
    let link = link::encode(&broken.scenario);
    let mut parts: Vec<&str> = link.split('&').collect();
    for at in (1..parts.len()).rev() {
        let part = parts.remove(at);
        if !fails(&parts.join("&")) {
            parts.insert(at, part);
        }
    }
    parts.join("&")
}

/// The measure of this name.
fn measure(name: &str) -> Option<Measure> {
    relations::ALL.iter().flat_map(|kind| kind.1).copied().find(|measure| measure.name() == name)
}

/// What is broken, the same entries together: how often, and the shortest link to one.
fn told(broken: &[Broken]) -> String {
    let mut groups: BTreeMap<(&str, &[&str]), Vec<&Broken>> = BTreeMap::new();
    for one in broken {
        groups.entry((&one.what, &one.entries[..one.entries.len().min(2)])).or_default().push(one);
    }
    let mut lines = Vec::new();
    for ((what, entries), all) in groups {
        let shortest = all.iter().take(8).map(|one| shrunk(one)).min_by_key(String::len).unwrap_or_default();
        lines.push(format!("{what} | {} | {} | {shortest}", entries.join(", "), all.len()));
    }
    lines.join("\n")
}

#[test]
fn what_must_be_true_is_true_of_random_scenarios() {
    let began = Instant::now();
    let tally = hold_all(2_000);
    println!("{} scenarios, {:.1} s", tally.scenarios, began.elapsed().as_secs_f64());
    assert!(tally.broken.is_empty(), "\n{}", told(&tally.broken));
    assert!(tally.mended * 10 > tally.scenarios * 9, "{} of {}", tally.mended, tally.scenarios);
}

#[test]
#[ignore = "minutes: a step of make fuzz"]
fn by_the_million() {
    let count = std::env::var("BMAX_SCENARIOS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let began = Instant::now();
    let tally = hold_all(count);
    println!("{} scenarios, {} of them mended, {:.1} s", count, tally.mended, began.elapsed().as_secs_f64());
    println!("the slowest b_max: {:.2} ms, {}", tally.slowest.0.as_secs_f64() * 1e3, tally.slowest.1);
    println!("pairs, of which more need more, by a named exception:");
    for (name, [taken, rose]) in &tally.measures {
        println!("{taken:9} {rose:7}  {name}");
    }
    assert!(tally.broken.is_empty(), "\n{}", told(&tally.broken));
}

#[test]
fn every_exception_has_a_scenario_for_each_of_its_measures_that_needs_it() {
    let mut wrong = Vec::new();
    for exception in exceptions::ALL {
        assert!(exception.because.ends_with(['.', ')']), "a reason is a sentence: {}", exception.because);
        for &(name, link) in exception.shown {
            let read = link::decode(link);
            assert_eq!(read.notices, [], "{link}");
            let measure = measure(name).unwrap_or_else(|| panic!("{name} is a measure"));
            let pair =
                pair(measure, read.scenario).unwrap_or_else(|| panic!("{name}: settings do not go together: {link}"));
            let without = effect(measure, &pair, Some(exception));
            match effect(measure, &pair, None) {
                Effect::Raises if matches!(without, Effect::Breaks(_)) => {}
                Effect::Raises => wrong.push(format!("{name} has no need of this exception: {link}")),
                Effect::Lowers => wrong.push(format!("{name} raises no peak, so that this shows no exception: {link}")),
                Effect::Breaks(more) => wrong.push(format!("{name} raises the peak by more, by {more:?}: {link}")),
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
