//! What the figure shows: the steps of the tuning procedure on one configuration, and the setup they end in.

use bmax::course::tuning::{Job, Tuning, alone, gpus_for, job, tune};
use bmax::{
    Answer, Change, Infeasible, Recomputation, Scenario, Shortage, b_max, catalogue, number, setting::Word,
    strategy::Rung,
};
use bmax::{Choice, course::tuning::Try};

use crate::site::format;

/// Which devices the run is to have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Devices {
    /// One of them.
    One,
    /// All that the configuration has.
    All,
}

/// The procedure on one device and on all, which does not depend on the time that is allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Tunings {
    one: Tuned,
    all: Tuned,
    /// What the times are worked out with, where the device has no listed speed.
    pub assumed: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct Tuned {
    scenario: Scenario,
    tuning: Tuning,
}

impl Tunings {
    /// Runs it on a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let assumed = catalogue::assumption(scenario);
        Self { one: Tuned::of(alone(scenario)), all: Tuned::of(*scenario), assumed }
    }

    /// The setup that it ends in, if anything fits.
    pub fn setup(&self, devices: Devices) -> Option<Scenario> {
        let on = self.on(devices);
        let is_answered = !matches!(b_max(&on.scenario), Answer::Refused(_));
        on.chosen().filter(|_| is_answered).map(|rung| rung.scenario)
    }

    fn on(&self, devices: Devices) -> &Tuned {
        match devices {
            Devices::One => &self.one,
            Devices::All => &self.all,
        }
    }

    /// What the figure shows for these devices and a run of so many billions of tokens in so many hours.
    pub fn shown(&self, devices: Devices, billions: f64, hours: f64) -> Shown {
        let (tokens, allowed) = (billions * 1e9, hours * 3_600.0);
        let on = self.on(devices);
        let other = match devices {
            Devices::One => ("The same on all of yours: ", self.all.summary(tokens)),
            Devices::All => ("The same on one GPU: ", self.one.summary(tokens)),
        };
        let refused = match b_max(&on.scenario) {
            Answer::Refused(refusal) => Some(format::refusal(&refusal, on.scenario.unit())),
            Answer::Fits(_) | Answer::Infeasible(_) => None,
        };
        let untried = refused.as_ref().map(|_| ("Not tried.", "Not tried."));
        let (recompute, swap) = untried.unwrap_or_else(|| remedies(on.chosen()));
        let chosen = on.chosen().filter(|_| refused.is_none());
        let lacking = on.tuning.lacking.filter(|_| refused.is_none());
        Shown {
            start: if refused.is_some() { on.start().unanswered() } else { on.start() },
            recompute,
            swap,
            plan: chosen.and_then(|rung| Plan::of(rung, tokens, allowed)),
            lacking: lacking.map(|reason| Lacking::of(devices, &reason)),
            refused,
            rows: on.tuning.candidates.iter().map(|rung| row(rung, tokens)).collect(),
            other: other.0,
            summary: other.1,
        }
    }
}

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// What comes before every remedy that costs something.
    pub start: Start,
    /// Whether layers have to be computed again.
    pub recompute: &'static str,
    /// Whether something has to go to the host.
    pub swap: &'static str,
    /// The setup that fits, if one does.
    pub plan: Option<Plan>,
    /// What stands in the way, if none does.
    pub lacking: Option<Lacking>,
    /// Why there is no answer, if there is none.
    pub refused: Option<String>,
    /// The candidates, as the rows of the table.
    pub rows: Vec<Vec<String>>,
    /// Which the other number of devices is.
    pub other: &'static str,
    /// What comes of those.
    pub summary: String,
}

/// The target, the first try and the halving.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// Sequences of an update.
    pub target: String,
    /// Its tokens.
    pub tokens: String,
    /// The noun behind their number.
    pub noun: &'static str,
    /// Sequences of each GPU that sees data of its own.
    pub share: String,
    /// What all of them at once need.
    pub direct: String,
    /// What a step may use.
    pub usable: String,
    /// What comes of that.
    pub verdict: String,
    /// What halving gives.
    pub halving: String,
    /// The largest micro-batch that fits, where halving found one.
    pub exact: Option<String>,
}

/// A setup that fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Whether it is done in time, in a few words.
    pub headline: &'static str,
    /// B = b · D · steps.
    pub equation: String,
    /// What it does.
    pub measure: String,
    /// Its results.
    pub results: Results,
    /// Updates of the run.
    pub updates: String,
    /// How long the run may take.
    pub allowed: String,
    /// What it lacks, where it takes longer.
    pub late: Option<Late>,
}

/// What a candidate gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// The largest micro-batch.
    pub most: String,
    /// The work beyond what no remedy takes.
    pub extra: String,
    /// What an update waits for the host.
    pub stall: String,
    /// How long an update takes.
    pub update: String,
    /// How long the run takes.
    pub run: String,
}

/// By how much a run is too long.
#[derive(Clone, Debug, PartialEq)]
pub struct Late {
    /// As a multiple of the time allowed.
    pub factor: String,
    /// How many GPUs would be enough at best.
    pub enough: String,
}

/// Why nothing fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Lacking {
    /// Which devices are not enough.
    pub headline: &'static str,
    /// By how much memory is exceeded.
    pub over: String,
    /// When.
    pub instant: &'static str,
    /// The largest entry then.
    pub largest: &'static str,
    /// How many GPUs would do.
    pub fewest: String,
}

impl Start {
    /// The same where nothing can be said of it.
    fn unanswered(self) -> Self {
        Self { verdict: "No answer.".to_owned(), halving: "Not tried.".to_owned(), exact: None, ..self }
    }
}

impl Tuned {
    fn of(scenario: Scenario) -> Self {
        Self { scenario, tuning: tune(&scenario) }
    }

    fn chosen(&self) -> Option<&Rung> {
        self.tuning.chosen.map(|position| &self.tuning.candidates[position])
    }

    fn start(&self) -> Start {
        let Self { scenario, tuning } = self;
        let (instant, largest) = &tuning.binding;
        let exact = tuning.candidates.first().and_then(|rung| rung.b_max).unwrap_or(0);
        let tokens = f64::from(tuning.target) * f64::from(scenario.recipe.sequence);
        let start = Start {
            target: format::count(tuning.target),
            tokens: number::grouped(tokens),
            noun: format::noun(tokens, "token", "tokens"),
            share: format::count(tuning.share),
            // The target itself is always tried.
            direct: tuning.tries.first().map(|first| format::gib(first.peak)).unwrap_or_default(),
            usable: format::gib(scenario.usable()),
            verdict: "It fits. You are done.".to_owned(),
            halving: "Not needed.".to_owned(),
            exact: None,
        };
        if tuning.tries.first().is_none_or(|first| first.fits) {
            return start;
        }
        let verdict = format!("Too much, at the moment “{}”; most of it is “{}”.", instant.name, largest.name);
        let halving = format!("Halving the micro-batch: {}.", halvings(&tuning.tries));
        if tuning.tries.last().is_some_and(|last| last.fits) {
            Start { verdict, halving, exact: Some(format::count(exact)), ..start }
        } else {
            Start { verdict, halving: halving + " Not even one fits.", ..start }
        }
    }

    /// The outcome in a few words.
    fn summary(&self, tokens: f64) -> String {
        match self.chosen().and_then(|rung| Some((rung, results(rung, tokens)?.0))) {
            Some((rung, results)) => format!("{}; {}; {}", equation(rung), name(rung), results.run),
            None => "nothing fits".to_owned(),
        }
    }
}

impl Plan {
    fn of(rung: &Rung, tokens: f64, allowed: f64) -> Option<Self> {
        let (results, Job { update, .. }) = results(rung, tokens)?;
        let seconds = update.run_seconds();
        let is_late = seconds > allowed;
        let late = || Late {
            factor: format::times(seconds / allowed),
            enough: number::grouped(gpus_for(seconds, allowed, rung.scenario.cluster.gpus)),
        };
        Some(Self {
            headline: if is_late { "It fits, but takes too long:" } else { "It fits and is done in time:" },
            equation: equation(rung),
            measure: name(rung),
            results,
            updates: number::grouped(update.updates.ceil()),
            allowed: format::duration(allowed),
            late: is_late.then(late),
        })
    }
}

impl Lacking {
    fn of(devices: Devices, reason: &Infeasible) -> Self {
        Self {
            headline: match devices {
                Devices::One => "One device is not enough.",
                Devices::All => "These devices are not enough.",
            },
            over: match reason.shortage {
                Shortage::HostMemory => format!("{} of CPU memory", format::memory(reason.over)),
                _ => format::memory(reason.over),
            },
            instant: reason.instant.name,
            largest: reason.largest.name,
            fewest: reason.fewest_gpus.map_or_else(|| "no number of".to_owned(), format::count),
        }
    }
}

/// What the chosen candidate says of recomputing and of swapping.
fn remedies(chosen: Option<&Rung>) -> (&'static str, &'static str) {
    let never = "Even with every layer recomputed nothing fits: recomputation only saves activations.";
    match chosen.map(|rung| rung.measure) {
        Some(None) => ("Not needed: accumulation is enough, and costs no extra work.", "Not needed."),
        Some(Some(Change::Word(Word::Recomputation(_)))) => {
            ("Needed, and enough. This is the cheapest kind that fits.", "Not needed.")
        }
        Some(_) => (never, "Needed, and enough."),
        None => (
            never,
            "Not enough, or not modelled: only the ledger counts swapping, and only if all weights are trained.",
        ),
    }
}

/// Every try with its peak.
fn halvings(tries: &[Try]) -> String {
    let one = |one: &Try| format!("{} ({})", format::count(one.batch), format::gib(one.peak));
    tries.iter().map(one).collect::<Vec<_>>().join(" → ")
}

/// What a candidate does, in a few words.
fn name(rung: &Rung) -> String {
    match rung.measure {
        Some(Change::Word(Word::Recomputation(Recomputation::EveryK))) => "Recompute: segments of 2 layers".to_owned(),
        Some(Change::Word(Word::Recomputation(recomputation))) => format!("Recompute: {}", recomputation.label()),
        Some(Change::Word(Word::Offload(offload))) => {
            format!("Recompute fully, and in CPU memory: {}", offload.label())
        }
        _ => "Accumulation alone".to_owned(),
    }
}

/// B = b · D · steps.
fn equation(rung: &Rung) -> String {
    let Some(plan) = rung.accumulation else { return "–".to_owned() };
    let [b, d, steps] = [plan.micro_batch, plan.data_parallel, plan.steps].map(format::count);
    format!("{} = {b} · {d} · {steps}", number::grouped(plan.global_batch() as f64))
}

/// What a candidate gives, in words and as times.
fn results(rung: &Rung, tokens: f64) -> Option<(Results, Job)> {
    let (cost, job) = (rung.cost?, job(rung, tokens)?);
    let [stall, update, run] = [job.stall, job.update.seconds, job.update.run_seconds()].map(format::duration);
    let most = format::count(rung.b_max.unwrap_or(0));
    let extra = format!("{} %", format::digits(cost.extra * 100.0, 1));
    Some((Results { most, extra, stall, update, run }, job))
}

/// A candidate as a row of the table.
fn row(rung: &Rung, tokens: f64) -> Vec<String> {
    let results = match results(rung, tokens) {
        Some((Results { most, extra, stall, update, run }, _)) => [most, extra, stall, update, run],
        None => ["none fits", "–", "–", "–", "–"].map(str::to_owned),
    };
    [name(rung), equation(rung)].into_iter().chain(results).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use proptest::prelude::*;
    use proptest::sample::select;

    fn of_default(devices: Devices, hours: f64) -> Shown {
        Tunings::of(&Scenario::workshop()).shown(devices, 1.0, hours)
    }

    /// The runtime lecture, section 18: 32 → 16 → 8. The default sees 256 sequences on 8 GPUs.
    #[test]
    fn the_default_halves_32_until_4_fit_and_needs_no_other_remedy() {
        let shown = of_default(Devices::All, 24.0);
        assert_eq!(shown.start.share, "32");
        let tries = shown.start.halving.split(" → ").map(|one| one.split(" (").next().unwrap_or_default());
        assert_eq!(tries.collect::<Vec<_>>(), ["Halving the micro-batch: 32", "16", "8", "4"]);
        assert_eq!((shown.recompute.split(':').next(), shown.swap), (Some("Not needed"), "Not needed."));
        assert_eq!(shown.plan.expect("it fits").headline, "It fits and is done in time:");
    }

    #[test]
    fn on_one_gpu_the_default_needs_the_host_and_more_time() {
        let shown = of_default(Devices::One, 24.0);
        assert_eq!(shown.swap, "Needed, and enough.");
        let plan = shown.plan.expect("it fits");
        assert_eq!(plan.headline, "It fits, but takes too long:");
        assert!(plan.late.is_some());
        assert!(of_default(Devices::One, 200.0).plan.expect("it fits").late.is_none());
    }

    #[test]
    fn the_other_number_of_devices_is_told_as_it_would_tell_itself() {
        let (one, all) = (of_default(Devices::One, 24.0), of_default(Devices::All, 24.0));
        let run = |shown: &Shown| shown.plan.as_ref().expect("it fits").results.run.clone();
        assert!(one.summary.ends_with(&run(&all)) && all.summary.ends_with(&run(&one)));
    }

    #[test]
    fn the_setup_is_the_first_candidate_that_fits() {
        let tunings = Tunings::of(&Scenario::workshop());
        for devices in [Devices::One, Devices::All] {
            let shown = tunings.shown(devices, 1.0, 24.0);
            let first = shown.rows.iter().find(|row| row[2] != "none fits").expect("something fits");
            let plan = shown.plan.expect("it fits");
            assert_eq!(first[..2], [plan.measure, plan.equation]);
            assert!(tunings.setup(devices).is_some());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn any_scenario_ends_in_a_setup_or_in_a_reason(
            scenario in any_scenario(),
            devices in select(vec![Devices::One, Devices::All]),
            billions in 0.001..1e6,
            hours in 0.01..1e6,
        ) {
            let tunings = Tunings::of(&scenario);
            let shown = tunings.shown(devices, billions, hours);
            texts_are_sound(&shown);
            let outcomes = [shown.plan.is_some(), shown.lacking.is_some(), shown.refused.is_some()];
            prop_assert_eq!(outcomes.into_iter().filter(|is_there| *is_there).count(), 1);
            prop_assert_eq!(shown.plan.is_some(), tunings.setup(devices).is_some());
        }
    }
}
