//! The buckets of the current configuration, and the bar they fill.

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
        absent(state),
        total::total(state),
        memory_bar(estimate.clone()),
        legend(estimate),
    ])
}

/// Which instant the cards show, and which buckets are empty then.
fn absent(state: State) -> El {
    let text = move || {
        state.read(|facts| {
            let estimate = &facts.estimate;
            if !facts.is_ledger() {
                return String::new();
            }
            let mut text = format!("This is the moment that needs most, “{}”.", estimate.peak().instant.name);
            for bucket in Bucket::ALL.iter().filter(|bucket| estimate.bucket(**bucket).get() == 0.0) {
                text += " Then there is nothing in “";
                text += bucket.name();
                text += "”.";
            }
            text
        })
    };
    el("p").class("soft small").attr("data-testid", "buckets-instant").bind_text(text)
}
