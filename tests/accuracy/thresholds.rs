//! How far measured rows may be off, by counter and setting: what is reached, beside what is aimed at.

use super::cases::{Counter, Origin, Setting};

/// A limit, in percent as the report prints them.
pub struct Held {
    pub counter: Counter,
    pub setting: Setting,
    pub rows: usize,
    pub median: f64,
    pub ninetieth: f64,
    /// Whether both figures reach their targets, where there are any.
    pub target_met: bool,
}

/// Median and 90th percentile that are aimed at. There is none where a source does not say what it read.
pub fn target(counter: Counter, setting: Setting) -> Option<(f64, f64)> {
    match (counter, setting) {
        (Counter::Unnamed, _) => None,
        (_, Setting::DeepSpeed) => Some((8.0, 20.0)),
        (Counter::Live, _) => Some((4.0, 12.0)),
        (Counter::Reserved | Counter::Device, _) => Some((5.0, 15.0)),
    }
}

/// A part as the report prints it: in percent, to a tenth.
pub fn tenths(part: f64) -> f64 {
    (part * 1000.0).round() / 10.0
}

const fn met(counter: Counter, setting: Setting, rows: usize, median: f64, ninetieth: f64) -> Held {
    Held { counter, setting, rows, median, ninetieth, target_met: true }
}

const fn no_target(counter: Counter, setting: Setting, rows: usize, median: f64, ninetieth: f64) -> Held {
    met(counter, setting, rows, median, ninetieth)
}

/// The target is missed; what is reached is held.
const fn missed(counter: Counter, setting: Setting, rows: usize, median: f64, ninetieth: f64) -> Held {
    Held { target_met: false, ..met(counter, setting, rows, median, ninetieth) }
}

/// What is held of runs of each origin. A row of our own says less of what others will see than one that they published.
pub const BY_ORIGIN: [(Origin, &[Held]); 2] = [(Origin::Published, PUBLISHED), (Origin::Own, OWN)];

/// The reached figures; each line is rows, median and 90th percentile.
const PUBLISHED: &[Held] = &[
    met(Counter::Live, Setting::SingleDevice, 14, 0.9, 11.1),
    met(Counter::Live, Setting::DataParallel, 29, 3.7, 11.5),
    missed(Counter::Live, Setting::TensorParallel, 21, 2.7, 13.8),
    met(Counter::Live, Setting::Pipeline, 42, 1.3, 6.7),
    missed(Counter::Live, Setting::DeepSpeed, 2, 8.8, 13.2),
    missed(Counter::Live, Setting::Adapters, 37, 4.9, 12.6),
    missed(Counter::Live, Setting::Encoders, 3, 1.5, 19.8),
    met(Counter::Reserved, Setting::SingleDevice, 3, 2.3, 4.8),
    met(Counter::Reserved, Setting::DataParallel, 50, 3.7, 12.9),
    missed(Counter::Reserved, Setting::TensorParallel, 12, 5.9, 33.2),
    missed(Counter::Reserved, Setting::Pipeline, 9, 7.8, 15.6),
    missed(Counter::Reserved, Setting::Adapters, 28, 17.9, 47.6),
    missed(Counter::Reserved, Setting::Encoders, 1, 52.7, 52.7),
    missed(Counter::Device, Setting::DeepSpeed, 35, 6.9, 21.1),
    missed(Counter::Device, Setting::Adapters, 3, 10.3, 12.4),
    missed(Counter::Device, Setting::Encoders, 8, 13.1, 16.7),
    no_target(Counter::Unnamed, Setting::SingleDevice, 2, 7.3, 10.0),
    no_target(Counter::Unnamed, Setting::DataParallel, 1, 27.1, 27.1),
    no_target(Counter::Unnamed, Setting::DeepSpeed, 1, 4.0, 4.0),
    no_target(Counter::Unnamed, Setting::Adapters, 18, 8.8, 44.5),
];

/// The same of `gpu.json` and `gpu_2.json`.
const OWN: &[Held] = &[
    met(Counter::Live, Setting::SingleDevice, 106, 0.0, 1.4),
    met(Counter::Live, Setting::Adapters, 50, 0.1, 0.4),
    met(Counter::Live, Setting::Encoders, 15, 0.6, 1.4),
    met(Counter::Reserved, Setting::SingleDevice, 106, 3.3, 9.7),
    met(Counter::Reserved, Setting::Adapters, 50, 2.3, 5.2),
    met(Counter::Reserved, Setting::Encoders, 15, 3.9, 7.3),
    met(Counter::Device, Setting::SingleDevice, 106, 3.4, 10.1),
    met(Counter::Device, Setting::Adapters, 50, 2.3, 5.9),
    met(Counter::Device, Setting::Encoders, 15, 3.3, 8.0),
];
