//! What engines and optimizers do at a hook, done one act after another.

use super::event::Storage;
use super::play::{EMBEDDING, Play};
use crate::estimator::engines::{Act, Name};

/// What each name has.
pub type Names = [Vec<Storage>; Name::COUNT];

/// What they have at the beginning.
pub const NO_NAMES: Names = [const { Vec::new() }; Name::COUNT];

/// The unit of the engine on which acts are done: that of the whole model, or another by its stage and its place there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// That of the whole model.
    Root,
    /// One of a block: its stage, and its place there.
    Block(usize, usize),
    /// A module, by its number among all of the network.
    Module(usize),
    /// That of a frozen network, by its number.
    Frozen(usize),
}

/// Of what an act is.
#[derive(Clone, Copy)]
pub struct Of {
    /// The unit.
    pub scope: Scope,
    /// The number of the weight.
    pub number: usize,
    /// Whether the optimizer's states are there.
    pub has_states: bool,
}

impl Play<'_> {
    pub fn acts(&mut self, acts: &[Act], has_states: bool) {
        acts.iter().for_each(|&act| self.act(act, Of { scope: Scope::Root, number: EMBEDDING, has_states }));
    }

    /// What a name has.
    pub fn named(&mut self, name: Name, scope: Scope) -> &mut Vec<Storage> {
        let names = match scope {
            _ if !name.is_of_unit() => &mut self.names,
            Scope::Root => &mut self.root_names,
            Scope::Block(stage, place) => &mut self.unit_names[stage][place],
            Scope::Module(module) => &mut self.modules.names[module],
            Scope::Frozen(network) => &mut self.frozen_names[network],
        };
        &mut names[name as usize]
    }

    /// Gives a name other tensors; what it had goes.
    pub fn name(&mut self, name: Name, scope: Scope, storages: Vec<Storage>) {
        let before = std::mem::replace(self.named(name, scope), storages);
        before.into_iter().for_each(|storage| self.tape.release(storage));
    }

    pub fn act(&mut self, act: Act, of: Of) {
        let Of { scope, number, has_states } = of;
        match act {
            Act::State(_) | Act::Shared(_) | Act::NameFirst(..) if has_states => {}
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
            Act::Name(name, tensor) | Act::NameFirst(name, tensor) => {
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
            Act::UnlessNamed(_) => {}
            Act::Brief(tensor) => self.tape.brief(tensor),
            Act::Listed(tensor) => {
                let storage = self.tape.allocate(tensor);
                self.listed.push(self.tape.repeated(storage));
            }
            Act::DropGradients => {
                self.numbers(scope).into_iter().rev().for_each(|number| self.tape.zero_gradient(number));
            }
            Act::RedistributeGradients => {
                for (number, tensor) in self.redistributed(scope) {
                    self.tape.replace_gradient(number, tensor);
                }
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
            Act::Value(number, tensor) => {
                let storage = self.tape.allocate(tensor);
                self.tape.set_value(number, Some(storage));
            }
            Act::DropValue(number) => self.tape.set_value(number, None),
            Act::Numbered(number, tensor) => {
                let storage = self.tape.allocate(tensor);
                self.numbered.insert(number, storage);
            }
            Act::DropNumbered(number) => {
                self.numbered.remove(&number).into_iter().for_each(|storage| self.tape.release(storage));
            }
            Act::EmptyCache => self.tape.empty_cache(),
            Act::Workspace(tensor) => self.tape.take_workspace(tensor),
            Act::EndWorkspace(before) => self.tape.drop_workspace(before),
        }
    }
}
