//! What DeepSpeed is told, by itself and by others.

use super::*;

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
fn several_machines_of_deepspeed_get_the_allocator_s_variable_from_a_file() {
    let query = |gpus: u32| format!("model=llama-3.1-8b&gpu=h100-80&segments=expandable&gpus={gpus}");
    assert_told(Target::DeepSpeed, &query(16), "a line of ~/.deepspeed_env");
    assert!(!told(Target::DeepSpeed, &query(8)).contains("deepspeed_env"));
}

#[test]
fn deepspeed_s_pipeline_has_neither_chunks_nor_named_stages() {
    let query = "engine=deepspeed&pp=2&vpp=2&pp_first=14&zero=1&accum=8";
    assert_told(Target::DeepSpeed, query, "hold one chunk of layers, not 2");
    assert_told(Target::DeepSpeed, query, "PipelineModule divides layers evenly");
    assert_told(Target::DeepSpeed, query, "partition_method");
}

#[test]
fn deepspeed_is_told_nothing_that_it_does_not_divide_together() {
    for (zero, tp, pp, cp) in (0..4)
        .flat_map(|zero| [1, 2].map(|tp| (zero, tp)))
        .flat_map(|(zero, tp)| [1, 2].map(|pp| (zero, tp, pp)))
        .flat_map(|(zero, tp, pp)| [1, 2].map(|cp| (zero, tp, pp, cp)))
    {
        let query = format!("model=llama-3.1-8b&gpus=16&engine=deepspeed&accum=4&zero={zero}&tp={tp}&pp={pp}&cp={cp}");
        let found = settings(Target::DeepSpeed, &query);
        let has = |word: &str| found.iter().any(|line| line.starts_with(word));
        let divides = has("\"autotp_size\": 2");
        assert_eq!(divides, tp == 2, "{query}");
        assert!(!(divides && has("\"stage\": 3")), "{query}");
        assert!(!(has("\"sequence_parallel_size\"") && (divides || pp == 2)), "{query}");
    }
    let text = told(Target::DeepSpeed, "model=llama-3.1-8b&gpus=8&tp=2&zero=3&engine=deepspeed");
    assert!(
        text.contains("goes with ZeRO 2 at most in versions before 0.19.4: stage 2 here; this alone takes the peak"),
        "{text}"
    );
}
