//! What a training program does outside its step: evaluation, gathering and writing a checkpoint, merging adapters,
//! loading and resuming.
//!
//! Each stands at instants of its own beside what is there all the time, so that the peak is one of them where it is
//! higher than the step. It was counted in the code that the sources name and seen in runs of it
//! (tests/vectors/outside.json); docs/outside-the-step.md says what rests on reading alone.

mod checkpoint;
mod evaluation;

pub(super) use evaluation::kept_sequences;

use super::stage::Stage;
use super::{Assembly, Shards, states};
use crate::{
    Adapter, Engine, Evaluation, Gather, Gathered, Load, LossHead, Merge, Method, Outside, Resume, Scenario, Switch,
    TaskKind, Weights,
};

/// The scenario with what is outside its step as far as that is counted: `run` is the scenario as its task runs it.
/// [`Scenario::conflicts`] names what is left out.
pub(super) fn as_run(scenario: &Scenario, mut run: Scenario) -> Scenario {
    let outside = &mut run.outside;
    if !outside.is_on() || !is_counted_with(scenario) {
        *outside = Outside::OFF;
        return run;
    }
    if !can_evaluate(scenario) {
        outside.evaluation = Evaluation::Off;
    }
    if !can_generate(scenario) {
        outside.eval_generate = Switch::Off;
    }
    if outside.generates() {
        run.task.completion = outside.eval_tokens;
    }
    if scenario.cluster.engine == Engine::DeepSpeed {
        if outside.gather == Gather::Gpu {
            outside.gather = Gather::Cpu;
        }
        outside.gathered = Gathered::Weights;
        if outside.resume != Resume::Off {
            outside.resume = Resume::Cpu;
        }
    }
    if !divides_weights(scenario) {
        outside.gather = Gather::Off;
    }
    let adapter = scenario.recipe.adapter;
    if outside.load == Load::Gpu && adapter.is_quantized() {
        outside.load = Load::Cpu;
    }
    if adapter == Adapter::None || divides_weights(scenario) {
        outside.merge = Merge::Off;
    }
    if outside.merge == Merge::Whole && !adapter.is_quantized() {
        outside.merge = Merge::On;
    }
    run
}

/// Whether anything outside the step is counted for this division of the work.
pub(crate) fn is_counted_with(scenario: &Scenario) -> bool {
    let cluster = &scenario.cluster;
    let alone = cluster.pipeline_parallel == 1 && cluster.tensor_parallel == 1 && cluster.context_parallel == 1;
    scenario.method == Method::Ledger && alone && matches!(cluster.engine, Engine::Torch | Engine::DeepSpeed)
}

/// Whether transformers' evaluation has a loss like this one.
pub(crate) fn can_evaluate(scenario: &Scenario) -> bool {
    let has_loss =
        matches!(scenario.recipe.loss, LossHead::Plain | LossHead::Fused | LossHead::MaskedLm | LossHead::Classifier);
    scenario.task.kind == TaskKind::Train && has_loss
}

/// Whether the model puts out one token after another.
pub(crate) fn can_generate(scenario: &Scenario) -> bool {
    matches!(scenario.recipe.loss, LossHead::Plain | LossHead::Fused)
}

/// Whether no device has all weights.
pub(crate) fn divides_weights(scenario: &Scenario) -> bool {
    Shards::of(scenario).at(states::parameters_from(scenario), scenario) > 1.0
}

/// What one device has outside the step.
pub(super) fn assemble(to: &mut Assembly, scenario: &Scenario, weights: &Weights, stage: &Stage) {
    if !scenario.outside.is_on() {
        return;
    }
    let mut counted = Counted { to, scenario, weights, stage };
    counted.evaluation();
    counted.gathering();
    counted.merging();
    counted.loading();
    counted.resuming();
}

struct Counted<'a> {
    to: &'a mut Assembly,
    scenario: &'a Scenario,
    weights: &'a Weights,
    stage: &'a Stage,
}
