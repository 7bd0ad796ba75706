//! What binds, and the single changes that would help most. The sentences stand in the page.

use bmax::Answer;

use leptos::prelude::*;

use crate::figures::levers::describe;
use crate::site::{Facts, Live, format};

/// The reason behind the answer, in whole sentences: which entry, at which instant, by how much.
pub fn draw(live: &Live, facts: &Facts) {
    let largest = &facts.limit.largest;
    let instant = facts.limit.instant.name.to_owned();
    let [name, bucket] = [largest.name, largest.bucket.name()].map(str::to_owned);
    let size = format::memory(largest.bytes);
    let (case, texts, gpus) = match &facts.answer {
        Answer::Fits(room) if room.capped => ("capped", Vec::new(), None),
        Answer::Fits(room) => {
            let [one, lack, usable] = [room.per_sequence, room.next_lacks, facts.estimate.usable()].map(format::memory);
            let batch = format::counted(room.batch, "fits", "fit");
            let case = if facts.is_ledger() { "fits" } else { "fits-formula" };
            (case, vec![one, batch, usable, lack, instant, name, bucket, size], None)
        }
        Answer::Infeasible(reason) => {
            let why = format::shortage(&facts.answer).unwrap_or_default();
            // Where all buckets are counted at once there is no instant to speak of.
            let (case, texts) = if facts.is_ledger() {
                ("none", vec![why, instant, name, bucket, size])
            } else {
                ("none-formula", vec![why, name, bucket, size])
            };
            (case, texts, Some(reason.fewest_gpus))
        }
    };
    live.say("binds", case, &texts);
    let mend = match gpus {
        None => "",
        Some(None) => "none",
        Some(Some(_)) => "gpus",
    };
    live.say("mend-all", mend, &[format::counted(gpus.flatten().unwrap_or(0), "GPU", "GPUs")]);
}

/// The three changes that gain most, each with where it leads.
pub fn draw_helpful(live: &Live) {
    live.state().ranking.with(|ranking| {
        let gaining = ranking.gaining();
        for (item, lever) in live.copies("helps", gaining.len().min(3)).iter().zip(gaining) {
            item.write("", &[describe(lever.change), lever.after.map_or_else(String::new, format::count)]);
        }
        live.show("nothing-helps", gaining.is_empty());
    });
}
