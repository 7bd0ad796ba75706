//! Single changes to a scenario, ranked by what they gain.

use super::answer::{Refusal, largest_micro_batch};
use super::bounds::Field;
use super::choice::{
    Adapter, AdapterTargets, AttentionKernel, Choice, Evaluation, FrozenType, Gather, Kernels, Load, LossHead, Merge,
    Method, Offload, Optimizer, Precision, Recomputation, Reference, Resume, Rollout, Segments, StepKernel, Switch,
    TaskKind, TowerTraining, ZeroStage,
};
use super::scenario::Scenario;
use super::setting::Word;

pub use super::change::Change;

impl Change {
    /// What the change costs, in one sentence; nothing is said of a change that no lever makes.
    pub const fn cost(self) -> &'static str {
        match self {
            Self::Number(Field::Gpus, _) => "More devices, and more communication between them.",
            Self::Number(Field::TensorParallel, _) => {
                "Communication inside every layer; keep the group within one node."
            }
            Self::Number(Field::MaxPixels, _) => "Smaller images: small print is lost first.",
            Self::Number(Field::Sequence, _) => "Shorter context: long documents are cut.",
            Self::Number(Field::EvalSteps, _) => "Logits cross the link to CPU memory after every evaluation batch.",
            Self::Number(Field::EvalBatch, _) => "A slower evaluation: one sequence at a time.",
            Self::Number(..) => "",
            Self::Word(word) => cost_of(word),
            Self::Device { .. } => "A larger device.",
        }
    }
}

/// What an option costs over what was in use.
const fn cost_of(word: Word) -> &'static str {
    match word {
        // Korthikanti et al. 2022: 39 % measured for a whole layer (table 4), of which a third is the
        // extra forward pass in FLOPs. For attention alone see `cost::extra_work`: S/18H.
        Word::Recomputation(Recomputation::Full) => "About a third more FLOPs: every layer runs forward twice.",
        Word::Recomputation(Recomputation::Selective) => {
            "More FLOPs by S/18H at most, which is 2.8 % where S = H/2: only attention scores are computed again."
        }
        Word::Recomputation(Recomputation::Operators) => {
            "Between the two: every second matrix product and all that is cheap runs twice."
        }
        Word::Precision(Precision::Bf16) => "Less precise activations; on tensor cores it is also faster.",
        // Rajbhandari et al. 2020, section 7: stages 1 and 2 keep the volume of plain data
        // parallelism, stage 3 raises it to one and a half times.
        Word::Zero(ZeroStage::Stage3) => "Half as much communication again: parameters are gathered layer by layer.",
        Word::Zero(_) => "No more communication than plain data parallelism.",
        Word::SequenceParallel(_) => "No more communication than tensor parallelism alone.",
        Word::Dropout(_) => "No dropout regularisation, as in most models trained since 2020.",
        Word::Adapter(adapter) if adapter.is_quantized() => {
            "Something else is trained: low-rank adapters beside frozen weights, which are kept in 4 bits."
        }
        Word::Adapter(_) => "Something else is trained: low-rank adapters beside frozen weights.",
        Word::Targets(_) => "Experts and routers do not learn.",
        Word::Attention(_) => "Nothing: the same result, and faster.",
        Word::Loss(_) => "Nothing but another loss function in the code.",
        Word::Kernels(_) => "Compilation, or other kernels; usually faster too.",
        Word::Optimizer(_) => "Moments in 8 bits; as good in most published runs.",
        Word::Step(_) => "Nothing: the same update in one kernel.",
        Word::Offload(Offload::Parameters | Offload::Everything) => {
            "Every layer crosses the link to CPU memory in each pass, and the CPU runs the optimizer."
        }
        Word::Offload(Offload::Activations) => "Layer inputs cross the link to CPU memory twice a step.",
        Word::Offload(_) => {
            "Gradients and weights cross the link to CPU memory every step, and the CPU runs the optimizer."
        }
        Word::Reference(_) => "Nothing: the model without its adapters is the reference.",
        Word::Frozen(_) => "Log-probabilities of the frozen model in 16 bits.",
        Word::Tower(_) => "The tower does not learn; the projector and the language model do.",
        Word::Rollout(_) => "The engine gets its weights and an empty cache anew for every generation.",
        Word::Evaluation(_) => "Metrics that need logits are to be computed batch by batch.",
        Word::Gather(_) | Word::Load(_) | Word::Resume(_) => "CPU memory, and each tensor crosses the link to it.",
        Word::Merge(_) => "Nothing on the GPU but another way of merging.",
        Word::Segments(_) => "Nothing: an environment variable, PYTORCH_ALLOC_CONF=expandable_segments:True.",
        Word::Method(_) => "Nothing: it counts the same run by tensors.",
        _ => "",
    }
}

/// A change and the micro-batch it leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
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
    if Refusal::of(scenario).is_some() {
        // Nothing can be gained over what cannot be said.
        return Vec::new();
    }
    let before = largest_micro_batch(scenario);
    let conflicts = scenario.conflicts().len();
    let open = open_changes(scenario).into_iter().chain(devices.iter().copied());
    let mut levers: Vec<Lever> = Vec::new();
    // What leads to another contradiction is no lever.
    let goes = |change: &Change| !change.holds_in(scenario) && change.apply(*scenario).conflicts().len() <= conflicts;
    for change in open.filter(goes) {
        let lever = Lever { change, before, after: largest_micro_batch(&change.apply(*scenario)) };
        // Behind its equals, which are tried in the order of cost.
        let place = levers.iter().position(|other| other.after < lever.after).unwrap_or(levers.len());
        levers.insert(place, lever);
    }
    levers
}

/// The changes that can only help, cheapest first.
pub(super) fn open_changes(scenario: &Scenario) -> Vec<Change> {
    let recipe = &scenario.recipe;
    let cluster = &scenario.cluster;
    // What the workshop's method cannot see is no lever under it.
    let divides = scenario.method != Method::Workshop;
    let counts = scenario.method == Method::Ledger;
    let mut open = Vec::new();
    if recipe.precision == Precision::Fp32 {
        open.push(Word::Precision(Precision::Bf16).into());
    }
    if counts {
        open.extend(kernel_changes(scenario));
    }
    if recipe.recomputation == Recomputation::None {
        open.push(Word::Recomputation(Recomputation::Selective).into());
    }
    if divides && cluster.tensor_parallel > 1 && !cluster.sequence_parallel.is_on() {
        open.push(Word::SequenceParallel(Switch::On).into());
    }
    if divides && cluster.data_parallel() > 1 {
        // A pipeline would have to gather every layer again for every micro-batch.
        let most = if cluster.pipeline_parallel > 1 { ZeroStage::Stage1 } else { ZeroStage::Stage3 };
        let stages = ZeroStage::ALL.iter().copied().filter(|stage| *stage > cluster.zero && *stage <= most);
        open.extend(stages.map(|stage| Change::Word(Word::Zero(stage))));
    }
    if counts && matches!(recipe.recomputation, Recomputation::None | Recomputation::Selective) {
        open.push(Word::Recomputation(Recomputation::Operators).into());
    }
    if recipe.recomputation != Recomputation::Full {
        open.push(Word::Recomputation(Recomputation::Full).into());
    }
    if divides && recipe.dropout.is_on() {
        open.push(Word::Dropout(Switch::Off).into());
    }
    if counts && recipe.adapts_stacks(&scenario.model) {
        open.push(Word::Targets(AdapterTargets::Attention).into());
    }
    if counts && recipe.optimizer == Optimizer::AdamW {
        open.push(Word::Optimizer(Optimizer::Adam8bit).into());
    }
    if counts {
        open.extend(offload_changes(recipe.offload, recipe.recomputation));
    }
    if counts && scenario.task.kind != TaskKind::Train {
        open.extend(task_changes(scenario));
    }
    if counts {
        open.extend(outside_changes(scenario));
    }
    if counts && scenario.model.vision.is_there() {
        if recipe.images.tower != TowerTraining::Frozen {
            open.push(Word::Tower(TowerTraining::Frozen).into());
        }
        open.extend(scenario.lower_max_pixels().map(|pixels| Change::Number(Field::MaxPixels, pixels.into())));
    }
    let wider = cluster.tensor_parallel.saturating_mul(2);
    let shares_heads = scenario.model.heads.is_multiple_of(wider) && scenario.model.kv_heads.is_multiple_of(wider);
    if divides
        && cluster.gpus.is_multiple_of(cluster.group().saturating_mul(2))
        && shares_heads
        && Field::TensorParallel.check(wider.into()).is_ok()
    {
        open.push(Change::Number(Field::TensorParallel, f64::from(wider)));
    }
    if Field::Gpus.check(f64::from(cluster.gpus) * 2.0).is_ok() {
        open.push(Change::Number(Field::Gpus, f64::from(cluster.gpus * 2)));
    }
    if recipe.sequence >= 256 {
        open.push(Change::Number(Field::Sequence, f64::from(recipe.sequence / 2)));
    }
    open
}

/// What takes less outside the step, cheapest first.
pub(super) fn outside_changes(scenario: &Scenario) -> Vec<Change> {
    let outside = &scenario.outside;
    let mut open = Vec::new();
    if outside.evaluation == Evaluation::Logits && outside.eval_steps != 1 {
        open.push(Change::Number(Field::EvalSteps, 1.0));
    }
    if outside.evaluation != Evaluation::Off && outside.eval_batch != 1 {
        open.push(Change::Number(Field::EvalBatch, 1.0));
    }
    if outside.evaluation == Evaluation::Logits {
        open.push(Word::Evaluation(Evaluation::Loss).into());
    }
    if outside.gather == Gather::Gpu {
        open.push(Word::Gather(Gather::Cpu).into());
    }
    if outside.load == Load::Gpu {
        open.push(Word::Load(Load::Cpu).into());
    }
    if matches!(outside.resume, Resume::Gpu | Resume::Init) {
        open.push(Word::Resume(Resume::Cpu).into());
    }
    if matches!(outside.merge, Merge::Safe | Merge::Whole) {
        open.push(Word::Merge(Merge::On).into());
    }
    open
}

/// What takes less beside the step of a task.
fn task_changes(scenario: &Scenario) -> Vec<Change> {
    let task = &scenario.task;
    let mut open = Vec::new();
    let is_copied = matches!(task.reference, Reference::Copy | Reference::Sharded);
    if is_copied && scenario.recipe.adapter != Adapter::None && task.kind != TaskKind::Distil {
        open.push(Word::Reference(Reference::Adapter).into());
    }
    if task.frozen == FrozenType::Policy {
        open.push(Word::Frozen(FrozenType::Half).into());
    }
    if task.kind.generates() && task.rollout == Rollout::Awake {
        open.push(Word::Rollout(Rollout::Asleep).into());
    }
    open
}

/// Other kernels for the same arithmetic: they cost nothing but the change.
fn kernel_changes(scenario: &Scenario) -> Vec<Change> {
    let recipe = &scenario.recipe;
    let mut open = Vec::new();
    if recipe.attention == AttentionKernel::Eager {
        open.push(Word::Attention(AttentionKernel::Flash).into());
    }
    match recipe.loss {
        LossHead::Plain if scenario.task.kind.has_tiled_head() => open.push(Word::Loss(LossHead::Tiled).into()),
        LossHead::Plain
        | LossHead::VocabularyParallel
        | LossHead::VocabularyParallelFused
        | LossHead::Chunked
        | LossHead::ChunkedHead
        | LossHead::Kernel
        | LossHead::KernelInPlace => {
            open.push(Word::Loss(LossHead::Fused).into());
        }
        LossHead::Tiled | LossHead::Fused | LossHead::MaskedLm | LossHead::Classifier => {}
    }
    if scenario.device.segments == Segments::Fixed {
        open.push(Word::Segments(Segments::Expandable).into());
    }
    if recipe.kernels == Kernels::Eager {
        open.push(Word::Kernels(Kernels::Fused).into());
    }
    if recipe.step != StepKernel::Fused && recipe.optimizer == Optimizer::AdamW {
        open.push(Word::Step(StepKernel::Fused).into());
    }
    open
}

fn offload_changes(now: Offload, recomputation: Recomputation) -> Vec<Change> {
    let swaps = matches!(recomputation, Recomputation::Full | Recomputation::EveryK);
    match (now, swaps) {
        (Offload::None, true) => {
            vec![Word::Offload(Offload::Optimizer).into(), Word::Offload(Offload::Activations).into()]
        }
        (Offload::None, false) => vec![Word::Offload(Offload::Optimizer).into()],
        (Offload::Optimizer, true) | (Offload::Activations, _) => vec![Word::Offload(Offload::Both).into()],
        (Offload::Parameters, true) => vec![Word::Offload(Offload::Everything).into()],
        (Offload::Optimizer | Offload::Parameters, false) | (Offload::Both | Offload::Everything, _) => Vec::new(),
    }
}
