//! The estimator: a scenario in, a ledger out.

mod answer;
pub mod bounds;
pub mod choice;
mod estimate;
pub mod formula;
mod ledger;
pub mod levers;
pub mod number;
mod paper;
pub mod planner;
mod scenario;
pub mod search;
pub mod setting;
pub mod source;
pub mod sweep;
mod units;
mod workshop;

pub use answer::{Answer, Infeasible, Room, Shortage, b_max, fewest_gpus, largest_micro_batch};
pub use bounds::{Bound, Fault, Field, Problem};
pub use choice::{BatchUnit, Choice, ChoiceOption, Method, Mlp, Precision, Recomputation, Switch, ZeroStage};
pub use estimate::{Balance, Entry, Estimate, Peak, estimate};
pub use formula::{Expr, Symbol, Values};
pub use ledger::{Bucket, Instant, Instants};
pub use scenario::{Cluster, Comparison, Conflict, Device, Goal, Model, Recipe, Scenario};
pub use setting::Setting;
pub use source::Source;
pub use units::{Bytes, Percent};
