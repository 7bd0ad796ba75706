//! What a sequence adds, and its largest kind as a product that a reader can check.

use bmax::growth::{Growth, Kind, Of, growth};
use bmax::{Answer, Bucket, Scenario, b_max, division::division, format};
use proptest::prelude::*;

use super::{as_drawn, found};

fn of(scenario: &Scenario) -> Option<(Growth, Answer)> {
    let answer = b_max(scenario);
    growth(scenario, &answer).map(|growth| (growth, answer))
}

#[test]
fn kinds_add_up_to_what_a_sequence_adds_and_the_largest_is_its_product() {
    found::hold(as_drawn, |scenario| {
        let Some((growth, answer)) = of(&scenario) else { return Ok(()) };
        prop_assert!(answer.batch().is_some());
        prop_assert_eq!(growth.each, division(&scenario).per_sequence);
        let together: f64 = growth.parts.iter().map(|part| part.bytes.get()).sum();
        // What a sequence adds is a difference of two sums, of which the last bits are lost.
        let lost = 1e-12 * division(&scenario).fixed.get() + 1e-9 * together;
        prop_assert!((together - growth.each.get()).abs() <= lost, "{} of {:?}", together, growth.each);
        for pair in growth.parts.windows(2) {
            prop_assert!(pair[0].bytes >= pair[1].bytes && pair[0].kind != pair[1].kind);
        }
        let product: f64 = growth.product.iter().map(|factor| factor.count).product();
        let largest = growth.largest();
        prop_assert!((product / largest.bytes.get() - 1.0).abs() < 1e-9, "{} of {:?}", product, largest);
        let bytes = growth.product.iter().position(|factor| factor.of == Of::Bytes);
        prop_assert_eq!(bytes, Some(growth.product.len() - 1));
        prop_assert_eq!(largest.kind == Kind::Logits, largest.bucket == Bucket::Logits);
        Ok(())
    });
}

/// A number of a sentence with its unit: “152,064 words”, “140 kB”.
fn read(factor: &str) -> f64 {
    let (number, unit) = factor.split_once(' ').expect("a number and a unit");
    let scale = match unit {
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        _ => 1.0,
    };
    number.replace(',', "").parse::<f64>().expect("a number") * scale
}

#[test]
fn the_product_of_the_sentence_multiplies_out_within_rounding() {
    found::hold(as_drawn, |scenario| {
        let Some((growth, _)) = of(&scenario) else { return Ok(()) };
        let sentence = format::growth(&growth);
        let (said, product) = sentence.trim_end_matches('.').rsplit_once(": ").expect("a product");
        let product: f64 = product.split(" × ").map(read).product();
        // Three digits of the last factor, and of the others where they are not whole.
        let bytes = growth.largest().bytes.get();
        prop_assert!((product / bytes - 1.0).abs() < 0.011, "{}: {} of {}", sentence, product, bytes);
        let share = format::percent(growth.largest().bytes.share_of(growth.each));
        prop_assert!(said.contains(&share) || growth.parts.len() == 1, "{}", sentence);
        let each = format!("Each {} adds {}", scenario.unit().one(), format::memory(growth.each));
        prop_assert!(said.starts_with(&each), "{}", sentence);
        Ok(())
    });
}
