//! Walking through the attempts, by hand or by the clock.

use std::time::Duration;

use bmax::search::{Probe, by_running_out};
use leptos::leptos_dom::helpers::{TimeoutHandle, set_timeout_with_handle};
use leptos::prelude::*;

use crate::site::State;

/// Time that an attempt stays before the next one is made.
const PACE: Duration = Duration::from_millis(800);

/// How far the search has come, and in which search that was.
#[derive(Clone, PartialEq)]
struct Position {
    of: Vec<Probe>,
    shown: usize,
    playing: bool,
}

/// The attempts and how many of them have been made.
///
/// A position belongs to the attempts it was reached in. When the scenario changes them it counts no
/// more, and the search stands at its start again without anything having to reset it.
#[derive(Clone, Copy)]
pub struct Player {
    /// Every attempt, in order.
    pub trace: Memo<Vec<Probe>>,
    position: RwSignal<Option<Position>>,
    current: Memo<(usize, bool)>,
}

impl Player {
    /// The search of a state, at its start.
    pub fn new(state: State) -> Self {
        let trace = Memo::new(move |_| by_running_out(&state.scenario.get()));
        let position = RwSignal::new(None::<Position>);
        let current = Memo::new(move |_| {
            trace.with(|trace| {
                position.with(|position| match position {
                    Some(position) if position.of == *trace => (position.shown, position.playing),
                    _ => (0, false),
                })
            })
        });
        let player = Self { trace, position, current };
        // The clock: each attempt that is shown while playing asks for the next one.
        Effect::new(move |waiting: Option<Option<TimeoutHandle>>| {
            if let Some(waiting) = waiting.flatten() {
                waiting.clear();
            }
            current.get().1.then(|| set_timeout_with_handle(move || player.advance(), PACE).ok()).flatten()
        });
        player
    }

    /// How many attempts have been made.
    pub fn shown(self) -> usize {
        self.current.get().0
    }

    /// Whether the clock runs.
    pub fn is_playing(self) -> bool {
        self.current.get().1
    }

    /// Whether the last attempt has been made.
    pub fn is_over(self) -> bool {
        self.shown() >= self.trace.with(Vec::len)
    }

    /// Starts the clock, from the beginning when the search is over, or stops it. Where the reader
    /// asks for less motion there is no clock: all attempts are there at once.
    pub fn play_or_pause(self) {
        let (shown, playing) = self.current.get_untracked();
        let count = self.trace.with_untracked(Vec::len);
        if playing {
            self.stand(shown, false);
        } else if prefers_less_motion() {
            self.stand(count, false);
        } else {
            self.stand(if shown < count { shown } else { 0 }, true);
        }
    }

    /// Goes some attempts on or back and stops the clock.
    pub fn go(self, steps: isize) {
        self.stand(self.current.get_untracked().0.saturating_add_signed(steps), false);
    }

    /// Goes back to the question.
    pub fn restart(self) {
        self.stand(0, false);
    }

    fn advance(self) {
        let (shown, playing) = self.current.get_untracked();
        if playing {
            self.stand(shown + 1, true);
        }
    }

    fn stand(self, shown: usize, playing: bool) {
        let of = self.trace.get_untracked();
        let shown = shown.min(of.len());
        let playing = playing && shown < of.len();
        self.position.set(Some(Position { of, shown, playing }));
    }
}

fn prefers_less_motion() -> bool {
    let query = window().match_media("(prefers-reduced-motion: reduce)").ok().flatten();
    query.is_some_and(|query| query.matches())
}
