//! What the figure shows: the learning rate of a larger batch, and the warm-up that leads to it.

use bmax::course::convergence::{DECAY_EPOCHS, EPOCHS, WARM_UP_EPOCHS, rates, scheduled};
use bmax::number;
use bmax::plot::{Axis, Ink, Mark, Plot, Rule, Series};

use crate::site::format;

/// How many times larger the batches of the table are.
const TIMES: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

/// A recipe that was tuned for one batch, and the batch that it is to be used with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// The batch it was tuned for.
    pub base: f64,
    /// The learning rate there.
    pub rate: f64,
    /// The batch to scale to.
    pub batch: f64,
}

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The batch that the rate was tuned for.
    pub from: String,
    /// The batch to scale to.
    pub to: String,
    /// The noun behind its number.
    pub noun: &'static str,
    /// How many times larger that is.
    pub times: String,
    /// The root of it.
    pub root: String,
    /// The lower rate.
    pub low: String,
    /// The higher rate.
    pub high: String,
    /// What is read off the schedule.
    pub reading: Reading,
    /// Both rates of some batches, as the rows of the table.
    pub rows: Vec<Vec<String>>,
    /// Both rates against the batch.
    pub band: Plot,
    /// Both rates over the epochs.
    pub schedule: Plot,
}

/// One moment of the schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// When it is.
    pub epoch: String,
    /// The rate on the way to the lower one.
    pub slow: String,
    /// The rate on the way to the higher one.
    pub fast: String,
}

impl Shown {
    /// What a recipe shows, read off at a moment in epochs.
    pub fn of(asked: Asked, epoch: f64) -> Self {
        let Asked { base, rate, batch } = asked;
        let times = batch / base;
        let (low, high) = rates(rate, times);
        let [slow, fast] = [low, high].map(|scaled| format::significant(scheduled(rate, scaled, epoch)));
        let row = |times: f64| {
            let (low, high) = rates(rate, times);
            vec![number::grouped(base * times), format::significant(low), format::significant(high)]
        };
        Self {
            from: number::grouped(base),
            to: number::grouped(batch),
            noun: format::noun(batch, "example", "examples"),
            times: format::times(times),
            root: format::times(times.sqrt()),
            low: format::significant(low),
            high: format::significant(high),
            reading: Reading { epoch: number::grouped(epoch), slow, fast },
            rows: TIMES.map(row).into(),
            band: band(asked),
            schedule: schedule(rate, (low, high), epoch),
        }
    }
}

impl Reading {
    /// The moment as it is read out at every step of the slider.
    pub fn spoken(&self) -> String {
        format!("epoch {}: {} to {}", self.epoch, self.slow, self.fast)
    }
}

fn band(Asked { base, rate, batch }: Asked) -> Plot {
    let (first, last) = (base.min(batch) / 4.0, base.max(batch) * 4.0);
    let band = [first, base, last].map(|batch| {
        let (low, high) = rates(rate, batch / base);
        (batch, low, high)
    });
    let line = |factor: fn(f64) -> f64| band.map(|(batch, ..)| (batch, rate * factor(batch / base))).into();
    Plot {
        x: Axis::powers_of_two(first, last, "batch, in examples"),
        y: Axis::log(band[0].1, band[2].2, "learning rate"),
        series: vec![
            Series::band(Ink::OwnRange, band.into()),
            Series::line(Ink::Own, line(|times| times)),
            Series::dashed(Ink::Series2, line(f64::sqrt)),
        ],
        marks: vec![Mark::named(base, Rule::Soft, "tuned for".to_owned()), Mark::at(batch, Rule::Main)],
    }
}

fn schedule(rate: f64, (low, high): (f64, f64), at: f64) -> Plot {
    let [a, b, c] = DECAY_EPOCHS;
    // Just before each fall and at it.
    let moments = [0.0, WARM_UP_EPOCHS, a - 0.01, a, b - 0.01, b, c - 0.01, c, EPOCHS];
    let to = |scaled: f64| moments.map(|epoch| (epoch, scheduled(rate, scaled, epoch)));
    let band = moments.map(|epoch| (epoch, scheduled(rate, low, epoch), scheduled(rate, high, epoch)));
    Plot {
        x: Axis::linear(0.0, EPOCHS, "epochs"),
        y: Axis::linear(0.0, high.max(rate) * 1.05, "learning rate"),
        series: vec![
            Series::band(Ink::OwnRange, band.into()),
            Series::line(Ink::Own, to(high).into()),
            Series::dashed(Ink::Series2, to(low).into()),
        ],
        marks: vec![Mark::at(at, Rule::Read)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{plot_is_sound, texts_are_sound};
    use proptest::prelude::*;

    /// Goyal et al. 2017, section 2.1 and 2.2: 0.1 at 256 images becomes 3.2 at 8,192, after five epochs.
    #[test]
    fn imagenet_in_an_hour_learns_at_3_2_after_five_epochs() {
        let shown = Shown::of(Asked { base: 256.0, rate: 0.1, batch: 8_192.0 }, 5.0);
        assert_eq!((shown.times.as_str(), shown.high.as_str()), ("32×", "3.2"));
        assert_eq!(shown.reading.fast, "3.2");
        assert_eq!((shown.rows[5][0].as_str(), shown.rows[5][2].as_str()), ("8,192", "3.2"));
    }

    #[test]
    fn the_climb_begins_at_the_tuned_rate() {
        let shown = Shown::of(Asked { base: 256.0, rate: 0.1, batch: 8_192.0 }, 0.0);
        assert_eq!(shown.reading.spoken(), "epoch 0: 0.1 to 0.1");
    }

    #[test]
    fn the_table_begins_with_the_recipe_as_it_was_tuned() {
        let shown = Shown::of(Asked { base: 256.0, rate: 0.1, batch: 8_192.0 }, 0.0);
        assert_eq!(shown.rows[0], ["256", "0.1", "0.1"]);
    }

    proptest! {
        #[test]
        fn any_recipe_has_a_band_and_a_schedule(
            base in 1.0..1e9,
            rate in 1e-9..1e3,
            batch in 1.0..1e9,
            epoch in 0.0..EPOCHS,
        ) {
            let shown = Shown::of(Asked { base, rate, batch }, epoch);
            texts_are_sound(&(&shown.rows, &shown.reading));
            texts_are_sound(&[&shown.times, &shown.root, &shown.low, &shown.high]);
            plot_is_sound(&shown.band);
            plot_is_sound(&shown.schedule);
        }
    }
}
