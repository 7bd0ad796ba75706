//! Adapters of peft: `LoraConfig`, and the file that it writes beside an adapter.

use super::super::facts::{AdapterRule, Fact};
use super::Rule::{self, Above, Model, Number, Targets, Words};
use super::Said::{self, Link};
use super::{Format, Meaning, Needs, Row, Table, key, open, reasons};

/// `LoraConfig(…)` has no `peft_type`, and a class tells it.
pub(super) static ADAPTER: Row = Row {
    format: Format::Peft,
    name: "a configuration of peft’s adapters",
    signs: &[&["peft_type"]],
    needs: Some(Needs::FineTuning),
};

pub(super) static ADAPTER_MEANING: Meaning = Meaning {
    always: &[Said::Fact(Fact::AdapterRule(AdapterRule::Peft)), Said::Fact(Fact::Adapters(true))],
    tables: &[&LORA],
    within: &[],
};

pub(super) const SWITCH: &[(&str, Said)] =
    &[("true", Said::Fact(Fact::Adapters(true))), ("false", Said::Fact(Fact::Adapters(false)))];
pub(super) const DROPOUT: Rule = Above(Link("adapter_dropout=on"), Link("adapter_dropout=off"));

/// What LoRA can do beside two matrices for each target.
pub(super) const NOT_COUNTED: &[(&str, &str)] = &[
    ("use_dora", reasons::DORA),
    ("peft_use_dora", reasons::DORA),
    ("lora_modules_to_save", reasons::WHOLE_MODULES),
    ("modules_to_save", reasons::WHOLE_MODULES),
    ("additional_target", reasons::WHOLE_MODULES),
    ("layers_to_transform", "fewer layers have adapters than are counted"),
    ("peft_layers_to_transform", "fewer layers have adapters than are counted"),
    ("rank_pattern*", "some matrices have another rank than is counted"),
    ("lora_rank_pattern*", "some matrices have another rank than is counted"),
    ("lora_target_parameters", "adapters of single parameters, such as stacks of experts"),
    ("target_parameters", "adapters of single parameters, such as stacks of experts"),
    ("trainable_token_indices", "rows of the embedding that are trained, too"),
    ("layer_replication", "layers that stand in the model more than once"),
    ("exclude_modules", "some matrices have no adapter and are counted with one"),
];

static LORA: Table = Table {
    source: "peft 0.21.2, tuners/lora/config.py, LoraConfig",
    is_of_scripts: false,
    keys: &[
        key(&["r"], "8", Number("rank")),
        key(&["target_modules"], "", Targets),
        key(&["lora_dropout"], "0", DROPOUT),
        open(&["base_model_name_or_path"], Model),
        open(
            &["peft_type"],
            Words(&[
                ("LORA", Said::Nothing),
                (
                    "ADALORA",
                    Said::NotCounted("AdaLoRA begins with a larger rank and keeps a sum for each of its values"),
                ),
                ("IA3", Said::NotCounted("a vector instead of two matrices for each target")),
                ("VERA", Said::NotCounted("shared matrices that are not trained, and two vectors for each target")),
                ("OFT", Said::NotCounted("rotations instead of two matrices for each target")),
                ("PROMPT_TUNING", Said::NotCounted("trained tokens instead of two matrices for each target")),
            ]),
        ),
    ],
    no_matter: "\
            lora_alpha task_type bias fan_in_fan_out inference_mode init_lora_weights use_rslora alpha_pattern* \
            layers_pattern megatron_* loftq_config* eva_config* corda_config* lora_ga_config* velora_config* \
            revision auto_mapping* lora_bias use_qalora qalora_group_size runtime_config* _comment peft_version \
            arrow_config* alora_invocation_tokens ensure_weight_tying use_bdlora kasa_config* monteclora_config*",
    not_counted: NOT_COUNTED,
};
