//! The search in words.

use bmax::search::{Phase, Probe};
use bmax::{Answer, Field};

use crate::site::format;

/// What is known when `shown` attempts have been made, and what comes next.
pub fn step(trace: &[Probe], shown: usize, answer: &Answer) -> String {
    let Some((at, probe)) = shown.checked_sub(1).and_then(|last| Some((last, trace.get(last)?))) else {
        return "Which is the largest micro-batch that runs? Nothing is known yet. The first attempt is b = 1."
            .to_owned();
    };
    let outcome = if probe.fits { "runs" } else { "runs out of memory" };
    let made = format!("Attempt {}, {}: b = {} {outcome}.", at + 1, phase(probe.phase), format::count(probe.batch));
    let next = match trace.get(shown) {
        Some(next) => match (next.phase, probe.high) {
            (Phase::Bisecting, Some(high)) => format!(
                "The limit is from {} to {}; the middle is {}.",
                format::count(probe.low),
                format::count(high.saturating_sub(1)),
                format::count(next.batch)
            ),
            _ => format!("Double it: {} is next.", format::count(next.batch)),
        },
        None => end(probe, answer),
    };
    format!("{made} {next}")
}

/// What the last attempt settles.
fn end(probe: &Probe, answer: &Answer) -> String {
    match (probe.low, probe.high) {
        (0, _) => format!("Not even one sequence fits. {}", format::shortage(answer).unwrap_or_default()),
        (low, Some(high)) => format!("{} runs and {} does not: found.", format::count(low), format::count(high)),
        (low, None) => format!("{} runs, and this page asks for no more.", format::count(low)),
    }
}

/// What the search is doing.
pub fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Doubling => "doubling",
        Phase::Bisecting => "bisecting",
    }
}

/// The open interval after an attempt.
pub fn known(low: u32, high: Option<u32>) -> String {
    match high {
        Some(high) if low == 0 => format!("{} does not run", format::count(high)),
        Some(high) => format!("{} runs, {} does not", format::count(low), format::count(high)),
        None => format!("{} runs, more is open", format::count(low)),
    }
}

/// What search and division say together, once the search is over.
pub fn verdict(trace: &[Probe], closed: f64) -> String {
    let Some(last) = trace.last() else { return String::new() };
    let attempts = format::counted(trace.len() as u32, "attempt", "attempts");
    if last.low == 0 && closed < 1.0 {
        return format!("Both say that not even one sequence fits: {attempts} against one division.");
    }
    if last.high.is_none() && closed >= Field::Batch.bound().max {
        return format!(
            "Both reach {}, where this page stops: {attempts} against one division.",
            format::count(last.low)
        );
    }
    if closed == f64::from(last.low) {
        return format!("Both give {}: {attempts} against one division.", format::count(last.low));
    }
    // Only rounding of a quotient next to a whole number could bring this about.
    format!(
        "The search gives {}, the rounded quotient {}: {attempts} against one division.",
        format::count(last.low),
        format::digits(closed, 0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::search::by_running_out;
    use bmax::{Method, Scenario, b_max};

    fn workshop() -> Scenario {
        Scenario { method: Method::Workshop, ..Scenario::default() }
    }

    fn told(scenario: &Scenario) -> Vec<String> {
        let (trace, answer) = (by_running_out(scenario), b_max(scenario));
        (0..=trace.len()).map(|shown| step(&trace, shown, &answer)).collect()
    }

    #[test]
    fn the_search_of_the_default_is_told_from_question_to_answer() {
        let told = told(&workshop());
        assert_eq!(told.len(), 5);
        assert!(told[0].contains("Nothing is known yet"));
        assert_eq!(told[1], "Attempt 1, doubling: b = 1 runs. Double it: 2 is next.");
        assert_eq!(
            told[3],
            "Attempt 3, doubling: b = 4 runs out of memory. The limit is from 2 to 3; the middle is 3."
        );
        assert_eq!(told[4], "Attempt 4, bisecting: b = 3 runs. 3 runs and 4 does not: found.");
    }

    #[test]
    fn a_search_that_fails_at_once_says_why() {
        let mut scenario = workshop();
        scenario.cluster.gpus = 1;
        let told = told(&scenario);
        assert_eq!(told.len(), 2);
        assert!(told[1].contains("Not even one sequence fits") && told[1].contains("too much"), "{}", told[1]);
    }

    #[test]
    fn the_verdict_counts_attempts_and_never_claims_an_agreement_that_is_not_there() {
        let trace = by_running_out(&workshop());
        assert_eq!(verdict(&trace, 3.0), "Both give 3: 4 attempts against one division.");
        assert!(!verdict(&trace, 4.0).contains("Both"));
        assert_eq!(verdict(&[], 3.0), "");
    }
}
