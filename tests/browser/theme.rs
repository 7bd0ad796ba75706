//! Light and dark, as the system has it or as the reader wants it.

use crate::support::{Page, Visit};

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
