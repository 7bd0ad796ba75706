//! Numbers that are quoted: `{{quoted:KEY}}` is the value of a row of `src/course/quoted.rs`.
//!
//! The value becomes a link to its work in the list of sources, and says on being pointed at where in the work it stands.
//! In a formula, in a link and in code there are none.

use bmax::course::quoted::Quoted;

use super::super::{Result, markup};
use super::formula;
use super::inline::escaped;

/// How a quoted number begins in the text.
pub const OPEN: &str = "{{quoted:";

/// Text as HTML, with its quoted numbers in their places.
pub fn filled(text: &str) -> Result<String> {
    let mut parts = text.split(OPEN);
    let mut html = escaped(parts.next().unwrap_or_default());
    for part in parts {
        let (key, rest) = part.split_once("}}").ok_or_else(|| format!("}}}} is missing after {OPEN}{part}"))?;
        let row = Quoted::find(key).ok_or_else(|| {
            format!("no number is quoted as “{key}”; the rows of src/course/quoted.rs are written small, with - for _")
        })?;
        html += &link(row)?;
        html += &escaped(rest);
    }
    Ok(html)
}

fn link(row: &Quoted) -> Result<String> {
    let value = match row.value.strip_prefix('$').and_then(|tex| tex.strip_suffix('$')) {
        Some(tex) => formula::inline(tex)?,
        // The number and its unit stay on one line of the screen.
        None => escaped(row.value).replace(' ', "\u{a0}"),
    };
    let title = markup::escaped(&format!("{}: {}", row.cited(), row.of));
    Ok(format!("<a class=\"quoted\" href=\"#source-{}\" title=\"{title}\">{value}</a>", row.source))
}

#[cfg(test)]
mod tests {
    use super::super::blocks::tests::html;

    #[test]
    fn a_key_becomes_its_value_with_a_link_and_a_place() {
        assert_eq!(
            html("An error of {{quoted:goyal-error-gradual}}, by *{{quoted:goyal-gpus}}* GPUs\n").expect("it is right"),
            "<p>An error of <a class=\"quoted\" href=\"#source-goyal\" title=\"Goyal et al. 2017, table 1: error with 8,192 \
             and a gradual warm-up\">23.74\u{a0}%</a>, by <em><a class=\"quoted\" href=\"#source-goyal\" title=\"Goyal et \
             al. 2017, abstract: GPUs\">256</a></em> GPUs</p>\n"
        );
    }

    #[test]
    fn a_value_in_tex_becomes_a_formula() {
        let found = html("from {{quoted:micikevicius-least}}\n").expect("it is right");
        assert!(found.contains("<math><msup><mn>2</mn>"), "{found}");
    }

    #[test]
    fn a_key_that_no_row_has_is_refused_by_its_name() {
        assert!(html("{{quoted:nothing}}\n").expect_err("there is none").contains("“nothing”"));
        assert!(html("{{quoted:goyal-batch}\n").expect_err("it is open").contains("}} is missing"));
    }

    #[test]
    fn a_quoted_number_stands_in_text_alone() {
        for source in ["$x = {{quoted:goyal-batch}}$\n", "`{{quoted:goyal-batch}}`\n", "[{{quoted:goyal-batch}}](#x)\n"]
        {
            assert!(html(source).is_err(), "{source}");
        }
    }
}
