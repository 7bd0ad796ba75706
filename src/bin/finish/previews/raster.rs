//! From SVG to PNG, in the face that lies beside this file, so that a picture is the same wherever it is made.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, PremultipliedColorU8, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::super::Result;

/// Inter (SIL Open Font License 1.1, `fonts/OFL.txt`) in two weights, without the letters that no text of a preview has.
const FACES: [&[u8]; 2] = [include_bytes!("fonts/Inter-Regular.ttf"), include_bytes!("fonts/Inter-SemiBold.ttf")];

/// The letters that both have beside ASCII.
const LETTERS: &str = "\u{a0}\u{202f}°±²³´µ¶·¼½×äçèéñö÷üΔΣαβγδεηλμπσ–—‘’“”†•…⁰⁴⁵⁶⁷⁸⁹⁻ⁿ₀₁₂₃₄₅₆₇₈₉←↑→↓√∞≈−≠≤≥";

/// How many colours a picture has: those of a palette. Most of its hundreds are mixtures at the edges of letters.
const COLOURS: usize = 256;

type Colour = [u8; 3];
/// So many pixels of one colour, one after another.
type Run = (Colour, usize);

/// Draws pictures.
pub struct Rasteriser(Options<'static>);

impl Rasteriser {
    pub fn new() -> Self {
        let mut faces = fontdb::Database::new();
        for face in FACES {
            faces.load_font_data(face.to_vec());
        }
        faces.set_sans_serif_family("Inter");
        Self(Options { fontdb: Arc::new(faces), font_family: "Inter".to_owned(), ..Options::default() })
    }

    /// The picture as a PNG, a pixel for each pixel of the SVG.
    pub fn png(&self, svg: &str) -> Result<Vec<u8>> {
        if let Some(letter) = svg.chars().find(|letter| !letter.is_ascii() && !LETTERS.contains(*letter)) {
            return Err(format!("the face of the previews has no ‘{letter}’"));
        }
        let tree = Tree::from_str(svg, &self.0).map_err(|error| error.to_string())?;
        let size = tree.size().to_int_size();
        let mut pixels = Pixmap::new(size.width(), size.height()).ok_or("a picture without extent")?;
        resvg::render(&tree, Transform::identity(), &mut pixels.as_mut());
        // The ground hides everything below it, so that no colour is a premultiplied one.
        let run = |run: &[PremultipliedColorU8]| ([run[0].red(), run[0].green(), run[0].blue()], run.len());
        let runs: Vec<Run> = pixels.pixels().chunk_by(PartialEq::eq).map(run).collect();
        written((size.width(), size.height()), &runs).map_err(|error| error.to_string())
    }
}

/// A PNG with a palette: the most frequent colours as they are, and the nearest of these for the others.
fn written((width, height): (u32, u32), runs: &[Run]) -> std::result::Result<Vec<u8>, png::EncodingError> {
    let mut counts: HashMap<Colour, usize> = HashMap::new();
    for (colour, length) in runs {
        *counts.entry(*colour).or_default() += length;
    }
    let mut colours: Vec<Run> = counts.into_iter().collect();
    colours.sort_unstable_by_key(|&(colour, count)| (Reverse(count), colour));
    let palette: Vec<Colour> = colours.iter().take(COLOURS).map(|(colour, _)| *colour).collect();
    let nearest = |colour: Colour| {
        let far = |other: &Colour| -> u32 { (0..3).map(|at| u32::from(colour[at].abs_diff(other[at])).pow(2)).sum() };
        palette.iter().enumerate().min_by_key(|(_, other)| far(other)).map_or(0, |(at, _)| at as u8)
    };
    // Those of the palette are their own nearest, and come first.
    let place = |(at, (colour, _)): (usize, &Run)| (*colour, u8::try_from(at).unwrap_or_else(|_| nearest(*colour)));
    let places: HashMap<Colour, u8> = colours.iter().enumerate().map(place).collect();
    let mut indices = Vec::with_capacity(width as usize * height as usize);
    for (colour, length) in runs {
        indices.resize(indices.len() + length, places[colour]);
    }
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(palette.concat());
    encoder.set_compression(png::Compression::High);
    // Indices of neighbours have nothing to do with each other.
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&indices)?;
    writer.finish()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Width and height as the first chunk has them, and its type of colour (W3C, “PNG Specification”, 11.2.1).
    fn header(png: &[u8]) -> (u32, u32, u8) {
        assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
        (number(16), number(20), png[25])
    }

    fn ink(png: &[u8]) -> usize {
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().expect("a PNG");
        let mut pixels = vec![0; reader.output_buffer_size().expect("it is small")];
        reader.next_frame(&mut pixels).expect("a frame");
        // The ground is the most frequent colour, the first of the palette.
        pixels.iter().filter(|index| **index != 0).count()
    }

    #[test]
    fn a_picture_keeps_its_size_and_its_words_are_drawn_in_both_weights() {
        let svg = |text: &str| {
            format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"120\" height=\"40\" font-family=\"system-ui, sans-serif\">\
                 <rect width=\"120\" height=\"40\" fill=\"#fff\"/>{text}</svg>"
            )
        };
        let drawn = |text: &str| Rasteriser::new().png(&svg(text)).expect("it can be drawn");
        assert_eq!(header(&drawn("")), (120, 40, 3));
        let words = |weight: u32| {
            ink(&drawn(&format!("<text x=\"4\" y=\"30\" font-size=\"30\" font-weight=\"{weight}\">8 × b</text>")))
        };
        assert!(ink(&drawn("")) == 0 && words(400) > 300, "{}", words(400));
        assert!(words(600) > words(400) + 50, "{} and {}", words(600), words(400));
    }

    #[test]
    fn a_letter_that_the_face_does_not_have_stops_the_build() {
        assert!(Rasteriser::new().png("<svg>語</svg>").is_err_and(|said| said.contains('語')));
    }

    #[test]
    fn rare_colours_take_the_nearest_of_the_palette() {
        // More colours than a palette has, black most often.
        let reds = (0..=255).map(|red| [red, 0, 0]).chain([[255, 1, 0]]);
        let runs: Vec<Run> = reds.flat_map(|colour| [(colour, 1), ([0, 0, 0], 1)]).collect();
        let png = written((2, runs.len() as u32 / 2), &runs).expect("a PNG");
        let mut decoder = png::Decoder::new(std::io::Cursor::new(&png[..]));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().expect("a PNG");
        let mut read = vec![0; reader.output_buffer_size().expect("it is small")];
        reader.next_frame(&mut read).expect("a frame");
        let last = &read[read.len() - 6..read.len() - 3];
        assert!(last[0] >= 254 && last[1] <= 1 && last[2] == 0, "{last:?}");
    }
}
