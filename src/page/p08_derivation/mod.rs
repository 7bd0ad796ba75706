//! The derivation with the reader's numbers in every line, and the worked example.

mod lines;
mod quantity;
mod steps;
mod worked;

use std::cell::RefCell;

use bmax::{Answer, Division, Method};
use leptos::prelude::*;

use super::outlooks::at_instant;
use crate::site::dom::{El, el, keep};
use crate::site::{Facts, State, format};
use lines::{both, entries_line, entry_line, formula_line, title};
use quantity::{amount, equation, fixed, gpu, mi, mn, mo, mrow, one_sequence, usable};
use steps::Steps;
pub use worked::worked_example;

/// Each line of the derivation, in symbols and with the current numbers.
pub fn derivation(state: State) -> El {
    let list = el("ol").class("derivation");
    let lines = list.clone();
    let drawn = RefCell::new(None);
    keep(Box::new(move || {
        // The micro-batch changes no line.
        let scenario = state.asked(|scenario| *scenario).with_batch(1);
        if *drawn.borrow() != Some(scenario) {
            let steps = Steps::of(&scenario);
            lines.clone().clear().children(vec![
                everything_fits(&steps),
                usable_memory(&steps),
                fixed_part(&steps),
                activations(&steps),
                solved(&steps),
            ]);
            if let Some((division, answer)) = &steps.ledger {
                _ = lines.clone().child(by_the_ledger(*division, answer));
            }
            drawn.replace(Some(scenario));
        }
    }));
    // The list says whose derivation it is; the reader should know that before its first line.
    let whose = el("p").class("figure-note derivation-whose").attr("data-testid", "derivation-whose");
    el("div").child(whose.bind_text(move || state.read(whose_derivation))).child(list)
}

/// Under the ledger: that another method is derived, and what each answers.
fn whose_derivation(facts: &Facts) -> String {
    let Some((_, workshop)) = facts.others.iter().find(|(method, _)| *method == Method::Workshop) else {
        return "This is the method in use.".to_owned();
    };
    match facts.scenario.method {
        Method::Paper => "This is the paper’s method, which is in use.".to_owned(),
        _ => format!(
            "These lines are the workshop’s method with your numbers; its answer is {}. The ledger, which is in use, answers {}: it has too many entries for a derivation, but ends in the same division, added as the last line.",
            format::answer(workshop),
            format::answer(&facts.answer)
        ),
    }
}

/// The last step by the ledger's own numbers.
fn by_the_ledger(division: Division, answer: &Answer) -> El {
    let Division { usable, fixed, per_sequence, .. } = division;
    let title = format!(
        "The same division by the ledger, {}, the moment that stops the next sequence.",
        at_instant(division.instant)
    );
    let numbers = steps::divided(usable, fixed, per_sequence, answer);
    formula_line(el("p").class("derivation-title").text(&title), steps::solved_in_symbols(), numbers)
        .attr("data-testid", "derivation-ledger")
}

fn everything_fits(steps: &Steps) -> El {
    let written =
        |usable: El, fixed: El, one: El| equation(vec![usable, mo("≥"), fixed, mo("+"), mi("b"), mo("·"), one]);
    let symbols = written(usable(), fixed(), one_sequence());
    let numbers = written(amount(steps.usable), amount(steps.fixed), amount(steps.one_sequence));
    formula_line(title("Everything must fit."), symbols, numbers)
}

fn usable_memory(steps: &Steps) -> El {
    let kept = |headroom: El, memory: El, times: &str| {
        let factor = mrow(vec![mo("("), mn("1"), mo("−"), headroom, mo(")")]);
        mrow(vec![factor, mo(times), memory])
    };
    let symbols = equation(vec![usable(), mo("="), kept(mi("r"), gpu(), "·")]);
    let headroom = mn(&steps.headroom_text());
    let numbers = equation(vec![kept(headroom, amount(steps.memory), "×"), mo("="), amount(steps.usable)]);
    let title = title("A share ").child(el("i").text("r")).text(" of the GPU is kept free as headroom.");
    formula_line(title, symbols, numbers)
}

fn fixed_part(steps: &Steps) -> El {
    entries_line(
        title("The fixed part, on each GPU: parameters, gradients and optimizer state."),
        steps.fixed_entries().map(|entry| entry_line(entry, &steps.values)).collect(),
        equation(vec![fixed(), mo("="), amount(steps.fixed)]),
    )
}

fn activations(steps: &Steps) -> El {
    entries_line(
        title("The activations of one sequence, ").child(el("i").text("b")).text(" = 1."),
        steps.activations().map(|entry| entry_line(entry, &steps.values)).collect(),
        equation(vec![one_sequence(), mo("="), amount(steps.one_sequence)]),
    )
}

fn solved(steps: &Steps) -> El {
    let fits = if steps.fits() { "true" } else { "false" };
    el("li").class("derivation-line derivation-solved").attr("data-fits", fits).children(vec![
        title("Solve for ").child(el("i").text("b")).text(" and round down."),
        both(steps::solved_in_symbols(), steps.solved_in_numbers()),
        el("p").class("derivation-result").attr("data-testid", "derivation-result").text(&steps.conclusion()),
    ])
}
