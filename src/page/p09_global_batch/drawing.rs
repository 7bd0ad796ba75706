//! The plan in time: a column an accumulation step, a row a GPU, a box a micro-batch.

use bmax::planner::Accumulation;
use leptos::prelude::*;

use crate::site::format;

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

/// All places up to `count`, or the first ones, a gap and the last.
fn places(count: u32, most: u32) -> Vec<Place> {
    if count <= most {
        return (1..=count).map(Place::At).collect();
    }
    (1..=most.saturating_sub(2)).map(Place::At).chain([Place::Gap, Place::At(count)]).collect()
}

/// The boxes of a plan; an empty frame of the same height when there is none.
#[component]
pub fn Drawing(
    /// The plan to draw.
    plan: Memo<Option<Accumulation>>,
    /// Whether a row is a group of GPUs that share a micro-batch.
    grouped: Memo<bool>,
) -> impl IntoView {
    let batch = move || match plan.get() {
        Some(plan) => {
            format!(
                "one micro-batch: {} on one {}",
                format::counted(plan.micro_batch, "sequence", "sequences"),
                if grouped.get() { "group of GPUs" } else { "GPU" }
            )
        }
        None => "one micro-batch".to_owned(),
    };
    let described = move || {
        plan.get()
            .map_or_else(|| "Nothing to draw until one sequence fits.".to_owned(), |plan| sentence(plan, grouped.get()))
    };
    view! {
        <div class="planner-drawing">
            <div class="planner-boxes" role="img" aria-label=described data-testid="planner-drawing">
                {move || plan.get().map_or_else(nothing, |plan| boxes(plan, row_word(grouped.get())))}
            </div>
            <ul class="planner-legend">
                <li><span class="bucket-swatch" data-bucket="activations"></span>" "{batch}</li>
                <li><span class="bucket-swatch" data-bucket="optimizer"></span>" optimizer step, once for all"</li>
            </ul>
        </div>
    }
}

fn nothing() -> AnyView {
    view! { <p class="planner-nothing soft">"Nothing to draw until one sequence fits."</p> }.into_any()
}

fn row_word(grouped: bool) -> &'static str {
    if grouped { "Group" } else { "GPU" }
}

fn boxes(plan: Accumulation, word: &'static str) -> AnyView {
    let columns = places(plan.steps, MOST_STEPS);
    let rows = places(plan.data_parallel, MOST_GPUS);
    let numbered = plan.steps <= NUMBERED_STEPS && plan.micro_batch < 1_000;
    let row = |place: Place| {
        let cells =
            columns.iter().map(|column| cell(*column, place, numbered.then_some(plan.micro_batch))).collect_view();
        view! { <span class="planner-row-name">{name(word, place)}</span>{cells} }
    };
    let count = columns.len().to_string();
    let lines = rows.len().to_string();
    view! {
        <div class="planner-grid" style=("--columns", count) style=("--rows", lines)>
            {rows.iter().map(|place| row(*place)).collect_view()}
            <span class="planner-optimizer" data-bucket="optimizer"></span>
        </div>
        <p class="planner-axis soft">{axis(plan.steps)}</p>
    }
    .into_any()
}

fn name(word: &str, place: Place) -> String {
    match place {
        Place::At(number) => format!("{word} {}", format::count(number)),
        Place::Gap => "⋮".to_owned(),
    }
}

fn cell(column: Place, row: Place, number: Option<u32>) -> AnyView {
    match (column, row) {
        (Place::At(_), Place::At(_)) => {
            view! { <span class="planner-box" data-bucket="activations">{number.map(format::count)}</span> }.into_any()
        }
        (Place::Gap, Place::At(_)) => view! { <span class="planner-gap">"…"</span> }.into_any(),
        (_, Place::Gap) => view! { <span class="planner-gap"></span> }.into_any(),
    }
}

fn axis(steps: u32) -> String {
    format!("{} →", format::counted(steps, "accumulation step", "accumulation steps"))
}

fn sentence(plan: Accumulation, grouped: bool) -> String {
    format!(
        "{} one after another; in each, {} process {} each; then the optimizer steps once.",
        format::counted(plan.steps, "accumulation step", "accumulation steps"),
        if grouped {
            format::counted(plan.data_parallel, "group of GPUs", "groups of GPUs")
        } else {
            format::counted(plan.data_parallel, "GPU", "GPUs")
        },
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
