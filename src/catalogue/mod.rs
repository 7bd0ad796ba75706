//! Named models and devices: what a reader can pick instead of typing.
//!
//! Every row is data with its source and the day it was looked up. The estimator knows nothing of
//! this module: it reads the numbers of a [`Scenario`] and never asks where they came from, so a
//! row may be added or corrected without touching a formula.
//!
//! The default scenario lives here, because it is the one place that names rows.

mod devices;
mod models;

pub use devices::{DEFAULT_DEVICE, DEVICE_SOURCES, DEVICES, DeviceGroup, DeviceRow, DeviceSource};
pub use models::{DEFAULT_MODEL, MODEL_SOURCES, MODELS, ModelGroup, ModelRow, ModelSource};

use crate::{
    BatchUnit, Cluster, Comparison, Device, Goal, Method, Percent, Precision, Recipe, Recomputation, Scenario, Switch,
    ZeroStage,
};

/// The model with this slug.
pub fn model(slug: &str) -> Option<&'static ModelRow> {
    MODELS.iter().find(|row| row.slug == slug)
}

/// The device with this slug.
pub fn device(slug: &str) -> Option<&'static DeviceRow> {
    DEVICES.iter().find(|row| row.slug == slug)
}

/// The row a scenario's model was taken from, and whether any of its numbers was edited since.
pub fn model_row_of(scenario: &Scenario) -> Option<(&'static ModelRow, bool)> {
    model(scenario.model.origin).map(|row| (row, scenario.model != row.model))
}

/// The row a scenario's device was taken from, and whether its memory was edited since.
///
/// Headroom is the reader's choice and no property of the device, so changing it edits nothing.
pub fn device_row_of(scenario: &Scenario) -> Option<(&'static DeviceRow, bool)> {
    device(scenario.device.origin).map(|row| (row, scenario.device.memory_mib != row.memory_mib))
}

impl ModelRow {
    /// The same scenario with this row's model.
    #[must_use]
    pub fn apply(&self, mut scenario: Scenario) -> Scenario {
        scenario.model = self.model;
        scenario
    }
}

impl DeviceRow {
    /// The same scenario on this row's device; the headroom stays what it was.
    #[must_use]
    pub fn apply(&self, mut scenario: Scenario) -> Scenario {
        scenario.device.origin = self.slug;
        scenario.device.memory_mib = self.memory_mib;
        scenario
    }
}

/// The question a reader sees first: it fits, and each of its neighbours teaches something.
///
/// ```
/// use bmax::{Scenario, catalogue};
/// let scenario = Scenario::default();
/// assert_eq!(scenario.model, catalogue::DEFAULT_MODEL.model);
/// assert_eq!(catalogue::device_row_of(&scenario), Some((catalogue::DEFAULT_DEVICE, false)));
/// ```
impl Default for Scenario {
    fn default() -> Self {
        Self {
            method: Method::Workshop,
            model: DEFAULT_MODEL.model,
            recipe: Recipe {
                sequence: 2_048,
                batch: 3,
                precision: Precision::Bf16,
                recomputation: Recomputation::Selective,
                dropout: Switch::On,
            },
            cluster: Cluster { gpus: 8, zero: ZeroStage::Stage3, tensor_parallel: 1, sequence_parallel: Switch::Off },
            device: Device {
                origin: DEFAULT_DEVICE.slug,
                memory_mib: DEFAULT_DEVICE.memory_mib,
                headroom: Percent::new(10.0),
            },
            goal: Goal { global_batch: 256, unit: BatchUnit::Sequences },
            comparison: Comparison { gpus: 64, recomputation: Recomputation::Full },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;

    /// Slugs are words of a link: they must be unique and need no escaping there.
    fn assert_slugs<'a>(slugs: impl Iterator<Item = &'a str>) {
        let mut seen = std::collections::BTreeSet::new();
        for slug in slugs {
            assert!(seen.insert(slug), "{slug} twice");
            assert!(slug.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b)), "{slug}");
        }
    }

    /// A day written as ISO 8601 has it.
    fn is_date(text: &str) -> bool {
        text.len() == 10
            && text.bytes().enumerate().all(|(i, b)| if i == 4 || i == 7 { b == b'-' } else { b.is_ascii_digit() })
    }

    #[test]
    fn slugs_are_unique_words_and_lead_back_to_their_row() {
        assert_slugs(MODELS.iter().map(|row| row.slug));
        assert_slugs(DEVICES.iter().map(|row| row.slug));
        assert!(MODELS.iter().all(|row| model(row.slug) == Some(row)));
        assert!(DEVICES.iter().all(|row| device(row.slug) == Some(row)));
        assert_eq!((model("no-such"), device("no-such")), (None, None));
    }

    #[test]
    fn every_row_has_a_name_a_source_and_a_date() {
        for row in MODELS {
            let source = row.source().expect("a row of the catalogue");
            assert!(!row.name.is_empty() && !source.source.is_empty() && is_date(source.retrieved), "{}", row.slug);
        }
        for row in DEVICES {
            let source = row.source().expect("a row of the catalogue");
            assert!(!row.name.is_empty() && !source.memory.is_empty() && !source.visible.is_empty(), "{}", row.slug);
            assert!(is_date(source.retrieved), "{}", row.slug);
        }
    }

    #[test]
    fn every_number_of_every_row_is_inside_its_declared_range() {
        let scenarios = MODELS.iter().map(|row| (row.slug, row.apply(Scenario::default())));
        let scenarios = scenarios.chain(DEVICES.iter().map(|row| (row.slug, row.apply(Scenario::default()))));
        for (slug, scenario) in scenarios {
            for &field in Field::ALL {
                let value = scenario.number(field);
                assert_eq!(field.check(value), Ok(value), "{slug}: {}", field.bound().name);
            }
        }
    }

    #[test]
    fn an_applied_row_is_recognised_until_a_number_of_it_is_edited() {
        let applied = model("llama-3.1-8b").expect("listed").apply(Scenario::default());
        assert_eq!(model_row_of(&applied).map(|(row, edited)| (row.slug, edited)), Some(("llama-3.1-8b", false)));
        let edited = applied.with_number(Field::Layers, 31.0).expect("in range");
        assert_eq!(model_row_of(&edited).map(|(row, edited)| (row.slug, edited)), Some(("llama-3.1-8b", true)));

        let applied = device("h200").expect("listed").apply(Scenario::default());
        assert_eq!(device_row_of(&applied).map(|(row, edited)| (row.slug, edited)), Some(("h200", false)));
        let roomier = applied.with_number(Field::Headroom, 0.0).expect("in range");
        assert_eq!(device_row_of(&roomier).map(|(_, edited)| edited), Some(false));
        let edited = applied.with_number(Field::Memory, 100.0).expect("in range");
        assert_eq!(device_row_of(&edited).map(|(_, edited)| edited), Some(true));
    }

    #[test]
    fn numbers_from_nowhere_have_no_row() {
        let mut scenario = Scenario::default();
        scenario.model.origin = "";
        scenario.device.origin = "";
        assert_eq!((model_row_of(&scenario), device_row_of(&scenario)), (None, None));
    }

    #[test]
    fn the_default_is_the_seven_billion_preset_on_an_a100_of_80_gib() {
        assert_eq!((DEFAULT_MODEL.slug, DEFAULT_DEVICE.slug), ("7b", "a100-80"));
        assert_eq!(Scenario::default().device.memory().gib(), 80.0);
        assert!(Scenario::default().conflicts().is_empty());
    }
}
