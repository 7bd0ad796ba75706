//! Settings that contradict each other, as the built program names them: with the nearest that do not.

use serde_json::{Value, json};

use super::{report, run, words};

/// A question, the parameter that is to change, and its nearest value that works.
fn contradictions() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        // 32 layers on 4 stages are 8 each, of which 3 chunks cannot be made and 2 or 4 can.
        ("model=llama-2-7b&gpus=4&pp=4&accum=8&zero=0&vpp=3", "vpp", json!(2)),
        // 33 layers are 9, 8, 8 and 8.
        ("model=llama-2-7b&layers=33&params=6.94&gpus=4&pp=4&accum=8&zero=0&vpp=9", "vpp", json!(8)),
        // DeepSpeed has no interleaved schedule.
        ("model=llama-2-7b&gpus=4&pp=4&accum=8&zero=0&vpp=2&engine=deepspeed", "vpp", json!(1)),
        // 4, 8, 8 and 12 layers can be halved and quartered.
        ("model=llama-2-7b&gpus=4&pp=4&accum=8&zero=0&vpp=3&engine=megatron&pp_first=4&pp_last=12", "vpp", json!(2)),
        // Rounds of micro-batches: ten are two rounds of five for PyTorch, and none of four for Megatron-LM.
        ("model=llama-2-7b&gpus=4&pp=4&accum=9&zero=0&vpp=2", "accum", json!(10)),
        ("model=llama-2-7b&gpus=4&pp=4&accum=10&zero=0&vpp=2&engine=megatron", "accum", json!(12)),
        ("model=llama-2-7b&gpus=4&pp=4&accum=3&zero=0", "accum", json!(4)),
        // The named stages leave nothing for the two between: 18 + 1 + 1 + 12 is the nearest that does.
        ("model=llama-2-7b&gpus=4&pp=4&accum=4&zero=0&pp_first=20&pp_last=12", "pp_first", json!(18)),
        ("model=llama-2-7b&gpus=4&pp=4&accum=4&zero=0&pp_last=32", "pp_last", json!(29)),
        // 30 layers make no four equal stages: 8, 8, 8 and 6 are what Megatron-LM can be told.
        ("model=llama-2-7b&layers=30&params=6.33&gpus=4&pp=4&accum=4&zero=0&engine=megatron", "pp_last", json!(6)),
        // More stages than layers.
        ("model=llama-2-7b&gpus=64&pp=64&accum=64&zero=0", "pp", json!(32)),
        // K and N beyond the layers of the model, or of a stage.
        ("model=llama-2-7b&recompute=every-k&every=33", "every", json!(32)),
        ("model=llama-2-7b&recompute=kth-layer&every=33", "every", json!(32)),
        ("model=llama-2-7b&gpus=4&pp=4&accum=4&zero=0&recompute=kth-layer&every=9", "every", json!(8)),
        (
            "model=llama-2-7b&gpus=4&pp=4&accum=4&zero=0&recompute=block&recompute_layers=9",
            "recompute_layers",
            json!(8),
        ),
        // Engines and ZeRO stages.
        ("model=llama-2-7b&gpus=8&zero=1&engine=torchtitan", "zero", json!("2")),
        ("model=llama-2-7b&gpus=8&pp=4&accum=4&zero=2&engine=deepspeed", "zero", json!("1")),
        ("model=llama-2-7b&gpus=8&pp=4&accum=4&zero=3", "zero", json!("1")),
        ("model=llama-2-7b&gpus=8&precision=mixed&engine=deepspeed", "precision", json!("bf16")),
        ("model=llama-2-7b&gpus=8&zero=3&precision=autocast", "precision", json!("mixed")),
        ("model=llama-2-7b&gpus=8&zero=3&reshard=3", "reshard", json!(2)),
    ]
}

#[test]
fn every_contradiction_is_named_with_the_nearest_setting_and_that_setting_has_none() {
    for (question, key, nearest) in contradictions() {
        let found = report(question);
        let conflicts = found["conflicts"].as_array().expect("a list");
        assert_eq!(conflicts.len(), 1, "{question}: {conflicts:?}");
        assert_eq!((&conflicts[0]["key"], &conflicts[0]["nearest"]), (&json!(key), &nearest), "{question}");
        // What is printed says it too.
        let message = conflicts[0]["message"].as_str().expect("a sentence");
        let printed = run(&[question]);
        assert!(words(&printed.stdout).contains(message), "{question}: {message}");
        // With the nearest setting nothing contradicts any more.
        let value = nearest.as_str().map_or_else(|| nearest.to_string(), str::to_owned);
        let others = question.split('&').filter(|pair| pair.split('=').next() != Some(key));
        let mended = others.map(str::to_owned).chain([format!("{key}={value}")]).collect::<Vec<_>>().join("&");
        assert_eq!(report(&mended)["conflicts"], json!([]), "{mended}");
    }
}
