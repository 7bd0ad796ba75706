//! What Liger puts in the place of parts of a model (liger_kernel/transformers/monkey_patch.py, 0.8.5, for a model that is there, as
//! `use_liger_kernel` of transformers' Trainer has it).

use super::decoder::{Collation, Parts};
use super::{Block, Model, gemma};
use crate::estimator::operators::{Copies, Handling, Operator, Place, Value};

/// How Liger patches a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    norms: Norms,
}

/// Which norms it replaces, and which of these write over the gradient that comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Norms {
    /// All of them, each of which does.
    InPlace,
    /// All of them, of which none does where a layer has norms behind attention and feed-forward block.
    BesideWherePost,
    /// Those of queries and keys stay, and only the last of all does (`apply_liger_kernel_to_olmo2`).
    LastInPlace,
}

impl Patch {
    /// That of Llama, and most others.
    pub const PLAIN: Self = Self { norms: Norms::InPlace };
    /// That of Gemma, Gemma 2 and 3.
    pub const GEMMA: Self = Self { norms: Norms::BesideWherePost };
    /// That of OLMo 2.
    pub const OLMO2: Self = Self { norms: Norms::LastInPlace };

    /// Puts Liger's norms and experts in the place of the model's.
    pub fn replace(self, parts: &Parts<'_>, model: &mut Model) {
        let mut layers = model.layers.iter().flat_map(|run| &run.period).flat_map(|block| &block.applications);
        let has_post = layers.any(|one| one.place == Place::AttentionPostNorm);
        for application in model.blocks_mut().flat_map(|block| &mut block.applications) {
            if let Operator::Experts { x, scores, ids, stack, adapter: None } = application.operator {
                application.operator = Operator::LigerExperts { x, scores, ids, stack };
            }
            let Operator::RmsNorm { x, width, .. } = application.operator else { continue };
            let is_last = application.place == Place::FinalNorm;
            let is_of_heads = matches!(application.place, Place::QueryNorm | Place::KeyNorm);
            let is_in_place = match self.norms {
                Norms::InPlace => true,
                Norms::BesideWherePost => !has_post,
                Norms::LastInPlace if is_of_heads => continue,
                Norms::LastInPlace => is_last,
            };
            let handling = Handling { is_in_place, is_copied: is_given_heads(parts, application.place) };
            application.operator = Operator::LigerRmsNorm { x, width, handling };
        }
    }
}

/// Whether the norm at a place is given several heads, each with its tokens, as those of Gemma 3 are.
fn is_given_heads(parts: &Parts<'_>, place: Place) -> bool {
    let heads = match place {
        Place::QueryNorm => parts.model.heads,
        Place::KeyNorm => parts.model.kv_heads,
        _ => return false,
    };
    heads > 1 && gemma::is_third(parts.model)
}

/// `liger_rotary_pos_emb` (liger_kernel/transformers/rope.py) of queries and keys; `is_sliced` where both are slices of one tensor.
/// Scores in full hand back gradients of queries head by head and those of keys as columns; keys that were repeated for heads of
/// queries get sums of them, head by head.
pub fn turned(
    parts: &Parts<'_>,
    block: &mut Block,
    both: [Value; 2],
    tables: [Value; 2],
    is_sliced: bool,
) -> [Value; 2] {
    let ([q, k], [cos, sin]) = (both, tables);
    let model = parts.model;
    let is_repeated = parts.call.collation == Collation::Padded && model.kv_heads != model.heads && model.kv_heads > 1;
    let has_columns = model.kv_heads > 1 || model.heads == 1;
    let back = [parts.is_eager() && model.heads > 1, parts.is_eager() && has_columns || is_repeated];
    let forward = [Place::QueryNorm, Place::KeyNorm].map(|norm| is_sliced || is_given_heads(parts, norm));
    let copies = Copies { forward, back };
    block.add_all(Place::Rotary, Operator::LigerRotary { q, k, cos, sin, copies })
}
