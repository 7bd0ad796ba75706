//! What settings take that few runs combine, against numbers worked out by hand from the sizes of models.

use bmax::{
    Adapter, AdapterTargets, AdapterType, AttentionKernel, Batching, Bytes, Encoder, Engine, Entry, Estimate,
    ExpertMatrices, Fp8, Gather, Gathered, GradientType, HostLoad, Kernels, Latent, Load, Logits, LossHead, Merge,
    Method, Mlp, Offload, Optimizer, PaddedAttention, Percent, Position, Precision, Recomputation, Reference, Resume,
    Rollout, Scenario, StepKernel, Switch, TaskKind, Unquantized, ZeroStage, estimate, source,
};

use crate::support::alone::alone;
use crate::support::held::{at, exactly, position};

/// A row of the catalogue in 16 bits on one GPU that nobody described, with one sequence of 1,024 tokens.
fn row(slug: &str) -> Scenario {
    let mut scenario = alone(slug, Recomputation::None);
    scenario.recipe.precision = Precision::PureBf16;
    scenario.recipe.gradients = GradientType::Half;
    scenario.recipe.kernels = Kernels::Eager;
    scenario.device.capability = 0;
    scenario
}

/// 32 layers of 4,096, with 32 heads of 128, 8 of them for keys and values, and 14,336 inside the feed-forward blocks.
fn llama() -> Scenario {
    row("llama-3.1-8b")
}

/// The same with eight experts of 14,336, of which a token visits two.
fn mixtral() -> Scenario {
    row("mixtral-8x7b")
}

/// Matrices of attention in a layer of either: queries and output, keys and values.
const ATTENTION: f64 = 2.0 * 4096.0 * 4096.0 + 2.0 * 4096.0 * 1024.0;
/// Matrices of all experts in a layer of Mixtral.
const EXPERTS: f64 = 8.0 * 3.0 * 4096.0 * 14_336.0;
/// Parameters of both, as their cards and their rows of the catalogue have them.
const LLAMA: f64 = 8_030_261_248.0;
const MIXTRAL: f64 = 46_702_792_704.0;

const LAST_LAYER: &str = "backward, last layer";

fn has(estimate: &Estimate, name: &str) -> bool {
    estimate.entries.iter().any(|entry| entry.name == name)
}

fn named<'a>(estimate: &'a Estimate, name: &str, instant: &str) -> &'a Entry {
    let there = position(estimate, instant);
    let found = estimate.entries.iter().find(|entry| entry.name == name && entry.alive.contains(there));
    found.unwrap_or_else(|| panic!("no “{name}” at “{instant}”"))
}

#[test]
fn a_backward_pass_is_highest_where_its_busiest_device_has_more_numbers() {
    // Inside two experts a token has 2 · 14,336 numbers, on the busiest of two devices twice as many. The scores of eager
    // attention are 32 · 800 a token, less than half of that.
    let mut scenario = mixtral();
    scenario.cluster.gpus = 2;
    scenario.cluster.expert_parallel = 2;
    scenario.recipe.imbalance = 2.0;
    scenario.recipe.attention = AttentionKernel::Eager;
    scenario.recipe.sequence = 800;
    let estimate = estimate(&scenario);
    assert!(has(&estimate, "Gradients inside the experts") && !has(&estimate, "Gradients of the attention scores"));
}

#[test]
fn a_pass_without_gradients_is_highest_in_its_scores_or_inside_its_blocks() {
    let inside = "Inside one layer, without gradients";
    let mut scenario = llama();
    scenario.task.kind = TaskKind::Dpo;
    scenario.recipe.attention = AttentionKernel::Eager;
    // Scores and their softmax in fp32 are 6 bytes for each of 32 heads and 1,024 tokens, 192 KiB a token. Three tensors of
    // 14,336 numbers are 84 KiB. A pair is two sequences.
    exactly(at(&estimate(&scenario), inside, "score, layers"), 2.0 * 6.0 * 32.0 * 1024.0 * 1024.0);
    // Inside two experts they are 168 KiB, and 336 KiB on the busiest of two devices.
    let mut scenario = mixtral();
    scenario.task.kind = TaskKind::Dpo;
    scenario.cluster.gpus = 2;
    scenario.cluster.expert_parallel = 2;
    scenario.recipe.imbalance = 2.0;
    scenario.recipe.attention = AttentionKernel::Eager;
    exactly(at(&estimate(&scenario), inside, "score, layers"), 2.0 * 6.0 * 1024.0 * 2.0 * 14_336.0 * 2.0);
}

#[test]
fn megatron_lm_shares_what_eager_attention_puts_out_with_the_projection_in_fp8() {
    let mut scenario = llama();
    scenario.recipe.precision = Precision::Bf16;
    scenario.cluster.engine = Engine::Megatron;
    scenario.recipe.attention = AttentionKernel::Eager;
    scenario.recipe.kernels = Kernels::Fused;
    let read = |fp8| {
        let mut with = scenario;
        with.recipe.fp8 = fp8;
        at(&estimate(&with), "Input of the output projection", "loss, forward")
    };
    // In 16 bits, and a byte of it where scaling is delayed.
    exactly(read(Fp8::TeCurrent), 2.0 * 32.0 * 1024.0 * 4096.0);
    exactly(read(Fp8::TeDelayed), 32.0 * 1024.0 * 4096.0);
}

#[test]
fn torchao_casts_the_largest_matrix_that_a_layer_multiplies_with() {
    let mut scenario = mixtral();
    scenario.recipe.precision = Precision::Bf16;
    scenario.recipe.fp8 = Fp8::TorchaoTensorwise;
    scenario.recipe.kernels = Kernels::Fused;
    let cast = |width| {
        let mut with = scenario;
        with.model.experts.width = width;
        at(&estimate(&with), "One matrix, cast to fp8", LAST_LAYER)
    };
    // Gate and factor of an expert are one matrix, 2 · 2,048 wide, and each of its numbers is 2 bytes on the way.
    exactly(cast(2048), 2.0 * 4096.0 * 2.0 * 2048.0);
    // Of small experts a quarter of attention is larger.
    exactly(cast(512), 2.0 * ATTENTION / 4.0);
}

#[test]
fn layers_that_are_computed_again_make_their_weights_in_fp8_together() {
    let mut scenario = mixtral();
    scenario.recipe.precision = Precision::Bf16;
    scenario.recipe.fp8 = Fp8::TeCurrent;
    let copies = |recomputation| {
        let mut with = scenario;
        (with.recipe.recomputation, with.recipe.every) = (recomputation, 4);
        at(&estimate(&with), "Weights in fp8, by row and by column", LAST_LAYER)
    };
    exactly(copies(Recomputation::Full), 2.0 * (ATTENTION + EXPERTS));
    exactly(copies(Recomputation::EveryK), 4.0 * 2.0 * (ATTENTION + EXPERTS));
}

#[test]
fn logits_that_a_loop_holds_are_among_those_that_a_compiled_loss_keeps() {
    let mut scenario = llama();
    scenario.recipe.loss = LossHead::Chunked;
    scenario.recipe.logits = Logits::Kept;
    let held = |kernels| {
        let mut with = scenario;
        with.recipe.kernels = kernels;
        at(&estimate(&with), "Logits that are still held", "loss, backward")
    };
    exactly(held(Kernels::Eager), 2.0 * 1024.0 * 128_256.0);
    exactly(held(Kernels::Fused), 0.0);
}

#[test]
fn fewer_micro_batches_than_stages_are_counted_as_many() {
    for engine in [Engine::Torch, Engine::Torchtitan, Engine::Megatron, Engine::DeepSpeed] {
        for zero in [ZeroStage::Stage0, ZeroStage::Stage1] {
            let mut scenario = llama();
            scenario.cluster.gpus = 8;
            scenario.cluster.pipeline_parallel = 4;
            (scenario.cluster.engine, scenario.cluster.zero) = (engine, zero);
            let entries = |micro_batches| {
                let mut with = scenario;
                with.recipe.micro_batches = micro_batches;
                estimate(&with).entries
            };
            assert_eq!(entries(1), entries(4), "{engine}, ZeRO {zero}");
        }
    }
}

#[test]
fn compressed_keys_and_values_are_kept_with_a_copy_in_fp8_for_the_product() {
    let mut scenario = row("deepseek-v2-lite");
    scenario.recipe.precision = Precision::Bf16;
    scenario.recipe.kernels = Kernels::Fused;
    let kept = |fp8| {
        let mut with = scenario;
        with.recipe.fp8 = fp8;
        at(&estimate(&with), "Compressed queries, keys and values", "loss, forward")
    };
    // 27 layers of 512 numbers a token: 2 bytes for the norm, and 2 or 1 for the product behind it.
    exactly(kept(Fp8::Off), 27.0 * 1024.0 * 512.0 * 4.0);
    exactly(kept(Fp8::TeCurrent), 27.0 * 1024.0 * 512.0 * 3.0);
}

#[test]
fn galore_projects_the_compressed_matrices_of_latent_attention_by_their_shorter_sides() {
    let mut scenario = llama();
    let model = &mut scenario.model;
    (model.layers, model.hidden, model.heads, model.kv_heads, model.head_dim) = (2, 1024, 8, 8, 64);
    model.feed_forward = 2048;
    scenario.recipe.optimizer = Optimizer::Galore;
    scenario.recipe.projection = 16;
    let projections = |query_rank| {
        let mut with = scenario;
        with.model.latent = Latent { query_rank, kv_rank: 256, rope_dim: 32 };
        at(&estimate(&with), "Projections", "optimizer step")
    };
    // Keys and values: (256 + 32) × 1,024, then 2 · 512 × 256. Output: 1,024 × 512. Feed-forward: three of 1,024 × 2,048.
    let others = 288.0 + 256.0 + 512.0 + 3.0 * 1024.0;
    // Queries: 8 · (64 + 32) × 1,024, or first 256 × 1,024 and then 768 × 256.
    exactly(projections(0), 2.0 * 2.0 * 16.0 * (768.0 + others));
    exactly(projections(256), 2.0 * 2.0 * 16.0 * (256.0 + 256.0 + others));
}

#[test]
fn a_step_in_the_backward_pass_has_the_gradient_of_the_largest_matrix() {
    let mut scenario = llama();
    scenario.recipe.step = StepKernel::InBackward;
    // Four matrices of 4,096² in attention, and three of 4,096 × 1,024 behind it.
    (scenario.model.kv_heads, scenario.model.feed_forward) = (32, 1024);
    let seen = estimate(&scenario);
    exactly(at(&seen, "Gradient of one matrix", LAST_LAYER), 2.0 * 4096.0 * 4096.0);
    exactly(at(&seen, "Update of one weight", LAST_LAYER), 2.0 * 4096.0 * 4096.0);
    // The experts of a layer are two stacks, and gates and what they multiply are one of them, [E, 2·f, H]
    // (`MixtralExperts` in models/mixtral/modeling_mixtral.py, transformers 5.23.0).
    let mut scenario = mixtral();
    scenario.recipe.step = StepKernel::InBackward;
    exactly(at(&estimate(&scenario), "Gradient of one matrix", LAST_LAYER), 2.0 * EXPERTS * 2.0 / 3.0);
    exactly(at(&estimate(&scenario), "Update of one weight", LAST_LAYER), 2.0 * EXPERTS * 2.0 / 3.0);
}

#[test]
fn a_sharded_reference_is_divided_over_all_gpus_however_experts_are() {
    let mut scenario = mixtral();
    scenario.task.kind = TaskKind::Dpo;
    scenario.task.reference = Reference::Sharded;
    scenario.cluster.gpus = 8;
    for expert_parallel in [1, 2, 8] {
        scenario.cluster.expert_parallel = expert_parallel;
        let held = at(&estimate(&scenario), "Reference model", "train: optimizer step");
        exactly(held, 2.0 * MIXTRAL / 8.0);
    }
}

#[test]
fn what_fsdp_keeps_between_the_passes_is_a_part_of_the_weights_or_all_of_them() {
    let mut scenario = llama();
    scenario.cluster.gpus = 16;
    scenario.cluster.zero = ZeroStage::Stage3;
    scenario.cluster.reshard = 8;
    exactly(at(&estimate(&scenario), "Weights, resharded over a group", "loss, forward"), 2.0 * LLAMA / 8.0);
    scenario.recipe.precision = Precision::Mixed;
    scenario.cluster.zero = ZeroStage::Stage2;
    exactly(at(&estimate(&scenario), "16-bit copy of the weights", "loss, forward"), 2.0 * LLAMA);
}

#[test]
fn weights_in_cpu_memory_that_fsdp_keeps_between_the_passes_are_whole_on_each_gpu() {
    let mut scenario = llama();
    scenario.cluster.zero = ZeroStage::Stage3;
    scenario.cluster.reshard = 1;
    scenario.recipe.offload = Offload::Parameters;
    // Alone, and beside another.
    for gpus in [1, 2] {
        scenario.cluster.gpus = gpus;
        for instant in ["loss, forward", LAST_LAYER] {
            exactly(at(&estimate(&scenario), "16-bit copy of the weights", instant), 2.0 * LLAMA);
        }
    }
    // Frozen weights in 16 bits, which a GPU that has them all reads as they are.
    scenario.recipe.adapter = Adapter::Lora;
    scenario.cluster.gpus = 1;
    exactly(at(&estimate(&scenario), "16-bit copy of the weights", "loss, forward"), 2.0 * LLAMA);
    scenario.recipe.offload = Offload::None;
    exactly(at(&estimate(&scenario), "16-bit copy of the weights", "loss, forward"), 0.0);
}

#[test]
fn dense_layers_that_reach_into_the_second_round_of_chunks_are_counted_there() {
    // Of two chunks a stage the first has layers 0 to 7 and 16 to 23. The first 20 layers are dense: eight of the one chunk,
    // four of the other.
    let mut scenario = mixtral();
    scenario.model.experts.dense_layers = 20;
    scenario.cluster.gpus = 2;
    scenario.cluster.pipeline_parallel = 2;
    scenario.cluster.virtual_stages = 2;
    scenario.recipe.micro_batches = 2;
    let seen = estimate(&scenario);
    let dense = named(&seen, "Feed-forward matrices", "first stage: pipeline full");
    assert_eq!(dense.layers, 12.0);
    exactly(dense.bytes.get(), 12.0 * 2.0 * 3.0 * 4096.0 * 14_336.0);
}

#[test]
fn a_gated_gelu_beside_quantized_matrices_is_in_fp32_where_norms_are() {
    let mut scenario = llama();
    scenario.model.mlp = Mlp::GatedGeluTanh;
    scenario.recipe.precision = Precision::Autocast;
    scenario.recipe.adapter = Adapter::Qlora;
    scenario.recipe.targets = AdapterTargets::QueryValue;
    scenario.recipe.unquantized = Unquantized::Full;
    // Four tensors of the GELU and both factors of the product, 4 bytes each.
    let inside = at(&estimate(&scenario), "Inside the feed-forward block", "loss, forward");
    exactly(inside, 6.0 * 4.0 * 32.0 * 1024.0 * 14_336.0);
}

#[test]
fn behind_layer_norm_under_autocast_quantized_matrices_put_out_fp32() {
    // 24 layers of 2,048, with 8,192 inside the feed-forward blocks: what GELU reads, in the type of what LayerNorm gives
    // the matrix before.
    let mut scenario = row("pythia-1.4b");
    scenario.recipe.precision = Precision::Autocast;
    scenario.recipe.targets = AdapterTargets::QueryValue;
    let inside = |adapter, kernels| {
        let mut scenario = scenario;
        scenario.recipe.adapter = adapter;
        scenario.recipe.kernels = kernels;
        at(&estimate(&scenario), "Inside the feed-forward block", "loss, forward")
    };
    let elements = 24.0 * 1024.0 * 8192.0;
    exactly(inside(Adapter::Lora, Kernels::Eager), 2.0 * elements);
    exactly(inside(Adapter::Qlora, Kernels::Eager), 4.0 * elements);
    // A kernel gives back the type of what it is given.
    exactly(inside(Adapter::Qlora, Kernels::Fused), 2.0 * elements);
    // So does RMSNorm: three tensors of 14,336 in 32 layers.
    scenario = llama();
    scenario.recipe.precision = Precision::Autocast;
    scenario.recipe.adapter = Adapter::Qlora;
    scenario.recipe.targets = AdapterTargets::QueryValue;
    let inside = at(&estimate(&scenario), "Inside the feed-forward block", "loss, forward");
    exactly(inside, 3.0 * 2.0 * 32.0 * 1024.0 * 14_336.0);
}

#[test]
fn outputs_of_reduce_scatters_are_kept_in_the_type_of_products() {
    let mut scenario = llama();
    scenario.recipe.precision = Precision::Fp32;
    scenario.recipe.recomputation = Recomputation::Operators;
    scenario.cluster.gpus = 2;
    scenario.cluster.tensor_parallel = 2;
    scenario.cluster.sequence_parallel = Switch::On;
    // Two a layer, divided over two GPUs.
    let kept = at(&estimate(&scenario), "Outputs of the reduce-scatters", "loss, forward");
    exactly(kept, 2.0 * 4.0 * 32.0 * 1024.0 * 4096.0 / 2.0);
}

#[test]
fn eager_attention_takes_no_padding_out() {
    let mut scenario = llama();
    scenario.lengths.batching = Batching::Padded;
    scenario.lengths.attention = PaddedAttention::Unpadded;
    for (attention, there) in [(AttentionKernel::Flash, true), (AttentionKernel::Eager, false)] {
        scenario.recipe.attention = attention;
        assert_eq!(has(&estimate(&scenario), "Places of tokens among padding"), there, "{attention}");
    }
}

#[test]
fn the_whole_optimizer_state_of_adapters_is_gathered() {
    let mut scenario = llama();
    scenario.cluster.gpus = 8;
    scenario.cluster.zero = ZeroStage::Stage3;
    scenario.recipe.adapter = Adapter::Lora;
    scenario.recipe.adapter_type = AdapterType::Half;
    (scenario.recipe.targets, scenario.recipe.rank) = (AdapterTargets::QueryValue, 8);
    (scenario.outside.gather, scenario.outside.gathered) = (Gather::Gpu, Gathered::All);
    // Rank 8 for both sides of queries and values, and two moments of 2 bytes.
    let weights = 32.0 * 8.0 * (4096.0 + 4096.0 + 4096.0 + 1024.0);
    let seen = estimate(&scenario);
    exactly(at(&seen, "Optimizer state, gathered", "gathering optimizer state"), 4.0 * weights);
}

#[test]
fn merging_adapters_of_stacks_makes_the_product_of_the_larger_stack_of_a_layer() {
    // Gate and up of eight experts are one stack: two thirds of a layer's experts, in the fp32 of the adapters, and once more
    // times its scale. Quantized matrices beside it are smaller, and a copy of it has the 16 bits of the stack.
    let stack = EXPERTS * 2.0 / 3.0;
    for adapter in [Adapter::Lora, Adapter::Qlora, Adapter::Lora8] {
        let mut scenario = mixtral();
        scenario.recipe.adapter = adapter;
        scenario.outside.merge = Merge::Safe;
        let seen = estimate(&scenario);
        exactly(at(&seen, "Product of one adapter, and scaled", "merging adapters"), 2.0 * 4.0 * stack);
        exactly(at(&seen, "Copy of one matrix", "merging adapters"), 2.0 * stack);
    }
}

#[test]
fn merging_into_whole_weights_brings_matrices_of_experts_back_to_16_bits_and_no_routers() {
    let mut scenario = mixtral();
    scenario.recipe.adapter = Adapter::Qlora;
    scenario.outside.merge = Merge::Whole;
    // 4.127 bits of each become 16. A stack of experts has 16 as it is.
    for (form, matrices) in [(ExpertMatrices::Stacked, ATTENTION), (ExpertMatrices::Linear, ATTENTION + EXPERTS)] {
        scenario.recipe.expert_matrices = form;
        let adds = at(&estimate(&scenario), "What dequantizing adds", "merging adapters");
        exactly(adds, (2.0 - 4.127 / 8.0) * 32.0 * matrices);
    }
}

#[test]
fn state_that_is_read_is_the_part_of_this_gpu() {
    let mut scenario = llama();
    scenario.cluster.gpus = 8;
    scenario.cluster.zero = ZeroStage::Stage1;
    scenario.recipe.optimizer = Optimizer::Adam8bit;
    scenario.outside.resume = Resume::Gpu;
    // Two moments of a byte, with a scale of 4 bytes for 256 of either.
    let read = at(&estimate(&scenario), "State as it was read", "resuming");
    exactly(read, (2.0 + 2.0 * 4.0 / 256.0) * LLAMA / 8.0);
}

#[test]
fn an_entry_that_an_engine_makes_names_that_engine_as_its_source() {
    let mut scenario = llama();
    scenario.cluster.gpus = 8;
    scenario.cluster.zero = ZeroStage::Stage3;
    scenario.outside.evaluation = bmax::Evaluation::Loss;
    scenario.outside.load = Load::Off;
    for (engine, gathered, evaluated) in [
        (Engine::Torch, "Gathered layers", &source::FSDP),
        (Engine::DeepSpeed, "Gathered weights that are read again soon", &source::DEEPSPEED),
    ] {
        scenario.cluster.engine = engine;
        let seen = estimate(&scenario);
        assert_eq!(named(&seen, gathered, LAST_LAYER).source, evaluated);
        assert_eq!(named(&seen, "Gathered layers, evaluated", "evaluation: layers").source, evaluated);
    }
    // DeepSpeed’s first stage keeps its own part of 16-bit gradients that were added up.
    scenario.cluster.zero = ZeroStage::Stage1;
    scenario.recipe.precision = Precision::Bf16;
    scenario.recipe.micro_batches = 2;
    let gradients = |scenario: &Scenario, instant: &str| {
        let seen = estimate(scenario);
        let there = position(&seen, instant);
        let is_gradient =
            |entry: &&Entry| entry.name == "Attention matrices" && entry.bucket == bmax::Bucket::Gradients;
        let found = seen.entries.iter().filter(is_gradient).find(|entry| entry.alive.contains(there));
        found.expect("gradients").source
    };
    assert_eq!(gradients(&scenario, "optimizer step"), &source::DEEPSPEED);
    // Whole gradients are those of mixed precision; fp16 beside fp32 sums is Megatron-LM’s.
    scenario.cluster.engine = Engine::Torch;
    for (precision, kind, expected) in [
        (Precision::Bf16, GradientType::Half, &source::MICIKEVICIUS),
        (Precision::Bf16, GradientType::Full, &source::MICIKEVICIUS),
        (Precision::Fp16, GradientType::Full, &source::MEGATRON),
    ] {
        (scenario.recipe.precision, scenario.recipe.gradients) = (precision, kind);
        assert_eq!(gradients(&scenario, "end of backward"), expected, "{precision}, {kind}");
    }
    // What the CPU updates.
    scenario.recipe.offload = Offload::Optimizer;
    scenario.host.load = HostLoad::Off;
    for (engine, expected) in [(Engine::Torch, &source::PYTORCH), (Engine::DeepSpeed, &source::DEEPSPEED)] {
        scenario.cluster.engine = engine;
        let host = estimate(&scenario).host;
        let updated = host.entries.iter().find(|entry| entry.name == "Weights that the CPU updates").expect("there");
        assert_eq!(updated.source, expected, "{engine}");
    }
}

#[test]
fn nothing_is_listed_that_takes_no_memory() {
    let bare = |mut scenario: Scenario| {
        let device = &mut scenario.device;
        (device.driver, device.cuda_context) = (Bytes::ZERO, Bytes::ZERO);
        (device.communication, device.workspace) = (Bytes::ZERO, Bytes::ZERO);
        device.fragmentation = Percent::new(0.0);
        scenario
    };
    let mut engine = llama();
    (engine.task.kind, engine.task.rollout, engine.task.engine) = (TaskKind::Grpo, Rollout::Awake, Percent::new(0.0));
    let mut text = row("qwen2.5-vl-7b");
    text.recipe.images.count = 0;
    let mut several = llama();
    several.cluster.gpus = 8;
    for scenario in [llama(), mixtral(), engine, text, several, row("t5-base"), row("gpt2")] {
        let entries = estimate(&bare(scenario)).entries;
        let empty = entries.iter().find(|entry| entry.bytes == Bytes::ZERO);
        assert!(empty.is_none(), "{:?}: {}", scenario.model.origin, empty.map_or("", |entry| entry.name));
    }
}

#[test]
fn a_sequence_without_images_waits_for_no_tower() {
    let mut scenario = row("qwen2.5-vl-7b");
    scenario.recipe.images.count = 0;
    assert!(!has(&estimate(&scenario), "Gradient of the embedded sequence"));
}

#[test]
fn transformer_engine_makes_an_empty_gradient_for_each_shape_that_layers_have() {
    let mut scenario = mixtral();
    scenario.cluster.engine = Engine::Megatron;
    // One expert stands for all; no layer has a dense feed-forward block.
    let dummies = at(&estimate(&scenario), "Dummy gradients, one for each shape", "loss, forward");
    exactly(dummies, 2.0 * (ATTENTION + EXPERTS / 8.0));
    // Nor does a layer without experts have one.
    let mut scenario = llama();
    scenario.cluster.engine = Engine::Megatron;
    let dummies = at(&estimate(&scenario), "Dummy gradients, one for each shape", "loss, forward");
    exactly(dummies, 2.0 * (ATTENTION + 3.0 * 4096.0 * 14_336.0));
}

#[test]
fn one_gpu_keeps_its_weights_in_fp8_whatever_the_zero_stage() {
    let mut scenario = llama();
    scenario.recipe.precision = Precision::Bf16;
    scenario.recipe.fp8 = Fp8::TeCurrent;
    scenario.cluster.zero = ZeroStage::Stage3;
    // Two bytes for each weight of a layer’s matrices, 32 layers.
    let kept = at(&estimate(&scenario), "Weights in fp8, by row and by column", "loss, forward");
    exactly(kept, 2.0 * 32.0 * (ATTENTION + 3.0 * 4096.0 * 14_336.0));
}

#[test]
fn a_mask_repeats_keys_and_values_only_where_heads_share_them() {
    let mut scenario = llama();
    scenario.recipe.attention = AttentionKernel::Flash;
    scenario.lengths.batching = Batching::Padded;
    scenario.lengths.attention = PaddedAttention::Mask;
    assert!(has(&estimate(&scenario), "Keys, repeated to n heads"));
    scenario.model.kv_heads = 32;
    let seen = estimate(&scenario);
    assert!(has(&seen, "Keys") && !has(&seen, "Keys, repeated to n heads"));
}

#[test]
fn experts_alone_read_norms_by_their_router_and_not_in_fp8() {
    // Without shared experts every token goes from the norm to the router, and its experts have copies of their own.
    let mut scenario = mixtral();
    scenario.recipe.precision = Precision::Bf16;
    scenario.recipe.fp8 = Fp8::TeCurrent;
    let seen = estimate(&scenario);
    assert!(has(&seen, "Input of the router"));
    assert!(!has(&seen, "Outputs of the norms, in fp8 for the feed-forward block"));
}

#[test]
fn a_stage_between_the_ends_updates_no_embedding() {
    let mut scenario = llama();
    scenario.recipe.optimizer = Optimizer::Galore;
    (scenario.cluster.gpus, scenario.cluster.pipeline_parallel, scenario.recipe.micro_batches) = (4, 4, 4);
    let update = |instant: &str| at(&estimate(&scenario), "Update of one matrix", instant);
    // Singular vectors of 4,096 × 14,336: 8 bytes of each element for both copies in fp32, and both sets of vectors.
    let inside = 8.0 * 4096.0 * 14_336.0 + 4.0 * 4096.0 * (4096.0 + 14_336.0);
    exactly(update("second stage: optimizer step"), inside);
    // Two tensors of 2 bytes as large as the embedding are more.
    exactly(update("first stage: optimizer step"), 2.0 * 2.0 * 128_256.0 * 4096.0);
}

#[test]
fn a_learned_table_without_rows_is_no_matrix() {
    let mut scenario = llama();
    scenario.recipe.precision = Precision::Bf16;
    scenario.recipe.optimizer = Optimizer::Soap;
    let squares = |position| {
        let mut with = scenario;
        (with.model.position, with.model.positions) = (position, 0);
        at(&estimate(&with), "Preconditioners", "optimizer step")
    };
    exactly(squares(Position::Learned), squares(Position::None));
}

#[test]
fn ranks_are_those_of_a_pipeline_alone() {
    let mut scenario = llama();
    assert_eq!(estimate(&scenario).ranks, Vec::<u32>::new());
    (scenario.cluster.gpus, scenario.cluster.pipeline_parallel) = (4, 4);
    assert_eq!(estimate(&scenario).ranks, [3, 0, 1]);
}

#[test]
fn an_encoder_that_reads_text_hears_nothing_and_one_without_rows_hears_as_much_as_it_is_given() {
    let mut scenario = llama();
    scenario.recipe.source = 300;
    scenario.model.encoder = Encoder { layers: 2, positions: 1_500, mels: 0 };
    assert!(!scenario.model.encoder.hears());
    assert_eq!(scenario.source(), 300);
    // 1,500 frames of sound are all that Whisper’s table has rows for.
    scenario.model.encoder.mels = 80;
    assert!(scenario.model.encoder.hears());
    assert_eq!(scenario.source(), 1_500);
    scenario.model.encoder.positions = 0;
    assert_eq!(scenario.source(), 300);
    // Without layers there is no encoder to hear.
    scenario.model.encoder.layers = 0;
    assert!(!scenario.model.encoder.hears());
}

#[test]
fn without_tensor_parallelism_the_paper_s_coefficient_is_one_number() {
    let mut scenario = Scenario { method: Method::Paper, ..llama() };
    scenario.recipe.precision = Precision::Bf16;
    scenario.recipe.recomputation = Recomputation::Selective;
    let written = |scenario: &Scenario| {
        let estimate = estimate(scenario);
        let kept = estimate.entries.iter().find(|entry| entry.bucket == bmax::Bucket::Activations).expect("kept");
        kept.formula.in_symbols(&kept.values(&estimate))
    };
    // 32 bytes without dropout, of which T divides 24 (Korthikanti et al. 2022, table 2, less the masks).
    assert!(written(&scenario).contains("32") && !written(&scenario).contains('+'), "{}", written(&scenario));
    scenario.cluster.tensor_parallel = 2;
    assert!(written(&scenario).contains("(8 + 24 / T)"), "{}", written(&scenario));
}
