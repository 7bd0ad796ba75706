//! The programs of the course: they follow the configuration, and what is copied is what runs.

use bmax::Scenario;
use bmax::course::listings::Listing;
use serde_json::json;

use crate::support::{Page, Visit, expected, key, page_of};

/// Each program, with the figure that shows it.
const FIGURES: [(&str, Listing); 3] = [
    ("autocast", Listing::Autocast),
    ("accumulation-loop", Listing::Accumulation),
    ("checkpointing", Listing::Checkpoint),
];

/// The block of a figure.
fn block(figure: &str) -> String {
    format!("document.querySelector('[data-figure=\"{figure}\"] pre.code')")
}

/// Waits until a figure shows the program of a configuration, letter by letter.
async fn shows(page: &Page, figure: &str, listing: Listing, scenario: &Scenario) {
    page.figure(figure).approach().await;
    let text = format!("return {}.textContent;", block(figure));
    page.until_script(figure, &text, json!(listing.source(scenario))).await;
}

#[tokio::test]
async fn each_program_follows_the_configuration() {
    for (figure, listing) in FIGURES {
        let page = Page::about(figure, "").await;
        shows(&page, figure, listing, &Scenario::default()).await;
        for query in
            ["v=4&precision=fp16&accum=4&recompute=full", "v=4&gpus=1&b=2&precision=bf16-pure&recompute=every-k"]
        {
            page.travel(query).await;
            shows(&page, figure, listing, &expected::scenario(query)).await;
        }
        page.close().await;
    }
}

#[tokio::test]
async fn fp16_brings_the_scaler_and_another_target_another_k() {
    let page = Page::about("autocast", "?precision=fp16").await;
    page.figure("autocast").says("scaler = torch.amp.GradScaler(\"cuda\")").await;
    page.close().await;
    // 3 sequences on each of 8 GPUs: 24 go 43 times into 1,024, rounded up.
    let page = Page::about("accumulation-loop", "?b=3").await;
    page.figure("accumulation-loop").says("K = 11 #").await;
    page.travel("v=4&b=3&target=1024").await;
    page.figure("accumulation-loop").says("K = 43 #").await;
    page.close().await;
}

#[tokio::test]
async fn the_button_copies_the_program_letter_by_letter() {
    for (figure, listing) in FIGURES {
        let query = "?precision=fp16&accum=4&recompute=kth-layer";
        let page = Page::about(figure, query).await;
        page.allow_clipboard("granted").await;
        page.figure(figure).press("Copy the code").await;
        page.figure(figure).shows("said", "Code copied.").await;
        assert_eq!(page.clipboard().await, listing.source(&expected::scenario(query)));
        // Another program was not copied.
        page.travel("v=4&precision=fp32&accum=2&recompute=full").await;
        page.figure(figure).shows("said", "").await;
        page.close().await;
    }
}

#[tokio::test]
async fn where_the_clipboard_is_forbidden_the_program_is_selected() {
    let page = Page::about("autocast", "").await;
    page.allow_clipboard("denied").await;
    let figure = page.figure("autocast");
    figure.press("Copy the code").await;
    figure.says("Code is selected").await;
    let selected = page.script("return getSelection().toString();", vec![]).await;
    let whole = Listing::Autocast.source(&Scenario::default());
    assert_eq!(selected.as_str().map(str::trim_end), Some(whole.trim_end()));
    page.close().await;
}

#[tokio::test]
async fn on_a_phone_a_long_line_is_scrolled_in_its_block_by_key() {
    for (figure, _) in FIGURES {
        let page = Visit::about(figure, "").wide(360).open().await;
        page.figure(figure).approach().await;
        let block = block(figure);
        let wide = format!(
            "const block = {block}; block.focus(); \
            return [block.scrollWidth > block.clientWidth, document.activeElement === block, \
                document.documentElement.scrollWidth <= innerWidth];"
        );
        page.until_script("a block that is scrolled", &wide, json!([true, true, true])).await;
        page.press(key::RIGHT).await;
        page.until_script("the block to scroll", &format!("return {block}.scrollLeft > 0;"), json!(true)).await;
        page.close().await;
    }
}

#[tokio::test]
async fn without_javascript_the_program_of_the_default_is_there_and_no_button() {
    for (figure, listing) in FIGURES {
        let page = Visit::to(page_of(figure)).without_scripts().open().await;
        let text = page.script(&format!("return {}.textContent;", block(figure)), vec![]).await;
        assert_eq!(text, json!(listing.source(&Scenario::default())));
        let button = format!("return document.querySelector('[data-figure=\"{figure}\"] button').checkVisibility();");
        assert_eq!(page.script(&button, vec![]).await, json!(false));
        page.close().await;
    }
}
