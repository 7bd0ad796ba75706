//! What was read, in words: the same on the page and on the command line.

use super::{Kind, Model, OutOfMemory, Place, Reading};
use crate::{Scenario, format};

/// What the rows of a section are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum About {
    /// Keys that an input comes from.
    Used,
    /// What programs take because no text says it.
    Silent,
    /// Keys on which memory depends and that nothing counts.
    NotCounted,
    /// Keys that no table has.
    NotUnderstood,
    /// Files that a text names and that were not given.
    Missing,
    /// Keys on which memory does not depend.
    NoMatter,
    /// What a text says about the memory of a GPU.
    Memory,
    /// What that means at the configuration.
    Explained,
    /// Inputs that no text says.
    Open,
}

impl About {
    /// The title of the section.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Used => "Used",
            Self::Silent => "By default of the program, because no text says it",
            Self::NotCounted => "Not counted",
            Self::NotUnderstood => "Not understood",
            Self::Missing => "Named and not given",
            Self::NoMatter => "No matter for memory",
            Self::Memory => "Memory",
            Self::Explained => "What the error means",
            Self::Open => "Said by no text, so that a default stands in unless the question says it",
        }
    }
}

/// Sentences of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// What they are about.
    pub about: About,
    /// The sentences; there is at least one.
    pub rows: Vec<String>,
}

impl Kind {
    /// What a text is, in a few words each.
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Formats(formats) => formats.iter().map(|format| format.name().to_owned()).collect(),
            Self::Model => vec!["a config.json of a model".to_owned()],
            Self::Refused(refusal) => vec![refusal.to_string()],
            Self::Name => vec!["the name of a model".to_owned()],
            Self::Memory => vec!["what is said about memory".to_owned()],
            Self::Unread(why) => vec![why.to_string()],
        }
    }
}

impl Reading {
    /// What each text is.
    pub fn what_texts_are(&self) -> Vec<String> {
        let said = self.texts.iter().map(|text| {
            let name = if text.name.is_empty() { "The pasted text" } else { &text.name };
            format!("{name}: {}", text.kind.words().join("; "))
        });
        said.collect()
    }

    /// What became of every key, and what is said about memory: sections that have something to say. What an error means
    /// depends on the scenario that it is of.
    pub fn told(&self, scenario: Option<&Scenario>) -> Vec<Told> {
        let understood = &self.understood;
        // The name of a text is told where there are several.
        let several = self.texts.len() > 1;
        let at = |place: &Place| match (several, place.text.as_str()) {
            (false, _) | (true, "") => format!("line {}", place.line),
            (true, name) => format!("{name}, line {}", place.line),
        };
        let with = |key: &str, value: &str| if value.is_empty() { key.to_owned() } else { format!("{key}: {value}") };
        let used = understood.used.iter().map(|used| {
            let words = if used.became.is_empty() { "no model of the list".to_owned() } else { used.became.join(", ") };
            let overruled = if used.overruled { " (another key says otherwise, and counts)" } else { "" };
            format!("{}: {} → {words}{overruled}", at(&used.place), with(&used.place.key, &used.value))
        });
        let silent = understood.silent.iter().map(|silent| {
            let what = match (silent.key, silent.value) {
                ("", _) => "in any case".to_owned(),
                (key, "") => format!("no {key}"),
                (key, value) => format!("{key}: {value}"),
            };
            format!("{what} → {} ({})", silent.became.join(", "), silent.source)
        });
        let uncounted = understood.not_counted.iter();
        let uncounted =
            uncounted.map(|one| format!("{}: {}: {}", at(&one.place), with(&one.place.key, &one.value), one.why));
        let unknown = understood.not_understood.iter();
        let unknown = unknown.map(|one| format!("{}: {}: {}", at(&one.place), one.place.key, one.why));
        let missing = understood.missing.iter().map(|(place, file)| format!("{}: {file}", at(place)));
        let no_matter = understood.no_matter.iter().map(|place| format!("{}: {}", at(place), place.key));
        let memory = self.out_of_memory.as_ref().map(OutOfMemory::words).unwrap_or_default();
        let error = self.out_of_memory.as_ref().zip(scenario);
        let explained = error.map(|(error, scenario)| error.explained(scenario)).unwrap_or_default();
        let open = self.open();
        let open = (!open.is_empty()).then(|| open.join(", "));
        let all = [
            (About::Used, used.collect()),
            (About::Silent, silent.collect()),
            (About::NotCounted, uncounted.collect()),
            (About::NotUnderstood, unknown.collect()),
            (About::Missing, missing.collect()),
            (About::NoMatter, no_matter.collect()),
            (About::Memory, memory),
            (About::Explained, explained),
            (About::Open, open.into_iter().collect()),
        ];
        let all = all.into_iter().map(|(about, rows): (_, Vec<String>)| Told { about, rows });
        all.filter(|section| !section.rows.is_empty()).collect()
    }

    /// Why nothing can be answered of the texts: the first of them that is not read, and why.
    pub fn unread(&self) -> Option<String> {
        let (text, why) = self.texts.iter().find_map(|text| match &text.kind {
            Kind::Unread(why) => Some((text, why.to_string())),
            Kind::Refused(refusal) => Some((text, refusal.to_string())),
            _ => None,
        })?;
        let name = if text.name.is_empty() { "what was pasted cannot be read" } else { &text.name };
        Some(format!("{name}: {why}"))
    }

    /// The model in a sentence; empty where no text names one.
    pub fn model_words(&self) -> String {
        match &self.model {
            Model::NotNamed => String::new(),
            Model::Listed(row) => format!("The model is {}.", row.name),
            Model::File(reading) => {
                let count = crate::number::grouped(reading.model.parameters as f64);
                format!("The model is that of the config.json: {}: {count} parameters.", reading.architecture)
            }
            Model::Unknown { name, nearest, .. } if nearest.is_empty() => {
                format!("The model “{name}” is not in the list. Its config.json, given as well, says what it is.")
            }
            Model::Unknown { name, nearest, .. } => format!(
                "The model “{name}” is not in the list; its config.json, given as well, says what it is. Nearest: {}.",
                nearest.join(", ")
            ),
        }
    }
}

impl OutOfMemory {
    /// What a text says about memory, a part a row.
    pub fn words(&self) -> Vec<String> {
        let devices: Vec<&str> = self.devices.iter().map(|row| row.name).take(3).collect();
        let device = (!devices.is_empty()).then(|| format!("device: {}", devices.join(", or ")));
        let parts = [
            ("capacity", self.capacity),
            ("free", self.free),
            ("this process", self.in_use),
            ("other processes", self.others),
            ("allocated by PyTorch", self.allocated),
            ("reserved and not allocated", self.unallocated),
            ("asked for", self.requested),
            ("allocated at most", self.peak_allocated),
            ("reserved at most", self.peak_reserved),
        ];
        let said = parts.into_iter().filter_map(|(name, size)| Some(format!("{name}: {}", format::memory(size?))));
        device.into_iter().chain(said).collect()
    }
}
