//! The curves as a table.

use leptos::ev::Event;
use leptos::prelude::*;
use web_sys::HtmlDetailsElement;

use super::curves::{Curves, NAMES};
use super::reading::batch_text;
use crate::site::format;

/// b_max of every curve at every power of two. It is written only while it is open: it would
/// otherwise be the largest part of every change of the page.
#[component]
pub fn CurvesTable(curves: Curves) -> impl IntoView {
    let open = RwSignal::new(false);
    let on_toggle = move |event: Event| open.set(event_target::<HtmlDetailsElement>(&event).open());
    view! {
        <details class="chart-table" data-testid="chart-table" on:toggle=on_toggle>
            <summary>"The curves as a table"</summary>
            <div class="table-scroll" tabindex="0" role="region" aria-label="The curves as a table">
                {move || open.get().then(|| view! { <Table curves /> })}
            </div>
        </details>
    }
}

#[component]
fn Table(curves: Curves) -> impl IntoView {
    let heads = NAMES.map(|name| view! { <th scope="col" class="num">{name}</th> }).collect_view();
    view! {
        <table class="data-table">
            <caption>"Largest micro-batch in sequences per GPU. A dash: not even one sequence fits."</caption>
            <thead>
                <tr>
                    <th scope="col" class="num">"Tokens "<i>"S"</i></th>
                    {heads}
                </tr>
            </thead>
            <tbody>{move || rows(curves)}</tbody>
        </table>
    }
}

fn rows(curves: Curves) -> impl IntoView + use<> {
    let row = |(position, length): (usize, u32)| {
        let cell = |batch: Option<u32>| match batch {
            Some(_) => batch_text(batch).into_any(),
            None => view! { <span aria-hidden="true">"–"</span><span class="visually-hidden">"does not fit"</span> }
                .into_any(),
        };
        let batches = curves
            .all
            .with(|all| all.iter().map(|curve| curve.batches.get(position).copied().flatten()).collect::<Vec<_>>());
        let cells = batches.into_iter().map(|batch| view! { <td class="num">{cell(batch)}</td> }).collect_view();
        view! {
            <tr>
                <th scope="row" class="num">{format::count(length)}</th>
                {cells}
            </tr>
        }
    };
    let known = curves.lengths.get_value().into_iter().enumerate();
    known.filter(|(_, length)| length.is_power_of_two()).map(row).collect_view()
}
