//! The passes of a micro-batch, played in their order.

use super::Depth;
use super::acts::Scope;
use super::event::{Event, Moment};
use super::graph::{Call, Repeated, Stop, Value};
use super::play::Play;
use super::score::Stage;
use crate::estimator::engines::{Batches, Hook, Local, Name, Pass};
use crate::estimator::operators::TensorId;
use crate::estimator::units::DType;

/// What a name of the training program has: nothing, a value, or the items of a list.
#[derive(Clone, Debug, Default)]
pub struct Held {
    values: Vec<(Value, Repeated)>,
    is_list: bool,
}

impl Held {
    fn value(&self) -> Value {
        self.values.first().map_or(Value::NONE, |(value, _)| *value)
    }
}

impl<'p> Play<'p> {
    /// Brings the tensors of micro-batches; those that were there before go.
    pub fn load(&mut self, batch: &[TensorId], count: u32) {
        let mut make = || batch.iter().map(|&tensor| self.tape.allocate(tensor)).collect();
        let loaded = (0..count).map(|_| make()).collect();
        for storage in std::mem::replace(&mut self.batches, loaded).into_iter().flatten() {
            self.tape.release(storage);
        }
    }

    /// Names have what a step before left them.
    pub fn leave(&mut self, left: &[(Local, TensorId)]) {
        for &(local, tensor) in left {
            let storage = self.tape.allocate(tensor);
            self.set(local, Value { storage, node: None });
        }
    }

    /// Plays a micro-batch.
    pub fn micro_batch(&mut self, number: u32) {
        let place = (number as usize).min(self.batches.len().saturating_sub(1));
        for (local, storage) in self.batches.get(place).cloned().unwrap_or_default().into_iter().enumerate() {
            let storage = self.tape.retain(storage);
            self.set(Local(local), Value { storage, node: None });
        }
        let plan = self.score.plan;
        if self.begin_micro_batch() {
            for (local, name) in [Name::Ids, Name::Labels].into_iter().enumerate() {
                if let Some(&storage) = self.named(name, Scope::Root).last() {
                    let storage = self.tape.retain(storage);
                    self.set(Local(local), Value { storage, node: None });
                }
            }
        }
        plan.task.micro_batch.iter().for_each(|pass| self.pass(pass));
    }

    /// Brings a micro-batch to the device, where each comes in its turn.
    pub fn begin_micro_batch(&mut self) -> bool {
        let comes_in_turn = self.score.plan.task.batches == Batches::EachInTurn;
        if comes_in_turn {
            self.around(Hook::BeginMicroBatch);
        }
        comes_in_turn
    }

    /// Token ids or labels of all micro-batches, by a name of the training program. Where it has none, labels are token ids.
    pub fn given(&mut self, name: Name) -> Value {
        let named = self.named(name, Scope::Root).last().copied();
        let storage = named.or_else(|| self.batches.first().and_then(|batch| batch.first()).copied());
        storage.map_or(Value::NONE, |storage| Value { storage, node: None })
    }

    /// Gives a name a value; what it had goes.
    pub fn set(&mut self, local: Local, value: Value) {
        let value = (value, Repeated::once(value.storage));
        let before = std::mem::replace(&mut self.locals[local.0], Held { values: vec![value], is_list: false });
        self.release(before);
    }

    /// Gives a name the items of a list; what it had goes.
    fn set_list(&mut self, local: Local, values: Vec<(Value, Repeated)>) {
        let before = std::mem::replace(&mut self.locals[local.0], Held { values, is_list: true });
        self.release(before);
    }

    /// Adds so many items to a list, each made by a function of nothing.
    fn leave_items(&mut self, function: usize, list: Local, times: u32) {
        self.locals[list.0].is_list = true;
        if times > 0 {
            self.begin_repeat(times, false);
            for item in self.call(function, &[], false) {
                let kept = self.tape.repeated(item.storage);
                self.locals[list.0].values.push((item, kept));
            }
            self.end_repeat(times, false);
        }
    }

    fn release(&mut self, held: Held) {
        let held: Vec<_> = held.values.into_iter().map(|(_, held)| held).filter(|held| !held.is_gone()).collect();
        self.tape.release_all(&held);
    }

    /// Plays one pass.
    pub fn pass(&mut self, pass: &'p Pass) {
        match pass {
            Pass::Forward { network, given, given_last, into, beside, is_recorded } => {
                let [given, last] = [given, given_last].map(|names| self.arguments(names));
                let mut results = self.forward(*network, &given, &last, *is_recorded).into_iter();
                into.iter().zip(results.by_ref()).for_each(|(&local, result)| self.set(local, result));
                if let Some([states, cache]) = beside {
                    self.given.states.extend(results.map(|last| (last, Repeated::once(last.storage))));
                    let all = std::mem::take(&mut self.given.states);
                    self.set_list(*states, all);
                    let kept = self.take_cache(*network).into_iter();
                    self.set_list(*cache, kept.map(|kept| (Value::NONE, kept)).collect());
                }
            }
            Pass::Call { function, given, into, is_recorded } => {
                let results = self.call(*function, given, *is_recorded);
                into.iter().zip(results).for_each(|(&local, result)| self.set(local, result));
            }
            Pass::Each { function, times, given, carried, list, is_recorded } => {
                let given: Vec<_> = given.iter().chain(carried).copied().collect();
                self.locals[list.0].is_list = true;
                let once = |play: &mut Self| {
                    let mut results = play.call(*function, &given, *is_recorded).into_iter();
                    if let Some(item) = results.next() {
                        let item = (item, play.tape.repeated(item.storage));
                        play.locals[list.0].values.push(item);
                    }
                    carried.iter().zip(results).for_each(|(&local, result)| play.set(local, result));
                };
                // What is carried is not there the first time, and the first is the last that is derived.
                let first = u32::from(self.score.depth == Depth::Folded && *times > 1);
                (0..first).for_each(|_| once(self));
                let rest = times - first;
                if self.score.depth == Depth::Folded && rest > 1 {
                    if *is_recorded {
                        let gradient = self.tape.list_gradient();
                        self.locals[list.0].values.push((gradient, Repeated::once(gradient.storage)));
                    }
                    self.begin_repeat(rest, *is_recorded);
                    once(self);
                    self.end_repeat(rest, *is_recorded);
                } else {
                    (0..rest.min(self.score.depth.rounds())).for_each(|_| once(self));
                }
            }
            Pass::ForItems { function, of, list } => {
                let items = self.locals[of.0].values.clone();
                let functions = &self.score.functions;
                let Some((instance, _)) = functions.get(*function) else { return };
                self.tape.set_recording(false);
                let results = items.into_iter().map(|(item, kept)| {
                    self.tape.repeat(kept.times, |tape| {
                        let result = tape.run(instance, &[item])[0];
                        (result, tape.repeated(result.storage))
                    })
                });
                let results = results.collect();
                self.tape.set_recording(true);
                self.set_list(*list, results);
            }
            Pass::Update => {
                if self.is_last {
                    self.update_weights();
                }
            }
            Pass::Move(from, to) => {
                let held = std::mem::take(&mut self.locals[from.0]);
                let before = std::mem::replace(&mut self.locals[to.0], held);
                self.release(before);
            }
            Pass::Keep(local, name) => {
                let held = std::mem::take(&mut self.locals[local.0]);
                let kept = held.values.iter().map(|(value, _)| value.storage);
                self.named(*name, Scope::Root).extend(kept);
            }
            Pass::Forget(names) => {
                for local in names {
                    let held = std::mem::take(&mut self.locals[local.0]);
                    self.release(held);
                }
                // The loss goes, where the training loop has kept it, and the graph with it.
                if self.score.plan.task.epochs.is_none() {
                    self.tape.forget_leaves();
                }
            }
            Pass::ForgetGraph => self.tape.forget_leaves(),
            Pass::Extent(extent) => self.extend(*extent),
            Pass::OfRound => self.extend(self.given.round),
            Pass::Times(times, passes) => {
                for _ in 0..(*times).min(self.score.depth.micro_batches()) {
                    passes.iter().for_each(|pass| self.pass(pass));
                }
            }
            Pass::EndTraining => {
                let held = std::mem::take(&mut self.batches).into_iter().flatten();
                held.for_each(|storage| self.tape.release(storage));
                self.tape.empty_cache();
                self.tape.mark(Moment::Evaluate);
            }
            Pass::BeginCheckpoint => {
                let held = std::mem::take(&mut self.batches).into_iter().flatten();
                held.for_each(|storage| self.tape.release(storage));
                self.tape.mark(Moment::Checkpoint);
            }
            Pass::Gather { each, names_head, stays } => self.gather_all(*each, *names_head, *stays),
            Pass::Merge { is_copied } => self.merge_adapters(*is_copied),
            Pass::Rounds { extent, grows, times, leaves, passes, between } => {
                if let Some((function, list)) = leaves {
                    self.leave_items(*function, *list, self.skipped(*times));
                }
                self.rounds([*extent, *grows], *times, passes, between);
            }
            Pass::DropCache(network) => self.drop_cache(*network),
            Pass::EmptyCache => self.tape.empty_cache(),
            Pass::Engine(tensor) => {
                let tensor = self.registry.id(*tensor, "the training program");
                self.tape.empty_cache();
                self.tape.mark(Moment::Generate);
                self.tape.brief(tensor);
                self.tape.empty_cache();
            }
            Pass::Backward(loss, dtype) => {
                self.tape.end_autocast();
                self.tape.mark(Moment::LossBackward);
                let loss = self.locals[loss.0].value();
                self.tape.begin_backward(loss, self.score.tensors.one[usize::from(*dtype == DType::Single)]);
                self.run_backward();
                self.hook(Scope::Root, Hook::AfterBackward);
                self.end_late();
                self.tape.end_backward();
                self.end_reduction();
                if !self.score.plan.data_parallel.keeps_results() && self.score.plan.task.epochs.is_none() {
                    self.tape.forget_leaves();
                }
            }
            Pass::Norm(into) => self.take_norm(*into),
        }
    }

    /// The values of names; a list is one value.
    fn arguments(&mut self, names: &[Local]) -> Vec<Value> {
        let values = names.iter().map(|local| {
            let held = &self.locals[local.0];
            if held.is_list { self.tape.list(held.values.iter().map(|(value, _)| *value)) } else { held.value() }
        });
        values.collect()
    }

    /// Calls a function. What it takes over goes with it.
    fn call(&mut self, function: usize, given: &[Local], is_recorded: bool) -> Vec<Value> {
        let functions = &self.score.functions;
        let Some((instance, takes)) = functions.get(function) else { return Vec::new() };
        let arguments = self.arguments(given);
        for (local, _) in given.iter().zip(takes.iter()).filter(|(_, is_taken)| **is_taken) {
            self.locals[local.0] = Held::default();
        }
        self.tape.set_recording(is_recorded);
        let results = self.tape.run(instance, &arguments);
        self.tape.set_recording(true);
        results
    }

    /// A network runs forward.
    pub fn forward(&mut self, number: usize, given: &[Value], given_last: &[Value], is_recorded: bool) -> Vec<Value> {
        let networks = &self.score.networks;
        let Some(network) = networks.get(number) else { return Vec::new() };
        let [first, between @ .., last] = network.stages.as_slice() else { return Vec::new() };
        // The same network called otherwise has the hooks of the first.
        let divided = network.called.unwrap_or(number);
        // trl’s passes without gradients are those of the model that DDP wraps, and not of the wrapper.
        let has_hooks = divided < self.score.plan.divided() && (is_recorded || self.is_sharded());
        let stages_before = self.stages_of(divided).start;
        self.hook(Scope::Frozen(number), Hook::BeforeForward);
        self.tape.set_recording(is_recorded);
        let puts_out_states = network.model.puts_out_states;
        match self.given.extent {
            Some(extent) if network.model.has_cache && !puts_out_states && extent.tokens > 1 => {
                self.tape.mark(Moment::Prompt);
            }
            Some(_) if !puts_out_states => {}
            _ => self.tape.mark(if is_recorded { Moment::Forward } else { Moment::Score }),
        }
        if has_hooks {
            self.before_forward(is_recorded);
            self.enter_outer();
        }
        let begun = self.run_end(first, has_hooks.then_some(stages_before), given);
        let (mut beside, mut shared_count) = (begun[1..].to_vec(), network.model.shared);
        let mut x = begun[0];
        // What the model's function keeps of a layer until the next one is done.
        let mut kept: Vec<Value> = Vec::new();
        for (place, Stage { instances, times, .. }) in between.iter().enumerate() {
            self.begin_repeat(*times, is_recorded);
            for (unit, instance) in instances.iter().enumerate() {
                let scope = Scope::Block(stages_before + 1 + place, unit);
                if has_hooks {
                    self.hook(scope, Hook::BeforeForward);
                    self.hook_on_the_way_back(scope, Hook::AfterBackward);
                    self.end_pending();
                }
                let (shared, names) = beside.split_at(shared_count);
                if let Some(count) = instance.program.begins {
                    let arguments = [&[x], shared, names, &kept, given_last].concat();
                    let is_recomputed = is_recorded && instance.program.checkpoint.is_some();
                    let results =
                        self.run_block(has_hooks.then_some((1 + place, unit)), instance, &arguments, is_recomputed);
                    kept.clear();
                    (x, shared_count) = (results.first().copied().unwrap_or(x), count);
                    beside = results.get(1..).unwrap_or_default().to_vec();
                    continue;
                }
                if puts_out_states {
                    self.tape.retain(x.storage);
                    let kept = self.tape.repeated(x.storage);
                    self.given.states.push((x, kept));
                }
                let of_layer = (number, place, unit);
                let cache = self.given.cache(of_layer);
                let given = if network.model.has_cache { &cache[..] } else { &[] };
                let arguments = [&[x], shared, given].concat();
                let is_recomputed = is_recorded && instance.program.checkpoint.is_some();
                let block = has_hooks.then_some((1 + place, unit));
                let results = self.run_block(block, instance, &arguments, is_recomputed);
                kept.drain(..).for_each(|before| self.tape.release(before.storage));
                self.tape.release(x.storage);
                match results[..] {
                    [_, keys, values] if network.model.has_cache => {
                        let cache = [keys, values].map(|of| self.tape.repeated(of.storage));
                        self.given.caches.insert(of_layer, cache);
                    }
                    _ => kept.extend(results.iter().skip(1)),
                }
                x = results.first().copied().unwrap_or(x);
                if has_hooks {
                    self.hook(scope, Hook::AfterForward);
                    self.modules.pending = Some(scope);
                    if !self.score.plan.data_parallel.lets_go_late() {
                        self.end_pending();
                    }
                }
            }
            self.end_repeat(*times, is_recorded);
        }
        self.end_pending();
        if is_recorded && !network.model.hands_on {
            self.tape.mark(Moment::Loss);
            self.tape.on_the_way_back(Event::Mark(Moment::Backward));
        }
        let arguments = [&[x], &beside[..], &kept, given_last].concat();
        let results = self.run_end(last, has_hooks.then_some(stages_before + network.stages.len() - 1), &arguments);
        if !network.model.has_loss_under_autocast {
            self.tape.end_autocast();
        }
        if has_hooks {
            self.leave_outer(results.first().copied());
            self.hook(Scope::Root, Hook::AfterForward);
            self.hook_on_the_way_back(Scope::Root, Hook::BeforeBackward);
        }
        self.hook(Scope::Frozen(number), Hook::AfterForward);
        self.tape.set_recording(true);
        results
    }

    /// Runs backward, with what is called for on the way.
    pub fn run_backward(&mut self) {
        self.arrivals.clear();
        while let Some(stop) = self.tape.run_backward() {
            match stop {
                Stop::Call(Call(call)) => {
                    let (scope, hook) = self.calls[call];
                    self.hook(scope, hook);
                }
                Stop::Gradient(number) => self.reduce(number),
                Stop::Crossing(block, crossing) => {
                    if let Some(place) = self.blocks.get(block).copied().flatten() {
                        self.cross(place, crossing, None);
                    }
                }
            }
        }
        self.calls.clear();
        self.blocks.clear();
    }

    /// Runs the first or the last block forward, which has a place among those that engines divide, or none. Its unit, where it
    /// has one, ends with the last kernel that has a weight.
    fn run_end(&mut self, stage: &'p Stage<'p>, place: Option<usize>, arguments: &[Value]) -> Vec<Value> {
        let instance = &stage.instances[0];
        let Some(place) = place.filter(|_| !stage.units.is_empty()) else {
            return self.run_block(place.map(|place| (place, 0)), instance, arguments, false);
        };
        let scope = Scope::Block(place, 0);
        let (middle, end) = (instance.program.end_of_weights(), instance.program.kernels.len());
        let mut slots = arguments.to_vec();
        self.hook(scope, Hook::BeforeForward);
        self.hook_on_the_way_back(scope, Hook::AfterBackward);
        self.tape.run_part(instance, 0..middle, &mut slots);
        self.hook(scope, Hook::AfterForward);
        self.hook_on_the_way_back(scope, Hook::BeforeBackward);
        self.tape.run_part(instance, middle..end, &mut slots);
        self.tape.results(instance, &slots)
    }
}
