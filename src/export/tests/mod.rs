//! What holds for every target. Numbers come from the library; structure is written out by hand.

mod deepspeed;
mod measure;
mod megatron;
mod torchtitan;
mod trainers;

use crate::export::run::planned;
use crate::export::*;
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
    if matches!(target, Target::DeepSpeed | Target::Peft) { "    \"" } else { "# " }
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
        let text = write(Target::Lightning, &Scenario { method, ..Scenario::workshop() }, PAGE);
        assert!(text.contains("’s method"), "{text}");
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
fn chunks_of_a_loss_are_counted_out() {
    let base = "model=llama-3.1-8b&gpu=h100-80&precision=mixed&chunks=12&loss=";
    for target in [Target::Accelerate, Target::DeepSpeed, Target::Lightning] {
        assert_told(target, &format!("{base}chunked"), "the model’s code, in 12 chunks.");
        assert_told(target, &format!("{base}chunked-head"), "the model’s code, in 12 chunks.");
    }
}

#[test]
fn a_module_that_divides_itself_is_told_about_sequence_parallelism() {
    let base = "model=llama-3.1-8b&gpu=h100-80&precision=mixed&zero=3&tp=2&sp=";
    assert_told(Target::Lightning, &format!("{base}on"), "Sequence parallelism: SequenceParallel");
    assert_told(Target::Lightning, &format!("{base}off"), "No sequence parallelism");
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
    let of_the_page = ["method", "unit", "chart_recompute", "chart_axis"];
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

/// Programs without fp16 keep bf16, and say that it is emulated.
#[test]
fn files_for_a_gpu_without_bf16_say_fp16() {
    const TRAINERS: [Target; 3] = [Target::Trl, Target::Axolotl, Target::LlamaFactory];
    for gpu in ["v100-32", "t4", "mi60"] {
        for precision in ["bf16", "bf16-pure", "mixed", "autocast"] {
            for rest in
                ["gpus=8", "gpus=8&engine=deepspeed&zero=2", "gpus=1&zero=0", "gpus=8&adapter=qlora", "gpus=8&tp=2"]
            {
                let query = format!("model=llama-3.2-1b&gpu={gpu}&precision={precision}&{rest}");
                for target in FRAMEWORKS.into_iter().chain(TRAINERS) {
                    let keeps = target == Target::Torchtitan || target == Target::Lightning && rest.contains("tp=");
                    // A comment in JSON is a text without a key.
                    let in_bf16 = settings(target, &query)
                        .into_iter()
                        .filter(|line| !line.starts_with('"') || line.contains("\": "))
                        .filter(|line| line.contains("bf16") || line.contains("bfloat16"))
                        .find(|line| !line.to_lowercase().contains("false"));
                    if keeps {
                        assert!(told(target, &query).contains("PyTorch emulates bf16"), "{target:?} {query}");
                    } else {
                        assert_eq!(in_bf16, None, "{target:?} {query}");
                    }
                }
                let measured = write(Target::Measure, &scenario(&query), PAGE);
                assert!(measured.contains("\"half\": \"float16\""), "{query}");
            }
        }
    }
    assert!(told(Target::Accelerate, "gpu=a100-80").contains("mixed_precision: \"bf16\""));
}
