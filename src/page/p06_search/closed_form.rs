//! The division: usable memory without what is fixed, over what one sequence takes.

use bmax::{Bucket, Bytes, Scenario, estimate};
use leptos::math::{math, mfrac, mi, mn, mo, mrow, mspace, msub, mtext};
use leptos::prelude::*;

use super::player::Player;
use super::words;
use crate::site::{State, format};

/// The three sizes of the quotient.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sizes {
    usable: Bytes,
    fixed: Bytes,
    per_sequence: Bytes,
}

impl Sizes {
    /// Those of a scenario. Both methods grow in a straight line with the micro-batch, so that one
    /// sequence tells all.
    fn of(scenario: &Scenario) -> Self {
        let one = estimate(&scenario.with_batch(1));
        let per_sequence = one.bucket(Bucket::Activations);
        Self { usable: one.usable(), fixed: one.peak().bytes - per_sequence, per_sequence }
    }

    fn quotient(self) -> f64 {
        (self.usable - self.fixed).get() / self.per_sequence.get()
    }

    /// The whole part, below zero when the fixed part alone is too large.
    fn result(self) -> f64 {
        self.quotient().floor()
    }
}

/// The expression in symbols and in numbers, its value, and whether the search agrees. It is written
/// in three parts, each as a whole, between which a narrow page breaks the line.
#[component]
pub fn ClosedForm(state: State, player: Player) -> impl IntoView {
    let sizes = Memo::new(move |_| Sizes::of(&state.scenario.get()));
    let result = move || {
        if player.is_over() {
            player.trace.with(|trace| words::verdict(trace, sizes.get().result()))
        } else {
            "The search has not ended yet.".to_owned()
        }
    };
    view! {
        <section class="oom-closed" aria-label="Closed form">
            <h4>"Closed form"</h4>
            <div class="oom-formula">{in_symbols()} {move || in_numbers(sizes.get())} {move || value(sizes.get())}</div>
            <p class="small soft">{move || explained(sizes.get())}</p>
            <p class="oom-result" data-over=move || player.is_over().to_string() data-testid="search-result">{result}</p>
        </section>
    }
}

fn in_symbols() -> impl IntoView {
    let size = |below: &'static str| msub().child((mi().child("M"), mtext().child(below)));
    let quotient = mfrac().child((mrow().child((size("usable"), mo().child("−"), size("fixed"))), size("act")));
    math().child((msub().child((mi().child("b"), mi().child("max"))), mo().child("="), floored(quotient.into_any())))
}

fn in_numbers(sizes: Sizes) -> impl IntoView {
    let size = |bytes: Bytes| {
        // Two digits after the point say nothing of a size far below a GiB.
        let (value, unit) = if bytes.gib() < 0.1 { (bytes.mib(), "MiB") } else { (bytes.gib(), "GiB") };
        mrow()
            .child((mn().child(format::digits(value, 2)), mspace().attr("width", "0.2em"), mtext().child(unit)))
            .into_any()
    };
    let above = mrow().child((size(sizes.usable), mo().child("−"), size(sizes.fixed)));
    let quotient = mfrac().child((above, size(sizes.per_sequence)));
    math().child((mo().child("="), floored(quotient.into_any())))
}

/// The quotient, and what is left of it when it is rounded down.
fn value(sizes: Sizes) -> impl IntoView {
    let quotient = mn().child(signed(sizes.quotient(), 2)).into_any();
    math().child((mo().child("="), floored(quotient), mo().child("="), mn().child(signed(sizes.result(), 0))))
}

fn floored(inner: AnyView) -> impl IntoView {
    mrow().child((mo().child("⌊"), inner, mo().child("⌋")))
}

/// A number with the minus sign of formulas, and never a zero with one.
fn signed(value: f64, places: u32) -> String {
    let text = format::digits(value.abs(), places);
    if value < 0.0 { format!("−{text}") } else { text }
}

fn explained(sizes: Sizes) -> &'static str {
    let result = sizes.result();
    if result < 0.0 {
        "The fixed part alone is larger than the usable memory, so that no sequence fits."
    } else if result < 1.0 {
        "Less than one sequence of activations is left beside the fixed part."
    } else {
        "The brackets round down: part of a sequence is no sequence."
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::{Choice, Method, Recomputation, catalogue, search::by_running_out};

    #[test]
    fn the_division_gives_what_the_search_finds_for_every_model_of_the_catalogue() {
        for row in catalogue::MODELS {
            for &method in Method::ALL {
                for &recomputation in Recomputation::ALL {
                    for gpus in [1, 8, 64, 1_024] {
                        let mut scenario = row.apply(Scenario { method, ..Scenario::default() });
                        scenario.recipe.recomputation = recomputation;
                        scenario.cluster.gpus = gpus;
                        let found = by_running_out(&scenario).last().map_or(0, |probe| probe.low);
                        assert_eq!(Sizes::of(&scenario).result().max(0.0), f64::from(found), "{} on {gpus}", row.slug);
                    }
                }
            }
        }
    }

    #[test]
    fn the_default_divides_59_gib_by_17() {
        let sizes = Sizes::of(&Scenario::default());
        assert_eq!((sizes.usable.gib(), sizes.per_sequence.gib(), sizes.result()), (72.0, 17.0, 3.0));
    }
}
