//! What the chart shows: the read-out, a place of the axis with b_max there for every curve; the axes, the table, and
//! what is drawn.

use bmax::chart::{
    Curves, Frame, LogScale, Mark, OWN, Palette, Spec, Tick, batch_text, end_text, first, last, names, number_text,
    own_place, place_text, value_text, words,
};
use bmax::{ChartAxis, Choice, Method, Scenario, number, others};

use crate::site::{Facts, format};

/// Points that a page key moves by.
const PAGE: usize = 8;

/// The reader's own place on the chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Own {
    /// Where it is, which may lie beyond the chart.
    pub place: u32,
    /// The largest micro-batch there.
    pub batch: Option<u32>,
}

impl Own {
    /// That of these facts.
    pub fn of(facts: &Facts) -> Self {
        let scenario = &facts.scenario;
        Self { place: own_place(scenario.comparison.against, scenario), batch: facts.answer.batch() }
    }
}

/// What is read off.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The place on the axis.
    pub place: u32,
    /// Its number, without a unit.
    pub number: String,
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
    /// What the button does that makes the place the reader's own.
    pub take: String,
    /// The label of the line at the reader's own place.
    pub own: Label,
}

/// A row of the legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The largest micro-batch.
    pub batch: String,
    /// Whether there is one.
    pub fits: bool,
    /// Where the curve ends, or begins.
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
    /// What these curves show at a place that was chosen on the chart, or else at the reader's own.
    pub fn of(curves: &Curves, own: Own, chosen: Option<u32>) -> Self {
        let axis = curves.axis;
        let mut place = chosen.unwrap_or(own.place).clamp(first(&curves.places), last(&curves.places));
        // Between two sizes there is no model, and the reader's own changes all sizes of its shape.
        if axis == ChartAxis::Size && !curves.places.contains(&place) {
            place = nearest(&curves.places, curves.axes.across, curves.axes.across.position(place)).unwrap_or(place);
        }
        let batches: Vec<_> = (0..=OWN).map(|position| curves.batch(position, place)).collect();
        let is_own = place == own.place;
        let row = |(batch, curve): (&Option<u32>, &bmax::chart::Curve)| Row {
            batch: batch_text(*batch),
            fits: batch.is_some(),
            end: end_text(axis, curve.end),
        };
        let (symbol, value) = (words(axis).symbol, value_text(axis, place));
        Self {
            place,
            is_own,
            is_away: chosen.is_some(),
            rows: batches.iter().zip(&curves.all).map(row).collect(),
            spoken: sentence(axis, place, &batches),
            take: if is_own { format!("Your {symbol} is {value}") } else { format!("Set your {symbol} to {value}") },
            own: own_label(axis, own.place, curves.axes.across),
            batches,
            number: number_text(axis, place),
        }
    }
}

/// The label of the reader's own place, which may lie beyond the chart.
fn own_label(axis: ChartAxis, place: u32, across: LogScale) -> Label {
    let position = across.position(place);
    let value = format!("your {} = {}", words(axis).symbol, value_text(axis, place));
    let text = match position {
        position if position < 0.0 => format!("← {value}"),
        position if position > 1.0 => format!("{value} →"),
        _ => value,
    };
    Label::new(text, position)
}

/// The reading as a sentence.
fn sentence(axis: ChartAxis, place: u32, batches: &[Option<u32>]) -> String {
    let part = |(name, batch): (&str, &Option<u32>)| format!("{name} {}", batch_text(*batch));
    let parts: Vec<_> = names(axis).into_iter().zip(batches).map(part).collect();
    format!("{}: {}", place_text(axis, place), parts.join(", "))
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
    Axes { across: labels(axes.across, &axes.ticks), up: labels(axes.up, &axes.batches) }
}

/// b_max of each curve beside the ticks of the axis; nothing where not even one sequence fits.
pub fn table(curves: &Curves) -> Vec<(String, Vec<Option<String>>)> {
    let row = |position: usize| {
        let batch = |curve: &bmax::chart::Curve| {
            let batch = curve.batches.get(position).copied().flatten();
            batch.map(|batch| batch_text(Some(batch)))
        };
        (number_text(curves.axis, curves.places[position]), curves.all.iter().map(batch).collect())
    };
    curves.stops().into_iter().map(row).collect()
}

/// What the reference curves share with the reader's configuration, but for what they are drawn against.
pub fn assumptions(scenario: &Scenario) -> String {
    let headroom = match scenario.method {
        // What the process takes is counted in the ledger.
        Method::Ledger => String::new(),
        _ => format!(" with {} % headroom", format::input(scenario.device.headroom.get())),
    };
    let (precision, method) = (scenario.recipe.precision.label(), scenario.method.key());
    let memory = format!("{} of memory{headroom}", format::memory(scenario.device.memory));
    let length = format::counted(scenario.recipe.sequence, "token", "tokens");
    let said = match scenario.comparison.against {
        ChartAxis::Sequence => format!(
            "Apart from GPUs and recomputation, the reference models use your settings: {memory}, {precision}, {method} \
             method."
        ),
        ChartAxis::Memory => format!(
            "Apart from GPUs and recomputation, the reference models use your settings: {length}{headroom}, \
             {precision}, {method} method."
        ),
        ChartAxis::Size => format!(
            "Every model has the shape of yours: width and depth in proportion, heads as wide. How good a model gets \
             depends on its shape only weakly (Kaplan et al. 2020). The four GPUs use your settings: \
             {length}{headroom}, {precision}, {method} method."
        ),
    };
    match others::lacking(scenario.method, scenario) {
        Some(lacking) => {
            format!(
                "{said} It has no input for {}, and counts as if that were not asked for.",
                format::lacking(&lacking)
            )
        }
        None => said,
    }
}

/// What the button for the workshop's own chart would set, or what it has set.
pub const fn workshop(is_set: bool) -> &'static str {
    if is_set {
        "As in the workshop: one A100 80 GB, mixed precision, attention scores recomputed, by the workshop’s count. Its own chart leaves out all of attention then, so that its curves are higher. Only 1B fits on one GPU then: 16 bytes for each of 7 billion parameters are 104 GiB. Your model keeps its GPUs."
    } else {
        "One A100 80 GB for the reference models, mixed precision, attention scores recomputed, by the workshop’s count, in all figures. A second press sets it back."
    }
}

/// What is drawn: the curves, the reader's own place, and where the reader looks. At the reader's own place
/// there is a mark already.
pub fn spec(frame: Frame, palette: Palette, curves: &Curves, own: Own, shown: &Shown) -> Spec {
    let looked = || Mark { at: shown.place, batches: shown.batches.iter().copied().enumerate().collect() };
    Spec {
        frame,
        palette,
        axes: curves.axes.clone(),
        places: curves.places.clone(),
        curves: curves.all.clone(),
        own: Some(Mark { at: own.place, batches: vec![(OWN, own.batch)] }),
        cursor: shown.is_away.then(looked),
    }
}

/// The place that a key of a slider leads to from `at`; nothing for other keys.
pub fn after_key(places: &[u32], at: u32, key: &str) -> Option<u32> {
    // Between two points, as the reader's own length may be, the first step goes to the next one.
    let (below, not_above) =
        (places.partition_point(|place| *place < at), places.partition_point(|place| *place <= at));
    let target = match key {
        "ArrowRight" | "ArrowUp" => not_above,
        "ArrowLeft" | "ArrowDown" => below.saturating_sub(1),
        "PageUp" => not_above + PAGE - 1,
        "PageDown" => below.saturating_sub(PAGE),
        "Home" => 0,
        "End" => places.len(),
        _ => return None,
    };
    places.get(target.min(places.len().saturating_sub(1))).copied()
}

/// The place that is nearest to a position on the axis.
pub fn nearest(places: &[u32], across: LogScale, position: f64) -> Option<u32> {
    let distance = |place: u32| (across.position(place) - position).abs();
    places.iter().copied().min_by(|a, b| distance(*a).total_cmp(&distance(*b)))
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
        let said = sentence(ChartAxis::Sequence, 4_096, &batches);
        assert_eq!(said, "4,096 tokens: 1B 52, 7B 29, 13B ≥ 1,048,576, 70B does not fit, yours 1");
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

    fn against(axis: ChartAxis, mut scenario: Scenario) -> Scenario {
        scenario.comparison.against = axis;
        scenario
    }

    #[test]
    fn a_model_and_a_gpu_that_are_read_off_can_be_made_the_reader_s_own() {
        for (axis, take, label) in [
            (ChartAxis::Size, "Your N is 7B", "your N = 7B"),
            (ChartAxis::Memory, "Your M is 80 GiB", "your M = 80 GiB"),
        ] {
            let scenario = against(axis, Scenario::workshop());
            let (curves, at_own) = shown(scenario, None);
            assert_eq!((at_own.take.as_str(), at_own.own.text.as_str(), at_own.is_own), (take, label, true));
            assert_eq!(at_own.batches[OWN], Own::of(&facts_of(scenario)).batch);
            let last = last(&curves.places);
            let (_, away) = shown(scenario, Some(last));
            let taken = curves.at(scenario, last).expect("a place of the curves");
            assert_eq!(away.batches[OWN], Own::of(&facts_of(taken)).batch);
            assert_eq!(own_place(axis, &taken), last);
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
            let mut scenario = Scenario::workshop();
            scenario.recipe.sequence = length;
            let (_, shown) = shown(scenario, None);
            assert_eq!((shown.place, shown.own.text.as_str(), shown.is_own), (at, label, false));
        }
        let (_, shown) = shown(Scenario::workshop(), None);
        assert_eq!((shown.place, shown.take.as_str()), (2_048, "Your S is 2,048"));
    }

    #[test]
    fn at_the_reader_s_own_length_the_own_curve_is_the_answer() {
        let scenario = Scenario::workshop();
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
            let scenario = against(ChartAxis::Sequence, scenario);
            let (curves, shown) = shown(scenario, Some(1 << power));
            texts_are_sound(&(&shown, axes(&curves), assumptions(&scenario)));
            let rows = table(&curves);
            prop_assert_eq!(rows.len(), 11);
            let (length, batches) = &rows[power as usize - 7];
            prop_assert_eq!(length, &shown.number);
            for (row, batch) in shown.rows.iter().zip(batches) {
                prop_assert_eq!(row.fits.then_some(&row.batch), batch.as_ref());
            }
        }

        #[test]
        fn any_scenario_has_a_read_out_for_every_row_of_the_table_on_every_axis(
            scenario in any_scenario(),
            axis in 0..3_usize,
            key in 0..64_usize,
        ) {
            let scenario = against(ChartAxis::ALL[axis], scenario);
            let curves = Curves::along(swept(&scenario), None);
            let own = Own::of(&facts_of(scenario));
            let stops = curves.stops();
            let row = key % stops.len();
            let shown = Shown::of(&curves, own, Some(curves.places[stops[row]]));
            texts_are_sound(&(&shown, axes(&curves), assumptions(&scenario), bmax::chart::description(&curves)));
            let (number, batches) = &table(&curves)[row];
            prop_assert_eq!(number, &shown.number);
            for (row, batch) in shown.rows.iter().zip(batches) {
                prop_assert_eq!(row.fits.then_some(&row.batch), batch.as_ref());
            }
        }
    }
}
