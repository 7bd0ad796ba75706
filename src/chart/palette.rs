//! The colours of a drawing, as the style sheet names them.

/// Red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

/// Every colour a chart is drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// The ground.
    pub ground: Colour,
    /// The axis and the marks.
    pub ink: Colour,
    /// What stands back.
    pub ink_soft: Colour,
    /// The grid.
    pub line: Colour,
    /// Where nothing fits.
    pub bad: Colour,
    /// The curves: four to compare with, then the reader's own.
    pub series: [Colour; 5],
}

impl Colour {
    /// Reads a colour as a style sheet writes it, `#rrggbb`, or `#rgb` once it has been made shorter.
    pub fn from_css(text: &str) -> Option<Self> {
        let digits = text.trim().strip_prefix('#')?;
        let number = u32::from_str_radix(digits, 16).ok()?;
        let [_, red, green, blue] = number.to_be_bytes();
        match digits.len() {
            6 => Some(Self(red, green, blue)),
            // Each digit stands for itself twice.
            3 => Some(Self(green % 16 * 17, blue / 16 * 17, blue % 16 * 17)),
            _ => None,
        }
    }
}

impl Palette {
    /// The palette in which `value_of` gives the text of each custom property. A colour that cannot
    /// be read becomes a grey that is seen on light and on dark ground.
    pub fn from_tokens(value_of: impl Fn(&str) -> String) -> Self {
        let colour = |token: &str| Colour::from_css(&value_of(token)).unwrap_or(Colour(128, 128, 128));
        Self {
            ground: colour("--raised"),
            ink: colour("--ink"),
            ink_soft: colour("--ink-soft"),
            line: colour("--line"),
            bad: colour("--bad"),
            series: ["--series-1", "--series-2", "--series-3", "--series-4", "--series-own"].map(colour),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_is_read_as_the_style_sheet_writes_it() {
        assert_eq!(Colour::from_css(" #1b5e8c"), Some(Colour(0x1b, 0x5e, 0x8c)));
        assert_eq!(Colour::from_css("#f80"), Some(Colour(0xff, 0x88, 0)));
        for text in ["", "#ff", "red", "#1b5e8cff", "#gggggg", "#é1234"] {
            assert_eq!(Colour::from_css(text), None, "{text}");
        }
    }

    #[test]
    fn every_token_of_the_palette_is_a_colour_in_every_theme() {
        let tokens = include_str!("../../style/tokens.css");
        for name in
            ["raised", "ink", "ink-soft", "line", "bad", "series-1", "series-2", "series-3", "series-4", "series-own"]
        {
            let declared: Vec<_> =
                tokens.split(&format!("--{name}: ")).skip(1).filter_map(|rest| rest.split(';').next()).collect();
            assert_eq!(declared.len(), 3, "--{name} in light, in dark by preference and in dark by choice");
            assert!(declared.iter().all(|value| Colour::from_css(value).is_some()), "--{name}: {declared:?}");
        }
    }
}
