//! Nothing moves when the figures arrive.

use crate::support::Visit;
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

#[tokio::test]
async fn no_figure_moves_the_text_when_it_mounts() {
    for width in [360, 768, 1440] {
        for address in ["", "?v=3&model=70b&gpus=1", "#grow", "#calculator", "#chart"] {
            let page = Visit::to(address).wide(width).open().await;
            let shifts = page.script_async(SHIFTS, vec![]).await;
            assert_eq!(shifts[0], json!(0), "{width} px, “{address}”: {}", shifts[1]);
            page.close().await;
        }
    }
}
