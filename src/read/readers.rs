//! Readers of one kind of text each, so that a page fetches each of them when such a text comes.

use super::format::weights;
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

/// The readers that are there. Commands and error texts are always read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Readers {
    pub(super) python: Option<ReadsCalls>,
    pub(super) json: Option<Json>,
    pub(super) yaml: Option<Reads<Option<Document>, SyntaxError>>,
    pub(super) toml: Option<Reads<Document, SyntaxError>>,
    pub(super) models: Option<Reads<config_json::Reading, ConfigError>>,
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
}

impl Readers {
    /// All of them.
    pub const fn all() -> Self {
        let none = Self { python: None, json: None, yaml: None, toml: None, models: None };
        none.with_python().with_json().with_yaml().with_toml().with_models()
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
