//! The five curves of a state.

use bmax::chart::{self, Curves};
use leptos::prelude::*;

use crate::site::State;

/// The curves of a state. Moving the micro-batch or the sequence length computes none of them,
/// changing the reader's model only one.
pub fn of(state: State) -> Memo<Curves> {
    Memo::new_owning(move |before: Option<Curves>| {
        let scenarios = state.asked(chart::swept);
        match before {
            Some(curves) if curves.scenarios == scenarios => (curves, false),
            before => (Curves::along(scenarios, before), true),
        }
    })
}
