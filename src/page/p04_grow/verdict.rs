//! Whether the chosen micro-batch fits, and by how much, in one sentence.

use bmax::{Answer, Balance, Choice, Estimate, Method, Scenario, estimate};

use super::super::answer_bar;
use super::super::outlooks::{at_instant, standing};
use crate::site::{Facts, Live, format};

/// The total and its verdict, and the same micro-batch by the methods that are not chosen.
pub fn draw(live: &Live, facts: &Facts) {
    let used = format::digits(facts.estimate.peak().bytes.gib(), 1);
    live.text("total", &format!("{used} / {}", format::gib(facts.estimate.usable())));
    live.attr("result", "data-verdict", standing(facts).1);
    live.text("verdict", &said(facts));
    let mut others = String::new();
    for (method, answer) in &facts.others {
        let scenario = Scenario { method: *method, ..facts.scenario };
        others += &other_sentence(*method, scenario.recipe.batch, &estimate(&scenario), answer);
        others.push(' ');
    }
    live.text("other", others.trim_end());
}

/// The verdict on the chosen micro-batch, with the outlook and the instant where there are any.
fn said(facts: &Facts) -> String {
    let mut said = sentence(&facts.estimate, &facts.answer, facts.scenario.recipe.batch);
    if facts.is_ledger() {
        if standing(facts).0 == "likely fits" {
            let safe = format::answer(&facts.range.safe);
            said += &format!(" It would not if all unknowns turned out badly: safe is {safe}.");
        }
        said += &format!(" Most is alive {}.", at_instant(facts.estimate.peak().instant));
    }
    said
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
    use crate::site::facts_of;
    use bmax::Field;

    fn workshop() -> Scenario {
        Scenario { method: Method::Workshop, ..Scenario::default() }
    }

    fn said(scenario: Scenario) -> String {
        super::said(&facts_of(scenario))
    }

    #[test]
    fn the_worked_7b_example_is_told_as_the_table_below_it_tells_it() {
        let at = |batch| said(workshop().with_batch(batch));
        assert_eq!(at(1), "Fits: 42.0 GiB stay free, enough for 2 more sequences.");
        assert_eq!(at(2), "Fits: 25.0 GiB stay free, enough for 1 more sequence.");
        assert_eq!(at(3), "The last that fits: 7.96 GiB stay free, and the next sequence needs 17.0 GiB.");
        assert_eq!(at(4), "Does not fit: 9.04 GiB over the usable memory, 1.04 GiB over the whole GPU.");
    }

    #[test]
    fn a_step_between_usable_and_device_is_too_close() -> Result<(), bmax::Problem> {
        let scenario = workshop().with_batch(3).with_number(Field::Headroom, 25.0)?;
        assert!(said(scenario).starts_with("Too close: 4.04 GiB over the usable memory"), "{}", said(scenario));
        Ok(())
    }

    #[test]
    fn without_headroom_one_limit_is_named() -> Result<(), bmax::Problem> {
        let scenario = workshop().with_batch(5).with_number(Field::Headroom, 0.0)?;
        assert_eq!(said(scenario), "Does not fit: 18.0 GiB over the memory of the GPU.");
        Ok(())
    }

    #[test]
    fn the_ledger_names_the_moment_and_has_no_headroom_to_live_off() {
        let most = facts_of(Scenario::default()).answer.batch().expect("fits");
        let last = said(Scenario::default().with_batch(most));
        assert!(
            last.starts_with("The last that fits") && last.ends_with("Most is alive at “loss, backward”."),
            "{last}"
        );
        let over = said(Scenario::default().with_batch(most + 1));
        assert!(over.starts_with("Does not fit:") && over.contains("over the memory of the GPU."), "{over}");
    }
}
