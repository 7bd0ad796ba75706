//! One figure alone in somebody else's page.

use crate::fixed_height::says_it_first;
use crate::support::host::{Host, frame, frame_at, sandboxed};
use crate::support::{FOLDER, PAGES, Page, Visit, expected, figures_of, page_of};
use bmax::embed::{Embed, Theme};
use bmax::link;
use serde_json::{Value, json};

/// The names of all figures of the site.
fn figures() -> Vec<String> {
    let names: Vec<_> = PAGES.into_iter().flat_map(figures_of).collect();
    assert!(names.len() > 25, "{names:?}");
    names
}

/// What is wrong with an embed as seen from inside: other parts of the page, names that lead nowhere, overflow.
const WRONG: &str = "const wrong = []; \
    const own = document.documentElement.dataset.embed; \
    const figures = [...document.querySelectorAll('[data-figure]:not([data-figure] *)')].map((one) => one.dataset.figure); \
    if (figures.join() !== own) wrong.push(`figures: ${figures}`); \
    const bar = own === 'answer' ? '' : '#answer-bar, '; \
    const others = [...document.querySelectorAll(bar + '.toc, .site-header, .site-footer, .skip-link, main > section > :not(figure)')]; \
    wrong.push(...others.map((one) => `still there: ${one.outerHTML.slice(0, 80)}`)); \
    const ids = [...document.querySelectorAll('[id]')].map((one) => one.id); \
    wrong.push(...ids.filter((id, place) => ids.indexOf(id) !== place).map((id) => `twice: ${id}`)); \
    for (const name of ['aria-labelledby', 'aria-describedby', 'aria-controls', 'for']) \
        for (const one of document.querySelectorAll(`[${name}]`)) \
            wrong.push(...one.getAttribute(name).split(' ').filter((id) => !ids.includes(id)).map((id) => `${name}: ${id}`)); \
    if (document.documentElement.scrollWidth > innerWidth) wrong.push(`${document.documentElement.scrollWidth} px wide`); \
    const headings = document.querySelectorAll('h1'); \
    if (headings.length !== 1 || !document.title.startsWith(headings[0].textContent)) wrong.push(document.title); \
    if (location.hash) wrong.push(location.hash); \
    return wrong;";

#[tokio::test]
async fn every_figure_is_shown_alone_as_high_as_it_tells_in_a_narrow_frame_and_in_one_of_600_pixels() {
    let host = Host::with("").await;
    for name in figures() {
        let query = format!("embed={name}&v=4#embed-{name}");
        host.show(&frame_at(page_of(&name), &query, "sandbox=allow-scripts")).await;
        let height = host.settled(0).await;
        assert_eq!(host.inside(0, WRONG).await, json!([]), "{name}");
        let told = host.heard(0, "size").await;
        assert!(told.iter().all(|size| size["figure"] == json!(name)), "{name}: {told:?}");
        // In a frame of that height nothing is cut off and nothing scrolls, and the frame asks for no other.
        let fit = "document.querySelector('iframe').style.height = `${arguments[0]}px`;";
        host.page.script(fit, vec![json!(height)]).await;
        let fits = "return document.documentElement.scrollHeight === innerHeight;";
        host.page
            .until(&format!("{name} to fit"), async || {
                let (fits, height) = (host.inside(0, fits).await, host.settled(0).await);
                if fits == json!(true) { Ok(()) } else { Err(height) }
            })
            .await;
        assert_eq!(host.settled(0).await, height, "{name}");
        host.resize(280, 600).await;
        host.settled(0).await;
        assert_eq!(host.inside(0, WRONG).await, json!([]), "{name} in a narrow frame");
        says_it_first(&host, &name).await;
    }
    host.close().await;
}

#[tokio::test]
async fn two_figures_on_one_page_have_nothing_to_do_with_each_other() {
    let [first, second] = ["v=4", "v=4&model=1b&gpus=1&zero=0"];
    let body = [first, second].map(|query| sandboxed(&format!("embed=grow&{query}"))).concat();
    let host = Host::with(&body).await;
    let b_max = |query| json!(bmax::b_max(&expected::scenario(query)).batch());
    for (place, query) in [(0, first), (1, second)] {
        let answer = host.hears(place, "answer", |_| true).await;
        assert_eq!([&answer["link"], &answer["b_max"]], [&json!(query), &b_max(query)]);
        host.settled(place).await;
    }
    host.tell(0, json!({ "bmax": 1, "type": "change", "scenario": "recompute=none" })).await;
    host.hears(0, "answer", |answer| answer["link"] == json!(format!("{first}&recompute=none"))).await;
    assert_eq!(host.heard(1, "answer").await.len(), 1, "the other one has not moved");
    host.close().await;
}

#[tokio::test]
async fn a_frame_out_of_sight_tells_its_height_and_a_lazy_one_when_it_comes_near() {
    let body = |attribute| "<p style='height:9000px'></p>".to_owned() + &frame("embed=answer", attribute);
    let host = Host::with(&body("sandbox=allow-scripts")).await;
    host.settled(0).await;
    host.show(&body("sandbox=allow-scripts loading=lazy")).await;
    host.page.script("scrollTo({ top: 9000, behavior: 'instant' });", vec![]).await;
    host.settled(0).await;
    host.close().await;
}

#[tokio::test]
async fn the_height_follows_what_unfolds_and_the_width_of_the_frame() {
    let host = Host::with(&sandboxed("embed=sharding")).await;
    let folded = host.settled(0).await;
    host.inside(0, "document.querySelectorAll('details').forEach((one) => one.open = true);").await;
    let grown = |least: u64| move |size: &Value| size["height"].as_u64() > Some(least);
    host.hears(0, "size", grown(folded)).await;
    let open = host.settled(0).await;
    host.page.script("document.querySelector('iframe').width = 300;", vec![]).await;
    host.hears(0, "size", grown(open)).await;
    let narrow = host.settled(0).await;
    assert!(folded < open && open < narrow, "{folded}, {open}, {narrow}");
    host.close().await;
}

/// What could be operated and is there to be seen or to be focused: what is not displayed is neither.
const OPERABLE: &str = "return [...document.querySelectorAll('button, input, select, textarea, [data-desk]')] \
    .filter((one) => getComputedStyle(one).display !== 'none' && one.checkVisibility()) \
    .map((one) => one.outerHTML.slice(0, 120));";

#[tokio::test]
async fn without_controls_there_is_only_to_read() {
    let host = Host::with("").await;
    for name in ["answer", "grow", "calculator", "chart", "levers", "planner", "formats", "network", "quiz"] {
        host.show(&sandboxed(&format!("embed={name}&controls=off"))).await;
        host.settled(0).await;
        assert_eq!(host.inside(0, OPERABLE).await, json!([]), "{name}");
        assert_ne!(host.inside(0, "return document.querySelector('figure').innerText.length > 80;").await, false);
    }
    host.show(&sandboxed("embed=chart&controls=off")).await;
    host.settled(0).await;
    let click = "document.querySelector('canvas').dispatchEvent(new MouseEvent('click', \
        { bubbles: true, clientX: 500, clientY: 200 }));";
    host.inside(0, click).await;
    host.tell(0, json!({ "bmax": 1, "type": "ask" })).await;
    let asked = async || if host.heard(0, "answer").await.len() > 1 { Ok(()) } else { Err("no answer") };
    host.page.until("the answer", asked).await;
    assert!(host.heard(0, "answer").await.iter().all(|answer| answer["link"] == "v=4"), "a click changes nothing");
    host.close().await;
}

#[tokio::test]
async fn the_page_takes_the_options_that_the_library_reads() {
    let shown = "const { theme, controls, title } = document.documentElement.dataset; \
        const caption = document.querySelector('figcaption').getBoundingClientRect(); \
        const field = document.querySelector('input[type=range]'); \
        return [getComputedStyle(document.documentElement).colorScheme, field.checkVisibility(), caption.height > 9];";
    let host = Host::with("").await;
    for options in [
        "",
        "&controls=on&title=on&theme=auto",
        "&controls=off",
        "&title=off",
        "&theme=dark",
        "&theme=light&title=off&controls=off",
        "&height=300",
        "&height=0300",
        "&height=119&theme=sepia&title=no&controls=OFF",
        "&height=4001",
        "&height=1e3&theme=&title=&controls=",
        "&theme=dark&theme=light&title=off&title=on&height=200&height=300",
    ] {
        let query = format!("embed=grow{options}");
        let (embed, notices) = Embed::read(&query);
        let embed = embed.expect("a figure");
        host.show(&sandboxed(&query)).await;
        let size = match embed.height {
            Some(height) => host.hears(0, "size", |size| size["height"] == height).await["height"].clone(),
            None => host.settled(0).await.into(),
        };
        let mounted = "return document.querySelector('[data-mounted]') !== null;";
        host.page
            .until("the figure", async || if host.inside(0, mounted).await == true { Ok(()) } else { Err(()) })
            .await;
        let scheme = if embed.theme == Theme::Dark { "dark" } else { "light" };
        assert_eq!(host.inside(0, shown).await, json!([scheme, embed.controls, embed.title]), "{query}");
        assert!(embed.height.is_none_or(|height| size == height), "{query}: {size}");
        let said = host.inside(0, "return document.getElementById('notices').innerText;").await;
        for notice in &notices {
            assert!(said.as_str().is_some_and(|said| said.contains(&notice.to_string())), "{query}: {said}");
        }
    }
    host.close().await;
}

#[tokio::test]
async fn what_is_no_figure_is_named_beside_those_there_are() {
    let host = Host::with("").await;
    for given in ["nothing", "", "main", "swapping-gpu", "Chart", "\"]", "<img src=x onerror=alert(1)>", "__proto__"] {
        let mut query = form_urlencoded(given);
        query.push_str("&v=4&gpus=64");
        host.show(&sandboxed(&query)).await;
        host.settled(0).await;
        let text = host.inside(0, "return document.querySelector('main').innerText;").await;
        let text = text.as_str().unwrap_or_default();
        assert!(text.contains(&format!("“{given}”")), "{given}: {text}");
        for name in figures() {
            assert!(text.contains(&name), "{given}: {name} is not in the list");
        }
        let link = host.inside(0, "return document.querySelector('.embed-link a').getAttribute('href');").await;
        assert!(link.as_str().is_some_and(|link| link.contains("gpus=64")), "{link}");
        assert_eq!(host.inside(0, "return document.querySelectorAll('img, figure, script[src*=x]').length;").await, 0);
    }
    // One of the list leads to that figure.
    host.inside(0, "document.querySelector('main a[href*=\"=chart\"]').target = '_self';").await;
    let way = "return document.querySelector('main a[href*=\"=chart\"]').getAttribute('href');";
    assert_eq!(host.inside(0, way).await, format!("./{}?embed=chart&v=4&gpus=64", page_of("chart")));
    host.close().await;
}

/// The query string that asks for a figure by this text.
fn form_urlencoded(name: &str) -> String {
    url::form_urlencoded::Serializer::new(String::new()).append_pair("embed", name).finish()
}

/// The address that the link to the full page leads to, without its host.
const FULL_PAGE: &str = "const link = document.querySelector('.embed-link a'); \
    return [link.target, link.rel, link.href.replace(location.origin, '')];";

#[tokio::test]
async fn the_link_opens_the_full_page_with_the_present_scenario() {
    let host = Host::with(&sandboxed("embed=grow&theme=dark&title=off&v=4&gpus=64")).await;
    host.settled(0).await;
    let leads = |query: &str| json!(["_blank", "noopener", format!("{FOLDER}workshop/?{query}&method=ledger#grow")]);
    assert_eq!(host.inside(0, FULL_PAGE).await, leads("v=4&gpus=64"));
    host.tell(0, json!({ "bmax": 1, "type": "change", "scenario": "s=4096" })).await;
    host.page
        .until("the link to follow", async || {
            let seen = host.inside(0, FULL_PAGE).await;
            if seen == leads("v=4&s=4096&gpus=64") { Ok(()) } else { Err(seen) }
        })
        .await;
    host.close().await;
}

#[tokio::test]
async fn links_of_a_figure_lead_out_of_the_frame_to_their_place_on_the_page() {
    let host = Host::with(&sandboxed("embed=scaling&v=4&gpus=64")).await;
    host.settled(0).await;
    let press = "const link = document.querySelector('figure a[href$=\"#source-rajbhandari\"]'); \
        addEventListener('click', (event) => event.preventDefault()); \
        link.click(); \
        return [link.target, link.rel, link.href.replace(location.origin, '')];";
    let wanted = format!("{FOLDER}sources/?v=4&gpus=64#source-rajbhandari");
    assert_eq!(host.inside(0, press).await, json!(["_blank", "noopener", wanted]));
    host.close().await;
}

#[tokio::test]
async fn an_embed_stores_nothing_and_takes_nothing_from_the_store() {
    let page = Page::open("").await;
    page.script("localStorage.setItem('bmax-theme', 'dark');", vec![]).await;
    let host = Host { page };
    host.page.client.goto(&(host.page.server.origin() + "/course/host.html")).await.expect("a page");
    host.page
        .script("window.heard = []; addEventListener('message', ({ data }) => heard.push([0, data]));", vec![])
        .await;
    // A frame of the same origin could read the store.
    host.show(&frame("embed=grow", "")).await;
    host.settled(0).await;
    let scheme = "return getComputedStyle(document.documentElement).colorScheme;";
    assert_eq!(host.inside(0, scheme).await, "light");
    host.tell(0, json!({ "bmax": 1, "type": "theme", "theme": "dark" })).await;
    host.page.until("dark", async || if host.inside(0, scheme).await == "dark" { Ok(()) } else { Err(()) }).await;
    host.tell(0, json!({ "bmax": 1, "type": "theme", "theme": "auto" })).await;
    host.page.until("light", async || if host.inside(0, scheme).await == "light" { Ok(()) } else { Err(()) }).await;
    let stored = "return [Object.entries(localStorage), document.cookie];";
    assert_eq!(host.inside(0, stored).await, json!([[["bmax-theme", "dark"]], ""]));
    host.close().await;
}

#[tokio::test]
async fn the_frame_is_transparent_on_a_page_of_the_same_scheme() {
    let host = Host::with(&sandboxed("embed=grow")).await;
    host.settled(0).await;
    let ground = "return [document.documentElement, document.body, document.querySelector('figure')] \
        .map((one) => getComputedStyle(one).backgroundColor);";
    let nothing = "rgba(0, 0, 0, 0)";
    assert_eq!(host.inside(0, ground).await, json!([nothing, nothing, nothing]));
    host.close().await;
}

#[tokio::test]
async fn on_paper_the_figure_is_there_and_nothing_to_press() {
    let page = Page::open("?embed=grow").await;
    page.devtools("Emulation.setEmulatedMedia", json!({ "media": "print" })).await;
    let seen = "return ['figure', '.grow', '.embed-link', 'button'].map((one) => \
        [...document.querySelectorAll(one)].some((one) => one.checkVisibility()));";
    page.until_script("paper", seen, json!([true, true, false, false])).await;
    page.close().await;
}

/// The texts that can be seen without the program.
const STATIC: &str = "const walker = document.createTreeWalker(document.body ?? document, NodeFilter.SHOW_TEXT); \
    const texts = []; \
    while (walker.nextNode()) \
        if (walker.currentNode.parentElement.checkVisibility({ visibilityProperty: true })) \
            texts.push(walker.currentNode.data); \
    return texts.join('').replace(/\\s+/g, ' ').trim();";

#[tokio::test]
async fn without_javascript_every_figure_is_its_caption_a_sentence_and_a_link() {
    let page = Visit::to("").without_scripts().open().await;
    let whole = page.script(STATIC, vec![]).await.as_str().map_or(0, str::len);
    for name in figures() {
        let address = format!("{}{FOLDER}{}?embed={name}#embed-{name}", page.server.origin(), page_of(&name));
        page.client.goto(&address).await.expect("the page loads");
        let caption = format!("return document.querySelector('#embed-{name} figcaption')?.textContent.trim() ?? null;");
        // A busy browser may not have read all of a page that it calls loaded, nor looked for the target of its address.
        let (caption, text) = page
            .until(&format!("{name} alone"), async || {
                let caption = page.script(&caption, vec![]).await;
                let text = page.script(STATIC, vec![]).await.as_str().unwrap_or_default().to_owned();
                let alone = text.starts_with(caption.as_str().unwrap_or("?"));
                if alone && text.ends_with("bmax · open the full page") {
                    Ok((caption, text))
                } else {
                    Err(text.len())
                }
            })
            .await;
        let sentence = text.len() - caption.as_str().map_or(0, str::len);
        assert!(sentence > 80 && text.len() < whole, "{name}: {text}");
        assert_eq!(page.script("return scrollY;", vec![]).await, 0, "{name}");
    }
    page.close().await;
}

#[tokio::test]
async fn a_frame_that_may_run_no_scripts_shows_the_same_and_moves_nothing_around_it() {
    for sandbox in ["sandbox", "sandbox=allow-same-origin"] {
        let body = "<p style='height:3000px'>".to_owned() + &frame("embed=chart&v=4#embed-chart", sandbox);
        let host = Host::with(&body).await;
        host.page
            .until("the figure alone", async || {
                let text = host.inside(0, STATIC).await;
                let text = text.as_str().unwrap_or_default().to_owned();
                let alone = text.contains("Sequence length S in tokens") && text.ends_with("open the full page");
                if alone && text.len() < 4_000 { Ok(()) } else { Err(text) }
            })
            .await;
        assert_eq!(host.page.script("return scrollY;", vec![]).await, 0, "the host stays where it was");
        // The browser says that it runs no scripts, and is right.
        host.page.complaints().await;
        host.close().await;
    }
}

#[tokio::test]
async fn a_section_of_the_page_is_no_embed() {
    let page = Visit::to("#calculator").without_scripts().open().await;
    page.part("#opening").says("How many sequences").await;
    page.close().await;
    let page = Page::open("#embed-chart").await;
    page.part("#levers").says("Fit a larger batch").await;
    assert_eq!(page.script("return document.querySelector('.embed-link').checkVisibility();", vec![]).await, false);
    page.close().await;
}

#[tokio::test]
async fn the_address_of_an_embed_stays_one_while_it_is_used() {
    let page = Page::open("?embed=grow&theme=dark&v=4").await;
    page.script("postMessage({ bmax: 1, type: 'set', scenario: 'gpus=64' }, '*');", vec![]).await;
    page.until_query("embed=grow&theme=dark&v=4&gpus=64").await;
    assert_eq!(link::decode(&page.query().await).scenario, expected::scenario("gpus=64"));
    page.close().await;
}
