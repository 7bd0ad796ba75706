//! Optimizer state, and what an update needs while it is carried out.

use super::Assembly;
use super::forms;
use super::instants::StageInstants;
use super::matrices::{self, Largest};
use super::small;
use super::stage::Stage;
use super::states::{Group, Kind, StateBytes};
use crate::estimator::ledger::{Bucket, Line};
use crate::source::{
    ADAFACTOR, ADAM, ADAM8BIT, BITSANDBYTES, GALORE, LION, MUON, PYTORCH, SHAMPOO, SOAP, Source, TORCHAO,
};
use crate::{Adapter, Engine, Optimizer, Scenario, StepKernel, Weights};

/// State and temporaries of one stage.
pub(super) fn assemble(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage, groups: &[Group]) {
    let always = stage.at.with_the_optimizer();
    let optimizer = scenario.recipe.optimizer;
    let bytes = StateBytes::of(scenario);
    for group in groups {
        let moments = if group.kind == Kind::Small {
            small::moments(optimizer, &small::of(&scenario.model, weights, stage), &bytes)
        } else {
            let (bytes, source) = moment_bytes(optimizer, group.kind, &bytes);
            vec![(bytes, group.weights, source)]
        };
        for (bytes, weights, source) in moments.into_iter().filter(|(bytes, ..)| *bytes > 0.0) {
            let state = group.line(Bucket::Optimizer, bytes, always, source);
            to.lines.push(Line { name: group.kind.names().moments, weights, ..state });
        }
    }
    if is_factored(optimizer) && scenario.recipe.adapter == Adapter::None {
        to.lines.push(Line {
            coefficient: sum_bytes(optimizer, &bytes),
            weights: to.factors(scenario, weights, stage),
            ..Line::new("Sums over rows and columns", Bucket::Optimizer, &forms::OWN_WEIGHTS, &ADAFACTOR, always)
        });
    }
    matrices::state(to, scenario, weights, stage, &bytes);
    if scenario.recipe.step == StepKernel::InBackward {
        return steps_in_backward(to, scenario, weights, stage, &bytes);
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

/// Bytes of optimizer state for each weight of a kind; of small tensors, those of the smallest ([`small::moments`]).
pub(super) fn moment_bytes(optimizer: Optimizer, kind: Kind, bytes: &StateBytes) -> (f64, &'static Source) {
    let moment = bytes.moment;
    match optimizer {
        Optimizer::AdamW => (2.0 * moment, &ADAM),
        // Two bytes, and an fp32 scale for each moment of a block of 256; the smallest tensors are left in fp32.
        Optimizer::Adam8bit if kind != Kind::Small => (matrices::EIGHT_BITS, &ADAM8BIT),
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
        // What is paged is counted in the memory of the machine; the scales of its blocks are not paged.
        Optimizer::PagedAdam8bit if kind != Kind::Small => (2.0 * 4.0 / 256.0, &BITSANDBYTES),
        Optimizer::PagedAdam8bit => (8.0, &BITSANDBYTES),
        Optimizer::Adam8bitTorchao | Optimizer::AdamFp8 if kind != Kind::Small => (matrices::EIGHT_BITS, &TORCHAO),
        Optimizer::Adam4bit if kind != Kind::Small => (1.0 + 2.0 * 4.0 / 128.0, &TORCHAO),
        Optimizer::Adam8bitTorchao | Optimizer::AdamFp8 | Optimizer::Adam4bit => (2.0 * moment, &TORCHAO),
        Optimizer::Galore | Optimizer::Galore8bit | Optimizer::Apollo if kind.is_block_matrix() => (0.0, &GALORE),
        Optimizer::Galore8bit if kind != Kind::Small => (matrices::EIGHT_BITS, &GALORE),
        Optimizer::Galore8bit => (8.0, &GALORE),
        Optimizer::Galore | Optimizer::Apollo => (2.0 * moment, &GALORE),
        Optimizer::Soap => (2.0 * moment, &SOAP),
        Optimizer::Shampoo => (2.0 * moment, &SHAMPOO),
    }
}

/// Bytes of a weight that paged moments take, wherever they are.
pub(super) const PAGED: f64 = 2.0;

/// What one update in the backward pass needs: that of the widest matrix inside the blocks while layers run, and that of
/// the embedding at the end. Each weight has an optimizer of its own, which PyTorch makes one that updates all of its
/// tensors together: the root of the second moment, but for the fused kernels of the libraries.
fn steps_in_backward(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage, bytes: &StateBytes) {
    if scenario.recipe.adapter != Adapter::None {
        return;
    }
    let largest = Largest::of(scenario, weights, stage).updated(to);
    let inside = largest.in_blocks();
    let outside = if stage.has_embedding { largest.ends } else { 0.0 };
    let updates = match scenario.recipe.optimizer {
        Optimizer::AdamW => [bytes.moment * inside, bytes.moment * outside],
        Optimizer::Lion | Optimizer::Muon => [2.0 * bytes.moment * inside, 2.0 * bytes.moment * outside],
        Optimizer::PagedAdam8bit => [PAGED * inside, PAGED * outside],
        Optimizer::Galore | Optimizer::Galore8bit | Optimizer::Apollo | Optimizer::Soap => {
            matrices::updates(scenario, stage, bytes).map(|held| held / to.optimizer_shards)
        }
        _ => [0.0; 2],
    };
    for (held, alive) in updates.into_iter().zip(matrices::when(scenario, stage)) {
        to.own("Update of one weight", Bucket::Temporary, 1.0, held, alive, &PYTORCH);
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
    let largest = || Largest::of(scenario, weights, stage).updated(to).any();
    let updated = || to.updated_weights(scenario, weights, stage);
    match (optimizer, scenario.recipe.step) {
        (Optimizer::AdamW, StepKernel::Foreach) => {
            let line = own("Root of the second moments", bytes.moment, updated());
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
            let whole = if flat { updated() } else { largest() };
            let line = own("Update of the largest tensor", 2.0 * bytes.moment, whole);
            to.lines.push(line);
        }
        // One kernel updates in place; before it the moments of one matrix are brought to the GPU (`prefetch_state`).
        (Optimizer::PagedAdam8bit, _) if !adapters => {
            to.lines.push(own("Moments of one matrix, on the GPU", PAGED, largest()));
        }
        (Optimizer::Galore | Optimizer::Galore8bit | Optimizer::Apollo | Optimizer::Soap, _) => {
            let [inside, outside] = matrices::updates(scenario, stage, bytes);
            to.lines.push(own("Update of one matrix", 1.0, inside.max(outside)));
        }
        // Lists of all blocks: the filtered gradients, the directions and those that set their length
        // (`_per_group_step_impl` in distributed_shampoo/distributed_shampoo.py).
        (Optimizer::Shampoo, _) => {
            to.lines.push(own("Directions of all blocks", 3.0 * bytes.moment, updated()));
        }
        _ => {}
    }
}
