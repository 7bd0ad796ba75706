//! An out-of-memory error text, explained at the reader's configuration, with what makes the run fit.

mod shown;

use leptos::prelude::*;

use crate::components::{HelpList, Helps};
use crate::figures::answer::helps_of;
use crate::site::{State, read};
use shown::{OtherDevice, Part, SAMPLE, Shown};

/// The place of the figure on its page.
const PLACE: &str = "#embed-out-of-memory";

/// A field for the text, where the memory was as a bar, what the text means, and what makes the run fit.
#[component]
pub fn OutOfMemory(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let text = RwSignal::new(SAMPLE.to_owned());
    let later = state.later();
    let shown =
        Memo::new(move |_| text.with(|text| later.read(|facts| Shown::of(text, &facts.scenario, &facts.answer))));
    let batch = Memo::new(move |_| shown.with(|shown| shown.batch));
    let ranking = later.ranking();
    let helps = Memo::new(move |_| {
        let Some(batch) = batch.get() else { return Helps::default() };
        later.read(|facts| ranking.with(|ranking| helps_of(&facts.scenario.with_batch(batch), &facts.answer, ranking)))
    });
    view! {
        <TextField text/>
        <Parts shown/>
        <div class="memory-error-words" role="status" data-testid="memory-error-words">
            {move || shown.with(|shown| shown.said.clone()).into_iter().map(|line| view! { <p>{line}</p> }).collect_view()}
            {move || shown.with(|shown| shown.other_device.clone()).map(taking_device)}
        </div>
        <HelpList helps place=PLACE/>
    }
}

/// Says that the text is of another GPU than the configuration, with a link that counts with that one.
fn taking_device(OtherDevice { said, name, query }: OtherDevice) -> impl IntoView {
    view! { <p>{said} " " <a href=query + PLACE data-start="">"Count with " {name}</a> "."</p> }
}

/// The field for the text.
#[component]
fn TextField(text: RwSignal<String>) -> impl IntoView {
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
