//! Products in fp8: what is kept of their operands, and what stays in 16 bits.
//!
//! Only linear layers of the blocks compute in fp8. Attention, norms, activation functions, the residual stream,
//! embedding, router and head stay in the training precision, and so do gradients, master weights and moments, but for
//! what DeepSeek-V3 says of its own.
//!
//! Transformer Engine was read at d0067d0da6cb and torchao at 36027d82d1ad. No GPU ran either for this: the byte counts of
//! Transformer Engine rest on its code alone.

use super::Assembly;
use super::stage::Stage;
use crate::estimator::ledger::Bucket;
use crate::source::{TORCHAO, TRANSFORMER_ENGINE};
use crate::{Adapter, Engine, Fp8, Kernels, Mlp, Precision, Recomputation, Scenario, TaskKind, Weights, ZeroStage};

/// Bytes of an fp8 value whose tile of 128 has a scale in fp32 (`get_scale_shape` in
/// transformer_engine/pytorch/tensor/float8_blockwise_tensor.py).
pub(super) const TILE: f64 = 1.0 + 4.0 / 128.0;
/// Bytes of an fp8 value of MXFP8: 32 values share a scale of one byte (`get_scale_shape` in mxfp8_tensor.py there).
const MICRO: f64 = 1.0 + 1.0 / 32.0;
/// Bytes of a weight in fp8 where 128 × 128 of them share a scale.
const SQUARE: f64 = 1.0 + 4.0 / (128.0 * 128.0);
/// Bytes of a value in E5M6, 12 bits, with the scale of its tile (DeepSeek-AI 2024b, section 3.3.3).
const TWELVE_BITS: f64 = 1.5 + 4.0 / 128.0;

/// Whether the scenario has what its recipe asks for; without it nothing runs in fp8, and a conflict says why.
pub(in crate::estimator) fn runs(scenario: &Scenario) -> bool {
    let (recipe, fp8) = (&scenario.recipe, scenario.recipe.fp8);
    let engine = match scenario.cluster.engine {
        Engine::Torch => true,
        Engine::Torchtitan => fp8.is_torchao(),
        Engine::Megatron => !fp8.is_torchao(),
        Engine::DeepSpeed => !fp8.is_torchao() && fp8 != Fp8::DeepSeekV3,
    };
    fp8.is_on()
        && engine
        && has_products(scenario)
        && recipe.adapter == Adapter::None
        && recipe.precision != Precision::Fp32
        && scenario.task.kind == TaskKind::Train
}

/// Whether the device multiplies in the format; one that nobody described is taken to. MXFP8 of Transformer Engine stops
/// before 12.0 (`_compute_mxfp8_support`).
pub(in crate::estimator) fn has_products(scenario: &Scenario) -> bool {
    let (has, fp8) = (scenario.device.capability, scenario.recipe.fp8);
    has == 0 || (has >= fp8.capability() && !(fp8 == Fp8::TeMxfp8 && has >= 120))
}

/// Bytes an element that a linear layer keeps of its input; `None` where it keeps the input as it came, as torchao does
/// (`ctx.save_for_backward(input_hp, weight_hp_t)` in torchao/float8/float8_linear.py). Of Transformer Engine's two
/// copies, by row and by column, the backward pass reads the second, and the first goes
/// (`update_usage(rowwise_usage=False, columnwise_usage=True)` in transformer_engine/pytorch/module/linear.py).
pub(super) fn input_bytes(scenario: &Scenario) -> Option<f64> {
    match scenario.recipe.fp8 {
        Fp8::Off | Fp8::TorchaoTensorwise | Fp8::TorchaoRowwise => None,
        Fp8::TeDelayed | Fp8::TeCurrent => Some(1.0),
        Fp8::TeBlock | Fp8::DeepSeekV3 => Some(TILE),
        Fp8::TeMxfp8 => Some(MICRO),
    }
}

/// Bytes an element that is kept of what attention puts out, and of a copy for the projection that reads it. Attention
/// keeps its output in 16 bits; Megatron-LM makes the projection read that one, but not under delayed scaling
/// (`set_save_original_input` in megatron/core/transformer/attention.py, d98e8a64ddf3). DeepSeek-V3 keeps one in 12 bits
/// for both.
pub(super) fn attention_output(scenario: &Scenario, flash: bool, element: f64, kept: f64) -> (f64, f64) {
    let shares = scenario.cluster.engine == Engine::Megatron && scenario.recipe.fp8 != Fp8::TeDelayed;
    match (scenario.recipe.fp8, flash) {
        (Fp8::DeepSeekV3, true) => (TWELVE_BITS, 0.0),
        (Fp8::DeepSeekV3, false) => (0.0, TWELVE_BITS),
        (_, true) if shares => (element, 0.0),
        (_, false) if shares => (0.0, element),
        (_, true) => (element, kept),
        (_, false) => (0.0, kept),
    }
}

/// Bytes an element that the last matrix of a feed-forward block keeps of its input. DeepSeek-V3 computes the output of
/// SwiGLU again.
pub(super) fn inner_read(scenario: &Scenario) -> f64 {
    if scenario.recipe.fp8 == Fp8::DeepSeekV3 && scenario.model.mlp == Mlp::Gated {
        return 0.0;
    }
    input_bytes(scenario).unwrap_or(2.0)
}

/// Whether one copy serves both ways: Blackwell multiplies fp8 with one scale for a tensor in every layout
/// (`is_non_tn_fp8_gemm_supported` in transformer_engine/pytorch/utils.py).
fn one_copy_serves(scenario: &Scenario) -> bool {
    let capability = scenario.device.capability;
    let scaled_whole = matches!(scenario.recipe.fp8, Fp8::TeDelayed | Fp8::TeCurrent);
    scaled_whole && ((100..120).contains(&capability) || capability >= 130)
}

/// Bytes of the fp8 copies of a weight, by row and by column.
fn weight_bytes(scenario: &Scenario) -> f64 {
    match scenario.recipe.fp8 {
        Fp8::Off => 0.0,
        Fp8::TorchaoTensorwise | Fp8::TorchaoRowwise => 1.0,
        Fp8::TeDelayed | Fp8::TeCurrent if one_copy_serves(scenario) => 1.0,
        Fp8::TeDelayed | Fp8::TeCurrent => 2.0,
        Fp8::TeBlock | Fp8::DeepSeekV3 => 2.0 * SQUARE,
        Fp8::TeMxfp8 => 2.0 * MICRO,
    }
}

/// Bytes an element of width f that copies of the gradient of a product take. Transformer Engine makes one by row and one
/// by column, of both factors of a gated product where they come from one matrix. torchao makes one and lays it out anew;
/// without a compiler its cast goes through tensors of the type that scaling has, which scales of rows make fp32
/// (torchao/float8/float8_training_tensor.py and float8_scaling_utils.py).
pub(super) fn gradient_copies(scenario: &Scenario) -> f64 {
    let fused = scenario.recipe.kernels == Kernels::Fused;
    match (scenario.recipe.fp8, input_bytes(scenario)) {
        (Fp8::Off, _) => 0.0,
        (_, Some(kept)) => {
            let copies = if one_copy_serves(scenario) { 1.0 } else { 2.0 };
            let factors = if fused && scenario.model.mlp == Mlp::Gated { 2.0 } else { 1.0 };
            copies * factors * kept
        }
        (fp8, None) => cast_bytes(fp8, fused),
    }
}

/// Bytes an element while torchao casts a tensor: what is scaled, what is clamped, and the result.
fn cast_bytes(fp8: Fp8, fused: bool) -> f64 {
    match (fp8, fused) {
        (_, true) => 2.0,
        (Fp8::TorchaoRowwise, false) => 4.0 + 4.0 + 1.0,
        (_, false) => 2.0 + 2.0 + 1.0,
    }
}

/// Copies of weights in fp8. Megatron-LM keeps those of all layers from micro-batch to micro-batch and from step to step
/// (`is_first_microbatch` in megatron/core/extensions/transformer_engine.py, `_fp8_workspaces` in
/// transformer_engine/pytorch/module/base.py). Elsewhere each forward pass makes them and keeps them for its backward
/// pass, but beside FSDP’s `fully_shard`, which has them made again (`is_fsdp2` in module/linear.py). torchao makes the
/// copy of one matrix at a time.
pub(super) fn weight_copies(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    let fp8 = scenario.recipe.fp8;
    if !fp8.is_on() {
        return;
    }
    let at = &stage.at;
    let tensor_parallel = to.tensor_parallel;
    let in_experts = to.expert_weights(weights, stage) + weights.shared_experts as f64 / tensor_parallel;
    let attention = weights.attention as f64 / tensor_parallel;
    let dense = attention + weights.dense_mlp as f64 / tensor_parallel;
    let bytes = weight_bytes(scenario);
    let fused = scenario.recipe.kernels == Kernels::Fused;
    // Gate and factor are one matrix where kernels are fused.
    let of_block = if fused && scenario.model.mlp == Mlp::Gated { 2.0 } else { 1.0 };
    let matrices = f64::from(scenario.model.mlp.matrices());
    let inner = if stage.expert_layers > 0.0 { weights.expert.max(weights.shared_experts) } else { weights.dense_mlp };
    let largest = (inner as f64 * of_block / matrices).max(weights.attention as f64 / 4.0) / tensor_parallel;
    if fp8.is_torchao() {
        let cast = cast_bytes(fp8, fused);
        return to.own("One matrix, cast to fp8", Bucket::Temporary, cast, largest, at.in_backward(), &TORCHAO);
    }
    let source = &TRANSFORMER_ENGINE;
    if is_fsdp2(scenario) {
        return to.own("One matrix in fp8, both ways", Bucket::Temporary, bytes, largest, at.in_backward(), source);
    }
    let experts = attention + in_experts;
    let all = stage.dense_layers * dense + stage.expert_layers * experts;
    let name = "Weights in fp8, by row and by column";
    if scenario.cluster.engine == Engine::Megatron {
        return to.own(name, Bucket::Parameters, bytes, all, at.always(), source);
    }
    let again =
        if scenario.recipe.recomputation == Recomputation::Selective { 0.0 } else { stage.recomputed_part(scenario) };
    let one = if stage.expert_layers > 0.0 { experts } else { dense };
    to.own(name, Bucket::Temporary, bytes, all * (1.0 - again), at.all_layers_kept(), source);
    let rest = if again >= 1.0 { at.in_backward() } else { super::instants::StageInstants::only(at.first) };
    to.own(name, Bucket::Temporary, bytes, one * stage.layers_per_segment(scenario), rest, source);
}

/// Whether `fully_shard` has the weights.
fn is_fsdp2(scenario: &Scenario) -> bool {
    let cluster = &scenario.cluster;
    let shares = cluster.data_parallel().saturating_mul(cluster.context_parallel);
    cluster.engine.is_torch() && cluster.zero >= ZeroStage::Stage2 && shares > 1
}
