//! Files that stand beside a `config.json` and are given in its place: which program they are for, and which inputs they
//! correspond to, in the words of a link.
//!
//! Names and values are those of the programs' documentation: DeepSpeed 0.19 (docs/_pages/config-json.md), accelerate 1.15
//! (commands/config/config_args.py), peft 0.21 (LoraConfig), axolotl 0.13 (docs/config.qmd), LLaMA-Factory 0.9
//! (hparams/), transformers 5.23 (TrainingArguments, GenerationConfig).

use std::fmt;

use super::yaml;
use crate::bounds::excerpt;
use crate::json::{self, Value};
use crate::{Field, number};

/// A file of a known program that describes no model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Training {
    /// What it is: “a configuration of DeepSpeed”.
    pub kind: &'static str,
    /// What it says, as parameters of a link: “zero=3”. No parameter is there twice.
    pub inputs: Vec<String>,
    /// The model that it names, shortened; empty where it names none.
    pub model: String,
    /// What it says beside and no input has a word for, shortened: “optimizer: paged_adamw_32bit”.
    pub unsaid: Vec<String>,
}

/// A kind of file.
struct Kind {
    name: &'static str,
    /// One of these groups of fields, all of a group, tells it from every other file.
    signs: &'static [&'static [&'static str]],
    /// What is so in every file of the kind.
    always: &'static [&'static str],
    rows: &'static [Row],
}

/// A field, whose name may lead into objects by dots, and how its value is read.
type Row = (&'static str, Reads);

enum Reads {
    /// A number that an input takes as it is.
    Number(&'static str),
    /// Words, each with what it says in the words of a link. Of any other value it is said that there is no word for it.
    Words(&'static [(&'static str, &'static str)]),
    /// A text with one of these in it, each with what that says.
    Within(&'static [(&'static str, &'static str)]),
    /// A part that is dropped, which is on above zero.
    Dropped(&'static str),
    /// The name of a model.
    Model,
}

use Reads::{Dropped, Model, Number, Within, Words};

/// Optimizers as transformers' Trainer, and with it axolotl and LLaMA-Factory, call them (`OptimizerNames` in
/// training_args.py).
const OPTIMIZERS: &[(&str, &str)] = &[
    ("adamw_torch_fused", "optimizer=adamw&step=fused"),
    ("adamw_torch", "optimizer=adamw&step=foreach"),
    ("adamw_bnb_8bit", "optimizer=adam8bit"),
    ("adamw_8bit", "optimizer=adam8bit"),
    ("paged_adamw_8bit", "optimizer=adam8bit-paged"),
    ("adamw_torch_8bit", "optimizer=adam8bit-torchao"),
    ("adamw_torch_4bit", "optimizer=adam4bit"),
    ("adafactor", "optimizer=adafactor"),
    ("lion_32bit", "optimizer=lion"),
    ("muon", "optimizer=muon"),
    ("galore_adamw", "optimizer=galore"),
    ("galore_adamw_8bit", "optimizer=galore-8bit"),
    ("apollo_adamw", "optimizer=apollo"),
    ("sgd", "optimizer=sgd"),
];
const STAGES: &[(&str, &str)] = &[("0", "zero=0"), ("1", "zero=1"), ("2", "zero=2"), ("3", "zero=3")];
const AUTOCAST: Reads = Words(&[("true", "precision=autocast")]);
const RECOMPUTED: Reads = Words(&[("true", "recompute=full")]);
const QUANTIZED: Reads = Words(&[("true", "adapter=qlora")]);
/// Names of DeepSpeed's files have their stage in them.
const DEEPSPEED_FILE: Reads = Within(&[
    ("zero3", "engine=deepspeed&zero=3"),
    ("z3", "engine=deepspeed&zero=3"),
    ("zero2", "engine=deepspeed&zero=2"),
    ("z2", "engine=deepspeed&zero=2"),
    ("zero1", "engine=deepspeed&zero=1"),
    ("z0", "engine=deepspeed&zero=0"),
    ("", "engine=deepspeed"),
]);
const TARGETS: Reads = Words(&[
    ("all", "targets=all"),
    ("all-linear", "targets=all"),
    ("q_proj,v_proj", "targets=qv"),
    ("q_proj,k_proj,v_proj,o_proj", "targets=attention"),
]);

/// The more telling kinds come first.
static KINDS: &[Kind] = &[
    Kind {
        name: "a configuration of DeepSpeed",
        signs: &[&["zero_optimization"], &["train_micro_batch_size_per_gpu"]],
        always: &["engine=deepspeed"],
        rows: &[
            ("zero_optimization.stage", Words(STAGES)),
            ("zero_optimization.offload_optimizer.device", Words(&[("cpu", "offload=optimizer"), ("none", "")])),
            ("zero_optimization.offload_param.device", Words(&[("cpu", "offload=parameters"), ("none", "")])),
            ("bf16.enabled", Words(&[("true", "precision=bf16")])),
            ("fp16.enabled", Words(&[("true", "precision=fp16")])),
            (
                "optimizer.type",
                Words(&[("AdamW", "optimizer=adamw"), ("Adam", "optimizer=adamw"), ("Lion", "optimizer=lion")]),
            ),
            ("tensor_parallel.autotp_size", Number("tp")),
            ("train_micro_batch_size_per_gpu", Number("b")),
            ("gradient_accumulation_steps", Number("accum")),
        ],
    },
    Kind {
        name: "a configuration of accelerate",
        signs: &[&["compute_environment", "distributed_type"]],
        always: &[],
        rows: &[
            (
                "distributed_type",
                Words(&[
                    ("DEEPSPEED", "engine=deepspeed"),
                    ("FSDP", "engine=torch&zero=3"),
                    ("MULTI_GPU", "engine=torch&zero=0"),
                    ("NO", "zero=0"),
                ]),
            ),
            ("num_processes", Number("gpus")),
            ("mixed_precision", Words(&[("bf16", "precision=autocast"), ("no", ""), ("'no'", "")])),
            ("deepspeed_config.zero_stage", Words(STAGES)),
            ("deepspeed_config.gradient_accumulation_steps", Number("accum")),
            ("deepspeed_config.offload_optimizer_device", Words(&[("cpu", "offload=optimizer"), ("none", "")])),
            ("deepspeed_config.offload_param_device", Words(&[("cpu", "offload=parameters"), ("none", "")])),
            (
                "fsdp_config.fsdp_sharding_strategy",
                Words(&[
                    ("FULL_SHARD", "zero=3"),
                    ("1", "zero=3"),
                    ("SHARD_GRAD_OP", "zero=2"),
                    ("2", "zero=2"),
                    ("NO_SHARD", "zero=0"),
                ]),
            ),
            (
                "fsdp_config.fsdp_reshard_after_forward",
                Words(&[("true", "zero=3"), ("FULL_SHARD", "zero=3"), ("false", "zero=2")]),
            ),
            ("fsdp_config.fsdp_activation_checkpointing", RECOMPUTED),
        ],
    },
    Kind {
        name: "a file of an adapter, for peft",
        signs: &[&["peft_type"]],
        always: &[],
        rows: &[
            ("base_model_name_or_path", Model),
            ("peft_type", Words(&[("LORA", "adapter=lora")])),
            ("r", Number("rank")),
            ("target_modules", TARGETS),
            ("lora_dropout", Dropped("adapter_dropout=on")),
        ],
    },
    Kind {
        name: "a file of axolotl",
        signs: &[&["base_model", "sequence_len"], &["base_model", "micro_batch_size"], &["base_model", "datasets"]],
        always: &[],
        rows: &[
            ("base_model", Model),
            ("adapter", Words(&[("lora", "adapter=lora"), ("qlora", "adapter=qlora")])),
            ("load_in_4bit", QUANTIZED),
            ("load_in_8bit", Words(&[("true", "adapter=lora-8bit")])),
            ("lora_r", Number("rank")),
            ("lora_target_linear", Words(&[("true", "targets=all")])),
            ("lora_target_modules", TARGETS),
            ("lora_dropout", Dropped("adapter_dropout=on")),
            ("sequence_len", Number("s")),
            ("sample_packing", Words(&[("true", "lengths=packed")])),
            ("micro_batch_size", Number("b")),
            ("gradient_accumulation_steps", Number("accum")),
            ("optimizer", Words(OPTIMIZERS)),
            ("bf16", AUTOCAST),
            ("gradient_checkpointing", RECOMPUTED),
            ("flash_attention", Words(&[("true", "attn=flash")])),
            ("sdp_attention", Words(&[("true", "attn=flash")])),
            ("eager_attention", Words(&[("true", "attn=eager")])),
            ("deepspeed", DEEPSPEED_FILE),
            ("rl", Words(&[("dpo", "task=dpo"), ("grpo", "task=grpo")])),
            ("tensor_parallel_size", Number("tp")),
            ("context_parallel_size", Number("cp")),
        ],
    },
    Kind {
        name: "a file of arguments for LLaMA-Factory or transformers’ Trainer",
        signs: &[
            &["finetuning_type"],
            &["cutoff_len"],
            &["model_name_or_path", "output_dir"],
            &["per_device_train_batch_size"],
        ],
        always: &[],
        rows: &[
            ("model_name_or_path", Model),
            ("finetuning_type", Words(&[("lora", "adapter=lora"), ("full", "adapter=none")])),
            ("use_peft", Words(&[("true", "adapter=lora")])),
            ("load_in_4bit", QUANTIZED),
            ("quantization_bit", Words(&[("4", "adapter=qlora"), ("8", "adapter=lora-8bit")])),
            ("lora_rank", Number("rank")),
            ("lora_r", Number("rank")),
            ("lora_target", TARGETS),
            ("lora_dropout", Dropped("adapter_dropout=on")),
            (
                "stage",
                Words(&[("sft", ""), ("pt", ""), ("dpo", "task=dpo"), ("ppo", "task=ppo"), ("rm", "task=reward")]),
            ),
            ("cutoff_len", Number("s")),
            ("max_length", Number("s")),
            ("max_seq_length", Number("s")),
            ("packing", Words(&[("true", "lengths=packed")])),
            ("per_device_train_batch_size", Number("b")),
            ("gradient_accumulation_steps", Number("accum")),
            ("per_device_eval_batch_size", Number("eval_b")),
            ("optim", Words(OPTIMIZERS)),
            ("bf16", AUTOCAST),
            ("gradient_checkpointing", RECOMPUTED),
            (
                "flash_attn",
                Words(&[("auto", ""), ("fa2", "attn=flash"), ("sdpa", "attn=flash"), ("disabled", "attn=eager")]),
            ),
            ("deepspeed", DEEPSPEED_FILE),
        ],
    },
    Kind { name: "the index of a model’s weights (safetensors)", signs: &[&["weight_map"]], always: &[], rows: &[] },
    Kind {
        name: "the configuration of a tokenizer",
        signs: &[
            &["tokenizer_class"],
            &["added_tokens_decoder"],
            &["added_tokens", "pre_tokenizer"],
            &["eos_token", "bos_token"],
        ],
        always: &[],
        rows: &[],
    },
    Kind {
        name: "the configuration of what makes tensors of images or sounds",
        signs: &[&["image_processor_type"], &["feature_extractor_type"], &["processor_class"]],
        always: &[],
        rows: &[],
    },
    Kind {
        name: "a part of a diffusion model, which has no tokens",
        signs: &[&["_class_name", "_diffusers_version"]],
        always: &[],
        rows: &[],
    },
    Kind {
        name: "the settings with which a model generates",
        signs: &[&["_from_model_config"], &["do_sample"], &["eos_token_id", "transformers_version"]],
        always: &[],
        rows: &[],
    },
];

/// Fields that only a model's own configuration has. Some of them name tokenizers and processors as well.
const OF_A_MODEL: [&str; 6] = ["model_type", "hidden_size", "n_embd", "d_model", "text_config", "vocab_size"];

/// What a file is that is JSON and has nothing of a model.
pub(super) fn of_json(file: &Value) -> Option<Training> {
    if OF_A_MODEL.iter().any(|key| file.get(key).is_some()) {
        return None;
    }
    of(file)
}

/// What a file is that is no JSON, but perhaps YAML.
pub(super) fn of_yaml(text: &str) -> Option<Training> {
    of(&yaml::read(text)?)
}

fn of(file: &Value) -> Option<Training> {
    let has = |key: &&str| file.get(key).is_some();
    let kind = KINDS.iter().find(|kind| kind.signs.iter().any(|group| group.iter().all(has)))?;
    let mut found = Training { kind: kind.name, inputs: Vec::new(), model: String::new(), unsaid: Vec::new() };
    for words in kind.always {
        found.say(words);
    }
    for (path, reads) in kind.rows {
        let value = path.split('.').try_fold(file, |object, key| object.get(key));
        if let Some(text) = value.and_then(written) {
            found.read(path, reads, &text);
        }
    }
    // Weights are two bytes each in nearly all published files.
    let bytes = file.get("metadata").and_then(|metadata| metadata.get("total_size")?.number());
    if let Some(bytes) = bytes.filter(|_| kind.rows.is_empty()) {
        found.unsaid.push(format!("{} bytes of weights", number::grouped(bytes)));
    }
    Some(found)
}

/// A value as one word; texts of a list with commas. `None` for what says nothing: null, false, “auto”, and objects.
fn written(value: &Value) -> Option<String> {
    let text = match value {
        Value::Bool(true) => "true".to_owned(),
        Value::Number(text) => text.clone(),
        Value::Text(text) => text.clone(),
        Value::List(items) => items.iter().take(8).filter_map(Value::text).collect::<Vec<_>>().join(","),
        Value::Bool(false) | Value::Null | Value::Object(_) | Value::NotFinite => return None,
    };
    Some(text).filter(|text| !text.is_empty() && text != "auto")
}

impl Training {
    /// Adds parameters of a link, each in place of what was said of it before.
    fn say(&mut self, words: &str) {
        for word in words.split('&').filter(|word| !word.is_empty()) {
            let key = word.split('=').next();
            self.inputs.retain(|other| other.split('=').next() != key);
            self.inputs.push(word.to_owned());
        }
    }

    fn read(&mut self, path: &str, reads: &Reads, text: &str) {
        match reads {
            Model => self.model = excerpt(text),
            Number(key) => {
                if let Some(number) = Field::from_key(key).and_then(|field| field.read(text).ok()) {
                    self.say(&format!("{key}={}", number::plain(number)));
                }
            }
            Dropped(words) => {
                if number::parse(text).is_ok_and(|part| part > 0.0) {
                    self.say(words);
                }
            }
            Within(parts) => {
                if let Some((_, words)) = parts.iter().find(|(part, _)| text.contains(part)) {
                    self.say(words);
                }
            }
            Words(all) => match all.iter().find(|(word, _)| *word == text) {
                Some((_, words)) => self.say(words),
                // Enough for a sentence.
                None if self.unsaid.len() < 3 => self.unsaid.push(format!("{path}: {}", excerpt(text))),
                None => {}
            },
        }
    }
}

impl fmt::Display for Training {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "This is {}, and no config.json of a model.", self.kind)?;
        if !self.inputs.is_empty() {
            write!(f, " In the words of a link it says {}.", self.inputs.join("&"))?;
        }
        if !self.unsaid.is_empty() {
            write!(f, " It also has what no input has a word for: {}.", self.unsaid.join(", "))?;
        }
        if !self.model.is_empty() {
            write!(f, " Its model is “{}”.", self.model)?;
        }
        f.write_str(" The sizes of a model stand in its config.json, beside its weights.")
    }
}

/// What a text is that is no JSON.
pub(super) fn instead_of_json(text: &str, fault: &json::JsonError) -> Option<Training> {
    if fault.reason.is_limit() { None } else { of_yaml(text) }
}
