//! A citation of the page with the link to the scenario.

use super::Card;
use super::run;
use crate::Scenario;

pub(super) const CARD: Card = Card {
    key: "bibtex",
    name: "BibTeX",
    file_name: "bmax.bib",
    media_type: "application/x-bibtex",
    describe: "A citation of the page with the link to this scenario.",
    readers: &[],
};

pub(super) fn write(scenario: &Scenario, page: &str) -> String {
    let address = run::address(page, scenario);
    let about = run::subject(scenario);
    format!(
        "@misc{{bmax,\n  \
         title        = {{{{bmax}}: how many sequences one {{GPU}} can train on at once}},\n  \
         howpublished = {{\\url{{{}}}}},\n  \
         version      = {{{}}},\n  \
         note         = {{{}}}\n\
         }}\n",
        in_url(&address),
        env!("CARGO_PKG_VERSION"),
        in_text(&format!("{about} b_max = {}", run::b_max_words(scenario)))
    )
}

/// Text in which nothing is a command of TeX.
fn in_text(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '\\' => escaped.push_str("\\textbackslash{}"),
            '{' | '}' | '$' | '&' | '#' | '%' | '_' => {
                escaped.push('\\');
                escaped.push(character);
            }
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '×' => escaped.push_str("$\\times$"),
            other if other.is_control() => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}

/// An address inside `\url`, which may itself be an argument: there `%` and `#` need a backslash, and
/// braces would have to match. Addresses hold none of those, because they are percent-encoded.
fn in_url(address: &str) -> String {
    address.replace('%', "\\%").replace('#', "\\#")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_match_and_nothing_is_a_command() {
        let mut scenario = Scenario::default();
        scenario.model.origin = crate::Origin::Own;
        let text = write(&scenario, "https://example.org/a%20b/");
        assert_eq!(text.matches('{').count(), text.matches('}').count());
        assert!(text.contains("\\url{https://example.org/a\\%20b/?v=4&model=own}"), "{text}");
        assert!(text.contains(env!("CARGO_PKG_VERSION")));
        assert_eq!(
            in_text("50 % of a_b & {c} \\ #1 ~ ^ $"),
            "50 \\% of a\\_b \\& \\{c\\} \\textbackslash{} \\#1 \\textasciitilde{} \\textasciicircum{} \\$"
        );
    }
}
