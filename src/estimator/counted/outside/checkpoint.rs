//! Weights and states on their way into a checkpoint and out of one, and adapters that are merged.

use super::Counted;
use crate::estimator::counted::copies::largest_quantized;
use crate::estimator::counted::instants::StageInstants;
use crate::estimator::counted::matrices::Largest;
use crate::estimator::counted::optimizer::moment_bytes;
use crate::estimator::counted::states::{Kind, StateBytes, frozen_bytes, in_blocks, most_of_a_layer};
use crate::estimator::ledger::{Bucket, Instants};
use crate::estimator::meaning::Part;
use crate::source::{DEEPSPEED, PEFT, PYTORCH, STATE_DICT, Source, TRAINER};
use crate::{Adapter, AdapterTargets, Engine, Gather, Gathered, Load, Merge, Optimizer, Outside, Resume, StepKernel};

impl Counted<'_> {
    /// Elements of the largest tensor.
    fn largest(&self) -> f64 {
        Largest::of(self.scenario, self.weights, self.stage).any()
    }

    /// Bytes of a weight as the model holds it.
    fn held(&self, kind: Kind) -> f64 {
        match frozen_bytes(self.scenario, kind) {
            Some((bytes, _)) => bytes,
            None => StateBytes::of(self.scenario).weight,
        }
    }

    /// Bytes of a weight of the largest tensor.
    fn held_in_the_largest(&self) -> f64 {
        [Kind::Attention, Kind::Embedding, most_of_a_layer(self.stage)]
            .map(|kind| self.held(kind))
            .into_iter()
            .fold(0.0, f64::max)
    }

    /// Weights of the whole model, inside the blocks and outside them.
    fn whole(&self) -> [f64; 2] {
        let (all, ends) =
            (self.to.stage_weights(self.weights, self.stage), self.to.end_weights(self.weights, self.stage));
        [all - ends, ends]
    }

    /// All weights as the model holds them: bytes of each inside the blocks, and outside them.
    fn copied(&mut self, names: [&'static str; 2], ends: f64, alive: Instants, source: &'static Source) {
        let inside = in_blocks(self.to, self.weights, self.stage, |kind| self.held(kind));
        for (bytes, weights) in inside {
            self.to.own(names[0], Bucket::Parameters, bytes, weights, alive, source);
        }
        let outside = self.held(Kind::Embedding);
        self.to.own(names[1], Bucket::Parameters, outside, ends, alive, source);
    }

    /// A full state dict: `full_tensor` of one tensor after another, which stay on the GPU or go to CPU memory
    /// (`_gather_state_dict` in torch/distributed/_state_dict_utils.py, PyTorch 2.15). DeepSpeed gathers the tensors of one
    /// module (`_zero3_consolidated_16bit_state_dict` in deepspeed/runtime/engine.py).
    pub(super) fn gathering(&mut self) {
        let scenario = self.scenario;
        let Outside { gather, gathered, .. } = scenario.outside;
        let [at_weights, at_states] = self.stage.at.outside.gather;
        let Some(at_weights) = at_weights else { return };
        let deepspeed = scenario.cluster.engine == Engine::DeepSpeed;
        let source: &'static Source = if deepspeed { &DEEPSPEED } else { &STATE_DICT };
        let [blocks, ends] = self.whole();
        let at = StageInstants::only(at_weights);
        // Only weights that are divided are gathered, and their optimizer state is divided as well.
        if gather == Gather::Gpu {
            // A tied head stands in it under its own name and is gathered once more.
            let tied = if self.scenario.model.tied_embeddings.is_on() { 2.0 * ends } else { ends };
            self.copied(["Full state dict", "Full state dict, embedding and head"], tied, at, source);
        } else {
            let bytes = if deepspeed { StateBytes::of(scenario).compute } else { self.held_in_the_largest() };
            self.to.own("One tensor, gathered", Bucket::Parameters, bytes, self.largest(), at, source);
        }
        let Some(at_states) = at_states.filter(|_| gathered == Gathered::All) else { return };
        if scenario.recipe.offload.takes_optimizer() {
            return;
        }
        let at = StageInstants::only(at_states);
        let bytes = StateBytes::of(scenario);
        let adapters = scenario.recipe.adapter != Adapter::None;
        let (moments, _) = moment_bytes(scenario.recipe.optimizer, Kind::Attention, &bytes);
        let (all, largest) = if adapters {
            let one = self.to.adapter_weights_of_one_layer(scenario, self.stage);
            (self.to.adapter_weights(scenario, self.stage), one)
        } else {
            (blocks + ends, self.largest())
        };
        let before = self.to.lines.len();
        if gather == Gather::Gpu {
            let each = moments + bytes.master;
            self.to.own("Optimizer state, gathered", Bucket::Optimizer, each, all, at, source);
        } else if moments > 0.0 {
            // One moment of the largest weight.
            let one = bytes.moment.min(moments);
            self.to.own("One tensor of the state, gathered", Bucket::Optimizer, one, largest, at, source);
        }
        self.to.are(Part::GatheredState, before);
    }

    /// peft's merge, matrix by matrix: the product of the two thin matrices and the same times their scale, beside what
    /// the way of merging has (`get_delta_weight` and `merge` in peft/tuners/lora/layer.py and bnb.py, 0.21.2).
    pub(super) fn merging(&mut self) {
        let Some(at) = self.stage.at.outside.merge.map(StageInstants::only) else { return };
        let scenario = self.scenario;
        let recipe = &scenario.recipe;
        let delta = StateBytes::of(scenario).weight;
        let held = self.held(Kind::Attention);
        // A stack of experts is larger than any quantized matrix, and is not quantized itself.
        let stacks = self.merges_stacks();
        let quantized = recipe.adapter.is_quantized() && !stacks;
        let merge = scenario.outside.merge;
        let largest = self.largest_adapted();
        let passing = Bucket::Temporary;
        if quantized && merge != Merge::Whole {
            // The sum goes to CPU memory and comes back to be quantized, while the loop holds what it was made of.
            let (sum, eight) = (delta.max(2.0), recipe.adapter == Adapter::Lora8);
            let back = if eight { 2.0 } else { sum };
            self.to.own(
                "One matrix, dequantized to be merged",
                passing,
                if eight { 4.0 } else { 2.0 },
                largest,
                at,
                &PEFT,
            );
            self.to.own("Product of one adapter", passing, delta, largest, at, &PEFT);
            self.to.own("Their sum, and the same to be quantized", passing, sum + back, largest, at, &PEFT);
            self.to.own("One matrix, quantized anew", passing, held, largest, at, &PEFT);
            return;
        }
        self.to.own("Product of one adapter, and scaled", passing, 2.0 * delta, largest, at, &PEFT);
        if merge == Merge::Whole {
            // Quantized matrices go as their 16-bit copies come.
            let (weights, stage) = (self.weights, self.stage);
            let small = stage.layers() * (weights.norms + weights.biases) as f64
                + stage.expert_layers * weights.router as f64
                + (weights.final_norm + weights.positions) as f64;
            let [blocks, _] = self.whole();
            // A stack of experts is no quantized matrix.
            let stacks = if recipe.stacks_experts(&scenario.model) {
                stage.expert_layers * self.to.expert_weights(weights, stage)
            } else {
                0.0
            };
            self.to.own("What dequantizing adds", Bucket::Parameters, 2.0 - held, blocks - small - stacks, at, &PEFT);
        } else if merge == Merge::Safe {
            let held = if stacks { self.held(Kind::Experts) } else { held };
            self.to.own("Copy of one matrix", passing, held, largest, at, &PEFT);
        }
    }

    /// Whether adapters of stacks are merged.
    fn merges_stacks(&self) -> bool {
        self.scenario.recipe.adapts_stacks(&self.scenario.model) && self.stage.expert_layers > 0.0
    }

    /// Elements of the largest matrix that has an adapter.
    fn largest_adapted(&self) -> f64 {
        let model = &self.scenario.model;
        let [h, d] = [model.hidden, model.head_dim].map(f64::from);
        let attention = h * d * f64::from(model.heads);
        let stage = self.stage;
        match self.scenario.recipe.targets {
            // peft makes the product of a whole stack (`get_delta_weight` of `ParamWrapper` in tuners/lora/layer.py, 0.21.2).
            AdapterTargets::All if self.merges_stacks() => {
                let first = if model.mlp.is_gated() { 2.0 } else { 1.0 };
                attention.max(first * f64::from(model.experts.count) * h * f64::from(model.expert_width()))
            }
            AdapterTargets::All => {
                let dense = if stage.dense_layers > 0.0 { model.feed_forward } else { 0 };
                let experts =
                    if stage.expert_layers > 0.0 { model.expert_width().max(model.experts.shared_width) } else { 0 };
                attention.max(h * f64::from(dense.max(experts)))
            }
            _ => attention,
        }
    }

    /// Weights that are read into the model. Nothing but the model is there where they come tensor by tensor
    /// (`from_pretrained` in transformers/modeling_utils.py, 5.23.0); divided, each is whole before it is
    /// (`fsdp2_load_full_state_dict` in accelerate/utils/fsdp_utils.py, 1.15.0).
    pub(super) fn loading(&mut self) {
        let at = self.stage.at.outside;
        let Some(load) = at.load else { return };
        let scenario = self.scenario;
        let alive = StageInstants::only(load);
        if scenario.outside.load == Load::Gpu {
            // A variable holds what was read while the optimizer's state is read to the GPU as well.
            let resumed = at.resume.filter(|_| scenario.outside.resume == Resume::Gpu);
            let alive = Instants::among(&[Some(load), resumed]);
            let [_, ends] = self.whole();
            self.copied(["Weights as they were read", "Embedding and head as they were read"], ends, alive, &TRAINER);
        } else if scenario.recipe.adapter.is_quantized() {
            let one = largest_quantized(scenario, self.weights, self.stage);
            self.to.own("One matrix, before it is quantized", Bucket::Temporary, 2.0, one, alive, &TRAINER);
        } else if self.to.parameter_shards > 1.0 {
            let bytes = self.held_in_the_largest();
            self.to.own("One tensor, before it is divided", Bucket::Temporary, bytes, self.largest(), alive, &TRAINER);
        }
    }

    /// State that is read for the optimizer: `load_state_dict` takes tensors that are on the GPU in the type of the weights
    /// as they are (`_process_value_according_to_param_policy` in torch/optim/optimizer.py, PyTorch 2.15), and
    /// bitsandbytes copies them (`load_state_dict` in bitsandbytes/optim/optimizer.py, 0.50.2).
    pub(super) fn resuming(&mut self) {
        let Some(at) = self.stage.at.outside.resume.map(StageInstants::only) else { return };
        let scenario = self.scenario;
        let recipe = &scenario.recipe;
        if recipe.offload.takes_optimizer() {
            return;
        }
        let bytes = StateBytes::of(scenario);
        let updated = self.to.updated_weights(scenario, self.weights, self.stage);
        match scenario.outside.resume {
            Resume::Gpu if recipe.optimizer == Optimizer::Adam8bit => {
                let (moments, source) = moment_bytes(recipe.optimizer, Kind::Attention, &bytes);
                self.to.own("State as it was read", Bucket::Optimizer, moments, updated, at, source);
            }
            Resume::Init => {
                let (to, stage) = (&*self.to, self.stage);
                let own = if recipe.adapter == Adapter::None {
                    to.divided_weights(self.weights, stage, to.parameter_shards, to.expert_parameter_shards)
                } else {
                    to.all_adapter_weights(scenario, stage) / to.parameter_shards
                };
                self.to.own("Gradients of zeros", Bucket::Gradients, bytes.weight, own, at, &STATE_DICT);
                if recipe.optimizer == Optimizer::AdamW && recipe.step == StepKernel::Foreach {
                    let name = "Root of the moments, of zeros";
                    self.to.own(name, Bucket::Temporary, bytes.moment, updated, at, &PYTORCH);
                }
            }
            _ => {}
        }
    }
}
