//! Weights, gradients, master copies and optimizer state, matrix by matrix.

use super::Assembly;
use super::forms::{self, Divided};
use super::moments::Moments;
use crate::estimator::ledger::{Bucket, Instants, Line};
use crate::source::{
    ADAFACTOR, ADAM, ADAM8BIT, FSDP, LION, LORA, MEGATRON, MICIKEVICIUS, MODEL, MUON, PYTORCH, QLORA, Source,
};
use crate::{
    Adapter, GradientType, Mlp, Offload, Optimizer, Position, Precision, Recomputation, Scenario, StepKernel, Switch,
    Weights, ZeroStage,
};

/// The kinds of matrices that are counted apart.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Embedding,
    Positions,
    Head,
    Attention,
    Mlp,
    Experts,
    SharedExperts,
    Small,
    Adapters,
}

/// One kind of matrix on one pipeline stage.
struct Group {
    kind: Kind,
    divided: &'static Divided,
    layers: f64,
    weights: f64,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Embedding => "Embedding",
            Self::Positions => "Position table",
            Self::Head => "Output head",
            Self::Attention => "Attention matrices",
            Self::Mlp => "Feed-forward matrices",
            Self::Experts => "Experts",
            Self::SharedExperts => "Shared experts",
            Self::Small => "Norms, biases and routers",
            Self::Adapters => "Adapters",
        }
    }

    /// Whether it is a matrix inside a block: what adapters stand beside, what quantization shrinks
    /// and what Muon orthogonalizes.
    const fn is_block_matrix(self) -> bool {
        matches!(self, Self::Attention | Self::Mlp | Self::Experts | Self::SharedExperts)
    }
}

/// Layers of one pipeline stage and what else stands there.
#[derive(Clone, Copy)]
pub(super) struct Stage {
    pub(super) moments: Moments,
    pub(super) has_embedding: bool,
    pub(super) has_head: bool,
    pub(super) dense_layers: f64,
    pub(super) expert_layers: f64,
    /// Whether a layer with experts has the wider working set, where there are both kinds.
    pub(super) experts_lead: bool,
    /// Micro-batches whose activations the stage keeps at once.
    pub(super) in_flight: f64,
}

impl Stage {
    pub(super) fn layers(&self) -> f64 {
        self.dense_layers + self.expert_layers
    }
}

fn groups(scenario: &Scenario, weights: &Weights, stage: &Stage) -> Vec<Group> {
    let model = &scenario.model;
    let gated = model.mlp == Mlp::Gated;
    let mut groups = Vec::with_capacity(9);
    let mut push = |kind, divided, layers: f64, weights: f64| groups.push(Group { kind, divided, layers, weights });
    if stage.has_embedding {
        push(Kind::Embedding, &forms::VOCABULARY, 1.0, 1.0);
        if model.position == Position::Learned && model.positions > 0 {
            push(Kind::Positions, &forms::POSITIONS, 1.0, 1.0);
        }
    }
    // A tied head is the embedding; in a pipeline the two ends hold a copy each.
    let own_head = model.tied_embeddings == Switch::Off || !stage.has_embedding;
    if stage.has_head && own_head {
        push(Kind::Head, &forms::VOCABULARY, 1.0, 1.0);
    }
    if model.latent.kv_rank > 0 {
        push(Kind::Attention, &forms::LATENT, stage.layers(), weights.attention as f64);
    } else {
        push(Kind::Attention, &forms::ATTENTION, stage.layers(), 1.0);
    }
    if stage.dense_layers > 0.0 {
        push(Kind::Mlp, if gated { &forms::GATED_MLP } else { &forms::PLAIN_MLP }, stage.dense_layers, 1.0);
    }
    if stage.expert_layers > 0.0 {
        push(
            Kind::Experts,
            if gated { &forms::GATED_EXPERTS } else { &forms::PLAIN_EXPERTS },
            stage.expert_layers,
            1.0,
        );
        if model.experts.shared_width > 0 {
            let divided = if gated { &forms::GATED_SHARED } else { &forms::PLAIN_SHARED };
            push(Kind::SharedExperts, divided, stage.expert_layers, 1.0);
        }
    }
    let per_layer = (weights.norms + weights.biases) as f64;
    let mut small = stage.layers() * per_layer + stage.expert_layers * weights.router as f64;
    if stage.has_head {
        small += weights.final_norm as f64;
    }
    if small > 0.0 {
        push(Kind::Small, &forms::SMALL, 1.0, small);
    }
    groups
}

/// The line of a group in one bucket.
fn line(group: &Group, bucket: Bucket, bytes: f64, alive: Instants, source: &'static Source) -> Line {
    let shape = match bucket {
        Bucket::Parameters => &group.divided.parameters,
        Bucket::Gradients => &group.divided.gradients,
        _ => &group.divided.optimizer,
    };
    Line {
        coefficient: bytes,
        layers: group.layers,
        weights: group.weights,
        ..Line::new(group.kind.name(), bucket, shape, source, alive)
    }
}

/// Bytes that a weight, its gradient, its master copy take under the scenario's recipe.
#[derive(Clone, Copy)]
pub(super) struct Recipe {
    pub(super) weight: f64,
    pub(super) gradient: f64,
    pub(super) master: f64,
    /// Bytes of one optimizer moment.
    pub(super) moment: f64,
    /// Bytes of the weights that a layer computes with.
    pub(super) compute: f64,
}

impl Recipe {
    /// fp32 4 + 4; autocast and FSDP's mixed precision keep fp32 weights and gradients, 4 + 4; 16-bit
    /// weights with a master copy 2 + 2 + 4, or with gradients added up in fp32 2 + 4 + 4, where fp16
    /// keeps its 16-bit gradients beside them; all in bf16 2 + 2 (Micikevicius et al. 2018; table of
    /// Megatron Core's distributed optimizer).
    pub(super) fn of(scenario: &Scenario) -> Self {
        let full = scenario.recipe.gradients == GradientType::Full;
        let gradient = if full { 4.0 } else { 2.0 };
        match scenario.recipe.precision {
            Precision::Fp32 => Self { weight: 4.0, gradient: 4.0, master: 0.0, moment: 4.0, compute: 4.0 },
            Precision::Mixed | Precision::Autocast => {
                Self { weight: 4.0, gradient: 4.0, master: 0.0, moment: 4.0, compute: 2.0 }
            }
            Precision::Bf16 => Self { weight: 2.0, gradient, master: 4.0, moment: 4.0, compute: 2.0 },
            Precision::Fp16 => {
                let gradient = if full { 6.0 } else { 2.0 };
                Self { weight: 2.0, gradient, master: 4.0, moment: 4.0, compute: 2.0 }
            }
            Precision::PureBf16 => Self { weight: 2.0, gradient, master: 0.0, moment: 2.0, compute: 2.0 },
        }
    }
}

/// Whether the gradients of the step before are there in the forward pass: because several
/// micro-batches add up, or because the framework keeps a buffer for them.
pub(super) fn gradients_persist(scenario: &Scenario) -> bool {
    let buffered = matches!(scenario.recipe.precision, Precision::Bf16 | Precision::Fp16 | Precision::PureBf16)
        && scenario.recipe.gradients == GradientType::Full;
    scenario.recipe.micro_batches > 1 || buffered
}

/// The ZeRO stage from which the weights are divided. FSDP's mixed precision divides its fp32 weights
/// as soon as it divides gradients: what it then keeps whole is the 16-bit copy.
pub(super) fn parameters_from(scenario: &Scenario) -> ZeroStage {
    if scenario.recipe.precision == Precision::Mixed { ZeroStage::Stage2 } else { ZeroStage::Stage3 }
}

/// Whether PyTorch's DistributedDataParallel averages the gradients, in buckets of its own.
fn has_ddp_buckets(scenario: &Scenario) -> bool {
    scenario.cluster.zero < ZeroStage::Stage2
        && scenario.cluster.data_parallel().saturating_mul(scenario.cluster.context_parallel) > 1
        && matches!(
            scenario.recipe.precision,
            Precision::Fp32 | Precision::Autocast | Precision::Mixed | Precision::PureBf16
        )
}

/// Weights, gradients and optimizer state of one stage.
pub(super) fn assemble(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    let recipe = Recipe::of(scenario);
    let always = stage.moments.always();
    let groups = groups(scenario, weights, stage);
    for group in &groups {
        let (bytes, source) = frozen_bytes(scenario, group.kind).unwrap_or((recipe.weight, &MODEL));
        to.lines.push(line(group, Bucket::Parameters, bytes, always, source));
    }
    // FSDP without resharding keeps a 16-bit copy of all weights beside the fp32 shards.
    if scenario.recipe.precision == Precision::Mixed && scenario.cluster.zero != ZeroStage::Stage3 {
        let copy = to.stage_weights(weights, stage);
        to.lines.push(Line {
            coefficient: 2.0,
            weights: copy,
            ..Line::new(
                "16-bit copy of the weights",
                Bucket::Parameters,
                &forms::OWN_WEIGHTS,
                &FSDP,
                stage.moments.in_passes().or(Moments::only(stage.moments.end)),
            )
        });
    }
    if scenario.recipe.adapter == Adapter::None {
        trained(to, scenario, weights, stage, &groups);
    } else {
        let per_layer = Weights::adapter(&scenario.model, scenario.recipe.targets, scenario.recipe.rank.into());
        let adapters = Group {
            kind: Kind::Adapters,
            divided: &forms::COUNTED,
            layers: 1.0,
            weights: per_layer as f64 * stage.layers(),
        };
        to.lines.push(line(&adapters, Bucket::Parameters, recipe.weight, always, &LORA));
        trained(to, scenario, weights, stage, &[adapters]);
    }
}

/// Bytes of an element of a frozen matrix, where there are any.
pub(super) fn frozen_matrix_bytes(scenario: &Scenario) -> Option<f64> {
    frozen_bytes(scenario, Kind::Attention).map(|(bytes, _)| bytes)
}

/// Bytes of a frozen weight beside adapters.
fn frozen_bytes(scenario: &Scenario, kind: Kind) -> Option<(f64, &'static Source)> {
    match scenario.recipe.adapter {
        Adapter::None => None,
        Adapter::Lora8 if kind.is_block_matrix() => Some((1.0, &QLORA)),
        // Four bits, and 0.127 bits of doubly quantized constants (QLoRA, section 3).
        Adapter::Qlora if kind.is_block_matrix() => Some(((4.0 + 0.127) / 8.0, &QLORA)),
        _ => Some((Recipe::of(scenario).compute, &LORA)),
    }
}

/// Gradients, master copies and optimizer state of what is trained.
fn trained(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage, groups: &[Group]) {
    let recipe = Recipe::of(scenario);
    let moments = &stage.moments;
    let always = moments.always();
    let persist = gradients_persist(scenario);
    for group in groups {
        let alive = if persist { always } else { gradient_lifetime(group.kind, scenario, stage) };
        let source: &'static Source = if recipe.gradient > 4.0 { &MEGATRON } else { &MICIKEVICIUS };
        let mut gradients = line(group, Bucket::Gradients, recipe.gradient, alive, source);
        // While K layers are computed again together, the gradients of all but one of them are yet to
        // come.
        let there = 1.0 - (together(scenario, stage) - 1.0) / stage.layers();
        if there < 1.0 && !persist && !matches!(group.kind, Kind::Embedding | Kind::Positions | Kind::Head) {
            let mut early = gradients;
            early.alive = Moments::only(moments.first);
            early.coefficient *= there;
            to.lines.push(early);
            gradients.alive = Instants::at(&[moments.end, moments.step]);
        }
        to.lines.push(gradients);
        if has_ddp_buckets(scenario) {
            let mut buckets = line(group, Bucket::Gradients, recipe.gradient, always, &PYTORCH);
            buckets.name = bucket_name(group.kind);
            to.lines.push(buckets);
        }
    }
    if !persist {
        // The last layer's gradients come first; the others' are counted once all are there.
        let one = first_gradients(to, scenario, weights, stage);
        to.lines.push(Line {
            coefficient: recipe.gradient,
            weights: one,
            ..Line::new(
                "Gradients of one layer",
                Bucket::Gradients,
                &forms::OWN_WEIGHTS,
                &MICIKEVICIUS,
                Moments::only(moments.last),
            )
        });
    }
    if matches!(scenario.recipe.offload, Offload::Optimizer | Offload::Both) {
        return;
    }
    if recipe.master > 0.0 {
        for group in groups {
            let mut master = line(group, Bucket::Optimizer, recipe.master, always, &MICIKEVICIUS);
            master.name = master_name(group.kind);
            to.lines.push(master);
        }
    }
    optimizer_state(to, scenario, weights, stage, groups, &recipe);
}

/// Weights whose gradients are there once the last layer has run backward, as far as this device keeps
/// them: the layer's and the last norm's.
fn first_gradients(to: &Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) -> f64 {
    if scenario.recipe.adapter != Adapter::None {
        return to.adapter_weights(scenario) / to.gradient_shards;
    }
    let last_norm = if stage.has_head { weights.final_norm as f64 } else { 0.0 };
    let shared = to.shared_layer_weights(weights, stage) + last_norm;
    shared / to.gradient_shards + to.expert_weights(weights, stage) / to.expert_gradient_shards
}

/// Layers that are computed again together.
pub(super) fn together(scenario: &Scenario, stage: &Stage) -> f64 {
    if scenario.recipe.recomputation == Recomputation::EveryK {
        f64::from(scenario.recipe.every).min(stage.layers())
    } else {
        1.0
    }
}

/// From when on the gradients of a kind are there, when none are left over from before.
fn gradient_lifetime(kind: Kind, scenario: &Scenario, stage: &Stage) -> Instants {
    let moments = &stage.moments;
    let late = Instants::at(&[moments.end, moments.step]);
    let blocks = late.or(Moments::only(moments.first));
    match kind {
        // The backward pass starts at the head, which a tied embedding is.
        Kind::Head => late.or(moments.in_backward()),
        Kind::Embedding if stage.has_head && scenario.model.tied_embeddings.is_on() => late.or(moments.in_backward()),
        Kind::Embedding | Kind::Positions => late,
        _ => blocks,
    }
}

const fn bucket_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Embedding => "Embedding, DDP buckets",
        Kind::Positions => "Position table, DDP buckets",
        Kind::Head => "Output head, DDP buckets",
        Kind::Attention => "Attention matrices, DDP buckets",
        Kind::Mlp => "Feed-forward matrices, DDP buckets",
        Kind::Experts => "Experts, DDP buckets",
        Kind::SharedExperts => "Shared experts, DDP buckets",
        Kind::Small => "Norms, biases and routers, DDP buckets",
        Kind::Adapters => "Adapters, DDP buckets",
    }
}

const fn state_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Embedding => "Embedding, moments",
        Kind::Positions => "Position table, moments",
        Kind::Head => "Output head, moments",
        Kind::Attention => "Attention matrices, moments",
        Kind::Mlp => "Feed-forward matrices, moments",
        Kind::Experts => "Experts, moments",
        Kind::SharedExperts => "Shared experts, moments",
        Kind::Small => "Norms, biases and routers, moments",
        Kind::Adapters => "Adapters, moments",
    }
}

const fn master_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Embedding => "Embedding, fp32 master",
        Kind::Positions => "Position table, fp32 master",
        Kind::Head => "Output head, fp32 master",
        Kind::Attention => "Attention matrices, fp32 master",
        Kind::Mlp => "Feed-forward matrices, fp32 master",
        Kind::Experts => "Experts, fp32 master",
        Kind::SharedExperts => "Shared experts, fp32 master",
        Kind::Small => "Norms, biases and routers, fp32 master",
        Kind::Adapters => "Adapters, fp32 master",
    }
}

/// Bytes of optimizer state for each weight of a kind.
fn moment_bytes(optimizer: Optimizer, kind: Kind, moment: f64) -> (f64, &'static Source) {
    match optimizer {
        Optimizer::AdamW => (2.0 * moment, &ADAM),
        // Two bytes, and an fp32 scale for each moment of a block of 256; small tensors are left in
        // fp32.
        Optimizer::Adam8bit if kind != Kind::Small => (2.0 + 2.0 * 4.0 / 256.0, &ADAM8BIT),
        Optimizer::Adam8bit => (8.0, &ADAM8BIT),
        // Its matrices are counted by rows and columns; vectors keep a whole second moment.
        Optimizer::Adafactor if kind == Kind::Small => (4.0, &ADAFACTOR),
        Optimizer::Adafactor | Optimizer::Sgd => (0.0, &ADAFACTOR),
        Optimizer::Lion => (moment, &LION),
        Optimizer::Muon if kind.is_block_matrix() => (moment, &MUON),
        Optimizer::Muon => (2.0 * moment, &MUON),
        Optimizer::Momentum => (moment, &PYTORCH),
    }
}

fn optimizer_state(
    to: &mut Assembly,
    scenario: &Scenario,
    weights: &Weights,
    stage: &Stage,
    groups: &[Group],
    recipe: &Recipe,
) {
    let always = stage.moments.always();
    let optimizer = scenario.recipe.optimizer;
    for group in groups {
        let (bytes, source) = moment_bytes(optimizer, group.kind, recipe.moment);
        if bytes > 0.0 {
            let mut state = line(group, Bucket::Optimizer, bytes, always, source);
            state.name = state_name(group.kind);
            to.lines.push(state);
        }
    }
    let adapters = scenario.recipe.adapter != Adapter::None;
    if optimizer == Optimizer::Adafactor && !adapters {
        to.lines.push(Line {
            coefficient: 4.0,
            weights: to.factors(scenario, weights, stage) / to.optimizer_shards,
            ..Line::new("Sums over rows and columns", Bucket::Optimizer, &forms::OWN_WEIGHTS, &ADAFACTOR, always)
        });
    }
    step_temporaries(to, scenario, weights, stage, recipe);
}

/// What the update itself needs: the root of the second moment for every weight at once when all
/// tensors are updated together, twice the largest tensor when they are updated one by one
/// (torch/optim/adam.py, `_multi_tensor_adam` and `_single_tensor_adam`).
fn step_temporaries(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage, recipe: &Recipe) {
    let optimizer = scenario.recipe.optimizer;
    let adapters = scenario.recipe.adapter != Adapter::None;
    let alive = Moments::only(stage.moments.step);
    let own = |name, coefficient, weights| Line {
        coefficient,
        weights,
        ..Line::new(name, Bucket::Temporary, &forms::OWN_WEIGHTS, &PYTORCH, alive)
    };
    let largest = || weights.largest_matrix(&scenario.model) as f64 / to.tensor_parallel / to.optimizer_shards;
    match (optimizer, scenario.recipe.step) {
        (Optimizer::AdamW, StepKernel::Foreach) => {
            let trained =
                if adapters { to.adapter_weights(scenario) * stage.layers() } else { to.stage_weights(weights, stage) };
            let lines = own("Root of the second moments", recipe.moment, trained / to.optimizer_shards);
            to.lines.push(lines);
        }
        // These have no fused or list form: one tensor at a time whatever is asked for.
        (Optimizer::Adafactor, _) if !adapters => {
            let line = own("Update of the largest tensor", 2.0 * 4.0, largest());
            to.lines.push(line);
        }
        (Optimizer::AdamW | Optimizer::Lion | Optimizer::Muon, StepKernel::Loop) if !adapters => {
            let line = own("Update of the largest tensor", 2.0 * recipe.moment, largest());
            to.lines.push(line);
        }
        _ => {}
    }
}
