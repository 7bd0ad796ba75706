//! What a file says about blocks that no family describes, and what cannot be counted at all.

use super::families::{self, Family, LLAMA, OTHERS, PAIRS, STATES};
use super::inputs::ACTIVATION;
use super::notes::{ByHand, ConfigError};
use super::reader::Reader;
use crate::bounds::excerpt;
use crate::catalogue::{AsUsual, Usual};
use crate::json::Value;
use crate::{Experts, Field, Model, Position, link};

/// Files of no known family: the names are tried that Llama and the models with experts share, and
/// the words of [`words`] say how the blocks are built.
static GATED: Family =
    Family { types: "", name: "Llama, assumed", block: LLAMA, own: "moe mla qk-head switched", differences: &[] };
static UNGATED: Family =
    Family { types: "", name: "GPT, assumed", block: LLAMA, own: "moe mla qk-head switched", differences: &[] };

/// The words for each kind of block that can be told from a file.
const UNGATED_RMS: &str = "mlp=gelu";
const UNGATED_LAYER: &str = "mlp=gelu norm=layernorm bias=all";
const LEARNED: &str = "mlp=gelu norm=layernorm bias=all position=learned";
const ENCODER: &str = "mlp=gelu norm=layernorm bias=all position=learned tied=on types:2 masked";
const GATED_LAYER: &str = "norm=layernorm";
#[cfg(test)]
pub(super) const BLOCKS: [&str; 5] = [UNGATED_RMS, UNGATED_LAYER, LEARNED, ENCODER, GATED_LAYER];

/// The family of a guess.
pub(super) fn family(words: &str) -> &'static Family {
    if families::has(words, "mlp=gelu") { &UNGATED } else { &GATED }
}

/// How a guess is explained, as the end of a sentence.
pub(super) fn explained(words: &str) -> &'static str {
    match words {
        UNGATED_RMS => "as a Llama block without a gate, by its activation function",
        UNGATED_LAYER | LEARNED => "as a GPT block without a gate, by its activation function",
        ENCODER => "as a BERT block without a gate, by its activation function and token types",
        _ => "as a Llama block",
    }
}

/// What the fields say about the blocks. Gates go with SiLU, and with GELU in models with RMSNorm
/// (Shazeer 2020, arXiv 2002.05202); every other activation function stands between two matrices.
pub(super) fn words(config: &Value) -> &'static str {
    let is_there = |key: &str| config.get(key).is_some_and(|value| *value != Value::Null);
    let named = ACTIVATION.iter().find_map(|key| config.get(key)?.text()).unwrap_or_default();
    let has_layer_norm = ["layer_norm_eps", "layer_norm_epsilon", "layernorm_epsilon"].iter().any(|key| is_there(key));
    let is_rms = is_there("rms_norm_eps");
    let is_gated = match named {
        "" => !has_layer_norm || is_rms,
        "silu" | "swish" => true,
        name if name.contains("glu") => true,
        "gelu_pytorch_tanh" | "gelu_tanh" => is_rms,
        _ => false,
    };
    let is_rotary =
        ["rope_theta", "rope_parameters", "rope_scaling", "rotary_dim", "rotary_pct"].iter().any(|key| is_there(key));
    match (is_gated, has_layer_norm && !is_rms) {
        (true, false) => "",
        (true, true) => GATED_LAYER,
        (false, _) if is_rms => UNGATED_RMS,
        (false, _) if is_rotary => UNGATED_LAYER,
        (false, _) if is_there("type_vocab_size") => ENCODER,
        (false, _) if is_there("max_position_embeddings") || is_there("n_positions") => LEARNED,
        (false, _) => UNGATED_LAYER,
    }
}

/// Refuses what is no single stack of attention and feed-forward blocks, and says what can be asked
/// instead.
pub(super) fn refuse(
    file: &Value,
    config: &Value,
    model_type: &str,
    family: Option<&Family>,
) -> Result<(), ConfigError> {
    let is_on = |key| [file, config].iter().any(|object| object.get(key).and_then(Value::bool) == Some(true));
    let is_there = |key: &str| config.get(key).is_some_and(|value| *value != Value::Null);
    let has_object = |key| matches!(file.get(key), Some(Value::Object(_)));
    let is_decoder = is_there("decoder_layers") || is_there("num_decoder_layers");
    let is_known = family.is_some_and(|family| families::has(family.block, "encoder"));
    let differ = |[one, other]: &[&str; 2]| {
        let sizes = [one, other].map(|key| config.get(key).and_then(Value::number));
        sizes[0].zip(sizes[1]).is_some_and(|(one, other)| one != other)
    };
    let class = file.get("architectures").and_then(|list| list.items().first()?.text()).unwrap_or_default();
    // Half of a model is not counted as one.
    let half = ["ForCausalLM", "EncoderModel", "Encoder", "Decoder", "ForAudioClassification"];
    let is_half = half.iter().any(|end| class.ends_with(end)) || PAIRS.iter().any(differ);
    let two = is_on("is_encoder_decoder") || is_decoder || (has_object("encoder") && has_object("decoder"));
    if (two && !is_known) || (is_known && is_half) {
        let decoder = file.get("decoder").filter(|decoder| matches!(decoder, Value::Object(_))).unwrap_or(config);
        return Err(ConfigError::TwoStacks(decoder_by_hand(decoder)));
    }
    let bare = model_type.strip_suffix("_text").unwrap_or(model_type);
    if let Some(other) =
        OTHERS.iter().find(|other| [bare, model_type].iter().any(|name| families::has(other.types, name)))
    {
        let sign = format!("“{}”", excerpt(model_type));
        return Err(ConfigError::OtherLayers { sign, what: other.what });
    }
    // DeBERTa's scores are sums of products of words with words and of words with distances (He et al. 2021,
    // arXiv 2006.03654, section 3.1), of which its code keeps more than is counted.
    if is_on("relative_attention") {
        let sign = "“relative_attention”".to_owned();
        let what = "attend to words and to distances by scores of their own";
        return Err(ConfigError::OtherLayers { sign, what });
    }
    if family.is_none()
        && let Some(key) = other_senses(file, config)
    {
        return Err(ConfigError::NotLanguage(key));
    }
    if !family.is_some_and(|family| families::has(family.own, "linear"))
        && let Some(sign) = other_layers(config, family.is_some())
    {
        return Err(ConfigError::OtherLayers { sign, what: STATES });
    }
    Ok(())
}

/// The field that says that some layers are no attention.
fn other_layers(config: &Value, is_known: bool) -> Option<String> {
    const LISTS: [&str; 3] = ["layer_types", "layers_block_type", "block_types"];
    const ATTENTION: [&str; 6] = ["attention", "sliding", "full", "global", "local", "sparse"];
    const OTHER: [&str; 3] = ["linear", "mamba", "hybrid"];
    for key in LISTS {
        let is_other = |kind: &&str| {
            OTHER.iter().any(|part| kind.contains(part)) || !ATTENTION.iter().any(|part| kind.contains(part))
        };
        let kind = config.get(key).and_then(|list| list.items().iter().filter_map(Value::text).find(is_other));
        if let Some(kind) = kind {
            return Some(format!("“{key}” has “{}”", excerpt(kind)));
        }
    }
    // A known family has no use for these fields, and its file may have them all the same.
    const STARTS: [&str; 10] = [
        "mamba_",
        "ssm_",
        "state_size",
        "conv_L_cache",
        "rwkv",
        "lru_",
        "linear_num_",
        "linear_attn",
        "attn_type_list",
        "time_step_",
    ];
    let is_sign = |key: &str| STARTS.iter().any(|start| key.starts_with(start));
    let mut signs = config.entries().iter().filter(|(key, value)| is_sign(key) && *value != Value::Null);
    if is_known { None } else { signs.next().map(|(key, _)| format!("“{}”", excerpt(key))) }
}

/// The field that says that a file of no known family is not of a language model.
fn other_senses(file: &Value, config: &Value) -> Option<&'static str> {
    const SIGHTS: [&str; 3] = ["image_size", "patch_size", "num_channels"];
    const SOUNDS: [&str; 5] = ["num_mel_bins", "sampling_rate", "sample_rate", "feat_extract_norm", "conv_dim"];
    // Two encoders side by side, which learn to agree.
    const PAIRS: [&str; 2] = ["logit_scale_init_value", "projection_dim"];
    // Some models that see have these fields beside those of their language model.
    const LANGUAGE: [&str; 4] = ["rms_norm_eps", "rope_theta", "rope_parameters", "num_key_value_heads"];
    let is_there = |object: &Value, key: &str| object.get(key).is_some_and(|value| *value != Value::Null);
    let has_words = is_there(config, "vocab_size") && LANGUAGE.iter().any(|key| is_there(config, key));
    let in_file = |keys: &'static [&'static str]| keys.iter().find(|key| is_there(file, key));
    let in_config = |keys: &'static [&'static str]| keys.iter().find(|key| is_there(config, key));
    let sight = if has_words { None } else { in_config(&SIGHTS) };
    let outside = if is_there(config, "vocab_size") { None } else { in_file(&SIGHTS).or_else(|| in_file(&SOUNDS)) };
    in_file(&PAIRS).or_else(|| in_config(&SOUNDS)).or(sight).or(outside).copied()
}

/// The names that the decoders of encoder–decoders have for their sizes, before those that all share.
const SIZES: [(Field, &[&str]); 7] = [
    (Field::Hidden, &["d_model", "hidden_size", "n_embd", "dim"]),
    (
        Field::Layers,
        &["decoder_layers", "num_decoder_layers", "num_hidden_layers", "n_layer", "n_layers", "num_layers"],
    ),
    (Field::Heads, &["decoder_attention_heads", "num_attention_heads", "num_heads", "n_head", "n_heads"]),
    (Field::KvHeads, &["num_key_value_heads", "decoder_attention_heads", "num_attention_heads", "num_heads", "n_head"]),
    (Field::HeadDim, &["head_dim", "d_kv"]),
    (Field::FeedForward, &["decoder_ffn_dim", "intermediate_size", "d_ff", "ffn_dim", "n_inner"]),
    (Field::Vocabulary, &["vocab_size"]),
];

/// The decoder of a pair as a model of its own, by the sizes of its file; `None` where one of them is not there, or where
/// the question would be read as another model.
fn decoder_by_hand(config: &Value) -> Option<ByHand> {
    let path = [config];
    let mut reader = Reader::new(&path, config, None, Vec::new());
    for words in [reader.family.block, reader.family.own, reader.guessed] {
        reader.apply(words);
    }
    for (field, keys) in SIZES {
        let found = keys.iter().find_map(|key| match config.get(key) {
            Some(Value::Number(text)) => field.read(text).ok(),
            _ => None,
        });
        let Model { hidden, heads, .. } = reader.scenario.model;
        let width = || (field == Field::HeadDim).then(|| f64::from(hidden.checked_div(heads).unwrap_or_default()));
        reader.scenario = reader.scenario.with_number(field, found.or_else(width)?).ok()?;
    }
    // A table of positions is one of its sizes, too.
    if reader.scenario.model.position == Position::Learned {
        let rows = ["max_position_embeddings", "n_positions"].iter().find_map(|key| config.get(key)?.number())?;
        reader.scenario = reader.scenario.with_number(Field::Positions, rows).ok()?;
    }
    let tied = config.get("tie_word_embeddings").and_then(Value::bool).unwrap_or(true);
    let mut model = Model { tied_embeddings: tied.into(), experts: Experts::NONE, ..reader.scenario.model };
    model.parameters = model.derived_parameters();
    let by_hand =
        ByHand(Box::new(AsUsual { model, usual: Usual::of(model.parameters, reader.scenario.recipe.dropout) }));
    let asked = link::decode(&by_hand.query());
    (asked.notices.is_empty() && asked.scenario.model == model).then_some(by_hand)
}

/// The family of a file without a `model_type`, in the names of the code that its model was published with: dim, n_layers,
/// n_heads. Mistral's (`ModelArgs` in mistralai/mistral-inference, src/mistral_inference/args.py) has a feed-forward width,
/// Meta's (`ModelArgs` in meta-llama/llama3, llama/model.py) what it follows from.
pub(super) fn own_names(config: &Value) -> Option<&'static str> {
    let has = |keys: &[&str]| keys.iter().all(|key| config.get(key).is_some());
    match has(&["dim", "n_layers", "n_heads", "norm_eps"]) {
        true if has(&["multiple_of"]) => Some("meta-params"),
        true if has(&["hidden_dim"]) => Some("mistral-params"),
        _ => None,
    }
}
