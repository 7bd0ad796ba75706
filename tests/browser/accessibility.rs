//! axe-core finds nothing, in light and in dark, in every state a reader may bring the page into.

use std::{env, fs};

use crate::support::{FOLDER, PAGES, Page, Visit, page_of};
use serde_json::{Value, json};

/// Violations, but for those in frames, which have tests of their own. Text is held to level AAA of contrast, 7:1, or 4.5:1 where it is large.
const RUN: &str = "const [within, only, done] = arguments; \
    const rules = { 'target-size': { enabled: true }, 'color-contrast-enhanced': { enabled: true } }; \
    const options = only ? { runOnly: { type: 'rule', values: only } } : { rules }; \
    axe.run(within, { resultTypes: ['violations'], iframes: false, ...options }).then( \
        ({ violations }) => done(violations.map(({ id, help, nodes }) => \
            [id, help, nodes.slice(0, 4).map((node) => `${node.target} ${node.html.slice(0, 120)} ${node.failureSummary}`)])), \
        (error) => done(String(error)));";

/// What axe looks at.
#[derive(Clone, Copy)]
struct Look {
    within: &'static str,
    /// These rules; all of them where there are none.
    only: &'static [&'static str],
}

const EVERYTHING: Look = Look { within: "html", only: &[] };

/// What is another in dark than in light.
const COLOURS: Look = Look { within: "html", only: &["color-contrast", "color-contrast-enhanced"] };

/// One part of the page, where the rest is as it was.
const fn only_in(within: &'static str) -> Look {
    Look { within, ..EVERYTHING }
}

async fn nothing_is_found(page: &Page, look: Look, when: &str) {
    if page.script("return typeof axe;", vec![]).await == json!("undefined") {
        let path = env::var("AXE_PATH").expect("AXE_PATH names axe.min.js of axe-core");
        let source = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        page.script(&source, vec![]).await;
    }
    // A control that happens to lie below the answer bar is out of sight, not too small.
    page.script("scrollTo({ top: 0, behavior: 'instant' })", vec![]).await;
    let rules = if look.only.is_empty() { Value::Null } else { json!(look.only) };
    let found: Value = page.script_async(RUN, vec![json!(look.within), rules]).await;
    assert_eq!(found, json!([]), "{when}: {found:#}");
}

/// Shows the page as another reader sees it, and waits until it is drawn so.
async fn seen_by(page: &Page, width: u32, scheme: &str) {
    page.prefer(&[("prefers-color-scheme", scheme)]).await;
    page.resize(width, 900).await;
    let drawn = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(null)));";
    page.script_async(drawn, vec![]).await;
}

/// On a desk and on a phone, in light and in dark: everything in light, and in dark what is another there.
async fn nothing_is_found_by_anybody(page: &Page, light: Look, dark: Look, when: &str) {
    if !page.can_be_somebody_else_s() {
        return nothing_is_found(page, light, when).await;
    }
    for (width, desk) in [(1440, "a desk"), (360, "a phone")] {
        for (scheme, look) in [("light", light), ("dark", dark)] {
            seen_by(page, width, scheme).await;
            nothing_is_found(page, look, &format!("{when}, on {desk}, in {scheme}")).await;
        }
    }
    seen_by(page, 1440, "light").await;
}

/// One test a page, so that several browsers share them: with everything open, which has all that is seen before.
macro_rules! axe_finds_nothing_on_any_page_with_everything_open {
    ($($test:ident: $page:expr,)+) => {
        mod axe_finds_nothing_on_any_page_with_everything_open {
            use crate::support::Page;

            $(#[tokio::test]
            async fn $test() {
                let page = Page::open($page).await;
                page.unfold_everything().await;
                super::nothing_is_found_by_anybody(&page, super::EVERYTHING, super::COLOURS, $page).await;
                page.close().await;
            })+

            #[test]
            fn no_page_is_forgotten() {
                assert_eq!([$($page),+], crate::support::PAGES);
            }
        }
    };
}

axe_finds_nothing_on_any_page_with_everything_open! {
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

/// The first page, which has a form: as it is found, with everything open, and with an error message.
async fn every_state(address: &str) {
    let page = Page::open(address).await;
    nothing_is_found_by_anybody(&page, EVERYTHING, COLOURS, address).await;
    page.unfold_everything().await;
    let calculator = page.figure("calculator");
    calculator.fill("Number of GPUs", "none").await;
    calculator.says("is not a number").await;
    let form = only_in("[data-figure=calculator]");
    nothing_is_found_by_anybody(&page, form, form, &format!("{address}, with an error message")).await;
    page.close().await;
}

#[tokio::test]
async fn axe_finds_nothing_on_the_first_page_as_it_is_found_and_with_an_error_message() {
    every_state("").await;
}

#[tokio::test]
async fn axe_finds_nothing_with_a_bad_link_and_nothing_that_fits() {
    every_state("?model=70b&gpus=1&s=-5&colour=red&method=paper&tp=3").await;
}

#[tokio::test]
async fn axe_finds_nothing_on_the_page_for_addresses_of_no_page() {
    for visit in [Visit::to_the_empty_page(), Visit::to_the_empty_page().dark()] {
        let page = visit.open().await;
        page.go(&format!("{FOLDER}no/such/page?v=4&gpus=64")).await;
        nothing_is_found(&page, EVERYTHING, "404").await;
        page.complaints().await;
        page.close().await;
    }
}

#[tokio::test]
async fn axe_finds_nothing_on_an_open_card_of_the_tour() {
    let card = only_in(".tour");
    let page = Page::open("#tour-1").await;
    for number in [1, 5, 9, 10, 12] {
        page.script("location.hash = arguments[0];", vec![json!(format!("tour-{number}"))]).await;
        page.part(".tour").says(&format!("{number} of 12")).await;
        nothing_is_found_by_anybody(&page, card, card, &format!("card {number}")).await;
        // What the card is about is marked in the figure.
        nothing_is_found(&page, only_in("[data-figure=answer]"), &format!("the figure behind card {number}")).await;
    }
    page.close().await;
}

#[tokio::test]
async fn axe_finds_nothing_in_the_drawer_of_all_settings() {
    let page = Page::open("memory/?v=4&adapter=lora").await;
    page.part("#answer-bar").click("link", "All settings").await;
    page.part("#settings").says("1 changed").await;
    let unfold =
        "for (const fold of document.querySelectorAll('#settings details:not([data-desk])')) fold.open = true;";
    page.script(unfold, vec![]).await;
    page.part("#settings").says("Vocabulary").await;
    let look = only_in("#settings");
    nothing_is_found_by_anybody(&page, look, Look { only: COLOURS.only, ..look }, "all settings").await;
    page.close().await;
}

#[tokio::test]
async fn axe_finds_nothing_in_any_tab_of_the_share_dialog() {
    let dialog = only_in("dialog[open]");
    let page = Page::open("").await;
    page.all().press("Share: The largest batch against").await;
    for tab in ["Link", "Embed", "Picture", "Export"] {
        page.part(".desk[open]").click("tab", tab).await;
        nothing_is_found_by_anybody(&page, dialog, dialog, tab).await;
    }
    page.part(".desk").click("tab", "Link").await;
    page.part(".desk").press("Show large").await;
    nothing_is_found_by_anybody(&page, dialog, dialog, "the large code").await;
    page.close().await;
}

#[tokio::test]
async fn headings_go_down_one_level_at_a_time_and_every_figure_is_named_by_its_caption() {
    let page = Visit::to_the_empty_page().open().await;
    for name in PAGES {
        page.go(&format!("{FOLDER}{name}")).await;
        page.lay_out().await;
        let levels = "return [...document.querySelectorAll('h1, h2, h3, h4, h5')] \
            .filter((heading) => heading.getClientRects().length).map((heading) => Number(heading.tagName[1]));";
        let levels: Vec<i64> = serde_json::from_value(page.script(levels, vec![]).await).expect("numbers");
        assert_eq!(levels.first(), Some(&1), "/{name}");
        assert_eq!(levels.iter().filter(|level| **level == 1).count(), 1, "/{name}");
        for pair in levels.windows(2) {
            assert!(pair[1] <= pair[0] + 1, "/{name}: a heading of level {} follows one of {}", pair[1], pair[0]);
        }
        let unnamed = "return [...document.querySelectorAll('figure')].filter((figure) => \
            !document.getElementById(figure.getAttribute('aria-labelledby'))?.textContent.trim()).length;";
        assert_eq!(page.script(unnamed, vec![]).await, 0, "/{name}");
    }
    page.close().await;
}

#[tokio::test]
async fn axe_finds_nothing_in_a_figure_that_is_embedded_alone() {
    for (query, when) in [
        ("?embed=calculator", "a form"),
        ("?embed=chart&controls=off&title=off", "a chart to read"),
        ("?embed=levers&theme=dark&height=7", "in dark, with a notice"),
        ("?embed=nothing", "no such figure"),
    ] {
        let page = Visit::to("").open().await;
        let figure = query.trim_start_matches("?embed=").split('&').next().unwrap_or_default();
        let at = if figure == "nothing" { "" } else { page_of(figure) };
        page.client.goto(&(page.server.origin() + FOLDER + at + query)).await.expect("the embed loads");
        page.until_script(
            "the program",
            "return document.querySelector('.embed-link').checkVisibility();",
            json!(true),
        )
        .await;
        page.unfold_everything().await;
        // The ground is the browser's own, and dark in dark; axe takes it for white.
        if query.contains("dark") {
            page.script("document.documentElement.style.background = '#121212';", vec![]).await;
        }
        nothing_is_found(&page, EVERYTHING, when).await;
        page.close().await;
    }
}
