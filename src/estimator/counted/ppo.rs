//! What PPO's trainer holds beside its passes (trl 1.10.0; lines are those of trl/experimental/ppo/ppo_trainer.py).
//!
//! The policy and the value model are one module (`PolicyAndValueWrapper`, lines 275 to 294), called with
//! `output_hidden_states=True` (line 219) and with the cache that a configuration asks for. What comes back is held by
//! name until the micro-batches of an update are through (line 873), behind the backward pass and the optimizer step.

use super::Assembly;
use super::activations;
use super::copies;
use super::forms;
use super::head;
use super::instants::StageInstants;
use super::layer;
use super::optimizer::moment_bytes;
use super::stage::Stage;
use super::states::{Kind, StateBytes, gradients_persist};
use super::task::logit_bytes;
use super::types::{Types, base_bytes};
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::estimator::meaning::{Part, Stack};
use crate::source::{PYTORCH, TRL};
use crate::{
    Adapter, GradientType, Optimizer, Precision, Recipe, Recomputation, Reference, Scenario, StepKernel, TaskKind,
    Weights, formula::Expr,
};

/// The models as they generate and score: accelerate puts autocast around the forward pass of the wrapper
/// (`prepare_model` in accelerate/accelerator.py, 1.15.0), and those passes call the models inside it and beside it
/// (lines 691, 709 to 711, 729 and 733).
pub(super) fn without_autocast(scenario: &Scenario) -> Scenario {
    let mut run = *scenario;
    if run.task.kind == TaskKind::Ppo && run.recipe.precision == Precision::Autocast {
        run.recipe.precision = if base_bytes(scenario) > 2.0 { Precision::Fp32 } else { Precision::PureBf16 };
    }
    run
}

/// The value model: all of it is trained, in the type in which the policy was loaded, and nothing of it is computed
/// again, because the wrapper passes checkpointing on to the policy alone (lines 283 to 285).
fn value_of(scenario: &Scenario) -> Scenario {
    let recipe = Recipe { adapter: Adapter::None, recomputation: Recomputation::None, ..scenario.recipe };
    let recipe = if scenario.recipe.adapter != Adapter::None && base_bytes(scenario) <= 2.0 {
        Recipe { precision: Precision::PureBf16, gradients: GradientType::Half, ..recipe }
    } else {
        recipe
    };
    Scenario { recipe, ..*scenario }
}

/// The value model, and what is held of the outputs of both.
pub(super) fn assemble(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    let Some(at) = stage.at.of_value() else { return };
    let value = value_of(scenario);
    // It has one output in the place of a vocabulary.
    let of_value = Stage { at, has_head: false, ..*stage };
    if policy_caches(scenario) {
        read_from_the_cache(to, scenario, 0);
    }
    states(to, &value, weights, &of_value, stage);
    passes(to, &value, weights, &of_value);
    held_outputs(to, scenario, &value, stage);
}

/// As large as the policy, and trained by the same optimizer (lines 492 to 494).
fn states(to: &mut Assembly, value: &Scenario, weights: &Weights, of_value: &Stage, stage: &Stage) {
    let at = &of_value.at;
    let bytes = StateBytes::of(value);
    let layer = to.shared_layer_weights(weights, stage);
    let expert = to.expert_weights(weights, stage);
    // Tasks are counted without tensor parallelism (`task::as_run`), so that embedding and head are whole.
    let embedding = weights.embedding as f64;
    let over = |shards: f64, expert_shards: f64| {
        to.divided_weights(weights, stage, shards, expert_shards) - weights.head as f64 / shards
    };
    let all = f64::from(value.cluster.data_parallel());
    let expert_all = (all / to.expert_parallel).max(1.0);
    let optimizer_shards = if to.optimizer_shards > 1.0 { (all, expert_all) } else { (1.0, 1.0) };
    let held = over(optimizer_shards.0, optimizer_shards.1);
    let parameters = over(to.parameter_shards, to.expert_parameter_shards);
    let (g, eg) = (to.gradient_shards, to.expert_gradient_shards);
    let reduced = over(g, eg);
    to.own("Value model", Bucket::Parameters, bytes.weight, parameters, stage.at.always(), &TRL);

    let before = to.lines.len();
    let mut gradients = |weights, alive| {
        to.own("Value model’s gradients", Bucket::Gradients, bytes.gradient, weights, alive, &TRL);
    };
    let late = Instants::at(&[at.end, at.step]);
    if gradients_persist(value) {
        gradients(reduced, stage.at.in_step());
    } else {
        // The last layer's come first, and the embedding's last.
        gradients(layer / g + expert / eg, StageInstants::only(at.last));
        gradients(reduced - embedding / g, late.or(StageInstants::only(at.first)));
        gradients(embedding / g, late);
    }
    to.are(Part::Waiting, before);
    if value.recipe.offload.takes_optimizer() {
        return;
    }
    let (moments, _) = moment_bytes(value.recipe.optimizer, Kind::Embedding, &bytes);
    let name = "Value model’s optimizer state";
    to.own(name, Bucket::Optimizer, bytes.master + moments, held, stage.at.with_the_optimizer(), &TRL);
    if value.recipe.optimizer == Optimizer::AdamW && value.recipe.step == StepKernel::Foreach {
        let step = StageInstants::only(at.step);
        to.own("Root of the value model’s moments", Bucket::Temporary, bytes.moment, held, step, &PYTORCH);
    }
}

/// It runs forward before the policy (line 292), so that it runs backward behind it.
fn passes(to: &mut Assembly, value: &Scenario, weights: &Weights, of_value: &Stage) {
    let before = to.lines.len();
    activations::stack(to, value, of_value);
    to.are_layers_of(Stack::Value, before);
    head::final_norm(to, value, of_value);
    read_from_the_cache(to, value, before);
    for line in to.lines.iter_mut().skip(before).filter(|line| line.bucket == Bucket::Activations) {
        line.name = "Value model’s activations";
    }
    if value.recipe.precision == Precision::Autocast {
        let before = to.lines.len();
        copies::weight_casts(to, value, weights, of_value);
        for line in to.lines.iter_mut().skip(before) {
            line.name = "Value model’s 16-bit casts";
        }
    }
    copies::dense_embedding_gradient(to, value, of_value);
}

/// A cache has copies of keys and values, which attention then reads (`torch.cat` in `DynamicLayer`,
/// transformers/cache_utils.py, 5.23.0). Of a packed product only queries are left, and not even they where they are
/// rotated, so that the values take its place.
fn read_from_the_cache(to: &mut Assembly, scenario: &Scenario, from: usize) {
    for position in from..to.lines.len() {
        let Some(&line) = to.lines.get(position).filter(|line| std::ptr::eq(line.formula, &forms::PACKED)) else {
            continue;
        };
        if scenario.model.position.rotates() {
            to.lines[position] = Line { name: "Values", formula: &forms::KEYS, ..line };
        } else {
            let copies = 2.0 * line.coefficient;
            to.lines.push(Line { name: "Keys and values", formula: &forms::KEYS, coefficient: copies, ..line });
        }
    }
}

/// Bytes an element of keys and of values in a cache.
fn cached_bytes(scenario: &Scenario) -> f64 {
    let Types { element: e, residual: r, .. } = Types::of(scenario);
    // Rotated keys have the type of the hidden states, and values take it (`DynamicLayer` in transformers/cache_utils.py).
    if scenario.model.position.rotates() { r } else { e }
}

/// Bytes of a layer's keys and values in a cache of their own, beside those that attention keeps: none where it keeps
/// the same tensors.
fn cached_beside(scenario: &Scenario) -> f64 {
    let cached = cached_bytes(scenario);
    // Latent attention's are wider than what a norm of keys keeps, and none of them is taken for the same.
    if scenario.model.latent.kv_rank > 0 {
        return 2.0 * cached;
    }
    let kept = layer::kept(scenario);
    if cached == Types::of(scenario).element && kept.iter().any(|tensor| std::ptr::eq(tensor.shape, &forms::PACKED)) {
        return 0.0;
    }
    let same = kept.iter().filter(|tensor| std::ptr::eq(tensor.shape, &forms::KEYS) && tensor.bytes == cached);
    (2.0 * cached - same.map(|tensor| tensor.bytes).sum::<f64>()).max(0.0)
}

/// Bytes an element of a layer's input that is held beside what its norm keeps of it.
fn hidden_beside(scenario: &Scenario) -> f64 {
    let residual = Types::of(scenario).residual;
    let (kept, _) = head::norm_parts(scenario);
    // Recomputed layers keep their inputs as they are.
    let recomputed = !matches!(scenario.recipe.recomputation, Recomputation::None | Recomputation::Selective);
    if kept == residual || recomputed { 0.0 } else { residual }
}

/// Whether the policy fills a cache: layers that are computed again do not
/// (`GradientCheckpointingLayer` in transformers/modeling_layers.py, 5.23.0).
fn policy_caches(scenario: &Scenario) -> bool {
    scenario.recipe.recomputation == Recomputation::None
}

/// The hidden states and the cache of both models, and the policy's logits.
fn held_outputs(to: &mut Assembly, scenario: &Scenario, value: &Scenario, stage: &Stage) {
    let at = &stage.at;
    let [logits, forward, last] = [at.logits, at.forward, at.last].map(StageInstants::only);
    let Types { element: e, residual: r, .. } = Types::of(scenario);
    let l = logit_bytes(scenario);
    let layers = stage.layers();
    let cache: &'static Expr =
        if scenario.model.latent.kv_rank > 0 { &forms::WIDE_STEP_CACHE } else { &forms::STEP_CACHE };
    let mut push = |name, bucket, shape: &'static Expr, bytes: f64, layers: f64, alive| {
        if bytes > 0.0 {
            to.lines.push(Line { coefficient: bytes, layers, ..Line::new(name, bucket, shape, &TRL, alive) });
        }
    };
    let kept = Bucket::Activations;
    let (hidden_name, cache_name) = ("Hidden states that the trainer holds", "Cache that the trainer holds");
    // While layers are kept a part of it is among what they keep; behind them all of it is held.
    let in_loss = forward.or(Instants::among(&[at.rows, at.loss])).or(last);
    let behind = StageInstants::only(at.first).or(at.with_all_gradients()).or(Instants::among(&[at.statistics]));
    // Another micro-batch's is there until this one's is (line 820).
    let adds_up = scenario.recipe.micro_batches > 1;
    let behind = if adds_up { behind.or(logits) } else { behind };

    // accelerate casts all that comes back in 16 bits, hidden states as well as logits (`convert_outputs_to_fp32`).
    let converts = l > r;
    let hidden = if converts { l } else { r };
    push(hidden_name, kept, &forms::RESIDUAL, hidden, layers + 1.0, behind);
    let beside = hidden_beside(scenario);
    push(hidden_name, kept, &forms::RESIDUAL, beside, layers, logits);
    if converts {
        push(hidden_name, kept, &forms::RESIDUAL, l, layers + 1.0, in_loss);
    } else {
        push(hidden_name, kept, &forms::RESIDUAL, beside, layers, in_loss);
    }
    if policy_caches(scenario) {
        push(cache_name, kept, cache, 2.0 * cached_bytes(scenario), layers, behind);
        push(cache_name, kept, cache, cached_beside(scenario), layers, logits.or(in_loss));
    }
    for (bytes, alive) in [(l, in_loss), (l, behind), (e, logits)] {
        push("Logits", Bucket::Logits, &forms::LOGITS, bytes, 1.0, alive);
    }

    // At the policy's logits the value model's output is there as well (line 292 to 294). It is gone when accelerate
    // casts the wrapper's: the more of the two.
    let [passing, cached] = [hidden_beside(value), cached_beside(value)];
    let model = &scenario.model;
    let keys = if model.latent.kv_rank > 0 {
        f64::from(model.heads) * f64::from(model.head_dim + model.latent.rope_dim)
    } else {
        f64::from(model.kv_heads) * f64::from(model.head_dim)
    };
    let width = f64::from(model.hidden);
    let values_own = layers * (passing * width + cached * keys);
    let cast = if l > e { l * f64::from(model.vocabulary) } else { 0.0 }
        + if converts { l * (layers + 1.0) * width } else { 0.0 };
    if cast > values_own {
        push("Logits in fp32", Bucket::Logits, &forms::LOGITS, if l > e { l } else { 0.0 }, 1.0, logits);
        let bytes = if converts { l } else { 0.0 };
        push("Hidden states in fp32", Bucket::Temporary, &forms::RESIDUAL, bytes, layers + 1.0, logits);
    } else {
        push("Value model’s hidden states", Bucket::Temporary, &forms::RESIDUAL, passing, layers, logits);
        push("Value model’s cache", Bucket::Temporary, cache, cached, layers, logits);
    }
}

/// From the policy's logits to its loss, back, and the entropies behind it.
pub(super) fn loss(to: &mut Assembly, scenario: &Scenario, stage: &Stage) {
    let at = &stage.at;
    let l = logit_bytes(scenario);
    let forward = StageInstants::only(at.forward);
    let [rows, backward, statistics] = [at.rows, at.loss, at.statistics].map(|at| Instants::among(&[at]));
    let mut push = |name, shape: &'static Expr, bytes: f64, alive| {
        if bytes > 0.0 {
            let line = Line::new(name, Bucket::Logits, shape, &TRL, alive);
            to.lines.push(Line { coefficient: bytes, ..line });
        }
    };
    let completed: &'static Expr = &forms::COMPLETION_LOGITS;
    // `selective_log_softmax` of trl/trainer/utils.py, lines 507 to 519: one row after the other, of which the
    // log-softmax is kept in 16 bits.
    if l > 2.0 {
        push("Exponentials of one sequence", &forms::ONE_COMPLETION, l, forward);
    } else {
        push("Log-softmax of the logits", completed, l, forward.or(rows));
    }
    push("Gradients of the logits", completed, if l > 2.0 { l } else { 0.0 }, rows);
    push("Temporaries of one sequence’s gradient", &forms::ONE_COMPLETION, 2.0 * l, rows);
    // The temperature divides a part of the logits in place (line 822), so that the gradient of that part becomes one
    // of all tokens, is copied, and takes the quotient of another copy of the part (`CopySlices::apply_impl` in
    // torch/csrc/autograd/functions/tensor.cpp, PyTorch 2.15).
    push("Gradients of all logits", &forms::LOGITS, 2.0 * l, backward);
    push("Gradients of completions’ logits", completed, 2.0 * l, backward);
    // Lines 855 and 856: their softmax, and its product with the logits, or, where several sequences are no one block
    // of memory, a copy of the logits for it. The softmax of the micro-batch before is held meanwhile. A single sequence
    // needs no copy; it is counted like several, so that memory stays a straight line in the micro-batch.
    let adds_up = scenario.recipe.micro_batches > 1;
    let before = if adds_up { 3.0 } else { 2.0 };
    push("Softmax of the logits, for their entropy", completed, before * l, statistics);
    if adds_up {
        let others = StageInstants::only(at.logits).or(forward).or(rows).or(backward);
        let others = others.or(at.in_backward()).or(Instants::among(&at.value)).or(Instants::at(&[at.end, at.step]));
        push("Softmax of the logits of another micro-batch", completed, l, others);
    }
}

/// Hidden states and the cache of a pass without gradients: all layers' until the logits are through (lines 706 to 716;
/// `get_reward` in trl/experimental/utils.py, lines 775 to 783, has no cache).
pub(super) fn held_by_a_pass(
    mut push: impl FnMut(&'static str, &'static Expr, f64, usize, &'static crate::source::Source),
    scenario: &Scenario,
    stage: &Stage,
    fixed: bool,
) {
    let [Some(layers), Some(logits)] = stage.at.score else { return };
    let residual: &'static Expr = if fixed { &forms::SCORED_RESIDUAL } else { &forms::RESIDUAL };
    let cache: &'static Expr = match (scenario.model.latent.kv_rank > 0, fixed) {
        (true, true) => &forms::SCORED_WIDE_CACHE,
        (true, false) => &forms::WIDE_STEP_CACHE,
        (false, true) => &forms::SCORED_CACHE,
        (false, false) => &forms::STEP_CACHE,
    };
    // The policy with its adapters off is checkpointed as it is in training.
    let caches = match scenario.task.reference {
        Reference::Adapter => policy_caches(scenario),
        _ => true,
    };
    let cached = if caches { 2.0 * cached_bytes(scenario) } else { 0.0 };
    let each = Types::of(scenario).residual;
    // Behind the last layer its norm is one of them.
    push("Hidden states of a scoring pass", residual, stage.layers() * each, layers, &TRL);
    push("Hidden states of a scoring pass", residual, (stage.layers() + 1.0) * each, logits, &TRL);
    for at in [layers, logits] {
        push("Cache of a scoring pass", cache, stage.layers() * cached, at, &TRL);
    }
}

/// `generate` returns the scores of every token (line 108), which are stacked (line 110) and padded (line 138). They are
/// held by name (line 690) until the next update has its own.
pub(super) fn generated_logits(to: &mut Assembly, scenario: &Scenario, grown: Instants, at: &StageInstants) {
    let all = f64::from(scenario.recipe.micro_batches);
    let mut push = |name, bytes: f64, alive| {
        let line = Line::new(name, Bucket::Logits, &forms::COMPLETION_LOGITS, &TRL, alive);
        to.lines.push(Line { coefficient: bytes * all, ..line });
    };
    let update = at.in_step().or(at.generating()).or(at.scoring());
    push("Logits of every token that was generated", 4.0, update);
    push("Those of this update, and the same stacked", 8.0, grown);
}
