//! Scenarios for property tests: anything that a link can ask for.

use bmax::{Field, Scenario, catalogue, setting};
use proptest::prelude::*;
use proptest::sample::select;

/// Values of one field, from its declared range, spread evenly over orders of magnitude so that
/// small numbers are as likely as large ones.
pub fn within(field: Field) -> impl Strategy<Value = f64> {
    let bound = field.bound();
    // Headroom may be zero, which has no logarithm.
    let low = bound.min.max(1e-3).ln();
    (low..=bound.max.ln()).prop_map(move |exponent| {
        let value = exponent.exp().clamp(bound.min, bound.max);
        if bound.whole { value.round().clamp(bound.min, bound.max) } else { value }
    })
}

prop_compose! {
    /// A row of each list, with some of its numbers and words changed.
    pub fn any_scenario()(
        model in 0..catalogue::MODELS.len(),
        device in 0..catalogue::DEVICES.len(),
        numbers in Field::ALL.iter().map(|field| prop::option::weighted(0.3, within(*field))).collect::<Vec<_>>(),
        words in setting::ALL.iter().map(|setting| select(setting.options)).collect::<Vec<_>>(),
        changed in prop::collection::vec(prop::bool::weighted(0.6), setting::ALL.len()),
    ) -> Scenario {
        let mut scenario = catalogue::MODELS[model].apply(Scenario::workshop());
        scenario = catalogue::DEVICES[device].apply(scenario);
        for (field, number) in Field::ALL.iter().zip(numbers) {
            if let Some(number) = number {
                scenario = scenario.with_number(*field, number).expect("the generator stays in range");
            }
        }
        for ((setting, word), _) in setting::ALL.iter().zip(words).zip(changed).filter(|(_, changed)| *changed) {
            scenario = setting.read(word.key, scenario).expect("a setting takes its own words");
        }
        scenario
    }
}
