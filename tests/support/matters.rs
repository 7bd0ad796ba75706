//! Whether an input changes a ledger, found by trying other values of it.

use bmax::choice::ChoiceOption;
use bmax::compare::Input;
use bmax::{Scenario, estimate};

/// Every scenario that differs from `start` in the one input: numbers at both ends of their range, just above the lower one
/// and between; words in each of their options.
fn others(input: Input, start: &Scenario) -> Vec<Scenario> {
    match input {
        Input::Number(field) => {
            let bound = field.bound();
            let fitting = |value: f64| if bound.whole { value.floor() } else { value };
            let values = [bound.min, bound.min + 1.0, bound.min + 3.0, (bound.min + bound.max) / 4.0, bound.max];
            values.map(|value| start.with_number(field, fitting(value)).expect("in range")).to_vec()
        }
        Input::Word(word) => {
            let with = |option: &ChoiceOption| word.read(option.key, *start).expect("a word of its own");
            word.options.iter().map(with).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether some other value of `input` gives an entry another size, or other moments.
pub fn matters(input: Input, start: &Scenario) -> bool {
    let ledger = |scenario: &Scenario| -> Vec<_> {
        estimate(scenario).entries.iter().map(|entry| (entry.name, entry.bytes, entry.alive)).collect()
    };
    let now = ledger(start);
    others(input, start).iter().any(|other| ledger(other) != now)
}
