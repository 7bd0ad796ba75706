//! Walking through the attempts, by hand or by the clock.

use std::cell::RefCell;
use std::time::Duration;

use bmax::search::{Probe, by_running_out};
use leptos::prelude::*;

use crate::site::Live;

/// Time that an attempt stays before the next one is made.
const PACE: Duration = Duration::from_millis(800);

/// How many attempts have been made.
///
/// A position belongs to the attempts it was reached in. When the scenario changes them it counts no
/// more, and the search stands at its start again without anything having to reset it.
struct Player {
    /// The attempts that the position belongs to.
    of: Vec<Probe>,
    /// The position.
    made: usize,
    /// Whether the clock runs.
    playing: bool,
    /// Counts the moves, so that a clock knows whether it has been overtaken.
    moves: u32,
}

thread_local! {
    /// There is one search on the page.
    static PLAYER: RefCell<Player> =
        const { RefCell::new(Player { of: Vec::new(), made: 0, playing: false, moves: 0 }) };
}

/// How many attempts have been made and whether the next one comes by itself, which this sees to.
pub fn position(live: &Live, trace: &[Probe]) -> (usize, bool) {
    PLAYER.with_borrow(|player| {
        let counts = player.of == trace;
        let playing = player.playing && counts;
        if playing {
            let (live, moves) = (live.clone(), player.moves);
            set_timeout(
                move || {
                    if PLAYER.with_borrow(|player| player.moves == moves) {
                        press(&live, "");
                        live.draw_again();
                    }
                },
                PACE,
            );
        }
        (if counts { player.made } else { 0 }, playing)
    })
}

/// Starts the clock, from the beginning when the search is over, or stops it; goes an attempt on or
/// back or to the start and stops the clock; or, for no word, goes on by the clock. Where the reader
/// asks for less motion there is no clock: all attempts are there at once.
pub fn press(live: &Live, word: &str) {
    let trace = live.state().peek(|facts| by_running_out(&facts.scenario));
    let count = trace.len();
    PLAYER.with_borrow_mut(|player| {
        let counts = player.of == trace;
        let (made, playing) = if counts { (player.made, player.playing) } else { (0, false) };
        let (made, playing) = match word {
            "" if playing => (made + 1, true),
            "play" if playing => (made, false),
            "play" if prefers_less_motion() => (count, false),
            "play" => (if made < count { made } else { 0 }, true),
            "step" if made < count => (made + 1, false),
            "back" if made > 0 => (made - 1, false),
            "restart" if made > 0 => (0, false),
            _ => return,
        };
        *player = Player { of: trace, made, playing: playing && made < count, moves: player.moves.wrapping_add(1) };
    });
}

fn prefers_less_motion() -> bool {
    let query = window().match_media("(prefers-reduced-motion: reduce)").ok().flatten();
    query.is_some_and(|query| query.matches())
}
