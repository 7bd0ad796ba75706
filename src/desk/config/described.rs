//! A model that was read, in words and as a change of the page.

use bmax::catalogue::{AsUsual, model_row_of};
use bmax::config_json::{self, Reading};
use bmax::{
    Field, Model, Scenario, number,
    setting::{self, Setting},
};

/// What a file says.
#[derive(Clone, PartialEq)]
pub struct Described {
    /// The model, and how it is usually trained.
    pub taken: AsUsual,
    /// Its family and its size in a sentence.
    pub sentence: String,
    /// Its sizes and kinds, each with its name.
    pub sizes: Vec<(&'static str, String)>,
    /// What to know about the file.
    pub notes: Vec<String>,
}

impl From<Reading> for Described {
    fn from(reading: Reading) -> Self {
        let taken = reading.as_usual();
        let model = taken.model;
        let row = model_row_of(&Scenario { model, ..Scenario::default() });
        let count = number::grouped(model.parameters as f64);
        let mut sentence = format!("{}: {count} parameters.", reading.architecture);
        if let Some((row, _)) = row {
            sentence += &format!(" These are the numbers of “{}” in the list.", row.name);
        }
        let notes = reading.notes.iter().map(ToString::to_string).collect();
        Self { taken, sentence, sizes: sizes(&model), notes }
    }
}

/// The numbers and words that describe a network beside its sizes, in the order of the calculator.
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
    let mut all = numbers(&config_json::SIZES);
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
