//! The plan in time: a column an accumulation step, a row a GPU, a box a micro-batch.

use bmax::planner::Accumulation;

use crate::site::format;

/// Columns and rows that are drawn at most; the middle of a longer series is left out.
const MOST_STEPS: u32 = 8;
const MOST_GPUS: u32 = 4;

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

/// The drawing of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// How many columns of micro-batches there are.
    pub columns: u32,
    /// How many rows.
    pub rows: u32,
    /// Its parts, row by row: the name of the row, then its boxes; the optimizer step comes last.
    pub cells: Vec<Cell>,
}

/// A part of the drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The style sheet's name for it.
    pub class: &'static str,
    /// What is written in it.
    pub text: String,
}

impl Drawing {
    /// The drawing of a plan whose rows are called `word`.
    pub fn of(plan: Accumulation, word: &str) -> Self {
        let (columns, rows) = (plan.steps.min(MOST_STEPS), plan.data_parallel.min(MOST_GPUS));
        // A longer number has no room in a box.
        let number = if plan.micro_batch < 1_000 { format::count(plan.micro_batch) } else { String::new() };
        let mut cells = Vec::new();
        let mut add = |class, text: &str| cells.push(Cell { class, text: text.to_owned() });
        for row in 0..rows {
            let row = place(row, plan.data_parallel, MOST_GPUS);
            match row {
                Place::At(number) => add("planner-row-name", &format!("{word} {}", format::count(number))),
                Place::Gap => add("planner-row-name", "⋮"),
            }
            for column in 0..columns {
                match (place(column, plan.steps, MOST_STEPS), row) {
                    (Place::At(_), Place::At(_)) => add("planner-box", &number),
                    (Place::Gap, Place::At(_)) => add("planner-gap", "…"),
                    (_, Place::Gap) => add("planner-gap", ""),
                }
            }
        }
        add("planner-optimizer", "");
        Self { columns, rows, cells }
    }
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

    #[test]
    fn every_row_has_a_name_and_as_many_boxes_as_there_are_columns() {
        for (data_parallel, steps) in [(1, 1), (8, 16), (2, 1_000), (512, 3), (u32::MAX, u32::MAX)] {
            let Drawing { columns, rows, cells } =
                Drawing::of(Accumulation { micro_batch: 3, data_parallel, steps }, "GPU");
            assert_eq!(cells.len() as u32, rows * (columns + 1) + 1);
            assert!(columns <= MOST_STEPS && rows <= MOST_GPUS);
        }
    }
}
