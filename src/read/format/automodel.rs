//! NVIDIA NeMo AutoModel’s YAML. It keeps weights, adapters and moments in the type in which the model is loaded, and FSDP
//! casts what it gathers to bf16.

use super::super::facts::{AdapterRule, Count, Fact, Shards};
use super::Rule::{Count as Counts, Model, Number, Targets, Usual, Words};
use super::Said::{self, Link, NotCounted, Nothing};
use super::{Format, Meaning, Needs, RESHARDS, Row, Table, key, open, python, reasons, switch, torchtitan};

pub(super) static ROW: Row = Row {
    format: Format::Automodel,
    name: "a configuration of NeMo AutoModel",
    signs: &[&["step_scheduler"], &["model._target_", "distributed"]],
    needs: Some(Needs::Pretraining),
};

pub(super) static MEANING: Meaning = Meaning {
    always: &[Link("engine=torch"), Said::Fact(Fact::AdapterRule(AdapterRule::Half))],
    tables: &[&CONFIG, &REST],
    within: &[],
};

const SIZES: &str = "the model has other sizes than its name says";
const TEACHER: &str = "a teacher whose logits are there beside the model’s";
const OTHER: &str = "another kind of training than that of a language model on its next token";
pub(super) const DROPOUT: &str = "dropout behind the adapters keeps a mask of each of their outputs";
pub(super) const HEAD: &str = "the head has adapters as well, and what they add is as large as the logits";
pub(super) const EXCLUDED: &str = "some matrices have no adapter and are counted with one";
const KERNELS: &str = "attention by kernels of another kind";
pub(super) const MEGATRON: &str =
    "Megatron-LM’s FSDP has buffers of its own for gradients and gathered weights; PyTorch’s is counted";
const TE_LOSS: &str = "Transformer Engine’s cross-entropy writes its gradient over the logits";
const HEADS: &str = "layers that predict further tokens: weights, activations and logits of each";
const FP32: &str = "what lies between the layers stays in fp32";
// `apply_submodule_checkpointing` in components/distributed/activation_checkpointing.py; whole layers are computed again of
// models that are transformers’ own.
pub(super) const PARTS: &str = "attention, feed-forward block and norms of most models are computed again one by one: each layer keeps up to \
    four inputs where one is counted";
pub(super) const TE_ADAM: &str = "Transformer Engine’s Adam may keep fp32 weights or what bf16 weights lack of them, and has types of its own for \
    its moments";

/// Whether PyTorch’s optimizer takes all tensors at once.
pub(super) const FOREACH: &[(&str, Said)] = &switch(Said::Fact(Fact::Foreach(true)), Said::Fact(Fact::Foreach(false)));

static CONFIG: Table = Table {
    source: "NeMo AutoModel 36044ad3d139 (2026-08-22), nemo_automodel/recipes/llm/train_ft.py, _dist_utils.py and _typed_config.py; \
             components/distributed/config.py; components/_peft/lora.py, PeftConfig; components/optim/optimizer.py; \
             components/loss/loss.py",
    is_of_scripts: false,
    keys: &[
        open(
            &[
                "model.pretrained_model_name_or_path",
                "model.config.pretrained_model_name_or_path",
                "model.config.name_or_path",
                "model.config",
            ],
            Model,
        ),
        key(&["model.torch_dtype", "model.dtype"], "auto", Words(python::LOADED)),
        key(
            &["model.attn_implementation", "model.backend.attn", "model.config._attn_implementation"],
            "sdpa",
            Words(&[
                ("sdpa", Link("attn=flash")),
                ("flash_attention_2", Link("attn=flash")),
                ("flash_attention_3", Link("attn=flash")),
                ("te", Link("attn=flash")),
                ("eager", Link("attn=eager")),
                ("flex", NotCounted(KERNELS)),
                ("torch", NotCounted(KERNELS)),
                ("tilelang", NotCounted(KERNELS)),
                ("cudnn", NotCounted(KERNELS)),
                ("magi", NotCounted(KERNELS)),
                ("ffpa", NotCounted(KERNELS)),
            ]),
        ),
        key(&["step_scheduler.local_batch_size"], "1", Counts(Count::LocalBatch)),
        open(&["step_scheduler.global_batch_size"], Counts(Count::GlobalBatch)),
        open(&["dataset.seq_length", "dataset.seq_len", "dataset.max_length"], Number("s")),
        open(&["packed_sequence.packed_sequence_size", "packed_sequence.pack_size"], Counts(Count::Row)),
        key(
            &["distributed.strategy"],
            "fsdp2",
            Words(&[
                ("fsdp2", Said::Fact(Fact::Shards(Shards::Fsdp))),
                ("ddp", Said::Fact(Fact::Shards(Shards::Nothing))),
                ("megatron_fsdp", NotCounted(MEGATRON)),
                ("megatron-fsdp", NotCounted(MEGATRON)),
                ("mfsdp", NotCounted(MEGATRON)),
            ]),
        ),
        open(&["distributed.dp_size"], Counts(Count::Shards)),
        open(&["distributed.tp_size"], Number("tp")),
        open(&["distributed.cp_size"], Number("cp")),
        open(&["distributed.pp_size"], Number("pp")),
        open(&["distributed.ep_size"], Number("ep")),
        key(&["distributed.sequence_parallel"], "false", Words(&switch(Link("sp=on"), Link("sp=off")))),
        key(&["distributed.mp_policy.param_dtype"], "bfloat16", Words(torchtitan::CASTS)),
        open(
            &["distributed.offload_policy._target_"],
            Words(&[("torch.distributed.fsdp.CPUOffloadPolicy", Said::Fact(Fact::OffloadsParameters(true)))]),
        ),
        open(&["distributed.reshard_after_forward"], Words(RESHARDS)),
        key(
            &["distributed.moe.reshard_after_forward"],
            "false",
            Words(&switch(Said::Fact(Fact::ReshardsExperts(true)), Said::Fact(Fact::ReshardsExperts(false)))),
        ),
        key(
            &["distributed.activation_checkpointing"],
            "false",
            Words(&[
                ("false", Link("recompute=none")),
                ("true", NotCounted(PARTS)),
                ("full", NotCounted(PARTS)),
                ("selective", Link("recompute=ops")),
            ]),
        ),
        key(
            &["distributed.pipeline.pp_schedule"],
            "1f1b",
            Words(&[
                ("1f1b", Said::Fact(Fact::Interleaves(false))),
                ("interleaved1f1b", Said::Fact(Fact::Interleaves(true))),
                ("interleaved_1f1b", Said::Fact(Fact::Interleaves(true))),
                ("gpipe", NotCounted("GPipe keeps the activations of every micro-batch of a step")),
                ("zero_bubble", NotCounted("zero bubble puts the gradients of weights off and keeps their inputs")),
            ]),
        ),
        key(&["distributed.pipeline.pp_microbatch_size"], "1", Counts(Count::PipelineBatch)),
        open(&["distributed.pipeline.layers_per_stage"], Counts(Count::LayersOfChunk)),
        open(&["compile.enabled", "distributed.enable_compile"], Words(&switch(Link("kernels=fused"), Nothing))),
        key(
            &["loss_fn._target_"],
            "MaskedCrossEntropy",
            Words(&[
                ("MaskedCrossEntropy", Link("loss=plain")),
                ("nemo_automodel.components.loss.masked_ce.MaskedCrossEntropy", Link("loss=plain")),
                ("FusedLinearCrossEntropy", Link("loss=fused")),
                ("nemo_automodel.components.loss.linear_ce.FusedLinearCrossEntropy", Link("loss=fused")),
                ("nemo_automodel.components.loss.chunked_ce.ChunkedCrossEntropy", Link("loss=chunked")),
                ("nemo_automodel.components.loss.te_parallel_ce.TEParallelCrossEntropy", NotCounted(TE_LOSS)),
                ("TEParallelCrossEntropy", NotCounted(TE_LOSS)),
                (
                    "nemo_automodel.components.models.gemma4_moe.loss.Gemma4TensorParallelFusedLinearCrossEntropy",
                    NotCounted("each tensor-parallel GPU has the loss of its part of the vocabulary"),
                ),
                (
                    "nemo_automodel.components.models.nemotron_parse.nemotron_parse_loss.NemotronParseLoss",
                    NotCounted(OTHER),
                ),
            ]),
        ),
        open(
            &["loss_fn.fp32_upcast"],
            Words(&[("true", Nothing), ("false", NotCounted("logits are not cast to fp32 before the loss"))]),
        ),
        key(
            &["optimizer._target_"],
            "torch.optim.AdamW",
            Words(&[
                ("torch.optim.AdamW", Link("optimizer=adamw")),
                ("torch.optim.Adam", Link("optimizer=adamw")),
                ("adamw", Link("optimizer=adamw")),
                ("adam", Link("optimizer=adamw")),
                ("dion.Muon", Link("optimizer=muon")),
                ("muon", Link("optimizer=muon")),
                ("transformer_engine.pytorch.optimizers.fused_adam.FusedAdam", NotCounted(TE_ADAM)),
                ("transformer_engine.pytorch.optimizers.FusedAdam", NotCounted(TE_ADAM)),
                ("flashoptim.FlashAdamW", NotCounted("master weights and moments in fewer bits")),
            ]),
        ),
        open(&["optimizer.fused"], Words(&switch(Link("step=fused"), Nothing))),
        key(&["optimizer.foreach"], "true", Words(FOREACH)),
        key(
            &["peft._target_"],
            "none",
            Words(&[
                ("none", Said::Fact(Fact::Adapters(false))),
                ("nemo_automodel.components._peft.lora.PeftConfig", Said::Fact(Fact::Adapters(true))),
            ]),
        ),
        key(&["peft.dim"], "8", Number("rank")),
        key(&["peft.target_modules"], "*_proj", Targets),
        open(
            &["peft.lora_dtype"],
            Words(&[
                ("float32", Said::Fact(Fact::AdapterRule(AdapterRule::Peft))),
                ("bfloat16", Said::Fact(Fact::AdapterRule(AdapterRule::Half))),
            ]),
        ),
        open(&["peft.dropout"], Usual(0.0, DROPOUT)),
        open(&["nproc_per_node"], Counts(Count::PerMachine)),
        open(&["quantization.load_in_4bit"], Words(python::FOUR)),
        open(&["quantization.load_in_8bit"], Words(python::EIGHT)),
        open(&["quantization.bnb_4bit_use_double_quant"], Words(python::DOUBLE)),
        open(
            &["freeze_config.freeze_vision_tower"],
            Words(&[("true", Link("tower=frozen")), ("false", Link("tower=trained"))]),
        ),
    ],
    no_matter: "step_scheduler.* recipe recipe._target_ dist_env.* rng.* seed clip_grad_norm.* checkpoint.* lr_scheduler* wandb.* mlflow.* \
        comet.* ci.* skypilot.* slurm.* benchmark.* dataset.* dataset validation_dataset* _validation_* dataloader* validation_dataloader* \
        tokenizer.* processor.* packed_sequence.* neftune.* nvtx moe_metrics.* prewarm.* tool_call_eval.* embedding_row_repair.* \
        sdpa_method separate_meshes longalign _dsv4_* model._target_ model.trust_remote_code model.config.* model.backend.* model.force_hf \
        model.load_base_model model.use_sdpa_patching model.output_hidden_states model.text_config.* model.bos_token_id model.eos_token_id \
        model.router_* model.mtp_loss_* model.kda_mode model.cache_dir model.freeze_router distributed distributed._target_ \
        distributed.mp_policy.* distributed.offload_policy* distributed.pipeline.* distributed.moe distributed.moe.* \
        distributed.defer_fsdp_grad_sync distributed.patch_is_packed_sequence distributed.find_unused_parameters distributed.static_graph \
        distributed.broadcast_buffers distributed.multimodal.vision.* distributed.bucket_cap_mb distributed.activation_checkpointing_scope \
        distributed.overlap_* distributed.check_for_nan_in_grad compile.* fp8.* loss_fn.ignore_index loss_fn.reduction \
        loss_fn.logit_softcapping loss_fn.compile optimizer.* peft.alpha peft.lora_A_init peft.use_triton peft.dropout_position \
        quantization.bnb_4bit_* freeze_config.freeze_audio_tower peft quantization data.* performance.* temperature",
    not_counted: &[
        ("model.config.num_hidden_layers", SIZES),
        ("model.config.hidden_size", SIZES),
        ("model.config.intermediate_size", SIZES),
        ("model.config.moe_intermediate_size", SIZES),
        ("model.config.num_attention_heads", SIZES),
        ("model.config.num_key_value_heads", SIZES),
        ("model.config.num_experts*", SIZES),
        ("model.config.n_routed_experts", SIZES),
        ("model.config.vocab_size", SIZES),
        ("model.config.num_nextn_predict_layers", HEADS),
        ("model.num_nextn_predict_layers", HEADS),
        ("model.mtp_use_repeated_layer", HEADS),
        ("model.text_config.num_nextn_predict_layers", HEADS),
        ("model.text_config.mtp_num_hidden_layers", HEADS),
        ("model.text_config.num_mtp_modules", HEADS),
        ("model.n_*", "a GPT-2 of these sizes"),
        ("model.vocab_size", "a GPT-2 of these sizes"),
        ("model.num_labels", "a head of this many classes instead of a vocabulary"),
        ("model.use_liger_kernel", "Liger’s kernels keep less for the backward pass"),
        ("model.backend.te_fp8.*", reasons::FP8),
        ("fp8.enabled", reasons::FP8),
        ("distributed.autocast_dtype", FP32),
        ("autocast.enabled", FP32),
        ("autocast.dtype", FP32),
        ("distributed.dp_replicate_size", reasons::REPLICAS),
        ("distributed.tp_plan*", "a plan of its own divides the matrices"),
        ("distributed.enable_async_tensor_parallel", "gathered activations pass through buffers of their own"),
        ("distributed.enable_fsdp2_prefetch", "several layers are whole at once"),
        ("distributed.fsdp2_*", "several layers are whole at once"),
        ("distributed.multimodal.frozen_sharding", "how a frozen tower is divided"),
        ("distributed.gradient_as_bucket_view", "gradients lie in the buckets of their reduction"),
        ("distributed.zero_dp_strategy", MEGATRON),
        ("parallelizer.*", "another setting of how the model is divided"),
        ("distributed_config.*", "another setting of how the model is divided"),
        ("autopipeline.*", "another setting of how the model is divided"),
        ("loss_fn.chunk_len", "chunks of this many tokens; eight chunks are counted"),
        ("peft.match_all_linear", HEAD),
        ("peft.exclude_modules", EXCLUDED),
        ("peft.moe_rank_scaling", "adapters of experts have a smaller rank"),
        ("peft.use_dora", reasons::DORA),
        ("peft.use_memory_efficient_lora", "products of adapters are computed again and keep less"),
        ("qat.*", "fake quantization keeps rounded copies of weights for the backward pass"),
        ("teacher_*", TEACHER),
        ("kd_*", TEACHER),
        ("offload_teacher_model", TEACHER),
        ("flow_matching.*", OTHER),
        ("distill_*", OTHER),
        ("infonce_*", OTHER),
        ("mse_*", OTHER),
        ("nce_*", OTHER),
        ("dllm.*", OTHER),
        ("dflash.*", OTHER),
        ("recipe_args.*", OTHER),
        ("fsdp.*", OTHER),
        ("ddp.*", OTHER),
        ("ema.*", "a moving average of the weights"),
    ],
};

/// The keys without a row in the table before, which is asked first.
static REST: Table = Table {
    source: CONFIG.source,
    is_of_scripts: false,
    keys: &[],
    no_matter: "",
    not_counted: &[
        ("model.*", OTHER),
        ("distributed.*", "another setting of how the model is divided"),
        ("loss_fn.*", OTHER),
        ("freeze_config.*", reasons::SOME_PARTS),
    ],
};
