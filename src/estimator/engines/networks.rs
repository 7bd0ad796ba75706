//! The networks of a training program: the trained model and others like it, with what engines do to their blocks.

use super::{DataParallel, TensorParallel, adapters, checkpoints, quantized, tasks};
use crate::estimator::choice::{
    Adapter, AdapterType, Engine, FrozenType, LossHead, Precision, Recomputation, TaskKind, Unquantized,
};
use crate::estimator::models::{Block, Call, Collation, End, Library, Model, NotCounted, network, tokens};
use crate::estimator::operators::{Form, Operator, Place, Types};
use crate::estimator::scenario::{Recipe, Scenario};
use crate::estimator::units::{DType, Shape, Width};

/// The networks of a scenario, as its training program wraps them.
#[derive(Clone, Copy)]
pub struct Networks<'s> {
    /// The scenario.
    pub scenario: &'s Scenario,
    /// How they are shared with other devices.
    pub data_parallel: DataParallel,
    /// How their layers are.
    pub tensor_parallel: Option<TensorParallel>,
    /// Whether the model's configuration names a token with which sequences end.
    pub has_end_token: bool,
    /// Whether the trainer asks for what every layer is given (`output_hidden_states`).
    pub puts_out_states: bool,
}

impl Networks<'_> {
    fn network(&self, end: End, collation: Collation, dtype: DType) -> Result<Model, NotCounted> {
        let Scenario { recipe, device, task, cluster, .. } = self.scenario;
        let is_flat = matches!(collation, Collation::Flattened(_));
        let call = Call {
            library: match cluster.engine {
                Engine::Torchtitan => Library::Torchtitan,
                Engine::Megatron => Library::Megatron,
                _ => Library::Transformers,
            },
            batch: recipe.batch,
            sequence: recipe.sequence,
            source: self.scenario.source(),
            images: recipe.images,
            collation,
            has_several_sequences: recipe.batch > 1 && !is_flat || tasks::has_pairs(task.kind),
            dtype,
            is_widened: recipe.adapter == Adapter::Qlora && dtype == DType::Single,
            attention: recipe.attention,
            kernels: recipe.kernels,
            logits: recipe.logits,
            // Trainers of tasks take their own.
            loss: if task.kind == TaskKind::Train { recipe.loss } else { LossHead::Plain },
            end,
            has_dropout: recipe.dropout.is_on() && !tasks::disables_dropout(task.kind),
            has_autocast: recipe.precision == Precision::Autocast,
            has_module_hooks: self.data_parallel.learns_modules(),
            puts_out_states: self.puts_out_states,
        };
        let mut model = network(&self.scenario.model, call)?;
        let kept_workspace = device.workspace.get() as u64;
        let workspace = if kept_workspace > 0 { kept_workspace } else { cublas_workspace(device.capability) };
        model.widths = model.widths.with(Width::CublasWorkspace, workspace);
        if recipe.adapter == Adapter::Qlora {
            quantized::quantize(&mut model);
        }
        Ok(model)
    }

    /// The trained model, ending so, with its adapters where it has any, or with them switched off.
    pub fn trained(&self, end: End, collation: Collation, are_adapters_on: bool) -> Result<Model, NotCounted> {
        let recipe = &self.scenario.recipe;
        let mut model = self.network(end, collation, weight_dtype(recipe))?;
        self.tensor_parallel.into_iter().for_each(|parallel| parallel.divide(&mut model));
        if let DataParallel::Fsdp2(fsdp) = self.data_parallel
            && fsdp.types.is_mixed
            && model.output.is_none()
        {
            // `output_dtype` of `MixedPrecisionPolicy`.
            model.output =
                Some(Block::cast(Place::Loss, Form::new(model.loss, Shape::ONE), fsdp.types.gathered, tokens()));
            model.loss = fsdp.types.gathered;
        }
        let scales = self.data_parallel.loss_scales();
        if scales > 0 {
            model.output = Some(Block::scaled(Place::Loss, Form::new(model.loss, Shape::ONE), scales));
        }
        let is_frozen = recipe.adapter != Adapter::None;
        if is_frozen {
            let dtype = adapter_dtype(self.scenario);
            let gathered = self.data_parallel.gathered();
            let casts_input = self.data_parallel.casts_inputs();
            let has_dropout = recipe.adapter_dropout.is_on() && !tasks::disables_dropout(self.scenario.task.kind);
            let adapted = adapters::Adapted { dtype, gathered, casts_input, has_dropout };
            adapters::adapt(&mut model, recipe, adapted, are_adapters_on);
        }
        if self.data_parallel.learns_modules() {
            for application in model.blocks_mut().flat_map(|block| &mut block.applications) {
                if let Operator::Linear { product, .. } | Operator::Adapted { product, .. } = &mut application.operator
                {
                    *product = product.by_function();
                }
            }
        }
        checkpoints::recompute(&mut model, self.scenario);
        if !matches!(recipe.recomputation, Recomputation::None | Recomputation::Selective) {
            // Checkpoints of what is frozen would have nothing to derive (`enable_input_require_grads` of transformers makes what
            // comes out of the classes of embeddings leaves, and what comes out of the convolutions of Whisper and of vision
            // towers).
            for block in model.blocks_mut() {
                let is_embedding =
                    |place| matches!(place, Place::TokenEmbedding | Place::EmbeddingScale | Place::FirstConvolution);
                for of in [is_embedding as fn(Place) -> bool, |place| place == Place::PatchEmbedding] {
                    let embedded = block.applications.iter_mut().filter(|application| of(application.place));
                    embedded.last().into_iter().for_each(|last| last.is_leaf = !last.is_trained);
                }
            }
        }
        Ok(model)
    }

    /// Another model like it that is not trained, without adapters, and in what types it computes.
    pub fn frozen(&self, end: End, collation: Collation) -> Result<(Model, Types), NotCounted> {
        let types = match self.scenario.task.frozen {
            FrozenType::Policy => self.types(),
            FrozenType::Half => Types { weights: DType::Half, loaded: DType::Half, ..self.types() },
        };
        Ok((self.network(end, collation, types.weights)?, types))
    }

    /// Another model of the class all of whose weights have a type, without adapters and recomputation.
    pub fn beside(&self, end: End, collation: Collation, dtype: DType) -> Result<Model, NotCounted> {
        self.network(end, collation, dtype)
    }

    /// The type of the weights that are trained.
    pub fn trained_type(&self) -> DType {
        let recipe = &self.scenario.recipe;
        if recipe.adapter == Adapter::None { weight_dtype(recipe) } else { adapter_dtype(self.scenario) }
    }

    /// In what types networks compute.
    pub fn types(&self) -> Types {
        let recipe = &self.scenario.recipe;
        let dtype = weight_dtype(recipe);
        Types {
            weights: dtype,
            // bitsandbytes packs 16-bit matrices; what it leaves is cast afterwards (`prepare_model_for_kbit_training` of
            // peft 0.21.2).
            loaded: match self.data_parallel {
                _ if recipe.adapter == Adapter::Qlora => DType::Half,
                DataParallel::Fsdp1(fsdp) => fsdp.types.stored,
                DataParallel::Fsdp2(fsdp) => fsdp.types.stored,
                DataParallel::Alone | DataParallel::Ddp(_) | DataParallel::DeepSpeed(_) | DataParallel::Megatron(_) => {
                    dtype
                }
            },
            buffers: self.data_parallel.buffers().unwrap_or(DType::Single),
            // Under FSDP 1 adapters get inputs in fp32, which autocast alone brings to the type of gathered weights.
            autocast: match self.data_parallel {
                DataParallel::Fsdp1(fsdp) if fsdp.types.adapters.is_some() => self.data_parallel.gathered(),
                _ => (recipe.precision == Precision::Autocast).then_some(DType::Half),
            },
        }
    }
}

/// The type of the model's own weights, adapters apart.
pub fn weight_dtype(recipe: &Recipe) -> DType {
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

/// The type of an adapter's weights: fp32 beside half-precision ones unless they are to have the same type
/// (`autocast_adapter_dtype` of peft's `get_peft_model`). DeepSpeed's engine casts all weights to one type
/// (`_cast_module_mixed_precision` in runtime/engine.py).
pub fn adapter_dtype(scenario: &Scenario) -> DType {
    let recipe = &scenario.recipe;
    match recipe.adapter_type {
        AdapterType::Full if scenario.cluster.engine == Engine::DeepSpeed => weight_dtype(recipe),
        AdapterType::Full => DType::Single,
        AdapterType::Half if recipe.adapter == Adapter::Qlora => DType::Half,
        AdapterType::Half => weight_dtype(recipe),
    }
}
