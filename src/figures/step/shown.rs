//! What the figure shows: two steps as a curve, one moment of them, and every named moment as a row.

use bmax::course::step::{Held, Moment, PARTS, Timeline, timeline};
use bmax::plot::{Axis, Ink, Mark, Plot, Rule, Series};
use bmax::{Bucket, Bytes, Evaluation, Recomputation, Scenario, TaskKind};

use crate::figures::stacked::{self, BANDS};
use crate::site::{Facts, format};

/// The curve of the chosen configuration, which does not depend on the moment that is read off.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    timeline: Timeline,
    usable: Bytes,
    /// What the highest moment is called.
    pub peak_name: String,
    /// What is alive then.
    pub peak: String,
    /// What a step may use.
    pub usable_text: String,
    /// The highest moment of the first step.
    pub first: String,
    /// What the first update makes and the end still has; nothing where it makes nothing.
    pub missing: Option<String>,
    /// What else is to be said about this curve.
    pub remarks: Vec<String>,
    /// Every named moment, as a row of the table.
    pub rows: Vec<Vec<String>>,
}

impl Curve {
    /// The curve of these facts with the figure's own choices.
    pub fn of(
        facts: &Facts,
        policy: Option<Recomputation>,
        micro_batches: Option<u32>,
        evaluation: Option<Evaluation>,
    ) -> Self {
        let (mut scenario, usable) = (facts.scenario, facts.estimate.usable());
        scenario.recipe.recomputation = policy.unwrap_or(scenario.recipe.recomputation);
        scenario.recipe.micro_batches = micro_batches.unwrap_or(scenario.recipe.micro_batches);
        scenario.outside.evaluation = evaluation.unwrap_or(scenario.outside.evaluation);
        let timeline = timeline(&scenario);
        let peak = timeline.highest(2);
        let state = |at: f64| timeline.at(at).1.of(Bucket::Optimizer);
        let missing = state(400.0) - state(0.0);
        Self {
            peak_name: quoted(timeline.instants[peak.instant.unwrap_or(0)].name),
            peak: format::memory(peak.held.total()),
            usable_text: format::memory(usable),
            first: format::memory(timeline.highest(1).held.total()),
            missing: (missing > Bytes::ZERO).then(|| format::memory(missing)),
            remarks: remarks(&timeline, &scenario),
            rows: rows(&timeline),
            usable,
            timeline,
        }
    }

    /// Where the peak is.
    pub fn peak_at(&self) -> f64 {
        self.timeline.highest(2).at
    }

    /// The last named moment before a place; the place itself where there is none.
    pub fn before(&self, at: f64) -> f64 {
        self.named().rev().find(|before| *before < at).unwrap_or(at)
    }

    /// The first named moment after a place; the place itself where there is none.
    pub fn after(&self, at: f64) -> f64 {
        self.named().find(|after| *after > at).unwrap_or(at)
    }

    fn named(&self) -> impl DoubleEndedIterator<Item = f64> {
        self.timeline.moments.iter().filter(|moment| moment.instant.is_some()).map(|moment| moment.at)
    }

    /// The drawing, with the moment that is read off.
    pub fn plot(&self, at: f64) -> Plot {
        let moments = &self.timeline.moments;
        let places: Vec<_> =
            moments.iter().map(|moment| (steps(moment.at), BANDS.map(|bucket| moment.held.of(bucket)))).collect();
        let mut series = stacked::series(&places);
        let peak = self.timeline.highest(2);
        let (highest, usable) = (peak.held.total().gib(), self.usable.gib());
        // The limit is drawn where it does not press the curve flat.
        let near = usable < 2.0 * highest;
        if near {
            series.push(Series::dashed(Ink::Limit, vec![(0.0, usable), (2.0, usable)]));
        }
        let top = if near { highest.max(usable) } else { highest };
        let name = self.timeline.instants[peak.instant.unwrap_or(0)].name;
        Plot {
            x: Axis::linear(0.0, 2.0, "training steps (order, not seconds)"),
            y: Axis::linear(0.0, top * 1.12, "GiB"),
            series,
            marks: vec![
                Mark::at(steps(at), Rule::Soft),
                Mark::named(steps(peak.at), Rule::Main, format!("{name} {}", self.peak)),
            ],
        }
    }

    /// What is alive at a place.
    pub fn reading(&self, at: f64) -> Reading {
        let (moment, held) = self.timeline.at(at);
        Reading::of(words(&self.timeline, moment, at), &held)
    }
}

/// One moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Where in the step it is.
    pub words: String,
    /// What each band has, from below.
    pub sizes: [String; BANDS.len()],
    /// Their sum.
    pub total: String,
}

impl Reading {
    fn of(words: String, held: &Held) -> Self {
        let sizes = BANDS.map(|bucket| format::memory(held.of(bucket)));
        Self { words, sizes, total: format::memory(held.total()) }
    }

    /// The moment as it is read out at every step of the slider.
    pub fn spoken(&self) -> String {
        format!("{}: {}", self.words, self.total)
    }
}

/// What this curve leaves out.
fn remarks(timeline: &Timeline, scenario: &Scenario) -> Vec<String> {
    let instants = timeline.instants.iter().filter(|instant| !instant.is_outside()).count();
    let outside = timeline.instants.len() > instants;
    let mut remarks = Vec::new();
    if instants == 1 {
        remarks.push(
            "The method you chose adds up buckets and has no moments. Its curve is therefore flat. Choose the ledger to see the step."
                .to_owned(),
        );
    }
    let is_pipeline = !timeline.instants[0].stage.is_empty();
    if outside {
        remarks.push("What is outside the step stands behind the second update, moment by moment.".to_owned());
    }
    let is_task = scenario.task.kind != TaskKind::Train && !scenario.model.vision.is_there();
    if instants > 6 && !is_pipeline && is_task {
        let said = if scenario.task.kind.generates() {
            "What is generated and scored before the step is drawn once, for any number of them."
        } else {
            "The frozen model runs behind the forward pass of each micro-batch, of which one is drawn."
        };
        remarks.push(said.to_owned());
    }
    if is_pipeline {
        remarks.push(
            "This is the pipeline stage that needs most; the micro-batches on their way through it are drawn as one."
                .to_owned(),
        );
    }
    if instants == 6 && scenario.recipe.micro_batches > timeline.drawn {
        let all = format::count(scenario.recipe.micro_batches);
        remarks.push(format!("Four of your {all} micro-batches are drawn; the others repeat the last."));
    }
    remarks
}

/// Every named moment: what it is called, what each band has, and their sum.
fn rows(timeline: &Timeline) -> Vec<Vec<String>> {
    let gib = |bytes: Bytes| format::digits(bytes.gib(), 2);
    let row = |moment: &Moment| {
        let name = place(timeline, moment) + &quoted(timeline.instants[moment.instant?].name);
        let sizes = BANDS.map(|bucket| gib(moment.held.of(bucket)));
        Some([name].into_iter().chain(sizes).chain([gib(moment.held.total())]).collect())
    };
    timeline.moments.iter().filter_map(row).collect()
}

/// A place on the axis in steps.
fn steps(at: f64) -> f64 {
    at / f64::from(PARTS)
}

fn quoted(name: &str) -> String {
    format!("“{name}”")
}

/// Step and, where there are several, micro-batch.
fn place(timeline: &Timeline, moment: &Moment) -> String {
    let step = format::count(moment.step);
    if timeline.drawn > 1 {
        return format!("Step {step}, micro-batch {}, ", format::count(moment.micro_batch));
    }
    format!("Step {step}, ")
}

/// Where in the step a place on the axis is.
fn words(timeline: &Timeline, moment: &Moment, at: f64) -> String {
    let place = place(timeline, moment);
    if let Some(position) = moment.instant.filter(|_| moment.at == at) {
        return format!("{place}{}. {}", quoted(timeline.instants[position].name), timeline.meanings[position]);
    }
    let next = timeline.moments.iter().filter(|next| next.at > at).find_map(|next| next.instant);
    match next {
        Some(position) => format!("{place}on the way to {}", quoted(timeline.instants[position].name)),
        None => place + "after the update",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, plot_is_sound, texts_are_sound};
    use crate::site::facts_of;
    use proptest::prelude::*;

    fn default() -> Curve {
        Curve::of(&facts_of(Scenario::workshop()), None, None, None)
    }

    #[test]
    fn an_evaluation_has_its_moments_behind_the_second_update_and_in_the_table() {
        let curve = Curve::of(&facts_of(Scenario::workshop()), None, None, Some(Evaluation::Logits));
        let plain = default();
        assert_eq!(curve.rows.len(), plain.rows.len() + 3);
        let last = &curve.rows[curve.rows.len() - 1][0];
        assert!(last.starts_with("Step 2") && last.contains("evaluation: logits joined"), "{last}");
        assert_eq!(curve.rows[..plain.rows.len()], plain.rows);
    }

    #[test]
    fn the_slider_starts_at_the_peak_of_the_default() {
        assert_eq!(super::super::START, default().peak_at());
    }

    #[test]
    fn the_jumps_walk_through_every_named_moment() {
        let curve = default();
        let mut at = 0.0;
        let mut seen = 0;
        while curve.after(at) > at {
            at = curve.after(at);
            seen += 1;
        }
        assert_eq!(seen, curve.rows.len());
        assert!(curve.before(at) < at);
        assert_eq!(curve.before(0.0), 0.0);
    }

    #[test]
    fn the_table_and_the_drawing_have_the_same_sums() {
        let curve = default();
        let plot = curve.plot(0.0);
        let highest = plot.series[BANDS.len() - 1].points().iter().map(|point| point.2).fold(0.0, f64::max);
        let most = curve.rows.iter().filter_map(|row| row.last()?.parse().ok()).fold(0.0, f64::max);
        assert!((highest - most).abs() < 0.005 + 1e-9, "{highest} and {most}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_has_a_curve_and_a_moment(scenario in any_scenario(), at in 0.0..400.0) {
            let curve = Curve::of(&facts_of(scenario), None, None, None);
            prop_assert!(curve.rows.iter().all(|row| row.len() == BANDS.len() + 2));
            texts_are_sound(&curve.rows);
            texts_are_sound(&curve.reading(at));
            plot_is_sound(&curve.plot(at));
        }
    }
}
