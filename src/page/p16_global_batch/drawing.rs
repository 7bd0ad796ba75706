//! The plan in time: a column an accumulation step, a row a GPU, a box a micro-batch.

use bmax::planner::Accumulation;

use crate::site::dom::el;
use crate::site::{Live, format};

/// Columns and rows that are drawn at most; the middle of a longer series is left out.
const MOST_STEPS: u32 = 16;
const MOST_GPUS: u32 = 8;
/// Up to this many columns a box has room for its number of sequences.
const NUMBERED_STEPS: u32 = 8;

/// A place in a row or column of the drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// The one with this number, counted from 1.
    At(u32),
    /// The ones that are left out.
    Gap,
}

/// The place at a position, counted from 0, of at most `most` for a series of `count`: the first ones, a
/// gap and the last where not all have room.
fn place(position: u32, count: u32, most: u32) -> Place {
    match position + 2 {
        next if count <= most || next < most => Place::At(position + 1),
        next if next == most => Place::Gap,
        _ => Place::At(count),
    }
}

/// The boxes of a plan, whose rows are called `word`.
pub fn boxes(live: &Live, plan: Accumulation, word: &str) {
    let (columns, rows) = (plan.steps.min(MOST_STEPS), plan.data_parallel.min(MOST_GPUS));
    live.variable("grid", "--columns", &format::count(columns));
    live.variable("grid", "--rows", &format::count(rows));
    let number = plan.steps <= NUMBERED_STEPS && plan.micro_batch < 1_000;
    let number = if number { format::count(plan.micro_batch) } else { String::new() };
    let mut parts = Vec::new();
    let mut part = |class: &str, bucket: &str, text: &str| {
        parts.push(el("span").class(class).attr("data-bucket", bucket).text(text));
    };
    for row in 0..rows {
        let row = place(row, plan.data_parallel, MOST_GPUS);
        let name = match row {
            Place::At(number) => format!("{word} {}", format::count(number)),
            Place::Gap => "⋮".to_owned(),
        };
        part("planner-row-name", "", &name);
        for column in 0..columns {
            match (place(column, plan.steps, MOST_STEPS), row) {
                (Place::At(_), Place::At(_)) => part("planner-box", "activations", &number),
                (Place::Gap, Place::At(_)) => part("planner-gap", "", "…"),
                (_, Place::Gap) => part("planner-gap", "", ""),
            }
        }
    }
    part("planner-optimizer", "optimizer", "");
    live.fill("grid", parts);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(count: u32, most: u32) -> Vec<Place> {
        (0..count.min(most)).map(|position| place(position, count, most)).collect()
    }

    #[test]
    fn a_short_series_is_drawn_whole() {
        assert_eq!(places(3, 8), [Place::At(1), Place::At(2), Place::At(3)]);
        assert_eq!(places(8, 8).len(), 8);
    }

    #[test]
    fn a_long_series_keeps_its_ends_and_never_grows() {
        for count in [9, 100, u32::MAX] {
            let places = places(count, 8);
            assert_eq!(places.len(), 8);
            assert_eq!((places[0], places[6], places[7]), (Place::At(1), Place::Gap, Place::At(count)));
        }
    }
}
