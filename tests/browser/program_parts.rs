//! The program comes in parts: a figure waits for its own and for no other, and one that does not come is said where
//! its figures stand.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{FOLDER, PAGES, Page, Visit, data_behind, expected, figures_of, html, page_of};

/// The parts of the program that a page wants, as it tells its first script.
fn parts_of(page: &str) -> Value {
    data_behind("parts=", &html(page))
}

/// The files of a part.
fn files(parts: &Value, part: &str) -> BTreeSet<String> {
    let files = parts["files"][part].as_array().expect("a list").iter();
    files.map(|file| file.as_str().expect("a name").to_owned()).collect()
}

/// The part of the program that has a figure, and its files.
fn part_of(figure: &str) -> (String, BTreeSet<String>) {
    let parts = parts_of(page_of(figure));
    let part = parts["of"][figure].as_str().unwrap_or_else(|| panic!("{figure} has a part")).to_owned();
    let files = files(&parts, &part);
    (part, files)
}

/// Files of WebAssembly that were asked for, but for the program's first and the desk's.
fn asked(requests: &[String]) -> BTreeSet<String> {
    let files = requests.iter().filter_map(|path| path.strip_prefix(FOLDER)).filter(|path| path.ends_with(".wasm"));
    files.filter(|path| !path.contains("bmax_bg") && !path.starts_with("desk-")).map(str::to_owned).collect()
}

#[tokio::test]
async fn an_embedded_figure_loads_its_own_part_and_no_other() {
    let page = Visit::to_the_empty_page().open().await;
    for figure in PAGES.into_iter().flat_map(figures_of) {
        let before = page.server.requests().len();
        page.go(&format!("{FOLDER}{}?embed={figure}&v=4&gpus=64", page_of(&figure))).await;
        page.wait_for_figures().await;
        let (part, wanted) = part_of(&figure);
        let mut asked = asked(&page.server.requests()[before..]);
        // What helps another configuration than the page was built with comes with the techniques, after the figure.
        if figure == "answer" {
            let later = part_of("levers").1;
            asked.retain(|file| wanted.contains(file) || !later.contains(file));
        }
        assert_eq!(asked, wanted, "{figure} is in the part {part}");
    }
    page.close().await;
}

#[tokio::test]
async fn a_first_look_at_any_page_loads_the_parts_of_what_is_in_sight() {
    for name in PAGES {
        let page = Visit::to(name).untouched().open().await;
        let near = page.wait_for_what_is_in_sight().await;
        let of = |near: Option<String>| match near {
            Some(figure) => part_of(&figure).1,
            None => files(&parts_of(name), "sentences"),
        };
        let wanted: BTreeSet<_> = near.into_iter().flat_map(of).collect();
        let resources = "return performance.getEntriesByType('resource').map((one) => new URL(one.name).pathname);";
        let loaded: Vec<String> = serde_json::from_value(page.script(resources, vec![]).await).expect("paths");
        assert_eq!(asked(&loaded), wanted, "/{name}");
        page.close().await;
    }
}

#[tokio::test]
async fn the_parts_of_a_figure_in_sight_are_fetched_beside_the_program() {
    let page = Visit::about("step", "?embed=step").untouched().open().await;
    let early = "return [...document.querySelectorAll('link[rel=preload][as=fetch]')] \
        .map(({ href }) => new URL(href).pathname);";
    let early: Vec<String> = serde_json::from_value(page.script(early, vec![]).await).expect("paths");
    assert_eq!(asked(&early), part_of("step").1);
    page.close().await;
}

#[tokio::test]
async fn a_part_that_does_not_arrive_is_said_where_its_figures_stand_and_the_rest_goes_on() {
    let figures = figures_of("");
    let (first, _) = part_of(&figures[0]);
    let other = figures.iter().find(|figure| part_of(figure).0 != first).expect("home has a second part");
    let file = format!("*/split_{}.wasm", part_of(other).0);
    let page = Visit::to_the_empty_page().open().await;
    page.devtools("Network.enable", json!({})).await;
    page.devtools("Network.setBlockedURLs", json!({ "urls": [file] })).await;
    page.go(FOLDER).await;
    page.wait_for_the_frame().await;
    page.script("document.querySelector(arguments[0]).scrollIntoView();", vec![json!(format!("#embed-{other}"))]).await;
    // In its own place, right before what stands there from the build.
    let said =
        format!("return document.querySelector('[data-figure=\"{other}\"]').previousElementSibling?.innerText ?? '';");
    page.until("the message", async || {
        let said = page.script(&said, vec![]).await.as_str().unwrap_or_default().to_owned();
        if said.contains("could not be loaded") { Ok(()) } else { Err(said) }
    })
    .await;
    assert_eq!(page.part("#notices").all_text().await, "");
    let lost = "return [...document.querySelectorAll('[data-figure]')].filter((one) => \
        one.previousElementSibling?.matches('[role=alert]') && one.hasAttribute('data-mounted')).length;";
    assert_eq!(page.script(lost, vec![]).await, 0);
    // The figure that did come works, and so does the bar.
    page.part("#answer-bar").pick("Model", "13B").await;
    page.until_query("v=4&model=13b").await;
    page.part("#answer-bar").shows("bar-answer", &expected::answer(&expected::scenario("model=13b"))).await;
    // The browser says that it was blocked.
    page.complaints().await;
    page.close().await;
}

#[tokio::test]
async fn an_embedded_figure_whose_part_does_not_arrive_says_so_and_stays_as_it_was_built() {
    // The part itself, and the script that fetches the parts.
    for missing in ["*/split_*.wasm", "*/parts.js"] {
        let page = Visit::to_the_empty_page().open().await;
        page.devtools("Network.enable", json!({})).await;
        page.devtools("Network.setBlockedURLs", json!({ "urls": [missing] })).await;
        page.go(&format!("{FOLDER}{}?embed=step&v=4&gpus=64", page_of("step"))).await;
        page.part("main").says("could not be loaded").await;
        let text = "return document.querySelector('[data-figure=step]').innerText.length > 80;";
        assert_eq!(page.script(text, vec![]).await, json!(true), "without {missing}");
        page.complaints().await;
        page.close().await;
    }
}

#[tokio::test]
async fn what_comes_later_comes_once_the_reader_does_anything() {
    let page: Page = Visit::to("").untouched().open().await;
    let waiting = "return [...document.querySelectorAll('[data-figure]:not([data-mounted])')].length;";
    assert!(page.script(waiting, vec![]).await.as_u64() > Some(0), "home has figures below the first two screens");
    page.press("\u{e008}").await;
    page.until_script("every figure", waiting, json!(0)).await;
    page.close().await;
}
