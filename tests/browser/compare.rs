//! Comparing: what is pinned stands beside the present configuration, in the figure, in the address and on other pages;
//! the bar pins on every page.

use crate::support::{Page, expected, key};
use bmax::compare::compare;
use bmax::link::Pinned;
use bmax::{Scenario, format, link};

/// What a link names: the present scenario and the pinned one.
fn both(query: &str) -> (Scenario, Scenario) {
    let read = link::decode(query);
    assert_eq!(read.notices, [], "{query}");
    (read.scenario, *read.vs.get(0).expect("one is pinned"))
}

/// Waits until the figure shows the comparison of a link with the numbers of the library.
async fn compares(page: &Page, query: &str) {
    let (now, pinned) = both(query);
    let comparison = compare(&pinned, &now);
    let figure = page.figure("compare");
    figure.shows("name-A", "Pinned").await;
    figure.shows("name-B", "Now").await;
    figure.shows("answer-A", &format::answer(&comparison.before.answer)).await;
    figure.shows("answer-B", &format::answer(&comparison.after.answer)).await;
    let rows = figure.table("entries").await;
    let [.., sums] = rows.as_slice() else { panic!("no rows") };
    let gib = |bytes: bmax::Bytes| format::digits(bytes.gib(), 2);
    assert_eq!(sums[2..4], [gib(comparison.before.peak.bytes), gib(comparison.after.peak.bytes)]);
    let sign = if comparison.delta.get() < 0.0 { "−" } else { "+" };
    let delta = gib(bmax::Bytes::new(comparison.delta.get().abs()));
    assert!([format!("{sign}{delta}"), delta].contains(&sums[1]), "{sums:?}");
}

#[tokio::test]
async fn a_reader_pins_changes_something_and_sees_what_it_gives() {
    let page = Page::about("compare", "").await;
    let figure = page.figure("compare");
    figure.says("Nothing is pinned yet.").await;
    figure.press("Pin this configuration").await;
    page.until_query("v=4&vs=").await;
    figure.says("Nothing differs yet.").await;
    figure.enter("Sequence length", "4096").await;
    let query = "v=4&s=4096&vs=s:2048";
    page.until_query(query).await;
    figure.says("Sequence length: from 2,048 tokens to 4,096 tokens").await;
    compares(&page, query).await;
    // Who listens hears the verdict once.
    let verdict = figure.text("verdict").await;
    figure.shows("spoken", &verdict).await;
    figure.shows("caption-B", "Sequence length: 4,096 tokens").await;
    figure.press("Go back to A").await;
    page.until_query("v=4&vs=").await;
    figure.press("Clear").await;
    page.until_query("v=4").await;
    figure.says("Nothing is pinned yet.").await;
    page.close().await;
}

#[tokio::test]
async fn a_shared_link_shows_the_comparison_and_keeps_it_on_other_pages() {
    let query = "v=4&recompute=full&vs=model:13b;recompute:selective";
    let page = Page::about("compare", &format!("?{query}")).await;
    compares(&page, query).await;
    // All other figures show the present one.
    let now = expected::scenario("?recompute=full");
    let bar = "return document.querySelector('[data-testid=bar-answer]').textContent;";
    page.until_script("the present answer", bar, format::answer(&bmax::b_max(&now)).into()).await;
    page.figure("compare").enter("Number of GPUs", "16").await;
    let (now, pinned) = (expected::scenario("?gpus=16&recompute=full"), both(query).1);
    let query = link::encode_with(&now, &Pinned::from(pinned));
    page.until_query(&query).await;
    let ways =
        format!("return [...document.querySelectorAll('a[data-way]')].every((way) => way.search === '?{query}');");
    page.until_script("the ways to other pages", &ways, true.into()).await;
    page.travel("v=4&vs=s:4096").await;
    compares(&page, "v=4&vs=s:4096").await;
    page.close().await;
}

#[tokio::test]
async fn what_is_wrong_with_the_pinned_one_is_named_and_the_present_one_stays() {
    let page = Page::about("compare", "?v=4&gpus=16&vs=s:-5;zero:1").await;
    page.all().says("In “vs”: Sequence length").await;
    let figure = page.figure("compare");
    figure.says("ZeRO stage: from").await;
    figure.shows("name-A", "Pinned").await;
    let now = expected::scenario("?gpus=16");
    figure.shows("answer-B", &format::answer(&bmax::b_max(&now))).await;
    page.close().await;
}

#[tokio::test]
async fn the_example_is_tried_by_keyboard_and_the_focus_is_kept() {
    let page = Page::about("compare", "").await;
    let figure = page.figure("compare");
    figure.focus("button", "Pin it and try the example").await;
    page.press(key::ENTER).await;
    page.until_query("v=4&recompute=none&vs=recompute:full").await;
    compares(&page, "v=4&recompute=none&vs=recompute:full").await;
    let focused = "return document.activeElement.dataset.testid;";
    page.until_script("the focus on the first button", focused, "pin".into()).await;
    page.close().await;
}

/// What is pinned, as the count beside the button of the bar says it; nothing while the count is not shown.
const COUNTED: &str = "const way = document.querySelector('#answer-bar .configuration-end > a:last-child'); \
    return way.checkVisibility() ? way.textContent.replace(/\\s+/g, ' ').trim() : '';";

#[tokio::test]
async fn the_bar_of_any_page_pins_and_leads_to_the_comparison() {
    let page = Page::open("memory/?v=4").await;
    let bar = page.part("#answer-bar");
    page.until_script("no count while nothing is pinned", COUNTED, "".into()).await;
    bar.focus("button", "Pin").await;
    page.press(key::ENTER).await;
    page.until_query("v=4&vs=").await;
    page.until_script("one is counted", COUNTED, "1".into()).await;
    let focused = "return document.activeElement.textContent;";
    page.until_script("the focus stays", focused, "Pin".into()).await;
    // The same once more changes nothing.
    page.press(key::ENTER).await;
    for (gpus, query, count) in
        [("16", "v=4&gpus=16&vs=gpus:8&vs=", "2"), ("32", "v=4&gpus=32&vs=gpus:8&vs=gpus:16&vs=", "3")]
    {
        bar.enter("Number of GPUs", gpus).await;
        bar.press("Pin").await;
        page.until_query(query).await;
        page.until_script("they are counted", COUNTED, count.into()).await;
    }
    // A fourth is refused with words.
    bar.enter("Number of GPUs", "64").await;
    let query = "v=4&gpus=64&vs=gpus:8&vs=gpus:16&vs=gpus:32";
    page.until_query(query).await;
    // The answer, which is spoken once it has been left alone, may come behind the refusal.
    let spoken = "return document.querySelector('[data-testid=spoken-answer]').textContent;";
    page.until("the refusal", async || {
        bar.press("Pin").await;
        let said = page.script(spoken, vec![]).await;
        if said == "Three are pinned: remove one first." { Ok(()) } else { Err(said) }
    })
    .await;
    page.until_script("they are counted", COUNTED, "3".into()).await;
    page.until_query(query).await;
    let ways = "return document.querySelector('#answer-bar .configuration-end > a:last-child').href;";
    let way = page.script(ways, vec![]).await;
    assert!(way.as_str().is_some_and(|way| way.ends_with(&format!("/plan/?{query}#comparing"))), "{way}");
    page.close().await;
}

#[tokio::test]
async fn what_is_pinned_is_taken_back_step_by_step() {
    let page = Page::open("plan/?v=4").await;
    let bar = page.part("#answer-bar");
    bar.press("Pin").await;
    page.until_query("v=4&vs=").await;
    bar.enter("Number of GPUs", "16").await;
    page.until_query("v=4&gpus=16&vs=gpus:8").await;
    bar.press("Pin").await;
    page.until_query("v=4&gpus=16&vs=gpus:8&vs=").await;
    bar.press("Undo").await;
    page.until_query("v=4&gpus=16&vs=gpus:8").await;
    bar.press("Redo").await;
    page.until_query("v=4&gpus=16&vs=gpus:8&vs=").await;
    page.client.back().await.expect("there is an entry before");
    page.until_script("one is counted", COUNTED, "1".into()).await;
    page.close().await;
}

#[tokio::test]
async fn four_stand_side_by_side_and_each_pinned_one_is_removed_or_gone_back_to() {
    let query = "v=4&gpus=16&vs=gpus:8&vs=gpus:8;recompute:none&vs=gpus:1;s:4096";
    let page = Page::about("compare", &format!("?{query}")).await;
    let read = link::decode(query);
    let figure = page.figure("compare");
    let all: Vec<Scenario> = read.vs.iter().copied().chain([read.scenario]).collect();
    for (letter, scenario) in ["A", "B", "C", "D"].iter().zip(&all) {
        figure.shows(&format!("answer-{letter}"), &format::answer(&bmax::b_max(scenario))).await;
    }
    figure.shows("name-D", "Now").await;
    figure.shows("caption-B", "Activation recomputation: None").await;
    figure.shows("caption-C", "Sequence length: 4,096 tokens; Number of GPUs: 1").await;
    figure.shows("caption-D", "Number of GPUs: 16").await;
    figure.focus("button", "Remove B").await;
    page.press(key::ENTER).await;
    page.until_query("v=4&gpus=16&vs=gpus:8&vs=s:4096;gpus:1").await;
    figure.shows("caption-B", "Sequence length: 4,096 tokens; Number of GPUs: 1").await;
    let focused = "return document.activeElement.textContent;";
    page.until_script("the focus stays where it was", focused, "Remove B".into()).await;
    page.press(key::ENTER).await;
    page.until_query("v=4&gpus=16&vs=gpus:8").await;
    page.until_script("the focus on the first button", focused, "Pin this configuration".into()).await;
    compares(&page, "v=4&gpus=16&vs=gpus:8").await;
    figure.press("Go back to A").await;
    page.until_query("v=4&vs=").await;
    page.until_script("the focus stays", focused, "Go back to A".into()).await;
    page.close().await;
}
