//! What is played: the blocks of every network, lowered, and how often each comes.

use super::Depth;
use super::graph::Instance;
use super::norm::{Norm, norm};
use crate::estimator::engines::{HeldPart, Local, Network, Plan, Round, Split, Unit, UnitPlace, Update};
use crate::estimator::models::{Block, Model};
use crate::estimator::operators::{
    CUBLAS, CUBLASLT, Crossing, Form, Module, ModuleKind, Owner, Part, Place, Program, Registry, Side, Size, Tensor,
    TensorId, Types, Weight,
};
use crate::estimator::units::{DType, Shape};

/// Blocks in a row that come `times` times.
pub struct Stage<'p> {
    /// The blocks.
    pub instances: Vec<Instance<'p>>,
    /// What the optimizer does with each weight of each of them.
    pub updates: Vec<&'p [Update]>,
    /// What the engine does with the weights of modules in them, where these are units of their own.
    pub modules: Vec<Vec<Unit>>,
    /// What the engine does with the weights of each of them. Where the first and the last block have none, they are one unit.
    pub units: Vec<Unit>,
    /// How often they come.
    pub times: u32,
}

/// A block, lowered, with what the optimizer does with each of its weights.
pub struct Lowered {
    /// Its kernels.
    pub program: Program,
    /// What the optimizer does with each of its weights.
    pub updates: Vec<Update>,
}

/// The blocks of a network, lowered.
pub struct Programs {
    /// The block before the layers.
    pub opening: [Lowered; 1],
    /// The blocks of each run of layers.
    pub layers: Vec<Vec<Lowered>>,
    /// The block behind the layers.
    pub closing: [Lowered; 1],
}

/// A weight in its place.
#[derive(Clone, Copy)]
pub struct Own<'p> {
    /// The weight.
    pub weight: &'p Weight,
    /// What the optimizer does with it.
    pub update: &'p Update,
    /// Its number in the training program.
    pub number: usize,
}

/// A network as it is played.
pub struct Played<'p> {
    /// Its model.
    pub model: &'p Model,
    /// Its blocks in order.
    pub stages: Vec<Stage<'p>>,
    /// The number of the token embedding's matrix.
    pub embedding: usize,
    /// Whether its weights are its own.
    pub is_own: bool,
    /// The network that it is, called otherwise.
    pub called: Option<usize>,
    /// Whether the optimizer updates them.
    pub is_updated: bool,
}

/// A function between passes, lowered, and which arguments it takes over.
pub struct Function {
    /// Its kernels.
    pub program: Program,
    /// Whether it takes each argument over.
    pub takes: Vec<bool>,
}

/// Tensors of the training program that no block makes.
pub struct Tensors {
    /// The gradient of a loss in 16 bits and in fp32.
    pub one: [TensorId; 2],
    /// The workspaces of cuBLAS and cuBLASLt.
    pub libraries: [TensorId; 2],
    /// Those of a micro-batch.
    pub batch: Vec<TensorId>,
    /// What names have from the step before.
    pub left: Vec<(Local, TensorId)>,
    /// What is there from the beginning.
    pub kept: Vec<TensorId>,
    /// The buffers of each network.
    pub constants: Vec<Vec<TensorId>>,
    /// What those of the first network become where an engine gives them another type, or nothing.
    pub cast: Vec<TensorId>,
    /// Those of the norm of all gradients.
    pub norm: Option<Norm>,
}

/// What is played: a training program, lowered.
pub struct Score<'p> {
    /// The training program.
    pub plan: &'p Plan,
    /// Whether equal layers are played in full.
    pub depth: Depth,
    /// How many micro-batches are played.
    pub micro_batches: u32,
    /// The networks, the one first that engines divide among devices.
    pub networks: Vec<Played<'p>>,
    /// The functions between passes, and which arguments each takes over.
    pub functions: Vec<(Instance<'p>, &'p [bool])>,
    /// How many weights there are.
    pub count: usize,
    /// Tensors of the training program.
    pub tensors: Tensors,
    /// What the engine does with the weights of the first and the last block.
    pub root: Unit,
    /// What the engine does with the weights of each network that is one unit beside the divided one.
    pub frozen: Vec<Unit>,
    /// What the training program does around the passes of a step.
    pub round: Round,
}

impl Function {
    /// The functions of a task, lowered. They are given tensors, whose types are their own, and have no weights.
    pub fn all(plan: &Plan, registry: &mut Registry) -> Vec<Self> {
        let types = Types { weights: DType::Single, loaded: DType::Single, buffers: DType::Single, autocast: None };
        let lower = |block: &Block| {
            let program = block.lower(registry, types);
            Self { takes: (0..program.slots).map(|place| block.takes(place)).collect(), program }
        };
        plan.task.functions.iter().map(lower).collect()
    }
}

impl Tensors {
    fn new(plan: &Plan, programs: &[Programs], registry: &mut Registry) -> Self {
        let source = "the training program";
        let mut own = |tensor| registry.id(tensor, source);
        let one = [DType::Half, DType::Single].map(|dtype| {
            let size = Size::Of(Form::new(dtype, Shape::ONE));
            own(Tensor { place: Place::Loss, part: Part::Gradient, size })
        });
        let libraries =
            [CUBLAS, CUBLASLT].map(|size| own(Tensor { place: Place::Libraries, part: Part::Workspace, size }));
        let batch = plan.task.batch.iter().map(|&tensor| own(tensor)).collect();
        let left = plan.task.left.iter().map(|&(local, tensor)| (local, own(tensor))).collect();
        let kept = plan.task.kept.iter().map(|&tensor| own(tensor)).collect();
        let mut constants = Vec::with_capacity(plan.task.networks.len());
        for network in &plan.task.networks {
            registry.set_owner(network.owner);
            let own = |&tensor| registry.id(tensor, source);
            constants.push(network.model.constants.iter().map(own).collect());
        }
        registry.set_owner(Owner::Trained);
        let norm = norm(plan, programs, registry);
        let cast = plan.data_parallel.buffers().zip(plan.task.networks.first()).map(|(dtype, network)| {
            let cast = network.model.constants.iter().map(|tensor| registry.id(tensor.with_dtype(dtype), source));
            cast.collect()
        });
        Self { one, libraries, batch, left, kept, constants, cast: cast.unwrap_or_default(), norm }
    }
}

impl<'p> Score<'p> {
    /// What is played of a plan whose blocks and functions are lowered.
    pub fn new(
        plan: &'p Plan,
        depth: Depth,
        programs: &'p [Programs],
        functions: &'p [Function],
        registry: &mut Registry,
    ) -> Self {
        // Where gradients are copied in the last micro-batch alone, one in between is another than both the first and the
        // last.
        let has_buckets = plan.data_parallel.has_buckets();
        let most = if has_buckets { depth.micro_batches().max(3) } else { depth.micro_batches() };
        let is_whole = has_buckets || plan.data_parallel.lets_go_late();
        let depth = if is_whole { Depth::Whole } else { depth };
        let root = root(plan, programs, registry);
        let (mut networks, mut count): (Vec<Played<'_>>, _) = (Vec::new(), 0);
        for (network, programs) in plan.task.networks.iter().zip(programs) {
            let shared = network.shared_with.and_then(|other| networks.get(other));
            let numbers = (networks.len(), count);
            let mut stages = stages(&network.model, plan, programs, registry, depth, numbers);
            let embedding = shared.map_or_else(|| embedding(&stages, registry), |other| other.embedding);
            let is_own = shared.is_none();
            if let Some(other) = shared {
                stages.iter_mut().zip(&other.stages).for_each(|(stage, other)| stage.share(other));
            } else {
                count += stages.iter().flat_map(|stage| &stage.instances).map(|one| one.weights.len()).sum::<usize>();
            }
            let Network { model, is_updated, .. } = network;
            let called = network.shared_with;
            networks.push(Played { model, stages, embedding, is_own, called, is_updated: *is_updated });
        }
        let functions = functions
            .iter()
            .map(|function| (Instance { program: &function.program, weights: vec![] }, function.takes.as_slice()))
            .collect();
        let tensors = Tensors::new(plan, programs, registry);
        let round = plan.round(|| held(&networks, plan), registry);
        let micro_batches = plan.micro_batches.min(most);
        let frozen = plan.task.networks.iter().zip(programs);
        let frozen = frozen.map(|(network, programs)| frozen_unit(network, plan, programs, registry)).collect();
        Self { plan, depth, micro_batches, networks, functions, count, tensors, root, frozen, round }
    }
}

/// What the engine does with the weights of the first and the last block, where these are one unit.
fn root(plan: &Plan, programs: &[Programs], registry: &mut Registry) -> Unit {
    let first = plan.task.networks.first().zip(programs.first());
    let whole = first.filter(|_| !plan.data_parallel.has_units_apart());
    let weights = whole.map(|(network, programs)| programs.root(&network.model, registry)).unwrap_or_default();
    let before = first.and_then(|(_, programs)| programs.last_layer(plan.data_parallel.has_inner_units()));
    let place = UnitPlace {
        weights: &weights,
        before: before.as_deref(),
        is_root: true,
        is_later: false,
        stays: false,
        is_inner: false,
    };
    plan.data_parallel.unit(place, &plan.widths(), registry)
}

/// What the engine does with the weights of a frozen network, where they are one unit.
fn frozen_unit(network: &Network, plan: &Plan, programs: &Programs, registry: &mut Registry) -> Unit {
    let Some(stored) = network.unit else { return Unit::default() };
    let ends = programs.root(&network.model, registry);
    let (first, last) = ends.split_at(programs.opening[0].program.weights.len());
    let layers = network.model.layers.iter().zip(&programs.layers);
    let layers = layers.flat_map(|(run, blocks)| std::iter::repeat_n(blocks, run.times as usize)).flatten();
    let within = layers.flat_map(|lowered| &lowered.program.weights);
    let weights = first.iter().copied().chain(within).chain(last.iter().copied()).collect::<Vec<_>>();
    registry.set_owner(network.owner);
    let unit = plan.data_parallel.frozen_unit(stored, &weights, &network.model.widths, registry);
    registry.set_owner(Owner::Trained);
    unit
}

impl Stage<'_> {
    /// Takes the weights of the same stage of another network, each the one that is the same tensor.
    fn share(&mut self, other: &Stage<'_>) {
        for (instance, other) in self.instances.iter_mut().zip(&other.instances) {
            for (number, weight) in instance.weights.iter_mut().zip(&instance.program.weights) {
                let same = other.program.weights.iter().position(|of| of.gradient == weight.gradient);
                *number = same.map_or(*number, |place| other.weights[place]);
            }
        }
    }
}

impl Programs {
    /// The blocks of every network of a plan.
    pub fn all(plan: &Plan, registry: &mut Registry) -> Vec<Self> {
        plan.task.networks.iter().map(|network| Self::of(network, plan, registry)).collect()
    }

    /// Every block of a network, with what the optimizer does with its weights as this device holds them.
    fn of(network: &Network, plan: &Plan, registry: &mut Registry) -> Self {
        let Network { model, types, owner, is_updated, .. } = network;
        registry.set_owner(*owner);
        let updates = |weights: &[&Weight], registry: &mut Registry| {
            let held = plan.data_parallel.held(weights, &model.widths);
            let none = || Update { passes: vec![Vec::new(); plan.optimizer.passes()] };
            let is_updated = *is_updated && !plan.data_parallel.updates_on_host();
            let update = |weight: &Weight| {
                registry.set_side(weight.side);
                if is_updated { plan.optimizer.update(weight, registry) } else { none() }
            };
            held.iter().map(update).collect::<Vec<_>>()
        };
        let lower = |block: &Block, registry: &mut Registry| {
            registry.set_side(block.side);
            let mut program = block.lower(registry, *types);
            plan.data_parallel.prepare(&mut program.weights, registry);
            let kind = |module: usize| program.modules.get(module).map(|module| module.kind);
            program.borders.retain(|border| match border.crossing {
                Crossing::Enter(module) | Crossing::Leave(module) => plan.data_parallel.is_told_of(kind(module)),
                Crossing::Read(..) | Crossing::LeaveModel => plan.data_parallel.is_told_of(None),
            });
            program
        };
        let mut layer = |block: &Block| {
            let program = lower(block, registry);
            let updates = updates(&program.weights.iter().collect::<Vec<_>>(), registry);
            Lowered { program, updates }
        };
        let layers = model.layers.iter().map(|run| run.period.iter().map(&mut layer).collect()).collect();
        let [opening, closing] = [&model.opening, &model.closing].map(|block| lower(block, registry));
        let is_own: Vec<_> =
            closing.weights.iter().map(|weight| !(model.is_tied && is_head(weight, registry))).collect();
        let own = closing.weights.iter().zip(&is_own).filter(|(_, is_own)| **is_own).map(|(weight, _)| weight);
        let mut updates = updates(&opening.weights.iter().chain(own).collect::<Vec<_>>(), registry);
        let mut own = updates.split_off(opening.weights.len()).into_iter();
        // A tied head's matrix has its turn with the embedding.
        let last = is_own.iter().map(|is_own| if *is_own { own.next() } else { None }.unwrap_or_default()).collect();
        registry.set_owner(Owner::Trained);
        registry.set_side(Side::Decoder);
        Self {
            opening: [Lowered { program: opening, updates }],
            layers,
            closing: [Lowered { program: closing, updates: last }],
        }
    }

    /// The weights of the first and the last block, a tied head's once.
    fn root(&self, model: &Model, registry: &Registry) -> Vec<&Weight> {
        let [first, last] = [&self.opening, &self.closing].map(|[lowered]| &lowered.program.weights);
        let own = last.iter().filter(|weight| !(model.is_tied && is_head(weight, registry)));
        first.iter().chain(own).collect()
    }

    /// The weights of the last layer, without those that are in units within.
    fn last_layer(&self, has_inner: bool) -> Option<Vec<&Weight>> {
        let layers = self.layers.iter().flatten();
        let own = |weight: &&Weight| !(has_inner && weight.added.is_some());
        layers.last().map(|lowered| lowered.program.weights.iter().filter(own).collect())
    }
}

/// The number of the token embedding's matrix; that of the first weight where there is none.
fn embedding(stages: &[Stage<'_>], registry: &Registry) -> usize {
    let mut all = weights(stages);
    let first = weights(stages).next().map_or(0, |(_, number)| number);
    all.find(|(weight, _)| is_embedding(weight, registry)).map_or(first, |(_, number)| number)
}

/// The weights of stages in order, with their numbers.
fn weights<'a>(stages: &'a [Stage<'a>]) -> impl Iterator<Item = (&'a Weight, usize)> {
    let instances = stages.iter().flat_map(|stage| &stage.instances);
    instances.flat_map(|instance| instance.program.weights.iter().zip(instance.weights.iter().copied()))
}

/// Whether a weight is the matrix of the token embedding, which stacks have in common.
fn is_embedding(weight: &Weight, registry: &Registry) -> bool {
    weight.values.iter().any(|&id| {
        let tensor = registry.tensor(id);
        (tensor.place, tensor.part) == (Place::TokenEmbedding, Part::Weight)
    })
}

/// Whether a weight is the matrix of the head.
pub fn is_head(weight: &Weight, registry: &Registry) -> bool {
    weight.values.iter().any(|&id| {
        let tensor = registry.tensor(id);
        (tensor.place, tensor.part) == (Place::Head, Part::Weight)
    })
}

/// What the device holds of each weight of the networks that engines divide.
fn held(networks: &[Played<'_>], plan: &Plan) -> Vec<Vec<HeldPart>> {
    networks.iter().take(plan.divided()).map(|network| held_of(network, plan)).collect()
}

/// The same of one of them.
fn held_of(Played { model, stages, .. }: &Played<'_>, plan: &Plan) -> Vec<HeldPart> {
    let of = |stage: &Stage<'_>| {
        let weights = stage.instances.iter().flat_map(|instance| &instance.program.weights).collect::<Vec<_>>();
        let held = plan.data_parallel.held(&weights, &model.widths);
        let held = held.iter().map(|weight| HeldPart {
            elements: weight.held.elements(weight.form, &model.widths),
            whole: weight.form.shape.elements(&model.widths),
            is_drawn: weight.sides.is_some() && weight.place != Place::TokenEmbedding,
            split: plan.tensor_parallel.map_or(Split::Alone, |parallel| parallel.split(weight)),
        });
        let held = held.collect::<Vec<_>>();
        held.repeat(stage.times as usize)
    };
    stages.iter().flat_map(of).collect()
}

/// All stages of a model by the number of its network, its weights numbered in order from the first one's number.
fn stages<'p>(
    model: &Model,
    plan: &Plan,
    programs: &'p Programs,
    registry: &mut Registry,
    depth: Depth,
    (number, first): (usize, usize),
) -> Vec<Stage<'p>> {
    let mut numbers = first..;
    let mut stage = |programs: &'p [Lowered], units: Vec<Unit>, modules: Vec<Vec<Unit>>, times| {
        let instance = |Lowered { program, .. }: &'p Lowered| Instance {
            program,
            weights: numbers.by_ref().take(program.weights.len()).collect(),
        };
        let updates = programs.iter().map(|lowered| lowered.updates.as_slice()).collect();
        Stage { instances: programs.iter().map(instance).collect(), updates, modules, units, times }
    };
    let is_apart = plan.data_parallel.has_units_apart();
    let mut before: Option<Vec<&Weight>> = None;
    let has_inner = plan.data_parallel.has_inner_units();
    // Units run in this order: those within a block, and then the block's.
    let mut units_of = |program: &'p Program, stays| {
        let inner = |module: &Module| has_inner && module.kind == ModuleKind::Adapter;
        let mut unit = |weights: Vec<&'p Weight>, is_inner| {
            let place = UnitPlace {
                weights: &weights,
                before: before.as_deref(),
                is_root: false,
                is_later: number > 0,
                stays,
                is_inner,
            };
            let unit = plan.data_parallel.unit(place, &model.widths, registry);
            before = Some(weights);
            unit
        };
        let mut modules = Vec::new();
        for module in program.modules.iter().filter(|_| has_inner) {
            let weights = || module.weights.iter().map(|&weight| &program.weights[weight]).collect();
            modules.push(if inner(module) { unit(weights(), true) } else { Unit::default() });
        }
        let own = program.weights.iter().filter(|weight| !(has_inner && weight.added.is_some()));
        (unit(own.collect(), false), modules)
    };
    // A part of a pipeline may begin or end without weights.
    let is_unit = |program: &Program| is_apart && !program.weights.is_empty();
    let [opening] = &programs.opening;
    let units = if is_unit(&opening.program) { vec![units_of(&opening.program, false).0] } else { Vec::new() };
    let mut all = vec![stage(&programs.opening, units, Vec::new(), 1)];
    for (run, programs) in model.layers.iter().zip(&programs.layers) {
        let members = match (depth, run.times) {
            (Depth::Folded, times @ 4..) => vec![1, times - 2, 1],
            (_, times) => vec![1; times as usize],
        };
        for times in members {
            let (units, modules) = programs.iter().map(|lowered| units_of(&lowered.program, false)).unzip();
            all.push(stage(programs, units, modules, times));
        }
    }
    let [closing] = &programs.closing;
    let units = if is_unit(&closing.program) { vec![units_of(&closing.program, true).0] } else { Vec::new() };
    all.push(stage(&programs.closing, units, Vec::new(), 1));
    // A tied head's matrix is the embedding's, and so is that of another stack's embedding.
    let embedding = embedding(&all, registry);
    let is_same = |weight: &Weight| model.is_tied && is_head(weight, registry) || is_embedding(weight, registry);
    for instance in all.iter_mut().flat_map(|stage| &mut stage.instances) {
        let weights = instance.program.weights.iter().zip(&mut instance.weights);
        weights.filter(|(weight, _)| is_same(weight)).for_each(|(_, number)| *number = embedding);
    }
    all
}

/// The weights of a block in its place.
pub fn owned<'p>(instance: &'p Instance<'p>, updates: &'p [Update]) -> impl Iterator<Item = Own<'p>> {
    let weights = instance.program.weights.iter().zip(updates).zip(&instance.weights);
    weights.map(|((weight, update), &number)| Own { weight, update, number })
}
