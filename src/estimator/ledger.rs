//! The ledger before it is filled in: lines of formulas that share one set of values.
//!
//! A search asks the same ledger at many micro-batches, so building the lines and evaluating them
//! are kept apart, and evaluating them allocates nothing.

use serde::Serialize;

use super::formula::{Expr, Symbol, Values};
use super::scenario::Scenario;
use super::source::Source;
use super::units::Bytes;

/// The kind of memory an entry belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bucket {
    /// Weights.
    Parameters,
    /// Gradients of the weights.
    Gradients,
    /// Moments and master copies.
    Optimizer,
    /// What the forward pass keeps for the backward pass.
    Activations,
}

impl Bucket {
    /// Every bucket, in the order bars and legends show them.
    pub const ALL: &'static [Self] = &[Self::Parameters, Self::Gradients, Self::Optimizer, Self::Activations];

    /// The name shown to the reader.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parameters => "Parameters",
            Self::Gradients => "Gradients",
            Self::Optimizer => "Optimizer state",
            Self::Activations => "Activations",
        }
    }

    /// The word that style sheets and exports use.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::Gradients => "gradients",
            Self::Optimizer => "optimizer",
            Self::Activations => "activations",
        }
    }
}

/// A moment of the training step at which memory is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Instant {
    /// Its name.
    pub name: &'static str,
    /// One sentence on what is alive then.
    pub meaning: &'static str,
}

/// The one instant of the methods that add up buckets: all of them at once.
pub static WHOLE_STEP: &[Instant] =
    &[Instant { name: "whole step", meaning: "All buckets are counted as if they were alive together." }];

/// The most instants a ledger may tell apart.
pub(crate) const MOST_INSTANTS: usize = 16;

/// A set of instants, as positions in the ledger's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Instants(u16);

impl Instants {
    /// Alive at every instant.
    pub const ALWAYS: Self = Self(u16::MAX);

    /// Alive at the instants with these positions; positions past the sixteenth are left out.
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

    /// Whether the instant at this position is in the set.
    pub const fn contains(self, position: usize) -> bool {
        position < MOST_INSTANTS && self.0 & (1 << position) != 0
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
}

/// The lines of one scenario, ready to be evaluated at any micro-batch.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    pub(crate) lines: Vec<Line>,
    pub(crate) instants: &'static [Instant],
    pub(crate) values: Values,
}

impl Ledger {
    /// The values at micro-batch `batch`; 0 asks for what is there without any sequence.
    pub(crate) fn values_at(&self, batch: u32) -> Values {
        self.values.with(Symbol::Batch, f64::from(batch))
    }

    /// The largest total over instants at micro-batch `batch`, and the position of its instant.
    pub(crate) fn peak(&self, batch: u32) -> (usize, Bytes) {
        let values = self.values_at(batch);
        let mut totals = [0.0; MOST_INSTANTS];
        let used = self.instants.len().min(MOST_INSTANTS);
        for line in &self.lines {
            let bytes = line.formula.value(&values);
            for (position, total) in totals[..used].iter_mut().enumerate() {
                if line.alive.contains(position) {
                    *total += bytes;
                }
            }
        }
        let mut highest = 0;
        for position in 1..used {
            if totals[position] > totals[highest] {
                highest = position;
            }
        }
        (highest, Bytes::new(totals[highest]))
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

    static STEP: &[Instant] = &[Instant { name: "loss", meaning: "" }, Instant { name: "optimizer step", meaning: "" }];

    fn line(formula: &'static Expr, alive: Instants) -> Line {
        Line { name: "", bucket: Bucket::Activations, formula, source: &WORKSHOP, alive }
    }

    #[test]
    fn the_peak_is_the_largest_instant_not_the_sum_of_lines() {
        let ledger = Ledger {
            lines: vec![
                line(&Expr::Number(10.0), Instants::ALWAYS),
                line(&B, Instants::at(&[0])),
                line(&Expr::Number(5.0), Instants::at(&[1])),
            ],
            instants: STEP,
            values: Values::default(),
        };
        assert_eq!(ledger.peak(2), (1, Bytes::new(15.0)));
        assert_eq!(ledger.peak(9), (0, Bytes::new(19.0)));
    }

    #[test]
    fn instants_past_the_last_position_are_never_alive() {
        assert!(!Instants::ALWAYS.contains(MOST_INSTANTS));
        assert_eq!(Instants::at(&[99]), Instants::at(&[]));
    }
}
