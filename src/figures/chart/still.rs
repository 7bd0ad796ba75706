//! The curves as markup that the build puts into the page, for whoever reads it before the canvas is drawn.

use bmax::chart::{Colour, Frame, Palette, Spec, draw};
use plotters::backend::SVGBackend;

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
        series: [5, 6, 7, 8, 9].map(colour),
    };
    let mut file = String::new();
    let mut backend = SVGBackend::with_string(&mut file, SIZE);
    // A string takes everything.
    _ = draw(&spec(frame, palette), &mut backend);
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

/// The drawing with the dashes of a line as one path: plotters makes an element of each.
fn joined(drawing: &str) -> String {
    const START: &str = "<polyline ";
    let mut joined = String::with_capacity(drawing.len());
    let mut open: Option<(&str, String)> = None;
    let close = |open: &mut Option<(&str, String)>, joined: &mut String| {
        if let Some((look, path)) = open.take() {
            *joined += &format!("<path {look}d=\"{path}\"/>");
        }
    };
    for line in drawing.lines() {
        let dash = line.trim_start().strip_prefix(START).and_then(|rest| rest.split_once("points=\""));
        let Some((look, points)) = dash else {
            close(&mut open, &mut joined);
            joined += line;
            joined.push('\n');
            continue;
        };
        if open.as_ref().is_some_and(|(other, _)| *other != look) {
            close(&mut open, &mut joined);
        }
        let points = points.split('"').next().unwrap_or_default().trim_end();
        let path = &mut open.get_or_insert_with(|| (look, String::new())).1;
        path.push('M');
        path.push_str(points);
    }
    close(&mut open, &mut joined);
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dashes_of_a_line_become_one_path_and_lines_stay_apart() {
        let dash = |stroke: &str, points: &str| {
            format!("<polyline fill=\"none\" stroke=\"{stroke}\" points=\"{points} \"/>\n")
        };
        let drawing =
            dash("a", "1,1 2,2") + &dash("a", "3,3 4,4") + "<rect/>\n" + &dash("a", "5,5 6,6") + &dash("b", "7,7 8,8");
        let path = |stroke: &str, points: &str| format!("<path fill=\"none\" stroke=\"{stroke}\" d=\"{points}\"/>");
        let expected = path("a", "M1,1 2,2M3,3 4,4") + "<rect/>\n" + &path("a", "M5,5 6,6") + &path("b", "M7,7 8,8");
        assert_eq!(joined(&drawing), expected);
    }
}
