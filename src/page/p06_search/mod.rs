//! The empirical finder, attempt by attempt, beside the division that gives the same number.

mod attempts;
mod closed_form;
mod player;
mod track;
mod words;

use leptos::prelude::*;

use crate::site::State;
use player::Player;

/// The search on one side, the closed form on the other, and what both say.
#[component]
pub fn OomSearch(state: State) -> impl IntoView {
    let player = Player::new(state);
    view! {
        <div class="oom">
            <div class="oom-body">
                <div class="oom-search">
                    <Buttons player />
                    <CurrentStep state player />
                    <track::Track player />
                    <attempts::Attempts state player />
                </div>
                <closed_form::ClosedForm state player />
            </div>
        </div>
    }
}

/// Play or pause, one attempt on, one back, and the start.
#[component]
fn Buttons(player: Player) -> impl IntoView {
    let (at_start, at_end) = (move || player.shown() == 0, move || player.is_over());
    let play = move || match (player.is_playing(), at_end()) {
        (true, _) => "Pause",
        (false, true) => "Play again",
        (false, false) => "Play",
    };
    view! {
        <div class="button-row" role="group" aria-label="The search">
            <button type="button" class="button oom-play" on:click=move |_| player.play_or_pause()>{play}</button>
            <Press label="Step" name="One attempt on" idle=Signal::derive(at_end) on_press=move || player.go(1) />
            <Press label="Back" name="One attempt back" idle=Signal::derive(at_start) on_press=move || player.go(-1) />
            <Press label="Restart" name="Restart the search" idle=Signal::derive(at_start) on_press=move || player.restart() />
        </div>
    }
}

/// A button that may have nothing to do. It stays focusable then, so that somebody who presses it
/// with a key until the end does not lose their place.
#[component]
fn Press(
    /// The visible word.
    label: &'static str,
    /// What it does, read out after the word.
    name: &'static str,
    /// Whether there is nothing to do.
    idle: Signal<bool>,
    /// Does it.
    on_press: impl Fn() + 'static,
) -> impl IntoView {
    view! {
        <button
            type="button"
            class="button button-quiet"
            aria-disabled=move || idle.get().to_string()
            title=name
            on:click=move |_| if !idle.get_untracked() { on_press() }
        >
            {label}
        </button>
    }
}

/// What the search is doing now, in words. It is spoken when the reader steps, not while it plays
/// and not when it starts anew because something else on the page has changed.
#[component]
fn CurrentStep(state: State, player: Player) -> impl IntoView {
    let live = move || if player.is_playing() || player.shown() == 0 { "off" } else { "polite" };
    let text = move || player.trace.with(|trace| words::step(trace, player.shown(), &state.answer.get()));
    view! { <p class="oom-step" aria-live=live data-testid="search-step">{text}</p> }
}
