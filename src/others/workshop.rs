//! The page of the workshop, as its script computes. The estimator's first method restates it, with two differences: by
//! the method selective recomputation leaves out the scores alone, as the paper defines it, and an element has as many
//! bytes as its type. A test of `tests/worked_numbers.rs` holds the method to the numbers that the page prints.

use super::{Covers, Largest, Memory, Origin, Other, Printed, Unit, inputs, part};
use crate::{Method, Recomputation, Scenario, ZeroStage, setting};

/// Coefficients of S·H and of n·S² (`actPerSampleGiB`: 11 for attention, 19 for the feed-forward block, 4 for the norms,
/// and 5; without attention 19 + 4; from boundaries alone 1).
fn coefficients(recomputation: Recomputation) -> (f64, f64) {
    match recomputation {
        Recomputation::Selective => (19.0 + 4.0, 0.0),
        Recomputation::Full => (1.0, 0.0),
        // Finer ways have no place on the page and are not asked for.
        _ => (11.0 + 19.0 + 4.0, 5.0),
    }
}

/// Bytes of an element, whatever the precision (`* 2` in `actPerSampleGiB`).
const ELEMENT: f64 = 2.0;

fn count(scenario: &Scenario) -> Memory {
    let (model, recipe) = (&scenario.model, &scenario.recipe);
    let [layers, hidden, heads, sequence, batch] =
        [model.layers, model.hidden, model.heads, recipe.sequence, recipe.batch].map(f64::from);
    let (linear, scores) = coefficients(recipe.recomputation);
    let kept = layers * (linear * sequence * hidden + scores * heads * sequence * sequence) * ELEMENT * batch;
    let states = 16.0 * model.parameters as f64 / f64::from(scenario.cluster.gpus);
    Memory::sum(vec![part("Weights, gradients and Adam’s moments", states), part("Activations", kept)])
}

/// What the scenario's headroom leaves free; the page's own is a tenth.
fn fits(scenario: &Scenario) -> bool {
    let by_method = Scenario { method: Method::Workshop, ..*scenario };
    count(scenario).total <= scenario.device.memory - by_method.reserved()
}

/// The page divides 16 bytes a parameter by all GPUs, which is stage 3 and no other.
static NOT_STAGE_3: inputs::Absent = inputs::Absent {
    input: crate::input::Input::Word(&setting::ZERO),
    is_asked: |s| s.cluster.zero != ZeroStage::Stage3 && s.cluster.gpus > 1,
};

pub(super) static OTHER: Other = Other {
    key: "workshop",
    name: "Vizuara workshop",
    origin: Origin {
        url: "https://github.com/VizuaraAI/5d-parallelism-visual-guide",
        place: "max-local-batch-size.html: fixedMemGiB, actPerSampleGiB, maxBatch",
        commit: "47abb3061f5e43881e19c183205acd4d8315f855",
        date: "2026-02-27",
    },
    printed: Some(Printed { unit: Unit::Gib, label: "GiB" }),
    covers: Covers::Step,
    why: "It multiplies the paper’s 34 and 5 bytes by 2 once more, counts neither logits nor what recomputation needs for \
          one layer, leaves out all of attention where scores are recomputed, and keeps a tenth of the GPU free.",
    lacks: &[
        &inputs::ADAPTER,
        &inputs::EXPERTS,
        &inputs::TENSOR,
        &inputs::PIPELINE,
        &inputs::CONTEXT,
        &NOT_STAGE_3,
        &inputs::OPTIMIZER,
        &inputs::OFFLOAD,
        &inputs::FINER_RECOMPUTATION,
    ],
    ignores: &[
        &inputs::RESHARD,
        &inputs::LATENT,
        &inputs::FLASH_UNLESS_RECOMPUTED,
        &inputs::GROUPS,
        &inputs::HEAD_DIM,
        &inputs::WIDTH,
        &inputs::GATE,
        &inputs::NO_DROPOUT,
        &inputs::LOSS,
    ],
    count,
    largest: Some(|scenario| Largest::search(scenario, fits)),
};
