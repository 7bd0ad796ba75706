//! Passes that are given other than a micro-batch: prompts, and the tokens that a network generates, one at a time.

use std::collections::BTreeMap;

use super::event::Moment;
use super::graph::{Repeated, Value};
use super::play::Play;
use crate::estimator::engines::Pass;
use crate::estimator::operators::TensorId;
use crate::estimator::units::Extent;

/// What passes are given, where that is other than a micro-batch.
#[derive(Default)]
pub struct Given {
    /// It, in the present pass.
    pub extent: Option<Extent>,
    /// It, in the present round.
    pub round: Option<Extent>,
    /// The tensors that stand for others in the present extent.
    pub stand_ins: Vec<Option<TensorId>>,
    /// The tensors that kernels ask for, each once; none until one stands for another.
    pub asked: Vec<TensorId>,
    /// Keys and values of the tokens so far, by network, stage and unit.
    pub caches: BTreeMap<(usize, usize, usize), [Repeated; 2]>,
    /// What layers of a network were given until now, where its class puts that out.
    pub states: Vec<(Value, Repeated)>,
}

impl Given {
    /// Keys and values that a unit of a stage of a network has of the tokens so far.
    pub fn cache(&self, of: (usize, usize, usize)) -> [Value; 2] {
        let value = |kept: Repeated| Value { storage: kept.storage(), node: None };
        self.caches.get(&of).map_or([Value::NONE; 2], |cache| cache.map(value))
    }
}

impl<'p> Play<'p> {
    /// Plays passes `times` times, or the last of these where not all are played. Each round is given more than the one before.
    pub fn rounds(&mut self, [extent, grows]: [Extent; 2], times: u32, passes: &'p [Pass], between: &'p [Pass]) {
        if grows.cached > 0 {
            self.tape.mark(Moment::Generate);
        }
        for round in self.skipped(times)..times {
            let rounds = round.saturating_add(1);
            let more = |of: u32, each: u32| of.saturating_add(each.saturating_mul(rounds));
            self.given.round = Some(Extent {
                sequences: more(extent.sequences, grows.sequences),
                tokens: more(extent.tokens, grows.tokens),
                cached: more(extent.cached, grows.cached),
            });
            self.extend(self.given.round);
            passes.iter().for_each(|pass| self.pass(pass));
            if round + 1 < times {
                between.iter().for_each(|pass| self.pass(pass));
            }
        }
    }

    /// How many of so many rounds are not played.
    pub fn skipped(&self, times: u32) -> u32 {
        times.saturating_sub(self.score.depth.tokens())
    }

    /// The keys and values of a network, which has them no more.
    pub fn take_cache(&mut self, network: usize) -> Vec<Repeated> {
        let caches = &mut self.given.caches;
        let mut of_network = caches.split_off(&(network, 0, 0));
        caches.extend(of_network.split_off(&(network + 1, 0, 0)));
        of_network.into_values().rev().flatten().collect()
    }

    /// The keys and values of a network go.
    pub fn drop_cache(&mut self, network: usize) {
        let kept = self.take_cache(network);
        self.tape.release_all(&kept);
    }

    /// Has what follows be given so many tokens. A tensor of as many bytes as before is the same one.
    pub fn extend(&mut self, extent: Option<Extent>) {
        self.given.extent = extent;
        let Some(extent) = extent else {
            self.given.stand_ins.clear();
            return self.tape.stand_in(Vec::new());
        };
        let widths = self.score.plan.widths();
        let of_extent = widths.of_extent(extent);
        if self.given.asked.is_empty() {
            self.given.asked = self.asked();
        }
        for &tensor in &self.given.asked {
            let place = tensor.index();
            if self.given.stand_ins.len() <= place {
                self.given.stand_ins.resize(place + 1, None);
            }
            let bytes = self.registry.tensor(tensor).size.bytes(&of_extent);
            if self.given.stand_ins[place].is_none_or(|before| self.registry.bytes(before, &widths) != bytes) {
                self.given.stand_ins[place] = Some(self.registry.of_extent(tensor, extent));
            }
        }
        self.tape.stand_in(self.given.stand_ins.clone());
    }

    /// The tensors that kernels ask for forward, each once. Layers that are alike ask for the same ones.
    fn asked(&self) -> Vec<TensorId> {
        let instances =
            self.score.networks.iter().flat_map(|network| &network.stages).flat_map(|stage| &stage.instances);
        let programs = instances.chain(self.score.functions.iter().map(|(instance, _)| instance));
        let kernels = programs.flat_map(|instance| &instance.program.kernels);
        let asked = kernels.flat_map(|kernel| {
            let asides = kernel.asides.iter().map(|aside| aside.tensor);
            kernel.output.into_iter().chain(asides).chain(kernel.brief)
        });
        let mut asked: Vec<_> = asked.collect();
        asked.sort_by_key(|tensor| tensor.index());
        asked.dedup();
        asked
    }
}
