//! What the figure shows: the states of every training regime, and what it leaves for the batch.

use bmax::course::formats::Regime;
use bmax::setting::Word;
use bmax::{Bucket, Bytes, Change, GradientType, Method, Precision, Scenario, b_max, estimate, number};

use crate::site::format;

/// A training regime as the table names it.
pub struct Row {
    /// The element type of the passes and of the states.
    pub precision: Precision,
    /// That of the gradients' sums.
    pub gradients: GradientType,
    /// What it is called.
    pub name: &'static str,
    /// What else to know of it.
    pub aside: &'static str,
}

/// The rows of the table.
pub static ROWS: [Row; 6] = [
    Row { precision: Precision::Fp32, gradients: GradientType::Half, name: "fp32", aside: "everything in 4 bytes" },
    Row {
        precision: Precision::Autocast,
        gradients: GradientType::Half,
        name: "fp32 weights, 16-bit compute",
        aside: "FSDP’s mixed precision, or autocast, which adds 2 bytes for a 16-bit copy of every matrix; with recomputed layers only until the forward pass ends",
    },
    Row {
        precision: Precision::Bf16,
        gradients: GradientType::Half,
        name: "16-bit weights and gradients",
        aside: "bf16 or fp16 with an fp32 master copy",
    },
    Row {
        precision: Precision::Bf16,
        gradients: GradientType::Full,
        name: "bf16, gradients in fp32",
        aside: "Megatron-LM’s default for bf16",
    },
    Row {
        precision: Precision::Fp16,
        gradients: GradientType::Full,
        name: "fp16, gradients in both",
        aside: "fp16 gradients, and the fp32 sums beside them",
    },
    Row {
        precision: Precision::PureBf16,
        gradients: GradientType::Half,
        name: "pure bf16",
        aside: "Adam’s moments as well, and no master copy",
    },
];

impl Row {
    /// Its bytes per parameter: weights, gradients, master copy, both moments.
    pub fn bytes(&self) -> [f64; 4] {
        let Regime { weights, gradients, master, moment } = self.regime();
        [weights, gradients, master, 2.0 * moment]
    }

    /// All of them.
    pub fn sum(&self) -> f64 {
        self.regime().with_adam()
    }

    /// The scenario in this regime: where its precision does not go with the engine, in the one that does and has the same
    /// bytes, as FSDP's own mixed precision has in the place of autocast.
    pub fn applied_to(&self, mut scenario: Scenario) -> Scenario {
        (scenario.recipe.precision, scenario.recipe.gradients) = (self.precision, self.gradients);
        let (mended, changes) = scenario.mended();
        let is_regime = || Regime::of(mended.recipe.precision, mended.recipe.gradients) == self.regime();
        match changes[..] {
            [Change::Word(Word::Precision(_))] if is_regime() => mended,
            _ => scenario,
        }
    }

    fn regime(&self) -> Regime {
        Regime::of(self.precision, self.gradients)
    }

    /// Whether a scenario is in this regime: its states have as many bytes, and its passes as wide numbers.
    fn holds_in(&self, scenario: &Scenario) -> bool {
        let single = |precision| precision == Precision::Fp32;
        let recipe = &scenario.recipe;
        Regime::of(recipe.precision, recipe.gradients) == self.regime()
            && single(recipe.precision) == single(self.precision)
    }
}

/// The columns of numbers: the name that tests find a cell by, and what a phone writes before it.
pub const COLUMNS: [(&str, &str); 7] = [
    ("weights", "Weights"),
    ("gradients", "Gradients"),
    ("master", "Master"),
    ("moments", "m + v"),
    ("sum", "All states"),
    ("activations", "Activations"),
    ("batch", "Largest batch"),
];

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The model's parameters.
    pub parameters: String,
    /// Activations with 16-bit weights, as a part of those in fp32.
    pub ratio: String,
    /// The numbers of each of [`ROWS`], in the order of [`COLUMNS`].
    pub cells: [[String; COLUMNS.len()]; ROWS.len()],
    /// Which rows are the configuration's own.
    pub own: [bool; ROWS.len()],
}

impl Shown {
    /// What this scenario shows.
    pub fn of(scenario: &Scenario) -> Self {
        let kept = |row: &Row| estimate(&row.applied_to(*scenario)).bucket(Bucket::Activations);
        // The number that the method in use counts with: the ledger has that of the matrices.
        let parameters = match scenario.method {
            Method::Ledger => scenario.model.derived_parameters(),
            Method::Workshop | Method::Paper => scenario.model.parameters,
        };
        let parameters = parameters as f64;
        Self {
            parameters: number::grouped(parameters),
            ratio: format::percent(kept(&ROWS[2]).share_of(kept(&ROWS[0]))),
            cells: ROWS.each_ref().map(|row| {
                let [weights, gradients, master, moments] = row.bytes().map(|bytes| gib(bytes * parameters));
                let most = format::answer(&b_max(&row.applied_to(*scenario)));
                [weights, gradients, master, moments, gib(row.sum() * parameters), gib(kept(row).get()), most]
            }),
            own: ROWS.each_ref().map(|row| row.holds_in(scenario)),
        }
    }
}

/// GiB without the unit, which stands above the table.
fn gib(bytes: f64) -> String {
    let gib = Bytes::new(bytes).gib();
    format::digits(gib, if gib < 10.0 { 2 } else { 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use proptest::prelude::*;

    /// Bytes: Rajbhandari et al. 2020 and the table of Megatron Core's distributed optimizer; 7 billion
    /// parameters times their sum, over 2^30.
    #[test]
    fn seven_billion_parameters_have_the_published_bytes_and_their_sizes() {
        let published = [
            ([4.0, 4.0, 0.0, 8.0], "104.3"),
            ([4.0, 4.0, 0.0, 8.0], "104.3"),
            ([2.0, 2.0, 4.0, 8.0], "104.3"),
            ([2.0, 4.0, 4.0, 8.0], "117.3"),
            ([2.0, 6.0, 4.0, 8.0], "130.4"),
            ([2.0, 2.0, 0.0, 4.0], "52.2"),
        ];
        let shown = Shown::of(&Scenario { method: Method::Workshop, ..Scenario::workshop() });
        for ((row, cells), (bytes, size)) in ROWS.iter().zip(&shown.cells).zip(published) {
            assert_eq!(row.bytes(), bytes, "{}", row.name);
            assert_eq!(cells[4], size, "{}", row.name);
        }
        assert_eq!(shown.parameters, "7,000,000,000");
    }

    /// 32 layers of 12·4096² weights with 13·4096 of biases and norms, an embedding of 32,000 words and a last norm: the
    /// model that the ledger answers for beside the table.
    #[test]
    fn beside_an_answer_of_the_ledger_the_states_are_of_the_weights_that_it_counts() {
        let shown = Shown::of(&Scenario::workshop());
        assert_eq!(shown.parameters, number::grouped(Scenario::workshop().model.derived_parameters() as f64));
        assert!(shown.parameters.starts_with("6,5"), "{}", shown.parameters);
    }

    #[test]
    fn a_regime_that_is_used_is_marked_as_the_reader_s_own() {
        for (at, row) in ROWS.iter().enumerate() {
            assert!(Shown::of(&row.applied_to(Scenario::workshop())).own[at], "{}", row.name);
        }
    }

    /// Autocast keeps its casts until the forward pass ends, FSDP's mixed precision does not; both have 16 bytes for a
    /// parameter with Adam.
    #[test]
    fn under_fsdp_fp32_weights_with_16_bit_compute_are_its_own_mixed_precision() {
        let shown = Shown::of(&Scenario::workshop());
        assert_eq!(ROWS[1].applied_to(Scenario::workshop()).recipe.precision, Precision::Mixed);
        assert!(shown.cells.iter().all(|row| !row[6].contains("conflict")), "{:?}", shown.cells);
    }

    #[test]
    fn activations_in_16_bits_are_half_of_those_in_fp32_but_for_what_a_recipe_leaves_in_fp32() {
        let shown = Shown::of(&Scenario::workshop());
        let percent: f64 = shown.ratio.trim_end_matches(" %").parse().expect("a number");
        assert!((50.0..70.0).contains(&percent), "{percent}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_has_a_number_in_every_cell(scenario in any_scenario()) {
            texts_are_sound(&Shown::of(&scenario));
        }
    }
}
