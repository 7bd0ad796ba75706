use bmax::{Bucket, Bytes, Estimate, Expr, Symbol, Values};
use leptos::prelude::*;

use crate::site::dom::{El, el};
use crate::site::views::formula_in_symbols;
use crate::site::{State, format};

/// An entry of a bucket without its size: what is left alone while only the batch changes.
#[derive(Clone, PartialEq)]
struct Line {
    name: &'static str,
    formula: &'static Expr,
    values: Values,
}

/// The entries of a bucket. A formula in symbols shows nothing of the values but its counted
/// coefficients, so the batch is taken out of them.
fn lines(estimate: &Estimate, bucket: Bucket) -> Vec<Line> {
    let values = estimate.values.with(Symbol::Batch, 1.0);
    let entries = estimate.entries.iter().filter(|entry| entry.bucket == bucket);
    entries.map(|entry| Line { name: entry.name, formula: entry.formula, values }).collect()
}

/// Whether a formula has the batch in it.
fn grows(formula: &Expr) -> bool {
    match formula {
        Expr::Number(_) => false,
        Expr::Symbol(symbol) => *symbol == Symbol::Batch,
        Expr::Sum(parts) | Expr::Product(parts) => parts.iter().any(grows),
        Expr::Quotient(numerator, denominator) => grows(numerator) || grows(denominator),
        Expr::Square(base) => grows(base),
    }
}

/// One bucket: its size, its part of the whole, its formulas and whether the batch is in them.
pub fn bucket_card(state: State, bucket: Bucket) -> El {
    let key = bucket.key();
    let memory = move || state.read(|facts| format::memory(facts.estimate.bucket(bucket)));
    let percent = move || format::percent(share(state, bucket)) + " of the sum";
    let width = move || format::css_percent(share(state, bucket));
    el("li").class("bucket-card").attr("data-bucket", key).attr("data-testid", &format!("bucket-{key}")).children(vec![
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

/// The entries of a bucket by name and formula.
fn formulas(state: State, bucket: Bucket) -> El {
    let lines = Memo::new(move |_| state.read(|facts| lines(&facts.estimate, bucket)));
    let row = |line: &Line| {
        let formula = formula_in_symbols(line.formula, &line.values);
        el("div").child(el("dt").text(line.name)).child(el("dd").child(formula))
    };
    el("dl").class("bucket-formulas").live(move || lines.with(|lines| lines.iter().map(row).collect()))
}

/// Says in words and by a shape whether a bucket changes with the batch.
fn growth(state: State, bucket: Bucket) -> El {
    let grows = Memo::new(move |_| {
        state.read(|facts| facts.estimate.entries.iter().any(|entry| entry.bucket == bucket && grows(entry.formula)))
    });
    let mark = move || if grows.get() { "↗" } else { "▪" }.to_owned();
    let words = move || if grows.get() { "scales with b" } else { "fixed" }.to_owned();
    el("p")
        .class("bucket-growth badge")
        .toggle_class("bucket-grows", move || grows.get())
        .child(el("span").attr("aria-hidden", "true").bind_text(mark))
        .bind_text(words)
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
                    assert_eq!(grows(entry.formula), entry.bucket == Bucket::Activations, "{}", entry.name);
                }
            }
        }
    }

    #[test]
    fn the_formulas_of_a_card_stay_as_they_are_while_only_the_batch_changes() {
        let at = |batch| lines(&estimate(&Scenario::default().with_batch(batch)), Bucket::Activations);
        assert!(at(1) == at(7));
    }
}
