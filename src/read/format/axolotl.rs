//! axolotl’s YAML. It loads every weight in the type in which it computes, and runs autocast over that
//! (`normalize_config` in axolotl/utils/config/__init__.py, `core/builders/base.py`).

use super::super::facts::{AdapterRule, Count, Fact, Half};
use super::Rule::{Above, Count as Counts, File, Model, Number, Optimizer, OptimizerArguments, Share, Targets, Words};
use super::Said::{self, Link, NotCounted, Nothing};
use super::transformers::ATTENTION;
use super::{Format, Meaning, Needs, Row, Table, accelerate, key, open, peft, python, reasons, switch};

pub(super) static ROW: Row = Row {
    format: Format::Axolotl,
    name: "a file of axolotl",
    signs: &[
        &["base_model", "sequence_len"],
        &["base_model", "micro_batch_size"],
        &["base_model", "datasets"],
        &["base_model", "val_set_size"],
    ],
    needs: Some(Needs::FineTuning),
};

pub(super) static MEANING: Meaning = Meaning {
    always: &[
        Said::Fact(Fact::LoadsAsItComputes(true)),
        Said::Fact(Fact::FsdpKeepsType(true)),
        Said::Fact(Fact::AdapterRule(AdapterRule::Peft)),
        // `set_pytorch_cuda_alloc_conf` in axolotl/utils/__init__.py.
        Link("segments=expandable"),
    ],
    tables: &[&CONFIG, &accelerate::FSDP],
    within: &[("deepspeed", &super::deepspeed::MEANING)],
};

const FLASH: &[(&str, Said)] = &[("true", Link("attn=flash")), ("false", Nothing)];

/// Beside those of the Trainer (`CustomSupportedOptimizers` in utils/schemas/enums.py).
const OPTIMIZERS: &[(&str, Said)] = &[
    ("ao_adamw_4bit", Link("optimizer=adam4bit")),
    ("ao_adamw_8bit", Link("optimizer=adam8bit-torchao")),
    ("ao_adamw_fp8", Link("optimizer=adam-fp8")),
    ("optimi_adamw", NotCounted("two moments as AdamW has, and a third state where its sums are compensated")),
    ("adopt_adamw", NotCounted("two states of 4 bytes per weight, as AdamW has")),
    ("came_pytorch", NotCounted("one moment, and rows and columns as Adafactor has")),
    ("dion", NotCounted("one moment, and a thin matrix for each matrix")),
];

static CONFIG: Table = Table {
    source: "axolotl 0.19.0, utils/schemas/ and integrations/*/args.py",
    is_of_scripts: false,
    keys: &[
        open(&["base_model"], Model),
        key(
            &["adapter"],
            "",
            Words(&[
                ("", Said::Fact(Fact::Adapters(false))),
                ("lora", Said::Fact(Fact::Adapters(true))),
                ("qlora", Said::Fact(Fact::Adapters(true))),
                ("llama-adapter", NotCounted("trained prompts instead of two matrices for each target")),
            ]),
        ),
        open(&["load_in_4bit"], Words(python::FOUR)),
        open(&["load_in_8bit"], Words(python::EIGHT)),
        open(&["lora_r"], Number("rank")),
        open(&["lora_target_linear"], Words(&switch(Link("targets=all"), Nothing))),
        open(&["lora_target_modules"], Targets),
        key(&["lora_dropout"], "0", peft::DROPOUT),
        open(
            &["peft_autocast_adapter_dtype"],
            Words(&switch(
                Said::Fact(Fact::AdapterRule(AdapterRule::Peft)),
                Said::Fact(Fact::AdapterRule(AdapterRule::Half)),
            )),
        ),
        key(&["sequence_len"], "512", Number("s")),
        open(&["sample_packing"], Words(&switch(Said::Fact(Fact::Packed(true)), Said::Fact(Fact::Packed(false))))),
        open(
            &["batch_flattening"],
            Words(&[("true", Said::Fact(Fact::Flattened(true))), ("auto", Nothing), ("false", Nothing)]),
        ),
        key(&["micro_batch_size"], "1", Number("b")),
        key(&["gradient_accumulation_steps"], "1", Number("accum")),
        open(&["eval_batch_size"], Number("eval_b")),
        key(&["optimizer"], "adamw_torch_fused", Optimizer(OPTIMIZERS)),
        open(&["optim_args"], OptimizerArguments),
        key(
            &["bf16"],
            "auto",
            Words(&[
                ("true", Said::Fact(Fact::Half(Half::Bf16))),
                ("auto", Said::Fact(Fact::Half(Half::Bf16))),
                ("full", Said::Fact(Fact::Pure(true))),
                ("false", Nothing),
            ]),
        ),
        open(&["fp16"], Words(super::transformers::FLAG_FP16)),
        open(&["bfloat16", "float16"], Words(&[("true", Said::Fact(Fact::Pure(true))), ("false", Nothing)])),
        key(
            &["gradient_checkpointing"],
            "false",
            Words(&[
                ("true", Said::Fact(Fact::Recomputes(true))),
                ("false", Said::Fact(Fact::Recomputes(false))),
                ("offload", Said::Link("recompute=full&offload=activations")),
                ("offload_disk", NotCounted("inputs of layers that go to a disk")),
            ]),
        ),
        open(
            &["gradient_checkpointing_kwargs.use_reentrant"],
            Words(&[
                (
                    "true",
                    NotCounted(
                        "reentrant recomputation keeps the same inputs of layers; what its inner backward pass holds beside them is not counted",
                    ),
                ),
                ("false", Nothing),
            ]),
        ),
        open(
            &["activation_offloading"],
            Words(&[
                ("true", Said::Fact(Fact::OffloadsActivations(true))),
                ("legacy", Said::Fact(Fact::OffloadsActivations(true))),
                ("disk", NotCounted("inputs of layers that go to a disk")),
                ("false", Nothing),
            ]),
        ),
        key(&["attn_implementation"], "sdpa", Words(ATTENTION)),
        open(&["flash_attention"], Words(FLASH)),
        open(&["sdp_attention"], Words(FLASH)),
        open(&["xformers_attention"], Words(FLASH)),
        open(&["eager_attention"], Words(&[("true", Link("attn=eager")), ("false", Nothing)])),
        open(&["deepspeed"], File(super::transformers::DEEPSPEED)),
        key(
            &["fsdp"],
            "",
            super::Rule::File(&[
                ("offload", Said::Fact(Fact::OffloadsParameters(true))),
                ("full_shard", Said::Fact(Fact::Fsdp(true))),
                ("", Nothing),
            ]),
        ),
        key(
            &["fsdp_version"],
            "",
            Words(&[
                ("1", Said::Fact(Fact::Fsdp(true))),
                ("2", Said::Fact(Fact::Fsdp(true))),
                ("", Said::Fact(Fact::Shards(super::super::facts::Shards::Nothing))),
            ]),
        ),
        open(
            &["rl"],
            Words(&[
                ("dpo", Link("task=dpo")),
                ("ipo", Link("task=dpo")),
                ("ebft", NotCounted("EBFT generates, and compares features of what it generates")),
                ("grpo", Link("task=grpo")),
                ("gdpo", Link("task=grpo")),
                ("kto", NotCounted("KTO reads single answers and a reference")),
                ("orpo", NotCounted("ORPO reads pairs without a reference")),
                ("simpo", NotCounted("SimPO reads pairs without a reference")),
            ]),
        ),
        open(&["reward_model"], Words(&[("true", Link("task=reward")), ("false", Nothing)])),
        open(&["precompute_ref_log_probs"], Words(&switch(Said::Fact(Fact::ReferenceBefore(true)), Nothing))),
        open(&["trl.max_completion_length"], Counts(Count::Completion)),
        open(&["trl.beta"], Above(Said::Fact(Fact::Reference(true)), Said::Fact(Fact::Reference(false)))),
        open(&["trl.use_vllm"], Words(&switch(Said::Fact(Fact::Engine(true)), Said::Fact(Fact::Engine(false))))),
        open(
            &["trl.vllm_mode"],
            Words(&[
                ("colocate", Said::Fact(Fact::EngineElsewhere(false))),
                ("server", Said::Fact(Fact::EngineElsewhere(true))),
            ]),
        ),
        open(&["trl.vllm_enable_sleep_mode"], Words(&switch(Said::Fact(Fact::EngineSleeps(true)), Nothing))),
        open(&["vllm.gpu_memory_utilization"], Share("engine_share")),
        open(&["tensor_parallel_size"], Number("tp")),
        open(&["context_parallel_size", "sequence_parallel_degree"], Number("cp")),
        open(
            &["torch_compile"],
            Words(&[
                ("true", Said::Fact(Fact::Compiles(true))),
                ("auto", Nothing),
                ("false", Said::Fact(Fact::Compiles(false))),
            ]),
        ),
        open(
            &["liger_fused_linear_cross_entropy", "cut_cross_entropy"],
            Words(&switch(Said::Fact(Fact::FusedLoss), Nothing)),
        ),
        open(&["liger_cross_entropy"], Words(&switch(Link("loss=kernel-inplace"), Nothing))),
        open(&["chunked_cross_entropy"], Words(&switch(Link("loss=chunked"), Nothing))),
        open(&["chunked_cross_entropy_num_chunks"], Number("chunks")),
        open(
            &["liger_rms_norm", "liger_glu_activation", "liger_swiglu"],
            Words(&switch(Said::Fact(Fact::LigerNorms(true)), Nothing)),
        ),
    ],
    no_matter: "\
            liger_layer_norm liger_rope liger_rms_norm_gated fsdp_config.fsdp_limit_all_gathers fsdp_config.limit_all_gathers gptq_* \
        ebft.* experimental_skip_move_to_device tokens.* swanlab_* use_swanlab accelerator_config.* diffusion.* revision_of_model \
        jagged_restart_* use_ray ray_* use_otel_metrics otel_metrics_* use_wandb evaluation_strategy torchdistx_path eta_min \
        resize_token_embeddings_to_32x mean_resizing_embeddings reinit_weights model_config.* cls_model_config batch_size gradio_* \
        added_tokens_overrides do_causal_lm_eval max_prompt_len orpo_alpha simpo_gamma cpo_alpha kto_* dpo_loss_* dpo_use_weighting \
        generate_samples generation_* num_generation_samples flex_attn_compile_kwargs.* fix_untrained_tokens use_pose pose_* \
        save_safetensors tokenizer_save_jinja_files include_tkps scaling_softmax* use_eaft eaft_* \
        deepcompile shrink_embeddings peft.* process_reward_model dynamic_checkpoint* capabilities.* env_capabilities.* \
            model_type tokenizer* base_model_config base_model_ignore_patterns is_*_derived_model \
            is_falcon_derived_model is_llama_derived_model is_mistral_derived_model is_qwen_derived_model \
            trust_remote_code output_dir hub_* push_dataset_to_hub hf_use_auth_token datasets test_datasets \
            pretraining_dataset dataset_* val_set_size chat_template* shuffle_merged_datasets wandb* mlflow* comet* \
            trackio* num_epochs max_steps learning_rate lr_* cosine_* weight_decay adam_* max_grad_norm warmup_* \
            train_on_inputs group_by_length tf32 early_stopping_patience resume_from_checkpoint \
            auto_resume_from_checkpoints local_rank logging_steps eval_* evals_per_epoch save_* saves_per_epoch \
            debug special_tokens* tokens strict seed lora_alpha lora_fan_in_fan_out lora_model_dir lora_on_cpu \
            lora_qkv_kernel lora_o_kernel lora_mlp_kernel lora_embedding_kernel s2_attention pad_to_sequence_len \
            plugins loss_watchdog* torch_compile_backend torch_compile_mode skip_prepare_dataset \
            remove_unused_columns dataloader_* ddp_* ddp gptq default_system_message rl_beta dpo_label_smoothing \
            trl.* trl vllm.* vllm load_best_model_at_end metric_for_best_model greater_is_better bench_* \
            do_bench_eval include_tokens_per_second loraplus* peft_use_rslora peft_init_lora_weights flash_attn_* \
            min_sample_len excess_length_strategy sample_packing_* multipack_real_batches streaming* world_size \
            noisy_embedding_alpha neftune_noise_alpha num_labels processor_type processor_kwargs use_tensorboard \
            low_cpu_mem_usage device_map fsdp_config fsdp_final_state_dict_type gradient_checkpointing_kwargs \
            eot_tokens dp_shard_size heads_k_stride ring_attn_func gc_steps gc_collect_steps merge_lora \
            curriculum_sampling bnb_config_kwargs* experts_implementation use_kernels llm_int8* bos_token eos_token \
            pad_token total_num_tokens axolotl_config_path profiler_steps* image_* center_rewards_coefficient \
            loftq_* lora_alpha_pattern* peft_layers_pattern peft_ensure_weight_tying merge_method trainer_cls ebft \
            quantization* shuffle_before_merging_datasets num_dataset_shards_to_save accelerator_config device \
            device_map* torch_dtype pad_to_multiple_of pretrain_multipack_* pretraining_sample_concatenation \
            flex_attn_compile_kwargs is_preprocess preprocess_iterable total_supervised_tokens embedding_lr* dion_* \
            rope_scaling dpo_beta dpo_generate_during_eval dpo_norm_loss rpo_alpha overrides_of_model_* type_of_model \
            use_mlflow use_comet use_trackio resources_per_worker role_boundaries diffusion lm_eval* nemo_gym* \
            fp32_norm_classes torch_compile_options qlora_sharded_model_loading large_head_attention sdpa_varlen \
            optim_target_modules qgalore_update_proj_gap qgalore_scale qgalore_proj_type qgalore_cos_threshold \
            qgalore_gamma_proj qgalore_queue_size liger_use_token_scaling llmcompressor*",
    not_counted: &[
        ("use_scattermoe", "kernels of experts that keep other intermediates"),
        ("use_sonicmoe", "kernels of experts that keep other intermediates"),
        ("use_onebitllms", "weights of one bit"),
        ("expert_backend", "kernels of experts that keep other intermediates"),
        ("moe_*", "kernels of experts that keep other intermediates"),
        ("expert_parallel_num_*", "buffers in which DeepEP sends tokens to other GPUs"),
        ("expert_parallel_token_capacity", "tokens above this number for one expert are dropped"),
        ("expert_parallel_*", "experts are divided over GPUs"),
        ("dense_mixer", "every expert computes every token, as far as the router’s gradient needs it"),
        ("use_dsv4_kernels", "attention by another kernel"),
        ("use_glm_dsa_kernels", "attention by another kernel"),
        ("dsv4_*", "weights in another quantized form"),
        ("nonexpert_quantization", "weights in another quantized form"),
        ("gemma4_fp8_nonexpert", "weights in another quantized form"),
        ("gemma4_nf4_nonexpert", "weights in another quantized form"),
        ("float32", "weights of 4 bytes"),
        ("peft_layer_replication", "layers that are there several times, with adapters of their own"),
        ("peft_trainable_token_indices", "some rows of the embeddings are trained"),
        ("mora*", "one square matrix for each target instead of two thin ones"),
        ("kd_*", "a teacher’s most likely tokens are read with each sequence"),
        ("hatchery*", "another machine carries out the step"),
        ("grokfast*", "an average of the gradients, 4 bytes for each trained weight"),
        ("qgalore_*", "projections in 4 or 8 bits"),
        ("dpo_use_logits_to_keep", "DPO’s head reads the answers alone"),
        ("max_packed_sequence_len*", "axolotl no longer takes it: sample_packing packs rows of sequence_len"),
        ("fused_attn_kernel", "attention by another kernel"),
        ("flash_optimum", "attention by another kernel"),
        ("sage_attention", "attention by another kernel"),
        ("flex_attention", "attention by kernels that PyTorch compiles; they keep about what flash attention keeps"),
        ("gemma4_hybrid_attn_impl", "attention by two kernels"),
        ("fp32_norms", "norms in fp32"),
        ("model_quantization_config*", "weights in another quantized form"),
        ("dpo_padding_free", "pairs in one row without padding"),
        ("unfrozen_parameters", "only some weights are trained: fewer gradients and moments than are counted"),
        ("freeze_mm_modules", "the vision tower is not trained"),
        ("relora", "ReLoRA merges adapters and begins anew"),
        ("relora*", "ReLoRA merges adapters and begins anew"),
        ("lisa*", "LISA trains some layers at a time: fewer gradients and moments than are counted"),
        ("spectrum*", reasons::SOME_LAYERS),
        ("qat*", "weights are quantized once more in every forward pass"),
        ("nvfp4_merge_aware*", "weights are quantized once more in every forward pass"),
        ("fp8*", reasons::FP8),
        ("tiled_mlp*", "the feed-forward block runs in pieces of the sequence: less of it is there at once"),
        ("layer_offloading", "frozen layers wait in CPU memory"),
        ("ple_cpu_offload", "embeddings of single layers wait in CPU memory"),
        ("quantize_moe_experts", "experts are quantized, too; in stacks they are counted in 16 bits"),
        ("selective_checkpointing*", "some products of a layer are kept and not computed again"),
        ("dp_replicate_size", reasons::REPLICAS),
        ("torch_empty_cache_steps", "cached blocks are given back every so many steps"),
        ("max_memory*", "the model is spread over GPUs and CPU memory by hand"),
        ("gpu_memory_limit", "the model is spread over GPUs and CPU memory by hand"),
        ("auto_find_batch_size", "the micro-batch is halved until it fits"),
        ("embeddings_skip_upcast", "embeddings stay in 16 bits"),
        ("llama4_linearized_experts", "experts become linear layers, each a matrix of its own"),
        ("dpo_use_liger_kernel", "DPO’s logits are never there in full"),
        ("peft_use_dora", reasons::DORA),
        ("lora_modules_to_save", reasons::WHOLE_MODULES),
        ("peft_layers_to_transform", "fewer layers have adapters than are counted"),
        ("lora_target_parameters", "adapters of single parameters, such as stacks of experts"),
        ("lora_rank_pattern*", "some matrices have another rank than is counted"),
    ],
};
