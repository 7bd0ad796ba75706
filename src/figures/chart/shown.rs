//! What the chart shows: the read-out, a length with b_max there for every curve; the axes, the table, and what
//! is drawn.

use bmax::chart::{Curves, Frame, LogScale, Mark, NAMES, OWN, Palette, Spec, Tick, batch_text, end_text, first, last};
use bmax::{Choice, Method, Scenario, number};

use crate::site::{Facts, format};

/// Points that a page key moves by.
const PAGE: usize = 8;

/// The first and the last length of the chart, in tokens.
pub const ENDS: (u32, u32) = (128, 131_072);

/// The reader's own place on the chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Own {
    /// The sequence length, which may lie beyond the chart.
    pub length: u32,
    /// The largest micro-batch there.
    pub batch: Option<u32>,
}

impl Own {
    /// That of these facts.
    pub fn of(facts: &Facts) -> Self {
        Self { length: facts.scenario.recipe.sequence, batch: facts.answer.batch() }
    }
}

/// What is read off.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The length, in tokens.
    pub length: u32,
    /// The same in words.
    pub tokens: String,
    /// Whether it is the reader's own.
    pub is_own: bool,
    /// Whether it was chosen on the chart.
    pub is_away: bool,
    /// The largest micro-batches, curve by curve.
    pub batches: Vec<Option<u32>>,
    /// The same as the rows of the legend.
    pub rows: Vec<Row>,
    /// All of it as one sentence, which the slider says.
    pub spoken: String,
    /// What the button does that makes the length the reader's own.
    pub take: String,
    /// The label of the line at the reader's own length.
    pub own: Label,
}

/// A row of the legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The largest micro-batch.
    pub batch: String,
    /// Whether there is one.
    pub fits: bool,
    /// Where the curve ends.
    pub end: String,
}

/// A text beside an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// The text.
    pub text: String,
    /// Where along the axis it stands, from 0 to 1, as the style sheet takes it.
    pub at: String,
}

impl Label {
    fn new(text: String, position: f64) -> Self {
        Self { text, at: number::fixed(position.clamp(0.0, 1.0), 5) }
    }
}

impl Shown {
    /// What these curves show at a length that was chosen on the chart, or else at the reader's own.
    pub fn of(curves: &Curves, own: Own, chosen: Option<u32>) -> Self {
        let length = chosen.unwrap_or(own.length).clamp(first(&curves.lengths), last(&curves.lengths));
        let batches: Vec<_> = (0..=OWN).map(|position| curves.batch(position, length)).collect();
        let tokens = format::count(length);
        let is_own = length == own.length;
        let row = |(batch, curve): (&Option<u32>, &bmax::chart::Curve)| Row {
            batch: batch_text(*batch),
            fits: batch.is_some(),
            end: end_text(curve.longest),
        };
        Self {
            length,
            is_own,
            is_away: chosen.is_some(),
            rows: batches.iter().zip(&curves.all).map(row).collect(),
            spoken: sentence(length, &batches),
            take: if is_own { format!("Your S is {tokens}") } else { format!("Set your S to {tokens}") },
            own: own_label(own.length, curves.axes.across),
            batches,
            tokens,
        }
    }
}

/// The label of the reader's own length, which may lie beyond the chart.
fn own_label(length: u32, across: LogScale) -> Label {
    let (position, tokens) = (across.position(length), format::count(length));
    let text = match position {
        position if position < 0.0 => format!("← your S = {tokens}"),
        position if position > 1.0 => format!("your S = {tokens} →"),
        _ => format!("your S = {tokens}"),
    };
    Label::new(text, position)
}

/// The reading as a sentence.
fn sentence(length: u32, batches: &[Option<u32>]) -> String {
    let part = |(name, batch): (&&str, &Option<u32>)| format!("{name} {}", batch_text(*batch));
    let parts: Vec<_> = NAMES.iter().zip(batches).map(part).collect();
    format!("{}: {}", format::counted(length, "token", "tokens"), parts.join(", "))
}

/// The texts beside both axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Axes {
    /// Below the chart.
    pub across: Vec<Label>,
    /// At its left.
    pub up: Vec<Label>,
}

/// The labels of these curves' axes.
pub fn axes(curves: &Curves) -> Axes {
    let axes = &curves.axes;
    let labels = |scale: LogScale, ticks: &[Tick]| {
        let named = ticks.iter().filter(|tick| !tick.label.is_empty());
        named.map(|tick| Label::new(tick.label.clone(), scale.position(tick.value))).collect()
    };
    Axes { across: labels(axes.across, &axes.lengths), up: labels(axes.up, &axes.batches) }
}

/// Every power of two with b_max of each curve; nothing where not even one sequence fits.
pub fn table(curves: &Curves) -> Vec<(String, Vec<Option<String>>)> {
    let known = curves.lengths.iter().enumerate().filter(|(_, length)| length.is_power_of_two());
    let row = |(position, length): (usize, &u32)| {
        let batch = |curve: &bmax::chart::Curve| {
            let batch = curve.batches.get(position).copied().flatten();
            batch.map(|batch| batch_text(Some(batch)))
        };
        (format::count(*length), curves.all.iter().map(batch).collect())
    };
    known.map(row).collect()
}

/// What the reference curves share with the reader's configuration.
pub fn assumptions(scenario: &Scenario) -> String {
    let headroom = match scenario.method {
        // What the process takes is counted in the ledger.
        Method::Ledger => String::new(),
        _ => format!(" with {} % headroom", format::input(scenario.device.headroom.get())),
    };
    format!(
        "Apart from GPUs and recomputation, the reference models use your settings: {} of memory{headroom}, {}, {} \
         method.",
        format::memory(scenario.device.memory),
        scenario.recipe.precision.label(),
        scenario.method.key()
    )
}

/// What the button for the workshop's own chart would set, or what it has set.
pub const fn workshop(is_set: bool) -> &'static str {
    if is_set {
        "As in the workshop: one A100 80 GB, mixed precision, attention recomputed, by the workshop’s count. Only 1B fits on one GPU then: 16 bytes for each of 7 billion parameters are 104 GiB. Your model keeps its GPUs."
    } else {
        "One A100 80 GB for the reference models, mixed precision, attention recomputed, by the workshop’s count, in all figures. A second press sets it back."
    }
}

/// What is drawn: the curves, the reader's own place, and where the reader looks. At the reader's own length
/// there is a mark already.
pub fn spec(frame: Frame, palette: Palette, curves: &Curves, own: Own, shown: &Shown) -> Spec {
    let looked = || Mark { length: shown.length, batches: shown.batches.iter().copied().enumerate().collect() };
    Spec {
        frame,
        palette,
        axes: curves.axes.clone(),
        lengths: curves.lengths.clone(),
        curves: curves.all.clone(),
        own: Some(Mark { length: own.length, batches: vec![(OWN, own.batch)] }),
        cursor: shown.is_away.then(looked),
    }
}

/// The length that a key of a slider leads to from `at`; nothing for other keys.
pub fn after_key(lengths: &[u32], at: u32, key: &str) -> Option<u32> {
    // Between two points, as the reader's own length may be, the first step goes to the next one.
    let (below, not_above) =
        (lengths.partition_point(|length| *length < at), lengths.partition_point(|length| *length <= at));
    let target = match key {
        "ArrowRight" | "ArrowUp" => not_above,
        "ArrowLeft" | "ArrowDown" => below.saturating_sub(1),
        "PageUp" => not_above + PAGE - 1,
        "PageDown" => below.saturating_sub(PAGE),
        "Home" => 0,
        "End" => lengths.len(),
        _ => return None,
    };
    lengths.get(target.min(lengths.len().saturating_sub(1))).copied()
}

/// The length whose place is nearest to a position on the axis.
pub fn nearest(lengths: &[u32], across: LogScale, position: f64) -> Option<u32> {
    let distance = |length: u32| (across.position(length) - position).abs();
    lengths.iter().copied().min_by(|a, b| distance(*a).total_cmp(&distance(*b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use crate::site::facts_of;
    use bmax::chart::{BAND, PAD, POINTS, swept};
    use bmax::sweep;
    use proptest::prelude::*;

    fn lengths() -> Vec<u32> {
        sweep::sequence_lengths(POINTS)
    }

    #[test]
    fn every_key_stays_on_the_chart_and_other_keys_do_nothing() {
        let lengths = lengths();
        for key in ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"] {
            for at in [128, 129, 2_048, 100_000, 131_072] {
                let reached = after_key(&lengths, at, key).expect("a key of a slider");
                assert!(lengths.contains(&reached), "{key} from {at}");
            }
        }
        assert_eq!(after_key(&lengths, 2_048, "a"), None);
        assert_eq!(after_key(&[], 2_048, "Home"), None);
    }

    #[test]
    fn an_arrow_goes_one_point_and_a_page_eight_and_both_lead_back() {
        let lengths = lengths();
        for (there, back, step) in [("ArrowRight", "ArrowLeft", 1), ("PageUp", "PageDown", PAGE)] {
            let reached = after_key(&lengths, lengths[20], there).expect("a key of a slider");
            assert_eq!(reached, lengths[20 + step]);
            assert_eq!(after_key(&lengths, reached, back), Some(lengths[20]));
        }
        assert_eq!(after_key(&lengths, 131_072, "ArrowRight"), Some(131_072));
        assert_eq!(after_key(&lengths, 128, "PageDown"), Some(128));
    }

    #[test]
    fn a_length_between_two_points_goes_to_its_neighbours() {
        let lengths = [100, 200, 400];
        assert_eq!(after_key(&lengths, 250, "ArrowRight"), Some(400));
        assert_eq!(after_key(&lengths, 250, "ArrowLeft"), Some(200));
    }

    #[test]
    fn a_pointer_finds_the_point_below_it_and_the_ends_beyond_the_edges() {
        let (lengths, across) = (lengths(), LogScale::new(128, 131_072));
        for &length in &lengths {
            assert_eq!(nearest(&lengths, across, across.position(length)), Some(length));
        }
        assert_eq!(nearest(&lengths, across, -5.0), Some(128));
        assert_eq!(nearest(&lengths, across, 5.0), Some(131_072));
    }

    #[test]
    fn a_reading_is_spoken_as_one_sentence() {
        let batches = [Some(52), Some(29), Some(1_048_576), None, Some(1)];
        assert_eq!(sentence(4_096, &batches), "4,096 tokens: 1B 52, 7B 29, 13B ≥ 1,048,576, 70B does not fit, yours 1");
    }

    #[test]
    fn the_slider_s_ends_are_those_of_the_curves() {
        assert_eq!(ENDS, (first(&lengths()), last(&lengths())));
    }

    #[test]
    fn the_style_sheet_has_the_room_of_the_drawing() {
        let style = include_str!("style.css");
        for (name, length) in [("pad", PAD), ("band", BAND)] {
            assert!(style.contains(&format!("--chart-{name}: {length}px;")), "{name}");
        }
    }

    #[test]
    fn the_word_of_a_method_is_its_name_in_a_sentence() {
        for method in Method::ALL {
            assert_eq!(method.key(), method.label().to_ascii_lowercase());
        }
    }

    fn shown(scenario: Scenario, chosen: Option<u32>) -> (Curves, Shown) {
        let curves = Curves::along(swept(&scenario), None);
        let shown = Shown::of(&curves, Own::of(&facts_of(scenario)), chosen);
        (curves, shown)
    }

    #[test]
    fn a_length_beyond_the_chart_is_read_off_at_its_end_and_pointed_at() {
        for (length, at, label) in [(1, 128, "← your S = 1"), (1_000_000, 131_072, "your S = 1,000,000 →")] {
            let mut scenario = Scenario::default();
            scenario.recipe.sequence = length;
            let (_, shown) = shown(scenario, None);
            assert_eq!((shown.length, shown.own.text.as_str(), shown.is_own), (at, label, false));
        }
        let (_, shown) = shown(Scenario::default(), None);
        assert_eq!((shown.length, shown.take.as_str()), (2_048, "Your S is 2,048"));
    }

    #[test]
    fn at_the_reader_s_own_length_the_own_curve_is_the_answer() {
        let scenario = Scenario::default();
        let (_, shown) = shown(scenario, None);
        assert_eq!(shown.batches[OWN], Own::of(&facts_of(scenario)).batch);
        assert!(!shown.is_away);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn any_scenario_has_five_curves_and_the_table_agrees_with_the_read_out(
            scenario in any_scenario(),
            power in 7..=17_u32,
        ) {
            let (curves, shown) = shown(scenario, Some(1 << power));
            texts_are_sound(&(&shown, axes(&curves), assumptions(&scenario)));
            let rows = table(&curves);
            prop_assert_eq!(rows.len(), 11);
            let (length, batches) = &rows[power as usize - 7];
            prop_assert_eq!(length, &shown.tokens);
            for (row, batch) in shown.rows.iter().zip(batches) {
                prop_assert_eq!(row.fits.then_some(&row.batch), batch.as_ref());
            }
        }
    }
}
