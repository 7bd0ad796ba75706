//! What the library says the page should show.

use bmax::{Answer, Bytes, Field, Scenario, b_max, format, link, number};

/// The scenario behind a query string, which must be free of mistakes.
pub fn scenario(query: &str) -> Scenario {
    let read = link::decode(query);
    assert_eq!(read.notices, [], "a test should ask for what exists");
    read.scenario
}

/// b_max as the page writes it: never a bare zero.
pub fn answer(scenario: &Scenario) -> String {
    match b_max(scenario) {
        Answer::Fits(room) if room.capped => format!("≥ {}", number::grouped(room.batch.into())),
        Answer::Fits(room) => number::grouped(room.batch.into()),
        Answer::Infeasible(_) => "does not fit".to_owned(),
        Answer::Refused(refusal) => format::refused(refusal.kind).to_owned(),
    }
}

/// A memory size as the page writes it: in GiB with two digits after the point below ten and one above,
/// and in MiB with one below a tenth of a GiB.
pub fn memory(bytes: Bytes) -> String {
    let gib = bytes.gib();
    if gib > 0.0 && gib < 0.1 {
        return format!("{} MiB", number::with_commas(&number::fixed(bytes.mib(), 1)));
    }
    format!("{} GiB", number::with_commas(&number::fixed(gib, if gib.abs() < 10.0 { 2 } else { 1 })))
}

/// The label of a numeric field: its name, and its symbol where it has one.
pub fn label(field: Field) -> String {
    let bound = field.bound();
    match bound.symbol {
        "" | "%" => bound.name.to_owned(),
        // What follows an underscore is shown as a subscript.
        symbol => format!("{} {}", bound.name, symbol.replace('_', "")),
    }
}
