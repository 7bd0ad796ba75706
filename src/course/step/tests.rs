//! What holds for every curve.

use super::*;
use crate::{AttentionKernel, Choice, Optimizer, Precision, catalogue};

const FIRST_STAGE: Places = Places::behind_the_last(0);
const SECOND_STAGE: Places = Places::behind_the_last(1);

/// Scenarios that differ in what the curve is made of.
fn scenarios() -> Vec<Scenario> {
    let mut all = Vec::new();
    for slug in ["1b", "7b", "llama-3.1-8b", "gpt2"] {
        let Some(row) = catalogue::model(slug) else { continue };
        for &recomputation in Recomputation::ALL {
            for micro_batches in [1, 2, 4, 7] {
                for (stages, attention) in [(1, AttentionKernel::Flash), (2, AttentionKernel::Eager)] {
                    let mut scenario = row.apply(Scenario::workshop());
                    scenario.recipe.recomputation = recomputation;
                    scenario.recipe.micro_batches = micro_batches;
                    scenario.recipe.attention = attention;
                    scenario.cluster.pipeline_parallel = stages;
                    all.push(scenario);
                    scenario.recipe.precision = Precision::Autocast;
                    scenario.cluster.pipeline_parallel = 1;
                    all.push(scenario);
                }
                // With so few layers on the first stage the second needs most.
                let mut uneven = row.apply(Scenario::workshop());
                uneven.recipe.recomputation = recomputation;
                uneven.recipe.micro_batches = micro_batches;
                uneven.cluster.pipeline_parallel = 4;
                uneven.cluster.virtual_stages = 2;
                uneven.cluster.first_stage_layers = 1;
                all.push(uneven);
            }
        }
    }
    assert!(all.len() > 200, "{} scenarios", all.len());
    all
}

fn close(a: Bytes, b: Bytes) -> bool {
    (a.get() - b.get()).abs() <= 1e-9 * a.get().abs().max(b.get().abs()).max(1.0)
}

#[test]
fn at_every_named_instant_the_curve_is_the_ledger() {
    for scenario in scenarios() {
        let curve = timeline(&scenario);
        let mut alone = scenario;
        alone.recipe.micro_batches = 1;
        let (whole, fresh) = (estimate(&scenario), estimate(&alone));
        for moment in &curve.moments {
            let Some(position) = moment.instant else { continue };
            let ledger = if curve.drawn > 1 && moment.micro_batch == 1 { &fresh } else { &whole };
            for &bucket in Bucket::ALL {
                // The first step lacks the state that its update makes.
                if moment.step == 2 || bucket != Bucket::Optimizer {
                    let held = moment.held.of(bucket);
                    assert!(close(held, ledger.bucket_at(bucket, position)), "{scenario:?} {moment:?}");
                }
            }
            if moment.step == 2 {
                assert!(close(moment.held.total(), ledger.total_at(position)), "{moment:?}");
            }
        }
    }
}

#[test]
fn the_highest_of_the_second_step_is_the_peak_and_one_of_its_instants() {
    let mut is_second = false;
    for scenario in scenarios() {
        let (curve, estimate) = (timeline(&scenario), estimate(&scenario));
        let highest = curve.highest(2);
        is_second |= estimate.binding().0 > FIRST_STAGE.update;
        assert!(close(highest.held.total(), estimate.peak().bytes), "{scenario:?}");
        assert_eq!(highest.instant, Some(estimate.binding().0), "{scenario:?}");
        assert!(curve.highest(1).held.total() <= highest.held.total());
    }
    assert!(is_second, "the second stage should need most in some of them");
}

#[test]
fn nothing_is_ever_negative_and_time_only_goes_on() {
    for scenario in scenarios() {
        let curve = timeline(&scenario);
        assert!(curve.moments.is_sorted_by(|a, b| a.at < b.at), "{scenario:?}");
        assert!(curve.moments.iter().all(|moment| moment.held.0.iter().all(|bytes| *bytes >= -1.0)));
        assert_eq!(curve.moments.first().map(|moment| moment.at), Some(0.0));
        assert_eq!(curve.moments.last().map(|moment| moment.at), Some(f64::from(2 * PARTS)));
    }
}

#[test]
fn adam_s_state_appears_with_the_first_update_and_stays() {
    let scenario = Scenario::workshop();
    let curve = timeline(&scenario);
    let state = |at: f64| curve.at(at).1.of(Bucket::Optimizer);
    // 7·10⁹ weights over eight devices: 4 bytes of master copy, and 8 of moments beside them.
    let weights = f64::from(u32::try_from(catalogue::WORKSHOP_MODEL.model.derived_parameters() / 8).expect("fits"));
    assert!((state(0.0).get() / weights - 4.0).abs() < 1e-6);
    assert!((state(170.0).get() / weights - 4.0).abs() < 1e-6);
    for at in [186.0, 200.0, 300.0, 399.0] {
        assert!((state(at).get() / weights - 12.0).abs() < 1e-6, "at {at}");
    }
    let mut plain = scenario;
    plain.recipe.optimizer = Optimizer::Sgd;
    assert_eq!(timeline(&plain).highest(1).held, timeline(&plain).highest(2).held, "SGD has no state");
}

#[test]
fn a_layer_that_is_computed_again_comes_and_goes() {
    let mut scenario = Scenario::workshop();
    scenario.recipe.recomputation = Recomputation::Full;
    let curve = timeline(&scenario);
    let activations: Vec<f64> = curve
        .moments
        .iter()
        .filter(|moment| moment.step == 2 && moment.at >= 279.0 && moment.at <= 366.0)
        .map(|moment| moment.held.of(Bucket::Activations).get())
        .collect();
    let falls = activations.windows(2).filter(|pair| pair[1] < pair[0]).count();
    let rises = activations.windows(2).filter(|pair| pair[1] > pair[0]).count();
    let layers = scenario.model.layers as usize;
    assert_eq!((falls, rises), (layers - 1, layers - 1));
    scenario.recipe.recomputation = Recomputation::None;
    let kept = timeline(&scenario);
    assert!(kept.moments.len() < curve.moments.len());
}

#[test]
fn a_second_micro_batch_runs_beside_the_sums_of_the_first() {
    let mut scenario = Scenario::workshop();
    scenario.recipe.micro_batches = 2;
    let curve = timeline(&scenario);
    let at_loss: Vec<Bytes> = curve
        .moments
        .iter()
        .filter(|moment| moment.instant == Some(0))
        .map(|moment| moment.held.of(Bucket::Gradients))
        .collect();
    assert_eq!(at_loss.len(), 4);
    assert_eq!(at_loss[0], Bytes::ZERO);
    assert!(at_loss[1] > Bytes::from_gib(1.0));
    assert_eq!(at_loss[..2], at_loss[2..]);
}

#[test]
fn the_methods_with_one_instant_are_flat() {
    for method in [Method::Workshop, Method::Paper] {
        let scenario = Scenario { method, ..Scenario::workshop() };
        let curve = timeline(&scenario);
        assert_eq!(curve.moments.len(), 2);
        assert_eq!(curve.at(123.0).1, curve.moments[0].held);
        assert!(close(curve.highest(2).held.total(), estimate(&scenario).peak().bytes));
    }
}

#[test]
fn the_places_are_those_of_the_ledger() {
    let named = |scenario: &Scenario, position: usize| estimate(scenario).instants[position].name;
    let mut scenario = Scenario::workshop();
    let places = LAST_STAGE;
    assert_eq!(named(&scenario, places.forward), "loss, forward");
    assert_eq!(named(&scenario, places.loss), "loss, backward");
    assert_eq!(named(&scenario, places.last), "backward, last layer");
    assert_eq!(named(&scenario, places.first), "backward, first layer");
    assert_eq!(named(&scenario, places.end), "end of backward");
    assert_eq!(named(&scenario, places.update), "optimizer step");
    scenario.cluster.pipeline_parallel = 2;
    let places = FIRST_STAGE;
    assert_eq!(named(&scenario, places.forward), "first stage: pipeline full");
    assert_eq!(named(&scenario, places.last), "first stage: backward, last layer");
    assert_eq!(named(&scenario, places.first), "first stage: backward, first layer");
    assert_eq!(named(&scenario, places.update), "first stage: optimizer step");
    assert_eq!(estimate(&scenario).instants.len(), places.update + 1);
    scenario.cluster.pipeline_parallel = 4;
    let places = SECOND_STAGE;
    assert_eq!(named(&scenario, places.forward), "second stage: pipeline full");
    assert_eq!(named(&scenario, places.last), "second stage: backward, last layer");
    assert_eq!(named(&scenario, places.first), "second stage: backward, first layer");
    assert_eq!(named(&scenario, places.update), "second stage: optimizer step");
    assert_eq!(estimate(&scenario).instants.len(), places.update + 1);
}
