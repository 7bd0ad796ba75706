//! Memory one bucket above the other, as the figures of a step and of sequence length draw it.

use bmax::chart::Tint;
use bmax::plot::{Ink, Series};
use bmax::{Bucket, Bytes, Choice, Recomputation};

use crate::components::{Column, Key};

/// The bands from below: what does not change first, so that the others stand on level ground.
pub const BANDS: [Bucket; 8] = [
    Bucket::Parameters,
    Bucket::Optimizer,
    Bucket::Gradients,
    Bucket::Activations,
    Bucket::Logits,
    Bucket::Batch,
    Bucket::Temporary,
    Bucket::Runtime,
];

/// The legend: the bands, and the limit above them.
pub static KEYS: [Key; BANDS.len() + 1] = [
    Key::memory(Tint::Bucket(Bucket::Parameters)),
    Key::memory(Tint::Bucket(Bucket::Optimizer)),
    Key::memory(Tint::Bucket(Bucket::Gradients)),
    Key::memory(Tint::Bucket(Bucket::Activations)),
    Key::memory(Tint::Bucket(Bucket::Logits)),
    Key::memory(Tint::Bucket(Bucket::Batch)),
    Key::memory(Tint::Bucket(Bucket::Temporary)),
    Key::memory(Tint::Bucket(Bucket::Runtime)),
    Key::new("legend-line is-dashed step-usable", "usable GPU memory"),
];

/// The columns of a table of the bands, behind the one that says what a row is of.
pub const fn columns(first: Column) -> [Column; BANDS.len() + 2] {
    [
        first,
        Column::numbers("Parameters"),
        Column::numbers("Optimizer"),
        Column::numbers("Gradients"),
        Column::numbers("Activations"),
        Column::numbers("Logits and loss"),
        Column::numbers("Batch"),
        Column::numbers("Temporary"),
        Column::numbers("Runtime"),
        Column::numbers("Together"),
    ]
}

/// The recomputation that a figure shows: the configuration's, or another one.
pub fn policies() -> impl Iterator<Item = (Option<Recomputation>, &'static str)> {
    let others = [Recomputation::None, Recomputation::Selective, Recomputation::Full];
    [(None, "Yours")].into_iter().chain(others.map(|policy| (Some(policy), policy.label())))
}

/// The bands as they are drawn: at each place, what every band holds.
pub fn series(places: &[(f64, [Bytes; BANDS.len()])]) -> Vec<Series> {
    let mut lower = vec![0.0; places.len()];
    let mut series = Vec::with_capacity(BANDS.len() + 1);
    for (position, bucket) in BANDS.into_iter().enumerate() {
        let band = places.iter().zip(&mut lower).map(|((at, held), lower)| {
            let from = *lower;
            *lower += held[position].gib();
            (*at, from, *lower)
        });
        series.push(Series::band(Ink::Bucket(bucket), band.collect()));
    }
    series
}
