//! What several targets cannot say, and what they do instead.

use super::Run;
use super::division::{Resharding, one_stage, resharding, shards, sharing};
use crate::format::{count, counted};
use crate::{Adapter, Engine, ExpertMatrices, GradientType, Logits, Precision, Recomputation, Scenario, ZeroStage};

/// What several targets have in common. Each names the program that cannot do it.
impl Run {
    /// Divisions of the work that a program does not have.
    pub(in crate::export) fn without_pipeline(&mut self, program: &str) {
        let stages = self.now.cluster.pipeline_parallel;
        if stages > 1 {
            self.change(&format!("{program} has no pipeline: the {stages} stages become data-parallel GPUs"), |s| {
                one_stage(&mut s.cluster);
            });
        }
    }

    /// The program that carries out a step, with what it holds beside the tensors.
    pub(in crate::export) fn carried_out_by(&mut self, engine: Engine) {
        let sentence = format!(
            "{} carries out the step and not {}: what it holds beside the tensors is counted",
            program_of(engine),
            program_of(self.now.cluster.engine)
        );
        self.change(&sentence, |s| s.cluster.engine = engine);
    }

    /// Stages of a pipeline that hold one chunk of layers each.
    pub(in crate::export) fn without_interleaving(&mut self, program: &str) {
        let chunks = self.now.cluster.virtual_stages;
        if self.now.cluster.pipeline_parallel > 1 {
            self.change(&format!("{program}’s stages hold one chunk of layers, not {chunks}"), |s| {
                s.cluster.virtual_stages = 1;
            });
        }
    }

    /// Stages of a pipeline that hold the same number of layers.
    pub(in crate::export) fn with_even_stages(&mut self, why: &str) {
        if self.now.cluster.pipeline_parallel > 1 {
            self.change(why, |s| {
                s.cluster.first_stage_layers = 0;
                s.cluster.last_stage_layers = 0;
            });
        }
    }

    /// Whether there is a layer for each stage.
    pub(in crate::export) fn stages_have_layers(&mut self, program: &str) {
        let (layers, stages) = (self.now.model.layers, self.now.cluster.pipeline_parallel);
        if stages > layers {
            self.differs(format!(
                "{} cannot make {} pipeline stages: {program} refuses them.",
                counted(layers, "layer", "layers"),
                count(stages)
            ));
        }
    }

    /// Weights that are divided over all GPUs again between the passes, or over none.
    pub(in crate::export) fn reshards_to_no_group(&mut self, program: &str) {
        if let Resharding::Group(group) = resharding(&self.now) {
            let sentence = format!(
                "{program} divides weights between the passes over all GPUs or keeps them whole, and knows no groups \
                 of {group}: over all of them here"
            );
            self.change(&sentence, |s| s.cluster.reshard = 0);
        }
    }

    /// Weights that are divided again as soon as a layer is through, whatever was asked.
    pub(in crate::export) fn reshards_always(&mut self, program: &str) {
        if self.now.cluster.zero == ZeroStage::Stage3 && shards(&self.now) {
            self.change(&format!("{program} divides weights over all GPUs again as soon as they are used"), |s| {
                s.cluster.reshard = 0;
            });
        }
    }

    /// A training loop that the reader does not write.
    pub(in crate::export) fn lets_go_of_logits(&mut self, why: &str) {
        self.change(why, |s| s.recipe.logits = Logits::Dropped);
    }

    /// A training loop that the reader writes. `backward` is the call that runs the backward pass there.
    pub(in crate::export) fn logits_in_the_loop(&mut self, backward: &str) {
        let whole = self.now.recipe.loss.makes_all_logits();
        if whole && self.now.recipe.logits != Logits::Dropped {
            let cast =
                if self.now.recipe.logits == Logits::KeptFull { ", which a model casts to fp32 itself" } else { "" };
            self.elsewhere(format!(
                "Logits that are still held{cast}: outputs = model(…), then {backward} while outputs exists."
            ));
        } else if whole {
            self.elsewhere(format!(
                "The loop holds the loss alone: loss = model(…).loss, then {backward}. A variable with the model’s \
                 output would keep the logits."
            ));
        }
    }

    /// A program whose 16-bit types are those of all weights.
    pub(in crate::export) fn casts_frozen_weights(&mut self, program: &str) {
        self.change(&format!("{program} makes 16-bit weights of frozen ones as well"), |s| {
            if frozen_in_fp32(s) {
                s.recipe.adapter = Adapter::Lora;
            }
        });
    }

    /// Frozen fp32 weights beside products of 16 bits.
    pub(in crate::export) fn computes_under_autocast(&mut self, why: &str) {
        self.change(why, |s| {
            if frozen_in_fp32(s) {
                s.recipe.precision = Precision::Autocast;
            }
        });
    }

    /// Gradients that have the type of the weights, as autograd makes them.
    pub(in crate::export) fn adds_up_as_autograd_does(&mut self, program: &str) {
        self.change(&format!("{program} adds gradients up in the type of the weights"), |s| {
            if s.recipe.precision == Precision::PureBf16 {
                s.recipe.gradients = GradientType::Half;
            }
        });
    }

    /// How uneven the load of experts is, which their router decides.
    pub(in crate::export) fn routing(&mut self) {
        if self.now.model.experts.count > 0 && self.now.recipe.imbalance > 1.0 {
            self.elsewhere(format!(
                "The busiest experts get {} times the mean number of tokens: the router decides that, and no setting.",
                crate::number::fixed(self.now.recipe.imbalance, 2)
            ));
        }
    }

    pub(in crate::export) fn without_tensor_parallel(&mut self, program: &str) {
        let size = self.now.cluster.tensor_parallel;
        self.change(
            &format!("{program} does not divide matrices: {size} tensor-parallel GPUs become data-parallel"),
            |scenario| {
                scenario.cluster.tensor_parallel = 1;
                scenario.cluster.sequence_parallel = crate::Switch::Off;
            },
        );
    }

    pub(in crate::export) fn without_context_parallel(&mut self, program: &str) {
        let size = self.now.cluster.context_parallel;
        self.change(
            &format!("{program} does not divide sequences: {size} context-parallel GPUs become data-parallel"),
            |scenario| scenario.cluster.context_parallel = 1,
        );
    }

    pub(in crate::export) fn without_expert_parallel(&mut self, program: &str) {
        // A GPU with all experts has the load of all of them, however uneven it is.
        let experts = self.now.model.experts.count > 0;
        self.change(&format!("{program} does not divide experts: every GPU holds all of them"), |scenario| {
            scenario.cluster.expert_parallel = 1;
            if experts {
                scenario.recipe.imbalance = 1.0;
            }
        });
    }

    /// `MixtralExperts` and the like in transformers 5.23.0; read beside adapters only.
    pub(in crate::export) fn with_experts_in_stacks(&mut self) {
        self.change("transformers 5 holds the experts of a layer in one stack", |scenario| {
            if scenario.model.experts.count > 0 && scenario.recipe.adapter != Adapter::None {
                scenario.recipe.expert_matrices = ExpertMatrices::Stacked;
            }
        });
    }

    /// Recomputation of whole layers or of nothing, which is what most programs have.
    pub(in crate::export) fn recomputes_layers_only(&mut self, program: &str) {
        match self.now.recipe.recomputation {
            Recomputation::None | Recomputation::Full => {}
            Recomputation::Selective if self.now.recipe.attention == crate::AttentionKernel::Flash => {
                // Flash attention computes its scores again by itself: the two words mean the same run.
                self.now.recipe.recomputation = Recomputation::None;
                self.remarks.push(
                    "Selective recomputation: flash attention computes its scores again by itself, so that nothing \
                     has to be set."
                        .to_owned(),
                );
            }
            Recomputation::Selective => self.change(
                &format!("{program} cannot recompute attention scores alone: nothing is recomputed"),
                |scenario| scenario.recipe.recomputation = Recomputation::None,
            ),
            Recomputation::Operators | Recomputation::EveryK | Recomputation::KthLayer | Recomputation::Block => {
                self.change(&format!("{program} recomputes every layer or none: every layer here"), |scenario| {
                    scenario.recipe.recomputation = Recomputation::Full;
                });
            }
        }
    }

    /// Single layers that are computed again: the first of each stage in place of every K-th, as many.
    pub(in crate::export) fn recomputes_first_layers(&mut self, program: &str) {
        let sentence = format!("{program} recomputes the first layers of each chunk in place of every K-th, as many");
        self.change(&sentence, |s| {
            if s.recipe.recomputation == Recomputation::KthLayer {
                let layers = s.model.layers / s.cluster.pipeline_parallel.max(1);
                let again = layers / s.recipe.every.max(1) / s.cluster.virtual_stages.max(1);
                s.recipe.recomputed_layers = again.max(1);
                s.recipe.recomputation = if again > 0 { Recomputation::Block } else { Recomputation::None };
            }
        });
    }

    /// Single layers that are computed again: every K-th in place of the first of each stage, at least as
    /// many.
    pub(in crate::export) fn recomputes_kth_layers(&mut self, program: &str) {
        let sentence = format!("{program} recomputes every K-th layer in place of the first, at least as many");
        self.change(&sentence, |s| {
            if s.recipe.recomputation == Recomputation::Block {
                let layers = s.model.layers / s.cluster.pipeline_parallel.max(1);
                let again = s.recipe.recomputed_layers.saturating_mul(s.cluster.virtual_stages).max(1);
                s.recipe.every = (layers / again).max(1);
                s.recipe.recomputation = if s.recipe.every > 1 { Recomputation::KthLayer } else { Recomputation::Full };
            }
        });
    }

    /// No offload of activations.
    pub(in crate::export) fn keeps_activations_on_the_gpu(&mut self, program: &str) {
        self.change(&format!("{program} has no setting that swaps layer inputs to the host"), |scenario| {
            // Weights in CPU memory are the business of another change; each is tried alone, too.
            if !scenario.recipe.offload.takes_parameters() {
                scenario.recipe.offload = scenario.recipe.offload.without_activations();
            }
        });
    }

    /// Gradients are divided as soon as the optimizer state is.
    pub(in crate::export) fn shards_gradients_with_states(&mut self, program: &str) {
        self.change(&format!("{program} divides gradients as soon as it divides optimizer state"), |scenario| {
            if scenario.cluster.zero == ZeroStage::Stage1 && sharing(scenario) > 1 {
                scenario.cluster.zero = ZeroStage::Stage2;
            }
        });
    }
}

/// What a program is called where it carries out a step.
const fn program_of(engine: Engine) -> &'static str {
    match engine {
        Engine::Torch => "PyTorch alone",
        Engine::Torchtitan => "torchtitan",
        Engine::Megatron => "Megatron-LM",
        Engine::DeepSpeed => "DeepSpeed",
    }
}

/// Frozen fp32 weights in a recipe whose weights have 16 bits.
const fn frozen_in_fp32(scenario: &Scenario) -> bool {
    let half = matches!(scenario.recipe.precision, Precision::Bf16 | Precision::Fp16 | Precision::PureBf16);
    half && matches!(scenario.recipe.adapter, Adapter::LoraFp32)
}
