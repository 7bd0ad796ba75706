//! The filled-in ledger.

use serde::Serialize;

use super::choice::Method;
use super::formula::{Expr, Values};
use super::ledger::{Bucket, Instant, Instants, Ledger};
use super::scenario::Scenario;
use super::source::Source;
use super::units::Bytes;
use super::{paper, workshop};

impl Ledger {
    /// The ledger of a scenario, by the method it asks for.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        match scenario.method {
            Method::Workshop => workshop::ledger(scenario),
            Method::Paper => paper::ledger(scenario),
        }
    }
}

/// One named tensor or group of tensors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// What it is.
    pub name: &'static str,
    /// The bucket it belongs to.
    pub bucket: Bucket,
    /// Its size on one device.
    pub bytes: Bytes,
    /// The formula whose value `bytes` is.
    #[serde(skip)]
    pub formula: &'static Expr,
    /// Where the formula comes from.
    pub source: &'static Source,
    /// The instants at which it is alive.
    pub alive: Instants,
}

/// The memory of one training step on one device, entry by entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The accounting that made it.
    pub method: Method,
    /// The entries, grouped by bucket in the order of [`Bucket::ALL`].
    pub entries: Vec<Entry>,
    /// The instants that entries refer to by position.
    pub instants: &'static [Instant],
    /// Memory of the device.
    pub memory: Bytes,
    /// The part of it kept free.
    pub reserved: Bytes,
    /// The values that the entries' formulas were evaluated with.
    #[serde(skip)]
    pub values: Values,
}

/// The instant at which most memory is alive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Peak {
    /// That instant.
    pub instant: &'static Instant,
    /// What is alive then.
    pub bytes: Bytes,
}

/// How an estimate stands to the device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// It fits and leaves this much of the usable memory.
    Free(Bytes),
    /// It is larger than the usable memory by this much, but smaller than the device: it lives off
    /// the headroom.
    Close(Bytes),
    /// It is larger than the device by this much.
    Over(Bytes),
}

/// The ledger of `scenario` at its micro-batch, on one device.
///
/// Every field inside its declared range gives finite, non-negative entries. Nothing is rounded.
///
/// ```
/// use bmax::{Bucket, Scenario, estimate};
/// let estimate = estimate(&Scenario::default());
/// // 7·10⁹ parameters × 4 bytes over eight GPUs.
/// assert_eq!(estimate.bucket(Bucket::Parameters).get(), 3.5e9);
/// ```
pub fn estimate(scenario: &Scenario) -> Estimate {
    let ledger = Ledger::of(scenario);
    let values = ledger.values_at(scenario.recipe.batch);
    let entry = |line: &super::ledger::Line| Entry {
        name: line.name,
        bucket: line.bucket,
        bytes: Bytes::new(line.formula.value(&values)),
        formula: line.formula,
        source: line.source,
        alive: line.alive,
    };
    Estimate {
        method: scenario.method,
        entries: ledger.lines.iter().map(entry).collect(),
        instants: ledger.instants,
        memory: scenario.device.memory(),
        reserved: scenario.device.reserved(),
        values,
    }
}

impl Estimate {
    /// What a step may use: the device without its headroom.
    pub fn usable(&self) -> Bytes {
        self.memory - self.reserved
    }

    /// Everything alive at the instant with this position.
    pub fn total_at(&self, position: usize) -> Bytes {
        self.alive_at(position).map(|entry| entry.bytes).sum()
    }

    /// One bucket at the instant with this position.
    pub fn bucket_at(&self, bucket: Bucket, position: usize) -> Bytes {
        self.alive_at(position).filter(|entry| entry.bucket == bucket).map(|entry| entry.bytes).sum()
    }

    /// One bucket at the peak.
    pub fn bucket(&self, bucket: Bucket) -> Bytes {
        self.bucket_at(bucket, self.binding().0)
    }

    /// The entries alive at the peak, largest first.
    pub fn largest(&self) -> Vec<&Entry> {
        let mut largest: Vec<&Entry> = Vec::new();
        for entry in self.alive_at(self.binding().0) {
            let place = largest.iter().position(|other| other.bytes < entry.bytes).unwrap_or(largest.len());
            largest.insert(place, entry);
        }
        largest
    }

    /// The maximum over instants of what is alive, not the sum of buckets.
    pub fn peak(&self) -> Peak {
        let (position, bytes) = self.binding();
        Peak { instant: &self.instants[position], bytes }
    }

    /// How the peak stands to the device.
    pub fn balance(&self) -> Balance {
        let peak = self.peak().bytes;
        if peak <= self.usable() {
            Balance::Free(self.usable() - peak)
        } else if peak <= self.memory {
            Balance::Close(peak - self.usable())
        } else {
            Balance::Over(peak - self.memory)
        }
    }

    fn alive_at(&self, position: usize) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.alive.contains(position))
    }

    /// Position and total of the binding instant; the first of several as high.
    fn binding(&self) -> (usize, Bytes) {
        let mut binding = (0, self.total_at(0));
        for position in 1..self.instants.len() {
            let total = self.total_at(position);
            if total > binding.1 {
                binding = (position, total);
            }
        }
        binding
    }
}
