//! The estimator: a scenario in, a ledger out.

mod answer;
pub mod bounds;
mod change;
pub mod choice;
mod conflict;
mod cost;
mod counted;
mod division;
mod error;
mod estimate;
pub mod formula;
mod input;
mod inverse;
mod ledger;
pub mod levers;
pub mod number;
mod paper;
pub mod planner;
mod range;
mod reading;
pub mod runtime;
mod scenario;
pub mod search;
pub mod setting;
pub mod source;
mod strategy;
pub mod sweep;
mod text;
mod units;
mod weights;
mod workshop;

pub use answer::{Answer, Infeasible, Room, Shortage, b_max, fewest_gpus, largest_micro_batch};
pub use bounds::{Bound, Field};
pub use change::Change;
pub use choice::{
    Adapter, AdapterTargets, AdapterType, AttentionKernel, BatchUnit, Bias, Choice, ChoiceOption, Engine, GradientType,
    Kernels, Logits, LossHead, Method, Mlp, Norm, Offload, Optimizer, Packing, Position, Precision, QkNorm,
    Recomputation, Segments, Softmax, StepKernel, Switch, Unquantized, WordError, ZeroStage,
};
pub use conflict::Conflict;
pub use cost::{Cost, Speed, Work, bubble, cost, extra_work, flops_per_token};
pub use division::{Division, division, line_at_peak};
pub use error::{InputError, InputErrorKind};
pub use estimate::{Balance, Counters, Entry, Estimate, Peak, StagePeak, counters, estimate};
pub use formula::{Expr, Symbol, Values};
pub use input::{Input, Value};
pub use inverse::{largest_model, least_memory, longest_sequence};
pub use ledger::{Bucket, Instant, Instants};
pub use range::{Outlook, Range, range};
pub use reading::Typed;
pub use scenario::{Cluster, Comparison, Device, Experts, Goal, Latent, Model, Recipe, Scenario};
pub use setting::{Setting, Word};
pub use source::Source;
pub use strategy::{Rung, Strategy, cheapest_plan, rung};
pub use units::{Bytes, Percent};
pub use weights::Weights;
