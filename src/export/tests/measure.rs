//! The script that measures.

use super::*;

#[test]
fn the_script_predicts_what_the_counters_of_its_own_scenario_say() {
    for query in ["model=gpt2&gpus=1&zero=0", "model=llama-3.1-8b&gpu=h100-80", "model=llama-3.1-70b&gpus=64"] {
        let text = write(Target::Measure, &scenario(query), PAGE);
        let address = text.lines().find(|line| line.starts_with(&format!("# {PAGE}?"))).expect("a link");
        let own = scenario(address.split_once('?').map_or("", |(_, query)| query));
        assert_eq!((own.cluster.gpus, own.cluster.zero), (1, ZeroStage::Stage0), "{query}");
        assert!(estimate(&own).peak().bytes <= own.usable(), "{query}");
        let seen = crate::counters(&own);
        let row =
            format!("    {}: ({}, {}),\n", own.recipe.batch, seen.allocated.get().round(), seen.reserved.get().round());
        assert!(text.contains(&row), "{query}: {row}\n{text}");
    }
}

#[test]
fn no_placeholder_of_the_script_is_left() {
    for query in ["", "gpus=1&zero=0", "tp=2", "gpus=2&zero=0"] {
        assert!(!write(Target::Measure, &scenario(query), PAGE).contains("@@"), "{query}");
    }
}

#[test]
fn the_script_builds_what_a_model_family_has() {
    let words = |query: &str, lines: &[&str]| assert_lines(Target::Measure, query, lines);
    words("model=pythia-6.9b", &["\"parallel\": True,", "\"packing\": \"packed\",", "\"position\": \"rotary-part\","]);
    words("model=gpt2", &["\"parallel\": False,", "\"packing\": \"packed\",", "\"softmax\": \"scores\","]);
    words(
        "model=llama-3.1-8b&mlp=relu",
        &["\"mlp\": \"relu\",", "\"softmax\": \"fp32\",", "\"packing\": \"separate\","],
    );
    words(
        "model=llama-3.1-8b&adapter=lora-fp32&precision=autocast&adapter_type=16&adapter_dropout=on",
        &["\"adapter\": \"lora-fp32\",", "\"adapter_type\": \"16\",", "\"adapter_dropout\": True,"],
    );
}

#[test]
fn the_script_recomputes_on_one_gpu_what_all_stages_do() {
    // Two layers in each of four chunks of eight stages are 64 of 80, and 4 of 5 of those that fit.
    let query = "model=llama-3.1-70b&gpu=h100-80&gpus=64&tp=2&pp=8&vpp=4&zero=1&accum=8&recompute=block\
                 &recompute_layers=2";
    let found = settings(Target::Measure, query);
    let value = |key: &str| -> u32 {
        let line = found.iter().find(|line| line.starts_with(&format!("\"{key}\": "))).expect(key);
        line.trim_end_matches(',').rsplit(' ').next().and_then(|number| number.parse().ok()).expect("a number")
    };
    let (again, layers) = (value("recompute_layers"), value("layers"));
    assert!(layers < 80, "all layers do not fit on one GPU");
    assert_eq!(again, (64 * layers).div_ceil(80));
}

#[test]
fn the_script_is_no_run_of_ddp_with_a_loss_that_runs_backward_by_itself() {
    let alone = |query: &str| write(Target::Measure, &scenario(query), PAGE).contains("TOGETHER = None");
    let base = "model=gpt2&gpus=2&precision=autocast";
    assert!(!alone(&format!("{base}&zero=0")));
    assert!(alone(&format!("{base}&zero=0&loss=chunked-head")));
    assert!(!alone(&format!("{base}&zero=3&loss=chunked-head")));
}
