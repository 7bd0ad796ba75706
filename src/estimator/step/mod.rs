//! The order of a step: the model is built, micro-batches run forward and backward, the optimizer updates.

mod passes;
mod pipeline;
mod tape;

use std::collections::HashMap;

pub use tape::{Event, Moment};

use crate::estimator::engines::{
    Act, Batches, DataParallel, HeldPart, Hook, Name, Network, Piece, Plan, Round, Told, Unit, UnitPlace, Update, Zero,
};
use crate::estimator::models::{Block, Model};
use crate::estimator::operators::{
    Added, CUBLAS, CUBLASLT, Form, Owner, Part, Place, Program, Registry, Size, Tensor, TensorId, Types, Weight,
};
use crate::estimator::units::{DType, Shape, Widths};
use passes::Held;
use pipeline::Rank;
use tape::{Call, Instance, KeptWorkspace, Repeated, Storage, Tape};

/// Whether equal layers in a row are played in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Each of them.
    Whole,
    /// The first, the second for all between, and the last. The peak and who is alive then are the same.
    Folded,
}

impl Depth {
    /// How many micro-batches are played at most. The first makes the gradients and all others add to them, so that what
    /// the second does they all do.
    const fn micro_batches(self) -> u32 {
        match self {
            Self::Whole => 64,
            Self::Folded => 2,
        }
    }

    /// How many rounds of a loop over rows are played one by one at most.
    const fn rounds(self) -> u32 {
        match self {
            Self::Whole => 4096,
            Self::Folded => 1,
        }
    }
}

/// Which steps are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// One that finds the optimizer's state there.
    Steady,
    /// The first ones; the first of all makes that state.
    First(u32),
}

/// All events of a play.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Every tensor that events speak of.
    pub registry: Registry,
    /// What happened.
    pub events: Vec<Event>,
    /// How many storages there were.
    pub storages: usize,
}

/// Blocks in a row that come `times` times.
struct Stage<'p> {
    instances: Vec<Instance<'p>>,
    /// What the optimizer does with each weight of each of them.
    updates: Vec<&'p [Update]>,
    /// What the engine does with the weights of each of them. Where the first and the last block have none, they are one unit.
    units: Vec<Unit>,
    times: u32,
}

/// A block, lowered, with what the optimizer does with each of its weights.
struct Lowered {
    program: Program,
    updates: Vec<Update>,
}

/// The blocks of a network, lowered.
struct Programs {
    opening: [Lowered; 1],
    layers: Vec<Vec<Lowered>>,
    closing: [Lowered; 1],
}

/// A weight in its place.
#[derive(Clone, Copy)]
struct Own<'p> {
    weight: &'p Weight,
    update: &'p Update,
    number: usize,
}

/// A network as it is played.
struct Played<'p> {
    model: &'p Model,
    stages: Vec<Stage<'p>>,
    /// The number of its first weight, the token embedding's matrix.
    embedding: usize,
    /// Whether its weights are its own.
    is_own: bool,
    /// Whether the optimizer updates them.
    is_updated: bool,
}

/// A function between passes, lowered, and which arguments it takes over.
struct Function {
    program: Program,
    takes: Vec<bool>,
}

/// What is played: a training program, lowered.
#[derive(Clone, Copy)]
struct Score<'p> {
    plan: &'p Plan,
    depth: Depth,
    networks: &'p [Played<'p>],
    functions: &'p [(Instance<'p>, &'p Vec<bool>)],
    /// How many weights there are.
    count: usize,
    one: [TensorId; 2],
    norm: Option<passes::Norm>,
    /// What the training program does around the passes of a step.
    round: &'p Round,
}

/// Plays steps of a training program.
pub fn play(plan: &Plan, depth: Depth, steps: Steps) -> Trace {
    // Where gradients are copied in the last micro-batch alone, one in between is another than both the first and the last.
    let has_buckets = plan.data_parallel.has_buckets();
    let most = if has_buckets { depth.micro_batches().max(3) } else { depth.micro_batches() };
    let depth = if has_buckets { Depth::Whole } else { depth };
    let mut registry = Registry::default();
    let lowered: Vec<_> = plan.task.networks.iter().map(|network| Programs::of(network, plan, &mut registry)).collect();
    let root = plan.task.networks.first().zip(lowered.first());
    let whole = root.filter(|_| !plan.data_parallel.has_units_apart());
    let weights = whole.map(|(network, programs)| programs.root(&network.model, &registry)).unwrap_or_default();
    let before = root.and_then(|(_, programs)| programs.last_layer());
    let place = UnitPlace { weights: &weights, before: before.as_deref(), is_root: true, stays: false };
    let mut root = plan.data_parallel.unit(place, &plan.widths(), &mut registry);
    let (mut networks, mut count): (Vec<Played<'_>>, _) = (Vec::new(), 0);
    for (network, programs) in plan.task.networks.iter().zip(&lowered) {
        let shared = network.shared_with.and_then(|other| networks.get(other));
        let mut stages = stages(&network.model, plan, programs, &mut registry, depth, count);
        let embedding = shared.map_or(count, |other| other.embedding);
        let is_own = shared.is_none();
        if let Some(other) = shared {
            stages.iter_mut().zip(&other.stages).for_each(|(stage, other)| stage.share(other));
        } else {
            count += stages.iter().flat_map(|stage| &stage.instances).map(|one| one.weights.len()).sum::<usize>();
        }
        let Network { model, is_updated, .. } = network;
        networks.push(Played { model, stages, embedding, is_own, is_updated: *is_updated });
    }
    let mut functions = Vec::with_capacity(plan.task.functions.len());
    for block in &plan.task.functions {
        // A function is given tensors, whose types are its own; it has no weights.
        let types = Types { weights: DType::Single, loaded: DType::Single, buffers: DType::Single, autocast: None };
        let program = block.lower(&mut registry, types);
        functions.push(Function { takes: (0..program.slots).map(|place| block.takes(place)).collect(), program });
    }
    let functions: Vec<_> = functions
        .iter()
        .map(|function| (Instance { program: &function.program, weights: vec![] }, &function.takes))
        .collect();
    let source = "the training program";
    let mut own = |tensor| registry.id(tensor, source);
    let one = [DType::Half, DType::Single].map(|dtype| {
        let size = Size::Of(Form::new(dtype, Shape::ONE));
        own(Tensor { place: Place::Loss, part: Part::Gradient, size })
    });
    let libraries = [CUBLAS, CUBLASLT].map(|size| own(Tensor { place: Place::Libraries, part: Part::Workspace, size }));
    let batch: Vec<_> = plan.task.batch.iter().map(|&tensor| own(tensor)).collect();
    let left: Vec<_> = plan.task.left.iter().map(|&(local, tensor)| (local, own(tensor))).collect();
    let kept: Vec<_> = plan.task.kept.iter().map(|&tensor| own(tensor)).collect();
    let mut constants = Vec::with_capacity(plan.task.networks.len());
    for network in &plan.task.networks {
        registry.set_owner(network.owner);
        let own = |&tensor| registry.id(tensor, source);
        constants.push(network.model.constants.iter().map(own).collect::<Vec<_>>());
    }
    registry.set_owner(Owner::Trained);
    let norm = passes::norm(plan, &lowered, &mut registry);
    let cast = plan.data_parallel.buffers().zip(plan.task.networks.first()).map(|(dtype, network)| {
        let cast = network.model.constants.iter().map(|tensor| registry.id(tensor.with_dtype(dtype), source));
        cast.collect::<Vec<_>>()
    });
    let round = plan.round(|| held(&networks, plan), &mut registry);
    let score = Score { plan, depth, networks: &networks, functions: &functions, count, one, norm, round: &round };
    if let DataParallel::Ddp(ddp) = plan.data_parallel {
        // Its buckets follow the order in which the first backward pass makes gradients.
        let mut dry = Play::new(score, &root, Registry::default());
        dry.tape.stop_at_gradients();
        dry.load(&batch, 1);
        dry.micro_batch(0);
        let told = dry.told(constants.first().map(Vec::as_slice).unwrap_or_default(), &registry);
        root = ddp.unit(&told, &mut registry);
    }
    let mut rank = plan.pipeline.map(|pipeline| Rank::new(pipeline, plan, &mut registry));
    let mut play = Play::new(score, &root, registry);

    if play.gives_gradients_away() {
        play.tape.stop_at_gradients();
    }
    play.divide();
    play.tape.mark(Moment::Load);
    if round.builds_parts {
        play.tape.mark(Moment::Loaded);
        (0..play.divided().len()).for_each(|stage| play.each_unit_of(stage, Hook::Wrap));
        play.around(Hook::Build);
    } else {
        for (network, constants) in networks.iter().zip(&constants).filter(|(network, _)| network.is_own) {
            let buffers = play.build(network, constants);
            play.add_adapters(network);
            if play.buffers.is_empty() {
                play.buffers = buffers.into_iter().zip(cast.iter().flatten().copied()).collect();
            }
        }
        play.flatten();
        play.each_unit(Hook::Wrap);
        play.tape.mark(Moment::Loaded);
    }
    for &tensor in &kept {
        play.tape.allocate(tensor);
    }
    if plan.task.batches == Batches::Once {
        play.load(&batch, 1);
    }
    let is_steady = steps == Steps::Steady;
    if plan.keeps_workspaces {
        play.keep_workspaces(&libraries, is_steady);
    }
    if is_steady {
        play.begin();
        play.each_unit(Hook::SecondForward);
        play.forwards = 2;
        play.update(false, true);
        play.leave(&left);
    }
    let count = if let Steps::First(count) = steps { count } else { 1 };
    let micro_batches = plan.micro_batches.min(most);
    for step in 0..count {
        if plan.task.batches == Batches::EachStep {
            // All of a step come together.
            play.load(&batch, if depth == Depth::Whole { micro_batches } else { plan.micro_batches });
        }
        if round.builds_parts {
            play.zero_gradients();
        }
        play.is_new_step = true;
        play.around(Hook::BeginStep);
        plan.task.before.iter().for_each(|pass| play.pass(pass));
        match &mut rank {
            Some(rank) => rank.step(&mut play),
            None => (0..micro_batches).for_each(|number| {
                play.is_last = number + 1 == micro_batches;
                play.micro_batch(number);
            }),
        }
        plan.task.before_update.iter().for_each(|pass| play.pass(pass));
        play.tape.mark(Moment::Update);
        play.clip();
        play.update(is_steady || step > 0, false);
        play.around(Hook::EndStep);
        if step == 0 && !is_steady {
            play.around(Hook::Log);
        }
        play.around(Hook::Forget);
        if !round.builds_parts {
            play.zero_gradients();
        }
        plan.task.after.iter().for_each(|pass| play.pass(pass));
        play.tape.mark(Moment::End);
    }
    let Play { registry, tape, .. } = play;
    let (events, storages) = tape.finish();
    Trace { registry, events, storages }
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
    /// Every block of a network, with what the optimizer does with its weights as this device holds them.
    fn of(network: &Network, plan: &Plan, registry: &mut Registry) -> Self {
        let Network { model, types, owner, is_updated, .. } = network;
        registry.set_owner(*owner);
        let updates = |weights: &[&Weight], registry: &mut Registry| {
            let held = plan.data_parallel.held(weights, &model.widths);
            let none = || Update { passes: vec![Vec::new(); plan.optimizer.passes()] };
            let update = |weight| if *is_updated { plan.optimizer.update(weight, registry) } else { none() };
            held.iter().map(update).collect::<Vec<_>>()
        };
        let lower = |block: &Block, registry: &mut Registry| {
            let mut program = block.lower(registry, *types);
            plan.data_parallel.prepare(&mut program.weights, registry);
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

    /// The weights of the last layer.
    fn last_layer(&self) -> Option<Vec<&Weight>> {
        let layers = self.layers.iter().flatten();
        layers.last().map(|lowered| lowered.program.weights.iter().collect())
    }
}

/// Whether a weight is the matrix of the head.
fn is_head(weight: &Weight, registry: &Registry) -> bool {
    weight.values.iter().any(|&id| {
        let tensor = registry.tensor(id);
        (tensor.place, tensor.part) == (Place::Head, Part::Weight)
    })
}

/// What the device holds of each weight of the network that engines divide.
fn held(networks: &[Played<'_>], plan: &Plan) -> Vec<HeldPart> {
    let Some(Played { model, stages, .. }) = networks.first() else { return Vec::new() };
    let of = |stage: &Stage<'_>| {
        let weights = stage.instances.iter().flat_map(|instance| &instance.program.weights).collect::<Vec<_>>();
        let held = plan.data_parallel.held(&weights, &model.widths);
        let held = held.iter().map(|weight| HeldPart {
            elements: weight.held.elements(weight.form, &model.widths),
            whole: weight.form.shape.elements(&model.widths),
            is_matrix: weight.sides.is_some(),
        });
        let held = held.collect::<Vec<_>>();
        held.repeat(stage.times as usize)
    };
    stages.iter().flat_map(of).collect()
}

/// All stages of a model, its weights numbered in order.
fn stages<'p>(
    model: &Model,
    plan: &Plan,
    programs: &'p Programs,
    registry: &mut Registry,
    depth: Depth,
    first: usize,
) -> Vec<Stage<'p>> {
    let mut numbers = first..;
    let mut stage = |programs: &'p [Lowered], units: Vec<Unit>, times| {
        let instance = |Lowered { program, .. }: &'p Lowered| Instance {
            program,
            weights: numbers.by_ref().take(program.weights.len()).collect(),
        };
        let updates = programs.iter().map(|lowered| lowered.updates.as_slice()).collect();
        Stage { instances: programs.iter().map(instance).collect(), updates, units, times }
    };
    let is_apart = plan.data_parallel.has_units_apart();
    let mut before: Option<Vec<&Weight>> = None;
    let mut unit = |program: &'p Program, stays| {
        let weights: Vec<_> = program.weights.iter().collect();
        let place = UnitPlace { weights: &weights, before: before.as_deref(), is_root: false, stays };
        let unit = plan.data_parallel.unit(place, &model.widths, registry);
        before = Some(weights);
        unit
    };
    let [opening] = &programs.opening;
    let units = if is_apart { vec![unit(&opening.program, false)] } else { Vec::new() };
    let mut all = vec![stage(&programs.opening, units, 1)];
    for (run, programs) in model.layers.iter().zip(&programs.layers) {
        let members = match (depth, run.times) {
            (Depth::Folded, times @ 4..) => vec![1, times - 2, 1],
            (_, times) => vec![1; times as usize],
        };
        for times in members {
            let units = programs.iter().map(|lowered| unit(&lowered.program, false)).collect();
            all.push(stage(programs, units, times));
        }
    }
    let [closing] = &programs.closing;
    let units = if is_apart { vec![unit(&closing.program, true)] } else { Vec::new() };
    let mut last = stage(&programs.closing, units, 1);
    if model.is_tied {
        // The head's matrix is the embedding's, the first of all.
        let weights = programs.closing[0].program.weights.iter().zip(&mut last.instances[0].weights);
        weights.filter(|(weight, _)| is_head(weight, registry)).for_each(|(_, number)| *number = first);
    }
    all.push(last);
    all
}

/// The weights of a block in its place.
fn owned<'p>(instance: &'p Instance<'p>, updates: &'p [Update]) -> impl Iterator<Item = Own<'p>> {
    let weights = instance.program.weights.iter().zip(updates).zip(&instance.weights);
    weights.map(|((weight, update), &number)| Own { weight, update, number })
}

/// The number of the trained network's first weight, the token embedding's matrix.
const EMBEDDING: usize = 0;

/// A tensor as DDP is told of it.
fn piece(tensor: &Tensor, widths: &Widths) -> Piece {
    let dtype = if let Size::Of(form) = tensor.size { form.dtype } else { DType::Byte };
    Piece { bytes: tensor.size.bytes(widths), dtype }
}

/// What each name has.
type Names = [Vec<Storage>; Name::COUNT];

/// What they have at the beginning.
const NO_NAMES: Names = [const { Vec::new() }; Name::COUNT];

/// The unit of the engine on which acts are done: that of the whole model, or another by its stage and its place there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Root,
    Block(usize, usize),
}

/// Of what an act is.
#[derive(Clone, Copy)]
struct Of {
    /// The unit.
    scope: Scope,
    /// The number of the weight.
    number: usize,
    /// Whether the optimizer's states are there.
    has_states: bool,
}

/// A play under way.
struct Play<'p> {
    tape: Tape<'p>,
    plan: &'p Plan,
    depth: Depth,
    /// The networks, the one first that engines divide among devices.
    networks: &'p [Played<'p>],
    /// The functions between passes, and which arguments each takes over.
    functions: &'p [(Instance<'p>, &'p Vec<bool>)],
    /// What names of the training program have.
    locals: Vec<Held>,
    /// The tensors of the micro-batches that are there.
    batches: Vec<Vec<Storage>>,
    /// The gradient of a loss in 16 bits and in fp32.
    one: [TensorId; 2],
    norm: Option<passes::Norm>,
    /// What the engine does with the weights of the first and the last block.
    root: &'p Unit,
    /// What the training program does around the passes of a step.
    round: &'p Round,
    /// What names have that there are once.
    names: Names,
    /// What names have that each unit of each stage has.
    unit_names: Vec<Vec<Names>>,
    /// The same of the first and the last block.
    root_names: Names,
    /// DeepSpeed's optimizer, and what the one that it wraps does with each of the weights that it has in fp32.
    flat: Option<(Zero, Vec<Update>)>,
    /// Tensors by their numbers, of which an engine makes more as it goes.
    registry: Registry,
    /// Whether it is the last micro-batch of a step.
    is_last: bool,
    /// How often the network that engines divide has run forward.
    forwards: u64,
    /// Whether it has not yet in this step.
    is_new_step: bool,
    /// The buffers of that network which are cast before it first runs, and what they become.
    buffers: Vec<(Storage, TensorId)>,
    /// What is called for on the way back, by the number of the call.
    calls: Vec<(Scope, Hook)>,
    /// Weights in the order in which their gradients came in the last backward pass, where it stops for them.
    arrivals: Vec<usize>,
    /// Weights as the model's class made them, where an engine gives them back.
    whole: Vec<Vec<Repeated>>,
    /// What the optimizer holds until the end of a pass over all weights.
    listed: Vec<Repeated>,
    /// The state of each weight that every step makes anew.
    renewed: Vec<Option<Storage>>,
    /// The states of all weights that are there.
    shared: Vec<TensorId>,
}

impl<'p> Play<'p> {
    fn new(score: Score<'p>, root: &'p Unit, registry: Registry) -> Self {
        let Score { plan, depth, networks, functions, count, one, norm, round } = score;
        let units = networks.first().map(|network| network.stages.as_slice()).unwrap_or_default();
        Self {
            tape: Tape::new(count),
            registry,
            flat: None,
            is_last: true,
            plan,
            depth,
            networks,
            functions,
            locals: vec![Held::default(); plan.task.names],
            batches: Vec::new(),
            one,
            norm,
            root,
            round,
            forwards: 0,
            is_new_step: false,
            buffers: Vec::new(),
            calls: Vec::new(),
            arrivals: Vec::new(),
            names: NO_NAMES,
            unit_names: units.iter().map(|stage| vec![NO_NAMES; stage.units.len()]).collect(),
            root_names: NO_NAMES,
            whole: vec![Vec::new(); count],
            listed: Vec::new(),
            renewed: vec![None; count],
            shared: Vec::new(),
        }
    }

    /// What DDP is told of the trained network, when a backward pass was played.
    fn told(&mut self, constants: &[TensorId], registry: &Registry) -> Told {
        let networks = self.networks;
        let Some(network) = networks.first() else { return Told::default() };
        let piece = |tensor: TensorId| piece(registry.tensor(tensor), &network.model.widths);
        let mut of_number = vec![(0, None, None); self.whole.len()];
        for (stage, Stage { instances, .. }) in network.stages.iter().enumerate() {
            for instance in instances {
                for (weight, &number) in instance.program.weights.iter().zip(&instance.weights) {
                    let first = weight.values.first().copied().map(piece);
                    of_number[number] = (stage, first, Some(piece(weight.gradient)));
                }
            }
        }
        let buffers = constants.iter().copied().map(piece).collect();
        let mut declared = Vec::new();
        self.each_weight_of(network, |_, own| declared.push(own.number));
        // Numbers of one stage in a row come as often as its layers.
        let all = |numbers: &[usize]| {
            let same = numbers.chunk_by(|&one, &other| of_number[one].0 == of_number[other].0);
            let times = |same: &[usize]| network.stages[of_number[same[0]].0].times as usize;
            same.flat_map(|same| same.repeat(times(same))).collect::<Vec<_>>()
        };
        Told {
            weights: all(&declared).into_iter().filter_map(|number| of_number[number].1).collect(),
            buffers,
            gradients: all(&self.arrivals).into_iter().filter_map(|number| of_number[number].2).collect(),
        }
    }

    /// Engines take their last turn before the first forward pass of all: buffers get another type, and units their own.
    fn begin(&mut self) {
        for (buffer, cast) in std::mem::take(&mut self.buffers) {
            self.tape.allocate(cast);
            self.tape.release(buffer);
        }
        self.each_unit(Hook::FirstForward);
    }

    /// What engines do before a forward pass of the trained network.
    fn before_forward(&mut self) {
        match self.forwards {
            0 => self.begin(),
            1 => self.each_unit(Hook::SecondForward),
            _ => {}
        }
        self.forwards += 1;
        if std::mem::take(&mut self.is_new_step) {
            self.each_unit(Hook::BeforeStep);
        }
        self.hook(Scope::Root, Hook::BeforeForward);
    }

    /// Goes through the weights that the optimizer updates.
    fn each_weight(&mut self, mut visit: impl FnMut(&mut Self, Own<'p>)) {
        let networks = self.networks;
        for network in networks.iter().filter(|network| network.is_updated) {
            self.each_weight_of(network, &mut visit);
        }
    }

    /// Goes through the weights of every block of a network, as its class declares them, each once.
    fn each_weight_of(&mut self, network: &'p Played<'p>, mut visit: impl FnMut(&mut Self, Own<'p>)) {
        let is_tied = network.model.is_tied;
        let mut has_begun = false;
        self.each_declared(network, |play, own| {
            if !(is_tied && own.number == network.embedding && has_begun) {
                visit(play, own);
            }
            has_begun = true;
        });
    }

    /// The same with a tied head's matrix a second time.
    fn each_declared(&mut self, network: &'p Played<'p>, mut visit: impl FnMut(&mut Self, Own<'p>)) {
        let stages = network.stages.as_slice();
        let [before @ .., Stage { instances: last, updates: last_updates, .. }] = stages else { return };
        // The closing block's weights are those of a norm, and then the head's matrix.
        let norm = last.iter().map(|last| last.weights.len().saturating_sub(1)).sum::<usize>();
        let (first, rest) = if network.model.declares_norm_first { (norm, norm) } else { (0, 0) };
        for (place, Stage { instances, updates, times, .. }) in stages.iter().enumerate() {
            let skipped = if place == before.len() { rest } else { 0 };
            if *times > 1 {
                self.tape.begin_repeat(*times);
            }
            for (instance, updates) in instances.iter().zip(updates) {
                owned(instance, updates).skip(skipped).for_each(|own| visit(self, own));
            }
            if place == 0 {
                for (instance, updates) in last.iter().zip(last_updates) {
                    owned(instance, updates).take(first).for_each(|own| visit(self, own));
                }
            }
            if *times > 1 {
                self.tape.end_repeat();
            }
        }
    }

    /// Has threads keep the workspaces of libraries. In a steady step they have taken those that they ever take.
    fn keep_workspaces(&mut self, libraries: &[TensorId], is_steady: bool) {
        let networks = self.networks;
        let stages = networks.iter().flat_map(|network| &network.stages);
        let mut instances = stages.flat_map(|stage| &stage.instances);
        let has_checkpoints = instances.any(|instance| instance.program.checkpoint.is_some());
        let kept = libraries.iter().map(|&tensor| {
            let kernels = || {
                let stages = networks.iter().flat_map(|network| &network.stages);
                let instances = stages.flat_map(|stage| &stage.instances);
                instances.flat_map(|instance| &instance.program.kernels)
            };
            let takes = |is_backward| kernels().any(|kernel| kernel.takes_briefly(tensor, is_backward));
            // The backward pass runs layers forward again where there are checkpoints.
            let taken = [takes(false), takes(true) || has_checkpoints && takes(false)];
            KeptWorkspace { tensor, taken: if is_steady { taken } else { [false; 2] } }
        });
        let kept = kept.collect();
        self.tape.keep_workspaces(kept);
    }

    /// The model's class makes its weights. A head that is tied later is made as well, and goes. Then matrices are packed one
    /// after another, and what they were made of goes when all are; then what is to have another type is cast. Its
    /// buffers are what is put out.
    fn build(&mut self, network: &'p Played<'p>, constants: &[TensorId]) -> Vec<Storage> {
        let (mut plain, mut tied_head) = (vec![Vec::new(); self.renewed.len()], Vec::new());
        let mut has_begun = false;
        self.each_declared(network, |play, Own { weight, number, .. }| {
            if weight.added.is_some() {
                return;
            }
            let tensors = weight.made.map_or(weight.values.clone(), |made| vec![made]);
            let storages = tensors.into_iter().map(|tensor| {
                let storage = play.tape.allocate(tensor);
                play.tape.repeated(storage)
            });
            let storages: Vec<_> = storages.collect();
            if number == network.embedding && has_begun {
                tied_head = storages;
            } else if play.is_sharded() {
                play.whole[number] = storages;
            } else if weight.made.is_some() {
                plain[number] = storages;
            }
            has_begun = true;
        });
        let buffers = constants.iter().map(|&constant| self.tape.allocate(constant)).collect();
        self.tape.release_all(&tied_head);
        let mut packed = Vec::new();
        self.each_weight_of(network, |play, Own { weight, number, .. }| {
            if !weight.packing.is_empty() {
                play.tape.make(&weight.packing);
                packed.append(&mut plain[number]);
            }
        });
        self.tape.release_all(&packed);
        self.each_weight_of(network, |play, Own { weight, number, .. }| {
            if !plain[number].is_empty() {
                weight.values.iter().for_each(|&tensor| {
                    play.tape.allocate(tensor);
                });
                play.tape.release_all(&plain[number]);
            }
        });
        buffers
    }

    /// peft makes adapters in the type of the layer, those of parameters last, and then brings them to their own type one by one.
    fn add_adapters(&mut self, network: &'p Played<'p>) {
        let mut made = HashMap::new();
        for added in [Added::ToLayer, Added::ToParameter] {
            self.each_declared(network, |play, Own { weight, number, .. }| {
                if weight.added == Some(added) {
                    let tensors = weight.made.map_or(weight.values.clone(), |made| vec![made]);
                    for tensor in tensors {
                        let storage = play.tape.allocate(tensor);
                        made.insert(number, storage);
                        if play.is_sharded() && weight.made.is_none() {
                            play.whole[number] = vec![play.tape.repeated(storage)];
                        }
                    }
                }
            });
        }
        self.each_declared(network, |play, Own { weight, number, .. }| {
            if let (Some(&before), Some(_)) = (made.get(&number), weight.made) {
                weight.values.iter().for_each(|&tensor| {
                    play.tape.allocate(tensor);
                });
                play.tape.release(before);
            }
        });
    }

    /// The stages of the network that engines divide among devices.
    fn divided(&self) -> &'p [Stage<'p>] {
        self.networks.first().map(|network| network.stages.as_slice()).unwrap_or_default()
    }

    /// Divides what is trained among devices, where the engine has it in flat tensors.
    fn divide(&mut self) {
        let DataParallel::DeepSpeed(deepspeed) = self.plan.data_parallel else { return };
        let mut trained = Vec::new();
        let widths = self.plan.widths();
        self.each_weight(|_, Own { weight, number, .. }| {
            if weight.is_trained {
                trained.push((number, weight.form.shape.elements(&widths)));
            }
        });
        let zero = Zero::new(deepspeed, trained);
        let masters = zero.masters(&mut self.registry);
        let updates = masters.iter().map(|master| self.plan.optimizer.update(master, &mut self.registry)).collect();
        self.flat = Some((zero, updates));
    }

    /// The engine puts what is trained into a flat tensor.
    fn flatten(&mut self) {
        let Some((zero, updates)) = self.flat.take() else { return };
        let acts = zero.wrap(&mut self.registry);
        self.tape.stop_at_gradients();
        self.acts(&acts, false);
        if zero.has_states() {
            self.update_masters(&updates, false, true);
            self.acts(&[Act::Drop(Name::Single)], true);
        }
        self.flat = Some((zero, updates));
    }

    /// The optimizer goes through the weights that an engine has in fp32.
    fn update_masters(&mut self, updates: &[Update], has_states: bool, only_states: bool) {
        for pass in 0..self.plan.optimizer.passes() {
            for update in updates {
                let acts = update.passes[pass].iter().copied().filter(|act| !only_states || act.is_state());
                self.acts(&acts.collect::<Vec<_>>(), has_states);
            }
            self.acts(&[Act::Drop(Name::Root), Act::Drop(Name::Denominator)], has_states);
            self.tape.release_all(&std::mem::take(&mut self.listed));
        }
    }

    fn acts(&mut self, acts: &[Act], has_states: bool) {
        acts.iter().for_each(|&act| self.act(act, Of { scope: Scope::Root, number: EMBEDDING, has_states }));
    }

    /// The step of an engine that has weights and gradients in flat tensors.
    fn update_flat(&mut self, has_states: bool, only_states: bool) {
        let Some((mut zero, updates)) = self.flat.take() else { return };
        let has_states = has_states || zero.has_states();
        let registry = &mut self.registry;
        let acts = if only_states { zero.state(registry) } else { zero.before_update(registry) };
        self.acts(&acts, has_states);
        self.update_masters(&updates, has_states, only_states);
        if !only_states {
            self.acts(&zero.after_update(), has_states);
        }
        self.flat = Some((zero, updates));
    }

    /// Whether gradients are copied into buckets that take their place, and go.
    fn gives_gradients_away(&self) -> bool {
        matches!(self.plan.data_parallel, DataParallel::Ddp(ddp) if ddp.has_views)
    }

    /// The engine's part when the gradient of a weight is complete.
    fn reduce(&mut self, number: usize) {
        self.arrivals.push(number);
        if self.gives_gradients_away() {
            self.tape.zero_gradient(number);
        }
        if let Some((zero, _)) = &mut self.flat {
            let acts = zero.gradient(number, self.is_last, &mut self.registry);
            self.acts(&acts, false);
        }
    }

    /// The engine's part when the backward pass is over.
    fn end_reduction(&mut self) {
        if let Some((zero, _)) = &mut self.flat {
            let acts = zero.after_backward(self.is_last, &mut self.registry);
            self.acts(&acts, false);
        }
    }

    /// Whether an engine gives whole weights back.
    fn is_sharded(&self) -> bool {
        self.plan.data_parallel.is_sharded()
    }

    /// The engine's part at a hook of every unit, in the order of that hook.
    fn each_unit(&mut self, hook: Hook) {
        if hook.is_root_first() {
            self.hook(Scope::Root, hook);
        }
        let last = self.divided().len().saturating_sub(1);
        (1..last).chain([0, last]).for_each(|stage| self.each_unit_of(stage, hook));
        if !hook.is_root_first() {
            self.hook(Scope::Root, hook);
        }
    }

    /// The same of every unit of a stage.
    fn each_unit_of(&mut self, stage: usize, hook: Hook) {
        let Some(Stage { units, times, .. }) = self.divided().get(stage) else { return };
        if units.iter().all(|unit| unit.at(hook).is_empty()) {
            return;
        }
        if *times > 1 {
            self.tape.begin_repeat(*times);
        }
        (0..units.len()).for_each(|place| self.hook(Scope::Block(stage, place), hook));
        if *times > 1 {
            self.tape.end_repeat();
        }
    }

    /// The gradients of all weights go.
    fn zero_gradients(&mut self) {
        self.each_weight(|play, own| play.tape.zero_gradient(own.number));
        self.each_unit(Hook::ZeroGradients);
    }

    /// What the training program does around the passes of a step.
    fn around(&mut self, hook: Hook) {
        let round = self.round;
        self.acts(round.unit.at(hook), false);
    }

    /// The training program clips gradients by the norm of all.
    fn clip(&mut self) {
        let Some(norm) = self.round.norm else { return };
        self.around(Hook::Norms);
        self.each_weight(|play, own| {
            play.act(Act::Listed(norm), Of { scope: Scope::Root, number: own.number, has_states: false });
        });
        self.around(Hook::Norm);
        self.tape.release_all(&std::mem::take(&mut self.listed));
        self.around(Hook::Clip);
    }

    /// The engine's part at a hook of a unit.
    fn hook(&mut self, scope: Scope, hook: Hook) {
        let unit = match scope {
            Scope::Root => self.root,
            Scope::Block(stage, place) => &self.divided()[stage].units[place],
        };
        unit.at(hook).iter().for_each(|&act| self.act(act, Of { scope, number: EMBEDDING, has_states: false }));
    }

    /// Has a hook of a unit happen when the backward pass comes by here.
    fn hook_on_the_way_back(&mut self, scope: Scope, hook: Hook) {
        if self.is_sharded() {
            self.tape.call_on_the_way_back(Call(self.calls.len()));
            self.calls.push((scope, hook));
        }
    }

    /// The weights of a unit by their numbers.
    fn numbers(&self, scope: Scope) -> Vec<usize> {
        let of = |instance: &Instance<'_>| instance.weights.clone();
        match scope {
            Scope::Block(stage, place) => of(&self.divided()[stage].instances[place]),
            Scope::Root => {
                let without_unit = self.divided().iter().filter(|stage| stage.units.is_empty());
                without_unit.flat_map(|stage| stage.instances.iter().flat_map(of)).collect()
            }
        }
    }

    /// Begins what comes `times` times, and comes back as often where a graph is kept.
    fn begin_repeat(&mut self, times: u32, comes_back: bool) {
        if times > 1 {
            if comes_back {
                self.tape.on_the_way_back(Event::Again);
            }
            self.tape.begin_repeat(times);
        }
    }

    /// Ends it.
    fn end_repeat(&mut self, times: u32, comes_back: bool) {
        if times > 1 {
            self.tape.end_repeat();
            if comes_back {
                self.tape.on_the_way_back(Event::Repeat(times));
            }
        }
    }

    /// The optimizer goes through the weights, as often as it does. Without states it makes them; `only_states` leaves
    /// out the rest.
    fn update(&mut self, has_states: bool, only_states: bool) {
        if self.flat.is_some() {
            return self.update_flat(has_states, only_states);
        }
        let groups = if self.plan.task.has_groups { &[Some(true), Some(false)][..] } else { &[None] };
        let passes = 0..self.plan.optimizer.passes();
        for (group, pass) in groups.iter().flat_map(|&group| passes.clone().map(move |pass| (group, pass))) {
            self.each_weight(|play, own| {
                if group.is_some_and(|is_matrix| own.weight.sides.is_some() != is_matrix) {
                    return;
                }
                own.update.passes[pass].iter().for_each(|&act| match act {
                    _ if only_states && !act.is_state() => {}
                    _ => play.act(act, Of { scope: Scope::Root, number: own.number, has_states }),
                });
            });
            let names = self.names[..Name::OF_UPDATE].iter_mut().flat_map(std::mem::take).collect::<Vec<_>>();
            names.into_iter().for_each(|storage| self.tape.release(storage));
            self.tape.release_all(&std::mem::take(&mut self.listed));
        }
    }

    /// What a name has.
    fn named(&mut self, name: Name, scope: Scope) -> &mut Vec<Storage> {
        let names = match scope {
            _ if !name.is_of_unit() => &mut self.names,
            Scope::Root => &mut self.root_names,
            Scope::Block(stage, place) => &mut self.unit_names[stage][place],
        };
        &mut names[name as usize]
    }

    /// Gives a name other tensors; what it had goes.
    fn name(&mut self, name: Name, scope: Scope, storages: Vec<Storage>) {
        let before = std::mem::replace(self.named(name, scope), storages);
        before.into_iter().for_each(|storage| self.tape.release(storage));
    }

    fn act(&mut self, act: Act, of: Of) {
        let Of { scope, number, has_states } = of;
        match act {
            Act::State(_) | Act::Shared(_) if has_states => {}
            Act::Shared(tensor) if self.shared.contains(&tensor) => {}
            Act::State(tensor) => {
                self.tape.allocate(tensor);
            }
            Act::Shared(tensor) => {
                self.shared.push(tensor);
                self.tape.allocate(tensor);
            }
            Act::Renewed(tensor) => {
                let before = self.renewed[number].replace(self.tape.allocate(tensor));
                before.into_iter().for_each(|storage| self.tape.release(storage));
            }
            Act::Name(name, tensor) => {
                let storage = self.tape.allocate(tensor);
                self.name(name, scope, vec![storage]);
            }
            Act::More(name, tensor) => {
                let storage = self.tape.allocate(tensor);
                self.named(name, scope).push(storage);
            }
            Act::Same(name, other) => {
                let same = self.named(other, scope).clone();
                same.iter().for_each(|&storage| {
                    self.tape.retain(storage);
                });
                self.name(name, scope, same);
            }
            Act::Move(name, other) => {
                let moved = std::mem::take(self.named(other, scope));
                self.name(name, scope, moved);
            }
            Act::Offer(name, other) => {
                let more = std::mem::take(self.named(other, scope));
                if self.named(name, scope).is_empty() {
                    *self.named(name, scope) = more;
                } else {
                    more.into_iter().for_each(|storage| self.tape.release(storage));
                }
            }
            Act::Drop(name) => self.name(name, scope, Vec::new()),
            Act::KeepLast(name) => {
                let last = self.named(name, scope).pop();
                self.name(name, scope, last.into_iter().collect());
            }
            Act::Brief(tensor) => self.tape.brief(tensor),
            Act::Listed(tensor) => {
                let storage = self.tape.allocate(tensor);
                self.listed.push(self.tape.repeated(storage));
            }
            Act::DropGradients => {
                self.numbers(scope).into_iter().rev().for_each(|number| self.tape.zero_gradient(number));
            }
            Act::DropWhole => {
                for number in self.numbers(scope) {
                    self.act(Act::DropWholeOf(number), of);
                }
            }
            Act::DropWholeOf(number) => {
                let whole = std::mem::take(&mut self.whole[number]);
                self.tape.release_all(&whole);
            }
            Act::DropGradient(number) => self.tape.zero_gradient(number),
            Act::Workspace(tensor) => self.tape.take_workspace(tensor),
            Act::EndWorkspace(before) => self.tape.drop_workspace(before),
        }
    }
}

impl Trace {
    /// Where the last step begins among the events.
    pub fn last_step(&self) -> usize {
        let ends = |event: &Event| *event == Event::Mark(Moment::End);
        let last = self.events.iter().rposition(ends).unwrap_or(self.events.len());
        let before = self.events[..last].iter().rposition(ends);
        before.or_else(|| self.events.iter().position(|event| *event == Event::Mark(Moment::Forward))).unwrap_or(0)
    }
}
