//! What other estimators say of one question, as text.

use super::input::Question;
use super::page;
use super::table::{Side, Table};
use super::words::{self, count, gib};
use crate::others::{self, Covers, Lacking, Largest, Origin, Row};
use crate::{Bytes, b_max, estimate, format};

/// The whole text.
pub fn text(question: &Question) -> String {
    let scenario = &question.scenario;
    let rows = others::all(scenario);
    let mut sections = vec![page::asked(scenario)];
    let notices: Vec<String> = question.notices.iter().map(ToString::to_string).collect();
    sections.extend(page::listed("Notices", &notices));
    let method = (estimate(scenario).peak().bytes, fitting(Largest::from(&b_max(scenario))));
    sections.push(numbers(&rows, scenario.recipe.batch, &method));
    sections.extend(page::listed("Cannot say", &each(&rows, |row| row.memory.as_ref().err().map(lacking))));
    let why = |row: &Row| row.memory.is_ok().then(|| row.other.why.to_owned());
    sections.extend(page::listed("Why they differ from the ledger", &each(&rows, why)));
    sections.extend(page::listed("Set here, and left out by them", &each(&rows, left_out)));
    let origin = |row: &Row| Some(origin(&row.other.origin));
    sections.extend(page::listed("Where their formulas stand", &each(&rows, origin)));
    sections.join("\n")
}

/// A sentence about each row that has one, behind its name.
fn each(rows: &[Row], sentence: impl Fn(&Row) -> Option<String>) -> Vec<String> {
    let named = |row: &Row| sentence(row).map(|sentence| format!("{}: {sentence}", row.other.name));
    rows.iter().filter_map(named).collect()
}

fn numbers(rows: &[Row], batch: u32, (peak, b_max): &(Bytes, String)) -> String {
    let mut table = Table::new(&[
        ("who", Side::Left),
        ("GiB", Side::Right),
        ("b_max", Side::Right),
        ("prints", Side::Right),
        ("of", Side::Left),
    ]);
    table.row(["this program".to_owned(), gib(*peak), b_max.clone(), String::new(), covered(Covers::Step)]);
    for row in rows {
        let largest = row.largest.map_or_else(|_| "–".to_owned(), fitting);
        let cells = match &row.memory {
            Ok(memory) => {
                let printed = row.other.printed.map(|printed| format::printed(printed, memory.total));
                [gib(memory.total), largest, printed.unwrap_or_default(), covered(row.other.covers)]
            }
            Err(_) => ["cannot say".to_owned(), largest, String::new(), String::new()],
        };
        let [memory, largest, printed, covers] = cells;
        table.row([row.other.name.to_owned(), memory, largest, printed, covers]);
    }
    let sequences = words::counted(batch, "sequence", "sequences");
    format!("Memory of the fullest GPU with {sequences}\n{}", table.text())
}

fn fitting(largest: Largest) -> String {
    match largest {
        Largest::Fits { batch, capped: true } => format!("≥ {}", count(batch)),
        Largest::Fits { batch, capped: false } => count(batch),
        Largest::None => "none".to_owned(),
    }
}

fn covered(covers: Covers) -> String {
    let what = match covers {
        Covers::Step => "a step",
        Covers::ModelStates => "model states",
    };
    what.to_owned()
}

fn lacking(lacking: &Lacking) -> String {
    let value = format::value(lacking.input, lacking.value);
    format!("it has no input for {} “{value}”.", lacking.input.name())
}

fn left_out(row: &Row) -> Option<String> {
    let names: Vec<&str> = row.ignores.iter().map(|input| input.name()).collect();
    (row.memory.is_ok() && !names.is_empty()).then(|| format!("{}.", names.join(", ")))
}

fn origin(origin: &Origin) -> String {
    let Origin { url, place, commit, date } = origin;
    match commit.get(..12) {
        Some(commit) => format!("{url}, {place}, at {commit} of {date}."),
        None => format!("{url}, {place}, {date}."),
    }
}
