//! Configurations without a number: no part of the page says that anything fits, and each says what would.

use crate::support::{Page, expected};
use bmax::{link, ways};

/// The words of all badges of the page that can be seen and say how something stands.
const BADGES: &str = "return [...document.querySelectorAll('.badge:is(.badge-good, .badge-warn, .badge-bad)')] \
    .filter((badge) => badge.checkVisibility() && badge.closest('.lever') === null) \
    .map((badge) => badge.textContent.trim());";

#[tokio::test]
async fn settings_that_do_not_go_together_are_called_fitting_nowhere_and_are_mended_with_a_press() {
    let query = "v=4&tp=3";
    let page = Page::open(&format!("?{query}")).await;
    let figure = page.figure("answer");
    figure.shows("opening-answer", "settings conflict").await;
    figure.says("32 attention heads cannot be split over 3 GPUs").await;
    page.part("#answer-bar").shows("bar-answer", "settings conflict").await;
    let badges = page.script(BADGES, vec![]).await;
    let badges: Vec<&str> = badges.as_array().expect("a list").iter().filter_map(|badge| badge.as_str()).collect();
    assert!(!badges.is_empty() && badges.iter().all(|badge| badge.ends_with("settings conflict")), "{badges:?}");
    // One press leads to the settings that the library finds.
    let asked = expected::scenario(query);
    let found = ways::ways(&asked, &[]);
    let to = found.fitting[0].changes.iter().fold(asked, |scenario, change| change.apply(scenario));
    figure.press_marked("help").await;
    let to = asked.then(to);
    page.until_query(&link::encode(&to)).await;
    page.part("#answer-bar").shows("bar-answer", &expected::answer(&to)).await;
    page.close().await;
}

#[tokio::test]
async fn a_model_that_is_not_known_is_answered_by_no_other_and_the_nearest_is_a_press_away() {
    let page = Page::open("?v=4&model=qwen-2.5-7b&gpu=rtx-4090&gpus=1&adapter=lora").await;
    page.part("#answer-bar").shows("bar-answer", "unknown model").await;
    page.figure("answer").says("the model that was asked for is not known").await;
    page.part("#notices").press("Use qwen2.5-7b").await;
    let chosen = "v=4&model=qwen2.5-7b&gpu=rtx-4090&gpus=1&adapter=lora";
    page.until_query(chosen).await;
    page.part("#answer-bar").shows("bar-answer", &expected::answer(&expected::scenario(chosen))).await;
    page.close().await;
}

#[tokio::test]
async fn what_does_not_fit_names_lora_and_qlora_first_and_takes_one_with_a_press() {
    let page = Page::open("?v=4&model=qwen2.5-7b&gpu=rtx-4090&gpus=1").await;
    let figure = page.figure("answer");
    figure.shows("opening-answer", "does not fit").await;
    figure.says("These fit").await;
    figure.says("Train QLoRA adapters → 4").await;
    figure.click("link", "Train LoRA adapters → 2").await;
    page.until_query("v=4&model=qwen2.5-7b&gpu=rtx-4090&gpus=1&adapter=lora").await;
    figure.shows("opening-answer", "2").await;
    page.close().await;
}
