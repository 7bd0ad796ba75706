//! Quantities and answers in words. The estimator never rounds; this file does, and only for the eye.

use std::collections::BTreeMap;

use super::values::Value;
use crate::catalogue::{Agreement, AgreementKind};
use crate::compare::{self, changes};
pub use crate::format::{bare, count, counted};
use crate::{
    Bytes, Choice, Field, Infeasible, Method, Scenario, Shortage, Unit, estimate, format, link, number, range::Outlook,
    runtime::PROCESS,
};

/// A memory size in GiB with two digits after the point.
pub fn gib(bytes: Bytes) -> String {
    number::with_commas(&number::fixed(bytes.gib(), 2))
}

/// A memory size in GiB, or in MiB below a tenth of a GiB.
pub fn memory(bytes: Bytes) -> String {
    if bytes.gib().abs() < 0.1 {
        format!("{} MiB", number::with_commas(&number::fixed(bytes.mib(), 1)))
    } else {
        format!("{} GiB", gib(bytes))
    }
}

/// A number of weights: billions with two digits after the point, whole millions, or all of them.
pub fn weights(count: u64) -> String {
    let count = count as f64;
    if count >= 1e9 {
        format!("{} billion", number::with_commas(&number::fixed(count / 1e9, 2)))
    } else if count >= 1e6 {
        format!("{} million", number::fixed(count / 1e6, 0))
    } else {
        number::grouped(count)
    }
}

/// What the safe answer assumes, and why; nothing for methods that know no unknowns.
pub fn safe(scenario: &Scenario) -> String {
    if scenario.method != Method::Ledger {
        return String::new();
    }
    let seen = Outlook::Safe.of(scenario).device;
    let (context, gaps) = (number::grouped(seen.cuda_context.gib()), number::grouped(seen.fragmentation.get()));
    let buffers = if scenario.cluster.gpus > 1 {
        format!(", {} GiB of communication buffers", number::grouped(seen.communication.gib()))
    } else {
        String::new()
    };
    let in_host = if scenario.host.ram > Bytes::ZERO && !estimate(scenario).host.entries.is_empty() {
        format!(
            "  In CPU memory it has room for {} of {} GiB, and for one copy of the weights while they are loaded or saved.\n",
            counted(scenario.node_gpus(), "process", "processes"),
            gib(PROCESS)
        )
    } else {
        String::new()
    };
    format!(
        "  safe takes the whole context ({context} GiB){buffers}, eager kernels, and gaps that nine of ten simulated runs\n  \
         stayed below ({gaps} % of what comes and goes); one in ten may need more.\n{in_host}"
    )
}

/// What is different between two scenarios.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Parameters that are, with their new values.
    pub parameters: BTreeMap<&'static str, Value>,
    /// The same as a text: names and values as forms show them.
    pub text: String,
}

/// What turns `before` into `after`. Another device is told by its name, not by its numbers.
pub fn difference(before: &Scenario, after: &Scenario) -> Difference {
    let changes = changes(before, after);
    let text = |change: &compare::Difference| format!("{}: {}", change.input.name(), bare(change.input, change.after));
    let texts: Vec<_> = changes.iter().map(text).collect();
    Difference {
        parameters: changes.iter().map(|change| (change.input.key(), change.after.into())).collect(),
        text: texts.join(", "),
    }
}

/// A share as percent with one digit after the point.
pub fn percent(share: f64) -> String {
    format::percent_to(share, 1)
}

/// Why nothing fits and what mends it, in one or two sentences.
pub fn shortage(reason: &Infeasible, unit: Unit) -> String {
    let (over, one) = (memory(reason.over), unit.one());
    let why = match reason.shortage {
        Shortage::ModelStates => format!(
            "Parameters, gradients, optimizer state and what the process takes leave no room: with one {one}, \
             {over} too much."
        ),
        Shortage::FirstSequence => {
            format!("The model states fit, but the activations of one {one} are {over} too much.")
        }
        Shortage::Outside => return format::outside(reason, unit),
        Shortage::HostMemory => {
            let why = format!(
                "One machine needs {over} more CPU memory than it has: offload less, load fewer copies, or \
                 take fewer GPUs in a machine."
            );
            let more = reason.fewest_gpus.map(|gpus| format!(" With {} it would fit.", counted(gpus, "GPU", "GPUs")));
            return why + &more.unwrap_or_default();
        }
    };
    match reason.fewest_gpus {
        Some(gpus) => format!("{why} With {} it would fit.", counted(gpus, "GPU", "GPUs")),
        None => format!("{why} More GPUs of this kind alone do not help."),
    }
}

/// That the parameter count and the matrices are of two models, in one or two sentences. Where the method reads
/// the matrices only, a count that nobody changed is not worth a word.
pub fn disagreement(scenario: &Scenario) -> Option<String> {
    let agreement = Agreement::of(scenario);
    let is_read = scenario.method != Method::Ledger;
    let is_edited = scenario.number(Field::Parameters) != link::base_of(scenario).number(Field::Parameters);
    if agreement.kind != AgreementKind::Off || !(is_read || is_edited) {
        return None;
    }
    let bound = Field::Parameters.bound();
    let consequence = if is_read {
        let method = scenario.method.label();
        format!("The {method} method takes the model states from “{}” and the activations from the shape.", bound.key)
    } else {
        format!("The ledger counts the matrices; only the other methods read “{}”.", bound.key)
    };
    Some(format!(
        "{}: {} are given, but the matrices of this model hold {}. {consequence}",
        bound.name,
        weights(scenario.model.parameters),
        weights(agreement.derived)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_does_not_match_the_matrices_is_said_where_it_was_typed_or_is_read() {
        let said = |query: &str| disagreement(&link::decode(query).scenario);
        assert_eq!(
            said("model=llama-2-7b&params=70").as_deref(),
            Some(
                "Parameters: 70.00 billion are given, but the matrices of this model hold 6.74 billion. The ledger counts \
                 the matrices; only the other methods read “params”."
            )
        );
        let workshop = said("params=70&method=workshop").expect("both are read");
        assert!(workshop.contains("The Workshop method takes the model states from “params”"), "{workshop}");
        // Nobody typed it, and the ledger does not read it.
        assert_eq!(said("layers=64"), None);
        assert!(said("layers=64&method=paper").is_some());
        // The preset's own round number, and one that is near enough.
        assert_eq!((said("model=1b&method=paper"), said("model=7b&params=6.9")), (None, None));
    }

    #[test]
    fn weights_are_counted_in_the_unit_that_people_use() {
        assert_eq!([8_030_261_248, 124_439_808, 100_000].map(weights), ["8.03 billion", "124 million", "100,000"]);
    }
}
