//! LLaMA-Factory v1’s YAML, JSON and flags, which other keys have than before. It loads a model in the type of its
//! checkpoint, and casts it to fp32 where all of it is trained (`ModelEngine._init_model` in v1/core/model_engine.py).

use super::super::facts::{AdapterRule, Count, Fact, Half, Loaded, OwnOptimizer, Shards};
use super::Rule::{Count as Counts, File, Model, Number, Only, Targets, Words};
use super::Said::{self, Link, NotCounted, Nothing};
use super::{Format, Meaning, Needs, RESHARDS, Row, Table, key, open, peft, reasons, switch};

pub(super) static ROW: Row = Row {
    format: Format::LlamaFactoryV1,
    name: "arguments of LLaMA-Factory v1",
    signs: &[
        &["model_class"],
        &["train_dataset", "cutoff_len"],
        &["train_dataset", "micro_batch_size"],
        &["dist_config.name"],
        &["peft_config.name"],
        &["quant_config.name"],
        &["kernel_config.name"],
    ],
    needs: Some(Needs::FineTuning),
};

pub(super) static MEANING: Meaning = Meaning {
    always: &[
        Said::Fact(Fact::Loaded(Loaded::Half)),
        Said::Fact(Fact::CastsTrained(true)),
        Said::Fact(Fact::AdapterRule(AdapterRule::Peft)),
        // A file of DeepSpeed that leaves both types to it (`infer_deepspeed_mixed_precision` in plugins/model_plugins/deepspeed_utils.py).
        Said::Fact(Fact::Half(Half::Bf16)),
    ],
    tables: &[&ARGUMENTS],
    within: &[],
};

const PAIRS: &str = "DPO reads both answers of a pair in one row of cutoff_len tokens, and compares with a reference";

static ARGUMENTS: Table = Table {
    source: "LLaMA-Factory ff6d4d12eeb0 (2026-08-18), src/llamafactory/v1/config/, ModelArguments, DataArguments and TrainingArguments, \
             and the classes of v1/plugins/",
    is_of_scripts: false,
    keys: &[
        open(&["model"], Model),
        open(&["model_class"], Only("llm", "a head of another kind than one over the vocabulary")),
        key(
            &["peft_config.name"],
            "none",
            Words(&[
                ("none", Said::Fact(Fact::Adapters(false))),
                ("lora", Said::Fact(Fact::Adapters(true))),
                ("freeze", NotCounted(reasons::SOME_LAYERS)),
            ]),
        ),
        key(&["peft_config.r"], "8", Number("rank")),
        key(&["peft_config.target_modules"], "all", Targets),
        key(&["peft_config.lora_dropout"], "0.05", peft::DROPOUT),
        // Without a number of bits it is four.
        open(&["quant_config.name"], Words(&[("bnb", Said::Fact(Fact::Quantizes(true))), ("auto", Nothing)])),
        open(&["quant_config.quantization_bit"], Words(super::llama_factory::QUANTIZED)),
        open(&["quant_config.double_quantization"], Words(super::python::DOUBLE)),
        key(&["micro_batch_size"], "1", Number("b")),
        open(&["global_batch_size"], Counts(Count::GlobalBatch)),
        key(&["cutoff_len"], "2048", Number("s")),
        // It is FSDP’s own cast: without FSDP nothing is cast (`BaseTrainer._shard_model` in core/base_trainer.py).
        key(&["bf16"], "true", Words(&switch(Said::Fact(Fact::FsdpCasts(true)), Said::Fact(Fact::FsdpCasts(false))))),
        key(
            &["enable_activation_checkpointing"],
            "true",
            Words(&switch(Said::Fact(Fact::Recomputes(true)), Said::Fact(Fact::Recomputes(false)))),
        ),
        key(&["flash_attn"], "sdpa", Words(super::transformers::ATTENTION)),
        key(
            &["batching_strategy"],
            "normal",
            Words(&[
                ("normal", Nothing),
                ("padding_free", Said::Fact(Fact::Flattened(true))),
                // Both fill a micro-batch with as many tokens as whole rows would have.
                ("dynamic_batching", Link("lengths=equal")),
                ("dynamic_padding_free", Link("lengths=equal")),
            ]),
        ),
        key(
            &["dist_config.name"],
            "none",
            Words(&[
                ("none", Said::Fact(Fact::Shards(Shards::Nothing))),
                ("fsdp2", Said::Fact(Fact::Shards(Shards::Fsdp))),
                ("fsdpturbo", Said::Fact(Fact::Shards(Shards::Fsdp))),
                ("deepspeed", Said::Fact(Fact::Shards(Shards::DeepSpeed))),
            ]),
        ),
        open(&["dist_config.config_file"], File(super::transformers::DEEPSPEED)),
        open(&["dist_config.offload_params"], Words(&switch(Said::Fact(Fact::OffloadsParameters(true)), Nothing))),
        open(&["dist_config.reshard_after_forward"], Words(RESHARDS)),
        key(
            &["optim_config.name"],
            "none",
            Words(&[
                ("none", Link("optimizer=adamw&step=foreach")),
                ("muon", Said::Fact(Fact::OwnOptimizer(OwnOptimizer::Muon))),
            ]),
        ),
        open(&["kernel_config.name"], Only("auto", "kernels that keep less for the backward pass")),
    ],
    no_matter: "custom_chat_template trust_remote_code init_config.* init_config peft_config quant_config kernel_config dist_config optim_config \
        kernel_config.* peft_config.lora_alpha peft_config.use_rslora peft_config.export_* peft_config.infer_dtype peft_config.cast_* \
        quant_config.compute_dtype quant_config.quantization_type dist_config.dcp_path dist_config.pin_memory dist_config.ep_dispatcher \
        dist_config.hook_modules dist_config.fsdp_implementation optim_config.* lr_scheduler_config* train_dataset eval_dataset output_dir \
        learning_rate num_train_epochs max_steps max_grad_norm batching_workers cp_mode dist_timeout seed full_determinism \
        resume_from_checkpoint save_* logging_steps sample_backend max_new_tokens",
    not_counted: &[
        ("peft_config.use_dora", reasons::DORA),
        ("peft_config.modules_to_save", reasons::WHOLE_MODULES),
        ("peft_config.adapter_name_or_path", "the rank and the matrices of this adapter are those that count"),
        ("peft_config.freeze_*", reasons::SOME_LAYERS),
        ("peft_config.export_dir", "an adapter is merged into its model, and nothing is trained"),
        ("dist_config.ep_size", "experts are divided over GPUs"),
        ("dist_config.fsdp_ignored_modules", "some modules are whole on every GPU"),
        ("cp_size", "Ulysses divides the heads of attention over GPUs"),
        ("dp_size", "how many GPUs there are is read of the launcher"),
        ("mp_*", reasons::REPLICAS),
        ("pref_*", PAIRS),
        ("simpo_gamma", PAIRS),
        ("dpo_label_smoothing", PAIRS),
        ("ld_alpha", PAIRS),
    ],
};
