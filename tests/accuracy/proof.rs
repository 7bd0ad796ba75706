//! The measured rows as the page shows them: each with its configuration as a link, and a sentence for each setting.

use bmax::proof::{FEW, Setting, Summary};
use bmax::{Field, link};

use super::cases::{Case, Row, Seen};
use super::compared;

/// The files, by their paths, and what they should hold.
pub fn files(rows: &[Row]) -> [(&'static str, String); 2] {
    let measured: Vec<&Case> = compared(rows).filter(|case| !case.is_simulated()).collect();
    let of = |setting| measured.iter().copied().filter(move |case| case.setting() == setting);
    let sentences: String = Setting::ALL
        .into_iter()
        .map(|setting| {
            let summary = Summary::of(of(setting).filter_map(Case::error));
            format!("    \"{}\",\n", sentence(setting, &summary))
        })
        .collect();
    let studies = studies(&measured);
    let lines = Setting::ALL.into_iter().flat_map(of).filter_map(|case| line(case, &studies)).collect();
    let lists: String = studies
        .iter()
        .map(|(varied, study)| {
            let names: String = study.iter().map(|case| format!("            \"{}\",\n", case.id)).collect();
            format!("    Study {{\n        varied: Field::{varied:?},\n        runs: &[\n{names}        ],\n    }},\n")
        })
        .collect();
    let said = format!(
        "//! How far off the ledger was, written by `make accuracy`.\n\n\
         use super::Study;\nuse crate::Field;\n\n\
         /// A sentence for each of [`super::Setting::ALL`].\n\
         pub static SAID: [&str; {}] = [\n{sentences}];\n\n\
         /// Runs that differ in one input alone.\n\
         #[rustfmt::skip]\n\
         pub static STUDIES: [Study; {}] = [\n{lists}];\n",
        Setting::ALL.len(),
        studies.len()
    );
    [("src/proof/rows.tsv", lines), ("src/proof/said.rs", said)]
}

/// A row that has a figure, as the page reads it.
fn line(case: &Case, studies: &[(Field, Vec<&Case>)]) -> Option<String> {
    let Seen::Peak(seen, counter) = case.seen else { return None };
    // A study knows its rows by name; nothing else does.
    let is_of_a_study = studies.iter().any(|(_, study)| study.iter().any(|one| one.id == case.id));
    let cells = [
        case.setting().name(),
        counter.name(),
        &case.stage,
        &case.tier,
        &format!("{}", (seen.gib() * 1e4).round() / 1e4),
        if is_of_a_study { &case.id } else { "" },
        &case.model,
        &case.source,
        &link::encode(&case.scenario),
    ];
    assert!(cells.iter().all(|cell| !cell.contains(['\t', '\n'])), "{} has a tabulator", case.id);
    Some(cells.join("\t") + "\n")
}

/// How far off the ledger was in one setting, over measured rows of every counter. It stands beside the likely answer, and
/// so it is short.
fn sentence(setting: Setting, summary: &Summary) -> String {
    let like = match setting {
        Setting::SingleDevice => "on one GPU",
        Setting::DataParallel => "with FSDP, ZeRO or DDP",
        Setting::TensorParallel => "with tensor parallelism",
        Setting::Pipeline => "with pipelines",
        Setting::DeepSpeed => "with DeepSpeed",
        Setting::Adapters => "with LoRA or QLoRA",
        Setting::Encoders => "of encoders",
    };
    let only = if summary.count < FEW { "Only " } else { "" };
    format!(
        "{only}{} figures of real runs {like}: median error {:.1} %, nine of ten within {:.1} %.",
        summary.count,
        summary.median * 100.0,
        summary.ninetieth * 100.0
    )
}

/// With fewer values than this, a curve says no more than its ends.
const VALUES: usize = 3;

/// Rows of one source that were read alike and differ in the micro-batch alone, then those that differ in the length
/// alone; each from its smallest value on.
fn studies<'a>(measured: &[&'a Case]) -> Vec<(Field, Vec<&'a Case>)> {
    let mut found = Vec::new();
    for varied in [Field::Batch, Field::Sequence] {
        let mut rest: Vec<&Case> = measured.iter().copied().filter(|case| case.counter().is_some()).collect();
        while let Some(&first) = rest.first() {
            let (mut study, others): (Vec<&Case>, Vec<_>) =
                rest.into_iter().partition(|other| is_like(first, other, varied));
            rest = others;
            let value = |case: &Case| case.scenario.number(varied);
            study.sort_by(|a, b| value(a).total_cmp(&value(b)));
            if 1 + study.windows(2).filter(|pair| value(pair[0]) < value(pair[1])).count() >= VALUES {
                found.push((varied, study));
            }
        }
    }
    found
}

/// Whether two rows come from one source, were read alike, and are the same but for one input.
fn is_like(one: &Case, other: &Case, varied: Field) -> bool {
    let family = |case: &Case| case.source.split_whitespace().next().map(str::to_owned);
    let read = |case: &Case| (case.counter(), case.stage.clone(), case.model.clone(), family(case));
    let same = other.scenario.with_number(varied, one.scenario.number(varied));
    read(one) == read(other) && same.is_ok_and(|same| same == one.scenario)
}
