//! The stacked bar of a device's memory, and its legend.

use std::cmp::Ordering;
use std::rc::Rc;

use bmax::{Balance, Bucket, Bytes, Estimate};
use leptos::prelude::*;

use super::super::dom::{El, el};
use super::super::format;

/// How many buckets there are.
const BUCKETS: usize = Bucket::ALL.len();
/// The size of each part of the bar, left to right: the buckets, what is free below the headroom, the
/// headroom.
type Sizes = [Bytes; BUCKETS + 2];

/// Word and name of the part at this place.
fn part(at: usize) -> (&'static str, &'static str) {
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

/// What the bar and its legend show; it is compared as a whole, so that an unchanged bar is left alone.
#[derive(Clone, Copy, PartialEq)]
struct Drawing {
    sizes: Sizes,
    balance: Balance,
    reserved: Bytes,
    usable: Bytes,
    memory: Bytes,
    peak: Bytes,
    length: Bytes,
}

impl Drawing {
    fn of(estimate: &Estimate, length: Option<Bytes>) -> Self {
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
    fn names(&self, at: usize) -> bool {
        match at.cmp(&BUCKETS) {
            Ordering::Less => self.sizes[at] > Bytes::ZERO,
            Ordering::Equal => true,
            Ordering::Greater => self.reserved > Bytes::ZERO,
        }
    }

    /// A length on the bar as the style sheet takes it.
    fn share(&self, bytes: Bytes) -> String {
        format::css_percent(bytes.share_of(self.length))
    }

    /// What hangs out of the device.
    fn over(&self) -> Bytes {
        if self.peak > self.memory { self.peak - self.memory } else { Bytes::ZERO }
    }

    /// One sentence that says what the bar shows.
    fn sentence(&self) -> String {
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
}

/// The drawing of what `estimate` gives, made once for every change.
fn drawn(estimate: Rc<dyn Fn() -> Estimate>, length: Option<Rc<dyn Fn() -> Bytes>>) -> Memo<Drawing> {
    // A memo asks for what may move between threads; a stored value may, and is read on its own one.
    let source = StoredValue::new_local((estimate, length));
    Memo::new(move |_| {
        source.with_value(|(estimate, length)| Drawing::of(&estimate(), length.as_ref().map(|length| length())))
    })
}

/// The memory of one device at the peak. Widths reach the style sheet as custom properties; the look
/// stays there. A frame is drawn around the device and a mark where its usable memory ends.
pub fn memory_bar(estimate: Rc<dyn Fn() -> Estimate>) -> El {
    bar(drawn(estimate, None))
}

/// The same with the memory that the whole width stands for. A figure in which only the batch changes
/// fixes it, so that what does not change does not move; what is longer is cut off.
pub fn memory_bar_of_length(estimate: Rc<dyn Fn() -> Estimate>, length: Rc<dyn Fn() -> Bytes>) -> El {
    bar(drawn(estimate, Some(length)))
}

fn bar(drawing: Memo<Drawing>) -> El {
    let device = |drawing: &Drawing| drawing.memory;
    let usable = |drawing: &Drawing| drawing.usable;
    let over = piece(drawing, "memory-over", Drawing::over);
    el("div")
        .class("memory-bar")
        .attr("role", "img")
        .bind("aria-label", move || drawing.with(Drawing::sentence))
        .children(vec![
            parts(drawing),
            over.variable("--from", move || drawing.with(|drawing| drawing.share(drawing.memory))),
            piece(drawing, "memory-mark memory-mark-device", device),
            piece(drawing, "memory-mark memory-mark-usable", usable),
            label(drawing, "memory-label memory-label-usable num", usable, " usable"),
            label(drawing, "memory-label memory-label-device num", device, " GPU"),
        ])
}

/// The parts side by side, at most as long as the bar.
fn parts(drawing: Memo<Drawing>) -> El {
    let part = |at| {
        let share = move || drawing.with(|drawing| drawing.share(drawing.sizes[at]));
        el("span").class("memory-part").attr("data-bucket", part(at).0).variable("--share", share)
    };
    el("div")
        .class("memory-parts")
        .toggle_class("memory-cut", move || drawing.with(|drawing| drawing.peak > drawing.length))
        .children((0..BUCKETS + 2).map(part).collect())
}

/// Something on the bar that lies or reaches as far along it as `of` says.
fn piece(drawing: Memo<Drawing>, class: &str, of: fn(&Drawing) -> Bytes) -> El {
    el("span").class(class).variable("--share", move || drawing.with(|drawing| drawing.share(of(drawing))))
}

/// A mark's size and name.
fn label(drawing: Memo<Drawing>, class: &str, of: fn(&Drawing) -> Bytes, name: &str) -> El {
    piece(drawing, class, of).bind_text(move || drawing.with(|drawing| format::gib(of(drawing)))).text(name)
}

/// Names, colours and sizes of the bar's parts.
pub fn legend(estimate: Rc<dyn Fn() -> Estimate>) -> El {
    let drawing = drawn(estimate, None);
    let row = |at| {
        let (key, name) = part(at);
        let size = move || drawing.with(|drawing| part_size(key, drawing.sizes[at], drawing.reserved));
        el("li").toggle("hidden", move || drawing.with(|drawing| !drawing.names(at))).children(vec![
            el("span").class("bucket-swatch").attr("data-bucket", key),
            el("span").class("legend-name").text(name),
            el("span").class("legend-size num").bind_text(size),
        ])
    };
    el("ul").class("legend").children((0..BUCKETS + 2).map(row).collect())
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
    use bmax::{Choice, Method, Scenario, estimate};

    #[test]
    fn the_parts_fill_the_device_exactly_whenever_the_step_fits_on_it() {
        let cases = Method::ALL.iter().flat_map(|method| (1..=4).map(move |batch| (*method, batch)));
        for (method, batch) in cases {
            for headroom in [0.0, 5.0, 10.0, 50.0] {
                let scenario = Scenario { method, ..Scenario::default() }.with_batch(batch);
                let Ok(scenario) = scenario.with_number(bmax::Field::Headroom, headroom) else { continue };
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
        let [one, nine] = [1, 9].map(|batch| Drawing::of(&estimate(&Scenario::default().with_batch(batch)), length));
        assert_eq!(one.share(one.sizes[0]), nine.share(nine.sizes[0]));
        assert_eq!(one.over(), Bytes::ZERO);
        assert!(nine.over() > Bytes::ZERO);
    }

    #[test]
    fn the_legend_names_what_is_there() {
        let named = |method| {
            let drawing = Drawing::of(&estimate(&Scenario { method, ..Scenario::default() }), None);
            (0..BUCKETS + 2).filter(|at| drawing.names(*at)).map(|at| part(at).1).collect::<Vec<_>>()
        };
        let four = ["Parameters", "Gradients", "Optimizer state", "Activations", "Free", "Headroom"];
        assert_eq!(named(Method::Workshop), four);
        assert_eq!(named(Method::Paper), four);
        let ledger = named(Method::Ledger);
        assert!(ledger.contains(&"Temporary") && ledger.contains(&"Runtime") && !ledger.contains(&"Headroom"));
    }
}
