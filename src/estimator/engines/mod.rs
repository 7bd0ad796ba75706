//! Training programs around a model: each rewrites blocks, says in what types they compute, and how the step
//! plays them.

mod acts;
mod adapters;
mod checkpoints;
mod data_parallel;
mod optimizers;
mod quantized;
mod torchtitan;

pub use acts::{Act, Hook, Name, Round, Unit};
pub use data_parallel::{DataParallel, Piece, Place as UnitPlace, Told, Unsaid};
pub use optimizers::{Optimizer, Update};
pub use torchtitan::HeldPart;

use crate::estimator::choice::{
    Adapter, AdapterTargets, AdapterType, Batching, Engine, Fp8, Kernels, Logits, LossHead, Method, Offload, Precision,
    Recomputation, TaskKind, Unquantized,
};
use crate::estimator::models::{Block, Call, Library, Model, NotCounted, network, tokens};
use crate::estimator::operators::{Form, Place, Registry, Types};
use crate::estimator::scenario::{Recipe, Scenario};
use crate::estimator::units::{DType, Shape, Width};

/// A training program, as one of its devices runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// In what types it computes.
    pub types: Types,
    /// How many micro-batches come before an optimizer step.
    pub micro_batches: u32,
    /// Whether each thread that multiplies keeps the workspaces of cuBLAS and cuBLASLt, as before PyTorch 2.15.
    pub keeps_workspaces: bool,
    /// The optimizer that updates the weights.
    pub optimizer: Optimizer,
    /// How it shares the training with other devices.
    pub data_parallel: DataParallel,
    /// Who trains.
    trainer: Engine,
}

impl Plan {
    /// What the training program does around the passes of a step, for what a device holds of its weights.
    pub fn round(&self, weights: &[HeldPart], registry: &mut Registry) -> Round {
        match self.trainer {
            Engine::Torchtitan => torchtitan::round(weights, self.micro_batches, registry),
            _ => Round::default(),
        }
    }
}

/// The model of a scenario as its training program runs it, and that program.
pub fn wrapped(scenario: &Scenario, unsaid: Unsaid) -> Result<(Model, Plan), NotCounted> {
    refused(scenario).map_or(Ok(()), Err)?;
    let recipe = &scenario.recipe;
    let dtype = weight_dtype(recipe);
    let call = Call {
        library: if scenario.cluster.engine == Engine::Torchtitan {
            Library::Torchtitan
        } else {
            Library::Transformers
        },
        sequence: recipe.sequence,
        has_several_sequences: recipe.batch > 1,
        dtype,
        is_widened: recipe.adapter == Adapter::Qlora && recipe.unquantized == Unquantized::Full,
        attention: recipe.attention,
        logits: recipe.logits,
        loss: recipe.loss,
        has_dropout: recipe.dropout.is_on(),
        has_autocast: recipe.precision == Precision::Autocast,
    };
    let mut model = network(&scenario.model, call)?;
    let is_frozen = recipe.adapter != Adapter::None;
    if recipe.adapter == Adapter::Qlora {
        quantized::quantize(&mut model);
    }
    if is_frozen {
        adapters::adapt(&mut model, recipe);
    }
    checkpoints::recompute(&mut model, scenario);
    if recipe.recomputation != Recomputation::None && is_frozen {
        // Without it checkpoints of a frozen model would have nothing to derive (`enable_input_require_grads` of
        // transformers makes what comes out of the embedding's class a leaf).
        let embedded = model.opening.applications.iter_mut();
        let embedded = embedded.filter(|of| matches!(of.place, Place::TokenEmbedding | Place::EmbeddingScale));
        embedded.last().into_iter().for_each(|last| last.is_leaf = true);
    }
    let kept_workspace = scenario.device.workspace.get() as u64;
    let workspace = if kept_workspace > 0 { kept_workspace } else { cublas_workspace(scenario.device.capability) };
    model.widths = model.widths.with(Width::CublasWorkspace, workspace);
    let data_parallel = DataParallel::of(scenario, unsaid)?;
    if let DataParallel::Fsdp2(fsdp) = data_parallel
        && fsdp.stored != fsdp.gathered
        && model.output.is_none()
    {
        // `output_dtype` of `MixedPrecisionPolicy`.
        model.output = Some(Block::cast(Place::Loss, Form::new(model.loss, Shape::ONE), dtype, tokens()));
        model.loss = dtype;
    }
    let plan = Plan {
        types: Types {
            weights: dtype,
            // bitsandbytes packs 16-bit matrices; what it leaves is cast afterwards (`prepare_model_for_kbit_training` of
            // peft 0.21.2).
            loaded: match data_parallel {
                _ if recipe.adapter == Adapter::Qlora => DType::Half,
                DataParallel::Fsdp1(fsdp) => fsdp.stored,
                DataParallel::Fsdp2(fsdp) => fsdp.stored,
                DataParallel::Alone | DataParallel::Ddp(_) => dtype,
            },
            buffers: data_parallel.buffers().unwrap_or(DType::Single),
            autocast: (recipe.precision == Precision::Autocast).then_some(DType::Half),
        },
        micro_batches: recipe.micro_batches,
        keeps_workspaces: kept_workspace > 0,
        optimizer: Optimizer::of(recipe.optimizer, recipe.step)?,
        data_parallel,
        trainer: scenario.cluster.engine,
    };
    Ok((model, plan))
}

/// The type of the model's own weights, adapters apart.
fn weight_dtype(recipe: &Recipe) -> DType {
    match (recipe.adapter, recipe.precision) {
        (_, Precision::Fp32) | (Adapter::LoraFp32, _) | (Adapter::None, Precision::Autocast) => DType::Single,
        (Adapter::Qlora, _) if recipe.unquantized == Unquantized::Full => DType::Single,
        _ => DType::Half,
    }
}

/// Bytes that PyTorch 2.15 chooses for cuBLAS's workspace: ":4096:2:16:8", and 32 MiB from compute capability 9.0 on
/// (`parseChosenWorkspaceSize` in aten/src/ATen/cuda/CublasHandlePool.cpp).
const fn cublas_workspace(capability: u32) -> u64 {
    if capability >= 90 { 32 << 20 } else { (4096 * 2 + 16 * 8) << 10 }
}

/// What of a scenario is not played yet, the first thing that is.
fn refused(scenario: &Scenario) -> Option<NotCounted> {
    let Scenario { recipe, cluster, .. } = scenario;
    let is_adapted = recipe.adapter != Adapter::None && recipe.targets == AdapterTargets::All;
    let is_adam = recipe.optimizer == crate::estimator::choice::Optimizer::AdamW;
    let adapts_experts = is_adapted && scenario.model.experts.count > 0;
    let precision = matches!(recipe.precision, Precision::PureBf16 | Precision::Autocast | Precision::Fp32)
        || recipe.precision == Precision::Mixed && cluster.gpus > 1;
    let is_titan = cluster.engine == Engine::Torchtitan && cluster.gpus > 1;
    let is_recomputed = match recipe.recomputation {
        Recomputation::None | Recomputation::Full => true,
        Recomputation::KthLayer | Recomputation::Operators => is_titan,
        _ => false,
    };
    let is_encoder = matches!(recipe.loss, LossHead::MaskedLm | LossHead::Classifier);
    let is_loss = is_encoder || recipe.loss == LossHead::Plain;
    let refused = [
        (scenario.method != Method::Ledger, NotCounted::Method),
        (cluster.engine != Engine::Torch && !is_titan, NotCounted::Engine),
        (scenario.task.kind != TaskKind::Train, NotCounted::Task),
        (scenario.lengths.batching != Batching::Equal, NotCounted::Lengths),
        (scenario.outside.is_on(), NotCounted::Outside),
        (recipe.offload != Offload::None, NotCounted::Offload),
        (!precision, NotCounted::Precision),
        (recipe.fp8 != Fp8::Off, NotCounted::Fp8),
        (recipe.kernels != Kernels::Eager, NotCounted::Kernels),
        (!is_recomputed, NotCounted::Recomputation),
        (!is_loss || recipe.logits == Logits::KeptFull, NotCounted::Loss),
        (is_encoder && recipe.adapter != Adapter::None, NotCounted::AdaptersOfEncoders),
        (recipe.adapter == Adapter::Lora8, NotCounted::Quantized),
        (scenario.model.experts.count > 0 && !is_adam, NotCounted::OptimizerOfExperts),
        (adapts_experts && recipe.adapter_dropout.is_on(), NotCounted::AdaptedExperts),
    ];
    refused.into_iter().find(|(is_refused, _)| *is_refused).map(|(_, reason)| reason)
}

/// The type of an adapter's weights: fp32 beside half-precision ones unless they are to have the same type
/// (`autocast_adapter_dtype` of peft's `get_peft_model`).
fn adapter_dtype(recipe: &Recipe) -> DType {
    match recipe.adapter_type {
        AdapterType::Full => DType::Single,
        AdapterType::Half if recipe.adapter == Adapter::Qlora => DType::Half,
        AdapterType::Half => weight_dtype(recipe),
    }
}
