//! accelerate’s file, and the flags of `accelerate launch`, which have the same names.

use super::super::facts::{Count, Fact, Half, Shards};
use super::Rule::{Count as Counts, File, Number, Words};
use super::Said::{self, NotCounted, Nothing};
use super::{Format, Meaning, Needs, Row, Table, open, reasons, switch};

pub(super) static ROW: Row = Row {
    format: Format::Accelerate,
    name: "a configuration of accelerate",
    signs: &[&["compute_environment", "distributed_type"], &["distributed_type", "num_processes"]],
    needs: Some(Needs::FineTuning),
};

pub(super) static MEANING: Meaning =
    Meaning { always: &[], tables: &[&CLUSTER, &FSDP, &DEEPSPEED, &MEGATRON], within: &[] };

static CLUSTER: Table = Table {
    source: "accelerate 1.15.0, commands/config/config_args.py, ClusterConfig, and commands/launch.py",
    is_of_scripts: false,
    keys: &[
        open(
            &["distributed_type"],
            Words(&[
                ("DEEPSPEED", Said::Fact(Fact::Shards(Shards::DeepSpeed))),
                ("FSDP", Said::Fact(Fact::Shards(Shards::Fsdp))),
                ("MULTI_GPU", Said::Fact(Fact::Shards(Shards::Nothing))),
                ("false", Said::Fact(Fact::Shards(Shards::Nothing))),
                ("NO", Said::Fact(Fact::Shards(Shards::Nothing))),
                ("no", Said::Fact(Fact::Shards(Shards::Nothing))),
                ("MEGATRON_LM", Said::Link("engine=megatron")),
            ]),
        ),
        open(&["num_processes"], Counts(Count::Processes)),
        open(&["gpu_ids"], Counts(Count::Visible)),
        open(
            &["mixed_precision"],
            Words(&[
                ("bf16", Said::Fact(Fact::Half(Half::Bf16))),
                ("fp16", Said::Fact(Fact::Half(Half::Fp16))),
                ("fp8", NotCounted(reasons::FP8)),
                ("no", Nothing),
                ("false", Nothing),
            ]),
        ),
        open(&["use_deepspeed"], Words(&[("true", Said::Fact(Fact::Shards(Shards::DeepSpeed))), ("false", Nothing)])),
        open(&["use_fsdp"], Words(&[("true", Said::Fact(Fact::Shards(Shards::Fsdp))), ("false", Nothing)])),
        open(&["multi_gpu"], Words(&[("true", Said::Fact(Fact::Shards(Shards::Nothing))), ("false", Nothing)])),
        open(&["parallelism_config.parallelism_config_tp_size", "parallelism_config_tp_size"], Number("tp")),
        open(&["parallelism_config.parallelism_config_cp_size", "parallelism_config_cp_size"], Number("cp")),
        open(&["gradient_accumulation_steps"], Number("accum")),
    ],
    no_matter: "\
            compute_environment debug machine_rank num_machines main_process* rdzv* same_network \
            main_training_function use_cpu cpu enable_cpu_affinity downcast_bf16 tpu_* tpu command_file commands \
            mpirun* config_file num_cpu_threads_per_process quiet module no_python tee role log_dir max_restarts \
            monitor_interval env vm deepspeed_config fsdp_config megatron_lm_config gradient_clipping ipex_config \
            dynamo_config.* dynamo_* parallelism_config.parallelism_config_dp_shard_size \
            parallelism_config_dp_shard_size fp8_config* parallelism_config.parallelism_config_cp_* \
            parallelism_config_cp_* use_parallelism_config distributed_training \
            parallelism_config.parallelism_config_sp_backend parallelism_config_sp_backend \
            parallelism_config.parallelism_config_sp_seq_* parallelism_config_sp_seq_* \
            parallelism_config.parallelism_config_sp_attn_implementation parallelism_config_sp_attn_implementation",
    not_counted: &[
        ("parallelism_config.parallelism_config_dp_replicate_size", reasons::REPLICAS),
        ("parallelism_config_dp_replicate_size", reasons::REPLICAS),
        ("parallelism_config.parallelism_config_sp_size", "Ulysses divides the heads of attention over GPUs"),
        ("parallelism_config_sp_size", "Ulysses divides the heads of attention over GPUs"),
    ],
};

/// FSDP, as accelerate’s file, its flags, the Trainer and axolotl say it.
pub(super) static FSDP: Table = Table {
    source: "accelerate 1.15.0, commands/config/cluster.py and utils/dataclasses.py, FullyShardedDataParallelPlugin",
    is_of_scripts: false,
    keys: &[
        open(
            &["fsdp_config.fsdp_sharding_strategy", "fsdp_config.sharding_strategy", "fsdp_sharding_strategy"],
            Words(&[
                ("FULL_SHARD", Said::Fact(Fact::Reshards(true))),
                ("1", Said::Fact(Fact::Reshards(true))),
                ("SHARD_GRAD_OP", Said::Fact(Fact::Reshards(false))),
                ("2", Said::Fact(Fact::Reshards(false))),
                ("NO_SHARD", Said::Fact(Fact::NoShard)),
                ("3", Said::Fact(Fact::NoShard)),
                ("HYBRID_SHARD", NotCounted(reasons::REPLICAS)),
                ("4", NotCounted(reasons::REPLICAS)),
                ("HYBRID_SHARD_ZERO2", NotCounted(reasons::REPLICAS)),
                ("5", NotCounted(reasons::REPLICAS)),
            ]),
        ),
        open(
            &[
                "fsdp_config.fsdp_reshard_after_forward",
                "fsdp_config.reshard_after_forward",
                "fsdp_reshard_after_forward",
            ],
            Words(&[
                ("true", Said::Fact(Fact::Reshards(true))),
                ("FULL_SHARD", Said::Fact(Fact::Reshards(true))),
                ("false", Said::Fact(Fact::Reshards(false))),
                ("SHARD_GRAD_OP", Said::Fact(Fact::Reshards(false))),
                ("NO_SHARD", Said::Fact(Fact::NoShard)),
                ("HYBRID_SHARD", NotCounted(reasons::REPLICAS)),
            ]),
        ),
        open(
            &["fsdp_config.fsdp_offload_params", "fsdp_config.offload_params", "fsdp_offload_params"],
            Words(&switch(Said::Fact(Fact::OffloadsParameters(true)), Nothing)),
        ),
        open(
            &[
                "fsdp_config.fsdp_activation_checkpointing",
                "fsdp_config.activation_checkpointing",
                "fsdp_activation_checkpointing",
            ],
            Words(&switch(Said::Fact(Fact::FsdpRecomputes(true)), Nothing)),
        ),
    ],
    no_matter: "\
            fsdp_config.fsdp_version fsdp_config.version fsdp_version fsdp_config.fsdp_auto_wrap_policy \
            fsdp_config.auto_wrap_policy fsdp_auto_wrap_policy fsdp_config.fsdp_transformer_layer_cls_to_wrap \
            fsdp_config.transformer_layer_cls_to_wrap fsdp_transformer_layer_cls_to_wrap \
            fsdp_config.fsdp_cpu_ram_efficient_loading fsdp_config.cpu_ram_efficient_loading \
            fsdp_cpu_ram_efficient_loading fsdp_config.fsdp_state_dict_type fsdp_config.state_dict_type \
            fsdp_state_dict_type fsdp_config.fsdp_sync_module_states fsdp_config.sync_module_states \
            fsdp_sync_module_states fsdp_config.fsdp_use_orig_params fsdp_config.use_orig_params \
            fsdp_use_orig_params fsdp_config.fsdp_final_state_dict_type fsdp_config.final_state_dict_type \
            fsdp_final_state_dict_type fsdp_config.cpu_offload_pin_memory fsdp_config.mixed_precision_policy",
    not_counted: &[
        ("fsdp_config.fsdp_backward_prefetch", PREFETCH),
        ("fsdp_config.backward_prefetch", PREFETCH),
        ("fsdp_backward_prefetch", PREFETCH),
        ("fsdp_config.fsdp_forward_prefetch", PREFETCH),
        ("fsdp_config.forward_prefetch", PREFETCH),
        ("fsdp_forward_prefetch", PREFETCH),
        ("fsdp_config.fsdp_activation_checkpointing_offload", "the inputs that recomputation keeps leave the GPU"),
        ("fsdp_config.fsdp_min_num_params", "units of another size than a layer are gathered together"),
        ("fsdp_config.min_num_params", "units of another size than a layer are gathered together"),
        ("fsdp_min_num_params", "units of another size than a layer are gathered together"),
    ],
};

const PREFETCH: &str = "the usual order of gathering is counted, in which two layers are whole at once";

/// DeepSpeed, as accelerate says it without a file of DeepSpeed’s own.
static DEEPSPEED: Table = Table {
    source: "accelerate 1.15.0, utils/dataclasses.py, DeepSpeedPlugin",
    is_of_scripts: false,
    keys: &[
        open(&["deepspeed_config.zero_stage", "zero_stage"], Words(super::deepspeed::STAGES)),
        open(&["deepspeed_config.gradient_accumulation_steps"], Number("accum")),
        open(
            &["deepspeed_config.offload_optimizer_device", "offload_optimizer_device"],
            Words(super::deepspeed::OPTIMIZER_AWAY),
        ),
        open(
            &["deepspeed_config.offload_param_device", "offload_param_device"],
            Words(super::deepspeed::PARAMETERS_AWAY),
        ),
        open(
            &["deepspeed_config.deepspeed_config_file", "deepspeed_config_file"],
            File(super::transformers::STAGES_BY_NAME),
        ),
    ],
    no_matter: "\
            deepspeed_config.gradient_clipping deepspeed_config.zero3_init_flag zero3_init_flag \
            deepspeed_config.zero3_save_16bit_model zero3_save_16bit_model \
            deepspeed_config.deepspeed_multinode_launcher deepspeed_multinode_launcher \
            deepspeed_config.deepspeed_hostfile deepspeed_hostfile deepspeed_exclusion_filter \
            deepspeed_inclusion_filter deepspeed_config.deepspeed_exclusion_filter \
            deepspeed_config.deepspeed_inclusion_filter deepspeed_config.offload_optimizer_nvme_path \
            deepspeed_config.offload_param_nvme_path deepspeed_moe_layer_cls_names \
            deepspeed_config.deepspeed_moe_layer_cls_names deepspeed_config.seq_parallel_communication_data_type",
    not_counted: &[],
};

static MEGATRON: Table = Table {
    source: "accelerate 1.15.0, utils/dataclasses.py, MegatronLMPlugin",
    is_of_scripts: false,
    keys: &[
        open(&["megatron_lm_config.megatron_lm_tp_degree"], Number("tp")),
        open(&["megatron_lm_config.megatron_lm_pp_degree"], Number("pp")),
        open(&["megatron_lm_config.megatron_lm_num_micro_batches"], Number("accum")),
        open(
            &["megatron_lm_config.megatron_lm_sequence_parallelism"],
            Words(&switch(Said::Link("sp=on"), Said::Link("sp=off"))),
        ),
        open(
            &["megatron_lm_config.megatron_lm_recompute_activations"],
            Words(&switch(Said::Link("recompute=selective"), Said::Link("recompute=none"))),
        ),
        open(
            &["megatron_lm_config.megatron_lm_use_distributed_optimizer"],
            Words(&switch(Said::Link("zero=1"), Said::Link("zero=0"))),
        ),
    ],
    no_matter: "megatron_lm_config.megatron_lm_gradient_clipping",
    not_counted: &[],
};
