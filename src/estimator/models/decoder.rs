//! Decoders: which class of transformers a model is built like, and what all of them have in common.

use super::{
    Block, Model, NotCounted, Run, bert, deepseek, falcon, gemma, gpt2, gptj, llama, mpt, neox, olmo2, opt, phi,
    starcoder2, titan,
};
use crate::estimator::choice::{AttentionKernel, Logits, LossHead, Softmax};
use crate::estimator::operators::{Form, HeadLayout, HeadWidths, Operator, Part, Place, Product, Size, Tensor, Value};
use crate::estimator::scenario::{self, Latent};
use crate::estimator::units::{B, D, DType, H, S, Shape, V, Width, Widths};

/// Whose classes of models are trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// transformers.
    Transformers,
    /// torchtitan, which has classes of its own.
    Torchtitan,
}

/// How a model is called, beside its own numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Whose class it is.
    pub library: Library,
    /// Tokens of a sequence.
    pub sequence: u32,
    /// Whether a micro-batch has several sequences.
    pub has_several_sequences: bool,
    /// The type of the weights.
    pub dtype: DType,
    /// Whether weights were made in 16 bits and then brought to fp32 (`prepare_model_for_kbit_training` of peft).
    pub is_widened: bool,
    /// The attention kernel.
    pub attention: AttentionKernel,
    /// Whether layers drop parts of what they compute.
    pub has_dropout: bool,
    /// Whether the training loop holds on to the logits.
    pub logits: Logits,
    /// The loss.
    pub loss: LossHead,
    /// Where the network ends.
    pub end: End,
    /// Whether it is given a mask that says which tokens are padding.
    pub has_mask: bool,
    /// Whether `torch.autocast` is on.
    pub has_autocast: bool,
}

/// Where a network ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With the loss.
    Loss,
    /// With the logits of all tokens.
    Logits,
    /// With the logits of the completion and of the token before it.
    LogitsOfCompletion,
    /// With a number for each sequence.
    Score,
}

/// The layers of a model, with what comes before them.
pub struct Stack {
    /// From token ids to the hidden state, then what all layers are given, then names that nobody reads.
    pub opening: Block,
    /// Forms of what all layers are given beside the hidden state.
    pub shared: Vec<Form>,
    /// Forms of the names of the model's function, which live as long as it runs.
    pub names: Vec<Form>,
    /// What the model's function keeps of a layer until the next one is done, beside the hidden state.
    pub kept: Option<Form>,
    /// The layers.
    pub layers: Vec<Run>,
    /// The norm behind them.
    pub final_norm: fn(Value) -> Operator,
    /// The product that makes logits of it.
    pub head: Product,
    /// How many columns of each head are rotated.
    pub rotated: u32,
    /// What is kept beside the weights as long as the model is.
    pub constants: Vec<Tensor>,
    /// Whether the class declares the norm behind the layers before them.
    pub declares_norm_first: bool,
}

impl Stack {
    /// Layers behind an opening, with what most classes have: `inputs_embeds` is the only name, the head is a product
    /// without a bias, and nothing is rotated.
    pub fn new(
        parts: &Parts<'_>,
        opening: Block,
        shared: Vec<Form>,
        layers: Vec<Run>,
        final_norm: fn(Value) -> Operator,
    ) -> Self {
        Self {
            opening,
            shared,
            names: vec![parts.residual()],
            kept: None,
            layers,
            final_norm,
            head: Product::Linear,
            rotated: 0,
            constants: Vec::new(),
            declares_norm_first: false,
        }
    }

    /// The stack with so many columns of each head rotated, and the tables of frequencies of that.
    pub fn rotating(self, columns: u32, width: Shape) -> Self {
        Self { rotated: columns, constants: frequencies(width), ..self }
    }
}

/// `LayerNorm` of the hidden state.
pub fn layer_norm(x: Value) -> Operator {
    Operator::LayerNorm { x, width: H }
}

/// A network of the numbers of a model: a decoder, or an encoder where the loss asks for one.
pub fn network(model: &scenario::Model, call: Call) -> Result<Model, NotCounted> {
    refused(model).map_or(Ok(()), Err)?;
    let parts = Parts { model, call };
    match call.loss {
        LossHead::MaskedLm | LossHead::Classifier => bert::encoder(&parts),
        _ if call.library == Library::Torchtitan => titan::decoder(&parts),
        _ => decoder(&parts),
    }
}

/// A class of decoders of transformers.
struct Class {
    /// Whether a model's layers are like those of the class.
    is_like: fn(&scenario::Model) -> bool,
    /// Whether its dropout is played.
    has_dropout: bool,
    /// Whether what it makes of a mask of padding is played.
    takes_mask: bool,
    /// Its layers, with what comes before them.
    stack: fn(&Parts<'_>) -> Result<Stack, NotCounted>,
}

/// Every class that is played. A model is built like the first that it is like.
const CLASSES: &[Class] = &[
    Class {
        is_like: deepseek::is_like,
        has_dropout: false,
        takes_mask: false,
        stack: |parts| Ok(deepseek::stack(parts)),
    },
    Class { is_like: llama::is_like, has_dropout: false, takes_mask: true, stack: |parts| Ok(llama::stack(parts)) },
    Class { is_like: gpt2::is_like, has_dropout: true, takes_mask: false, stack: |parts| Ok(gpt2::stack(parts)) },
    Class { is_like: gemma::is_like, has_dropout: false, takes_mask: true, stack: gemma::stack },
    Class { is_like: olmo2::is_like, has_dropout: false, takes_mask: true, stack: |parts| Ok(olmo2::stack(parts)) },
    Class {
        is_like: starcoder2::is_like,
        has_dropout: false,
        takes_mask: true,
        stack: |parts| Ok(starcoder2::stack(parts)),
    },
    Class { is_like: opt::is_like, has_dropout: true, takes_mask: false, stack: |parts| Ok(opt::stack(parts)) },
    Class { is_like: neox::is_like, has_dropout: false, takes_mask: true, stack: |parts| Ok(neox::stack(parts)) },
    Class { is_like: gptj::is_like, has_dropout: false, takes_mask: false, stack: gptj::stack },
    Class { is_like: phi::is_like, has_dropout: false, takes_mask: true, stack: |parts| Ok(phi::stack(parts)) },
    Class { is_like: falcon::is_like, has_dropout: false, takes_mask: false, stack: |parts| Ok(falcon::stack(parts)) },
    Class { is_like: mpt::is_like, has_dropout: false, takes_mask: false, stack: mpt::stack },
];

/// A decoder, with a head for the next token.
fn decoder(parts: &Parts<'_>) -> Result<Model, NotCounted> {
    let model = parts.model;
    let class = CLASSES.iter().find(|class| (class.is_like)(model)).ok_or(NotCounted::Layer)?;
    if parts.call.has_dropout && !class.has_dropout {
        return Err(NotCounted::Dropout);
    }
    if parts.call.has_mask && (!class.takes_mask || parts.is_eager()) {
        return Err(NotCounted::MaskOfPadding);
    }
    let stack = (class.stack)(parts)?;
    Ok(Model {
        widths: parts.widths(stack.rotated),
        dtype: parts.call.dtype,
        shared: stack.shared.len(),
        closing: parts.closing(&stack)?,
        output: None,
        keeps_logits: parts.keeps_logits(),
        opening: stack.opening,
        layers: stack.layers,
        is_tied: model.tied_embeddings.is_on() && parts.call.end != End::Score,
        constants: stack.constants,
        declares_norm_first: stack.declares_norm_first,
        labels: None,
        loss: DType::Single,
    })
}

/// What of a model no decoder here has, the first thing that is.
fn refused(model: &scenario::Model) -> Option<NotCounted> {
    let has_experts = llama::is_like(model) || deepseek::is_like(model);
    let refused = [
        (model.experts.count > 0 && !has_experts, NotCounted::Experts),
        (model.latent != Latent::NONE && !deepseek::is_like(model), NotCounted::LatentAttention),
        (model.vision.is_there(), NotCounted::Vision),
        (model.encoder.is_there(), NotCounted::Encoder),
    ];
    refused.into_iter().find(|(is_there, _)| *is_there).map(|(_, reason)| reason)
}

/// Token ids or labels.
pub fn tokens() -> Form {
    Form::new(DType::Long, B * S)
}

/// `inv_freq` and `original_inv_freq` of classes of rotary embeddings (`LlamaRotaryEmbedding`), for so many columns of
/// each head.
pub fn frequencies(rotated: Shape) -> Vec<Tensor> {
    vec![constant(Place::RotaryTable, Form::new(DType::Single, rotated.part(2))); 2]
}

/// A tensor that the class of a model keeps.
pub fn constant(place: Place, form: Form) -> Tensor {
    Tensor { place, part: Part::Table, size: Size::Of(form) }
}

/// A product without a bias.
pub fn linear(x: Value, from: Shape, to: Shape) -> Operator {
    Operator::Linear { x, from, to, product: Product::Linear }
}

/// A product with a bias.
pub fn with_bias(x: Value, from: Shape, to: Shape) -> Operator {
    Operator::Linear { x, from, to, product: Product::LinearWithBias }
}

/// What the blocks of a model are made of.
pub struct Parts<'m> {
    /// Its numbers.
    pub model: &'m scenario::Model,
    /// How it is called.
    pub call: Call,
}

impl Parts<'_> {
    /// Whether attention takes its scores in full.
    pub fn is_eager(&self) -> bool {
        self.call.attention == AttentionKernel::Eager
    }

    /// Whether some layers attend to a window of tokens, as those of Gemma 2 do.
    pub fn has_windows(&self) -> bool {
        self.model.soft_cap.is_on()
    }

    /// The value of every width, where so many columns of each head are rotated.
    pub fn widths(&self, rotated: u32) -> Widths {
        let model = self.model;
        let named = [
            (Width::Hidden, model.hidden),
            (Width::Heads, model.heads),
            (Width::KvHeads, model.kv_heads),
            (Width::HeadDim, model.head_dim),
            (Width::Rotated, rotated),
            (Width::FeedForward, model.feed_forward),
            (Width::Vocabulary, model.vocabulary),
            (Width::Positions, model.positions),
            (Width::Experts, model.experts.count),
            (Width::Active, model.experts.active),
            (Width::ExpertFeedForward, model.expert_width()),
            (Width::SharedFeedForward, model.experts.shared_width),
            (Width::LatentRank, model.latent.kv_rank),
            (Width::RotaryDim, model.latent.rope_dim),
        ];
        let named = named.map(|(width, value)| (width, u64::from(value.max(1))));
        Widths::new(u64::from(self.call.sequence), &named)
    }

    /// The hidden state.
    pub fn residual(&self) -> Form {
        Form::new(self.call.dtype, B * S * H)
    }

    /// Layers that are all built alike.
    pub fn equal_layers(&self, layer: Block) -> Vec<Run> {
        vec![Run { period: vec![layer], times: self.model.layers }]
    }

    /// Heads of queries, keys or values that are not rotated. Where there are several, eager attention's gradients of
    /// queries and values come in their order; those of keys come as columns, which are views in any order of heads.
    pub fn heads(&self, block: &mut Block, place: Place, x: Value) -> Value {
        let copies_back = self.is_eager() && self.model.heads > 1 && place != Place::Key;
        block.add(place, Operator::Heads { x, copies_back })
    }

    /// The value after a dropout, where there is one.
    pub fn dropout(&self, block: &mut Block, place: Place, x: Value) -> Value {
        if self.call.has_dropout { block.add(place, Operator::Dropout { x }) } else { x }
    }

    /// How heads lie in memory. `is_by_head` says that queries and keys of a head lie one after another; one head lies in
    /// both orders.
    pub fn head_layout(&self, is_by_head: bool) -> HeadLayout {
        let has_one_head = self.model.heads == 1;
        HeadLayout {
            widths: HeadWidths { keys: D, values: D },
            is_grouped: self.model.kv_heads != self.model.heads,
            is_by_head: is_by_head && !has_one_head,
            has_one_key_head: self.model.kv_heads == 1,
            has_one_head,
            has_several_sequences: self.call.has_several_sequences,
            is_capped: self.model.soft_cap.is_on(),
            has_wide_softmax: self.model.softmax == Softmax::Full,
            casts_softmax_back: true,
            has_dropout: self.call.has_dropout,
        }
    }

    /// What attention puts out, and its weights where it has any.
    pub fn attention(
        &self,
        block: &mut Block,
        [q, k, v]: [Value; 3],
        mask: Option<Value>,
        layout: HeadLayout,
    ) -> (Value, Option<Value>) {
        if mask.is_none() {
            return (block.add(Place::Attention, Operator::Sdpa { q, k, v, layout }), None);
        };
        let [out, weights] = block.add_all(Place::Attention, Operator::EagerAttention { q, k, v, mask, layout });
        (out, Some(weights))
    }

    /// The end of the model's function, with which its names go, and that of the class with a head: norm, head, logits in
    /// fp32, loss (`LlamaForCausalLM.forward`).
    fn closing(&self, stack: &Stack) -> Result<Block, NotCounted> {
        let beside: Vec<_> = stack.shared.iter().chain(&stack.names).chain(&stack.kept).copied().collect();
        let arguments = [self.residual()].into_iter().chain(beside.iter().copied());
        let beside = beside.len();
        let end = self.call.end;
        let labels = matches!(end, End::Loss | End::Score).then_some(tokens());
        let (mut block, arguments) = Block::new(&arguments.chain(labels).collect::<Vec<_>>());
        block.take(&arguments[..=beside]);
        let x = block.add(Place::FinalNorm, (stack.final_norm)(arguments[0]));
        block.named(&arguments[1..=beside]);
        if end == End::Score {
            let scores = self.scores(&mut block, x, arguments[beside + 1]);
            return Ok(block.giving(&[scores]));
        }
        let mut logits = x;
        if end == End::LogitsOfCompletion {
            logits = block.add(Place::Logits, Operator::LastTokens { x, is_copied: self.copies_last_tokens() });
        }
        logits = block.add(Place::Head, Operator::Linear { x: logits, from: H, to: V, product: stack.head });
        if self.model.soft_cap.is_on() {
            // Names that are overwritten (`Gemma2ForCausalLM.forward`).
            logits = block.add(Place::Logits, Operator::Scale { x: logits });
            logits = block.add(Place::Logits, Operator::Tanh { x: logits });
            logits = block.add(Place::Logits, Operator::Scale { x: logits });
        }
        if end != End::Loss {
            block.named(&[x]);
            return Ok(block.giving(&[logits]));
        }
        let wide = block.add(Place::Logits, Operator::To { x: logits, dtype: DType::Single });
        let labels = arguments[beside + 1];
        let loss = block.add(Place::Loss, Operator::CrossEntropy { logits: wide, labels, is_shifted: true });
        block.named(&[x, logits]);
        Ok(block.giving(&[loss, logits]))
    }

    /// Whether the last tokens of several sequences are brought side by side for the head's product, which a cast does, too.
    fn copies_last_tokens(&self) -> bool {
        self.call.has_several_sequences && !(self.call.has_autocast && self.call.dtype == DType::Single)
    }

    /// `GenericForSequenceClassification.forward` with one class: a score for each token, of which that of the last token
    /// that is no padding is picked.
    fn scores(&self, block: &mut Block, x: Value, ids: Value) -> Value {
        let scores = block.add(Place::Head, Operator::Linear { x, from: H, to: Shape::ONE, product: Product::Linear });
        let pooled = block.add(Place::Pooler, Operator::ScoreOfLast { scores, ids });
        block.named(&[x, scores]);
        pooled
    }

    /// Whether the training loop keeps the logits beside the loss.
    pub fn keeps_logits(&self) -> bool {
        self.call.logits == Logits::Kept
    }
}
