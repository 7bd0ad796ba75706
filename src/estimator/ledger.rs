//! The ledger before it is filled in: lines of formulas that share one set of values.
//!
//! A search asks the same ledger at many micro-batches, so building the lines and evaluating them
//! are kept apart, and evaluating them allocates nothing.

use std::ptr;

use serde::Serialize;

use super::formula::{Expr, Symbol, Values};
use super::meaning::{Event, Part};
use super::scenario::Scenario;
use super::source::Source;
use super::units::Bytes;

/// The kind of memory an entry belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Bucket {
    /// Weights.
    Parameters,
    /// Gradients of the weights.
    Gradients,
    /// Moments and master copies.
    Optimizer,
    /// What the forward pass keeps for the backward pass.
    Activations,
    /// A number for each token and word of the vocabulary: logits, their copies, what the loss makes of them, and its
    /// own buffers. The last norm, the input of the head and the head’s weights are not among them.
    Logits,
    /// Token ids and labels.
    Batch,
    /// What lives for a moment: gradients of activations, gathered layers, buffers.
    Temporary,
    /// What the process takes beside its tensors.
    Runtime,
}

impl Bucket {
    /// Every bucket, in the order bars and legends show them.
    pub const ALL: &'static [Self] = &[
        Self::Parameters,
        Self::Gradients,
        Self::Optimizer,
        Self::Activations,
        Self::Logits,
        Self::Batch,
        Self::Temporary,
        Self::Runtime,
    ];

    /// The name shown to the reader.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parameters => "Parameters",
            Self::Gradients => "Gradients",
            Self::Optimizer => "Optimizer state",
            Self::Activations => "Activations",
            Self::Logits => "Logits and loss",
            Self::Batch => "Batch data",
            Self::Temporary => "Temporary",
            Self::Runtime => "Runtime",
        }
    }

    /// The word that style sheets and exports use.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::Gradients => "gradients",
            Self::Optimizer => "optimizer",
            Self::Activations => "activations",
            Self::Logits => "logits",
            Self::Batch => "batch",
            Self::Temporary => "temporary",
            Self::Runtime => "runtime",
        }
    }

    /// Whether memory of this kind comes and goes within a step, so that the allocator's blocks do
    /// not match it exactly. Model states are allocated once.
    pub const fn is_dynamic(self) -> bool {
        matches!(self, Self::Gradients | Self::Activations | Self::Logits | Self::Batch | Self::Temporary)
    }
}

/// A point in the training step at which memory is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Instant {
    /// Its name.
    pub name: &'static str,
    /// What the program does then; [`Estimate::meaning`](super::Estimate::meaning) says it in sentences, with what is alive.
    #[serde(skip)]
    pub event: Event,
    /// The stage of a pipeline that it belongs to: "last", "first" or "second", and in mixtures of experts with
    /// dense layers "more-experts" or "most-experts"; empty without pipeline.
    pub stage: &'static str,
}

/// The one instant of the methods that add up buckets: all of them at once.
pub static WHOLE_STEP: &[Instant] = &[Instant { name: "whole step", event: Event::WholeStep, stage: "" }];

/// The instants at which the memory of a machine is counted.
pub static HOST: &[Instant] = &[
    Instant { name: "loading", event: Event::MachineLoads, stage: "" },
    Instant { name: "training", event: Event::MachineTrains, stage: "" },
];

/// The most instants a ledger may tell apart.
pub(crate) const MOST_INSTANTS: usize = 27;

/// A set of instants, as positions in the ledger's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Instants(u32);

impl Instants {
    /// Alive at every instant.
    pub const ALWAYS: Self = Self(u32::MAX);

    /// Alive at the instants with these positions; positions past the last that a ledger may have are left out.
    pub const fn at(positions: &[usize]) -> Self {
        let mut set = 0;
        let mut i = 0;
        while i < positions.len() {
            if positions[i] < MOST_INSTANTS {
                set |= 1 << positions[i];
            }
            i += 1;
        }
        Self(set)
    }

    /// Alive at the instants that exist among these.
    pub(crate) fn among(positions: &[Option<usize>]) -> Self {
        positions.iter().flatten().fold(Self(0), |set, &position| Self(set.0 | Self::at(&[position]).0))
    }

    /// Alive where either of two is.
    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the instant at this position is in the set.
    pub const fn contains(self, position: usize) -> bool {
        position < MOST_INSTANTS && self.0 & (1 << position) != 0
    }

    /// Adds bytes to the totals of its instants.
    fn add_to(self, totals: &mut [f64], bytes: f64) {
        for (position, total) in totals.iter_mut().enumerate() {
            if self.contains(position) {
                *total += bytes;
            }
        }
    }
}

/// One line of a ledger.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) bucket: Bucket,
    pub(crate) formula: &'static Expr,
    pub(crate) source: &'static Source,
    pub(crate) alive: Instants,
    /// The value of [`Symbol::Coefficient`] in this line's formula.
    pub(crate) coefficient: f64,
    /// The value of [`Symbol::LineLayers`].
    pub(crate) layers: f64,
    /// The value of [`Symbol::WeightCount`].
    pub(crate) weights: f64,
    /// What sentences about an instant are made from.
    pub(crate) part: Part,
}

impl Line {
    /// A line whose formula needs no values of its own.
    pub(crate) const fn new(
        name: &'static str,
        bucket: Bucket,
        formula: &'static Expr,
        source: &'static Source,
        alive: Instants,
    ) -> Self {
        Self { name, bucket, formula, source, alive, coefficient: 1.0, layers: 1.0, weights: 1.0, part: Part::Other }
    }

    /// Its bytes, with the values that are its own set among these.
    pub(crate) fn bytes(&self, values: &mut Values) -> f64 {
        values.set(Symbol::Coefficient, self.coefficient);
        values.set(Symbol::LineLayers, self.layers);
        values.set(Symbol::WeightCount, self.weights);
        self.formula.value(values)
    }
}

/// The lines of one scenario, ready to be evaluated at any micro-batch.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    pub(crate) lines: Vec<Line>,
    pub(crate) instants: Vec<&'static Instant>,
    /// The ranks of a pipeline that are counted, in the order of the instants: the last one first.
    pub(crate) ranks: Vec<u32>,
    pub(crate) values: Values,
    /// What is in the memory of one machine, at the instants of [`HOST`], for each stage that its devices may have.
    pub(crate) host: Vec<Vec<Line>>,
    /// What the allocator holds beyond live dynamic memory, as a part of it.
    pub(crate) fragmentation: f64,
}

/// Bytes alive at each instant.
pub(crate) type Totals = [f64; MOST_INSTANTS];

impl Ledger {
    /// The values at micro-batch `batch`; 0 asks for what is there without any sequence.
    pub(crate) fn values_at(&self, batch: u32) -> Values {
        self.values.with(Symbol::Batch, f64::from(batch))
    }

    /// Live dynamic memory and everything, at each instant, at micro-batch `batch`.
    fn tally(&self, batch: u32) -> (Totals, Totals) {
        let mut values = self.values_at(batch);
        let mut totals = [0.0; MOST_INSTANTS];
        let mut dynamic = [0.0; MOST_INSTANTS];
        let used = self.instants.len().min(MOST_INSTANTS);
        for line in &self.lines {
            let bytes = line.bytes(&mut values);
            line.alive.add_to(&mut totals[..used], bytes);
            if line.bucket.is_dynamic() {
                line.alive.add_to(&mut dynamic[..used], bytes);
            }
        }
        (totals, dynamic)
    }

    /// Bytes alive at each instant at micro-batch `batch`, fragmentation included.
    pub(crate) fn totals(&self, batch: u32) -> Totals {
        let (mut totals, dynamic) = self.tally(batch);
        for (total, dynamic) in totals.iter_mut().zip(dynamic) {
            *total += self.fragmentation * dynamic;
        }
        totals
    }

    /// The totals as straight lines in the micro-batch: every tensor either has one part per sequence
    /// or does not depend on their number, so that two points say it all.
    pub(crate) fn straight(&self) -> Straight {
        let (none, one) = (self.totals(0), self.totals(1));
        let mut slopes = one;
        for (slope, base) in slopes.iter_mut().zip(none) {
            *slope -= base;
        }
        Straight { base: none, slopes, instants: self.instants.len().min(MOST_INSTANTS) }
    }

    /// The same of the training step alone.
    pub(crate) fn straight_step(&self) -> Straight {
        let step = self.instants.iter().take_while(|instant| !instant.is_outside()).count();
        Straight { instants: step.min(MOST_INSTANTS), ..self.straight() }
    }

    /// What is in the memory of the fullest machine at micro-batch `batch`, and how much that is at its fuller instant. Where
    /// loading takes the most of all machines alike, the fullest is the one that training takes the most of.
    pub(crate) fn host_at(&self, batch: u32) -> (&[Line], Bytes) {
        let mut values = self.values_at(batch);
        let (mut fullest, mut most): (&[Line], _) = (&[], [0.0; 2]);
        for lines in &self.host {
            let mut totals = [0.0; 2];
            for line in lines {
                let bytes = line.bytes(&mut values);
                line.alive.add_to(&mut totals, bytes);
            }
            let [loading, training] = totals;
            let taken = [loading.max(training), training];
            if taken > most {
                (fullest, most) = (lines, taken);
            }
        }
        (fullest, Bytes::new(most[0]))
    }

    /// The memory of the fullest machine at micro-batch `batch`.
    pub(crate) fn host_peak(&self, batch: u32) -> Bytes {
        self.host_at(batch).1
    }

    /// Live dynamic memory at each instant at micro-batch `batch`.
    pub(crate) fn dynamic(&self, batch: u32) -> Totals {
        self.tally(batch).1
    }

    /// The most that activations take at any instant, in bytes, at micro-batch `batch`.
    pub(crate) fn activations(&self, batch: u32) -> f64 {
        let mut values = self.values_at(batch);
        let mut totals: Totals = [0.0; MOST_INSTANTS];
        for line in self.lines.iter().filter(|line| line.bucket == Bucket::Activations) {
            let bytes = line.bytes(&mut values);
            line.alive.add_to(&mut totals, bytes);
        }
        totals.iter().copied().fold(0.0, f64::max)
    }

    /// What no scenario between two needs less than, at micro-batch `batch`, where each line only grows or only falls from
    /// one to the other, or grows first: at each instant the lesser of each line's bytes. `None` where the lines of the two
    /// are not the same.
    pub(crate) fn least_between(&self, other: &Self, batch: u32) -> Option<Bytes> {
        let are_same = |(one, two): (&Line, &Line)| {
            (one.name, one.alive, one.bucket) == (two.name, two.alive, two.bucket) && ptr::eq(one.formula, two.formula)
        };
        if self.lines.len() != other.lines.len() || !self.lines.iter().zip(&other.lines).all(are_same) {
            return None;
        }
        let (mut values, mut others) = (self.values_at(batch), other.values_at(batch));
        let fragmentation = self.fragmentation.min(other.fragmentation);
        let mut totals = [0.0; MOST_INSTANTS];
        for (line, same) in self.lines.iter().zip(&other.lines) {
            let bytes = line.bytes(&mut values).min(same.bytes(&mut others));
            let held = if line.bucket.is_dynamic() { bytes * (1.0 + fragmentation) } else { bytes };
            line.alive.add_to(&mut totals, held);
        }
        Some(Bytes::new(totals.into_iter().fold(0.0, f64::max)))
    }

    /// The largest total over instants at micro-batch `batch`, and the position of its instant.
    pub(crate) fn peak(&self, batch: u32) -> (usize, Bytes) {
        let totals = self.totals(batch);
        let mut highest = 0;
        for position in 1..self.instants.len().min(MOST_INSTANTS) {
            if totals[position] > totals[highest] {
                highest = position;
            }
        }
        (highest, Bytes::new(totals[highest]))
    }
}

/// The totals of a ledger at every micro-batch, for searches that ask for many of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Straight {
    base: Totals,
    slopes: Totals,
    instants: usize,
}

impl Straight {
    /// The same with everything that grows with the micro-batch `factor` times as large.
    pub(crate) fn scaled(mut self, factor: f64) -> Self {
        for slope in &mut self.slopes {
            *slope *= factor;
        }
        self
    }

    /// What [`Ledger::peak`] says, but for the last bits.
    pub(crate) fn peak(&self, batch: u32) -> Bytes {
        let batch = f64::from(batch);
        let at = |position: usize| self.base[position] + self.slopes[position] * batch;
        Bytes::new((0..self.instants).map(at).fold(0.0, f64::max))
    }

    /// The micro-batch at which the first instant reaches `usable`; infinite when none grows.
    pub(crate) fn crossing(&self, usable: Bytes) -> f64 {
        let reached = |position: usize| {
            let slope = self.slopes[position];
            if slope > 0.0 { (usable.get() - self.base[position]) / slope } else { f64::INFINITY }
        };
        (0..self.instants).map(reached).fold(f64::INFINITY, f64::min)
    }
}

/// The values every method shares.
pub(crate) fn common_values(scenario: &Scenario) -> Values {
    let Scenario { model, recipe, cluster, .. } = scenario;
    Values::default()
        .with(Symbol::Parameters, model.parameters as f64)
        .with(Symbol::Hidden, model.hidden.into())
        .with(Symbol::Layers, model.layers.into())
        .with(Symbol::Heads, model.heads.into())
        .with(Symbol::Sequence, recipe.sequence.into())
        .with(Symbol::Batch, recipe.batch.into())
        .with(Symbol::ElementBytes, recipe.precision.element_bytes().into())
        .with(Symbol::Gpus, cluster.gpus.into())
        .with(Symbol::DataParallel, cluster.data_parallel().into())
        .with(Symbol::TensorParallel, cluster.tensor_parallel.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::terms::B;
    use crate::source::WORKSHOP;

    static STEP: &[Instant] = &[
        Instant { name: "loss", event: Event::Loss, stage: "" },
        Instant { name: "optimizer step", event: Event::Step, stage: "" },
    ];

    fn line(formula: &'static Expr, alive: Instants) -> Line {
        Line::new("", Bucket::Activations, formula, &WORKSHOP, alive)
    }

    #[test]
    fn the_peak_is_the_largest_instant_not_the_sum_of_lines() {
        let ledger = Ledger {
            ranks: Vec::new(),
            lines: vec![
                line(&Expr::Number(10.0), Instants::ALWAYS),
                line(&B, Instants::at(&[0])),
                line(&Expr::Number(5.0), Instants::at(&[1])),
            ],
            instants: STEP.iter().collect(),
            host: Vec::new(),
            values: Values::default(),
            fragmentation: 0.0,
        };
        assert_eq!(ledger.peak(2), (1, Bytes::new(15.0)));
        assert_eq!(ledger.peak(9), (0, Bytes::new(19.0)));
        // Of two that are as high it is the first.
        assert_eq!(ledger.peak(5), (0, Bytes::new(15.0)));
    }

    /// A ledger with one line of ten times the batch at both instants.
    fn of_ten(fragmentation: f64) -> Ledger {
        Ledger {
            ranks: Vec::new(),
            lines: vec![Line { coefficient: 10.0, ..line(&TEN_EACH, Instants::ALWAYS) }],
            instants: STEP.iter().collect(),
            host: Vec::new(),
            values: Values::default(),
            fragmentation,
        }
    }

    static TEN_EACH: Expr = Expr::Product(&[Expr::Symbol(Symbol::Coefficient), B]);
    static OTHER: Expr = Expr::Symbol(Symbol::Coefficient);

    #[test]
    fn between_two_ledgers_of_the_same_lines_no_less_is_needed_than_the_lesser_of_each() {
        let (one, mut other) = (of_ten(0.5), of_ten(0.25));
        other.lines[0].coefficient = 30.0;
        // Ten for each of two sequences, and a quarter of it that the allocator holds beside it.
        assert_eq!(one.least_between(&other, 2), Some(Bytes::new(25.0)));
        assert_eq!(other.least_between(&one, 2), Some(Bytes::new(25.0)));
    }

    #[test]
    fn between_two_ledgers_of_other_lines_nothing_is_said() {
        let one = of_ten(0.0);
        let changes: [fn(&mut Ledger); 5] = [
            |other| other.lines[0].name = "another",
            |other| other.lines[0].alive = Instants::at(&[0]),
            |other| other.lines[0].bucket = Bucket::Temporary,
            |other| other.lines[0].formula = &OTHER,
            |other| other.lines.push(other.lines[0]),
        ];
        for change in changes {
            let mut other = of_ten(0.0);
            change(&mut other);
            assert_eq!(one.least_between(&other, 2), None);
            assert_eq!(other.least_between(&one, 2), None);
        }
    }

    #[test]
    fn a_search_begins_where_the_first_instant_that_grows_reaches_the_limit() {
        let mut ledger = of_ten(0.0);
        ledger.lines.push(line(&Expr::Number(15.0), Instants::at(&[1])));
        // Ten a sequence: 15 + 10 · 3 are 45, where the other instant has 30 yet.
        assert_eq!(ledger.straight().crossing(Bytes::new(45.0)), 3.0);
        // The second instant alone, which does not grow.
        ledger.lines.remove(0);
        for usable in [10.0, 20.0] {
            assert_eq!(ledger.straight().crossing(Bytes::new(usable)), f64::INFINITY);
        }
    }

    #[test]
    fn a_bucket_is_exported_by_the_word_that_style_sheets_use() {
        for bucket in Bucket::ALL {
            let exported = serde_json::to_string(bucket).expect("a word");
            assert_eq!(exported, format!("\"{}\"", bucket.key()));
        }
    }

    #[test]
    fn instants_past_the_last_position_are_never_alive() {
        assert!(!Instants::ALWAYS.contains(MOST_INSTANTS));
        assert_eq!(Instants::at(&[99]), Instants::at(&[]));
    }
}
