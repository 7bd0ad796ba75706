//! What other estimators say of one question, as JSON and as text.

use schemars::JsonSchema;
use serde::Serialize;

use super::input::Question;
use super::page;
use super::report::{self, Answer};
use super::table::{Side, Table};
use super::values::{Number, Parameters, Value};
use super::words::{count, gib};
use crate::others::{self, Covers, Lacking, Largest, Memory, Origin, Row};
use crate::{Bytes, Scenario, b_max, estimate, format, link};

/// What the formulas of other estimators make of one question.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Others {
    /// The scenario as the query of a link, with only what differs from the defaults.
    pub link: String,
    /// Every parameter with the value in use.
    pub scenario: Parameters,
    /// What could not be used as it stands, and what was read in a way that should be known; one or two
    /// sentences each.
    pub notices: Vec<String>,
    /// The micro-batch that the memory is for, in sequences per GPU, or in pairs, completions or rows where its task
    /// or its lengths count those.
    pub micro_batch: u32,
    /// What this program says, by the method of the scenario.
    pub own: Own,
    /// What each of the others says, always all of them in the same order.
    pub estimators: Vec<Estimator>,
}

/// What this program says.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Own {
    /// The memory of the fullest GPU.
    pub total_bytes: Number,
    /// The largest micro-batch, or why not even one sequence fits.
    pub answer: Answer,
}

/// What another estimator says.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Estimator {
    /// A word for it.
    pub key: &'static str,
    /// What it is called.
    pub name: &'static str,
    /// The memory of the fullest GPU; null when it has no input for something that is asked for.
    pub memory: Option<Counted>,
    /// What it has no input for; null when there is a memory.
    pub memory_lacks: Option<Missing>,
    /// The largest micro-batch; null when it has no input for something that is asked for, or for a batch.
    pub largest: Option<Most>,
    /// What it has no input for; null when there is a largest micro-batch.
    pub largest_lacks: Option<Missing>,
    /// Why it differs from the ledger, in one sentence.
    pub why: &'static str,
    /// The parameters that are set here and left out by it.
    pub left_out: Vec<&'static str>,
    /// Where its formula is.
    pub source: Place,
}

/// The memory of one GPU as another estimator counts it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    /// The total.
    pub total_bytes: Number,
    /// The same as the program prints it; null for a paper.
    pub printed: Option<String>,
    /// What it is a total of: `step`, or `model-states` without activations.
    pub covers: &'static str,
    /// What is counted.
    pub parts: Vec<Part>,
    /// Whether the total is the sum of the parts; otherwise it is the largest of some of them.
    pub adds_up: bool,
}

/// Something that is counted.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// What.
    pub name: &'static str,
    /// How much.
    pub bytes: Number,
}

/// The largest micro-batch by another estimator.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Most {
    /// In sequences per GPU; 0 when not even one fits.
    pub b_max: u32,
    /// Whether the search ended there, so that more may fit.
    pub capped: bool,
}

/// A parameter that an estimator has no input for.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Missing {
    /// The parameter.
    pub key: &'static str,
    /// What it is called.
    pub name: &'static str,
    /// Its value in the scenario.
    pub value: Value,
}

/// Where a formula is.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The repository, the page or the paper.
    pub url: &'static str,
    /// The file in it, or the place in the paper.
    pub place: &'static str,
    /// The commit that was read; null for a paper.
    pub commit: Option<&'static str>,
    /// The date of that commit, or of the paper.
    pub date: &'static str,
}

/// What other estimators say of one question.
///
/// ```
/// use bmax::cli::{others, question};
/// let said = others(&question("gpus=8&zero=3", None)?);
/// let accelerate = said.estimators.iter().find(|one| one.key == "accelerate").expect("listed");
/// assert_eq!(accelerate.memory_lacks.as_ref().map(|lacks| lacks.key), Some("zero"));
/// # Ok::<(), bmax::cli::QuestionError>(())
/// ```
pub fn others(question: &Question) -> Others {
    let scenario = &question.scenario;
    Others {
        link: link::encode(scenario),
        scenario: Parameters(*scenario),
        notices: question.notices.iter().map(ToString::to_string).collect(),
        micro_batch: scenario.recipe.batch,
        own: Own {
            total_bytes: estimate(scenario).peak().bytes.into(),
            answer: report::answered(scenario, b_max(scenario)),
        },
        estimators: others::all(scenario).iter().map(estimator).collect(),
    }
}

fn estimator(row: &Row) -> Estimator {
    let Origin { url, place, commit, date, .. } = row.other.origin;
    Estimator {
        key: row.other.key,
        name: row.other.name,
        memory: row.memory.as_ref().ok().map(|memory| counted(row, memory)),
        memory_lacks: row.memory.as_ref().err().map(missing),
        largest: row.largest.ok().map(most),
        largest_lacks: row.largest.err().as_ref().map(missing),
        why: row.other.why,
        left_out: row.ignores.iter().map(|input| input.key()).collect(),
        source: Place { url, place, commit: Some(commit).filter(|commit| !commit.is_empty()), date },
    }
}

fn counted(row: &Row, memory: &Memory) -> Counted {
    Counted {
        total_bytes: memory.total.into(),
        printed: row.other.printed.map(|printed| format::printed(printed, memory.total)),
        covers: match row.other.covers {
            Covers::Step => "step",
            Covers::ModelStates => "model-states",
        },
        parts: memory.parts.iter().map(|part| Part { name: part.name, bytes: part.bytes.into() }).collect(),
        adds_up: memory.adds_up,
    }
}

fn most(largest: Largest) -> Most {
    match largest {
        Largest::Fits { batch, capped } => Most { b_max: batch, capped },
        Largest::None => Most { b_max: 0, capped: false },
    }
}

fn missing(lacking: &Lacking) -> Missing {
    Missing { key: lacking.input.key(), name: lacking.input.name(), value: lacking.value.into() }
}

/// The whole text.
pub fn text(question: &Question) -> String {
    let scenario = &question.scenario;
    let rows = others::all(scenario);
    let mut sections = vec![page::asked(scenario)];
    let notices: Vec<String> = question.notices.iter().map(ToString::to_string).collect();
    sections.extend(page::listed("Notices", &notices));
    let method = (estimate(scenario).peak().bytes, format::answer(&b_max(scenario)));
    sections.push(numbers(&rows, scenario, &method));
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

fn numbers(rows: &[Row], scenario: &Scenario, (peak, b_max): &(Bytes, String)) -> String {
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
    let sequences = format::batch(scenario.recipe.batch, scenario.unit());
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
