//! Real runs beside the prediction: which runs the ledger was compared with, setting by setting, and how far off it was.
//!
//! `make accuracy` writes `rows.tsv` and `said.rs` out of the measurements in `tests/vectors/`, beside the report, so that
//! no number is copied by hand. The rows have what was measured; what is predicted for them is computed where it is shown.
//!
//! ```
//! use bmax::proof::{Setting, Summary, runs};
//! let of: Vec<_> = runs().filter(|run| run.setting == Setting::Pipeline).collect();
//! let errors = of.iter().map(|run| run.predicted_for(&run.scenario()).get() / run.measured.get() - 1.0);
//! assert_eq!(Summary::of(errors).count, of.len());
//! ```

mod said;
mod source;
mod summary;

use crate::{
    Adapter, Batching, Bytes, Engine, Field, LossHead, Method, Percent, Scenario, TaskKind, counters, estimate, link,
};

pub use said::{SAID, STUDIES};
pub use source::address;
pub use summary::{FEW, Summary};

/// The rows, one a line: setting, counter, stage, tier, GiB, name, model, source, configuration.
const ROWS: &str = include_str!("rows.tsv");

/// How a figure was read off the device, which decides what of the ledger it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Live tensors: `max_memory_allocated`, active memory, a simulation.
    Live,
    /// What the caching allocator holds.
    Reserved,
    /// What the driver counts: context and buffers too.
    Device,
    /// The source does not name it; compared with live tensors.
    Unnamed,
}

impl Counter {
    /// Every counter.
    pub const ALL: [Self; 4] = [Self::Live, Self::Reserved, Self::Device, Self::Unnamed];

    /// What the report calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Reserved => "reserved",
            Self::Device => "device",
            Self::Unnamed => "not named",
        }
    }
}

/// What decides which mechanisms of the ledger a run tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// One GPU.
    SingleDevice,
    /// Several, with nothing but copies or shards of the states.
    DataParallel,
    /// Matrices divided.
    TensorParallel,
    /// Layers divided.
    Pipeline,
    /// DeepSpeed’s buffers.
    DeepSpeed,
    /// Frozen weights with adapters.
    Adapters,
    /// Encoders with a head of their own.
    Encoders,
}

impl Setting {
    /// Every setting.
    pub const ALL: [Self; 7] = [
        Self::SingleDevice,
        Self::DataParallel,
        Self::TensorParallel,
        Self::Pipeline,
        Self::DeepSpeed,
        Self::Adapters,
        Self::Encoders,
    ];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SingleDevice => "single device",
            Self::DataParallel => "FSDP, ZeRO and DDP alone",
            Self::TensorParallel => "tensor parallelism",
            Self::Pipeline => "pipelines",
            Self::DeepSpeed => "DeepSpeed",
            Self::Adapters => "LoRA and QLoRA",
            Self::Encoders => "encoders",
        }
    }

    /// That of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let cluster = &scenario.cluster;
        if scenario.recipe.adapter != Adapter::None {
            Self::Adapters
        } else if matches!(scenario.recipe.loss, LossHead::Classifier | LossHead::MaskedLm) {
            Self::Encoders
        } else if cluster.engine == Engine::DeepSpeed {
            Self::DeepSpeed
        } else if cluster.pipeline_parallel > 1 {
            Self::Pipeline
        } else if cluster.tensor_parallel > 1 {
            Self::TensorParallel
        } else if cluster.gpus > 1 {
            Self::DataParallel
        } else {
            Self::SingleDevice
        }
    }
}

/// How far off the ledger was in real runs like this one, in a sentence.
pub fn said(scenario: &Scenario) -> &'static str {
    if is_compared(scenario) { SAID[Setting::of(scenario) as usize] } else { "No real run of this kind was compared." }
}

/// Whether there are rows of this kind of run: nobody publishes memory of other tasks, images, encoder–decoders, lengths
/// that vary and fp8.
fn is_compared(scenario: &Scenario) -> bool {
    scenario.task.kind == TaskKind::Train
        && scenario.batching() == Batching::Equal
        && !scenario.recipe.fp8.is_on()
        && !scenario.model.vision.is_there()
        && !scenario.model.encoder.is_there()
}

/// A real run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Its setting.
    pub setting: Setting,
    /// How its memory was read.
    pub counter: Counter,
    /// The pipeline stage that was read, where the source says one.
    pub stage: &'static str,
    /// How sure its configuration is, from A to C.
    pub tier: &'static str,
    /// What was measured.
    pub measured: Bytes,
    /// Its name in the report, where a study asks for it by that.
    pub name: &'static str,
    /// What was trained, as its source calls it.
    pub model: &'static str,
    /// Where it was published: the repository, then the file, the commit or the thread.
    pub source: &'static str,
    /// Its configuration as the query of a link.
    pub query: &'static str,
}

impl Run {
    /// A line of the rows.
    fn read(line: &'static str) -> Option<Self> {
        let mut cells = line.split('\t');
        let mut cell = || cells.next();
        let (setting, counter) = (cell()?, cell()?);
        Some(Self {
            setting: *Setting::ALL.iter().find(|one| one.name() == setting)?,
            counter: *Counter::ALL.iter().find(|one| one.name() == counter)?,
            stage: cell()?,
            tier: cell()?,
            measured: Bytes::from_gib(cell()?.parse().ok()?),
            name: cell()?,
            model: cell()?,
            source: cell()?,
            query: cell()?,
        })
    }

    /// Its configuration.
    pub fn scenario(&self) -> Scenario {
        link::decode(self.query).scenario
    }

    /// What its counter should show for a scenario: its own, or one that differs in an input.
    pub fn predicted_for(&self, scenario: &Scenario) -> Bytes {
        predicted(scenario, self.counter, self.stage)
    }
}

/// Runs of one source that differ in one input alone, so that one computed curve goes with all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Study {
    /// The input.
    pub varied: Field,
    /// The names of its runs, from the smallest value on.
    pub runs: &'static [&'static str],
}

impl Study {
    /// Its runs, in their order.
    pub fn runs(&self) -> Vec<Run> {
        let all: Vec<Run> = runs().filter(|run| self.runs.contains(&run.name)).collect();
        self.runs.iter().filter_map(|name| all.iter().find(|run| run.name == *name).copied()).collect()
    }
}

/// Every run, by setting.
pub fn runs() -> impl Iterator<Item = Run> {
    ROWS.lines().filter_map(Run::read)
}

/// What a counter should show by the ledger, on one pipeline stage if one is named.
pub fn predicted(scenario: &Scenario, counter: Counter, stage: &str) -> Bytes {
    let scenario = Scenario { method: Method::Ledger, ..*scenario };
    if !stage.is_empty() {
        return predicted_on(scenario, stage);
    }
    let predicted = counters(&scenario);
    match counter {
        Counter::Reserved => predicted.reserved,
        Counter::Device => predicted.device,
        Counter::Live | Counter::Unnamed => predicted.allocated,
    }
}

/// The live tensors of one pipeline stage.
fn predicted_on(mut bare: Scenario, stage: &str) -> Bytes {
    bare.device.driver = Bytes::ZERO;
    bare.device.cuda_context = Bytes::ZERO;
    bare.device.communication = Bytes::ZERO;
    bare.device.fragmentation = Percent::new(0.0);
    let estimate = estimate(&bare);
    let stages = estimate.stages();
    let peak = stages.iter().find(|found| found.stage == stage).map(|found| found.peak);
    peak.unwrap_or(estimate.peak()).bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_run_whose_link_is_read_without_a_notice() {
        assert_eq!(runs().count(), ROWS.lines().count());
        for run in runs() {
            let read = link::decode(run.query);
            assert!(read.notices.is_empty(), "{}: {:?}", run.source, read.notices);
            assert_eq!(Setting::of(&read.scenario), run.setting, "{}", run.source);
            assert!(address(run.source).starts_with("https://"), "{}", run.source);
        }
    }

    #[test]
    fn every_setting_has_runs_and_its_sentence_says_how_many() {
        for setting in Setting::ALL {
            let count = runs().filter(|run| run.setting == setting).count();
            let sentence = SAID[setting as usize];
            let few = if count < FEW { "Only " } else { "" };
            assert!(count > 0 && sentence.starts_with(&format!("{few}{count} figures of real runs ")), "{sentence}");
        }
    }

    #[test]
    fn runs_of_a_study_are_the_same_but_for_its_input_and_have_three_values_of_it() {
        for study in STUDIES {
            let scenarios: Vec<Scenario> = study.runs().iter().map(Run::scenario).collect();
            assert_eq!(scenarios.len(), study.runs.len());
            let mut values: Vec<f64> = scenarios.iter().map(|scenario| scenario.number(study.varied)).collect();
            assert!(values.is_sorted(), "{study:?}");
            values.dedup();
            assert!(values.len() >= 3, "{study:?}");
            for scenario in &scenarios {
                let same = scenario.with_number(study.varied, values[0]);
                assert_eq!(same, scenarios[0].with_number(study.varied, values[0]), "{study:?}");
            }
        }
    }

    #[test]
    fn what_nobody_published_has_no_median() {
        let mut scenario = Scenario::workshop();
        assert_eq!(said(&scenario), SAID[Setting::DataParallel as usize]);
        scenario.task.kind = crate::TaskKind::Dpo;
        assert!(!said(&scenario).contains('%'));
    }
}
