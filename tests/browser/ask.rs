//! A question before the answer: a link with `ask=on`, on the first page and in a frame.

use crate::support::{FOLDER, Page, Visit, expected, key};
use serde_json::json;

const HIDDEN: &str = "const seen = (one) => document.querySelector(one)?.checkVisibility({ visibilityProperty: true }) ?? false; \
    return [seen('.opening-answer'), seen('.opening-why'), seen('#embed-chart .live')];";

#[tokio::test]
async fn the_answers_of_the_page_are_hidden_until_the_reader_names_one_and_then_says_how_far_off_it_is() {
    let page = Page::open("?v=4&gpus=64&ask=on").await;
    assert_eq!(page.script(HIDDEN, vec![]).await, json!([false, false, false]));
    let most = bmax::b_max(&expected::scenario("gpus=64")).batch().expect("it fits");
    page.until_script("the question", "return !!document.getElementById('ask-guess');", json!(true)).await;
    page.script("document.getElementById('ask-guess').focus();", vec![]).await;
    // What is no number is named, and nothing is shown.
    page.press("many").await;
    page.press(key::ENTER).await;
    page.part(".ask").says("A whole number").await;
    assert_eq!(page.script(HIDDEN, vec![]).await, json!([false, false, false]));
    page.script("document.getElementById('ask-guess').value = '';", vec![]).await;
    page.press(&(most + 2).to_string()).await;
    page.press(key::ENTER).await;
    page.until_script("the answer", HIDDEN, json!([true, true, true])).await;
    page.part(".ask").says(&format!("the answer is {most}. That is 2 too many.")).await;
    // Whoever uses a keyboard or a screen reader is where the answer is.
    let focused = "return document.activeElement.className;";
    assert_eq!(page.script(focused, vec![]).await, json!("ask-said"));
    page.close().await;
}

#[tokio::test]
async fn a_frame_asks_too_and_nothing_moves_when_the_answer_comes() {
    let page = Page::open("?embed=answer&ask=on&v=4").await;
    let top = "return document.querySelector('.opening-answer').getBoundingClientRect().top;";
    let before = page.script(top, vec![]).await;
    page.until_script("the question", "return !!document.getElementById('ask-guess');", json!(true)).await;
    assert_eq!(page.script(top, vec![]).await, before);
    page.script("document.getElementById('ask-guess').focus();", vec![]).await;
    page.press("16").await;
    page.press(key::ENTER).await;
    page.part(".ask").says("You said 16, and that is right: the answer is 16.").await;
    assert_eq!(page.script(top, vec![]).await, before);
    page.close().await;
}

#[tokio::test]
async fn the_question_is_in_sight_at_once_and_has_room_for_a_complaint_in_every_width() {
    let page = Page::open("").await;
    // A telephone, a frame in a narrow column, and a desk.
    for (width, height, query) in
        [(360, 740, "?v=4&gpus=4&ask=on"), (360, 740, "?embed=answer&v=4&ask=on"), (1440, 900, "?v=4&gpus=4&ask=on")]
    {
        page.resize(width, height).await;
        page.go(&format!("{FOLDER}{query}")).await;
        let sight = "const button = document.querySelector('.ask button')?.getBoundingClientRect(); \
            return button ? button.top > 0 && button.bottom <= innerHeight : null;";
        page.until_script(&format!("the question of {query} in {width} px"), sight, json!(true)).await;
        page.script("document.getElementById('ask-guess').focus({ preventScroll: true });", vec![]).await;
        page.press("many").await;
        page.press(key::ENTER).await;
        page.part(".ask").says("A whole number").await;
        let room =
            "const ask = document.querySelector('.ask'); return [ask.scrollHeight <= ask.clientHeight, scrollY];";
        assert_eq!(page.script(room, vec![]).await, json!([true, 0]), "{query} in {width} px");
        // The keyboard goes from the field to its button.
        page.press(key::TAB).await;
        let focused = "return document.activeElement.textContent;";
        assert_eq!(page.script(focused, vec![]).await, json!("Show the answer"));
    }
    page.close().await;
}

#[tokio::test]
async fn a_configuration_that_is_changed_keeps_the_question_in_its_address() {
    let page = Page::open("?ask=on&v=4").await;
    page.script("postMessage({ bmax: 1, type: 'set', scenario: 'v=4&gpus=64' }, '*');", vec![]).await;
    page.until_query("ask=on&v=4&gpus=64").await;
    page.close().await;
}

#[tokio::test]
async fn without_javascript_nothing_is_asked_and_nothing_is_hidden() {
    let page = Visit::to("").without_scripts().open().await;
    page.go(&format!("{FOLDER}?v=4&ask=on")).await;
    assert_eq!(page.script(HIDDEN, vec![]).await, json!([true, true, true]));
    page.close().await;
}

/// A script that does not have its digest is not run, and without it the answers are shown.
#[tokio::test]
async fn where_the_script_of_the_question_is_another_than_was_built_the_answers_are_shown() {
    let page = Visit::to("?v=4&gpus=64&ask=on").withholding("ask.js").open().await;
    page.until_script("the answers", HIDDEN, json!([true, true, true])).await;
    // A browser may say that it refused the script.
    page.complaints().await;
    page.close().await;
}
