//! DeepSpeed’s file. “auto” leaves a value to the Trainer, whose own arguments then say it.

use super::super::facts::{Count, Fact, Shards};
use super::Rule::{Count as Counts, Millions, Number, Usual, Words};
use super::Said::{self, Link, NotCounted, Nothing};
use super::{Format, Meaning, Needs, Row, Table, key, open, switch};

pub(super) static ROW: Row = Row {
    format: Format::DeepSpeed,
    name: "a configuration of DeepSpeed",
    signs: &[
        &["zero_optimization"],
        &["train_micro_batch_size_per_gpu"],
        &["train_batch_size"],
        &["zero_allow_untested_optimizer"],
    ],
    needs: Some(Needs::FineTuning),
};

pub(super) static MEANING: Meaning =
    Meaning { always: &[Said::Fact(Fact::Shards(Shards::DeepSpeed))], tables: &[&CONFIG], within: &[] };

pub(super) const STAGES: &[(&str, Said)] = &[
    ("0", Said::Fact(Fact::Stage(0))),
    ("1", Said::Fact(Fact::Stage(1))),
    ("2", Said::Fact(Fact::Stage(2))),
    ("3", Said::Fact(Fact::Stage(3))),
];
const NVME: &str =
    "this is counted as if it went to CPU memory; with NVMe buffers of buffer_count × buffer_size are pinned there";
pub(super) const OPTIMIZER_AWAY: &[(&str, Said)] =
    &[("cpu", Said::Fact(Fact::OffloadsOptimizer(true))), ("none", Nothing), ("nvme", NotCounted(NVME))];
pub(super) const PARAMETERS_AWAY: &[(&str, Said)] =
    &[("cpu", Said::Fact(Fact::OffloadsParameters(true))), ("none", Nothing), ("nvme", NotCounted(NVME))];
const LIVE: &str = "ZeRO 3 may keep this many gathered weights, of which the usual 1,000 million are counted";

static CONFIG: Table = Table {
    source: "deepspeed 0.19.8, runtime/config.py, and runtime/zero/config.py, DeepSpeedZeroConfig",
    is_of_scripts: false,
    keys: &[
        key(&["zero_optimization.stage"], "0", Words(STAGES)),
        open(&["zero_optimization.offload_optimizer.device"], Words(OPTIMIZER_AWAY)),
        open(&["zero_optimization.offload_param.device"], Words(PARAMETERS_AWAY)),
        open(&["zero_optimization.cpu_offload"], Words(&switch(Said::Fact(Fact::OffloadsOptimizer(true)), Nothing))),
        key(&["zero_optimization.reduce_bucket_size"], "500000000", Millions("bucket")),
        open(
            &["zero_optimization.stage3_prefetch_bucket_size"],
            Usual(5e7, "weights that are gathered ahead; the usual 50 million are counted"),
        ),
        open(
            &["zero_optimization.stage3_param_persistence_threshold"],
            Usual(1e5, "smaller tensors stay whole on every GPU; the usual 100,000 elements are counted"),
        ),
        open(&["zero_optimization.stage3_max_live_parameters"], Usual(1e9, LIVE)),
        open(&["zero_optimization.stage3_max_reuse_distance"], Usual(1e9, LIVE)),
        open(&["bf16.enabled", "bfloat16.enabled"], Words(super::transformers::FLAG_BF16)),
        open(&["fp16.enabled"], Words(super::transformers::FLAG_FP16)),
        open(&["torch_autocast.enabled"], Words(&switch(Said::Fact(Fact::Autocast(true)), Nothing))),
        open(
            &["optimizer.type"],
            Words(&[
                ("AdamW", Link("optimizer=adamw")),
                ("Adam", Link("optimizer=adamw")),
                ("FusedAdam", Link("optimizer=adamw")),
                ("Lion", Link("optimizer=lion")),
                ("Muon", Link("optimizer=muon")),
                ("SGD", Link("optimizer=sgd")),
                ("OneBitAdam", NotCounted("two moments, and buffers of compressed communication beside them")),
                ("Lamb", NotCounted("two moments of 4 bytes per weight, as AdamW has")),
            ]),
        ),
        open(
            &["data_types.grad_accum_dtype"],
            Words(&[("fp32", Link("grad=32")), ("bf16", Link("grad=16")), ("fp16", Link("grad=16"))]),
        ),
        open(&["tensor_parallel.autotp_size"], Number("tp")),
        open(&["train_micro_batch_size_per_gpu"], Number("b")),
        open(&["gradient_accumulation_steps"], Number("accum")),
        open(&["train_batch_size"], Counts(Count::GlobalBatch)),
        open(
            &["activation_checkpointing.cpu_checkpointing"],
            Words(&switch(Said::Fact(Fact::OffloadsActivations(true)), Nothing)),
        ),
    ],
    no_matter: "\
            _comment optimizer.params* scheduler* gradient_clipping steps_per_print wall_clock_breakdown \
            zero_allow_untested_optimizer zero_force_ds_cpu_optimizer zero_optimization.overlap_comm \
            zero_optimization.contiguous_gradients zero_optimization.sub_group_size \
            zero_optimization.allgather_partitions zero_optimization.reduce_scatter \
            zero_optimization.round_robin_gradients zero_optimization.stage3_gather_16bit_weights_on_model_save \
            zero_optimization.stage3_gather_fp16_weights_on_model_save \
            zero_optimization.offload_optimizer.pin_memory zero_optimization.offload_param.pin_memory \
            zero_optimization.load_from_fp32_weights zero_optimization.ignore_unused_parameters \
            zero_optimization.elastic_checkpoint zero_optimization.offload_optimizer.* \
            zero_optimization.offload_param.* fp16.* bf16.* torch_autocast.dtype \
            torch_autocast.lower_precision_safe_modules communication_data_type prescale_gradients \
            gradient_predivide_factor tensorboard* wandb* csv_monitor* monitor_config* flops_profiler* comms_* \
            checkpoint* dump_state memory_breakdown sparse_gradients data_efficiency* elasticity* aio* autotuning* \
            compile* seed use_data_before_expert_parallelism tensor_parallel* curriculum_learning* local_rank \
            disable_allgather timers* dataloader_drop_last bfloat16.*",
    not_counted: &[
        ("zero_optimization.allgather_bucket_size", "buckets of stage 1 and 2 in which updated weights come back"),
        ("zero_optimization.zero_hpz_partition_size", "ZeRO++ keeps a second copy of the weights in each machine"),
        ("zero_optimization.zero_quantized_weights", "ZeRO++ gathers weights in 8 bits"),
        ("zero_optimization.zero_quantized_gradients", "ZeRO++ reduces gradients in 4 bits"),
        ("zero_optimization.mics_shard_size", "MiCS divides over groups of GPUs and keeps a copy in each"),
        ("zero_optimization.stage3_module_granularity_threshold", "modules that are gathered as a whole"),
        ("activation_checkpointing.*", "DeepSpeed’s own recomputation has to be called by the model’s code"),
        ("sequence_parallel_size", "Ulysses divides the heads of attention over GPUs"),
        ("moe*", "experts by DeepSpeed’s own layer"),
        ("pipeline*", "DeepSpeed’s own pipeline has to be built by the model’s code"),
    ],
};
