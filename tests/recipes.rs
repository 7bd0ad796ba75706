//! What fp8, optimizers of few bits and of whole matrices, a step in the backward pass and weights in CPU memory take,
//! against numbers worked out by hand and against optimizers that were run.

use bmax::{
    Answer, Bucket, Bytes, Engine, Estimate, Field, Fp8, GradientType, HostLoad, Kernels, Method, Mlp, Offload,
    Optimizer, Precision, Recomputation, Scenario, Shortage, StepKernel, Switch, ZeroStage, b_max, catalogue, estimate,
    link, range::range,
};
use serde_json::Value;

use crate::support::alone::alone;
use crate::support::held::exactly;

/// Llama 3.1 8B in bf16 on one GPU that nobody described.
fn llama() -> Scenario {
    let mut scenario = alone("llama-3.1-8b", Recomputation::None);
    scenario.recipe.kernels = Kernels::Fused;
    scenario.device.capability = 0;
    scenario
}

/// All entries of a name added up at the instant at which they are largest.
fn held(estimate: &Estimate, name: &str) -> f64 {
    let at = |position| {
        let named = estimate.entries.iter().filter(|entry| entry.name == name && entry.alive.contains(position));
        named.map(|entry| entry.bytes.get()).sum::<f64>()
    };
    (0..estimate.instants.len()).map(at).fold(0.0, f64::max)
}

/// Activations with all layers kept.
fn activations(scenario: &Scenario) -> f64 {
    estimate(scenario).bucket_at(Bucket::Activations, 0).get()
}

/// Tokens times layers of that scenario.
const TOKEN_LAYERS: f64 = 1024.0 * 32.0;

#[test]
fn transformer_engine_keeps_the_inputs_of_products_in_one_byte() {
    // Of a Llama layer with fused kernels two norms' outputs go from 2 bytes to 1, 4,096 wide, and so does the input of
    // the last matrix, 14,336 wide. Outside Megatron-LM the output projection keeps a byte of what attention has kept
    // already, 4,096 wide.
    let mut scenario = llama();
    let plain = activations(&scenario);
    scenario.recipe.fp8 = Fp8::TeDelayed;
    exactly(activations(&scenario) - plain, TOKEN_LAYERS * (-2.0 * 4096.0 - 14_336.0 + 4096.0));
    // A scale of 4 bytes for 128 values, and of one byte for 32.
    for fp8 in [Fp8::TeBlock, Fp8::TeMxfp8] {
        scenario.recipe.fp8 = fp8;
        let kept = 1.03125 * (2.0 * 4096.0 + 14_336.0 + 4096.0);
        exactly(activations(&scenario) - plain, TOKEN_LAYERS * (kept - 2.0 * (2.0 * 4096.0 + 14_336.0)));
    }
}

#[test]
fn megatron_lm_shares_what_attention_puts_out_unless_scaling_is_delayed() {
    let mut scenario = llama();
    scenario.cluster.engine = Engine::Megatron;
    let kept = |fp8| {
        let mut scenario = scenario;
        scenario.recipe.fp8 = fp8;
        activations(&scenario)
    };
    exactly(kept(Fp8::TeDelayed) - kept(Fp8::TeCurrent), TOKEN_LAYERS * 4096.0);
}

#[test]
fn torchao_keeps_what_it_is_given() {
    // Run on a CPU: with fp8 and without, a linear layer keeps its input in bf16.
    let vectors: Value = serde_json::from_str(include_str!("vectors/float8.json")).expect("JSON");
    for row in vectors["rows"].as_array().expect("rows") {
        let number = |key: &str| row[key].as_f64().expect("a number");
        exactly(number("kept_bytes"), 2.0 * number("tokens") * number("width"));
    }
    let mut scenario = llama();
    let plain = activations(&scenario);
    for fp8 in [Fp8::TorchaoTensorwise, Fp8::TorchaoRowwise] {
        scenario.recipe.fp8 = fp8;
        exactly(activations(&scenario), plain);
    }
}

#[test]
fn megatron_lm_keeps_two_bytes_of_fp8_for_each_weight_of_a_layer_and_blackwell_one() {
    // A layer of Llama 3.1 8B has 2·4096² + 2·4096·1024 weights of attention and 3·4096·14,336 of its block.
    let weights = 32.0 * (2.0 * 4096.0 * 4096.0 + 2.0 * 4096.0 * 1024.0 + 3.0 * 4096.0 * 14_336.0);
    let mut scenario = llama();
    scenario.cluster.engine = Engine::Megatron;
    scenario.recipe.fp8 = Fp8::TeDelayed;
    let name = "Weights in fp8, by row and by column";
    exactly(held(&estimate(&scenario), name), 2.0 * weights);
    // 128 × 128 weights share 4 bytes of a scale.
    let blocks = Scenario { recipe: bmax::Recipe { fp8: Fp8::TeBlock, ..scenario.recipe }, ..scenario };
    exactly(held(&estimate(&blocks), name), 2.0 * (1.0 + 4.0 / 16_384.0) * weights);
    let mut blackwell = catalogue::device("b200").expect("listed").apply(scenario);
    exactly(held(&estimate(&blackwell), name), weights);
    // MXFP8 has a scale along rows and one along columns, so that both copies stay.
    blackwell.recipe.fp8 = Fp8::TeMxfp8;
    exactly(held(&estimate(&blackwell), name), 2.0 * (1.0 + 1.0 / 32.0) * weights);
}

#[test]
fn weights_gathered_by_fsdp_have_one_matrix_in_fp8_at_a_time() {
    let mut scenario = llama();
    scenario.cluster.gpus = 8;
    scenario.cluster.zero = ZeroStage::Stage3;
    scenario.recipe.precision = Precision::Mixed;
    scenario.recipe.fp8 = Fp8::TeCurrent;
    let estimate = estimate(&scenario);
    exactly(held(&estimate, "Weights in fp8, by row and by column"), 0.0);
    // Gate and factor in one matrix.
    exactly(held(&estimate, "One matrix in fp8, both ways"), 2.0 * 2.0 * 4096.0 * 14_336.0);
}

#[test]
fn deepseek_v3_keeps_moments_in_bf16_and_gradients_and_master_weights_in_fp32() {
    // DeepSeek-AI 2024b, section 3.3.3: 2 + 2 bytes of moments, 4 of master weights and 4 of gradients.
    let mut scenario = llama();
    scenario.recipe.fp8 = Fp8::DeepSeekV3;
    let of = |bucket| {
        let estimate = estimate(&scenario);
        estimate.bucket_at(bucket, estimate.instants.len() - 1).get() / scenario.model.derived_parameters() as f64
    };
    assert!((of(Bucket::Optimizer) - 8.0).abs() < 1e-6 && (of(Bucket::Gradients) - 4.0).abs() < 1e-6);
}

#[test]
fn deepseek_v3_keeps_twelve_bits_of_attention_and_the_inputs_of_swiglu_in_fp8() {
    // Section 3.3.3 and 3.2.3: E5M6 is 12 bits; gate and factor in one byte each with a scale for 128; norms again.
    let mut scenario = llama();
    scenario.recipe.fp8 = Fp8::DeepSeekV3;
    let estimate = estimate(&scenario);
    exactly(held(&estimate, "Attention output"), TOKEN_LAYERS * 4096.0 * (1.5 + 0.03125));
    exactly(held(&estimate, "Inside the feed-forward block"), TOKEN_LAYERS * 14_336.0 * 2.0 * 1.03125);
    // One layer's at a time.
    let again = held(&estimate, "Outputs of the norms, in fp8 for attention");
    exactly(again, 1024.0 * 4096.0 * 1.03125);
}

#[test]
fn precision_fp8_in_a_link_is_bf16_with_what_the_device_usually_has() {
    for (query, taken) in [
        ("?gpu=h100-80&precision=fp8", Fp8::TeDelayed),
        ("?gpu=b200&precision=FP8", Fp8::TeMxfp8),
        ("?gpu=rtx-5090&precision=fp8", Fp8::TeCurrent),
        ("?gpu=h100-80&precision=fp8&engine=torchtitan", Fp8::TorchaoTensorwise),
        ("?gpu=h100-80&precision=fp8&fp8=te-block", Fp8::TeBlock),
    ] {
        let read = link::decode(query);
        assert_eq!((read.scenario.recipe.precision, read.scenario.recipe.fp8), (Precision::Bf16, taken), "{query}");
        let [notice] = &read.notices[..] else { panic!("{query}: {:?}", read.notices) };
        assert!(notice.to_string().contains("stays in 16 bits"), "{notice}");
        let again = link::decode(&link::encode(&read.scenario));
        assert_eq!((again.scenario, again.notices.len()), (read.scenario, 0));
    }
}

fn vectors() -> Value {
    let text = include_str!("vectors/optimizers.json");
    serde_json::from_str(text).expect("JSON")
}

/// The small model of a row: a Llama on one device.
fn small(vectors: &Value, label: &str, dtype: &str) -> Scenario {
    let shape = &vectors["models"][label];
    let number = |key: &str| u32::try_from(shape[key].as_u64().expect("a number")).expect("small");
    let mut scenario = llama();
    let model = &mut scenario.model;
    (model.hidden, model.layers, model.heads, model.kv_heads) =
        (number("hidden"), number("layers"), number("heads"), number("kv"));
    (model.feed_forward, model.vocabulary, model.head_dim) =
        (number("ffn"), number("vocab"), number("hidden") / number("heads"));
    model.tied_embeddings = Switch::from(shape["tied"].as_bool().expect("a switch"));
    model.mlp = Mlp::Gated;
    scenario.recipe.precision = if dtype == "float32" { Precision::Fp32 } else { Precision::PureBf16 };
    scenario.recipe.sequence = 16;
    scenario
}

#[test]
fn state_of_optimizers_is_what_they_hold_when_they_are_run() {
    let vectors = vectors();
    let rows = vectors["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 44);
    for row in rows {
        let word = row["optimizer"].as_str().expect("a word");
        let (label, dtype) = (row["model"].as_str().expect("a label"), row["dtype"].as_str().expect("a type"));
        let mut scenario = small(&vectors, label, dtype);
        scenario.recipe.optimizer = word.parse().expect("an optimizer");
        let number = row["number"].as_u64().expect("a number") as f64;
        if scenario.recipe.optimizer.projects() {
            scenario = scenario.with_number(Field::Projection, number).expect("in range");
        } else {
            scenario = scenario.with_number(Field::Preconditioner, number).expect("in range");
        }
        assert_eq!(scenario.conflicts(), [], "{word}");
        let estimate = estimate(&scenario);
        let counted = estimate.bucket_at(Bucket::Optimizer, estimate.instants.len() - 1).get();
        let ran = row["state_bytes"].as_f64().expect("a number");
        // torchao's tables of its codes, one for each moment of each tensor, are counted by nobody: 1 KiB in 8 bits and
        // 64 bytes in 4.
        let tensors = if label == "small" { 16.0 } else { 8.0 };
        let tables = match scenario.recipe.optimizer {
            Optimizer::Adam8bitTorchao => tensors * 2.0 * 1024.0,
            Optimizer::Adam4bit => tensors * 2.0 * 64.0,
            _ => 0.0,
        };
        exactly(counted, ran - tables);
    }
}

#[test]
fn eight_bit_adam_keeps_what_bitsandbytes_allocates_for_routers_norms_and_convolutions() {
    let vectors: Value = serde_json::from_str(include_str!("vectors/bitsandbytes.json")).expect("JSON");
    let rows = vectors["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 10);
    for row in rows {
        let question = row["question"].as_str().expect("a question");
        let read = link::decode(question);
        assert_eq!(read.notices.len(), 0, "{question}");
        // Whisper has 448 positions; the state of an optimizer depends on no length.
        let estimate = estimate(&read.scenario.mended().0);
        let number = |key: &str| row[key].as_f64().expect("a number");
        // Whisper’s keys have no bias, and are counted with one: 384 numbers in six blocks of attention, of fewer than
        // 4,096 elements each.
        let keys = if row["model"] == "convolutions" { 6.0 * 384.0 * 8.0 } else { 0.0 };
        let counted = estimate.bucket_at(Bucket::Optimizer, estimate.instants.len() - 1).get();
        exactly(counted, number("state_bytes") + keys);
        let paged = estimate.host.entries.iter().filter(|entry| entry.name.starts_with("Paged moments"));
        exactly(paged.map(|entry| entry.bytes.get()).sum(), number("paged_bytes"));
    }
}

#[test]
fn an_update_of_experts_is_of_the_part_of_a_stack_that_a_device_has() {
    let update = |query: &str, name| held(&estimate(&link::decode(query).scenario), name);
    for (step, name) in [("loop", "Update of the largest tensor"), ("in-backward", "Update of one weight")] {
        for model in ["mixtral-8x7b", "mixtral-8x22b", "qwen3-30b-a3b", "deepseek-v2-lite"] {
            let at = |ep: u32| update(&format!("v=3&model={model}&gpus=8&ep={ep}&zero=0&step={step}"), name);
            let sizes = catalogue::model(model).expect("listed").model;
            // Nobody divides the embedding: two fp32 numbers for each of its weights at the most.
            let embedding = 8.0 * f64::from(sizes.vocabulary) * f64::from(sizes.hidden);
            for ep in [2, 4, 8] {
                assert!(at(ep) <= (at(1) / f64::from(ep)).max(embedding), "{step} {model} with {ep}: {}", at(ep));
            }
        }
    }
    // An eighth of a stack of Mixtral is smaller than its embedding of 32,000 × 4,096.
    let query = "v=3&model=mixtral-8x7b&gpus=8&ep=8&zero=0&step=loop";
    exactly(update(query, "Update of the largest tensor"), 8.0 * 32_000.0 * 4096.0);
}

#[test]
fn an_adam_step_over_one_tensor_at_a_time_takes_what_a_run_took() {
    let vectors = vectors();
    for row in vectors["rows"].as_array().expect("rows").iter().filter(|row| row["optimizer"] == "adamw") {
        let label = row["model"].as_str().expect("a label");
        let mut scenario = small(&vectors, label, row["dtype"].as_str().expect("a type"));
        scenario.recipe.step = StepKernel::Loop;
        let counted = held(&estimate(&scenario), "Update of the largest tensor");
        let ran = row["step_bytes"].as_f64().expect("a number");
        assert!(counted <= ran && ran < 1.05 * counted, "{label}: {counted} counted, {ran} in the run");
    }
}

#[test]
fn a_step_in_the_backward_pass_has_the_gradient_of_one_tensor() {
    let vectors = vectors();
    for row in vectors["in_backward"].as_array().expect("rows") {
        let label = row["model"].as_str().expect("a label");
        let mut scenario = small(&vectors, label, row["dtype"].as_str().expect("a type"));
        scenario.recipe.step = StepKernel::InBackward;
        let estimate = estimate(&scenario);
        exactly(held(&estimate, "Gradient of the embedding"), row["gradient_bytes"].as_f64().expect("a number"));
        assert_eq!(estimate.bucket_at(Bucket::Gradients, estimate.instants.len() - 1), Bytes::ZERO);
    }
}

#[test]
fn a_step_in_the_backward_pass_updates_the_widest_matrix_and_the_embedding_by_themselves() {
    let mut scenario = llama();
    scenario.recipe.step = StepKernel::InBackward;
    let updates = |scenario: &Scenario| {
        let all = estimate(scenario);
        let all = all.entries.iter().filter(|entry| entry.name == "Update of one weight");
        let mut bytes: Vec<_> = all.map(|entry| entry.bytes.get()).collect();
        bytes.sort_by(f64::total_cmp);
        bytes
    };
    let (inside, outside) = (4096.0 * 14_336.0, 4096.0 * 128_256.0);
    // Adam: the denominator, in fp32.
    assert_eq!(updates(&scenario), [4.0 * inside, 4.0 * outside]);
    // Lion: the signed update and its product with the learning rate, as wide as the momentum.
    scenario.recipe.optimizer = Optimizer::Lion;
    assert_eq!(updates(&scenario), [2.0 * 4.0 * inside, 2.0 * 4.0 * outside]);
    // APOLLO: the scaled gradient and its limited copy, and three tensors of rank 256 and the longer side.
    scenario.recipe.optimizer = Optimizer::Apollo;
    scenario.recipe.projection = 256;
    assert_eq!(updates(&scenario), [4.0 * (2.0 * inside + 3.0 * 256.0 * 14_336.0), 2.0 * 4.0 * outside]);
}

#[test]
fn galore_in_8_bits_trains_7b_on_24_gb_as_its_paper_says() {
    // Zhao et al. 2024, abstract and section 5.2: Llama 7B in bf16, rank 1,024, 8-bit moments, per-layer updates, 256
    // tokens and a token batch of 256, without activation checkpointing, on an RTX 4090 of 24 GB.
    let mut scenario = catalogue::model("llama-2-7b").expect("listed").apply(Scenario::workshop());
    scenario = catalogue::device("rtx-4090").expect("listed").apply(scenario);
    scenario.cluster.gpus = 1;
    scenario.cluster.zero = ZeroStage::Stage0;
    scenario.recipe.precision = Precision::PureBf16;
    scenario.recipe.sequence = 256;
    scenario.recipe.batch = 1;
    scenario.recipe.dropout = Switch::Off;
    scenario.recipe.optimizer = Optimizer::Galore8bit;
    scenario.recipe.projection = 1024;
    scenario.recipe.step = StepKernel::InBackward;
    assert_eq!(scenario.conflicts(), []);
    assert!(b_max(&scenario).batch().is_some(), "{:?}", b_max(&scenario));
    scenario.recipe.optimizer = Optimizer::AdamW;
    scenario.recipe.step = StepKernel::Fused;
    assert_eq!(b_max(&scenario).batch(), None);
}

#[test]
fn apollo_mini_has_nearly_no_state_inside_the_blocks() {
    // Zhu et al. 2024, table 1: 2n + 2 for a matrix of m × n at rank 1; the code keeps the m numbers that it drew, too.
    let mut scenario = llama();
    scenario.recipe.precision = Precision::PureBf16;
    scenario.recipe.optimizer = Optimizer::Apollo;
    scenario.recipe.projection = 1;
    let estimate = estimate(&scenario);
    let sides = 2.0 * 4096.0 + 2.0 * 4096.0 + 3.0 * 14_336.0;
    exactly(held(&estimate, "Moments of projected gradients"), 32.0 * 2.0 * 2.0 * sides);
}

#[test]
fn paged_moments_are_in_the_memory_of_the_machine_and_one_matrix_of_them_on_the_gpu() {
    let mut scenario = llama();
    scenario.recipe.optimizer = Optimizer::PagedAdam8bit;
    let estimate = estimate(&scenario);
    let weights = scenario.model.derived_parameters() as f64;
    let host = estimate.host.peak().bytes.get();
    assert!((host / (2.0 * weights) - 1.0).abs() < 1e-3, "{host}");
    exactly(held(&estimate, "Moments of one matrix, on the GPU"), 2.0 * 128_256.0 * 4096.0);
}

/// Llama 3.1 8B under DeepSpeed on eight GPUs, of which each has an eighth of 8,030,261,248 weights.
fn under_deepspeed(zero: ZeroStage, offload: Offload) -> Scenario {
    let mut scenario = llama();
    scenario.cluster.engine = Engine::DeepSpeed;
    scenario.cluster.gpus = 8;
    scenario.cluster.zero = zero;
    scenario.recipe.gradients = GradientType::Half;
    scenario.recipe.offload = offload;
    assert_eq!(scenario.conflicts(), []);
    scenario
}

/// What PyTorch adds to a pinned block of so many bytes.
fn rounded_up(bytes: u64) -> f64 {
    (bytes.next_power_of_two() - bytes) as f64
}

const EIGHTH: u64 = 8_030_261_248 / 8;

/// Of each GPU’s eighth in runtime/zero/stage3.py (0.19.6): fp32 weights (4) and moments (8) as they are; pinned are bf16
/// gradients that add up (2), fp32 gradients of groups of 10⁹ weights (4), bf16 weights (2), and their parts one by one (2),
/// of which those of 4096 × 14,336 are 14 MiB and take 16, and those of embedding and head 125.25 and take 128. The
/// documentation (docs/code-docs/source/memory.rst) has 18 bytes a weight, or 16 without the weights, and half as much
/// again for buffers.
#[test]
fn deepspeed_s_third_stage_has_in_cpu_memory_what_its_code_pins_and_no_more_than_its_documentation_says() {
    let weights = 8.0 * EIGHTH as f64;
    let mib = 1_048_576.0;
    let gradients = rounded_up(2 * EIGHTH) + rounded_up(4_000_000_000) + rounded_up(4 * (EIGHTH - 1_000_000_000));
    let parts = 2.0 * mib * 3.0 * 32.0 + 2.75 * mib * 2.0;
    for (offload, bytes, rounded, said) in [
        (Offload::Parameters, 22.0, gradients + rounded_up(2 * EIGHTH) + parts, 18.0),
        (Offload::Optimizer, 18.0, gradients, 16.0),
    ] {
        let scenario = under_deepspeed(ZeroStage::Stage3, offload);
        let host = estimate(&scenario).host.peak().bytes.get();
        let expected = bytes * weights + 8.0 * rounded;
        assert!((host / expected - 1.0).abs() < 1e-9, "{offload}: {host}, not {expected}");
        assert!(host < 1.5 * said * weights, "{offload}: {host}");
    }
}

/// Of each GPU’s eighth in runtime/zero/stage_1_and_2.py (0.19.6): fp32 weights and gradients and a bf16 copy are a pinned
/// block each, moments (8) are as they are, and there is pinned room for the largest gradient, of 128,256 × 4096. With two
/// micro-batches bf16 gradients of whole matrices add up, of which each GPU has an eighth: 112 MiB take 128, and 1,002 take
/// 1,024.
#[test]
fn deepspeed_s_first_stages_have_a_copy_in_16_bits_and_gradients_that_add_up_in_cpu_memory() {
    let (weights, mib) = (8.0 * EIGHTH as f64, 1_048_576.0);
    let largest = 128_256_u64 * 4096 * 2;
    let pinned = 2.0 * rounded_up(4 * EIGHTH) + rounded_up(2 * EIGHTH) + rounded_up(largest) + largest as f64;
    for zero in [ZeroStage::Stage1, ZeroStage::Stage2] {
        let mut scenario = under_deepspeed(zero, Offload::Optimizer);
        let one = estimate(&scenario).host.peak().bytes.get();
        let expected = 18.0 * weights + 8.0 * pinned;
        assert!((one / expected - 1.0).abs() < 1e-9, "{zero}: {one}, not {expected}");
        scenario.recipe.micro_batches = 2;
        let two = estimate(&scenario).host.peak().bytes.get();
        let more = 2.0 * weights + mib * (16.0 * 3.0 * 32.0 + 22.0 * 2.0);
        assert!(((two - one) / more - 1.0).abs() < 1e-9, "{zero}: {} more, not {more}", two - one);
    }
}

/// A 33B Llama on eight GPUs with all of ZeRO 3 in CPU memory: 600 GB were too little, and 750 to 800 GB were in use while
/// it was trained and saved (deepspeedai/DeepSpeed#3448).
#[test]
fn a_run_that_600_gb_were_too_little_for_and_750_to_800_enough_is_told_so() {
    let scenario =
        link::decode("v=3&model=llama-33b&gpu=a100-40&gpus=8&s=2048&engine=deepspeed&zero=3&offload=parameters");
    let gb = |gb: f64| scenario.scenario.with_number(Field::HostMemory, gb * 1e9 / 1_073_741_824.0).expect("in range");
    assert_eq!(range(&gb(600.0)).optimistic.batch(), None);
    assert!(range(&gb(800.0)).likely.batch().is_some());
    // Saving gathers 65 GB of weights in CPU memory.
    let used = estimate(&scenario.scenario).host.peak().bytes.get() / 1e9;
    assert!(used <= 800.0 && used + 65.0 >= 750.0, "{used}");
    assert_eq!(range(&gb(750.0)).safe.batch(), None);
    assert!(range(&gb(850.0)).safe.batch().is_some());
}

#[test]
fn weights_in_cpu_memory_leave_the_gpu_with_the_layers_in_use() {
    let mut scenario = llama();
    scenario.cluster.zero = ZeroStage::Stage3;
    scenario.recipe.precision = Precision::Mixed;
    scenario.recipe.offload = Offload::Parameters;
    assert_eq!(scenario.conflicts(), []);
    let estimate = estimate(&scenario);
    exactly(held(&estimate, "Attention matrices"), 0.0);
    // Two layers gathered in bf16, and norms with them.
    let layer = 2.0 * 4096.0 * 4096.0 + 2.0 * 4096.0 * 1024.0 + 3.0 * 4096.0 * 14_336.0 + 2.0 * 4096.0;
    exactly(held(&estimate, "Gathered layers"), 2.0 * 2.0 * layer);
    let last = estimate.instants.len() - 1;
    assert_eq!(estimate.bucket_at(Bucket::Optimizer, last), Bytes::ZERO);
}

#[test]
fn pinned_parts_of_fsdp_are_rounded_up_to_powers_of_two() {
    // Of eight parts of a matrix of 4096 × 14,336 in fp32 each is 28 MiB and takes 32; a part of the square ones is 8 MiB.
    let mut scenario = llama();
    scenario.cluster.gpus = 8;
    scenario.cluster.zero = ZeroStage::Stage3;
    scenario.recipe.precision = Precision::Mixed;
    scenario.recipe.offload = Offload::Parameters;
    let rounding = |scenario: &Scenario| {
        let host = estimate(scenario).host;
        host.entries.iter().find(|entry| entry.name.starts_with("Pinned")).expect("rounded").bytes.get()
    };
    let mib = 1_048_576.0;
    // Weight and gradient, eight GPUs; a part of embedding and head is 250.5 MiB and takes 256.
    let expected = 8.0 * 2.0 * mib * (32.0 * 3.0 * 4.0 + 2.0 * 5.5);
    exactly(rounding(&scenario), expected);
    // Half of each matrix over four GPUs is an eighth as well.
    scenario.cluster.tensor_parallel = 2;
    exactly(rounding(&scenario), expected);
}

#[test]
fn too_little_cpu_memory_is_an_answer_with_a_reason() {
    let mut scenario = llama();
    scenario.cluster.gpus = 8;
    scenario.cluster.zero = ZeroStage::Stage3;
    scenario.recipe.offload = Offload::Optimizer;
    let fits = b_max(&scenario).batch().expect("fits");
    let scenario = scenario.with_number(Field::HostMemory, 64.0).expect("in range");
    let Answer::Infeasible(reason) = b_max(&scenario) else { panic!("16 bytes for 8·10⁹ weights in 64 GiB") };
    assert_eq!(reason.shortage, Shortage::HostMemory);
    let lacks = estimate(&scenario).host.lacks().expect("too little");
    assert_eq!(reason.over, lacks);
    // 16 · 8.03·10⁹ bytes are 119.7 GiB. Weights and gradients of 4 bytes are pinned by each matrix: of an eighth of 4096 ×
    // 14,336 that is 28 MiB and takes 32, of embedding and head 250.5 and takes 256.
    let rounded = 8.0 * 2.0 * (4.0 * 3.0 * 32.0 + 5.5 * 2.0) / 1024.0;
    assert!((lacks.gib() - 55.66 - rounded).abs() < 0.1, "{}", lacks.gib());
    // Two machines of eight have half of it each.
    assert_eq!(reason.fewest_gpus, Some(16));
    let enough = scenario.with_number(Field::HostMemory, 127.0).expect("in range");
    assert_eq!(b_max(&enough).batch(), Some(fits));
}

#[test]
fn layer_inputs_in_cpu_memory_bound_the_micro_batch_by_what_the_machine_has() {
    let mut scenario = llama();
    scenario.recipe.precision = Precision::PureBf16;
    scenario.recipe.optimizer = Optimizer::Sgd;
    scenario.recipe.recomputation = Recomputation::Full;
    scenario.recipe.offload = Offload::Activations;
    // 32 inputs of 1024 × 4096 in bf16 are 256 MiB a sequence: 1 GiB holds four.
    let scenario = scenario.with_number(Field::HostMemory, 1.0).expect("in range");
    let Answer::Fits(room) = b_max(&scenario) else { panic!("one fits") };
    assert_eq!((room.batch, room.by_host), (4, true));
    assert_eq!(room.next_lacks, Bytes::from_mib(256.0));
}

#[test]
fn loading_takes_a_copy_for_the_machine_for_each_gpu_or_two() {
    let mut scenario = llama();
    scenario.cluster.gpus = 16;
    let weights = scenario.model.derived_parameters() as f64;
    for (load, copies) in [(HostLoad::RankZero, 1.0), (HostLoad::Every, 8.0), (HostLoad::Twice, 16.0)] {
        scenario.host.load = load;
        let peak = estimate(&scenario).host.peak();
        assert_eq!(peak.instant.name, "loading");
        exactly(peak.bytes.get(), 2.0 * weights * copies);
    }
}

#[test]
fn what_the_machine_holds_is_never_part_of_what_the_gpu_holds() {
    let mut scenario = llama();
    scenario.recipe.precision = Precision::Mixed;
    let mut loaded = scenario;
    loaded.host.load = HostLoad::Twice;
    let (one, other) = (estimate(&scenario), estimate(&loaded));
    assert_eq!((one.peak().bytes, one.entries), (other.peak().bytes, other.entries));
    scenario.method = Method::Workshop;
    scenario.host.load = HostLoad::Twice;
    assert!(estimate(&scenario).host.entries.is_empty());
}
