//! Formulas of the ledger as native MathML.

use bmax::{
    formula::{Expr, Symbol, Values},
    number,
};
use leptos::prelude::*;

/// A formula as MathML, which browsers lay out and screen readers read by themselves:
/// <https://www.w3.org/TR/mathml-core/>.
#[component]
pub fn Formula(
    /// What [`mathml`] writes.
    mathml: String,
) -> impl IntoView {
    view! { <math inner_html=mathml></math> }
}

/// What is inside the `math` element of a formula in symbols; counted coefficients are written as their values.
pub fn mathml(expr: &Expr, values: &Values) -> String {
    let mut markup = String::new();
    write(expr, values, &mut markup);
    markup
}

/// Whether a formula has so many letters that a narrow card on a phone has to scroll it, which must be possible by key.
pub fn is_long(mathml: &str) -> bool {
    const ROOM: usize = 13;
    mathml.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text.chars().count()).sum::<usize>()
        > ROOM
}

/// Adds a formula in the elements of MathML, all of whose words are the program's own. A row that stands in a row needs
/// no element of its own.
fn write(expr: &Expr, values: &Values, markup: &mut String) {
    match expr {
        Expr::Number(value) => quantity(*value, markup),
        Expr::Symbol(symbol) if symbol.is_coefficient() => quantity(values.get(*symbol), markup),
        Expr::Symbol(symbol) => letter(*symbol, markup),
        Expr::Sum(terms) => bracketed(markup, |markup| joined(terms, "+", values, markup)),
        Expr::Product(factors) => joined(factors, "·", values, markup),
        // A size that is 1 here, such as T without tensor parallelism, would only be in the way.
        Expr::Quotient(numerator, denominator) if denominator.is_neutral(values) => write(numerator, values, markup),
        Expr::Quotient(numerator, denominator) => element("mfrac", markup, |markup| {
            single(numerator, values, markup);
            single(denominator, values, markup);
        }),
        Expr::Difference(whole, taken) => bracketed(markup, |markup| {
            write(whole, values, markup);
            *markup += "<mo>−</mo>";
            write(taken, values, markup);
        }),
        Expr::Square(base) => element("msup", markup, |markup| {
            single(base, values, markup);
            *markup += "<mn>2</mn>";
        }),
    }
}

/// Adds a formula as one element, where its place counts them.
fn single(expr: &Expr, values: &Values, markup: &mut String) {
    match expr {
        Expr::Number(_) | Expr::Symbol(_) => write(expr, values, markup),
        _ => element("mrow", markup, |markup| write(expr, values, markup)),
    }
}

fn element(name: &str, markup: &mut String, inside: impl FnOnce(&mut String)) {
    *markup += &format!("<{name}>");
    inside(markup);
    *markup += &format!("</{name}>");
}

/// Brackets are as high as what is in the row with them, which is therefore their own.
fn bracketed(markup: &mut String, inside: impl FnOnce(&mut String)) {
    element("mrow", markup, |markup| {
        *markup += "<mo>(</mo>";
        inside(markup);
        *markup += "<mo>)</mo>";
    });
}

fn joined(parts: &[Expr], operator: &str, values: &Values, markup: &mut String) {
    for (at, part) in parts.iter().filter(|part| !part.is_neutral(values)).enumerate() {
        if at > 0 {
            *markup += &format!("<mo>{operator}</mo>");
        }
        write(part, values, markup);
    }
}

fn letter(symbol: Symbol, markup: &mut String) {
    let letter = symbol.letter();
    *markup += &match symbol.subscript() {
        "" => format!("<mi>{letter}</mi>"),
        subscript => format!("<msub><mi>{letter}</mi><mi>{subscript}</mi></msub>"),
    };
}

fn quantity(value: f64, markup: &mut String) {
    *markup += &format!("<mn>{}</mn>", number::grouped(value));
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Expr = Expr::Symbol(Symbol::Sequence);
    const H: Expr = Expr::Symbol(Symbol::Hidden);
    const T: Expr = Expr::Symbol(Symbol::TensorParallel);

    #[test]
    fn a_row_is_an_element_of_its_own_only_where_a_fraction_or_a_power_counts_its_parts() {
        const SHARED: Expr = Expr::Quotient(&Expr::Product(&[Expr::Number(24.0), S, H]), &T);
        let one = Values::default();
        assert_eq!(mathml(&SHARED, &one), "<mn>24</mn><mo>·</mo><mi>S</mi><mo>·</mo><mi>H</mi>");
        assert_eq!(
            mathml(&SHARED, &one.with(Symbol::TensorParallel, 2.0)),
            "<mfrac><mrow><mn>24</mn><mo>·</mo><mi>S</mi><mo>·</mo><mi>H</mi></mrow><mi>T</mi></mfrac>"
        );
    }

    #[test]
    fn a_formula_is_long_by_what_is_read_and_not_by_its_elements() {
        assert!(!is_long("<mn>16</mn><mo>·</mo><msub><mi>N</mi><mi>expert</mi></msub>"));
        assert!(is_long(
            "<mi>L</mi><mo>·</mo><mi>S</mi><mo>·</mo><mi>b</mi><mo>·</mo><mi>H</mi><mo>·</mo><mn>34,000</mn>"
        ));
    }

    #[test]
    fn coefficients_are_written_as_their_values_and_letters_with_their_subscripts() {
        const WEIGHTS: Expr = Expr::Product(&[Expr::Symbol(Symbol::WeightCount), Expr::Symbol(Symbol::DataParallel)]);
        let values = Values::default().with(Symbol::WeightCount, 402_784_256.0).with(Symbol::DataParallel, 8.0);
        assert_eq!(mathml(&WEIGHTS, &values), "<mn>402,784,256</mn><mo>·</mo><msub><mi>D</mi><mi>dp</mi></msub>");
    }
}
