//! A reward model by trl's RewardTrainer (trl 1.10.0, trainer/reward_trainer.py `compute_loss`): chosen and rejected answers in
//! one pass of a model that puts out a number for each sequence.

use super::{Networks, PAIR, Script, handed_out, of_batch, trainer};
use crate::estimator::engines::passes::{Network, Task};
use crate::estimator::models::{Block, End, NotCounted, tokens};
use crate::estimator::operators::{Form, Operator, Part, Place};
use crate::estimator::units::{B, DType, Shape};

/// Sequences of one kind, chosen or rejected.
const HALF: Shape = B.part(2);

/// The task.
pub fn task(networks: Networks<'_>) -> Result<Task, NotCounted> {
    let types = networks.types();
    let model = networks.trained(End::Score, super::collation(networks.scenario), true)?;
    let out = Form::new(types.autocast.unwrap_or(model.dtype), B);
    let mut script = Script { is_recorded: true, ..Script::default() };
    let [ids, mask] = script.names();
    let scores = script.forward(0, &[ids, mask], &[ids]);
    let (scores, form) = handed_out(&mut script, types, scores, out);
    let [chosen, rejected, loss] = script.call(of_pairs(form), &[scores]);
    script.is_recorded = false;
    let [] = script.call(metrics(form), &[scores, mask, chosen, rejected]);
    script.is_recorded = true;
    script.forget(&[scores, chosen, rejected]);
    let step = trainer::step(&mut script, loss, form.dtype, networks);
    let all = vec![Network::trained(model, types)];
    let batch = vec![of_batch(Part::Ids, tokens()), of_batch(Part::Mask, tokens())];
    Ok(Task { sequences: PAIR, ..trainer::task(script, all, batch, step) })
}

/// From scores to those of chosen and of rejected answers, as views, and to the loss.
fn of_pairs(form: Form) -> Block {
    let (mut block, arguments) = Block::new(&[form]);
    let [chosen, rejected] = block.add_all(Place::Loss, Operator::Split { x: arguments[0], parts: 2 });
    let difference = block.add(Place::Loss, Operator::Difference { x: chosen, y: rejected });
    let logs = block.add(Place::Loss, Operator::LogSigmoid { x: difference });
    let mean = block.add(Place::Loss, Operator::Sum { x: logs, inputs: HALF });
    let loss = block.add(Place::Loss, Operator::Scale { x: mean });
    block.giving(&[chosen, rejected, loss])
}

/// What is told of a micro-batch, in the order of the function.
fn metrics(form: Form) -> Block {
    let half = Form { shape: HALF, ..form };
    let (mut block, arguments) = Block::new(&[form, tokens(), half, half]);
    let [scores, mask, chosen, rejected] = std::array::from_fn(|place| arguments[place]);
    let one = Form { shape: Shape::ONE, ..form };
    let at = Place::Metrics;
    let mut make = |x, y, form| block.add(at, Operator::Computed { x, y, form });
    let tokens = make(mask, None, Form::new(DType::Long, Shape::ONE));
    make(tokens, None, Form::new(DType::Long, Shape::ONE));
    for _ in 0..3 {
        make(scores, None, one);
    }
    let greater = make(chosen, Some(rejected), Form::new(DType::Byte, HALF));
    let accuracies = make(greater, None, Form::new(DType::Single, HALF));
    let accuracy = make(accuracies, None, Form::new(DType::Single, Shape::ONE));
    make(accuracy, None, Form::new(DType::Single, Shape::ONE));
    let margins = make(chosen, Some(rejected), half);
    let margin = make(margins, None, one);
    let margin = make(margin, None, one);
    block.named(&[margin]);
    block
}
