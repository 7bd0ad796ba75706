//! The devices of a row and how they divide the work.

use bmax::{Engine, Scenario, Segments, Switch, ZeroStage};
use serde_json::Value;

use super::{flag, says, text, whole};

pub(super) fn read(scenario: &mut Scenario, row: &Value, parallelism: &Value) -> Result<(), &'static str> {
    let size = |key: &str| whole(parallelism, key).unwrap_or(1).max(1);
    let engine = engine(row, parallelism);
    let cluster = &mut scenario.cluster;
    cluster.engine = engine;
    cluster.tensor_parallel = size("tp");
    cluster.pipeline_parallel = size("pp");
    cluster.context_parallel = size("cp");
    cluster.virtual_stages = size("vpp");
    cluster.sequence_parallel = Switch::from(flag(parallelism, "sp") && size("tp") > 1);
    cluster.zero = match whole(parallelism, "zero_stage") {
        Some(1) => ZeroStage::Stage1,
        Some(2) => ZeroStage::Stage2,
        Some(3) => ZeroStage::Stage3,
        _ => ZeroStage::Stage0,
    };
    if text(parallelism, "schedule").starts_with("Interleaved") && cluster.virtual_stages == 1 {
        // torchtitan's interleaved schedule has two stages on each rank unless it is told otherwise.
        cluster.virtual_stages = 2;
    }
    reshard(scenario, row, parallelism);
    stages(scenario, row, parallelism)?;
    let cluster = &mut scenario.cluster;
    let group = cluster.group();
    let data = whole(parallelism, "dp").or(whole(parallelism, "dp_shard"));
    // Pythia's rows state the data-parallel size as a rule: 1024 sequences over the micro-batch.
    cluster.gpus = whole(row, "n_gpus").unwrap_or_else(|| group * data.unwrap_or(32));
    expert_parallel(scenario, parallelism);
    let data_parallel = scenario.cluster.data_parallel();
    let global = whole(parallelism, "global_batch").unwrap_or(0);
    let steps = global / (scenario.recipe.batch * data_parallel).max(1);
    let stated = accumulated(text(row, "notes"));
    scenario.recipe.micro_batches = whole(parallelism, "n_microbatches").or(stated).unwrap_or(steps).max(1);
    // torchtitan's script has set it since April 2024 and its rows say where it had not; others keep
    // PyTorch's default.
    let script = engine == Engine::Torchtitan && !text(row, "notes").contains("no expandable_segments");
    if script {
        scenario.device = scenario.device.with_segments(Segments::Expandable);
    }
    Ok(())
}

/// "gradient accumulation 4", as rows of one device say it.
fn accumulated(notes: &str) -> Option<u32> {
    let rest = ["gradient accumulation ", "gradient_accumulation ", "accumulation "]
        .iter()
        .find_map(|word| notes.split(word).nth(1))?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn engine(row: &Value, parallelism: &Value) -> Engine {
    let deepspeed = ["source", "optimizer", "notes"].iter().any(|key| says(row, key, "deepspeed"))
        || row.get("precision").is_some_and(|stated| says(stated, "optimizer", "deepspeed"))
        || says(row, "model", "megatron-deepspeed");
    let megatron = ["source", "model"].iter().any(|key| says(row, key, "megatron") || says(row, key, "gpt2-meg"));
    // The engine that pre-dates Megatron Core's own buffers keeps its name.
    if says(parallelism, "fsdp", "torchtitan") || says(row, "source", "torchtitan") {
        Engine::Torchtitan
    } else if megatron && !deepspeed {
        Engine::Megatron
    } else if deepspeed || has_zero(row, parallelism) {
        Engine::DeepSpeed
    } else {
        Engine::Torch
    }
}

/// Whether a row names a ZeRO stage that is not another program's name for its own.
fn has_zero(row: &Value, parallelism: &Value) -> bool {
    let others = ["colossal", "paddle", "aleph"];
    whole(parallelism, "zero_stage").is_some_and(|stage| stage > 0)
        && parallelism.get("fsdp").is_none()
        && !others.iter().any(|name| says(row, "source", name))
}

/// Whether the weights stay gathered between the passes.
fn reshard(scenario: &mut Scenario, row: &Value, parallelism: &Value) {
    let stated = parallelism.get("reshard_after_forward");
    let notes = text(row, "notes");
    let never =
        stated.is_some_and(|value| value == false || value == "never") || notes.contains("reshard_after_forward=False");
    // In a pipeline torchtitan keeps gathered weights between micro-batches unless it is told otherwise.
    let pipeline = scenario.cluster.engine == Engine::Torchtitan
        && scenario.cluster.pipeline_parallel > 1
        && stated.is_none_or(|value| value == "default");
    if scenario.cluster.zero == ZeroStage::Stage3 && (never || pipeline) {
        scenario.cluster.reshard = 1;
    }
}

/// Uneven stages, as Megatron-LM's flags say them.
fn stages(scenario: &mut Scenario, row: &Value, parallelism: &Value) -> Result<(), &'static str> {
    let Some(arguments) = row.get("megatron_args") else {
        return if parallelism.get("layout").is_some_and(|layout| !layout.is_null()) {
            Err("its stages follow a layout of their own")
        } else {
            Ok(())
        };
    };
    if parallelism.get("layout").is_some_and(|layout| !layout.is_null()) {
        return Err("its stages follow a layout of their own");
    }
    let given = |flag: &str| whole(arguments, flag).unwrap_or(0);
    scenario.cluster.first_stage_layers = given("--decoder-first-pipeline-num-layers");
    scenario.cluster.last_stage_layers = given("--decoder-last-pipeline-num-layers");
    Ok(())
}

/// Where experts are not divided over the tensor-parallel group, its members hold different ones.
fn expert_parallel(scenario: &mut Scenario, parallelism: &Value) {
    let experts = whole(parallelism, "ep").unwrap_or(1).max(1);
    let tensor = scenario.cluster.tensor_parallel;
    let divided = whole(parallelism, "etp").unwrap_or(tensor).max(1);
    scenario.cluster.expert_parallel = (experts * divided / tensor.max(1)).max(1);
}
