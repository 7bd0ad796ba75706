//! Text that others wrote, in every place where the page shows some: it stays text.
//!
//! Such text comes in by the link's query and its fragment, by typed fields, by a `config.json` and its
//! name, by what the browser has stored, and by the path of the page itself. It comes out in messages,
//! fields, spoken regions, the address, the link that is copied, the title. The page never hands it to a
//! parser of markup or code; `support/watch.js` would see that, and also whatever came of it.

use crate::support::{BLANK, FOLDER, PAGES, Page, Visit, dist, expected, figures_of, html, tidy};
use bmax::{config_json, link};
use serde_json::{Value, json};

const WATCH: &str = include_str!("support/watch.js");

const LLAMA: &str = include_str!("../config_files/llama-3.1-8b.json");

/// Each is short enough to be quoted whole by a message.
const PAYLOADS: &[&str] = &[
    "<img src=x onerror=hit()>",
    "\"><script>hit()</script>",
    "'><svg onload=hit()>",
    "</title><script>hit()</script>",
    "\"onfocus=hit() autofocus x=\"",
    "<math><mi xlink:href=x id=hit>",
    "<template><b id=hit></template>",
    "<iframe srcdoc=<b/id=hit>>",
    "<style>@import'//hit'</style>",
    "<base href=//hit.example>",
    "javascript:hit()",
    "{{hit()}}",
    "${hit()}",
    "&lt;img src=x onerror=hit()&gt;",
    "%3Cimg src=x onerror=hit()%3E",
    "]]><b id=hit>",
    "\u{2028}hit()//",
];

/// A page that was opened with `watch.js` in it.
async fn watched(query: &str) -> Page {
    let page = Visit::to_the_empty_page().open().await;
    page.before_every_page(WATCH).await;
    page.go(&format!("{FOLDER}{query}")).await;
    page.wait_for_figures().await;
    page
}

/// Nothing was made, nothing ran, nothing was refused, and the page is called as it was, behind the names of what it answers
/// for.
async fn stayed_text(page: &Page, what: &str) {
    assert_eq!(page.script("return foundSoFar();", vec![]).await, json!([]), "{what}");
    let title = page.script("return document.title;", vec![]).await;
    let title = title.as_str().expect("a title");
    let built =
        |at: usize| PAGES.into_iter().any(|name| html(name).contains(&format!("<title>{}</title>", &title[at..])));
    let behind = title.match_indices(" · ").map(|(at, between)| at + between.len());
    assert!(std::iter::once(0).chain(behind).any(built), "{title} after {what}");
    assert!(!title.contains(['<', '>', '=', '"']), "{title} after {what}");
}

/// A query of these pairs.
fn query_of(pairs: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

#[tokio::test]
async fn markup_in_any_parameter_of_a_link_or_in_its_name_is_shown_as_it_is_written() {
    // A page without figures: what is said of a link stands on every page, and figures would only follow what else is in it.
    let page = watched("sources/").await;
    let notices = page.part("#notices");
    let parameters = link::parameters();
    let keys: Vec<&str> = parameters.iter().map(|parameter| parameter.key).collect();
    let mut other = 8;
    for payload in PAYLOADS {
        // As many as are shown at once, the last of them a parameter of this name.
        for keys in keys.chunks(5) {
            // The address counts as another one when something in it can be used.
            other = 8 + (other + 1) % 1000;
            let changing = if keys.contains(&"gpus") { "s" } else { "gpus" };
            let changed = other.to_string();
            let mut pairs: Vec<_> = keys.iter().map(|key| (*key, *payload)).collect();
            pairs.extend([(changing, changed.as_str()), (*payload, "1")]);
            let query = query_of(&pairs);
            page.travel(&query).await;
            let read = link::decode(&query);
            assert_eq!(read.notices.len(), keys.len() + 1, "{query}");
            notices.says(&tidy(&read.notices[keys.len()].to_string())).await;
            let seen = tidy(&notices.all_text().await);
            for notice in &read.notices {
                assert!(seen.contains(&tidy(&notice.to_string())), "{notice}: {seen}");
            }
            let shown = payload.replace('\u{2028}', " ");
            assert_eq!(seen.matches(tidy(&shown).as_str()).count(), keys.len() + 1);
            stayed_text(&page, &query).await;
        }
    }
    page.close().await;
}

#[tokio::test]
async fn markup_in_the_link_that_a_page_is_opened_with_is_text_and_is_gone_with_the_next_change() {
    let fragment = query_of(&[("", PAYLOADS[0])]);
    let pairs: Vec<_> = ["model", "gpu", "s", "zero", "v", "x"].into_iter().zip(PAYLOADS.iter().copied()).collect();
    let query = query_of(&pairs);
    let page = watched(&format!("?{query}#{}", fragment.trim_start_matches('='))).await;
    for notice in link::decode(&query).notices {
        page.part("#notices").says(&tidy(&notice.to_string())).await;
    }
    stayed_text(&page, "opening the link").await;
    page.unfold_everything().await;
    page.read_through().await;
    stayed_text(&page, "unfolding everything").await;
    page.figure("calculator").enter("Number of GPUs", "16").await;
    // Of the model there is only left that it is none of the known ones.
    page.until_query("v=4&model=unknown&gpus=16").await;
    for payload in PAYLOADS {
        let script = "location.hash = arguments[0]; return new Promise((done) => setTimeout(done));";
        page.script(script, vec![(*payload).into()]).await;
        stayed_text(&page, "a fragment of the address").await;
    }
    page.close().await;
}

/// Types into every field that takes text, leaves it, and says which of the fields refused it: the name
/// of each, and the text of the message that describes it.
const TYPE_EVERYWHERE: &str = "const [text, done] = arguments; \
    const fields = [...document.querySelectorAll('[data-figure] :is(input[type=text], input:not([type]), textarea)')]; \
    for (const field of fields) { \
        field.value = text; \
        field.dispatchEvent(new InputEvent('input', { bubbles: true })); \
        field.dispatchEvent(new Event('change', { bubbles: true })); \
        field.dispatchEvent(new FocusEvent('blur')); \
    } \
    setTimeout(() => done(fields.length));";

const REFUSALS: &str = "return [...document.querySelectorAll('[data-figure] input[aria-invalid=true]')].map((field) => \
    [field.id, field.value, (field.getAttribute('aria-describedby') ?? '').split(' ') \
        .map((id) => document.getElementById(id)?.textContent ?? '').join(' ')]);";

/// Pages whose fields take any text: the layers of a network, and an error.
const TAKES_ANY_TEXT: [&str; 2] = ["networks/", "out-of-memory/"];

#[tokio::test]
async fn markup_that_is_typed_into_any_field_is_quoted_and_stays_in_the_field() {
    let mut all = 0;
    for name in PAGES.into_iter().filter(|name| !figures_of(name).is_empty()) {
        all += typed_into_every_field(name).await;
    }
    assert!(all > 30, "{all} fields quote what they refuse");
}

/// Types into every field of a page, and returns how many of them quoted the last text.
async fn typed_into_every_field(name: &str) -> usize {
    let page = watched(name).await;
    page.unfold_everything().await;
    let mut all = 0;
    for payload in PAYLOADS {
        let typed = page.script_async(TYPE_EVERYWHERE, vec![(*payload).into()]).await;
        let refusals: Vec<(String, String, String)> =
            serde_json::from_value(page.script(REFUSALS, vec![]).await).expect("what the fields say");
        assert!(
            typed.as_u64() == Some(0) || TAKES_ANY_TEXT.contains(&name) || !refusals.is_empty(),
            "/{name}: no field refuses {payload}"
        );
        let quote = format!("“{}”", tidy(&payload.replace('\u{2028}', " ")));
        let mut quoted = 0;
        for (field, value, message) in refusals {
            assert_eq!(value, *payload, "{field} keeps what was typed");
            quoted += usize::from(tidy(&message).contains(&quote));
            // Some say what they take without repeating what they got.
            assert!(tidy(&message).contains(&quote) || !message.contains("hit"), "{field} says {message}");
        }
        all = quoted;
        stayed_text(&page, payload).await;
        let query = page.query().await;
        assert!(["", "v=4"].contains(&query.as_str()), "what is refused does not reach the address: {query}");
    }
    // No figure that stood still meanwhile makes anything of it either.
    page.read_through().await;
    stayed_text(&page, "every figure followed").await;
    page.close().await;
    all
}

/// A sound file with a text in one of the places that are quoted.
fn config_with(payload: &str) -> Vec<String> {
    let mut files = Vec::new();
    let mut sound: Value = serde_json::from_str(LLAMA).expect("a file");
    sound["model_type"] = payload.into();
    sound[format!("{payload}_size")] = json!(7);
    sound["hidden_act"] = payload.into();
    files.push(sound.to_string());
    sound["hidden_size"] = payload.into();
    files.push(sound.to_string());
    files.push(payload.to_owned());
    files.push(format!("{{\"{}\": 1, \"{0}\": 2}}", payload.replace('"', "'")));
    files.push(format!("{{{payload}"));
    files
}

#[tokio::test]
async fn markup_in_a_config_json_and_in_the_name_of_the_file_is_shown_as_it_is_written() {
    let page = watched("").await;
    let calculator = page.figure("calculator");
    calculator.press("Paste a config.json").await;
    let ready = "return document.getElementById('config-text')?.checkVisibility() ?? false;";
    page.until_script("the field for a file", ready, json!(true)).await;
    let drop = "const [content, name] = arguments; \
        const files = new DataTransfer(); \
        files.items.add(new File([content], name, { type: 'application/json' })); \
        document.getElementById('config-text').closest('details') \
            .dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: files }));";
    let mut quoted = 0;
    for payload in PAYLOADS {
        for file in config_with(payload) {
            page.script(drop, vec![file.as_str().into(), (*payload).into()]).await;
            let said = match config_json::read(&file) {
                Ok(reading) => reading.notes.iter().map(ToString::to_string).collect(),
                Err(refusal) => vec![refusal.on_page()],
            };
            for text in said {
                quoted += usize::from(text.contains("hit"));
                calculator.says(&tidy(&text)).await;
            }
            stayed_text(&page, &file).await;
        }
    }
    assert!(quoted >= 2 * PAYLOADS.len(), "only {quoted} texts of files are quoted");
    // The model of such a file can be used, and its link carries numbers alone.
    page.script(drop, vec![config_with(PAYLOADS[0])[0].as_str().into(), "config.json".into()]).await;
    calculator.press("Use this model").await;
    page.until("the model to be in the address", async || {
        let query = page.query().await;
        if query.contains("model=") { Ok(()) } else { Err(query) }
    })
    .await;
    assert!(!page.query().await.contains("hit"));
    page.unfold_everything().await;
    stayed_text(&page, "using the model").await;
    page.close().await;
}

#[tokio::test]
async fn markup_in_the_options_of_an_embed_is_shown_as_it_is_written() {
    let page = Visit::to_the_empty_page().open().await;
    page.before_every_page(WATCH).await;
    for payload in PAYLOADS.iter().step_by(2) {
        let options = ["controls", "theme", "title", "height", "s", "zero"].map(|key| (key, *payload));
        for figure in [*payload, "answer"] {
            let query = query_of(&[&[("embed", figure)][..], &options].concat());
            page.go(&format!("{FOLDER}?{query}#{}", query_of(&[(payload, "")]))).await;
            if figure == "answer" {
                page.part("#notices").says(&tidy(&payload.replace('\u{2028}', " "))).await;
                page.figure("answer").shows("opening-answer", &expected::answer(&expected::scenario(""))).await;
            } else {
                page.part("main").says(&tidy(&format!("no figure called “{payload}”"))).await;
            }
            assert_eq!(page.script("return foundSoFar();", vec![]).await, json!([]), "{query}");
            let title = page.script("return document.title;", vec![]).await;
            assert!(title.as_str().is_some_and(|title| title.contains("bmax") && !title.contains("hit")), "{title}");
        }
    }
    page.close().await;
}

#[tokio::test]
async fn markup_in_a_message_is_refused_and_changes_nothing() {
    let page = watched("?v=4&gpus=64").await;
    let send = "const [text] = arguments; \
        const messages = [ \
            { bmax: 1, type: text }, \
            { bmax: 1, type: 'set', scenario: text }, \
            { bmax: 1, type: 'change', scenario: `s=${text}` }, \
            { bmax: 1, type: 'theme', theme: text }, \
            { bmax: 1, type: 'set', scenario: { toString() { return text; } }.toString() }, \
        ]; \
        return new Promise((done) => { \
            let left = messages.length; \
            const hear = ({ data }) => { \
                if (data.type !== 'refused') return; \
                left -= 1; \
                if (left > 0) return; \
                removeEventListener('message', hear); \
                done(document.documentElement.dataset.theme ?? 'none'); \
            }; \
            addEventListener('message', hear); \
            for (const message of messages) postMessage(message, '*'); \
        });";
    let theme = page.script("return document.documentElement.dataset.theme ?? 'none';", vec![]).await;
    for payload in PAYLOADS {
        assert_eq!(page.script(send, vec![(*payload).into()]).await, theme, "{payload}");
        stayed_text(&page, payload).await;
    }
    assert_eq!(page.query().await, "v=4&gpus=64");
    page.part("#answer-bar").shows("bar-answer", &expected::answer(&expected::scenario("?gpus=64"))).await;
    page.close().await;
}

#[tokio::test]
async fn markup_in_a_link_or_a_field_does_not_come_to_life_in_the_share_dialog() {
    let hostile: Vec<_> = ["s", "zero", "x"].into_iter().zip(PAYLOADS.iter().copied()).collect();
    let page = watched(&format!("?{}&gpus=64", query_of(&hostile))).await;
    page.all().press("Share").await;
    let link = "return [...document.querySelectorAll('dialog input[readonly]')].some((field) => field.value.includes('gpus=64'));";
    page.until_script("the link in the dialog", link, json!(true)).await;
    page.part(".desk").click("tab", "Embed").await;
    let fields = "return [...document.querySelectorAll('dialog input:not([readonly], [type=checkbox])')].map((field) => field.id);";
    page.until("a field in the dialog", async || match page.script(fields, vec![]).await {
        found if found.as_array().is_some_and(|found| !found.is_empty()) => Ok(()),
        found => Err(found),
    })
    .await;
    let fill = "for (const field of document.querySelectorAll('dialog input:not([readonly], [type=checkbox])')) { \
            field.value = arguments[0]; \
            field.dispatchEvent(new InputEvent('input', { bubbles: true })); \
            field.dispatchEvent(new Event('change', { bubbles: true })); \
        } \
        return new Promise((done) => setTimeout(done, 50));";
    for payload in PAYLOADS {
        page.script(fill, vec![(*payload).into()]).await;
        // The dialog shows a figure in a frame, which is what it is for; no payload had a part in that.
        let found = page.script("return foundSoFar().filter((one) => /hit|ran/.test(one));", vec![]).await;
        assert_eq!(found, json!([]), "{payload}");
    }
    let written = "return [...document.querySelectorAll('dialog :is(input[readonly], textarea[readonly])')]\
        .map((field) => field.value).filter((text) => /\\bhit\\b/.test(text));";
    assert_eq!(page.script(written, vec![]).await, json!([]), "nothing of it is handed on");
    page.close().await;
}

#[tokio::test]
async fn markup_that_was_stored_in_the_browser_is_no_theme() {
    let page = watched("").await;
    for payload in &PAYLOADS[..4] {
        page.script("localStorage.setItem('bmax-theme', arguments[0]);", vec![(*payload).into()]).await;
        page.client.refresh().await.expect("the page loads again");
        page.wait_for_figures().await;
        stayed_text(&page, payload).await;
    }
    page.all().press("Theme: auto").await;
    let theme = "return document.documentElement.dataset.theme;";
    page.until_script("the theme to be one", theme, json!("light")).await;
    page.close().await;
}

#[tokio::test]
async fn markup_in_the_path_of_the_page_is_copied_as_part_of_the_link() {
    const PATH: &str = "/course/%22%3E%3Cimg%20src=x%20onerror=hit()%3E/";
    let page = Visit::to_the_empty_page().open().await;
    page.before_every_page(WATCH).await;
    page.server.publish(PATH, (**dist()).clone());
    let denied = json!({ "permission": { "name": "clipboard-write" }, "setting": "denied" });
    page.devtools("Browser.setPermission", denied).await;
    page.go(&format!("{PATH}?v=4&gpus=64")).await;
    page.wait_for_figures().await;
    let calculator = page.figure("calculator");
    calculator.press("Copy link").await;
    calculator.says("Copy it by hand").await;
    assert_eq!(calculator.value("textbox", "Copy it by hand").await, page.address().await);
    // The ways to the other pages, and the page's own address, have the path in them, as they should.
    let found =
        "return foundSoFar().filter((one) => !/^made: (<a [^>]*data-way|<link [^>]*rel=\"canonical\")/.test(one));";
    assert_eq!(page.script(found, vec![]).await, json!([]));
    page.go(BLANK).await;
    page.close().await;
}

#[tokio::test]
async fn the_watch_would_see_what_these_tests_are_about() {
    let page = watched("").await;
    let make = "const place = document.createElement('div'); \
        document.body.append(place); \
        try { place.innerHTML = arguments[0]; } catch { foundSoFar().splice(0); return ['refused']; } \
        return new Promise((done) => setTimeout(() => done(foundSoFar().splice(0)), 100));";
    for (payload, traces) in [
        (PAYLOADS[0], ["parsed: ", "made: <img", "script-src-attr: inline"]),
        ("<a href=javascript:hit()>x</a>", ["parsed: ", "made: <a", ""]),
        ("<b id=hit></b>", ["parsed: ", "made: <b", ""]),
        ("<img id=hit src=x>", ["parsed: ", "made: <img", ""]),
        ("<iframe srcdoc='<b>hit'></iframe>", ["parsed: ", "made: <iframe", ""]),
    ] {
        let found = page.script(make, vec![payload.into()]).await;
        let found: Vec<String> = serde_json::from_value(found).expect("texts");
        // Where there are trusted types, markup that runs does not even become elements.
        let refused = found == ["refused"] && !payload.contains("id=hit");
        for trace in traces {
            assert!(refused || found.iter().any(|one| one.starts_with(trace)), "{trace} in {found:?} for {payload}");
        }
    }
    page.complaints().await;
    page.close().await;
}
