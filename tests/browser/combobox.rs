//! The fields for a model and a GPU: typed into, with a list.

use std::{env, fs};

use bmax::link;
use fantoccini::elements::Element;
use serde_json::{Value, json};

use crate::support::{Page, Scope, Visit, expected, key};

/// Another model and GPU than any page begins with.
const START: &str = "?model=qwen2.5-7b&gpu=rtx-3090&gpus=2";

async fn points_at(page: &Page, scope: &Scope<'_>, field: &Element, row: &str) {
    let look = async || match scope.pointed(field).await {
        Some(now) if now.starts_with(row) => Ok(()),
        now => Err(now),
    };
    page.until(&format!("“{row}” to be pointed at"), look).await;
}

async fn holds(page: &Page, field: &Element, text: &str) {
    let look = async || match field.prop("value").await.expect("a property") {
        Some(now) if now == text => Ok(()),
        now => Err(now),
    };
    page.until(&format!("the field to hold “{text}”"), look).await;
}

async fn opens(page: &Page, field: &Element, open: bool) {
    let look = async || match field.attr("aria-expanded").await.expect("an attribute") {
        Some(now) if now == open.to_string() => Ok(()),
        now => Err(now),
    };
    page.until("the list", look).await;
}

/// Waits until the address says this configuration.
async fn becomes(page: &Page, query: &str) {
    page.until_query(&link::encode(&expected::scenario(query))).await;
}

#[tokio::test]
async fn typed_words_in_any_order_find_a_row_and_nothing_changes_until_it_is_chosen() {
    let page = Page::open(START).await;
    let bar = page.part("#answer-bar");
    for (name, typed, row, chosen, query) in [
        ("Model", "8b llama 3", "Llama 3.1 8B 8.0 B", "Llama 3.1 8B", "model=llama-3.1-8b&gpu=rtx-3090&gpus=2"),
        ("GPU", "80 sxm a100", "A100 SXM 80 GB", "A100 SXM 80 GB", "model=llama-3.1-8b&gpu=a100-80&gpus=2"),
    ] {
        let before = page.query().await;
        let field = bar.focus("combobox", name).await;
        page.press(typed).await;
        points_at(&page, &bar, &field, row).await;
        assert_eq!(page.query().await, before, "{typed}");
        page.press(key::ENTER).await;
        holds(&page, &field, chosen).await;
        opens(&page, &field, false).await;
        bar.shows("bar-answer", &expected::answer(&expected::scenario(query))).await;
        becomes(&page, query).await;
    }
    page.close().await;
}

#[tokio::test]
async fn arrows_home_and_end_go_through_the_rows_and_escape_gives_back_what_was_there() {
    let page = Page::open(START).await;
    let bar = page.part("#answer-bar");
    let field = bar.focus("combobox", "Model").await;
    opens(&page, &field, false).await;
    page.press(key::DOWN).await;
    opens(&page, &field, true).await;
    // The list begins with what is in use.
    points_at(&page, &bar, &field, "Qwen2.5 7B").await;
    page.press(key::HOME).await;
    let first = bar.pointed(&field).await.expect("a first row");
    page.press(key::END).await;
    points_at(&page, &bar, &field, "Read a config.json").await;
    page.press(key::DOWN).await;
    points_at(&page, &bar, &field, &first).await;
    page.press(key::UP).await;
    points_at(&page, &bar, &field, "Read a config.json").await;
    let seen = "const row = document.querySelector('#answer-bar [aria-selected=true]').getBoundingClientRect(); \
        const list = document.querySelector('#line-model-list').getBoundingClientRect(); \
        return row.top >= list.top && row.bottom <= list.bottom + 1;";
    page.until_script("the row to be in sight", seen, json!(true)).await;

    page.press("gpt").await;
    points_at(&page, &bar, &field, "GPT-").await;
    page.press(key::ESCAPE).await;
    opens(&page, &field, false).await;
    holds(&page, &field, "Qwen2.5 7B").await;
    assert_eq!(page.query().await, START.trim_start_matches('?'));
    page.close().await;
}

#[tokio::test]
async fn a_text_that_names_nothing_is_kept_and_answered_with_the_nearest_names() {
    let page = Page::open(START).await;
    let bar = page.part("#answer-bar");
    let field = bar.focus("combobox", "Model").await;
    let typed = "meta-llama/Llama-3.1-8B-Instruct";
    page.press(typed).await;
    bar.says("The nearest names").await;
    // What is only like it is never chosen by Enter alone.
    assert_eq!(bar.pointed(&field).await, None);
    page.press(key::ENTER).await;
    page.press(key::TAB).await;
    opens(&page, &field, false).await;
    holds(&page, &field, typed).await;
    bar.says(&format!("No model is called “{typed}”. Nearest: Llama 3.1 8B. Qwen2.5 7B stays in use.")).await;
    assert_eq!(field.attr("aria-invalid").await.expect("an attribute").as_deref(), Some("true"));
    assert_eq!(page.query().await, START.trim_start_matches('?'));

    bar.focus("combobox", "Model").await;
    page.press(&[key::DOWN, key::DOWN].concat()).await;
    points_at(&page, &bar, &field, "Llama 3.1 8B").await;
    page.press(key::ENTER).await;
    holds(&page, &field, "Llama 3.1 8B").await;
    becomes(&page, "model=llama-3.1-8b&gpu=rtx-3090&gpus=2").await;
    page.close().await;
}

#[tokio::test]
async fn a_press_opens_the_whole_list_and_what_was_in_use_before_stands_first() {
    let page = Page::open(START).await;
    let bar = page.part("#answer-bar");
    bar.pick("GPU", "H200 SXM 141 GB").await;
    becomes(&page, "model=qwen2.5-7b&gpu=h200&gpus=2").await;
    bar.click("combobox", "GPU").await;
    let rows =
        "return [...document.querySelectorAll('#line-gpu-list [role=option]')].map((row) => row.innerText.trim());";
    let rows = page
        .until("the rows", async || {
            let rows: Vec<String> = serde_json::from_value(page.script(rows, vec![]).await).expect("texts");
            if rows.len() > 60 { Ok(rows) } else { Err(rows) }
        })
        .await;
    assert!(rows[0].starts_with("RTX 3090") && rows[0].ends_with("24\u{a0}GB"), "{:?}", &rows[..3]);
    let press = "document.querySelector('#line-gpu-list [role=option]').click();";
    page.script(press, vec![]).await;
    // A card for a desk is one.
    becomes(&page, "model=qwen2.5-7b&gpu=rtx-3090&gpus=1").await;
    page.close().await;
}

#[tokio::test]
async fn the_last_row_of_the_models_leads_to_where_a_config_json_is_read() {
    let page = Page::open(START).await;
    let bar = page.part("#answer-bar");
    let field = bar.focus("combobox", "Model").await;
    page.press(key::DOWN).await;
    points_at(&page, &bar, &field, "Qwen2.5 7B").await;
    page.press(&[key::END, key::ENTER].concat()).await;
    let there = "return [location.hash, Boolean(document.querySelector('#config-text')?.checkVisibility())];";
    page.until_script("the place of the file", there, json!(["#config-help", true])).await;
    page.close().await;
}

#[tokio::test]
async fn no_page_has_a_row_of_a_list_before_it_is_opened_and_a_first_look_fetches_none() {
    let page = Visit::to("").untouched().open().await;
    let rows = "return document.querySelectorAll('[role=option], select option:not(:checked)').length;";
    page.wait_for_the_frame().await;
    assert_eq!(page.script(rows, vec![]).await, 0);
    let names =
        "return performance.getEntriesByType('resource').filter(({ name }) => name.includes('split_choices')).length;";
    assert_eq!(page.script(names, vec![]).await, 0);
    page.close().await;
}

#[tokio::test]
async fn a_list_lies_over_the_page_moves_nothing_and_stays_in_the_window() {
    let page = Page::open(START).await;
    let places = "return [...document.querySelectorAll('#answer-bar :is(label, input, a), h1')] \
        .map((one) => { const { left, top } = one.getBoundingClientRect(); return [Math.round(left), Math.round(top)]; });";
    for width in [390, 768, 1440] {
        page.resize(width, 900).await;
        for (name, id) in [("Model", "line-model"), ("GPU", "line-gpu")] {
            let before = page.script(places, vec![]).await;
            let bar = page.part("#answer-bar");
            let field = bar.focus("combobox", name).await;
            page.press(&[key::DOWN, "a"].concat()).await;
            opens(&page, &field, true).await;
            let list = format!(
                "const list = document.getElementById('{id}-list')?.getBoundingClientRect(); \
                 return Boolean(list && list.left >= 0 && list.right <= innerWidth && list.height > 100);"
            );
            page.until_script("the list to be in the window", &list, json!(true)).await;
            assert_eq!(page.script(places, vec![]).await, before, "{name} at {width} px");
            page.press(key::ESCAPE).await;
            page.press(key::TAB).await;
        }
    }
    page.close().await;
}

#[tokio::test]
async fn axe_finds_nothing_in_an_open_list_and_in_a_text_that_names_nothing() {
    let page = Page::open(START).await;
    let path = env::var("AXE_PATH").expect("AXE_PATH names axe.min.js of axe-core");
    page.script(&fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}")), vec![]).await;
    let run = "const done = arguments[0]; \
        axe.run('#answer-bar', { resultTypes: ['violations'], rules: { 'target-size': { enabled: true }, 'color-contrast-enhanced': { enabled: true } } }) \
            .then(({ violations }) => done(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)])), (error) => done(String(error)));";
    for scheme in ["light", "dark"] {
        page.prefer(&[("prefers-color-scheme", scheme)]).await;
        let bar = page.part("#answer-bar");
        let field = bar.focus("combobox", "Model").await;
        page.press(key::DOWN).await;
        opens(&page, &field, true).await;
        points_at(&page, &bar, &field, "Qwen2.5 7B").await;
        let found: Value = page.script_async(run, vec![]).await;
        assert_eq!(found, json!([]), "an open list, in {scheme}");
        page.press("no such name").await;
        page.press(key::TAB).await;
        bar.says("stays in use").await;
        let found: Value = page.script_async(run, vec![]).await;
        assert_eq!(found, json!([]), "a text that names nothing, in {scheme}");
        bar.focus("combobox", "Model").await;
        page.press(key::ESCAPE).await;
    }
    page.close().await;
}
