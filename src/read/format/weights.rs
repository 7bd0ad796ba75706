//! What files of a model's weights say: the index of several files, and the header of one.
//!
//! Neither is read key by key. A model has tens of thousands of tensors, and what matters is in their names and sizes.

use super::super::facts::{Base, Count, Fact};
use super::super::syntax::Document;
use super::Rule::{Count as Counts, Only, Rank, Words};
use super::Said::{self, Link, Nothing};
use super::{Format, Meaning, Row, Table, open};
use crate::json::Value;
use crate::number;

/// How the header of a file is told, whose keys are the names of its tensors.
const TENSOR: [&str; 3] = ["dtype", "shape", "data_offsets"];

const PART: &str = "the weights of one file of several; the index, or config.json, has those of the model";
const FLOAT8: &str = "weights in 8-bit floating point, as they are saved; they are counted in the type of the run";

/// How many bits of a weight are saved by bitsandbytes, told by what its states are called (`Params4bit` and `Int8Params` in
/// bitsandbytes/nn/modules.py, 0.50.2).
const BITS: &[(&str, Said)] =
    &[("4", Said::Fact(Fact::Base(Base::FourBits))), ("8", Said::Fact(Fact::Base(Base::EightBits)))];

static TABLE: Table = Table {
    source: "safetensors 0.8.0, safetensors/src/tensor.rs; huggingface_hub 2.4.0, serialization/_base.py",
    is_of_scripts: false,
    keys: &[
        open(&["metadata.total_parameters", "weights"], Counts(Count::SavedWeights)),
        open(&["metadata.total_size"], Counts(Count::SavedBytes)),
        open(&["weights_of_a_part"], Only("", PART)),
        open(&["experts"], Words(&[("stacked", Link("expert_matrices=stacked")), ("apart", Nothing)])),
        open(&["quantized"], Words(BITS)),
        open(
            &["dtype"],
            Words(&[("f32", Nothing), ("f16", Nothing), ("bf16", Nothing), ("f8", Said::NotCounted(FLOAT8))]),
        ),
        open(&["rank"], Rank),
    ],
    no_matter: "weight_map metadata.*",
    not_counted: &[],
};

pub(super) static INDEX: Row = Row {
    format: Format::WeightIndex,
    name: "the index of a model’s weights (safetensors)",
    signs: &[&["weight_map"]],
    needs: None,
};

pub(super) static MEANING: Meaning = Meaning { always: &[], tables: &[&TABLE], within: &[] };

pub(super) static HEADER: Row = Row {
    format: Format::WeightHeader,
    name: "the header of a file of weights (safetensors)",
    signs: &[],
    needs: None,
};

/// What an index says, in few entries.
pub(in crate::read) fn of_index(value: &Value) -> Document {
    let mut found = Document::default();
    found.put("weight_map".to_owned(), Value::Bool(true), 1);
    by_names(entries(value.get("weight_map")).iter().map(|(name, _)| name.as_str()), &mut found);
    let metadata = entries(value.get("metadata"));
    // Packed weights have other sizes than those that the model is told by, and their number says more than their bytes.
    let is_packed = found.has("quantized");
    let has_number = metadata.iter().any(|(key, _)| key == "total_parameters");
    for (key, value) in metadata {
        let is_told = match key.as_str() {
            "total_parameters" => !is_packed,
            "total_size" => !is_packed && !has_number,
            _ => true,
        };
        if is_told {
            found.put(format!("metadata.{key}"), value.clone(), 1);
        }
    }
    found
}

/// What a header says, in few entries; none where it is no header.
pub(in crate::read) fn of_header(value: &Value) -> Option<Document> {
    let tensors: Vec<(&str, Saved)> =
        entries(Some(value)).iter().filter_map(|(name, tensor)| Some((name.as_str(), Saved::of(tensor)?))).collect();
    if tensors.is_empty() {
        return None;
    }
    let names = || tensors.iter().map(|(name, _)| *name);
    let mut found = Document::default();
    let low = tensors.iter().filter(|(name, _)| name.contains("lora_A"));
    if let Some(rank) = low.filter_map(|(_, saved)| saved.first).reduce(f64::max) {
        // An adapter's own file: what it is added to stands elsewhere.
        found.put("rank".to_owned(), Value::Number(number::plain(rank)), 1);
        return Some(found);
    }
    let elements = |dtype: &str| -> f64 {
        tensors.iter().filter(|(_, saved)| saved.dtype.starts_with(dtype)).map(|(_, saved)| saved.elements).sum()
    };
    let counted = ["F32", "F16", "BF16", "F8"].map(|dtype| (dtype, elements(dtype)));
    let common = counted.into_iter().max_by(|(_, one), (_, other)| one.total_cmp(other));
    if let Some((common, _)) = common.filter(|(_, elements)| *elements > 0.0) {
        found.put("dtype".to_owned(), Value::Text(common.to_ascii_lowercase()), 1);
    }
    by_names(names(), &mut found);
    if !found.has("quantized") {
        let all = tensors.iter().map(|(_, saved)| saved.elements).sum();
        let path = if is_whole(names()) { "weights" } else { "weights_of_a_part" };
        found.put(path.to_owned(), Value::Number(number::plain(all)), 1);
    }
    Some(found)
}

/// A tensor as a header has it (`TensorInfo` in safetensors/src/tensor.rs).
struct Saved<'a> {
    dtype: &'a str,
    elements: f64,
    /// Its first dimension; none for a single number.
    first: Option<f64>,
}

impl<'a> Saved<'a> {
    fn of(value: &'a Value) -> Option<Self> {
        let [Some(dtype), Some(Value::List(shape)), Some(_)] = TENSOR.map(|key| value.get(key)) else { return None };
        let sides = shape.iter().map(Value::number).collect::<Option<Vec<f64>>>()?;
        Some(Self { dtype: dtype.text()?, elements: sides.iter().product(), first: sides.first().copied() })
    }
}

fn entries(value: Option<&Value>) -> &[(String, Value)] {
    if let Some(Value::Object(entries)) = value { entries } else { &[] }
}

/// Puts what the names of tensors say: how experts are saved, and whether weights are packed.
fn by_names<'a>(names: impl Iterator<Item = &'a str>, to: &mut Document) {
    let (mut experts, mut bits) = (None, None);
    for name in names {
        if let Some((_, rest)) = name.split_once(".experts.") {
            let is_apart = rest.starts_with(|first: char| first.is_ascii_digit());
            experts = experts.or(Some(if is_apart { "apart" } else { "stacked" }));
        }
        if name.contains(".quant_state.bitsandbytes__") {
            bits = Some("4");
        } else if name.ends_with(".SCB") {
            bits = bits.or(Some("8"));
        }
    }
    for (key, word) in [("experts", experts), ("quantized", bits)] {
        if let Some(word) = word {
            to.put(key.to_owned(), Value::Text(word.to_owned()), 1);
        }
    }
}

/// Whether tensors are those of a whole model: it has a table of tokens, and its layers are there from the first to the norm
/// behind the last.
fn is_whole<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let (mut has_table, mut has_norm) = (false, false);
    for name in names {
        let is = |parts: &[&str]| parts.iter().any(|part| name.ends_with(part));
        has_table |= is(&[
            "embed_tokens.weight",
            "wte.weight",
            "embed_in.weight",
            "word_embeddings.weight",
            "tok_embeddings.weight",
        ]);
        let is_in_layer = ["layers.", "h.", "layer.", "blocks."].iter().any(|list| name.contains(list));
        has_norm |= !is_in_layer
            && is(&["norm.weight", "ln_f.weight", "layer_norm.weight", "norm_f.weight", "LayerNorm.weight"]);
    }
    has_table && has_norm
}

/// How many bytes of a file are read to have its header: its own length in eight bytes, little end first, and JSON of that
/// length (`SafeTensors::read_metadata` in safetensors/src/tensor.rs, which takes at most 100 MB); none where it is no such
/// file.
pub fn header_bytes(beginning: &[u8]) -> Option<u64> {
    let (length, rest) = beginning.split_first_chunk::<8>()?;
    let length = u64::from_le_bytes(*length);
    (rest.first() == Some(&b'{') && length < 100_000_000).then(|| length + 8)
}

/// The header in the bytes of a file of weights, or in its first ones; none where it is no such file, or is not all there.
pub(in crate::read) fn header(bytes: &[u8]) -> Option<&str> {
    let end = usize::try_from(header_bytes(bytes)?).ok()?;
    std::str::from_utf8(bytes.get(8..end)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    /// Entries as `path=value`.
    fn shown(found: &Document) -> Vec<String> {
        let value = |value: &Value| match value {
            Value::Text(text) | Value::Number(text) => text.clone(),
            other => format!("{other:?}"),
        };
        found.entries.iter().map(|entry| format!("{}={}", entry.path, value(&entry.value))).collect()
    }

    #[test]
    fn a_header_says_how_many_weights_there_are_and_of_what_type() {
        let text = r#"{"__metadata__": {"format": "pt"},
            "model.embed_tokens.weight": {"dtype": "BF16", "shape": [100, 8], "data_offsets": [0, 1600]},
            "model.layers.0.mlp.experts.gate_up_proj": {"dtype": "BF16", "shape": [4, 8, 6], "data_offsets": [1600, 1984]},
            "model.norm.weight": {"dtype": "F32", "shape": [8], "data_offsets": [1984, 2016]}}"#;
        let found = of_header(&json::read_file(text).expect("JSON")).expect("a header");
        assert_eq!(shown(&found), ["dtype=bf16", "experts=stacked", "weights=1000"]);
        let part = text.replace("model.norm.weight", "model.layers.0.norm.weight");
        let found = of_header(&json::read_file(&part).expect("JSON")).expect("a header");
        assert!(shown(&found).contains(&"weights_of_a_part=1000".to_owned()));
        let adapter = r#"{"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight": {"dtype": "F32", "shape": [16, 64], "data_offsets": [0, 4096]}}"#;
        assert_eq!(shown(&of_header(&json::read_file(adapter).expect("JSON")).expect("a header")), ["rank=16"]);
        assert_eq!(of_header(&json::read_file(r#"{"dtype": "bf16", "shape": [1]}"#).expect("JSON")), None);
    }

    #[test]
    fn the_header_of_a_file_ends_where_its_length_says() {
        let json = br#"{"a": 1}"#;
        let file = [&8_u64.to_le_bytes()[..], json, &[255; 16]].concat();
        assert_eq!(header_bytes(&file), Some(16));
        assert_eq!(header(&file), Some(r#"{"a": 1}"#));
        assert_eq!(header(&file[..12]), None);
        assert_eq!(header_bytes(b"{\"a\": 1}, and more"), None);
        assert_eq!(header_bytes(&[&u64::MAX.to_le_bytes()[..], json].concat()), None);
    }
}
