//! Modules of the divided network's class, whose hooks engines have: where a block enters and leaves them, forward, backward
//! and in a second pass.

use super::acts::{Names, Scope};
use super::graph::{Call, Instance, Pass, Value};
use super::play::Play;
use crate::estimator::engines::{Act, Hook, ModuleHook, Name, Unit};
use crate::estimator::operators::Crossing;

/// A block by its stage, and its place there.
pub type BlockPlace = (usize, usize);

/// What a play knows of modules, each by its number among those of all blocks that engines divide.
#[derive(Default)]
pub struct Modules<'p> {
    /// The number of the first one of each block, by its stage and its place there.
    pub first: Vec<Vec<usize>>,
    /// Their weights, by the numbers of these.
    pub weights: Vec<Vec<usize>>,
    /// What names have that each of them has.
    pub names: Vec<Names>,
    /// Those that are units of their own.
    pub units: Vec<Option<&'p Unit>>,
    /// The unit that runs before each of these in the same block.
    pub before: Vec<Option<usize>>,
    /// The last of these in each block, by its stage and its place there.
    pub last: Vec<Vec<Option<usize>>>,
    /// The one that was gathered ahead, on the way back.
    pub ahead: Option<usize>,
    /// The unit that has run forward, and whose turn in the backward pass is still to be called for.
    pub pending: Option<Scope>,
    /// Those whose turn in the backward pass has come and is not over.
    pub in_backward: Vec<usize>,
    /// Those whose input wants no gradient: their turn comes when the backward pass is over.
    pub late: Vec<usize>,
}

impl<'p> Play<'p> {
    /// Runs a block forward that has a place among those that engines divide, or none; `is_recomputed` where its nodes keep
    /// nothing.
    pub fn run_block(
        &mut self,
        place: Option<BlockPlace>,
        instance: &'p Instance<'p>,
        arguments: &[Value],
        is_recomputed: bool,
    ) -> Vec<Value> {
        let mut pass = if is_recomputed {
            let name = self.blocks.len();
            self.blocks.push(place);
            self.tape.begin_checkpoint(instance, arguments, name)
        } else {
            self.tape.begin(instance, arguments)
        };
        self.run_on(place, &mut pass);
        if is_recomputed { self.tape.end_checkpoint(&pass) } else { self.tape.end(&pass) }
    }

    fn run_on(&mut self, place: Option<BlockPlace>, pass: &mut Pass<'p>) {
        while let Some((crossing, value)) = self.tape.advance(pass) {
            if let Some(place) = place {
                let back = self.cross(place, crossing, Some(value));
                self.tape.pass_border(pass, back);
            }
        }
    }

    /// A block is at the border of a module, with a value there; without one in a second pass. What is called for on the way
    /// back.
    pub fn cross(&mut self, (stage, place): BlockPlace, crossing: Crossing, value: Option<Value>) -> Option<Call> {
        let first = self.modules.first.get(stage).and_then(|of| of.get(place)).copied().unwrap_or_default();
        let outer = self.outer_modules();
        let left = ModuleHook::AfterForward { again: value.is_none() };
        let (module, hook, back) = match crossing {
            Crossing::Enter(module) => {
                let hook = ModuleHook::BeforeForward { again: value.is_none() };
                (first + module, hook, Some(Hook::AfterBackward))
            }
            Crossing::Leave(module) => (first + module, left, Some(Hook::BeforeBackward)),
            Crossing::Read(module, other) => (first + module, ModuleHook::Reads(first + other), None),
            Crossing::LeaveModel => (outer.saturating_sub(1), left, Some(Hook::BeforeBackward)),
        };
        self.at_module(module, hook);
        if !self.tape.is_recording {
            return None;
        }
        if value?.node.is_none() {
            if back == Some(Hook::AfterBackward) && self.score.plan.data_parallel.waits_for_weights() {
                let call = self.call_for(Scope::Module(module), Hook::AfterBackward);
                self.tape.call_on_the_way_back(call);
            } else {
                self.modules.late.extend((back == Some(Hook::AfterBackward)).then_some(module));
            }
            return None;
        }
        Some(self.call_for(Scope::Module(module), back?))
    }

    /// The engine's part at a module.
    pub fn at_module(&mut self, module: usize, hook: ModuleHook) {
        if let Some((zero, _)) = &mut self.flat {
            let acts = zero.module(module, hook, &mut self.registry);
            self.acts(&acts, false);
        } else if let Some(hook) = hook.of_unit() {
            let scope = Scope::Module(module);
            match hook {
                // It is there, where its turn in the backward pass came before the second pass.
                Hook::BeforeForwardAgain if self.is_gathered(module) => {}
                Hook::BeforeForwardAgain if self.modules.ahead == Some(module) => {
                    self.modules.ahead = None;
                    self.unit_acts(scope, Hook::TakeAhead);
                }
                // It stays where its turn in the backward pass has come.
                Hook::AfterForwardAgain if self.modules.in_backward.contains(&module) => {}
                _ => self.unit_acts(scope, hook),
            }
        }
    }

    /// Whether the weights of a unit within a block are there.
    fn is_gathered(&mut self, module: usize) -> bool {
        !self.named(Name::Weights, Scope::Module(module)).is_empty()
    }

    /// The gradient of the result of a unit within a block is there. The unit is brought there if it is not, and then the one that
    /// ran before it is gathered ahead (`pre_backward` in torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py, PyTorch
    /// 2.15).
    pub fn before_backward_of(&mut self, module: usize) {
        self.modules.in_backward.push(module);
        if !self.is_gathered(module) {
            let is_ahead = self.modules.ahead == Some(module);
            self.modules.ahead = self.modules.ahead.filter(|_| !is_ahead);
            let hook = if is_ahead { Hook::BeforeBackward } else { Hook::BeforeForwardAgain };
            self.unit_acts(Scope::Module(module), hook);
        }
        let before = self.modules.before.get(module).copied().flatten();
        if before.is_none_or(|before| !self.is_gathered(before) && self.modules.ahead != Some(before)) {
            self.unit_acts(Scope::Module(module), Hook::Ahead);
            self.modules.ahead = before;
        }
    }

    /// The turn of modules whose input wanted no gradient (`_root_post_backward_final_callback` in
    /// torch/distributed/fsdp/_fully_shard/_fsdp_state.py, PyTorch 2.15).
    pub fn end_late(&mut self) {
        let late = std::mem::take(&mut self.modules.late);
        if self.flat.is_none() && !late.is_empty() {
            late.into_iter().for_each(|module| self.hook(Scope::Module(module), Hook::AfterBackward));
            self.acts(&[Act::Drop(Name::Reducing)], false);
        }
    }

    /// How many modules there are around all blocks, the one with embedding, layers and final norm last.
    fn outer_modules(&self) -> usize {
        self.score.plan.data_parallel.outer_modules()
    }

    /// A forward pass enters the modules around all blocks.
    pub fn enter_outer(&mut self) {
        if let Some((zero, _)) = &mut self.flat {
            let acts = zero.begin_forward(&mut self.registry);
            self.acts(&acts, false);
        }
        (0..self.outer_modules()).for_each(|module| self.at_module(module, ModuleHook::BeforeForward { again: false }));
    }

    /// It leaves those that put out the loss.
    pub fn leave_outer(&mut self, loss: Option<Value>) {
        for module in (0..self.outer_modules().saturating_sub(1)).rev() {
            self.at_module(module, ModuleHook::AfterForward { again: false });
            if self.tape.is_recording && loss.is_some_and(|loss| loss.node.is_some()) {
                let call = self.call_for(Scope::Module(module), Hook::BeforeBackward);
                self.tape.call_on_the_way_back(call);
            }
        }
    }
}
