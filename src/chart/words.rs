//! The chart in words: what fits, where a curve ends, and what is to be seen.

use super::axis::{is_beyond, names, number_text, place_text, value_text};
use super::curves::Curves;
use super::spec::{Curve, End};
use crate::{ChartAxis, Field, format};

/// The first place of the chart.
#[must_use]
pub fn first(places: &[u32]) -> u32 {
    places.first().copied().unwrap_or(1)
}

/// The last place of the chart.
#[must_use]
pub fn last(places: &[u32]) -> u32 {
    places.last().copied().unwrap_or(1)
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

/// Where a curve begins or ends.
#[must_use]
pub fn end_text(axis: ChartAxis, end: Option<End>) -> String {
    match end {
        Some(end) if is_beyond(axis, end.at) => format!("≥ {}", number_text(axis, end.at)),
        Some(end) => value_text(axis, end.at),
        None => "none fits".to_owned(),
    }
}

/// What the picture shows, for those who do not see it.
#[must_use]
pub fn description(curves: &Curves) -> String {
    let Curves { axis, places, all, .. } = curves;
    let (axis, is_rising) = (*axis, *axis == ChartAxis::Memory);
    let part = |(name, curve): (&str, &Curve)| {
        let near = curve.batches.iter().copied().find(|batch| batch.is_some() || !is_rising).flatten();
        let far = curve.batches.iter().copied().next_back().flatten();
        let end = curve.end.filter(|end| if is_rising { end.at > first(places) } else { end.at < last(places) });
        match (near, far, end) {
            (Some(near), Some(far), _) if is_rising => {
                let start = end.map_or(String::new(), |end| format!("starts at {} and ", place_text(axis, end.at)));
                let near = if start.is_empty() { format!("from {} ", batch_text(Some(near))) } else { String::new() };
                format!("{name} {start}rises {near}to {}", batch_text(Some(far)))
            }
            (Some(near), _, Some(end)) => {
                format!("{name} falls from {} and ends at {}", batch_text(Some(near)), place_text(axis, end.at))
            }
            (Some(near), far, None) => format!("{name} falls from {} to {}", batch_text(Some(near)), batch_text(far)),
            (None, ..) => format!("{name} does not fit at any of these {}", several(axis)),
        }
    };
    let parts: Vec<_> = names(axis).into_iter().zip(all).map(part).collect();
    format!(
        "Largest micro-batch per GPU against {}, from {} to {}, both axes logarithmic: {}.",
        against(axis),
        number_text(axis, first(places)),
        place_text(axis, last(places)),
        parts.join("; ")
    )
}

const fn against(axis: ChartAxis) -> &'static str {
    match axis {
        ChartAxis::Sequence => "sequence length",
        ChartAxis::Size => "model size",
        ChartAxis::Memory => "GPU memory",
    }
}

const fn several(axis: ChartAxis) -> &'static str {
    match axis {
        ChartAxis::Sequence => "lengths",
        ChartAxis::Size => "sizes",
        ChartAxis::Memory => "sizes of memory",
    }
}
