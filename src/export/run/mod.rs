//! The scenario as a target runs it: what it cannot express is replaced by what it does instead, and
//! the micro-batch is worked out again for that, so that no file promises what it does not keep.

mod common;
mod division;
mod words;

pub(super) use division::{Resharding, machines, one_stage, resharding, shards, sharing, stage_layers};
pub(super) use words::{address, b_max_words, model_name, shortage, subject};

use super::text::{gib, wrap};
use crate::planner::{Accumulation, filled};
use crate::{
    Answer, Batching, Bytes, Choice, Encoder, Field, Fp8, Lengths, Method, Optimizer, Outside, Precision, Scenario,
    StepKernel, TaskKind, Vision, b_max, estimate, format, largest_micro_batch,
};
use words::{batches, peak};

/// A scenario on its way into a file.
pub(super) struct Run {
    /// As the reader has it.
    asked: Scenario,
    /// As the target will carry it out.
    now: Scenario,
    /// What the target does instead of what was asked, a sentence each.
    changes: Vec<String>,
    /// What has to be said elsewhere than in this file.
    remarks: Vec<String>,
    /// Whether the target computes in 16 bits in bf16 alone.
    keeps_bf16: bool,
    /// What the target takes beside what is counted.
    beside: fn(&Scenario) -> Bytes,
}

/// Micro-batch and accumulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Planned {
    /// The scenario at this micro-batch and accumulation.
    pub scenario: Scenario,
    /// Whether that fits.
    pub fits: bool,
    /// Sequences a GPU processes at once.
    pub micro_batch: u32,
    /// Micro-batches of one optimizer step.
    pub steps: u32,
    /// D.
    pub data_parallel: u32,
    /// D · T · P · C: processes of the job.
    pub world: u32,
    /// Sequences an optimizer step sees.
    pub global_batch: u64,
}

/// The plan for the scenario's global batch with the largest micro-batches that fit.
///
/// The reader's own micro-batch does not count: it is what the page draws, not what fits. More
/// accumulation keeps gradients alive and a pipeline full, so that less may fit beside them; the plan
/// is made again until the micro-batch fits with its own accumulation. When nothing fits it is one
/// sequence at a time.
pub(super) fn planned(scenario: &Scenario) -> Planned {
    planned_beside(scenario, |_| Bytes::ZERO)
}

/// The same with room for bytes that the ledger does not count.
fn planned_beside(scenario: &Scenario, beside: fn(&Scenario) -> Bytes) -> Planned {
    // Programs divide the work in groups, whatever method counts it.
    let by_groups = Scenario { method: Method::Ledger, ..*scenario };
    let group = scenario.cluster.group();
    let mut limit = largest_micro_batch(scenario).unwrap_or(0);
    while limit > 0 {
        let accumulation = filled(&by_groups, limit);
        let at = at_plan(scenario, accumulation);
        if fits(&at, beside) {
            return told(at, accumulation, group, true);
        }
        // What fits with this accumulation is less; one sequence less always makes an end.
        limit = largest_micro_batch(&at).unwrap_or(0).min(accumulation.micro_batch - 1);
    }
    let accumulation = filled(&by_groups, 1);
    let at = at_plan(scenario, accumulation);
    // A smaller accumulation than the scenario's own may leave room where that left none.
    told(at, accumulation, group, fits(&at, beside))
}

fn told(scenario: Scenario, accumulation: Accumulation, group: u32, fits: bool) -> Planned {
    Planned {
        scenario,
        fits,
        micro_batch: accumulation.micro_batch,
        steps: accumulation.steps,
        data_parallel: accumulation.data_parallel,
        world: accumulation.data_parallel.saturating_mul(group),
        global_batch: accumulation.global_batch(),
    }
}

fn at_plan(scenario: &Scenario, accumulation: Accumulation) -> Scenario {
    let mut at = scenario.with_batch(accumulation.micro_batch);
    // Beyond the declared range nothing changes any more, and a link would refuse it.
    at.recipe.micro_batches = accumulation.steps.clamp(1, Field::MicroBatches.bound().max as u32);
    at
}

fn fits(scenario: &Scenario, beside: fn(&Scenario) -> Bytes) -> bool {
    let estimate = estimate(scenario);
    estimate.fits() && estimate.peak().bytes + beside(scenario) <= scenario.usable()
}

/// The recipes that not every target has words for, as far as one has them.
pub(super) struct Says {
    /// Optimizers that are not common.
    pub optimizers: &'static [Optimizer],
    /// Products in fp8 by Transformer Engine.
    pub fp8: bool,
    /// Weights in CPU memory.
    pub parameters: bool,
    /// Tasks beside the next token.
    pub tasks: &'static [TaskKind],
}

impl Says {
    /// None of them.
    pub(super) const NOTHING: Self = Self { optimizers: &[], fp8: false, parameters: false, tasks: &[] };
}

impl Run {
    /// A scenario for a program that trains on the next token alone.
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self::that_says(scenario, &Says::NOTHING)
    }

    /// A scenario for a program that has these tasks beside the next token.
    pub(super) fn of_tasks(scenario: &Scenario, tasks: &'static [TaskKind]) -> Self {
        Self::that_says(scenario, &Says { tasks, ..Says::NOTHING })
    }

    /// A target that has words for some of the recipes that not every one has.
    pub(super) fn that_says(scenario: &Scenario, says: &Says) -> Self {
        let mut run = Self::for_tasks(scenario, says.tasks);
        run.change("this file has no products in fp8: they run in the training precision", |s| {
            if !says.fp8 || s.recipe.fp8.is_torchao() {
                s.recipe.fp8 = Fp8::Off;
            }
        });
        run.change("this file has no step in the backward pass: weights are updated behind it", |s| {
            if s.recipe.step == StepKernel::InBackward {
                s.recipe.step = StepKernel::Foreach;
            }
        });
        run.change("this file keeps weights on the GPU, and optimizer state alone in CPU memory", |s| {
            if !says.parameters {
                s.recipe.offload = s.recipe.offload.without_parameters();
            }
        });
        let name = scenario.recipe.optimizer.label();
        run.change(&format!("{name} has no word in this file: the nearest Adam stands in"), |s| {
            let optimizer = s.recipe.optimizer;
            if !optimizer.is_common() && !says.optimizers.contains(&optimizer) {
                let whole = optimizer.needs_whole_matrices();
                s.recipe.optimizer = if whole { Optimizer::AdamW } else { Optimizer::Adam8bit };
            }
        });
        run
    }

    fn for_tasks(scenario: &Scenario, tasks: &[TaskKind]) -> Self {
        let mut run = Self {
            asked: *scenario,
            now: *scenario,
            changes: Vec::new(),
            remarks: Vec::new(),
            keeps_bf16: false,
            beside: |_| Bytes::ZERO,
        };
        let task = scenario.task.kind;
        if task != TaskKind::Train && !tasks.contains(&task) {
            let sentence =
                format!("{} needs a trainer of its own: this file trains on the next token alone", task.label());
            run.change(&sentence, |s| s.task.kind = TaskKind::Train);
        }
        run.change("this GPU has no units for bf16: fp16 with loss scaling stands in", |s| {
            let in_bf16 = matches!(s.recipe.precision, Precision::Bf16 | Precision::PureBf16);
            if s.device.emulates_bf16 && in_bf16 {
                s.recipe.precision = Precision::Fp16;
            }
        });
        if scenario.outside.is_on() {
            let sentence = "this file trains, and its numbers leave out what is counted outside the step";
            run.change(sentence, |s| s.outside = Outside::OFF);
        }
        if scenario.lengths.batching != Batching::Equal {
            // What pads or packs is the reader's own data loader.
            run.change(
                "Every sequence is as long as the longest: how lengths are batched is left to your data loader",
                |s| {
                    s.recipe.sequence = s.longest();
                    s.lengths = Lengths::EQUAL;
                },
            );
        }
        if scenario.model.vision.is_there() {
            let sentence = "This file trains the language model on text: it has neither images nor a vision tower";
            run.change(sentence, |s| {
                s.model.vision = Vision::NONE;
                s.model.parameters = s.model.derived_parameters();
            });
        }
        if scenario.model.encoder.is_there() {
            run.change("These files train decoders: this one leaves the encoder out", |s| {
                s.model.encoder = Encoder::NONE;
            });
        }
        run
    }

    /// The scenario as the target runs it so far.
    pub(super) fn now(&self) -> &Scenario {
        &self.now
    }

    /// What was asked for is carried out differently. Nothing is said where nothing changes. The
    /// sentence gets the peak that this change alone leads to.
    pub(super) fn change(&mut self, what: &str, to: impl Fn(&mut Scenario)) {
        let mut after = self.now;
        to(&mut after);
        if after == self.now {
            return;
        }
        let at = planned(&self.asked).scenario;
        let mut alone = at;
        to(&mut alone);
        let (was, is) = (estimate(&at).peak().bytes, estimate(&alone).peak().bytes);
        let effect = if gib(was) == gib(is) {
            "the peak stays the same".to_owned()
        } else {
            format!("this alone takes the peak from {} to {} GiB", gib(was), gib(is))
        };
        self.changes.push(format!("{what}; {effect}."));
        self.now = after;
    }

    /// Something that the target does differently and no scenario can say.
    pub(super) fn differs(&mut self, what: impl Into<String>) {
        self.changes.push(what.into());
    }

    /// Something that belongs into another file, or into the reader's own code.
    pub(super) fn elsewhere(&mut self, what: impl Into<String>) {
        self.remarks.push(what.into());
    }

    /// The target has no fp16 where others have it.
    pub(super) fn keeps_bf16(&mut self) {
        self.keeps_bf16 = true;
    }

    /// What the target does instead of what was asked.
    pub(super) fn changes(&self) -> Vec<String> {
        let mut changes = self.changes.clone();
        // Nothing in a scenario says the type that fp32 weights are cast to.
        let casts = matches!(self.now.recipe.precision, Precision::Mixed | Precision::Autocast);
        if self.now.device.emulates_bf16 && casts {
            changes.push(if self.keeps_bf16 {
                "This GPU has no units for bf16, and there is no fp16 here: PyTorch emulates bf16.".to_owned()
            } else {
                "This GPU has no units for bf16: 16 bits are fp16, with loss scaling.".to_owned()
            });
        }
        changes
    }

    /// The plan of the scenario as the target runs it.
    pub(super) fn plan(&self) -> Planned {
        planned_beside(&self.now, self.beside)
    }

    /// The target takes more than is counted, and the plan leaves room for it.
    pub(super) fn counts_more(&mut self, beside: fn(&Scenario) -> Bytes) {
        self.beside = beside;
    }

    /// The lines at the head of a file, without comment signs. `target` is the program and the version
    /// that the file was checked with.
    pub(super) fn head(&self, page: &str, target: &str) -> Vec<String> {
        let planned = self.plan();
        let mut lines = Vec::new();
        if let Answer::Refused(refusal) = b_max(&self.asked) {
            let why = format::refusal(&refusal, self.asked.unit());
            lines.extend(wrap(&format!("{why} The micro-batch below is no promise."), "", ""));
            lines.push(String::new());
        }
        if !planned.fits {
            for line in wrap(&format!("NOTHING FITS. {}", shortage(&planned.scenario)), "", "") {
                lines.push(line);
            }
            lines.extend(wrap(
                "The micro-batch of 1 below is no promise: it is there to be read and edited, and runs out of memory.",
                "",
                "",
            ));
            lines.push(String::new());
        }
        lines.extend(wrap(&subject(&self.asked), "", ""));
        lines.push(address(page, &self.asked));
        lines.push(String::new());
        lines.extend(self.plan_told(page, target, "file"));
        lines
    }

    /// The plan, what of it is not as asked, and what has to be said elsewhere. `what` is what carries it
    /// out: the file, or a part of it.
    pub(super) fn plan_told(&self, page: &str, target: &str, what: &str) -> Vec<String> {
        let planned = self.plan();
        let mut lines = Vec::new();
        lines.extend(wrap(&batches(&planned, self.asked.goal.sequences(self.asked.recipe.sequence)), "", ""));
        if planned.fits {
            lines.extend(wrap(&peak(&planned.scenario), "", ""));
        }
        if self.now != self.asked {
            let answers = format!(
                "As asked, b_max is {}. This {what} runs something else where the list below says so, and as it runs \
                 b_max is {}:",
                b_max_words(&self.asked),
                b_max_words(&self.now)
            );
            lines.extend(wrap(&answers, "", ""));
            lines.push(address(page, &planned.scenario));
        }
        lines.push(format!("Checked with {target}."));
        lines.extend(listed("Not as asked, because it cannot be said here:", &self.changes()));
        lines.extend(listed("To be said elsewhere, and counted on here:", &self.remarks));
        lines
    }
}

fn listed(title: &str, items: &[String]) -> Vec<String> {
    if items.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), title.to_owned()];
    for item in items {
        lines.extend(wrap(item, "- ", "  "));
    }
    lines
}
