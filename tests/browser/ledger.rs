//! The ledger to walk through: moments, buckets, entries, the table, and what makes the range.

use crate::support::{Page, expected, key, tidy};
use bmax::{Bucket, Estimate, Scenario, counters, estimate, number, range::Outlook};

/// Every entry that is alive at an instant stands in the table, with its size and its source.
async fn lists_what_is_alive(page: &Page, name: &str, estimate: &Estimate, position: usize) {
    let table = page.figure("calculator").find("table", name).await;
    // Not every driver's own text has a space between two cells.
    let seen = "return arguments[0].innerText;";
    let seen = page.script(seen, vec![serde_json::to_value(&table).expect("a reference to an element")]).await;
    let text = tidy(seen.as_str().expect("text"));
    let entries = estimate.largest_at(position);
    for entry in &entries {
        for part in [entry.name, entry.source.short, &expected::memory(entry.bytes)] {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
    }
    let rows = table.find_all(fantoccini::Locator::Css("tbody tr")).await.expect("rows");
    assert_eq!(rows.len(), entries.len());
    assert!(text.contains(&format!("Together {}", expected::memory(estimate.total_at(position)))), "{text}");
}

#[tokio::test]
async fn the_table_shows_every_entry_of_the_moment_that_is_picked() {
    let page = Page::open("").await;
    let calculator = page.figure("calculator");
    let estimate = estimate(&Scenario::default());
    let (peak, _) = estimate.binding();
    calculator.press("The same as a table").await;
    lists_what_is_alive(&page, "The peak", &estimate, peak).await;
    let last = estimate.instants.len() - 1;
    page.script("document.querySelectorAll('.timeline-row')[arguments[0]].click();", vec![last.into()]).await;
    calculator
        .says(&format!("“{}”: {}", estimate.instants[last].name, expected::memory(estimate.total_at(last))))
        .await;
    lists_what_is_alive(&page, estimate.instants[last].name, &estimate, last).await;
    page.close().await;
}

#[tokio::test]
async fn the_moment_that_needs_most_is_marked_and_followed() {
    let page = Page::open("").await;
    let calculator = page.figure("calculator");
    let marked = "return document.querySelector('.timeline-row:has(.badge:not([hidden]))').innerText;";
    for query in ["", "?gpus=1&b=1"] {
        if !query.is_empty() {
            calculator.enter("Number of GPUs", "1").await;
            calculator.enter("Micro-batch b", "1").await;
        }
        let peak = estimate(&expected::scenario(query)).peak();
        let title = format!("The peak, “{}”: {}", peak.instant.name, expected::memory(peak.bytes));
        calculator.shows("ledger-title", &title).await;
        let row = tidy(page.script(marked, vec![]).await.as_str().unwrap_or_default());
        assert!(row.contains(peak.instant.name) && row.contains("peak"), "{row}");
    }
    page.close().await;
}

#[tokio::test]
async fn a_bucket_unfolds_to_its_entries_and_an_entry_to_its_formula_by_keyboard_alone() {
    let page = Page::open("").await;
    let calculator = page.figure("calculator");
    let estimate = estimate(&Scenario::default());
    let (peak, _) = estimate.binding();
    let largest = estimate.largest_at(peak).into_iter().find(|entry| entry.bucket == Bucket::Activations);
    let largest = largest.expect("there are activations");
    let focus = "document.querySelector(arguments[0]).focus(); return true;";
    let bucket = "[data-testid=ledger-activations]";
    page.script(focus, vec![format!("{bucket} > summary").into()]).await;
    page.press(key::ENTER).await;
    calculator.says(largest.name).await;
    let entries = format!("return document.querySelector('{bucket} li:first-of-type summary') !== null;");
    page.until_script("the bucket's entries", &entries, true.into()).await;
    page.script(focus, vec![format!("{bucket} li:first-of-type summary").into()]).await;
    page.press(key::ENTER).await;
    for part in ["With your numbers", "micro-batch: 16", largest.source.short, "loss, backward"] {
        calculator.says(part).await;
    }
    let formulas = format!("return document.querySelectorAll('{bucket} li:first-of-type math').length >= 2;");
    page.until_script("the formula in symbols and in numbers", &formulas, true.into()).await;
    // What is unfolded stays so while a number changes.
    calculator.enter("Micro-batch b", "5").await;
    calculator.says("micro-batch: 5").await;
    page.close().await;
}

#[tokio::test]
async fn the_other_methods_have_four_buckets_and_no_moments() {
    let page = Page::open("?method=workshop").await;
    let calculator = page.figure("calculator");
    let total = expected::memory(estimate(&expected::scenario("?method=workshop")).peak().bytes);
    calculator.shows("ledger-title", &format!("All buckets together: {total}")).await;
    let shown = "return [...document.querySelectorAll('.ledger-buckets > details')] \
        .filter((bucket) => bucket.offsetHeight > 0).length;";
    page.until_script("four buckets", shown, 4.into()).await;
    let hidden = "return document.querySelector('[data-testid=timeline]').offsetHeight === 0;";
    page.until_script("no moments", hidden, true.into()).await;
    page.close().await;
}

#[tokio::test]
async fn every_unknown_of_the_range_is_named_with_its_value_under_each_outlook() {
    let page = Page::open("").await;
    let calculator = page.figure("calculator");
    calculator.press("What makes the range").await;
    let text = calculator.text("unknowns").await;
    for name in ["CUDA context", "Communication buffers", "Fragmentation", "Kernels", "Pools of communication streams"]
    {
        assert!(text.contains(name), "{name} is not in: {text}");
    }
    for outlook in [Outlook::Optimistic, Outlook::Likely, Outlook::Safe] {
        let device = outlook.of(&Scenario::default()).device;
        for value in [device.cuda_context.gib(), device.communication.gib(), device.fragmentation.get()] {
            assert!(text.contains(&number::plain(value)), "{value} is not in: {text}");
        }
    }
    page.close().await;
}

#[tokio::test]
async fn the_peak_is_shown_as_the_tools_would_show_it() {
    let page = Page::open("").await;
    let calculator = page.figure("calculator");
    calculator.press("What your tools would show").await;
    let seen = counters(&Scenario::default());
    let text = calculator.text("counters").await;
    for (name, bytes) in
        [("max_memory_allocated", seen.allocated), ("max_memory_reserved", seen.reserved), ("nvidia-smi", seen.device)]
    {
        assert!(text.contains(name) && text.contains(&expected::memory(bytes)), "{name}: {text}");
    }
    page.close().await;
}
