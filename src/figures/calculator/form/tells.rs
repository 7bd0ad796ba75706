//! What each folded group comes to at present, in a few words.

use bmax::{Adapter, AdapterType, Choice, Engine, GradientType, Precision, Recipe, Scenario};

use crate::site::format;

/// What is left to say of the shape beside the numbers in sight.
pub fn architecture(scenario: &Scenario) -> String {
    let model = &scenario.model;
    let [vocabulary, inner] = [model.vocabulary, model.feed_forward].map(format::count);
    format!("{vocabulary} vocabulary entries, feed-forward width {inner}")
}

/// How many experts there are.
pub fn experts(scenario: &Scenario) -> String {
    let experts = &scenario.model.experts;
    match experts.count {
        0 => "none: a dense model".to_owned(),
        count => format!("{}, of which {} active", format::count(count), format::count(experts.active)),
    }
}

/// The rank of what keys and values are made of.
pub fn latent(scenario: &Scenario) -> String {
    match scenario.model.latent.kv_rank {
        0 => "none".to_owned(),
        rank => format!("rank {}", format::count(rank)),
    }
}

/// How many layers the encoder has, and how long its source is.
pub fn encoder(scenario: &Scenario) -> String {
    match scenario.model.encoder.layers {
        0 => "none".to_owned(),
        layers => {
            let layers = format::counted(layers, "layer", "layers");
            format!("{layers}, {}", format::counted(scenario.source(), "position", "positions"))
        }
    }
}

/// The ways the work is divided, each with its size.
pub fn parallelism(scenario: &Scenario) -> String {
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

/// What the driver, the libraries and the allocator take.
pub fn outside(scenario: &Scenario) -> String {
    let (device, cluster) = (&scenario.device, &scenario.cluster);
    // Transformer Engine has a workspace of its own beside that of cuBLAS.
    let workspaces = if cluster.engine == Engine::Megatron { 2.0 } else { 1.0 };
    let gib = device.cuda_context.gib() + device.driver.gib() + workspaces * device.workspace.gib();
    let communication = if cluster.gpus > 1 { device.communication.gib() } else { 0.0 };
    let [gib, percent] = [gib + communication, device.fragmentation.get()].map(format::input);
    format!("{gib} GiB and {percent} %")
}

/// How often gradients are added up, and in what.
pub fn details(scenario: &Scenario) -> String {
    let recipe = &scenario.recipe;
    let steps = format::counted(recipe.micro_batches, "micro-batch", "micro-batches");
    format!("{steps} per step, gradients in {}", gradients(recipe).label())
}

/// The adapters and their rank.
pub fn adapters(scenario: &Scenario) -> String {
    let recipe = &scenario.recipe;
    match recipe.adapter {
        Adapter::None => "none: all weights are trained".to_owned(),
        adapter => format!("{} of rank {}", adapter.label(), format::count(recipe.rank)),
    }
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
