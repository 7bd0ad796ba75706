//! The step as a program: held to what PyTorch's allocator was asked for, event by event, and to the peaks of rows.

mod any;
mod layers;
mod measured;
mod rows;
mod traces;

use serde_json::Value;

/// The rows of a file of vectors.
fn vectors(file: &str) -> Vec<Value> {
    let path = format!("{}/tests/vectors/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the rows are there");
    serde_json::from_str(&text).expect("they are JSON")
}
