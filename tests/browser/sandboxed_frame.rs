//! The page in somebody else's, in a frame that may run scripts and nothing more.

use crate::support::{Page, Visit, expected};
use serde_json::json;

async fn framed() -> Page {
    let page = Visit::to_the_host_page().open().await;
    page.client.enter_frame(0).await.expect("the frame is there");
    page.wait_for_figures().await;
    page
}

#[tokio::test]
async fn every_figure_mounts_and_works_without_an_origin_and_without_storage() {
    let page = framed().await;
    assert_eq!(page.script("return origin;", vec![]).await, json!("null"));
    page.figure("answer").shows("opening-answer", &expected::answer(&expected::scenario(""))).await;
    page.figure("calculator").press("1B").await;
    page.figure("answer").shows("opening-answer", &expected::answer(&expected::scenario("?model=1b"))).await;
    page.close().await;
}

#[tokio::test]
async fn the_theme_can_be_changed_though_it_cannot_be_remembered() {
    let page = framed().await;
    page.all().press("Theme: auto").await;
    page.all().press("Theme: light").await;
    page.until_script("dark", "return document.documentElement.dataset.theme;", "dark".into()).await;
    page.close().await;
}
