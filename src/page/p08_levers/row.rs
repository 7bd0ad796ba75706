//! One lever.

use bmax::levers::{Change, Lever};
use leptos::prelude::*;

use super::text::describe;
use crate::site::format;

/// A change that makes room: what it is, what it costs, what it leads to.
#[component]
pub fn LeverRow(
    lever: Lever,
    /// The largest micro-batch of all levers, which the bar is drawn against.
    most: u32,
    /// What happens to the tokens of a step, where the sequence changes.
    tokens: Option<String>,
    /// Makes the change.
    apply: Callback<Change>,
) -> impl IntoView {
    let share =
        move |batch: Option<u32>| format!("{:.3}%", f64::from(batch.unwrap_or(0)) / f64::from(most.max(1)) * 100.0);
    view! {
        <li class="lever">
            <div class="lever-what">
                <p class="lever-name">{describe(lever.change)}</p>
                <p class="field-help">{lever.change.cost()}</p>
                {tokens.map(|tokens| view! { <p class="field-help num">{tokens}</p> })}
            </div>
            <div class="lever-outcome">
                <p class="lever-numbers num">
                    <span class="soft">{fits(lever.before)}<span aria-hidden="true">" → "</span><span class="visually-hidden">" becomes "</span></span>
                    <strong>{fits(lever.after)}</strong>
                    <span class="badge badge-good">"+"{format::count(lever.gain())}</span>
                </p>
                <div class="lever-bar" aria-hidden="true">
                    <span class="lever-after" style=("--share", share(lever.after))></span>
                    <span class="lever-before" style=("--share", share(lever.before))></span>
                </div>
            </div>
            <ApplyButton change=lever.change apply />
        </li>
    }
}

/// A change that gains nothing by itself, and why.
#[component]
pub fn IdleRow(
    change: Change,
    /// What would still be missing.
    why: String,
    /// Makes the change.
    apply: Callback<Change>,
) -> impl IntoView {
    view! {
        <li class="lever lever-idle">
            <div class="lever-what">
                <p class="lever-name">{describe(change)}</p>
                <p class="field-help num">{why}</p>
            </div>
            <ApplyButton change apply />
        </li>
    }
}

#[component]
fn ApplyButton(change: Change, apply: Callback<Change>) -> impl IntoView {
    view! {
        <button
            type="button"
            class="button button-quiet button-small"
            data-testid="lever-apply"
            aria-label=format!("Apply: {}", describe(change))
            on:click=move |_| apply.run(change)
        >
            "Apply"
        </button>
    }
}

fn fits(batch: Option<u32>) -> String {
    batch.map_or_else(|| "does not fit".to_owned(), format::count)
}
