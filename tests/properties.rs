//! What holds for every scenario inside the declared ranges.

use bmax::{
    Answer, AttentionKernel, Bucket, Bytes, Choice, Field, Method, Recomputation, Scenario, ZeroStage, b_max, counters,
    estimate, largest_model, least_memory_mib, link, longest_sequence, range, search, setting,
};
use proptest::prelude::*;
use proptest::sample::select;

#[path = "support/any_scenario.rs"]
mod any_scenario;

use any_scenario::any_scenario;

/// Scenarios whose sizes can be compared: no more keys than queries, no more stages than layers. What
/// is outside is named as a conflict and counted all the same.
fn sensible() -> impl Strategy<Value = Scenario> {
    any_scenario().prop_map(|mut scenario| {
        scenario.model.kv_heads = scenario.model.kv_heads.min(scenario.model.heads);
        scenario.cluster.pipeline_parallel = scenario.cluster.pipeline_parallel.min(scenario.model.layers);
        scenario
    })
}

/// The same by the ledger.
fn any_counted() -> impl Strategy<Value = Scenario> {
    sensible().prop_map(|scenario| Scenario { method: Method::Ledger, ..scenario })
}

fn peak(scenario: &Scenario) -> f64 {
    estimate(scenario).peak().bytes.get()
}

/// Where dense layers and layers with experts stand beside each other, the layer that runs backward is
/// counted as one of the wider kind, and which kind that is may change as a size grows.
fn one_kind_of_layer(scenario: &Scenario) -> bool {
    scenario.model.experts.count == 0 || scenario.model.experts.dense_layers == 0
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
            prop_assert!(at_least(estimate.peak().bytes.get(), total));
        }
    }

    #[test]
    fn an_entry_is_the_value_of_the_formula_it_shows(scenario in any_scenario()) {
        let estimate = estimate(&scenario);
        for entry in &estimate.entries {
            prop_assert_eq!(entry.bytes.get(), entry.formula.value(&entry.values(&estimate)));
        }
    }

    #[test]
    fn b_max_fits_and_one_sequence_more_does_not(scenario in any_scenario()) {
        let usable = scenario.usable().get();
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
        scenario in sensible(),
        field in select(&[Field::Batch, Field::Sequence, Field::Hidden, Field::Layers, Field::Heads, Field::Parameters]),
        factor in 1.0..16.0_f64,
    ) {
        prop_assume!(one_kind_of_layer(&scenario));
        let grown = (scenario.number(field) * factor).min(field.bound().max);
        let grown = if field.bound().whole { grown.floor() } else { grown };
        let larger = scenario.with_number(field, grown).expect("in range");
        prop_assert!(at_least(peak(&larger), peak(&scenario)), "{:?} to {}", field, grown);
    }

    #[test]
    fn memory_rises_with_vocabulary_width_and_experts(
        scenario in any_counted(),
        field in select(&[
            Field::Vocabulary, Field::FeedForward, Field::KvHeads, Field::Experts, Field::Rank, Field::Norms,
            Field::Context, Field::Fragmentation, Field::Driver, Field::MicroBatches,
        ]),
        factor in 1.0..16.0_f64,
    ) {
        prop_assume!(one_kind_of_layer(&scenario));
        // The first expert turns a dense model into another one.
        prop_assume!(field != Field::Experts || scenario.model.experts.count >= scenario.model.experts.active);
        let grown = (scenario.number(field) * factor).min(field.bound().max);
        let grown = if field.bound().whole { grown.floor() } else { grown };
        let larger = scenario.with_number(field, grown).expect("in range");
        prop_assert!(at_least(peak(&larger), peak(&scenario)), "{:?} to {}", field, grown);
    }

    #[test]
    fn memory_never_rises_with_more_gpus(scenario in sensible()) {
        // The second GPU brings communication buffers; from then on more of them only share.
        prop_assume!(scenario.cluster.data_parallel() > 1);
        // Experts are shared by as many GPUs as there are, so that more of them may share more.
        let more = (scenario.number(Field::Gpus) * 2.0).min(Field::Gpus.bound().max);
        let wider = scenario.with_number(Field::Gpus, more).expect("in range");
        prop_assert!(at_least(peak(&scenario), peak(&wider)));
    }

    #[test]
    fn memory_never_rises_with_the_zero_stage(scenario in sensible()) {
        for stages in ZeroStage::ALL.windows(2) {
            let [mut weaker, mut stronger] = [scenario; 2];
            weaker.cluster.zero = stages[0];
            stronger.cluster.zero = stages[1];
            prop_assert!(at_least(peak(&weaker), peak(&stronger)), "{:?}", stages);
        }
    }

    #[test]
    fn memory_never_rises_with_stronger_recomputation(scenario in sensible()) {
        use Recomputation::{EveryK, Full, None, Operators, Selective};
        for (weaker, stronger) in [(None, Selective), (Selective, Operators), (Operators, Full), (None, EveryK)] {
            // A segment of a mixture of experts may hold more than its share of layers with experts.
            if stronger == EveryK && scenario.model.experts.count > 0 {
                continue;
            }
            let [mut more, mut less] = [scenario; 2];
            more.recipe.recomputation = weaker;
            less.recipe.recomputation = stronger;
            prop_assert!(at_least(peak(&more), peak(&less)), "{:?} {:?}", weaker, stronger);
        }
    }

    #[test]
    fn what_costs_less_memory_by_its_nature_never_costs_more(scenario in any_counted()) {
        let with = |key: &str, word: &str| {
            let mut changed = scenario;
            let setting = setting::ALL.iter().find(|setting| setting.key == key).expect("a setting");
            assert!((setting.set)(&mut changed, word));
            peak(&changed)
        };
        for (key, more, less) in [
            ("kernels", "eager", "fused"),
            ("loss", "plain", "kernel"),
            ("loss", "kernel", "classifier"),
            ("optimizer", "adamw", "lion"),
            ("optimizer", "momentum", "sgd"),
            ("step", "foreach", "fused"),
            ("step", "loop", "fused"),
            ("dropout", "on", "off"),
            ("offload", "none", "optimizer"),
            ("offload", "optimizer", "both"),
            ("grad", "32", "16"),
            ("qk_norm", "head", "off"),
        ] {
            prop_assert!(at_least(with(key, more), with(key, less)), "{}: {} against {}", key, more, less);
        }
    }

    #[test]
    fn grouped_queries_take_no_more_than_one_key_for_each_query(scenario in any_counted()) {
        let mut each = scenario;
        each.model.kv_heads = each.model.heads;
        prop_assert!(at_least(peak(&each), peak(&scenario)));
    }

    #[test]
    fn flash_attention_takes_no_more_than_eager(scenario in any_counted()) {
        // Its row statistics are one number where eager attention keeps a row of scores.
        prop_assume!(scenario.recipe.sequence > 8);
        let [mut eager, mut flash] = [scenario; 2];
        eager.recipe.attention = AttentionKernel::Eager;
        eager.recipe.recomputation = Recomputation::None;
        flash.recipe.attention = AttentionKernel::Flash;
        flash.recipe.recomputation = Recomputation::None;
        prop_assert!(at_least(peak(&eager), peak(&flash)));
    }

    #[test]
    fn safe_is_at_most_likely_and_likely_at_most_optimistic(scenario in any_counted()) {
        let range = range(&scenario);
        let [safe, likely, optimistic] =
            [range.safe, range.likely, range.optimistic].map(|answer| answer.batch().unwrap_or(0));
        prop_assert!(safe <= likely && likely <= optimistic, "{} {} {}", safe, likely, optimistic);
        prop_assert_eq!(range.likely, b_max(&scenario));
    }

    #[test]
    fn counters_see_more_the_further_out_they_are(scenario in any_scenario()) {
        let seen = counters(&scenario);
        prop_assert!(seen.allocated <= seen.reserved && seen.reserved <= seen.device);
        prop_assert!(seen.device.get().is_finite());
    }

    #[test]
    fn every_conflict_can_be_mended(scenario in any_scenario()) {
        let mut at = scenario;
        for _ in 0..24 {
            let Some(conflict) = at.conflicts().into_iter().next() else { return Ok(()) };
            prop_assert!(!conflict.message.is_empty());
            let mended = conflict.mend.apply(at);
            prop_assert!(mended != at, "{}", conflict.message);
            at = mended;
        }
        prop_assert!(at.conflicts().is_empty(), "{:?}", at.conflicts());
    }

    #[test]
    fn inverse_questions_agree_with_the_ledger(scenario in sensible()) {
        let batch = scenario.recipe.batch;
        let fits = |scenario: &Scenario| peak(scenario) <= scenario.usable().get() * (1.0 + 1e-12);
        if let Some(sequence) = longest_sequence(&scenario, batch) {
            let mut at = scenario;
            at.recipe.sequence = sequence;
            prop_assert!(fits(&at));
            // It is a multiple of the context-parallel size, and the next one is too long.
            let next = sequence + scenario.cluster.context_parallel;
            if f64::from(next) <= Field::Sequence.bound().max {
                at.recipe.sequence = next;
                prop_assert!(at_least(peak(&at), at.usable().get()));
            }
        }
        if let Some(memory) = least_memory_mib(&scenario, batch) {
            let mut at = scenario;
            at.device.memory_mib = memory;
            prop_assert!(fits(&at));
        }
        if let Some(model) = largest_model(&scenario, batch) {
            let at = Scenario { model, ..scenario };
            prop_assert!(fits(&at));
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
