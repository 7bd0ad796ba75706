//! Formulas of the ledger as one line of text, in symbols and with numbers.

use super::{Expr, Symbol, Values};
use crate::number;

/// How the leaves of a formula are written.
#[derive(Clone, Copy, PartialEq)]
enum Leaves {
    Symbols,
    Numbers,
}

/// How tightly what stands around an expression binds; brackets go around anything looser.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Binding {
    Sum,
    Quotient,
    Product,
    Divisor,
    Power,
}

impl Expr {
    /// The formula in symbols, such as `34·S·b·H / T`; counted coefficients are written as their values.
    pub fn in_symbols(&self, values: &Values) -> String {
        Writer { values, leaves: Leaves::Symbols, text: String::new() }.whole(self)
    }

    /// The same formula with its numbers, such as `34 × 2,048 × 3 × 4,096 / 2`.
    pub fn in_numbers(&self, values: &Values) -> String {
        Writer { values, leaves: Leaves::Numbers, text: String::new() }.whole(self)
    }
}

struct Writer<'a> {
    values: &'a Values,
    leaves: Leaves,
    text: String,
}

impl Writer<'_> {
    fn whole(mut self, formula: &Expr) -> String {
        self.write(formula, Binding::Sum);
        self.text
    }

    fn write(&mut self, expr: &Expr, around: Binding) {
        match expr {
            Expr::Number(value) => self.number(*value),
            Expr::Symbol(symbol) => self.symbol(*symbol),
            Expr::Sum(terms) => self.bracketed(Binding::Sum, around, |out| out.joined(terms, " + ", Binding::Sum)),
            Expr::Product(factors) => self.product(factors, around),
            // A size that is 1 here, such as T without tensor parallelism, would only be in the way.
            Expr::Quotient(numerator, divisor) if divisor.is_neutral(self.values) => self.write(numerator, around),
            Expr::Quotient(numerator, divisor) => self.bracketed(Binding::Quotient, around, |out| {
                out.write(numerator, Binding::Product);
                out.text.push_str(" / ");
                out.write(divisor, Binding::Divisor);
            }),
            Expr::Difference(whole, part) => self.bracketed(Binding::Sum, around, |out| {
                out.write(whole, Binding::Sum);
                out.text.push_str(" − ");
                out.write(part, Binding::Quotient);
            }),
            Expr::Square(base) => self.bracketed(Binding::Divisor, around, |out| {
                out.write(base, Binding::Power);
                out.text.push('²');
            }),
        }
    }

    /// Writes with brackets where what is around binds tighter than the expression itself.
    fn bracketed(&mut self, own: Binding, around: Binding, write: impl FnOnce(&mut Self)) {
        let needed = around > own;
        if needed {
            self.text.push('(');
        }
        write(self);
        if needed {
            self.text.push(')');
        }
    }

    fn product(&mut self, factors: &[Expr], around: Binding) {
        let values = self.values;
        let seen: Vec<Expr> = factors.iter().copied().filter(|factor| !factor.is_neutral(values)).collect();
        match seen.as_slice() {
            [] => self.number(1.0),
            [only] => self.write(only, around),
            _ => {
                let times = if self.leaves == Leaves::Symbols { "·" } else { " × " };
                self.bracketed(Binding::Product, around, |out| out.joined(&seen, times, Binding::Product));
            }
        }
    }

    fn joined(&mut self, parts: &[Expr], operator: &str, around: Binding) {
        for (position, part) in parts.iter().enumerate() {
            if position > 0 {
                self.text.push_str(operator);
            }
            self.write(part, around);
        }
    }

    fn symbol(&mut self, symbol: Symbol) {
        if self.leaves == Leaves::Numbers || symbol.is_coefficient() {
            return self.number(self.values.get(symbol));
        }
        self.text.push_str(symbol.letter());
        if !symbol.subscript().is_empty() {
            self.text.push('_');
            self.text.push_str(symbol.subscript());
        }
    }

    fn number(&mut self, value: f64) {
        self.text.push_str(&number::grouped(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scenario, catalogue, estimate};

    const T: Expr = Expr::Symbol(Symbol::TensorParallel);
    const S: Expr = Expr::Symbol(Symbol::Sequence);
    const H: Expr = Expr::Symbol(Symbol::Hidden);

    #[test]
    fn sizes_that_are_one_are_left_out_and_brackets_stand_where_they_are_needed() {
        const SHARED: Expr = Expr::Product(&[
            Expr::Sum(&[Expr::Number(10.0), Expr::Quotient(&Expr::Number(24.0), &T)]),
            Expr::Square(&S),
            Expr::Quotient(&H, &Expr::Product(&[T, H])),
        ]);
        let one = Values::default().with(Symbol::Sequence, 2048.0).with(Symbol::Hidden, 4096.0);
        assert_eq!(SHARED.in_symbols(&one), "(10 + 24)·S²·(H / H)");
        let two = one.with(Symbol::TensorParallel, 2.0);
        assert_eq!(SHARED.in_symbols(&two), "(10 + 24 / T)·S²·(H / (T·H))");
        assert_eq!(SHARED.in_numbers(&two), "(10 + 24 / 2) × 2,048² × (4,096 / (2 × 4,096))");
        assert_eq!(Expr::Product(&[T]).in_symbols(&one), "1");
    }

    /// Works out a formula as a reader with a pocket calculator would.
    struct Calculator<'a>(std::iter::Peekable<std::str::Chars<'a>>);

    impl Calculator<'_> {
        fn takes(&mut self, sign: char) -> bool {
            self.0.next_if_eq(&sign).is_some()
        }

        fn sum(&mut self) -> f64 {
            let mut value = self.product();
            loop {
                if self.takes('+') {
                    value += self.product();
                } else if self.takes('−') {
                    value -= self.product();
                } else {
                    return value;
                }
            }
        }

        fn product(&mut self) -> f64 {
            let mut value = self.power();
            loop {
                if self.takes('×') {
                    value *= self.power();
                } else if self.takes('/') {
                    value /= self.power();
                } else {
                    return value;
                }
            }
        }

        fn power(&mut self) -> f64 {
            let value = if self.takes('(') {
                let inside = self.sum();
                assert!(self.takes(')'), "a bracket is not closed");
                inside
            } else {
                let mut digits = String::new();
                while let Some(digit) = self.0.next_if(|c| c.is_ascii_digit() || *c == '.') {
                    digits.push(digit);
                }
                digits.parse().expect("a number")
            };
            if self.takes('²') { value * value } else { value }
        }
    }

    #[test]
    fn a_formula_with_numbers_works_out_to_the_bytes_of_its_entry() {
        for row in catalogue::MODELS {
            let estimate = estimate(&row.apply(Scenario::workshop()));
            for entry in &estimate.entries {
                let text = entry.formula.in_numbers(&entry.values(&estimate));
                let bare: String = text.chars().filter(|c| !matches!(c, ' ' | ',')).collect();
                let value = Calculator(bare.chars().peekable()).sum();
                let bytes = entry.bytes.get();
                assert!((value - bytes).abs() <= bytes * 1e-6 + 1e-6, "{}: {text} is {value}, not {bytes}", entry.name);
            }
        }
    }
}
