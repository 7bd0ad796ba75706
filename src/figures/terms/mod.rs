//! What the words for batches come to in the reader's own configuration. The words and their picture stand in
//! the page and need no program.

mod shown;

use leptos::prelude::*;

use crate::site::{State, read};
use shown::Shown;

/// The configuration's batches, named by these words.
#[component]
pub fn Terms(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let shown = Memo::new(move |_| state.asked(Shown::of));
    view! {
        <p class="live-note batches-3">
            "In your configuration: micro-batches of "
            <strong class="num" data-testid="batch">{read(shown, |shown| &shown.batch)}</strong> " on "
            <span class="num" data-testid="replicas">{read(shown, |shown| &shown.replicas)}</span> " "
            {move || shown.with(|shown| shown.gpus)} ", "
            <span class="num" data-testid="steps">{read(shown, |shown| &shown.steps)}</span>
            " one after another, make a mini-batch of "
            <strong class="num" data-testid="mini">{read(shown, |shown| &shown.mini)}</strong> " "
            {move || shown.with(|shown| shown.sequences)} " "
            <span class="num" data-testid="tokens">{read(shown, |shown| &shown.tokens)}</span> " "
            {move || shown.with(|shown| shown.token_noun)} "."
        </p>
    }
}
