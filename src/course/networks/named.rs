//! A preset with its settings as one word of a link: `sdxl.1024.every-1.frozen.ema`.

use super::presets::{self, Preset};
use super::{MAX_SIZE, Network};
use crate::number;

/// Which pieces are computed again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Again {
    /// None.
    #[default]
    Nothing,
    /// Segments of √L pieces.
    Root,
    /// Segments of so many pieces.
    Every(f64),
}

impl Again {
    /// Pieces of a segment; as many as the network has, where nothing is computed again.
    pub fn pieces(self, network: &Network) -> usize {
        let units = network.units();
        match self {
            Self::Nothing => units.max(1),
            Self::Root => network.root_of_units(),
            Self::Every(pieces) => pieces.clamp(1.0, (units as f64).max(2.0)) as usize,
        }
    }
}

/// A preset, and what is set of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Named {
    /// The preset.
    pub preset: &'static Preset,
    /// The height of its input in pixels, where it is not the preset's own.
    pub side: Option<f64>,
    /// What is computed again.
    pub again: Again,
    /// Whether frozen networks are in memory.
    pub frozen: bool,
    /// Whether an average of the weights is kept.
    pub averages: bool,
}

impl Named {
    /// Reads such a word. A part that says nothing is passed over; without a preset there is nothing.
    ///
    /// ```
    /// use bmax::course::networks::{Again, Named};
    /// let named = Named::read("sdxl.512.every-1.ema").expect("a preset");
    /// assert_eq!((named.preset.1, named.side, named.again), ("SDXL U-Net", Some(512.0), Again::Every(1.0)));
    /// assert_eq!(named.word(), "sdxl.512.every-1.ema");
    /// assert_eq!(Named::read("sd-1.5").expect("a preset").word(), "sd-1.5");
    /// assert_eq!(Named::read("nothing"), None);
    /// ```
    pub fn read(word: &str) -> Option<Self> {
        // A preset's own word may have a dot in it.
        let of =
            |preset: &&Preset| word.strip_prefix(preset.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let preset = presets::ALL.iter().find(of)?;
        let mut named = Self { preset, side: None, again: Again::Nothing, frozen: false, averages: false };
        for part in word[preset.0.len()..].split('.') {
            let count = |text| number::parse(text).ok().filter(|count| (1.0..=MAX_SIZE).contains(count));
            match part {
                "frozen" => named.frozen = true,
                "ema" => named.averages = true,
                "root" => named.again = Again::Root,
                _ => match part.strip_prefix("every-") {
                    Some(every) => named.again = count(every).map_or(named.again, |every| Again::Every(every.floor())),
                    None => named.side = count(part).map(f64::floor).or(named.side),
                },
            }
        }
        Some(named)
    }

    /// The word that says the same.
    pub fn word(&self) -> String {
        let mut word = self.preset.0.to_owned();
        if let Some(side) = self.side {
            word += &[".", &number::plain(side)].concat();
        }
        match self.again {
            Again::Nothing => {}
            Again::Root => word += ".root",
            Again::Every(every) => word += &[".every-", &number::plain(every)].concat(),
        }
        word += if self.frozen { ".frozen" } else { "" };
        word + if self.averages { ".ema" } else { "" }
    }

    /// Its list, with the size that is asked for in its first line.
    pub fn text(&self) -> String {
        let own = Network::read(self.preset.2);
        match self.side {
            Some(side) => resized(self.preset.2, side / (own.input.height * own.pixels)),
            None => self.preset.2.to_owned(),
        }
    }
}

/// A list with the sides of its input, and what its frozen networks see of them, so many times as large.
pub fn resized(text: &str, factor: f64) -> String {
    let scaled = |word: &str, factor: f64| match number::parse(word) {
        Ok(value) => number::plain((value * factor).round().max(1.0)),
        Err(_) => word.to_owned(),
    };
    let line = |line: &str| {
        let (input, frozen) = (line.starts_with("input "), line.starts_with("frozen "));
        let mut remark = false;
        let words = line.split(' ').enumerate().map(|(at, word)| {
            remark |= word.starts_with('#');
            match at {
                2.. if input && !remark => scaled(word, factor),
                2.. if frozen && !remark => scaled(word, factor * factor),
                _ => word.to_owned(),
            }
        });
        let words: Vec<String> = words.collect();
        // What the remark says of the size is no longer true.
        let kept = if input { words.iter().position(|word| word.starts_with('#')) } else { None };
        words[..kept.unwrap_or(words.len())].join(" ").trim_end().to_owned()
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_read_without_a_trouble_and_has_a_word_of_its_own() {
        for preset in &presets::ALL {
            assert_eq!(Network::read(preset.2).troubles, [], "{}", preset.0);
            assert_eq!(Named::read(preset.0).map(|named| named.word()), Some(preset.0.to_owned()));
        }
    }

    #[test]
    fn a_size_in_a_link_is_that_of_the_picture() {
        let network = |word| Network::read(&Named::read(word).expect("a preset").text());
        let (small, large) = (network("sdxl.512"), network("sdxl.1024"));
        assert_eq!((small.input.height, large.input.height), (64.0, 128.0));
        assert_eq!(small.frozen.1 * 4.0, large.frozen.1);
        assert_eq!(large, Network::read(presets::SDXL));
        assert_eq!(network("nnunet.64").input.elements(), 64.0_f64.powi(3));
        assert_eq!(small, Network::sized(presets::SDXL, 0.5, None));
    }

    #[test]
    fn a_part_that_says_nothing_is_passed_over() {
        for word in ["sdxl.-3", "sdxl.every-", "sdxl.every-0", "sdxl.nothing", "sdxl."] {
            assert_eq!(Named::read(word).map(|named| named.word()), Some("sdxl".to_owned()), "{word}");
        }
        assert_eq!(Named::read("sdxlarge"), None);
    }
}
