//! The text without the program: readable, complete, and honest about what is missing.

use crate::support::{FOLDER, PAGES, Visit};
use serde_json::json;

/// Sections of which the heading, a paragraph or a figure cannot be seen.
const UNSEEN: &str = "const seen = (one) => one && one.checkVisibility({ opacityProperty: true, visibilityProperty: true }) \
        && one.getBoundingClientRect().height > 8 && one.textContent.trim().length > 10; \
    const sections = [...document.querySelectorAll('main > section')]; \
    if (!sections.length) return ['no section']; \
    return sections.filter((section) => \
        !seen(section.querySelector('h1, h2, h3')) || ![...section.querySelectorAll('p, li, summary')].some(seen) \
            || ![...section.querySelectorAll('[data-figure]')].every(seen)).map((section) => section.id);";

#[tokio::test]
async fn without_javascript_every_section_of_every_page_can_be_read() {
    let page = Visit::to("").without_scripts().open().await;
    for name in PAGES {
        page.go(&format!("{FOLDER}{name}")).await;
        assert_eq!(page.script(UNSEEN, vec![]).await, json!([]), "/{name}");
        page.part("noscript").says("need JavaScript and WebAssembly").await;
    }
    page.go(FOLDER).await;
    page.part("#opening").says("16 sequences are likely to fit on each GPU, and 10 to be safe").await;
    page.go(&format!("{FOLDER}workshop/")).await;
    page.part("#workshop").says("the workshop’s count gives 3 sequences").await;
    page.part("#takeaways").says("The largest batch is a division.").await;
    page.close().await;
}

#[tokio::test]
async fn without_javascript_no_empty_control_is_left_over() {
    let page = Visit::to("").without_scripts().open().await;
    for name in PAGES {
        page.go(&format!("{FOLDER}{name}")).await;
        // The figure of the terms answers by its style sheet alone.
        let script = "return [...document.querySelectorAll('main :is(input, select, button):not(.terms *)')] \
            .filter((one) => one.checkVisibility()).length;";
        assert_eq!(page.script(script, vec![]).await, 0, "/{name}");
        let bar = "return document.getElementById('answer-bar')?.getBoundingClientRect().height ?? 0;";
        let height = page.script(bar, vec![]).await;
        assert!(height.as_f64().is_some_and(|height| height < 80.0), "/{name}: an empty bar takes {height} px");
    }
    page.close().await;
}

#[tokio::test]
async fn when_the_program_does_not_arrive_the_text_is_still_there() {
    let page = Visit::to("").open().await;
    page.devtools("Network.enable", json!({})).await;
    page.devtools("Network.setBlockedURLs", json!({ "urls": ["*.wasm"] })).await;
    page.client.refresh().await.expect("the page loads");
    assert_eq!(page.script(UNSEEN, vec![]).await, json!([]));
    // Here the console is right to complain, and the program says last that it did not come.
    let late =
        async || page.complaints().await.iter().any(|said| said.contains("Failed to fetch")).then_some(()).ok_or(());
    page.until("the complaint of the program", late).await;
    page.close().await;
}
