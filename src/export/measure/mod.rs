//! “Measure it on your GPU”: a PyTorch script that builds the model from its dimensions, trains two
//! steps and prints the allocator's counters beside the prediction.
//!
//! One GPU cannot run the shards of several, so that the script measures a scenario of its own: the same
//! model and recipe on one GPU that holds everything, with the largest micro-batch up to the plan's that
//! fits there, and with fewer layers where even one sequence does not fit. The prediction in the script,
//! and the link at its head, are those of that scenario. Where data parallelism is all that the scenario
//! divides by, the script runs under torchrun, too, with FSDP or DDP and the scenario's own prediction.

use super::Card;
use super::run::{self, Planned, Run, planned};
use super::text::{EXPANDABLE, Spelling, Value, commented, expandable, half_type, quoted, wrap};
use crate::{
    Adapter, Choice, Engine, ExpertMatrices, LossHead, Mlp, Norm, Position, Precision, Recomputation, Scenario,
    StepKernel, Switch, ZeroStage, counters, estimate, largest_micro_batch, search,
};

/// The script around the scenario.
const TEMPLATE: &str = include_str!("template.py");

/// What the script measures.
struct Alone {
    /// On one GPU, at the micro-batch to measure.
    scenario: Scenario,
    /// Whether layers were left out.
    shortened: bool,
}

/// LayerNorm spelt out in fp32, as in Cohere's models, which no other model has.
const LAYER_NORM: &str = r#"        if self.kind == "layernorm-fp32":
            mean = wide.mean(-1, keepdim=True)
            variance = (wide - mean).pow(2).mean(-1, keepdim=True)
            wide = (wide - mean) * torch.rsqrt(variance + 1e-5)
            return (self.weight.float() * wide).to(x.dtype)
"#;

pub(super) const CARD: Card = Card {
    key: "measure",
    name: "Measure it",
    file_name: "bmax_measure.py",
    media_type: "text/x-python",
    describe: "A PyTorch script that builds this model, trains two steps and prints the measured peak beside the prediction.",
    readers: &[],
};

pub(super) fn write(scenario: &Scenario, page: &str) -> String {
    let mut run = Run::new(scenario);
    adapt(&mut run);
    let scenario = run.now();
    let plan = planned(scenario);
    let alone = alone(scenario, &plan);
    let head = commented(&head(&run, &plan, &alone, page), "#");
    let body = TEMPLATE
        .replacen("@@ALLOCATOR@@", &allocator(scenario), 1)
        .replacen("@@LAYERNORM@@", if scenario.model.norm == Norm::LayerNormFull { LAYER_NORM } else { "" }, 1)
        .replacen("@@SCENARIO@@", &described(&alone.scenario, &name(scenario, &alone)).pretty(Spelling::Python, 0), 1)
        .replacen("@@PREDICTED@@", &predictions(&alone.scenario, "    "), 1)
        .replacen("@@TOGETHER@@", &together(scenario, &plan), 1);
    format!("#!/usr/bin/env python3\n{head}\n{body}")
}

/// Takes away what the script does not do, on one GPU or on several.
fn adapt(run: &mut Run) {
    run.carried_out_by(Engine::Torch);
    if run.now().model.experts.count > 0 {
        run.change("every GPU of this script holds all experts, whose load together is even", |s| {
            s.recipe.imbalance = 1.0;
        });
        run.change("the experts of this script are linear layers", |s| {
            if s.recipe.adapter != Adapter::None {
                s.recipe.expert_matrices = ExpertMatrices::Linear;
            }
        });
    }
    run.change("the script has no loss in tiles: Liger’s fused cross-entropy stands in", |s| {
        if s.recipe.loss == LossHead::Tiled {
            s.recipe.loss = LossHead::Fused;
        }
    });
    run.computes_under_autocast("frozen fp32 weights compute in 16 bits under autocast");
    let shares = run::sharing(run.now());
    if divides(run.now())
        && let run::Resharding::Group(group) = run::resharding(run.now())
    {
        let nearest = (2..=group).rev().find(|size| shares.is_multiple_of(*size)).unwrap_or(0);
        run.change(&format!("FSDP’s groups have to divide its {shares} GPUs evenly"), |s| {
            s.cluster.reshard = nearest
        });
    }
}

/// The lines that make the allocator's segments grow, where they do.
fn allocator(scenario: &Scenario) -> String {
    match EXPANDABLE.split_once('=') {
        Some((name, value)) if expandable(scenario) => format!(
            "# PyTorch’s allocator reads this when it starts.\nos.environ[{}] = {}\n\n",
            quoted(name),
            quoted(value)
        ),
        _ => String::new(),
    }
}

/// The scenario on one GPU that holds everything.
fn on_one_gpu(scenario: &Scenario) -> Scenario {
    let mut one = *scenario;
    // What each chunk of each stage recomputes is done here for all of them.
    let chunks = one.cluster.pipeline_parallel.saturating_mul(one.cluster.virtual_stages);
    if one.cluster.pipeline_parallel > 1 {
        one.recipe.recomputed_layers = one.recipe.recomputed_layers.saturating_mul(chunks).clamp(1, one.model.layers);
    }
    run::one_stage(&mut one.cluster);
    one.cluster.gpus = 1;
    one.cluster.zero = ZeroStage::Stage0;
    one.cluster.reshard = 0;
    one.cluster.tensor_parallel = 1;
    one.cluster.context_parallel = 1;
    one.cluster.expert_parallel = 1;
    one.cluster.sequence_parallel = Switch::Off;
    one
}

/// Two micro-batches stand for many: the second finds the gradients of the first.
fn accumulating(scenario: &Scenario, plan: &Planned) -> Scenario {
    let mut at = *scenario;
    at.recipe.micro_batches = plan.steps.min(2);
    at
}

/// Layers with which a shortened model still is a stack of layers.
const TELLING_LAYERS: u32 = 4;

fn alone(scenario: &Scenario, plan: &Planned) -> Alone {
    let one = accumulating(&on_one_gpu(scenario), plan);
    if let Some(most) = largest_micro_batch(&one) {
        return Alone { scenario: one.with_batch(plan.micro_batch.min(most)), shortened: false };
    }
    // As many layers as fit. One layer says little about a model, so that the micro-batch gives way before
    // the layers do; one layer if nothing fits, so that the script can still say so.
    let most = |batch: u32| {
        let fits = |layers: u32| estimate(&with_layers(&one, layers).with_batch(batch)).fits();
        search::largest(one.model.layers, 1, fits)
    };
    let mut batch = plan.micro_batch;
    loop {
        let layers = most(batch);
        if layers >= one.model.layers.min(TELLING_LAYERS) || batch == 1 && layers > 0 {
            return Alone { scenario: with_layers(&one, layers).with_batch(batch), shortened: true };
        }
        if batch == 1 {
            break;
        }
        batch /= 2;
    }
    Alone { scenario: with_layers(&one, 1).with_batch(1), shortened: one.model.layers > 1 }
}

fn with_layers(scenario: &Scenario, layers: u32) -> Scenario {
    let mut at = *scenario;
    at.model.layers = layers.max(1);
    at.model.experts.dense_layers = at.model.experts.dense_layers.min(at.model.layers);
    at.recipe.every = at.recipe.every.min(at.model.layers).max(1);
    // The same part of the layers, rounded up.
    let part = u64::from(at.recipe.recomputed_layers) * u64::from(at.model.layers);
    at.recipe.recomputed_layers = part.div_ceil(scenario.model.layers.max(1).into()) as u32;
    at
}

fn head(run: &Run, plan: &Planned, alone: &Alone, page: &str) -> Vec<String> {
    let scenario = run.now();
    let mut lines = Vec::new();
    let mut say = |text: &str| lines.extend(wrap(text, "", ""));
    say(&format!("Peak memory of {}", run::subject(scenario)));
    let at = &alone.scenario;
    if !estimate(at).fits() {
        say("NOTHING FITS on one such GPU, not even one sequence of one layer: expect it to run out of memory.");
    }
    let shorter = if alone.shortened {
        format!(
            "{} of its {} layers, because all of them do not fit on one GPU",
            at.model.layers, scenario.model.layers
        )
    } else {
        "all its layers".to_owned()
    };
    let accumulated = if at.recipe.micro_batches > 1 { ", two micro-batches a step, which stand for more" } else { "" };
    say(&format!(
        "python bmax_measure.py measures a scenario of its own: one GPU that holds everything, {shorter}, micro-batch \
         {}{accumulated}. That is:",
        at.recipe.batch
    ));
    lines.push(run::address(page, at));
    let mut say = |text: &str| lines.extend(wrap(text, "", ""));
    if divides(scenario) && plan.fits {
        say(&format!(
            "torchrun --nproc_per_node {} bmax_measure.py measures all GPUs of the scenario together, with {}, \
             micro-batch {}. That is:",
            run::machines(plan.world).1,
            if scenario.cluster.zero == ZeroStage::Stage0 { "DDP" } else { "FSDP2" },
            plan.micro_batch
        ));
        lines.push(run::address(page, &accumulating(&plan.scenario, plan)));
    } else if !divides(scenario) && scenario.cluster.gpus > 1 {
        say("Tensor, pipeline, context and expert parallelism and ZeRO 1 are not divided by this script.");
    }
    let mut say = |text: &str| lines.extend(wrap(text, "", ""));
    say("It needs PyTorch 2.9 or newer and nothing else, downloads nothing and sends nothing. \
         --device cpu --tiny tries it without a GPU.");
    if !run.changes().is_empty() {
        let gpus = crate::format::counted(scenario.cluster.gpus, "GPU", "GPUs");
        lines.extend(wrap(&format!("Not as asked, with peaks of the scenario on its {gpus}:"), "", ""));
    }
    for difference in run.changes() {
        lines.extend(wrap(&difference, "- ", "  "));
    }
    let differences = differences(at);
    if !differences.is_empty() {
        lines.push("What the script does otherwise than the prediction:".to_owned());
    }
    for difference in differences {
        lines.extend(wrap(difference, "- ", "  "));
    }
    lines
}

/// What the script does not do as the scenario says.
fn differences(scenario: &Scenario) -> Vec<&'static str> {
    let mut found = Vec::new();
    let recipe = &scenario.recipe;
    if recipe.step == StepKernel::Foreach && recipe.precision != Precision::PureBf16 {
        found.push("With a master copy the optimizer goes tensor by tensor, not over a list of all of them.");
    }
    if scenario.model.soft_cap.is_on() && recipe.attention == crate::AttentionKernel::Flash {
        found.push("Flash attention caps no scores here; the logits are capped.");
    }
    if recipe.recomputation == Recomputation::Operators {
        found.push("Every second product is counted over the whole model, not layer by layer.");
    }
    if scenario.model.experts.count > 0 {
        found.push("Each token’s experts are chosen by random weights: how many tokens meet in one expert varies.");
    }
    if scenario.model.position == Position::None {
        found.push("There are no positions: ALiBi’s biases are small and left out.");
    }
    if scenario.model.head_dim % 2 == 1 && scenario.model.position == Position::Rotary {
        found.push("Rotation needs an even head width; the script may refuse this one.");
    }
    found
}

/// Whether the script can divide the work as the scenario does.
fn divides(scenario: &Scenario) -> bool {
    let cluster = &scenario.cluster;
    cluster.group() == 1
        && cluster.expert_parallel == 1
        && cluster.gpus > 1
        && cluster.zero != ZeroStage::Stage1
        && scenario.recipe.adapter == Adapter::None
        // DDP counts a gradient once a step; this loss makes the head’s chunk by chunk.
        && !(cluster.zero == ZeroStage::Stage0 && scenario.recipe.loss == LossHead::ChunkedHead)
}

fn together(scenario: &Scenario, plan: &Planned) -> String {
    // Where nothing fits there is nothing to run.
    if !divides(scenario) || !plan.fits {
        return "None".to_owned();
    }
    let at = accumulating(&plan.scenario, plan);
    let changed = Value::Map(vec![
        ("zero", at.cluster.zero.key().into()),
        ("layers", at.model.layers.into()),
        ("dense_layers", at.model.experts.dense_layers.into()),
        ("every", at.recipe.every.into()),
        ("recompute_layers", at.recipe.recomputed_layers.into()),
        ("reshard", at.cluster.reshard.into()),
        ("micro_batch", at.recipe.batch.into()),
    ]);
    format!(
        "{{\n    \"gpus\": {},\n    \"scenario\": {},\n    \"predicted\": {{\n{}    }},\n}}",
        plan.world,
        changed.pretty(Spelling::Python, 1),
        predictions(&at, "        ")
    )
}

/// What the page predicts at the micro-batch, at half of it, at one sequence, and at the most that fits:
/// two of them tell the fixed part and the slope.
fn predictions(scenario: &Scenario, indent: &str) -> String {
    let own = scenario.recipe.batch;
    let mut batches = vec![1, 2, own / 2, own, own.saturating_add(1), largest_micro_batch(scenario).unwrap_or(1)];
    batches.retain(|batch| *batch > 0);
    batches.sort_unstable();
    batches.dedup();
    let row = |batch: u32| {
        let seen = counters(&scenario.with_batch(batch));
        // Whole bytes: more digits would say nothing.
        let whole = |bytes: crate::Bytes| Value::from(bytes.get().round()).pretty(Spelling::Python, 0);
        format!("{indent}{batch}: ({}, {}),\n", whole(seen.allocated), whole(seen.reserved))
    };
    batches.into_iter().map(row).collect()
}

/// What the script calls the model that it builds.
fn name(scenario: &Scenario, alone: &Alone) -> String {
    let name = run::model_name(scenario);
    if alone.shortened {
        format!("{name}, {} of its {} layers", alone.scenario.model.layers, scenario.model.layers)
    } else {
        name
    }
}

/// The scenario in the script's words.
fn described(scenario: &Scenario, name: &str) -> Value {
    let Scenario { model, recipe, cluster, .. } = scenario;
    let dense = model.experts.count == 0;
    let expert_width = if dense { 0 } else { model.expert_width() };
    Value::Map(vec![
        ("name", name.into()),
        ("hidden", model.hidden.into()),
        ("layers", model.layers.into()),
        ("heads", model.heads.into()),
        ("kv_heads", groups(model.heads, model.kv_heads).into()),
        ("head_dim", model.head_dim.into()),
        ("feed_forward", model.feed_forward.into()),
        ("vocabulary", model.vocabulary.into()),
        ("tied", model.tied_embeddings.is_on().into()),
        ("mlp", mlp(scenario).into()),
        ("norm", norm(model.norm).into()),
        ("norms", model.norms.into()),
        ("parallel", model.parallel.is_on().into()),
        ("qk_norm", model.qk_norm.key().into()),
        ("bias", model.bias.key().into()),
        ("soft_cap", model.soft_cap.is_on().into()),
        ("packing", model.packing.key().into()),
        ("softmax", model.softmax.key().into()),
        ("position", model.position.key().into()),
        ("positions", model.positions.into()),
        ("experts", model.experts.count.into()),
        ("active", model.experts.active.into()),
        ("expert_width", expert_width.into()),
        ("shared_width", model.experts.shared_width.into()),
        ("dense_layers", model.experts.dense_layers.into()),
        ("q_rank", model.latent.query_rank.into()),
        ("kv_rank", model.latent.kv_rank.into()),
        ("rope_dim", model.latent.rope_dim.into()),
        ("sequence", recipe.sequence.into()),
        ("micro_batch", recipe.batch.into()),
        ("micro_batches", recipe.micro_batches.into()),
        ("precision", recipe.precision.key().into()),
        ("half", half_type(scenario).into()),
        ("gradients", recipe.gradients.key().into()),
        ("optimizer", recipe.optimizer.key().into()),
        ("step", recipe.step.key().into()),
        ("recomputation", recipe.recomputation.key().into()),
        ("every", recipe.every.into()),
        ("recompute_layers", recipe.recomputed_layers.into()),
        ("dropout", if recipe.dropout.is_on() { 0.1.into() } else { 0.0.into() }),
        ("attention", recipe.attention.key().into()),
        ("loss", recipe.loss.key().into()),
        ("chunks", recipe.chunks.into()),
        ("logits", recipe.logits.key().into()),
        ("kernels", recipe.kernels.key().into()),
        ("offload_optimizer", recipe.offload.takes_optimizer().into()),
        ("offload_activations", recipe.offload.takes_activations().into()),
        ("adapter", recipe.adapter.key().into()),
        ("rank", recipe.rank.into()),
        ("targets", recipe.targets.key().into()),
        ("adapter_type", recipe.adapter_type.key().into()),
        ("adapter_dropout", recipe.adapter_dropout.is_on().into()),
        ("zero", cluster.zero.key().into()),
        ("reshard", cluster.reshard.into()),
    ])
}

/// Key/value heads that divide the query heads, as the code needs them.
fn groups(heads: u32, kv_heads: u32) -> u32 {
    if kv_heads > 0 && heads.is_multiple_of(kv_heads) { kv_heads } else { heads }
}

const fn mlp(scenario: &Scenario) -> &'static str {
    match scenario.model.mlp {
        Mlp::Gelu => "gelu",
        Mlp::Relu => "relu",
        Mlp::GeluTanh => "gelu-tanh",
        Mlp::Gated | Mlp::GatedGeluTanh => "gated",
    }
}

const fn norm(norm: Norm) -> &'static str {
    match norm {
        Norm::LayerNorm => "layernorm",
        Norm::RmsNorm => "rmsnorm",
        Norm::RmsNormFull => "rmsnorm-fp32",
        Norm::LayerNormFull => "layernorm-fp32",
        Norm::Plain => "plain",
    }
}
