//! Walking through the attempts, by hand or by the clock.

use std::cell::Cell;
use std::time::Duration;

use bmax::search::{Probe, by_running_out};
use leptos::leptos_dom::helpers::{TimeoutHandle, set_timeout_with_handle};
use leptos::prelude::*;

use crate::site::State;
use crate::site::dom::keep;

/// Time that an attempt stays before the next one is made.
const PACE: Duration = Duration::from_millis(800);

/// The attempts and how many of them have been made.
///
/// A position belongs to the attempts it was reached in. When the scenario changes them it counts no
/// more, and the search stands at its start again without anything having to reset it.
#[derive(Clone, Copy)]
pub struct Player {
    /// Every attempt, in order.
    pub trace: Memo<Vec<Probe>>,
    /// The attempts that the position belongs to.
    of: StoredValue<Vec<Probe>>,
    /// The position: how many attempts were made.
    made: RwSignal<u32>,
    /// Whether the clock was started.
    started: RwSignal<bool>,
    shown: Memo<u32>,
    playing: Memo<bool>,
}

impl Player {
    /// The search of a state, at its start.
    pub fn new(state: State) -> Self {
        let trace = Memo::new(move |_| by_running_out(&state.asked(|scenario| *scenario)));
        let (of, made, started) = (StoredValue::new(Vec::new()), RwSignal::new(0), RwSignal::new(false));
        // Both signals are read whether they count or not: a new position is written to them.
        let counts = move || trace.with(|trace| of.with_value(|of| of == trace));
        let shown = Memo::new(move |_| Some(made.get()).filter(|_| counts()).unwrap_or(0));
        let playing = Memo::new(move |_| started.get() & counts());
        let player = Self { trace, of, made, started, shown, playing };
        player.follow_the_clock();
        player
    }

    /// Has each attempt that is shown while playing ask for the next one.
    fn follow_the_clock(self) {
        let waiting = Cell::new(None::<TimeoutHandle>);
        keep(Box::new(move || {
            if let Some(waiting) = waiting.take() {
                waiting.clear();
            }
            _ = self.shown();
            if self.is_playing() {
                waiting.set(set_timeout_with_handle(move || self.advance(), PACE).ok());
            }
        }));
    }

    /// How many attempts have been made.
    pub fn shown(self) -> usize {
        self.shown.get() as usize
    }

    /// Whether no attempt has been made.
    pub fn is_at_start(self) -> bool {
        self.shown.get() == 0
    }

    /// Whether the clock runs.
    pub fn is_playing(self) -> bool {
        self.playing.get()
    }

    /// Whether the last attempt has been made.
    pub fn is_over(self) -> bool {
        self.shown() >= self.trace.with(Vec::len)
    }

    /// Starts the clock, from the beginning when the search is over, or stops it. Where the reader
    /// asks for less motion there is no clock: all attempts are there at once.
    pub fn play_or_pause(self) {
        let (shown, count) = (self.shown.get_untracked(), self.count());
        if self.playing.get_untracked() {
            self.stand(shown, false);
        } else if prefers_less_motion() {
            self.stand(count, false);
        } else {
            self.stand(if shown < count { shown } else { 0 }, true);
        }
    }

    /// Goes some attempts on or back and stops the clock.
    pub fn go(self, steps: i32) {
        self.stand(self.shown.get_untracked().saturating_add_signed(steps), false);
    }

    /// Goes back to the question.
    pub fn restart(self) {
        self.stand(0, false);
    }

    fn advance(self) {
        if self.playing.get_untracked() {
            self.stand(self.shown.get_untracked() + 1, true);
        }
    }

    fn stand(self, shown: u32, playing: bool) {
        let count = self.count();
        self.of.set_value(self.trace.get_untracked());
        self.made.set(shown.min(count));
        self.started.set(playing && shown < count);
    }

    fn count(self) -> u32 {
        self.trace.with_untracked(Vec::len) as u32
    }
}

fn prefers_less_motion() -> bool {
    let query = window().match_media("(prefers-reduced-motion: reduce)").ok().flatten();
    query.is_some_and(|query| query.matches())
}
