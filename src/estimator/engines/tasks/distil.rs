//! Distillation by trl's GKDTrainer (trl 1.10.0, experimental/gkd/gkd_trainer.py `compute_loss`) on answers of the data: the
//! student's pass, then the teacher's without gradients while the first is kept, and the divergence of their logits.

use super::{Networks, Script, frozen, handed_out, of_batch, trainer};
use crate::estimator::choice::Reference;
use crate::estimator::engines::passes::{Network, Task};
use crate::estimator::models::{Block, End, NotCounted, tokens};
use crate::estimator::operators::{Form, Operator, Owner, Part, Place};
use crate::estimator::scenario::Scenario;
use crate::estimator::units::{B, DType, S, S1, SC, SP, Shape, V, Width};

/// The task.
pub fn task(scenario: &Scenario, networks: Networks<'_>) -> Result<Task, NotCounted> {
    let task = &scenario.task;
    if task.teacher > 0 || matches!(task.reference, Reference::Sharded | Reference::Offloaded) {
        return Err(NotCounted::Task);
    }
    let types = networks.types();
    let model = networks.trained(End::Logits, super::collation(scenario), true)?;
    let out = Form::new(types.autocast.unwrap_or(model.dtype), B * S * V);
    let teacher = frozen(networks, End::Logits, Owner::Teacher)?;
    if teacher.model.dtype != model.dtype {
        return Err(NotCounted::Task);
    }
    // Under FSDP accelerate does not bring the teacher to the device (`device_placement` in accelerate/accelerator.py, 1.15.0).
    if teacher.unit.is_some() {
        return Err(NotCounted::SeveralGpus);
    }
    let mut script = Script::default();
    let [ids, mask, labels, _, _, items] = script.names();
    let [count] = script.call(items_of(), &[labels]);
    script.forget(&[items]);
    script.passes.push(super::Pass::Move(count, items));
    let before = std::mem::take(&mut script.passes);

    script.is_recorded = true;
    let student = script.forward(0, &[ids, mask], &[]);
    let (student, form) = handed_out(&mut script, types, student, out);
    script.is_recorded = false;
    let taught = script.forward(1, &[ids, mask], &[]);
    let (taught, _) = handed_out(&mut script, types, taught, out);
    script.is_recorded = true;
    let (mut block, arguments) =
        Block::new(&[form, form, Form::new(DType::Long, B * S1), Form::new(DType::Single, Shape::ONE)]);
    let slice = |block: &mut Block, x| block.add(Place::Logits, Operator::Slice { x, from: S, to: S1 });
    let [x, y] = [arguments[0], arguments[1]].map(|x| slice(&mut block, x));
    let [labels_of, number] = [arguments[2], arguments[3]];
    let given =
        Operator::JensenShannon { student: x, teacher: y, labels: labels_of, items: number, rows: B * SC, width: V };
    let loss = block.add(Place::Loss, given);
    let [loss] = script.call(block.giving(&[loss]), &[student, taught, labels, items]);
    script.passes.push(super::Pass::EmptyCache);
    script.forget(&[student, taught]);
    let dtype = form.dtype.promoted(DType::Single);
    let step = trainer::step_of_sum(&mut script, loss, dtype, networks);
    let all = vec![Network::trained(model, types), teacher];
    let batch = vec![
        of_batch(Part::Ids, tokens()),
        of_batch(Part::Mask, tokens()),
        of_batch(Part::Labels, tokens()),
        of_batch(Part::Ids, Form::new(DType::Long, B * SP)),
        of_batch(Part::Mask, Form::new(DType::Long, B * SP)),
    ];
    let mut of_task = Task { before, ..trainer::task(script, all, batch, step) };
    // A prompt has a token at least. Answers are what is behind it, each predicted by the token before.
    let sequence = u64::from(scenario.recipe.sequence);
    let prompt = sequence.saturating_sub(u64::from(task.completed(scenario.recipe.sequence))).max(1);
    of_task.set(Width::Prompt, prompt);
    of_task.set(Width::Completion, sequence.saturating_sub(prompt));
    Ok(of_task)
}

/// The number of labels of a step, of which the first predicts nothing (`_get_num_items_in_batch` in
/// transformers/trainer.py).
pub fn items_of() -> Block {
    let (mut block, arguments) = Block::new(&[Form::new(DType::Long, B * S)]);
    let flags = Operator::Computed { x: arguments[0], y: None, form: Form::new(DType::Byte, B * S1) };
    let flags = block.add(Place::Labels, flags);
    let sum = block.add(Place::Labels, Operator::TotalOfFlags { x: flags });
    let one = |x, dtype| Operator::Computed { x, y: None, form: Form::new(dtype, Shape::ONE) };
    let whole = block.add(Place::Labels, one(sum, DType::Long));
    let number = block.add(Place::Labels, one(whole, DType::Single));
    block.giving(&[number])
}
