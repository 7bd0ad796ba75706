//! The report: how far predictions are off, by setting and by source, and why.

use std::fmt;

use bmax::proof::Summary;
use bmax::{Answer, Bytes, Method, Segments, estimate, range::Range};

use super::cases::{Case, Counter, Origin, Row, Seen, Setting};
use super::exceptions::{self, WITHIN};
use super::thresholds;

/// Figures about a set of rows, ready to be written as Markdown.
pub struct Report<'a> {
    cases: Vec<&'a Case>,
    out: Vec<(&'a str, &'static str)>,
}

/// The outlooks that say whether a run fits.
const OUTLOOKS: [fn(&Range) -> Answer; 2] = [|range| range.likely.clone(), |range| range.safe.clone()];

impl<'a> Report<'a> {
    pub fn of(rows: &'a [Row]) -> Self {
        let mut report = Self { cases: Vec::new(), out: Vec::new() };
        for row in rows {
            match row {
                Row::Compared(case) => report.cases.push(case),
                Row::Out { id, reason } => report.out.push((id, reason)),
            }
        }
        report
    }

    /// Sources in the order in which they first appear, of runs of one origin.
    fn sources(&self, origin: Origin) -> Vec<&str> {
        let mut sources: Vec<&str> = Vec::new();
        for case in self.cases.iter().filter(|case| case.origin() == origin) {
            if !sources.contains(&family(&case.source)) {
                sources.push(family(&case.source));
            }
        }
        sources
    }

    fn has(&self, origin: Origin) -> bool {
        self.cases.iter().any(|case| case.origin() == origin)
    }

    /// The cases that `wanted` picks, each with its error.
    fn errors(&self, wanted: impl Fn(&Case) -> bool) -> Vec<(&Case, f64)> {
        let picked = self.cases.iter().filter(|case| wanted(case));
        picked.filter_map(|case| Some((*case, case.error()?))).collect()
    }
}

/// The project behind a source: what stands before the file, the commit or the explanation.
fn family(source: &str) -> &str {
    let source = source.strip_prefix("https://github.com/").unwrap_or(source);
    let name = source.split([' ', '@']).next().unwrap_or(source);
    // An address names an owner and a repository before the thread.
    let end = name.match_indices('/').nth(1).map_or(name.len(), |(end, _)| end);
    &name[..end]
}

/// Why a row is far off, where that is known: a property of its kind, read from what it states.
fn reason(case: &Case) -> &'static str {
    let keeps_scores = |remark: &bmax::Remark| remark.message.contains("Before PyTorch 2.14, SDPA has no kernel");
    if case.source.contains("torch 2.11.") && case.scenario.remarks().iter().any(keeps_scores) {
        "PyTorch before 2.14 has no kernel for these heads in SDPA: it keeps the scores."
    } else if case.source.contains("perf_train_gpu_one") {
        "The driver’s figure of 2022: it includes what the allocator cached while the model was built."
    } else if case.tier == "C" {
        "The row does not say enough of its run (tier C)."
    } else if case.source.contains("thunder") {
        "litgpt repeats keys and values to n heads and keeps logits through the backward pass."
    } else if case.scenario.cluster.context_parallel > 1 {
        "Ring attention holds two blocks of keys and values on their way, and the device was nearly full."
    } else {
        ""
    }
}

fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

fn signed(part: f64) -> String {
    format!("{:+.1} %", part * 100.0)
}

fn gib(bytes: Bytes) -> String {
    format!("{:.2}", bytes.gib())
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# Predicted against measured\n")?;
        writeln!(
            f,
            "Written by `make accuracy`. Each row is compared by its own counter: live tensors, what the allocator\n\
             holds, or what the driver shows. No coefficient of a tensor was fitted to a row; the likely fragmentation\n\
             was chosen with the rows in sight that say only whether a run ran. An error above zero means that too\n\
             much was predicted. Where the files come from, and which rows were chosen before the mechanism they test,\n\
             is in [README.md](README.md). A figure of this report means little without its setting.\n"
        )?;
        for origin in Origin::REAL.into_iter().filter(|origin| self.has(*origin)) {
            if origin == Origin::Own {
                f.write_str(OWN)?;
            }
            for counter in Counter::ALL {
                self.write_settings(f, counter, origin)?;
            }
            self.write_agreement(f, origin)?;
        }
        self.write_simulated(f)?;
        self.write_sources(f)?;
        for origin in Origin::REAL.into_iter().filter(|origin| self.has(*origin)) {
            self.write_methods(f, origin)?;
            self.write_worst(f, origin)?;
        }
        self.write_left_out(f)?;
        self.write_rows(f)
    }
}

/// What stands before the runs of `tools/gpu_check.sh`.
const OWN: &str = "## Our own runs\n\n\
    Training steps of `tools/gpu_check/plan.json` and `plan_2.json`, run by `tools/gpu_check.sh` on the GPU that each row\n\
    names. Each was committed to its plan before it ran. Three rows of the second plan led to two rules and are counted by\n\
    them here: README.md says which, and what explains the worst of the others.\n\
    Random weights and known settings make them easier than what others publish.\n\n";

/// How a heading begins that is about runs of one origin.
fn of_origin(origin: Origin, title: &str) -> String {
    match origin {
        Origin::Published | Origin::Simulated => title.to_owned(),
        Origin::Own => format!("Our own runs: {}{}", title[..1].to_lowercase(), &title[1..]),
    }
}

/// A target in percent, with the settings that it is for.
struct Aim {
    median: f64,
    ninetieth: f64,
    met: Vec<&'static str>,
    missed: Vec<&'static str>,
}

/// A table of errors, one line for each group that has any.
fn write_table<'a>(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    groups: impl Iterator<Item = (String, Vec<(&'a Case, f64)>)>,
) -> fmt::Result {
    writeln!(f, "| {what} | rows | median error | 90th percentile | median with sign | worst | worst row |")?;
    writeln!(f, "| --- | ---: | ---: | ---: | ---: | ---: | --- |")?;
    for (name, errors) in groups.filter(|(_, errors)| !errors.is_empty()) {
        let summary = Summary::of(errors.iter().map(|(_, error)| *error));
        let worst = errors.iter().find(|(_, error)| *error == summary.worst).map_or("", |(case, _)| &case.id);
        let [median, ninetieth] = [summary.median, summary.ninetieth].map(percent);
        let [bias, most] = [summary.bias, summary.worst].map(signed);
        writeln!(f, "| {name} | {} | {median} | {ninetieth} | {bias} | {most} | {worst} |", summary.count)?;
    }
    writeln!(f)
}

impl Report<'_> {
    fn write_settings(&self, f: &mut fmt::Formatter<'_>, counter: Counter, origin: Origin) -> fmt::Result {
        let (title, words) = match counter {
            Counter::Live => ("Live tensors", "`max_memory_allocated` and active memory of real runs."),
            Counter::Reserved => ("What the allocator holds", "`max_memory_reserved` of real runs."),
            Counter::Device => ("What the driver shows", "`nvidia-smi` and NVML beside real runs."),
            Counter::Unnamed => (
                "Counter not named",
                "The source does not say what it read; compared with live tensors, the least it can be.",
            ),
        };
        let of = |case: &Case| case.origin() == origin && case.counter() == Some(counter);
        if !self.cases.iter().any(|case| of(case)) {
            return Ok(());
        }
        writeln!(f, "## {}, by setting\n\n{words}\n", of_origin(origin, title))?;
        let groups = Setting::ALL
            .into_iter()
            .map(|setting| (setting.name().to_owned(), self.errors(|case| of(case) && case.setting() == setting)));
        write_table(f, "setting", groups)?;
        self.write_targets(f, counter, origin)
    }

    /// What is aimed at, and which settings miss it.
    fn write_targets(&self, f: &mut fmt::Formatter<'_>, counter: Counter, origin: Origin) -> fmt::Result {
        let mut aims: Vec<Aim> = Vec::new();
        for setting in Setting::ALL {
            let of =
                |case: &Case| case.origin() == origin && case.counter() == Some(counter) && case.setting() == setting;
            let summary = Summary::of(self.errors(of).into_iter().map(|(_, error)| error));
            let Some((median, ninetieth)) = thresholds::target(counter, setting) else { continue };
            if summary.count == 0 {
                continue;
            }
            if !aims.iter().any(|aim| aim.median == median && aim.ninetieth == ninetieth) {
                aims.push(Aim { median, ninetieth, met: Vec::new(), missed: Vec::new() });
            }
            let met =
                thresholds::tenths(summary.median) <= median && thresholds::tenths(summary.ninetieth) <= ninetieth;
            for aim in aims.iter_mut().filter(|aim| aim.median == median && aim.ninetieth == ninetieth) {
                if met { &mut aim.met } else { &mut aim.missed }.push(setting.name());
            }
        }
        for Aim { median, ninetieth, met, missed } in aims {
            let list = |names: Vec<&str>| if names.is_empty() { "none".to_owned() } else { names.join("; ") };
            let (met, missed) = (list(met), list(missed));
            writeln!(f, "Target: median {median} %, 90th percentile {ninetieth} %. Met: {met}. Missed: {missed}.\n")?;
        }
        Ok(())
    }

    fn write_simulated(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.has(Origin::Simulated) {
            return Ok(());
        }
        writeln!(
            f,
            "## Real programs on a device that computes nothing\n\n\
             Live tensors: the peak of PyTorch’s own caching allocator under code of the named program. MemTracker’s\n\
             rows are PyTorch’s simulation instead. Every row is in the files that [README.md](README.md) lists.\n"
        )?;
        let groups = Setting::ALL.into_iter().map(|setting| {
            (setting.name().to_owned(), self.errors(|case| case.is_simulated() && case.setting() == setting))
        });
        write_table(f, "setting", groups)?;
        let groups = self.sources(Origin::Simulated).into_iter().map(|source| {
            (source.to_owned(), self.errors(|case| case.is_simulated() && family(&case.source) == source))
        });
        write_table(f, "program", groups)?;
        self.write_held(f)?;
        self.write_beyond(f)
    }

    /// What the allocator held in the same runs, by the kind of its segments.
    fn write_held(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [(Segments::Fixed, "fixed"), (Segments::Expandable, "expandable")];
        let groups = Setting::ALL.into_iter().flat_map(|setting| kinds.map(|kind| (setting, kind))).map(
            |(setting, (segments, words))| {
                let of = |case: &&&Case| case.setting() == setting && case.scenario.device.segments == segments;
                let held = self.cases.iter().filter(of).filter_map(|case| Some((*case, case.error_of_held()?)));
                (format!("{}, {words} segments", setting.name()), held.collect())
            },
        );
        writeln!(
            f,
            "What the allocator held at most in the same runs, on a device that it never fills, where it gives\n\
             nothing back:\n"
        )?;
        write_table(f, "setting", groups)
    }

    /// The simulated rows that are further off than they may be, with what is known of each.
    fn write_beyond(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let beyond: Vec<_> =
            self.errors(Case::is_simulated).into_iter().filter(|(_, error)| error.abs() > WITHIN).collect();
        if beyond.is_empty() {
            return Ok(());
        }
        writeln!(f, "Simulated rows whose live tensors are off by more than {}:\n", percent(WITHIN))?;
        writeln!(f, "| row | error | reason |\n| --- | ---: | --- |")?;
        for (case, error) in beyond {
            let reason = exceptions::of(case).map_or("", |exception| exception.reason);
            writeln!(f, "| {} | {} | {reason} |", case.id, signed(error))?;
        }
        writeln!(f)
    }

    fn write_sources(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "## By source\n\nMeasured rows of every counter. In brackets, how sure a source is of its settings.\n"
        )?;
        let sources = |origin| self.sources(origin).into_iter().map(move |source| (origin, source));
        let groups = Origin::REAL.into_iter().flat_map(sources).map(|(origin, source)| {
            let errors = self.errors(|case| case.origin() == origin && family(&case.source) == source);
            let mut tiers: Vec<&str> = errors.iter().map(|(case, _)| case.tier.as_str()).collect();
            tiers.sort_unstable();
            tiers.dedup();
            let ours = if origin == Origin::Own { ", our own runs" } else { "" };
            (format!("{source}{ours} ({})", tiers.join(", ")), errors)
        });
        write_table(f, "source", groups)
    }

    fn write_methods(&self, f: &mut fmt::Formatter<'_>, origin: Origin) -> fmt::Result {
        writeln!(f, "## {}\n", of_origin(origin, "The three methods on the same rows"))?;
        writeln!(f, "| setting | rows | ledger | paper | workshop |")?;
        writeln!(f, "| --- | ---: | ---: | ---: | ---: |")?;
        for setting in Setting::ALL {
            let of_setting = |case: &&&Case| case.setting() == setting && case.origin() == origin;
            let summary =
                |method| Summary::of(self.cases.iter().filter(of_setting).filter_map(|case| case.error_of(method)));
            let [ledger, paper, workshop] = [Method::Ledger, Method::Paper, Method::Workshop].map(summary);
            if ledger.count > 0 {
                let [own, others, third] = [ledger.median, paper.median, workshop.median].map(percent);
                writeln!(f, "| {} | {} | {own} | {others} | {third} |", setting.name(), ledger.count)?;
            }
        }
        writeln!(f, "\nMedians of the error without its sign, over measured rows of every counter.\n")
    }

    fn write_agreement(&self, f: &mut fmt::Formatter<'_>, origin: Origin) -> fmt::Result {
        writeln!(f, "## {}\n", of_origin(origin, "Ran or ran out of memory, by setting"))?;
        writeln!(f, "b_max against the micro-batch of a run that says only whether it fitted.\n")?;
        writeln!(
            f,
            "| setting | what happened | rows | judged alike by likely | by safe | b_max over the micro-batch, median |"
        )?;
        writeln!(f, "| --- | --- | ---: | ---: | ---: | ---: |")?;
        let mut wrong: Vec<String> = Vec::new();
        for (seen, words) in [(Seen::Fit, "ran"), (Seen::OutOfMemory, "ran out of memory")] {
            let mut all = [0; 3];
            for setting in Setting::ALL {
                let of = |case: &Case| case.seen == seen && case.setting() == setting && case.origin() == origin;
                let rows: Vec<&&Case> = self.cases.iter().filter(|case| of(case)).collect();
                if rows.is_empty() {
                    continue;
                }
                let alike = OUTLOOKS.map(|of| rows.iter().filter(|case| case.agrees(of) == Some(true)).count());
                let room = Summary::of(rows.iter().filter_map(|case| case.room(OUTLOOKS[0])));
                for (sum, own) in all.iter_mut().zip([rows.len(), alike[0], alike[1]]) {
                    *sum += own;
                }
                let (name, count, [likely, safe]) = (setting.name(), rows.len(), alike);
                writeln!(f, "| {name} | {words} | {count} | {likely} | {safe} | {:.2} |", room.median)?;
                for case in rows.iter().filter(|case| case.agrees(OUTLOOKS[0]) == Some(false)) {
                    let room = case.room(OUTLOOKS[0]).unwrap_or(0.0);
                    wrong.push(format!("- {} {words}; b_max is {room:.2} of its micro-batch", case.id));
                }
            }
            let [rows, likely, safe] = all;
            if rows > 0 {
                writeln!(f, "| **all** | {words} | {rows} | {likely} | {safe} | |")?;
            }
        }
        writeln!(f, "\nJudged wrongly by likely:\n\n{}\n", wrong.join("\n"))
    }

    fn write_worst(&self, f: &mut fmt::Formatter<'_>, origin: Origin) -> fmt::Result {
        for setting in Setting::ALL {
            let of_setting = self.cases.iter().filter(|case| case.setting() == setting && case.origin() == origin);
            let mut worst: Vec<(&Case, f64)> = of_setting.filter_map(|case| Some((*case, case.error()?))).collect();
            worst.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
            if worst.is_empty() {
                continue;
            }
            writeln!(f, "## {}\n", of_origin(origin, &format!("The worst five of {}", setting.name())))?;
            writeln!(f, "| row | tier | counter | seen, GiB | predicted, GiB | error | reason |")?;
            writeln!(f, "| --- | --- | --- | ---: | ---: | ---: | --- |")?;
            for (case, error) in worst.into_iter().take(5) {
                let Seen::Peak(seen, counter) = case.seen else { continue };
                let (predicted, seen) = (gib(case.predicted_by(Method::Ledger)), gib(seen));
                let (tier, counter) = (&case.tier, counter.name());
                writeln!(
                    f,
                    "| {} | {tier} | {counter} | {seen} | {predicted} | {} | {} |",
                    case.id,
                    signed(error),
                    reason(case)
                )?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn write_left_out(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.out.is_empty() {
            return Ok(());
        }
        writeln!(f, "## Rows that are not compared\n\n| reason | rows | which |\n| --- | ---: | --- |")?;
        let mut reasons: Vec<&str> = self.out.iter().map(|(_, reason)| *reason).collect();
        reasons.sort_unstable();
        reasons.dedup();
        for reason in reasons {
            let ids: Vec<&str> = self.out.iter().filter(|(_, other)| *other == reason).map(|(id, _)| *id).collect();
            let some = ids.iter().take(8).copied().collect::<Vec<_>>().join(", ");
            let more = if ids.len() > 8 { " …" } else { "" };
            writeln!(f, "| {reason} | {} | {some}{more} |", ids.len())?;
        }
        writeln!(f)
    }

    fn write_rows(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## Every measured row\n")?;
        writeln!(f, "| setting | tier | file | row | counter | seen, GiB | predicted, GiB | error | highest at |")?;
        writeln!(f, "| --- | --- | --- | --- | --- | ---: | ---: | ---: | --- |")?;
        for case in self.cases.iter().filter(|case| !case.is_simulated()) {
            let Seen::Peak(seen, counter) = case.seen else { continue };
            let predicted = gib(case.predicted_by(Method::Ledger));
            let error = case.error().map_or_else(String::new, signed);
            let instant = estimate(&case.scenario).peak().instant.name;
            writeln!(
                f,
                "| {} | {} | {} | {} | {} | {} | {predicted} | {error} | {instant} |",
                case.setting().name(),
                case.tier,
                case.file,
                case.id,
                counter.name(),
                gib(seen)
            )?;
        }
        Ok(())
    }
}
