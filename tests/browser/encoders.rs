//! An encoder before the decoder: picked with its model, shown in one folded group, and in the link.

use crate::support::{Page, expected};
use bmax::{catalogue, link};

#[tokio::test]
async fn a_plain_model_shows_one_input_of_an_encoder_and_a_picked_one_all_that_it_reads() {
    let page = Page::open("?v=4&model=llama-3.1-8b").await;
    page.figure("calculator").unfold().await;
    let shown = "return ['enc_layers', 'source', 'enc_positions', 'mels'].map((key) => {
        const input = document.getElementById('calculator-' + key);
        return input !== null && input.offsetParent !== null;
    });";
    page.until_script("one input", shown, serde_json::json!([true, false, false, false])).await;
    page.close().await;
}

#[tokio::test]
async fn a_model_with_an_encoder_says_so_and_stays_in_its_link() {
    let query = "?v=4&model=bart-large&source=1024";
    let page = Page::open(query).await;
    page.figure("calculator").says("12 layers, 1,024 positions").await;
    let scenario = expected::scenario(query);
    assert_eq!(scenario.model, catalogue::model("bart-large").expect("listed").model);
    page.until_query(&link::encode(&scenario)).await;
    page.close().await;
}
