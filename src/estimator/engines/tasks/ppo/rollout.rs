//! Passes of PPOTrainer before and behind its updates: the policy generates, models score, advantages are computed, and
//! in the end numbers are reported.

use super::{Names, Run, each, forward, inputs, one, one_each};
use crate::estimator::engines::passes::Pass;
use crate::estimator::engines::tasks::generation::{self, Generation, Kind};
use crate::estimator::engines::tasks::log_probs::selective_log_softmax;
use crate::estimator::engines::tasks::{Local, Script};
use crate::estimator::models::{Block, tokens};
use crate::estimator::operators::{Form, Operator, Place, Types, Value};
use crate::estimator::units::{B, DType, Extent, S, SC, V};

/// Logits of completions in fp32.
fn logits(dtype: DType) -> Form {
    Form::new(dtype, B * SC * V)
}

/// Prompts come, and the policy generates; logits of every token are stacked, padded, and kept until the next update
/// (`batch_generation`).
pub fn generate(script: &mut Script, names: &Names, run: &Run) {
    let prompts = Extent { sequences: run.all, tokens: run.prompt, cached: run.prompt };
    script.passes.push(Pass::Extent(Some(prompts)));
    names.data.iter().for_each(|&name| script.chain(name, Place::Batch, &[tokens()]));
    script.view(names.queries, (names.data[0], tokens()));
    let [list, stacked, joined, padded, padded_logits] = script.names();
    let (network, dtype) = (run.numbers.generating, run.weights);
    let types = Types { weights: dtype, loaded: dtype, buffers: DType::Single, autocast: None };
    let asked = Generation {
        network,
        types,
        dtype,
        sequences: run.all,
        prompt: run.prompt,
        tokens: run.completion,
        // `eos_token_id` is that on which a completion is cut off, of which there is none.
        has_end_token: false,
        kind: Kind::Scored { list, has_begin_token: run.has_begin_token },
    };
    let [sequence, mask, filled] = generation::generate(script, names.queries, asked);
    script.passes.push(Pass::Extent(Some(run.whole)));
    let wide = logits(DType::Single);
    script.statement(stacked, &[(list, wide)], |block, given| {
        block.add(Place::Logits, Operator::Joined { list: given[0], shape: wide.shape })
    });
    script.chain(joined, Place::Batch, &[tokens()]);
    script.forget(&[mask, filled, sequence, list]);
    script.passes.push(Pass::DropCache(network));
    script.chain(padded, Place::Batch, &[tokens()]);
    script.chain(padded_logits, Place::Logits, &[wide]);
    script.forget(&[joined, stacked]);
    script.passes.extend([Pass::Move(padded, names.query_responses), Pass::Move(padded_logits, names.logits)]);
}

/// Log-probabilities of the policy and of the reference, values and scores, of all sequences at once.
pub fn score(script: &mut Script, names: &Names, run: &Run) {
    let (long, batch) = (DType::Long, Place::Batch);
    script.view(names.query, (names.queries, tokens()));
    script.view(names.query_response, (names.query_responses, tokens()));
    script.view(names.response, (names.query_response, tokens()));
    let [log_prob, reference_log_prob] = script.names();
    let wide = logits(DType::Single);
    let of_policy = selective_log_softmax(script, names.logits, names.response, wide, run.all);
    script.passes.extend([Pass::Move(of_policy, log_prob), Pass::EmptyCache]);

    let [whole, part, states, cache] = script.names();
    let given = inputs(script);
    forward(script, run.numbers.reference, given, whole, [states, cache]);
    script.forget(&given);
    let form = Form::new(run.reference, B * S * V);
    script.statement(part, &[(whole, form)], |block, given| {
        block.add(Place::Logits, Operator::ScaledPart { x: given[0], from: S, to: SC })
    });
    let of_reference = selective_log_softmax(script, part, names.response, logits(run.reference), run.all);
    script.passes.push(Pass::Move(of_reference, reference_log_prob));
    script.forget(&[whole, part, states, cache]);
    script.passes.push(Pass::EmptyCache);

    script.view(names.postprocessed_response, (names.response, tokens()));
    script.chain(names.postprocessed_query_response, batch, &[tokens()]);
    script.call_into(first_true(1), &[], &[names.sequence_length]);
    let [full_value, value, score] = script.names();
    let of_value = reward(script, run.numbers.scoring, run.weights);
    script.passes.extend([Pass::Move(of_value[0], full_value), Pass::Move(of_value[1], names.unnamed)]);
    script.passes.push(Pass::Move(of_value[2], names.unnamed));
    script.view(value, (full_value, Form::new(run.weights, B * S)));
    let of_reward = reward(script, run.numbers.reward, run.scores);
    script.passes.extend([Pass::Move(of_reward[0], names.unnamed), Pass::Move(of_reward[1], score)]);
    script.passes.push(Pass::Move(of_reward[2], names.unnamed));

    let joined = [
        (names.responses, each(long)),
        (names.postprocessed_responses, each(long)),
        (names.log_probs, each(DType::Single)),
        (names.reference_log_probs, each(run.reference)),
        (names.sequence_lengths, one_each(long)),
        (names.scores, one_each(run.scores)),
        (names.values, each(run.weights)),
    ];
    joined.into_iter().for_each(|(name, form)| script.chain(name, batch, &[form]));
    script.forget(&[log_prob, reference_log_prob, full_value, value, score]);
    script.passes.push(Pass::EmptyCache);
}

/// `get_reward`: numbers for all tokens, that for the last one of each sequence, and where that is.
fn reward(script: &mut Script, network: usize, dtype: DType) -> [Local; 3] {
    let names @ [all, last, lengths] = script.names();
    let [states, cache] = script.names();
    let given = inputs(script);
    forward(script, network, given, all, [states, cache]);
    script.call_into(first_true(2), &[], &[lengths]);
    script.chain(last, Place::Metrics, &[one_each(DType::Long), one_each(dtype)]);
    script.forget(&[&given[..], &[states, cache]].concat());
    names
}

/// `first_true_indices` of flags of completions (trl/experimental/utils.py), and as many sums with a number behind it.
fn first_true(sums: usize) -> Block {
    let (mut block, _) = Block::new(&[]);
    let long = each(DType::Long);
    let make = |block: &mut Block, x, y, form| block.add(Place::Metrics, Operator::Computed { x, y, form });
    let flags = block.add(Place::Metrics, Operator::Zeros { form: each(DType::Byte) });
    let others = make(&mut block, flags, None, each(DType::Byte));
    let numbers = make(&mut block, others, None, long);
    let rows = make(&mut block, numbers, None, long);
    let places = make(&mut block, rows, None, Form::new(DType::Long, SC));
    let sum = make(&mut block, rows, Some(places), long);
    let mut least = make(&mut block, sum, None, one_each(DType::Long));
    make(&mut block, sum, None, one_each(DType::Long));
    block.named(&[flags]);
    for _ in 0..sums {
        least = make(&mut block, least, None, one_each(DType::Long));
    }
    block.giving(&[least])
}

/// From scores to rewards, advantages and returns.
pub fn advantages(script: &mut Script, names: &Names, run: &Run) {
    let (long, byte, single, at) = (DType::Long, DType::Byte, DType::Single, Place::Metrics);
    script.chain(names.contains_end, at, &[each(byte), one_each(byte)]);
    script.chain(names.response_places, at, &[Form::new(long, SC), each(long)]);
    script.chain(names.padding, at, &[each(byte)]);
    let later = [
        (names.log_probs, each(single)),
        (names.reference_log_probs, each(run.reference)),
        (names.lengths_and_one, one_each(long)),
        (names.padding_and_one, each(byte)),
        (names.values, each(run.weights)),
        (names.log_ratio, each(single)),
        (names.divergence, each(single)),
        (names.divergence_reward, each(single)),
        (names.rewards, each(single)),
        (names.starts, one_each(long)),
    ];
    later.into_iter().for_each(|(name, form)| script.chain(name, at, &[form]));
    script.chain(names.ends, at, &[one_each(byte), one_each(long)]);
    script.glance(at, &[one_each(single)]);

    script.forget(&[names.reversed, names.next_values]);
    script.each(last_advantage(), 1, &[], &[names.delta], names.reversed);
    if run.completion > 1 {
        script.view(names.next_values, (names.values, each(run.weights)));
        script.each(advantage(run.weights), run.completion - 1, &[], &[names.delta], names.reversed);
    }
    let joined = each(single);
    script.statement(names.advantages, &[(names.reversed, joined)], |block, given| {
        block.add(at, Operator::Joined { list: given[0], shape: joined.shape })
    });
    script.chain(names.returns, at, &[joined]);
    // `masked_whiten` of them is left out where nothing is computed.
    script.glance(at, &[each(byte)]);
    script.chain(names.advantages, at, &[joined]);
    script.passes.extend([Pass::EmptyCache, Pass::Extent(None)]);
}

/// The advantage of the last token, and the difference that it is made of, which takes the place of the one before.
fn last_advantage() -> Block {
    let form = one_each(DType::Single);
    let (mut block, arguments) = Block::new(&[form]);
    block.take(&arguments);
    let sum = block.add(Place::Metrics, Operator::Zeros { form });
    let delta = make(&mut block, sum, Some(arguments[0]), form);
    let advantage = make(&mut block, delta, None, form);
    block.giving(&[advantage, delta])
}

/// The advantage of a token before the last, and the difference that it is made of, which takes the place of the one before.
fn advantage(values: DType) -> Block {
    let form = one_each(DType::Single);
    let (mut block, arguments) = Block::new(&[form]);
    block.take(&arguments);
    let next = block.add(Place::Metrics, Operator::Zeros { form: one_each(values) });
    let sum = make(&mut block, next, None, form);
    let delta = make(&mut block, sum, Some(arguments[0]), form);
    let scaled = make(&mut block, delta, None, form);
    let advantage = make(&mut block, scaled, Some(delta), form);
    block.giving(&[advantage, delta])
}

fn make(block: &mut Block, x: Value, y: Option<Value>, form: Form) -> Value {
    block.add(Place::Metrics, Operator::Computed { x, y, form })
}

/// Adds the report of an update, and its end: names go.
pub fn report(script: &mut Script, names: &Names, run: &Run) {
    let (byte, single, at) = (DType::Byte, DType::Single, Place::Metrics);
    script.passes.push(Pass::Extent(Some(run.whole)));
    let [divergence, entropy, reward] = script.names();
    script.chain(divergence, at, &[one_each(single), one(single)]);
    let (mut block, _) = Block::new(&[]);
    let negated = block.add(at, Operator::Zeros { form: each(single) });
    let seen = make(&mut block, negated, None, each(byte));
    let seen = make(&mut block, seen, None, each(single));
    let product = make(&mut block, negated, Some(seen), each(single));
    let sums = make(&mut block, product, None, one_each(single));
    let mean = make(&mut block, sums, None, one(single));
    script.call_into(block.giving(&[mean]), &[], &[entropy]);
    script.chain(reward, at, &[one_each(single), one(single)]);
    script.chain(names.total_reward, at, &[one(run.scores), one(single)]);
    (0..3).for_each(|_| script.glance(at, &[one(single)]));
    script.glance(at, &[one(single)]);
    script.glance(at, &[one(run.scores), one(run.scores)]);
    (0..8).for_each(|_| script.glance(at, &[one(single)]));
    let (mut block, _) = Block::new(&[]);
    let flags = block.add(at, Operator::Zeros { form: each(byte) });
    block.add(at, Operator::TotalOfFlags { x: flags });
    script.call_into(block.giving(&[]), &[], &[]);
    script.forget(&[names.divergence, divergence, entropy, reward, names.scores, names.divergence_reward]);
    script.passes.push(Pass::EmptyCache);
    script.forget(&[
        names.query_responses,
        names.responses,
        names.postprocessed_responses,
        names.log_probs,
        names.reference_log_probs,
        names.values,
        names.sequence_lengths,
        names.contains_end,
        names.lengths_and_one,
        names.response_places,
        names.padding,
        names.padding_and_one,
        names.rewards,
        names.starts,
        names.ends,
        names.advantages,
        names.returns,
    ]);
    script.passes.extend([Pass::EmptyCache, Pass::Extent(None)]);
}
