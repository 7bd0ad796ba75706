//! Recomputation: which layers run under `torch.utils.checkpoint`, not reentrant, and are computed again in the backward pass.

use crate::estimator::choice::Recomputation;
use crate::estimator::models::{Block, Model, Run};
use crate::estimator::scenario::Recipe;

/// Has layers computed again, as a recipe says. Layers are counted from 1, as torchtitan's `selective_ac_option` does
/// (`_apply_layer_sac` in torchtitan/distributed/activation_checkpoint.py, 0.2.2).
pub fn recompute(model: &mut Model, recipe: &Recipe) {
    let is_again: fn(u32, &Recipe) -> bool = match recipe.recomputation {
        Recomputation::Full => |_, _| true,
        Recomputation::KthLayer => |layer, recipe| layer.is_multiple_of(recipe.every.max(1)),
        Recomputation::Block => |layer, recipe| layer <= recipe.recomputed_layers,
        _ => return,
    };
    if recipe.recomputation == Recomputation::Full {
        model.layers.iter_mut().flat_map(|run| &mut run.period).for_each(|block| block.is_recomputed = true);
        return;
    }
    let all = model.layers.iter().flat_map(|run| std::iter::repeat_n(&run.period, run.times as usize)).flatten();
    let marked = (1..).zip(all).map(|(layer, block)| {
        let mut block = block.clone();
        block.is_recomputed = is_again(layer, recipe);
        block
    });
    let period = match recipe.recomputation {
        Recomputation::KthLayer if model.layers.iter().all(|run| run.period.len() == 1) => recipe.every.max(1) as usize,
        _ => 1,
    };
    let marked: Vec<_> = marked.collect();
    model.layers = runs(marked, period);
}

/// Layers in runs of a period, where they come in it, and one by one where they do not.
fn runs(layers: Vec<Block>, period: usize) -> Vec<Run> {
    let whole = layers.len() / period * period;
    if period > 1 && whole > period {
        let (rest, times) = (layers[whole..].to_vec(), (whole / period) as u32);
        let first = Run { period: layers[..period].to_vec(), times };
        return [first].into_iter().chain(rest.into_iter().map(alone)).collect();
    }
    layers.into_iter().map(alone).collect()
}

fn alone(block: Block) -> Run {
    Run { period: vec![block], times: 1 }
}
