//! The ledger as a table: every entry with its formula, the numbers in it and its source.

use bmax::{Bytes, Entry, Estimate};
use leptos::prelude::*;

use super::super::format;
use super::{FormulaInNumbers, FormulaInSymbols};

/// The entries alive at the peak, and their sum.
#[component]
pub fn BreakdownTable(
    /// What to show.
    #[prop(into)]
    estimate: Signal<Estimate>,
) -> impl IntoView {
    let rows = move || {
        estimate.with(|estimate| estimate.entries.iter().map(|entry| entry_row(entry, estimate)).collect_view())
    };
    let total = move || estimate.with(|estimate| format::memory(estimate.peak().bytes));
    view! {
        <div class="table-scroll" tabindex="0" role="region" aria-label="Breakdown, entry by entry">
            <table class="data-table breakdown">
                <thead>
                    <tr>
                        <th scope="col">"Entry"</th>
                        <th scope="col">"Formula"</th>
                        <th scope="col">"With your numbers, in bytes"</th>
                        <th scope="col" class="num">"Memory"</th>
                        <th scope="col">"Source"</th>
                    </tr>
                </thead>
                <tbody>{move || rows()}</tbody>
                <tfoot>
                    <tr>
                        <th scope="row" colspan="3">"Peak"</th>
                        <td class="num">{move || total()}</td>
                        <td></td>
                    </tr>
                </tfoot>
            </table>
        </div>
    }
}

fn entry_row(entry: &Entry, estimate: &Estimate) -> impl IntoView + use<> {
    let Entry { name, bucket, bytes, formula, source, .. } = *entry;
    let share = format::percent(Bytes::share_of(bytes, estimate.peak().bytes));
    view! {
        <tr>
            <th scope="row"><span class="bucket-swatch" data-bucket=bucket.key()></span>{name}</th>
            <td><FormulaInSymbols formula values=estimate.values /></td>
            <td><FormulaInNumbers formula values=estimate.values /></td>
            <td class="num">{format::memory(bytes)}<span class="soft">" "{share}</span></td>
            <td><a href=source.url>{source.short}</a></td>
        </tr>
    }
}
