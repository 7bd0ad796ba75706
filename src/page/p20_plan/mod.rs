//! A tuning plan.

use bmax::course::tuning::{Job, Tuning, alone, gpus_for, job, tune};
use bmax::{Change, Choice, Recomputation, Rung, Scenario, Word, link, number};

use crate::page::speeds::assumed;
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

/// What a candidate does, in a few words.
fn name(rung: &Rung) -> String {
    let (kind, label) = match rung.measure {
        Some(Change::Word(Word::Recomputation(Recomputation::EveryK))) => ("Recompute: segments of 2 layers", ""),
        Some(Change::Word(Word::Recomputation(recomputation))) => ("Recompute: ", recomputation.label()),
        Some(Change::Word(Word::Offload(offload))) => ("Recompute fully, and on the host: ", offload.label()),
        _ => ("Accumulation alone", ""),
    };
    kind.to_owned() + label
}

/// B = b · D · steps.
fn equation(rung: &Rung) -> String {
    let Some(plan) = rung.accumulation else { return "–".to_owned() };
    let [b, d, steps] = [plan.micro_batch, plan.data_parallel, plan.steps].map(format::count);
    number::grouped(plan.global_batch() as f64) + " = " + &b + " · " + &d + " · " + &steps
}

/// The words of a candidate's result: its largest micro-batch, extra work, waiting, an update and the run.
fn results(rung: &Rung, tokens: f64) -> Option<([String; 5], Job)> {
    let (cost, job) = (rung.cost?, job(rung, tokens)?);
    let [stall, update, run] = [job.stall, job.update.seconds, job.update.run_seconds()].map(format::duration);
    let most = format::count(rung.b_max.unwrap_or(0));
    Some(([most, format::digits(cost.extra * 100.0, 1) + " %", stall, update, run], job))
}

/// Writes several outputs, whose names stand one after another.
fn texts<const N: usize>(live: &Live, names: &str, texts: [String; N]) {
    for (name, text) in names.split(' ').zip(&texts) {
        live.text(name, text);
    }
}

fn draw(live: &Live) {
    let scenario = live.facts(|facts| facts.scenario);
    let tokens = read(live, "tokens", 0.001, DEFAULTS[0]) * 1e9;
    let allowed = read(live, "hours", 0.01, DEFAULTS[1]) * 3_600.0;
    assumed(live, &scenario);
    let [asked, other] = asked(live, &scenario);
    let tuning = tune(&asked);
    first_steps(live, &asked, &tuning);

    let chosen = tuning.chosen.map(|position| &tuning.candidates[position]);
    let taken = match chosen.map(|rung| rung.measure) {
        Some(None) => "accumulate skip",
        Some(Some(Change::Word(Word::Recomputation(_)))) => "recompute skip",
        Some(_) => "swap host",
        None => "none host",
    };
    let mut time = "none";
    if let Some(rung) = chosen
        && let Some(([most, extra, stall, update, run], job)) = results(rung, tokens)
    {
        let seconds = job.update.run_seconds();
        time = if seconds > allowed { "late" } else { "ok" };
        texts(
            live,
            "plan with batch extra stall update run updates allowed factor enough",
            [
                equation(rung),
                name(rung),
                most,
                extra,
                stall,
                update,
                run,
                number::grouped(job.update.updates.ceil()),
                format::duration(allowed),
                format::times(seconds / allowed),
                number::grouped(gpus_for(seconds, allowed, asked.cluster.gpus)),
            ],
        );
    }
    if let Some(reason) = tuning.lacking {
        texts(
            live,
            "over none-instant none-largest fewest",
            [
                format::memory(reason.over),
                reason.instant.name.to_owned(),
                reason.largest.name.to_owned(),
                reason.fewest_gpus.map_or_else(|| "no number of".to_owned(), format::count),
            ],
        );
    }
    for (attribute, word) in
        [("data-devices", live.word("devices").as_str()), ("data-taken", taken), ("data-time", time)]
    {
        live.attr("state", attribute, word);
    }
    live.rows("candidates", tuning.candidates.iter().map(|rung| row(rung, tokens)).collect());
    live.text("other", &summary(&other, tokens));
}

/// The target, the first try and the halving.
fn first_steps(live: &Live, asked: &Scenario, tuning: &Tuning) {
    let (Some(first), Some(last)) = (tuning.tries.first(), tuning.tries.last()) else { return };
    let mut tries = String::new();
    for one in &tuning.tries {
        tries += if tries.is_empty() { "" } else { " → " };
        tries += &(format::count(one.batch) + " (" + &format::gib(one.peak) + ")");
    }
    let (instant, largest) = &tuning.binding;
    texts(
        live,
        "target target-tokens share direct usable instant largest tries exact",
        [
            format::count(tuning.target),
            number::grouped(f64::from(tuning.target) * f64::from(asked.recipe.sequence)),
            format::count(tuning.share),
            format::gib(first.peak),
            format::gib(asked.usable()),
            instant.name.to_owned(),
            largest.name.to_owned(),
            tries,
            format::count(tuning.candidates.first().and_then(|rung| rung.b_max).unwrap_or(0)),
        ],
    );
    let word = match (first.fits, last.fits) {
        (true, _) => "fits",
        (_, true) => "halved",
        _ => "over",
    };
    live.attr("state", "data-first", word);
}

/// A candidate as a row of the table.
fn row(rung: &Rung, tokens: f64) -> Vec<String> {
    let none = || ["none fits", "–", "–", "–", "–"].map(str::to_owned);
    let mut cells = vec![name(rung), equation(rung)];
    cells.extend(results(rung, tokens).map_or_else(none, |(texts, _)| texts));
    cells
}

/// The outcome on the other number of devices, in a few words.
fn summary(scenario: &Scenario, tokens: f64) -> String {
    let tuning = tune(scenario);
    let chosen = tuning.chosen.map(|position| &tuning.candidates[position]);
    match chosen.and_then(|rung| results(rung, tokens).map(|(texts, _)| (rung, texts))) {
        Some((rung, [.., run])) => equation(rung) + "; " + &name(rung) + "; " + &run,
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
