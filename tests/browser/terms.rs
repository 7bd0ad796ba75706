//! What the words for batches mean.

use crate::support::{Page, Visit, expected, key};
use bmax::course::updates::steps_to_goal;
use bmax::number;
use serde_json::json;

/// How many of the 56 squares and dots are filled, and what is defined.
async fn shown(page: &Page) -> serde_json::Value {
    let script = "const figure = document.querySelector('#terms'); \
        const accent = getComputedStyle(figure.querySelector('.segmented-options :checked + span')).backgroundColor; \
        const filled = [...figure.querySelectorAll('.t-sample')] \
            .filter((sample) => getComputedStyle(sample).backgroundColor === accent).length; \
        const words = [...figure.querySelectorAll('[data-term]')] \
            .filter((term) => getComputedStyle(term).visibility === 'visible').map((term) => term.dataset.term); \
        return [words, filled];";
    page.script(script, vec![]).await
}

async fn shows(page: &Page, term: &str, samples: u32) {
    let wanted = json!([[term], samples]);
    page.until(&format!("{term} to be shown"), async || {
        let seen = shown(page).await;
        if seen == wanted { Ok(()) } else { Err(seen) }
    })
    .await;
}

#[tokio::test]
async fn each_word_is_defined_and_shown_by_pointer_and_by_key() {
    let page = Page::about("terms", "").await;
    let figure = page.part("#terms");
    figure.approach().await;
    shows(&page, "mini", 16).await;
    for (name, term, samples) in [
        ("Sample", "sample", 1),
        ("Batch", "batch", 16),
        ("Micro-batch", "micro", 4),
        ("Full batch", "full", 48),
        ("Batch processing", "processing", 48),
        ("Streaming", "streaming", 1),
        ("Micro-batching", "windows", 3),
    ] {
        figure.choose("What is meant by", name).await;
        shows(&page, term, samples).await;
    }
    page.press(key::LEFT).await;
    shows(&page, "streaming", 1).await;
    page.press(key::LEFT).await;
    shows(&page, "processing", 48).await;
    page.close().await;
}

#[tokio::test]
async fn the_reader_s_own_batches_are_named_by_these_words() {
    let query = "?gpus=4&b=2&target=100";
    let scenario = expected::scenario(query);
    let page = Page::about("terms", query).await;
    let figure = page.figure("terms");
    let steps = steps_to_goal(&scenario);
    figure.shows("steps", &number::grouped(steps.into())).await;
    figure.shows("mini", &number::grouped(f64::from(2 * 4 * steps))).await;
    figure.shows("tokens", &number::grouped(f64::from(2 * 4 * steps * 2_048))).await;
    page.close().await;
}

#[tokio::test]
async fn the_words_need_no_program() {
    let page = Visit::about("terms", "").without_scripts().open().await;
    assert_eq!(shown(&page).await, json!([["mini"], 16]));
    page.close().await;
}
