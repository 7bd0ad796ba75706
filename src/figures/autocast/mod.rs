//! A training loop in the precision of the configuration.

use bmax::course::listings::Listing;
use leptos::prelude::*;

use crate::components::Code;
use crate::site::State;

/// The program, and the button that copies it.
#[component]
pub fn Autocast(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let source = Memo::new(move |_| state.asked(|scenario| Listing::Autocast.source(scenario)));
    view! { <Code id="code-autocast" label="Code: a training loop in your precision" source/> }
}
