//! One row of a file of cases: a scenario, what was seen, and how to compare.

use std::path::Path;

use bmax::proof::predicted;
use bmax::{
    Answer, Bytes, Method, Scenario, counters, estimate,
    range::{Range, range},
};
use serde_json::Value;

use super::mapping;

pub use bmax::proof::{Counter, Setting};

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

/// Who made a run. Those of our own are simpler than most that others publish, and many, so that errors over both would
/// say more of ours than of anyone's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Others, who published a figure of it.
    Published,
    /// `tools/gpu_check.sh`, on a real GPU.
    Own,
    /// A program of our own, where nothing is computed.
    Simulated,
}

impl Origin {
    /// Those of real runs.
    pub const REAL: [Self; 2] = [Self::Published, Self::Own];
}

/// A row that could be turned into a scenario.
pub struct Case {
    pub id: String,
    /// The file it stands in, without its ending.
    pub file: String,
    pub source: String,
    /// What was trained, as the row calls it.
    pub model: String,
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

    /// Whether a program of our own was run for it where nothing is computed.
    pub fn is_simulated(&self) -> bool {
        self.origin() == Origin::Simulated
    }

    /// Who made the run.
    pub fn origin(&self) -> Origin {
        if self.tier == "simulated" {
            Origin::Simulated
        } else if self.source.contains("run by tools/gpu_check.sh") {
            Origin::Own
        } else {
            Origin::Published
        }
    }

    /// The peak that method `method` predicts, by the row's own counter.
    pub fn predicted_by(&self, method: Method) -> Bytes {
        if method != Method::Ledger {
            return estimate(&Scenario { method, ..self.scenario }).peak().bytes;
        }
        predicted(&self.scenario, self.counter().unwrap_or(Counter::Live), &self.stage)
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
