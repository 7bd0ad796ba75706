//! The list of a combobox, in a part of the program of its own.

#[cfg(feature = "hydrate")]
use leptos::mount::mount_to;
use leptos::prelude::*;

use super::Choice;
use super::found::{Listing, Row};

/// Fetches what lists the rows. Where it does not come, the page says so as of every other part.
#[cfg(feature = "hydrate")]
pub fn fetch(choice: Choice) {
    leptos::task::spawn_local(async move {
        if mount(choice).await.is_err() {
            choice.open.set(false);
            say(choice, "The list could not be loaded. Reload the page to try again; the page itself goes on.");
        }
    });
}

/// A program that does not run in a browser has nothing to fetch.
#[cfg(not(feature = "hydrate"))]
pub const fn fetch(_: Choice) {}

#[cfg(feature = "hydrate")]
#[leptos::wasm_split::wasm_split(choices, wasm_split_path = leptos::wasm_split, fallible)]
fn mount(choice: Choice) -> Result<(), leptos::wasm_split::SplitLoaderError> {
    if let Some(place) = choice.place.get_untracked() {
        mount_to(place.into(), move || view! { <Popup choice/> }).forget();
    }
    Ok(())
}

/// What is said in the place of the list.
#[cfg(feature = "hydrate")]
fn say(choice: Choice, text: &'static str) {
    if let Some(place) = choice.place.get_untracked() {
        mount_to(place.into(), move || view! { <p class="field-error" role="alert">{text}</p> }).forget();
    }
}

/// The rows while the list is open, and how many there are as it is spoken.
#[component]
fn Popup(choice: Choice) -> impl IntoView {
    let listing = Memo::new(move |_| {
        let used = choice.state.steps.used(|scenario| choice.listed.current(scenario).slug);
        Listing::of(choice.listed, &choice.draft().unwrap_or_default(), choice.current.get(), &used)
    });
    choice.listing.set(Some(listing));
    keep_in_sight(choice);
    let spoken = move || if choice.open.get() { listing.with(|listing| listing.spoken.clone()) } else { String::new() };
    let groups = move || {
        let mut first = 0;
        let group = |(title, rows): (String, Vec<Row>)| {
            let from = first;
            first += rows.len();
            group(choice, title, rows, from)
        };
        listing.get().groups.into_iter().map(group).collect_view()
    };
    // The field keeps the focus while a row is pressed.
    view! {
        <Show when=move || choice.open.get()>
            <div
                id=choice.list()
                class="combobox-list"
                role="listbox"
                aria-label=choice.listed.label()
                on:mousedown=|event| event.prevent_default()
            >
                {groups}
            </div>
        </Show>
        <p class="visually-hidden" role="status" prop:textContent=spoken></p>
    }
}

/// Rows under their heading; `from` is the place of the first in the list.
fn group(choice: Choice, title: String, rows: Vec<Row>, from: usize) -> impl IntoView {
    let heading = format!("{}-group-{from}", choice.id);
    let named = heading.clone();
    let rows = rows.into_iter().enumerate().map(|(at, row)| option(choice, row, from + at)).collect_view();
    view! {
        <div role="group" aria-labelledby=named>
            <div role="presentation" class="combobox-heading" id=heading>{title}</div>
            {rows}
        </div>
    }
}

fn option(choice: Choice, Row { offer, name, note }: Row, at: usize) -> impl IntoView {
    view! {
        <div
            role="option"
            class="combobox-row"
            id=choice.row(at)
            aria-selected=move || (choice.pointed() == Some(at)).to_string()
            on:click=move |_| choice.choose(offer)
        >
            <span>{name}</span>
            <span class="combobox-note num">{note}</span>
        </div>
    }
}

/// The list follows the row that is pointed at; the page stands still.
fn keep_in_sight(choice: Choice) {
    Effect::new(move |_| {
        let (true, Some(at)) = (choice.open.get(), choice.pointed()) else { return };
        // The rows of a list that has just opened are there then.
        request_animation_frame(move || {
            let [list, row] = [choice.list(), choice.row(at)].map(|id| document().get_element_by_id(&id));
            if let (Some(list), Some(row)) = (list, row) {
                let [window, place] = [&list, &row].map(|one| one.get_bounding_client_rect());
                let (above, below) = (place.top() - window.top() - HEADING, place.bottom() - window.bottom());
                let way = if above < 0.0 { above } else { below.max(0.0) };
                list.set_scroll_top(list.scroll_top() + way.round() as i32);
            }
        });
    });
}

/// So many pixels above a row its heading stays to be seen.
const HEADING: f64 = 32.0;
