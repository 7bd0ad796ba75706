//! Pairs of scenarios of which the second should not need more memory.

use bmax::{Field, Scenario, setting::Setting};

use Measure::{Less, More, Word};

/// What turns the first scenario of a pair into the second one.
#[derive(Clone, Copy)]
pub enum Measure {
    /// A setting has one word in the first scenario and another in the second.
    Word(&'static str, &'static str, &'static str),
    /// A number is doubled, and the number of GPUs with it where these groups would be fewer otherwise.
    More(Field),
    /// The number is as it is in the second scenario, and larger in the first: by this factor, and by this sum.
    Less(Field, f64, f64),
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
            Word("adapter", "lora", "lora-8bit"),
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
            More(Field::PipelineParallel),
            More(Field::ContextParallel),
            More(Field::ExpertParallel),
        ],
    ),
    (
        "recomputing",
        &[
            Word("recompute", "none", "selective"),
            Word("recompute", "selective", "ops"),
            Word("recompute", "ops", "full"),
            Word("recompute", "none", "every-k"),
            Word("recompute", "none", "kth-layer"),
            Word("recompute", "none", "block"),
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

impl Measure {
    /// What the table of exceptions calls it.
    pub fn name(self) -> String {
        match self {
            Word(setting, before, after) => format!("{setting} {before} → {after}"),
            More(field) => format!("{} × 2", field.bound().key),
            Less(field, 1.0, more) => format!("{} − {more}", field.bound().key),
            Less(field, factor, _) => format!("{} / {factor}", field.bound().key),
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
        }
    }
}
