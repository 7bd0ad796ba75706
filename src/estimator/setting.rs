//! The inputs of a scenario that are picked from a list, as one table.
//!
//! What [`Field`](super::Field) is for numbers this is for words: link, form and documentation read
//! it, so a setting is declared once.

use super::choice::{
    Adapter, AdapterTargets, AdapterType, AttentionKernel, BatchUnit, Batching, Bias, ChartAxis, Choice, ChoiceOption,
    Engine, Evaluation, ExpertMatrices, Fp8, FrozenType, Gather, Gathered, GradientType, HostLoad, Kernels, Load,
    Logits, LossHead, Merge, Method, Mlp, Norm, Offload, Optimizer, Packing, PaddedAttention, Position, Precision,
    ProjectorTraining, QkNorm, Recomputation, Reference, Resume, RewardModel, Rollout, Save, Segments, Softmax,
    StepKernel, Switch, TaskKind, Tower, TowerTraining, Unquantized, ZeroStage, keys,
};
use super::needs::{Need, Readers};
use super::scenario::Scenario;

/// An input with a closed list of values.
#[derive(Debug)]
pub struct Setting {
    /// The link's parameter name.
    pub key: &'static str,
    /// The version of links that it came with.
    pub since: u32,
    /// The name shown to the reader.
    pub name: &'static str,
    /// Every option, in the order of the form.
    pub options: &'static [ChoiceOption],
    /// What it needs to change anything.
    pub(super) needs: &'static [Need],
    /// The methods that read it.
    pub(super) readers: Readers,
    word: fn(&Scenario) -> Word,
    find: fn(&str) -> Option<Word>,
    before: fn(&Named) -> Option<Word>,
}

/// What a link names, as far as it decides what stands for a word that links of its version did not have.
pub struct Named<'a> {
    /// Whether the link names a row of the model list, which brings all words of a model.
    pub row: bool,
    /// The option that the link names for a setting.
    pub word: &'a dyn Fn(&Setting) -> Option<Word>,
}

impl Named<'_> {
    fn adapters(&self) -> bool {
        matches!((self.word)(&ADAPTER), Some(Word::Adapter(adapter)) if adapter != Adapter::None)
    }

    /// Until version 3 of links, GELU spelt out stood for all of GPT-2's code.
    fn code_of_gpt2(&self) -> bool {
        !self.row && (self.word)(&MLP) == Some(Word::Mlp(Mlp::GeluTanh))
    }
}

impl PartialEq for Setting {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Setting {
    /// The setting with this link parameter name.
    pub fn from_key(key: &str) -> Option<&'static Self> {
        ALL.iter().copied().find(|setting| setting.key == key)
    }

    /// The option with this word.
    pub fn option(&self, key: &str) -> Option<&'static ChoiceOption> {
        self.options.iter().find(|option| option.key == key)
    }

    /// What the option with this word changes, of these [`effects`](Self::effects).
    pub fn effect_among(&self, effects: &[&'static str], key: &str) -> &'static str {
        let at = self.options.iter().position(|option| option.key == key);
        at.and_then(|at| effects.get(at)).copied().unwrap_or_default()
    }

    /// The accepted words, for messages.
    pub fn keys(&self) -> String {
        keys(self.options)
    }

    /// The word of the option in use.
    pub fn get(&self, scenario: &Scenario) -> &'static str {
        self.chosen(scenario).key()
    }

    /// The option in use.
    pub fn chosen(&self, scenario: &Scenario) -> Word {
        (self.word)(scenario)
    }

    /// What a link of a version before [`since`](Self::since) means where that is not the default: the option that the
    /// count had before there was a word for it.
    pub fn before(&self, named: &Named) -> Option<Word> {
        (self.before)(named)
    }

    /// The option of this word; the case of its letters does not matter.
    pub(crate) fn find(&self, word: &str) -> Option<Word> {
        (self.find)(word)
    }
}

impl Scenario {
    /// The same scenario with an option of a setting in use. Together with [`Scenario::with_number`] it
    /// builds a scenario step by step.
    ///
    /// ```
    /// use bmax::{Field, Recomputation, Scenario, Switch, setting::Word};
    /// let scenario = Scenario::workshop()
    ///     .with_number(Field::Gpus, 16.0)?
    ///     .with_word(Word::Recomputation(Recomputation::Full))
    ///     .with_word(Word::SequenceParallel(Switch::On));
    /// assert_eq!(scenario.recipe.recomputation, Recomputation::Full);
    /// # Ok::<(), bmax::InputError>(())
    /// ```
    #[must_use]
    pub fn with_word(self, word: Word) -> Self {
        word.apply(self)
    }
}

macro_rules! settings {
    ($($(#[$meta:meta])* $word:ident: $setting:ident = $key:literal since $since:literal, $name:literal, $ty:ident,
        $($place:ident).+ $(, needs $($need:ident)|+)? $(, read by $readers:ident)?
        $(, before |$named:ident| $before:expr)? $(, |$scenario:ident, $value:ident| $set:block)?;)+) => {
        $(
            $(#[$meta])*
            pub static $setting: Setting = Setting {
                key: $key,
                since: $since,
                name: $name,
                options: <$ty as Choice>::OPTIONS,
                needs: &[$($(Need::$need),+)?],
                readers: settings!(@readers $($readers)?),
                word: |scenario| Word::$word(scenario.$($place).+),
                find: |word| <$ty as Choice>::from_key(word).map(Word::$word),
                before: |named| settings!(@before named, $word $(, |$named| $before)?),
            };
        )+

        /// Every setting, in the order in which links write them.
        pub static ALL: &[&Setting] = &[$(&$setting,)+];

        /// A setting and the option that it is given.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Word { $($(#[$meta])* $word($ty),)+ }

        impl Setting {
            /// One sentence on what each option changes, in the order of the options. It is apart from them, so that a
            /// part of the page that explains nothing need not carry the sentences.
            pub fn effects(&self) -> &'static [&'static str] {
                match self.key {
                    $($key => <$ty as Choice>::EFFECTS,)+
                    _ => &[],
                }
            }

            /// What the option with this word changes.
            pub fn effect(&self, key: &str) -> &'static str {
                self.effect_among(self.effects(), key)
            }
        }

        impl Word {
            /// The setting.
            pub fn setting(self) -> &'static Setting {
                match self { $(Self::$word(_) => &$setting,)+ }
            }

            /// The option.
            pub fn option(self) -> &'static ChoiceOption {
                match self { $(Self::$word(value) => value.option(),)+ }
            }

            /// The word of the option in links.
            pub fn key(self) -> &'static str {
                self.option().key
            }

            /// The scenario with this option in use.
            #[must_use]
            pub fn apply(self, mut scenario: Scenario) -> Scenario {
                match self {
                    $(Self::$word(value) => {
                        settings!(@set scenario, value, $($place).+ $(, |$scenario, $value| $set)?);
                    })+
                }
                scenario
            }
        }
    };
    (@readers) => { Readers::Ledger };
    (@readers $readers:ident) => { Readers::$readers };
    (@before $from:ident, $word:ident) => {{
        _ = $from;
        None
    }};
    (@before $from:ident, $word:ident, |$named:ident| $before:expr) => {{
        let $named: &Named = $from;
        $before.map(Word::$word)
    }};
    (@set $to:ident, $word:ident, $($place:ident).+) => { $to.$($place).+ = $word };
    (@set $to:ident, $word:ident, $($place:ident).+, |$scenario:ident, $value:ident| $set:block) => {{
        let ($scenario, $value) = (&mut $to, $word);
        $set
    }};
}

settings! {
    /// The accounting in use.
    Method: METHOD = "method" since 1, "Method", Method, method, read by All;
    /// The kind of feed-forward block.
    Mlp: MLP = "mlp" since 1, "Feed-forward block", Mlp, model.mlp;
    /// Whether input and output embeddings are one matrix.
    Tied: TIED = "tied" since 1, "Tied embeddings", Switch, model.tied_embeddings;
    /// The normalization.
    Norm: NORM = "norm" since 2, "Norm", Norm, model.norm;
    /// Whether attention and feed-forward block read the same input.
    Parallel: PARALLEL = "parallel" since 3, "Blocks side by side", Switch, model.parallel, needs SeveralNorms;
    /// Norms on queries and keys.
    QkNorm: QK_NORM = "qk_norm" since 2, "Query and key norms", QkNorm, model.qk_norm;
    /// Which matrices carry a bias.
    Bias: BIAS = "bias" since 2, "Biases", Bias, model.bias;
    /// Whether logits and scores are capped by a tanh.
    SoftCap: SOFT_CAP = "softcap" since 2, "Soft-capped logits", Switch, model.soft_cap;
    /// How positions enter.
    Position: POSITION = "position" since 2, "Positions", Position, model.position;
    /// How queries, keys and values are computed.
    Packing: PACKING = "qkv" since 3, "Queries, keys and values", Packing, model.packing,
        before |named| named.code_of_gpt2().then_some(Packing::Packed);
    /// In what the softmax of eager attention is taken.
    Softmax: SOFTMAX = "softmax" since 3, "Softmax of eager attention", Softmax, model.softmax, needs StoredScores,
        before |named| named.code_of_gpt2().then_some(Softmax::Scores);
    /// How images become vectors.
    Vision: VISION = "vision" since 3, "Vision tower", Tower, model.vision.tower;
    /// In what weights, activations and states are held.
    Precision: PRECISION = "precision" since 1, "Training precision", Precision, recipe.precision, read by All;
    /// In what gradients of 16-bit weights are kept.
    Gradients: GRADIENTS = "grad" since 2, "Gradients kept in", GradientType, recipe.gradients, needs TypedAdapterGradients | HalfWeights;
    /// The update rule.
    Optimizer: OPTIMIZER = "optimizer" since 2, "Optimizer", Optimizer, recipe.optimizer;
    /// How the optimizer step is carried out.
    Step: STEP = "step" since 2, "Optimizer step", StepKernel, recipe.step;
    /// What is computed again in the backward pass.
    Recomputation: RECOMPUTATION = "recompute" since 1, "Activation recomputation", Recomputation, recipe.recomputation, read by All;
    /// Whether the blocks use dropout.
    Dropout: DROPOUT = "dropout" since 1, "Dropout", Switch, recipe.dropout, read by Paper;
    /// The attention kernel.
    Attention: ATTENTION = "attn" since 2, "Attention kernel", AttentionKernel, recipe.attention;
    /// What turns the last hidden state into a loss.
    Loss: LOSS = "loss" since 2, "Loss head", LossHead, recipe.loss;
    /// Whether the training loop holds on to the logits.
    Logits: LOGITS = "logits" since 3, "Logits after the loss", Logits, recipe.logits, needs WholeLogits;
    /// How many operations share a kernel.
    Kernels: KERNELS = "kernels" since 2, "Kernels", Kernels, recipe.kernels;
    /// What lies in the memory of the host.
    Offload: OFFLOAD = "offload" since 2, "Offloaded to CPU memory", Offload, recipe.offload;
    /// Low-rank adapters.
    Adapter: ADAPTER = "adapter" since 2, "Adapters", Adapter, recipe.adapter;
    /// The matrices that get an adapter.
    Targets: TARGETS = "targets" since 2, "Adapter targets", AdapterTargets, recipe.targets, needs Adapter;
    /// How routed experts are held beside adapters.
    ExpertMatrices: EXPERT_MATRICES = "expert_matrices" since 3, "Routed experts", ExpertMatrices,
        recipe.expert_matrices, needs Experts | Adapter, before |named| named.adapters().then_some(ExpertMatrices::Linear);
    /// In what adapters are kept.
    AdapterType: ADAPTER_TYPE = "adapter_type" since 3, "Adapters kept in", AdapterType, recipe.adapter_type, needs Adapter | TypedAdapters,
        before |named| named.adapters().then_some(AdapterType::Half);
    /// Whether adapters drop parts of their inputs.
    AdapterDropout: ADAPTER_DROPOUT = "adapter_dropout" since 3, "Dropout of adapters", Switch, recipe.adapter_dropout, needs Adapter;
    /// In what weights beside quantized matrices are kept.
    Unquantized: UNQUANTIZED = "unquantized" since 3, "Unquantized weights", Unquantized, recipe.unquantized, needs QuantizedBase;
    /// What of the vision tower is trained.
    Tower: TOWER = "tower" since 3, "Tower’s weights", TowerTraining, recipe.images.tower, needs VisionTower;
    /// Whether the projector is trained.
    Projector: PROJECTOR = "projector" since 3, "Projector", ProjectorTraining, recipe.images.projector, needs VisionTower;
    /// What is trained for.
    Task: TASK = "task" since 3, "Task", TaskKind, task.kind;
    /// Where the reference or the teacher is.
    Reference: REFERENCE = "ref" since 3, "Reference or teacher", Reference, task.reference, needs FrozenModel;
    /// In what frozen models are kept.
    Frozen: FROZEN = "frozen" since 3, "Frozen models kept in", FrozenType, task.frozen, needs FrozenModel;
    /// What scores completions.
    Reward: REWARD = "reward" since 3, "Reward", RewardModel, task.reward, needs Completions;
    /// What generates completions.
    Rollout: ROLLOUT = "rollout" since 3, "Generated by", Rollout, task.rollout, needs Completions;
    /// How sequences of different lengths become a micro-batch.
    Lengths: LENGTHS = "lengths" since 3, "Lengths that vary", Batching, lengths.batching, read by All;
    /// How attention leaves padding out.
    PaddedAttention: PADDED_ATTENTION = "len_attn" since 3, "Padding in attention", PaddedAttention, lengths.attention, needs Padding | AttentionWithoutScores;
    /// The program that carries out a step.
    Engine: ENGINE = "engine" since 3, "Training engine", Engine, cluster.engine;
    /// What data-parallel GPUs shard.
    Zero: ZERO = "zero" since 1, "ZeRO stage", ZeroStage, cluster.zero, read by Paper;
    /// Whether LayerNorm and residual parts are split over the tensor-parallel GPUs.
    SequenceParallel: SEQUENCE_PARALLEL = "sp" since 1, "Sequence parallel", Switch, cluster.sequence_parallel, needs TensorParallel, read by Paper;
    /// How the caching allocator gets memory. A fragmentation that is the usual one follows.
    Segments: SEGMENTS = "segments" since 3, "Allocator segments", Segments, device.segments, |scenario, segments| {
        scenario.device = scenario.device.with_segments(segments);
    };
    /// The unit of the global batch.
    BatchUnit: BATCH_UNIT = "unit" since 1, "Unit of the global batch", BatchUnit, goal.unit;
    /// Recomputation of the chart's reference curves.
    ComparisonRecomputation: COMPARISON_RECOMPUTATION =
        "chart_recompute" since 1, "Recomputation of the reference curves", Recomputation, comparison.recomputation;
    /// The horizontal axis of the chart.
    ChartAxis: CHART_AXIS = "chart_axis" since 3, "Horizontal axis of the chart", ChartAxis, comparison.against;
    /// Whether the model is evaluated.
    Evaluation: EVALUATION = "eval" since 3, "Evaluation", Evaluation, outside.evaluation;
    /// Whether the evaluation generates.
    EvalGenerate: EVAL_GENERATE = "eval_generate" since 3, "Generation in evaluation", Switch, outside.eval_generate, needs Evaluation;
    /// Where a full state dict is gathered.
    Gather: GATHER = "gather" since 3, "Full state dict", Gather, outside.gather, needs DividedWeights;
    /// What of the states is gathered.
    Gathered: GATHERED = "gather_states" since 3, "Gathered", Gathered, outside.gathered, needs FullStateDict;
    /// How a checkpoint is written.
    Save: SAVE = "save" since 3, "Saving", Save, outside.save;
    /// How weights are read.
    Load: LOAD = "load" since 3, "Loading", Load, outside.load;
    /// How the optimizer’s state is read.
    Resume: RESUME = "resume" since 3, "Resuming", Resume, outside.resume;
    /// How adapters are merged.
    Merge: MERGE = "merge" since 3, "Merging adapters", Merge, outside.merge, needs Adapter;
    /// Which products run in fp8.
    Fp8: FP8 = "fp8" since 3, "Products in fp8", Fp8, recipe.fp8;
    /// What the host holds while the model is loaded.
    HostLoad: HOST_LOAD = "host_load" since 3, "Loading in CPU memory", HostLoad, host.load, needs HostMemory;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_can_be_set_and_read_back() {
        for setting in ALL {
            for option in setting.options {
                let scenario = setting.read(option.key, Scenario::workshop()).expect("a word of its own");
                assert_eq!(setting.get(&scenario), option.key);
                let word = setting.chosen(&scenario);
                assert_eq!((word.setting(), word.key()), (*setting, option.key));
                assert_eq!(word.apply(Scenario::workshop()), scenario);
                assert!(!option.label.is_empty() && !setting.effect(option.key).is_empty());
            }
        }
    }

    #[test]
    fn an_unknown_word_is_refused_with_those_that_are_known() {
        for setting in ALL {
            let message = setting.read("no such word", Scenario::workshop()).unwrap_err().to_string();
            assert!(message.starts_with(setting.name) && message.contains(&setting.keys()), "{message}");
        }
    }
}
