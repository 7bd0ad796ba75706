//! Answers that unfold, links that lead somewhere, and the list of sources.

use crate::support::{Page, Visit, key};
use bmax::course::sources;
use serde_json::json;

#[tokio::test]
async fn an_answer_opens_and_closes_by_keyboard() {
    let page = Page::open("").await;
    let open = "return document.querySelector('.faq').open;";
    page.script("document.querySelector('.faq > summary').focus();", vec![]).await;
    assert_eq!(page.script(open, vec![]).await, json!(false));
    page.press(key::ENTER).await;
    page.until_script("the answer to open", open, json!(true)).await;
    let height = "return document.querySelector('.faq > p').getBoundingClientRect().height > 20;";
    assert_eq!(page.script(height, vec![]).await, json!(true));
    page.press(key::SPACE).await;
    page.until_script("the answer to close", open, json!(false)).await;
    page.close().await;
}

#[tokio::test]
async fn every_link_inside_the_page_leads_to_a_place_that_is_there_once() {
    let page = Page::open("").await;
    page.read_through().await;
    let broken = "const links = [...document.querySelectorAll('a[href^=\"#\"]')].map((link) => link.getAttribute('href').slice(1)); \
        return [...new Set(links)].filter((id) => document.querySelectorAll(`[id=\"${id}\"]`).length !== 1);";
    assert_eq!(page.script(broken, vec![]).await, json!([]));
    let twice = "const ids = [...document.querySelectorAll('[id]')].map((one) => one.id); \
        return ids.filter((id, place) => ids.indexOf(id) !== place);";
    assert_eq!(page.script(twice, vec![]).await, json!([]));
    page.close().await;
}

#[tokio::test]
async fn every_source_is_listed_and_can_be_followed() {
    let page = Page::open("").await;
    let found = "return [...document.querySelectorAll('.source-list > li')] \
        .map((one) => [one.id, one.querySelector('a').href]);";
    let mut expected: Vec<_> = sources::ALL.iter().collect();
    expected.sort_by_key(|source| source.kind as u8);
    let expected: Vec<_> = expected.iter().map(|source| json!([format!("source-{}", source.id), source.url])).collect();
    assert_eq!(page.script(found, vec![]).await, json!(expected));
    page.close().await;
}

#[tokio::test]
async fn sources_and_answers_leave_no_phone_scrolling_sideways() {
    let page = Visit::to("").wide(320).open().await;
    page.script(
        "for (const one of document.querySelectorAll('#questions details, #sources details')) one.open = true;",
        vec![],
    )
    .await;
    let wide = "return [...document.querySelectorAll('#quiz, #questions, #sources')] \
        .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.id);";
    assert_eq!(page.script(wide, vec![]).await, json!([]));
    assert_eq!(page.script("return document.documentElement.scrollWidth <= 320;", vec![]).await, json!(true));
    page.close().await;
}
