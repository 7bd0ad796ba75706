//! The shapes that formulas of the ledger have. A line adds its coefficient, its layers and, where
//! the shape names it, its number of weights.
//!
//! Sizes of groups that are 1, such as T without tensor parallelism, stay in the tree and are left
//! out when it is written.

use crate::formula::terms::{A, B, C, CP, D, DR, E, F, FE, FS, H, HEADS, K, KEPT, R, RHO, S, T, TS, V, W, X};
use crate::{Expr, Symbol};

macro_rules! shapes {
    ($($(#[$meta:meta])* $name:ident = [$($factor:expr),+] / [$($divisor:expr),+];)+) => {
        $($(#[$meta])* pub(super) static $name: Expr =
            Expr::Quotient(&Expr::Product(&[$($factor),+]), &Expr::Product(&[$($divisor),+]));)+
    };
}

// Activations: c bytes for each of ℓ layers, b·S/C tokens and a width.
shapes! {
    /// Elements of the residual stream; only sequence parallelism divides them.
    RESIDUAL = [C, KEPT, B, S, H] / [CP, TS];
    /// Elements of the residual stream, gathered over the tensor-parallel group.
    WHOLE_RESIDUAL = [C, KEPT, B, S, H] / [CP];
    /// Elements of the queries or of the attention output.
    QUERIES = [C, KEPT, B, S, HEADS, D] / [CP, T];
    /// Elements of queries or keys with a rotary part beside the head.
    ROTARY_QUERIES = [C, KEPT, B, S, HEADS, DR] / [CP, T];
    /// Elements of the keys or of the values.
    KEYS = [C, KEPT, B, S, K, D] / [CP, T];
    /// Elements of queries, keys and values in one tensor.
    PACKED = [C, KEPT, B, S, Expr::Sum(&[HEADS, Expr::Product(&[Expr::Number(2.0), K])]), D] / [CP, T];
    /// What the first matrices of adapters put out.
    RANKS = [C, KEPT, B, S, R] / [CP];
    /// One number per head and token.
    ROWS = [C, KEPT, B, S, HEADS] / [CP, T];
    /// One number per head and pair of tokens.
    SCORES = [C, KEPT, B, HEADS, Expr::Square(&S)] / [CP, T];
    /// Elements inside a feed-forward block.
    INNER = [C, KEPT, B, S, F] / [CP, T];
    /// Elements inside the experts that tokens visit.
    EXPERT_INNER = [C, KEPT, B, S, A, RHO, FE] / [CP, T];
    /// Elements inside the shared experts.
    SHARED_INNER = [C, KEPT, B, S, FS] / [CP, T];
    /// Inputs or outputs of the experts that tokens visit.
    EXPERT_RESIDUAL = [C, KEPT, B, S, A, RHO, H] / [CP, TS];
    /// A width that is the line's own number.
    OWN_WIDTH = [C, KEPT, B, S, W] / [CP, TS];
    /// Elements of the logits.
    LOGITS = [C, B, S, V] / [CP, T];
    /// Elements of one chunk of the logits.
    LOGITS_CHUNK = [C, B, S, V] / [CP, T, Expr::Symbol(Symbol::Chunks)];
    /// Token ids and labels.
    TOKENS = [C, B, S] / [CP];
}

/// A number of GiB in bytes.
pub(super) static GIBIBYTES: Expr = Expr::Product(&[C, Expr::Number(1_073_741_824.0)]);
/// A number of MiB in bytes.
pub(super) static MEBIBYTES: Expr = Expr::Product(&[C, Expr::Number(1_048_576.0)]);

/// c bytes for each of w weights on this device, whoever else holds some.
pub(super) static OWN_WEIGHTS: Expr = Expr::Product(&[C, W]);
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
            static WHOLE: Expr = Expr::Product(&[C, $($factor),+]);
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
    ATTENTION = [KEPT, ATTENTION_MATRICES] / TENSOR_AND_SHARDS;
    /// The compressed matrices of latent attention.
    LATENT = [KEPT, W] / TENSOR_AND_SHARDS;
    /// Two feed-forward matrices.
    PLAIN_MLP = [KEPT, Expr::Number(2.0), H, F] / TENSOR_AND_SHARDS;
    /// Three feed-forward matrices.
    GATED_MLP = [KEPT, Expr::Number(3.0), H, F] / TENSOR_AND_SHARDS;
    /// Two matrices of every routed expert.
    PLAIN_EXPERTS = [KEPT, E, Expr::Number(2.0), H, FE] / EXPERT_SHARDS;
    /// Three matrices of every routed expert.
    GATED_EXPERTS = [KEPT, E, Expr::Number(3.0), H, FE] / EXPERT_SHARDS;
    /// Two matrices of the shared experts.
    PLAIN_SHARED = [KEPT, Expr::Number(2.0), H, FS] / TENSOR_AND_SHARDS;
    /// Three matrices of the shared experts.
    GATED_SHARED = [KEPT, Expr::Number(3.0), H, FS] / TENSOR_AND_SHARDS;
    /// What is counted rather than multiplied out: norms, biases, routers.
    SMALL = [W] / SHARDS;
    /// Adapters and anything else that tensor parallelism divides.
    COUNTED = [W] / TENSOR_AND_SHARDS;
}
