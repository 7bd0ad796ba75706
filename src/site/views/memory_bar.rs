//! The stacked bar of a device's memory, and its legend.

use std::rc::Rc;

use bmax::chart::{BUCKETS, MemoryBar, part};
use bmax::{Bytes, Estimate};
use web_sys::Element;

use super::super::dom::{El, el, keep};
use super::super::format;
use super::super::live::{write_attribute, write_text};

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
    let drawing = MemoryBar::of(estimate, length);
    if bar.element().first_element_child().is_none() {
        let part = |at| el("span").class("memory-part").attr("data-bucket", part(at).0);
        let parts = el("div").class("memory-parts").children((0..BUCKETS + 2).map(part).collect());
        let pieces = PIECES.map(|class| el("span").class(class));
        _ = bar.clone().child(parts).children(pieces.into());
    }
    write_attribute(bar.element(), "aria-label", &drawing.sentence());
    _ = bar.clone().set_variable("--from", &share(&drawing, drawing.memory));
    let Some(parts) = bar.element().first_element_child() else { return };
    _ = parts.class_list().toggle_with_force("memory-cut", drawing.peak > drawing.length);
    spread(&drawing, parts.first_element_child(), &drawing.sizes);
    let MemoryBar { usable, memory, .. } = drawing;
    let ends = [drawing.over(), memory, usable, usable, memory];
    spread(&drawing, parts.next_element_sibling(), &ends);
    if let Some(device) = bar.element().last_element_child() {
        write_text(&device, &(format::gib(memory) + " GPU"));
        if let Some(label) = device.previous_element_sibling() {
            write_text(&label, &(format::gib(usable) + " usable"));
        }
    }
}

/// A length on the bar as the style sheet takes it.
fn share(bar: &MemoryBar, bytes: Bytes) -> String {
    format::css_percent(bytes.share_of(bar.length))
}

/// Gives an element and those after it these lengths.
fn spread(bar: &MemoryBar, first: Option<Element>, lengths: &[Bytes]) {
    let mut next = first;
    for length in lengths {
        let Some(element) = next else { break };
        next = element.next_element_sibling();
        _ = El::at(element).set_variable("--share", &share(bar, *length));
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
    let drawing = MemoryBar::of(estimate, None);
    let mut next = list.element().first_element_child();
    for at in 0..BUCKETS + 2 {
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
            write_text(&place, &drawing.size_text(at));
        }
        next = row.next_element_sibling();
    }
}
