//! The step as a program: held to what PyTorch's allocator was asked for, event by event, and to the peaks of rows.

mod any;
mod layers;
mod measured;
mod rows;
mod traces;

use bmax::tape::Unsaid;
use serde_json::Value;

/// The rows of a file of vectors.
fn vectors(file: &str) -> Vec<Value> {
    let path = format!("{}/tests/vectors/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the rows are there");
    serde_json::from_str(&text).expect("they are JSON")
}

/// What a run says of itself, and no link can. Where the process has a rank it is one among devices that share a stage of ZeRO,
/// or one of the stages of a pipeline; otherwise `rank` is that of adapters. Ranks of torchtitan's groups follow one another,
/// those of a stage first.
fn unsaid(run: &Value) -> Unsaid {
    let rank_of = |stages: &str| run["rank"].as_u64().filter(|_| run[stages].is_u64()).unwrap_or(0) as u32;
    let of_stage = |degree: &str, unsaid| run[degree].as_u64().unwrap_or(unsaid) as u32;
    let stage = of_stage("dp_shard", 8) * of_stage("dp_replicate", 1) * of_stage("tp", 1) * of_stage("cp", 1);
    Unsaid {
        is_fsdp1: run["impl"] == "fsdp1",
        reduces_in_half: run["reduce"] == "bf16",
        has_units_apart: run["apart"] == true,
        has_bucket_views: run["views"] == true,
        // Neither the file nor the class of Qwen 2 names one; the file of Qwen 3 does, and the class of Llama.
        has_no_end_token: run["model"].as_str().is_some_and(|model| model.starts_with("qwen2")),
        device: rank_of("stage"),
        rank: rank_of("stages") + rank_of("pp") / stage,
    }
}
