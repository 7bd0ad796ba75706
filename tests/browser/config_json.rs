//! A model from a `config.json`: pasted, dropped or chosen, and never at the cost of what is there.

use crate::support::{Page, Scope};
use bmax::{Model, Origin, Scenario, config_json, link, number};
use serde_json::{Value, json};

const LLAMA: &str = include_str!("../config_files/llama-3.1-8b.json");
const STARCODER: &str = include_str!("../config_files/starcoderbase-1b.json");

async fn opened(query: &str) -> Page {
    let page = Page::open(query).await;
    page.figure("calculator").press("Paste a config.json").await;
    until_filled(&page).await;
    page
}

/// The panel is fetched when it is first asked for.
async fn until_filled(page: &Page) {
    let there = "return document.getElementById('config-text') !== null;";
    page.until_script("the field to be there", there, true.into()).await;
}

/// Puts a text into the field at once, as pasting does.
async fn paste(page: &Page, text: &str) {
    let script = "const field = document.getElementById('config-text'); \
        field.value = arguments[0]; \
        field.dispatchEvent(new InputEvent('input', { bubbles: true, inputType: 'insertFromPaste' }));";
    page.script(script, vec![text.into()]).await;
}

/// Drops a file of this text, or of so many bytes, on the panel. Returns whether the page took it, so
/// that the browser does not leave for it.
async fn drop_file(page: &Page, content: Value) -> Value {
    let script = "const [content] = arguments; \
        const part = typeof content === 'number' ? new Uint8Array(content) : content; \
        const files = new DataTransfer(); \
        files.items.add(new File([part], 'config.json', { type: 'application/json' })); \
        const panel = document.querySelector('[data-desk=config]'); \
        return !panel.dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: files }));";
    page.script(script, vec![content]).await
}

fn model_of(text: &str) -> Model {
    config_json::read(text).expect("a sound file").model
}

async fn says_count(calculator: &Scope<'_>, text: &str) {
    calculator.says(&format!("{} parameters", number::grouped(model_of(text).parameters as f64))).await;
}

/// Whether the press that takes a model can be seen.
async fn can_be_used(page: &Page) -> bool {
    let script = "return document.querySelector('.config-file > button').checkVisibility();";
    page.script(script, vec![]).await == json!(true)
}

/// Everything that the calculator holds outside of the panel.
async fn rest(page: &Page) -> Value {
    let script = "return [...document.querySelectorAll('[data-figure=calculator] :is(input, select)')] \
        .map((field) => field.type === 'radio' ? field.checked : field.value);";
    page.script(script, vec![]).await
}

#[tokio::test]
async fn a_pasted_file_of_a_listed_model_leads_to_its_row_and_back() {
    let page = opened("?model=13b&gpus=16").await;
    let calculator = page.figure("calculator");
    paste(&page, LLAMA).await;
    says_count(&calculator, LLAMA).await;
    calculator.says("These are the numbers of “Llama 3.1 8B” in the list.").await;
    assert!(can_be_used(&page).await);
    page.until_query("model=13b&gpus=16").await;
    calculator.press("Use this model").await;
    page.until_query("v=4&gpus=16").await;
    calculator.press("Back to the model before").await;
    page.until_query("v=4&model=13b&gpus=16").await;
    calculator.press("Use this model").await;
    page.until_query("v=4&gpus=16").await;
    page.close().await;
}

#[tokio::test]
async fn a_dropped_file_shows_its_numbers_and_every_note_and_can_be_shared() {
    let page = Page::open("").await;
    assert_eq!(drop_file(&page, STARCODER.into()).await, json!(true));
    let calculator = page.figure("calculator");
    says_count(&calculator, STARCODER).await;
    let reading = config_json::read(STARCODER).expect("a sound file");
    for note in &reading.notes {
        calculator.says(&note.to_string()).await;
    }
    for number in [reading.model.hidden, reading.model.layers, reading.model.vocabulary] {
        calculator.says(&number::grouped(number.into())).await;
    }
    calculator.press("Use this model").await;
    // Its dropout is that of the file, and whole layers are computed again as in models of its size.
    let query = link::encode(&Scenario::default().then(reading.as_usual().apply(Scenario::default())));
    page.until_query(&query).await;
    let read = link::decode(&query);
    assert_eq!(read.notices, []);
    assert_eq!(Model { origin: Origin::Own, ..read.scenario.model }, reading.model);
    page.close().await;
}

#[tokio::test]
async fn what_is_no_sound_file_is_answered_in_place_and_changes_nothing() {
    let page = opened("?model=13b&gpus=24&s=3072").await;
    let calculator = page.figure("calculator");
    let before = rest(&page).await;
    let truncated = &LLAMA[..LLAMA.len() / 2];
    let hostile = r#"{"model_type":"<img src=x onerror=alert(1)>","hidden_size":4096}"#;
    let negative = LLAMA.replace("\"num_hidden_layers\": 32", "\"num_hidden_layers\": -32");
    for text in [truncated, "{", "[]", "nonsense", hostile, &negative, "\u{0}\u{1}\u{fffd}PK", &"[".repeat(100_000)] {
        paste(&page, text).await;
        let refusal = config_json::read(text).expect_err("not sound").on_page();
        calculator.shows("config-said", &crate::support::tidy(&refusal)).await;
        assert!(!can_be_used(&page).await);
    }
    assert_eq!(page.script("return document.querySelectorAll('.config-file img').length;", vec![]).await, json!(0));
    let invalid = "return document.getElementById('config-text').ariaInvalid;";
    assert_eq!(page.script(invalid, vec![]).await, json!("true"));
    assert_eq!(rest(&page).await, before);
    paste(&page, "").await;
    calculator.shows("config-said", "").await;
    page.close().await;
}

#[tokio::test]
async fn nine_megabytes_are_refused_before_they_are_read_and_their_size_is_said() {
    let page = opened("").await;
    let calculator = page.figure("calculator");
    let script = "const field = document.getElementById('config-text'); \
        field.value = 'x'.repeat(9000000); \
        field.dispatchEvent(new InputEvent('input', { bubbles: true, inputType: 'insertFromPaste' }));";
    page.script(script, vec![]).await;
    calculator.says("This has 9,000,000 characters and was not read; at most 8,388,608 are.").await;
    paste(&page, LLAMA).await;
    says_count(&calculator, LLAMA).await;
    assert_eq!(drop_file(&page, json!(9_000_000)).await, json!(true));
    calculator.says("This has 9,000,000 bytes and was not read; at most 8,388,608 are.").await;
    assert!(!can_be_used(&page).await);
    // A binary file of a size that is read is no JSON either.
    drop_file(&page, json!(1000)).await;
    calculator.says("This is not JSON").await;
    page.close().await;
}

#[tokio::test]
async fn what_is_no_file_is_left_to_the_browser() {
    let page = opened("").await;
    let script = "const text = new DataTransfer(); \
        text.setData('text/plain', '{}'); \
        const event = new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: text }); \
        return document.getElementById('config-text').dispatchEvent(event);";
    assert_eq!(page.script(script, vec![]).await, json!(true));
    page.close().await;
}

#[tokio::test]
async fn a_file_can_be_read_and_used_without_a_mouse() {
    let page = Page::open("?model=13b").await;
    let calculator = page.figure("calculator");
    calculator.focus("button", "Paste a config.json").await;
    page.press(crate::support::key::ENTER).await;
    until_filled(&page).await;
    page.press(crate::support::key::TAB).await;
    let label = "return document.activeElement.labels?.[0]?.innerText;";
    page.until_script("the field to have the focus", label, "Contents of config.json".into()).await;
    paste(&page, LLAMA).await;
    page.press(crate::support::key::TAB).await;
    page.until_script("the file to be next", label, "Or the file itself".into()).await;
    page.press(crate::support::key::TAB).await;
    page.press(crate::support::key::SPACE).await;
    page.until_query("v=4").await;
    let focused = "return document.activeElement.innerText;";
    page.until_script("the press to keep the focus", focused, "Back to the model before".into()).await;
    page.close().await;
}

/// Drops a file on the text of a page. Returns whether the page took it, so that the browser does not leave for it.
async fn drop_anywhere(page: &Page, text: &str) -> Value {
    let script = "const files = new DataTransfer(); \
        files.items.add(new File([arguments[0]], 'config.json', { type: 'application/json' })); \
        return !document.querySelector('main p') \
            .dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: files }));";
    page.script(script, vec![text.into()]).await
}

#[tokio::test]
async fn a_file_that_is_dropped_anywhere_on_any_page_is_taken_and_undo_gives_back_the_model_before() {
    for from in ["?v=4&gpus=64", "memory/?v=4&gpus=64"] {
        let page = Page::open(from).await;
        assert_eq!(drop_anywhere(&page, STARCODER).await, json!(true), "{from}");
        let given = page.part("#given");
        says_count(&given, STARCODER).await;
        let was = link::decode("v=4&gpus=64").scenario;
        let reading = config_json::read(STARCODER).expect("a sound file");
        let taken = was.then(reading.as_usual().apply(was));
        page.until_query(&link::encode(&taken)).await;
        page.part("#answer-bar").press("Undo").await;
        page.until_query("v=4&gpus=64").await;
        given.press("Dismiss").await;
        page.until_script("no message", "return document.getElementById('given').innerText;", json!("")).await;
        page.close().await;
    }
}

#[tokio::test]
async fn what_is_dropped_anywhere_and_is_no_model_is_said_and_changes_nothing() {
    let page = Page::open("?v=4&gpus=64").await;
    drop_anywhere(&page, "{\"hidden_size\": ").await;
    let said = "return document.querySelector('[data-testid=given-said]') !== null;";
    page.until_script("the reason", said, json!(true)).await;
    assert_eq!(page.query().await, "v=4&gpus=64");
    page.close().await;
}
