//! Configurations of NVIDIA’s programs around Megatron-LM: Megatron-Bridge’s, with the flags of its recipes, and those of
//! NeMo 1. Both keep Megatron-LM’s names for most of what stands in their sections, which are read as its flags.

use super::super::facts::{Count, Fact, Half};
use super::Rule::{Above, Count as Counts, Model, Number, Rank, Targets, Words};
use super::Said::{self, Link, NotCounted, Nothing};
use super::megatron::{FP8_FORMATS, GRANULARITY, LOSS_FUSION, METHOD};
use super::{Format, Meaning, Needs, Row, Table, key, open, switch};

pub(super) static BRIDGE: Row = Row {
    format: Format::MegatronBridge,
    name: "a configuration of Megatron-Bridge",
    signs: &[
        &["train.micro_batch_size"],
        &["train.global_batch_size"],
        &["train.train_iters"],
        &["model.tensor_model_parallel_size", "ddp"],
    ],
    needs: Some(Needs::Pretraining),
};

pub(super) static BRIDGE_MEANING: Meaning = Meaning {
    // A recipe’s distributed optimizer is always on (`distributed_fused_adam_with_cosine_annealing` in
    // recipes/utils/optimizer_utils.py), and its attention is that of Transformer Engine.
    always: &[
        Link("engine=megatron&step=fused&kernels=fused&attn=flash&dropout=off"),
        Said::Fact(Fact::Megatron(true)),
        Said::Fact(Fact::DividesOptimizer(true)),
    ],
    tables: &[&CONTAINER],
    within: &[
        ("model", &super::megatron::MEANING),
        ("train", &super::megatron::MEANING),
        ("ddp", &super::megatron::MEANING),
        ("optimizer", &super::megatron::MEANING),
        ("mixed_precision", &super::megatron::MEANING),
    ],
};

static CONTAINER: Table = Table {
    source: "Megatron-Bridge 067f987df03b (2026-08-22), training/config.py, ConfigContainer; training/mixed_precision.py; \
             recipes/common.py; scripts/training/run_recipe.py",
    is_of_scripts: false,
    keys: &[
        open(&["recipe", "model"], Model),
        open(&["train.micro_batch_size", "micro_batch_size"], Number("b")),
        open(&["train.global_batch_size", "global_batch_size"], Counts(Count::GlobalBatch)),
        open(&["dataset.seq_length", "dataset.sequence_length", "model.seq_length", "seq_length"], Number("s")),
        open(&["tensor_model_parallel_size"], Number("tp")),
        open(&["pipeline_model_parallel_size"], Number("pp")),
        open(&["context_parallel_size"], Number("cp")),
        open(&["expert_model_parallel_size"], Number("ep")),
        open(&["model.virtual_pipeline_model_parallel_size", "virtual_pipeline_model_parallel_size"], Number("vpp")),
        key(
            &["mixed_precision"],
            "bf16_mixed",
            Words(&[
                ("bf16_mixed", Link("precision=bf16&grad=32")),
                ("bf16-mixed", Link("precision=bf16&grad=32")),
                ("fp16_mixed", Link("precision=fp16&grad=16")),
                ("fp16-mixed", Link("precision=fp16&grad=16")),
                ("bf16_with_fp8_delayed_scaling_mixed", Link("precision=bf16&grad=32&fp8=te-delayed")),
                ("bf16_with_fp8_current_scaling_mixed", Link("precision=bf16&grad=32&fp8=te-current")),
                ("bf16_with_fp8_subchannel_scaling_mixed", Link("precision=bf16&grad=32&fp8=te-block")),
                ("bf16_with_mxfp8_mixed", Link("precision=bf16&grad=32&fp8=te-mxfp8")),
                ("bf16_with_nvfp4_mixed", NotCounted("products in fp4 keep some inputs in half a byte")),
            ]),
        ),
        open(&["mixed_precision.fp8", "model.fp8"], Words(FP8_FORMATS)),
        open(
            &["mixed_precision.grad_reduce_in_fp32", "ddp.grad_reduce_in_fp32"],
            Words(&switch(Link("grad=32"), Link("grad=16"))),
        ),
        // The strategy is that of its FSDP, which a recipe names whether that is on or not.
        open(&["ddp.use_megatron_fsdp"], Words(&switch(Said::Fact(Fact::Divides(3)), Nothing))),
        open(&["peft.dim"], Rank),
        key(&["peft.target_modules"], "linear_qkv,linear_proj,linear_fc1,linear_fc2", Targets),
        // The recipes of language models fuse it (recipes/llama/h100/llama3.py and others).
        key(&["model.cross_entropy_loss_fusion"], "true", Words(LOSS_FUSION)),
        open(
            &["model.gated_linear_unit"],
            Words(&switch(Said::Fact(Fact::Gated(true)), Said::Fact(Fact::Gated(false)))),
        ),
        open(
            &["model.add_bias_linear"],
            Words(&switch(Said::Fact(Fact::Biased(true)), Said::Fact(Fact::Biased(false)))),
        ),
        open(&["model.share_embeddings_and_output_weights"], Words(&switch(Link("tied=on"), Link("tied=off")))),
        open(&["model.num_moe_experts"], Number("experts")),
    ],
    no_matter: "logger.* checkpoint.* scheduler.* tokenizer.* rng.* dist.* validation.* profiling.* rerun_state_machine.* ft.* straggler.* \
        nvrx_straggler.* inprocess_restart.* tensor_inspect.* env_vars.* comm_overlap.* dataset.* optimizer_config_override_provider.* \
        peft.alpha peft.dropout* peft.lora_* peft.a2a_experimental peft._target_ mode step_func dataset max_steps lr min_lr warmup_iters \
        pretrained_checkpoint save_dir load_dir save_interval deterministic dump_env dry_run ddp.data_parallel_sharding_strategy \
        ddp.average_in_collective ddp.bucket_size ddp._target_ train.check_weight_hash* train.num_epochs train._target_ optimizer._target_ \
        model._target_ model.apply_rope_fusion model.gradient_accumulation_fusion model.bias_activation_fusion model.bias_dropout_fusion \
        model.masked_softmax_fusion model.init_method* model.output_layer_init_method* model.layernorm_* model.activation_func* \
        model.deallocate_pipeline_outputs model.params_dtype model.pipeline_dtype model.autocast_* model.hf_model_id model.vocab_file \
        model.should_pad_vocab model.make_vocab_size_divisible_by model.rotary_* model.seq_len_interpolation_factor model.scatter_* \
        model.parallel_output model.tp_* model.cuda_graph_* model.generation_config model.perform_initialization model.num_layers_in_* model.use_hf_vision_model optimizer.finetune_lr \
        mixed_precision._target_ mixed_precision.params_dtype mixed_precision.pipeline_dtype mixed_precision.autocast_* mixed_precision.fp8_amax* \
        mixed_precision.fp8_margin mixed_precision.fp8_wgrad mixed_precision.fp32",
    not_counted: &[
        ("mixed_precision.fp4", "products in fp4 keep some inputs in half a byte"),
        ("expert_tensor_parallel_size", "experts are divided among other tensor-parallel GPUs than attention"),
        ("peft.exclude_modules", "some matrices have no adapters"),
        ("model.teacher.*", "a teacher beside the model"),
        ("model.kd_config.*", "what is compared with a teacher is kept"),
        ("model.freeze_*", "parts of the model are not trained"),
    ],
};

pub(super) static NEMO: Row = Row {
    format: Format::Nemo,
    name: "a configuration of NeMo 1",
    signs: &[
        &["model.micro_batch_size"],
        &["model.megatron_amp_O2"],
        &["model.encoder_seq_length"],
        &["model.peft.peft_scheme"],
    ],
    needs: Some(Needs::Pretraining),
};

pub(super) static NEMO_MEANING: Meaning = Meaning {
    always: &[Link("engine=megatron&step=fused&kernels=fused"), Said::Fact(Fact::Megatron(true))],
    tables: &[&CONFIG],
    within: &[("model", &super::megatron::MEANING)],
};

static CONFIG: Table = Table {
    source: "NeMo 00780235d909 (1.x), examples/nlp/language_modeling, conf/megatron_gpt_config.yaml and \
             tuning/conf/megatron_gpt_finetuning_config.yaml, and what MegatronGPTModel takes without them",
    is_of_scripts: false,
    keys: &[
        key(&["trainer.devices"], "1", Counts(Count::PerMachine)),
        key(&["trainer.num_nodes"], "1", Counts(Count::Machines)),
        open(
            &["trainer.precision"],
            Words(&[
                ("bf16", Said::Fact(Fact::Half(Half::Bf16))),
                ("bf16-mixed", Said::Fact(Fact::Half(Half::Bf16))),
                ("16", Said::Fact(Fact::Half(Half::Fp16))),
                ("16-mixed", Said::Fact(Fact::Half(Half::Fp16))),
                ("32", Nothing),
                ("32-true", Nothing),
            ]),
        ),
        // Without it weights stay in fp32, and products are cast by `torch.autocast`.
        key(
            &["model.megatron_amp_O2"],
            "false",
            Words(&switch(Said::Fact(Fact::Autocast(false)), Said::Fact(Fact::Autocast(true)))),
        ),
        open(&["model.encoder_seq_length", "model.data.train_ds.max_seq_length"], Number("s")),
        key(
            &["model.normalization"],
            "layernorm",
            Words(&[
                ("layernorm", Link("norm=layernorm&norms=2")),
                ("layernorm1p", Link("norm=layernorm&norms=2")),
                ("low_precision_layernorm", Link("norm=layernorm&norms=2")),
                ("rmsnorm", Link("norm=rmsnorm&norms=2")),
            ]),
        ),
        key(
            &["model.activation"],
            "gelu",
            Words(&[
                ("gelu", Said::Fact(Fact::Gated(false))),
                ("approx-gelu", Said::Fact(Fact::Gated(false))),
                ("squared-relu", Said::Fact(Fact::Gated(false))),
                ("geglu", Said::Fact(Fact::Gated(true))),
                ("reglu", Said::Fact(Fact::Gated(true))),
                ("swiglu", Said::Fact(Fact::Gated(true))),
                ("fast-geglu", Said::Fact(Fact::Gated(true))),
                ("fast-reglu", Said::Fact(Fact::Gated(true))),
                ("fast-swiglu", Said::Fact(Fact::Gated(true))),
            ]),
        ),
        key(&["model.bias"], "true", Words(&switch(Said::Fact(Fact::Biased(true)), Said::Fact(Fact::Biased(false))))),
        key(&["model.share_embeddings_and_output_weights"], "true", Words(&switch(Link("tied=on"), Link("tied=off")))),
        key(
            &["model.position_embedding_type"],
            "learned_absolute",
            Words(&[
                ("learned_absolute", Said::Fact(Fact::LearnsPositions(true))),
                ("rope", Link("position=rotary&positions=0")),
                ("alibi", Link("position=none&positions=0")),
                ("kerple", Link("position=none&positions=0")),
                ("xpos", Link("position=none&positions=0")),
                ("sandwich", Link("position=none&positions=0")),
            ]),
        ),
        key(&["model.hidden_dropout"], "0.1", Above(Link("dropout=on"), Link("dropout=off"))),
        open(&["model.virtual_pipeline_model_parallel_size"], Number("vpp")),
        open(&["model.use_flash_attention"], Words(&switch(Link("attn=flash"), Link("attn=eager")))),
        open(&["model.fp8"], Words(&switch(Said::Fact(Fact::Fp8(true)), Nothing))),
        key(&["model.cross_entropy_loss_fusion"], "false", Words(LOSS_FUSION)),
        open(&["model.activations_checkpoint_granularity"], Words(GRANULARITY)),
        open(&["model.activations_checkpoint_method"], Words(METHOD)),
        open(&["model.activations_checkpoint_num_layers"], Counts(Count::RecomputedLayers)),
        key(
            &["model.optim.name"],
            "fused_adam",
            Words(&[
                ("fused_adam", Link("optimizer=adamw")),
                ("adamw", Link("optimizer=adamw")),
                ("adam", Link("optimizer=adamw")),
                ("sgd", Link("optimizer=momentum")),
                ("distributed_fused_adam", Said::Fact(Fact::DividesOptimizer(true))),
                ("mcore_distributed_optim", Said::Fact(Fact::DividesOptimizer(true))),
            ]),
        ),
        open(&["model.fsdp"], Words(&switch(Said::Fact(Fact::Divides(3)), Nothing))),
        open(
            &["model.fsdp_sharding_strategy"],
            Words(&[
                ("full", Nothing),
                ("grad", NotCounted("weights are whole on every GPU")),
                ("hybrid", NotCounted("weights are divided within a machine alone")),
            ]),
        ),
        open(
            &["model.peft.peft_scheme"],
            Words(&[
                ("lora", Said::Fact(Fact::Adapters(true))),
                ("none", Said::Fact(Fact::Adapters(false))),
                ("adapter", NotCounted("adapters of another kind than LoRA")),
                ("ia3", NotCounted("adapters of another kind than LoRA")),
                ("ptuning", NotCounted("adapters of another kind than LoRA")),
                ("selective", NotCounted("some weights are trained as they are")),
            ]),
        ),
        open(&["model.peft.lora_tuning.adapter_dim"], Number("rank")),
        open(&["model.peft.lora_tuning.target_modules"], Targets),
    ],
    no_matter: "name restore_from_path exp_manager.* trainer.* run.* inference.* cluster_type model.tokenizer.* model.data.* model.optim.* \
        model.nsys_profile.* model.gc_* model.native_amp_* model.peft.* model.restore_from_path model.resume_from_checkpoint \
        model.save_nemo_on_validation_end model.sync_batch_comm model.gradient_as_bucket_view model.answer_only_loss model.layernorm_epsilon \
        model.pre_process model.post_process model.persist_layer_norm model.use_scaled_init_method model.do_layer_norm_weight_decay \
        model.apex_transformer_log_level model.grad_allreduce_chunk_size_mb model.grad_div_ar_fusion model.gradient_accumulation_fusion \
        model.masked_softmax_fusion model.get_attention_mask_from_fusion model.apply_rope_fusion model.mcore_gpt model.mcore_customization_config \
        model.batch_p2p_comm model.headscale model.normalize_attention_scores model.attention_type model.openai_gelu model.reduce_amax \
        model.use_emha model.ub_tp_comm_* model.fp8_* model.ffn_dropout model.rotary_* model.seq_len_interpolation_factor \
        model.fp16_lm_cross_entropy model.fsdp_* model.activations_checkpoint_layers_per_pipeline model.custom model.dist_ckpt_* model.target \
        model.nemo_version model.tokenizer_type model.defer_embedding_wgrad_compute model.sft_* model.hf_* model.language_model_path",
    not_counted: &[
        ("model.transformer_block_type", "norms stand elsewhere in the block"),
        (
            "model.num_micro_batches_with_partial_activation_checkpoints",
            "some micro-batches of a pipeline compute less again than others",
        ),
    ],
};

/// The model and the adapters that a recipe’s name says: “llama31_8b_peft_1gpu_h100_bf16_config”. A recipe with adapters has
/// LoRA of this rank (`_peft_common` in recipes/common.py).
pub(in crate::read) fn recipe(name: &str, mode: Option<&str>) -> (String, Option<&'static str>) {
    const RANK: &str = "32";
    let end = ["_pretrain", "_sft", "_peft", "_finetune"].iter().filter_map(|kind| name.find(kind)).min();
    let (stem, kind) = name.split_at(end.unwrap_or(name.len()));
    let (family, size) = stem.split_once('_').unwrap_or((stem, ""));
    // The point of a version is left out: “llama31”, “qwen25”.
    let digits = family.bytes().rev().take_while(u8::is_ascii_digit).count();
    let family = match family.split_at(family.len() - digits) {
        (family, version) if digits == 2 => format!("{family}-{}.{}", &version[..1], &version[1..]),
        _ => family.to_owned(),
    };
    let adapts = kind.starts_with("_peft") || matches!(mode, Some("lora" | "dora" | "peft"));
    (format!("{family}-{}", size.replace('_', "-")), adapts.then_some(RANK))
}
