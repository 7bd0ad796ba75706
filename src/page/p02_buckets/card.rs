use bmax::{Bucket, Bytes, Entry, Estimate, Expr, Symbol, Values};
use leptos::prelude::*;

use crate::site::dom::{El, el};
use crate::site::views::formula_in_symbols;
use crate::site::{State, format};

/// A card names at most this many entries; the calculator has them all.
const NAMED: usize = 2;

/// An entry of a bucket without its size: what is left alone while only the batch changes.
#[derive(Clone, PartialEq)]
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

/// One bucket: its size, its part of the whole, its formulas and whether the batch is in them.
pub fn bucket_card(state: State, bucket: Bucket) -> El {
    let key = bucket.key();
    let memory = move || state.read(|facts| format::memory(facts.estimate.bucket(bucket)));
    let percent = move || format::percent(share(state, bucket)) + " of the sum";
    let width = move || format::css_percent(share(state, bucket));
    let absent = move || state.read(|facts| facts.estimate.bucket(bucket).get() == 0.0);
    el("li")
        .class("bucket-card")
        .toggle("hidden", absent)
        .attr("data-bucket", key)
        .attr("data-testid", &format!("bucket-{key}"))
        .children(vec![
            el("p")
                .class("bucket-name")
                .child(el("span").class("bucket-swatch").attr("data-bucket", key))
                .text(bucket.name()),
            growth(state, bucket),
            el("p").class("bucket-size").children(vec![
                el("span").class("readout readout-s num").bind_text(memory),
                el("span").class("soft small num").bind_text(percent),
            ]),
            el("div").class("bucket-share").child(el("span").variable("--share", width)),
            formulas(state, bucket),
        ])
}

/// The part of the whole that a bucket takes.
fn share(state: State, bucket: Bucket) -> f64 {
    state.read(|facts| Bytes::share_of(facts.estimate.bucket(bucket), facts.estimate.peak().bytes))
}

/// The largest entries of a bucket by name and formula.
fn formulas(state: State, bucket: Bucket) -> El {
    let lines = Memo::new(move |_| state.read(|facts| lines(&facts.estimate, bucket)));
    let row = |line: &Line| {
        let formula = formula_in_symbols(line.formula, &line.values);
        el("div").child(el("dt").text(line.name)).child(el("dd").child(formula))
    };
    let list = el("dl").class("bucket-formulas").live(move || lines.with(|lines| lines.0.iter().map(row).collect()));
    let more = move || lines.with(|lines| lines.1);
    let rest = el("a")
        .attr("href", "#ledger")
        .bind_text(move || format!("and {} more", format::counted(more(), "entry", "entries")));
    el("div")
        .class("bucket-entries")
        .child(list)
        .child(el("p").class("small").toggle("hidden", move || more() == 0).child(rest))
}

/// Says in words and by a shape whether a bucket changes with the batch.
fn growth(state: State, bucket: Bucket) -> El {
    let growth = Memo::new(move |_| state.read(|facts| Growth::of(&facts.estimate, bucket) as u32));
    let of = |words: [&'static str; 3]| move || words[growth.get() as usize].to_owned();
    el("p")
        .class("bucket-growth badge")
        .toggle_class("bucket-grows", move || growth.get() != Growth::Fixed as u32)
        .child(el("span").attr("aria-hidden", "true").bind_text(of(["▪", "↗", "↗"])))
        .bind_text(of(["fixed", "partly scales with b", "scales with b"]))
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
        let (growing, fixed): (Vec<&Entry>, Vec<&Entry>) = entries.partition(|entry| grows(entry));
        match (growing.is_empty(), fixed.is_empty()) {
            (true, _) => Self::Fixed,
            (false, true) => Self::Wholly,
            (false, false) => Self::Partly,
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
