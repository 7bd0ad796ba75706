//! torchtitan’s TOML, and its flags, which have the same names.

use super::super::facts::{Count, Fact, Loaded, Selects};
use super::Rule::{Count as Counts, Model, Number, Usual, Words};
use super::Said::{self, Link, NotCounted, Nothing};
use super::{Format, Meaning, Needs, Row, Table, key, open, switch};

pub(super) static ROW: Row = Row {
    format: Format::Torchtitan,
    name: "a configuration of torchtitan",
    signs: &[
        &["training.local_batch_size"],
        &["parallelism.data_parallel_shard_degree"],
        &["model.flavor"],
        &["training.seq_len", "parallelism"],
    ],
    needs: Some(Needs::Pretraining),
};

pub(super) static MEANING: Meaning =
    Meaning { always: &[Link("engine=torchtitan&attn=flash&dropout=off")], tables: &[&CONFIG], within: &[] };

/// The type to which FSDP casts weights as it gathers them.
pub(super) const CASTS: &[(&str, Said)] =
    &[("bfloat16", Said::Fact(Fact::FsdpCasts(true))), ("float32", Said::Fact(Fact::FsdpCasts(false)))];

static CONFIG: Table = Table {
    source: "torchtitan 0.2.2, config/job_config.py, JobConfig; of 0.3.0, config/configs.py, the names that it kept",
    is_of_scripts: false,
    keys: &[
        open(&["model.flavor"], Model),
        // Its modelling backend takes a model of transformers (experiments/transformers_modeling_backend/).
        open(&["hf_transformers.model"], Model),
        key(&["training.local_batch_size"], "8", Counts(Count::LocalBatch)),
        open(&["training.global_batch_size"], Counts(Count::GlobalBatch)),
        key(&["training.seq_len"], "2048", Number("s")),
        key(
            &["training.dtype"],
            "float32",
            Words(&[
                ("float32", Said::Fact(Fact::Loaded(Loaded::Full))),
                ("bfloat16", Said::Fact(Fact::Loaded(Loaded::Half))),
            ]),
        ),
        key(&["training.mixed_precision_param"], "bfloat16", Words(CASTS)),
        open(&["training.enable_cpu_offload"], Words(&switch(Said::Fact(Fact::OffloadsParameters(true)), Nothing))),
        key(&["parallelism.data_parallel_replicate_degree"], "1", Counts(Count::Replicas)),
        open(&["parallelism.data_parallel_shard_degree"], Counts(Count::Shards)),
        key(
            &["parallelism.fsdp_reshard_after_forward"],
            "default",
            Words(&[
                ("default", Nothing),
                ("always", Said::Fact(Fact::Reshards(true))),
                ("never", Said::Fact(Fact::Reshards(false))),
            ]),
        ),
        open(&["parallelism.tensor_parallel_degree"], Number("tp")),
        open(&["parallelism.pipeline_parallel_degree"], Number("pp")),
        open(&["parallelism.context_parallel_degree"], Number("cp")),
        open(&["parallelism.expert_parallel_degree"], Number("ep")),
        key(
            &["parallelism.pipeline_parallel_schedule"],
            "1F1B",
            Words(&[
                ("1F1B", Said::Fact(Fact::Interleaves(false))),
                ("Interleaved1F1B", Said::Fact(Fact::Interleaves(true))),
                ("GPipe", NotCounted("GPipe keeps the activations of every micro-batch of a step")),
                ("ZBVZeroBubble", NotCounted("zero bubble puts the gradients of weights off and keeps their inputs")),
                (
                    "InterleavedZeroBubble",
                    NotCounted("zero bubble puts the gradients of weights off and keeps their inputs"),
                ),
                ("DualPipeV", NotCounted("DualPipe runs two directions at once")),
            ]),
        ),
        open(&["parallelism.pipeline_parallel_layers_per_stage"], Counts(Count::LayersOfChunk)),
        key(&["parallelism.pipeline_parallel_microbatch_size"], "1", Counts(Count::PipelineBatch)),
        open(
            &[
                "parallelism.pipeline_parallel_first_stage_less_layers",
                "parallelism.pipeline_parallel_last_stage_less_layers",
            ],
            Usual(0.0, "the first and the last stage have fewer layers than the others"),
        ),
        key(
            &["activation_checkpoint.mode"],
            "selective",
            Words(&[
                ("none", Said::Fact(Fact::Selects(Selects::Nothing))),
                ("selective", Said::Fact(Fact::Selects(Selects::Some))),
                ("full", Said::Fact(Fact::Selects(Selects::Layers))),
                ("memory_budget", NotCounted("the compiler chooses what is computed again by a budget")),
            ]),
        ),
        key(
            &["activation_checkpoint.selective_ac_option"],
            "2",
            Words(&[
                ("op", Said::Fact(Fact::SelectsOperators(true))),
                ("1", Link("every=1")),
                ("2", Link("every=2")),
                ("3", Link("every=3")),
                ("4", Link("every=4")),
                ("5", Link("every=5")),
                ("6", Link("every=6")),
                ("8", Link("every=8")),
            ]),
        ),
        key(
            &["optimizer.name"],
            "AdamW",
            Words(&[("AdamW", Link("optimizer=adamw")), ("Adam", Link("optimizer=adamw"))]),
        ),
        key(
            &["optimizer.implementation"],
            "fused",
            Words(&[("fused", Link("step=fused")), ("foreach", Link("step=foreach")), ("for-loop", Link("step=loop"))]),
        ),
        open(&["optimizer.early_step_in_backward"], Words(&switch(Link("step=in-backward"), Nothing))),
        key(
            &["compile.enable"],
            "false",
            Words(&[("true", Said::Fact(Fact::Compiles(true))), ("false", Said::Fact(Fact::Compiles(false)))]),
        ),
        open(&["compile.no_enable"], Words(&[("true", Said::Fact(Fact::Compiles(false)))])),
        open(&["loss.num_chunks"], Number("chunks")),
        open(
            &["quantize.linear.float8.recipe_name", "float8.recipe_name"],
            Words(&[
                ("tensorwise", Link("fp8=torchao-tensorwise")),
                ("rowwise", Link("fp8=torchao-rowwise")),
                ("rowwise_with_gw_hp", NotCounted("gradients of weights are not in fp8")),
            ]),
        ),
    ],
    no_matter: "job.* profiling.* profiler.* metrics.* model.name model.hf_assets_path model.tokenizer_path model.converters \
        model.print_after_conversion model.tokenizer optimizer.lr optimizer.beta1 optimizer.beta2 optimizer.eps optimizer.weight_decay \
        lr_scheduler.* training.dataset training.dataset_path training.dataloader.* training.max_norm training.steps training.gc_* \
        training.mixed_precision_reduce training.disable_cuda_graphs checkpoint.* comm.* validation.* experimental.* debug.* \
        compile.components compile.backend compile.no_components fault_tolerance.* module config \
        parallelism.disable_loss_parallel parallelism.enable_sequence_parallel parallelism.context_parallel_load_balancer \
        parallelism.context_parallel_rotate_method parallelism.pipeline_parallel_schedule_csv parallelism.enable_async_tensor_parallel \
        parallelism.enable_compiled_autograd parallelism.pipeline_parallel_split_points parallelism.spmd_backend dataloader.* \
        activation_checkpoint.early_stop activation_checkpoint.preserve_rng_state activation_checkpoint.determinism_check \
        activation_checkpoint.debug activation_checkpoint.visualize_memory_budget_pareto activation_checkpoint.memory_budget \
        activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns quantize.linear.float8.enable_fsdp_float8_all_gather \
        quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp quantize.linear.float8.filter_fqns float8.enable_fsdp_float8_all_gather \
        float8.precompute_float8_dynamic_scale_for_fsdp float8.filter_fqns",
    not_counted: &[
        ("parallelism.module_fqns_per_model_part", "stages of layers that are listed one by one"),
        ("parallelism.expert_tensor_parallel_degree", "experts are divided among tensor-parallel GPUs as well"),
        ("quantize.linear.mx.*", "products in MXFP8 keep some inputs in one byte instead of two"),
        ("quantize.grouped_mm.*", "products of experts in fp8"),
        ("data.max_patches_per_image", PATCHES),
        ("data.max_images_per_batch", PATCHES),
        ("encoder.*", IMAGES),
        ("inference.*", IMAGES),
        ("training.img_size", IMAGES),
        ("training.classifier_free_guidance_prob", IMAGES),
        ("memory_estimation.*", "a run that estimates and does not train"),
    ],
};

const PATCHES: &str = "patches of images go through an encoder beside the text";
const IMAGES: &str = "a model that makes images, with the encoders beside it; bmax counts models of text";

/// How a model of torchtitan’s is called on a hub, by its name and its flavour.
pub(in crate::read) fn model(name: &str, flavor: &str) -> String {
    let (family, sizes): (&str, &[(&str, &str)]) = match name {
        "llama3" => ("llama-3.1-", &[]),
        "deepseek_v3" => ("", &[("16b", "deepseek-v2-lite"), ("236b", "deepseek-v2"), ("671b", "deepseek-v3")]),
        "llama4" => ("", &[("17bx16e", "llama-4-scout"), ("17bx128e", "llama-4-maverick")]),
        other => return format!("{}-{flavor}", other.replace('_', "-")),
    };
    let small = flavor.to_ascii_lowercase();
    sizes
        .iter()
        .find(|(size, _)| *size == small)
        .map_or_else(|| format!("{family}{flavor}"), |(_, slug)| (*slug).to_owned())
}
