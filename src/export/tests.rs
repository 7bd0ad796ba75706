//! What holds for every target. Numbers come from the library; structure is written out by hand.

use super::run::planned;
use super::*;
use crate::{
    Choice, Field, LossHead, Method, Offload, Optimizer, Precision, Recomputation, ZeroStage, b_max, catalogue,
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

/// Llama on eight GPUs with FSDP as PyTorch does it: every target but Megatron-LM can say all of it.
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
        let says_all = !matches!(target, Target::Megatron | Target::DeepSpeed);
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
        let scenario = scenario(query);
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
                let mut scenario = plain();
                assert!((setting.set)(&mut scenario, option.key));
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
