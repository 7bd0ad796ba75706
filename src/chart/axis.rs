//! What a chart says of its horizontal axis: its places are tokens, millions of parameters, or MiB.

use super::scale::{Tick, one_two_five_from, powers_of_two};
use crate::{Bytes, ChartAxis, Field, Model, Scenario, format, sweep};

/// The reference curves of an axis, in the order of legend and table, and the reader's own last.
#[must_use]
pub const fn names(axis: ChartAxis) -> [&'static str; 5] {
    match axis {
        ChartAxis::Sequence | ChartAxis::Memory => ["1B", "7B", "13B", "70B", "yours"],
        ChartAxis::Size => ["RTX 4090", "A100 40 GB", "A100 80 GB", "H200", "yours"],
    }
}

/// The words around a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// The title of the axis, around its symbol.
    pub title: [&'static str; 2],
    /// What a place is a value of.
    pub symbol: &'static str,
    /// What stands behind the number of a place.
    pub unit: &'static str,
    /// What the read-out moves along.
    pub read_out: &'static str,
    /// What the curves are of.
    pub curves: &'static str,
    /// What is said where the place is the reader's own.
    pub own: &'static str,
    /// What stands before the symbol over the ends of the curves.
    pub ends: &'static str,
    /// Before the symbol over the first column of the table.
    pub column: &'static str,
    /// The title of a picture.
    pub claim: &'static str,
}

/// The words of an axis.
#[must_use]
pub const fn words(axis: ChartAxis) -> &'static Words {
    match axis {
        ChartAxis::Sequence => &Words {
            title: ["Sequence length ", " in tokens (1k = 1024)"],
            symbol: "S",
            unit: "tokens",
            read_out: "Sequence length read-out",
            curves: "Model",
            own: ", your length",
            ends: "Ends at ",
            column: "Tokens ",
            claim: "The largest micro-batch falls as sequences get longer",
        },
        ChartAxis::Size => &Words {
            title: ["Parameters ", ", your model’s shape"],
            symbol: "N",
            unit: "parameters",
            read_out: "Model size read-out",
            curves: "GPU",
            own: ", your model",
            ends: "Ends at ",
            column: "Parameters ",
            claim: "The largest micro-batch falls as models get larger",
        },
        ChartAxis::Memory => &Words {
            title: ["Memory ", " of one GPU in GiB"],
            symbol: "M",
            unit: "GiB",
            read_out: "GPU memory read-out",
            curves: "Model",
            own: ", your GPU",
            ends: "Starts at ",
            column: "GiB ",
            claim: "The largest micro-batch grows with the memory of a GPU",
        },
    }
}

/// Where a scenario stands on an axis.
#[must_use]
pub fn own_place(axis: ChartAxis, scenario: &Scenario) -> u32 {
    match axis {
        ChartAxis::Sequence => scenario.recipe.sequence,
        ChartAxis::Size => of_model(&scenario.model),
        ChartAxis::Memory => of_memory(scenario.device.memory),
    }
}

/// The place of a model, in millions of parameters.
pub(super) fn of_model(model: &Model) -> u32 {
    // `as` saturates; no model of the declared range comes near.
    (((model.parameters as f64) / 1e6).round() as u32).max(1)
}

/// The place of a device, in MiB.
pub(super) fn of_memory(memory: Bytes) -> u32 {
    memory.mib().round() as u32
}

/// The number of a place without its unit: 2,048, 6.74B, 79.65.
#[must_use]
pub fn number_text(axis: ChartAxis, place: u32) -> String {
    match axis {
        ChartAxis::Sequence => format::count(place),
        ChartAxis::Size => match place {
            0..1_000 => format!("{place}M"),
            1_000..1_000_000 => format::significant(f64::from(place) / 1e3) + "B",
            _ => format::significant(f64::from(place) / 1e6) + "T",
        },
        ChartAxis::Memory => format::input(f64::from(place) / 1024.0),
    }
}

/// A place with its unit: 1 token, 6.74B parameters, 80 GiB.
#[must_use]
pub fn place_text(axis: ChartAxis, place: u32) -> String {
    if matches!(axis, ChartAxis::Sequence) {
        return format::counted(place, "token", "tokens");
    }
    number_text(axis, place) + " " + words(axis).unit
}

/// A value of the axis behind its symbol: S = 2,048, N = 6.74B, M = 80 GiB.
#[must_use]
pub fn value_text(axis: ChartAxis, place: u32) -> String {
    let number = number_text(axis, place);
    match axis {
        ChartAxis::Memory => number + " GiB",
        ChartAxis::Sequence | ChartAxis::Size => number,
    }
}

/// The last value that an axis can take; a curve that ends there may go on.
pub(super) fn is_beyond(axis: ChartAxis, place: u32) -> bool {
    matches!(axis, ChartAxis::Sequence) && f64::from(place) >= Field::Sequence.bound().max
}

/// The ticks of an axis between two places.
pub(super) fn ticks(axis: ChartAxis, first: u32, last: u32) -> Vec<Tick> {
    match axis {
        ChartAxis::Sequence => powers_of_two(first, last),
        ChartAxis::Size => {
            let label = |value: u32| Tick { value, label: number_text(ChartAxis::Size, value) };
            one_two_five_from(first, last).map(label).collect()
        }
        ChartAxis::Memory => {
            let values = sweep::USUAL_GIB.into_iter().map(|gib| gib * 1024);
            let seen = values.filter(|value| (first..=last).contains(value));
            seen.map(|value| Tick { value, label: format::count(value / 1024) }).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Choice, catalogue};

    #[test]
    fn places_are_written_as_people_say_them() {
        for (axis, place, text) in [
            (ChartAxis::Sequence, 1, "1 token"),
            (ChartAxis::Sequence, 2_048, "2,048 tokens"),
            (ChartAxis::Size, 774, "774M parameters"),
            (ChartAxis::Size, 6_738, "6.74B parameters"),
            (ChartAxis::Size, 405_853, "406B parameters"),
            (ChartAxis::Size, 1_250_000, "1.25T parameters"),
            (ChartAxis::Memory, 81_920, "80 GiB"),
            (ChartAxis::Memory, 81_559, "79.65 GiB"),
        ] {
            assert_eq!(place_text(axis, place), text);
        }
    }

    #[test]
    fn every_axis_has_a_tick_for_each_usual_size() {
        let labels =
            |axis, first, last| ticks(axis, first, last).into_iter().map(|tick| tick.label).collect::<Vec<_>>();
        assert_eq!(labels(ChartAxis::Size, 500, 410_000).join(" "), "500M 1B 2B 5B 10B 20B 50B 100B 200B");
        assert_eq!(labels(ChartAxis::Memory, 8 * 1024, 288 * 1024).join(" "), "8 16 24 40 80 141 192 288");
    }

    #[test]
    fn the_gpus_of_the_curves_are_rows_of_the_catalogue_under_their_names() {
        let rows = super::super::curves::DEVICES.map(|slug| catalogue::device(slug).expect("a row").name);
        for (row, name) in rows.into_iter().zip(names(ChartAxis::Size)) {
            assert!(row.replace(" SXM", "").starts_with(name), "{row} and {name}");
        }
        assert!(ChartAxis::ALL.iter().all(|axis| names(*axis)[4] == "yours"));
    }
}
