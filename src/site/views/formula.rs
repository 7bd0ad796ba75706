//! Formulas of the ledger as native MathML, in symbols and with numbers filled in.

use bmax::{Expr, Symbol, Values, number};

use super::super::dom::{El, math};

/// How the leaves of a formula are written.
#[derive(Clone, Copy, PartialEq)]
enum Leaves {
    Symbols,
    Numbers,
}

/// A formula in symbols; counted coefficients are written as their values.
pub fn formula_in_symbols(formula: &Expr, values: &Values) -> El {
    math("math").child(written(formula, values, Leaves::Symbols))
}

/// The same formula with the values of a scenario filled in.
pub fn formula_in_numbers(formula: &Expr, values: &Values) -> El {
    math("math").child(written(formula, values, Leaves::Numbers))
}

fn written(expr: &Expr, values: &Values, leaves: Leaves) -> El {
    match expr {
        Expr::Number(value) => quantity(*value),
        Expr::Symbol(symbol) if leaves == Leaves::Symbols && !symbol.is_coefficient() => letter(*symbol),
        Expr::Symbol(symbol) => quantity(values.get(*symbol)),
        Expr::Sum(terms) => {
            let bracket = |sign| math("mo").text(sign);
            math("mrow").child(bracket("(")).child(joined(terms, "+", values, leaves)).child(bracket(")"))
        }
        Expr::Product(factors) => joined(factors, if leaves == Leaves::Symbols { "·" } else { "×" }, values, leaves),
        // A size that is 1 here, such as T without tensor parallelism, would only be in the way.
        Expr::Quotient(numerator, denominator) if denominator.is_neutral(values) => written(numerator, values, leaves),
        Expr::Quotient(numerator, denominator) => {
            math("mfrac").child(written(numerator, values, leaves)).child(written(denominator, values, leaves))
        }
        Expr::Difference(whole, part) => {
            let bracket = |sign| math("mo").text(sign);
            let inside = math("mrow").child(written(whole, values, leaves)).child(bracket("−"));
            math("mrow").child(bracket("(")).child(inside.child(written(part, values, leaves))).child(bracket(")"))
        }
        Expr::Square(base) => math("msup").child(written(base, values, leaves)).child(math("mn").text("2")),
    }
}

fn joined(parts: &[Expr], operator: &str, values: &Values, leaves: Leaves) -> El {
    let mut row = math("mrow");
    for (i, part) in parts.iter().filter(|part| !part.is_neutral(values)).enumerate() {
        if i > 0 {
            row = row.child(math("mo").text(operator));
        }
        row = row.child(written(part, values, leaves));
    }
    row
}

fn letter(symbol: Symbol) -> El {
    let letter = math("mi").text(symbol.letter());
    match symbol.subscript() {
        "" => letter,
        subscript => math("msub").child(letter).child(math("mi").text(subscript)),
    }
}

/// A number as a textbook writes it: 7,000,000,000 becomes 7 × 10⁹.
fn quantity(value: f64) -> El {
    if value < 1e7 {
        return math("mn").text(&number::grouped(value));
    }
    let (mantissa, exponent) = scientific(value);
    let power = math("msup").child(math("mn").text("10")).child(math("mn").text(&exponent.to_string()));
    math("mrow").child(math("mn").text(&mantissa)).child(math("mo").text("×")).child(power)
}

/// Mantissa with at most three digits after the point, and exponent.
fn scientific(value: f64) -> (String, u32) {
    let (mut mantissa, mut exponent) = (value, 0);
    // 9.9995 and more would round to 10.000.
    while mantissa >= 9.9995 {
        mantissa /= 10.0;
        exponent += 1;
    }
    (number::grouped((mantissa * 1e3).round() / 1e3), exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_keep_four_digits_and_their_power_of_ten() {
        assert_eq!(scientific(7e9), ("7".to_owned(), 9));
        assert_eq!(scientific(8_030_261_248.0), ("8.03".to_owned(), 9));
        assert_eq!(scientific(99_999_999.0), ("1".to_owned(), 8));
    }
}
