//! Training on the next token as one rank of a pipeline: its networks are the rank's parts of the model.

use super::Pipeline;
use crate::estimator::choice::{Adapter, Engine, Precision, Recomputation};
use crate::estimator::engines::networks::Networks;
use crate::estimator::engines::passes::{Batches, Network, Task};
use crate::estimator::models::{Collation, Cut, End, Model, NotCounted, tokens};
use crate::estimator::operators::{Form, Part, Place, Size, Tensor};

impl Pipeline {
    /// The task of the rank. The pipeline's own acts take the place of passes.
    pub fn task(self, networks: Networks<'_>) -> Result<Task, NotCounted> {
        if self.is_long() {
            return Err(NotCounted::LongPipeline);
        }
        let recipe = &networks.scenario.recipe;
        let model = networks.trained(End::Loss, Collation::Equal, true)?;
        let is_of_one_type =
            matches!(recipe.precision, Precision::PureBf16 | Precision::Fp32) || recipe.precision.has_master();
        let is_sharded = recipe.precision == Precision::Mixed && networks.data_parallel.is_sharded();
        // torchtitan counts every k-th layer of each part.
        let is_counted = recipe.recomputation == Recomputation::KthLayer;
        if model.is_tied || recipe.adapter != Adapter::None || !(is_of_one_type || is_sharded) || is_counted {
            return Err(NotCounted::Pipeline);
        }
        let parts = self.parts(&model).ok_or(NotCounted::Pipeline)?;
        let has_head = parts.last().is_some_and(|part| !part.hands_on);
        let objective = model.cut.filter(|_| has_head).map(|Cut { objective, .. }| objective);
        // The parts of a rank have one table of frequencies among them.
        let with_table = |(place, model)| if place == 0 { model } else { Model { constants: Vec::new(), ..model } };
        let network = |part| Network::trained(with_table(part), networks.types());
        // A pipeline is given the tokens of all micro-batches at once.
        let ids = Form { shape: tokens().shape.by(self.micro_batches), ..tokens() };
        let moves_batches = networks.scenario.cluster.engine == Engine::Torchtitan;
        let ids = Tensor { place: Place::Batch, part: Part::Ids, size: Size::Of(ids) };
        Ok(Task {
            networks: parts.into_iter().enumerate().map(network).collect(),
            functions: objective.into_iter().collect(),
            kept: Vec::new(),
            batch: if moves_batches { Vec::new() } else { vec![ids] },
            batches: if moves_batches { Batches::EachInTurn } else { Batches::Once },
            before: Vec::new(),
            micro_batch: Vec::new(),
            epochs: None,
            before_update: Vec::new(),
            after: Vec::new(),
            left: Vec::new(),
            outside: Vec::new(),
            names: 0,
            sequences: 1,
            is_of_one_batch: false,
            has_groups: false,
        })
    }
}
