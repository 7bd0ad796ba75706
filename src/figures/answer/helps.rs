//! What helps, beside the answer. It asks for many answers: the page is built with those of the default, and what makes
//! others is fetched once another configuration is asked for. It comes with the techniques further down on home.

use leptos::html::Div;
use leptos::prelude::*;

use super::changes::helps_of;
use crate::components::HelpList;
use crate::site::State;

/// Shows the changes that help; each is a link to the configuration with it, which the page opens without loading it.
#[component]
pub fn HelpsPlace(state: State) -> impl IntoView {
    let place = NodeRef::<Div>::new();
    fetch_for_another(place, state);
    view! { <div class="helps-place" node_ref=place>{built(state)}</div> }
}

/// The list as the page is built with it. In the browser it stands there already.
#[cfg(not(feature = "hydrate"))]
fn built(state: State) -> impl IntoView {
    view! { <List state/> }
}

#[cfg(feature = "hydrate")]
fn built(_: State) {}

/// A program that does not run in a browser has nothing to fetch.
#[cfg(not(feature = "hydrate"))]
fn fetch_for_another(_: NodeRef<Div>, _: State) {}

#[cfg(feature = "hydrate")]
fn fetch_for_another(place: NodeRef<Div>, state: State) {
    let fetch = move || {
        leptos::task::spawn_local(async move {
            if let Some(place) = place.get_untracked() {
                // Without it the sentence above still says what is wrong, and the techniques have the same further down.
                _ = list(place.into(), state).await;
            }
        });
    };
    let wanted = move || place.get().is_some() && state.asked(|scenario| *scenario != bmax::Scenario::default());
    crate::site::fetch_once(wanted, fetch);
}

#[cfg(feature = "hydrate")]
#[leptos::wasm_split::wasm_split(home, wasm_split_path = leptos::wasm_split, fallible)]
fn list(place: web_sys::HtmlElement, state: State) -> Result<(), leptos::wasm_split::SplitLoaderError> {
    place.set_text_content(None);
    leptos::mount::mount_to(place, move || view! { <List state/> }).forget();
    Ok(())
}

/// The list for the page's configuration.
#[component]
fn List(state: State) -> impl IntoView {
    let state = state.later();
    let ranking = state.ranking();
    let helps = Memo::new(move |_| {
        state.read(|facts| ranking.with(|ranking| helps_of(&facts.scenario, &facts.answer, ranking)))
    });
    view! { <HelpList helps place="#opening"/> }
}
