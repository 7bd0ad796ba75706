//! The four buckets of the current configuration, and the bar they fill.

mod card;
mod total;

use std::rc::Rc;

use bmax::{Bucket, Estimate};

use crate::site::State;
use crate::site::dom::{El, el};
use crate::site::views::{legend, memory_bar};

/// A card for each bucket, the bar of them all, and their sum.
pub fn buckets(state: State) -> El {
    let estimate: Rc<dyn Fn() -> Estimate> = Rc::new(move || state.read(|facts| facts.estimate.clone()));
    let cards = Bucket::ALL.iter().map(|&bucket| card::bucket_card(state, bucket)).collect();
    el("div").class("buckets").children(vec![
        el("ul").class("bucket-cards").children(cards),
        total::total(state),
        memory_bar(estimate.clone()),
        legend(estimate),
    ])
}
