//! A file for trl's commands, YAML.
//!
//! Keys as in trl 1.10.0: `trl/trainer/*_config.py`, `model_config.py` and `trl/scripts/`. PPO and distillation with
//! a fixed teacher have no command: `TrlParser` reads their file in `examples/scripts/ppo/ppo.py` and
//! `examples/scripts/gkd.py` of its repository.

use super::{DROPPED, Keys, RATE, checkpointing, elsewhere, file, frozen_models, groups, prepare, trainer_keys};
use crate::export::Card;
use crate::export::deepspeed::loaded_in;
use crate::export::run::{Planned, Run};
use crate::export::text::{EXPANDABLE, Value, expandable};
use crate::export::transformers::{ALL_LINEAR, Engine, fsdp, half, liger, target_modules};
use crate::format::count;
use crate::read::Format;
use crate::{
    Adapter, AdapterType, AttentionKernel, Precision, Reference, RewardModel, Rollout, Scenario, TaskKind, Unquantized,
    ZeroStage,
};

const PROGRAM: &str = "trl";
static TASKS: [TaskKind; 5] = [TaskKind::Dpo, TaskKind::Ppo, TaskKind::Grpo, TaskKind::Reward, TaskKind::Distil];

pub(in crate::export) const CARD: Card = Card {
    key: "trl",
    name: "trl",
    file_name: "trl.yaml",
    media_type: "application/yaml",
    describe: "A file for trl sft, dpo, grpo or reward --config, or for the parser of its scripts.",
    readers: &[Format::TrlSft, Format::TrlDpo, Format::TrlGrpo, Format::TrlReward],
};

pub(in crate::export) fn write(scenario: &Scenario, page: &str) -> String {
    let mut run = Run::of_tasks(scenario, &TASKS);
    let engine = prepare(&mut run, PROGRAM);
    adapt(&mut run, engine);
    let kind = run.now().task.kind;
    let group = if kind == TaskKind::Grpo { groups(&mut run, false) } else { 0 };
    if kind == TaskKind::Ppo {
        ppo(&mut run);
    }
    let now = *run.now();
    // What has no command of trl's own.
    let script = matches!(kind, TaskKind::Ppo | TaskKind::Distil);
    elsewhere(
        &mut run,
        engine,
        match kind {
            TaskKind::Train => "trl sft --config trl.yaml.",
            TaskKind::Dpo => "trl dpo --config trl.yaml.",
            TaskKind::Grpo => "trl grpo --config trl.yaml.",
            TaskKind::Reward => "trl reward --config trl.yaml.",
            TaskKind::Ppo => {
                "accelerate launch --num_processes {world} ppo.py --config trl.yaml, with a copy of \
                 examples/scripts/ppo/ppo.py of trl’s repository that reads by TrlParser’s parse_args_and_config()."
            }
            TaskKind::Distil => {
                "accelerate launch --num_processes {world} examples/scripts/gkd.py --config trl.yaml, in trl’s \
                 repository."
            }
        },
    );
    if script && expandable(&now) {
        run.elsewhere(format!("Expandable segments: {EXPANDABLE} in front of it."));
    }
    if kind == TaskKind::Grpo {
        let prompt = now.recipe.sequence - now.task.completed(now.recipe.sequence);
        run.elsewhere(format!("Prompts of up to {} tokens: your data set.", count(prompt)));
    }
    let planned = run.plan();
    let mut keys: Keys = vec![
        ("model_name_or_path", "your-model".into()),
        ("dataset_name", "your-dataset".into()),
        ("output_dir", "bmax-run".into()),
        ("per_device_train_batch_size", planned.micro_batch.into()),
        ("gradient_accumulation_steps", planned.steps.into()),
        ("learning_rate", RATE.into()),
    ];
    if !script {
        keys.push(("num_processes", planned.world.into()));
        if expandable(&now) {
            let (name, value) = EXPANDABLE.split_once('=').unwrap_or((EXPANDABLE, ""));
            keys.push(("env", Value::Map(vec![(name, value.into())])));
        }
    }
    keys.extend(task_keys(&planned, group));
    keys.push(("dtype", loaded_in(&now).into()));
    keys.push(("attn_implementation", attention(&now).into()));
    // By themselves the trainers take bf16, recompute every layer and drop a share of adapters' inputs.
    let flag = half(&now, engine);
    keys.push(("bf16", (flag == "bf16").into()));
    if flag == "fp16" {
        keys.push(("fp16", true.into()));
    }
    keys.extend(checkpointing(&now, engine));
    if now.recipe.adapter != Adapter::None {
        keys.extend(adapters(&now));
    }
    keys.extend(trainer_keys(&planned, engine));
    if let Some(kernels) = liger(now.recipe.loss) {
        keys.push(("use_liger_kernel", true.into()));
        keys.push(("liger_kernel_config", kernels));
    }
    if engine == Engine::Fsdp {
        keys.push(("fsdp", true.into()));
        keys.push(("fsdp_config", fsdp(&now)));
    }
    file(&run, page, "trl 1.10.0, transformers 5.23.0 and peft 0.21.2", &keys)
}

/// The attention kernel as transformers calls it.
pub(super) const fn attention(now: &Scenario) -> &'static str {
    match now.recipe.attention {
        AttentionKernel::Flash => "sdpa",
        AttentionKernel::Eager => "eager",
    }
}

fn adapt(run: &mut Run, engine: Engine) {
    frozen_models(run, PROGRAM);
    run.change("trl leaves embedding, head and norms of quantized models in 16 bits", |s| {
        if s.recipe.adapter.is_quantized() {
            s.recipe.unquantized = Unquantized::Half;
        }
    });
    // `_is_quantized_model` and `autocast_adapter_dtype` in trl/trainer/sft_trainer.py and the other trainers.
    run.change("trl makes adapters beside quantized weights and under ZeRO 3 in 16 bits, and others in fp32", |s| {
        let zero_3 = engine == Engine::DeepSpeed && s.cluster.zero == ZeroStage::Stage3;
        if s.recipe.adapter != Adapter::None && s.recipe.precision != Precision::Fp32 {
            let half = s.recipe.adapter.is_quantized() || zero_3;
            s.recipe.adapter_type = if half { AdapterType::Half } else { AdapterType::Full };
        }
    });
}

/// PPO as trl/experimental/ppo/ppo_trainer.py has it: a reference and a reward model always, and as many sequences
/// generated at once as are scored (`local_rollout_forward_batch_size`).
fn ppo(run: &mut Run) {
    run.change("trl’s PPO has a reference, a reward model, and the trained model generates", |s| {
        s.task.rollout = Rollout::Model;
        if s.task.rewarded_by() == RewardModel::Function {
            s.task.reward = RewardModel::Model;
        }
        if s.task.reference == Reference::None {
            let adapted = s.recipe.adapter != Adapter::None;
            s.task.reference = if adapted { Reference::Adapter } else { Reference::Copy };
        }
    });
    let micro = run.plan().micro_batch;
    run.change("trl’s PPO generates as many sequences at once as it scores", |s| {
        if s.task.scored == 0 {
            s.task.scored = micro;
        }
        s.task.generations = s.task.scored;
    });
}

/// What only the trainer of the task reads.
fn task_keys(planned: &Planned, group: u32) -> Keys {
    let now = &planned.scenario;
    let (task, length) = (&now.task, now.recipe.sequence);
    let completed = task.completed(length);
    let whole = ("max_length", Value::from(length));
    // By themselves some trainers switch it off.
    let drops = now.recipe.dropout.is_on() || now.recipe.adapter_dropout.is_on();
    let dropout = ("disable_dropout", Value::from(!drops));
    match task.kind {
        // By itself the loss is taken in chunks (`chunked_nll`).
        TaskKind::Train => vec![whole, ("loss_type", "nll".into()), ("packing", false.into())],
        TaskKind::Dpo => vec![whole, dropout, ("precompute_ref_log_probs", (task.reference == Reference::None).into())],
        TaskKind::Reward => vec![whole, dropout],
        TaskKind::Distil => {
            // Nothing is generated: the data set has the completions.
            vec![whole, dropout, ("teacher_model_name_or_path", "your-teacher".into()), ("lmbda", 0.0.into())]
        }
        TaskKind::Ppo => vec![
            ("sft_model_path", "your-model".into()),
            ("reward_model_path", "your-reward-model".into()),
            ("response_length", completed.into()),
            ("local_rollout_forward_batch_size", task.scored.into()),
            ("num_mini_batches", 1_u32.into()),
            // Its configuration hides the number that the Trainer would find, and DeepSpeed asks for it.
            ("world_size", planned.world.into()),
        ],
        TaskKind::Grpo => {
            let mut keys: Keys = vec![
                ("max_completion_length", completed.into()),
                ("num_generations", group.into()),
                // A reference is there where it counts for anything.
                ("beta", if task.reference == Reference::None { 0.0 } else { 0.04 }.into()),
            ];
            if task.generations > 0 {
                keys.push(("steps_per_generation", (task.generations / now.recipe.batch.max(1)).into()));
            }
            keys.push(match task.rewarded_by() {
                RewardModel::Function | RewardModel::Usual => ("reward_funcs", vec!["accuracy_reward"].into()),
                RewardModel::Model | RewardModel::Offloaded => {
                    ("reward_model_name_or_path", "your-reward-model".into())
                }
            });
            keys.push(("use_vllm", (task.rollout != Rollout::Model).into()));
            match task.rollout {
                Rollout::Model => {}
                Rollout::Server => keys.push(("vllm_mode", "server".into())),
                Rollout::Awake | Rollout::Asleep => keys.extend([
                    ("vllm_mode", "colocate".into()),
                    ("vllm_gpu_memory_utilization", task.engine.fraction().into()),
                    ("vllm_enable_sleep_mode", (task.rollout == Rollout::Asleep).into()),
                ]),
            }
            keys
        }
    }
}

fn adapters(now: &Scenario) -> Keys {
    let recipe = &now.recipe;
    let mut keys: Keys = vec![
        ("use_peft", true.into()),
        ("lora_r", recipe.rank.into()),
        ("lora_alpha", recipe.rank.saturating_mul(2).into()),
        ("lora_dropout", if recipe.adapter_dropout.is_on() { DROPPED } else { 0.0 }.into()),
        ("lora_target_modules", target_modules(now).unwrap_or_else(|| vec![ALL_LINEAR]).into()),
    ];
    if now.task.kind == TaskKind::Reward {
        keys.push(("lora_task_type", "SEQ_CLS".into()));
    }
    match recipe.adapter {
        // The type to compute in is that of `dtype`.
        Adapter::Qlora => keys.extend([
            ("load_in_4bit", true.into()),
            ("bnb_4bit_quant_type", "nf4".into()),
            ("use_bnb_nested_quant", true.into()),
            ("bnb_4bit_quant_storage", loaded_in(now).into()),
        ]),
        Adapter::Lora8 => keys.push(("load_in_8bit", true.into())),
        Adapter::None | Adapter::Lora | Adapter::LoraFp32 => {}
    }
    keys
}
