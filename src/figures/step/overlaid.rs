//! What the overlay shows: one step with the recomputation of the curve above, and one with another, over the same work.

use bmax::course::step::{Paced, Pass};
use bmax::plot::{Axis, Ink, Mark, Plot, Rule, Series};
use bmax::{Bytes, Choice, Recomputation, TaskKind};

use crate::components::Column;
use crate::site::{Facts, format};

/// Values of the slider in a forward pass.
pub const PARTS: f64 = 100.0;

/// The table.
pub static COLUMNS: [Column; 5] = [
    Column::words("Moment"),
    Column::numbers("Curve above: passes"),
    Column::numbers("Curve above: GiB"),
    Column::numbers("Compared: passes"),
    Column::numbers("Compared: GiB"),
];

/// What a recomputation is compared with, where the reader has chosen nothing: full, and none where whole layers are
/// computed again already.
pub const fn other(policy: Recomputation) -> Recomputation {
    match policy {
        Recomputation::None | Recomputation::Selective | Recomputation::Operators => Recomputation::Full,
        _ => Recomputation::None,
    }
}

/// Both steps, which do not depend on the place that is read off.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlay {
    policies: [Recomputation; 2],
    steps: [Paced; 2],
    usable: Bytes,
    /// The highest moments and what lies between them, in a sentence.
    pub words: String,
    /// Every named moment of both, as a row of the table.
    pub rows: Vec<Vec<String>>,
}

impl Overlay {
    /// Both steps of these facts: with the figure's own choices, and with what is compared.
    pub fn of(
        facts: &Facts,
        policy: Option<Recomputation>,
        micro_batches: Option<u32>,
        compared: Option<Recomputation>,
    ) -> Self {
        let mut scenario = facts.scenario;
        let policy = policy.unwrap_or(scenario.recipe.recomputation);
        scenario.recipe.micro_batches = micro_batches.unwrap_or(scenario.recipe.micro_batches);
        let policies = [policy, compared.unwrap_or(other(policy))];
        let steps = policies.map(|recomputation| {
            scenario.recipe.recomputation = recomputation;
            Paced::of(&scenario)
        });
        let mut words = words(policies, &steps);
        let alone = matches!(scenario.task.kind, TaskKind::Train | TaskKind::Reward);
        if facts.is_ledger() && !alone {
            words +=
                " The work is that of training alone: what a task generates and scores stands at the forward pass.";
        }
        Self { words, rows: rows(&steps), policies, steps, usable: facts.estimate.usable() }
    }

    /// What is compared.
    pub const fn compared(&self) -> Recomputation {
        self.policies[1]
    }

    /// The slider's ends: the longer step.
    pub fn ends(&self) -> (f64, f64) {
        (0.0, (self.length() * PARTS).floor())
    }

    fn length(&self) -> f64 {
        self.steps[0].length().max(self.steps[1].length())
    }

    /// The drawing, with the place that is read off.
    pub fn plot(&self, at: f64) -> Plot {
        let line = |step: &Paced| step.points.iter().map(|(at, held)| (*at, held.gib())).collect::<Vec<_>>();
        let [own, compared] = &self.steps;
        let filled = line(own).into_iter().map(|(at, held)| (at, 0.0, held)).collect();
        let mut series = vec![
            Series::band(Ink::OwnRange, filled),
            Series::line(Ink::Own, line(own)),
            Series::dashed(Ink::Series4, line(compared)),
        ];
        let highest = own.peak.held.gib().max(compared.peak.held.gib());
        let usable = self.usable.gib();
        // The limit is drawn where it does not press the curves flat.
        let near = usable < 2.0 * highest;
        if near {
            series.push(Series::line(Ink::Limit, vec![(0.0, usable), (self.length(), usable)]));
        }
        let top = if near { highest.max(usable) } else { highest };
        let peak = |place: usize, rule| {
            let peak = &self.steps[place].peak;
            let label = format!("{} {}", self.policies[place].label(), format::memory(peak.held));
            Mark::named(peak.at, rule, label)
        };
        let mut marks = vec![Mark::at(at / PARTS, Rule::Read), peak(0, Rule::Main)];
        if self.policies[0] != self.policies[1] {
            marks.push(peak(1, Rule::Soft));
        }
        Plot {
            x: Axis::linear(0.0, self.length(), "work of one step, in forward passes"),
            y: Axis::linear(0.0, top * 1.15, "GiB"),
            series,
            marks,
        }
    }

    /// What both hold at a place of the slider, in a sentence.
    pub fn reading(&self, at: f64) -> String {
        let at = at.min(self.ends().1) / PARTS;
        let part = |place: usize| {
            let (step, name) = (&self.steps[place], self.policies[place].label());
            match step.at(at).zip(step.pass(at)) {
                Some((held, pass)) => format!("{name}: {}, {}", format::memory(held), pass_name(pass)),
                None => format!("{name}: the step is over"),
            }
        };
        let passes = format::digits(at, 2);
        if self.policies[0] == self.policies[1] {
            return format!("After {passes} forward passes of work. {}.", part(0));
        }
        format!("After {passes} forward passes of work. {}. {}.", part(0), part(1))
    }
}

const fn pass_name(pass: Pass) -> &'static str {
    match pass {
        Pass::Forward => "forward pass",
        Pass::Backward => "backward pass",
        Pass::Update => "optimizer step",
    }
}

/// The highest moments, and what is between them.
fn words(policies: [Recomputation; 2], steps: &[Paced; 2]) -> String {
    let [own, compared] = steps;
    let name = |place: usize| match policies[place] {
        Recomputation::None => "without recomputation".to_owned(),
        policy => format!("with recomputation “{}”", policy.label()),
    };
    let peak = |step: &Paced| format!("{} (“{}”)", format::memory(step.peak.held), step.peak.instant.name);
    if policies[0] == policies[1] {
        return format!("The highest moment {} is at {}. Both curves are the same.", name(0), peak(own));
    }
    // What saves memory is told with its price.
    let (small, large) = if own.peak.held < compared.peak.held { (0, 1) } else { (1, 0) };
    let gap = steps[large].peak.held - steps[small].peak.held;
    let more = steps[small].work() / steps[large].work() - 1.0;
    let work = match more {
        more if more > 5e-4 => format!("has {} % more work", format::digits(more * 100.0, 1)),
        more if more < -5e-4 => format!("has {} % less work", format::digits(-more * 100.0, 1)),
        _ => "has the same work".to_owned(),
    };
    let saved = if gap > Bytes::ZERO { format!("saves {}", format::memory(gap)) } else { "saves nothing".to_owned() };
    let subject = match policies[small] {
        Recomputation::None => "A step without recomputation".to_owned(),
        policy => format!("Recomputation “{}”", policy.label()),
    };
    let than = format!("{subject} {saved} and {work}.");
    let both = format!("The highest moment {} is at {}, and {} at {}", name(0), peak(own), name(1), peak(compared));
    format!("{both}. {than}")
}

/// Named moments of both steps: where each is, and what it holds. A pipeline may bind at another stage, which has other
/// moments.
fn rows(steps: &[Paced; 2]) -> Vec<Vec<String>> {
    let [own, compared] = steps;
    let row = |(position, named): (usize, &bmax::course::step::Named)| {
        let same = |other: &&bmax::course::step::Named| {
            other.instant.name == named.instant.name && other.micro_batch == named.micro_batch
        };
        let others = compared.named.iter().filter(same);
        let before = own.named[..position].iter().filter(same).count();
        let cells = |named: Option<&bmax::course::step::Named>| match named {
            Some(named) => [format::digits(named.at, 2), format::digits(named.held.gib(), 2)],
            None => ["–", "–"].map(str::to_owned),
        };
        let name = match own.drawn {
            1 => format!("“{}”", named.instant.name),
            _ => format!("Micro-batch {}, “{}”", format::count(named.micro_batch), named.instant.name),
        };
        let other = others.into_iter().nth(before);
        [name].into_iter().chain(cells(Some(named))).chain(cells(other)).collect()
    };
    own.named.iter().enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, plot_is_sound, texts_are_sound};
    use crate::site::facts_of;
    use bmax::{Scenario, estimate};
    use proptest::prelude::*;

    fn overlay(policy: Recomputation, compared: Option<Recomputation>) -> Overlay {
        Overlay::of(&facts_of(Scenario::workshop()), Some(policy), None, compared)
    }

    fn peak(policy: Recomputation) -> Bytes {
        let mut scenario = Scenario::workshop();
        scenario.recipe.recomputation = policy;
        estimate(&scenario).peak().bytes
    }

    #[test]
    fn both_peaks_and_the_gap_between_them_are_the_estimates() {
        let (full, none) = (peak(Recomputation::Full), peak(Recomputation::None));
        let shown = overlay(Recomputation::Full, None);
        assert_eq!(shown.compared(), Recomputation::None);
        for said in
            [format::memory(full), format::memory(none), format!("saves {} and has ", format::memory(none - full))]
        {
            assert!(shown.words.contains(&said), "{said}: {}", shown.words);
        }
        let back = overlay(Recomputation::None, None);
        assert!(back.words.contains(&format!("saves {} and has ", format::memory(none - full))), "{}", back.words);
    }

    #[test]
    fn the_table_has_both_peaks() {
        let shown = overlay(Recomputation::Full, None);
        let column = |at: usize| {
            let cells = shown.rows.iter().map(|row| row[at].replace(',', "").parse().expect("GiB"));
            cells.fold(0.0, f64::max)
        };
        assert!((column(2) - peak(Recomputation::Full).gib()).abs() < 0.006);
        assert!((column(4) - peak(Recomputation::None).gib()).abs() < 0.006);
    }

    #[test]
    fn a_recomputation_is_never_compared_with_itself_unless_it_is_asked_for() {
        for &policy in Recomputation::ALL {
            assert_ne!(other(policy), policy);
        }
        assert!(overlay(Recomputation::Full, Some(Recomputation::Full)).words.ends_with("Both curves are the same."));
    }

    #[test]
    fn where_the_shorter_step_is_over_the_reading_says_so() {
        let shown = overlay(Recomputation::Full, None);
        let reading = shown.reading(shown.ends().1);
        assert!(reading.contains("None: the step is over") && reading.contains("Full: "), "{reading}");
        assert!(shown.reading(0.0).contains("forward pass"), "{}", shown.reading(0.0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_scenario_has_both_steps_and_a_reading(scenario in any_scenario(), at in 0.0..2_000.0) {
            let shown = Overlay::of(&facts_of(scenario), None, None, None);
            prop_assert!(shown.rows.iter().all(|row| row.len() == COLUMNS.len()));
            texts_are_sound(&(&shown.rows, &shown.words, shown.reading(at)));
            plot_is_sound(&shown.plot(at));
        }
    }
}
