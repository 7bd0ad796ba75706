//! How the built page feels: how long it takes to be there, whether anything moves, and how long an
//! input takes to be painted on a processor that is four times slower.
//!
//! It prints figures and asserts nothing, because a busy machine would fail it. It needs `dist/` and a
//! browser. `cargo bench --bench page` measures; `cargo test --bench page` does the same and is built
//! sooner, for the program that is measured is in `dist/` either way.

// The harness of the browser tests can do more than a measurement needs.
#[allow(dead_code, unused_imports)]
#[path = "../tests/browser/support/mod.rs"]
mod support;

use serde_json::{Value, json};
use support::{Page, Visit};

/// How often each input is made.
const INPUTS: u32 = 80;

/// Slow-down of the processor.
const SLOWER: u32 = 4;

/// Makes inputs one after another, and returns for each the milliseconds from the event until the frame
/// that shows its effect has been painted: a message that is posted in the last callback before painting
/// is received after it. The event is made inside a task of its own, as that of a key or a pointer is.
const PAINTED: &str = "const [selector, values, done] = arguments; \
    const field = document.querySelector(selector); \
    field.scrollIntoView({ block: 'center', behavior: 'instant' }); \
    const painted = () => new Promise((then) => requestAnimationFrame(() => { \
        const { port1, port2 } = new MessageChannel(); \
        port1.onmessage = () => { port1.close(); then(performance.now()); }; \
        port2.postMessage(0); \
    })); \
    const rest = (time) => new Promise((then) => setTimeout(then, time)); \
    (async () => { \
        const times = []; \
        for (const value of values) { \
            await rest(40); \
            const began = performance.now(); \
            if (value.startsWith('key ')) { \
                field.dispatchEvent(new KeyboardEvent('keydown', { key: value.slice(4), bubbles: true, cancelable: true })); \
            } else { \
                field.value = value; \
                field.dispatchEvent(new InputEvent('input', { bubbles: true })); \
            } \
            times.push(await painted() - began); \
        } \
        return times; \
    })().then(done);";

/// The longest events, as the browser itself times them from input to next paint; it rounds to 8 ms and
/// leaves out what is below 16.
const TRUSTED: &str = "window.timed = []; new PerformanceObserver((list) => window.timed.push(...list.getEntries() \
    .filter((entry) => entry.interactionId).map((entry) => entry.duration))) \
    .observe({ type: 'event', durationThreshold: 16 });";

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
        const all = [...document.querySelectorAll('.mount')]; \
        if (all.length && document.readyState !== 'loading' && all.every((one) => one.hasAttribute('data-mounted'))) { \
            window.mounted = performance.now(); \
            observer.disconnect(); \
        } \
    }).observe(document, { subtree: true, attributes: true, childList: true });";

#[tokio::main(flavor = "current_thread")]
async fn main() {
    loading().await;
    println!();
    println!("Input to paint, {INPUTS} inputs each, processor slowed down {SLOWER} times, in ms");
    println!("{:44} {:>7} {:>7} {:>7}", "", "p50", "p95", "max");
    let steps =
        |from: u32, to: u32| (0..INPUTS).map(|at| (from + at % (to - from + 1)).to_string()).collect::<Vec<_>>();
    inputs("batch slider", "#grow-batch", &steps(1, 8)).await;
    let lengths: Vec<_> = (0..INPUTS).map(|at| (1024 + 64 * at).to_string()).collect();
    inputs("sequence length (moves the chart)", "#calculator-s", &lengths).await;
    inputs("GPUs (new curve in the chart)", "#calculator-gpus", &steps(2, 64)).await;
    inputs("GPUs of the reference curves (all curves)", "#chart-gpus", &steps(2, 64)).await;
    let keys: Vec<_> =
        (0..INPUTS).map(|at| if at / 32 % 2 == 0 { "key ArrowLeft" } else { "key ArrowRight" }.to_owned()).collect();
    inputs("chart read-out by keyboard", ".chart-slider", &keys).await;
    trusted().await;
}

/// Times of a first visit, at three widths.
async fn loading() {
    println!("A first visit from the same machine, in ms since the navigation began");
    println!("{:>8} {:>12} {:>12} {:>12} {:>14}", "width", "first text", "program in", "figures in", "layout shift");
    for slower in [1, SLOWER] {
        for width in [360, 768, 1440] {
            let page = Visit::to("").wide(width).open().await;
            page.devtools("Emulation.setCPUThrottlingRate", json!({ "rate": slower })).await;
            page.devtools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": WATCH })).await;
            page.devtools("Network.setCacheDisabled", json!({ "cacheDisabled": true })).await;
            page.client.refresh().await.expect("the page loads again");
            page.wait_for_figures().await;
            let seen = page.script_async(LOADED, vec![]).await;
            let time = |at: usize| seen[at].as_f64().map_or_else(|| "?".to_owned(), |time| format!("{time:.0}"));
            let shift = seen[3].as_f64().unwrap_or(f64::NAN);
            let slow = if slower > 1 { format!("   ({slower} times slower)") } else { String::new() };
            println!("{width:>8} {:>12} {:>12} {:>12} {shift:>14.4}{slow}", time(0), time(1), time(2));
            page.close().await;
        }
    }
}

async fn slow_page() -> Page {
    let page = Page::open("").await;
    page.devtools("Emulation.setCPUThrottlingRate", json!({ "rate": SLOWER })).await;
    page
}

async fn inputs(name: &str, selector: &str, values: &[String]) {
    let page = slow_page().await;
    // The first few warm up what is compiled as it runs.
    page.script_async(PAINTED, vec![json!(selector), json!(&values[..8])]).await;
    let times = page.script_async(PAINTED, vec![json!(selector), json!(values)]).await;
    row(name, times.as_array().into_iter().flatten().filter_map(Value::as_f64).collect());
    page.close().await;
}

/// The batch slider by real keys, as the browser's own event timing sees it.
async fn trusted() {
    let page = slow_page().await;
    page.script(TRUSTED, vec![]).await;
    page.figure("grow").focus("slider", "Micro-batch b").await;
    for at in 0..INPUTS {
        page.press(if at / 8 % 2 == 0 { support::key::RIGHT } else { support::key::LEFT }).await;
    }
    let times = page.script("return window.timed;", vec![]).await;
    let mut times: Vec<_> = times.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    let below = (INPUTS as usize).saturating_sub(times.len());
    times.extend(std::iter::repeat_n(16.0, below));
    row("batch slider by key, the browser's own timing", times);
    println!("{:44} {below} of {INPUTS} took less than 16 ms", "");
    page.close().await;
}

fn row(name: &str, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| {
        times.get(((times.len() as f64 * share).ceil() as usize).saturating_sub(1)).copied().unwrap_or(f64::NAN)
    };
    println!("{name:44} {:>7.1} {:>7.1} {:>7.1}", at(0.5), at(0.95), at(1.0));
}
