//! Changes that help, as cards.

use leptos::prelude::*;

/// Changes that are made together.
#[derive(Clone, Debug, PartialEq)]
pub struct Help {
    /// What they are, as an instruction.
    pub name: String,
    /// How much fits with them; none where the name says it.
    pub after: Option<String>,
    /// The line of the reader's program that makes them, or what they cost, if either is known.
    pub line: Option<String>,
    /// The configuration with them, as the query of a link.
    pub query: String,
}

/// Changes under the words that say what they do, the cheapest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Helps {
    /// What the changes do.
    pub title: String,
    /// The changes.
    pub helps: Vec<Help>,
}

/// A card for each change, which is a link to the configuration with it. The page opens that without loading it anew.
#[component]
pub fn HelpList(
    /// What is shown; nothing where no change helps.
    helps: Memo<Helps>,
    /// The place of the page that the links lead to.
    place: &'static str,
) -> impl IntoView {
    let card = move |Help { name, after, line, query }: Help| {
        let leads = after.map(|after| view! { " → " <strong class="num">{after}</strong> });
        let line = line.map(|line| view! { <span class="help-line">{line}</span> });
        view! {
            <li>
                <a class="help" href=query + place data-start="" data-testid="help">
                    <span>{name} {leads}</span>
                    {line}
                </a>
            </li>
        }
    };
    view! {
        <div class="helps" hidden=move || helps.with(|helps| helps.helps.is_empty())>
            <p class="helps-title small">{move || helps.with(|helps| helps.title.clone())}</p>
            <ul>
                {move || helps.with(|helps| helps.helps.clone()).into_iter().map(card).collect_view()}
                <li class="helps-all"><a class="small" href="#levers">"All ways"</a></li>
            </ul>
        </div>
    }
}
