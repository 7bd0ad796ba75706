//! What each folded group comes to at present, in a few words; the sentences stand in the page.

use bmax::{Adapter, AdapterType, Choice, Engine, GradientType, Precision, Recipe, Scenario};

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
    let workspaces = if cluster.engine == Engine::Megatron { 2.0 } else { 1.0 };
    let gib = device.cuda_context.gib() + device.driver.gib() + workspaces * device.workspace.gib();
    let communication = if cluster.gpus > 1 { device.communication.gib() } else { 0.0 };
    live.write("outside", &[gib + communication, device.fragmentation.get()].map(format::input));
    let steps = format::counted(recipe.micro_batches, "micro-batch", "micro-batches");
    live.write("details", &[steps, gradients(recipe).label().to_owned()]);
    let adapter = [recipe.adapter.label().to_owned(), format::count(recipe.rank)];
    live.say("adapters", if recipe.adapter == Adapter::None { "none" } else { "some" }, &adapter);
}

/// In what gradients are, which is a choice only beside 16-bit weights or adapters.
fn gradients(recipe: &Recipe) -> GradientType {
    let over_fp32 = matches!(recipe.precision, Precision::Mixed | Precision::Autocast);
    match (recipe.adapter, recipe.adapter_type) {
        _ if recipe.precision == Precision::Fp32 => GradientType::Full,
        (Adapter::None, _) if over_fp32 => GradientType::Full,
        (Adapter::None, _) => recipe.gradients,
        (_, AdapterType::Full) => GradientType::Full,
        (_, AdapterType::Half) if over_fp32 => GradientType::Half,
        (_, AdapterType::Half) => recipe.gradients,
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::{Bucket, estimate};

    #[test]
    fn gradients_are_told_in_the_type_that_the_ledger_counts() {
        for &precision in Precision::ALL {
            for &adapter in Adapter::ALL {
                for &kept in AdapterType::ALL {
                    for &chosen in GradientType::ALL {
                        let mut scenario = Scenario::default();
                        let recipe = &mut scenario.recipe;
                        (recipe.precision, recipe.adapter) = (precision, adapter);
                        (recipe.adapter_type, recipe.gradients) = (kept, chosen);
                        let entries = estimate(&scenario).entries;
                        let counted = entries.iter().find(|entry| entry.bucket == Bucket::Gradients);
                        let bytes = counted.expect("something is trained").coefficient;
                        let told = gradients(&scenario.recipe);
                        assert_eq!(told == GradientType::Full, bytes >= 4.0, "{:?}: {bytes}", scenario.recipe);
                    }
                }
            }
        }
    }
}
