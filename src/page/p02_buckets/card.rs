use bmax::{Bucket, Bytes, Estimate, Expr, Symbol, Values};
use leptos::prelude::*;

use crate::site::views::FormulaInSymbols;
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
#[component]
pub fn BucketCard(
    /// The shared state.
    state: State,
    /// Which of the four.
    bucket: Bucket,
) -> impl IntoView {
    let bytes = Memo::new(move |_| state.estimate.with(|estimate| estimate.bucket(bucket)));
    let share = Memo::new(move |_| state.estimate.with(|estimate| Bytes::share_of(bytes.get(), estimate.peak().bytes)));
    let lines = Memo::new(move |_| state.estimate.with(|estimate| lines(estimate, bucket)));
    let formulas = move || {
        let row = |Line { name, formula, values }: Line| {
            view! { <div><dt>{name}</dt><dd><FormulaInSymbols formula values /></dd></div> }
        };
        lines.get().into_iter().map(row).collect_view()
    };
    view! {
        <li class="bucket-card" data-bucket=bucket.key() data-testid=format!("bucket-{}", bucket.key())>
            <p class="bucket-name"><span class="bucket-swatch" data-bucket=bucket.key()></span>{bucket.name()}</p>
            <Growth grows=Signal::derive(move || lines.with(|lines| lines.iter().any(|line| grows(line.formula)))) />
            <p class="bucket-size">
                <span class="readout readout-s num">{move || format::memory(bytes.get())}</span>
                <span class="soft small num">{move || format::percent(share.get())}" of the sum"</span>
            </p>
            <div class="bucket-share"><span style=("--share", move || format!("{:.3}%", share.get() * 100.0))></span></div>
            <dl class="bucket-formulas">{formulas}</dl>
        </li>
    }
}

/// Says in words and by a shape whether a bucket changes with the batch.
#[component]
fn Growth(
    /// Whether it does.
    grows: Signal<bool>,
) -> impl IntoView {
    let mark = move || if grows.get() { "↗" } else { "▪" };
    view! {
        <p class="bucket-growth badge" class:bucket-grows=move || grows.get()>
            <span aria-hidden="true">{mark}</span>
            {move || if grows.get() { "scales with b" } else { "fixed" }}
        </p>
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
                let mut scenario = Scenario::default();
                scenario.method = method;
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
