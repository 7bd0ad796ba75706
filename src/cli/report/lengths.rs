//! What a report says of lengths that vary.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use crate::cli::values::Number;
use crate::{Batching, Choice};

/// Lengths that vary, at the micro-batch of the scenario. Lengths are cut to “s”.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lengths {
    /// How lengths become a micro-batch, as it is counted.
    #[schemars(schema_with = "batchings")]
    pub batching: &'static str,
    /// Tokens of each sequence of the worst micro-batch.
    pub worst_length: u32,
    /// Tokens of the worst micro-batch at b_max; null where not even one sequence fits.
    pub max_tokens_at_b_max: Option<u64>,
    /// Half of the sequences have no more tokens.
    pub median: u32,
    /// Nineteen of twenty have no more.
    pub p95: u32,
    /// Tokens of the longest.
    pub longest: u32,
    /// Tokens of the mean sequence.
    pub mean: Number,
    /// Sequences of each micro-batch below.
    pub micro_batch: u32,
    /// What each way of making micro-batches holds.
    pub ways: Vec<Way>,
    /// Documents of a packed row, on average.
    pub documents_a_row: Number,
    /// When padded runs fail with one sequence more than always fits; null where they never do.
    pub failing: Option<Failing>,
}

/// Tokens of a micro-batch made in one way.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Way {
    /// Which.
    #[schemars(schema_with = "batchings")]
    pub batching: &'static str,
    /// Tokens of the worst micro-batch, which must fit.
    pub worst_tokens: Number,
    /// Tokens that are computed on average, with padding.
    pub computed_tokens: Number,
    /// Those of them that are no padding.
    pub real_tokens: Number,
    /// Padding as a part of what is computed.
    pub padding_share: Number,
}

/// How soon runs fail whose micro-batch is too large for the longest sequences.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failing {
    /// The micro-batch, in sequences per GPU.
    pub micro_batch: u32,
    /// The part of optimizer steps that fail.
    pub per_step: Number,
    /// The mean number of the step that fails first.
    pub expected_step: Number,
    /// The step by which half of all runs have failed.
    pub half_by_step: Number,
    /// The step by which nine of ten have.
    pub nine_of_ten_by_step: Number,
}

/// The words of the ways with lengths that vary.
fn batchings(_: &mut SchemaGenerator) -> Schema {
    let words: Vec<_> = Batching::ALL.iter().map(|batching| batching.key()).collect();
    json_schema!({ "enum": words })
}
