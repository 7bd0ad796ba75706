//! Single changes to the current configuration, ranked by what they gain, each applied and undone
//! with one press.

mod applied;
mod board;
mod row;
mod text;

use bmax::Choice;
use bmax::levers::{Change, Lever};
use leptos::html;
use leptos::prelude::*;

use crate::site::{State, format};
use applied::{Applied, AppliedChanges};
use board::Board;
use row::{IdleRow, LeverRow};
pub use text::describe;

/// The ranked list, what was applied from it, and what would gain nothing.
#[component]
pub fn Levers(state: State) -> impl IntoView {
    let board = Memo::new(move |_| Board::of(&state.scenario.get()));
    let applied = RwSignal::new(Vec::<Applied>::new());
    let region = NodeRef::<html::Div>::new();
    let apply = Callback::new(move |change: Change| {
        applied::apply(state, applied, change);
        // The pressed button leaves the list; without this the keyboard would start over at the top
        // of the page.
        if let Some(region) = region.get_untracked() {
            _ = region.focus();
        }
    });
    view! {
        <div class="levers">
            <Now state />
            <AppliedChanges state applied region />
            <Gaining board apply />
            <Idle board apply />
        </div>
    }
}

/// Where the configuration stands before any lever.
#[component]
fn Now(state: State) -> impl IntoView {
    let method = move || state.scenario.with(|scenario| scenario.method.label());
    let idle = move || state.answer.with(|answer| answer.batch().is_none());
    view! {
        <p class="levers-now">
            "Now, by the "<span class="levers-method">{method}</span>" method: "
            <span hidden=idle><i>"b"</i><sub>"max"</sub>" = "</span>
            <output class="num" data-testid="levers-now">{move || format::answer(&state.answer.get())}</output>
            <span hidden=idle>" sequences per GPU"</span>
        </p>
    }
}

/// The changes that make room, the strongest first.
#[component]
fn Gaining(board: Memo<Board>, apply: Callback<Change>) -> impl IntoView {
    let rows = move || {
        board.with(|board| {
            let row =
                |lever: &Lever| view! { <LeverRow lever=*lever most=board.most tokens=board.tokens(*lever) apply /> };
            board.gaining.iter().map(row).collect_view()
        })
    };
    let none = move || board.with(|board| board.gaining.is_empty());
    view! {
        <div class="levers-gaining">
            <ol class="levers-list" aria-label="Changes that make room, the strongest first" hidden=none>{rows}</ol>
            <p class="levers-none" hidden=move || !none()>
                "No single change makes room. Apply two or more of these; each says what would still be missing."
            </p>
        </div>
    }
}

/// The changes that would gain nothing by themselves, and why. They are open when there is nothing
/// else, because together they may still help.
#[component]
fn Idle(board: Memo<Board>, apply: Callback<Change>) -> impl IntoView {
    let rows = move || {
        board.with(|board| {
            board
                .idle
                .iter()
                .map(|(change, why)| view! { <IdleRow change=*change why=why.clone() apply /> })
                .collect_view()
        })
    };
    let count = move || board.with(|board| board.idle.len() as u32);
    let title = move || format!("No gain here: {}, and why", format::counted(count(), "change", "changes"));
    // As a memo, so that only a change of it opens or closes what the reader may have opened.
    let alone = Memo::new(move |_| board.with(|board| board.gaining.is_empty()));
    view! {
        <details class="levers-idle" data-testid="levers-idle" hidden=move || count() == 0 prop:open=alone>
            <summary>{title}</summary>
            <ul class="levers-list">{rows}</ul>
        </details>
    }
}
