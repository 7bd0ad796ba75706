//! A configuration of axolotl, YAML.
//!
//! Keys as in axolotl 0.19.0: `axolotl/utils/schemas/`. It loads every weight in the 16-bit type that it is told, and
//! runs autocast over that (`resolve_dtype` in axolotl/utils/config, `core/builders/base.py`).

use super::{
    DROPPED, Keys, RATE, at_once, checkpointing, drops_nothing, elsewhere, file, frozen_models, groups, leaves_room,
    logits, prepare, trainer_keys,
};
use crate::export::Card;
use crate::export::run::{Planned, Resharding, Run, machines, resharding, shards};
use crate::export::text::{EXPANDABLE, Value};
use crate::export::transformers::{Engine, half, target_modules};
use crate::read::Format;
use crate::{
    Adapter, AdapterType, AttentionKernel, Bytes, GradientType, LossHead, Norm, Optimizer, Precision, Recomputation,
    Reference, RewardModel, Rollout, Scenario, Segments, TaskKind, Unquantized, ZeroStage,
};

const PROGRAM: &str = "axolotl";
static TASKS: [TaskKind; 3] = [TaskKind::Dpo, TaskKind::Grpo, TaskKind::Reward];

pub(in crate::export) const CARD: Card = Card {
    key: "axolotl",
    name: "axolotl",
    file_name: "axolotl.yaml",
    media_type: "application/yaml",
    describe: "A configuration for axolotl train.",
    readers: &[Format::Axolotl],
};

pub(in crate::export) fn write(scenario: &Scenario, page: &str) -> String {
    let mut run = Run::of_tasks(scenario, &TASKS);
    let kind = run.now().task.kind;
    // `check_fsdp2_base_model_quant_rl` in axolotl/utils/schemas/validation.py.
    run.change("axolotl’s FSDP divides no quantized weights for DPO: every GPU holds everything", |s| {
        if s.recipe.adapter.is_quantized() && kind == TaskKind::Dpo && Engine::of(s) == Engine::Fsdp {
            s.cluster.zero = ZeroStage::Stage0;
        }
    });
    let engine = prepare(&mut run, PROGRAM);
    adapt(&mut run, engine);
    let casts = engine != Engine::DeepSpeed && matches!(kind, TaskKind::Dpo | TaskKind::Grpo);
    if casts {
        run.counts_more(unsaid);
    }
    let group = if kind == TaskKind::Grpo { groups(&mut run, true) } else { 0 };
    if casts {
        leaves_room(&mut run, "axolotl’s autocast has accelerate cast all logits to fp32", unsaid);
    }
    let now = *run.now();
    let launcher = match machines(run.plan().world) {
        (1, 1) => String::new(),
        (_, each) => format!(" --launcher torchrun -- --nproc_per_node={each}"),
    };
    elsewhere(&mut run, engine, &format!("{EXPANDABLE} axolotl train axolotl.yaml{launcher}."));
    if now.task.rollout == Rollout::Server && kind == TaskKind::Grpo {
        run.elsewhere("Before that, on the other GPUs: axolotl vllm-serve axolotl.yaml.");
    }
    if now.model.norm == Norm::LayerNorm && now.recipe.precision == Precision::PureBf16 {
        run.differs("Under axolotl’s autocast LayerNorm puts fp32 out: the step takes more than the prediction says.");
    }
    let planned = run.plan();
    let length = now.recipe.sequence;
    let mut keys: Keys = vec![
        ("base_model", "your-model".into()),
        ("output_dir", "bmax-run".into()),
        ("sequence_len", length.into()),
        ("pad_to_sequence_len", true.into()),
        ("sample_packing", false.into()),
        ("micro_batch_size", planned.micro_batch.into()),
        ("gradient_accumulation_steps", planned.steps.into()),
        ("learning_rate", RATE.into()),
    ];
    keys.extend(task_keys(&planned, group));
    let flag = half(&now, engine);
    // Elsewhere than in DeepSpeed's own autocast the weights follow this flag.
    let bf16 = flag == "bf16" || engine != Engine::DeepSpeed && now.recipe.precision == Precision::PureBf16;
    keys.extend([("bf16", bf16.into()), ("fp16", (flag == "fp16").into()), ("tf32", false.into())]);
    let attention = match now.recipe.attention {
        // Beside PyTorch's own kernel embedding, head and norms would be in fp32 (`attn_needs_dtype_cast`).
        AttentionKernel::Flash if now.recipe.precision == Precision::PureBf16 => "flash_attention_2",
        _ => super::trl::attention(&now),
    };
    keys.push(("attn_implementation", attention.into()));
    let full = now.recipe.recomputation == Recomputation::Full;
    keys.extend(checkpointing(&now, engine));
    if now.recipe.adapter != Adapter::None {
        keys.extend(adapters(&now));
    }
    for (key, value) in trainer_keys(&planned, engine) {
        keys.push(match key {
            // The optimizer of bitsandbytes is refused beside FSDP (`check_fsdp2_w_8bit_optimizer`).
            "optim" if engine == Engine::Fsdp && now.recipe.optimizer == Optimizer::Adam8bit => {
                ("optimizer", "adamw_torch_8bit".into())
            }
            "optim" => ("optimizer", value),
            other => (other, value),
        });
    }
    if matches!(now.recipe.loss, LossHead::Fused | LossHead::KernelInPlace) {
        let fused = now.recipe.loss == LossHead::Fused;
        keys.push(("plugins", vec!["axolotl.integrations.liger.LigerPlugin"].into()));
        keys.push((if fused { "liger_fused_linear_cross_entropy" } else { "liger_cross_entropy" }, true.into()));
    }
    if engine == Engine::Fsdp {
        keys.push(("fsdp_version", 2_u32.into()));
        keys.push((
            "fsdp_config",
            Value::Map(vec![
                ("reshard_after_forward", (resharding(&now) == Resharding::All).into()),
                ("auto_wrap_policy", "TRANSFORMER_BASED_WRAP".into()),
                ("activation_checkpointing", full.into()),
                ("cpu_ram_efficient_loading", false.into()),
                ("state_dict_type", "SHARDED_STATE_DICT".into()),
            ]),
        ));
    }
    file(&run, page, "axolotl 0.19.0", &keys)
}

fn adapt(run: &mut Run, engine: Engine) {
    frozen_models(run, PROGRAM);
    drops_nothing(run, PROGRAM);
    run.change(
        "axolotl loads weights in the type that it computes in, under autocast, and keeps no master copy but \
         DeepSpeed’s; it scales no loss of fp16 weights, and fp32 stands in for them",
        |s| {
            let frozen = s.recipe.adapter != Adapter::None;
            let under = if shards(s) { Precision::Mixed } else { Precision::Autocast };
            s.recipe.precision = match (s.recipe.precision, engine) {
                (Precision::Fp32, _) => Precision::Fp32,
                (Precision::Autocast, Engine::DeepSpeed) if frozen => Precision::Bf16,
                (other, Engine::DeepSpeed) => other,
                _ if frozen => under,
                // `torch_dtype` follows `fp16` (utils/config/__init__.py), and PyTorch's scaler refuses gradients of
                // fp16 weights (`_unscale_grads_` in torch/amp/grad_scaler.py).
                _ if s.device.emulates_bf16 => Precision::Fp32,
                _ => Precision::PureBf16,
            };
            if s.recipe.adapter == Adapter::LoraFp32 && s.recipe.precision != Precision::Fp32 {
                s.recipe.adapter = Adapter::Lora;
            }
            if s.recipe.precision == Precision::PureBf16 && engine != Engine::DeepSpeed {
                s.recipe.gradients = GradientType::Half;
            }
        },
    );
    run.change("axolotl casts embedding, head and norms of quantized models back to 16 bits", |s| {
        if s.recipe.adapter.is_quantized() {
            s.recipe.unquantized = Unquantized::Half;
        }
    });
    // `ensure_dtype` in axolotl/core/builders/rl.py; beside 8-bit weights peft makes adapters in fp32 all the same.
    run.change(
        "axolotl’s adapters are in 16 bits beside FSDP and DPO or GRPO, and in fp32 beside 8-bit weights",
        |s| {
            let cast = engine == Engine::Fsdp && matches!(s.task.kind, TaskKind::Dpo | TaskKind::Grpo);
            if s.recipe.adapter == Adapter::Lora8 && s.recipe.precision != Precision::Fp32 {
                s.recipe.adapter_type = AdapterType::Full;
            }
            if s.recipe.adapter != Adapter::None && cast {
                s.recipe.adapter_type = AdapterType::Half;
            }
        },
    );
    // `set_pytorch_cuda_alloc_conf` in axolotl/utils.
    run.change("axolotl makes segments grow", |s| s.device = s.device.with_segments(Segments::Expandable));
}

/// Bytes that fp32 logits beside 16-bit weights take in the losses of trl (`convert_outputs_to_fp32` in
/// accelerate/utils/operations.py): the ledger has 12 bytes a logit at their highest where logits have 32 bits, and from
/// 4 where they have 16, as they have in a scenario whose weights are in bf16.
fn unsaid(now: &Scenario) -> Bytes {
    let each = if now.recipe.precision == Precision::PureBf16 { 8.0 } else { 0.0 };
    Bytes::new(each * logits(now))
}

fn task_keys(planned: &Planned, group: u32) -> Keys {
    let now = &planned.scenario;
    let task = &now.task;
    let rows = |kind: &str| {
        let row = Value::Map(vec![("path", "your-dataset".into()), ("split", "train".into()), ("type", kind.into())]);
        ("datasets", Value::List(vec![row]))
    };
    match task.kind {
        TaskKind::Dpo => vec![
            rows("chat_template.default"),
            ("rl", "dpo".into()),
            ("precompute_ref_log_probs", (task.reference == Reference::None).into()),
        ],
        TaskKind::Reward => vec![
            rows("bradley_terry.chat_template"),
            ("model_type", "AutoModelForSequenceClassification".into()),
            ("num_labels", 1_u32.into()),
            ("reward_model", true.into()),
        ],
        TaskKind::Grpo => {
            let reward = match task.rewarded_by() {
                RewardModel::Function | RewardModel::Usual => "your_rewards.reward",
                RewardModel::Model | RewardModel::Offloaded => "your-reward-model",
            };
            let mut own: Keys = vec![
                ("max_completion_length", task.completed(now.recipe.sequence).into()),
                ("num_generations", group.into()),
                ("generation_batch_size", at_once(planned).saturating_mul(planned.data_parallel).into()),
                ("beta", if task.reference == Reference::None { 0.0 } else { 0.04 }.into()),
                ("reward_funcs", vec![reward].into()),
                ("use_vllm", (task.rollout != Rollout::Model).into()),
            ];
            let mut keys: Keys = vec![rows("your_rewards.transform"), ("rl", "grpo".into())];
            match task.rollout {
                Rollout::Model => {}
                Rollout::Server => own.push(("vllm_mode", "server".into())),
                Rollout::Awake | Rollout::Asleep => {
                    own.push(("vllm_mode", "colocate".into()));
                    own.push(("vllm_enable_sleep_mode", (task.rollout == Rollout::Asleep).into()));
                    let share = vec![("gpu_memory_utilization", task.engine.fraction().into())];
                    keys.push(("vllm", Value::Map(share)));
                }
            }
            keys.push(("trl", Value::Map(own)));
            keys
        }
        _ => vec![rows("completion")],
    }
}

fn adapters(now: &Scenario) -> Keys {
    let recipe = &now.recipe;
    let four = recipe.adapter == Adapter::Qlora;
    let mut keys: Keys = vec![
        ("adapter", if four { "qlora" } else { "lora" }.into()),
        ("load_in_4bit", four.into()),
        ("load_in_8bit", (recipe.adapter == Adapter::Lora8).into()),
        ("lora_r", recipe.rank.into()),
        ("lora_alpha", recipe.rank.saturating_mul(2).into()),
        ("lora_dropout", if recipe.adapter_dropout.is_on() { DROPPED } else { 0.0 }.into()),
        match target_modules(now) {
            Some(names) => ("lora_target_modules", names.into()),
            None => ("lora_target_linear", true.into()),
        },
        ("peft_autocast_adapter_dtype", (recipe.adapter_type == AdapterType::Full).into()),
    ];
    // They are switched on where nobody says that they are not (`check_auto_enable_lora_kernels`).
    let kernels = ["lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel", "lora_embedding_kernel"];
    keys.extend(kernels.map(|kernel| (kernel, false.into())));
    keys
}
