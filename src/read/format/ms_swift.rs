//! ms-swift’s flags and YAML. It loads a model in the type of its checkpoint, and mixed precision follows that type.

use super::super::facts::{AdapterRule, Count, Fact, Loaded};
use super::Rule::{Count as Counts, File, Model, Number, Share, Targets, Words};
use super::Said::{self, Link, NotCounted, Nothing};
use super::transformers::{FLAG_BF16, RECOMPUTES, TRAINER};
use super::{Format, Meaning, Needs, Row, Table, accelerate, key, open, peft, python, reasons, switch};

pub(super) static ROW: Row = Row {
    format: Format::MsSwift,
    name: "arguments of ms-swift",
    signs: &[
        &["tuner_type"],
        &["train_type", "model"],
        &["rlhf_type"],
        &["sft_type"],
        &["model", "dataset", "torch_dtype"],
        &["split_dataset_ratio"],
    ],
    needs: Some(Needs::FineTuning),
};

pub(super) static MEANING: Meaning = Meaning {
    always: &[Said::Fact(Fact::AdapterRule(AdapterRule::Peft)), Said::Fact(Fact::Loaded(Loaded::Half))],
    tables: &[&ARGUMENTS, &TRAINER, &accelerate::FSDP],
    within: &[("deepspeed", &super::deepspeed::MEANING)],
};

static ARGUMENTS: Table = Table {
    source: "ms-swift 4.6.0, arguments/, SftArguments, RLHFArguments and their bases",
    is_of_scripts: false,
    keys: &[
        open(&["model", "model_id_or_path", "model_type"], Model),
        key(
            &["tuner_type", "train_type", "sft_type"],
            "lora",
            Words(&[
                ("lora", Said::Fact(Fact::Adapters(true))),
                ("full", Said::Fact(Fact::Adapters(false))),
                ("longlora", NotCounted("attention in groups of tokens")),
                ("adalora", NotCounted("AdaLoRA begins with a larger rank and keeps a sum for each of its values")),
            ]),
        ),
        key(&["lora_rank"], "8", Number("rank")),
        key(&["lora_dropout", "lora_dropout_p"], "0.05", peft::DROPOUT),
        key(&["target_modules", "lora_target_modules"], "all-linear", Targets),
        open(
            &["lora_dtype"],
            Words(&[
                ("float32", Said::Fact(Fact::AdapterRule(AdapterRule::Peft))),
                ("bfloat16", Said::Fact(Fact::AdapterRule(AdapterRule::Half))),
                ("float16", Said::Fact(Fact::AdapterRule(AdapterRule::Half))),
            ]),
        ),
        open(&["quant_bits", "quantization_bit"], Words(super::llama_factory::QUANTIZED)),
        open(&["bnb_4bit_use_double_quant"], Words(python::DOUBLE)),
        open(&["max_length", "max_model_len"], Number("s")),
        open(&["packing"], Words(&switch(Said::Fact(Fact::Packed(true)), Nothing))),
        open(&["padding_free"], Words(&switch(Said::Fact(Fact::Flattened(true)), Nothing))),
        key(&["per_device_train_batch_size", "batch_size"], "1", Number("b")),
        open(&["gradient_accumulation_steps"], Number("accum")),
        open(&["torch_dtype", "dtype"], Words(python::LOADED)),
        key(&["bf16"], "auto", Words(FLAG_BF16)),
        key(&["attn_impl"], "sdpa", Words(FLASH)),
        open(&["use_flash_attn"], Words(&switch(Link("attn=flash"), Nothing))),
        key(&["gradient_checkpointing"], "true", Words(RECOMPUTES)),
        open(&["deepspeed"], File(super::transformers::DEEPSPEED)),
        open(
            &["rlhf_type"],
            Words(&[
                ("dpo", Link("task=dpo")),
                ("grpo", Link("task=grpo")),
                ("ppo", Link("task=ppo")),
                ("rm", Link("task=reward")),
                ("gkd", Link("task=distil")),
                ("kto", NotCounted("KTO reads single answers and a reference")),
                ("orpo", NotCounted("ORPO reads pairs without a reference")),
                ("simpo", NotCounted("SimPO reads pairs without a reference")),
                ("cpo", NotCounted("CPO reads pairs without a reference")),
            ]),
        ),
        open(&["max_completion_length"], Counts(Count::Completion)),
        open(&["use_vllm"], Words(&switch(Said::Fact(Fact::Engine(true)), Said::Fact(Fact::Engine(false))))),
        open(
            &["vllm_mode"],
            Words(&[
                ("colocate", Said::Fact(Fact::EngineElsewhere(false))),
                ("server", Said::Fact(Fact::EngineElsewhere(true))),
            ]),
        ),
        open(&["sleep_level"], super::Rule::Above(Said::Fact(Fact::EngineSleeps(true)), Nothing)),
        open(&["vllm_gpu_memory_utilization"], Share("engine_share")),
        open(&["beta"], super::Rule::Above(Said::Fact(Fact::Reference(true)), Said::Fact(Fact::Reference(false)))),
        open(&["deepspeed_autotp_size"], Number("tp")),
        open(&["freeze_vit"], Words(&[("true", Link("tower=frozen")), ("false", Link("tower=trained"))])),
        open(&["max_pixels"], Number("max_pixels")),
    ],
    no_matter: "dataset* val_dataset* cached_dataset split_dataset_ratio system template* agent_template use_chat_template truncation_strategy \
        lora_alpha lora_bias lorap_lr_ratio lora_lr_ratio use_rslora init_weights tuner_backend adapters external_plugins custom_* \
        seed data_seed use_hf hub_token model_author model_name task_type streaming interleave_prob stopping_strategy shuffle_buffer_size \
        download_mode columns strict remove_unused_columns lazy_tokenize packing_* load_from_cache_file add_version create_checkpoint_symlink \
        swanlab_* max_new_tokens temperature top_k top_p repetition_penalty num_beams stream stop_words num_generations reward_* \
        loss_scale model_revision device_map local_repo_path bnb_4bit_* quant_method rope_scaling response_prefix enable_thinking check_model \
        ignore_args_error use_swift_lora padding_side freeze_aligner freeze_llm vit_lr aligner_lr epsilon* num_iterations loss_type \
        rpo_alpha ld_alpha cpo_alpha simpo_gamma desirable_weight undesirable_weight log_completions vllm_server_* vllm_max_model_len \
        vllm_enforce_eager vllm_limit_mm_per_prompt async_generate dynamic_sample scale_rewards ref_model_type ref_model_revision \
        num_train_epochs train_iters gpu_memory_utilization model_kwargs metric loss_weights norm_bbox lora_ga_* galore_* kl_coef",
    not_counted: &[
        ("sequence_parallel_size", "Ulysses divides the heads of attention over GPUs"),
        ("use_dora", reasons::DORA),
        ("modules_to_save", reasons::WHOLE_MODULES),
        ("freeze_parameters*", "only some weights are trained: fewer gradients and moments than are counted"),
        ("trainable_parameters*", "more weights are trained than are counted"),
        ("target_parameters", "adapters of single parameters, such as stacks of experts"),
        ("zero_hpz_partition_size", "ZeRO++ keeps a second copy of the weights in each machine"),
        ("vit_gradient_checkpointing", "the tower’s layers are computed again by themselves"),
        ("offload_model", "weights leave the GPU while the engine generates"),
        ("offload_optimizer", "the optimizer’s state leaves the GPU while the engine generates"),
        ("vllm_tensor_parallel_size", "the engine divides its weights over GPUs; its share of the GPU is counted"),
        ("ref_model", "another reference than the model itself"),
        ("teacher_model", "a teacher of other sizes"),
        ("move_model_batches", "weights go to the engine in pieces"),
        ("tuner_*", "a tuner of ms-swift’s own"),
    ],
};

/// Attention by ms-swift’s words.
const FLASH: &[(&str, Said)] = &[
    ("flash_attn", Link("attn=flash")),
    ("flash_attention_2", Link("attn=flash")),
    ("flash_attention_3", Link("attn=flash")),
    ("sdpa", Link("attn=flash")),
    ("eager", Link("attn=eager")),
];
