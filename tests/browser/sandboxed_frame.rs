//! The page in somebody else's, in a frame that may run scripts and nothing more, and in every other sandbox.

use crate::support::host::{Host, frame};
use crate::support::{Page, Visit, expected};
use serde_json::{Value, json};

/// What a sandbox may allow beside scripts, of all that a page like this could want: storage, forms, links that open
/// windows, files that are saved, dialogs of the browser.
const BESIDE_SCRIPTS: [&str; 5] =
    ["allow-same-origin", "allow-forms", "allow-popups", "allow-downloads", "allow-modals"];

/// How many frames there are at a time: as many as stand in the window, since browsers let others wait.
const AT_A_TIME: usize = 8;

/// Every sandbox there is, with scripts or without.
fn sandboxes(scripts: bool) -> Vec<String> {
    let first = if scripts { "allow-scripts" } else { "" };
    let chosen = |set: usize| BESIDE_SCRIPTS.into_iter().enumerate().filter(move |(at, _)| set >> at & 1 == 1);
    (0..1 << BESIDE_SCRIPTS.len())
        .map(|set| chosen(set).fold(first.to_owned(), |all, (_, one)| format!("{all} {one}")))
        .collect()
}

/// Frames of one figure in these sandboxes, in two rows.
fn frames(sandboxes: &[String]) -> String {
    let small = |html: String| html.replace("width=800 height=400", "width=340 height=420");
    sandboxes.iter().map(|sandbox| small(frame("embed=answer&v=4", &format!("sandbox='{sandbox}'")))).collect()
}

/// What browsers say by themselves: that a sandbox has no scripts, and that its frame could leave it.
const SAID_BY_BROWSERS: [&str; 2] =
    ["'allow-scripts' permission is not set", "both allow-scripts and allow-same-origin"];

/// Ends a visit on which nothing else was complained of.
async fn close(host: Host) {
    let ours = |said: &String| !SAID_BY_BROWSERS.iter().any(|known| said.contains(known));
    let complaints: Vec<String> = host.page.complaints().await.into_iter().filter(ours).collect();
    assert_eq!(complaints, Vec::<String>::new());
    host.close().await;
}

async fn framed() -> Page {
    let page = Visit::to_the_host_page().open().await;
    page.client.enter_frame(0).await.expect("the frame is there");
    page.wait_for_figures().await;
    page
}

#[tokio::test]
async fn every_figure_mounts_and_works_without_an_origin_and_without_storage() {
    let page = framed().await;
    assert_eq!(page.script("return origin;", vec![]).await, json!("null"));
    page.figure("answer").shows("opening-answer", &expected::answer(&expected::scenario(""))).await;
    page.figure("calculator").press("1B").await;
    page.figure("answer").shows("opening-answer", &expected::answer(&expected::scenario("?model=1b"))).await;
    page.close().await;
}

#[tokio::test]
async fn the_theme_can_be_changed_though_it_cannot_be_remembered() {
    let page = framed().await;
    page.all().press("Theme: auto").await;
    page.all().press("Theme: light").await;
    page.until_script("dark", "return document.documentElement.dataset.theme;", "dark".into()).await;
    page.close().await;
}

#[tokio::test]
async fn a_figure_answers_in_every_sandbox_with_scripts() {
    let host = Host::with("").await;
    for eight in sandboxes(true).chunks(AT_A_TIME) {
        host.show(&frames(eight)).await;
        for (at, sandbox) in (0..).zip(eight) {
            println!("{sandbox}");
            host.settled(at).await;
            host.tell(at, json!({ "bmax": 1, "type": "set", "scenario": "model=1b" })).await;
            let wanted = expected::answer(&expected::scenario("?model=1b"));
            host.page
                .until("the figure to follow", async || {
                    let shown = "return document.querySelector('[data-testid=opening-answer]')?.innerText;";
                    let shown = host.inside(at, shown).await;
                    if shown == json!(wanted) { Ok(()) } else { Err(shown) }
                })
                .await;
            // Without an origin there is no storage, which the figure has met by now.
            let kept = "try { return localStorage.length >= 0; } catch (refused) { return refused.name; }";
            let has_origin = sandbox.contains("allow-same-origin");
            let wanted = if has_origin { json!(true) } else { json!("SecurityError") };
            assert_eq!(host.inside(at, kept).await, wanted, "{sandbox}");
            assert_eq!(host.heard(at, "refused").await, Vec::<Value>::new(), "{sandbox}");
        }
    }
    close(host).await;
}

#[tokio::test]
async fn without_scripts_every_sandbox_shows_what_was_built() {
    let host = Host::with("").await;
    // The whole page, since nothing takes the rest of it away: its answer, and why nothing moves.
    let seen = "if (document.readyState !== 'complete') return document.readyState; \
        const seen = (one) => one?.checkVisibility({ opacityProperty: true, visibilityProperty: true }) \
            && one.getBoundingClientRect().height > 8; \
        const parts = ['h1', '.noscript', '[data-figure=answer]', '[data-testid=opening-answer]']; \
        const unseen = parts.filter((part) => !seen(document.querySelector(part))); \
        return [unseen, document.querySelector('[data-testid=opening-answer]')?.innerText];";
    let wanted = json!([[], expected::answer(&expected::scenario(""))]);
    for eight in sandboxes(false).chunks(AT_A_TIME) {
        host.show(&frames(eight)).await;
        for (at, sandbox) in (0..).zip(eight) {
            host.page
                .until(&format!("the page in the sandbox “{sandbox}”"), async || {
                    let shown = host.inside(at, seen).await;
                    if shown == wanted { Ok(()) } else { Err(shown) }
                })
                .await;
        }
    }
    close(host).await;
}
