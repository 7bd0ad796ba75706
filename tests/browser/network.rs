//! What the page asks of the network and of the browser: its own files, and nothing else.

use crate::support::{FOLDER, PAGES, Page, Visit};
use serde_json::{Value, json};

/// Addresses that the browser asked for, as it tells it itself.
async fn asked_for(page: &Page) -> Vec<String> {
    let log = page.log("performance").await;
    let home = page.server.origin();
    let events = log.iter().filter_map(|entry| serde_json::from_str::<Value>(entry["message"].as_str()?).ok());
    events
        .filter(|event| event["message"]["method"] == "Network.requestWillBeSent")
        // The browser has pages of its own, such as the empty tab it starts with.
        .filter(|event| event["message"]["params"]["documentURL"].as_str().is_some_and(|url| url.starts_with(&home)))
        .filter_map(|event| Some(event["message"]["params"]["request"]["url"].as_str()?.to_owned()))
        .collect()
}

#[tokio::test]
async fn every_request_of_any_page_goes_to_the_site_s_own_folder() {
    let page = Visit::to("?v=4&model=13b").writing_down_requests().open().await;
    // Every control that a figure may load something for is used once.
    page.unfold_everything().await;
    page.figure("calculator").press("70B").await;
    page.until_query("v=4&model=70b").await;
    for name in &PAGES[1..] {
        page.go(&format!("{FOLDER}{name}?v=4&model=13b")).await;
        page.wait_for_figures().await;
        page.unfold_everything().await;
    }
    assert_eq!(page.server.strangers(), Vec::<String>::new());
    let home = page.server.origin() + FOLDER;
    let asked = asked_for(&page).await;
    assert!(asked.iter().any(|address| address.ends_with(".wasm")), "{asked:?}");
    for address in &asked {
        assert!(address.starts_with(&home) || address.starts_with("data:"), "{address}");
    }
    for path in page.server.requests() {
        assert!(path.starts_with(FOLDER), "{path}");
    }
    page.close().await;
}

#[tokio::test]
async fn the_console_stays_clean_through_opening_and_using_the_page() {
    let page = Visit::to("?v=4&gpus=1#chart").open().await;
    let calculator = page.figure("calculator");
    for preset in ["1B", "3B", "7B", "13B", "70B"] {
        calculator.press(preset).await;
    }
    calculator.choose("Method", "Paper").await;
    calculator.fill("Number of GPUs", "nonsense").await;
    calculator.says("is not a number").await;
    let log = page.log("browser").await;
    assert_eq!(log, Vec::<Value>::new());
    page.close().await;
}

#[tokio::test]
async fn nothing_that_is_set_is_stored_but_a_chosen_theme() {
    let page = Page::open("").await;
    let stored = "return [document.cookie, Object.keys(localStorage), Object.keys(sessionStorage)];";
    page.figure("calculator").press("70B").await;
    page.until_query("v=4&model=70b").await;
    assert_eq!(page.script(stored, vec![]).await, json!(["", [], []]));
    page.all().press("Theme: auto").await;
    page.until_script("the theme to be remembered", stored, json!(["", ["bmax-theme"], []])).await;
    page.close().await;
}
