//! Single changes to a scenario, ranked by what they gain.

use super::answer::largest_micro_batch;
use super::bounds::Field;
use super::choice::{
    AttentionKernel, Choice, Kernels, LossHead, Method, Offload, Optimizer, Precision, Recomputation, Segments,
    StepKernel, Switch, ZeroStage,
};
use super::scenario::Scenario;

/// One setting and the value it is given. Applying the change that holds the old value undoes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// Activation recomputation.
    Recomputation(Recomputation),
    /// Element type of activations.
    Precision(Precision),
    /// ZeRO stage.
    Zero(ZeroStage),
    /// Number of GPUs.
    Gpus(u32),
    /// Tensor-parallel size.
    TensorParallel(u32),
    /// Sequence parallelism.
    SequenceParallel(Switch),
    /// Dropout.
    Dropout(Switch),
    /// The attention kernel.
    Attention(AttentionKernel),
    /// The loss head.
    Loss(LossHead),
    /// How many operations share a kernel.
    Kernels(Kernels),
    /// The update rule.
    Optimizer(Optimizer),
    /// How the optimizer step is carried out.
    Step(StepKernel),
    /// What lies in the host's memory.
    Offload(Offload),
    /// How the caching allocator gets memory.
    Segments(Segments),
    /// Tokens in a sequence.
    Sequence(u32),
    /// A device of another catalogue row: its name in the catalogue, then in MiB its memory, the driver's
    /// part of it and the workspace of its libraries.
    Device(&'static str, u32, u32, u32),
}

impl Change {
    /// The scenario with this change made.
    pub fn apply(self, mut scenario: Scenario) -> Scenario {
        match self {
            Self::Recomputation(value) => scenario.recipe.recomputation = value,
            Self::Precision(value) => scenario.recipe.precision = value,
            Self::Zero(value) => scenario.cluster.zero = value,
            Self::Gpus(value) => scenario.cluster.gpus = value,
            Self::TensorParallel(value) => scenario.cluster.tensor_parallel = value,
            Self::SequenceParallel(value) => scenario.cluster.sequence_parallel = value,
            Self::Dropout(value) => scenario.recipe.dropout = value,
            Self::Attention(value) => scenario.recipe.attention = value,
            Self::Loss(value) => scenario.recipe.loss = value,
            Self::Kernels(value) => scenario.recipe.kernels = value,
            Self::Optimizer(value) => scenario.recipe.optimizer = value,
            Self::Step(value) => scenario.recipe.step = value,
            Self::Offload(value) => scenario.recipe.offload = value,
            Self::Segments(value) => scenario.device = scenario.device.with_segments(value),
            Self::Sequence(value) => scenario.recipe.sequence = value,
            Self::Device(origin, memory_mib, driver_mib, workspace_mib) => {
                scenario.device.origin = origin;
                scenario.device.workspace_mib = workspace_mib;
                scenario.device.memory_mib = memory_mib;
                scenario.device.driver_mib = driver_mib;
            }
        }
        scenario
    }

    /// The change that brings the setting back to what it is in `before`.
    pub fn undo(self, before: &Scenario) -> Self {
        match self {
            Self::Recomputation(_) => Self::Recomputation(before.recipe.recomputation),
            Self::Precision(_) => Self::Precision(before.recipe.precision),
            Self::Zero(_) => Self::Zero(before.cluster.zero),
            Self::Gpus(_) => Self::Gpus(before.cluster.gpus),
            Self::TensorParallel(_) => Self::TensorParallel(before.cluster.tensor_parallel),
            Self::SequenceParallel(_) => Self::SequenceParallel(before.cluster.sequence_parallel),
            Self::Dropout(_) => Self::Dropout(before.recipe.dropout),
            Self::Attention(_) => Self::Attention(before.recipe.attention),
            Self::Loss(_) => Self::Loss(before.recipe.loss),
            Self::Kernels(_) => Self::Kernels(before.recipe.kernels),
            Self::Optimizer(_) => Self::Optimizer(before.recipe.optimizer),
            Self::Step(_) => Self::Step(before.recipe.step),
            Self::Offload(_) => Self::Offload(before.recipe.offload),
            Self::Segments(_) => Self::Segments(before.device.segments),
            Self::Sequence(_) => Self::Sequence(before.recipe.sequence),
            Self::Device(..) => {
                let device = &before.device;
                Self::Device(device.origin, device.memory_mib, device.driver_mib, device.workspace_mib)
            }
        }
    }

    /// Whether `scenario` has this setting already.
    pub fn holds_in(self, scenario: &Scenario) -> bool {
        self.undo(scenario) == self
    }

    /// What the change costs, in one sentence.
    pub const fn cost(self) -> &'static str {
        match self {
            // Korthikanti et al. 2022, section 6.2: 39 % measured for the whole layer (a third is the
            // extra forward pass in FLOPs), 2.7 % in FLOPs for attention alone.
            Self::Recomputation(Recomputation::Full) => "About a third more FLOPs: every layer runs forward twice.",
            Self::Recomputation(Recomputation::Selective) => {
                "About 2.7 % more FLOPs: only attention scores are computed again."
            }
            Self::Recomputation(Recomputation::Operators) => {
                "Between the two: every second matrix product and all that is cheap runs twice."
            }
            Self::Recomputation(Recomputation::EveryK) => "About a third more FLOPs: every layer runs forward twice.",
            Self::Recomputation(Recomputation::KthLayer | Recomputation::Block) => {
                "A third more FLOPs for each layer that runs forward twice, and none for the others."
            }
            Self::Recomputation(Recomputation::None) => "Nothing: no work is repeated.",
            Self::Precision(Precision::Bf16) => "Less precise activations; on tensor cores it is also faster.",
            Self::Precision(Precision::Fp16) => "A narrower range that needs loss scaling.",
            Self::Precision(Precision::PureBf16) => "Coarse updates: bf16 has 8 bits of precision and no fp32 copy.",
            Self::Precision(Precision::Mixed | Precision::Autocast) => {
                "Less precise activations; faster on tensor cores."
            }
            Self::Precision(Precision::Fp32) => "Twice the activation bytes and slower arithmetic.",
            // Rajbhandari et al. 2020, section 7: stages 1 and 2 keep the volume of plain data
            // parallelism, stage 3 raises it to one and a half times.
            Self::Zero(ZeroStage::Stage3) => {
                "Half as much communication again: parameters are gathered layer by layer."
            }
            Self::Zero(_) => "No more communication than plain data parallelism.",
            Self::Gpus(_) => "More devices, and more communication between them.",
            Self::TensorParallel(_) => "Communication inside every layer; keep the group within one node.",
            Self::SequenceParallel(_) => "No more communication than tensor parallelism alone.",
            Self::Dropout(_) => "No dropout regularisation, as in most models trained since 2020.",
            Self::Attention(_) => "Nothing: the same result, and faster.",
            Self::Loss(_) => "Nothing but another loss function in the code.",
            Self::Kernels(_) => "Compilation, or other kernels; usually faster too.",
            Self::Optimizer(_) => "Moments in 8 bits; as good in most published runs.",
            Self::Step(_) => "Nothing: the same update in one kernel.",
            Self::Offload(Offload::Activations) => "Layer inputs cross the host link twice a step.",
            Self::Offload(_) => "Gradients and weights cross the host link every step, and the CPU updates.",
            Self::Segments(_) => "Nothing: an environment variable, PYTORCH_ALLOC_CONF=expandable_segments:True.",
            Self::Sequence(_) => "Shorter context: long documents are cut.",
            Self::Device(..) => "A larger device.",
        }
    }
}

/// A change and the micro-batch it leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lever {
    /// The change.
    pub change: Change,
    /// b_max before it.
    pub before: Option<u32>,
    /// b_max with it.
    pub after: Option<u32>,
}

impl Lever {
    /// Sequences gained.
    pub fn gain(&self) -> u32 {
        self.after.unwrap_or(0).saturating_sub(self.before.unwrap_or(0))
    }
}

/// Every single change that is open to `scenario`, largest b_max first; among equals the order is
/// that of cost. `devices` are larger devices worth a try; the estimator knows no catalogue.
pub fn ranked(scenario: &Scenario, devices: &[Change]) -> Vec<Lever> {
    let before = largest_micro_batch(scenario);
    let open = open_changes(scenario).into_iter().chain(devices.iter().copied());
    let mut levers: Vec<Lever> = Vec::new();
    for change in open.filter(|change| !change.holds_in(scenario)) {
        let lever = Lever { change, before, after: largest_micro_batch(&change.apply(*scenario)) };
        // Behind its equals, which are tried in the order of cost.
        let place = levers.iter().position(|other| other.after < lever.after).unwrap_or(levers.len());
        levers.insert(place, lever);
    }
    levers
}

/// The changes that can only help, cheapest first.
fn open_changes(scenario: &Scenario) -> Vec<Change> {
    let recipe = &scenario.recipe;
    let cluster = &scenario.cluster;
    // What the workshop's method cannot see is no lever under it.
    let divides = scenario.method != Method::Workshop;
    let counts = scenario.method == Method::Ledger;
    let mut open = Vec::new();
    if recipe.precision == Precision::Fp32 {
        open.push(Change::Precision(Precision::Bf16));
    }
    if counts {
        open.extend(kernel_changes(scenario));
    }
    if recipe.recomputation == Recomputation::None {
        open.push(Change::Recomputation(Recomputation::Selective));
    }
    if divides && cluster.tensor_parallel > 1 && !cluster.sequence_parallel.is_on() {
        open.push(Change::SequenceParallel(Switch::On));
    }
    if divides && cluster.data_parallel() > 1 {
        // A pipeline would have to gather every layer again for every micro-batch.
        let most = if cluster.pipeline_parallel > 1 { ZeroStage::Stage1 } else { ZeroStage::Stage3 };
        let stages = ZeroStage::ALL.iter().copied().filter(|stage| *stage > cluster.zero && *stage <= most);
        open.extend(stages.map(Change::Zero));
    }
    if counts && matches!(recipe.recomputation, Recomputation::None | Recomputation::Selective) {
        open.push(Change::Recomputation(Recomputation::Operators));
    }
    if recipe.recomputation != Recomputation::Full {
        open.push(Change::Recomputation(Recomputation::Full));
    }
    if divides && recipe.dropout.is_on() {
        open.push(Change::Dropout(Switch::Off));
    }
    if counts && recipe.optimizer == Optimizer::AdamW {
        open.push(Change::Optimizer(Optimizer::Adam8bit));
    }
    if counts {
        open.extend(offload_changes(recipe.offload, recipe.recomputation));
    }
    let wider = cluster.tensor_parallel.saturating_mul(2);
    let shares_heads = scenario.model.heads.is_multiple_of(wider) && scenario.model.kv_heads.is_multiple_of(wider);
    if divides
        && cluster.gpus.is_multiple_of(cluster.group().saturating_mul(2))
        && shares_heads
        && Field::TensorParallel.check(wider.into()).is_ok()
    {
        open.push(Change::TensorParallel(wider));
    }
    if Field::Gpus.check(f64::from(cluster.gpus) * 2.0).is_ok() {
        open.push(Change::Gpus(cluster.gpus * 2));
    }
    if recipe.sequence >= 256 {
        open.push(Change::Sequence(recipe.sequence / 2));
    }
    open
}

/// Other kernels for the same arithmetic: they cost nothing but the change.
fn kernel_changes(scenario: &Scenario) -> Vec<Change> {
    let recipe = &scenario.recipe;
    let mut open = Vec::new();
    if recipe.attention == AttentionKernel::Eager {
        open.push(Change::Attention(AttentionKernel::Flash));
    }
    match recipe.loss {
        LossHead::Plain
        | LossHead::VocabularyParallel
        | LossHead::VocabularyParallelFused
        | LossHead::Chunked
        | LossHead::ChunkedHead
        | LossHead::Kernel
        | LossHead::KernelInPlace => {
            open.push(Change::Loss(LossHead::Fused));
        }
        LossHead::Fused | LossHead::MaskedLm | LossHead::Classifier => {}
    }
    if scenario.device.segments == Segments::Fixed {
        open.push(Change::Segments(Segments::Expandable));
    }
    if recipe.kernels == Kernels::Eager {
        open.push(Change::Kernels(Kernels::Fused));
    }
    if recipe.step != StepKernel::Fused && recipe.optimizer == Optimizer::AdamW {
        open.push(Change::Step(StepKernel::Fused));
    }
    open
}

fn offload_changes(now: Offload, recomputation: Recomputation) -> Vec<Change> {
    let swaps = matches!(recomputation, Recomputation::Full | Recomputation::EveryK);
    match (now, swaps) {
        (Offload::None, true) => {
            vec![Change::Offload(Offload::Optimizer), Change::Offload(Offload::Activations)]
        }
        (Offload::None, false) => vec![Change::Offload(Offload::Optimizer)],
        (Offload::Optimizer, true) | (Offload::Activations, _) => vec![Change::Offload(Offload::Both)],
        (Offload::Optimizer, false) | (Offload::Both, _) => Vec::new(),
    }
}
