//! The plan in time: a column an accumulation step, a row a GPU, a box a micro-batch.

use bmax::planner::Accumulation;

use crate::site::dom::{El, el};
use crate::site::format;

/// Columns and rows that are drawn at most; the middle of a longer series is left out.
const MOST_STEPS: u32 = 16;
const MOST_GPUS: u32 = 8;
/// Up to this many columns a box has room for its number of sequences.
const NUMBERED_STEPS: u32 = 8;
/// What stands, and is read out, in place of the boxes when there is no plan.
const NOTHING: &str = "Nothing to draw until one sequence fits.";

/// A place in a row or column of the drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// The one with this number, counted from 1.
    At(u32),
    /// The ones that are left out.
    Gap,
}

/// All places up to `count`, or the first ones, a gap and the last.
fn places(count: u32, most: u32) -> Vec<Place> {
    if count <= most {
        return (1..=count).map(Place::At).collect();
    }
    (1..=most.saturating_sub(2)).map(Place::At).chain([Place::Gap, Place::At(count)]).collect()
}

/// The boxes of a plan; an empty frame of the same height when there is none.
/// With `grouped` a row is a group of GPUs that share a micro-batch.
pub fn drawing(
    plan: impl Fn() -> Option<Accumulation> + Copy + 'static,
    grouped: impl Fn() -> bool + Copy + 'static,
) -> El {
    let batch = move || match plan() {
        Some(plan) => {
            format!(
                "one micro-batch: {} on one {}",
                format::counted(plan.micro_batch, "sequence", "sequences"),
                if grouped() { "group of GPUs" } else { "GPU" }
            )
        }
        None => "one micro-batch".to_owned(),
    };
    let described = move || plan().map_or_else(|| NOTHING.to_owned(), |plan| sentence(plan, grouped()));
    let boxes = el("div")
        .class("planner-boxes")
        .attr("role", "img")
        .bind("aria-label", described)
        .attr("data-testid", "planner-drawing")
        .live(move || plan().map_or_else(nothing, |plan| boxes(plan, if grouped() { "Group" } else { "GPU" })));
    let named = |bucket: &str| el("li").child(el("span").class("bucket-swatch").attr("data-bucket", bucket)).text(" ");
    let legend = el("ul")
        .class("planner-legend")
        .child(named("activations").bind_text(batch))
        .child(named("optimizer").text("optimizer step, once for all"));
    el("div").class("planner-drawing").child(boxes).child(legend)
}

fn nothing() -> Vec<El> {
    vec![el("p").class("planner-nothing soft").text(NOTHING)]
}

fn boxes(plan: Accumulation, word: &str) -> Vec<El> {
    let columns = places(plan.steps, MOST_STEPS);
    let rows = places(plan.data_parallel, MOST_GPUS);
    let number = (plan.steps <= NUMBERED_STEPS && plan.micro_batch < 1_000).then_some(plan.micro_batch);
    let [across, down] = [&columns, &rows].map(Vec::len);
    let mut grid = el("div")
        .class("planner-grid")
        .variable("--columns", move || across.to_string())
        .variable("--rows", move || down.to_string());
    for row in rows {
        grid = grid.child(el("span").class("planner-row-name").text(&name(word, row)));
        grid = grid.children(columns.iter().map(|column| cell(*column, row, number)).collect());
    }
    let optimizer = el("span").class("planner-optimizer").attr("data-bucket", "optimizer");
    vec![grid.child(optimizer), el("p").class("planner-axis soft").text(&axis(plan.steps))]
}

fn name(word: &str, place: Place) -> String {
    match place {
        Place::At(number) => format!("{word} {}", format::count(number)),
        Place::Gap => "⋮".to_owned(),
    }
}

fn cell(column: Place, row: Place, number: Option<u32>) -> El {
    match (column, row) {
        (Place::At(_), Place::At(_)) => {
            let number = number.map(format::count).unwrap_or_default();
            el("span").class("planner-box").attr("data-bucket", "activations").text(&number)
        }
        (Place::Gap, Place::At(_)) => el("span").class("planner-gap").text("…"),
        (_, Place::Gap) => el("span").class("planner-gap"),
    }
}

fn axis(steps: u32) -> String {
    format!("{} →", format::counted(steps, "accumulation step", "accumulation steps"))
}

fn sentence(plan: Accumulation, grouped: bool) -> String {
    let (one, many) = if grouped { ("group of GPUs", "groups of GPUs") } else { ("GPU", "GPUs") };
    format!(
        "{} one after another; in each, {} process {} each; then the optimizer steps once.",
        format::counted(plan.steps, "accumulation step", "accumulation steps"),
        format::counted(plan.data_parallel, one, many),
        format::counted(plan.micro_batch, "sequence", "sequences")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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
