//! The first look at a page lays out what is in sight, and the reader's first move the rest.

use serde_json::json;

use crate::support::{BLANK, FOLDER, Page, Visit};

/// The sections that the browser leaves out while they are out of sight.
const WAITING: &str = "return [...document.querySelectorAll('main > section')] \
    .filter((section) => getComputedStyle(section).contentVisibility === 'auto').length;";

/// Whether the figures of those sections have a place in the layout: none of them has, or all.
const PLACED: &str = "const placed = [...document.querySelectorAll('main > section:nth-of-type(n + 3) [data-figure]')] \
        .map((figure) => figure.getClientRects().length > 0); \
    return [placed.every((one) => !one), placed.every((one) => one)];";

/// How many sections of home are far enough down to wait: all but two.
async fn all_but_two(page: &Page) -> u64 {
    let sections = page.script("return document.querySelectorAll('main > section').length;", vec![]).await;
    sections.as_u64().expect("a number") - 2
}

#[tokio::test]
async fn what_is_far_below_is_laid_out_with_the_first_move() {
    for kind in ["pointermove", "keydown", "scroll"] {
        let page = Visit::to("").untouched().open().await;
        assert_eq!(page.script(WAITING, vec![]).await, json!(all_but_two(&page).await));
        // A browser that offers to fill in forms would lay them out otherwise.
        assert_eq!(page.script(PLACED, vec![]).await, json!([true, false]));
        page.script("dispatchEvent(new Event(arguments[0]));", vec![json!(kind)]).await;
        page.until_script("every section", WAITING, json!(0)).await;
        page.until_script("every figure", PLACED, json!([false, true])).await;
        page.until_script("an end", "return 'firstLook' in document.documentElement.dataset;", json!(false)).await;
        page.close().await;
    }
}

#[tokio::test]
async fn who_follows_the_contents_at_once_arrives_at_the_section() {
    let page = Visit::to("").untouched().open().await;
    page.script("document.querySelector('.toc a[href=\"#levers\"]').click();", vec![]).await;
    page.until_script("every section", WAITING, json!(0)).await;
    let is_there = "const { top } = document.getElementById('levers').getBoundingClientRect(); \
        return top > -200 && top < innerHeight / 2;";
    page.until_script("the section of the link", is_there, json!(true)).await;
    page.close().await;
}

#[tokio::test]
async fn who_does_not_begin_at_the_top_gets_the_whole_page_at_once() {
    let page = Visit::to("#levers").untouched().open().await;
    assert_eq!(page.script(WAITING, vec![]).await, json!(0), "behind a fragment");
    page.close().await;
    let page = Visit::to("").untouched().open().await;
    page.reload().await;
    assert_eq!(page.script(WAITING, vec![]).await, json!(0), "loaded again");
    // Numbers of figures begin anew in a section that waits, and here it would be in sight.
    page.resize(1440, 2000).await;
    page.go(BLANK).await;
    page.go(FOLDER).await;
    assert_eq!(page.script(WAITING, vec![]).await, json!(0), "in a window that shows much at once");
    page.close().await;
}
