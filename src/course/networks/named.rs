//! A preset with its settings as one word of a link: `sdxl.1024.every-1.frozen.ema`.

use super::presets::{self, Preset};
use super::{MAX_SIZE, Network};
use crate::link::{NETWORK, Notice, Words};
use crate::number;

/// What such a word begins with: a preset.
const NAMES: Words = words(&PRESETS, "");
/// The words of all presets, and what each is called.
const PRESETS: [(&str, &str); presets::ALL.len()] = {
    let mut names = [("", ""); presets::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = (presets::ALL[at].0, presets::ALL[at].1);
        at += 1;
    }
    names
};
/// What follows behind it.
const PARTS: Words =
    words(&SETTINGS, "a name, and behind dots a size in pixels, every- with a number, root, frozen or ema");

/// A list of words of the parameter that names a network.
const fn words(known: &'static [(&str, &str)], accepted: &'static str) -> Words {
    Words::Other { key: NETWORK, name: "Network", known, accepted }
}

/// The parts of such a word that are words themselves, and what each sets.
const SETTINGS: [(&str, &str); 4] = [
    ("frozen", "frozen networks in memory"),
    ("ema", "average of the weights"),
    ("root", "segments of √L pieces"),
    ("every-1", "segments of so many pieces"),
];

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
        Self::parsed(word).map(|(named, _)| named)
    }

    /// What a reader is told of a word that names no network, or of its parts that say nothing.
    ///
    /// ```
    /// use bmax::course::networks::Named;
    /// assert_eq!(Named::notices("sdxl.512.ema"), []);
    /// let told = Named::notices("resnet50").remove(0).to_string();
    /// assert!(told.starts_with("Network: “resnet50” is not known (nearest: resnet-50)"), "{told}");
    /// ```
    pub fn notices(word: &str) -> Vec<Notice> {
        let unknown =
            |of: Words, given: &str, used: &Preset| Notice::Word { of, given: given.to_owned(), used: used.0 };
        match Self::parsed(word) {
            None => vec![unknown(NAMES, word, &presets::ALL[0])],
            Some((named, unread)) => unread.into_iter().map(|part| unknown(PARTS, part, named.preset)).collect(),
        }
    }

    /// The same as [`Named::read`], with the parts that say nothing.
    fn parsed(word: &str) -> Option<(Self, Vec<&str>)> {
        // A preset's own word may have a dot in it.
        let of =
            |preset: &&Preset| word.strip_prefix(preset.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let preset = presets::ALL.iter().find(of)?;
        let mut named = Self { preset, side: None, again: Again::Nothing, frozen: false, averages: false };
        let mut unread = Vec::new();
        // Before the first dot is nothing more.
        for part in word[preset.0.len()..].split('.').skip(1) {
            let count = |text| number::parse(text).ok().filter(|count| (1.0..=MAX_SIZE).contains(count));
            match part {
                "frozen" => named.frozen = true,
                "ema" => named.averages = true,
                "root" => named.again = Again::Root,
                "" => {}
                _ => match (part.strip_prefix("every-"), count(part.strip_prefix("every-").unwrap_or(part))) {
                    (Some(_), Some(every)) => named.again = Again::Every(every.floor()),
                    (None, Some(side)) => named.side = Some(side.floor()),
                    (_, None) => unread.push(part),
                },
            }
        }
        Some((named, unread))
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
            assert_eq!(Named::notices(word).len(), usize::from(word != "sdxl."), "{word}");
        }
        assert_eq!(Named::read("sdxlarge"), None);
    }

    #[test]
    fn a_word_that_every_preset_writes_has_no_notice_and_one_that_names_none_is_named_with_what_it_is_like() {
        for preset in &presets::ALL {
            for again in [Again::Nothing, Again::Root, Again::Every(7.0)] {
                let named = Named { preset, side: Some(64.0), again, frozen: true, averages: true };
                assert_eq!(Named::notices(&named.word()), [], "{}", named.word());
            }
            // One letter too many.
            let [notice] = &Named::notices(&format!("{}x", preset.0))[..] else { panic!("one notice") };
            let Notice::Word { of, used: "vgg-16", .. } = notice else { panic!("{notice}") };
            assert_eq!(*of, NAMES);
            let nearest = notice.nearest();
            assert!(nearest.contains(&preset.0), "{}: {nearest:?}", preset.0);
        }
    }
}
