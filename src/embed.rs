//! One figure of the page in somebody else's: what is shown, and how, as parameters of the link.
//!
//! The query of an embed is that of a link ([`crate::link`]) with the figure's name and up to five options
//! before it. Links pass these parameters over, so that the same query without them opens the whole page.
//!
//! ```
//! use bmax::embed::{Embed, Theme};
//! use bmax::{Scenario, link};
//!
//! let dark = Embed { theme: Theme::Dark, ..Embed::of("chart") };
//! let query = dark.query(&Scenario::default());
//! assert_eq!(query, "embed=chart&theme=dark&v=4");
//! assert_eq!(Embed::read(&query), (Some(dark), vec![]));
//! assert_eq!(link::decode(&query), link::decode("v=4"));
//!
//! // A value that cannot be used is named, and its default stands in.
//! let (embed, notices) = Embed::read("?embed=chart&height=12&title=off");
//! assert_eq!(embed, Some(Embed { title: false, ..Embed::of("chart") }));
//! assert_eq!(notices.len(), 1);
//! ```

use std::fmt;

use form_urlencoded::Serializer;

use crate::link::{self, Decoded, Notice, Words};
use crate::{Scenario, number};

/// The parameters of embeds, which links pass over.
pub const KEYS: [&str; 6] = link::PASSED_OVER;

/// The least and the greatest height that can be asked for, in CSS pixels: the lowest frame in which a caption
/// and a line of a figure can be read, and more than the longest figure but the calculator takes.
pub const HEIGHTS: (u32, u32) = (120, 4_000);

/// Each parameter: its name in links and on the page, what it takes, and what stands in for anything else.
const OPTIONS: [(&str, &str, &str, &str); 6] = [
    ("embed", "Figure", "the name of a figure", "none"),
    ("controls", "Controls", "on, off", "on"),
    ("theme", "Theme", "auto, light, dark", "auto"),
    ("title", "Title", "on, off", "on"),
    ("height", "Height", "a whole number from 120 to 4000", "that of the figure"),
    ("ask", "Ask first", "on, off", "off"),
];

/// The longest name of a figure, in characters.
const MAX_NAME_BYTES: usize = 40;

/// Light or dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// As the reader's system has it, or as the host says by message.
    #[default]
    Auto,
    /// Always light.
    Light,
    /// Always dark.
    Dark,
}

impl Theme {
    /// Every theme, the default first.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Light, Self::Dark];

    /// Its word in links and messages.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// The theme of this word.
    pub fn from_key(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|theme| theme.key() == word)
    }
}

/// One figure alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Embed {
    /// The name of the figure, which is its `data-figure` on the page; empty where what was given can be the
    /// name of none. Whether there is such a figure, the page knows.
    pub figure: String,
    /// Whether fields, sliders and buttons are shown.
    pub controls: bool,
    /// Light or dark.
    pub theme: Theme,
    /// Whether the caption is shown.
    pub title: bool,
    /// The height of the frame in CSS pixels, 120 to 4,000; without it the frame is as high as the figure.
    pub height: Option<u32>,
    /// Whether the answer is not seen until the reader has named one. Only the figure of the answer asks; on the first page
    /// it does so without a frame, too.
    pub ask: bool,
}

impl Embed {
    /// The figure of this name with every option at its default.
    pub fn of(figure: &str) -> Self {
        Self { figure: figure.to_owned(), controls: true, theme: Theme::Auto, title: true, height: None, ask: false }
    }

    /// Reads the parameters of an embed from a query string, with or without its question mark, and says which
    /// values cannot be used. There is an embed only where `embed` is given: the options alone mean nothing, as
    /// for [`link::decode`], which also names whatever is wrong with the query as a whole.
    pub fn read(query: &str) -> (Option<Self>, Vec<Notice>) {
        let mut notices = Vec::new();
        let mut embed = Self::of("");
        let pairs = link::pairs(query.strip_prefix('?').unwrap_or(query), &mut Vec::new());
        let given: Vec<_> = OPTIONS
            .iter()
            .filter_map(|option| pairs.iter().find(|(key, _)| key == option.0).map(|(_, value)| (option, value)))
            .collect();
        if given.first().is_none_or(|((key, ..), _)| *key != KEYS[0]) {
            return (None, notices);
        }
        for (&(key, name, accepted, used), value) in given {
            if !embed.take(key, value) {
                let of = Words::Other { key, name, known: &[], accepted };
                notices.push(Notice::Word { of, given: value.clone(), used });
            }
        }
        (Some(embed), notices)
    }

    /// Sets one parameter; false where the value is none of its own, and nothing is set.
    fn take(&mut self, key: &str, value: &str) -> bool {
        let switch = ["on", "off"].contains(&value);
        match key {
            "controls" if switch => self.controls = value == "on",
            "title" if switch => self.title = value == "on",
            "ask" if switch => self.ask = value == "on",
            "theme" => match Theme::from_key(value) {
                Some(theme) => self.theme = theme,
                None => return false,
            },
            "height" => {
                self.height = height(value);
                return self.height.is_some();
            }
            "embed" if is_name(value) => value.clone_into(&mut self.figure),
            _ => return false,
        }
        true
    }

    /// Writes the query string of this embed with this scenario, without the leading question mark; options at
    /// their default are left out.
    pub fn query(&self, scenario: &Scenario) -> String {
        let mut query = Serializer::new(String::new());
        query.append_pair("embed", &self.figure);
        for (key, on) in [("controls", self.controls), ("title", self.title)] {
            if !on {
                query.append_pair(key, "off");
            }
        }
        if self.theme != Theme::default() {
            query.append_pair("theme", self.theme.key());
        }
        if let Some(height) = self.height {
            query.append_pair("height", &number::plain(height.into()));
        }
        if self.ask {
            query.append_pair("ask", "on");
        }
        query.finish() + "&" + &link::encode(scenario)
    }
}

/// What a host page asks of the page that it shows in a frame.
///
/// ```
/// use bmax::Scenario;
/// use bmax::embed::Message;
///
/// let asked = Message::read(Some("change"), Some("s=8192"), &Scenario::default());
/// assert!(matches!(asked, Ok(Message::Scenario(read)) if read.scenario.recipe.sequence == 8192));
/// // With anything wrong in it a message changes nothing.
/// let refused = Message::read(Some("set"), Some("model=13b&s=-1"), &Scenario::default());
/// assert_eq!(refused.unwrap_err().texts().len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// This scenario, in place of the present one, and the one to compare with, where the message names one.
    Scenario(Box<Decoded>),
    /// This theme.
    Theme(Theme),
    /// The answer, once more.
    Ask,
    /// Nothing: it is what the page itself says to its host, and may come back from there.
    Own,
}

impl Message {
    /// The longest text of a message, in UTF-16 units: nothing longer should be copied to be read.
    pub const MAX_UTF16_UNITS: u32 = link::MAX_QUERY_BYTES as u32;

    /// The name of the field that a message of this type carries.
    pub fn field(kind: Option<&str>) -> &'static str {
        if kind == Some("theme") { "theme" } else { "scenario" }
    }

    /// Reads a message from its type and the text of its [`Self::field`], onto the present scenario. What is no
    /// text, or longer than [`Self::MAX_UTF16_UNITS`], is given as none.
    ///
    /// # Errors
    ///
    /// What is wrong; then nothing of the message is to be used.
    pub fn read(kind: Option<&str>, text: Option<&str>, now: &Scenario) -> Result<Self, MessageError> {
        match (kind.unwrap_or_default(), text) {
            ("ask", _) => Ok(Self::Ask),
            ("size" | "answer" | "refused", _) => Ok(Self::Own),
            (kind @ ("set" | "change"), Some(text)) => {
                let mut read = link::decode_onto((kind == "change").then_some(now), text);
                // What is counted otherwise since then is nothing wrong with a message.
                read.notices.retain(Notice::is_fault);
                if read.notices.is_empty() {
                    Ok(Self::Scenario(Box::new(read)))
                } else {
                    Err(MessageError::Query(read.notices))
                }
            }
            ("set" | "change", None) => Err(MessageError::NoQuery),
            ("theme", text) => Theme::from_key(text.unwrap_or_default()).map(Self::Theme).ok_or(MessageError::Theme),
            _ => Err(MessageError::Type),
        }
    }
}

/// Why a message of a host is not used.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum MessageError {
    /// Its query says something that a link cannot.
    Query(Vec<Notice>),
    /// It has no query, or one that is too long.
    NoQuery,
    /// It names no theme.
    Theme,
    /// It is of no known type.
    Type,
}

impl MessageError {
    /// The texts to show, one for each thing that is wrong.
    pub fn texts(&self) -> Vec<String> {
        let takes = match self {
            Self::Query(notices) => return notices.iter().map(|notice| format!("{notice:#}")).collect(),
            Self::NoQuery => "“scenario” takes the query of a link, of 8,192 characters at most.",
            Self::Theme => "“theme” takes auto, light, dark.",
            Self::Type => "“type” takes set, change, theme, ask.",
        };
        vec![takes.to_owned()]
    }
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.texts().join(" "))
    }
}

impl std::error::Error for MessageError {}

/// What a query string says of an embed, as it stands there and with an `&` after each parameter: the beginning
/// of another query in which only the scenario differs.
pub fn kept(query: &str) -> String {
    let mut kept = String::new();
    for raw in query.strip_prefix('?').unwrap_or(query).split('&') {
        if form_urlencoded::parse(raw.as_bytes())
            .next()
            .is_some_and(|(key, _)| KEYS.contains(&&*key) || key == link::NETWORK)
        {
            kept += raw;
            kept += "&";
        }
    }
    kept
}

/// Whether a text can be the name of a figure: small letters, digits and hyphens.
fn is_name(text: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&text.len())
        && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

/// A height in CSS pixels, in digits alone as in the attribute of a frame.
fn height(text: &str) -> Option<u32> {
    // No more digits than the greatest has, so that no sum is too large.
    if text.len() > 4 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let height = text.bytes().fold(0, |height, digit| 10 * height + u32::from(digit - b'0'));
    (HEIGHTS.0..=HEIGHTS.1).contains(&height).then_some(height)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::select;

    fn read(query: &str) -> (Embed, Vec<String>) {
        let (embed, notices) = Embed::read(query);
        (embed.expect("a figure is named"), notices.iter().map(ToString::to_string).collect())
    }

    prop_compose! {
        fn any_embed()(
            figure in "[a-z][a-z0-9-]{0,39}",
            controls in any::<bool>(),
            theme in select(&Theme::ALL[..]),
            title in any::<bool>(),
            height in prop::option::of(HEIGHTS.0..=HEIGHTS.1),
            ask in any::<bool>(),
        ) -> Embed {
            Embed { figure, controls, theme, title, height, ask }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(embed in any_embed(), gpus in 1..=131_072_u32, full in any::<bool>()) {
            let link = format!("gpus={gpus}&recompute={}", if full { "full" } else { "none" });
            let scenario = link::decode(&link).scenario;
            let query = embed.query(&scenario);
            prop_assert_eq!(Embed::read(&query), (Some(embed.clone()), vec![]));
            prop_assert_eq!(link::decode(&query), link::Decoded { scenario, vs: link::Pinned::NONE, notices: vec![] });
            prop_assert_eq!(kept(&query) + &link::encode(&scenario), query);
        }

        #[test]
        fn no_text_stops_the_reader_or_becomes_another_figure(query in "\\PC{0,200}", name in "[^\\p{C}\u{fffd}]{0,60}") {
            let _ = (Embed::read(&query), kept(&query));
            let query = Serializer::new(String::new()).append_pair("embed", &name).finish();
            let (embed, notices) = Embed::read(&query);
            let figure = embed.expect("it is given").figure;
            prop_assert!(figure == name && notices.is_empty() || figure.is_empty() && notices.len() == 1);
        }
    }

    #[test]
    fn without_a_figure_the_options_mean_nothing() {
        for query in ["", "?", "?theme=dark", "theme=puce&height=-1&gpus=8"] {
            assert_eq!(Embed::read(query), (None, vec![]), "{query}");
            assert_eq!(link::decode(query).notices, [], "{query}");
        }
    }

    #[test]
    fn a_bad_option_is_named_with_what_it_takes_and_the_rest_is_kept() {
        let kept = Embed { theme: Theme::Dark, title: false, ..Embed::of("chart") };
        for (bad, name, takes) in [
            ("controls=none", "Controls", "on, off"),
            ("controls=", "Controls", "on, off"),
            ("controls=OFF", "Controls", "on, off"),
            ("ask=1", "Ask first", "on, off"),
            ("height=119", "Height", "from 120 to 4000"),
            ("height=4001", "Height", "from 120 to 4000"),
            ("height=500px", "Height", "from 120 to 4000"),
            ("height=1e3", "Height", "from 120 to 4000"),
            ("height=-500", "Height", "from 120 to 4000"),
            ("height=99999999999999999999", "Height", "from 120 to 4000"),
            ("height=٤٠٠", "Height", "from 120 to 4000"),
            ("height=", "Height", "from 120 to 4000"),
        ] {
            let (embed, notices) = read(&format!("?embed=chart&theme=dark&{bad}&title=off&s=4096"));
            assert_eq!(embed, kept, "{bad}");
            assert!(notices.len() == 1 && notices[0].contains(name) && notices[0].contains(takes), "{notices:?}");
        }
        let (embed, notices) = read("embed=chart&theme=sepia&title=no");
        assert_eq!(embed, Embed::of("chart"));
        assert!(notices[0].contains("auto, light, dark") && notices[1].contains("Title"), "{notices:?}");
    }

    #[test]
    fn every_parameter_has_its_row() {
        assert_eq!(OPTIONS.map(|option| option.0), KEYS);
        let (least, most) = HEIGHTS;
        assert!(OPTIONS[4].2.ends_with(&format!("from {least} to {most}")));
    }

    #[test]
    fn the_ends_of_the_heights_can_be_asked_for() {
        for height in [120, 520, 4_000] {
            assert_eq!(read(&format!("embed=chart&height={height}")).0.height, Some(height));
        }
    }

    #[test]
    fn what_can_be_no_name_is_shown_shortened_and_goes_no_further() {
        let long = "a".repeat(41);
        for hostile in [
            "",
            "<img src=x onerror=alert(1)>",
            "%3Cscript%3E",
            "\"]",
            "chart\"],[data-figure",
            "../answer",
            "Chart",
            "__proto__",
            "chart%00",
            "chart%0A",
            " chart",
            "répartition",
            "图",
            &long,
        ] {
            let (embed, notices) = read(&format!("?embed={hostile}"));
            assert_eq!(embed, Embed::of(""), "{hostile}");
            assert!(notices.len() == 1 && notices[0].contains("the name of a figure"), "{notices:?}");
            assert!(notices[0].chars().count() < 160, "{}", notices[0]);
        }
    }

    #[test]
    fn the_first_of_several_counts_as_in_every_link() {
        let query = "?embed=chart&embed=answer&theme=dark&theme=light";
        assert_eq!(read(query), (Embed { theme: Theme::Dark, ..Embed::of("chart") }, vec![]));
        assert_eq!(link::decode(query).notices.len(), 2, "the link names what is repeated");
    }

    #[test]
    fn the_parameters_of_an_embed_are_none_of_a_scenario() {
        for parameter in link::parameters() {
            assert!(!KEYS.contains(&parameter.key), "{}", parameter.key);
        }
    }

    fn said(kind: &str, text: &str) -> Result<Message, MessageError> {
        let now = link::decode("model=13b&gpus=64").scenario;
        Message::read(Some(kind), Some(text), &now)
    }

    fn becomes(message: Result<Message, MessageError>, link: &str) {
        match message {
            Ok(Message::Scenario(read)) => assert_eq!(link::encode(&read.scenario), link),
            other => panic!("{link}: {other:?}"),
        }
    }

    #[test]
    fn one_message_replaces_the_scenario_and_another_changes_only_what_it_names() {
        becomes(said("set", "s=8192"), "v=4&s=8192");
        becomes(said("change", "s=8192"), "v=4&model=13b&s=8192&gpus=64");
        becomes(said("set", "?embed=chart&theme=dark&v=4&s=8192"), "v=4&s=8192");
        becomes(said("set", ""), "v=4");
        assert_eq!(said("theme", "dark"), Ok(Message::Theme(Theme::Dark)));
        assert_eq!(said("ask", "anything"), Ok(Message::Ask));
    }

    #[test]
    fn a_message_of_an_older_version_is_used_although_the_count_has_changed_since() {
        let text = "v=2&model=mixtral-8x7b&gpus=1&adapter=qlora";
        let read = Message::read(Some("set"), Some(text), &Scenario::default());
        let Ok(Message::Scenario(read)) = read else { panic!("{read:?}") };
        assert_eq!((read.scenario, read.notices), (link::decode(text).scenario, vec![]));
        let wrong = format!("{text}&s=0");
        let refused = Message::read(Some("set"), Some(&wrong), &Scenario::default()).unwrap_err().texts();
        assert!(matches!(&refused[..], [one] if one.starts_with("Sequence length")), "{refused:?}");
    }

    #[test]
    fn a_message_with_anything_wrong_in_it_is_refused_and_says_all_of_it() {
        let problems = said("set", "s=-1&model=13b&recompute=some&__proto__=1").unwrap_err().texts();
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[0].contains("Sequence length"), "{problems:?}");
        for (kind, text) in [
            ("set", "s=%zz"),
            ("set", "s=1&s=2"),
            ("set", "model=<img src=x>"),
            ("change", "constructor=1"),
            ("theme", "sepia"),
            ("theme", ""),
            ("", "s=1"),
            ("SET", "s=1"),
            ("delete", "s=1"),
            ("__proto__", ""),
        ] {
            let problems = said(kind, text).unwrap_err().texts();
            assert!(problems.len() == 1 && problems[0].chars().count() < 200, "{kind} {text}: {problems:?}");
        }
    }

    #[test]
    fn what_is_no_text_or_too_long_is_refused_with_what_would_be_read() {
        let now = Scenario::default();
        for (kind, takes) in [("set", "8,192"), ("change", "8,192"), ("theme", "auto, light, dark")] {
            let problems = Message::read(Some(kind), None, &now).unwrap_err().texts();
            assert!(problems.len() == 1 && problems[0].contains(takes), "{problems:?}");
        }
        assert!(Message::read(None, Some("s=1"), &now).unwrap_err().texts()[0].contains("set, change, theme, ask"));
        assert_eq!(Message::MAX_UTF16_UNITS, 8_192, "the number in the text");
    }

    #[test]
    fn what_the_page_says_itself_is_not_answered_when_it_comes_back() {
        for own in ["size", "answer", "refused"] {
            assert_eq!(said(own, ""), Ok(Message::Own));
        }
    }

    #[test]
    fn an_address_keeps_what_it_says_of_the_embed_and_nothing_else() {
        assert_eq!(kept("?s=4096&embed=chart&x=1&the%6De=dark&v=4"), "embed=chart&the%6De=dark&");
        assert_eq!(kept("?v=4&s=1"), "");
        assert_eq!(kept(""), "");
    }
}
