//! Questions with their answers, links that lead somewhere, and the list of sources.

use crate::support::{FOLDER, PAGES, Page, Visit, html};
use bmax::course::sources;
use bmax::tour::CARDS;
use serde_json::json;

#[tokio::test]
async fn every_question_stands_above_its_answer() {
    let page = Page::open("questions/").await;
    let bare = "const below = [...document.querySelectorAll('main :is(h3, h4, summary)')]; \
        for (const one of document.querySelectorAll('main details')) one.open = true; \
        return below.filter((one) => !/^H[1-6]$/.test(one.nextElementSibling?.tagName ?? '') \
            && !(one.nextElementSibling ?? one.parentElement.nextElementSibling)?.innerText.trim()) \
            .map((one) => one.innerText);";
    assert_eq!(page.script(bare, vec![]).await, json!([]));
    page.close().await;
}

#[tokio::test]
async fn every_link_inside_the_site_leads_to_a_place_that_is_there_once() {
    let page = Visit::to_the_empty_page().open().await;
    let broken = "const links = [...document.querySelectorAll('a[href^=\"#\"]')].map((link) => link.getAttribute('href').slice(1)); \
        return [...new Set(links)].filter((id) => document.querySelectorAll(`[id=\"${id}\"]`).length !== 1);";
    // A figure may name a place of another page, which the page then leads to.
    let elsewhere_once =
        |id: &str| PAGES.iter().filter(|page| html(page).contains(&format!(" id=\"{id}\""))).count() == 1;
    // Scripts lead over the first page's figure, card by card; no element has these ids.
    let is_card = |id: &str| {
        let number = id.strip_prefix("tour-").and_then(|number| number.parse().ok());
        number.is_some_and(|number: usize| (1..=CARDS.len()).contains(&number))
    };
    let twice = "const ids = [...document.querySelectorAll('[id]')].map((one) => one.id); \
        return ids.filter((id, place) => ids.indexOf(id) !== place);";
    // Links to another page of the site that name a place on it.
    let elsewhere = "const root = new URL(arguments[0], location.href).href; \
        return [...new Set([...document.querySelectorAll('a[href]')].map((one) => new URL(one.href)) \
            .filter(({ href, hash, pathname }) => hash && href.startsWith(root) && pathname !== location.pathname) \
            .map(({ origin, pathname, hash }) => (origin + pathname).replace(root, '') + hash))];";
    let mut wrong = Vec::new();
    for name in PAGES {
        page.go(&format!("{FOLDER}{name}")).await;
        page.wait_for_figures().await;
        page.read_through().await;
        for (what, script) in [("leads nowhere", broken), ("is there twice", twice)] {
            let found: Vec<String> = serde_json::from_value(page.script(script, vec![]).await).expect("names");
            let found = found.into_iter().filter(|id| what.contains("twice") || !(elsewhere_once(id) || is_card(id)));
            wrong.extend(found.map(|id| format!("/{name}: #{id} {what}")));
        }
        let ways: Vec<String> =
            serde_json::from_value(page.script(elsewhere, vec![json!(FOLDER)]).await).expect("addresses");
        for way in ways {
            let (other, id) = way.split_once('#').expect("a fragment");
            let there = PAGES.contains(&other) && html(other).contains(&format!(" id=\"{id}\""))
                || other.is_empty() && is_card(id);
            wrong.extend((!there).then(|| format!("/{name}: {way} leads nowhere")));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    page.close().await;
}

#[tokio::test]
async fn a_link_of_a_figure_to_a_place_of_another_page_leads_there_with_the_configuration() {
    let page = Page::about("scaling", "?v=4&gpus=64").await;
    page.script("document.querySelector('figure a[href$=\"#source-rajbhandari\"]').click();", vec![]).await;
    page.until_script("the page of the sources", "return location.pathname;", json!(format!("{FOLDER}sources/"))).await;
    page.wait_for_the_frame().await;
    assert_eq!(page.query().await, "v=4&gpus=64");
    let target = "return document.querySelector(':target')?.id ?? null;";
    page.until_script("the source", target, json!("source-rajbhandari")).await;
    page.close().await;
}

#[tokio::test]
async fn every_source_is_listed_and_can_be_followed() {
    let page = Page::open("sources/").await;
    let found = "return [...document.querySelectorAll('main li[id^=source-]')] \
        .map((one) => [one.id, one.querySelector('a').href]);";
    let mut expected: Vec<_> = sources::ALL.iter().collect();
    expected.sort_by_key(|source| source.kind as u8);
    let expected: Vec<_> = expected.iter().map(|source| json!([format!("source-{}", source.id), source.url])).collect();
    assert_eq!(page.script(found, vec![]).await, json!(expected));
    page.close().await;
}

#[tokio::test]
async fn sources_and_answers_leave_no_phone_scrolling_sideways() {
    let page = Visit::to_the_empty_page().wide(320).open().await;
    for name in ["check/", "questions/", "sources/"] {
        page.go(&format!("{FOLDER}{name}")).await;
        page.script("for (const one of document.querySelectorAll('main details')) one.open = true;", vec![]).await;
        let wide = "return [...document.querySelectorAll('main > section')] \
            .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.id);";
        assert_eq!(page.script(wide, vec![]).await, json!([]), "/{name}");
        assert_eq!(page.script("return document.documentElement.scrollWidth <= 320;", vec![]).await, json!(true));
    }
    page.close().await;
}
