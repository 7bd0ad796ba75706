//! The families of models: how their blocks are built, what their files leave out, and where the
//! count differs from the model. One row a family, in a file for each kind.
//!
//! Counts and defaults are those of transformers 5.23; `tests/config_files/EVERY_TYPE.md` compares them
//! for every type that has a model there.

mod decoders;
mod encoders;
mod experts;
mod others;
mod stacks;
pub(super) mod vision;

pub(super) use others::{OTHERS, STATES};
pub(super) use stacks::{PAIRS, SIZES as STACK_SIZES};

use super::facts::Facts;
use Kept::{Nothing, Unsaid};

/// How the models of one family are built, and what their files leave out.
///
/// The blocks are in words of the link, which are short, checked by a test and read by code that is
/// there anyway. A number that a file may have is the default of the library for it. Words of our own
/// (`WORDS` says what they mean) name the inputs and rules of the family.
pub(super) struct Family {
    /// The values of `model_type`, without “_text” at their end.
    pub types: &'static str,
    /// What a reader calls it.
    pub name: &'static str,
    /// The block it is derived from.
    pub block: &'static str,
    /// What is different.
    pub own: &'static str,
    /// Where the model has other weights than the count.
    pub differences: &'static [Difference],
}

/// What the weights are, and how many: above zero those that the count leaves out, below zero those
/// that only the count has; and what the activations differ in.
pub(super) type Difference = (&'static str, fn(&Facts) -> f64, Kept);

/// What weights that are not counted keep from their forward pass.
#[derive(Clone, Copy)]
pub(super) enum Kept {
    /// Nothing, or nothing of a size worth a word: biases, tables.
    Nothing,
    /// So many bytes a token, of all layers where none is computed again, in 16 bits.
    Bytes(fn(&Facts) -> f64),
    /// What it is cannot be said.
    Unsaid,
}

/// The words of our own: what they mean. Some take a number behind a colon.
#[cfg(test)]
pub(super) const WORDS: &[(&str, &str)] = &[
    ("grouped", "there may be fields for key/value heads and the width of a head"),
    ("multi", "Falcon's switches for key/value heads and norms"),
    ("4h", "the feed-forward width is four times the hidden size where the file does not say"),
    ("moe", "there may be experts"),
    ("mla", "keys and values may be compressed"),
    ("shared", "experts that every token visits are counted in experts; as many where the file does not say"),
    ("one-shared", "there is one expert that every token visits, and no field for it"),
    ("dense", "so many of the first layers have no experts where the file does not say"),
    ("beside", "the feed-forward block of width f stays beside the experts"),
    ("shared-only", "without experts, the shared width is that of the feed-forward block"),
    ("types", "a table for token types lies beside that of positions; so many rows where the file does not say"),
    ("offset", "the position table has so many rows more, which no token has"),
    ("skips", "so many rows of the position table are for no token"),
    ("qk-head", "there may be a switch for norms on queries and keys, of each head"),
    ("qk-full", "there may be a switch for norms on queries and keys, of all heads together"),
    ("o-bias", "the output projection of attention has a bias where queries and keys have one"),
    ("no-o", "“attention_bias” leaves the output projection without a bias"),
    ("switched", "“use_bias” switches all biases"),
    ("switched-q", "“use_bias” switches the biases of queries, keys and values"),
    ("switched-table", "“position_biased_input” switches the position table"),
    ("untied", "the output head is never the embedding, whatever the file says"),
    ("parts", "sizes may lie in “attn_config” and “ffn_config”"),
    ("linear", "layers of linear attention are counted as attention, and the difference is named"),
    ("masked", "an encoder whose head for masked words has H² + 3H + V weights"),
    ("one-bias", "that head has one bias whether or not it is the embedding"),
    ("pooler", "the bare encoder has a pooler of H² + H weights"),
    ("encoder", "there is an encoder before the decoder, as wide and with as many heads"),
    ("multiple", "the feed-forward width follows from “ffn_dim_multiplier” and “multiple_of”"),
    ("own-names", "the file has the names of the model's own code, which have no word for shared embeddings but one"),
    ("sound", "two convolutions turn sound into the source of the encoder"),
];

/// The block of Llama, with fields for key/value heads and the width of a head.
pub(super) const LLAMA: &str =
    "mlp=gated norm=rmsnorm norms=2 qk_norm=off bias=none o-bias position=rotary tied=off grouped";
/// The block of GPT-2, with a feed-forward width of 4H where the file does not say.
const GPT2: &str = "mlp=gelu-tanh norm=layernorm norms=2 qk_norm=off bias=all position=learned qkv=packed softmax=scores tied=on dropout=on \
     4h";
/// The same without a position table, and with a width that the file has to give.
const GPT: &str = "mlp=gelu norm=layernorm norms=2 qk_norm=off bias=all position=rotary tied=off switched";
/// The block of BERT, with rows for token types.
const BERT: &str = "mlp=gelu norm=layernorm norms=2 qk_norm=off bias=all position=learned positions=512 softmax=scores tied=on \
     dropout=on types:2";

const fn family(
    types: &'static str,
    name: &'static str,
    block: &'static str,
    own: &'static str,
    differences: &'static [Difference],
) -> Family {
    Family { types, name, block, own, differences }
}

/// A gpt-oss attention sink is one weight a head.
const SINKS: Difference = ("the attention sinks", |f| f.layers() * f.heads(), Nothing);
/// Norms that have a weight and no bias, in families counted with LayerNorm.
const NORM_BIASES: Difference = ("the biases of the norms", |f| -f.all_norms() * f.hidden(), Nothing);
/// The norms on queries and keys have a bias beside each weight.
const QK_NORM_BIASES: Difference = (
    "the biases of the norms on queries and keys",
    |f| {
        if f.has_qk_norm() { 2.0 * f.layers() * f.head_dim() } else { 0.0 }
    },
    Nothing,
);
const HEAD_BIAS: Difference = ("the bias of the output head", |f| f.vocabulary(), Nothing);
/// One number for each expert, learned beside the router.
const ROUTER_BIASES: Difference = ("the biases of the routers", |f| f.expert_layers() * f.experts(), Nothing);
/// Qwen weighs the shared expert by a gate of its own.
const SHARED_GATES: Difference = ("the gates of the shared experts", |f| f.expert_layers() * f.hidden(), Unsaid);
/// A gate as wide as the queries, multiplied with the output of attention.
const ATTENTION_GATES: Difference =
    ("the output gates of attention", |f| f.layers() * f.hidden() * f.queries(), Unsaid);
/// DeepSeek-V3.2's lightning indexer (arXiv 2512.02556, section 2.1): queries from the compressed ones,
/// one key, its norm, and a weight for each head.
const INDEXER: Difference = (
    "the indexers of sparse attention",
    |f| {
        let width = f.number("index_head_dim", 128.0);
        let heads = f.number("index_n_heads", 64.0);
        f.layers() * (heads * width * f.query_rank() + f.hidden() * width + 2.0 * width + f.hidden() * heads)
    },
    Unsaid,
);
/// A word embedding that is narrower than the blocks, and the projection to their width.
const NARROW: Difference = (
    "what the embedding lacks in width, less its projection",
    |f| {
        let (h, e) = (f.hidden(), f.number("embedding_size", f.hidden()));
        if e == h { 0.0 } else { (f.vocabulary() + f.positions() + f.types() + 2.0) * (e - h) + e * h + h }
    },
    Unsaid,
);

/// The family of a `model_type`.
pub(super) fn of(model_type: &str) -> Option<&'static Family> {
    let bare = model_type.strip_suffix("_model").unwrap_or(model_type);
    let bare = bare.strip_suffix("_text").unwrap_or(bare);
    all().find(|family| has(family.types, bare) || has(family.types, model_type))
}

/// Every row.
pub(super) fn all() -> impl Iterator<Item = &'static Family> {
    [decoders::ROWS, experts::ROWS, encoders::ROWS, stacks::ROWS].into_iter().flatten()
}

/// Whether `word` is one of `words`.
pub(super) fn has(words: &str, word: &str) -> bool {
    words.split(' ').any(|other| other == word)
}

/// The number behind a word of our own, as in “shared:1”.
pub(super) fn number_behind(words: &str, word: &str) -> Option<u32> {
    words.split(' ').find_map(|other| other.strip_prefix(word)?.strip_prefix(':')?.parse().ok())
}
