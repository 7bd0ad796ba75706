//! Two questions side by side, as JSON and as text.

use schemars::JsonSchema;
use serde::Serialize;

use super::input::Question;
use super::page;
use super::report::{self, Answer, Conflict, Peak};
use super::table::{Side as Column, Table};
use super::values::{Number, Parameters, Value};
use super::words::{count, gib};
use crate::compare::{self, Input, compare};
use crate::{Bytes, format, link};

/// What turns one scenario into another, and what that does to the memory of one GPU.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The first question.
    pub before: Side,
    /// The second question.
    pub after: Side,
    /// The inputs that differ.
    pub changes: Vec<Change>,
    /// What the peak of the second has more than that of the first: the sum of `delta_bytes` of `buckets`, added
    /// up in their order.
    pub delta_bytes: Number,
    /// The buckets at the two peaks.
    pub buckets: Vec<BucketChange>,
    /// The entries that are alive at either peak; what differs most comes first.
    pub entries: Vec<EntryChange>,
}

/// One of the two questions.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// The scenario as the query of a link, with only what differs from the defaults.
    pub link: String,
    /// Every parameter with the value in use.
    pub scenario: Parameters,
    /// What could not be used as it stands, and what was read in a way that should be known; one or two
    /// sentences each.
    pub notices: Vec<String>,
    /// Settings that contradict each other.
    pub conflicts: Vec<Conflict>,
    /// The largest micro-batch, or why not even one sequence fits.
    pub answer: Answer,
    /// The micro-batch that the peak is for, in sequences per GPU, or in pairs, completions or rows where its task
    /// or its lengths count those.
    pub micro_batch: u32,
    /// The instant with most memory.
    pub peak: Peak,
    /// What a step may use.
    pub usable_bytes: Number,
}

/// An input that differs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    #[serde(skip)]
    input: Input,
    /// The parameter.
    pub key: &'static str,
    /// What it is called.
    pub name: &'static str,
    /// Its value in the first scenario.
    pub before: Value,
    /// Its value in the second.
    pub after: Value,
    /// The inputs that differ because another model or another GPU brings them.
    pub brings: Vec<Change>,
}

/// A bucket at the two peaks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BucketChange {
    /// Which.
    #[schemars(schema_with = "report::buckets")]
    pub bucket: &'static str,
    /// Its size at the first peak.
    pub before_bytes: Number,
    /// Its size at the second.
    pub after_bytes: Number,
    /// What the second has more; negative when it has less.
    pub delta_bytes: Number,
}

/// An entry at the two peaks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntryChange {
    /// What it is.
    pub name: &'static str,
    /// The bucket it belongs to.
    #[schemars(schema_with = "report::buckets")]
    pub bucket: &'static str,
    /// Its size at the first peak; null when it is not alive there.
    pub before_bytes: Option<Number>,
    /// Its size at the second; null when it is not alive there.
    pub after_bytes: Option<Number>,
    /// What the second has more; negative when it has less.
    pub delta_bytes: Number,
}

/// The comparison of two questions.
///
/// ```
/// use bmax::cli::{comparison, question};
/// let compared = comparison(&question("s=2048", None)?, &question("s=8192", None)?);
/// assert_eq!(compared.changes[0].key, "s");
/// # Ok::<(), bmax::cli::QuestionError>(())
/// ```
pub fn comparison(before: &Question, after: &Question) -> Comparison {
    let compared = compare(&before.scenario, &after.scenario);
    Comparison {
        before: side(before, &compared.before),
        after: side(after, &compared.after),
        changes: compared.changes.iter().map(change).collect(),
        delta_bytes: compared.delta.into(),
        buckets: compared.buckets.iter().map(bucket).collect(),
        entries: compared.entries.iter().map(entry).collect(),
    }
}

fn side(question: &Question, side: &compare::Side) -> Side {
    let scenario = &question.scenario;
    Side {
        link: link::encode(scenario),
        scenario: Parameters(*scenario),
        notices: question.notices.iter().map(ToString::to_string).collect(),
        conflicts: scenario.conflicts().into_iter().map(report::conflict).collect(),
        answer: report::answered(scenario, side.answer.clone()),
        micro_batch: side.micro_batch,
        peak: report::peak(&side.peak),
        usable_bytes: side.usable.into(),
    }
}

fn change(change: &compare::Difference) -> Change {
    Change {
        input: change.input,
        key: change.input.key(),
        name: change.input.name(),
        before: change.before.into(),
        after: change.after.into(),
        brings: change.brings.iter().map(self::change).collect(),
    }
}

fn bucket(bucket: &compare::BucketChange) -> BucketChange {
    BucketChange {
        bucket: bucket.bucket.key(),
        before_bytes: bucket.before.into(),
        after_bytes: bucket.after.into(),
        delta_bytes: bucket.delta.into(),
    }
}

fn entry(entry: &compare::EntryChange) -> EntryChange {
    EntryChange {
        name: entry.name,
        bucket: entry.bucket.key(),
        before_bytes: entry.before.map(Number::from),
        after_bytes: entry.after.map(Number::from),
        delta_bytes: entry.delta.into(),
    }
}

/// How many of the numbers that a model or a GPU brings are listed; all are in the JSON.
const BROUGHT_SHOWN: usize = 8;

/// What is too little to be seen in a column of GiB with two digits after the point.
const TOO_LITTLE: f64 = 0.005;

/// The whole comparison.
pub fn text(comparison: &Comparison) -> String {
    let sides = [("A", &comparison.before), ("B", &comparison.after)];
    let mut sections: Vec<String> =
        sides.map(|(name, side)| format!("{name}: {}", page::asked(&side.scenario.0))).into();
    sections.extend(page::listed("Notices", &told(sides, |side| side.notices.clone())));
    sections.extend([changes(&comparison.changes), answers(comparison)]);
    sections.extend([entries(comparison), buckets(comparison)]);
    sections.join("\n")
}

/// Sentences about either side, each with the name of the side.
fn told(sides: [(&str, &Side); 2], of: impl Fn(&Side) -> Vec<String>) -> Vec<String> {
    sides.iter().flat_map(|(name, side)| of(side).into_iter().map(move |text| format!("{name}: {text}"))).collect()
}

fn answers(comparison: &Comparison) -> String {
    let mut table = Table::new(&[("", Column::Left), ("A", Column::Left), ("B", Column::Left)]);
    let sides = [&comparison.before, &comparison.after];
    let mut row = |name: &str, cell: fn(&Side) -> String| {
        let [before, after] = sides.map(cell);
        table.row([name.to_owned(), before, after]);
    };
    row("b_max", |side| match &side.answer {
        Answer::Fits(room) if room.capped => format!("at least {}", count(room.b_max)),
        Answer::Fits(room) => count(room.b_max),
        Answer::Infeasible(_) => "none".to_owned(),
        Answer::Refused(refusal) => format!("no answer ({})", refusal.reason),
    });
    row("b", |side| count(side.micro_batch));
    row("peak at b, GiB", |side| gib(side.peak.bytes.bytes()));
    row("usable, GiB", |side| gib(side.usable_bytes.bytes()));
    row("instant", |side| side.peak.instant.to_owned());
    let reasons = told([("A", sides[0]), ("B", sides[1])], |side| match &side.answer {
        Answer::Fits(_) => Vec::new(),
        Answer::Infeasible(reason) => vec![reason.message.clone()],
        Answer::Refused(refusal) => vec![refusal.message.clone()],
    });
    let reasons: Vec<String> = reasons.iter().map(|reason| format!("  {reason}\n")).collect();
    format!("The answers\n{}{}", table.text(), reasons.concat())
}

fn changes(changes: &[Change]) -> String {
    if changes.is_empty() {
        return "Every input is the same.\n".to_owned();
    }
    let mut table = Table::new(&[("input", Column::Left), ("A", Column::Left), ("B", Column::Left)]);
    for change in changes {
        table.row(cells("", change));
        for brought in change.brings.iter().take(BROUGHT_SHOWN) {
            table.row(cells("  ", brought));
        }
        if change.brings.len() > BROUGHT_SHOWN {
            let rest = change.brings.len() - BROUGHT_SHOWN;
            table.row([format!("  and {rest} more, in --json"), String::new(), String::new()]);
        }
    }
    format!("What differs\n{}", table.text())
}

fn cells(indent: &str, change: &Change) -> [String; 3] {
    let [before, after] = [change.before, change.after].map(|value| format::value(change.input, value.into()));
    [format!("{indent}{}", change.name), before, after]
}

fn entries(comparison: &Comparison) -> String {
    let mut table = Table::new(&[
        ("bucket", Column::Left),
        ("entry", Column::Left),
        ("A", Column::Right),
        ("B", Column::Right),
        ("B − A", Column::Right),
    ]);
    let or_dash = |bytes: Option<Number>| bytes.map_or("–".to_owned(), |bytes| gib(bytes.bytes()));
    let is_seen = |entry: &&EntryChange| entry.delta_bytes.bytes().gib().abs() >= TOO_LITTLE;
    let (seen, rest): (Vec<_>, Vec<_>) = comparison.entries.iter().partition(is_seen);
    for entry in seen {
        table.row([
            entry.bucket.to_owned(),
            entry.name.to_owned(),
            or_dash(entry.before_bytes),
            or_dash(entry.after_bytes),
            signed(entry.delta_bytes.bytes()),
        ]);
    }
    let [before, after] = [&comparison.before, &comparison.after].map(|side| gib(side.peak.bytes.bytes()));
    table.row(["total".to_owned(), String::new(), before, after, signed(comparison.delta_bytes.bytes())]);
    let rest = match rest.len() {
        0 => String::new(),
        rest => format!("  {rest} more differ by less than 0.01 GiB, or by nothing.\n"),
    };
    format!("Memory of one GPU at the two peaks, in GiB\n{}{rest}", table.text())
}

fn buckets(comparison: &Comparison) -> String {
    let columns = [("bucket", Column::Left), ("A", Column::Right), ("B", Column::Right), ("B − A", Column::Right)];
    let mut table = Table::new(&columns);
    for bucket in &comparison.buckets {
        let [before, after] = [bucket.before_bytes, bucket.after_bytes].map(|bytes| gib(bytes.bytes()));
        table.row([bucket.bucket.to_owned(), before, after, signed(bucket.delta_bytes.bytes())]);
    }
    format!("The same by bucket, in GiB\n{}", table.text())
}

/// A difference in GiB with its sign.
fn signed(bytes: Bytes) -> String {
    let size = gib(Bytes::new(bytes.get().abs()));
    match bytes.get() {
        _ if bytes.gib().abs() < TOO_LITTLE => size,
        more if more > 0.0 => format!("+{size}"),
        _ => format!("−{size}"),
    }
}
