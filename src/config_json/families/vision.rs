//! Towers that see images, one row a `model_type`: which fields hold their sizes, what the library takes where a field
//! is not there, and what has to be so for the tower to be counted.
//!
//! Defaults are those of the configuration classes of transformers 5.23.

use crate::json::Value;
use crate::{Tower, Vision};

/// How the tower of one type of model is read.
struct Row {
    /// The value of `model_type` of the whole file.
    of: &'static str,
    tower: Tower,
    /// Names and defaults of layers, width, heads, feed-forward width, patch and side. Without a name the side is 0.
    sizes: [(&'static str, u32); 6],
    /// Numbers, words or switches that have to have this value, here or in the whole file, and their default.
    holds: &'static [(&'static str, &'static str, &'static str)],
}

const QWEN: &[(&str, &str, &str)] = &[
    ("temporal_patch_size", "2", "2"),
    ("spatial_merge_size", "2", "2"),
    ("in_channels", "3", "3"),
    ("in_chans", "3", "3"),
];
const CLIP: &[(&str, &str, &str)] = &[
    ("model_type", "clip_vision_model", "clip_vision_model"),
    ("num_channels", "3", "3"),
    ("vision_feature_layer", "-2", "-2"),
    ("vision_feature_select_strategy", "default", "default"),
    ("multimodal_projector_bias", "true", "true"),
];
const CLIP_SIZES: [(&str, u32); 6] = [
    ("num_hidden_layers", 12),
    ("hidden_size", 768),
    ("num_attention_heads", 12),
    ("intermediate_size", 3_072),
    ("patch_size", 32),
    ("image_size", 224),
];

static ROWS: &[Row] = &[
    Row {
        of: "qwen2_5_vl",
        tower: Tower::Qwen25Vl,
        sizes: [
            ("depth", 32),
            ("hidden_size", 3_584),
            ("num_heads", 16),
            ("intermediate_size", 3_420),
            ("patch_size", 14),
            ("", 0),
        ],
        holds: QWEN,
    },
    Row {
        of: "qwen2_vl",
        tower: Tower::Qwen2Vl,
        // The feed-forward width is `mlp_ratio` times the width.
        sizes: [("depth", 32), ("embed_dim", 1_280), ("num_heads", 16), ("mlp_ratio", 4), ("patch_size", 14), ("", 0)],
        holds: QWEN,
    },
    Row { of: "llava", tower: Tower::Llava, sizes: CLIP_SIZES, holds: CLIP },
    Row { of: "llava_next", tower: Tower::LlavaNext, sizes: CLIP_SIZES, holds: CLIP },
    Row {
        of: "gemma3",
        tower: Tower::Gemma3,
        sizes: [
            ("num_hidden_layers", 12),
            ("hidden_size", 768),
            ("num_attention_heads", 12),
            ("intermediate_size", 3_072),
            ("patch_size", 16),
            ("image_size", 224),
        ],
        holds: &[
            ("model_type", "siglip_vision_model", "siglip_vision_model"),
            ("num_channels", "3", "3"),
            ("mm_tokens_per_image", "256", "256"),
            // With the head of SigLIP there is a block more, which pools.
            ("vision_use_head", "false", "true"),
        ],
    },
    Row {
        of: "llama4",
        tower: Tower::Llama4,
        sizes: [
            ("num_hidden_layers", 34),
            ("hidden_size", 768),
            ("num_attention_heads", 16),
            ("intermediate_size", 5_632),
            ("patch_size", 14),
            ("image_size", 448),
        ],
        holds: &[
            ("num_channels", "3", "3"),
            ("projector_input_dim", "4096", "4096"),
            ("projector_output_dim", "4096", "4096"),
            ("vision_output_dim", "4096", "7680"),
            ("pixel_shuffle_ratio", "0.5", "0.5"),
        ],
    },
];

/// The field that describes a tower.
pub(in crate::config_json) const FIELD: &str = "vision_config";

/// The tower of a file whose language model has the width `text`; `None` where there is none or it is built in another
/// way than the count.
pub(in crate::config_json) fn tower(file: &Value, text: u32) -> Option<Vision> {
    let kind = file.get("model_type")?.text()?;
    let row = ROWS.iter().find(|row| row.of == kind)?;
    let config = file.get(FIELD).filter(|config| !config.entries().is_empty())?;
    let is_there = |value: &&Value| **value != Value::Null;
    let holds = row.holds.iter().all(|(key, wanted, default)| {
        let found = config.get(key).filter(is_there).or_else(|| file.get(key).filter(is_there));
        // The file has a `model_type` of its own.
        let found = if *key == "model_type" { config.get(key) } else { found };
        match found {
            None => wanted == default,
            Some(Value::Number(text)) => text == wanted,
            Some(value) => match value.bool() {
                Some(on) => on.to_string() == **wanted,
                None => value.text() == Some(wanted),
            },
        }
    });
    // What comes out of Qwen's merger is as wide as the language model.
    let out = match row.tower {
        Tower::Qwen25Vl => config.get("out_hidden_size").map_or(Some(3_584.0), Value::number),
        Tower::Qwen2Vl => config.get("hidden_size").map_or(Some(3_584.0), Value::number),
        _ => Some(text.into()),
    };
    if !holds || out != Some(text.into()) {
        return None;
    }
    let mut sizes = [0_u32; 6];
    for (size, (key, default)) in sizes.iter_mut().zip(row.sizes) {
        *size = match config.get(key).filter(is_there) {
            _ if key.is_empty() => 0,
            None => default,
            Some(value) => {
                let number = value.number()?;
                if !(1.0..=131_072.0).contains(&number) || number.fract() != 0.0 {
                    return None;
                }
                number as u32
            }
        };
    }
    let [layers, hidden, heads, mut feed_forward, patch, side] = sizes;
    if row.tower == Tower::Qwen2Vl {
        feed_forward = feed_forward.checked_mul(hidden)?;
    }
    let fits = layers <= 1_024 && heads <= 1_024 && feed_forward <= 1_048_576 && patch <= 1_024 && side <= 16_384;
    let divides = hidden % heads == 0 && (side == 0 || side >= patch);
    (fits && divides).then_some(Vision { tower: row.tower, layers, hidden, heads, feed_forward, patch, side })
}

/// What LLaVA's files leave out of their language model, because it is the default of its class in the library.
pub(in crate::config_json) fn unsaid(file: &Value) -> &'static str {
    let text = file.get("text_config").and_then(|text| text.get("model_type")?.text());
    match (file.get("model_type").and_then(Value::text), text) {
        (Some("llava" | "llava_next"), Some("llama")) => "hidden=4096 layers=32 heads=32 ffn=11008",
        (Some("llava" | "llava_next"), Some("mistral")) => "hidden=4096 layers=32 heads=32 ffn=14336",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use crate::{Vision, config_json};

    macro_rules! files {
        ($($name:literal),+) => {
            [$(($name, include_str!(concat!("../../../tests/config_files/", $name, ".json")))),+]
        };
    }

    /// Weights of each file as the class of transformers 5.23.0 has them, made by tests/vectors/images.py.
    const WEIGHTS: &str = include_str!("../../../tests/vectors/image_weights.json");

    #[test]
    fn every_weight_of_a_model_that_sees_is_counted() {
        let rows: Vec<serde_json::Value> = serde_json::from_str(WEIGHTS).expect("a list");
        let files = files![
            "qwen2.5-vl-3b",
            "qwen2.5-vl-7b",
            "qwen2.5-vl-72b",
            "qwen2-vl-7b",
            "llava-1.5-7b",
            "llava-1.5-13b",
            "llava-next-mistral-7b",
            "gemma-3-4b",
            "gemma-3-12b",
            "gemma-3-27b",
            "llama-4-scout",
            "llama-4-maverick"
        ];
        assert_eq!(rows.len(), files.len());
        for ((name, text), row) in files.iter().zip(rows) {
            assert_eq!(row["model"], **name);
            let reading = config_json::read(text).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
            let vision = reading.model.vision;
            let weights = vision.weights(reading.model.hidden);
            assert_eq!(row["tower"], weights.tower(vision.layers), "{name}");
            assert_eq!(row["projector"], weights.projector, "{name}");
            assert_eq!(row["weights"].as_i64(), Some(reading.weights()), "{name}: {:?}", reading.notes);
        }
    }

    #[test]
    fn a_tower_that_is_built_otherwise_is_named_and_not_counted() {
        let text = include_str!("../../../tests/config_files/llava-1.5-7b.json");
        for (old, new) in [
            ("clip_vision_model", "pixtral"),
            ("\"vision_feature_layer\": -2", "\"vision_feature_layer\": -1"),
            ("\"patch_size\": 14", "\"patch_size\": 0.5"),
        ] {
            assert!(text.contains(old), "{old}");
            let reading = config_json::read(&text.replace(old, new)).expect("a model");
            assert_eq!(reading.model.vision, Vision::NONE, "{new}");
            let notes: Vec<_> = reading.notes.iter().map(ToString::to_string).collect();
            let said = "The part that “vision_config” describes is not counted";
            assert!(notes.iter().any(|note| note.starts_with(said)), "{notes:?}");
        }
    }
}
