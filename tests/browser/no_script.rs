//! The text without the program: readable, complete, and honest about what is missing.

use crate::support::Visit;
use serde_json::json;

const SECTIONS: [&str; 11] = [
    "opening",
    "buckets",
    "why",
    "grow",
    "derivation",
    "search",
    "calculator",
    "levers",
    "global-batch",
    "sequence",
    "takeaways",
];

/// Sections of which the heading, a paragraph or a figure cannot be seen.
const UNSEEN: &str = "const seen = (one) => one && one.checkVisibility({ opacityProperty: true, visibilityProperty: true }) \
        && one.getBoundingClientRect().height > 8 && one.textContent.trim().length > 10; \
    return arguments[0].filter((id) => { \
        const section = document.getElementById(id); \
        return !section || !seen(section.querySelector('h1, h2, h3')) || !seen(section.querySelector('p, li')) \
            || ![...section.querySelectorAll('[data-figure]')].every(seen); \
    });";

#[tokio::test]
async fn without_javascript_every_section_can_be_read() {
    let page = Visit::to("").without_scripts().open().await;
    assert_eq!(page.script(UNSEEN, vec![json!(SECTIONS)]).await, json!([]));
    page.part("noscript").says("need JavaScript and WebAssembly").await;
    page.part("#opening").says("by the count of the paper behind it 6").await;
    page.part("#takeaways").says("The largest batch is a division.").await;
    page.close().await;
}

#[tokio::test]
async fn without_javascript_no_empty_control_is_left_over() {
    let page = Visit::to("").without_scripts().open().await;
    // The figure of the terms answers by its style sheet alone.
    let script = "return [...document.querySelectorAll('main :is(input, select, button):not(.terms *)')] \
        .filter((one) => one.checkVisibility()).length;";
    assert_eq!(page.script(script, vec![]).await, 0);
    let bar = "return document.getElementById('answer-bar').getBoundingClientRect().height;";
    let height = page.script(bar, vec![]).await;
    assert!(height.as_f64().is_some_and(|height| height < 80.0), "an empty bar takes {height} px");
    page.close().await;
}

#[tokio::test]
async fn when_the_program_does_not_arrive_the_text_is_still_there() {
    let page = Visit::to("").open().await;
    page.devtools("Network.enable", json!({})).await;
    page.devtools("Network.setBlockedURLs", json!({ "urls": ["*.wasm"] })).await;
    page.client.refresh().await.expect("the page loads");
    assert_eq!(page.script(UNSEEN, vec![json!(SECTIONS)]).await, json!([]));
    // Here the console is right to complain.
    page.complaints().await;
    page.close().await;
}
