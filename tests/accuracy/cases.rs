//! One row of a file of cases: a scenario, what was seen, and how to compare.

use std::path::Path;

use bmax::{
    Adapter, Answer, Bytes, Engine, LossHead, Method, Percent, Scenario, ZeroStage, counters, estimate,
    range::{Range, range},
};
use serde_json::Value;

use super::mapping;

/// How a figure was read off the device, which decides what of the ledger it is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    pub const ALL: [Self; 4] = [Self::Live, Self::Reserved, Self::Device, Self::Unnamed];

    pub fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Reserved => "reserved",
            Self::Device => "device",
            Self::Unnamed => "not named",
        }
    }
}

/// What a row tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seen {
    /// A peak.
    Peak(Bytes, Counter),
    /// It ran.
    Fit,
    /// It ran out of memory.
    OutOfMemory,
}

/// What decides which mechanisms of the ledger a row tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    SingleDevice,
    DataParallel,
    TensorParallel,
    Pipeline,
    DeepSpeed,
    Adapters,
    Encoders,
}

impl Setting {
    pub const ALL: [Self; 7] = [
        Self::SingleDevice,
        Self::DataParallel,
        Self::TensorParallel,
        Self::Pipeline,
        Self::DeepSpeed,
        Self::Adapters,
        Self::Encoders,
    ];

    pub fn name(self) -> &'static str {
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

    fn of(scenario: &Scenario) -> Self {
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
        } else if cluster.gpus > 1 || cluster.zero != ZeroStage::Stage0 {
            Self::DataParallel
        } else {
            Self::SingleDevice
        }
    }
}

/// A row that could be turned into a scenario.
pub struct Case {
    pub id: String,
    /// The file it stands in, without its ending.
    pub file: String,
    pub source: String,
    pub tier: String,
    pub seen: Seen,
    /// What the caching allocator held at most, where a simulated row says it beside the peak.
    pub held: Option<Bytes>,
    /// The pipeline stage that was read, where the row says one.
    pub stage: String,
    pub scenario: Scenario,
}

/// A row of a file.
pub enum Row {
    Compared(Box<Case>),
    /// It cannot be compared, for this reason.
    Out {
        id: String,
        reason: &'static str,
    },
}

impl Row {
    /// What the row is called: its name, or what was asked.
    pub fn name(value: &Value) -> String {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        text("id").or(text("question")).unwrap_or("?").to_owned()
    }
}

/// The rows of a file.
pub fn read(path: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let rows: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file = path.file_stem().map_or(String::new(), |name| name.to_string_lossy().into_owned());
    rows.as_array().expect("a list of rows").iter().map(|row| mapping::row(&file, row)).collect()
}

impl Case {
    pub fn setting(&self) -> Setting {
        Setting::of(&self.scenario)
    }

    /// Whether a program of our own was run for it.
    pub fn is_simulated(&self) -> bool {
        self.tier == "simulated"
    }

    /// The peak that method `method` predicts, by the row's own counter.
    pub fn predicted_by(&self, method: Method) -> Bytes {
        let scenario = Scenario { method, ..self.scenario };
        if method != Method::Ledger {
            return estimate(&scenario).peak().bytes;
        }
        if !self.stage.is_empty() {
            return self.predicted_on(&self.stage);
        }
        let predicted = counters(&scenario);
        match self.seen {
            Seen::Peak(_, Counter::Reserved) => predicted.reserved,
            Seen::Peak(_, Counter::Device) => predicted.device,
            _ => predicted.allocated,
        }
    }

    /// The live tensors of one pipeline stage.
    fn predicted_on(&self, stage: &str) -> Bytes {
        let mut bare = Scenario { method: Method::Ledger, ..self.scenario };
        bare.device.driver = Bytes::ZERO;
        bare.device.cuda_context = Bytes::ZERO;
        bare.device.communication = Bytes::ZERO;
        bare.device.fragmentation = Percent::new(0.0);
        let estimate = estimate(&bare);
        let stages = estimate.stages();
        let peak = stages.iter().find(|found| found.stage == stage).map(|found| found.peak);
        peak.unwrap_or(estimate.peak()).bytes
    }

    /// How far the ledger is from what was seen, as a part of it; above zero it predicts too much.
    pub fn error(&self) -> Option<f64> {
        self.error_of(Method::Ledger)
    }

    /// The same for another method.
    pub fn error_of(&self, method: Method) -> Option<f64> {
        match self.seen {
            Seen::Peak(bytes, _) => Some(self.predicted_by(method).get() / bytes.get() - 1.0),
            Seen::Fit | Seen::OutOfMemory => None,
        }
    }

    /// How far the ledger is from what the allocator held in a simulated run. A stage has no such figure of its own.
    pub fn error_of_held(&self) -> Option<f64> {
        let held = self.held.filter(|_| self.stage.is_empty())?;
        Some(counters(&self.scenario).reserved.get() / held.get() - 1.0)
    }

    pub fn counter(&self) -> Option<Counter> {
        match self.seen {
            Seen::Peak(_, counter) => Some(counter),
            Seen::Fit | Seen::OutOfMemory => None,
        }
    }

    /// b_max as a multiple of the micro-batch that ran.
    pub fn room(&self, of: fn(&Range) -> Answer) -> Option<f64> {
        let batch = of(&range(&self.scenario)).batch()?;
        Some(f64::from(batch) / f64::from(self.scenario.recipe.batch))
    }

    /// Whether an outlook's b_max agrees with a row that only says whether it ran.
    pub fn agrees(&self, of: fn(&Range) -> Answer) -> Option<bool> {
        let ran = match self.seen {
            Seen::Fit => true,
            Seen::OutOfMemory => false,
            Seen::Peak(..) => return None,
        };
        let fits = of(&range(&self.scenario)).batch().is_some_and(|batch| batch >= self.scenario.recipe.batch);
        Some(fits == ran)
    }
}
