//! Bytes per parameter by training regime.

use bmax::course::formats::Regime;
use bmax::{Bucket, Bytes, Choice, GradientType, Precision, Scenario, b_max, estimate, number};

use crate::site::{Live, State, format, mount_pressed};

/// The rows of the table.
const ROWS: [(Precision, GradientType); 6] = [
    (Precision::Fp32, GradientType::Half),
    (Precision::Autocast, GradientType::Half),
    (Precision::Bf16, GradientType::Half),
    (Precision::Bf16, GradientType::Full),
    (Precision::Fp16, GradientType::Full),
    (Precision::PureBf16, GradientType::Half),
];

pub(super) fn mount(state: State) {
    mount_pressed("regimes", state, draw, press);
}

fn in_regime(mut scenario: Scenario, (precision, gradients): (Precision, GradientType)) -> Scenario {
    (scenario.recipe.precision, scenario.recipe.gradients) = (precision, gradients);
    scenario
}

fn press(live: &Live, word: &str) {
    let (precision, gradients) = word.split_once(':').unwrap_or((word, ""));
    let Some(precision) = Precision::from_key(precision) else { return };
    let gradients = GradientType::from_key(gradients).unwrap_or(GradientType::Half);
    live.state().change(|scenario| in_regime(scenario, (precision, gradients)));
    live.text("done", precision.option().effect);
}

fn draw(live: &Live) {
    let scenario = live.facts(|facts| facts.scenario);
    let parameters = scenario.model.parameters as f64;
    live.text("parameters", &number::grouped(parameters));
    let own = Regime::of(scenario.recipe.precision, scenario.recipe.gradients);
    let single = |precision| precision == Precision::Fp32;
    let mut kept = [0.0; ROWS.len()];
    for (row, (regime, kept)) in ROWS.into_iter().zip(&mut kept).enumerate() {
        let with = in_regime(scenario, regime);
        let bytes = Regime::of(regime.0, regime.1);
        let row = number::fixed(row as f64, 0);
        let cell = |name: &str, text: &str| live.text(&[name, &row].concat(), text);
        *kept = estimate(&with).bucket(Bucket::Activations).get();
        for (name, size) in [
            ("weights-", bytes.weights * parameters),
            ("gradients-", bytes.gradients * parameters),
            ("master-", bytes.master * parameters),
            ("moments-", 2.0 * bytes.moment * parameters),
            ("sum-", bytes.with_adam() * parameters),
            ("activations-", *kept),
        ] {
            cell(name, &gib(Bytes::new(size)));
        }
        cell("batch-", &format::answer(&b_max(&with)));
        let is_own = own == bytes && single(scenario.recipe.precision) == single(regime.0);
        live.class(&["row-", &row].concat(), "is-own", is_own);
    }
    live.text("ratio", &format::percent(if kept[0] > 0.0 { kept[2] / kept[0] } else { 0.0 }));
}

/// GiB without the unit, which stands above the table.
fn gib(bytes: Bytes) -> String {
    format::digits(bytes.gib(), if bytes.gib() < 10.0 { 2 } else { 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_prints_the_bytes_and_sizes_of_7b() {
        let text = include_str!("prose.html");
        for ((precision, gradients), size) in
            ROWS.into_iter().zip(["104 GiB", "104 GiB", "104 GiB", "117 GiB", "130 GiB", "52.2 GiB"])
        {
            let regime = Regime::of(precision, gradients);
            let parts = [regime.weights, regime.gradients, regime.master, 2.0 * regime.moment].map(number::plain);
            assert!(text.contains(&format!("<span class=\"visually-hidden\">{}</span>", parts.join(" + "))));
            let gib = 7e9 * regime.with_adam() / 1_073_741_824.0;
            let digits = if size.contains('.') { 1 } else { 0 };
            assert_eq!(format!("{} GiB", number::fixed(gib, digits)), size);
            assert!(text.contains(size));
        }
    }
}
