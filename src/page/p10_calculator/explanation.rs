//! What binds, and the single changes that would help most.

use bmax::Answer;
use bmax::levers::Lever;

use leptos::prelude::*;

use super::super::outlooks::at_instant;
use super::super::p12_levers::describe;
use crate::site::dom::{El, el};
use crate::site::{Facts, State, format};

/// The reason behind the answer, and the changes that gain most.
pub fn explanation(state: State) -> El {
    let none = el("p")
        .text("No single change makes room. Combine several, or take a larger GPU: see ")
        .child(el("a").attr("href", "#levers").text("the levers"))
        .text(".");
    el("div")
        .class("explanation")
        .child(el("h3").text("What binds"))
        .child(el("p").attr("data-testid", "what-binds").bind_text(move || state.read(what_binds)))
        .child(el("h3").text("What would help most: sequences per GPU"))
        .child(el("ul").attr("data-testid", "what-helps").live(move || helpful_changes(state)))
        .child(none.toggle("hidden", move || state.ranking.with(|ranking| !ranking.gaining().is_empty())))
}

/// The three changes that gain most, each with where it leads.
fn helpful_changes(state: State) -> Vec<El> {
    let item = |lever: &Lever| {
        let after = lever.after.map_or_else(String::new, format::count);
        let name = el("span").text(&describe(lever.change));
        el("li").child(name).text(" ").child(el("strong").class("num").text(&after))
    };
    state.ranking.with(|ranking| ranking.gaining().iter().take(3).map(item).collect())
}

/// The reason behind the answer, in whole sentences: which entry, at which instant, by how much.
fn what_binds(facts: &Facts) -> String {
    let largest = &facts.limit.largest;
    let largest = format!("“{}” ({}), {}", largest.name, largest.bucket.name(), format::memory(largest.bytes));
    match &facts.answer {
        Answer::Fits(room) if room.capped => "Nothing within the range of this page.".to_owned(),
        Answer::Fits(room) => {
            let [one, lack] = [room.per_sequence, room.next_lacks].map(format::memory);
            let batch = format::counted(room.batch, "fits", "fit");
            let usable = format::memory(facts.estimate.usable());
            if facts.is_ledger() {
                let instant = at_instant(facts.limit.instant);
                format!(
                    "Each sequence adds {one}. {batch} into {usable}; the next one would lack {lack} {instant}, where the largest entry is {largest}."
                )
            } else {
                format!(
                    "Each sequence takes {one} of activations. {batch} into {usable}; the next one would lack {lack}."
                )
            }
        }
        Answer::Infeasible(reason) => {
            let mend = reason.fewest_gpus.map_or_else(
                || "More GPUs alone do not mend that.".to_owned(),
                |gpus| format!("With {} one sequence fits.", format::counted(gpus, "GPU", "GPUs")),
            );
            // Where all buckets are counted at once there is no instant to speak of.
            let instant = if facts.is_ledger() { at_instant(facts.limit.instant) + " " } else { String::new() };
            let reason = format::shortage(&facts.answer).unwrap_or_default();
            format!("{reason} The largest entry {instant}is {largest}. {mend}")
        }
    }
}
