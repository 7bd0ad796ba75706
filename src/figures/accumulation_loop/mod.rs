//! An optimizer step of several micro-batches, with its division.

use bmax::course::listings::Listing;
use leptos::prelude::*;

use crate::components::Code;
use crate::site::State;

/// The program, and the button that copies it.
#[component]
pub fn AccumulationLoop(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let source = Memo::new(move |_| state.asked(|scenario| Listing::Accumulation.source(scenario)));
    view! { <Code id="code-accumulation" label="Code: an optimizer step of several micro-batches" source/> }
}
