//! The inputs of a scenario that are picked from a list, as one table.
//!
//! What [`Field`](super::Field) is for numbers this is for words: link, form and documentation read
//! it, so a setting is declared once.

use super::choice::{
    Adapter, AdapterTargets, AdapterType, AttentionKernel, BatchUnit, Bias, Choice, ChoiceOption, Engine, GradientType,
    Kernels, Logits, LossHead, Method, Mlp, Norm, Offload, Optimizer, Packing, Position, Precision, QkNorm,
    Recomputation, Segments, Softmax, StepKernel, Switch, Unquantized, ZeroStage,
};
use super::scenario::Scenario;

/// An input with a closed list of values.
#[derive(Debug)]
pub struct Setting {
    /// The link's parameter name.
    pub key: &'static str,
    /// The name shown to the reader.
    pub name: &'static str,
    /// Every option, in the order of the form.
    pub options: &'static [ChoiceOption],
    /// The word of the option in use.
    pub get: fn(&Scenario) -> &'static str,
    /// Puts the option with this word in use; false, and no change, when there is none.
    pub set: fn(&mut Scenario, &str) -> bool,
}

impl PartialEq for Setting {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Setting {
    /// The option with this word.
    pub fn option(&self, key: &str) -> Option<&'static ChoiceOption> {
        self.options.iter().find(|option| option.key == key)
    }

    /// The accepted words, for messages.
    pub fn keys(&self) -> String {
        let keys: Vec<_> = self.options.iter().map(|option| option.key).collect();
        keys.join(", ")
    }
}

macro_rules! settings {
    ($($(#[$meta:meta])* $setting:ident = $key:literal, $name:literal, $ty:ident, $($place:ident).+
        $(, |$scenario:ident, $value:ident| $set:block)?;)+) => {
        $(
            $(#[$meta])*
            pub static $setting: Setting = Setting {
                key: $key,
                name: $name,
                options: <$ty as Choice>::OPTIONS,
                get: |scenario| scenario.$($place).+.key(),
                set: |scenario, word| match <$ty as Choice>::from_key(word) {
                    Some(value) => { settings!(@set scenario, value, $($place).+ $(, |$scenario, $value| $set)?); true }
                    None => false,
                },
            };
        )+

        /// Every setting, in the order in which links write them.
        pub static ALL: &[&Setting] = &[$(&$setting,)+];
    };
    (@set $to:ident, $word:ident, $($place:ident).+) => { $to.$($place).+ = $word };
    (@set $to:ident, $word:ident, $($place:ident).+, |$scenario:ident, $value:ident| $set:block) => {{
        let ($scenario, $value) = ($to, $word);
        $set
    }};
}

settings! {
    /// The accounting in use.
    METHOD = "method", "Method", Method, method;
    /// The kind of feed-forward block.
    MLP = "mlp", "Feed-forward block", Mlp, model.mlp;
    /// Whether input and output embeddings are one matrix.
    TIED = "tied", "Tied embeddings", Switch, model.tied_embeddings;
    /// The normalization.
    NORM = "norm", "Norm", Norm, model.norm;
    /// Whether attention and feed-forward block read the same input.
    PARALLEL = "parallel", "Blocks side by side", Switch, model.parallel;
    /// Norms on queries and keys.
    QK_NORM = "qk_norm", "Query and key norms", QkNorm, model.qk_norm;
    /// Which matrices carry a bias.
    BIAS = "bias", "Biases", Bias, model.bias;
    /// Whether logits and scores are capped by a tanh.
    SOFT_CAP = "softcap", "Soft-capped logits", Switch, model.soft_cap;
    /// How positions enter.
    POSITION = "position", "Positions", Position, model.position;
    /// How queries, keys and values are computed.
    PACKING = "qkv", "Queries, keys and values", Packing, model.packing;
    /// In what the softmax of eager attention is taken.
    SOFTMAX = "softmax", "Softmax of eager attention", Softmax, model.softmax;
    /// In what weights, activations and states are held.
    PRECISION = "precision", "Training precision", Precision, recipe.precision;
    /// In what gradients of 16-bit weights are kept.
    GRADIENTS = "grad", "Gradients kept in", GradientType, recipe.gradients;
    /// The update rule.
    OPTIMIZER = "optimizer", "Optimizer", Optimizer, recipe.optimizer;
    /// How the optimizer step is carried out.
    STEP = "step", "Optimizer step", StepKernel, recipe.step;
    /// What is computed again in the backward pass.
    RECOMPUTATION = "recompute", "Activation recomputation", Recomputation, recipe.recomputation;
    /// Whether the blocks use dropout.
    DROPOUT = "dropout", "Dropout", Switch, recipe.dropout;
    /// The attention kernel.
    ATTENTION = "attn", "Attention kernel", AttentionKernel, recipe.attention;
    /// What turns the last hidden state into a loss.
    LOSS = "loss", "Loss head", LossHead, recipe.loss;
    /// Whether the training loop holds on to the logits.
    LOGITS = "logits", "Logits after the loss", Logits, recipe.logits;
    /// How many operations share a kernel.
    KERNELS = "kernels", "Kernels", Kernels, recipe.kernels;
    /// What lies in the memory of the host.
    OFFLOAD = "offload", "Offloaded to the host", Offload, recipe.offload;
    /// Low-rank adapters.
    ADAPTER = "adapter", "Adapters", Adapter, recipe.adapter;
    /// The matrices that get an adapter.
    TARGETS = "targets", "Adapter targets", AdapterTargets, recipe.targets;
    /// In what adapters are kept.
    ADAPTER_TYPE = "adapter_type", "Adapters kept in", AdapterType, recipe.adapter_type;
    /// Whether adapters drop parts of their inputs.
    ADAPTER_DROPOUT = "adapter_dropout", "Dropout of adapters", Switch, recipe.adapter_dropout;
    /// In what weights beside quantized matrices are kept.
    UNQUANTIZED = "unquantized", "Unquantized weights", Unquantized, recipe.unquantized;
    /// The program that carries out a step.
    ENGINE = "engine", "Training engine", Engine, cluster.engine;
    /// What data-parallel GPUs shard.
    ZERO = "zero", "ZeRO stage", ZeroStage, cluster.zero;
    /// Whether LayerNorm and residual parts are split over the tensor-parallel GPUs.
    SEQUENCE_PARALLEL = "sp", "Sequence parallel", Switch, cluster.sequence_parallel;
    /// How the caching allocator gets memory. A fragmentation that is the usual one follows.
    SEGMENTS = "segments", "Allocator segments", Segments, device.segments, |scenario, segments| {
        scenario.device = scenario.device.with_segments(segments);
    };
    /// The unit of the global batch.
    BATCH_UNIT = "unit", "Unit of the global batch", BatchUnit, goal.unit;
    /// Recomputation of the chart's reference curves.
    COMPARISON_RECOMPUTATION =
        "chart_recompute", "Recomputation of the reference curves", Recomputation, comparison.recomputation;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_can_be_set_and_read_back() {
        for setting in ALL {
            for option in setting.options {
                let mut scenario = Scenario::default();
                assert!((setting.set)(&mut scenario, option.key), "{} {}", setting.key, option.key);
                assert_eq!((setting.get)(&scenario), option.key);
                assert!(!option.label.is_empty() && !option.effect.is_empty());
            }
        }
    }

    #[test]
    fn an_unknown_word_changes_nothing() {
        for setting in ALL {
            let mut scenario = Scenario::default();
            assert!(!(setting.set)(&mut scenario, "no such word"));
            assert_eq!(scenario, Scenario::default());
        }
    }
}
