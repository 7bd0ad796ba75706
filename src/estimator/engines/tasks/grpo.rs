//! Group-relative policy optimization as trl's GRPOTrainer computes log-probabilities (trl 1.10.0, trainer/grpo_trainer.py
//! `_get_per_token_logps_and_entropies`), in a loop of PyTorch's own: passes without gradients that score completions, then
//! the one that is trained. Others generate, or the model itself before all passes (`unwrap_model_for_generation`), or an engine
//! beside it, which sleeps afterwards or does not (`VLLMGeneration.generate` in generation/vllm_generation.py).

use super::generation::{self, Generation, Kind};
use super::log_probs::{CHUNK_ROWS, chunks, entropies, joined, selective_log_softmax};
use super::{Local, Networks, Script, compared_with, frozen, handed_out, of_batch};
use crate::estimator::choice::{Batching, RewardModel, Rollout};
use crate::estimator::engines::passes::{Batches, Network, Pass, Task};
use crate::estimator::models::{Block, End, NotCounted, tokens};
use crate::estimator::operators::{Form, Operator, Owner, Part, Place, Size, Tensor, Types};
use crate::estimator::scenario::Scenario;
use crate::estimator::units::{B, DType, SC, SC1, V, Width};

/// The task.
pub fn task(scenario: &Scenario, networks: Networks<'_>) -> Result<Task, NotCounted> {
    let (task, recipe) = (&scenario.task, &scenario.recipe);
    if !matches!(task.rewarded_by(), RewardModel::Function | RewardModel::Model) || task.scored > 0 {
        return Err(NotCounted::Task);
    }
    if task.rollout == Rollout::Model && networks.data_parallel.is_sharded() {
        return Err(NotCounted::SeveralGpus);
    }
    if task.rollout == Rollout::Model && scenario.batching() != Batching::Equal {
        return Err(NotCounted::Lengths);
    }
    let types = networks.types();
    let end = End::LogitsOfCompletion;
    let trained = networks.trained(end, super::collation(scenario), true)?;
    let dtype = trained.dtype;
    let out = Form::new(types.autocast.unwrap_or(trained.dtype), B * SC1 * V);
    let mut all = vec![Network::trained(trained, types)];
    all.extend(compared_with(networks, end)?);
    let completion = u64::from(task.completed(recipe.sequence));
    let sequences = Sequences { count: recipe.batch, rows: u64::from(recipe.batch).saturating_mul(completion) };

    let mut script = Script::default();
    let [ids, mask, prompts] = script.names();
    let mut batch = vec![of_batch(Part::Ids, tokens()), of_batch(Part::Mask, tokens())];
    // Where others generate, the model's own log-probabilities are computed first.
    let scored = usize::from(task.rollout == Rollout::Model)..all.len();
    if task.rollout == Rollout::Model {
        let all_at_once = recipe.batch.saturating_mul(recipe.micro_batches);
        let sequences = if task.generations > 0 { task.generations } else { all_at_once };
        let completed = task.completed(recipe.sequence);
        let prompt = recipe.sequence.saturating_sub(completed).max(1);
        let (network, has_end_token) = (all.len(), networks.has_end_token);
        let of_prompts = u64::from(sequences).saturating_mul(prompt.into()).saturating_mul(DType::Long.bytes());
        batch.push(Tensor { place: Place::Batch, part: Part::Ids, size: Size::Bytes(of_prompts) });
        all.push(generation::network(networks, DType::Long)?);
        let kind = Kind::Plain;
        let asked = Generation { network, types, dtype, sequences, prompt, tokens: completed, has_end_token, kind };
        let [sequence, mask, same] = generation::generate(&mut script, prompts, asked);
        script.passes.extend([Pass::DropCache(network), Pass::Extent(None)]);
        script.forget(&[sequence, mask, same]);
    }
    let engine = inference_engine(scenario);
    if task.rollout == Rollout::Asleep {
        script.passes.push(Pass::Engine(engine));
    }
    let reward_model = reward_model(networks)?;
    for network in scored {
        let out = all.get(network).map_or(out, |network| network.out(out));
        let scored = log_probs(&mut script, network, [ids, mask], types, out, sequences, false);
        script.forget(&[scored.0]);
    }
    if let Some(network) = reward_model {
        // One number for each sequence (`_calculate_rewards`).
        let out = network.out(Form::new(DType::Single, B));
        let scores = script.forward(all.len(), &[ids, mask], &[ids]);
        let (scores, _) = handed_out(&mut script, types, scores, out);
        script.forget(&[scores]);
        all.push(network);
    }
    let before = std::mem::take(&mut script.passes);
    script.is_recorded = true;
    let (logps, form) = log_probs(&mut script, 0, [ids, mask], types, out, sequences, true);
    let (mut block, arguments) = Block::new(&[form]);
    let mean = block.add(Place::Loss, Operator::Sum { x: arguments[0], inputs: form.shape });
    let negated = block.add(Place::Loss, Operator::Scale { x: mean });
    let [loss] = script.call(block.giving(&[negated]), &[logps]);
    script.forget(&[logps]);
    let scaled = script.scaled(loss, form.dtype, networks.data_parallel.loss_scales());
    script.passes.push(Pass::Backward(scaled.first().copied().unwrap_or(loss), form.dtype));
    script.forget(&scaled);
    let mut task = Task {
        networks: all,
        functions: script.functions,
        kept: if task.rollout == Rollout::Awake { vec![engine] } else { Vec::new() },
        batch,
        batches: Batches::Once,
        before,
        micro_batch: script.passes,
        epochs: None,
        before_update: Vec::new(),
        after: vec![Pass::Forget(vec![loss])],
        left: Vec::new(),
        outside: Vec::new(),
        names: script.names,
        sequences: 1,
        is_of_one_batch: true,
        has_groups: false,
    };
    task.set(Width::Chunk, CHUNK_ROWS);
    task.set(Width::LastChunk, chunks(sequences.rows).1);
    task.set(Width::Completion, completion);
    task.set(Width::CompletionAndOne, completion.saturating_add(1).min(u64::from(recipe.sequence)));
    Ok(task)
}

/// The model that scores completions, where one on the device does: whole on each, which under FSDP is in types of its own.
fn reward_model(networks: Networks<'_>) -> Result<Option<Network>, NotCounted> {
    if networks.scenario.task.rewarded_by() != RewardModel::Model {
        return Ok(None);
    }
    let network = frozen(networks, End::Score, Owner::RewardModel)?;
    if network.unit.is_some() { Err(NotCounted::SeveralGpus) } else { Ok(Some(network)) }
}

/// What an engine that generates beside the trained model has: its share of the device (`gpu_memory_utilization` of vLLM).
fn inference_engine(scenario: &Scenario) -> Tensor {
    let bytes = (scenario.task.engine.fraction() * scenario.device.memory.get()) as u64;
    Tensor { place: Place::InferenceEngine, part: Part::Workspace, size: Size::Bytes(bytes) }
}

/// Sequences of a pass, and tokens of all completions.
#[derive(Clone, Copy)]
struct Sequences {
    count: u32,
    rows: u64,
}

/// Log-probabilities of completions by a network, and their form.
fn log_probs(
    script: &mut Script,
    network: usize,
    [ids, mask]: [Local; 2],
    types: Types,
    out: Form,
    sequences: Sequences,
    has_entropy: bool,
) -> (Local, Form) {
    let logits = script.forward(network, &[ids, mask], &[]);
    let (logits, form) = handed_out(script, types, logits, out);
    // `logits[:, :-1, :]`, `logits[:, -logits_to_keep:, :]`, and the quotient by the temperature.
    let (mut block, arguments) = Block::new(&[form]);
    let x = block.add(Place::Logits, Operator::Slice { x: arguments[0], from: SC1, to: SC });
    let x = block.add(Place::Logits, Operator::Slice { x, from: SC, to: SC });
    let divided = block.add(Place::Logits, Operator::Scale { x });
    let [divided] = script.call(block.giving(&[divided]), &[logits]);
    let form = Form { shape: form.shape / SC1 * SC, ..form };
    let logps = selective_log_softmax(script, divided, ids, form, sequences.count);
    let entropies = has_entropy.then(|| entropies(script, divided, form, sequences.rows, false));
    let of_tokens = Form { shape: form.shape / V, ..form };
    let all = joined(script, logps, of_tokens);
    if let Some(entropies) = entropies {
        let is_recorded = std::mem::replace(&mut script.is_recorded, false);
        let whole = joined(script, entropies, of_tokens);
        script.is_recorded = is_recorded;
        script.forget(&[entropies, whole]);
    }
    script.forget(&[logits, divided, logps]);
    (all, of_tokens)
}
