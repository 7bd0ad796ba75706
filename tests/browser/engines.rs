//! What every engine has to do at the least: these tests run in each of them, whatever share of the others does.

use std::cell::RefCell;

use serde_json::json;

use crate::support::host::{Host, sandboxed};
use crate::support::{FOLDER, Page, Visit, WITHOUT_BAR, expected, key};
use crate::theme::becomes;

/// One test a page, so that two browsers share them.
macro_rules! every_figure_mounts_unfolds_and_asks_no_other_host {
    ($($test:ident: $page:expr,)+) => {
        mod every_figure_mounts_unfolds_and_asks_no_other_host {
            $(#[tokio::test]
            async fn $test() {
                super::figures_mount_and_unfold($page).await;
            })+

            #[test]
            fn no_page_is_forgotten() {
                assert_eq!([$($page),+], crate::support::PAGES);
            }
        }
    };
}

every_figure_mounts_unfolds_and_asks_no_other_host! {
    home: "",
    workshop: "workshop/",
    memory: "memory/",
    room: "room/",
    batch: "batch/",
    gpus: "gpus/",
    networks: "networks/",
    out_of_memory: "out-of-memory/",
    check: "check/",
    questions: "questions/",
    sources: "sources/",
    plan: "plan/",
    trust: "trust/",
    teach: "teach/",
}

async fn figures_mount_and_unfold(name: &str) {
    let page = Page::open(&format!("{name}?v=4&model=13b&method=ledger")).await;
    page.unfold_everything().await;
    let answer = expected::answer(&expected::scenario("?model=13b"));
    if name != WITHOUT_BAR {
        page.part("#answer-bar").shows("bar-answer", &answer).await;
    }
    let silent = "return [...document.querySelectorAll('[data-figure]')] \
        .filter((one) => one.textContent.trim() === '' || one.getBoundingClientRect().height < 20) \
        .map((one) => one.dataset.figure);";
    assert_eq!(page.script(silent, vec![]).await, json!([]), "/{name}");
    assert_eq!(page.server.strangers(), Vec::<String>::new());
    let asked = page.server.requests();
    assert!(asked.iter().any(|path| path.ends_with(".wasm")), "{asked:?}");
    assert!(asked.iter().all(|path| path.starts_with(FOLDER)), "{asked:?}");
    page.close().await;
}

#[tokio::test]
async fn a_list_that_opens_keeps_its_choice() {
    let page = Page::open("?v=4&model=13b&gpu=h100-80&gpus=64&recompute=full").await;
    let lists = "const done = arguments[0]; \
        const all = [...document.querySelectorAll('main select')]; \
        const chosen = () => all.map((list) => [list.id, list.value, list.selectedOptions[0]?.text]); \
        const before = chosen(); \
        all.forEach((list) => list.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }))); \
        requestAnimationFrame(() => requestAnimationFrame(() => \
            done([before, chosen(), all.filter((list) => list.options.length < 2).length])));";
    let seen = page.script_async(lists, vec![]).await;
    assert!(seen[0].as_array().is_some_and(|lists| lists.len() > 5), "{seen}");
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[2], 0, "every list has its rows: {seen}");
    page.close().await;
}

#[tokio::test]
async fn controls_move_the_answer_and_the_address() {
    let page = Page::open("").await;
    page.figure("calculator").press("70B").await;
    page.until_query("v=4&model=70b").await;
    page.figure("calculator").enter("Number of GPUs", "64").await;
    let query = "v=4&model=70b&gpus=64";
    page.until_query(query).await;
    page.figure("answer").shows("opening-answer", &expected::answer(&expected::scenario(query))).await;
    page.client.back().await.expect("a page before");
    page.client.forward().await.expect("the page again");
    page.wait_for_figures().await;
    page.figure("answer").shows("opening-answer", &expected::answer(&expected::scenario(query))).await;
    page.close().await;
}

#[tokio::test]
async fn the_keyboard_reaches_the_slider_and_moves_it() {
    let page = Page::open("").await;
    page.press(key::TAB).await;
    page.press(key::ENTER).await;
    page.until_script("the text to have the focus", "return document.activeElement.id;", "main".into()).await;
    page.figure("answer").focus("slider", "Micro-batch").await;
    page.press(key::RIGHT).await;
    page.until_query("v=4&b=17").await;
    page.press(key::LEFT).await;
    page.until_query("v=4").await;
    page.close().await;
}

#[tokio::test]
async fn the_theme_follows_the_system_until_the_reader_chooses() {
    let page = Visit::to("").dark().open().await;
    becomes(&page, true).await;
    page.prefer(&[("prefers-color-scheme", "light")]).await;
    becomes(&page, false).await;
    page.all().press("Theme: auto").await;
    page.all().press("Theme: light").await;
    becomes(&page, true).await;
    page.close().await;
}

/// In a frame without an origin of its own “self” is no host in some versions of WebKit.
#[tokio::test]
async fn a_figure_in_a_sandboxed_frame_mounts_and_answers() {
    let host = Host::with(&sandboxed("embed=grow&v=4&model=1b&gpus=1&zero=0")).await;
    let answer = host.hears(0, "answer", |_| true).await;
    let expected = bmax::b_max(&expected::scenario("v=4&model=1b&gpus=1&zero=0")).batch();
    assert_eq!(answer["b_max"], json!(expected));
    host.settled(0).await;
    host.close().await;
}

/// Hosts that draw their own pages take frames away at any moment.
#[tokio::test]
async fn a_frame_that_is_taken_away_while_it_loads_leaves_its_host_alone() {
    let host = Host::with(&sandboxed("gpus=2")).await;
    for gpus in 3..9 {
        let before = host.page.server.requests().len();
        // In the place of the one before, which has hardly begun.
        host.show(&sandboxed(&format!("gpus={gpus}"))).await;
        host.page
            .until("the frame to be asked for", async || {
                let requests = host.page.server.requests();
                if requests.len() > before { Ok(()) } else { Err(requests.len()) }
            })
            .await;
    }
    host.show(&sandboxed("embed=grow&v=4&model=1b&gpus=1&zero=0")).await;
    host.hears(0, "answer", |_| true).await;
    host.close().await;
}

/// The tests above would pass in a browser whose console nobody hears.
#[tokio::test]
async fn what_goes_wrong_in_the_page_is_heard() {
    let page = Page::open("").await;
    let wrong = "console.warn('a warning'); setTimeout(() => { throw new Error('an error'); }); \
        const image = new Image(); image.src = 'http://elsewhere.example/'; document.body.append(image);";
    page.script(wrong, vec![]).await;
    let heard = RefCell::new(String::new());
    page.until("three complaints", async || {
        let said = page.complaints().await.join("\n");
        heard.borrow_mut().push_str(&said);
        let all = ["a warning", "an error", "elsewhere.example"];
        let missing: Vec<_> = all.into_iter().filter(|one| !heard.borrow().contains(one)).collect();
        if missing.is_empty() { Ok(()) } else { Err((missing, heard.borrow().clone())) }
    })
    .await;
    page.close().await;
}
