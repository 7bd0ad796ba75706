//! The worked problems at the end of the pages: the configuration that each is about, and every number of its text.
//!
//! The words stand in the text of the page, below a heading with the id `problem-` and [`Problem::id`]. The numbers
//! are put between them while the site is built, by the names that they have here, so that none can drift.
//! `tests/course_problems.rs` works all of them out a second time, as with pen and paper.
//!
//! No figure reads this, so the program that runs in the page does not carry it.

mod batch;
mod first_page;
mod gpus;
mod memory;
mod networks;
mod plan;
mod room;

use std::sync::LazyLock;

use crate::division::{Division, division};
use crate::{Bucket, Bytes, Method, Scenario, b_max, catalogue, estimate};

/// One problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// What follows `problem-` in the id of its heading.
    pub id: &'static str,
    /// The configuration that it is about, which its link opens.
    pub scenario: Scenario,
    /// What is worked out, by the names that the text has for it, each in the unit in which it is printed.
    pub numbers: Vec<(&'static str, f64)>,
    /// What the text states: sizes, coefficients and exponents. No other number may be written there by hand.
    pub given: Vec<f64>,
}

impl Problem {
    fn new(id: &'static str, scenario: Scenario, numbers: &[(&'static str, f64)], given: &[f64]) -> Self {
        Self { id, scenario, numbers: numbers.to_vec(), given: given.to_vec() }
    }

    /// The number of this name.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.numbers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}

/// Every problem, in the order of the pages.
///
/// ```
/// use bmax::course::problems;
/// let all = problems::all();
/// assert_eq!(all.len(), 25);
/// // The workshop's 7B on four GPUs instead of eight: 2 sequences fit.
/// assert_eq!(all[0].number("fits"), Some(2.0));
/// ```
pub fn all() -> Vec<Problem> {
    vec![
        first_page::four_gpus(),
        first_page::half_the_length(),
        first_page::no_saving(),
        first_page::exactly_256(),
        memory::second_step(),
        memory::counted_twice(),
        memory::lost_update(),
        memory::not_quite_half(),
        room::overtake(),
        room::only_inputs(),
        room::distance(),
        room::swap_or_recompute(),
        batch::two_means(),
        batch::doubling(),
        batch::four_times(),
        batch::more_tokens(),
        gpus::lowest_stage(),
        gpus::ring(),
        gpus::in_flight(),
        networks::first_and_last(),
        networks::larger_images(),
        networks::examples_and_states(),
        plan::halving(),
        plan::twelve_days(),
        plan::two_runs(),
    ]
}

/// The problem with this id. All are worked out once, however many are asked for.
pub fn find(id: &str) -> Option<&'static Problem> {
    static ALL: LazyLock<Vec<Problem>> = LazyLock::new(all);
    ALL.iter().find(|problem| problem.id == id)
}

/// The default configuration, changed.
fn changed(change: impl FnOnce(&mut Scenario)) -> Scenario {
    let mut scenario = Scenario::workshop();
    change(&mut scenario);
    scenario
}

/// The same by the workshop's method.
fn workshop(change: impl FnOnce(&mut Scenario)) -> Scenario {
    changed(|scenario| {
        scenario.method = Method::Workshop;
        change(scenario);
    })
}

/// The same by the method of the papers.
fn paper(change: impl FnOnce(&mut Scenario)) -> Scenario {
    changed(|scenario| {
        scenario.method = Method::Paper;
        change(scenario);
    })
}

/// Takes a model of the catalogue.
fn take(scenario: &mut Scenario, slug: &str) {
    *scenario = catalogue::model(slug).unwrap_or(catalogue::DEFAULT_MODEL).apply(*scenario);
}

/// The largest micro-batch; 0 where nothing fits.
fn fits(scenario: &Scenario) -> f64 {
    f64::from(b_max(scenario).batch().unwrap_or(0))
}

fn bucket(scenario: &Scenario, bucket: Bucket) -> Bytes {
    estimate(scenario).bucket(bucket)
}

/// What is left beside the fixed part.
fn left(line: &Division) -> Bytes {
    line.usable - line.fixed
}

/// Parameters, gradients and optimizer state by a method that knows no instants.
fn states(scenario: &Scenario) -> Bytes {
    division(scenario).fixed
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_problem_and_every_number_of_one_has_a_name_of_its_own() {
        let all = all();
        let ids: BTreeSet<&str> = all.iter().map(|problem| problem.id).collect();
        assert_eq!((ids.len(), all.len()), (25, 25));
        for problem in &all {
            let names: BTreeSet<&str> = problem.numbers.iter().map(|(name, _)| *name).collect();
            assert_eq!(names.len(), problem.numbers.len(), "{}", problem.id);
            assert!(problem.numbers.iter().all(|(_, value)| value.is_finite()), "{}", problem.id);
        }
    }

    #[test]
    fn no_problem_is_about_settings_that_do_not_go_together() {
        for problem in all() {
            assert_eq!(problem.scenario.conflicts(), [], "{}", problem.id);
        }
    }
}
