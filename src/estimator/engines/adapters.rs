//! peft's low-rank adapters: linear layers get two thin matrices beside their frozen one.

use crate::estimator::choice::{AdapterTargets, TowerTraining};
use crate::estimator::models::{Block, Model};
use crate::estimator::operators::{Adapter, Operator, Place, Product, Side};
use crate::estimator::scenario::Recipe;
use crate::estimator::units::{DType, R, Width};

/// The types of adapters.
#[derive(Clone, Copy)]
pub struct Adapted {
    /// Their own.
    pub dtype: DType,
    /// The type in which an engine gathers them, where it is another.
    pub gathered: Option<DType>,
    /// Whether the engine casts what they are given.
    pub casts_input: bool,
    /// Whether they have dropout.
    pub has_dropout: bool,
}

/// Freezes the model, and puts an adapter beside each of the targets, unless they are switched off (`disable_adapter`).
pub fn adapt(model: &mut Model, recipe: &Recipe, adapted: Adapted, are_on: bool) {
    model.widths = model.widths.with(Width::Rank, u64::from(recipe.rank));
    let Adapted { dtype, gathered, casts_input, has_dropout } = adapted;
    let adapter = Adapter { rank: R, dtype, gathered, casts_input, has_dropout };
    let is_sparse = |block: &mut Block| block.applications.iter().any(|one| one.place == Place::Router);
    let has_experts = model.blocks_mut().any(is_sparse);
    let sees = model.sees;
    for (side, application) in model.blocks_mut().flat_map(|block| {
        let side = block.side;
        block.applications.iter_mut().map(move |application| (side, application))
    }) {
        application.is_trained = false;
        // A vision tower and its projector have adapters where they are asked for.
        let is_of_tower = sees && (side == Side::Encoder || application.place.is_of_projector());
        if !are_on || is_of_tower && recipe.images.tower != TowerTraining::Adapters {
            continue;
        }
        // "all-linear" of peft finds routers and experts, too, though they are no layers.
        if let Operator::Router { adapter: beside, .. } | Operator::Experts { adapter: beside, .. } =
            &mut application.operator
        {
            *beside = (recipe.targets == AdapterTargets::All).then_some(adapter);
        }
        if let Operator::Linear { x, from, to, product } = application.operator
            && !matches!(product, Product::Parameter { .. })
            && is_target(application.place, recipe.targets, has_experts)
        {
            application.operator = Operator::Adapted { x, from, to, product, adapter };
        }
    }
}

/// Whether the matrix at a place gets an adapter. The head never does ("all-linear" of peft leaves it out).
fn is_target(place: Place, targets: AdapterTargets, has_experts: bool) -> bool {
    match place {
        Place::Query | Place::Value | Place::QueryKeyValue | Place::CrossQuery | Place::CrossValue => true,
        Place::Key | Place::AttentionOutput | Place::CrossKey | Place::CrossOutput => {
            targets != AdapterTargets::QueryValue
        }
        // Where there are experts, peft takes the names of these matrices for those of experts
        // (`_convert_peft_config_moe` in utils/transformers_weight_conversion.py).
        Place::Gate | Place::Up | Place::Down => targets == AdapterTargets::All && !has_experts,
        Place::Projector | Place::ProjectorOutput => targets == AdapterTargets::All,
        Place::QueryDown | Place::LatentDown | Place::LatentUp => targets == AdapterTargets::All,
        _ => false,
    }
}
