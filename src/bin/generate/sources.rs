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

/// The page of the catalogue's rows.
pub fn catalogue_page() -> String {
    let mut html = String::from(
        "<!doctype html>\n\
         <!-- Written by src/bin/generate out of the provenance in the code: make generate -->\n\
         <html lang=\"en\">\n<head>\n  <meta charset=\"utf-8\">\n  \
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'\">\n  \
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n  \
         <meta name=\"color-scheme\" content=\"light dark\">\n  \
         <title>bmax: models, devices and entries, and where their numbers come from</title>\n  \
         <meta name=\"description\" content=\"The models and devices that bmax knows, the entries of its ledger and the numbers that it quotes, each with its source.\">\n  \
         <link rel=\"icon\" href=\"data:,\">\n  \
         <link rel=\"stylesheet\" href=\"catalogue.css\">\n</head>\n<body>\n  \
         <header><a href=\"./\" aria-label=\"bmax\">b<sub>max</sub></a><a href=\"sources/#sources\">Back to the sources</a></header>\n  \
         <h1>Models, devices and the entries of the ledger, and where they come from</h1>\n",
    );
    models(&mut html);
    devices(&mut html);
    ledger_entries(&mut html);
    quoted_numbers(&mut html);
    html + "</body>\n</html>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entries::ENTRIES;
    use crate::works::{escaped, row_of};
    use bmax::catalogue::{DEVICES, MODELS};
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
        for row in MODELS {
            let source = row.source().expect("a row of the catalogue");
            assert!(html.contains(&escaped(row.name)) && html.contains(&escaped(source.source)), "{}", row.slug);
        }
        for row in DEVICES {
            let source = row.source().expect("a row of the catalogue");
            assert!(html.contains(&escaped(row.name)), "{}", row.slug);
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
