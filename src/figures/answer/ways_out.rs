//! The ways out beside the answer. They ask for many answers and are wanted only where there is no number, so that the
//! first look of all others goes without them: they come with the techniques further down on home.

use bmax::Change;
use bmax::ways::Way;
use leptos::html::Div;
use leptos::prelude::*;

use crate::figures::levers::together;
use crate::site::{Ranking, State, format};

/// Shows the ways out once there is no number, and is empty until then.
#[component]
pub fn WaysOut(state: State) -> impl IntoView {
    let place = NodeRef::<Div>::new();
    fetch_where_nothing_fits(place, state);
    view! { <div class="ways-out-place" node_ref=place></div> }
}

/// A program that does not run in a browser has nothing to fetch.
#[cfg(not(feature = "hydrate"))]
fn fetch_where_nothing_fits(_: NodeRef<Div>, _: State) {}

#[cfg(feature = "hydrate")]
fn fetch_where_nothing_fits(place: NodeRef<Div>, state: State) {
    let fetch = move || {
        leptos::task::spawn_local(async move {
            if let Some(place) = place.get_untracked() {
                // Without it the sentence above still says what is wrong, and the techniques have the same further down.
                _ = list(place.into(), state).await;
            }
        });
    };
    let wanted = move || place.get().is_some() && state.read(|facts| facts.answer.batch().is_none());
    crate::site::fetch_once(wanted, fetch);
}

#[cfg(feature = "hydrate")]
#[leptos::wasm_split::wasm_split(home, wasm_split_path = leptos::wasm_split, fallible)]
fn list(place: web_sys::HtmlElement, state: State) -> Result<(), leptos::wasm_split::SplitLoaderError> {
    leptos::mount::mount_to(place, move || view! { <List state/> }).forget();
    Ok(())
}

/// The cheapest ways out where nothing fits or nothing can be said, each a press away.
#[component]
fn List(state: State) -> impl IntoView {
    let ranking = state.ranking();
    // Where there is a number nobody needs a way out.
    let ways = Memo::new(move |_| match state.read(|facts| facts.answer.batch()) {
        Some(_) => Vec::new(),
        None => ranking.with(ways_out),
    });
    let way = move |WayOut { changes, name }: WayOut| {
        let take = move |_| state.change(|scenario| changes.iter().fold(scenario, |with, change| change.apply(with)));
        view! {
            <li>
                <button type="button" class="button button-quiet button-small" data-testid="way-out" on:click=take>
                    {name}
                </button>
            </li>
        }
    };
    view! {
        <div class="ways-out" hidden=move || ways.with(Vec::is_empty)>
            <p class="small">"These fit:"</p>
            <ul>{move || ways.get().into_iter().map(way).collect_view()}</ul>
        </div>
    }
}

/// Changes with which at least one sequence fits.
#[derive(Clone, Debug, PartialEq)]
struct WayOut {
    /// The changes.
    changes: Vec<Change>,
    /// The changes in words, and how much fits with them.
    name: String,
}

/// The ways out that stand beside the answer, the cheapest first.
fn ways_out(ranking: &Ranking) -> Vec<WayOut> {
    const SHOWN: usize = 3;
    let told = |way: &Way| WayOut {
        changes: way.changes.clone(),
        name: format!("{}: {}", together(&way.changes), format::batch(way.after, ranking.scenario.unit())),
    };
    ranking.ways.fitting.iter().take(SHOWN).map(told).collect()
}
