//! The memory of one machine outside its devices: what they have handed over, and what loading takes.
//!
//! The devices of a machine share it, so that each line counts all of them: its coefficient is bytes times devices. With
//! a pipeline the fullest of the counted stages stands for every device of the machine (`Ledger::host_at`).

use super::engine::SUB_GROUP;
use super::matrices::Largest;
use super::optimizer::{PAGED, moment_bytes};
use super::pinned::{self, Parameter};
use super::small;
use super::stage::{Pipeline, Stage};
use super::states::{Kind, StateBytes, frozen_bytes, groups};
use super::task::bytes_of_frozen;
use super::types::{Types, base_bytes};
use super::{Assembly, forms};
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::estimator::meaning::{Keeps, Part, Stack};
use crate::estimator::runtime::PROCESS;
use crate::source::{BITSANDBYTES, CHECKPOINTS, DEEPSPEED, MODEL, PYTORCH, Source, TRL};
use crate::{
    Adapter, Engine, Gather, Gathered, HostLoad, Offload, Optimizer, Precision, Reference, RewardModel, Scenario,
    TaskKind, Weights, ZeroStage,
};

/// While the weights are read.
const LOADING: Instants = Instants::at(&[0]);
/// While the model is trained.
const TRAINING: Instants = Instants::at(&[1]);

/// How much of the memory of a machine is counted.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Extent {
    /// What the scenario asks for.
    Asked,
    /// Also what nobody said and a run may have: the processes themselves, one copy of the weights while they are loaded,
    /// and one while a checkpoint is saved. Workers of a data loader are not among it, of which PyTorch and transformers
    /// start none by themselves, nor is the page cache, which gives way.
    Careful,
}

/// Everything in the memory of a machine whose devices have this stage, for each of the counted stages: which of them is
/// the fullest depends on the micro-batch. Empty where the scenario asks for nothing there.
pub(super) fn lines(scenario: &Scenario, extent: Extent) -> Vec<Vec<Line>> {
    let (recipe, task) = (&scenario.recipe, &scenario.task);
    let asked_for = recipe.offload != Offload::None
        || recipe.optimizer == Optimizer::PagedAdam8bit
        || task.kind != TaskKind::Train
        || scenario.host.load != HostLoad::Off
        || gathers(scenario);
    if !asked_for {
        return Vec::new();
    }
    let weights = Weights::of(&scenario.model);
    let pipeline = Pipeline::of(scenario);
    let to = Assembly::new(scenario, pipeline.stages);
    let stages = pipeline.counted(scenario, &weights);
    let of_each = stages.iter().map(|stage| {
        let mut lines = of_stage(&to, scenario, &weights, stage);
        load(&mut lines, scenario, &weights, scenario.host.load);
        if gathers(scenario) {
            checkpoint(&mut lines, scenario, &weights);
        }
        if extent == Extent::Careful && !lines.is_empty() {
            careful(&mut lines, scenario, &weights);
        }
        lines
    });
    of_each.filter(|lines| !lines.is_empty()).collect()
}

/// Whether a whole state dict is gathered in CPU memory.
fn gathers(scenario: &Scenario) -> bool {
    scenario.outside.gather == Gather::Cpu && scenario.divides_weights()
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
        }
        if offload.takes_optimizer() {
            let flat = state.buffers_of_deepspeed(&bytes);
            state.rounding(&bytes, &flat);
        }
        if offload.takes_optimizer() {
            state.offloaded(&bytes);
        } else if scenario.recipe.adapter == Adapter::None {
            for group in groups.iter() {
                let line = group.line(Bucket::Optimizer, PAGED * devices, TRAINING, &BITSANDBYTES);
                let small = || small::paged(&small::of(&scenario.model, weights, stage));
                let weights = if group.kind == Kind::Small { small() } else { line.weights };
                if weights > 0.0 {
                    let name = "Paged moments, if the GPU has no room";
                    state.lines.push(Line { name, weights, ..line });
                }
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

    /// Trained weights of one device as ZeRO divides their optimizer state: all of them, and small ones that have other
    /// moments than matrices.
    fn trained(&self) -> (f64, f64) {
        let (to, scenario, stage) = (self.to, self.scenario, self.stage);
        if scenario.recipe.adapter != Adapter::None {
            return (to.adapter_weights(scenario, stage) / to.optimizer_shards, 0.0);
        }
        let tensors = small::of(&scenario.model, self.weights, stage);
        let small = small::unquantized(scenario.recipe.optimizer, &tensors);
        (to.updated_weights(scenario, self.weights, stage), small / to.optimizer_shards)
    }

    /// What the CPU steps with: master weights, gradients in their type and moments. Where there is no master copy the
    /// weights have a copy (`CPUOffloadOptimizer` in torchao/optim/cpu_offload.py), unless FSDP has them there itself;
    /// DeepSpeed copies them in any case (`_create_fp32_partitions` in runtime/zero/stage3.py, and `weights_partition` in
    /// stage_1_and_2.py, edaa72212672). Its gradients for the step are in the type of that copy
    /// (`initialize_optimizer_states` in both).
    fn offloaded(&mut self, bytes: &StateBytes) {
        let source: &'static Source = if self.is_deepspeed() { &DEEPSPEED } else { &PYTORCH };
        let (trained, small) = self.trained();
        let [master, gradient] = self.stepped(bytes);
        self.push("Weights that the CPU updates", Bucket::Optimizer, master, trained, source);
        self.push("Gradients for the CPU’s step", Bucket::Gradients, gradient, trained, source);
        let optimizer = self.scenario.recipe.optimizer;
        let kind = if self.scenario.recipe.adapter == Adapter::None { Kind::Attention } else { Kind::Adapters };
        let (moments, source) = moment_bytes(optimizer, kind, bytes);
        self.push("Optimizer state", Bucket::Optimizer, moments, trained - small, source);
        let (moments, source) = moment_bytes(optimizer, Kind::Small, bytes);
        self.push("Optimizer state of norms and biases", Bucket::Optimizer, moments, small, source);
    }

    fn is_deepspeed(&self) -> bool {
        self.scenario.cluster.engine == Engine::DeepSpeed
    }

    /// Bytes of a trained weight that the CPU updates, and of its gradient.
    fn stepped(&self, bytes: &StateBytes) -> [f64; 2] {
        let in_place = self.scenario.recipe.offload.takes_parameters() && !self.is_deepspeed();
        let master = match bytes.master {
            0.0 if in_place => 0.0,
            0.0 => bytes.weight,
            master => master,
        };
        [master, if bytes.master > 0.0 { bytes.master } else { bytes.gradient }]
    }

    /// What DeepSpeed has in CPU memory beside the step's own tensors, and the bytes of every flat pinned tensor of one
    /// device (all at edaa72212672, 0.19.6, where `pin_memory` is on unless it is switched off, as exports write it).
    ///
    /// ZeRO 3 (runtime/zero/stage3.py): `grad_partitions_flat_buffer`, in which gradients add up in their own type, is one
    /// pinned tensor; gradients for the step are one for each group of 10⁹ weights (`initialize_optimizer_states`), and
    /// weights in CPU memory one altogether (`_create_param_groups_fp16_flat_cpu_memory`). Each part of a parameter was
    /// pinned by itself before that (`_partition_param` in partition_parameters.py), and PyTorch keeps those blocks.
    ///
    /// ZeRO 1 and 2 (stage_1_and_2.py): the updated weights, their gradients and a copy in the type of the model
    /// (`param_buffer_of_bit16_for_cpu_offload_groups`) are a pinned tensor each, and there is room for the largest
    /// parameter (`temp_grad_buffer_for_cpu_offload`). With several micro-batches each gradient of this device’s part adds
    /// up in a pinned tensor of its own, unless master weights are in 16 bits (`async_accumulate_grad_in_cpu_via_gpu`).
    fn buffers_of_deepspeed(&mut self, bytes: &StateBytes) -> Vec<f64> {
        if !self.is_deepspeed() {
            return Vec::new();
        }
        let (recipe, cluster) = (&self.scenario.recipe, &self.scenario.cluster);
        let (trained, _) = self.trained();
        let [master, gradient] = self.stepped(bytes);
        let source = &DEEPSPEED;
        if cluster.zero == ZeroStage::Stage3 {
            let added_up = bytes.gradient.min(4.0);
            let groups = (trained / SUB_GROUP).floor();
            let mut flat = vec![added_up * trained, gradient * (trained - groups * SUB_GROUP)];
            flat.extend(std::iter::repeat_n(gradient * SUB_GROUP, groups as usize));
            self.push("Gradients that add up in CPU memory", Bucket::Gradients, added_up, trained, source);
            if recipe.offload.takes_parameters() {
                flat.push(bytes.weight * trained);
                let name = "Parts of weights pinned at first, kept by PyTorch";
                self.push(name, Bucket::Temporary, bytes.weight, trained, source);
            }
            return flat;
        }
        let largest = match recipe.adapter {
            Adapter::None => Largest::of(self.scenario, self.weights, self.stage).on_device(self.to).any(),
            _ => 0.0,
        };
        self.push("Updated weights on their way to the GPU", Bucket::Temporary, bytes.weight, trained, source);
        self.push("Room for the largest gradient", Bucket::Temporary, bytes.weight, largest, source);
        if self.adds_up_by_parameter() {
            self.push("Gradients that add up in CPU memory", Bucket::Gradients, bytes.weight, trained, source);
        }
        vec![master * trained, gradient * trained, bytes.weight * trained, bytes.weight * largest]
    }

    /// Whether DeepSpeed’s first two stages add gradients up in CPU memory, parameter by parameter.
    fn adds_up_by_parameter(&self) -> bool {
        let recipe = &self.scenario.recipe;
        self.is_deepspeed()
            && self.scenario.cluster.zero < ZeroStage::Stage3
            && (recipe.micro_batches > 1 || self.scenario.cluster.pipeline_parallel > 1)
            && recipe.precision != Precision::PureBf16
    }

    /// What pinned memory takes beyond what was asked for: of DeepSpeed’s `flat` tensors, and of what is pinned parameter by
    /// parameter. That are each weight’s part and its gradient’s under FSDP (`pin_memory` in
    /// torch/distributed/fsdp/_fully_shard/_fsdp_param.py, PyTorch 2.15) and where torchao’s optimizer is in CPU memory
    /// alone (`CPUOffloadOptimizer` in torchao/optim/cpu_offload.py at 36027d82d1ad).
    fn rounding(&mut self, bytes: &StateBytes, flat: &[f64]) {
        let (to, scenario) = (self.to, self.scenario);
        let recipe = &scenario.recipe;
        let with_weights = recipe.offload.takes_parameters();
        let [master, gradient] = self.stepped(bytes);
        // Bytes of an element in one block of its own and in a second one.
        let blocks = |kind: Kind| match frozen_bytes(scenario, kind) {
            Some((frozen, _)) if with_weights => [frozen, 0.0],
            Some(_) => [0.0; 2],
            None if self.is_deepspeed() && with_weights => [bytes.weight, 0.0],
            None if self.adds_up_by_parameter() => [bytes.weight, 0.0],
            None if !scenario.cluster.engine.is_torch() => [0.0; 2],
            None if with_weights => [bytes.weight, bytes.gradient],
            None => [master, gradient],
        };
        let shards = |kind: Kind| match (with_weights, kind) {
            (true, Kind::Experts) => to.expert_parameter_shards,
            (true, _) => to.parameter_shards,
            (false, Kind::Experts) => (to.optimizer_shards / to.expert_parallel).max(1.0),
            (false, _) => to.optimizer_shards,
        };
        let excess = |parameter: Parameter| {
            let Parameter { kind, elements, count } = parameter;
            // ZeRO 1 and 2 leave a device its share of whole gradients, all else is a part of each parameter.
            let by_parameter = self.adds_up_by_parameter();
            let (elements, count) =
                if by_parameter { (elements, count / shards(kind)) } else { (elements / shards(kind), count) };
            count * blocks(kind).map(|bytes| pinned::excess(elements * bytes)).iter().sum::<f64>()
        };
        let of_flat: f64 = flat.iter().map(|bytes| pinned::excess(*bytes)).sum();
        let of_parts: f64 = pinned::parameters(to, scenario, self.stage).into_iter().map(excess).sum();
        let name = "Pinned memory, rounded up to powers of two";
        self.push(name, Bucket::Temporary, 1.0, of_flat + of_parts, &PYTORCH);
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
fn load(lines: &mut Vec<Line>, scenario: &Scenario, weights: &Weights, load: HostLoad) {
    let copies = match load {
        HostLoad::Off => return,
        HostLoad::RankZero => 1.0,
        HostLoad::Every => f64::from(scenario.node_gpus()),
        HostLoad::Twice => 2.0 * f64::from(scenario.node_gpus()),
    };
    let bytes = bytes_of_a_checkpoint(scenario);
    let line = Line::new("Weights while they are loaded", Bucket::Parameters, &forms::OWN_WEIGHTS, &PYTORCH, LOADING);
    lines.push(Line { coefficient: bytes * copies, weights: weights.total() as f64, ..line });
}

fn bytes_of_a_checkpoint(scenario: &Scenario) -> f64 {
    match scenario.recipe.adapter {
        Adapter::None => StateBytes::of(scenario).weight,
        _ => base_bytes(scenario),
    }
}

/// The whole model in the first process of the machine: DeepSpeed's in 16 bits (`_zero3_consolidated_16bit_state_dict` in
/// runtime/engine.py, edaa72212672), PyTorch's as it is (`_gather_state_dict` in
/// torch/distributed/_state_dict_utils.py, PyTorch 2.15).
fn checkpoint(lines: &mut Vec<Line>, scenario: &Scenario, weights: &Weights) {
    let deepspeed = scenario.cluster.engine == Engine::DeepSpeed;
    let source: &'static Source = if deepspeed { &DEEPSPEED } else { &PYTORCH };
    let whole = bytes_of_a_checkpoint(scenario);
    let bytes = if deepspeed { whole.min(StateBytes::of(scenario).compute) } else { whole };
    let line = Line::new("Checkpoint, gathered to be saved", Bucket::Parameters, &forms::OWN_WEIGHTS, source, TRAINING);
    lines.push(Line { coefficient: bytes, weights: weights.total() as f64, ..line });
    if gathers(scenario) && scenario.outside.gathered == Gathered::All && scenario.recipe.adapter == Adapter::None {
        let states = StateBytes::of(scenario);
        let (moments, _) = moment_bytes(scenario.recipe.optimizer, Kind::Attention, &states);
        let name = "Optimizer state, gathered to be saved";
        let line = Line::new(name, Bucket::Optimizer, &forms::OWN_WEIGHTS, source, TRAINING);
        lines.push(Line { coefficient: moments + states.master, weights: weights.total() as f64, ..line });
    }
}

/// What nobody said and a run may have. A checkpoint of adapters is small.
fn careful(lines: &mut Vec<Line>, scenario: &Scenario, weights: &Weights) {
    if scenario.host.load == HostLoad::Off {
        load(lines, scenario, weights, HostLoad::RankZero);
    }
    if !gathers(scenario) && scenario.recipe.adapter == Adapter::None {
        checkpoint(lines, scenario, weights);
    }
    let alive = LOADING.or(TRAINING);
    let line = Line::new("Processes and their libraries", Bucket::Runtime, &forms::OWN_WEIGHTS, &PYTORCH, alive);
    lines.push(Line { coefficient: PROCESS.get(), weights: scenario.node_gpus().into(), ..line });
}
