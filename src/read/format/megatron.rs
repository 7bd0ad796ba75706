//! Flags of Megatron-LM’s `pretrain_gpt.py`, which describe the model as well.

use super::super::facts::{Count, Fact, Fp8Scaling, Granularity};
use super::Rule::{Above, Count as Counts, Number, Usual, Words};
use super::Said::{self, Link, NotCounted, Nothing};
use super::{Format, Meaning, Needs, Row, Rule, Table, key, open, switch};

pub(super) static ROW: Row = Row {
    format: Format::Megatron,
    name: "flags of Megatron-LM",
    signs: &[
        &["num_layers", "hidden_size", "num_attention_heads"],
        &["tensor_model_parallel_size", "micro_batch_size"],
        &["use_mcore_models"],
        &["transformer_impl"],
    ],
    needs: Some(Needs::Pretraining),
};

pub(super) static MEANING: Meaning = Meaning {
    always: &[Link("engine=megatron&step=fused"), Said::Fact(Fact::Megatron(true))],
    tables: &[&FLAGS, &SHARED],
    within: &[],
};

const FP8: &str = "weights stay in fp8 between steps";
const HYBRID: &str = "layers of another kind than attention";
const LATER: &str = "gradients of weights are put off, and their inputs kept";

/// The formats of fp8, which take the same memory.
pub(super) const FP8_FORMATS: &[(&str, Said)] =
    &[("hybrid", Said::Fact(Fact::Fp8(true))), ("e4m3", Said::Fact(Fact::Fp8(true)))];
/// How fp8 scales.
pub(super) const FP8_RECIPES: &[(&str, Said)] = &[
    ("delayed", Said::Fact(Fact::Fp8Scaling(Fp8Scaling::Delayed))),
    ("tensorwise", Said::Fact(Fact::Fp8Scaling(Fp8Scaling::Current))),
    ("blockwise", Said::Fact(Fact::Fp8Scaling(Fp8Scaling::Block))),
    ("mxfp8", Said::Fact(Fact::Fp8Scaling(Fp8Scaling::Mxfp8))),
];
/// Attention by Megatron-LM’s words.
pub(super) const ATTENTION: &[(&str, Said)] = &[
    ("flash", Link("attn=flash")),
    ("fused", Link("attn=flash")),
    ("auto", Link("attn=flash")),
    ("unfused", Link("attn=eager")),
    ("local", Link("attn=eager")),
];
/// Whether the operators of the vocabulary-parallel loss are fused.
pub(super) const LOSS_FUSION: &[(&str, Said)] = &switch(Link("loss=vocab-parallel-fused"), Link("loss=vocab-parallel"));
/// What is computed again of each layer.
pub(super) const GRANULARITY: &[(&str, Said)] = &[
    ("selective", Said::Fact(Fact::Granularity(Granularity::Selective))),
    ("full", Said::Fact(Fact::Granularity(Granularity::Full))),
];
/// Which layers are computed again.
pub(super) const METHOD: &[(&str, Said)] =
    &[("uniform", Said::Fact(Fact::ByBlocks(false))), ("block", Said::Fact(Fact::ByBlocks(true)))];

static FLAGS: Table = Table {
    source: "Megatron-LM d98e8a64ddf3 (2026-08-22), megatron/training/arguments.py and the configuration classes of megatron/core",
    is_of_scripts: false,
    keys: &[
        open(&["micro_batch_size"], Number("b")),
        open(&["global_batch_size"], Counts(Count::GlobalBatch)),
        open(&["seq_length", "encoder_seq_length"], Number("s")),
        open(&["num_layers", "encoder_num_layers"], Number("layers")),
        open(&["hidden_size"], Number("hidden")),
        open(&["num_attention_heads"], Number("heads")),
        open(&["ffn_hidden_size"], Number("ffn")),
        open(&["num_query_groups"], Number("kv")),
        open(&["kv_channels"], Number("head_dim")),
        open(&["vocab_size", "padded_vocab_size"], Number("vocab")),
        key(
            &["normalization"],
            "LayerNorm",
            Words(&[("LayerNorm", Link("norm=layernorm&norms=2")), ("RMSNorm", Link("norm=rmsnorm&norms=2"))]),
        ),
        key(
            &["position_embedding_type"],
            "learned_absolute",
            Words(&[
                ("learned_absolute", Said::Fact(Fact::LearnsPositions(true))),
                ("rope", Link("position=rotary&positions=0")),
                ("mrope", Link("position=rotary&positions=0")),
                ("yarn", Link("position=rotary&positions=0")),
                ("none", Link("position=none&positions=0")),
            ]),
        ),
        open(&["use_rotary_position_embeddings"], Words(&switch(Link("position=rotary&positions=0"), Nothing))),
        open(&["max_position_embeddings"], Counts(Count::Positions)),
        key(&["swiglu"], "false", Words(&switch(Said::Fact(Fact::Gated(true)), Said::Fact(Fact::Gated(false))))),
        open(&["quick_geglu"], Words(&switch(Said::Fact(Fact::Gated(true)), Nothing))),
        key(
            &["disable_bias_linear"],
            "false",
            Words(&switch(Said::Fact(Fact::Biased(false)), Said::Fact(Fact::Biased(true)))),
        ),
        open(&["add_qkv_bias"], Words(&switch(Said::Fact(Fact::BiasedQueries(true)), Nothing))),
        key(&["untie_embeddings_and_output_weights"], "false", Words(&switch(Link("tied=off"), Link("tied=on")))),
        open(&["qk_layernorm"], Words(&switch(Link("qk_norm=head"), Nothing))),
        open(&["kv_lora_rank"], Number("kv_rank")),
        open(&["q_lora_rank"], Number("q_rank")),
        open(&["qk_pos_emb_head_dim"], Number("rope_dim")),
        open(&["qk_head_dim"], Number("head_dim")),
        open(&["num_experts"], Number("experts")),
        open(&["moe_router_topk"], Number("active")),
        open(&["moe_ffn_hidden_size"], Number("expert_ffn")),
        open(&["moe_shared_expert_intermediate_size"], Number("shared_ffn")),
        open(&["tensor_model_parallel_size"], Number("tp")),
        open(&["pipeline_model_parallel_size"], Number("pp")),
        open(&["context_parallel_size"], Number("cp")),
        open(&["expert_model_parallel_size"], Number("ep")),
        open(&["sequence_parallel"], Words(&switch(Link("sp=on"), Nothing))),
        open(&["accumulate_allreduce_grads_in_fp32"], Words(&switch(Link("grad=32"), Nothing))),
        open(&["grad_reduce_in_bf16"], Words(&switch(Link("grad=16"), Nothing))),
        key(&["fp8_recipe"], "delayed", Words(FP8_RECIPES)),
        key(
            &["transformer_impl"],
            "transformer_engine",
            Words(&[
                ("transformer_engine", Link("kernels=fused")),
                ("local", Link("kernels=fused")),
                ("inference_optimized", NotCounted("kernels for inference")),
            ]),
        ),
        key(&["cross_entropy_loss_fusion"], "false", Words(LOSS_FUSION)),
        open(
            &["cross_entropy_fusion_impl"],
            Words(&[
                ("native", Nothing),
                ("te", NotCounted("Transformer Engine’s cross-entropy writes its gradient over the logits")),
                ("linear", NotCounted("a kernel of the head’s product and the loss")),
            ]),
        ),
        open(&["attention_backend"], Words(ATTENTION)),
        open(&["use_flash_attn"], Words(&switch(Link("attn=flash"), Nothing))),
        key(&["hidden_dropout"], "0.1", Above(Link("dropout=on"), Link("dropout=off"))),
        open(&["attention_dropout"], Above(Nothing, Nothing)),
        open(
            &["recompute_activations"],
            Words(&switch(Said::Fact(Fact::Granularity(Granularity::Selective)), Nothing)),
        ),
        open(&["recompute_granularity"], Words(GRANULARITY)),
        open(&["use_distributed_optimizer"], Words(&switch(Said::Fact(Fact::DividesOptimizer(true)), Nothing))),
        open(&["use_torch_fsdp2"], Words(&switch(Said::Fact(Fact::Divides(3)), Nothing))),
        open(
            &["data_parallel_sharding_strategy"],
            Words(&[
                ("no_shard", Said::Fact(Fact::Divides(0))),
                ("optim", Said::Fact(Fact::Divides(1))),
                ("optim_grads", Said::Fact(Fact::Divides(2))),
                ("optim_grads_params", Said::Fact(Fact::Divides(3))),
            ]),
        ),
        key(
            &["optimizer"],
            "adam",
            Words(&[
                ("adam", Link("optimizer=adamw")),
                ("sgd", Link("optimizer=momentum")),
                ("lion", Link("optimizer=lion")),
                ("muon", Link("optimizer=muon")),
                ("dist_muon", Link("optimizer=muon")),
            ]),
        ),
    ],
    no_matter: "",
    not_counted: &[],
};

/// Flags of Megatron-LM’s that mean the same for ms-swift, with those on which memory does not depend and those that are not counted.
pub(super) static SHARED: Table = Table {
    source: FLAGS.source,
    is_of_scripts: false,
    keys: &[
        open(&["num_virtual_stages_per_pipeline_rank"], Number("vpp")),
        open(&["num_layers_per_virtual_pipeline_stage"], Counts(Count::LayersOfChunk)),
        open(&["decoder_first_pipeline_num_layers"], Number("pp_first")),
        open(&["decoder_last_pipeline_num_layers"], Number("pp_last")),
        open(&["bf16"], Words(super::transformers::FLAG_BF16)),
        open(&["fp16"], Words(super::transformers::FLAG_FP16)),
        open(&["fp8_format"], Words(FP8_FORMATS)),
        open(&["recompute_method"], Words(METHOD)),
        open(&["recompute_num_layers"], Counts(Count::RecomputedLayers)),
        open(&["recompute_modules"], Rule::Only("core_attn", MODULES)),
        open(&["optimizer_cpu_offload"], Words(&switch(Said::Fact(Fact::OffloadsOptimizer(true)), Nothing))),
        open(&["optimizer_offload_fraction"], Usual(1.0, "only a part of the optimizer’s state leaves the GPU")),
    ],
    no_matter: "inference_* no_inference_* rl_* no_rl_* langrl_env_config fault_injector_* inprocess_* flight_recorder_* no_flight_recorder_* \
        disable_* fim_* dino_* otel_* straggler_* moe_hybridep_* moe_routing_trace_* moe_ncclep_* moe_input_jitter_eps moe_upcycling_* \
        moe_use_upcycling moe_router_padding_* moe_router_quantile* moe_combine_bwd_dtype moe_dispatch_fwd_dtype moe_enable_routing_replay \
        mup_* use_mup qk_clip* tiktoken_* no_tp_comm_* no_use_* no_tokenizer_* no_ckpt_* no_clone_* no_strict_* no_pin_* \
        no_initialization no_manual_gc_eval no_yarn_* no_gradient_reduce_div_fusion no_pad_vocab_size no_barrier_* error_injection_* \
        adlr_* app_tag_* auto_detect_ckpt_format batch_invariant_* bert_* biencoder_* block_data_path calc_ft_timeouts chat_template \
        check_* config_logger_dir decoder_seq_length decoder_num_layers dump_param_to_param_group_map embedding_path enable_ft_package \
        enable_msc evidence_data_path fake_process_group flash_attention_version flash_decode fp8_quantizer_factory ft_num_warmup_iters \
        full_validation fused_residual_rmsnorm gpu_sniff_test_interval head_lr_mult high_priority_* ict_* indexer_* iterations_to_skip \
        iter_per_epoch local_rank mask_* max_tokens_to_oom mid_level_dataset_surplus mlp_chunks_for_prefill mrope_section \
        mtp_loss_scaling_factor multiple_validation_sets nccl_all_reduce_for_prefill null_tokenizer_* num_dataset_builder_threads \
        num_speculative_tokens nvtx_ranges object_storage_cache_path onnx_safe overlap_cpu_optimizer_* override_ckpt_iteration \
        per_dataset_sequences_path per_split_data_args_path perform_rl_step persistent_save_interval phase_transition_iterations \
        pipeline_model_parallel_comm_backend pretrained_checkpoint query_in_block_prob refit_method replication* \
        result_rejected_tracker_filename retriever_* run_workload_inspector_server sample_rate sft_tokenizer_prompt_format \
        sharp_enabled_group short_seq_prob skip_train start_eval_at_iter step_batch_size_schedule suggested_communication_unit_size \
        symmetric_ar_type te_precision_config_file test_mode titles_data_path train_sync_interval use_checkpoint_opt_param_scheduler \
        use_gigatoken use_legacy_static_engine use_mp_args_from_checkpoint_args use_one_sent_docs use_ring_exchange_p2p use_same_sampling* \
        use_torch_optimizer_for_cpu_offload validation_set_names verify_integrity warmup wgrad_deferral_limit yaml_cfg swin_* vision_* \
        img_* num_channels num_classes patch_dim classes_fraction allow_ambiguous_pad_tokens distrib_optim_* apply_wd_to_qk_layernorm \
        glu_linear_offset activation_func_clamp_value window_attn_skip_freq decrease_batch_size_if_needed lazy_mpu_init \
        model use_mcore_models train_iters train_samples eval_* exit_* log_* lr* min_lr weight_decay* start_weight_decay end_weight_decay \
        clip_grad adam_* muon_* lion_* sgd_momentum init_method* embedding_init* seed data_* train_data_path valid_data_path test_data_path split \
        mock_data tokenizer_* vocab_file merge_file vocab_extra_ids make_vocab_size_divisible_by no_load_* no_save_* save* load* ckpt_* \
        dist_ckpt* async_* use_dist_ckpt use_checkpoint_args use_persistent_ckpt_worker non_persistent* distributed_* timing_* tensorboard_* \
        wandb_* one_logger* num_workers dataloader_* no_create_attention_mask_in_dataloader reset_* eod_mask_loss create_* rotary_* \
        use_rope_scaling rope_* no_rope_fusion no_rope_freq yarn_* mscale* norm_epsilon apply_layernorm_1p attention_softmax_in_fp32 \
        apply_query_key_layer_scaling no_masked_softmax_fusion no_bias_* no_gradient_accumulation_fusion no_persist_layer_norm bias_* \
        overlap_grad_reduce overlap_param_gather* overlap_p2p* no_overlap_p2p_communication tp_comm_* disable_tp_comm* manual_gc* \
        profile* use_pytorch_profiler pytorch_profiler* record_* memory_snapshot_path moe_router_load_balancing_type moe_router_dtype \
        moe_router_score_function moe_router_pre_softmax moe_router_topk_scaling_factor moe_router_group_topk moe_router_num_groups \
        moe_router_enable_expert_bias moe_router_bias_update_rate moe_router_fusion moe_aux_loss_coeff moe_z_loss_coeff moe_grouped_gemm \
        moe_permute_fusion moe_token_dispatcher_type moe_enable_deepep moe_flex_dispatcher* moe_deepep* moe_shared_expert_overlap \
        moe_shared_expert_gate moe_per_layer_logging moe_router_force* group_query_attention multi_latent_attention cp_comm_type \
        deterministic_mode transformer_engine te_rng_tracker fp8_amax* fp8_margin fp8_interval no_fp8_wgrad initial_loss_scale min_loss_scale \
        loss_scale* hysteresis decoupled* override_opt* no_weight_decay* enable_experimental finetune calculate_per_token_loss attention_output_gate \
        ddp_* no_align* no_check_for_nan* check_for_nan* rerun_mode disable_straggler* use_cpu_initialization init_model_with_meta_device \
        no_one_logger nccl_communicator* use_nccl_ub use_sharp use_tp_pp_dp_mapping trust_remote_code no_mmap_bin_files master_addr master_port \
        empty_unused_memory_level use_megatron_fsdp megatron_fsdp_* sft openai_gelu squared_relu legacy_tokenizer spec v_head_dim \
        accumulate_* rampup_batch_size logging_level data_parallel_random_init",
    not_counted: &[
        ("mamba_*", HYBRID),
        ("linear_*", HYBRID),
        ("is_hybrid_model", HYBRID),
        ("dsa_*", "sparse attention keeps the scores of its indexer"),
        ("experimental_attention_variant", "attention of another kind"),
        ("mhc_*", "several residual streams"),
        ("enable_mhc_connections", "several residual streams"),
        ("mtp_*", "layers that predict further tokens: weights, activations and logits of each"),
        ("logits_load_*", "logits of a teacher"),
        ("grpo_*", "GRPO generates, and compares with a reference"),
        ("cuda_graph_*", "graphs are captured in a memory pool of their own"),
        ("optimizer_cuda_graph", "graphs are captured in a memory pool of their own"),
        ("freeze_all_layers", "no layer is trained"),
        ("fp32_residual_connection", "the residual stream in fp32"),
        ("torch_fsdp2_no_reshard_after_forward", "weights stay gathered between the forward and the backward pass"),
        ("moe_paged_stash*", "what experts keep goes to pages that may leave the GPU"),
        ("moe_latent_size", "experts of another width than the residual stream"),
        ("outer_dp_sharding_strategy", "the optimizer’s state is divided over groups of GPUs, too"),
        ("enable_full_sharding_in_hsdp", "weights are divided over groups of GPUs, too"),
        ("max_seqlen_per_dp_cp_rank", "a micro-batch of so many tokens, whatever its sequences"),
        ("hybrid_context_parallel", "another division of sequences for each micro-batch"),
        ("keep_fp8_transpose_cache", "a second fp8 copy of every weight"),
        ("fp8_param_gather", FP8),
        ("fp4_format", "products in fp4 keep some inputs in half a byte"),
        ("first_last_layers_bf16", "the first and the last layers are not in fp8"),
        ("num_layers_at_start_in_bf16", "the first layers are not in fp8"),
        ("num_layers_at_end_in_bf16", "the last layers are not in fp8"),
        ("expert_tensor_parallel_size", "experts are divided among other tensor-parallel GPUs than attention"),
        ("moe_layer_freq", "layers without experts between layers with experts"),
        ("moe_expert_capacity_factor", "experts take no more tokens than this share of the mean"),
        ("moe_pad_expert_input_to_capacity", "experts are padded to their capacity"),
        ("moe_layer_recompute", "layers of experts are computed again"),
        ("use_precision_aware_optimizer", "moments and master weights of fewer bytes"),
        ("exp_avg_dtype", "first moments in another type than fp32"),
        ("exp_avg_sq_dtype", "second moments in another type than fp32"),
        ("main_grads_dtype", "main gradients in another type"),
        ("main_params_dtype", "master weights in another type"),
        ("fine_grained_activation_offloading", "some activations leave the GPU"),
        ("offload_modules", "some activations leave the GPU"),
        ("cpu_offloading_num_layers", "activations of some layers leave the GPU"),
        ("distribute_saved_activations", "inputs of recomputed layers are divided over the tensor-parallel GPUs"),
        ("enable_cuda_graph", "graphs are captured in a memory pool of their own"),
        ("external_cuda_graph", "graphs are captured in a memory pool of their own"),
        ("cuda_graph_impl", "graphs are captured in a memory pool of their own"),
        ("delay_wgrad_compute", LATER),
        ("defer_embedding_wgrad_compute", LATER),
        ("overlap_moe_expert_parallel_comm", "two micro-batches are in a layer at once"),
        ("account_for_embedding_in_pipeline_split", "the embedding counts as a layer of the first stage"),
        ("account_for_loss_in_pipeline_split", "the loss counts as a layer of the last stage"),
        ("pipeline_model_parallel_layout", "stages of layers that are listed one by one"),
        ("microbatch_group_size_per_virtual_pipeline_stage", "micro-batches that a chunk takes one after the other"),
        ("hierarchical_context_parallel_sizes", "context parallelism in two levels"),
        ("num_distributed_optimizer_instances", "several copies of the divided optimizer’s state"),
        ("hybrid_layer_pattern", "layers of other kinds than attention"),
        ("hybrid_override_pattern", "layers of other kinds than attention"),
        ("heterogeneous_layers_config_path", "layers of different sizes"),
        ("window_size", "attention over a window; flash attention keeps the same"),
    ],
};

pub(super) const MODULES: &str = "parts of a layer that are computed again one by one";
