//! The passes of a micro-batch, played in their order.

use super::tape::{Call, Event, Moment, Repeated, Stop, Storage, Value};
use super::{Depth, Play, Programs, Scope, Stage, is_head};
use crate::estimator::engines::{Batches, Hook, Local, Name, Pass, Plan};
use crate::estimator::operators::{FOREACH_CHUNK, Form, Part, Place, Registry, Size, Tensor, TensorId};
use crate::estimator::units::{DType, Shape};

/// What a name of the training program has: nothing, a value, or the items of a list.
#[derive(Clone, Debug, Default)]
pub struct Held {
    values: Vec<(Value, Repeated)>,
    is_list: bool,
}

/// The tensors of the norm of all gradients.
#[derive(Clone, Copy)]
pub struct Norm {
    /// Numbers of parts of gradients, and their sums.
    parts: [TensorId; 2],
    /// The norm of one gradient, the norms of all, and a number.
    norms: [TensorId; 3],
}

/// The tensors of the norm of all gradients, where a task takes it (`foreach_tensor_norm_cuda` in
/// aten/src/ATen/native/cuda/ForeachReduceOp.cu, and `clip_grad_norm_` in torch/nn/utils/clip_grad.py, PyTorch 2.15).
pub fn norm(plan: &Plan, lowered: &[Programs], registry: &mut Registry) -> Option<Norm> {
    if !plan.task.before_update.iter().any(|pass| matches!(pass, Pass::Norm(_))) {
        return None;
    }
    let (mut count, mut parts, mut dtype) = (0_u64, 0_u64, DType::Single);
    for (network, programs) in plan.task.networks.iter().zip(lowered).filter(|(network, _)| network.is_updated) {
        let model = &network.model;
        let runs = model.layers.iter().zip(&programs.layers).map(|(run, blocks)| (blocks.as_slice(), run.times));
        let ends = [(programs.opening.as_slice(), 1), (programs.closing.as_slice(), 1)];
        for (blocks, times) in ends.into_iter().chain(runs) {
            for weight in blocks.iter().flat_map(|block| &block.program.weights).filter(|weight| weight.is_trained) {
                if model.is_tied && is_head(weight, registry) {
                    continue;
                }
                dtype = weight.form.dtype;
                count = count.saturating_add(u64::from(times));
                let of_one = weight.form.shape.elements(&model.widths).div_ceil(FOREACH_CHUNK);
                parts = parts.saturating_add(of_one.saturating_mul(u64::from(times)));
            }
        }
    }
    let mut own =
        |part, size| registry.id(Tensor { place: Place::Optimizer, part, size }, "PyTorch 2.15, ForeachReduceOp.cu");
    let number = Size::Of(Form::new(dtype, Shape::ONE));
    Some(Norm {
        parts: [
            own(Part::Offsets, Size::Bytes(count.saturating_add(1).saturating_mul(8))),
            own(Part::Sum, Size::Bytes(parts.saturating_mul(4))),
        ],
        norms: [
            own(Part::GradientNorm, number),
            own(Part::GradientNorms, Size::Bytes(count.saturating_mul(dtype.bytes()))),
            own(Part::Result, number),
        ],
    })
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
        let plan = self.plan;
        if plan.task.batches == Batches::EachInTurn {
            self.around(Hook::BeginMicroBatch);
            for (local, name) in [Name::Ids, Name::Labels].into_iter().enumerate() {
                if let Some(&storage) = self.named(name, Scope::Root).last() {
                    let storage = self.tape.retain(storage);
                    self.set(Local(local), Value { storage, node: None });
                }
            }
        }
        plan.task.micro_batch.iter().for_each(|pass| self.pass(pass));
    }

    /// Gives a name a value; what it had goes.
    fn set(&mut self, local: Local, value: Value) {
        let value = (value, Repeated::once(value.storage));
        let before = std::mem::replace(&mut self.locals[local.0], Held { values: vec![value], is_list: false });
        self.release(before);
    }

    fn release(&mut self, held: Held) {
        let held: Vec<_> = held.values.into_iter().map(|(_, held)| held).filter(|held| !held.is_gone()).collect();
        self.tape.release_all(&held);
    }

    /// Plays one pass.
    pub fn pass(&mut self, pass: &'p Pass) {
        match pass {
            Pass::Forward { network, given, given_last, into, is_recorded } => {
                let [given, last] = [given, given_last].map(|names| self.arguments(names));
                let results = self.forward(*network, &given, &last, *is_recorded);
                into.iter().zip(results).for_each(|(&local, result)| self.set(local, result));
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
                let first = u32::from(self.depth == Depth::Folded && *times > 1);
                (0..first).for_each(|_| once(self));
                let rest = times - first;
                if self.depth == Depth::Folded && rest > 1 {
                    if *is_recorded {
                        let gradient = self.tape.list_gradient();
                        self.locals[list.0].values.push((gradient, Repeated::once(gradient.storage)));
                    }
                    self.begin_repeat(rest, *is_recorded);
                    once(self);
                    self.end_repeat(rest, *is_recorded);
                } else {
                    (0..rest.min(self.depth.rounds())).for_each(|_| once(self));
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
            }
            Pass::EmptyCache => self.tape.empty_cache(),
            Pass::Backward(loss, dtype) => {
                self.tape.mark(Moment::LossBackward);
                let loss = self.locals[loss.0].value();
                self.tape.begin_backward(loss, self.one[usize::from(*dtype == DType::Single)]);
                self.run_backward();
                self.hook(Scope::Root, Hook::AfterBackward);
                self.tape.end_backward();
                self.end_reduction();
                self.tape.forget_leaves();
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
        let functions = self.functions;
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
        let networks = self.networks;
        let Some(network) = networks.get(number) else { return Vec::new() };
        let [first, between @ .., last] = network.stages.as_slice() else { return Vec::new() };
        // Engines divide the trained network alone.
        let has_hooks = number == 0 && is_recorded;
        self.tape.set_recording(is_recorded);
        self.tape.mark(if is_recorded { Moment::Forward } else { Moment::Score });
        if has_hooks {
            self.before_forward();
        }
        let begun = self.run_end(first, has_hooks.then_some(0), given);
        let (shared, names) = begun[1..].split_at(network.model.shared);
        let mut x = begun[0];
        // What the model's function keeps of a layer until the next one is done.
        let mut kept: Vec<Value> = Vec::new();
        for (place, Stage { instances, times, .. }) in between.iter().enumerate() {
            self.begin_repeat(*times, is_recorded);
            for (unit, instance) in instances.iter().enumerate() {
                let scope = Scope::Block(1 + place, unit);
                if has_hooks {
                    self.hook(scope, Hook::BeforeForward);
                    self.hook_on_the_way_back(scope, Hook::AfterBackward);
                }
                let arguments = [&[x], shared].concat();
                let results = if is_recorded && instance.program.checkpoint.is_some() {
                    self.tape.checkpoint(instance, &arguments)
                } else {
                    self.tape.run(instance, &arguments)
                };
                kept.drain(..).for_each(|before| self.tape.release(before.storage));
                self.tape.release(x.storage);
                kept.extend(results.iter().skip(1));
                x = results.first().copied().unwrap_or(x);
                if has_hooks {
                    self.hook(scope, Hook::AfterForward);
                    self.hook_on_the_way_back(scope, Hook::BeforeBackward);
                }
            }
            self.end_repeat(*times, is_recorded);
        }
        if is_recorded && !network.model.hands_on {
            self.tape.mark(Moment::Loss);
            self.tape.on_the_way_back(Event::Mark(Moment::Backward));
        }
        let arguments = [&[x], shared, names, &kept, given_last].concat();
        let results = self.run_end(last, has_hooks.then_some(network.stages.len() - 1), &arguments);
        self.tape.end_autocast();
        if has_hooks {
            self.hook(Scope::Root, Hook::AfterForward);
            self.hook_on_the_way_back(Scope::Root, Hook::BeforeBackward);
        }
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
            }
        }
        self.calls.clear();
    }

    /// Runs the first or the last block forward, which has a place among those that engines divide, or none. Its unit, where it
    /// has one, ends with the last kernel that has a weight.
    fn run_end(&mut self, stage: &'p Stage<'p>, place: Option<usize>, arguments: &[Value]) -> Vec<Value> {
        let instance = &stage.instances[0];
        let Some(place) = place.filter(|_| !stage.units.is_empty()) else {
            return self.tape.run(instance, arguments);
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

    /// The norm of all gradients, and the factor by which it would be brought below a limit.
    fn take_norm(&mut self, into: Local) {
        let Some(Norm { parts, norms: [one, all, number] }) = self.norm else { return };
        let parts = parts.map(|tensor| self.tape.allocate(tensor));
        let mut norms: Vec<Repeated> = Vec::new();
        self.each_weight(|play, own| {
            if own.weight.is_trained {
                let storage = play.tape.allocate(one);
                norms.push(play.tape.repeated(storage));
            }
        });
        let tape = &mut self.tape;
        parts.into_iter().rev().for_each(|storage| tape.release(storage));
        let stacked = tape.allocate(all);
        let norm = tape.allocate(one);
        tape.release(stacked);
        tape.release_all(&norms);
        // `max_norm / (total_norm + 1e-6)`, and its clamp.
        let steps: [Storage; 3] = std::array::from_fn(|_| tape.allocate(number));
        tape.release(steps[1]);
        tape.release(steps[0]);
        let clamped = tape.allocate(number);
        tape.release(steps[2]);
        tape.release(clamped);
        self.set(into, Value { storage: norm, node: None });
    }
}
