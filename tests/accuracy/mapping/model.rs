//! The architecture of a row, from its dimensions and the family that its name says.

use bmax::{Bias, Encoder, Experts, Latent, Mlp, Model, Norm, Packing, Position, QkNorm, Softmax, Switch};
use serde_json::Value;

use super::{flag, text, whole};

/// What the members of a family have in common.
#[derive(Clone, Copy)]
struct Family {
    names: &'static [&'static str],
    mlp: Mlp,
    norm: Norm,
    bias: Bias,
    position: Position,
    packing: Packing,
    softmax: Softmax,
}

const LLAMA: Family = Family {
    names: &[
        "llama",
        "mistral",
        "ministral",
        "mixtral",
        "gemma",
        "olmo",
        "smollm",
        "yi-",
        "vicuna",
        "zephyr",
        "seed-oss",
        "deepseek",
        "tinyllama",
        "codellama",
        "phi-3",
        "phi-4",
        "powerlm",
        "moonlight",
        "granite",
    ],
    mlp: Mlp::Gated,
    norm: Norm::RmsNorm,
    bias: Bias::None,
    position: Position::Rotary,
    packing: Packing::Separate,
    softmax: Softmax::Full,
};
const GPT: Family = Family {
    names: &["gpt", "bert", "santacoder", "opt-", "starcoder", "megatron"],
    mlp: Mlp::Gelu,
    norm: Norm::LayerNorm,
    bias: Bias::All,
    position: Position::Learned,
    packing: Packing::Separate,
    softmax: Softmax::Full,
};

/// The first whose name occurs in that of the model counts.
const FAMILIES: &[Family] = &[
    // GPT-J and GPT-NeoX rotate a part of each head, as Pythia does.
    Family { names: &["pythia", "neox", "gpt-j", "phi-1", "phi-2"], position: Position::PartialRotary, ..GPT },
    Family { names: &["qwen3"], ..LLAMA },
    Family { names: &["qwen"], bias: Bias::Qkv, ..LLAMA },
    Family { names: &["stablelm"], norm: Norm::LayerNorm, position: Position::PartialRotary, ..LLAMA },
    Family {
        names: &["falcon"],
        position: Position::Rotary,
        packing: Packing::Packed,
        softmax: Softmax::Scores,
        bias: Bias::None,
        ..GPT
    },
    Family { names: &["bloom"], position: Position::None, packing: Packing::Packed, ..GPT },
    Family { names: &["mpt"], position: Position::None, packing: Packing::Packed, bias: Bias::None, ..GPT },
    Family { names: &["bert"], ..GPT },
    Family { names: &["opt-"], mlp: Mlp::Relu, ..GPT },
    // GPT-2's own code spells GELU out, packs its projections and takes the softmax in the scores' type.
    Family { names: &["gpt2", "gpt-2"], mlp: Mlp::GeluTanh, packing: Packing::Packed, softmax: Softmax::Scores, ..GPT },
    LLAMA,
    GPT,
];

pub(super) fn read(row: &Value) -> Result<Model, &'static str> {
    let name = text(row, "model").to_ascii_lowercase();
    let family = FAMILIES
        .iter()
        .find(|family| family.names.iter().any(|word| name.contains(word)))
        .ok_or("its family is not one the rules know")?;
    let dimension = |key| whole(row, key).ok_or("a dimension of the model is not stated");
    let [hidden, layers, heads, ffn, vocabulary] = ["hidden", "layers", "heads", "ffn", "vocab"].map(dimension);
    let (hidden, layers, heads, ffn) = (hidden?, layers?, heads?, ffn?);
    let notes = Notes(text(row, "notes"));
    let none = Value::Null;
    let extra = row.get("extra_dims").unwrap_or(&none);
    let megatron = row.get("megatron_args").is_some();
    if whole(extra, "mtp_layers").is_some_and(|layers| layers > 0) {
        return Err("it predicts several tokens, which the estimator does not have");
    }
    let mut model = Model {
        origin: bmax::Origin::Own,
        parameters: row.get("params").and_then(Value::as_u64).unwrap_or(0),
        hidden,
        layers,
        heads,
        kv_heads: whole(row, "kv_heads").unwrap_or(heads),
        head_dim: whole(extra, "head_dim").unwrap_or(hidden / heads.max(1)),
        feed_forward: ffn,
        // A padded vocabulary is what takes memory.
        vocabulary: notes.number("padded vocab ").map_or(vocabulary, Ok)?,
        tied_embeddings: tied(&name, extra, &notes).into(),
        mlp: family.mlp,
        norm: family.norm,
        norms: 2,
        soft_cap: Switch::from(name.contains("gemma-2")),
        parallel: flag(extra, "parallel_residual").into(),
        qk_norm: if flag(extra, "qk_norm") || name.contains("qwen3") { QkNorm::Head } else { QkNorm::Off },
        bias: family.bias,
        packing: family.packing,
        softmax: family.softmax,
        position: family.position,
        positions: 0,
        spare_positions: 0,
        experts: experts(extra),
        latent: latent(extra),
        encoder: Encoder::NONE,
        vision: bmax::Vision::NONE,
    };
    // Side by side, Falcon's and Phi's blocks have one norm; GPT-NeoX's have two.
    if model.parallel.is_on() && (name.contains("falcon") || name.contains("phi")) {
        model.norms = 1;
    }
    if name.contains("gemma-2") || name.contains("gemma-3") {
        model.norms = 4;
    }
    match text(extra, "mlp") {
        stated if stated.starts_with("relu") => model.mlp = Mlp::Relu,
        stated if stated.starts_with("gelu") && model.mlp == Mlp::Gated => model.mlp = Mlp::Gelu,
        _ => {}
    }
    if let Some(bias) = extra.get("bias").and_then(Value::as_bool) {
        model.bias = if bias { Bias::All } else { Bias::None };
    }
    if flag(extra, "qkv_bias") {
        model.bias = Bias::Qkv;
    }
    if notes.0.contains("bias=False") {
        model.bias = Bias::None;
    }
    if flag(extra, "alibi") {
        model.position = Position::None;
    }
    if text(row, "source").contains("bert-finetuning") {
        // BingBertSquad's model spells GELU out (pytorch_pretrained_bert/modeling.py, microsoft/DeepSpeedExamples).
        model.mlp = Mlp::GeluTanh;
    }
    if text(row, "source").contains("litgpt") {
        // One matrix makes queries, keys and values there, and queries and keys are joined again.
        model.packing = Packing::Packed;
        model.position = Position::PartialRotary;
    }
    if megatron {
        model.softmax = Softmax::Scores;
        megatron_s_own(&mut model, &notes);
    }
    if model.position == Position::Learned {
        let stated = whole(extra, "learned_positions");
        model.positions = stated.or(whole(row, "seq_len")).unwrap_or(0);
    }
    Ok(model)
}

/// What the rows of Megatron-LM's own tests say, word by word, in their notes.
fn megatron_s_own(model: &mut Model, notes: &Notes) {
    model.mlp = if notes.0.contains("swiglu=True") { Mlp::Gated } else { Mlp::Gelu };
    model.norm = if notes.0.contains("norm=RMSNorm") { Norm::RmsNorm } else { Norm::LayerNorm };
    model.position = if notes.0.contains("rope=True") { Position::Rotary } else { Position::Learned };
    if notes.0.contains("bias=True") {
        model.bias = Bias::All;
    }
}

fn tied(name: &str, extra: &Value, notes: &Notes) -> bool {
    let stated = extra.get("tied").or(extra.get("tied_embeddings")).and_then(Value::as_bool);
    // The families whose every member ties them.
    let usual =
        ["mpt", "gpt2", "opt-", "falcon", "bloom", "gemma", "santacoder"].iter().any(|word| name.contains(word));
    stated.unwrap_or(notes.0.contains("tied=True") || (usual && !notes.0.contains("tied=False")))
}

fn experts(extra: &Value) -> Experts {
    let Some(count) = whole(extra, "experts") else { return Experts::NONE };
    let width = whole(extra, "moe_ffn").unwrap_or(0);
    // "([0]*1+[1]*15)": the first layer is dense.
    let frequency = text(extra, "moe_layer_freq").split("[0]*").nth(1).unwrap_or("");
    let digits: String = frequency.chars().take_while(char::is_ascii_digit).collect();
    Experts {
        count,
        active: whole(extra, "topk").unwrap_or(1),
        width,
        shared_width: whole(extra, "shared_ffn").unwrap_or_else(|| whole(extra, "shared_experts").unwrap_or(0) * width),
        dense_layers: whole(extra, "n_dense_layers").unwrap_or_else(|| digits.parse().unwrap_or(0)),
    }
}

fn latent(extra: &Value) -> Latent {
    if !flag(extra, "mla") {
        return Latent::NONE;
    }
    let either = |one, other| whole(extra, one).or(whole(extra, other)).unwrap_or(0);
    Latent {
        query_rank: whole(extra, "q_lora_rank").unwrap_or(0),
        kv_rank: whole(extra, "kv_lora_rank").unwrap_or(0),
        rope_dim: either("qk_rope_head_dim", "qk_pos_emb_head_dim"),
    }
}

/// The free text beside a row.
struct Notes<'a>(&'a str);

impl Notes<'_> {
    /// The whole number behind a word.
    fn number(&self, word: &str) -> Option<u32> {
        let rest = self.0.split(word).nth(1)?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    }
}
