//! The buckets: live sizes, and a sum that adds up.

use crate::support::{Page, expected};
use bmax::{Bucket, Bytes, Scenario, division::line_at_peak, estimate};

async fn shows_the_ledger(page: &Page, scenario: &Scenario) {
    let buckets = page.figure("buckets");
    let estimate = estimate(scenario);
    buckets.shows("buckets-total", &expected::memory(estimate.peak().bytes)).await;
    for &bucket in Bucket::ALL {
        let bytes = estimate.bucket(bucket);
        let card = buckets.text(&format!("bucket-{}", bucket.key())).await;
        if bytes == Bytes::ZERO {
            let shown = format!("return document.querySelector('[data-testid=bucket-{}]').offsetHeight;", bucket.key());
            page.until_script("an empty bucket to have no card", &shown, 0.into()).await;
            continue;
        }
        assert!(card.contains(&expected::memory(bytes)), "{card} is not {}", expected::memory(bytes));
        let grows = bmax::estimate(&scenario.with_batch(scenario.recipe.batch + 1)).bucket(bucket) > bytes;
        let word = if grows { "scales with b" } else { "fixed" };
        assert!(card.contains(word), "{card} does not say “{word}”");
    }
    let line = line_at_peak(scenario);
    let growing = Bytes::new(line.per_sequence.get() * f64::from(scenario.recipe.batch));
    buckets.shows("buckets-fixed", &expected::memory(line.fixed)).await;
    buckets.shows("buckets-growing", &expected::memory(growing)).await;
}

#[tokio::test]
async fn the_cards_show_the_ledger_and_follow_the_configuration() {
    let page = Page::open("").await;
    shows_the_ledger(&page, &Scenario::default()).await;
    let calculator = page.figure("calculator");
    calculator.enter("Micro-batch b", "5").await;
    shows_the_ledger(&page, &expected::scenario("?b=5")).await;
    calculator.press("13B").await;
    calculator.choose("Method", "Paper").await;
    page.until_query("v=3&model=13b&b=5&method=paper").await;
    shows_the_ledger(&page, &expected::scenario("?model=13b&b=5&method=paper")).await;
    page.close().await;
}
