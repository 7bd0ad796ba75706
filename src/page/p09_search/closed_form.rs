//! The division: usable memory without what is fixed, over what one sequence takes.

use bmax::{Bytes, Division, division};
use leptos::prelude::*;

use super::super::outlooks::at_instant;
use super::player::Player;
use super::words;
use crate::site::dom::{El, el, math};
use crate::site::{Facts, State, format};

/// The whole part of a division, below zero when the fixed part alone is too large.
fn result(division: &Division) -> f64 {
    division.quotient().floor()
}

/// The expression in symbols and in numbers, its value, and whether the search agrees. It is written
/// in three parts, each as a whole, between which a narrow page breaks the line.
pub fn closed_form(state: State, player: Player) -> El {
    let sizes = move || state.asked(division);
    let outcome = move || {
        if player.is_over() {
            player.trace.with(|trace| words::verdict(trace, result(&sizes())))
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
        .child(el("p").class("small soft").bind_text(move || explained(&sizes(), state.read(Facts::is_ledger))))
        .child(
            el("p")
                .class("oom-result")
                .bind("data-over", move || player.is_over().to_string())
                .attr("data-testid", "search-result")
                .bind_text(outcome),
        )
}

fn in_symbols() -> El {
    let size = |below: &str| math("msub").child(math("mi").text("M")).child(math("mtext").text(below));
    let above = math("mrow").child(size("usable")).child(sign("−")).child(size("fixed"));
    let batch = math("msub").child(math("mi").text("b")).child(math("mi").text("max"));
    let quotient = math("mfrac").child(above).child(size("act"));
    math("math").child(batch).child(sign("=")).child(floored(quotient))
}

fn in_numbers(sizes: impl Fn() -> Division + Copy + 'static) -> El {
    // Two digits after the point say nothing of a size far below a GiB.
    let in_unit = |bytes: Bytes| if bytes.gib() < 0.1 { (bytes.mib(), "MiB") } else { (bytes.gib(), "GiB") };
    let gib = |size: fn(Division) -> Bytes| {
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
fn value(sizes: impl Fn() -> Division + Copy + 'static) -> El {
    let quotient = math("mn").bind_text(move || signed(sizes().quotient(), 2));
    let whole = math("mn").bind_text(move || signed(result(&sizes()), 0));
    math("math").child(sign("=")).child(floored(quotient)).child(sign("=")).child(whole)
}

fn floored(inner: El) -> El {
    math("mrow").child(sign("⌊")).child(inner).child(sign("⌋"))
}

fn sign(sign: &str) -> El {
    math("mo").text(sign)
}

/// A number with the minus sign of formulas, and never a zero with one.
fn signed(value: f64, places: u32) -> String {
    let text = if value.is_finite() { format::digits(value.abs(), places) } else { "∞".to_owned() };
    if value < 0.0 { format!("−{text}") } else { text }
}

fn explained(division: &Division, is_ledger: bool) -> String {
    let result = result(division);
    let outcome = if result < 0.0 {
        "The fixed part alone is larger than the usable memory, so that no sequence fits."
    } else if result < 1.0 {
        "Less than one sequence is left beside the fixed part."
    } else {
        "The brackets round down: part of a sequence is no sequence."
    };
    if is_ledger {
        let instant = at_instant(division.instant);
        format!(
            "The ledger has such a division for every moment of the step; this is the one that stops the next sequence, {instant}. {outcome}"
        )
    } else {
        outcome.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::{Choice, Method, Recomputation, Scenario, catalogue, search::by_running_out};

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
                        assert_eq!(result(&division(&scenario)).max(0.0), f64::from(found), "{} on {gpus}", row.slug);
                    }
                }
            }
        }
    }

    #[test]
    fn the_workshop_divides_59_gib_by_17() {
        let divided = division(&Scenario { method: Method::Workshop, ..Scenario::default() });
        assert_eq!((divided.usable.gib(), divided.per_sequence.gib(), result(&divided)), (72.0, 17.0, 3.0));
    }
}
