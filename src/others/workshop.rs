//! The page of the workshop, which the estimator restates as its first method. A test of `tests/worked_numbers.rs`
//! holds that to the numbers that the page prints.

use super::{Covers, Largest, Memory, Origin, Other, Printed, Unit, inputs};
use crate::{Method, ZeroStage, setting};

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
    why: "It multiplies the paper’s 34 and 5 bytes by the bytes of an element once more, counts neither logits nor what \
          recomputation needs for one layer, and keeps a tenth of the GPU free for all the rest.",
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
    count: |scenario| Memory::by(Method::Workshop, scenario),
    largest: Some(|scenario| Largest::by(Method::Workshop, scenario)),
};
