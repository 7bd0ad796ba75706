//! The stacked bar of a device's memory, and its legend.

use std::cmp::Ordering;
use std::rc::Rc;

use bmax::{Balance, Bucket, Bytes, Estimate};
use web_sys::Element;

use super::super::dom::{El, el, keep};
use super::super::format;
use super::super::live::{write_attribute, write_text};

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

/// What the bar and its legend show.
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

    /// Gives an element and those after it these lengths.
    fn spread(&self, first: Option<Element>, lengths: &[Bytes]) {
        let mut next = first;
        for length in lengths {
            let Some(element) = next else { break };
            next = element.next_element_sibling();
            _ = El::at(element).set_variable("--share", &self.share(*length));
        }
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

/// The memory of one device at the peak, drawn again whenever what `estimate` reads changes.
pub fn memory_bar(estimate: Rc<dyn Fn() -> Estimate>) -> El {
    following(el("div").class("memory-bar").attr("role", "img"), estimate, |bar, estimate| {
        draw_bar(bar, estimate, None);
    })
}

/// Names, colours and sizes of the bar's parts, drawn again whenever what `estimate` reads changes.
pub fn legend(estimate: Rc<dyn Fn() -> Estimate>) -> El {
    following(el("ul").class("legend"), estimate, draw_legend)
}

fn following(place: El, estimate: Rc<dyn Fn() -> Estimate>, draw: fn(&El, &Estimate)) -> El {
    let drawn = place.clone();
    keep(Box::new(move || draw(&drawn, &estimate())));
    place
}

/// Draws the bar. Widths reach the style sheet as custom properties; the look stays there. A frame is
/// drawn around the device and a mark where its usable memory ends. The whole width stands for
/// `length`, if one is given: a figure in which only the batch changes fixes it, so that what does not
/// change does not move; what is longer is cut off.
pub fn draw_bar(bar: &El, estimate: &Estimate, length: Option<Bytes>) {
    let drawing = Drawing::of(estimate, length);
    if bar.element().first_element_child().is_none() {
        let part = |at| el("span").class("memory-part").attr("data-bucket", part(at).0);
        let parts = el("div").class("memory-parts").children((0..BUCKETS + 2).map(part).collect());
        let pieces = PIECES.map(|class| el("span").class(class));
        _ = bar.clone().child(parts).children(pieces.into());
    }
    write_attribute(bar.element(), "aria-label", &drawing.sentence());
    _ = bar.clone().set_variable("--from", &drawing.share(drawing.memory));
    let Some(parts) = bar.element().first_element_child() else { return };
    _ = parts.class_list().toggle_with_force("memory-cut", drawing.peak > drawing.length);
    drawing.spread(parts.first_element_child(), &drawing.sizes);
    let Drawing { usable, memory, .. } = drawing;
    let ends = [drawing.over(), memory, usable, usable, memory];
    drawing.spread(parts.next_element_sibling(), &ends);
    if let Some(device) = bar.element().last_element_child() {
        write_text(&device, &(format::gib(memory) + " GPU"));
        if let Some(label) = device.previous_element_sibling() {
            write_text(&label, &(format::gib(usable) + " usable"));
        }
    }
}

/// What lies over the parts of the bar.
const PIECES: [&str; 5] = [
    "memory-over",
    "memory-mark memory-mark-device",
    "memory-mark memory-mark-usable",
    "memory-label memory-label-usable num",
    "memory-label memory-label-device num",
];

/// Draws the legend: names, colours and sizes of the bar's parts.
pub fn draw_legend(list: &El, estimate: &Estimate) {
    let drawing = Drawing::of(estimate, None);
    let mut next = list.element().first_element_child();
    for (at, &size) in drawing.sizes.iter().enumerate() {
        let (key, name) = part(at);
        let row = next.unwrap_or_else(|| {
            let row = el("li").children(vec![
                el("span").class("bucket-swatch").attr("data-bucket", key),
                el("span").class("legend-name").text(name),
                el("span").class("legend-size num"),
            ]);
            _ = list.clone().child(row.clone());
            row.element().clone()
        });
        _ = row.toggle_attribute_with_force("hidden", !drawing.names(at));
        if let Some(place) = row.last_element_child() {
            write_text(&place, &part_size(key, size, drawing.reserved));
        }
        next = row.next_element_sibling();
    }
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
