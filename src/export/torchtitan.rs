//! A torchtitan job configuration, TOML, and the same as flags.
//!
//! torchtitan read TOML until version 0.2 and reads flags over a Python registry since 0.3, so that the
//! file has the tables of 0.2.2 (`config/job_config.py`) and, in a comment, the flags of 0.3.0
//! (`config/configs.py`). The two versions do not run the same: 0.3 computes the loss chunk by chunk
//! with its head and recomputes no single layers. Each has a plan of its own, and both are checked.

use super::Card;
use super::run::{Planned, Resharding, Run, resharding, shards, sharing, stage_layers};
use super::text::{EXPANDABLE, commented, expandable, quoted};
use crate::read::Format;
use crate::{
    Adapter, AttentionKernel, Engine, GradientType, Kernels, LossHead, Model, Offload, Optimizer, Precision,
    Recomputation, Scenario, StepKernel, Switch, ZeroStage, catalogue,
};

const PROGRAM: &str = "torchtitan";

/// The versions that a file is for.
#[derive(Clone, Copy, PartialEq)]
enum Version {
    /// 0.2, which reads TOML.
    Toml,
    /// 0.3, which reads flags.
    Flags,
}

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

pub(super) const CARD: Card = Card {
    key: "torchtitan",
    name: "torchtitan",
    file_name: "torchtitan.toml",
    media_type: "application/toml",
    describe: "A job configuration of torchtitan.",
    readers: &[Format::Torchtitan],
};

pub(super) fn write(scenario: &Scenario, page: &str) -> String {
    let run = run(scenario, Version::Toml);
    let now = *run.now();
    let known = flavor(&now);
    let mut text = commented(&run.head(page, "torchtitan 0.2.2"), "#");
    text.push_str(&flags(scenario, page));
    text.push_str(&format!(
        "\n[model]\nname = {}\nflavor = {}\n",
        quoted(known.map_or("llama3", |known| known.name)),
        quoted(known.map_or("bmax", |known| known.flavor))
    ));
    let mut table = "";
    for setting in settings(&now, &run.plan(), Version::Toml) {
        if setting.table != table {
            table = setting.table;
            text.push_str(&format!("\n[{table}]\n"));
        }
        text.push_str(&format!("{} = {}\n", setting.key, setting.value));
    }
    text
}

/// The scenario as a version runs it.
fn run(scenario: &Scenario, version: Version) -> Run {
    let mut run = Run::new(scenario);
    adapt(&mut run, version);
    let now = *run.now();
    if flavor(&now).is_none() {
        run.elsewhere(format!(
            "The model: torchtitan has no flavour of these sizes. Register one called “bmax” with {}.",
            sizes(&now.model)
        ));
    }
    if now.cluster.gpus == 1 && now.recipe.precision == Precision::Mixed {
        run.elsewhere("One GPU: torchtitan computes under autocast.");
    }
    run.elsewhere(if expandable(&now) {
        format!("Expandable segments: run_train.sh sets {EXPANDABLE}; torchrun alone does not.")
    } else {
        format!("Segments that do not grow: start torchrun yourself, because run_train.sh sets {EXPANDABLE}.")
    });
    run.routing();
    run
}

/// The flags of 0.3 as a comment, with their own plan.
fn flags(scenario: &Scenario, page: &str) -> String {
    let run = run(scenario, Version::Flags);
    let now = *run.now();
    let mut flags: Vec<String> = settings(&now, &run.plan(), Version::Flags)
        .into_iter()
        .filter_map(|setting| (!setting.flag.is_empty()).then_some(setting.flag))
        .collect();
    let (module, config) = match flavor(&now) {
        Some(Flavor { name, registry: Some(registry), .. }) => (*name, *registry),
        Some(Flavor { name, .. }) => (*name, "your_config"),
        None => ("your_module", "your_config"),
    };
    flags.insert(0, format!("--module {module} --config {config}"));
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
    let mut lines = vec![
        String::new(),
        "torchtitan 0.3 and later read flags instead of TOML, and run another scenario:".to_owned(),
        String::new(),
    ];
    lines.extend(run.plan_told(page, "torchtitan 0.3.0", "command"));
    lines.push(String::new());
    let last = flags.len() - 1;
    for (position, flag) in flags.iter().enumerate() {
        lines.push(format!("  {flag}{}", if position == last { "" } else { " \\" }));
    }
    commented(&lines, "#")
}

fn sizes(model: &Model) -> String {
    format!(
        "dim = {}, n_layers = {}, n_heads = {}, n_kv_heads = {}, head width {}, feed-forward width {}, vocab_size = {}",
        model.hidden, model.layers, model.heads, model.kv_heads, model.head_dim, model.feed_forward, model.vocabulary
    )
}

fn adapt(run: &mut Run, version: Version) {
    run.carried_out_by(Engine::Torchtitan);
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
    // `mixed_precision_param` in torchtitan/config/job_config.py is bfloat16 or float32, and there is no loss scaling.
    run.keeps_bf16();
    run.change("torchtitan’s tensor parallelism comes with sequence parallelism", |s| {
        if s.cluster.tensor_parallel > 1 {
            s.cluster.sequence_parallel = Switch::On;
        }
    });
    run.change("torchtitan’s attention is PyTorch’s, without scores in memory", |s| {
        s.recipe.attention = AttentionKernel::Flash;
    });
    if version == Version::Toml {
        run.recomputes_kth_layers(PROGRAM);
    }
    match (run.now().recipe.recomputation, version) {
        (Recomputation::Operators, _) | (Recomputation::KthLayer, Version::Toml) => {}
        (Recomputation::EveryK, _) => run.change("torchtitan recomputes layers one by one", |s| {
            s.recipe.recomputation = Recomputation::Full;
        }),
        (Recomputation::Block | Recomputation::KthLayer, _) => {
            run.change("torchtitan 0.3 recomputes every layer or single operations: every layer here", |s| {
                s.recipe.recomputation = Recomputation::Full;
            });
        }
        _ => run.recomputes_layers_only(PROGRAM),
    }
    run.keeps_activations_on_the_gpu(PROGRAM);
    run.change("torchtitan has Adam and AdamW: AdamW stands in", |s| s.recipe.optimizer = Optimizer::AdamW);
    match version {
        Version::Toml => run.change("torchtitan 0.2 computes plain cross-entropy", |s| s.recipe.loss = LossHead::Plain),
        Version::Flags => {
            run.change("torchtitan 0.3’s configurations compute the loss chunk by chunk, with its head", |s| {
                s.recipe.loss = LossHead::ChunkedHead;
            });
            let own = run.now().recipe.sequence.div_ceil(run.now().cluster.context_parallel.max(1));
            let most = (1..=run.now().recipe.chunks.min(own)).rev().find(|chunks| own.is_multiple_of(*chunks));
            run.change(&format!("{own} tokens have to divide into chunks of the same length"), |s| {
                s.recipe.chunks = most.unwrap_or(1);
            });
        }
    }
    if run.now().cluster.pipeline_parallel > 1 {
        if stage_layers(run.now()).is_none() {
            run.with_even_stages("the layers of the first and the last stage leave the others none or too many");
        }
        if chunk_layers(run.now()).contains(&0) {
            run.without_interleaving("there are fewer layers than chunks, so that torchtitan");
        }
    }
    run.stages_have_layers(PROGRAM);
    run.lets_go_of_logits("torchtitan’s loop deletes the logits before the backward pass");
    run.reshards_to_no_group(PROGRAM);
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

fn settings(now: &Scenario, planned: &Planned, version: Version) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut push = |table: &'static str, key: &'static str, value: String, flag: String| {
        settings.push(Setting { table, key, value, flag });
    };
    let implementation = match now.recipe.step {
        StepKernel::Fused => "fused",
        StepKernel::Foreach => "foreach",
        StepKernel::Loop | StepKernel::InBackward => "for-loop",
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
        for Setting { table, key, value, flag } in stages(now, version) {
            push(table, key, value, flag);
        }
    }
    let reshard = if resharding(now) == Resharding::All { "always" } else { "never" };
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
        Recomputation::Operators | Recomputation::KthLayer => "selective",
        _ => "full",
    };
    push("activation_checkpoint", "mode", quoted(mode), String::new());
    if mode == "selective" {
        // The layers that K divides are computed again, each by itself.
        let every = now.recipe.every.to_string();
        let option = if now.recipe.recomputation == Recomputation::KthLayer { every.as_str() } else { "op" };
        push("activation_checkpoint", "selective_ac_option", quoted(option), String::new());
    }
    if version == Version::Flags {
        let chunks = now.recipe.chunks;
        push("loss", "num_chunks", chunks.to_string(), format!("--loss.num_chunks {chunks}"));
    }
    let compiled = now.recipe.kernels == Kernels::Fused;
    let flag = if compiled { "--compile.enable" } else { "--compile.no-enable" };
    push("compile", "enable", compiled.to_string(), flag.to_owned());
    settings
}

/// The schedule, and how the layers are divided into its chunks. torchtitan can take layers off the first
/// and the last chunk, for embedding and head; any other division is a list of the modules of each.
fn stages(now: &Scenario, version: Version) -> Vec<Setting> {
    let setting = |key, value: String, flag: &str| Setting {
        table: "parallelism",
        key,
        value,
        flag: format!("--parallelism.{key} {flag}"),
    };
    let number = |key, value: u32| setting(key, value.to_string(), &value.to_string());
    let schedule = if now.cluster.virtual_stages > 1 { "Interleaved1F1B" } else { "1F1B" };
    let mut settings = vec![setting("pipeline_parallel_schedule", quoted(schedule), schedule)];
    let chunks = chunk_layers(now);
    if let Some((first, last, each)) = less_layers(&chunks, now.cluster.virtual_stages > 1) {
        settings.push(number("pipeline_parallel_first_stage_less_layers", first));
        settings.push(number("pipeline_parallel_last_stage_less_layers", last));
        if now.cluster.virtual_stages > 1 {
            settings.push(number("pipeline_parallel_layers_per_stage", each));
        }
        return settings;
    }
    let mut next = 0;
    let mut modules: Vec<Vec<String>> = Vec::with_capacity(chunks.len());
    for layers in chunks {
        modules.push((next..next + layers).map(|layer| format!("layers.{layer}")).collect());
        next += layers;
    }
    if let Some(first) = modules.first_mut() {
        first.insert(0, "tok_embeddings".to_owned());
    }
    if let Some(last) = modules.last_mut() {
        last.extend(["norm".to_owned(), if version == Version::Toml { "output" } else { "lm_head" }.to_owned()]);
    }
    let line = |names: &Vec<String>| names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    let lists: String = modules.iter().map(|names| format!("    [{}],\n", line(names))).collect();
    let flag: Vec<String> = modules.iter().map(|names| names.join(",")).collect();
    settings.push(setting("module_fqns_per_model_part", format!("[\n{lists}]"), &flag.join(" ")));
    settings
}

/// Layers of every chunk, in the order of the model: chunks go round the stages.
fn chunk_layers(now: &Scenario) -> Vec<u32> {
    let chunks = now.cluster.virtual_stages;
    let stages = stage_layers(now).unwrap_or_default();
    let share = |layers: u32, chunk: u32| layers / chunks + u32::from(chunk < layers % chunks);
    (0..chunks).flat_map(|chunk| stages.iter().map(move |layers| share(*layers, chunk))).collect()
}

/// Layers that torchtitan has to take off the first and the last of these chunks to come to them, and what
/// it then counts for each; none where it comes to other chunks or refuses
/// (`generate_llm_fqn_per_model_part` in distributed/pipeline_parallel.py, 0.2.2).
fn less_layers(chunks: &[u32], interleaved: bool) -> Option<(u32, u32, u32)> {
    let (first, last, most) = (*chunks.first()?, *chunks.last()?, *chunks.iter().max()?);
    let number = chunks.len() as u32;
    let layers: u32 = chunks.iter().sum();
    [(0, 0), (most - first, most - last)].into_iter().find_map(|(less_first, less_last)| {
        let counted = layers + less_first + less_last;
        let (least, over) = (counted / number, counted % number);
        let mut sizes: Vec<u32> = (0..number).map(|position| least + u32::from(position < over)).collect();
        *sizes.first_mut()? -= less_first.min(least);
        *sizes.last_mut()? -= less_last.min(least);
        let each = counted.div_ceil(number);
        // Both must be within the smallest chunk, and how many chunks a stage has is found by dividing.
        let taken = less_first <= least && less_last <= least;
        let found = !interleaved || counted.div_ceil(each) == number;
        (taken && found && sizes == chunks).then_some((less_first, less_last, each))
    })
}

/// The rows of the catalogue that torchtitan has a flavour for.
#[cfg(test)]
pub(super) fn slugs() -> impl Iterator<Item = &'static str> {
    FLAVORS.iter().map(|flavor| flavor.slug)
}
