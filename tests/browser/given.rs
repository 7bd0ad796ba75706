//! What is pasted or dropped on a page: the page reads it, counts with it and says what became of every key.

use crate::runs::RUNS;
use crate::support::Page;
use serde_json::json;

/// A run of axolotl, with a key that no program has.
const RUN: &str = "base_model: meta-llama/Llama-3.1-8B\nadapter: qlora\nload_in_4bit: true\nlora_r: 32\nsequence_len: 4096\nmicro_batch_size: 1\n\
                   sampel_packing: true\noutput_dir: /home/somebody/out\n";

/// Pastes a text where there is no field for it. Firefox gives an event no clipboard of a script’s, and takes the text and its
/// type instead (dom/webidl/ClipboardEvent.webidl).
async fn paste(page: &Page, text: &str) {
    let script = "const data = new DataTransfer(); data.setData('text', arguments[0]); \
        const firefox = { dataType: 'text/plain', data: arguments[0] }; \
        document.body.dispatchEvent(new ClipboardEvent('paste', { bubbles: true, clipboardData: data, ...firefox }));";
    page.script(script, vec![json!(text)]).await;
}

/// Drops files on the text of a page.
async fn drop_files(page: &Page, files: &[(&str, &str)]) {
    let script = "const files = new DataTransfer(); \
        for (const [name, text] of arguments[0]) files.items.add(new File([text], name)); \
        document.querySelector('main p') \
            .dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: files }));";
    page.script(script, vec![json!(files)]).await;
}

/// Waits until the address has each of these parameters.
async fn becomes(page: &Page, wanted: &[&str]) {
    let look = async || {
        let query = page.query().await;
        let all: Vec<&str> = query.split('&').collect();
        if wanted.iter().all(|word| all.contains(word)) { Ok(()) } else { Err(query) }
    };
    page.until("the configuration", look).await;
}

#[tokio::test]
async fn a_pasted_run_is_counted_on_any_page_and_every_key_is_told() {
    for from in ["?v=4&gpus=1", "memory/?v=4&gpus=1"] {
        let page = Page::open(from).await;
        paste(&page, RUN).await;
        becomes(&page, &["gpus=1", "b=1", "s=4096", "adapter=qlora", "rank=32"]).await;
        let given = page.part("#given");
        given.says("The model is Llama 3.1 8B.").await;
        page.script("for (const one of document.querySelectorAll('#given details')) one.open = true;", vec![]).await;
        given.says("line 6: micro_batch_size: 1 → b=1").await;
        given.says("sampel_packing: no key of its program is called so (nearest: sample_packing)").await;
        let whole = page.script("return document.getElementById('given').textContent;", vec![]).await;
        assert!(!whole.as_str().expect("a text").contains("somebody"), "{from}: {whole}");
        page.part("#answer-bar").press("Undo").await;
        page.until_query("v=4&gpus=1").await;
        given.press("Dismiss").await;
        page.until_script("no message", "return document.getElementById('given').innerText;", json!("")).await;
        page.close().await;
    }
}

/// The config.json of TinyLlama, without its last keys.
const TINY_LLAMA: &str = r#"{"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 22, "num_attention_heads": 32,
    "num_key_value_heads": 4, "intermediate_size": 5632, "vocab_size": 32000, "max_position_embeddings": 2048}"#;

#[tokio::test]
async fn files_that_are_dropped_together_make_one_configuration() {
    let page = Page::open("?v=4").await;
    let run = RUN.replace("adapter: qlora\nload_in_4bit: true\n", "adapter: lora\ndeepspeed: ds.json\n");
    let deepspeed = r#"{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}}"#;
    drop_files(&page, &[("run.yaml", &run), ("ds.json", deepspeed), ("config.json", TINY_LLAMA)]).await;
    becomes(&page, &["engine=deepspeed", "zero=2", "s=4096", "rank=32"]).await;
    let given = page.part("#given");
    given.says("ds.json: ").await;
    // What the file does not say is assumed, and that is said.
    given.says("The model is that of the config.json: Llama: 1,100,048,384 parameters.").await;
    given.says("“tie_word_embeddings” is not in the file").await;
    page.close().await;
}

#[tokio::test]
async fn what_is_pasted_or_typed_into_the_field_of_the_first_screen_is_read_once_and_a_later_change_stays() {
    let page = Page::open("?v=4&gpus=1").await;
    let field = page.part("#answer").find("textbox", "Paste a config, a command or an error").await;
    field
        .send_keys("accelerate launch train.py --model_name_or_path Qwen/Qwen3-8B --max_length 4096 --per_device_train_batch_size 1")
        .await
        .expect("keys");
    assert_eq!(page.query().await, "v=4&gpus=1", "half a command is none");
    page.press("\u{e004}").await;
    becomes(&page, &["model=qwen3-8b", "s=4096"]).await;
    page.travel("v=4&gpus=1&model=qwen3-8b&s=1024").await;
    field.click().await.expect("a press");
    page.press("\u{e004}").await;
    becomes(&page, &["s=1024"]).await;
    // What is pasted is read at once.
    let script = "const field = document.getElementById('paste'); field.value = arguments[0]; \
        field.dispatchEvent(new InputEvent('input', { bubbles: true, inputType: 'insertFromPaste' }));";
    page.script(script, vec![json!(RUN)]).await;
    becomes(&page, &["s=4096", "adapter=qlora", "rank=32"]).await;
    page.close().await;
}

#[tokio::test]
async fn a_text_is_given_back_with_what_was_changed_on_the_page() {
    let page = Page::open("?v=4&gpus=1").await;
    let run = "# May\nbase_model: Qwen/Qwen3-8B\nadapter: lora\nsequence_len: 4096\nmicro_batch_size: 1 # each\n";
    drop_files(&page, &[("run.yaml", run)]).await;
    becomes(&page, &["model=qwen3-8b", "adapter=lora", "s=4096"]).await;
    let query = page.query().await;
    page.travel(&format!("{query}&b=4")).await;
    let given = page.part("#given");
    given.press("Write the changes into the text").await;
    given.says("comments and order are kept").await;
    let text = page.script("return document.getElementById('given-back').value;", vec![]).await;
    assert_eq!(text, json!(run.replace("size: 1 #", "size: 4 #")));
    page.close().await;
}

#[tokio::test]
async fn a_model_that_is_not_in_the_list_leaves_the_one_of_the_page_and_that_is_said() {
    let page = Page::open("?v=4&gpus=1&model=qwen3-8b").await;
    paste(&page, "base_model: somebody/a-model-of-mine\nadapter: lora\nsequence_len: 4096\nmicro_batch_size: 1\n")
        .await;
    becomes(&page, &["model=qwen3-8b", "adapter=lora", "s=4096"]).await;
    page.part("#given").says("Until then the page goes on with the model that it has.").await;
    page.close().await;
}

#[tokio::test]
async fn an_error_text_tells_the_gpu_and_its_parts() {
    let page = Page::open("?v=4").await;
    paste(
        &page,
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 0 has a total capacity of 23.64 GiB of \
         which 1.02 GiB is free. Including non-PyTorch memory, this process has 22.61 GiB memory in use. Of the allocated \
         memory 20.15 GiB is allocated by PyTorch, and 2.01 GiB is reserved by PyTorch but unallocated.",
    )
    .await;
    let given = page.part("#given");
    given.says("asked for: 3.91 GiB").await;
    given.says("reserved and not allocated: 2.01 GiB").await;
    // 1.02 GiB are free and 2.01 lie in gaps: 0.88 are missing.
    given.says("The run needs at least 0.88 GiB more than this GPU has").await;
    becomes(&page, &["gpu=rtx-4090"]).await;
    page.close().await;
}

#[tokio::test]
async fn what_is_no_run_is_said_and_changes_nothing() {
    let page = Page::open("?v=4&gpus=1").await;
    paste(&page, "Dear all, the meeting is at four.").await;
    page.part("#given").says("it is of none of the formats that are read").await;
    assert_eq!(page.query().await, "v=4&gpus=1");
    page.close().await;
}

#[tokio::test]
async fn every_kind_of_text_is_read_when_it_is_pasted_and_when_it_is_dropped() {
    let page = Page::open("?v=4&gpus=1").await;
    for run in RUNS {
        let says: Vec<&str> = run.says.split(' ').collect();
        paste(&page, run.text).await;
        becomes(&page, &says).await;
        page.travel("v=4&gpus=1").await;
        page.until_query("v=4&gpus=1").await;
        drop_files(&page, &[(run.file, run.text)]).await;
        becomes(&page, &says).await;
        page.travel("v=4&gpus=1").await;
        page.until_query("v=4&gpus=1").await;
    }
    page.close().await;
}
