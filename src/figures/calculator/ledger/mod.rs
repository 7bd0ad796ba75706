//! The ledger to walk through: instants, then buckets, then entries with their formulas.

mod entries;
mod shown;
mod table;

use bmax::Bucket;
use leptos::ev::Event;
use leptos::prelude::*;

use crate::site::{State, read};
use entries::EntryFold;
use shown::{InstantRow, Shown, entries_of};
use table::Breakdown;

/// The instants of a step, and what is alive at the one that is looked at.
#[component]
pub fn LedgerWalk(state: State) -> impl IntoView {
    let picked = RwSignal::new(None);
    let shown = Memo::new(move |_| state.read(|facts| Shown::of(facts, picked.get())));
    let bucket = |at: usize| view! { <BucketFold state shown at/> };
    view! {
        <section class="ledger" id="ledger" aria-label="Every entry" data-testid="ledger">
            <Timeline shown picked/>
            <div aria-live="polite">
                <h3 data-testid="ledger-title">{read(shown, |shown| &shown.title)}</h3>
                <p class="field-help">{read(shown, |shown| &shown.meaning)}</p>
            </div>
            <div class="ledger-buckets">{(0..Bucket::ALL.len()).map(bucket).collect_view()}</div>
            <p
                class="field-help"
                data-testid="host-memory"
                hidden=move || shown.with(|shown| shown.host.is_empty())
            >
                {read(shown, |shown| &shown.host)}
            </p>
            <Breakdown state shown/>
        </section>
    }
}

/// A bar for each instant, to pick from. The binding instant is followed wherever it goes.
#[component]
fn Timeline(shown: Memo<Shown>, picked: RwSignal<Option<usize>>) -> impl IntoView {
    let row = move |(at, row): (usize, InstantRow)| {
        let (looked_at, binding) = shown.with(|shown| (shown.at, shown.binding));
        let pick = move |_| picked.set((at != binding).then_some(at));
        view! {
            <label class="timeline-row">
                <input
                    type="radio"
                    name="ledger-instant"
                    checked=at == looked_at
                    prop:checked=at == looked_at
                    on:change=pick
                />
                <span class="timeline-name">
                    {row.name} " " {(at == binding).then(|| view! { <span class="badge badge-peak">"peak"</span> })}
                </span>
                <span class="timeline-bar" aria-hidden="true" style=("--parts", row.parts)></span>
                <span class="timeline-size num">{row.size}</span>
            </label>
        }
    };
    view! {
        <fieldset class="timeline" data-testid="timeline" hidden=move || shown.with(|shown| !shown.is_ledger)>
            <legend>"The moments of one step, and what is alive at each"</legend>
            <div>
                {move || shown.with(|shown| shown.instants.clone()).into_iter().enumerate().map(row).collect_view()}
            </div>
        </fieldset>
    }
}

/// A bucket, and while it is unfolded its entries. What the reader has unfolded of those stays unfolded when the
/// entries change places.
#[component]
fn BucketFold(state: State, shown: Memo<Shown>, at: usize) -> impl IntoView {
    let bucket = Bucket::ALL[at];
    let is_open = RwSignal::new(false);
    let unfolded = RwSignal::new(Vec::new());
    let entries = Memo::new(move |_| {
        if !is_open.get() {
            return Vec::new();
        }
        let instant = shown.with(|shown| shown.at);
        state.read(|facts| unfolded.with(|unfolded| entries_of(&facts.estimate, instant, bucket, unfolded)))
    });
    view! {
        <details
            data-bucket=bucket.key()
            data-testid=format!("ledger-{}", bucket.key())
            hidden=move || shown.with(|shown| !shown.buckets[at].is_there)
            on:toggle=move |event| is_open.set(opened(&event))
        >
            <summary>
                <span class="ledger-name swatched">
                    {bucket.name()} " "
                    <span class="soft small">{move || shown.with(|shown| shown.buckets[at].entries.clone())}</span>
                </span>
                <span class="ledger-size num">{move || shown.with(|shown| shown.buckets[at].size.clone())}</span>
                <span class="ledger-part num soft">{move || shown.with(|shown| shown.buckets[at].share.clone())}</span>
            </summary>
            <div>
                <ul class="ledger-entries">
                    {move || entries.get().into_iter().map(|entry| view! { <EntryFold entry unfolded/> }).collect_view()}
                </ul>
            </div>
        </details>
    }
}

/// Whether the `details` that an event comes from is open.
fn opened(event: &Event) -> bool {
    event_target::<web_sys::Element>(event).has_attribute("open")
}
