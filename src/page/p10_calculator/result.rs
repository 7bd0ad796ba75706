//! The answer three times, the bar, what binds, what would help, and what nobody can know.

use bmax::{Balance, Change, Choice};

use super::super::outlooks::{beside, outlooks, standing};
use super::{explanation, unknowns};
use crate::site::dom::El;
use crate::site::views::{draw_bar, draw_legend};
use crate::site::{Facts, Live, State, format, keep_drawn};

/// Everything that follows from the form.
pub fn bind(state: State, panel: &El) {
    panel.place("outlooks", outlooks(state, panel.part("answer")));
    panel.place("beside", beside(state));
    keep_drawn(state, panel, draw, press);
}

fn draw(live: &Live) {
    live.facts(|facts| {
        live.text("method", facts.scenario.method.label());
        live.text("answer", &format::answer(&facts.answer));
        // Words in place of a number would not fit beside the other answers at the size of a number.
        live.class("answer", "readout-s", facts.answer.batch().is_none());
        conflicts(live, facts);
        memory(live, facts);
        explanation::draw(live, facts);
        unknowns::draw(live, facts);
    });
    explanation::draw_helpful(live);
}

/// Contradictory settings, each with the press that mends it.
fn conflicts(live: &Live, facts: &Facts) {
    let found = facts.scenario.conflicts();
    live.show("conflicts", !found.is_empty());
    for (position, (item, conflict)) in live.copies("conflicts", found.len()).iter().zip(found).enumerate() {
        let value = match conflict.mend {
            Change::Number(_, nearest) => format::input(nearest),
            Change::Word(word) => word.option().label.to_owned(),
            _ => String::new(),
        };
        item.write("", &[conflict.message, conflict.mend.name().to_owned(), value]);
        item.attr("mend", "data-press", &position.to_string());
    }
}

/// The memory of one GPU at the chosen micro-batch.
fn memory(live: &Live, facts: &Facts) {
    let recipe = &facts.scenario.recipe;
    live.write("bar-title", &[format::counted(recipe.batch, "sequence", "sequences"), format::count(recipe.sequence)]);
    let most = facts.answer.batch();
    live.say("use-b-max", if most.is_some() { "some" } else { "none" }, &[format::count(most.unwrap_or(0))]);
    let idle = most.is_none_or(|batch| batch == recipe.batch);
    live.attr("use-b-max", "aria-disabled", if idle { "true" } else { "false" });
    draw_bar(&live.place("bar"), &facts.estimate, None);
    draw_legend(&live.place("legend"), &facts.estimate);
    let (verdict, class) = standing(facts);
    live.text("badge", verdict);
    live.attr("badge", "class", &("badge badge-".to_owned() + class));
    let (case, by) = match facts.estimate.balance() {
        Balance::Free(free) if facts.is_ledger() => ("free", free),
        Balance::Free(free) => ("below", free),
        Balance::Close(over) => ("close", over),
        Balance::Over(over) => ("over", over),
    };
    live.say("balance", case, &[format::memory(by)]);
}

/// Chooses the largest micro-batch, or mends a conflict. The button of a conflict goes with it, so the
/// keyboard goes on from the panel.
fn press(live: &Live, word: &str) {
    let state = live.state();
    if word == "b-max" {
        if let Some(batch) = state.peek(|facts| facts.answer.batch()) {
            state.change(|scenario| scenario.with_batch(batch));
        }
        return;
    }
    let conflicts = state.peek(|facts| facts.scenario.conflicts());
    if let Some(conflict) = word.parse().ok().and_then(|position: usize| conflicts.into_iter().nth(position)) {
        state.change(|scenario| conflict.mend.apply(scenario));
        live.focus("");
    }
}
