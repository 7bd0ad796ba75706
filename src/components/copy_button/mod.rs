//! A text on its way to the clipboard.

use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{HtmlElement, HtmlInputElement, HtmlTextAreaElement};

/// A button that copies the text of a field or of a block of text. Where the clipboard is refused or absent, as in a frame of another
/// page, the text is selected and the reader is told which keys copy it. That is why this does not stand on
/// `leptos-use-clipboard`, which says nothing of a text that it could not copy. It follows the button pattern,
/// and what happened is said in a live region: <https://www.w3.org/WAI/ARIA/apg/patterns/button/>,
/// <https://www.w3.org/WAI/WCAG22/Techniques/aria/ARIA22>.
#[component]
pub fn CopyButton(
    /// The `id` of the field or the block.
    of: &'static str,
    /// What the text is called when it has been copied.
    #[prop(into)]
    name: Signal<String>,
    /// What the button says.
    label: &'static str,
    /// What the button says to whoever does not see what it stands beside.
    #[prop(optional)]
    aria_label: Option<&'static str>,
    /// Whether it stands back behind other buttons.
    #[prop(optional)]
    quiet: bool,
    /// What is said to eye and ear.
    said: RwSignal<String>,
) -> impl IntoView {
    let copy = move |_| {
        let name = name.get_untracked();
        spawn_local(async move {
            let Some(field) = Field::find(of) else { return };
            said.set(if is_copied(&field.text()).await {
                format!("{name} copied.")
            } else {
                field.select();
                format!("The browser does not let this page copy. {name} is selected: press {} to copy.", keys())
            });
        });
    };
    let class = if quiet { "button button-quiet button-small" } else { "button button-small" };
    view! { <button type="button" class=class aria-label=aria_label on:click=copy>{label}</button> }
}

/// What has the text.
enum Field {
    /// A field of one line.
    Line(HtmlInputElement),
    /// A field of several.
    Lines(HtmlTextAreaElement),
    /// Any other element.
    Block(HtmlElement),
}

impl Field {
    fn find(id: &str) -> Option<Self> {
        let element = document().get_element_by_id(id)?;
        let other = match element.dyn_into::<HtmlInputElement>() {
            Ok(line) => return Some(Self::Line(line)),
            Err(other) => other,
        };
        match other.dyn_into::<HtmlTextAreaElement>() {
            Ok(lines) => Some(Self::Lines(lines)),
            Err(other) => other.dyn_into().ok().map(Self::Block),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Line(field) => field.value(),
            Self::Lines(field) => field.value(),
            Self::Block(block) => block.text_content().unwrap_or_default(),
        }
    }

    fn select(&self) {
        match self {
            Self::Line(field) => {
                _ = field.focus();
                field.select();
            }
            Self::Lines(field) => {
                _ = field.focus();
                field.select();
            }
            Self::Block(block) => {
                _ = block.focus();
                if let Ok(Some(selection)) = window().get_selection() {
                    _ = selection.select_all_children(block);
                }
            }
        }
    }
}

/// Whether a text reached the clipboard.
pub async fn is_copied(text: &str) -> bool {
    let clipboard = window().navigator().clipboard();
    // Outside a secure context the browser has no clipboard, though its interface says it has.
    !clipboard.is_undefined() && JsFuture::from(clipboard.write_text(text)).await.is_ok()
}

/// The keys that copy on this machine.
fn keys() -> &'static str {
    let platform = window().navigator().platform().unwrap_or_default();
    if ["Mac", "iPhone", "iPad"].iter().any(|name| platform.starts_with(name)) { "⌘C" } else { "Ctrl+C" }
}
