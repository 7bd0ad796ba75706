//! A tuning plan.

use bmax::course::tuning::{Tuning, alone, gpus_for, job, tune};
use bmax::{Choice, Measure, Recomputation, Rung, Scenario, link, number};

use crate::site::{Live, State, format, mount_pressed};

/// Billions of tokens and hours where the fields hold no number.
const DEFAULTS: [f64; 2] = [1.0, 24.0];

/// Mounts the figures of this section.
pub fn mount(state: State) {
    mount_pressed("tuning", state, draw, press);
}

/// The scenario on as many devices as the figure is set to, and on the others.
fn asked(live: &Live, scenario: &Scenario) -> [Scenario; 2] {
    let (one, all) = (alone(scenario), *scenario);
    if live.word("devices") == "one" { [one, all] } else { [all, one] }
}

fn press(live: &Live, word: &str) {
    let scenario = live.state().peek(|facts| facts.scenario);
    let undo = word == "undo";
    let next = if undo {
        link::decode(&live.word("before")).scenario
    } else {
        let tuning = tune(&asked(live, &scenario)[0]);
        let Some(chosen) = tuning.chosen else { return };
        live.set("before", &link::encode(&scenario));
        tuning.candidates[chosen].scenario
    };
    live.state().change(|_| next);
    live.show("undo", !undo);
    live.text("done", if undo { "As it was before." } else { "In use everywhere on this page." });
}

/// A number of a field, or what stands in for it, with a message.
fn read(live: &Live, name: &str, least: f64, default: f64) -> f64 {
    let given = live.number(name);
    let good = (least..=1e6).contains(&given);
    live.show(&(name.to_owned() + "-bad"), !good);
    live.control_attr(name, "aria-invalid", if good { "false" } else { "true" });
    if good { given } else { default }
}

/// What a candidate changes, in a word or two.
fn name(measure: Measure) -> &'static str {
    match measure {
        Measure::Accumulate => "accumulation alone",
        Measure::Recompute(recomputation) => recomputation.label(),
        Measure::Swap(offload) => offload.label(),
        Measure::MoreGpus(_) => "more GPUs",
    }
}

/// b · D · steps.
fn equation(rung: &Rung) -> String {
    let Some(plan) = rung.accumulation else { return String::new() };
    let [b, d, steps] = [plan.micro_batch, plan.data_parallel, plan.steps].map(format::count);
    number::grouped(plan.global_batch() as f64) + " = " + &b + " · " + &d + " · " + &steps
}

fn draw(live: &Live) {
    let scenario = live.facts(|facts| facts.scenario);
    let tokens = read(live, "tokens", 0.001, DEFAULTS[0]) * 1e9;
    let hours = read(live, "hours", 0.01, DEFAULTS[1]);
    let [asked, other] = asked(live, &scenario);
    let one = live.word("devices") == "one";
    let tuning = tune(&asked);
    first_steps(live, &asked, &tuning);

    let chosen = tuning.chosen.map(|position| &tuning.candidates[position]);
    let measure = chosen.map(|rung| rung.measure);
    let accumulates = measure == Some(Measure::Accumulate);
    let recomputes = matches!(measure, Some(Measure::Recompute(_)));
    let swaps = matches!(measure, Some(Measure::Swap(_)));
    let can_swap = tuning.candidates.iter().any(|rung| matches!(rung.measure, Measure::Swap(_)));
    for (name, shown) in [
        ("recompute-skip", accumulates),
        ("recompute-fits", recomputes),
        ("recompute-over", !accumulates && !recomputes),
        ("swap-skip", accumulates || recomputes),
        ("swap-fits", swaps),
        ("swap-over", chosen.is_none() && can_swap),
        ("swap-none", chosen.is_none() && !can_swap),
    ] {
        live.show(name, shown);
    }

    let time = chosen.and_then(|rung| job(rung, tokens));
    let seconds = time.map_or(0.0, |job| job.update.run_seconds());
    let late = seconds > hours * 3_600.0;
    live.show("time", time.is_some());
    live.show("time-none", time.is_none());
    live.show("ok", time.is_some() && !late);
    live.show("late", late);
    live.show("none", time.is_none());
    live.show("apply", time.is_some());
    live.class("outcome", "is-good", time.is_some() && !late);
    live.class("outcome", "is-bad", time.is_none());
    if let (Some(rung), Some(job)) = (chosen, time) {
        let (what, batch) = (name(rung.measure), rung.b_max.map_or_else(String::new, format::count));
        for (out, text) in [
            ("recompute-name", what.to_owned()),
            ("swap-name", what.to_owned()),
            ("recompute-batch", batch.clone()),
            ("swap-batch", batch),
            ("recompute-extra", rung.cost.map_or_else(String::new, |cost| format::percent(cost.extra))),
            ("swap-stall", format::duration(job.stall)),
            ("update", format::duration(job.update.seconds)),
            ("updates", number::grouped(job.update.updates.ceil())),
            ("run", format::duration(seconds)),
            ("allowed", format::duration(hours * 3_600.0)),
            ("plan", equation(rung)),
            ("plan-late", equation(rung)),
            ("with", what.to_owned()),
            ("with-late", what.to_owned()),
            ("factor", format::times(seconds / (hours * 3_600.0))),
            ("enough", number::grouped(gpus_for(seconds, hours * 3_600.0, asked.cluster.gpus))),
        ] {
            live.text(out, &text);
        }
    }
    if let Some(reason) = tuning.lacking {
        live.show("none-one", one);
        live.show("none-all", !one);
        live.text("over", &format::memory(reason.over));
        live.text("none-instant", reason.instant.name);
        live.text("none-largest", reason.largest.name);
        live.show("none-fewest", reason.fewest_gpus.is_some());
        live.show("none-ever", reason.fewest_gpus.is_none());
        live.text("fewest", &format::count(reason.fewest_gpus.unwrap_or(0)));
    }
    let rows = tuning.candidates.iter().map(|rung| row(rung, tokens)).collect();
    live.rows("candidates", rows);
    live.show("other-one", !one);
    live.show("other-all", one);
    live.text("other", &summary(&other, tokens));
}

/// The target, the first try and the halving.
fn first_steps(live: &Live, asked: &Scenario, tuning: &Tuning) {
    let (first, last) = (tuning.tries.first(), tuning.tries.last());
    let (Some(first), Some(last)) = (first, last) else { return };
    let (instant, largest) = &tuning.binding;
    let shorter = |peak| format::gib(peak);
    let tries = tuning.tries.iter().map(|one| format::count(one.batch) + " (" + &shorter(one.peak) + ")");
    let share = format::count(tuning.share);
    for (out, text) in [
        ("target", format::count(tuning.target)),
        ("target-tokens", number::grouped(f64::from(tuning.target) * f64::from(asked.recipe.sequence))),
        ("share", share.clone()),
        ("share-2", share),
        ("replicas", format::counted(asked.data_parallel(), "GPU or group", "GPUs or groups")),
        ("direct", format::gib(first.peak)),
        ("usable", format::gib(asked.usable())),
        ("instant", instant.name.to_owned()),
        ("largest", largest.name.to_owned()),
        ("tries", tries.collect::<Vec<_>>().join(" → ")),
        ("half", format::count(last.batch)),
        ("exact", tuning.candidates.first().and_then(|rung| rung.b_max).map_or_else(String::new, format::count)),
    ] {
        live.text(out, &text);
    }
    for (out, shown) in [
        ("direct-fits", first.fits),
        ("direct-over", !first.fits),
        ("halved-skip", first.fits),
        ("halved", !first.fits),
        ("halved-fits", !first.fits && last.fits),
        ("halved-over", !last.fits),
    ] {
        live.show(out, shown);
    }
}

/// A candidate as a row of the table.
fn row(rung: &Rung, tokens: f64) -> Vec<String> {
    let kind = match rung.measure {
        Measure::Recompute(_) => "recompute: ",
        Measure::Swap(_) => "full, and on the host: ",
        _ => "",
    };
    let every = if rung.measure == Measure::Recompute(Recomputation::EveryK) { ", K = 2" } else { "" };
    let mut cells = vec![kind.to_owned() + name(rung.measure) + every];
    if let (Some(plan), Some(cost), Some(job)) = (rung.accumulation, rung.cost, job(rung, tokens)) {
        cells.extend([
            rung.b_max.map_or_else(String::new, format::count),
            format::count(plan.micro_batch) + " × " + &format::count(plan.steps),
            format::digits(cost.extra * 100.0, 1) + " %",
            format::duration(job.stall),
            format::duration(job.update.seconds),
            format::duration(job.update.run_seconds()),
        ]);
    } else {
        cells.push("none fits".to_owned());
        cells.extend(["–"; 5].map(str::to_owned));
    }
    cells
}

/// The outcome on the other number of devices, in a few words.
fn summary(scenario: &Scenario, tokens: f64) -> String {
    let tuning = tune(scenario);
    let fits = tuning.chosen.map(|position| &tuning.candidates[position]);
    match fits.and_then(|rung| job(rung, tokens).map(|job| (rung, job))) {
        Some((rung, job)) => {
            equation(rung) + ", " + name(rung.measure) + ", " + &format::duration(job.update.run_seconds())
        }
        None => "nothing fits".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_prints_the_numbers_of_the_default() {
        let text = include_str!("prose.html");
        let scenario = Scenario::default();
        let run = |tuning: &Tuning| {
            let rung = &tuning.candidates[tuning.chosen.expect("something fits")];
            format::duration(job(rung, 1e9).expect("it can be timed").update.run_seconds())
        };
        let (all, one) = (tune(&scenario), tune(&alone(&scenario)));
        for number in [format::gib(all.tries[0].peak), run(&all), run(&one)] {
            assert!(text.contains(&number), "the text should print “{number}”");
        }
        assert_eq!(all.tries.iter().map(|one| one.batch).collect::<Vec<_>>(), [32, 16, 8, 4]);
        assert_eq!(all.candidates[0].b_max, Some(6));
    }

    #[test]
    fn what_is_undone_comes_back_whole() {
        let scenario = Scenario::default();
        assert_eq!(link::decode(&link::encode(&scenario)).scenario, scenario);
    }
}
