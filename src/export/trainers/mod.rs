//! Programs that put the Trainer of transformers together by a YAML file: trl, axolotl and LLaMA-Factory.
//!
//! What they take of the Trainer they take as `transformers.rs` has it; each file here says what its program makes
//! differently.

pub(super) mod axolotl;
pub(super) mod llama_factory;
pub(super) mod trl;

use super::deepspeed::{self, Caller};
use super::run::{Planned, Run};
use super::text::{Value, commented, gib};
use super::transformers::{self, Engine};
use crate::{
    Adapter, BatchUnit, Bytes, FrozenType, Kernels, LossHead, Optimizer, Recomputation, Reference, RewardModel,
    Scenario, Switch, TaskKind,
};

/// Keys in the order in which they are written.
type Keys = Vec<(&'static str, Value)>;

/// A share of inputs that adapters drop. Memory depends on there being one, and not on its number.
const DROPPED: f64 = 0.05;
/// A placeholder: memory does not depend on it.
const RATE: f64 = 1e-4;

/// Takes away what these programs cannot do, and says what divides model states then.
fn prepare(run: &mut Run, program: &str) -> Engine {
    run.without_pipeline(program);
    run.without_tensor_parallel(program);
    run.without_context_parallel(program);
    run.without_expert_parallel(program);
    let task = run.now().task.kind;
    run.change("the loss of a task is made of plain logits", |s| {
        if task != TaskKind::Train {
            s.recipe.loss = LossHead::Plain;
        }
    });
    let engine = Engine::of(run.now());
    transformers::adapt(run, engine);
    run.change(&format!("{program} trains models that write text: their head and their loss stand in"), |s| {
        if matches!(s.recipe.loss, LossHead::MaskedLm | LossHead::Classifier) {
            s.recipe.loss = LossHead::Plain;
        }
    });
    run.change(&format!("{program} has no word for torch.optim.Adafactor: that of transformers stands in"), |s| {
        if s.recipe.optimizer == Optimizer::AdafactorTorch {
            s.recipe.optimizer = Optimizer::Adafactor;
        }
    });
    engine
}

/// What trl's trainers make of the frozen models of a task (`create_model_from_path` and `prepare_model` in
/// trl/trainer/dpo_trainer.py and grpo_trainer.py, 1.10.0), in a program that runs them.
fn frozen_models(run: &mut Run, program: &str) {
    let kind = run.now().task.kind;
    if matches!(kind, TaskKind::Train | TaskKind::Reward) {
        return;
    }
    run.change(&format!("{program} keeps frozen models on the GPU, loaded and divided like the trained one"), |s| {
        s.task.frozen = FrozenType::Policy;
        if matches!(s.task.reference, Reference::Sharded | Reference::Offloaded) {
            s.task.reference = Reference::Copy;
        }
        if kind.generates() && s.task.reward == RewardModel::Offloaded {
            s.task.reward = RewardModel::Model;
        }
    });
    own_reference(run);
}

/// The reference of a task: the model without its adapters where it has some.
fn own_reference(run: &mut Run) {
    run.change("the reference is the model without its adapters where it has some, and otherwise a copy", |s| {
        let adapted = s.recipe.adapter != Adapter::None && s.task.kind != TaskKind::Distil;
        s.task.reference = match s.task.reference {
            Reference::Copy if adapted => Reference::Adapter,
            Reference::Adapter if !adapted => Reference::Copy,
            other => other,
        };
    });
}

/// GRPO as trl's trainer generates for it, and the completions of a group. `whole` says that each GPU has to have all
/// of a group.
fn groups(run: &mut Run, whole: bool) -> u32 {
    run.change("trl scores a micro-batch at a time", |s| s.task.scored = 0);
    run.change("GRPO compares at least two completions of a prompt", |s| {
        let least = if whole { s.cluster.data_parallel().saturating_mul(2) } else { 2 };
        if s.goal.sequences(s.recipe.sequence) < least {
            (s.goal.global_batch, s.goal.unit) = (least, BatchUnit::Sequences);
        }
    });
    let micro = run.plan().micro_batch;
    run.change("trl generates whole micro-batches at once: here those of a step", |s| {
        if s.task.generations < 2 || !s.task.generations.is_multiple_of(micro) {
            s.task.generations = 0;
        }
    });
    let planned = run.plan();
    let each = at_once(&planned);
    let all = if whole { each } else { each.saturating_mul(planned.data_parallel) };
    // The largest group of at most eight, trl's own number, or the smallest above.
    let divides = |size: &u32| all.is_multiple_of(*size);
    let above = || (9..).take_while(|size| size <= &(all / size)).find(divides).unwrap_or(all);
    (2..=8).rev().find(divides).unwrap_or_else(above)
}

/// Completions that one GPU generates at once.
fn at_once(planned: &Planned) -> u32 {
    match planned.scenario.task.generations {
        0 => planned.micro_batch.saturating_mul(planned.steps),
        each => each,
    }
}

/// Trainers that switch every dropout off (`disable_dropout` of trl's DPO and reward trainers).
fn drops_nothing(run: &mut Run, program: &str) {
    let off = matches!(run.now().task.kind, TaskKind::Dpo | TaskKind::Reward);
    run.change(&format!("{program} switches dropout off for this task"), |s| {
        if off {
            (s.recipe.dropout, s.recipe.adapter_dropout) = (Switch::Off, Switch::Off);
        }
    });
}

/// Logits of a micro-batch of pairs or completions.
fn logits(now: &Scenario) -> f64 {
    let (sequences, tokens) = match now.task.kind {
        TaskKind::Dpo => (2.0, now.recipe.sequence),
        _ => (1.0, now.task.completed(now.recipe.sequence)),
    };
    sequences * f64::from(now.recipe.batch) * f64::from(tokens) * f64::from(now.model.vocabulary)
}

/// The plan leaves room for bytes that the ledger does not count, and the file says for which.
fn leaves_room(run: &mut Run, why: &str, beside: fn(&Scenario) -> Bytes) {
    run.counts_more(beside);
    let more = beside(&run.plan().scenario);
    if more > Bytes::ZERO {
        let more = gib(more);
        run.differs(format!(
            "{why}: up to {more} GiB more than the prediction says, for which the micro-batch leaves room."
        ));
    }
}

/// What the Trainer itself is told, whichever program hands it on.
fn trainer_keys(planned: &Planned, engine: Engine) -> Keys {
    let now = &planned.scenario;
    let mut keys: Keys = Vec::new();
    if let Some((name, arguments)) = transformers::optimizer(now) {
        keys.push(("optim", name.into()));
        keys.extend(arguments.map(|words| ("optim_args", words.into())));
    }
    if now.recipe.kernels == Kernels::Fused {
        keys.push(("torch_compile", true.into()));
    }
    if engine == Engine::DeepSpeed {
        keys.push(("deepspeed", Value::Map(deepspeed::config(planned, Caller::Trainer))));
    }
    keys
}

/// What tells the Trainer to recompute whole layers, where FSDP does not.
fn checkpointing(now: &Scenario, engine: Engine) -> Keys {
    let recomputes = now.recipe.recomputation == Recomputation::Full && engine != Engine::Fsdp;
    let mut keys: Keys = vec![("gradient_checkpointing", recomputes.into())];
    if recomputes {
        keys.push(("gradient_checkpointing_kwargs", Value::Map(vec![("use_reentrant", false.into())])));
    }
    keys
}

/// What all of these files leave to the reader.
fn elsewhere(run: &mut Run, engine: Engine, start: &str) {
    let now = *run.now();
    let world = run.plan().world;
    run.elsewhere(format!("Start: {}", start.replace("{world}", &world.to_string())));
    run.elsewhere(
        "The model and the data set, whose names are placeholders, with sequences filled up to the length below.",
    );
    if now.recipe.dropout.is_on() {
        run.elsewhere("Dropout: the model’s configuration; its masks are counted.");
    }
    if engine == Engine::DeepSpeed {
        deepspeed::gathered_layers(run, &now);
    }
    let (machines, each) = super::run::machines(world);
    if machines > 1 {
        run.elsewhere(format!("{machines} machines of {each} GPUs are assumed: name the first on each of them."));
    }
}

/// The head of a file, and its keys.
fn file(run: &Run, page: &str, checked: &str, keys: &[(&'static str, Value)]) -> String {
    commented(&run.head(page, checked), "#") + "\n" + &Value::yaml(keys, 0)
}
