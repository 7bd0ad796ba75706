//! Activations against sequence length.

use bmax::course::length::{Parts, crossover, crossover_of, parts_at};
use bmax::{AttentionKernel, Bytes, Choice, Method, Recomputation};

use crate::site::plot::{Axis, Mark, Plot, Series};
use crate::site::{Live, State, format, mount_live};

/// Steps of the slider in each doubling of the length, from 2⁷ to 2¹⁷ tokens.
const STEPS: u32 = 4;

/// Mounts the figures of this section.
pub fn mount(state: State) {
    mount_live("activations", state, draw);
}

/// The length at a place of the slider, in whole tokens.
fn tokens(place: u32) -> u32 {
    (f64::from(place) / f64::from(STEPS) * core::f64::consts::LN_2).exp().round() as u32
}

fn draw(live: &Live) {
    let mut scenario = live.facts(|facts| facts.scenario);
    if let Some(policy) = Recomputation::from_key(&live.word("policy")) {
        scenario.recipe.recomputation = policy;
    }
    let own = f64::from(scenario.recipe.sequence);
    let place = live.number("at") as u32;
    let at = |kernel, tokens| {
        let mut with = scenario;
        with.recipe.attention = kernel;
        parts_at(&with, tokens)
    };
    // Half a decade of room below the lowest curve that always has one; what is lower is left out.
    let low = at(AttentionKernel::Flash, tokens(7 * STEPS)).total().gib() / 5.0;
    let mut lines: [Vec<(f64, f64)>; 4] = Default::default();
    let mut rows = Vec::new();
    let mut read = (Parts::default(), Bytes::ZERO);
    for step in 7 * STEPS..=17 * STEPS {
        let length = tokens(step);
        let eager = at(AttentionKernel::Eager, length);
        let flash = at(AttentionKernel::Flash, length).total();
        let values = [eager.linear, eager.quadratic, eager.total(), flash];
        for (line, bytes) in lines.iter_mut().zip(values) {
            line.push((length.into(), if bytes.gib() >= low { bytes.gib() } else { f64::NAN }));
        }
        if step % STEPS == 0 {
            let mut row = vec![format::count(length)];
            row.extend(values.map(|bytes| format::digits(bytes.gib(), 2)));
            rows.push(row);
        }
        if step == place {
            read = (eager, flash);
        }
    }
    let (eager, flash) = read;
    let length = tokens(place);
    let mut stored = scenario;
    stored.recipe.attention = AttentionKernel::Eager;
    stored.recipe.sequence = length;
    let cross = crossover_of(&stored);
    for (case, shown) in [
        ("case-cross", cross.is_some()),
        ("case-linear", cross.is_none()),
        ("case-method", scenario.method != Method::Ledger),
    ] {
        live.show(case, shown);
    }
    let (count, all) = (format::count(length), format::memory(eager.total()));
    live.control_attr("at", "aria-valuetext", &(count.clone() + " tokens: " + &all));
    for (output, text) in [
        ("tokens", count),
        ("eager", all),
        ("linear", format::memory(eager.linear)),
        ("quadratic", format::memory(eager.quadratic)),
        ("share", format::percent(eager.share())),
        ("flash", format::memory(flash)),
        ("cross", format::digits(cross.unwrap_or(0.0), 0)),
        ("paper", format::digits(crossover(&scenario.model), 0)),
    ] {
        live.text(output, &text);
    }

    let high = lines[2].last().map_or(1.0, |end| end.1);
    let mut marks = vec![Mark::named(own, "mark-soft", "your S".to_owned()), Mark::at(length.into(), "mark")];
    if let Some(cross) = cross {
        marks.push(Mark::named(cross, "mark-soft length-cross", "equal".to_owned()));
    }
    let [linear, quadratic, all, tiled] = lines;
    live.plot(
        "lengths",
        &Plot {
            x: Axis::powers_of_two(128.0, 131_072.0, "tokens S"),
            y: Axis::log(low, high * 3.0, "activations, GiB"),
            series: vec![
                Series::line("series-own", tiled),
                Series::line("bucket-activations", all),
                Series::line("series-1 is-dashed", linear),
                Series::line("series-3 is-dashed", quadratic),
            ],
            marks,
        },
    );
    live.rows("lengths", rows);
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::Scenario;

    #[test]
    fn the_slider_stands_on_every_power_of_two() {
        for power in 7..=17 {
            assert_eq!(tokens(power * STEPS), 1 << power);
        }
    }

    #[test]
    fn the_text_prints_the_numbers_of_the_default() {
        let text = include_str!("prose.html");
        let mut scenario = Scenario::default();
        scenario.recipe.recomputation = Recomputation::None;
        let flash = parts_at(&scenario, 8_192).total();
        scenario.recipe.attention = AttentionKernel::Eager;
        let eager = parts_at(&scenario, 8_192);
        for bytes in [eager.total(), eager.quadratic, flash] {
            let number = bmax::number::fixed(bytes.gib(), 0);
            assert!(text.contains(&number), "the text should print “{number}”");
        }
    }
}
