//! What the figure shows: a card for each bucket, the moment it is of, the sum and the bar.

use bmax::chart::MemoryBar;
use bmax::{Bucket, Bytes, Entry, Estimate, Method, division::line_at_peak, formula::Symbol};

use crate::components::{Leaves, mathml};
use crate::site::{Facts, format};

/// A card names at most this many entries; the calculator has them all.
const NAMED: usize = 2;

/// The workshop divides sixteen bytes a parameter over all GPUs.
const EVENLY: &str = "<mfrac><mrow><mn>16</mn><mi>N</mi></mrow><mi>D</mi></mfrac>";
/// What is fixed by the other two methods has no such short form.
const UNEVENLY: &str = "<msub><mi>M</mi><mi>fixed</mi></msub>";

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The cards, in the order of the buckets.
    pub cards: Vec<Card>,
    /// Which moment they show and what is empty then; the ledger alone knows moments.
    pub moment: Option<String>,
    /// What is fixed, as MathML.
    pub fixed_symbols: &'static str,
    /// Everything.
    pub total: String,
    /// What does not change with the batch.
    pub fixed: String,
    /// What does.
    pub growing: String,
    /// The bar and its legend.
    pub bar: MemoryBar,
}

/// One bucket.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    /// Whether anything is in it.
    pub is_there: bool,
    /// How it changes with the batch.
    pub growth: Growth,
    /// Its size.
    pub size: String,
    /// Its part of the whole, in words.
    pub percent: String,
    /// The same for the style sheet.
    pub share: String,
    /// The largest entries: the name of each, and its formula as MathML.
    pub lines: Vec<(&'static str, String)>,
    /// How many more there are, where there are more.
    pub more: Option<String>,
}

/// How a bucket changes with the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Not at all.
    Fixed,
    /// Some of its entries do.
    Partly,
    /// All of its entries do.
    Wholly,
}

impl Shown {
    /// What these facts show.
    pub fn of(facts: &Facts) -> Self {
        let Facts { scenario, estimate, .. } = facts;
        let line = line_at_peak(scenario);
        let growing = Bytes::new(line.per_sequence.get() * f64::from(scenario.recipe.batch));
        Self {
            cards: Bucket::ALL.iter().map(|&bucket| Card::of(estimate, bucket)).collect(),
            moment: facts.is_ledger().then(|| moment(estimate)),
            fixed_symbols: if scenario.method == Method::Workshop { EVENLY } else { UNEVENLY },
            total: format::memory(estimate.peak().bytes),
            fixed: format::memory(line.fixed),
            growing: format::memory(growing),
            bar: MemoryBar::of(estimate, None),
        }
    }
}

impl Card {
    fn of(estimate: &Estimate, bucket: Bucket) -> Self {
        let bytes = estimate.bucket(bucket);
        let share = Bytes::share_of(bytes, estimate.peak().bytes);
        let entries: Vec<&Entry> = estimate.largest().into_iter().filter(|entry| entry.bucket == bucket).collect();
        let more = entries.len().saturating_sub(NAMED) as u32;
        Self {
            is_there: bytes > Bytes::ZERO,
            growth: Growth::of(&entries),
            size: format::memory(bytes),
            percent: format::percent(share),
            share: format::css_percent(share),
            lines: entries.iter().take(NAMED).map(|entry| line(estimate, entry)).collect(),
            more: (more > 0).then(|| format!("and {} more", format::counted(more, "entry", "entries"))),
        }
    }
}

/// An entry without its size: its formula in symbols, with counted coefficients as their values.
fn line(estimate: &Estimate, entry: &Entry) -> (&'static str, String) {
    (entry.name, mathml(entry.formula, &entry.values(estimate), Leaves::Symbols))
}

fn moment(estimate: &Estimate) -> String {
    let empty = Bucket::ALL.iter().filter(|&&bucket| estimate.bucket(bucket) == Bytes::ZERO);
    let first = format!("This is the moment that needs most, “{}”.", estimate.peak().instant.name);
    empty.fold(first, |said, bucket| format!("{said} Then there is nothing in “{}”.", bucket.name()))
}

impl Growth {
    fn of(entries: &[&Entry]) -> Self {
        match (entries.iter().any(|entry| grows(entry)), entries.iter().all(|entry| grows(entry))) {
            (false, _) => Self::Fixed,
            (true, true) => Self::Wholly,
            (true, false) => Self::Partly,
        }
    }

    /// The same in a few words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Partly => "partly scales with b",
            Self::Wholly => "scales with b",
        }
    }

    /// The sign that stands for it.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Fixed => "▪",
            Self::Partly | Self::Wholly => "↗",
        }
    }
}

/// Whether an entry grows with the batch: by itself, or as a share of what does.
fn grows(entry: &Entry) -> bool {
    entry.formula.contains(Symbol::Batch) || entry.formula.contains(Symbol::Fragmentation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use crate::site::facts_of;
    use bmax::{Recomputation, Scenario, estimate};
    use proptest::prelude::*;

    fn card(scenario: Scenario, bucket: Bucket) -> Card {
        Card::of(&estimate(&scenario), bucket)
    }

    #[test]
    fn the_batch_stands_in_the_formulas_of_the_activations_and_in_no_other() {
        for method in [Method::Workshop, Method::Paper] {
            for recomputation in [Recomputation::None, Recomputation::Selective, Recomputation::Full] {
                let mut scenario = Scenario { method, ..Scenario::default() };
                scenario.recipe.recomputation = recomputation;
                for entry in estimate(&scenario).entries {
                    assert_eq!(grows(&entry), entry.bucket == Bucket::Activations, "{}", entry.name);
                }
            }
        }
    }

    #[test]
    fn under_the_ledger_a_bucket_says_it_grows_exactly_when_it_does() {
        let at = |batch| Scenario::default().with_batch(batch);
        let [three, four] = [3, 4].map(|batch| estimate(&at(batch)));
        assert_eq!(three.peak().instant, four.peak().instant);
        for &bucket in Bucket::ALL {
            let has_grown = four.bucket(bucket) > three.bucket(bucket);
            assert_eq!(card(at(3), bucket).growth != Growth::Fixed, has_grown, "{bucket:?}");
        }
        assert_eq!(card(at(3), Bucket::Activations).growth, Growth::Wholly);
        assert_eq!(card(at(3), Bucket::Runtime).growth, Growth::Partly);
    }

    #[test]
    fn the_formulas_of_a_card_stay_as_they_are_while_only_the_batch_changes() {
        // Fragmentation is a share of everything, and written as such.
        for &bucket in Bucket::ALL.iter().filter(|&&bucket| bucket != Bucket::Runtime) {
            let at = |batch| card(Scenario::default().with_batch(batch), bucket).lines;
            assert_eq!(at(3), at(4), "{bucket:?}");
        }
    }

    #[test]
    fn the_worked_7b_example_fills_64_gib_of_which_13_are_fixed() {
        let shown = Shown::of(&facts_of(Scenario { method: Method::Workshop, ..Scenario::default() }));
        assert_eq!(
            (shown.total.as_str(), shown.fixed.as_str(), shown.growing.as_str()),
            ("64.0 GiB", "13.0 GiB", "51.0 GiB")
        );
        assert_eq!((shown.fixed_symbols, shown.moment), (EVENLY, None));
    }

    #[test]
    fn the_moment_names_every_bucket_that_is_empty_then() {
        let facts = facts_of(Scenario::default());
        let said = Shown::of(&facts).moment.expect("the ledger knows moments");
        assert!(
            said.starts_with(&format!("This is the moment that needs most, “{}”.", facts.estimate.peak().instant.name))
        );
        for &bucket in Bucket::ALL {
            let is_empty = facts.estimate.bucket(bucket) == Bytes::ZERO;
            assert_eq!(said.contains(&format!("nothing in “{}”", bucket.name())), is_empty, "{said}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_has_cards_that_add_up(scenario in any_scenario()) {
            let facts = facts_of(scenario);
            let shown = Shown::of(&facts);
            texts_are_sound(&shown);
            let sum: Bytes = Bucket::ALL.iter().map(|&bucket| facts.estimate.bucket(bucket)).sum();
            prop_assert!((sum.share_of(facts.estimate.peak().bytes) - 1.0).abs() < 1e-9);
            for (card, &bucket) in shown.cards.iter().zip(Bucket::ALL) {
                prop_assert_eq!(card.is_there, facts.estimate.bucket(bucket) > Bytes::ZERO);
                prop_assert!(!card.is_there || !card.lines.is_empty());
            }
        }
    }
}
