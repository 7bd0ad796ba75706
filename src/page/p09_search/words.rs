//! The search in words. The sentences stand in the page; this picks one and fills in its numbers.

use bmax::Field;
use bmax::search::{Phase, Probe};

use crate::site::{Live, format};

/// What can come after an attempt; the first is the question before all of them.
const NEXT: [&str; 6] = ["question", "bisect", "double", "nothing-fits", "found", "no-more"];

/// What search and division can say together; the first is said before the search has ended.
const VERDICTS: [&str; 5] = ["open", "both-none", "both-end", "both", "differ"];

/// Says what is known when `made` attempts have been made, and what comes next.
pub fn step(live: &Live, trace: &[Probe], made: usize) {
    let now = next(trace, made);
    for sentence in NEXT {
        live.show(sentence, sentence == now);
    }
    live.show("made", made > 0);
    let Some(probe) = made.checked_sub(1).and_then(|last| trace.get(last)) else { return };
    live.show("made-runs", probe.fits);
    live.show("made-fails", !probe.fits);
    live.text("made-phase", phase(probe));
    let high = probe.high.unwrap_or(0);
    let next = trace.get(made).map_or(0, |next| next.batch);
    for (name, number) in [
        ("made-number", made as u32),
        ("made-batch", probe.batch),
        ("bisect-low", probe.low),
        ("bisect-high", high.saturating_sub(1)),
        ("bisect-next", next),
        ("double-next", next),
        ("found-low", probe.low),
        ("found-high", high),
        ("no-more-low", probe.low),
    ] {
        live.text(name, &format::count(number));
    }
}

/// Which of the sentences [`NEXT`] follows.
fn next(trace: &[Probe], made: usize) -> &'static str {
    let Some(last) = made.checked_sub(1).and_then(|last| trace.get(last)) else { return "question" };
    match (trace.get(made), last.low, last.high) {
        (Some(next), _, Some(_)) if next.phase == Phase::Bisecting => "bisect",
        (Some(_), ..) => "double",
        (None, 0, _) => "nothing-fits",
        (None, _, Some(_)) => "found",
        (None, _, None) => "no-more",
    }
}

/// What the search is doing.
pub fn phase(probe: &Probe) -> &'static str {
    match probe.phase {
        Phase::Doubling => "doubling",
        Phase::Bisecting => "bisecting",
    }
}

/// The open interval after an attempt.
pub fn known(probe: &Probe) -> String {
    let low = format::count(probe.low);
    match probe.high.map(format::count) {
        Some(high) if probe.low == 0 => format!("{high} does not run"),
        Some(high) => format!("{low} runs, {high} does not"),
        None => format!("{low} runs, more is open"),
    }
}

/// Says what search and division say together, once the search is over.
pub fn verdict(live: &Live, trace: &[Probe], is_over: bool, closed: f64) {
    let now = if is_over { verdict_of(trace, closed) } else { "open" };
    for sentence in VERDICTS {
        live.show(sentence, sentence == now);
    }
    live.show("against", is_over);
    live.text("attempts", &format::counted(trace.len() as u32, "attempt", "attempts"));
    let low = format::count(trace.last().map_or(0, |last| last.low));
    for name in ["end-low", "both-low", "differ-low"] {
        live.text(name, &low);
    }
    live.text("differ-closed", &format::digits(closed, 0));
}

/// Which of the [`VERDICTS`] is said in the end.
fn verdict_of(trace: &[Probe], closed: f64) -> &'static str {
    match trace.last() {
        Some(last) if last.low == 0 && closed < 1.0 => "both-none",
        Some(last) if last.high.is_none() && closed >= Field::Batch.bound().max => "both-end",
        Some(last) if closed == f64::from(last.low) => "both",
        // Only rounding of a quotient next to a whole number could bring this about.
        _ => "differ",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::search::by_running_out;
    use bmax::{Method, Scenario};

    fn workshop() -> Scenario {
        Scenario { method: Method::Workshop, ..Scenario::default() }
    }

    fn told(scenario: &Scenario) -> Vec<&'static str> {
        let trace = by_running_out(scenario);
        (0..=trace.len()).map(|made| next(&trace, made)).collect()
    }

    #[test]
    fn the_search_of_the_default_is_told_from_question_to_answer() {
        assert_eq!(told(&workshop()), ["question", "double", "double", "bisect", "found"]);
    }

    #[test]
    fn a_search_that_fails_at_once_says_why() {
        let mut scenario = workshop();
        scenario.cluster.gpus = 1;
        assert_eq!(told(&scenario), ["question", "nothing-fits"]);
        assert_eq!(verdict_of(&by_running_out(&scenario), -2.0), "both-none");
    }

    #[test]
    fn what_is_known_names_both_ends() {
        let trace = by_running_out(&workshop());
        let known: Vec<_> = trace.iter().map(known).collect();
        assert_eq!(known, ["1 runs, more is open", "2 runs, more is open", "2 runs, 4 does not", "3 runs, 4 does not"]);
    }

    #[test]
    fn the_verdict_never_claims_an_agreement_that_is_not_there() {
        let trace = by_running_out(&workshop());
        assert_eq!(verdict_of(&trace, 3.0), "both");
        assert_eq!(verdict_of(&trace, 4.0), "differ");
        assert_eq!(verdict_of(&[], 3.0), "differ");
    }
}
