//! A file for LLaMA-Factory's command, YAML.
//!
//! Keys as in llamafactory 0.9.5: `llamafactory/hparams/`, and those of the Trainer of transformers 5.6.0. It loads a
//! model in the type of its checkpoint, which is taken to have 16 bits, and casts what is trained to fp32
//! (`init_adapter` in llamafactory/model/adapter.py).

use super::{
    DROPPED, Keys, RATE, drops_nothing, elsewhere, file, leaves_room, logits, own_reference, prepare, trainer_keys,
};
use crate::export::Card;
use crate::export::run::{Resharding, Run, resharding, shards};
use crate::export::text::{EXPANDABLE, Value, expandable, with_master};
use crate::export::transformers::{Engine, half, target_modules};
use crate::read::Format;
use crate::{
    Adapter, AdapterType, AttentionKernel, Bytes, FrozenType, Kernels, LossHead, Precision, Recomputation, Reference,
    Scenario, TaskKind, Unquantized, ZeroStage,
};

const PROGRAM: &str = "LLaMA-Factory";

pub(in crate::export) const CARD: Card = Card {
    key: "llama-factory",
    name: "LLaMA-Factory",
    file_name: "llama_factory.yaml",
    media_type: "application/yaml",
    describe: "A file for llamafactory-cli train.",
    readers: &[Format::LlamaFactory],
};

pub(in crate::export) fn write(scenario: &Scenario, page: &str) -> String {
    let mut run = Run::of_tasks(scenario, &[TaskKind::Dpo]);
    // `configure_quantization` in llamafactory/model/model_utils/quantization.py.
    run.change("LLaMA-Factory divides no 8-bit weights: every GPU holds everything", |s| {
        if s.recipe.adapter == Adapter::Lora8 && shards(s) {
            s.cluster.zero = ZeroStage::Stage0;
        }
    });
    let engine = prepare(&mut run, PROGRAM);
    adapt(&mut run, engine);
    let dpo = run.now().task.kind == TaskKind::Dpo;
    if dpo {
        let why = "LLaMA-Factory’s DPO casts all logits to fp32 and keeps their log-softmax beside them";
        leaves_room(&mut run, why, unsaid);
    }
    let now = *run.now();
    let torchrun = if engine == Engine::Replicated { "" } else { "FORCE_TORCHRUN=1 " };
    let grows = if expandable(&now) { format!("{EXPANDABLE} ") } else { String::new() };
    elsewhere(&mut run, engine, &format!("{grows}{torchrun}llamafactory-cli train llama_factory.yaml."));
    let planned = run.plan();
    let adapted = now.recipe.adapter != Adapter::None;
    let mut keys: Keys = vec![
        ("model_name_or_path", "your-model".into()),
        ("dataset", "your_dataset".into()),
        ("template", "default".into()),
        ("output_dir", "bmax-run".into()),
        ("do_train", true.into()),
        ("stage", if dpo { "dpo" } else { "sft" }.into()),
        ("finetuning_type", if adapted { "lora" } else { "full" }.into()),
        ("cutoff_len", now.recipe.sequence.into()),
        ("per_device_train_batch_size", planned.micro_batch.into()),
        ("gradient_accumulation_steps", planned.steps.into()),
        ("learning_rate", RATE.into()),
    ];
    if dpo {
        keys.push(("pref_loss", "sigmoid".into()));
    }
    match (now.recipe.precision, half(&now, engine)) {
        (Precision::PureBf16, "") => keys.push(("pure_bf16", true.into())),
        (_, "bf16") => keys.push(("bf16", true.into())),
        (_, "fp16") => keys.push(("fp16", true.into())),
        _ => {}
    }
    let attention = match now.recipe.attention {
        AttentionKernel::Flash => "sdpa",
        AttentionKernel::Eager => "disabled",
    };
    keys.push(("flash_attn", attention.into()));
    keys.push(("disable_gradient_checkpointing", (now.recipe.recomputation != Recomputation::Full).into()));
    keys.push(("use_reentrant_gc", false.into()));
    if adapted {
        keys.extend(adapters(&now));
    }
    let liger = now.recipe.loss == LossHead::Fused;
    for (key, value) in trainer_keys(&planned, engine) {
        match key {
            // Liger's kernels have fused them already.
            "torch_compile" if liger => {}
            _ => keys.push((key, value)),
        }
    }
    if liger {
        keys.push(("enable_liger_kernel", true.into()));
    }
    if engine == Engine::Fsdp {
        keys.push(("fsdp", "full_shard auto_wrap".into()));
        keys.push((
            "fsdp_config",
            Value::Map(vec![
                ("version", 2_u32.into()),
                ("reshard_after_forward", (resharding(&now) == Resharding::All).into()),
                ("state_dict_type", "SHARDED_STATE_DICT".into()),
            ]),
        ));
    }
    file(&run, page, "llamafactory 0.9.5 and transformers 5.6.0", &keys)
}

fn adapt(run: &mut Run, engine: Engine) {
    run.change("LLaMA-Factory’s DeepSpeed keeps fp32 master copies of all 16-bit weights", |s| {
        let half = matches!(s.recipe.precision, Precision::Autocast | Precision::Mixed | Precision::PureBf16);
        if engine == Engine::DeepSpeed && half {
            s.recipe.precision = with_master(s);
        }
    });
    run.change("LLaMA-Factory leaves frozen weights in the checkpoint’s 16 bits, and computes in those", |s| {
        if s.recipe.adapter == Adapter::None {
            return;
        }
        if s.recipe.precision == Precision::Fp32 {
            s.recipe.precision = match engine {
                Engine::DeepSpeed => with_master(s),
                Engine::Fsdp => Precision::Mixed,
                Engine::Replicated => Precision::Autocast,
            };
        }
        if s.recipe.adapter == Adapter::LoraFp32 {
            s.recipe.adapter = Adapter::Lora;
        }
    });
    run.change("LLaMA-Factory keeps adapters in fp32, and what is not quantized in 16 bits", |s| {
        if s.recipe.adapter != Adapter::None {
            s.recipe.adapter_type = AdapterType::Full;
        }
        if s.recipe.adapter.is_quantized() {
            s.recipe.unquantized = Unquantized::Half;
        }
    });
    // `apply_liger_kernel` in llamafactory/model/model_utils/liger_kernel.py.
    run.change("LLaMA-Factory has all of Liger’s kernels or none, and with them the fused loss", |s| {
        if matches!(s.recipe.loss, LossHead::Fused | LossHead::KernelInPlace) {
            s.recipe.loss = LossHead::Fused;
            s.recipe.kernels = Kernels::Fused;
        }
    });
    if run.now().task.kind != TaskKind::Dpo {
        return;
    }
    drops_nothing(run, PROGRAM);
    // `create_ref_model` in llamafactory/train/trainer_utils.py.
    run.change("LLaMA-Factory has a reference in every step, on the GPU and divided like the model", |s| {
        if matches!(s.task.reference, Reference::Sharded | Reference::Offloaded | Reference::None) {
            s.task.reference = Reference::Copy;
        }
    });
    own_reference(run);
    run.change("LLaMA-Factory leaves the reference in the checkpoint’s 16 bits", |s| {
        s.task.frozen = FrozenType::Half
    });
}

/// Bytes that LLaMA-Factory's loss takes beside those of trl's, which are counted: logits and log-softmax of policy
/// and reference in fp32 at once are 16 bytes a logit (`concatenated_forward` in llamafactory/train/dpo/trainer.py,
/// `get_batch_logps` in train/trainer_utils.py), where the ledger has 12 with fp32 logits and 8 with those of 16 bits.
fn unsaid(now: &Scenario) -> Bytes {
    let each = if matches!(now.recipe.precision, Precision::Autocast | Precision::Mixed) { 4.0 } else { 8.0 };
    Bytes::new(each * logits(now))
}

fn adapters(now: &Scenario) -> Keys {
    let recipe = &now.recipe;
    let names = target_modules(now).map_or_else(|| "all".to_owned(), |names| names.join(","));
    let mut keys: Keys = vec![
        ("lora_rank", recipe.rank.into()),
        ("lora_alpha", recipe.rank.saturating_mul(2).into()),
        ("lora_dropout", if recipe.adapter_dropout.is_on() { DROPPED } else { 0.0 }.into()),
        ("lora_target", names.into()),
    ];
    match recipe.adapter {
        Adapter::Qlora => keys.extend([
            ("quantization_bit", 4_u32.into()),
            ("quantization_type", "nf4".into()),
            ("double_quantization", true.into()),
        ]),
        Adapter::Lora8 => keys.push(("quantization_bit", 8_u32.into())),
        Adapter::None | Adapter::Lora | Adapter::LoraFp32 => {}
    }
    keys
}
