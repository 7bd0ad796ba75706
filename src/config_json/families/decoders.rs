//! Models that predict the next token, with one feed-forward block a layer.

use super::Kept::{Bytes, Nothing, Unsaid};
use super::{Difference, Facts, Family, GPT, GPT2, HEAD_BIAS, LLAMA, NORM_BIASES, QK_NORM_BIASES, SINKS, family};

/// GPT-J has no biases in attention, and one in its head.
const NO_ATTENTION_BIASES: Difference =
    ("the biases of attention", |f| -f.layers() * (f.queries() + 2.0 * f.keys() + f.hidden()), Nothing);

/// Gemma 4: the layers without a window have heads of another width, and perhaps no projection of
/// values but that of keys.
const WIDE_HEADS: Difference = (
    "the wider heads of layers without a window",
    |f| {
        let full = gemma_full_layers(f).iter().filter(|is| **is).count() as f64;
        full * (gemma_attention(f, true) - gemma_attention(f, false))
    },
    Unsaid,
);
/// The last layers take keys and values from an earlier layer.
const SHARED_KEYS: Difference = (
    "the keys and values that the last layers have from earlier ones",
    |f| {
        let last = gemma_full_layers(f).into_iter().rev().take(f.number("num_kv_shared_layers", 0.0) as usize);
        -last.map(|is_full| gemma_keys(f, is_full)).sum::<f64>()
    },
    Unsaid,
);
const DOUBLE_WIDTH: Difference = (
    "the doubled feed-forward width of these layers",
    |f| {
        let layers = f.number("num_kv_shared_layers", 0.0) * f.switch("use_double_wide_mlp", false);
        layers.min(f.layers()) * 3.0 * f.hidden() * f.feed_forward()
    },
    Unsaid,
);
/// An embedding for each layer, as in Gemma 3n.
const LAYER_INPUTS: Difference = (
    "the embeddings of each layer and their projections",
    |f| {
        // Gemma 4 Unified has no such field.
        let width = f.number("hidden_size_per_layer_input", 0.0);
        let table = f.number("vocab_size_per_layer_input", 262_144.0) * f.layers() * width;
        let blocks = f.layers() * (2.0 * f.hidden() * width + f.hidden());
        if width > 0.0 { table + blocks + f.layers() * width * f.hidden() + width } else { 0.0 }
    },
    Unsaid,
);
const BESIDE_EXPERTS: Difference =
    ("the scales and norms beside the experts", |f| f.expert_layers() * (4.0 * f.hidden() + f.experts()), Unsaid);

fn gemma_full_layers(f: &Facts) -> Vec<bool> {
    let layers = f.layers() as u32;
    f.kinds("full_attention", |layer| (layer + 1).is_multiple_of(6) || layer + 1 == layers)
}

/// Key/value heads and the width of a head.
fn gemma_heads(f: &Facts, is_full: bool) -> (f64, f64) {
    if !is_full {
        return (f.kv_heads(), f.head_dim());
    }
    let inside = |key| f.number_inside("per_layer_config", key);
    let fewer = f.number("num_global_key_value_heads", f.kv_heads());
    let heads = if f.is_on("attention_k_eq_v", false) { fewer } else { f.kv_heads() };
    let width = f.number("global_head_dim", 512.0);
    (inside("num_key_value_heads").unwrap_or(heads), inside("head_dim").unwrap_or(width))
}

/// The projections of keys and values, and the norm of keys.
fn gemma_keys(f: &Facts, is_full: bool) -> f64 {
    let (heads, width) = gemma_heads(f, is_full);
    let projections = if is_full && f.is_on("attention_k_eq_v", false) { 1.0 } else { 2.0 };
    projections * (f.hidden() + f.switch("attention_bias", false)) * heads * width + width
}

fn gemma_attention(f: &Facts, is_full: bool) -> f64 {
    let (_, width) = gemma_heads(f, is_full);
    let biases = f.switch("attention_bias", false) * f.heads() * width;
    2.0 * f.hidden() * f.heads() * width + biases + width + gemma_keys(f, is_full)
}

pub(super) static ROWS: &[Family] = &[
    family("llama internlm3 iquestcoder granite granite_docling granite4_vision", "Llama", LLAMA, "", &[]),
    family("mistral", "Mistral", LLAMA, "kv=8", &[]),
    // The names of Mistral's and Meta's own code, in params.json.
    family("mistral-params", "Mistral, by its params.json", LLAMA, "moe mla parts own-names", &[]),
    family("meta-params", "Llama, by its params.json", LLAMA, "multiple own-names", &[]),
    family("ministral ministral3", "Ministral", LLAMA, "kv=8 head_dim=128", &[]),
    family("cwm", "CWM", LLAMA, "kv=8 head_dim=128", &[]),
    family("emu3", "Emu 3", LLAMA, "kv=8", &[]),
    family("seed_oss", "Seed-OSS", LLAMA, "bias=qkv no-o dropout=on kv=8 head_dim=128", &[]),
    family("ernie4_5 paddleocr_vl", "ERNIE 4.5", LLAMA, "tied=on switched head_dim=128", &[]),
    family(
        "helium",
        "Helium",
        LLAMA,
        "norm=rmsnorm-fp32 no-o head_dim=128",
        &[(
            "an output projection as wide as the block",
            |f| f.layers() * f.hidden() * (f.hidden() - f.queries()),
            Unsaid,
        )],
    ),
    family("qwen2 qwen2_vl qwen2_5_vl qwen2_5_omni", "Qwen 2", LLAMA, "bias=qkv no-o kv=32", &[]),
    family("qwen3 qwen3_vl", "Qwen 3", LLAMA, "qk_norm=head kv=32 head_dim=128", &[]),
    family("hunyuan_v1_dense hunyuan_vl", "Hunyuan", LLAMA, "qk_norm=head", &[]),
    family("gemma", "Gemma", LLAMA, "norm=rmsnorm-fp32 tied=on kv=16 head_dim=256", &[]),
    family("gemma2", "Gemma 2", LLAMA, "norm=rmsnorm-fp32 tied=on norms=4 softcap=on kv=4 head_dim=256", &[]),
    family("vaultgemma", "VaultGemma", LLAMA, "norm=rmsnorm-fp32 tied=on softcap=on kv=4 head_dim=256", &[]),
    // The published files leave out what the library takes anyway, heads and vocabulary among it.
    family(
        "gemma3",
        "Gemma 3",
        LLAMA,
        "norm=rmsnorm-fp32 tied=on norms=4 qk_norm=head heads=8 vocab=262208 kv=4 head_dim=256",
        &[],
    ),
    family(
        "gemma4 gemma4_unified",
        "Gemma 4",
        LLAMA,
        "norm=rmsnorm-fp32 tied=on norms=4 qk_norm=head kv=4 head_dim=256 moe beside",
        &[WIDE_HEADS, SHARED_KEYS, DOUBLE_WIDTH, LAYER_INPUTS, BESIDE_EXPERTS],
    ),
    family("glm", "GLM", LLAMA, "bias=qkv position=rotary-part no-o kv=2 head_dim=128", &[]),
    family("glm4", "GLM-4", LLAMA, "bias=qkv position=rotary-part no-o norms=4 kv=2 head_dim=128", &[]),
    // The attention of this one never has a bias behind it, and no switch.
    family("glm4v", "GLM-4V", LLAMA, "bias=qkv no-o norms=4 kv=2", &[]),
    family("glm_ocr", "GLM-OCR", LLAMA, "norms=4 kv=2", &[]),
    family("exaone4", "EXAONE 4", LLAMA, "qk_norm=head kv=32", &[]),
    family("phi3 phi4_multimodal", "Phi 3", LLAMA, "qkv=packed-gate", &[]),
    family("olmo", "OLMo", LLAMA, "norm=plain", &[]),
    family("olmo2 olmo3", "OLMo 2", LLAMA, "norm=rmsnorm-fp32 qk_norm=full", &[]),
    family("smollm3", "SmolLM 3", LLAMA, "tied=on kv=4", &[]),
    family("stablelm", "StableLM", LLAMA, "norm=layernorm position=rotary-part kv=32 qk-full", &[]),
    family(
        "cohere cohere2 cohere_compass",
        "Cohere",
        LLAMA,
        "norm=layernorm-fp32 norms=1 parallel=on tied=on qk-full",
        &[],
    ),
    family("granite_swa", "Granite SWA", LLAMA, "tied=on", &[SINKS]),
    family("hyperclovax", "HyperCLOVA X", LLAMA, "norms=4", &[]),
    family(
        "bitnet",
        "BitNet",
        LLAMA,
        "",
        &[(
            "the norms inside the blocks",
            |f| f.layers() * (f.hidden() + f.feed_forward()),
            // In fp32 what the norm was given, in 16 bits what its weight is multiplied with; and beside what the kernel of
            // attention keeps of its output, that of the norm (`attn_sub_norm` and `ffn_sub_norm` in
            // models/bitnet/modeling_bitnet.py, transformers 5.23.0).
            Bytes(|f| f.layers() * (8.0 * f.hidden() + 6.0 * f.feed_forward())),
        )],
    ),
    family(
        "diffllama",
        "DiffLlama",
        LLAMA,
        "",
        &[("the lambdas of differential attention", |f| 4.0 * f.layers() * f.head_dim(), Nothing)],
    ),
    family(
        "mllama",
        "Llama 3.2 Vision",
        LLAMA,
        "kv=8",
        &[
            ("eight rows for images in the embedding", |f| 8.0 * f.hidden(), Nothing),
            (
                "the gates and norms of cross-attention",
                |f| f.list("cross_attention_layers").len() as f64 * (2.0 + 2.0 * f.head_dim()),
                Unsaid,
            ),
        ],
    ),
    family(
        "voxtral_realtime",
        "Voxtral Realtime",
        LLAMA,
        "kv=8 head_dim=128",
        // Two thin matrices, of rank 32 in the code of transformers.
        &[("the norms that depend on the delay", |f| f.layers() * 64.0 * f.hidden(), Unsaid)],
    ),
    // Without a gate.
    family("arcee", "Arcee", LLAMA, "mlp=gelu", &[]),
    family("nemotron", "Nemotron", LLAMA, "mlp=gelu norm=layernorm position=rotary-part", &[]),
    family("jais2", "Jais 2", LLAMA, "mlp=gelu norm=layernorm bias=all", &[]),
    family("nanochat", "nanochat", LLAMA, "mlp=gelu norm=plain", &[]),
    family(
        "apertus",
        "Apertus",
        LLAMA,
        "mlp=gelu qk_norm=head",
        &[(
            "the two parameters of each activation function, and what it keeps where the package xielu is not installed",
            |f| 2.0 * f.layers(),
            // `_xielu_python` (transformers/activations.py, 5.23.0) under autocast, beside the 4 bytes that are counted.
            Bytes(|f| 13.0 * f.layers() * f.feed_forward()),
        )],
    ),
    family("persimmon", "Persimmon", GPT, "qkv=packed position=rotary-part qk_norm=head qk-head", &[QK_NORM_BIASES]),
    family("starcoder2", "StarCoder 2", GPT, "tied=on grouped kv=2", &[]),
    family(
        "phi",
        "Phi",
        GPT,
        "mlp=gelu-tanh norms=1 parallel=on position=rotary-part grouped qk-head",
        &[HEAD_BIAS, QK_NORM_BIASES],
    ),
    family(
        "falcon",
        "Falcon",
        GPT,
        "tied=on bias=none norms=1 parallel=on qkv=packed softmax=scores 4h grouped multi",
        &[],
    ),
    family("gpt_neox", "GPT-NeoX", GPT, "parallel=on qkv=packed position=rotary-part", &[]),
    family(
        "gpt_neox_japanese",
        "GPT-NeoX Japanese",
        GPT,
        "tied=on bias=none qkv=packed dropout=on 4h",
        &[("the bias of attention in the last layer", |f| f.hidden(), Nothing)],
    ),
    family(
        "gptj",
        "GPT-J",
        GPT,
        "mlp=gelu-tanh norms=1 parallel=on position=rotary-part 4h",
        &[NO_ATTENTION_BIASES, HEAD_BIAS],
    ),
    family(
        "codegen",
        "CodeGen",
        GPT,
        "mlp=gelu-tanh norms=1 parallel=on position=rotary-part qkv=packed 4h",
        &[NO_ATTENTION_BIASES, HEAD_BIAS],
    ),
    family("mpt", "MPT", GPT, "tied=on bias=none position=none qkv=packed 4h parts", &[NORM_BIASES]),
    family(
        "bloom",
        "BLOOM",
        GPT,
        "tied=on position=none qkv=packed 4h",
        &[("the norm behind the embedding", |f| 2.0 * f.hidden(), Unsaid)],
    ),
    family(
        "opt",
        "OPT",
        GPT,
        "mlp=relu tied=on position=learned positions=2048 dropout=on offset:2",
        &[
            (
                "the weights of the norms",
                |f| (f.switch("layer_norm_elementwise_affine", true) - 1.0) * f.all_norms() * 2.0 * f.hidden(),
                Nothing,
            ),
            // The largest of the first models has its norms behind the blocks, and none at the end.
            (
                "the norm behind the last block",
                |f| {
                    let is_there = f.is_on("do_layer_norm_before", true) && !f.is_on("_remove_final_layer_norm", false);
                    if is_there { 0.0 } else { -2.0 * f.hidden() * f.switch("layer_norm_elementwise_affine", true) }
                },
                Nothing,
            ),
        ],
    ),
    family("biogpt", "BioGPT", GPT, "tied=on position=learned positions=1024 softmax=scores dropout=on offset:2", &[]),
    family("xglm", "XGLM", GPT, "tied=on position=none softmax=scores dropout=on", &[]),
    family("ctrl", "CTRL", GPT, "tied=on position=none softmax=scores dropout=on", &[HEAD_BIAS]),
    family("gpt2", "GPT-2", GPT2, "positions=1024", &[]),
    family("gpt_bigcode", "GPT BigCode", GPT2, "mlp=gelu softmax=fp32 multi positions=1024", &[]),
    family(
        "gpt_neo",
        "GPT-Neo",
        GPT2,
        "qkv=separate softmax=fp32 dropout=off positions=2048",
        &[("the biases of queries, keys and values", |f| -3.0 * f.layers() * f.hidden(), Nothing)],
    ),
    family(
        "openai-gpt",
        "GPT",
        GPT2,
        "positions=512",
        &[("the norm behind the last block", |f| -2.0 * f.hidden(), Nothing)],
    ),
];
