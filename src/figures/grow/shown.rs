//! What the figure shows: the bar, the verdict, and where its buttons lead.

use bmax::chart::MemoryBar;
use bmax::{Answer, Balance, Choice, Estimate, Method, Scenario, estimate, others};

use crate::site::{Facts, Standing, format};

/// What a button leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct Jump {
    /// The micro-batch; 0 where there is none.
    pub batch: u32,
    /// The same in words.
    pub size: String,
    /// Whether it is the chosen one.
    pub chosen: bool,
    /// Whether there is nothing to lead to.
    pub off: bool,
}

/// What the figure shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The bar and its legend.
    pub bar: MemoryBar,
    /// What is used, of what may be used.
    pub total: String,
    /// Whether the chosen micro-batch fits: the style sheet's word.
    pub kind: &'static str,
    /// The verdict in a sentence or two.
    pub verdict: String,
    /// The same micro-batch by the methods that are not chosen.
    pub others: String,
    /// The last that fits.
    pub last: Jump,
    /// The first that does not.
    pub next: Jump,
}

impl Shown {
    /// What these facts show.
    pub fn of(facts: &Facts) -> Self {
        let Facts { scenario, estimate, answer, .. } = facts;
        let used = format::digits(estimate.peak().bytes.gib(), 1);
        let others = facts.others.iter().map(|(method, answer)| other(*method, scenario, answer));
        let most = answer.batch().unwrap_or(0);
        let capped = matches!(answer, Answer::Fits(room) if room.capped);
        Self {
            bar: facts.bar(),
            total: format!("{used} / {}", format::gib(estimate.usable())),
            kind: Standing::of(facts).colour(),
            verdict: said(facts),
            others: others.collect::<Vec<_>>().join(" "),
            last: Jump::to(most, facts, answer.batch().is_none()),
            next: Jump::to(most.saturating_add(1), facts, capped),
        }
    }
}

impl Jump {
    fn to(batch: u32, facts: &Facts, off: bool) -> Self {
        let size = if batch == 0 { "none".to_owned() } else { format!("= {}", format::count(batch)) };
        Self { batch, size, chosen: facts.scenario.recipe.batch == batch, off }
    }
}

/// The verdict on the chosen micro-batch, with the outlook and the instant where there are any.
fn said(facts: &Facts) -> String {
    if let Answer::Refused(refusal) = &facts.answer {
        return format::refusal(refusal, facts.scenario.unit());
    }
    let mut said = sentence(&facts.estimate, &facts.answer, &facts.scenario);
    if facts.is_ledger() {
        if Standing::of(facts) == Standing::LikelyFits {
            let safe = format::answer(&facts.range.safe);
            said += &format!(" The safe answer is {safe}.");
        }
        said += &format!(" The peak is {}.", format::at_instant(facts.estimate.peak().instant));
    }
    said
}

fn sentence(estimate: &Estimate, answer: &Answer, scenario: &Scenario) -> String {
    let (batch, unit) = (scenario.recipe.batch, scenario.unit());
    match estimate.balance() {
        Balance::Free(free) => {
            let left = format::memory(free);
            match answer {
                Answer::Fits(room) if room.capped => format!("Fits: {left} stay free."),
                Answer::Fits(room) if room.batch == batch && room.by_host => {
                    let [next, lacks] = [unit.one().to_owned(), format::memory(room.next_lacks)];
                    format!("The last that fits: with the next {next} each machine lacks {lacks} of CPU memory.")
                }
                Answer::Fits(room) if room.batch == batch => {
                    let [next, needs] = [unit.one().to_owned(), format::memory(room.per_sequence)];
                    format!("The last that fits: {left} stay free, and the next {next} needs {needs}.")
                }
                Answer::Fits(room) => {
                    let more = room.batch.saturating_sub(batch);
                    let more =
                        format!("{} more {}", format::count(more), if more == 1 { unit.one() } else { unit.many() });
                    let room = if room.by_host { "CPU memory has room" } else { "enough" };
                    format!("Fits: {left} stay free, {room} for {more}.")
                }
                Answer::Infeasible(_) | Answer::Refused(_) => format!("Fits: {left} stay free."),
            }
        }
        Balance::Close(over) => {
            format!("Too close: {} over the usable memory. The step would use the headroom.", format::memory(over))
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
        Balance::LacksHost(lacks) => {
            format!("Does not fit: each machine lacks {} of CPU memory.", format::memory(lacks))
        }
    }
}

/// The chosen micro-batch by another method.
fn other(method: Method, scenario: &Scenario, answer: &Answer) -> String {
    if let Some(lacking) = others::lacking(method, scenario) {
        let method = method.label().to_ascii_lowercase();
        return format!("The {method} method cannot say: it has no input for {}.", format::lacking(&lacking));
    }
    let scenario = Scenario { method, ..*scenario };
    let (batch, estimate) = (scenario.recipe.batch, estimate(&scenario));
    let word = Standing::by(estimate.balance()).word();
    format!(
        "By the {} method, b = {} takes {} and {word}; {}.",
        method.label().to_ascii_lowercase(),
        format::count(batch),
        format::memory(estimate.peak().bytes),
        match answer {
            Answer::Fits(_) => format!("the most is {}", format::answer(answer)),
            Answer::Infeasible(_) => "no batch does".to_owned(),
            Answer::Refused(_) => "it has no answer".to_owned(),
        }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use crate::site::facts_of;
    use bmax::{Field, b_max};
    use proptest::prelude::*;

    fn workshop() -> Scenario {
        Scenario { method: Method::Workshop, ..Scenario::workshop() }
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
    fn a_step_between_usable_and_device_is_too_close() -> Result<(), bmax::InputError> {
        let scenario = workshop().with_batch(3).with_number(Field::Headroom, 25.0)?;
        assert!(said(scenario).starts_with("Too close: 4.04 GiB over the usable memory"), "{}", said(scenario));
        Ok(())
    }

    #[test]
    fn without_headroom_one_limit_is_named() -> Result<(), bmax::InputError> {
        let scenario = workshop().with_batch(5).with_number(Field::Headroom, 0.0)?;
        assert_eq!(said(scenario), "Does not fit: 18.0 GiB over the memory of the GPU.");
        Ok(())
    }

    #[test]
    fn the_ledger_names_the_moment_and_has_no_headroom_to_use() {
        let most = facts_of(Scenario::workshop()).answer.batch().expect("fits");
        let last = said(Scenario::workshop().with_batch(most));
        assert!(last.starts_with("The last that fits") && last.ends_with("The peak is at “loss, backward”."), "{last}");
        let over = said(Scenario::workshop().with_batch(most + 1));
        assert!(over.starts_with("Does not fit:") && over.contains("over the memory of the GPU."), "{over}");
    }

    #[test]
    fn the_bar_has_one_length_for_every_batch_and_shows_the_first_that_does_not_fit() -> Result<(), bmax::InputError> {
        let cases = Method::ALL.iter().flat_map(|method| [1.0, 2.0, 8.0, 512.0].map(|gpus| (*method, gpus)));
        for (method, gpus) in cases {
            let scenario = Scenario { method, ..Scenario::workshop() }.with_number(Field::Gpus, gpus)?;
            let answer = b_max(&scenario);
            let lengths =
                [1, 3, 4, 64].map(|batch| MemoryBar::steady_length(&estimate(&scenario.with_batch(batch)), &answer));
            assert!(lengths.iter().all(|length| *length == lengths[0]));
            let too_many = scenario.with_batch(answer.batch().unwrap_or(0) + 1);
            assert!(estimate(&too_many).peak().bytes < lengths[0], "{gpus} GPUs");
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_gets_a_verdict(scenario in any_scenario()) {
            texts_are_sound(&Shown::of(&facts_of(scenario)));
        }
    }
}
