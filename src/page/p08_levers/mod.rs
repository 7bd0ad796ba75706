//! Single changes to the current configuration, ranked by what they gain, each applied and undone
//! with one press.

mod applied;
mod board;
mod row;
mod text;

use std::rc::Rc;

use bmax::Choice;
use leptos::prelude::*;

use crate::site::dom::{El, el};
use crate::site::{State, format};
use applied::{History, applied_changes};
use board::Board;
use row::{Apply, idle_row, lever_row};
pub use text::describe;

/// The ranked list, what was applied from it, and what would gain nothing.
pub fn levers(state: State) -> El {
    let board = Memo::new(move |_| Board::of(&state.scenario.get()));
    let history = History::new(state);
    let applied = applied_changes(&history);
    let apply: Apply = Rc::new(move |change| history.apply(change));
    el("div").class("levers").children(vec![now(state), applied, gaining(board, apply.clone()), idle(board, apply)])
}

/// Where the configuration stands before any lever.
fn now(state: State) -> El {
    let method = move || state.scenario.with(|scenario| scenario.method.label()).to_owned();
    let idle = move || state.read(|facts| facts.answer.batch().is_none());
    let symbol = el("span").toggle("hidden", idle).child(el("i").text("b")).child(el("sub").text("max")).text(" = ");
    let answer = el("output")
        .class("num")
        .attr("data-testid", "levers-now")
        .bind_text(move || state.read(|facts| format::answer(&facts.answer)));
    el("p")
        .class("levers-now")
        .text("Now, by the ")
        .child(el("span").class("levers-method").bind_text(method))
        .text(" method: ")
        .child(symbol)
        .child(answer)
        .child(el("span").toggle("hidden", idle).text(" sequences per GPU"))
}

/// The changes that make room, the strongest first.
fn gaining(board: Memo<Board>, apply: Apply) -> El {
    let rows = move || {
        board.with(|board| {
            let row = |lever| lever_row(lever, board.most, board.tokens(lever), apply.clone());
            board.gaining.iter().copied().map(row).collect()
        })
    };
    let none = move || board.with(|board| board.gaining.is_empty());
    let list = el("ol")
        .class("levers-list")
        .attr("aria-label", "Changes that make room, the strongest first")
        .toggle("hidden", none)
        .live(rows);
    let nothing = el("p")
        .class("levers-none")
        .toggle("hidden", move || !none())
        .text("No single change makes room. Apply two or more of these; each says what would still be missing.");
    el("div").class("levers-gaining").child(list).child(nothing)
}

/// The changes that would gain nothing by themselves, and why. They are open when there is nothing
/// else, because together they may still help.
fn idle(board: Memo<Board>, apply: Apply) -> El {
    let rows = move || {
        board.with(|board| board.idle.iter().map(|(change, why)| idle_row(*change, why, apply.clone())).collect())
    };
    let count = move || board.with(|board| board.idle.len() as u32);
    let title = move || format!("No gain here: {}, and why", format::counted(count(), "change", "changes"));
    // As a memo, so that only a change of it opens or closes what the reader may have opened.
    let alone = Memo::new(move |_| board.with(|board| board.gaining.is_empty()));
    el("details")
        .class("levers-idle")
        .attr("data-testid", "levers-idle")
        .toggle("hidden", move || count() == 0)
        .flag("open", move || alone.get())
        .child(el("summary").bind_text(title))
        .child(el("ul").class("levers-list").live(rows))
}
