//! Rows of the catalogue on one GPU, from which tests set out that work numbers out by hand.

use bmax::{Recomputation, Scenario, Switch, ZeroStage, catalogue};

/// A model of the catalogue on one GPU that shards nothing, with one sequence of 1,024 tokens and no dropout.
pub fn alone(slug: &str, recomputation: Recomputation) -> Scenario {
    let mut scenario = catalogue::model(slug).expect("listed").apply(Scenario::workshop());
    scenario.cluster.gpus = 1;
    scenario.cluster.zero = ZeroStage::Stage0;
    scenario.recipe.recomputation = recomputation;
    scenario.recipe.dropout = Switch::Off;
    scenario.recipe.sequence = 1024;
    scenario.recipe.batch = 1;
    scenario
}
