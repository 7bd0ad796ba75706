//! Llama's stack (transformers 5.23.0, models/llama/modeling_llama.py), with the biases of Qwen 2.5 and the norms of heads
//! of Qwen 3 (models/qwen2, models/qwen3), and what other families have in common with it.

use super::decoder::{Collation, Parts, Stack, linear, tokens};
use super::{Block, experts, gemma, liger, starcoder2};
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm, Softmax, Switch};
use crate::estimator::operators::{Form, Operator, Place, Product, Value, Weighting};
use crate::estimator::scenario::Model;
use crate::estimator::units::{B, D, DType, F, H, K, N, S, Shape, T, V};

/// Whether a model's layers are like Llama's.
pub fn is_like(model: &Model) -> bool {
    (model.norm, model.norms, model.mlp, model.position) == (Norm::RmsNorm, 2, Mlp::Gated, Position::Rotary)
        && (model.packing, model.softmax) == (Packing::Separate, Softmax::Full)
        && (model.parallel, model.soft_cap) == (Switch::Off, Switch::Off)
        && matches!(model.bias, Bias::None | Bias::Qkv)
        && matches!(model.qk_norm, QkNorm::Off | QkNorm::Head)
        && experts::are_like(model)
}

/// Its layers, with what comes before them.
pub fn stack(parts: &Parts<'_>) -> Stack {
    let tables = whole_heads(parts);
    let opening = opening(parts, tables, |_, _, embedded| embedded);
    let cut = (!parts.is_eager() && parts.call.collation == Collation::Equal)
        .then(|| [cut_opening(parts, true), cut_opening(parts, false)]);
    let layers = parts.equal_layers(layer(parts));
    let stack = Stack::new(parts, opening, shared(parts, tables), layers, |x| norm(x, H));
    Stack { cut, ..stack }.rotating(parts.model.head_dim, D)
}

/// What comes before the layers in a part of a pipeline (`pipeline` in tools/trace/programs.py), with the embedding in the
/// first one. There is no mask.
fn cut_opening(parts: &Parts<'_>, embeds: bool) -> Block {
    let (mut block, arguments) = Block::new(&[if embeds { tokens() } else { parts.residual() }]);
    let embedding = Operator::Embedding { ids: arguments[0], rows: V, width: H };
    let x = if embeds { block.add(Place::TokenEmbedding, embedding) } else { arguments[0] };
    let positions = block.add(Place::Positions, Operator::Range);
    let Tables { dtype, width } = whole_heads(parts);
    let [cos, sin] = block.add_all(Place::RotaryTable, Operator::RotaryTable { positions, width, dtype });
    block.giving(&[x, positions, cos, sin])
}

/// The tables of cosines and sines that layers are given.
#[derive(Clone, Copy)]
pub struct Tables {
    /// Their type.
    pub dtype: DType,
    /// How many columns of each head they rotate.
    pub width: Shape,
}

/// Tables for whole heads, in the type of the weights.
pub fn whole_heads(parts: &Parts<'_>) -> Tables {
    Tables { dtype: parts.call.dtype, width: D }
}

/// What all layers are given: numbers of positions, cosines and sines, and the mask of eager attention.
pub fn shared(parts: &Parts<'_>, tables: Tables) -> Vec<Form> {
    // A mask is given with positions of each sequence where keys and values are kept, for one.
    let positions = if parts.has_positions() { B * S } else { S };
    let table = Form::new(tables.dtype, positions * tables.width);
    [Form::new(DType::Long, positions), table, table].into_iter().chain(mask_form(parts)).collect()
}

/// The form of the mask that layers are given: numbers for eager attention, booleans for a fused kernel where tokens are
/// padding.
pub fn mask_form(parts: &Parts<'_>) -> Option<Form> {
    let is_padded = parts.call.collation == Collation::Padded || parts.has_blocks_of_images();
    let dtype = if parts.is_eager() { parts.call.dtype } else { DType::Byte };
    (parts.is_eager() || is_padded).then(|| Form::new(dtype, B * S * S))
}

/// `LlamaModel.forward` up to its layers; the model's own class may change what is embedded.
pub fn opening(parts: &Parts<'_>, tables: Tables, changed: fn(&Parts<'_>, &mut Block, Value) -> Value) -> Block {
    let (mut block, arguments) = Block::new(&parts.batch());
    let embedded = block.add(Place::TokenEmbedding, Operator::Embedding { ids: arguments[0], rows: V, width: H });
    let embedded = changed(parts, &mut block, embedded);
    let results = behind_embedding(parts, &mut block, &arguments, tables, embedded, &[]);
    block.giving(&results)
}

/// The rest of it behind the embedding, and what it puts out, with masks that are there already or of its own.
pub fn behind_embedding(
    parts: &Parts<'_>,
    block: &mut Block,
    arguments: &[Value],
    tables: Tables,
    embedded: Value,
    masks: &[Value],
) -> Vec<Value> {
    let positions = match parts.call.collation {
        Collation::Flattened(_) => Operator::Return { x: arguments[1] },
        _ if parts.has_positions() => Operator::Return { x: arguments[2] },
        _ => Operator::PositionIds,
    };
    let positions = block.add(Place::Positions, positions);
    if matches!(parts.call.collation, Collation::Masked | Collation::Unpadded | Collation::Cached(DType::Long)) {
        // `attention_mask.to(dtype=torch.bool)` of `_preprocess_mask_arguments`, of which no mask is made.
        block.add(Place::Mask, Operator::AsBooleans { mask: arguments[1] });
    }
    let mut mask = |place, has_window| {
        let added = Operator::CausalMask { embedded, has_window };
        let causal = if parts.is_eager() { added } else { Operator::BooleanMask { has_window } };
        let of_padding = |mask| Operator::PaddingMask { mask, embedded, is_added: parts.is_eager() };
        let is_padded = parts.call.collation == Collation::Padded;
        block.add(place, if is_padded { of_padding(arguments[1]) } else { causal })
    };
    let own: Vec<_> = if masks.is_empty() {
        let whole = mask_form(parts).map(|_| mask(Place::Mask, starcoder2::is_like(parts.model)));
        let window = gemma::window(parts).map(|_| mask(Place::WindowMask, true));
        whole.into_iter().chain(window).collect()
    } else {
        masks.to_vec()
    };
    let Tables { dtype, width } = tables;
    let hidden = parts.dropout(block, Place::EmbeddingDropout, embedded);
    let [cos, sin] = block.add_all(Place::RotaryTable, Operator::RotaryTable { positions, width, dtype });
    let far: Vec<_> = if gemma::has_two_tables(parts.model) {
        block.add_all::<2>(Place::RotaryTable, Operator::RotaryTable { positions, width, dtype }).to_vec()
    } else {
        Vec::new()
    };
    // `inputs_embeds`, which a dropout of Phi's class overwrites.
    let name = if parts.model.norms == 1 { hidden } else { embedded };
    [hidden, positions, cos, sin].into_iter().chain(own).chain(far).chain([name]).collect()
}

/// `LlamaDecoderLayer.forward`.
fn layer(parts: &Parts<'_>) -> Block {
    let cache = vec![Form::new(parts.call.dtype, B * T * K * D); if parts.has_cache() { 2 } else { 0 }];
    let shared = shared(parts, whole_heads(parts));
    let (mut block, arguments) = Block::new(&[&[parts.residual()][..], &shared, &cache].concat());
    block.take(&arguments[1 + shared.len()..]);
    let x = arguments[0];
    let h = block.add(Place::AttentionNorm, norm(x, H));
    let (o, weights) = attention(parts, &mut block, h, &arguments[1..]);
    let x = block.add(Place::AttentionAdd, Operator::Add { x, y: o });
    let h = block.add(Place::MlpNorm, norm(x, H));
    let is_sparse = parts.model.experts.count > 0;
    let down = if is_sparse {
        experts::sparse(parts.model, &mut block, h)
    } else {
        gated(parts, &mut block, h, F, |x| Operator::Silu { x })
    };
    let out = block.add(Place::MlpAdd, Operator::Add { x, y: down });
    // `hidden_states, _ = self.self_attn(…)` keeps the weights until the end of the layer.
    block.named(weights.as_slice());
    block.module(0, Some(arguments[0]), out);
    let is_mixtral = is_sparse && !experts::are_qwen(parts.model);
    block.giving(&[out]).declaring(if is_mixtral { &MIXTRAL } else { &DECLARED })
}

/// The order in which the classes of layers declare their weights.
pub const DECLARED: [Place; 21] = [
    Place::QueryDown,
    Place::QueryDownNorm,
    Place::Query,
    Place::Key,
    Place::Value,
    Place::LatentDown,
    Place::LatentNorm,
    Place::LatentUp,
    Place::AttentionOutput,
    Place::QueryNorm,
    Place::KeyNorm,
    Place::ExpertGateUp,
    Place::ExpertDown,
    Place::Router,
    Place::Gate,
    Place::Up,
    Place::Down,
    Place::AttentionNorm,
    Place::AttentionPostNorm,
    Place::MlpNorm,
    Place::MlpPostNorm,
];

/// Mixtral declares its router before its experts.
const MIXTRAL: [Place; 9] = [
    Place::Query,
    Place::Key,
    Place::Value,
    Place::AttentionOutput,
    Place::Router,
    Place::ExpertGateUp,
    Place::ExpertDown,
    Place::AttentionNorm,
    Place::MlpNorm,
];

/// `LlamaAttention.forward`: what it puts out, and its weights where it has any.
pub fn attention(parts: &Parts<'_>, block: &mut Block, h: Value, shared: &[Value]) -> (Value, Option<Value>) {
    let first = block.applications.len();
    let q = projected(parts, block, Place::Query, h, N);
    let q = heads(parts, block, Place::Query, q);
    let q = head_norm(parts, block, Place::QueryNorm, q);
    let k = projected(parts, block, Place::Key, h, K);
    let k = heads(parts, block, Place::Key, k);
    let k = head_norm(parts, block, Place::KeyNorm, k);
    let v = projected(parts, block, Place::Value, h, K);
    let v = heads(parts, block, Place::Value, v);
    let (o, weights) = attended(parts, block, h, [q, k, v], shared, false);
    // The layer names its arguments.
    block.module(first, None, o);
    (o, weights)
}

/// The rest of it, from heads on; `casts_back` where rotated queries and keys get the type that they had.
pub fn attended(
    parts: &Parts<'_>,
    block: &mut Block,
    h: Value,
    [q, k, v]: [Value; 3],
    shared: &[Value],
    casts_back: bool,
) -> (Value, Option<Value>) {
    let (cos, sin) = (shared[1], shared[2]);
    let mask = shared.get(3).copied().filter(|_| !parts.has_cache());
    let [mut turned_q, mut turned_k] = if parts.has_liger() {
        liger::turned(parts, block, [q, k], [cos, sin], false)
    } else {
        [(Place::QueryRotary, q), (Place::KeyRotary, k)]
            .map(|(place, x)| block.add(place, Operator::Rotary { x, cos, sin }))
    };
    if casts_back && !parts.has_liger() {
        let wide = [turned_q, turned_k];
        turned_q = block.add(Place::QueryRotary, Operator::CastLike { x: turned_q, like: q });
        turned_k = block.add(Place::KeyRotary, Operator::CastLike { x: turned_k, like: k });
        block.named(&wide);
    }
    block.named(&[q, k]);
    let [mut keys, mut values] = [turned_k, v];
    if let (true, &[.., of_keys, of_values]) = (parts.has_cache(), shared) {
        let shape = B * T * K * D;
        keys = block.add(Place::KeyCache, Operator::Appended { cache: of_keys, x: turned_k, keys: turned_k, shape });
        values = block.add(Place::ValueCache, Operator::Appended { cache: of_values, x: v, keys, shape });
        block.named(&[turned_k]);
        block.hand_back(&[keys, values]);
    }
    let (a, weights) = parts.attention(block, [turned_q, keys, values], mask, parts.head_layout(false));
    let product = if parts.model.bias == Bias::All { Product::LinearWithBias } else { Product::Linear };
    let o = block.add(Place::AttentionOutput, Operator::Linear { x: a, from: N * D, to: H, product });
    block.named(&[h, turned_q, keys, values]);
    (o, weights)
}

/// The hidden state's product with the matrix of queries, keys or values.
pub fn projected(parts: &Parts<'_>, block: &mut Block, place: Place, h: Value, heads: Shape) -> Value {
    let product = if parts.model.bias == Bias::None { Product::Linear } else { Product::LinearWithBias };
    block.add(place, Operator::Linear { x: h, from: H, to: heads * D, product })
}

/// Heads of queries, keys or values. One head has one order; the gradients of queries and keys come out of their rotation
/// in the order of the heads, those of values out of eager attention.
pub fn heads(parts: &Parts<'_>, block: &mut Block, place: Place, x: Value) -> Value {
    heads_under(parts, block, place, x, parts.call.collation == Collation::Padded)
}

/// The same, with a mask or without.
pub fn heads_under(parts: &Parts<'_>, block: &mut Block, place: Place, x: Value, has_mask: bool) -> Value {
    let count = if place == Place::Query { parts.model.heads } else { parts.model.kv_heads };
    // A mask has values repeated for each head of queries.
    let is_repeated = has_mask && parts.model.kv_heads != parts.model.heads;
    // Liger's rotation brings those of queries and keys into the order of tokens; the norms of Gemma 3 take it back.
    let is_turned_back = parts.has_liger() && place != Place::Value && !gemma::is_third(parts.model);
    // A cache has values in the order of heads, and flash attention gives their gradients in that order.
    let is_kept = parts.call.collation == Collation::Kept && parts.in_half_by_autocast() == DType::Half;
    let is_by_head = place != Place::Value || parts.is_eager() || is_repeated || is_kept;
    let copies_back = count > 1 && !is_turned_back && is_by_head;
    block.add(place, Operator::Heads { x, copies_back })
}

fn head_norm(parts: &Parts<'_>, block: &mut Block, place: Place, x: Value) -> Value {
    match parts.model.qk_norm {
        QkNorm::Head => block.add(place, norm(x, D)),
        QkNorm::Off | QkNorm::Full => x,
    }
}

/// `LlamaRMSNorm.forward`.
pub fn norm(x: Value, width: Shape) -> Operator {
    Operator::RmsNorm { x, width, weighting: Weighting::Cast }
}

/// `LlamaMLP.forward` of a width, with an activation function.
pub fn gated(parts: &Parts<'_>, block: &mut Block, h: Value, width: Shape, activation: fn(Value) -> Operator) -> Value {
    let first = block.applications.len();
    let gate = block.add(Place::Gate, linear(h, H, width));
    let product = if parts.has_liger() {
        let up = block.add(Place::Up, linear(h, H, width));
        block.add(Place::Product, Operator::LigerProduct { x: gate, y: up, is_copied: false })
    } else {
        let gate = block.add(Place::Activation, activation(gate));
        let up = block.add(Place::Up, linear(h, H, width));
        block.add(Place::Product, Operator::Multiply { x: gate, y: up })
    };
    let down = block.add(Place::Down, linear(product, width, H));
    block.named(&[h]);
    block.module(first, Some(h), down);
    down
}
