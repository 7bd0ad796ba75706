//! What holds of all rows.

use std::collections::BTreeSet;

use super::*;
use crate::{Scenario, link};

#[test]
fn every_estimator_has_a_word_a_source_and_a_sentence() {
    let mut keys = BTreeSet::new();
    for other in ALL {
        assert!(keys.insert(other.key), "{} twice", other.key);
        assert!(other.key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{}", other.key);
        assert!(other.origin.url.starts_with("https://") && other.origin.date.starts_with("20"), "{}", other.key);
        let commit = other.origin.commit;
        assert!(commit.is_empty() == other.printed.is_none(), "{}: only a paper has no commit", other.key);
        assert!(commit.bytes().all(|byte| byte.is_ascii_hexdigit()) && [0, 40].contains(&commit.len()), "{commit}");
        let sentence = other.why;
        assert!(sentence.starts_with("It ") || sentence.starts_with("Without "), "{sentence}");
        assert!(sentence.ends_with('.') && !sentence.contains("  "), "{sentence}");
        assert_eq!(sentence.matches(". ").count(), 0, "one sentence: {sentence}");
    }
}

#[test]
fn a_default_of_one_gpu_asks_for_nothing_that_a_calculator_lacks() {
    let read = link::decode("v=3&model=llama-2-7b&gpus=1&zero=0&recompute=none&precision=bf16");
    let lacking = |row: &Row| row.memory.as_ref().err().map(|lacking| (row.other.key, lacking.input.key()));
    let rows = all(&read.scenario);
    // DeepSpeed's functions begin with stage 2.
    assert_eq!(rows.iter().filter_map(lacking).collect::<Vec<_>>(), [("deepspeed", "zero")]);
}

#[test]
fn what_is_asked_for_and_not_there_is_named_with_its_value() {
    let rows = all(&link::decode("v=3&model=llama-2-7b&gpus=1&adapter=lora-fp32").scenario);
    for row in rows {
        let lacking = row.memory.expect_err("none has LoRA on fp32 weights");
        assert_eq!((lacking.input.key(), lacking.value), ("adapter", Value::Word("lora-fp32")), "{}", row.other.key);
        assert_eq!(row.largest.expect_err("nor its batch"), lacking);
    }
}

#[test]
fn what_no_program_has_is_named_by_each_of_them() {
    let expected = [
        ("model=t5-base", "enc_layers"),
        ("model=qwen2.5-vl-7b", "vision"),
        ("task=dpo", "task"),
        ("task=grpo&rollout=asleep", "task"),
        ("lengths=padded", "lengths"),
        ("lengths=packed", "lengths"),
        ("gpu=h100-80&fp8=te-delayed", "fp8"),
        ("step=in-backward", "step"),
        ("eval=logits", "eval"),
        ("eval=loss&eval_generate=on", "eval"),
        ("zero=3&gather=gpu", "gather"),
        ("save=async", "save"),
        ("load=gpu", "load"),
        ("resume=init", "resume"),
        ("adapter=lora&zero=0&merge=safe", "merge"),
        ("optimizer=shampoo", "optimizer"),
        ("optimizer=adam4bit", "optimizer"),
        ("optimizer=adam8bit-paged", "optimizer"),
    ];
    for (query, key) in expected {
        // One GPU, and what every one of them knows beside it.
        let usual = "gpus=1&zero=2&recompute=none&precision=bf16";
        let read = link::decode(&format!("{usual}&{query}"));
        for row in all(&read.scenario) {
            let lacking = row.memory.expect_err(row.other.key);
            assert_eq!((lacking.input.key(), row.largest), (key, Err(lacking)), "{query}: {}", row.other.key);
        }
    }
}

#[test]
fn the_memory_of_the_machine_changes_no_row() {
    let of = |query| all(&link::decode(query).scenario);
    assert_eq!(of("model=llama-2-7b&gpus=1&zero=0&ram=1&host_load=twice"), of("model=llama-2-7b&gpus=1&zero=0"));
}

#[test]
fn the_method_of_the_scenario_does_not_matter() {
    for query in ["model=llama-3.1-8b", "model=7b&gpus=1&zero=0&recompute=none"] {
        let of = |method| all(&Scenario { method, ..link::decode(query).scenario });
        assert_eq!(of(Method::Ledger), of(Method::Workshop));
        assert_eq!(of(Method::Ledger), of(Method::Paper));
    }
}
