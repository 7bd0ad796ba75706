//! The cards of the tour: their numbers are the library's, their configurations can be linked to, and their words can be
//! read by whoever has read nothing else.

use std::collections::BTreeSet;

use bmax::tour::{CARDS, Card, Part, Seen, WAYS, named, places};
use bmax::{Answer, Bucket, Bytes, Recomputation, Scenario, ZeroStage, b_max, estimate, format, link};
use proptest::prelude::*;

use crate::support::any_scenario::any_scenario;

fn card(id: &str) -> &'static Card {
    CARDS.iter().find(|card| card.id == id).expect(id)
}

/// What a card shows to whoever begins with this configuration.
fn shown(id: &str, own: Scenario) -> Scenario {
    (card(id).change)(&Seen::of(own))
}

fn told(id: &str, own: Scenario) -> String {
    card(id).told(&Seen::of(own))
}

#[test]
fn every_card_has_a_name_a_part_of_the_figure_and_a_fragment_of_its_own() {
    let ids: BTreeSet<_> = CARDS.iter().map(|card| card.id).collect();
    let parts: BTreeSet<_> = CARDS.iter().map(|card| card.part.key()).collect();
    assert_eq!((ids.len(), parts.len()), (CARDS.len(), CARDS.len()));
    let named: Vec<_> = places().filter_map(|place| named(&place)).collect();
    assert_eq!(named, [0].into_iter().chain(0..CARDS.len()).collect::<Vec<_>>());
    assert_eq!(CARDS[0].part, Part::Answer);
}

/// The answer is the text's own (`src/pages/home/01_opening.md`): 6 sequences, and 80 GiB of which all can be used.
#[test]
fn the_cards_of_the_default_go_from_the_answer_over_the_first_that_does_not_fit_to_what_helps() {
    let own = Scenario::workshop();
    assert_eq!(shown("question", own), own);
    assert_eq!(shown("left", own), own.with_batch(6));
    assert_eq!(shown("next", own), own.with_batch(7));
    let recomputed = shown("recompute", own);
    assert_eq!((recomputed.recipe.recomputation, recomputed.recipe.batch), (Recomputation::Full, 7));
    let sharded = shown("shard", own);
    assert_eq!((sharded.cluster.gpus, sharded.cluster.zero, sharded.recipe.batch), (16, ZeroStage::Stage3, 7));
    assert_eq!(shown("ways", own), own);
    assert!(told("question", own).ends_with("the answer is 6, for sequences of 2,048 tokens."));
    assert!(told("next", own).starts_with("A step with 7 sequences needs "));
}

#[test]
fn the_numbers_of_the_default_are_worked_out_by_hand() {
    let own = Scenario::workshop();
    // L (12 H² + 13 H) + V H + 2 H weights with H = 4096, L = 32 and V = 32,000; Adam's two moments and the master copy
    // take 4 bytes each, an eighth of them on each GPU.
    let weights = 32.0 * (12.0 * 4_096.0 * 4_096.0 + 13.0 * 4_096.0) + 32_000.0 * 4_096.0 + 2.0 * 4_096.0;
    let states = Bytes::new(12.0 * weights / 8.0);
    assert!(
        told("optimizer", own).contains(&format!("takes {},", format::memory(states))),
        "{}",
        told("optimizer", own)
    );
    // 6 · 2,048 tokens with a vocabulary of 32,000, in fp32, three times: log-softmax and two gradients.
    assert_eq!(own.model.vocabulary, 32_000);
    let logits = format::memory(Bytes::new(6.0 * 2_048.0 * 32_000.0 * 4.0 * 3.0));
    assert!(told("loss", own).ends_with(&format!("gradients take {logits}.")), "{}", told("loss", own));
}

#[test]
fn the_numbers_of_the_cards_are_those_of_the_estimate() {
    let own = Scenario::workshop();
    let full = estimate(&own.with_batch(6));
    for (id, bucket) in [
        ("parameters", Bucket::Parameters),
        ("gradients", Bucket::Gradients),
        ("optimizer", Bucket::Optimizer),
        ("forward", Bucket::Activations),
    ] {
        assert!(told(id, own).contains(&format::memory(full.fullest(bucket).1)), "{}", told(id, own));
    }
    let peak = full.peak();
    let most = format!("at “{}”: {} of the 80.0 GiB", peak.instant.name, format::memory(peak.bytes));
    assert!(told("peak", own).contains(&most), "{}", told("peak", own));
    let Answer::Fits(room) = b_max(&own) else { panic!("the default fits") };
    assert!(told("left", own).contains(&format!("{} of the 80.0 GiB", format::memory(full.usable() - peak.bytes))));
    let lacks = format::memory(room.next_lacks);
    assert!(told("left", own).ends_with(&format!("{lacks} too much.")));
    assert!(told("next", own).contains(&format!("{lacks} too much.")), "{}", told("next", own));
    for id in ["recompute", "shard"] {
        let most = b_max(&shown(id, own)).batch().expect("it fits");
        assert!(told(id, own).ends_with(&format!("the largest batch goes from 6 to {most}.")), "{}", told(id, own));
    }
    let [kept, was] = [shown("recompute", own), own.with_batch(7)]
        .map(|s| format::memory(estimate(&s).fullest(Bucket::Activations).1));
    assert!(told("recompute", own).contains(&format!("{kept} instead of {was}")), "{}", told("recompute", own));
}

/// The four cards of buckets say what the legend of the figure says.
#[cfg(feature = "chart")]
#[test]
fn the_cards_of_the_buckets_say_what_the_legend_of_the_figure_says() {
    use bmax::chart::{MemoryBar, PARTS, part};

    let own = Scenario::workshop();
    for id in ["parameters", "gradients", "optimizer", "forward"] {
        let bar = MemoryBar::of(&estimate(&shown(id, own)), None);
        let key = card(id).part.key();
        let at = (0..PARTS).find(|at| part(*at).key() == key).expect(key);
        assert!(told(id, own).contains(&bar.size_text(at)), "{}", told(id, own));
    }
}

#[test]
fn where_nothing_fits_or_a_card_s_setting_is_there_already_the_words_say_so() {
    let alone = Scenario::workshop().with_number(bmax::Field::Gpus, 1.0).expect("in range");
    assert!(b_max(&alone).batch().is_none());
    assert!(told("question", alone).contains("not even one sequence"));
    assert!(told("left", alone).contains("One sequence is "));
    assert!(told("shard", alone).contains("With 2 GPUs instead of 1 GPU"), "{}", told("shard", alone));
    let mut full = Scenario::workshop();
    full.recipe.recomputation = Recomputation::Full;
    assert!(told("recompute", full).contains("does so already (full)"), "{}", told("recompute", full));
    let workshop = Scenario { method: bmax::Method::Workshop, ..Scenario::workshop() };
    assert!(told("loss", workshop).ends_with("does not count them."), "{}", told("loss", workshop));
}

/// Whether a text says something a newcomer can read: whole sentences, short ones, and no symbols.
fn is_plain(text: &str) -> Result<(), TestCaseError> {
    prop_assert!(text.ends_with(['.', ':']) && !text.contains("  ") && !text.contains(['{', '}', '_']), "{text}");
    for sentence in text.split(['.', ':', '?']).filter(|part| !part.is_empty()) {
        prop_assert!(sentence.split_whitespace().count() <= 40, "{sentence}");
    }
    // The “’s” of “the policy’s” is a part of its word.
    for word in text.split(|letter: char| !letter.is_alphanumeric() && letter != '’').filter(|word| !word.is_empty())
    {
        let is_symbol =
            word.chars().count() == 1 && word.chars().all(char::is_alphabetic) && !["a", "A"].contains(&word);
        prop_assert!(!is_symbol && !["NaN", "inf"].contains(&word), "“{word}” in {text}");
    }
    Ok(())
}

#[test]
fn the_words_are_plain_and_short() {
    for card in &CARDS {
        let text = card.told(&Seen::of(Scenario::workshop()));
        println!("{}: {text}", card.title);
        is_plain(&text).expect("plain");
        assert!(text.split_whitespace().count() <= 50, "{text}");
    }
    assert!(WAYS.iter().all(|(who, what, _)| !who.is_empty() && !what.is_empty()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn every_card_of_any_configuration_shows_one_that_can_be_linked_to_and_says_it_plainly(own in any_scenario()) {
        let seen = Seen::of(own);
        for card in &CARDS {
            let shown = (card.change)(&seen);
            let read = link::decode(&link::encode(&shown));
            prop_assert_eq!((read.scenario, read.notices), (shown, vec![]), "{}", card.id);
            prop_assert!(shown.conflicts().len() <= own.conflicts().len(), "{}", card.id);
            is_plain(&card.told(&seen))?;
            // Whatever the reader then changes.
            is_plain(&(card.text)(&seen, &Seen::of(Scenario::workshop())))?;
        }
    }
}
