//! Encoders with a decoder: T5, BART, Whisper and their kin.

use super::super::inputs::{Keys, When};
use super::Kept::{Nothing, Unsaid};
use super::{Difference, Family, family};
use crate::Field;

/// The sizes of these files. Where several names are there the first one counts: T5 calls the layers of its encoder as
/// others call those of a decoder.
pub(in crate::config_json) static SIZES: &[(Field, When, Keys, &str)] = &[
    (Field::Hidden, When::Always, &["d_model", "hidden_size"], ""),
    (Field::Layers, When::Always, &["decoder_layers", "num_decoder_layers", "num_layers"], ""),
    (Field::EncoderLayers, When::Always, &["encoder_layers", "num_layers"], ""),
    (Field::Heads, When::Always, &["decoder_attention_heads", "num_heads", "num_attention_heads"], ""),
    (Field::Vocabulary, When::Always, &["vocab_size"], ""),
    (Field::FeedForward, When::Always, &["decoder_ffn_dim", "d_ff"], ""),
    (Field::HeadDim, When::Always, &["d_kv"], ""),
    (Field::KvHeads, When::Grouped, &[], ""),
    (
        Field::Positions,
        When::Learned,
        &["max_target_positions", "relative_attention_num_buckets", "max_position_embeddings"],
        "",
    ),
    (
        Field::EncoderPositions,
        When::Learned,
        &["max_source_positions", "relative_attention_num_buckets", "max_position_embeddings"],
        "",
    ),
    (Field::MelChannels, When::Sound, &["num_mel_bins"], ""),
];

/// Sizes of the two stacks that are one size here.
pub(in crate::config_json) const PAIRS: [[&str; 2]; 2] =
    [["encoder_attention_heads", "decoder_attention_heads"], ["encoder_ffn_dim", "decoder_ffn_dim"]];

/// The block of T5: no biases, positions as a bias on scores.
const T5: &str = "mlp=relu norm=rmsnorm norms=2 qk_norm=off bias=none position=relative tied=on softmax=scores \
                  dropout=on head_dim=64 positions=32 enc_positions=32 encoder";
/// The block of BART, with position tables of 1,024 rows and two before them.
const BART: &str = "mlp=gelu norm=layernorm norms=2 qk_norm=off bias=all position=learned tied=on softmax=scores \
                    dropout=on positions=1024 enc_positions=1024 encoder";

/// Sines in a table that is not trained, one for each stack.
const SINES: Difference =
    ("the tables of sines", |f| 2.0 * f.number("max_position_embeddings", 1_024.0) * f.hidden(), Nothing);
/// Both norms that are counted behind the two stacks.
const NO_LAST_NORMS: Difference = ("the norms behind the stacks", |f| -4.0 * f.hidden(), Nothing);

pub(super) static ROWS: &[Family] = &[
    family("t5", "T5", T5, "", &[]),
    family("mt5", "mT5", T5, "mlp=gated-gelu-tanh", &[]),
    family(
        "umt5",
        "umT5",
        T5,
        "mlp=gated-gelu-tanh",
        &[(
            "the relative positions of further layers",
            |f| (f.layers() + f.encoder_layers() - 2.0).max(0.0) * f.positions() * f.heads(),
            Nothing,
        )],
    ),
    family("bart mvp plbart", "BART", BART, "offset:2", &[]),
    family("mbart", "mBART", BART, "offset:2", &[("the norms behind the embeddings", |f| 4.0 * f.hidden(), Unsaid)]),
    family("pegasus", "PEGASUS", BART, "position=none positions=0 enc_positions=0", &[SINES]),
    family(
        "marian",
        "Marian",
        BART,
        "position=none positions=0 enc_positions=0",
        &[
            SINES,
            NO_LAST_NORMS,
            (
                "an embedding of the decoder’s own",
                |f| (1.0 - f.switch("share_encoder_decoder_embeddings", true)) * f.vocabulary() * f.hidden(),
                Nothing,
            ),
        ],
    ),
    family("m2m_100", "M2M-100", BART, "position=none positions=0 enc_positions=0", &[]),
    family(
        "whisper",
        "Whisper",
        BART,
        "dropout=off positions=448 enc_positions=1500 mels=80 sound",
        &[("the biases of keys", |f| -(2.0 * f.layers() + f.encoder_layers()) * f.hidden(), Nothing)],
    ),
];
