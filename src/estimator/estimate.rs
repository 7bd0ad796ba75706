//! The filled-in ledger.

use serde::Serialize;

use super::choice::Method;
use super::counted::Allocator;
use super::formula::{Expr, Symbol, Values};
use super::ledger::{Bucket, HOST, Instant, Instants, Ledger, Line};
use super::meaning::Part;
use super::runtime::held;
use super::scenario::Scenario;
use super::source::{self, Source};
use super::units::Bytes;
use super::{counted, paper, workshop};

impl Ledger {
    /// The ledger of a scenario, by the method it asks for.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        match scenario.method {
            Method::Ledger => counted::ledger(scenario, Allocator::Live),
            Method::Workshop => workshop::ledger(&scenario.at_longest()),
            Method::Paper => paper::ledger(&scenario.at_longest()),
        }
    }
}

/// One named tensor or group of tensors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
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
    /// Bytes per element times elements, as counted: the number at the head of the formula.
    pub coefficient: f64,
    /// Layers that the entry stands for.
    pub layers: f64,
    /// Weights that the entry stands for, where its formula names their number.
    pub weights: f64,
    /// What it is, as far as sentences about an instant are made from it.
    #[serde(skip)]
    pub part: Part,
}

/// The memory of one training step on one device, entry by entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// The accounting that made it.
    pub method: Method,
    /// The entries, in the order in which the method counts them.
    pub entries: Vec<Entry>,
    /// The instants that entries refer to by position.
    pub instants: Vec<&'static Instant>,
    /// The ranks of a pipeline that are counted, in the order of their instants: the last one first. Empty
    /// without a pipeline.
    pub ranks: Vec<u32>,
    /// Memory of the device.
    pub memory: Bytes,
    /// The part of it kept free.
    pub reserved: Bytes,
    /// What is in the memory of the machine, which no entry above counts.
    pub host: HostCounter,
    /// The values that the entries' formulas were evaluated with.
    #[serde(skip)]
    pub values: Values,
}

/// The memory of one machine outside its devices: a counter of its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HostCounter {
    /// What is there, for all devices of the machine together.
    pub entries: Vec<Entry>,
    /// The instants that entries refer to by position: loading and training.
    pub instants: &'static [Instant],
    /// Memory of the machine; 0 where nobody said.
    pub memory: Bytes,
    /// Devices that share it.
    pub gpus: u32,
}

impl HostCounter {
    /// Everything there at the instant with this position.
    pub fn total_at(&self, position: usize) -> Bytes {
        self.entries.iter().filter(|entry| entry.alive.contains(position)).map(|entry| entry.bytes).sum()
    }

    /// The fuller of the instants.
    pub fn peak(&self) -> Peak {
        let (loading, training) = (self.total_at(0), self.total_at(1));
        let fuller = usize::from(training >= loading);
        Peak { instant: &self.instants[fuller], bytes: if fuller == 1 { training } else { loading } }
    }

    /// The largest entry at the fuller instant, if anything is there.
    pub fn largest(&self) -> Option<&Entry> {
        let (loading, training) = (self.total_at(0), self.total_at(1));
        let alive = self.entries.iter().filter(|entry| entry.alive.contains(usize::from(training >= loading)));
        alive.reduce(|most, next| if next.bytes > most.bytes { next } else { most })
    }

    /// How much the machine lacks, where its memory is known and too small.
    pub fn lacks(&self) -> Option<Bytes> {
        let peak = self.peak().bytes;
        (self.memory > Bytes::ZERO && peak > self.memory).then(|| peak - self.memory)
    }
}

/// A line with its value.
fn entry_of(line: &Line, values: &mut Values) -> Entry {
    Entry {
        name: line.name,
        bucket: line.bucket,
        bytes: Bytes::new(line.bytes(values)),
        formula: line.formula,
        source: line.source,
        alive: line.alive,
        coefficient: line.coefficient,
        layers: line.layers,
        weights: line.weights,
        part: line.part,
    }
}

/// The instant at which most memory is alive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Peak {
    /// That instant.
    pub instant: &'static Instant,
    /// What is alive then.
    pub bytes: Bytes,
}

/// The instant at which most memory is alive on one stage of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct StagePeak {
    /// "last", "first" or "second", or one of those that [`Instant::stage`](super::Instant) names.
    pub stage: &'static str,
    /// Its rank in the pipeline, from 0.
    pub rank: u32,
    /// The highest of its instants.
    pub peak: Peak,
}

/// How an estimate stands to the memory that there is: of the device, and of the machine where that is known.
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
    /// The device has room for it, but the machine lacks this much CPU memory.
    LacksHost(Bytes),
}

/// The ledger of `scenario` at its micro-batch, on one device.
///
/// Every field inside its declared range gives finite, non-negative entries. Nothing is rounded.
///
/// ```
/// use bmax::{Bucket, Method, Scenario, estimate};
/// let estimate = estimate(&Scenario { method: Method::Workshop, ..Scenario::workshop() });
/// // 7·10⁹ parameters × 4 bytes over eight GPUs.
/// assert_eq!(estimate.bucket(Bucket::Parameters).get(), 3.5e9);
/// ```
pub fn estimate(scenario: &Scenario) -> Estimate {
    filled_in(scenario, &Ledger::of(scenario), scenario.recipe.batch)
}

/// A ledger at micro-batch `batch`.
pub(crate) fn filled_in(scenario: &Scenario, ledger: &Ledger, batch: u32) -> Estimate {
    let mut values = ledger.values_at(batch);
    let mut entries: Vec<Entry> = Vec::with_capacity(ledger.lines.len() + 8);
    for line in &ledger.lines {
        entries.push(entry_of(line, &mut values));
    }
    let host = ledger.host_at(batch).0.iter().map(|line| entry_of(line, &mut values)).collect();
    if ledger.fragmentation > 0.0 {
        // The allocator's share follows what is alive, so that each instant has its own.
        for (position, dynamic) in ledger.dynamic(batch).iter().take(ledger.instants.len()).enumerate() {
            entries.push(Entry {
                name: "Fragmentation",
                bucket: Bucket::Runtime,
                bytes: Bytes::new(ledger.fragmentation * dynamic),
                formula: &FRAGMENTATION,
                source: &source::ALLOCATOR,
                alive: Instants::at(&[position]),
                coefficient: *dynamic,
                layers: 1.0,
                weights: 1.0,
                part: Part::Other,
            });
        }
    }
    Estimate {
        method: scenario.method,
        entries,
        instants: ledger.instants.clone(),
        ranks: ledger.ranks.clone(),
        memory: scenario.device.memory,
        reserved: scenario.reserved(),
        host: HostCounter { entries: host, instants: HOST, memory: scenario.host.ram, gpus: scenario.node_gpus() },
        values: ledger.values_at(batch),
    }
}

/// What tools that read a device's memory would show at the peak. Where the step fits, no counter is above what the
/// device has; where it does not, they say what it would take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Counters {
    /// Live tensors: `torch.cuda.max_memory_allocated`, and what a profiler calls active.
    pub allocated: Bytes,
    /// What the caching allocator holds: `torch.cuda.max_memory_reserved`. It adds fragmentation and
    /// the pools of communication streams.
    pub reserved: Bytes,
    /// What `nvidia-smi` shows for the process: context and communication buffers as well.
    pub device: Bytes,
    /// Cached blocks that the allocator would hold besides, had the device room for them. At its end it gives cached
    /// blocks back and asks again before it fails (`release_cached_blocks` behind `alloc_block` in
    /// c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.9), so that they are in none of the counters.
    pub given_back: Bytes,
}

/// The peak of the ledger as each counter would show it, at the scenario's micro-batch and whatever
/// its method.
///
/// ```
/// use bmax::{Scenario, counters};
/// let seen = counters(&Scenario::workshop());
/// assert!(seen.allocated < seen.reserved && seen.reserved < seen.device);
/// ```
pub fn counters(scenario: &Scenario) -> Counters {
    let batch = scenario.recipe.batch;
    let runtime = |scenario: &Scenario| Scenario {
        device: super::Device {
            driver: Bytes::ZERO,
            cuda_context: Bytes::ZERO,
            communication: Bytes::ZERO,
            ..scenario.device
        },
        ..*scenario
    };
    let bare = runtime(scenario);
    let mut unfragmented = bare;
    unfragmented.device.fragmentation = super::Percent::new(0.0);
    let (_, allocated) = counted::ledger(&unfragmented, Allocator::Live).peak(batch);
    let held = |mut scenario: Scenario| {
        let least = held(scenario.device.segments);
        if scenario.device.fragmentation < least {
            scenario.device.fragmentation = least;
        }
        scenario
    };
    let (_, reserved) = counted::ledger(&held(bare), Allocator::Reserved).peak(batch);
    let mut process = held(*scenario);
    process.device.driver = Bytes::ZERO;
    let (_, device) = counted::ledger(&process, Allocator::Reserved).peak(batch);
    let room = scenario.device.memory - scenario.device.driver;
    let fits = counted::ledger(scenario, Allocator::Live).peak(batch).1 <= scenario.device.memory;
    let given_back = if fits && device > room { device - room } else { Bytes::ZERO };
    Counters { allocated, reserved: reserved - given_back, device: device - given_back, given_back }
}

/// The allocator's share of what is alive.
static FRAGMENTATION: Expr = Expr::Product(&[Expr::Symbol(Symbol::Fragmentation), Expr::Symbol(Symbol::Coefficient)]);

impl Entry {
    /// The values that this entry's formula is evaluated with.
    pub fn values(&self, estimate: &Estimate) -> Values {
        let own = [
            (Symbol::Coefficient, self.coefficient),
            (Symbol::LineLayers, self.layers),
            (Symbol::WeightCount, self.weights),
        ];
        own.into_iter().fold(estimate.values, |values, (symbol, value)| values.with(symbol, value))
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

    /// How many instants are those of the step: what is outside it stands behind them.
    pub fn step_instants(&self) -> usize {
        self.instants.iter().take_while(|instant| !instant.is_outside()).count()
    }

    /// What these buckets hold together at the last instant of the step, which is the optimizer's update where a
    /// method tells instants apart.
    pub fn at_update(&self, buckets: &[Bucket]) -> Bytes {
        let last = self.step_instants() - 1;
        buckets.iter().map(|bucket| self.bucket_at(*bucket, last)).sum()
    }

    /// One bucket at the peak.
    pub fn bucket(&self, bucket: Bucket) -> Bytes {
        self.bucket_at(bucket, self.binding().0)
    }

    /// The most that one bucket holds at any instant of the device that needs most, and the position of that
    /// instant: the peak's own where it is as full. Buckets need not be fullest at the same instant, so that these sizes
    /// add up to the peak or to more.
    ///
    /// ```
    /// use bmax::{Bucket, Scenario, estimate};
    /// let estimate = estimate(&Scenario::workshop());
    /// // The peak is before the backward pass, which makes the gradients.
    /// assert_eq!(estimate.bucket(Bucket::Gradients).get(), 0.0);
    /// assert!(estimate.fullest(Bucket::Gradients).1.get() > 0.0);
    /// ```
    pub fn fullest(&self, bucket: Bucket) -> (usize, Bytes) {
        let (peak, _) = self.binding();
        let stage = self.instants[peak].stage;
        let positions = (0..self.instants.len()).filter(|&position| self.instants[position].stage == stage);
        let sizes = positions.map(|position| (position, self.bucket_at(bucket, position)));
        sizes.fold((peak, self.bucket_at(bucket, peak)), |most, next| if next.1 > most.1 { next } else { most })
    }

    /// The entries alive at the peak, largest first.
    pub fn largest(&self) -> Vec<&Entry> {
        self.largest_at(self.binding().0)
    }

    /// The entries alive at the instant with this position, largest first.
    pub fn largest_at(&self, position: usize) -> Vec<&Entry> {
        let mut largest: Vec<&Entry> = Vec::new();
        for entry in self.alive_at(position) {
            let place = largest.iter().position(|other| other.bytes < entry.bytes).unwrap_or(largest.len());
            largest.insert(place, entry);
        }
        largest
    }

    /// The maximum over instants of what is alive, not the sum of buckets.
    pub fn peak(&self) -> Peak {
        let (position, bytes) = self.binding();
        Peak { instant: self.instants[position], bytes }
    }

    /// The peak of each stage that is counted, in the order in which the instants name them; none without
    /// pipeline. The device that needs most is on the stage of [`Estimate::peak`].
    ///
    /// ```
    /// use bmax::{Scenario, estimate, link};
    /// let pipeline = link::decode("v=3&gpus=16&pp=4&accum=8").scenario;
    /// let estimate = estimate(&pipeline);
    /// let stages = estimate.stages();
    /// assert_eq!(stages.iter().map(|stage| stage.stage).collect::<Vec<_>>(), ["last", "first", "second"]);
    /// assert_eq!(stages.iter().map(|stage| stage.rank).collect::<Vec<_>>(), [3, 0, 1]);
    /// assert!(stages.iter().all(|stage| stage.peak.bytes <= estimate.peak().bytes));
    /// ```
    pub fn stages(&self) -> Vec<StagePeak> {
        let mut stages: Vec<StagePeak> = Vec::new();
        for (position, instant) in self.instants.iter().enumerate().filter(|(_, instant)| !instant.stage.is_empty()) {
            let peak = Peak { instant, bytes: self.total_at(position) };
            match stages.iter_mut().find(|found| found.stage == instant.stage) {
                Some(found) if found.peak.bytes < peak.bytes => found.peak = peak,
                Some(_) => {}
                None => {
                    let rank = self.ranks.get(stages.len()).copied().unwrap_or_default();
                    stages.push(StagePeak { stage: instant.stage, rank, peak });
                }
            }
        }
        stages
    }

    /// How the peak stands to the device, and CPU memory to the machine.
    ///
    /// [`Balance::Free`] up to b_max and at no larger micro-batch.
    pub fn balance(&self) -> Balance {
        let peak = self.peak().bytes;
        if peak <= self.usable() {
            match self.host.lacks() {
                Some(lacks) => Balance::LacksHost(lacks),
                None => Balance::Free(self.usable() - peak),
            }
        } else if peak <= self.memory {
            Balance::Close(peak - self.usable())
        } else {
            Balance::Over(peak - self.memory)
        }
    }

    /// Whether the device and the machine have room for it, with the headroom kept free.
    pub fn fits(&self) -> bool {
        matches!(self.balance(), Balance::Free(_))
    }

    fn alive_at(&self, position: usize) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.alive.contains(position))
    }

    /// Position and total of the binding instant; the first of several as high.
    pub fn binding(&self) -> (usize, Bytes) {
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
