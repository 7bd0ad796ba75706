//! The division: usable memory without what is fixed, over what one sequence takes.

use bmax::{Bytes, Unit, division::Division};

use crate::site::format;

/// The whole part of a division, below zero when the fixed part alone is too large.
pub fn result(division: &Division) -> f64 {
    division.quotient().floor()
}

/// The division in numbers, and its value, as MathML.
pub fn numbers(sizes: &Division) -> [String; 2] {
    let [usable, fixed, one] = [sizes.usable, sizes.fixed, sizes.per_sequence].map(amount);
    let [quotient, whole] = [signed(sizes.quotient(), 2), signed(result(sizes), 0)];
    [
        format!(
            "<mo>=</mo><mrow><mo>⌊</mo><mfrac><mrow>{usable}<mo>−</mo>{fixed}</mrow>{one}</mfrac><mo>⌋</mo></mrow>"
        ),
        format!("<mo>=</mo><mrow><mo>⌊</mo><mn>{quotient}</mn><mo>⌋</mo></mrow><mo>=</mo><mn>{whole}</mn>"),
    ]
}

/// A size with its unit.
fn amount(bytes: Bytes) -> String {
    // Two digits after the point say nothing of a size far below a GiB.
    let (value, unit) = if bytes.gib() < 0.1 { (bytes.mib(), "MiB") } else { (bytes.gib(), "GiB") };
    let value = format::digits(value, 2);
    format!("<mrow><mn>{value}</mn><mspace width=\"0.2em\"></mspace><mtext>{unit}</mtext></mrow>")
}

/// Which division it is, and what the brackets do.
pub fn explanation(sizes: &Division, is_ledger: bool, unit: Unit) -> String {
    let [one, many] = [unit.one(), unit.many()];
    let whose = if is_ledger {
        let instant = format::at_instant(sizes.instant);
        format!(
            "The ledger has such a division for every moment of the step; this is the one that stops the next {one}, \
             {instant}. "
        )
    } else {
        String::new()
    };
    let brackets = match result(sizes) {
        whole if whole < 0.0 => format!("The fixed part alone is larger than the usable memory, so no {one} fits."),
        whole if whole < 1.0 => format!("Less than one {one} is left beside the fixed part."),
        _ => format!("The brackets round down, because {many} come whole."),
    };
    whose + &brackets
}

/// A number with the minus sign of formulas, and never a zero with one.
fn signed(value: f64, places: u32) -> String {
    let text = if value.is_finite() { format::digits(value.abs(), places) } else { "∞".to_owned() };
    if value < 0.0 { format!("−{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::{Choice, Method, Recomputation, Scenario, catalogue, division::division, search::by_running_out};

    #[test]
    fn the_division_gives_what_the_search_finds_for_every_model_of_the_catalogue() {
        for row in catalogue::MODELS {
            for &method in Method::ALL {
                for &recomputation in Recomputation::ALL {
                    for gpus in [1, 8, 64, 1_024] {
                        let mut scenario = row.apply(Scenario { method, ..Scenario::workshop() });
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
        let divided = division(&Scenario { method: Method::Workshop, ..Scenario::workshop() });
        assert_eq!((divided.usable.gib(), divided.per_sequence.gib(), result(&divided)), (72.0, 17.0, 3.0));
        let [numbers, value] = numbers(&divided);
        assert!(numbers.contains("<mn>72.00</mn>") && numbers.contains("<mn>17.00</mn>"), "{numbers}");
        assert!(value.contains("<mn>3.47</mn>") && value.ends_with("<mn>3</mn>"), "{value}");
        assert!(explanation(&divided, false, Unit::Sequences).starts_with("The brackets round down"));
    }
}
