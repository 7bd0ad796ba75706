use bmax::{Bucket, Bytes, Entry, Estimate, Expr, Symbol, Values};

use crate::site::dom::{El, el};
use crate::site::format;
use crate::site::views::formula_in_symbols;
use crate::site::write_text;

/// A card names at most this many entries; the calculator has them all.
const NAMED: usize = 2;

/// An entry of a bucket without its size: what is left alone while only the batch changes.
#[cfg_attr(test, derive(PartialEq))]
struct Line {
    name: &'static str,
    formula: &'static Expr,
    values: Values,
}

/// The largest entries of a bucket, and how many more there are. A formula in symbols shows nothing of
/// the values but its counted coefficients, so the batch is taken out of them.
fn lines(estimate: &Estimate, bucket: Bucket) -> (Vec<Line>, u32) {
    let entries = estimate.largest().into_iter().filter(|entry| entry.bucket == bucket);
    let line = |entry: &Entry| {
        let values = entry.values(estimate).with(Symbol::Batch, 1.0);
        Line { name: entry.name, formula: entry.formula, values }
    };
    let mut lines: Vec<Line> = entries.map(line).collect();
    let more = lines.len().saturating_sub(NAMED);
    lines.truncate(NAMED);
    (lines, more as u32)
}

/// Whether an entry grows with the batch: by itself, or as a share of what does.
fn grows(entry: &Entry) -> bool {
    entry.formula.contains(Symbol::Batch) || entry.formula.contains(Symbol::Fragmentation)
}

/// Draws one bucket: its size, its part of the whole, its formulas and whether the batch is in them.
/// `asked` tells two configurations apart, the micro-batch aside.
pub fn draw(card: &El, estimate: &Estimate, bucket: Bucket, asked: &str) {
    let write = |part: &str, text: &str| write_text(card.part(part).element(), text);
    let bytes = estimate.bucket(bucket);
    let share = Bytes::share_of(bytes, estimate.peak().bytes);
    write("size", &format::memory(bytes));
    write("percent", &format::percent(share));
    _ = card.part("share").set_variable("--share", &format::css_percent(share));
    let growth = Growth::of(estimate, bucket);
    let (sign, words) = match growth {
        Growth::Fixed => ("▪", "fixed"),
        Growth::Partly => ("↗", "partly scales with b"),
        Growth::Wholly => ("↗", "scales with b"),
    };
    write("sign", sign);
    write("word", words);
    _ = card.part("growth").element().class_list().toggle_with_force("bucket-grows", growth != Growth::Fixed);
    let (lines, more) = lines(estimate, bucket);
    _ = card.part("more").element().toggle_attribute_with_force("hidden", more == 0);
    write("count", &format::counted(more, "entry", "entries"));
    let drawn = lines.iter().fold(asked.to_owned(), |drawn, line| drawn + line.name);
    let list = card.part("formulas");
    // While only the batch changes, its formulas are left alone.
    if list.element().get_attribute("data-drawn").as_deref() != Some(&drawn) {
        let row = |line: &Line| {
            let formula = formula_in_symbols(line.formula, &line.values);
            el("div").child(el("dt").text(line.name)).child(el("dd").child(formula))
        };
        _ = list.attr("data-drawn", &drawn).clear().children(lines.iter().map(row).collect());
    }
}

/// How a bucket changes with the batch.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Growth {
    Fixed,
    Partly,
    Wholly,
}

impl Growth {
    fn of(estimate: &Estimate, bucket: Bucket) -> Self {
        let entries = estimate.largest().into_iter().filter(|entry| entry.bucket == bucket);
        let (mut growing, mut fixed) = (false, false);
        for entry in entries {
            if grows(entry) { growing = true } else { fixed = true }
        }
        match (growing, fixed) {
            (false, _) => Self::Fixed,
            (true, false) => Self::Wholly,
            (true, true) => Self::Partly,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::{Method, Recomputation, Scenario, estimate};

    #[test]
    fn the_batch_stands_in_the_formulas_of_the_activations_and_in_no_other() {
        for method in [Method::Workshop, Method::Paper] {
            for recomputation in [Recomputation::None, Recomputation::Selective, Recomputation::Full] {
                let mut scenario = Scenario { method, ..Scenario::default() };
                scenario.recipe.recomputation = recomputation;
                for entry in estimate(&scenario).entries {
                    assert_eq!(grows(&entry), entry.bucket == Bucket::Activations, "{}", entry.name);
                }
            }
        }
    }

    #[test]
    fn under_the_ledger_a_bucket_says_it_grows_exactly_when_it_does() {
        let [one, two] = [3, 4].map(|batch| estimate(&Scenario::default().with_batch(batch)));
        assert_eq!(one.peak().instant, two.peak().instant);
        for &bucket in Bucket::ALL {
            let has_grown = two.bucket(bucket) > one.bucket(bucket);
            assert_eq!(Growth::of(&one, bucket) != Growth::Fixed, has_grown, "{bucket:?}");
        }
        assert_eq!(Growth::of(&one, Bucket::Activations), Growth::Wholly);
        assert_eq!(Growth::of(&one, Bucket::Runtime), Growth::Partly);
    }

    #[test]
    fn the_formulas_of_a_card_stay_as_they_are_while_only_the_batch_changes() {
        let at = |batch, bucket| lines(&estimate(&Scenario::default().with_batch(batch)), bucket);
        assert!(at(3, Bucket::Activations) == at(7, Bucket::Activations));
    }
}
