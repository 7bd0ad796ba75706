//! What the figure shows: every bucket at the peak of a step at every length, and the length at which it stops fitting.

use bmax::course::length::buckets_at;
use bmax::inverse::longest_sequence;
use bmax::plot::{Axis, Ink, Mark, Plot, Rule, Series};
use bmax::{Bytes, Precision, Recomputation, Scenario, estimate};

use crate::components::Column;
use crate::figures::activations::shown::{STEPS, tokens};
use crate::figures::stacked::{self, BANDS, columns};
use crate::site::format;

pub use crate::figures::activations::shown::ENDS;

/// Where the first that the length changes stands.
const ACTIVATIONS: usize = 3;
/// Where logits stand.
const LOGITS: usize = 4;

/// The table.
pub static COLUMNS: [Column; 10] = columns(Column::words("Tokens S"));

/// One length.
#[derive(Clone, Debug, PartialEq)]
struct Held {
    tokens: u32,
    /// In the order of [`BANDS`].
    sizes: [Bytes; BANDS.len()],
    /// What the machine lacks of CPU memory.
    lacks: Option<Bytes>,
}

impl Held {
    fn of(scenario: &Scenario, tokens: u32) -> Self {
        let sizes = buckets_at(scenario, tokens);
        let mut at = *scenario;
        at.recipe.sequence = tokens;
        let is_known = scenario.host.ram > Bytes::ZERO;
        let lacks = if is_known { estimate(&at).host.lacks() } else { None };
        Self { tokens, sizes: BANDS.map(|bucket| sizes[bucket as usize]), lacks }
    }

    fn total(&self) -> Bytes {
        self.sizes.into_iter().sum()
    }

    /// Parameters, gradients and optimizer state.
    fn fixed(&self) -> Bytes {
        self.sizes[..ACTIVATIONS].iter().copied().sum()
    }
}

/// The stack, which does not depend on the length that is read off.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    scenario: Scenario,
    usable: Bytes,
    /// Every place of the slider.
    held: Vec<Held>,
    longest: Option<u32>,
    /// What a step may use.
    pub usable_text: String,
    /// Where it stops fitting, in a sentence.
    pub longest_text: String,
    /// Every doubling of the length, as a row of the table.
    pub rows: Vec<Vec<String>>,
}

impl Stack {
    /// The stack of this scenario with the figure's own choices.
    pub fn of(scenario: &Scenario, policy: Option<Recomputation>, precision: Option<Precision>) -> Self {
        let mut scenario = *scenario;
        scenario.recipe.recomputation = policy.unwrap_or(scenario.recipe.recomputation);
        scenario.recipe.precision = precision.unwrap_or(scenario.recipe.precision);
        let held: Vec<Held> = (ENDS.0..=ENDS.1).map(|place| Held::of(&scenario, tokens(place))).collect();
        let gib = |bytes: Bytes| format::digits(bytes.gib(), 2);
        let row = |held: &Held| {
            let sizes = held.sizes.into_iter().chain([held.total()]).map(gib);
            [format::count(held.tokens)].into_iter().chain(sizes).collect()
        };
        let longest = longest_sequence(&scenario, scenario.recipe.batch);
        let usable = scenario.usable();
        Self {
            rows: held.iter().step_by(STEPS as usize).map(row).collect(),
            usable_text: format::memory(usable) + " usable",
            longest_text: longest_text(&scenario, longest),
            longest,
            held,
            usable,
            scenario,
        }
    }

    fn at(&self, place: f64) -> &Held {
        let position = (place as u32).clamp(ENDS.0, ENDS.1) - ENDS.0;
        &self.held[position as usize]
    }

    /// One length read off.
    pub fn reading(&self, place: f64) -> Reading {
        let held = self.at(place);
        let (total, fixed) = (held.total(), held.fixed());
        let [activations, logits] = [ACTIVATIONS, LOGITS].map(|at| held.sizes[at]);
        let beyond = self.scenario.longest_positions().filter(|most| held.tokens > *most);
        let verdict = match (beyond, self.usable - total) {
            (Some(most), _) => format!("Learned positions end at {}.", tokens_text(most)),
            (None, left) if left >= Bytes::ZERO => match held.lacks {
                None => format!("It fits, with {} to spare.", format::memory(left)),
                Some(lacks) => format!("It does not fit: each machine lacks {} of CPU memory.", format::memory(lacks)),
            },
            (None, left) => format!("It does not fit, by {}.", format::memory(Bytes::new(-left.get()))),
        };
        Reading {
            tokens: format::count(held.tokens),
            total: format::memory(total),
            fixed: format::memory(fixed),
            activations: format::memory(activations),
            logits: format::memory(logits),
            rest: format::memory(Bytes::new((total - fixed - activations - logits).get().max(0.0))),
            verdict,
        }
    }

    /// The drawing, with the length that is read off. What would press the rest flat is cut off at the top.
    pub fn plot(&self, place: f64) -> Plot {
        let places: Vec<_> = self.held.iter().map(|held| (held.tokens.into(), held.sizes)).collect();
        let mut series = stacked::series(&places);
        let usable = self.usable.gib();
        let [first, last] = [tokens(ENDS.0), tokens(ENDS.1)].map(f64::from);
        series.push(Series::dashed(Ink::Limit, vec![(first, usable), (last, usable)]));
        let least = self.held.first().map_or(0.0, |held| held.total().gib());
        let most = self.held.iter().map(|held| held.total().gib()).fold(0.0, f64::max);
        let top = (1.6 * usable.max(least)).min(1.1 * usable.max(most));
        let mut marks = vec![Mark::at(self.at(place).tokens.into(), Rule::Read)];
        let own = f64::from(self.scenario.recipe.sequence);
        if (first..=last).contains(&own) {
            marks.push(Mark::named(own, Rule::Soft, "your S".to_owned()));
        }
        if let Some(longest) = self.longest.map(f64::from).filter(|longest| (first..=last).contains(longest)) {
            marks.push(Mark::named(longest, Rule::Main, format!("fits to {}", format::count(longest as u32))));
        }
        Plot { x: Axis::powers_of_two(first, last, "tokens S"), y: Axis::linear(0.0, top, "GiB"), series, marks }
    }
}

/// The longest sequence that fits, as a sentence.
fn longest_text(scenario: &Scenario, longest: Option<u32>) -> String {
    let batch = format::batch(scenario.recipe.batch, scenario.unit());
    let least = scenario.cluster.context_parallel.max(1);
    match longest {
        None => format!("With {batch} per GPU no length fits."),
        Some(longest) if longest > tokens(ENDS.1) => {
            format!("With {batch} per GPU every length of the drawing fits.")
        }
        Some(longest) if scenario.longest_positions().is_some_and(|most| longest + least > most) => {
            format!("With {batch} per GPU it fits up to the end of the learned positions, {}.", tokens_text(longest))
        }
        Some(longest) => {
            format!("With {batch} per GPU it stops fitting beyond {}.", tokens_text(longest))
        }
    }
}

fn tokens_text(tokens: u32) -> String {
    format::counted(tokens, "token", "tokens")
}

/// One length in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The length.
    pub tokens: String,
    /// All that a step holds at its peak.
    pub total: String,
    /// Parameters, gradients and optimizer state.
    pub fixed: String,
    /// Activations.
    pub activations: String,
    /// Logits, and what the loss makes of them.
    pub logits: String,
    /// What else there is.
    pub rest: String,
    /// Whether it fits.
    pub verdict: String,
}

impl Reading {
    /// The length as it is read out at every step of the slider.
    pub fn spoken(&self) -> String {
        format!("{} tokens: {}. {}", self.tokens, self.total, self.verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, plot_is_sound, texts_are_sound};
    use bmax::{Choice, Method, estimate};
    use proptest::prelude::*;

    fn peak(scenario: &Scenario, tokens: u32) -> Bytes {
        let mut at = *scenario;
        at.recipe.sequence = tokens;
        estimate(&at).peak().bytes
    }

    #[test]
    fn at_every_length_the_stack_is_the_peak_of_the_estimate_by_every_method() {
        for &method in Method::ALL {
            let scenario = Scenario { method, ..Scenario::workshop() };
            for &policy in Recomputation::ALL {
                let stack = Stack::of(&scenario, Some(policy), None);
                let plot = stack.plot(ENDS.0.into());
                for (position, held) in stack.held.iter().enumerate() {
                    let peak = peak(&stack.scenario, held.tokens).gib();
                    assert!((held.total().gib() - peak).abs() <= 1e-9 * peak, "{method:?} {policy:?}");
                    let (_, _, top) = plot.series[BANDS.len() - 1].points()[position];
                    assert!((top - peak).abs() <= 1e-9 * peak, "{method:?} {policy:?}");
                }
            }
        }
    }

    #[test]
    fn the_stack_crosses_the_usable_memory_at_the_largest_length_that_fits() {
        for &method in Method::ALL {
            for &policy in Recomputation::ALL {
                for &precision in Precision::ALL {
                    let scenario = Scenario { method, ..Scenario::workshop() };
                    let stack = Stack::of(&scenario, Some(policy), Some(precision));
                    let limit = stack.scenario.usable();
                    let Some(longest) = stack.longest else {
                        assert!(peak(&stack.scenario, 1) > limit, "{method:?} {policy:?} {precision:?}");
                        continue;
                    };
                    assert!(peak(&stack.scenario, longest) <= limit, "{method:?} {policy:?} {precision:?}");
                    assert!(peak(&stack.scenario, longest + 1) > limit, "{method:?} {policy:?} {precision:?}");
                    for held in &stack.held {
                        assert_eq!(held.total() <= limit, held.tokens <= longest, "{method:?} {policy:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_longer_sequence_changes_activations_and_leaves_the_model_s_own_buckets_alone() {
        for method in [Method::Workshop, Method::Paper] {
            let stack = Stack::of(&Scenario { method, ..Scenario::workshop() }, None, None);
            for held in &stack.held {
                assert_eq!(held.fixed(), stack.held[0].fixed(), "{method:?}");
            }
        }
        let stack = Stack::of(&Scenario::workshop(), None, None);
        // The ledger's peak moves to instants at which other gradients and gathered weights are alive.
        assert!(stack.held.iter().all(|held| held.sizes[1] == stack.held[0].sizes[1]));
        let activations = |held: &Held| held.sizes[ACTIVATIONS];
        assert!(stack.held.windows(2).all(|pair| activations(&pair[0]) <= activations(&pair[1])));
    }

    #[test]
    fn the_slider_starts_at_four_thousand_tokens_and_the_table_has_every_doubling() {
        let stack = Stack::of(&Scenario::workshop(), None, None);
        assert_eq!(stack.reading(super::super::START).tokens, "4,096");
        let lengths: Vec<&str> = stack.rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!((lengths.len(), lengths[0], lengths[10]), (11, "128", "131,072"));
        assert!(stack.rows.iter().all(|row| row.len() == COLUMNS.len()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_scenario_has_a_stack_and_a_length_to_read_off(scenario in any_scenario(), place in 0.0..200.0) {
            let stack = Stack::of(&scenario, None, None);
            texts_are_sound(&(&stack.rows, &stack.usable_text, &stack.longest_text, stack.reading(place)));
            plot_is_sound(&stack.plot(place));
        }
    }
}
