//! Tasks as training programs: which networks each has, and what it does with a micro-batch. A file a task.

mod distil;
mod dpo;
mod evaluated;
mod generation;
mod grpo;
mod log_probs;
mod reward;
mod train;
mod trainer;

use super::networks::Networks;
use super::passes::{Local, Pass, Task};
use crate::estimator::choice::{Adapter, Reference, TaskKind};
use crate::estimator::models::{Block, NotCounted};
use crate::estimator::operators::{Form, Operator, Part, Place, Size, Tensor, Types};
use crate::estimator::scenario::Scenario;
use crate::estimator::units::DType;

/// The task of a scenario.
pub fn task(scenario: &Scenario, networks: Networks<'_>) -> Result<Task, NotCounted> {
    match scenario.task.kind {
        TaskKind::Train if is_evaluated(scenario) => evaluated::task(scenario, networks),
        TaskKind::Train => train::task(networks),
        TaskKind::Dpo => dpo::task(scenario, networks),
        TaskKind::Distil => distil::task(scenario, networks),
        TaskKind::Grpo => grpo::task(scenario, networks),
        TaskKind::Reward => reward::task(networks),
        _ => Err(NotCounted::Task),
    }
}

pub use evaluated::is_evaluated;

/// What a task compares with: a model without adapters has none to switch off, and is copied.
fn reference(scenario: &Scenario) -> Reference {
    match (scenario.task.reference, scenario.recipe.adapter) {
        (Reference::Adapter, Adapter::None) => Reference::Copy,
        (reference, _) => reference,
    }
}

/// Whether a task has two sequences for each that a micro-batch counts.
pub const fn has_pairs(kind: TaskKind) -> bool {
    matches!(kind, TaskKind::Dpo | TaskKind::Reward)
}

/// Sequences of a pair: a chosen and a rejected answer.
const PAIR: u64 = 2;

/// A program while passes are added to it.
#[derive(Default)]
struct Script {
    functions: Vec<Block>,
    passes: Vec<Pass>,
    names: usize,
    /// Whether a graph is kept of what is added.
    is_recorded: bool,
}

impl Script {
    /// A new name.
    fn name(&mut self) -> Local {
        self.names += 1;
        Local(self.names - 1)
    }

    fn names<const COUNT: usize>(&mut self) -> [Local; COUNT] {
        std::array::from_fn(|_| self.name())
    }

    /// A pass of a network that puts out one value.
    fn forward(&mut self, network: usize, given: &[Local], given_last: &[Local]) -> Local {
        let into = self.name();
        let (given, given_last) = (given.to_vec(), given_last.to_vec());
        let is_recorded = self.is_recorded;
        self.passes.push(Pass::Forward { network, given, given_last, into: vec![into], is_recorded });
        into
    }

    fn function(&mut self, block: Block) -> usize {
        self.functions.push(block);
        self.functions.len() - 1
    }

    /// A call of a function.
    fn call<const COUNT: usize>(&mut self, block: Block, given: &[Local]) -> [Local; COUNT] {
        let into = self.names();
        self.call_into(block, given, &into);
        into
    }

    fn call_into(&mut self, block: Block, given: &[Local], into: &[Local]) {
        let function = self.function(block);
        let (given, into, is_recorded) = (given.to_vec(), into.to_vec(), self.is_recorded);
        self.passes.push(Pass::Call { function, given, into, is_recorded });
    }

    fn each(&mut self, block: Block, times: u32, given: &[Local], carried: &[Local], list: Local) {
        let function = self.function(block);
        let (given, carried, is_recorded) = (given.to_vec(), carried.to_vec(), self.is_recorded);
        self.passes.push(Pass::Each { function, times, given, carried, list, is_recorded });
    }

    fn forget(&mut self, names: &[Local]) {
        if !names.is_empty() {
            self.passes.push(Pass::Forget(names.to_vec()));
        }
    }
}

/// A tensor of a micro-batch.
fn of_batch(part: Part, form: Form) -> Tensor {
    Tensor { place: Place::Batch, part, size: Size::Of(form) }
}

/// A function that computes one tensor of another, without a gradient.
fn computed_of(place: Place, from: Form, to: Form) -> Block {
    let (mut block, arguments) = Block::new(&[from]);
    let result = block.add(place, Operator::Computed { x: arguments[0], y: None, form: to });
    block.giving(&[result])
}

/// What accelerate gives a trainer of a network whose outputs have a type: under autocast all are cast to fp32
/// (`convert_outputs_to_fp32` in accelerate/utils/operations.py, 1.15.0).
fn handed_out(script: &mut Script, types: Types, x: Local, form: Form) -> (Local, Form) {
    if types.autocast.is_none() {
        return (x, form);
    }
    let (mut block, arguments) = Block::new(&[form]);
    block.take(&arguments);
    let wide = block.add(Place::Logits, Operator::To { x: arguments[0], dtype: DType::Single });
    let [wide] = script.call(block.giving(&[wide]), &[x]);
    (wide, form.with_dtype(DType::Single))
}
