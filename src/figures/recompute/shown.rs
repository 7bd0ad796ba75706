//! What the figure shows: every policy, and the activations for every distance of checkpoints.

use bmax::course::quoted::{
    KORTHIKANTI_SELECTIVE_SAVED, KORTHIKANTI_SELECTIVE_WORK, RULE_CHECKPOINTING_SAVED, RULE_CHECKPOINTING_WORK,
    SURVIVAL_FULL_SAVED, SURVIVAL_FULL_WORK,
};
use bmax::course::recomputing::{best, curve, discard_all, layer, layers_worth, policies, smooth_best};
use bmax::plot::{Axis, Ink, Mark, Plot, Rule, Series};
use bmax::{Bucket, Bytes, Choice, Recomputation, Scenario};

use crate::components::Column;
use crate::site::format;

/// A policy as the table names it.
pub struct Named {
    /// What is computed again.
    pub policy: Recomputation,
    /// What its button says to whoever hears it.
    pub what: &'static str,
    /// The style sheet's names for its dot.
    pub dot: &'static str,
    /// The colour of its dot in the drawing, and whether it is a ring: there only some layers are computed again.
    ink: (Ink, bool),
    /// What the sources say it saves, as markup.
    pub saved: &'static str,
    /// What the sources say it costs.
    pub extra: &'static str,
}

/// The policies, in the order of [`Recomputation::ALL`]. What the sources say: the rows of `course::quoted`, and Chen et
/// al. 2016 on segments.
pub static NAMED: [Named; Recomputation::ALL.len()] = [
    Named {
        policy: Recomputation::None,
        what: "no recomputation",
        dot: "recompute-dot series-1",
        ink: (Ink::Series1, false),
        saved: "0",
        extra: "0",
    },
    Named {
        policy: Recomputation::Selective,
        what: "selective recomputation",
        dot: "recompute-dot series-2",
        ink: (Ink::Series2, false),
        saved: KORTHIKANTI_SELECTIVE_SAVED.value,
        extra: KORTHIKANTI_SELECTIVE_WORK.value,
    },
    Named {
        policy: Recomputation::Operators,
        what: "every second product",
        dot: "recompute-dot series-3",
        ink: (Ink::Series3, false),
        saved: RULE_CHECKPOINTING_SAVED.value,
        extra: RULE_CHECKPOINTING_WORK.value,
    },
    Named {
        policy: Recomputation::EveryK,
        what: "segments of K layers",
        dot: "recompute-dot series-4",
        ink: (Ink::Series4, false),
        saved: "<math><mi>O</mi><mo>(</mo><msqrt><mi>L</mi></msqrt><mo>)</mo></math>",
        extra: "1 forward",
    },
    Named {
        policy: Recomputation::KthLayer,
        what: "every K-th layer alone",
        dot: "recompute-dot series-2 is-hollow",
        ink: (Ink::Series2, true),
        saved: "–",
        extra: "–",
    },
    Named {
        policy: Recomputation::Block,
        what: "the first layers of a stage",
        dot: "recompute-dot series-4 is-hollow",
        ink: (Ink::Series4, true),
        saved: "–",
        extra: "–",
    },
    Named {
        policy: Recomputation::Full,
        what: "full recomputation",
        dot: "recompute-dot series-own",
        ink: (Ink::Own, false),
        saved: SURVIVAL_FULL_SAVED.value,
        extra: SURVIVAL_FULL_WORK.value,
    },
];

/// The table of every K.
pub static COLUMNS: [Column; 3] =
    [Column::words("K"), Column::numbers("L / K + K, layers"), Column::numbers("Ledger, GiB")];

/// What the policies keep and cost, with checkpoints as far apart as the slider says.
#[derive(Clone, Debug, PartialEq)]
pub struct Policies {
    /// Each of [`NAMED`].
    pub rows: Vec<Row>,
    /// What discarding everything would add to the work.
    pub discard: String,
    /// Activations against extra work, a dot for each policy.
    pub plot: Plot,
}

/// One policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it is called.
    pub name: String,
    /// The number of layers that follows the name, where a letter stands for it.
    pub layers: Option<String>,
    /// Activations at their highest.
    pub kept: String,
    /// What of them is saved.
    pub saved: String,
    /// What it adds to the work.
    pub extra: String,
    /// The largest micro-batch with it.
    pub batch: String,
    /// Whether it is the configuration's own.
    pub own: bool,
}

impl Policies {
    /// The policies on this scenario, with a checkpoint every `every` layers.
    pub fn of(scenario: &Scenario, every: u32) -> Self {
        let mut scenario = *scenario;
        scenario.recipe.every = every.max(1);
        let policies = policies(&scenario);
        // Nothing keeps more than keeping everything, which comes first.
        let most = policies.first().map_or(Bytes::ZERO, |policy| policy.activations);
        let own = |policy| policy == scenario.recipe.recomputation;
        let rows = policies.iter().map(|policy| Row {
            name: name(policy.recomputation, &scenario),
            layers: (policy.recomputation == Recomputation::Block)
                .then(|| format::count(scenario.recipe.recomputed_layers)),
            kept: format::memory(policy.activations),
            saved: format::percent(1.0 - policy.activations.share_of(most)),
            extra: format::digits(policy.extra * 100.0, 1) + " %",
            batch: policy.batch.map_or_else(|| "none fits".to_owned(), format::count),
            own: own(policy.recomputation),
        });
        let dots = policies.iter().zip(&NAMED).map(|(policy, named)| {
            let place = vec![(policy.extra * 100.0, policy.activations.gib())];
            if named.ink.1 { Series::rings(named.ink.0, place) } else { Series::dots(named.ink.0, place) }
        });
        let yours = policies.iter().find(|policy| own(policy.recomputation)).map_or(0.0, |policy| policy.extra);
        Self {
            rows: rows.collect(),
            discard: format::percent(discard_all(scenario.model.layers)),
            plot: Plot {
                x: Axis::linear(-1.0, 40.0, "extra FLOPs, %"),
                y: Axis::linear(0.0, most.gib() * 1.15, "activations, GiB"),
                series: dots.collect(),
                marks: vec![Mark::named(yours * 100.0, Rule::Soft, "yours".to_owned())],
            },
        }
    }
}

/// What a policy is called, with the reader's numbers.
fn name(policy: Recomputation, scenario: &Scenario) -> String {
    let every = format::count(scenario.recipe.every);
    match policy {
        Recomputation::None => "None".to_owned(),
        Recomputation::Selective => "Selective".to_owned(),
        Recomputation::Operators => "Every 2nd product".to_owned(),
        Recomputation::EveryK => format!("Segments of {}", format::counted(scenario.recipe.every, "layer", "layers")),
        Recomputation::KthLayer => format!("One layer in {every}"),
        Recomputation::Block => "First layers, ".to_owned(),
        // What comes to the list is called what the list calls it.
        other => other.label().to_owned(),
    }
}

/// Activations for every distance of checkpoints.
#[derive(Clone, Debug, PartialEq)]
pub struct Distances {
    layers: u32,
    /// From K = 1 on.
    ledger: Vec<Bytes>,
    /// The K of the least of them.
    pub best: u32,
    /// The lecture's best, √L.
    pub root: String,
    /// The same K in words.
    pub best_text: String,
    /// What is kept with it.
    pub least: String,
    /// The sizes that decide, for a method that knows instants.
    pub inside: Option<Inside>,
    /// Every K, as a row of the table.
    pub rows: Vec<Vec<String>>,
}

/// A layer's inside against its input.
#[derive(Clone, Debug, PartialEq)]
pub struct Inside {
    /// How many times as large it is.
    pub ratio: String,
    /// What is inside.
    pub inside: String,
    /// What a checkpoint holds.
    pub input: String,
    /// The best distance with these sizes.
    pub smooth: String,
}

impl Distances {
    /// Every distance on this scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let layers = scenario.model.layers;
        let ledger = curve(scenario);
        let best = best(&ledger);
        let row = |(every, bytes): (u32, &Bytes)| {
            let worth = format::digits(layers_worth(layers, every), 1);
            vec![format::count(every), worth, format::digits(bytes.gib(), 2)]
        };
        Self {
            layers,
            best,
            root: format::digits(f64::from(layers).sqrt(), 1),
            best_text: format::count(best),
            least: format::memory(kept(&ledger, best)),
            inside: layer(scenario).map(|sizes| Inside {
                ratio: format::digits(sizes.inside.get() / sizes.input.get().max(1.0), 0),
                inside: format::memory(sizes.inside),
                input: format::memory(sizes.input),
                smooth: format::digits(smooth_best(layers, sizes), 1),
            }),
            rows: (1..).zip(&ledger).map(row).collect(),
            ledger,
        }
    }

    /// How many distances there are.
    pub fn count(&self) -> u32 {
        self.ledger.len() as u32
    }

    /// One distance read off; the largest one for what is beyond it.
    pub fn reading(&self, every: f64) -> Reading {
        let every = (every as u32).clamp(1, self.count().max(1));
        Reading {
            every,
            chosen: format::count(every),
            worth: format::digits(layers_worth(self.layers, every), 1),
            kept: format::memory(kept(&self.ledger, every)),
        }
    }

    /// The lecture's count over K.
    pub fn lecture(&self, every: u32) -> Plot {
        let root = f64::from(self.layers).sqrt();
        let worths = (1..=self.count()).map(|every| layers_worth(self.layers, every)).collect();
        self.plot(every, worths, (Ink::Series3, "layers"), root, format!("√L = {}", self.root))
    }

    /// The ledger's activations over K.
    pub fn exact(&self, every: u32) -> Plot {
        let sizes = self.ledger.iter().map(|bytes| bytes.gib()).collect();
        let ink = Ink::Bucket(Bucket::Activations);
        self.plot(every, sizes, (ink, "GiB"), self.best.into(), format!("best K = {}", self.best_text))
    }

    fn plot(&self, every: u32, values: Vec<f64>, (ink, unit): (Ink, &'static str), lowest: f64, words: String) -> Plot {
        let top = values.iter().copied().fold(0.0, f64::max);
        let points: Vec<(f64, f64)> = (1..).map(f64::from).zip(values).collect();
        let read = points.get(every as usize - 1).copied().into_iter().collect();
        Plot {
            x: Axis::linear(1.0, self.count().into(), "layers per checkpoint K"),
            y: Axis::linear(0.0, top * 1.15, unit),
            series: vec![Series::line(ink, points), Series::dots(ink, read)],
            marks: vec![Mark::at(every.into(), Rule::Soft), Mark::named(lowest, Rule::Main, words)],
        }
    }
}

fn kept(ledger: &[Bytes], every: u32) -> Bytes {
    ledger.get(every as usize - 1).copied().unwrap_or(Bytes::ZERO)
}

/// One distance of checkpoints.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The distance, at least 1.
    pub every: u32,
    /// The same in words.
    pub chosen: String,
    /// What the lecture counts, in layers.
    pub worth: String,
    /// What the ledger counts.
    pub kept: String,
}

impl Reading {
    /// The distance as it is read out at every step of the slider.
    pub fn spoken(&self) -> String {
        format!("{}: {}", self.chosen, self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, plot_is_sound, texts_are_sound};
    use bmax::course::recomputing::activations;
    use bmax::{Method, estimate};
    use proptest::prelude::*;

    fn default() -> (Policies, Distances) {
        let scenario = Scenario::workshop();
        (Policies::of(&scenario, scenario.recipe.every), Distances::of(&scenario))
    }

    #[test]
    fn every_policy_has_a_row_and_a_dot_in_the_order_of_the_library() {
        let (policies, _) = default();
        assert!(NAMED.iter().map(|named| &named.policy).eq(Recomputation::ALL));
        assert_eq!((policies.rows.len(), policies.plot.series.len()), (NAMED.len(), NAMED.len()));
        assert_eq!(policies.rows.iter().filter(|row| row.own).count(), 1);
    }

    #[test]
    fn the_text_prints_the_numbers_of_the_default() {
        let text = include_str!("../../pages/room/03_recomputation.md");
        let (policies, _) = default();
        let of = |policy| {
            let at = NAMED.iter().position(|named| named.policy == policy).expect("a row");
            &policies.rows[at]
        };
        let [none, selective] = [Recomputation::None, Recomputation::Selective].map(of);
        assert_eq!(none.kept, selective.kept);
        let scenario = Scenario::workshop();
        assert_eq!(format::memory(activations(&estimate(&scenario))), selective.kept);
        let [segments, alone] = [Recomputation::EveryK, Recomputation::KthLayer].map(of);
        assert_eq!(segments.name, "Segments of 4 layers");
        for number in [&segments.kept, &alone.kept, &format!("for {}", alone.extra)] {
            assert!(text.contains(number), "the text should print “{number}”");
        }
    }

    /// Korthikanti et al. 2022: a layer keeps at least 34 bytes for the 2 of its input, and full recomputation adds
    /// a forward pass to three.
    #[test]
    fn a_layer_is_at_least_17_of_its_inputs_so_that_the_root_is_far_too_wide() {
        let (policies, distances) = default();
        let inside = distances.inside.as_ref().expect("the ledger knows instants");
        let ratio: f64 = inside.ratio.parse().expect("a number");
        assert!(ratio >= 17.0, "{ratio}");
        assert!(distances.best <= 2 && distances.root == "5.7", "{} and {}", distances.best, distances.root);
        let full: f64 = policies.rows[6].extra.trim_end_matches(" %").parse().expect("percent");
        assert!((32.0..34.0).contains(&full), "{full}");
    }

    #[test]
    fn the_table_and_both_drawings_have_the_same_numbers() {
        let (_, distances) = default();
        let [lecture, exact] = [distances.lecture(4), distances.exact(4)];
        assert_eq!(distances.rows.len(), distances.count() as usize);
        for (at, row) in distances.rows.iter().enumerate() {
            assert_eq!(row[1], format::digits(lecture.series[0].points()[at].1, 1));
            assert_eq!(row[2], format::digits(exact.series[0].points()[at].1, 2));
        }
    }

    #[test]
    fn a_method_without_moments_knows_no_best_distance() {
        let scenario = Scenario { method: Method::Paper, ..Scenario::workshop() };
        assert_eq!(Distances::of(&scenario).inside, None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn any_scenario_has_policies_and_distances(scenario in any_scenario(), every in 0.0..300.0) {
            let distances = Distances::of(&scenario);
            let reading = distances.reading(every);
            let policies = Policies::of(&scenario, reading.every);
            texts_are_sound(&distances.rows);
            texts_are_sound(&(&policies.rows, &reading, &distances.inside));
            for plot in [&policies.plot, &distances.lecture(reading.every), &distances.exact(reading.every)] {
                plot_is_sound(plot);
            }
        }
    }
}
