//! A torchtitan job configuration, TOML, and the same as flags.
//!
//! torchtitan read TOML until version 0.2 and reads flags over a Python registry since 0.3, so that the
//! file has the tables of 0.2.2 (`config/job_config.py`) and, in a comment, the flags of 0.3.0
//! (`config/configs.py`). Both are checked.

use super::run::{Run, shards, sharing};
use super::text::{commented, quoted};
use crate::{
    Adapter, AttentionKernel, GradientType, Kernels, LossHead, Model, Offload, Optimizer, Precision, Recomputation,
    Scenario, StepKernel, Switch, ZeroStage, catalogue,
};

const PROGRAM: &str = "torchtitan";

/// A model that torchtitan has: its row in the catalogue, its name and flavour, and the function of the
/// registry of 0.3 that makes it.
struct Flavor {
    slug: &'static str,
    name: &'static str,
    flavor: &'static str,
    registry: Option<&'static str>,
}

/// `torchtitan/models/*/__init__.py` of 0.2.2 and `config_registry.py` of 0.3.0. The registry’s 405B
/// computes in float8, which is another scenario.
const FLAVORS: &[Flavor] = &[
    Flavor { slug: "llama-3.1-8b", name: "llama3", flavor: "8B", registry: Some("llama3_8b") },
    Flavor { slug: "llama-3.1-70b", name: "llama3", flavor: "70B", registry: Some("llama3_70b") },
    Flavor { slug: "llama-3.1-405b", name: "llama3", flavor: "405B", registry: None },
    Flavor { slug: "qwen3-0.6b", name: "qwen3", flavor: "0.6B", registry: Some("qwen3_0_6b") },
    Flavor { slug: "qwen3-1.7b", name: "qwen3", flavor: "1.7B", registry: Some("qwen3_1_7b") },
    Flavor { slug: "qwen3-4b", name: "qwen3", flavor: "4B", registry: None },
    Flavor { slug: "qwen3-8b", name: "qwen3", flavor: "8B", registry: None },
    Flavor { slug: "qwen3-14b", name: "qwen3", flavor: "14B", registry: Some("qwen3_14b") },
    Flavor { slug: "qwen3-32b", name: "qwen3", flavor: "32B", registry: Some("qwen3_32b") },
    Flavor { slug: "qwen3-30b-a3b", name: "qwen3", flavor: "30B-A3B", registry: Some("qwen3_30b_a3b") },
    Flavor { slug: "deepseek-v2-lite", name: "deepseek_v3", flavor: "16B", registry: Some("deepseek_v3_16b") },
    Flavor { slug: "deepseek-v2", name: "deepseek_v3", flavor: "236B", registry: None },
    Flavor { slug: "deepseek-v3", name: "deepseek_v3", flavor: "671B", registry: Some("deepseek_v3_671b") },
];

fn flavor(scenario: &Scenario) -> Option<&'static Flavor> {
    let (row, edited) = catalogue::model_row_of(scenario)?;
    FLAVORS.iter().find(|flavor| flavor.slug == row.slug && !edited)
}

/// One setting of a table, with the flag that says the same in 0.3.
struct Setting {
    table: &'static str,
    key: &'static str,
    value: String,
    /// Empty where 0.3 says it otherwise.
    flag: String,
}

pub(super) fn write(scenario: &Scenario, page: &str) -> String {
    let mut run = Run::new(scenario);
    adapt(&mut run);
    let now = *run.now();
    let known = flavor(&now);
    if known.is_none() {
        run.elsewhere(format!(
            "The model: torchtitan has no flavour of these sizes. Register one called “bmax” with {}.",
            sizes(&now.model)
        ));
    }
    if now.cluster.gpus == 1 && now.recipe.precision == Precision::Mixed {
        run.elsewhere("One GPU: torchtitan computes under autocast.");
    }
    let planned = run.plan();
    let settings = settings(&now, &planned);
    let mut text = commented(&run.head(page, "torchtitan 0.2.2 (this file) and 0.3.0 (the flags)"), "#");
    text.push_str("#\n# torchtitan 0.3 and later read flags instead of TOML:\n");
    let (module, config) = match known {
        Some(Flavor { name, registry: Some(registry), .. }) => (*name, *registry),
        Some(Flavor { name, .. }) => (*name, "your_config"),
        None => ("your_module", "your_config"),
    };
    let mut flags = vec![format!("--module {module} --config {config}")];
    flags.extend(settings.iter().filter(|setting| !setting.flag.is_empty()).map(|setting| setting.flag.clone()));
    // Graphs are captured in buffers of their own, which the sum does not have.
    flags.push("--training.disable_cuda_graphs".to_owned());
    // Which kind of recomputation is a command of its own, and has to stand last.
    flags.push(
        match now.recipe.recomputation {
            Recomputation::None => "activation-checkpoint:none",
            Recomputation::Operators => "activation-checkpoint:selective",
            _ => "activation-checkpoint:full",
        }
        .to_owned(),
    );
    let last = flags.len() - 1;
    for (position, flag) in flags.iter().enumerate() {
        text.push_str(&format!("#   {flag}{}\n", if position == last { "" } else { " \\" }));
    }
    text.push_str(&format!(
        "\n[model]\nname = {}\nflavor = {}\n",
        quoted(known.map_or("llama3", |known| known.name)),
        quoted(known.map_or("bmax", |known| known.flavor))
    ));
    let mut table = "";
    for setting in &settings {
        if setting.table != table {
            table = setting.table;
            text.push_str(&format!("\n[{table}]\n"));
        }
        text.push_str(&format!("{} = {}\n", setting.key, setting.value));
    }
    text
}

fn sizes(model: &Model) -> String {
    format!(
        "dim = {}, n_layers = {}, n_heads = {}, n_kv_heads = {}, head width {}, feed-forward width {}, vocab_size = {}",
        model.hidden, model.layers, model.heads, model.kv_heads, model.head_dim, model.feed_forward, model.vocabulary
    )
}

fn adapt(run: &mut Run) {
    run.change("torchtitan’s gradients are divided with its optimizer state, by FSDP without resharding", |s| {
        if s.cluster.zero == ZeroStage::Stage1 && sharing(s) > 1 {
            s.cluster.zero = ZeroStage::Stage2;
        }
    });
    run.change("torchtitan replicates weights only where nothing else divides the work: FSDP divides them", |s| {
        if s.cluster.zero == ZeroStage::Stage0 && s.cluster.group() > 1 && sharing(s) > 1 {
            s.cluster.zero = ZeroStage::Stage3;
        }
    });
    run.change(
        "torchtitan keeps fp32 weights, which FSDP casts as it gathers them, or autocast where it is not",
        |s| {
            let mixed = !matches!(s.recipe.precision, Precision::Fp32 | Precision::PureBf16);
            if mixed {
                s.recipe.precision = if shards(s) { Precision::Mixed } else { Precision::Autocast };
            }
            s.recipe.gradients = GradientType::Half;
        },
    );
    run.change("torchtitan’s tensor parallelism comes with sequence parallelism", |s| {
        if s.cluster.tensor_parallel > 1 {
            s.cluster.sequence_parallel = Switch::On;
        }
    });
    run.change("torchtitan’s attention is PyTorch’s, without scores in memory", |s| {
        s.recipe.attention = AttentionKernel::Flash;
    });
    if run.now().recipe.recomputation == Recomputation::EveryK {
        run.change("torchtitan recomputes layers one by one", |s| s.recipe.recomputation = Recomputation::Full);
    } else if run.now().recipe.recomputation != Recomputation::Operators {
        run.recomputes_layers_only(PROGRAM);
    }
    run.keeps_activations_on_the_gpu(PROGRAM);
    run.change("torchtitan has Adam and AdamW: AdamW stands in", |s| s.recipe.optimizer = Optimizer::AdamW);
    run.change("torchtitan 0.2 computes plain cross-entropy", |s| s.recipe.loss = LossHead::Plain);
    run.change("torchtitan’s models have no dropout", |s| s.recipe.dropout = Switch::Off);
    run.change("torchtitan has no adapters: every weight is trained", |s| s.recipe.adapter = Adapter::None);
    run.change("torchtitan offloads with FSDP only", |s| {
        if !shards(s) {
            s.recipe.offload = Offload::None;
        }
    });
    if run.now().recipe.offload != Offload::None {
        run.differs(
            "torchtitan takes parameters and gradients to the host with the optimizer state: the GPU holds less than \
             the prediction says, and every layer crosses the link in each pass.",
        );
    }
}

fn settings(now: &Scenario, planned: &super::run::Planned) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut push = |table: &'static str, key: &'static str, value: String, flag: String| {
        settings.push(Setting { table, key, value, flag });
    };
    let implementation = match now.recipe.step {
        StepKernel::Fused => "fused",
        StepKernel::Foreach => "foreach",
        StepKernel::Loop => "for-loop",
    };
    push("optimizer", "name", quoted("AdamW"), String::new());
    push("optimizer", "implementation", quoted(implementation), format!("--optimizer.implementation {implementation}"));
    // A pipeline is given all micro-batches of a step at once and divides them itself.
    let staged = now.cluster.pipeline_parallel > 1;
    let local =
        if staged { u64::from(planned.micro_batch) * u64::from(planned.steps) } else { u64::from(planned.micro_batch) };
    let mut number = |table: &'static str, key: &'static str, value: u64| {
        push(table, key, value.to_string(), format!("--{table}.{key} {value}"));
    };
    number("training", "local_batch_size", local);
    number("training", "global_batch_size", planned.global_batch);
    number("training", "seq_len", now.recipe.sequence.into());
    let (dtype, compute) = match now.recipe.precision {
        Precision::Fp32 => ("float32", "float32"),
        Precision::PureBf16 => ("bfloat16", "bfloat16"),
        _ => ("float32", "bfloat16"),
    };
    for (key, value) in [("dtype", dtype), ("mixed_precision_param", compute)] {
        push("training", key, quoted(value), format!("--training.{key} {value}"));
    }
    if now.recipe.offload != Offload::None {
        push("training", "enable_cpu_offload", "true".to_owned(), "--training.enable_cpu_offload".to_owned());
    }
    let sharded = shards(now);
    let (replicate, shard) = if sharded { (1, planned.data_parallel) } else { (planned.data_parallel, 1) };
    let mut number = |key: &'static str, value: u32| {
        push("parallelism", key, value.to_string(), format!("--parallelism.{key} {value}"));
    };
    number("data_parallel_replicate_degree", replicate);
    number("data_parallel_shard_degree", shard);
    number("tensor_parallel_degree", now.cluster.tensor_parallel);
    number("pipeline_parallel_degree", now.cluster.pipeline_parallel);
    number("context_parallel_degree", now.cluster.context_parallel);
    number("expert_parallel_degree", now.cluster.expert_parallel);
    if staged {
        number("pipeline_parallel_microbatch_size", planned.micro_batch);
    }
    let reshard = if now.cluster.zero == ZeroStage::Stage3 { "always" } else { "never" };
    if sharded {
        push(
            "parallelism",
            "fsdp_reshard_after_forward",
            quoted(reshard),
            format!("--parallelism.fsdp_reshard_after_forward {reshard}"),
        );
    }
    let mode = match now.recipe.recomputation {
        Recomputation::None => "none",
        Recomputation::Operators => "selective",
        _ => "full",
    };
    push("activation_checkpoint", "mode", quoted(mode), String::new());
    if mode == "selective" {
        push("activation_checkpoint", "selective_ac_option", quoted("op"), String::new());
    }
    let compiled = now.recipe.kernels == Kernels::Fused;
    let flag = if compiled { "--compile.enable" } else { "--compile.no-enable" };
    push("compile", "enable", compiled.to_string(), flag.to_owned());
    settings
}

/// The rows of the catalogue that torchtitan has a flavour for.
#[cfg(test)]
pub(super) fn slugs() -> impl Iterator<Item = &'static str> {
    FLAVORS.iter().map(|flavor| flavor.slug)
}
