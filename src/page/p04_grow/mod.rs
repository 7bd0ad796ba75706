//! The slider that fills the device, one sequence at a time.

mod batch_slider;
mod verdict;

use bmax::{Answer, Bytes, Estimate};
use leptos::prelude::*;

pub use batch_slider::BatchSlider;
use verdict::{OtherVerdict, Verdict};

use super::answer_bar;
use crate::site::views::{Legend, MemoryBar};
use crate::site::{State, format};

/// The batch on a slider, the memory it takes as a bar, and the verdict in one sentence.
#[component]
pub fn Grow(state: State) -> impl IntoView {
    let length =
        Memo::new(move |_| state.estimate.with(|estimate| state.answer.with(|answer| length(estimate, answer))));
    view! {
        <div class="grow">
            <BatchSlider state id="grow-batch" text=batch_text(state) />
            <div class="grow-head">
                <Verdict state />
                <Jumps state />
            </div>
            <MemoryBar estimate=state.estimate length />
            <Legend estimate=state.estimate />
            <OtherVerdict state />
        </div>
    }
}

/// The micro-batch and how it stands, short enough to be read out at every step of a slider.
pub fn batch_text(state: State) -> Signal<String> {
    Signal::derive(move || {
        let batch = state.scenario.with(|scenario| scenario.recipe.batch);
        let (word, _) = state.estimate.with(|estimate| answer_bar::verdict(estimate.balance()));
        format!("{}, {word}", format::counted(batch, "sequence", "sequences"))
    })
}

/// What the whole bar stands for. It depends on the answer and not on the chosen batch, so that the
/// fixed buckets stand still; the first batch that does not fit is still in the picture.
fn length(estimate: &Estimate, answer: &Answer) -> Bytes {
    let first_too_many = match answer {
        Answer::Fits(room) => room.peak + room.per_sequence,
        Answer::Infeasible(reason) => estimate.usable() + reason.over,
    };
    let whole = first_too_many.get().max(estimate.memory.get());
    Bytes::new((whole * 1.04).max(estimate.memory.get() * 1.2))
}

/// Two presses: the last batch that fits and the first that does not.
#[component]
fn Jumps(state: State) -> impl IntoView {
    let b_max = Memo::new(move |_| state.answer.with(Answer::batch));
    let capped = move || state.answer.with(|answer| matches!(answer, Answer::Fits(room) if room.capped));
    let here = move |value: u32| state.scenario.with(|scenario| scenario.recipe.batch) == value;
    let jump = move |value: u32| state.change(|scenario| scenario.with_batch(value));
    let last = move || b_max.get().unwrap_or(0);
    let next = move || last().saturating_add(1);
    view! {
        <div class="grow-jumps button-row">
            <button
                type="button"
                class="button button-quiet"
                data-testid="grow-to-max"
                disabled=move || b_max.get().is_none()
                aria-current=move || here(last()).then_some("true")
                on:click=move |_| jump(b_max.get_untracked().unwrap_or(1))
            >
                <span><span class="visually-hidden">"Set b to "</span><i>"b"</i><sub>"max"</sub></span>
                <span class="num">{move || b_max.get().map_or_else(|| "none".to_owned(), |last| format!("= {}", format::count(last)))}</span>
            </button>
            <button
                type="button"
                class="button button-quiet"
                data-testid="grow-past-max"
                disabled=capped
                aria-current=move || here(next()).then_some("true")
                on:click=move |_| jump(b_max.get_untracked().unwrap_or(0).saturating_add(1))
            >
                <span><span class="visually-hidden">"Set b to "</span><i>"b"</i><sub>"max"</sub>" + 1"</span>
                <span class="num">"= "{move || format::count(next())}</span>
            </button>
        </div>
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::{Field, Scenario, b_max, estimate};

    #[test]
    fn the_bar_has_one_length_for_every_batch_and_shows_the_first_that_does_not_fit() -> Result<(), bmax::Problem> {
        for gpus in [1.0, 2.0, 8.0, 512.0] {
            let scenario = Scenario::default().with_number(Field::Gpus, gpus)?;
            let answer = b_max(&scenario);
            let lengths = [1, 3, 4, 64].map(|batch| length(&estimate(&scenario.with_batch(batch)), &answer));
            assert!(lengths.iter().all(|length| *length == lengths[0]));
            let too_many = scenario.with_batch(answer.batch().unwrap_or(0) + 1);
            assert!(estimate(&too_many).peak().bytes < lengths[0], "{gpus} GPUs");
        }
        Ok(())
    }
}
