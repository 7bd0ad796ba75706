//! The estimator: a scenario in, a ledger out.

mod answer;
pub mod bounds;
mod change;
pub mod choice;
mod conflict;
pub mod cost;
mod counted;
mod counters;
pub mod division;
mod engines;
mod error;
mod estimate;
pub mod formula;
pub mod growth;
pub mod input;
pub mod inverse;
mod ledger;
pub mod lengths;
pub mod levers;
pub mod meaning;
mod models;
mod needs;
pub mod number;
mod operators;
mod outside;
mod paper;
pub mod planner;
pub mod range;
pub mod reading;
mod remark;
pub mod runtime;
mod scenario;
pub mod search;
pub mod setting;
mod shape;
pub mod source;
pub mod stages;
mod step;
pub mod strategy;
pub mod sweep;
pub mod tape;
mod text;
mod unit;
mod units;
pub mod vision;
pub mod ways;
mod weights;
mod workshop;

// What a program writes, what it asks and what it is told stand at the root of the library, as these lines say; the rest
// is reached by its module.
pub use answer::{Answer, Infeasible, Refusal, RefusalKind, Room, Shortage, b_max, fewest_gpus, largest_micro_batch};
pub use bounds::Field;
pub use change::Change;
pub use choice::{
    Adapter, AdapterTargets, AdapterType, AttentionKernel, BatchUnit, Batching, Bias, ChartAxis, Choice, Engine,
    Evaluation, ExpertMatrices, Fp8, FrozenType, Gather, Gathered, GradientType, HostLoad, Kernels, Load, Logits,
    LossHead, Merge, Method, Mlp, Norm, Offload, Optimizer, Packing, PaddedAttention, Position, Precision,
    ProjectorTraining, QkNorm, Recomputation, Reference, Resume, RewardModel, Rollout, Save, Segments, Softmax,
    StepKernel, Switch, TaskKind, Tower, TowerTraining, Unquantized, ZeroStage,
};
pub use conflict::{Conflict, ConflictKind};
pub use error::{InputError, InputErrorKind};
pub use estimate::{Balance, Counters, Entry, Estimate, HostCounter, Peak, StagePeak, counters, estimate};
pub use ledger::{Bucket, Instant, Instants};
pub use outside::Outside;
pub use remark::Remark;
pub use scenario::{
    Cluster, Comparison, Device, Encoder, Experts, Goal, Host, Latent, Lengths, Model, Origin, Recipe, Scenario, Task,
};
pub use unit::Unit;
pub use units::{Bytes, Percent};
pub use vision::{Images, Vision};
pub use weights::{AdapterWeights, Tensors, Weights};
