//! Whether the chosen micro-batch fits, and by how much, in one sentence.

use bmax::{Answer, Balance, Choice, Estimate, Method, estimate};

use super::super::answer_bar;
use crate::site::dom::{El, el};
use crate::site::{State, format};

/// The total, its verdict, and what the other method would say.
pub fn verdict(state: State) -> El {
    let total = move || {
        state.read(|facts| {
            let used = format::digits(facts.estimate.peak().bytes.gib(), 1);
            format!("{used} / {}", format::gib(facts.estimate.usable()))
        })
    };
    let kind = move || state.read(|facts| answer_bar::verdict(facts.estimate.balance()).1.to_owned());
    let sentence = move || state.read(|facts| sentence(&facts.estimate, &facts.answer, facts.scenario.recipe.batch));
    el("div").class("grow-result").bind("data-verdict", kind).children(vec![
        el("p")
            .class("grow-total")
            .child(el("span").class("readout num").attr("data-testid", "grow-total").bind_text(total))
            .child(el("span").class("soft small").text(" usable")),
        el("p").class("grow-verdict").attr("data-testid", "grow-verdict").bind_text(sentence),
    ])
}

/// The same micro-batch by the method that is not chosen.
pub fn other_verdict(state: State) -> El {
    let text = move || {
        state.read(|facts| {
            let mut other = facts.scenario;
            other.method = facts.other_method;
            other_sentence(other.method, other.recipe.batch, &estimate(&other), &facts.other_answer)
        })
    };
    el("p").class("soft small").attr("data-testid", "grow-other").bind_text(text)
}

fn sentence(estimate: &Estimate, answer: &Answer, batch: u32) -> String {
    match estimate.balance() {
        Balance::Free(free) => {
            let left = format::memory(free);
            match answer {
                Answer::Fits(room) if room.capped => format!("Fits: {left} stay free."),
                Answer::Fits(room) if room.batch == batch => {
                    format!(
                        "The last that fits: {left} stay free, and the next sequence needs {}.",
                        format::memory(room.per_sequence)
                    )
                }
                Answer::Fits(room) => {
                    let more = format::counted(room.batch.saturating_sub(batch), "more sequence", "more sequences");
                    format!("Fits: {left} stay free, enough for {more}.")
                }
                Answer::Infeasible(_) => format!("Fits: {left} stay free."),
            }
        }
        Balance::Close(over) => {
            format!(
                "Too close: {} over the usable memory, so the step would live off the headroom.",
                format::memory(over)
            )
        }
        Balance::Over(over) if estimate.reserved.get() > 0.0 => {
            let beyond = estimate.peak().bytes - estimate.usable();
            format!(
                "Does not fit: {} over the usable memory, {} over the whole GPU.",
                format::memory(beyond),
                format::memory(over)
            )
        }
        Balance::Over(over) => format!("Does not fit: {} over the memory of the GPU.", format::memory(over)),
    }
}

fn other_sentence(method: Method, batch: u32, estimate: &Estimate, answer: &Answer) -> String {
    let (word, _) = answer_bar::verdict(estimate.balance());
    format!(
        "By the {} method, b = {} takes {} and {word}; {}.",
        method.label().to_ascii_lowercase(),
        format::count(batch),
        format::memory(estimate.peak().bytes),
        match answer {
            Answer::Fits(_) => format!("the most is {}", format::answer(answer)),
            Answer::Infeasible(_) => "no batch does".to_owned(),
        }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::{Field, Scenario, b_max};

    fn said(scenario: Scenario) -> String {
        sentence(&estimate(&scenario), &b_max(&scenario), scenario.recipe.batch)
    }

    #[test]
    fn the_worked_7b_example_is_told_as_the_table_below_it_tells_it() {
        let at = |batch| said(Scenario::default().with_batch(batch));
        assert_eq!(at(1), "Fits: 42.0 GiB stay free, enough for 2 more sequences.");
        assert_eq!(at(2), "Fits: 25.0 GiB stay free, enough for 1 more sequence.");
        assert_eq!(at(3), "The last that fits: 7.96 GiB stay free, and the next sequence needs 17.0 GiB.");
        assert_eq!(at(4), "Does not fit: 9.04 GiB over the usable memory, 1.04 GiB over the whole GPU.");
    }

    #[test]
    fn a_step_between_usable_and_device_is_too_close() -> Result<(), bmax::Problem> {
        let scenario = Scenario::default().with_batch(3).with_number(Field::Headroom, 25.0)?;
        assert!(said(scenario).starts_with("Too close: 4.04 GiB over the usable memory"), "{}", said(scenario));
        Ok(())
    }

    #[test]
    fn without_headroom_one_limit_is_named() -> Result<(), bmax::Problem> {
        let scenario = Scenario::default().with_batch(5).with_number(Field::Headroom, 0.0)?;
        assert_eq!(said(scenario), "Does not fit: 18.0 GiB over the memory of the GPU.");
        Ok(())
    }
}
