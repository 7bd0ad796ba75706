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
            num_generations_eval log_multimodal",
    not_counted: &[
        ("steps_per_generation", "completions of several steps are generated at once"),
        ("generation_batch_size", "completions of several steps are generated at once"),
        ("vllm_tensor_parallel_size", "the engine divides its weights over GPUs; its share of the GPU is counted"),
        ("cast_lm_head_to_fp32", "the head’s weights and logits are in fp32"),
        ("use_transformers_paged", "transformers generates with a paged cache of its own"),
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
