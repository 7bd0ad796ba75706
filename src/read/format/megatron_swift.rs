//! ms-swift’s flags for training by Megatron-LM: `megatron sft` and its like. The model comes by its name, and most flags are
//! those of Megatron-LM, with other defaults.

use super::super::facts::{AdapterRule, Count, Fact, Granularity, Half};
use super::Rule::{Count as Counts, Model, Number, Targets, Words};
use super::Said::{self, Link, NotCounted, Nothing};
use super::megatron::{ATTENTION, FP8_RECIPES, LOSS_FUSION, SHARED};
use super::{Format, Meaning, Needs, Row, Table, key, open, peft, reasons, switch};

pub(super) static ROW: Row = Row {
    format: Format::MegatronSwift,
    name: "arguments of ms-swift for Megatron-LM",
    signs: &[
        &["micro_batch_size", "tuner_type"],
        &["micro_batch_size", "train_type"],
        &["micro_batch_size", "load_safetensors"],
        &["micro_batch_size", "mcore_model"],
        &["micro_batch_size", "model", "dataset"],
    ],
    needs: Some(Needs::Pretraining),
};

pub(super) static MEANING: Meaning = Meaning {
    // With `packing` rows are full; without it the worst micro-batch is counted, in which all sequences are as long. Each expert
    // has adapters of its own (swift/megatron/tuners/lora.py). Weights are loaded in the type of the checkpoint, bf16 for nearly
    // every model, and adapters are made in it.
    always: &[
        Link("engine=megatron&step=fused&kernels=fused&dropout=off&lengths=equal&expert_matrices=linear"),
        Said::Fact(Fact::Megatron(true)),
        Said::Fact(Fact::Half(Half::Bf16)),
        Said::Fact(Fact::AdapterRule(AdapterRule::Half)),
    ],
    tables: &[&ARGUMENTS, &SHARED],
    within: &[],
};

/// Over how many tensor-parallel GPUs experts are divided.
pub(super) const EXPERTS: &[(&str, Said)] = &[
    ("1", Said::Fact(Fact::ExpertsWhole(true))),
    ("2", NotCounted(APART)),
    ("4", NotCounted(APART)),
    ("8", NotCounted(APART)),
];
const APART: &str = "experts are divided among tensor-parallel GPUs of their own";

static ARGUMENTS: Table = Table {
    source: "ms-swift 75dd14275544, swift/megatron/arguments/megatron_args.py, MegatronArguments and its bases",
    is_of_scripts: false,
    keys: &[
        open(&["model"], Model),
        key(
            &["tuner_type", "train_type"],
            "full",
            Words(&[("lora", Said::Fact(Fact::Adapters(true))), ("full", Said::Fact(Fact::Adapters(false)))]),
        ),
        key(&["lora_rank"], "8", Number("rank")),
        key(&["lora_dropout"], "0.05", peft::DROPOUT),
        key(&["target_modules"], "all-linear", Targets),
        key(&["micro_batch_size"], "1", Number("b")),
        key(&["global_batch_size"], "16", Counts(Count::GlobalBatch)),
        open(&["max_length", "seq_length"], Number("s")),
        key(&["tensor_model_parallel_size"], "1", Number("tp")),
        key(&["pipeline_model_parallel_size"], "1", Number("pp")),
        key(&["context_parallel_size"], "1", Number("cp")),
        key(&["expert_model_parallel_size"], "1", Number("ep")),
        key(&["expert_tensor_parallel_size"], "1", Words(EXPERTS)),
        key(&["sequence_parallel"], "false", Words(&switch(Link("sp=on"), Link("sp=off")))),
        key(
            &["use_distributed_optimizer"],
            "true",
            Words(&switch(Said::Fact(Fact::DividesOptimizer(true)), Said::Fact(Fact::DividesOptimizer(false)))),
        ),
        key(
            &["recompute_granularity"],
            "selective",
            Words(&[
                ("selective", Said::Fact(Fact::Granularity(Granularity::Selective))),
                ("full", Said::Fact(Fact::Granularity(Granularity::Full))),
                ("none", Nothing),
            ]),
        ),
        key(&["attention_backend"], "flash", Words(ATTENTION)),
        key(&["cross_entropy_loss_fusion"], "false", Words(LOSS_FUSION)),
        open(
            &["cross_entropy_fusion_impl"],
            Words(&[
                ("native", Nothing),
                ("te", NotCounted("Transformer Engine’s cross-entropy writes its gradient over the logits")),
            ]),
        ),
        key(&["optimizer"], "adam", Words(&[("adam", Link("optimizer=adamw")), ("sgd", Link("optimizer=momentum"))])),
        open(&["fp8_recipe"], Words(FP8_RECIPES)),
        open(
            &["rlhf_type"],
            Words(&[
                ("dpo", Link("task=dpo")),
                ("grpo", Link("task=grpo")),
                ("gkd", Link("task=distil")),
                ("rm", Link("task=reward")),
                ("kto", NotCounted("KTO reads single answers and a reference")),
            ]),
        ),
        open(&["freeze_vit"], Words(&[("true", Link("tower=frozen")), ("false", Link("tower=trained"))])),
    ],
    no_matter: "dataset* val_dataset* cached_dataset split_dataset_ratio system template* agent_template truncation_strategy columns \
        strict lazy_tokenize packing* padding_free load_from_cache_file streaming interleave_prob stopping_strategy shuffle_buffer_size download_mode \
        lora_alpha lora_bias use_rslora adapter_load adapters ref_adapters merge_lora mcore_model mcore_adapter model_type model_revision \
        load_safetensors save_safetensors perform_initialization output_dir max_epochs num_train_epochs max_shard_size task_type add_version \
        create_checkpoint_symlink use_hf hub_token custom_* external_plugins dataloader_* train_dataloader_shuffle group_by_length \
        report_to check_model enable_channel_loss enable_dft_loss loss_type loss_scale vit_lr aligner_lr freeze_aligner beta rpo_alpha \
        attention_dropout hidden_dropout use_flash_attn torch_dtype initialize_embedding no_initialization no_data_sharding \
        num_generations temperature top_k top_p reward_* cross_entropy_* swanlab_* moe_router_*",
    not_counted: &[
        ("freeze_llm", "the language model is not trained"),
        ("freeze_parameters*", "only some weights are trained: fewer gradients and moments than are counted"),
        ("trainable_parameters*", "more weights are trained than are counted"),
        ("modules_to_save", reasons::WHOLE_MODULES),
        ("vit_gradient_checkpointing", "the tower’s layers are computed again by themselves"),
        ("mlp_padding_free", "padding reaches attention and no feed-forward block"),
        ("offload_*", "something leaves the GPU while the engine generates"),
        ("vllm_*", "an engine that generates beside Megatron-LM"),
        ("teacher_model", "a teacher of other sizes"),
        ("ref_model", "another reference than the model itself"),
    ],
};
