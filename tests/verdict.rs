//! One verdict wherever the answer is said: what has no answer is never answered, what is said to fit is nowhere above the
//! device, and what does not fit is followed by what does.

use bmax::{
    Answer, Bytes, Change, Field, RefusalKind, Scenario, Unit, b_max, catalogue, counters, format,
    inverse::longest_sequence,
    largest_micro_batch, link, preview,
    range::range,
    strategy::cheapest_plan,
    sweep::b_max_by_sequence,
    ways::{Price, ways},
};
use proptest::prelude::*;

use crate::support::any_scenario::any_scenario;

fn scenario(query: &str) -> Scenario {
    link::decode(query).scenario
}

fn with(scenario: &Scenario, changes: &[Change]) -> Scenario {
    changes.iter().fold(*scenario, |scenario, change| change.apply(scenario))
}

fn sizes(scenario: &Scenario) -> Vec<Change> {
    catalogue::sizes_above(scenario.device.memory).collect()
}

/// The refusal of a scenario.
fn refused(query: &str) -> bmax::Refusal {
    match b_max(&scenario(query)) {
        Answer::Refused(refusal) => refusal,
        other => panic!("{query}: {other:?}"),
    }
}

#[test]
fn settings_that_no_program_runs_and_settings_that_are_not_all_counted_are_told_apart() {
    for (query, kind) in [
        ("v=3&model=llama-3.1-8b&gpus=8&tp=3&pp=64&cp=5&ep=7", RefusalKind::Contradiction),
        ("model=llama-3.1-8b&gpus=8&tp=3", RefusalKind::Contradiction),
        ("model=qwen2.5-vl-7b&gpus=8&engine=deepspeed&zero=3&s=4096", RefusalKind::Uncounted),
        ("model=qwen2.5-vl-7b&task=dpo&gpus=8", RefusalKind::Uncounted),
        // Both kinds at once: what no program runs is said.
        ("model=qwen2.5-vl-7b&task=dpo&gpus=8&tp=3", RefusalKind::Contradiction),
        ("model=no-such-model&gpus=8", RefusalKind::UnknownModel),
    ] {
        let refusal = refused(query);
        assert_eq!(refusal.kind, kind, "{query}");
        assert_eq!(refusal.conflicts.is_empty(), kind == RefusalKind::UnknownModel, "{query}");
    }
}

#[test]
fn no_model_answers_for_one_that_is_not_known() {
    let asked = scenario("model=qwen-2.5-7b&gpu=rtx-4090&s=4096");
    assert_eq!(link::encode(&asked), "v=4&model=unknown&gpu=rtx-4090&s=4096");
    assert_eq!(scenario(&link::encode(&asked)), asked, "the word stands for itself");
    assert_eq!(refused("model=qwen-2.5-7b").would_be, None);
    // Choosing a row answers, and so does a model of the reader's own.
    let chosen = link::decode_onto(Some(&asked), "model=qwen2.5-7b").scenario;
    assert!(!matches!(b_max(&chosen), Answer::Refused(_)));
    let own = link::decode_onto(Some(&asked), "model=own").scenario;
    assert!(!matches!(b_max(&own), Answer::Refused(_)));
    assert_eq!(ways(&asked, &sizes(&asked)), bmax::ways::Ways::default(), "there is no way but another model");
}

#[test]
fn seven_billion_weights_on_one_24_gb_card_are_led_to_lora_and_qlora_and_to_no_larger_card_before() {
    // 4 bytes of weights and gradients and 12 of optimizer state for each of 7.6 billion weights are 113 GiB.
    let asked = scenario("model=qwen2.5-7b&gpu=rtx-4090&gpus=1");
    let found = ways(&asked, &sizes(&asked)).fitting;
    let words: Vec<_> = found.iter().map(|way| link::encode(&asked.then(with(&asked, &way.changes)))).collect();
    assert_eq!(
        words[..2],
        [
            "v=4&model=qwen2.5-7b&gpu=rtx-4090&gpus=1&adapter=lora",
            "v=4&model=qwen2.5-7b&gpu=rtx-4090&gpus=1&adapter=qlora"
        ]
    );
    assert!(found.iter().any(|way| way.changes.iter().any(|change| change.price() == Price::Devices)), "{words:?}");
    for change in &found[0].changes {
        assert!(change.cost().contains("Something else is trained"), "{}", change.cost());
    }
}

#[test]
fn a_step_that_fits_shows_no_more_than_the_card_has() {
    for query in [
        "model=qwen2.5-32b&gpu=a100-80&gpus=8&s=1024&engine=deepspeed&b=5",
        "model=qwen2.5-7b&gpu=h200&gpus=2&s=1024&zero=2&engine=deepspeed&b=39",
    ] {
        let asked = scenario(query);
        let most = b_max(&asked).batch().expect("it fits");
        let at = asked.with_batch(most);
        let seen = counters(&at);
        assert!(seen.given_back > Bytes::ZERO, "{query}: the case needs a counter above the card");
        assert!(seen.device <= at.device.memory - at.device.driver, "{query}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_has_a_conflict_is_answered_nowhere_and_everything_else_is(scenario in any_scenario()) {
        let conflicts = scenario.conflicts();
        let answer = b_max(&scenario);
        let refused = matches!(answer, Answer::Refused(_));
        prop_assert_eq!(refused, !conflicts.is_empty());
        let range = range(&scenario);
        for one in [&range.safe, &range.likely, &range.optimistic] {
            prop_assert_eq!(matches!(one, Answer::Refused(_)), refused);
        }
        if let Answer::Refused(refusal) = &answer {
            prop_assert_eq!(&refusal.conflicts, &conflicts);
            prop_assert_eq!(refusal.would_be, largest_micro_batch(&scenario));
            prop_assert_eq!(answer.batch(), None);
            prop_assert!(format::answer(&answer).chars().all(|letter| !letter.is_ascii_digit()));
            let sentence = preview::sentence(&scenario, &answer);
            prop_assert!(sentence.starts_with("No answer: "), "{}", sentence);
            for conflict in &conflicts {
                prop_assert!(sentence.contains(&conflict.message), "{}", sentence);
            }
            prop_assert_eq!(cheapest_plan(&scenario, catalogue::speed(&scenario)).rungs, vec![]);
            prop_assert_eq!(bmax::levers::ranked(&scenario, &[]), vec![]);
        }
    }

    #[test]
    fn a_sentence_about_a_configuration_has_commas_in_every_number_of_thousands(scenario in any_scenario()) {
        let answer = b_max(&scenario);
        let conflicts = scenario.conflicts().into_iter().map(|conflict| conflict.message);
        for sentence in conflicts.chain(format::shortage(&answer, scenario.unit())) {
            let longest = sentence.split(|letter: char| !letter.is_ascii_digit()).map(str::len).max();
            prop_assert!(longest < Some(4), "{}", sentence);
        }
    }

    #[test]
    fn the_longest_sequence_that_is_named_has_an_answer_and_so_has_every_point_of_the_curve_of_lengths(
        scenario in any_scenario(),
    ) {
        let (mended, _) = scenario.mended();
        let at = |length| mended.with_number(Field::Sequence, f64::from(length)).expect("a length in range");
        if let (Some(_), Some(longest)) = (b_max(&mended).batch(), longest_sequence(&mended, 1)) {
            prop_assert!(b_max(&at(longest)).batch().is_some(), "{}", link::encode(&at(longest)));
        }
        // What is longer than learned positions is refused for that alone, whatever else a length brings about.
        let lengths = [512, 1_024, 4_096, 65_536];
        for (length, batch) in lengths.into_iter().zip(b_max_by_sequence(&mended, &lengths)) {
            let is_too_long = at(length).conflicts().iter().any(|conflict| conflict.message.contains("learned positions"));
            prop_assert!(!(is_too_long && batch.is_some()), "{}", link::encode(&at(length)));
        }
    }

    #[test]
    fn what_is_said_to_fit_is_above_the_card_by_no_counter(scenario in any_scenario()) {
        let (mended, _) = scenario.mended();
        let Some(most) = b_max(&mended).batch().filter(|_| mended.method == bmax::Method::Ledger) else { return Ok(()) };
        for batch in [1, most.div_ceil(2), most] {
            let at = mended.with_batch(batch);
            let seen = counters(&at);
            prop_assert!(seen.device.get() <= (at.device.memory - at.device.driver).get() + 1.0, "{}", link::encode(&at));
            prop_assert!(seen.allocated <= seen.reserved && seen.reserved <= seen.device);
        }
    }

    #[test]
    fn mends_leave_no_conflict(scenario in any_scenario()) {
        let (mended, changes) = scenario.mended();
        prop_assert!(mended.conflicts().is_empty());
        prop_assert_eq!(changes.is_empty(), mended == scenario);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_way_out_fits_and_needs_each_of_its_changes(scenario in any_scenario()) {
        let (mended, mends) = scenario.mended();
        let found = ways(&scenario, &sizes(&scenario));
        if mends.is_empty() && largest_micro_batch(&scenario).is_some() {
            prop_assert_eq!(found, bmax::ways::Ways::default());
            return Ok(());
        }
        prop_assert_eq!(found.fitting.is_empty(), found.closest.is_some());
        for way in &found.fitting {
            let to = with(&scenario, &way.changes);
            prop_assert_eq!(b_max(&to).batch(), Some(way.after), "{} with {:?}", link::encode(&scenario), way.changes);
            // Without one of the changes that are no mends one sequence does not fit.
            for left_out in way.changes.iter().filter(|change| !mends.contains(change)) {
                let others: Vec<Change> = way.changes.iter().copied().filter(|change| change != left_out).collect();
                prop_assert_eq!(b_max(&with(&mended, &others)).batch(), None, "{:?}", left_out);
            }
        }
        prop_assert!(found.fitting.is_sorted_by_key(|way| way.changes.iter().map(|change| change.price()).max()));
    }
}

#[test]
fn a_refusal_says_what_is_wrong_and_what_would_be() {
    let refusal = refused("model=llama-3.1-8b&gpus=8&tp=3");
    let said = format::refusal(&refusal, Unit::Sequences);
    assert!(said.starts_with("No answer: these settings do not go together."), "{said}");
    assert!(said.contains("By what is counted, ") && said.ends_with(" would fit."), "{said}");
}
