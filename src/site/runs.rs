//! The reader's own measured runs, which this browser keeps from page to page and nothing else hears of.

use bmax::course::calibration::{Counter, Measured};
use bmax::{Bytes, Field, Scenario, link, number};
use leptos::prelude::*;

use super::embedded;
use super::host::get;

/// Where they are kept.
const KEY: &str = "bmax-runs";
/// What is longer than this was not written here.
const LONGEST: usize = 20_000;
/// The largest reading that is believed, in GiB: that of the form's own memory field.
const MOST: f64 = 4_096.0;
/// The smallest.
const LEAST: f64 = 0.01;

/// The counters, by the names of what shows them.
pub const COUNTERS: [(Counter, &str); 3] = [
    (Counter::Allocated, "max_memory_allocated"),
    (Counter::Reserved, "max_memory_reserved"),
    (Counter::Device, "nvidia-smi"),
];

/// What was typed of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Typed {
    /// Its micro-batch.
    pub batch: String,
    /// What it took, in GiB.
    pub peak: String,
}

impl Typed {
    /// Nothing yet.
    pub const EMPTY: Self = Self { batch: String::new(), peak: String::new() };

    /// The run, if both of its fields hold what they can, and which of them holds what it cannot. A run of
    /// which nothing or only a half has been typed is none yet.
    pub fn read(&self) -> (Option<Measured>, [bool; 2]) {
        let [batch, peak] = [&self.batch, &self.peak].map(|text| number::parse(text).unwrap_or(f64::NAN));
        let is_batch = batch.fract() == 0.0 && (1.0..=Field::Batch.bound().max).contains(&batch);
        let is_peak = (LEAST..=MOST).contains(&peak);
        let refused =
            [(&self.batch, is_batch), (&self.peak, is_peak)].map(|(text, good)| !good && !text.trim().is_empty());
        let measured = (is_batch && is_peak).then(|| Measured { batch: batch as u32, peak: Bytes::from_gib(peak) });
        (measured, refused)
    }
}

/// Three runs, the counter that they were read from, and the configuration that ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Runs {
    /// What ran; the micro-batch is each run's own.
    pub scenario: Scenario,
    /// What was read.
    pub counter: Counter,
    /// What was typed.
    pub typed: [Typed; 3],
}

impl Runs {
    /// Those that were measured.
    pub fn measured(&self) -> Vec<Measured> {
        self.typed.iter().filter_map(|typed| typed.read().0).collect()
    }

    /// Whether they are of this configuration, at whatever micro-batch.
    pub fn are_of(&self, scenario: &Scenario) -> bool {
        self.scenario.with_batch(1) == scenario.with_batch(1)
    }

    /// Whether nothing was typed.
    pub fn is_empty(&self) -> bool {
        self.typed == [Typed::EMPTY; 3]
    }

    /// What shows the counter.
    pub fn counter_name(&self) -> &'static str {
        COUNTERS.iter().find(|(counter, _)| *counter == self.counter).map_or("", |(_, name)| name)
    }

    /// A line for the configuration, one for the counter, one for each run.
    fn to_text(&self) -> String {
        let runs = self.typed.iter().map(|Typed { batch, peak }| format!("{batch}\t{peak}"));
        let lines = [link::encode(&self.scenario), self.counter_name().to_owned()].into_iter().chain(runs);
        lines.collect::<Vec<_>>().join("\n")
    }

    /// What such a text says. Whoever wrote it, what is no run is left out.
    fn from_text(text: &str) -> Option<Self> {
        let mut lines = text.lines().filter(|_| text.len() <= LONGEST);
        let (query, counter) = (lines.next()?, lines.next()?);
        let mut run = || {
            let (batch, peak) = lines.next().unwrap_or_default().split_once('\t').unwrap_or_default();
            let typed = Typed { batch: batch.to_owned(), peak: peak.to_owned() };
            if typed.read().0.is_some() { typed } else { Typed::EMPTY }
        };
        Some(Self {
            scenario: link::decode(query).scenario,
            counter: COUNTERS.iter().find(|(_, name)| *name == counter)?.0,
            typed: [run(), run(), run()],
        })
    }

    /// Those that this browser has kept. A frame takes nothing from the store.
    pub fn kept() -> Option<Self> {
        // What is stored is a property of the store, and reading one is what the page's script can do already.
        Self::from_text(&get(&storage()?.into(), KEY).as_string()?)
    }

    /// Keeps them in place of those before; of none nothing is kept.
    pub fn keep(&self) {
        if let Some(storage) = storage() {
            _ = if self.is_empty() { storage.remove_item(KEY) } else { storage.set_item(KEY, &self.to_text()) };
        }
    }
}

/// The store of this browser, if it lets the page have one. In a frame nothing is stored.
fn storage() -> Option<web_sys::Storage> {
    if embedded().is_some() { None } else { window().local_storage().ok().flatten() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs() -> Runs {
        let typed = [("1", "22"), ("", ""), ("6", "72.5")];
        Runs {
            scenario: link::decode("v=3&gpus=16&b=2").scenario,
            counter: Counter::Device,
            typed: typed.map(|(batch, peak)| Typed { batch: batch.to_owned(), peak: peak.to_owned() }),
        }
    }

    #[test]
    fn runs_come_back_as_they_were_kept() {
        let read = Runs::from_text(&runs().to_text()).expect("a text of its own");
        assert_eq!(read, runs());
        let measured: Vec<_> = read.measured().iter().map(|run| (run.batch, run.peak)).collect();
        assert_eq!(measured, [(1, Bytes::from_gib(22.0)), (6, Bytes::from_gib(72.5))]);
    }

    #[test]
    fn runs_are_of_a_configuration_at_any_micro_batch_and_of_no_other() {
        let of = |query| runs().are_of(&link::decode(&format!("v=3&{query}")).scenario);
        assert!(of("gpus=16") && of("gpus=16&b=7"));
        assert!(!of("gpus=8"));
    }

    #[test]
    fn what_others_wrote_into_the_store_is_no_run() {
        for text in ["", "v=3", "v=3\nno counter\n1\t22", &"x".repeat(LONGEST + 1)] {
            assert_eq!(Runs::from_text(text), None, "{text:.20}");
        }
        let hostile = "gpus=<script>\nnvidia-smi\n<b>1</b>\t22\n1\tNaN\n0\t-4\n1\t1";
        let read = Runs::from_text(hostile).expect("a counter");
        assert_eq!((read.typed, read.scenario), ([Typed::EMPTY; 3], Scenario::default()));
    }
}
