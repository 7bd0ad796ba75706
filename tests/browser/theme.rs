//! Light and dark, as the system has it or as the reader wants it.

use serde_json::json;

use crate::support::{FOLDER, PAGES, Page, Visit};

/// How bright the paper is, from 0 to 1.
async fn brightness(page: &Page) -> f64 {
    let script = "const canvas = new OffscreenCanvas(1, 1).getContext('2d'); \
        for (const layer of [document.documentElement, document.body]) { \
            canvas.fillStyle = getComputedStyle(layer).backgroundColor; \
            canvas.fillRect(0, 0, 1, 1); \
        } \
        const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data; \
        return (r + g + b) / 765;";
    page.script(script, vec![]).await.as_f64().expect("a number")
}

/// Waits until the paper is dark, or light.
pub async fn becomes(page: &Page, dark: bool) {
    page.until(if dark { "dark paper" } else { "light paper" }, async || {
        let brightness = brightness(page).await;
        if (brightness < 0.5) == dark { Ok(()) } else { Err(brightness) }
    })
    .await;
}

#[tokio::test]
async fn the_page_follows_the_system_until_the_reader_chooses() {
    let page = Visit::to("").dark().open().await;
    becomes(&page, true).await;
    page.prefer(&[("prefers-color-scheme", "light")]).await;
    becomes(&page, false).await;
    page.prefer(&[("prefers-color-scheme", "dark")]).await;
    becomes(&page, true).await;
    page.all().press("Theme: auto. Switch to light.").await;
    becomes(&page, false).await;
    page.all().press("Theme: light. Switch to dark.").await;
    page.prefer(&[("prefers-color-scheme", "light")]).await;
    becomes(&page, true).await;
    page.all().press("Theme: dark. Switch to auto.").await;
    becomes(&page, false).await;
    page.close().await;
}

#[tokio::test]
async fn a_chosen_theme_is_there_at_the_next_visit_before_the_figures_are() {
    let page = Page::open("").await;
    page.all().press("Theme: auto").await;
    page.all().press("Theme: light").await;
    becomes(&page, true).await;
    page.client.refresh().await.expect("the page loads again");
    assert!(brightness(&page).await < 0.5, "the theme comes with the text, not with the figures");
    page.wait_for_figures().await;
    becomes(&page, true).await;
    page.close().await;
}

#[tokio::test]
async fn the_chart_has_light_colours_on_paper_and_the_reader_s_afterwards() {
    let page = Page::about("chart", "").await;
    page.all().press("Theme: auto").await;
    page.all().press("Theme: light").await;
    let is_light = "const canvas = document.querySelector('[data-figure=chart] canvas'); \
        canvas.scrollIntoView({ behavior: 'instant' }); \
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d'); \
        copy.drawImage(canvas, 0, 0); \
        const [r, g, b, drawn] = copy.getImageData(2, 2, 1, 1).data; \
        return drawn > 0 ? r + g + b > 382 : null;";
    page.until_script("a dark chart", is_light, json!(false)).await;
    page.script("dispatchEvent(new Event('beforeprint'));", vec![]).await;
    page.until_script("a light chart", is_light, json!(true)).await;
    page.script("dispatchEvent(new Event('afterprint'));", vec![]).await;
    page.until_script("a dark chart again", is_light, json!(false)).await;
    // A print that is over before the next frame: what is asked of the style has the page take it on.
    let print = "const done = arguments[0]; const canvas = document.querySelector('[data-figure=chart] canvas'); \
        const settled = async () => { for (let turn = 0; turn < 20; turn += 1) await null; getComputedStyle(canvas).color; }; \
        (async () => { \
            dispatchEvent(new Event('beforeprint')); \
            await settled(); \
            dispatchEvent(new Event('afterprint')); \
            await settled(); \
            done(null); \
        })();";
    page.script_async(print, vec![]).await;
    page.until_script("a dark chart after a short print", is_light, json!(false)).await;
    page.close().await;
}

/// What is painted before each word of a legend: its ground, and its edge where it has one.
const SAMPLES: &str = "return [...document.querySelectorAll('.legend > *')].map((one) => { \
        const sample = getComputedStyle(one, '::before'); \
        const edge = parseFloat(sample.borderTopWidth) > 0 ? sample.borderTopColor : ''; \
        return `${one.innerText}: ${sample.backgroundColor} ${sample.backgroundImage} ${edge}`; \
    });";

/// The groups of choices in which the chosen one has the ground of the others.
const UNMARKED: &str = "const grounds = (group, choice) => [...group.querySelectorAll(`input${choice} + span`)] \
        .map((one) => getComputedStyle(one).backgroundColor); \
    return [...document.querySelectorAll('.segmented-options')].filter((group) => { \
        const [chosen] = grounds(group, ':checked'); \
        return grounds(group, ':not(:checked)').includes(chosen); \
    }).map((group) => group.parentElement.innerText);";

#[tokio::test]
async fn forced_colours_leave_a_legend_its_colours_and_mark_what_is_chosen() {
    let page = Visit::to_the_empty_page().open().await;
    for name in PAGES {
        page.go(&format!("{FOLDER}{name}")).await;
        page.lay_out().await;
        for scheme in ["light", "dark"] {
            let of = |forced| [("prefers-color-scheme", scheme), ("forced-colors", forced)];
            page.prefer(&of("none")).await;
            let usual = page.script(SAMPLES, vec![]).await;
            page.prefer(&of("active")).await;
            assert_eq!(page.script(SAMPLES, vec![]).await, usual, "/{name} in {scheme}");
            assert_eq!(page.script(UNMARKED, vec![]).await, json!([]), "/{name} in {scheme}");
        }
    }
    page.close().await;
}
