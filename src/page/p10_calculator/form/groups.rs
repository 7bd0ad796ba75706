//! Which inputs stand together, and what a folded group says of itself.

use bmax::{Adapter, Choice, Field, Scenario, setting};

use super::input::Input::{self, Number, Word};
use crate::site::format;

/// Inputs under one summary.
pub struct Group {
    pub title: &'static str,
    /// What it comes to at present, in a few words.
    pub tells: fn(&Scenario) -> String,
    pub inputs: &'static [Input],
}

/// The network, beside the picker of models.
pub static MODEL: &[Group] = &[
    Group {
        title: "Architecture",
        tells: |scenario| {
            let model = &scenario.model;
            format!("{} layers of width {}, {} heads", model.layers, format::count(model.hidden), model.heads)
        },
        inputs: &[
            Number(Field::Parameters),
            Number(Field::Hidden),
            Number(Field::Layers),
            Number(Field::Heads),
            Number(Field::KvHeads),
            Number(Field::HeadDim),
            Number(Field::FeedForward),
            Number(Field::Vocabulary),
            Word(&setting::MLP),
            Word(&setting::TIED),
            Word(&setting::NORM),
            Number(Field::Norms),
            Word(&setting::QK_NORM),
            Word(&setting::BIAS),
            Word(&setting::POSITION),
            Number(Field::Positions),
            Word(&setting::SOFT_CAP),
        ],
    },
    Group {
        title: "Mixture of experts",
        tells: |scenario| match scenario.model.experts.count {
            0 => "none: a dense model".to_owned(),
            count => format!("{count}, of which {} active", scenario.model.experts.active),
        },
        inputs: &[
            Number(Field::Experts),
            Number(Field::ActiveExperts),
            Number(Field::ExpertWidth),
            Number(Field::SharedWidth),
            Number(Field::DenseLayers),
        ],
    },
    Group {
        title: "Latent attention",
        tells: |scenario| match scenario.model.latent.kv_rank {
            0 => "none".to_owned(),
            rank => format!("rank {}", format::count(rank)),
        },
        inputs: &[Number(Field::KvRank), Number(Field::QueryRank), Number(Field::RopeDim)],
    },
];

/// The sizes and kinds that make up the scenario's model, each with its name, without those that mean nothing to it.
pub fn described(scenario: &Scenario) -> Vec<(&'static str, String)> {
    let inputs = MODEL.iter().flat_map(|group| group.inputs);
    // The count of parameters, which the ledger does not read, is no part of the shape.
    let read = inputs.filter(|input| input.idle(scenario).is_empty());
    read.map(|input| (input.name(), input.value(scenario))).filter(|(_, value)| value != "0").collect()
}

/// What everybody enters about the devices.
pub static DEVICE: &[Input] = &[Number(Field::Memory), Number(Field::Gpus), Word(&setting::ZERO)];

/// The division of work, and what is no tensor.
pub static CLUSTER: &[Group] = &[
    Group {
        title: "Parallelism",
        tells: |scenario| {
            let cluster = &scenario.cluster;
            let parts = [
                (cluster.data_parallel(), "data"),
                (cluster.tensor_parallel, "tensor"),
                (cluster.pipeline_parallel, "pipeline"),
                (cluster.context_parallel, "context"),
            ];
            let mut text = String::new();
            for (size, name) in parts {
                if size > 1 {
                    text += &format!("{}{} {name}", if text.is_empty() { "" } else { " × " }, format::count(size));
                }
            }
            if text.is_empty() { "none".to_owned() } else { text }
        },
        inputs: &[
            Number(Field::TensorParallel),
            Word(&setting::SEQUENCE_PARALLEL),
            Number(Field::PipelineParallel),
            Number(Field::ContextParallel),
            Number(Field::ExpertParallel),
        ],
    },
    Group {
        title: "Memory outside the tensors",
        tells: |scenario| {
            let device = &scenario.device;
            let gib = device.context_gib + f64::from(device.driver_mib) / 1024.0;
            let communication = if scenario.cluster.gpus > 1 { device.communication_gib } else { 0.0 };
            format!("{} GiB and {} %", format::input(gib + communication), format::input(device.fragmentation.get()))
        },
        inputs: &[
            Number(Field::Driver),
            Number(Field::Context),
            Number(Field::Communication),
            Number(Field::Fragmentation),
            Number(Field::Headroom),
        ],
    },
];

/// What everybody enters about the training.
pub static TRAINING: &[Input] = &[
    Number(Field::Sequence),
    Number(Field::Batch),
    Word(&setting::PRECISION),
    Word(&setting::OPTIMIZER),
    Word(&setting::RECOMPUTATION),
    Number(Field::Every),
    Word(&setting::ATTENTION),
    Word(&setting::LOSS),
    Number(Field::Chunks),
];

/// What fewer do.
pub static RECIPE: &[Group] = &[
    Group {
        title: "Training details",
        tells: |scenario| {
            let recipe = &scenario.recipe;
            let steps = format::counted(recipe.micro_batches, "micro-batch", "micro-batches");
            format!("{steps} per step, gradients in {}", recipe.gradients.label())
        },
        inputs: &[
            Number(Field::MicroBatches),
            Word(&setting::GRADIENTS),
            Word(&setting::STEP),
            Word(&setting::KERNELS),
            Word(&setting::OFFLOAD),
            Word(&setting::DROPOUT),
        ],
    },
    Group {
        title: "Adapters: LoRA, QLoRA",
        tells: |scenario| match scenario.recipe.adapter {
            Adapter::None => "none: all weights are trained".to_owned(),
            adapter => format!("{} of rank {}", adapter.label(), scenario.recipe.rank),
        },
        inputs: &[Word(&setting::ADAPTER), Number(Field::Rank), Word(&setting::TARGETS)],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn key(input: &Input) -> &'static str {
        match input {
            Number(field) => field.bound().key,
            Word(word) => word.key,
        }
    }

    #[test]
    fn every_input_of_a_scenario_has_one_place() {
        let folded = [MODEL, CLUSTER, RECIPE].into_iter().flatten().flat_map(|group| group.inputs);
        let mut here: Vec<_> = DEVICE.iter().chain(TRAINING).chain(folded).map(key).collect();
        // The method is a switch of its own; the planner and the chart have these.
        here.extend(["method", "target", "unit", "chart_gpus", "chart_recompute"]);
        let mut all: Vec<_> = Field::ALL.iter().map(|field| field.bound().key).collect();
        all.extend(setting::ALL.iter().map(|word| word.key));
        here.sort_unstable();
        all.sort_unstable();
        assert_eq!(here, all);
    }

    #[test]
    fn no_changed_value_is_called_idle_where_it_changes_the_ledger() {
        use bmax::estimate;
        // Each of these starts scenarios in which more inputs matter.
        for query in [
            "",
            "?experts=8&active=2&kv_rank=512&q_rank=64&recompute=every-k&loss=chunked&position=learned&adapter=lora",
        ] {
            let start = bmax::link::decode(query).scenario;
            for &field in Field::ALL {
                let bound = field.bound();
                for value in [bound.min, (bound.min + bound.max) / 4.0, bound.max] {
                    let value = if bound.whole { value.floor() } else { value };
                    let changed = start.with_number(field, value).expect("in range");
                    if estimate(&changed).entries != estimate(&start).entries {
                        assert_eq!(Number(field).idle(&start), "", "{} at {query}", bound.name);
                    }
                }
            }
        }
    }
}
