//! From a published row to a scenario.
//!
//! Every rule reads what a row states about itself (its precision, its parallelism, its counter, its
//! framework); none names a row, and none looks at the figure.

use bmax::{
    Adapter, AttentionKernel, Bias, Bytes, Experts, GradientType, Kernels, Latent, LossHead, Method, Mlp, Model, Norm,
    Optimizer, Percent, Position, Precision, QkNorm, Recomputation, Scenario, StepKernel, Switch, ZeroStage, catalogue,
};
use serde_json::Value;

use super::cases::{Case, Counter, Seen};

/// The case of a row, in whichever of the two formats it is.
pub fn case(row: &Value) -> Option<Case> {
    if row.get("peak_bytes").is_some() { simulated(row) } else { published(row) }
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row.get(key).and_then(Value::as_str).unwrap_or("")
}

fn whole(row: &Value, key: &str) -> Option<u32> {
    row.get(key).and_then(Value::as_u64).and_then(|value| u32::try_from(value).ok())
}

fn flag(row: &Value, key: &str) -> bool {
    row.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// A run on one device, with what a scenario assumes of its process.
fn bare() -> Scenario {
    let mut scenario = Scenario { method: Method::Ledger, ..Scenario::default() };
    scenario.recipe.recomputation = Recomputation::None;
    scenario.recipe.dropout = Switch::Off;
    scenario.recipe.step = StepKernel::Fused;
    scenario.cluster.gpus = 1;
    scenario.cluster.zero = ZeroStage::Stage0;
    scenario.device.driver_mib = 0;
    scenario.device.headroom = Percent::new(0.0);
    scenario
}

/// Letters and digits alone: `tinyllama_1_1b` and `tinyllama-1.1b` are the same model.
fn bare_name(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// A row of PyTorch's MemTracker over a Hugging Face model class.
fn simulated(row: &Value) -> Option<Case> {
    let mut scenario = bare();
    let name = bare_name(text(row, "model"));
    let known = catalogue::MODELS.iter().find(|known| bare_name(known.slug) == name)?;
    scenario = known.apply(scenario);
    scenario.recipe.batch = whole(row, "batch")?;
    scenario.recipe.sequence = whole(row, "seq")?;
    scenario.recipe.attention = attention(text(row, "attn"));
    scenario.recipe.precision = match text(row, "precision") {
        "fp32" => Precision::Fp32,
        "amp" => Precision::Autocast,
        _ => Precision::PureBf16,
    };
    scenario.recipe.recomputation = if flag(row, "ckpt") { Recomputation::Full } else { Recomputation::None };
    // Rows that do not say were made with `foreach=False`.
    scenario.recipe.step = if flag(row, "foreach") { StepKernel::Foreach } else { StepKernel::Loop };
    if row.get("dropout").and_then(Value::as_f64).unwrap_or(0.0) > 0.0 {
        scenario.recipe.dropout = Switch::On;
    }
    if known.slug.starts_with("bert") {
        scenario.recipe.loss = LossHead::Classifier;
    }
    let total = row.get("peak_bytes")?.get("total")?.as_f64()?;
    Some(Case {
        id: format!(
            "{} b={} S={} {} {}{}",
            text(row, "model"),
            scenario.recipe.batch,
            scenario.recipe.sequence,
            text(row, "precision"),
            text(row, "attn"),
            if flag(row, "ckpt") { " ckpt" } else { "" }
        ),
        source: "MemTracker simulation of transformers".to_owned(),
        tier: if text(row, "autocast_rules") == "cuda" { "simulated-cuda" } else { "simulated" }.to_owned(),
        seen: Seen::Peak(Bytes::new(total), Counter::Live),
        scenario,
    })
}

fn attention(kernel: &str) -> AttentionKernel {
    let kernel = kernel.to_ascii_lowercase();
    if kernel.contains("eager") || kernel.contains("unfused") { AttentionKernel::Eager } else { AttentionKernel::Flash }
}

/// A row of a paper, a benchmark or a log.
fn published(row: &Value) -> Option<Case> {
    let parallelism = row.get("parallelism")?;
    let mut scenario = bare();
    scenario.model = model(row)?;
    scenario.recipe.batch = whole(row, "micro_batch")?;
    // A row of short, unpacked samples states no length; a few hundred tokens stand in.
    scenario.recipe.sequence = whole(row, "seq_len").unwrap_or(256);
    recipe(&mut scenario, row);
    cluster(&mut scenario, row, parallelism);
    let seen = match text(row, "kind") {
        "measured" => {
            let bytes = Bytes::from_gib(row.get("measured_gib")?.as_f64()?);
            Seen::Peak(bytes, counter(text(row, "measured_kind")))
        }
        "fit" => Seen::Fit,
        "oom" => Seen::OutOfMemory,
        _ => return None,
    };
    overhead(&mut scenario, row);
    let tier = text(row, "tier").to_owned();
    Some(Case { id: text(row, "id").to_owned(), source: text(row, "source").to_owned(), tier, seen, scenario })
}

fn counter(kind: &str) -> Counter {
    let kind = kind.to_ascii_lowercase();
    if kind.contains("nvml") || kind.contains("nvidia-smi") {
        Counter::Device
    } else if kind.contains("reserved") && !kind.contains("not stated") {
        Counter::Reserved
    } else {
        Counter::Live
    }
}

/// The architecture of a row, from its dimensions and the family its name says.
fn model(row: &Value) -> Option<Model> {
    let name = text(row, "model").to_ascii_lowercase();
    let notes = text(row, "notes");
    let is = |word: &str| name.contains(word);
    let llama = is("llama") || is("mistral") || is("qwen") || is("gemma") || is("olmo") || is("smollm");
    let [hidden, layers, heads] = [whole(row, "hidden")?, whole(row, "layers")?, whole(row, "heads")?];
    let tied =
        row.get("extra_dims").is_some_and(|extra| flag(extra, "tied")) || notes.contains("tied=True") || is("mpt");
    // A padded vocabulary is what takes memory.
    let padded = notes.split("padded vocab ").nth(1).and_then(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    });
    let sequence = whole(row, "seq_len").unwrap_or(0);
    Some(Model {
        origin: "",
        parameters: row.get("params").and_then(Value::as_u64).unwrap_or(0),
        hidden,
        layers,
        heads,
        kv_heads: whole(row, "kv_heads").unwrap_or(heads),
        head_dim: hidden / heads.max(1),
        feed_forward: whole(row, "ffn")?,
        vocabulary: padded.or(whole(row, "vocab"))?,
        tied_embeddings: tied.into(),
        mlp: if llama { Mlp::Gated } else { Mlp::Gelu },
        norm: if llama { Norm::RmsNorm } else { Norm::LayerNorm },
        norms: 2,
        soft_cap: Switch::from(is("gemma-2")),
        qk_norm: if is("qwen3") { QkNorm::Head } else { QkNorm::Off },
        bias: if llama || is("mpt") || notes.contains("bias=False") { Bias::None } else { Bias::All },
        position: if llama || is("pythia") { Position::Rotary } else { Position::Learned },
        positions: if llama || is("pythia") { 0 } else { sequence },
        experts: Experts::NONE,
        latent: Latent::NONE,
    })
}

fn recipe(scenario: &mut Scenario, row: &Value) {
    let recipe = &mut scenario.recipe;
    let checkpointing = text(row, "checkpointing").to_ascii_lowercase();
    recipe.recomputation = if checkpointing.contains("op'") || checkpointing.contains("operator") {
        Recomputation::Operators
    } else if checkpointing.starts_with("full") {
        Recomputation::Full
    } else if checkpointing.starts_with("selective") {
        Recomputation::Selective
    } else {
        Recomputation::None
    };
    recipe.attention = attention(text(row, "attention_kernel"));
    let optimizer = text(row, "optimizer").to_ascii_lowercase();
    recipe.optimizer = if optimizer.contains("adafactor") {
        Optimizer::Adafactor
    } else if optimizer.contains("8-bit") || optimizer.contains("8bit") {
        Optimizer::Adam8bit
    } else {
        Optimizer::AdamW
    };
    if optimizer.contains("lora") {
        recipe.adapter = if optimizer.contains("qlora") { Adapter::Qlora } else { Adapter::Lora };
        // torchtune's recipes: rank 8, on queries, values and output in the smaller ones.
        recipe.rank = 8;
    }
    precision(scenario, row);
    let recipe = &mut scenario.recipe;
    let source = text(row, "source");
    let megatron = source.contains("Megatron");
    let fused = flag(row, "compile") || megatron || source.contains("pythia");
    recipe.kernels = if fused { Kernels::Fused } else { Kernels::Eager };
    // Megatron-LM's and BERT's default is 0.1; GPT-NeoX's Pythia and later models have none.
    let bert = text(row, "model").contains("bert");
    if (megatron || bert) && !text(row, "notes").contains("hidden 0.0") {
        recipe.dropout = Switch::On;
    }
    let notes = text(row, "notes");
    recipe.loss = match text(row, "loss") {
        loss if loss.contains("chunked") => LossHead::Chunked,
        _ if notes.contains("no LM logits") => LossHead::Classifier,
        // llm-foundry's MPT uses flash-attn's cross-entropy unless told otherwise.
        _ if source.contains("llm-foundry") => LossHead::Kernel,
        _ if notes.contains("ce-fusion=True") => LossHead::Kernel,
        // Megatron-LM, and GPT-NeoX which has its code.
        _ if megatron || source.contains("pythia") => LossHead::VocabularyParallel,
        _ => LossHead::Plain,
    };
    // The Trainer of that documentation's time used its own AdamW, one tensor at a time.
    if source.contains("huggingface") {
        recipe.step = StepKernel::Loop;
    }
}

fn precision(scenario: &mut Scenario, row: &Value) {
    let Some(stated) = row.get("precision") else { return };
    let has = |key: &str, word: &str| text(stated, key).contains(word);
    let recipe = &mut scenario.recipe;
    recipe.gradients = GradientType::Half;
    recipe.precision = if stated.get("MEG_NOTE").is_some() {
        recipe.gradients = GradientType::Full;
        Precision::Bf16
    } else if has("compute", "amp") {
        Precision::Autocast
    } else if has("params", "fp32") && has("compute", "fp32") {
        Precision::Fp32
    } else if has("params", "fp32") {
        Precision::Mixed
    } else if has("optimizer", "master") {
        if has("params", "fp16") { Precision::Fp16 } else { Precision::Bf16 }
    } else {
        Precision::PureBf16
    };
}

fn cluster(scenario: &mut Scenario, row: &Value, parallelism: &Value) {
    let size = |key: &str| whole(parallelism, key).unwrap_or(1).max(1);
    let cluster = &mut scenario.cluster;
    cluster.tensor_parallel = size("tp");
    cluster.pipeline_parallel = size("pp");
    cluster.context_parallel = size("cp");
    cluster.sequence_parallel = Switch::from(flag(parallelism, "sp") && size("tp") > 1);
    cluster.zero = match whole(parallelism, "zero_stage") {
        Some(1) => ZeroStage::Stage1,
        Some(2) => ZeroStage::Stage2,
        Some(3) => ZeroStage::Stage3,
        _ => ZeroStage::Stage0,
    };
    // In a pipeline torchtitan keeps gathered weights between micro-batches, and says so in its rows.
    if cluster.pipeline_parallel > 1 && text(row, "notes").contains("reshard_after_forward=False") {
        cluster.zero = ZeroStage::Stage2;
    }
    let group = cluster.group();
    let data = whole(parallelism, "dp").or(whole(parallelism, "dp_shard"));
    // Pythia's rows state the data-parallel size as a rule: 1024 sequences over the micro-batch.
    cluster.gpus = whole(row, "n_gpus").unwrap_or_else(|| group * data.unwrap_or(32));
    let data_parallel = cluster.data_parallel();
    let global = whole(parallelism, "global_batch").unwrap_or(0);
    let micro_batches =
        whole(parallelism, "n_microbatches").unwrap_or(global / (scenario.recipe.batch * data_parallel).max(1)).max(1);
    scenario.recipe.micro_batches = micro_batches;
}

/// The device, and a context that its source measured.
fn overhead(scenario: &mut Scenario, row: &Value) {
    let device = &mut scenario.device;
    if let Some(memory) = row.get("gpu_mem").and_then(Value::as_f64) {
        // The files give what a program can get: the driver's part is off already.
        device.memory_mib = (memory * 1024.0) as u32;
    }
    let notes = text(row, "notes");
    if let Some(context) = notes.split("Subtract ~").nth(1).and_then(|rest| rest.split(' ').next()) {
        device.context_gib = context.parse().unwrap_or(device.context_gib);
    }
}
