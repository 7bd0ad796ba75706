//! Pinned CPU memory, in blocks of which each is a power of two.

use super::stage::Stage;
use super::states::Kind;
use super::{Assembly, matrices};
use crate::{Adapter, Scenario};

/// What PyTorch holds beyond a block of so many bytes that it was asked for: it rounds every pinned block up to a power of
/// two, and gives none back before the process ends (`allocate` and `free` in aten/src/ATen/core/CachingHostAllocator.h,
/// PyTorch 2.15; `PYTORCH_ALLOC_CONF=pinned_max_round_threshold_mb` ends the rounding above a size, and has no limit by
/// default).
pub(super) fn excess(bytes: f64) -> f64 {
    let rounded = if bytes >= 1.0 { (bytes.ceil() as u64).next_power_of_two() as f64 } else { bytes };
    rounded - bytes
}

/// So many parameters of one size.
#[derive(Clone, Copy)]
pub(super) struct Parameter {
    /// What they are.
    pub(super) kind: Kind,
    /// Elements of one.
    pub(super) elements: f64,
    /// How many there are.
    pub(super) count: f64,
}

/// The matrices of a stage on one device, before ZeRO divides them. Those of an encoder, and those that attend to it, are not
/// among them.
pub(super) fn parameters(to: &Assembly, scenario: &Scenario, stage: &Stage) -> Vec<Parameter> {
    let model = &scenario.model;
    let hidden = f64::from(model.hidden) / to.tensor_parallel;
    let whole = matrices::of(scenario, stage).into_iter().map(|matrix| {
        let kind = if matrix.inside { Kind::Attention } else { Kind::Embedding };
        Parameter { kind, elements: matrix.rows * matrix.columns / to.tensor_parallel, count: matrix.count }
    });
    let mut all: Vec<Parameter> = whole.collect();
    let mut push = |kind, elements: f64, count: f64| {
        if elements * count > 0.0 {
            all.push(Parameter { kind, elements, count });
        }
    };
    let layers = stage.expert_layers;
    // The gate and its other factor stand side by side in a stack (`gate_up_proj` of `MixtralExperts` in
    // transformers/models/mixtral/modeling_mixtral.py, 5.23.0).
    let up = if model.mlp.is_gated() { 2.0 } else { 1.0 };
    let experts = f64::from(model.experts.count) / to.expert_parallel;
    let routed = hidden * f64::from(model.expert_width());
    if scenario.recipe.adapter == Adapter::None || scenario.recipe.stacks_experts(model) {
        push(Kind::Experts, up * experts * routed, layers);
        push(Kind::Experts, experts * routed, layers);
    } else {
        push(Kind::Experts, routed, (up + 1.0) * experts * layers);
    }
    push(Kind::SharedExperts, hidden * f64::from(model.experts.shared_width), (up + 1.0) * layers);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_rounded_up_to_the_next_power_of_two() {
        // 28 MiB take 32, and 32 MiB take 32; a byte more takes 64.
        let mib = 1_048_576.0;
        assert_eq!(excess(28.0 * mib), 4.0 * mib);
        assert_eq!(excess(32.0 * mib), 0.0);
        assert_eq!(excess(32.0 * mib + 1.0), 32.0 * mib - 1.0);
        assert_eq!(excess(0.0), 0.0);
    }
}
