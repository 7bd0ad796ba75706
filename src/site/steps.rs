//! What was changed, step by step, and the way back through it.

use bmax::Scenario;
use bmax::compare::Input;
use bmax::link::Pinned;
use leptos::prelude::*;

/// How many steps are kept. A scenario is about a kilobyte, and a step has four places for one.
const KEPT: usize = 100;

/// So many of what was in use before are told.
const USED: usize = 4;

/// What a step leads to: the configuration, and those that are pinned.
pub type Told = (Scenario, Pinned);

/// The settled changes of this visit. It is a handful of handles and is passed by value.
#[derive(Clone, Copy)]
pub struct Steps {
    behind: RwSignal<Vec<Told>>,
    ahead: RwSignal<Vec<Told>>,
    now: StoredValue<Told>,
}

impl Steps {
    /// No step yet.
    pub fn new(now: Told) -> Self {
        Self { behind: RwSignal::new(Vec::new()), ahead: RwSignal::new(Vec::new()), now: StoredValue::new(now) }
    }

    /// Whether there is a step to take back.
    pub fn can_undo(self) -> bool {
        self.behind.with(|behind| !behind.is_empty())
    }

    /// Whether there is a step that was taken back.
    pub fn can_redo(self) -> bool {
        self.ahead.with(|ahead| !ahead.is_empty())
    }

    /// Whether this is one more change of what the last step changed, as another digit is.
    pub fn continues(self, told: &Told) -> bool {
        let now = self.now.get_value();
        let is_of_the_last = |last: &Told| {
            let alone = last.1 == told.1 && now.1 == told.1;
            alone && chosen_anew(&last.0, &now.0).eq(chosen_anew(&now.0, &told.0))
        };
        *told != now && self.behind.with_untracked(|behind| behind.last().is_some_and(is_of_the_last))
    }

    /// Keeps a change that has settled, and says whether it is one. A change that `continues` the last step becomes part
    /// of that.
    pub fn settle(self, told: Told, continues: bool) -> bool {
        let before = self.now.get_value();
        if told == before {
            return false;
        }
        self.now.set_value(told);
        if !(continues && self.behind.with_untracked(|behind| !behind.is_empty())) {
            self.behind.update(|behind| keep(behind, before));
        }
        self.ahead.set(Vec::new());
        true
    }

    /// Takes the last step back, and says where that leads.
    pub fn undo(self) -> Option<Told> {
        self.go(self.behind, self.ahead)
    }

    /// Takes the step again that was last taken back, and says where that leads.
    pub fn redo(self) -> Option<Told> {
        self.go(self.ahead, self.behind)
    }

    /// What the configurations before this one had, the last first and each once; words that are empty are none.
    pub fn used(self, of: impl Fn(&Scenario) -> &'static str) -> Vec<&'static str> {
        let now = of(&self.now.get_value().0);
        let mut used = Vec::new();
        for word in self.behind.get().iter().rev().map(|(scenario, _)| of(scenario)) {
            if !word.is_empty() && word != now && !used.contains(&word) && used.len() < USED {
                used.push(word);
            }
        }
        used
    }

    fn go(self, from: RwSignal<Vec<Told>>, to: RwSignal<Vec<Told>>) -> Option<Told> {
        // An empty list changes nothing, and nobody is told.
        let next = from.try_update(Vec::pop).flatten()?;
        to.update(|to| keep(to, self.now.get_value()));
        self.now.set_value(next);
        Some(next)
    }
}

/// The inputs that differ and do not follow from the rest.
fn chosen_anew(before: &Scenario, after: &Scenario) -> impl Iterator<Item = Input> {
    Input::each().filter(|input| !input.follows() && input.differs(before, after))
}

fn keep(list: &mut Vec<Told>, told: Told) {
    if list.len() == KEPT {
        list.remove(0);
    }
    list.push(told);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(batch: u32) -> Told {
        (Scenario::workshop().with_batch(batch), Pinned::NONE)
    }

    fn owned(test: impl FnOnce(Steps)) {
        Owner::new().with(|| test(Steps::new(at(1))));
    }

    #[test]
    fn undo_goes_back_through_every_step_and_redo_forward_again() {
        owned(|steps| {
            assert_eq!((steps.undo(), steps.redo()), (None, None));
            for batch in 2..5 {
                assert!(steps.settle(at(batch), false));
            }
            assert_eq!([steps.undo(), steps.undo(), steps.undo()], [3, 2, 1].map(|batch| Some(at(batch))));
            assert!(!steps.can_undo() && steps.can_redo());
            assert_eq!([steps.redo(), steps.redo()], [2, 3].map(|batch| Some(at(batch))));
        });
    }

    #[test]
    fn a_new_change_ends_what_was_taken_back_and_the_same_once_more_is_none() {
        owned(|steps| {
            assert!(steps.settle(at(2), false) && !steps.settle(at(2), false));
            assert_eq!(steps.undo(), Some(at(1)));
            assert!(steps.settle(at(7), false));
            assert!(!steps.can_redo());
            assert_eq!(steps.undo(), Some(at(1)));
        });
    }

    #[test]
    fn what_continues_a_step_is_taken_back_with_it() {
        owned(|steps| {
            steps.settle(at(2), true);
            steps.settle(at(3), true);
            assert_eq!(steps.undo(), Some(at(1)));
            assert_eq!(steps.redo(), Some(at(3)));
        });
    }

    #[test]
    fn only_a_change_of_the_same_inputs_continues_a_step() {
        let with = |query: &str| (bmax::link::decode(query).scenario, Pinned::NONE);
        Owner::new().with(|| {
            let steps = Steps::new(with("v=4"));
            assert!(!steps.continues(&with("v=4&s=1")), "there is no step yet");
            steps.settle(with("v=4&s=1"), false);
            assert!(steps.continues(&with("v=4&s=12")));
            assert!(!steps.continues(&with("v=4&s=12&gpus=16")), "another input");
            assert!(!steps.continues(&with("v=4&s=1&b=3")), "the batch follows from the rest, and is no length");
            assert!(!steps.continues(&with("v=4&s=1")), "nothing changed");
            let (scenario, _) = with("v=4&s=12");
            assert!(!steps.continues(&(scenario, Pinned::from(scenario))), "pinned");
        });
    }

    #[test]
    fn what_was_in_use_before_is_told_once_the_last_first() {
        let with = |query: &str| (bmax::link::decode(query).scenario, Pinned::NONE);
        Owner::new().with(|| {
            let steps = Steps::new(with("model=gpt2"));
            for model in ["qwen2.5-7b", "gpt2", "phi-2", "qwen3-8b"] {
                steps.settle(with(&format!("model={model}")), false);
            }
            let models = steps.used(|scenario| scenario.model.origin.slug().unwrap_or_default());
            assert_eq!(models, ["phi-2", "gpt2", "qwen2.5-7b"]);
        });
    }

    #[test]
    fn the_oldest_steps_go_first() {
        owned(|steps| {
            for batch in 2..300 {
                steps.settle(at(batch), false);
            }
            let back = std::iter::from_fn(|| steps.undo()).count();
            assert_eq!(back, KEPT);
        });
    }
}
