//! The papers' own counts, which the estimator restates as its second method: activations of Korthikanti et al. 2022,
//! model states of Rajbhandari et al. 2020. A test of `tests/worked_numbers.rs` holds that to what they print.

use super::{Covers, Largest, Memory, Origin, Other, inputs};
use crate::Method;

pub(super) static OTHER: Other = Other {
    key: "paper",
    name: "Korthikanti et al. 2022",
    origin: Origin {
        url: "https://arxiv.org/abs/2205.05198",
        place: "equations 1 to 4 and table 2; model states by arXiv 1910.02054, section 3.1",
        commit: "",
        date: "2022-05-10",
    },
    printed: None,
    covers: Covers::Step,
    why: "It counts the blocks of a GPT with 34 bytes a token and hidden element, without logits, gathered layers or \
          the one layer that recomputation works on, and adds all of it up as if it were there at once.",
    lacks: &[
        &inputs::ADAPTER,
        &inputs::EXPERTS,
        &inputs::PIPELINE,
        &inputs::CONTEXT,
        &inputs::OPTIMIZER,
        &inputs::PURE,
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
        &inputs::GRADIENTS,
        &inputs::LOSS,
    ],
    count: |scenario| Memory::by(Method::Paper, scenario),
    largest: Some(|scenario| Largest::by(Method::Paper, scenario)),
};
