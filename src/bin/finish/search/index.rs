//! What can be found: models, GPUs, settings, sections, terms and questions, each with the way to it.

use std::collections::BTreeSet;

use bmax::catalogue::{DEVICES, DeviceGroup, DeviceRow, MODELS, ModelGroup, ModelRow};
use bmax::link::{VERSION, model_word};
use bmax::{Field, Scenario, format, nearest, number, setting};
use serde_json::{Value, json};

use super::super::Result;
use super::super::markup::unescaped;
use super::super::pages::address;
use super::super::text::{Page, Places, plain};

/// Inputs whose field is not one of the calculator's, and the place that has it.
const ELSEWHERE: [(&str, &str); 6] = [
    ("method", "method"),
    ("target", "planner-target"),
    ("unit", "planner-unit"),
    ("chart_gpus", "chart-gpus"),
    ("chart_recompute", "chart-recomputation"),
    ("chart_axis", "chart-axis"),
];

/// The figure that has the fields of all other inputs.
const FORM: &str = "calculator";

/// Where a model that is not listed is pasted.
const OWN_MODEL: &str = "config-help";

/// All that can be found. An entry is where it leads, its name, what is shown behind that, and further words that find it;
/// a model or a GPU leads to its word in a link.
pub fn index(pages: &[Page], places: &Places) -> Result<Value> {
    let groups = [
        ("Models", "model", models()),
        ("GPUs", "gpu", devices()),
        ("Settings", "", settings(places)?),
        ("Sections", "", sections(pages)),
        ("Terms", "", glossary(pages)),
        ("Questions", "", asked(pages)),
    ];
    let groups: Vec<Value> = groups
        .into_iter()
        .map(|(name, key, entries)| json!({ "name": name, "key": key, "entries": entries }))
        .collect();
    let default = Scenario::default();
    Ok(json!({
        "version": VERSION.to_string(),
        "groups": groups,
        "own": way(places, OWN_MODEL)?,
        "inputs": { "model": of_the_model(), "gpu": of_the_device() },
        "default": { "model": model_word(default.model.origin), "gpu": default.device.origin },
    }))
}

fn entry(to: impl Into<String>, name: &str, note: &str, words: &str) -> Value {
    json!([to.into(), name, note, words])
}

fn models() -> Vec<Value> {
    let in_group = |group: &'static ModelGroup| MODELS.iter().filter(move |row| row.group == *group);
    let written = |row: &ModelRow| {
        let size = format!("{} billion parameters", format::billions(row.model.parameters));
        entry(row.slug, row.name, &size, row.group.label())
    };
    ModelGroup::ALL.iter().flat_map(in_group).map(written).collect()
}

fn devices() -> Vec<Value> {
    let in_group = |group: &'static DeviceGroup| DEVICES.iter().filter(move |row| row.group == *group);
    let written = |row: &DeviceRow| {
        let memory = format!("{} GiB", number::plain((f64::from(row.memory_mib) / 102.4).round() / 10.0));
        entry(row.slug, row.name, &memory, row.group.label())
    };
    DeviceGroup::ALL.iter().flat_map(in_group).map(written).collect()
}

/// The numbers with what each is, and the words with what each may be.
fn settings(places: &Places) -> Result<Vec<Value>> {
    let of = |key: &'static str, name: &str, note: &str, symbol: &'static str| {
        let called: Vec<&str> = [key, symbol].into_iter().chain(nearest::called(key)).collect();
        Ok(entry(field(places, key)?, name, note, &called.join(" ")))
    };
    let numbers = Field::ALL.iter().map(|field| {
        let bound = field.bound();
        of(bound.key, bound.name, field.help(), bound.symbol)
    });
    let words = setting::ALL.iter().map(|word| {
        let options: Vec<&str> = word.options.iter().map(|option| option.label).collect();
        of(word.key, word.name, &options.join(", "), "")
    });
    numbers.chain(words).collect()
}

/// The way to the field of an input. One that is folded away is named all the same: its figure unfolds it.
fn field(places: &Places, key: &str) -> Result<String> {
    match ELSEWHERE.iter().find(|(input, _)| *input == key) {
        Some((_, id)) => way(places, id),
        None => Ok(format!("{}-{key}", way(places, FORM)?)),
    }
}

/// The way to a place, seen from the first page.
fn way(places: &Places, id: &str) -> Result<String> {
    let page = places.page_of(id).ok_or_else(|| format!("search leads to #{id}, which no page has"))?;
    let folder = if page.is_empty() { String::new() } else { format!("{page}/") };
    Ok(format!("{folder}#{id}"))
}

fn sections(pages: &[Page]) -> Vec<Value> {
    let each = pages.iter().flat_map(|page| page.sections.iter().map(move |section| (page, section)));
    let written = each.map(|(page, section)| {
        let headings = between(&section.html, "<h", "</h")
            .map(|heading| read(heading.split_once('>').map_or("", |(_, text)| text)));
        let words = headings.collect::<Vec<_>>().join(" ");
        entry(format!("{}#{}", address(page), section.id), &unescaped(&section.label), &page.name, &words)
    });
    written.collect()
}

fn glossary(pages: &[Page]) -> Vec<Value> {
    let written = |(page, id, rest): (&Page, &str, &str)| {
        let title = rest.split("</dt>").next().unwrap_or_default();
        let meaning = between(rest, "<dd>", "</dd>").next().unwrap_or_default();
        entry(format!("{}#{id}", address(page)), &read(title), &read(meaning), "")
    };
    marked(pages, "<dt id=\"").into_iter().filter(|(_, id, _)| id.starts_with("term-")).map(written).collect()
}

fn asked(pages: &[Page]) -> Vec<Value> {
    let written = |(page, id, rest): (&Page, &str, &str)| {
        let title = between(rest, "<summary>", "</summary>").next().unwrap_or_default();
        entry(format!("{}#{id}", address(page)), &read(title), "", "")
    };
    marked(pages, "<details class=\"faq\" id=\"").into_iter().map(written).collect()
}

/// Every element of the text whose start tag begins so: its page, its id, and what stands behind the tag.
fn marked<'a>(pages: &'a [Page], start: &str) -> Vec<(&'a Page, &'a str, &'a str)> {
    let mut found = Vec::new();
    for page in pages {
        for section in &page.sections {
            let parts = section.html.split(start).skip(1);
            found.extend(parts.filter_map(|part| part.split_once("\">")).map(|(id, rest)| (page, id, rest)));
        }
    }
    found
}

/// What stands between these, again and again.
fn between<'a>(text: &'a str, start: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(start).skip(1).filter_map(move |rest| Some(rest.split_once(end)?.0))
}

/// The words of markup, as they are read.
fn read(html: &str) -> String {
    unescaped(&plain(html)).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The default with another value of each input in turn, and the input's parameter.
fn others() -> impl Iterator<Item = (&'static str, Scenario)> {
    let default = Scenario::default();
    let numbers = Field::ALL.iter().flat_map(move |field| {
        let bound = field.bound();
        let values =
            [bound.min, bound.max].into_iter().filter_map(move |value| default.with_number(*field, value).ok());
        values.map(move |other| (bound.key, other))
    });
    let words = setting::ALL.iter().flat_map(move |word| {
        let options = word.options.iter().filter_map(move |option| word.read(option.key, default).ok());
        options.map(move |other| (word.key, other))
    });
    numbers.chain(words)
}

/// The parameters that describe a model: a link that names another one says them no more.
fn of_the_model() -> BTreeSet<&'static str> {
    let default = Scenario::default().model;
    others().filter(|(_, other)| other.model != default).map(|(key, _)| key).collect()
}

/// The parameters that a GPU of the catalogue brings with it.
fn of_the_device() -> BTreeSet<&'static str> {
    let default = Scenario::default();
    let is_brought = |other: &Scenario| {
        other.device != default.device
            && DEVICES.iter().all(|row| row.apply(*other).device == row.apply(default).device)
    };
    let mut kept: BTreeSet<&str> = BTreeSet::new();
    let mut brought = BTreeSet::new();
    for (key, other) in others().filter(|(_, other)| other.device != default.device) {
        if is_brought(&other) {
            brought.insert(key)
        } else {
            kept.insert(key)
        };
    }
    &brought - &kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    /// The text of the site, and what can be found in it.
    fn found() -> (Vec<Page>, Value) {
        let pages = text::site();
        // The place of a figure that is rendered elsewhere.
        let form = ELSEWHERE.map(|(_, id)| id).into_iter().chain([OWN_MODEL]);
        let form: String = form.map(|id| format!("<p id=\"{id}\"></p>")).collect();
        let places = Places::of(&pages).with_figures(&pages, &[(FORM, &form)]);
        let index = index(&pages, &places).expect("every way leads somewhere");
        (pages, index)
    }

    /// The entries of a group: where each leads, and what it is called.
    fn entries<'a>(index: &'a Value, name: &str) -> Vec<[&'a str; 4]> {
        let groups = index["groups"].as_array().expect("groups");
        let group = groups.iter().find(|group| group["name"] == name).expect("a group of this name");
        let entries = group["entries"].as_array().expect("entries").iter();
        entries.map(|entry| [0, 1, 2, 3].map(|at| entry[at].as_str().expect("a text"))).collect()
    }

    #[test]
    fn every_model_and_gpu_of_the_catalogue_is_found_by_its_name_and_word() {
        let (_, index) = found();
        let [models, gpus] = ["Models", "GPUs"].map(|name| entries(&index, name));
        assert_eq!((models.len(), gpus.len()), (MODELS.len(), DEVICES.len()));
        assert!(MODELS.iter().all(|row| models.iter().any(|[slug, name, ..]| (*slug, *name) == (row.slug, row.name))));
        assert!(DEVICES.iter().all(|row| gpus.iter().any(|[slug, name, ..]| (*slug, *name) == (row.slug, row.name))));
        let card = gpus.iter().find(|[slug, ..]| *slug == "rtx-4090").expect("it is listed");
        // nvidia-smi reports 24,564 MiB.
        assert_eq!(card[2], "24 GiB");
    }

    #[test]
    fn every_input_is_found_by_its_name_its_parameter_and_what_others_call_it() {
        let (_, index) = found();
        let settings = entries(&index, "Settings");
        let inputs: Vec<(&str, &str)> = Field::ALL
            .iter()
            .map(|field| (field.bound().key, field.bound().name))
            .chain(setting::ALL.iter().map(|word| (word.key, word.name)))
            .collect();
        assert_eq!(settings.len(), inputs.len());
        for (key, name) in inputs {
            let is_it = |[_, called, _, words]: &[&str; 4]| *called == name && words.split(' ').next() == Some(key);
            assert!(settings.iter().any(is_it), "{key}");
        }
        let recompute = settings.iter().find(|[to, ..]| *to == "#calculator-recompute").expect("its field");
        assert!(recompute[3].contains("checkpointing"), "{recompute:?}");
        assert!(settings.iter().any(|[to, name, ..]| *to == "#planner-target" && *name == "Target global batch"));
    }

    #[test]
    fn every_section_term_and_question_is_found_at_its_place() {
        let (pages, index) = found();
        let sections = entries(&index, "Sections");
        for page in &pages {
            for section in &page.sections {
                let to = format!("{}#{}", address(page), section.id);
                assert!(sections.iter().any(|[place, ..]| *place == to), "{to}");
            }
        }
        let source =
            |name: &str| std::fs::read_to_string(text::here(&format!("src/pages/questions/{name}"))).expect("text");
        let written = source("02_questions.md");
        let asked: Vec<&str> = written.lines().filter_map(|line| line.strip_prefix("#### ")).collect();
        let questions = entries(&index, "Questions");
        assert_eq!(questions.iter().map(|[_, title, ..]| *title).collect::<Vec<_>>(), asked);
        assert!(asked.len() >= 10);
        let glossary = source("03_symbols.md");
        let (_, listed) = glossary.split_once("```terms").expect("the glossary");
        let terms = entries(&index, "Terms");
        assert_eq!(terms.len(), listed.matches("\n: ").count());
        let zero = terms.iter().find(|[_, name, ..]| *name == "ZeRO stage").expect("a term");
        assert_eq!(zero[0], "questions/#term-zero-stage");
        assert!(zero[2].starts_with("which of optimizer state (1)"), "{zero:?}");
    }

    #[test]
    fn no_two_entries_of_a_group_lead_to_one_place() {
        let (_, index) = found();
        for name in ["Models", "GPUs", "Settings", "Sections", "Terms", "Questions"] {
            let all: Vec<&str> = entries(&index, name).iter().map(|[to, ..]| *to).collect();
            let places: BTreeSet<&str> = all.iter().copied().collect();
            assert_eq!(places.len(), all.len(), "{name}");
        }
    }

    #[test]
    fn another_model_takes_its_shape_with_it_and_leaves_the_training_alone() {
        let model = of_the_model();
        assert!(["hidden", "layers", "params", "mlp", "experts", "vision"].iter().all(|key| model.contains(key)));
        assert!(["s", "b", "recompute", "dropout", "precision", "gpus"].iter().all(|key| !model.contains(key)));
        let device = of_the_device();
        assert!(device.contains("mem") && device.contains("driver"), "{device:?}");
        assert!(["gpus", "zero", "headroom", "segments"].iter().all(|key| !device.contains(key)), "{device:?}");
    }

    #[test]
    fn a_place_that_no_page_has_stops_the_build() {
        let pages = text::site();
        assert!(index(&pages, &Places::of(&pages)).is_err_and(|said| said.contains("no page has")));
    }
}
