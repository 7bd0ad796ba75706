//! What the course teaches beyond the estimate itself, as pure functions: the figures of the page draw
//! what is computed here, and the tests hold it to the printed numbers of the sources.

pub mod calibration;
pub mod convergence;
pub mod formats;
pub mod length;
pub mod lengths;
pub mod listings;
pub mod networks;
pub mod problems;
pub mod quiz;
pub mod quoted;
pub mod recomputing;
pub mod scaling;
pub mod sentences;
pub mod sources;
pub mod splitting;
pub mod states;
pub mod step;
pub mod swapping;
pub mod tuning;
pub mod updates;
