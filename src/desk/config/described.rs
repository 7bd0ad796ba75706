//! A model that was read, in words and as a change of the page.

use bmax::catalogue::MODELS;
use bmax::config_json::Reading;
use bmax::{
    Field, Model, Scenario, link, number,
    setting::{self, Setting},
};

/// What a file says.
#[derive(Clone, PartialEq)]
pub struct Described {
    /// The model.
    pub model: Model,
    /// Its family and its size in a sentence.
    pub sentence: String,
    /// Its sizes and kinds, each with its name.
    pub sizes: Vec<(&'static str, String)>,
    /// What to know about the file.
    pub notes: Vec<String>,
}

impl From<Reading> for Described {
    fn from(reading: Reading) -> Self {
        // A row with the same numbers says more than numbers alone, and makes the shorter link.
        let row = MODELS.iter().find(|row| Model { origin: row.model.origin, ..reading.model } == row.model);
        let model = row.map_or(reading.model, |row| row.model);
        let count = number::grouped(model.parameters as f64);
        let mut sentence = format!("{}: {count} parameters.", reading.architecture);
        if let Some(row) = row {
            sentence += &format!(" These are the numbers of “{}” in the list.", row.name);
        }
        let notes = reading.notes.iter().map(ToString::to_string).collect();
        Self { model, sentence, sizes: sizes(&model), notes }
    }
}

/// A model as the change of a scenario: its row, or all that it consists of.
pub fn named(model: Model) -> String {
    if let Some(slug) = model.origin.slug() {
        return format!("model={slug}");
    }
    let scenario = Scenario { model, ..Scenario::default() };
    let numbers = [&[Field::Parameters][..], SHAPE, TABLES, EXPERTS, LATENT].into_iter().flatten();
    let numbers = numbers.map(|field| (field.bound().key, number::plain(scenario.number(*field))));
    let words = WORDS.iter().map(|word| (word.key, word.get(&scenario).to_owned()));
    numbers.chain(words).fold(format!("model={}", link::OWN), |query, (key, value)| query + "&" + key + "=" + &value)
}

/// The numbers and words that describe a network, in the order of the calculator.
static SHAPE: &[Field] = &[
    Field::Hidden,
    Field::Layers,
    Field::Heads,
    Field::KvHeads,
    Field::HeadDim,
    Field::FeedForward,
    Field::Vocabulary,
];
static TABLES: &[Field] = &[Field::Norms, Field::Positions];
static WORDS: &[&Setting] = &[
    &setting::MLP,
    &setting::TIED,
    &setting::NORM,
    &setting::PARALLEL,
    &setting::QK_NORM,
    &setting::PACKING,
    &setting::BIAS,
    &setting::POSITION,
    &setting::SOFTMAX,
    &setting::SOFT_CAP,
];
static EXPERTS: &[Field] =
    &[Field::Experts, Field::ActiveExperts, Field::ExpertWidth, Field::SharedWidth, Field::DenseLayers];
static LATENT: &[Field] = &[Field::KvRank, Field::QueryRank, Field::RopeDim];

/// The sizes and kinds that make up a model, each with its name, without those that mean nothing to it.
fn sizes(model: &Model) -> Vec<(&'static str, String)> {
    let scenario = Scenario { model: *model, ..Scenario::default() };
    let numbers = |fields: &[Field]| -> Vec<_> {
        let values = fields.iter().map(|field| (field.bound().name, number::grouped(scenario.number(*field))));
        values.filter(|(_, value)| value != "0").collect()
    };
    let mut all = numbers(SHAPE);
    all.extend(numbers(TABLES));
    for word in WORDS {
        let key = word.get(&scenario);
        let label = word.options.iter().find(|option| option.key == key).map_or("", |option| option.label);
        all.push((word.name, label.to_owned()));
    }
    if model.experts.count > 0 {
        all.extend(numbers(EXPERTS));
    }
    if model.latent.kv_rank > 0 {
        all.extend(numbers(LATENT));
    }
    all
}
