//! Direct preference optimization by trl's DPOTrainer (trl 1.10.0, trainer/dpo_trainer.py `_compute_loss`), with its default
//! loss, the sigmoid: chosen and rejected answers in one pass of the policy, then the same pass of a reference without
//! gradients while the first is kept.

use super::log_probs::{CHUNK_ROWS, chunks, entropies, selective_log_softmax};
use super::{Local, Networks, PAIR, Script, compared_with, handed_out, of_batch, reference, trainer};
use crate::estimator::choice::Reference;
use crate::estimator::engines::passes::{Network, Task};
use crate::estimator::models::{Block, End, NotCounted, tokens};
use crate::estimator::operators::{Form, Operator, Part, Place, Value};
use crate::estimator::scenario::Scenario;
use crate::estimator::units::{B, DType, S, S1, SC, Shape, V, Width};

/// Sequences of one kind, chosen or rejected.
const HALF: Shape = B.part(2);

/// The task.
pub fn task(scenario: &Scenario, networks: Networks<'_>) -> Result<Task, NotCounted> {
    let types = networks.types();
    let trained = networks.trained(End::Logits, super::collation(scenario), true)?;
    let out = Form::new(types.autocast.unwrap_or(trained.dtype), B * S * V);
    let sequences = scenario.recipe.batch.saturating_mul(PAIR as u32);
    let mut all = vec![Network::trained(trained, types)];
    let of = reference(scenario);
    all.extend(compared_with(networks, End::Logits)?);
    let of_reference = all.last().map_or(out, |network| network.out(out));

    let mut script = Script { is_recorded: true, ..Script::default() };
    let [ids, mask, answers] = script.names();
    let mut batch = vec![of_batch(Part::Ids, tokens()), of_batch(Part::Mask, tokens()), of_batch(Part::Mask, tokens())];
    let known: [Local; 2] = script.names();
    if of == Reference::None {
        batch.extend([of_batch(Part::Labels, Form::new(DType::Single, HALF)); 2]);
    }

    let logits = script.forward(0, &[ids, mask], &[]);
    let (logits, form) = handed_out(&mut script, types, logits, out);
    let policy = log_probs(&mut script, [logits, ids, answers], form, sequences);
    let sums = if of == Reference::None {
        None
    } else {
        script.is_recorded = false;
        let logits = script.forward(1, &[ids, mask], &[]);
        let (logits, form) = handed_out(&mut script, types, logits, of_reference);
        let reference = log_probs(&mut script, [logits, ids, answers], form, sequences);
        script.is_recorded = true;
        Some((logits, reference, form.dtype))
    };
    // What was known before is in fp32.
    let known_form = Form::new(DType::Single, HALF);
    let whole = Form::new(form.dtype, B);
    let (given, forms, dtype) = match &sums {
        Some((_, reference, dtype)) => {
            let whole_of_reference = whole.with_dtype(*dtype);
            (vec![policy.sums, reference.sums], vec![whole, whole_of_reference], form.dtype.promoted(*dtype))
        }
        None => (vec![policy.sums, known[0], known[1]], vec![whole, known_form, known_form], DType::Single),
    };
    let [loss, chosen, rejected, scores, losses] = script.call(of_pairs(&forms), &given);
    script.is_recorded = false;
    let rows = u64::from(sequences).saturating_mul(u64::from(scenario.recipe.sequence).saturating_sub(1));
    let shifted = Form { shape: form.shape / S * S1, ..form };
    let entropies = entropies(&mut script, policy.shifted, shifted, rows, true);
    let given = [entropies, answers, mask, policy.shifted, ids, chosen, rejected, policy.sums];
    let told = metrics(shifted, dtype);
    let [] = script.call(told, &given);
    script.is_recorded = true;
    let mut over =
        vec![logits, policy.shifted, policy.tokens, policy.sums, entropies, chosen, rejected, scores, losses];
    if let Some((logits, reference, _)) = sums {
        over.extend([logits, reference.shifted, reference.tokens, reference.sums]);
    }
    script.forget(&over);
    let step = trainer::step(&mut script, loss, dtype, networks);
    let of_pairs = trainer::task(script, all, batch, step);
    let mut task = Task { sequences: PAIR, is_of_one_batch: true, ..of_pairs };
    task.set(Width::Chunk, CHUNK_ROWS);
    task.set(Width::LastChunk, chunks(rows).1);
    task.set(Width::Completion, u64::from(scenario.task.completed(scenario.recipe.sequence)));
    Ok(task)
}

/// Names of log-probabilities.
struct LogProbs {
    /// Logits of the tokens that have a next one.
    shifted: Local,
    /// Those of every token.
    tokens: Local,
    /// Their sums over the answer of each sequence.
    sums: Local,
}

/// Log-probabilities of the answers, from logits, ids, and a mask of answers.
fn log_probs(script: &mut Script, [logits, ids, answers]: [Local; 3], form: Form, sequences: u32) -> LogProbs {
    let (mut block, arguments) = Block::new(&[form]);
    let shifted = block.add(Place::Logits, Operator::Slice { x: arguments[0], from: S, to: S1 });
    let [shifted] = script.call(block.giving(&[shifted]), &[logits]);
    let form = Form { shape: form.shape / S * S1, ..form };
    let tokens = selective_log_softmax(script, shifted, ids, form, sequences);
    let (mut block, arguments) = Block::new(&[Form { shape: B * S1, ..form }, Form::new(DType::Long, B * S1)]);
    block.take(&arguments[..1]);
    let filled = Operator::FillMasked { x: arguments[0], mask: arguments[1] };
    let filled = block.add(Place::LogProbabilities, filled);
    let sums = block.add(Place::LogProbabilities, Operator::Sum { x: filled, inputs: S1 });
    let [tokens, sums] = script.call(block.giving(&[filled, sums]), &[tokens, answers]);
    LogProbs { shifted, tokens, sums }
}

/// From sums of log-probabilities of the policy and of the reference to the loss: it, the ratios of chosen and rejected
/// answers, their difference, and the loss of each pair.
fn of_pairs(forms: &[Form]) -> Block {
    let (mut block, arguments) = Block::new(forms);
    let add = &mut block;
    let halves = |add: &mut Block, x| -> [Value; 2] { add.add_all(Place::Loss, Operator::Split { x, parts: 2 }) };
    let [chosen, rejected] = halves(add, arguments[0]);
    let [chosen_before, rejected_before] =
        if forms.len() == 2 { halves(add, arguments[1]) } else { [arguments[1], arguments[2]] };
    let mut less = |x, y| add.add(Place::Loss, Operator::Difference { x, y });
    let chosen_ratios = less(chosen, chosen_before);
    let rejected_ratios = less(rejected, rejected_before);
    let scores = less(chosen_ratios, rejected_ratios);
    let scaled = add.add(Place::Loss, Operator::Scale { x: scores });
    let logs = add.add(Place::Loss, Operator::LogSigmoid { x: scaled });
    let losses = add.add(Place::Loss, Operator::Scale { x: logs });
    let mean = add.add(Place::Loss, Operator::Sum { x: losses, inputs: HALF });
    let weighted = add.add(Place::Loss, Operator::Scale { x: mean });
    let loss = add.add(Place::Loss, Operator::PlusNumber { x: weighted });
    let names = [chosen, rejected, chosen_before, rejected_before];
    block.named(&names[..if forms.len() == 2 { 4 } else { 2 }]);
    block.giving(&[loss, chosen_ratios, rejected_ratios, scores, losses])
}

/// What is told of a micro-batch, in the order of the function, where ratios are of a type. Its names live to its end.
fn metrics(shifted: Form, ratios: DType) -> Block {
    let rows = B * S1;
    let of = |shape| Form { shape, ..shifted };
    let ratio = |shape| Form::new(ratios, shape);
    let numbers = Form::new(DType::Long, rows);
    let (mut block, arguments) = Block::new(&[
        of(rows),
        numbers,
        Form::new(DType::Long, B * S),
        shifted,
        numbers,
        ratio(HALF),
        ratio(HALF),
        of(B),
    ]);
    let [entropies, answers, mask, logits, ids, chosen, rejected, sums] = std::array::from_fn(|place| arguments[place]);
    let at = Place::Metrics;
    let long = |shape| Form::new(DType::Long, shape);
    let byte = |shape| Form::new(DType::Byte, shape);
    let make = |block: &mut Block, x, y, form| block.add(at, Operator::Computed { x, y, form });
    let total = |block: &mut Block, x, dtype, inputs| block.add(at, Operator::Total { x, dtype, inputs });
    let one = of(Shape::ONE);
    // Entropy.
    let masked = make(&mut block, entropies, Some(answers), of(rows));
    let entropy = total(&mut block, masked, shifted.dtype, rows);
    let count = total(&mut block, answers, DType::Long, rows);
    let entropy = make(&mut block, entropy, None, one);
    let count = make(&mut block, count, None, long(Shape::ONE));
    make(&mut block, count, None, byte(Shape::ONE));
    // Tokens.
    let tokens = total(&mut block, mask, DType::Long, B * S);
    make(&mut block, tokens, None, long(Shape::ONE));
    // Logits of chosen and of rejected answers.
    let half = Form { shape: shifted.shape.part(2), ..shifted };
    let chosen_logits = block.add(at, Operator::Part { x: logits, form: half });
    let answers_half = block.add(at, Operator::Part { x: answers, form: long(rows.part(2)) });
    let mut means = Vec::new();
    for _ in 0..2 {
        let picked = Operator::SumOfMaskedRows { x: chosen_logits, mask: answers_half, rows: HALF * SC, width: V };
        let sum = block.add(Place::MaskedRows, picked);
        means.push((sum, total(&mut block, answers_half, DType::Long, rows.part(2))));
    }
    for (sum, count) in means {
        make(&mut block, sum, None, one);
        make(&mut block, count, None, long(Shape::ONE));
    }
    // Accuracy.
    let predicted = make(&mut block, chosen_logits, None, long(rows.part(2)));
    let flags = make(&mut block, answers_half, None, byte(rows.part(2)));
    let same = make(&mut block, predicted, Some(ids), byte(rows.part(2)));
    let correct = make(&mut block, same, Some(flags), byte(rows.part(2)));
    let all = block.add(at, Operator::TotalOfFlags { x: flags });
    block.named(&[count]);
    let right = block.add(at, Operator::TotalOfFlags { x: correct });
    let all_sum = make(&mut block, all, None, long(Shape::ONE));
    make(&mut block, all_sum, None, byte(Shape::ONE));
    // Rewards.
    let reward = |block: &mut Block, x| make(block, x, None, ratio(HALF));
    let [chosen_rewards, rejected_rewards] = [chosen, rejected].map(|x| reward(&mut block, x));
    make(&mut block, chosen_rewards, None, ratio(Shape::ONE));
    make(&mut block, rejected_rewards, None, ratio(Shape::ONE));
    let greater = make(&mut block, chosen_rewards, Some(rejected_rewards), byte(HALF));
    let accuracies = make(&mut block, greater, None, Form::new(DType::Single, HALF));
    make(&mut block, accuracies, None, Form::new(DType::Single, Shape::ONE));
    let margins = make(&mut block, chosen_rewards, Some(rejected_rewards), ratio(HALF));
    make(&mut block, margins, None, ratio(Shape::ONE));
    make(&mut block, sums, None, one);
    make(&mut block, sums, None, one);
    block.named(&[
        entropy,
        predicted,
        flags,
        correct,
        all,
        right,
        all_sum,
        chosen_rewards,
        rejected_rewards,
        accuracies,
        margins,
    ]);
    block.giving(&[])
}
