//! Gradients are complete: engines reduce them, the training program clips them, and the optimizer updates the weights.

use super::acts::{Of, Scope};
use super::play::Play;
use super::score::owned;
use crate::estimator::engines::{Act, Hook, Name, Update};

impl Play<'_> {
    /// The optimizer goes through the weights that an engine has in fp32.
    pub fn update_masters(&mut self, updates: &[Update], has_states: bool, only_states: bool) {
        for pass in 0..self.score.plan.optimizer.passes() {
            for update in updates {
                let acts = update.passes[pass].iter().copied().filter(|act| !only_states || act.is_state());
                self.acts(&acts.collect::<Vec<_>>(), has_states);
            }
            self.acts(&[Act::Drop(Name::Root), Act::Drop(Name::Denominator)], has_states);
            self.tape.release_all(&std::mem::take(&mut self.listed));
        }
    }

    /// The step of an engine that has weights and gradients in flat tensors.
    pub fn update_flat(&mut self, has_states: bool, only_states: bool) {
        let Some((mut zero, updates)) = self.flat.take() else { return };
        let has_states = has_states || zero.has_states();
        let registry = &mut self.registry;
        let acts = if only_states { zero.state(registry) } else { zero.before_update(registry) };
        self.acts(&acts, has_states);
        for (group, masters) in zero.groups(updates.len()).into_iter().enumerate() {
            if !only_states {
                let acts = zero.before_group(group, &mut self.registry);
                self.acts(&acts, has_states);
            }
            self.update_masters(&updates[masters], has_states, only_states);
            if !only_states {
                self.acts(&zero.after_group(), has_states);
            }
        }
        if !only_states {
            let acts = zero.after_update(&mut self.registry);
            self.acts(&acts, has_states);
        }
        self.flat = Some((zero, updates));
    }

    /// Whether gradients are copied into buckets that take their place, and go.
    pub fn gives_gradients_away(&self) -> bool {
        self.score.plan.data_parallel.takes_gradients()
    }

    /// The engine's part when the gradient of a weight is complete.
    pub fn reduce(&mut self, number: usize) {
        self.arrivals.push(number);
        if self.score.plan.updates_in_backward {
            self.update_in_backward(number);
        }
        if self.gives_gradients_away() {
            self.tape.zero_gradient(number);
        }
        if let Some((zero, _)) = &mut self.flat {
            let acts = zero.gradient(number, self.is_last, &mut self.registry);
            self.acts(&acts, false);
        }
    }

    /// The optimizer updates a weight whose gradient is there, which goes (`register_post_accumulate_grad_hook` of PyTorch).
    fn update_in_backward(&mut self, number: usize) {
        let networks = &self.score.networks;
        let stages = networks.iter().filter(|network| network.is_updated).flat_map(|network| &network.stages);
        let blocks = stages.flat_map(|stage| stage.instances.iter().zip(&stage.updates));
        let own = blocks.flat_map(|(instance, updates)| owned(instance, updates)).find(|own| own.number == number);
        let of = Of { scope: Scope::Root, number, has_states: self.has_states };
        for acts in own.iter().flat_map(|own| &own.update.passes) {
            acts.iter().for_each(|&act| self.act(act, of));
            self.end_pass();
        }
        self.tape.zero_gradient(number);
    }

    /// The engine's part when the backward pass is over.
    pub fn end_reduction(&mut self) {
        if let Some((zero, _)) = &mut self.flat {
            let acts = zero.after_backward(self.is_last, &mut self.registry);
            self.acts(&acts, false);
        }
    }

    /// The gradients of all weights go.
    pub fn zero_gradients(&mut self) {
        self.each_weight(|play, own| play.tape.zero_gradient(own.number));
        self.each_unit(Hook::ZeroGradients);
    }

    /// The training program clips gradients by the norm of all.
    pub fn clip(&mut self) {
        let Some(norm) = self.score.round.norm else { return };
        self.around(Hook::Norms);
        self.each_weight(|play, own| {
            play.act(Act::Listed(norm), Of { scope: Scope::Root, number: own.number, has_states: false });
        });
        self.around(Hook::Norm);
        self.tape.release_all(&std::mem::take(&mut self.listed));
        self.around(Hook::Clip);
    }

    /// The optimizer goes through the weights, as often as it does. Without states it makes them; `only_states` leaves
    /// out the rest.
    pub fn update(&mut self, has_states: bool, only_states: bool) {
        if self.flat.is_some() {
            return self.update_flat(has_states, only_states);
        }
        let groups = if self.score.plan.task.has_groups { &[Some(true), Some(false)][..] } else { &[None] };
        let passes = 0..self.score.plan.optimizer.passes();
        for (group, pass) in groups.iter().flat_map(|&group| passes.clone().map(move |pass| (group, pass))) {
            self.each_weight(|play, own| {
                let is_elsewhere = play.updated.as_ref().is_some_and(|updated| !updated[own.number]);
                if is_elsewhere || group.is_some_and(|is_matrix| own.weight.sides.is_some() != is_matrix) {
                    return;
                }
                own.update.passes[pass].iter().for_each(|&act| match act {
                    _ if only_states && !act.is_state() => {}
                    _ => play.act(act, Of { scope: Scope::Root, number: own.number, has_states }),
                });
            });
            self.end_pass();
        }
    }

    /// The optimizer's function ends, and its names go.
    fn end_pass(&mut self) {
        let names = self.names[..Name::OF_UPDATE].iter_mut().flat_map(std::mem::take).collect::<Vec<_>>();
        names.into_iter().for_each(|storage| self.tape.release(storage));
        self.tape.release_all(&std::mem::take(&mut self.listed));
    }
}
