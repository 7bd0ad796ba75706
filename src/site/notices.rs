//! What is to be known about the link, said to the reader.

use bmax::link::Notice;
use leptos::prelude::*;

/// More messages than this help nobody; the rest is counted.
const SHOWN: usize = 6;

/// The messages about the link, until they are sent away. They stand in a live region of the page, which announces
/// them: <https://www.w3.org/WAI/WCAG22/Techniques/aria/ARIA22>.
#[component]
pub fn Notices(
    /// What could not be used, and what is counted otherwise since.
    notices: RwSignal<Vec<Notice>>,
) -> impl IntoView {
    let line = |line: String| view! { <li>{line}</li> };
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

/// What the messages are about.
fn title(all: &[Notice]) -> &'static str {
    if all.iter().any(Notice::is_fault) {
        "Not everything in this link could be used"
    } else {
        "The count has changed since links like this were first shared"
    }
}

/// The first of the messages, and how many more there are.
fn lines(all: &[Notice]) -> Vec<String> {
    let mut lines: Vec<_> = all.iter().take(SHOWN).map(ToString::to_string).collect();
    if all.len() > SHOWN {
        lines.push(format!("{} more parts of the link were not understood.", all.len() - SHOWN));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::link;

    #[test]
    fn more_messages_than_help_are_counted() {
        let wrong = |count: usize| -> String { (0..count).map(|at| format!("&unknown{at}=1")).collect() };
        let said = |count: usize| lines(&link::decode(&wrong(count)).notices);
        assert_eq!(said(0), [""; 0]);
        assert_eq!(said(SHOWN).len(), SHOWN);
        assert_eq!(said(SHOWN + 3).len(), SHOWN + 1);
        assert_eq!(said(SHOWN + 3)[SHOWN], "3 more parts of the link were not understood.");
    }
}
