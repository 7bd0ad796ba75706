//! Files in other names and forms than transformers writes, and files that are none of a model.

use super::*;
use crate::json::Value;
use crate::read::{Format, NoConfig, config};
use crate::{Mlp, Norm, link};

/// A file of Mistral's own code: 32 layers of 4,096, with groups of 8 keys and values.
const MISTRAL: &str = r#"{"dim": 4096, "n_layers": 32, "head_dim": 128, "hidden_dim": 14336, "n_heads": 32,
    "n_kv_heads": 8, "norm_eps": 1e-05, "vocab_size": 32768, "rope_theta": 1000000.0}"#;

#[test]
fn mistral_s_own_names_are_read() {
    let reading = read(MISTRAL).expect("a model");
    // The count of the class of transformers for the same sizes (the row “mistral-7b” of the list).
    assert_eq!((reading.weights(), messages(&reading)), (7_248_023_552, vec![]));
    assert_eq!(reading.as_usual(), crate::catalogue::model("mistral-7b").expect("listed").as_usual());
    // Experts lie in an object of their own (`MoeArgs` in mistral_inference/moe.py); these are those of Mixtral 8x7B.
    let experts = MISTRAL
        .replace("32768", "32000")
        .replace("\"rope_theta\"", "\"moe\": {\"num_experts_per_tok\": 2, \"num_experts\": 8}, \"rope_theta\"");
    let reading = read(&experts).expect("a model");
    assert_eq!(reading.weights(), 46_702_792_704);
    assert_eq!(reading.as_usual().model.origin.slug(), Some("mixtral-8x7b"));
    let tied =
        MISTRAL.replace("\"rope_theta\"", "\"tied_embeddings\": true, \"model_type\": \"transformer\", \"rope_theta\"");
    assert_eq!(read(&tied).expect("a model").weights(), 7_248_023_552 - 32_768 * 4_096);
}

#[test]
fn meta_s_own_names_are_read_and_the_width_follows_by_its_rule() {
    let file = |sizes: &str| format!("{{{sizes}, \"norm_eps\": 1e-05, \"rope_theta\": 500000.0}}");
    for (sizes, row, weights) in [
        // Two thirds of 4 · 4,096 are 10,922; 1.3 times that, 14,198, up to 14 · 1,024.
        (
            r#""dim": 4096, "n_layers": 32, "n_heads": 32, "n_kv_heads": 8, "vocab_size": 128256, "ffn_dim_multiplier": 1.3, "multiple_of": 1024"#,
            "llama-3.1-8b",
            8_030_261_248,
        ),
        (
            r#""dim": 8192, "n_layers": 80, "n_heads": 64, "n_kv_heads": 8, "vocab_size": 128256, "ffn_dim_multiplier": 1.3, "multiple_of": 4096"#,
            "llama-3.1-70b",
            70_553_706_496,
        ),
        // Without a factor and without groups; the vocabulary is that of the tokenizer.
        (
            r#""dim": 4096, "multiple_of": 256, "n_heads": 32, "n_layers": 32, "vocab_size": -1"#,
            "llama-7b",
            6_738_415_616,
        ),
    ] {
        let reading = read(&file(sizes)).expect("a model");
        assert_eq!(
            (reading.weights(), reading.as_usual().model.origin.slug().unwrap_or_default()),
            (weights, row),
            "{:?}",
            messages(&reading)
        );
    }
}

#[test]
fn python_s_infinity_and_nan_matter_where_a_size_is_one_and_nowhere_else() {
    let with = |old: &str, new: &str| llama_with(old, new);
    let sound = read(&with(
        "\"mlp_bias\": false",
        "\"time_step_limit_of_nothing\": [0.0, Infinity], \"x\": NaN, \"y\": -Infinity",
    ));
    assert_eq!(sound.expect("a model").model, read(LLAMA_FILE).expect("a model").model);
    assert_eq!(
        refusal(&with("\"num_hidden_layers\": 32", "\"num_hidden_layers\": Infinity")),
        "“num_hidden_layers” is NaN or Infinity; a number belongs there."
    );
    assert_eq!(
        note_with("\"num_key_value_heads\": 8", "\"num_key_value_heads\": NaN"),
        "“num_key_value_heads” is NaN or Infinity; a number belongs there. 32 stands in."
    );
}

#[test]
fn files_of_eight_megabytes_are_read_and_longer_ones_told_how_long_they_are() {
    let listed = |bytes: usize| {
        let name = "\"model.layers.0.mlp.gate_proj\",\n";
        let list = name.repeat(bytes / name.len());
        llama_with("\"mlp_bias\": false", &format!("\"quantization_config\": {{\"ignore\": [{list} \"\"]}}"))
    };
    assert_eq!(read(&listed(7_000_000)).expect("a model").model, read(LLAMA_FILE).expect("a model").model);
    let long = listed(9_000_000);
    let said = refusal(&long);
    assert!(
        said.starts_with("This is more than is read: the text has") && said.contains(&long.len().to_string()),
        "{said}"
    );
}

/// What a file is that is for another program, and what it says as parameters of a link.
fn aside(text: &str) -> (Format, String) {
    let Err(NoConfig::Aside(aside)) = config(text) else { panic!("{text}: {:?}", config(text)) };
    let said = aside.to_string();
    assert!(said.len() < 600, "{said}");
    let words = aside.words().join("&");
    // All of it is understood, and says what it says.
    assert_eq!(link::decode(&words).notices, [], "{said}");
    (aside.format, words)
}

#[test]
fn training_files_are_named_with_the_inputs_that_they_correspond_to() {
    let deepspeed = r#"{"train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": true},
        "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto",
        "offload_optimizer": {"device": "cpu", "pin_memory": true}}}"#;
    assert_eq!(aside(deepspeed), (Format::DeepSpeed, "precision=bf16&zero=3&offload=optimizer".to_owned()));
    let axolotl = "base_model: some/model-8B\nload_in_4bit: true\nadapter: qlora\nsequence_len: 4096\nmicro_batch_size: 2  # a GPU\n\
        optimizer: paged_adamw_32bit\ngradient_checkpointing: true\n";
    assert_eq!(aside(axolotl), (Format::Axolotl, "adapter=qlora&s=4096&b=2&recompute=full".to_owned()));
    let said = config(axolotl).expect_err("no model").to_string();
    assert!(
        said.contains("not counted: optimizer") && said.contains("“model-8B”") && !said.contains("some/"),
        "{said}"
    );
    // The same as JSON.
    let json = r#"{"model_name_or_path": "some/model", "finetuning_type": "full", "cutoff_len": 8192, "bf16": true}"#;
    assert_eq!(aside(json), (Format::LlamaFactory, "precision=autocast&s=8192&adapter=none".to_owned()));
}

#[test]
fn files_that_stand_beside_a_config_are_told_from_one() {
    for (text, kind) in [
        (
            r#"{"metadata": {"total_size": 16060522496}, "weight_map": {"lm_head.weight": "model-1.safetensors"}}"#,
            "the index of a model’s weights (safetensors)",
        ),
        (
            r#"{"added_tokens_decoder": {}, "model_max_length": 131072, "tokenizer_class": "PreTrainedTokenizerFast"}"#,
            "the configuration of a tokenizer",
        ),
        (
            r#"{"bos_token_id": 1, "do_sample": true, "eos_token_id": 2, "transformers_version": "5.0.0"}"#,
            "the settings with which a model generates",
        ),
        (
            r#"{"_class_name": "FluxTransformer2DModel", "_diffusers_version": "0.30.0", "num_attention_heads": 24}"#,
            "a part of a diffusion model, which has no tokens",
        ),
        (
            r#"{"image_processor_type": "CLIPImageProcessor", "size": 336}"#,
            "the configuration of what makes tensors of images or sounds",
        ),
    ] {
        let Err(NoConfig::Aside(aside)) = config(text) else { panic!("{text}") };
        assert_eq!((aside.format.name(), aside.words().len()), (kind, 0));
    }
    let said =
        config(r#"{"metadata": {"total_size": 16060522496}, "weight_map": {}}"#).expect_err("no model").to_string();
    assert!(said.contains("metadata.total_size"), "{said}");
}

#[test]
fn no_file_of_a_model_is_taken_for_another_file() {
    for (name, text, ..) in FILES {
        let Value::Object(_) = json::read_file(text).expect("JSON") else { panic!("{name}") };
        assert!(!matches!(config(text), Err(NoConfig::Aside(_))), "{name}");
    }
    // Neither is a text that is no file of these programs.
    for text in
        ["", "hello", "hello: world", "a: [1, 2]\nb: {c: d}", "- one\n- two", "key:value", "base_model", "---\n#"]
    {
        assert!(matches!(read(text), Err(ConfigError::Json(_))), "{text}");
    }
}

/// What a family says of a setting: its own word before that of the block it is derived from.
fn word(family: &families::Family, key: &str) -> &'static str {
    let words = [family.own, family.block].into_iter().flat_map(|words| words.split(' '));
    words.filter_map(|word| word.strip_prefix(key)).next().unwrap_or_default()
}

#[test]
fn norms_are_those_of_the_code_of_each_family() {
    // Of every family whose norms are not PyTorch's own: `forward` of its class in models/*/modeling_*.py, transformers
    // 5.23.0. Multiplied in fp32 are weights of RMSNorm in these, and Cohere spells LayerNorm out in fp32.
    let multiplied_in_fp32 = "afmoe beam flex_olmo flint gemma gemma2 gemma3 gemma4 gpt_oss helium minimax_m3_vl olmo2 olmo3 qwen3_5 qwen3_next vaultgemma";
    let spelt_out = "cohere cohere2 cohere2_moe cohere_compass";
    let without_weights = "nanochat olmo";
    for family in families::all() {
        for kind in family.types.split(' ') {
            let norm = word(family, "norm=");
            let listed = |types: &str| types.split(' ').any(|other| other == kind);
            assert_eq!(
                norm == "rmsnorm-fp32",
                listed(multiplied_in_fp32) || kind.starts_with("gemma4") || kind == "qwen3_5_moe",
                "{kind}: {norm}"
            );
            assert_eq!(norm == "layernorm-fp32", listed(spelt_out), "{kind}: {norm}");
            assert_eq!(norm == "plain", listed(without_weights), "{kind}: {norm}");
        }
    }
}

#[test]
fn what_a_softmax_is_taken_in_is_that_of_the_code_of_each_family() {
    // `eager_attention_forward` without `dtype=torch.float32` in models/*/modeling_*.py, transformers 5.23.0.
    for kind in [
        "gpt_oss",
        "llama4",
        "mimo_v2_flash",
        "biogpt",
        "ctrl",
        "esm",
        "gte",
        "nomic_bert",
        "bert",
        "bart",
        "t5",
        "gpt2",
        "falcon",
    ] {
        assert_eq!(word(families::of(kind).expect("a family"), "softmax="), "scores", "{kind}");
    }
    for kind in ["llama", "opt", "gpt_bigcode", "gpt_neo", "gptj", "qwen3", "stablelm", "phi", "mpt"] {
        assert_ne!(word(families::of(kind).expect("a family"), "softmax="), "scores", "{kind}");
    }
}

#[test]
fn norms_that_no_input_has_are_named_with_their_weights_and_what_they_keep() {
    let bitnet = r#"{"model_type": "bitnet", "hidden_size": 2560, "num_hidden_layers": 30, "num_attention_heads": 20,
        "num_key_value_heads": 5, "head_dim": 128, "intermediate_size": 6912, "vocab_size": 128256, "tie_word_embeddings": true}"#;
    let reading = read(bitnet).expect("a model");
    // 30 layers of 2,560 and 6,912; of each element of the first 8 bytes and of the second 6.
    let note = "Not counted: the norms inside the blocks, 284,160 weights (555 KiB in 16 bits), and up to 1,858,560 bytes a token \
         that all layers keep where none is computed again.";
    assert_eq!(messages(&reading), [note]);
}

#[test]
fn cohere_s_norm_has_a_weight_and_keeps_three_tensors_in_fp32() {
    let cohere = r#"{"model_type": "cohere", "hidden_size": 4096, "num_hidden_layers": 3, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 256000, "tie_word_embeddings": true, "head_dim": 128}"#;
    let model = read(cohere).expect("a model").model;
    assert_eq!((model.norm, model.mlp), (Norm::LayerNormFull, Mlp::Gated));
    let kept = |norm| {
        let mut scenario = link::decode("v=3&gpus=1&zero=0&recompute=none&dropout=off&s=1024&b=1").scenario;
        scenario.model = Model { norm, ..model };
        let estimate = crate::estimate(&scenario);
        let instant = estimate.instants.iter().position(|instant| instant.name == "loss, forward").expect("an instant");
        estimate.bucket_at(crate::Bucket::Activations, instant).get()
    };
    // 12 bytes an element for 2 of PyTorch's kernel: one norm in each of three layers, and the last one.
    let more = kept(Norm::LayerNormFull) - kept(Norm::LayerNorm);
    assert!((more - 4.0 * 10.0 * 1024.0 * 4096.0).abs() < 1.0, "{more}");
}

#[test]
fn the_script_that_measures_has_cohere_s_norm_where_the_model_has_it() {
    let script = |norm| {
        let mut scenario = Scenario::workshop();
        scenario.model.norm = norm;
        crate::export::write(crate::export::Target::Measure, &scenario, "")
    };
    let spelt_out = "if self.kind == \"layernorm-fp32\":";
    assert!(script(Norm::LayerNormFull).contains(spelt_out));
    for norm in [Norm::LayerNorm, Norm::RmsNorm, Norm::RmsNormFull, Norm::Plain] {
        assert!(!script(norm).contains(spelt_out) && !script(norm).contains("@@"));
    }
}
