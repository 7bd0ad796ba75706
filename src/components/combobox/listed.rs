//! What such a field asks for, and what is in use.

use bmax::catalogue::{self, DeviceGroup, DeviceRow};
use bmax::{Origin, Scenario};

/// What is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// A model of the catalogue.
    Model,
    /// A GPU of the catalogue.
    Gpu,
}

/// What is in use: the word of its row and its name, and what is to be said behind that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Current {
    /// The word in a link; empty where it is no row.
    pub slug: &'static str,
    name: &'static str,
    mark: &'static str,
}

impl Current {
    /// The name, and what is said of it.
    pub fn text(self) -> String {
        [self.name, self.mark].concat()
    }

    /// Whether it is no row as it is listed.
    pub const fn is_changed(self) -> bool {
        self.slug.is_empty() || !self.mark.is_empty()
    }
}

impl Listed {
    /// The name of the field.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Model => "Model",
            Self::Gpu => "GPU",
        }
    }

    /// The same for several.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Model => "models",
            Self::Gpu => "GPUs",
        }
    }

    /// What a scenario has.
    pub fn current(self, scenario: &Scenario) -> Current {
        let row = match self {
            Self::Model => catalogue::model_row_of(scenario).map(|(row, edited)| (row.slug, row.name, edited)),
            Self::Gpu => catalogue::device_row_of(scenario).map(|(row, edited)| (row.slug, row.name, edited)),
        };
        let is_unknown = self == Self::Model && scenario.model.origin == Origin::Unknown;
        match row {
            Some((slug, name, edited)) => Current { slug, name, mark: if edited { " (edited)" } else { "" } },
            None => Current { slug: "", name: "Your own", mark: if is_unknown { " (not known)" } else { "" } },
        }
    }

    /// The scenario with the row of this word; a word without a row changes nothing.
    pub fn apply(self, scenario: Scenario, slug: &str) -> Scenario {
        match self {
            Self::Model => catalogue::model(slug).map_or(scenario, |row| row.apply(scenario)),
            Self::Gpu => catalogue::device(slug).map_or(scenario, |row| taken(row, scenario)),
        }
    }
}

/// The scenario on GPUs of this row. Whoever takes a card for a desk has one of them; accelerators for servers stay as many
/// as they were.
fn taken(row: &DeviceRow, scenario: Scenario) -> Scenario {
    let mut with = row.apply(scenario);
    if row.group != DeviceGroup::DataCentre {
        with.cluster.gpus = 1;
    }
    with
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::catalogue::DEVICES;

    #[test]
    fn whoever_takes_a_card_for_a_desk_takes_one() {
        let before = bmax::link::decode("gpus=8").scenario;
        for row in DEVICES {
            let with = Listed::Gpu.apply(before, row.slug);
            let wanted = if row.group == DeviceGroup::DataCentre { 8 } else { 1 };
            assert_eq!((with.device.origin, with.cluster.gpus), (row.slug, wanted), "{}", row.name);
        }
    }
}
