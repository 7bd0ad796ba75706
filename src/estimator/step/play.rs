//! A play under way: what it holds, and how it goes through weights and the hooks of engines.

use std::collections::HashMap;
use std::ops::Range;

use super::acts::{NO_NAMES, Names, Of, Scope};
use super::event::{Event, Storage};
use super::graph::{Call, Instance, Repeated};
use super::modules::{BlockPlace, Modules};
use super::passes::Held;
use super::rounds::Given;
use super::score::{Own, Played, Score, Stage, owned};
use super::tape::Tape;
use crate::estimator::engines::{Act, Hook, ModuleHook, Unit, Update, Zero};
use crate::estimator::operators::{Registry, TensorId};

/// The number of the trained network's first weight, the token embedding's matrix.
pub const EMBEDDING: usize = 0;

/// A play under way.
pub struct Play<'p> {
    /// The tape.
    pub tape: Tape<'p>,
    /// What is played.
    pub score: &'p Score<'p>,
    /// What names of the training program have.
    pub locals: Vec<Held>,
    /// What passes are given, where that is other than a micro-batch.
    pub given: Given,
    /// The tensors of the micro-batches that are there.
    pub batches: Vec<Vec<Storage>>,
    /// What names have that there are once.
    pub names: Names,
    /// What names have that each unit of each stage has.
    pub unit_names: Vec<Vec<Names>>,
    /// The same of the first and the last block.
    pub root_names: Names,
    /// The same of each network, where it is one unit.
    pub frozen_names: Vec<Names>,
    /// What is known of the modules of the divided network's class.
    pub modules: Modules<'p>,
    /// The blocks that are recomputed, by the names that the tape knows.
    pub blocks: Vec<Option<BlockPlace>>,
    /// Tensors to which an engine gave numbers.
    pub numbered: HashMap<usize, Storage>,
    /// DeepSpeed's optimizer, and what the one that it wraps does with each of the weights that it has in fp32.
    pub flat: Option<(Zero, Vec<Update>)>,
    /// Tensors by their numbers, of which an engine makes more as it goes.
    pub registry: Registry,
    /// Whether it is the last micro-batch of a step.
    pub is_last: bool,
    /// How often the network that engines divide has run forward, with a graph kept.
    pub forwards: u64,
    /// Whether it has run forward at all.
    pub has_begun: bool,
    /// Whether it has not yet in this step.
    pub is_new_step: bool,
    /// Whether the optimizer's states are there.
    pub has_states: bool,
    /// The buffers of that network which are cast before it first runs, and what they become.
    pub buffers: Vec<(Storage, TensorId)>,
    /// What is called for on the way back, by the number of the call.
    pub calls: Vec<(Scope, Hook)>,
    /// Weights in the order in which their gradients came in the last backward pass, where it stops for them.
    pub arrivals: Vec<usize>,
    /// Weights as the model's class made them, where an engine gives them back.
    pub whole: Vec<Vec<Repeated>>,
    /// What the optimizer holds until the end of a pass over all weights.
    pub listed: Vec<Repeated>,
    /// The state of each weight that every step makes anew.
    pub renewed: Vec<Option<Storage>>,
    /// The states of all weights that are there.
    pub shared: Vec<TensorId>,
    /// Which weights the device updates, by their numbers, where others update the rest.
    pub updated: Option<Vec<bool>>,
}

impl<'p> Play<'p> {
    /// A play that has not begun.
    pub fn new(score: &'p Score<'p>, registry: Registry) -> Self {
        let units = score.networks.iter().take(score.plan.divided()).flat_map(|network| &network.stages);
        Self {
            tape: Tape::new(score.count),
            registry,
            score,
            flat: None,
            is_last: true,
            locals: vec![Held::default(); score.plan.task.names],
            given: Given::default(),
            modules: Modules::default(),
            batches: Vec::new(),
            forwards: 0,
            has_begun: false,
            is_new_step: false,
            has_states: false,
            buffers: Vec::new(),
            calls: Vec::new(),
            arrivals: Vec::new(),
            names: NO_NAMES,
            unit_names: units.map(|stage| vec![NO_NAMES; stage.units.len()]).collect(),
            root_names: NO_NAMES,
            frozen_names: vec![NO_NAMES; score.networks.len()],
            blocks: Vec::new(),
            numbered: HashMap::new(),
            whole: vec![Vec::new(); score.count],
            listed: Vec::new(),
            renewed: vec![None; score.count],
            shared: Vec::new(),
            updated: None,
        }
    }

    /// What engines do before a forward pass of the trained network. One of which no graph is kept is none to those that look at
    /// gradients.
    pub fn before_forward(&mut self, is_recorded: bool) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.begin();
        }
        if is_recorded {
            if self.forwards == 1 {
                self.each_unit(Hook::SecondForward);
            }
            self.forwards += 1;
        }
        if std::mem::take(&mut self.is_new_step) {
            self.each_unit(Hook::BeforeStep);
        }
        self.hook(Scope::Root, Hook::BeforeForward);
    }

    /// Goes through the weights that the optimizer updates.
    pub fn each_weight(&mut self, mut visit: impl FnMut(&mut Self, Own<'p>)) {
        let networks = &self.score.networks;
        for network in networks.iter().filter(|network| network.is_updated) {
            self.each_weight_of(network, &mut visit);
        }
    }

    /// Goes through the weights of every block of a network, as its class declares them, each once.
    pub fn each_weight_of(&mut self, network: &'p Played<'p>, mut visit: impl FnMut(&mut Self, Own<'p>)) {
        let mut has_embedding = false;
        self.each_declared(network, |play, own| {
            let is_embedding = own.number == network.embedding;
            if !(is_embedding && has_embedding) {
                visit(play, own);
            }
            has_embedding |= is_embedding;
        });
    }

    /// The same with the matrix of the embedding as often as it is declared.
    pub fn each_declared(&mut self, network: &'p Played<'p>, mut visit: impl FnMut(&mut Self, Own<'p>)) {
        let stages = network.stages.as_slice();
        let [before @ .., Stage { instances: last, updates: last_updates, .. }] = stages else { return };
        // The closing block's weights are those of a norm, and then the head's matrix.
        let norm = last.iter().map(|last| last.weights.len().saturating_sub(1)).sum::<usize>();
        let (first, rest) = if network.model.declares_norm_first { (norm, norm) } else { (0, 0) };
        let mut late: Vec<Own<'p>> = Vec::new();
        for (place, Stage { instances, updates, times, .. }) in stages.iter().enumerate() {
            let is_last = place == before.len();
            let skipped = if is_last { rest } else { 0 };
            let begins = instances.iter().any(|instance| instance.program.begins.is_some());
            let is_ahead = instances.iter().any(|instance| instance.program.declares_ahead);
            if is_last || begins && !is_ahead {
                late.drain(..).for_each(|own| visit(self, own));
            }
            if *times > 1 {
                self.tape.begin_repeat(*times);
            }
            for (instance, updates) in instances.iter().zip(updates) {
                for own in owned(instance, updates).skip(skipped) {
                    if own.weight.is_declared_late {
                        late.push(own);
                    } else {
                        visit(self, own);
                    }
                }
            }
            if is_ahead {
                late.drain(..).for_each(|own| visit(self, own));
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

    /// The stages of the networks that engines divide among devices.
    pub fn divided(&self) -> impl Iterator<Item = &'p Stage<'p>> + use<'p> {
        self.score.networks.iter().take(self.score.plan.divided()).flat_map(|network| &network.stages)
    }

    /// The stages of one of the networks that engines divide, by their numbers among the stages of all of them.
    pub fn stages_of(&self, network: usize) -> Range<usize> {
        let lengths = self.score.networks.iter().take(self.score.plan.divided()).map(|network| network.stages.len());
        let start = lengths.clone().take(network).sum();
        start..start + lengths.clone().nth(network).unwrap_or(0)
    }

    /// The stage of such a number.
    pub fn stage(&self, number: usize) -> Option<&'p Stage<'p>> {
        self.divided().nth(number)
    }

    /// Whether an engine gives whole weights back.
    pub fn is_sharded(&self) -> bool {
        self.score.plan.data_parallel.is_sharded()
    }

    /// The engine's part at a hook of every unit, in the order of that hook.
    pub fn each_unit(&mut self, hook: Hook) {
        if hook.is_root_first() {
            self.hook(Scope::Root, hook);
        }
        for network in 0..self.score.plan.divided() {
            let Range { start, end } = self.stages_of(network);
            let last = end.saturating_sub(1);
            (start + 1..last).chain([start, last]).for_each(|stage| self.each_unit_of(stage, hook));
        }
        if !hook.is_root_first() {
            self.hook(Scope::Root, hook);
        }
    }

    /// The same of every unit of a stage.
    pub fn each_unit_of(&mut self, stage: usize, hook: Hook) {
        let Some(Stage { units, modules, times, .. }) = self.stage(stage) else { return };
        if units.iter().chain(modules.iter().flatten()).all(|unit| unit.at(hook).is_empty()) {
            return;
        }
        if *times > 1 {
            self.tape.begin_repeat(*times);
        }
        for place in 0..units.len() {
            let first = self.modules.first[stage][place];
            let within = first..first + modules.get(place).map_or(0, Vec::len);
            // Units within are made first.
            if hook.is_root_first() {
                self.hook(Scope::Block(stage, place), hook);
            }
            within.for_each(|module| self.hook(Scope::Module(module), hook));
            if !hook.is_root_first() {
                self.hook(Scope::Block(stage, place), hook);
            }
        }
        if *times > 1 {
            self.tape.end_repeat();
        }
    }

    /// What the training program does around the passes of a step.
    pub fn around(&mut self, hook: Hook) {
        let round = &self.score.round;
        self.acts(round.unit.at(hook), false);
    }

    /// The engine's part at a hook of a unit.
    pub fn hook(&mut self, scope: Scope, hook: Hook) {
        match scope {
            Scope::Module(module) if self.flat.is_some() => {
                let is_before = hook == Hook::BeforeBackward;
                let hook = if is_before { ModuleHook::BeforeBackward } else { ModuleHook::AfterBackward };
                self.at_module(module, hook);
            }
            Scope::Module(module) if hook == Hook::BeforeBackward => self.before_backward_of(module),
            Scope::Module(module) => {
                self.unit_acts(scope, hook);
                if hook == Hook::AfterBackward {
                    self.modules.in_backward.retain(|other| *other != module);
                }
            }
            Scope::Root | Scope::Frozen(_) => self.unit_acts(scope, hook),
            Scope::Block(stage, place) => {
                self.unit_acts(scope, hook);
                if hook == Hook::BeforeBackward {
                    self.modules.ahead = self.modules.last.get(stage).and_then(|of| of.get(place)).copied().flatten();
                }
            }
        }
    }

    fn unit(&self, scope: Scope) -> Option<&'p Unit> {
        match scope {
            Scope::Root => Some(&self.score.root),
            Scope::Block(stage, place) => self.stage(stage).and_then(|stage| stage.units.get(place)),
            Scope::Module(module) => self.modules.units.get(module).copied().flatten(),
            Scope::Frozen(network) => self.score.frozen.get(network),
        }
    }

    /// What is done with a unit at a hook.
    pub fn unit_acts(&mut self, scope: Scope, hook: Hook) {
        for &act in self.unit(scope).map(|unit| unit.at(hook)).unwrap_or_default() {
            if let Act::UnlessNamed(name) = act
                && !self.named(name, scope).is_empty()
            {
                return;
            }
            self.act(act, Of { scope, number: EMBEDDING, has_states: false });
        }
    }

    /// The sums over devices that every unit has put off, the last unit's first (`finalize_backward` in
    /// torch/distributed/fsdp/_fully_shard/_fsdp_state.py, PyTorch 2.15).
    pub fn reduce_all(&mut self, network: usize) {
        self.stages_of(network).rev().for_each(|stage| self.each_unit_of(stage, Hook::Reduce));
        self.hook(Scope::Root, Hook::Reduce);
    }

    /// The engine's part at a hook of every unit of a network.
    pub fn each_unit_of_network(&mut self, network: usize, hook: Hook) {
        self.stages_of(network).for_each(|stage| self.each_unit_of(stage, hook));
    }

    /// Has a hook of a unit happen when the backward pass comes by here.
    pub fn hook_on_the_way_back(&mut self, scope: Scope, hook: Hook) {
        let is_idle = self.unit(scope).is_some_and(|unit| unit.at(hook).is_empty());
        if self.is_sharded() && !is_idle && self.tape.is_recording {
            let call = self.call_for(scope, hook);
            self.tape.call_on_the_way_back(call);
        }
    }

    /// Calls for the turn of the unit that has run forward.
    pub fn end_pending(&mut self) {
        if let Some(scope) = self.modules.pending.take() {
            self.hook_on_the_way_back(scope, Hook::BeforeBackward);
        }
    }

    /// A call of a hook on the way back.
    pub fn call_for(&mut self, scope: Scope, hook: Hook) -> Call {
        self.calls.push((scope, hook));
        Call(self.calls.len() - 1)
    }

    /// The weights of a unit by their numbers.
    pub fn numbers(&self, scope: Scope) -> Vec<usize> {
        let of = |instance: &Instance<'_>| instance.weights.clone();
        match scope {
            Scope::Block(stage, place) => {
                let Some(Stage { instances, modules, .. }) = self.stage(stage) else { return Vec::new() };
                let has_inner = modules.get(place).is_some_and(|modules| !modules.is_empty());
                let weights = instances[place].weights.iter().zip(&instances[place].program.weights);
                let own = weights.filter(|(_, weight)| !(has_inner && weight.added.is_some()));
                own.map(|(&number, _)| number).collect()
            }
            Scope::Root => {
                let without_unit = self.divided().filter(|stage| stage.units.is_empty());
                without_unit.flat_map(|stage| stage.instances.iter().flat_map(of)).collect()
            }
            Scope::Module(module) => self.modules.weights.get(module).cloned().unwrap_or_default(),
            Scope::Frozen(network) => {
                let networks = &self.score.networks;
                let stages = networks.get(network).into_iter().flat_map(|network| &network.stages);
                stages.flat_map(|stage| stage.instances.iter().flat_map(of)).collect()
            }
        }
    }

    /// Which gradients of a unit become something else before devices sum them, and what.
    pub fn redistributed(&self, scope: Scope) -> Vec<(usize, TensorId)> {
        let Scope::Block(stage, place) = scope else { return Vec::new() };
        let Some(instance) = self.stage(stage).and_then(|stage| stage.instances.get(place)) else { return Vec::new() };
        let weights = instance.program.weights.iter().zip(&instance.weights);
        weights.filter_map(|(weight, &number)| Some((number, weight.redistributed?))).collect()
    }

    /// Begins what comes `times` times, and comes back as often where a graph is kept.
    pub fn begin_repeat(&mut self, times: u32, comes_back: bool) {
        if times > 1 {
            if comes_back {
                self.tape.on_the_way_back(Event::Again);
            }
            self.tape.begin_repeat(times);
        }
    }

    /// Ends it.
    pub fn end_repeat(&mut self, times: u32, comes_back: bool) {
        if times > 1 {
            self.tape.end_repeat();
            if comes_back {
                self.tape.on_the_way_back(Event::Repeat(times));
            }
        }
    }
}
