//! Nothing moves when the figures arrive.

use crate::support::{BLANK, FOLDER, PAGES, Visit, html};
use serde_json::json;

/// The sum of all layout shifts since the page was opened, and what moved. Two frames are awaited
/// first, so that the last of them is counted.
const SHIFTS: &str = "const done = arguments[0]; \
    const seen = []; \
    const observer = new PerformanceObserver((list) => seen.push(...list.getEntries())); \
    observer.observe({ type: 'layout-shift', buffered: true }); \
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => { \
        seen.push(...observer.takeRecords()); \
        const what = seen.flatMap((shift) => shift.sources.map((source) => \
            `${source.node?.id || source.node?.className || source.node?.nodeName} ` + \
            `${JSON.stringify(source.previousRect)} -> ${JSON.stringify(source.currentRect)}`)); \
        done([seen.reduce((sum, shift) => sum + shift.value, 0), what.slice(0, 6)]); \
    })));";

/// Two places of a page to be opened at: its last section, and the figure in its middle.
fn places(page: &str) -> Vec<String> {
    let html = html(page);
    let ids = |before: &str| -> Vec<String> {
        let rest = html.split(before).skip(1);
        rest.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
    };
    let (sections, figures) = (ids("<section id=\""), ids(" id=\"embed-"));
    let figure = figures.get(figures.len() / 2).map(|name| format!("embed-{name}"));
    sections.last().cloned().into_iter().chain(figure).map(|id| format!("#{id}")).collect()
}

/// Opens every page of the site at its top and at these places, in a window of this width.
async fn nothing_moves(width: u32) {
    let page = Visit::to_the_empty_page().wide(width).open().await;
    for name in PAGES {
        // What has numbers of its own is seen once it has them.
        let asked = (width == 1440).then(|| "?v=3&model=70b&gpus=1".to_owned());
        for address in [String::new()].into_iter().chain(asked).chain(places(name)) {
            page.go(BLANK).await;
            page.go(&format!("{FOLDER}{name}{address}")).await;
            page.wait_for_figures().await;
            let shifts = page.script_async(SHIFTS, vec![]).await;
            assert_eq!(shifts[0], json!(0), "{width} px, “{name}{address}”: {}", shifts[1]);
        }
    }
    page.close().await;
}

#[tokio::test]
async fn no_figure_moves_the_text_of_any_page_at_320_pixels() {
    nothing_moves(320).await;
}

#[tokio::test]
async fn no_figure_moves_the_text_of_any_page_at_768_pixels() {
    nothing_moves(768).await;
}

#[tokio::test]
async fn no_figure_moves_the_text_of_any_page_at_1440_pixels() {
    nothing_moves(1440).await;
}
