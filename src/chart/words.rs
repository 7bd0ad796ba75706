//! The chart in words: what fits, where a curve ends, and what is to be seen.

use super::curves::NAMES;
use super::spec::Curve;
use crate::{Field, format};

/// The shortest length of the chart.
#[must_use]
pub fn first(lengths: &[u32]) -> u32 {
    lengths.first().copied().unwrap_or(1)
}

/// The longest length of the chart.
#[must_use]
pub fn last(lengths: &[u32]) -> u32 {
    lengths.last().copied().unwrap_or(1)
}

/// b_max as the chart writes it.
#[must_use]
pub fn batch_text(batch: Option<u32>) -> String {
    match batch {
        Some(batch) if f64::from(batch) >= Field::Batch.bound().max => format!("≥ {}", format::count(batch)),
        Some(batch) => format::count(batch),
        None => "does not fit".to_owned(),
    }
}

/// Where a curve ends, in tokens.
#[must_use]
pub fn end_text(longest: Option<u32>) -> String {
    match longest {
        Some(longest) if f64::from(longest) >= Field::Sequence.bound().max => format!("≥ {}", format::count(longest)),
        Some(longest) => format::count(longest),
        None => "none fits".to_owned(),
    }
}

/// What the picture shows, for those who do not see it.
#[must_use]
pub fn description(lengths: &[u32], curves: &[Curve]) -> String {
    let part = |(name, curve): (&&str, &Curve)| match (curve.batches.first().copied().flatten(), curve.longest) {
        (Some(most), Some(longest)) if longest < last(lengths) => {
            format!("{name} falls from {} and ends at {} tokens", batch_text(Some(most)), format::count(longest))
        }
        (Some(most), _) => {
            let least = curve.batches.last().copied().flatten();
            format!("{name} falls from {} to {}", batch_text(Some(most)), batch_text(least))
        }
        (None, _) => format!("{name} does not fit at any of these lengths"),
    };
    let parts: Vec<_> = NAMES.iter().zip(curves).map(part).collect();
    format!(
        "Largest micro-batch per GPU against sequence length, from {} to {} tokens, both axes logarithmic: {}.",
        format::count(first(lengths)),
        format::count(last(lengths)),
        parts.join("; ")
    )
}
