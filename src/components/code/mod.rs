//! Lines of a program.

use bmax::course::listings::{Kind, Token, tokens};
use leptos::either::Either;
use leptos::prelude::*;

use crate::components::CopyButton;

/// A Python program, coloured piece by piece, with the button that copies it. Long lines are scrolled within the block,
/// which the keyboard can do, too: it takes the focus and has a name
/// (<https://dequeuniversity.com/rules/axe/4.11/scrollable-region-focusable>).
#[component]
pub fn Code(
    /// What the button finds the program by.
    id: &'static str,
    /// What the program is called to whoever does not see it.
    label: &'static str,
    /// The program.
    #[prop(into)]
    source: Signal<String>,
) -> impl IntoView {
    let said = RwSignal::new(String::new());
    // What was copied is another text now.
    Effect::new(move |_| {
        source.track();
        said.set(String::new());
    });
    let piece = |Token { kind, text }| match class(kind) {
        None => Either::Left(text),
        Some(class) => Either::Right(view! { <span class=class>{text}</span> }),
    };
    let pieces = move || source.with(|source| tokens(source).into_iter().map(piece).collect_view());
    view! {
        <pre class="code" id=id tabindex="0" role="region" aria-label=label>
            <code>{pieces}</code>
        </pre>
        <div class="button-row">
            <CopyButton of=id name="Code".to_owned() label="Copy the code" quiet=true said/>
            <span class="small" role="status" data-testid="said">{move || said.get()}</span>
        </div>
    }
}

/// The style sheet's name for a piece; what is plain has none.
const fn class(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Plain => None,
        Kind::Keyword => Some("code-keyword"),
        Kind::Text => Some("code-text"),
        Kind::Number => Some("code-number"),
        Kind::Comment => Some("code-comment"),
    }
}
