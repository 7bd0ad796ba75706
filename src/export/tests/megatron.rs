//! What Megatron-LM is told.

use super::*;

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
fn the_rotary_part_of_a_latent_head_has_a_width_of_its_own() {
    // `qk_nope_head_dim` and `qk_rope_head_dim` in the config.json of DeepSeek-V3 and DeepSeek-V2.
    for model in ["deepseek-v3", "deepseek-v2"] {
        let flags = ["--qk-head-dim 128", "--qk-pos-emb-head-dim 64", "--v-head-dim 128"];
        assert_lines(Target::Megatron, &format!("model={model}&zero=1"), &flags);
    }
    for row in catalogue::MODELS.iter().filter(|row| row.model.latent.kv_rank > 0) {
        let flag = format!("--qk-pos-emb-head-dim {}", row.model.latent.rope_dim);
        assert_lines(Target::Megatron, &format!("model={}&zero=1", row.slug), &[&flag]);
    }
}

#[test]
fn scales_of_blocks_go_with_one_format_of_fp8_and_scales_of_tensors_with_two() {
    // `fp8_format` by default of Transformer Engine’s recipes (transformer_engine/common/recipe/__init__.py): E4M3 alone of
    // Float8BlockScaling and MXFP8BlockScaling, and E5M2 for gradients of DelayedScaling and Float8CurrentScaling.
    for (gpu, fp8, recipe, format) in [
        ("h100-80", "te-delayed", "delayed", "hybrid"),
        ("h100-80", "te-current", "tensorwise", "hybrid"),
        ("h100-80", "te-block", "blockwise", "e4m3"),
        ("h100-80", "deepseek-v3", "blockwise", "e4m3"),
        ("b200", "te-mxfp8", "mxfp8", "e4m3"),
    ] {
        let query = format!("model=llama-3.1-8b&gpu={gpu}&zero=1&precision=bf16&engine=megatron&fp8={fp8}");
        let flags = [format!("--fp8-recipe {recipe}"), format!("--fp8-format {format}")];
        assert_lines(Target::Megatron, &query, &flags.each_ref().map(String::as_str));
    }
}

#[test]
fn communication_starts_in_the_order_of_the_code_wherever_a_layer_or_a_sequence_is_divided() {
    // `validate_args` in megatron/training/arguments.py asks for one connection with tensor or context parallelism up to
    // Hopper, and refuses it with Megatron’s FSDP.
    for (tp, cp) in [(1, 1), (2, 1), (1, 2), (2, 2), (4, 2)] {
        for zero in 0..=3 {
            let query = format!("model=llama-3.1-8b&gpu=h100-80&gpus=16&tp={tp}&cp={cp}&zero={zero}&engine=megatron");
            let found = settings(Target::Megatron, &query);
            let asked = found.iter().any(|line| line == "export CUDA_DEVICE_MAX_CONNECTIONS=1");
            assert_eq!(asked, (tp > 1 || cp > 1) && zero < 2, "{query}");
        }
    }
}
