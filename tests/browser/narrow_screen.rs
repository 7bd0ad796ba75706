//! From a small phone to a wide desk: the page never scrolls sideways.

use crate::support::{FOLDER, PAGES, Page, Visit};
use serde_json::{Value, json};

/// How far the page is wider than its window, and what sticks out of it.
const OVERFLOW: &str = "const root = document.documentElement; \
    const room = root.clientWidth; \
    const scrolls = (one) => { \
        for (let at = one.parentElement; at && at !== root; at = at.parentElement) \
            if (getComputedStyle(at).overflowX !== 'visible') return true; \
        return false; \
    }; \
    const sticks = (one) => one.getBoundingClientRect().right > room + .5; \
    const out = [...document.body.querySelectorAll('*')] \
        .filter((one) => sticks(one) && ![...one.children].some(sticks) && !scrolls(one)) \
        .map((one) => one.getBoundingClientRect().right + ' ' + one.outerHTML.slice(0, 100)) \
        .sort().reverse(); \
    return [Math.max(0, root.scrollWidth - room, document.body.scrollWidth - room), out.slice(0, 4)];";

async fn fits(page: &Page, when: &str) {
    for width in [320, 414, 768, 1440, 1920] {
        page.resize(width, 800).await;
        let overflow: Value = page.script(OVERFLOW, vec![]).await;
        assert_eq!(overflow[0], json!(0), "{width} px, {when}: {}", overflow[1]);
    }
}

async fn fits_with_everything_open(page: &Page, when: &str) {
    fits(page, when).await;
    page.unfold_everything().await;
    fits(page, &format!("{when}, with everything open")).await;
}

#[tokio::test]
async fn no_width_makes_the_page_scroll_sideways() {
    for name in PAGES {
        let page = Visit::to(name).wide(360).open().await;
        page.unfold_everything().await;
        fits(&page, &format!("/{name}")).await;
        page.close().await;
    }
    let page = Visit::to("").wide(360).dark().open().await;
    fits_with_everything_open(&page, "dark").await;
    page.close().await;
}

#[tokio::test]
async fn neither_do_large_numbers_long_messages_and_what_does_not_fit() {
    let large = "?params=100000&hidden=131072&layers=1024&heads=1024&s=4194304&b=1048576&gpus=131072&mem=4096&target=1000000000";
    let messages =
        "?model=70b&s=-5&recompute=some&aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1";
    for (query, when) in [(large, "large numbers"), (messages, "messages")] {
        let page = Visit::to(query).wide(360).open().await;
        page.script(
            "const fold = document.querySelector('#calculator-hidden').closest('details'); if (fold) fold.open = true;",
            vec![],
        )
        .await;
        page.figure("calculator").fill("Hidden size H", "a very long text that is no number at all").await;
        fits_with_everything_open(&page, when).await;
        page.close().await;
    }
}

#[tokio::test]
async fn text_can_be_enlarged_to_twice_its_size() {
    let page = Visit::to("").wide(1280).open().await;
    for name in PAGES {
        page.go(&format!("{FOLDER}{name}")).await;
        page.lay_out().await;
        page.script("document.documentElement.style.fontSize = '200%';", vec![]).await;
        let overflow = page.script(OVERFLOW, vec![]).await;
        assert_eq!(overflow[0], json!(0), "/{name}: {}", overflow[1]);
    }
    // The browser notes that the policy forbids style attributes; this one was the test's own.
    page.complaints().await;
    page.close().await;
}
