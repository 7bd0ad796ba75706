//! The model is built: its class makes weights, peft adds adapters, and engines take both.

use std::collections::HashMap;

use super::acts::{NO_NAMES, Scope};
use super::event::{Moment, Storage};
use super::graph::Instance;
use super::play::Play;
use super::score::{Own, Played, Score, Stage};
use super::tape::KeptWorkspace;
use crate::estimator::engines::{Act, DataParallel, Ddp, Hook, Name, Parameter, Piece, Told, Zero, largest_part};
use crate::estimator::operators::{Added, ModuleKind, Place, Registry, Size, Tensor, TensorId};
use crate::estimator::units::{DType, Widths};

/// A tensor as DDP is told of it.
fn piece(tensor: &Tensor, widths: &Widths) -> Piece {
    let dtype = if let Size::Of(form) = tensor.size { form.dtype } else { DType::Byte };
    Piece { bytes: tensor.size.bytes(widths), dtype }
}

impl<'p> Play<'p> {
    /// The model is loaded, and engines take it.
    pub fn load_model(&mut self) {
        let Score { networks, tensors, round, .. } = self.score;
        if self.gives_gradients_away() || self.score.plan.updates_in_backward {
            self.tape.stop_at_gradients();
        }
        self.divide();
        self.tape.mark(Moment::Load);
        if round.builds_parts {
            self.tape.mark(Moment::Loaded);
            if !self.is_sharded() {
                self.each_weight(|play, own| {
                    own.weight.values.iter().for_each(|&tensor| {
                        play.tape.allocate(tensor);
                    });
                });
            }
            for (network, build) in round.builds.iter().enumerate() {
                self.each_unit_of_network(network, Hook::Wrap);
                self.acts(build, false);
            }
            return;
        }
        for (network, constants) in networks.iter().zip(&tensors.constants).filter(|(network, _)| network.is_own) {
            let buffers = self.build(network, constants);
            if self.buffers.is_empty() {
                self.buffers = buffers.into_iter().zip(tensors.cast.iter().copied()).collect();
            }
        }
        networks.iter().filter(|network| network.is_own).for_each(|network| self.add_adapters(network));
        if let Some(network) = networks.first()
            && self.score.plan.data_parallel.casts_all()
        {
            self.cast_all(network);
        }
        self.flatten();
        self.each_unit(Hook::Wrap);
        (0..networks.len()).for_each(|network| self.hook(Scope::Frozen(network), Hook::Wrap));
        self.tape.mark(Moment::Loaded);
    }

    /// What DDP is told of the trained network: a backward pass is played for the order of gradients.
    pub fn rehearse(mut self, registry: &Registry) -> Told {
        self.tape.stop_at_gradients();
        self.load(&self.score.tensors.batch, 1);
        self.micro_batch(0);
        self.told(registry)
    }

    /// What DDP is told of the trained network, when a backward pass was played.
    fn told(&mut self, registry: &Registry) -> Told {
        let networks = &self.score.networks;
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
        let constants = self.score.tensors.constants.first();
        let buffers = constants.into_iter().flatten().copied().map(piece).collect();
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
    pub fn begin(&mut self) {
        self.cast_buffers();
        self.each_unit(Hook::FirstForward);
    }

    fn cast_buffers(&mut self) {
        for (buffer, cast) in std::mem::take(&mut self.buffers) {
            self.tape.allocate(cast);
            self.tape.release(buffer);
        }
    }

    /// Weights and buffers are cast one after another, as modules have them (`Module._apply` in torch/nn/modules/module.py).
    /// Buffers stand before a head.
    fn cast_all(&mut self, network: &'p Played<'p>) {
        self.each_weight_of(network, |play, Own { weight, number, .. }| {
            if weight.place == Place::Head {
                play.cast_buffers();
            }
            let cast = weight.values.iter().map(|&tensor| play.tape.allocate(tensor)).collect::<Vec<_>>();
            let cast = cast.into_iter().map(|storage| play.tape.repeated(storage)).collect();
            let before = std::mem::replace(&mut play.whole[number], cast);
            play.tape.release_all(&before);
        });
        self.cast_buffers();
    }

    /// Has threads keep the workspaces of libraries. In a steady step they have taken those that they ever take.
    pub fn keep_workspaces(&mut self, libraries: &[TensorId], is_steady: bool) {
        let networks = &self.score.networks;
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
        let mut has_embedding = false;
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
            let is_embedding = number == network.embedding;
            if is_embedding && has_embedding {
                tied_head.extend(storages);
            } else if play.is_sharded() && weight.packing.is_empty() {
                play.whole[number] = storages;
            } else if weight.made.is_some() {
                plain[number] = storages;
            }
            has_embedding |= is_embedding;
        });
        let buffers = constants.iter().map(|&constant| self.tape.allocate(constant)).collect();
        self.tape.release_all(&tied_head);
        let mut packed = Vec::new();
        self.each_weight_of(network, |play, Own { weight, number, .. }| {
            if !weight.packing.is_empty() {
                let made = play.tape.make(&weight.packing);
                packed.append(&mut plain[number]);
                if play.is_sharded() {
                    // The elements are a parameter, which goes when devices share it; scales and codes are not.
                    play.whole[number] = made.first().map(|&storage| play.tape.repeated(storage)).into_iter().collect();
                }
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
                let cast = weight.values.iter().map(|&tensor| play.tape.allocate(tensor)).collect::<Vec<_>>();
                if play.is_sharded() {
                    play.whole[number] = cast.into_iter().map(|storage| play.tape.repeated(storage)).collect();
                }
                play.tape.release(before);
            }
        });
    }

    /// Divides what is trained among devices, where the engine has it in tensors of its own.
    fn divide(&mut self) {
        self.number_modules();
        self.divide_updates();
        let DataParallel::DeepSpeed(deepspeed) = self.score.plan.data_parallel else { return };
        let mut weights: Vec<Parameter> = Vec::new();
        let widths = self.score.plan.widths();
        self.each_weight(|_, Own { weight, number, .. }| {
            let (place, is_trained) = (weight.place, weight.is_trained);
            let elements = weight.form.shape.elements(&widths);
            // An adapter stands behind the weight beside which it is.
            let beside = weights.iter().rposition(|other| other.place == place).filter(|_| weight.added.is_some());
            let at = beside.map_or(weights.len(), |beside| beside + 1);
            weights.insert(at, Parameter { number, place, elements, is_trained });
        });
        let zero = Zero::new(deepspeed, weights, self.modules.weights.clone());
        let masters = zero.masters(&mut self.registry);
        let updates =
            masters.iter().map(|master| self.score.plan.optimizer.update(master, &mut self.registry)).collect();
        self.flat = Some((zero, updates));
    }

    /// Leaves the device its part of the weights to update, where devices share that alone.
    fn divide_updates(&mut self) {
        let DataParallel::Ddp(Ddp { updaters: updaters @ 2.., .. }) = self.score.plan.data_parallel else { return };
        let widths = self.score.plan.widths();
        let mut trained = Vec::new();
        self.each_weight(|_, Own { weight, number, .. }| {
            if weight.is_trained {
                trained.push((number, weight.form.shape.elements(&widths)));
            }
        });
        let elements = trained.iter().map(|(_, elements)| *elements).collect::<Vec<_>>();
        let mut updated = vec![false; self.score.count];
        for ((number, _), is_own) in trained.into_iter().zip(largest_part(&elements, updaters)) {
            updated[number] = is_own;
        }
        self.updated = Some(updated);
    }

    /// Gives modules numbers: those around all blocks first.
    fn number_modules(&mut self) {
        let mut next = self.score.plan.data_parallel.outer_modules();
        let mut first = |instance: &Instance<'_>| {
            let first = next;
            next += instance.program.modules.len();
            first
        };
        let of_stage = |stage: &Stage<'_>| stage.instances.iter().map(&mut first).collect::<Vec<_>>();
        self.modules.first = self.divided().map(of_stage).collect();
        if !self.score.plan.data_parallel.is_told_of(Some(ModuleKind::Adapter)) {
            return;
        }
        self.modules.weights = self.weights_of_modules();
        self.modules.names = vec![NO_NAMES; next];
        self.modules.units = vec![None; next];
        self.modules.before = vec![None; next];
        for (stage, first) in self.divided().zip(self.modules.first.clone()) {
            let mut last = vec![None; stage.units.len()];
            for ((units, first), last) in stage.modules.iter().zip(first).zip(&mut last) {
                for (number, unit) in units.iter().enumerate().filter(|(_, unit)| !unit.is_empty()) {
                    let module = first + number;
                    self.modules.units[module] = Some(unit);
                    self.modules.before[module] = last.replace(module);
                }
            }
            self.modules.last.push(last);
        }
    }

    /// The numbers of the weights that are each module's own.
    fn weights_of_modules(&self) -> Vec<Vec<usize>> {
        let instances = self.divided().flat_map(|stage| &stage.instances);
        let of = |instance: &Instance<'_>| {
            let number = |weight: &usize| instance.weights[*weight];
            let modules = instance.program.modules.iter();
            modules.map(|module| module.weights.iter().map(number).collect()).collect::<Vec<Vec<_>>>()
        };
        let outer = vec![Vec::new(); self.score.plan.data_parallel.outer_modules()];
        outer.into_iter().chain(instances.flat_map(of)).collect()
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
}
