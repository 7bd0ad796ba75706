//! What the figure shows: the time of an update and of a run against accumulation steps.

use bmax::course::updates::{Update, steps_to_goal, update};
use bmax::plot::{Axis, Ink, Mark, Plot, Rule, Series};
use bmax::{Scenario, Unit, catalogue, number};

use crate::site::format;

/// Doublings of one accumulation step that the drawing shows.
pub const DOUBLINGS: u32 = 10;

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Accumulation steps.
    pub steps: String,
    /// What a micro-batch counts.
    pub unit: Unit,
    /// Those of an update with so many.
    pub sequences: String,
    /// The words behind the steps and behind these.
    pub nouns: [&'static str; 2],
    /// How long it takes.
    pub seconds: String,
    /// How long one with a single step takes.
    pub once: String,
    /// How long each of its sequences takes.
    pub each: String,
    /// Tokens of the run, in billions.
    pub billions: String,
    /// Updates of the run.
    pub updates: String,
    /// How long the run takes.
    pub run: String,
    /// Steps that reach the target.
    pub goal: String,
    /// How long an update with so many takes.
    pub goal_seconds: String,
    /// What the times are worked out with, where the device has no listed speed.
    pub assumed: Option<String>,
    /// Every doubling, as the rows of the table.
    pub rows: Vec<Vec<String>>,
    /// The drawing.
    pub plot: Plot,
}

impl Shown {
    /// What a scenario shows, read off at so many doublings of one step, in a run of so many billion tokens.
    pub fn of(scenario: &Scenario, at: f64, billions: f64) -> Self {
        let tokens = billions * 1e9;
        let of = |steps: u32| (steps, update(scenario, steps, tokens));
        let (steps, now) = of(1 << (at.clamp(0.0, DOUBLINGS.into()) as u32));
        let (_, once) = of(1);
        let (goal, target) = of(steps_to_goal(scenario));
        let all: Vec<_> = (0..=DOUBLINGS).map(|power| of(1 << power)).collect();
        let [seconds, each, run] = times(&now);
        Self {
            steps: format::count(steps),
            unit: scenario.unit(),
            sequences: number::grouped(now.sequences),
            nouns: [
                if steps == 1 { "accumulation step" } else { "accumulation steps" },
                scenario.unit().word(now.sequences as u64),
            ],
            seconds,
            once: format::duration(once.seconds),
            each,
            billions: number::grouped(billions),
            updates: number::grouped(now.updates.ceil()),
            run,
            goal: format::counted(goal, "step", "steps"),
            goal_seconds: format::duration(target.seconds),
            assumed: catalogue::assumption(scenario),
            rows: all.iter().map(row).collect(),
            plot: plot(&all, &once, goal, steps),
        }
    }

    /// The place as it is read out at every step of the slider.
    pub fn spoken(&self) -> String {
        format!("{} {}: {}", self.steps, self.nouns[0], self.seconds)
    }
}

/// How long an update, each of its sequences and the run take.
fn times(update: &Update) -> [String; 3] {
    [update.seconds, update.seconds_per_sequence(), update.run_seconds()].map(format::duration)
}

fn row((steps, update): &(u32, Update)) -> Vec<String> {
    let [seconds, each, run] = times(update);
    let [sequences, updates] = [update.sequences, update.updates.ceil()].map(number::grouped);
    vec![format::count(*steps), sequences, seconds, each, updates, run]
}

/// Each quantity by what it is without accumulation.
fn plot(all: &[(u32, Update)], once: &Update, goal: u32, steps: u32) -> Plot {
    let curve = |of: fn(&Update) -> f64| {
        all.iter().map(|(steps, update)| (f64::from(*steps), of(update) / of(once))).collect::<Vec<_>>()
    };
    let most = f64::from(1_u32 << DOUBLINGS);
    Plot {
        x: Axis::powers_of_two(1.0, most, "accumulation steps"),
        y: Axis::log(1.0 / most, most, "times what it is without accumulation"),
        series: vec![
            Series::line(Ink::Own, curve(|update| update.seconds)),
            Series::dashed(Ink::Series2, curve(|update| update.updates)),
            Series::line(Ink::Series4, curve(Update::run_seconds)),
        ],
        marks: vec![Mark::at(goal.into(), Rule::Main), Mark::at(steps.into(), Rule::Read)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, plot_is_sound, texts_are_sound};
    use bmax::link;
    use proptest::prelude::*;

    #[test]
    fn an_update_takes_longer_and_a_sequence_and_the_run_do_not() {
        // The prose: 8 steps of 3 sequences on 8 GPUs make 192 sequences.
        let of = |at| Shown::of(&Scenario::workshop().with_batch(3), at, 10.0);
        let (once, eight) = (of(0.0), of(3.0));
        assert_eq!((once.steps.as_str(), eight.steps.as_str()), ("1", "8"));
        assert_eq!(eight.sequences, "192");
        assert_eq!(eight.once, once.seconds);
        assert_ne!(eight.seconds, once.seconds);
        let seconds = |at| update(&Scenario::workshop().with_batch(3), at, 1e10);
        assert!(seconds(8).seconds > 7.9 * seconds(1).seconds && seconds(8).run_seconds() <= seconds(1).run_seconds());
    }

    #[test]
    fn the_table_has_a_row_for_each_doubling_and_the_read_out_one_of_them() {
        let scenario = link::decode("?v=3&gpu=h100-80&b=4&target=512").scenario;
        for at in 0..=DOUBLINGS {
            let shown = Shown::of(&scenario, at.into(), 2.0);
            assert_eq!(shown.rows.len(), DOUBLINGS as usize + 1);
            let row = [&shown.steps, &shown.sequences, &shown.seconds, &shown.each, &shown.updates, &shown.run];
            assert!(shown.rows[at as usize].iter().eq(row));
        }
        assert_eq!(Shown::of(&scenario, 3.0, 2.0).goal, format::counted(steps_to_goal(&scenario), "step", "steps"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_has_its_times(scenario in any_scenario(), at in 0.0..10.0, billions in 0.001..1e6) {
            let shown = Shown::of(&scenario, at, billions);
            plot_is_sound(&shown.plot);
            texts_are_sound(&(&shown.rows, &shown.steps, &shown.run, &shown.goal_seconds, shown.spoken()));
        }
    }
}
