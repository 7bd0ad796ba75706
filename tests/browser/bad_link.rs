//! Links that are wrong, damaged, enormous, or of another version: named to the reader, and the rest holds.

use crate::support::{Page, expected};
use bmax::link;

/// Opens a link and checks it against the library's own reading of it: the messages word for word, and
/// the answer for what could be kept.
async fn is_named_and_survived(query: &str) -> Page {
    let page = Page::open(query).await;
    let read = link::decode(query);
    assert!(!read.notices.is_empty(), "{query:.80} is sound");
    let notices = page.part("#notices");
    notices.says("Not everything in this link could be used").await;
    for notice in read.notices.iter().take(6) {
        notices.says(&crate::support::tidy(&notice.to_string())).await;
    }
    page.part("#answer-bar").shows("bar-answer", &expected::answer(&read.scenario)).await;
    page
}

#[tokio::test]
async fn bad_values_are_named_with_field_and_range_and_the_rest_is_kept() {
    let page = is_named_and_survived("?v=4&gpus=64&s=-5&layers=&hidden=abc&b=NaN&mem=1e99&recompute=full").await;
    let notices = page.part("#notices");
    notices.says("Sequence length: “-5” is too small; it takes a whole number from 1 to 4,194,304 tokens.").await;
    notices.says("Layers: nothing is given").await;
    let calculator = page.figure("calculator");
    assert_eq!(calculator.value("textbox", "Number of GPUs").await, "64");
    assert_eq!(calculator.value("combobox", "Activation recomputation").await, "full");
    assert_eq!(calculator.value("textbox", "Sequence length S").await, "2,048");
    page.close().await;
}

#[tokio::test]
async fn bad_words_are_named_with_what_would_be_known() {
    let page = is_named_and_survived("?model=gpt-9&gpu=abacus&zero=7&precision=int3&method=guess&unit=pages").await;
    page.part("#notices")
        .says("“int3” is not known; “precision” takes bf16, fp16, mixed, autocast, bf16-pure, fp32.")
        .await;
    page.close().await;
}

#[tokio::test]
async fn unknown_and_repeated_parameters_are_named() {
    let page = is_named_and_survived("?v=4&colour=red&gpus=16&gpus=4&gpus=2&%3Cb%3Ebold=1").await;
    assert_eq!(page.figure("calculator").value("textbox", "Number of GPUs").await, "16");
    assert_eq!(page.script("return document.querySelectorAll('#notices b').length;", vec![]).await, 0);
    page.close().await;
}

#[tokio::test]
async fn damaged_percent_encoding_costs_only_its_own_parameter() {
    let page = is_named_and_survived("?s=%&layers=%2&heads=%zz&hidden=%ff%fe&gpus=64").await;
    assert_eq!(page.figure("calculator").value("textbox", "Number of GPUs").await, "64");
    page.close().await;
}

#[tokio::test]
async fn links_of_other_versions_are_read_and_said_to_be() {
    for query in ["?v=0&gpus=64", "?v=5&gpus=64", "?v=&gpus=64", "?v=latest&gpus=64"] {
        let page = is_named_and_survived(query).await;
        page.part("#notices").says("it knows 1 to 4").await;
        page.close().await;
    }
}

#[tokio::test]
async fn a_link_without_a_version_is_read_as_the_first() {
    let page = Page::open("?gpus=64").await;
    assert_eq!(page.part("#notices").all_text().await, "");
    page.part("#answer-bar").shows("bar-answer", &expected::answer(&expected::scenario("?gpus=64"))).await;
    page.close().await;
}

#[tokio::test]
async fn a_hundred_kilobytes_are_cut_and_the_page_lives() {
    let page = is_named_and_survived(&format!("?gpus=64&s=1{}", "0".repeat(100_000))).await;
    page.part("#notices").says("only the first 8,192 are read").await;
    page.close().await;

    let many: String = (0..2_000).map(|i| format!("&x{i}=1")).collect();
    let page = is_named_and_survived(&format!("?gpus=64{many}")).await;
    page.part("#notices").says("more parts of the link were not understood").await;
    page.close().await;
}

#[tokio::test]
async fn the_message_can_be_dismissed_and_does_not_come_back_with_the_next_change() {
    let page = is_named_and_survived("?s=-5").await;
    let notices = page.part("#notices");
    notices.press("Dismiss").await;
    page.until("the message to go", async || {
        let text = notices.all_text().await;
        if text.is_empty() { Ok(()) } else { Err(text) }
    })
    .await;
    page.figure("calculator").enter("Number of GPUs", "16").await;
    page.until_query("v=4&gpus=16").await;
    assert_eq!(notices.all_text().await, "");
    page.close().await;
}
