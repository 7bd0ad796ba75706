//! verl’s overrides of Hydra, as they stand behind `python -m verl.trainer.main_ppo`.

use super::super::facts::{Count, Fact, Half, Loaded, Shards};
use super::Rule::{Count as Counts, Model, Number, Rank, Share, Targets, Words};
use super::Said::{self, Link, Nothing};
use super::{Format, Meaning, Needs, RESHARDS, Row, Table, key, open, switch};

pub(super) static ROW: Row = Row {
    format: Format::Verl,
    name: "overrides of verl",
    signs: &[&["actor_rollout_ref"], &["algorithm.adv_estimator"]],
    needs: Some(Needs::FineTuning),
};

pub(super) static MEANING: Meaning = Meaning {
    always: &[Said::Fact(Fact::Half(Half::Bf16)), Link("attn=flash&dropout=off&lengths=equal&optimizer=adamw")],
    tables: &[&CONFIG],
    within: &[],
};

const ULYSSES: &str = "Ulysses divides the heads of attention over GPUs";
const TOKENS: &str =
    "a micro-batch of so many tokens, whatever its sequences: ppo_micro_batch_size_per_gpu then says nothing";
const OFF: Said = Nothing;
/// The engine of an actor on Megatron-LM (config/engine/megatron.yaml, which has its distributed optimizer on).
const MEGATRON: Said = Link("engine=megatron&step=fused&kernels=fused&precision=bf16&grad=32&zero=1");

static CONFIG: Table = Table {
    source: "verl 0.9.1, trainer/config/, ppo_trainer.yaml and the groups that it takes",
    is_of_scripts: false,
    keys: &[
        open(
            &["config_name"],
            Words(&[
                ("ppo_megatron_trainer", MEGATRON),
                ("ppo_megatron_trainer.yaml", MEGATRON),
                ("ppo_trainer", Nothing),
                ("ppo_trainer.yaml", Nothing),
            ]),
        ),
        open(&["actor_rollout_ref.model.path"], Model),
        key(
            &["algorithm.adv_estimator"],
            "gae",
            Words(&[
                ("gae", Link("task=ppo")),
                ("grpo", Link("task=grpo")),
                ("rloo", Link("task=grpo")),
                ("reinforce_plus_plus", Link("task=grpo")),
                ("reinforce_plus_plus_baseline", Link("task=grpo")),
                ("remax", Link("task=grpo")),
                ("gdpo", Link("task=grpo")),
            ]),
        ),
        key(&["data.max_prompt_length"], "512", Counts(Count::Prompt)),
        key(&["data.max_response_length"], "512", Counts(Count::Completion)),
        open(&["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"], Number("b")),
        key(&["actor_rollout_ref.actor.ppo_mini_batch_size"], "256", Counts(Count::GlobalBatch)),
        key(&["actor_rollout_ref.rollout.n"], "1", Counts(Count::PerPrompt)),
        open(&["actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu"], Number("score_b")),
        key(&["trainer.n_gpus_per_node"], "8", Counts(Count::PerMachine)),
        key(&["trainer.nnodes"], "1", Counts(Count::Machines)),
        key(
            &["actor_rollout_ref.model.enable_gradient_checkpointing"],
            "true",
            Words(&[("true", Said::Fact(Fact::Recomputes(true))), ("false", Said::Fact(Fact::Recomputes(false)))]),
        ),
        open(
            &["actor_rollout_ref.model.enable_activation_offload"],
            Words(&switch(Said::Fact(Fact::OffloadsActivations(true)), Nothing)),
        ),
        key(&["actor_rollout_ref.model.lora_rank"], "0", Rank),
        open(&["actor_rollout_ref.model.target_modules"], Targets),
        key(
            &["actor_rollout_ref.actor.strategy"],
            "fsdp",
            Words(&[
                ("fsdp", Said::Fact(Fact::Shards(Shards::Fsdp))),
                ("fsdp2", Said::Fact(Fact::Shards(Shards::Fsdp))),
                ("megatron", MEGATRON),
            ]),
        ),
        open(&["actor_rollout_ref.actor.megatron.tensor_model_parallel_size"], Number("tp")),
        open(&["actor_rollout_ref.actor.megatron.pipeline_model_parallel_size"], Number("pp")),
        open(&["actor_rollout_ref.actor.megatron.virtual_pipeline_model_parallel_size"], Number("vpp")),
        open(&["actor_rollout_ref.actor.megatron.context_parallel_size"], Number("cp")),
        open(&["actor_rollout_ref.actor.megatron.expert_model_parallel_size"], Number("ep")),
        open(
            &["actor_rollout_ref.actor.megatron.sequence_parallel"],
            Words(&[("true", Link("sp=on")), ("false", Link("sp=off"))]),
        ),
        key(
            &["actor_rollout_ref.actor.fsdp_config.model_dtype"],
            "fp32",
            Words(&[
                ("fp32", Said::Fact(Fact::Loaded(Loaded::Full))),
                ("bf16", Said::Fact(Fact::Loaded(Loaded::Half))),
                ("bfloat16", Said::Fact(Fact::Loaded(Loaded::Half))),
            ]),
        ),
        open(&["actor_rollout_ref.actor.fsdp_config.reshard_after_forward"], Words(RESHARDS)),
        key(
            &["actor_rollout_ref.rollout.name"],
            "vllm",
            Words(&[
                ("vllm", Said::Fact(Fact::Engine(true))),
                ("sglang", Said::Fact(Fact::Engine(true))),
                ("hf", Said::Fact(Fact::Engine(false))),
            ]),
        ),
        key(
            &["actor_rollout_ref.rollout.free_cache_engine"],
            "true",
            Words(&[("true", Said::Fact(Fact::EngineSleeps(true))), ("false", Said::Fact(Fact::EngineSleeps(false)))]),
        ),
        key(&["actor_rollout_ref.rollout.gpu_memory_utilization"], "0.5", Share("engine_share")),
        key(&["actor_rollout_ref.actor.use_kl_loss"], "false", Words(&switch(Said::Fact(Fact::Reference(true)), OFF))),
        open(&["algorithm.use_kl_in_reward"], Words(&switch(Said::Fact(Fact::Reference(true)), OFF))),
        open(&["actor_rollout_ref.ref.fsdp_config.param_offload"], Words(&switch(Link("ref=offloaded"), Nothing))),
        open(&["actor_rollout_ref.model.use_fused_kernels"], Words(&switch(Said::Fact(Fact::FusedLoss), Nothing))),
        open(&["actor_rollout_ref.model.use_liger"], Words(&switch(Said::Fact(Fact::LigerNorms(true)), Nothing))),
    ],
    no_matter: "config_path data.* trainer.* algorithm.* actor_rollout_ref.actor.optim.* actor_rollout_ref.actor.kl_* actor_rollout_ref.actor.clip_* \
        actor_rollout_ref.actor.entropy_coeff actor_rollout_ref.actor.loss_agg_mode actor_rollout_ref.actor.ppo_epochs \
        actor_rollout_ref.actor.shuffle actor_rollout_ref.actor.grad_clip actor_rollout_ref.actor.checkpoint.* actor_rollout_ref.actor.policy_loss.* \
        actor_rollout_ref.actor.use_torch_compile actor_rollout_ref.actor.loss_scale_factor actor_rollout_ref.hybrid_engine \
        actor_rollout_ref.nccl_timeout actor_rollout_ref.model.trust_remote_code actor_rollout_ref.model.lora_alpha \
        actor_rollout_ref.model.use_shm actor_rollout_ref.model.external_lib actor_rollout_ref.model.override_config.* \
        actor_rollout_ref.model.use_remove_padding actor_rollout_ref.rollout.temperature actor_rollout_ref.rollout.top_* \
        actor_rollout_ref.rollout.load_format actor_rollout_ref.rollout.enforce_eager actor_rollout_ref.rollout.mode \
        actor_rollout_ref.rollout.dtype actor_rollout_ref.rollout.val_kwargs.* actor_rollout_ref.rollout.do_sample \
        actor_rollout_ref.rollout.enable_chunked_prefill actor_rollout_ref.rollout.max_num_* actor_rollout_ref.rollout.max_model_len \
        actor_rollout_ref.rollout.ignore_eos actor_rollout_ref.rollout.prompt_length actor_rollout_ref.rollout.response_length \
        actor_rollout_ref.rollout.multi_turn.* actor_rollout_ref.rollout.calculate_log_probs actor_rollout_ref.rollout.layered_summon \
        actor_rollout_ref.rollout.disable_log_stats actor_rollout_ref.rollout.engine_kwargs.* actor_rollout_ref.rollout.agent.* \
        actor_rollout_ref.rollout.log_prob_micro_batch_size* actor_rollout_ref.rollout.log_prob_use_dynamic_bsz \
        actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu actor_rollout_ref.rollout.checkpoint_engine.* \
        actor_rollout_ref.actor.fsdp_config.wrap_policy.* actor_rollout_ref.actor.fsdp_config.use_orig_params actor_rollout_ref.actor.fsdp_config.dtype \
        actor_rollout_ref.ref.fsdp_config.wrap_policy.* actor_rollout_ref.ref.strategy reward_model.* custom_reward_function.* reward.* \
        critic.optim.* critic.cliprange_value critic.model.* critic.ppo_* global_profiler.* ray_* hydra.* transfer_queue.*",
    not_counted: &[
        (
            "actor_rollout_ref.actor.fsdp_config.param_offload",
            "weights leave the GPU while the engine generates, and are back for the step",
        ),
        (
            "actor_rollout_ref.actor.fsdp_config.optimizer_offload",
            "the optimizer’s state leaves the GPU but for its step",
        ),
        ("actor_rollout_ref.actor.fsdp_config.offload_policy", "weights, gradients and states stay in CPU memory"),
        ("actor_rollout_ref.actor.fsdp_config.fsdp_size", "FSDP divides over groups of GPUs of this size"),
        (
            "actor_rollout_ref.actor.fsdp_config.forward_prefetch",
            "two layers are whole at once in the forward pass as well",
        ),
        ("actor_rollout_ref.actor.use_dynamic_bsz", TOKENS),
        ("actor_rollout_ref.actor.ppo_max_token_len_per_gpu", TOKENS),
        ("actor_rollout_ref.actor.ppo_micro_batch_size", "a micro-batch over all GPUs"),
        ("actor_rollout_ref.actor.ulysses_sequence_parallel_size", ULYSSES),
        ("actor_rollout_ref.ref.ulysses_sequence_parallel_size", ULYSSES),
        ("actor_rollout_ref.actor.entropy_*", "the entropy of the logits is taken in chunks, or computed again"),
        ("actor_rollout_ref.actor.megatron.param_offload", "weights leave the GPU while the engine generates"),
        ("actor_rollout_ref.actor.megatron.grad_offload", "gradients leave the GPU while the engine generates"),
        ("actor_rollout_ref.actor.megatron.optimizer_offload", "the optimizer’s state leaves the GPU but for its step"),
        ("actor_rollout_ref.actor.megatron.override_transformer_config.*", "other settings of Megatron-LM’s layers"),
        ("actor_rollout_ref.actor.megatron.*", "other settings of Megatron-LM"),
        ("actor_rollout_ref.ref.megatron.*", "other settings of the reference than those of the model"),
        (
            "actor_rollout_ref.rollout.tensor_model_parallel_size",
            "the engine divides its weights over GPUs; its share of the GPU is counted",
        ),
        ("actor_rollout_ref.ref.*", "other settings of the reference than those of the model"),
        ("critic.*", "other settings of the value model than those of the model"),
    ],
};
