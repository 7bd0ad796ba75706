//! What is held of every file, known or hostile.

mod forms;
mod listed;
mod messages;

use proptest::prelude::*;
use proptest::sample::select;

use super::families::WORDS;
use super::inputs::{BIASES, SWITCHES};
use super::*;
use crate::{Choice, Experts, Field, Latent, Scenario, Softmax, setting::Setting};

macro_rules! files {
    ($($name:literal: $weights:literal, $shape:literal;)+) => {
        &[$(($name, include_str!(concat!("../../../tests/config_files/", $name, ".json")), $weights, $shape),)+]
    };
}

/// The files of tests/config_files: the weights that transformers 5.23 allocates for each
/// (tests/config_files/count.py), and the shape.
const FILES: &[(&str, &str, i64, &str)] = files! {
    "llama-3.1-8b": 8_030_261_248, "[4096, 32, 32, 8, 128, 14336, 128256] 2 gated rmsnorm off none rotary untied";
    "tinyllama-1.1b": 1_100_048_384, "[2048, 22, 32, 4, 64, 5632, 32000] 2 gated rmsnorm off none rotary untied";
    "mistral-7b": 7_241_732_096, "[4096, 32, 32, 8, 128, 14336, 32000] 2 gated rmsnorm off none rotary untied";
    "mixtral-8x7b": 46_702_792_704, "[4096, 32, 32, 8, 128, 14336, 32000] 2 gated rmsnorm off none rotary untied experts [8, 2, 0, 0, 0]";
    "qwen2.5-7b": 7_615_616_512, "[3584, 28, 28, 4, 128, 18944, 152064] 2 gated rmsnorm off qkv rotary untied";
    "qwen1.5-moe-a2.7b": 14_315_784_192, "[2048, 24, 16, 16, 128, 5632, 151936] 2 gated rmsnorm off qkv rotary untied experts [60, 4, 1408, 5632, 0]";
    "qwen3-8b": 8_190_735_360, "[4096, 36, 32, 8, 128, 12288, 151936] 2 gated rmsnorm head none rotary untied";
    "qwen3-30b-a3b": 30_532_122_624, "[2048, 48, 32, 4, 128, 6144, 151936] 2 gated rmsnorm head none rotary untied experts [128, 8, 768, 0, 0]";
    "gemma-7b": 8_537_680_896, "[3072, 28, 16, 16, 256, 24576, 256000] 2 gated rmsnorm-fp32 off none rotary tied";
    "gemma-2-9b": 9_241_705_984, "[3584, 42, 16, 8, 256, 14336, 256000] 4 gated rmsnorm-fp32 off none rotary tied capped";
    "gemma-3-4b": 4_300_079_472, "[2560, 34, 8, 4, 256, 10240, 262208] 4 gated rmsnorm-fp32 head none rotary tied";
    "gpt2": 124_439_808, "[768, 12, 12, 12, 64, 3072, 50257] 2 gelu-tanh layernorm off all learned tied positions 1024 packed softmax-of-scores";
    "pythia-1.4b": 1_414_647_808, "[2048, 24, 16, 16, 128, 8192, 50304] 2 gelu layernorm off all rotary-part untied packed side-by-side";
    "gpt-j-6b": 6_050_882_784, "[4096, 28, 16, 16, 256, 16384, 50400] 1 gelu-tanh layernorm off all rotary-part untied side-by-side";
    "starcoderbase-1b": 1_137_207_296, "[2048, 24, 16, 1, 128, 8192, 49152] 2 gelu layernorm off all learned tied positions 8192 packed";
    "phi-1.5": 1_418_270_720, "[2048, 24, 32, 32, 64, 8192, 51200] 1 gelu-tanh layernorm off all rotary-part untied side-by-side";
    "phi-3-mini": 3_821_079_552, "[3072, 32, 32, 32, 96, 8192, 32064] 2 gated rmsnorm off none rotary untied packed";
    "olmo-7b": 6_888_095_744, "[4096, 32, 32, 32, 128, 11008, 50304] 2 gated plain off none rotary untied";
    "olmo-2-7b": 7_298_617_344, "[4096, 32, 32, 32, 128, 11008, 100352] 2 gated rmsnorm-fp32 full none rotary untied";
    "olmoe-1b-7b": 6_919_161_856, "[2048, 16, 16, 16, 128, 1024, 50304] 2 gated rmsnorm full none rotary untied experts [64, 8, 0, 0, 0]";
    "bert-base": 109_514_298, "[768, 12, 12, 12, 64, 3072, 30522] 2 gelu layernorm off all learned tied positions 512 softmax-of-scores";
    "roberta-base": 124_697_433, "[768, 12, 12, 12, 64, 3072, 50265] 2 gelu layernorm off all learned tied positions 514 softmax-of-scores";
    // transformers has no model of this type; this is the count of its published code, added up by hand.
    "deepseek-moe-16b": 16_375_728_128, "[2048, 28, 16, 16, 128, 10944, 102400] 2 gated rmsnorm off none rotary untied experts [64, 6, 1408, 2816, 1]";
    "deepseek-v2-lite": 15_706_484_224, "[2048, 27, 16, 16, 128, 10944, 102400] 2 gated rmsnorm off none rotary untied experts [64, 6, 1408, 2816, 1] latent [0, 512, 64]";
    "deepseek-v3": 671_026_404_352, "[7168, 61, 128, 128, 128, 18432, 129280] 2 gated rmsnorm off none rotary untied experts [256, 8, 2048, 2048, 3] latent [1536, 512, 64]";
    "mpt-7b": 6_649_286_656, "[4096, 32, 32, 32, 128, 16384, 50432] 2 gelu layernorm off none none tied packed";
    "opt-1.3b": 1_315_758_080, "[2048, 24, 32, 32, 64, 8192, 50272] 2 relu layernorm off all learned tied positions 2050";
    "falcon-7b": 6_921_720_704, "[4544, 32, 71, 1, 64, 18176, 65024] 1 gelu layernorm off none rotary tied packed softmax-of-scores side-by-side";
    "falcon-40b": 41_303_293_952, "[8192, 60, 128, 8, 64, 32768, 65024] 2 gelu layernorm off none rotary tied packed softmax-of-scores side-by-side";
    "smollm3-3b": 3_075_098_624, "[2048, 36, 16, 4, 128, 11008, 128256] 2 gated rmsnorm off none rotary tied";
    "stablelm-2-1.6b": 1_644_515_328, "[2048, 24, 32, 32, 64, 5632, 100352] 2 gated layernorm off qkv rotary-part untied";
    "starcoder2-7b": 7_173_923_840, "[4608, 32, 36, 4, 128, 18432, 49152] 2 gelu layernorm off all rotary tied";
    "command-r-v01": 34_980_831_232, "[8192, 40, 64, 64, 128, 22528, 256000] 1 gated layernorm-fp32 off none rotary tied side-by-side";
    "gpt-oss-20b": 20_914_757_184, "[2880, 24, 64, 8, 64, 2880, 201088] 2 gated rmsnorm-fp32 off qkv rotary untied experts [32, 4, 0, 0, 0] softmax-of-scores";
    "t5-small": 60_506_624, "[512, 6, 8, 8, 64, 2048, 32128] 2 relu rmsnorm off none relative tied positions 32 softmax-of-scores encoder [6, 32, 0]";
    "t5-base": 222_903_552, "[768, 12, 12, 12, 64, 3072, 32128] 2 relu rmsnorm off none relative tied positions 32 softmax-of-scores encoder [12, 32, 0]";
    // The published checkpoints have a head of their own, as their files say; transformers makes one matrix of it
    // where it makes the model and loads nothing, which count.py therefore counts once.
    "flan-t5-base": 247_577_856, "[768, 12, 12, 12, 64, 2048, 32128] 2 gated-gelu-tanh rmsnorm off none relative untied positions 32 softmax-of-scores encoder [12, 32, 0]";
    "flan-t5-xl": 2_849_757_184, "[2048, 24, 32, 32, 64, 5120, 32128] 2 gated-gelu-tanh rmsnorm off none relative untied positions 32 softmax-of-scores encoder [24, 32, 0]";
    "mt5-small": 300_176_768, "[512, 8, 6, 6, 64, 1024, 250112] 2 gated-gelu-tanh rmsnorm off none relative untied positions 32 softmax-of-scores encoder [8, 32, 0]";
    "bart-base": 139_420_416, "[768, 6, 12, 12, 64, 3072, 50265] 2 gelu layernorm off all learned tied positions 1026 softmax-of-scores encoder [6, 1026, 0]";
    "bart-large": 406_291_456, "[1024, 12, 16, 16, 64, 4096, 50265] 2 gelu layernorm off all learned tied positions 1026 softmax-of-scores encoder [12, 1026, 0]";
    "mbart-large-cc25": 610_851_840, "[1024, 12, 16, 16, 64, 4096, 250027] 2 gelu layernorm off all learned tied positions 1026 softmax-of-scores encoder [12, 1026, 0]";
    "pegasus-xsum": 569_748_480, "[1024, 16, 16, 16, 64, 4096, 96103] 2 relu layernorm off all none tied softmax-of-scores encoder [16, 0, 0]";
    "opus-mt-en-de": 74_410_496, "[512, 6, 8, 8, 64, 2048, 58101] 2 gelu layernorm off all none tied softmax-of-scores encoder [6, 0, 0]";
    "m2m100-418m": 483_905_536, "[1024, 12, 16, 16, 64, 4096, 128112] 2 relu layernorm off all none tied softmax-of-scores encoder [12, 0, 0]";
    "whisper-small": 241_734_912, "[768, 12, 12, 12, 64, 3072, 51865] 2 gelu layernorm off all learned tied positions 448 softmax-of-scores encoder [12, 1500, 80]";
    "whisper-large-v3": 1_543_490_560, "[1280, 32, 20, 20, 64, 5120, 51866] 2 gelu layernorm off all learned tied positions 448 softmax-of-scores encoder [32, 1500, 128]";
    "modernbert-base": 149_655_232, "[768, 22, 12, 12, 64, 1152, 50368] 2 gated layernorm off none rotary tied";
};

/// Settings that none of the files has, counted in the same way.
const VARIANTS: &str = include_str!("../../../tests/config_files/variants.json");

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
    for (word, is_so) in [
        ("packed", model.packs_attention()),
        ("softmax-of-scores", model.softmax == Softmax::Scores),
        ("side-by-side", model.parallel.is_on()),
        ("capped", model.soft_cap.is_on()),
    ] {
        if is_so {
            shape += &format!(" {word}");
        }
    }
    if model.encoder.is_there() {
        shape += &format!(" encoder {:?}", [model.encoder.layers, model.encoder.positions, model.encoder.mels]);
    }
    if model.latent != Latent::NONE {
        let Latent { query_rank, kv_rank, rope_dim } = model.latent;
        shape += &format!(" latent {:?}", [query_rank, kv_rank, rope_dim]);
    }
    shape
}

fn messages(reading: &Reading) -> Vec<String> {
    reading.notes.iter().map(ConfigNotice::to_string).collect()
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
fn every_file_has_the_shape_of_its_model_and_every_weight_is_counted_or_named() {
    for (name, text, weights, expected) in FILES {
        let reading = read(text).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
        assert_eq!(shape(&reading.model), *expected, "{name}");
        assert_eq!(reading.weights(), *weights, "{name}: {:?}", messages(&reading));
        let derived = reading.model.parameters;
        assert_eq!(derived, reading.model.derived_parameters(), "{name}");
        assert!(derived.abs_diff(*weights as u64) as f64 <= 0.008 * *weights as f64, "{name}");
    }
}

#[test]
fn every_weight_of_every_variant_is_counted_or_named() {
    let variants: Vec<serde_json::Value> = serde_json::from_str(VARIANTS).expect("a list");
    assert!(variants.len() > 40);
    for variant in variants {
        let config = variant["config"].to_string();
        let reading = read(&config).unwrap_or_else(|refusal| panic!("{config}: {refusal}"));
        let weights = variant["weights"].as_i64().expect("a count");
        assert_eq!(reading.weights(), weights, "{config}: {:?}", messages(&reading));
    }
}

#[test]
fn every_word_of_the_tables_is_known() {
    let switches = SWITCHES.iter().flat_map(|(word, _, changes)| [*word, changes[0], changes[1]]);
    let texts = families::all().flat_map(|family| [family.block, family.own]).chain(switches);
    let texts = texts.chain(BIASES.iter().map(|(word, ..)| *word)).chain(guess::BLOCKS.iter().copied());
    for word in texts.flat_map(|text| text.split(' ')).filter(|word| !word.is_empty()) {
        let is_known = match word.split_once('=') {
            None => {
                let (bare, number) = word.split_once(':').unwrap_or((word, "0"));
                WORDS.iter().any(|(own, _)| *own == bare) && number.parse::<u32>().is_ok()
            }
            Some((key, value)) => match Field::from_key(key) {
                Some(field) => field.read(value).is_ok(),
                None => Setting::from_key(key).is_some_and(|setting| setting.read(value, Scenario::workshop()).is_ok()),
            },
        };
        assert!(is_known, "{word}");
    }
}

#[test]
fn every_type_is_in_one_row() {
    let known = families::all().flat_map(|family| family.types.split(' '));
    let refused = families::OTHERS.iter().flat_map(|other| other.types.split_whitespace());
    let mut types: Vec<_> = known.chain(refused).collect();
    types.sort_unstable();
    for pair in types.windows(2) {
        assert!(pair[0] != pair[1] && !pair[0].is_empty(), "{pair:?}");
    }
}

#[test]
fn a_hostile_file_has_short_notes_and_an_answer_at_once() {
    let keys: String = (0..2_000).map(|key| format!("\"{key}_experts_{}\": 1,", "é".repeat(99))).collect();
    let list = vec!["1e9"; 30_000].join(",");
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
            let scenario = Scenario { model: reading.model, ..Scenario::workshop() };
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
        kind in select(families::all().flat_map(|family| family.types.split(' ')).collect::<Vec<_>>()),
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

#[test]
fn caps_of_logits_are_read_and_follow_the_family_where_a_file_says_nothing() {
    let file = include_str!("../../../tests/config_files/gemma-2-9b.json");
    let is_capped = |text: &str| read(text).expect("a model").model.soft_cap.is_on();
    assert!(is_capped(file));
    let uncapped = file
        .replace("softcapping\": 50.0", "softcapping\": null")
        .replace("softcapping\": 30.0", "softcapping\": null");
    assert!(!is_capped(&uncapped));
    let silent = file.replace("attn_logit_softcapping", "x").replace("final_logit_softcapping", "y");
    assert!(is_capped(&silent));
    assert!(!is_capped(LLAMA_FILE));
}
