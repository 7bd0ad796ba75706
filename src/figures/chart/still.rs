//! The curves as markup that the build puts into the page, for whoever reads it before the canvas is drawn.

use bmax::chart::{Colour, Frame, PATTERNS, Palette, Spec, draw_whole};
use plotters::backend::SVGBackend;

use super::dash_array;

/// The drawing's own size: as high as its place is where there is room, and stretched over its width.
const SIZE: (u32, u32) = (640, 366);

/// Each colour of the palette by a number that no other has, and the style sheet's name for it.
const NAMES: [&str; 10] = [
    "chart-ground",
    "chart-ink",
    "chart-ink-soft",
    "chart-line",
    "chart-bad",
    "series-1",
    "series-2",
    "series-3",
    "series-4",
    "series-own",
];

/// The place of the first curve's colour in them.
const FIRST_SERIES: u8 = 5;

/// The drawing of what `spec` makes of a size and colours, as an `<svg>` that the style sheet colours.
pub fn drawn(spec: impl FnOnce(Frame, Palette) -> Spec) -> String {
    let (width, height) = SIZE;
    let frame = Frame { width: width.into(), height: height.into(), density: 1.0, units: 1.0 };
    let colour = |place: u8| Colour(1, 2, place);
    let palette = Palette {
        ground: colour(0),
        ink: colour(1),
        ink_soft: colour(2),
        line: colour(3),
        bad: colour(4),
        series: [0, 1, 2, 3, 4].map(|position| colour(FIRST_SERIES + position)),
    };
    let mut file = String::new();
    let mut backend = SVGBackend::with_string(&mut file, SIZE);
    // A string takes everything.
    _ = draw_whole(&spec(frame, palette), &mut backend);
    drop(backend);
    let mut inner =
        file.split_once('>').and_then(|(_, rest)| rest.rsplit_once("</svg>")).map_or("", |(inner, _)| inner).to_owned();
    inner = joined(&inner);
    for (place, name) in NAMES.iter().enumerate() {
        for property in ["fill", "stroke"] {
            let from = format!("{property}=\"#0102{place:02X}\"");
            inner = inner.replace(&from, &format!("class=\"{name}\" {property}=\"currentColor\""));
        }
    }
    format!("<svg viewBox=\"0 0 {width} {height}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">{inner}</svg>")
}

/// The drawing with each curve as a path that the browser dashes, and the crosses of a curve as one path: plotters makes
/// an element of each.
fn joined(drawing: &str) -> String {
    const START: &str = "<polyline ";
    let mut joined = String::with_capacity(drawing.len());
    // What the path that is being written looks like, and whether it is a curve.
    let mut open = None;
    for line in drawing.lines() {
        let drawn = line.trim_start().strip_prefix(START).and_then(|rest| rest.split_once("points=\""));
        let Some((look, points)) = drawn else {
            joined += if open.take().is_some() { END } else { "" };
            joined += line;
            joined.push('\n');
            continue;
        };
        let points = points.split('"').next().unwrap_or_default().trim_end();
        let is_curve = points.split(' ').count() > 2;
        if open != Some((look, is_curve)) {
            joined += if open.is_some() { END } else { "" };
            joined += &format!("<path {look}{}d=\"", if is_curve { dashes(look) } else { String::new() });
            open = Some((look, is_curve));
        }
        joined += &stepped(points);
    }
    joined + if open.is_some() { END } else { "" }
}

/// Points as data of a path: the first one’s place, then the way from each to the next, which has fewer digits.
fn stepped(points: &str) -> String {
    let place = |point: &str| {
        let (x, y) = point.split_once(',')?;
        Some((x.parse::<i32>().ok()?, y.parse::<i32>().ok()?))
    };
    let places: Vec<_> = points.split(' ').filter_map(place).collect();
    let way = |two: &[(i32, i32)]| match two {
        [(x, y), (to_x, to_y)] => format!("{},{}", to_x - x, to_y - y),
        _ => String::new(),
    };
    let ways: Vec<String> = places.windows(2).map(way).collect();
    let first = points.split(' ').next().unwrap_or_default();
    format!("M{first}l{}", ways.join(" ")).replace(",-", "-").replace(" -", "-")
}

/// How a path ends.
const END: &str = "\"/>";

/// The attribute with the dashes of a curve of this look. The reader's own curve has none.
fn dashes(look: &str) -> String {
    let is_of = |place: u8| look.contains(&format!("{place:02X}\""));
    let series = (FIRST_SERIES..).zip(PATTERNS).find(|&(place, pattern)| is_of(place) && !pattern.is_empty());
    series.map_or_else(String::new, |(_, pattern)| format!("stroke-dasharray=\"{}\" ", dash_array(pattern)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crosses_of_a_curve_become_one_path_and_curves_stay_apart_with_their_dashes() {
        let line = |series: u8, points: &str| {
            format!("<polyline fill=\"none\" stroke=\"#0102{series:02X}\" points=\"{points} \"/>\n")
        };
        let path = |series: u8, dashes: &str, points: &str| {
            format!("<path fill=\"none\" stroke=\"#0102{series:02X}\" {dashes}d=\"{points}\"/>")
        };
        let drawing = line(6, "1,1 2,2 3,1") + &line(6, "3,3 4,4") + &line(6, "5,5 6,6") + "<rect/>\n";
        let expected =
            path(6, "stroke-dasharray=\"7 4\" ", "M1,1l1,1 1-1") + &path(6, "", "M3,3l1,1M5,5l1,1") + "<rect/>\n";
        assert_eq!(joined(&(drawing + &line(9, "7,7 8,8 9,7"))), expected + &path(9, "", "M7,7l1,1 1-1"));
    }
}
