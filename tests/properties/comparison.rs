//! Two scenarios side by side.

use bmax::compare::{Input, changes, compare};
use bmax::{b_max, estimate};
use proptest::prelude::*;

use super::{as_drawn, random};
use crate::support::any_scenario::any_scenario;

of_every_scenario! {
    fn a_scenario_does_not_differ_from_itself(scenario in as_drawn) {
        let comparison = compare(&scenario, &scenario);
        prop_assert_eq!(comparison.changes, vec![]);
        prop_assert_eq!(comparison.delta.get(), 0.0);
        prop_assert!(comparison.entries.iter().all(|entry| entry.delta.get() == 0.0 && entry.before == entry.after));
    }
}

proptest! {
    #![proptest_config(random())]

    #[test]
    fn the_differences_of_a_comparison_add_up((before, after) in (any_scenario(), any_scenario())) {
        let comparison = compare(&before, &after);
        // To the last bit in the order of the buckets, and nearly so in every other order.
        let by_bucket: f64 = comparison.buckets.iter().map(|bucket| bucket.delta.get()).sum();
        prop_assert_eq!(by_bucket.to_bits(), comparison.delta.get().to_bits());
        let by_entry: f64 = comparison.entries.iter().map(|entry| entry.delta.get()).sum();
        let peaks = (comparison.before.peak.bytes.get(), comparison.after.peak.bytes.get());
        let size = peaks.0.max(peaks.1);
        for sum in [by_entry, peaks.1 - peaks.0] {
            prop_assert!((sum - by_bucket).abs() <= 1e-11 * size, "{} {}", sum, by_bucket);
        }
        for (part, peak) in [(0, peaks.0), (1, peaks.1)] {
            let of = |bucket: &bmax::compare::BucketChange| if part == 0 { bucket.before } else { bucket.after };
            let sum: f64 = comparison.buckets.iter().map(|bucket| of(bucket).get()).sum();
            prop_assert!((sum - peak).abs() <= 1e-11 * peak, "{} {}", sum, peak);
        }
        // What differs most comes first.
        prop_assert!(comparison.entries.is_sorted_by(|a, b| a.delta.get().abs() >= b.delta.get().abs()));
        prop_assert_eq!(comparison.before.answer, b_max(&before));
        prop_assert_eq!(comparison.after.peak, estimate(&after).peak());
    }

    #[test]
    fn a_comparison_the_other_way_round_has_the_other_signs((before, after) in (any_scenario(), any_scenario())) {
        let (there, back) = (compare(&before, &after), compare(&after, &before));
        for entry in &there.entries {
            let same = |other: &&bmax::compare::EntryChange| (other.name, other.bucket) == (entry.name, entry.bucket);
            let other = back.entries.iter().find(same).expect("an entry of either peak is in both");
            prop_assert_eq!((other.before, other.after), (entry.after, entry.before));
            prop_assert_eq!(other.delta.get(), -entry.delta.get());
        }
        prop_assert_eq!(there.entries.len(), back.entries.len());
    }

    #[test]
    fn every_input_that_differs_is_said_once((before, after) in (any_scenario(), any_scenario())) {
        let changes = changes(&before, &after);
        let mut said: Vec<&str> = Vec::new();
        for change in changes.iter().flat_map(|change| std::iter::once(change).chain(&change.brings)) {
            prop_assert_eq!(change.before, change.input.value(&before));
            prop_assert_eq!(change.after, change.input.value(&after));
            prop_assert!(change.before != change.after && !said.contains(&change.input.key()), "{}", change.input.key());
            said.push(change.input.key());
        }
        for input in [Input::Model, Input::Gpu].into_iter().chain(Input::each()) {
            let differs = input.value(&before) != input.value(&after);
            // What follows from other inputs is said where it does not.
            let may_follow = ["b", "chart_gpus", "chart_recompute"].contains(&input.key());
            let is_said = said.contains(&input.key());
            prop_assert!(is_said == differs || (may_follow && !is_said), "{}", input.key());
        }
    }
}
