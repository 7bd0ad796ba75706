//! How many actions a reader takes for what most of them come for. An action is one press, one choice from a list, or one
//! value typed into a field and left.

use std::cell::Cell;

use bmax::link;
use serde_json::json;

use crate::share::share;
use crate::support::{Page, Scope, expected};

/// Counts what a reader does.
struct Reader<'a> {
    scope: Scope<'a>,
    taken: Cell<u32>,
}

impl<'a> Reader<'a> {
    fn of(scope: Scope<'a>) -> Self {
        Self { scope, taken: Cell::new(0) }
    }

    fn act(&self) -> &Scope<'a> {
        self.taken.set(self.taken.get() + 1);
        &self.scope
    }
}

/// The address and the answer of the opening are those of this configuration.
async fn answers(page: &Page, query: &str) {
    let scenario = expected::scenario(query);
    page.until_query(&link::encode(&scenario)).await;
    page.figure("answer").shows("opening-answer", &expected::answer(&scenario)).await;
}

/// What stands beside the answer as a change to make.
async fn helps(page: &Page) -> Vec<String> {
    let script = "return [...document.querySelectorAll('[data-testid=help]')].map((one) => one.innerText);";
    page.until("the changes beside the answer", async || {
        let shown: Vec<String> = serde_json::from_value(page.script(script, vec![]).await).expect("texts");
        if shown.is_empty() { Err(shown) } else { Ok(shown) }
    })
    .await
}

#[tokio::test]
async fn lora_and_qlora_of_a_7b_on_one_24_gb_card_take_five_actions() {
    let page = Page::open("").await;
    let reader = Reader::of(page.part("#answer-bar"));
    reader.act().pick("Model", "Qwen2.5 7B").await;
    reader.act().pick("GPU", "RTX 4090 24 GB").await;
    reader.act().enter("Sequence length S", "4096").await;
    reader.act().choose("What is trained", "LoRA").await;
    answers(&page, "model=qwen2.5-7b&gpu=rtx-4090&gpus=1&s=4096&adapter=lora").await;
    reader.act().choose("What is trained", "QLoRA").await;
    answers(&page, "model=qwen2.5-7b&gpu=rtx-4090&gpus=1&s=4096&adapter=qlora").await;
    assert_eq!(reader.taken.get(), 5);
    page.close().await;
}

#[tokio::test]
async fn out_of_memory_at_eight_sequences_takes_one_action_to_the_ways_out() {
    let page = Page::open("?s=8192").await;
    let reader = Reader::of(page.figure("answer"));
    // One drag of the slider.
    reader.act();
    let drag = "const slider = document.querySelector('[data-figure=answer] input[type=range]'); \
        slider.value = 8; slider.dispatchEvent(new Event('input', { bubbles: true }));";
    page.script(drag, vec![]).await;
    page.until_query("v=4&s=8192&b=8").await;
    reader.scope.says("Makes 8 sequences fit").await;
    let shown = helps(&page).await;
    assert_eq!(shown.len(), 3, "{shown:?}");
    assert!(shown[0].contains("accumulated"), "what trains the same comes first: {shown:?}");
    assert_eq!(reader.taken.get(), 1);
    page.close().await;
}

#[tokio::test]
async fn newcomers_reach_what_they_came_for_in_at_most_three_actions() {
    // A student: why there is a limit, in a sentence at once.
    let page = Page::open("").await;
    page.figure("answer").says("Each sequence adds").await;
    // An engineer with one card of 24 GB and LoRA: one press.
    let start = "document.querySelector(`.starts a[data-start=${arguments[0]}]`).click();";
    page.script(start, vec![json!("lora")]).await;
    answers(&page, bmax::starts::STARTS[0].query).await;
    // An engineer with eight of 80 GB: one press, and another model.
    page.script(start, vec![json!("full")]).await;
    let bar = page.part("#answer-bar");
    bar.pick("Model", "Llama 3.1 70B").await;
    answers(&page, "model=llama-3.1-70b&s=4096&precision=mixed").await;
    page.figure("answer").says("These fit").await;
    assert!(!helps(&page).await.is_empty());
    // A teacher: a press on the share button of the figure.
    share(&page, "Share: The answer for your model").await;
    page.part(".desk").says("Embed").await;
    page.close().await;
}

/// Pastes a text where there is no field for it.
async fn paste(page: &Page, text: &str) {
    let script = "const data = new DataTransfer(); data.setData('text', arguments[0]); \
        document.body.dispatchEvent(new ClipboardEvent('paste', { bubbles: true, clipboardData: data }));";
    page.script(script, vec![json!(text)]).await;
}

#[tokio::test]
async fn a_config_json_on_two_machines_of_eight_with_tensor_and_pipeline_parallelism_takes_five_actions() {
    let page = Page::open("").await;
    let reader = Reader::of(page.part("body"));
    reader.act();
    paste(&page, include_str!("../config_files/llama-3.2-1b.json")).await;
    page.until_query("v=4&model=llama-3.2-1b").await;
    page.part("#given").says("The model is that of the config.json").await;
    let bar = page.part("#answer-bar");
    reader.act();
    bar.enter("Number of GPUs", "16").await;
    reader.act();
    page.script("document.querySelector('#answer-bar a[href=\"#calculator-find\"]').click();", vec![]).await;
    let drawer = page.part("#settings");
    reader.act();
    drawer.enter("Tensor parallel T", "8").await;
    reader.act();
    drawer.enter("Pipeline parallel P", "2").await;
    answers(&page, "model=llama-3.2-1b&gpus=16&tp=8&pp=2").await;
    assert_eq!(reader.taken.get(), 5);
    page.close().await;
}
