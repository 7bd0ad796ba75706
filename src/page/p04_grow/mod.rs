//! The slider that fills the device, one sequence at a time.

mod batch_slider;
mod verdict;

use std::rc::Rc;

use bmax::{Answer, Bytes, Estimate};
use leptos::prelude::*;

pub use batch_slider::batch_slider;
use verdict::{other_verdicts, verdict};

use crate::site::dom::{El, el};
use crate::site::views::{legend, memory_bar_of_length};
use crate::site::{State, format};

/// The batch on a slider, the memory it takes as a bar, and the verdict in one sentence.
pub fn grow(state: State) -> El {
    let estimate: Rc<dyn Fn() -> Estimate> = Rc::new(move || state.read(|facts| facts.estimate.clone()));
    let length = Rc::new(move || state.read(|facts| length(&facts.estimate, &facts.answer)));
    el("div").class("grow").children(vec![
        batch_slider(state, "grow-batch"),
        el("div").class("grow-head").child(verdict(state)).child(jumps(state)),
        memory_bar_of_length(estimate.clone(), length),
        legend(estimate),
        other_verdicts(state),
    ])
}

/// What the whole bar stands for. It depends on the answer and not on the chosen batch, so that the
/// fixed parts stand still; the first batch that does not fit is still in the picture.
fn length(estimate: &Estimate, answer: &Answer) -> Bytes {
    let first_too_many = match answer {
        Answer::Fits(room) => room.peak + room.per_sequence,
        Answer::Infeasible(reason) => estimate.usable() + reason.over,
    };
    let whole = first_too_many.get().max(estimate.memory.get());
    Bytes::new((whole * 1.04).max(estimate.memory.get() * 1.2))
}

/// Two presses: the last batch that fits and the first that does not.
fn jumps(state: State) -> El {
    let none = move || state.read(|facts| facts.answer.batch().is_none());
    let capped = move || state.read(|facts| matches!(facts.answer, Answer::Fits(room) if room.capped));
    el("div")
        .class("grow-jumps button-row")
        .child(jump(state, 0).attr("data-testid", "grow-to-max").toggle("disabled", none))
        .child(jump(state, 1).attr("data-testid", "grow-past-max").toggle("disabled", capped))
}

/// A button that sets the batch to `past` more than b_max, which is 0 when nothing fits.
fn jump(state: State, past: u32) -> El {
    let value = move || state.read(|facts| facts.answer.batch().unwrap_or(0).saturating_add(past));
    let here = move || state.read(|facts| facts.scenario.recipe.batch) == value();
    let size = move || match value() {
        0 => "none".to_owned(),
        value => format!("= {}", format::count(value)),
    };
    let press = move |_| {
        let value = untrack(value);
        state.change(|scenario| scenario.with_batch(value));
    };
    let name = el("span")
        .child(el("span").class("visually-hidden").text("Set b to "))
        .child(el("i").text("b"))
        .child(el("sub").text("max"))
        .text(if past == 0 { "" } else { " + 1" });
    el("button")
        .attr("type", "button")
        .class("button button-quiet")
        .bind("aria-current", move || here().to_string())
        .on("click", press)
        .child(name)
        .child(el("span").class("num").bind_text(size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::{Choice, Field, Method, Scenario, b_max, estimate};

    #[test]
    fn the_bar_has_one_length_for_every_batch_and_shows_the_first_that_does_not_fit() -> Result<(), bmax::Problem> {
        let cases = Method::ALL.iter().flat_map(|method| [1.0, 2.0, 8.0, 512.0].map(|gpus| (*method, gpus)));
        for (method, gpus) in cases {
            let scenario = Scenario { method, ..Scenario::default() }.with_number(Field::Gpus, gpus)?;
            let answer = b_max(&scenario);
            let lengths = [1, 3, 4, 64].map(|batch| length(&estimate(&scenario.with_batch(batch)), &answer));
            assert!(lengths.iter().all(|length| *length == lengths[0]));
            let too_many = scenario.with_batch(answer.batch().unwrap_or(0) + 1);
            assert!(estimate(&too_many).peak().bytes < lengths[0], "{gpus} GPUs");
        }
        Ok(())
    }
}
