//! The parameters of a link.

use super::{OWN, VERSION, VS};
use crate::{Field, Scenario, number, setting, setting::Setting};

/// Every parameter of a scenario and what it is called, in the order in which [`encode`](super::encode) writes them.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    let numbers = Field::ALL.iter().map(|field| (field.bound().key, field.bound().name));
    let words = setting::ALL.iter().map(|word| (word.key, word.name));
    ROWS.into_iter().chain(numbers).chain(words)
}

/// What stands in for the micro-batch: it is no number of its own.
const LARGEST: &str = "the largest that fits";

/// The parameters that are neither numbers nor settings.
pub(super) const ROWS: [(&str, &str); 3] = [("v", "Version"), ("model", "Model"), ("gpu", "GPU")];

/// The parameters that say how a figure is embedded ([`crate::embed`]). No parameter of a scenario may ever be
/// called like one of them.
pub const PASSED_OVER: [&str; 6] = ["embed", "controls", "theme", "title", "height", "ask"];

/// The parameter that names a network of layers and its settings ([`crate::course::networks::Named`]). It is no part
/// of a scenario: the figure of layer lists and the command line read it.
pub const NETWORK: &str = "network";

/// Whether a link may have this parameter, be it of the scenario, of the one to compare with or of an embedded
/// figure.
pub fn is_parameter(key: &str) -> bool {
    names().any(|(name, _)| name == key) || key == VS || key == NETWORK || PASSED_OVER.contains(&key)
}

/// A parameter of the link, as the documentation lists it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name in the query string.
    pub key: &'static str,
    /// What it is called on the page.
    pub name: &'static str,
    /// What it takes.
    pub takes: String,
    /// What stands in when it is absent; for numbers of the model or the GPU, that of the default row.
    pub default: String,
}

/// Every parameter of a link, in the order in which [`encode`](super::encode) writes them.
pub fn parameters() -> Vec<Parameter> {
    let default = Scenario::default();
    let rows = [
        (format!("1 to {VERSION}"), VERSION.to_string()),
        (format!("a slug of the model list, or {OWN}"), super::model_word(default.model.origin).to_owned()),
        ("a slug of the GPU list".to_owned(), default.device.origin.to_owned()),
    ];
    let stands_in = |field: Field| match field {
        Field::Batch => LARGEST.to_owned(),
        Field::ComparisonGpus => "as many as `gpus`".to_owned(),
        _ => number::plain(default.number(field)),
    };
    let numbers = Field::ALL.iter().map(|field| (field.bound().to_string(), stands_in(*field)));
    let stands_in = |word: &Setting| match *word == setting::COMPARISON_RECOMPUTATION {
        true => "as `recompute`".to_owned(),
        false => word.get(&default).to_owned(),
    };
    let words = setting::ALL.iter().map(|word| (word.keys(), stands_in(word)));
    let values = rows.into_iter().chain(numbers).chain(words);
    names().zip(values).map(|((key, name), (takes, default))| Parameter { key, name, takes, default }).collect()
}
