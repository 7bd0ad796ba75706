//! What holds for every scenario inside the declared ranges.

#[macro_use]
mod found;
mod comparison;
mod growth;
mod inputs;
mod links;
mod meaning;
mod memory;
mod numbers;
mod others;

use bmax::{Method, Scenario};
use proptest::prelude::*;

/// How many random cases each property is held for. No seeds are kept: a seed means another case as soon as a
/// field or a row is added. What a failure shrinks to belongs into `found.rs`.
fn random() -> ProptestConfig {
    ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() }
}

/// A scenario as it is drawn.
fn as_drawn(scenario: Scenario) -> Scenario {
    scenario
}

/// A scenario whose sizes can be compared: no more keys than queries, no more stages than layers, every stage as
/// large as the next. What is outside is named as a conflict and counted all the same.
fn sensible(mut scenario: Scenario) -> Scenario {
    // What a vision tower has is held in tests/vision.rs.
    scenario.model.vision = bmax::Vision::NONE;
    scenario.model.kv_heads = scenario.model.kv_heads.min(scenario.model.heads);
    scenario.cluster.pipeline_parallel = scenario.cluster.pipeline_parallel.min(scenario.model.layers);
    scenario.cluster.first_stage_layers = 0;
    scenario.cluster.last_stage_layers = 0;
    // Latent attention to an encoder is refused.
    if scenario.model.encoder.is_there() {
        scenario.model.latent.kv_rank = 0;
    }
    scenario
}

/// The same by the ledger.
fn counted(scenario: Scenario) -> Scenario {
    Scenario { method: Method::Ledger, ..sensible(scenario) }
}
