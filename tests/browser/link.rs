//! The address carries the configuration, to another browser and back again.

use serde_json::json;

use crate::support::{FOLDER, Page, Visit, expected};
use bmax::link as codec;

#[tokio::test]
async fn a_link_opens_the_same_figures_in_another_browser() {
    let page = Page::open("").await;
    let calculator = page.figure("calculator");
    calculator.unfold().await;
    calculator.pick("Model", "Qwen2.5 7B").await;
    calculator.pick("GPU", "H200 SXM 141 GB").await;
    calculator.choose("Method", "Paper").await;
    calculator.enter("Sequence length S", "8,192").await;
    calculator.enter("Number of GPUs", "16").await;
    calculator.enter("Micro-batch b", "3").await;
    calculator.enter("Headroom", "7.5").await;
    calculator.pick("Activation recomputation", "None").await;
    let query = "v=4&model=qwen2.5-7b&gpu=h200&s=8192&b=3&gpus=16&headroom=7.5&method=paper&recompute=none";
    page.until_query(query).await;
    assert_eq!(codec::encode(&expected::scenario(query)), query);
    // What is folded is filled when it is opened, so that all of it is opened on both sides.
    page.unfold_everything().await;
    let shown = page.everything_shown().await;
    page.close().await;

    let page = Page::open(&format!("?{query}")).await;
    page.unfold_everything().await;
    assert_eq!(page.everything_shown().await, shown);
    assert_eq!(page.query().await, query, "opening a link does not rewrite it");
    assert_eq!(page.part("#notices").all_text().await, "");
    page.close().await;
}

#[tokio::test]
async fn a_hundred_changes_in_a_row_leave_one_entry_in_the_history() {
    let page = Page::open("").await;
    let length = page.script("return history.length;", vec![]).await.as_u64().expect("a number");
    // At once, because how long the driver takes for each says nothing of a reader.
    let typed = "const field = document.getElementById('line-gpus'); \
        for (let gpus = 10; gpus < 60; gpus++) { \
            field.value = gpus; \
            field.dispatchEvent(new InputEvent('input', { bubbles: true })); \
        }";
    page.script(typed, vec![]).await;
    page.until_query("v=4&gpus=59").await;
    assert_eq!(page.script("return history.length;", vec![]).await, length + 1);
    page.close().await;
}

#[tokio::test]
async fn back_and_forward_bring_back_what_was_configured() {
    let page = Page::open("?v=4&gpus=64").await;
    let bar = page.part("#answer-bar");
    // A section of the page is an entry of its own in the history.
    bar.click("link", "=").await;
    page.until("the section to be in the address", async || {
        let address = page.address().await;
        if address.ends_with("#opening") { Ok(()) } else { Err(address) }
    })
    .await;
    let calculator = page.figure("calculator");
    calculator.press("70B").await;
    page.until_query("v=4&model=70b&gpus=64").await;
    assert!(page.address().await.ends_with("#opening"), "the section stays in the address");
    bar.shows("bar-answer", &expected::answer(&expected::scenario("?model=70b&gpus=64"))).await;

    page.client.back().await.expect("there is an entry before");
    bar.shows("bar-answer", &expected::answer(&expected::scenario("?gpus=64"))).await;
    assert_eq!(calculator.value("combobox", "Model").await, "Llama 3.1 8B");
    page.client.forward().await.expect("there is an entry after");
    bar.shows("bar-answer", &expected::answer(&expected::scenario("?model=70b&gpus=64"))).await;
    assert_eq!(calculator.value("combobox", "Model").await, "70B");
    page.close().await;
}

#[tokio::test]
async fn what_was_changed_is_taken_back_and_done_again_by_button_and_by_key() {
    let page = Page::open("?v=4&gpus=64").await;
    let bar = page.part("#answer-bar");
    bar.pick("Model", "70B").await;
    page.until_query("v=4&model=70b&gpus=64").await;
    bar.press("Undo").await;
    page.until_query("v=4&gpus=64").await;
    bar.press("Redo").await;
    page.until_query("v=4&model=70b&gpus=64").await;
    page.figure("calculator").press("Reset everything").await;
    page.until_query("v=4").await;
    let undo = "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'z', ctrlKey: true, bubbles: true }));";
    page.script(undo, vec![]).await;
    page.until_query("v=4&model=70b&gpus=64").await;
    page.close().await;
}

#[tokio::test]
async fn the_title_of_the_page_says_the_configuration_and_its_answer() {
    let query = "v=4&model=qwen2.5-7b&gpu=rtx-4090&gpus=1&adapter=qlora";
    let page = Page::open(&format!("?{query}")).await;
    let wanted = "Qwen2.5 7B with QLoRA (rank 16) on 1 × RTX 4090 24 GB, 2,048 tokens a sequence: 4 sequences · ";
    page.until_script("the title", &format!("return document.title.startsWith({wanted:?});"), true.into()).await;
    page.close().await;
}

#[tokio::test]
async fn copy_link_puts_the_full_address_on_the_clipboard() {
    let page = Page::open("").await;
    page.allow_clipboard("granted").await;
    let calculator = page.figure("calculator");
    calculator.enter("Number of GPUs", "16").await;
    // The press may come before the address has followed; what is copied is up to date all the same.
    calculator.press("Copy link").await;
    calculator.says("Link copied.").await;
    let copied = page.clipboard().await;
    let expected = format!("{}{}?v=4&gpus=16", page.server.origin(), crate::support::FOLDER);
    assert_eq!(copied, expected);
    page.close().await;
}

#[tokio::test]
async fn where_the_clipboard_is_forbidden_the_link_is_shown_to_be_copied_by_hand() {
    let page = Page::open("?v=4&gpus=16").await;
    page.allow_clipboard("denied").await;
    let calculator = page.figure("calculator");
    calculator.press("Copy link").await;
    calculator.says("Copy it by hand").await;
    let shown = calculator.value("textbox", "Copy it by hand").await;
    assert_eq!(shown, page.address().await);
    page.close().await;
}

/// Whether the page says that it began with the last card.
const IS_TOLD: &str = "return document.getElementById('remembered').checkVisibility();";

#[tokio::test]
async fn the_last_card_is_remembered_and_said_and_can_be_forgotten() {
    let page = Page::open("?v=4&model=qwen2.5-7b").await;
    page.part("#answer-bar").pick("GPU", "RTX 4090 24 GB").await;
    page.until_query("v=4&model=qwen2.5-7b&gpu=rtx-4090&gpus=1").await;
    page.go(FOLDER).await;
    page.wait_for_figures().await;
    assert_eq!(page.query().await, "v=4&gpu=rtx-4090&gpus=1");
    let bar = page.part("#answer-bar");
    bar.shows("bar-answer", &expected::answer(&expected::scenario("gpu=rtx-4090&gpus=1"))).await;
    let told = page.part("#remembered");
    assert_eq!(page.script(IS_TOLD, vec![]).await, json!(true));
    told.press("Forget them").await;
    told.says("Forgotten").await;
    page.go(FOLDER).await;
    page.wait_for_figures().await;
    assert_eq!((page.query().await.as_str(), page.script(IS_TOLD, vec![]).await), ("", json!(false)));
    page.close().await;
}

#[tokio::test]
async fn a_link_that_names_a_configuration_is_never_mixed_with_the_last_card() {
    let page = Page::open("").await;
    page.part("#answer-bar").pick("GPU", "RTX 4090 24 GB").await;
    page.until_query("v=4&gpu=rtx-4090&gpus=1").await;
    for address in ["?v=4&s=4096", "workshop/"] {
        page.go(&format!("{FOLDER}{address}")).await;
        page.wait_for_figures().await;
        assert!(!page.query().await.contains("rtx-4090"), "{address}");
        assert_eq!(page.script(IS_TOLD, vec![]).await, json!(false), "{address}");
    }
    page.close().await;
}

#[tokio::test]
async fn who_waits_for_the_program_sees_the_words_of_the_link() {
    let page = Visit::to_the_empty_page().open().await;
    page.devtools("Network.enable", json!({})).await;
    page.devtools("Network.setBlockedURLs", json!({ "urls": ["*/bmax_bg.wasm"] })).await;
    page.go(&format!("{FOLDER}?v=4&model=qwen2.5-7b&gpu=rtx-4090")).await;
    let said = "return document.getElementById('counting').textContent;";
    page.until_script("the words", said, json!("Counting: model qwen2.5-7b · gpu rtx-4090")).await;
    page.complaints().await;
    page.close().await;
}

#[tokio::test]
async fn a_parameter_of_another_program_is_put_right_by_one_press() {
    let page = Page::open("?v=4&seqlen=4096&gpus=16").await;
    let notices = page.part("#notices");
    notices.press("Use s=4096").await;
    page.until_query("v=4&s=4096&gpus=16").await;
    page.until_script("no message", "return document.querySelector('#notices .notice') === null;", json!(true)).await;
    page.close().await;
}

#[tokio::test]
async fn a_way_to_another_place_of_the_page_loses_no_change_that_was_just_made() {
    let page = Page::open("?v=4&model=qwen2.5-7b").await;
    let bar = page.part("#answer-bar");
    bar.fill("Number of GPUs", "16").await;
    // The press leaves the field and follows the link, all before the address has followed.
    page.script(
        "document.activeElement.blur(); document.querySelector('a[href=\"#calculator-find\"]').click();",
        vec![],
    )
    .await;
    page.until_query("v=4&model=qwen2.5-7b&gpus=16").await;
    page.client.back().await.expect("there is an entry before");
    page.until_query("v=4&model=qwen2.5-7b").await;
    page.client.forward().await.expect("there is an entry after");
    page.until_query("v=4&model=qwen2.5-7b&gpus=16").await;
    page.close().await;
}
