//! What torchtitan is told.

use super::*;

#[test]
fn a_pipeline_of_torchtitan_gets_all_micro_batches_of_a_step() {
    let scenario = scenario("model=llama-3.1-8b&gpu=h100-80&pp=4&gpus=32&zero=3&accum=8&precision=mixed");
    let text = write(Target::Torchtitan, &scenario, PAGE);
    let value = |key: &str| -> u64 {
        let line = text.lines().find(|line| line.starts_with(&format!("{key} = "))).expect(key);
        line.rsplit(' ').next().and_then(|number| number.parse().ok()).expect("a number")
    };
    // 256 sequences on 32 / 4 = 8 data-parallel groups.
    assert_eq!(value("local_batch_size"), 32);
    assert_eq!(value("global_batch_size"), 256);
    assert_eq!(value("local_batch_size") % value("pipeline_parallel_microbatch_size"), 0);
}

#[test]
fn torchtitan_s_flavours_are_rows_of_the_catalogue() {
    for slug in crate::export::torchtitan::slugs() {
        assert!(catalogue::model(slug).is_some(), "{slug}");
    }
}

#[test]
fn every_kth_layer_is_torchtitan_s_selective_option() {
    let base = "model=llama-3.1-8b&gpu=h100-80&precision=mixed&engine=torchtitan&dropout=off";
    let query = format!("{base}&recompute=kth-layer&every=2");
    assert_lines(Target::Torchtitan, &query, &["mode = \"selective\"", "selective_ac_option = \"2\""]);
    assert_told(Target::Torchtitan, &query, "activation-checkpoint:full");
    assert_told(Target::Torchtitan, &query, "torchtitan 0.3 recomputes every layer or single operations");
    // Eight of 32 layers are at least what every fourth is.
    let query = format!("{base}&recompute=block&recompute_layers=8");
    assert_lines(Target::Torchtitan, &query, &["selective_ac_option = \"4\""]);
    assert_told(Target::Torchtitan, &query, "in place of the first, at least as many");
    let query = format!("{base}&recompute=every-k&every=4");
    assert_lines(Target::Torchtitan, &query, &["mode = \"full\""]);
}

#[test]
fn torchtitan_takes_layers_off_its_ends_or_is_given_the_modules_of_every_stage() {
    let base = "model=llama-3.1-8b&gpu=h100-80&gpus=16&zero=2&accum=8&precision=mixed&engine=torchtitan";
    // Four stages of eight; without interleaving nothing else is to be said.
    assert_lines(
        Target::Torchtitan,
        &format!("{base}&pp=4"),
        &[
            "pipeline_parallel_schedule = \"1F1B\"",
            "pipeline_parallel_first_stage_less_layers = 0",
            "pipeline_parallel_last_stage_less_layers = 0",
        ],
    );
    // Four chunks of two on each of four stages.
    assert_lines(
        Target::Torchtitan,
        &format!("{base}&pp=4&vpp=4"),
        &["pipeline_parallel_schedule = \"Interleaved1F1B\"", "pipeline_parallel_layers_per_stage = 2"],
    );
    // 7, 9, 9 and 7.
    assert_lines(
        Target::Torchtitan,
        &format!("{base}&pp=4&pp_first=7&pp_last=7"),
        &["pipeline_parallel_first_stage_less_layers = 2", "pipeline_parallel_last_stage_less_layers = 2"],
    );
    // A first stage with more layers than the others: 11, 7, 7 and 7.
    let query = format!("{base}&pp=4&pp_first=11");
    let last = "[\"layers.25\", \"layers.26\", \"layers.27\", \"layers.28\", \"layers.29\", \"layers.30\", \
                \"layers.31\", \"norm\", \"output\"],";
    assert_lines(Target::Torchtitan, &query, &["module_fqns_per_model_part = [", last]);
    assert_told(Target::Torchtitan, &query, "layers.30,layers.31,norm,lm_head");
}

#[test]
fn the_two_versions_of_torchtitan_have_a_plan_each() {
    // 12 chunks do not divide the 2,048 tokens of one of two GPUs; 8 do.
    let query = "model=llama-3.1-8b&gpu=h100-80&gpus=16&cp=2&zero=3&precision=mixed&engine=torchtitan&s=4096\
                 &loss=chunked-head&chunks=12&dropout=off&recompute=full";
    let text = write(Target::Torchtitan, &scenario(query), PAGE);
    let (toml, flags) = text.split_once("torchtitan 0.3 and later").expect("both");
    assert!(toml.contains("torchtitan 0.2 computes plain cross-entropy"), "{toml}");
    assert!(flags.contains("--loss.num_chunks 8") && !flags.contains("plain cross-entropy"), "{flags}");
    let link = |part: &str| {
        let line = part.lines().rfind(|line| line.starts_with(&format!("# {PAGE}?"))).expect("a link").to_owned();
        scenario(line.split_once('?').map_or("", |(_, query)| query))
    };
    for (part, loss, key) in
        [(toml, LossHead::Plain, "local_batch_size = "), (flags, LossHead::ChunkedHead, "--training.local_batch_size ")]
    {
        let planned = link(part);
        assert_eq!(planned.recipe.loss, loss);
        let whole = if loss == LossHead::Plain { &text } else { part };
        assert!(whole.contains(&format!("{key}{}", planned.recipe.batch)), "{whole}");
        assert!(estimate(&planned).peak().bytes <= planned.usable());
    }
}

#[test]
fn where_no_two_devices_have_the_same_weights_no_stage_of_zero_is_another_one() {
    for division in ["gpus=1", "gpus=2&tp=2", "gpus=4&tp=2&pp=2&accum=4"] {
        for zero in 0..=3 {
            let query = format!("model=llama-3.1-8b&gpu=h200&{division}&zero={zero}&engine=torchtitan&precision=mixed");
            let told = told(Target::Torchtitan, &query);
            for words in ["divided with its optimizer state", "replicates weights only where"] {
                assert!(!told.contains(words), "{query}: {told}");
            }
        }
    }
    // Two of them divide gradients with the state.
    let query = "model=llama-3.1-8b&gpu=h200&gpus=4&tp=2&zero=1&engine=torchtitan&precision=mixed";
    assert_told(Target::Torchtitan, query, "divided with its optimizer state");
}
