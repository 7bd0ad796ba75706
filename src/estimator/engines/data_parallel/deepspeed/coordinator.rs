//! Who gathers and releases weights in ZeRO stage 3, module by module (`PartitionedParameterCoordinator` in
//! runtime/zero/partitioned_param_coordinator.py, `DeepSpeedZeRoOffload` in runtime/zero/parameter_offload.py, and the gathers
//! of runtime/zero/partition_parameters.py, deepspeed 0.19.8).
//!
//! The first forward and backward pass of all records the order of modules. From the second on weights are gathered ahead in
//! that order, and are kept where they come again soon.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::SOURCE;
use crate::estimator::engines::acts::{Act, ModuleHook};
use crate::estimator::operators::{Part, Place, Registry, Size, Tensor, TensorId};

/// Elements that are gathered ahead at most (`stage3_prefetch_bucket_size`).
const AHEAD: i64 = 50_000_000;

/// Elements that may be there (`stage3_max_live_parameters`).
const LIVE: i64 = 1_000_000_000;

/// Elements of other weights within which one that comes again stays (`stage3_max_reuse_distance`).
const REUSED: u64 = 1_000_000_000;

/// Elements up to which a weight stays from step to step (`stage3_param_persistence_threshold`).
const PERSISTENT: u64 = 100_000;

/// A weight of the model.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its number.
    pub number: usize,
    /// The place in the model where it stands.
    pub place: Place,
    /// Its elements.
    pub elements: u64,
    /// Whether it is trained.
    pub is_trained: bool,
}

/// Whether a weight is there (`ZeroParamStatus`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Gone,
    OnTheWay,
    There,
}

/// What the coordinator knows of a weight.
#[derive(Clone, Debug)]
struct State {
    status: Status,
    /// The gather that nobody has waited for on its behalf.
    gather: Option<usize>,
    /// Modules that use it.
    users: BTreeSet<usize>,
    /// The last step for which it is there or on the way.
    fetched_for: Option<usize>,
}

/// Weights that are gathered at once.
#[derive(Clone, Debug)]
struct Gather {
    /// The weights; of several each is copied out of what was gathered.
    weights: Vec<usize>,
    /// How many of them still wait.
    waiting: usize,
    is_done: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Nothing is known (`INVALID`).
    Unknown,
    Recording,
    Known,
}

/// The coordinator of a model's weights.
#[derive(Clone, Debug)]
pub struct Coordinator {
    devices: u64,
    parameters: Vec<Parameter>,
    /// The place of each weight among them, by its number.
    places: HashMap<usize, usize>,
    states: Vec<State>,
    /// The weights of each module.
    modules: Vec<Vec<usize>>,
    mode: Mode,
    /// Modules in the order in which they come, forward and backward.
    order: Vec<usize>,
    /// Weights in that order, each with its step.
    weights_in_order: Vec<(usize, usize)>,
    queue: VecDeque<(usize, usize)>,
    step: usize,
    /// Elements that were gathered and not released; those that were gathered outside of `fetch` are not counted, but released.
    live: i64,
    /// The weights that a module releases at a step, by both.
    released: HashMap<(usize, usize), BTreeSet<usize>>,
    gathers: Vec<Gather>,
    /// Modules that run backward.
    in_backward: Vec<usize>,
    /// Frozen weights that a recomputation has gathered for a module that runs backward.
    recomputed: HashMap<usize, BTreeSet<usize>>,
}

impl Coordinator {
    /// A coordinator of weights in the order of the modules that have them, and of modules.
    pub fn new(devices: u64, parameters: Vec<Parameter>, modules: &[Vec<usize>]) -> Self {
        let places: HashMap<_, _> =
            parameters.iter().enumerate().map(|(place, parameter)| (parameter.number, place)).collect();
        let own = |numbers: &Vec<usize>| numbers.iter().filter_map(|number| places.get(number).copied()).collect();
        let state = State { status: Status::Gone, gather: None, users: BTreeSet::new(), fetched_for: None };
        Self {
            devices,
            states: vec![state; parameters.len()],
            modules: modules.iter().map(own).collect(),
            parameters,
            places,
            mode: Mode::Unknown,
            order: Vec::new(),
            weights_in_order: Vec::new(),
            queue: VecDeque::new(),
            step: 0,
            live: 0,
            released: HashMap::new(),
            gathers: Vec::new(),
            in_backward: Vec::new(),
            recomputed: HashMap::new(),
        }
    }

    /// The weights, in the order of the modules that have them.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The place of a weight among them, by its number.
    pub fn place(&self, number: usize) -> Option<usize> {
        self.places.get(&number).copied()
    }

    /// Elements of each device's part of a weight.
    pub fn part(&self, place: usize) -> u64 {
        self.parameters.get(place).map_or(0, |parameter| parameter.elements.div_ceil(self.devices.max(1)))
    }

    fn is_persistent(&self, place: usize) -> bool {
        self.parameters[place].elements <= PERSISTENT
    }

    /// A tensor of a weight, of so many elements of 16 bits.
    fn id(&self, place: usize, part: Part, elements: u64, registry: &mut Registry) -> TensorId {
        let size = Size::Bytes(elements.saturating_mul(2));
        registry.id(Tensor { place: self.parameters[place].place, part, size }, SOURCE)
    }

    /// A weight of its own tensor, padded to a multiple of the devices.
    pub fn whole(&self, place: usize, part: Part, registry: &mut Registry) -> TensorId {
        self.id(place, part, self.part(place).saturating_mul(self.devices), registry)
    }

    /// `reset_step`: a forward pass begins.
    pub fn begin_forward(&mut self, registry: &mut Registry) -> Vec<Act> {
        let mut acts = Vec::new();
        for place in 0..self.states.len() {
            if self.states[place].gather.is_some() {
                self.wait(place, &mut acts, registry);
                self.release(place, &mut acts);
            }
        }
        self.mode = match self.mode {
            Mode::Unknown => Mode::Recording,
            Mode::Recording => {
                let steps = self.order.iter().enumerate();
                let of_step = |(step, &module): (usize, &usize)| {
                    let own: BTreeSet<_> = self.modules[module].iter().copied().collect();
                    own.into_iter().map(move |place| (place, step))
                };
                self.weights_in_order = steps.flat_map(of_step).collect();
                Mode::Known
            }
            Mode::Known => Mode::Known,
        };
        self.queue = self.weights_in_order.iter().copied().collect();
        self.states.iter_mut().for_each(|state| state.fetched_for = None);
        (self.step, self.live) = (0, 0);
        acts
    }

    /// The acts of a module's hook.
    pub fn module(&mut self, module: usize, hook: ModuleHook, registry: &mut Registry) -> Vec<Act> {
        let mut acts = Vec::new();
        if module >= self.modules.len() {
            return acts;
        }
        match hook {
            ModuleHook::BeforeForward { again } => {
                self.record(module);
                self.fetch(module, again, &mut acts, registry);
            }
            ModuleHook::AfterForward { .. } => self.release_module(module, true, &mut acts),
            ModuleHook::BeforeBackward => {
                self.record(module);
                if !self.in_backward.contains(&module) {
                    self.in_backward.push(module);
                }
                self.fetch(module, false, &mut acts, registry);
            }
            ModuleHook::AfterBackward => self.release_module(module, false, &mut acts),
            ModuleHook::Reads(other) => self.read(module, other, &mut acts, registry),
        }
        acts
    }

    /// `ZeROOrderedDict.__getitem__`: a weight of another module that is not there is gathered, and is the module's own from then
    /// on.
    fn read(&mut self, module: usize, other: usize, acts: &mut Vec<Act>, registry: &mut Registry) {
        for place in self.modules.get(other).cloned().unwrap_or_default() {
            if self.states[place].status == Status::Gone {
                if !self.modules[module].contains(&place) {
                    self.modules[module].push(place);
                }
                acts.push(self.gather_alone(place, registry));
            }
        }
    }

    /// A weight is gathered while everything waits, on the stream of the model.
    fn gather_alone(&mut self, place: usize, registry: &mut Registry) -> Act {
        self.states[place].status = Status::There;
        Act::Value(self.parameters[place].number, self.whole(place, Part::GatheredWeight, registry))
    }

    fn record(&mut self, module: usize) {
        if self.mode == Mode::Recording {
            self.order.push(module);
        }
    }

    /// `_fetch_sub_module_impl`.
    fn fetch(&mut self, module: usize, again: bool, acts: &mut Vec<Act>, registry: &mut Registry) {
        let own: BTreeSet<usize> = self.modules[module].iter().copied().collect();
        self.gather(&own, acts, registry);
        let owner = self.in_backward.last().copied().filter(|_| again);
        for &place in &own {
            self.states[place].users.insert(module);
            if let Some(owner) = owner
                && !self.parameters[place].is_trained
            {
                self.recomputed.entry(owner).or_default().insert(place);
                self.states[place].users.insert(owner);
            }
            self.wait(place, acts, registry);
        }
        if self.mode == Mode::Known {
            self.gather_ahead(&own, acts, registry);
        }
        self.step += 1;
    }

    /// Gathers ahead the weights that come next in the recorded order.
    fn gather_ahead(&mut self, own: &BTreeSet<usize>, acts: &mut Vec<Act>, registry: &mut Registry) {
        let is_new = |place: &&usize| self.states[**place].fetched_for.is_none_or(|step| step < self.step);
        let count = own.iter().filter(is_new).count();
        let mut passed = BTreeSet::new();
        while passed.len() < count
            && let Some((place, step)) = self.queue.pop_front()
        {
            self.states[place].fetched_for = Some(step);
            passed.insert(place);
        }
        let most = LIVE.saturating_sub(self.live).clamp(0, AHEAD) as u64;
        let (mut ahead, mut elements) = (BTreeSet::new(), 0_u64);
        while elements < most
            && let Some((place, step)) = self.queue.pop_front()
        {
            let state = &mut self.states[place];
            state.fetched_for = state.fetched_for.max(Some(step));
            if state.status == Status::Gone && ahead.insert(place) {
                elements = elements.saturating_add(self.parameters[place].elements);
            }
        }
        self.gather(&ahead, acts, registry);
    }

    /// `all_gather_coalesced`: a single weight gets a tensor of its own at once; several are gathered into one.
    fn gather(&mut self, weights: &BTreeSet<usize>, acts: &mut Vec<Act>, registry: &mut Registry) {
        let gone = weights.iter().copied().filter(|&place| self.states[place].status == Status::Gone);
        let gone: Vec<_> = gone.collect();
        let elements = gone.iter().map(|&place| self.parameters[place].elements).fold(0, u64::saturating_add);
        self.live = self.live.saturating_add_unsigned(elements);
        let number = self.gathers.len();
        match *gone {
            [] => return,
            [one] => {
                let tensor = self.whole(one, Part::AllGatherOutput, registry);
                acts.push(Act::Value(self.parameters[one].number, tensor));
            }
            _ => {
                let parts = gone.iter().map(|&place| self.part(place)).fold(0, u64::saturating_add);
                let size = Size::Bytes(parts.saturating_mul(self.devices).saturating_mul(2));
                let tensor = Tensor { place: Place::Unit, part: Part::AllGatherOutput, size };
                acts.push(Act::Numbered(number, registry.id(tensor, SOURCE)));
            }
        }
        for &place in &gone {
            (self.states[place].status, self.states[place].gather) = (Status::OnTheWay, Some(number));
        }
        self.gathers.push(Gather { waiting: gone.len(), weights: gone, is_done: false });
    }

    /// `AllGatherCoalescedHandle.wait`: who waits first copies all weights out. What was gathered goes when all have waited.
    fn wait(&mut self, place: usize, acts: &mut Vec<Act>, registry: &mut Registry) {
        let Some(number) = self.states[place].gather.take() else { return };
        let is_one = self.gathers[number].weights.len() == 1;
        if !std::mem::replace(&mut self.gathers[number].is_done, true) {
            for place in self.gathers[number].weights.clone() {
                if !is_one {
                    let Parameter { number, elements, .. } = self.parameters[place];
                    acts.push(Act::Value(number, self.id(place, Part::AllGatherOutput, elements, registry)));
                }
                self.states[place].status = Status::There;
            }
        }
        let gather = &mut self.gathers[number];
        gather.waiting = gather.waiting.saturating_sub(1);
        if gather.waiting == 0 && !is_one {
            acts.push(Act::DropNumbered(number));
        }
    }

    /// `release_sub_module`.
    fn release_module(&mut self, module: usize, is_forward: bool, acts: &mut Vec<Act>) {
        let mut going = self.going(module);
        let mut own: BTreeSet<usize> = self.modules[module].iter().copied().collect();
        if !is_forward {
            let recomputed = self.recomputed.remove(&module).unwrap_or_default();
            going.extend(recomputed.iter().copied().filter(|&place| !self.is_persistent(place)));
            own.extend(recomputed);
            self.in_backward.retain(|other| *other != module);
            if self.mode == Mode::Known {
                // The set that is remembered is the one that grows.
                self.released.insert((module, self.step), going.clone());
            }
        }
        for place in own {
            self.states[place].users.remove(&module);
            if going.contains(&place) {
                self.release(place, acts);
            }
        }
    }

    /// `__params_to_release`, which is computed once for a step.
    fn going(&mut self, module: usize) -> BTreeSet<usize> {
        let own = &self.modules[module];
        if self.mode != Mode::Known {
            return own.iter().copied().collect();
        }
        if let Some(known) = self.released.get(&(module, self.step)) {
            return known.clone();
        }
        let is_skipped = |place: usize| self.states[place].fetched_for.is_some_and(|step| step > self.step);
        let going = own.iter().copied().filter(|&place| !self.is_persistent(place) && !is_skipped(place));
        let mut going: BTreeSet<usize> = going.collect();
        let mut passed = 0_u64;
        for &other in self.order.get(self.step..).unwrap_or_default() {
            if passed >= REUSED {
                break;
            }
            for &place in &self.modules[other] {
                going.remove(&place);
                passed = passed.saturating_add(self.parameters[place].elements);
            }
        }
        self.released.insert((module, self.step), going.clone());
        going
    }

    fn release(&mut self, place: usize, acts: &mut Vec<Act>) {
        let state = &mut self.states[place];
        if state.status == Status::There && state.users.is_empty() {
            state.status = Status::Gone;
            acts.push(Act::DropValue(self.parameters[place].number));
            self.live = self.live.saturating_sub_unsigned(self.parameters[place].elements);
        }
    }

    /// `release_backward_leftovers`: a backward pass is over, in which some modules were not told of their input's gradient.
    pub fn after_backward(&mut self) -> Vec<Act> {
        let mut acts = Vec::new();
        while let Some(module) = self.in_backward.pop() {
            let mut own: BTreeSet<usize> = self.modules[module].iter().copied().collect();
            own.extend(self.recomputed.remove(&module).unwrap_or_default());
            for place in own {
                self.states[place].users.remove(&module);
                if !self.is_persistent(place) {
                    self.release(place, &mut acts);
                }
            }
        }
        acts
    }

    /// `release_and_reset_all`: the optimizer is about to update.
    pub fn release_all(&mut self, registry: &mut Registry) -> Vec<Act> {
        let mut acts = Vec::new();
        for place in 0..self.states.len() {
            self.wait(place, &mut acts, registry);
            self.states[place].users.clear();
            self.release(place, &mut acts);
        }
        acts
    }

    /// The weights that stay are gathered anew when all are updated.
    pub fn gather_persistent(&mut self, registry: &mut Registry) -> Vec<Act> {
        let gone = |place: &usize| self.is_persistent(*place) && self.states[*place].status == Status::Gone;
        let persistent: Vec<_> = (0..self.states.len()).filter(gone).collect();
        persistent.into_iter().map(|place| self.gather_alone(place, registry)).collect()
    }
}
