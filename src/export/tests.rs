//! What holds for every target. Numbers come from the library; structure is written out by hand.

use super::run::planned;
use super::*;
use crate::{
    Choice, Engine, Field, LossHead, Method, Offload, Optimizer, Precision, Recomputation, ZeroStage, b_max, catalogue,
    estimate, link,
};

const PAGE: &str = "https://example.org/bmax/";

/// What trains, as against what tells.
const FRAMEWORKS: [Target; 6] = [
    Target::Transformers,
    Target::Accelerate,
    Target::DeepSpeed,
    Target::Torchtitan,
    Target::Megatron,
    Target::Lightning,
];

/// The sign of a comment; JSON has none.
fn sign(target: Target) -> &'static str {
    if target == Target::DeepSpeed { "    \"" } else { "# " }
}

fn scenario(query: &str) -> Scenario {
    let read = link::decode(query);
    assert_eq!(read.notices, [], "{query}");
    read.scenario
}

/// Lines of a file without those of its comment, each without the white space around it.
fn settings(target: Target, query: &str) -> Vec<String> {
    let text = write(target, &scenario(query), PAGE);
    text.lines().map(str::trim).filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_owned).collect()
}

/// A file as one line, without the signs of its comments.
fn told(target: Target, query: &str) -> String {
    let text = write(target, &scenario(query), PAGE);
    let line = |line: &str| {
        let line = line.trim().trim_start_matches("#");
        let line = line.strip_prefix('"').unwrap_or(line);
        line.strip_suffix("\",").unwrap_or(line).trim().to_owned()
    };
    text.lines().map(line).collect::<Vec<_>>().join(" ")
}

fn assert_lines(target: Target, query: &str, lines: &[&str]) {
    let found = settings(target, query);
    for line in lines {
        assert!(found.iter().any(|found| found == line), "{target:?} {query} lacks {line}:\n{}", found.join("\n"));
    }
}

fn assert_told(target: Target, query: &str, words: &str) {
    let told = told(target, query);
    assert!(told.contains(words), "{target:?} {query} does not say “{words}”:\n{told}");
}

/// Llama on eight GPUs with FSDP as PyTorch does it: what has only to be written down by targets that run
/// PyTorch alone.
fn plain() -> Scenario {
    scenario("model=llama-3.1-8b&gpu=h100-80&s=8192&precision=mixed&recompute=full&dropout=off")
}

#[test]
fn keys_and_file_names_are_unique_and_found_again() {
    for (position, target) in Target::ALL.iter().enumerate() {
        assert_eq!(Target::from_key(target.key()), Some(*target));
        assert!(target.describe().ends_with('.') && !target.name().is_empty(), "{target:?}");
        assert!(target.media_type().contains('/'), "{target:?}");
        for other in &Target::ALL[position + 1..] {
            assert_ne!(target.key(), other.key());
            assert_ne!(target.file_name(), other.file_name());
        }
    }
    assert_eq!(Target::from_key("keras"), None);
}

#[test]
fn a_plan_fits_with_its_own_accumulation_and_reaches_the_target() {
    for query in ["", "precision=mixed", "zero=2&precision=autocast", "pp=4&gpus=32&zero=1", "model=gpt2&gpus=1"] {
        let scenario = scenario(query);
        let plan = planned(&scenario);
        assert!(plan.fits, "{query}");
        let peak = estimate(&plan.scenario).peak().bytes;
        assert!(peak <= scenario.usable(), "{query}: {} GiB", peak.gib());
        assert_eq!(
            plan.global_batch,
            u64::from(plan.micro_batch) * u64::from(plan.steps) * u64::from(plan.data_parallel)
        );
        assert!(plan.global_batch >= 256, "{query}");
        assert_eq!(plan.world, scenario.cluster.gpus, "{query}");
    }
}

#[test]
fn accumulation_that_leaves_less_room_makes_the_micro_batch_smaller() {
    // With more than one micro-batch a step gradients are alive in the forward pass, too.
    let mut found = false;
    for memory in [24.0, 32.0, 40.0, 48.0, 64.0] {
        let scenario = plain().with_number(Field::Memory, memory).expect("in range");
        let plan = planned(&scenario);
        if let (Some(alone), true) = (b_max(&scenario).batch(), plan.fits) {
            assert!(plan.micro_batch <= alone);
            found |= plan.steps > 1 && b_max(&plan.scenario).batch() < Some(alone);
        }
    }
    assert!(found, "no memory size shows the difference");
}

#[test]
fn the_reader_s_own_micro_batch_does_not_count() {
    let scenario = plain();
    for &target in &FRAMEWORKS {
        let numbers = |text: &str| -> Vec<String> {
            // Links carry the reader’s micro-batch, and nothing else does.
            text.lines().filter(|line| !line.contains(PAGE)).map(str::to_owned).collect()
        };
        let (one, many) = (scenario.with_batch(1), scenario.with_batch(1_000));
        assert_eq!(numbers(&write(target, &one, PAGE)), numbers(&write(target, &many, PAGE)), "{target:?}");
    }
}

#[test]
fn what_a_target_can_say_is_said_without_changes() {
    let scenario = plain();
    for &target in &FRAMEWORKS {
        let text = write(target, &scenario, PAGE);
        // The others carry out the step by programs of their own.
        let says_all = !matches!(target, Target::Megatron | Target::DeepSpeed | Target::Torchtitan);
        assert_eq!(!text.contains("Not as asked"), says_all, "{text}");
    }
}

#[test]
fn each_file_carries_the_planned_numbers_in_its_own_words() {
    let scenario = plain();
    let plan = planned(&scenario);
    let (micro, steps, whole) = (plan.micro_batch, plan.steps, plan.global_batch);
    let expected = [
        (
            Target::Transformers,
            vec![
                format!("per_device_train_batch_size={micro},"),
                format!("gradient_accumulation_steps={steps},"),
                "bf16=True,".to_owned(),
                "fsdp=True,".to_owned(),
                "\"dtype\": \"float32\",".to_owned(),
                "\"reshard_after_forward\": True,".to_owned(),
                "max_length = 8192".to_owned(),
            ],
        ),
        (
            Target::Accelerate,
            vec![
                "distributed_type: \"FSDP\"".to_owned(),
                "  fsdp_version: 2".to_owned(),
                "  fsdp_activation_checkpointing: true".to_owned(),
                "num_processes: 8".to_owned(),
                format!("batch_size={micro}"),
            ],
        ),
        (
            Target::Torchtitan,
            vec![
                format!("local_batch_size = {micro}"),
                format!("global_batch_size = {whole}"),
                "data_parallel_shard_degree = 8".to_owned(),
                "mode = \"full\"".to_owned(),
                "flavor = \"8B\"".to_owned(),
                "seq_len = 8192".to_owned(),
            ],
        ),
        (
            Target::Lightning,
            vec![
                format!("micro_batch = {micro}"),
                format!("\"accumulate_grad_batches\": {steps},"),
                "sharding_strategy=\"FULL_SHARD\"".to_owned(),
                "activation_checkpointing_policy={block}".to_owned(),
            ],
        ),
    ];
    for (target, words) in expected {
        let text = write(target, &scenario, PAGE);
        for word in words {
            assert!(text.contains(&word), "{target:?} lacks {word}:\n{text}");
        }
    }
}

#[test]
fn megatron_says_sizes_division_and_recomputation() {
    let scenario = scenario(
        "model=llama-3.1-70b&gpu=h100-80&gpus=64&tp=8&pp=4&sp=on&zero=1&accum=8&recompute=every-k&every=2&dropout=off\
         &grad=32",
    );
    let text = write(Target::Megatron, &scenario, PAGE);
    for flag in [
        // The sizes of the model card.
        "--num-layers 80",
        "--hidden-size 8192",
        "--ffn-hidden-size 28672",
        "--num-query-groups 8",
        "--tensor-model-parallel-size 8",
        "--pipeline-model-parallel-size 4",
        "--sequence-parallel",
        "--use-distributed-optimizer",
        "--recompute-method uniform",
        "--recompute-num-layers 2",
        "--accumulate-allreduce-grads-in-fp32",
        "--global-batch-size 256",
        "export CUDA_DEVICE_MAX_CONNECTIONS=1",
        "torchrun --nnodes 8 --nproc_per_node 8",
    ] {
        assert!(text.contains(flag), "{flag}:\n{text}");
    }
}

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
fn deepspeed_multiplies_its_three_sizes() {
    for query in ["", "zero=1&precision=fp16", "tp=2&zero=1", "gpus=6&target=100"] {
        // What DeepSpeed holds beside the tensors is part of the question, or it would be part of the answer.
        let scenario = scenario(&format!("{query}&engine=deepspeed"));
        let plan = planned(&scenario);
        let text = write(Target::DeepSpeed, &scenario, PAGE);
        assert!(text.contains(&format!("\"train_batch_size\": {},", plan.global_batch)), "{text}");
        assert!(text.contains(&format!("\"train_micro_batch_size_per_gpu\": {},", plan.micro_batch)), "{text}");
        assert!(text.contains(&format!("\"gradient_accumulation_steps\": {},", plan.steps)), "{text}");
    }
}

#[test]
fn what_a_target_cannot_do_is_named_with_its_peak() {
    let cases = [
        (Target::Transformers, "pp=2&zero=1", "no pipeline"),
        (Target::Transformers, "recompute=ops&precision=mixed", "recomputes every layer or none"),
        (Target::Accelerate, "precision=fp16", "no second master copy"),
        (Target::DeepSpeed, "precision=mixed", "torch_autocast"),
        (Target::Torchtitan, "adapter=lora&precision=mixed", "every weight is trained"),
        (Target::Torchtitan, "attn=eager&recompute=none", "without scores in memory"),
        (Target::Megatron, "optimizer=adafactor&zero=1", "Adam stands in"),
        (Target::Lightning, "cp=2&precision=mixed", "does not divide sequences"),
    ];
    for (target, query, words) in cases {
        let text = write(target, &scenario(query), PAGE).replace("\n#   ", " ").replace("\",\n    \"  ", " ");
        let told =
            text.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{target:?}: {words}\n{text}"));
        assert!(told.contains("the peak"), "{told}");
        assert!(text.contains("as it runs") || text.contains("As asked"), "{text}");
    }
}

#[test]
fn what_does_not_fit_says_so_first_and_trains_one_sequence() {
    let scenario = scenario("model=llama-3.1-405b&gpu=rtx-4090&gpus=2");
    let one = [
        "per_device_train_batch_size=1,",
        "batch_size=1)",
        "\"train_micro_batch_size_per_gpu\": 1,",
        "local_batch_size = 1\n",
        "--micro-batch-size 1\n",
        "micro_batch = 1\n",
    ];
    for (target, one) in FRAMEWORKS.into_iter().zip(one) {
        let text = write(target, &scenario, PAGE);
        let first = text.lines().find(|line| line.starts_with(sign(target))).expect("a comment");
        assert!(first.contains("NOTHING FITS"), "{target:?}: {first}");
        assert!(text.contains(one), "{target:?}:\n{text}");
        assert!(!text.contains("Predicted peak"), "{target:?}");
    }
    let script = write(Target::Measure, &scenario, PAGE);
    assert!(script.contains("because all of them do not fit on one GPU"), "{script}");
}

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
fn a_hostile_address_stays_in_its_comment() {
    let hostile = "https://a.b/\"\n__import__('os').system('x')\n\\}]'''\u{2028}$(x)`x`";
    for &target in Target::ALL {
        let usual = write(target, &plain(), "https://a.b/");
        let text = write(target, &plain(), hostile);
        assert_eq!(text.lines().count(), usual.lines().count(), "{target:?}");
        assert!(!text.contains("__import__('os')") && !text.contains('\u{2028}'), "{target:?}");
        if target == Target::Megatron {
            // A comment of a shell is not expanded.
            assert!(text.lines().filter(|line| line.contains("$(x)")).all(|line| line.starts_with('#')), "{text}");
        }
    }
}

/// Every value of every setting, alone and with every ZeRO stage, on one GPU and on several.
#[test]
fn every_word_of_every_setting_makes_every_file() {
    for setting in crate::setting::ALL {
        for option in setting.options {
            for (gpus, tensor) in [(1, 1), (8, 2)] {
                let mut scenario = setting.read(option.key, plain()).expect("a word of its own");
                scenario.cluster.gpus = gpus;
                scenario.cluster.tensor_parallel = tensor;
                for &target in Target::ALL {
                    let text = write(target, &scenario, PAGE);
                    assert!(text.ends_with('\n') && text.len() > 100, "{target:?} {}", option.key);
                }
            }
        }
    }
}

#[test]
fn every_precision_optimizer_and_stage_is_in_some_word_of_the_file() {
    // One word each that only this choice writes.
    let deepspeed = |query: &str| write(Target::DeepSpeed, &scenario(query), PAGE);
    for (precision, word) in [
        (Precision::Bf16, "\"bf16\": {"),
        (Precision::Fp16, "\"fp16\": {"),
        (Precision::PureBf16, "bf16_optimizer_states"),
        (Precision::Autocast, "torch_autocast"),
    ] {
        assert!(deepspeed(&format!("precision={}", precision.key())).contains(word), "{precision:?}");
    }
    for (optimizer, word) in
        [(Optimizer::AdamW, "\"AdamW\""), (Optimizer::Lion, "\"Lion\""), (Optimizer::Muon, "\"Muon\"")]
    {
        assert!(deepspeed(&format!("optimizer={}", optimizer.key())).contains(word), "{optimizer:?}");
    }
    for stage in ["0", "1", "2", "3"] {
        assert!(deepspeed(&format!("zero={stage}")).contains(&format!("\"stage\": {stage}")), "{stage}");
    }
    assert!(deepspeed(&format!("offload={}", Offload::Optimizer.key())).contains("\"device\": \"cpu\""));
    let trainer = |query: &str| write(Target::Transformers, &scenario(query), PAGE);
    assert!(trainer(&format!("loss={}", LossHead::Fused.key())).contains("\"fused_linear_cross_entropy\": True"));
    assert!(trainer("adapter=qlora&targets=qv").contains("load_in_4bit=True"));
    assert!(trainer(&format!("recompute={}", Recomputation::Full.key())).contains("activation_checkpointing=True"));
}

#[test]
fn the_other_methods_are_named() {
    for method in [Method::Workshop, Method::Paper] {
        let text = write(Target::Lightning, &Scenario { method, ..Scenario::default() }, PAGE);
        assert!(text.contains("’s method"), "{text}");
    }
}

#[test]
fn torchtitan_s_flavours_are_rows_of_the_catalogue() {
    for slug in super::torchtitan::slugs() {
        assert!(catalogue::model(slug).is_some(), "{slug}");
    }
}

#[test]
fn megatron_gets_its_own_flags_for_interleaved_and_uneven_stages() {
    // 80 layers: 8 and 12 at the ends leave 60 for six stages, in two chunks of five.
    let query = "model=llama-3.1-70b&gpu=h100-80&gpus=64&tp=8&pp=8&vpp=2&pp_first=8&pp_last=12&zero=1&accum=16\
                 &engine=megatron&segments=expandable";
    assert_lines(
        Target::Megatron,
        query,
        &[
            "--num-virtual-stages-per-pipeline-rank 2",
            "--decoder-first-pipeline-num-layers 8",
            "--decoder-last-pipeline-num-layers 12",
            "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        ],
    );
    assert!(!told(Target::Megatron, query).contains("equal chunks"));
}

#[test]
fn layers_that_do_not_divide_are_divided_as_megatron_takes_them() {
    // 61 layers in 16 stages: 15 of four and one of one.
    let query = "model=deepseek-v3&gpu=h200&gpus=512&pp=16&zero=1&accum=16";
    assert_lines(Target::Megatron, query, &["--decoder-last-pipeline-num-layers 1"]);
    assert_told(Target::Megatron, query, "here 1 chunk a stage, 4 layers in the first and 1 in the last");
    // 32 layers in four stages of eight do not make three chunks each.
    let query = "model=llama-3.1-8b&gpu=h100-80&gpus=32&pp=4&vpp=3&zero=1&accum=8";
    assert!(!settings(Target::Megatron, query).iter().any(|flag| flag.contains("virtual")));
    assert_told(Target::Megatron, query, "here 1 chunk a stage, 8 layers in the first and 8 in the last");
}

#[test]
fn megatron_recomputes_segments_or_the_first_layers_of_each_stage() {
    let base = "model=llama-3.1-70b&gpu=h100-80&gpus=64&tp=8&pp=4&zero=1&accum=8&dropout=off";
    let method = |query: &str| -> Vec<String> {
        let flags = settings(Target::Megatron, &format!("{base}&{query}"));
        flags.into_iter().filter(|flag| flag.starts_with("--recompute-")).collect()
    };
    let full = |method: &str, layers: u32| {
        vec![
            "--recompute-granularity full".to_owned(),
            format!("--recompute-method {method}"),
            format!("--recompute-num-layers {layers}"),
        ]
    };
    assert_eq!(method("recompute=every-k&every=5"), full("uniform", 5));
    assert_eq!(method("recompute=block&recompute_layers=7"), full("block", 7));
    assert_eq!(method("recompute=full"), full("uniform", 1));
    // Every second of the 20 layers of a stage are ten, and of each of two chunks five.
    assert_eq!(method("recompute=kth-layer&every=2"), full("block", 10));
    assert_eq!(method("recompute=kth-layer&every=2&vpp=2"), full("block", 5));
    assert_told(Target::Megatron, &format!("{base}&recompute=kth-layer&every=2"), "in place of every K-th, as many");
}

#[test]
fn megatron_has_neither_relu_nor_blocks_side_by_side() {
    let query = "model=pythia-6.9b&mlp=relu&zero=1";
    assert_told(Target::Megatron, query, "no flag for ReLU");
    assert_told(Target::Megatron, query, "stands behind attention");
    assert_lines(Target::Megatron, query, &["--position-embedding-type rope", "--rotary-percent 0.5"]);
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
fn a_pipeline_is_given_as_many_micro_batches_as_its_schedule_takes() {
    for stages in [2, 4, 8] {
        for (chunks, target) in [(1, 8), (1, 250), (2, 8), (2, 250), (4, 1_000)] {
            let mut scenario = scenario("model=llama-3.1-70b&gpu=h200&gpus=64&tp=8&zero=1&dropout=off&recompute=full");
            scenario.cluster.pipeline_parallel = stages;
            scenario.cluster.virtual_stages = chunks;
            scenario.goal.global_batch = target;
            let plan = planned(&scenario);
            assert!(plan.fits && plan.steps >= stages, "{stages} × {chunks}, {target}: {}", plan.steps);
            assert!(chunks == 1 || plan.steps.is_multiple_of(stages), "{stages} × {chunks}, {target}: {}", plan.steps);
            assert!(plan.global_batch >= target.into());
        }
    }
}

#[test]
fn a_step_that_another_program_carries_out_is_a_change_of_the_scenario() {
    let own = |target: Target| match target {
        Target::DeepSpeed => Engine::DeepSpeed,
        Target::Torchtitan => Engine::Torchtitan,
        Target::Megatron => Engine::Megatron,
        _ => Engine::Torch,
    };
    for &target in &FRAMEWORKS {
        for &asked in Engine::ALL {
            let mut scenario = plain();
            scenario.cluster.engine = asked;
            // The Trainer and Lightning run DeepSpeed where it is asked for.
            let runs_it = asked == Engine::DeepSpeed && matches!(target, Target::Transformers | Target::Lightning);
            let runs = if runs_it { Engine::DeepSpeed } else { own(target) };
            let text = write(target, &scenario, PAGE);
            assert_eq!(text.contains("carries out the step and not"), runs != asked, "{target:?} {asked:?}\n{text}");
            let planned = format!("engine={}", runs.key());
            assert!(runs == Engine::Torch || text.contains(&planned), "{target:?} {asked:?}\n{text}");
        }
    }
}

#[test]
fn deepspeed_s_bucket_and_live_weights_are_those_that_are_counted() {
    let base = "model=llama-3.1-8b&gpu=h100-80&engine=deepspeed&bucket=200";
    assert_lines(
        Target::DeepSpeed,
        &format!("{base}&zero=3"),
        &[
            "\"overlap_comm\": true,",
            "\"reduce_bucket_size\": 200000000,",
            // DeepSpeed's own defaults (runtime/zero/config.py), which the ledger counts.
            "\"stage3_max_live_parameters\": 1000000000,",
        ],
    );
    let second = settings(Target::DeepSpeed, &format!("{base}&zero=2"));
    assert!(second.iter().any(|line| line == "\"reduce_bucket_size\": 200000000"), "{second:?}");
    assert!(!second.iter().any(|line| line.contains("stage3")), "{second:?}");
    assert_lines(Target::Lightning, &format!("{base}&zero=2"), &["\"reduce_bucket_size\": 200000000,"]);
    assert_lines(Target::Transformers, &format!("{base}&zero=2"), &["\"reduce_bucket_size\": 200000000,"]);
}

#[test]
fn deepspeed_s_step_takes_as_many_weights_at_a_time_as_are_counted_wherever_it_is_called_from() {
    // Lightning’s own argument would be 10¹², the Trainer’s and DeepSpeed’s default is 10⁹.
    let query = "model=llama-3.1-8b&gpu=h100-80&engine=deepspeed&zero=3";
    for (target, key, yes) in [
        (Target::DeepSpeed, "\"sub_group_size\": 1000000000,", "\"overlap_comm\": true,"),
        (Target::Transformers, "\"sub_group_size\": 1000000000,", "\"overlap_comm\": True,"),
        (Target::Lightning, "\"sub_group_size\": 1000000000,", "\"overlap_comm\": True,"),
    ] {
        assert_lines(target, query, &[key, yes]);
        let found = settings(target, &query.replace("zero=3", "zero=2"));
        assert!(!found.iter().any(|line| line.contains("sub_group_size")), "{target:?}");
    }
}

#[test]
fn lightning_s_deepspeed_is_told_all_but_what_lightning_says_itself() {
    let base = "model=llama-3.1-8b&gpu=h100-80&engine=deepspeed&zero=2";
    let found = settings(Target::Lightning, &format!("{base}&precision=bf16&grad=32"));
    let has = |word: &str| found.iter().any(|line| line.contains(word));
    assert!(has("\"grad_accum_dtype\": \"fp32\",") && has("\"zero_allow_untested_optimizer\": True,"), "{found:?}");
    // `_format_batch_size_and_grad_accum_config` refuses the first of these; the optimizer is the module’s.
    assert!(!has("gradient_accumulation_steps") && !has("train_batch_size") && !has("\"optimizer\""), "{found:?}");
    assert_lines(Target::Lightning, &format!("{base}&precision=bf16-pure"), &["\"bf16_optimizer_states\": True,"]);
    let told = |query: &str, words: &str| assert_told(Target::Lightning, &format!("{base}&{query}"), words);
    told("precision=bf16&offload=optimizer", "deepspeed.ops.adam.DeepSpeedCPUAdam(…).");
    told("precision=bf16-pure&offload=optimizer", "DeepSpeedCPUAdam(…, fp32_optimizer_states=False)");
    told("precision=bf16&optimizer=muon", "MuonWithAuxAdam");
}

#[test]
fn deepspeed_s_bf16_throughout_is_so_where_deepspeed_carries_it_out() {
    let base = "model=llama-3.1-8b&gpu=h100-80&engine=deepspeed&precision=bf16-pure";
    // With fp32 sums ZeRO 1 would be BF16_Optimizer, which has an fp32 master copy.
    let added_up = "\"grad_accum_dtype\": \"fp32\"";
    let first = format!("{base}&grad=32&zero=1");
    assert!(!settings(Target::DeepSpeed, &first).iter().any(|line| line == added_up));
    assert_told(Target::DeepSpeed, &first, "has an fp32 master copy: in bf16 here");
    assert_lines(Target::DeepSpeed, &format!("{base}&grad=32&zero=2"), &[added_up]);
    let swapped = format!("{base}&zero=3&offload=optimizer&optimizer=lion");
    assert_lines(Target::DeepSpeed, &swapped, &["\"type\": \"AdamW\","]);
    assert_told(Target::DeepSpeed, &swapped, "for Adam alone: AdamW stands in");
    // Autograd has one type for weights and their gradients.
    for target in [Target::Transformers, Target::Accelerate, Target::Lightning] {
        let query = "model=llama-3.1-8b&gpu=h100-80&precision=bf16-pure&grad=32&zero=2";
        assert_told(target, query, "adds gradients up in the type of the weights");
    }
}

#[test]
fn deepspeed_s_pipeline_does_not_overlap() {
    let query = "engine=deepspeed&pp=2&zero=1&accum=8";
    assert_lines(Target::DeepSpeed, query, &["\"overlap_comm\": false,"]);
    assert_told(Target::DeepSpeed, query, "it holds one of the two buckets that are counted");
    // What adds up in fp32 has none.
    let summed = told(Target::DeepSpeed, &format!("{query}&precision=bf16&grad=32"));
    assert!(!summed.contains("buckets that are counted"), "{summed}");
}

#[test]
fn quantized_weights_are_loaded_in_the_type_that_they_compute_in() {
    let base = "model=llama-3.1-8b&gpu=h100-80&gpus=1&zero=0";
    for (precision, word) in [("autocast", "bfloat16"), ("bf16-pure", "bfloat16"), ("fp32", "float32")] {
        let query = format!("{base}&adapter=qlora&precision={precision}");
        let (computed, stored) =
            (format!("bnb_4bit_compute_dtype=\"{word}\","), format!("bnb_4bit_quant_storage=\"{word}\","));
        assert_lines(Target::Transformers, &query, &[&computed, &stored]);
        for target in [Target::Accelerate, Target::DeepSpeed, Target::Lightning] {
            // JSON escapes the quotes.
            let text = write(target, &scenario(&query), PAGE).replace('\\', "");
            assert!(text.contains(computed.trim_end_matches(',')), "{target:?}:\n{text}");
            assert!(text.contains(stored.trim_end_matches(',')), "{target:?}:\n{text}");
        }
    }
    // By itself it would switch recomputation on.
    let cast = format!("{base}&adapter=qlora&precision=autocast&unquantized=32");
    for target in [Target::Transformers, Target::Accelerate, Target::DeepSpeed, Target::Lightning] {
        assert_told(target, &cast, "prepare_model_for_kbit_training(model, use_gradient_checkpointing=False)");
        let half = format!("{base}&adapter=lora-8bit&precision=autocast&adapter_type=16");
        assert_told(target, &half, "cast every parameter with “lora_” in its name");
    }
}

#[test]
fn weights_that_a_program_leaves_as_they_were_loaded_have_a_type() {
    let base = "model=llama-3.1-8b&gpu=h100-80&gpus=8&zero=0";
    for target in [Target::DeepSpeed, Target::Lightning, Target::Accelerate] {
        for (query, dtype) in [
            ("precision=autocast", "float32"),
            ("precision=autocast&adapter=lora", "bfloat16"),
            ("precision=autocast&adapter=lora-fp32", "float32"),
            ("precision=fp32&adapter=lora", "float32"),
        ] {
            // JSON escapes the quotes.
            let text = write(target, &scenario(&format!("{base}&{query}")), PAGE).replace('\\', "");
            assert!(text.contains(&format!("dtype=\"{dtype}\"")), "{target:?} {query}:\n{text}");
        }
    }
}

#[test]
fn megatron_s_cross_entropy_is_fused_where_that_is_asked_for_and_nowhere_else() {
    let base = "model=llama-3.1-8b&gpu=h100-80&zero=1&loss=";
    let fused = ["--cross-entropy-loss-fusion", "--cross-entropy-fusion-impl native"];
    assert_lines(Target::Megatron, &format!("{base}vocab-parallel-fused"), &fused);
    for loss in ["plain", "vocab-parallel", "fused", "kernel"] {
        let found = settings(Target::Megatron, &format!("{base}{loss}"));
        assert!(!found.iter().any(|flag| flag.contains("cross-entropy")), "{loss}: {found:?}");
    }
}

#[test]
fn chunks_of_a_loss_are_counted_out() {
    let base = "model=llama-3.1-8b&gpu=h100-80&precision=mixed&chunks=12&loss=";
    for target in [Target::Accelerate, Target::DeepSpeed, Target::Lightning] {
        assert_told(target, &format!("{base}chunked"), "the model’s code, in 12 chunks.");
        assert_told(target, &format!("{base}chunked-head"), "the model’s code, in 12 chunks.");
    }
}

#[test]
fn several_machines_of_deepspeed_get_the_allocator_s_variable_from_a_file() {
    let query = |gpus: u32| format!("model=llama-3.1-8b&gpu=h100-80&segments=expandable&gpus={gpus}");
    assert_told(Target::DeepSpeed, &query(16), "a line of ~/.deepspeed_env");
    assert!(!told(Target::DeepSpeed, &query(8)).contains("deepspeed_env"));
}

#[test]
fn a_module_that_divides_itself_is_told_about_sequence_parallelism() {
    let base = "model=llama-3.1-8b&gpu=h100-80&precision=mixed&zero=3&tp=2&sp=";
    assert_told(Target::Lightning, &format!("{base}on"), "Sequence parallelism: SequenceParallel");
    assert_told(Target::Lightning, &format!("{base}off"), "No sequence parallelism");
}

#[test]
fn deepspeed_s_pipeline_has_neither_chunks_nor_named_stages() {
    let query = "engine=deepspeed&pp=2&vpp=2&pp_first=14&zero=1&accum=8";
    assert_told(Target::DeepSpeed, query, "hold one chunk of layers, not 2");
    assert_told(Target::DeepSpeed, query, "PipelineModule divides layers evenly");
    assert_told(Target::DeepSpeed, query, "partition_method");
}

#[test]
fn weights_between_the_passes_are_whole_divided_or_in_groups_as_far_as_a_target_goes() {
    let base = "model=llama-3.1-8b&gpu=h100-80&gpus=16&precision=mixed&recompute=full&zero=3";
    let words = [
        (Target::Accelerate, "fsdp_reshard_after_forward: true", "fsdp_reshard_after_forward: false"),
        (Target::Transformers, "\"reshard_after_forward\": True,", "\"reshard_after_forward\": False,"),
        (Target::Torchtitan, "fsdp_reshard_after_forward = \"always\"", "fsdp_reshard_after_forward = \"never\""),
        (Target::Lightning, "sharding_strategy=\"FULL_SHARD\",", "sharding_strategy=\"SHARD_GRAD_OP\","),
    ];
    for (target, divided, kept) in words {
        assert_lines(target, base, &[divided]);
        assert_lines(target, &format!("{base}&reshard=1"), &[kept]);
        let groups = format!("{base}&reshard=4");
        assert_lines(target, &groups, &[divided]);
        assert_told(target, &groups, "knows no groups of 4");
    }
    assert_told(Target::DeepSpeed, &format!("{base}&reshard=4"), "as soon as they are used");
    // A module that divides itself says it itself, and so does the script.
    assert_told(Target::Lightning, &format!("{base}&tp=2&reshard=4"), "reshard_after_forward=4");
    assert_lines(Target::Measure, &format!("{base}&reshard=4"), &["\"reshard\": 4,"]);
    assert_told(Target::Measure, &format!("{base}&reshard=5"), "groups have to divide its 16 GPUs");
}

#[test]
fn adapters_are_exported_with_their_type_and_their_dropout() {
    let base = "model=llama-3.1-8b&gpu=h100-80&gpus=1&zero=0&precision=autocast";
    let trainer = |query: &str| write(Target::Transformers, &scenario(&format!("{base}&{query}")), PAGE);
    let usual = trainer("adapter=lora");
    assert!(
        usual.contains("\"dtype\": \"bfloat16\"") && usual.contains("get_peft_model(model, peft_config)"),
        "{usual}"
    );
    assert!(!usual.contains("lora_dropout"), "{usual}");
    let half = trainer("adapter=lora&adapter_type=16&adapter_dropout=on");
    assert!(half.contains("get_peft_model(model, peft_config, autocast_adapter_dtype=False)"), "{half}");
    assert!(half.contains("lora_dropout=0.05") && half.contains("not on its number"), "{half}");
    assert!(trainer("adapter=lora-8bit&adapter_type=16").contains("cast every parameter"));
    assert!(trainer("adapter=lora-fp32").contains("\"dtype\": \"float32\""));
    for target in [Target::Accelerate, Target::DeepSpeed, Target::Lightning] {
        let query = format!("{base}&adapter=lora&adapter_type=16&adapter_dropout=on");
        assert_told(target, &query, "autocast_adapter_dtype=False");
        assert_told(target, &query, "with a lora_dropout");
    }
    // A 16-bit recipe leaves no frozen weight in fp32.
    let query = "model=llama-3.1-8b&gpu=h100-80&adapter=lora-fp32&precision=bf16&zero=1";
    assert_told(Target::DeepSpeed, query, "makes 16-bit weights of frozen ones as well");
    assert_told(Target::Measure, query, "frozen fp32 weights compute in 16 bits under autocast");
    // One matrix of queries, keys and values has other names.
    let packed = write(Target::Transformers, &scenario("model=gpt2&gpus=1&zero=0&adapter=lora&targets=qv"), PAGE);
    assert!(packed.contains("\"c_attn\", \"query_key_value\"") && !packed.contains("q_proj"), "{packed}");
}

#[test]
fn the_two_adafactors_are_told_apart() {
    let base = "model=gpt2&gpus=1&zero=0&precision=autocast";
    let (transformers, torch) = (format!("{base}&optimizer=adafactor"), format!("{base}&optimizer=adafactor-torch"));
    assert_lines(Target::Transformers, &transformers, &["optim=\"adafactor\","]);
    let own = settings(Target::Transformers, &torch);
    assert!(own.iter().any(|line| line == "optimizer_cls_and_kwargs = (torch.optim.Adafactor, {\"lr\": 1e-4})"));
    assert!(!own.iter().any(|line| line.starts_with("optim=")), "{own:?}");
    for target in [Target::Accelerate, Target::Lightning] {
        assert_told(target, &transformers, "transformers.Adafactor");
        assert_told(target, &torch, "torch.optim.Adafactor");
    }
}

#[test]
fn loss_heads_are_those_that_a_target_has() {
    let base = "model=llama-3.1-8b&gpu=h100-80&precision=mixed";
    let own = |loss: &str, line: &str| assert_lines(Target::Transformers, &format!("{base}&loss={loss}"), &[line]);
    own("kernel-inplace", "\"cross_entropy\": True,");
    own("kernel", "\"cross_entropy\": True,");
    own("chunked-head", "\"fused_linear_cross_entropy\": True,");
    assert_told(Target::Transformers, &format!("{base}&loss=kernel"), "the nearest stands in");
    assert_told(Target::Transformers, "model=bert-base&loss=masked-lm", "AutoModelForMaskedLM.from_pretrained");
    assert_told(Target::Accelerate, &format!("{base}&loss=kernel-inplace"), "LigerCrossEntropyLoss");
    assert_told(Target::DeepSpeed, &format!("{base}&loss=kernel"), "inplace_backward=False");
}

#[test]
fn logits_are_held_where_the_reader_writes_the_loop_and_nowhere_else() {
    let base = "model=gpt2&gpus=2&zero=0&precision=autocast&logits=";
    for target in [Target::Accelerate, Target::DeepSpeed] {
        assert_told(target, &format!("{base}kept"), "Logits that are still held");
        assert_told(target, &format!("{base}dropped"), "The loop holds the loss alone");
    }
    for target in [Target::Transformers, Target::Torchtitan, Target::Megatron, Target::Lightning] {
        let told = told(target, &format!("{base}kept"));
        assert!(told.contains("logits") && told.contains("Not as asked"), "{target:?}:\n{told}");
    }
    assert_lines(Target::Measure, &format!("{base}kept"), &["\"logits\": \"kept\","]);
}

#[test]
fn growing_segments_are_set_or_asked_for_everywhere() {
    for &target in FRAMEWORKS.iter().chain(&[Target::Measure]) {
        for (word, expected) in [("expandable", true), ("fixed", false)] {
            let mut text = write(target, &scenario(&format!("precision=mixed&segments={word}")), PAGE);
            if target == Target::Torchtitan {
                // Its own launcher sets them, whatever was asked.
                assert_eq!(text.contains("start torchrun yourself"), !expected, "{text}");
                text = text.replace("run_train.sh sets\n#   PYTORCH_ALLOC_CONF", "");
            }
            assert_eq!(text.contains("ALLOC_CONF"), expected, "{target:?} {word}:\n{text}");
        }
    }
    for target in [Target::Transformers, Target::Lightning, Target::Measure] {
        let text = write(target, &scenario("segments=expandable&gpus=1&zero=0"), PAGE);
        let set = text.find("os.environ[\"PYTORCH_ALLOC_CONF\"]").expect("a line");
        let torch = ["import torch\n", "from transformers", "from lightning"].iter().filter_map(|word| text.find(word));
        assert!(torch.min().is_some_and(|torch| set < torch), "{target:?}:\n{text}");
    }
}

#[test]
fn uneven_loads_of_experts_go_with_experts_that_are_divided() {
    let query = "model=qwen3-30b-a3b&gpu=h200&gpus=32&ep=8&zero=1&imbalance=1.5";
    for target in [Target::Megatron, Target::Torchtitan, Target::DeepSpeed] {
        assert_told(target, query, "1.50 times the mean");
    }
    for target in [Target::Transformers, Target::Accelerate, Target::Lightning] {
        let text = write(target, &scenario(query), PAGE);
        assert_told(target, query, "every GPU holds all of them");
        let planned = text.lines().filter(|line| line.contains("imbalance")).count();
        assert_eq!(planned, 1, "only the question has it:\n{text}");
    }
    assert_told(Target::Measure, query, "whose load together is even");
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

/// A file without its links, the numbers of its estimate and those of its plan.
fn in_words(target: Target, scenario: &Scenario) -> String {
    const PLAN: [&str; 6] = ["batch_size", "batch-size", "micro_batch", "accumulat", "ACCUMULATION", "microbatch_size"];
    let text = write(target, scenario, PAGE);
    let mut words = Vec::new();
    for line in text.lines().filter(|line| !line.contains(PAGE) && !PLAN.iter().any(|key| line.contains(key))) {
        let comment = line.starts_with('#') || line.starts_with(sign(Target::DeepSpeed)) && !line.contains("\": ");
        let number = |word: &&str| word.chars().all(|sign| sign.is_ascii_digit() || sign.is_ascii_punctuation());
        words.extend(line.split_whitespace().filter(|word| !(comment && number(word))));
    }
    words.join(" ")
}

/// What is predicted for the scenarios that a file runs, whatever their micro-batch: those that its links
/// behind the first lead to, or the one that was asked.
fn predicted(target: Target, scenario: &Scenario) -> Vec<Vec<crate::Bytes>> {
    let text = write(target, scenario, PAGE);
    let link = |line: &str| {
        let query = line.split_once(PAGE)?.1.trim_end_matches(['"', ',']).strip_prefix('?')?.to_owned();
        let mut read = link::decode(&query).scenario;
        (read.recipe.batch, read.recipe.micro_batches) = (16, 2);
        let estimate = estimate(&read);
        Some((0..estimate.instants.len()).map(|instant| estimate.total_at(instant)).collect())
    };
    let found: Vec<Vec<crate::Bytes>> = text.lines().filter_map(link).collect();
    if found.len() > 1 { found[1..].to_vec() } else { found }
}

/// Where two scenarios differ in a setting that the prediction follows, a file either runs the same for both,
/// and says what that is, or says the setting in some word.
#[test]
fn a_setting_that_changes_what_a_file_runs_is_in_its_words() {
    let bases = [
        "model=llama-3.1-8b&gpu=h100-80&precision=mixed&zero=3&accum=2",
        "model=llama-3.1-8b&gpu=h100-80&precision=bf16&zero=1&accum=2&engine=deepspeed&attn=eager",
        "model=llama-3.1-8b&gpu=h100-80&precision=bf16-pure&zero=2&accum=2",
        "model=llama-3.1-8b&gpu=h100-80&precision=autocast&zero=0&adapter=lora-8bit&recompute=none",
        "model=llama-3.1-8b&gpu=h100-80&precision=bf16-pure&zero=0&adapter=qlora&gpus=1",
        "model=llama-3.1-70b&gpu=h100-80&gpus=64&tp=8&pp=4&zero=1&accum=8&engine=megatron",
        "model=llama-3.1-8b&gpu=h100-80&gpus=16&pp=2&zero=2&accum=8&precision=mixed&engine=torchtitan",
    ];
    // The model's own: a file names it, or says that it is to be built.
    let of_the_model = ["mlp", "tied", "norm", "parallel", "qk_norm", "bias", "softcap", "position", "qkv", "softmax"];
    let of_the_page = ["method", "unit", "chart_recompute"];
    let mut silent = Vec::new();
    for query in bases {
        let base = scenario(query);
        for setting in crate::setting::ALL {
            if of_the_model.contains(&setting.key) || of_the_page.contains(&setting.key) {
                continue;
            }
            for option in setting.options {
                let other = setting.read(option.key, base).expect("a word of its own");
                if estimate(&base).peak().bytes == estimate(&other).peak().bytes {
                    continue;
                }
                for &target in &FRAMEWORKS {
                    let same = in_words(target, &base) == in_words(target, &other);
                    if same && predicted(target, &base) != predicted(target, &other) {
                        silent.push(format!("{target:?}: {}={} beside {query}", setting.key, option.key));
                    }
                }
            }
        }
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

/// The same for numbers, each beside what makes it count.
#[test]
fn a_number_that_changes_what_a_file_runs_is_in_its_words() {
    let base = "model=llama-3.1-8b&gpu=h100-80&gpus=32&precision=mixed&zero=3&accum=8";
    let moe = "model=qwen3-30b-a3b&gpu=h200&gpus=32&zero=1&b=16&recompute=none";
    let long = "model=llama-3.1-70b&gpu=h100-80&gpus=64&tp=8&zero=1&accum=8&precision=bf16";
    let cases = [
        (base, "s", "2048", "8192"),
        (base, "reshard", "0", "1"),
        (base, "reshard", "0", "8"),
        (&format!("{base}&loss=chunked"), "chunks", "4", "16"),
        (&format!("{base}&loss=chunked-head&engine=torchtitan"), "chunks", "4", "16"),
        (&format!("{base}&engine=deepspeed"), "bucket", "500", "200"),
        (&format!("{base}&adapter=lora"), "rank", "8", "512"),
        (&format!("{base}&recompute=every-k"), "every", "2", "8"),
        (&format!("{base}&recompute=kth-layer"), "every", "2", "8"),
        (&format!("{base}&recompute=block"), "recompute_layers", "4", "16"),
        (base, "tp", "1", "4"),
        (base, "cp", "1", "4"),
        (&format!("{moe}&ep=8"), "imbalance", "1", "2.5"),
        (moe, "ep", "1", "8"),
        (long, "pp", "1", "4"),
        (&format!("{long}&pp=4"), "vpp", "1", "5"),
        (&format!("{long}&pp=4"), "pp_first", "20", "8"),
        (&format!("{long}&pp=4"), "pp_last", "20", "8"),
        (&format!("{long}&pp=4&engine=megatron&recompute=block"), "recompute_layers", "4", "16"),
        (&format!("{long}&pp=4&engine=torchtitan"), "vpp", "1", "5"),
        (&format!("{long}&pp=4&engine=torchtitan"), "pp_first", "20", "8"),
        (&format!("{long}&pp=4&engine=torchtitan"), "pp_last", "20", "8"),
    ];
    let mut silent = Vec::new();
    for (query, key, one, other) in cases {
        let [one, other] = [one, other].map(|value| scenario(&format!("{query}&{key}={value}")));
        assert_ne!(estimate(&one).peak().bytes, estimate(&other).peak().bytes, "{key} beside {query}");
        for &target in &FRAMEWORKS {
            // A remark may have the number alone.
            let value = |scenario: &Scenario| {
                let word = crate::number::fixed(scenario.number(field(key)), if key == "imbalance" { 2 } else { 0 });
                told_of(target, scenario, &word)
            };
            let same = in_words(target, &one) == in_words(target, &other) && !(value(&one) && value(&other));
            if same && predicted(target, &one) != predicted(target, &other) {
                silent.push(format!("{target:?}: {key} beside {query}"));
            }
        }
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

fn field(key: &str) -> Field {
    Field::ALL.iter().copied().find(|field| field.bound().key == key).expect("a field of the link")
}

/// Whether a number stands in a file by itself, outside its links and its plan.
fn told_of(target: Target, scenario: &Scenario, number: &str) -> bool {
    let text = write(target, scenario, PAGE);
    let mut lines =
        text.lines().filter(|line| !line.contains(PAGE) && !line.contains("GiB") && !line.contains("batch"));
    lines.any(|line| line.split(|sign: char| !sign.is_ascii_digit() && sign != '.').any(|word| word == number))
}
