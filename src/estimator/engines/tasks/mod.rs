//! Tasks as training programs: which networks each has, and what it does with a micro-batch. A file a task.

mod checkpoint;
mod distil;
mod dpo;
mod evaluated;
mod generation;
mod grpo;
mod log_probs;
mod ppo;
mod pretrain;
mod reward;
mod statements;
mod train;
mod trainer;

use super::data_parallel::DataParallel;
use super::networks::Networks;
use super::passes::{Local, Network, Pass, Task};
use crate::estimator::choice::{Adapter, Engine, Precision, Reference, TaskKind, ZeroStage};
use crate::estimator::models::{Block, Collation, End, NotCounted};
use crate::estimator::operators::{Form, Operator, Owner, Part, Place, Size, Tensor, Types};
use crate::estimator::scenario::Scenario;
use crate::estimator::units::{DType, Shape};

/// The task of a scenario.
pub fn task(scenario: &Scenario, networks: Networks<'_>) -> Result<Task, NotCounted> {
    match scenario.task.kind {
        TaskKind::Train if is_evaluated(scenario) => evaluated::task(scenario, networks),
        TaskKind::Train if matches!(networks.data_parallel, DataParallel::Megatron(_)) => pretrain::task(networks),
        TaskKind::Train => train::task(networks),
        TaskKind::Dpo => dpo::task(scenario, networks),
        TaskKind::Distil => distil::task(scenario, networks),
        TaskKind::Grpo => grpo::task(scenario, networks),
        TaskKind::Reward => reward::task(networks),
        TaskKind::Ppo => ppo::task(scenario, networks),
    }
}

pub use checkpoint::is_played as is_outside_played;
use evaluated::is_evaluated;

/// What a task compares with: a model without adapters has none to switch off, and is copied.
fn reference(scenario: &Scenario) -> Reference {
    match (scenario.task.reference, scenario.recipe.adapter) {
        (Reference::Adapter, Adapter::None) => Reference::Copy,
        (reference, _) => reference,
    }
}

/// Whether a task is played on the devices of a scenario as they share it. ZeRO's stage 3 learns the order of modules, which passes
/// without gradients change.
pub fn is_divided_so(scenario: &Scenario) -> bool {
    let Scenario { cluster, .. } = scenario;
    match (cluster.engine, cluster.zero) {
        (Engine::Torch, zero) => cluster.reshard == 0 && (cluster.gpus > 1 || zero != ZeroStage::Stage3),
        (Engine::DeepSpeed, zero) => zero != ZeroStage::Stage3,
        _ => false,
    }
}

/// Whether tasks and evaluations are played in a scenario's precision: FSDP's mixed precision is that of several devices, and fp16
/// that of DeepSpeed.
pub fn has_precision(scenario: &Scenario) -> bool {
    let Scenario { recipe, cluster, .. } = scenario;
    let is_deepspeed = cluster.engine == Engine::DeepSpeed;
    match recipe.precision {
        Precision::Mixed => !is_deepspeed && cluster.gpus > 1 && cluster.zero == ZeroStage::Stage3,
        Precision::Fp16 => is_deepspeed,
        Precision::PureBf16 | Precision::Autocast | Precision::Fp32 | Precision::Bf16 => true,
    }
}

/// The network with which a task compares the trained one, where it has one.
fn compared_with(networks: Networks<'_>, end: End) -> Result<Option<Network>, NotCounted> {
    match reference(networks.scenario) {
        Reference::Copy => frozen(networks, end, Owner::Reference).map(Some),
        Reference::Adapter => {
            let model = networks.trained(end, collation(networks.scenario), false)?;
            Ok(Some(Network::again(model, networks.types())))
        }
        Reference::None => Ok(None),
        _ => Err(NotCounted::Task),
    }
}

/// A frozen copy of the model beside the trained one.
fn frozen(networks: Networks<'_>, end: End, owner: Owner) -> Result<Network, NotCounted> {
    let (model, types) = networks.frozen(end, collation(networks.scenario))?;
    let unit = networks.data_parallel.frozen(types.loaded)?;
    if unit.is_some() && networks.scenario.recipe.adapter == Adapter::Qlora {
        return Err(NotCounted::Quantized);
    }
    Ok(Network::frozen(model, types, owner, unit))
}

/// How sequences become a micro-batch: trl's collators give a mask, which hides nothing where all have one length.
fn collation(scenario: &Scenario) -> Collation {
    match train::collation(scenario) {
        Collation::Equal => Collation::Masked,
        other => other,
    }
}

/// Whether a task has two sequences for each that a micro-batch counts.
pub const fn has_pairs(kind: TaskKind) -> bool {
    matches!(kind, TaskKind::Dpo | TaskKind::Reward)
}

/// Whether a task's trainer takes dropout out of the model and its adapters (`disable_dropout` of `DPOConfig`, `RewardConfig`
/// and `GKDConfig`, which is on unless it is said otherwise; PPOTrainer always does).
pub const fn disables_dropout(kind: TaskKind) -> bool {
    matches!(kind, TaskKind::Dpo | TaskKind::Reward | TaskKind::Distil | TaskKind::Ppo)
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
        self.passes.push(Pass::Forward { network, given, given_last, into: vec![into], beside: None, is_recorded });
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

    /// What an engine makes of a loss of a type before it is derived, multiplied so many times; the last product comes first.
    fn scaled(&mut self, loss: Local, dtype: DType, times: usize) -> Vec<Local> {
        let scaled: Vec<_> = (0..times).map(|_| self.name()).collect();
        if !scaled.is_empty() {
            self.call_into(Block::scaled(Place::Loss, Form::new(dtype, Shape::ONE), times), &[loss], &scaled);
        }
        scaled
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
