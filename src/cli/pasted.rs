//! What was read of pasted texts, as JSON and as text.

use schemars::JsonSchema;
use serde::Serialize;

use super::report::Report;
use super::values::Number;
use super::words::counted;
use crate::Scenario;
use crate::read::{self, About, Backend, Model, OutOfMemory, Place, Reading, Told, Why};

/// What texts say, and the answer to it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pasted {
    /// What each text is.
    pub texts: Vec<PastedText>,
    /// What all of them say, as the query of a link. A model that a file describes is not in it.
    pub link: String,
    /// The model that they name: its row in the list, “own” for that of a `config.json`, the last part of its name where
    /// nobody knows it; left out where none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub model: Option<String>,
    /// Keys that an input comes from.
    pub used: Vec<UsedKey>,
    /// What programs take because no text says it.
    pub silent: Vec<SilentKey>,
    /// Keys on which memory does not depend.
    pub no_matter: Vec<KeyPlace>,
    /// Keys on which memory depends and that nothing counts.
    pub not_counted: Vec<UncountedKey>,
    /// Keys that are not understood.
    pub not_understood: Vec<UnknownKey>,
    /// Files that are named and were not given.
    pub missing: Vec<MissingFile>,
    /// Parameters that decide the answer most and that no text says.
    pub open: Vec<&'static str>,
    /// What a text says about the memory of a GPU; left out where none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PastedMemory")]
    pub memory: Option<PastedMemory>,
    /// The answer; left out where the texts name a model that nobody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Report")]
    pub report: Option<Box<Report>>,
}

/// What a text is.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PastedText {
    /// The name of the file, without the way to it; empty for what was pasted.
    pub text: String,
    /// What it is, in a few words each: several where a command or a program has several configurations.
    pub is: Vec<String>,
}

/// Where a key stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyPlace {
    /// The name of the text.
    pub text: String,
    /// The line, from 1.
    pub line: usize,
    /// The key.
    pub key: String,
}

/// A key that an input comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsedKey {
    /// The name of the text.
    pub text: String,
    /// The line, from 1.
    pub line: usize,
    /// The key.
    pub key: String,
    /// Its value, where that is a number or a word of its program; empty otherwise.
    pub value: String,
    /// The parameters of a link that follow from it, alone or together with others.
    pub became: Vec<String>,
    /// Whether another key says otherwise, and that counts.
    pub overruled: bool,
}

/// What a program takes because no text says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SilentKey {
    /// Whose text it is.
    pub format: &'static str,
    /// The key that is not there; empty for what is so in any case.
    pub key: &'static str,
    /// What the program takes for it.
    pub value: &'static str,
    /// The parameters of a link that follow from it.
    pub became: Vec<String>,
    /// The program, its version, and the file and class that say so.
    pub source: &'static str,
}

/// A key on which memory depends and that nothing counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UncountedKey {
    /// The name of the text.
    pub text: String,
    /// The line, from 1.
    pub line: usize,
    /// The key.
    pub key: String,
    /// Its value, where that is a number or a word of its program; empty otherwise.
    pub value: String,
    /// What it could cost.
    pub why: &'static str,
}

/// A key that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnknownKey {
    /// The name of the text.
    pub text: String,
    /// The line, from 1.
    pub line: usize,
    /// The key.
    pub key: String,
    /// Why, in a sentence.
    pub why: String,
    /// Keys that it is like.
    pub nearest: Vec<&'static str>,
}

/// A file that is named and was not given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MissingFile {
    /// The name of the text that names it.
    pub text: String,
    /// The line, from 1.
    pub line: usize,
    /// Its name, without the way to it.
    pub file: String,
}

/// What a text says about the memory of a GPU. What it does not say is left out.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PastedMemory {
    /// Whose device it is: “cuda”, “hip”, “xpu” or “mps”.
    pub backend: &'static str,
    /// Devices of the list that it may be, the likeliest first.
    pub devices: Vec<&'static str>,
    /// Memory of the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Number")]
    pub capacity_bytes: Option<Number>,
    /// What nobody has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Number")]
    pub free_bytes: Option<Number>,
    /// What the process has with all that is not PyTorch’s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Number")]
    pub in_use_bytes: Option<Number>,
    /// What other processes have.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Number")]
    pub others_bytes: Option<Number>,
    /// What lives in PyTorch’s allocator.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Number")]
    pub allocated_bytes: Option<Number>,
    /// What PyTorch’s allocator holds and nothing uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Number")]
    pub unallocated_bytes: Option<Number>,
    /// What was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Number")]
    pub requested_bytes: Option<Number>,
    /// What an error means at the configuration that is answered, in sentences: why nothing was left, and which tensor it was
    /// for. Empty for other texts and without an answer.
    pub explained: Vec<String>,
}

impl From<&Place> for KeyPlace {
    fn from(place: &Place) -> Self {
        Self { text: place.text.clone(), line: place.line, key: place.key.clone() }
    }
}

impl PastedMemory {
    fn of(found: &OutOfMemory, scenario: Option<&Scenario>) -> Self {
        Self {
            backend: match found.backend {
                Backend::Cuda => "cuda",
                Backend::Hip => "hip",
                Backend::Xpu => "xpu",
                Backend::Mps => "mps",
            },
            devices: found.devices.iter().map(|row| row.slug).collect(),
            capacity_bytes: found.capacity.map(Number::from),
            free_bytes: found.free.map(Number::from),
            in_use_bytes: found.in_use.map(Number::from),
            others_bytes: found.others.map(Number::from),
            allocated_bytes: found.allocated.map(Number::from),
            unallocated_bytes: found.unallocated.map(Number::from),
            requested_bytes: found.requested.map(Number::from),
            explained: scenario.map(|scenario| found.explained(scenario)).unwrap_or_default(),
        }
    }
}

/// What was read, with the scenario that is answered and the answer, if there is one.
pub fn pasted(reading: &Reading, scenario: Option<&Scenario>, report: Option<Report>) -> Pasted {
    let understood = &reading.understood;
    Pasted {
        texts: reading.texts.iter().map(|text| PastedText { text: text.name.clone(), is: text.kind.words() }).collect(),
        link: reading.query(),
        model: match &reading.model {
            Model::NotNamed => None,
            Model::Listed(row) => Some(row.slug.to_owned()),
            Model::File(_) => Some(crate::link::OWN.to_owned()),
            Model::Unknown { name, .. } => Some(name.clone()),
        },
        used: (understood.used.iter())
            .map(|used| {
                let KeyPlace { text, line, key } = KeyPlace::from(&used.place);
                let (value, became) = (used.value.clone(), used.became.clone());
                UsedKey { text, line, key, value, became, overruled: used.overruled }
            })
            .collect(),
        silent: (understood.silent.iter())
            .map(|silent| SilentKey {
                format: silent.format.name(),
                key: silent.key,
                value: silent.value,
                became: silent.became.clone(),
                source: silent.source,
            })
            .collect(),
        no_matter: understood.no_matter.iter().map(KeyPlace::from).collect(),
        not_counted: (understood.not_counted.iter())
            .map(|one| {
                let KeyPlace { text, line, key } = KeyPlace::from(&one.place);
                UncountedKey { text, line, key, value: one.value.clone(), why: one.why }
            })
            .collect(),
        not_understood: (understood.not_understood.iter())
            .map(|one| {
                let KeyPlace { text, line, key } = KeyPlace::from(&one.place);
                let nearest = if let Why::Key(nearest) = &one.why { nearest.clone() } else { Vec::new() };
                UnknownKey { text, line, key, why: one.why.to_string(), nearest }
            })
            .collect(),
        missing: (understood.missing.iter())
            .map(|(place, file)| MissingFile { text: place.text.clone(), line: place.line, file: file.clone() })
            .collect(),
        open: reading.open(),
        memory: reading.out_of_memory.as_ref().map(|found| PastedMemory::of(found, scenario)),
        report: report.map(Box::new),
    }
}

/// The same as text. `full` lists the keys on which memory does not depend.
pub fn text(reading: &Reading, scenario: Option<&Scenario>, full: bool) -> String {
    let mut lines = vec!["Read".to_owned()];
    lines.extend(reading.what_texts_are().into_iter().map(|row| format!("  {row}")));
    for Told { about, rows } in reading.told(scenario) {
        lines.push(about.title().to_owned());
        if about == About::NoMatter && !full {
            lines.push(format!("  {} (--full lists them)", counted(rows.len() as u64, "key", "keys")));
        } else {
            lines.extend(rows.into_iter().map(|row| format!("  {row}")));
        }
    }
    lines.join("\n") + "\n\n"
}

/// The texts of a task, read together.
pub(super) fn read(texts: &[(String, Vec<u8>)]) -> Reading {
    let texts: Vec<read::Text> = texts.iter().map(|(name, bytes)| read::Text::file(name, bytes)).collect();
    read::read(&texts)
}
