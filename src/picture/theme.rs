//! The colours of the page, for what is drawn where no style sheet is.

use crate::chart::Palette;

/// Light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Dark ink on a light ground.
    Light,
    /// Light ink on a dark ground.
    Dark,
}

/// The tokens of `style/tokens.css` that pictures use: name, light, dark. A test holds both together.
const TOKENS: [(&str, &str, &str); 23] = [
    ("--panel", "#f3f0e8", "#1c2229"),
    ("--raised", "#ffffff", "#232b33"),
    ("--ink", "#1d2329", "#e7e4dc"),
    ("--ink-soft", "#474d54", "#babfc5"),
    ("--line", "#d8d3c6", "#37404a"),
    ("--control", "#7d7a70", "#7f8892"),
    ("--accent", "#175179", "#91c5ec"),
    ("--bad", "#912118", "#ffa8a0"),
    ("--series-1", "#ad7f2f", "#8d7a4f"),
    ("--series-2", "#835a17", "#b89f67"),
    ("--series-3", "#5c3b0d", "#dcc690"),
    ("--series-4", "#2e1a05", "#fdf3d6"),
    ("--series-own", "#175179", "#91c5ec"),
    ("--bucket-parameters", "#0b4f80", "#3f86c9"),
    ("--bucket-gradients", "#348dca", "#9ad0f5"),
    ("--bucket-optimizer", "#08805f", "#38b890"),
    ("--bucket-activations", "#d4640a", "#f2963c"),
    ("--bucket-logits", "#7c224a", "#bf5593"),
    ("--bucket-batch", "#4e4419", "#a28558"),
    ("--bucket-temporary", "#85889a", "#817b72"),
    ("--bucket-runtime", "#201f1f", "#a2a8b2"),
    ("--bucket-reserved", "#4d4a52", "#6e757e"),
    // What is free is a ground and no quantity.
    ("--bucket-free", "#e6e2d8", "#2b333c"),
];

impl Theme {
    /// The colour with this name, as `#rrggbb`; a grey for names that do not exist.
    #[must_use]
    pub fn colour(self, token: &str) -> &'static str {
        let found = TOKENS.iter().find(|(name, ..)| *name == token);
        found.map_or("#808080", |&(_, light, dark)| match self {
            Self::Light => light,
            Self::Dark => dark,
        })
    }

    /// The colour of a part of the memory bar, by its word.
    #[must_use]
    pub fn bucket(self, key: &str) -> &'static str {
        self.colour(&("--bucket-".to_owned() + key))
    }

    /// The colours of the chart.
    #[must_use]
    pub fn palette(self) -> Palette {
        Palette::from_tokens(|token| self.colour(token).to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_have_the_colours_of_the_style_sheet_in_both_themes() {
        let sheet = include_str!("../../style/tokens.css");
        for (name, ..) in TOKENS {
            let declared: Vec<_> =
                sheet.split(&format!("{name}: ")).skip(1).filter_map(|rest| rest.split(';').next()).collect();
            let (light, dark) = (Theme::Light.colour(name), Theme::Dark.colour(name));
            assert_eq!(declared, [light, dark, dark], "{name}");
        }
    }
}
