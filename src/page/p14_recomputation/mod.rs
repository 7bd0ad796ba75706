//! Recomputation trades time for memory.

use bmax::course::recomputing::{best, curve, discard_all, layer, layers_worth, policies, smooth_best};
use bmax::{Bytes, Choice, Recomputation, Scenario};

use crate::site::plot::{Axis, Mark, Plot, Series};
use crate::site::{Live, State, format, mount_pressed};

/// The colours of the policies, in the order of [`Recomputation::ALL`].
const DOTS: [&str; 5] = ["series-1", "series-2", "series-3", "series-4", "series-own"];

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
        if policy == Recomputation::EveryK {
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
    let most = policies
        .iter()
        .fold(Bytes::ZERO, |most, policy| if policy.activations > most { policy.activations } else { most });
    let mut dots = Vec::with_capacity(5);
    let mut own = 0.0;
    for (policy, dot) in policies.iter().zip(DOTS) {
        let key = policy.recomputation.key();
        let cell = |name: &str, text: &str| live.text(&(name.to_owned() + key), text);
        let is_own = policy.recomputation == scenario.recipe.recomputation;
        cell("kept-", &format::memory(policy.activations));
        cell("saved-", &format::percent(1.0 - policy.activations.share_of(most)));
        cell("extra-", &tenths(policy.extra));
        cell("batch-", &policy.batch.map_or_else(|| "none fits".to_owned(), format::count));
        live.class(&("row-".to_owned() + key), "is-own", is_own);
        if is_own {
            own = policy.extra * 100.0;
        }
        dots.push(Series::dots(dot, vec![(policy.extra * 100.0, policy.activations.gib())]));
    }
    live.text("discard", &format::percent(discard_all(layers)));
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
    let (count, every) = (curve.len() as u32, scenario.recipe.every.min(curve.len() as u32));
    live.set_range("k", 1.0, count.into());
    let at = |every: u32| curve.get(every as usize - 1).copied().unwrap_or(Bytes::ZERO);
    let (best, root) = (best(&curve), f64::from(layers).sqrt());
    let worth = |every| format::digits(layers_worth(layers, every), 1);
    let exact = format::memory(at(every));
    live.text("k-row", &format::count(every));
    live.text("chosen", &format::count(every));
    live.text("worth", &worth(every));
    live.text("kept", &exact);
    live.text("root", &format::digits(root, 1));
    live.text("best", &format::count(best));
    live.text("least", &format::memory(at(best)));
    live.control_attr("k", "aria-valuetext", &format!("{every}: {exact}"));
    let sizes = layer(&scenario);
    live.show("case-layer", sizes.is_some());
    live.show("case-best", sizes.is_some());
    live.show("case-flat", sizes.is_none());
    if let Some(layer) = sizes {
        live.text("ratio", &format::digits(layer.inside.get() / layer.input.get().max(1.0), 0));
        live.text("inside", &format::memory(layer.inside));
        live.text("input", &format::memory(layer.input));
        live.text("smooth", &format::digits(smooth_best(layers, layer), 1));
    }
    let mut worths = Vec::new();
    let mut sizes = Vec::new();
    let mut rows = Vec::new();
    for every in 1..=count {
        worths.push((every.into(), layers_worth(layers, every)));
        sizes.push((every.into(), at(every).gib()));
        rows.push(vec![format::count(every), worth(every), format::digits(at(every).gib(), 2)]);
    }
    let chosen = f64::from(every);
    let plot = |name, class, points: Vec<(f64, f64)>, label, lowest: f64, words: String| {
        let top = points.iter().fold(0.0, |top: f64, point| top.max(point.1));
        let read = points.iter().filter(|point| point.0 == chosen).copied().collect();
        live.plot(
            name,
            &Plot {
                x: Axis::linear(1.0, f64::from(count), "layers per checkpoint K"),
                y: Axis::linear(0.0, top * 1.15, label),
                series: vec![Series::line(class, points), Series::dots(class, read)],
                marks: vec![Mark::at(chosen, "mark-soft"), Mark::named(lowest, "mark", words)],
            },
        );
    };
    plot("lecture", "series-3", worths, "layers", root, format!("√L = {}", format::digits(root, 1)));
    plot("exact", "bucket-activations", sizes, "GiB", best.into(), format!("best K = {best}"));
    live.rows("every", rows);
}

/// A share in percent with a tenth.
fn tenths(share: f64) -> String {
    format::digits(share * 100.0, 1) + " %"
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::course::recomputing::activations;
    use bmax::estimate;

    #[test]
    fn the_text_prints_the_numbers_of_the_default() {
        let text = include_str!("prose.html");
        let scenario = Scenario::default();
        let curve = curve(&scenario);
        let kept = policies(&scenario);
        let mut numbers = vec![format::memory(kept[0].activations), format::memory(kept[4].activations)];
        assert_eq!(kept[0].activations, kept[1].activations);
        assert_eq!(best(&curve), 2);
        numbers.push(format::memory(curve[1]));
        numbers.push(format::digits(curve[5].gib(), 2));
        for number in numbers {
            assert!(text.contains(&number), "the text should print “{number}”");
        }
        assert_eq!(activations(&estimate(&scenario)), kept[1].activations);
    }
}
