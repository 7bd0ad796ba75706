//! Operators of a model as data, and what PyTorch does for each: a file a kind, a source beside each rule.
//!
//! The order in which a rule makes and drops tensors is that of PyTorch's own allocator traces (tests/traces).

mod activation;
mod application;
mod attention;
mod collated;
mod convolution;
mod divergence;
mod embedding;
mod experts;
mod images;
mod kernel;
mod latent;
mod liger;
mod linear;
mod log_probs;
mod loss;
mod loss_heads;
mod lowering;
mod megatron;
mod nf4;
mod norm;
mod pointwise;
mod relative;
mod rotary;
mod sampling;
mod scores;
mod sequence_parallel;
mod size;
mod tensor;
mod tiled;
mod vocabulary_parallel;

pub use application::Application;
use attention::ScoreBias;
pub use attention::{Biasing, Masking};
pub use convolution::Order;
pub use experts::{Routing, Stack};
pub use kernel::{
    ASIDES, Added, Aside, Checkpoint, Conversion, Crossing, Effect, Kernel, Module, ModuleKind, NOTHING, OPERANDS,
    OUTPUT, Operand, Program, Reads, Slot, Weight,
};
pub use liger::{Copies, Handling};
pub use linear::{Adapter, Product};
pub use loss_heads::Loss;
pub use lowering::{Lowering, Types};
pub use megatron::{Function as MegatronFunction, Norm as MegatronNorm, Sharing as MegatronSharing};
pub use norm::Weighting;
pub use pointwise::Pointwise;
pub use size::{CUBLAS, CUBLASLT, FOREACH_CHUNK, Held, PROCESSORS, Size, reduction_of_all, resident_blocks};
pub use tensor::{Form, Kind, Owner, Part, Place, Registry, Side, Stream, Tensor, TensorId};
pub use tiled::Tiles;

use crate::estimator::units::{DType, Shape};

/// A value of a block: an argument, or what one of its operators puts out, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Value(pub u16);

/// What one application of PyTorch's library or of a function of the model's class does, with its widths. The number of
/// rows comes from the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Rows of a table for ids.
    Embedding { ids: Value, rows: Shape, width: Shape },
    /// The same for types of tokens; `is_expanded` where one row of types stands for several sequences.
    TypeEmbedding { types: Value, rows: Shape, width: Shape, is_expanded: bool },
    /// The same of a table of which the device has one of `parts`; `rows` are its own.
    EmbeddingPart { ids: Value, rows: Shape, width: Shape, parts: u32 },
    /// Where a module of the class is given a value or puts one out. Engines that share the module among devices act there.
    Boundary { x: Value, side: ModuleSide },
    /// Whole sequences, of which each of `parts` devices has a part; `has_several` where there are several.
    GatherSequence { x: Value, parts: u32, has_several: bool },
    /// The part of every sequence that this device keeps of a sum over `parts` devices.
    ScatterSequence { x: Value, parts: u32, has_several: bool },
    /// Numbers of the positions of a sequence, counted on from those that a cache has.
    PositionIds,
    /// Numbers of the positions of a sequence, from 0.
    Range,
    /// So many numbers from 0.
    Numbers { count: Shape },
    /// As many numbers for each sequence, as a view.
    Expanded { x: Value },
    /// The same, as a copy.
    RepeatedForEach { x: Value },
    /// The ids that a decoder is given where it is to put out labels: these, shifted by one token.
    ShiftedRight { labels: Value },
    /// Ones, as many as another value has elements of `inputs` each.
    Ones { like: Value, inputs: Shape },
    /// The sum with a buffer that wants no gradient.
    AddBuffer { x: Value, dtype: DType },
    /// A value in the order in which another operator wants it.
    Contiguous { x: Value, is_strided: bool },
    /// Ones for all tokens, and the number of each among them; two results.
    CountedPositions,
    /// Numbers of positions, each with an offset.
    OffsetPositions { x: Value },
    /// The same from a buffer of the model.
    PositionBuffer { count: Shape },
    /// Numbers of the positions of all tokens that are no padding; `is_one_sequence` where they are counted as one.
    PositionsOfIds { ids: Value, is_one_sequence: bool },
    /// As many numbers of a buffer.
    Gather { x: Value },
    /// Cosines and sines of positions, without a gradient; two results.
    RotaryTable { positions: Value, width: Shape, dtype: DType },
    /// Rows of a table of sines and cosines that each layer has as a buffer, for positions and in the type of another value;
    /// three results: these rows, a copy of the table, and the positions as often as it has columns.
    SinusoidRows { positions: Value, like: Value, rows: Shape, width: Shape },
    /// The mask that eager attention adds to scores.
    CausalMask { embedded: Value, has_window: bool },
    /// The mask that says for each pair whether it counts.
    BooleanMask { has_window: bool },
    /// The mask that a mask of tokens makes of every pair: `is_added` where as numbers that are added to scores.
    PaddingMask { mask: Value, embedded: Value, is_added: bool },
    /// Root-mean-square norm, spelt out in operations as in transformers.
    RmsNorm { x: Value, width: Shape, weighting: Weighting },
    /// The same with one and the weights, in fp32, of a value that does not lie row by row; `from_columns` where its gradient does
    /// not, either.
    RmsNormOfColumns { x: Value, width: Shape, from_columns: bool },
    /// The bias on scores for each distance, for heads whose number is a power of two.
    Alibi,
    /// A mask as booleans.
    AsBooleans { mask: Value },
    /// Layer norm with a weight alone, spelt out in operations in fp32.
    CenteredNorm { x: Value, width: Shape },
    /// Layer norm with a weight alone.
    UnbiasedLayerNorm { x: Value, width: Shape },
    /// Layer norm without weights, in fp32.
    PlainLayerNorm { x: Value, width: Shape },
    /// Layer norm with weight and bias, one kernel.
    LayerNorm { x: Value, width: Shape },
    /// A product with a matrix.
    Linear { x: Value, from: Shape, to: Shape, product: Product },
    /// The same with peft's low-rank adapter beside the frozen matrix.
    Adapted { x: Value, from: Shape, to: Shape, product: Product, adapter: Adapter },
    /// Parts of a tensor along its last dimension, as views; as many results.
    Split { x: Value, parts: u16 },
    /// A part of a tensor, `to` for each of `from` elements, as a view whose gradient is written into zeros of the whole.
    Slice { x: Value, from: Shape, to: Shape },
    /// The same by a list of indices, which copies.
    Pick { x: Value, from: Shape, to: Shape },
    /// Heads as a dimension of their own, transposed; `copies_back` where the gradient comes in another order, so that a
    /// copy brings it back.
    Heads { x: Value, copies_back: bool },
    /// Queries or keys rotated by their positions.
    Rotary { x: Value, cos: Value, sin: Value },
    /// The same in pairs of neighbours, with rows of sines and cosines.
    RotaryPairs { x: Value, rows: Value },
    /// Two parts of a tensor along its last dimension, `first` and `second` of `whole`, as views.
    SplitAt { x: Value, whole: Shape, first: Shape, second: Shape },
    /// Two values side by side along their last dimension, `first` of `whole`.
    Concat { x: Value, y: Value, first: Shape, whole: Shape },
    /// Numbers of the unit circle for positions, without a gradient.
    ComplexTable { positions: Value, width: Shape },
    /// Queries and keys multiplied by such numbers; two results. `copies_back` where the gradient of queries comes in the
    /// order of tokens, and a copy brings it into that of heads.
    ComplexRotary { q: Value, k: Value, table: Value, copies_back: bool },
    /// A table of such numbers that the model keeps.
    ComplexBuffer { width: Shape },
    /// Queries and keys multiplied by such numbers, each step for both of them; two results.
    ComplexRotaryInTurn { q: Value, k: Value, table: Value },
    /// `nn.RMSNorm`, one kernel.
    FusedRmsNorm { x: Value, width: Shape },
    /// Keys of `whole` whose first part differs from head to head and whose second is that of all.
    SharedKeys { x: Value, shared: Value, heads: Shape, first: Shape, whole: Shape },
    /// `scaled_dot_product_attention`.
    Sdpa { q: Value, k: Value, v: Value, layout: HeadLayout },
    /// The same with a mask that says for each pair whether it counts, which flash attention does not take.
    MaskedSdpa { q: Value, k: Value, v: Value, mask: Value, layout: HeadLayout, masking: Masking },
    /// The same over documents that stand one behind the other.
    DocumentAttention { q: Value, k: Value, v: Value, layout: HeadLayout },
    /// The same over sequences whose padding is taken out before and put back behind it.
    UnpaddedAttention { q: Value, k: Value, v: Value, layout: HeadLayout },
    /// Attention with scores and softmax in full; two results, the output and the weights.
    EagerAttention { q: Value, k: Value, v: Value, mask: Option<Value>, layout: HeadLayout },
    /// Attention with scores that are divided in place, and a softmax in the type of the hidden state; two results.
    ScoresInPlace { q: Value, k: Value, v: Value, mask: Value, hidden: Value, layout: HeadLayout },
    /// Attention with scores of queries and keys in fp32; two results.
    ScoresInFp32 { q: Value, k: Value, v: Value, mask: Value, layout: HeadLayout },
    /// The same with a bias on scores, filled where a mask of booleans says so; the scores that the softmax is given are
    /// a third result.
    BiasedAttention { q: Value, k: Value, v: Value, mask: Value, bias: Value, layout: HeadLayout },
    /// The same with a bias for each head and pair of tokens, which is learned; two results.
    EagerBiasedAttention { q: Value, k: Value, v: Value, bias: Value, mask: Option<Value>, layout: HeadLayout },
    /// `scaled_dot_product_attention` with such a bias in the place of a mask.
    BiasedSdpa { q: Value, k: Value, v: Value, bias: Value, layout: HeadLayout, biasing: Biasing, pads_mask: bool },
    /// A bias for each head and pair of tokens, by their distance, of a table of `rows`.
    RelativeBias { like: Value, rows: Shape, is_bidirectional: bool },
    /// Zeros of a form.
    Zeros { form: Form },
    /// Rows of a table by an index and not by an embedding.
    IndexedRows { ids: Value, rows: Shape, width: Shape },
    /// A convolution: `from` elements at each of so many positions become `to`.
    Convolution { x: Value, from: Shape, to: Shape, positions: Shape, order: Order },
    /// Which tokens stand for images.
    Placeholders { ids: Value },
    /// Features in the places of a mask of tokens.
    Scattered { x: Value, mask: Value, features: Value },
    /// The image that each token belongs to; `is_one_sequence` where tokens are counted as one.
    ImageBlocks { types: Value, is_one_sequence: bool },
    /// The mask in which tokens of an image attend to one another, as booleans or as numbers of a type.
    BlockwiseMask { ids: Value, added: Option<DType>, has_window: bool },
    /// The mean of so many places; `is_strided` where its gradient lies otherwise than it.
    Averaged { x: Value, places: Shape, is_strided: bool },
    /// Layer norm of a value that does not lie row by row; `from_columns` where its gradient does not, either.
    LayerNormOfColumns { x: Value, width: Shape, from_columns: bool },
    /// The end of a function, whose names go; the value is the same.
    Return { x: Value },
    /// The first token of each sequence, as a view.
    FirstToken { x: Value },
    /// The router of a mixture of experts; three results: logits, weights of the chosen and their numbers.
    Router { x: Value, stack: Stack, routing: Routing, adapter: Option<Adapter> },
    /// What the experts that were chosen make of tokens.
    Experts { x: Value, scores: Value, ids: Value, stack: Stack, adapter: Option<Adapter> },
    /// SiLU.
    Silu { x: Value },
    /// GELU, one kernel.
    Gelu { x: Value },
    /// ReLU.
    Relu { x: Value },
    /// GELU by tanh, spelt out in operations.
    GeluTanh { x: Value },
    /// The product of two values, element by element.
    Multiply { x: Value, y: Value },
    /// The sum of two values of one shape.
    Add { x: Value, y: Value },
    /// The same, written into the first.
    AddInPlace { x: Value, y: Value },
    /// The sum of a value and one that is the same for all sequences; `is_broadcast` where there are several.
    AddToEach { x: Value, y: Value, is_broadcast: bool },
    /// The product with a number.
    Scale { x: Value },
    /// The product with a number that is a tensor, which `is_cast` to the type of the weights.
    ScaleByBuffer { x: Value, is_cast: bool },
    /// Dropout.
    Dropout { x: Value },
    /// The same elements in another shape, as a view.
    Reshape { x: Value },
    /// Tanh.
    Tanh { x: Value },
    /// The value in a type.
    To { x: Value, dtype: DType },
    /// The value in the type of another.
    CastLike { x: Value, like: Value },
    /// The tokens of the completion and the one before it, as a view, or `is_copied` side by side.
    LastTokens { x: Value, is_copied: bool },
    /// The score of the last token that is no padding.
    ScoreOfLast { scores: Value, ids: Value },
    /// The element of each row whose number is given.
    GatherColumns { x: Value, ids: Value, width: Shape },
    /// One of `rows` rows of a tensor that is iterated over.
    Row { x: Value, rows: Shape },
    /// The logarithm of the sum of exponentials of each row.
    LogSumExp { x: Value, width: Shape },
    /// The logarithm of the softmax of each row.
    LogSoftmax { x: Value },
    /// The items of a list in one tensor.
    Joined { list: Value, shape: Shape },
    /// The difference of two values.
    Difference { x: Value, y: Value },
    /// Zeros where a mask is zero, written into the value.
    FillMasked { x: Value, mask: Value },
    /// The sum of `inputs` elements that lie side by side.
    Sum { x: Value, inputs: Shape },
    /// The logarithm of a sigmoid.
    LogSigmoid { x: Value },
    /// The sum with a number.
    PlusNumber { x: Value },
    /// Something that is computed of values without a gradient.
    Computed { x: Value, y: Option<Value>, form: Form },
    /// A sum of elements that lie side by side, without a gradient.
    Total { x: Value, dtype: DType, inputs: Shape },
    /// The divergence of a student's distributions from a teacher's, of so many rows, over the number of labels.
    JensenShannon { student: Value, teacher: Value, labels: Value, items: Value, rows: Shape, width: Shape },
    /// How many flags are set.
    TotalOfFlags { x: Value },
    /// trl's head: the loss and the log-probabilities beside it, two results.
    TiledLoss { x: Value, tiles: Tiles },
    /// A part of a tensor as a view, without a gradient.
    Part { x: Value, form: Form },
    /// The sum of the means of the rows of a tensor that a mask does not hide, without a gradient.
    SumOfMaskedRows { x: Value, mask: Value, rows: Shape, width: Shape },
    /// Keys or values so far, with those of new tokens behind them: so many elements together, and a type as wide as that of
    /// the keys.
    Appended { cache: Value, x: Value, keys: Value, shape: Shape },
    /// The last token of each sequence, as a view.
    LastToken { x: Value },
    /// Whether all flags are set, or any.
    AllOfFlags { x: Value },
    /// A number for each row of probabilities, drawn by them.
    Multinomial { x: Value, width: Shape },
    /// Cross-entropy of logits for the next tokens, added up and divided by a number of labels.
    NextTokenLoss { logits: Value, items: Value },
    /// The product with a number, written into the value.
    ScaleInPlace { x: Value },
    /// A tensor that comes from the host.
    Brought { form: Form },
    /// Cross-entropy of logits; `is_shifted` where the labels are those of the next tokens.
    CrossEntropy { logits: Value, labels: Value, is_shifted: bool },
    /// The same of logits of which the device has some `columns`.
    CrossEntropyOfParts { logits: Value, labels: Value, columns: Shape },
    /// Liger's root-mean-square norm.
    LigerRmsNorm { x: Value, width: Shape, handling: Handling },
    /// Queries and keys rotated by Liger; two results.
    LigerRotary { q: Value, k: Value, cos: Value, sin: Value, copies: Copies },
    /// Liger's function of what the experts that were chosen make of tokens.
    LigerExperts { x: Value, scores: Value, ids: Value, stack: Stack },
    /// Liger's product of an activation and a value; `is_copied` where both are parts of one tensor.
    LigerProduct { x: Value, y: Value, is_copied: bool },
    /// Another loss, of logits or of the hidden state behind the last norm.
    Loss { x: Value, loss: Loss },
    /// A function of up to three values, element by element.
    Pointwise { x: Value, others: [Option<Value>; 2], function: Pointwise },
    /// A part of a tensor, `to` for each of `from` elements, divided by a number in place, as a view.
    ScaledPart { x: Value, from: Shape, to: Shape },
    /// A function of Megatron Core, of up to three values.
    Megatron { x: Value, others: [Option<Value>; 2], function: MegatronFunction },
}

/// A side of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleSide {
    /// What it is given.
    Input,
    /// What it puts out.
    Output,
}

/// How wide a head is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadWidths {
    /// Of queries and keys.
    pub keys: Shape,
    /// Of values.
    pub values: Shape,
}

/// How heads lie in memory, which decides what attention copies, and what becomes of scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadLayout {
    /// How wide heads are.
    pub widths: HeadWidths,
    /// Whether a head of keys stands for several of queries.
    pub is_grouped: bool,
    /// Whether the queries of a head lie one after another, and its keys, as the output of flash attention does then.
    pub is_by_head: bool,
    /// Whether the values of a head lie one after another.
    pub are_values_by_head: bool,
    /// Whether there is one head of keys.
    pub has_one_key_head: bool,
    /// Whether there is one head of queries.
    pub has_one_head: bool,
    /// Whether there are several sequences, so that heads of different sequences are not side by side.
    pub has_several_sequences: bool,
    /// Whether scores pass a soft cap.
    pub is_capped: bool,
    /// Whether the softmax is taken in fp32, whatever the type of the scores.
    pub has_wide_softmax: bool,
    /// Whether a softmax goes back to the type of the queries before weights are dropped.
    pub casts_softmax_back: bool,
    /// Whether weights pass a dropout.
    pub has_dropout: bool,
}

impl Operator {
    /// Whether it is a module of its own in classes like Llama's; an adapted layer is several.
    pub const fn is_module(&self) -> bool {
        matches!(
            self,
            Self::Embedding { .. }
                | Self::RotaryTable { .. }
                | Self::RmsNorm { .. }
                | Self::LigerRmsNorm { .. }
                | Self::Linear { .. }
                | Self::Silu { .. }
        )
    }

    /// Where its rule comes from.
    pub const fn source(&self) -> &'static str {
        match self {
            Self::Embedding { .. } | Self::TypeEmbedding { .. } => "PyTorch 2.15, EmbeddingBackwardKernel.cu",
            Self::EmbeddingPart { .. }
            | Self::Boundary { .. }
            | Self::GatherSequence { .. }
            | Self::ScatterSequence { .. } => "PyTorch 2.15, torch/distributed/tensor/placement_types.py",
            Self::CrossEntropyOfParts { .. } => "PyTorch 2.15, torch/distributed/tensor/parallel/loss.py",
            Self::PositionBuffer { .. } | Self::Gather { .. } | Self::FirstToken { .. } | Self::Return { .. } => {
                "transformers 5.23.0, modeling_bert.py BertModel.forward"
            }
            Self::PositionsOfIds { .. } => "transformers 5.23.0, modeling_roberta.py RobertaEmbeddings.forward",
            Self::PositionIds => "transformers 5.23.0, modeling_llama.py LlamaModel.forward",
            Self::Range | Self::Numbers { .. } => "PyTorch 2.15, RangeFactories.cu",
            Self::Expanded { .. } | Self::RepeatedForEach { .. } | Self::Contiguous { .. } => {
                "PyTorch 2.15, derivatives.yaml expand, repeat and clone"
            }
            Self::ShiftedRight { .. } => "transformers 5.23.0, modeling_bart.py shift_tokens_right",
            Self::Ones { .. } => "transformers 5.23.0, modeling_bart.py BartDecoder.forward",
            Self::RelativeBias { .. } | Self::EagerBiasedAttention { .. } | Self::Zeros { .. } => {
                "transformers 5.23.0, modeling_t5.py T5Attention.forward"
            }
            Self::BiasedSdpa { .. } => "transformers 5.23.0, sdpa_attention.py create_position_bias_mask",
            Self::IndexedRows { .. } => "PyTorch 2.15, derivatives.yaml index",
            Self::Placeholders { .. } | Self::ImageBlocks { .. } | Self::BlockwiseMask { .. } => {
                "transformers 5.23.0, modeling_gemma3.py Gemma3Model.forward"
            }
            Self::Scattered { .. } => "PyTorch 2.15, derivatives.yaml masked_scatter",
            Self::Averaged { .. } => "PyTorch 2.15, derivatives.yaml avg_pool2d",
            Self::Convolution { .. } => "PyTorch 2.15, ConvolutionMM2d.cu slow_conv2d_forward",
            Self::LayerNormOfColumns { .. } => "PyTorch 2.15, derivatives.yaml native_layer_norm",
            Self::AddBuffer { .. } => "transformers 5.23.0, modeling_bart.py BartForConditionalGeneration.forward",
            Self::RotaryTable { .. } => "transformers 5.23.0, modeling_llama.py LlamaRotaryEmbedding.forward",
            Self::SinusoidRows { .. } | Self::ScoresInFp32 { .. } => {
                "transformers 5.23.0, modeling_gptj.py GPTJAttention.forward"
            }
            Self::RotaryPairs { .. } => "transformers 5.23.0, modeling_gptj.py apply_rotary_pos_emb",
            Self::CausalMask { .. } | Self::BooleanMask { .. } | Self::PaddingMask { .. } => {
                "transformers 5.23.0, masking_utils.py create_causal_mask"
            }
            Self::CenteredNorm { .. } => "transformers 5.23.0, modeling_cohere.py CohereLayerNorm.forward",
            Self::RmsNormOfColumns { .. } => "transformers 5.23.0, modeling_gemma3.py Gemma3RMSNorm.forward",
            Self::RmsNorm { .. } => "transformers 5.23.0, modeling_llama.py LlamaRMSNorm.forward",
            Self::Alibi | Self::BiasedAttention { .. } => "transformers 5.23.0, modeling_mpt.py",
            Self::LayerNorm { .. } | Self::UnbiasedLayerNorm { .. } => {
                "PyTorch 2.15, derivatives.yaml native_layer_norm"
            }
            Self::PlainLayerNorm { .. } => "transformers 5.23.0, modeling_olmo.py OlmoLayerNorm.forward",
            Self::Linear { .. } => "PyTorch 2.15, derivatives.yaml mm and addmm",
            Self::Adapted { .. } => "peft 0.21.2, tuners/lora/layer.py Linear.forward",
            Self::Split { .. } => "PyTorch 2.15, derivatives.yaml split",
            Self::Pick { .. } => "PyTorch 2.15, derivatives.yaml index",
            Self::Slice { .. } => "PyTorch 2.15, derivatives.yaml slice",
            Self::Heads { .. } => "PyTorch 2.15, derivatives.yaml transpose and view",
            Self::Rotary { .. } => "transformers 5.23.0, modeling_llama.py apply_rotary_pos_emb",
            Self::ScoresInPlace { .. } => "transformers 5.23.0, modeling_falcon.py FalconAttention.forward",
            Self::Sdpa { .. } | Self::MaskedSdpa { .. } => "PyTorch 2.15, flash_api.cpp and mem_eff_attention",
            Self::UnpaddedAttention { .. } => "transformers 5.23.0, modeling_flash_attention_utils.py _upad_input",
            Self::DocumentAttention { .. } => "PyTorch 2.15, torch/nn/attention/varlen.py and flash_api.cpp",
            Self::SplitAt { .. } => "PyTorch 2.15, derivatives.yaml split_with_sizes",
            Self::Concat { .. } => "PyTorch 2.15, derivatives.yaml cat",
            Self::ComplexTable { .. } => {
                "transformers 5.23.0, modeling_deepseek_v2.py DeepseekV2RotaryEmbedding.forward"
            }
            Self::ComplexRotary { .. } => "transformers 5.23.0, modeling_deepseek_v2.py apply_rotary_emb",
            Self::ComplexBuffer { .. } | Self::ComplexRotaryInTurn { .. } => {
                "torchtitan 0.2.2, models/llama3/model/model.py apply_rotary_emb"
            }
            Self::FusedRmsNorm { .. } => "PyTorch 2.15, derivatives.yaml _fused_rms_norm",
            Self::SharedKeys { .. } => "transformers 5.23.0, modeling_deepseek_v2.py DeepseekV2Attention.expand_kv",
            Self::Router { .. } => "transformers 5.23.0, modeling_mixtral.py MixtralTopKRouter.forward",
            Self::Experts { .. } => "transformers 5.23.0, integrations/moe.py grouped_mm_experts_forward",
            Self::EagerAttention { .. } => "transformers 5.23.0, modeling_llama.py eager_attention_forward",
            Self::Silu { .. } => "PyTorch 2.15, derivatives.yaml silu",
            Self::Gelu { .. } => "PyTorch 2.15, derivatives.yaml gelu",
            Self::Relu { .. } | Self::Tanh { .. } => "PyTorch 2.15, derivatives.yaml relu and tanh",
            Self::GeluTanh { .. } => "transformers 5.23.0, activations.py NewGELUActivation",
            Self::Multiply { .. } => "PyTorch 2.15, derivatives.yaml mul",
            Self::Add { .. } | Self::AddInPlace { .. } | Self::AddToEach { .. } => "PyTorch 2.15, derivatives.yaml add",
            Self::CountedPositions | Self::OffsetPositions { .. } => {
                "transformers 5.23.0, modeling_opt.py OPTDecoder.forward"
            }
            Self::Dropout { .. } => "PyTorch 2.15, derivatives.yaml native_dropout",
            Self::Reshape { .. } => "PyTorch 2.15, derivatives.yaml view",
            Self::Scale { .. } => "PyTorch 2.15, derivatives.yaml mul",
            Self::ScaleByBuffer { .. } => "transformers 5.23.0, modeling_gemma.py GemmaTextScaledWordEmbedding.forward",
            Self::To { .. } | Self::CastLike { .. } | Self::AsBooleans { .. } => {
                "PyTorch 2.15, derivatives.yaml _to_copy"
            }
            Self::ScaleInPlace { .. } => "PyTorch 2.15, derivatives.yaml mul",
            Self::Brought { .. } => "transformers 5.23.0, trainer.py evaluation_loop",
            Self::NextTokenLoss { .. } | Self::CrossEntropy { .. } => {
                "transformers 5.23.0, loss_utils.py ForCausalLMLoss"
            }
            Self::LastTokens { .. } => "transformers 5.23.0, modeling_llama.py LlamaForCausalLM.forward",
            Self::ScoreOfLast { .. } => {
                "transformers 5.23.0, modeling_layers.py GenericForSequenceClassification.forward"
            }
            Self::GatherColumns { .. } | Self::Row { .. } | Self::Joined { .. } => {
                "trl 1.10.0, trainer/utils.py selective_log_softmax"
            }
            Self::JensenShannon { .. } => "trl 1.10.0, experimental/gkd/gkd_trainer.py generalized_jsd_loss",
            Self::LogSumExp { .. } => "PyTorch 2.15, ReduceOps.cpp logsumexp",
            Self::LogSoftmax { .. } => "PyTorch 2.15, derivatives.yaml _log_softmax",
            Self::Difference { .. } | Self::PlusNumber { .. } => "PyTorch 2.15, derivatives.yaml sub and add",
            Self::FillMasked { .. } => "PyTorch 2.15, derivatives.yaml index_put_",
            Self::TiledLoss { .. } => "trl 1.16.0, kernels/chunked_logprob.py",
            Self::LigerRmsNorm { .. } => "Liger 0.8.5, ops/rms_norm.py",
            Self::LigerExperts { .. } => "Liger 0.8.5, ops/fused_moe.py",
            Self::LigerRotary { .. } => "Liger 0.8.5, ops/rope.py",
            Self::LigerProduct { .. } => "Liger 0.8.5, ops/swiglu.py and ops/geglu.py",
            Self::Loss { loss, .. } => loss.source(),
            Self::Pointwise { function, .. } => function.source(),
            Self::ScaledPart { .. } => "PyTorch 2.15, torch/csrc/autograd/functions/tensor.cpp CopySlices",
            Self::Megatron { function, .. } => function.source(),
            Self::Sum { .. } | Self::Total { .. } => "PyTorch 2.15, derivatives.yaml sum",
            Self::LogSigmoid { .. } => "PyTorch 2.15, derivatives.yaml log_sigmoid_forward",
            Self::Appended { .. } => "transformers 5.23.0, cache_utils.py DynamicLayer.update",
            Self::LastToken { .. } => "transformers 5.23.0, modeling_llama.py LlamaForCausalLM.forward",
            Self::AllOfFlags { .. } => "PyTorch 2.15, Reduce.cuh",
            Self::Multinomial { .. } => "PyTorch 2.15, Distributions.cpp multinomial_out",
            Self::Computed { .. } | Self::SumOfMaskedRows { .. } | Self::TotalOfFlags { .. } | Self::Part { .. } => {
                "trl 1.10.0, the metrics of its trainers"
            }
        }
    }

    /// The values that it is given, in order.
    pub fn inputs(&self) -> Vec<Value> {
        match *self {
            Self::PositionIds
            | Self::Range
            | Self::Numbers { .. }
            | Self::CountedPositions
            | Self::BooleanMask { .. }
            | Self::PositionBuffer { .. }
            | Self::ComplexBuffer { .. }
            | Self::Brought { .. }
            | Self::Zeros { .. }
            | Self::Alibi => vec![],
            Self::Embedding { ids: x, .. }
            | Self::EmbeddingPart { ids: x, .. }
            | Self::Boundary { x, .. }
            | Self::GatherSequence { x, .. }
            | Self::ScatterSequence { x, .. }
            | Self::RotaryTable { positions: x, .. }
            | Self::ComplexTable { positions: x, .. }
            | Self::SplitAt { x, .. }
            | Self::Router { x, .. }
            | Self::CausalMask { embedded: x, .. }
            | Self::RmsNorm { x, .. }
            | Self::RmsNormOfColumns { x, .. }
            | Self::LigerRmsNorm { x, .. }
            | Self::CenteredNorm { x, .. }
            | Self::FusedRmsNorm { x, .. }
            | Self::LayerNorm { x, .. }
            | Self::UnbiasedLayerNorm { x, .. }
            | Self::PlainLayerNorm { x, .. }
            | Self::AsBooleans { mask: x }
            | Self::Linear { x, .. }
            | Self::Adapted { x, .. }
            | Self::Split { x, .. }
            | Self::Heads { x, .. }
            | Self::Slice { x, .. }
            | Self::ScaledPart { x, .. }
            | Self::Pick { x, .. }
            | Self::TypeEmbedding { types: x, .. }
            | Self::PositionsOfIds { ids: x, .. }
            | Self::Gather { x }
            | Self::Return { x }
            | Self::FirstToken { x }
            | Self::Silu { x }
            | Self::Gelu { x }
            | Self::Relu { x }
            | Self::GeluTanh { x }
            | Self::Scale { x }
            | Self::ScaleByBuffer { x, .. }
            | Self::Dropout { x }
            | Self::Reshape { x }
            | Self::OffsetPositions { x }
            | Self::Tanh { x }
            | Self::Expanded { x }
            | Self::RepeatedForEach { x }
            | Self::ShiftedRight { labels: x }
            | Self::Ones { like: x, .. }
            | Self::AddBuffer { x, .. }
            | Self::Contiguous { x, .. }
            | Self::RelativeBias { like: x, .. }
            | Self::IndexedRows { ids: x, .. }
            | Self::Placeholders { ids: x }
            | Self::ImageBlocks { types: x, .. }
            | Self::BlockwiseMask { ids: x, .. }
            | Self::Averaged { x, .. }
            | Self::Convolution { x, .. }
            | Self::LayerNormOfColumns { x, .. }
            | Self::LastTokens { x, .. }
            | Self::Row { x, .. }
            | Self::LogSumExp { x, .. }
            | Self::LogSoftmax { x }
            | Self::Joined { list: x, .. }
            | Self::Sum { x, .. }
            | Self::LogSigmoid { x }
            | Self::PlusNumber { x }
            | Self::Total { x, .. }
            | Self::TotalOfFlags { x }
            | Self::LastToken { x }
            | Self::AllOfFlags { x }
            | Self::ScaleInPlace { x }
            | Self::Multinomial { x, .. }
            | Self::Part { x, .. }
            | Self::Loss { x, .. }
            | Self::TiledLoss { x, .. }
            | Self::To { x, .. } => vec![x],
            Self::JensenShannon { student, teacher, labels, items, .. } => vec![student, teacher, labels, items],
            Self::Pointwise { x, others, .. } | Self::Megatron { x, others, .. } => {
                std::iter::once(x).chain(others.into_iter().flatten()).collect()
            }
            Self::Computed { x, y, .. } => [Some(x), y].into_iter().flatten().collect(),
            Self::SinusoidRows { positions: x, like: y, .. }
            | Self::RotaryPairs { x, rows: y }
            | Self::PaddingMask { mask: x, embedded: y, .. }
            | Self::Multiply { x, y }
            | Self::LigerProduct { x, y, .. }
            | Self::Concat { x, y, .. }
            | Self::SharedKeys { x, shared: y, .. }
            | Self::AddInPlace { x, y }
            | Self::Add { x, y }
            | Self::AddToEach { x, y, .. }
            | Self::CastLike { x, like: y }
            | Self::ScoreOfLast { scores: x, ids: y }
            | Self::GatherColumns { x, ids: y, .. }
            | Self::Difference { x, y }
            | Self::FillMasked { x, mask: y }
            | Self::SumOfMaskedRows { x, mask: y, .. }
            | Self::CrossEntropyOfParts { logits: x, labels: y, .. }
            | Self::NextTokenLoss { logits: x, items: y }
            | Self::CrossEntropy { logits: x, labels: y, .. } => vec![x, y],
            Self::Rotary { x: q, cos: k, sin: v }
            | Self::Sdpa { q, k, v, .. }
            | Self::DocumentAttention { q, k, v, .. }
            | Self::UnpaddedAttention { q, k, v, .. } => vec![q, k, v],
            Self::LigerRotary { q, k, cos, sin, .. } => vec![q, k, cos, sin],
            Self::EagerAttention { q, k, v, mask, .. } => [q, k, v].into_iter().chain(mask).collect(),
            Self::ScoresInFp32 { q, k, v, mask, .. } | Self::MaskedSdpa { q, k, v, mask, .. } => vec![q, k, v, mask],
            Self::Appended { cache, x, keys, .. } => vec![cache, x, keys],
            Self::Scattered { x, mask, features } => vec![x, mask, features],
            Self::ComplexRotary { q, k, table, .. } | Self::ComplexRotaryInTurn { q, k, table } => vec![q, k, table],
            Self::Experts { x, scores, ids, .. } | Self::LigerExperts { x, scores, ids, .. } => vec![x, scores, ids],
            Self::ScoresInPlace { q, k, v, mask, hidden, .. } => vec![q, k, v, mask, hidden],
            Self::BiasedAttention { q, k, v, mask, bias, .. } => vec![q, k, v, mask, bias],
            Self::EagerBiasedAttention { q, k, v, bias, mask, .. } => [q, k, v, bias].into_iter().chain(mask).collect(),
            Self::BiasedSdpa { q, k, v, bias, .. } => vec![q, k, v, bias],
        }
    }

    /// How many values it puts out.
    pub const fn results(&self) -> u16 {
        match *self {
            Self::SinusoidRows { .. } | Self::BiasedAttention { .. } | Self::Router { .. } => 3,
            Self::RotaryTable { .. }
            | Self::SplitAt { .. }
            | Self::ComplexRotary { .. }
            | Self::ComplexRotaryInTurn { .. }
            | Self::LigerRotary { .. }
            | Self::TiledLoss { .. }
            | Self::EagerAttention { .. }
            | Self::EagerBiasedAttention { .. }
            | Self::ScoresInPlace { .. }
            | Self::ScoresInFp32 { .. }
            | Self::CountedPositions => 2,
            Self::Split { parts, .. } => parts,
            Self::Megatron { function, .. } => function.results(),
            _ => 1,
        }
    }

    /// Adds its kernels in the order in which PyTorch runs them; what it puts out.
    pub fn lower(&self, to: &mut Lowering<'_>) -> Vec<Slot> {
        let result = match *self {
            Self::Embedding { ids, rows, width } => embedding::embedding(to, to.slot(ids), rows, width),
            Self::EmbeddingPart { ids, rows, width, parts } => {
                vocabulary_parallel::embedding(to, to.slot(ids), rows, width, parts)
            }
            Self::Boundary { x, .. } => to.slot(x),
            Self::GatherSequence { x, parts, has_several } => {
                sequence_parallel::gathered(to, to.slot(x), parts, has_several)
            }
            Self::ScatterSequence { x, parts, has_several } => {
                sequence_parallel::scattered(to, to.slot(x), parts, has_several)
            }
            Self::CrossEntropyOfParts { logits, labels, columns } => {
                vocabulary_parallel::cross_entropy(to, to.slot(logits), to.slot(labels), columns)
            }
            Self::TypeEmbedding { types, rows, width, is_expanded } => {
                embedding::of_types(to, to.slot(types), rows, width, is_expanded)
            }
            Self::PositionIds => embedding::position_ids(to),
            Self::Range => embedding::range(to),
            Self::Numbers { count } => to.constant(Part::Ids, Form::new(DType::Long, count), &[]),
            Self::Expanded { x } => embedding::expanded(to, to.slot(x), false),
            Self::RepeatedForEach { x } => embedding::expanded(to, to.slot(x), true),
            Self::ShiftedRight { labels } => embedding::shifted_right(to, to.slot(labels)),
            Self::Ones { like, inputs } => {
                let form = to.form(to.slot(like));
                to.constant(Part::Mask, Form::new(DType::Single, form.shape / inputs), &[])
            }
            Self::AddBuffer { x, dtype } => loss::add_buffer(to, to.slot(x), dtype),
            Self::Contiguous { x, is_strided } => attention::contiguous(to, to.slot(x), is_strided),
            Self::CountedPositions => return embedding::counted_positions(to).into(),
            Self::RotaryTable { positions, width, dtype } => {
                return rotary::table(to, to.slot(positions), width, dtype).into();
            }
            Self::SinusoidRows { positions, like, rows, width } => {
                let dtype = to.form(to.slot(like)).dtype;
                return rotary::sinusoid_rows(to, to.slot(positions), dtype, rows, width).into();
            }
            Self::RotaryPairs { x, rows } => rotary::in_pairs(to, to.slot(x), to.slot(rows)),
            Self::BooleanMask { has_window } => attention::boolean_mask(to, has_window),
            Self::PaddingMask { mask, embedded, is_added } => {
                collated::mask_of_padding(to, to.slot(mask), to.slot(embedded), is_added)
            }
            Self::CausalMask { embedded, has_window } => attention::causal_mask(to, to.slot(embedded), has_window),
            Self::CenteredNorm { x, width } => norm::centered(to, to.slot(x), width),
            Self::RmsNorm { x, width, weighting } => norm::rms_norm(to, to.slot(x), width, weighting),
            Self::RmsNormOfColumns { x, width, from_columns } => {
                norm::rms_norm_of_columns(to, to.slot(x), width, from_columns)
            }
            Self::PositionBuffer { count } => embedding::position_buffer(to, count),
            Self::PositionsOfIds { ids, is_one_sequence } => {
                embedding::positions_of_ids(to, to.slot(ids), is_one_sequence)
            }
            Self::OffsetPositions { x } | Self::Gather { x } => embedding::renumbered(to, to.slot(x)),
            Self::LayerNorm { x, width } => norm::layer_norm(to, to.slot(x), width, true),
            Self::UnbiasedLayerNorm { x, width } => norm::layer_norm(to, to.slot(x), width, false),
            Self::PlainLayerNorm { x, width } => norm::plain_layer_norm(to, to.slot(x), width),
            Self::Alibi => scores::alibi(to),
            Self::AsBooleans { mask } => loss::to(to, Part::Table, to.slot(mask), DType::Byte),
            Self::Linear { x, from, to: into, product } => linear::linear(to, to.slot(x), from, into, product),
            Self::Adapted { x, from, to: into, product, adapter } => {
                linear::adapted(to, to.slot(x), from, into, product, adapter)
            }
            Self::Split { x, parts } => return attention::split(to, to.slot(x), parts),
            Self::Slice { x, from, to: part } => attention::slice(to, to.slot(x), from, part),
            Self::Pick { x, from, to: part } => attention::pick(to, to.slot(x), from, part),
            Self::Heads { x, copies_back } => attention::heads(to, to.slot(x), copies_back),
            Self::Rotary { x, cos, sin } => rotary::rotated(to, to.slot(x), to.slot(cos), to.slot(sin)),
            Self::SplitAt { x, whole, first, second } => {
                return latent::split_at(to, to.slot(x), whole, [first, second]).into();
            }
            Self::Concat { x, y, first, whole } => latent::concat(to, [x, y].map(|x| to.slot(x)), first, whole),
            Self::ComplexBuffer { width } => rotary::complex_buffer(to, width),
            Self::ComplexRotaryInTurn { q, k, table } => {
                return rotary::complex_in_turn(to, [q, k].map(|x| to.slot(x)), to.slot(table)).into();
            }
            Self::FusedRmsNorm { x, width } => norm::fused_rms_norm(to, to.slot(x), width),
            Self::ComplexTable { positions, width } => rotary::complex_table(to, to.slot(positions), width),
            Self::ComplexRotary { q, k, table, copies_back } => {
                return rotary::complex(to, [q, k].map(|x| to.slot(x)), to.slot(table), copies_back).into();
            }
            Self::SharedKeys { x, shared, heads, first, whole } => {
                latent::shared_keys(to, to.slot(x), to.slot(shared), heads, first, whole)
            }
            Self::Router { x, stack, routing, adapter } => {
                return experts::router(to, to.slot(x), stack, routing, adapter).into();
            }
            Self::Experts { x, scores, ids, stack, adapter } => {
                experts::experts(to, to.slot(x), to.slot(scores), to.slot(ids), stack, adapter)
            }
            Self::Sdpa { q, k, v, layout } => attention::sdpa(to, [q, k, v].map(|x| to.slot(x)), layout),
            Self::EagerAttention { q, k, v, mask, layout } => {
                let mask = mask.map(|mask| to.slot(mask));
                let [out, weights, _] = attention::eager(to, [q, k, v].map(|x| to.slot(x)), mask, None, layout);
                return vec![out, weights];
            }
            Self::BiasedAttention { q, k, v, mask, bias, layout } => {
                let [q, k, v, mask, bias] = [q, k, v, mask, bias].map(|x| to.slot(x));
                return attention::eager(to, [q, k, v], Some(mask), Some(bias), layout).into();
            }
            Self::EagerBiasedAttention { q, k, v, bias, mask, layout } => {
                let (bias, mask) = ((to.slot(bias), ScoreBias::Learned), mask.map(|mask| to.slot(mask)));
                let [out, weights, _] =
                    attention::eager_with(to, [q, k, v].map(|x| to.slot(x)), mask, Some(bias), layout);
                return vec![out, weights];
            }
            Self::BiasedSdpa { q, k, v, bias, layout, biasing, pads_mask } => {
                attention::biased_sdpa(to, [q, k, v].map(|x| to.slot(x)), to.slot(bias), layout, biasing, pads_mask)
            }
            Self::RelativeBias { rows, is_bidirectional, .. } => relative::bias(to, rows, is_bidirectional),
            Self::Placeholders { ids } => images::placeholders(to, to.slot(ids)),
            Self::Scattered { x, mask, features } => {
                images::scattered(to, to.slot(x), to.slot(mask), to.slot(features))
            }
            Self::ImageBlocks { types, is_one_sequence } => images::blocks(to, to.slot(types), is_one_sequence),
            Self::BlockwiseMask { ids, added, has_window } => {
                images::blockwise_mask(to, to.slot(ids), added, has_window)
            }
            Self::Averaged { x, places, is_strided } => images::averaged(to, to.slot(x), places, is_strided),
            Self::Zeros { form } => to.constant(Part::Table, form, &[]),
            Self::IndexedRows { ids, rows, width } => embedding::indexed(to, to.slot(ids), rows, width),
            Self::Convolution { x, from, to: into, positions, order } => {
                convolution::unfolded(to, to.slot(x), [from, into], positions, order)
            }
            Self::LayerNormOfColumns { x, width, from_columns } => {
                norm::layer_norm_of_columns(to, to.slot(x), width, from_columns)
            }
            Self::MaskedSdpa { q, k, v, mask, layout, masking } => {
                attention::masked_sdpa(to, [q, k, v].map(|x| to.slot(x)), to.slot(mask), layout, masking)
            }
            Self::DocumentAttention { q, k, v, layout } => {
                collated::documents(to, [q, k, v].map(|x| to.slot(x)), layout)
            }
            Self::UnpaddedAttention { q, k, v, layout } => {
                collated::unpadded(to, [q, k, v].map(|x| to.slot(x)), layout)
            }
            Self::ScoresInPlace { q, k, v, mask, hidden, layout } => {
                let dtype = to.form(to.slot(hidden)).dtype;
                return scores::in_place(to, [q, k, v].map(|x| to.slot(x)), to.slot(mask), layout, dtype).into();
            }
            Self::ScoresInFp32 { q, k, v, mask, layout } => {
                return scores::in_fp32(to, [q, k, v].map(|x| to.slot(x)), to.slot(mask), layout).into();
            }
            Self::Silu { x } | Self::Gelu { x } => activation::of_input(to, to.slot(x)),
            Self::Relu { x } => activation::of_output(to, Part::Result, to.slot(x)),
            Self::Return { x } => to.view(to.slot(x), to.form(to.slot(x))).d(0, NOTHING, &[Effect::Pass]).put(),
            Self::FirstToken { x } => attention::first_token(to, to.slot(x)),
            Self::GeluTanh { x } => activation::gelu_tanh(to, to.slot(x)),
            Self::Multiply { x, y } => activation::multiply(to, to.slot(x), to.slot(y)),
            Self::Add { x, y } => to.add(Part::Result, to.slot(x), to.slot(y)),
            Self::AddInPlace { x, y } => to.add_in_place(to.slot(x), to.slot(y)),
            Self::AddToEach { x, y, is_broadcast } => embedding::add_to_each(to, to.slot(x), to.slot(y), is_broadcast),
            Self::ScaleByBuffer { x, is_cast } => embedding::scaled(to, to.slot(x), is_cast),
            Self::Scale { x } => to.scale(Part::Result, to.slot(x)),
            Self::Dropout { x } => linear::dropout(to, to.slot(x)),
            Self::Reshape { x } => attention::heads(to, to.slot(x), false),
            Self::Tanh { x } => activation::of_output(to, Part::Tanh, to.slot(x)),
            Self::To { x, dtype } => {
                let part = if dtype == DType::Single { Part::InFp32 } else { Part::ResultCast };
                loss::to(to, part, to.slot(x), dtype)
            }
            Self::CastLike { x, like } => loss::to(to, Part::ResultCast, to.slot(x), to.form(to.slot(like)).dtype),
            Self::LastTokens { x, is_copied } => log_probs::last_tokens(to, to.slot(x), is_copied),
            Self::ScoreOfLast { scores, ids } => log_probs::score_of_last(to, to.slot(scores), to.slot(ids)),
            Self::GatherColumns { x, ids, width } => log_probs::gather_columns(to, to.slot(x), to.slot(ids), width),
            Self::Row { x, rows } => log_probs::row(to, to.slot(x), rows),
            Self::LogSumExp { x, width } => log_probs::log_sum_exp(to, to.slot(x), width),
            Self::LogSoftmax { x } => log_probs::log_softmax(to, to.slot(x)),
            Self::Joined { list, shape } => log_probs::joined(to, to.slot(list), shape),
            Self::Difference { x, y } => log_probs::difference(to, to.slot(x), to.slot(y)),
            Self::FillMasked { x, mask } => log_probs::fill_masked(to, to.slot(x), to.slot(mask)),
            Self::Sum { x, inputs } => log_probs::sum(to, to.slot(x), inputs),
            Self::LogSigmoid { x } => activation::of_input(to, to.slot(x)),
            Self::PlusNumber { x } => log_probs::plus_number(to, to.slot(x)),
            Self::Computed { x, y, form } => log_probs::computed(to, to.slot(x), y.map(|y| to.slot(y)), form),
            Self::Total { x, dtype, inputs } => log_probs::total(to, to.slot(x), dtype, inputs),
            Self::JensenShannon { student, teacher, labels, items, rows, width } => {
                let given = [student, teacher, labels, items].map(|x| to.slot(x));
                divergence::jensen_shannon(to, given, rows, width)
            }
            Self::TotalOfFlags { x } => log_probs::total_of_flags(to, to.slot(x)),
            Self::Part { x, form } => to.view(to.slot(x), form).put(),
            Self::Appended { cache, x, keys, shape } => {
                sampling::appended(to, [cache, x, keys].map(|x| to.slot(x)), shape)
            }
            Self::LastToken { x } => sampling::last_token(to, to.slot(x)),
            Self::AllOfFlags { x } => sampling::all_of_flags(to, to.slot(x)),
            Self::Multinomial { x, width } => sampling::multinomial(to, to.slot(x), width),
            Self::SumOfMaskedRows { x, mask, rows, width } => {
                log_probs::sum_of_masked_rows(to, to.slot(x), to.slot(mask), rows, width)
            }
            Self::LigerRmsNorm { x, width, handling } => liger::rms_norm(to, to.slot(x), width, handling),
            Self::LigerRotary { q, k, cos, sin, copies } => {
                return liger::rotary(to, [q, k].map(|x| to.slot(x)), [cos, sin].map(|x| to.slot(x)), copies).into();
            }
            Self::TiledLoss { x, tiles } => return tiled::loss(to, to.slot(x), tiles).into(),
            Self::LigerExperts { x, scores, ids, stack } => {
                liger::experts(to, to.slot(x), to.slot(scores), to.slot(ids), stack)
            }
            Self::LigerProduct { x, y, is_copied } => liger::product(to, [x, y].map(|x| to.slot(x)), is_copied),
            Self::Loss { x, loss } => loss.lower(to, to.slot(x)),
            Self::Megatron { function, .. } => {
                let given: Vec<_> = self.inputs().into_iter().map(|x| to.slot(x)).collect();
                return function.lower(to, &given);
            }
            Self::NextTokenLoss { logits, items } => {
                let sum = loss::of_next_tokens(to, to.slot(logits));
                loss::quotient(to, sum, to.slot(items))
            }
            Self::Pointwise { function, .. } => {
                let given: Vec<_> = self.inputs().into_iter().map(|x| to.slot(x)).collect();
                function.lower(to, &given)
            }
            Self::ScaledPart { x, from, to: part } => pointwise::scaled_part(to, to.slot(x), from, part),
            Self::ScaleInPlace { x } => loss::scaled_in_place(to, to.slot(x)),
            Self::Brought { form } => to.constant(Part::Ids, form, &[]),
            Self::CrossEntropy { logits, is_shifted: true, .. } => loss::of_next_tokens(to, to.slot(logits)),
            Self::CrossEntropy { logits, labels, .. } => loss::cross_entropy(to, to.slot(logits), to.slot(labels)),
        };
        vec![result]
    }
}
