//! What holds for the questions.

use super::settled::*;
use super::*;
use crate::*;

#[test]
fn exactly_one_option_is_right_and_it_is_the_one_of_the_key() {
    for (place, question) in settled().iter().enumerate() {
        assert_eq!(question.letter(), Some(KEY[place]), "question {}: {question:?}", place + 1);
    }
}

#[test]
fn the_letters_are_spread() {
    for letter in b'a'..=b'd' {
        let often = KEY.iter().filter(|right| **right == letter).count();
        assert!((3..=6).contains(&often), "{} is right {often} times", char::from(letter));
    }
}

#[test]
fn the_parts_of_the_peak_are_all_of_it() {
    for method in [Method::Ledger, Method::Workshop, Method::Paper] {
        let ledger = estimate(&Scenario { method, ..Scenario::workshop() });
        let sum: Bytes = parts(&ledger).into_iter().sum();
        assert!((sum.get() / ledger.peak().bytes.get() - 1.0).abs() < 1e-12);
    }
}

fn asked(place: usize, change: impl Fn(&mut Scenario)) -> u8 {
    let mut scenario = Scenario::workshop();
    change(&mut scenario);
    right(place, &scenario, &estimate(&scenario), &b_max(&scenario))
}

#[test]
fn the_largest_part_follows_the_configuration() {
    assert_eq!(asked(LARGEST_PART, |_| ()), b'b');
    assert_eq!(asked(LARGEST_PART, |scenario| scenario.cluster.gpus = 1), b'a');
    let tiny = |scenario: &mut Scenario| {
        let gpt2 = catalogue::model("gpt2").expect("listed").apply(*scenario);
        *scenario = gpt2;
        scenario.recipe.sequence = 128;
        scenario.recipe.batch = 1;
        scenario.cluster.gpus = 64;
    };
    assert_eq!(asked(LARGEST_PART, tiny), b'd');
}

#[test]
fn doubling_the_length_halves_the_batch_unless_scores_are_kept() {
    assert_eq!(asked(DOUBLED_LENGTH, |_| ()), b'a');
    let eager = |scenario: &mut Scenario| {
        scenario.recipe.attention = AttentionKernel::Eager;
        scenario.recipe.recomputation = Recomputation::None;
        scenario.recipe.sequence = 512;
    };
    assert_eq!(asked(DOUBLED_LENGTH, eager), b'b');
    assert_eq!(asked(DOUBLED_LENGTH, |scenario| scenario.cluster.gpus = 1), b'd');
    assert_eq!(Doubling { now: 5, then: 3 }.letter(), b'c');
}

#[test]
fn at_the_longest_length_the_question_still_has_an_answer() {
    let longest = |scenario: &mut Scenario| scenario.recipe.sequence = Field::Sequence.bound().max as u32;
    assert_eq!(asked(DOUBLED_LENGTH, longest), b'd');
    assert_eq!(asked(DOUBLED_LENGTH, |scenario| scenario.recipe.sequence = u32::MAX), b'd');
}

#[test]
fn adafactor_s_sums_are_those_of_the_ledger() {
    // One more layer of a GPT block of width H: four matrices H × H, one H × 4H and one 4H × H.
    let sums = |layers| {
        let mut scenario = Scenario::workshop();
        scenario.model.layers = layers;
        scenario.cluster.gpus = 1;
        scenario.recipe.optimizer = Optimizer::Adafactor;
        let ledger = estimate(&scenario);
        let found = ledger.entries.iter().find(|entry| entry.name == "Sums over rows and columns");
        found.expect("it keeps them").bytes.get()
    };
    let square = 4.0 * (4_096.0 + 4_096.0);
    let oblong = 4.0 * (4_096.0 + 4.0 * 4_096.0);
    assert_eq!(sums(3) - sums(2), 4.0 * square + 2.0 * oblong);
    let Options::Quantities { asked, .. } = factored_second_moment().options else { unreachable!("sizes") };
    assert_eq!(asked, square);
}

#[test]
fn the_formats_round_as_their_standards_say() {
    assert_eq!(FP16.holds(65_504.0), 65_504.0);
    assert!(FP16.holds(65_536.0).is_infinite());
    assert_eq!(FP16.holds(2_049.0), 2_048.0);
    assert_eq!(FP16.smallest(), 2_f64.powi(-24));
    assert_eq!(BF16.holds(257.0), 256.0);
    assert!(BF16.holds(1e-8) > 0.0);
}
