//! The bar that stays in view: the answer, what is used, and what binds.

use std::time::Duration;

use bmax::{Answer, Balance, Choice};
use leptos::leptos_dom::helpers::{TimeoutHandle, set_timeout_with_handle};
use leptos::prelude::*;

use super::outlooks::{at_instant, standing};
use crate::site::dom::{El, el, keep};
use crate::site::{Facts, State, format};

/// The answer in one line, linked to the calculator. What matters less gives way on narrow screens.
pub fn answer_bar(state: State) -> El {
    let verdict = move || state.read(standing);
    let badge = el("span")
        .bind("class", move || format!("badge badge-{} answer-badge", verdict().1))
        .child(el("span").attr("aria-hidden", "true").bind_text(move || mark(verdict().1).to_owned()))
        .child(el("span").class("answer-word").bind_text(move || verdict().0.to_owned()));
    let binds = move || state.read(binds);
    el("div")
        .class("answer-line")
        .child(largest(state))
        .child(el("span").class("answer-method soft").bind_text(move || state.read(outlook)))
        .child(used(state))
        .child(badge)
        .child(el("span").class("answer-binds soft").bind_text(binds))
        .child(spoken_answer(state))
}

fn largest(state: State) -> El {
    let fits = move || state.read(|facts| facts.answer.batch().is_some());
    let answer = move || state.read(|facts| format::answer(&facts.answer));
    let symbol = el("span").class("answer-symbol").child(el("i").text("b")).child(el("sub").text("max"));
    el("a")
        .class("answer-figure")
        .attr("href", "#calculator")
        .toggle_class("answer-none", move || !fits())
        .child(symbol)
        .bind_text(move || if fits() { " = " } else { ": " }.to_owned())
        .child(el("strong").class("num").attr("data-testid", "bar-answer").bind_text(answer))
}

fn used(state: State) -> El {
    let batch = move || state.read(|facts| format!(" = {}: ", format::count(facts.scenario.recipe.batch)));
    // One text, so that its beginning stays in its place whatever its length.
    let used = move || {
        state.read(|facts| {
            let used = format::digits(facts.estimate.peak().bytes.gib(), 1);
            format!("{used} / {}", format::gib(facts.estimate.usable()))
        })
    };
    el("span")
        .class("answer-used num")
        .child(el("span").class("answer-batch soft").child(el("i").text("b")).bind_text(batch))
        .child(el("span").bind_text(used))
}

/// The sign that stands for a verdict beside its colour.
fn mark(kind: &str) -> &'static str {
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
fn binds(facts: &Facts) -> String {
    let short = match &facts.answer {
        Answer::Fits(room) if room.capped => return "nothing binds within the range".to_owned(),
        Answer::Fits(room) => format!("next sequence lacks {}", format::memory(room.next_lacks)),
        Answer::Infeasible(reason) => {
            format!("{} bind: {} over", facts.limit.largest.bucket.name(), format::memory(reason.over))
        }
    };
    if facts.is_ledger() { format!("{short} {}", at_instant(facts.limit.instant)) } else { short }
}

/// Speaks the answer to assistive technology once the reader has stopped changing it; while a slider
/// moves, every step would be an interruption.
fn spoken_answer(state: State) -> El {
    const SETTLE: Duration = Duration::from_millis(800);
    let spoken = RwSignal::new(String::new());
    let pending = StoredValue::new(None::<TimeoutHandle>);
    let first = StoredValue::new(true);
    keep(Box::new(move || {
        let text = state.read(sentence);
        if first.get_value() {
            first.set_value(false);
            return;
        }
        if let Some(earlier) = pending.get_value() {
            earlier.clear();
        }
        pending.set_value(set_timeout_with_handle(move || spoken.set(text), SETTLE).ok());
    }));
    let status = el("span").class("visually-hidden").attr("role", "status").attr("data-testid", "spoken-answer");
    status.bind_text(move || spoken.get())
}

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
