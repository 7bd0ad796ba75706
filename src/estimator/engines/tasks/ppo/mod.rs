//! Proximal policy optimization by trl's PPOTrainer (trl 1.10.0, experimental/ppo/ppo_trainer.py `train`): the policy generates,
//! a reference, the value model and a reward model score, and then policy and value model are trained as one module, several
//! times over, with an update for each mini-batch.

mod rollout;
mod update;

use super::{Local, Networks, Script, generation, reference};
use crate::estimator::choice::{Adapter, Batching, Precision, Recomputation, Reference, RewardModel, Rollout};
use crate::estimator::engines::data_parallel::DataParallel;
use crate::estimator::engines::networks::weight_dtype;
use crate::estimator::engines::passes::{Batches, Network, Pass, Task};
use crate::estimator::models::{Block, Collation, End, NotCounted, tokens};
use crate::estimator::operators::{Form, Operator, Owner, Part, Place, Size, Tensor, Types};
use crate::estimator::scenario::Scenario;
use crate::estimator::units::{B, DType, Extent, SC, Shape, Width};

/// How often an update goes over what was generated (`num_ppo_epochs` of `PPOConfig`).
const EPOCHS: u32 = 4;

/// Makes the passes of PPO; the reason where they are not played yet.
pub fn task(scenario: &Scenario, networks: Networks<'_>) -> Result<Task, NotCounted> {
    refused(scenario, networks).map_or(Ok(()), Err)?;
    let recipe = &scenario.recipe;
    let all = scenario.recipe.batch.saturating_mul(recipe.micro_batches);
    let completion = scenario.task.completed(recipe.sequence).min(recipe.sequence.saturating_sub(1));
    let whole = Extent { sequences: all, tokens: recipe.sequence, cached: recipe.sequence };
    let of = Models::new(scenario, networks)?;
    let run = Run {
        numbers: of.numbers,
        weights: weight_dtype(recipe),
        reference: of.reference,
        scores: of.scores,
        out: of.types.autocast.map_or(weight_dtype(recipe), |_| DType::Single),
        low: of.types.autocast,
        batch: recipe.batch,
        all,
        prompt: recipe.sequence.saturating_sub(completion),
        completion,
        whole,
        has_begin_token: networks.has_end_token,
    };
    let mut script = Script::default();
    let names = Names::new(&mut script);
    rollout::generate(&mut script, &names, &run);
    rollout::score(&mut script, &names, &run);
    rollout::advantages(&mut script, &names, &run);
    let before = std::mem::take(&mut script.passes);
    let over = update::micro_batch(&mut script, &run);
    let micro_batch = std::mem::take(&mut script.passes);
    script.forget(&over);
    script.passes.extend([Pass::ForgetGraph, Pass::EmptyCache]);
    let behind = std::mem::take(&mut script.passes);
    rollout::report(&mut script, &names, &run);
    // Statistics of each micro-batch of each epoch.
    let statistics = u64::from(EPOCHS).saturating_mul(recipe.micro_batches.into()).saturating_mul(4);
    let statistics = Tensor { place: Place::Metrics, part: Part::Result, size: Size::Bytes(statistics) };
    let mut task = Task {
        networks: of.all,
        functions: script.functions,
        kept: vec![statistics; 7],
        batch: Vec::new(),
        batches: Batches::Once,
        before,
        micro_batch,
        epochs: Some((EPOCHS, behind)),
        before_update: Vec::new(),
        after: script.passes,
        left: Vec::new(),
        outside: Vec::new(),
        names: script.names,
        sequences: 1,
        is_of_one_batch: true,
        has_groups: true,
    };
    task.set(Width::Completion, completion.into());
    Ok(task)
}

/// The reason for which PPO of a scenario is not played yet; none where it is.
fn refused(scenario: &Scenario, networks: Networks<'_>) -> Option<NotCounted> {
    let (task, recipe) = (&scenario.task, &scenario.recipe);
    let all = recipe.batch.saturating_mul(recipe.micro_batches);
    let scored = if task.scored > 0 { task.scored } else { recipe.batch };
    let generated = if task.generations > 0 { task.generations } else { all };
    let is_other = task.rollout != Rollout::Model || task.rewarded_by() != RewardModel::Model;
    let is_other = is_other || recipe.adapter == Adapter::Qlora;
    let refused = [
        (networks.data_parallel != DataParallel::Alone, NotCounted::SeveralGpus),
        (scenario.batching() != Batching::Equal || recipe.sequence < 2, NotCounted::Lengths),
        (is_other || !matches!(reference(scenario), Reference::Copy | Reference::Adapter), NotCounted::Task),
        // What is generated and scored in parts is stacked.
        (scored < all || generated != all, NotCounted::Task),
    ];
    refused.into_iter().find(|(is_refused, _)| *is_refused).map(|(_, reason)| reason)
}

/// Numbers of networks.
#[derive(Clone, Copy)]
struct Numbers {
    /// The policy and the value model as they are trained, under autocast where it is on.
    policy: usize,
    value: usize,
    reward: usize,
    reference: usize,
    /// The value model as it scores, and the policy as it generates.
    scoring: usize,
    generating: usize,
}

/// The networks, types and sizes that all passes of a run of PPO share.
struct Run {
    numbers: Numbers,
    /// The type of the weights of the policy and of the value model.
    weights: DType,
    /// The types of what the reference and the reward model put out.
    reference: DType,
    scores: DType,
    /// The type of what the trained module puts out.
    out: DType,
    /// The type to which autocast lowers products.
    low: Option<DType>,
    /// Sequences of a micro-batch, and of all.
    batch: u32,
    all: u32,
    /// Tokens of a prompt and of a completion.
    prompt: u32,
    completion: u32,
    /// The sequences and tokens that a pass over all sequences is given.
    whole: Extent,
    /// Whether the model's configuration names a token with which sequences begin. Those that name one name one that ends.
    has_begin_token: bool,
}

/// The networks, and what is known of them.
struct Models {
    all: Vec<Network>,
    numbers: Numbers,
    types: Types,
    reference: DType,
    scores: DType,
}

impl Models {
    /// accelerate puts autocast around the forward pass of the module of policy and value model (`prepare_model` in
    /// accelerate/accelerator.py, 1.15.0); passes that generate and score call the models in it. The value model has the type in
    /// which the policy was loaded, no adapters, and keeps its layers, because the module passes checkpointing on to the policy
    /// alone (`PolicyAndValueWrapper`). Layers that are computed again keep no keys and values (`GradientCheckpointingLayer` in
    /// transformers/modeling_layers.py, 5.23.0), and `get_reward` asks for none.
    fn new(scenario: &Scenario, networks: Networks<'_>) -> Result<Self, NotCounted> {
        let networks = Networks { puts_out_states: true, ..networks };
        let dtype = weight_dtype(&scenario.recipe);
        let mut plain = *scenario;
        if plain.recipe.precision == Precision::Autocast {
            plain.recipe.precision = if dtype == DType::Single { Precision::Fp32 } else { Precision::PureBf16 };
        }
        let plain = Networks { scenario: &plain, ..networks };
        let is_recomputed = !matches!(scenario.recipe.recomputation, Recomputation::None | Recomputation::Selective);
        let collation = if is_recomputed { Collation::Placed } else { Collation::Kept };
        let types = networks.types();
        let own = |types: Types| Types { weights: dtype, loaded: dtype, ..types };

        let policy = Network::trained(networks.trained(End::Logits, collation, true)?, types);
        let mut value = Network::trained(networks.beside(End::Values, Collation::Kept, dtype)?, own(types));
        value.owner = Owner::ValueModel;
        // The policy's pass is under the same autocast, and ends it.
        value.model.has_loss_under_autocast = true;
        let (reward, frozen) = plain.frozen(End::Values, Collation::Placed)?;
        let mut all = vec![policy, value, Network::frozen(reward, frozen, Owner::RewardModel, None)];
        let compared = if reference(scenario) == Reference::Copy {
            let (model, types) = plain.frozen(End::Logits, Collation::Kept)?;
            all.push(Network::frozen(model, types, Owner::Reference, None));
            types.weights
        } else {
            all.push(Network::again(plain.trained(End::Logits, collation, false)?, plain.types()));
            dtype
        };
        let scoring = plain.beside(End::Values, Collation::Placed, dtype)?;
        let scoring = Network { shared_with: Some(1), ..Network::again(scoring, own(plain.types())) };
        all.push(Network { owner: Owner::ValueModel, ..scoring });
        let generating = Networks { puts_out_states: false, ..plain };
        all.push(generation::network(generating, DType::Byte)?);
        let numbers = Numbers { policy: 0, value: 1, reward: 2, reference: 3, scoring: 4, generating: 5 };
        Ok(Self { all, numbers, types, reference: compared, scores: frozen.weights })
    }
}

/// Names of the trainer that outlive what they are made in.
struct Names {
    /// Ids and mask of the prompts.
    data: [Local; 2],
    queries: Local,
    query: Local,
    query_responses: Local,
    query_response: Local,
    response: Local,
    logits: Local,
    postprocessed_response: Local,
    postprocessed_query_response: Local,
    sequence_length: Local,
    /// `_`.
    unnamed: Local,
    responses: Local,
    postprocessed_responses: Local,
    log_probs: Local,
    reference_log_probs: Local,
    sequence_lengths: Local,
    scores: Local,
    values: Local,
    contains_end: Local,
    response_places: Local,
    padding: Local,
    lengths_and_one: Local,
    padding_and_one: Local,
    log_ratio: Local,
    divergence: Local,
    divergence_reward: Local,
    rewards: Local,
    starts: Local,
    ends: Local,
    reversed: Local,
    delta: Local,
    next_values: Local,
    advantages: Local,
    returns: Local,
    total_reward: Local,
}

impl Names {
    fn new(script: &mut Script) -> Self {
        let mut name = || script.name();
        Self {
            data: [name(), name()],
            queries: name(),
            query: name(),
            query_responses: name(),
            query_response: name(),
            response: name(),
            logits: name(),
            postprocessed_response: name(),
            postprocessed_query_response: name(),
            sequence_length: name(),
            unnamed: name(),
            responses: name(),
            postprocessed_responses: name(),
            log_probs: name(),
            reference_log_probs: name(),
            sequence_lengths: name(),
            scores: name(),
            values: name(),
            contains_end: name(),
            response_places: name(),
            padding: name(),
            lengths_and_one: name(),
            padding_and_one: name(),
            log_ratio: name(),
            divergence: name(),
            divergence_reward: name(),
            rewards: name(),
            starts: name(),
            ends: name(),
            reversed: name(),
            delta: name(),
            next_values: name(),
            advantages: name(),
            returns: name(),
            total_reward: name(),
        }
    }
}

/// A number of a type for each token of a completion.
fn each(dtype: DType) -> Form {
    Form::new(dtype, B * SC)
}

/// A number of a type for each sequence.
fn one_each(dtype: DType) -> Form {
    Form::new(dtype, B)
}

/// A number of a type.
fn one(dtype: DType) -> Form {
    Form::new(dtype, Shape::ONE)
}

/// A pass of a network that puts out states, which name the keys and values that it kept as well.
fn forward(script: &mut Script, network: usize, [ids, mask, places]: [Local; 3], into: Local, beside: [Local; 2]) {
    let (given, is_recorded) = (vec![ids, mask, places], script.is_recorded);
    let (given_last, into, beside) = (Vec::new(), vec![into], Some(beside));
    script.passes.push(Pass::Forward { network, given, given_last, into, beside, is_recorded });
}

/// The arguments of a network for whole sequences (`forward`, and `get_reward` of trl/experimental/utils.py): ids with padding filled, a
/// mask of booleans, and places, for which a sum casts the mask.
fn inputs(script: &mut Script) -> [Local; 3] {
    let names @ [ids, mask, places] = script.names();
    let flags = tokens().with_dtype(DType::Byte);
    let (mut block, _) = Block::new(&[]);
    let seen = block.add(Place::Mask, Operator::Zeros { form: flags });
    let make = |block: &mut Block, x, y, form| block.add(Place::Positions, Operator::Computed { x, y, form });
    let counted = make(&mut block, seen, None, tokens());
    make(&mut block, seen, None, tokens());
    let numbers = make(&mut block, seen, None, tokens());
    let places_of = make(&mut block, counted, Some(numbers), tokens());
    let hidden = make(&mut block, seen, None, flags);
    let filled = make(&mut block, hidden, None, tokens());
    let is_recorded = std::mem::replace(&mut script.is_recorded, false);
    script.call_into(block.giving(&[filled, seen, places_of]), &[], &[ids, mask, places]);
    script.is_recorded = is_recorded;
    names
}
