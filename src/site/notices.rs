//! Messages about the link, said to the reader. Most links have nothing to say, so that what shows the
//! messages is in the part of the program that few visits need.

use bmax::link::{self, Notice};
use leptos::prelude::*;

use super::State;
#[cfg(feature = "hydrate")]
use super::mount::fetch_once;
use super::mount::mount_frame;

/// The id of the element of the page that holds the messages.
const PLACE: &str = "notices";

/// Shows the messages once there are any. A program that does not run in a browser has nothing to wait for.
#[cfg(not(feature = "hydrate"))]
pub fn follow(state: State) {
    mount_frame(PLACE, move || view! { <Notices state/> });
}

/// Fetches what shows the messages once there are any.
#[cfg(feature = "hydrate")]
pub fn follow(state: State) {
    let fetch = move || {
        leptos::task::spawn_local(async move {
            if show(state).await.is_err() {
                mount_frame(PLACE, || "Something about this link could not be shown. Reload the page to see it.");
            }
        });
    };
    fetch_once(move || !state.notices.with(Vec::is_empty), fetch);
}

#[cfg(feature = "hydrate")]
#[leptos::wasm_split::wasm_split(seldom, wasm_split_path = leptos::wasm_split, fallible)]
fn show(state: State) -> Result<(), leptos::wasm_split::SplitLoaderError> {
    mount_frame(PLACE, move || view! { <Notices state/> });
    Ok(())
}

/// More messages than this help nobody; the rest is counted.
const SHOWN: usize = 6;

/// The messages about the link, until they are sent away. They stand in a live region of the page, which announces
/// them: <https://www.w3.org/WAI/WCAG22/Techniques/aria/ARIA22>.
#[component]
pub fn Notices(
    /// The shared state, which has what could not be used, and what is counted otherwise since.
    state: State,
) -> impl IntoView {
    let notices = state.notices;
    let line = move |Line { text, about }: Line| {
        let offers =
            about.iter().flat_map(|notice| notice.offers().into_iter().map(move |words| (notice.clone(), words)));
        let offer = move |(about, words)| view! { " " <OfferButton state about words/> };
        view! { <li>{text} {offers.map(offer).collect_view()}</li> }
    };
    view! {
        <Show when=move || !notices.with(Vec::is_empty)>
            <div class="notice">
                <div>
                    <p class="notice-title">{move || notices.with(|all| title(all))}</p>
                    <ul>{move || notices.with(|all| lines(all)).into_iter().map(line).collect_view()}</ul>
                </div>
                <button
                    type="button"
                    class="button button-quiet button-small"
                    on:click=move |_| notices.set(Vec::new())
                >
                    "Dismiss"
                </button>
            </div>
        </Show>
    }
}

/// Puts what may have been meant in the place of what names nothing. It follows the button pattern with the browser's own
/// button: <https://www.w3.org/WAI/ARIA/apg/patterns/button/>.
#[component]
fn OfferButton(
    state: State,
    /// What the message is about.
    about: Notice,
    /// A part of a link, `key=value`.
    words: String,
) -> impl IntoView {
    // The message has named the parameter, unless that is what is wrong.
    let shown = match (&about, words.split_once('=')) {
        (Notice::Unknown { .. }, _) | (_, None) => words.clone(),
        (_, Some((_, value))) => value.to_owned(),
    };
    let take = move |_| {
        let read = state.scenario.with_untracked(|now| link::decode_onto(Some(now), &words));
        state.notices.update(|all| {
            all.retain(|notice| *notice != about);
            all.extend(read.notices);
        });
        state.change(|_| read.scenario);
    };
    view! {
        <button type="button" class="button button-quiet button-small" data-testid="notice-offer" on:click=take>
            "Use "{shown}
        </button>
    }
}

/// A message, and what it is about where something may be put in its place.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    text: String,
    about: Option<Notice>,
}

impl From<&Notice> for Line {
    fn from(notice: &Notice) -> Self {
        Self { text: notice.to_string(), about: Some(notice.clone()) }
    }
}

/// What the messages are about.
fn title(all: &[Notice]) -> &'static str {
    if all.iter().any(Notice::is_fault) {
        "Not everything in this link could be used"
    } else {
        "The count has changed since links like this were first shared"
    }
}

/// The first of the messages, and how many more there are.
fn lines(all: &[Notice]) -> Vec<Line> {
    let mut lines: Vec<Line> = all.iter().take(SHOWN).map(Line::from).collect();
    if all.len() > SHOWN {
        let text = format!("{} more parts of the link were not understood.", all.len() - SHOWN);
        lines.push(Line { text, about: None });
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_messages_than_help_are_counted() {
        let wrong = |count: usize| -> String { (0..count).map(|at| format!("&unknown{at}=1")).collect() };
        let said = |count: usize| lines(&link::decode(&wrong(count)).notices);
        assert_eq!(said(0), []);
        assert_eq!(said(SHOWN).len(), SHOWN);
        assert_eq!(said(SHOWN + 3).len(), SHOWN + 1);
        assert_eq!(said(SHOWN + 3)[SHOWN].text, "3 more parts of the link were not understood.");
    }
}
