//! The four buckets of the current configuration, and the bar they fill.

mod card;
mod total;

use bmax::Bucket;
use leptos::prelude::*;

use crate::site::State;
use crate::site::views::{Legend, MemoryBar};

/// A card for each bucket, the bar of them all, and their sum.
#[component]
pub fn Buckets(state: State) -> impl IntoView {
    let cards = Bucket::ALL.iter().map(|&bucket| view! { <card::BucketCard state bucket /> }).collect_view();
    view! {
        <div class="buckets">
            <ul class="bucket-cards">{cards}</ul>
            <total::Total state />
            <MemoryBar estimate=state.estimate />
            <Legend estimate=state.estimate />
        </div>
    }
}
