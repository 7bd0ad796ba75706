//! The reader's own measurements beside the prediction.

use bmax::course::calibration::{Calibration, Compared, Counter, Measured, calibrate};
use bmax::{Bytes, Field, counters};

use crate::site::{Live, State, format, mount_live};

/// The parts of the names of a run's fields.
const RUNS: [&str; 3] = ["1", "2", "3"];
/// The largest reading that is believed, in GiB: that of the form's own memory field.
const MOST: f64 = 4_096.0;
/// The smallest.
const LEAST: f64 = 0.01;

/// Mounts the figure of this section.
pub fn mount(state: State) {
    mount_live("calibration", state, draw);
}

fn draw(live: &Live) {
    let scenario = live.facts(|facts| facts.scenario);
    let counter = match &*live.word("counter") {
        "reserved" => Counter::Reserved,
        "device" => Counter::Device,
        _ => Counter::Allocated,
    };
    let runs = RUNS.map(|run| read(live, run));
    let measured: Vec<Measured> = runs.iter().flatten().copied().collect();
    let found = calibrate(&scenario, counter, &measured);
    match &found {
        Some(found) => say(live, found),
        None => {
            let predicted = counter.of(&counters(&scenario));
            live.say("says", "none", &[format::count(scenario.recipe.batch), format::gib(predicted)]);
        }
    }
    let mut points = found.iter().flat_map(|found| &found.points);
    live.rows("runs", runs.iter().zip(RUNS).map(|(run, name)| row(name, run.and_then(|_| points.next()))).collect());
}

/// A run, if both of its fields hold what they can; with a message if one of them does not. A run of which
/// nothing or only a half has been typed is none yet.
fn read(live: &Live, run: &str) -> Option<Measured> {
    let [batch_field, peak_field] = ["b", "m"].map(|field| field.to_owned() + run);
    let [batch, peak] = [&batch_field, &peak_field].map(|field| live.number(field));
    let is_batch = batch.fract() == 0.0 && (1.0..=Field::Batch.bound().max).contains(&batch);
    let is_peak = (LEAST..=MOST).contains(&peak);
    let mut bad = false;
    for (field, good) in [(&batch_field, is_batch), (&peak_field, is_peak)] {
        let wrong = !good && !live.word(field).trim().is_empty();
        live.control_attr(field, "aria-invalid", if wrong { "true" } else { "false" });
        bad |= wrong;
    }
    live.show(&("bad".to_owned() + run), bad);
    (is_batch && is_peak).then(|| Measured { batch: batch as u32, peak: Bytes::from_gib(peak) })
}

fn say(live: &Live, found: &Calibration) {
    let predicted = format::count(found.predicted_b_max);
    let Some(most) = found.b_max else { return live.say("says", "shrinks", &[]) };
    let most = format::count(most);
    if let Some([line, measured]) = found.lines {
        let [fixed, slope] = [measured.fixed, measured.per_sequence].map(format::memory);
        let [foreseen, each] = [line.fixed, line.per_sequence].map(format::memory);
        live.say("says", "line", &[fixed, slope, foreseen, each, most, predicted]);
    } else {
        let fixed = found.correction.fixed.get();
        let word = if fixed < 0.0 { "less" } else { "more" };
        live.say("says", "fixed", &[format::memory(Bytes::new(fixed.abs())), word.to_owned(), most, predicted]);
    }
}

/// A line of the table, in GiB; dashes for a run that has not been made.
fn row(name: &str, point: Option<&Compared>) -> Vec<String> {
    let Some(point) = point else { return [name, "–", "–", "–", "–"].map(str::to_owned).into() };
    let share = format::digits(100.0 * point.error().get() / point.predicted.get(), 1);
    let [measured, predicted, error, residual] =
        [point.measured.peak, point.predicted, point.error(), point.residual()].map(|size| {
            // What rounding leaves of nothing would have a sign.
            let gib = size.gib();
            format::digits(if gib.abs() < 0.005 { 0.0 } else { gib }, 2)
        });
    let batch = "b = ".to_owned() + &format::count(point.measured.batch);
    vec![batch, measured, predicted, error + " (" + &share + " %)", residual]
}
