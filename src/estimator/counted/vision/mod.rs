//! A vision tower and its projector: weights, what their layers keep, and what they have while they run.
//!
//! It is counted as transformers 5.23.0 runs it under PyTorch's own training step. What a layer keeps was read from
//! saved-tensor hooks on its classes and counted in whole tensors; `tests/vectors/vision.json` has steps that PyTorch's
//! allocator has counted (tests/vectors/README.md).
//!
//! transformers puts no frozen tower under `torch.no_grad`: where neither its weights nor its pixels need a gradient,
//! autograd keeps nothing. But PEFT and Trainer call `enable_input_require_grads` for adapters with recomputation, which
//! also marks what the patch embedding puts out (transformers/modeling_utils.py), so that gradients run through a frozen
//! tower to nobody.

mod kept;
mod states;

use super::Assembly;
use super::forms;
use super::instants::StageInstants;
use super::types::{InputOf, Types, base_bytes};
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::source::Source;
use crate::vision::VisionWeights;
use crate::{
    Adapter, Engine, Kernels, ProjectorTraining, Recomputation, Scenario, Switch, Task, Tower, TowerTraining, Vision,
    formula::Expr,
};

/// The scenario as a model with a tower is run: without what is not counted beside one. [`Scenario::conflicts`] names it.
pub(super) fn as_run(mut run: Scenario) -> Scenario {
    if !run.model.vision.is_there() {
        return run;
    }
    let cluster = &mut run.cluster;
    (cluster.tensor_parallel, cluster.pipeline_parallel, cluster.context_parallel) = (1, 1, 1);
    cluster.sequence_parallel = Switch::Off;
    cluster.engine = Engine::Torch;
    run.task = Task::TRAIN;
    let recipe = &mut run.recipe;
    recipe.kernels = Kernels::Eager;
    if recipe.recomputation != Recomputation::None {
        recipe.recomputation = Recomputation::Full;
    }
    let adapted = recipe.adapter != Adapter::None;
    recipe.images.tower = match (recipe.images.tower, adapted) {
        (TowerTraining::Adapters, false) | (TowerTraining::Trained, true) => TowerTraining::Frozen,
        (other, _) => other,
    };
    run
}

/// Patches in the tower and tokens in the language model, of the images of one sequence.
pub(super) fn of_a_sequence(scenario: &Scenario) -> (f64, f64) {
    let images = &scenario.recipe.images;
    let (seen, count) = (images.seen(&scenario.model.vision), f64::from(images.count));
    (seen.patches as f64 * count, seen.tokens as f64 * count)
}

/// What stands behind a line: how many elements a patch, a token or a sequence has.
#[derive(Clone, Copy)]
enum Width {
    /// H_v a patch.
    Hidden,
    /// f_v a patch.
    Inner,
    /// So many a patch.
    Patch(f64),
    /// So many a token.
    Token(f64),
    /// So many a sequence.
    Sequence(f64),
}

/// A tensor that is kept.
#[derive(Clone, Copy)]
struct Kept {
    name: &'static str,
    width: Width,
    bytes: f64,
}

struct Counted<'a> {
    to: &'a mut Assembly,
    scenario: &'a Scenario,
    vision: Vision,
    weights: VisionWeights,
    at: StageInstants,
    /// Bytes of an element of a matrix product.
    element: f64,
    /// Of one that a norm reads: autocast runs LayerNorm in fp32, and RMSNorm is written in fp32.
    norm: f64,
    /// Of one of the residual stream.
    stream: f64,
    /// Of one inside a feed-forward block.
    inner: f64,
    autocast: bool,
    gated: bool,
    /// Whether gradients run through the tower.
    flows: bool,
    recomputed: bool,
}

/// Everything that images add to a step.
pub(super) fn assemble(to: &mut Assembly, scenario: &Scenario) {
    let at = StageInstants::with_tower();
    beside_the_tower(to, &at);
    let vision = scenario.model.vision;
    let recipe = &scenario.recipe;
    let Types { element, autocast, .. } = Types::of(scenario);
    let gated = vision.tower == Tower::Qwen25Vl;
    let layer_norm = if autocast { 4.0 } else { element };
    // Qwen's stream starts at a convolution, which autocast runs in 16 bits; others add a table of positions.
    let stream = match (autocast, vision.tower.keeps_shape()) {
        (true, false) => base_bytes(scenario),
        _ => element,
    };
    // A quantized matrix puts out what a norm in fp32 has given it.
    let inner = if recipe.adapter.is_quantized() && autocast && !gated { layer_norm } else { element };
    let recomputed = recipe.recomputation == Recomputation::Full;
    let hooked = recipe.adapter != Adapter::None && recomputed;
    let mut counted = Counted {
        to,
        scenario,
        vision,
        weights: vision.weights(scenario.model.hidden),
        at,
        element,
        norm: if gated { 4.0 } else { layer_norm },
        stream,
        inner,
        autocast,
        gated,
        flows: hooked || recipe.images.tower != TowerTraining::Frozen,
        recomputed,
    };
    counted.states();
    if recipe.images.count > 0 {
        counted.layers();
        counted.outside();
        counted.casts();
        counted.masks();
    }
    counted.gathered();
}

/// The lines of the language model that stand before are alive while the tower runs where they are alive before and
/// behind it: gradients that are there when the first layer and when the embedding runs backward, and weights, states
/// and tokens that are there from one forward pass to the end.
fn beside_the_tower(to: &mut Assembly, at: &StageInstants) {
    let [Some(forward), Some(last), Some(first)] = at.tower else { return };
    for line in &mut to.lines {
        let alive = line.alive;
        let kept = matches!(line.bucket, Bucket::Parameters | Bucket::Batch);
        let through = alive.contains(at.forward) && (alive.contains(at.step) || kept);
        if through {
            line.alive = line.alive.or(StageInstants::only(forward));
        }
        if alive.contains(at.first) && (alive.contains(at.end) || kept) {
            line.alive = line.alive.or(Instants::at(&[last, first]));
        }
    }
}

impl Counted<'_> {
    fn is_trained(&self) -> bool {
        self.scenario.recipe.images.tower == TowerTraining::Trained
    }

    fn has_adapters(&self) -> bool {
        self.scenario.recipe.images.tower == TowerTraining::Adapters
    }

    fn trains_projector(&self) -> bool {
        self.scenario.recipe.images.projector == ProjectorTraining::Trained
    }

    fn push(&mut self, kept: Kept, bucket: Bucket, layers: f64, alive: Instants, source: &'static Source) {
        let (shape, own): (&'static Expr, f64) = match kept.width {
            Width::Hidden => (&forms::TOWER_RESIDUAL, 1.0),
            Width::Inner => (&forms::TOWER_INNER, 1.0),
            Width::Patch(own) => (&forms::TOWER_OWN, own),
            Width::Token(own) => (&forms::IMAGE_OWN, own),
            Width::Sequence(own) => (&forms::SEQUENCE_OWN, own),
        };
        if kept.bytes * layers * own > 0.0 {
            self.to.lines.push(Line {
                coefficient: kept.bytes,
                layers,
                weights: own,
                ..Line::new(kept.name, bucket, shape, source, alive)
            });
        }
    }

    /// From the end of the forward pass until the tower's last layer has run backward.
    fn until_the_tower(&self) -> Instants {
        let last = Instants::among(&[self.at.tower[1]]);
        self.at.all_layers_kept().or(StageInstants::only(self.at.first)).or(last)
    }

    fn backward(&self) -> Instants {
        Instants::among(&[self.at.tower[1], self.at.tower[2]])
    }

    /// How a matrix keeps what it reads, `products` of them the same tensor: trained, beside adapters, or not at all.
    /// Autocast makes a copy for each product of what a norm puts out in fp32.
    fn read(&self, trained: bool, products: f64) -> f64 {
        if trained {
            return self.element * if self.autocast { products } else { 1.0 };
        }
        if !self.has_adapters() {
            return 0.0;
        }
        match InputOf::of(self.scenario) {
            InputOf::OwnCopy(bytes) => bytes * products,
            _ => self.element,
        }
    }

    fn adapter_element(&self) -> f64 {
        if let InputOf::OwnCopy(bytes) = InputOf::of(self.scenario) { bytes } else { self.element }
    }
}
