//! What files say about a scenario, in words.

use super::Planned;
use crate::export::text::gib;
use crate::format::{self, batch, count, counted};
use crate::{Answer, Choice, Method, Scenario, Shortage, Unit, b_max, catalogue, estimate, link};

/// Model, GPUs and length in one sentence.
pub(in crate::export) fn subject(scenario: &Scenario) -> String {
    format!(
        "{} on {} × {}, {} a sequence.",
        model_name(scenario),
        count(scenario.cluster.gpus),
        device_name(scenario),
        counted(scenario.recipe.sequence, "token", "tokens")
    )
}

pub(in crate::export) fn model_name(scenario: &Scenario) -> String {
    match catalogue::model_row_of(scenario) {
        Some((row, false)) => row.name.to_owned(),
        Some((row, true)) => format!("{} (edited)", row.name),
        None => "A model of your own".to_owned(),
    }
}

pub(in crate::export) fn device_name(scenario: &Scenario) -> String {
    match catalogue::device_row_of(scenario) {
        Some((row, false)) => row.name.to_owned(),
        Some((row, true)) => format!("{} (edited)", row.name),
        None => format!("a GPU with {} GiB", gib(scenario.device.memory)),
    }
}

/// The page at a scenario.
pub(in crate::export) fn address(page: &str, scenario: &Scenario) -> String {
    format!("{page}?{}", link::encode(scenario))
}

/// Micro-batch times GPUs times steps.
pub(super) fn batches(planned: &Planned, target: u32) -> String {
    format!(
        "Micro-batch {} × {} × {} = {} an optimizer step (target {}).",
        count(planned.micro_batch),
        counted(planned.data_parallel, "data-parallel GPU", "data-parallel GPUs"),
        counted(planned.steps, "accumulation step", "accumulation steps"),
        batch(planned.global_batch, planned.scenario.unit()),
        count(target)
    )
}

pub(super) fn peak(scenario: &Scenario) -> String {
    let estimate = estimate(scenario);
    let peak = estimate.peak();
    let by = match scenario.method {
        Method::Ledger => String::new(),
        Method::Workshop | Method::Paper => format!(" by the {}’s method", scenario.method.label().to_lowercase()),
    };
    format!(
        "Predicted peak on each GPU{by}: {} of {} GiB usable, at “{}”.",
        gib(peak.bytes),
        gib(estimate.usable()),
        peak.instant.name
    )
}

pub(in crate::export) fn b_max_words(scenario: &Scenario) -> String {
    match b_max(scenario) {
        Answer::Fits(room) if room.capped => format!("at least {}", count(room.batch)),
        Answer::Fits(room) => match scenario.unit() {
            Unit::Sequences => count(room.batch),
            unit => batch(room.batch, unit),
        },
        Answer::Infeasible(_) => format!("none, for not even one {} fits", scenario.unit().one()),
        Answer::Refused(refusal) => format!("not answered ({})", format::refused(refusal.kind)),
    }
}

/// Why one sequence does not fit, and what mends it.
pub(in crate::export) fn shortage(scenario: &Scenario) -> String {
    let reason = match b_max(scenario) {
        Answer::Infeasible(reason) => reason,
        Answer::Refused(refusal) => return format::refusal(&refusal, scenario.unit()),
        Answer::Fits(_) => return format!("{} would fit.", b_max_words(scenario)),
    };
    let (over, one) = (gib(reason.over), scenario.unit().one());
    let why = match reason.shortage {
        Shortage::ModelStates => {
            format!(
                "Parameters, gradients, optimizer state and what the process takes are, with one {one}, {over} GiB too much."
            )
        }
        Shortage::FirstSequence => {
            format!("The model states fit, but the activations of one {one} are {over} GiB too much.")
        }
        Shortage::Outside => {
            format!("The training step fits, but at “{}” {over} GiB more would be needed.", reason.instant.name)
        }
        Shortage::HostMemory => {
            let why = format!(
                "One machine needs {over} GiB more CPU memory than it has: offload less, load fewer copies, or \
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
