//! The report: how far predictions are off, by setting and by source, and why.

use std::fmt;

use bmax::{Answer, Bytes, Method, Range, estimate};

use super::cases::{Case, Counter, Row, Seen, Setting};
use super::statistics::Summary;

/// Figures about a set of rows, ready to be written as Markdown.
pub struct Report<'a> {
    cases: Vec<&'a Case>,
    out: Vec<(&'a str, &'static str)>,
}

/// The outlooks that say whether a run fits.
const OUTLOOKS: [fn(&Range) -> Answer; 2] = [|range| range.likely, |range| range.safe];

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

    /// Sources in the order in which they first appear.
    fn sources(&self) -> Vec<&str> {
        let mut sources: Vec<&str> = Vec::new();
        for case in &self.cases {
            if !sources.contains(&family(&case.source)) {
                sources.push(family(&case.source));
            }
        }
        sources
    }

    /// A summary of the errors of those cases that `wanted` picks.
    fn summary(&self, wanted: impl Fn(&Case) -> bool) -> Summary {
        Summary::of(self.cases.iter().filter(|case| wanted(case)).filter_map(|case| case.error()))
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
    if case.source.contains("perf_train_gpu_one") {
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
             holds, or what the driver shows. No coefficient was fitted to a row. An error above zero means that too\n\
             much was predicted. Where the files come from, and which rows were chosen before the mechanism they test,\n\
             is in [README.md](README.md). A figure of this report means little without its setting.\n"
        )?;
        for counter in Counter::ALL {
            self.write_settings(f, counter)?;
        }
        self.write_agreement(f)?;
        self.write_simulated(f)?;
        self.write_sources(f)?;
        self.write_methods(f)?;
        self.write_worst(f)?;
        self.write_left_out(f)?;
        self.write_rows(f)
    }
}

const HEADING: &str =
    "| rows | median error | 90th percentile | worst | median with sign |\n| --- | ---: | ---: | ---: | ---: | ---: |";

impl Report<'_> {
    fn write_settings(&self, f: &mut fmt::Formatter<'_>, counter: Counter) -> fmt::Result {
        let (title, words) = match counter {
            Counter::Live => ("Live tensors", "`max_memory_allocated` and active memory of real runs."),
            Counter::Reserved => ("What the allocator holds", "`max_memory_reserved` of real runs."),
            Counter::Device => ("What the driver shows", "`nvidia-smi` and NVML beside real runs."),
            Counter::Unnamed => (
                "Counter not named",
                "The source does not say what it read; compared with live tensors, the least it can be.",
            ),
        };
        let summaries: Vec<_> = Setting::ALL
            .iter()
            .map(|setting| {
                let wanted =
                    |case: &Case| !case.is_simulated() && case.setting() == *setting && case.counter() == Some(counter);
                (setting, self.summary(wanted))
            })
            .filter(|(_, summary)| summary.count > 0)
            .collect();
        if summaries.is_empty() {
            return Ok(());
        }
        writeln!(f, "## {title}, by setting\n\n{words}\n\n| setting {HEADING}")?;
        for (setting, summary) in summaries {
            summary.write(f, setting.name())?;
        }
        writeln!(f)
    }

    fn write_simulated(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.cases.iter().any(|case| case.is_simulated()) {
            return Ok(());
        }
        writeln!(
            f,
            "## Real programs on a device that computes nothing\n\nLive tensors of PyTorch’s own allocator, by CUDA’s rules.\n\n| setting {HEADING}"
        )?;
        for setting in Setting::ALL {
            let summary = self.summary(|case| case.is_simulated() && case.setting() == setting);
            if summary.count > 0 {
                summary.write(f, setting.name())?;
            }
        }
        writeln!(f)
    }

    fn write_sources(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## By source\n\n| source | tiers {HEADING}")?;
        for source in self.sources() {
            let of_source = |case: &&&Case| family(&case.source) == source;
            let summary = Summary::of(self.cases.iter().filter(of_source).filter_map(|case| case.error()));
            let mut tiers: Vec<&str> = self
                .cases
                .iter()
                .filter(of_source)
                .filter(|case| case.error().is_some())
                .map(|case| case.tier.as_str())
                .collect();
            tiers.sort_unstable();
            tiers.dedup();
            if summary.count > 0 {
                summary.write(f, &format!("{source} | {}", tiers.join(", ")))?;
            }
        }
        writeln!(f)
    }

    fn write_methods(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## The three methods on the same rows\n")?;
        writeln!(f, "| setting | rows | ledger | paper | workshop |")?;
        writeln!(f, "| --- | ---: | ---: | ---: | ---: |")?;
        for setting in Setting::ALL {
            let of_setting = |case: &&&Case| case.setting() == setting && !case.is_simulated();
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

    fn write_agreement(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## Ran or ran out of memory, by setting\n")?;
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
                let rows: Vec<&&Case> =
                    self.cases.iter().filter(|case| case.seen == seen && case.setting() == setting).collect();
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

    fn write_worst(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for setting in Setting::ALL {
            let of_setting = self.cases.iter().filter(|case| case.setting() == setting && !case.is_simulated());
            let mut worst: Vec<(&Case, f64)> = of_setting.filter_map(|case| Some((*case, case.error()?))).collect();
            worst.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
            if worst.is_empty() {
                continue;
            }
            writeln!(f, "## The worst five of {}\n", setting.name())?;
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
        writeln!(f, "## Every row\n")?;
        writeln!(f, "| setting | tier | file | row | counter | seen, GiB | predicted, GiB | error | highest at |")?;
        writeln!(f, "| --- | --- | --- | --- | --- | ---: | ---: | ---: | --- |")?;
        for case in &self.cases {
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

impl Summary {
    fn write(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        let [median, ninetieth, worst] = [self.median, self.ninetieth, self.worst].map(percent);
        writeln!(f, "| {name} | {} | {median} | {ninetieth} | {worst} | {} |", self.count, signed(self.bias))
    }
}
