//! Training on the next token, on masked words or on classes, in a loop of PyTorch's own: forward, loss, backward.

use super::{Networks, Script, of_batch};
use crate::estimator::choice::{AttentionKernel, Batching, Engine, PaddedAttention};
use crate::estimator::engines::acts::Name;
use crate::estimator::engines::passes::{Batches, Local, Network, Pass, Task};
use crate::estimator::models::{Collation, End, NotCounted, tokens};
use crate::estimator::operators::{Part, Size, Tensor};
use crate::estimator::scenario::Scenario;

/// The task.
pub fn task(networks: Networks<'_>) -> Result<Task, NotCounted> {
    let model = networks.trained(End::Loss, collation(networks.scenario), true)?;
    let mut script = Script { is_recorded: true, ..Script::default() };
    let ids = script.name();
    let mut batch = vec![of_batch(Part::Ids, tokens())];
    let source = model.source.map(|form| (script.name(), of_batch(Part::Ids, form)));
    // torchtitan's trainer moves each micro-batch to the device in its turn, and keeps its loss until the step is over.
    let moves_batches = networks.scenario.cluster.engine == Engine::Torchtitan;
    let mut labels = ids;
    if let Some(form) = model.labels.or_else(|| moves_batches.then(tokens)) {
        labels = script.name();
        batch.push(of_batch(Part::Labels, form));
    }
    // An encoder reads one sequence, and the decoder's ids are its labels, shifted.
    let mut given = source.map_or(vec![ids], |(source, _)| vec![source, ids]);
    batch.extend(source.map(|(_, tensor)| tensor));
    for &(place, form) in &model.beside {
        given.push(script.name());
        batch.push(Tensor { place, part: Part::Ids, size: Size::Of(form) });
    }
    let [loss, logits] = script.names();
    // The loop that trains on several devices keeps what it got until the next micro-batch or the end of the step.
    let is_kept = networks.data_parallel.keeps_results();
    if is_kept {
        script.forget(&[loss, logits]);
    }
    let put_out: Vec<_> = (0..model.put_out).map(|_| script.name()).collect();
    let into = [&[loss, logits], &put_out[..]].concat();
    script.passes.push(Pass::Forward {
        network: 0,
        given,
        given_last: vec![labels],
        into,
        beside: None,
        is_recorded: true,
    });
    let scales_loss = networks.data_parallel.loss_scales() > 0;
    if let Some(output) = model.output.as_ref().filter(|_| !scales_loss) {
        script.call_into(output.clone(), &[loss, labels], &[loss, logits]);
    }
    if !model.keeps_logits {
        script.forget(&[&[logits], &put_out[..]].concat());
    }
    // What the engine's own `backward` makes of the loss goes with it.
    let scaled: Vec<_> = (0..networks.data_parallel.loss_scales()).map(|_| script.name()).collect();
    if let Some(output) = model.output.as_ref().filter(|_| scales_loss) {
        script.call_into(output.clone(), &[loss], &scaled);
    }
    script.passes.push(Pass::Backward(scaled.first().copied().unwrap_or(loss), model.loss));
    script.forget(&scaled);
    if moves_batches {
        script.passes.push(Pass::Keep(loss, Name::Losses));
        script.forget(&[logits, ids, labels]);
    } else if !is_kept {
        script.forget(&[&[loss, logits], &put_out[..]].concat());
    }
    let mut outside = super::checkpoint::passes(networks.scenario);
    if !outside.is_empty() {
        outside.insert(0, Pass::Forget((0..script.names).map(Local).collect()));
    }
    Ok(Task {
        networks: vec![Network::trained(model, networks.types())],
        functions: script.functions,
        kept: Vec::new(),
        batch: if moves_batches { Vec::new() } else { batch },
        batches: if moves_batches { Batches::EachInTurn } else { Batches::Once },
        before: Vec::new(),
        micro_batch: script.passes,
        epochs: None,
        before_update: Vec::new(),
        after: vec![Pass::Forget([&[loss, logits], &put_out[..]].concat())],
        left: Vec::new(),
        outside,
        names: script.names,
        sequences: 1,
        // So many chunks of rows or tiles follow from how many there are.
        is_of_one_batch: networks.scenario.recipe.loss.is_in_rows(),
        has_groups: false,
    })
}

/// How sequences become a micro-batch. Rows that documents fill have as many of them as documents of the median length do.
pub fn collation(scenario: &Scenario) -> Collation {
    match scenario.lengths.batching {
        Batching::Equal => Collation::Equal,
        Batching::Padded | Batching::Bucketed if takes_padding_out(scenario) => Collation::Unpadded,
        Batching::Padded | Batching::Bucketed => Collation::Padded,
        Batching::Flattened => Collation::Flattened(1),
        Batching::Packed => Collation::Flattened(scenario.recipe.sequence.div_ceil(scenario.lengths.median.max(1))),
    }
}

/// Whether attention takes padding out, which eager attention never does.
fn takes_padding_out(scenario: &Scenario) -> bool {
    (scenario.lengths.attention, scenario.recipe.attention) == (PaddedAttention::Unpadded, AttentionKernel::Flash)
}
