//! What the figure shows: the shapes of one linear layer and their sizes.

use super::drawing::{self, Equation};
use super::layer::{Layer, size};
use crate::site::{Facts, format};

/// Whose layer is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// One of the reader's model.
    Own,
    /// The one of the text.
    Worked,
}

/// The batches of the first rows of the table; the last row is of the chosen one.
const BATCHES: [u32; 3] = [1, 4, 8];

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The drawing in two sentences.
    pub alternative: String,
    /// The drawing.
    pub equation: Equation,
    /// The shape of the input.
    pub input_shape: String,
    /// Its size.
    pub input: String,
    /// The shape of the weights.
    pub weights_shape: String,
    /// The size of the weights and all that has their shape.
    pub together: String,
    /// A batch, then the sizes of the input, the weights, their gradient and Adam's averages.
    pub rows: Vec<[String; 5]>,
    /// Bytes of an element of the input.
    pub element: String,
}

impl Shown {
    /// What these facts show of this layer.
    pub fn of(facts: &Facts, width: Width) -> Self {
        let layer = match width {
            Width::Own => Layer::of(&facts.scenario),
            Width::Worked => Layer::WORKED,
        };
        let batch = facts.scenario.recipe.batch;
        let [b, s, h] = [batch, layer.sequence, layer.hidden].map(format::count);
        let row = |name: String, batch: u32| {
            let sizes = [layer.input(batch), layer.weights(), layer.gradient(), layer.moments()];
            let [input, weights, gradient, moments] = sizes.map(size);
            [name, input, weights, gradient, moments]
        };
        let rows = BATCHES.map(|batch| row(format::count(batch), batch)).into_iter();
        Self {
            alternative: drawing::sentence(layer, batch),
            equation: Equation::of(batch),
            input_shape: format!("[{b}, {s}, {h}]"),
            input: size(layer.input(batch)),
            weights_shape: format!("[{h}, {h}]"),
            together: size(layer.weights() + layer.gradient() + layer.moments()),
            rows: rows.chain([row(format!("{b} (now)"), batch)]).collect(),
            element: format::count(layer.element_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use crate::site::facts_of;
    use bmax::Scenario;
    use proptest::prelude::*;

    #[test]
    fn the_worked_layer_stores_16_64_and_128_mib_while_its_weights_stay_at_256() {
        for (batch, input) in [(1, "16 MiB"), (4, "64 MiB"), (8, "128 MiB")] {
            let shown = Shown::of(&facts_of(Scenario::workshop().with_batch(batch)), Width::Worked);
            assert_eq!((shown.input.as_str(), shown.together.as_str()), (input, "256 MiB"));
            assert_eq!(shown.input_shape, format!("[{batch}, 2,048, 4,096]"));
            assert_eq!(shown.rows.last().map(|row| row[1].as_str()), Some(input));
        }
        let shown = Shown::of(&facts_of(Scenario::workshop()), Width::Worked);
        let inputs: Vec<&str> = shown.rows.iter().take(3).map(|row| row[1].as_str()).collect();
        assert_eq!(inputs, ["16 MiB", "64 MiB", "128 MiB"]);
        assert!(shown.rows.iter().all(|row| row[2..] == ["64 MiB", "64 MiB", "128 MiB"]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_has_shapes_and_sizes(scenario in any_scenario()) {
            let facts = facts_of(scenario);
            for width in [Width::Own, Width::Worked] {
                let shown = Shown::of(&facts, width);
                texts_are_sound(&shown);
                prop_assert_eq!(&shown.rows[3][1], &shown.input);
            }
        }
    }
}
