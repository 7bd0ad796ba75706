//! The memory bar as a picture: what fills one device in a step.

use super::frame::{MARGIN, SMALL_LINE, head, paragraph, width_of};
use super::paint::Gradient;
use super::{Drawing, Footer, Look, Theme, px};
use crate::chart::{MemoryBar, PARTS, Tint, part};
use crate::{Bucket, Bytes, Scenario, estimate, format};

/// Width of the picture, in CSS pixels.
const WIDTH: f64 = 960.0;
/// Height of the bar.
const BAR: f64 = 52.0;
/// Columns of the legend.
const COLUMNS: usize = 4;

/// The file of the memory bar.
///
/// `page` is the address of the page without its query; the link at the foot is made of it.
#[must_use]
pub fn memory(scenario: &Scenario, look: Look, page: &str) -> String {
    let bar = MemoryBar::of(&estimate(scenario), None);
    let theme = look.theme;
    let mut drawing = Drawing::new("memory");
    let title = "What fills the memory of one GPU in a step";
    let mut y = head(&mut drawing, theme, title, scenario, WIDTH);
    let sentence = bar.sentence();
    for line in paragraph(&sentence, WIDTH - 2.0 * MARGIN, 15.0) {
        y += 26.0;
        drawing.text((MARGIN, y), &[("font-size", "15"), ("fill", theme.colour("--ink"))], &line);
    }
    y += 38.0;
    let place = Place { corner: (MARGIN, y), length: WIDTH - 2.0 * MARGIN, height: BAR, letters: 12.0 };
    parts(&mut drawing, theme, &bar, place);
    y = legend(&mut drawing, theme, &bar, y + BAR + 46.0);
    let footer = Footer::of(scenario, page, WIDTH);
    footer.draw(&mut drawing, theme, y);
    drawing.finish((WIDTH, y + footer.height()), look, title, &sentence)
}

/// Where a bar stands, and how large its labels are.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Its upper left corner.
    pub corner: (f64, f64),
    pub length: f64,
    pub height: f64,
    /// The size of the letters.
    pub letters: f64,
}

/// The bar: its parts, what hangs out of the device, the device as a frame, where the usable part of
/// it ends.
pub(super) fn parts(drawing: &mut Drawing, theme: Theme, bar: &MemoryBar, place: Place) {
    let Place { corner: (start, top), length, height, letters } = place;
    let at = |bytes: Bytes| bytes.share_of(bar.length).clamp(0.0, 1.0) * length;
    let mut left = start;
    for (position, &size) in bar.drawn.iter().enumerate() {
        let width = at(size).min(start + length - left).max(0.0);
        fill(drawing, theme, part(position), (left, top), (width, height));
        // A seam between neighbours, as on the page.
        drawing.rect((left + width - 1.0, top), (width.min(1.0), height), &[("fill", theme.colour("--panel"))]);
        left += width;
    }
    let device = at(bar.memory);
    let over = hatched(drawing, theme.colour("--bad"), 3.0, 8.0, (start + device, top), (at(bar.over()), height));
    drawing.rect((start + device, top), (at(bar.over()).min(length - device), height), &[("fill", &over)]);
    let ink = theme.colour("--ink");
    let frame = [("fill", "none"), ("stroke", ink), ("stroke-width", "2"), ("rx", "3")];
    drawing.rect((start + 1.0, top - 1.0), (device - 2.0, height + 2.0), &frame);
    let usable = start + at(bar.usable);
    let dashed = [("stroke", ink), ("stroke-width", "2"), ("stroke-dasharray", "4 3")];
    drawing.line((usable - 1.0, top - 8.0), (usable - 1.0, top + height), &dashed);
    let (soft, size) = (theme.colour("--ink-soft"), px(letters));
    let texts = [
        (usable, top - 13.0, format::gib(bar.usable) + " usable"),
        (start + device, top + height + 1.5 * letters, format::gib(bar.memory) + " GPU"),
    ];
    for (end, y, words) in texts {
        // A label stays inside the picture at either end.
        let end = end.max(start + width_of(&words, letters));
        drawing.text((end, y), &[("font-size", &size), ("text-anchor", "end"), ("fill", soft)], &words);
    }
}

/// A part of the bar, or its sample in the legend.
pub(super) fn fill(drawing: &mut Drawing, theme: Theme, tint: Tint, corner: (f64, f64), size: (f64, f64)) {
    let colour = theme.bucket(tint.key());
    // Colours above each other, each with as much room as the others.
    let layers: &[Bucket] = match tint {
        Tint::Turns => &[Bucket::Gradients, Bucket::Activations, Bucket::Logits],
        Tint::Other => &[Bucket::Batch, Bucket::Temporary, Bucket::Runtime],
        Tint::Bucket(_) | Tint::Free => return drawing.rect(corner, size, &[("fill", colour)]),
        Tint::Reserved => &[],
    };
    let height = size.1 / layers.len().max(1) as f64;
    for (place, bucket) in layers.iter().enumerate() {
        let top = corner.1 + height * place as f64;
        drawing.rect((corner.0, top), (size.0, height), &[("fill", theme.bucket(bucket.key()))]);
    }
    if !layers.is_empty() {
        return;
    }
    // Memory that is there and should not be touched: hatched, not filled.
    drawing.rect(corner, size, &[("fill", theme.bucket("free"))]);
    let paint = hatched(drawing, colour, 1.0, 5.0, corner, size);
    drawing.rect(corner, size, &[("fill", &paint), ("stroke", colour), ("stroke-width", "1")]);
}

/// A paint of stripes so wide, each so far from the next.
fn hatched(
    drawing: &mut Drawing,
    colour: &str,
    stripe: f64,
    every: f64,
    corner: (f64, f64),
    size: (f64, f64),
) -> String {
    let digits = u32::from_str_radix(colour.trim_start_matches('#'), 16).unwrap_or_default();
    let [_, red, green, blue] = digits.to_be_bytes();
    let stops = format!("rgb({red},{green},{blue}) 0px {stripe}px, transparent {stripe}px {every}px");
    match Gradient::read(&format!("repeating-linear-gradient(135deg, {stops})")) {
        Some(gradient) => drawing.gradient(&gradient, corner, size),
        None => colour.to_owned(),
    }
}

/// Names, colours and sizes of the parts; returns how far down they reach.
fn legend(drawing: &mut Drawing, theme: Theme, bar: &MemoryBar, top: f64) -> f64 {
    let column = (WIDTH - 2.0 * MARGIN) / COLUMNS as f64;
    let named: Vec<usize> = (0..PARTS).filter(|at| bar.names(*at)).collect();
    for (place, &at) in named.iter().enumerate() {
        let tint = part(at);
        let left = MARGIN + column * (place % COLUMNS) as f64;
        let y = top + 48.0 * (place / COLUMNS) as f64;
        fill(drawing, theme, tint, (left, y - 11.0), (14.0, 14.0));
        if tint == Tint::Free {
            let border = [("fill", "none"), ("stroke", theme.colour("--ink-soft"))];
            drawing.rect((left + 0.5, y - 10.5), (13.0, 13.0), &border);
        }
        drawing.text((left + 22.0, y), &[("font-size", "13"), ("fill", theme.colour("--ink-soft"))], tint.name());
        let bold = [("font-size", "14"), ("font-weight", "600"), ("fill", theme.colour("--ink"))];
        drawing.text((left + 22.0, y + SMALL_LINE), &bold, &bar.size_text(at));
    }
    top + 48.0 * named.len().div_ceil(COLUMNS) as f64 - 12.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_names_and_sizes_what_the_ledger_counts() {
        let scenario = Scenario::workshop();
        let file = memory(&scenario, Look { theme: Theme::Dark, ground: false }, "");
        let estimate = estimate(&scenario);
        roxmltree::Document::parse(&file).expect("well-formed");
        for bucket in crate::chart::NAMED {
            let size = estimate.fullest(bucket).1;
            assert_eq!(size > Bytes::ZERO, file.contains(&format!(">{}<", bucket.name())), "{}", bucket.name());
            assert!(size == Bytes::ZERO || file.contains(&format!(">{}<", format::memory(size))));
        }
    }
}
