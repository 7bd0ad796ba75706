//! Blocks run forward: kernels ask for storages, and nodes keep what their derivatives read.

use std::collections::VecDeque;
use std::ops::Range;

use super::event::Storage;
use super::graph::{Call, Frame, Given, Instance, Mode, Node, Pass, Second, Stop, Value, Work};
use super::tape::Tape;
use crate::estimator::operators::{
    ASIDES, Aside, Crossing, Kernel, NOTHING, OPERANDS, OUTPUT, Operand, Program, Reads, Slot, TensorId,
};

impl<'p> Tape<'p> {
    /// Runs a block forward. Its results are the caller's.
    pub fn run(&mut self, instance: &'p Instance<'p>, arguments: &[Value]) -> Vec<Value> {
        let mut pass = self.begin(instance, arguments);
        while self.advance(&mut pass).is_some() {}
        self.end(&pass)
    }

    /// Begins to run a block forward.
    pub fn begin(&mut self, instance: &'p Instance<'p>, arguments: &[Value]) -> Pass<'p> {
        let mut slots = Vec::with_capacity(instance.program.slots);
        slots.extend_from_slice(arguments);
        Pass { instance, slots, given: arguments.len(), done: 0, passed: 0, given_to: Vec::new() }
    }

    /// Runs it on to the next border of a module, which is told with the value there, or to its end.
    pub fn advance(&mut self, pass: &mut Pass<'p>) -> Option<(Crossing, Value)> {
        let Program { kernels, borders, .. } = pass.instance.program;
        let border = borders.get(pass.passed);
        let end = border.map_or(kernels.len(), |border| border.at);
        let has_run = self.run_part(pass.instance, pass.done..end, &mut pass.slots);
        pass.done = end;
        let border = border.filter(|_| has_run)?;
        pass.passed += 1;
        let value = border.value.and_then(|slot| pass.slots.get(slot.index())).copied();
        Some((border.crossing, value.unwrap_or(Value::NONE)))
    }

    /// Puts a node at the border that was passed last, which stops the backward pass for a call and hands the gradient on; without
    /// a call the border is passed all the same. What a module is given has its node for readers within alone.
    pub fn pass_border(&mut self, pass: &mut Pass<'p>, call: Option<Call>) {
        let borders = &pass.instance.program.borders;
        let Some(border) = pass.passed.checked_sub(1).and_then(|passed| borders.get(passed)) else { return };
        let value = border.value.and_then(|slot| Some((slot, pass.slots.get(slot.index())?.node?)));
        let node = call.zip(value).map(|(call, (slot, node))| {
            let mut inputs = [None; OPERANDS];
            inputs[0] = Some(node);
            (slot, node, self.push(Work::Call(call), inputs, 0, None))
        });
        match border.crossing {
            Crossing::Enter(module) => {
                let given = node.map(|(slot, outside, _)| Given { module, slot, outside: Some(outside) });
                pass.given_to.extend(given);
            }
            Crossing::Leave(module) => {
                while let Some(Given { slot, outside, .. }) = pass.given_to.pop_if(|given| given.module == module) {
                    pass.slots[slot.index()].node = outside;
                }
            }
            Crossing::Read(..) | Crossing::LeaveModel => {}
        }
        if let Some((slot, _, node)) = node {
            pass.slots[slot.index()].node = Some((node, 0));
        }
    }

    /// What a block puts out that has run.
    pub fn end(&mut self, pass: &Pass<'p>) -> Vec<Value> {
        self.results(pass.instance, &pass.slots)
    }

    /// Runs some kernels of a block forward, behind those before them. The slots have the arguments first. Whether all have
    /// run: a second pass ends with the last tensor that is asked for.
    pub fn run_part(&mut self, instance: &'p Instance<'p>, part: Range<usize>, slots: &mut Vec<Value>) -> bool {
        let program = instance.program;
        for (position, kernel) in part.clone().zip(&program.kernels[part]) {
            let (inputs, needed, reads) = self.asked(instance, kernel, slots);
            let stops_early = program.checkpoint.is_some_and(|checkpoint| checkpoint.stops_early);
            let is_last =
                matches!(self.mode, Mode::Redeem(frame) if stops_early && self.graph.frames[frame].last == position);
            if is_last && !reads.overlaps(OUTPUT | ASIDES) && !kernel.keeps_behind {
                // The inputs are packed before the kernel runs, and the last of them ends the second pass.
                self.keep(instance, kernel, reads, slots, Storage::GONE, &[]);
                return false;
            }
            let is_made = |aside: &&Aside| !aside.is_for_derivatives || !needed.is_empty();
            let (ahead, behind) = kernel.asides.split_at(kernel.asides_ahead);
            let mut asides: Vec<_> =
                ahead.iter().filter(is_made).map(|aside| (self.made(kernel, aside.tensor), aside.is_kept)).collect();
            let storage = match (kernel.output, kernel.values().next()) {
                (Some(tensor), _) => self.made(kernel, tensor),
                (None, Some((_, viewed))) if slots[viewed.index()].storage != Storage::GONE => {
                    self.retain(slots[viewed.index()].storage)
                }
                // A view of a weight, which is there anyway.
                (None, _) => Storage::GONE,
            };
            asides.extend(behind.iter().filter(is_made).map(|aside| (self.made(kernel, aside.tensor), aside.is_kept)));
            let is_brought = kernel.is_saved && matches!(self.mode, Mode::Redeem(_));
            kernel.brief.filter(|_| !is_brought).into_iter().for_each(|tensor| self.brief(tensor));
            let node = match self.mode {
                _ if !kernel.is_leaf || !self.is_recording => None,
                // It is only asked whether there is one.
                Mode::Redeem(_) => Some((Node::MAX, 0)),
                _ => self.leaf(storage).node,
            };
            let node = node.or_else(|| {
                if needed.is_empty() {
                    return None;
                }
                let kept = self.keep(instance, kernel, reads, slots, storage, &asides);
                Some((self.record(instance, position, inputs, needed, reads, kept), 0))
            });
            if kernel.is_cached {
                self.retain(storage);
                self.copies.push(self.repeated(storage));
            }
            if kernel.is_gradient && self.is_recording {
                self.grant(instance, kernel, storage);
            }
            asides.into_iter().for_each(|(aside, _)| self.release(aside));
            // A program numbers its values in the order in which kernels make them.
            for result in 0..kernel.results {
                let storage = match kernel.operands.get(usize::from(result)) {
                    _ if result == 0 => storage,
                    Some(Operand::Value(changed)) if kernel.changes_each => self.retain(slots[changed.index()].storage),
                    _ => self.retain(storage),
                };
                slots.push(Value { storage, node: node.map(|(node, _)| (node, result as u8)) });
            }
            if is_last {
                return false;
            }
            for &slot in &kernel.drops {
                self.drop_slot(slots, slot);
            }
        }
        true
    }

    /// What a kernel makes. A checkpoint that saves it holds it as well, and hands it over in the second pass.
    fn made(&mut self, kernel: &Kernel, tensor: TensorId) -> Storage {
        let saved = match self.mode {
            Mode::Redeem(frame) if kernel.is_saved => self.graph.frames[frame].saved.pop_front(),
            _ => None,
        };
        let storage = saved.unwrap_or_else(|| self.allocate(tensor));
        if let Mode::Promise(frame) = self.mode
            && kernel.is_saved
        {
            self.retain(storage);
            self.graph.frames[frame].saved.push_back(storage);
        }
        storage
    }

    /// What a block that has run puts out.
    pub fn results(&mut self, instance: &Instance<'p>, slots: &[Value]) -> Vec<Value> {
        let program = instance.program;
        let mut results: Vec<Value> = Vec::with_capacity(program.results.len());
        for (position, &slot) in program.results.iter().enumerate() {
            let value = slots[slot.index()];
            if program.results[..position].contains(&slot) {
                self.retain(value.storage);
            }
            results.push(value);
        }
        results
    }

    fn drop_slot(&mut self, slots: &mut [Value], slot: Slot) {
        let storage = std::mem::replace(&mut slots[slot.index()].storage, Storage::GONE);
        if storage != Storage::GONE {
            self.release(storage);
        }
    }

    /// Where gradients of operands go, which are needed, and what their derivatives read.
    fn asked(
        &self,
        instance: &Instance<'_>,
        kernel: &Kernel,
        slots: &[Value],
    ) -> ([Option<(Node, u8)>; OPERANDS], Reads, Reads) {
        let (mut inputs, mut needed) = ([None; OPERANDS], NOTHING);
        if kernel.derivatives.is_empty() || !self.is_recording {
            return (inputs, NOTHING, NOTHING);
        }
        for (place, operand) in kernel.operands.iter().enumerate() {
            let is_needed = match *operand {
                Operand::Value(slot) => {
                    inputs[place] = slots[slot.index()].node;
                    inputs[place].is_some()
                }
                Operand::Weight(weight) => instance.program.weights[weight].is_trained,
            };
            needed = if is_needed { needed | Reads::operand(place) } else { needed };
        }
        let is_joint = kernel.is_joint && !needed.is_empty();
        let asked = kernel.derivatives.iter();
        let asked = asked.filter(|derivative| is_joint || needed.overlaps(Reads::operand(derivative.of)));
        (inputs, needed, asked.fold(NOTHING, |reads, derivative| reads | derivative.reads))
    }

    /// Keeps what a node's derivatives read, or counts it where a checkpoint promises it. Weights are there anyway. Of those that
    /// an engine gives and takes, a checkpoint keeps the values if they are trained (`x.detach() if x.requires_grad else x` in
    /// torch/utils/checkpoint.py), and else a node keeps the name (`SavedVariable` of a leaf).
    fn keep(
        &mut self,
        instance: &Instance<'_>,
        kernel: &Kernel,
        reads: Reads,
        slots: &[Value],
        output: Storage,
        asides: &[(Storage, bool)],
    ) -> usize {
        let before = self.graph.kept.len();
        let read = kernel.values().filter(|(place, _)| reads.overlaps(Reads::operand(*place)));
        let read = read.map(|(_, slot)| slots[slot.index()].storage);
        self.graph.kept.extend(read.filter(|storage| *storage != Storage::GONE));
        if self.mode != Mode::Keep {
            let is_kept = |(place, weight): &(usize, usize)| {
                reads.overlaps(Reads::operand(*place)) && instance.program.weights[*weight].is_trained
            };
            let read = kernel.weights().filter(is_kept);
            self.graph.kept.extend(read.filter_map(|(_, weight)| self.weights[instance.weights[weight]].value));
        }
        self.graph.kept.extend(Some(output).filter(|_| reads.overlaps(OUTPUT)));
        self.graph.kept.extend(asides.iter().filter(|aside| aside.1 && reads.overlaps(ASIDES)).map(|aside| aside.0));
        let kept = self.graph.kept.len() - before;
        match self.mode {
            Mode::Promise(_) => self.graph.kept.truncate(before),
            Mode::Keep | Mode::Redeem(_) => {
                self.graph.kept[before..].iter().for_each(|storage| self.storages[storage.index()].1 += 1);
            }
        }
        kept
    }

    fn record(
        &mut self,
        instance: &'p Instance<'p>,
        position: usize,
        inputs: [Option<(Node, u8)>; OPERANDS],
        needed: Reads,
        reads: Reads,
        kept: usize,
    ) -> Node {
        let frame = match self.mode {
            Mode::Keep => None,
            // It is only asked whether there is one.
            Mode::Redeem(_) => return Node::MAX,
            Mode::Promise(_) if reads.is_empty() => None,
            Mode::Promise(frame) => {
                self.graph.frames[frame].last = position;
                self.graph.frames[frame].places += 1;
                Some(frame)
            }
        };
        for (place, operand) in instance.program.kernels[position].operands.iter().enumerate() {
            if let Operand::Weight(weight) = *operand
                && needed.overlaps(Reads::operand(place))
            {
                let (weight, awaited) = (instance.weights[weight], &mut self.graph.awaited);
                awaited.resize(awaited.len().max(weight + 1), 0);
                awaited[weight] += 1;
            }
        }
        self.push(Work::Kernel(instance, position, needed), inputs, kept, frame)
    }

    /// Begins to run a block forward whose nodes keep nothing but a promise; whoever plays gives it a name.
    pub fn begin_checkpoint(&mut self, instance: &'p Instance<'p>, arguments: &[Value], name: usize) -> Pass<'p> {
        let mut given = arguments.to_vec();
        instance.program.left_out.iter().for_each(|slot| given[slot.index()].storage = Storage::GONE);
        given.iter().filter(|argument| argument.storage != Storage::GONE).for_each(|argument| {
            self.retain(argument.storage);
        });
        self.graph.frames.push(Frame {
            instance,
            arguments: given,
            name,
            last: 0,
            saved: VecDeque::new(),
            held: Vec::new(),
            places: 0,
            is_redeemed: false,
        });
        self.mode = Mode::Promise(self.graph.frames.len() - 1);
        self.begin(instance, arguments)
    }

    /// What a block puts out that has run so.
    pub fn end_checkpoint(&mut self, pass: &Pass<'p>) -> Vec<Value> {
        self.mode = Mode::Keep;
        let frame = self.graph.frames.len() - 1;
        if self.graph.frames[frame].places == 0 {
            self.leave(frame);
        }
        self.end(pass)
    }

    /// Begins to run a block forward again.
    pub fn redeem(&mut self, frame: usize) {
        self.graph.frames[frame].is_redeemed = true;
        let (instance, arguments) = (self.graph.frames[frame].instance, self.graph.frames[frame].arguments.clone());
        let copies = std::mem::take(&mut self.copies);
        self.mode = Mode::Redeem(frame);
        let pass = self.begin(instance, &arguments);
        self.second = Some(Second { pass, frame, copies });
    }

    /// Runs a block that runs a second time on to its next border, or to the last tensor that a node wants.
    pub fn run_second(&mut self) -> Option<Stop> {
        let Second { mut pass, frame, copies } = self.second.take()?;
        if let Some((crossing, _)) = self.advance(&mut pass) {
            self.second = Some(Second { pass, frame, copies });
            return Some(Stop::Crossing(self.graph.frames[frame].name, crossing));
        }
        if pass.instance.program.checkpoint.is_some_and(|checkpoint| checkpoint.is_reentrant) {
            for result in self.results(pass.instance, &pass.slots) {
                self.retain(result.storage);
                self.graph.frames[frame].held.push(result.storage);
            }
        }
        // An exception ends the pass: all names go.
        for slot in pass.given..pass.slots.len() {
            self.drop_slot(&mut pass.slots, Slot(slot as u32));
        }
        self.mode = Mode::Keep;
        self.end_autocast();
        self.copies = copies;
        None
    }

    /// Gives back the arguments of a checkpoint, none of whose places is left.
    pub fn leave(&mut self, frame: usize) {
        std::mem::take(&mut self.graph.frames[frame].held).into_iter().for_each(|held| self.release(held));
        for argument in std::mem::take(&mut self.graph.frames[frame].arguments) {
            if argument.storage != Storage::GONE {
                self.release(argument.storage);
            }
        }
    }

    /// Ends autocast, which gives back its copies of weights.
    pub fn end_autocast(&mut self) {
        let copies = std::mem::take(&mut self.copies);
        self.release_all(&copies);
    }
}
