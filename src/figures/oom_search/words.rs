//! The search in words.

use bmax::Field;
use bmax::search::{Phase, Probe};

use crate::site::format;

/// What is known when `made` attempts have been made, and what comes next; `shortage` says why nothing fits.
pub fn step(trace: &[Probe], made: usize, shortage: &str) -> String {
    let Some(last) = made.checked_sub(1).and_then(|last| trace.get(last)) else {
        return "Which is the largest micro-batch that runs? Nothing is known yet. The first attempt is b = 1."
            .to_owned();
    };
    let [number, batch, low] = [made as u32, last.batch, last.low].map(format::count);
    let outcome = if last.fits { "runs" } else { "runs out of memory" };
    let said = match (trace.get(made), last.low, last.high) {
        (Some(next), _, Some(high)) if next.phase == Phase::Bisecting => {
            let [high, middle] = [high.saturating_sub(1), next.batch].map(format::count);
            format!("The limit is from {low} to {high}; the middle is {middle}.")
        }
        (Some(next), ..) => format!("Double it: {} is next.", format::count(next.batch)),
        (None, 0, _) => shortage.to_owned(),
        (None, _, Some(high)) => format!("{low} runs and {} does not: found.", format::count(high)),
        (None, _, None) => format!("{low} runs. Larger values are not tried."),
    };
    format!("Attempt {number}, {}: b = {batch} {outcome}. {said}", phase(last))
}

/// What the whole search comes to, and how to walk through it; `shortage` says why nothing fits.
pub fn whole(trace: &[Probe], shortage: &str) -> String {
    let attempts = format::counted(trace.len() as u32, "attempt", "attempts");
    let found = match trace.last() {
        Some(last) if last.low > 0 => {
            let low = format::count(last.low);
            match last.high.map(format::count) {
                Some(high) => format!("with b = {low} the step runs, with b = {high} it does not."),
                None => format!("with b = {low} the step runs. Larger values are not tried."),
            }
        }
        _ => shortage.to_owned(),
    };
    format!("The whole search for your configuration, {attempts}: {found} Press Step to go through it one at a time.")
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

/// What search and division say together, once the search is over; `closed` is the whole part of the division, which is
/// about the GPU alone. `in_host` says that CPU memory stopped the search.
pub fn verdict(trace: &[Probe], closed: f64, in_host: bool) -> String {
    let low = trace.last().map_or(0, |last| last.low);
    let said = match trace.last() {
        Some(_) if in_host => {
            let [low, closed] = [format::count(low), format::digits(closed, 0)];
            format!("CPU memory has room for {low}, and the division, which is about the GPU alone, gives {closed}")
        }
        Some(_) if low == 0 && closed < 1.0 => "Both say that nothing fits".to_owned(),
        Some(last) if last.high.is_none() && closed >= Field::Batch.bound().max => {
            format!("Both reach {}, the largest value that is tried", format::count(low))
        }
        Some(_) if closed == f64::from(low) => format!("Both give {}", format::count(low)),
        // Only rounding of a quotient next to a whole number could bring this about.
        _ => format!("The search gives {}, the rounded quotient {}", format::count(low), format::digits(closed, 0)),
    };
    let attempts = format::counted(trace.len() as u32, "attempt", "attempts");
    format!("{said}: {attempts} against one division.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::search::by_running_out;
    use bmax::{Method, Scenario};

    fn workshop() -> Scenario {
        Scenario { method: Method::Workshop, ..Scenario::workshop() }
    }

    #[test]
    fn the_search_of_the_worked_example_is_told_in_sentences_from_question_to_answer() {
        let trace = by_running_out(&workshop());
        let told: Vec<String> = (0..=trace.len()).map(|made| step(&trace, made, "")).collect();
        assert_eq!(
            told,
            [
                "Which is the largest micro-batch that runs? Nothing is known yet. The first attempt is b = 1.",
                "Attempt 1, doubling: b = 1 runs. Double it: 2 is next.",
                "Attempt 2, doubling: b = 2 runs. Double it: 4 is next.",
                "Attempt 3, doubling: b = 4 runs out of memory. The limit is from 2 to 3; the middle is 3.",
                "Attempt 4, bisecting: b = 3 runs. 3 runs and 4 does not: found.",
            ]
        );
    }

    #[test]
    fn a_search_that_fails_at_once_says_why() {
        let mut scenario = workshop();
        scenario.cluster.gpus = 1;
        let trace = by_running_out(&scenario);
        assert_eq!(
            step(&trace, 1, "Not even one sequence fits. It is too much."),
            "Attempt 1, doubling: b = 1 runs out of memory. Not even one sequence fits. It is too much."
        );
        assert_eq!(verdict(&trace, -2.0, false), "Both say that nothing fits: 1 attempt against one division.");
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
        assert_eq!(verdict(&trace, 3.0, false), "Both give 3: 4 attempts against one division.");
        assert!(verdict(&trace, 4.0, false).starts_with("The search gives 3, the rounded quotient 4:"));
        assert!(verdict(&[], 3.0, false).starts_with("The search gives 0"));
    }
}
