//! The empirical finder, attempt by attempt, beside the division that gives the same number.

mod attempts;
mod closed_form;
mod player;
mod track;
mod words;

use leptos::prelude::*;

use crate::site::State;
use crate::site::dom::{El, el};
use player::Player;

/// The search on one side, the closed form on the other, and what both say.
pub fn oom_search(state: State) -> El {
    let player = Player::new(state);
    let search = el("div")
        .class("oom-search")
        .child(buttons(player))
        .child(current_step(state, player))
        .child(track::track(player))
        .children(attempts::attempts(state, player));
    let body = el("div").class("oom-body").child(search).child(closed_form::closed_form(state, player));
    el("div").class("oom").child(body)
}

/// Play or pause, one attempt on, one back, and the start.
fn buttons(player: Player) -> El {
    let play = move || match (player.is_playing(), player.is_over()) {
        (true, _) => "Pause",
        (false, true) => "Play again",
        (false, false) => "Play",
    };
    el("div")
        .class("button-row")
        .attr("role", "group")
        .attr("aria-label", "The search")
        .child(
            el("button")
                .attr("type", "button")
                .class("button oom-play")
                .bind_text(move || play().to_owned())
                .on("click", move |_| player.play_or_pause()),
        )
        .child(press(player, "Step", "One attempt on", Player::is_over, |player| player.go(1)))
        .child(press(player, "Back", "One attempt back", Player::is_at_start, |player| player.go(-1)))
        .child(press(player, "Restart", "Restart the search", Player::is_at_start, Player::restart))
}

/// A button that may have nothing to do. It stays focusable then, so that somebody who presses it
/// with a key until the end does not lose their place.
///
/// It shows the word `label`; `name`, what it does, is read out after the word. While `idle` holds
/// there is nothing to do, and otherwise `act` does it.
fn press(player: Player, label: &str, name: &str, idle: fn(Player) -> bool, act: fn(Player)) -> El {
    el("button")
        .attr("type", "button")
        .class("button button-quiet")
        .bind("aria-disabled", move || idle(player).to_string())
        .attr("title", name)
        .on("click", move |_| {
            if !untrack(|| idle(player)) {
                act(player);
            }
        })
        .text(label)
}

/// What the search is doing now, in words. It is spoken when the reader steps, not while it plays
/// and not when it starts anew because something else on the page has changed.
fn current_step(state: State, player: Player) -> El {
    let live = move || if player.is_playing() || player.is_at_start() { "off" } else { "polite" };
    let text = move || player.trace.with(|trace| state.read(|facts| words::step(trace, player.shown(), &facts.answer)));
    el("p")
        .class("oom-step")
        .bind("aria-live", move || live().to_owned())
        .attr("data-testid", "search-step")
        .bind_text(text)
}
