//! From a row of a file to a scenario.
//!
//! Every rule reads what a row states about itself (its precision, its parallelism, its counter, its
//! framework); none names a row, and none looks at the figure. A row that does not state what decides its
//! memory, or that was made with something the estimator does not have, is left out with the reason.

mod cluster;
mod model;
mod recipe;

use bmax::{Bytes, Method, Percent, Recomputation, Scenario, StepKernel, Switch, ZeroStage, link};
use serde_json::Value;

use super::cases::{Case, Counter, Row, Seen};

/// Why a run that did not reach its end is left out.
pub const FAILED: &str = "the run ended with an error";

/// What a file of cases is called in the report, and one of its rows.
pub fn row(file: &str, value: &Value) -> Row {
    let id = Row::name(value);
    match (value.get("question").is_some(), text(value, "kind")) {
        (true, "") => ran(file, id, value),
        (true, _) => match checked(file, &id, value) {
            Ok(case) => Row::Compared(Box::new(case)),
            Err(reason) => Row::Out { id, reason },
        },
        (false, "analytic") => Row::Out { id, reason: "a formula of a paper, not a run" },
        (false, _) => match published(file, &id, value) {
            Ok(case) => Row::Compared(Box::new(case)),
            Err(reason) => Row::Out { id, reason },
        },
    }
}

pub(super) fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row.get(key).and_then(Value::as_str).unwrap_or("")
}

pub(super) fn whole(row: &Value, key: &str) -> Option<u32> {
    row.get(key).and_then(Value::as_u64).and_then(|value| u32::try_from(value).ok())
}

pub(super) fn flag(row: &Value, key: &str) -> bool {
    row.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// Whether what the row says of a thing contains a word, in whatever case.
pub(super) fn says(row: &Value, key: &str, word: &str) -> bool {
    text(row, key).to_ascii_lowercase().contains(word)
}

/// A run on one device, with what a scenario assumes of its process.
fn bare() -> Scenario {
    let mut scenario = Scenario { method: Method::Ledger, ..Scenario::workshop() };
    scenario.recipe.recomputation = Recomputation::None;
    scenario.recipe.dropout = Switch::Off;
    scenario.recipe.step = StepKernel::Fused;
    scenario.cluster.gpus = 1;
    scenario.cluster.zero = ZeroStage::Stage0;
    scenario.device.driver = Bytes::ZERO;
    scenario.device.headroom = Percent::new(0.0);
    scenario
}

/// A row of our own: a run of a program, whose scenario stands beside its figure as the query of a link. It
/// names the pipeline stage whose peak it is, where it is not that of the whole device.
fn ran(file: &str, id: String, row: &Value) -> Row {
    let scenario = asked(&id, row);
    let Some(live) = row.get("peak_bytes").and_then(|peak| peak.get("total")).and_then(Value::as_f64) else {
        return Row::Out { id, reason: FAILED };
    };
    Row::Compared(Box::new(Case {
        id,
        file: file.to_owned(),
        source: text(row, "program").to_owned(),
        model: String::new(),
        tier: "simulated".to_owned(),
        seen: Seen::Peak(Bytes::new(live), Counter::Live),
        held: row.get("reserved_bytes").and_then(Value::as_f64).map(Bytes::new),
        stage: text(row, "stage").to_owned(),
        scenario,
    }))
}

/// The scenario that a row of our own carries, with nothing that the driver keeps for itself.
fn asked(id: &str, row: &Value) -> Scenario {
    let read = link::decode(text(row, "question"));
    assert!(read.notices.is_empty(), "{id}: {:?}", read.notices);
    let mut scenario = read.scenario;
    scenario.device.driver = Bytes::ZERO;
    scenario
}

/// A row of `tools/gpu_check.sh`: its scenario stands beside one counter of its run, or beside whether it ran, in the
/// words of a published row.
fn checked(file: &str, id: &str, row: &Value) -> Result<Case, &'static str> {
    Ok(published_case(file, id, row, seen(row)?, "", asked(id, row)))
}

/// Makes the case of a published row, or of one in its words, from what it says of itself and its scenario.
fn published_case(file: &str, id: &str, row: &Value, seen: Seen, stage: &str, scenario: Scenario) -> Case {
    Case {
        id: id.to_owned(),
        file: file.to_owned(),
        source: text(row, "source").to_owned(),
        model: text(row, "model").to_owned(),
        tier: text(row, "tier").to_owned(),
        seen,
        held: None,
        stage: stage.to_owned(),
        scenario,
    }
}

/// What a row says of its run: a figure, or whether it ran.
fn seen(row: &Value) -> Result<Seen, &'static str> {
    let figure = || row.get("measured_gib").and_then(Value::as_f64).ok_or("it has no figure");
    match text(row, "kind") {
        "measured" => Ok(Seen::Peak(Bytes::from_gib(figure()?), counter(row))),
        "fit" => Ok(Seen::Fit),
        "oom" => Ok(Seen::OutOfMemory),
        _ => Err("it says neither a figure nor whether it ran"),
    }
}

/// A row of a paper, a benchmark or a log.
fn published(file: &str, id: &str, row: &Value) -> Result<Case, &'static str> {
    if says(row, "notes", "tensorflow") {
        return Err("it ran on TensorFlow");
    }
    if says(row, "model", "enc-dec") {
        return Err("an encoder with a decoder");
    }
    let parallelism = row.get("parallelism").ok_or("its parallelism is not stated")?;
    let mut scenario = bare();
    scenario.recipe.sequence = whole(row, "seq_len").ok_or("its sequence length is not stated")?;
    scenario.recipe.batch = whole(row, "micro_batch").ok_or("its micro-batch is not stated")?;
    scenario.model = model::read(row)?;
    cluster::read(&mut scenario, row, parallelism)?;
    recipe::read(&mut scenario, row)?;
    device(&mut scenario, row);
    let seen = seen(row)?;
    if !matches!(seen, Seen::Peak(..)) && row.get("gpu_mem").and_then(Value::as_f64).is_none() {
        return Err("its device is not stated");
    }
    let kind = text(row, "measured_kind").to_ascii_lowercase();
    let stage = if kind.contains("last rank") {
        "last"
    } else if kind.contains("first pipeline stage") {
        "first"
    } else {
        ""
    };
    Ok(published_case(file, id, row, seen, stage, scenario))
}

/// The counter of a figure. One that is not named is taken for live tensors, which is what programs print
/// most.
fn counter(row: &Value) -> Counter {
    let kind = text(row, "measured_kind").to_ascii_lowercase();
    let is = |word: &str| kind.contains(word);
    if is("not stated") || is("does not say") {
        Counter::Unnamed
    } else if is("nvml") || is("nvidia-smi") || is("device memory") {
        Counter::Device
    } else if is("reserved") {
        Counter::Reserved
    } else if is("allocated") || is("active") {
        Counter::Live
    } else {
        Counter::Unnamed
    }
}

/// The device, and a context that its source measured.
fn device(scenario: &mut Scenario, row: &Value) {
    let device = &mut scenario.device;
    if let Some(memory) = row.get("gpu_mem").and_then(Value::as_f64) {
        // The files give what a program can get: the driver's part is off already.
        device.memory = Bytes::from_mib((memory * 1024.0).floor());
    }
    // cuBLAS takes 32 MiB from Hopper on, 8 MiB before.
    let name = text(row, "gpu").to_ascii_lowercase();
    let hopper = ["h100", "h200", "h800", "h20", "gh200", "b200", "gb200", "b300"].iter().any(|gpu| name.contains(gpu));
    // Deterministic algorithms ask for 32 MiB everywhere (CUBLAS_WORKSPACE_CONFIG=:4096:8).
    let mib = if hopper || says(row, "notes", "--deterministic-mode") { 32.0 } else { 8.0 };
    device.workspace = Bytes::from_mib(mib);
    let notes = text(row, "notes");
    if let Some(context) = notes.split("Subtract ~").nth(1).and_then(|rest| rest.split(' ').next()) {
        device.cuda_context = context.parse().map_or(device.cuda_context, Bytes::from_gib);
    }
    // "incl. ~1.6 GiB CUDA/NCCL context": both in one number.
    let kind = text(row, "measured_kind");
    if let Some(context) = kind.split("incl. ~").nth(1).and_then(|rest| rest.split(' ').next()) {
        device.cuda_context = context.parse().map_or(device.cuda_context, Bytes::from_gib);
        device.communication = Bytes::ZERO;
    }
}
