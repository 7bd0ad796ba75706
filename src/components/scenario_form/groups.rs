//! Which inputs stand together.

use bmax::{Field, Scenario, setting};

use super::tells;
use bmax::compare::Input::{self, Number, Word};

/// Inputs that are folded away, under a summary that says what they come to.
pub struct Fold {
    /// What they are about.
    pub name: &'static str,
    /// What they come to at present, in a few words.
    pub tell: fn(&Scenario) -> String,
    /// The inputs.
    pub inputs: &'static [Input],
}

/// Inputs that stand together: those in sight, and those that are folded away.
pub struct Group {
    /// What they are about.
    pub name: &'static str,
    /// The inputs in sight.
    pub inputs: &'static [Input],
    /// The others.
    pub folds: &'static [Fold],
}

impl Group {
    /// Every input of it.
    pub fn all(&self) -> impl Iterator<Item = Input> {
        self.inputs.iter().chain(self.folds.iter().flat_map(|fold| fold.inputs)).copied()
    }
}

/// The model, beside its field of the catalogue: the numbers that the workshop asks for in sight.
pub static MODEL: Group = Group {
    name: "Model",
    inputs: &[Number(Field::Parameters), Number(Field::Hidden), Number(Field::Layers), Number(Field::Heads)],
    folds: &[
        Fold {
            name: "More of the architecture",
            tell: tells::architecture,
            inputs: &[
                Number(Field::KvHeads),
                Number(Field::HeadDim),
                Number(Field::FeedForward),
                Number(Field::Vocabulary),
                Word(&setting::MLP),
                Word(&setting::TIED),
                Word(&setting::NORM),
                Number(Field::Norms),
                Word(&setting::PARALLEL),
                Word(&setting::QK_NORM),
                Word(&setting::PACKING),
                Word(&setting::BIAS),
                Word(&setting::POSITION),
                Number(Field::Positions),
                Number(Field::SparePositions),
                Word(&setting::SOFTMAX),
                Word(&setting::SOFT_CAP),
                // What these bring has groups of its own, which stand there once they do.
                Word(&setting::VISION),
                Number(Field::EncoderLayers),
            ],
        },
        Fold {
            name: "Mixture of experts",
            tell: tells::experts,
            inputs: &[
                Number(Field::Experts),
                Number(Field::ActiveExperts),
                Number(Field::ExpertWidth),
                Number(Field::SharedWidth),
                Number(Field::DenseLayers),
                Number(Field::Imbalance),
            ],
        },
        Fold {
            name: "Latent attention",
            tell: tells::latent,
            inputs: &[Number(Field::KvRank), Number(Field::QueryRank), Number(Field::RopeDim)],
        },
        Fold {
            name: "Images",
            tell: tells::images,
            inputs: &[
                Number(Field::Images),
                Number(Field::ImageHeight),
                Number(Field::ImageWidth),
                Number(Field::MaxPixels),
                Number(Field::Tiles),
                Word(&setting::TOWER),
                Word(&setting::PROJECTOR),
                Number(Field::VisionLayers),
                Number(Field::VisionHidden),
                Number(Field::VisionHeads),
                Number(Field::VisionFeedForward),
                Number(Field::Patch),
                Number(Field::ImageSide),
            ],
        },
        Fold {
            name: "Encoder",
            tell: tells::encoder,
            inputs: &[Number(Field::Source), Number(Field::EncoderPositions), Number(Field::MelChannels)],
        },
    ],
};

/// The devices, beside their field of the catalogue.
pub static GPUS: Group = Group { name: "GPUs", inputs: &[Number(Field::Memory), Number(Field::Gpus)], folds: &[] };

/// The rest, in the order in which people decide.
pub static GROUPS: [Group; 8] = [
    Group {
        name: "What is trained",
        inputs: &[Word(&setting::ADAPTER), Number(Field::Rank)],
        folds: &[Fold {
            name: "More of the adapters",
            tell: tells::adapters,
            inputs: &[
                Word(&setting::TARGETS),
                Word(&setting::EXPERT_MATRICES),
                Word(&setting::ADAPTER_TYPE),
                Word(&setting::ADAPTER_DROPOUT),
                Word(&setting::UNQUANTIZED),
            ],
        }],
    },
    Group {
        name: "Length",
        inputs: &[Number(Field::Batch), Number(Field::Sequence), Number(Field::MicroBatches), Word(&setting::LENGTHS)],
        folds: &[Fold {
            name: "Lengths that vary",
            tell: tells::lengths,
            inputs: &[
                Number(Field::LengthMedian),
                Number(Field::LengthP95),
                Number(Field::LengthMax),
                Number(Field::LengthMultiple),
                Word(&setting::PADDED_ATTENTION),
            ],
        }],
    },
    Group {
        name: "Precision and optimizer",
        inputs: &[
            Word(&setting::PRECISION),
            Word(&setting::OPTIMIZER),
            Number(Field::Projection),
            Number(Field::Preconditioner),
        ],
        folds: &[Fold {
            name: "More of precision and optimizer",
            tell: tells::details,
            inputs: &[Word(&setting::GRADIENTS), Word(&setting::FP8), Word(&setting::STEP)],
        }],
    },
    Group {
        name: "Recomputation and kernels",
        inputs: &[
            Word(&setting::RECOMPUTATION),
            Number(Field::Every),
            Number(Field::RecomputedLayers),
            Word(&setting::ATTENTION),
            Word(&setting::LOSS),
            Number(Field::Chunks),
        ],
        folds: &[Fold {
            name: "More of the kernels",
            tell: tells::kernels,
            inputs: &[Word(&setting::KERNELS), Word(&setting::LOGITS), Word(&setting::DROPOUT)],
        }],
    },
    Group {
        name: "Parallelism",
        inputs: &[Word(&setting::ZERO), Number(Field::TensorParallel), Number(Field::PipelineParallel)],
        folds: &[
            Fold {
                name: "How the work is divided",
                tell: tells::parallelism,
                inputs: &[
                    Word(&setting::SEQUENCE_PARALLEL),
                    Number(Field::VirtualStages),
                    Number(Field::FirstStageLayers),
                    Number(Field::LastStageLayers),
                    Number(Field::ContextParallel),
                    Number(Field::ExpertParallel),
                ],
            },
            Fold {
                name: "The engine",
                tell: tells::engine,
                inputs: &[Word(&setting::ENGINE), Number(Field::Reshard), Number(Field::ReduceBucket)],
            },
        ],
    },
    Group {
        name: "Task",
        inputs: &[],
        folds: &[Fold {
            name: "DPO, GRPO, PPO, distillation",
            tell: tells::task,
            inputs: &[
                Word(&setting::TASK),
                Word(&setting::REFERENCE),
                Number(Field::Teacher),
                Word(&setting::FROZEN),
                Word(&setting::REWARD),
                Word(&setting::ROLLOUT),
                Number(Field::EngineShare),
                Number(Field::Completion),
                Number(Field::Generations),
                Number(Field::Scored),
            ],
        }],
    },
    Group {
        name: "Outside the step",
        inputs: &[],
        folds: &[Fold {
            name: "Evaluation, loading, saving",
            tell: tells::outside_the_step,
            inputs: &[
                Word(&setting::EVALUATION),
                Number(Field::EvalBatch),
                Number(Field::EvalSequences),
                Number(Field::EvalSteps),
                Word(&setting::EVAL_GENERATE),
                Number(Field::EvalTokens),
                Word(&setting::LOAD),
                Word(&setting::RESUME),
                Word(&setting::SAVE),
                Word(&setting::GATHER),
                Word(&setting::GATHERED),
                Word(&setting::MERGE),
            ],
        }],
    },
    Group {
        name: "The machine",
        inputs: &[Word(&setting::OFFLOAD)],
        folds: &[
            Fold {
                name: "CPU memory",
                tell: tells::host,
                inputs: &[Number(Field::NodeGpus), Number(Field::HostMemory), Word(&setting::HOST_LOAD)],
            },
            Fold {
                name: "Memory outside the tensors",
                tell: tells::outside,
                inputs: &[
                    Number(Field::Driver),
                    Number(Field::CudaContext),
                    Number(Field::Communication),
                    Number(Field::Workspace),
                    Word(&setting::SEGMENTS),
                    Number(Field::Fragmentation),
                    Number(Field::Headroom),
                ],
            },
        ],
    },
];

/// Every group, in the order of the form.
#[cfg(test)]
pub fn groups() -> impl Iterator<Item = &'static Group> {
    [&MODEL, &GPUS].into_iter().chain(&GROUPS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::scenario_form::hidden::is_hidden;
    use crate::figures::check::matters;

    /// Every input of the form.
    fn inputs() -> impl Iterator<Item = Input> {
        groups().flat_map(Group::all)
    }

    /// The inputs of the group with this name that are in sight in the scenario of a link.
    fn in_sight(name: &str, query: &str) -> Vec<&'static str> {
        let scenario = bmax::link::decode(query).scenario;
        let group = groups().find(|group| group.name == name).expect("a group");
        // Whatever is changed stays in sight, so that nothing counts as changed here.
        group.all().filter(|input| !is_hidden(*input, &scenario, &scenario)).map(Input::key).collect()
    }

    #[test]
    fn every_input_of_a_scenario_has_one_place() {
        let mut here: Vec<_> = inputs().map(Input::key).collect();
        // The method is a switch of its own; the planner and the chart have these.
        here.extend(["method", "target", "unit", "chart_gpus", "chart_recompute", "chart_axis"]);
        let mut all: Vec<_> = Field::ALL.iter().map(|field| field.bound().key).collect();
        all.extend(setting::ALL.iter().map(|word| word.key));
        here.sort_unstable();
        all.sort_unstable();
        assert_eq!(here, all);
    }

    #[test]
    fn a_number_of_the_shape_is_in_sight_exactly_where_it_changes_the_ledger() {
        for method in ["ledger", "workshop", "paper"] {
            // Scores are kept, so that the number of heads counts.
            let start = bmax::link::decode(&format!("?method={method}&recompute=none&attn=eager")).scenario;
            for input in MODEL.inputs {
                assert_eq!(matters(*input, &start), !is_hidden(*input, &start, &start), "{} by {method}", input.key());
            }
        }
    }

    #[test]
    fn a_number_of_parameters_that_was_typed_is_out_of_sight_where_it_means_nothing() {
        let [ledger, paper] = ["?params=9", "?params=9&method=paper"].map(|query| bmax::link::decode(query).scenario);
        let input = Number(Field::Parameters);
        assert!(is_hidden(input, &ledger, &Scenario::workshop()) && !is_hidden(input, &paper, &Scenario::workshop()));
    }

    #[test]
    fn a_plain_run_sees_one_field_of_a_task_and_each_task_those_that_it_reads() {
        let in_sight = |query: &str| in_sight("Outside the step", query);
        assert_eq!(in_sight("?gpus=1"), ["eval", "load", "resume", "save"]);
        assert_eq!(in_sight("?gpus=8&zero=3"), ["eval", "load", "resume", "save", "gather"]);
        assert_eq!(in_sight("?gpus=1&adapter=lora&eval=loss")[..4], ["eval", "eval_b", "eval_generate", "load"]);
        assert!(in_sight("?gpus=1&eval=logits").contains(&"eval_n"));
        assert!(in_sight("?gpus=1&adapter=lora").contains(&"merge"));
    }

    #[test]
    fn an_input_that_waits_for_another_is_idle_without_it_and_changes_the_ledger_with_it() {
        for (parameter, without, with) in [
            ("imbalance", "", "?experts=8&active=2&ep=2"),
            ("imbalance", "?experts=8&active=2", "?experts=8&active=2&ep=2"),
            ("unquantized", "?adapter=lora", "?adapter=qlora"),
            ("unquantized", "", "?adapter=lora-8bit"),
            ("every", "?recompute=full", "?recompute=kth-layer"),
            ("every", "?recompute=block", "?recompute=every-k"),
            ("recompute_layers", "?recompute=kth-layer", "?recompute=block"),
            ("chunks", "?loss=kernel-inplace", "?loss=chunked-head"),
            ("vpp", "?gpus=64", "?gpus=64&pp=4&zero=1"),
            ("pp_first", "?gpus=64", "?gpus=64&pp=4&zero=1"),
            ("pp_last", "?gpus=64", "?gpus=64&pp=4&zero=1"),
            ("reshard", "?zero=2", "?zero=3"),
            ("reshard", "?zero=3&gpus=1", "?zero=3&gpus=2"),
            ("reshard", "?zero=3&gpus=4&tp=4", "?zero=3&gpus=4&tp=2&cp=2"),
            ("bucket", "?engine=torch&zero=2", "?engine=deepspeed&zero=2"),
            ("bucket", "?engine=deepspeed&zero=0", "?engine=deepspeed&zero=3"),
            ("rank", "", "?adapter=lora-fp32"),
            ("adapter_type", "", "?adapter=qlora"),
            ("adapter_type", "?adapter=lora&precision=fp32", "?adapter=lora&precision=autocast"),
            ("adapter_dropout", "", "?adapter=qlora"),
            ("expert_matrices", "?adapter=qlora", "?adapter=qlora&experts=8&active=2"),
            ("expert_matrices", "?experts=8&active=2", "?adapter=lora&targets=all&experts=8&active=2"),
            ("grad", "?adapter=lora", "?adapter=lora&adapter_type=16"),
            ("grad", "?adapter=lora&adapter_type=16&precision=mixed", "?precision=fp16"),
            ("softmax", "?attn=flash", "?attn=eager"),
            ("source", "", "?enc_layers=6"),
            ("source", "?model=whisper-small", "?model=bart-large"),
            ("enc_positions", "?position=learned", "?position=learned&enc_layers=6"),
            ("mels", "", "?model=whisper-small"),
            ("parallel", "?norms=1", "?norms=2"),
            ("logits", "?loss=fused", "?loss=plain"),
            ("logits", "?loss=classifier", "?loss=masked-lm"),
            ("ref", "", "?task=dpo"),
            ("ref", "?task=reward", "?task=distil"),
            ("frozen", "?task=reward", "?task=dpo&precision=autocast"),
            ("teacher", "?task=dpo", "?task=distil"),
            ("reward", "?task=dpo", "?task=grpo"),
            ("rollout", "?task=distil", "?task=ppo"),
            ("engine_share", "?task=grpo", "?task=grpo&rollout=awake"),
            ("completion", "?task=dpo", "?task=grpo"),
            ("generations", "?task=grpo&rollout=server", "?task=grpo"),
            ("score_b", "?task=dpo", "?task=ppo"),
            ("eval_b", "", "?eval=loss"),
            ("eval_n", "?eval=loss", "?eval=logits"),
            ("eval_steps", "?eval=loss", "?eval=logits"),
            ("eval_generate", "", "?eval=loss"),
            ("eval_tokens", "?eval=loss", "?eval=loss&eval_generate=on"),
            ("gather", "?gpus=8&zero=2", "?gpus=8&zero=3"),
            ("gather_states", "?gpus=8&zero=3", "?gpus=8&zero=3&gather=cpu"),
            ("merge", "", "?gpus=1&adapter=lora"),
            ("len_max", "", "?lengths=padded"),
            ("len_multiple", "?lengths=packed", "?lengths=padded&len_max=1001"),
            ("len_attn", "?lengths=flattened", "?lengths=bucketed"),
            ("len_attn", "?lengths=padded&attn=eager", "?lengths=padded"),
            ("images", "", "?model=llava-1.5-7b"),
            ("tower", "", "?model=qwen2.5-vl-7b"),
            ("projector", "", "?model=qwen2.5-vl-7b"),
            ("vision_layers", "", "?model=qwen2.5-vl-7b"),
            ("max_pixels", "?model=llava-1.5-7b", "?model=qwen2.5-vl-7b"),
            ("tiles", "?model=qwen2.5-vl-7b", "?model=llava-next-mistral-7b"),
            ("image_side", "?model=qwen2.5-vl-7b", "?model=llava-1.5-7b"),
        ] {
            let [without, with] = [without, with].map(|query| bmax::link::decode(query).scenario);
            let mut inputs = inputs();
            let input = inputs.find(|input| input.key() == parameter).expect("an input of the form");
            assert!(!input.idle(&without).is_empty(), "{parameter} matters without what it waits for");
            assert!(input.idle(&with).is_empty() && matters(input, &with), "{parameter} is idle with it");
        }
    }
}
