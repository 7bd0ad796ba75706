//! The numbers that the text quotes, with their places, as HTML.

use std::fmt::Write;

use bmax::course::quoted;

use super::works::escaped;

pub fn quoted_numbers(html: &mut String) {
    html.push_str(
        "\n  <h2>Numbers quoted from other works</h2>\n\n  <div class=\"table-scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"Quoted numbers and their places\">\n    <table class=\"data-table\">\n      <thead><tr>\
         <th scope=\"col\">Number</th><th scope=\"col\">Of what</th><th scope=\"col\">Where</th></tr></thead>\n      \
         <tbody>\n",
    );
    for row in quoted::ALL {
        _ = writeln!(
            html,
            "        <tr><th scope=\"row\">{}</th><td>{}</td><td><a href=\"#source-{}\">{}</a></td></tr>",
            value(row.value),
            escaped(row.of),
            row.source,
            escaped(&row.cited())
        );
    }
    html.push_str("      </tbody>\n    </table>\n  </div>\n");
}

/// A value as HTML: of TeX a table needs powers alone.
fn value(text: &str) -> String {
    let Some(tex) = text.strip_prefix('$').and_then(|tex| tex.strip_suffix('$')) else { return escaped(text) };
    let (base, exponent) = tex.split_once("^{").and_then(|(base, rest)| Some((base, rest.strip_suffix('}')?))).unzip();
    match (base, exponent) {
        (Some(base), Some(exponent)) => format!("{base}<sup>{}</sup>", exponent.replace('-', "−")),
        _ => escaped(tex),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quoted_number_is_listed_with_its_place_and_no_tex() {
        let mut html = String::new();
        quoted_numbers(&mut html);
        for row in quoted::ALL {
            assert!(html.contains(&escaped(&row.cited())) && html.contains(&escaped(row.of)), "{}", row.name);
        }
        assert!(!html.contains('$') && html.contains("2<sup>−27</sup>"), "{html}");
    }
}
