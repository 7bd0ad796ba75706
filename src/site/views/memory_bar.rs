//! The stacked bar of a device's memory, and its legend.

use bmax::{Balance, Bucket, Bytes, Estimate};
use leptos::prelude::*;

use super::super::format;

/// The parts of the bar, left to right: buckets, what is free below the headroom, the headroom.
const PARTS: [(&str, &str); 6] = [
    (Bucket::Parameters.key(), Bucket::Parameters.name()),
    (Bucket::Gradients.key(), Bucket::Gradients.name()),
    (Bucket::Optimizer.key(), Bucket::Optimizer.name()),
    (Bucket::Activations.key(), Bucket::Activations.name()),
    ("free", "Free"),
    ("reserved", "Headroom"),
];

/// The size of every part of [`PARTS`]. A step that is too close has eaten into the headroom, which
/// is then drawn as what is left of it.
fn sizes(estimate: &Estimate) -> [Bytes; 6] {
    let bucket = |bucket| estimate.bucket(bucket);
    let (free, headroom) = match estimate.balance() {
        Balance::Free(free) => (free, estimate.reserved),
        Balance::Close(over) => (Bytes::ZERO, estimate.reserved - over),
        Balance::Over(_) => (Bytes::ZERO, Bytes::ZERO),
    };
    [
        bucket(Bucket::Parameters),
        bucket(Bucket::Gradients),
        bucket(Bucket::Optimizer),
        bucket(Bucket::Activations),
        free,
        headroom,
    ]
}

/// The whole length of the bar unless a figure fixes it: the device, or the peak when that is larger.
fn own_length(estimate: &Estimate) -> Bytes {
    let peak = estimate.peak().bytes;
    if peak > estimate.memory { peak } else { estimate.memory }
}

/// One sentence that says what the bar shows.
pub fn sentence(estimate: &Estimate) -> String {
    let peak = format::memory(estimate.peak().bytes);
    let (usable, memory) = (format::memory(estimate.usable()), format::memory(estimate.memory));
    match estimate.balance() {
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

/// What the bar draws, in bytes; it is compared as a whole, so that an unchanged bar is left alone.
#[derive(Clone, Copy, PartialEq)]
struct Drawing {
    sizes: [Bytes; 6],
    usable: Bytes,
    memory: Bytes,
    peak: Bytes,
    length: Bytes,
}

impl Drawing {
    fn of(estimate: &Estimate, length: Option<Bytes>) -> Self {
        Self {
            sizes: sizes(estimate),
            usable: estimate.usable(),
            memory: estimate.memory,
            peak: estimate.peak().bytes,
            length: length.unwrap_or_else(|| own_length(estimate)),
        }
    }

    /// A length on the bar as the style sheet takes it.
    fn share(&self, bytes: Bytes) -> String {
        format!("{:.4}%", bytes.share_of(self.length) * 100.0)
    }

    /// What hangs out of the device.
    fn over(&self) -> Bytes {
        if self.peak > self.memory { self.peak - self.memory } else { Bytes::ZERO }
    }
}

/// The memory of one device at the peak. Widths reach the style sheet as custom properties; the look
/// stays there. A frame is drawn around the device and a mark where its usable memory ends.
#[component]
pub fn MemoryBar(
    /// What to show.
    #[prop(into)]
    estimate: Signal<Estimate>,
    /// The memory that the whole width stands for. A figure in which only the batch changes fixes it,
    /// so that what does not change does not move; what is longer is cut off.
    #[prop(optional, into)]
    length: Option<Signal<Bytes>>,
) -> impl IntoView {
    let drawing =
        Memo::new(move |_| estimate.with(|estimate| Drawing::of(estimate, length.map(|length| length.get()))));
    let share = move |of: fn(&Drawing) -> Bytes| move || drawing.with(|drawing| drawing.share(of(drawing)));
    let part = move |(i, (key, _)): (usize, (&'static str, &'static str))| {
        let share = move || drawing.with(|drawing| drawing.share(drawing.sizes.get(i).copied().unwrap_or_default()));
        view! { <span class="memory-part" data-bucket=key style=("--share", share)></span> }
    };
    let cut = move || drawing.with(|drawing| drawing.peak > drawing.length);
    let usable = move || drawing.with(|drawing| format::gib(drawing.usable));
    let memory = move || drawing.with(|drawing| format::gib(drawing.memory));
    view! {
        <div class="memory-bar" role="img" aria-label=move || estimate.with(sentence)>
            <div class="memory-parts" class:memory-cut=cut>{PARTS.into_iter().enumerate().map(part).collect_view()}</div>
            <span class="memory-over" style=("--from", share(|drawing| drawing.memory)) style=("--share", share(Drawing::over))></span>
            <span class="memory-mark memory-mark-device" style=("--share", share(|drawing| drawing.memory))></span>
            <span class="memory-mark memory-mark-usable" style=("--share", share(|drawing| drawing.usable))></span>
            <span class="memory-label memory-label-usable num" style=("--share", share(|drawing| drawing.usable))>{usable}" usable"</span>
            <span class="memory-label memory-label-device num" style=("--share", share(|drawing| drawing.memory))>{memory}" GPU"</span>
        </div>
    }
}

/// Names, colours and sizes of the bar's parts.
#[component]
pub fn Legend(
    /// What to show.
    #[prop(into)]
    estimate: Signal<Estimate>,
) -> impl IntoView {
    let all = Memo::new(move |_| estimate.with(|estimate| (sizes(estimate), estimate.reserved)));
    let row = move |(i, (key, name)): (usize, (&'static str, &'static str))| {
        let size =
            move || all.with(|(sizes, reserved)| part_size(key, sizes.get(i).copied().unwrap_or_default(), *reserved));
        view! {
            <li>
                <span class="bucket-swatch" data-bucket=key></span>
                <span class="legend-name">{name}</span>
                <span class="legend-size num">{size}</span>
            </li>
        }
    };
    view! { <ul class="legend">{PARTS.into_iter().enumerate().map(row).collect_view()}</ul> }
}

/// A part's size as the legend writes it; a headroom that is partly used says so.
fn part_size(key: &str, size: Bytes, reserved: Bytes) -> String {
    match key {
        "free" | "reserved" if size == Bytes::ZERO => "none".to_owned(),
        "reserved" if size < reserved => format!("{} left", format::memory(size)),
        _ => format::memory(size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::{Scenario, estimate};

    #[test]
    fn the_parts_fill_the_device_exactly_whenever_the_step_fits_on_it() {
        for batch in 1..=4 {
            for headroom in [0.0, 5.0, 10.0, 50.0] {
                let scenario = Scenario::default().with_batch(batch);
                let Ok(scenario) = scenario.with_number(bmax::Field::Headroom, headroom) else { continue };
                let estimate = estimate(&scenario);
                let filled: Bytes = sizes(&estimate).into_iter().sum();
                if !matches!(estimate.balance(), Balance::Over(_)) {
                    assert!((filled.gib() - estimate.memory.gib()).abs() < 1e-9, "b = {batch}, headroom {headroom}");
                } else {
                    assert_eq!(filled, estimate.peak().bytes);
                }
            }
        }
    }

    #[test]
    fn a_bar_of_fixed_length_keeps_the_widths_of_what_does_not_change() {
        let length = Some(Bytes::from_gib(100.0));
        let [one, four] = [1, 4].map(|batch| Drawing::of(&estimate(&Scenario::default().with_batch(batch)), length));
        assert_eq!(one.share(one.sizes[0]), four.share(four.sizes[0]));
        assert_eq!(one.over(), Bytes::ZERO);
        assert!(four.over() > Bytes::ZERO);
    }
}
