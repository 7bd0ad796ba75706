//! A model from the `config.json` that stands beside its weights on the Hugging Face hub.
//!
//! Every family of models has its own names for its sizes, leaves other fields out and builds its
//! blocks in its own way. All of that is in three tables: `FAMILIES` says how blocks are built, in
//! the words of the link, `INPUTS` which field holds which size, and `SWITCHES` which fields change
//! the blocks. What a file does not say is never filled in silently: a size without which nothing
//! can be counted is refused by name, and every other stand-in is a [`Note`]. The defaults are those
//! of transformers 5.23, with whose models the tests compare the counts.
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

use std::fmt;

use crate::bounds::excerpt;
use crate::json::{self, Value};
use crate::{Bias, Experts, Field, Latent, Mlp, Model, Position, Problem, Scenario, number, setting};

/// What a file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The model: every number is inside its declared range, `origin` is empty and `parameters` is
    /// the count derived from the architecture.
    pub model: Model,
    /// The family by whose rules the file was read.
    pub architecture: &'static str,
    /// What the reader should know before trusting the numbers.
    pub notes: Vec<Note>,
}

/// Why a file is not read.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// It is not JSON.
    Json(json::Fault),
    /// It is JSON, but this kind of value instead of an object.
    NotAnObject(&'static str),
    /// It describes an encoder together with a decoder.
    TwoStacks,
    /// A size without which nothing can be counted is not there.
    Missing {
        /// What it is.
        field: Field,
        /// The fields it may be in.
        keys: &'static [&'static str],
        /// The `model_type`, shortened, when no family has it; empty for a known one.
        unknown_type: String,
    },
    /// A size without which nothing can be counted cannot be used as it is.
    Unusable(Unusable),
    /// A number that follows from several fields lies outside of its declared range.
    Range(Problem),
}

/// A field whose value cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub enum Unusable {
    /// It has this kind of value where another one belongs.
    Kind {
        /// The field.
        key: &'static str,
        /// What it is.
        found: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// It is a number outside of the declared range.
    Range(&'static str, Problem),
}

/// Something about a file that the numbers alone do not show.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// A field is not there.
    Absent {
        /// The field.
        key: &'static str,
        /// What stands in.
        used: String,
        /// The family whose default that is in transformers; empty when it follows from other fields.
        family: &'static str,
        /// How it follows from other fields.
        why: &'static str,
    },
    /// A field cannot be used; this stands in, or nothing has to.
    Unusable(Unusable, Option<u32>),
    /// No family has this `model_type`, shortened; empty when the file names none.
    UnknownType(String),
    /// The sizes are those of the language model in this field.
    Nested(&'static str),
    /// This field describes a part of the model that is not counted.
    Uncounted(&'static str),
    /// Numbers that may change the count but are not read: shortened names, with commas.
    Unread(String),
    /// Two fields that should agree; the first one is used.
    Differ(&'static str, &'static str),
    /// A size, and another one that should divide it.
    Uneven(Field, u32, Field, u32),
    /// What the count leaves out or takes for granted: sentences.
    Remark(&'static str),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(fault) => write!(f, "This is not JSON: {fault}."),
            Self::NotAnObject(kind) => write!(f, "A config.json is an object in braces; this is {kind}."),
            Self::TwoStacks => f.write_str("This is an encoder with a decoder; only a single stack can be counted."),
            Self::Missing { field, keys, unknown_type } => {
                if !unknown_type.is_empty() {
                    write!(f, "The model_type “{unknown_type}” is not known, and the usual names do not help. ")?;
                }
                write!(f, "{}: the file has ", field.bound().name)?;
                for key in *keys {
                    write!(f, "no “{key}”, ")?;
                }
                f.write_str("and nothing can stand in for it.")
            }
            Self::Unusable(unusable) => unusable.fmt(f),
            Self::Range(problem) => problem.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind { key, found, wanted } => write!(f, "“{key}” is {found}; {wanted} belongs there."),
            Self::Range(key, problem) => write!(f, "“{key}” cannot be used. {problem}"),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent { key, used, family, why } => {
                write!(f, "“{key}” is not in the file; {used} stands in, {why}")?;
                if !family.is_empty() {
                    write!(f, "the default for {family} in transformers")?;
                }
                f.write_str(".")
            }
            Self::Unusable(unusable, used) => {
                unusable.fmt(f)?;
                used.map_or(Ok(()), |used| write!(f, " {used} stands in."))
            }
            Self::UnknownType(given) => write!(
                f,
                "The model_type “{given}” is not known. The file is read by the names that most share, as a Llama \
                 block: compare the number of parameters with the published one."
            ),
            Self::Nested(key) => write!(f, "The sizes are those of the language model, in “{key}”."),
            Self::Uncounted(key) => write!(f, "The part that “{key}” describes is not counted."),
            Self::Unread(keys) => write!(f, "Not read, though the count of weights may depend on it: {keys}."),
            Self::Differ(used, other) => write!(f, "“{used}” and “{other}” differ; the first is used."),
            Self::Uneven(whole, of, part, by) => {
                write!(f, "{} ({of}) should be a multiple of {} ({by}).", whole.bound().name, part.bound().name)
            }
            Self::Remark(sentence) => f.write_str(sentence),
        }
    }
}

/// How the models of one family are built, and what their files leave out.
///
/// The blocks are in words of the link, which are short, checked by a test and read by code that is
/// there anyway. A number that a file may have is the default of the library for it. Words of our
/// own name the inputs and rules of the family.
struct Family {
    /// The values of `model_type`.
    types: &'static str,
    /// What a reader calls it.
    name: &'static str,
    /// The block it is derived from.
    block: &'static str,
    /// What is different.
    own: &'static str,
    /// What the count leaves out; may be empty.
    remark: &'static str,
}

/// The block of Llama, with fields for key/value heads and the width of a head.
const LLAMA: &str = "mlp=gated norm=rmsnorm norms=2 qk_norm=off bias=none position=rotary tied=off grouped";
/// The block of GPT-2, with a feed-forward width of 4H where the file does not say.
const GPT2: &str = "mlp=gelu-tanh norm=layernorm norms=2 qk_norm=off bias=all position=learned tied=on 4h";
/// The same without a position table, and with a width that the file has to give.
const GPT: &str = "mlp=gelu norm=layernorm norms=2 qk_norm=off bias=all position=rotary tied=off";

const NO_NORM_BIAS: &str = "Its norms have no bias, which the count gives them: H weights each.";
const NO_HEAD: &str =
    "Only the encoder is counted: a pooler or a head for masked words adds H² weights and a few more.";

const fn family(
    types: &'static str,
    name: &'static str,
    block: &'static str,
    own: &'static str,
    remark: &'static str,
) -> Family {
    Family { types, name, block, own, remark }
}

static FAMILIES: &[Family] = &[
    family("llama granite", "Llama", LLAMA, "", ""),
    family("mistral", "Mistral", LLAMA, "kv=8", ""),
    family("mixtral", "Mixtral", LLAMA, "moe kv=8 experts=8 active=2", ""),
    family("qwen2 qwen2_vl qwen2_5_vl", "Qwen 2", LLAMA, "bias=qkv kv=32", ""),
    family(
        "qwen2_moe",
        "Qwen 2 MoE",
        LLAMA,
        "bias=qkv kv=16 moe experts=60 active=4 expert_ffn=1408 shared_ffn=5632",
        "The gate of the shared expert, H weights a layer, is not counted.",
    ),
    family("qwen3 qwen3_vl", "Qwen 3", LLAMA, "qk_norm=head kv=32 head_dim=128", ""),
    family(
        "qwen3_moe qwen3_vl_moe",
        "Qwen 3 MoE",
        LLAMA,
        "qk_norm=head kv=4 moe experts=128 active=8 expert_ffn=768",
        "",
    ),
    family("gemma", "Gemma", LLAMA, "norm=rmsnorm-fp32 tied=on kv=16 head_dim=256", ""),
    family("gemma2", "Gemma 2", LLAMA, "norm=rmsnorm-fp32 tied=on norms=4 kv=4 head_dim=256", ""),
    // The published files leave out what the library takes anyway, heads and vocabulary among it.
    family(
        "gemma3",
        "Gemma 3",
        LLAMA,
        "norm=rmsnorm-fp32 tied=on norms=4 qk_norm=head heads=8 vocab=262208 kv=4 head_dim=256",
        "",
    ),
    family("gpt2", "GPT-2", GPT2, "positions=1024", ""),
    family("gpt_bigcode", "GPT BigCode", GPT2, "mlp=gelu multi positions=1024", ""),
    family("gpt_neox", "GPT-NeoX", GPT, "", ""),
    family(
        "gptj",
        "GPT-J",
        GPT,
        "mlp=gelu-tanh norms=1 4h",
        "Attention has no biases here and the head has one; the count has it the other way round.",
    ),
    family(
        "phi",
        "Phi",
        GPT,
        "mlp=gelu-tanh norms=1 grouped",
        "The bias of the output head, V weights, is not counted.",
    ),
    family("phi3", "Phi 3", LLAMA, "", ""),
    family("olmo", "OLMo", LLAMA, "norm=plain", ""),
    family("olmo2 olmo3", "OLMo 2", LLAMA, "norm=rmsnorm-fp32 qk_norm=full", ""),
    family("olmoe", "OLMoE", LLAMA, "qk_norm=full moe experts=64 active=8", ""),
    family("bert", "BERT", GPT, "tied=on position=learned positions=512 typed", NO_HEAD),
    family("roberta xlm-roberta camembert", "RoBERTa", GPT, "tied=on position=learned positions=512 typed", NO_HEAD),
    family("deepseek", "DeepSeek MoE", LLAMA, "moe sharing", ""),
    family(
        "deepseek_v2",
        "DeepSeek-V2",
        LLAMA,
        "moe sharing share-2 mla kv_rank=512 q_rank=1536 head_dim=128 rope_dim=64 experts=64 expert_ffn=1407",
        "",
    ),
    family(
        "deepseek_v3 kimi_k2",
        "DeepSeek-V3",
        LLAMA,
        "moe sharing share-1 mla kv_rank=512 q_rank=1536 head_dim=128 rope_dim=64 experts=256 active=8 \
         expert_ffn=2048 dense_layers=3",
        "",
    ),
    family("mpt", "MPT", GPT, "tied=on bias=none position=none 4h", NO_NORM_BIAS),
    family("opt", "OPT", GPT, "tied=on position=learned positions=2048 offset", ""),
    family("falcon", "Falcon", GPT, "tied=on bias=none norms=1 4h grouped multi", ""),
    family("smollm3", "SmolLM 3", LLAMA, "tied=on kv=4", ""),
    family("stablelm", "StableLM", LLAMA, "norm=layernorm kv=32", ""),
    family("starcoder2", "StarCoder 2", GPT, "tied=on grouped kv=2", ""),
    family("cohere cohere2", "Cohere", LLAMA, "norm=layernorm norms=1 tied=on", NO_NORM_BIAS),
    family(
        "gpt_oss",
        "gpt-oss",
        LLAMA,
        "norm=rmsnorm-fp32 bias=qkv kv=8 head_dim=64 moe experts=128 active=4",
        "The biases of experts and router and the attention sinks are not counted.",
    ),
];

/// A file of no known family: the names are tried that Llama and the models with experts share.
static UNKNOWN: Family = family("", "Llama, assumed", LLAMA, "moe mla", "");

/// When an input is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    /// Where the family has the word “grouped”; elsewhere it follows from the others.
    Grouped,
    /// With a position table.
    Learned,
    /// With the word “mla”, and but for the first of them, when there is a rank.
    Latent,
    /// With the word “moe”, and but for the first of them, when there are experts.
    Experts,
}

/// The sizes in the order in which they follow from one another: when they are looked for, the names
/// they have, and why it is what it is when the file does not say; without a reason it is 0 because
/// there is no such thing.
static INPUTS: &[(Field, When, &[&str], &str)] = &[
    (Field::Hidden, When::Always, &["hidden_size", "n_embd", "d_model"], ""),
    (Field::Layers, When::Always, &["num_hidden_layers", "n_layer", "n_layers", "num_layers"], ""),
    (Field::Heads, When::Always, &["num_attention_heads", "n_head", "n_heads"], ""),
    (Field::Vocabulary, When::Always, &["vocab_size"], ""),
    (
        Field::FeedForward,
        When::Always,
        &["intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"],
        "four times the hidden size",
    ),
    (Field::KvRank, When::Latent, &["kv_lora_rank"], ""),
    (Field::QueryRank, When::Latent, &["q_lora_rank"], ""),
    (Field::RopeDim, When::Latent, &["qk_rope_head_dim"], "as if nothing were rotated"),
    (Field::HeadDim, When::Latent, &["qk_nope_head_dim"], "hidden size / heads"),
    (Field::HeadDim, When::Grouped, &["head_dim"], "hidden size / heads"),
    (
        Field::KvHeads,
        When::Grouped,
        &["num_key_value_heads", "num_kv_heads", "n_head_kv"],
        "one for each attention head",
    ),
    (Field::Positions, When::Learned, &["max_position_embeddings", "n_positions"], ""),
    (Field::Experts, When::Experts, &["num_local_experts", "num_experts", "n_routed_experts"], ""),
    (
        Field::ActiveExperts,
        When::Experts,
        &["num_experts_per_tok", "num_experts_per_token", "experts_per_token"],
        "the least there can be",
    ),
    (Field::ExpertWidth, When::Experts, &["moe_intermediate_size"], ""),
    (Field::SharedWidth, When::Experts, &["shared_expert_intermediate_size"], ""),
    (Field::DenseLayers, When::Experts, &["first_k_dense_replace"], ""),
];

/// Fields that are true or false: the word that a family must have for them to count, their name,
/// and what changes when they are on and when they are off.
static SWITCHES: &[(&str, &str, [&str; 2])] = &[
    ("mlp=gated", "attention_bias", ["bias=qkv", ""]),
    ("mlp=gated", "qkv_bias", ["bias=qkv", "bias=none"]),
    ("mlp=gated", "use_qkv_bias", ["bias=qkv", "bias=none"]),
    ("mlp=gelu", "use_bias", ["bias=all", "bias=none"]),
    ("mlp=gelu", "enable_bias", ["bias=all", "bias=none"]),
    ("mlp=gelu", "no_bias", ["bias=none", "bias=all"]),
    ("mlp=gelu", "bias", ["bias=all", "bias=none"]),
    // GPT-NeoX has this switch too, and two norms either way.
    ("mlp=gated", "use_parallel_residual", ["norms=1", "norms=2"]),
    // Falcon's second architecture gives each of its parallel parts a norm again.
    ("multi", "new_decoder_architecture", ["norms=2", ""]),
    ("multi", "parallel_attn", ["", "norms=2"]),
    ("position=rotary", "alibi", ["position=none", ""]),
    ("mlp=gated", "qk_layernorm", ["qk_norm=full", ""]),
    ("mlp=gelu-tanh", "qk_layernorm", ["qk_norm=head", ""]),
    ("norm=rmsnorm", "use_qk_norm", ["qk_norm=head", ""]),
    // Families with another norm than their block have both words, so this row comes last.
    ("norm=layernorm", "use_qk_norm", ["qk_norm=full", ""]),
];

/// Fields that hold the language model of one that also sees or hears.
const NESTED: [&str; 3] = ["text_config", "language_config", "llm_config"];

/// Parts that are not counted.
const SENSES: [&str; 2] = ["vision_config", "audio_config"];

/// Parts of the names of fields that change the count of weights where they are not zero.
const WEIGHTY: [&str; 8] =
    ["expert", "_rank", "_intermediate_size", "per_layer_input", "mamba", "conv_", "ssm_", "linear_num"];

/// What the presence of a field says about the count.
const REMARKS: [(&str, &str); 2] = [
    ("num_nextn_predict_layers", "The extra layers that predict further tokens are not counted."),
    ("quantization_config", "The published weights are quantized; how they are trained is for the recipe to say."),
];

/// The activation functions that the library spells out in operations; it has one kernel for each
/// other one.
const SPELT_OUT: [&str; 4] = ["gelu_new", "gelu_fast", "gelu_python_tanh", "gelu_accurate"];

/// How many experts every token visits.
const SHARED: &str = "n_shared_experts";

/// A model without any size; what is 0 has no default.
const BLANK: Model = Model {
    origin: "",
    parameters: 0,
    hidden: 0,
    layers: 0,
    heads: 0,
    kv_heads: 0,
    head_dim: 0,
    feed_forward: 0,
    vocabulary: 0,
    positions: 0,
    experts: Experts { active: 0, ..Experts::NONE },
    latent: Latent::NONE,
    ..crate::catalogue::DEFAULT_MODEL.model
};

/// Reads the text of a `config.json`.
///
/// # Errors
/// [`Refusal`] for what is no JSON object, for an encoder with a decoder, and when hidden size,
/// layers, heads, vocabulary or feed-forward width are not there or lie outside of their ranges.
pub fn read(text: &str) -> Result<Reading, Refusal> {
    let file = json::read(text).map_err(Refusal::Json)?;
    if !matches!(file, Value::Object(_)) {
        return Err(Refusal::NotAnObject(file.kind()));
    }
    let mut notes = Vec::new();
    let config = language_model(&file, &mut notes);
    let of_type = |config: &Value| config.get("model_type").and_then(Value::text).map(str::to_owned);
    let given = of_type(config).or_else(|| of_type(&file)).unwrap_or_default();
    let bare = given.strip_suffix("_text").unwrap_or(&given);
    let known = FAMILIES.iter().find(|family| has(family.types, bare));
    if known.is_none() {
        notes.push(Note::UnknownType(excerpt(&given)));
    }
    let family = known.unwrap_or(&UNKNOWN);
    let scenario = Scenario { model: BLANK, ..Scenario::default() };
    let mut reader = Reader { file: &file, config, family, notes, scenario };
    reader.sizes().and_then(|()| reader.blocks()).map_err(|refusal| match refusal {
        Refusal::Missing { field, keys, .. } if known.is_none() => {
            Refusal::Missing { field, keys, unknown_type: excerpt(&given) }
        }
        other => other,
    })?;
    reader.look_over();
    Ok(Reading { model: reader.scenario.model, architecture: family.name, notes: reader.notes })
}

/// The object that holds the sizes of the language model: a nested one, unless only the outer one
/// has them.
fn language_model<'a>(file: &'a Value, notes: &mut Vec<Note>) -> &'a Value {
    for key in NESTED {
        if let Some(inner @ Value::Object(_)) = file.get(key)
            && (inner.get("hidden_size").is_some() || file.get("hidden_size").is_none())
        {
            notes.push(Note::Nested(key));
            return inner;
        }
    }
    file
}

/// Whether `word` is one of `words`.
fn has(words: &str, word: &str) -> bool {
    words.split(' ').any(|other| other == word)
}

/// What a file has under one of several names.
enum Found {
    Value(u32),
    /// `null`, which means what the library computes from other fields.
    Null,
    /// Nothing, which means the default of the library.
    Absent,
    Unusable(Unusable),
}

struct Reader<'a> {
    /// The whole file.
    file: &'a Value,
    /// The object in it that holds the sizes.
    config: &'a Value,
    family: &'static Family,
    notes: Vec<Note>,
    /// The model so far, in a scenario because fields and settings write there.
    scenario: Scenario,
}

impl Reader<'_> {
    /// Whether the family has this word.
    fn has(&self, word: &str) -> bool {
        has(self.family.block, word) || has(self.family.own, word)
    }

    fn model(&mut self) -> &mut Model {
        &mut self.scenario.model
    }

    /// Whether all heads share one key and value. Falcon's second architecture has groups instead.
    fn one_for_all(&self) -> bool {
        let is = |key| self.config.get(key).and_then(Value::bool);
        self.has("multi") && is("new_decoder_architecture") != Some(true) && is("multi_query") != Some(false)
    }

    /// Sets what words of the link say; words of our own have no equals sign.
    fn apply(&mut self, words: &str) {
        for (key, value) in words.split(' ').filter_map(|word| word.split_once('=')) {
            if let Some(field) = Field::from_key(key) {
                if let Ok(scenario) = field.read(value).and_then(|number| self.scenario.with_number(field, number)) {
                    self.scenario = scenario;
                }
            } else if let Some(setting) = setting::ALL.iter().find(|setting| setting.key == key) {
                (setting.set)(&mut self.scenario, value);
            }
        }
    }

    /// The sizes, one after another.
    fn sizes(&mut self) -> Result<(), Refusal> {
        if self.flag("is_encoder_decoder") == Some(true) {
            return Err(Refusal::TwoStacks);
        }
        self.apply(self.family.block);
        self.apply(self.family.own);
        let ratio = self.config.get("expansion_ratio").and_then(Value::number);
        let one_for_all = self.one_for_all();
        for &(field, when, keys, why) in INPUTS {
            let model = self.scenario.model;
            let ranked = model.latent.kv_rank > 0;
            let (is_wanted, is_read) = match when {
                When::Always => (true, field != Field::FeedForward || ratio.is_none() || !self.has("4h")),
                When::Grouped if field == Field::HeadDim => (!ranked, self.has("grouped")),
                When::Grouped => (true, self.has("grouped") && !ranked && !one_for_all),
                When::Learned => (model.position == Position::Learned, true),
                When::Latent => (self.has("mla") && (ranked || field == Field::KvRank), true),
                When::Experts => (self.has("moe") && (model.experts.count > 0 || field == Field::Experts), true),
            };
            if is_wanted {
                let computed = match field {
                    Field::FeedForward if self.has("4h") => {
                        Some((ratio.unwrap_or(4.0) * f64::from(model.hidden)) as u32)
                    }
                    Field::HeadDim => Some(model.hidden / model.heads),
                    Field::KvHeads => Some(if one_for_all { 1 } else { model.heads }),
                    Field::ActiveExperts => Some(1),
                    _ if when == When::Always => None,
                    _ => Some(0),
                };
                let value = self.size(field, if is_read { keys } else { &[] }, computed, why)?;
                self.scenario = self.scenario.with_number(field, value.into()).map_err(Refusal::Range)?;
            }
        }
        Ok(())
    }

    /// A size under one of its names, or the default of the library, or what follows from others.
    fn size(
        &mut self,
        field: Field,
        keys: &'static [&'static str],
        computed: Option<u32>,
        why: &'static str,
    ) -> Result<u32, Refusal> {
        // No family has a 0 as its default.
        let default = Some(self.scenario.number(field) as u32).filter(|number| *number > 0);
        let found = if keys.is_empty() { Found::Null } else { self.look(field, keys) };
        match (found, computed, default) {
            (Found::Value(value), ..) | (Found::Null, Some(value), _) => Ok(value),
            (Found::Null | Found::Absent, None, None) => {
                Err(Refusal::Missing { field, keys, unknown_type: String::new() })
            }
            (Found::Unusable(unusable), None, _) => Err(Refusal::Unusable(unusable)),
            (Found::Unusable(unusable), Some(value), default) => {
                let value = default.unwrap_or(value);
                self.notes.push(Note::Unusable(unusable, Some(value)));
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
    fn look(&mut self, field: Field, keys: &'static [&'static str]) -> Found {
        let mut first = None;
        let mut found = Found::Absent;
        for &key in keys {
            match (self.config.get(key), first) {
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
                        self.notes.push(Note::Differ(name, key));
                    }
                }
            }
        }
        found
    }

    /// A number that is no size of the model itself and has a usual value.
    fn detail(&mut self, field: Field, key: &'static [&'static str], usual: u32) -> u32 {
        match self.look(field, key) {
            Found::Value(value) => value,
            Found::Null | Found::Absent => usual,
            Found::Unusable(unusable) => {
                self.notes.push(Note::Unusable(unusable, Some(usual)));
                usual
            }
        }
    }

    /// Notes a stand-in; without a reason it is a default of the library.
    fn absent(&mut self, key: &'static str, used: String, why: &'static str) {
        let family = if why.is_empty() { self.family.name } else { "" };
        self.notes.push(Note::Absent { key, used, family, why });
    }

    /// `true` or `false`; `None` for a field that is not there, is null or cannot be used.
    fn flag(&mut self, key: &'static str) -> Option<bool> {
        let value = self.config.get(key)?;
        if value.bool().is_none() && *value != Value::Null {
            let unusable = Unusable::Kind { key, found: value.kind(), wanted: "true or false" };
            self.notes.push(Note::Unusable(unusable, None));
        }
        value.bool()
    }

    /// What depends on switches and on several sizes, and at last the count of weights.
    fn blocks(&mut self) -> Result<(), Refusal> {
        for &(word, key, changes) in SWITCHES {
            if self.has(word)
                && let Some(is_on) = self.flag(key)
            {
                self.apply(changes[usize::from(!is_on)]);
            }
        }
        self.tied();
        self.activation();
        self.biases();
        self.details();
        match self.model().experts.count {
            0 => self.model().experts = Experts::NONE,
            _ => self.experts(),
        }
        self.shape();
        let model = self.model();
        model.parameters = model.derived_parameters();
        // Products of numbers in range may leave the ranges; the check of the form finds them all.
        for &field in Field::ALL {
            field.check(self.scenario.number(field)).map_err(Refusal::Range)?;
        }
        Ok(())
    }

    fn tied(&mut self) {
        const KEY: &str = "tie_word_embeddings";
        // Of nested files some have it outside.
        match self.flag(KEY).or_else(|| self.file.get(KEY)?.bool()) {
            Some(tied) => self.model().tied_embeddings = tied.into(),
            None => {
                let used = if self.model().tied_embeddings.is_on() { "true" } else { "false" };
                self.absent(KEY, used.to_owned(), "");
            }
        }
    }

    /// How the activation function is written, where it is the only thing between two matrices.
    fn activation(&mut self) {
        let keys = ["hidden_act", "hidden_activation", "activation_function", "activation"];
        let named = keys.iter().find_map(|key| self.config.get(key)?.text());
        let mlp = self.model().mlp;
        match named {
            _ if mlp == Mlp::Gated => {}
            Some(name) => self.model().mlp = if SPELT_OUT.contains(&name) { Mlp::GeluTanh } else { Mlp::Gelu },
            None if mlp == Mlp::GeluTanh => self.absent(keys[2], SPELT_OUT[0].to_owned(), ""),
            // All functions that are one operation count the same.
            None => {}
        }
    }

    /// Biases by the two switches of the Llama block: one of them includes the output projection, and
    /// the other one all of the feed-forward block.
    fn biases(&mut self) {
        let is_on = |key| self.config.get(key).and_then(Value::bool) == Some(true);
        match (is_on("attention_bias"), is_on("mlp_bias")) {
            _ if self.model().mlp != Mlp::Gated => {}
            (false, false) => {}
            (true, true) => self.model().bias = Bias::All,
            _ => self.notes.push(Note::Remark("Some biases, a few times H weights a layer, are not counted.")),
        }
    }

    /// Numbers that change a size by a rule of their family.
    fn details(&mut self) {
        if self.has("typed") {
            const TYPES: &[&str] = &["type_vocab_size"];
            // Token types have rows of their own, which are looked up and added like positions.
            if self.config.get(TYPES[0]).is_none() {
                self.absent(TYPES[0], "2".to_owned(), "");
            }
            self.scenario.model.positions += self.detail(Field::Positions, TYPES, 2);
        }
        if self.has("offset") {
            // Positions are numbered from 2 in this table.
            self.model().positions += 2;
        }
        if self.has("multi") && self.config.get("parallel_attn").and_then(Value::bool) != Some(false) {
            let norms = self.model().norms;
            self.model().norms = self.detail(Field::Norms, &["num_ln_in_parallel_attn"], norms);
        }
    }

    fn experts(&mut self) {
        let Model { layers, feed_forward, mut experts, .. } = *self.model();
        if experts.active > experts.count {
            experts.active = experts.count;
            self.notes.push(Note::Remark("A token cannot visit more experts than there are; it visits all of them."));
        }
        let mut shared = 0;
        if self.has("sharing") && self.config.get(SHARED).is_none() {
            shared = if self.has("share-2") { 2 } else { u32::from(self.has("share-1")) };
            self.absent(SHARED, shared.to_string(), if shared > 0 { "" } else { "as if no expert were shared" });
        }
        let width = if experts.width > 0 { experts.width } else { feed_forward };
        match self.detail(Field::Experts, &[SHARED], shared) {
            0 => {}
            shared => experts.shared_width = shared.saturating_mul(width),
        }
        // Qwen counts from the end of a step and DeepSeek from its start.
        let step = self.detail(Field::Layers, &["decoder_sparse_step"], 1);
        let frequency = self.detail(Field::Layers, &["moe_layer_freq"], 1);
        // As many as there can be layers; what lies beyond them is no layer.
        let mut listed = [false; 1_024];
        for number in self.config.get("mlp_only_layers").map_or(&[][..], Value::items).iter().filter_map(Value::number)
        {
            if let Some(is_listed) = listed.get_mut(number as usize) {
                *is_listed = true;
            }
        }
        let is_dense = |layer: &u32| {
            *layer < experts.dense_layers
                || !(layer + 1).is_multiple_of(step)
                || !layer.is_multiple_of(frequency)
                || listed.get(*layer as usize) == Some(&true)
        };
        experts.dense_layers = (0..layers).filter(is_dense).count() as u32;
        self.model().experts = experts;
    }

    /// Notes sizes that do not go together.
    fn shape(&mut self) {
        let Model { hidden, heads, kv_heads, head_dim, latent, .. } = *self.model();
        if latent.kv_rank > 0 {
            if self.detail(Field::HeadDim, &["v_head_dim"], head_dim) != head_dim {
                self.notes.push(Note::Differ("qk_nope_head_dim", "v_head_dim"));
            }
        } else if head_dim == hidden / heads && !hidden.is_multiple_of(heads) {
            self.notes.push(Note::Uneven(Field::Hidden, hidden, Field::Heads, heads));
        }
        if !heads.is_multiple_of(kv_heads) {
            self.notes.push(Note::Uneven(Field::Heads, heads, Field::KvHeads, kv_heads));
        }
        // The small OPT models have embeddings narrower than their blocks.
        if self.detail(Field::Hidden, &["word_embed_proj_dim"], hidden) != hidden {
            self.notes.push(Note::Differ("hidden_size", "word_embed_proj_dim"));
        }
    }

    /// Notes what the count does not depend on but perhaps should.
    fn look_over(&mut self) {
        for key in SENSES {
            if self.file.get(key).is_some_and(|value| *value != Value::Null) {
                self.notes.push(Note::Uncounted(key));
            }
        }
        let unread = self.unread();
        if !unread.is_empty() {
            self.notes.push(Note::Unread(unread));
        }
        for (key, remark) in REMARKS {
            let is_there = |object: &Value| {
                object.get(key).is_some_and(|value| *value != Value::Null && value.number() != Some(0.0))
            };
            if is_there(self.file) || is_there(self.config) {
                self.notes.push(Note::Remark(remark));
            }
        }
        if !self.family.remark.is_empty() {
            self.notes.push(Note::Remark(self.family.remark));
        }
    }

    /// The names, shortened and with commas, of numbers that are not read and may be of weight.
    fn unread(&self) -> String {
        /// Enough for a sentence; a hostile file could name thousands.
        const ENOUGH: usize = 200;
        let Model { experts, latent, .. } = self.scenario.model;
        let is_read = |key: &str| {
            (experts.count > 0 && key == SHARED)
                || INPUTS.iter().any(|(_, when, keys, _)| {
                    let is_in_use = match when {
                        When::Experts => experts.count > 0,
                        When::Latent => latent.kv_rank > 0,
                        _ => true,
                    };
                    is_in_use && keys.contains(&key)
                })
        };
        let mut unread = String::new();
        for (key, value) in self.config.entries() {
            // Windows of bytes weigh a kilobyte less than the search of the standard library.
            let names = |part: &&str| key.as_bytes().windows(part.len()).any(|window| window == part.as_bytes());
            let is_weighty = WEIGHTY.iter().any(names) && value.number().is_some_and(|number| number > 0.0);
            if is_weighty && !is_read(key) && unread.len() < ENOUGH {
                if !unread.is_empty() {
                    unread.push_str(", ");
                }
                unread.push_str(&excerpt(key));
            }
        }
        unread
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Choice;
    use proptest::prelude::*;
    use proptest::sample::select;

    macro_rules! files {
        ($($name:literal: $weights:literal, $more:literal, $shape:literal;)+) => {
            &[$(($name, include_str!(concat!("../tests/config_files/", $name, ".json")), $weights, $more, $shape),)+]
        };
    }

    /// The files of tests/config_files: the weights that transformers 5.23 allocates for each
    /// (tests/config_files/count.py), how many more are derived, and the shape.
    const FILES: &[(&str, &str, u64, i64, &str)] = files! {
        "llama-3.1-8b": 8_030_261_248, 0, "[4096, 32, 32, 8, 128, 14336, 128256] 2 gated rmsnorm off none rotary untied";
        "tinyllama-1.1b": 1_100_048_384, 0, "[2048, 22, 32, 4, 64, 5632, 32000] 2 gated rmsnorm off none rotary untied";
        "mistral-7b": 7_241_732_096, 0, "[4096, 32, 32, 8, 128, 14336, 32000] 2 gated rmsnorm off none rotary untied";
        "mixtral-8x7b": 46_702_792_704, 0, "[4096, 32, 32, 8, 128, 14336, 32000] 2 gated rmsnorm off none rotary untied experts [8, 2, 0, 0, 0]";
        "qwen2.5-7b": 7_615_616_512, 0, "[3584, 28, 28, 4, 128, 18944, 152064] 2 gated rmsnorm off qkv rotary untied";
        // One gate of H weights a layer.
        "qwen1.5-moe-a2.7b": 14_315_784_192, -49_152, "[2048, 24, 16, 16, 128, 5632, 151936] 2 gated rmsnorm off qkv rotary untied experts [60, 4, 1408, 5632, 0]";
        "qwen3-8b": 8_190_735_360, 0, "[4096, 36, 32, 8, 128, 12288, 151936] 2 gated rmsnorm head none rotary untied";
        "qwen3-30b-a3b": 30_532_122_624, 0, "[2048, 48, 32, 4, 128, 6144, 151936] 2 gated rmsnorm head none rotary untied experts [128, 8, 768, 0, 0]";
        "gemma-7b": 8_537_680_896, 0, "[3072, 28, 16, 16, 256, 24576, 256000] 2 gated rmsnorm-fp32 off none rotary tied";
        "gemma-2-9b": 9_241_705_984, 0, "[3584, 42, 16, 8, 256, 14336, 256000] 4 gated rmsnorm-fp32 off none rotary tied";
        "gemma-3-4b": 3_880_263_168, 0, "[2560, 34, 8, 4, 256, 10240, 262208] 4 gated rmsnorm-fp32 head none rotary tied";
        "gpt2": 124_439_808, 0, "[768, 12, 12, 12, 64, 3072, 50257] 2 gelu-tanh layernorm off all learned tied positions 1024";
        "pythia-1.4b": 1_414_647_808, 0, "[2048, 24, 16, 16, 128, 8192, 50304] 2 gelu layernorm off all rotary untied";
        // Four biases of attention a layer too many, and the bias of the head too few.
        "gpt-j-6b": 6_050_882_784, 408_352, "[4096, 28, 16, 16, 256, 16384, 50400] 1 gelu-tanh layernorm off all rotary untied";
        "starcoderbase-1b": 1_137_207_296, 0, "[2048, 24, 16, 1, 128, 8192, 49152] 2 gelu layernorm off all learned tied positions 8192";
        // The bias of the head.
        "phi-1.5": 1_418_270_720, -51_200, "[2048, 24, 32, 32, 64, 8192, 51200] 1 gelu-tanh layernorm off all rotary untied";
        "phi-3-mini": 3_821_079_552, 0, "[3072, 32, 32, 32, 96, 8192, 32064] 2 gated rmsnorm off none rotary untied";
        "olmo-7b": 6_888_095_744, 0, "[4096, 32, 32, 32, 128, 11008, 50304] 2 gated plain off none rotary untied";
        "olmo-2-7b": 7_298_617_344, 0, "[4096, 32, 32, 32, 128, 11008, 100352] 2 gated rmsnorm-fp32 full none rotary untied";
        "olmoe-1b-7b": 6_919_161_856, 0, "[2048, 16, 16, 16, 128, 1024, 50304] 2 gated rmsnorm full none rotary untied experts [64, 8, 0, 0, 0]";
        // Without pooler or head.
        "bert-base": 108_891_648, 0, "[768, 12, 12, 12, 64, 3072, 30522] 2 gelu layernorm off all learned tied positions 514";
        "roberta-base": 124_055_040, 0, "[768, 12, 12, 12, 64, 3072, 50265] 2 gelu layernorm off all learned tied positions 515";
        // transformers has no model of this type; this is the count of its published code, added up by hand.
        "deepseek-moe-16b": 16_375_728_128, 0, "[2048, 28, 16, 16, 128, 10944, 102400] 2 gated rmsnorm off none rotary untied experts [64, 6, 1408, 2816, 1]";
        "deepseek-v2-lite": 15_706_484_224, 0, "[2048, 27, 16, 16, 128, 10944, 102400] 2 gated rmsnorm off none rotary untied experts [64, 6, 1408, 2816, 1] latent [0, 512, 64]";
        "deepseek-v3": 671_026_404_352, 0, "[7168, 61, 128, 128, 128, 18432, 129280] 2 gated rmsnorm off none rotary untied experts [256, 8, 2048, 2048, 3] latent [1536, 512, 64]";
        // 65 norms without a bias.
        "mpt-7b": 6_649_286_656, 266_240, "[4096, 32, 32, 32, 128, 16384, 50432] 2 gelu layernorm off none none tied";
        "opt-1.3b": 1_315_758_080, 0, "[2048, 24, 32, 32, 64, 8192, 50272] 2 gelu layernorm off all learned tied positions 2050";
        "falcon-7b": 6_921_720_704, 0, "[4544, 32, 71, 1, 64, 18176, 65024] 1 gelu layernorm off none rotary tied";
        "falcon-40b": 41_303_293_952, 0, "[8192, 60, 128, 8, 64, 32768, 65024] 2 gelu layernorm off none rotary tied";
        "smollm3-3b": 3_075_098_624, 0, "[2048, 36, 16, 4, 128, 11008, 128256] 2 gated rmsnorm off none rotary tied";
        "stablelm-2-1.6b": 1_644_515_328, 0, "[2048, 24, 32, 32, 64, 5632, 100352] 2 gated layernorm off qkv rotary untied";
        "starcoder2-7b": 7_173_923_840, 0, "[4608, 32, 36, 4, 128, 18432, 49152] 2 gelu layernorm off all rotary tied";
        // 41 norms without a bias.
        "command-r-v01": 34_980_831_232, 335_872, "[8192, 40, 64, 64, 128, 22528, 256000] 1 gated layernorm off none rotary tied";
        // Biases of router and experts, of the output projection, and the sinks.
        "gpt-oss-20b": 20_914_757_184, -6_706_944, "[2880, 24, 64, 8, 64, 2880, 201088] 2 gated rmsnorm-fp32 off qkv rotary untied experts [32, 4, 0, 0, 0]";
    };

    /// Settings that none of the files has, counted in the same way.
    const VARIANTS: &str = include_str!("../tests/config_files/variants.json");

    const LLAMA_FILE: &str = FILES[0].1;

    /// The model in one line: `[H, L, n, k, d, f, V]`, the block, then what only some models have.
    fn shape(model: &Model) -> String {
        let Model { hidden, layers, heads, kv_heads, head_dim, feed_forward, vocabulary, norms, experts, .. } = *model;
        let sizes = [hidden, layers, heads, kv_heads, head_dim, feed_forward, vocabulary];
        let words = [model.mlp.key(), model.norm.key(), model.qk_norm.key(), model.bias.key(), model.position.key()];
        let tied = if model.tied_embeddings.is_on() { "tied" } else { "untied" };
        let mut shape = format!("{sizes:?} {norms} {} {tied}", words.join(" "));
        if model.positions > 0 {
            shape += &format!(" positions {}", model.positions);
        }
        if experts != Experts::NONE {
            let Experts { count, active, width, shared_width, dense_layers } = experts;
            shape += &format!(" experts {:?}", [count, active, width, shared_width, dense_layers]);
        }
        if model.latent != Latent::NONE {
            let Latent { query_rank, kv_rank, rope_dim } = model.latent;
            shape += &format!(" latent {:?}", [query_rank, kv_rank, rope_dim]);
        }
        shape
    }

    fn messages(reading: &Reading) -> Vec<String> {
        reading.notes.iter().map(Note::to_string).collect()
    }

    fn refusal(text: &str) -> String {
        read(text).expect_err(text).to_string()
    }

    /// The Llama file with one line changed.
    fn llama_with(old: &str, new: &str) -> String {
        assert!(LLAMA_FILE.contains(old), "{old}");
        LLAMA_FILE.replacen(old, new, 1)
    }

    /// The one note that the file of [`llama_with`] has beyond those of the file itself.
    fn note_with(old: &str, new: &str) -> String {
        let reading = read(&llama_with(old, new)).expect("a model");
        let usual = messages(&read(LLAMA_FILE).expect("a model"));
        let mut further = messages(&reading);
        further.retain(|message| !usual.contains(message));
        assert_eq!(further.len(), 1, "{further:?}");
        further.remove(0)
    }

    #[test]
    fn every_file_has_the_shape_and_the_weights_of_its_model() {
        for (name, text, weights, more, expected) in FILES {
            let reading = read(text).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
            let derived = reading.model.parameters;
            assert_eq!(shape(&reading.model), *expected, "{name}");
            assert_eq!(Some(derived), weights.checked_add_signed(*more), "{name}");
            assert_eq!(derived, reading.model.derived_parameters(), "{name}");
            assert!(derived.abs_diff(*weights) as f64 <= 0.0005 * *weights as f64, "{name}");
        }
    }

    #[test]
    fn every_variant_has_the_weights_that_the_library_allocates() {
        let variants: Vec<serde_json::Value> = serde_json::from_str(VARIANTS).expect("a list");
        assert!(variants.len() > 20);
        for variant in variants {
            let config = variant["config"].to_string();
            let reading = read(&config).unwrap_or_else(|refusal| panic!("{config}: {refusal}"));
            let weights = variant["weights"].as_u64().expect("a count");
            let more = variant["more"].as_i64().expect("a difference");
            assert_eq!(Some(reading.model.parameters), weights.checked_add_signed(more), "{config}");
            assert!(more.unsigned_abs() as f64 <= 0.0005 * weights as f64, "{config}");
        }
    }

    #[test]
    fn every_word_of_the_tables_is_known() {
        const OWN: [&str; 11] =
            ["", "grouped", "4h", "multi", "moe", "mla", "typed", "offset", "sharing", "share-1", "share-2"];
        let families = FAMILIES.iter().chain([&UNKNOWN]);
        let texts = families
            .flat_map(|family| [family.block, family.own])
            .chain(SWITCHES.iter().flat_map(|(word, _, changes)| [*word, changes[0], changes[1]]));
        for word in texts.flat_map(|text| text.split(' ')) {
            let mut scenario = Scenario::default();
            let is_known = match word.split_once('=') {
                None => OWN.contains(&word),
                Some((key, value)) => match Field::from_key(key) {
                    Some(field) => field.read(value).is_ok(),
                    None => {
                        setting::ALL.iter().any(|setting| setting.key == key && (setting.set)(&mut scenario, value))
                    }
                },
            };
            assert!(is_known, "{word}");
        }
        for (at, family) in FAMILIES.iter().enumerate() {
            for word in family.types.split(' ') {
                let first = FAMILIES.iter().position(|other| has(other.types, word));
                assert_eq!(first, Some(at), "{word} is in two rows");
            }
        }
    }

    #[test]
    fn what_the_file_leaves_out_is_named_with_what_stands_in() {
        assert_eq!(
            messages(&read(LLAMA_FILE).expect("a model")),
            ["“head_dim” is not in the file; 128 stands in, hidden size / heads."]
        );
        assert_eq!(
            note_with("\"num_key_value_heads\": 8,", ""),
            "“num_key_value_heads” is not in the file; 32 stands in, one for each attention head."
        );
        assert_eq!(
            note_with("\"tie_word_embeddings\": false,", ""),
            "“tie_word_embeddings” is not in the file; false stands in, the default for Llama in transformers."
        );
        let reading = read(
            r#"{"model_type":"mistral","hidden_size":512,"num_hidden_layers":2,"num_attention_heads":16,
            "intermediate_size":1024,"vocab_size":1000,"tie_word_embeddings":true,"head_dim":null}"#,
        )
        .expect("a model");
        assert_eq!((reading.model.kv_heads, reading.model.head_dim), (8, 32));
        assert_eq!(
            messages(&reading),
            ["“num_key_value_heads” is not in the file; 8 stands in, the default for Mistral in transformers."]
        );
        let reading = read(r#"{"model_type":"gpt2","n_embd":512,"n_layer":2,"n_head":8,"vocab_size":1000}"#);
        let reading = reading.expect("a model");
        assert_eq!(
            (reading.model.feed_forward, reading.model.positions, reading.model.mlp),
            (2048, 1024, Mlp::GeluTanh)
        );
        let notes = messages(&reading).join(" ");
        for key in ["intermediate_size", "max_position_embeddings", "activation_function", "tie_word_embeddings"] {
            assert!(notes.contains(&format!("“{key}” is not in the file")), "{notes}");
        }
    }

    #[test]
    fn a_size_that_nothing_can_stand_in_for_is_refused_by_name() {
        for (line, name) in [
            ("\"hidden_size\": 4096,", "Hidden size: the file has no “hidden_size”"),
            ("\"num_hidden_layers\": 32,", "Layers: the file has no “num_hidden_layers”"),
            ("\"num_attention_heads\": 32,", "Attention heads: the file has no “num_attention_heads”"),
            ("\"intermediate_size\": 14336,", "Feed-forward width: the file has no “intermediate_size”"),
            (",\n  \"vocab_size\": 128256", "Vocabulary: the file has no “vocab_size”, and nothing can stand in"),
        ] {
            let message = refusal(&llama_with(line, ""));
            assert!(message.starts_with(name), "{message}");
        }
        let message = refusal(r#"{"model_type": "mamba", "hidden_size": 768, "num_hidden_layers": 24}"#);
        assert!(message.starts_with("The model_type “mamba” is not known"), "{message}");
        assert!(message.contains("Attention heads"), "{message}");
        assert!(refusal(r#"{"model_type": "t5", "is_encoder_decoder": true}"#).contains("an encoder with a decoder"));
    }

    #[test]
    fn a_value_of_another_kind_or_out_of_range_is_named() {
        for (new, message) in [
            ("\"32\"", "“num_hidden_layers” is a text; a number belongs there."),
            ("[32]", "“num_hidden_layers” is a list; a number belongs there."),
            ("true", "“num_hidden_layers” is true or false; a number belongs there."),
            (
                "-1",
                "“num_hidden_layers” cannot be used. Layers: “-1” is too small; it takes a whole number from 1 to 1,024.",
            ),
            (
                "1e308",
                "“num_hidden_layers” cannot be used. Layers: “1e308” is too large; it takes a whole number from 1 to 1,024.",
            ),
            (
                "1.5",
                "“num_hidden_layers” cannot be used. Layers: “1.5” is not a whole number; it takes a whole number from 1 to 1,024.",
            ),
        ] {
            let text = llama_with("\"num_hidden_layers\": 32", &format!("\"num_hidden_layers\": {new}"));
            assert_eq!(refusal(&text), message);
        }
        assert_eq!(
            note_with("\"num_key_value_heads\": 8", "\"num_key_value_heads\": 0"),
            "“num_key_value_heads” cannot be used. Key/value heads: “0” is too small; it takes a whole number from 1 \
             to 1,024. 32 stands in."
        );
        assert_eq!(
            note_with("\"attention_bias\": false", "\"attention_bias\": \"no\""),
            "“attention_bias” is a text; true or false belongs there."
        );
        // Sizes that are in range by themselves and not together.
        let tiny = r#"{"model_type":"llama","hidden_size":8,"num_hidden_layers":1,"num_attention_heads":1,
            "intermediate_size":8,"vocab_size":2}"#;
        assert!(refusal(tiny).starts_with("Parameters: “0.0000"), "{}", refusal(tiny));
        let wide = llama_with("\"num_attention_heads\": 32", "\"num_attention_heads\": 1")
            .replace("\"hidden_size\": 4096", "\"hidden_size\": 8192");
        assert!(refusal(&wide).starts_with("Head width: “8,192” is too large"), "{}", refusal(&wide));
    }

    #[test]
    fn what_contradicts_itself_or_may_matter_is_noted() {
        assert_eq!(
            note_with("\"num_key_value_heads\": 8", "\"num_key_value_heads\": 5"),
            "Attention heads (32) should be a multiple of Key/value heads (5)."
        );
        assert_eq!(
            note_with("\"mlp_bias\": false", "\"n_embd\": 2048"),
            "“hidden_size” and “n_embd” differ; the first is used."
        );
        assert_eq!(
            note_with("\"mlp_bias\": false", "\"num_local_experts\": 8, \"some_rank\": 4, \"q_lora_rank\": null"),
            "Not read, though the count of weights may depend on it: num_local_experts, some_rank."
        );
        assert_eq!(
            note_with("\"mlp_bias\": false", "\"quantization_config\": {\"quant_method\": \"awq\"}"),
            "The published weights are quantized; how they are trained is for the recipe to say."
        );
        assert_eq!(
            note_with("\"mlp_bias\": false", "\"mlp_bias\": true"),
            "Some biases, a few times H weights a layer, are not counted."
        );
        assert_eq!(
            note_with("\"hidden_size\": 4096", "\"hidden_size\": 4100"),
            "Hidden size (4100) should be a multiple of Attention heads (32)."
        );
    }

    #[test]
    fn a_file_of_no_known_family_is_read_by_the_usual_names() {
        let reading = read(&llama_with("\"llama\"", "\"brand_new\"")).expect("a model");
        assert_eq!(reading.model, read(LLAMA_FILE).expect("a model").model);
        assert_eq!(reading.architecture, "Llama, assumed");
        assert!(messages(&reading)[0].starts_with("The model_type “brand_new” is not known."));
        // Experts and compressed keys are found by name as well.
        let deepseek = FILES.iter().find(|(name, ..)| *name == "deepseek-v3").expect("a file").1;
        let reading = read(&deepseek.replace("deepseek_v3", "brand_new")).expect("a model");
        assert_eq!(reading.model, read(deepseek).expect("a model").model);
    }

    #[test]
    fn the_language_model_of_a_larger_one_is_read_and_said_so() {
        let nested =
            format!("\u{feff}{{\"model_type\": \"llava\", \"vision_config\": {{}}, \"text_config\": {LLAMA_FILE}}}");
        let reading = read(&nested).expect("a model");
        assert_eq!(reading.model, read(LLAMA_FILE).expect("a model").model);
        assert_eq!(reading.architecture, "Llama");
        let notes = messages(&reading);
        assert_eq!(notes[0], "The sizes are those of the language model, in “text_config”.");
        assert!(notes.contains(&"The part that “vision_config” describes is not counted.".to_owned()), "{notes:?}");
    }

    #[test]
    fn what_is_no_config_is_refused_in_a_short_sentence() {
        let many = "9".repeat(100_000);
        let bad = [
            String::new(),
            "4096".to_owned(),
            "[]".to_owned(),
            "{}".to_owned(),
            "{\"hidden_size\": NaN}".to_owned(),
            "{\"hidden_size\": 1, \"hidden_size\": 2}".to_owned(),
            "{\"hidden_size\": \"\u{1}\"}".to_owned(),
            format!("{{\"hidden_size\": {many}}}"),
            format!("{{\"hidden_size\": \"{many}\"}}"),
            format!("{{\"model_type\": \"{many}\"}}"),
            "{\"text_config\":".repeat(100_000),
            "{\"text_config\":".repeat(60) + "{}" + &"}".repeat(60),
            " ".repeat(json::LONGEST + 1),
        ];
        for text in bad {
            let message = refusal(&text);
            assert!(message.len() < 400, "{message}");
        }
        assert!(refusal("[]").contains("this is a list"));
        assert!(refusal("{\"a\":1,\n\"a\":2}").contains("line 2, column 1: “a” is here for the second time"));
    }

    #[test]
    fn a_hostile_file_has_short_notes_and_an_answer_at_once() {
        let keys: String = (0..2_000).map(|key| format!("\"{key}_experts_{}\": 1,", "é".repeat(99))).collect();
        let list = vec!["1e9"; 100_000].join(",");
        let text = llama_with("\"mlp_bias\": false,", &format!("{keys} \"mlp_only_layers\": [{list}],"));
        let reading = read(&text.replace("\"llama\"", "\"qwen3_moe\"")).expect("a model");
        assert!(messages(&reading).iter().all(|message| message.len() < 400), "{:?}", messages(&reading));
    }

    /// What holds for every text: short messages, and a model whose numbers are all in range.
    fn is_sound(text: &str) -> Result<(), TestCaseError> {
        match read(text) {
            Err(refusal) => prop_assert!(refusal.to_string().len() < 500, "{refusal}"),
            Ok(reading) => {
                prop_assert!(messages(&reading).iter().all(|message| message.len() < 500));
                prop_assert_eq!(reading.model.parameters, reading.model.derived_parameters());
                let scenario = Scenario { model: reading.model, ..Scenario::default() };
                for &field in Field::ALL {
                    prop_assert!(field.check(scenario.number(field)).is_ok(), "{:?}", reading.model);
                }
            }
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(192))]

        #[test]
        fn any_text_is_sound(text in any::<String>()) {
            is_sound(&text)?;
        }

        #[test]
        fn a_file_cut_or_damaged_anywhere_is_sound(
            file in select(FILES),
            at in any::<prop::sample::Index>(),
            damage in prop::option::of(any::<char>()),
        ) {
            // Without its last brace every text is too short.
            let places: Vec<_> = file.1.trim_end().char_indices().map(|(at, _)| at).collect();
            let (before, after) = file.1.split_at(*at.get(&places));
            match damage {
                None => {
                    is_sound(before)?;
                    prop_assert!(read(before).is_err());
                }
                Some(character) => is_sound(&format!("{before}{character}{}", &after[1..]))?,
            }
        }

        #[test]
        fn a_file_with_other_values_is_sound(
            file in select(FILES),
            kind in select(FAMILIES.iter().flat_map(|family| family.types.split(' ')).collect::<Vec<_>>()),
            changes in prop::collection::vec((any::<prop::sample::Index>(), select(&[
                "null", "true", "false", "0", "1", "2", "3", "-1", "7", "64", "1024", "4096", "131072", "1048576",
                "2000000", "4194304", "99999999999", "1e308", "-1e308", "1e-9", "1e9999999999", "0.5", "\"\"",
                "\"gelu_new\"", "[]", "[0, 1, -5, 1e9, \"a\"]", "{}",
            ][..])), 1..6),
        ) {
            // Every second file keeps its own type, so that its own fields are those that are read.
            let text = if changes.len() % 2 == 0 { file.1.to_owned() } else { retyped(file.1, kind) };
            let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
            for (at, value) in changes {
                let line = at.get_mut(&mut lines);
                if let Some((key, old)) = line.split_once(": ")
                    && !old.ends_with(['{', '['])
                {
                    *line = format!("{key}: {value}{}", if old.ends_with(',') { "," } else { "" });
                }
            }
            is_sound(&lines.join("\n"))?;
        }
    }

    /// The file as one of another family.
    fn retyped(text: &str, kind: &str) -> String {
        let line = text.lines().find(|line| line.starts_with("  \"model_type\"")).expect("a type");
        text.replacen(line, &format!("  \"model_type\": \"{kind}\","), 1)
    }
}
