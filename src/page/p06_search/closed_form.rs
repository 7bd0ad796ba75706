//! The division: usable memory without what is fixed, over what one sequence takes.

use bmax::{Bucket, Bytes, Scenario, estimate};
use leptos::prelude::*;

use super::player::Player;
use super::words;
use crate::site::dom::{El, el, math};
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
pub fn closed_form(state: State, player: Player) -> El {
    let sizes = move || state.scenario.with(Sizes::of);
    let result = move || {
        if player.is_over() {
            player.trace.with(|trace| words::verdict(trace, sizes().result()))
        } else {
            "The search has not ended yet.".to_owned()
        }
    };
    let formula = el("div").class("oom-formula").child(in_symbols()).child(in_numbers(sizes)).child(value(sizes));
    el("section")
        .class("oom-closed")
        .attr("aria-label", "Closed form")
        .child(el("h3").text("Closed form"))
        .child(formula)
        .child(el("p").class("small soft").bind_text(move || explained(sizes()).to_owned()))
        .child(
            el("p")
                .class("oom-result")
                .bind("data-over", move || player.is_over().to_string())
                .attr("data-testid", "search-result")
                .bind_text(result),
        )
}

fn in_symbols() -> El {
    let size = |below: &str| math("msub").child(math("mi").text("M")).child(math("mtext").text(below));
    let above = math("mrow").child(size("usable")).child(sign("−")).child(size("fixed"));
    let batch = math("msub").child(math("mi").text("b")).child(math("mi").text("max"));
    let quotient = math("mfrac").child(above).child(size("act"));
    math("math").child(batch).child(sign("=")).child(floored(quotient))
}

fn in_numbers(sizes: impl Fn() -> Sizes + Copy + 'static) -> El {
    // Two digits after the point say nothing of a size far below a GiB.
    let in_unit = |bytes: Bytes| if bytes.gib() < 0.1 { (bytes.mib(), "MiB") } else { (bytes.gib(), "GiB") };
    let gib = |size: fn(Sizes) -> Bytes| {
        math("mrow")
            .child(math("mn").bind_text(move || format::digits(in_unit(size(sizes())).0, 2)))
            .child(math("mspace").attr("width", "0.2em"))
            .child(math("mtext").bind_text(move || in_unit(size(sizes())).1.to_owned()))
    };
    let above = math("mrow").child(gib(|sizes| sizes.usable)).child(sign("−")).child(gib(|sizes| sizes.fixed));
    let quotient = math("mfrac").child(above).child(gib(|sizes| sizes.per_sequence));
    math("math").child(sign("=")).child(floored(quotient))
}

/// The quotient, and what is left of it when it is rounded down.
fn value(sizes: impl Fn() -> Sizes + Copy + 'static) -> El {
    let quotient = math("mn").bind_text(move || signed(sizes().quotient(), 2));
    let result = math("mn").bind_text(move || signed(sizes().result(), 0));
    math("math").child(sign("=")).child(floored(quotient)).child(sign("=")).child(result)
}

fn floored(inner: El) -> El {
    math("mrow").child(sign("⌊")).child(inner).child(sign("⌋"))
}

fn sign(sign: &str) -> El {
    math("mo").text(sign)
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
