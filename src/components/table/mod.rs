//! Numbers in rows and columns.

use leptos::prelude::*;

/// A column of a table.
#[derive(Clone, Copy)]
pub struct Column {
    /// Its head, with the unit where all cells have one.
    pub name: &'static str,
    /// Whether its cells are numbers, which stand below each other at their right.
    pub number: bool,
}

impl Column {
    /// A column of words.
    pub const fn words(name: &'static str) -> Self {
        Self { name, number: false }
    }

    /// A column of numbers.
    pub const fn numbers(name: &'static str) -> Self {
        Self { name, number: true }
    }

    const fn class(&self) -> Option<&'static str> {
        if self.number { Some("num") } else { None }
    }
}

/// A table whose first cells are the heads of their rows. On narrow screens it scrolls by itself, which the
/// keyboard can do too. It follows the table pattern with the browser's own elements:
/// <https://www.w3.org/WAI/ARIA/apg/patterns/table/>, <https://www.w3.org/WAI/tutorials/tables/>.
#[component]
pub fn DataTable(
    /// What the table says, above it.
    caption: &'static str,
    /// A shorter name for the region that scrolls.
    label: &'static str,
    /// What tests find the rows by.
    #[prop(default = "rows")]
    name: &'static str,
    /// The columns.
    columns: &'static [Column],
    /// The cells, row by row.
    #[prop(into)]
    rows: Signal<Vec<Vec<String>>>,
    /// Whether a row is a card on a phone: where its last columns would be out of sight there.
    #[prop(optional)]
    cards: bool,
    /// A further name for the style sheet.
    #[prop(optional)]
    class: &'static str,
) -> impl IntoView {
    let heads = columns.iter().map(|column| view! { <th scope="col" class=column.class()>{column.name}</th> });
    let label_of = move |column: &Column| cards.then_some(column.name);
    let cell = move |(text, column): (String, &'static Column)| {
        view! { <td class=column.class() data-label=label_of(column)>{text}</td> }
    };
    // Rows are patched by their place: a cell that stays as it is is not touched.
    let row = move |cells: Vec<String>| {
        let mut cells = cells.into_iter().zip(columns);
        let head = cells.next().map(|(text, _)| view! { <th scope="row">{text}</th> });
        view! { <tr>{head}{cells.map(cell).collect_view()}</tr> }
    };
    view! {
        <div class=format!("table-scroll {class}") tabindex="0" role="region" aria-label=label>
            <table class="data-table" class=("data-table-rows", cards) class=("data-table-cards", cards)>
                <caption>{caption}</caption>
                <thead>
                    <tr>{heads.collect_view()}</tr>
                </thead>
                <tbody data-testid=name>{move || rows.get().into_iter().map(row).collect_view()}</tbody>
            </table>
        </div>
    }
}
