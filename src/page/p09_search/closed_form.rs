//! The division: usable memory without what is fixed, over what one sequence takes.

use bmax::Division;

use crate::site::{Live, format};

/// The whole part of a division, below zero when the fixed part alone is too large.
pub fn result(division: &Division) -> f64 {
    division.quotient().floor()
}

/// The division in numbers, its value, and what the brackets do.
pub fn draw(live: &Live, sizes: &Division, is_ledger: bool) {
    for (number, unit, bytes) in [
        ("usable", "usable-unit", sizes.usable),
        ("fixed", "fixed-unit", sizes.fixed),
        ("act", "act-unit", sizes.per_sequence),
    ] {
        // Two digits after the point say nothing of a size far below a GiB.
        let (value, name) = if bytes.gib() < 0.1 { (bytes.mib(), "MiB") } else { (bytes.gib(), "GiB") };
        live.text(number, &format::digits(value, 2));
        live.text(unit, name);
    }
    let whole = result(sizes);
    live.text("quotient", &signed(sizes.quotient(), 2));
    live.text("whole", &signed(whole, 0));
    live.show("is-ledger", is_ledger);
    live.text("instant", &format::at_instant(sizes.instant));
    live.show("too-large", whole < 0.0);
    live.show("less-than-one", whole == 0.0);
    live.show("rounded", whole >= 1.0);
}

/// A number with the minus sign of formulas, and never a zero with one.
fn signed(value: f64, places: u32) -> String {
    let text = if value.is_finite() { format::digits(value.abs(), places) } else { "∞".to_owned() };
    if value < 0.0 { format!("−{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::{Choice, Method, Recomputation, Scenario, catalogue, division, search::by_running_out};

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
