//! The sizes of a file, one after another.

use super::families::STACK_SIZES;
use super::families::{self, Family};
use super::guess;
use super::inputs::{EXPERT_WIDTH, INPUTS, Keys, PARTS, RATIO, When};
use super::notes::{ConfigError, ConfigNotice, Unusable};
use crate::json::Value;
use crate::{Experts, Field, Latent, Model, Origin, Position, Scenario, Switch, number, setting::Setting};

/// A model without any size; what is 0 has no default.
const BLANK: Model = Model {
    origin: Origin::Own,
    parameters: 0,
    hidden: 0,
    layers: 0,
    heads: 0,
    kv_heads: 0,
    head_dim: 0,
    feed_forward: 0,
    vocabulary: 0,
    positions: 0,
    spare_positions: 0,
    experts: Experts { active: 0, ..Experts::NONE },
    latent: Latent::NONE,
    vision: crate::Vision::NONE,
    ..crate::catalogue::WORKSHOP_MODEL.model
};

/// What a file has under one of several names.
pub(super) enum Found {
    Value(u32),
    /// `null`, which means what the library computes from other fields.
    Null,
    /// Nothing, which means the default of the library.
    Absent,
    Unusable(Unusable),
}

pub(super) struct Reader<'a> {
    /// The objects from the whole file down to the one that holds the sizes.
    pub path: &'a [&'a Value],
    /// The object that holds the sizes.
    pub config: &'a Value,
    pub family: &'static Family,
    /// What the fields of a file of no known family say about its blocks.
    pub guessed: &'static str,
    pub notes: Vec<ConfigNotice>,
    /// Rows of a table for token types, which is looked up and added beside that of positions.
    pub types: u32,
    /// The fields that were asked for.
    pub asked: Vec<&'static str>,
    /// The model so far, in a scenario because fields and settings write there.
    pub scenario: Scenario,
}

impl<'a> Reader<'a> {
    pub fn new(
        path: &'a [&'a Value],
        config: &'a Value,
        family: Option<&'static Family>,
        notes: Vec<ConfigNotice>,
    ) -> Self {
        let guessed = if family.is_none() { guess::words(config) } else { "" };
        let family = family.unwrap_or_else(|| guess::family(guessed));
        let mut scenario = Scenario { model: BLANK, ..Scenario::default() };
        // Families that drop out without a word of the file say so.
        scenario.recipe.dropout = Switch::Off;
        Self { path, config, family, guessed, notes, types: 0, asked: Vec::new(), scenario }
    }

    /// Whether the family has this word.
    pub fn has(&self, word: &str) -> bool {
        [self.family.block, self.family.own, self.guessed].iter().any(|words| families::has(words, word))
    }

    pub fn model(&mut self) -> &mut Model {
        &mut self.scenario.model
    }

    /// The value of a field. DBRX repeats its hidden size in one of its parts.
    pub fn get(&mut self, key: &'static str) -> Option<&'a Value> {
        self.asked.push(key);
        let parts = if self.has("parts") && key != "hidden_size" { &PARTS[..] } else { &[] };
        self.config.get(key).or_else(|| parts.iter().find_map(|part| self.config.get(part)?.get(key)))
    }

    /// Whether all heads share one key and value. Falcon's second architecture has groups instead.
    fn one_for_all(&mut self) -> bool {
        let mut is = |key| self.get(key).and_then(Value::bool);
        let groups = is("new_decoder_architecture") == Some(true) || is("multi_query") == Some(false);
        self.has("multi") && !groups
    }

    /// Sets what words of the link say; words of our own have no equals sign.
    pub fn apply(&mut self, words: &str) {
        for (key, value) in words.split(' ').filter_map(|word| word.split_once('=')) {
            if let Some(field) = Field::from_key(key) {
                if let Ok(scenario) = field.read(value).and_then(|number| self.scenario.with_number(field, number)) {
                    self.scenario = scenario;
                }
            } else if let Some(setting) = Setting::from_key(key) {
                self.scenario = setting.read(value, self.scenario).unwrap_or(self.scenario);
            }
        }
    }

    /// The sizes, one after another.
    pub fn sizes(&mut self) -> Result<(), ConfigError> {
        for words in [self.family.block, self.family.own, self.guessed] {
            self.apply(words);
        }
        let unsaid = self.path.first().map_or("", |file| families::vision::unsaid(file));
        self.apply(unsaid);
        let ratio = RATIO.iter().find_map(|key| self.get(key)?.number());
        let one_for_all = self.one_for_all();
        let stacks = self.has("encoder");
        for &(field, when, keys, why) in if stacks { STACK_SIZES } else { INPUTS } {
            let keys = if stacks { self.first_there(keys) } else { keys };
            let model = self.scenario.model;
            let ranked = model.latent.kv_rank > 0;
            let (is_wanted, is_read) = match when {
                When::Always if field == Field::FeedForward && self.has("multiple") => (true, false),
                When::Always => (true, field != Field::FeedForward || ratio.is_none() || !self.has("4h")),
                When::Grouped if field == Field::HeadDim => (!ranked, self.has("grouped")),
                When::Grouped => (true, self.has("grouped") && !ranked && !one_for_all),
                When::Learned => (matches!(model.position, Position::Learned | Position::Relative), true),
                When::Sound => (self.has("sound"), true),
                When::Latent => (self.has("mla") && (ranked || field == Field::KvRank), true),
                When::Experts => (self.has("moe") && (model.experts.count > 0 || field == Field::Experts), true),
            };
            // Gemma 4 names experts whether or not it has some.
            let has_none = field == Field::Experts && self.has("beside") && self.flag("enable_moe_block") != Some(true);
            if !is_wanted || has_none {
                continue;
            }
            let computed = match field {
                Field::FeedForward if self.has("multiple") => self.rounded_width(),
                // The tokenizer says how many; those of Llama 1 and 2 say 32,000.
                Field::Vocabulary if self.has("multiple") && self.config.get("vocab_size").is_some() => Some(32_000),
                Field::FeedForward if self.has("4h") => Some((ratio.unwrap_or(4.0) * f64::from(model.hidden)) as u32),
                Field::HeadDim => Some(model.hidden / model.heads),
                Field::KvHeads => Some(if one_for_all { 1 } else { model.heads }),
                Field::ActiveExperts => Some(1),
                _ if when == When::Always => None,
                _ => Some(0),
            };
            let keys = match field {
                Field::FeedForward if self.has_experts_alone(keys) => EXPERT_WIDTH,
                _ if !is_read => &[],
                _ => keys,
            };
            let value = self.size(field, keys, computed, why)?;
            self.scenario = self.scenario.with_number(field, value.into()).map_err(ConfigError::Range)?;
        }
        Ok(())
    }

    /// Two thirds of four times the hidden size, times a factor, in whole multiples (`FeedForward.__init__` in
    /// meta-llama/llama3, llama/model.py).
    fn rounded_width(&mut self) -> Option<u32> {
        let inner = (f64::from(self.scenario.model.hidden) * 8.0 / 3.0).floor();
        let factor = self.get("ffn_dim_multiplier").and_then(Value::number).unwrap_or(1.0);
        let multiple = self.get("multiple_of").and_then(Value::number).filter(|multiple| *multiple >= 1.0)?;
        Some((((inner * factor).floor() / multiple).ceil() * multiple) as u32)
    }

    /// The first of several names that the file has, alone.
    fn first_there(&self, keys: Keys) -> Keys {
        let is_there = |key: &&str| self.config.get(key).is_some_and(|value| *value != Value::Null);
        match keys.iter().position(is_there) {
            Some(at) => &keys[at..=at],
            None => keys,
        }
    }

    /// Whether the file has the width of experts and no other.
    fn has_experts_alone(&self, keys: Keys) -> bool {
        let is_there = |keys: Keys| keys.iter().any(|key| self.config.get(key).is_some());
        self.has("moe") && !is_there(keys) && is_there(EXPERT_WIDTH)
    }

    /// A size under one of its names, or the default of the library, or what follows from others.
    fn size(&mut self, field: Field, keys: Keys, computed: Option<u32>, why: &'static str) -> Result<u32, ConfigError> {
        // No family has a 0 as its default.
        let default = Some(self.scenario.number(field) as u32).filter(|number| *number > 0);
        let found = if keys.is_empty() { Found::Null } else { self.look(field, keys) };
        match (found, computed, default) {
            (Found::Value(value), ..) | (Found::Null, Some(value), _) => Ok(value),
            (Found::Null | Found::Absent, None, None) => {
                Err(ConfigError::Missing { field, keys, unknown_type: String::new() })
            }
            (Found::Unusable(unusable), None, _) => Err(ConfigError::Unusable(unusable)),
            (Found::Unusable(unusable), Some(value), default) => {
                let value = default.unwrap_or(value);
                self.notes.push(ConfigNotice::Unusable(unusable, Some(value)));
                Ok(value)
            }
            (_, _, Some(value)) => {
                self.absent(keys[0], number::grouped(value.into()), "");
                Ok(value)
            }
            (Found::Absent, Some(value), None) => {
                if !why.is_empty() {
                    self.absent(keys[0], number::grouped(value.into()), why);
                }
                Ok(value)
            }
        }
    }

    /// The first of `keys` that holds something. Two that disagree are noted.
    fn look(&mut self, field: Field, keys: Keys) -> Found {
        let mut first = None;
        let mut found = Found::Absent;
        for &key in keys {
            match (self.get(key), first) {
                (None, _) => {}
                (Some(Value::Null), _) => {
                    if first.is_none() {
                        found = Found::Null;
                    }
                }
                (Some(value), None) => {
                    first = Some((key, value));
                    found = usable(field, key, value);
                }
                (Some(value), Some((name, other))) => {
                    if value.number() != other.number() {
                        self.notes.push(ConfigNotice::Differ(name, key));
                    }
                }
            }
        }
        found
    }

    /// A number that is no size of the model itself and has a usual value.
    pub fn detail(&mut self, field: Field, keys: Keys, usual: u32) -> u32 {
        match self.look(field, keys) {
            Found::Value(value) => value,
            Found::Null | Found::Absent => usual,
            Found::Unusable(unusable) => {
                self.notes.push(ConfigNotice::Unusable(unusable, Some(usual)));
                usual
            }
        }
    }

    /// Notes a stand-in; without a reason it is a default of the library.
    pub fn absent(&mut self, key: &'static str, used: String, why: &'static str) {
        let family = if why.is_empty() { self.family.name } else { "" };
        self.notes.push(ConfigNotice::Absent { key, used, family, why });
    }

    /// `true` or `false`; `None` for a field that is not there, is null or cannot be used.
    pub fn flag(&mut self, key: &'static str) -> Option<bool> {
        let value = self.get(key)?;
        if value.bool().is_none() && *value != Value::Null {
            let unusable = Unusable::Kind { key, found: value.kind(), wanted: "true or false" };
            self.notes.push(ConfigNotice::Unusable(unusable, None));
        }
        value.bool()
    }
}

/// The number in a field, if it is one that its range allows.
fn usable(field: Field, key: &'static str, value: &Value) -> Found {
    match value {
        Value::Number(text) => match field.read(text) {
            // The range of every whole field is inside `u32`.
            Ok(number) => Found::Value(number as u32),
            Err(problem) => Found::Unusable(Unusable::Range(key, problem)),
        },
        _ => Found::Unusable(Unusable::Kind { key, found: value.kind(), wanted: "a number" }),
    }
}
