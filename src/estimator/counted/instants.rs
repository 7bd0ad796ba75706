//! The instants of a step at which memory is counted.
//!
//! Between two of them memory changes in one direction, or in a straight line over identical
//! layers, so that the highest lies at one of them.

use crate::estimator::ledger::{Instant, Instants};
use crate::estimator::meaning::{Event, Stack};
use crate::{Evaluation, Gather, Gathered, Load, Merge, Outside, Resume, Save, TaskKind};

/// Where the instants of one pipeline stage stand in the ledger's list.
#[derive(Clone, Copy)]
pub(super) struct StageInstants {
    /// The forward pass has come to the logits. A task’s trainer takes its loss outside the model, and has an instant
    /// of its own for that; elsewhere it is the next one.
    pub(super) logits: usize,
    /// All layers have run and the loss is being computed, or the first backward pass is due.
    pub(super) forward: usize,
    /// The backward pass of the loss; only the last stage has one.
    pub(super) loss: Option<usize>,
    /// Backward pass of the stage's last layer.
    pub(super) last: usize,
    /// Backward pass of the stage's first layer.
    pub(super) first: usize,
    /// Every gradient is there.
    pub(super) end: usize,
    /// The optimizer updates the weights.
    pub(super) step: usize,
    /// The backward pass of one sequence’s log-probabilities, where a task has them.
    pub(super) rows: Option<usize>,
    /// Prompts are read before completions are generated, and the last token of each is generated.
    pub(super) generate: [Option<usize>; 2],
    /// A pass without gradients is in a layer, and at its logits.
    pub(super) score: [Option<usize>; 2],
    /// The backward pass of an encoder’s last layer, and of its first.
    pub(super) encoder: [Option<usize>; 2],
    /// Of an encoder or a value model: the backward pass of what ran behind it, which comes before its own.
    pub(super) before: [Option<usize>; 3],
    /// PPO’s value model: the backward pass of its last layer, of its first, and the end of it.
    pub(super) value: [Option<usize>; 3],
    /// PPO’s trainer takes entropies of the logits that it still holds.
    pub(super) statistics: Option<usize>,
    /// Whether that pass runs while the activations of the training pass are kept.
    pub(super) scores_in_the_step: bool,
    /// What is outside the step.
    pub(super) outside: OutsideInstants,
    /// A vision tower runs forward, and its last and its first layer run backward.
    pub(super) tower: [Option<usize>; 3],
}

/// Where the instants outside the step stand, where they are counted.
#[derive(Clone, Copy)]
pub(super) struct OutsideInstants {
    /// A pass of an evaluation is in a layer, and at its loss; and the logits of its batches become one tensor.
    pub(super) evaluate: [Option<usize>; 3],
    /// An evaluation reads prompts, and generates the last tokens.
    pub(super) generate: [Option<usize>; 2],
    /// Weights are gathered, and the optimizer's state is.
    pub(super) gather: [Option<usize>; 2],
    pub(super) save: Option<usize>,
    pub(super) merge: Option<usize>,
    pub(super) load: Option<usize>,
    pub(super) resume: Option<usize>,
}

impl OutsideInstants {
    const NONE: Self = Self {
        evaluate: [None; 3],
        generate: [None; 2],
        gather: [None; 2],
        save: None,
        merge: None,
        load: None,
        resume: None,
    };

    /// All of them but reading weights, which comes before there is an optimizer.
    fn with_the_optimizer(&self) -> Instants {
        let Self { evaluate, generate, gather, save, merge, resume, load: _ } = self;
        let [a, b, c] = [&evaluate[..], generate, gather].map(Instants::among);
        a.or(b).or(c).or(Instants::among(&[*save, *merge, *resume]))
    }
}

/// The only stage, or the last of several.
pub(super) const LAST_STAGE: StageInstants = StageInstants::from(0);
/// The first of several stages.
pub(super) const FIRST_STAGE: StageInstants = StageInstants::behind_the_last(0);
/// The second of three stages or more.
pub(super) const SECOND_STAGE: StageInstants = StageInstants::behind_the_last(1);
/// The first of the stages between that has more layers with experts than the second, and the first of them that
/// has as many as any.
pub(super) const FURTHER_STAGES: [StageInstants; 2] =
    [StageInstants::behind_the_last(2), StageInstants::behind_the_last(3)];

impl StageInstants {
    /// A step with a loss whose first instant is the one at `forward`.
    const fn from(forward: usize) -> Self {
        Self {
            logits: forward,
            forward,
            loss: Some(forward + 1),
            last: forward + 2,
            first: forward + 3,
            end: forward + 4,
            step: forward + 5,
            rows: None,
            generate: [None; 2],
            score: [None; 2],
            encoder: [None; 2],
            before: [None; 3],
            value: [None; 3],
            statistics: None,
            scores_in_the_step: false,
            outside: OutsideInstants::NONE,
            tower: [None; 3],
        }
    }

    /// A step with a vision tower, which runs before the language model and, backward, behind it.
    pub(super) const fn with_tower() -> Self {
        Self { tower: [Some(0), Some(5), Some(6)], end: 7, step: 8, ..Self::from(1) }
    }

    /// While a vision tower runs.
    pub(super) fn in_tower(&self) -> Instants {
        Instants::among(&self.tower)
    }

    /// A step of a decoder behind an encoder, which runs backward last.
    pub(super) const fn with_encoder() -> Self {
        let step = Self::from(0);
        Self { encoder: [Some(step.end), Some(step.step)], end: step.end + 2, step: step.step + 2, ..step }
    }

    /// Of the decoder alone, while its own layers run backward.
    pub(super) const fn of_decoder(&self) -> Self {
        Self { encoder: [None; 2], ..*self }
    }

    /// Of the encoder alone, which keeps what it has until the decoder is through.
    pub(super) const fn of_encoder(&self) -> Option<Self> {
        match self.encoder {
            [Some(last), Some(first)] => {
                let before = [Some(self.last), Some(self.first), None];
                Some(Self { last, first, before, encoder: [None; 2], ..*self })
            }
            _ => None,
        }
    }

    /// Of PPO’s value model alone, which keeps what it has until the policy has run backward.
    pub(super) const fn of_value(&self) -> Option<Self> {
        match self.value {
            [Some(last), Some(first), Some(end)] => {
                let before = [Some(self.last), Some(self.first), Some(self.end)];
                Some(Self { last, first, end, before, value: [None; 3], ..*self })
            }
            _ => None,
        }
    }

    /// The instants of a task, those of its training step behind the others.
    pub(super) fn of_task(kind: TaskKind) -> Self {
        let generates = kind.generates();
        let scores = generates || kind.scores_in_the_step();
        let score = if generates { 2 } else { 0 };
        if !scores {
            return Self::from(0);
        }
        let logits = score + 2;
        let step = Self::from(logits + 2);
        let behind = step.end;
        let (value, statistics, step) = match kind {
            TaskKind::Ppo => ([Some(behind + 1), Some(behind + 2), Some(behind + 3)], Some(behind + 4), behind + 5),
            _ => ([None; 3], None, step.step),
        };
        Self {
            logits,
            forward: logits + 1,
            rows: Some(logits + 2),
            generate: if generates { [Some(0), Some(1)] } else { [None; 2] },
            score: [Some(score), Some(score + 1)],
            scores_in_the_step: kind.scores_in_the_step(),
            value,
            statistics,
            step,
            // The loss and what follows stand behind the rows.
            ..Self::from(logits + 2)
        }
    }

    /// Stages without a loss have five instants each, one stage after the other behind those of the last.
    const fn behind_the_last(nth: usize) -> Self {
        let forward = LAST_STAGE.step + 1 + 5 * nth;
        let (last, first, end, step) = (forward + 1, forward + 2, forward + 3, forward + 4);
        Self { loss: None, last, first, end, step, ..Self::from(forward) }
    }

    /// From the end of the forward pass to the last layer's backward pass.
    pub(super) fn all_layers_kept(&self) -> Instants {
        self.around_loss().or(Self::only(self.last))
    }

    /// A pass without gradients, where it runs behind the forward pass of the step.
    pub(super) fn scores_within(&self) -> Instants {
        if self.scores_in_the_step { self.scoring() } else { Instants::at(&[]) }
    }

    /// A pass without gradients.
    pub(super) fn scoring(&self) -> Instants {
        Instants::among(&self.score)
    }

    /// While completions are generated.
    pub(super) fn generating(&self) -> Instants {
        Instants::among(&self.generate)
    }

    /// The computation of the loss, there and back.
    pub(super) fn around_loss(&self) -> Instants {
        let loss = Instants::among(&[Some(self.logits), Some(self.forward), self.rows, self.loss]);
        loss.or(self.scores_within()).or(Instants::among(&self.before))
    }

    /// While some layer runs backward.
    pub(super) fn in_backward(&self) -> Instants {
        Instants::at(&[self.last]).or(self.behind_the_last_layer())
    }

    /// While some layer behind the last runs backward.
    pub(super) fn behind_the_last_layer(&self) -> Instants {
        Self::only(self.first).or(Instants::among(&self.encoder))
    }

    /// Until the backward pass has ended.
    pub(super) fn in_passes(&self) -> Instants {
        self.all_layers_kept().or(self.in_backward()).or(Instants::among(&self.value))
    }

    /// Every gradient of the model is there.
    pub(super) fn with_all_gradients(&self) -> Instants {
        Instants::at(&[self.end, self.step]).or(Instants::among(&self.value))
    }

    /// The whole step.
    pub(super) fn in_step(&self) -> Instants {
        self.in_passes().or(self.with_all_gradients()).or(Instants::among(&[self.statistics]))
    }

    /// The whole step, what its task has before it, and what is outside it.
    pub(super) fn always(&self) -> Instants {
        self.with_the_optimizer().or(Instants::among(&[self.outside.load]))
    }

    /// The same, but for the time before the optimizer is made.
    pub(super) fn with_the_optimizer(&self) -> Instants {
        self.in_step()
            .or(self.generating())
            .or(self.scoring())
            .or(self.in_tower())
            .or(self.outside.with_the_optimizer())
    }

    /// While the layers of an evaluation run, or those of what it generates.
    pub(super) fn in_evaluated_layers(&self) -> Instants {
        Instants::among(&[self.outside.evaluate[0]]).or(Instants::among(&self.outside.generate))
    }

    /// The passes of an evaluation.
    pub(super) fn evaluating(&self) -> Instants {
        Instants::among(&self.outside.evaluate).or(Instants::among(&self.outside.generate))
    }

    /// The same stage with the instants outside the step behind its own.
    pub(super) fn with(self, outside: &Outside) -> Self {
        let mut taken = [None; OUTSIDE.len()];
        for ((place, _), next) in counted_outside(outside).zip(self.step + 1..) {
            taken[place] = Some(next);
        }
        let [layers, loss, joined, prompts, last, weights, states, save, merge, load, resume] = taken;
        let outside = OutsideInstants {
            evaluate: [layers, loss, joined],
            generate: [prompts, last],
            gather: [weights, states],
            save,
            merge,
            load,
            resume,
        };
        Self { outside, ..self }
    }

    /// One instant.
    pub(super) fn only(position: usize) -> Instants {
        Instants::at(&[position])
    }
}

macro_rules! instants {
    ($(in $stage:literal { $($name:literal, $event:expr;)+ })+) => {
        &[$($(Instant { name: $name, event: $event, stage: $stage },)+)+]
    };
}

/// The instants of a run without pipeline.
pub(super) static ONE_STAGE: &[Instant] = instants! {
    in "" {
        "loss, forward", Event::Loss;
        "loss, backward", Event::LossBackward;
        "backward, last layer", Event::LastLayer(Stack::Model);
        "backward, first layer", Event::FirstLayer(Stack::Model);
        "end of backward", Event::BackwardEnds;
        "optimizer step", Event::Step;
    }
};

/// The instants of a pipeline: its last stage, its first, and its second, of which those between second and last
/// keep fewer micro-batches. Where dense layers reach beyond the second stage, later ones hold other layers, and
/// up to two of those are counted as well.
pub(super) static STAGES: &[Instant] = instants! {
    in "last" {
        "last stage: loss, forward", Event::Loss;
        "last stage: loss, backward", Event::LossBackward;
        "last stage: backward, last layer", Event::LastLayer(Stack::Model);
        "last stage: backward, first layer", Event::FirstLayer(Stack::Model);
        "last stage: end of backward", Event::BackwardEnds;
        "last stage: optimizer step", Event::Step;
    }
    in "first" {
        "first stage: pipeline full", Event::PipelineFull;
        "first stage: backward, last layer", Event::LastLayer(Stack::Model);
        "first stage: backward, first layer", Event::FirstLayer(Stack::Model);
        "first stage: end of backward", Event::BackwardEnds;
        "first stage: optimizer step", Event::Step;
    }
    in "second" {
        "second stage: pipeline full", Event::PipelineFull;
        "second stage: backward, last layer", Event::LastLayer(Stack::Model);
        "second stage: backward, first layer", Event::FirstLayer(Stack::Model);
        "second stage: end of backward", Event::BackwardEnds;
        "second stage: optimizer step", Event::Step;
    }
    in "more-experts" {
        "stage with more experts: pipeline full", Event::PipelineFull;
        "stage with more experts: backward, last layer", Event::LastLayer(Stack::Model);
        "stage with more experts: backward, first layer", Event::FirstLayer(Stack::Model);
        "stage with more experts: end of backward", Event::BackwardEnds;
        "stage with more experts: optimizer step", Event::Step;
    }
    in "most-experts" {
        "stage with most experts: pipeline full", Event::PipelineFull;
        "stage with most experts: backward, last layer", Event::LastLayer(Stack::Model);
        "stage with most experts: backward, first layer", Event::FirstLayer(Stack::Model);
        "stage with most experts: end of backward", Event::BackwardEnds;
        "stage with most experts: optimizer step", Event::Step;
    }
};

/// The instants of a task: what it has before its training step, then the step.
static TASKS: &[Instant] = instants! {
    in "" {
        "generate, prompts", Event::Prompts;
        "generate, last token", Event::LastTokens;
        "score, layers", Event::Score;
        "score, logits", Event::ScoredLogits;
        "train: logits", Event::Logits;
        "train: loss, forward", Event::Loss;
        "train: log-probabilities, backward", Event::LossBegins;
        "train: loss, backward", Event::LossBackward;
        "train: backward, last layer", Event::LastLayer(Stack::Model);
        "train: backward, first layer", Event::FirstLayer(Stack::Model);
        "train: end of backward", Event::BackwardEnds;
        "train: optimizer step", Event::Step;
    }
};

/// The instants of PPO, whose value model runs backward behind the policy.
static PPO: &[Instant] = instants! {
    in "" {
        "generate, prompts", Event::Prompts;
        "generate, last token", Event::LastTokens;
        "score, layers", Event::Score;
        "score, logits", Event::ScoredLogits;
        "train: logits", Event::Logits;
        "train: loss, forward", Event::Loss;
        "train: log-probabilities, backward", Event::LossBegins;
        "train: loss, backward", Event::LossBackward;
        "train: backward, last layer", Event::LastLayer(Stack::Model);
        "train: backward, first layer", Event::FirstLayer(Stack::Model);
        "train: end of the policy’s backward pass", Event::PolicyEnds;
        "train: value model, last layer", Event::LastLayer(Stack::Value);
        "train: value model, first layer", Event::FirstLayer(Stack::Value);
        "train: end of backward", Event::BackwardEnds;
        "train: entropies", Event::Entropies;
        "train: optimizer step", Event::Step;
    }
};

/// The instants of a step with a vision tower.
pub(super) static WITH_TOWER: &[Instant] = instants! {
    in "" {
        "vision tower, forward", Event::Tower;
        "loss, forward", Event::Loss;
        "loss, backward", Event::LossBackward;
        "backward, last layer", Event::LastLayer(Stack::Model);
        "backward, first layer", Event::FirstLayer(Stack::Model);
        "vision tower: backward, last layer", Event::LastLayer(Stack::Tower);
        "vision tower: backward, first layer", Event::FirstLayer(Stack::Tower);
        "end of backward", Event::BackwardEnds;
        "optimizer step", Event::Step;
    }
};

/// The instants of training a reward model, which has no log-probabilities.
static REWARD: &[Instant] = instants! {
    in "" {
        "train: loss, forward", Event::Loss;
        "train: loss, backward", Event::LossBackward;
        "train: backward, last layer", Event::LastLayer(Stack::Model);
        "train: backward, first layer", Event::FirstLayer(Stack::Model);
        "train: end of backward", Event::BackwardEnds;
        "train: optimizer step", Event::Step;
    }
};

/// The instants of a task, which knows no pipeline.
pub(super) fn instants_of_task(kind: TaskKind) -> &'static [Instant] {
    if kind == TaskKind::Ppo {
        return PPO;
    }
    let without = TASKS.len() - 8;
    match StageInstants::of_task(kind).logits {
        0 => REWARD,
        before => &TASKS[without - before..],
    }
}

/// The instants of a decoder behind an encoder.
pub(super) static WITH_ENCODER: &[Instant] = instants! {
    in "" {
        "loss, forward", Event::Loss;
        "loss, backward", Event::LossBackward;
        "backward, last layer", Event::LastLayer(Stack::Model);
        "backward, first layer", Event::FirstLayer(Stack::Model);
        "encoder: backward, last layer", Event::LastLayer(Stack::Encoder);
        "encoder: backward, first layer", Event::FirstLayer(Stack::Encoder);
        "end of backward", Event::BackwardEnds;
        "optimizer step", Event::Step;
    }
};

/// The instants of so many counted stages.
pub(super) fn instants_of(counted: usize) -> &'static [Instant] {
    match counted {
        0 | 1 => ONE_STAGE,
        _ => &STAGES[..STAGES.len().min(1 + 5 * counted)],
    }
}

/// The instants outside the step, in the order in which [`StageInstants::with`] places them.
static OUTSIDE: [Instant; 11] = {
    const fn instant(name: &'static str, event: Event) -> Instant {
        Instant { name, event, stage: "" }
    }
    [
        instant("evaluation: layers", Event::Evaluation),
        instant("evaluation: loss", Event::EvaluationLoss),
        instant("evaluation: logits joined", Event::EvaluationJoins),
        instant("evaluation: prompts", Event::EvaluationPrompts),
        instant("evaluation: last token", Event::EvaluationTokens),
        instant("gathering weights", Event::GathersWeights),
        instant("gathering optimizer state", Event::GathersState),
        instant("saving", Event::Saves),
        instant("merging adapters", Event::Merges),
        instant("loading weights", Event::Loads),
        instant("resuming", Event::Resumes),
    ]
};

/// Those of the instants outside the step that are counted, with their places among all of them.
fn counted_outside(outside: &Outside) -> impl Iterator<Item = (usize, &'static Instant)> {
    let evaluates = outside.evaluation != Evaluation::Off;
    let gathers = outside.gather != Gather::Off;
    let counted = [
        evaluates,
        evaluates,
        outside.evaluation == Evaluation::Logits,
        outside.generates(),
        outside.generates(),
        gathers,
        gathers && outside.gathered == Gathered::All,
        outside.save != Save::Off,
        outside.merge != Merge::Off,
        outside.load != Load::Off,
        outside.resume != Resume::Off,
    ];
    OUTSIDE.iter().enumerate().filter(move |(place, _)| counted[*place])
}

/// The instants outside the step that are counted.
pub(super) fn outside(outside: &Outside) -> impl Iterator<Item = &'static Instant> {
    counted_outside(outside).map(|(_, instant)| instant)
}

impl Instant {
    /// Whether it is outside the training step: evaluation, saving, loading and the like.
    pub fn is_outside(&self) -> bool {
        self.event.is_outside()
    }
}
