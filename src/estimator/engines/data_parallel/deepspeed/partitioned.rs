//! ZeRO stage 3 (runtime/zero/stage3.py, deepspeed 0.19.8, with `overlap_comm` and `contiguous_gradients`): each device holds a
//! part of every weight, gathers what a module needs, and updates its parts in fp32.

use std::ops::Range;

use super::coordinator::{Coordinator, Parameter};
use super::small::Small;
use super::{DeepSpeed, id, master};
use crate::estimator::engines::acts::{Act, ModuleHook, Name};
use crate::estimator::operators::{Part, Registry, Weight};

/// Elements of a device's parts from which on a group of weights is full (`sub_group_size`).
const GROUP: u64 = 1_000_000_000;

/// Bytes of a norm (`get_norm_dtype`).
const NORM: u64 = 8;

/// The optimizer of stage 3 with the gathers of a step under way.
#[derive(Clone, Debug)]
pub struct Partitioned {
    of: DeepSpeed,
    coordinator: Coordinator,
    /// Trained weights, by their places among all.
    trained: Vec<usize>,
    /// Which of them are updated together.
    groups: Vec<Range<usize>>,
    /// Gradients that wait for their sum over devices, by the places of their weights.
    bucket: Vec<usize>,
    waiting: u64,
}

impl Partitioned {
    /// The optimizer of the weights of a model.
    pub fn new(of: DeepSpeed, parameters: Vec<Parameter>, modules: Vec<Vec<usize>>) -> Self {
        let is_trained = |place: &usize| parameters[*place].is_trained;
        let trained: Vec<_> = (0..parameters.len()).filter(is_trained).collect();
        let coordinator = Coordinator::new(of.devices, parameters, &modules);
        // `_create_fp16_sub_groups`.
        let (mut groups, mut begin, mut sum) = (Vec::new(), 0, 0_u64);
        for (index, &place) in trained.iter().enumerate() {
            sum = sum.saturating_add(coordinator.part(place));
            if sum >= GROUP || index + 1 == trained.len() {
                groups.push(begin..index + 1);
                (begin, sum) = (index + 1, 0);
            }
        }
        Self { of, coordinator, trained, groups, bucket: Vec::new(), waiting: 0 }
    }

    /// Elements of the device's parts of each weight of a group.
    fn parts(&self, group: usize) -> Vec<u64> {
        let group = self.groups.get(group).cloned().unwrap_or_default();
        self.trained[group].iter().map(|&place| self.coordinator.part(place)).collect()
    }

    fn elements(&self, group: usize) -> u64 {
        self.parts(group).into_iter().fold(0, u64::saturating_add)
    }

    fn all_elements(&self) -> u64 {
        (0..self.groups.len()).map(|group| self.elements(group)).fold(0, u64::saturating_add)
    }

    /// The weights in fp32, one a group.
    pub fn masters(&self, registry: &mut Registry) -> Vec<Weight> {
        (0..self.groups.len()).map(|group| master(self.elements(group), registry)).collect()
    }

    /// `__init__`: weights are divided one by one, then the parts of trained ones are brought into one tensor.
    pub fn wrap(&self, registry: &mut Registry) -> Vec<Act> {
        let mut acts = Vec::new();
        for (place, parameter) in self.coordinator.parameters().iter().enumerate() {
            let part = id(registry, Part::FlatWeights, self.coordinator.part(place).saturating_mul(2));
            let act = if parameter.is_trained { Act::More(Name::Partition, part) } else { Act::State(part) };
            acts.extend([act, Act::DropWholeOf(parameter.number)]);
        }
        // `inf_or_nan_tracker`; `defragment` brings the parts to the host and back.
        acts.push(Act::State(id(registry, Part::Clipping, 1)));
        acts.extend([Act::Drop(Name::Partition), Act::EmptyCache]);
        let all = self.all_elements();
        let half = all.saturating_mul(2);
        acts.push(Act::State(id(registry, Part::FlatWeights, half)));
        for group in 0..self.groups.len() {
            let single = self.elements(group).saturating_mul(4);
            acts.push(Act::Workspace(id(registry, Part::Cloned, single)));
            acts.extend([Act::State(id(registry, Part::MasterWeight, single)), Act::EndWorkspace(0)]);
        }
        let largest = (0..self.groups.len()).map(|group| self.elements(group)).max().unwrap_or_default();
        acts.push(Act::Brief(id(registry, Part::GradientInFp32, largest.saturating_mul(4))));
        acts.push(Act::State(id(registry, Part::Bucket, self.of.bucket.saturating_mul(2))));
        acts.push(Act::State(id(registry, Part::AveragedGradients, half)));
        // Each trained weight is gathered while it gets its hook.
        for &place in &self.trained {
            acts.push(Act::Brief(self.coordinator.whole(place, Part::GatheredWeight, registry)));
        }
        acts
    }

    /// What is done at a module.
    pub fn module(&mut self, module: usize, hook: ModuleHook, registry: &mut Registry) -> Vec<Act> {
        self.coordinator.module(module, hook, registry)
    }

    /// A forward pass begins.
    pub fn begin_forward(&mut self, registry: &mut Registry) -> Vec<Act> {
        self.coordinator.begin_forward(registry)
    }

    /// `reduce_independent_p_g_buckets_and_remove_grads`: the gradient of a weight is there.
    pub fn gradient(&mut self, number: usize, registry: &mut Registry) -> Vec<Act> {
        let mut acts = Vec::new();
        let Some(place) = self.coordinator.place(number) else { return acts };
        let elements = self.coordinator.parameters()[place].elements;
        if self.waiting.saturating_add(elements) > self.of.bucket && self.waiting > 0 {
            self.reduce(&mut acts, registry);
        }
        // A gradient that is larger than the bucket stays where it is.
        if self.waiting.saturating_add(elements) <= self.of.bucket {
            acts.push(Act::DropGradient(number));
        }
        self.bucket.push(place);
        self.waiting = self.waiting.saturating_add(elements);
        acts
    }

    /// `independent_gradient_partition_epilogue`, and what the coordinator has left.
    pub fn after_backward(&mut self, registry: &mut Registry) -> Vec<Act> {
        let mut acts = Vec::new();
        self.reduce(&mut acts, registry);
        acts.extend(self.coordinator.after_backward());
        acts
    }

    /// `reduce_scatter_coalesced` in runtime/comm/coalesced_collectives.py: the devices' parts of all gradients side by side, with
    /// what pads them.
    fn reduce(&mut self, acts: &mut Vec<Act>, registry: &mut Registry) {
        let mut waiting = std::mem::take(&mut self.bucket);
        self.waiting = 0;
        waiting.sort_unstable();
        let elements = |place: usize| self.coordinator.parameters()[place].elements;
        let mut tensors = Vec::new();
        let is_as_it_is = matches!(*waiting, [one] if elements(one).is_multiple_of(self.of.devices));
        if !waiting.is_empty() && !is_as_it_is {
            for rank in 0..self.of.devices {
                for &place in &waiting {
                    let part = self.coordinator.part(place);
                    let own = elements(place).saturating_sub(rank.saturating_mul(part)).min(part);
                    if own < part {
                        tensors.push(part - own);
                    }
                }
            }
            let parts = waiting.iter().map(|&place| self.coordinator.part(place)).fold(0, u64::saturating_add);
            tensors.push(parts.saturating_mul(self.of.devices));
        }
        for elements in &tensors {
            acts.push(Act::Workspace(id(registry, Part::ReduceOutput, elements.saturating_mul(2))));
        }
        acts.extend(tensors.iter().map(|_| Act::EndWorkspace(0)));
        acts.extend(waiting.iter().map(|&place| Act::DropGradient(self.coordinator.parameters()[place].number)));
    }

    /// `step` up to the first group: weights go, and the norm of all gradients is taken.
    pub fn before_update(&mut self, registry: &mut Registry) -> Vec<Act> {
        let released = self.coordinator.release_all(registry);
        let checked = if self.of.is_fp16 { self.check_overflow(registry) } else { Vec::new() };
        let mut small = Small::new(registry);
        small.acts.extend(released.into_iter().chain(checked));
        for group in 0..self.groups.len() {
            // `get_grad_norm_direct`.
            let parts = self.parts(group);
            let norms: Vec<_> = parts.iter().map(|&part| small.norm(part, Part::GradientInFp64, NORM)).collect();
            let all = NORM * norms.len() as u64;
            let stacked = small.take(all);
            let squares = small.next(stacked, all);
            let sum = small.next(squares, NORM);
            let root = small.take(NORM);
            let absolute = small.take(NORM);
            let infinite = small.next(absolute, 1);
            let flags = [infinite, small.take(1), small.take(1), small.take(4)];
            let wide = small.take(NORM);
            // The norm of the group stays until the step is over.
            small.take(NORM);
            small.end(wide);
            small.end_all(&[root, sum]);
            small.end_all(&norms);
            small.end_all(&flags);
        }
        // So does that of all.
        small.combine(self.groups.len() as u64, NORM);
        small.is_invalid(NORM);
        let norm = small.id(NORM);
        small.acts.push(Act::Name(Name::Norm, norm));
        small.acts
    }

    /// `has_overflow`: whether an element is infinite, or no number.
    fn check_overflow(&self, registry: &mut Registry) -> Vec<Act> {
        let mut small = Small::of_overflow(registry);
        let all = self.all_elements();
        let absolute = small.take(all.saturating_mul(2));
        let infinite = small.next(absolute, all);
        let any = small.reduced(all, 1);
        small.end_all(&[infinite, any]);
        let wrong = small.take(all);
        let any = small.reduced(all, 1);
        small.end_all(&[wrong, any]);
        let cloned = small.take(1);
        let overflow = small.next(cloned, 1);
        small.end(overflow);
        small.acts
    }

    /// `_prepare_fp32_grad_for_sub_group` and `unscale_and_clip_grads`.
    pub fn before_group(&self, group: usize, registry: &mut Registry) -> Vec<Act> {
        let (count, elements) = (self.parts(group).len(), self.elements(group));
        let mut small = Small::new(registry);
        let flat = (count > 1).then(|| {
            let flat = id(small.registry, Part::JoinedGradients, elements.saturating_mul(2));
            small.workspace(flat)
        });
        let single = id(small.registry, Part::GradientInFp32, elements.saturating_mul(4));
        small.acts.push(Act::Name(Name::Single, single));
        flat.into_iter().for_each(|flat| small.end(flat));
        small.clip(NORM);
        small.acts
    }

    /// `_release_sub_group`.
    pub fn after_group(&self) -> Vec<Act> {
        vec![Act::Drop(Name::Single)]
    }

    /// `_post_step`, and the end of the step.
    pub fn after_update(&mut self, registry: &mut Registry) -> Vec<Act> {
        let mut acts = self.coordinator.gather_persistent(registry);
        acts.extend((0..=self.groups.len()).map(|_| Act::EndWorkspace(0)));
        acts.push(Act::Same(Name::ToldNorm, Name::Norm));
        acts
    }
}
