//! A link as a QR code, for the last slide of a lecture.

use qrcodegen::{QrCode, QrCodeEcc, QrSegment};
use std::fmt::Write;

/// Light modules that the standard asks for on each side (ISO/IEC 18004:2015, 6.3.8).
const QUIET: i32 = 4;

/// Draws the code of a text as an SVG document, dark on white in every theme, one unit a module. None for a
/// text longer than any code holds.
pub fn svg(text: &str) -> Option<String> {
    let code = code(text)?;
    let side = side(&code);
    let mut path = String::new();
    for (x, y, length) in runs(&code) {
        _ = write!(path, "M{x} {y}h{length}v1h-{length}z");
    }
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {side} {side}\" width=\"{width}\" height=\"{width}\" \
         shape-rendering=\"crispEdges\"><path fill=\"#fff\" d=\"M0 0h{side}v{side}H0z\"/><path d=\"{path}\"/></svg>",
        width = side * 8,
    ))
}

/// A dark stretch of a row of modules: column, row and length, from the corner of the quiet zone.
pub type Run = (i32, i32, i32);

/// The modules on one side of the code of a text, quiet zone included, and its dark stretches.
pub fn modules(text: &str) -> Option<(i32, Vec<Run>)> {
    let code = code(text)?;
    Some((side(&code), runs(&code)))
}

/// The code with the fewest modules at 15 % of them unreadable, and with more redundancy where that costs no
/// module; at 7 % for a link that is too long for it.
fn code(text: &str) -> Option<QrCode> {
    let segments = [QrSegment::make_bytes(text.as_bytes())];
    [QrCodeEcc::Medium, QrCodeEcc::Low].into_iter().find_map(|level| QrCode::encode_segments(&segments, level).ok())
}

fn side(code: &QrCode) -> i32 {
    code.size() + 2 * QUIET
}

fn runs(code: &QrCode) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for y in 0..code.size() {
        for x in 0..code.size() {
            if code.get_module(x, y) {
                match runs.last_mut() {
                    Some((start, row, length)) if *row == y + QUIET && *start + *length == x + QUIET => *length += 1,
                    _ => runs.push((x + QUIET, y + QUIET, 1)),
                }
            }
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use bmax::{Field, Scenario, link};

    /// Reads the code as a camera sees it: every module as a square of pixels.
    fn read(text: &str) -> String {
        const PIXELS: usize = 4;
        let (side, runs) = modules(text).expect("it fits");
        let is_dark = |x: usize, y: usize| {
            let (x, y) = ((x / PIXELS) as i32, (y / PIXELS) as i32);
            runs.iter().any(|(start, row, length)| *row == y && (*start..start + length).contains(&x))
        };
        let size = side as usize * PIXELS;
        let mut image =
            rqrr::PreparedImage::prepare_from_greyscale(size, size, |x, y| if is_dark(x, y) { 0 } else { 255 });
        let grids = image.detect_grids();
        assert_eq!(grids.len(), 1, "one code is seen");
        grids[0].decode().expect("it can be read").1
    }

    #[test]
    fn a_reader_of_codes_reads_the_link() {
        for query in ["v=3", "v=3&model=llama-3.1-8b&gpu=h100-80&s=8192&gpus=64&recompute=full#chart-title"] {
            let link = format!("https://example.org/course/week-3/bmax/?{query}");
            assert_eq!(read(&link), link);
        }
    }

    #[test]
    fn a_link_with_every_input_changed_still_has_a_code() {
        let mut scenario = Scenario::workshop();
        for field in Field::ALL {
            let bound = field.bound();
            scenario = scenario.with_number(*field, bound.max).expect("the end of a range is in it");
        }
        let link = format!("https://example.org/bmax/?{}", link::encode_whole(&scenario));
        assert_eq!(read(&link), link);
    }

    #[test]
    fn four_light_modules_stand_around_it_and_the_ground_is_white() {
        let (side, runs) = modules("https://example.org/?v=3").expect("it fits");
        let least = |values: Vec<i32>| values.into_iter().min();
        assert_eq!(least(runs.iter().map(|run| run.0).collect()), Some(4));
        assert_eq!(least(runs.iter().map(|run| run.1).collect()), Some(4));
        assert_eq!(least(runs.iter().map(|run| side - run.0 - run.2).collect()), Some(4));
        assert_eq!(least(runs.iter().map(|run| side - run.1 - 1).collect()), Some(4));
        let svg = svg("https://example.org/?v=3").expect("it fits");
        assert!(svg.contains(&format!("<path fill=\"#fff\" d=\"M0 0h{side}v{side}H0z\"/>")), "{svg}");
    }

    #[test]
    fn what_is_too_long_for_any_code_has_none() {
        // Version 40 at the lowest level holds 2953 bytes (ISO/IEC 18004:2015, table 7).
        assert!(svg(&"x".repeat(2_953)).is_some());
        assert!(svg(&"x".repeat(2_954)).is_none());
    }
}
