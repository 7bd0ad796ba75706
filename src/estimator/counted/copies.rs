//! Copies of weights and gradients that a pass makes: layers gathered under ZeRO 3, gradients before
//! they are divided, 16-bit casts, dequantized matrices.

use super::Assembly;
use super::forms;
use super::moments::Moments;
use super::states::{Recipe, Stage, frozen_matrix_bytes, gradients_persist};
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::source::{FSDP, PYTORCH, QLORA, Source};
use crate::{Adapter, Expr, Kernels, Precision, Recomputation, Scenario, Weights, ZeroStage};

/// The copies of one stage.
pub(super) fn assemble(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    gathered(to, scenario, weights, stage);
    if scenario.recipe.adapter == Adapter::None {
        undivided_gradients(to, scenario, weights, stage);
    }
    if matches!(scenario.recipe.adapter, Adapter::Lora8 | Adapter::Qlora) {
        dequantized(to, scenario, weights, stage);
    }
    if scenario.recipe.precision == Precision::Autocast {
        weight_casts(to, scenario, weights, stage);
    }
    dense_embedding_gradient(to, scenario, stage);
}

/// A line with its own number of weights.
struct Copy {
    name: &'static str,
    bucket: Bucket,
    source: &'static Source,
    bytes: f64,
}

impl Copy {
    fn push(&self, to: &mut Assembly, shape: &'static Expr, weights: f64, alive: Instants) {
        if weights > 0.0 {
            to.lines.push(Line {
                coefficient: self.bytes,
                weights,
                ..Line::new(self.name, self.bucket, shape, self.source, alive)
            });
        }
    }
}

/// While one layer computes the next is gathered, so that two are whole; embedding and head are a
/// unit that stays whole.
fn gathered(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    if scenario.cluster.zero != ZeroStage::Stage3 || to.parameter_shards <= 1.0 {
        return;
    }
    let recipe = Recipe::of(scenario);
    let moments = &stage.moments;
    let live = stage.layers().min(2.0);
    let passes = moments.in_passes();
    // Quantized weights are gathered as they are.
    let bytes = frozen_matrix_bytes(scenario).unwrap_or(recipe.compute);
    let layers = Copy { name: "Gathered layers", bucket: Bucket::Parameters, source: &FSDP, bytes };
    layers.push(to, &forms::FOREIGN_PARAMETERS, live * to.shared_layer_weights(weights, stage), passes);
    let experts = Copy { name: "Gathered experts", ..layers };
    let live = stage.expert_layers.min(2.0);
    experts.push(to, &forms::FOREIGN_EXPERT_PARAMETERS, live * to.expert_weights(weights, stage), passes);
    let unit = Copy { name: "Gathered embedding and head", bytes: recipe.compute, ..layers };
    let alive = passes.or(Moments::only(moments.end));
    unit.push(to, &forms::FOREIGN_PARAMETERS, to.end_weights(weights, stage), alive);
}

/// A whole layer's gradients are there before each device keeps its share of them; FSDP reduces them
/// from an fp32 buffer beside the 16-bit ones.
fn undivided_gradients(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    if scenario.cluster.zero < ZeroStage::Stage2 || to.gradient_shards <= 1.0 {
        return;
    }
    let bytes = match scenario.recipe.precision {
        Precision::Mixed => 6.0,
        Precision::Fp32 | Precision::Autocast => 8.0,
        Precision::Bf16 | Precision::Fp16 | Precision::PureBf16 => Recipe::of(scenario).gradient,
    };
    let name = "Whole gradients and their reduction";
    let whole = Copy { name, bucket: Bucket::Temporary, source: &FSDP, bytes };
    let backward = stage.moments.in_backward();
    whole.push(to, &forms::FOREIGN_GRADIENTS, to.shared_layer_weights(weights, stage), backward);
    whole.push(to, &forms::FOREIGN_EXPERT_GRADIENTS, to.expert_weights(weights, stage), backward);
    let end = Moments::only(stage.moments.end);
    whole.push(to, &forms::FOREIGN_GRADIENTS, to.end_weights(weights, stage), end);
}

/// Quantized matrices are brought back one at a time, for their product.
fn dequantized(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    let matrices = f64::from(scenario.model.mlp.matrices());
    let largest = weights.dense_mlp.max(weights.expert) as f64 / matrices / to.tensor_parallel;
    let bytes = Recipe::of(scenario).compute;
    let copy = Copy { name: "One matrix, dequantized", bucket: Bucket::Temporary, source: &QLORA, bytes };
    copy.push(to, &forms::OWN_WEIGHTS, largest, stage.moments.in_passes());
}

/// Autocast's 16-bit copies. The cache holds all of them until the forward pass ends; from then on
/// those live that the backward pass will read, which a recomputed layer makes anew.
fn weight_casts(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    let moments = &stage.moments;
    let recomputed = matches!(scenario.recipe.recomputation, Recomputation::Full | Recomputation::EveryK)
        || scenario.recipe.recomputation == Recomputation::Operators;
    let one = to.matrix_weights(weights, stage);
    let all = one * stage.layers();
    let cast = |name, weights, alive| Line {
        coefficient: 2.0,
        weights,
        ..Line::new(name, Bucket::Temporary, &forms::OWN_WEIGHTS, &PYTORCH, alive)
    };
    let held = if recomputed { Moments::only(moments.forward) } else { moments.all_layers_kept() };
    to.lines.push(cast("16-bit casts of the layers’ matrices", all, held));
    let rest = if recomputed { moments.in_backward() } else { Moments::only(moments.first) };
    to.lines.push(cast("16-bit casts of one layer’s matrices", one, rest));
    if stage.has_head {
        let head = weights.embedding as f64 / to.tensor_parallel;
        to.lines.push(cast("16-bit cast of the head", head, moments.around_loss()));
    }
}

/// The embedding's gradient is computed in full before it is added to that of a tied head.
fn dense_embedding_gradient(to: &mut Assembly, scenario: &Scenario, stage: &Stage) {
    let recipe = Recipe::of(scenario);
    let tied = scenario.model.tied_embeddings.is_on() && stage.has_head;
    let adds_up = tied || gradients_persist(scenario);
    let fused_head = scenario.recipe.kernels == Kernels::Fused && !tied;
    if stage.has_embedding && adds_up && !fused_head && scenario.recipe.adapter == Adapter::None {
        let bytes = if recipe.compute > 2.0 || scenario.recipe.precision == Precision::Autocast { 4.0 } else { 2.0 };
        let embedding = f64::from(scenario.model.vocabulary) * f64::from(scenario.model.hidden) / to.tensor_parallel;
        to.lines.push(Line {
            coefficient: bytes,
            weights: embedding,
            ..Line::new(
                "Embedding’s gradient before it is added",
                Bucket::Temporary,
                &forms::OWN_WEIGHTS,
                &PYTORCH,
                Moments::only(stage.moments.end),
            )
        });
    }
}
