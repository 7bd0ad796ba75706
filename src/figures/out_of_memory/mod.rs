//! An out-of-memory error text, explained at the reader's configuration.

mod shown;

use leptos::prelude::*;

use crate::site::{State, read};
use shown::{Part, SAMPLE, Shown};

/// A field for the text, where the memory was as a bar, and what the text means.
#[component]
pub fn OutOfMemory(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let text = RwSignal::new(SAMPLE.to_owned());
    let shown = Memo::new(move |_| text.with(|text| state.asked(|scenario| Shown::of(text, scenario))));
    view! {
        <div class="memory-error-text">
            <label for="memory-error-text">"The text of the error"</label>
            <textarea
                id="memory-error-text"
                rows="6"
                spellcheck="false"
                autocomplete="off"
                autocapitalize="off"
                aria-describedby="memory-error-text-help"
                prop:value=move || text.get()
                on:input=move |event| text.set(event_target_value(&event))
            >
                {SAMPLE}
            </textarea>
            <p class="field-help" id="memory-error-text-help">
                "Put yours in the place of the sample. It is read here and sent nowhere. The configuration stands in the bar at the top."
            </p>
        </div>
        <Parts shown/>
        <div class="memory-error-words" role="status" data-testid="memory-error-words">
            {move || shown.with(|shown| shown.said.clone()).into_iter().map(|line| view! { <p>{line}</p> }).collect_view()}
        </div>
    }
}

/// Where the memory of the GPU was, as a bar and as a list.
#[component]
fn Parts(shown: Memo<Shown>) -> impl IntoView {
    let parts = move || shown.with(|shown| shown.parts.clone());
    let piece = |part: Part| view! { <span class="memory-error-part" data-holder=part.key style=("--part", part.share)></span> };
    let entry = |part: Part| {
        view! {
            <li>
                <span class="memory-error-swatch" data-holder=part.key aria-hidden="true"></span>
                {part.name} " " <strong class="num">{part.size}</strong>
            </li>
        }
    };
    view! {
        <div class="memory-error-parts" hidden=move || shown.with(|shown| shown.parts.is_empty())>
            <p class="small">{read(shown, |shown| &shown.capacity)}</p>
            <div class="memory-error-bar" aria-hidden="true">{move || parts().into_iter().map(piece).collect_view()}</div>
            <ul class="memory-error-legend small">{move || parts().into_iter().map(entry).collect_view()}</ul>
        </div>
    }
}
