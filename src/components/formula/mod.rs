//! Formulas of the ledger as native MathML, in symbols and with numbers filled in.

use bmax::{
    formula::{Expr, Symbol, Values},
    number,
};
use leptos::prelude::*;

/// How the leaves of a formula are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    /// As symbols; counted coefficients are written as their values.
    Symbols,
    /// As the values of a scenario.
    Numbers,
}

/// A formula as MathML, which browsers lay out and screen readers read by themselves:
/// <https://www.w3.org/TR/mathml-core/>.
#[component]
pub fn Formula(
    /// What [`mathml`] writes.
    mathml: String,
) -> impl IntoView {
    view! { <math inner_html=mathml></math> }
}

/// What is inside the `math` element of a formula, with the values of its symbols and what stands for its leaves.
pub fn mathml(expr: &Expr, values: &Values, leaves: Leaves) -> String {
    let mut markup = String::new();
    write(expr, values, leaves, &mut markup);
    markup
}

/// Adds a formula in the elements of MathML, all of whose words are the program's own.
fn write(expr: &Expr, values: &Values, leaves: Leaves, markup: &mut String) {
    let part = |expr: &Expr, markup: &mut String| write(expr, values, leaves, markup);
    match expr {
        Expr::Number(value) => quantity(*value, markup),
        Expr::Symbol(symbol) if leaves == Leaves::Symbols && !symbol.is_coefficient() => letter(*symbol, markup),
        Expr::Symbol(symbol) => quantity(values.get(*symbol), markup),
        Expr::Sum(terms) => bracketed(markup, |markup| joined(terms, "+", values, leaves, markup)),
        Expr::Product(factors) => {
            joined(factors, if leaves == Leaves::Symbols { "·" } else { "×" }, values, leaves, markup);
        }
        // A size that is 1 here, such as T without tensor parallelism, would only be in the way.
        Expr::Quotient(numerator, denominator) if denominator.is_neutral(values) => part(numerator, markup),
        Expr::Quotient(numerator, denominator) => element("mfrac", markup, |markup| {
            part(numerator, markup);
            part(denominator, markup);
        }),
        Expr::Difference(whole, taken) => bracketed(markup, |markup| {
            element("mrow", markup, |markup| {
                part(whole, markup);
                *markup += "<mo>−</mo>";
                part(taken, markup);
            });
        }),
        Expr::Square(base) => element("msup", markup, |markup| {
            part(base, markup);
            *markup += "<mn>2</mn>";
        }),
    }
}

fn element(name: &str, markup: &mut String, inside: impl FnOnce(&mut String)) {
    *markup += &format!("<{name}>");
    inside(markup);
    *markup += &format!("</{name}>");
}

fn bracketed(markup: &mut String, inside: impl FnOnce(&mut String)) {
    element("mrow", markup, |markup| {
        *markup += "<mo>(</mo>";
        inside(markup);
        *markup += "<mo>)</mo>";
    });
}

fn joined(parts: &[Expr], operator: &str, values: &Values, leaves: Leaves, markup: &mut String) {
    element("mrow", markup, |markup| {
        for (at, part) in parts.iter().filter(|part| !part.is_neutral(values)).enumerate() {
            if at > 0 {
                *markup += &format!("<mo>{operator}</mo>");
            }
            write(part, values, leaves, markup);
        }
    });
}

fn letter(symbol: Symbol, markup: &mut String) {
    let letter = symbol.letter();
    *markup += &match symbol.subscript() {
        "" => format!("<mi>{letter}</mi>"),
        subscript => format!("<msub><mi>{letter}</mi><mi>{subscript}</mi></msub>"),
    };
}

/// A number as a textbook writes it: 7,000,000,000 becomes 7 × 10⁹.
fn quantity(value: f64, markup: &mut String) {
    *markup += &if value < 1e7 {
        format!("<mn>{}</mn>", number::grouped(value))
    } else {
        let (mantissa, exponent) = scientific(value);
        format!("<mrow><mn>{mantissa}</mn><mo>×</mo><msup><mn>10</mn><mn>{exponent}</mn></msup></mrow>")
    };
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
