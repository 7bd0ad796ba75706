//! Weights of the tower and its projector, their gradients, their states and their copies.

use super::Counted;
use crate::estimator::counted::forms;
use crate::estimator::counted::instants::StageInstants;
use crate::estimator::counted::optimizer::moment_bytes;
use crate::estimator::counted::small;
use crate::estimator::counted::states::{Kind, StateBytes, frozen_bytes, gathered_bytes, gradients_persist};
use crate::estimator::counted::types::base_bytes;
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::estimator::meaning::Part;
use crate::source::TRANSFORMERS;
use crate::vision::{LLAMA_4_OUTPUT, VisionWeights};
use crate::{Adapter, Optimizer, Precision, StepKernel, Tensors, Tower, ZeroStage, formula::Expr};

impl Counted<'_> {
    fn own(&mut self, name: &'static str, bucket: Bucket, bytes: f64, weights: f64, alive: Instants) {
        if bytes * weights > 0.0 {
            let shape: &'static Expr = match bucket {
                Bucket::Parameters => &forms::COUNTED.parameters,
                Bucket::Gradients => &forms::COUNTED.gradients,
                Bucket::Optimizer => &forms::COUNTED.optimizer,
                _ => &forms::OWN_WEIGHTS,
            };
            let line = Line::new(name, bucket, shape, &TRANSFORMERS, alive);
            self.to.lines.push(Line { coefficient: bytes, weights, ..line });
        }
    }

    /// Weights of the tower and the projector that have a gradient, and beside them those that are trained at all.
    pub(super) fn states(&mut self) {
        let (recipe, at) = (self.scenario.recipe, self.at);
        let VisionWeights { matrices, small, rest, projector } = self.weights;
        let layers = f64::from(self.vision.layers);
        let [matrices, small, rest, projector] = [matrices, small, rest, projector].map(|count| count as f64);
        let bytes = StateBytes::of(self.scenario);
        let always = at.always();
        let (trained, projects) = (self.is_trained(), self.trains_projector());
        let held = |kind| match (trained, frozen_bytes(self.scenario, kind)) {
            (false, Some((bytes, _))) => bytes,
            _ => bytes.weight,
        };
        let (inside, outside) = (held(Kind::Attention), held(Kind::Small));
        // Gemma 3's projector is no layer that could be quantized.
        let projected = if self.vision.tower == Tower::Gemma3 { Kind::Small } else { Kind::Attention };
        let projected = frozen_bytes(self.scenario, projected).map_or(bytes.weight, |(bytes, _)| bytes);
        if inside == outside {
            self.own("Vision tower", Bucket::Parameters, inside, layers * (matrices + small) + rest, always);
        } else {
            self.own("Matrices of the vision tower", Bucket::Parameters, inside, layers * matrices, always);
            self.own("Rest of the vision tower", Bucket::Parameters, outside, layers * small + rest, always);
        }
        self.own("Projector", Bucket::Parameters, projected, projector, always);
        let used = f64::from(self.vision.used_layers());
        let persist = gradients_persist(self.scenario);
        let late = Instants::at(&[at.end, at.step]);
        let whole = if persist { always } else { late.or(Instants::among(&[at.tower[2]])) };
        let adapted = recipe.adapter != Adapter::None;
        if trained {
            self.trained("Vision tower", Kind::Attention, &bytes, used * matrices, whole);
            let blocks = self.vision.small_tensors().into_iter();
            let blocks = blocks.map(|one| Tensors { count: one.count * u64::from(self.vision.used_layers()), ..one });
            let tensors: Vec<Tensors> = blocks.chain(self.vision.outside_blocks()).collect();
            let moments = small::moments(recipe.optimizer, &tensors, &bytes);
            let moments: Vec<_> = moments.into_iter().map(|(moments, weights, _)| (moments, weights)).collect();
            self.trained_with("Rest of the vision tower", &moments, &bytes, whole);
            if !persist {
                let one = Instants::among(&[at.tower[1]]);
                let before = self.to.lines.len();
                self.own("Gradients of one layer of the tower", Bucket::Gradients, bytes.gradient, matrices, one);
                self.to.are(Part::Waiting, before);
            }
        }
        if projects {
            // PEFT trains a copy beside the frozen one (`ModulesToSaveWrapper` in peft/utils/other.py, 0.21.2).
            if adapted {
                self.own("Projector, the copy that is trained", Bucket::Parameters, bytes.weight, projector, always);
            }
            let alive = if persist { always } else { late.or(self.backward()) };
            self.trained("Projector", Kind::Attention, &bytes, projector, alive);
        }
        if self.has_adapters() {
            let adapters = self.adapters();
            self.own("Adapters of the tower and the projector", Bucket::Parameters, bytes.weight, adapters, always);
            self.trained("Adapters of the tower and the projector", Kind::Adapters, &bytes, adapters, whole);
        }
    }

    /// Gradients, master copies and moments of one kind.
    fn trained(&mut self, name: &'static str, kind: Kind, bytes: &StateBytes, weights: f64, alive: Instants) {
        let (moments, _) = moment_bytes(self.scenario.recipe.optimizer, kind, bytes);
        self.trained_with(name, &[(moments, weights)], bytes, alive);
    }

    /// The same where some of the weights have other moments: bytes of a weight's moments, and how many weights have them.
    fn trained_with(&mut self, name: &'static str, moments: &[(f64, f64)], bytes: &StateBytes, alive: Instants) {
        let (recipe, always) = (self.scenario.recipe, self.at.always());
        let (offloaded, optimizer, step) = (recipe.offload.takes_optimizer(), recipe.optimizer, recipe.step);
        let weights = moments.iter().map(|(_, weights)| weights).sum();
        let before = self.to.lines.len();
        self.own(name, Bucket::Gradients, bytes.gradient, weights, alive);
        self.to.are(Part::Waiting, before);
        if offloaded {
            return;
        }
        for (moments, weights) in moments {
            self.own(name, Bucket::Optimizer, bytes.master + moments, *weights, always);
        }
        if optimizer == Optimizer::AdamW && step == StepKernel::Foreach {
            let own = weights / self.to.optimizer_shards;
            let step = StageInstants::only(self.at.step);
            self.own("Root of the tower’s second moments", Bucket::Temporary, bytes.moment, own, step);
        }
    }

    /// Elements of the adapters that “all-linear” puts beside the matrices of the tower and of the projector
    /// (`_maybe_include_all_linear_layers` in peft/tuners/tuners_utils.py, 0.21.2). Convolutions and Gemma 3's bare
    /// parameter are no linear layers.
    fn adapters(&self) -> f64 {
        let rank = f64::from(self.scenario.recipe.rank);
        let [h, f, t] = [self.vision.hidden, self.vision.feed_forward, self.scenario.model.hidden].map(f64::from);
        let attention = if self.vision.tower.keeps_shape() { 6.0 * h } else { 8.0 * h };
        let matrices = if self.gated { 3.0 } else { 2.0 };
        let block = attention + matrices * (h + f);
        let outside = match self.vision.tower {
            Tower::Qwen2Vl | Tower::Qwen25Vl => 12.0 * h + t,
            Tower::Llava | Tower::LlavaNext => h + 3.0 * t,
            Tower::Llama4 => self.vision.numbers() as f64 + h + f + 4.0 * LLAMA_4_OUTPUT as f64 + t,
            Tower::Gemma3 | Tower::None => 0.0,
        };
        rank * (f64::from(self.vision.layers) * block + outside)
    }

    /// Autocast's 16-bit copies of fp32 weights, as long as the backward pass will read them.
    pub(super) fn casts(&mut self) {
        let in_fp32 = self.scenario.recipe.precision == Precision::Autocast && base_bytes(self.scenario) > 2.0;
        let read = self.is_trained() || (self.flows && !self.scenario.recipe.adapter.is_quantized());
        if !in_fp32 {
            return;
        }
        let matrices = self.weights.matrices as f64;
        let all = matrices * f64::from(self.vision.used_layers());
        let (all_name, backward) = ("16-bit casts of the tower’s matrices", self.backward());
        if read && self.recomputed {
            self.own("16-bit casts of one layer of the tower", Bucket::Temporary, 2.0, matrices, backward);
            // A cache has those of weights that are trained until the forward pass ends.
            let cached = if self.is_trained() { all } else { 0.0 };
            let logits = StageInstants::only(self.at.logits);
            self.own(all_name, Bucket::Temporary, 2.0, cached, logits);
        } else if read {
            let until = self.until_the_tower();
            self.own(all_name, Bucket::Temporary, 2.0, all, until);
        }
        let projector = if self.trains_projector() || self.flows { self.weights.projector as f64 } else { 0.0 };
        let until = self.until_the_tower();
        self.own("16-bit casts of the projector", Bucket::Temporary, 2.0, projector, until);
    }

    /// FSDP gathers two blocks at a time, and what stands outside the blocks with the root unit.
    pub(super) fn gathered(&mut self) {
        if self.scenario.cluster.zero != ZeroStage::Stage3 || self.to.parameter_shards <= 1.0 {
            return;
        }
        let bytes = gathered_bytes(self.scenario, Kind::Small);
        let VisionWeights { matrices, small, rest, projector } = self.weights;
        let (in_passes, in_tower) = (self.at.in_passes().or(self.at.in_tower()), self.at.in_tower());
        let (root, blocks) = ((rest + projector) as f64, 2.0 * (matrices + small) as f64);
        self.own("Gathered ends of the tower, and projector", Bucket::Temporary, bytes, root, in_passes);
        self.own("Gathered layers of the tower", Bucket::Temporary, bytes, blocks, in_tower);
    }
}
