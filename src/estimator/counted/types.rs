//! In what the operations of a layer compute: it decides the bytes of nearly everything.

use super::stage::Stage;
use crate::{Adapter, AdapterType, Engine, ExpertMatrices, Kernels, Norm, Precision, Scenario, Unquantized};

/// Bytes of the elements of a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Types {
    /// Of an element that goes into a matrix product.
    pub(super) element: f64,
    /// Of an element of the residual stream.
    pub(super) residual: f64,
    /// Of an element inside the feed-forward block. A quantized matrix puts out what it was given
    /// (`out.to(inp_dtype)` in bitsandbytes/nn/modules.py, 0.50.2), which a norm in fp32 makes fp32: autocast has LayerNorm
    /// give back fp32 whatever it is given, and every other norm gives back the type of what it is given.
    pub(super) inner: f64,
    /// The same inside routed experts. In a stack they are not quantized, and their products are none of autocast's: they
    /// take the type of the weights (`_grouped_mm` in transformers/integrations/moe.py, 5.23.0).
    pub(super) routed: f64,
    /// Whether torch.autocast casts inputs, product by product, and runs powers, norms, softmaxes and
    /// losses in fp32 (aten/src/ATen/autocast_mode.h, CUDA's lists, PyTorch 2.15).
    pub(super) autocast: bool,
}

impl Types {
    pub(super) fn of(scenario: &Scenario) -> Self {
        let (element, autocast) = match scenario.recipe.precision {
            Precision::Fp32 => (4.0, false),
            Precision::Autocast => (2.0, true),
            Precision::Bf16 | Precision::Fp16 | Precision::Mixed | Precision::PureBf16 => (2.0, false),
        };
        // The residual stream starts as the embedding's row, in the type of the embedding.
        let residual = if autocast { base_bytes(scenario) } else { element };
        let quantized = scenario.recipe.adapter.is_quantized();
        let in_fp32 = scenario.model.norm == Norm::LayerNorm && !norms_are_kernels(scenario);
        let inner = match quantized && autocast {
            true if in_fp32 => 4.0,
            true => residual,
            false => element,
        };
        let stacked =
            scenario.recipe.adapter == Adapter::None || scenario.recipe.expert_matrices == ExpertMatrices::Stacked;
        let of_transformers = matches!(scenario.cluster.engine, Engine::Torch | Engine::DeepSpeed)
            && scenario.recipe.kernels == Kernels::Eager;
        let routed = match stacked {
            true if autocast && of_transformers => base_bytes(scenario),
            true => element,
            false => inner,
        };
        Self { element, residual, inner, routed, autocast }
    }

    /// Whether routed experts compute in more bytes than autocast's products do, which casts neither them nor what they read.
    pub(super) fn widens_experts(&self) -> bool {
        self.routed > self.element
    }

    /// Of an element inside the wider kind of block that a stage has.
    pub(super) fn inside(&self, stage: &Stage) -> f64 {
        if stage.experts_are_wider { self.routed } else { self.inner }
    }
}

/// Whether a norm is one operation, which keeps its input once.
pub(super) fn norms_are_kernels(scenario: &Scenario) -> bool {
    scenario.recipe.kernels == Kernels::Fused || scenario.cluster.engine == Engine::Torchtitan
}

/// Bytes of a weight outside the blocks, which nothing quantizes.
pub(super) fn base_bytes(scenario: &Scenario) -> f64 {
    match (scenario.recipe.adapter, scenario.recipe.precision) {
        (_, Precision::Fp32) | (Adapter::LoraFp32 | Adapter::None, Precision::Autocast) => 4.0,
        (Adapter::LoraFp32, _) => 4.0,
        (Adapter::Lora8 | Adapter::Qlora, _) if scenario.recipe.unquantized == Unquantized::Full => 4.0,
        _ => 2.0,
    }
}

/// How the input of a matrix stays alive for the gradient of what is trained there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum InputOf {
    /// The matrix is trained.
    Trained,
    /// An adapter reads the same tensor as the frozen matrix beside it.
    SharedAdapter,
    /// Each adapter makes a copy of its own, of so many bytes an element.
    OwnCopy(f64),
}

impl InputOf {
    /// PEFT casts the input of an adapter to the type of the adapter (`_cast_input_dtype` in
    /// peft/tuners/lora/layer.py, 0.21.2), and autocast casts it once more for its product, so that
    /// each adapter keeps a copy of its own; only adapters in the type of their input share it, unless
    /// each drops other parts of it.
    pub(super) fn of(scenario: &Scenario) -> Self {
        let recipe = &scenario.recipe;
        let full = recipe.adapter_type == AdapterType::Full;
        let dropped = recipe.adapter_dropout.is_on();
        match (recipe.adapter, recipe.precision) {
            (Adapter::None, _) => Self::Trained,
            (_, Precision::Fp32) if dropped => Self::OwnCopy(4.0),
            (_, Precision::Autocast | Precision::Mixed) if full => Self::OwnCopy(2.0),
            (_, Precision::PureBf16) if full => Self::OwnCopy(4.0),
            _ if dropped => Self::OwnCopy(2.0),
            _ => Self::SharedAdapter,
        }
    }
}
