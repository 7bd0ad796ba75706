//! Moving the batch: three buckets stand still, the fourth fills the GPU, and the verdict says by how much.

use crate::support::{Page, expected, key};
use bmax::{Answer, Balance, Scenario, b_max, estimate};

/// What the verdict must say about a scenario: its kind and its amounts.
fn verdict(scenario: &Scenario) -> Vec<String> {
    let estimate = estimate(scenario);
    let over_usable = estimate.peak().bytes - estimate.usable();
    match (estimate.balance(), b_max(scenario)) {
        (Balance::Free(free), Answer::Fits(room)) if room.batch == scenario.recipe.batch => {
            vec!["The last that fits".into(), expected::memory(free), expected::memory(room.per_sequence)]
        }
        (Balance::Free(free), _) => vec!["Fits".into(), expected::memory(free)],
        (Balance::Close(over), _) => vec!["Too close".into(), expected::memory(over)],
        (Balance::Over(over), _) => {
            let beyond = if estimate.reserved.get() > 0.0 { expected::memory(over_usable) } else { String::new() };
            vec!["Does not fit".into(), beyond, expected::memory(over)]
        }
        (Balance::LacksHost(lacks), _) => vec!["Does not fit".into(), expected::memory(lacks)],
    }
}

#[tokio::test]
async fn every_step_of_the_slider_shows_the_library_s_total_and_verdict() {
    let page = Page::about("grow", "?v=4&method=ledger").await;
    let grow = page.figure("grow");
    grow.focus("slider", "Micro-batch b").await;
    page.press(key::HOME).await;
    for batch in 1..=18 {
        let scenario = Scenario::default().with_batch(batch);
        let counted = estimate(&scenario);
        let [total, usable] = [counted.peak().bytes, counted.usable()].map(expected::memory);
        grow.shows("grow-total", &format!("{} / {usable}", total.trim_end_matches(" GiB"))).await;
        let said = grow.text("grow-verdict").await;
        for part in verdict(&scenario) {
            assert!(said.contains(&part), "b = {batch}: “{said}” does not say “{part}”");
        }
        page.press(key::RIGHT).await;
    }
    page.close().await;
}

#[tokio::test]
async fn the_slider_moves_the_whole_page() {
    let page = Page::about("grow", "?b=16&method=ledger").await;
    let grow = page.figure("grow");
    let slider = grow.focus("slider", "Micro-batch b").await;
    page.press(key::RIGHT).await;
    page.until_query("v=4&b=17&method=ledger").await;
    assert_eq!(page.figure("shapes").value("slider", "Micro-batch b").await, "17");
    page.part("#answer-bar").says("b = 17").await;
    page.part("#answer-bar").says("does not fit").await;
    let text = slider.attr("aria-valuetext").await.expect("an element");
    assert_eq!(text.as_deref(), Some("17 sequences, does not fit"));
    page.close().await;
}

#[tokio::test]
async fn one_press_goes_to_the_last_batch_that_fits_and_one_to_the_first_that_does_not() {
    let page = Page::about("grow", "?b=1&method=ledger").await;
    let grow = page.figure("grow");
    grow.press_marked("grow-to-max").await;
    let most = b_max(&Scenario::default()).batch().expect("the default fits");
    page.until_query("v=4&method=ledger").await;
    grow.says("The last that fits").await;
    grow.press_marked("grow-past-max").await;
    page.until_query(&format!("v=4&b={}&method=ledger", most + 1)).await;
    grow.says("Does not fit").await;
    page.close().await;
}

#[tokio::test]
async fn the_other_methods_verdicts_on_the_same_batch_stand_below() {
    let page = Page::about("grow", "?v=3&b=4&method=ledger").await;
    let paper = expected::scenario("?v=3&b=4&method=paper");
    let total = expected::memory(estimate(&paper).peak().bytes);
    page.figure("grow").says("By the workshop method, b = 4 takes 81.0 GiB and does not fit; the most is 3.").await;
    page.figure("grow").says(&format!("By the paper method, b = 4 takes {total} and fits; the most is 6.")).await;
    page.close().await;
}

#[tokio::test]
async fn when_nothing_fits_every_batch_is_said_to_be_too_large() {
    let page = Page::about("grow", "?gpus=1&method=ledger").await;
    let grow = page.figure("grow");
    grow.says("Does not fit").await;
    assert!(!grow.marked("grow-to-max").await.is_enabled().await.expect("a button"));
    page.close().await;
}
