//! One entry: its size, and unfolded its formula, the numbers in it, its source and its lifetime.

use leptos::prelude::*;

use crate::components::Formula;

use super::opened;
use super::shown::{Details, EntryRow, Key};

/// An entry. Which ones are `unfolded` is known by their keys, because entries change places.
#[component]
pub fn EntryFold(entry: EntryRow, unfolded: RwSignal<Vec<Key>>) -> impl IntoView {
    let EntryRow { key, size, share, details, .. } = entry;
    let is_open = details.is_some();
    let toggled = move |event| {
        let opened = opened(&event);
        if unfolded.with_untracked(|unfolded| unfolded.contains(&key)) != opened {
            unfolded.update(|unfolded| {
                unfolded.retain(|other| *other != key);
                if opened {
                    unfolded.push(key);
                }
            });
        }
    };
    view! {
        <li>
            <details open=is_open on:toggle=toggled>
                <summary>
                    <span class="ledger-name">{key.name}</span>
                    <span class="ledger-size num">{size}</span>
                    <span class="ledger-bar" aria-hidden="true" style=("--share", share)></span>
                </summary>
                {details.map(explanation)}
            </details>
        </li>
    }
}

fn explanation(details: Details) -> impl IntoView {
    let Details { formula, numbers, symbols, alive, source } = details;
    view! {
        <dl class="ledger-entry">
            <div><dt>"Formula"</dt><dd class="ledger-formula" tabindex="0"><Formula mathml=formula/></dd></div>
            <div>
                <dt>"With your numbers"</dt>
                <dd class="ledger-formula num" tabindex="0">{numbers} " bytes"</dd>
            </div>
            <div>
                <dt>"Symbols"</dt>
                <dd>
                    <span inner_html=symbols></span>
                    <span class="ledger-symbol">"The number in front is bytes, for each element or weight."</span>
                </dd>
            </div>
            <div><dt>"Alive"</dt><dd>{alive}</dd></div>
            <div><dt>"Source"</dt><dd><a href=source.url>{source.short}</a></dd></div>
        </dl>
    }
}
