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
    if recipe.recomputation == Recomputation::Full {
        // `position_bias.requires_grad = True` (`T5Attention.forward` in transformers, 5.23.0).
        let applications = model.layers_mut().flat_map(|block| &mut block.applications);
        let zeros = applications.filter(|application| matches!(application.operator, Operator::Zeros { .. }));
        zeros.for_each(|zeros| zeros.is_leaf = true);
    }
    let checkpoint = Some(Checkpoint {
        stops_early: !matches!(scenario.cluster.engine, Engine::Torchtitan | Engine::Megatron),
        is_reentrant: scenario.cluster.engine == Engine::Megatron,
    });
    match recipe.recomputation {
        Recomputation::Full => {
            model.layers_mut().filter(|block| block.is_layer).for_each(|block| block.checkpoint = checkpoint)
        }
        Recomputation::Operators => model.layers_mut().for_each(|block| {
            block.checkpoint = checkpoint;
            save_operators(block);
        }),
        Recomputation::KthLayer => {
            let is_plain = model.layers.iter().all(|run| run.period.len() == 1);
            let marked = marked(model, |layer| checkpoint.filter(|_| layer.is_multiple_of(every)));
            model.layers = runs(marked, if is_plain { every as usize } else { 1 });
        }
        Recomputation::EveryK => {
            let is_plain = model.layers.iter().all(|run| run.period.len() == 1);
            let segments = segments(&marked(model, |_| None), every as usize, checkpoint);
            model.layers = if is_plain { in_a_row(segments, every as usize) } else { runs(segments, 1) };
        }
        Recomputation::Block => {
            let marked = marked(model, |layer| checkpoint.filter(|_| layer <= recipe.recomputed_layers));
            model.layers = runs(marked, 1);
        }
        _ => {}
    }
}

/// All layers one by one, each with its checkpoint.
fn marked(model: &Model, checkpoint: impl Fn(u32) -> Option<Checkpoint>) -> Vec<Block> {
    let all = model.layers.iter().flat_map(|run| std::iter::repeat_n(&run.period, run.times as usize)).flatten();
    let marked = |(layer, block): (u32, &Block)| {
        let mut block = block.clone();
        block.checkpoint = checkpoint(layer);
        block
    };
    (1..).zip(all).map(marked).collect()
}

/// Layers in segments of so many, each under one checkpoint; the last has the rest (`checkpoint_handler` with the method
/// "uniform" in megatron/core/transformer/transformer_block.py).
fn segments(layers: &[Block], every: usize, checkpoint: Option<Checkpoint>) -> Vec<Block> {
    let segment = |layers: &[Block]| {
        let (first, behind) = layers.split_first()?;
        let mut segment = first.clone();
        (segment.checkpoint, segment.behind) = (checkpoint, behind.to_vec());
        Some(segment)
    };
    layers.chunks(every).filter_map(segment).collect()
}

/// Segments that are alike in one run, and the last by itself where it is shorter.
fn in_a_row(mut segments: Vec<Block>, every: usize) -> Vec<Run> {
    let rest = segments.pop_if(|last| last.behind.len() + 1 < every);
    let times = segments.len() as u32;
    let equal = segments.into_iter().next().map(|segment| Run { period: vec![segment], times });
    equal.into_iter().chain(rest.map(alone)).collect()
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
            Operator::Sdpa { .. } | Operator::ScatterSequence { .. } => true,
            _ => false,
        };
    }
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
