//! Every model of the list, written as its config.json and read back, is the model of the list: the same scenario, and so
//! the same answer, whatever else is asked. A preset of the workshop is no published network and has no such file.

use serde_json::{Value, json};

use super::{Reading, read};
use crate::catalogue::{AsUsual, MODELS, ModelRow};
use crate::{Model, Recomputation, Scenario, Switch, link};

/// Configurations that are files of their own, beside this one.
macro_rules! files {
    ($($slug:literal: $file:literal),+) => { &[$(($slug, include_str!(concat!("../../../tests/config_files/", $file, ".json")))),+] };
}

const FILES: &[(&str, &str)] = files! {
    "gpt2": "gpt2", "llama-3.1-8b": "llama-3.1-8b",
    "qwen2.5-vl-3b": "qwen2.5-vl-3b", "qwen2.5-vl-7b": "qwen2.5-vl-7b", "qwen2.5-vl-72b": "qwen2.5-vl-72b",
    "qwen2-vl-7b": "qwen2-vl-7b", "gemma-3-4b-images": "gemma-3-4b", "gemma-3-12b-images": "gemma-3-12b",
    "gemma-3-27b-images": "gemma-3-27b", "llava-1.5-7b": "llava-1.5-7b", "llava-1.5-13b": "llava-1.5-13b",
    "llava-next-mistral-7b": "llava-next-mistral-7b", "bert-base": "bert-base", "t5-base": "t5-base",
    "flan-t5-xl": "flan-t5-xl", "bart-large": "bart-large", "whisper-small": "whisper-small",
    "whisper-large-v3": "whisper-large-v3", "mpt-7b": "mpt-7b", "falcon-7b": "falcon-7b",
    "gpt-oss-20b": "gpt-oss-20b", "deepseek-v3": "deepseek-v3", "qwen3-30b-a3b": "qwen3-30b-a3b",
    "mixtral-8x7b": "mixtral-8x7b", "deepseek-v2-lite": "deepseek-v2-lite", "deepseek-moe-16b": "deepseek-moe-16b"
};

/// The families of which several sizes are listed: how a slug starts, the `model_type`, and what its files say beside sizes.
const FAMILIES: &[(&str, &str, &str)] = &[
    (
        "gpt2",
        "gpt2",
        r#"{"attn_pdrop": 0.1, "resid_pdrop": 0.1, "embd_pdrop": 0.1, "activation_function": "gelu_new"}"#,
    ),
    (
        "gpt-3",
        "gpt2",
        r#"{"attn_pdrop": 0.1, "resid_pdrop": 0.1, "embd_pdrop": 0.1, "activation_function": "gelu_new"}"#,
    ),
    (
        "pythia",
        "gpt_neox",
        r#"{"attention_dropout": 0.0, "hidden_dropout": 0.0, "use_parallel_residual": true, "hidden_act": "gelu"}"#,
    ),
    ("llama-4", "llama4_text", r#"{"attention_dropout": 0.0}"#),
    ("llama", "llama", r#"{"attention_dropout": 0.0, "attention_bias": false, "mlp_bias": false}"#),
    ("smollm2", "llama", r#"{"attention_dropout": 0.0, "attention_bias": false}"#),
    ("tinyllama", "llama", r#"{}"#),
    ("deepseek-llm", "llama", r#"{"attention_dropout": 0.0}"#),
    ("mistral", "mistral", r#"{"attention_dropout": 0.0}"#),
    ("mixtral", "mixtral", r#"{"attention_dropout": 0.0}"#),
    ("qwen2.5", "qwen2", r#"{"attention_dropout": 0.0}"#),
    ("qwen3", "qwen3", r#"{"attention_dropout": 0.0, "attention_bias": false}"#),
    (
        "gemma-2-",
        "gemma2",
        r#"{"attention_dropout": 0.0, "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0}"#,
    ),
    ("gemma-3", "gemma3_text", r#"{"attention_dropout": 0.0}"#),
    ("gemma", "gemma", r#"{"attention_dropout": 0.0}"#),
    ("phi-1.5", "phi", r#"{"attention_dropout": 0.0, "resid_pdrop": 0.0, "hidden_act": "gelu_new"}"#),
    ("phi-2", "phi", r#"{"attention_dropout": 0.0, "resid_pdrop": 0.1, "hidden_act": "gelu_new"}"#),
    ("phi", "phi3", r#"{"attention_dropout": 0.0, "resid_pdrop": 0.0}"#),
    ("olmo-2", "olmo2", r#"{"attention_dropout": 0.0}"#),
    ("olmo", "olmo", r#"{"attention_dropout": 0.0, "clip_qkv": null}"#),
    ("deepseek-v2", "deepseek_v2", r#"{"attention_dropout": 0.0}"#),
    ("gpt-oss", "gpt_oss", r#"{"attention_dropout": 0.0, "attention_bias": true}"#),
    (
        "bert",
        "bert",
        r#"{"attention_probs_dropout_prob": 0.1, "hidden_dropout_prob": 0.1, "hidden_act": "gelu", "type_vocab_size": 2}"#,
    ),
];

/// The sizes of a row, by the names that most files have.
fn sizes(model: &Model) -> Value {
    let mut file = json!({
        "hidden_size": model.hidden,
        "num_hidden_layers": model.layers,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.kv_heads,
        "head_dim": model.head_dim,
        "intermediate_size": model.feed_forward,
        "vocab_size": model.vocabulary,
        "tie_word_embeddings": model.tied_embeddings.is_on(),
    });
    if model.positions > 0 {
        file["max_position_embeddings"] = model.positions.into();
    }
    let experts = model.experts;
    if experts.count > 0 {
        file["num_local_experts"] = experts.count.into();
        file["num_experts_per_tok"] = experts.active.into();
        file["first_k_dense_replace"] = experts.dense_layers.into();
        if experts.width > 0 {
            file["moe_intermediate_size"] = experts.width.into();
        }
        if experts.width > 0 && experts.shared_width > 0 {
            file["n_shared_experts"] = (experts.shared_width / experts.width).into();
        }
    }
    let latent = model.latent;
    if latent.kv_rank > 0 {
        file["kv_lora_rank"] = latent.kv_rank.into();
        file["q_lora_rank"] = if latent.query_rank > 0 { latent.query_rank.into() } else { Value::Null };
        file["qk_rope_head_dim"] = latent.rope_dim.into();
        file["qk_nope_head_dim"] = model.head_dim.into();
        file["v_head_dim"] = model.head_dim.into();
    }
    file
}

/// The config.json of a row.
fn file_of(row: &ModelRow) -> String {
    if let Some((_, text)) = FILES.iter().find(|(slug, _)| *slug == row.slug) {
        return (*text).to_owned();
    }
    let family = FAMILIES.iter().find(|(start, ..)| row.slug.starts_with(start));
    let (_, kind, beside) = family.unwrap_or_else(|| panic!("{} has no family here", row.slug));
    let mut file = sizes(&row.model);
    file["model_type"] =
        if row.model.experts.count > 0 && *kind == "qwen3" { "qwen3_moe".into() } else { (*kind).into() };
    if *kind == "llama4_text" {
        // Experts have the usual field, every second layer may have none, and one expert is shared.
        let experts = row.model.experts;
        file["intermediate_size"] = experts.width.into();
        file["intermediate_size_mlp"] = row.model.feed_forward.into();
        file["interleave_moe_layer_step"] = if experts.dense_layers > 0 { 2 } else { 1 }.into();
        for key in ["moe_intermediate_size", "n_shared_experts", "first_k_dense_replace"] {
            file.as_object_mut().expect("an object").remove(key);
        }
    }
    for (key, value) in serde_json::from_str::<serde_json::Map<String, Value>>(beside).expect("JSON") {
        file[key] = value;
    }
    file.to_string()
}

fn reading(text: &str) -> Reading {
    read(text).unwrap_or_else(|refusal| panic!("{refusal}: {text}"))
}

/// The published networks, each with its file.
fn listed() -> impl Iterator<Item = (&'static ModelRow, Reading)> {
    MODELS.iter().filter(|row| row.group.is_published()).map(|row| (row, reading(&file_of(row))))
}

/// The row with its own slug left out, which two rows of one network differ in.
fn nameless(scenario: Scenario) -> Scenario {
    Scenario { model: Model { origin: crate::Origin::Own, ..scenario.model }, ..scenario }
}

const QUESTIONS: [&str; 4] =
    ["gpu=h100-80&gpus=8&s=4096", "v=2&gpus=4", "gpus=16&adapter=lora&recompute=none&precision=autocast", "dropout=on"];

#[test]
fn a_listed_model_is_the_same_by_its_name_and_by_its_file() {
    for (row, reading) in listed() {
        for asked in QUESTIONS {
            let named = link::decode(&format!("model={}&{asked}", row.slug)).scenario;
            let read = link::decode_with(asked, Some(reading.as_usual())).scenario;
            assert_eq!(nameless(read), nameless(named), "{}: {asked}", row.slug);
        }
    }
}

#[test]
fn the_page_takes_a_file_as_the_command_line_does() {
    let files = listed().map(|(_, reading)| reading);
    let others = OTHERS.iter().map(|(_, text)| reading(text));
    for reading in files.chain(others) {
        let AsUsual { model, .. } = reading.as_usual();
        for asked in [
            "",
            "gpu=h100-80&gpus=8&s=4096",
            "model=llama-3.1-8b&s=8192",
            "model=bert-base&positions=99",
            "model=qwen2.5-vl-7b",
        ] {
            let now = link::decode(asked).scenario;
            let next = now.then(reading.as_usual().apply(now));
            let changed = link::decode_onto(Some(&now), &link::encode_change(&next, &now));
            assert_eq!(changed.notices, [], "{asked}");
            assert_eq!(changed.scenario, next, "{asked} with {model:?}");
            // Without a word of the reader's own, both begin with the same defaults.
            if !asked.contains("model") {
                let read = link::decode_with(asked, Some(reading.as_usual()));
                assert_eq!(changed.scenario, read.scenario, "{asked} with {model:?}");
            }
        }
    }
}

/// Files of models that are not listed, with whether they drop out and what is computed again.
const OTHERS: &[((Switch, Recomputation), &str)] = &[
    // A model that sees, whose tower is of a kind that is not counted; its language model is one of the list.
    (
        (Switch::Off, Recomputation::Full),
        r#"{"model_type": "qwen3_vl", "text_config": {"model_type": "qwen3_vl_text", "attention_dropout": 0.0, "hidden_size":
        5120, "num_hidden_layers": 64, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128,
        "intermediate_size": 25600, "vocab_size": 151936}, "tie_word_embeddings": false, "vision_config": {"depth": 27}}"#,
    ),
    // Experts and latent attention, and no word of dropout.
    (
        (Switch::Off, Recomputation::Full),
        r#"{"model_type": "glm4_moe_lite", "hidden_size": 2048, "num_hidden_layers": 47, "num_attention_heads": 20,
        "num_key_value_heads": 20, "intermediate_size": 10240, "vocab_size": 154880, "n_routed_experts": 64,
        "num_experts_per_tok": 4, "moe_intermediate_size": 1536, "kv_lora_rank": 512, "q_lora_rank": 768,
        "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256, "tie_word_embeddings": false}"#,
    ),
    ((Switch::On, Recomputation::Full), include_str!("../../../tests/config_files/starcoderbase-1b.json")),
    ((Switch::On, Recomputation::None), include_str!("../../../tests/config_files/mbart-large-cc25.json")),
    (
        (Switch::Off, Recomputation::None),
        r#"{"model_type": "llama", "hidden_size": 512, "num_hidden_layers": 8,
        "num_attention_heads": 8, "intermediate_size": 2048, "vocab_size": 32000}"#,
    ),
    (
        (Switch::On, Recomputation::None),
        r#"{"model_type": "llama", "attention_dropout": 0.1, "hidden_size": 512,
        "num_hidden_layers": 8, "num_attention_heads": 8, "intermediate_size": 2048, "vocab_size": 32000}"#,
    ),
    (
        (Switch::On, Recomputation::None),
        r#"{"model_type": "gpt2", "n_embd": 512, "n_layer": 8, "n_head": 8, "vocab_size": 32000}"#,
    ),
    (
        (Switch::Off, Recomputation::None),
        r#"{"model_type": "gpt2", "resid_pdrop": 0.0, "attn_pdrop": 0, "n_embd": 512,
        "n_layer": 8, "n_head": 8, "vocab_size": 32000}"#,
    ),
];

#[test]
fn a_model_that_is_not_listed_is_trained_as_one_of_its_size_is_with_its_own_dropout() {
    for (expected, text) in OTHERS {
        let reading = reading(text);
        let recipe = link::decode_with("v=3", Some(reading.as_usual())).scenario.recipe;
        assert_eq!((recipe.dropout, recipe.recomputation), *expected, "{text}");
    }
}
