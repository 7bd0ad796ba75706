//! A model from the `config.json` that stands beside its weights on the Hugging Face hub.
//!
//! Every family of models has its own names for its sizes, leaves other fields out and builds its
//! blocks in its own way. All of that is data: `families` says how blocks are built, in the words of
//! the link, one row a family, and `inputs` which field holds what. What a file does not say is never
//! filled in silently: a size without which nothing can be counted is refused by name, and every other
//! stand-in is a [`ConfigNotice`]. Where the model has other weights than the count, a note says which and how
//! many. The defaults are those of transformers 5.23, with whose models the tests compare the counts.
//!
//! ```
//! use bmax::config_json;
//!
//! let reading = config_json::read(
//!     r#"{
//!         "model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 22,
//!         "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 64,
//!         "intermediate_size": 5632, "vocab_size": 32000
//!     }"#,
//! )
//! .unwrap();
//! assert_eq!(reading.model.parameters, 1_100_048_384);
//! assert_eq!(
//!     reading.notes[0].to_string(),
//!     "“tie_word_embeddings” is not in the file; false stands in, the default for Llama in transformers."
//! );
//!
//! let refusal = config_json::read(r#"{ "model_type": "llama", "hidden_size": 4096 }"#).unwrap_err();
//! assert!(refusal.to_string().starts_with("Layers: the file has no “num_hidden_layers”"));
//! ```

mod blocks;
mod facts;
mod families;
mod guess;
mod inputs;
mod notes;
mod reader;
#[cfg(test)]
mod tests;

pub use notes::{ByHand, ConfigError, ConfigNotice, Kept, SIZES, Unusable};

use crate::bounds::excerpt;
use crate::catalogue::{self, AsUsual, ModelRow, Usual};
use crate::json::{self, Value};
use crate::{Model, Scenario, Switch};
use reader::Reader;

/// The largest size that a file is believed: that of the longest position table.
const LARGEST: f64 = 4_194_304.0;

/// What a file says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reading {
    /// The model: every number is inside its declared range, `origin` is the reader’s own and `parameters` is
    /// the count derived from the architecture.
    pub model: Model,
    /// The family by whose rules the file was read.
    pub architecture: &'static str,
    /// Whether its blocks use dropout: as the file says, or as the library does where it does not.
    pub dropout: Switch,
    /// What the reader should know before trusting the numbers.
    pub notes: Vec<ConfigNotice>,
}

impl Reading {
    /// The model with how it is usually trained, by the same rule as the models of the list: the file's dropout, and the
    /// recomputation of its size. A file whose network is one of the list's is that row.
    pub fn as_usual(&self) -> AsUsual {
        let row = catalogue::row_of_network(&self.model).map(ModelRow::as_usual);
        let AsUsual { model, usual } = row.unwrap_or_else(|| {
            let usual = Usual::of(self.model.parameters, self.dropout);
            AsUsual { model: self.model, usual }
        });
        AsUsual { model, usual: Usual { dropout: self.dropout, ..usual } }
    }

    /// The weights of the model itself: those that are counted and those that the notes name with a
    /// number.
    pub fn weights(&self) -> i64 {
        let named = self
            .notes
            .iter()
            .map(|note| if let ConfigNotice::Difference { weights, .. } = note { *weights } else { 0 });
        named.fold(self.model.parameters as i64, i64::saturating_add)
    }
}

/// Reads the text of a `config.json`. [`read::config`](crate::read::config) also says what a text is that is none.
///
/// # Errors
/// [`ConfigError`] for what is no JSON object, for what is no single stack of attention and feed-forward
/// blocks over a vocabulary, and when hidden size, layers, heads, vocabulary or feed-forward width are
/// not there or lie outside of their ranges.
pub fn read(text: &str) -> Result<Reading, ConfigError> {
    let file = json::read_file(text).map_err(ConfigError::Json)?;
    if !matches!(file, Value::Object(_)) {
        return Err(ConfigError::NotAnObject(file.kind()));
    }
    let mut notes = Vec::new();
    let path = language_model(&file, &mut notes);
    let config = path.last().copied().unwrap_or(&file);
    let given = path.iter().rev().find_map(|object| object.get("model_type")?.text()).unwrap_or_default();
    let given = if matches!(given, "" | "transformer") { guess::own_names(config).unwrap_or(given) } else { given };
    let known = families::of(given);
    guess::refuse(&file, config, given, known)?;
    let mut reader = Reader::new(&path, config, known, notes);
    if known.is_none() {
        reader.notes.push(ConfigNotice::UnknownType { given: excerpt(given), guess: guess::explained(reader.guessed) });
    }
    reader.sizes().and_then(|()| reader.blocks()).map_err(|refusal| match refusal {
        ConfigError::Missing { .. } if known.is_none() && config.get("vocab_size").is_none() => {
            ConfigError::NoVocabulary(excerpt(given))
        }
        ConfigError::Missing { field, keys, .. } if known.is_none() => {
            ConfigError::Missing { field, keys, unknown_type: excerpt(given) }
        }
        other => other,
    })?;
    reader.look_over();
    let Scenario { model, recipe, .. } = reader.scenario;
    Ok(Reading { model, architecture: reader.family.name, dropout: recipe.dropout, notes: reader.notes })
}

/// The objects from the file down to the one that holds the sizes of the language model: a nested
/// one, unless only the outer one has them.
fn language_model<'a>(file: &'a Value, notes: &mut Vec<ConfigNotice>) -> Vec<&'a Value> {
    /// No file nests deeper: a model that also speaks, its thinker, and the language model in that.
    const DEEPEST: usize = 3;
    let mut path = vec![file];
    while let Some(&outer) = path.last()
        && path.len() < DEEPEST
    {
        let inner = inputs::NESTED.iter().find_map(|key| {
            let inner = outer.get(key).filter(|inner| matches!(inner, Value::Object(_)))?;
            (inner.get("hidden_size").is_some() || outer.get("hidden_size").is_none()).then_some((key, inner))
        });
        let Some((key, inner)) = inner else { break };
        notes.push(ConfigNotice::Nested(key));
        path.push(inner);
    }
    path
}
