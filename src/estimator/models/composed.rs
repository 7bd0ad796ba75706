//! A decoder whose features no class here has together, as a model of one's own: each part is that of a class that has it.

use super::decoder::{Collation, Parts, Stack, layer_norm, tokens};
use super::neox::{self, Turned};
use super::{Block, NotCounted, Run, experts, liger, llama};
use crate::estimator::choice::{Bias, Mlp, Norm, Packing, Position, QkNorm};
use crate::estimator::operators::{Form, Operator, Place, Product, Routing, Value, Weighting};
use crate::estimator::scenario::Model;
use crate::estimator::units::{D, DType, F, FS, H, K, N, NKV, P, ROT, S, Shape, V};

/// Its layers, with what comes before them.
pub fn stack(parts: &Parts<'_>) -> Result<Stack, NotCounted> {
    stack_of(parts, Norms::of(parts.model.norm))
}

/// The same with norms of a class that writes them in its own way.
pub fn stack_of(parts: &Parts<'_>, norms: Norms) -> Result<Stack, NotCounted> {
    let model = parts.model;
    refused(parts).map_or(Ok(()), Err)?;
    let shared = shared(parts);
    let dense = if model.experts.count > 0 { model.experts.dense_layers.min(model.layers) } else { model.layers };
    let run = |is_sparse, times| Run { period: vec![layer(parts, &shared, norms, is_sparse)], times };
    let runs = [(false, dense), (true, model.layers - dense)];
    let layers = runs.into_iter().filter(|(_, times)| *times > 0).map(|(is_sparse, times)| run(is_sparse, times));
    let (opening, layers) = (opening(parts), layers.collect());
    let mut stack = Stack::new(parts, opening, shared, layers, norms.last);
    if model.position == Position::Learned {
        stack.names.push(Form::new(parts.call.dtype, S * H));
    }
    Ok(match model.position {
        Position::Rotary => stack.rotating(model.head_dim, D),
        Position::PartialRotary => stack.rotating(rotated(model), ROT),
        _ => stack,
    })
}

/// What of a model cannot be put together.
fn refused(parts: &Parts<'_>) -> Option<NotCounted> {
    let model = parts.model;
    let has_experts = model.experts.count > 0;
    let has_lengths = parts.call.collation != Collation::Equal;
    let refused = [
        (model.position == Position::Relative, NotCounted::Layer),
        (has_experts && (model.bias != Bias::None || !experts::have_several_active(model)), NotCounted::Experts),
        (has_lengths && !model.position.rotates(), parts.call.collation.not_counted()),
    ];
    refused.into_iter().find(|(is_there, _)| *is_there).map(|(_, reason)| reason)
}

/// How many columns of a head are rotated where a part is (`rotary_pct` of GPT-NeoX).
fn rotated(model: &Model) -> u32 {
    (model.head_dim / 4).max(1)
}

/// What all layers are given beside the hidden state.
fn shared(parts: &Parts<'_>) -> Vec<Form> {
    match parts.model.position {
        Position::Rotary => llama::shared(parts, llama::whole_heads(parts)),
        Position::PartialRotary => neox::shared(parts),
        _ => [Form::new(DType::Long, S)].into_iter().chain(llama::mask_form(parts)).collect(),
    }
}

/// The model's function up to its layers.
fn opening(parts: &Parts<'_>) -> Block {
    match parts.model.position {
        Position::Rotary => return llama::opening(parts, llama::whole_heads(parts), |_, _, embedded| embedded),
        Position::PartialRotary => return neox::opening(parts),
        _ => {}
    }
    let (mut block, arguments) = Block::new(&[tokens()]);
    let embedded = block.add(Place::TokenEmbedding, Operator::Embedding { ids: arguments[0], rows: V, width: H });
    let ids = block.add(Place::Positions, Operator::PositionIds);
    let position = (parts.model.position == Position::Learned)
        .then(|| block.add(Place::PositionEmbedding, Operator::Embedding { ids, rows: P, width: H }));
    let is_broadcast = parts.call.has_several_sequences;
    let x = position
        .map_or(embedded, |y| block.add(Place::EmbeddingSum, Operator::AddToEach { x: embedded, y, is_broadcast }));
    let mask = Operator::CausalMask { embedded, has_window: false };
    let mask = parts.is_eager().then(|| block.add(Place::Mask, mask));
    let x = parts.dropout(&mut block, Place::EmbeddingDropout, x);
    let results: Vec<_> = [x, ids].into_iter().chain(mask).chain([embedded]).chain(position).collect();
    block.giving(&results)
}

/// A layer: attention, and a feed-forward block or experts, behind it or beside it.
fn layer(parts: &Parts<'_>, shared: &[Form], norms: Norms, is_sparse: bool) -> Block {
    let (model, norm) = (parts.model, norms.of_layers);
    let (mut block, arguments) = Block::new(&[&[parts.residual()], shared].concat());
    let x = arguments[0];
    let h = block.add(Place::AttentionNorm, norm(x, H));
    let (o, weights) = attention(parts, &mut block, h, &arguments[1..], norm);
    // Norms behind the first two follow attention and the feed-forward block.
    let o = if model.norms > 2 { block.add(Place::AttentionPostNorm, norm(o, H)) } else { o };
    let o = parts.dropout(&mut block, Place::AttentionDropout, o);
    let is_beside = model.parallel.is_on();
    let y = if is_beside { x } else { block.add(Place::AttentionAdd, Operator::Add { x, y: o }) };
    let read = match (model.norms, is_beside) {
        (1, true) => h,
        (1, false) => y,
        _ => block.add(Place::MlpNorm, norm(y, H)),
    };
    let down = if is_sparse { sparse(parts, &mut block, read) } else { mlp(parts, &mut block, read, F) };
    let down = if model.norms > 3 { block.add(Place::MlpPostNorm, norm(down, H)) } else { down };
    let down = parts.dropout(&mut block, Place::MlpDropout, down);
    let sum = if is_beside { block.add(Place::AttentionAdd, Operator::Add { x: o, y: down }) } else { down };
    let out = block.add(Place::MlpAdd, Operator::Add { x: y, y: sum });
    block.named(&[h, o, down]);
    block.named(weights.as_slice());
    block.giving(&[out]).declaring(&llama::DECLARED)
}

/// Attention: what it puts out, and its weights where it has any.
fn attention(
    parts: &Parts<'_>,
    block: &mut Block,
    h: Value,
    shared: &[Value],
    norm: fn(Value, Shape) -> Operator,
) -> (Value, Option<Value>) {
    let model = parts.model;
    let names = [(Place::Query, Place::QueryNorm, N), (Place::Key, Place::KeyNorm, K)];
    let [q, k, v] = projected(parts, block, h);
    let [q, k] = [q, k].map(|(place, x)| {
        let of = names.iter().find(|(of, _, _)| *of == place);
        match (model.qk_norm, of) {
            (QkNorm::Full, Some(&(_, at, heads))) => (place, block.add(at, norm(x, heads * D))),
            _ => (place, x),
        }
    });
    let [q, k, v] = [q, k, v].map(|(place, x)| {
        if model.position.rotates() { llama::heads(parts, block, place, x) } else { parts.heads(block, place, x) }
    });
    let [q, k] = [(Place::QueryNorm, q), (Place::KeyNorm, k)]
        .map(|(at, x)| if model.qk_norm == QkNorm::Head { block.add(at, norm(x, D)) } else { x });
    let mut held = vec![h, q, k, v];
    let (q, k, mask) = match model.position {
        Position::Rotary => {
            let [cos, sin] = [shared[1], shared[2]];
            let [q, k] = if parts.has_liger() {
                liger::turned(parts, block, [q, k], [cos, sin], model.packing != Packing::Separate)
            } else {
                [(Place::QueryRotary, q), (Place::KeyRotary, k)]
                    .map(|(place, x)| block.add(place, Operator::Rotary { x, cos, sin }))
            };
            (q, k, shared.get(3))
        }
        Position::PartialRotary => {
            let Turned { parts, whole: [q, k] } = neox::turned(block, [q, k], [shared[1], shared[2]]);
            held.extend(parts);
            (q, k, shared.get(3))
        }
        _ => (q, k, shared.get(1)),
    };
    held.extend([q, k]);
    let layout = parts.head_layout(model.position == Position::PartialRotary);
    let (a, weights) = parts.attention(block, [q, k, v], mask.copied(), layout);
    let product = product(model.bias == Bias::All);
    let o = block.add(Place::AttentionOutput, Operator::Linear { x: a, from: N * D, to: H, product });
    block.named(&held);
    (o, weights)
}

/// Queries, keys and values, of a matrix each or of one for all.
fn projected(parts: &Parts<'_>, block: &mut Block, h: Value) -> [(Place, Value); 3] {
    let all = [(Place::Query, N), (Place::Key, K), (Place::Value, K)];
    if parts.model.packing == Packing::Separate {
        return all.map(|(place, heads)| (place, llama::projected(parts, block, place, h, heads)));
    }
    let product = product(parts.model.bias != Bias::None);
    let packed = block.add(Place::QueryKeyValue, Operator::Linear { x: h, from: H, to: NKV * D, product });
    all.map(|(place, to)| (place, block.add(place, Operator::Slice { x: packed, from: NKV, to })))
}

/// The feed-forward block of a width.
fn mlp(parts: &Parts<'_>, block: &mut Block, h: Value, width: Shape) -> Value {
    let Model { mlp, packing, bias, .. } = *parts.model;
    let product = product(bias == Bias::All);
    let linear = |x, from, to| Operator::Linear { x, from, to, product };
    let activation = |x| match mlp {
        Mlp::Gelu => Operator::Gelu { x },
        Mlp::Relu => Operator::Relu { x },
        Mlp::GeluTanh | Mlp::GatedGeluTanh => Operator::GeluTanh { x },
        Mlp::Gated => Operator::Silu { x },
    };
    let inner = match (mlp.is_gated(), packing) {
        (true, Packing::PackedGate) => {
            let both = block.add(Place::Gate, linear(h, H, width.by(2)));
            let [gate, up] = block.add_all(Place::Gate, Operator::Split { x: both, parts: 2 });
            if parts.has_liger() {
                block.add(Place::Product, Operator::LigerProduct { x: gate, y: up, is_copied: true })
            } else {
                let active = block.add(Place::Activation, activation(gate));
                block.add(Place::Product, Operator::Multiply { x: up, y: active })
            }
        }
        (true, _) if parts.has_liger() => {
            let gate = block.add(Place::Gate, linear(h, H, width));
            let up = block.add(Place::Up, linear(h, H, width));
            block.add(Place::Product, Operator::LigerProduct { x: gate, y: up, is_copied: false })
        }
        (true, _) => {
            let gate = block.add(Place::Gate, linear(h, H, width));
            let active = block.add(Place::Activation, activation(gate));
            let up = block.add(Place::Up, linear(h, H, width));
            block.add(Place::Product, Operator::Multiply { x: active, y: up })
        }
        (false, _) => {
            let up = block.add(Place::Up, linear(h, H, width));
            block.add(Place::Activation, activation(up))
        }
    };
    let down = block.add(Place::Down, linear(inner, width, H));
    block.named(&[h]);
    down
}

/// Experts, and those beside them that every token visits.
fn sparse(parts: &Parts<'_>, block: &mut Block, h: Value) -> Value {
    let (routed, kept) = experts::routed(block, h, Routing::Normalized);
    let out = if parts.model.experts.shared_width > 0 {
        let shared = mlp(parts, block, h, FS);
        block.add(Place::SharedAdd, Operator::Add { x: routed, y: shared })
    } else {
        routed
    };
    block.named(&kept);
    out
}

/// A product with a matrix, with a bias or without.
const fn product(has_bias: bool) -> Product {
    if has_bias { Product::LinearWithBias } else { Product::Linear }
}

/// The norms of a stack.
#[derive(Clone, Copy)]
pub struct Norms {
    /// Those of layers, of a width.
    pub of_layers: fn(Value, Shape) -> Operator,
    /// The one behind the layers.
    pub last: fn(Value) -> Operator,
}

impl Norms {
    /// The norms of a kind.
    const fn of(norm: Norm) -> Self {
        match norm {
            Norm::LayerNorm => Self { of_layers: |x, width| Operator::LayerNorm { x, width }, last: layer_norm },
            Norm::RmsNorm => Self {
                of_layers: |x, width| Operator::RmsNorm { x, width, weighting: Weighting::Cast },
                last: |x| Operator::RmsNorm { x, width: H, weighting: Weighting::Cast },
            },
            Norm::RmsNormFull => Self {
                of_layers: |x, width| Operator::RmsNorm { x, width, weighting: Weighting::Full },
                last: |x| Operator::RmsNorm { x, width: H, weighting: Weighting::Full },
            },
            Norm::LayerNormFull => Self {
                of_layers: |x, width| Operator::CenteredNorm { x, width },
                last: |x| Operator::CenteredNorm { x, width: H },
            },
            Norm::Plain => Self {
                of_layers: |x, width| Operator::PlainLayerNorm { x, width },
                last: |x| Operator::PlainLayerNorm { x, width: H },
            },
        }
    }
}
