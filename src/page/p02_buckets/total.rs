use bmax::{Bucket, Bytes, Method};
use leptos::prelude::*;

use crate::site::{State, format};

/// The sum of the buckets, in symbols and, below each symbol, in GiB.
#[component]
pub fn Total(state: State) -> impl IntoView {
    let activations = Memo::new(move |_| state.estimate.with(|estimate| estimate.bucket(Bucket::Activations)));
    let fixed = Memo::new(move |_| {
        state.estimate.with(|estimate| {
            Bucket::ALL
                .iter()
                .filter(|bucket| **bucket != Bucket::Activations)
                .map(|bucket| estimate.bucket(*bucket))
                .sum::<Bytes>()
        })
    });
    let total = move || state.estimate.with(|estimate| format::memory(estimate.peak().bytes));
    view! {
        <div class="bucket-total">
            <p class="bucket-total-symbols">
                <span><math><msub><mi>"M"</mi><mi>"total"</mi></msub></math></span>
                <span>"="</span>
                <span><FixedPart state /></span>
                <span>"+"</span>
                <span><math><mi>"f"</mi><mo>"("</mo><mi>"b"</mi><mo>","</mo><mi>"S"</mi><mo>","</mo><mi>"H"</mi><mo>","</mo><mi>"L"</mi><mo>")"</mo></math></span>
            </p>
            <p class="bucket-total-numbers num">
                <strong data-testid="buckets-total">{total}</strong>
                <span>"="</span>
                <span data-testid="buckets-fixed">{move || format::memory(fixed.get())}</span>
                <span>"+"</span>
                <span data-testid="buckets-activations">{move || format::memory(activations.get())}</span>
            </p>
            <p class="bucket-total-words soft small">
                <span>"per GPU"</span>
                <span></span>
                <span>"fixed"</span>
                <span></span>
                <span>"scales with "<i>"b"</i></span>
            </p>
        </div>
    }
}

/// The first term: the workshop divides sixteen bytes a parameter over all GPUs; the paper's division
/// follows the ZeRO stage and has no such short form.
#[component]
fn FixedPart(state: State) -> impl IntoView {
    move || {
        if state.scenario.with(|scenario| scenario.method == Method::Workshop) {
            view! { <math><mfrac><mrow><mn>"16"</mn><mi>"N"</mi></mrow><mi>"D"</mi></mfrac></math> }.into_any()
        } else {
            view! { <math><msub><mi>"M"</mi><mi>"states"</mi></msub></math> }.into_any()
        }
    }
}
