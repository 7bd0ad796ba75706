//! Figures on slides: a deck of reveal.js, on another host than the page (`tests/hosts/reveal/`).

use bmax::{b_max, link};
use serde_json::json;

use crate::support::{COURSE, Page, Visit, expected};

const GROW: &str = "v=4&model=llama-3.1-8b&gpu=h100-80";

/// Opens the deck at its first slide, which has no figure.
async fn open() -> Page {
    let page = Visit::to_notes(".blank").open().await;
    page.client.goto(&format!("{COURSE}reveal/")).await.expect("the deck loads");
    page.until_script("the deck", "return window.Reveal?.isReady() ?? false;", json!(true)).await;
    page
}

/// Goes to a slide and waits for its figure, which is in the frame with this number.
async fn shows(page: &Page, slide: u16, frame: u16) {
    page.script("Reveal.slide(arguments[0]);", vec![json!(slide)]).await;
    page.until("the figure of the slide", async || {
        let mounted = "return document.querySelector('[data-figure][data-mounted]') !== null;";
        page.client.enter_frame(frame).await.expect("a frame");
        let seen = page.script(mounted, vec![]).await;
        page.client.enter_parent_frame().await.expect("the deck");
        if seen == true { Ok(()) } else { Err(seen) }
    })
    .await;
}

/// Ends the visit: nothing else was asked for, and no console has complained.
async fn close(page: Page) {
    assert_eq!(page.server.strangers(), Vec::<String>::new(), "requests to other hosts");
    assert_eq!(page.complaints().await, Vec::<String>::new(), "the console");
    page.close().await;
}

#[tokio::test]
async fn a_figure_is_loaded_with_its_slide_and_answers_for_its_own_configuration() {
    let page = open().await;
    let asked = || page.server.requests().iter().any(|path| path.contains("embed=grow"));
    assert!(!asked(), "the figure of another slide was loaded");
    let listen = "window.heard = []; addEventListener('message', ({ data }) => { \
        if (data?.bmax === 1 && data.type === 'answer') heard.push([data.b_max, data.link]); });";
    page.script(listen, vec![]).await;
    shows(&page, 1, 0).await;
    assert!(asked());
    let ask = "document.querySelector('iframe[src]').contentWindow.postMessage({ bmax: 1, type: 'ask' }, '*'); \
        return heard.at(-1) ?? null;";
    let scenario = expected::scenario(GROW);
    page.until_script("the answer", ask, json!([b_max(&scenario).batch(), link::encode(&scenario)])).await;
    close(page).await;
}

#[tokio::test]
async fn a_figure_stays_within_its_slide_and_keeps_the_height_that_was_given() {
    let page = open().await;
    for (width, height) in [(1440, 900), (1024, 768)] {
        page.resize(width, height).await;
        for (slide, frame, given) in [(1, 0, 600), (2, 1, 500)] {
            shows(&page, slide, frame).await;
            let place = "const frame = document.querySelector('section.present iframe'); \
                const { top, bottom, left, right } = frame.getBoundingClientRect(); \
                const inside = top >= -1 && bottom <= innerHeight + 1 && left >= -1 && right <= innerWidth + 1; \
                return [frame.offsetHeight, inside];";
            page.until_script("the frame in its slide", place, json!([given, true])).await;
            // What is higher than the slide scrolls inside; nothing is wider.
            page.client.enter_frame(frame).await.expect("a frame");
            let wide = "return document.documentElement.scrollWidth <= innerWidth;";
            assert_eq!(page.script(wide, vec![]).await, json!(true));
            page.client.enter_parent_frame().await.expect("the deck");
        }
    }
    close(page).await;
}

#[tokio::test]
async fn a_figure_is_as_light_or_as_dark_as_its_slide() {
    let page = open().await;
    for (slide, frame, dark) in [(1, 0, true), (2, 1, false)] {
        shows(&page, slide, frame).await;
        page.until(&format!("slide {slide} to be {}", if dark { "dark" } else { "light" }), async || {
            let ink = "const canvas = new OffscreenCanvas(1, 1).getContext('2d'); \
                canvas.fillStyle = getComputedStyle(document.body).color; \
                canvas.fillRect(0, 0, 1, 1); \
                const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data; \
                return r + g + b > 382;";
            page.client.enter_frame(frame).await.expect("a frame");
            let light_ink = page.script(ink, vec![]).await;
            page.client.enter_parent_frame().await.expect("the deck");
            if light_ink == dark { Ok(()) } else { Err(light_ink) }
        })
        .await;
    }
    close(page).await;
}
