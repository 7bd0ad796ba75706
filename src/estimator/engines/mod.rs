//! Training programs around a model: each rewrites blocks, says in what types they compute, and how the step
//! plays them.

mod acts;
mod adapters;
mod checkpoints;
mod data_parallel;
mod networks;
mod optimizers;
mod passes;
mod pipeline;
mod quantized;
mod tasks;
mod tensor_parallel;
mod torchtitan;

pub use acts::{Act, Hook, ModuleHook, Name, Round, Unit};
pub use data_parallel::{DataParallel, Ddp, Parameter, Piece, Place as UnitPlace, Told, Unsaid, Zero, largest_part};
pub use optimizers::{Optimizer, Update};
pub use passes::{Batches, Local, Network, Pass, Plan};
pub use pipeline::{ActionKind, Pipeline};
pub use tensor_parallel::TensorParallel;
pub use torchtitan::{HeldPart, Split};

use crate::estimator::choice::{
    Adapter, AdapterTargets, AttentionKernel, Batching, Engine, Fp8, GradientType, Kernels, Logits, LossHead, Method,
    Offload, Precision, ProjectorTraining, Recomputation, StepKernel, TaskKind, TowerTraining, ZeroStage,
};
use crate::estimator::models::NotCounted;
use crate::estimator::scenario::{Recipe, Scenario};
use networks::Networks;

/// The training program of a scenario.
pub fn wrapped(scenario: &Scenario, unsaid: Unsaid) -> Result<Plan, NotCounted> {
    refused(scenario).map_or(Ok(()), Err)?;
    let scenario = &scenario.at_longest();
    let recipe = &scenario.recipe;
    let data_parallel = DataParallel::of(scenario, unsaid)?;
    let tensor_parallel = TensorParallel::of(scenario)?;
    // DeepSpeed has copies of its own.
    let has_masters = recipe.precision.has_master() && scenario.cluster.engine != Engine::DeepSpeed;
    let has_end_token = !unsaid.has_no_end_token;
    let networks = Networks { scenario, data_parallel, tensor_parallel, has_end_token, puts_out_states: false };
    let pipeline = Pipeline::of(scenario).map(|pipeline| pipeline.at(unsaid.rank));
    let task = match pipeline {
        Some(pipeline) => pipeline.task(networks)?,
        None => tasks::task(scenario, networks)?,
    };
    Ok(Plan {
        task,
        pipeline,
        micro_batches: recipe.micro_batches,
        updates_in_backward: recipe.step == StepKernel::InBackward,
        keeps_workspaces: scenario.device.workspace.get() > 0.0,
        optimizer: match data_parallel {
            DataParallel::Megatron(_) => Optimizer::of_engine(),
            _ => Optimizer::of(recipe.optimizer, recipe.step, has_masters)?,
        },
        data_parallel,
        tensor_parallel,
        trainer: scenario.cluster.engine,
    })
}

/// What of a scenario is not played yet, the first thing that is.
fn refused(scenario: &Scenario) -> Option<NotCounted> {
    let Scenario { recipe, cluster, .. } = scenario;
    let is_adapted = recipe.adapter != Adapter::None && recipe.targets == AdapterTargets::All;
    use crate::estimator::choice::Optimizer as Chosen;
    // It is for matrices, and stacks are of several.
    let is_for_stacks = recipe.optimizer != Chosen::Muon;
    // Encoders with decoders are known in a loop of PyTorch's own.
    let has_encoder = scenario.model.encoder.is_there();
    let is_plain = cluster.gpus == 1 && cluster.engine == Engine::Torch && scenario.task.kind == TaskKind::Train;
    let recomputes_all =
        matches!(recipe.recomputation, Recomputation::None | Recomputation::Full | Recomputation::Selective);
    let is_equal = scenario.batching() == Batching::Equal && !scenario.outside.is_on();
    let plays_encoder = is_plain && recomputes_all && is_equal && recipe.adapter != Adapter::Qlora;
    let adapts_experts = is_adapted && scenario.model.experts.count > 0;
    let is_deepspeed = cluster.engine == Engine::DeepSpeed;
    let is_titan = cluster.engine == Engine::Torchtitan;
    let is_megatron = cluster.engine == Engine::Megatron;
    let has_engine = is_deepspeed || is_megatron;
    let precision = match recipe.precision {
        Precision::PureBf16 | Precision::Autocast | Precision::Fp32 => !has_engine,
        // On one GPU nobody runs FSDP over frozen weights, which have 16 bits anyway.
        Precision::Mixed => !has_engine && (cluster.gpus > 1 || recipe.adapter == Adapter::None),
        Precision::Bf16 => true,
        Precision::Fp16 => !is_megatron,
    };
    let has_shards = cluster.zero >= ZeroStage::Stage2 && cluster.engine == Engine::Torch;
    let is_task = scenario.task.kind != TaskKind::Train;
    let is_offload = recipe.offload == Offload::None || recipe.offload == Offload::Parameters && has_shards && !is_task;
    let is_encoder = !is_task && matches!(recipe.loss, LossHead::MaskedLm | LossHead::Classifier);
    let is_alone = cluster.gpus == 1 && !has_engine;
    // torchtitan and PyTorch's pipelines have losses and layers of their own.
    let is_of_transformers = !is_titan && !is_megatron && cluster.pipeline_parallel == 1;
    let is_library_loss = match recipe.loss {
        // It runs backward within the forward pass, which engines that follow the backward pass do not expect.
        LossHead::ChunkedHead => is_alone && cluster.zero < ZeroStage::Stage3,
        // DeepSpeed gathers the weights of the head once more for what reads them outside of its module.
        LossHead::Fused | LossHead::Chunked | LossHead::Tiled if is_deepspeed => cluster.zero < ZeroStage::Stage3,
        LossHead::Tiled => is_of_transformers,
        _ => is_of_transformers && recipe.loss.is_of_a_library(),
    };
    let is_own_loss =
        is_megatron && matches!(recipe.loss, LossHead::VocabularyParallel | LossHead::VocabularyParallelFused);
    let is_loss = is_task && recipe.loss != LossHead::Tiled
        || is_encoder
        || recipe.loss == LossHead::Plain
        || is_library_loss
        || is_own_loss;
    let is_recomputation = match recipe.recomputation {
        Recomputation::None | Recomputation::Full => true,
        Recomputation::KthLayer => !is_task && is_of_transformers || is_titan,
        // Fused attention has no scores to keep, and computes them again by itself.
        Recomputation::Selective => recipe.attention == AttentionKernel::Flash && !is_megatron,
        Recomputation::Block | Recomputation::EveryK => !is_task && is_of_transformers,
        Recomputation::Operators => is_titan,
    };
    let has_lengths = is_of_transformers && (is_alone || !is_task);
    // peft has adapters for the parameters of a class's own experts.
    let has_kernels = !is_task && !is_encoder && is_of_transformers && !adapts_experts;
    let keeps_wide_logits = !is_task && !is_encoder && recipe.logits == Logits::KeptFull;
    // torchtitan's loss hands the head a gradient for each chunk.
    let adds_up = recipe.micro_batches > 1 || is_task || !is_alone || recipe.loss == LossHead::ChunkedHead;
    let refused = [
        (scenario.method != Method::Ledger, NotCounted::Method),
        (is_task && !tasks::is_divided_so(scenario), NotCounted::SeveralGpus),
        (is_task && (is_titan || is_megatron), NotCounted::Task),
        (cluster.context_parallel > 1 || cluster.expert_parallel > 1, NotCounted::SeveralGpus),
        (is_deepspeed && cluster.reshard > 1, NotCounted::SeveralGpus),
        (is_titan && recipe.logits != Logits::Dropped, NotCounted::Loss),
        (scenario.model.experts.count > 0 && !scenario.model.mlp.is_gated(), NotCounted::Experts),
        (
            cluster.gpus > 1 && recipe.optimizer == Chosen::Muon && cluster.zero > ZeroStage::Stage1,
            NotCounted::Optimizer,
        ),
        (cluster.engine != Engine::Torch && !has_engine && !is_titan, NotCounted::Engine),
        (!has_lengths && scenario.batching() != Batching::Equal, NotCounted::Lengths),
        (is_task && matches!(scenario.batching(), Batching::Flattened | Batching::Packed), NotCounted::Lengths),
        (scenario.outside.is_on() && (is_megatron || !tasks::is_outside_played(scenario)), NotCounted::Outside),
        (!is_offload, NotCounted::Offload),
        (!precision || is_task && !tasks::has_precision(scenario), NotCounted::Precision),
        (recipe.gradients != GradientType::Half && !has_engine, NotCounted::GradientType),
        (recipe.fp8 != Fp8::Off, NotCounted::Fp8),
        (recipe.kernels != Kernels::Eager && !has_kernels && !is_megatron, NotCounted::Kernels),
        (recipe.kernels == Kernels::Eager && is_megatron, NotCounted::Kernels),
        (!is_recomputation, NotCounted::Recomputation),
        (!is_loss || keeps_wide_logits && !is_alone, NotCounted::Loss),
        (is_encoder && recipe.adapter != Adapter::None, NotCounted::AdaptersOfEncoders),
        (recipe.adapter == Adapter::Lora8, NotCounted::Quantized),
        (recipe.step == StepKernel::InBackward && adds_up, NotCounted::UpdateInBackward),
        (scenario.model.experts.count > 0 && !is_for_stacks, NotCounted::OptimizerOfExperts),
        (has_encoder && !plays_encoder, NotCounted::Encoder),
        (scenario.model.vision.is_there() && !(plays_encoder && plays_tower(recipe)), NotCounted::Vision),
        (adapts_experts && recipe.adapter_dropout.is_on(), NotCounted::AdaptedExperts),
    ];
    refused.into_iter().find(|(is_refused, _)| *is_refused).map(|(_, reason)| reason)
}

/// Whether a vision tower is played with what is trained of it. peft keeps a copy of a module that is trained beside adapters,
/// and optimizers with states by rows look at a convolution otherwise than at a matrix.
fn plays_tower(recipe: &Recipe) -> bool {
    use crate::estimator::choice::Optimizer as Chosen;
    let is_by_element = matches!(recipe.optimizer, Chosen::AdamW | Chosen::Sgd | Chosen::Momentum | Chosen::Lion);
    let adapters_apart = recipe.images.projector == ProjectorTraining::Frozen
        && match recipe.images.tower {
            TowerTraining::Frozen => true,
            TowerTraining::Adapters => recipe.targets == AdapterTargets::All,
            TowerTraining::Trained => false,
        };
    let is_whole = recipe.images.tower != TowerTraining::Adapters;
    is_by_element && if recipe.adapter == Adapter::None { is_whole } else { adapters_apart }
}
