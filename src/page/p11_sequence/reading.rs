//! The read-out: a length, and b_max there for every curve.

use bmax::chart::{Curves, LogScale, NAMES, OWN, batch_text, first, last};
use bmax::number;
use leptos::prelude::*;

use crate::site::State;
use crate::site::format;

/// Points that a page key moves by.
const PAGE: usize = 8;

/// A length in tokens and what fits there, curve by curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The length.
    pub length: u32,
    /// The largest micro-batches.
    pub batches: Vec<Option<u32>>,
}

/// Where the reader looks, and what is there.
#[derive(Clone, Copy)]
pub struct Reader {
    curves: Memo<Curves>,
    /// The reader's own sequence length, which may lie beyond the chart.
    pub own: Memo<u32>,
    /// The length that is read off.
    pub length: Memo<u32>,
    /// The length looked at; 0 as long as it is the reader's own.
    chosen: RwSignal<u32>,
}

impl Reader {
    /// A read-out that starts at the sequence length of the scenario and follows it.
    pub fn new(state: State, curves: Memo<Curves>) -> Self {
        let chosen = RwSignal::new(0);
        let own = Memo::new(move |_| state.asked(|scenario| scenario.recipe.sequence));
        let length = Memo::new(move |_| {
            let length = Some(chosen.get()).filter(|chosen| *chosen > 0).unwrap_or_else(|| own.get());
            curves.with(|curves| length.clamp(first(&curves.lengths), last(&curves.lengths)))
        });
        Self { curves, own, length, chosen }
    }

    /// Whether the reader looks at a length that was chosen on the chart.
    pub fn is_away(self) -> bool {
        self.chosen.get() > 0
    }

    /// Looks at a length.
    pub fn look_at(self, length: u32) {
        if self.chosen.get_untracked() != length {
            self.chosen.set(length);
        }
    }

    /// Looks at the reader's own length again.
    pub fn look_back(self) {
        self.look_at(0);
    }

    /// What is read off.
    pub fn reading(self) -> Reading {
        let length = self.length.get();
        let batches = self.curves.with(|curves| (0..=OWN).map(|position| curves.batch(position, length)).collect());
        Reading { length, batches }
    }
}

/// A position on an axis for the style sheet.
pub fn at(position: f64) -> String {
    number::fixed(position, 5)
}

/// The length that a key of a slider leads to from `at`; nothing for other keys.
pub fn after_key(lengths: &[u32], at: u32, key: &str) -> Option<u32> {
    // Between two points, as the reader's own length may be, the first step goes to the next one.
    let (below, not_above) =
        (lengths.partition_point(|length| *length < at), lengths.partition_point(|length| *length <= at));
    let target = match key {
        "ArrowRight" | "ArrowUp" => not_above,
        "ArrowLeft" | "ArrowDown" => below.saturating_sub(1),
        "PageUp" => not_above + PAGE - 1,
        "PageDown" => below.saturating_sub(PAGE),
        "Home" => 0,
        "End" => lengths.len(),
        _ => return None,
    };
    lengths.get(target.min(lengths.len().saturating_sub(1))).copied()
}

/// The length whose place is nearest to a position on the axis.
pub fn nearest(lengths: &[u32], across: LogScale, position: f64) -> Option<u32> {
    let distance = |length: u32| (across.position(length) - position).abs();
    lengths.iter().copied().min_by(|a, b| distance(*a).total_cmp(&distance(*b)))
}

/// The reading as a sentence.
pub fn sentence(reading: &Reading) -> String {
    let parts: Vec<_> =
        NAMES.iter().zip(&reading.batches).map(|(name, batch)| format!("{name} {}", batch_text(*batch))).collect();
    format!("{}: {}", format::counted(reading.length, "token", "tokens"), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::sweep;

    fn lengths() -> Vec<u32> {
        sweep::sequence_lengths(64)
    }

    #[test]
    fn every_key_stays_on_the_chart_and_other_keys_do_nothing() {
        let lengths = lengths();
        for key in ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"] {
            for at in [128, 129, 2_048, 100_000, 131_072] {
                let reached = after_key(&lengths, at, key).expect("a key of a slider");
                assert!(lengths.contains(&reached), "{key} from {at}");
            }
        }
        assert_eq!(after_key(&lengths, 2_048, "a"), None);
        assert_eq!(after_key(&[], 2_048, "Home"), None);
    }

    #[test]
    fn an_arrow_goes_one_point_and_a_page_eight_and_both_lead_back() {
        let lengths = lengths();
        for (there, back, step) in [("ArrowRight", "ArrowLeft", 1), ("PageUp", "PageDown", PAGE)] {
            let reached = after_key(&lengths, lengths[20], there).expect("a key of a slider");
            assert_eq!(reached, lengths[20 + step]);
            assert_eq!(after_key(&lengths, reached, back), Some(lengths[20]));
        }
        assert_eq!(after_key(&lengths, 131_072, "ArrowRight"), Some(131_072));
        assert_eq!(after_key(&lengths, 128, "PageDown"), Some(128));
    }

    #[test]
    fn a_length_between_two_points_goes_to_its_neighbours() {
        let lengths = [100, 200, 400];
        assert_eq!(after_key(&lengths, 250, "ArrowRight"), Some(400));
        assert_eq!(after_key(&lengths, 250, "ArrowLeft"), Some(200));
    }

    #[test]
    fn a_pointer_finds_the_point_below_it_and_the_ends_beyond_the_edges() {
        let (lengths, across) = (lengths(), LogScale::new(128, 131_072));
        for &length in &lengths {
            assert_eq!(nearest(&lengths, across, across.position(length)), Some(length));
        }
        assert_eq!(nearest(&lengths, across, -5.0), Some(128));
        assert_eq!(nearest(&lengths, across, 5.0), Some(131_072));
    }

    #[test]
    fn a_reading_is_spoken_as_one_sentence() {
        let reading = Reading { length: 4_096, batches: vec![Some(52), Some(29), Some(1_048_576), None, Some(1)] };
        assert_eq!(sentence(&reading), "4,096 tokens: 1B 52, 7B 29, 13B ≥ 1,048,576, 70B does not fit, yours 1");
    }
}
