//! Devices that share every layer (`apply_tp` in torchtitan/models/llama3/infra/parallelize.py, 0.2.2): each has some of the heads, of
//! the inner columns of the feed-forward block and of the vocabulary, and between layers a part of every sequence.
//!
//! Modules keep their class. What they are given is gathered before and what they put out is summed behind, where their
//! sides are; the widths are those of one device.

use super::torchtitan::Split;
use crate::estimator::choice::Engine;
use crate::estimator::models::{Block, Model, NotCounted};
use crate::estimator::operators::{Form, ModuleSide, Operator, Part, Place, Size, Tensor, Weight};
use crate::estimator::scenario::Scenario;
use crate::estimator::units::{V, Width};

/// The widths that are divided.
const DIVIDED: [Width; 5] = [Width::Heads, Width::KvHeads, Width::PackedHeads, Width::FeedForward, Width::Vocabulary];

/// So many devices share every layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorParallel {
    /// The devices.
    pub devices: u32,
    /// Whether a micro-batch has several sequences.
    has_several: bool,
    /// Whether a buffer stays in which the hidden state is gathered for the head (`GlobalMemoryBuffer` in megatron/core/utils.py).
    has_buffer: bool,
}

impl TensorParallel {
    /// Those of a scenario, where there are several. What they divide has to be a multiple of their number, and the residual
    /// stream is divided as well.
    pub fn of(scenario: &Scenario) -> Result<Option<Self>, NotCounted> {
        let Scenario { model, recipe, cluster, .. } = scenario;
        let devices = cluster.tensor_parallel.max(1);
        if devices == 1 {
            return Ok(None);
        }
        let divided = [model.heads, model.kv_heads, model.feed_forward, model.vocabulary, recipe.sequence];
        if !cluster.sequence_parallel.is_on() || divided.iter().any(|width| !width.is_multiple_of(devices)) {
            return Err(NotCounted::SeveralGpus);
        }
        let has_buffer = cluster.engine == Engine::Megatron;
        Ok(Some(Self { devices, has_several: recipe.batch > 1, has_buffer }))
    }

    /// Has a device compute its part of a model.
    pub fn divide(self, model: &mut Model) {
        for width in DIVIDED {
            let whole = model.widths.of(width);
            model.widths = model.widths.with(width, whole / u64::from(self.devices));
        }
        let residual = model.layers.first().and_then(|run| run.period.first()).and_then(Block::first_argument);
        for block in model.blocks_mut() {
            // Between modules each device has its part of every sequence.
            block.map_arguments(|form| {
                if Some(form) == residual { Form { shape: form.shape.part(self.devices), ..form } } else { form }
            });
            block.applications.iter_mut().for_each(|application| self.divide_operator(&mut application.operator));
        }
        if let (Some(residual), true) = (residual, self.has_buffer) {
            let size = Size::Of(residual);
            model.constants.push(Tensor { place: Place::Head, part: Part::Gathered, size });
        }
        let output = model.output.iter_mut().flat_map(|block| &mut block.applications);
        output.for_each(|application| self.divide_operator(&mut application.operator));
    }

    fn divide_operator(self, operator: &mut Operator) {
        let Self { devices: parts, has_several, .. } = self;
        *operator = match *operator {
            Operator::Embedding { ids, rows, width } => Operator::EmbeddingPart { ids, rows, width, parts },
            Operator::Boundary { x, side: ModuleSide::Input } => Operator::GatherSequence { x, parts, has_several },
            Operator::Boundary { x, side: ModuleSide::Output } => Operator::ScatterSequence { x, parts, has_several },
            Operator::CrossEntropy { logits, labels, .. } => {
                Operator::CrossEntropyOfParts { logits, labels, columns: V }
            }
            Operator::Megatron { x, others, function } => {
                Operator::Megatron { x, others, function: function.shared(parts) }
            }
            other => other,
        };
    }

    /// How a weight is divided.
    pub fn split(self, weight: &Weight) -> Split {
        let Some([rows, columns]) = weight.sides else { return Split::Whole };
        match [rows, columns].map(|side| DIVIDED.iter().any(|&width| side.has(width))) {
            [true, _] => Split::Rows(self.devices),
            [_, true] => Split::Columns(self.devices),
            _ => Split::Whole,
        }
    }
}
