//! A check of a value against a JSON Schema, for the keywords that the schemas here use.
//!
//! A keyword it does not know is an error, so that nothing goes unchecked.

use serde_json::{Map, Value};

/// What is wrong with `value`, if anything, with the place of it.
pub fn check(schema: &Value, value: &Value) -> Result<(), String> {
    Checker { root: schema }.value(schema, value, "")
}

struct Checker<'a> {
    root: &'a Value,
}

impl Checker<'_> {
    fn value(&self, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
        if let Value::Bool(anything) = schema {
            return if *anything { Ok(()) } else { Err(format!("{place} must not be there")) };
        }
        let schema = schema.as_object().ok_or_else(|| format!("{place}: the schema is no object"))?;
        for (keyword, wanted) in schema {
            self.keyword(schema, keyword, wanted, value, place)?;
        }
        Ok(())
    }

    fn keyword(
        &self,
        schema: &Map<String, Value>,
        keyword: &str,
        wanted: &Value,
        value: &Value,
        place: &str,
    ) -> Result<(), String> {
        let holds = match keyword {
            "$schema" | "$id" | "$defs" | "title" | "description" | "default" | "format" => true,
            "$ref" => return self.value(self.definition(wanted)?, value, place),
            "type" => match wanted {
                Value::Array(kinds) => kinds.iter().any(|kind| is_of(kind, value)),
                kind => is_of(kind, value),
            },
            "const" => wanted == value,
            "enum" => wanted.as_array().is_some_and(|words| words.contains(value)),
            "minimum" => value.as_f64().is_none_or(|number| wanted.as_f64().is_some_and(|least| number >= least)),
            "maximum" => value.as_f64().is_none_or(|number| wanted.as_f64().is_some_and(|most| number <= most)),
            "anyOf" => return self.any(wanted, value, place),
            "required" => return required(wanted, value, place),
            "properties" => return self.properties(wanted, value, place),
            "additionalProperties" => return self.others(schema, wanted, value, place),
            "items" => {
                for (position, item) in value.as_array().into_iter().flatten().enumerate() {
                    self.value(wanted, item, &format!("{place}/{position}"))?;
                }
                true
            }
            unknown => return Err(format!("{place}: the check knows no keyword “{unknown}”")),
        };
        if holds { Ok(()) } else { Err(format!("{place}: {value} is against {keyword} {wanted}")) }
    }

    fn definition(&self, reference: &Value) -> Result<&Value, String> {
        let path = reference.as_str().and_then(|path| path.strip_prefix('#')).unwrap_or("?");
        self.root.pointer(path).ok_or_else(|| format!("{reference} leads nowhere"))
    }

    fn any(&self, options: &Value, value: &Value, place: &str) -> Result<(), String> {
        let mut faults = Vec::new();
        for option in options.as_array().into_iter().flatten() {
            match self.value(option, value, place) {
                Ok(()) => return Ok(()),
                Err(fault) => faults.push(fault),
            }
        }
        Err(faults.join("; "))
    }

    fn properties(&self, schemas: &Value, value: &Value, place: &str) -> Result<(), String> {
        for (key, value) in value.as_object().into_iter().flatten() {
            if let Some(schema) = schemas.get(key) {
                self.value(schema, value, &format!("{place}/{key}"))?;
            }
        }
        Ok(())
    }

    fn others(&self, schema: &Map<String, Value>, wanted: &Value, value: &Value, place: &str) -> Result<(), String> {
        let named = |key: &str| schema.get("properties").is_some_and(|properties| properties.get(key).is_some());
        for (key, value) in value.as_object().into_iter().flatten().filter(|(key, _)| !named(key)) {
            self.value(wanted, value, &format!("{place}/{key}"))?;
        }
        Ok(())
    }
}

fn required(keys: &Value, value: &Value, place: &str) -> Result<(), String> {
    let Some(object) = value.as_object() else { return Ok(()) };
    let missing =
        keys.as_array().into_iter().flatten().filter_map(Value::as_str).find(|key| !object.contains_key(*key));
    missing.map_or(Ok(()), |key| Err(format!("{place} lacks {key}")))
}

fn is_of(kind: &Value, value: &Value) -> bool {
    match kind.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("number") => value.is_number(),
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => false,
    }
}

#[test]
fn the_check_refuses_what_a_schema_does_not_allow() {
    let schema = serde_json::json!({
        "type": "object",
        "properties": { "a": { "$ref": "#/$defs/small" }, "b": { "anyOf": [{ "const": 1 }, { "type": "null" }] } },
        "required": ["a"],
        "additionalProperties": false,
        "$defs": { "small": { "type": "integer", "minimum": 0, "maximum": 9 } }
    });
    let ok = |text: &str| check(&schema, &serde_json::from_str(text).expect("JSON")).is_ok();
    assert!(ok(r#"{"a": 3}"#) && ok(r#"{"a": 0, "b": null}"#) && ok(r#"{"a": 9, "b": 1}"#));
    for bad in
        ["[]", "{}", r#"{"a": 10}"#, r#"{"a": "3"}"#, r#"{"a": 1.5}"#, r#"{"a": 1, "b": 2}"#, r#"{"a": 1, "c": 1}"#]
    {
        assert!(!ok(bad), "{bad}");
    }
    assert!(check(&serde_json::json!({ "pattern": "x" }), &Value::Null).is_err());
}
