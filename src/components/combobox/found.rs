//! What a list has for what was typed: a pure function of the text and of what is in use.

use bmax::catalogue::{self, DEVICES, DeviceGroup, MODELS, ModelGroup};
use bmax::{format, nearest};

use super::listed::{Current, Listed};

/// Those that most readers come with, the most usual first. They stand above all others while nothing is typed.
const POPULAR_MODELS: [&str; 8] = [
    "llama-3.1-8b",
    "qwen2.5-7b",
    "qwen3-8b",
    "llama-3.2-1b",
    "mistral-7b",
    "gemma-2-9b",
    "llama-3.1-70b",
    "qwen2.5-0.5b",
];

/// The same of GPUs.
const POPULAR_GPUS: [&str; 8] = ["rtx-4090", "rtx-3090", "a100-80", "h100-80", "h200", "rtx-5090", "l40s", "t4"];

/// What can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// The row with this word.
    Row(&'static str),
    /// A model that is in no list, by its `config.json`.
    OwnModel,
}

/// A row of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What choosing it does.
    pub offer: Offer,
    /// Its name.
    pub name: String,
    /// What decides, at its right: parameters or memory.
    pub note: String,
}

/// What the list has.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing {
    /// The rows under their headings.
    pub groups: Vec<(String, Vec<Row>)>,
    /// The row that the list begins with, which Enter chooses; a name that is only alike is never chosen so.
    pub first: Option<usize>,
    /// How many were found, as it is spoken.
    pub spoken: String,
    /// What is said of a text that was left without a choice.
    pub unchosen: String,
}

/// A row of the catalogue.
struct Known {
    slug: &'static str,
    name: &'static str,
    group: &'static str,
    /// How many words its name has.
    length: usize,
    /// The words of its name and of its group, and all of it in one piece, in small letters.
    words: Vec<String>,
    whole: String,
}

impl Listed {
    fn known(self) -> Vec<Known> {
        let of = |slug: &'static str, name: &'static str, group: &'static str| {
            let (length, words) = (words(name).len(), words(&format!("{name} {group}")));
            Known { slug, name, group, length, whole: words.concat() + " " + slug, words }
        };
        match self {
            Self::Model => {
                let rows = |group: &'static ModelGroup| MODELS.iter().filter(move |row| row.group == *group);
                ModelGroup::ALL.iter().flat_map(rows).map(|row| of(row.slug, row.name, row.group.label())).collect()
            }
            Self::Gpu => {
                let rows = |group: &'static DeviceGroup| DEVICES.iter().filter(move |row| row.group == *group);
                DeviceGroup::ALL.iter().flat_map(rows).map(|row| of(row.slug, row.name, row.group.label())).collect()
            }
        }
    }

    const fn popular(self) -> &'static [&'static str] {
        match self {
            Self::Model => &POPULAR_MODELS,
            Self::Gpu => &POPULAR_GPUS,
        }
    }

    fn row(self, known: &Known) -> Row {
        let (name, note) = match self {
            Self::Model => {
                let size = catalogue::model(known.slug).map(|row| parameters(row.model.parameters));
                (known.name.to_owned(), size.unwrap_or_default())
            }
            Self::Gpu => apart(known.name),
        };
        Row { offer: Offer::Row(known.slug), name, note }
    }
}

impl Listing {
    /// What is listed for a text; `used` are the words of what was in use before, the last first.
    pub fn of(listed: Listed, text: &str, current: Current, used: &[&'static str]) -> Self {
        let known = listed.known();
        let typed = words(text);
        if typed.is_empty() {
            return Self::of_all(listed, &known, current, used);
        }
        let mut found: Vec<(u32, &Known)> =
            known.iter().filter_map(|known| Some((known.worth(&typed)?, known))).collect();
        // A stable sort: of two that fit as well, the shorter name first, then the order of the catalogue.
        found.sort_by_key(|(worth, known)| (*worth, known.length));
        let rows: Vec<Row> = found.iter().map(|(_, known)| listed.row(known)).collect();
        let (count, plural, text) = (rows.len(), listed.plural(), text.trim());
        if count == 0 {
            return Self::of_nearest(listed, &known, text, current);
        }
        let title = format!("{count} of {} {plural}", known.len());
        let unchosen =
            format!("“{text}” is in {count} of the {plural}, and none was chosen: {} stays in use.", current.text());
        Self { spoken: title.clone(), first: Some(0), unchosen, groups: with_own(listed, vec![(title, rows)]) }
    }

    /// All rows: what was in use and what most come with above the others.
    fn of_all(listed: Listed, known: &[Known], current: Current, used: &[&'static str]) -> Self {
        let by_word =
            |slug: &&'static str| known.iter().find(|known| known.slug == *slug).map(|known| listed.row(known));
        let usual = listed.popular().iter().filter(|slug| !used.contains(slug));
        let mut groups = vec![
            ("Used before".to_owned(), used.iter().filter_map(by_word).collect::<Vec<_>>()),
            ("Often asked for".to_owned(), usual.filter_map(by_word).collect()),
        ];
        for known in known {
            match groups.last_mut() {
                Some((title, rows)) if title == known.group => rows.push(listed.row(known)),
                _ => groups.push((known.group.to_owned(), vec![listed.row(known)])),
            }
        }
        groups.retain(|(_, rows)| !rows.is_empty());
        let groups = with_own(listed, groups);
        let first = groups.iter().flat_map(|(_, rows)| rows).position(|row| row.offer == Offer::Row(current.slug));
        Self { groups, first, spoken: String::new(), unchosen: String::new() }
    }

    /// The names that are most like a text that names nothing.
    fn of_nearest(listed: Listed, known: &[Known], text: &str, current: Current) -> Self {
        let key = match listed {
            Listed::Model => "model",
            Listed::Gpu => "gpu",
        };
        let near = nearest::offers(key, text, &mut known.iter().map(|known| (known.slug, known.name)));
        let near: Vec<&Known> = known.iter().filter(|known| near.contains(&known.slug)).collect();
        let nothing = format!("No {} is called “{text}”.", listed.label().replace("Model", "model"));
        let names: Vec<&str> = near.iter().map(|known| known.name).collect();
        let like = if names.is_empty() { String::new() } else { format!(" Nearest: {}.", names.join(", ")) };
        let unchosen = format!("{nothing}{like} {} stays in use.", current.text());
        let title = if near.is_empty() { nothing.clone() } else { format!("{nothing} The nearest names:") };
        let rows = near.into_iter().map(|known| listed.row(known)).collect();
        Self { groups: with_own(listed, vec![(title, rows)]), first: None, spoken: nothing + &like, unchosen }
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        self.groups.iter().map(|(_, rows)| rows.len()).sum()
    }

    /// What the row at a place offers.
    pub fn at(&self, place: usize) -> Option<Offer> {
        self.groups.iter().flat_map(|(_, rows)| rows).nth(place).map(|row| row.offer)
    }
}

impl Known {
    /// How well it fits: the less the better, and none where a typed word is in no part of it.
    fn worth(&self, typed: &[String]) -> Option<u32> {
        typed.iter().map(|word| self.worth_of(word)).sum()
    }

    fn worth_of(&self, typed: &str) -> Option<u32> {
        let ends_a_number = |rest: &str| !(typed.ends_with(|c: char| c.is_ascii_digit()) && rest.starts_with(is_digit));
        let of_word = |word: &String| {
            let rest = word.strip_prefix(typed)?;
            Some(if rest.is_empty() {
                0
            } else if ends_a_number(rest) {
                1
            } else {
                2
            })
        };
        let best = self.words.iter().filter_map(of_word).min();
        best.or_else(|| self.whole.contains(typed).then_some(4))
    }
}

const fn is_digit(letter: char) -> bool {
    letter.is_ascii_digit() || letter == '.'
}

/// The words of a text in small letters; a number keeps its point.
fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let parts = text.split(|letter: char| !letter.is_alphanumeric() && letter != '.');
    parts.map(|word| word.trim_matches('.').to_owned()).filter(|word| !word.is_empty()).collect()
}

/// A last row, by which a model comes in that is in no list.
fn with_own(listed: Listed, mut groups: Vec<(String, Vec<Row>)>) -> Vec<(String, Vec<Row>)> {
    if listed == Listed::Model {
        let name = "Read a config.json …".to_owned();
        groups.push(("Not in the list".to_owned(), vec![Row { offer: Offer::OwnModel, name, note: String::new() }]));
    }
    groups
}

/// A number of parameters in few letters: 8.0 B, 494 M.
fn parameters(count: u64) -> String {
    let billions = count as f64 / 1e9;
    match billions {
        few if few < 1.0 => format!("{}\u{a0}M", format::digits(few * 1e3, 0)),
        many => format!("{}\u{a0}B", format::digits(many, u32::from(many < 100.0))),
    }
}

/// A GPU's name without its memory, and that.
fn apart(name: &'static str) -> (String, String) {
    let parts = || {
        let (before, behind) = name.split_once(" GB")?;
        let (short, memory) = before.rsplit_once(' ')?;
        Some((format!("{short}{behind}"), format!("{memory}\u{a0}GB")))
    };
    parts().unwrap_or_else(|| (name.to_owned(), String::new()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::{Scenario, link};

    fn scenario() -> Scenario {
        link::decode("model=qwen2.5-7b&gpu=rtx-4090").scenario
    }

    fn listing(listed: Listed, text: &str) -> Listing {
        Listing::of(listed, text, listed.current(&scenario()), &[])
    }

    fn found(listed: Listed, text: &str) -> Vec<Offer> {
        let listing = listing(listed, text);
        (0..listing.count()).filter_map(|at| listing.at(at)).collect()
    }

    #[test]
    fn words_are_found_in_any_order_by_any_part_with_the_best_first() {
        for (listed, text, slug) in [
            (Listed::Model, "qwen 7", "qwen2.5-7b"),
            (Listed::Model, "7 QWEN", "qwen2.5-7b"),
            (Listed::Model, "8b llama", "llama-3.1-8b"),
            (Listed::Model, "llama 3.1 70", "llama-3.1-70b"),
            (Listed::Model, "xtral 8x7", "mixtral-8x7b"),
            (Listed::Gpu, "4090", "rtx-4090"),
            (Listed::Gpu, "h100", "h100-80"),
            (Listed::Gpu, "80gb a100", "a100-80"),
            (Listed::Gpu, "rtx-3090", "rtx-3090"),
        ] {
            let rows = found(listed, text);
            assert_eq!(rows.first(), Some(&Offer::Row(slug)), "{text}");
            assert_eq!(listing(listed, text).first, Some(0), "{text}");
        }
    }

    #[test]
    fn with_nothing_typed_every_row_is_there_and_what_was_used_and_what_is_usual_stand_first() {
        for (listed, rows) in [(Listed::Model, MODELS.len()), (Listed::Gpu, DEVICES.len())] {
            let used = [listed.popular()[3], "gpt2", "mi210"];
            let listing = Listing::of(listed, "  ", listed.current(&scenario()), &used);
            assert_eq!(listing.at(0), Some(Offer::Row(used[0])));
            let all = (0..listing.count()).filter_map(|at| listing.at(at));
            let all: Vec<_> = all.filter(|offer| *offer != Offer::OwnModel).collect();
            assert_eq!(all.len(), rows + 2 + listed.popular().len() - 1, "each once, and those above once more");
            let slug = listed.current(&scenario()).slug;
            assert_eq!(
                listing.first.and_then(|at| listing.at(at)),
                Some(Offer::Row(slug)),
                "it begins with what is in use"
            );
        }
    }

    #[test]
    fn every_usual_row_is_one_of_the_catalogue() {
        for listed in [Listed::Model, Listed::Gpu] {
            let known = listed.known();
            assert!(listed.popular().iter().all(|slug| known.iter().any(|known| known.slug == *slug)));
        }
    }

    #[test]
    fn what_names_nothing_is_answered_with_the_nearest_names_and_chooses_none_of_them() {
        let listing = listing(Listed::Model, "meta-llama/Llama-3.1-8B-Instruct");
        assert_eq!((listing.at(0), listing.first), (Some(Offer::Row("llama-3.1-8b")), None));
        let said =
            "No model is called “meta-llama/Llama-3.1-8B-Instruct”. Nearest: Llama 3.1 8B. Qwen2.5 7B stays in use.";
        assert_eq!(listing.unchosen, said);
        let nothing = self::listing(Listed::Gpu, "abacus");
        assert_eq!((nothing.count(), nothing.first), (0, None));
        assert_eq!(nothing.unchosen, "No GPU is called “abacus”. RTX 4090 24 GB stays in use.");
    }

    #[test]
    fn the_last_row_of_the_models_reads_a_file_whatever_was_typed() {
        for text in ["", "qwen", "nothing like it", "<script>"] {
            let rows = found(Listed::Model, text);
            assert_eq!(rows.last(), Some(&Offer::OwnModel), "{text}");
            assert!(!found(Listed::Gpu, text).contains(&Offer::OwnModel));
        }
    }

    #[test]
    fn what_decides_stands_beside_the_name() {
        let row = |listed: Listed, text: &str| listing(listed, text).groups[0].1[0].clone();
        let llama = row(Listed::Model, "llama 3.1 8b");
        assert_eq!((llama.name.as_str(), llama.note.as_str()), ("Llama 3.1 8B", "8.0\u{a0}B"));
        assert_eq!(row(Listed::Model, "gpt-2 124m").note, "124\u{a0}M");
        let card = row(Listed::Gpu, "a6000");
        assert_eq!((card.name.as_str(), card.note.as_str()), ("RTX A6000, ECC on", "48\u{a0}GB"));
        for row in DEVICES {
            assert!(!apart(row.name).1.is_empty(), "{}", row.name);
        }
    }
}
