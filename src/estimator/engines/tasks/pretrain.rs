//! Megatron-LM's own loop (`forward_step` and `loss_func` of pretrain_gpt.py, `forward_backward_no_pipelining` in
//! megatron/core/pipeline_parallel/schedules.py, core_v0.16.1), without a mask of attention.

use super::{Networks, Script};
use crate::estimator::engines::acts::Name;
use crate::estimator::engines::passes::{Batches, Network, Pass, Task};
use crate::estimator::models::{Block, Collation, End, NotCounted, tokens};
use crate::estimator::operators::{Form, Operator, Place};
use crate::estimator::units::{DType, Shape};

/// The task.
pub fn task(networks: Networks<'_>) -> Result<Task, NotCounted> {
    let model = networks.trained(End::Loss, Collation::Equal, true)?;
    let mut script = Script { is_recorded: true, ..Script::default() };
    let [loss, count, report] = script.names();
    let [ids, labels, mask, positions] = script.call(brought(), &[]);
    let losses = script.name();
    let (given, given_last, into) = (vec![ids], vec![labels], vec![losses]);
    script.passes.push(Pass::Forward { network: 0, given, given_last, into, beside: None, is_recorded: true });
    script.forget(&[ids, labels, positions]);
    if let Some(output) = model.output.clone() {
        script.call_into(output, &[losses, mask], &[loss, count, report]);
    }
    script.passes.push(Pass::Keep(report, Name::Losses));
    // `scale_loss` of the optimizer.
    let one = Form::new(model.loss, Shape::ONE);
    let [scaled] = script.call(Block::scaled(Place::Loss, one, 1), &[loss]);
    script.passes.push(Pass::Backward(scaled, model.loss));
    script.forget(&[scaled]);
    let kept = networks.data_parallel.kept(&model);
    Ok(Task {
        networks: vec![Network::trained(model, networks.types())],
        functions: script.functions,
        kept,
        batch: Vec::new(),
        batches: Batches::Once,
        before: Vec::new(),
        micro_batch: script.passes,
        epochs: None,
        before_update: Vec::new(),
        after: vec![Pass::Forget(vec![loss, count])],
        left: Vec::new(),
        outside: Vec::new(),
        names: script.names,
        sequences: 1,
        is_of_one_batch: false,
        has_groups: false,
    })
}

/// Token ids, labels, the mask of the loss and positions, which come to the device for each micro-batch (`get_batch_on_this_tp_rank`).
fn brought() -> Block {
    let (mut block, _) = Block::new(&[]);
    let long = tokens();
    let forms = [long, long, long.with_dtype(DType::Single), long];
    let all = forms.map(|form: Form| block.add(Place::Batch, Operator::Brought { form }));
    block.giving(&all)
}
