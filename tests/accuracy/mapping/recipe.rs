//! How a row was trained.

use bmax::{
    Adapter, AdapterTargets, AdapterType, AttentionKernel, Engine, GradientType, Kernels, Logits, LossHead, Mlp,
    Optimizer, Precision, Recomputation, Scenario, Softmax, StepKernel, Switch, Unquantized,
};
use serde_json::Value;

use super::{flag, says, text, whole};

pub(super) fn read(scenario: &mut Scenario, row: &Value) -> Result<(), &'static str> {
    let kernel = text(row, "attention_kernel").to_ascii_lowercase();
    if kernel == "not stated" {
        return Err("its attention kernel is not stated");
    }
    if says(row, "notes", "non-quantized modules fp16/fp32 not stated") {
        return Err("whether its unquantized weights are in fp32 is not stated");
    }
    let scores = ["eager", "unfused"].iter().any(|word| kernel.contains(word));
    scenario.recipe.attention = if scores { AttentionKernel::Eager } else { AttentionKernel::Flash };
    if kernel.contains("attention-softmax-in-fp32") {
        scenario.model.softmax = Softmax::Full;
    }
    if says(row, "loss", "foak") || says(row, "loss", "triton ce") {
        return Err("its kernel reads logits that were cast to fp32 first, which the estimator does not have");
    }
    if says(row, "loss", "replicated") {
        return Err("its logits are whole on every device of the group, which the estimator does not have");
    }
    // PyTorch's kernels of that time took one head of keys for many of queries only in its plain path.
    if says(row, "source", "litgpt") && scenario.model.kv_heads == 1 && scenario.model.heads > 1 {
        scenario.recipe.attention = AttentionKernel::Eager;
        scenario.model.softmax = Softmax::Scores;
    }
    recomputation(scenario, row)?;
    precision(scenario, row)?;
    adapters(scenario, row)?;
    optimizer(scenario, row)?;
    kernels(scenario, row);
    loss(scenario, row);
    Ok(())
}

fn recomputation(scenario: &mut Scenario, row: &Value) -> Result<(), &'static str> {
    let stated = text(row, "checkpointing").to_ascii_lowercase();
    let recipe = &mut scenario.recipe;
    if says(row, "compile", "aot") {
        return Err("a graph pass rearranges its whole step");
    }
    recipe.recomputation = if stated.is_empty() {
        return Err("whether it recomputes is not stated");
    } else if stated.contains("graph sac") || stated.contains("graph-based sac") {
        return Err("a graph pass chooses what it recomputes");
    } else if stated.contains("2nd block") {
        recipe.every = 2;
        Recomputation::KthLayer
    } else if stated.contains("op'") || stated.contains("operator") {
        Recomputation::Operators
    } else if stated.starts_with("full") {
        Recomputation::Full
    } else if stated.contains("core_attn") || stated.contains("core attn") || stated.contains("core attention") {
        Recomputation::Selective
    } else if stated.starts_with("none") || stated == "n/a" {
        Recomputation::None
    } else {
        return Err("it recomputes a choice of modules that the estimator does not have");
    };
    // What the notes add to torchtitan's save list is not on the list that is counted.
    if stated.contains("abs()") || stated.contains("all_to_all") {
        return Err("it saves operators beyond torchtitan's list");
    }
    let none = Value::Null;
    let host = text(row.get("parallelism").unwrap_or(&none), "offload").to_ascii_lowercase();
    if host.contains("params") {
        return Err("its weights lie in the host's memory");
    } else if host.contains("optimizer") {
        recipe.offload = bmax::Offload::Optimizer;
    } else if says(row, "checkpointing", "offload") {
        recipe.offload = bmax::Offload::Activations;
    }
    Ok(())
}

fn precision(scenario: &mut Scenario, row: &Value) -> Result<(), &'static str> {
    let none = Value::Null;
    let stated = row.get("precision").unwrap_or(&none);
    let has = |key: &str, word: &str| says(stated, key, word);
    let recipe = &mut scenario.recipe;
    recipe.gradients = GradientType::Half;
    let float8 = text(stated, "float8");
    if !float8.is_empty() && !flag(row, "compile") {
        return Err("it computes in 8 bits, operation by operation, which the estimator does not have");
    }
    if float8.contains("mxfp8")
        || float8.contains("nvfp4")
        || float8.contains("blockwise")
        || float8.contains("current")
    {
        return Err("it computes in 8 bits with scales for blocks, which the estimator does not have");
    }
    if let Some(note) = stated.get("MEG_NOTE").and_then(Value::as_str) {
        if note.contains("not stated") {
            return Err("the type of its main gradients is not stated");
        }
        recipe.gradients = GradientType::Full;
        recipe.precision = if note.contains("fp16 params") { Precision::Fp16 } else { Precision::Bf16 };
        return Ok(());
    }
    if has("params", "depending") || has("params", "not stated how") {
        return Err("whether its weights are kept in fp32 is not stated");
    }
    if has("params", "on cpu") {
        return Err("its weights lie in the host's memory");
    }
    let autocast = has("compute", "amp") || has("compute", "autocast");
    // "bf16 or fp32" and the like: the adapters decide, not the base.
    recipe.precision = if row.get("lora").is_some_and(Value::is_object) {
        if masters(stated) {
            Precision::Bf16
        } else if has("compute", "fp32 (") {
            Precision::Fp32
        } else if autocast && whole(row.get("parallelism").unwrap_or(&none), "zero_stage") == Some(3) {
            Precision::Mixed
        } else if autocast {
            Precision::Autocast
        } else {
            Precision::PureBf16
        }
    } else if has("params", "fp32") && autocast {
        Precision::Autocast
    } else if has("params", "fp32") && has("compute", "fp32") {
        Precision::Fp32
    } else if has("params", "fp32") {
        Precision::Mixed
    } else if masters(stated) {
        if has("grads", "fp32") {
            recipe.gradients = GradientType::Full;
        }
        // Until 2023 DeepSpeed's BF16_Optimizer kept 16-bit gradients beside their fp32 sums, as Megatron-LM
        // does in fp16.
        let beside = has("grads", "bf16_optimizer") && says(row, "source", "bigscience");
        if has("params", "fp16") || beside { Precision::Fp16 } else { Precision::Bf16 }
    } else {
        // Weights in 16 bits have nothing that autocast would copy.
        Precision::PureBf16
    };
    Ok(())
}

/// Whether the optimizer keeps an fp32 copy of the weights.
fn masters(precision: &Value) -> bool {
    says(precision, "optimizer", "master") && !says(precision, "optimizer", "no master")
}

/// LoRA as a row says it; peft's defaults stand in for what it leaves unsaid: rank 8, on queries and values.
fn adapters(scenario: &mut Scenario, row: &Value) -> Result<(), &'static str> {
    let optimizer = text(row, "optimizer").to_ascii_lowercase();
    let recipe = &mut scenario.recipe;
    let Some(lora) = row.get("lora").filter(|lora| lora.is_object()) else {
        if optimizer.contains("lora") {
            recipe.adapter = if optimizer.contains("qlora") { Adapter::Qlora } else { Adapter::Lora };
            // torchtune's recipes for one device: rank 8, on queries and values.
            recipe.rank = 8;
            recipe.targets = AdapterTargets::QueryValue;
            recipe.adapter_type = AdapterType::Half;
        }
        return Ok(());
    };
    if lora.get("only_optimize_lora") == Some(&Value::Bool(false)) {
        return Err("it trains more than its adapters");
    }
    let devices = whole(row, "n_gpus").unwrap_or(1);
    if says(row, "source", "litgpt") && devices > 1 {
        return Err("its FSDP put frozen and trained weights into one flat tensor, with gradients of both");
    }
    if says(row, "source", "llama-cookbook") && says(row, "notes", ", logits kept alive") {
        return Err("its loop held the keys and values of every layer, beside the logits");
    }

    let base = text(lora, "base");
    recipe.adapter = match base {
        "int8" => Adapter::Lora8,
        "fp32" => Adapter::LoraFp32,
        "bf16" | "fp16" => Adapter::Lora,
        // Four bits and a scale for a group of weights, whatever the code of the four bits.
        "nf4" | "fp4" | "int4-gptq" => Adapter::Qlora,
        _ => return Err("the type of its frozen weights is not stated"),
    };
    if recipe.adapter == Adapter::Qlora && recipe.recomputation == Recomputation::None && is_before_0_43_2(row) {
        return Err("its bitsandbytes, from before July 2024, kept the inputs of frozen matrices");
    }
    recipe.unquantized = if text(row, "notes").contains("prepare_model_for_kbit_training (") {
        Unquantized::Full
    } else {
        Unquantized::Half
    };
    recipe.rank = whole(lora, "rank").unwrap_or(8);
    recipe.targets = targets(lora.get("targets").unwrap_or(&Value::Null));
    let precision = row.get("precision").unwrap_or(&Value::Null);
    let half =
        ["bf16", "fp16"].contains(&text(lora, "adapter_dtype")) || says(precision, "optimizer", "bf16 m,v of adapters");
    recipe.adapter_type = if half { AdapterType::Half } else { AdapterType::Full };
    recipe.adapter_dropout = Switch::from(lora.get("dropout").and_then(Value::as_f64).unwrap_or(0.0) > 0.0);
    Ok(())
}

/// bitsandbytes 0.43.2 let go of what only the gradient of a frozen matrix would need (commit 9e753741 of
/// 2024-07-16). litgpt has pinned 0.42 since, and rows of 2023 are older.
fn is_before_0_43_2(row: &Value) -> bool {
    says(row, "source", "litgpt") || says(row, "source", "2023") || says(row, "source", "fsdp_qlora")
}

fn targets(stated: &Value) -> AdapterTargets {
    let names: Vec<&str> = match stated {
        Value::Null => return AdapterTargets::QueryValue,
        Value::String(_) => return AdapterTargets::All,
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => return AdapterTargets::QueryValue,
    };
    let of_mlp = ["up", "gate", "down", "w1", "w2", "w3", "fc", "mlp"];
    let of_output = ["o_proj", "output", "o", "dense"];
    if names.iter().any(|name| of_mlp.iter().any(|word| name.contains(word))) {
        AdapterTargets::All
    } else if names.iter().any(|name| of_output.contains(name)) {
        AdapterTargets::Attention
    } else {
        AdapterTargets::QueryValue
    }
}

fn optimizer(scenario: &mut Scenario, row: &Value) -> Result<(), &'static str> {
    let stated = text(row, "optimizer").to_ascii_lowercase();
    let recipe = &mut scenario.recipe;
    if stated.contains("galore") || stated.contains("muon") {
        return Err("its optimizer is not one the estimator has");
    }
    let inside = ["in-bwd", "in-backward"].iter().any(|word| stated.contains(word));
    if inside || says(row, "notes", "optimizer-in-backward") {
        return Err("its optimizer steps inside the backward pass, which the estimator does not have");
    }
    recipe.optimizer = if stated.contains("adafactor") {
        Optimizer::Adafactor
    } else if stated.contains("8-bit") || stated.contains("8bit") {
        Optimizer::Adam8bit
    } else {
        Optimizer::AdamW
    };
    let source = text(row, "source").to_ascii_lowercase();
    recipe.step = if source.contains("perf_train_gpu_one") {
        // The Trainer of that documentation's time used its own AdamW, one tensor at a time.
        StepKernel::Loop
    } else if source.contains("torchtune") {
        // Its recipes ask for it.
        StepKernel::Fused
    } else if stated.contains("adamw_torch") || stated.contains("foreach") || stated == "adamw" {
        // PyTorch's own choice on a GPU.
        StepKernel::Foreach
    } else {
        StepKernel::Fused
    };
    Ok(())
}

fn kernels(scenario: &mut Scenario, row: &Value) {
    let compiled = flag(row, "compile") || text(row, "compile").contains("aot");
    let of_megatron = matches!(scenario.cluster.engine, Engine::Megatron)
        || ["megatron", "pythia"].iter().any(|word| says(row, "source", word) || says(row, "model", word));
    let words = ["megatron fused", "fused rmsnorm"];
    let fused = compiled || of_megatron || words.iter().any(|word| says(row, "attention_kernel", word));
    scenario.recipe.kernels = if fused { Kernels::Fused } else { Kernels::Eager };
    if scenario.model.mlp == Mlp::GeluTanh && of_megatron {
        scenario.model.mlp = Mlp::Gelu;
    }
    // Megatron-LM's and BERT's default is 0.1; GPT-NeoX's Pythia and later models have none.
    let notes = text(row, "notes");
    let none = notes.contains("hidden 0.0") || notes.contains("dropout 0.0");
    let usual = row.get("megatron_args").is_some() || says(row, "model", "bert") || says(row, "model", "gpt2");
    let stated = notes.contains("dropout 0.1") || notes.contains("dropout on");
    if (usual || stated) && !none {
        scenario.recipe.dropout = Switch::On;
    }
}

fn loss(scenario: &mut Scenario, row: &Value) {
    let source = text(row, "source").to_ascii_lowercase();
    let notes = text(row, "notes");
    let stated = text(row, "loss").to_ascii_lowercase();
    let is = |word: &str| stated.contains(word);
    let recipe = &mut scenario.recipe;
    recipe.loss = if is("no vocabulary logits") || is("-class head") || notes.contains("no LM logits") {
        LossHead::Classifier
    } else if is("chunked lm_head") || (is("chunked") && source.contains("litgpt")) {
        // litgpt keeps the logits and their log-softmax in 16 bits: as much as a kernel and its gradient.
        LossHead::Kernel
    } else if of_gpt_big_code(row) {
        // Logits, a copy of those that have a label and their log-softmax in 16 bits, and three such tensors in the
        // backward pass: six bytes a logit, as in the vocabulary-parallel loss.
        LossHead::VocabularyParallel
    } else if is("liger fused linear") || is("cut cross entropy") || is("fused linear") {
        LossHead::Fused
    } else if is("chunked ce") && scenario.cluster.engine == Engine::Torchtitan && is_since_chunked_head(row) {
        LossHead::ChunkedHead
    } else if is("chunked") {
        LossHead::Chunked
    } else if is_compiled_since_2025(row) && scenario.cluster.tensor_parallel == 1 && is("ce on fp32 logits") {
        // PyTorch's compiler keeps the 16-bit logits and makes their softmax anew in the backward pass.
        LossHead::Kernel
    } else if is("loss parallel") {
        LossHead::Plain
    } else if is("fused ce") {
        // Megatron-LM's own fusion is a compiler's; none of the rows says Transformer Engine's.
        LossHead::VocabularyParallelFused
    } else if is("vocab-parallel") && is_before_in_place(row) || source.contains("pythia") {
        // Megatron-LM's loss as it was before 9634c0e4a3 of June 2024: tensors of their own, as under its fusion.
        LossHead::VocabularyParallelFused
    } else if is("vocab-parallel") || scenario.cluster.engine == Engine::Megatron {
        LossHead::VocabularyParallel
    } else if source.contains("llm-foundry") {
        // llm-foundry's MPT uses flash-attn's cross-entropy unless told otherwise.
        LossHead::Kernel
    } else {
        LossHead::Plain
    };
    if recipe.loss == LossHead::ChunkedHead {
        recipe.chunks = 8;
        if let Some(tokens) = chunk_of(&stated) {
            recipe.chunks = (recipe.sequence * recipe.batch).div_ceil(tokens).clamp(1, 65_536);
        }
    }
    // torchtitan's loop has let go of its output since e29b6b4d4 of June 2024, and Answer.AI's never has: in both
    // it was in fp32 then.
    let held =
        is_before(row, (24, 7)) && scenario.cluster.engine == Engine::Torchtitan || source.contains("fsdp_qlora");
    recipe.logits = if held { Logits::KeptFull } else { Logits::Dropped };
}

/// transformers cast no logits of this class to fp32 (`GPTBigCodeForCausalLM.forward` in
/// models/gpt_bigcode/modeling_gpt_bigcode.py, until 4.46 of October 2024), whatever the row says of its loss.
fn of_gpt_big_code(row: &Value) -> bool {
    let model = text(row, "model").to_ascii_lowercase();
    (model.contains("santacoder") || model.contains("bigcode")) && text(row, "loss").starts_with("HF CE")
}

/// "128 tokens".
fn chunk_of(stated: &str) -> Option<u32> {
    let before = stated.split(" tokens").next()?;
    before.rsplit(['(', ' ']).next()?.parse().ok()
}

/// The year, from 2000 on, and the month that a source names.
fn dated(row: &Value) -> Option<(u32, u32)> {
    text(row, "source").split("20").skip(1).find_map(|rest| {
        let (year, month) = rest.split_once('-')?;
        let month: u32 = month.get(..2)?.parse().ok()?;
        Some((year.parse().ok()?, month))
    })
}

/// Whether the code of Megatron-LM's loss is that of before June 2024.
fn is_before_in_place(row: &Value) -> bool {
    is_before(row, (24, 7)) || says(row, "source", "bigscience") || says(row, "source", "aleph")
}

/// Whether the loss was compiled by a PyTorch of May 2025 or later; Blackwell's rows are of that time.
fn is_compiled_since_2025(row: &Value) -> bool {
    let compiled = flag(row, "compile") || says(row, "compile", "loss");
    compiled && (dated(row).is_some_and(|date| date >= (25, 5)) || says(row, "gpu", "b200"))
}

fn is_before(row: &Value, when: (u32, u32)) -> bool {
    dated(row).is_some_and(|date| date < when)
}

/// torchtitan runs its head inside the chunked loss since April 2026.
fn is_since_chunked_head(row: &Value) -> bool {
    dated(row).is_some_and(|date| date >= (26, 4))
}
