//! The ledger to walk through: instants, then buckets, then entries with their formulas. What is
//! folded is not written: fifty formulas would otherwise be the largest part of every change of the
//! page.

mod entry;
mod table;

use bmax::{Bucket, Estimate};

use crate::site::{Live, format};

/// The instants of a step, and what is alive at the one that is looked at.
pub fn draw(live: &Live) {
    let picked = live.number("picked");
    live.facts(|facts| {
        let estimate = &facts.estimate;
        let (binding, _) = estimate.binding();
        // Until the reader picks one it is the binding one, whichever that is; and another method may
        // have fewer instants than the one in which this was picked.
        let at = (0..estimate.instants.len()).find(|at| *at as f64 == picked).unwrap_or(binding);
        live.show("timeline", facts.is_ledger());
        if facts.is_ledger() {
            timeline(live, estimate, at);
        }
        let instant = &estimate.instants[at];
        let case = match estimate.instants {
            [_] => "all",
            _ if at == binding => "peak",
            _ => "other",
        };
        let mut texts = vec![format::memory(estimate.total_at(at))];
        if case != "all" {
            texts.insert(0, instant.name.to_owned());
        }
        for title in ["title", "table-title"] {
            live.say(title, case, &texts);
        }
        live.text("meaning", &(instant.meaning.to_owned() + &ranks(estimate)));
        for (item, &kind) in live.copies("buckets", Bucket::ALL.len()).iter().zip(Bucket::ALL) {
            bucket(item, estimate, at, kind);
        }
        table::draw(live, estimate, at);
    });
}

/// Which rank of a pipeline needs most, and what the last one needs; nothing without a pipeline.
fn ranks(estimate: &Estimate) -> String {
    let peak = estimate.peak();
    let mut text = String::new();
    for stage in estimate.stages() {
        let which = match (stage.peak == peak, stage.stage) {
            (true, _) => "needs most,",
            (_, "last") => "is the last and needs",
            _ => continue,
        };
        text += &format!(" Rank {} {which} {}.", stage.rank, format::memory(stage.peak.bytes));
    }
    text
}

/// A bar for each instant, to pick from.
fn timeline(live: &Live, estimate: &Estimate, shown: usize) {
    let (binding, peak) = estimate.binding();
    for (at, row) in live.copies("instants", estimate.instants.len()).iter().enumerate() {
        row.write("", &[estimate.instants[at].name.to_owned(), format::gib(estimate.total_at(at))]);
        row.show("peak", at == binding);
        row.check("instant", at == shown);
        // The binding instant is followed wherever it goes.
        let word = if at == binding { String::new() } else { at.to_string() };
        row.control_attr("instant", "data-press", &word);
        for (part, &bucket) in row.copies("bar", Bucket::ALL.len()).iter().zip(Bucket::ALL) {
            let size = estimate.bucket_at(bucket, at);
            part.attr("", "data-bucket", bucket.key());
            part.variable("", "--share", &format::css_percent(size.share_of(peak)));
            part.show("", size.get() > 0.0);
        }
    }
}

/// A bucket, and while it is unfolded its entries.
fn bucket(item: &Live, estimate: &Estimate, at: usize, bucket: Bucket) {
    let size = estimate.bucket_at(bucket, at);
    let mut entries = estimate.largest_at(at);
    entries.retain(|entry| entry.bucket == bucket);
    item.attr("", "data-bucket", bucket.key());
    item.attr("", "data-testid", &("ledger-".to_owned() + bucket.key()));
    item.attr("swatch", "data-bucket", bucket.key());
    item.show("", size.get() > 0.0);
    item.write(
        "summary",
        &[
            bucket.name().to_owned(),
            format::counted(entries.len() as u32, "entry", "entries"),
            format::memory(size),
            format::percent(size.share_of(estimate.total_at(at))),
        ],
    );
    if item.is_open("") {
        entry::draw(item, &entries, estimate, size);
    }
}

/// Looks at an instant.
pub fn press(live: &Live, word: &str) {
    live.set("picked", word);
}
