//! The order of a step: the model is built, micro-batches run forward and backward, the optimizer updates.

mod acts;
mod backward;
mod checkpoint;
mod event;
mod forward;
mod graph;
mod load;
mod modules;
mod norm;
mod passes;
mod pipeline;
mod play;
mod rounds;
mod score;
mod tape;
mod update;

pub use event::{Event, Moment};

use crate::estimator::engines::{Batches, DataParallel, Hook, Plan};
use crate::estimator::operators::Registry;
use pipeline::Rank;
use play::Play;
use score::{Function, Programs, Score};

/// Whether equal layers in a row are played in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Each of them.
    Whole,
    /// The first, the second for all between, and the last. The peak and who is alive then are the same.
    Folded,
}

impl Depth {
    /// How many micro-batches are played at most. The first makes the gradients and all others add to them, so that what
    /// the second does they all do.
    const fn micro_batches(self) -> u32 {
        match self {
            Self::Whole => 64,
            Self::Folded => 2,
        }
    }

    /// How often a step goes through its micro-batches at most, where the optimizer updates each time. All begin alike.
    const fn epochs(self) -> u32 {
        match self {
            Self::Whole => 64,
            Self::Folded => 1,
        }
    }

    /// How many rounds of a loop over rows are played one by one at most.
    const fn rounds(self) -> u32 {
        match self {
            Self::Whole => 4096,
            Self::Folded => 1,
        }
    }

    /// How many rounds of generation are played at most, the last ones. A cache grows from round to round and all else is as
    /// large as before (`DynamicLayer.update` of transformers), so that the last pass needs most, and what it copies is what
    /// the one before left.
    const fn tokens(self) -> u32 {
        match self {
            Self::Whole => 4096,
            Self::Folded => 3,
        }
    }
}

/// Which steps are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// One that finds the optimizer's state there.
    Steady,
    /// The first ones; the first of all makes that state.
    First(u32),
}

/// All events of a play.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Every tensor that events speak of.
    pub registry: Registry,
    /// What happened.
    pub events: Vec<Event>,
    /// How many storages there were.
    pub storages: usize,
}

/// Plays steps of a training program.
pub fn play(plan: &Plan, depth: Depth, steps: Steps) -> Trace {
    let mut registry = Registry::default();
    let programs = Programs::all(plan, &mut registry);
    let functions = Function::all(plan, &mut registry);
    let mut score = Score::new(plan, depth, &programs, &functions, &mut registry);
    if let DataParallel::Ddp(ddp) = plan.data_parallel {
        // Its buckets follow the order in which the first backward pass makes gradients.
        let told = Play::new(&score, Registry::default()).rehearse(&registry);
        score.root = ddp.unit(&told, &mut registry);
    }
    let mut rank = plan.pipeline.map(|pipeline| Rank::new(pipeline, plan, &mut registry));
    let mut play = Play::new(&score, registry);
    play.load_model();
    // The first step of an engine that learns the order of modules is not like the others, and one that updates in between
    // leaves much to the next.
    let is_alone = !plan.data_parallel.learns_modules() && plan.task.epochs.is_none();
    let is_steady = steps == Steps::Steady && is_alone;
    play.prepare(is_steady);
    match steps {
        Steps::Steady if is_steady => play.step(&mut rank, true),
        Steps::Steady => (0..2).for_each(|number| play.step(&mut rank, number > 0)),
        Steps::First(count) => (0..count).for_each(|number| {
            play.step(&mut rank, number > 0);
        }),
    }
    plan.task.outside.iter().for_each(|pass| play.pass(pass));
    let Play { registry, tape, .. } = play;
    let (events, storages) = tape.finish();
    Trace { registry, events, storages }
}

impl<'p> Play<'p> {
    /// What is there before the first step: what the training program keeps, and in a steady step what those before it left.
    fn prepare(&mut self, is_steady: bool) {
        let Score { plan, tensors, .. } = self.score;
        for &tensor in &tensors.kept {
            self.tape.allocate(tensor);
        }
        if plan.task.batches == Batches::Once {
            self.load(&tensors.batch, 1);
        }
        if plan.keeps_workspaces {
            self.keep_workspaces(&tensors.libraries, is_steady);
        }
        if is_steady {
            self.begin();
            self.each_unit(Hook::SecondForward);
            (self.forwards, self.has_begun) = (2, true);
            self.update(false, true);
            self.leave(&tensors.left);
        }
    }

    /// Plays a step. The first of all makes the optimizer's state.
    fn step(&mut self, rank: &mut Option<Rank<'p>>, has_states: bool) {
        let Score { plan, depth, micro_batches, tensors, round, .. } = self.score;
        if plan.task.batches == Batches::EachStep {
            // All of a step come together.
            self.load(&tensors.batch, if *depth == Depth::Whole { *micro_batches } else { plan.micro_batches });
        }
        if round.builds_parts {
            self.zero_gradients();
        }
        (self.is_new_step, self.has_states) = (true, has_states);
        self.around(Hook::BeginStep);
        plan.task.before.iter().for_each(|pass| self.pass(pass));
        let mut all = |play: &mut Self| match rank {
            Some(rank) => rank.step(play),
            None => (0..*micro_batches).for_each(|number| {
                play.is_last = number + 1 == *micro_batches;
                play.micro_batch(number);
            }),
        };
        if let Some((epochs, behind)) = &plan.task.epochs {
            for _ in 0..(*epochs).min(depth.epochs()) {
                all(self);
                behind.iter().for_each(|pass| self.pass(pass));
            }
        } else {
            all(self);
            plan.task.before_update.iter().for_each(|pass| self.pass(pass));
            self.tape.mark(Moment::Update);
            self.clip();
            if !plan.updates_in_backward {
                self.update(has_states, false);
            }
            self.around(Hook::EndStep);
            rank.iter_mut().for_each(|rank| rank.forget(self));
            if !has_states {
                self.around(Hook::Log);
            }
            self.around(Hook::Forget);
            if !round.builds_parts {
                self.zero_gradients();
            }
        }
        plan.task.after.iter().for_each(|pass| self.pass(pass));
        self.tape.mark(Moment::End);
    }

    /// Updates the weights in between micro-batches, after which the optimizer has its state and gradients are gone.
    fn update_weights(&mut self) {
        self.tape.mark(Moment::Update);
        self.update(self.has_states, false);
        self.zero_gradients();
        self.has_states = true;
    }
}

impl Trace {
    /// Where what stands outside the step begins among the events, where there is any.
    pub fn outside(&self) -> Option<usize> {
        self.events.iter().position(|event| matches!(event, Event::Mark(Moment::Evaluate | Moment::Checkpoint)))
    }

    /// Where the last step begins among the events.
    pub fn last_step(&self) -> usize {
        let ends = |event: &Event| *event == Event::Mark(Moment::End);
        let last = self.events.iter().rposition(ends).unwrap_or(self.events.len());
        let before = self.events[..last].iter().rposition(ends);
        // A step that is alone begins with its first pass.
        let begins = |event: &Event| {
            matches!(event, Event::Mark(Moment::Prompt | Moment::Generate | Moment::Score | Moment::Forward))
        };
        before.or_else(|| self.events.iter().position(begins)).unwrap_or(0)
    }
}
