//! Decoders: which class of transformers a model is built like, and what all of them have in common.

use super::{Block, Model, NotCounted, Run, falcon, gemma, gpt2, gptj, llama, neox, olmo2, opt, phi, starcoder2};
use crate::estimator::choice::{AttentionKernel, Logits, Softmax};
use crate::estimator::operators::{Form, HeadLayout, Operator, Part, Place, Product, Size, Tensor, Value};
use crate::estimator::scenario::{self, Experts, Latent};
use crate::estimator::units::{B, DType, H, S, Shape, V, Width, Widths};

/// How a model is called, beside its own numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Tokens of a sequence.
    pub sequence: u32,
    /// Whether a micro-batch has several sequences.
    pub has_several_sequences: bool,
    /// The type of the weights.
    pub dtype: DType,
    /// The attention kernel.
    pub attention: AttentionKernel,
    /// Whether layers drop parts of what they compute.
    pub has_dropout: bool,
    /// Whether the training loop holds on to the logits.
    pub logits: Logits,
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

/// A decoder of the numbers of a model.
pub fn decoder(model: &scenario::Model, call: Call) -> Result<Model, NotCounted> {
    refused(model).map_or(Ok(()), Err)?;
    let parts = Parts { model, call };
    let has_dropout = gpt2::is_like(model) || opt::is_like(model);
    if call.has_dropout && !has_dropout {
        return Err(NotCounted::Dropout);
    }
    let stack = if llama::is_like(model) {
        llama::stack(&parts)
    } else if gpt2::is_like(model) {
        gpt2::stack(&parts)
    } else if gemma::is_like(model) {
        gemma::stack(&parts)?
    } else if olmo2::is_like(model) {
        olmo2::stack(&parts)
    } else if starcoder2::is_like(model) {
        starcoder2::stack(&parts)
    } else if opt::is_like(model) {
        opt::stack(&parts)
    } else if neox::is_like(model) {
        neox::stack(&parts)
    } else if gptj::is_like(model) {
        gptj::stack(&parts)?
    } else if phi::is_like(model) {
        phi::stack(&parts)
    } else if falcon::is_like(model) {
        falcon::stack(&parts)
    } else {
        return Err(NotCounted::Layer);
    };
    let named = [
        (Width::Hidden, model.hidden),
        (Width::Heads, model.heads),
        (Width::KvHeads, model.kv_heads),
        (Width::HeadDim, model.head_dim),
        (Width::Rotated, stack.rotated),
        (Width::FeedForward, model.feed_forward),
        (Width::Vocabulary, model.vocabulary),
        (Width::Positions, model.positions),
    ];
    let named = named.map(|(width, value)| (width, u64::from(value.max(1))));
    Ok(Model {
        widths: Widths::new(u64::from(call.sequence), &named),
        dtype: call.dtype,
        shared: stack.shared.len(),
        closing: parts.closing(&stack),
        opening: stack.opening,
        layers: stack.layers,
        is_tied: model.tied_embeddings.is_on(),
        constants: stack.constants,
        declares_norm_first: stack.declares_norm_first,
    })
}

/// What of a model no decoder here has, the first thing that is.
fn refused(model: &scenario::Model) -> Option<NotCounted> {
    let refused = [
        (model.experts != Experts::NONE, NotCounted::Experts),
        (model.latent != Latent::NONE, NotCounted::LatentAttention),
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
            is_grouped: self.model.kv_heads != self.model.heads,
            is_by_head: is_by_head && !has_one_head,
            has_one_key_head: self.model.kv_heads == 1,
            has_one_head,
            has_several_sequences: self.call.has_several_sequences,
            is_capped: self.model.soft_cap.is_on(),
            has_wide_softmax: self.model.softmax == Softmax::Full,
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
        let Some(mask) = mask else {
            return (block.add(Place::Attention, Operator::Sdpa { q, k, v, layout }), None);
        };
        let [out, weights] = block.add_all(Place::Attention, Operator::EagerAttention { q, k, v, mask, layout });
        (out, Some(weights))
    }

    /// The end of the model's function, with which its names go, and that of the class with a head: norm, head, logits in
    /// fp32, loss (`LlamaForCausalLM.forward`).
    fn closing(&self, stack: &Stack) -> Block {
        let beside: Vec<_> = stack.shared.iter().chain(&stack.names).chain(&stack.kept).copied().collect();
        let arguments = [self.residual()].into_iter().chain(beside.iter().copied());
        let beside = beside.len();
        let (mut block, arguments) = Block::new(&arguments.chain([tokens()]).collect::<Vec<_>>());
        let (x, labels) = (arguments[0], arguments[beside + 1]);
        block.take(&arguments[..=beside]);
        let x = block.add(Place::FinalNorm, (stack.final_norm)(x));
        block.named(&arguments[1..=beside]);
        let mut logits = block.add(Place::Head, Operator::Linear { x, from: H, to: V, product: stack.head });
        if self.model.soft_cap.is_on() {
            // Names that are overwritten (`Gemma2ForCausalLM.forward`).
            logits = block.add(Place::Logits, Operator::Scale { x: logits });
            logits = block.add(Place::Logits, Operator::Tanh { x: logits });
            logits = block.add(Place::Logits, Operator::Scale { x: logits });
        }
        let wide = block.add(Place::Logits, Operator::Float { x: logits });
        let loss = block.add(Place::Loss, Operator::CrossEntropy { logits: wide, labels });
        block.named(&[x, logits]);
        let kept: &[_] = if self.call.logits == Logits::Kept { &[loss, logits] } else { &[loss] };
        block.giving(kept)
    }
}
