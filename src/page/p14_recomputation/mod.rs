//! Recomputation trades time for memory.

use bmax::course::recomputing::{Layer, best, curve, discard_all, layer, layers_worth, policies, smooth_best};
use bmax::{Bytes, Choice, Recomputation, Scenario};

use crate::site::plot::{Axis, Mark, Plot, Series};
use crate::site::{Live, State, format, mount_pressed};

/// The dots of the policies, in the order of [`Recomputation::ALL`]: hollow where only some layers are
/// computed again.
const DOTS: [&str; Recomputation::ALL.len()] =
    ["series-1", "series-2", "series-3", "series-4", "series-2 is-hollow", "series-4 is-hollow", "series-own"];

/// Mounts the figures of this section.
pub fn mount(state: State) {
    mount_pressed("recompute", state, draw, press);
}

/// The scenario with the K of the slider.
fn shown(live: &Live) -> Scenario {
    let mut scenario = live.facts(|facts| facts.scenario);
    scenario.recipe.every = live.number("k").max(1.0) as u32;
    scenario
}

/// Applies a policy, with the K of the slider or the best one.
fn press(live: &Live, word: &str) {
    let with = shown(live);
    let (policy, every) = match Recomputation::from_key(word) {
        Some(policy) => (policy, with.recipe.every),
        None => (Recomputation::EveryK, best(&curve(&with))),
    };
    live.set_number("k", every.into());
    live.state().change(|mut scenario| {
        scenario.recipe.recomputation = policy;
        if matches!(policy, Recomputation::EveryK | Recomputation::KthLayer) {
            scenario.recipe.every = every;
        }
        scenario
    });
    live.text("done", policy.option().effect);
}

fn draw(live: &Live) {
    let scenario = shown(live);
    let layers = scenario.model.layers;
    let policies = policies(&scenario);
    // Nothing keeps more than keeping everything, which comes first.
    let most = policies.first().map_or(Bytes::ZERO, |policy| policy.activations);
    let mut dots = Vec::with_capacity(DOTS.len());
    let mut own = 0.0;
    for (policy, dot) in policies.iter().zip(DOTS) {
        let key = policy.recomputation.key();
        let is_own = policy.recomputation == scenario.recipe.recomputation;
        let extra = policy.extra * 100.0;
        for (name, text) in [
            ("kept-", format::memory(policy.activations)),
            ("saved-", format::percent(1.0 - policy.activations.share_of(most))),
            ("extra-", format::digits(extra, 1) + " %"),
            ("batch-", policy.batch.map_or_else(|| "none fits".to_owned(), format::count)),
        ] {
            live.text(&(name.to_owned() + key), &text);
        }
        live.class(&("row-".to_owned() + key), "is-own", is_own);
        if is_own {
            own = extra;
        }
        dots.push(Series::dots(dot, vec![(extra, policy.activations.gib())]));
    }
    live.plot(
        "trade",
        &Plot {
            x: Axis::linear(-1.0, 40.0, "extra FLOPs, %"),
            y: Axis::linear(0.0, most.gib() * 1.15, "activations, GiB"),
            series: dots,
            marks: vec![Mark::named(own, "mark-soft", "yours".to_owned())],
        },
    );

    let curve = curve(&scenario);
    let (count, best) = (curve.len() as u32, best(&curve));
    let every = scenario.recipe.every.min(count);
    live.set_range("k", 1.0, count.into());
    let mut worths = Vec::new();
    let mut sizes = Vec::new();
    let mut rows = Vec::new();
    for (at, bytes) in (1..).zip(&curve) {
        let worth = layers_worth(layers, at);
        worths.push((at.into(), worth));
        sizes.push((at.into(), bytes.gib()));
        rows.push(vec![format::count(at), format::digits(worth, 1), format::digits(bytes.gib(), 2)]);
    }
    live.rows("every", rows);
    let root = f64::from(layers).sqrt();
    let at = |every: u32| format::memory(curve.get(every as usize - 1).copied().unwrap_or(Bytes::ZERO));
    let inside = layer(&scenario);
    for (case, shown) in
        [("case-layer", inside.is_some()), ("case-best", inside.is_some()), ("case-flat", inside.is_none())]
    {
        live.show(case, shown);
    }
    let unknown = Layer { input: Bytes::ZERO, inside: Bytes::ZERO };
    let inside = inside.unwrap_or(unknown);
    let (best_words, root_words) = (format::count(best), format::digits(root, 1));
    live.control_attr("k", "aria-valuetext", &(format::count(every) + ": " + &at(every)));
    for (output, text) in [
        ("discard", format::percent(discard_all(layers))),
        ("k-row", format::count(every)),
        ("kth-row", format::count(every)),
        ("n-row", format::count(scenario.recipe.recomputed_layers)),
        ("chosen", format::count(every)),
        ("worth", format::digits(layers_worth(layers, every), 1)),
        ("kept", at(every)),
        ("least", at(best)),
        ("ratio", format::digits(inside.inside.get() / inside.input.get().max(1.0), 0)),
        ("inside", format::memory(inside.inside)),
        ("input", format::memory(inside.input)),
        ("smooth", format::digits(smooth_best(layers, inside), 1)),
    ] {
        live.text(output, &text);
    }
    live.text("best", &best_words);
    live.text("root", &root_words);
    for (name, class, points, label, lowest, words) in [
        ("lecture", "series-3", worths, "layers", root, "√L = ".to_owned() + &root_words),
        ("exact", "bucket-activations", sizes, "GiB", best.into(), "best K = ".to_owned() + &best_words),
    ] {
        let mut top = 0.0;
        let mut read = Vec::new();
        for &(x, y) in &points {
            top = if y > top { y } else { top };
            if x == f64::from(every) {
                read.push((x, y));
            }
        }
        live.plot(
            name,
            &Plot {
                x: Axis::linear(1.0, count.into(), "layers per checkpoint K"),
                y: Axis::linear(0.0, top * 1.15, label),
                series: vec![Series::line(class, points), Series::dots(class, read)],
                marks: vec![Mark::at(every.into(), "mark-soft"), Mark::named(lowest, "mark", words)],
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::course::recomputing::activations;
    use bmax::estimate;

    #[test]
    fn every_policy_has_a_row() {
        for policy in Recomputation::OPTIONS {
            let row = format!("<tr data-out=\"row-{}\">", policy.key);
            assert!(include_str!("prose.html").contains(&row), "{row}");
        }
    }

    #[test]
    fn the_text_prints_the_numbers_of_the_default() {
        let text = include_str!("prose.html");
        let scenario = Scenario::default();
        let curve = curve(&scenario);
        let policies = policies(&scenario);
        let kept = |kind| policies.iter().find(|policy| policy.recomputation == kind).expect("every policy");
        let [none, selective, segments, alone, full] = [
            Recomputation::None,
            Recomputation::Selective,
            Recomputation::EveryK,
            Recomputation::KthLayer,
            Recomputation::Full,
        ]
        .map(kept);
        assert_eq!(none.activations, selective.activations);
        assert_eq!((best(&curve), scenario.recipe.every), (2, 4));
        let sizes = [none.activations, full.activations, segments.activations, alone.activations, curve[1]];
        let mut numbers = sizes.map(format::memory).to_vec();
        numbers.push(format::digits(curve[5].gib(), 2));
        numbers.push(format!("for {} %", format::digits(alone.extra * 100.0, 1)));
        for number in numbers {
            assert!(text.contains(&number), "the text should print “{number}”");
        }
        assert_eq!(activations(&estimate(&scenario)), selective.activations);
    }
}
