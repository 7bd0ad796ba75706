//! The page without a network: kept whole by the first visit, replaced whole by a later one.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};

use crate::support::{
    BLANK, FOLDER, Files, OTHER_FOLDER, PAGES, Page, Visit, WITHOUT_BAR, dist, expected, is_for_readers, page_of,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bmax::catalogue::DEVICES;
use serde_json::{Value, json};
use sha2::{Digest, Sha256, Sha384};

/// Where the page's own worker stands: on its way, waiting for its turn, in charge.
const WORKERS: &str = "const done = arguments[0]; \
    navigator.serviceWorker.getRegistration().then((registration) => \
        done(['installing', 'waiting', 'active'].map((place) => registration?.[place]?.state ?? null)));";

/// The names of all caches of the origin.
const CACHES: &str = "const done = arguments[0]; caches.keys().then(done);";

/// From which build the text, the styles and the program of an open page are.
const BUILD: &str = "return [document.title.startsWith('B: ') ? 'B' : 'A', \
    getComputedStyle(document.documentElement).getPropertyValue('--build') || 'A', globalThis.build ?? 'A'];";

/// Waits for an answer that a page gives when it can.
async fn until_answers(page: &Page, what: &str, script: &str, expected: Value) {
    page.until(what, async || {
        let seen = page.script_async(script, vec![]).await;
        if seen == expected { Ok(()) } else { Err(seen) }
    })
    .await;
}

async fn until_kept(page: &Page) {
    until_answers(page, "the build to be kept", WORKERS, json!([null, null, "activated"])).await;
}

async fn caches(page: &Page) -> Vec<String> {
    let names = page.script_async(CACHES, vec![]).await;
    serde_json::from_value(names).expect("names")
}

/// The same as soon as there are this many: a browser may take its time to clear up.
async fn caches_left(page: &Page, count: usize) -> Vec<String> {
    page.until("the caches that are left", async || {
        let all = caches(page).await;
        if all.len() == count { Ok(()) } else { Err(all) }
    })
    .await;
    caches(page).await
}

/// A path of one's own for something short-lived.
fn scratch() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    env::temp_dir().join(format!("bmax-build-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
}

/// A folder of files with the worker that belongs to them, as the build makes it.
fn listed(mut files: Files, offline: &str) -> Files {
    let root = env!("CARGO_MANIFEST_DIR");
    let folder = scratch();
    files.insert("sw.js".to_owned(), fs::read(format!("{root}/assets/sw.js")).expect("the worker's source"));
    for (name, bytes) in &files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("a folder for it");
        fs::write(path, bytes).expect("room for a copy of the page");
    }
    let status =
        Command::new(env!("CARGO_BIN_EXE_finish")).arg("again").arg(&folder).env("BMAX_OFFLINE", offline).status();
    assert!(status.expect("the program starts").success(), "the copy can be finished");
    for (name, bytes) in &mut files {
        if name.ends_with(".html") || name == "sw.js" {
            *bytes = fs::read(folder.join(name)).expect("what was written");
        }
    }
    _ = fs::remove_dir_all(&folder);
    files
}

/// A page with places for the digests of its inline scripts and styles in its policy, as they were before it was
/// finished.
fn without_digests(page: &str) -> String {
    let (before, rest) = page.split_once("script-src ").expect("a policy");
    let (policy, rest) = rest.split_once('"').expect("the end of the policy");
    let named = |words: &str| !words.starts_with("'sha256-");
    let directives = format!("script-src {policy}");
    let directives = directives.split("; ").map(|directive| {
        let words: Vec<_> = directive.split(' ').filter(|word| named(word)).collect();
        match words[0] {
            "script-src" => words.join(" ") + " {{inline-script-hashes}}",
            "style-src" => words.join(" ") + " {{inline-style-hashes}}",
            _ => words.join(" "),
        }
    });
    format!("{before}{}\"{rest}", directives.collect::<Vec<_>>().join("; "))
}

/// The digests of a file as a page names them: Trunk's of a sheet, and those of what is fetched later.
fn digests_of(bytes: &[u8]) -> [String; 2] {
    [STANDARD.encode(Sha384::digest(bytes)), STANDARD.encode(Sha256::digest(bytes))]
}

/// Replaces in a text, which must have it.
fn replaced(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "no {old:.60} to replace");
    text.replace(old, new)
}

/// Another build of the site: other text, styles and program, whose files have other names.
fn another_build() -> Files {
    // What is named by what it holds, a file or a folder: its name ends in sixteen signs.
    let hashed = |name: &str| {
        let top = name.split('/').next().unwrap_or_default();
        let (stem, rest) = top.rsplit_once('-')?;
        let hash: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
        (hash.len() == 16).then(|| (format!("{stem}-{hash}"), format!("{stem}-bbbbbbbbbbbbbbbb")))
    };
    let names: BTreeSet<_> = dist().keys().filter_map(|name| hashed(name)).collect();
    assert!(names.len() >= 3, "{names:?}");
    let renamed = |text: &str| names.iter().fold(text.to_owned(), |text, (old, new)| text.replace(old, new));
    let mut files = Files::new();
    let mut digests = Vec::new();
    for (name, bytes) in dist().iter().filter(|(name, _)| is_for_readers(name)) {
        let mut bytes = bytes.clone();
        if name.ends_with(".js") || name.ends_with(".css") {
            let mark = if name.ends_with(".js") { "\nglobalThis.build = 'B';" } else { "\n:root { --build: B; }" };
            let changed = renamed(&String::from_utf8(bytes.clone()).expect("text")) + mark;
            digests.extend(digests_of(&bytes).into_iter().zip(digests_of(changed.as_bytes())));
            bytes = changed.into_bytes();
        }
        files.insert(renamed(name), bytes);
    }
    for (name, bytes) in &mut files {
        if name.ends_with("index.html") {
            let text = String::from_utf8(bytes.clone()).expect("text");
            let text = without_digests(&renamed(&replaced(&text, "<title>", "<title>B: ")));
            *bytes = digests.iter().fold(text, |text, (old, new)| text.replace(old, new)).into_bytes();
        }
    }
    listed(files, "yes")
}

/// The build of the open page, which must be one build throughout.
async fn build(page: &Page) -> String {
    page.wait_for_figures().await;
    let parts: Vec<String> = serde_json::from_value(page.script(BUILD, vec![]).await).expect("names of builds");
    assert!(parts.iter().all(|part| *part == parts[0]), "a mixture of builds: {parts:?}");
    parts[0].clone()
}

/// Opens a folder in which there is a newer build now, and waits until the browser has found it there.
async fn visit_until_the_newer_build_waits(page: &Page, folder: &str) {
    page.go(folder).await;
    assert_eq!(build(page).await, "A", "the build that is kept comes first");
    until_answers(page, "the new build to wait", WORKERS, json!([null, "installed", "activated"])).await;
}

/// Leaves the page until no worker of its folder waits for its turn, and comes back.
async fn come_back(page: &Page, folder: &str, expected: &str) {
    page.go(BLANK).await;
    let waits = format!(
        "const done = arguments[0]; \
        navigator.serviceWorker.getRegistration('{folder}').then((registration) => done(!!registration?.waiting));"
    );
    until_answers(page, "the waiting worker to take over", &waits, json!(false)).await;
    page.go(folder).await;
    assert_eq!(build(page).await, expected);
}

#[tokio::test]
async fn after_the_first_visit_every_page_works_with_its_server_gone() {
    let mut page = Visit::to("").kept().open().await;
    until_kept(&page).await;
    page.server.stop();
    for query in ["?v=4&model=13b&gpus=64", "?v=1&model=70b&gpus=64&recompute=full", ""] {
        page.go(&format!("{FOLDER}{query}#calculator")).await;
        page.wait_for_figures().await;
        page.read_through().await;
        page.part("#answer-bar").shows("bar-answer", &expected::answer(&expected::scenario(query))).await;
        assert_eq!(page.part("#notices").all_text().await, "");
        page.reload().await;
        page.wait_for_figures().await;
        page.part("#answer-bar").shows("bar-answer", &expected::answer(&expected::scenario(query))).await;
    }
    // Every page of the site, and one after another without the first.
    for name in PAGES {
        page.go(&format!("{FOLDER}{name}?v=4&model=13b&gpus=64")).await;
        page.wait_for_figures().await;
        // The workshop has a count of its own.
        let count = if name == "workshop/" { "&method=workshop" } else { "" };
        let answer = expected::answer(&expected::scenario(&format!("?v=4&model=13b&gpus=64{count}")));
        if name != WITHOUT_BAR {
            page.part("#answer-bar").shows("bar-answer", &answer).await;
        }
        assert_eq!(page.part("#notices").all_text().await, "", "/{name}");
    }
    page.go(&format!("{FOLDER}?embed=step&v=4&gpus=64")).await;
    page.until_script("the figure's page", "return location.pathname;", json!(format!("{FOLDER}{}", page_of("step"))))
        .await;
    page.wait_for_figures().await;
    page.go(&format!("{FOLDER}catalogue.html")).await;
    let rows = page.script("return document.querySelectorAll('table tr').length;", vec![]).await;
    assert!(rows.as_u64() > Some(DEVICES.len() as u64), "{rows} rows of the catalogue");
    page.close().await;
}

#[tokio::test]
async fn the_browser_finds_a_sound_manifest_and_nothing_that_hinders_an_installation() {
    let page = Visit::to("?v=4&gpus=64").kept().open().await;
    until_kept(&page).await;
    let manifest = page.devtools("Page.getAppManifest", json!({})).await;
    assert_eq!(manifest["errors"], json!([]));
    assert_eq!(manifest["url"], json!(format!("{}{FOLDER}manifest.webmanifest", page.server.origin())));
    let hindrances = page.devtools("Page.getInstallabilityErrors", json!({})).await;
    assert_eq!(hindrances["installabilityErrors"], json!([]));
    page.close().await;
}

#[tokio::test]
async fn every_file_of_the_build_is_kept_and_nothing_else() {
    let page = Visit::to("").kept().untouched().open().await;
    until_kept(&page).await;
    let home = page.server.origin() + FOLDER;
    let script = "const done = arguments[0]; \
        caches.keys().then(async (names) => { \
            const requests = await Promise.all(names.map(async (name) => (await caches.open(name)).keys())); \
            done(requests.flat().map((request) => request.url)); \
        });";
    let kept: Vec<String> = serde_json::from_value(page.script_async(script, vec![]).await).expect("addresses");
    let kept: BTreeSet<_> = kept.iter().map(|address| address.strip_prefix(&home).expect("of this folder")).collect();
    let built = dist().keys().map(String::as_str).filter(|name| *name != "sw.js" && is_for_readers(name));
    let built: BTreeSet<_> = built.map(|name| name.strip_suffix("index.html").unwrap_or(name)).collect();
    assert_eq!(kept, built);
    page.close().await;
}

#[tokio::test]
async fn what_the_visit_has_loaded_already_is_not_loaded_again_to_be_kept() {
    // What a reader asks for meanwhile is asked for twice.
    let page = Visit::to("").kept().untouched().open().await;
    until_kept(&page).await;
    for part in ["/", ".wasm", ".js", ".css"] {
        let mut asked: Vec<_> = page.server.requests().into_iter().filter(|path| path.ends_with(part)).collect();
        let count = asked.len();
        asked.sort();
        asked.dedup();
        assert_eq!(asked.len(), count, "{asked:?}");
    }
    page.close().await;
}

#[tokio::test]
async fn a_second_visit_asks_the_server_only_whether_there_is_a_newer_build() {
    let page = Visit::to("").kept().open().await;
    until_kept(&page).await;
    let before = page.server.requests().len();
    page.go(BLANK).await;
    page.go(&format!("{FOLDER}?v=4&gpus=64")).await;
    page.wait_for_figures().await;
    let asked = page.server.requests().split_off(before);
    let expected = [BLANK.to_owned(), format!("{FOLDER}sw.js")];
    assert!(asked.iter().all(|path| expected.contains(path)), "{asked:?}");
    // What is not of the build is the server's to answer.
    let missing = "const done = arguments[0]; fetch('no-such.txt').then((response) => done(response.status));";
    assert_eq!(page.script_async(missing, vec![]).await, json!(404));
    assert!(page.server.requests().contains(&format!("{FOLDER}no-such.txt")));
    // Some browsers log that answer as an error of the page.
    assert!(page.complaints().await.len() <= 1);
    page.close().await;
}

#[tokio::test]
async fn a_new_build_takes_over_at_the_next_visit_and_never_in_part() {
    let page = Visit::to("").kept().open().await;
    until_kept(&page).await;
    assert_eq!(build(&page).await, "A");
    let old = caches(&page).await;
    page.server.publish(FOLDER, another_build());
    visit_until_the_newer_build_waits(&page, FOLDER).await;
    // The window that is open, the same one loaded again, and a second one: all of the old build.
    page.reload().await;
    assert_eq!(build(&page).await, "A");
    let first = page.client.window().await.expect("a window");
    let second = page.client.new_window(true).await.expect("a second window");
    page.client.switch_to_window(second.handle).await.expect("it is there");
    page.go(FOLDER).await;
    assert_eq!(build(&page).await, "A");
    let styles = "const done = arguments[0]; \
        fetch('ask.js').then((response) => response.text()).then((text) => done(text.includes('globalThis.build')));";
    assert_eq!(page.script_async(styles, vec![]).await, json!(false), "a file whose name stays is of the same build");
    page.client.close_window().await.expect("it can be closed");
    page.client.switch_to_window(first).await.expect("the first is still there");

    come_back(&page, FOLDER, "B").await;
    until_kept(&page).await;
    assert_eq!(page.script_async(styles, vec![]).await, json!(true));
    assert_eq!(old.len(), 1, "{old:?}");
    let new = caches_left(&page, 1).await;
    assert_ne!(old, new);
    page.close().await;
}

/// A first visit to a folder whose files do not go together.
async fn visit_in_vain(files: Files) -> Page {
    let page = Visit::to_the_empty_page().kept().open().await;
    page.server.publish(FOLDER, files);
    page.go(&format!("{FOLDER}?v=4&gpus=64")).await;
    page.wait_for_figures().await;
    page.part("#answer-bar").shows("bar-answer", &expected::answer(&expected::scenario("?gpus=64"))).await;
    page.until("the worker to be at work", async || {
        let asked = page.server.requests();
        // Only the worker asks for the page without a query.
        if asked.contains(&FOLDER.to_owned()) { Ok(()) } else { Err(asked) }
    })
    .await;
    until_answers(&page, "the worker to give up", WORKERS, json!([null, null, null])).await;
    until_answers(&page, "nothing to be left", CACHES, json!([])).await;
    page.part("#answer-bar").shows("bar-answer", &expected::answer(&expected::scenario("?gpus=64"))).await;
    // The browser may say that something did not load; the page does not mind.
    page.complaints().await;
    page
}

#[tokio::test]
async fn a_build_that_cannot_be_had_whole_is_not_kept_and_the_page_works() {
    let mut files = (**dist()).clone();
    files.remove("icons/512.png").expect("an icon");
    let page = visit_in_vain(files).await;
    // The next visit tries again.
    page.server.publish(FOLDER, (**dist()).clone());
    page.go(BLANK).await;
    page.go(FOLDER).await;
    page.wait_for_figures().await;
    until_kept(&page).await;
    page.close().await;
}

#[tokio::test]
async fn in_the_middle_of_a_deployment_text_that_is_newer_than_the_list_is_not_kept() {
    let mut files = (**dist()).clone();
    files.get_mut("index.html").expect("a page").extend_from_slice(b"<!-- newer -->");
    visit_in_vain(files).await.close().await;
}

#[tokio::test]
async fn two_installations_on_one_origin_leave_each_other_alone() {
    let mut page = Visit::to("").kept().open().await;
    until_kept(&page).await;
    page.script_async("const done = arguments[0]; caches.open('of somebody else').then(() => done(null));", vec![])
        .await;
    page.server.publish(OTHER_FOLDER, (**dist()).clone());
    page.go(OTHER_FOLDER).await;
    page.wait_for_figures().await;
    until_kept(&page).await;
    let before = caches(&page).await;
    assert_eq!(before.len(), 3, "{before:?}");
    page.server.publish(FOLDER, another_build());
    visit_until_the_newer_build_waits(&page, FOLDER).await;
    come_back(&page, FOLDER, "B").await;
    until_kept(&page).await;
    let after = caches_left(&page, 3).await;
    let kept = before.iter().filter(|name| after.contains(name)).count();
    assert_eq!(kept, 2, "only the cache of the build that was replaced is gone: {before:?} {after:?}");
    page.server.stop();
    page.go(OTHER_FOLDER).await;
    assert_eq!(build(&page).await, "A");
    page.go(FOLDER).await;
    assert_eq!(build(&page).await, "B");
    page.close().await;
}

/// Notes every call that would install a worker.
const NOTE_REGISTRATIONS: &str = "self.registered = []; \
    if (self.ServiceWorkerContainer) { \
        const { register } = ServiceWorkerContainer.prototype; \
        ServiceWorkerContainer.prototype.register = function (...all) { \
            registered.push(String(all[0])); \
            return register.apply(this, all); \
        }; \
    }";

/// What a page has asked to be installed once it has loaded.
async fn registered(page: &Page) -> Value {
    let loaded = "return performance.getEntriesByType('navigation')[0].loadEventEnd > 0;";
    page.until_script("the page to have loaded", loaded, json!(true)).await;
    // A frame without an origin is another process, which the note does not reach and a worker neither.
    page.script("return self.registered ?? [];", vec![]).await
}

#[tokio::test]
async fn the_page_installs_itself_and_no_figure_in_a_frame_does() {
    let page = Visit::to_the_empty_page().kept().open().await;
    page.before_every_page(NOTE_REGISTRATIONS).await;
    for query in ["?embed=chart&v=4&gpus=64", "?v=4&embed=answer", "?embed=", "?embed=step"] {
        page.go(&format!("{FOLDER}{query}")).await;
        assert_eq!(registered(&page).await, json!([]), "{query}");
    }
    for sandbox in [json!("allow-scripts"), Value::Null] {
        page.go(BLANK).await;
        let frame = "const frame = document.createElement('iframe'); \
            if (arguments[1]) frame.setAttribute('sandbox', arguments[1]); \
            frame.src = arguments[0]; \
            document.body.append(frame);";
        page.script(frame, vec![json!(FOLDER), sandbox]).await;
        page.client.enter_frame(0).await.expect("the frame is there");
        page.until_script("the page in the frame", "return location.pathname;", json!(FOLDER)).await;
        assert_eq!(registered(&page).await, json!([]), "in a frame");
        page.client.enter_parent_frame().await.expect("the page around it");
    }
    assert!(!page.server.requests().contains(&format!("{FOLDER}sw.js")));
    page.go(&format!("{FOLDER}?v=4&gpus=64")).await;
    assert_eq!(registered(&page).await, json!(["./sw.js"]));
    until_kept(&page).await;
    // One worker serves all pages.
    page.go(&format!("{FOLDER}memory/?v=4&gpus=64")).await;
    assert_eq!(registered(&page).await, json!(["../sw.js"]));
    let script = format!("{}{FOLDER}sw.js", page.server.origin());
    let all = "const done = arguments[0]; navigator.serviceWorker.getRegistrations() \
        .then((all) => done(all.map((one) => one.active?.scriptURL)));";
    until_answers(&page, "one worker", all, json!([script])).await;
    page.close().await;
}

#[tokio::test]
async fn a_build_that_is_being_worked_on_keeps_nothing_and_clears_what_was_kept() {
    let page = Visit::to("").kept().open().await;
    until_kept(&page).await;
    let files = dist().iter().filter(|(name, _)| *name != "sw.js");
    let mut files: Files = files.map(|(name, bytes)| (name.clone(), bytes.clone())).collect();
    files.extend(another_build().into_iter().filter(|(name, _)| name != "sw.js"));
    page.server.publish(FOLDER, listed_for_work(files));
    page.go(FOLDER).await;
    assert_eq!(build(&page).await, "A");
    until_answers(&page, "the worker to remove itself", CACHES, json!([])).await;
    come_back(&page, FOLDER, "B").await;
    until_answers(&page, "the worker to remove itself", WORKERS, json!([null, null, null])).await;
    until_answers(&page, "nothing to be left", CACHES, json!([])).await;
    page.close().await;
}

/// The same files as `make serve` has them.
fn listed_for_work(files: Files) -> Files {
    listed(files, "no")
}
