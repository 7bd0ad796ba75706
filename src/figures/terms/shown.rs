//! What the figure shows: the counts of the configuration.

use bmax::course::updates::steps_to_goal;
use bmax::{Scenario, number};

use crate::site::format;

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Sequences of a micro-batch.
    pub batch: String,
    /// GPUs, or groups of them, that see different data.
    pub replicas: String,
    /// The noun behind their number.
    pub gpus: &'static str,
    /// Micro-batches after one another.
    pub steps: String,
    /// Sequences of a mini-batch.
    pub mini: String,
    /// The words behind their number.
    pub sequences: &'static str,
    /// Its tokens.
    pub tokens: String,
    /// The noun behind their number.
    pub token_noun: &'static str,
}

impl Shown {
    /// What a scenario shows.
    pub fn of(scenario: &Scenario) -> Self {
        let counts = [scenario.recipe.batch, scenario.data_parallel(), steps_to_goal(scenario)];
        let mini: f64 = counts.map(f64::from).iter().product();
        let [batch, replicas, steps] = counts.map(format::count);
        let tokens = mini * f64::from(scenario.recipe.sequence);
        Self {
            batch,
            replicas,
            gpus: format::noun(scenario.data_parallel().into(), "GPU", "GPUs"),
            steps,
            mini: number::grouped(mini),
            sequences: format::noun(mini, "sequence, which is", "sequences, which are"),
            tokens: number::grouped(tokens),
            token_noun: format::noun(tokens, "token", "tokens"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use bmax::link;
    use proptest::prelude::*;

    #[test]
    fn a_mini_batch_is_what_all_gpus_see_in_all_steps() {
        let shown = Shown::of(&link::decode("?v=3&gpus=4&b=2&target=100").scenario);
        // 100 sequences take 13 rounds of 2 on each of 4 GPUs, which make 104.
        assert_eq!([shown.batch, shown.replicas, shown.steps, shown.mini], ["2", "4", "13", "104"]);
        assert_eq!(shown.tokens, "212,992");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_has_its_batches(scenario in any_scenario()) {
            texts_are_sound(&Shown::of(&scenario));
        }
    }
}
