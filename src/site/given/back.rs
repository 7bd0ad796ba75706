//! A text that is given back with what was changed on the page, which few readers ask for.

use bmax::read::Rewritten;
use leptos::prelude::*;

use crate::components::CopyButton;

/// What was written, and each text that is another one now.
pub fn view(found: Rewritten) -> impl IntoView {
    view! { <p>{told_back(&found)}</p> {files(found)} }
}

/// What could be written, and what could not.
fn told_back(found: &Rewritten) -> String {
    let left = found.left.join(", ");
    match (found.texts.is_empty(), left.is_empty()) {
        (_, true) => "All of it is in the text; comments and order are kept.".to_owned(),
        (false, false) => format!("Comments and order are kept. No line of the text says this: {left}."),
        (true, false) => format!("No line of the text says this: {left}."),
    }
}

/// Each text that is another one now, in a field of its own. The first ones have a button that copies them.
fn files(found: Rewritten) -> impl IntoView {
    const IDS: [&str; 4] = ["given-back", "given-back-2", "given-back-3", "given-back-4"];
    let file = |((name, text), id): ((String, String), Option<&'static str>)| {
        let name = if name.is_empty() { "The text".to_owned() } else { name };
        let label = format!("{name} with the changes");
        let said = RwSignal::new(String::new());
        let button = id.map(|id| view! { <CopyButton of=id name label="Copy it" quiet=true said/> });
        view! {
            <textarea id=id readonly rows="10" aria-label=label spellcheck="false" prop:value=text></textarea>
            <div class="button-row">
                {button}
                <span class="small" role="status">{move || said.get()}</span>
            </div>
        }
    };
    let ids = IDS.into_iter().map(Some).chain(std::iter::repeat(None));
    found.texts.into_iter().zip(ids).map(file).collect_view()
}
