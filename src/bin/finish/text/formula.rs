//! TeX as MathML.

use math_core::{LatexToMathML, MathCoreConfig, MathDisplay};

use super::super::Result;
use super::quoted;
use super::words::plain;

/// The longest formula that any screen has room for, in signs.
const SHORT: usize = 22;

/// A formula in a line of text.
pub fn inline(tex: &str) -> Result<String> {
    letter(tex).map_or_else(|| mathml(tex, MathDisplay::Inline), Ok)
}

/// A number, or a letter with at most a number before it and a word below it: HTML has elements for a variable, which
/// read the same and are a third of those of MathML.
fn letter(tex: &str) -> Option<String> {
    let rest = tex.trim_start_matches(|sign: char| sign.is_ascii_digit());
    let number = &tex[..tex.len() - rest.len()];
    let Some(letter) = rest.chars().next() else { return Some(number.to_owned()) };
    let index = match &rest[letter.len_utf8()..] {
        "" => "",
        "_\\max" => "max",
        below => below.strip_prefix("_\\text{")?.strip_suffix('}')?,
    };
    if !letter.is_ascii_alphabetic() || !index.chars().all(|sign| sign.is_ascii_alphabetic()) {
        return None;
    }
    let below = if index.is_empty() { String::new() } else { format!("<sub>{index}</sub>") };
    Some(format!("{number}<var>{letter}</var>{below}"))
}

/// A formula on a line of its own. A long one may have to be scrolled, and so can be reached by key.
pub fn display(tex: &str) -> Result<String> {
    let math = mathml(tex, MathDisplay::Block)?;
    let open = if signs(&math) > SHORT {
        "<div class=\"formula formula-long\" tabindex=\"0\" role=\"group\" aria-label=\"Formula\">"
    } else {
        "<div class=\"formula\">"
    };
    Ok(format!("{open}{math}</div>"))
}

fn mathml(tex: &str, display: MathDisplay) -> Result<String> {
    let fault = |what: &dyn std::fmt::Display| format!("the formula ${tex}$ cannot be read: {what}");
    if tex.contains(quoted::OPEN) {
        return Err(fault(&"a quoted number stands in the text around it"));
    }
    let converter = LatexToMathML::new(MathCoreConfig::default()).map_err(|_| fault(&"the converter did not start"))?;
    match converter.convert_with_local_state(tex, display) {
        // The comma between thousands, `{,}`, belongs to its number.
        Ok(found) => Ok(found.mathml.replace("</mn><mo rspace=\"0\">,</mo><mn>", ",")),
        Err(error) => Err(fault(&error)),
    }
}

/// How many signs a formula is wide, nearly: of a fraction both parts count, which errs on the safe side.
fn signs(math: &str) -> usize {
    plain(math).chars().filter(|sign| !sign.is_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::tags;

    #[test]
    fn a_variable_alone_is_html_and_all_else_a_formula() {
        let html = |tex| inline(tex).expect("it is TeX");
        assert_eq!(html("b"), "<var>b</var>");
        assert_eq!(html("16N"), "16<var>N</var>");
        assert_eq!(html(r"b_\max"), "<var>b</var><sub>max</sub>");
        assert_eq!(html(r"M_\text{fixed}"), "<var>M</var><sub>fixed</sub>");
        assert_eq!(html("4"), "4");
        for tex in ["b = 1", r"\alpha", "S^2", "SH", r"M_\text{act}(1)", "b_1", ""] {
            assert_eq!(html(tex).starts_with("<math>"), !tex.is_empty(), "{tex}");
        }
    }

    #[test]
    fn words_stay_whole_and_nothing_has_a_style_attribute() {
        let math = inline(r"M_\text{act} \cdot \frac{16N}{D} \le \left\lfloor x \right\rfloor").expect("it is TeX");
        assert!(math.contains("<mtext>act</mtext>"), "{math}");
        assert!(tags(&math).iter().all(|tag| tag.attribute("style").is_none()), "{math}");
    }

    #[test]
    fn a_formula_that_cannot_be_read_is_named_with_the_reason() {
        let fault = inline(r"\frac{1}").expect_err("it lacks a part");
        assert!(fault.starts_with(r"the formula $\frac{1}$ cannot be read: "), "{fault}");
        assert!(display(r"\nosuchcommand").is_err());
    }

    #[test]
    fn the_comma_between_thousands_is_part_of_the_number() {
        assert_eq!(inline("H = 4{,}096").expect("it is TeX"), "<math><mi>H</mi><mo>=</mo><mn>4,096</mn></math>");
        assert!(!inline("1, 2").expect("it is TeX").contains("1,2"), "a list stays a list");
    }

    #[test]
    fn only_a_long_formula_can_be_reached_by_key() {
        assert!(display("B = b D").expect("it is TeX").starts_with("<div class=\"formula\"><math display=\"block\">"));
        let long = display("M = a + b + c + d + e + f + g + h + i + j + k + l").expect("it is TeX");
        assert!(
            long.starts_with("<div class=\"formula formula-long\" tabindex=\"0\" role=\"group\" aria-label="),
            "{long}"
        );
    }
}
