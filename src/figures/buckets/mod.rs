//! The buckets of the current configuration, and the bar they fill.

mod shown;

use bmax::Bucket;
use leptos::prelude::*;

use crate::components::{Formula, MemoryBar, MemoryLegend, Segmented, is_long};
use crate::site::{Facts, State, read};
use shown::{Growth, Shown, View};

/// A card for each bucket, what they show, their sum, and the bar of them all: each at its fullest,
/// or what is alive at the peak.
#[component]
pub fn Buckets(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let view = RwSignal::new(View::Largest);
    let shown = Memo::new(move |_| state.read(|facts| Shown::of(facts, view.get())));
    let bar = Memo::new(move |_| shown.with(|shown| shown.bar.clone()));
    let there = Memo::new(move |_| shown.with(Shown::there));
    let card = move |at: usize| view! { <BucketCard shown at/> };
    view! {
        <div class="buckets">
            // The other two methods count one moment, at which all buckets are full.
            <div class="bucket-views" hidden=move || !state.read(Facts::is_ledger)>
                <Segmented
                    id="buckets-view"
                    legend="What is shown"
                    options=[(View::Largest, "Each at its largest"), (View::Peak, "At the peak")]
                    value=view
                />
            </div>
            <ul class="bucket-cards">{move || there.get().into_iter().map(card).collect_view()}</ul>
            <div class="bucket-bar">
                <MemoryBar bar/>
                <MemoryLegend bar/>
            </div>
            <p class="bucket-told" data-testid="buckets-told">{read(shown, |shown| &shown.told)}</p>
            <Total shown/>
        </div>
    }
}

/// One bucket: its size, its part of the whole, its formulas and whether the batch is in them.
#[component]
fn BucketCard(shown: Memo<Shown>, at: usize) -> impl IntoView {
    let bucket = Bucket::ALL[at];
    let growth = move || shown.with(|shown| shown.cards[at].growth);
    let lines = move || shown.with(|shown| shown.cards[at].lines.clone());
    view! {
        <li
            class="bucket-card"
            data-bucket=bucket.key()
            data-testid=format!("bucket-{}", bucket.key())
        >
            <p class="bucket-name swatched">{bucket.name()}</p>
            <p class="bucket-growth badge" class:bucket-grows=move || growth() != Growth::Fixed>
                <span aria-hidden="true">{move || growth().sign()}</span>
                <span>{move || growth().words()}</span>
            </p>
            <p class="bucket-size">
                <span class="readout readout-s num">{move || shown.with(|shown| shown.cards[at].size.clone())}</span>
                <span class="soft small num">
                    {move || shown.with(|shown| shown.cards[at].percent.clone())} " of the total"
                </span>
            </p>
            <div class="bucket-share">
                <span style=("--share", move || shown.with(|shown| shown.cards[at].share.clone()))></span>
            </div>
            <div class="bucket-entries">
                <dl class="bucket-formulas">{move || lines().into_iter().map(line).collect_view()}</dl>
                <p class="small" hidden=move || shown.with(|shown| shown.cards[at].more.is_none())>
                    <a href="#ledger">{move || shown.with(|shown| shown.cards[at].more.clone())}</a>
                </p>
            </div>
        </li>
    }
}

/// An entry of a bucket.
fn line((name, formula): (&'static str, String)) -> impl IntoView {
    let by_key = is_long(&formula).then_some("0");
    view! {
        <div>
            <dt>{name}</dt>
            <dd tabindex=by_key>
                <Formula mathml=formula/>
            </dd>
        </div>
    }
}

/// The sum in symbols, in numbers and in words.
#[component]
fn Total(shown: Memo<Shown>) -> impl IntoView {
    view! {
        <div class="bucket-total">
            <p class="bucket-total-symbols">
                <span><math inner_html=TOTAL></math></span>
                <span>"="</span>
                <span><math inner_html=move || shown.with(|shown| shown.fixed_symbols)></math></span>
                <span>"+"</span>
                <span><math inner_html=GROWING></math></span>
            </p>
            <p class="bucket-total-numbers num">
                <strong data-testid="buckets-total">{read(shown, |shown| &shown.total)}</strong>
                <span>"="</span>
                <span data-testid="buckets-fixed">{read(shown, |shown| &shown.fixed)}</span>
                <span>"+"</span>
                <span data-testid="buckets-growing">{read(shown, |shown| &shown.growing)}</span>
            </p>
            <p class="bucket-total-words soft small">
                <span>"per GPU"</span>
                <span></span>
                <span>"fixed"</span>
                <span></span>
                <span>"scales with " <i>"b"</i></span>
            </p>
        </div>
    }
}

/// Everything, as MathML. As a literal it would be taken for an attribute of the name `inner_html`.
const TOTAL: &str = "<msub><mi>M</mi><mi>total</mi></msub>";
/// What grows with the batch.
const GROWING: &str =
    "<mi>f</mi><mo>(</mo><mi>b</mi><mo>,</mo><mi>S</mi><mo>,</mo><mi>H</mi><mo>,</mo><mi>L</mi><mo>)</mo>";
