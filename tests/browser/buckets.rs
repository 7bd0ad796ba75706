//! The four buckets: live sizes, and a sum that adds up.

use crate::support::{Page, expected};
use bmax::{Bucket, Bytes, Scenario, estimate};

async fn shows_the_ledger(page: &Page, scenario: &Scenario) {
    let buckets = page.figure("buckets");
    let estimate = estimate(scenario);
    buckets.shows("buckets-total", &expected::memory(estimate.peak().bytes)).await;
    let mut fixed = Bytes::ZERO;
    for &bucket in Bucket::ALL {
        let bytes = estimate.bucket(bucket);
        let card = buckets.text(&format!("bucket-{}", bucket.key())).await;
        assert!(card.contains(&expected::memory(bytes)), "{card} is not {}", expected::memory(bytes));
        let word = if bucket == Bucket::Activations { "scales with b" } else { "fixed" };
        assert!(card.contains(word), "{card} does not say “{word}”");
        if bucket != Bucket::Activations {
            fixed = fixed + bytes;
        }
    }
    buckets.shows("buckets-fixed", &expected::memory(fixed)).await;
    buckets.shows("buckets-activations", &expected::memory(estimate.bucket(Bucket::Activations))).await;
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
    page.until_query("v=1&model=13b&b=5&method=paper").await;
    shows_the_ledger(&page, &expected::scenario("?model=13b&b=5&method=paper")).await;
    page.close().await;
}
