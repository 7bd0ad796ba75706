//! How the built pages arrive: how long it takes until there is text, the program and every figure, and whether
//! anything moves. How long an input takes until it is painted is measured by `tools/input_to_paint/`, beside another
//! page.
//!
//! It prints figures and asserts nothing, because a busy machine would fail it. It needs `dist/` and a
//! browser. `cargo bench --bench page` measures; `cargo test --bench page` does the same and is built
//! sooner, for the program that is measured is in `dist/` either way.

// The harness of the browser tests can do more than a measurement needs.
#[allow(dead_code, unused_imports)]
#[path = "../tests/browser/support/mod.rs"]
mod support;

use serde_json::json;
use support::{FOLDER, PAGES, Visit};

/// Slow-down of the processor.
const SLOWER: u32 = 4;

const LOADED: &str = "const done = arguments[0]; \
    const shifts = []; \
    new PerformanceObserver((list) => shifts.push(...list.getEntries())).observe({ type: 'layout-shift', buffered: true }); \
    setTimeout(() => { \
        const paint = performance.getEntriesByName('first-contentful-paint')[0]?.startTime; \
        const module = performance.getEntriesByType('resource').find((entry) => entry.name.endsWith('.wasm')); \
        done([paint, module?.responseEnd, window.mounted, shifts.reduce((sum, shift) => sum + shift.value, 0)]); \
    }, 300);";

/// Notes when the last figure mounts; runs before anything of the page does.
const WATCH: &str = "new MutationObserver((_, observer) => { \
        const all = [...document.querySelectorAll('[data-figure]')]; \
        if (document.readyState !== 'loading' && all.every((one) => one.hasAttribute('data-mounted'))) { \
            window.mounted = performance.now(); \
            observer.disconnect(); \
        } \
    }).observe(document, { subtree: true, attributes: true, childList: true });";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!("A first visit from the same machine, in ms since the navigation began");
    println!(
        "{:>12} {:>6} {:>12} {:>12} {:>12} {:>14}",
        "page", "width", "first text", "program in", "figures in", "layout shift"
    );
    for slower in [1, SLOWER] {
        for width in [360, 768, 1440] {
            loading("", width, slower).await;
        }
        for page in &PAGES[1..] {
            loading(page, 360, slower).await;
        }
    }
}

/// Times of a first visit to a page.
async fn loading(name: &str, width: u32, slower: u32) {
    let page = Visit::to_the_empty_page().wide(width).open().await;
    page.devtools("Emulation.setCPUThrottlingRate", json!({ "rate": slower })).await;
    page.before_every_page(WATCH).await;
    page.devtools("Network.setCacheDisabled", json!({ "cacheDisabled": true })).await;
    page.go(&format!("{FOLDER}{name}")).await;
    page.wait_for_figures().await;
    let seen = page.script_async(LOADED, vec![]).await;
    let time = |at: usize| seen[at].as_f64().map_or_else(|| "?".to_owned(), |time| format!("{time:.0}"));
    let shift = seen[3].as_f64().unwrap_or(f64::NAN);
    let slow = if slower > 1 { format!("   ({slower} times slower)") } else { String::new() };
    println!(
        "{:>12} {width:>6} {:>12} {:>12} {:>12} {shift:>14.4}{slow}",
        format!("/{name}"),
        time(0),
        time(1),
        time(2)
    );
    page.close().await;
}
