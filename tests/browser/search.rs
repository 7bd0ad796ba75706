//! Search over models, GPUs, settings, sections, terms and questions, from every page.

use std::collections::BTreeSet;
use std::{env, fs};

use bmax::{Field, link};
use serde_json::{Value, json};

use crate::support::{BLANK, FOLDER, OTHER_FOLDER, Page, Visit, data_behind, dist, expected, key};

const IS_OPEN: &str = "return document.querySelector('dialog.search')?.open ?? false;";

/// The groups that are shown, each with the names of its results.
const SHOWN: &str = "return [...document.querySelectorAll('.search [role=group]')].map((group) => \
    [group.querySelector('.search-group').firstChild.textContent, \
        [...group.querySelectorAll('[role=option]')].map((one) => one.firstChild.textContent)]);";

/// The name that the keyboard points at.
const ACTIVE: &str = "const box = document.getElementById('search-box'); \
    const at = document.getElementById(box.getAttribute('aria-activedescendant')); \
    return at && at.ariaSelected === 'true' ? at.firstChild.textContent : null;";

async fn opened(address: &str) -> Page {
    let page = Page::open(address).await;
    open(&page).await;
    page
}

async fn open(page: &Page) {
    page.script(
        "document.querySelector('[data-search]').focus(); document.querySelector('[data-search]').click();",
        vec![],
    )
    .await;
    page.until_script("the search", IS_OPEN, json!(true)).await;
}

/// Types in place of what stands there, and returns what is found.
async fn find(page: &Page, text: &str) -> Vec<(String, Vec<String>)> {
    page.script("document.getElementById('search-box').select();", vec![]).await;
    page.press(text).await;
    page.until_script("what was typed", "return document.getElementById('search-box').value;", json!(text)).await;
    serde_json::from_value(page.script(SHOWN, vec![]).await).expect("groups")
}

async fn first(page: &Page, text: &str) -> (String, String) {
    let groups = find(page, text).await;
    let (group, names) = groups.first().unwrap_or_else(|| panic!("“{text}” finds nothing"));
    (group.clone(), names[0].clone())
}

async fn goes_to(page: &Page, address: &str) {
    let here = "return location.pathname + location.search + location.hash;";
    page.until_script(address, here, json!(format!("{FOLDER}{address}"))).await;
}

#[tokio::test]
async fn several_words_in_any_order_beginnings_and_small_slips_find_what_is_meant_first() {
    let page = opened("memory/").await;
    for (typed, group, name) in [
        ("4090", "GPUs", "RTX 4090 24 GB"),
        ("rtx4090", "GPUs", "RTX 4090 24 GB"),
        ("h100 pcie", "GPUs", "H100 PCIe 80 GB"),
        ("llama 405", "Models", "Llama 3.1 405B"),
        ("70b llama 3.1", "Models", "Llama 3.1 70B"),
        ("checkpointing", "Settings", "Activation recomputation"),
        ("gradient checkpointing", "Settings", "Activation recomputation"),
        ("batch size", "Settings", "Micro-batch"),
        ("zero", "Settings", "ZeRO stage"),
        ("vocab", "Settings", "Vocabulary"),
        ("fragmentaton", "Settings", "Fragmentation"),
        ("nvidia-smi", "Questions", "Why does nvidia-smi show more than PyTorch?"),
    ] {
        assert_eq!(first(&page, typed).await, (group.to_owned(), name.to_owned()), "“{typed}”");
    }
    // All of the seven billion come before those of seventy-two.
    let (group, names) = find(&page, "qwen 7").await.remove(0);
    assert_eq!((group.as_str(), names[0].as_str()), ("Models", "Qwen2.5 7B"), "{names:?}");
    let groups: Vec<String> = find(&page, "zero").await.into_iter().map(|(group, _)| group).collect();
    assert!(groups.contains(&"Terms".to_owned()) && groups.contains(&"Sections".to_owned()), "{groups:?}");
    // A group has at most eight.
    assert!(find(&page, "a").await.iter().all(|(_, names)| names.len() <= 8));
    page.close().await;
}

#[tokio::test]
async fn what_finds_nothing_is_said_with_the_nearest_names_and_the_way_on() {
    let page = opened("").await;
    assert!(find(&page, "zzqx").await.is_empty());
    page.part(".search").says("Nothing is called “zzqx”").await;
    page.until_script(
        "the count",
        "return document.querySelector('.search [role=status]').textContent;",
        json!("No result. "),
    )
    .await;
    let near = find(&page, "rtx 9999").await;
    assert_eq!(near[0].0, "The nearest names");
    assert!(near[0].1.iter().any(|name| name.starts_with("RTX")), "{near:?}");
    page.script("document.querySelector('.search-hint a').click();", vec![]).await;
    let there = "return document.querySelector('.config-fold').open && location.hash;";
    page.until_script("the place for a config.json", there, json!("#config-help")).await;
    page.close().await;
}

#[tokio::test]
async fn keys_open_it_point_choose_and_close_it_and_the_focus_comes_back() {
    let page = Page::open("memory/").await;
    let focused = "return document.activeElement.matches('[data-search]');";
    page.press("/").await;
    page.until_script("the search", IS_OPEN, json!(true)).await;
    assert_eq!(page.script("return document.activeElement.id;", vec![]).await, json!("search-box"));
    page.press(key::ESCAPE).await;
    page.until_script("it to close", IS_OPEN, json!(false)).await;
    assert_eq!(page.script(focused, vec![]).await, json!(true));
    let held = "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true }));";
    page.script(held, vec![]).await;
    page.until_script("the search", IS_OPEN, json!(true)).await;
    let (_, names) = find(&page, "llama 3.1").await.remove(0);
    assert_eq!(page.script(ACTIVE, vec![]).await, Value::Null);
    for (key, at) in [(key::DOWN, 0), (key::DOWN, 1), (key::UP, 0), (key::DOWN, 1), (key::HOME, 0)] {
        page.press(key).await;
        assert_eq!(page.script(ACTIVE, vec![]).await, json!(names[at]));
    }
    page.press(key::END).await;
    let last = "return [...document.querySelectorAll('.search [role=option]')].at(-1).firstChild.textContent;";
    assert_eq!(page.script(ACTIVE, vec![]).await, page.script(last, vec![]).await);
    page.press(key::DOWN).await;
    assert_eq!(page.script(ACTIVE, vec![]).await, json!(names[0]));
    page.press(key::ENTER).await;
    page.until_script("the model", "return location.pathname;", json!(FOLDER)).await;
    page.close().await;
}

#[tokio::test]
async fn a_slash_in_a_field_is_a_slash() {
    let page = Page::open("").await;
    page.figure("calculator").focus("textbox", &expected::label(Field::Sequence)).await;
    page.press("/").await;
    assert_eq!(page.script(IS_OPEN, vec![]).await, json!(false));
    page.close().await;
}

#[tokio::test]
async fn a_model_keeps_the_configuration_and_leaves_the_shape_of_the_one_before() {
    let before = "v=4&model=own&hidden=5120&layers=40&gpus=16&s=4096&recompute=none";
    let page = opened(&format!("trust/?{before}")).await;
    find(&page, "qwen2.5 7b").await;
    page.press(key::ENTER).await;
    // As links write it, once the program has read it.
    goes_to(&page, "?v=4&model=qwen2.5-7b&s=4096&gpus=16&recompute=none").await;
    let read = link::decode("v=4&model=qwen2.5-7b&gpus=16&s=4096&recompute=none");
    assert_eq!(read.notices, []);
    page.wait_for_the_frame().await;
    open(&page).await;
    find(&page, "4090").await;
    page.press(key::ENTER).await;
    page.until_script("the GPU", "return new URLSearchParams(location.search).get('gpu');", json!("rtx-4090")).await;
    let query = page.query().await;
    for kept in ["model=qwen2.5-7b", "gpus=16", "s=4096"] {
        assert!(query.contains(kept), "{query}");
    }
    page.close().await;
}

#[tokio::test]
async fn what_is_compared_with_stays_what_it_was() {
    let page = opened("?v=4&model=llama-2-7b&s=4096&vs=s:2048").await;
    let before = link::decode("v=4&model=llama-2-7b&s=4096&vs=s:2048").vs.get(0).copied().expect("it is pinned");
    find(&page, "llama 2 13b").await;
    page.press(key::ENTER).await;
    page.until_script("the model", "return new URLSearchParams(location.search).get('model');", json!("llama-2-13b"))
        .await;
    let read = link::decode(&page.query().await);
    assert_eq!((read.notices, read.vs.get(0).map(|vs| vs.model)), (vec![], Some(before.model)));
    page.close().await;
}

#[tokio::test]
async fn a_setting_leads_to_its_field_and_unfolds_the_group_that_has_it() {
    let there = "const at = document.activeElement; const box = at.getBoundingClientRect(); \
        return [at.id, !at.closest('details:not([open])'), box.top > 0 && box.bottom < innerHeight];";
    for (from, typed, id) in [
        ("memory/?v=4&gpus=64", "adapter rank", "calculator-rank"),
        ("", "context parallel", "calculator-cp"),
        ("", "optimizer", "calculator-optimizer"),
    ] {
        // The rank is hidden while there is no adapter.
        let from = if id == "calculator-rank" { format!("{from}&adapter=lora") } else { from.to_owned() };
        let page = opened(&from).await;
        assert_eq!(first(&page, typed).await.0, "Settings");
        page.press(key::ENTER).await;
        page.until_script(typed, there, json!([id, true, true])).await;
        page.close().await;
    }
}

#[tokio::test]
async fn sections_terms_and_questions_lead_to_their_places_with_the_configuration() {
    let page = opened("?v=4&gpus=64").await;
    find(&page, "moment of a step").await;
    page.press(key::ENTER).await;
    goes_to(&page, "questions/?v=4&gpus=64#term-moment-of-a-step").await;
    page.wait_for_the_frame().await;
    open(&page).await;
    find(&page, "is an 80 gb card 80 gib").await;
    page.press(key::ENTER).await;
    goes_to(&page, "questions/?v=4&gpus=64#question-is-an-80-gb-card-80-gib").await;
    let open_fold = "return document.getElementById('question-is-an-80-gb-card-80-gib').open;";
    page.until_script("the answer", open_fold, json!(true)).await;
    page.close().await;
}

#[tokio::test]
async fn it_is_fetched_by_the_first_press_once_with_its_digest_and_nothing_typed_leaves_the_page() {
    let page = Page::open("memory/").await;
    let asked = |page: &Page| page.server.requests().into_iter().filter(|path| path.contains("search-")).count();
    assert_eq!(asked(&page), 0);
    open(&page).await;
    let before = page.server.requests().len();
    find(&page, "a secret").await;
    page.press(key::ESCAPE).await;
    open(&page).await;
    assert_eq!((asked(&page), page.server.requests().len()), (1, before));
    let name = dist().keys().find(|name| name.starts_with("search-")).expect("the file");
    let known = "return JSON.parse(document.querySelector('script[type=importmap]').textContent).integrity;";
    let known = page.script(known, vec![]).await;
    assert!(known[format!("../{name}")].as_str().is_some_and(|digest| digest.starts_with("sha256-")), "{known}");
    page.close().await;
}

#[tokio::test]
async fn it_works_wherever_the_site_lies_and_on_a_page_of_no_address() {
    let page = Visit::to_the_empty_page().open().await;
    page.server.publish(OTHER_FOLDER, dist().as_ref().clone());
    page.go(&format!("{OTHER_FOLDER}gpus/?v=4&gpus=64")).await;
    page.wait_for_the_frame().await;
    open(&page).await;
    find(&page, "zero stage").await;
    page.press(key::ENTER).await;
    let here = "return location.pathname + location.search + location.hash;";
    page.until_script("the field", here, json!(format!("{OTHER_FOLDER}?v=4&gpus=64#calculator-zero"))).await;
    page.go(&format!("{FOLDER}no/such/page?v=4&gpus=64")).await;
    let home = "return new URL(document.querySelector('main a').href).pathname;";
    page.until_script("the folder of the site", home, json!(FOLDER)).await;
    open(&page).await;
    find(&page, "4090").await;
    page.press(key::ENTER).await;
    goes_to(&page, "?v=4&gpu=rtx-4090&gpus=64").await;
    page.wait_for_the_frame().await;
    page.complaints().await;
    page.go(BLANK).await;
    page.close().await;
}

#[tokio::test]
async fn without_scripts_on_paper_and_in_a_frame_there_is_no_button() {
    let seen = "return document.querySelector('[data-search]')?.checkVisibility() ?? false;";
    let page = Visit::to("").without_scripts().open().await;
    assert_eq!(page.script(seen, vec![]).await, json!(false));
    page.close().await;
    let page = Page::open("?embed=answer").await;
    assert_eq!(page.script(seen, vec![]).await, json!(false));
    page.press("/").await;
    assert_eq!(page.script(IS_OPEN, vec![]).await, json!(false));
    page.close().await;
}

#[tokio::test]
async fn axe_finds_nothing_in_it_with_results_and_without() {
    let page = opened("").await;
    let path = env::var("AXE_PATH").expect("AXE_PATH names axe.min.js of axe-core");
    page.script(&fs::read_to_string(&path).expect("axe-core"), vec![]).await;
    let run = "const done = arguments[0]; axe.run('dialog[open]', { resultTypes: ['violations'] }).then(({ violations }) => \
        done(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html.slice(0, 120))])));";
    for (typed, scheme) in [("zero", "light"), ("zero", "dark"), ("rtx 4900", "light"), ("zzqx", "dark")] {
        page.prefer(&[("prefers-color-scheme", scheme)]).await;
        find(&page, typed).await;
        page.press(key::DOWN).await;
        assert_eq!(page.script_async(run, vec![]).await, json!([]), "“{typed}” in {scheme}");
    }
    page.close().await;
}

#[test]
fn every_place_that_search_leads_to_is_in_a_page_of_the_build_or_unfolds_there() {
    let name = dist().keys().find(|name| name.starts_with("search-")).expect("the file");
    let script = String::from_utf8_lossy(&dist()[name]);
    let index = data_behind("=", &script);
    let groups = index["groups"].as_array().expect("groups");
    let places: BTreeSet<&str> = groups
        .iter()
        .filter(|group| group["key"] == "")
        .flat_map(|group| group["entries"].as_array().expect("entries"))
        .map(|entry| entry[0].as_str().expect("a place"))
        .collect();
    assert!(places.len() > 200, "{}", places.len());
    for place in places.into_iter().filter(|place| !place.starts_with("#calculator-")) {
        let (page, id) = place.split_once('#').expect("a place");
        let html = crate::support::html(page);
        assert!(html.contains(&format!("id=\"{id}\"")), "{place}");
    }
}
