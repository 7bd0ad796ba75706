//! The backward pass: nodes run in reverse, and hand gradients on.

use super::event::{Event, Storage};
use super::graph::{Entry, Gradient, Instance, Node, RESULTS, Stop, Value, Work};
use super::tape::Tape;
use crate::estimator::operators::{Conversion, Effect, Kernel, OPERANDS, Operand, Reads, TensorId};

impl<'p> Tape<'p> {
    /// Begins to run backward from a loss whose own gradient is `one`.
    pub fn begin_backward(&mut self, loss: Value, one: TensorId) {
        let seed = self.allocate(one);
        self.seed = Some(seed);
        self.begin_backward_from(loss, seed, one);
    }

    /// Begins to run backward from a value whose gradient is `seed`, of the form of `tensor`.
    pub fn begin_backward_from(&mut self, value: Value, seed: Storage, tensor: TensorId) {
        self.is_backward = true;
        let gradient = Gradient { storage: self.retain(seed), is_view: false };
        self.deliver(value.node, gradient, tensor);
    }

    /// Has the backward pass stop for the gradient of each weight when it is complete.
    pub fn stop_at_gradients(&mut self) {
        self.complete = Some(Vec::new());
    }

    /// Runs backward to the next stop, or to the end. Gradients of weights come before all other nodes
    /// (`AccumulateGrad` has the highest `sequence_nr`).
    pub fn run_backward(&mut self) -> Option<Stop> {
        if let Some(entry) = self.called.take()
            && let Some(gradient) = entry.gradients[0]
        {
            let tensor = self.storages[gradient.storage.index()].0;
            self.deliver(entry.inputs[0], gradient, tensor);
        }
        loop {
            if let Some(stop) = self.run_second() {
                return Some(stop);
            }
            if let Some(weight) = self.complete.as_mut().and_then(Vec::pop) {
                return Some(Stop::Gradient(weight));
            }
            let entry = self.graph.entries.pop()?;
            let is_asked = entry.gradients.iter().any(Option::is_some);
            if let Some(frame) = entry.frame.filter(|&frame| is_asked && !self.graph.frames[frame].is_redeemed) {
                self.hold_gradients(frame, &entry);
                self.graph.entries.push(entry);
                self.redeem(frame);
                continue;
            }
            match (entry.work, is_asked) {
                (Work::Edge(event), _) => {
                    self.times = if let Event::Repeat(times) = event { times } else { 1 };
                    self.events.push(event);
                }
                (Work::List(first, end), _) => {
                    for value in self.graph.listed.get(first..end).unwrap_or_default().to_vec() {
                        for gradient in entry.gradients.iter().flatten() {
                            self.retain(gradient.storage);
                            let tensor = self.storages[gradient.storage.index()].0;
                            self.deliver(value, Gradient { is_view: true, ..*gradient }, tensor);
                        }
                    }
                    entry.gradients.into_iter().flatten().for_each(|gradient| self.release(gradient.storage));
                }
                // A node that hands a gradient on is not run without one.
                (Work::Call(_), false) if entry.inputs[0].is_some() => {}
                (Work::Call(call), _) => {
                    self.called = Some(entry);
                    return Some(Stop::Call(call));
                }
                (Work::Kernel(instance, position, needed), true) => {
                    self.differentiate(instance, position, needed, &entry);
                }
                (work, _) => {
                    self.forget(&entry);
                    let mut gradients = entry.gradients.into_iter().flatten().map(|gradient| gradient.storage);
                    if let Work::Leaf(storage) = work {
                        // The graph holds a leaf, and the leaf its gradient.
                        let before = std::mem::replace(&mut self.of_leaf, gradients.next());
                        self.leaves.extend(before.into_iter().chain([storage]));
                    }
                    gradients.for_each(|gradient| self.release(gradient));
                }
            }
        }
    }

    /// Has a function in Python that runs a block hold the gradients that it is given.
    fn hold_gradients(&mut self, frame: usize, entry: &Entry<'_>) {
        let checkpoint = self.graph.frames[frame].instance.program.checkpoint;
        if checkpoint.is_some_and(|checkpoint| checkpoint.is_reentrant) {
            for gradient in entry.gradients.iter().flatten() {
                self.retain(gradient.storage);
                self.graph.frames[frame].held.push(gradient.storage);
            }
        }
    }

    /// Takes the gradient of the value from which derivation started, where that is no weight (`.grad` of that value).
    pub fn take_gradient_of_leaf(&mut self) -> Option<Storage> {
        self.of_leaf.take()
    }

    /// Ends the backward pass.
    pub fn end_backward(&mut self) {
        self.leaves.extend(self.of_leaf.take());
        self.seed.take().into_iter().for_each(|seed| self.release(seed));
        self.is_backward = false;
    }

    /// Gives back leaves and their gradients: the loss goes, and the graph with it.
    pub fn forget_leaves(&mut self) {
        std::mem::take(&mut self.leaves).into_iter().for_each(|storage| self.release(storage));
    }

    /// Gives back what a node kept.
    fn forget(&mut self, entry: &Entry<'p>) {
        for _ in 0..entry.kept {
            let Some(storage) = self.graph.kept.pop() else { return };
            if storage != Storage::GONE {
                self.release(storage);
            }
        }
    }

    /// Runs one node (`evaluate_function` in torch/csrc/autograd/engine.cpp), in the order in which C++ drops what is not
    /// needed any more.
    fn differentiate(&mut self, instance: &'p Instance<'p>, position: usize, needed: Reads, entry: &Entry<'p>) {
        let kernel = &instance.program.kernels[position];
        let kept = self.graph.kept.len().saturating_sub(entry.kept);
        let mut made = self.compute(kernel, needed, entry.gradients, kept);
        // What was computed with the rest and nobody asked for.
        for (place, gradient) in made.iter_mut().enumerate() {
            if !needed.overlaps(Reads::operand(place)) {
                gradient.take().into_iter().for_each(|gradient| self.release(gradient.storage));
            }
        }
        // A function in Python has its gradients for itself, and lets them go (`PyNode::apply` in torch/csrc/autograd/
        // python_function.cpp).
        let is_over = kernel.keeps_behind && entry.parts.is_empty();
        if is_over {
            entry.gradients.into_iter().flatten().for_each(|gradient| self.release(gradient.storage));
        }
        // What a checkpoint brought back is the function's alone.
        entry.frame.into_iter().for_each(|_| self.forget(entry));
        for (place, gradient) in made.iter_mut().enumerate() {
            for step in kernel.derivative(place).into_iter().flat_map(|derivative| &derivative.conversion) {
                *gradient = gradient.map(|before| self.convert(step, before));
            }
            if let (Some(made), Some(Operand::Weight(weight))) = (gradient, kernel.operands.get(place))
                && !made.is_view
            {
                *made = self.first_cast(instance, *weight, *made);
            }
        }
        if entry.parts.is_empty() && !is_over {
            entry.gradients.into_iter().flatten().for_each(|gradient| self.release(gradient.storage));
        }
        self.release_all(&entry.parts);
        match entry.frame {
            None => self.forget(entry),
            Some(frame) => {
                self.graph.frames[frame].places -= 1;
                if self.graph.frames[frame].places == 0 {
                    self.leave(frame);
                }
            }
        }
        for (place, gradient) in made.into_iter().enumerate() {
            let (Some(gradient), Some(derivative)) = (gradient, kernel.derivative(place)) else { continue };
            match kernel.operands[place] {
                Operand::Weight(weight) => {
                    // The gradient of a product comes through the view in which the product had the weight.
                    let gradient =
                        if gradient.is_view { self.first_cast(instance, weight, gradient) } else { gradient };
                    let sum = instance.program.weights[weight].gradient_sum;
                    self.accumulate(instance.weights[weight], gradient, sum);
                }
                Operand::Value(_) => self.deliver(entry.inputs[place], gradient, derivative.gradient),
            }
        }
    }

    /// The first gradient of a weight of a step, cast where later ones are added to it in another type.
    fn first_cast(&mut self, instance: &Instance<'_>, weight: usize, gradient: Gradient) -> Gradient {
        let first = instance.program.weights[weight].first_gradient;
        let first = first.filter(|_| self.weights[instance.weights[weight]].whole.is_none());
        first.map_or(gradient, |cast| self.convert(&Conversion { gradient: cast, workspaces: Vec::new() }, gradient))
    }

    /// The gradients that a kernel's derivatives make of the first that comes in, or of that of their own result; `kept` is the place of the first thing that its
    /// node keeps.
    fn compute(
        &mut self,
        kernel: &Kernel,
        needed: Reads,
        gradients: [Option<Gradient>; RESULTS],
        kept: usize,
    ) -> [Option<Gradient>; OPERANDS] {
        let mut made = [None; OPERANDS];
        for derivative in &kernel.derivatives {
            let is_computed = kernel.is_joint && !derivative.is_apart;
            if !is_computed && !needed.overlaps(Reads::operand(derivative.of)) {
                continue;
            }
            let own = gradients.get(derivative.of).filter(|_| kernel.changes_each);
            let incoming = own.map_or_else(|| gradients.iter().flatten().next(), Option::as_ref).copied();
            for effect in &derivative.effects {
                let (storage, is_view) = match *effect {
                    Effect::New => (self.allocate(derivative.gradient), false),
                    Effect::NewOf(tensor) => (self.allocate(tensor), false),
                    Effect::NewView => (self.allocate(derivative.gradient), true),
                    Effect::Pass | Effect::PassView => {
                        let Some(incoming) = incoming else { continue };
                        (self.retain(incoming.storage), incoming.is_view || *effect == Effect::PassView)
                    }
                    Effect::Kept(place) => {
                        let Some(&storage) = self.graph.kept.get(kept + place) else { continue };
                        (self.retain(storage), false)
                    }
                    Effect::Workspace(tensor) => {
                        let storage = self.allocate(tensor);
                        self.workspaces.push(storage);
                        continue;
                    }
                    Effect::Brief(tensor) => {
                        self.brief(tensor);
                        continue;
                    }
                    Effect::Drop(before) => {
                        self.drop_workspace(before);
                        continue;
                    }
                    Effect::DropKept(place) => {
                        if let Some(of_node) = self.graph.kept.get_mut(kept + place) {
                            let storage = std::mem::replace(of_node, Storage::GONE);
                            self.release(storage);
                        }
                        continue;
                    }
                };
                made[derivative.of] = Some(Gradient { storage, is_view });
            }
        }
        self.end_workspaces();
        made
    }

    /// Brings a gradient to another form.
    fn convert(&mut self, step: &Conversion, before: Gradient) -> Gradient {
        let storage = self.allocate(step.gradient);
        for &workspace in &step.workspaces {
            let storage = self.allocate(workspace);
            self.workspaces.push(storage);
        }
        self.end_workspaces();
        self.release(before.storage);
        Gradient { storage, is_view: false }
    }

    fn deliver(&mut self, to: Option<(Node, u8)>, gradient: Gradient, tensor: TensorId) {
        let Some((node, output)) = to else { return self.release(gradient.storage) };
        let (node, output) = (node as usize, usize::from(output));
        let kernel = match self.graph.entries[node].work {
            Work::Kernel(instance, position, _) => Some(&instance.program.kernels[position]),
            _ => None,
        };
        if kernel.is_some_and(|kernel| kernel.is_taken_apart) {
            let part = self.repeated(gradient.storage);
            self.graph.entries[node].gradients[output] = Some(gradient);
            return self.graph.entries[node].parts.push(part);
        }
        let before = self.graph.entries[node].gradients[output];
        let sum = self.sum(before, gradient, tensor);
        let is_view = sum.is_view || kernel.is_some_and(|kernel| kernel.adds_anew);
        self.graph.entries[node].gradients[output] = Some(Gradient { is_view, ..sum });
    }

    /// Hands the weight of a kernel the gradient that it makes in the forward pass.
    pub fn grant(&mut self, instance: &Instance<'_>, kernel: &Kernel, storage: Storage) {
        for operand in &kernel.operands {
            if let Operand::Weight(weight) = *operand {
                let gradient = Gradient { storage: self.retain(storage), is_view: true };
                let sum = instance.program.weights[weight].gradient_sum;
                self.accumulate(instance.weights[weight], gradient, sum);
            }
        }
    }

    /// Hands a gradient to a weight. When all of a backward pass are there, the first pass's is taken as it is, and what
    /// comes later is added to it in place (torch/csrc/autograd/functions/accumulate_grad.h).
    fn accumulate(&mut self, number: usize, gradient: Gradient, tensor: TensorId) {
        let buffer = self.weights[number].buffer.take();
        let sum = self.sum(buffer, gradient, tensor);
        let awaited = self.graph.awaited.get_mut(number);
        let is_last = awaited.is_none_or(|awaited| {
            *awaited = awaited.saturating_sub(1);
            *awaited == 0
        });
        let weight = &mut self.weights[number];
        if !is_last {
            weight.buffer = Some(sum);
            return;
        }
        if weight.whole.is_none() {
            weight.whole = Some(sum);
        } else {
            self.release(sum.storage);
        }
        self.complete.as_mut().into_iter().for_each(|complete| complete.insert(0, number));
    }

    /// Has another tensor take the place of the gradient of a weight.
    pub fn replace_gradient(&mut self, weight: usize, tensor: TensorId) {
        if self.weights[weight].whole.is_some() {
            let storage = self.allocate(tensor);
            self.zero_gradient(weight);
            self.weights[weight].whole = Some(Gradient { storage, is_view: false });
        }
    }

    /// Takes the gradient of a weight away, as `zero_grad(set_to_none=True)` does.
    pub fn zero_gradient(&mut self, weight: usize) {
        let gradient = self.weights[weight].whole.take();
        gradient.into_iter().for_each(|gradient| self.release(gradient.storage));
    }

    /// The sum of two gradients of one value: in place where nobody else holds the first, nor its storage
    /// (`accumulate` in torch/csrc/autograd/input_buffer.cpp).
    fn sum(&mut self, before: Option<Gradient>, more: Gradient, tensor: TensorId) -> Gradient {
        let Some(before) = before else { return more };
        let is_alone = !before.is_view && self.storages[before.storage.index()].1 == 1;
        let sum = if is_alone { before } else { Gradient { storage: self.allocate(tensor), is_view: false } };
        if !is_alone {
            self.release(before.storage);
        }
        self.release(more.storage);
        sum
    }
}
