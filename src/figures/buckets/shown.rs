//! What the figure shows: a card for each bucket, the bar, what both show, and the sum.

use bmax::chart::{MemoryBar, NAMED, used_twice};
use bmax::{Balance, Bucket, Bytes, Entry, Estimate, Method, division::line_at_peak, formula::Symbol, meaning::Event};

use crate::components::mathml;
use crate::site::{Facts, format};

/// A card names its largest entries, at most this many; the calculator has them all.
const LINES: usize = 1;

/// The workshop divides sixteen bytes a parameter over all GPUs.
const EVENLY: &str = "<mfrac><mrow><mn>16</mn><mi>N</mi></mrow><mi>D</mi></mfrac>";
/// What is fixed by the other two methods has no such short form.
const UNEVENLY: &str = "<msub><mi>M</mi><mi>fixed</mi></msub>";

/// Which of the two views of the buckets is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// The named buckets, each at the most that it holds within the step.
    Largest,
    /// What is alive at the moment that needs most.
    Peak,
}

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The cards, in the order of the buckets.
    pub cards: Vec<Card>,
    /// What cards and bar show, and why the buckets add up or do not.
    pub told: String,
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
    /// Whether it has a card.
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
    pub fn of(facts: &Facts, view: View) -> Self {
        let Facts { scenario, estimate, .. } = facts;
        let line = line_at_peak(scenario);
        let growing = Bytes::new(line.per_sequence.get() * f64::from(scenario.recipe.batch));
        Self {
            cards: Bucket::ALL.iter().map(|&bucket| Card::of(estimate, bucket, view)).collect(),
            told: told(facts, view),
            fixed_symbols: if scenario.method == Method::Workshop { EVENLY } else { UNEVENLY },
            total: format::memory(estimate.peak().bytes),
            fixed: format::memory(line.fixed),
            growing: format::memory(growing),
            bar: match view {
                View::Largest => MemoryBar::of(estimate, None),
                View::Peak => MemoryBar::at_peak(estimate, None),
            },
        }
    }
}

impl Shown {
    /// The places of the cards that are there.
    pub fn there(&self) -> Vec<usize> {
        self.cards.iter().enumerate().filter(|(_, card)| card.is_there).map(|(at, _)| at).collect()
    }
}

impl Card {
    fn of(estimate: &Estimate, bucket: Bucket, view: View) -> Self {
        let (fullest, most) = estimate.fullest(bucket);
        // The other two methods have no logits, and neither has a model with a head of few classes.
        let is_named = NAMED.contains(&bucket) && (bucket != Bucket::Logits || most > Bytes::ZERO);
        let (position, bytes, is_there) = match view {
            View::Largest => (fullest, most, is_named),
            View::Peak => {
                let bytes = estimate.bucket(bucket);
                // A named one that is empty now says so.
                (estimate.binding().0, bytes, bytes > Bytes::ZERO || is_named)
            }
        };
        let share = Bytes::share_of(bytes, estimate.peak().bytes);
        let alive = estimate.largest_at(position);
        let entries: Vec<&Entry> =
            alive.into_iter().filter(|entry| entry.bucket == bucket && entry.bytes > Bytes::ZERO).collect();
        let more = entries.len().saturating_sub(LINES) as u32;
        Self {
            is_there,
            growth: Growth::of(&entries),
            size: size(bytes),
            percent: format::percent(share),
            share: format::css_percent(share),
            lines: entries.iter().take(LINES).map(|entry| line(estimate, entry)).collect(),
            more: (more > 0).then(|| format!("and {} more", format::counted(more, "entry", "entries"))),
        }
    }
}

/// An entry without its size: its formula in symbols, with counted coefficients as their values.
fn line(estimate: &Estimate, entry: &Entry) -> (&'static str, String) {
    (entry.name, mathml(entry.formula, &entry.values(estimate)))
}

fn size(bytes: Bytes) -> String {
    if bytes > Bytes::ZERO { format::memory(bytes) } else { "none".to_owned() }
}

fn told(facts: &Facts, view: View) -> String {
    match view {
        _ if !facts.is_ledger() => {
            "This method counts all four buckets as full at the same moment, so they add up to the total.".to_owned()
        }
        View::Largest => largest(&facts.estimate),
        View::Peak => peak(&facts.estimate),
    }
}

/// Why the named buckets add up to more than the total, and what else is in it.
fn largest(estimate: &Estimate) -> String {
    let shared = used_twice(estimate);
    let together: Bytes = NAMED.iter().map(|&bucket| estimate.fullest(bucket).1).sum();
    let [all, at_once, twice] = [together, together - shared, shared].map(format::memory);
    let gathered = estimate.fullest(Bucket::Parameters).1 > estimate.bucket(Bucket::Parameters);
    let come = if gathered { "Gradients and gathered weights" } else { "Gradients" };
    let go = if estimate.fullest(Bucket::Logits).1 > Bytes::ZERO { "logits and activations" } else { "activations" };
    let mut told = if shared > Bytes::ZERO {
        format!(
            "Each bucket is shown at its largest. They are not full at the same time, so they add up to {all}, more than the {at_once} that they hold at the peak. {come} appear while {go} are freed. Both use the same {twice} of the GPU, one after the other; the bar is striped there."
        )
    } else {
        "Each bucket is shown at its largest, and all are full at the same moment.".to_owned()
    };
    let other = estimate.peak().bytes - (together - shared);
    if other.share_of(estimate.peak().bytes) > 1e-9 {
        told += &format!(
            " Everything else, {}, is in none of them: the CUDA context, buffers, temporary tensors.",
            format::memory(other)
        );
    }
    if let Balance::Free(_) | Balance::LacksHost(_) = estimate.balance() {
        told += " Free is the rest at that moment.";
    }
    told
}

/// Which moment the peak is, and why a bucket is empty then that is not at other moments.
fn peak(estimate: &Estimate) -> String {
    let (position, _) = estimate.binding();
    let (name, meaning) = (estimate.instants[position].name, estimate.meaning(position));
    let gone = |bucket| estimate.bucket(bucket) == Bytes::ZERO && estimate.fullest(bucket).1 > Bytes::ZERO;
    let mut told = format!("Shown at the peak, “{name}”. {meaning}");
    if gone(Bucket::Gradients) {
        told += match estimate.instants[position].event {
            Event::Loss | Event::LossBackward | Event::Logits | Event::PipelineFull => {
                " There are no gradients yet: the backward pass makes them layer by layer, and frees the activations of each layer."
            }
            _ => " There are no gradients at that moment.",
        };
    }
    if gone(Bucket::Activations) {
        told += match estimate.instants[position].event {
            Event::BackwardEnds | Event::Step => {
                " There are no activations any more: the backward pass has used them up."
            }
            _ => " There are no activations at that moment.",
        };
    }
    told
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
        Card::of(&estimate(&scenario), bucket, View::Peak)
    }

    #[test]
    fn the_batch_stands_in_the_formulas_of_the_activations_and_in_no_other() {
        for method in [Method::Workshop, Method::Paper] {
            for recomputation in [Recomputation::None, Recomputation::Selective, Recomputation::Full] {
                let mut scenario = Scenario { method, ..Scenario::workshop() };
                scenario.recipe.recomputation = recomputation;
                for entry in estimate(&scenario).entries {
                    assert_eq!(grows(&entry), entry.bucket == Bucket::Activations, "{}", entry.name);
                }
            }
        }
    }

    #[test]
    fn under_the_ledger_a_bucket_says_it_grows_exactly_when_it_does() {
        let at = |batch| Scenario::workshop().with_batch(batch);
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
            let at = |batch| card(Scenario::workshop().with_batch(batch), bucket).lines;
            assert_eq!(at(3), at(4), "{bucket:?}");
        }
    }

    #[test]
    fn the_worked_7b_example_fills_64_gib_of_which_13_are_fixed() {
        let facts = facts_of(Scenario { method: Method::Workshop, ..Scenario::workshop() });
        let shown = Shown::of(&facts, View::Largest);
        assert_eq!(
            (shown.total.as_str(), shown.fixed.as_str(), shown.growing.as_str()),
            ("64.0 GiB", "13.0 GiB", "51.0 GiB")
        );
        assert_eq!(shown.fixed_symbols, EVENLY);
        // 7·10⁹ parameters over eight GPUs at 4, 4 and 8 bytes.
        let sizes = shown.cards.iter().filter(|card| card.is_there).map(|card| card.size.as_str());
        assert_eq!(sizes.collect::<Vec<_>>(), ["3.26 GiB", "3.26 GiB", "6.52 GiB", "51.0 GiB"]);
        assert_eq!(shown, Shown { bar: shown.bar.clone(), ..Shown::of(&facts, View::Peak) });
    }

    #[test]
    fn the_first_view_has_the_named_buckets_and_none_of_them_is_empty() {
        let shown = Shown::of(&facts_of(Scenario::workshop()), View::Largest);
        let there: Vec<_> = Bucket::ALL.iter().zip(&shown.cards).filter(|(_, card)| card.is_there).collect();
        assert_eq!(there.iter().map(|(bucket, _)| **bucket).collect::<Vec<_>>(), NAMED);
        assert!(there.iter().all(|(_, card)| card.size != "none" && !card.lines.is_empty()));
    }

    #[test]
    fn the_peak_says_which_moment_it_is_and_why_there_are_no_gradients() {
        let facts = facts_of(Scenario::workshop());
        let shown = Shown::of(&facts, View::Peak);
        let instant = facts.estimate.peak().instant;
        assert!(
            shown.told.contains(&format!("“{}”. {}", instant.name, facts.estimate.meaning(facts.estimate.binding().0))),
            "{}",
            shown.told
        );
        assert!(shown.told.contains("no gradients yet"), "{}", shown.told);
        let gradients = Bucket::ALL.iter().position(|bucket| *bucket == Bucket::Gradients).expect("a bucket");
        assert_eq!((shown.cards[gradients].is_there, shown.cards[gradients].size.as_str()), (true, "none"));
    }

    #[test]
    fn a_peak_in_the_update_says_where_the_activations_are() {
        let scenario = bmax::link::decode("?v=3&s=16&b=1&step=foreach&zero=0&gpus=1&precision=fp32").scenario;
        let facts = facts_of(scenario);
        assert_eq!(facts.estimate.bucket(Bucket::Activations), Bytes::ZERO, "{}", facts.estimate.peak().instant.name);
        assert!(Shown::of(&facts, View::Peak).told.ends_with("used them up."));
    }

    #[test]
    fn the_first_view_says_what_the_buckets_add_up_to_and_what_is_alive_at_once() {
        let facts = facts_of(Scenario::workshop());
        let Facts { estimate, .. } = &facts;
        let [fullest, at_peak] = [
            NAMED.iter().map(|bucket| estimate.fullest(*bucket).1).sum::<Bytes>(),
            NAMED.iter().map(|bucket| estimate.bucket(*bucket)).sum::<Bytes>(),
        ]
        .map(format::memory);
        let told = Shown::of(&facts, View::Largest).told;
        assert!(told.contains(&format!("add up to {fullest}, more than the {at_peak} that they hold at")), "{told}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_has_cards_that_add_up(scenario in any_scenario()) {
            let facts = facts_of(scenario);
            let sum: Bytes = Bucket::ALL.iter().map(|&bucket| facts.estimate.bucket(bucket)).sum();
            prop_assert!((sum.share_of(facts.estimate.peak().bytes) - 1.0).abs() < 1e-9);
            for view in [View::Largest, View::Peak] {
                let shown = Shown::of(&facts, view);
                texts_are_sound(&shown);
                let drawn: f64 = shown.bar.drawn[..10].iter().map(|bytes| bytes.get()).sum();
                prop_assert!((drawn / facts.estimate.peak().bytes.get() - 1.0).abs() < 1e-9, "the bar is the peak");
                for card in shown.cards.iter().filter(|card| card.is_there) {
                    prop_assert_eq!(card.lines.is_empty(), card.size == "none");
                }
            }
        }
    }
}
