//! Everything that is alive at one instant as one table.

use leptos::prelude::*;

use super::opened;
use super::shown::{Details, EntryRow, Shown, all_entries};
use crate::site::{State, read};

/// The entries, largest first, and their sum, while the table is unfolded.
#[component]
pub fn Breakdown(state: State, shown: Memo<Shown>) -> impl IntoView {
    let is_open = RwSignal::new(false);
    let entries = Memo::new(move |_| {
        if !is_open.get() {
            return Vec::new();
        }
        let instant = shown.with(|shown| shown.at);
        state.read(|facts| all_entries(&facts.estimate, instant))
    });
    view! {
        <details data-testid="ledger-table" on:toggle=move |event| is_open.set(opened(&event))>
            <summary>"The same as a table"</summary>
            <div>
                <div class="table-scroll" tabindex="0" role="region" aria-label="Breakdown, entry by entry">
                    <table class="data-table data-table-rows breakdown">
                        <caption>{read(shown, |shown| &shown.title)}</caption>
                        <thead>
                            <tr>
                                <th scope="col">"Entry"</th>
                                <th scope="col" class="num">"Memory"</th>
                                <th scope="col">"Formula"</th>
                                <th scope="col">"With your numbers, in bytes"</th>
                                <th scope="col">"Alive"</th>
                                <th scope="col">"Source"</th>
                            </tr>
                        </thead>
                        <tbody>{move || entries.get().into_iter().filter_map(row).collect_view()}</tbody>
                        <tfoot>
                            <tr>
                                <th scope="row">"Together"</th>
                                <td class="num">{read(shown, |shown| &shown.total)}</td>
                                <td colspan="4"></td>
                            </tr>
                        </tfoot>
                    </table>
                </div>
            </div>
        </details>
    }
}

fn row(entry: EntryRow) -> Option<impl IntoView> {
    let EntryRow { key, bucket, size, details, .. } = entry;
    let Details { formula, numbers, alive, source, .. } = details?;
    Some(view! {
        <tr>
            <th scope="row">
                <span class="bucket-swatch" data-bucket=bucket.key()></span>
                <span>{key.name}</span>
                <span class="soft">" " {bucket.name()}</span>
            </th>
            <td class="num" data-label="Memory">{size}</td>
            <td data-label="Formula"><math inner_html=formula></math></td>
            <td class="num" data-label="In bytes">{numbers}</td>
            <td data-label="Alive">{alive}</td>
            <td data-label="Source"><a href=source.url>{source.short}</a></td>
        </tr>
    })
}
