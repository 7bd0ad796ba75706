//! Recomputation: which layers run under `torch.utils.checkpoint`, not reentrant, and are computed again in the backward pass.

use crate::estimator::choice::{Engine, Recomputation};
use crate::estimator::models::{Block, Model, Run};
use crate::estimator::operators::{Checkpoint, Operator};
use crate::estimator::scenario::Scenario;

/// Has layers computed again, as a scenario says. Layers are counted from 1, as torchtitan's `selective_ac_option` does
/// (`_apply_layer_sac` in torchtitan/distributed/activation_checkpoint.py, 0.2.2). transformers stops the second pass early, and
/// torchtitan does not (`early_stop` in torchtitan/config/job_config.py).
pub fn recompute(model: &mut Model, scenario: &Scenario) {
    let (recipe, every) = (&scenario.recipe, scenario.recipe.every.max(1));
    let checkpoint = Some(Checkpoint { stops_early: scenario.cluster.engine != Engine::Torchtitan });
    match recipe.recomputation {
        Recomputation::Full => model.layers_mut().for_each(|block| block.checkpoint = checkpoint),
        Recomputation::Operators => model.layers_mut().for_each(|block| {
            block.checkpoint = checkpoint;
            save_operators(block);
        }),
        Recomputation::KthLayer => {
            let all =
                model.layers.iter().flat_map(|run| std::iter::repeat_n(&run.period, run.times as usize)).flatten();
            let marked = (1..).zip(all).map(|(layer, block): (u32, &Block)| {
                let mut block = block.clone();
                block.checkpoint = checkpoint.filter(|_| layer.is_multiple_of(every));
                block
            });
            model.layers = runs(marked.collect(), every as usize);
        }
        _ => {}
    }
}

/// Has the results of attention and of every second product saved, from the first on (`_apply_op_sac`).
fn save_operators(block: &mut Block) {
    let mut products = 0;
    for application in &mut block.applications {
        application.is_saved = match application.operator {
            Operator::Linear { .. } => {
                products += 1;
                products % 2 == 1
            }
            Operator::Sdpa { .. } => true,
            _ => false,
        };
    }
}

/// Layers in runs of a period, where they come in it, and one by one where they do not.
fn runs(layers: Vec<Block>, period: usize) -> Vec<Run> {
    let alone = |block| Run { period: vec![block], times: 1 };
    let whole = layers.len() / period * period;
    if whole <= period {
        return layers.into_iter().map(alone).collect();
    }
    let (rest, times) = (layers[whole..].to_vec(), (whole / period) as u32);
    let first = Run { period: layers[..period].to_vec(), times };
    std::iter::once(first).chain(rest.into_iter().map(alone)).collect()
}
