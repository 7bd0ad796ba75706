//! How many sequences one GPU can train on at once, why, and what to change.
//!
//! The library is the estimator, a catalogue of models and devices, the link codec, that of embedded
//! figures, a reader of Hugging Face configurations and a comparison of two scenarios. It is pure
//! and total: [`estimate`] turns a [`Scenario`] into an [`Estimate`], a labelled ledger in which
//! every entry has its bytes, its formula, the source of that formula and the instants at which it
//! is alive. [`b_max`] asks the same ledger how large the micro-batch can be, and [`compare`](compare::compare)
//! where two ledgers differ.
//!
//! ```
//! use bmax::{Answer, Method, Scenario, b_max, catalogue, estimate};
//!
//! // The workshop's 7B model on eight A100-80 GB, S = 2048, attention recomputed.
//! let scenario = Scenario { method: Method::Workshop, ..Scenario::workshop() };
//! assert_eq!(b_max(&scenario).batch(), Some(3));
//!
//! // On one GPU the model states alone are too large, and the answer says so.
//! let alone = scenario.with_number(bmax::Field::Gpus, 1.0).expect("1 is in range");
//! assert!(matches!(b_max(&alone), Answer::Infeasible(_)));
//!
//! // The ledger, which is the default, counts every tensor and names the instant that binds.
//! let llama = catalogue::model("llama-3.1-8b").expect("listed").apply(Scenario::workshop());
//! assert_eq!(estimate(&llama).peak().instant.name, "loss, backward");
//! ```
//!
//! What it does not do: it draws nothing, reads no clock, no file and no network, rounds nothing and
//! formats nothing but messages about refused input. It does not see an allocator, so it cannot
//! know fragmentation; a declared percentage stands for it.
//!
//! What a version promises: names and types stay. Results, errors, inputs and lists of options that will grow are
//! `#[non_exhaustive]`, so that a new field, option, model or GPU breaks no program. The parts of a [`Scenario`] are
//! open, because they are what a program writes: fill them with `..Scenario::workshop()`, or set one input after the
//! other with [`Scenario::with_number`] and [`Scenario::with_word`], and a new input breaks nothing either. The bytes
//! of an estimate may change with any version, as the programs do that it counts.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod catalogue;
#[cfg(feature = "chart")]
pub mod chart;
#[cfg(feature = "cli")]
pub mod cli;
pub mod compare;
pub mod config_json;
pub mod course;
pub mod csv;
pub mod embed;
mod estimator;
pub mod export;
pub mod format;
pub mod json;
pub mod link;
pub mod nearest;
pub mod others;
#[cfg(feature = "picture")]
pub mod picture;
#[cfg(feature = "chart")]
pub mod plot;
pub mod preview;
pub mod proof;
pub mod read;
pub mod snippet;
pub mod starts;
pub mod tour;

// What stands at the root is listed in src/estimator/mod.rs.
pub use estimator::*;
