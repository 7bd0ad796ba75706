//! Log-probabilities of tokens and entropies, as trl's trainers take them of logits (trl 1.10.0, trainer/utils.py).

use super::{Local, Script};
use crate::estimator::models::Block;
use crate::estimator::operators::{Form, Operator, Place, Value};
use crate::estimator::units::{B, CHUNK, DType, LAST, Shape, V};

/// Rows of logits of which entropies are taken at a time (`chunk_size` of `entropy_from_logits`).
pub const CHUNK_ROWS: u64 = 128;

/// `selective_log_softmax` of logits of `sequences` sequences, row by row. In fp32 it subtracts sums of exponentials; in 16
/// bits it takes whole rows of log-probabilities.
pub fn selective_log_softmax(script: &mut Script, logits: Local, ids: Local, form: Form, sequences: u32) -> Local {
    let is_wide = form.dtype == DType::Single;
    let numbers = Form::new(DType::Long, form.shape / V);
    let (mut block, arguments) = Block::new(&[form, numbers]);
    let mut results = Vec::new();
    if is_wide {
        let picked = Operator::GatherColumns { x: arguments[0], ids: arguments[1], width: V };
        results.push(block.add(Place::LogProbabilities, picked));
    }
    results.push(block.add(Place::LogProbabilities, Operator::Row { x: arguments[0], rows: B }));
    let [row, list] = script.names();
    let row_form = Form { shape: form.shape / B, ..form };
    let numbers = Form { shape: numbers.shape / B, ..numbers };
    if !is_wide {
        let row_logps = script.name();
        script.call_into(block.giving(&results), &[logits, ids], &[row]);
        let (mut block, arguments) = Block::new(&[row_form, numbers, row_form]);
        block.take(&arguments[2..]);
        let logps = block.add(Place::LogProbabilities, Operator::LogSoftmax { x: arguments[0] });
        block.named(&arguments[2..]);
        let picked = Operator::GatherColumns { x: logps, ids: arguments[1], width: V };
        let picked = block.add(Place::LogProbabilities, picked);
        script.each(block.giving(&[picked, logps]), sequences, &[row, ids], &[row_logps], list);
        let stacked = joined(script, list, Form { shape: form.shape / V, ..form });
        script.forget(&[list, row_logps, row]);
        return stacked;
    }
    let selected = script.name();
    script.call_into(block.giving(&results), &[logits, ids], &[selected, row]);
    let (mut block, arguments) = Block::new(&[row_form]);
    let sums = block.add(Place::LogProbabilities, Operator::LogSumExp { x: arguments[0], width: V });
    script.each(block.giving(&[sums]), sequences, &[row], &[], list);
    let sums = joined(script, list, Form { shape: form.shape / V, ..form });
    script.forget(&[list, row]);
    let (mut block, arguments) = Block::new(&[Form { shape: form.shape / V, ..form }; 2]);
    block.take(&arguments);
    let [x, y] = [arguments[0], arguments[1]];
    let logps = block.add(Place::LogProbabilities, Operator::Difference { x, y });
    let [logps] = script.call(block.giving(&[logps]), &[selected, sums]);
    logps
}

/// The items of a list, or one value, in a tensor of their own.
pub fn joined(script: &mut Script, list: Local, form: Form) -> Local {
    let (mut block, arguments) = Block::new(&[form]);
    let joined = Operator::Joined { list: arguments[0], shape: form.shape };
    let joined = block.add(Place::LogProbabilities, joined);
    let [joined] = script.call(block.giving(&[joined]), &[list]);
    joined
}

/// `entropy_from_logits` of so many rows, which are flattened first: `is_copied` where they do not lie one after another.
/// No graph is kept of it.
pub fn entropies(script: &mut Script, logits: Local, form: Form, rows: u64, is_copied: bool) -> Local {
    let is_recorded = std::mem::replace(&mut script.is_recorded, false);
    let (mut block, arguments) = Block::new(&[form]);
    let x = arguments[0];
    let flat = if is_copied { Operator::Computed { x, y: None, form } } else { Operator::Return { x } };
    let flat = block.add(Place::Entropy, flat);
    let [flat] = script.call(block.giving(&[flat]), &[logits]);
    let [logps, list] = script.names();
    let (whole, _) = chunks(rows);
    if whole > 0 {
        script.each(chunk(form, CHUNK, CHUNK), whole, &[flat], &[logps], list);
    }
    let before = if whole > 0 { CHUNK } else { LAST };
    script.each(chunk(form, LAST, before), 1, &[flat], &[logps], list);
    let all = joined(script, list, Form { shape: form.shape / V, ..form });
    script.forget(&[list, flat, logps]);
    script.is_recorded = is_recorded;
    all
}

/// A chunk of rows, behind one of other rows.
fn chunk(form: Form, rows: Shape, before: Shape) -> Block {
    let of = |shape| Form { shape, ..form };
    let (mut block, arguments) = Block::new(&[form, of(before * V)]);
    block.take(&arguments[1..]);
    let computed = |x: Value, y: Option<Value>, shape| Operator::Computed { x, y, form: of(shape) };
    let logps = block.add(Place::Entropy, computed(arguments[0], None, rows * V));
    block.named(&arguments[1..]);
    let exponentials = block.add(Place::Entropy, computed(logps, None, rows * V));
    let products = block.add(Place::Entropy, computed(exponentials, Some(logps), rows * V));
    let sums = block.add(Place::Entropy, Operator::Total { x: products, dtype: form.dtype, inputs: V });
    let negated = block.add(Place::Entropy, computed(sums, None, rows));
    block.giving(&[negated, logps])
}

/// How many chunks there are before the last, and how many rows the last has.
pub fn chunks(rows: u64) -> (u32, u64) {
    let whole = rows.saturating_sub(1) / CHUNK_ROWS;
    (u32::try_from(whole).unwrap_or(u32::MAX), rows - whole * CHUNK_ROWS)
}
