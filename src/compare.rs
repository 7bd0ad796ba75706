//! Two scenarios side by side: which inputs differ, what fits on either, and where their peaks differ.
//!
//! ```
//! use bmax::compare::{Input, compare};
//! use bmax::{Field, Scenario};
//!
//! let before = Scenario::workshop();
//! let after = before.with_number(Field::Sequence, 4_096.0)?;
//! let comparison = compare(&before, &after);
//! assert_eq!(comparison.changes.len(), 1);
//! assert_eq!(comparison.changes[0].input, Input::Number(Field::Sequence));
//! assert!(comparison.delta.get() > 0.0);
//! # Ok::<(), bmax::InputError>(())
//! ```

use crate::{Answer, Bucket, Bytes, Estimate, Peak, Scenario, b_max, catalogue, estimate, link};

pub use crate::input::{Input, Value};

/// What is different between two scenarios and between their answers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// The inputs that differ: model and GPU first, then numbers and words in the order of links.
    pub changes: Vec<Difference>,
    /// The first scenario.
    pub before: Side,
    /// The second one.
    pub after: Side,
    /// What is alive at either peak, by name and bucket; what differs most comes first, and what differs by
    /// nothing is there as well.
    pub entries: Vec<EntryChange>,
    /// The same added up, every bucket in its usual order.
    pub buckets: Vec<BucketChange>,
    /// What the second peak has more than the first: the sum of the differences of the buckets in their order, to
    /// the last bit. Sums of the same entries in another order, as the peaks themselves, may differ there.
    pub delta: Bytes,
}

/// One of the two scenarios.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Side {
    /// The largest micro-batch, or why none fits.
    pub answer: Answer,
    /// The micro-batch of the scenario, for which the peak is.
    pub micro_batch: u32,
    /// The instant with most memory, and how much.
    pub peak: Peak,
    /// What a step may use.
    pub usable: Bytes,
}

/// An input that differs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// Which.
    pub input: Input,
    /// Its value in the first scenario.
    pub before: Value,
    /// Its value in the second.
    pub after: Value,
    /// The inputs that differ because of it: what another model or another GPU brings with it.
    pub brings: Vec<Difference>,
}

/// An entry at the two peaks.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct EntryChange {
    /// What it is.
    pub name: &'static str,
    /// The bucket it belongs to.
    pub bucket: Bucket,
    /// Its size at the first peak, if it is alive there.
    pub before: Option<Bytes>,
    /// Its size at the second.
    pub after: Option<Bytes>,
    /// What the second has more than the first; negative when it has less.
    pub delta: Bytes,
}

/// A bucket at the two peaks.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BucketChange {
    /// Which.
    pub bucket: Bucket,
    /// Its size at the first peak.
    pub before: Bytes,
    /// Its size at the second.
    pub after: Bytes,
    /// The sum of the differences of its entries.
    pub delta: Bytes,
}

impl Input {
    /// Its value in a scenario; a model or GPU of no row is [`link::OWN`].
    pub fn value(self, scenario: &Scenario) -> Value {
        match self {
            Self::Model => Value::Word(link::model_word(scenario.model.origin)),
            Self::Gpu if scenario.device.origin.is_empty() => Value::Word(link::OWN),
            Self::Gpu => Value::Word(scenario.device.origin),
            Self::Number(field) => Value::Number(scenario.number(field)),
            Self::Word(setting) => Value::Word(setting.get(scenario)),
        }
    }

    /// Whether two scenarios have another value of it.
    pub fn differs(self, one: &Scenario, other: &Scenario) -> bool {
        self.value(one) != self.value(other)
    }

    /// `scenario` with the row of this input that `other` has, and with all numbers of it where it is no row.
    fn taken(self, scenario: &Scenario, other: &Scenario) -> Scenario {
        match self {
            Self::Model => catalogue::model_of(other.model.origin)
                .map_or(Scenario { model: other.model, ..*scenario }, |row| row.apply(*scenario)),
            Self::Gpu => catalogue::device(other.device.origin)
                .map_or(Scenario { device: other.device, ..*scenario }, |row| row.apply(*scenario)),
            Self::Number(_) | Self::Word(_) => *scenario,
        }
    }
}

/// The inputs in which two scenarios differ.
///
/// Another model or GPU is one change, which brings the numbers that its row has; what was edited besides is a
/// change of its own.
pub fn changes(before: &Scenario, after: &Scenario) -> Vec<Difference> {
    // What follows from the other changes, as the largest micro-batch does, is none of its own.
    let unsaid = link::unsaid_after(before, after);
    let changed = |input: Input| {
        let (was, is) = (input.value(before), input.value(after));
        let is_change = was != is && !(input.follows() && input.value(&unsaid) == is);
        is_change.then(|| Difference { input, before: was, after: is, brings: Vec::new() })
    };
    let mut single: Vec<Difference> = Input::each().filter_map(changed).collect();
    let mut all = Vec::new();
    let mut now = *before;
    for input in [Input::Model, Input::Gpu] {
        let Some(mut change) = changed(input) else { continue };
        let next = input.taken(&now, after);
        let is_brought = |change: &Difference| {
            let brought = change.input.value(&next);
            brought != change.input.value(&now) && brought == change.after
        };
        (change.brings, single) = single.into_iter().partition(is_brought);
        all.push(change);
        now = next;
    }
    all.extend(single);
    all
}

/// What turns one scenario into another, and what that does to the memory of one GPU.
///
/// The peaks are those at the micro-batch of either scenario, and need not be at the same instant.
pub fn compare(before: &Scenario, after: &Scenario) -> Comparison {
    let (first, second) = (estimate(before), estimate(after));
    let mut entries: Vec<EntryChange> = Vec::new();
    for (name, bucket, bytes) in at_peak(&first) {
        entries.push(EntryChange { name, bucket, before: Some(bytes), after: None, delta: Bytes::ZERO - bytes });
    }
    for (name, bucket, bytes) in at_peak(&second) {
        match entries.iter_mut().find(|entry| (entry.name, entry.bucket) == (name, bucket)) {
            Some(entry) => {
                entry.after = Some(bytes);
                entry.delta = bytes - entry.before.unwrap_or(Bytes::ZERO);
            }
            None => entries.push(EntryChange { name, bucket, before: None, after: Some(bytes), delta: bytes }),
        }
    }
    let bucket = |&bucket: &Bucket| {
        let of = |part: fn(&EntryChange) -> Bytes| entries.iter().filter(|e| e.bucket == bucket).map(part).sum();
        BucketChange {
            bucket,
            before: of(|entry| entry.before.unwrap_or(Bytes::ZERO)),
            after: of(|entry| entry.after.unwrap_or(Bytes::ZERO)),
            delta: of(|entry| entry.delta),
        }
    };
    let buckets: Vec<BucketChange> = Bucket::ALL.iter().map(bucket).collect();
    let delta = buckets.iter().map(|bucket| bucket.delta).sum();
    entries.sort_by(|a, b| b.delta.get().abs().total_cmp(&a.delta.get().abs()));
    Comparison {
        changes: changes(before, after),
        before: Side::of(before, &first),
        after: Side::of(after, &second),
        entries,
        buckets,
        delta,
    }
}

/// What is alive at the peak, in the order of the ledger. Entries of one name and bucket are one to the reader.
fn at_peak(estimate: &Estimate) -> Vec<(&'static str, Bucket, Bytes)> {
    let (position, _) = estimate.binding();
    let mut alive: Vec<(&'static str, Bucket, Bytes)> = Vec::new();
    for entry in estimate.entries.iter().filter(|entry| entry.alive.contains(position)) {
        match alive.iter_mut().find(|(name, bucket, _)| (*name, *bucket) == (entry.name, entry.bucket)) {
            Some((_, _, bytes)) => *bytes = *bytes + entry.bytes,
            None => alive.push((entry.name, entry.bucket, entry.bytes)),
        }
    }
    alive
}

impl Side {
    fn of(scenario: &Scenario, estimate: &Estimate) -> Self {
        Self {
            answer: b_max(scenario),
            micro_batch: scenario.recipe.batch,
            peak: estimate.peak(),
            usable: estimate.usable(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(query: &str) -> Scenario {
        let read = link::decode(query);
        assert_eq!(read.notices, [], "{query}");
        read.scenario
    }

    /// Keys of the changes, and of what each brings.
    fn keys(before: &str, after: &str) -> Vec<(&'static str, Vec<&'static str>)> {
        let keys = |changes: &[Difference]| changes.iter().map(|change| change.input.key()).collect::<Vec<_>>();
        let all = changes(&scenario(before), &scenario(after));
        all.iter().map(|change| (change.input.key(), keys(&change.brings))).collect()
    }

    #[test]
    fn what_was_typed_is_what_changes() {
        assert_eq!(keys("s=2048", "s=8192&recompute=none"), [("s", vec![]), ("recompute", vec![])]);
        assert_eq!(keys("model=7b", "model=7b"), []);
        // The largest micro-batch follows from the rest; any other is the reader's own.
        assert_eq!(keys("s=2048", "s=8192&b=2"), [("s", vec![]), ("b", vec![])]);
    }

    #[test]
    fn another_row_is_one_change_that_brings_its_numbers() {
        // Both presets are plain GPT blocks of other sizes.
        let brought = ["params", "hidden", "layers", "heads", "kv", "ffn"];
        assert_eq!(keys("model=7b", "model=13b"), [("model", brought.to_vec())]);
        assert_eq!(keys("gpu=a100-80", "gpu=h100-80"), [("gpu", vec!["mem", "driver", "workspace"])]);
        let both = keys("model=7b&gpu=a100-80&s=1024", "model=13b&gpu=h100-80&s=4096");
        assert_eq!(both.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["model", "gpu", "s"]);
    }

    #[test]
    fn what_is_edited_in_a_row_is_a_change_of_its_own() {
        let edited = keys("model=7b", "model=13b&layers=50&mem=70");
        let brought = vec!["params", "hidden", "heads", "kv", "ffn"];
        assert_eq!(edited, [("model", brought), ("layers", vec![]), ("mem", vec![])]);
        // An edit that happens to give what the other row has is no difference.
        assert_eq!(keys("model=7b&layers=40", "model=13b")[0].1, ["params", "hidden", "heads", "kv", "ffn"]);
    }

    #[test]
    fn a_model_of_ones_own_brings_all_its_numbers_or_changes_one_by_one() {
        let own = keys("model=llama-3.1-8b", "model=own&layers=7");
        // What a model of one's own does not say is that of the default.
        let keys_of_own: Vec<_> = own.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys_of_own, ["model"], "{own:?}");
        assert_eq!(own[0].1, ["layers"], "{own:?}");
        assert_eq!(keys("model=own&layers=7", "model=own&layers=8"), [("layers", vec![])]);
    }

    #[test]
    fn an_entry_of_one_peak_only_is_there_with_all_it_takes() {
        // Offloaded optimizer state leaves the device, and its master copies with it.
        let (before, after) = (scenario("zero=0&gpus=1"), scenario("zero=0&gpus=1&offload=optimizer"));
        let comparison = compare(&before, &after);
        let gone: Vec<_> = comparison.entries.iter().filter(|entry| entry.after.is_none()).collect();
        assert!(gone.iter().any(|entry| entry.bucket == Bucket::Optimizer), "{gone:?}");
        assert!(gone.iter().all(|entry| entry.before.map(|bytes| Bytes::ZERO - bytes) == Some(entry.delta)));
        assert!(comparison.delta.get() < 0.0);
    }
}
