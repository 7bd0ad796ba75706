//! Buffers that the program around the model holds: gradients on their way to other devices, gradients
//! on their way into the optimizer, and workspaces of the libraries that multiply matrices.

use super::Assembly;
use super::forms;
use super::instants::StageInstants;
use super::stage::Stage;
use super::states::StateBytes;
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::source::{DEEPSPEED, PYTORCH, TRANSFORMER_ENGINE};
use crate::{Adapter, Engine, Expr, Offload, Precision, Scenario, Source, Weights, ZeroStage};

/// The buffers of one stage.
pub(super) fn assemble(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    match scenario.cluster.engine {
        Engine::Torch | Engine::Torchtitan => data_parallel_buckets(to, scenario, weights, stage),
        Engine::Megatron => dummy_gradients(to, scenario, weights, stage),
        Engine::DeepSpeed => {
            reduction_bucket(to, scenario, stage);
            flat_gradients(to, scenario, weights, stage);
        }
    }
}

/// Workspaces of cuBLAS, and of Transformer Engine beside it, for the whole process.
pub(super) fn workspaces(to: &mut Assembly, scenario: &Scenario) {
    let mib = f64::from(scenario.device.workspace_mib);
    let mut push = |name, source| {
        if mib > 0.0 {
            to.lines.push(Line {
                coefficient: mib,
                ..Line::new(name, Bucket::Runtime, &forms::MEBIBYTES, source, Instants::ALWAYS)
            });
        }
    };
    push("Workspace of cuBLAS", &PYTORCH);
    if scenario.cluster.engine == Engine::Megatron {
        push("Workspace of Transformer Engine", &TRANSFORMER_ENGINE);
    }
}

/// Weights that are trained on this device, before ZeRO divides them.
fn trained_weights(to: &Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) -> f64 {
    if scenario.recipe.adapter == Adapter::None {
        to.stage_weights(weights, stage)
    } else {
        to.adapter_weights(scenario) * stage.layers()
    }
}

/// PyTorch's DistributedDataParallel averages gradients in buckets of its own, as large as all of them
/// (torch/nn/parallel/distributed.py, `gradient_as_bucket_view=False`).
fn data_parallel_buckets(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    let cluster = &scenario.cluster;
    let averaged = cluster.zero < ZeroStage::Stage2
        && cluster.data_parallel().saturating_mul(cluster.context_parallel) > 1
        && matches!(
            scenario.recipe.precision,
            Precision::Fp32 | Precision::Autocast | Precision::Mixed | Precision::PureBf16
        );
    if averaged {
        let bytes = StateBytes::of(scenario).gradient;
        let weights = trained_weights(to, scenario, weights, stage);
        push(to, "Gradients in DDP’s buckets", Bucket::Gradients, bytes, weights, stage.at.always(), &PYTORCH);
    }
}

/// Where products add to the main gradients themselves, autograd is handed an empty gradient, one for each
/// shape of matrix in the model (`get_dummy_wgrad`, transformer_engine/pytorch/module/base.py, d0067d0da6cb).
fn dummy_gradients(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    let model = &scenario.model;
    let adds_up = matches!(scenario.recipe.precision, Precision::Bf16 | Precision::Fp16 | Precision::PureBf16);
    if !adds_up || scenario.recipe.adapter != Adapter::None {
        return;
    }
    let [h, n, k, d] = [model.hidden, model.heads, model.kv_heads, model.head_dim].map(f64::from);
    let projections =
        if model.latent.kv_rank > 0 { weights.attention as f64 } else { h * (n + 2.0 * k) * d + n * d * h };
    let mut all = projections;
    // The gate and its other factor are one matrix there.
    if stage.dense_layers > 0.0 {
        all += weights.dense_mlp as f64;
    }
    if stage.expert_layers > 0.0 {
        all += (weights.expert + weights.shared_experts) as f64;
    }
    let bytes = StateBytes::of(scenario).weight;
    let alive = stage.at.always();
    let shared = all / to.tensor_parallel;
    push(to, "Dummy gradients, one for each shape", Bucket::Temporary, bytes, shared, alive, &TRANSFORMER_ENGINE);
}

/// DeepSpeed reduces gradients from a bucket of a fixed size: from ZeRO 1 on there are two during the
/// backward pass, of which one fills while the other is on its way (`overlap_comm`, as exports write it);
/// ZeRO 3 holds one all the time (runtime/zero/stage_1_and_2.py `setup_buckets`, stage3.py
/// `__ipg_bucket_flat_buffer`, edaa7221267243).
fn reduction_bucket(to: &mut Assembly, scenario: &Scenario, stage: &Stage) {
    let (buckets, alive) = match scenario.cluster.zero {
        ZeroStage::Stage0 => return,
        ZeroStage::Stage1 | ZeroStage::Stage2 => (2.0, stage.at.in_backward()),
        ZeroStage::Stage3 => (1.0, stage.at.always()),
    };
    let elements = f64::from(scenario.cluster.reduce_bucket) * 1e6;
    let bytes = StateBytes::of(scenario).compute;
    push(to, "Reduction buckets", Bucket::Temporary, bytes, buckets * elements, alive, &DEEPSPEED);
}

/// DeepSpeed's step flattens this device's gradients and casts them to the type of the master copy, both
/// beside the gradients themselves (`flatten(averaged_gradients).to(fp32)` in stage_1_and_2.py and
/// stage3.py).
fn flat_gradients(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    let bytes = StateBytes::of(scenario);
    let offloaded = matches!(scenario.recipe.offload, Offload::Optimizer | Offload::Both);
    if scenario.cluster.zero == ZeroStage::Stage0 || offloaded || bytes.master == 0.0 {
        return;
    }
    let flat = trained_weights(to, scenario, weights, stage) / to.optimizer_shards;
    let alive = StageInstants::only(stage.at.step);
    let name = "Gradients, flattened and cast to fp32";
    push(to, name, Bucket::Temporary, bytes.gradient.min(4.0) + bytes.master, flat, alive, &DEEPSPEED);
}

fn push(
    to: &mut Assembly,
    name: &'static str,
    bucket: Bucket,
    bytes: f64,
    weights: f64,
    alive: Instants,
    source: &'static Source,
) {
    static SHAPE: &Expr = &forms::OWN_WEIGHTS;
    if weights > 0.0 {
        to.lines.push(Line { coefficient: bytes, weights, ..Line::new(name, bucket, SHAPE, source, alive) });
    }
}
