//! Encoders of text. Their heads and poolers are named by the class in “architectures”.

use super::Kept::{Nothing, Unsaid};
use super::{BERT, Difference, Family, GPT, LLAMA, NARROW, family};

/// Some encoders have their pooler beside a head for masked words, too.
const POOLER: Difference = ("the pooler", |f| f.hidden() * f.hidden() + f.hidden(), Unsaid);
/// The rows of token types, in encoders without a position table.
const TYPES: Difference = ("the rows of token types", |f| f.number("type_vocab_size", 2.0) * f.hidden(), Nothing);
const EMBEDDING_NORM: Difference = ("the norm behind the embedding", |f| 2.0 * f.hidden(), Unsaid);

/// The head for masked words over a narrow embedding.
const NARROW_HEAD: Difference = (
    "the head for masked words",
    |f| {
        let (h, v, e) = (f.hidden(), f.vocabulary(), f.number("embedding_size", f.hidden()));
        let decoder = if f.is_tied() { v } else { v * (e - h) + 2.0 * v };
        if f.predicts_tokens() { h * e + 3.0 * e + decoder } else { 0.0 }
    },
    Unsaid,
);

pub(super) static ROWS: &[Family] = &[
    family("bert", "BERT", BERT, "masked pooler", &[]),
    // Positions of RoBERTa and its kin begin behind that of padding, which has the number 1
    // (`create_position_ids_from_input_ids` in transformers/models/roberta/modeling_roberta.py, 5.23.0).
    family("roberta xlm-roberta camembert data2vec-text ibert", "RoBERTa", BERT, "skips:2 masked pooler", &[]),
    family(
        "ernie megatron-bert",
        "ERNIE",
        BERT,
        "masked pooler",
        &[(
            "the rows of task types",
            |f| f.switch("use_task_id", false) * f.number("task_type_vocab_size", 3.0) * f.hidden(),
            Nothing,
        )],
    ),
    family("xlm-roberta-xl", "XLM-RoBERTa XL", BERT, "skips:2 masked pooler", &[]),
    family("roberta-prelayernorm", "RoBERTa PreLayerNorm", BERT, "skips:2 masked pooler", &[EMBEDDING_NORM]),
    family(
        "bert-generation",
        "BERT Generation",
        BERT,
        "types:0",
        &[("the biases of the output head", |f| f.vocabulary() * if f.is_tied() { 1.0 } else { 2.0 }, Nothing)],
    ),
    family("big_bird", "BigBird", BERT, "positions=4096 masked switched-q", &[POOLER]),
    family(
        "layoutlm",
        "LayoutLM",
        BERT,
        "masked",
        &[
            POOLER,
            (
                "the positions on the page",
                |f| 4.0 * f.number("max_2d_position_embeddings", 1_024.0) * f.hidden(),
                Unsaid,
            ),
        ],
    ),
    family(
        "mpnet",
        "MPNet",
        BERT,
        "types:0 skips:2 masked pooler",
        &[("the relative positions", |f| f.number("relative_attention_num_buckets", 32.0) * f.heads(), Unsaid)],
    ),
    family("mra yoso", "YOSO", BERT, "types:1 offset:2 masked", &[]),
    family(
        "nystromformer",
        "Nyströmformer",
        BERT,
        "offset:2 masked",
        &[("the convolutions over values", |f| f.layers() * f.heads() * f.number("conv_kernel_size", 65.0), Unsaid)],
    ),
    family(
        "longformer",
        "Longformer",
        BERT,
        "skips:2 masked pooler",
        &[(
            "the projections of global attention",
            |f| f.layers() * 3.0 * (f.hidden() * f.hidden() + f.hidden()),
            Unsaid,
        )],
    ),
    family(
        "tapas",
        "TAPAS",
        BERT,
        "types:0 masked pooler",
        &[("the rows of token types", |f| f.sum("type_vocab_sizes") * f.hidden(), Nothing)],
    ),
    family("distilbert", "DistilBERT", BERT, "types:0 masked one-bias", &[]),
    family(
        "electra",
        "ELECTRA",
        BERT,
        "",
        &[
            NARROW,
            NARROW_HEAD,
            (
                "a second bias that this head has not",
                |f| {
                    if f.predicts_tokens() && !f.is_tied() { -f.vocabulary() } else { 0.0 }
                },
                Nothing,
            ),
        ],
    ),
    family(
        "roformer",
        "RoFormer",
        BERT,
        "position=rotary positions=0",
        &[
            NARROW,
            (
                "the rows of token types",
                |f| f.number("type_vocab_size", 2.0) * f.number("embedding_size", f.hidden()),
                Nothing,
            ),
            ("the table of rotary positions", |f| f.number("max_position_embeddings", 1_536.0) * f.head_dim(), Nothing),
            NARROW_HEAD,
        ],
    ),
    family(
        "gte",
        "GTE",
        LLAMA,
        "norm=layernorm bias=qkv tied=on softmax=scores dropout=on masked one-bias",
        &[TYPES, ("the biases behind the feed-forward blocks", |f| f.layers() * f.hidden(), Nothing)],
    ),
    family("nomic_bert", "Nomic BERT", LLAMA, "norm=layernorm tied=on softmax=scores masked", &[TYPES]),
    family(
        "esm",
        "ESM",
        GPT,
        "tied=on position=learned positions=1026 skips:2 softmax=scores dropout=on masked one-bias pooler",
        &[("the head for contacts", |f| f.layers() * f.heads() + 1.0, Nothing)],
    ),
    family(
        "ultrabert",
        "UltraBERT",
        LLAMA,
        "",
        &[(
            "the head for masked words",
            |f| {
                if f.predicts_tokens() { 2.0 * f.hidden() * f.number("prediction_head_size", 768.0) } else { 0.0 }
            },
            Unsaid,
        )],
    ),
    family("jina_embeddings_v3", "Jina Embeddings 3", BERT, "position=rotary positions=0 masked pooler", &[TYPES]),
    family(
        "roc_bert",
        "RoCBert",
        BERT,
        "masked pooler",
        &[(
            "the embeddings of sounds and shapes",
            |f| {
                let sounds = f.switch("enable_pronunciation", true) * f.number("pronunciation_embed_dim", 768.0);
                let shapes = f.switch("enable_shape", true) * f.number("shape_embed_dim", 512.0);
                let rows = f.number("pronunciation_embed_dim", 768.0) * f.number("pronunciation_vocab_size", 910.0)
                    + f.number("shape_embed_dim", 512.0) * f.number("shape_vocab_size", 24_858.0);
                let joined = f.hidden() + sounds + shapes;
                rows + f.switch("concat_input", true) * (joined * f.hidden() + f.hidden())
            },
            Unsaid,
        )],
    ),
    family(
        "rembert",
        "RemBERT",
        BERT,
        "tied=off dropout=off untied pooler",
        &[
            (
                "what the embedding lacks in width, less its projection",
                |f| {
                    let (h, e) = (f.hidden(), f.number("input_embedding_size", 256.0));
                    (f.vocabulary() + f.positions() + f.types() + 2.0) * (e - h) + e * h + h
                },
                Unsaid,
            ),
            (
                "what the output head is wider",
                |f| {
                    let (h, e) = (f.hidden(), f.number("output_embedding_size", 1_664.0));
                    if f.is_bare() { 0.0 } else { f.vocabulary() * (e - h + 1.0) + h * e + 3.0 * e }
                },
                Unsaid,
            ),
        ],
    ),
    family(
        "xmod",
        "X-MOD",
        BERT,
        "skips:2 masked pooler",
        &[
            ("the norm behind the last block", |f| f.switch("pre_norm", false) * 2.0 * f.hidden(), Nothing),
            (
                "the adapters of languages",
                |f| {
                    let inner = (f.hidden() / f.number("adapter_reduction_factor", 2.0).max(1.0)).floor();
                    let norms = 2.0 * f.hidden() * f.switch("adapter_layer_norm", false);
                    let languages = f.list("languages").len() as f64;
                    f.layers() * (languages * (2.0 * f.hidden() * inner + inner + f.hidden()) + norms)
                },
                Unsaid,
            ),
        ],
    ),
    family(
        "deberta",
        "DeBERTa",
        BERT,
        "types:0 switched-table masked",
        &[("the biases of keys", |f| -f.layers() * f.hidden(), Nothing)],
    ),
    family(
        "deberta-v2",
        "DeBERTa-v2",
        BERT,
        "types:0 switched-table masked",
        &[(
            "the convolution beside the first layer",
            |f| {
                let (h, size) = (f.hidden(), f.number("conv_kernel_size", 0.0));
                if size > 0.0 { h * h * size / f.number("conv_groups", 1.0).max(1.0) + 3.0 * h } else { 0.0 }
            },
            Unsaid,
        )],
    ),
    family(
        "esmc",
        "ESM C",
        LLAMA,
        "norm=layernorm qk_norm=full softmax=scores untied",
        &[
            (
                "norms on queries and keys as wide as the block",
                |f| f.layers() * (2.0 * f.hidden() - f.queries() - f.keys()),
                Unsaid,
            ),
            ("the bias of the last norm", |f| -f.hidden(), Nothing),
            (
                "the head for masked words",
                |f| {
                    let h = f.hidden();
                    if f.predicts_tokens() { h * h + 3.0 * h + f.vocabulary() } else { 0.0 }
                },
                Unsaid,
            ),
        ],
    ),
    family(
        "xlm flaubert",
        "XLM",
        BERT,
        "types:0 4h",
        &[
            (
                "the embeddings of languages",
                |f| {
                    let languages = f.number("n_langs", 1.0);
                    if languages > 1.0 { f.switch("use_lang_emb", true) * languages * f.hidden() } else { 0.0 }
                },
                Nothing,
            ),
            ("the bias of the output head", |f| if f.predicts_tokens() { f.vocabulary() } else { 0.0 }, Nothing),
        ],
    ),
    family(
        "xlnet",
        "XLNet",
        BERT,
        "position=none positions=0 types:0 4h",
        &[
            ("the biases of attention", |f| -f.layers() * (3.0 * f.queries() + f.hidden()), Nothing),
            (
                "the relative positions and segments of attention",
                |f| f.layers() * (f.hidden() + 5.0) * f.queries(),
                Unsaid,
            ),
            ("the norm behind the last block, which the embedding of the mask replaces", |f| -f.hidden(), Nothing),
            ("the bias of the output head", |f| if f.predicts_tokens() { f.vocabulary() } else { 0.0 }, Nothing),
        ],
    ),
    family(
        "modernbert modernbert-decoder",
        "ModernBERT",
        LLAMA,
        "norm=layernorm tied=on",
        &[
            ("the biases of the norms", |f| (f.switch("norm_bias", false) - 1.0) * f.all_norms() * f.hidden(), Nothing),
            (
                "the head for masked words",
                |f| {
                    let h = f.hidden();
                    let norm = (1.0 + f.switch("norm_bias", false)) * h;
                    let biases =
                        f.switch("classifier_bias", false) * h + f.switch("decoder_bias", true) * f.vocabulary();
                    if f.predicts_tokens() { h * h + norm + biases } else { 0.0 }
                },
                Unsaid,
            ),
        ],
    ),
    family(
        "eurobert",
        "EuroBERT",
        LLAMA,
        "",
        &[("the bias of the output head", |f| f.switch("mlp_bias", false) * f.vocabulary(), Nothing)],
    ),
];
