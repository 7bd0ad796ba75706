//! OpenRLHF’s flags, with the names that they had before version 0.10. DeepSpeed carries out the step.

use super::super::facts::{Count, Fact, Half, Shards};
use super::Rule::{Count as Counts, Model, Number, Rank, Share, Targets, Words};
use super::Said::{self, Link, Nothing};
use super::{Format, Meaning, Needs, Row, Table, key, open, peft, python, switch};

pub(super) static ROW: Row = Row {
    format: Format::OpenRlhf,
    name: "flags of OpenRLHF",
    signs: &[
        &["micro_train_batch_size", "pretrain"],
        &["ds.zero_stage"],
        &["train.micro_batch_size", "ds"],
        &["actor_num_gpus_per_node"],
    ],
    needs: Some(Needs::FineTuning),
};

pub(super) static MEANING: Meaning =
    Meaning { always: &[Said::Fact(Fact::Shards(Shards::DeepSpeed))], tables: &[&FLAGS], within: &[] };

static FLAGS: Table = Table {
    source: "openrlhf 0.11.2, cli/train_sft.py and cli/train_ppo_ray.py",
    is_of_scripts: false,
    keys: &[
        open(&["model.model_name_or_path", "actor.model_name_or_path", "pretrain"], Model),
        key(&["train.micro_batch_size", "micro_train_batch_size"], "8", Number("b")),
        key(&["train.batch_size", "train_batch_size"], "128", Counts(Count::GlobalBatch)),
        key(&["data.max_len", "max_len"], "2048", Number("s")),
        open(&["rollout.max_new_tokens", "generate_max_len"], Counts(Count::Completion)),
        open(&["prompt_max_len"], Counts(Count::Prompt)),
        key(&["ds.zero_stage", "zero_stage"], "2", Words(super::deepspeed::STAGES)),
        key(
            &["ds.param_dtype", "param_dtype"],
            "bf16",
            Words(&[("bf16", Said::Fact(Fact::Half(Half::Bf16))), ("fp16", Said::Fact(Fact::Half(Half::Fp16)))]),
        ),
        open(&["bf16"], Words(super::transformers::FLAG_BF16)),
        open(&["ds.adam_offload", "adam_offload"], Words(&switch(Said::Fact(Fact::OffloadsOptimizer(true)), Nothing))),
        open(&["ds.attn_implementation", "attn_implementation"], Words(super::transformers::ATTENTION)),
        open(&["flash_attn"], Words(&switch(Link("attn=flash"), Nothing))),
        key(
            &["model.gradient_checkpointing_enable", "actor.gradient_checkpointing_enable", "gradient_checkpointing"],
            "false",
            Words(&[("true", Said::Fact(Fact::Recomputes(true))), ("false", Said::Fact(Fact::Recomputes(false)))]),
        ),
        open(&["ds.use_liger_kernel", "use_liger_kernel"], Words(&switch(Said::Fact(Fact::Liger(true)), Nothing))),
        open(
            &["ds.grad_accum_dtype", "grad_accum_dtype"],
            Words(&[("fp32", Link("grad=32")), ("bf16", Link("grad=16"))]),
        ),
        open(&["ds.tensor_parallel_size", "ds_tensor_parallel_size"], Number("tp")),
        open(&["ds.ring_attn_size", "ring_attn_size"], Number("cp")),
        open(&["ds.load_in_4bit", "load_in_4bit"], Words(python::FOUR)),
        key(&["ds.lora.rank", "lora_rank"], "0", Rank),
        open(&["ds.lora.target_modules", "target_modules"], Targets),
        open(&["ds.lora.dropout", "lora_dropout"], peft::DROPOUT),
        open(&["ds.packing_samples", "packing_samples"], Words(&switch(Said::Fact(Fact::Flattened(true)), Nothing))),
        open(&["optim"], Words(&[("adam", Link("optimizer=adamw")), ("muon", Link("optimizer=muon"))])),
        open(&["actor.num_gpus_per_node", "actor_num_gpus_per_node"], Counts(Count::PerMachine)),
        open(&["actor.num_nodes", "actor_num_nodes"], Counts(Count::Machines)),
        open(
            &["vllm.num_engines", "vllm_num_engines"],
            super::Rule::Above(Said::Fact(Fact::Engine(true)), Said::Fact(Fact::Engine(false))),
        ),
        open(
            &["train.colocate_all", "colocate_all_models"],
            Words(&[
                ("true", Said::Fact(Fact::EngineElsewhere(false))),
                ("false", Said::Fact(Fact::EngineElsewhere(true))),
            ]),
        ),
        open(
            &["vllm.enable_sleep", "vllm_enable_sleep"],
            Words(&switch(Said::Fact(Fact::EngineSleeps(true)), Nothing)),
        ),
        open(&["vllm.gpu_memory_utilization", "vllm_gpu_memory_utilization"], Share("engine_share")),
        open(
            &["algo.advantage.estimator", "advantage_estimator"],
            Words(&[
                ("gae", Link("task=ppo")),
                ("group_norm", Link("task=grpo")),
                ("rloo", Link("task=grpo")),
                ("reinforce", Link("task=grpo")),
                ("reinforce_baseline", Link("task=grpo")),
                ("dr_grpo", Link("task=grpo")),
            ]),
        ),
        open(&["rollout.n_samples_per_prompt", "n_samples_per_prompt"], super::Rule::Above(Nothing, Nothing)),
        open(&["ref.offload", "ref_reward_offload"], Words(&switch(Link("ref=offloaded"), Nothing))),
    ],
    no_matter: "ckpt.* logger.* eval.* train.* data.* adam.* muon.* lr_scheduler lr_warmup_ratio min_lr_ratio max_norm local_rank use_ms \
        rollout.* algo.* reward.* vllm.* model.* actor.* ds.lora.alpha lora_alpha ds.overlap_comm overlap_comm ds.use_universal_ckpt \
        ds.ring_attn_head_stride ring_head_stride ds.value_head_prefix ds.enable_sleep save_path save_steps ckpt_path logging_steps eval_steps max_epochs \
        max_samples num_episodes rollout_batch_size micro_rollout_batch_size learning_rate actor_learning_rate critic_learning_rate dataset* prompt_data \
        input_key output_key label_key input_template apply_chat_template init_kl_coef normalize_reward use_wandb wandb_* reward_pretrain remote_rm_url \
        critic_* ref_num_* reward_num_* vllm_* save_hf_ckpt load_checkpoint seed l2 beta adam_betas freezing_actor_steps gamma lambd eps_clip use_kl_loss \
        kl_estimator enforce_eager temperature top_p disable_fast_tokenizer multiturn critic.* ref.num_*",
    not_counted: &[
        ("ds.zpg", "ZeRO++ keeps a second copy of the weights in each machine"),
        ("zpg", "ZeRO++ keeps a second copy of the weights in each machine"),
        ("ds.deepcompile", "the compiler decides what is gathered when"),
        ("train.dynamic_batch_enable", "a micro-batch of so many tokens, whatever its sequences"),
        ("train.max_tokens_per_gpu", "a micro-batch of so many tokens, whatever its sequences"),
        ("train.enable_ema", "a moving average of the weights"),
        ("enable_ema", "a moving average of the weights"),
        ("actor.gradient_checkpointing_reentrant", "reentrant recomputation keeps the same inputs of layers"),
        ("model.gradient_checkpointing_reentrant", "reentrant recomputation keeps the same inputs of layers"),
        ("gradient_checkpointing_use_reentrant", "reentrant recomputation keeps the same inputs of layers"),
    ],
};
