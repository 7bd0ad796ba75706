//! Readers of one kind of text each, so that a page fetches each of them when such a text comes.

use super::format::{self, Format, Meaning, weights};
use super::rewrite::{self, Rewritten};
use super::syntax::python::Call;
use super::syntax::{self, Document, SyntaxError};
use super::{Reading, Text, reading, recognised};
use crate::config_json::{self, ConfigError};
use crate::input::Input;
use crate::json::{self, JsonError, Value};

/// A reader of texts that gives this or a refusal.
type Reads<T, E> = fn(&str) -> Result<T, E>;

/// A reader of the calls of these names in a program.
type ReadsCalls = fn(&str, &[&'static str]) -> Vec<Call>;

/// What reads JSON, and what files of weights say in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Json {
    pub(super) value: Reads<Value, JsonError>,
    /// The index of a model’s weights, in few entries.
    pub(super) index: fn(&Value) -> Document,
    /// The header of a file of weights; none where it is no header.
    pub(super) header: fn(&Value) -> Option<Document>,
}

/// A function that has the meanings of some formats.
type Means = fn(Format) -> Option<&'static Meaning>;

/// The readers that are there. Commands are always told, and error texts are always read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Readers {
    pub(super) python: Option<ReadsCalls>,
    pub(super) json: Option<Json>,
    pub(super) yaml: Option<Reads<Option<Document>, SyntaxError>>,
    pub(super) toml: Option<Reads<Document, SyntaxError>>,
    pub(super) models: Option<Reads<config_json::Reading, ConfigError>>,
    fine_tuning: Option<Means>,
    pretraining: Option<Means>,
}

/// A reader that a text needs and that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// [`Readers::with_python`].
    Python,
    /// [`Readers::with_json`].
    Json,
    /// [`Readers::with_yaml`].
    Yaml,
    /// [`Readers::with_toml`].
    Toml,
    /// [`Readers::with_models`].
    Models,
    /// [`Readers::with_fine_tuning`].
    FineTuning,
    /// [`Readers::with_pretraining`].
    Pretraining,
}

impl Readers {
    /// All of them.
    pub const fn all() -> Self {
        let none = Self {
            python: None,
            json: None,
            yaml: None,
            toml: None,
            models: None,
            fine_tuning: None,
            pretraining: None,
        };
        none.with_python().with_json().with_yaml().with_toml().with_models().with_fine_tuning().with_pretraining()
    }

    /// These, and the one of programs in Python.
    #[must_use]
    pub const fn with_python(self) -> Self {
        Self { python: Some(syntax::python::calls), ..self }
    }

    /// These, and the one of JSON.
    #[must_use]
    pub const fn with_json(self) -> Self {
        let json = Json { value: json::read_file, index: weights::of_index, header: weights::of_header };
        Self { json: Some(json), ..self }
    }

    /// These, and the one of YAML.
    #[must_use]
    pub const fn with_yaml(self) -> Self {
        Self { yaml: Some(syntax::yaml::read), ..self }
    }

    /// These, and the one of TOML.
    #[must_use]
    pub const fn with_toml(self) -> Self {
        Self { toml: Some(syntax::toml::read), ..self }
    }

    /// These, and the one of models’ own `config.json`.
    #[must_use]
    pub const fn with_models(self) -> Self {
        Self { models: Some(config_json::read), ..self }
    }

    /// These, and what the formats of transformers and of what is built on it mean.
    #[must_use]
    pub const fn with_fine_tuning(self) -> Self {
        Self { fine_tuning: Some(format::fine_tuning), ..self }
    }

    /// These, and what the formats of torchtitan, of Megatron-LM and of NVIDIA’s other programs mean.
    #[must_use]
    pub const fn with_pretraining(self) -> Self {
        Self { pretraining: Some(format::pretraining), ..self }
    }

    /// Looks up the meaning of a format.
    ///
    /// # Errors
    /// [`Needs`] for a format of a part that is not there.
    pub(super) fn meaning(self, format: Format) -> Result<&'static Meaning, Needs> {
        let means: Means = match format.row().and_then(|row| row.needs) {
            None => format::beside_of,
            Some(needs) => self.means(needs).ok_or(needs)?,
        };
        Ok(means(format).unwrap_or(&format::NO_MEANING))
    }

    /// The function that has the meanings of a part, if it is there.
    const fn means(self, part: Needs) -> Option<Means> {
        match part {
            Needs::FineTuning => self.fine_tuning,
            Needs::Pretraining => self.pretraining,
            Needs::Python | Needs::Json | Needs::Yaml | Needs::Toml | Needs::Models => None,
        }
    }

    /// Reads texts that belong together, as [`read`](super::read) does.
    ///
    /// # Errors
    /// [`Needs`] for a text whose reader is not there. The same texts with that one as well are read, or need another.
    pub fn read(self, texts: &[Text]) -> Result<Reading, Needs> {
        recognised(texts, self).map(reading)
    }

    /// Gives texts back with these values of inputs, as [`rewrite`](super::rewrite()) does.
    ///
    /// # Errors
    /// [`Needs`] for a text whose reader is not there.
    pub fn rewrite(self, texts: &[(&str, &str)], wanted: &[(Input, String)]) -> Result<Rewritten, Needs> {
        rewrite::with_readers(self, texts, wanted)
    }
}
