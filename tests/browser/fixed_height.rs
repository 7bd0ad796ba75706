//! A figure in a frame whose height the page around it has fixed, as slides and many course platforms do.

use crate::support::host::{Host, frame};
use serde_json::json;

/// Width and height of the frame: of those that are recommended, 720 to 800 wide and 600 to 800 high, the smallest.
const FRAME: (u32, u32) = (720, 600);

/// What is wrong as seen from inside: the title is not at the top, nothing of what the figure says or draws is in the
/// first 600 pixels, something is wider than the frame.
const WRONG: &str = "const wrong = []; \
    const place = (one) => one.getBoundingClientRect(); \
    const title = place(document.querySelector('h1')); \
    if (title.top < 0 || title.bottom > 90) wrong.push(`title from ${title.top} to ${title.bottom}`); \
    const says = 'svg, canvas, [role=img], table, pre, math, output, .num, strong, ul, legend, .network-answer, .compare-verdict, .solve-answer'; \
    const first = [...document.querySelectorAll(`.figure > :not(figcaption, .figure-formula) :is(${says})`)].filter((one) => \
        one.checkVisibility({ visibilityProperty: true }) && place(one).height > 8 && one.textContent.trim() !== '' \
        && !one.closest('button, label, .field, .segmented:not(.quiz *), .visually-hidden')); \
    const least = Math.min(...first.map((one) => Math.max(place(one).top, 0))); \
    if (!(least <= 560)) wrong.push(`what it says begins at ${least}`); \
    if (document.documentElement.scrollWidth > innerWidth) wrong.push(`${document.documentElement.scrollWidth} px wide`); \
    return wrong;";

/// Waits until the figure of the only frame is there.
async fn mounted(host: &Host) {
    let there = "return !!document.querySelector('[data-figure][data-mounted]');";
    host.page
        .until("the figure", async || if host.inside(0, there).await == true { Ok(()) } else { Err("not there") })
        .await;
}

/// Holds that the figure of the only frame shows what it says in the first pixels of a frame of such a size.
pub async fn says_it_first(host: &Host, name: &str) {
    host.resize(FRAME.0, FRAME.1).await;
    assert_eq!(host.inside(0, WRONG).await, json!([]), "{name} in a frame of {FRAME:?} pixels");
}

#[tokio::test]
async fn what_is_below_the_frame_is_reached_by_keyboard() {
    let host = Host::with("").await;
    host.show(&frame("embed=calculator&height=600&v=4", "sandbox=allow-scripts")).await;
    mounted(&host).await;
    let last = "const all = [...document.querySelectorAll('input, select, button, summary')].filter((one) => one.checkVisibility()); \
        all.at(-1).focus(); const { top, bottom } = all.at(-1).getBoundingClientRect(); return top >= 0 && bottom <= innerHeight;";
    assert_eq!(host.inside(0, last).await, json!(true));
    host.close().await;
}
