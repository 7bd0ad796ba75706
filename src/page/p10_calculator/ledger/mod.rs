//! The ledger to walk through: instants, then buckets, then entries with their formulas.

mod entry;
mod table;
mod timeline;

use bmax::{Bucket, Entry, Estimate};
use leptos::prelude::*;
use web_sys::Element;

use crate::site::dom::{El, el};
use crate::site::{State, format};

/// Which instant is looked at. Until the reader picks one it is the binding one, whichever that is.
#[derive(Clone, Copy)]
struct Look {
    state: State,
    picked: RwSignal<Option<usize>>,
}

impl Look {
    /// Reads the estimate and the position of the instant.
    fn read<T>(self, read: impl FnOnce(&Estimate, usize) -> T) -> T {
        let picked = self.picked.get();
        self.state.read(|facts| {
            let estimate = &facts.estimate;
            // Another method may have fewer instants than the one in which this was picked.
            let known = picked.filter(|position| *position < estimate.instants.len());
            read(estimate, known.unwrap_or_else(|| estimate.binding().0))
        })
    }

    /// What the instant needs, in words: the heading of what follows.
    fn title(self) -> String {
        self.read(|estimate, at| {
            let total = format::memory(estimate.total_at(at));
            match estimate.instants {
                [_] => format!("All buckets together: {total}"),
                instants if at == estimate.binding().0 => format!("The peak, “{}”: {total}", instants[at].name),
                instants => format!("“{}”: {total}", instants[at].name),
            }
        })
    }
}

/// The instants of a step, and what is alive at the one that is looked at.
pub fn ledger(state: State) -> El {
    let look = Look { state, picked: RwSignal::new(None) };
    let meaning = move || look.read(|estimate, at| estimate.instants[at].meaning.to_owned());
    el("section")
        .class("ledger")
        .attr("id", "ledger")
        .attr("aria-label", "Every entry")
        .attr("data-testid", "ledger")
        .children(vec![
            timeline::timeline(look),
            el("div")
                .attr("aria-live", "polite")
                .child(el("h3").attr("data-testid", "ledger-title").bind_text(move || look.title()))
                .child(el("p").class("field-help").bind_text(meaning)),
            el("div").class("ledger-buckets").children(Bucket::ALL.iter().map(|&kind| bucket(look, kind)).collect()),
            folded("ledger-table", el("summary").text("The same as a table"), Box::new(move || table::table(look))),
        ])
}

/// A bucket, folded, with its entries inside.
fn bucket(look: Look, bucket: Bucket) -> El {
    let share = move || {
        look.read(|estimate, at| {
            let (size, whole) = (estimate.bucket_at(bucket, at), estimate.total_at(at));
            (size, size.share_of(whole))
        })
    };
    let count = move || {
        let count = look.read(|estimate, at| of_bucket(estimate.largest_at(at), bucket).len());
        format::counted(count as u32, "entry", "entries")
    };
    let summary = el("summary")
        .child(el("span").class("bucket-swatch").attr("data-bucket", bucket.key()))
        .child(
            el("span")
                .class("ledger-name")
                .text(bucket.name())
                .text(" ")
                .child(el("span").class("soft small").bind_text(count)),
        )
        .child(el("span").class("ledger-size num").bind_text(move || format::memory(share().0)))
        .child(el("span").class("ledger-part num soft").bind_text(move || format::percent(share().1)));
    // What the reader has opened stays open when the list is made anew.
    let open = StoredValue::new(Vec::new());
    let entries = move || {
        let rows = look.read(|estimate, at| {
            let item = |entry| entry::entry(entry, estimate, estimate.bucket_at(bucket, at), open);
            of_bucket(estimate.largest_at(at), bucket).into_iter().map(item).collect()
        });
        vec![el("ul").class("ledger-entries").children(rows)]
    };
    folded(&format!("ledger-{}", bucket.key()), summary, Box::new(entries))
        .attr("data-bucket", bucket.key())
        .toggle("hidden", move || share().0.get() == 0.0)
}

/// The entries of one bucket.
fn of_bucket(entries: Vec<&Entry>, bucket: Bucket) -> Vec<&Entry> {
    entries.into_iter().filter(|entry| entry.bucket == bucket).collect()
}

/// Something that is made only while it is unfolded: fifty formulas would otherwise be the largest
/// part of every change of the page.
fn folded(test: &str, summary: El, body: Box<dyn Fn() -> Vec<El>>) -> El {
    let open = RwSignal::new(false);
    el("details")
        .attr("data-testid", test)
        .on("toggle", move |event| open.set(event_target::<Element>(&event).has_attribute("open")))
        .child(summary)
        .child(el("div").live(move || if open.get() { body() } else { Vec::new() }))
}
