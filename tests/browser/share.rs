//! The share dialog: links, a QR code, a figure as a frame, files; and the module that it comes in.

use crate::support::{FOLDER, PAGES, Page, Visit, expected, figures_of, key};
use bmax::embed::{Embed, Theme};
use bmax::export::{self, Target};
use bmax::link::{Beginning, Pinned};
use bmax::snippet::{Host, Share, Still};
use bmax::{Scenario, link};
use serde_json::{Value, json};

/// The button in the corner of the chart.
const CHART: &str = "Share: The largest batch against";

/// The caption of the chart, as the page has it.
const CHART_TITLE: &str =
    "The largest batch against sequence length, model size or GPU memory, with your own model as the solid line";

/// Presses a button and waits for the dialog.
pub async fn share(page: &Page, button: &str) {
    page.all().press(button).await;
    until_open(page).await;
}

async fn until_open(page: &Page) {
    page.until_script("the dialog to open", "return !!document.querySelector('dialog.desk[open]');", json!(true)).await;
}

async fn until_closed(page: &Page) {
    page.until_script("the dialog to close", "return !!document.querySelector('dialog[open]');", json!(false)).await;
}

async fn tab(page: &Page, name: &str) {
    page.part(".desk").click("tab", name).await;
}

/// What a field of the dialog holds.
pub async fn field(page: &Page, id: &str) -> String {
    let value = page.script("return document.getElementById(arguments[0]).value;", vec![json!(id)]).await;
    value.as_str().expect("a field").to_owned()
}

async fn until_field(page: &Page, id: &str, expected: &str) {
    page.until(&format!("{id} to hold {expected}"), async || {
        let value = field(page, id).await;
        if value == expected { Ok(()) } else { Err(value) }
    })
    .await;
}

fn home(page: &Page) -> String {
    page.server.origin() + FOLDER
}

fn chart<'a>(home: &'a str, scenario: &'a Scenario) -> Share<'a> {
    Share {
        page: home,
        beginning: Beginning::Site,
        site: home,
        scenario,
        vs: &Pinned::NONE,
        title: CHART_TITLE,
        anchor: "chart-title",
    }
}

/// What the keyboard is at.
const FOCUSED: &str = "const at = document.activeElement; return at.getAttribute('aria-label') ?? at.textContent;";

async fn allow_clipboard(page: &Page, setting: &str) {
    for name in ["clipboard-read", "clipboard-write"] {
        let permission = json!({ "permission": { "name": name }, "setting": setting });
        page.devtools("Browser.setPermission", permission).await;
    }
}

async fn clipboard(page: &Page) -> Value {
    let read = "const done = arguments[0]; navigator.clipboard.readText().then(done, (error) => done(String(error)));";
    page.script_async(read, vec![]).await
}

#[tokio::test]
async fn nothing_of_the_desk_is_fetched_before_the_first_press_and_nothing_twice() {
    let page = Page::open("").await;
    // What the window itself asked for; the worker that keeps the page for offline use takes every file later.
    let asked = "return performance.getEntriesByType('resource').map((one) => one.name) \
        .filter((name) => name.includes('/desk-')).map((name) => name.split('.').pop()).sort();";
    page.read_through().await;
    assert_eq!(page.script(asked, vec![]).await, json!([]));
    share(&page, "Share").await;
    let once = json!(["css", "js", "wasm"]);
    assert_eq!(page.script(asked, vec![]).await, once);
    page.press(key::ESCAPE).await;
    until_closed(&page).await;
    share(&page, CHART).await;
    assert_eq!(page.script(asked, vec![]).await, once);
    page.close().await;
}

#[tokio::test]
async fn the_dialog_opens_by_mouse_and_by_keyboard_and_the_focus_goes_back() {
    let page = Page::open("").await;
    share(&page, CHART).await;
    assert_eq!(page.script(FOCUSED, vec![]).await, json!("Link"));
    page.part(".desk").press("Close").await;
    until_closed(&page).await;
    assert_eq!(page.script(FOCUSED, vec![]).await, json!(format!("Share: {CHART_TITLE}")));
    for keys in [key::ENTER, key::SPACE] {
        page.press(keys).await;
        until_open(&page).await;
        page.press(key::ESCAPE).await;
        until_closed(&page).await;
        assert_eq!(page.script(FOCUSED, vec![]).await, json!(format!("Share: {CHART_TITLE}")));
    }
    page.close().await;
}

#[tokio::test]
async fn arrows_go_along_the_tabs_and_tab_leaves_them() {
    let page = Page::open("").await;
    share(&page, CHART).await;
    let at = "const at = document.activeElement; const panel = document.getElementById(at.getAttribute('aria-controls')); \
        return [at.textContent, at.getAttribute('aria-selected'), panel?.checkVisibility() ?? null];";
    for (keys, name) in
        [(key::RIGHT, "Embed"), (key::LEFT, "Link"), (key::LEFT, "Export"), (key::HOME, "Link"), (key::END, "Export")]
    {
        page.press(keys).await;
        assert_eq!(page.script(at, vec![]).await, json!([name, "true", true]));
    }
    page.press(key::TAB).await;
    let inside = "return !!document.activeElement.closest('#desk-export');";
    assert_eq!(page.script(inside, vec![]).await, json!(true));
    page.close().await;
}

#[tokio::test]
async fn links_of_a_figure_are_those_of_the_library() {
    let page = Page::open("?v=4&gpus=64&recompute=none").await;
    share(&page, CHART).await;
    let scenario = expected::scenario("gpus=64&recompute=none");
    let home = home(&page);
    let chart = chart(&home, &scenario);
    assert_eq!(field(&page, "desk-short").await, chart.short_link());
    assert_eq!(field(&page, "desk-short").await, format!("{home}?v=4&gpus=64&recompute=none#chart-title"));
    assert_eq!(field(&page, "desk-full").await, chart.full_link());
    assert_eq!(field(&page, "desk-markdown").await, chart.markdown());
    assert_eq!(field(&page, "desk-text").await, chart.text());
    page.close().await;
}

#[tokio::test]
async fn the_page_as_a_whole_is_shared_from_its_header() {
    let page = Page::open("?v=4&gpus=64").await;
    share(&page, "Share").await;
    page.part(".desk").says("Share this page").await;
    assert_eq!(field(&page, "desk-short").await, format!("{}?v=4&gpus=64", home(&page)));
    // Which figure is to be embedded, is asked.
    let place = figures_of("").iter().position(|name| name == "chart").expect("home has the chart") + 1;
    tab(&page, "Embed").await;
    page.part(".desk").pick("Figure", &format!("{place}  {CHART_TITLE}")).await;
    let scenario = expected::scenario("gpus=64");
    let address = chart(&home(&page), &scenario).frame_address(&Embed::of("chart"));
    let source = "return document.querySelector('.desk iframe').src;";
    page.until_script("the figure that was picked", source, json!(address)).await;
    assert!(field(&page, "desk-frame").await.contains(&address.replace('&', "&amp;")));
    page.close().await;
}

#[tokio::test]
async fn what_was_typed_a_moment_ago_is_in_the_link() {
    let page = Page::open("").await;
    // The module is there already, so that the second press is answered at once.
    share(&page, "Share").await;
    page.press(key::ESCAPE).await;
    until_closed(&page).await;
    // One turn of the browser from the key to the press: the address has not followed yet.
    let type_and_press = "const field = document.getElementById('calculator-gpus'); \
        field.value = '64'; \
        field.dispatchEvent(new Event('input', { bubbles: true })); \
        const before = location.search; \
        document.querySelector('.site-header [data-desk]').click(); \
        return before;";
    page.figure("calculator").approach().await;
    assert_eq!(page.script(type_and_press, vec![]).await, json!(""));
    until_open(&page).await;
    until_field(&page, "desk-short", &format!("{}?v=4&gpus=64", home(&page))).await;
    page.part(".desk").says("64 ×").await;
    page.close().await;
}

#[tokio::test]
async fn copying_says_what_was_copied() {
    let page = Page::open("?v=4&gpus=64").await;
    allow_clipboard(&page, "granted").await;
    share(&page, CHART).await;
    let dialog = page.part(".desk");
    dialog.press("Copy the short link").await;
    dialog.says("Short link copied.").await;
    assert_eq!(clipboard(&page).await, json!(format!("{}?v=4&gpus=64#chart-title", home(&page))));
    dialog.press("Copy the Markdown").await;
    dialog.says("Markdown copied.").await;
    assert_eq!(clipboard(&page).await, json!(field(&page, "desk-markdown").await));
    tab(&page, "Export").await;
    dialog.press("Copy file").await;
    dialog.says("training_arguments.py copied.").await;
    // A clipboard of some systems ends lines in its own way.
    let copied = clipboard(&page).await.as_str().expect("a text").replace("\r\n", "\n");
    assert_eq!(copied, field(&page, "desk-file").await);
    page.close().await;
}

/// The text that is selected in the field with the focus, and the name of that field.
const SELECTED: &str = "const at = document.activeElement; \
    return [at.id, at.value.slice(at.selectionStart, at.selectionEnd)];";

#[tokio::test]
async fn where_the_clipboard_is_refused_or_absent_the_text_is_selected_to_be_copied_by_hand() {
    let page = Page::open("?v=4&gpus=64").await;
    allow_clipboard(&page, "denied").await;
    share(&page, CHART).await;
    let dialog = page.part(".desk");
    let link = format!("{}?v=4&gpus=64#chart-title", home(&page));
    dialog.press("Copy the short link").await;
    dialog.says("Short link is selected: press Ctrl+C to copy.").await;
    assert_eq!(page.script(SELECTED, vec![]).await, json!(["desk-short", link]));
    page.script("Object.defineProperty(navigator, 'clipboard', { value: undefined });", vec![]).await;
    dialog.press("Copy title and link").await;
    dialog.says("Title and link is selected").await;
    assert_eq!(page.script(SELECTED, vec![]).await, json!(["desk-text", format!("{CHART_TITLE}\n{link}")]));
    page.close().await;
}

#[tokio::test]
async fn the_preview_is_the_frame_and_follows_the_options() {
    let page = Page::open("?v=4&gpus=64").await;
    share(&page, CHART).await;
    tab(&page, "Embed").await;
    let scenario = expected::scenario("gpus=64");
    let home = home(&page);
    let source =
        "const frame = document.querySelector('.desk iframe'); return [frame.src, frame.title, frame.sandbox.value];";
    let follows = async |embed: &Embed| {
        let address = chart(&home, &scenario).frame_address(embed);
        page.until_script("the preview to follow", source, json!([address, CHART_TITLE, bmax::snippet::SANDBOX])).await;
        let snippet = field(&page, "desk-frame").await;
        let height = snippet.split("height=\"").nth(1).and_then(|rest| rest.split('"').next()?.parse().ok());
        let written = Host::Html.write(&chart(&home, &scenario), embed, height.expect("a number of pixels"));
        assert_eq!(snippet, written);
    };
    follows(&Embed::of("chart")).await;
    // The frame says how high it needs to be, and the snippet asks for that.
    page.until_script(
        "the height of the figure",
        "const height = document.querySelector('.desk iframe').style.height; \
         return height !== '520px' && document.getElementById('desk-frame').value.includes(`height=\"${parseInt(height)}\"`);",
        json!(true),
    )
    .await;
    let dialog = page.part(".desk");
    dialog.click("checkbox", "Controls").await;
    follows(&Embed { controls: false, ..Embed::of("chart") }).await;
    dialog.pick("Theme", "dark").await;
    follows(&Embed { controls: false, theme: Theme::Dark, ..Embed::of("chart") }).await;
    dialog.click("checkbox", "Title").await;
    dialog.fill("Height in pixels", "640").await;
    let all = Embed { controls: false, theme: Theme::Dark, title: false, height: Some(640), ..Embed::of("chart") };
    follows(&all).await;
    assert!(field(&page, "desk-frame").await.contains("height=\"640\""));
    // Inside stands that figure, and nothing else.
    page.client.clone().enter_frame(0).await.expect("the preview");
    page.until_script(
        "the figure in the preview",
        "return [...document.querySelectorAll('[data-figure][data-mounted]')].map((one) => one.dataset.figure);",
        json!(["chart"]),
    )
    .await;
    page.close().await;
}

#[tokio::test]
async fn a_height_that_no_frame_may_have_is_named_and_left_out() {
    let page = Page::open("").await;
    share(&page, CHART).await;
    tab(&page, "Embed").await;
    let dialog = page.part(".desk");
    for wrong in ["12", "4001", "-5", "tall", "1e3"] {
        dialog.fill("Height in pixels", wrong).await;
        dialog.says("A whole number from 120 to 4,000, or nothing.").await;
        assert!(!field(&page, "desk-frame").await.contains("height=1"), "{wrong}");
    }
    dialog.fill("Height in pixels", "").await;
    page.until_script("no message", "return document.getElementById('desk-height-error').textContent;", json!(""))
        .await;
    page.close().await;
}

#[tokio::test]
async fn every_tool_gets_the_snippet_that_the_library_writes_for_it() {
    let page = Page::open("?v=4&gpus=64").await;
    share(&page, CHART).await;
    tab(&page, "Embed").await;
    let (home, scenario) = (home(&page), expected::scenario("gpus=64"));
    // A README takes no frame but a picture.
    for host in Host::ALL.into_iter().filter(|host| *host != Host::Readme) {
        page.part(".desk").choose("Paste into", host.name()).await;
        let chart = chart(&home, &scenario);
        page.until(&format!("the snippet for {}", host.name()), async || {
            let snippet = field(&page, "desk-frame").await;
            let height = "return parseInt(document.querySelector('.desk iframe').style.height);";
            let height = page.script(height, vec![]).await.as_u64().and_then(|height| u32::try_from(height).ok());
            let wanted = host.write(&chart, &Embed::of("chart"), height.unwrap_or_default());
            if snippet == wanted { Ok(()) } else { Err((snippet, wanted)) }
        })
        .await;
        match host.once(&chart) {
            Some((_, text)) => assert_eq!(field(&page, "desk-once").await, text),
            None => assert!(page.part(".desk").matches("textbox", "Once").await.is_empty()),
        }
    }
    page.close().await;
}

#[tokio::test]
async fn a_picture_for_paper_is_the_file_of_the_tab_for_pictures_with_the_answer_in_words() {
    let page = Page::open("?v=4&gpus=64").await;
    share(&page, CHART).await;
    tab(&page, "Embed").await;
    let (home, scenario) = (home(&page), expected::scenario("gpus=64"));
    let fits = bmax::b_max(&scenario).batch().expect("it fits");
    let still = Still {
        file: format!("bmax-chart-llama-3.1-8b-64xh100-80-s2048-b{fits}.png"),
        caption: format!("Llama 3.1 8B on 64 × H100 SXM 80 GB, S = 2,048: {fits} sequences fit."),
    };
    let dialog = page.part(".desk");
    dialog.choose("Paste into", Host::Readme.name()).await;
    let written = |host: Host| host.write_with(&chart(&home, &scenario), &Embed::of("chart"), 520, Some(&still));
    let is = async |wanted: String| {
        page.until_script("the snippet", "return document.getElementById('desk-frame').value;", json!(wanted)).await;
    };
    is(written(Host::Readme)).await;
    dialog.says(&format!("Put the PNG of the tab Picture beside it, as “{}”.", still.file)).await;
    dialog.choose("Paste into", Host::Myst.name()).await;
    is(Host::Myst.write(&chart(&home, &scenario), &Embed::of("chart"), 520)).await;
    dialog.click("checkbox", "Picture for paper").await;
    is(written(Host::Myst)).await;
    page.close().await;
}

#[tokio::test]
async fn every_address_that_a_snippet_of_another_page_names_is_there() {
    let page = Page::about("recompute", "?v=4&gpus=64").await;
    page.part("figure:has([data-figure=recompute])").press("Share: ").await;
    until_open(&page).await;
    tab(&page, "Embed").await;
    let home = home(&page);
    for host in Host::ALL {
        page.part(".desk").choose("Paste into", host.name()).await;
        // What is on this server and not the figure itself, whose own page is named.
        let missing = "const [home, done] = arguments; \
            const texts = ['desk-frame', 'desk-once'].map((id) => document.getElementById(id)?.value ?? ''); \
            const found = texts.join(' ').match(/http:[^\"' )<]+/g) ?? []; \
            Promise.all(found.filter((one) => one.startsWith(home)).map(async (one) => \
                [one, (await fetch(one.replaceAll('&amp;', '&'), { method: 'HEAD' })).status])) \
                .then((all) => done([all.length > 0, all.filter(([, status]) => status !== 200)]));";
        let seen = page.script_async(missing, vec![json!(home)]).await;
        assert_eq!(seen, json!([true, []]), "{}", host.name());
        let frame = field(&page, "desk-frame").await;
        assert!(frame.contains("room/?embed=recompute") || !frame.contains("embed="), "{frame}");
    }
    page.close().await;
}

#[tokio::test]
async fn every_export_shows_what_the_library_writes_and_can_be_saved() {
    let page = Page::open("?v=4&gpus=64").await;
    share(&page, "Share").await;
    tab(&page, "Export").await;
    // What is handed to the browser to be saved: the name, and the text behind the address.
    let record = "window.saved = []; const click = HTMLAnchorElement.prototype.click; \
        HTMLAnchorElement.prototype.click = function () { \
            if (!this.download) return click.call(this); \
            const name = this.download; \
            fetch(this.href).catch(() => null); \
            window.saved.push(name); \
        };";
    page.script(record, vec![]).await;
    let (home, scenario) = (home(&page), expected::scenario("gpus=64"));
    for target in Target::ALL {
        page.part(".desk").choose("This configuration for", target.name()).await;
        until_field(&page, "desk-file", &export::write(*target, &scenario, &home)).await;
        page.part(".desk").press("Save").await;
        page.part(".desk").says(&format!("{} is handed to the browser to be saved.", target.file_name())).await;
    }
    let names: Vec<_> = Target::ALL.iter().map(|target| target.file_name()).collect();
    assert_eq!(page.script("return window.saved;", vec![]).await, json!(names));
    page.complaints().await;
    page.close().await;
}

#[tokio::test]
async fn the_qr_code_is_of_the_short_link_and_is_shown_as_large_as_the_window() {
    let page = Page::open("?v=4&gpus=64").await;
    share(&page, CHART).await;
    // The picture is read module by module, and each of them by a reader of codes in `src/desk/share/qr.rs`; here it
    // is the same picture, dark on white, with four light modules around it.
    let source = "const image = document.querySelector('.desk img.desk-qr'); \
        return [image.complete && image.naturalWidth > 0, decodeURIComponent(image.src)];";
    let seen = page.script(source, vec![]).await;
    assert_eq!(seen[0], json!(true));
    let svg = seen[1].as_str().expect("an address");
    assert!(svg.starts_with("data:image/svg+xml,<svg ") && svg.contains("fill=\"#fff\""), "{svg:.200}");
    page.part(".desk").press("Show large").await;
    let large = "const image = document.querySelector('.desk-large[open] img'); \
        const place = image.getBoundingClientRect(); \
        return [image.src === document.querySelector('.desk img.desk-qr').src, place.height > innerHeight * .7, \
            getComputedStyle(image.closest('dialog')).backgroundColor];";
    page.until_script("the large code", large, json!([true, true, "rgb(255, 255, 255)"])).await;
    page.part(".desk-large").says(&format!("{}?v=4&gpus=64#chart-title", home(&page))).await;
    // Esc closes what is on top, and only that.
    page.press(key::ESCAPE).await;
    page.until_script(
        "the dialog below",
        "return [...document.querySelectorAll('dialog[open]')].map((one) => one.className);",
        json!(["desk"]),
    )
    .await;
    page.close().await;
}

#[tokio::test]
async fn a_module_that_does_not_arrive_is_said_beside_the_button_and_the_page_goes_on() {
    let page = Page::open("").await;
    page.devtools("Network.enable", json!({})).await;
    page.devtools("Network.setBlockedURLs", json!({ "urls": ["*/desk-*.wasm"] })).await;
    page.all().press(CHART).await;
    page.part(".figure-share + .desk-failed").says("could not be loaded").await;
    let busy = "return document.querySelectorAll('[aria-busy]').length;";
    page.until_script("the button to be at rest", busy, json!(0)).await;
    assert_eq!(page.part("#notices").all_text().await, "");
    page.figure("calculator").press("70B").await;
    page.until_query("v=4&model=70b").await;
    // Here the console is right to complain.
    page.complaints().await;
    page.close().await;
}

#[tokio::test]
async fn a_desk_that_stops_takes_its_dialog_with_it_and_nothing_else() {
    let page = Page::open("").await;
    share(&page, "Share").await;
    // An error as the browser reports it when the module stops: its files are named in the stack.
    let stop = "const name = performance.getEntriesByType('resource').map((one) => one.name).find((name) => /desk-.*wasm/.test(name)); \
        const error = new Error('stopped'); \
        error.stack = `RuntimeError: unreachable\\n    at ${name}:wasm-function[7]:0x1`; \
        dispatchEvent(new ErrorEvent('error', { error }));";
    page.script(stop, vec![]).await;
    until_closed(&page).await;
    page.part(".site-header .desk-failed").says("could not be loaded").await;
    assert_eq!(page.part("#notices").all_text().await, "", "the figures have not stopped");
    page.complaints().await;
    page.close().await;
}

#[tokio::test]
async fn it_opens_in_a_sandboxed_frame_and_says_how_to_copy_there() {
    let page = Visit::to_the_host_page().open().await;
    page.client.enter_frame(0).await.expect("the frame is there");
    page.wait_for_figures().await;
    page.figure("calculator").press("70B").await;
    share(&page, CHART).await;
    // No address follows here; the page itself is asked.
    until_field(&page, "desk-short", &format!("{}?v=4&model=70b#chart-title", home(&page))).await;
    page.part(".desk").press("Copy the short link").await;
    page.part(".desk").says("press Ctrl+C to copy").await;
    page.complaints().await;
    page.close().await;
}

#[tokio::test]
async fn nothing_in_titles_names_or_links_becomes_markup() {
    let page = Page::open("?v=4&model=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&gpus=64&x%22%3E%3Cscript%3E=1").await;
    let hostile = "\"><img src=x onerror=alert(1)></iframe><script>alert(1)</script>";
    let dress = "const title = document.getElementById('chart-title'); \
        title.textContent = arguments[0]; \
        document.title = arguments[0]; \
        document.getElementById('chart').dataset.figure = arguments[0];";
    page.script(dress, vec![json!(hostile)]).await;
    page.part("[aria-labelledby=chart-title]").press("Share").await;
    until_open(&page).await;
    for name in ["Embed", "Picture", "Export", "Link"] {
        tab(&page, name).await;
        let foreign =
            "return [...document.querySelectorAll('.desk :is(script, img:not([data-testid]), [onerror])')].length;";
        assert_eq!(page.script(foreign, vec![]).await, json!(0), "{name}");
    }
    page.part(".desk-about").says(hostile).await;
    let scenario = link::decode("v=4&model=unknown&gpus=64").scenario;
    let home = home(&page);
    let share = Share { title: hostile, ..chart(&home, &scenario) };
    assert_eq!(field(&page, "desk-markdown").await, share.markdown());
    page.close().await;
}

#[tokio::test]
async fn on_a_phone_it_fills_the_window_and_scrolls_only_down() {
    for width in [320, 360] {
        let page = Visit::to("?v=4&gpus=64").wide(width).open().await;
        share(&page, CHART).await;
        for name in ["Link", "Embed", "Picture", "Export"] {
            tab(&page, name).await;
            let overflow = "const dialog = document.querySelector('.desk'); const body = dialog.querySelector('.desk-body'); \
                const place = dialog.getBoundingClientRect(); \
                return [place.width === innerWidth, body.scrollWidth <= body.clientWidth, \
                    document.documentElement.scrollWidth <= innerWidth, dialog.scrollHeight <= dialog.clientHeight];";
            assert_eq!(page.script(overflow, vec![]).await, json!([true, true, true, true]), "{name} at {width} px");
        }
        page.close().await;
    }
}

#[tokio::test]
async fn the_buttons_are_not_printed_and_not_there_without_javascript() {
    let page = Page::open("").await;
    page.devtools("Emulation.setEmulatedMedia", json!({ "media": "print" })).await;
    let seen = "return [...document.querySelectorAll('[data-desk]')].filter((one) => one.checkVisibility()).length;";
    assert_eq!(page.script(seen, vec![]).await, json!(0));
    page.close().await;
    let page = Visit::to("").without_scripts().open().await;
    assert_eq!(page.script(seen, vec![]).await, json!(0));
    page.close().await;
}

#[tokio::test]
async fn every_figure_has_a_button_named_after_it_that_covers_nothing() {
    let page = Visit::to_the_empty_page().open().await;
    for (name, width) in PAGES.into_iter().flat_map(|name| [(name, 360), (name, 1440)]) {
        page.resize(width, 900).await;
        if width == 360 {
            page.go(&format!("{FOLDER}{name}")).await;
            page.lay_out().await;
        }
        let script = "return [...document.querySelectorAll('.figure')].map((figure) => { \
            const button = figure.querySelector(':scope > [data-desk]'); \
            const title = figure.querySelector('.figure-title'); \
            if (!button) return `no button: ${title.textContent}`; \
            const range = document.createRange(); \
            range.selectNodeContents(title); \
            const place = button.getBoundingClientRect(); \
            const covers = [...range.getClientRects()].some((text) => text.right > place.left && text.left < place.right \
                && text.bottom > place.top && text.top < place.bottom); \
            if (covers) return `covered: ${title.textContent}`; \
            if (place.height < 24 || place.width < 24) return `small: ${place.width} by ${place.height}`; \
            return button.getAttribute('aria-label') === `Share: ${title.textContent}` ? null : button.outerHTML; \
        }).filter(Boolean);";
        assert_eq!(page.script(script, vec![]).await, json!([]), "/{name} at {width} px");
    }
    page.close().await;
}

#[tokio::test]
async fn what_has_a_folder_of_its_own_is_offered_with_a_preview_and_nothing_else_is() {
    let page = Page::open("?v=4&model=llama-3.1-8b&gpu=h100-80").await;
    share(&page, "Share").await;
    until_field(&page, "desk-preview-link", &format!("{}model/llama-3.1-8b/", home(&page))).await;
    let seen = "return document.getElementById('desk-preview-link').checkVisibility();";
    assert_eq!(page.script(seen, vec![]).await, json!(true));
    page.close().await;
    // A change in one input has no folder.
    let page = Page::open("?v=4&s=4096").await;
    share(&page, "Share").await;
    until_field(&page, "desk-short", &format!("{}?v=4&s=4096", home(&page))).await;
    assert_eq!(page.script(seen, vec![]).await, json!(false));
    page.close().await;
}

#[tokio::test]
async fn a_figure_with_the_default_configuration_is_offered_with_a_preview() {
    let page = Page::open("").await;
    share(&page, CHART).await;
    until_field(&page, "desk-preview-link", &format!("{}figure/chart/", home(&page))).await;
    page.close().await;
}
