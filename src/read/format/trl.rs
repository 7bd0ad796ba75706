//! trl: a configuration class for each of its trainers, all of them `TrainingArguments` with other defaults.

use super::super::facts::{AdapterRule, Count, Fact};
use super::Rule::{Count as Counts, Model, Number, Share, Targets, Words};
use super::Said::{self, Link, NotCounted, Nothing};
use super::transformers::{ATTENTION, FLAG_BF16, RECOMPUTES, SCRIPTS, TRAINER};
use super::{Format, Meaning, Needs, Row, Table, accelerate, key, open, peft, python, switch};

const ADAPTERS: Said = Said::Fact(Fact::AdapterRule(AdapterRule::Trl));
/// `add_fused_lm_head` in trainer/dpo_trainer.py and grpo_trainer.py, trl 1.16.0.
const TILES: Said = Said::Fact(Fact::TiledLoss);

pub(super) static SFT: Row = Row {
    format: Format::TrlSft,
    name: "arguments of trl for supervised fine-tuning (SFTConfig)",
    signs: &[
        &["use_peft"],
        &["max_length", "output_dir"],
        &["max_length", "model_name_or_path"],
        &["max_seq_length", "model_name_or_path"],
        &["dataset_name", "model_name_or_path", "learning_rate"],
        &["assistant_only_loss"],
        &["completion_only_loss"],
        &["packing_strategy"],
        &["dataset_text_field"],
    ],
    needs: Some(Needs::FineTuning),
};

pub(super) static SFT_MEANING: Meaning = Meaning {
    always: &[ADAPTERS],
    tables: &[&SFT_CONFIG, &BASE, &MODEL_CONFIG, &TRAINER, &accelerate::FSDP, &SCRIPTS],
    within: &[("deepspeed", &super::deepspeed::MEANING)],
};
pub(super) static DPO: Row = Row {
    format: Format::TrlDpo,
    name: "arguments of trl for DPO (DPOConfig)",
    signs: &[
        &["precompute_ref_log_probs", "output_dir"],
        &["beta", "per_device_train_batch_size"],
        &["max_prompt_length", "per_device_train_batch_size"],
    ],
    needs: Some(Needs::FineTuning),
};

pub(super) static DPO_MEANING: Meaning = Meaning {
    always: &[ADAPTERS, Link("task=dpo"), Said::Fact(Fact::Reference(true)), TILES],
    tables: &[&DPO_CONFIG, &BASE, &MODEL_CONFIG, &TRAINER, &accelerate::FSDP, &SCRIPTS],
    within: &[("deepspeed", &super::deepspeed::MEANING)],
};
pub(super) static GRPO: Row = Row {
    format: Format::TrlGrpo,
    name: "arguments of trl for GRPO (GRPOConfig)",
    signs: &[
        &["num_generations", "output_dir"],
        &["max_completion_length", "output_dir"],
        &["num_generations", "per_device_train_batch_size"],
    ],
    needs: Some(Needs::FineTuning),
};

pub(super) static GRPO_MEANING: Meaning = Meaning {
    always: &[ADAPTERS, Link("task=grpo&lengths=equal"), TILES],
    tables: &[&GRPO_CONFIG, &BASE, &MODEL_CONFIG, &TRAINER, &accelerate::FSDP, &SCRIPTS],
    within: &[("deepspeed", &super::deepspeed::MEANING)],
};
pub(super) static REWARD: Row = Row {
    format: Format::TrlReward,
    name: "arguments of trl for a reward model (RewardConfig)",
    signs: &[],
    needs: Some(Needs::FineTuning),
};

pub(super) static REWARD_MEANING: Meaning = Meaning {
    always: &[ADAPTERS, Link("task=reward")],
    tables: &[&REWARD_CONFIG, &BASE, &MODEL_CONFIG, &TRAINER, &accelerate::FSDP, &SCRIPTS],
    within: &[("deepspeed", &super::deepspeed::MEANING)],
};

pub(super) static OTHER: Row = Row {
    format: Format::TrlOther,
    name: "arguments of another trainer of trl",
    signs: &[],
    needs: Some(Needs::FineTuning),
};

pub(super) static OTHER_MEANING: Meaning = Meaning {
    always: &[ADAPTERS],
    tables: &[&OTHERS, &BASE, &MODEL_CONFIG, &TRAINER, &accelerate::FSDP, &SCRIPTS],
    within: &[("deepspeed", &super::deepspeed::MEANING)],
};

static SFT_CONFIG: Table = Table {
    source: "trl 1.16.0, trainer/sft_config.py, SFTConfig",
    is_of_scripts: false,
    keys: &[
        key(&["max_length", "max_seq_length"], "1024", Number("s")),
        key(&["packing"], "false", Words(&switch(Said::Fact(Fact::Packed(true)), Said::Fact(Fact::Packed(false))))),
        key(
            &["padding_free"],
            "false",
            Words(&switch(Said::Fact(Fact::Flattened(true)), Said::Fact(Fact::Flattened(false)))),
        ),
        open(
            &["packing_strategy"],
            Words(&[
                ("bfd", Nothing),
                ("bfd_split", Nothing),
                ("wrapped", NotCounted("rows are cut out of one stream, and attention sees no ends of documents")),
            ]),
        ),
        key(
            &["loss_type"],
            "nll",
            Words(&[
                ("nll", Said::Fact(Fact::TiledLoss)),
                ("chunked_nll", Said::Fact(Fact::TiledLoss)),
                ("dft", Said::Fact(Fact::TiledLoss)),
            ]),
        ),
        open(&["activation_offloading"], Words(&switch(Said::Fact(Fact::OffloadsActivations(true)), Nothing))),
    ],
    no_matter: "\
            dataset* chat_template_path completion_only_loss assistant_only_loss eos_token pad_token shuffle_dataset \
            eval_packing truncation_mode pad_to_multiple_of router_aux_loss_coef model_init_kwargs num_of_sequences \
            chars_per_token",
    not_counted: &[],
};

static DPO_CONFIG: Table = Table {
    source: "trl 1.16.0, trainer/dpo_config.py, DPOConfig",
    is_of_scripts: false,
    keys: &[
        key(&["max_length"], "1024", Number("s")),
        key(&["precompute_ref_log_probs"], "false", Words(&switch(Said::Fact(Fact::ReferenceBefore(true)), Nothing))),
        open(&["padding_free"], Words(&switch(Said::Fact(Fact::Flattened(true)), Nothing))),
        open(&["activation_offloading"], Words(&switch(Said::Fact(Fact::OffloadsActivations(true)), Nothing))),
        key(&["disable_dropout"], "true", Words(&switch(Link("dropout=off"), Nothing))),
    ],
    no_matter: "\
            beta loss_type loss_weights ld_alpha f_divergence_type f_alpha_divergence_coef label_smoothing \
            use_weighting discopop_tau dataset* max_prompt_length max_completion_length truncation_mode pad_token \
            label_pad_token_id rpo_alpha reference_free model_init_kwargs pad_to_multiple_of router_aux_loss_coef \
            generate_during_eval tools",
    not_counted: &[
        ("precompute_ref_batch_size", "pairs of a pass of the reference before training"),
        ("sync_ref_model", "the reference is mixed with the model every so many steps"),
        ("ref_model_mixup_alpha", "the reference is mixed with the model every so many steps"),
        ("ref_model_sync_steps", "the reference is mixed with the model every so many steps"),
    ],
};

static GRPO_CONFIG: Table = Table {
    source: "trl 1.16.0, trainer/grpo_config.py, GRPOConfig",
    is_of_scripts: false,
    keys: &[
        key(&["max_completion_length"], "512", Counts(Count::Completion)),
        open(&["max_prompt_length"], Counts(Count::Prompt)),
        key(&["beta"], "0", super::Rule::Above(Said::Fact(Fact::Reference(true)), Said::Fact(Fact::Reference(false)))),
        key(&["use_vllm"], "false", Words(&switch(Said::Fact(Fact::Engine(true)), Said::Fact(Fact::Engine(false))))),
        key(
            &["vllm_mode"],
            "colocate",
            Words(&[
                ("colocate", Said::Fact(Fact::EngineElsewhere(false))),
                ("server", Said::Fact(Fact::EngineElsewhere(true))),
            ]),
        ),
        key(
            &["vllm_enable_sleep_mode"],
            "false",
            Words(&switch(Said::Fact(Fact::EngineSleeps(true)), Said::Fact(Fact::EngineSleeps(false)))),
        ),
        key(&["vllm_gpu_memory_utilization"], "0.3", Share("engine_share")),
        open(&["reward_model_name_or_path"], Words(&[])),
    ],
    no_matter: "\
            num_generations num_iterations temperature top_p top_k min_p repetition_penalty epsilon* delta \
            reward_weights reward_funcs scale_rewards loss_type mask_truncated_completions log_completions* \
            log_unique_prompts num_completions_to_print importance_sampling_level vllm_server* vllm_group_port \
            vllm_importance* vllm_guided* vllm_structured* shuffle_dataset generation_kwargs chat_template_kwargs \
            entropy_* use_adaptive_entropy dataset* ds3_gather_for_generation model_init_kwargs disable_dropout \
            use_bias_correction_kl off_policy_mask_threshold vllm_model_impl multi_objective_aggregation \
            num_generations_eval log_multimodal router_aux_loss_coef pad_to_multiple_of cache_implementation sapo_* \
            vespo_* top_entropy_quantile max_tool_calling_iterations transformers_continuous_batching_config \
            replay_buffer_size",
    not_counted: &[
        ("steps_per_generation", "completions of several steps are generated at once"),
        ("generation_batch_size", "completions of several steps are generated at once"),
        ("vllm_tensor_parallel_size", "the engine divides its weights over GPUs; its share of the GPU is counted"),
        ("cast_lm_head_to_fp32", "the head’s weights and logits are in fp32"),
        ("use_transformers_*", "transformers generates with a paged cache of its own"),
        ("sync_ref_model", "the reference is mixed with the model every so many steps"),
        ("ref_model_*", "the reference is mixed with the model every so many steps"),
        ("vllm_max_model_length", "the engine keeps room for sequences of this length within its share"),
    ],
};

static REWARD_CONFIG: Table = Table {
    source: "trl 1.16.0, trainer/reward_config.py, RewardConfig",
    is_of_scripts: false,
    keys: &[
        key(&["max_length"], "1024", Number("s")),
        open(&["activation_offloading"], Words(&switch(Said::Fact(Fact::OffloadsActivations(true)), Nothing))),
        key(&["disable_dropout"], "true", Words(&switch(Link("dropout=off"), Nothing))),
    ],
    no_matter: "\
            center_rewards_coefficient dataset* chat_template_path eos_token pad_token pad_to_multiple_of \
            model_init_kwargs",
    not_counted: &[],
};

const PAIRS: &str = "pairs without a reference; one sequence is counted";
const GENERATES: &str = "the model generates before it learns; the step alone is counted";
const TAUGHT: &str = "a teacher computes the same tokens; the step alone is counted";

/// The other trainers by the names of their scripts; [`TRAINER_KEY`] has that name.
static OTHERS: Table = Table {
    source: "trl 1.16.0, trainer/rloo_config.py, trainer/kto_config.py and experimental/*/*_config.py",
    is_of_scripts: false,
    keys: &[
        open(
            &[super::TRAINER_KEY],
            Words(&[
                ("ppo", Link("task=ppo")),
                ("kto", NotCounted("single answers and a reference; one sequence and no reference are counted")),
                ("bco", NotCounted("single answers and a reference; one sequence and no reference are counted")),
                ("orpo", NotCounted(PAIRS)),
                ("cpo", NotCounted(PAIRS)),
                ("tpo", NotCounted("triples without a reference; one sequence is counted")),
                ("prm", NotCounted("a head of two classes in place of the vocabulary")),
                ("rloo", NotCounted(GENERATES)),
                ("online_dpo", NotCounted(GENERATES)),
                ("nash_md", NotCounted(GENERATES)),
                ("xpo", NotCounted(GENERATES)),
                ("ssd", NotCounted(GENERATES)),
                ("async_grpo", NotCounted("another process generates; the step alone is counted")),
                ("distillation", NotCounted(TAUGHT)),
                ("server_distillation", NotCounted("a server’s most likely tokens are read with each sequence")),
                ("gkd", NotCounted(TAUGHT)),
                ("gold", NotCounted(TAUGHT)),
                ("minillm", NotCounted(TAUGHT)),
                ("iw_opd", NotCounted(TAUGHT)),
                ("sdft", NotCounted(TAUGHT)),
                ("sdpo", NotCounted(TAUGHT)),
            ]),
        ),
        open(&["max_length"], Number("s")),
        open(&["max_completion_length", "response_length", "max_new_tokens"], Counts(Count::Completion)),
        open(&["max_prompt_length"], Counts(Count::Prompt)),
        open(&["activation_offloading"], Words(&switch(Said::Fact(Fact::OffloadsActivations(true)), Nothing))),
        open(&["disable_dropout"], Words(&switch(Link("dropout=off"), Nothing))),
    ],
    no_matter: "\
            beta* alpha lmbda gamma lam loss_* kl_* num_ppo_epochs num_mini_batches num_total_batches whiten_rewards cliprange* \
            vf_coef total_episodes num_sample_generations stop_token* missing_eos_penalty sft_model_path \
            reward_model_path reward_* model_adapter_name ref_adapter_name world_size num_generations* temperature \
            top_p top_k min_p repetition_penalty generation_* generate_* epsilon* num_iterations normalize_advantages \
            mask_truncated_completions log_* num_completions_to_print desirable_weight undesirable_weight \
            prompt_* min_density_ratio max_density_ratio mixture_coef tpo_* cpo_alpha simpo_gamma label_smoothing \
            padding_value is_encoder_decoder step_separator train_on_last_step_only seq_kd uld_* use_uld_loss \
            use_extended_uld distillation_* iw_opd_* callbacks max_reprompt_len use_successful_as_teacher \
            success_reward_threshold reprompt_template solution_template feedback_template \
            environment_feedback_only_without_solution remove_thinking_from_demonstration diagnostics_* \
            dont_reprompt_on_self_success num_loss_tokens_to_skip filter_* kd_temperature rkl_advantage \
            single_step_decomposition length_normalization truncation_mode pad_token pad_to_multiple_of dataset* \
            model_init_kwargs ds3_gather_for_generation cache_implementation sync_ref_model ref_model_* \
            request_timeout max_inflight_tasks max_staleness queue_maxsize weight_sync_steps \
            heartbeat_stale_after_s fork_threshold_tokens shuffle_dataset vllm_server* vllm_group_port \
            vllm_structured* vllm_model_impl vllm_sync_frequency eval_num_prompts accuracy_eval_num_examples \
            max_train_examples max_eval_examples teacher_sync_steps teacher_update_rate teacher_model_kind \
            teacher_model_revision teacher_tokenizer_name_or_path teacher_prompt_template \
            teacher_model_init_kwargs use_teacher_server chat_template_kwargs reverse_kl_top_1_mode importance_sampling_level scale_rewards \
            max_tool_calling_iterations transformers_continuous_batching_config local_batch_size local_mini_batch_size \
            micro_batch_size \
            router_aux_loss_coef precompute_ref_log_probs",
    not_counted: &[
        ("teacher_model*", TAUGHT),
        ("use_vllm", "the engine that generates has memory of its own"),
        ("vllm_*", "the engine that generates has memory of its own"),
        ("steps_per_generation", "completions of several steps are generated at once"),
        ("local_rollout_forward_batch_size", "answers of a pass without gradients"),
        ("batch_size", "answers that are generated at once"),
        ("mini_batch_size", "answers that are generated at once"),
        ("token_budget", "tokens of a micro-batch instead of sequences"),
        ("use_transformers_*", "transformers generates with a paged cache of its own"),
        ("precompute_ref_batch_size", "pairs of a pass of the reference before training"),
    ],
};

/// What trl’s classes have other defaults for than the Trainer.
static BASE: Table = Table {
    source: "trl 1.16.0, trainer/base_config.py, _BaseConfig",
    is_of_scripts: false,
    keys: &[
        key(&["bf16"], "true", Words(FLAG_BF16)),
        key(&["gradient_checkpointing", "activation_checkpointing"], "true", Words(RECOMPUTES)),
    ],
    no_matter: "",
    not_counted: &[],
};

static MODEL_CONFIG: Table = Table {
    source: "trl 1.16.0, trainer/model_config.py, ModelConfig",
    is_of_scripts: true,
    keys: &[
        open(&["model_name_or_path"], Model),
        key(
            &["dtype", "torch_dtype", "model_init_kwargs.dtype", "model_init_kwargs.torch_dtype"],
            "float32",
            Words(python::LOADED),
        ),
        key(&["attn_implementation", "model_init_kwargs.attn_implementation"], "sdpa", Words(ATTENTION)),
        key(&["use_peft"], "false", Words(peft::SWITCH)),
        open(&["lora_r"], Number("rank")),
        open(&["lora_dropout"], peft::DROPOUT),
        open(&["lora_target_modules"], Targets),
        open(&["load_in_4bit"], Words(python::FOUR)),
        open(&["load_in_8bit"], Words(python::EIGHT)),
        open(&["use_bnb_nested_quant"], Words(python::DOUBLE)),
    ],
    no_matter: "\
            lora_alpha use_rslora bnb_4bit_quant_type bnb_4bit_quant_storage lora_task_type model_revision \
            trust_remote_code",
    not_counted: &[],
};
