//! What the figure shows: the memory of one GPU at each ZeRO stage.

use bmax::course::scaling::{STAGES, at_stage, parts};
use bmax::course::updates::steps_to_goal;
use bmax::{Balance, Bytes, Scenario, estimate, largest_micro_batch, number};

use crate::site::format;

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// A bar for each stage, in their order.
    pub bars: [Bar; STAGES.len()],
    /// What a step may use, as a length of the bars.
    pub usable: String,
    /// The same as a size.
    pub usable_text: String,
    /// Sequences of a micro-batch.
    pub batch: String,
    /// GPUs that see different data.
    pub replicas: String,
    /// Sequences that all of them see at once.
    pub at_once: String,
    /// Accumulation steps of an update.
    pub steps: String,
    /// What these count.
    pub unit: &'static str,
    /// Those of an update.
    pub effective: String,
    /// The stages as the rows of the table.
    pub rows: Vec<Vec<String>>,
}

/// One GPU at one stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Its peak, and whether that fits.
    pub verdict: String,
    /// Whether it does not.
    pub over: bool,
    /// The lengths of its parts: parameters, gradients, optimizer state, activations, logits and the rest.
    pub lengths: [String; 6],
}

impl Shown {
    /// What a scenario shows.
    pub fn of(scenario: &Scenario) -> Self {
        let usable = scenario.usable();
        let stages = STAGES.map(|stage| parts(&at_stage(scenario, stage)));
        let balances = STAGES.map(|stage| estimate(&at_stage(scenario, stage)).balance());
        let peaks = stages.map(|parts| parts.into_iter().sum::<Bytes>());
        let longest = peaks.iter().fold(usable, |longest, peak| if *peak > longest { *peak } else { longest });
        let length = |bytes: Bytes| format::css_percent(bytes.share_of(longest) / 1.02);
        let bar = |at: usize| {
            let word = match balances[at] {
                Balance::Free(_) => "fits",
                Balance::Close(_) | Balance::Over(_) => "too much",
                Balance::LacksHost(_) => "too little CPU memory",
            };
            let verdict = format!("{}, {word}", format::gib(peaks[at]));
            Bar { verdict, over: !matches!(balances[at], Balance::Free(_)), lengths: stages[at].map(length) }
        };
        let row = |at: usize| {
            let most = largest_micro_batch(&at_stage(scenario, STAGES[at])).unwrap_or(0);
            let mut row = vec![number::grouped(at as f64)];
            row.extend(stages[at].map(format::memory));
            row.extend([format::gib(peaks[at]), format::count(most)]);
            row
        };
        let [batch, replicas, steps] = [scenario.recipe.batch, scenario.data_parallel(), steps_to_goal(scenario)];
        Self {
            bars: [0, 1, 2, 3].map(bar),
            usable: length(usable),
            usable_text: format::gib(usable),
            batch: format::count(batch),
            unit: scenario.unit().word(batch.saturating_mul(replicas).into()),
            replicas: format::count(replicas),
            at_once: format::count(batch.saturating_mul(replicas)),
            steps: format::counted(steps, "accumulation step", "accumulation steps"),
            effective: number::grouped([batch, replicas, steps].map(f64::from).into_iter().product()),
            rows: (0..STAGES.len()).map(row).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use proptest::prelude::*;

    fn percent(length: &str) -> f64 {
        length.trim_end_matches('%').parse().expect("a number")
    }

    /// The numbers of the workshop's 7B on eight GPUs of 80 GiB: 112 GB of states do not fit one GPU whole, and
    /// each stage leaves less of them.
    #[test]
    fn the_default_does_not_fit_whole_and_fits_sharded() {
        let shown = Shown::of(&Scenario::workshop());
        assert_eq!(shown.bars.each_ref().map(|bar| bar.over), [true, false, false, false]);
        // Three sequences on each of 8 GPUs are 24; 11 times that is the first multiple that reaches 256.
        assert_eq!((shown.at_once.as_str(), shown.effective.as_str()), ("24", "264"));
    }

    #[test]
    fn activations_have_the_same_length_at_every_stage() {
        let shown = Shown::of(&Scenario::workshop());
        assert!(shown.bars.iter().all(|bar| bar.lengths[3] == shown.bars[0].lengths[3]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_scenario_has_four_bars_with_the_proportions_of_their_rows(scenario in any_scenario()) {
            let shown = Shown::of(&scenario);
            texts_are_sound(&shown);
            let ends = shown.bars.each_ref().map(|bar| bar.lengths.iter().map(|part| percent(part)).sum::<f64>());
            let usable = percent(&shown.usable);
            for ((bar, end), row) in shown.bars.iter().zip(ends).zip(&shown.rows) {
                prop_assert!(end <= 100.0 && usable <= 100.0);
                prop_assert!(bar.verdict.starts_with(&row[7]));
                // Lengths are written to a thousandth of a percent.
                let lacks_host = bar.verdict.ends_with("CPU memory");
                prop_assert!(bar.over == (lacks_host || end > usable) || (end - usable).abs() < 0.01);
            }
        }
    }
}
