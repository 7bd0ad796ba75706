//! Numbers that are dragged in a sentence: by keyboard, by pointer, and read where no program runs.

use crate::support::{FOLDER, PAGES, Page, Visit, key};
use fantoccini::actions::{InputSource, MOUSE_BUTTON_LEFT, MouseActions, PointerAction};
use fantoccini::elements::Element;
use serde_json::{Value, json};

/// The sentence on the logits, which is on the page on memory.
const LOGITS: &str = "[data-sentence=logits][data-mounted]";

/// The page on memory with that sentence in sight and taken over.
async fn at_the_logits(visit: Visit) -> Page {
    let page = visit.at("memory/").open().await;
    page.script("document.querySelector('[data-sentence=logits]').scrollIntoView({ block: 'center' });", vec![]).await;
    page.part(LOGITS).says("With 4 sequences of 8,192 tokens and a vocabulary of 128,256").await;
    page
}

#[tokio::test]
async fn keys_change_a_number_and_what_follows_from_it_at_once() {
    let page = at_the_logits(Visit::to("")).await;
    let sentence = page.part(LOGITS);
    // 4 · b · S · V bytes: 4 · 4 · 8192 · 128,256 are 15.66 GiB.
    sentence.says("15.7 GiB").await;
    let slider = sentence.focus("slider", "Tokens of a sequence").await;
    page.press(key::RIGHT).await;
    sentence.says("sequences of 16,384 tokens").await;
    sentence.says("31.3 GiB").await;
    let spoken = slider.attr("aria-valuetext").await.expect("an element");
    assert_eq!(spoken.as_deref(), Some("16,384: 31.3 GiB"));
    page.press(key::HOME).await;
    sentence.says("sequences of 512 tokens").await;
    page.press(key::LEFT).await;
    // 4 · 4 · 512 · 128,256 bytes.
    sentence.says("0.98 GiB").await;
    page.close().await;
}

/// Presses the pointer on the number of a slider, moves it by so many pixels and lets go.
async fn dragged(page: &Page, slider: &Element, by: f64) {
    page.reveal(slider).await;
    let to = |x: f64| PointerAction::MoveToElement { element: slider.clone(), duration: None, x, y: 0.0 };
    let actions = MouseActions::new("mouse".to_owned())
        .then(to(0.0))
        .then(PointerAction::Down { button: MOUSE_BUTTON_LEFT })
        .then(to(by / 2.0))
        .then(to(by))
        .then(PointerAction::Up { button: MOUSE_BUTTON_LEFT });
    page.client.perform_actions(actions).await.expect("a pointer can be dragged");
}

#[tokio::test]
async fn a_pointer_drags_a_number_to_both_sides_and_a_press_alone_changes_nothing() {
    let page = at_the_logits(Visit::to("")).await;
    let sentence = page.part(LOGITS);
    let slider = sentence.find("slider", "Tokens of a sequence").await;
    dragged(&page, &slider, 0.0).await;
    sentence.says("sequences of 8,192 tokens").await;
    dragged(&page, &slider, 32.0).await;
    sentence.says("sequences of 32,768 tokens").await;
    sentence.says("62.6 GiB").await;
    dragged(&page, &slider, -48.0).await;
    sentence.says("sequences of 4,096 tokens").await;
    // The number that was dragged has the focus, and nothing of the text is marked.
    let left = "return [document.activeElement.getAttribute('aria-label'), String(getSelection())];";
    assert_eq!(page.script(left, vec![]).await, json!(["Tokens of a sequence", ""]));
    page.close().await;
}

#[tokio::test]
async fn a_number_keeps_its_room_in_the_line_and_leaves_the_reader_s_configuration_alone() {
    let page = at_the_logits(Visit::to("")).await;
    let widths = "return [...document.querySelectorAll('[data-sentence=logits] .drag')].map((one) => one.offsetWidth);";
    let before = page.script(widths, vec![]).await;
    for (label, shown) in [("Sequences", "With 64 sequences"), ("Tokens of a sequence", "of 131,072 tokens")] {
        page.part(LOGITS).focus("slider", label).await;
        page.press(key::END).await;
        page.part(LOGITS).says(shown).await;
    }
    assert_eq!(page.script(widths, vec![]).await, before);
    assert_eq!(page.query().await, "");
    page.close().await;
}

#[tokio::test]
async fn every_sentence_of_every_page_is_taken_over_and_answers() {
    let page = Visit::to("").open().await;
    let mut all = 0;
    for name in PAGES {
        page.go(&format!("{FOLDER}{name}")).await;
        page.wait_for_the_frame().await;
        // The others come one after another once the reader does something.
        page.press(key::TAB).await;
        let waiting = "return document.querySelectorAll('[data-sentence]:not([data-mounted])').length;";
        page.until_script("every sentence", waiting, json!(0)).await;
        let answers = "return [...document.querySelectorAll('[data-sentence]')].map((sentence) => { \
            const before = sentence.textContent; \
            const input = sentence.querySelector('input'); \
            input.value = input.value === input.max ? 0 : input.max; \
            input.dispatchEvent(new Event('input', { bubbles: true })); \
            return [sentence, before]; \
        }).map(([sentence, before]) => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame( \
            () => done(sentence.textContent === before ? sentence.dataset.sentence : null)))));";
        let script = format!(
            "const done = arguments[0]; Promise.all((() => {{ {answers} }})()).then((all) => \
             done([all.length, all.filter(Boolean)]));"
        );
        let found: Value = page.script_async(&script, vec![]).await;
        assert_eq!(found[1], json!([]), "/{name}: these stand still");
        all += found[0].as_u64().expect("a number");
    }
    assert!(all >= 10, "{all} sentences");
    page.close().await;
}

#[tokio::test]
async fn without_scripts_a_sentence_is_complete_and_offers_nothing_to_drag() {
    let page = Visit::to("memory/").without_scripts().open().await;
    page.part("#inside-a-step")
        .says("With 4 sequences of 8,192 tokens and a vocabulary of 128,256, these logits alone take 15.7 GiB in fp32.")
        .await;
    let offered =
        "return [...document.querySelectorAll('[data-sentence] input')].filter((one) => one.checkVisibility()).length;";
    assert_eq!(page.script(offered, vec![]).await, 0);
    page.close().await;
}
