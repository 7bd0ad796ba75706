//! What each folded group comes to at present, in a few words; the sentences stand in the page.

use bmax::{Adapter, Choice, Engine, Scenario};

use crate::site::{Live, format};

pub fn draw(live: &Live, scenario: &Scenario) {
    let Scenario { model, device, cluster, recipe, .. } = scenario;
    live.write("architecture", &[model.layers, model.hidden, model.heads].map(format::count));
    let experts = [model.experts.count, model.experts.active].map(format::count);
    live.say("experts", if model.experts.count == 0 { "none" } else { "some" }, &experts);
    let rank = model.latent.kv_rank;
    live.say("latent", if rank == 0 { "none" } else { "some" }, &[format::count(rank)]);
    live.text("parallelism", &parallelism(scenario));
    // Transformer Engine has a workspace of its own beside that of cuBLAS.
    let workspaces = if cluster.engine == Engine::Megatron { 2 } else { 1 };
    let gib = device.context_gib + f64::from(device.driver_mib + workspaces * device.workspace_mib) / 1024.0;
    let communication = if cluster.gpus > 1 { device.communication_gib } else { 0.0 };
    live.write("outside", &[gib + communication, device.fragmentation.get()].map(format::input));
    let steps = format::counted(recipe.micro_batches, "micro-batch", "micro-batches");
    live.write("details", &[steps, recipe.gradients.label().to_owned()]);
    let adapter = [recipe.adapter.label().to_owned(), format::count(recipe.rank)];
    live.say("adapters", if recipe.adapter == Adapter::None { "none" } else { "some" }, &adapter);
}

/// The ways the work is divided, each with its size.
fn parallelism(scenario: &Scenario) -> String {
    let cluster = &scenario.cluster;
    let parts = [
        (cluster.data_parallel(), " data"),
        (cluster.tensor_parallel, " tensor"),
        (cluster.pipeline_parallel, " pipeline"),
        (cluster.context_parallel, " context"),
    ];
    let divided = parts.into_iter().filter(|(size, _)| *size > 1);
    let words: Vec<String> = divided.map(|(size, name)| format::count(size) + name).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(" × ") }
}
