//! JSON Schemas (draft 2020-12) of scenario, report, comparison, what others say and what was read, from the tables and types that read
//! and write them.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::comparison::Comparison;
use super::others::Others;
use super::pasted::Pasted;
use super::report::Line;
use crate::{
    Field, Scenario, catalogue,
    choice::ChoiceOption,
    compare::Input,
    course::networks::presets,
    link,
    setting::{self, Setting},
};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema of a JSON scenario. The reader takes more than it describes: numbers with separators,
/// words in any case, and unknown keys, which it names in a notice.
pub fn scenario() -> Value {
    let default = Scenario::default();
    let mut properties = Map::new();
    let id = json!({
        "description": "A mark of your own, which the report repeats.", "type": ["string", "number", "null"]
    });
    properties.insert("id".to_owned(), id);
    properties.insert("v".to_owned(), version());
    let own = (link::OWN, "A model of your own: its numbers are given one by one");
    let models = catalogue::MODELS.iter().map(|row| (row.slug, row.name)).chain([own]).collect();
    properties.insert("model".to_owned(), row("Model", models, link::model_word(default.model.origin)));
    let devices = catalogue::DEVICES.iter().map(|row| (row.slug, row.name)).collect();
    properties.insert("gpu".to_owned(), row("GPU", devices, default.device.origin));
    for field in Field::ALL {
        let default = (!Input::Number(*field).follows()).then(|| default.number(*field));
        properties.insert(field.bound().key.to_owned(), number(*field, default));
    }
    for word in setting::ALL {
        properties.insert(word.key.to_owned(), words(word, (!Input::Word(word).follows()).then(|| word.get(&default))));
    }
    properties.insert(link::NETWORK.to_owned(), network());
    json!({
        "$schema": DRAFT,
        "$id": "urn:bmax:scenario",
        "title": "Scenario",
        "description": "A model, a training recipe, a cluster and a GPU, by the parameters of links. What is absent or null has its default; numbers of the model and of the GPU default to those of \
                        the chosen row.",
        "type": "object",
        "properties": properties,
        "additionalProperties": false
    })
}

/// The schema of a line of output.
pub fn report() -> Value {
    of_type::<Line>("urn:bmax:report", "Report")
}

/// The schema of a comparison.
pub fn comparison() -> Value {
    of_type::<Comparison>("urn:bmax:comparison", "Comparison")
}

/// The schema of what other estimators say.
pub fn others() -> Value {
    of_type::<Others>("urn:bmax:others", "Others")
}

/// The schema of what was read of pasted texts.
pub fn read() -> Value {
    of_type::<Pasted>("urn:bmax:read", "Read")
}

/// The schema of what a type is written as.
fn of_type<T: JsonSchema>(id: &str, title: &str) -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    schema.insert("$id".to_owned(), json!(id));
    schema.insert("title".to_owned(), json!(title));
    let mut schema = schema.to_value();
    join_lines(&mut schema);
    schema
}

/// Descriptions come from comments, whose lines end where the source code has no more room.
fn join_lines(schema: &mut Value) {
    match schema {
        Value::String(text) => *text = text.replace('\n', " "),
        Value::Array(items) => items.iter_mut().for_each(join_lines),
        Value::Object(members) => members.values_mut().for_each(join_lines),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// All in one document.
pub fn all() -> Value {
    json!({
        "$schema": DRAFT,
        "$id": "urn:bmax",
        "title": "bmax",
        "description": "What bmax reads (scenario) and writes (report, comparison, others, read), one JSON value each.",
        "$defs": { "scenario": scenario(), "report": report(), "comparison": comparison(), "others": others(), "read": read() }
    })
}

fn version() -> Value {
    json!({
        "title": "Version",
        "description": "The version of the parameters' meaning and defaults.",
        "type": ["integer", "string", "null"],
        "minimum": 1,
        "maximum": link::VERSION,
        "default": link::VERSION
    })
}

/// A parameter that takes the word of a row of the catalogue.
fn row(title: &str, rows: Vec<(&'static str, &'static str)>, default: &str) -> Value {
    let mut options: Vec<Value> =
        rows.into_iter().map(|(slug, name)| json!({ "const": slug, "description": name })).collect();
    options.push(json!({ "type": "null" }));
    json!({ "title": title, "anyOf": options, "default": default })
}

/// A network of layers, with what is set of it behind its name.
fn network() -> Value {
    let names: Vec<&str> = presets::ALL.iter().map(|preset| preset.0).collect();
    json!({
        "title": "Network",
        "description": format!(
            "A network of layers that is asked about in the place of a transformer, with what is set of it between dots, as \
             links have it: {}.",
            names.join(", ")
        ),
        "type": ["string", "null"]
    })
}

fn number(field: Field, default: Option<f64>) -> Value {
    let bound = &field.bound();
    let kind = if bound.whole { "integer" } else { "number" };
    let schema = json!({
        "title": bound.name,
        "description": format!("{} It takes {bound}.", field.help()),
        // A text is read like what somebody types: with separators, or with the unit behind it.
        "type": [kind, "string", "null"],
        "minimum": super::values::Number(bound.min),
        "maximum": super::values::Number(bound.max)
    });
    with_default(schema, default.map(|number| json!(super::values::Number(number))))
}

fn words(word: &Setting, default: Option<&str>) -> Value {
    let mut options: Vec<Value> = word.options.iter().map(|one| option(word, one)).collect();
    options.push(json!({ "type": "null" }));
    with_default(json!({ "title": word.name, "anyOf": options }), default.map(|word| json!(word)))
}

/// A schema with what stands in for an absent value; of what follows from the rest that is none of its own.
fn with_default(mut schema: Value, default: Option<Value>) -> Value {
    if let Some(default) = default {
        schema["default"] = default;
    }
    schema
}

/// A word, and what JSON has for the same: numbers for digits, true and false for on and off.
fn option(of: &Setting, option: &ChoiceOption) -> Value {
    let mut accepted = vec![json!(option.key)];
    match option.key {
        "on" => accepted.push(json!(true)),
        "off" => accepted.push(json!(false)),
        key => accepted.extend(key.parse::<u32>().ok().map(|number| json!(number))),
    }
    json!({ "enum": accepted, "title": option.label, "description": of.effect(option.key) })
}
