//! The loop of transformers' Trainer around a loss (transformers 5.23.0, trainer.py).

use super::{Local, Networks, Pass, Script};
use crate::estimator::engines::passes::{Batches, Network, Task};
use crate::estimator::models::Block;
use crate::estimator::operators::{Form, Operator, Part, Place, Size, Tensor};
use crate::estimator::units::{DType, Shape};

/// What the loop holds from the beginning: the sum of losses (`_inner_training_loop`).
fn kept() -> Vec<Tensor> {
    vec![Tensor { place: Place::Loss, part: Part::Sum, size: Size::Of(Form::new(DType::Single, Shape::ONE)) }]
}

/// What a step of the loop does and leaves.
pub struct Step {
    /// What it does before the optimizer's step.
    pub before_update: Vec<Pass>,
    /// Names that it leaves to the next, with what they have: the loss, and the norm of the gradients, which are of a type.
    pub left: Vec<(Local, Tensor)>,
}

/// A task of that loop, whose micro-batches come before each step. Its optimizer has a group of matrices and one of vectors
/// (`get_decay_parameter_names`), and it has one sequence for each that a micro-batch counts.
pub fn task(script: Script, networks: Vec<Network>, batch: Vec<Tensor>, step: Step) -> Task {
    Task {
        networks,
        functions: script.functions,
        kept: kept(),
        batch,
        batches: Batches::EachStep,
        before: Vec::new(),
        micro_batch: script.passes,
        epochs: None,
        before_update: step.before_update,
        after: Vec::new(),
        left: step.left,
        outside: Vec::new(),
        names: script.names,
        sequences: 1,
        is_of_one_batch: false,
        has_groups: true,
    }
}

/// What the loop does with a loss (`training_step`, `_run_epoch`): divided by the micro-batches, and once more by accelerate
/// (`Accelerator.backward`), it is derived; and it is asked whether it is finite. Before the update the norm of the gradients
/// is computed (`_get_grad_norm`).
pub fn step(script: &mut Script, loss: Local, dtype: DType, networks: Networks<'_>) -> Step {
    let [mean] = script.call(divided(dtype), &[loss]);
    step_of_sum(script, mean, dtype, networks)
}

/// A loss over a number, which takes the name of the loss.
fn divided(dtype: DType) -> Block {
    let (mut block, arguments) = Block::new(&[Form::new(dtype, Shape::ONE)]);
    block.take(&arguments);
    let divided = block.add(Place::Loss, Operator::Scale { x: arguments[0] });
    block.giving(&[divided])
}

/// The same of a loss that is divided by the labels of all micro-batches already.
///
/// DeepSpeed’s engine scales the loss in accelerate’s place, and has the norm of the gradients (`scale_wrt_gas` in `training_step`,
/// and `_get_grad_norm`).
pub fn step_of_sum(script: &mut Script, mean: Local, dtype: DType, networks: Networks<'_>) -> Step {
    let form = Form::new(dtype, Shape::ONE);
    let scales = networks.data_parallel.loss_scales();
    let seen = script.scaled(mean, dtype, scales.checked_sub(1).unwrap_or(1));
    script.passes.push(Pass::Backward(seen.first().copied().unwrap_or(mean), dtype));
    let [before, norm] = script.names();
    script.forget(&[&seen[..], &[before]].concat());
    script.passes.push(Pass::Move(mean, before));
    let (mut block, arguments) = Block::new(&[form]);
    let (x, y) = (arguments[0], None);
    let flag = form.with_dtype(DType::Byte);
    block.add(Place::Loss, Operator::Computed { x, y, form: flag });
    let absolute = block.add(Place::Loss, Operator::Computed { x, y, form });
    block.add(Place::Loss, Operator::Computed { x: absolute, y, form: flag });
    let is_recorded = std::mem::replace(&mut script.is_recorded, false);
    script.call_into(block, &[before], &[]);
    script.is_recorded = is_recorded;
    let left = |place, part, dtype| Tensor { place, part, size: Size::Of(Form::new(dtype, Shape::ONE)) };
    let loss = (before, left(Place::Loss, Part::Result, dtype));
    if scales > 0 {
        return Step { before_update: Vec::new(), left: vec![loss] };
    }
    Step {
        before_update: vec![Pass::Forget(vec![norm]), Pass::Norm(norm)],
        left: vec![loss, (norm, left(Place::Optimizer, Part::GradientNorm, networks.trained_type()))],
    }
}
