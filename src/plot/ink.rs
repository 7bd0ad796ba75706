//! What the parts of a drawing are, and how each looks: its class for a style sheet, its colour and stroke
//! where there is none.

use crate::Bucket;

/// Which quantity a series shows; it has the same colour everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// The reader's own.
    Own,
    /// A range around the reader's own.
    OwnRange,
    /// The reader's own, further back.
    OwnBack,
    /// The first to compare with.
    Series1,
    /// The second to compare with.
    Series2,
    /// A range around the second.
    Series2Range,
    /// The third to compare with.
    Series3,
    /// The fourth to compare with.
    Series4,
    /// A limit, in the ink of the text.
    Limit,
    /// A part of memory.
    Bucket(Bucket),
}

/// How the points of a series are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// By a line.
    Line,
    /// By a dashed line: a second curve of the same kind, or a reference.
    Dashed,
    /// Not at all: each is a dot.
    Dots,
    /// Not at all: each is a ring.
    Rings,
    /// What lies between two curves is filled.
    Band,
}

/// How a mark's line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Solid: what the figure is about.
    Main,
    /// Dashed and further back: what it is compared with.
    Soft,
    /// Dotted: where the reader's slider stands.
    Read,
}

/// What a line, an area or a text of a drawing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A line of the grid.
    Grid,
    /// The horizontal axis.
    Axis,
    /// The text at a tick of an axis.
    Tick,
    /// The text of an axis.
    Label,
    /// The text of a mark.
    MarkLabel,
    /// The line of a mark.
    Mark(Rule),
    /// A series.
    Series(Shape, Ink),
}

/// A colour by the name of the style sheet's custom property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Colour {
    /// The custom property.
    pub token: String,
    /// How much of it there is, in percent; the rest is the ground, `--panel`.
    pub percent: u8,
}

impl Ink {
    /// Every ink.
    pub const ALL: [Self; 17] = [
        Self::Own,
        Self::OwnRange,
        Self::OwnBack,
        Self::Series1,
        Self::Series2,
        Self::Series2Range,
        Self::Series3,
        Self::Series4,
        Self::Limit,
        Self::Bucket(Bucket::Parameters),
        Self::Bucket(Bucket::Gradients),
        Self::Bucket(Bucket::Optimizer),
        Self::Bucket(Bucket::Activations),
        Self::Bucket(Bucket::Logits),
        Self::Bucket(Bucket::Batch),
        Self::Bucket(Bucket::Temporary),
        Self::Bucket(Bucket::Runtime),
    ];

    /// Its class in the style sheet.
    #[must_use]
    pub fn class(self) -> String {
        match self {
            Self::Own => "series-own",
            Self::OwnRange => "rate-band",
            Self::OwnBack => "swap-backward",
            Self::Series1 => "series-1",
            Self::Series2 => "series-2",
            Self::Series2Range => "thumb-band",
            Self::Series3 => "series-3",
            Self::Series4 => "series-4",
            Self::Limit => "step-usable",
            Self::Bucket(bucket) => return "bucket-".to_owned() + bucket.key(),
        }
        .to_owned()
    }

    /// Its colour, as the class has it.
    #[must_use]
    pub fn colour(self) -> Colour {
        match self {
            Self::OwnRange => Colour { percent: 22, ..Colour::of("--series-own") },
            Self::OwnBack => Colour { percent: 68, ..Colour::of("--series-own") },
            Self::Series2Range => Colour { percent: 42, ..Colour::of("--series-2") },
            Self::Limit => Colour::of("--ink"),
            // These classes are named after their colour.
            _ => Colour::of(&("--".to_owned() + &self.class())),
        }
    }
}

impl Shape {
    const ALL: [Self; 5] = [Self::Line, Self::Dashed, Self::Dots, Self::Rings, Self::Band];
}

impl Rule {
    const ALL: [Self; 3] = [Self::Main, Self::Soft, Self::Read];
}

impl Colour {
    /// All of a custom property.
    fn of(token: &str) -> Self {
        Self { token: token.to_owned(), percent: 100 }
    }
}

impl Part {
    /// Its classes in the style sheet.
    #[must_use]
    pub fn class(self) -> String {
        let (kind, ink, variant) = match self {
            Self::Grid => return "plot-grid".to_owned(),
            Self::Axis => return "plot-axis".to_owned(),
            Self::Tick => return "plot-tick".to_owned(),
            Self::Label => return "plot-label".to_owned(),
            Self::MarkLabel => return "plot-mark-label".to_owned(),
            Self::Mark(Rule::Main) => return "mark".to_owned(),
            Self::Mark(Rule::Soft) => return "mark-soft".to_owned(),
            Self::Mark(Rule::Read) => return "mark-read".to_owned(),
            Self::Series(Shape::Line, ink) => ("plot-line ", ink, ""),
            Self::Series(Shape::Dashed, ink) => ("plot-line ", ink, " is-dashed"),
            Self::Series(Shape::Dots, ink) => ("plot-dot ", ink, ""),
            Self::Series(Shape::Rings, ink) => ("plot-dot ", ink, " is-hollow"),
            Self::Series(Shape::Band, ink) => ("plot-band ", ink, ""),
        };
        kind.to_owned() + &ink.class() + variant
    }

    /// Its colour, as the classes have it.
    #[must_use]
    pub fn colour(self) -> Colour {
        match self {
            Self::Grid => Colour::of("--line"),
            Self::Axis => Colour::of("--control"),
            Self::Tick | Self::Mark(Rule::Soft) => Colour::of("--ink-soft"),
            Self::Label | Self::MarkLabel | Self::Mark(Rule::Main) => Colour::of("--ink"),
            Self::Mark(Rule::Read) => Colour::of("--accent"),
            Self::Series(_, ink) => ink.colour(),
        }
    }

    /// The width of its line in CSS pixels, as the classes have it.
    #[must_use]
    pub const fn width(self) -> f64 {
        match self {
            Self::Mark(Rule::Main) => 1.5,
            Self::Mark(Rule::Read) | Self::Series(Shape::Rings, _) => 2.0,
            Self::Series(Shape::Line | Shape::Dashed, _) => 2.25,
            _ => 1.0,
        }
    }

    /// Lengths of line and gap in CSS pixels, as the classes have them; none for a solid line.
    #[must_use]
    pub const fn pattern(self) -> &'static [f64] {
        match self {
            Self::Mark(Rule::Soft) => &[3.0, 3.0],
            Self::Mark(Rule::Read) => &[1.0, 3.0],
            Self::Series(Shape::Dashed, _) => &[6.0, 4.0],
            _ => &[],
        }
    }

    /// The first number of a mark's line and of a series.
    pub(super) const MARK: u8 = 5;
    pub(super) const SERIES: u8 = 6;

    /// The part as three numbers. Plotters tells a backend the colour of what it draws and nothing else;
    /// where a style sheet has the colours, these numbers pass in their place.
    pub(super) fn code(self) -> (u8, u8, u8) {
        match self {
            Self::Grid => (0, 0, 0),
            Self::Axis => (1, 0, 0),
            Self::Tick => (2, 0, 0),
            Self::Label => (3, 0, 0),
            Self::MarkLabel => (4, 0, 0),
            Self::Mark(rule) => (Self::MARK, rule as u8, 0),
            Self::Series(shape, ink) => {
                let place = Ink::ALL.iter().position(|other| *other == ink).unwrap_or_default();
                (Self::SERIES, shape as u8, place as u8)
            }
        }
    }

    /// The part of these three numbers; the grid for all that are none.
    pub(super) fn from_code((kind, variant, ink): (u8, u8, u8)) -> Self {
        let part = match kind {
            1 => Some(Self::Axis),
            2 => Some(Self::Tick),
            3 => Some(Self::Label),
            4 => Some(Self::MarkLabel),
            Self::MARK => Rule::ALL.get(usize::from(variant)).map(|rule| Self::Mark(*rule)),
            Self::SERIES => Shape::ALL
                .get(usize::from(variant))
                .zip(Ink::ALL.get(usize::from(ink)))
                .map(|(shape, ink)| Self::Series(*shape, *ink)),
            _ => None,
        };
        part.unwrap_or(Self::Grid)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Every part there is.
    pub(in super::super) fn every_part() -> Vec<Part> {
        let mut parts = vec![Part::Grid, Part::Axis, Part::Tick, Part::Label, Part::MarkLabel];
        parts.extend(Rule::ALL.map(Part::Mark));
        for shape in Shape::ALL {
            parts.extend(Ink::ALL.map(|ink| Part::Series(shape, ink)));
        }
        parts
    }

    #[test]
    fn every_bucket_has_its_ink() {
        for bucket in Bucket::ALL {
            assert!(Ink::ALL.contains(&Ink::Bucket(*bucket)));
        }
    }

    #[test]
    fn a_part_is_known_again_by_its_code_and_by_its_classes() {
        let parts = every_part();
        for (position, part) in parts.iter().enumerate() {
            assert_eq!(Part::from_code(part.code()), *part);
            assert!(parts[position + 1..].iter().all(|other| other.class() != part.class()), "{part:?}");
        }
    }

    /// The declarations of the rule with this selector alone or in a list, in all style sheets.
    fn declarations(selector: &str) -> String {
        let files = |folder: &str| {
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
            std::fs::read_dir(folder).expect("a folder").filter_map(|file| Some(file.ok()?.path()))
        };
        // Figures and components keep theirs in their folders.
        let own = files("src/figures").chain(files("src/components")).map(|folder| folder.join("style.css"));
        let sheets = files("style").chain(own).filter_map(|file| std::fs::read_to_string(file).ok());
        let mut found = String::new();
        for rule in sheets.flat_map(|sheet| sheet.split('}').map(str::to_owned).collect::<Vec<_>>()) {
            let Some((selectors, declared)) = rule.rsplit_once('{') else { continue };
            let selectors = selectors.rsplit("*/").next().unwrap_or_default();
            if selectors.split(',').any(|other| other.trim() == selector) {
                found += declared;
            }
        }
        found
    }

    #[test]
    fn the_style_sheet_has_the_colour_of_every_ink() {
        for ink in Ink::ALL {
            let Colour { token, percent } = ink.colour();
            let expected = match percent {
                100 => format!("color: var({token});"),
                _ => format!("color: color-mix(in srgb, var({token}) {percent}%, var(--panel));"),
            };
            let declared = declarations(&format!(".{}", ink.class()));
            assert!(declared.contains(&expected), ".{} is {declared}", ink.class());
        }
    }

    #[test]
    fn the_style_sheet_has_the_strokes_of_lines_and_marks() {
        for (selector, part) in [
            (".plot .mark", Part::Mark(Rule::Main)),
            (".plot .mark-soft", Part::Mark(Rule::Soft)),
            (".plot .mark-read", Part::Mark(Rule::Read)),
            (".plot-line", Part::Series(Shape::Line, Ink::Own)),
            (".is-dashed", Part::Series(Shape::Dashed, Ink::Own)),
        ] {
            let declared = declarations(selector);
            let dashes: Vec<String> = part.pattern().iter().map(f64::to_string).collect();
            let expected = format!("stroke-dasharray: {};", dashes.join(" "));
            assert_eq!(declared.contains(&expected), !dashes.is_empty(), "{selector} is {declared}");
            let width = format!("stroke-width: {};", part.width());
            assert!(declared.contains(&width) || !declared.contains("stroke-width"), "{selector} is {declared}");
        }
    }
}
