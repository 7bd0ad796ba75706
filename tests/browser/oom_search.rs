//! The search by running out of memory: step by step or by itself, to the same number as the division.

use crate::support::{Page, Visit, expected};
use bmax::search::by_running_out;
use bmax::{b_max, number};

/// The default, counted by the ledger as on all other pages.
const LEDGER: &str = "?v=4&method=ledger";

/// Presses Step to the end and compares every step with the library's search.
async fn steps_like_the_library(query: &str) {
    let page = Page::about("oom-search", query).await;
    let (figure, scenario) = (page.figure("oom-search"), expected::scenario(query));
    let trace = by_running_out(&scenario);
    for (at, probe) in trace.iter().enumerate() {
        figure.press("Step").await;
        let outcome = if probe.fits { "runs." } else { "runs out of memory." };
        figure.says(&format!("b = {} {outcome}", number::grouped(probe.batch.into()))).await;
        let said = figure.text("search-step").await;
        assert!(said.starts_with(&format!("Attempt {},", at + 1)), "{said}");
    }
    let attempts = format!("{} attempt{}", trace.len(), if trace.len() == 1 { "" } else { "s" });
    match b_max(&scenario).batch() {
        Some(batch) => {
            figure.shows("search-result", &format!("Both give {batch}: {attempts} against one division.")).await
        }
        None => figure.says(&format!("Both say that nothing fits: {attempts}")).await,
    }
    let listed =
        figure.find("region", "Attempts").await.find_all(fantoccini::Locator::Css("li")).await.expect("a list");
    assert_eq!(listed.len(), trace.len());
    page.close().await;
}

#[tokio::test]
async fn the_whole_search_is_there_before_anybody_walks_and_is_left_to_the_reader_from_the_first_step_on() {
    let page = Page::about("oom-search", LEDGER).await;
    let figure = page.figure("oom-search");
    let trace = by_running_out(&expected::scenario(LEDGER));
    let listed = async || {
        let attempts = figure.find("region", "Attempts").await;
        attempts.find_all(fantoccini::Locator::Css("li")).await.expect("a list").len()
    };
    figure.says(&format!("The whole search for your configuration, {} attempts", trace.len())).await;
    assert_eq!(listed().await, trace.len());
    figure.press("Step").await;
    figure.says("Attempt 1,").await;
    assert_eq!(listed().await, 1);
    figure.press("Restart").await;
    figure.says("Nothing is known yet").await;
    assert_eq!(listed().await, 0);
    page.close().await;
}

#[tokio::test]
async fn the_search_meets_the_division_of_the_ledger() {
    steps_like_the_library(LEDGER).await;
}

#[tokio::test]
async fn where_nothing_fits_one_attempt_says_so() {
    steps_like_the_library("?model=70b&method=ledger").await;
}

#[tokio::test]
async fn play_walks_to_the_end_and_can_be_paused() {
    let page = Page::about("oom-search", "?v=3&method=workshop").await;
    let figure = page.figure("oom-search");
    figure.press("Play").await;
    figure.says("Attempt 1,").await;
    figure.press("Pause").await;
    figure.find("button", "Play").await;
    figure.press("Play").await;
    figure.shows("search-result", "Both give 3: 4 attempts against one division.").await;
    figure.find("button", "Play again").await;
    page.close().await;
}

#[tokio::test]
async fn with_reduced_motion_play_shows_the_whole_search_at_once() {
    let page =
        Visit::about("oom-search", "?v=3&method=workshop").preferring("prefers-reduced-motion", "reduce").open().await;
    let figure = page.figure("oom-search");
    figure.press("Play").await;
    // One look is enough: nothing is on its way.
    assert_eq!(figure.text("search-result").await, "Both give 3: 4 attempts against one division.");
    page.close().await;
}

#[tokio::test]
async fn back_and_restart_take_attempts_away_and_a_new_configuration_is_whole_again() {
    let page = Page::about("oom-search", LEDGER).await;
    let figure = page.figure("oom-search");
    for _ in 0..3 {
        figure.press("Step").await;
    }
    figure.says("Attempt 3,").await;
    figure.press("Back").await;
    figure.says("Attempt 2,").await;
    figure.press("Restart").await;
    figure.says("Nothing is known yet").await;
    figure.press("Step").await;
    figure.says("Attempt 1,").await;
    page.figure("workshop-calculator").press("13B").await;
    figure.says("The whole search for your configuration").await;
    page.close().await;
}
