//! A model in parts, one after another: what the stages of a pipeline run.
//!
//! PyTorch's pipelines take any module as a stage. A stage here is that of tools/trace/programs.py (`pipeline`): a run of
//! the model's own layers, before them the table of positions that they are given, in the first one the embedding and in
//! the last one norm and head. The schedule computes the loss.

use std::ops::Range;

use super::decoder::{Parts, Stack, tokens};
use super::{Block, Model, Run};
use crate::estimator::operators::{Form, Operator, Place};
use crate::estimator::units::{B, DType, H, S, V};

/// The functions of which a model in parts consists, beside its layers.
#[derive(Clone, Debug)]
pub struct Cut {
    /// From token ids to the hidden state and what layers are given: the first part begins with it.
    pub embedding: Block,
    /// The same from the hidden state of the part before.
    pub received: Block,
    /// The end of the function of a part that has no head.
    pub handed_on: Block,
    /// From the hidden state to logits: the last part ends with it.
    pub head: Block,
    /// From logits and labels to the loss.
    pub objective: Block,
}

impl Cut {
    /// The functions around layers that are given `shared`, with those that come before them: of the first part, and of the others.
    pub fn new(parts: &Parts<'_>, stack: &Stack, [embedding, received]: [Block; 2]) -> Self {
        let arguments: Vec<_> = [parts.residual()].into_iter().chain(stack.shared.iter().copied()).collect();
        Self {
            embedding,
            received,
            handed_on: handed_on(&arguments),
            head: head(stack, &arguments),
            objective: objective(parts),
        }
    }
}

/// The end of a function, with which its names go.
pub fn handed_on(arguments: &[Form]) -> Block {
    let (mut block, arguments) = Block::new(arguments);
    block.take(&arguments);
    let x = block.add(Place::Pipeline, Operator::Return { x: arguments[0] });
    block.named(&arguments);
    block.giving(&[x])
}

/// The same after norm and head.
fn head(stack: &Stack, arguments: &[Form]) -> Block {
    let (mut block, arguments) = Block::new(arguments);
    block.take(&arguments);
    let x = block.add(Place::FinalNorm, (stack.final_norm)(arguments[0]));
    let logits = block.add(Place::Head, Operator::Linear { x, from: H, to: V, product: stack.head });
    block.named(&arguments);
    block.giving(&[logits])
}

/// `cross_entropy(logits.float().flatten(0, 1), labels.flatten())`.
pub fn objective(parts: &Parts<'_>) -> Block {
    let logits = Form::new(parts.call.dtype, B * S * V);
    let (mut block, arguments) = Block::new(&[logits, tokens()]);
    let wide = block.add(Place::Logits, Operator::To { x: arguments[0], dtype: DType::Single });
    let loss = block.add(Place::Loss, Operator::CrossEntropy { logits: wide, labels: arguments[1], is_shifted: false });
    block.giving(&[loss])
}

impl Model {
    /// How many layers it has.
    pub fn depth(&self) -> u32 {
        self.layers.iter().map(Run::layers).fold(0, u32::saturating_add)
    }

    /// The part of the model that has these of its layers, which are whole periods of their runs; `None` where it is not
    /// known how it is cut.
    pub fn part(&self, layers: Range<u32>, is_first: bool, is_last: bool) -> Option<Self> {
        let cut = self.cut.as_ref()?;
        let mut begin = 0_u32;
        let runs = self.layers.iter().filter_map(|run| {
            let end = begin.saturating_add(run.layers());
            let within = layers.start.clamp(begin, end)..layers.end.clamp(begin, end);
            begin = end;
            let times = within.len() as u32 / (run.period.len() as u32).max(1);
            (times > 0).then(|| Run { period: run.period.clone(), times })
        });
        Some(Self {
            opening: if is_first { cut.embedding.clone() } else { cut.received.clone() },
            layers: runs.collect(),
            closing: if is_last { cut.head.clone() } else { cut.handed_on.clone() },
            hands_on: !is_last,
            has_cache: false,
            puts_out_states: false,
            cut: None,
            output: self.output.clone(),
            constants: self.constants.clone(),
            beside: self.beside.clone(),
            ..*self
        })
    }
}
