//! The instants of a step as bars, one of which is picked.

use bmax::{Bucket, Estimate};
use leptos::prelude::*;

use super::Look;
use crate::site::dom::{El, el};
use crate::site::format;

/// A bar for each instant, to pick from; nothing where all buckets are counted as one.
pub fn timeline(look: Look) -> El {
    let rows = move || {
        look.state.read(|facts| {
            let estimate = &facts.estimate;
            (0..estimate.instants.len()).map(|at| row(look, estimate, at)).collect()
        })
    };
    el("fieldset")
        .class("timeline")
        .attr("data-testid", "timeline")
        .toggle("hidden", move || look.state.read(|facts| !facts.is_ledger()))
        .child(el("legend").text("The moments of one step, and what is alive at each"))
        .child(el("div").live(rows))
}

fn row(look: Look, estimate: &Estimate, at: usize) -> El {
    let (binding, peak) = estimate.binding();
    let total = estimate.total_at(at);
    let radio = el("input")
        .attr("type", "radio")
        .attr("name", "ledger-instant")
        .flag("checked", move || look.read(|_, shown| shown == at))
        // The binding instant is followed wherever it goes.
        .on("change", move |_| look.picked.set(Some(at).filter(|at| *at != binding)));
    let part = |&bucket: &Bucket| {
        let share = format::css_percent(estimate.bucket_at(bucket, at).share_of(peak));
        el("span").attr("data-bucket", bucket.key()).variable("--share", move || share.clone())
    };
    let there = Bucket::ALL.iter().filter(|bucket| estimate.bucket_at(**bucket, at).get() > 0.0);
    let bar = el("span").class("timeline-bar").attr("aria-hidden", "true").children(there.map(part).collect());
    let mark = (at == binding).then(|| el("span").class("badge badge-peak").text("peak"));
    el("label")
        .class("timeline-row")
        .child(radio)
        .child(el("span").class("timeline-name").text(estimate.instants[at].name).text(" ").maybe(mark))
        .child(bar)
        .child(el("span").class("timeline-size num").text(&format::gib(total)))
}
