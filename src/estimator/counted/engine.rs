//! Buffers that the program around the model holds: gradients on their way to other devices, gradients
//! on their way into the optimizer, and workspaces of the libraries that multiply matrices.

use super::Assembly;
use super::forms;
use super::instants::StageInstants;
use super::stage::Stage;
use super::states::StateBytes;
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::source::{DEEPSPEED, PYTORCH, TRANSFORMER_ENGINE};
use crate::{Adapter, Engine, GradientType, Precision, Scenario, Weights, ZeroStage};

/// The buffers of one stage.
pub(super) fn assemble(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    match scenario.cluster.engine {
        Engine::Torch | Engine::Torchtitan => data_parallel_buckets(to, scenario, weights, stage),
        Engine::Megatron => dummy_gradients(to, scenario, weights, stage),
        Engine::DeepSpeed => {
            reduction_bucket(to, scenario, weights, stage);
            flat_gradients(to, scenario, weights, stage);
        }
    }
}

/// MiB of cuBLAS's workspace from Hopper on.
const HOPPER_MIB: f64 = 32.0;
/// Streams over which Transformer Engine spreads the products of experts (`nvte_get_num_compute_streams`).
const EXPERT_STREAMS: f64 = 4.0;

/// Threads that multiply matrices, each with a handle and a workspace of its own: the program's and that of
/// the backward pass (`getCurrentCUDABlasHandle` in aten/src/ATen/cuda/CublasHandlePool.cpp, PyTorch 2.15).
const THREADS: f64 = 2.0;

/// Workspaces of cuBLAS, and of Transformer Engine beside it, for the whole process. Transformer Engine takes
/// 4 MiB before Hopper, where PyTorch takes 8, and as many again for each stream of its experts
/// (`get_cublas_workspace_size_bytes`, transformer_engine/pytorch/cpp_extensions/gemm.py, d0067d0da6cb).
pub(super) fn workspaces(to: &mut Assembly, scenario: &Scenario, weights: &Weights) {
    let mib = scenario.device.workspace.mib();
    let mut push = |name, mib: f64, source| {
        if mib > 0.0 {
            to.lines.push(Line {
                coefficient: mib,
                ..Line::new(name, Bucket::Runtime, &forms::MEBIBYTES, source, Instants::ALWAYS)
            });
        }
    };
    push("Workspaces of cuBLAS", THREADS * mib, &PYTORCH);
    if scenario.cluster.engine == Engine::Megatron {
        let own = if mib < HOPPER_MIB { mib / 2.0 } else { mib };
        let streams = if weights.expert_layers > 0 { 1.0 + EXPERT_STREAMS } else { 1.0 };
        push("Workspaces of Transformer Engine", own * streams, &TRANSFORMER_ENGINE);
    }
}

/// Weights that are trained on this device, before ZeRO divides them.
fn trained_weights(to: &Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) -> f64 {
    if scenario.recipe.adapter == Adapter::None {
        to.stage_weights(weights, stage)
    } else {
        to.all_adapter_weights(scenario, stage)
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
        to.own("Gradients in DDP’s buckets", Bucket::Gradients, bytes, weights, stage.at.always(), &PYTORCH);
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
    to.own("Dummy gradients, one for each shape", Bucket::Temporary, bytes, shared, alive, &TRANSFORMER_ENGINE);
}

/// DeepSpeed reduces gradients from buckets of a fixed size. ZeRO 1 and 2 have two, of which one fills while
/// the other is on its way (`overlap_comm`, as exports write it), and flatten what is in a bucket once more to
/// reduce it; they come with the first gradient, and stay while ZeRO 1 adds micro-batches up. ZeRO 3 holds one
/// all the time (`setup_buckets` and `allreduce_bucket` in runtime/zero/stage_1_and_2.py,
/// `__ipg_bucket_flat_buffer` in stage3.py, edaa7221267243).
fn reduction_bucket(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    let at = &stage.at;
    if scenario.cluster.zero == ZeroStage::Stage1 && adds_up_flat(scenario) {
        return whole_reduction(to, scenario, weights, stage);
    }
    let adds_up = scenario.recipe.micro_batches > 1 || to.stages > 1;
    let (buckets, alive) = match scenario.cluster.zero {
        ZeroStage::Stage0 => return,
        ZeroStage::Stage1 if adds_up => (2.0, at.in_passes()),
        ZeroStage::Stage1 | ZeroStage::Stage2 => (2.0, at.in_backward()),
        ZeroStage::Stage3 => (1.0, at.always()),
    };
    let elements = f64::from(scenario.cluster.reduce_bucket) * 1e6;
    let (kinds, bytes) = bucket_types(scenario);
    to.own("Reduction buckets", Bucket::Temporary, kinds * bytes, buckets * elements, alive, &DEEPSPEED);
    if scenario.cluster.zero < ZeroStage::Stage3 {
        let full = elements.min(trained_weights(to, scenario, weights, stage));
        to.own("Reduction bucket, flattened", Bucket::Temporary, bytes, full, at.in_backward(), &DEEPSPEED);
    }
}

/// How many kinds of buckets there are, and bytes of an element in them on average. Under autocast the
/// gradients of matrices travel in 16 bits and all others in fp32, in buckets of their own
/// (`get_all_comm_dtypes` in runtime/torch_autocast.py): ZeRO 1 and 2 make both in the type of the weights, and
/// ZeRO 3 each in its own, as runs of 0.19.8 do. Adapters are matrices alone.
fn bucket_types(scenario: &Scenario) -> (f64, f64) {
    let StateBytes { weight, compute, .. } = StateBytes::of(scenario);
    let autocast = matches!(scenario.recipe.precision, Precision::Autocast | Precision::Mixed);
    let all = scenario.recipe.adapter == Adapter::None;
    match (autocast, scenario.cluster.zero == ZeroStage::Stage3, all) {
        (false, _, _) | (true, true, false) => (1.0, compute),
        (true, true, true) => (2.0, f64::midpoint(weight, compute)),
        (true, false, true) => (2.0, weight),
        (true, false, false) => (1.0, weight),
    }
}

/// Whether DeepSpeed takes BF16_Optimizer, which adds gradients up in one flat fp32 tensor and has no buckets:
/// without ZeRO and with its first stage (`_do_optimizer_sanity_check` in runtime/engine.py).
fn adds_up_flat(scenario: &Scenario) -> bool {
    let offloaded = scenario.recipe.offload.takes_optimizer();
    scenario.recipe.precision == Precision::Bf16 && scenario.recipe.gradients == GradientType::Full && !offloaded
}

/// That tensor is reduced at once, and cast to the type of communication before (`allreduce_bucket` and
/// `communication_data_type` in runtime/engine.py, 0.19.8, and a run of it).
fn whole_reduction(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    let whole = trained_weights(to, scenario, weights, stage);
    let alive = StageInstants::only(stage.at.end);
    to.own("Gradients, cast for their reduction", Bucket::Temporary, 2.0, whole, alive, &DEEPSPEED);
}

/// Weights of one group that ZeRO 3 updates at a time (`sub_group_size`, runtime/zero/config.py).
pub(super) const SUB_GROUP: f64 = 1e9;

/// DeepSpeed's step flattens this device's gradients and casts them to the type of the master copy, both
/// beside the gradients themselves (`flatten(averaged_gradients).to(fp32)` in stage_1_and_2.py, for one
/// group after another in stage3.py); without ZeRO it casts them tensor by tensor
/// (runtime/fp16/unfused_optimizer.py).
fn flat_gradients(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    let (bytes, flat) = flat_copies(to, scenario, weights, stage);
    let alive = StageInstants::only(stage.at.step);
    to.own("Gradients, flattened and cast to fp32", Bucket::Temporary, bytes, flat, alive, &DEEPSPEED);
}

/// One flat tensor of the step fits into no block that the passes have left: its own stays reserved while
/// they run.
pub(super) fn held_by_the_step(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    if scenario.cluster.engine == Engine::DeepSpeed && scenario.cluster.zero != ZeroStage::Stage0 {
        let (bytes, flat) = flat_copies(to, scenario, weights, stage);
        let alive = stage.at.in_passes().or(StageInstants::only(stage.at.end));
        to.own("Reserved for the step’s flat gradients", Bucket::Runtime, bytes, flat, alive, &DEEPSPEED);
    }
}

/// Bytes of a weight in those copies, and of how many weights they are.
fn flat_copies(to: &Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) -> (f64, f64) {
    let bytes = StateBytes::of(scenario);
    let offloaded = scenario.recipe.offload.takes_optimizer();
    if offloaded || bytes.master == 0.0 {
        return (0.0, 0.0);
    }
    let own = to.updated_weights(scenario, weights, stage);
    // What is in fp32 already is flattened, and not cast; what BF16_Optimizer adds up is flat (bf16_optimizer.py).
    let cast = if bytes.gradient < 4.0 { bytes.master } else { 0.0 };
    let flattened = bytes.gradient.min(4.0);
    match scenario.cluster.zero {
        ZeroStage::Stage0 | ZeroStage::Stage1 if adds_up_flat(scenario) => (0.0, 0.0),
        ZeroStage::Stage0 => (cast, own),
        ZeroStage::Stage1 | ZeroStage::Stage2 => (flattened + cast, own),
        ZeroStage::Stage3 => (flattened + cast, own.min(SUB_GROUP)),
    }
}
