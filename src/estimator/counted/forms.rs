//! The shapes that formulas of the ledger have. A line multiplies them by its coefficient in bytes, its layers
//! and, where the shape names it, its number of weights.
//!
//! Sizes of groups that are 1, such as T without tensor parallelism, stay in the tree and are left
//! out when it is written.

use crate::formula::terms::{
    A, B, COEFF, CP, D, DR, E, F, FE, FS, H, HEADS, K, LINE_LAYERS, R, RHO, S, SE, T, TS, V, W, X,
};
use crate::formula::{Expr, Symbol};

const SC: Expr = Expr::Symbol(Symbol::Completion);
const SP: Expr = Expr::Symbol(Symbol::Prompt);
const G: Expr = Expr::Symbol(Symbol::Generations);
const BS: Expr = Expr::Symbol(Symbol::Scored);
const BE: Expr = Expr::Symbol(Symbol::Evaluated);
const SV: Expr = Expr::Symbol(Symbol::Patches);
const SI: Expr = Expr::Symbol(Symbol::ImageTokens);
const HV: Expr = Expr::Symbol(Symbol::VisionHidden);
const FV: Expr = Expr::Symbol(Symbol::VisionFeedForward);

macro_rules! shapes {
    ($($(#[$meta:meta])* $name:ident = [$($factor:expr),+] / [$($divisor:expr),+];)+) => {
        $($(#[$meta])* pub(super) static $name: Expr =
            Expr::Quotient(&Expr::Product(&[$($factor),+]), &Expr::Product(&[$($divisor),+]));)+
    };
}

// Activations: bytes of an element, layers, tokens and a width, divided over the devices that share the tensor.
// The comment of each begins with the shape of the whole tensor in one layer.
shapes! {
    /// [b, S, H]: elements of the residual stream; only sequence parallelism divides them.
    RESIDUAL = [COEFF, LINE_LAYERS, B, S, H] / [CP, TS];
    /// [b, S, H]: elements of the residual stream, gathered over the tensor-parallel group.
    WHOLE_RESIDUAL = [COEFF, LINE_LAYERS, B, S, H] / [CP];
    /// [b, S, n, d]: elements of the queries or of the attention output.
    QUERIES = [COEFF, LINE_LAYERS, B, S, HEADS, D] / [CP, T];
    /// [b, S, n, d + rotary]: elements of queries or keys with a rotary part beside the head.
    ROTARY_QUERIES = [COEFF, LINE_LAYERS, B, S, HEADS, DR] / [CP, T];
    /// [b, S, k, d]: elements of the keys or of the values.
    KEYS = [COEFF, LINE_LAYERS, B, S, K, D] / [CP, T];
    /// [b, S, n + 2k, d]: elements of queries, keys and values in one tensor.
    PACKED = [COEFF, LINE_LAYERS, B, S, Expr::Sum(&[HEADS, Expr::Product(&[Expr::Number(2.0), K])]), D] / [CP, T];
    /// [b, S, r]: what the first matrices of adapters put out.
    RANKS = [COEFF, LINE_LAYERS, B, S, R] / [CP];
    /// [b·S·a, r]: the same beside the experts that tokens visit.
    EXPERT_RANKS = [COEFF, LINE_LAYERS, B, S, A, RHO, R] / [CP];
    /// [b, n, S]: one number per head and token.
    ROWS = [COEFF, LINE_LAYERS, B, S, HEADS] / [CP, T];
    /// [b, n, S, S]: one number per head and pair of tokens.
    SCORES = [COEFF, LINE_LAYERS, B, HEADS, Expr::Square(&S)] / [CP, T];
    /// [b, 1, S, S]: one number per pair of tokens, whatever the head.
    MASK = [COEFF, LINE_LAYERS, B, Expr::Square(&S)] / [CP];
    /// [b, S]: one number per token.
    INDICES = [COEFF, LINE_LAYERS, B, S] / [CP];
    /// [b, S, f]: elements inside a feed-forward block.
    INNER = [COEFF, LINE_LAYERS, B, S, F] / [CP, T];
    /// [b·S·a, f_e]: elements inside the experts that tokens visit.
    EXPERT_INNER = [COEFF, LINE_LAYERS, B, S, A, RHO, FE] / [CP, T];
    /// [b, S, f_s]: elements inside the shared experts.
    SHARED_INNER = [COEFF, LINE_LAYERS, B, S, FS] / [CP, T];
    /// [b·S·a, H]: inputs or outputs of the experts that tokens visit.
    EXPERT_RESIDUAL = [COEFF, LINE_LAYERS, B, S, A, RHO, H] / [CP, TS];
    /// [b, S, w]: a width that is the line's own number.
    OWN_WIDTH = [COEFF, LINE_LAYERS, B, S, W] / [CP, TS];
    /// [b, S, V]: elements of the logits.
    LOGITS = [COEFF, B, S, V] / [CP, T];
    /// [b, S / chunks, V]: elements of one chunk of the logits.
    LOGITS_CHUNK = [COEFF, B, S, V] / [CP, T, Expr::Symbol(Symbol::Chunks)];
    /// [b, S_c, V]: elements of the logits of completions.
    COMPLETION_LOGITS = [COEFF, B, SC, V] / [CP, T];
    /// [b, S_c, H]: elements of the residual stream of completions.
    COMPLETION_RESIDUAL = [COEFF, B, SC, H] / [CP, TS];
    /// [S_c, V]: logits of the completion of one sequence, whatever the micro-batch.
    ONE_COMPLETION = [COEFF, SC, V] / [CP, T];
    /// [S, V]: logits of one whole sequence, whatever the micro-batch.
    ONE_SEQUENCE = [COEFF, S, V] / [CP, T];
    /// [b_s, S, H]: elements of the residual stream of a scoring pass.
    SCORED_RESIDUAL = [COEFF, LINE_LAYERS, BS, S, H] / [CP, TS];
    /// [b_s, S, f]: elements inside its feed-forward blocks.
    SCORED_INNER = [COEFF, LINE_LAYERS, BS, S, F] / [CP, T];
    /// [b_s·S·a, f_e]: elements inside its experts.
    SCORED_EXPERT_INNER = [COEFF, LINE_LAYERS, BS, S, A, RHO, FE] / [CP, T];
    /// [b_s, n, S, S]: its scores of attention.
    SCORED_SCORES = [COEFF, LINE_LAYERS, BS, HEADS, Expr::Square(&S)] / [CP, T];
    /// [b_s, S, V]: its logits.
    SCORED_LOGITS = [COEFF, BS, S, V] / [CP, T];
    /// [b_s, S_c, V]: its logits of completions.
    SCORED_COMPLETION_LOGITS = [COEFF, BS, SC, V] / [CP, T];
    /// [b_s, S, k, d]: keys or values of its cache.
    SCORED_CACHE = [COEFF, LINE_LAYERS, BS, S, K, D] / [CP, T];
    /// [b_s, S, n, d]: the same with those of latent attention expanded.
    SCORED_WIDE_CACHE = [COEFF, LINE_LAYERS, BS, S, HEADS, DR] / [CP, T];
    /// [G, S, k, d]: keys or values of a cache.
    CACHE = [COEFF, LINE_LAYERS, G, S, K, D] / [CP, T];
    /// [b, S, k, d]: the same of the sequences of a step.
    STEP_CACHE = [COEFF, LINE_LAYERS, B, S, K, D] / [CP, T];
    /// [G, S, n, d]: keys or values of a cache that holds those of latent attention expanded.
    WIDE_CACHE = [COEFF, LINE_LAYERS, G, S, HEADS, DR] / [CP, T];
    /// [b, S, n, d]: the same of the sequences of a step.
    WIDE_STEP_CACHE = [COEFF, LINE_LAYERS, B, S, HEADS, DR] / [CP, T];
    /// [G, V]: logits of one token of each sequence.
    NEXT_LOGITS = [COEFF, G, V] / [T];
    /// [b, V]: the same of the sequences of a step.
    NEXT_STEP_LOGITS = [COEFF, B, V] / [T];
    /// [G, S_p, f]: elements inside a feed-forward block while prompts are read.
    PROMPT_INNER = [COEFF, LINE_LAYERS, G, SP, F] / [CP, T];
    /// [b, S_p, f]: the same of the sequences of a step.
    PROMPT_STEP_INNER = [COEFF, LINE_LAYERS, B, SP, F] / [CP, T];
    /// [G, S_p, H]: the residual stream while prompts are read.
    PROMPT_RESIDUAL = [COEFF, G, SP, H] / [CP, TS];
    /// [b, S_p, H]: the same of the sequences of a step.
    PROMPT_STEP_RESIDUAL = [COEFF, B, SP, H] / [CP, TS];
    /// [G, S_p, k, d]: keys or values of a cache of the prompts alone.
    PROMPT_CACHE = [COEFF, LINE_LAYERS, G, SP, K, D] / [CP, T];
    /// [b, S_p, k, d]: the same of the sequences of a step.
    PROMPT_STEP_CACHE = [COEFF, LINE_LAYERS, B, SP, K, D] / [CP, T];
    /// [G, S_p, n, d]: the same of latent attention, expanded.
    WIDE_PROMPT_CACHE = [COEFF, LINE_LAYERS, G, SP, HEADS, DR] / [CP, T];
    /// [b, S_p, n, d]: the same of the sequences of a step.
    WIDE_PROMPT_STEP_CACHE = [COEFF, LINE_LAYERS, B, SP, HEADS, DR] / [CP, T];
    /// [b_e, S, H]: elements of the residual stream of an evaluation.
    EVALUATED_RESIDUAL = [COEFF, LINE_LAYERS, BE, S, H] / [CP, TS];
    /// [b_e, S, f]: elements inside its feed-forward blocks.
    EVALUATED_INNER = [COEFF, LINE_LAYERS, BE, S, F] / [CP, T];
    /// [b_e·S·a, f_e]: elements inside its experts.
    EVALUATED_EXPERT_INNER = [COEFF, LINE_LAYERS, BE, S, A, RHO, FE] / [CP, T];
    /// [b_e, n, S, S]: its scores of attention.
    EVALUATED_SCORES = [COEFF, LINE_LAYERS, BE, HEADS, Expr::Square(&S)] / [CP, T];
    /// [b_e, S, V]: its logits.
    EVALUATED_LOGITS = [COEFF, BE, S, V] / [CP, T];
    /// [b_e, S]: its token ids and labels.
    EVALUATED_TOKENS = [COEFF, BE, S] / [CP];
    /// [n_e, S, V]: the logits of several of its batches.
    KEPT_LOGITS = [COEFF, Expr::Symbol(Symbol::KeptSequences), S, V] / [CP, T];
    /// [b_e, S, k, d]: keys or values of what it generates.
    EVALUATED_CACHE = [COEFF, LINE_LAYERS, BE, S, K, D] / [CP, T];
    /// [b_e, S, n, d]: the same with those of latent attention expanded.
    EVALUATED_WIDE_CACHE = [COEFF, LINE_LAYERS, BE, S, HEADS, DR] / [CP, T];
    /// [b_e, V]: logits of one token of each of its sequences.
    EVALUATED_NEXT_LOGITS = [COEFF, BE, V] / [T];
    /// [b_e, S_p, f]: elements inside a feed-forward block while it reads prompts.
    EVALUATED_PROMPT_INNER = [COEFF, LINE_LAYERS, BE, SP, F] / [CP, T];
    /// [b_e, S_p, H]: the residual stream while it reads prompts.
    EVALUATED_PROMPT_RESIDUAL = [COEFF, BE, SP, H] / [CP, TS];
    /// [b_e, S_p, k, d]: keys or values of its cache of the prompts alone.
    EVALUATED_PROMPT_CACHE = [COEFF, LINE_LAYERS, BE, SP, K, D] / [CP, T];
    /// [b_e, S_p, n, d]: the same of latent attention, expanded.
    EVALUATED_WIDE_PROMPT_CACHE = [COEFF, LINE_LAYERS, BE, SP, HEADS, DR] / [CP, T];
    /// [n, S, S]: a bias on scores, whatever the micro-batch.
    PAIRS = [COEFF, LINE_LAYERS, HEADS, Expr::Square(&S)] / [CP, T];
    /// [n, S_e, S_e]: the same in an encoder.
    SOURCE_PAIRS = [COEFF, LINE_LAYERS, HEADS, Expr::Square(&SE)] / [CP, T];
    /// [n, S, S_e]: the same of one stack that attends to another.
    CROSS_PAIRS = [COEFF, LINE_LAYERS, HEADS, S, SE] / [CP, T];
    /// [b, n, S, S_e]: one number per head and pair of tokens of two stacks.
    CROSS_SCORES = [COEFF, LINE_LAYERS, B, HEADS, S, SE] / [CP, T];
    /// [b, S_e, H]: elements of the residual stream of an encoder.
    SOURCE_RESIDUAL = [COEFF, LINE_LAYERS, B, SE, H] / [CP, TS];
    /// [b, S_e, n, d]: elements of its queries or of its attention output.
    SOURCE_QUERIES = [COEFF, LINE_LAYERS, B, SE, HEADS, D] / [CP, T];
    /// [b, S_e, k, d]: elements of its keys or values, or of those made of its output.
    SOURCE_KEYS = [COEFF, LINE_LAYERS, B, SE, K, D] / [CP, T];
    /// [b, S_e, n + 2k, d]: elements of its queries, keys and values in one tensor.
    SOURCE_PACKED = [COEFF, LINE_LAYERS, B, SE, Expr::Sum(&[HEADS, Expr::Product(&[Expr::Number(2.0), K])]), D] / [CP, T];
    /// [b, S_e, r]: what the first matrices of its adapters put out.
    SOURCE_RANKS = [COEFF, LINE_LAYERS, B, SE, R] / [CP];
    /// [b, n, S_e]: one number per head and token of an encoder.
    SOURCE_ROWS = [COEFF, LINE_LAYERS, B, SE, HEADS] / [CP, T];
    /// [b, n, S_e, S_e]: one number per head and pair of its tokens.
    SOURCE_SCORES = [COEFF, LINE_LAYERS, B, HEADS, Expr::Square(&SE)] / [CP, T];
    /// [b, S_e, f]: elements inside its feed-forward blocks.
    SOURCE_INNER = [COEFF, LINE_LAYERS, B, SE, F] / [CP, T];
    /// [b, S_e, w]: a width of its own that is the line's own number.
    SOURCE_WIDTH = [COEFF, LINE_LAYERS, B, SE, W] / [CP, TS];
    /// [b, S_e]: its token ids.
    SOURCE_TOKENS = [COEFF, B, SE] / [CP];
    /// [b, S]: token ids and labels.
    TOKENS = [COEFF, B, S] / [CP];
}

// A vision tower, and what images add to the language model, on data-parallel devices alone.
/// [b, S_v, H_v]: elements of the residual stream of a vision tower.
pub(super) static TOWER_RESIDUAL: Expr = Expr::Product(&[COEFF, LINE_LAYERS, B, SV, HV]);
/// [b, S_v, f_v]: elements inside its feed-forward blocks.
pub(super) static TOWER_INNER: Expr = Expr::Product(&[COEFF, LINE_LAYERS, B, SV, FV]);
/// [b, S_v, w]: a number of elements for each patch that is the line's own.
pub(super) static TOWER_OWN: Expr = Expr::Product(&[COEFF, LINE_LAYERS, B, SV, W]);
/// [b, S_i, w]: the same for each token of an image.
pub(super) static IMAGE_OWN: Expr = Expr::Product(&[COEFF, LINE_LAYERS, B, SI, W]);
/// [b, w]: elements of a sequence.
pub(super) static SEQUENCE_OWN: Expr = Expr::Product(&[COEFF, LINE_LAYERS, B, W]);
/// [b, S, S]: a mask of attention, as numbers.
pub(super) static MASKS: Expr = Expr::Product(&[COEFF, LINE_LAYERS, B, Expr::Square(&S)]);

/// A number of GiB in bytes.
pub(super) static GIBIBYTES: Expr = Expr::Product(&[COEFF, Expr::Number(1_073_741_824.0)]);
/// A number of MiB in bytes.
pub(super) static MEBIBYTES: Expr = Expr::Product(&[COEFF, Expr::Number(1_048_576.0)]);

/// Words of a tile of the logits: `_CHUNKED_LOGPROB_CHUNK_SIZE` in trl/trainer/utils.py, trl 1.16.0.
pub(super) const TILE_WORDS: f64 = 32_768.0;
/// [4,096, 32,768]: elements of a tile of the logits, whatever the micro-batch. Its tokens are `TOKEN_CHUNK_SIZE` in
/// trl/kernels/chunked_logprob.py, trl 1.16.0.
pub(super) static TILE: Expr = Expr::Product(&[COEFF, Expr::Number(4096.0), Expr::Number(TILE_WORDS)]);

/// A share of the memory of the device.
pub(super) static SHARE: Expr = Expr::Product(&[COEFF, Expr::Symbol(Symbol::Memory)]);

/// c bytes for each of w weights on this device, whoever else holds some.
pub(super) static OWN_WEIGHTS: Expr = Expr::Product(&[COEFF, W]);
/// The weights of one kind of matrix, divided as weights, as gradients and as optimizer state.
pub(super) struct Divided {
    /// As parameters.
    pub(super) parameters: Expr,
    /// As gradients.
    pub(super) gradients: Expr,
    /// As optimizer state.
    pub(super) optimizer: Expr,
}

/// What divides a kind of matrix: T and the ZeRO groups, or what of them there is.
macro_rules! divisors {
    ($($name:ident = [$($divisor:expr),*], $p:ident, $g:ident, $o:ident;)+) => {
        $(static $name: Divided = Divided {
            parameters: Expr::Product(&[$($divisor,)* Expr::Symbol(Symbol::$p)]),
            gradients: Expr::Product(&[$($divisor,)* Expr::Symbol(Symbol::$g)]),
            optimizer: Expr::Product(&[$($divisor,)* Expr::Symbol(Symbol::$o)]),
        };)+
    };
}

divisors! {
    SHARDS = [], ParameterShards, GradientShards, OptimizerShards;
    TENSOR_AND_SHARDS = [T], ParameterShards, GradientShards, OptimizerShards;
    EXPERT_SHARDS = [T, X], ExpertParameterShards, ExpertGradientShards, ExpertOptimizerShards;
}

macro_rules! divided {
    ($($(#[$meta:meta])* $name:ident = [$($factor:expr),+] / $over:ident;)+) => {
        $($(#[$meta])* pub(super) static $name: Divided = {
            static WHOLE: Expr = Expr::Product(&[COEFF, $($factor),+]);
            Divided {
                parameters: Expr::Quotient(&WHOLE, &$over.parameters),
                gradients: Expr::Quotient(&WHOLE, &$over.gradients),
                optimizer: Expr::Quotient(&WHOLE, &$over.optimizer),
            }
        };)+
    };
}

const ATTENTION_MATRICES: Expr =
    Expr::Sum(&[Expr::Product(&[Expr::Number(2.0), H, HEADS, D]), Expr::Product(&[Expr::Number(2.0), H, K, D])]);

divided! {
    /// An embedding or head.
    VOCABULARY = [V, H] / TENSOR_AND_SHARDS;
    /// A learned position table.
    POSITIONS = [Expr::Symbol(Symbol::Positions), H] / SHARDS;
    /// Queries, keys, values and output projection.
    ATTENTION = [LINE_LAYERS, ATTENTION_MATRICES] / TENSOR_AND_SHARDS;
    /// The compressed matrices of latent attention.
    LATENT = [LINE_LAYERS, W] / TENSOR_AND_SHARDS;
    /// Two feed-forward matrices.
    PLAIN_MLP = [LINE_LAYERS, Expr::Number(2.0), H, F] / TENSOR_AND_SHARDS;
    /// Three feed-forward matrices.
    GATED_MLP = [LINE_LAYERS, Expr::Number(3.0), H, F] / TENSOR_AND_SHARDS;
    /// Two matrices of every routed expert.
    PLAIN_EXPERTS = [LINE_LAYERS, E, Expr::Number(2.0), H, FE] / EXPERT_SHARDS;
    /// Three matrices of every routed expert.
    GATED_EXPERTS = [LINE_LAYERS, E, Expr::Number(3.0), H, FE] / EXPERT_SHARDS;
    /// Two matrices of the shared experts.
    PLAIN_SHARED = [LINE_LAYERS, Expr::Number(2.0), H, FS] / TENSOR_AND_SHARDS;
    /// Three matrices of the shared experts.
    GATED_SHARED = [LINE_LAYERS, Expr::Number(3.0), H, FS] / TENSOR_AND_SHARDS;
    /// What is counted rather than multiplied out: norms, biases, routers.
    SMALL = [W] / SHARDS;
    /// Adapters and anything else that tensor parallelism divides.
    COUNTED = [W] / TENSOR_AND_SHARDS;
}
