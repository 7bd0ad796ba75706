//! Which field of a file holds what: names, as the library and the published files have them.

use crate::Field;

/// When an input is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Always,
    /// Where the family has the word “grouped”; elsewhere it follows from the others.
    Grouped,
    /// With a position table.
    Learned,
    /// With the word “mla”, and but for the first of them, when there is a rank.
    Latent,
    /// With the word “moe”, and but for the first of them, when there are experts.
    Experts,
    /// With the word “sound”.
    Sound,
}

/// The names of one size.
pub(super) type Keys = &'static [&'static str];

/// The sizes in the order in which they follow from one another: when they are looked for, the names
/// they have, and why it is what it is when the file does not say; without a reason it is 0 because
/// there is no such thing.
pub(super) static INPUTS: &[(Field, When, Keys, &str)] = &[
    (Field::Hidden, When::Always, &["hidden_size", "n_embd", "d_model", "n_embed", "emb_dim", "dim"], ""),
    (Field::Layers, When::Always, &["num_hidden_layers", "n_layer", "n_layers", "num_layers"], ""),
    (Field::Heads, When::Always, &["num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"], ""),
    (Field::Vocabulary, When::Always, &["vocab_size"], ""),
    (
        Field::FeedForward,
        When::Always,
        &["intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size", "hidden_dim", "dff", "dim_ff", "d_inner"],
        "four times the hidden size",
    ),
    (Field::KvRank, When::Latent, &["kv_lora_rank"], ""),
    (Field::QueryRank, When::Latent, &["q_lora_rank"], ""),
    (Field::RopeDim, When::Latent, &["qk_rope_head_dim"], "as if nothing were rotated"),
    (Field::HeadDim, When::Latent, &["qk_nope_head_dim"], "hidden size / heads"),
    (Field::HeadDim, When::Grouped, &["head_dim", "dim_head"], "hidden size / heads"),
    (
        Field::KvHeads,
        When::Grouped,
        &["num_key_value_heads", "num_kv_heads", "n_head_kv", "kv_n_heads", "n_kv_heads"],
        "one for each attention head",
    ),
    (Field::Positions, When::Learned, &["max_position_embeddings", "n_positions"], ""),
    (Field::Experts, When::Experts, &["num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"], ""),
    (
        Field::ActiveExperts,
        When::Experts,
        &[
            "num_experts_per_tok",
            "num_experts_per_token",
            "experts_per_token",
            "top_k_experts",
            "moe_topk",
            "moe_top_k",
            "moe_k",
        ],
        "the least there can be",
    ),
    (Field::ExpertWidth, When::Experts, EXPERT_WIDTH, ""),
    (
        Field::SharedWidth,
        When::Experts,
        &["shared_expert_intermediate_size", "shared_intermediate_size", "moe_shared_expert_intermediate_size"],
        "",
    ),
    (Field::DenseLayers, When::Experts, &["first_k_dense_replace", "num_dense_layers"], ""),
];

/// The width of an expert. A file without any other width has experts in every layer.
pub(super) const EXPERT_WIDTH: Keys = &["moe_intermediate_size", "expert_ffn_hidden_size", "expert_hidden_dim"];

/// The width of the layers without experts, where the usual field is that of an expert.
pub(super) const DENSE_WIDTH: Keys = &["intermediate_size_mlp", "dense_intermediate_size"];

/// How many experts every token visits.
pub(super) const SHARED: Keys = &["n_shared_experts", "num_shared_experts", "moe_num_shared_experts"];

/// How many times the hidden size the feed-forward width is.
pub(super) const RATIO: Keys = &["intermediate_multiple_size"];

/// The name of the activation function.
pub(super) const ACTIVATION: Keys =
    &["hidden_act", "hidden_activation", "activation_function", "activation", "ff_activation", "afn"];

/// How much is dropped inside the blocks: of attention, of what the halves put out, of all.
pub(super) const DROPOUTS: [&str; 12] = [
    "attention_dropout",
    "attention_probs_dropout_prob",
    "attn_dropout",
    "attn_pdrop",
    "dropout",
    "dropout_rate",
    "hidden_dropout",
    "hidden_dropout_prob",
    "mlp_dropout",
    "resid_dropout",
    "resid_pdrop",
    "residual_dropout",
];

/// Fields that are true or false: the word that a family must have for them to count, their name,
/// and what changes when they are on and when they are off.
pub(super) static SWITCHES: &[(&str, &str, [&str; 2])] = &[
    // GPT-NeoX has this switch too, and two norms either way.
    ("mlp=gated", "use_parallel_residual", ["norms=1 parallel=on", "norms=2 parallel=off"]),
    ("qkv=packed", "use_parallel_residual", ["parallel=on", "parallel=off"]),
    // HyperCLOVA X.
    ("norms=4", "use_post_norm", ["norms=4", "norms=2"]),
    // Falcon's second architecture gives each of its parallel parts a norm again.
    ("multi", "new_decoder_architecture", ["norms=2", ""]),
    ("multi", "parallel_attn", ["", "norms=2 parallel=off"]),
    ("position=rotary", "alibi", ["position=none", ""]),
    ("qk-head", "use_qk_norm", ["qk_norm=head", "qk_norm=off"]),
    ("qk-head", "qk_layernorm", ["qk_norm=head", "qk_norm=off"]),
    ("qk-full", "use_qk_norm", ["qk_norm=full", "qk_norm=off"]),
    ("qk-full", "qk_layernorm", ["qk_norm=full", "qk_norm=off"]),
];

/// Switches of biases: the word that a family must have for them to count, which may be empty, their
/// name, and which biases they switch: “q” of queries, keys and values, “o” of the output projection,
/// “m” of the feed-forward block.
pub(super) static BIASES: &[(&str, &str, &str)] = &[
    ("", "qkv_bias", "q"),
    ("", "use_qkv_bias", "q"),
    ("", "attention_bias", "qo"),
    ("", "attention_out_bias", "o"),
    ("", "mlp_bias", "m"),
    ("switched-q", "use_bias", "q"),
    ("switched", "use_bias", "qom"),
    ("switched", "enable_bias", "qom"),
    ("switched", "bias", "qom"),
];

/// Fields that hold the language model of one that also sees, hears or speaks.
pub(super) const NESTED: [&str; 4] = ["text_config", "language_config", "llm_config", "thinker_config"];

/// Objects with sizes of the model itself, in families with the word “parts”.
pub(super) const PARTS: [&str; 3] = ["attn_config", "ffn_config", "moe"];

/// Objects whose names end like those of parts but that describe none, or of which a remark speaks.
pub(super) const NO_PARTS: [&str; 4] =
    ["quantization_config", "compression_config", "generation_config", "per_layer_config"];

/// Parts of the names of fields that change the count of weights where they are not zero.
pub(super) const WEIGHTY: [&str; 8] =
    ["expert", "_rank", "_intermediate_size", "_per_layer", "mamba", "conv_", "ssm_", "linear_num"];

/// Parts of the names of switches that add matrices, norms or biases.
pub(super) const WEIGHTY_SWITCHES: [&str; 6] = ["bias", "norm", "gate", "shared", "expert", "cross"];

/// Parts of the names of numbers on which neither weights nor activations depend: tokens, positions that are computed,
/// scales and rates, lengths of what is generated, how a checkpoint was made.
pub(super) const HARMLESS: &[&str] = &[
    "_id",
    "alpha",
    "aux",
    "beta",
    "bos",
    "cap",
    "chunk",
    "clip",
    "coef",
    "drop",
    "eos",
    "ep_size",
    "eps",
    "factor",
    "freq",
    "gamma",
    "group",
    "init",
    "label",
    "length",
    "limit",
    "logit",
    "loss",
    "max_",
    "min_",
    "mscale",
    "multiplier",
    "n_ctx",
    "n_positions",
    "num_beam",
    "num_return",
    "pad",
    "penalty",
    "position",
    "pretraining_tp",
    "prob",
    "rate",
    "rope",
    "rotary",
    "scal",
    "seed",
    "seq",
    "std",
    "temperature",
    "theta",
    "token",
    "top_",
    "topk",
    "version",
    "window",
];

/// What the presence of a field says about the count.
pub(super) const REMARKS: [(&str, &str); 5] = [
    (
        "local_attention",
        "Under SDPA each layer of local attention keeps a mask of S² elements a sequence, which is not counted; with \
         FlashAttention, which reads sequences without padding, there is none.",
    ),
    ("add_cross_attention", "Its cross-attention to an encoder is not counted."),
    ("num_nextn_predict_layers", "The extra layers that predict further tokens are not counted."),
    ("quantization_config", "The published weights are quantized; how they are trained is for the recipe to say."),
    ("per_layer_config", "Some layers have sizes of their own, in “per_layer_config”, which are not read."),
];

/// The activation functions that the library spells out in operations; it has one kernel for each
/// other one.
pub(super) const SPELT_OUT: [&str; 4] = ["gelu_new", "gelu_fast", "gelu_python_tanh", "gelu_accurate"];
