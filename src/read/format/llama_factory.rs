//! LLaMA-Factory’s YAML, JSON and flags. It loads a model in the type of its checkpoint and casts what is trained to fp32
//! (`load_model` and `init_adapter` in llamafactory/model/).

use super::super::facts::{AdapterRule, Fact, Loaded, OwnOptimizer};
use super::Rule::{File, Model, Number, Optimizer, Targets, Words};
use super::Said::{self, Link, NotCounted, Nothing};
use super::transformers::TRAINER;
use super::{Format, Meaning, Needs, Row, Table, accelerate, key, open, peft, reasons, switch};

pub(super) static ROW: Row = Row {
    format: Format::LlamaFactory,
    name: "arguments of LLaMA-Factory",
    signs: &[
        &["finetuning_type"],
        &["stage", "template"],
        &["cutoff_len"],
        &["dataset_dir", "template"],
        &["lora_target", "template"],
    ],
    needs: Some(Needs::FineTuning),
};

pub(super) static MEANING: Meaning = Meaning {
    always: &[
        Said::Fact(Fact::Loaded(Loaded::Half)),
        Said::Fact(Fact::CastsTrained(true)),
        Said::Fact(Fact::AdapterRule(AdapterRule::Peft)),
    ],
    tables: &[&ARGUMENTS, &TRAINER, &accelerate::FSDP],
    within: &[("deepspeed", &super::deepspeed::MEANING)],
};

static ARGUMENTS: Table = Table {
    source: "llamafactory 0.9.5, hparams/, ModelArguments, DataArguments and FinetuningArguments",
    is_of_scripts: false,
    keys: &[
        open(&["model_name_or_path"], Model),
        key(
            &["finetuning_type"],
            "lora",
            Words(&[
                ("lora", Said::Fact(Fact::Adapters(true))),
                ("full", Said::Fact(Fact::Adapters(false))),
                ("freeze", NotCounted(reasons::SOME_LAYERS)),
                ("oft", NotCounted("rotations instead of two matrices for each target")),
            ]),
        ),
        key(
            &["stage"],
            "sft",
            Words(&[
                ("sft", Link("task=train")),
                ("pt", Link("task=train")),
                // The reference stays in the type of its checkpoint (`create_ref_model` in train/trainer_utils.py).
                ("dpo", Link("task=dpo&frozen=16")),
                ("ppo", Link("task=ppo")),
                ("rm", Link("task=reward")),
                ("kto", NotCounted("KTO reads single answers and a reference")),
            ]),
        ),
        key(&["cutoff_len"], "2048", Number("s")),
        // Without `neat_packing` attention sees no ends of documents, and every row is as long as the others.
        open(&["packing"], Words(&[("true", Link("lengths=equal")), ("false", Nothing)])),
        open(&["neat_packing"], Words(&switch(Said::Fact(Fact::Packed(true)), Nothing))),
        key(&["lora_rank"], "8", Number("rank")),
        key(&["lora_target"], "all", Targets),
        key(&["lora_dropout"], "0", peft::DROPOUT),
        open(&["quantization_bit"], Words(QUANTIZED)),
        key(&["double_quantization"], "true", Words(super::python::DOUBLE)),
        open(&["pure_bf16"], Words(&switch(Said::Fact(Fact::Pure(true)), Nothing))),
        key(
            &["flash_attn"],
            "auto",
            Words(&[
                ("auto", Link("attn=flash")),
                ("fa2", Link("attn=flash")),
                ("fa3", Link("attn=flash")),
                ("sdpa", Link("attn=flash")),
                ("flash_attention_2", Link("attn=flash")),
                ("disabled", Link("attn=eager")),
                ("false", Link("attn=eager")),
            ]),
        ),
        // The Trainer’s own `gradient_checkpointing` has no effect here (`prepare_model_for_training` in model/model_utils/checkpointing.py).
        key(
            &["disable_gradient_checkpointing"],
            "false",
            Words(&[("true", Said::Fact(Fact::Recomputes(false))), ("false", Said::Fact(Fact::Recomputes(true)))]),
        ),
        key(&["use_reentrant_gc"], "true", Words(&[("true", NotCounted(REENTRANT)), ("false", Nothing)])),
        open(&["upcast_layernorm"], Words(&switch(Link("unquantized=32"), Nothing))),
        open(&["enable_liger_kernel"], Words(&switch(Said::Fact(Fact::Liger(true)), Nothing))),
        // They take the place of `optim`, wherever that stands (`create_custom_optimizer` in train/trainer_utils.py).
        open(&["use_galore"], Words(&switch(Said::Fact(Fact::OwnOptimizer(OwnOptimizer::Galore)), Nothing))),
        open(&["use_apollo"], Words(&switch(Said::Fact(Fact::OwnOptimizer(OwnOptimizer::Apollo)), Nothing))),
        open(&["galore_rank", "apollo_rank"], Number("opt_rank")),
        open(&["use_muon"], Words(&switch(Said::Fact(Fact::OwnOptimizer(OwnOptimizer::Muon)), Nothing))),
        key(&["optim"], "adamw_torch_fused", Optimizer(&[])),
        open(&["deepspeed"], File(super::transformers::DEEPSPEED)),
        // Megatron-Core’s, by mcore_adapter or Megatron-Bridge.
        open(&["tensor_model_parallel_size"], Number("tp")),
        open(&["pipeline_model_parallel_size"], Number("pp")),
        open(&["context_parallel_size", "hyper_parallel_cp_size"], Number("cp")),
        open(&["expert_model_parallel_size"], Number("ep")),
        open(&["sequence_parallel"], Words(&switch(Link("sp=on"), Nothing))),
        open(
            &["recompute_granularity"],
            Words(&[("full", Link("recompute=full")), ("selective", Link("recompute=selective"))]),
        ),
        open(&["use_distributed_optimizer"], Words(&switch(NotCounted(MEGATRON), Nothing))),
        open(&["mixed_precision"], Words(&[("bf16_mixed", Said::Fact(Fact::Half(super::super::facts::Half::Bf16)))])),
        open(&["freeze_vision_tower"], Words(&[("true", Link("tower=frozen")), ("false", Link("tower=trained"))])),
    ],
    no_matter: "\
            template dataset* eval_dataset media_dir train_on_prompt mask_history streaming buffer_size mix_strategy \
            interleave_probs overwrite_cache preprocessing_* max_samples eval_num_beams ignore_pad_token_for_loss \
            val_size eval_on_each_dataset tool_format default_system enable_thinking preserve_thinking \
            tokenized_path data_shared_file_system lora_alpha loraplus_* use_rslora pissa_* create_new_adapter \
            pref_* dpo_label_smoothing kto_* simpo_gamma ppo_* ref_model* reward_model* galore_* apollo_* \
            use_swanlab swanlab_* plot_loss compute_accuracy disable_shuffling early_stopping_steps \
            include_effective_tokens_per_second adapter_name_or_path adapter_folder cache_dir use_fast_tokenizer \
            resize_vocab split_special_tokens add_tokens add_special_tokens model_revision low_cpu_mem_usage \
            rope_scaling moe_aux_loss_coef infer_* offload_folder use_kv_cache hf_hub_token ms_hub_token \
            om_hub_token print_param_status trust_remote_code quantization_method quantization_type \
            quantization_device_map image_* video_* audio_* export_* vllm_* sglang_* ray_* use_dft_loss \
            use_asft_loss asft_alpha use_eaft_loss eaft_alpha gradient_checkpointing activation_checkpointing \
            do_sample temperature top_p top_k num_beams max_new_tokens new_special_tokens_config init_special_tokens \
            crop_to_patches freeze_multi_modal_projector freeze_language_model model_max_length compute_dtype \
            enable_torch_profiler profile* ppo_buffer_size train_from_scratch predict_with_generate generation_* \
            oft_* module_dropout bias_activation_fusion apply_rope_fusion masked_softmax_fusion overlap_* \
            moe_grouped_gemm moe_token_dispatcher_type calculate_per_token_loss use_packed_sequences \
            account_for_embedding_in_pipeline_split \
            account_for_loss_in_pipeline_split megatron_pretrained_checkpoint extra_config use_audio_in_video \
            device_map repetition_penalty length_penalty skip_special_tokens ld_alpha master_addr master_port \
            hyper_parallel_args megatron_bridge_args",
    not_counted: &[
        ("use_dora", reasons::DORA),
        ("additional_target", reasons::WHOLE_MODULES),
        ("galore_layerwise", LAYERWISE),
        ("apollo_layerwise", LAYERWISE),
        ("use_badam", "BAdam trains one block at a time: fewer gradients and moments than are counted"),
        ("badam_*", "BAdam trains one block at a time: fewer gradients and moments than are counted"),
        ("use_adam_mini", "Adam-mini has one second moment for each block of a matrix"),
        ("use_llama_pro", "only the added layers are trained"),
        ("mixture_of_depths", "some layers see fewer tokens"),
        ("use_unsloth", "Unsloth’s kernels keep less for the backward pass"),
        ("use_unsloth_gc", "Unsloth’s recomputation also moves the inputs of layers to CPU memory"),
        ("shift_attn", "attention in groups of tokens"),
        ("upcast_lmhead_output", "logits in fp32 once more"),
        ("fp8*", reasons::FP8),
        ("use_kt", "experts in CPU memory by KTransformers"),
        ("kt_*", "experts in CPU memory by KTransformers"),
        ("freeze_trainable_*", reasons::SOME_LAYERS),
        ("use_mca", MEGATRON),
        ("use_megatron_bridge", MEGATRON),
        ("use_hyper_parallel", "HyperParallel carries out the step"),
        ("virtual_pipeline_model_parallel_size", "stages of a pipeline that hold several chunks of layers"),
        ("recompute_method", "which layers are computed again"),
        ("recompute_num_layers", "which layers are computed again"),
        ("cross_entropy_loss_fusion", "the operators of the loss are fused"),
        ("freeze_extra_modules", reasons::WHOLE_MODULES),
        ("block_diag_attn", "attention by blocks of documents, with a mask"),
        ("use_v1_kernels", "kernels that keep less for the backward pass"),
    ],
};

pub(super) const QUANTIZED: &[(&str, Said)] = &[
    ("4", Said::Fact(Fact::Base(super::super::facts::Base::FourBits))),
    ("8", Said::Fact(Fact::Base(super::super::facts::Base::EightBits))),
    ("2", NotCounted("weights in two bits")),
    ("3", NotCounted("weights in three bits")),
];
const MEGATRON: &str = "Megatron-Core carries out the step, and keeps gradients and moments in buffers of its own";
const LAYERWISE: &str = "weights are updated in the backward pass: no gradients of the whole model";
const REENTRANT: &str = "PyTorch’s reentrant recomputation keeps the same inputs of layers; what its inner backward pass \
    holds beside them is small and not counted";
