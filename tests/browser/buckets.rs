//! The buckets: those that have a name in the bar, the peak's own composition one press away, and a sum that adds up.

use crate::support::{Page, expected};
use bmax::{Bucket, Bytes, Scenario, chart::NAMED, division::line_at_peak, estimate};

async fn shows_the_ledger(page: &Page, scenario: &Scenario) {
    let buckets = page.figure("buckets");
    let estimate = estimate(scenario);
    buckets.shows("buckets-total", &expected::memory(estimate.peak().bytes)).await;
    for &bucket in Bucket::ALL {
        let bytes = estimate.fullest(bucket).1;
        // The other two methods have no logits.
        if !NAMED.contains(&bucket) || (bucket == Bucket::Logits && bytes == Bytes::ZERO) {
            has_no_card(page, bucket).await;
            continue;
        }
        let card = buckets.text(&format!("bucket-{}", bucket.key())).await;
        assert!(card.contains(&expected::memory(bytes)), "{card} is not {}", expected::memory(bytes));
        let grows = bmax::estimate(&scenario.with_batch(scenario.recipe.batch + 1)).fullest(bucket).1 > bytes;
        let word = if grows { "scales with b" } else { "fixed" };
        assert!(card.contains(word), "{card} does not say “{word}”");
    }
    let line = line_at_peak(scenario);
    let growing = Bytes::new(line.per_sequence.get() * f64::from(scenario.recipe.batch));
    buckets.shows("buckets-fixed", &expected::memory(line.fixed)).await;
    buckets.shows("buckets-growing", &expected::memory(growing)).await;
}

async fn has_no_card(page: &Page, bucket: Bucket) {
    let there = format!("return document.querySelectorAll('[data-testid=bucket-{}]').length;", bucket.key());
    page.until_script("what has no name in the bar to have no card", &there, 0.into()).await;
}

#[tokio::test]
async fn the_cards_show_the_ledger_and_follow_the_configuration() {
    let page = Page::about("buckets", "?v=4&method=ledger").await;
    shows_the_ledger(&page, &Scenario::default()).await;
    page.figure("workshop-calculator").enter("Number of GPUs", "16").await;
    shows_the_ledger(&page, &expected::scenario("?gpus=16")).await;
    page.figure("workshop-calculator").press("13B").await;
    page.figure("count-switch").choose("Counted by", "Paper").await;
    page.until_query("v=4&model=13b&gpus=16&method=paper").await;
    shows_the_ledger(&page, &expected::scenario("?model=13b&gpus=16&method=paper")).await;
    page.close().await;
}

#[tokio::test]
async fn the_peak_s_own_composition_is_one_press_away_and_says_why_there_are_no_gradients() {
    let page = Page::about("buckets", "?v=4&method=ledger").await;
    let buckets = page.figure("buckets");
    let estimate = estimate(&Scenario::default());
    buckets.says("Each bucket is shown at its largest.").await;
    buckets.choose("What is shown", "At the peak").await;
    let (position, _) = estimate.binding();
    buckets.says(&format!("“{}”. {}", estimate.instants[position].name, estimate.meaning(position))).await;
    buckets.says("There are no gradients yet").await;
    assert!(buckets.text("bucket-gradients").await.contains("none"));
    for bucket in [Bucket::Activations, Bucket::Logits, Bucket::Runtime] {
        let card = buckets.text(&format!("bucket-{}", bucket.key())).await;
        assert!(card.contains(&expected::memory(estimate.bucket(bucket))), "{card}");
    }
    buckets.choose("What is shown", "Each at its largest").await;
    has_no_card(&page, Bucket::Runtime).await;
    page.close().await;
}
