//! What operator-level selection keeps of a layer beside its input.

use super::forms::{EXPERT_INNER, INNER, KEYS, QUERIES, RESIDUAL, ROWS, WHOLE_RESIDUAL};
use super::layer::{Layer, Scope, Tensor};
use crate::source::TORCHTITAN;
use crate::{AttentionKernel, Scenario};

/// The outputs of every second matrix product, counted in the order in which a layer computes them, and
/// that of attention (torchtitan 0.2.2, distributed/activation_checkpoint.py and the save list of
/// models/llama3/infra/parallelize.py).
///
/// Under tensor parallelism with sequence parallelism the outputs of both reduce-scatters are on the save
/// list as well, and the last product is a partial sum: whole, not divided by T.
pub(super) fn kept(scenario: &Scenario) -> Vec<Tensor> {
    let mut layer = Layer::new(scenario);
    let e = layer.types.element;
    let source = &TORCHTITAN;
    layer.push("Queries’ product", &QUERIES, e, source);
    layer.push("Values", &KEYS, e, source);
    // The list has PyTorch's own attention kernels; the batched products of eager attention are not on it.
    if scenario.recipe.attention != AttentionKernel::Eager {
        layer.push("Attention output", &QUERIES, e, source);
        layer.push("Log-sum-exp of each row", &ROWS, 4.0, source);
    }
    // Queries, keys, values, output, then the matrices of the feed-forward block: the fifth and,
    // where there are three, the seventh are kept.
    layer.scoped(Scope::Dense, "First product of the MLP", &INNER, e, source);
    layer.scoped(Scope::Expert, "First product of the experts", &EXPERT_INNER, e, source);
    let gated = scenario.model.mlp.is_gated();
    let scattered = scenario.cluster.tensor_parallel > 1 && scenario.cluster.sequence_parallel.is_on();
    if gated {
        layer.push("Last product of the MLP", if scattered { &WHOLE_RESIDUAL } else { &RESIDUAL }, e, source);
    }
    if scattered {
        layer.push("Outputs of the reduce-scatters", &RESIDUAL, 2.0 * e, source);
    }
    layer.into_tensors()
}
