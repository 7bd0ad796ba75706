//! The report: how far each source is off, and why.

use std::fmt;

use bmax::{Bytes, Method, estimate};

use super::cases::{Case, Counter, Seen};
use super::statistics::Summary;

/// Figures about a set of cases, ready to be written as Markdown.
pub struct Report<'a>(&'a [Case]);

impl<'a> Report<'a> {
    pub fn of(cases: &'a [Case]) -> Self {
        Self(cases)
    }

    /// Sources in the order in which they first appear.
    fn sources(&self) -> Vec<&str> {
        let mut sources: Vec<&str> = Vec::new();
        for case in self.0 {
            if !sources.contains(&family(&case.source)) {
                sources.push(family(&case.source));
            }
        }
        sources
    }

    /// The measured cases that `wanted` picks, worst first.
    fn worst(&self, wanted: impl Fn(&Case) -> bool) -> Vec<(&Case, f64)> {
        let measured = self.0.iter().filter(|case| wanted(case));
        let mut worst: Vec<(&Case, f64)> = measured.filter_map(|case| Some((case, case.error()?))).collect();
        worst.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        worst
    }

    fn tiers(&self) -> Vec<&str> {
        let mut tiers: Vec<&str> = self.0.iter().map(|case| case.tier.as_str()).collect();
        tiers.sort_unstable();
        tiers.dedup();
        tiers
    }
}

/// The project behind a source: what stands before the file, the commit or the explanation.
fn family(source: &str) -> &str {
    source.split([' ', '@']).next().unwrap_or(source)
}

/// Why a row is far off, where that is known: a property of its kind, read from what it states.
fn reason(case: &Case) -> &'static str {
    let scenario = &case.scenario;
    if case.tier == "C" {
        "The row does not say enough of its run (tier C)."
    } else if case.source.contains("perf_train_gpu_one") {
        "The driver's figure of 2022: it includes what the allocator cached while the model was built."
    } else if case.id.contains("gpt2") && case.id.contains("fp32 flash") {
        "There is no flash kernel in fp32; the row kept queries, keys and values in 16 bits."
    } else if case.widened() {
        "Made by CUDA's autocast rules, under which GELU's power runs in fp32: the reserved figure adds it, the live one does not."
    } else if case.cpu_masks() {
        "Dropout masks of four bytes on a CPU; one byte on a GPU."
    } else if case.source.contains("thunder") {
        "litgpt repeats keys and values to n heads and keeps logits through the backward pass."
    } else if scenario.cluster.tensor_parallel > 1 && case.tier == "B" {
        "Asynchronous tensor parallelism holds further gathered buffers."
    } else if scenario.cluster.context_parallel > 1 {
        "Ring attention holds two blocks of keys and values on their way, and the device was nearly full."
    } else if case.tier == "A-tiny" {
        "A tiny model: cuBLAS workspaces and virtual pipeline stages weigh more than its tensors."
    } else if case.id == "tune_flags_4" {
        "The optimizer steps inside the backward pass, which frees each gradient at once."
    } else {
        ""
    }
}

/// A configuration that is judged wrongly, with the reason; none is today.
pub fn known_disagreement(_case: &Case) -> Option<&'static str> {
    None
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
             much was predicted. Where the files come from is in [README.md](README.md).\n"
        )?;
        self.write_tiers(f)?;
        self.write_sources(f)?;
        self.write_methods(f)?;
        self.write_agreement(f)?;
        self.write_worst(f)?;
        self.write_rows(f)
    }
}

const TIERS: &[(&str, &str)] = &[
    ("A", "full training of dense decoders, well documented"),
    ("A-tiny", "exact bytes of tiny models"),
    ("B", "partly documented"),
    ("C", "ambiguous"),
    ("simulated", "framework models under a memory tracker, rules of the CPU"),
    ("simulated-cuda", "the same, rules of CUDA’s autocast"),
];

impl Report<'_> {
    fn write_tiers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## By tier\n")?;
        writeln!(f, "| tier | rows | median error | 90th percentile | worst | median with sign |")?;
        writeln!(f, "| --- | ---: | ---: | ---: | ---: | ---: |")?;
        for tier in self.tiers() {
            let summary = Summary::of(self.0.iter().filter(|case| case.tier == tier).filter_map(Case::error));
            if summary.count > 0 {
                let meaning = TIERS.iter().find(|(name, _)| *name == tier).map_or("", |(_, meaning)| meaning);
                summary.write(f, &format!("{tier}: {meaning}"))?;
            }
        }
        writeln!(f)
    }

    fn write_sources(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## By source\n")?;
        writeln!(f, "| source | rows | median error | 90th percentile | worst | median with sign |")?;
        writeln!(f, "| --- | ---: | ---: | ---: | ---: | ---: |")?;
        for source in self.sources() {
            let of_source = self.0.iter().filter(|case| family(&case.source) == source);
            let summary = Summary::of(of_source.filter_map(Case::error));
            if summary.count > 0 {
                summary.write(f, source)?;
            }
        }
        let all = Summary::of(self.0.iter().filter_map(Case::error));
        all.write(f, "**all**")?;
        writeln!(f)
    }

    fn write_methods(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## The three methods on the same rows\n")?;
        writeln!(f, "| tier | ledger | paper | workshop |")?;
        writeln!(f, "| --- | ---: | ---: | ---: |")?;
        for tier in self.tiers() {
            let median = |method| {
                let of_tier = self.0.iter().filter(|case| case.tier == tier);
                let summary = Summary::of(of_tier.filter_map(|case| case.error_of(method)));
                (summary.count > 0).then(|| percent(summary.median))
            };
            let [ledger, paper, workshop] = [Method::Ledger, Method::Paper, Method::Workshop].map(median);
            if let (Some(ledger), Some(paper), Some(workshop)) = (ledger, paper, workshop) {
                writeln!(f, "| {tier} | {ledger} | {paper} | {workshop} |")?;
            }
        }
        writeln!(f, "\nMedians of the error without its sign.\n")
    }

    fn write_agreement(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## Ran or ran out of memory\n")?;
        writeln!(f, "| what happened | rows | judged alike | b_max over the micro-batch that ran, median |")?;
        writeln!(f, "| --- | ---: | ---: | ---: |")?;
        for (seen, words) in [(Seen::Fit, "ran"), (Seen::OutOfMemory, "ran out of memory")] {
            let rows: Vec<&Case> = self.0.iter().filter(|case| case.seen == seen).collect();
            if rows.is_empty() {
                continue;
            }
            let alike = rows.iter().filter(|case| case.agrees() == Some(true)).count();
            let ratio = Summary::of(rows.iter().filter_map(|case| case.room()));
            writeln!(f, "| {words} | {} | {alike} | {:.2} |", rows.len(), ratio.median)?;
        }
        for case in self.0.iter().filter(|case| case.agrees() == Some(false)) {
            let why = known_disagreement(case).unwrap_or("not explained");
            writeln!(f, "\n- {}: {why}", case.id)?;
        }
        writeln!(f)
    }

    fn write_worst(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for tier in self.tiers() {
            let worst = self.worst(|case| case.tier == tier);
            if worst.is_empty() {
                continue;
            }
            writeln!(f, "## The worst five of tier {tier}\n")?;
            writeln!(f, "| row | seen, GiB | predicted, GiB | error | reason |")?;
            writeln!(f, "| --- | ---: | ---: | ---: | --- |")?;
            for (case, error) in worst.into_iter().take(5) {
                let Seen::Peak(seen, _) = case.seen else { continue };
                let predicted = gib(case.predicted_by(Method::Ledger));
                writeln!(f, "| {} | {} | {predicted} | {} | {} |", case.id, gib(seen), signed(error), reason(case))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn write_rows(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## Every row\n")?;
        writeln!(f, "| tier | row | counter | seen, GiB | predicted, GiB | error | highest at |")?;
        writeln!(f, "| --- | --- | --- | ---: | ---: | ---: | --- |")?;
        for case in self.0 {
            let Seen::Peak(seen, counter) = case.seen else { continue };
            let counter = match counter {
                Counter::Live => "live",
                Counter::Reserved => "reserved",
                Counter::Device => "device",
            };
            let predicted = gib(case.predicted_by(Method::Ledger));
            let error = case.error().map_or_else(String::new, signed);
            let instant = estimate(&case.scenario).peak().instant.name;
            writeln!(
                f,
                "| {} | {} | {counter} | {} | {predicted} | {error} | {instant} |",
                case.tier,
                case.id,
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
