//! What stands around every picture: its title, whose configuration it shows, and the link to that.

use super::Drawing;
use super::theme::Theme;
use crate::{Choice, Scenario, catalogue, format, link};

/// Room around everything, in CSS pixels.
pub(super) const MARGIN: f64 = 24.0;
/// From one line of small print to the next.
pub(super) const SMALL_LINE: f64 = 17.0;
/// The size of the link's letters.
const SMALL: f64 = 11.0;
/// The width of a letter against the size of its face, on average and rather too much: what breaks
/// lines here knows no face.
const LETTER: f64 = 0.54;

/// A configuration in one line: what is trained, on what, how.
#[must_use]
pub fn configuration(scenario: &Scenario) -> String {
    let named = |row: Option<(&str, bool)>| match row {
        Some((name, false)) => name.to_owned(),
        Some((name, true)) => format!("{name} (edited)"),
        None => "a model of your own".to_owned(),
    };
    let model = named(catalogue::model_row_of(scenario).map(|(row, edited)| (row.name, edited)));
    let device = match catalogue::device_row_of(scenario) {
        Some((row, false)) => row.name.to_owned(),
        _ => format!("GPU of {}", format::memory(scenario.device.memory)),
    };
    format!(
        "{model} on {} × {device}, {} per sequence, b = {}, {}",
        format::count(scenario.cluster.gpus),
        format::counted(scenario.recipe.sequence, "token", "tokens"),
        format::count(scenario.recipe.batch),
        scenario.recipe.precision.label(),
    )
}

/// What stands below a picture: the link to the page with this configuration, in lines that fit.
pub struct Footer {
    lines: Vec<String>,
    margin: f64,
}

impl Footer {
    /// The footer of a picture so wide; `page` is the address of the page without its query.
    #[must_use]
    pub fn of(scenario: &Scenario, page: &str, width: f64) -> Self {
        Self::within(scenario, page, width, MARGIN)
    }

    /// The footer of a picture that has the configuration nowhere else, with this much room at either
    /// side.
    #[must_use]
    pub fn with_configuration(scenario: &Scenario, page: &str, width: f64, margin: f64) -> Self {
        let mut footer = Self::within(scenario, page, width, margin);
        footer.lines.splice(0..0, paragraph(&configuration(scenario), width - 2.0 * margin, SMALL));
        footer
    }

    fn within(scenario: &Scenario, page: &str, width: f64, margin: f64) -> Self {
        let address = format!("{page}?{}", link::encode(scenario));
        let lines = wrap(&address, width - 2.0 * margin, SMALL, |letter| matches!(letter, '&' | '?' | '/' | '-'));
        Self { lines, margin }
    }

    /// How much room it takes, from the last line of the picture to the lower edge.
    #[must_use]
    pub fn height(&self) -> f64 {
        self.lines.len() as f64 * 15.0 + self.margin
    }

    /// Writes it, from this far down.
    pub fn draw(&self, drawing: &mut Drawing, theme: Theme, top: f64) {
        for (line, words) in self.lines.iter().enumerate() {
            let place = (self.margin, top + 15.0 * (line as f64 + 1.0));
            drawing.text(place, &[("font-size", "11"), ("fill", theme.colour("--ink-soft"))], words);
        }
    }
}

/// Writes a title and the configuration below it, and returns how far down they reach.
pub(super) fn head(drawing: &mut Drawing, theme: Theme, title: &str, scenario: &Scenario, width: f64) -> f64 {
    let room = width - 2.0 * MARGIN;
    let mut y = MARGIN - 4.0;
    for line in paragraph(title, room, 18.0) {
        y += 23.0;
        let bold = [("font-size", "18"), ("font-weight", "600"), ("fill", theme.colour("--ink"))];
        drawing.text((MARGIN, y), &bold, &line);
    }
    for line in paragraph(&configuration(scenario), room, 13.0) {
        y += 20.0;
        drawing.text((MARGIN, y), &[("font-size", "13"), ("fill", theme.colour("--ink-soft"))], &line);
    }
    y
}

/// Text in lines of this width at this size of letters, broken between words.
pub(super) fn paragraph(text: &str, width: f64, size: f64) -> Vec<String> {
    wrap(text, width, size, |letter| letter == ' ')
}

/// About how wide words are.
pub(super) fn width_of(words: &str, size: f64) -> f64 {
    words.chars().count() as f64 * size * LETTER
}

/// Breaks a text behind letters that allow it, and within what is too long for a line.
fn wrap(text: &str, width: f64, size: f64, breaks: impl Fn(char) -> bool) -> Vec<String> {
    let most = ((width / (size * LETTER)) as usize).max(8);
    let (mut lines, mut line, mut length) = (Vec::new(), String::new(), 0);
    for piece in text.split_inclusive(breaks) {
        let letters: Vec<char> = piece.chars().collect();
        let shown = piece.trim_end().chars().count();
        if length > 0 && length + shown > most {
            lines.push(line.trim_end().to_owned());
            (line, length) = (String::new(), 0);
        }
        for part in letters.chunks(most) {
            if length + part.len() > most + 1 {
                lines.push(std::mem::take(&mut line));
                length = 0;
            }
            line.extend(part);
            length += part.len();
        }
    }
    if !line.trim().is_empty() {
        lines.push(line.trim_end().to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_nothing_is_lost() {
        let text = "one two three four five six seven eight nine ten";
        let lines = paragraph(text, 100.0, 13.0);
        assert!(lines.len() > 2 && lines.iter().all(|line| width_of(line, 13.0) <= 101.0), "{lines:?}");
        assert_eq!(lines.join(" "), text);
    }

    #[test]
    fn a_link_is_broken_and_can_be_put_together_again() {
        let scenario = catalogue::model("llama-3.1-8b").expect("listed").apply(Scenario::workshop());
        let address = "https://example.org/a/long/path/".repeat(9) + "index.html";
        let lines = Footer::of(&scenario, &address, 300.0).lines;
        assert!(lines.len() > 3);
        assert_eq!(lines.concat(), format!("{address}?{}", link::encode(&scenario)));
    }
}
