//! NeMo-RL’s YAML, and overrides of it. It trains by FSDP, which it calls DTensor, with fp32 weights that are cast as they are
//! gathered, or by Megatron-LM.

use super::super::facts::{AdapterRule, Count, Fact, Loaded, Shards};
use super::super::syntax::Document;
use super::Rule::{Above, Count as Counts, Model, Number, Only, Optimizer, Share, Targets, Usual, Words};
use super::Said::{self, Link, NotCounted, Nothing};
use super::{Format, Meaning, Needs, Row, Rule, Table, automodel, key, open, reasons, switch};
use crate::json::Value;

pub(super) static ROW: Row = Row {
    format: Format::NemoRl,
    name: "a configuration of NeMo-RL",
    signs: &[
        &["policy.model_name"],
        &["policy.dtensor_cfg"],
        &["policy.megatron_cfg"],
        &["policy", "cluster"],
        &["defaults", "policy"],
        &["defaults", "cluster"],
        &["defaults", "checkpointing"],
        &["defaults", "grpo"],
        &["defaults", "data_plane"],
    ],
    needs: Some(Needs::Pretraining),
};

pub(super) static MEANING: Meaning = Meaning {
    always: &[
        Said::Fact(Fact::Loaded(Loaded::Full)),
        Said::Fact(Fact::AdapterRule(AdapterRule::Peft)),
        // Every file that it comes with has bfloat16, and a reference’s weights are in CPU memory (`setup_reference_model_state`
        // in models/automodel/setup.py).
        Said::Fact(Fact::FsdpCasts(true)),
        Link("ref=offloaded"),
        // vLLM sleeps while it shares GPUs (`enable_sleep_mode` in models/generation/vllm/vllm_worker.py).
        Said::Fact(Fact::EngineSleeps(true)),
    ],
    tables: &[&CONFIG, &REST],
    within: &[],
};

/// Its optimizer’s main weights are in fp32; gradients are in the type of the weights but where they are reduced in fp32.
const MEGATRON: Said = Link("engine=megatron&step=fused&kernels=fused&precision=bf16&zero=1");
const TOKENS: &str = "a micro-batch of so many tokens, whatever its sequences";
const MODELS: &str = "another model beside the one that is trained";
const DRAFT: &str = "layers that predict further tokens: weights, activations and logits of each";

/// A section of its settings tells the task by any number in it.
const fn task(said: Said) -> Rule {
    Above(said, said)
}

static CONFIG: Table = Table {
    source: "NeMo-RL 7ea279abfbeb (2026-08-22), nemo_rl/models/policy/__init__.py, PolicyConfig and its parts; models/automodel/setup.py; \
             models/megatron/setup.py; algorithms/grpo.py, dpo.py, rm.py and sft.py",
    is_of_scripts: false,
    keys: &[
        open(&["policy.model_name"], Model),
        open(
            &[
                "grpo.num_prompts_per_step",
                "grpo.num_generations_per_prompt",
                "grpo.max_num_steps",
                "grpo.val_period",
                "grpo.max_val_samples",
            ],
            task(Link("task=grpo&lengths=equal")),
        ),
        open(
            &[
                "dpo.max_num_steps",
                "dpo.reference_policy_kl_penalty",
                "dpo.val_period",
                "dpo.sft_loss_weight",
                "dpo.preference_loss_weight",
            ],
            task(Link("task=dpo")),
        ),
        open(&["rm.max_num_steps", "rm.val_period"], task(Link("task=reward"))),
        open(
            &["ppo.num_prompts_per_step", "ppo.max_num_steps", "ppo.val_period"],
            task(Link("task=ppo&lengths=equal")),
        ),
        open(&["distillation.num_prompts_per_step", "distillation.max_num_steps"], task(Link("task=distil"))),
        // `init_reference_model` in algorithms/grpo.py.
        open(&["loss_fn.reference_policy_kl_penalty"], Above(Link("ref=offloaded"), Link("ref=none"))),
        open(&["policy.train_global_batch_size"], Counts(Count::GlobalBatch)),
        open(&["policy.train_micro_batch_size"], Number("b")),
        open(&["policy.logprob_batch_size"], Number("score_b")),
        open(&["policy.max_total_sequence_length"], Number("s")),
        open(
            &["policy.precision"],
            Words(&[
                ("bfloat16", Said::Fact(Fact::FsdpCasts(true))),
                ("float32", Said::Fact(Fact::FsdpCasts(false))),
                ("float16", NotCounted("products in fp16 beside fp32 weights; bf16 takes as much")),
            ]),
        ),
        open(&["policy.dtensor_cfg.enabled"], Words(&switch(Said::Fact(Fact::Shards(Shards::Fsdp)), Nothing))),
        open(&["policy.megatron_cfg.enabled"], Words(&switch(MEGATRON, Nothing))),
        open(
            &["policy.dtensor_cfg.tensor_parallel_size", "policy.megatron_cfg.tensor_model_parallel_size"],
            Number("tp"),
        ),
        open(&["policy.dtensor_cfg.context_parallel_size", "policy.megatron_cfg.context_parallel_size"], Number("cp")),
        open(
            &["policy.dtensor_cfg.expert_parallel_size", "policy.megatron_cfg.expert_model_parallel_size"],
            Number("ep"),
        ),
        open(&["policy.megatron_cfg.expert_tensor_parallel_size"], Words(super::megatron_swift::EXPERTS)),
        open(&["policy.megatron_cfg.pipeline_model_parallel_size"], Number("pp")),
        open(&["policy.megatron_cfg.num_layers_in_first_pipeline_stage"], Number("pp_first")),
        open(&["policy.megatron_cfg.num_layers_in_last_pipeline_stage"], Number("pp_last")),
        open(
            &["policy.dtensor_cfg.sequence_parallel", "policy.megatron_cfg.sequence_parallel"],
            Words(&switch(Link("sp=on"), Link("sp=off"))),
        ),
        open(
            &["policy.dtensor_cfg.activation_checkpointing"],
            Words(&switch(NotCounted(automodel::PARTS), Link("recompute=none"))),
        ),
        open(
            &["policy.megatron_cfg.activation_checkpointing"],
            Words(&switch(Link("recompute=full"), Link("recompute=none"))),
        ),
        open(
            &["policy.megatron_cfg.recompute_granularity"],
            Words(&[("full", Link("recompute=full")), ("selective", Link("recompute=selective"))]),
        ),
        open(&["policy.megatron_cfg.recompute_modules"], Only("core_attn", super::megatron::MODULES)),
        open(
            &["policy.megatron_cfg.optimizer.use_distributed_optimizer"],
            Words(&switch(Nothing, NotCounted("every GPU keeps the whole state of the optimizer"))),
        ),
        open(
            &["policy.megatron_cfg.optimizer.optimizer"],
            Words(&[("adam", Link("optimizer=adamw")), ("sgd", Link("optimizer=momentum"))]),
        ),
        open(
            &["policy.megatron_cfg.optimizer.optimizer_cpu_offload"],
            Words(&switch(Link("offload=optimizer"), Nothing)),
        ),
        open(
            &["policy.megatron_cfg.distributed_data_parallel_config.grad_reduce_in_fp32"],
            Words(&switch(Link("grad=32"), Link("grad=16"))),
        ),
        open(&["policy.megatron_cfg.attention_backend"], Words(super::megatron::ATTENTION)),
        open(&["policy.dtensor_cfg.automodel_kwargs.attn_implementation"], Words(super::transformers::ATTENTION)),
        open(&["policy.dtensor_cfg.cpu_offload"], Words(&switch(Said::Fact(Fact::OffloadsParameters(true)), Nothing))),
        open(&["policy.dtensor_cfg.lora_cfg.enabled", "policy.megatron_cfg.peft.enabled"], Words(super::peft::SWITCH)),
        open(&["policy.dtensor_cfg.lora_cfg.dim", "policy.megatron_cfg.peft.dim"], Number("rank")),
        open(&["policy.dtensor_cfg.lora_cfg.target_modules", "policy.megatron_cfg.peft.target_modules"], Targets),
        open(
            &["policy.dtensor_cfg.lora_cfg.dropout", "policy.megatron_cfg.peft.dropout"],
            Usual(0.0, automodel::DROPOUT),
        ),
        open(
            &["policy.optimizer.name"],
            Optimizer(&[
                ("torch.optim.AdamW", Link("optimizer=adamw")),
                ("torch.optim.Adam", Link("optimizer=adamw")),
                ("transformer_engine.pytorch.optimizers.fused_adam.FusedAdam", NotCounted(automodel::TE_ADAM)),
            ]),
        ),
        open(&["policy.optimizer.kwargs.fused"], Words(&switch(Link("step=fused"), Nothing))),
        key(&["policy.optimizer.kwargs.foreach"], "true", Words(automodel::FOREACH)),
        open(&["policy.sequence_packing.enabled"], Words(&switch(Said::Fact(Fact::Packed(true)), Nothing))),
        open(
            &["policy.generation.backend"],
            Words(&[
                ("vllm", Said::Fact(Fact::Engine(true))),
                ("sglang", Said::Fact(Fact::Engine(true))),
                ("trtllm", Said::Fact(Fact::Engine(true))),
                ("dynamo", Said::Fact(Fact::Engine(true))),
                ("megatron", NotCounted("Megatron-LM generates, with a cache of its own")),
            ]),
        ),
        open(
            &["policy.generation.colocated.enabled"],
            Words(&switch(Said::Fact(Fact::EngineElsewhere(false)), Said::Fact(Fact::EngineElsewhere(true)))),
        ),
        open(&["policy.generation.colocated.resources.num_nodes"], Counts(Count::MachinesAway)),
        open(&["policy.generation.colocated.resources.gpus_per_node"], Counts(Count::GpusAway)),
        open(
            &["policy.generation.vllm_cfg.gpu_memory_utilization", "policy.generation.sglang_cfg.mem_fraction_static"],
            Share("engine_share"),
        ),
        open(&["policy.generation.max_new_tokens"], Number("completion")),
        open(&["cluster.gpus_per_node"], Counts(Count::PerMachine)),
        open(&["cluster.num_nodes"], Counts(Count::Machines)),
        open(
            &["policy.dtensor_cfg.automodel_kwargs.freeze_config.freeze_vision_tower"],
            Words(&[("true", Link("tower=frozen")), ("false", Link("tower=trained"))]),
        ),
    ],
    no_matter: "defaults sif_dir teacher teacher.* value.* value_loss_fn.* grpo.* dpo.* sft.* rm.* ppo.* distillation.* loss_fn.* checkpointing.* data.* data env.* logger.* cluster.* async_rl.* \
        data_plane* reward_penalties.* _teachers.* on_policy_distillation metadata.* policy.tokenizer.* policy.hf_config_overrides* \
        policy.generation_batch_size policy.make_sequence_length_divisible_by policy.max_grad_norm policy.scheduler* policy.optimizer \
        policy.optimizer.kwargs.* policy.refit_* policy.is_vlm policy.disable_modelopt_layer_spec policy.dequantize_base_checkpoint \
        policy.dtensor_cfg._v2 policy.dtensor_cfg.env_vars* policy.dtensor_cfg.custom_parallel_plan policy.dtensor_cfg.clear_cache_* \
        policy.dtensor_cfg.defer_* policy.dtensor_cfg.automodel_kwargs policy.dtensor_cfg.automodel_kwargs.* \
        policy.dtensor_cfg.moe_parallelizer.* policy.dtensor_cfg.lora_cfg.* policy.dynamic_batching.* policy.sequence_packing.* \
        policy.megatron_cfg.* policy.generation.* policy.draft.* policy.reward_model_cfg.* policy.activation_checkpointing_enabled",
    not_counted: &[
        ("policy.dynamic_batching.train_mb_tokens", TOKENS),
        ("policy.sequence_packing.train_mb_tokens", TOKENS),
        ("policy.logprob_chunk_size", "log-probabilities are taken in chunks where nothing is trained"),
        (
            "policy.offload_optimizer_for_logprob",
            "the optimizer’s state leaves the GPU while log-probabilities are taken",
        ),
        ("policy.draft.enabled", DRAFT),
        ("policy.quant_*", "weights and inputs are rounded as if they were quantized"),
        ("policy.router_replay.*", "the choice of experts is kept"),
        ("policy.dtensor_cfg.dp_replicate_size", reasons::REPLICAS),
        ("policy.dtensor_cfg.lora_cfg.match_all_linear", automodel::HEAD),
        ("policy.dtensor_cfg.lora_cfg.exclude_modules", automodel::EXCLUDED),
        ("policy.megatron_cfg.peft.exclude_modules", automodel::EXCLUDED),
        ("policy.dtensor_cfg.automodel_kwargs.use_liger_kernel", "Liger’s kernels keep less for the backward pass"),
        ("policy.dtensor_cfg.automodel_kwargs.freeze_config.freeze_language_model", reasons::SOME_PARTS),
        ("policy.megatron_cfg.freeze_vision*", reasons::SOME_PARTS),
        ("policy.megatron_cfg.freeze_sound*", reasons::SOME_PARTS),
        ("policy.megatron_cfg.freeze_config.*", reasons::SOME_PARTS),
        ("policy.megatron_cfg.virtual_pipeline_model_parallel_size", "chunks of layers of a stage are interleaved"),
        (
            "policy.megatron_cfg.optimizer.use_precision_aware_optimizer",
            "the optimizer may keep what bf16 weights lack of fp32 in two bytes",
        ),
        (
            "policy.megatron_cfg.optimizer.optimizer_offload_fraction",
            "only a part of the optimizer’s state leaves the GPU",
        ),
        ("policy.megatron_cfg.distributed_data_parallel_config.use_custom_fsdp", automodel::MEGATRON),
        ("policy.megatron_cfg.fp8_cfg.enabled", reasons::FP8),
        ("policy.megatron_cfg.fine_grained_activation_offloading", "what some modules keep leaves the GPU"),
        ("policy.megatron_cfg.use_fused_linear_logprobs", "head and log-probabilities chunk by chunk"),
        ("policy.megatron_cfg.defer_fp32_logits", "logits are cast to fp32 in the backward pass"),
        ("policy.megatron_cfg.mtp_num_layers", DRAFT),
        ("policy.megatron_cfg.model_overrides.*", "other settings of Megatron-LM’s layers"),
        (
            "policy.generation.vllm_cfg.tensor_parallel_size",
            "the engine divides its weights over GPUs; its share of the GPU is counted",
        ),
        ("env.reward_model.resources.*", MODELS),
        ("teacher.model_name", MODELS),
        ("teachers*", MODELS),
        ("value.model_name", MODELS),
        ("on_policy_distillation.*", MODELS),
    ],
};

/// The keys without a row in the table before, which is asked first.
static REST: Table = Table {
    source: CONFIG.source,
    is_of_scripts: false,
    keys: &[],
    no_matter: "",
    not_counted: &[("policy.*", "another setting of the model that is trained")],
};

/// Takes values away that count for nothing: of what is switched off, and of what another file says.
pub(in crate::read) fn settle(document: &mut Document) {
    let is = |path: &str, on: bool| {
        document.entries.iter().any(|entry| entry.path == path && entry.value == Value::Bool(on))
    };
    const DTENSOR: &str = "policy.dtensor_cfg";
    const MEGATRON: &str = "policy.megatron_cfg";
    let enabled = |section: &str| format!("{section}.enabled");
    let (dtensor, megatron) = (is(&enabled(DTENSOR), true), is(&enabled(MEGATRON), true));
    let mut off: Vec<String> = Vec::new();
    for entry in &document.entries {
        if let (Some(section), Value::Bool(false)) = (entry.path.strip_suffix(".enabled"), &entry.value)
            && !section.ends_with(".colocated")
        {
            off.push(format!("{section}."));
        }
    }
    if dtensor && !megatron {
        off.push(format!("{MEGATRON}."));
    }
    if megatron && !dtensor {
        off.extend([format!("{DTENSOR}."), "policy.optimizer.".to_owned()]);
    }
    // Which of both trains the other file says.
    let says = |section: &str| document.has(&enabled(section));
    if document.has(DTENSOR) && document.has(MEGATRON) && !says(DTENSOR) && !says(MEGATRON) {
        off.extend([DTENSOR, MEGATRON].map(|section| format!("{section}.")));
    }
    if is("policy.generation.colocated.enabled", true) {
        off.push("policy.generation.colocated.resources.".to_owned());
    }
    // A number of GPUs that stands alone is multiplied by one of the other file.
    if document.has("defaults") {
        for (one, other) in
            [("cluster.gpus_per_node", "cluster.num_nodes"), ("cluster.num_nodes", "cluster.gpus_per_node")]
        {
            if !document.has(other) {
                off.push(one.to_owned());
            }
        }
    }
    let recomputes = "policy.megatron_cfg.activation_checkpointing";
    let granularity = "policy.megatron_cfg.recompute_";
    if is(recomputes, false) {
        off.push(granularity.to_owned());
    } else if document.has("policy.megatron_cfg.recompute_granularity") {
        off.push(recomputes.to_owned());
    }
    for entry in &mut document.entries {
        let is_off = !entry.path.ends_with(".enabled") && off.iter().any(|start| entry.path.starts_with(start));
        let is_elsewhere = matches!(&entry.value, Value::Text(text) if text.contains("${"));
        if is_off || is_elsewhere || entry.value == Value::List(Vec::new()) {
            entry.value = Value::Null;
        }
    }
}
