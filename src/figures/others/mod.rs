//! What other estimators say of the configuration, beside the ledger.

mod shown;

use bmax::others;
use leptos::prelude::*;

use crate::components::Fold;
use crate::site::{State, read};
use shown::{Bar, Row, Shown, Who, place, who};

/// Every estimator in a row: its number, its largest micro-batch, and why it differs.
#[component]
pub fn Others(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let shown = Memo::new(move |_| state.asked(Shown::of));
    view! {
        <p class="live-note">
            <span data-testid="asked">{read(shown, |shown| &shown.asked)}</span> ". The box around each bar is the GPU with its "
            <span class="num">{read(shown, |shown| &shown.device)}</span>", and what hangs out of it does not fit."
        </p>
        <Table shown/>
        <Fold summary="What each leaves out, and where its formula is" name="formulas">
            <Formulas shown/>
        </Fold>
    }
}

/// The rows; on a phone each is a card.
#[component]
fn Table(shown: Memo<Shown>) -> impl IntoView {
    let rows = who().enumerate().map(|(at, who)| view! { <Estimator at who shown/> }).collect_view();
    view! {
        <div class="table-scroll" tabindex="0" role="region" aria-label="What each estimator says">
            <table class="data-table data-table-rows others-table">
                <caption>"By the formula that each row links to, for the configuration of this page"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Estimator"</th>
                        <th scope="col" class="num">"Memory of the fullest GPU"</th>
                        <th scope="col" class="num"><i>"b"</i><sub>"max"</sub></th>
                        <th scope="col">"Why it differs"</th>
                    </tr>
                </thead>
                <tbody data-testid="others">{rows}</tbody>
            </table>
        </div>
    }
}

/// One estimator.
#[component]
fn Estimator(at: usize, who: Who, shown: Memo<Shown>) -> impl IntoView {
    let row = move |of: fn(&Row) -> String| move || shown.with(|shown| of(&shown.rows[at]));
    let has = move |of: fn(&Row) -> bool| move || shown.with(|shown| of(&shown.rows[at]));
    let bar = move |of: fn(&Bar) -> String| {
        move || shown.with(|shown| shown.rows[at].bar.as_ref().map(of).unwrap_or_default())
    };
    view! {
        <tr data-testid=format!("others-{}", who.key) class:is-silent=has(|row| row.bar.is_none())>
            <th scope="row"><a href=who.href>{who.name}</a></th>
            <td class="num" data-label="Fullest GPU">
                <span data-testid=format!("memory-{}", who.key)>{row(|row| row.memory.clone())}</span>
                <span class="others-aside" hidden=has(|row| row.printed.is_none())>
                    {row(|row| row.printed.as_ref().map(|printed| format!("prints {printed}")).unwrap_or_default())}
                </span>
                <span class="others-aside" hidden=has(|row| row.part.is_none())>
                    {move || shown.with(|shown| shown.rows[at].part.unwrap_or_default())}
                </span>
                <span
                    class="others-bar"
                    class:is-over=has(|row| row.bar.as_ref().is_some_and(|bar| bar.over))
                    aria-hidden="true"
                    hidden=has(|row| row.bar.is_none())
                >
                    <span class="others-total" style=("--share", bar(|bar| bar.share.clone()))></span>
                    <span class="others-gpu" style=("--share", read(shown, |shown| &shown.mark))></span>
                </span>
            </td>
            <td class="num" data-label="Largest batch">
                <span data-testid=format!("most-{}", who.key)>{row(|row| row.most.clone())}</span>
                <span class="others-aside" hidden=has(|row| row.lacks.is_none())>
                    {row(|row| row.lacks.clone().unwrap_or_default())}
                </span>
            </td>
            <td>{row(|row| row.why.clone())}</td>
        </tr>
    }
}

/// What each leaves out of what is set here, and the place of its formula.
#[component]
fn Formulas(shown: Memo<Shown>) -> impl IntoView {
    // This program is the first of them, and leaves nothing out.
    let row = move |(at, other): (usize, &&'static others::Other)| {
        view! {
            <tr>
                <th scope="row">{other.name}</th>
                <td data-label="Left out">{move || shown.with(|shown| shown.rows[at].left_out.clone())}</td>
                <td data-label="Its formula" class="others-place">{place(&other.origin)}</td>
            </tr>
        }
    };
    view! {
        <table class="data-table data-table-rows others-formulas">
            <thead>
                <tr>
                    <th scope="col">"Estimator"</th>
                    <th scope="col">"Set here, and left out by it"</th>
                    <th scope="col">"Where its formula is, at which commit"</th>
                </tr>
            </thead>
            <tbody data-testid="formulas-rows">{(1..).zip(others::ALL).map(row).collect_view()}</tbody>
        </table>
    }
}
