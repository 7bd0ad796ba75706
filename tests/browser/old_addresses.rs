//! Addresses from the time when everything was one page lead to the page that now has what they name.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::host::Host;
use crate::support::{BLANK, FOLDER, PAGES, Page, Visit, data_behind, dist, figures_of, html, page_of};

/// What could be named then: fragments, and figures.
const PLACES: &str = include_str!("../links/places.json");

fn places(kind: &str) -> Vec<String> {
    let all: Value = serde_json::from_str(PLACES).expect("places.json is JSON");
    let names = all[kind].as_array().unwrap_or_else(|| panic!("a list of {kind}"));
    names.iter().map(|name| name.as_str().expect("a name").to_owned()).collect()
}

/// The pages that have an element with this id.
fn pages_with(id: &str) -> Vec<&'static str> {
    let has = |page: &&str| html(page).contains(&format!(" id=\"{id}\""));
    PAGES.into_iter().filter(has).collect()
}

/// The page to which a fragment leads from the first one, as that knows the places of all pages.
fn leads_to(pages: &Value, id: &str) -> Option<&'static str> {
    // What begins like a place, with more behind a dash, is on its page, and what has the name of a figure on that of the
    // figure; sources and terms have one of their own.
    let has = |page: &str, start: &str| {
        let mut known = pages[page].as_str().unwrap_or_default().split(' ');
        known.any(|known| known == start || known.strip_prefix("embed-") == Some(start))
    };
    match id.split_once('-') {
        Some(("source", _)) => Some("sources/"),
        Some(("term", _)) => Some("questions/"),
        _ => {
            let starts = std::iter::successors(Some(id), |start| Some(start.rsplit_once('-')?.0));
            starts.filter_map(|start| PAGES.into_iter().find(|page| has(page, start))).next()
        }
    }
}

/// The places of all pages, as the first page knows them.
fn known_places() -> Value {
    data_behind("pages=", &html(""))
}

#[test]
fn every_old_fragment_and_figure_leads_to_the_first_page_that_has_it() {
    let (fragments, figures) = (places("fragments"), places("figures"));
    assert!(fragments.len() > 190 && figures.len() == 29, "{} and {}", fragments.len(), figures.len());
    let figures = figures.iter().map(|name| format!("embed-{name}"));
    let all: Vec<_> = fragments.into_iter().chain(figures).collect();
    let lost: Vec<_> = all.iter().filter(|id| pages_with(id).is_empty()).collect();
    assert_eq!(lost, Vec::<&String>::new());
    let pages = known_places();
    for id in all {
        assert_eq!(leads_to(&pages, &id), Some(pages_with(&id)[0]), "{id}");
    }
}

#[test]
fn what_the_first_page_had_before_the_workshop_had_its_own_leads_to_a_page_that_has_it() {
    let pages = known_places();
    let all = places("first page");
    assert!(all.len() > 100, "{}", all.len());
    for id in all {
        let found = leads_to(&pages, &id).unwrap_or_else(|| panic!("#{id} leads nowhere"));
        let there = pages_with(&id);
        // What a figure had inside may be gone; its figure is not.
        assert!(there.is_empty() || there.contains(&found), "#{id} leads to /{found}, and is on {there:?}");
    }
}

/// Notes in the window's name, which outlives a page, every address at which anything could be seen.
const SEEN: &str = "if (self === top) { \
    const note = () => { \
        const here = `${location.pathname}${location.search} `; \
        if (!name.includes(here)) name += here; \
    }; \
    const look = () => { \
        if (document.querySelector('main, h1')?.checkVisibility()) note(); \
        requestAnimationFrame(look); \
    }; \
    requestAnimationFrame(look); \
    new PerformanceObserver(note).observe({ type: 'paint', buffered: true }); \
}";

/// A browser that notes what is seen, and in which no program starts: here only addresses matter.
async fn watching() -> Page {
    let page = Visit::to_the_empty_page().open().await;
    page.before_every_page(SEEN).await;
    page.devtools("Network.enable", json!({})).await;
    page.devtools("Network.setBlockedURLs", json!({ "urls": ["*.js", "*.wasm"] })).await;
    page
}

/// Goes to an address of the first page, and waits until that has led to the page that is wanted, with this query and
/// fragment. On the way only the two pages are asked for, and only the last one is seen.
async fn leads(page: &Page, query: &str, fragment: &str, wanted: (&str, &str)) {
    let (page_wanted, fragment_wanted) = wanted;
    page.go(BLANK).await;
    page.script("name = '';", vec![]).await;
    let before = page.server.requests().len();
    page.go(&format!("{FOLDER}?{query}#{fragment}")).await;
    let path = format!("{FOLDER}{page_wanted}");
    let seen = "const seen = name.split(' ').filter((one) => one.endsWith(location.search)); \
        return [location.pathname, location.search, location.hash, seen];";
    let wanted = json!([path, format!("?{query}"), fragment_wanted, [format!("{path}?{query}")]]);
    page.until_script(&format!("#{fragment} to lead to /{page_wanted}"), seen, wanted).await;
    let asked = page.server.requests().split_off(before);
    let pages = |asked: &String| asked.split('?').next().filter(|path| path.ends_with('/')).map(str::to_owned);
    let hops: &[&str] = if page_wanted.is_empty() { &[FOLDER] } else { &[FOLDER, &path] };
    assert_eq!(asked.iter().filter_map(pages).collect::<Vec<_>>(), hops, "?{query}#{fragment}");
}

/// Loads addresses in frames that are not displayed, which costs no layout, and tells where each has led.
const LED: &str = "const [all, done] = arguments; \
    const led = async ([address, path]) => { \
        const frame = document.createElement('iframe'); \
        frame.hidden = true; \
        frame.src = address; \
        document.body.append(frame); \
        let seen; \
        for (let left = 500; left > 0; left -= 1) { \
            await new Promise((then) => setTimeout(then, 20)); \
            const { location: at, document: there } = frame.contentWindow; \
            seen = [at.pathname, at.search, at.hash]; \
            if (at.pathname === path && there.readyState === 'complete') break; \
        } \
        frame.remove(); \
        return seen; \
    }; \
    const seen = []; \
    const ways = [...all.entries()]; \
    const next = async () => { \
        for (let way; (way = ways.shift()); ) seen[way[0]] = await led(way[1]); \
    }; \
    Promise.all([next(), next(), next(), next()]).then(() => done(seen));";

/// Holds that each of these queries, which no two have in common, and fragments leads to a page in one hop, where the
/// fragment is this one.
async fn all_lead(ways: &[(String, String, &str, String)]) {
    let page = watching().await;
    // What leads on is in the head, and hundreds of pages take their time.
    let heads = dist().iter().filter(|(name, _)| name.ends_with("index.html")).map(|(name, bytes)| {
        let html = String::from_utf8_lossy(bytes);
        let (head, _) = html.split_once("<body").expect("a page has a body");
        (name.clone(), head.as_bytes().to_vec())
    });
    page.server.publish(FOLDER, heads.collect());
    for ways in ways.chunks(30) {
        let asked = page.server.requests().len();
        let addresses: Vec<_> = ways
            .iter()
            .map(|(query, fragment, wanted, _)| {
                json!([format!("{FOLDER}?{query}#{fragment}"), format!("{FOLDER}{wanted}")])
            })
            .collect();
        let seen = page.script_async(LED, vec![json!(addresses)]).await;
        let wanted: Vec<_> = ways
            .iter()
            .map(|(query, _, wanted, hash)| json!([format!("{FOLDER}{wanted}"), format!("?{query}"), hash]))
            .collect();
        assert_eq!(seen, json!(wanted));
        let asked = page.server.requests().split_off(asked);
        for (query, _, wanted, _) in ways {
            let hops = asked.iter().filter(|asked| asked.ends_with(&format!("?{query}"))).count();
            assert_eq!(hops, if wanted.is_empty() { 1 } else { 2 }, "{query}");
        }
    }
    page.complaints().await;
    page.close().await;
}

#[tokio::test]
async fn every_old_fragment_leads_to_its_page_in_one_hop_with_query_and_fragment() {
    let way = |(gpus, id): (u32, String)| {
        // What no page has is the matter of the test above.
        let wanted = *pages_with(&id).first()?;
        Some((format!("v=3&model=13b&x=%3Cb%3E&gpus={gpus}"), id.clone(), wanted, format!("#{id}")))
    };
    all_lead(&(8..).zip(places("fragments")).filter_map(way).collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn every_figure_s_old_address_leads_to_its_page_in_one_hop_with_its_options() {
    let way = |name: String| {
        let query = format!("embed={name}&controls=off&theme=dark&v=3&gpus=64");
        (query, format!("embed-{name}"), page_of(&name), String::new())
    };
    all_lead(&places("figures").into_iter().map(way).collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn on_the_way_to_another_page_nothing_of_the_first_is_seen() {
    let page = watching().await;
    for wanted in PAGES {
        // A page that is newer than the one page has none of its places.
        let Some(fragment) = places("fragments").into_iter().find(|id| pages_with(id) == [wanted]) else { continue };
        leads(&page, "v=3&model=13b&x=%3Cb%3E", &fragment, (wanted, &format!("#{fragment}"))).await;
        let target = "return document.querySelector(':target')?.id ?? null;";
        page.until_script("the place to be the target", target, json!(fragment)).await;
        let Some(name) = figures_of(wanted).into_iter().next() else { continue };
        leads(&page, &format!("embed={name}&v=3&gpus=64"), &format!("embed-{name}"), (wanted, "")).await;
        let alone = "return [document.documentElement.dataset.embed, \
            [...document.querySelectorAll('main [data-figure]')].map((one) => one.dataset.figure).join()];";
        assert_eq!(page.script(alone, vec![]).await, json!([name, name]));
    }
    page.complaints().await;
    page.close().await;
}

#[tokio::test]
async fn a_sandboxed_frame_is_led_to_the_page_too() {
    let host = Host::with("").await;
    host.page.devtools("Network.enable", json!({})).await;
    host.page.devtools("Network.setBlockedURLs", json!({ "urls": ["*.js", "*.wasm"] })).await;
    // A figure of each page, and its first section.
    for wanted in &PAGES[1..] {
        let figure = figures_of(wanted).into_iter().next();
        let fragment = places("fragments").into_iter().find(|id| pages_with(id) == [*wanted]);
        let addresses =
            [figure.map(|name| format!("?embed={name}&v=3&gpus=64")), fragment.map(|id| format!("?v=3&gpus=64#{id}"))];
        for address in addresses.into_iter().flatten() {
            let frame = format!("<iframe title=figure sandbox=allow-scripts src='{FOLDER}{address}'></iframe>");
            host.show(&frame).await;
            let led = format!("{}{FOLDER}{wanted}{address}", host.page.server.origin());
            host.page
                .until(&format!("{address} to lead to {led}"), async || {
                    let seen =
                        host.inside(0, "return document.readyState === 'complete' ? location.href : null;").await;
                    if seen == json!(led) { Ok(()) } else { Err(seen) }
                })
                .await;
        }
    }
    host.page.complaints().await;
    host.close().await;
}

#[tokio::test]
async fn a_fragment_that_names_nothing_scrolls_nowhere_and_says_nothing() {
    let page = Visit::to_the_empty_page().open().await;
    let hostile = ["__proto__", "toString", "%zz", "%3Cimg%20src=x%3E", "embed-nothing", "opening step"];
    for (at, fragments) in [("", &["nothing"][..]), ("memory/", &["nothing"]), ("questions/", &hostile)] {
        for fragment in fragments {
            page.go(BLANK).await;
            page.go(&format!("{FOLDER}{at}?v=3&gpus=64#{fragment}")).await;
            page.wait_for_figures().await;
            let seen = "return [location.pathname, location.search, scrollY, \
                document.getElementById('notices').innerText.trim()];";
            let wanted = json!([format!("{FOLDER}{at}"), "?v=3&gpus=64", 0, ""]);
            assert_eq!(page.script(seen, vec![]).await, wanted, "{at}#{fragment}");
        }
    }
    page.close().await;
}

#[tokio::test]
async fn an_unknown_figure_is_answered_with_the_list_of_all_on_whatever_page_it_is_asked_for() {
    let page = Visit::to_the_empty_page().open().await;
    // A figure of several pages is listed once.
    let figures: BTreeSet<_> = PAGES.into_iter().flat_map(figures_of).collect();
    for at in ["", "room/"] {
        page.go(&format!("{FOLDER}{at}?embed=nothing&v=3&gpus=64")).await;
        page.part("main").says("no figure called “nothing”").await;
        let listed = "return [...document.querySelectorAll('main li a')].map((one) => [one.textContent, one.href]);";
        let listed: Vec<(String, String)> = serde_json::from_value(page.script(listed, vec![]).await).expect("links");
        for name in &figures {
            let (page_of, origin) = (page_of(name), page.server.origin());
            let way = format!("{origin}{FOLDER}{page_of}?embed={name}&v=3&gpus=64");
            assert!(listed.contains(&(name.clone(), way.clone())), "{way} is not among {listed:?}");
        }
        // The tour is no figure, and is embedded like one.
        assert!(listed.iter().any(|(name, _)| name == "tour"), "{listed:?}");
        assert_eq!(listed.len(), figures.len() + 1);
    }
    page.close().await;
}
