//! The answer: how many sequences fit, or why none does.

use std::cell::OnceCell;

use super::bounds::Field;
use super::change::Change;
use super::choice::Evaluation;
use super::conflict::{Conflict, ConflictKind};
use super::estimate::{Entry, filled_in};
use super::ledger::{Instant, Ledger, Straight};
use super::levers::outside_changes;
use super::scenario::{Cluster, Origin, Scenario};
use super::search;
use super::sweep::{at_length, with_memory};
use super::units::Bytes;

/// What [`b_max`] answers. "Does not fit" is an answer with a reason, never a bare zero, and a question that has
/// no answer is refused, never answered by another one.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// At least one sequence fits.
    Fits(Room),
    /// Not even one does.
    Infeasible(Infeasible),
    /// It cannot be said.
    Refused(Refusal),
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Refusal {
    /// What is wrong with the question.
    pub kind: RefusalKind,
    /// The settings that have no answer, each with the nearest that have one; none where the model is unknown.
    pub conflicts: Vec<Conflict>,
    /// What b_max would be by what is counted, were it an answer; `None` where not even one sequence would fit, or
    /// where what is counted is another model.
    pub would_be: Option<u32>,
}

/// What is wrong with a question that has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// Nobody knows the model that it names.
    UnknownModel,
    /// No program runs its settings together.
    Contradiction,
    /// Not all of what it asks for is counted.
    Uncounted,
}

/// How the largest micro-batch sits in the device.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Room {
    /// b_max: the largest micro-batch whose peak is within the usable memory.
    pub batch: u32,
    /// Whether the search stopped at the end of the declared range, so that more may fit.
    pub capped: bool,
    /// The peak at `batch`.
    pub peak: Bytes,
    /// What the peak grows by with one sequence more.
    pub per_sequence: Bytes,
    /// What one sequence more would lack; zero when `capped`.
    pub next_lacks: Bytes,
    /// Whether it is the memory of the machine that one sequence more would lack.
    pub by_host: bool,
}

/// Why no sequence fits, and by how much.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Infeasible {
    /// What is too large.
    pub shortage: Shortage,
    /// By how much the peak exceeds the usable memory.
    pub over: Bytes,
    /// The instant of that peak.
    pub instant: &'static Instant,
    /// The largest entry alive then.
    pub largest: Entry,
    /// The fewest GPUs with which one sequence fits, if any number in range does.
    pub fewest_gpus: Option<u32>,
    /// b_max of the training step alone, where only something outside it does not fit.
    pub training: Option<u32>,
    /// What lets that fit beside training, if one change does.
    pub mend: Option<Change>,
}

/// What is too large when nothing fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// Parameters, gradients and optimizer state exceed the usable memory before any sequence.
    ModelStates,
    /// Model states fit, but the activations of one sequence do not fit beside them.
    FirstSequence,
    /// The training step fits, but something outside it does not: evaluation, a checkpoint, merging.
    Outside,
    /// The device has room for one sequence, but the machine none for what its devices hand over.
    HostMemory,
}

impl Answer {
    /// Whether it is the memory of the machine that stops the next sequence, or the first.
    pub const fn by_host(&self) -> bool {
        match self {
            Self::Fits(room) => room.by_host,
            Self::Infeasible(reason) => matches!(reason.shortage, Shortage::HostMemory),
            Self::Refused(_) => false,
        }
    }

    /// b_max, if any sequence fits.
    pub const fn batch(&self) -> Option<u32> {
        match self {
            Self::Fits(room) => Some(room.batch),
            Self::Infeasible(_) | Self::Refused(_) => None,
        }
    }

    /// The answer, unless the scenario has none; a number that was found is then what it would be.
    fn unless(self, refused: &Option<Refusal>) -> Self {
        match refused {
            Some(refusal) if refusal.kind == RefusalKind::UnknownModel => Self::Refused(refusal.clone()),
            Some(refusal) => Self::Refused(Refusal { would_be: self.batch(), ..refusal.clone() }),
            None => self,
        }
    }
}

impl RefusalKind {
    /// The word of exports and messages.
    pub const fn key(self) -> &'static str {
        match self {
            Self::UnknownModel => "unknown-model",
            Self::Contradiction => "contradiction",
            Self::Uncounted => "uncounted",
        }
    }
}

impl Refusal {
    /// Why a scenario has no answer, if it has none; what b_max would be is still to be found.
    pub(super) fn of(scenario: &Scenario) -> Option<Self> {
        if scenario.model.origin == Origin::Unknown {
            return Some(Self { kind: RefusalKind::UnknownModel, conflicts: Vec::new(), would_be: None });
        }
        let conflicts = scenario.conflicts();
        let kind = match conflicts.iter().map(|conflict| conflict.kind).max()? {
            ConflictKind::Contradiction => RefusalKind::Contradiction,
            ConflictKind::Uncounted => RefusalKind::Uncounted,
        };
        Some(Self { kind, conflicts, would_be: None })
    }
}

/// The largest micro-batch in sequences per GPU, by search over the exact ledger.
///
/// The scenario's own micro-batch does not matter. The result lies in the declared range of
/// [`Field::Batch`]; at its end it is marked as capped. Settings that contradict each other or are not all counted,
/// and a model that nobody knows, are [refused](Answer::Refused).
///
/// ```
/// use bmax::{Method, Recomputation, Scenario, b_max};
/// // By the workshop's method, which prints this number.
/// let mut scenario = Scenario { method: Method::Workshop, ..Scenario::workshop() };
/// scenario.recipe.recomputation = Recomputation::Full;
/// assert_eq!(b_max(&scenario).batch(), Some(117));
/// ```
pub fn b_max(scenario: &Scenario) -> Answer {
    answer_of(scenario, &Ledger::of(scenario), &Refusal::of(scenario), &FewestGpus::default())
}

impl Scenario {
    /// The same scenario at its largest micro-batch; at one sequence where not even that fits, or where there is no answer.
    /// It is what a link means that says no micro-batch.
    ///
    /// ```
    /// use bmax::{Scenario, b_max, catalogue};
    /// let scenario = catalogue::model("qwen2.5-7b").expect("listed").apply(Scenario::default()).at_largest();
    /// assert_eq!(b_max(&scenario).batch(), Some(scenario.recipe.batch));
    /// assert!(scenario.is_at_largest() && !scenario.with_batch(1).is_at_largest());
    /// ```
    #[must_use]
    pub fn at_largest(self) -> Self {
        // The number alone: the reasons of a refusal or of too little memory take many ledgers.
        let most = if Refusal::of(&self).is_none() { largest_micro_batch(&self) } else { None };
        self.with_batch(most.unwrap_or(1))
    }

    /// The scenario that comes after this one: `next`, and what is here as where nobody says it ([`as_unsaid`](Self::as_unsaid))
    /// and is not changed by `next` is so again.
    #[must_use]
    pub fn then(&self, next: Self) -> Self {
        let (now, mut after) = (&self.comparison, next);
        if now.gpus == self.cluster.gpus && next.comparison.gpus == now.gpus {
            after.comparison.gpus = next.cluster.gpus;
        }
        if now.recomputation == self.recipe.recomputation && next.comparison.recomputation == now.recomputation {
            after.comparison.recomputation = next.recipe.recomputation;
        }
        let follows = next != *self && next.recipe.batch == self.recipe.batch && self.is_at_largest();
        if follows { after.at_largest() } else { after }
    }

    /// The same scenario with what follows from the rest where nobody says it: the largest micro-batch, and a chart whose
    /// references are on as many GPUs and recomputed as the scenario itself.
    #[must_use]
    pub fn as_unsaid(self) -> Self {
        self.at_largest().compared_alike()
    }

    /// The same scenario with a chart whose references are on as many GPUs and recomputed as the scenario itself.
    #[must_use]
    pub const fn compared_alike(mut self) -> Self {
        self.comparison.gpus = self.cluster.gpus;
        self.comparison.recomputation = self.recipe.recomputation;
        self
    }

    /// The same scenario with that of `other`.
    #[must_use]
    pub fn unsaid_of(self, other: &Self) -> Self {
        let mut with = self.with_batch(other.recipe.batch);
        with.comparison.gpus = other.comparison.gpus;
        with.comparison.recomputation = other.comparison.recomputation;
        with
    }

    /// Whether the micro-batch is the largest one, as [`at_largest`](Self::at_largest) has it.
    pub fn is_at_largest(&self) -> bool {
        self.at_largest().recipe.batch == self.recipe.batch
    }
}

/// How many GPUs would hold one sequence, which several answers about a scenario share: it takes more ledgers than all else.
#[derive(Default)]
pub(super) struct FewestGpus(OnceCell<Option<u32>>);

impl FewestGpus {
    fn of(&self, scenario: &Scenario) -> Option<u32> {
        *self.0.get_or_init(|| fewest_gpus(scenario, 1))
    }
}

/// The answer that a ledger gives, unless it is refused. `fewest` is of this scenario alone.
pub(super) fn answer_of(
    scenario: &Scenario,
    ledger: &Ledger,
    refused: &Option<Refusal>,
    fewest: &FewestGpus,
) -> Answer {
    found(scenario, ledger, fewest).unless(refused)
}

fn found(scenario: &Scenario, ledger: &Ledger, fewest: &FewestGpus) -> Answer {
    let usable = scenario.usable();
    let straight = ledger.straight();
    let on_device = largest_batch(&straight, usable);
    if on_device == 0 {
        return Answer::Infeasible(infeasible(scenario, ledger, usable, fewest));
    }
    let batch = on_device.min(in_host(scenario, ledger));
    if batch == 0 {
        return Answer::Infeasible(too_little_host(scenario, ledger, fewest));
    }
    let (peak, next) = (straight.peak(batch), straight.peak(batch + 1));
    if batch < on_device {
        let next_lacks = ledger.host_peak(batch + 1) - scenario.host.ram;
        let per_sequence = next - peak;
        return Answer::Fits(Room { batch, capped: false, peak, per_sequence, next_lacks, by_host: true });
    }
    let capped = batch == LIMIT;
    Answer::Fits(Room {
        batch,
        capped,
        peak,
        per_sequence: next - peak,
        next_lacks: if capped { Bytes::ZERO } else { next - usable },
        by_host: false,
    })
}

/// b_max alone, without its reasons: what a curve of many points needs. It is the number of what is counted, also where
/// [`b_max`] refuses to call that an answer.
///
/// ```
/// use bmax::{Scenario, b_max, largest_micro_batch};
/// let scenario = Scenario::workshop();
/// assert_eq!(largest_micro_batch(&scenario), b_max(&scenario).batch());
/// ```
pub fn largest_micro_batch(scenario: &Scenario) -> Option<u32> {
    let ledger = Ledger::of(scenario);
    let batch = most(scenario, &ledger);
    (batch > 0).then_some(batch)
}

/// How many sequences a device and its machine have room for; 0 where not even one.
fn most(scenario: &Scenario, ledger: &Ledger) -> u32 {
    largest_batch(&ledger.straight(), scenario.usable()).min(in_host(scenario, ledger))
}

/// b_max, or what one sequence lacks of the device or of the machine; `None` where the settings have no answer.
pub(super) fn room_or_lack(scenario: &Scenario) -> Option<Result<u32, Bytes>> {
    if Refusal::of(scenario).is_some() {
        return None;
    }
    let ledger = Ledger::of(scenario);
    let batch = most(scenario, &ledger);
    let lacks = || {
        let on_device = ledger.peak(1).1 - scenario.usable();
        if on_device > Bytes::ZERO { on_device } else { ledger.host_peak(1) - scenario.host.ram }
    };
    Some(if batch > 0 { Ok(batch) } else { Err(lacks()) })
}

/// How many sequences the memory of the machine has room for; no limit where nobody said how much it is.
pub(super) fn in_host(scenario: &Scenario, ledger: &Ledger) -> u32 {
    let ram = scenario.host.ram;
    if ram == Bytes::ZERO || ledger.host.is_empty() || ledger.host_peak(LIMIT) <= ram {
        return LIMIT;
    }
    let (none, one) = (ledger.host_peak(0), ledger.host_peak(1));
    // `as` saturates.
    let guess = ((ram - none).get() / (one - none).get()) as u32;
    search::largest(LIMIT, guess, |batch| ledger.host_peak(batch) <= ram)
}

/// Whether the device and the machine have room for micro-batch `batch` of a scenario with this ledger.
pub(super) fn holds(scenario: &Scenario, ledger: &Ledger, batch: u32) -> bool {
    let ram = scenario.host.ram;
    ledger.peak(batch).1 <= scenario.usable() && (ram == Bytes::ZERO || ledger.host_peak(batch) <= ram)
}

fn too_little_host(scenario: &Scenario, ledger: &Ledger, fewest: &FewestGpus) -> Infeasible {
    let estimate = filled_in(scenario, ledger, 1);
    let peak = estimate.host.peak();
    Infeasible {
        shortage: Shortage::HostMemory,
        over: peak.bytes - scenario.host.ram,
        instant: peak.instant,
        // Something is there, because it is too much.
        largest: estimate.host.largest().copied().unwrap_or(*estimate.largest()[0]),
        fewest_gpus: fewest.of(scenario),
        training: None,
        mend: None,
    }
}

/// b_max at each of `lengths`, in tokens, where nothing but the number of tokens depends on the length:
/// one ledger then says all of them.
pub(crate) fn by_tokens(scenario: &Scenario, lengths: &[u32]) -> Vec<Option<u32>> {
    let ledger = Ledger::of(scenario);
    let straight = ledger.straight();
    let usable = scenario.usable();
    let own = f64::from(scenario.longest());
    let bounded = scenario.host.ram > Bytes::ZERO && !ledger.host.is_empty();
    let at = |length: &u32| {
        let other = at_length(scenario, *length);
        if bounded {
            return largest_micro_batch(&other);
        }
        let batch = largest_batch(&straight.scaled(f64::from(other.longest()) / own), usable);
        (batch > 0).then_some(batch)
    };
    lengths.iter().map(at).collect()
}

/// b_max on devices of these sizes, in MiB: no entry of a ledger but the share of an engine depends on how much memory
/// there is, so that one says all.
pub(crate) fn by_memory(scenario: &Scenario, memories: &[u32]) -> Vec<Option<u32>> {
    let ledger = Ledger::of(scenario);
    let straight = ledger.straight();
    let host = in_host(scenario, &ledger);
    let at = |mib: &u32| {
        let with = with_memory(*scenario, *mib);
        if scenario.task.has_engine() {
            return largest_micro_batch(&with);
        }
        let batch = largest_batch(&straight, with.usable()).min(host);
        (batch > 0).then_some(batch)
    };
    memories.iter().map(at).collect()
}

/// The end of the declared range, where the search stops.
const LIMIT: u32 = Field::Batch.bound().max as u32;

/// The search behind [`b_max`]: it starts where the first instant would reach the limit, and the totals
/// themselves decide from there.
fn largest_batch(straight: &Straight, usable: Bytes) -> u32 {
    // `as` saturates, so a negative or huge crossing becomes a harmless guess.
    search::largest(LIMIT, straight.crossing(usable) as u32, |batch| straight.peak(batch) <= usable)
}

fn infeasible(scenario: &Scenario, ledger: &Ledger, usable: Bytes, fewest: &FewestGpus) -> Infeasible {
    let (_, states) = ledger.peak(0);
    let estimate = filled_in(scenario, ledger, 1);
    let peak = estimate.peak();
    let alone = largest_batch(&ledger.straight_step(), usable);
    let training = (alone > 0 && peak.instant.is_outside()).then_some(alone);
    let shortage = match training {
        Some(_) => Shortage::Outside,
        None if states > usable => Shortage::ModelStates,
        None => Shortage::FirstSequence,
    };
    let conflicts = scenario.conflicts().len();
    let fits = |change: &Change| {
        let with = change.apply(*scenario);
        with.conflicts().len() <= conflicts && largest_micro_batch(&with).is_some()
    };
    Infeasible {
        shortage,
        over: peak.bytes - usable,
        instant: peak.instant,
        // A ledger always has its model states, so the list is never empty.
        largest: *estimate.largest()[0],
        fewest_gpus: fewest.of(scenario),
        training,
        mend: training.and_then(|_| outside_changes(scenario).into_iter().find(fits)),
    }
}

/// The fewest GPUs with which `batch` sequences fit on each, in whole groups of T·P·C, and with which no more settings
/// contradict each other than now; `None` when no number in the declared range is enough, as when activations alone are too
/// large.
///
/// ```
/// use bmax::{Scenario, fewest_gpus};
/// // The workshop's 7B model with selective recomputation needs two GPUs to train at all.
/// assert_eq!(fewest_gpus(&Scenario::workshop(), 1), Some(2));
/// ```
pub fn fewest_gpus(scenario: &Scenario, batch: u32) -> Option<u32> {
    /// Groups behind the first that has the memory, and as many whole sets of them for the experts, are looked at.
    const MOST_TRIED: u32 = 64;
    let first = fewest_with_memory(scenario, batch)?;
    let conflicts = scenario.conflicts().len();
    let on = |gpus: u32| Scenario { cluster: Cluster { gpus, ..scenario.cluster }, ..*scenario };
    let goes = |gpus: u32| on(gpus).conflicts().len() <= conflicts;
    if goes(first) {
        return Some(first);
    }
    let group = scenario.cluster.group().max(1);
    let set = group.checked_mul(scenario.cluster.expert_parallel).unwrap_or(group);
    let near = (1..=MOST_TRIED).map(|more| first.saturating_add(more.saturating_mul(group)));
    let sets = (1..=MOST_TRIED).map(|more| (first / set).saturating_add(more).saturating_mul(set));
    let mut tried: Vec<u32> = near.chain(sets).filter(|gpus| Field::Gpus.check(f64::from(*gpus)).is_ok()).collect();
    tried.sort_unstable();
    tried.into_iter().find(|gpus| goes(*gpus) && holds(&on(*gpus), &Ledger::of(&on(*gpus)), batch))
}

/// The fewest GPUs in whole groups that have the memory, and whose machines have it, whatever contradicts their number.
fn fewest_with_memory(scenario: &Scenario, batch: u32) -> Option<u32> {
    let gpus = fewest_by_device(scenario, batch)?;
    let group = scenario.cluster.group().max(1);
    let limit = (Field::Gpus.bound().max as u32 / group).max(1);
    let holds = |groups: u32| {
        let mut wider = *scenario;
        wider.cluster.gpus = groups.saturating_mul(group);
        holds(&wider, &Ledger::of(&wider), batch)
    };
    let from = gpus / group;
    if holds(from) {
        return Some(gpus);
    } else if from >= limit {
        return None;
    }
    // More machines have less each of what is divided.
    let groups = from + search::largest(limit - from, 1, |more| !holds(from + more)) + 1;
    (groups <= limit && holds(groups)).then_some(groups * group)
}

/// The same by the memory of the devices alone.
fn fewest_by_device(scenario: &Scenario, batch: u32) -> Option<u32> {
    let group = scenario.cluster.group().max(1);
    let limit = (Field::Gpus.bound().max as u32 / group).max(1);
    let of = |groups: u32| {
        let mut wider = *scenario;
        wider.cluster.gpus = groups.saturating_mul(group);
        Ledger::of(&wider)
    };
    let between = Between { of: &of, batch, usable: scenario.usable() };
    let lacks = |groups: u32| !between.is_enough(&of(groups));
    let turns = turns(scenario, limit);
    // Up to here more groups may need more for an evaluation; those are out of question that lack memory without it.
    let mut before = groups_that_join_logits(scenario).min(limit);
    if before > 0 {
        let mut without = *scenario;
        without.outside.evaluation = Evaluation::Off;
        let mut low = fewest_by_device(&without, batch)? / group;
        let ends = turns.iter().copied().filter(|end| *end < before).chain([before]);
        for high in ends {
            if high >= low {
                if let Some(groups) = between.first(low, high) {
                    return Some(groups * group);
                }
                low = high + 1;
            }
        }
    }
    for end in turns {
        if end <= before {
            continue;
        }
        if !lacks(end) {
            // From the number behind the last turn to this one more groups never need more.
            let most_lacking = search::largest(end - before, 1, |more| lacks(before + more));
            return Some((before + most_lacking + 1) * group);
        }
        before = end;
    }
    None
}

/// A search where more groups may need more and may need less.
struct Between<'a, Of: Fn(u32) -> Ledger> {
    of: &'a Of,
    batch: u32,
    usable: Bytes,
}

impl<Of: Fn(u32) -> Ledger> Between<'_, Of> {
    /// The first number of groups from `low` to `high` that is enough.
    fn first(&self, low: u32, high: u32) -> Option<u32> {
        let lowest = (self.of)(low);
        if self.is_enough(&lowest) {
            return Some(low);
        }
        if low < high { self.behind((low, &lowest), (high, &(self.of)(high))) } else { None }
    }

    fn is_enough(&self, ledger: &Ledger) -> bool {
        ledger.peak(self.batch).1 <= self.usable
    }

    /// The first that is enough behind `low`, which is not, and up to `high`, which is farther on. Half of the numbers are
    /// left out at a time, where the least that any of them may need is too much.
    fn behind(&self, low: (u32, &Ledger), high: (u32, &Ledger)) -> Option<u32> {
        if high.0 == low.0 + 1 {
            return self.is_enough(high.1).then_some(high.0);
        }
        if low.1.least_between(high.1, self.batch).is_some_and(|least| least > self.usable) {
            return None;
        }
        let middle = low.0.midpoint(high.0);
        let ledger = (self.of)(middle);
        self.behind(low, (middle, &ledger)).or_else(|| self.behind((middle, &ledger), high))
    }
}

/// The number of groups up to which one more may need more for kept logits: each device gathers those of all others,
/// until one batch from each is the whole evaluation set. Nobody looks farther than so many.
fn groups_that_join_logits(scenario: &Scenario) -> u32 {
    const MOST_TRIED: u32 = 2_048;
    let outside = &scenario.outside;
    let groups = match outside.eval_batch {
        _ if outside.evaluation != Evaluation::Logits => 0,
        0 if outside.eval_steps > 0 => MOST_TRIED,
        0 => 0,
        batch => outside.eval_sequences.div_ceil(batch),
    };
    groups.min(MOST_TRIED)
}

/// Numbers of groups behind which one group more may need more memory on each device, in order, and `limit`.
///
/// A second group brings communication, and copies of what it gathers. Experts that are whole on their device
/// are gathered once there are more devices than groups of experts, and weights that a part of all devices
/// shares are kept as a copy once there are more devices than that part.
fn turns(scenario: &Scenario, limit: u32) -> Vec<u32> {
    let cluster = &scenario.cluster;
    let context_parallel = cluster.context_parallel.max(1);
    let experts = cluster.expert_parallel.min(scenario.model.experts.count);
    let shared = [experts, cluster.expert_parallel, cluster.reshard].map(|devices| devices / context_parallel);
    let near = shared.into_iter().flat_map(|groups| [groups.saturating_sub(1), groups, groups.saturating_add(1)]);
    let mut turns: Vec<u32> =
        [1, 2, limit].into_iter().chain(near).filter(|groups| (1..=limit).contains(groups)).collect();
    turns.sort_unstable();
    turns.dedup();
    turns
}
