//! What helps, beside the answer. It asks for many answers: the page is built with those of the default, and what makes
//! others is fetched once another configuration is asked for. It comes with the techniques further down on home.

use leptos::html::Div;
use leptos::prelude::*;

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

/// The list itself.
#[component]
fn List(state: State) -> impl IntoView {
    use super::changes::{Help, Helps};
    let state = state.later();
    let ranking = state.ranking();
    let helps = Memo::new(move |_| state.read(|facts| ranking.with(|ranking| Helps::of(facts, ranking))));
    let help = |Help { name, after, line, query }: Help| {
        let leads = after.map(|after| view! { " → " <strong class="num">{after}</strong> });
        let line = line.map(|line| view! { <span class="help-line">{line}</span> });
        view! {
            <li>
                <a class="help" href=query data-start="" data-testid="help">
                    <span>{name} {leads}</span>
                    {line}
                </a>
            </li>
        }
    };
    view! {
        <div class="helps" hidden=move || helps.with(|helps| helps.helps.is_empty())>
            <p class="opening-label small">{move || helps.with(|helps| helps.title.clone())}</p>
            <ul>
                {move || helps.with(|helps| helps.helps.clone()).into_iter().map(help).collect_view()}
                <li class="helps-all"><a class="small" href="#levers">"All ways"</a></li>
            </ul>
        </div>
    }
}
