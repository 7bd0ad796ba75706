//! `TrainingArguments` of transformers, as YAML, JSON, flags or Python; most other programs build on its keys.

use super::super::facts::{Count, Fact, Half, Shards};
use super::Rule::{Count as Counts, File, Number, Optimizer, OptimizerArguments, Words};
use super::Said::{self, Link, NotCounted, Nothing};
use super::{Format, Meaning, Needs, Row, Table, key, open, reasons};

pub(super) static ROW: Row = Row {
    format: Format::Transformers,
    name: "arguments of the Trainer of transformers",
    signs: &[
        &["per_device_train_batch_size"],
        &["output_dir", "num_train_epochs"],
        &["output_dir", "learning_rate"],
        &["gradient_checkpointing", "learning_rate"],
    ],
    needs: Some(Needs::FineTuning),
};

pub(super) static MEANING: Meaning = Meaning {
    always: &[],
    tables: &[&TRAINER, &super::accelerate::FSDP, &SCRIPTS],
    within: &[("deepspeed", &super::deepspeed::MEANING)],
};

/// Optimizers by their names in transformers: all of `OptimizerNames` in training_args.py of 5.24.0 but those that other
/// devices than GPUs have, and names of before.
pub(in crate::read) const OPTIMIZERS: &[(&str, Said)] = &[
    ("adamw_torch_fused", Link("optimizer=adamw&step=fused")),
    ("adamw_torch", Link("optimizer=adamw&step=foreach")),
    ("adamw_hf", Link("optimizer=adamw&step=loop")),
    ("adamw_apex_fused", Link("optimizer=adamw&step=fused")),
    ("adamw_bnb_8bit", Link("optimizer=adam8bit")),
    ("adamw_8bit", Link("optimizer=adam8bit")),
    ("paged_adamw_8bit", Link("optimizer=adam8bit-paged")),
    ("adamw_torch_8bit", Link("optimizer=adam8bit-torchao")),
    ("adamw_torch_4bit", Link("optimizer=adam4bit")),
    ("adafactor", Link("optimizer=adafactor")),
    ("lion_32bit", Link("optimizer=lion")),
    ("muon", Link("optimizer=muon")),
    ("galore_adamw", Link("optimizer=galore")),
    ("galore_adamw_8bit", Link("optimizer=galore-8bit")),
    ("apollo_adamw", Link("optimizer=apollo")),
    ("sgd", Link("optimizer=sgd")),
    ("paged_adamw_32bit", NotCounted(PAGED)),
    ("paged_adamw", NotCounted(PAGED)),
    ("lion_8bit", NotCounted("one moment of a byte per weight: 3 bytes a weight fewer than Lion")),
    ("paged_lion_8bit", NotCounted("one moment of a byte per weight, which leaves the GPU where memory is short")),
    ("paged_lion_32bit", NotCounted("one moment of 4 bytes per weight, which leaves the GPU where memory is short")),
    ("ademamix", NotCounted("three moments, 12 bytes per weight: 4 more than AdamW")),
    ("ademamix_8bit", NotCounted("three moments of a byte per weight")),
    (
        "paged_ademamix_32bit",
        NotCounted("three moments, 12 bytes per weight, which leave the GPU where memory is short"),
    ),
    (
        "paged_ademamix_8bit",
        NotCounted("three moments of a byte per weight, which leave the GPU where memory is short"),
    ),
    ("rmsprop", NotCounted("one moment of 4 bytes per weight")),
    ("rmsprop_bnb", NotCounted("one moment of 4 bytes per weight")),
    ("rmsprop_bnb_32bit", NotCounted("one moment of 4 bytes per weight")),
    ("rmsprop_bnb_8bit", NotCounted("one moment of a byte per weight")),
    ("adagrad", NotCounted("one moment of 4 bytes per weight")),
    ("adamw_anyprecision", NotCounted("two moments and what rounding lost, of types of their own")),
    ("grokadamw", NotCounted("no state on the GPU between steps: grokadamw 0.1.2 keeps all three in CPU memory")),
    ("schedule_free_adamw", NotCounted("two states of 4 bytes per weight, as AdamW has")),
    ("schedule_free_radam", NotCounted("two states of 4 bytes per weight, as AdamW has")),
    ("schedule_free_sgd", NotCounted("one state of 4 bytes per weight")),
    ("stable_adamw", NotCounted("two states of 4 bytes per weight, as AdamW has")),
    ("lomo", NotCounted("no state; gradients are used up as they come")),
    ("adalomo", NotCounted("a row and a column of state per matrix; gradients are used up as they come")),
    ("galore_adafactor", NotCounted("projected gradients with Adafactor’s states")),
    ("galore_adamw_layerwise", NotCounted(LAYERWISE)),
    ("galore_adamw_8bit_layerwise", NotCounted(LAYERWISE)),
    ("galore_adafactor_layerwise", NotCounted(LAYERWISE)),
    ("apollo_adamw_layerwise", NotCounted("APOLLO that updates in the backward pass: no gradients of the whole model")),
];

const LAYERWISE: &str = "GaLore that updates in the backward pass: no gradients of the whole model";
pub(super) const PAGED: &str =
    "8 bytes of moments per weight as AdamW has; the driver moves them to CPU memory where the GPU has no room";

/// Attention by `attn_implementation`.
pub(super) const ATTENTION: &[(&str, Said)] = &[
    ("sdpa", Link("attn=flash")),
    ("flash_attention_2", Link("attn=flash")),
    ("flash_attention_3", Link("attn=flash")),
    ("kernels-community/flash-attn", Link("attn=flash")),
    ("kernels-community/vllm-flash-attn3", Link("attn=flash")),
    ("kernels-community/flash-attn2", Link("attn=flash")),
    ("kernels-community/flash-attn3", Link("attn=flash")),
    // axolotl alone has the next one.
    ("xformers", Link("attn=flash")),
    ("flex_attention", NotCounted("kernels that PyTorch compiles; they keep about what flash attention keeps")),
    ("eager", Link("attn=eager")),
];

pub(super) const STAGES_BY_NAME: &[(&str, Said)] = &[
    // Where no file is named, the word alone: ms-swift’s “zero3”.
    ("zero", Said::Fact(Fact::Shards(Shards::DeepSpeed))),
    ("zero3", Said::Fact(Fact::Stage(3))),
    ("z3", Said::Fact(Fact::Stage(3))),
    ("zero_3", Said::Fact(Fact::Stage(3))),
    ("stage3", Said::Fact(Fact::Stage(3))),
    ("zero2", Said::Fact(Fact::Stage(2))),
    ("z2", Said::Fact(Fact::Stage(2))),
    ("zero_2", Said::Fact(Fact::Stage(2))),
    ("stage2", Said::Fact(Fact::Stage(2))),
    ("zero1", Said::Fact(Fact::Stage(1))),
    ("z1", Said::Fact(Fact::Stage(1))),
    ("zero_1", Said::Fact(Fact::Stage(1))),
    ("zero0", Said::Fact(Fact::Stage(0))),
    ("z0", Said::Fact(Fact::Stage(0))),
];

pub(super) const FLAG_BF16: &[(&str, Said)] =
    &[("true", Said::Fact(Fact::Half(Half::Bf16))), ("auto", Said::Fact(Fact::Half(Half::Bf16))), ("false", Nothing)];
pub(super) const FLAG_FP16: &[(&str, Said)] = &[("true", Said::Fact(Fact::Half(Half::Fp16))), ("false", Nothing)];
pub(super) const RECOMPUTES: &[(&str, Said)] = &[
    ("true", Said::Fact(Fact::Recomputes(true))),
    ("false", Said::Fact(Fact::Recomputes(false))),
    // Unsloth moves the inputs that recomputation keeps to CPU memory (`Unsloth_Offloaded_Gradient_Checkpointer`).
    ("unsloth", Link("recompute=full&offload=activations")),
];
const REENTRANT: &str = "PyTorch’s reentrant recomputation keeps the same inputs of layers; what its inner backward pass \
    holds beside them is small and not counted";

pub(super) static TRAINER: Table = Table {
    source: "transformers 5.24.0, training_args.py, TrainingArguments",
    is_of_scripts: false,
    keys: &[
        key(&["per_device_train_batch_size", "per_gpu_train_batch_size"], "8", Number("b")),
        key(&["gradient_accumulation_steps"], "1", Number("accum")),
        open(&["per_device_eval_batch_size", "per_gpu_eval_batch_size"], Number("eval_b")),
        open(&["eval_accumulation_steps"], Number("eval_steps")),
        key(&["optim"], "adamw_torch_fused", Optimizer(&[])),
        open(&["optim_args"], OptimizerArguments),
        open(&["bf16"], Words(FLAG_BF16)),
        open(&["fp16"], Words(FLAG_FP16)),
        key(&["gradient_checkpointing", "activation_checkpointing"], "false", Words(RECOMPUTES)),
        open(
            &[
                "gradient_checkpointing_kwargs.use_reentrant",
                "activation_checkpointing_kwargs.use_reentrant",
                "use_reentrant",
            ],
            Words(&[("true", NotCounted(REENTRANT)), ("false", Nothing)]),
        ),
        key(
            &["torch_compile"],
            "false",
            Words(&[("true", Said::Fact(Fact::Compiles(true))), ("false", Said::Fact(Fact::Compiles(false)))]),
        ),
        key(
            &["use_liger_kernel", "use_liger"],
            "false",
            Words(&[("true", Said::Fact(Fact::Liger(true))), ("false", Said::Fact(Fact::Liger(false)))]),
        ),
        open(
            &["liger_kernel_config.fused_linear_cross_entropy"],
            Words(&[("true", Said::Fact(Fact::LigerLinear(true))), ("false", Said::Fact(Fact::LigerLinear(false)))]),
        ),
        open(
            &["liger_kernel_config.cross_entropy"],
            Words(&[
                ("true", Said::Fact(Fact::LigerCrossEntropy(true))),
                ("false", Said::Fact(Fact::LigerCrossEntropy(false))),
            ]),
        ),
        open(
            &["liger_kernel_config.rms_norm", "liger_kernel_config.swiglu"],
            Words(&[("true", Said::Fact(Fact::LigerNorms(true))), ("false", Said::Fact(Fact::LigerNorms(false)))]),
        ),
        open(&["deepspeed", "deepspeed_config"], File(DEEPSPEED)),
        key(
            &["fsdp"],
            "",
            File(&[
                ("offload", Said::Fact(Fact::OffloadsParameters(true))),
                ("shard_grad_op", Said::Fact(Fact::Reshards(false))),
                ("full_shard", Said::Fact(Fact::Fsdp(true))),
                ("hybrid", NotCounted(reasons::REPLICAS)),
                ("no_shard", Said::Fact(Fact::NoShard)),
                ("true", Said::Fact(Fact::Fsdp(true))),
                ("false", Said::Fact(Fact::Fsdp(false))),
                ("", Said::Fact(Fact::Shards(Shards::Nothing))),
            ]),
        ),
        open(&["parallelism_config.tp_size"], Number("tp")),
        open(&["parallelism_config.cp_size"], Number("cp")),
        open(&["num_processes"], Counts(Count::Processes)),
        open(&["eval_do_concat_batches"], Words(&[("true", Nothing), ("false", Nothing)])),
    ],
    no_matter: "\
            output_dir num_train_epochs max_steps learning_rate lr_scheduler* warmup* weight_decay adam_* \
            max_grad_norm label_smoothing_factor tf32 torch_compile_backend torch_compile_mode use_cache neftune* \
            logging* log_* disable_tqdm report_to run_name project trackio* eval_strategy evaluation_strategy \
            eval_steps eval_delay prediction_loss_only eval_on_start include_* save_* enable_jit_checkpoint \
            push_to_hub* hub_* load_best_model_at_end metric_for_best_model greater_is_better ignore_data_skip \
            restore_callback* full_determinism seed data_seed use_cpu accelerator_config* dataloader_* \
            remove_unused_columns label_names length_column_name ddp_* debug skip_memory_metrics do_train do_eval \
            do_predict resume_from_checkpoint local_rank overwrite_output_dir average_tokens_across_devices \
            deepspeed_multinode* bf16_full_eval fp16_full_eval fp16_opt_level half_precision_backend jit_mode_eval \
            parallelism_config.dp_shard_size optim_target_modules env log_level* past_index group_by_length \
            train_sampling_strategy batch_eval_metrics gradient_checkpointing_kwargs liger_kernel_config.rope \
            liger_kernel_config fsdp_config env.*",
    not_counted: &[
        (
            "auto_find_batch_size",
            "the Trainer halves the micro-batch until it fits, so that the run has another one than is said",
        ),
        (
            "torch_empty_cache_steps",
            "cached blocks are given back every so many steps, which takes the gaps of the allocator away for a time",
        ),
        ("gradient_checkpointing_kwargs.offload", "the inputs that recomputation keeps leave the GPU"),
        (
            "gradient_checkpointing_kwargs.every_n_layers",
            "only some layers are computed again; all others keep everything",
        ),
        (
            "activation_checkpointing_kwargs.every_n_layers",
            "only some layers are computed again; all others keep everything",
        ),
        ("parallelism_config.sp_size", "Ulysses divides the heads of attention over GPUs"),
        ("parallelism_config.dp_replicate_size", reasons::REPLICAS),
        ("eval_use_gather_object", "gathered outputs are copied once more while the model is evaluated"),
    ],
};

/// DeepSpeed’s file, by its name: the file itself says more where it is given, too.
pub(super) const DEEPSPEED: &[(&str, Said)] = STAGES_BY_NAME;

/// What scripts of transformers and of those who copy them call their own arguments.
pub(super) static SCRIPTS: Table = Table {
    source: "transformers 5.24.0, examples/pytorch/language-modeling/run_clm.py, ModelArguments and DataTrainingArguments",
    is_of_scripts: true,
    keys: &[
        open(&["model_name_or_path", "model_name", "model_id", "base_model", "model"], super::Rule::Model),
        open(
            &[
                "block_size",
                "max_length",
                "max_seq_length",
                "max_seq_len",
                "model_max_length",
                "cutoff_len",
                "seq_length",
                "sequence_length",
            ],
            Number("s"),
        ),
        open(&["attn_implementation"], Words(ATTENTION)),
        key(&["dtype", "torch_dtype"], "auto", Words(super::python::LOADED)),
        open(&["use_peft", "use_lora", "lora", "use_peft_lora"], Words(super::peft::SWITCH)),
        open(&["lora_r", "lora_rank"], Number("rank")),
        open(&["lora_dropout"], super::peft::DROPOUT),
        open(&["lora_target_modules", "lora_target"], super::Rule::Targets),
        open(&["load_in_4bit", "use_4bit", "use_4bit_quantization", "q_lora"], Words(super::python::FOUR)),
        open(&["load_in_8bit", "use_8bit", "use_8bit_quantization"], Words(super::python::EIGHT)),
        open(&["packing"], Words(&super::switch(Said::Fact(Fact::Packed(true)), Said::Fact(Fact::Packed(false))))),
    ],
    no_matter: "\
            dataset* data_path train_file validation_file validation_split* preprocessing_num_workers \
            max_train_samples max_eval_samples streaming overwrite_cache config_name tokenizer_name tokenizer* \
            cache_dir use_fast_tokenizer model_revision token use_auth_token trust_remote_code lora_alpha \
            lora_task_type chat_template* bnb_4bit_quant_type bnb_4bit_compute_dtype model_type low_cpu_mem_usage \
            keep_linebreaks config_overrides wandb* ignore_bias_buffers test_split_size",
    not_counted: super::peft::NOT_COUNTED,
};
