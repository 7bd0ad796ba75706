//! What holds for every scenario inside the declared ranges.

use bmax::{
    Answer, BatchUnit, Bucket, Bytes, Choice, Field, Method, Mlp, Precision, Recomputation, Scenario, Switch,
    ZeroStage, b_max, catalogue, estimate, link, search,
};
use proptest::prelude::*;
use proptest::sample::select;

/// Values of one field, from its declared range, spread evenly over orders of magnitude so that
/// small numbers are as likely as large ones.
fn within(field: Field) -> impl Strategy<Value = f64> {
    let bound = field.bound();
    // Headroom may be zero, which has no logarithm.
    let low = bound.min.max(1e-3).ln();
    (low..=bound.max.ln()).prop_map(move |exponent| {
        let value = exponent.exp().clamp(bound.min, bound.max);
        if bound.whole { value.round().clamp(bound.min, bound.max) } else { value }
    })
}

fn any_of<T: Choice + std::fmt::Debug>() -> impl Strategy<Value = T> {
    select(T::ALL)
}

prop_compose! {
    fn any_scenario()(
        model in 0..catalogue::MODELS.len(),
        device in 0..catalogue::DEVICES.len(),
        numbers in Field::ALL.iter().map(|field| prop::option::weighted(0.7, within(*field))).collect::<Vec<_>>(),
        (method, precision, recomputation, zero) in
            (any_of::<Method>(), any_of::<Precision>(), any_of::<Recomputation>(), any_of::<ZeroStage>()),
        (dropout, sequence_parallel, tied) in (any_of::<Switch>(), any_of::<Switch>(), any_of::<Switch>()),
        (mlp, unit, reference) in (any_of::<Mlp>(), any_of::<BatchUnit>(), any_of::<Recomputation>()),
    ) -> Scenario {
        let mut scenario = catalogue::MODELS[model].apply(Scenario::default());
        scenario = catalogue::DEVICES[device].apply(scenario);
        for (field, number) in Field::ALL.iter().zip(numbers) {
            if let Some(number) = number {
                scenario = scenario.with_number(*field, number).expect("the generator stays in range");
            }
        }
        scenario.method = method;
        scenario.recipe.precision = precision;
        scenario.recipe.recomputation = recomputation;
        scenario.recipe.dropout = dropout;
        scenario.cluster.zero = zero;
        scenario.cluster.sequence_parallel = sequence_parallel;
        scenario.model.tied_embeddings = tied;
        scenario.model.mlp = mlp;
        scenario.goal.unit = unit;
        scenario.comparison.recomputation = reference;
        scenario
    }
}

fn peak(scenario: &Scenario) -> f64 {
    estimate(scenario).peak().bytes.get()
}

/// Sums of the same terms in another order may differ in the last bits.
fn at_least(larger: f64, smaller: f64) -> bool {
    larger >= smaller * (1.0 - 1e-12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn every_scenario_in_range_has_a_finite_answer(scenario in any_scenario()) {
        let estimate = estimate(&scenario);
        for entry in &estimate.entries {
            prop_assert!(entry.bytes.get().is_finite() && entry.bytes >= Bytes::ZERO, "{}", entry.name);
        }
        match b_max(&scenario) {
            Answer::Fits(room) => prop_assert!(room.peak.get().is_finite() && room.batch >= 1),
            Answer::Infeasible(reason) => prop_assert!(reason.over.get().is_finite() && reason.over > Bytes::ZERO),
        }
    }

    #[test]
    fn buckets_add_up_to_the_total_at_every_instant(scenario in any_scenario()) {
        let estimate = estimate(&scenario);
        for position in 0..estimate.instants.len() {
            let total = estimate.total_at(position).get();
            let parts: f64 = Bucket::ALL.iter().map(|bucket| estimate.bucket_at(*bucket, position).get()).sum();
            prop_assert!((total - parts).abs() <= total * 1e-12);
            prop_assert!(total <= estimate.peak().bytes.get());
        }
    }

    #[test]
    fn an_entry_is_the_value_of_the_formula_it_shows(scenario in any_scenario()) {
        let estimate = estimate(&scenario);
        for entry in &estimate.entries {
            prop_assert_eq!(entry.bytes.get(), entry.formula.value(&estimate.values));
        }
    }

    #[test]
    fn b_max_fits_and_one_sequence_more_does_not(scenario in any_scenario()) {
        let usable = scenario.device.usable().get();
        match b_max(&scenario) {
            Answer::Fits(room) => {
                prop_assert!(peak(&scenario.with_batch(room.batch)) <= usable * (1.0 + 1e-12));
                if !room.capped {
                    prop_assert!(at_least(peak(&scenario.with_batch(room.batch + 1)), usable));
                }
            }
            Answer::Infeasible(_) => prop_assert!(at_least(peak(&scenario.with_batch(1)), usable)),
        }
    }

    #[test]
    fn the_empirical_search_ends_at_b_max(scenario in any_scenario()) {
        let probes = search::by_running_out(&scenario);
        let last = probes.last().expect("it tries at least once");
        prop_assert_eq!(last.low, b_max(&scenario).batch().unwrap_or(0));
        prop_assert!(probes.len() <= 42, "{} attempts", probes.len());
    }

    #[test]
    fn memory_rises_with_batch_sequence_hidden_layers_heads_and_parameters(
        scenario in any_scenario(),
        field in select(&[Field::Batch, Field::Sequence, Field::Hidden, Field::Layers, Field::Heads, Field::Parameters]),
        factor in 1.0..16.0_f64,
    ) {
        let grown = (scenario.number(field) * factor).min(field.bound().max);
        let grown = if field.bound().whole { grown.floor() } else { grown };
        let larger = scenario.with_number(field, grown).expect("in range");
        prop_assert!(at_least(peak(&larger), peak(&scenario)), "{:?} to {}", field, grown);
    }

    #[test]
    fn memory_never_rises_with_gpus_zero_stage_or_stronger_recomputation(
        scenario in any_scenario(), doubled in any::<bool>(),
    ) {
        if doubled {
            let more = (scenario.number(Field::Gpus) * 2.0).min(Field::Gpus.bound().max);
            let wider = scenario.with_number(Field::Gpus, more).expect("in range");
            prop_assert!(at_least(peak(&scenario), peak(&wider)));
        }
        for stages in ZeroStage::ALL.windows(2) {
            let [mut weaker, mut stronger] = [scenario; 2];
            weaker.cluster.zero = stages[0];
            stronger.cluster.zero = stages[1];
            prop_assert!(at_least(peak(&weaker), peak(&stronger)));
        }
        for policies in Recomputation::ALL.windows(2) {
            let [mut weaker, mut stronger] = [scenario; 2];
            weaker.recipe.recomputation = policies[0];
            stronger.recipe.recomputation = policies[1];
            prop_assert!(at_least(peak(&weaker), peak(&stronger)));
        }
    }

    #[test]
    fn a_link_brings_back_the_same_scenario(scenario in any_scenario()) {
        let query = link::encode(&scenario);
        prop_assert!(query.len() < link::LONGEST);
        let read = link::decode(&query);
        prop_assert_eq!(&read.notices, &[]);
        prop_assert_eq!(read.scenario, scenario);
        prop_assert_eq!(link::encode(&read.scenario), query);
    }

    #[test]
    fn no_query_panics_and_every_one_gives_a_scenario_in_range(query in "(.|[&=%?+]){0,200}") {
        let read = link::decode(&query);
        for &field in Field::ALL {
            prop_assert!(field.check(read.scenario.number(field)).is_ok());
        }
    }

    #[test]
    fn no_value_of_a_known_parameter_panics(
        field in select(Field::ALL), value in "(\\PC|[0-9eE.,+-]){0,40}",
    ) {
        let read = link::decode(&format!("{}={value}", field.bound().key));
        prop_assert!(field.check(read.scenario.number(field)).is_ok());
    }

    #[test]
    fn the_search_finds_the_last_that_fits(limit in 1_u32..100_000, guess in any::<u32>(), last in 0_u32..100_000) {
        let found = search::largest(limit, guess, |n| n <= last);
        prop_assert_eq!(found, last.min(limit));
    }
}
