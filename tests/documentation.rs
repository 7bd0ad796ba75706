//! README.md and `docs/` are a contract too: what they say must be what the program does.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use bmax::catalogue::{DEVICES, MODELS};
use bmax::embed::Embed;
use bmax::export::Target;
use bmax::{Field, link};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

const README: &str = include_str!("../README.md");
const LINKS: &str = include_str!("../docs/links.md");
const FIGURES: &str = include_str!("../docs/figures.md");
const EMBEDDING: &str = include_str!("../docs/embedding.md");
const EXPORTS: &str = include_str!("../docs/exports.md");
const RUST: &str = include_str!("../docs/rust.md");
const ACCURACY: &str = include_str!("../docs/accuracy.md");

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The rows of the table with this head, without the line below it.
fn rows<'a>(document: &'a str, head: &str) -> impl Iterator<Item = &'a str> {
    let rest = document.split(head).nth(1).expect("a table");
    rest.lines().skip(2).take_while(|line| line.starts_with('|'))
}

/// The documents of `docs/`, each with its name and its text.
fn documents() -> Vec<(String, String)> {
    documents_in("docs")
}

fn documents_in(folder: &str) -> Vec<(String, String)> {
    let files = fs::read_dir(here(folder)).expect("the folder").map(|entry| entry.expect("an entry").path());
    let documents = files.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let named = |path: PathBuf| {
        let name = path.file_name().expect("a name").to_str().expect("UTF-8").to_owned();
        (format!("{folder}/{name}"), fs::read_to_string(path).expect("a text"))
    };
    documents.map(named).collect()
}

/// Every query of a link or a frame in a text, without `?embed=` alone, which names what frames have.
fn queries(text: &str) -> impl Iterator<Item = &str> {
    let after = text.split('?').skip(1).filter(|rest| rest.starts_with("v=") || rest.starts_with("embed="));
    let queries = after.filter_map(|rest| rest.split(|end: char| end.is_whitespace() || "`\"#)".contains(end)).next());
    queries.filter(|query| *query != "embed=")
}

#[test]
fn a_rust_file_that_a_readme_of_tests_names_is_in_its_folder_or_at_that_path() {
    let folders = fs::read_dir(here("tests")).expect("the folder").map(|entry| entry.expect("an entry").path());
    let mut named = 0;
    for folder in folders.filter(|path| path.join("README.md").is_file()) {
        let text = fs::read_to_string(folder.join("README.md")).expect("a text");
        for file in quoted(&text).filter(|file| file.ends_with(".rs") && !file.contains(char::is_whitespace)) {
            assert!(folder.join(file).is_file() || here(file).is_file(), "{}: there is no {file}", folder.display());
            named += 1;
        }
    }
    assert!(named >= 5, "{named}");
}

#[test]
fn the_readme_is_short_and_says_of_every_document_what_that_says_of_itself() {
    assert!(README.lines().count() <= 110, "{} lines are no longer an overview", README.lines().count());
    let documents = documents();
    assert!(documents.len() > 10);
    for (path, text) in documents {
        let mut lines = text.lines();
        assert!(lines.next().is_some_and(|line| line.starts_with("# ")), "{path} begins with its title");
        let answers = lines.find(|line| !line.is_empty()).expect("a first line");
        let row = format!("| [{path}]({path}) | {answers} |");
        assert!(README.contains(&row), "README.md lacks {row}");
    }
}

/// The fragment by which a heading of Markdown is linked to.
fn fragment(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    kept.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_')).collect()
}

/// The targets of the links of a document, and the fragments of its headings.
fn anchors(text: &str) -> (Vec<String>, BTreeSet<String>) {
    let (mut targets, mut fragments, mut heading) = (Vec::new(), BTreeSet::new(), None);
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                targets.push(dest_url.into_string());
            }
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&words);
                }
            }
            Event::End(TagEnd::Heading(_)) => fragments.extend(heading.take().as_deref().map(fragment)),
            _ => {}
        }
    }
    (targets, fragments)
}

#[test]
fn every_link_within_the_repository_leads_to_a_file_and_a_heading() {
    let named = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"];
    let read = |path: &str| (path.to_owned(), fs::read_to_string(here(path)).expect("it is committed"));
    let mut followed = 0;
    let documents = ["docs", "docs/development", "docs/decisions"].into_iter().flat_map(documents_in);
    for (path, text) in named.map(read).into_iter().chain(documents) {
        for target in anchors(&text).0.into_iter().filter(|target| !target.contains("://")) {
            let (file, fragment) = target.split_once('#').unwrap_or((&target, ""));
            let file = if file.is_empty() { here(&path) } else { here(&path).with_file_name("").join(file) };
            assert!(file.exists(), "{path}: nothing is at {target}");
            if !fragment.is_empty() {
                let there = anchors(&fs::read_to_string(&file).expect("a text")).1;
                assert!(there.contains(fragment), "{path}: {target} is none of {there:?}");
            }
            followed += 1;
        }
    }
    assert!(followed > 40, "{followed} links");
}

#[test]
fn the_map_of_the_code_is_short_and_leads_to_all_that_developers_read() {
    let map = fs::read_to_string(here("ARCHITECTURE.md")).expect("it is committed");
    assert!(map.len() <= 8_000, "{} bytes", map.len());
    let targets = anchors(&map).0;
    for (path, _) in ["docs/development", "docs/decisions"].into_iter().flat_map(documents_in) {
        assert!(targets.contains(&path), "{path}");
    }
}

#[test]
fn the_document_on_links_lists_every_model_and_gpu_by_its_slug() {
    for slug in MODELS.iter().map(|row| row.slug).chain(DEVICES.iter().map(|row| row.slug)) {
        assert!(LINKS.contains(&format!("`{slug}`")), "docs/links.md lacks `{slug}`");
    }
}

#[test]
fn every_link_and_frame_that_is_shown_is_read_without_a_complaint() {
    let mut shown = 0;
    for (path, text) in documents().into_iter().chain([("README.md".to_owned(), README.to_owned())]) {
        for query in queries(&text) {
            // Readers paste what follows an ampersand in HTML as `&amp;`.
            let query = query.replace("&amp;", "&");
            assert_eq!(link::decode(&query).notices, [], "{path}: {query}");
            assert_eq!(Embed::read(&query).1, [], "{path}: {query}");
            shown += 1;
        }
    }
    assert!(shown >= 5, "{shown} examples");
}

#[test]
fn the_document_on_links_shows_only_letters_and_units_that_are_read() {
    let mut shown = 0;
    for row in rows(LINKS, "| number | may be written | and is |") {
        let cells: Vec<_> = row.split('|').collect();
        for key in quoted(cells[1]) {
            let field = Field::from_key(key).unwrap_or_else(|| panic!("{key} is no number"));
            for example in quoted(cells[2]) {
                assert!(field.typed(example).is_ok(), "{key}={example}");
                shown += 1;
            }
        }
    }
    assert!(shown > 10, "{shown} examples");
}

/// The Markdown of every section of the site.
fn sections() -> String {
    let files = |folder: PathBuf| {
        let entries = fs::read_dir(folder).expect("the text").map(|entry| entry.expect("an entry").path());
        entries.collect::<Vec<_>>()
    };
    let pages = files(here("src/pages"));
    let texts = pages.into_iter().flat_map(files).filter(|file| file.extension().is_some_and(|ending| ending == "md"));
    texts.map(|file| fs::read_to_string(file).expect("text")).collect()
}

#[test]
fn the_document_on_figures_names_each_of_the_text() {
    let text = sections();
    let mut names: Vec<&str> = text.split("```figure ").skip(1).filter_map(|rest| rest.lines().next()).collect();
    assert!(names.len() > 25, "{names:?}");
    let listed = rows(FIGURES, "| page | figures |").filter_map(|row| row.split('|').nth(2));
    let mut listed: Vec<&str> = listed.flat_map(quoted).collect();
    names.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, names);
}

#[test]
fn the_document_on_embedding_lists_every_parameter_of_embeds() {
    for key in bmax::embed::KEYS {
        assert!(EMBEDDING.contains(&format!("| `{key}` | ")), "docs/embedding.md lacks `{key}`");
    }
    let (least, most) = bmax::embed::HEIGHTS;
    assert!(EMBEDDING.contains(&format!("from {least} to {most}, in CSS pixels")));
}

#[test]
fn the_frames_that_are_shown_show_a_figure_with_and_without_javascript() {
    for (path, text) in [("README.md", README), ("docs/embedding.md", EMBEDDING)] {
        let start = text.find("?embed=").expect("an example");
        let (query, fragment) =
            text[start..].split('"').next().and_then(|address| address.split_once('#')).expect("both");
        let (embed, notices) = Embed::read(query);
        let figure = embed.expect("an embed").figure;
        assert_eq!((notices, link::decode(query).notices), (vec![], vec![]), "{path}");
        assert_eq!(fragment, format!("embed-{figure}"), "{path}");
        assert!(sections().contains(&format!("```figure {figure}\n")), "{path}");
    }
}

#[test]
fn the_document_on_exports_lists_every_target_with_its_file_and_no_other() {
    let listed: Vec<_> = rows(EXPORTS, "| target | file | what it is | read in tests by |").collect();
    assert_eq!(listed.len(), Target::ALL.len());
    for target in Target::ALL {
        let start = format!("| `{}` | `{}` | ", target.key(), target.file_name());
        assert!(listed.iter().any(|row| row.starts_with(&start)), "docs/exports.md lacks {start}");
    }
}

#[test]
fn the_readme_asks_the_command_line_only_what_it_understands() {
    let asked: Vec<&str> = README.split('\'').filter(|text| text.starts_with("model=")).collect();
    assert_eq!(asked.len(), 2);
    for question in asked {
        assert_eq!(link::decode(question).notices, [], "{question}");
    }
}

#[test]
fn the_picture_of_the_readme_shows_the_largest_micro_batch_and_its_words_say_the_same() {
    let query = queries(README).find(|query| query.starts_with("v=")).expect("a link");
    let scenario = link::decode(query).scenario;
    assert_eq!((bmax::b_max(&scenario).batch(), scenario.recipe.batch), (Some(4), 4), "a fifth does not fit");
    for theme in ["light", "dark"] {
        let path = format!("docs/memory-{theme}.svg");
        assert!(README.contains(&format!("=\"{path}\"")), "README.md does not show {path}");
        let file = fs::read_to_string(here(&path)).expect("make generate writes it");
        let of = |tag: &str| {
            let rest = file.split(&format!("<{tag}>")).nth(1).and_then(|rest| rest.split("</").next());
            rest.expect(tag).to_owned()
        };
        assert!(README.contains(&format!("alt=\"{}: {}\"", of("title"), of("desc"))), "{path}");
    }
}

/// The example of docs/rust.md, as it is written there.
fn longer_sequences() -> Result<Option<u32>, Box<dyn Error>> {
    use bmax::{Field, Recomputation, Scenario, b_max, catalogue, setting::Word};

    let llama = catalogue::model("llama-3.1-8b").expect("listed").apply(Scenario::default());
    let long = llama.with_number(Field::Sequence, 8192.0)?.with_word(Word::Recomputation(Recomputation::Full));
    println!("{:?}", b_max(&long).batch());
    Ok(b_max(&long).batch())
}

/// The example of README.md, as it is written there.
fn in_three_lines() -> Result<(), Box<dyn Error>> {
    use bmax::{Field, Scenario, b_max, catalogue};
    let llama = catalogue::model("llama-3.1-8b").expect("listed").apply(Scenario::default());
    println!("{:?}", b_max(&llama.with_number(Field::Sequence, 8192.0)?).batch());
    Ok(())
}

#[test]
fn the_examples_in_rust_are_compiled_and_run_here_to_the_letter() {
    let compiled: BTreeSet<&str> = include_str!("documentation.rs").lines().map(str::trim).collect();
    for text in [README, RUST] {
        let example = text.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
        for line in example.lines() {
            assert!(compiled.contains(line.trim()), "no test compiles {line}");
        }
    }
    assert!(longer_sequences().expect("8,192 is in range").is_some());
    in_three_lines().expect("8,192 is in range");
}

#[test]
fn the_document_on_accuracy_says_what_the_report_says() {
    let report = fs::read_to_string(here("tests/vectors/REPORT.md")).expect("it is committed");
    let section = |title: &str| {
        let rest = report.split(&format!("\n## {title}\n")).nth(1).expect("a section");
        let rest = rest.split("\n## ").next().expect("its text");
        // Setting, rows, median, nine of ten, worst.
        let rows = rest.lines().filter(|line| line.starts_with('|')).map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            [cells[1], cells[2], cells[3], cells[4], cells[6]].map(|cell| cell.replace('-', "−"))
        });
        rows.skip(2).collect::<Vec<_>>()
    };
    let live = section("Live tensors, by setting");
    let told: Vec<_> = rows(ACCURACY, "| setting | rows | median error | nine of ten within | worst |").collect();
    assert_eq!(told, live.iter().map(|cells| format!("| {} |", cells.join(" | "))).collect::<Vec<_>>());
    let of = |title: &str, setting: &str| {
        let found = section(title).into_iter().find(|cells| cells[0] == setting);
        found.unwrap_or_else(|| panic!("{title} has no {setting}"))
    };
    // Line breaks are not part of a sentence.
    let words = ACCURACY.split_whitespace().collect::<Vec<_>>().join(" ");
    let [_, rows, median, most, _] = of("What the driver shows, by setting", "DeepSpeed");
    let driver = format!("driver shows ({rows} rows) is {median} off in the median, nine of ten within {most}.");
    assert!(words.contains(&driver), "{driver}");
    let [_, rows, median, ..] = of("What the allocator holds, by setting", "LoRA and QLoRA");
    let allocator = format!("{rows} rows of LoRA and QLoRA hold {median} more in the median");
    assert!(words.contains(&allocator), "{allocator}");
}
