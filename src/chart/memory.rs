//! The bar of one device's memory at the peak of a step, before anything is drawn.

use std::cmp::Ordering;

use crate::{Balance, Bucket, Bytes, Estimate, format};

/// How many buckets there are.
pub const BUCKETS: usize = Bucket::ALL.len();
/// The size of each part of the bar, left to right: the buckets, what is free below the headroom, the
/// headroom.
pub type Sizes = [Bytes; BUCKETS + 2];

/// Word and name of the part at this place.
#[must_use]
pub fn part(at: usize) -> (&'static str, &'static str) {
    match Bucket::ALL.get(at) {
        Some(bucket) => (bucket.key(), bucket.name()),
        None if at == BUCKETS => ("free", "Free"),
        None => ("reserved", "Headroom"),
    }
}

/// The sizes at the peak. A step that is too close has eaten into the headroom, which is then drawn as
/// what is left of it.
fn sizes(estimate: &Estimate) -> Sizes {
    let (position, _) = estimate.binding();
    let (free, headroom) = match estimate.balance() {
        Balance::Free(free) => (free, estimate.reserved),
        Balance::Close(over) => (Bytes::ZERO, estimate.reserved - over),
        Balance::Over(_) => (Bytes::ZERO, Bytes::ZERO),
    };
    let mut sizes = [Bytes::ZERO; BUCKETS + 2];
    for (size, &bucket) in sizes.iter_mut().zip(Bucket::ALL) {
        *size = estimate.bucket_at(bucket, position);
    }
    sizes[BUCKETS] = free;
    sizes[BUCKETS + 1] = headroom;
    sizes
}

/// The whole length of the bar unless a figure fixes it: the device, or the peak when that is larger.
fn own_length(estimate: &Estimate) -> Bytes {
    let peak = estimate.peak().bytes;
    if peak > estimate.memory { peak } else { estimate.memory }
}

/// What the bar and its legend show.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryBar {
    /// The parts at the peak, left to right.
    pub sizes: Sizes,
    /// How the peak stands to what may be used.
    pub balance: Balance,
    /// What should be kept free.
    pub reserved: Bytes,
    /// What a step may use.
    pub usable: Bytes,
    /// The whole device.
    pub memory: Bytes,
    /// What the step takes at its peak.
    pub peak: Bytes,
    /// What the whole length of the bar stands for.
    pub length: Bytes,
}

impl MemoryBar {
    /// The bar of an estimate, as long as `length` or as the estimate needs.
    #[must_use]
    pub fn of(estimate: &Estimate, length: Option<Bytes>) -> Self {
        Self {
            sizes: sizes(estimate),
            balance: estimate.balance(),
            reserved: estimate.reserved,
            usable: estimate.usable(),
            memory: estimate.memory,
            peak: estimate.peak().bytes,
            length: length.unwrap_or_else(|| own_length(estimate)),
        }
    }

    /// Whether the legend names a part: buckets that are there at the peak, what is free, and the
    /// headroom where any is kept.
    #[must_use]
    pub fn names(&self, at: usize) -> bool {
        match at.cmp(&BUCKETS) {
            Ordering::Less => self.sizes[at] > Bytes::ZERO,
            Ordering::Equal => true,
            Ordering::Greater => self.reserved > Bytes::ZERO,
        }
    }

    /// What hangs out of the device.
    #[must_use]
    pub fn over(&self) -> Bytes {
        if self.peak > self.memory { self.peak - self.memory } else { Bytes::ZERO }
    }

    /// One sentence that says what the bar shows.
    #[must_use]
    pub fn sentence(&self) -> String {
        let peak = format::memory(self.peak);
        let (usable, memory) = (format::memory(self.usable), format::memory(self.memory));
        match self.balance {
            Balance::Free(free) => format!("{peak} of {usable} usable: {} left.", format::memory(free)),
            Balance::Close(over) => {
                format!(
                    "{peak} is {} more than the {usable} that should be used; it eats into the headroom.",
                    format::memory(over)
                )
            }
            Balance::Over(over) => format!("{peak} is {} more than the {memory} of the GPU.", format::memory(over)),
        }
    }

    /// A part's size as the legend writes it; a headroom that is partly used says so.
    #[must_use]
    pub fn size_text(&self, at: usize) -> String {
        let ((key, _), size, reserved) = (part(at), self.sizes.get(at).copied().unwrap_or(Bytes::ZERO), self.reserved);
        match key {
            "free" | "reserved" if size == Bytes::ZERO => "none".to_owned(),
            "reserved" if size < reserved => format!("{} left", format::memory(size)),
            _ => format::memory(size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Choice, Method, Scenario, estimate};

    #[test]
    fn the_parts_fill_the_device_exactly_whenever_the_step_fits_on_it() {
        let cases = Method::ALL.iter().flat_map(|method| (1..=4).map(move |batch| (*method, batch)));
        for (method, batch) in cases {
            for headroom in [0.0, 5.0, 10.0, 50.0] {
                let scenario = Scenario { method, ..Scenario::default() }.with_batch(batch);
                let Ok(scenario) = scenario.with_number(crate::Field::Headroom, headroom) else { continue };
                let estimate = estimate(&scenario);
                let filled: Bytes = sizes(&estimate).into_iter().sum();
                if !matches!(estimate.balance(), Balance::Over(_)) {
                    assert!((filled.gib() - estimate.memory.gib()).abs() < 1e-9, "b = {batch}, headroom {headroom}");
                } else {
                    assert!((filled.gib() - estimate.peak().bytes.gib()).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn a_bar_of_fixed_length_keeps_the_widths_of_what_does_not_change() {
        let length = Some(Bytes::from_gib(120.0));
        let [one, nine] = [1, 9].map(|batch| MemoryBar::of(&estimate(&Scenario::default().with_batch(batch)), length));
        // The optimizer state; gathered weights differ from instant to instant.
        assert_eq!(one.sizes[2].share_of(one.length), nine.sizes[2].share_of(nine.length));
        assert_eq!(one.over(), Bytes::ZERO);
        assert!(nine.over() > Bytes::ZERO);
    }

    #[test]
    fn the_legend_names_what_is_there() {
        let named = |method| {
            let drawing = MemoryBar::of(&estimate(&Scenario { method, ..Scenario::default() }), None);
            (0..BUCKETS + 2).filter(|at| drawing.names(*at)).map(|at| part(at).1).collect::<Vec<_>>()
        };
        let four = ["Parameters", "Gradients", "Optimizer state", "Activations", "Free", "Headroom"];
        assert_eq!(named(Method::Workshop), four);
        assert_eq!(named(Method::Paper), four);
        let ledger = named(Method::Ledger);
        assert!(ledger.contains(&"Temporary") && ledger.contains(&"Runtime") && !ledger.contains(&"Headroom"));
    }
}
