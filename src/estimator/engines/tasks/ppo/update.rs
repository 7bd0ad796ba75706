//! Passes of PPOTrainer over a micro-batch: the module of policy and value model runs, the loss is derived, the optimizer updates
//! behind the last one, and statistics are taken of what is still there.

use super::{Run, each, forward, inputs, one};
use crate::estimator::engines::passes::Pass;
use crate::estimator::engines::tasks::log_probs::selective_log_softmax;
use crate::estimator::engines::tasks::statements::{Named, chained};
use crate::estimator::engines::tasks::{Local, Script};
use crate::estimator::models::{Block, tokens};
use crate::estimator::operators::{Form, Operator, Place, Pointwise, Value};
use crate::estimator::units::{B, DType, H, S, SC, V};

/// A function of values, element by element.
fn pointwise<const OTHERS: usize>(block: &mut Block, function: Pointwise, x: Value, others: [Value; OTHERS]) -> Value {
    let others = [0, 1].map(|place| others.get(place).copied());
    block.add(Place::Loss, Operator::Pointwise { x, others, function })
}

/// Flags of the micro-batch by a list of its numbers; `negated`, those that are not set.
fn flags(block: &mut Block, is_negated: bool) -> Value {
    let (numbers, of_tokens) = (Form::new(DType::Long, B), each(DType::Byte));
    let forms = [numbers, of_tokens, of_tokens];
    chained(block, Place::Loss, &forms[..if is_negated { 3 } else { 2 }])
}

/// `masked_mean` over what is no padding.
fn mean(block: &mut Block, x: Value) -> Value {
    let seen = flags(block, true);
    pointwise(block, Pointwise::MeanOfMasked, x, [seen])
}

/// The share of tokens for which one value is larger than another.
fn share(script: &mut Script, into: Local) {
    script.statement(into, &[], |block, _| {
        let larger = chained(block, Place::Loss, &[each(DType::Byte), each(DType::Single)]);
        mean(block, larger)
    });
}

/// What the module puts out, as accelerate hands it out: under autocast all is cast to fp32 (`convert_outputs_to_fp32`).
struct Output {
    logits: Local,
    states: Local,
    cache: Local,
    values: Local,
}

/// The pass of the module, which takes the place of that of the micro-batch before.
fn output(script: &mut Script, run: &Run, held: &Output) {
    let given = inputs(script);
    let [values, value_states, value_cache, logits, states, cache] = script.names();
    forward(script, run.numbers.value, given, values, [value_states, value_cache]);
    forward(script, run.numbers.policy, given, logits, [states, cache]);
    script.forget(&[value_states, value_cache]);
    let mut out = [logits, states, values];
    if let Some(low) = run.low {
        let wide: [Local; 3] = script.names();
        let to = |block: &mut Block, x| block.add(Place::Logits, Operator::To { x, dtype: DType::Single });
        script.statement(wide[0], &[(logits, Form::new(low, B * S * V))], |block, given| to(block, given[0]));
        let mut over = vec![logits, values];
        if run.weights == DType::Single {
            out[0] = wide[0];
        } else {
            let (mut block, arguments) = Block::new(&[Form::new(run.weights, B * S * H)]);
            let cast = to(&mut block, arguments[0]);
            let function = script.function(block.giving(&[cast]));
            script.passes.push(Pass::ForItems { function, of: states, list: wide[1] });
            over.push(states);
            (out[0], out[1]) = (wide[0], wide[1]);
        }
        script.statement(wide[2], &[(values, Form::new(low, B * S))], |block, given| to(block, given[0]));
        out[2] = wide[2];
        script.forget(&over);
    }
    script.forget(&given);
    let [logits, states, values] = out;
    let moved = [(logits, held.logits), (states, held.states), (cache, held.cache), (values, held.values)];
    script.passes.extend(moved.map(|(from, to)| Pass::Move(from, to)));
}

/// The micro-batch; names that go when all of an epoch are through.
pub fn micro_batch(script: &mut Script, run: &Run) -> Vec<Local> {
    let (long, single) = (DType::Long, DType::Single);
    let numbers = Form::new(long, B);
    let [advantage, responses, query_responses, log_probs, returns, values] = script.names();
    let of_batch = [
        (advantage, each(single)),
        (responses, each(long)),
        (query_responses, tokens()),
        (log_probs, each(single)),
        (returns, each(single)),
        (values, each(run.weights)),
    ];
    of_batch.into_iter().for_each(|(name, form)| script.chain(name, Place::Batch, &[numbers, form]));
    let [advantage, log_probs, returns, values] =
        [(advantage, single), (log_probs, single), (returns, single), (values, run.weights)]
            .map(|(name, dtype)| (name, each(dtype)));

    script.is_recorded = true;
    let [whole, states, cache, values_whole] = script.names();
    output(script, run, &Output { logits: whole, states, cache, values: values_whole });
    let logits: Local = script.name();
    let form = Form::new(run.out, B * S * V);
    script.statement(logits, &[(whole, form)], |block, given| {
        block.add(Place::Logits, Operator::ScaledPart { x: given[0], from: S, to: SC })
    });
    let part = Form::new(run.out, B * SC * V);
    let new = selective_log_softmax(script, logits, responses, part, run.batch);
    let kept = loss(script, run, new, values_whole, [advantage, log_probs, returns, values]);
    script.is_recorded = false;

    script.passes.push(Pass::Update);
    let [clipped, probabilities, entropy, divergence] = script.names();
    share(script, clipped);
    script.statement(probabilities, &[(logits, part)], |block, given| {
        let form = part;
        let softmax = block.add(Place::Entropy, Operator::Computed { x: given[0], y: None, form });
        if run.batch > 1 {
            // Of several sequences the part is brought side by side.
            block.add(Place::Entropy, Operator::Computed { x: given[0], y: None, form });
        }
        softmax
    });
    script.statement(entropy, &[(logits, part), (probabilities, part)], |block, given| {
        let sums = block.add(Place::Entropy, Operator::LogSumExp { x: given[0], width: V });
        let product = Operator::Computed { x: given[0], y: Some(given[1]), form: part };
        let product = block.add(Place::Entropy, product);
        let inner = block.add(Place::Entropy, Operator::Total { x: product, dtype: run.out, inputs: V });
        block.add(Place::Entropy, Operator::Computed { x: sums, y: Some(inner), form: each(run.out) })
    });
    script.chain(divergence, Place::Metrics, &[each(single), one(single), one(single)]);
    script.glance(Place::Metrics, &[one(run.out)]);
    script.glance(Place::Metrics, &[one(single)]);
    let all = [whole, states, cache, values_whole, logits, clipped, probabilities, entropy, divergence, responses];
    let of_batch = [advantage.0, log_probs.0, returns.0, values.0, query_responses];
    all.into_iter().chain(of_batch).chain(kept).collect()
}

/// The loss of policy and value model, and its gradients; what has a name behind it.
fn loss(script: &mut Script, run: &Run, new: Local, values: Local, of_batch: [Named; 4]) -> Vec<Local> {
    let [advantage, log_probs, returns, old_values] = of_batch;
    let (single, at) = (DType::Single, Place::Loss);
    let out = each(run.out);
    let [new_log_probs, value, clipped] = script.names().map(|name| (name, out));
    script.passes.push(Pass::Move(new, new_log_probs.0));
    script.statement(new_log_probs.0, &[new_log_probs], |block, given| {
        let hidden = flags(block, false);
        pointwise(block, Pointwise::Filled, given[0], [hidden])
    });
    let whole = Form::new(run.out, B * S);
    script.statement(value.0, &[(values, whole)], |block, given| {
        block.add(at, Operator::Slice { x: given[0], from: S, to: SC })
    });
    script.statement(value.0, &[value], |block, given| {
        let hidden = flags(block, false);
        pointwise(block, Pointwise::Filled, given[0], [hidden])
    });
    script.statement(clipped.0, &[value, old_values], |block, given| {
        let bound = |block: &mut Block| block.add(at, Operator::Computed { x: given[1], y: None, form: old_values.1 });
        let bounds = [bound(block), bound(block)];
        pointwise(block, Pointwise::ClampedBetween, given[0], bounds)
    });
    let [first, second, most] = script.names().map(|name| (name, each(single)));
    for (into, of) in [(first, value), (second, clipped)] {
        script.statement(into.0, &[of, returns], |block, given| {
            let difference = block.add(at, Operator::Difference { x: given[0], y: given[1] });
            pointwise(block, Pointwise::Squared, difference, [])
        });
    }
    script
        .statement(most.0, &[first, second], |block, given| pointwise(block, Pointwise::Larger, given[0], [given[1]]));
    let [value_loss, value_share] = script.names().map(|name| (name, one(single)));
    script.statement(value_loss.0, &[most], |block, given| {
        let mean = mean(block, given[0]);
        block.add(at, Operator::Scale { x: mean })
    });
    share(script, value_share.0);
    let [difference, ratio, plain, bounded, worst] = script.names().map(|name| (name, each(single)));
    script.statement(difference.0, &[new_log_probs, log_probs], |block, given| {
        block.add(at, Operator::Difference { x: given[0], y: given[1] })
    });
    script.statement(ratio.0, &[difference], |block, given| pointwise(block, Pointwise::Exponential, given[0], []));
    for (into, is_clamped) in [(plain, false), (bounded, true)] {
        script.statement(into.0, &[advantage, ratio], |block, given| {
            let negated = Operator::Computed { x: given[0], y: None, form: advantage.1 };
            let negated = block.add(at, negated);
            let y = if is_clamped { pointwise(block, Pointwise::Clamped, given[1], []) } else { given[1] };
            block.add(at, Operator::Multiply { x: negated, y })
        });
    }
    script.statement(worst.0, &[plain, bounded], |block, given| {
        pointwise(block, Pointwise::Larger, given[0], [given[1]])
    });
    let [policy_loss, total, divided] = script.names().map(|name| (name, one(single)));
    script.statement(policy_loss.0, &[worst], |block, given| mean(block, given[0]));
    script.statement(total.0, &[policy_loss, value_loss], |block, given| {
        let weighted = block.add(at, Operator::Scale { x: given[1] });
        block.add(at, Operator::Add { x: given[0], y: weighted })
    });
    // The loss is the last name that kept the graph of the micro-batch before.
    script.passes.push(Pass::ForgetGraph);
    // `Accelerator.backward` divides by the number of micro-batches.
    script.statement(divided.0, &[total], |block, given| block.add(at, Operator::Scale { x: given[0] }));
    script.passes.push(Pass::Backward(divided.0, single));
    script.forget(&[divided.0]);
    // `vf_loss_max` stays until the next one.
    let named = [new_log_probs, value, clipped, first, second, value_loss, value_share, difference, ratio];
    let named = named.into_iter().chain([plain, bounded, worst, policy_loss, total]);
    named.map(|(name, _)| name).collect()
}
