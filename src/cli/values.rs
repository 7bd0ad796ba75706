//! Numbers and scenarios as JSON writes them.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::compare::{self, Input};
use crate::{Bytes, Field, Scenario, link, number, setting};

/// A finite number, written without a point where it is whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(pub f64);

impl From<Bytes> for Number {
    fn from(bytes: Bytes) -> Self {
        Self(bytes.get())
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Every whole number below 2⁵³ is exact in both types.
        if self.0.fract() == 0.0 && self.0.abs() < 9_007_199_254_740_992.0 {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

impl JsonSchema for Number {
    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number" })
    }
}

/// The value of one parameter: a number in its unit or a word.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(Number),
    /// A word.
    Word(&'static str),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => f.write_str(&number::plain(number.0)),
            Self::Word(word) => f.write_str(word),
        }
    }
}

impl From<compare::Value> for Value {
    fn from(value: compare::Value) -> Self {
        match value {
            compare::Value::Number(number) => Self::Number(Number(number)),
            compare::Value::Word(word) => Self::Word(word),
        }
    }
}

impl From<Value> for compare::Value {
    fn from(value: Value) -> Self {
        match value {
            Value::Number(Number(number)) => Self::Number(number),
            Value::Word(word) => Self::Word(word),
        }
    }
}

/// Every parameter with the value in use, by its name in links. It is a JSON scenario itself, and
/// asks for the same report again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters(pub Scenario);

impl Parameters {
    /// Names and values, in the order of [`link::parameters`].
    fn entries(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let version = ("v", Value::Number(Number(link::VERSION.into())));
        let inputs = [Input::Model, Input::Gpu].into_iter().chain(Input::each());
        std::iter::once(version).chain(inputs.map(|input| (input.key(), input.value(&self.0).into())))
    }
}

impl Serialize for Parameters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.entries() {
            map.serialize_entry(key, &value)?;
        }
        map.end()
    }
}

impl JsonSchema for Parameters {
    fn schema_name() -> Cow<'static, str> {
        "Parameters".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut properties = serde_json::Map::new();
        for key in ["model", "gpu"] {
            properties.insert(key.to_owned(), serde_json::json!({ "type": "string" }));
        }
        properties.insert("v".to_owned(), serde_json::json!({ "const": link::VERSION }));
        for field in Field::ALL {
            let bound = field.bound();
            let kind = if bound.whole { "integer" } else { "number" };
            let schema = serde_json::json!({ "type": kind, "title": bound.name });
            properties.insert(bound.key.to_owned(), schema);
        }
        for word in setting::ALL {
            let words: Vec<_> = word.options.iter().map(|option| option.key).collect();
            properties.insert(word.key.to_owned(), serde_json::json!({ "enum": words, "title": word.name }));
        }
        let required: Vec<String> = properties.keys().cloned().collect();
        json_schema!({
            "description": "Every parameter with the value in use, by its name in links. \
                            It is a JSON scenario itself, and asks for the same report again.",
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false
        })
    }
}
