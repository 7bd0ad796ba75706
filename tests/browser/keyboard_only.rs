//! Everything without a mouse: reached, seen, used, and left again.

use std::cell::RefCell;

use crate::support::{PAGES, Page, Visit, expected, key};
use serde_json::Value;

/// Notes what has the focus each time that a key is let go: a name for it, whether the eye can tell, and whether something
/// covers it; nothing where nothing has it.
const NOTE: &str = "window.noted = []; \
    window.reached = []; \
    const ringed = (element) => { \
        if (!element) return false; \
        const style = getComputedStyle(element); \
        return (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== 'none'; \
    }; \
    addEventListener('keyup', () => { \
        const at = document.activeElement; \
        if (!at || at === document.body || at === document.documentElement) return noted.push(null); \
        const box = at.getBoundingClientRect(); \
        const shown = at.type === 'radio' ? at.closest('label') : at; \
        const place = shown.getBoundingClientRect(); \
        const points = [[.5, .5], [.1, .5], [.9, .5], [.5, .1], [.5, .9]] \
            .map(([x, y]) => document.elementFromPoint(place.left + place.width * x, place.top + place.height * y)); \
        const again = reached.at(-1) === at; \
        noted.push({ \
            control: controls.indexOf(at), \
            again, \
            place: reached.push(at) - 1, \
            figure: at.closest('[data-figure], .answer-bar, .site-header, .notices, .toc')?.dataset.figure ?? null, \
            what: `${at.tagName.toLowerCase()} ${at.id ? '#' + at.id : ''} ${(at.getAttribute('aria-label') ?? at.innerText ?? '').slice(0, 40)}`, \
            ringed: ringed(at) || ringed(at.nextElementSibling) || ringed(at.closest('label')), \
            covered: box.width > 0 && !points.some((hit) => hit && (shown.contains(hit) || hit.contains(shown))), \
        }); \
    }, true);";

/// Every element that Tab should reach: of a group of radio buttons, the chosen one. They are kept in `controls` and known by
/// their place there, because lists are made when the focus comes to them.
const REACHABLE: &str = "window.controls = [...document.querySelectorAll('*')].filter((one) => one.tabIndex >= 0 && !one.disabled \
            && one.matches('a[href], button, input, select, textarea, summary, [tabindex]') \
            && one.checkVisibility({ visibilityProperty: true }) \
            && (one.type !== 'radio' || one.checked)); \
    return controls.map((one, place) => [place, one.outerHTML.slice(0, 120)]);";

/// Presses Tab until the focus leaves the document, and returns what it went through.
async fn tab_through(page: &Page) -> Vec<Value> {
    page.script(NOTE, vec![]).await;
    let mut seen: Vec<Value> = Vec::new();
    let mut again = 0;
    while seen.len() < 600 {
        page.press(&key::TAB.repeat(20)).await;
        let noted = page.script("return noted.splice(0);", vec![]).await;
        for focused in noted.as_array().expect("a list") {
            if focused.is_null() || seen.first().is_some_and(|first| first["control"] == focused["control"]) {
                return seen;
            }
            // One press may be lost while a list is on its way.
            again = if focused["again"] == true { again + 1 } else { 0 };
            assert!(again < 3, "the focus is trapped at {focused}");
            seen.push(focused.clone());
        }
    }
    panic!("the focus goes round and round: {:?}", &seen[590..]);
}

#[tokio::test]
async fn tab_reaches_every_control_once_visibly_and_leaves_again() {
    let seen = every_control_is_reached("").await;
    for figure in ["answer", "chart", "levers", "calculator"] {
        assert!(seen.iter().any(|focused| focused["figure"] == figure), "Tab reaches nothing in {figure}");
    }
}

#[tokio::test]
async fn tab_reaches_every_control_of_the_other_pages_too() {
    for name in &PAGES[1..] {
        every_control_is_reached(name).await;
    }
}

/// Goes through a page by Tab and returns what it came to.
async fn every_control_is_reached(name: &str) -> Vec<Value> {
    // The window then jumps to the focus and does not glide.
    let page = Visit::to(name).preferring("prefers-reduced-motion", "reduce").open().await;
    let reachable = page.script(REACHABLE, vec![]).await;
    let seen = tab_through(&page).await;
    assert!(seen[0]["what"].as_str().is_some_and(|what| what.contains("Skip to the text")), "{}", seen[0]);
    for control in reachable.as_array().expect("a list") {
        assert!(
            seen.iter().any(|focused| focused["control"] == control[0]),
            "/{name}: Tab never reaches {}",
            control[1]
        );
    }
    for focused in &seen {
        assert_eq!(focused["covered"], false, "/{name}: something covers the focus on {focused}");
        let shown = focused["ringed"] == true || looks_different(&page, &focused["place"]).await;
        assert!(shown, "/{name}: nothing shows the focus on {focused}");
    }
    page.close().await;
    seen
}

/// Whether the window looks different with the focus on an element, for parts such as the thumb of a slider, whose
/// style no script can ask for. Pictures are taken until two are alike: then nothing moves any more.
async fn looks_different(page: &Page, place: &Value) -> bool {
    let still = async || {
        let last = RefCell::new(Vec::new());
        page.until("the window to stand still", async || {
            let picture = page.client.screenshot().await.expect("a picture");
            let before = last.replace(picture.clone());
            if before == picture { Ok(picture) } else { Err("it moves") }
        })
        .await
    };
    let focus = "window.at = reached[arguments[0]]; \
        window.focus(); \
        at.focus({ focusVisible: true }); \
        at.scrollIntoView({ block: 'center', behavior: 'instant' });";
    page.script(focus, vec![place.clone()]).await;
    let with = still().await;
    page.script("at.blur();", vec![]).await;
    with != still().await
}

#[tokio::test]
async fn the_skip_link_leads_to_the_text() {
    let page = Page::open("").await;
    page.press(key::TAB).await;
    page.press(key::ENTER).await;
    page.until_script("the text to have the focus", "return document.activeElement.id;", "main".into()).await;
    page.press(key::TAB).await;
    let inside = "return document.getElementById('main').contains(document.activeElement);";
    page.until_script("the next stop to be in the text", inside, true.into()).await;
    page.close().await;
}

#[tokio::test]
async fn the_first_row_of_a_list_is_picked_by_key_as_any_other() {
    let page = Page::about("swapping", "").await;
    let figure = page.figure("swapping");
    figure.focus("combobox", "Swapped from every layer").await;
    for (way, row) in [(key::UP, "0"), (key::DOWN, "1"), (key::UP, "0")] {
        let before = figure.text("seconds").await;
        page.press(way).await;
        page.until("the schedule to follow", async || {
            let now = figure.text("seconds").await;
            if now == before { Err(now) } else { Ok(()) }
        })
        .await;
        assert_eq!(figure.value("combobox", "Swapped from every layer").await, row);
    }
    page.close().await;
}

#[tokio::test]
async fn a_configuration_can_be_made_without_a_mouse() {
    let page = Page::open("").await;
    let calculator = page.figure("calculator");
    let bar = page.part("#answer-bar");
    let field = bar.focus("combobox", "Model").await;
    // What was there is marked, so that what is typed takes its place.
    page.press("13B").await;
    page.until("the row", async || bar.pointed(&field).await.filter(|row| row.starts_with("13B")).ok_or("another"))
        .await;
    page.press(key::ENTER).await;
    page.until_query("v=4&model=13b").await;

    calculator.focus("radio", "Workshop").await;
    page.press(key::RIGHT).await;
    page.until_query("v=4&model=13b&method=paper").await;

    calculator.fill("Number of GPUs", "64").await;
    page.press(key::TAB).await;
    let query = "v=4&model=13b&gpus=64&method=paper";
    page.until_query(query).await;
    page.part("#answer-bar").shows("bar-answer", &expected::answer(&expected::scenario(query))).await;

    // The button of a field that was changed can be pressed with the space bar.
    page.until_script(
        "the reset button to follow its field",
        "return document.activeElement.ariaLabel;",
        "Reset Number of GPUs to 8".into(),
    )
    .await;
    page.press(key::SPACE).await;
    page.until_query("v=4&model=13b&method=paper").await;
    page.close().await;
}
