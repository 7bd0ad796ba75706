//! What the figure shows: activations of one micro-batch at every length, and one length read off.

use bmax::course::length::{Parts, crossover, crossover_of, parts_at};
use bmax::plot::{Axis, Ink, Mark, Plot, Rule, Series};
use bmax::{AttentionKernel, Bytes, Method, Recomputation, Scenario};

use crate::components::Column;
use crate::site::format;

/// Steps of the slider in each doubling of the length.
pub const STEPS: u32 = 4;
/// The slider's ends, from 2⁷ to 2¹⁷ tokens.
pub const ENDS: (u32, u32) = (7 * STEPS, 17 * STEPS);

/// The table.
pub static COLUMNS: [Column; 5] = [
    Column::words("Tokens S"),
    Column::numbers("Eager, ∝ S"),
    Column::numbers("Eager, ∝ S²"),
    Column::numbers("Eager, all"),
    Column::numbers("Flash, all"),
];

/// The length at a place of the slider, in whole tokens.
pub fn tokens(place: u32) -> u32 {
    (f64::from(place) / f64::from(STEPS) * core::f64::consts::LN_2).exp().round() as u32
}

/// What both kernels keep at one length.
#[derive(Clone, Debug, PartialEq)]
struct Kept {
    tokens: u32,
    eager: Parts,
    flash: Bytes,
}

impl Kept {
    /// Eager attention's two parts and their sum, then flash attention.
    fn values(&self) -> [Bytes; 4] {
        [self.eager.linear, self.eager.quadratic, self.eager.total(), self.flash]
    }
}

/// The curves, which do not depend on the length that is read off.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    scenario: Scenario,
    /// Every place of the slider.
    kept: Vec<Kept>,
    /// Every doubling of the length, as a row of the table.
    pub rows: Vec<Vec<String>>,
}

impl Curves {
    /// The curves of this scenario with the figure's own recomputation.
    pub fn of(scenario: &Scenario, policy: Option<Recomputation>) -> Self {
        let mut scenario = *scenario;
        scenario.recipe.recomputation = policy.unwrap_or(scenario.recipe.recomputation);
        let kept: Vec<Kept> = (ENDS.0..=ENDS.1).map(|place| kept(&scenario, tokens(place))).collect();
        let row = |kept: &Kept| {
            let sizes = kept.values().map(|bytes| format::digits(bytes.gib(), 2));
            [format::count(kept.tokens)].into_iter().chain(sizes).collect()
        };
        let rows = kept.iter().step_by(STEPS as usize).map(row).collect();
        Self { scenario, kept, rows }
    }

    fn at(&self, place: f64) -> &Kept {
        let position = (place as u32).clamp(ENDS.0, ENDS.1) - ENDS.0;
        &self.kept[position as usize]
    }

    /// One length read off.
    pub fn reading(&self, place: f64) -> Reading {
        let kept = self.at(place);
        let mut stored = self.scenario;
        stored.recipe.attention = AttentionKernel::Eager;
        stored.recipe.sequence = kept.tokens;
        let equal = crossover_of(&stored);
        Reading {
            length: kept.tokens,
            equal,
            tokens: format::count(kept.tokens),
            eager: format::memory(kept.eager.total()),
            linear: format::memory(kept.eager.linear),
            quadratic: format::memory(kept.eager.quadratic),
            share: format::percent(kept.eager.share()),
            flash: format::memory(kept.flash),
            paper: format::digits(crossover(&self.scenario.model), 0),
            remarks: self.remarks(equal.is_some()),
        }
    }

    fn remarks(&self, crosses: bool) -> Vec<&'static str> {
        let remarks = [
            (!crosses, "At this length no S² term counts at the peak, with either kernel."),
            (
                self.scenario.method != Method::Ledger,
                "The method you chose does not know flash attention and counts stored scores for both.",
            ),
        ];
        remarks.into_iter().filter(|(said, _)| *said).map(|(_, remark)| remark).collect()
    }

    /// The drawing, with the length that is read off.
    pub fn plot(&self, reading: &Reading) -> Plot {
        // Half a decade of room below the lowest curve that always has one; what is lower is left out.
        let low = self.kept[0].flash.gib() / 5.0;
        let high = self.kept.last().map_or(1.0, |longest| longest.eager.total().gib());
        let curve = |value: usize| {
            let seen = |gib: f64| if gib >= low { gib } else { f64::NAN };
            self.kept.iter().map(|kept| (kept.tokens.into(), seen(kept.values()[value].gib()))).collect()
        };
        let own = self.scenario.recipe.sequence.into();
        let mut marks =
            vec![Mark::named(own, Rule::Soft, "your S".to_owned()), Mark::at(reading.length.into(), Rule::Main)];
        marks.extend(reading.equal.map(|equal| Mark::named(equal, Rule::Soft, "equal".to_owned())));
        Plot {
            x: Axis::powers_of_two(128.0, 131_072.0, "tokens S"),
            y: Axis::log(low, high * 3.0, "activations, GiB"),
            series: vec![
                Series::line(Ink::Own, curve(3)),
                Series::line(Ink::Series4, curve(2)),
                Series::dashed(Ink::Series1, curve(0)),
                Series::dashed(Ink::Series3, curve(1)),
            ],
            marks,
        }
    }
}

fn kept(scenario: &Scenario, tokens: u32) -> Kept {
    let at = |kernel| {
        let mut with = *scenario;
        with.recipe.attention = kernel;
        parts_at(&with, tokens)
    };
    Kept { tokens, eager: at(AttentionKernel::Eager), flash: at(AttentionKernel::Flash).total() }
}

/// One length.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    length: u32,
    equal: Option<f64>,
    /// The length.
    pub tokens: String,
    /// All that eager attention keeps.
    pub eager: String,
    /// What of it grows in proportion to the length.
    pub linear: String,
    /// What of it grows with its square.
    pub quadratic: String,
    /// That as a part of all.
    pub share: String,
    /// All that flash attention keeps.
    pub flash: String,
    /// Where both parts are equal by the paper's count.
    pub paper: String,
    /// What else is to be said.
    pub remarks: Vec<&'static str>,
}

impl Reading {
    /// Where both parts are equal by the accounting in use, if anything is quadratic.
    pub fn cross(&self) -> Option<String> {
        self.equal.map(|tokens| format::digits(tokens, 0))
    }

    /// The length as it is read out at every step of the slider.
    pub fn spoken(&self) -> String {
        format!("{} tokens: {}", self.tokens, self.eager)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, plot_is_sound, texts_are_sound};
    use proptest::prelude::*;

    fn reading(scenario: &Scenario, policy: Recomputation, place: u32) -> Reading {
        Curves::of(scenario, Some(policy)).reading(place.into())
    }

    #[test]
    fn the_slider_stands_on_every_power_of_two() {
        for power in 7..=17 {
            assert_eq!(tokens(power * STEPS), 1 << power);
        }
    }

    /// 7B with b = 3 at 8,192 tokens: 5·n·S² for each sequence and layer are 5·32·8192²·3·32 bytes of scores by
    /// Korthikanti et al. 2022, equation 1, and the ledger keeps 2 bytes more of each in fp32 beside the 16-bit copy.
    #[test]
    fn stored_scores_take_over_on_long_sequences_and_flash_attention_has_none() {
        let long = reading(&Scenario::workshop(), Recomputation::None, 13 * STEPS);
        assert_eq!(long.tokens, "8,192");
        let quadratic: f64 = long.quadratic.trim_end_matches(" GiB").replace(',', "").parse().expect("GiB");
        let scores = 32.0 * 8_192.0 * 8_192.0 * 3.0 * 32.0 / 1_073_741_824.0;
        assert!((5.0..=8.0).contains(&(quadratic / scores)), "{quadratic} of {scores}");
        let flash: f64 = long.flash.trim_end_matches(" GiB").parse().expect("GiB");
        assert!(flash < quadratic / 10.0, "{flash} against {quadratic}");
    }

    #[test]
    fn the_crossover_is_the_paper_s_by_its_own_method() {
        let paper = Scenario { method: Method::Paper, ..Scenario::workshop() };
        let reading = reading(&paper, Recomputation::None, 13 * STEPS);
        // 34·4096 / (5·32) = 870.4.
        assert_eq!((reading.cross().as_deref(), reading.paper.as_str()), (Some("870"), "870"));
        assert_eq!(reading.remarks.len(), 1);
    }

    #[test]
    fn the_table_holds_every_doubling_and_the_drawing_every_place_of_the_slider() {
        let curves = Curves::of(&Scenario::workshop(), Some(Recomputation::None));
        let lengths: Vec<&str> = curves.rows.iter().map(|row| row[0].as_str()).collect();
        assert_eq!(lengths.len(), 11);
        assert_eq!((lengths[0], lengths[10]), ("128", "131,072"));
        let plot = curves.plot(&curves.reading(ENDS.0.into()));
        for series in &plot.series {
            assert_eq!(series.points().len(), (ENDS.1 - ENDS.0 + 1) as usize);
        }
        let drawn = plot.series[1].points()[STEPS as usize].1;
        assert_eq!(format::digits(drawn, 2), curves.rows[1][3]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_scenario_has_curves_and_a_length_to_read_off(scenario in any_scenario(), place in 0.0..200.0) {
            let curves = Curves::of(&scenario, None);
            let reading = curves.reading(place);
            texts_are_sound(&curves.rows);
            texts_are_sound(&reading);
            plot_is_sound(&curves.plot(&reading));
        }
    }
}
