//! DeepSeek-V2's stack (transformers 5.23.0, models/deepseek_v2/modeling_deepseek_v2.py): latent attention, first layers with a dense block, and experts that every token visits.

use super::decoder::{Parts, Stack, linear, tokens};
use super::llama::{DECLARED, gated, mask_form, norm};
use super::{Block, Run, experts};
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm, Softmax, Switch};
use crate::estimator::operators::{Form, HeadLayout, HeadWidths, Operator, Place, Routing, Value};
use crate::estimator::scenario::Model;
use crate::estimator::units::{C, CQ, CR, D, DK, DR, DType, F, FS, H, N, S, V};

/// Whether a model's layers are like those of DeepSeek-V2. DeepSeek-V3 has their features, and a class of its own.
pub fn is_like(model: &Model) -> bool {
    (model.norm, model.norms, model.mlp, model.position) == (Norm::RmsNorm, 2, Mlp::Gated, Position::Rotary)
        && (model.packing, model.softmax) == (Packing::Separate, Softmax::Full)
        && (model.parallel, model.soft_cap) == (Switch::Off, Switch::Off)
        && (model.bias, model.qk_norm) == (Bias::None, QkNorm::Off)
        && model.kv_heads == model.heads
        && (model.latent.kv_rank > 0 && model.latent.rope_dim > 0)
        && (model.experts.count > 0 && model.experts.shared_width > 0 && experts::have_several_active(model))
}

/// Its layers, with what comes before them.
pub fn stack(parts: &Parts<'_>) -> Stack {
    let shared = [Form::new(DType::Long, S), Form::new(DType::Single, S * DR)];
    let shared: Vec<_> = shared.into_iter().chain(mask_form(parts)).collect();
    let dense = parts.model.experts.dense_layers.min(parts.model.layers);
    let run = |is_sparse, times| Run { period: vec![layer(parts, &shared, is_sparse)], times };
    let runs = [run(false, dense), run(true, parts.model.layers - dense)];
    let layers = runs.into_iter().filter(|run| run.times > 0).collect();
    Stack::new(parts, opening(parts), shared, layers, |x| norm(x, H)).rotating(parts.model.head_dim, DR)
}

/// `DeepseekV2Model.forward` up to its layers.
fn opening(parts: &Parts<'_>) -> Block {
    let (mut block, arguments) = Block::new(&[tokens()]);
    let embedded = block.add(Place::TokenEmbedding, Operator::Embedding { ids: arguments[0], rows: V, width: H });
    let positions = block.add(Place::Positions, Operator::PositionIds);
    let mask = parts.is_eager().then(|| block.add(Place::Mask, Operator::CausalMask { embedded, has_window: false }));
    let table = block.add(Place::RotaryTable, Operator::ComplexTable { positions, width: DR });
    let shared = [positions, table].into_iter().chain(mask);
    let results: Vec<_> = [embedded].into_iter().chain(shared).chain([embedded]).collect();
    block.giving(&results)
}

/// `DeepseekV2DecoderLayer.forward`, and the functions that it calls.
fn layer(parts: &Parts<'_>, shared: &[Form], is_sparse: bool) -> Block {
    let (mut block, arguments) = Block::new(&[&[parts.residual()], shared].concat());
    let (x, table, mask) = (arguments[0], arguments[2], arguments.get(3).copied());
    let h = block.add(Place::AttentionNorm, norm(x, H));
    let (o, weights) = attention(parts, &mut block, h, table, mask);
    let x = block.add(Place::AttentionAdd, Operator::Add { x, y: o });
    let h = block.add(Place::MlpNorm, norm(x, H));
    let out =
        if is_sparse { sparse(parts, &mut block, h) } else { gated(parts, &mut block, h, F, |x| Operator::Silu { x }) };
    block.named(&[h]);
    let out = block.add(Place::MlpAdd, Operator::Add { x, y: out });
    // `hidden_states, _ = self.self_attn(…)` keeps the weights until the end of the layer.
    block.named(weights.as_slice());
    block.giving(&[out]).declaring(&DECLARED)
}

/// `DeepseekV2Attention.forward`.
fn attention(
    parts: &Parts<'_>,
    block: &mut Block,
    h: Value,
    table: Value,
    mask: Option<Value>,
) -> (Value, Option<Value>) {
    let has_several_heads = parts.model.heads > 1;
    let q = if parts.model.latent.query_rank > 0 {
        let low = block.add(Place::QueryDown, linear(h, H, CQ));
        let low = block.add(Place::QueryDownNorm, norm(low, CQ));
        block.add(Place::Query, linear(low, CQ, N * DK))
    } else {
        block.add(Place::Query, linear(h, H, N * DK))
    };
    let q = block.add(Place::Query, Operator::Heads { x: q, copies_back: has_several_heads });
    let split = |x, whole, first, second| Operator::SplitAt { x, whole, first, second };
    let [plain_q, turning_q] = block.add_all(Place::QueryParts, split(q, DK, D, DR));
    let latent = block.add(Place::LatentDown, linear(h, H, CR));
    let [low, turning_k] = block.add_all(Place::LatentParts, split(latent, CR, C, DR));
    let low_normed = block.add(Place::LatentNorm, norm(low, C));
    let rotary = Operator::ComplexRotary {
        q: turning_q,
        k: turning_k,
        table,
        copies_back: has_several_heads && !parts.is_eager(),
    };
    let [turned_q, turned_k] = block.add_all(Place::Rotary, rotary);
    let q = block.add(Place::QueryWhole, Operator::Concat { x: plain_q, y: turned_q, first: D, whole: DK });
    let both = block.add(Place::LatentUp, linear(low_normed, C, N * D.by(2)));
    let both = block.add(Place::LatentUp, Operator::Heads { x: both, copies_back: has_several_heads });
    let [plain_k, v] = block.add_all(Place::LatentHeads, split(both, D.by(2), D, D));
    let keys = Operator::SharedKeys { x: plain_k, shared: turned_k, heads: N, first: D, whole: DK };
    let k = block.add(Place::KeyWhole, keys);
    let layout = HeadLayout { widths: HeadWidths { keys: DK, values: D }, ..parts.head_layout(true) };
    let (a, weights) = parts.attention(block, [q, k, v], mask, layout);
    let o = block.add(Place::AttentionOutput, linear(a, N * D, H));
    block.named(&[h, plain_q, low, low_normed, turned_q, turned_k, q, k, v]);
    (o, weights)
}

/// `DeepseekV2Moe.forward`.
fn sparse(parts: &Parts<'_>, block: &mut Block, h: Value) -> Value {
    // Models with compressed queries choose groups of experts first.
    let routing = if parts.model.latent.query_rank > 0 { Routing::Grouped } else { Routing::Wide };
    let (routed, kept) = experts::routed(block, h, routing);
    let shared = gated(parts, block, h, FS, |x| Operator::Silu { x });
    let sum = block.add(Place::SharedAdd, Operator::Add { x: routed, y: shared });
    block.named(&kept);
    sum
}
