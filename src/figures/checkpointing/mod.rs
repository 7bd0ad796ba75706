//! A forward pass with the configuration's recomputation.

use bmax::course::listings::Listing;
use leptos::prelude::*;

use crate::components::Code;
use crate::site::State;

/// The program, and the button that copies it.
#[component]
pub fn Checkpointing(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let source = Memo::new(move |_| state.asked(|scenario| Listing::Checkpoint.source(scenario)));
    view! { <Code id="code-checkpoint" label="Code: a forward pass with your recomputation" source/> }
}
