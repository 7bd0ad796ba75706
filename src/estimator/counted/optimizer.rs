//! Optimizer state, and what an update needs while it is carried out.

use super::Assembly;
use super::forms;
use super::instants::StageInstants;
use super::stage::Stage;
use super::states::{Group, Kind, StateBytes};
use crate::estimator::ledger::{Bucket, Line};
use crate::source::{ADAFACTOR, ADAM, ADAM8BIT, LION, MUON, PYTORCH, Source};
use crate::{Adapter, Engine, Optimizer, Scenario, StepKernel, Weights};

/// State and temporaries of one stage.
pub(super) fn assemble(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage, groups: &[Group]) {
    let always = stage.at.always();
    let optimizer = scenario.recipe.optimizer;
    let bytes = StateBytes::of(scenario);
    for group in groups {
        let (bytes, source) = moment_bytes(optimizer, group.kind, &bytes);
        if bytes > 0.0 {
            let mut state = group.line(Bucket::Optimizer, bytes, always, source);
            state.name = group.kind.names().moments;
            to.lines.push(state);
        }
    }
    if is_factored(optimizer) && scenario.recipe.adapter == Adapter::None {
        to.lines.push(Line {
            coefficient: sum_bytes(optimizer, &bytes),
            weights: to.factors(scenario, weights, stage) / to.optimizer_shards,
            ..Line::new("Sums over rows and columns", Bucket::Optimizer, &forms::OWN_WEIGHTS, &ADAFACTOR, always)
        });
    }
    step_temporaries(to, scenario, weights, stage, &bytes);
}

/// Whether matrices have sums over rows and columns in place of moments.
const fn is_factored(optimizer: Optimizer) -> bool {
    matches!(optimizer, Optimizer::Adafactor | Optimizer::AdafactorTorch)
}

/// Bytes of a number that Adafactor keeps or works with: torch.optim's has the type of the parameters
/// (torch/optim/_adafactor.py), transformers' is in fp32 (transformers/optimization.py, 5.23.0).
fn sum_bytes(optimizer: Optimizer, bytes: &StateBytes) -> f64 {
    if optimizer == Optimizer::AdafactorTorch { bytes.weight } else { 4.0 }
}

/// Bytes of optimizer state for each weight of a kind.
pub(super) fn moment_bytes(optimizer: Optimizer, kind: Kind, bytes: &StateBytes) -> (f64, &'static Source) {
    let moment = bytes.moment;
    match optimizer {
        Optimizer::AdamW => (2.0 * moment, &ADAM),
        // Two bytes, and an fp32 scale for each moment of a block of 256; small tensors are left in
        // fp32.
        Optimizer::Adam8bit if kind != Kind::Small => (2.0 + 2.0 * 4.0 / 256.0, &ADAM8BIT),
        Optimizer::Adam8bit => (8.0, &ADAM8BIT),
        // Its matrices are counted by rows and columns; vectors keep a whole second moment.
        Optimizer::Adafactor | Optimizer::AdafactorTorch if kind == Kind::Small => {
            (sum_bytes(optimizer, bytes), &ADAFACTOR)
        }
        Optimizer::Adafactor | Optimizer::AdafactorTorch | Optimizer::Sgd => (0.0, &ADAFACTOR),
        Optimizer::Lion => (moment, &LION),
        Optimizer::Muon if kind.is_block_matrix() => (moment, &MUON),
        Optimizer::Muon => (2.0 * moment, &MUON),
        Optimizer::Momentum => (moment, &PYTORCH),
    }
}

/// What the update itself needs: the root of the second moment for every weight at once when all
/// tensors are updated together, twice the largest tensor when they are updated one by one
/// (torch/optim/adam.py, `_multi_tensor_adam` and `_single_tensor_adam`).
fn step_temporaries(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage, bytes: &StateBytes) {
    let optimizer = scenario.recipe.optimizer;
    let adapters = scenario.recipe.adapter != Adapter::None;
    let alive = StageInstants::only(stage.at.step);
    let own = |name, coefficient, weights| Line {
        coefficient,
        weights,
        ..Line::new(name, Bucket::Temporary, &forms::OWN_WEIGHTS, &PYTORCH, alive)
    };
    // DeepSpeed's flat partition is one tensor.
    let flat = scenario.cluster.engine == Engine::DeepSpeed;
    let largest = || weights.largest_matrix(&scenario.model) as f64 / to.tensor_parallel / to.optimizer_shards;
    let trained = || if adapters { to.all_adapter_weights(scenario, stage) } else { to.stage_weights(weights, stage) };
    match (optimizer, scenario.recipe.step) {
        (Optimizer::AdamW, StepKernel::Foreach) => {
            let line = own("Root of the second moments", bytes.moment, trained() / to.optimizer_shards);
            to.lines.push(line);
        }
        // Neither has a fused form. transformers' takes one tensor at a time: its square and its update in
        // fp32, and fp32 copies of 16-bit weights and gradients; torch.optim's works in one tensor.
        (Optimizer::Adafactor, _) if !adapters => {
            let coefficient = if bytes.weight < 4.0 { 16.0 } else { 8.0 };
            to.lines.push(own("Update of the largest tensor", coefficient, largest()));
        }
        (Optimizer::AdafactorTorch, _) if !adapters => {
            to.lines.push(own("Update of the largest tensor", bytes.weight, largest()));
        }
        (Optimizer::AdamW | Optimizer::Lion | Optimizer::Muon, StepKernel::Loop) if !adapters => {
            let whole = if flat { trained() / to.optimizer_shards } else { largest() };
            let line = own("Update of the largest tensor", 2.0 * bytes.moment, whole);
            to.lines.push(line);
        }
        _ => {}
    }
}
