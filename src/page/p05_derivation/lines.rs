//! The two kinds of lines a derivation has.

use bmax::{Entry, Values};
use leptos::prelude::*;

use super::quantity::gib;
use crate::site::views::{FormulaInNumbers, FormulaInSymbols};

/// A relation between totals, in symbols and with numbers.
#[component]
pub fn FormulaLine(
    /// What the line says, in words.
    title: AnyView,
    symbols: AnyView,
    numbers: AnyView,
) -> impl IntoView {
    view! {
        <li class="derivation-line">
            <p class="derivation-title">{title}</p>
            <div class="derivation-both">
                <div class="formula formula-long">{symbols}</div>
                <div class="formula formula-long">{numbers}</div>
            </div>
        </li>
    }
}

/// One entry of the ledger: its name and size, and how the size comes about.
#[component]
pub fn EntryLine(entry: Entry, values: Values) -> impl IntoView {
    let formula = entry.formula;
    view! {
        <li class="derivation-entry">
            <span class="derivation-name"><span class="bucket-swatch" data-bucket=entry.bucket.key()></span>" "{entry.name}</span>
            <div class="derivation-formulas">
                <span><FormulaInSymbols formula values /></span>
                <span><FormulaInNumbers formula values /><span class="soft">" bytes"</span></span>
            </div>
            <span class="derivation-memory num">"= "{gib(entry.bytes)}" GiB"</span>
        </li>
    }
}
