//! torchtune’s YAML. Its recipes keep everything in one type, adapters as well, and divide everything where there are
//! several GPUs.

use super::super::facts::{AdapterRule, Fact};
use super::Rule::{Component, Number, Targets, Words};
use super::Said::{self, Link, NotCounted, Nothing};
use super::{Format, Meaning, Needs, Row, Table, key, open, peft, reasons, switch};

pub(super) static ROW: Row = Row {
    format: Format::Torchtune,
    name: "a configuration of torchtune",
    signs: &[&["model._component_", "optimizer._component_"], &["policy_model._component_", "optimizer._component_"]],
    needs: Some(Needs::FineTuning),
};

pub(super) static MEANING: Meaning = Meaning {
    always: &[
        Said::Fact(Fact::AdapterRule(AdapterRule::Half)),
        Said::Fact(Fact::DividesAll(true)),
        Link("grad=16&attn=flash&dropout=off"),
    ],
    tables: &[&CONFIG],
    within: &[],
};

static CONFIG: Table = Table {
    source: "torchtune 0.6.1, recipes/configs/ and recipes/",
    is_of_scripts: false,
    keys: &[
        open(&["model._component_"], Component),
        open(&["model.lora_rank"], Number("rank")),
        open(&["model.lora_attn_modules"], Targets),
        open(&["model.apply_lora_to_mlp"], Words(&switch(Said::Fact(Fact::AdaptsFeedForward(true)), Nothing))),
        open(&["model.lora_dropout"], peft::DROPOUT),
        open(&["tokenizer.max_seq_len"], Number("s")),
        open(&["dataset.packed"], Words(&switch(Said::Fact(Fact::Packed(true)), Said::Fact(Fact::Packed(false))))),
        open(&["batch_size"], Number("b")),
        key(&["gradient_accumulation_steps"], "1", Number("accum")),
        open(
            &["optimizer._component_"],
            Words(&[
                ("torch.optim.AdamW", Link("optimizer=adamw")),
                ("torch.optim.Adam", Link("optimizer=adamw")),
                ("torch.optim.SGD", Link("optimizer=sgd")),
                ("bitsandbytes.optim.PagedAdamW8bit", Link("optimizer=adam8bit-paged")),
                ("bitsandbytes.optim.AdamW8bit", Link("optimizer=adam8bit")),
                ("torchao.prototype.low_bit_optim.AdamW8bit", Link("optimizer=adam8bit-torchao")),
                ("torchao.prototype.low_bit_optim.AdamW4bit", Link("optimizer=adam4bit")),
                ("bitsandbytes.optim.PagedAdamW", NotCounted(super::transformers::PAGED)),
            ]),
        ),
        key(&["optimizer.fused"], "false", Words(&switch(Link("step=fused"), Link("step=foreach")))),
        open(&["optimizer_in_bwd"], Words(&switch(Said::Fact(Fact::StepsInBackward(true)), Nothing))),
        open(
            &["loss._component_"],
            Words(&[
                ("torchtune.modules.loss.CEWithChunkedOutputLoss", Link("loss=chunked&chunks=8")),
                ("torchtune.modules.loss.LinearCrossEntropyLoss", Link("loss=chunked-head&chunks=8")),
                ("torch.nn.CrossEntropyLoss", Link("loss=plain")),
                ("torchtune.rlhf.loss.DPOLoss", Link("task=dpo")),
            ]),
        ),
        open(
            &["dtype"],
            Words(&[
                ("bf16", Link("precision=bf16-pure")),
                ("fp32", Link("precision=fp32")),
                ("fp16", NotCounted("torchtune trains in bf16 or fp32")),
            ]),
        ),
        open(
            &["enable_activation_checkpointing"],
            Words(&[("true", Said::Fact(Fact::Recomputes(true))), ("false", Said::Fact(Fact::Recomputes(false)))]),
        ),
        open(&["enable_activation_offloading"], Words(&switch(Said::Fact(Fact::OffloadsActivations(true)), Nothing))),
        open(&["fsdp_cpu_offload"], Words(&switch(Said::Fact(Fact::OffloadsParameters(true)), Nothing))),
        open(
            &["fsdp_reshard_after_forward"],
            Words(&switch(Nothing, NotCounted("weights stay gathered between the passes"))),
        ),
        open(&["tensor_parallel_dim"], Number("tp")),
        open(&["context_parallel_dim"], Number("cp")),
        open(
            &["compile"],
            Words(&[("true", Said::Fact(Fact::Compiles(true))), ("false", Said::Fact(Fact::Compiles(false)))]),
        ),
    ],
    no_matter: "output_dir tokenizer.* tokenizer checkpointer* dataset* val_dataset* datasets* seed shuffle epochs max_steps_per_epoch lr_scheduler.* optimizer.* \
        loss.* resume_from_checkpoint save_* metric_logger* log_* device clip_grad_norm profiler* low_cpu_ram model.lora_alpha collate_fn \
        tensor_parallel_plan* custom_sharded_layers cudnn_deterministic_mode model.use_dora model.quantize_base model.apply_lora_to_output \
        enable_async_checkpointing name ref_checkpointer* kd_ratio kd_loss* quantizer* dataloader* run_val_every_n_steps batch_size_val",
    not_counted: &[
        ("ac_mode", "some products of a layer are kept and not computed again"),
        ("ac_option", "some products of a layer are kept and not computed again"),
        ("teacher_*", "a teacher whose logits are there beside the model’s"),
        ("data_parallel_replicate_dim", reasons::REPLICAS),
        ("enable_fp8_training", reasons::FP8),
        ("model.*", "the model has other parts than its name says"),
        ("policy_model*", "PPO’s models"),
        ("reward_*", "PPO’s models"),
        ("value_*", "PPO’s models"),
        ("ref_policy*", "PPO’s models"),
        ("ppo_*", "PPO’s batches"),
        ("forward_batch_size", "PPO’s batches"),
    ],
};
