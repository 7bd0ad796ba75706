//! Images: a model with a vision tower opens its inputs, and a model of text has none of them.

use crate::support::{Page, expected};
use bmax::link;

#[tokio::test]
async fn a_model_that_sees_says_how_many_tokens_its_images_take() {
    let page = Page::open("?model=qwen2.5-vl-7b&gpus=1&s=4096").await;
    let calculator = page.figure("calculator");
    calculator.says("1 image, 1,369 tokens of a sequence").await;
    page.unfold_everything().await;
    calculator.enter("Number of images", "2").await;
    let query = "v=4&model=qwen2.5-vl-7b&gpus=1&s=4096&images=2";
    page.until_query("v=4&model=qwen2.5-vl-7b&s=4096&images=2&gpus=1").await;
    calculator.says("2 images, 2,738 tokens of a sequence").await;
    calculator.shows("calculator-answer", &expected::answer(&link::decode(query).scenario)).await;
    page.close().await;
}

#[tokio::test]
async fn images_that_exceed_the_sequence_are_refused_with_the_max_pixels_that_fit() {
    let page = Page::open("?model=qwen2.5-vl-7b&gpus=1&s=1024").await;
    page.figure("calculator").says("with max_pixels 852,992 they fit").await;
    page.close().await;
}

#[tokio::test]
async fn a_model_of_text_has_no_group_of_images() {
    let page = Page::open("").await;
    let groups = "return [...document.querySelectorAll('#calculator summary')].map((one) => one.textContent.split(':')[0].trim());";
    let groups = page.script(groups, vec![]).await.to_string();
    assert!(
        groups.contains("How the work is divided") && !groups.contains("Images") && !groups.contains("Encoder"),
        "{groups}"
    );
    page.close().await;
}
