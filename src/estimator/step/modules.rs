//! Modules of the divided network's class, whose hooks engines have: where a block enters and leaves them, forward, backward
//! and in a second pass.

use super::acts::Scope;
use super::graph::{Call, Instance, Pass, Value};
use super::play::Play;
use crate::estimator::engines::{Hook, ModuleHook};
use crate::estimator::operators::Crossing;

/// A block by its stage, and its place there.
pub type BlockPlace = (usize, usize);

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
        let first = self.first_modules.get(stage).and_then(|of| of.get(place)).copied().unwrap_or_default();
        let outer = self.outer_modules();
        let (module, hook, back) = match crossing {
            Crossing::Enter(module) => {
                let hook = ModuleHook::BeforeForward { again: value.is_none() };
                (first + module, hook, Some(Hook::AfterBackward))
            }
            Crossing::Leave(module) => (first + module, ModuleHook::AfterForward, Some(Hook::BeforeBackward)),
            Crossing::Read(module, other) => (first + module, ModuleHook::Reads(first + other), None),
            Crossing::LeaveModel => (outer.saturating_sub(1), ModuleHook::AfterForward, Some(Hook::BeforeBackward)),
        };
        self.at_module(module, hook);
        value?.node?;
        Some(self.call_for(Scope::Module(module), back?))
    }

    /// The engine's part at a module.
    pub fn at_module(&mut self, module: usize, hook: ModuleHook) {
        if let Some((zero, _)) = &mut self.flat {
            let acts = zero.module(module, hook, &mut self.registry);
            self.acts(&acts, false);
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
            self.at_module(module, ModuleHook::AfterForward);
            if loss.is_some_and(|loss| loss.node.is_some()) {
                let call = self.call_for(Scope::Module(module), Hook::BeforeBackward);
                self.tape.call_on_the_way_back(call);
            }
        }
    }
}
