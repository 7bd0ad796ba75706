//! The site as a set of pages: what each one says of itself, the ways between them, and what travels along.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{BLANK, FOLDER, PAGES, Page, Visit, expected, key};

/// What a page says of itself where no reader looks, and its headings of the first level.
const HEAD: &str = "const all = (selector, of) => [...document.querySelectorAll(selector)].map(of); \
    return [all('head title', (one) => one.text), all('head meta[name=description]', (one) => one.content), \
        all('head link[rel=canonical]', (one) => one.href), all('h1', (one) => one.innerText), all('main h1', (one) => one.innerText)];";

#[tokio::test]
async fn every_page_has_a_title_and_a_description_of_its_own_one_heading_and_its_canonical_address() {
    let (mut titles, mut descriptions, mut headings) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let page = Visit::to("").without_scripts().open().await;
    for name in PAGES {
        page.go(&format!("{FOLDER}{name}?v=4&gpus=64")).await;
        let head: [Vec<String>; 5] = serde_json::from_value(page.script(HEAD, vec![]).await).expect("texts");
        let [[title], [description], [canonical], [heading], [in_text]] =
            [&head[0][..], &head[1], &head[2], &head[3], &head[4]]
        else {
            panic!("/{name} has one of each, not {head:?}")
        };
        assert!(title.contains("bmax") && title.len() < 80, "/{name} is called “{title}”");
        assert!((50..=200).contains(&description.chars().count()), "/{name} is described as “{description}”");
        // It knows nothing of the folder that it lies in; it is where it lies, without a query.
        assert_eq!(*canonical, format!("{}{FOLDER}{name}", page.server.origin()));
        assert_eq!(heading, in_text, "/{name}: its heading is in its text");
        for (what, all, own) in [
            ("title", &mut titles, title),
            ("description", &mut descriptions, description),
            ("heading", &mut headings, heading),
        ] {
            assert!(all.insert(own.clone()), "two pages have the {what} “{own}”");
        }
    }
    page.close().await;
}

#[tokio::test]
async fn with_scripts_the_canonical_address_is_written_whole_and_without_the_query() {
    let page = Page::open("memory/?v=4&gpus=64").await;
    let written = "return document.querySelector('link[rel=canonical]').getAttribute('href');";
    assert_eq!(page.script(written, vec![]).await, format!("{}{FOLDER}memory/", page.server.origin()));
    page.close().await;
}

/// The page that is marked in the header, and the ways before and after it. They stand below the text alone: Firefox
/// would fetch a page that the head calls the next one.
const PLACE: &str = "const href = (selector) => [...document.querySelectorAll(selector)] \
        .map((one) => one.href.split(/[?#]/)[0]); \
    return [href('nav.pages a'), href('nav.pages [aria-current=page]'), \
        href('.neighbours [rel=prev]'), href('.neighbours [rel=next]')];";

#[tokio::test]
async fn the_header_names_the_page_that_is_shown_and_previous_and_next_lead_on() {
    let page = Visit::to_the_empty_page().open().await;
    let home = page.server.origin() + FOLDER;
    for (at, name) in PAGES.into_iter().enumerate() {
        page.go(&format!("{FOLDER}{name}?v=4&gpus=64")).await;
        let beside = |at: Option<usize>| at.and_then(|at| PAGES.get(at)).map(|page| format!("{home}{page}"));
        let all: Vec<_> = PAGES.iter().map(|page| format!("{home}{page}")).collect();
        let one = |page: Option<String>| page.into_iter().collect::<Vec<_>>();
        let (before, after) = (one(beside(at.checked_sub(1))), one(beside(Some(at + 1))));
        let wanted = json!([all, [format!("{home}{name}")], before, after]);
        assert_eq!(page.script(PLACE, vec![]).await, wanted, "/{name}");
    }
    page.close().await;
}

/// Every way to another page of the site that is not a file and opens no configuration of its own: where it leads, and
/// what it takes along.
const WAYS: &str = "const root = arguments[0]; \
    return [...document.querySelectorAll('a[href]:not(.embed-link a, [data-opens])')].map((one) => new URL(one.href)) \
        .filter(({ href, pathname }) => href.startsWith(root) && pathname.endsWith('/') && pathname !== location.pathname) \
        .map(({ href, search }) => [href, search]);";

async fn ways(page: &Page) -> Vec<(String, String)> {
    let root = page.server.origin() + FOLDER;
    serde_json::from_value(page.script(WAYS, vec![json!(root)]).await).expect("addresses")
}

async fn every_way_takes(page: &Page, query: &str) {
    let ways = ways(page).await;
    assert!(ways.len() >= PAGES.len(), "{ways:?}");
    for (way, takes) in ways {
        assert_eq!(takes, format!("?{query}"), "{way}");
    }
}

#[tokio::test]
async fn the_configuration_travels_along_every_way_to_another_page() {
    let page = Visit::to_the_empty_page().open().await;
    let (before, after) = ("v=4&model=13b&gpus=64", "v=4&model=70b&gpus=512&recompute=full");
    for name in PAGES {
        page.go(&format!("{FOLDER}{name}?{before}")).await;
        page.wait_for_the_frame().await;
        every_way_takes(&page, before).await;
        // However it was changed.
        page.script("postMessage({ bmax: 1, type: 'set', scenario: arguments[0] }, '*');", vec![json!(after)]).await;
        // The workshop's page says whose count it shows; its ways do not.
        let says = if name == "workshop/" { "&method=ledger" } else { "" };
        page.until_query(&format!("{after}{says}")).await;
        every_way_takes(&page, after).await;
    }
    page.close().await;
}

#[tokio::test]
async fn what_was_changed_a_moment_ago_travels_along_too_by_pointer_and_by_keyboard() {
    // Without the timer that lets the address follow, as if no time passed.
    let at_once = "const later = setTimeout; \
        window.setTimeout = (then, time, ...rest) => time >= 200 ? 0 : later(then, time, ...rest);";
    let link = "document.querySelector('nav.pages a[href*=\"/memory/\"]')";
    let answer = expected::answer(&expected::scenario("s=4096&gpus=64"));
    for way in ["pointer", "keyboard"] {
        let page = Page::open("?v=4&gpus=64").await;
        page.script(at_once, vec![]).await;
        page.figure("calculator").fill("Sequence length S", "4096").await;
        page.part("#answer-bar").shows("bar-answer", &answer).await;
        assert_eq!(page.query().await, "v=4&gpus=64", "by {way}, the address has not followed");
        page.script("for (const menu of document.querySelectorAll('.pages details')) menu.open = true;", vec![]).await;
        if way == "keyboard" {
            page.script(
                &format!("{link}.focus(); {link}.dispatchEvent(new FocusEvent('focusin', {{ bubbles: true }}));"),
                vec![],
            )
            .await;
        } else {
            let press = format!("{link}.dispatchEvent(new PointerEvent('pointerdown', {{ bubbles: true }}));");
            page.script(&press, vec![]).await;
        }
        let leads = page.script(&format!("return {link}.search;"), vec![]).await;
        assert_eq!(leads, "?v=4&s=4096&gpus=64", "by {way}");
        if way == "keyboard" {
            page.press(key::ENTER).await;
        } else {
            page.script(&format!("{link}.click();"), vec![]).await;
        }
        let path = format!("{FOLDER}memory/");
        page.until_script("the other page", "return location.pathname;", json!(path)).await;
        page.wait_for_the_frame().await;
        assert_eq!(page.query().await, "v=4&s=4096&gpus=64");
        page.part("#answer-bar").shows("bar-answer", &answer).await;
        page.close().await;
    }
}

#[tokio::test]
async fn without_javascript_every_page_can_be_read_and_leads_to_the_others() {
    let page = Visit::to("").without_scripts().open().await;
    for name in PAGES {
        page.go(&format!("{FOLDER}{name}")).await;
        let ways: BTreeSet<_> = ways(&page).await.into_iter().map(|(way, _)| way).collect();
        let home = page.server.origin() + FOLDER;
        for other in PAGES.into_iter().filter(|other| *other != name) {
            assert!(ways.contains(&format!("{home}{other}")), "/{name} has no way to /{other}");
        }
        let words = "return document.querySelector('main').innerText.split(/\\s+/).length;";
        assert!(page.script(words, vec![]).await.as_u64() > Some(100), "/{name} has no text");
    }
    page.close().await;
}

#[tokio::test]
async fn an_address_of_no_page_is_answered_with_the_pages_and_keeps_the_configuration() {
    let page = Visit::to_the_empty_page().open().await;
    let home = page.server.origin() + FOLDER;
    let offered = "return [...document.querySelectorAll('main a')].map((one) => one.href);";
    for address in ["no-such-page", "no-such-page/", "memory/no/such/page", "memory/step.html"] {
        let query = "?v=4&model=13b&gpus=64";
        page.go(&format!("{FOLDER}{address}{query}#step")).await;
        let wanted: Vec<_> = PAGES.iter().map(|page| format!("{home}{page}{query}")).collect();
        page.until_script(&format!("the pages at {address}"), offered, json!(wanted)).await;
        page.part("h1").says("no page at this address").await;
    }
    page.script("document.querySelector('main a[href*=\"gpus/\"]').click();", vec![]).await;
    page.until_script("the page", "return location.pathname;", json!(format!("{FOLDER}gpus/"))).await;
    page.wait_for_the_frame().await;
    assert_eq!(page.query().await, "v=4&model=13b&gpus=64");
    // Its names contain what other names begin with, and it stands where no files are.
    page.go("/course/elsewhere").await;
    page.go(BLANK).await;
    // The browser tells its console of every answer of this kind.
    page.complaints().await;
    page.close().await;
}

#[tokio::test]
async fn a_page_is_found_without_its_last_slash() {
    let page = Page::open("memory?v=4&gpus=64").await;
    let there = "return location.pathname + location.search;";
    assert_eq!(page.script(there, vec![]).await, json!(format!("{FOLDER}memory/?v=4&gpus=64")));
    page.close().await;
}

#[tokio::test]
async fn the_contents_of_each_page_lead_to_its_sections() {
    let page = Visit::to_the_empty_page().open().await;
    for name in PAGES {
        page.go(&format!("{FOLDER}{name}")).await;
        let unlisted = "const listed = [...document.querySelectorAll('.toc a')].map((one) => one.getAttribute('href')); \
            return [...document.querySelectorAll('main > section[id]')].map((one) => `#${one.id}`) \
                .filter((id) => !listed.includes(id));";
        assert_eq!(page.script(unlisted, vec![]).await, Value::Array(vec![]), "/{name}");
    }
    page.close().await;
}

/// The ways of a page that can be seen, once its header has been pressed at most once.
const IN_ONE_PRESS: &str = "const seen = () => [...document.querySelectorAll('a[href]')] \
        .filter((one) => one.checkVisibility({ contentVisibilityAuto: false, visibilityProperty: true })) \
        .map((one) => one.href.split(/[?#]/)[0]); \
    const ways = new Set(seen()); \
    for (const menu of document.querySelectorAll('.pages details')) { \
        if (!menu.firstElementChild.checkVisibility()) continue; \
        menu.open = true; \
        for (const way of seen()) ways.add(way); \
        menu.open = false; \
    } \
    return [...ways];";

#[tokio::test]
async fn every_page_is_two_presses_away_from_every_page_on_a_desk_and_on_a_phone() {
    let page = Visit::to_the_empty_page().open().await;
    let home = page.server.origin() + FOLDER;
    for (width, name) in [1440, 390].into_iter().flat_map(|width| PAGES.map(|name| (width, name))) {
        page.resize(width, 900).await;
        page.go(&format!("{FOLDER}{name}")).await;
        let ways: BTreeSet<String> =
            serde_json::from_value(page.script(IN_ONE_PRESS, vec![]).await).expect("addresses");
        let lost: Vec<_> = PAGES.iter().filter(|other| !ways.contains(&format!("{home}{other}"))).collect();
        assert!(lost.is_empty(), "{width} px, /{name}: {lost:?}");
    }
    page.close().await;
}

#[tokio::test]
async fn a_menu_folds_up_by_escape_by_a_press_elsewhere_and_when_the_keyboard_leaves_it() {
    let page = Page::open("memory/").await;
    // Where a browser cannot lay the pages out in the row, all of them are one menu.
    let summary = "[...document.querySelectorAll('.pages summary')].find((one) => one.checkVisibility())";
    let open = &format!("return {summary}.parentElement.open;");
    let unfold = async || {
        page.script(&format!("{summary}.click(); {summary}.focus();"), vec![]).await;
        assert_eq!(page.script(open, vec![]).await, json!(true));
    };
    unfold().await;
    page.press(key::ESCAPE).await;
    assert_eq!(page.script(open, vec![]).await, json!(false));
    assert_eq!(page.script(&format!("return document.activeElement === {summary};"), vec![]).await, json!(true));
    unfold().await;
    page.script(
        "document.querySelector('h1').dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }));",
        vec![],
    )
    .await;
    assert_eq!(page.script(open, vec![]).await, json!(false));
    unfold().await;
    // More than the ways of one menu that has all of them.
    page.press(&key::TAB.repeat(24)).await;
    page.until_script("the menu to fold up", open, json!(false)).await;
    page.close().await;
}

#[tokio::test]
async fn the_header_is_one_row_on_a_desk_on_a_tablet_and_on_a_phone() {
    let page = Visit::to_the_empty_page().open().await;
    for (width, name) in [(1440, ""), (1024, "memory/"), (768, "questions/"), (390, ""), (360, "teach/")] {
        page.resize(width, 900).await;
        page.go(&format!("{FOLDER}{name}")).await;
        page.wait_for_the_frame().await;
        let height = page.script("return document.querySelector('.site-header').offsetHeight;", vec![]).await;
        assert!(height.as_f64().is_some_and(|height| height < 64.0), "{width} px, /{name}: {height} px");
    }
    page.close().await;
}

#[tokio::test]
async fn the_catalogue_is_a_page_of_the_site_whose_rows_open_the_calculator() {
    let page = Visit::to_the_empty_page().open().await;
    page.go(&format!("{FOLDER}catalogue.html?v=4&gpus=64")).await;
    let frame = "return ['.site-header .pages a', '[data-search]', '.theme-switch', '.site-footer a'] \
        .map((one) => !!document.querySelector(one));";
    assert_eq!(page.script(frame, vec![]).await, json!([true, true, true, true]));
    // No program and no figure, and a configuration that goes on to the other pages.
    assert!(!page.server.requests().iter().any(|path| path.contains(".wasm")));
    let way = "return document.querySelector('.pages a[href*=\"memory/\"]').search;";
    assert_eq!(page.script(way, vec![]).await, json!("?v=4&gpus=64"));
    let (model, gpu) = (bmax::catalogue::MODELS.len(), bmax::catalogue::DEVICES.len());
    let rows = "return ['model', 'gpu'].map((key) => \
        document.querySelectorAll(`main a[href*=\"${key}=\"][href*=\"#calculator\"]`).length);";
    assert_eq!(page.script(rows, vec![]).await, json!([model, gpu]));
    page.script("document.querySelector('main a[href*=\"gpu=rtx-4090\"]').click();", vec![]).await;
    page.until_script("the calculator", "return location.hash;", json!("#calculator")).await;
    page.wait_for_the_frame().await;
    assert_eq!(page.query().await, "v=4&gpu=rtx-4090");
    page.close().await;
}

#[tokio::test]
async fn a_page_without_the_program_has_the_theme_that_was_chosen_and_can_choose_another() {
    let page = Visit::to_the_empty_page().open().await;
    page.go(&format!("{FOLDER}catalogue.html")).await;
    page.all().press("Theme: auto. Switch to light.").await;
    page.all().press("Theme: light. Switch to dark.").await;
    page.go(&format!("{FOLDER}teach/")).await;
    page.wait_for_the_frame().await;
    assert_eq!(page.script("return document.documentElement.dataset.theme;", vec![]).await, json!("dark"));
    page.go(&format!("{FOLDER}no/such/page")).await;
    page.all().press("Theme: dark. Switch to auto.").await;
    assert_eq!(page.script("return localStorage.getItem('bmax-theme');", vec![]).await, json!(null));
    page.complaints().await;
    page.close().await;
}
