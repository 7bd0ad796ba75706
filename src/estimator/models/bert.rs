//! BERT and RoBERTa: encoders whose norms come behind their blocks, with a head for masked words or for classes (transformers
//! 5.23.0, models/bert/modeling_bert.py and models/roberta/modeling_roberta.py).

use super::decoder::{Parts, tokens, with_bias};
use super::{Block, Model as Network, NotCounted};
use crate::estimator::choice::{
    AttentionKernel, Bias, LossHead, Mlp, Norm, Packing, Position, QkNorm, Softmax, Switch,
};
use crate::estimator::operators::{Form, HeadLayout, Operator, Part, Place, Product, Size, Tensor, Value};
use crate::estimator::scenario::Model;
use crate::estimator::units::{B, D, DType, F, H, N, P, S, Shape, V};

/// Classes that a classifier tells apart where nobody says how many (`num_labels` of transformers' configurations).
const CLASSES: Shape = Shape::ONE.by(2);

/// Whether a model's layers are like BERT's.
fn is_like(model: &Model, attention: AttentionKernel) -> bool {
    (model.norm, model.norms, model.mlp, model.position) == (Norm::LayerNorm, 2, Mlp::Gelu, Position::Learned)
        && model.packing == Packing::Separate
        // In what the softmax is taken is asked by eager attention alone.
        && (model.softmax == Softmax::Scores || attention == AttentionKernel::Flash)
        && (model.parallel, model.soft_cap) == (Switch::Off, Switch::Off)
        && (model.bias, model.qk_norm) == (Bias::All, QkNorm::Off)
        && model.kv_heads == model.heads
}

/// The encoder of a model, with the head of its loss.
pub fn encoder(parts: &Parts<'_>) -> Result<Network, NotCounted> {
    if !is_like(parts.model, parts.call.attention) {
        return Err(NotCounted::Loss);
    }
    let is_classifier = parts.call.loss == LossHead::Classifier;
    let closing = match (is_classifier, is_roberta(parts.model)) {
        (false, _) => masked_words(parts),
        (true, false) => classifier(parts),
        (true, true) => roberta_classifier(parts),
    };
    let buffer = |place| Tensor { place, part: Part::Table, size: Size::Of(Form::new(DType::Long, P)) };
    Ok(Network {
        hands_on: false,
        has_cache: false,
        puts_out_states: false,
        cut: None,
        widths: parts.widths(0),
        dtype: parts.call.dtype,
        opening: opening(parts),
        layers: parts.equal_layers(layer(parts)),
        shared: 0,
        closing,
        output: None,
        has_loss_under_autocast: false,
        keeps_logits: parts.keeps_logits(),
        declares_norm_first: false,
        is_tied: parts.model.tied_embeddings.is_on() && !is_classifier,
        constants: vec![buffer(Place::Positions), buffer(Place::TokenTypes)],
        beside: Vec::new(),
        source: None,
        sees: false,
        put_out: 0,
        labels: is_classifier.then_some(Form::new(DType::Long, B)),
        // `cross_entropy` in the type of the logits, which autocast brings to fp32.
        loss: parts.in_fp32_by_autocast(),
    })
}

/// Whether positions come from the ids, as in RoBERTa and its kin, which leaves rows of the table to padding.
fn is_roberta(model: &Model) -> bool {
    model.spare_positions > 0
}

/// `BertEmbeddings.forward` or `RobertaEmbeddings.forward`, whose result is a name of the model's function, too.
fn opening(parts: &Parts<'_>) -> Block {
    let (mut block, arguments) = Block::new(&[tokens()]);
    let ids = arguments[0];
    let is_broadcast = parts.call.has_several_sequences;
    let add = &mut block;
    // RoBERTa has one type of tokens, BERT two.
    let (positions, types, rows, is_expanded) = if is_roberta(parts.model) {
        let positions = add.add(Place::Positions, Operator::PositionsOfIds { ids, is_one_sequence: !is_broadcast });
        let types = add.add(Place::TokenTypes, Operator::Gather { x: positions });
        (positions, types, Shape::ONE, false)
    } else {
        let positions = add.add(Place::Positions, Operator::PositionBuffer { count: S });
        let types = add.add(Place::TokenTypes, Operator::Gather { x: positions });
        (positions, types, Shape::ONE.by(2), is_broadcast)
    };
    let words = add.add(Place::TokenEmbedding, Operator::Embedding { ids, rows: V, width: H });
    let of_type = Operator::TypeEmbedding { types, rows, width: H, is_expanded };
    let of_type = add.add(Place::TypeEmbedding, of_type);
    let sum = add.add(Place::EmbeddingSum, Operator::Add { x: words, y: of_type });
    let of_position = Operator::Embedding { ids: positions, rows: P, width: H };
    let of_position = add.add(Place::PositionEmbedding, of_position);
    let whole = if is_roberta(parts.model) {
        Operator::Add { x: sum, y: of_position }
    } else {
        Operator::AddToEach { x: sum, y: of_position, is_broadcast }
    };
    let whole = add.add(Place::EmbeddingSum, whole);
    let normed = add.add(Place::EmbeddingNorm, Operator::LayerNorm { x: whole, width: H });
    let out = parts.dropout(add, Place::EmbeddingNorm, normed);
    block.named(&[positions, types, words, of_type, of_position]);
    let declared: &[_] = if is_roberta(parts.model) {
        &[Place::TokenEmbedding, Place::TypeEmbedding, Place::EmbeddingNorm, Place::PositionEmbedding]
    } else {
        &[Place::TokenEmbedding, Place::PositionEmbedding, Place::TypeEmbedding, Place::EmbeddingNorm]
    };
    block.giving(&[out, out]).declaring(declared)
}

/// `BertLayer.forward`, and the functions that it calls.
fn layer(parts: &Parts<'_>) -> Block {
    let (mut block, arguments) = Block::new(&[parts.residual()]);
    let x = arguments[0];
    // The gradients of queries and values come out of eager attention head by head, that of keys column by column, which is a
    // view of one sequence.
    let is_apart = [parts.model.heads > 1, parts.call.has_several_sequences, parts.model.heads > 1];
    let [q, k, v] = [(Place::Query, is_apart[0]), (Place::Key, is_apart[1]), (Place::Value, is_apart[2])].map(
        |(place, is_apart)| {
            let x = block.add(place, with_bias(x, H, N * D));
            block.add(place, Operator::Heads { x, copies_back: is_apart && parts.is_eager() })
        },
    );
    let layout = HeadLayout { has_wide_softmax: false, casts_softmax_back: false, ..parts.head_layout(false) };
    let (a, weights) = if parts.is_eager() {
        let [a, weights] = block.add_all(Place::Attention, Operator::EagerAttention { q, k, v, mask: None, layout });
        (a, Some(weights))
    } else {
        (block.add(Place::Attention, Operator::Sdpa { q, k, v, layout }), None)
    };
    let o = block.add(Place::AttentionOutput, with_bias(a, N * D, H));
    let o = parts.dropout(&mut block, Place::AttentionOutput, o);
    let sum = block.add(Place::AttentionAdd, Operator::Add { x: o, y: x });
    let x = block.add(Place::AttentionPostNorm, Operator::LayerNorm { x: sum, width: H });
    block.named(&[a, o]);
    let up = block.add(Place::Up, with_bias(x, H, F));
    let active = block.add(Place::Activation, Operator::Gelu { x: up });
    let down = block.add(Place::Down, with_bias(active, F, H));
    let down = parts.dropout(&mut block, Place::Down, down);
    let sum = block.add(Place::MlpAdd, Operator::Add { x: down, y: x });
    let out = block.add(Place::MlpPostNorm, Operator::LayerNorm { x: sum, width: H });
    block.named(&[active, down, x]);
    // `self_attention_output, _ = self.attention(…)` keeps the weights until the end of the layer.
    block.named(weights.as_slice());
    block.giving(&[out])
}

/// `BertForMaskedLM.forward` behind the layers: the end of the model's function, a transformation, the words.
fn masked_words(parts: &Parts<'_>) -> Block {
    let (mut block, [last, embedded, labels]) = closing(parts, tokens());
    let x = block.add(Place::Transform, Operator::Return { x: last });
    block.named(&[embedded]);
    let x = block.add(Place::Transform, with_bias(x, H, H));
    let x = block.add(Place::Transform, Operator::Gelu { x });
    let x = block.add(Place::TransformNorm, Operator::LayerNorm { x, width: H });
    let product = Product::LinearWithOuterBias;
    let logits = block.add(Place::Head, Operator::Linear { x, from: H, to: V, product });
    let declared = &[Place::HeadBias, Place::Transform, Place::TransformNorm, Place::Head];
    loss(block, logits, labels, &[last]).declaring(declared)
}

/// `BertForSequenceClassification.forward` behind the layers: the pooler, which is a part of the model, and the classes.
fn classifier(parts: &Parts<'_>) -> Block {
    let (mut block, [last, embedded, labels]) = closing(parts, Form::new(DType::Long, B));
    let x = block.add(Place::Pooler, Operator::FirstToken { x: last });
    let x = block.add(Place::Pooler, with_bias(x, H, H));
    let pooled = block.add(Place::Pooler, Operator::Tanh { x });
    block.named(&[embedded]);
    let x = parts.dropout(&mut block, Place::Pooler, pooled);
    let logits = block.add(Place::Head, with_bias(x, H, CLASSES));
    loss(block, logits, labels, &[last, pooled, x])
}

/// `RobertaForSequenceClassification.forward` behind the layers, whose head has the pooler.
fn roberta_classifier(parts: &Parts<'_>) -> Block {
    let (mut block, [last, embedded, labels]) = closing(parts, Form::new(DType::Long, B));
    let x = block.add(Place::Pooler, Operator::FirstToken { x: last });
    block.named(&[embedded]);
    let x = parts.dropout(&mut block, Place::Pooler, x);
    let x = block.add(Place::Pooler, with_bias(x, H, H));
    let x = block.add(Place::Pooler, Operator::Tanh { x });
    let x = parts.dropout(&mut block, Place::Pooler, x);
    let logits = block.add(Place::Head, with_bias(x, H, CLASSES));
    loss(block, logits, labels, &[last])
}

/// A block that is given the last hidden state, the name of the first, and labels.
fn closing(parts: &Parts<'_>, labels: Form) -> (Block, [Value; 3]) {
    let (mut block, arguments) = Block::new(&[parts.residual(), parts.residual(), labels]);
    block.take(&arguments[..2]);
    (block, [arguments[0], arguments[1], arguments[2]])
}

/// The loss of logits, with which names of the function go.
fn loss(mut block: Block, logits: Value, labels: Value, names: &[Value]) -> Block {
    let loss = block.add(Place::Loss, Operator::CrossEntropy { logits, labels, is_shifted: false });
    block.named(names);
    block.giving(&[loss, logits])
}
