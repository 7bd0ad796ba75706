//! The answer as a Markdown table.

use super::Card;
use super::run;
use super::text::gib;
use crate::format::count;
use crate::snippet::{address, in_markdown};
use crate::{Answer, Bucket, Scenario, b_max, counters, estimate, range::range};

pub(super) const CARD: Card = Card {
    key: "markdown",
    name: "Markdown",
    file_name: "bmax.md",
    media_type: "text/markdown",
    describe: "The answer as a Markdown table, for notes and issues.",
    readers: &[],
};

pub(super) fn write(scenario: &Scenario, page: &str) -> String {
    let answer = b_max(scenario);
    let told = range(scenario);
    let in_words = |answer: &Answer| answer.batch().map_or("none".to_owned(), count);
    // What does not fit is shown at one sequence: that is where it fails.
    let at = scenario.with_batch(answer.batch().unwrap_or(1));
    let estimate = estimate(&at);
    let peak = estimate.peak();
    let mut text = format!("**{}**\n\n", in_markdown(&run::subject(scenario)));
    let mut row =
        |name: &str, value: &str| text.push_str(&format!("| {} | {} |\n", in_markdown(name), in_markdown(value)));
    row("largest micro-batch, b_max", &run::b_max_words(scenario));
    let after = format!(
        "safe {}, likely {}, optimistic {}",
        in_words(&told.safe),
        in_words(&told.likely),
        in_words(&told.optimistic)
    );
    row("range", &after);
    let title = match answer.batch() {
        Some(batch) => format!("peak at b = {}, “{}”", count(batch), peak.instant.name),
        None => format!("peak of one {}, “{}”", scenario.unit().one(), peak.instant.name),
    };
    row(&title, &format!("{} GiB", gib(peak.bytes)));
    for &bucket in Bucket::ALL {
        row(&format!("– {}", bucket.name().to_lowercase()), &format!("{} GiB", gib(estimate.bucket(bucket))));
    }
    row("usable on each GPU", &format!("{} GiB", gib(estimate.usable())));
    let seen = counters(&at);
    row("torch.cuda.max_memory_allocated", &format!("{} GiB", gib(seen.allocated)));
    row("torch.cuda.max_memory_reserved", &format!("{} GiB", gib(seen.reserved)));
    // A table needs a head; the first row is it.
    let (title, rows) = text.split_once("\n\n").unwrap_or(("", &text));
    let (first, others) = rows.split_once('\n').unwrap_or((rows, ""));
    let mut whole = format!("{title}\n\n{first}\n| --- | ---: |\n{others}\n");
    if answer.batch().is_none() {
        whole.push_str(&format!("{}\n\n", in_markdown(&run::shortage(scenario))));
    }
    whole.push_str(&format!("[Computed by bmax]({})\n", address(&run::address(page, scenario))));
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_two_cells_and_the_buckets_add_up() {
        let text = write(&Scenario::workshop(), "https://example.org/");
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        // b_max, rule, range, peak, the buckets, usable, two counters.
        assert_eq!(rows.len(), 7 + Bucket::ALL.len());
        assert!(rows.iter().all(|row| row.matches('|').count() == 3), "{text}");
        let size =
            |row: &&str| row.split('|').nth(2).and_then(|cell| cell.trim().strip_suffix(" GiB")?.parse::<f64>().ok());
        let parts: f64 = rows.iter().filter(|row| row.starts_with("| – ")).filter_map(size).sum();
        let peak = rows.iter().find(|row| row.starts_with("| peak")).and_then(size).expect("a peak");
        assert!((parts - peak).abs() < 0.05, "{text}");
    }

    #[test]
    fn what_does_not_fit_says_why() {
        let mut scenario = Scenario::workshop();
        scenario.cluster.gpus = 1;
        let text = write(&scenario, "https://example.org/");
        assert!(text.contains("not even one sequence fits") && text.contains("With 2 GPUs it would fit."), "{text}");
    }

    #[test]
    fn parentheses_in_the_address_do_not_end_the_link() {
        let text = write(&Scenario::default(), "https://example.org/a_(b)/");
        assert!(text.ends_with("(https://example.org/a_%28b%29/?v=4)\n"), "{text}");
    }
}
