//! Tables as CSV: [RFC 4180](https://www.rfc-editor.org/rfc/rfc4180), for programs and spreadsheets.
//!
//! A table comes as people read it, `1,048.5 GiB` in one cell and `96.0 MiB` in the next. A column in
//! which every cell is a number gets one unit, in its header, and plain numbers with a point below it;
//! a column with words in it keeps its words. Nothing is rounded anew, and nothing is computed that the
//! table does not say.
//!
//! ```
//! use bmax::csv::Table;
//!
//! let cells = |row: &[&str]| row.iter().map(|cell| cell.to_string()).collect::<Vec<_>>();
//! let table = Table { header: cells(&["Optimizer", "Each GPU"]), rows: vec![cells(&["AdamW", "6.12 GiB"]), cells(&["8-bit, fused", "768 MiB"])] };
//! assert_eq!(table.write(), "Optimizer,Each GPU (GiB)\r\nAdamW,6.12\r\n\"8-bit, fused\",0.75\r\n");
//! ```

use crate::number;

/// A table as it is read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The names of the columns.
    pub header: Vec<String>,
    /// The cells, row by row. A short row is filled up.
    pub rows: Vec<Vec<String>>,
}

/// Units that measure the same, with how many of the first each is. What a column mixes is written in
/// the first one. 1 GiB is 2³⁰ bytes and 1 GB is 10⁹, so they never meet.
const FAMILIES: [&[(&str, f64)]; 3] = [
    &[
        ("GiB", 1.0),
        ("MiB", 1.0 / 1_024.0),
        ("KiB", 1.0 / 1_048_576.0),
        ("TiB", 1_024.0),
        ("PiB", 1_048_576.0),
        ("bytes", 1.0 / 1_073_741_824.0),
        ("B", 1.0 / 1_073_741_824.0),
    ],
    &[("GB", 1.0), ("MB", 1e-3), ("kB", 1e-6), ("TB", 1e3)],
    // The page counts years of 365.25 days.
    &[
        ("s", 1.0),
        ("ms", 1e-3),
        ("µs", 1e-6),
        ("min", 60.0),
        ("hours", 3_600.0),
        ("h", 3_600.0),
        ("days", 86_400.0),
        ("years", 31_557_600.0),
    ],
];

impl Table {
    /// The table as a file. It begins with a byte order mark where it has letters beyond ASCII:
    /// spreadsheets take it for another encoding otherwise.
    #[must_use]
    pub fn write(&self) -> String {
        let width = self.rows.iter().map(Vec::len).chain([self.header.len()]).max().unwrap_or(0);
        let columns: Vec<(String, Vec<String>)> = (0..width).map(|column| self.column(column)).collect();
        let mut file = String::new();
        line(columns.iter().map(|column| &*column.0), &mut file);
        for row in 0..self.rows.len() {
            line(columns.iter().map(|column| column.1.get(row).map_or("", |cell| cell)), &mut file);
        }
        if file.is_ascii() { file } else { "\u{feff}".to_owned() + &file }
    }

    /// The header of a column with the unit of its cells, and the cells.
    fn column(&self, column: usize) -> (String, Vec<String>) {
        let cells: Vec<&str> = self.rows.iter().map(|row| row.get(column).map_or("", |cell| cell.trim())).collect();
        let header = self.header.get(column).map_or("", |cell| cell.trim());
        let filled = cells.iter().filter(|cell| !cell.is_empty());
        let values: Option<Vec<(Digits, &str)>> = filled.map(|cell| measured(cell)).collect();
        let Some((unit, values)) = values.and_then(|values| common(&values)) else {
            let plain = |cell: &&str| measured(cell).filter(|value| value.1.is_empty()).map(|value| value.0.written());
            return (
                header.to_owned(),
                cells.iter().map(|cell| plain(cell).unwrap_or_else(|| (*cell).to_owned())).collect(),
            );
        };
        let mut values = values.into_iter();
        let cells = cells.iter().map(|cell| if cell.is_empty() { None } else { values.next() }.unwrap_or_default());
        let said = unit.is_empty()
            || header
                .split(|letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '%' | '×' | 'µ'))
                .any(|word| word == unit);
        let header = match header {
            header if said => header.to_owned(),
            "" => unit,
            header => format!("{header} ({unit})"),
        };
        (header, cells.collect())
    }
}

/// A number that keeps its digits, so that writing it again changes none.
#[derive(Clone, Debug, PartialEq)]
struct Digits {
    text: String,
    value: f64,
}

impl Digits {
    /// As a program reads it.
    fn written(&self) -> String {
        self.text.clone()
    }

    /// So many times as much.
    fn times(&self, factor: f64) -> String {
        if factor == 1.0 { self.written() } else { number::plain(self.value * factor) }
    }
}

/// A cell that is a number and perhaps a unit behind it.
fn measured(cell: &str) -> Option<(Digits, &str)> {
    let end = cell
        .char_indices()
        .find(|(at, letter)| !is_of_number(*letter) && !is_exponent(cell, *at))
        .map_or(cell.len(), |(at, _)| at);
    let (number, unit) = cell.split_at_checked(end)?;
    let (number, unit) =
        match unit.trim_start().strip_prefix("× 10^").or_else(|| unit.trim_start().strip_prefix("·10^")) {
            // 1.2 × 10^6, as a superscript is read.
            Some(rest) => {
                let end = rest.find(|letter: char| !is_of_number(letter)).unwrap_or(rest.len());
                let (power, unit) = rest.split_at_checked(end)?;
                (format!("{}e{}", number.trim(), power.trim().replace('−', "-")), unit)
            }
            None => (number.trim().to_owned(), unit),
        };
    let text: String = number.replace('−', "-").chars().filter(|letter| !letter.is_whitespace()).collect();
    let value = number::parse(&text).ok()?;
    let text = text.strip_prefix('+').unwrap_or(&text).replace(',', "");
    let unit = unit.trim();
    // A unit is a word or a sign: more than that is a sentence with a number in it.
    let is_unit = unit.chars().count() <= 12
        && !unit.contains(char::is_whitespace)
        && !unit.contains(|letter: char| letter.is_ascii_digit());
    is_unit.then_some((Digits { text, value }, unit))
}

fn is_of_number(letter: char) -> bool {
    letter.is_ascii_digit() || matches!(letter, '.' | ',' | '-' | '+' | '−' | ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}')
}

/// Whether the letter at this place is the e of an exponent.
fn is_exponent(cell: &str, at: usize) -> bool {
    let bytes = cell.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let sign = matches!(bytes.get(at + 1), Some(b'-' | b'+'));
    matches!(bytes.get(at), Some(b'e')) && at > 0 && digit(at - 1) && (digit(at + 1) || sign && digit(at + 2))
}

/// The unit of a whole column, and its numbers in that unit; nothing where no one unit measures all.
fn common(values: &[(Digits, &str)]) -> Option<(String, Vec<String>)> {
    let (_, first) = values.first()?;
    let first = values.iter().map(|value| value.1).find(|unit| !unit.is_empty()).unwrap_or(first);
    // Nothing is nothing in every unit.
    let fits = |(digits, unit): &(Digits, &str)| *unit == first || digits.value == 0.0 && unit.is_empty();
    if values.iter().all(fits) {
        return Some((first.to_owned(), values.iter().map(|value| value.0.written()).collect()));
    }
    let family = FAMILIES.into_iter().find(|family| family.iter().any(|unit| unit.0 == first))?;
    let (unit, _) = family.first()?;
    let factor = |unit: &str| family.iter().find(|known| known.0 == unit).map(|known| known.1);
    let in_unit = |(digits, unit): &(Digits, &str)| match factor(unit) {
        Some(factor) => Some(digits.times(factor)),
        None => (digits.value == 0.0 && unit.is_empty()).then(|| digits.written()),
    };
    Some(((*unit).to_owned(), values.iter().map(in_unit).collect::<Option<_>>()?))
}

fn line<'a>(cells: impl Iterator<Item = &'a str>, file: &mut String) {
    for (position, cell) in cells.enumerate() {
        if position > 0 {
            file.push(',');
        }
        field(cell, file);
    }
    *file += "\r\n";
}

/// One field: in quotes where it has to be, and harmless where a spreadsheet would run it. A cell that
/// begins like a formula and is no number gets an apostrophe, as OWASP advises:
/// <https://owasp.org/www-community/attacks/CSV_Injection>.
fn field(cell: &str, file: &mut String) {
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) && number::parse(cell).is_err();
    let guard = if is_formula { "'" } else { "" };
    if cell.contains(['"', ',', '\r', '\n']) {
        *file += "\"";
        *file += guard;
        *file += &cell.replace('"', "\"\"");
        *file += "\"";
    } else {
        *file += guard;
        *file += cell;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(header: &str, cells: &[&str]) -> Vec<String> {
        let rows = cells.iter().map(|cell| vec![(*cell).to_owned()]).collect();
        let file = Table { header: vec![header.to_owned()], rows }.write();
        file.trim_start_matches('\u{feff}').trim_end().split("\r\n").map(str::to_owned).collect()
    }

    #[test]
    fn numbers_are_plain_and_their_unit_stands_in_the_header() {
        assert_eq!(written("Each GPU", &["6.12 GiB", "1,048.5 GiB"]), ["Each GPU (GiB)", "6.12", "1048.5"]);
        assert_eq!(written("Share", &["12 %", "3 %"]), ["Share (%)", "12", "3"]);
        assert_eq!(written("S", &["1,024", "131,072"]), ["S", "1024", "131072"]);
        assert_eq!(written("Faster", &["1.50×", "−2×"]), ["Faster (×)", "1.50", "-2"]);
        assert_eq!(written("Peak, GiB", &["1.0 GiB", "2.0 GiB"]), ["\"Peak, GiB\"", "1.0", "2.0"]);
        assert_eq!(written("Rate", &["3e-4", "1.2 × 10^6", "+5"]), ["Rate", "3e-4", "1.2e6", "5"]);
    }

    #[test]
    fn sizes_and_times_of_one_column_get_one_unit() {
        assert_eq!(written("State", &["96 MiB", "3 GiB", "0 GiB"]), ["State (GiB)", "0.09375", "3", "0"]);
        assert_eq!(written("Time", &["250 ms", "1.5 min", "2 hours"]), ["Time (s)", "0.25", "90", "7200"]);
        // 1 GB is not 1 GiB: no unit measures both, so that the words stay.
        assert_eq!(written("Mixed", &["1 GB", "1 GiB"]), ["Mixed", "1 GB", "1 GiB"]);
    }

    #[test]
    fn words_stay_words_and_numbers_among_them_become_plain() {
        assert_eq!(
            written("b", &["1,024", "does not fit", "≥ 1,048,576"]),
            ["b", "1024", "does not fit", "\"≥ 1,048,576\""]
        );
        assert_eq!(
            written("Note", &["3 of 4 layers", "", "7 layers of a model"]),
            ["Note", "3 of 4 layers", "", "7 layers of a model"]
        );
    }

    #[test]
    fn quotes_commas_and_line_ends_are_quoted() {
        assert_eq!(written("a", &["say \"b\"", "x, y"]), ["a", "\"say \"\"b\"\"\"", "\"x, y\""]);
        let table = Table { header: vec!["a".to_owned()], rows: vec![vec!["one\ntwo".to_owned()]] };
        assert_eq!(table.write(), "a\r\n\"one\ntwo\"\r\n");
    }

    #[test]
    fn nothing_is_run_by_a_spreadsheet() {
        let hostile = ["=1+1", "@SUM(A1)", "-2+3", "+cmd|' /C calc'!A0", "-5", "plain"];
        let expected = ["h", "'=1+1", "'@SUM(A1)", "'-2+3", "'+cmd|' /C calc'!A0", "-5", "plain"];
        assert_eq!(written("h", &hostile), expected);
        assert_eq!(written("=HYPERLINK(\"x\")", &["1"])[0], "\"'=HYPERLINK(\"\"x\"\")\"");
    }

    #[test]
    fn the_mark_of_utf_8_is_there_where_it_is_needed() {
        let table = |cell: &str| Table { header: vec!["a".to_owned()], rows: vec![vec![cell.to_owned()]] }.write();
        assert!(table("×").starts_with('\u{feff}') && !table("x").starts_with('\u{feff}'));
    }

    #[test]
    fn short_rows_are_filled_up_and_nothing_is_still_a_file() {
        let rows = vec![vec!["1".to_owned()], vec!["2".to_owned(), "x".to_owned()]];
        assert_eq!(Table { header: vec!["a".to_owned()], rows }.write(), "a,\r\n1,\r\n2,x\r\n");
        assert_eq!(Table::default().write(), "\r\n");
    }
}
