//! The site's list of sources, and the page of the catalogue's rows, out of the provenance in the code.

use std::fmt::Write;

use bmax::course::sources::{self, Kind};

use super::catalogue::{devices, models};
use super::constants::constants;
use super::entries::ledger_entries;
use super::quoted::quoted_numbers;
use super::works::item;

fn works(text: &mut String, title: &str, kind: Kind) {
    _ = write!(text, "\n### {title}\n\n<ul class=\"source-list\">\n");
    for row in sources::ALL.iter().filter(|row| row.kind == kind) {
        text.push_str(&item(row));
    }
    text.push_str("</ul>\n");
}

/// The section of the site, as Markdown; a list whose entries have ids is markup.
pub fn section() -> String {
    let mut text = String::from(
        "+++\n\
         # Written by src/bin/generate out of the provenance in the code: make generate\n\
         +++\n\n\
         ## Sources: where every formula and every number comes from {#sources}\n\n\
         This list is made from the notes on sources in the code: they stand beside each formula, constant and row of a \
         table.\n",
    );
    works(&mut text, "The courses and pages this one grew from", Kind::Course);
    works(&mut text, "Papers and specifications", Kind::Paper);
    works(&mut text, "Programs and their documentation", Kind::Program);
    constants(&mut text);
    text + "\n[Every model and every device of the catalogue, with its numbers, its source and the day of the look-up, and \
            every entry of the ledger by its source, and every quoted number with its place](/catalogue.html).\n"
}

/// The text of the page of the catalogue's rows; the build puts the frame of every page around it.
pub fn catalogue_page() -> String {
    let mut html = String::from(
        "<!-- Written by src/bin/generate out of the provenance in the code: make generate -->\n\
         <section class=\"prose\" aria-labelledby=\"catalogue-title\">\n  \
         <h1 id=\"catalogue-title\">Models, devices and the entries of the ledger, and where they come from</h1>\n  \
         <p>The name of a model or a device opens the calculator with it. <a href=\"#sources\">The works behind the numbers</a> \
         have a page of their own.</p>\n",
    );
    models(&mut html);
    devices(&mut html);
    ledger_entries(&mut html);
    quoted_numbers(&mut html);
    html + "</section>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entries::ENTRIES;
    use crate::works::{escaped, row_of};
    use bmax::catalogue::{DEVICES, MODELS};
    use bmax::link::VERSION;
    use bmax::source;

    #[test]
    fn every_source_of_the_estimator_is_cited_by_an_entry_and_listed_once() {
        let text = section();
        for source in source::ALL {
            assert!(ENTRIES.contains_key(source.short), "no entry of any scenario cites {}", source.short);
            let anchor = format!("id=\"source-{}\"", row_of(source).id);
            assert_eq!(text.matches(&anchor).count(), 1, "{anchor}");
        }
    }

    #[test]
    fn every_row_of_the_catalogue_is_listed_with_its_source() {
        let html = catalogue_page();
        let opens = |key: &str, slug: &str, name: &str| {
            html.contains(&format!("<a href=\"?v={VERSION}&amp;{key}={slug}#calculator\">{}</a>", escaped(name)))
        };
        for row in MODELS {
            let source = row.source().expect("a row of the catalogue");
            assert!(opens("model", row.slug, row.name) && html.contains(&escaped(source.source)), "{}", row.slug);
        }
        for row in DEVICES {
            let source = row.source().expect("a row of the catalogue");
            assert!(opens("gpu", row.slug, row.name), "{}", row.slug);
            for text in [source.memory, source.visible, source.peaks] {
                assert!(html.contains(&escaped(text)), "{}: {text}", row.slug);
            }
        }
    }

    #[test]
    fn the_anchors_that_the_text_links_to_stay() {
        let text = section();
        for id in ["workshop", "korthikanti", "rajbhandari", "finders"] {
            assert!(text.contains(&format!("id=\"source-{id}\"")), "{id}");
        }
    }

    #[test]
    fn the_constants_are_those_the_sources_print() {
        let text = section();
        for row in [
            "16 bits | 34",
            "in fp32 | 66",
            "scores, 16 bits | 5",
            "in fp32 | 9",
            "34 · 2 | 68",
            "5 · 2 | 10",
            "parallelism | 24",
            "on every GPU | 10",
            "4 + 4 + 8 = 16",
            "2 + 2 + 12 = 16",
            "2 + 4 + 12 = 18",
            "2 + 6 + 12 = 20",
            "2 + 2 + 4 = 8",
            "256 | 2.03125",
            "0.6 (0.47 to 0.92)",
            "1.25 (1 to 1.5)",
            "peak | 0.4",
            "backward | 6",
            "attention | 12",
        ] {
            assert!(text.contains(row), "the constants should have “{row}”");
        }
    }
}
