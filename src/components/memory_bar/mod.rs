//! The memory of one device in a step, as a stacked bar.

use bmax::Bytes;
use bmax::chart::{self, PARTS, part};
use leptos::prelude::*;

use crate::site::format;

/// The bar. Widths reach the style sheet as custom properties; the look stays there. A frame is drawn around
/// the device and a mark where its usable memory ends; what is longer than the bar is cut off.
///
/// It follows the pattern of an image with a text: <https://www.w3.org/WAI/tutorials/images/complex/>; the
/// legend beside it has every number.
#[component]
pub fn MemoryBar(
    /// What is drawn.
    #[prop(into)]
    bar: Signal<chart::MemoryBar>,
) -> impl IntoView {
    let share = move |of: fn(&chart::MemoryBar) -> Bytes| move || bar.with(|bar| along(bar, of(bar)));
    let size = move |at: usize| move || bar.with(|bar| along(bar, bar.drawn[at]));
    // Parts come and go seldom; those that are there change their size alone.
    let there =
        Memo::new(move |_| bar.with(|bar| (0..PARTS).filter(|at| bar.drawn[*at] > Bytes::ZERO).collect::<Vec<_>>()));
    let bucket = move |at: usize| {
        view! { <span class="memory-part" data-bucket=part(at).key() style=("--share", size(at))></span> }
    };
    view! {
        <div
            class="memory-bar"
            role="img"
            aria-label=move || bar.with(chart::MemoryBar::sentence)
            style=("--from", share(|bar| bar.memory))
        >
            <div class="memory-parts" class:memory-cut=move || bar.with(|bar| bar.peak > bar.length)>
                {move || there.get().into_iter().map(bucket).collect_view()}
            </div>
            <span class="memory-over" style=("--share", share(chart::MemoryBar::over))></span>
            <span class="memory-mark memory-mark-device" style=("--share", share(|bar| bar.memory))></span>
            <span class="memory-mark memory-mark-usable" style=("--share", share(|bar| bar.usable))></span>
            <span class="memory-label memory-label-usable num" style=("--share", share(|bar| bar.usable))>
                {move || bar.with(|bar| format::gib(bar.usable) + " usable")}
            </span>
            <span class="memory-label memory-label-device num" style=("--share", share(|bar| bar.memory))>
                {move || bar.with(|bar| format::gib(bar.memory) + " GPU")}
            </span>
        </div>
    }
}

/// Names, colours and sizes of the bar's parts.
#[component]
pub fn MemoryLegend(
    /// The bar.
    #[prop(into)]
    bar: Signal<chart::MemoryBar>,
) -> impl IntoView {
    let named = Memo::new(move |_| bar.with(|bar| (0..PARTS).filter(|at| bar.names(*at)).collect::<Vec<_>>()));
    let row = move |at: usize| {
        let tint = part(at);
        view! {
            <li class="swatched" data-bucket=tint.key()>
                <span class="legend-name">{tint.name()}</span>
                <span class="legend-size num">{move || bar.with(|bar| bar.size_text(at))}</span>
            </li>
        }
    };
    view! { <ul class="legend memory-legend">{move || named.get().into_iter().map(row).collect_view()}</ul> }
}

/// A length on the bar as the style sheet takes it.
fn along(bar: &chart::MemoryBar, bytes: Bytes) -> String {
    format::css_percent(bytes.share_of(bar.length))
}
