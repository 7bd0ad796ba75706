//! Training on the next token by transformers' Trainer, and its evaluation behind the last step (transformers 5.23.0, trainer.py
//! `evaluation_loop` and `prediction_step`): the loss of each batch, and the logits of all, where metrics ask for them.

use super::distil::items_of;
use super::{Local, Networks, Script, checkpoint, computed_of, handed_out, of_batch, trainer};
use crate::estimator::choice::{
    Adapter, AttentionKernel, Batching, Engine, Evaluation, LossHead, StepKernel, TaskKind, ZeroStage,
};
use crate::estimator::engines::passes::{Network, Pass, Task};
use crate::estimator::models::{Block, Collation, End, NotCounted, tokens};
use crate::estimator::operators::{Form, Operator, Part, Place, Types};
use crate::estimator::scenario::Scenario;
use crate::estimator::units::{B, DType, Extent, S, Shape, V};

/// Whether the evaluation of a scenario is played, where it has one.
pub fn is_evaluated(scenario: &Scenario) -> bool {
    let Scenario { recipe, cluster, outside, .. } = scenario;
    let is_evaluation = outside.evaluation != Evaluation::Off && !outside.generates();
    let is_divided = cluster.engine == Engine::Torch && cluster.reshard == 0
        || cluster.engine == Engine::DeepSpeed && cluster.zero != ZeroStage::Stage3;
    let is_plain = recipe.loss == LossHead::Plain && recipe.step != StepKernel::InBackward;
    // Attention in full copies heads of several sequences, and an evaluation drops nothing.
    let has_dropout = recipe.dropout.is_on() || recipe.adapter != Adapter::None && recipe.adapter_dropout.is_on();
    let is_fused = recipe.attention == AttentionKernel::Flash && !has_dropout;
    let is_trained = scenario.task.kind == TaskKind::Train && scenario.batching() == Batching::Equal;
    is_evaluation && is_divided && super::has_precision(scenario) && is_plain && is_fused && is_trained
}

/// The task.
pub fn task(scenario: &Scenario, networks: Networks<'_>) -> Result<Task, NotCounted> {
    let types = networks.types();
    let model = networks.trained(End::LossOfItems, Collation::Equal, true)?;
    let out = Form::new(types.autocast.unwrap_or(model.dtype), B * S * V);
    let mut script = Script::default();
    let [ids, labels, items] = script.names();
    script.call_into(items_of(), &[labels], &[items]);
    let before = std::mem::take(&mut script.passes);
    script.is_recorded = true;
    let [loss, logits] = passed(&mut script, [ids, labels, items], types, out);
    let (mut block, arguments) = Block::new(&[Form::new(DType::Single, Shape::ONE)]);
    block.take(&arguments);
    // Over devices and back (`average_tokens_across_devices`).
    let scaled = block.add(Place::Loss, Operator::ScaleInPlace { x: arguments[0] });
    let [loss] = script.call(block.giving(&[scaled]), &[loss]);
    script.forget(&[logits]);
    let step = trainer::step_of_sum(&mut script, loss, DType::Single, networks);
    let trained = std::mem::take(&mut script.passes);

    script.is_recorded = false;
    let left = step.left.iter().map(|(local, _)| *local);
    script.forget(&[ids, labels, items].into_iter().chain(left).collect::<Vec<_>>());
    script.passes.push(Pass::EndTraining);
    evaluate(&mut script, &Evaluated::new(scenario, types, out));
    script.passes.extend(checkpoint::passes(scenario));
    let outside = std::mem::replace(&mut script.passes, trained);

    let all = vec![Network::trained(model, types)];
    let batch = vec![of_batch(Part::Ids, tokens()), of_batch(Part::Labels, tokens())];
    // A batch of the evaluation is a micro-batch where none is said.
    let is_of_one_batch = scenario.outside.eval_batch == 0;
    Ok(Task { before, outside, is_of_one_batch, ..trainer::task(script, all, batch, step) })
}

/// A pass of the model: its loss and logits, as accelerate hands them out.
fn passed(script: &mut Script, [ids, labels, items]: [Local; 3], types: Types, out: Form) -> [Local; 2] {
    let into @ [loss, logits] = script.names();
    let (given, given_last, is_recorded) = (vec![ids], vec![labels, items], script.is_recorded);
    script.passes.push(Pass::Forward { network: 0, given, given_last, into: into.to_vec(), beside: None, is_recorded });
    let (logits, _) = handed_out(script, types, logits, out);
    [loss, logits]
}

/// What an evaluation goes through.
struct Evaluated {
    /// The types of the model.
    types: Types,
    /// The logits of a batch.
    out: Form,
    /// Whether logits and labels are kept for metrics.
    keeps_logits: bool,
    /// How many sequences there are.
    sequences: u32,
    /// Tokens of each.
    tokens: u32,
    /// Sequences of a batch on a device.
    batch: u32,
    /// Devices among which batches are shared, each of which is given what all have.
    devices: u32,
    /// Batches after which what is kept goes to the host; 0 for never.
    steps: u32,
}

/// Names of an evaluation.
struct Names {
    /// Those of a batch: ids, labels, how many labels there are.
    batch: [Local; 3],
    /// What a batch has: losses, logits, labels.
    one: [Local; 3],
    /// The same of all batches so far.
    all: [Local; 3],
}

impl Evaluated {
    fn new(scenario: &Scenario, types: Types, out: Form) -> Self {
        let Scenario { outside, recipe, .. } = scenario;
        let devices = scenario.cluster.data_parallel().max(1);
        // Each device has as many as the others (`even_batches` of accelerate).
        let sequences = outside.eval_sequences.max(1).div_ceil(devices);
        let batch = if outside.eval_batch > 0 { outside.eval_batch } else { recipe.batch };
        Self {
            types,
            out,
            keeps_logits: outside.evaluation == Evaluation::Logits,
            sequences,
            tokens: recipe.sequence,
            batch: batch.clamp(1, sequences),
            devices,
            steps: outside.eval_steps,
        }
    }

    /// What is kept of so many sequences: losses, logits, labels.
    fn kept(&self) -> Vec<Form> {
        let handed = self.types.autocast.map_or(self.out, |_| self.out.with_dtype(DType::Single));
        let all = [Form::new(DType::Single, B), handed, tokens()];
        all[..if self.keeps_logits { 3 } else { 1 }].to_vec()
    }

    fn extent(&self, sequences: u32) -> Extent {
        Extent { sequences, tokens: self.tokens, cached: self.tokens }
    }

    /// The same of what all devices have of so many sequences each.
    fn extent_of_all(&self, sequences: u32) -> Extent {
        self.extent(sequences.saturating_mul(self.devices))
    }
}

/// `Trainer.evaluate`.
fn evaluate(script: &mut Script, evaluated: &Evaluated) {
    let names = Names { batch: script.names(), one: script.names(), all: script.names() };
    let (full, rest) = (evaluated.sequences / evaluated.batch, evaluated.sequences % evaluated.batch);
    let group = if evaluated.steps > 0 { evaluated.steps } else { u32::MAX };
    let (groups, left) = (full / group, full % group);
    if groups > 0 {
        let before = std::mem::take(&mut script.passes);
        batches(script, evaluated, &names, group);
        to_host(script, &names);
        let passes = std::mem::replace(&mut script.passes, before);
        script.passes.push(Pass::Times(groups, passes));
    }
    if left > 0 {
        batches(script, evaluated, &names, left);
    }
    if rest > 0 {
        let extent = evaluated.extent_of_all(left.saturating_mul(evaluated.batch).saturating_add(rest));
        script.passes.push(Pass::Extent(Some(extent)));
        batch(script, evaluated, &names, rest);
        script.passes.push(Pass::Extent(Some(extent)));
        add(script, evaluated, &names, left == 0);
    }
    script.forget(&[&names.all[..], &names.one, &names.batch].concat());
    script.passes.push(Pass::Extent(None));
}

/// So many full batches, one after another.
fn batches(script: &mut Script, evaluated: &Evaluated, names: &Names, times: u32) {
    let grows = Extent { sequences: evaluated.batch.saturating_mul(evaluated.devices), tokens: 0, cached: 0 };
    batch(script, evaluated, names, evaluated.batch);
    script.passes.push(Pass::Extent(Some(evaluated.extent_of_all(evaluated.batch))));
    add(script, evaluated, names, true);
    let before = std::mem::take(&mut script.passes);
    batch(script, evaluated, names, evaluated.batch);
    script.passes.push(Pass::OfRound);
    add(script, evaluated, names, false);
    let passes = std::mem::replace(&mut script.passes, before);
    let extent = evaluated.extent_of_all(evaluated.batch);
    script.passes.push(Pass::Rounds { extent, grows, times: times - 1, leaves: None, passes, between: Vec::new() });
}

/// A batch: it comes, its labels are counted, and the model gives its loss, which stands for each of its sequences.
fn batch(script: &mut Script, evaluated: &Evaluated, names: &Names, sequences: u32) {
    script.passes.push(Pass::Extent(Some(evaluated.extent(sequences))));
    let [ids, labels, items] = names.batch;
    let (mut block, _) = Block::new(&[]);
    let brought = [0; 2].map(|_| block.add(Place::Batch, Operator::Brought { form: tokens() }));
    script.call_into(block.giving(&brought), &[], &[ids, labels]);
    script.call_into(items_of(), &[labels], &[items]);
    let [loss, logits] = passed(script, names.batch, evaluated.types, evaluated.out);
    let one = Form::new(DType::Single, Shape::ONE);
    let [losses, of_logits, of_labels] = names.one;
    // `loss.detach().mean()`, and `losses.repeat(batch_size)`.
    script.call_into(computed_of(Place::Metrics, one, one), &[loss], &[losses]);
    script.forget(&[items, loss]);
    if evaluated.keeps_logits {
        script.passes.push(Pass::Move(logits, of_logits));
        script.call_into(same(tokens()), &[labels], &[of_labels]);
    } else {
        script.forget(&[logits]);
    }
    let of_each = Form::new(DType::Single, Shape::ONE.by(evaluated.batch));
    script.call_into(computed_of(Place::Metrics, one, of_each), &[losses], &[losses]);
    if evaluated.devices > 1 {
        gather(script, losses, of_each, evaluated.devices);
        if let [_, logits, labels] = evaluated.kept()[..] {
            gather(script, of_logits, logits, evaluated.devices);
            gather(script, of_labels, labels, evaluated.devices);
        }
    }
}

/// A name gets what all devices have of a tensor, before what it had goes (`_gpu_gather` in accelerate/utils/operations.py,
/// 1.15.0).
fn gather(script: &mut Script, name: Local, form: Form, devices: u32) {
    let all = Form { shape: form.shape.by(devices), ..form };
    script.call_into(computed_of(Place::Metrics, form, all), &[name], &[name]);
}

/// What is kept of a batch is joined with that of the batches before (`EvalLoopContainer.add`).
fn add(script: &mut Script, evaluated: &Evaluated, names: &Names, is_first: bool) {
    for (place, form) in evaluated.kept().into_iter().enumerate() {
        let [one, all] = [names.one[place], names.all[place]];
        if is_first {
            script.call_into(same(form), &[one], &[all]);
        } else {
            let (mut block, arguments) = Block::new(&[form, form]);
            let [x, y] = [arguments[0], arguments[1]];
            let joined = block.add(Place::Metrics, Operator::Computed { x, y: Some(y), form });
            script.call_into(block.giving(&[joined]), &[all, one], &[all]);
        }
    }
}

/// What is kept goes to the host, and the names of the batch with it.
fn to_host(script: &mut Script, names: &Names) {
    script.forget(&[&names.all[..], &names.one].concat());
    script.passes.push(Pass::EmptyCache);
}

/// The same tensor, by another name.
fn same(form: Form) -> Block {
    let (mut block, arguments) = Block::new(&[form]);
    let result = block.add(Place::Metrics, Operator::Return { x: arguments[0] });
    block.giving(&[result])
}
