//! Decoders: which class of transformers a model is built like, and what all of them have in common.

use super::liger::Patch;
use super::{
    Block, Cut, Model, NotCounted, Run, bert, cohere, composed, deepseek, falcon, gemma, gpt2, gptj, images, llama,
    megatron, mpt, neox, olmo, olmo2, opt, phi, phi3, seq2seq, stablelm, starcoder2, titan,
};
use crate::estimator::choice::{AttentionKernel, Kernels, Logits, LossHead, Softmax, Tower};
use crate::estimator::operators::{
    Form, HeadLayout, HeadWidths, Loss, Masking, Operator, Part, Place, Product, Size, Tensor, Tiles, Value,
};
use crate::estimator::scenario::{self, Images, Latent};
use crate::estimator::units::{B, D, DType, EDGES, H, S, Shape, T, V, Width, Widths};

/// How sequences become a micro-batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collation {
    /// All have one length, and the labels are the token ids.
    Equal,
    /// All have one length, and a mask that hides nothing says so.
    Masked,
    /// The same, with numbers of positions beside the mask, which has a type, and keys and values are kept from token to token.
    Cached(DType),
    /// The same with a mask of booleans, where no keys and values are kept.
    Placed,
    /// The same, and keys and values of the pass are kept (`use_cache` without any from before).
    Kept,
    /// They are padded, and a mask says where.
    Padded,
    /// They are padded, and attention takes the padding out.
    Unpadded,
    /// They stand one behind the other in one row, each with so many documents, and attention knows where each begins.
    Flattened(u32),
}

impl Collation {
    /// What a collator gives beside ids and labels (`DataCollatorForLanguageModeling`, `DataCollatorWithFlattening` in
    /// transformers/data/data_collator.py, 5.23.0).
    fn beside(self) -> Vec<(Place, Form)> {
        match self {
            Self::Equal => Vec::new(),
            Self::Cached(mask) => vec![(Place::Mask, Form::new(mask, B * T)), (Place::Positions, tokens())],
            Self::Placed | Self::Kept => {
                vec![(Place::Mask, tokens().with_dtype(DType::Byte)), (Place::Positions, tokens())]
            }
            Self::Masked | Self::Padded | Self::Unpadded => vec![(Place::Mask, tokens())],
            Self::Flattened(_) => vec![(Place::Positions, tokens()), (Place::Edges, Form::new(DType::Int, EDGES))],
        }
    }

    /// Why a class is refused that is not played with it.
    pub const fn not_counted(self) -> NotCounted {
        match self {
            Self::Masked => NotCounted::MaskOfPadding,
            Self::Cached(_) | Self::Placed | Self::Kept => NotCounted::Generation,
            _ => NotCounted::Lengths,
        }
    }
}

/// Whose classes of models are trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// transformers.
    Transformers,
    /// torchtitan, which has classes of its own.
    Torchtitan,
    /// Megatron Core, which has one class of its own.
    Megatron,
}

/// How a model is called, beside its own numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Whose class it is.
    pub library: Library,
    /// Sequences of a micro-batch.
    pub batch: u32,
    /// Tokens of a sequence.
    pub sequence: u32,
    /// Positions that an encoder before the decoder puts out for a sequence.
    pub source: u32,
    /// The images of a sequence.
    pub images: Images,
    /// How sequences become a micro-batch.
    pub collation: Collation,
    /// Whether a micro-batch has several rows.
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
    /// Whether layers run kernels of Liger.
    pub kernels: Kernels,
    /// The loss.
    pub loss: LossHead,
    /// Where the network ends.
    pub end: End,
    /// Whether `torch.autocast` is on.
    pub has_autocast: bool,
    /// Whether an engine has hooks in every module.
    pub has_module_hooks: bool,
    /// Whether the class puts out what every layer is given and what the last norm puts out (`output_hidden_states`).
    pub puts_out_states: bool,
}

/// Where a network ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With the loss.
    Loss,
    /// With the loss over a number of labels that the class is given.
    LossOfItems,
    /// With the logits of all tokens.
    Logits,
    /// With the logits of the completion and of the token before it.
    LogitsOfCompletion,
    /// With the logits of the last token.
    LogitsOfLast,
    /// With a number for each sequence.
    Score,
    /// With a number for each token.
    Values,
}

impl End {
    /// Whether it is a head of one number, and not of the vocabulary.
    const fn is_of_one(self) -> bool {
        matches!(self, Self::Score | Self::Values)
    }
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
    /// Whether logits are multiplied by a number.
    pub scales_logits: bool,
    /// How many columns of each head are rotated.
    pub rotated: u32,
    /// What is kept beside the weights as long as the model is.
    pub constants: Vec<Tensor>,
    /// Whether the class declares the norm behind the layers before them.
    pub declares_norm_first: bool,
    /// What comes before the layers in the parts of a pipeline, in the first one and in the others.
    pub cut: Option<[Block; 2]>,
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
            scales_logits: false,
            rotated: 0,
            constants: Vec::new(),
            declares_norm_first: false,
            cut: None,
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
        LossHead::MaskedLm | LossHead::Classifier if call.collation != Collation::Equal => Err(NotCounted::Lengths),
        LossHead::MaskedLm | LossHead::Classifier => bert::encoder(&parts),
        _ if model.encoder.is_there() && call.library == Library::Megatron => Err(NotCounted::Encoder),
        _ if model.encoder.is_there() => seq2seq::network(&parts),
        _ if call.library == Library::Torchtitan => titan::decoder(&parts),
        _ if call.library == Library::Megatron => megatron::decoder(&parts),
        _ => decoder(&parts),
    }
}

/// A class of decoders of transformers.
struct Class {
    /// Whether a model's layers are like those of the class.
    is_like: fn(&scenario::Model) -> bool,
    /// Whether layers may have experts.
    has_experts: bool,
    /// Whether its dropout is played.
    has_dropout: bool,
    /// Whether sequences of several lengths are played.
    has_lengths: bool,
    /// Whether what it makes of a mask that hides nothing is played.
    takes_mask: bool,
    /// Whether its modules are known, where it has no experts.
    has_modules: bool,
    /// Whether it is played with a cache of keys and values.
    has_cache: bool,
    /// Liger's patch for it, where it has one.
    patch: Option<Patch>,
    /// Its layers, with what comes before them.
    stack: fn(&Parts<'_>) -> Result<Stack, NotCounted>,
}

impl Class {
    const fn new(is_like: fn(&scenario::Model) -> bool, stack: fn(&Parts<'_>) -> Result<Stack, NotCounted>) -> Self {
        Self {
            is_like,
            has_experts: false,
            has_dropout: false,
            has_lengths: false,
            takes_mask: false,
            has_modules: false,
            has_cache: false,
            patch: None,
            stack,
        }
    }

    const fn with_experts(self) -> Self {
        Self { has_experts: true, ..self }
    }

    const fn with_dropout(self) -> Self {
        Self { has_dropout: true, ..self }
    }

    const fn with_lengths(self) -> Self {
        Self { has_lengths: true, ..self }
    }

    const fn with_modules(self) -> Self {
        Self { has_modules: true, ..self }
    }

    const fn with_mask(self) -> Self {
        Self { takes_mask: true, ..self }
    }

    const fn with_cache(self) -> Self {
        Self { has_cache: true, ..self }
    }

    const fn with_patch(self, patch: Patch) -> Self {
        Self { patch: Some(patch), ..self }
    }
}

/// Every class that is played. A model is built like the first that it is like.
const CLASSES: &[Class] = &[
    Class::new(phi3::is_like, |parts| Ok(phi3::stack(parts))).with_lengths().with_patch(Patch::PLAIN),
    Class::new(deepseek::is_like, |parts| Ok(deepseek::stack(parts))).with_experts(),
    Class::new(cohere::is_like, |parts| Ok(cohere::stack(parts))).with_lengths(),
    Class::new(llama::is_like, |parts| Ok(llama::stack(parts)))
        .with_experts()
        .with_lengths()
        .with_mask()
        .with_modules()
        .with_cache()
        .with_patch(Patch::PLAIN),
    Class::new(gpt2::is_like, |parts| Ok(gpt2::stack(parts))).with_dropout(),
    Class::new(gemma::is_like, gemma::stack).with_lengths().with_mask().with_patch(Patch::GEMMA),
    Class::new(olmo2::is_like, |parts| Ok(olmo2::stack(parts))).with_lengths().with_mask().with_patch(Patch::OLMO2),
    Class::new(olmo::is_like, |parts| Ok(olmo::stack(parts))).with_lengths().with_mask(),
    Class::new(starcoder2::is_like, |parts| Ok(starcoder2::stack(parts))).with_lengths().with_mask(),
    Class::new(stablelm::is_like, |parts| Ok(stablelm::stack(parts))).with_lengths(),
    Class::new(opt::is_like, |parts| Ok(opt::stack(parts))).with_dropout(),
    Class::new(neox::is_like, |parts| Ok(neox::stack(parts))).with_dropout().with_lengths().with_mask(),
    Class::new(gptj::is_like, gptj::stack),
    Class::new(phi::is_like, |parts| Ok(phi::stack(parts))).with_dropout().with_lengths().with_mask(),
    Class::new(falcon::is_like, |parts| Ok(falcon::stack(parts))),
    Class::new(mpt::is_like, mpt::stack),
    Class::new(|_| true, composed::stack)
        .with_experts()
        .with_dropout()
        .with_lengths()
        .with_mask()
        .with_patch(Patch::GEMMA),
];

/// A decoder, with a head for the next token.
fn decoder(parts: &Parts<'_>) -> Result<Model, NotCounted> {
    let model = parts.model;
    let is_like = |class: &&Class| (class.has_experts || model.experts.count == 0) && (class.is_like)(model);
    let class = CLASSES.iter().find(is_like).ok_or(NotCounted::Layer)?;
    let is_fused = parts.call.kernels == Kernels::Fused;
    // Of experts, those of Mixtral and Qwen 3 are known.
    if is_fused && model.experts.count > 0 && !llama::is_like(model) {
        return Err(NotCounted::Kernels);
    }
    // A class that Liger has no patch for runs as it is.
    let patch = class.patch.filter(|_| is_fused);
    let kernels = if patch.is_some() { Kernels::Fused } else { Kernels::Eager };
    let parts = &Parts { model, call: Call { kernels, ..parts.call } };
    if parts.call.has_dropout && !class.has_dropout {
        return Err(NotCounted::Dropout);
    }
    let is_played = match parts.call.collation {
        Collation::Equal => true,
        Collation::Masked => class.takes_mask && !parts.is_eager(),
        Collation::Cached(_) | Collation::Placed | Collation::Kept => {
            class.has_cache && !parts.is_eager() && model.experts.count == 0
        }
        _ => class.has_lengths && !parts.has_window(),
    };
    if !is_played {
        return Err(parts.call.collation.not_counted());
    }
    if parts.call.has_module_hooks && !(class.has_modules && model.experts.count == 0) {
        return Err(NotCounted::Modules);
    }
    let mut stack = (class.stack)(parts)?;
    let seeing = model.vision.is_there().then(|| images::seeing(parts)).transpose()?;
    stack.names.extend(seeing.iter().flat_map(|seeing| &seeing.names));
    let is_plain_head = stack.head == Product::Linear && !stack.scales_logits && !model.soft_cap.is_on();
    let is_own_loss = parts.call.loss == LossHead::Plain && parts.call.logits != Logits::KeptFull;
    let is_played = match parts.call.loss {
        // Caps and scales are within its kernel.
        LossHead::Tiled => stack.head == Product::Linear,
        LossHead::Fused | LossHead::KernelInPlace => is_plain_head,
        _ => is_plain_head && parts.call.collation == Collation::Equal,
    };
    if !is_own_loss && !is_played {
        return Err(NotCounted::Loss);
    }
    let mut decoder = Model {
        widths: parts.widths(stack.rotated),
        dtype: parts.call.dtype,
        shared: stack.shared.len(),
        closing: parts.closing(&stack)?,
        output: None,
        has_loss_under_autocast: false,
        keeps_logits: parts.keeps_logits(),
        hands_on: false,
        has_cache: parts.has_cache(),
        puts_out_states: parts.call.puts_out_states,
        cut: stack.cut.clone().map(|openings| Cut::new(parts, &stack, openings)),
        opening: stack.opening,
        layers: stack.layers,
        is_tied: model.tied_embeddings.is_on() && !parts.call.end.is_of_one(),
        constants: stack.constants,
        declares_norm_first: stack.declares_norm_first,
        beside: parts.call.collation.beside(),
        source: None,
        sees: false,
        put_out: 0,
        labels: (parts.call.collation != Collation::Equal).then(tokens),
        loss: match parts.call.loss {
            LossHead::KernelInPlace if !parts.call.has_autocast => parts.call.dtype,
            _ => DType::Single,
        },
    };
    patch.into_iter().for_each(|patch| patch.replace(parts, &mut decoder));
    if let Some(seeing) = seeing {
        seeing.stand_before(parts, &mut decoder);
    }
    Ok(decoder)
}

/// What of a model no decoder here has, the first thing that is.
fn refused(model: &scenario::Model) -> Option<NotCounted> {
    let refused = [(model.latent != Latent::NONE && !deepseek::is_like(model), NotCounted::LatentAttention)];
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
    /// Whether keys and values are kept from token to token.
    pub fn has_cache(&self) -> bool {
        matches!(self.call.collation, Collation::Cached(_) | Collation::Kept)
    }

    /// Whether the class is given numbers of positions beside a mask.
    pub fn has_positions(&self) -> bool {
        self.has_cache() || self.call.collation == Collation::Placed
    }

    /// The type of what autocast computes in fp32, as norms and losses: that of the weights without it.
    pub const fn in_fp32_by_autocast(&self) -> DType {
        if self.call.has_autocast { DType::Single } else { self.call.dtype }
    }

    /// The type of what autocast computes in 16 bits, as products: that of the weights without it.
    pub const fn in_half_by_autocast(&self) -> DType {
        if self.call.has_autocast { DType::Half } else { self.call.dtype }
    }

    /// Whether attention takes its scores in full.
    pub fn is_eager(&self) -> bool {
        self.call.attention == AttentionKernel::Eager
    }

    /// Whether layers run kernels of Liger.
    pub fn has_liger(&self) -> bool {
        self.call.kernels == Kernels::Fused
    }

    /// Whether tokens of an image attend to one another, as those of Gemma 3 do.
    pub fn has_blocks_of_images(&self) -> bool {
        self.model.vision.is_there() && self.model.vision.tower == Tower::Gemma3
    }

    /// Whether some layers attend to a window of tokens, as those of Gemma 2 and 3 do.
    pub fn has_windows(&self) -> bool {
        gemma::is_like(self.model) && self.model.norms == 4
    }

    /// Whether eager attention is given a mask with a window of tokens in it.
    fn has_window(&self) -> bool {
        self.is_eager() && (self.has_windows() || starcoder2::is_like(self.model))
    }

    /// What the first block is given: token ids, and what a collator gives beside them.
    pub fn batch(&self) -> Vec<Form> {
        [tokens()].into_iter().chain(self.call.collation.beside().into_iter().map(|(_, form)| form)).collect()
    }

    /// How a mask reaches a fused kernel.
    pub fn masking(&self) -> Masking {
        Masking { pads_mask: !self.call.sequence.is_multiple_of(8), repeats_keys: true }
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
            (Width::QueryRank, model.latent.query_rank),
            (Width::RotaryDim, model.latent.rope_dim),
        ];
        let named = named.map(|(width, value)| (width, u64::from(value.max(1))));
        let widths = Widths::new(u64::from(self.call.sequence), &named).with(Width::Chunk, self.rows_of_chunk());
        match self.call.collation {
            Collation::Flattened(documents) => widths.flattened(u64::from(documents)),
            _ => widths,
        }
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
            are_values_by_head: false,
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
        if !self.is_eager() {
            let operator = match (mask, self.call.collation) {
                (Some(mask), _) => Operator::MaskedSdpa { q, k, v, mask, layout, masking: self.masking() },
                (None, Collation::Unpadded) => Operator::UnpaddedAttention { q, k, v, layout },
                (None, Collation::Flattened(_)) => Operator::DocumentAttention { q, k, v, layout },
                (None, _) => Operator::Sdpa { q, k, v, layout },
            };
            return (block.add(Place::Attention, operator), None);
        }
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
        let has_items = end == End::LossOfItems;
        let labels = (has_items || matches!(end, End::Loss | End::Score)).then_some(tokens());
        let items = has_items.then_some(Form::new(DType::Single, Shape::ONE));
        let (mut block, arguments) = Block::new(&arguments.chain(labels).chain(items).collect::<Vec<_>>());
        block.take(&arguments[..=beside]);
        let x = block.add(Place::FinalNorm, (stack.final_norm)(arguments[0]));
        block.named(&arguments[1..=beside]);
        block.end_model(x);
        if end == End::Values {
            let product = Product::Linear;
            let values = block.add(Place::Head, Operator::Linear { x, from: H, to: Shape::ONE, product });
            return Ok(self.with_state(block, values, x));
        }
        if end == End::Score {
            let scores = self.scores(&mut block, x, arguments[beside + 1]);
            return Ok(block.giving(&[scores]));
        }
        let mut logits = x;
        if end == End::LogitsOfCompletion {
            logits = block.add(Place::Logits, Operator::LastTokens { x, is_copied: self.copies_last_tokens() });
        }
        if self.call.loss == LossHead::Tiled && end == End::Loss {
            let tiles = self.tiles();
            let [loss, log_probs] = block.add_all(Place::Loss, Operator::TiledLoss { x, tiles });
            return Ok(block.giving(&[loss, log_probs]));
        }
        if let Some(loss) = self.loss_of_hidden().filter(|_| end == End::Loss) {
            let loss = block.add(Place::Loss, Operator::Loss { x, loss });
            return Ok(block.giving(&[loss]));
        }
        if end == End::LogitsOfLast {
            logits = block.add(Place::Logits, Operator::LastToken { x });
        }
        logits = block.add(Place::Head, Operator::Linear { x: logits, from: H, to: V, product: stack.head });
        if self.model.soft_cap.is_on() {
            // Names that are overwritten (`Gemma2ForCausalLM.forward`).
            logits = block.add(Place::Logits, Operator::Scale { x: logits });
            logits = block.add(Place::Logits, Operator::Tanh { x: logits });
            logits = block.add(Place::Logits, Operator::Scale { x: logits });
        }
        if stack.scales_logits {
            logits = block.add(Place::Logits, Operator::Scale { x: logits });
        }
        if !has_items && end != End::Loss {
            block.named(&[x]);
            return Ok(self.with_state(block, logits, x));
        }
        if let Some(loss) = self.loss_of_logits() {
            let loss = block.add(Place::Loss, Operator::Loss { x: logits, loss });
            block.named(&[x, logits]);
            return Ok(block.giving(&[loss, logits]));
        }
        let wide = block.add(Place::Logits, Operator::To { x: logits, dtype: DType::Single });
        if self.call.logits == Logits::KeptFull {
            let loss = Loss::Shifted { is_copied: self.call.has_several_sequences };
            let loss = block.add(Place::Loss, Operator::Loss { x: wide, loss });
            block.named(&[x]);
            return Ok(block.giving(&[loss, wide]));
        }
        let labels = arguments[beside + 1];
        let operator = match arguments.get(beside + 2) {
            Some(&items) => Operator::NextTokenLoss { logits: wide, items },
            None => Operator::CrossEntropy { logits: wide, labels, is_shifted: true },
        };
        let loss = block.add(Place::Loss, operator);
        block.named(&[x, logits]);
        Ok(block.giving(&[loss, logits]))
    }

    /// The end of a network with what it puts out, and with the last of its states where it puts these out.
    fn with_state(&self, block: Block, out: Value, state: Value) -> Block {
        if self.call.puts_out_states { block.giving(&[out, state]) } else { block.giving(&[out]) }
    }

    /// A loss of another library that is given logits.
    fn loss_of_logits(&self) -> Option<Loss> {
        match self.call.loss {
            LossHead::Kernel => Some(Loss::BesideLogits { is_copied: self.call.has_several_sequences }),
            LossHead::KernelInPlace => Some(Loss::InPlace),
            _ => None,
        }
    }

    /// The same that is given the hidden state behind the last norm.
    fn loss_of_hidden(&self) -> Option<Loss> {
        let is_copied = self.call.has_several_sequences;
        match self.call.loss {
            LossHead::Fused => Some(Loss::Fused { chunks: self.fused_chunks().1 }),
            LossHead::Chunked => Some(Loss::Chunked { is_copied }),
            LossHead::ChunkedHead => Some(Loss::ChunkedHead { is_copied }),
            _ => None,
        }
    }

    /// Rows of a chunk of Liger's fused loss, and how many chunks there are: as many that their logits take no more elements than
    /// the hidden states, in chunks whose rows are a power of two (`fused_linear_cross_entropy_forward` in
    /// liger_kernel/ops/fused_linear_cross_entropy.py, 0.8.5).
    fn fused_chunks(&self) -> (u64, u32) {
        let rows = u64::from(self.call.batch.max(1)).saturating_mul(u64::from(self.call.sequence.max(1)));
        let parts = self.model.vocabulary.div_ceil(self.model.hidden.max(1)).max(1);
        let chunk = rows.div_ceil(u64::from(parts)).checked_next_power_of_two().unwrap_or(rows).min(rows);
        (chunk, u32::try_from(rows.div_ceil(chunk)).unwrap_or(u32::MAX))
    }

    /// The tiles of trl's head, where all tokens have a label but the first of each sequence.
    fn tiles(&self) -> Tiles {
        let [batch, labels] =
            [self.call.batch, self.call.sequence.saturating_sub(1)].map(|count| u64::from(count.max(1)));
        Tiles {
            tokens: batch.saturating_mul(labels),
            words: u64::from(self.model.vocabulary),
            hidden: u64::from(self.model.hidden),
        }
    }

    /// Rows of a chunk of a loss that is given the hidden state.
    fn rows_of_chunk(&self) -> u64 {
        match self.call.loss {
            LossHead::Tiled => Tiles::rows(self.tiles().tokens),
            _ => self.fused_chunks().0,
        }
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
        self.call.logits != Logits::Dropped
    }
}
