//! Calls of Python that say how a model is loaded.

use super::super::facts::{AdapterRule, Base, Fact, Loaded};
use super::Rule::{Model, Number, Targets, Words};
use super::Said::{self, NotCounted, Nothing};
use super::{Format, Meaning, Needs, Row, Table, key, open};

pub(super) const LOADED: &[(&str, Said)] = &[
    ("float32", Said::Fact(Fact::Loaded(Loaded::Full))),
    ("torch.float32", Said::Fact(Fact::Loaded(Loaded::Full))),
    ("fp32", Said::Fact(Fact::Loaded(Loaded::Full))),
    ("bfloat16", Said::Fact(Fact::Loaded(Loaded::Half))),
    ("torch.bfloat16", Said::Fact(Fact::Loaded(Loaded::Half))),
    ("bf16", Said::Fact(Fact::Loaded(Loaded::Half))),
    ("float16", Said::Fact(Fact::Loaded(Loaded::Half))),
    ("torch.float16", Said::Fact(Fact::Loaded(Loaded::Half))),
    ("fp16", Said::Fact(Fact::Loaded(Loaded::Half))),
    ("auto", Said::Fact(Fact::Loaded(Loaded::Half))),
];
pub(super) const FOUR: &[(&str, Said)] = &[("true", Said::Fact(Fact::Base(Base::FourBits))), ("false", Nothing)];
pub(super) const EIGHT: &[(&str, Said)] = &[("true", Said::Fact(Fact::Base(Base::EightBits))), ("false", Nothing)];
const SINGLE: &str = "a second quantization of the scales is counted; without it each 4-bit weight takes 0.048 bytes more (4 bytes for 64, less 0.516 bits)";
/// Whether the scales of 4-bit weights are quantized as well.
pub(super) const DOUBLE: &[(&str, Said)] = &[("true", Nothing), ("false", NotCounted(SINGLE))];

pub(super) static BITS_AND_BYTES: Row = Row {
    format: Format::BitsAndBytes,
    name: "BitsAndBytesConfig of transformers",
    signs: &[],
    needs: Some(Needs::FineTuning),
};

pub(super) static BITS_AND_BYTES_MEANING: Meaning = Meaning {
    always: &[],
    tables: &[&Table {
        source: "transformers 5.24.0, utils/quantization_config.py, BitsAndBytesConfig",
        is_of_scripts: false,
        keys: &[
            open(&["load_in_4bit"], Words(FOUR)),
            open(&["load_in_8bit"], Words(EIGHT)),
            key(&["bnb_4bit_use_double_quant"], "false", Words(DOUBLE)),
        ],
        no_matter: "\
            bnb_4bit_compute_dtype bnb_4bit_quant_type bnb_4bit_quant_storage llm_int8_threshold \
            llm_int8_has_fp16_weight",
        not_counted: &[
            ("llm_int8_skip_modules", "these modules stay in 16 bits"),
            ("llm_int8_enable_fp32_cpu_offload", "modules on the CPU stay in fp32"),
        ],
    }],
    within: &[],
};

const NO_MATTER: &str = "\
    device_map trust_remote_code token cache_dir revision use_cache low_cpu_mem_usage config \
    local_files_only use_safetensors max_memory quantization_config use_auth_token num_labels fast_inference \
    disable_log_stats full_finetuning safe_serialization";

pub(super) static FROM_PRETRAINED: Row = Row {
    format: Format::FromPretrained,
    name: "from_pretrained of transformers",
    signs: &[],
    needs: Some(Needs::FineTuning),
};

pub(super) static FROM_PRETRAINED_MEANING: Meaning = Meaning {
    always: &[],
    tables: &[&Table {
        source: "transformers 5.24.0, modeling_utils.py, PreTrainedModel.from_pretrained",
        is_of_scripts: false,
        keys: &[
            open(&["pretrained_model_name_or_path"], Model),
            key(&["dtype", "torch_dtype"], "auto", Words(LOADED)),
            key(&["attn_implementation"], "sdpa", Words(super::transformers::ATTENTION)),
            open(&["load_in_4bit"], Words(FOUR)),
            open(&["load_in_8bit"], Words(EIGHT)),
        ],
        no_matter: NO_MATTER,
        not_counted: &[],
    }],
    within: &[],
};

pub(super) static UNSLOTH_MODEL: Row = Row {
    format: Format::UnslothModel,
    name: "FastLanguageModel.from_pretrained of Unsloth",
    signs: &[],
    needs: Some(Needs::FineTuning),
};

pub(super) static UNSLOTH_MODEL_MEANING: Meaning = Meaning {
    // unsloth/kernels: its norms and its cross-entropy are kernels of their own.
    always: &[Said::Fact(Fact::LigerNorms(true)), Said::Fact(Fact::UnslothLoss)],
    tables: &[&Table {
        source: "unsloth 2026.8, models/loader.py, FastLanguageModel.from_pretrained",
        is_of_scripts: false,
        keys: &[
            open(&["model_name"], Model),
            key(&["max_seq_length"], "2048", Number("s")),
            open(&["dtype"], Words(LOADED)),
            key(
                &["load_in_4bit"],
                "true",
                Words(&[
                    ("true", Said::Fact(Fact::Base(Base::FourBits))),
                    ("false", Said::Fact(Fact::Base(Base::Whole))),
                ]),
            ),
            open(&["load_in_8bit"], Words(EIGHT)),
        ],
        no_matter: NO_MATTER,
        not_counted: &[("gpu_memory_utilization", "vLLM in the same process takes this share of the GPU")],
    }],
    within: &[],
};

pub(super) static UNSLOTH_ADAPTERS: Row = Row {
    format: Format::UnslothAdapters,
    name: "FastLanguageModel.get_peft_model of Unsloth",
    signs: &[],
    needs: Some(Needs::FineTuning),
};

pub(super) static UNSLOTH_ADAPTERS_MEANING: Meaning = Meaning {
    always: &[Said::Fact(Fact::Adapters(true)), Said::Fact(Fact::AdapterRule(AdapterRule::Peft))],
    tables: &[&Table {
        source: "unsloth 2026.8, models/llama.py, FastLlamaModel.get_peft_model",
        is_of_scripts: false,
        keys: &[
            key(&["r"], "16", Number("rank")),
            key(&["target_modules"], "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj", Targets),
            key(&["lora_dropout"], "0", super::peft::DROPOUT),
            key(&["use_gradient_checkpointing"], "unsloth", Words(super::transformers::RECOMPUTES)),
        ],
        no_matter: "\
            lora_alpha bias random_state use_rslora loftq_config max_seq_length layers_pattern init_lora_weights",
        not_counted: super::peft::NOT_COUNTED,
    }],
    within: &[],
};

pub(super) static KBIT_TRAINING: Row = Row {
    format: Format::KbitTraining,
    name: "prepare_model_for_kbit_training of peft",
    signs: &[],
    needs: Some(Needs::FineTuning),
};

pub(super) static KBIT_TRAINING_MEANING: Meaning = Meaning {
    always: &[Said::Link("unquantized=32")],
    tables: &[&Table {
        source: "peft 0.21.2, utils/other.py, prepare_model_for_kbit_training",
        is_of_scripts: false,
        keys: &[key(&["use_gradient_checkpointing"], "true", Words(super::transformers::RECOMPUTES))],
        no_matter: "gradient_checkpointing_kwargs gradient_checkpointing_kwargs.*",
        not_counted: &[],
    }],
    within: &[],
};
