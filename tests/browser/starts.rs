//! The starting points of the first page: what their cards say, a press on one, and what stays.

use crate::support::{FOLDER, Page, Visit, expected, key};
use bmax::course::networks::Named;
use bmax::starts::STARTS;
use bmax::{Scenario, link};
use serde_json::json;

/// The cards as they are seen: address, text, and whether the page shows what they lead to.
const CARDS: &str = "return [...document.querySelectorAll('.starts a')].map((one) => \
    [one.getAttribute('href'), one.innerText.replace(/\\s+/g, ' ').trim(), one.getAttribute('aria-current')]);";

fn address(place: usize) -> String {
    format!("./{}", STARTS[place].address())
}

#[tokio::test]
async fn every_card_is_a_link_with_the_answer_of_its_configuration() {
    for visit in [Visit::to(""), Visit::to("").without_scripts()] {
        let page = visit.open().await;
        let expected: Vec<_> = (0..STARTS.len())
            .map(|place| {
                let start = &STARTS[place];
                let text = format!("{} {}: {}", start.name, start.with, start.answer()).replace('\u{a0}', " ");
                json!([address(place), text, null])
            })
            .collect();
        assert_eq!(page.script(CARDS, vec![]).await, json!(expected));
        page.close().await;
    }
}

#[tokio::test]
async fn a_press_opens_the_configuration_without_loading_the_page_and_back_leads_to_the_one_before() {
    let before = "v=4&gpus=16&chart_gpus=128&vs=gpus:32";
    let page = Page::open(&format!("?{before}")).await;
    page.script("window.stays = true;", vec![]).await;
    let mut left = vec![before.to_owned()];
    for start in STARTS.iter().filter(|start| start.network.is_none()) {
        page.script("document.querySelector(`.starts a[data-start=${arguments[0]}]`).click();", vec![json!(start.id)])
            .await;
        let wanted = start.scenario();
        page.figure("answer").shows("opening-answer", &expected::answer(&wanted)).await;
        page.figure("answer").says(&format!("{} per GPU", wanted.unit().many())).await;
        let current =
            "return [...document.querySelectorAll('.starts [aria-current]')].map((one) => one.dataset.start);";
        page.until_script("the card in use", current, json!([start.id])).await;
        // What the chart is drawn against and what is pinned stay.
        left.push(page.query().await);
        let read = link::decode(&left[left.len() - 1]);
        assert_eq!(read.scenario, Scenario { comparison: expected::scenario(before).comparison, ..wanted });
        assert_eq!(read.vs.get(0).map(|pinned| pinned.cluster.gpus), Some(32));
        assert_eq!(page.script("return window.stays;", vec![]).await, true, "the page was loaded again");
    }
    for earlier in left.iter().rev().skip(1) {
        page.leave("history.back();").await;
        page.until_query(earlier).await;
    }
    page.figure("answer").shows("opening-answer", &expected::answer(&expected::scenario(before))).await;
    page.close().await;
}

#[tokio::test]
async fn the_card_of_images_leads_to_the_figure_of_layers_with_its_list_and_its_answer() {
    let page = Page::open("").await;
    let start = STARTS.iter().find(|start| start.network.is_some()).expect("a list of layers");
    page.script("document.querySelector(`.starts a[data-start=${arguments[0]}]`).click();", vec![json!(start.id)])
        .await;
    page.until_script("the other page", "return location.pathname;", json!(format!("{FOLDER}networks/"))).await;
    page.wait_for_figures().await;
    let first = start.network.and_then(Named::read).expect("a list").text();
    let list = "return document.getElementById('network-layers').value;";
    page.until_script("the list", list, json!(first)).await;
    let most = start.answer().replace(" images", "");
    page.figure("network").says(&most).await;
    page.close().await;
}

#[tokio::test]
async fn the_keyboard_reaches_every_card_in_a_narrow_window_and_opens_it() {
    let page = Visit::to("").wide(360).open().await;
    page.script("document.querySelector('.starts a').focus();", vec![]).await;
    let seen = "const place = document.activeElement.getBoundingClientRect(); \
        return [document.activeElement.dataset.start, place.left >= -1 && place.right <= innerWidth + 1];";
    for (at, start) in STARTS.iter().enumerate() {
        if at > 0 {
            page.press(key::TAB).await;
        }
        page.until_script("the card in sight", seen, json!([start.id, true])).await;
    }
    page.script("document.querySelector('.starts a').focus();", vec![]).await;
    page.press(key::ENTER).await;
    page.figure("answer").shows("opening-answer", &expected::answer(&STARTS[0].scenario())).await;
    let focused = "return document.activeElement.dataset.start;";
    assert_eq!(page.script(focused, vec![]).await, STARTS[0].id, "the focus stays");
    page.close().await;
}

#[tokio::test]
async fn tool_and_cards_are_on_the_first_screen_of_a_desk_and_the_answer_on_that_of_a_phone() {
    let desk = ["[data-testid=opening-answer]", ".opening-programs", ".starts"];
    for (width, height, seen) in [(1440, 900, &desk[..]), (360, 800, &["[data-testid=opening-answer]"])] {
        let page = Visit::to("").wide(width).open().await;
        page.resize(width, height).await;
        let below = "return arguments[0].filter((one) => document.querySelector(one).getBoundingClientRect().bottom > innerHeight);";
        assert_eq!(page.script(below, vec![json!(seen)]).await, json!([]), "{width} × {height}");
        page.close().await;
    }
}
