//! The memory of one machine outside its devices: what they have handed over, and what loading takes.
//!
//! The devices of a machine share it, so that each line counts all of them: its coefficient is bytes times devices. With
//! a pipeline the fullest of the counted stages stands for every device of the machine (`Ledger::host_at`).

use super::matrices;
use super::optimizer::{PAGED, moment_bytes};
use super::stage::{Pipeline, Stage};
use super::states::{Kind, StateBytes, frozen_bytes, groups};
use super::task::bytes_of_frozen;
use super::types::{Types, base_bytes};
use super::{Assembly, forms};
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::estimator::meaning::{Keeps, Part, Stack};
use crate::source::{BITSANDBYTES, CHECKPOINTS, DEEPSPEED, FSDP, MODEL, PYTORCH, Source, TRL};
use crate::{Adapter, Engine, HostLoad, Offload, Optimizer, Reference, RewardModel, Scenario, TaskKind, Weights};

/// While the weights are read.
const LOADING: Instants = Instants::at(&[0]);
/// While the model is trained.
const TRAINING: Instants = Instants::at(&[1]);

/// Everything in the memory of a machine whose devices have this stage, for each of the counted stages: which of them is
/// the fullest depends on the micro-batch. Empty where nothing is there.
pub(super) fn lines(scenario: &Scenario) -> Vec<Vec<Line>> {
    let (recipe, task) = (&scenario.recipe, &scenario.task);
    let asked_for = recipe.offload != Offload::None
        || recipe.optimizer == Optimizer::PagedAdam8bit
        || task.kind != TaskKind::Train
        || scenario.host.load != HostLoad::Off;
    if !asked_for {
        return Vec::new();
    }
    let weights = Weights::of(&scenario.model);
    let pipeline = Pipeline::of(scenario);
    let to = Assembly::new(scenario, pipeline.stages);
    let stages = pipeline.counted(scenario, &weights);
    let of_each = stages.iter().map(|stage| {
        let mut lines = of_stage(&to, scenario, &weights, stage);
        load(&mut lines, scenario, &weights);
        lines
    });
    of_each.filter(|lines| !lines.is_empty()).collect()
}

fn of_stage(to: &Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) -> Vec<Line> {
    let devices = f64::from(scenario.node_gpus());
    let mut lines = Vec::new();
    let offload = scenario.recipe.offload;
    let paged = scenario.recipe.optimizer == Optimizer::PagedAdam8bit;
    if offload.takes_optimizer() || paged {
        let bytes = StateBytes::of(scenario);
        let groups = groups(scenario, weights, stage);
        let mut state = State { to, scenario, stage, weights, lines: &mut lines, devices };
        if offload.takes_parameters() {
            for group in groups.iter() {
                let (bytes, source) = frozen_bytes(scenario, group.kind).unwrap_or((bytes.weight, &MODEL));
                let line = group.line(Bucket::Parameters, bytes * devices, TRAINING, source);
                state.lines.push(line);
            }
            state.rounding(&bytes);
        }
        if offload.takes_optimizer() {
            state.offloaded(&bytes);
        } else if scenario.recipe.adapter == Adapter::None {
            for group in groups.iter().filter(|group| group.kind != Kind::Small) {
                let mut line = group.line(Bucket::Optimizer, PAGED * devices, TRAINING, &BITSANDBYTES);
                line.name = "Paged moments, if the GPU has no room";
                state.lines.push(line);
            }
        }
    }
    if offload.takes_activations() {
        inputs(&mut lines, scenario, stage, devices);
    }
    frozen(&mut lines, to, scenario, weights, stage, devices);
    lines
}

struct State<'a> {
    to: &'a Assembly,
    scenario: &'a Scenario,
    stage: &'a Stage,
    weights: &'a Weights,
    lines: &'a mut Vec<Line>,
    devices: f64,
}

impl State<'_> {
    fn push(&mut self, name: &'static str, bucket: Bucket, bytes: f64, weights: f64, source: &'static Source) {
        let line = Line::new(name, bucket, &forms::OWN_WEIGHTS, source, TRAINING);
        let coefficient = bytes * self.devices;
        if coefficient * weights > 0.0 {
            self.lines.push(Line { coefficient, weights, ..line });
        }
    }

    /// Trained weights of one device as ZeRO divides their optimizer state: all of them, and small ones.
    fn trained(&self) -> (f64, f64) {
        let (to, scenario, stage) = (self.to, self.scenario, self.stage);
        if scenario.recipe.adapter != Adapter::None {
            return (to.adapter_weights(scenario, stage) / to.optimizer_shards, 0.0);
        }
        let experts = stage.expert_layers * to.expert_weights(self.weights, stage);
        let shared = to.stage_weights(self.weights, stage) - experts;
        let expert_shards = (to.optimizer_shards / to.expert_parallel).max(1.0);
        let small = stage.layers() * (self.weights.norms + self.weights.biases) as f64;
        (shared / to.optimizer_shards + experts / expert_shards, small / to.optimizer_shards)
    }

    /// What the CPU steps with: master weights, gradients in their type and moments. Where there is no master copy the
    /// weights have a copy (`CPUOffloadOptimizer` in torchao/optim/cpu_offload.py), unless they are there themselves.
    /// DeepSpeed keeps fp32 gradients beside fp32 weights, 16 bytes a weight with Adam
    /// (`initialize_optimizer_states` in runtime/zero/stage_1_and_2.py; `estimate_zero3_model_states_mem_needs`).
    fn offloaded(&mut self, bytes: &StateBytes) {
        let deepspeed = self.scenario.cluster.engine == Engine::DeepSpeed;
        let source: &'static Source = if deepspeed { &DEEPSPEED } else { &PYTORCH };
        let (trained, small) = self.trained();
        let in_host = self.scenario.recipe.offload.takes_parameters();
        let master = match bytes.master {
            0.0 if in_host => 0.0,
            0.0 => bytes.weight,
            master => master,
        };
        let gradient = if bytes.master > 0.0 { bytes.master } else { bytes.gradient };
        self.push("Weights that the CPU updates", Bucket::Optimizer, master, trained, source);
        self.push("Gradients for the CPU’s step", Bucket::Gradients, gradient, trained, source);
        let optimizer = self.scenario.recipe.optimizer;
        let kind = if self.scenario.recipe.adapter == Adapter::None { Kind::Attention } else { Kind::Adapters };
        let (moments, source) = moment_bytes(optimizer, kind, bytes);
        self.push("Optimizer state", Bucket::Optimizer, moments, trained - small, source);
        let (moments, source) = moment_bytes(optimizer, Kind::Small, bytes);
        self.push("Optimizer state of norms and biases", Bucket::Optimizer, moments, small, source);
    }

    /// FSDP pins each weight's part and its gradient's by itself (`pin_memory` in
    /// torch/distributed/fsdp/_fully_shard/_fsdp_param.py), and PyTorch rounds every pinned allocation up to a power of
    /// two (`allocate` in aten/src/ATen/core/CachingHostAllocator.h, PyTorch 2.15). Stacks of experts are left out.
    fn rounding(&mut self, bytes: &StateBytes) {
        if !self.scenario.cluster.engine.is_torch() {
            return;
        }
        let adapted = self.scenario.recipe.adapter != Adapter::None;
        let shards = self.to.parameter_shards * self.to.tensor_parallel;
        let excess = |bytes: f64| {
            let rounded = if bytes >= 1.0 { (bytes.ceil() as u64).next_power_of_two() as f64 } else { bytes };
            rounded - bytes
        };
        let mut all = 0.0;
        for matrix in matrices::of(self.scenario, self.stage) {
            let elements = matrix.rows * matrix.columns / shards;
            let kind = if matrix.inside { Kind::Attention } else { Kind::Embedding };
            let weight = frozen_bytes(self.scenario, kind).map_or(bytes.weight, |(bytes, _)| bytes);
            let gradient = if adapted { 0.0 } else { excess(elements * bytes.gradient) };
            all += matrix.count * (excess(elements * weight) + gradient);
        }
        self.push("Pinned memory, rounded up to powers of two", Bucket::Temporary, 1.0, all, &FSDP);
    }
}

/// Inputs of recomputed layers: all of them, of which the GPU has two.
fn inputs(lines: &mut Vec<Line>, scenario: &Scenario, stage: &Stage, devices: f64) {
    let again = stage.recomputed_part(scenario);
    let segments = (stage.layers() * again / stage.layers_per_segment(scenario)).ceil();
    if segments > 0.0 {
        lines.push(Line {
            coefficient: Types::of(scenario).residual * devices,
            layers: segments * stage.in_flight,
            part: Part::Layers(Keeps::Inputs, Stack::Model),
            ..Line::new("Layer inputs", Bucket::Activations, &forms::RESIDUAL, &CHECKPOINTS, TRAINING)
        });
    }
}

/// Frozen models of a task. DeepSpeed divides them over all devices; elsewhere each process has one.
fn frozen(lines: &mut Vec<Line>, to: &Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage, devices: f64) {
    let task = &scenario.task;
    if matches!(task.kind, TaskKind::Train | TaskKind::Reward) {
        return;
    }
    let shares = if scenario.cluster.engine == Engine::DeepSpeed { scenario.cluster.data_parallel() } else { 1 };
    let all = match task.teacher {
        teacher if teacher > 0 && task.kind == TaskKind::Distil => teacher as f64,
        _ => to.stage_weights(weights, stage),
    };
    let mut push = |name| {
        let bytes = bytes_of_frozen(scenario, Kind::Embedding);
        let line = Line::new(name, Bucket::Parameters, &forms::OWN_WEIGHTS, &TRL, TRAINING);
        lines.push(Line { coefficient: bytes * devices, weights: all / f64::from(shares), ..line });
    };
    if task.reference == Reference::Offloaded {
        push(if task.kind == TaskKind::Distil { "Teacher" } else { "Reference model" });
    }
    if task.kind.generates() && task.rewarded_by() == RewardModel::Offloaded {
        push("Reward model");
    }
}

/// Weights on their way from a checkpoint to the devices.
fn load(lines: &mut Vec<Line>, scenario: &Scenario, weights: &Weights) {
    let copies = match scenario.host.load {
        HostLoad::Off => return,
        HostLoad::RankZero => 1.0,
        HostLoad::Every => f64::from(scenario.node_gpus()),
        HostLoad::Twice => 2.0 * f64::from(scenario.node_gpus()),
    };
    let bytes = match scenario.recipe.adapter {
        Adapter::None => StateBytes::of(scenario).weight,
        _ => base_bytes(scenario),
    };
    let line = Line::new("Weights while they are loaded", Bucket::Parameters, &forms::OWN_WEIGHTS, &PYTORCH, LOADING);
    lines.push(Line { coefficient: bytes * copies, weights: weights.total() as f64, ..line });
}
