//! The derivation with the reader's numbers in every line, and the worked example.

mod quantity;
mod steps;
mod worked;

use bmax::{Answer, Bytes, Entry, Method, Values, link};

use crate::site::dom::{El, el};
use crate::site::views::{formula_in_numbers, formula_in_symbols};
use crate::site::{Facts, Live, State, format, mount_live, mount_pressed};
use quantity::gib;
use steps::Steps;

/// Mounts the figures of this section.
pub fn mount(state: State) {
    mount_live("derivation", state, draw);
    mount_pressed("worked-example", state, worked::draw, worked::press);
}

/// Each line of the derivation, in symbols and with the current numbers.
fn draw(live: &Live) {
    let scenario = live.facts(|facts| {
        whose_derivation(live, facts);
        // The micro-batch changes no line.
        facts.scenario.with_batch(1)
    });
    let lines = live.place("lines");
    let drawn = link::encode(&scenario);
    if lines.element().get_attribute("data-drawn").as_deref() == Some(&drawn) {
        return;
    }
    _ = lines.attr("data-drawn", &drawn);
    let steps = Steps::of(&scenario);
    live.texts("memory", &gib(steps.memory));
    live.texts("headroom", &steps.headroom_text());
    divide(live, "", [steps.usable, steps.fixed, steps.one_sequence], &steps.answer);
    entries(live, "fixed-entries", steps.fixed_entries(), &steps.values);
    entries(live, "one-entries", steps.activations(), &steps.values);
    live.attr("solved", "data-fits", if steps.answer.batch().is_some() { "true" } else { "false" });
    live.text("conclusion", &steps.conclusion());
    live.show("ledger", steps.ledger.is_some());
    if let Some((division, answer)) = &steps.ledger {
        live.text("instant", division.instant.name);
        divide(live, "ledger-", [division.usable, division.fixed, division.per_sequence], answer);
    }
}

/// Under the ledger: that another method is derived, and what each answers.
fn whose_derivation(live: &Live, facts: &Facts) {
    let workshop = facts.others.iter().find(|(method, _)| *method == Method::Workshop);
    live.show("whose-workshop", workshop.is_none());
    live.show("whose-paper", facts.scenario.method == Method::Paper);
    live.show("whose-ledger", facts.is_ledger());
    if let Some((_, workshop)) = workshop {
        live.text("workshop", &format::answer(workshop));
        live.text("answer", &format::answer(&facts.answer));
    }
}

/// A division with its numbers, down to the whole number of sequences: usable memory, the fixed part
/// and one sequence.
fn divide(live: &Live, line: &str, [usable, fixed, one]: [Bytes; 3], answer: &Answer) {
    let name = |part: &str| line.to_owned() + part;
    let left = usable - fixed;
    for (part, bytes) in [("usable", usable), ("fixed", fixed), ("one", one), ("left", left)] {
        live.texts(&name(part), &gib(bytes));
    }
    live.text(&name("quotient"), &steps::quotient(left, one, answer));
    live.text(&name("batch"), &format::count(answer.batch().unwrap_or(0)));
    live.show(&name("room"), left.get() >= 0.0);
    live.show(&name("over"), left.get() < 0.0);
}

/// The entries that a total is the sum of: name and size of each, and how the size comes about.
fn entries<'a>(live: &Live, name: &str, entries: impl Iterator<Item = &'a Entry>, values: &Values) {
    _ = live.place(name).clear().children(entries.map(|entry| entry_line(entry, values)).collect());
}

fn entry_line(entry: &Entry, values: &Values) -> El {
    let swatch = el("span").class("bucket-swatch").attr("data-bucket", entry.bucket.key());
    let symbols = el("span").child(formula_in_symbols(entry.formula, values));
    let numbers =
        el("span").child(formula_in_numbers(entry.formula, values)).child(el("span").class("soft").text(" bytes"));
    el("li").class("derivation-entry").children(vec![
        el("span").class("derivation-name").child(swatch).text(" ").text(entry.name),
        el("div").class("derivation-formulas").child(symbols).child(numbers),
        el("span").class("derivation-memory num").text(&format!("= {} GiB", gib(entry.bytes))),
    ])
}
