//! Formulas of the ledger as native MathML, in symbols and with numbers filled in.

use bmax::{Expr, Symbol, Values, number};
use leptos::math::{math, mfrac, mi, mn, mo, mrow, msub, msup};
use leptos::prelude::*;

/// How the leaves of a formula are written.
#[derive(Clone, Copy)]
enum Leaves {
    Symbols,
    Numbers,
}

/// A formula in symbols; counted coefficients are written as their values.
#[component]
pub fn FormulaInSymbols(formula: &'static Expr, values: Values) -> impl IntoView {
    math().child(written(formula, &values, Leaves::Symbols))
}

/// The same formula with the values of a scenario filled in.
#[component]
pub fn FormulaInNumbers(formula: &'static Expr, values: Values) -> impl IntoView {
    math().child(written(formula, &values, Leaves::Numbers))
}

fn written(expr: &Expr, values: &Values, leaves: Leaves) -> AnyView {
    match expr {
        Expr::Number(value) => quantity(*value),
        Expr::Symbol(symbol) => match leaves {
            Leaves::Symbols if !symbol.is_coefficient() => letter(*symbol),
            _ => quantity(values.get(*symbol)),
        },
        Expr::Sum(terms) => bracketed(joined(terms, "+", values, leaves)),
        Expr::Product(factors) => mrow()
            .child(joined(factors, if matches!(leaves, Leaves::Symbols) { "·" } else { "×" }, values, leaves))
            .into_any(),
        Expr::Quotient(numerator, denominator) => {
            mfrac().child((written(numerator, values, leaves), written(denominator, values, leaves))).into_any()
        }
        Expr::Square(base) => msup().child((written(base, values, leaves), mn().child("2"))).into_any(),
    }
}

fn joined(parts: &[Expr], operator: &'static str, values: &Values, leaves: Leaves) -> Vec<AnyView> {
    let mut row = Vec::with_capacity(parts.len() * 2);
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            row.push(mo().child(operator).into_any());
        }
        row.push(written(part, values, leaves));
    }
    row
}

fn bracketed(inner: Vec<AnyView>) -> AnyView {
    mrow().child((mo().child("("), inner, mo().child(")"))).into_any()
}

fn letter(symbol: Symbol) -> AnyView {
    match symbol.subscript() {
        "" => mi().child(symbol.letter()).into_any(),
        subscript => msub().child((mi().child(symbol.letter()), mi().child(subscript))).into_any(),
    }
}

/// A number as a textbook writes it: 7,000,000,000 becomes 7 × 10⁹.
fn quantity(value: f64) -> AnyView {
    if value >= 1e7 {
        let (mantissa, exponent) = scientific(value);
        let power = msup().child((mn().child("10"), mn().child(exponent.to_string())));
        return mrow().child((mn().child(mantissa), mo().child("×"), power)).into_any();
    }
    mn().child(number::grouped(value)).into_any()
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
