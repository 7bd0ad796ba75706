//! Lengths that vary: the fold of the form, pasted lengths, and when a run fails.

use crate::support::{Page, expected, key};
use bmax::course::lengths::{Spread, failing};
use bmax::{Batching, Scenario, largest_micro_batch, number};

/// The scenario with padded lengths.
fn padded(mut scenario: Scenario) -> Scenario {
    scenario.lengths.batching = Batching::Padded;
    scenario
}

#[tokio::test]
async fn the_slider_moves_the_micro_batch_and_says_when_its_run_fails() {
    let page = Page::about("lengths", "").await;
    let figure = page.figure("lengths");
    let scenario = padded(Scenario::default());
    let lengths = Spread::of_scenario(&scenario);
    let most = largest_micro_batch(&scenario).expect("some fit");
    let tokens = number::grouped(scenario.tokens_at(most) as f64);
    figure.says(&format!("{tokens} tokens at the longest")).await;
    figure.focus("slider", "Micro-batch of a padded run").await;
    page.press(key::HOME).await;
    figure.says("With 1 sequence the longest fits, and no step fails.").await;
    for _ in 0..most {
        page.press(key::RIGHT).await;
    }
    let fails = failing(&scenario, &lengths, most + 1).expect("the longest do not fit");
    figure.says(&format!("Half of all runs fail by step {}", number::grouped(fails.by(0.5)))).await;
    page.close().await;
}

#[tokio::test]
async fn the_table_has_every_way_at_the_largest_micro_batch_that_fits() {
    let page = Page::about("lengths", "?len_max=1000&len_p95=900").await;
    let figure = page.figure("lengths");
    let rows = figure.table("ways").await;
    assert_eq!(rows.len(), 4);
    let ways = [Batching::Padded, Batching::Bucketed, Batching::Flattened, Batching::Packed];
    for (row, way) in rows.iter().zip(ways) {
        let mut scenario = expected::scenario("?len_max=1000&len_p95=900");
        scenario.lengths.batching = way;
        let most = largest_micro_batch(&scenario).expect("some fit");
        assert!(row[1].starts_with(&number::grouped(most.into())), "{row:?}");
        assert_eq!(row[2], number::grouped(scenario.tokens_at(most) as f64));
    }
    page.close().await;
}

#[tokio::test]
async fn the_numbers_of_the_figure_are_those_of_the_link() {
    let page = Page::about("lengths", "").await;
    let figure = page.figure("lengths");
    figure.fill("Longest document", "1500").await;
    page.until_query("v=4&len_max=1500").await;
    let scenario = padded(expected::scenario(&page.query().await));
    assert_eq!(scenario.lengths.longest, 1_500);
    let most = largest_micro_batch(&scenario).expect("some fit");
    let tokens = number::grouped(scenario.tokens_at(most) as f64);
    figure.says(&format!("{tokens} tokens at the longest of 1,500")).await;
    page.close().await;
}

#[tokio::test]
async fn the_group_of_lengths_is_there_once_they_vary() {
    let page = Page::about("calculator", "").await;
    let groups = "return [...document.querySelectorAll('#calculator summary')].map((one) => one.textContent);";
    let groups = page.script(groups, vec![]).await.to_string();
    assert!(groups.contains("More of the kernels") && !groups.contains("Lengths that vary"), "{groups}");
    page.close().await;
    let page = Page::about("calculator", "?lengths=padded&len_max=1000&len_p95=900").await;
    page.figure("calculator").says("padded, up to 1,000 tokens").await;
    page.close().await;
}
