//! The estimator: a scenario in, a ledger out.

mod answer;
pub mod bounds;
mod change;
pub mod choice;
mod conflict;
pub mod cost;
mod counted;
pub mod division;
mod error;
mod estimate;
pub mod formula;
pub mod input;
pub mod inverse;
mod ledger;
pub mod levers;
pub mod number;
mod paper;
pub mod planner;
pub mod range;
pub mod reading;
pub mod runtime;
mod scenario;
pub mod search;
pub mod setting;
mod shape;
pub mod source;
pub mod stages;
pub mod strategy;
pub mod sweep;
mod text;
mod units;
mod weights;
mod workshop;

// What a program writes, what it asks and what it is told stand at the root of the library, as these lines say; the rest
// is reached by its module.
pub use answer::{Answer, Infeasible, Room, Shortage, b_max, fewest_gpus, largest_micro_batch};
pub use bounds::Field;
pub use change::Change;
pub use choice::{
    Adapter, AdapterTargets, AdapterType, AttentionKernel, BatchUnit, Bias, ChartAxis, Choice, Engine, FrozenType,
    GradientType, Kernels, Logits, LossHead, Method, Mlp, Norm, Offload, Optimizer, Packing, Position, Precision,
    QkNorm, Recomputation, Reference, RewardModel, Rollout, Segments, Softmax, StepKernel, Switch, TaskKind,
    Unquantized, ZeroStage,
};
pub use conflict::Conflict;
pub use error::{InputError, InputErrorKind};
pub use estimate::{Balance, Counters, Entry, Estimate, Peak, StagePeak, counters, estimate};
pub use ledger::{Bucket, Instant, Instants};
pub use scenario::{Cluster, Comparison, Device, Encoder, Experts, Goal, Latent, Model, Recipe, Scenario, Task};
pub use units::{Bytes, Percent};
pub use weights::Weights;
