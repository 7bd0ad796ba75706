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

use super::Assembly;
use super::forms;
use super::instants::StageInstants;
use super::optimizer::moment_bytes;
use super::states::{Kind, StateBytes, frozen_bytes, gathered_bytes, gradients_persist};
use super::types::{InputOf, Types, base_bytes};
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::source::{FLASH, PYTORCH, Source, TRANSFORMERS};
use crate::vision::{LLAMA_4_OUTPUT, VisionWeights};
use crate::{
    Adapter, AttentionKernel, Engine, Kernels, Optimizer, Precision, ProjectorTraining, Recipe, Recomputation,
    Scenario, StepKernel, Switch, Task, Tower, TowerTraining, Vision, ZeroStage, formula::Expr,
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

    /// What one block keeps of each patch.
    fn block(&self) -> Vec<Kept> {
        let (e, trained) = (self.element, self.is_trained());
        let qwen = self.vision.tower.keeps_shape();
        let mut kept = Vec::with_capacity(16);
        let mut push = |name, width, bytes| kept.push(Kept { name, width, bytes });
        push("Tower: inputs of the norms", Width::Hidden, 2.0 * self.norm);
        if self.gated && trained {
            push("Tower: normalized inputs", Width::Hidden, 2.0 * e);
        }
        let (attention, fed) = (if qwen { 1.0 } else { 3.0 }, if self.gated { 2.0 } else { 1.0 });
        let outputs = self.read(trained, attention) + self.read(trained, fed);
        push("Tower: outputs of the norms, inputs of the products", Width::Hidden, outputs);
        // Queries, keys and values; where one product makes them, rotated ones stand beside the whole of it.
        push("Tower: queries, keys and values", Width::Hidden, if qwen { 5.0 } else { 3.0 } * e);
        let eager = self.scenario.recipe.attention == AttentionKernel::Eager;
        // Qwen's code joins the outputs of windows or images, and the product reads the copy.
        let joined = qwen || eager;
        if !eager || qwen {
            push("Tower: attention output", Width::Hidden, e);
        }
        let copy = if self.is_trained() { if joined { e } else { 0.0 } } else { self.read(false, 1.0) };
        push("Tower: input of the output projection", Width::Hidden, copy);
        if eager {
            // The softmax in fp32 and its copy for the product with the values.
            let scores = if e < 4.0 { 4.0 + e } else { 4.0 };
            push("Tower: softmax of the attention scores", Width::Sequence(self.scores()), scores);
        } else {
            push("Tower: log-sum-exp of each row", Width::Patch(self.vision.heads.into()), 4.0);
        }
        // Gated: both factors and the activation. QuickGELU: its input and a sigmoid.
        let inner = match self.vision.tower {
            Tower::Qwen25Vl => 3.0,
            Tower::Qwen2Vl | Tower::Llava | Tower::LlavaNext => 2.0,
            _ => 1.0,
        };
        let inner = inner * self.inner + self.read(trained, 1.0);
        push("Tower: inside the feed-forward block", Width::Inner, inner);
        if self.has_adapters() {
            let adapters = attention + 1.0 + fed + 1.0;
            let rank = Width::Patch(self.scenario.recipe.rank.into());
            push("Tower: outputs of the adapters’ first matrices", rank, adapters * self.adapter_element());
            if self.scenario.recipe.adapter_dropout.is_on() {
                push("Tower: masks of the adapters’ dropout", Width::Hidden, attention + 1.0 + fed);
                push("Tower: masks of the adapters’ dropout, inside the block", Width::Inner, 1.0);
            }
        }
        kept
    }

    fn adapter_element(&self) -> f64 {
        if let InputOf::OwnCopy(bytes) = InputOf::of(self.scenario) { bytes } else { self.element }
    }

    /// Attention scores of one block for the images of a sequence: every tile attends to itself. Qwen2.5-VL's windows of
    /// 8 × 8 patches (`window_size` 112) are those of all but every eighth block (`fullatt_block_indexes`).
    fn scores(&self) -> f64 {
        let images = &self.scenario.recipe.images;
        let seen = images.seen(&self.vision);
        let (patches, tiles) = (seen.patches as f64, seen.tiles.max(1) as f64);
        let whole = patches / tiles * patches;
        let scores = if self.gated { (whole + 7.0 * patches * patches.min(64.0)) / 8.0 } else { whole };
        f64::from(self.vision.heads) * scores * f64::from(images.count)
    }

    fn layers(&mut self) {
        let used = f64::from(self.vision.used_layers());
        let block = self.block();
        let (until, backward) = (self.until_the_tower(), self.backward());
        let first = Instants::among(&[self.at.tower[2]]);
        let kept = Bucket::Activations;
        if self.flows && self.recomputed {
            let inputs = Kept { name: "Tower: layer inputs", width: Width::Hidden, bytes: self.stream };
            self.push(inputs, kept, used, until, &TRANSFORMERS);
            for tensor in block {
                self.push(tensor, kept, 1.0, backward, &TRANSFORMERS);
            }
        } else if self.flows {
            for tensor in block {
                let source = if tensor.name.contains("log-sum-exp") { &FLASH } else { &TRANSFORMERS };
                self.push(tensor, kept, used, until, source);
                self.push(tensor, kept, 1.0, first, source);
            }
        }
        let passing: Vec<(&'static str, Width, f64, f64, Instants)> = if self.flows {
            let inner = if self.gated { 2.0 } else { 1.0 } * self.inner;
            vec![
                ("Tower: gradient of the residual stream", Width::Hidden, self.stream, 1.0, backward),
                ("Tower: gradients inside the feed-forward block", Width::Inner, inner, 1.0, backward),
            ]
        } else {
            // LLaVA asks for the outputs of all layers and takes one (`output_hidden_states`).
            let streams = if self.vision.tower.is_clip() { f64::from(self.vision.layers) + 1.0 } else { 2.0 };
            let inner = if self.gated { 3.0 } else { 2.0 } * self.inner;
            let forward = Instants::among(&[self.at.tower[0]]);
            vec![
                ("Tower: residual stream, nothing kept", Width::Hidden, self.stream, streams, forward),
                ("Tower: output of a norm, nothing kept", Width::Hidden, self.element, 1.0, forward),
                ("Tower: inside one layer, nothing kept", Width::Inner, inner, 1.0, forward),
            ]
        };
        for (name, width, bytes, layers, alive) in passing {
            self.push(Kept { name, width, bytes }, Bucket::Temporary, layers, alive, &TRANSFORMERS);
        }
    }

    /// Pixels, and what stands before the first block and behind the last.
    fn outside(&mut self) {
        let (e, norm, flows) = (self.element, self.norm, self.flows);
        let (trained, projects) = (self.is_trained(), self.trains_projector());
        let until = self.until_the_tower();
        let numbers = Width::Patch(self.vision.numbers() as f64);
        let pixels = Kept { name: "Pixels, in fp32", width: numbers, bytes: 4.0 };
        self.push(pixels, Bucket::Batch, 1.0, self.at.always(), &TRANSFORMERS);
        let text = f64::from(self.scenario.model.hidden);
        let out = LLAMA_4_OUTPUT as f64;
        let read_trained = if trained { e } else { self.read(false, 1.0) };
        let read_projector = if projects { e } else { self.read(false, 1.0) };
        let passes = |bytes: f64| if flows { bytes } else { 0.0 };
        // What an activation reads where anything before it has a gradient.
        let acts = if flows || projects { e } else { 0.0 };
        let mut list = Vec::with_capacity(6);
        let mut push = |name, width, bytes| list.push(Kept { name, width, bytes });
        push("Pixels, cast for the patch embedding", numbers, if trained && e < 4.0 { e } else { 0.0 });
        let name = "Projector: what its norm and matrices read";
        match self.vision.tower {
            Tower::None => {}
            Tower::Qwen2Vl | Tower::Qwen25Vl => {
                let gated = self.vision.tower == Tower::Qwen25Vl;
                let normed = if flows || (projects && !gated) { norm } else { 0.0 };
                let scaled = if gated && projects { e } else { 0.0 };
                push(name, Width::Hidden, normed + scaled + 2.0 * read_projector + acts);
            }
            Tower::Llava | Tower::LlavaNext => {
                push("Tower: input of the first norm", Width::Hidden, passes(norm));
                push(name, Width::Hidden, read_projector);
                push("Projector: inside", Width::Token(text), acts + read_projector);
            }
            Tower::Gemma3 => {
                let hidden = f64::from(self.vision.hidden);
                push("Tower: input of the last norm", Width::Hidden, passes(norm));
                push("Projector: what is pooled", Width::Hidden, passes(norm));
                let normed = if projects { 4.0 + e } else { 0.0 };
                push(name, Width::Token(hidden), passes(4.0) + normed);
            }
            Tower::Llama4 => {
                push("Tower: inputs of the first and the last norm", Width::Hidden, passes(2.0 * norm));
                push("Tower: inside the adapter", Width::Token(out), passes(2.0 * e) + read_trained);
                push("Tower: input of the adapter", Width::Hidden, read_trained);
                push(name, Width::Token(out), read_projector);
            }
        }
        for kept in list {
            self.push(kept, Bucket::Activations, 1.0, until, &TRANSFORMERS);
        }
        // The embedding waits for the tower, which ran after it.
        if flows || projects || self.scenario.recipe.adapter == Adapter::None {
            let line = Line::new(
                "Gradient of the embedded sequence",
                Bucket::Temporary,
                &forms::RESIDUAL,
                &TRANSFORMERS,
                self.backward(),
            );
            self.to.lines.push(Line { coefficient: Types::of(self.scenario).residual, ..line });
        }
    }

    /// With images, Gemma 3 lets the tokens of each attend to one another. SDPA then has a mask, which every layer turns
    /// into numbers of its own, and keys and values are repeated for all heads (`use_gqa_in_sdpa` in
    /// transformers/integrations/sdpa_attention.py; `convert_boolean_attn_mask` in
    /// aten/src/ATen/native/transformers/attention.cpp).
    fn masks(&mut self) {
        let Scenario { model, recipe, .. } = *self.scenario;
        if self.vision.tower != Tower::Gemma3 || recipe.attention == AttentionKernel::Eager {
            return;
        }
        let repeated = f64::from(model.heads.saturating_sub(model.kv_heads)) * f64::from(model.head_dim);
        let kept = [
            ("Masks of attention, as numbers", &forms::MASKS as &'static Expr, self.element, 1.0),
            ("Keys and values, repeated to n heads", &forms::OWN_WIDTH, 2.0 * self.element, repeated),
        ];
        let at = self.at;
        let alive = if self.recomputed {
            vec![(1.0, at.in_backward())]
        } else {
            vec![(f64::from(model.layers), at.all_layers_kept()), (1.0, StageInstants::only(at.first))]
        };
        for (name, shape, coefficient, weights) in kept {
            for (layers, alive) in &alive {
                let line = Line::new(name, Bucket::Activations, shape, &PYTORCH, *alive);
                self.to.lines.push(Line { coefficient, layers: *layers, weights, ..line });
            }
        }
    }

    /// Weights of the tower and the projector that have a gradient, and beside them those that are trained at all.
    fn states(&mut self) {
        let (recipe, at) = (self.scenario.recipe, self.at);
        let VisionWeights { matrices, small, rest, projector } = self.weights;
        let layers = f64::from(self.vision.layers);
        let [matrices, small, rest, projector] = [matrices, small, rest, projector].map(|count| count as f64);
        let full = Scenario { recipe: Recipe { adapter: Adapter::None, ..recipe }, ..*self.scenario };
        let bytes = StateBytes::of(&full);
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
            self.trained("Rest of the vision tower", Kind::Small, &bytes, used * small + rest, whole);
            if !persist {
                let one = Instants::among(&[at.tower[1]]);
                self.own("Gradients of one layer of the tower", Bucket::Gradients, bytes.gradient, matrices, one);
            }
        }
        if projects {
            // PEFT trains a copy beside the frozen one (`ModulesToSaveWrapper` in peft/utils/other.py, 0.21.2).
            let own = if adapted { StateBytes::of(self.scenario) } else { bytes };
            if adapted {
                self.own("Projector, the copy that is trained", Bucket::Parameters, own.weight, projector, always);
            }
            let alive = if persist { always } else { late.or(self.backward()) };
            self.trained("Projector", Kind::Attention, &own, projector, alive);
        }
        if self.has_adapters() {
            let own = StateBytes::of(self.scenario);
            let adapters = self.adapters();
            self.own("Adapters of the tower and the projector", Bucket::Parameters, own.weight, adapters, always);
            self.trained("Adapters of the tower and the projector", Kind::Adapters, &own, adapters, whole);
        }
    }

    /// Gradients, master copies and moments.
    fn trained(&mut self, name: &'static str, kind: Kind, bytes: &StateBytes, weights: f64, alive: Instants) {
        let (recipe, always) = (self.scenario.recipe, self.at.always());
        let (offloaded, optimizer, step) = (recipe.offload.takes_optimizer(), recipe.optimizer, recipe.step);
        self.own(name, Bucket::Gradients, bytes.gradient, weights, alive);
        if offloaded {
            return;
        }
        let (moments, _) = moment_bytes(optimizer, kind, bytes);
        self.own(name, Bucket::Optimizer, bytes.master + moments, weights, always);
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
    fn casts(&mut self) {
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
    fn gathered(&mut self) {
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
