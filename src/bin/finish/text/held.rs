//! What is asked of every sentence of this site, as far as a test can read it.

use std::collections::{BTreeMap, BTreeSet};

use super::super::markup::{name, pieces};
use super::glossary::{self, entries};
use super::prose::{self, CODE, FORMULA, LINK, Passage, formulas, grade, parted, passages, sentences, spoken, words};
use super::site::{here, site, texts};
use super::words::plain;

/// The most words of a sentence. A formula counts as one.
const LONGEST: usize = 40;

fn none(found: Vec<String>) {
    assert!(found.is_empty(), "{} of them\n{}", found.len(), found.join("\n"));
}

/// The questions of the quiz, which are markup of their own.
fn quiz() -> Vec<Passage> {
    let html = include_str!("../../../figures/quiz/questions.html");
    let mut found = Vec::new();
    let mut line = String::new();
    for (text, tag) in pieces(html) {
        line += text;
        if !["b", "code", "em", "i", "span", "strong", "sub", "sup"].contains(&name(tag)) {
            let text = line.split_whitespace().collect::<Vec<_>>().join(" ");
            found.push(Passage { file: "quiz".to_owned(), flows: true, text });
            line.clear();
        }
    }
    found.retain(|passage| !passage.text.is_empty());
    found
}

#[test]
fn no_sentence_is_longer_than_can_be_read_in_one_breath() {
    let read = passages().into_iter().chain(quiz());
    none(read.flat_map(|passage| too_long(&passage.file, &spoken(&passage.text))).collect());
}

/// The sentences of a text that are too long, each with its file.
fn too_long(file: &str, text: &str) -> Vec<String> {
    let counted = sentences(text).into_iter().map(|sentence| (words(&sentence).len(), sentence));
    let long = counted.filter(|(count, _)| *count > LONGEST);
    long.map(|(count, sentence)| format!("{file}: {count} words: {sentence}")).collect()
}

/// Folders whose strings a reader of the site, of a file or of the command line meets.
const READ: [&str; 9] = ["catalogue", "cli", "components", "course", "desk", "estimator", "figures", "link", "site"];

/// The strings of the code that are sentences or parts of them, each with its file: two words and more.
fn strings() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in READ {
        for (path, _) in texts(&here("src").join(folder), "rs") {
            let file = path.strip_prefix(here("src")).expect("it is in there").display().to_string();
            // The sources of rows are named as others write them.
            let is_cited = ["sources.rs", "source.rs", "devices.rs", "models.rs", "quoted.rs"];
            if file.contains("tests") || file.ends_with("check.rs") || is_cited.iter().any(|end| file.ends_with(end)) {
                continue;
            }
            let is_told = |text: &String| words(text).len() > 1 && !text.starts_with('<');
            found.extend(prose::literals(&path).into_iter().filter(is_told).map(|text| (file.clone(), text)));
        }
    }
    // Of other estimators the reader meets the sentence on each.
    found.extend(bmax::others::ALL.iter().map(|other| ("others".to_owned(), other.why.to_owned())));
    assert!(found.len() > 500, "{} strings", found.len());
    found
}

#[test]
fn no_string_of_the_code_has_a_longer_sentence() {
    none(strings().into_iter().flat_map(|(file, text)| too_long(&file, &text)).collect());
}

/// Prints what `cargo test -- --nocapture reading_grade` is asked for.
#[test]
fn reading_grade_by_page() {
    let mut pages: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for passage in passages().into_iter().filter(|passage| passage.flows) {
        let page = passage.file.split('/').next().unwrap_or_default().to_owned();
        pages.entry(page).or_default().extend(sentences(&spoken(&passage.text)));
    }
    for (page, sentences) in pages {
        let count: usize = sentences.iter().map(|sentence| words(sentence).len()).sum();
        let each = count as f64 / sentences.len() as f64;
        println!("{page}: grade {:.1}, {each:.1} words a sentence", grade(&sentences));
    }
}

/// The whole numbers of a text with four digits and more that lack a comma, and those whose thousands are apart.
fn ungrouped(text: &str) -> Vec<String> {
    let signs: Vec<char> = text.chars().collect();
    let digit = |at: usize| signs.get(at).is_some_and(char::is_ascii_digit);
    let mut found = Vec::new();
    let mut at = 0;
    while at < signs.len() {
        if !digit(at) {
            at += 1;
            continue;
        }
        let start = at;
        while digit(at) {
            at += 1;
        }
        let number: String = signs[start..at].iter().collect();
        let before = start.checked_sub(1).map(|before| signs[before]);
        // Of a name, such as DDR4-1600 and RTX 4090, or of what follows a point.
        let name: String = signs[start.saturating_sub(4)..start].iter().collect();
        let is_part = before.is_some_and(|sign| sign.is_alphabetic() || ['.', '_', '-', '#', '&'].contains(&sign))
            || ["RTX ", " RX "].contains(&name.as_str());
        let is_year = number.len() == 4 && number.parse().is_ok_and(|year: u32| (1990..=2030).contains(&year));
        if !is_part && number.len() > 3 && !is_year {
            found.push(number.clone());
        }
        let is_apart = matches!(signs.get(at), Some(' ' | '\u{a0}' | '\u{202f}' | '\u{2009}'))
            && (1..4).all(|next| digit(at + next))
            && !signs.get(at + 4).is_some_and(|sign| sign.is_ascii_alphanumeric());
        if !is_part && number.len() < 4 && is_apart {
            found.push(format!("{number} {}", signs[at + 1..at + 4].iter().collect::<String>()));
        }
    }
    found
}

#[test]
fn a_number_without_its_commas_is_found() {
    assert_eq!(ungrouped("2048 of 14 976, 1,024 in 2024 by DDR4-1600, 0.00195 and 12 34"), ["2048", "14 976"]);
}

#[test]
fn every_thousand_has_its_comma() {
    let mut found = Vec::new();
    for Passage { file, text, .. } in passages().into_iter().chain(quiz()) {
        let tex = formulas(&text);
        let (_, text) = parted(&text, FORMULA, "x");
        let (_, text) = parted(&text, CODE, "x");
        let (_, text) = parted(&text, [LINK[0], prose::WORDS], "");
        for text in tex.iter().map(|tex| tex.replace("{,}", ",")).chain([text]) {
            found.extend(ungrouped(&text).into_iter().map(|number| format!("{file}: {number} in “{text}”")));
        }
    }
    for (file, text) in strings() {
        // Addresses, drawings, the words of layer lists and other programs' files.
        let is_code = ["://", "=", "--", "<", "#", "\\n"].iter().any(|sign| text.contains(sign));
        let is_sentence = text.split(' ').any(|word| word.len() > 2 && word.chars().all(char::is_alphabetic));
        if is_code || !is_sentence || file.contains("networks") {
            continue;
        }
        found.extend(ungrouped(&text).into_iter().map(|number| format!("src/{file}: {number} in “{text}”")));
    }
    none(found);
}

#[test]
fn the_contents_call_a_section_as_its_heading_does() {
    for page in site() {
        for (place, section) in page.sections.iter().enumerate() {
            let level = if place == 0 { "h1" } else { "h2" };
            let (_, rest) = section.html.split_once(&format!("<{level} ")).expect("a heading");
            let heading = plain(rest.split_once('>').and_then(|(_, rest)| rest.split_once("</h")).expect("it ends").0);
            // The first page is called by what it gives, since its heading is a question.
            let label = if section.id == "opening" { "How many" } else { &section.label };
            assert!(heading.trim().starts_with(label), "/{}#{}: {label} and {heading}", page.slug, section.id);
        }
    }
}

/// Elements whose words are no sentences; `glossary` passes them over as well.
const SILENT: [&str; 16] = [
    "button", "caption", "code", "dt", "figure", "h1", "h2", "h3", "h4", "math", "pre", "script", "style", "summary",
    "table", "th",
];

#[test]
fn every_term_of_the_glossary_is_linked_where_a_page_uses_it_first() {
    let pages = site();
    let html: String = pages.iter().flat_map(|page| &page.sections).map(|section| section.html.as_str()).collect();
    let terms = entries(&html);
    let mut checked = 0;
    for page in &pages {
        for term in &terms {
            let sections =
                page.sections.iter().filter(|section| !["symbols", "sources"].contains(&section.id.as_str()));
            let first = sections.clone().find_map(|section| first_use(&section.html, term));
            assert_ne!(first, Some(false), "/{} uses {:?} without a link", page.slug, term.words);
            checked += usize::from(first.is_some());
        }
    }
    assert!(checked > 60, "{checked} uses");
}

/// Whether the first use of a term in this markup is in a link; nothing where it is not used.
fn first_use(html: &str, term: &glossary::Term) -> Option<bool> {
    let mut open: Vec<&str> = Vec::new();
    for (text, tag) in pieces(html) {
        let silent = open.iter().any(|name| SILENT.contains(name));
        if !silent && term.found(text).is_some() {
            return Some(open.contains(&"a"));
        }
        let name = name(tag);
        if tag.starts_with("</") {
            if let Some(at) = open.iter().rposition(|opened| *opened == name) {
                open.truncate(at);
            }
        } else if SILENT.contains(&name) || name == "a" {
            open.push(name);
        }
    }
    None
}

/// Words that are not used, with what stands for them.
const BANNED: [(&str, &str); 26] = [
    ("local batch", "micro-batch"),
    ("local batches", "micro-batches"),
    ("sequences per gpu", "micro-batch"),
    ("effective batch", "global batch"),
    ("lever", "technique"),
    ("levers", "techniques"),
    ("remedy", "technique"),
    ("remedies", "techniques"),
    ("measures", "techniques"),
    ("instant", "moment"),
    ("instants", "moments"),
    ("an update", "an optimizer step"),
    ("one update", "one optimizer step"),
    ("every update", "every optimizer step"),
    ("each update", "each optimizer step"),
    ("per update", "per optimizer step"),
    ("updates", "optimizer steps"),
    ("setup", "configuration"),
    ("scenario", "configuration"),
    ("scenarios", "configurations"),
    ("regime", "recipe"),
    ("regimes", "recipes"),
    ("host", "CPU memory"),
    ("whatever", "what or however"),
    ("nothing else does", "the sentence without it"),
    ("so that", "so, or a sentence of its own"),
];

/// Where a banned word stays: the word, words of its sentence, and why.
const STAYS: [(&str, &str, &str); 6] = [
    ("local batch", "Micro-batch, local batch", "the glossary knows the other name"),
    ("local batch", "the workshop calls it local batch", "the glossary knows the other name"),
    ("local batch", "Some texts call it local batch", "the figure of words explains words"),
    ("local batch", "Finding the Maximum Local Batch Size", "the title of the workshop"),
    ("host", "also called host memory", "the glossary knows the other name"),
    ("host", "also called the host", "explained where the word is used most elsewhere"),
];

/// Whether a text has these words, in any case.
fn has(text: &str, words: &str) -> bool {
    let text = text.to_lowercase();
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '-';
    let whole =
        |(at, found): (usize, &str)| !text[..at].ends_with(is_part) && !text[at + found.len()..].starts_with(is_part);
    text.match_indices(words).any(whole)
}

#[test]
fn one_word_stands_for_one_thing() {
    let mut found = Vec::new();
    let mut used = BTreeSet::new();
    for Passage { file, text, .. } in passages().into_iter().chain(quiz()) {
        for sentence in sentences(&spoken(&text)) {
            for (word, better) in BANNED.iter().filter(|(word, _)| has(&sentence, word)) {
                let stays = STAYS.iter().position(|(known, part, _)| known == word && sentence.contains(part));
                match stays {
                    Some(at) => _ = used.insert(at),
                    None => found.push(format!("{file}: “{word}” for {better}: {sentence}")),
                }
            }
        }
    }
    for (file, text) in strings() {
        // Names between braces are of code. What the command line reads is called a scenario in its schema, and
        // sequences per GPU are the unit of a number on the screen.
        let (_, text) = parted(&text, ['{', '}'], "x");
        let stays = |word: &str| match word {
            "scenario" => file.starts_with("cli"),
            "sequences per gpu" | "so that" | "updates" => true,
            _ => false,
        };
        let banned = BANNED.iter().filter(|(word, _)| !stays(word) && has(&text, word));
        found.extend(banned.map(|(word, better)| format!("src/{file}: “{word}” for {better}: {text}")));
    }
    none(found);
    assert_eq!(used.len(), STAYS.len(), "an exception is no longer needed");
}

/// Numbers in a sentence with a source that are not quoted, by words around them, with what they are.
const COMPUTED: [(&str, &str); 21] = [
    ("2 + 2 + 12", "bytes of weight, gradient and states, which `tests/worked_numbers.rs` counts"),
    ("In mixed precision 12 bytes", "the last of these"),
    ("at least 17 times as much", "34 over 2, of the formulas in the sentence"),
    ("FLOPs are 2 for each weight", "a multiplication and an addition"),
    ("2 bytes each", "a number at 16 bits"),
    ("A100 of 40 GB", "the name of a device"),
    ("The 40 % are our choice", "`cost::Speed::UTILIZATION`, which the rows of both sources hold"),
    ("Llama 3 405B", "the name of a model"),
    ("at 16 bytes a parameter", "the first row of the table"),
    ("90 to 97.5 %", "half of the speed-up that is quoted"),
    ("at stages 1 and 2", "the names of stages"),
    ("at stages 0 and 1", "the names of stages"),
    ("At stages 1 and 2 there are two of them, which makes 2 GB", "two buckets of the quoted size, 2 bytes each"),
    ("10 of the 34", "the first term of the equation after the sentence"),
    ("counted from 0", "the number of the first stage"),
    ("138,357,544 parameters", "counted by the library, `tests/course_networks.rs`"),
    ("keeps 2.17 GiB and has 2.06 GiB", "counted by the library, `tests/course_networks.rs`"),
    ("(25,557,032", "counted by the library, `tests/course_networks.rs`"),
    ("0.38 GiB of states and keeps 2.54 GiB", "counted by the library, `tests/course_networks.rs`"),
    ("The 34 comes from", "the sum of the three rows in the sentence"),
    ("the workshop’s 34 and 5", "the two of its formula"),
];

/// The division of the first question, which `tests/course_words.rs` computes.
const DIVISION: &str = "80 GiB less a tenth is 72, less 13.0 of states is 59.0; at 17.0 GiB a sequence that makes 3.";

#[test]
fn numbers_beside_a_source_are_quoted_or_computed() {
    let mut found = Vec::new();
    let mut used = BTreeSet::new();
    for Passage { file, text, .. } in passages() {
        for sentence in sentences(&text) {
            if !sentence.contains(&format!("{}#source-", LINK[0])) {
                continue;
            }
            for number in stated(&sentence) {
                let known = COMPUTED.iter().position(|(part, _)| part.contains(&number) && sentence.contains(part));
                match known {
                    Some(at) => _ = used.insert(at),
                    None if sentence.ends_with(DIVISION) => {}
                    None => found.push(format!("{file}: {number} in “{}”", spoken(&sentence))),
                }
            }
        }
    }
    none(found);
    assert_eq!(used.len(), COMPUTED.len(), "an exception is no longer needed");
}

/// Words before a number that names a place in a work.
const PLACES: [&str; 9] =
    ["section", "sections", "equation", "equations", "table", "figure", "takeaway", "lecture", "stage"];

/// The numbers that a sentence states: none of a citation or a place in it, of a formula, of code, of a row of quoted
/// numbers, of a year, of a name such as fp16, 7B or A100, and none that counts the bits of a format.
fn stated(sentence: &str) -> Vec<String> {
    let (_, text) = parted(sentence, LINK, "");
    let (_, text) = parted(&text, FORMULA, "x");
    let (_, text) = parted(&text, CODE, "x");
    let is_mark = |sign: char| !sign.is_alphanumeric();
    let all: Vec<&str> = text.split_whitespace().collect();
    let mut found = Vec::new();
    for (at, word) in all.iter().enumerate() {
        let bare = word.trim_matches(is_mark);
        let is_number = bare.starts_with(|first: char| first.is_ascii_digit()) && !bare.contains(char::is_alphabetic);
        let is_year = bare.parse().is_ok_and(|year: u32| (1990..=2030).contains(&year));
        let is_place = at > 0 && PLACES.contains(&all[at - 1].trim_matches(is_mark));
        // Of “16 and 32 bits” both.
        let counts_bits = [1, 3].iter().any(|step| all.get(at + step).is_some_and(|next| next.starts_with("bits")));
        let is_quoted = word.contains("{{") || word.contains("}}");
        if is_number && !is_year && !is_place && !counts_bits && !is_quoted {
            found.push(bare.to_owned());
        }
    }
    found
}

/// Greek letters that stand for something; other commands of TeX write words, signs and spaces.
const GREEK: [&str; 12] =
    ["alpha", "beta", "eta", "theta", "sigma", "Psi", "lambda", "epsilon", "mu", "phi", "tau", "gamma"];

/// The symbols of a formula, each a letter. One with an index in words is named by that index, and so is none.
fn symbols(tex: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = tex;
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        let (symbol, after) = if first == '\\' {
            let name = &after[..after.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(after.len())];
            let after = &after[name.len()..];
            if ["text", "mathrm"].contains(&name) {
                (None, after.split_once('}').map_or("", |(_, after)| after))
            } else {
                (GREEK.contains(&name).then(|| name.to_owned()), after)
            }
        } else {
            (first.is_ascii_alphabetic().then(|| first.to_string()), after)
        };
        let is_named = ["_\\text", "_\\max", "_\\min", "_{\\text"].iter().any(|index| after.starts_with(index));
        found.extend(symbol.filter(|_| !is_named));
        rest = after;
    }
    found
}

/// Words beside a symbol that say nothing of what it is.
const EMPTY: [&str; 44] = [
    "a", "all", "and", "are", "as", "at", "be", "beyond", "but", "by", "each", "every", "for", "from", "has", "have",
    "in", "is", "it", "its", "makes", "no", "not", "of", "on", "only", "or", "so", "some", "than", "that", "the",
    "then", "this", "to", "twice", "what", "when", "where", "which", "while", "with", "without", "needs",
];

/// The symbols that a passage names: alone or with their value beside a word that says what they are, as in “the
/// optimizer $f$” and “$P$ stages”.
fn named(passage: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let says = |word: Option<&str>| {
        word.is_some_and(|word| {
            let word = word.trim_matches(|sign: char| !sign.is_alphanumeric()).to_lowercase();
            word.len() > 2
                && word.chars().all(|letter| letter.is_alphabetic() || letter == '-')
                && !EMPTY.contains(&word.as_str())
        })
    };
    let mut rest = passage;
    let mut before = String::new();
    while let Some((text, after)) = rest.split_once(FORMULA[0]) {
        let (tex, after) = after.split_once(FORMULA[1]).expect("every formula is closed");
        // “$m$ and $v$” are named together.
        if !matches!(text.trim(), "and" | "," | "or") {
            before = text.to_owned();
        }
        let whole = tex.split(" = ").next().unwrap_or(tex);
        let start = whole.split(['\\', '<', '^', '_']).next().unwrap_or_default();
        let here = symbols(if start.trim().is_empty() { whole } else { start });
        let next = after.split_whitespace().next().filter(|_| after.starts_with([' ', '-', ':']));
        let last = before.split_whitespace().last().filter(|_| before.ends_with(' '));
        if here.len() == 1 && (says(last) || says(next)) {
            found.extend(here);
        }
        rest = after;
    }
    found
}

/// Letters that are no quantities, with what they are.
const LETTERS: [(&str, &str); 2] =
    [("O", "the order of growth, as in O(L)"), ("o", "an index: of the output of a layer")];

#[test]
fn every_symbol_is_in_the_table_of_symbols_or_named_on_its_page() {
    let passages = passages();
    let table: BTreeSet<String> = passages
        .iter()
        .filter(|passage| passage.file == "questions/03_symbols.md" && !passage.flows)
        .flat_map(|passage| formulas(&passage.text))
        .flat_map(|tex| symbols(&tex))
        .collect();
    assert!(table.len() > 7, "{table:?}");
    let page = |file: &str| file.split('/').next().unwrap_or_default().to_owned();
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for passage in &passages {
        known.entry(page(&passage.file)).or_default().extend(named(&passage.text));
    }
    let mut found = BTreeMap::new();
    for Passage { file, text, .. } in &passages {
        for tex in formulas(text) {
            for symbol in symbols(&tex) {
                let is_known = table.contains(&symbol)
                    || known[&page(file)].contains(&symbol)
                    || LETTERS.iter().any(|(letter, _)| *letter == symbol);
                if !is_known {
                    found.entry(format!("/{} {symbol}", page(file))).or_insert_with(|| format!("{file}: {tex}"));
                }
            }
        }
    }
    none(found.into_iter().map(|(symbol, place)| format!("{symbol} in {place}")).collect());
}
