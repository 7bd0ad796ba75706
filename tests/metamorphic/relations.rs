//! Pairs of scenarios of which the second should not need more memory.

use bmax::{Bucket, Field, Scenario, Switch, TaskKind, Unquantized, setting::Setting};

use Measure::{Less, More, Of, Word};

/// What turns the first scenario of a pair into the second one.
#[derive(Clone, Copy)]
pub enum Measure {
    /// A setting has one word in the first scenario and another in the second.
    Word(&'static str, &'static str, &'static str),
    /// A number is doubled, and the number of GPUs with it where these groups would be fewer otherwise.
    More(Field),
    /// The number is as it is in the second scenario, and larger in the first: by this factor, and by this sum.
    Less(Field, f64, f64),
    /// Another measure, of scenarios that are alike in something, as the words say and the function makes them.
    Of(&'static str, fn(Scenario) -> Option<Scenario>, &'static Measure),
}

/// Layers of one kind: none is dense where others have experts.
fn layers_alike(mut scenario: Scenario) -> Option<Scenario> {
    scenario.model.experts.dense_layers = 0;
    Some(scenario)
}

/// What nothing quantizes stays in its 16 bits.
fn rest_in_16_bits(mut scenario: Scenario) -> Option<Scenario> {
    scenario.recipe.unquantized = Unquantized::Half;
    Some(scenario)
}

/// Layers that divide into twice as many stages, of one chunk each, and a head of its own: what stands on a stage of
/// twice as many stood on one stage before.
fn stages_alike(mut scenario: Scenario) -> Option<Scenario> {
    let twice = 2 * scenario.cluster.pipeline_parallel;
    scenario.model.tied_embeddings = Switch::Off;
    let cluster = &mut scenario.cluster;
    (cluster.virtual_stages, cluster.first_stage_layers, cluster.last_stage_layers) = (1, 0, 0);
    let layers = f64::from(scenario.model.layers.next_multiple_of(twice));
    layers_alike(scenario.with_number(Field::Layers, layers).ok()?)
}

/// Decoders alone, but for policies: PPO's passes fill a cache unless layers are computed again, and the output of an
/// encoder is an input of those that are.
fn decoders(scenario: Scenario) -> Option<Scenario> {
    (scenario.task.kind != TaskKind::Ppo && !scenario.model.encoder.is_there()).then_some(scenario)
}

/// Every device has as many tokens for its experts.
fn balanced(mut scenario: Scenario) -> Option<Scenario> {
    scenario.recipe.imbalance = 1.0;
    Some(scenario)
}

/// A kind of measure, and all of its kind.
pub type Relations = (&'static str, &'static [Measure]);

/// Every measure, kind by kind.
pub static ALL: [Relations; 6] = [
    (
        "a smaller size",
        &[
            Less(Field::Batch, 1.0, 1.0),
            Less(Field::Batch, 2.0, 0.0),
            Less(Field::Sequence, 1.0, 1.0),
            Less(Field::Sequence, 2.0, 0.0),
            Less(Field::Layers, 1.0, 1.0),
            Less(Field::Layers, 2.0, 0.0),
        ],
    ),
    (
        "freezing",
        &[
            Word("adapter", "none", "lora"),
            Word("tower", "trained", "adapters"),
            Word("tower", "trained", "frozen"),
            Word("projector", "trained", "frozen"),
        ],
    ),
    (
        "quantizing",
        &[
            Word("adapter", "lora-fp32", "lora"),
            Of("the rest in 16 bits", rest_in_16_bits, &Word("adapter", "lora", "lora-8bit")),
            Word("adapter", "lora-8bit", "qlora"),
            Word("adapter_type", "32", "16"),
            Word("unquantized", "32", "16"),
            Word("grad", "32", "16"),
            Word("frozen", "policy", "16"),
            Word("precision", "fp32", "bf16-pure"),
            Word("optimizer", "adamw", "adam8bit"),
            Word("optimizer", "adamw", "adam8bit-torchao"),
            Word("optimizer", "adam8bit-torchao", "adam4bit"),
            Word("optimizer", "adam8bit", "adam8bit-paged"),
            Word("optimizer", "galore", "galore-8bit"),
            Word("fp8", "off", "te-delayed"),
        ],
    ),
    (
        "sharding",
        &[
            Word("zero", "0", "1"),
            Word("zero", "1", "2"),
            Word("zero", "2", "3"),
            Word("ref", "copy", "sharded"),
            Word("sp", "off", "on"),
            More(Field::Gpus),
            More(Field::TensorParallel),
            Of("stages alike", stages_alike, &More(Field::PipelineParallel)),
            More(Field::ContextParallel),
            Of("balanced", balanced, &More(Field::ExpertParallel)),
        ],
    ),
    (
        "recomputing",
        &[
            Word("recompute", "none", "selective"),
            Word("recompute", "selective", "ops"),
            Word("recompute", "ops", "full"),
            Of("layers alike", layers_alike, &Word("recompute", "none", "every-k")),
            Of("layers alike", layers_alike, &Word("recompute", "none", "kth-layer")),
            Of("layers alike", layers_alike, &Word("recompute", "none", "block")),
            Word("recompute", "block", "full"),
        ],
    ),
    (
        "offloading",
        &[
            Word("offload", "none", "optimizer"),
            Word("offload", "none", "activations"),
            Word("offload", "optimizer", "both"),
            Word("offload", "optimizer", "parameters"),
            Word("offload", "parameters", "everything"),
            Word("ref", "copy", "offloaded"),
            Word("reward", "model", "offloaded"),
        ],
    ),
];

/// What a measure makes no larger, even where the peak rises by it.
pub struct Part {
    /// The measure.
    pub measure: Measure,
    /// What is added up.
    pub buckets: &'static [Bucket],
    /// At which instants: the highest of them is compared.
    pub at: fn(&str) -> bool,
}

/// Every one of them.
pub static PARTS: [Part; 9] = [
    // Of what is recomputed less is kept, whatever runs backward later.
    Part { measure: kept(&Word("recompute", "none", "selective")), buckets: &[Bucket::Activations], at: all_kept },
    Part { measure: kept(&Word("recompute", "none", "every-k")), buckets: &[Bucket::Activations], at: all_kept },
    Part { measure: kept(&Word("recompute", "none", "kth-layer")), buckets: &[Bucket::Activations], at: all_kept },
    Part { measure: kept(&Word("recompute", "none", "block")), buckets: &[Bucket::Activations], at: all_kept },
    Part { measure: kept(&Word("recompute", "block", "full")), buckets: &[Bucket::Activations], at: all_kept },
    // However tokens are divided, a device has fewer experts.
    Part { measure: More(Field::ExpertParallel), buckets: STATES, at: ever },
    Part {
        measure: Of("stages alike", stages_alike, &More(Field::PipelineParallel)),
        buckets: &[Bucket::Parameters],
        at: ever,
    },
    Part {
        measure: Of("stages alike", stages_alike, &More(Field::PipelineParallel)),
        buckets: &[Bucket::Optimizer],
        at: ever,
    },
    // Frozen weights have no gradients and no moments, in whatever type they are.
    Part {
        measure: Of("the rest in 16 bits", rest_in_16_bits, &Word("adapter", "lora", "lora-8bit")),
        buckets: &[Bucket::Gradients, Bucket::Optimizer],
        at: ever,
    },
];

/// A measure of scenarios in which layers alone decide what is kept.
const fn kept(measure: &'static Measure) -> Measure {
    Of("decoders", decoders, measure)
}

/// What a model has whatever it is given.
const STATES: &[Bucket] = &[Bucket::Parameters, Bucket::Gradients, Bucket::Optimizer];

fn ever(_: &str) -> bool {
    true
}

/// All layers have run forward and none backward.
fn all_kept(instant: &str) -> bool {
    instant.ends_with("loss, forward") || instant.ends_with("pipeline full")
}

impl Measure {
    /// What the table of exceptions calls it.
    pub fn name(self) -> String {
        match self {
            Word(setting, before, after) => format!("{setting} {before} → {after}"),
            More(field) => format!("{} × 2", field.bound().key),
            Less(field, 1.0, more) => format!("{} − {more}", field.bound().key),
            Less(field, factor, _) => format!("{} / {factor}", field.bound().key),
            Of(alike, _, measure) => format!("{}, {alike}", measure.name()),
        }
    }

    /// The pair that it makes of a scenario; none where a number would leave its range.
    pub fn pair(self, scenario: Scenario) -> Option<(Scenario, Scenario)> {
        let with = |scenario: Scenario, field: Field, to: f64| scenario.with_number(field, to).ok();
        match self {
            Word(key, before, after) => {
                let setting = Setting::from_key(key).expect("a setting");
                let read = |word| setting.read(word, scenario).expect("a word of its own");
                Some((read(before), read(after)))
            }
            More(field) => {
                let mut after = with(scenario, field, 2.0 * scenario.number(field))?;
                if matches!(field, Field::TensorParallel | Field::PipelineParallel | Field::ContextParallel) {
                    after = with(after, Field::Gpus, 2.0 * scenario.number(Field::Gpus))?;
                }
                Some((scenario, after))
            }
            Less(field, factor, more) => {
                Some((with(scenario, field, factor * scenario.number(field) + more)?, scenario))
            }
            Of(_, made, measure) => measure.pair(made(scenario)?),
        }
    }
}
