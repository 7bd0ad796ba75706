//! The bar that stays in view: the answer, what is used, and what binds.

use std::cell::Cell;
use std::time::Duration;

use bmax::{Answer, Balance, Choice};
use leptos::leptos_dom::helpers::{TimeoutHandle, set_timeout_with_handle};

use super::outlooks::{at_instant, standing};
use crate::site::dom::{El, el, keep};
use crate::site::{Facts, State, format, write_text};

/// The answer in one line, linked to the calculator. What matters less gives way on narrow screens.
pub fn answer_bar(state: State) -> El {
    let span = |class: &str| el("span").class(class);
    let symbol = span("answer-symbol").child(el("i").text("b")).child(el("sub").text("max"));
    let [relation, used, mark] = [el("span"), el("span"), el("span").attr("aria-hidden", "true")];
    let answer = el("strong").class("num").attr("data-testid", "bar-answer");
    let [method, batch, word, binds] = ["answer-method soft", "num", "answer-word", "answer-binds soft"].map(span);
    let status = span("visually-hidden").attr("role", "status").attr("data-testid", "spoken-answer");
    let figure = el("a").attr("href", "#calculator");
    let badge = el("span");
    let line = el("div").class("answer-line").children(vec![
        figure.clone().children(vec![symbol, relation.clone(), answer.clone()]),
        method.clone(),
        span("answer-used num")
            .child(span("answer-batch soft").child(el("i").text("b")).child(batch.clone()))
            .child(used.clone()),
        badge.clone().child(mark.clone()).child(word.clone()),
        binds.clone(),
        status.clone(),
    ]);
    let pending = Cell::new(None::<TimeoutHandle>);
    let first = Cell::new(true);
    keep(Box::new(move || {
        state.read(|facts| {
            let write = |place: &El, text: &str| write_text(place.element(), text);
            let fits = facts.answer.batch().is_some();
            _ = figure.clone().class(if fits { "answer-figure" } else { "answer-figure answer-none" });
            write(&relation, if fits { " = " } else { ": " });
            write(&answer, &format::answer(&facts.answer));
            write(&method, &outlook(facts));
            write(&batch, &format!(" = {}: ", format::count(facts.scenario.recipe.batch)));
            // One text, so that its beginning stays in its place whatever its length.
            let peak = format::digits(facts.estimate.peak().bytes.gib(), 1);
            write(&used, &format!("{peak} / {}", format::gib(facts.estimate.usable())));
            let (verdict, kind) = standing(facts);
            _ = badge.clone().class(&format!("badge badge-{kind} answer-badge"));
            write(&mark, sign(kind));
            write(&word, verdict);
            write(&binds, &what_binds(facts));
            if first.replace(false) {
                return;
            }
            let (status, text) = (status.clone(), sentence(facts));
            let speak = move || write_text(status.element(), &text);
            if let Some(earlier) = pending.replace(set_timeout_with_handle(speak, SETTLE).ok()) {
                earlier.clear();
            }
        });
    }));
    line
}

/// The answer is spoken to assistive technology once the reader has stopped changing it for so long;
/// while a slider moves, every step would be an interruption.
const SETTLE: Duration = Duration::from_millis(800);

/// The sign that stands for a verdict beside its colour.
fn sign(kind: &str) -> &'static str {
    match kind {
        "good" => "✓",
        "warn" => "!",
        _ => "✕",
    }
}

/// How the chosen micro-batch stands, as a word and the class of its badge.
pub fn verdict(balance: Balance) -> (&'static str, &'static str) {
    match balance {
        Balance::Free(_) => ("fits", "good"),
        Balance::Close(_) => ("too close", "warn"),
        Balance::Over(_) => ("does not fit", "bad"),
    }
}

/// The method and, where unknowns part them, the safe and the optimistic answer.
fn outlook(facts: &Facts) -> String {
    let method = facts.scenario.method.label();
    let [safe, optimistic] = [facts.range.safe, facts.range.optimistic].map(|answer| format::answer(&answer));
    if safe == optimistic { format!("{method} method") } else { format!("{method}: safe {safe}, at best {optimistic}") }
}

/// What stops the next sequence, in a few words.
fn what_binds(facts: &Facts) -> String {
    let short = match &facts.answer {
        Answer::Fits(room) if room.capped => return "nothing binds within the range".to_owned(),
        Answer::Fits(room) => format!("next sequence lacks {}", format::memory(room.next_lacks)),
        Answer::Infeasible(reason) => {
            format!("{} bind: {} over", facts.limit.largest.bucket.name(), format::memory(reason.over))
        }
    };
    if facts.is_ledger() { format!("{short} {}", at_instant(facts.limit.instant)) } else { short }
}

/// The answer as it is spoken.
fn sentence(facts: &Facts) -> String {
    let method = facts.scenario.method.label();
    let most = match (&facts.answer, format::shortage(&facts.answer)) {
        (Answer::Fits(room), _) => {
            format!("{method} method: {} per GPU at most", format::counted(room.batch, "sequence", "sequences"))
        }
        (Answer::Infeasible(_), reason) => {
            return format!("{method} method: does not fit. {}", reason.unwrap_or_default());
        }
    };
    match facts.range.safe {
        safe if safe.batch() == facts.answer.batch() => most + ".",
        safe => format!("{most}; to be safe, {}.", format::answer(&safe)),
    }
}
