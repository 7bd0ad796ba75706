//! The slider that fills the device, one sequence at a time.

pub mod batch_slider;
mod verdict;

use bmax::{Answer, Bytes, Estimate};

use crate::site::views::{draw_bar, draw_legend};
use crate::site::{Facts, Live, State, format, mount_prepared};

/// Mounts the figure of this section.
pub fn mount(state: State) {
    mount_prepared("grow", state, batch_slider::listen, |live| live.facts(|facts| draw(live, facts)), press);
}

/// The batch on a slider, the memory it takes as a bar, and the verdict in one sentence.
fn draw(live: &Live, facts: &Facts) {
    let Facts { estimate, answer, .. } = facts;
    batch_slider::draw(live, facts);
    verdict::draw(live, facts);
    draw_bar(&live.place("bar"), estimate, Some(length(estimate, answer)));
    draw_legend(&live.place("legend"), estimate);
    let capped = matches!(answer, Answer::Fits(room) if room.capped);
    for (word, off) in [("last", answer.batch().is_none()), ("next", capped)] {
        let value = target(answer, word);
        let size = if value == 0 { "none".to_owned() } else { format!("= {}", format::count(value)) };
        live.text(&format!("{word}-size"), &size);
        live.attr(word, "aria-current", if facts.scenario.recipe.batch == value { "true" } else { "false" });
        _ = live.place(word).element().toggle_attribute_with_force("disabled", off);
    }
}

/// Goes to the last batch that fits or to the first that does not.
fn press(live: &Live, word: &str) {
    let value = live.state().peek(|facts| target(&facts.answer, word));
    live.state().change(|scenario| scenario.with_batch(value));
}

/// Where a button leads: b_max, which is 0 when nothing fits, or one more.
fn target(answer: &Answer, word: &str) -> u32 {
    answer.batch().unwrap_or(0).saturating_add(u32::from(word == "next"))
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
