//! Models with a mixture of experts, and those that compress keys and values as DeepSeek-V2 does.

use super::Kept::{Nothing, Unsaid};
use super::{
    ATTENTION_GATES, Difference, Facts, Family, INDEXER, LLAMA, NORM_BIASES, ROUTER_BIASES, SHARED_GATES, SINKS, family,
};

/// Layers of linear attention (Yang, Kautz and Hatamizadeh 2024, arXiv 2412.06464) take the place of
/// attention in most layers of Qwen 3 Next, and the queries of the rest have a gate.
const NO_ATTENTION: Difference = (
    "attention in the layers of linear attention",
    |f| {
        let biases = f.switch("attention_bias", false) * (f.queries() + 2.0 * f.keys() + f.hidden());
        -linear_layers(f) * (f.attention() + biases)
    },
    Unsaid,
);
const LINEAR_ATTENTION: Difference = (
    "the linear attention of these layers",
    |f| {
        let value_heads = f.number("linear_num_value_heads", 32.0);
        let value_dim = f.number("linear_value_head_dim", 128.0);
        let keys = f.number("linear_num_key_heads", 16.0) * f.number("linear_key_head_dim", 128.0);
        let values = value_heads * value_dim;
        let projections = f.hidden() * (2.0 * keys + 2.0 * values + 2.0 * value_heads) + values * f.hidden();
        let convolution = (2.0 * keys + values) * f.number("linear_conv_kernel_dim", 4.0);
        // A decay and a step for each head, and one norm that the heads share.
        linear_layers(f) * (projections + convolution + 2.0 * value_heads + value_dim)
    },
    Unsaid,
);
const QUERY_GATES: Difference = (
    "the output gates of attention",
    |f| (f.layers() - linear_layers(f)) * (f.hidden() + f.switch("attention_bias", false)) * f.queries(),
    Unsaid,
);
const HEAD_BIAS_SWITCHED: Difference =
    ("the bias of the output head", |f| f.switch("lm_head_bias", false) * f.vocabulary(), Nothing);

/// Every fourth layer has attention where the file does not list them.
fn linear_layers(f: &Facts) -> f64 {
    let interval = f.number("full_attention_interval", 4.0).max(1.0) as u32;
    count(&f.kinds("linear_attention", |layer| !(layer + 1).is_multiple_of(interval)))
}

/// The heads of all layers of Laguna together.
fn laguna_heads(f: &Facts) -> f64 {
    let listed = f.sum("num_attention_heads_per_layer");
    if listed > 0.0 { listed } else { f.layers() * f.heads() }
}

fn count(layers: &[bool]) -> f64 {
    layers.iter().filter(|is| **is).count() as f64
}

/// MiMo-V2-Flash has twice the keys and values in the layers with a sliding window, narrower values
/// in all of them, and sinks in those layers alone.
const MIMO_KEYS: Difference = (
    "the further keys of layers with a sliding window",
    |f| mimo_windows(f) * (f.hidden() + f.switch("attention_bias", false)) * f.keys(),
    Unsaid,
);
const MIMO_VALUES: Difference = (
    "values of another width than keys",
    |f| {
        let (d, v, windows) = (f.head_dim(), f.number("v_head_dim", f.head_dim()), mimo_windows(f));
        let values = (f.hidden() + f.switch("attention_bias", false)) * f.kv_heads();
        f.layers() * (values + f.hidden() * f.heads()) * (v - d) + windows * values * v
    },
    Unsaid,
);

fn mimo_windows(f: &Facts) -> f64 {
    count(&f.kinds("sliding_attention", |layer| layer > 0 && !(layer + 1).is_multiple_of(6)))
}

pub(super) static ROWS: &[Family] = &[
    family("mixtral", "Mixtral", LLAMA, "moe kv=8 experts=8 active=2", &[]),
    family(
        "qwen2_moe",
        "Qwen 2 MoE",
        LLAMA,
        "bias=qkv no-o kv=16 moe experts=60 active=4 expert_ffn=1408 shared_ffn=5632",
        &[SHARED_GATES],
    ),
    family(
        "qwen3_moe qwen3_vl_moe",
        "Qwen 3 MoE",
        LLAMA,
        "qk_norm=head kv=4 moe experts=128 active=8 expert_ffn=768",
        &[],
    ),
    family(
        "qwen3_next qwen3_5_moe",
        "Qwen 3 Next",
        LLAMA,
        "norm=rmsnorm-fp32 qk_norm=head kv=2 head_dim=256 linear moe experts=512 active=10 expert_ffn=512 shared_ffn=512",
        &[NO_ATTENTION, LINEAR_ATTENTION, QUERY_GATES, SHARED_GATES],
    ),
    family(
        "qwen3_5",
        "Qwen 3.5",
        LLAMA,
        "norm=rmsnorm-fp32 qk_norm=head kv=4 head_dim=256 linear",
        &[NO_ATTENTION, LINEAR_ATTENTION, QUERY_GATES],
    ),
    family("qwen3_omni_moe", "Qwen 3 Omni", LLAMA, "qk_norm=head kv=4 moe experts=128 active=8 expert_ffn=768", &[]),
    family("olmoe", "OLMoE", LLAMA, "qk_norm=full moe experts=64 active=8", &[]),
    family("flex_olmo", "FlexOlmo", LLAMA, "norm=rmsnorm-fp32 qk_norm=full moe experts=7 active=5", &[]),
    family("granitemoe granitemoeshared", "Granite MoE", LLAMA, "moe experts=8 active=2", &[]),
    family("granitemoe_swa", "Granite MoE SWA", LLAMA, "moe experts=8 active=2", &[SINKS]),
    // Its layers of state-space models are refused; there are published models without any.
    family("granitemoehybrid", "Granite 4", LLAMA, "moe shared-only", &[]),
    family("phimoe", "Phi 3.5 MoE", LLAMA, "norm=layernorm moe experts=16 active=2 kv=8", &[HEAD_BIAS_SWITCHED]),
    family("mellum", "Mellum", LLAMA, "qk_norm=head head_dim=128 moe experts=64 active=8 expert_ffn=896", &[]),
    family("minimax_m2", "MiniMax M2", LLAMA, "qk_norm=full kv=8 head_dim=128 moe experts=256 active=8", &[]),
    family(
        "minimax_m3_vl",
        "MiniMax M3",
        LLAMA,
        "norm=rmsnorm-fp32 qk_norm=head kv=4 head_dim=128 moe experts=128 active=4 shared_ffn=3072",
        &[],
    ),
    family(
        "glm4_moe",
        "GLM-4 MoE",
        LLAMA,
        "qk-head no-o kv=8 moe shared:1 experts=128 active=8 expert_ffn=1408 dense:1",
        &[],
    ),
    family(
        "glm4v_moe",
        "GLM-4V MoE",
        LLAMA,
        "bias=qkv no-o kv=8 moe shared:1 experts=128 active=8 expert_ffn=1408 dense:1",
        &[],
    ),
    family("dots1", "dots.llm1", LLAMA, "qk_norm=head kv=32 moe shared:0", &[]),
    family(
        "exaone_moe",
        "EXAONE MoE",
        LLAMA,
        "qk_norm=head moe shared:1 experts=64 active=8 expert_ffn=1024 dense:1",
        &[],
    ),
    family(
        "hy_v3",
        "Hunyuan 3",
        LLAMA,
        "qk_norm=head kv=8 head_dim=128 moe shared:1 experts=192 active=8 expert_ffn=1536 dense:1",
        &[],
    ),
    family("hunyuan_v1_moe", "Hunyuan MoE", LLAMA, "qk_norm=head moe one-shared", &[]),
    family(
        "solar_open",
        "Solar Open",
        LLAMA,
        "no-o kv=8 head_dim=128 moe shared:1 experts=128 active=8 expert_ffn=1280",
        &[],
    ),
    family(
        "kolibri1",
        "Kolibri 1",
        LLAMA,
        "norms=4 qk_norm=head kv=4 head_dim=128 moe experts=384 active=6 expert_ffn=512 shared_ffn=512",
        &[],
    ),
    family(
        "flint",
        "Flint",
        LLAMA,
        "norm=rmsnorm-fp32 qk_norm=head kv=4 head_dim=128 moe experts=256 active=6 expert_ffn=512 shared_ffn=1024 dense:2",
        &[SINKS],
    ),
    family(
        "laguna",
        "Laguna",
        LLAMA,
        "qk_norm=head kv=8 head_dim=128 moe experts=256 active=8 expert_ffn=512 shared_ffn=512 dense:1",
        &[
            (
                "the output gates of attention",
                |f| {
                    let is_by_head = f.is_on("gating", true) || f.names("gating", "per-head");
                    laguna_heads(f) * f.hidden() * if is_by_head { 1.0 } else { f.head_dim() }
                },
                Unsaid,
            ),
            (
                "layers with another number of heads",
                |f| {
                    let further = laguna_heads(f) - f.layers() * f.heads();
                    further * f.head_dim() * (2.0 * f.hidden() + f.switch("attention_bias", false))
                },
                Unsaid,
            ),
            ROUTER_BIASES,
        ],
    ),
    family(
        "afmoe",
        "AFMoE",
        LLAMA,
        "norm=rmsnorm-fp32 norms=4 qk_norm=head head_dim=128 moe shared:0 experts=64 active=6 expert_ffn=1408 dense:1",
        &[ATTENTION_GATES, ROUTER_BIASES],
    ),
    family(
        "beam",
        "Beam",
        LLAMA,
        "norm=rmsnorm-fp32 norms=4 qk_norm=head kv=8 head_dim=128 moe experts=256 active=8 expert_ffn=2560 dense:3",
        &[ATTENTION_GATES, ("the biases of these gates", |f| f.layers() * f.heads(), Nothing)],
    ),
    family(
        "ernie4_5_moe",
        "ERNIE 4.5 MoE",
        LLAMA,
        "tied=on switched kv=4 moe shared:2 experts=64 active=6 expert_ffn=1536",
        &[ROUTER_BIASES],
    ),
    family("aria", "Aria", LLAMA, "moe shared:2 experts=8 active=2", &[]),
    family(
        "cohere2_moe",
        "Cohere 2 MoE",
        LLAMA,
        "norm=layernorm-fp32 norms=1 tied=on moe shared:0 experts=8 active=2",
        &[],
    ),
    family(
        "mimo_v2_flash",
        "MiMo-V2-Flash",
        LLAMA,
        "softmax=scores no-o kv=4 head_dim=192 moe experts=256 active=8 expert_ffn=2048 dense:1",
        &[MIMO_KEYS, MIMO_VALUES, ("the attention sinks", |f| mimo_windows(f) * f.heads(), Nothing)],
    ),
    family("llama4", "Llama 4", LLAMA, "softmax=scores kv=8 head_dim=128 moe one-shared experts=16 active=1", &[]),
    family("dbrx", "DBRX", LLAMA, "norm=layernorm qkv=packed kv=1 moe experts=4 active=1 parts", &[NORM_BIASES]),
    family(
        "gpt_oss",
        "gpt-oss",
        LLAMA,
        "norm=rmsnorm-fp32 bias=qkv softmax=scores kv=8 head_dim=64 moe experts=128 active=4",
        &[
            (
                "the biases of the experts",
                |f| f.expert_layers() * f.experts() * (2.0 * f.expert_width() + f.hidden()),
                Nothing,
            ),
            ROUTER_BIASES,
            SINKS,
        ],
    ),
    family("deepseek", "DeepSeek MoE", LLAMA, "moe shared:0", &[]),
    family(
        "deepseek_v2",
        "DeepSeek-V2",
        LLAMA,
        "moe shared:2 mla kv_rank=512 q_rank=1536 head_dim=128 rope_dim=64 experts=64 expert_ffn=1407",
        &[],
    ),
    family(
        "deepseek_v3 kimi_k2 kimi_k25",
        "DeepSeek-V3",
        LLAMA,
        "moe shared:1 mla kv_rank=512 q_rank=1536 head_dim=128 rope_dim=64 experts=256 active=8 expert_ffn=2048 dense:3",
        &[],
    ),
    family(
        "deepseek_v32",
        "DeepSeek-V3.2",
        LLAMA,
        "moe shared:1 mla kv_rank=512 q_rank=1536 head_dim=128 rope_dim=64 experts=256 active=8 expert_ffn=2048 dense:3",
        &[INDEXER],
    ),
    family(
        "glm_moe_dsa",
        "GLM-5",
        LLAMA,
        "moe shared:1 mla kv_rank=512 q_rank=2048 head_dim=192 rope_dim=64 experts=256 active=8 expert_ffn=2048 dense:3",
        &[INDEXER],
    ),
    family(
        "glm4_moe_lite",
        "GLM-4 MoE Lite",
        LLAMA,
        "moe shared:1 mla kv_rank=512 q_rank=768 head_dim=192 rope_dim=64 experts=64 active=4 expert_ffn=1536 dense:1",
        &[],
    ),
    family(
        "axk1",
        "A.X K1",
        LLAMA,
        "moe shared:1 mla kv_rank=512 q_rank=1536 head_dim=128 rope_dim=64 experts=192 active=8 expert_ffn=2048 dense:1",
        &[("a third norm in the layers with experts", |f| f.expert_layers() * f.hidden(), Unsaid)],
    ),
    family(
        "mistral4",
        "Mistral 4",
        LLAMA,
        "moe shared:1 mla kv_rank=256 q_rank=1024 head_dim=64 rope_dim=64 experts=128 active=4 expert_ffn=2048",
        &[],
    ),
    family("minicpm3", "MiniCPM 3", LLAMA, "tied=on mla kv_rank=256 q_rank=768 head_dim=64 rope_dim=32", &[]),
    family("youtu", "Youtu", LLAMA, "tied=on mla kv_rank=512 q_rank=1536 head_dim=128 rope_dim=64", &[]),
];
