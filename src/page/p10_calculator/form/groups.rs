//! Which inputs stand together.

use bmax::{Field, setting};

use super::input::Input::{self, Number, Word};

/// Inputs in one place of the page.
pub struct Group {
    /// The place, by its name there.
    pub key: &'static str,
    pub inputs: &'static [Input],
}

/// The network, beside the picker of models; then the devices, the division of work, and what is no
/// tensor; then the training, and what fewer enter about it.
pub static GROUPS: &[Group] = &[
    Group {
        key: "architecture",
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
        key: "experts",
        inputs: &[
            Number(Field::Experts),
            Number(Field::ActiveExperts),
            Number(Field::ExpertWidth),
            Number(Field::SharedWidth),
            Number(Field::DenseLayers),
        ],
    },
    Group { key: "latent", inputs: &[Number(Field::KvRank), Number(Field::QueryRank), Number(Field::RopeDim)] },
    Group { key: "device", inputs: &[Number(Field::Memory), Number(Field::Gpus), Word(&setting::ZERO)] },
    Group {
        key: "parallelism",
        inputs: &[
            Number(Field::TensorParallel),
            Word(&setting::SEQUENCE_PARALLEL),
            Number(Field::PipelineParallel),
            Number(Field::ContextParallel),
            Number(Field::ExpertParallel),
        ],
    },
    Group {
        key: "outside",
        inputs: &[
            Number(Field::Driver),
            Number(Field::Context),
            Number(Field::Communication),
            Number(Field::Fragmentation),
            Number(Field::Headroom),
        ],
    },
    Group {
        key: "training",
        inputs: &[
            Number(Field::Sequence),
            Number(Field::Batch),
            Word(&setting::PRECISION),
            Word(&setting::OPTIMIZER),
            Word(&setting::RECOMPUTATION),
            Number(Field::Every),
            Word(&setting::ATTENTION),
            Word(&setting::LOSS),
            Number(Field::Chunks),
        ],
    },
    Group {
        key: "details",
        inputs: &[
            Number(Field::MicroBatches),
            Word(&setting::GRADIENTS),
            Word(&setting::STEP),
            Word(&setting::KERNELS),
            Word(&setting::OFFLOAD),
            Word(&setting::DROPOUT),
        ],
    },
    Group { key: "adapters", inputs: &[Word(&setting::ADAPTER), Number(Field::Rank), Word(&setting::TARGETS)] },
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
        let mut here: Vec<_> = GROUPS.iter().flat_map(|group| group.inputs).map(key).collect();
        // The method is a switch of its own; the planner and the chart have these.
        here.extend(["method", "target", "unit", "chart_gpus", "chart_recompute"]);
        let mut all: Vec<_> = Field::ALL.iter().map(|field| field.bound().key).collect();
        all.extend(setting::ALL.iter().map(|word| word.key));
        here.sort_unstable();
        all.sort_unstable();
        assert_eq!(here, all);
    }

    #[test]
    fn every_group_has_its_place_in_the_page() {
        for group in GROUPS {
            let place = format!("data-part=\"{}\"", group.key);
            assert!(include_str!("../prose.html").contains(&place), "{place}");
        }
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
