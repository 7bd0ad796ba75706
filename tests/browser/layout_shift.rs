//! Nothing moves when the figures arrive.

use crate::support::{FOLDER, PAGES, Visit, html};
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

/// Where a page is opened in a window of this width: at its top, by a link that asks for other numbers, at its last section,
/// and at the figure in its middle. Not every page has a figure.
const PLACES: [fn(&str, u32) -> Option<String>; 4] = [
    |_, _| Some(String::new()),
    // What has numbers of its own is seen once it has them.
    |_, width| (width == 1440).then(|| "?v=4&model=70b&gpus=1".to_owned()),
    |page, _| ids(page, "<section id=\"").last().map(|id| format!("#{id}")),
    |page, _| {
        let figures = ids(page, " id=\"embed-");
        figures.get(figures.len() / 2).map(|name| format!("#embed-{name}"))
    },
];

/// The rest of each id of a page that begins so.
fn ids(page: &str, before: &str) -> Vec<String> {
    let html = html(page);
    html.split(before).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

/// Opens every page of the site at each of these places, in a window of this width. No page comes twice in a row, which would
/// only be another place of the one that is open.
async fn nothing_moves(width: u32) {
    let page = Visit::to_the_empty_page().wide(width).open().await;
    for place in PLACES {
        for (name, at) in PAGES.into_iter().filter_map(|name| Some((name, place(name, width)?))) {
            page.go(&format!("{FOLDER}{name}{at}")).await;
            page.wait_for_figures().await;
            let shifts = page.script_async(SHIFTS, vec![]).await;
            assert_eq!(shifts[0], json!(0), "{width} px, “{name}{at}”: {}", shifts[1]);
        }
    }
    page.close().await;
}

#[tokio::test]
async fn a_page_that_comes_in_two_pieces_moves_nothing_as_the_second_comes() {
    let page = Visit::to_the_empty_page().wide(768).open().await;
    // Within the button of the header, whose word makes it wider, and in a table whose next row makes a column wider.
    let pieces = [
        ("memory/", "data-desk=share type=button>"),
        ("networks/", "weights and biases; the same at every batch size"),
    ];
    for (name, piece) in pieces {
        assert!(html(name).contains(piece), "/{name} has “{piece}”");
        page.server.pause_pages_behind(piece);
        page.go(&format!("{FOLDER}{name}")).await;
        page.wait_for_figures().await;
        let shifts = page.script_async(SHIFTS, vec![]).await;
        assert_eq!(shifts[0], json!(0), "/{name} behind “{piece}”: {}", shifts[1]);
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
