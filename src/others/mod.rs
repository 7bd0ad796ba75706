//! What others say: the memory of a scenario by the published formulas of other estimators, each recomputed as its
//! authors wrote it, beside the ledger's.
//!
//! ```
//! use bmax::others::{self, Largest};
//! use bmax::{Scenario, catalogue};
//!
//! // Llama 2 7B on eight GPUs under ZeRO-3.
//! let scenario = catalogue::model("llama-2-7b").expect("listed").apply(Scenario::workshop());
//! let rows = others::all(&scenario);
//! let deepspeed = rows.iter().find(|row| row.other.key == "deepspeed").expect("listed");
//! // Its documentation has 18 bytes a parameter over all GPUs, and 4 of the largest layer on each.
//! let memory = deepspeed.memory.as_ref().expect("it knows stage 3");
//! assert_eq!(format!("{:.2}", memory.total.gib()), "14.61");
//! // It has no input for a batch.
//! assert_eq!(deepspeed.largest.expect_err("it cannot say").input.key(), "b");
//! ```
//!
//! How a scenario is given to a program that has other inputs:
//!
//! - **It cannot say** where the scenario asks for something that decides what is held on which GPU, and the program
//!   has no input for it: adapters, experts, a way of dividing the model, a ZeRO stage, an optimizer, a way of
//!   recomputation, something off-loaded. None of them has a second stack of layers, a vision tower, a task beside
//!   next-token training, lengths that vary, fp8, an optimizer step within the backward pass, or a moment outside the
//!   step. [`Lacking`] names the first such input. What it would print for another scenario is not printed for this
//!   one.
//! - **It leaves out** what only changes how large a tensor is: the attention kernel, grouped keys, a gate, dropout,
//!   the loss head. It prints a number all the same, as its users see it, and [`Row::ignores`] names these inputs.
//! - A program that loads the model has the weights that the matrices hold; one that asks for a count has
//!   [`Model::parameters`](crate::Model); one that counts by a formula has what its formula says.
//! - The largest micro-batch is searched for as the ledger's is. What has to fit is the program's own condition where
//!   it has one, and else its total, against the memory of the device: nothing is kept free that it does not keep free.
//!
//! Bytes are bytes here. What the programs call GB is GiB in every one of them, as [`Printed`] says; only the table of
//! LLaMA-Factory has GB of 10⁹ bytes.
//!
//! Left out, because their formulas could not be read when this was written: apxml's calculator is closed, and the
//! source of Vokturz's can-it-run-llm was not to be had.

mod accelerate;
mod deepspeed;
mod eleuther;
mod gpu_mem_calculator;
mod gpu_poor;
mod inputs;
mod llama_factory;
mod llm_analysis;
mod megatron;
mod methods;
mod paper;
mod playbook;
mod vram_calculator;
mod workshop;

#[cfg(test)]
mod tests;

use crate::input::{Input, Value};
use crate::{Bytes, Field, Method, Scenario, estimate, largest_micro_batch, search};
use inputs::Absent;
pub use methods::{Difference, differences, lacking};

/// Another estimator.
#[derive(Debug)]
#[non_exhaustive]
pub struct Other {
    /// A word for it.
    pub key: &'static str,
    /// What it is called.
    pub name: &'static str,
    /// Where its formula is written.
    pub origin: Origin,
    /// In what it prints memory; nothing for a paper.
    pub printed: Option<Printed>,
    /// What its total is a total of.
    pub covers: Covers,
    /// In one sentence, why it differs from the ledger.
    pub why: &'static str,
    /// What it has no input for and cannot leave out, beside what none of them has; what is asked for first is named
    /// first.
    lacks: &'static [&'static Absent],
    /// What it has no input for and leaves out.
    ignores: &'static [&'static Absent],
    /// Its formula, for a scenario that asks for nothing of `lacks`.
    count: fn(&Scenario) -> Memory,
    /// How its largest micro-batch is found; nothing where it has no input for a batch.
    largest: Option<fn(&Scenario) -> Largest>,
}

impl PartialEq for Other {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

/// Where a formula is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Origin {
    /// The repository, the page or the paper.
    pub url: &'static str,
    /// The file in it, or the place in the paper.
    pub place: &'static str,
    /// The commit that was read; empty for a paper.
    pub commit: &'static str,
    /// The date of that commit, or of the paper.
    pub date: &'static str,
}

/// In what a program prints memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Printed {
    /// What it divides bytes by.
    pub unit: Unit,
    /// What it writes behind the number.
    pub label: &'static str,
}

/// What bytes are divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// 2²⁰.
    Mib,
    /// 2³⁰.
    Gib,
    /// 10⁹.
    Gb,
    /// The largest power of 1024 that leaves at least 1.
    Power1024,
}

/// What a total is a total of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Covers {
    /// A training step.
    Step,
    /// Weights, gradients and optimizer state; activations are left to the reader.
    ModelStates,
}

/// What one estimator says of a scenario.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Row {
    /// Which.
    pub other: &'static Other,
    /// The memory of the fullest GPU at the scenario's micro-batch, or what it has no input for.
    pub memory: Result<Memory, Lacking>,
    /// The largest micro-batch, or what it has no input for.
    pub largest: Result<Largest, Lacking>,
    /// Inputs that the scenario sets and that its formula has no place for.
    pub ignores: Vec<Input>,
}

/// The memory of one GPU.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Memory {
    /// What the program prints as the total.
    pub total: Bytes,
    /// What it counts.
    pub parts: Vec<Part>,
    /// Whether the total is the sum of the parts. Where it is not, the program takes the largest of some of them.
    pub adds_up: bool,
}

/// Something that a program counts.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Part {
    /// What.
    pub name: &'static str,
    /// How much.
    pub bytes: Bytes,
}

/// The largest micro-batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Largest {
    /// This many sequences fit.
    Fits {
        /// How many.
        batch: u32,
        /// Whether the search stopped at the end of the declared range, so that more may fit.
        capped: bool,
    },
    /// Not even one does.
    None,
}

/// An input that a formula lacks, with the value that asks for it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Lacking {
    /// The input.
    pub input: Input,
    /// Its value in the scenario.
    pub value: Value,
}

/// Every estimator, in the order of [`all`].
pub static ALL: &[&Other] = &[
    &workshop::OTHER,
    &paper::OTHER,
    &megatron::OTHER,
    &deepspeed::OTHER,
    &accelerate::OTHER,
    &llm_analysis::OTHER,
    &eleuther::OTHER,
    &playbook::OTHER,
    &gpu_poor::OTHER,
    &vram_calculator::OTHER,
    &gpu_mem_calculator::OTHER,
    &llama_factory::OTHER,
];

/// What every estimator says of `scenario`, whatever its own method is.
pub fn all(scenario: &Scenario) -> Vec<Row> {
    ALL.iter().map(|other| other.row(scenario)).collect()
}

impl Other {
    /// The first input of `scenario` that it has no place for and cannot leave out.
    pub fn lacking(&self, scenario: &Scenario) -> Option<Lacking> {
        let lacking = inputs::COMMON.iter().chain(self.lacks).find(|absent| (absent.is_asked)(scenario));
        lacking.map(|absent| Lacking::of(absent.input, scenario))
    }

    /// What this estimator says of `scenario`.
    pub fn row(&'static self, scenario: &Scenario) -> Row {
        let lacking = self.lacking(scenario);
        Row {
            other: self,
            memory: lacking.map_or_else(|| Ok((self.count)(scenario)), Err),
            largest: match (lacking, self.largest) {
                (Some(lacking), _) => Err(lacking),
                (None, None) => Err(Lacking::of(Input::Number(Field::Batch), scenario)),
                (None, Some(largest)) => Ok(largest(scenario)),
            },
            ignores: self.ignores.iter().filter(|absent| (absent.is_asked)(scenario)).map(|a| a.input).collect(),
        }
    }
}

impl Lacking {
    fn of(input: Input, scenario: &Scenario) -> Self {
        let value = match input {
            Input::Model => Value::Word(scenario.model.origin.slug().unwrap_or_default()),
            Input::Gpu => Value::Word(scenario.device.origin),
            Input::Number(field) => Value::Number(scenario.number(field)),
            Input::Word(setting) => Value::Word(setting.get(scenario)),
        };
        Self { input, value }
    }
}

impl Memory {
    /// Parts whose sum is the total.
    fn sum(parts: Vec<Part>) -> Self {
        Self { total: parts.iter().map(|part| part.bytes).sum(), parts, adds_up: true }
    }

    /// Parts of which the total is made in another way.
    fn total(total: f64, parts: Vec<Part>) -> Self {
        Self { total: Bytes::new(total), parts, adds_up: false }
    }

    /// By one of the two methods that the estimator restates.
    fn by(method: Method, scenario: &Scenario) -> Self {
        let estimate = estimate(&Scenario { method, ..*scenario });
        let parts = estimate.entries.iter().map(|entry| Part { name: entry.name, bytes: entry.bytes });
        Self { total: estimate.peak().bytes, parts: parts.collect(), adds_up: true }
    }
}

/// A part of so many bytes.
fn part(name: &'static str, bytes: f64) -> Part {
    Part { name, bytes: Bytes::new(bytes) }
}

impl Largest {
    /// By one of the two methods that the estimator restates.
    fn by(method: Method, scenario: &Scenario) -> Self {
        let most = largest_micro_batch(&Scenario { method, ..*scenario });
        most.map_or(Self::None, |batch| Self::Fits { batch, capped: f64::from(batch) >= Field::Batch.bound().max })
    }

    /// The largest micro-batch of which a condition holds that holds of every smaller one.
    fn search(scenario: &Scenario, fits: impl Fn(&Scenario) -> bool) -> Self {
        let limit = Field::Batch.bound().max as u32;
        let with = |batch| {
            let mut scenario = *scenario;
            scenario.recipe.batch = batch;
            scenario
        };
        match search::largest(limit, scenario.recipe.batch, |batch| fits(&with(batch))) {
            0 => Self::None,
            batch => Self::Fits { batch, capped: batch == limit },
        }
    }

    /// The largest micro-batch whose total is within the memory of the device.
    fn within(scenario: &Scenario, count: fn(&Scenario) -> Memory) -> Self {
        Self::search(scenario, |scenario| count(scenario).total <= scenario.device.memory)
    }
}
