//! One model on a grid of GPUs: who shares what, what each stage holds, and what they send each other.

use crate::support::{Page, Visit, expected};
use bmax::course::splitting::{bubble, crossing};
use bmax::stages::stages;
use bmax::{Bytes, estimate, number};
use serde_json::json;

/// The numbers of the boxes that are marked, as they are drawn.
const MARKED: &str =
    "return [...document.querySelectorAll('#grid .grid-gpu.is-lit')].map((one) => one.textContent).join(' ');";

/// How tall the figure is.
const HEIGHT: &str = "return Math.round(document.getElementById('grid').getBoundingClientRect().height);";

fn size(bytes: Bytes) -> String {
    if bytes == Bytes::ZERO { "0 GiB".to_owned() } else { expected::memory(bytes) }
}

#[tokio::test]
async fn the_example_marks_the_groups_of_its_source() {
    let page = Page::about("grid", "").await;
    let figure = page.figure("grid");
    figure.approach().await;
    figure.says("Example Your configuration splits no model, so this is another one").await;
    figure.shows("copy", "8 GPUs").await;
    figure.press("Show mine").await;
    figure.shows("copy", "1 GPU").await;
    figure.press("Show the example").await;
    figure.shows("copy", "8 GPUs").await;
    // Nothing of that is the reader's.
    assert_eq!(page.query().await, "");
    figure.press("Use the example").await;
    figure.says("This is your configuration. An example: 16 GPUs with T = 2, P = 4 and 8 micro-batches.").await;
    figure.shows("copy", "8 GPUs").await;
    figure.shows("data", "2 copies train").await;
    // (P − 1)/m and (P − 1)/(m + P − 1) for P = 4 and m = 8.
    figure.shows("bubble", "37.5 %").await;
    figure.shows("idle", "27.3 %").await;
    // The groups that the text of Megatron-LM's `initialize_model_parallel` lists for g0.
    for (kind, numbers) in [("tensor", "0 1"), ("pipeline", "0 4 8 12"), ("data", "0 2"), ("context", "0")] {
        figure.choose("Mark who shares with GPU 0", kind).await;
        page.until_script(&format!("the {kind} group"), MARKED, json!(numbers)).await;
    }
    page.close().await;
}

#[tokio::test]
async fn whoever_sets_a_size_sees_their_own() {
    let page = Page::about("grid", "").await;
    let figure = page.figure("grid");
    figure.approach().await;
    figure.shows("copy", "8 GPUs").await;
    figure.enter("Number of GPUs", "4").await;
    figure.shows("copy", "1 GPU").await;
    figure.shows("data", "4 copies train").await;
    page.until_query("v=4&gpus=4").await;
    page.close().await;
}

#[tokio::test]
async fn stages_and_links_show_the_library_s_numbers() {
    let query = "?model=llama-3.1-8b&gpus=16&tp=2&pp=4&accum=8&zero=1&b=1&s=4096";
    let scenario = expected::scenario(query);
    let page = Page::about("grid", query).await;
    let figure = page.figure("grid");
    figure.approach().await;
    let shares = stages(&scenario);
    let peaks = estimate(&scenario).stages();
    let rows = figure.table("stages").await;
    assert_eq!(rows.len(), 3);
    for (row, rank) in rows.iter().zip([0, 1, 3_u32]) {
        assert!(row[0].starts_with(&format!("{rank}, ")), "{row:?}");
        assert_eq!(row[1], number::grouped(shares[rank as usize].layers));
        assert_eq!(row[3], number::grouped(f64::from(4 - rank)));
        let peak = peaks.iter().find(|stage| stage.rank == rank).expect("it is counted").peak.bytes;
        let peak = format!("{} GiB", number::with_commas(&number::fixed(peak.gib(), 1)));
        assert!(row.contains(&peak), "{peak}: {row:?}");
    }
    let rows = figure.table("crossing").await;
    assert_eq!(rows.len(), 4);
    for (row, crossing) in rows.iter().zip(crossing(&scenario)) {
        assert_eq!(row[3..], [number::grouped(crossing.exchanges), size(crossing.bytes)]);
    }
    let (computing, _) = bubble(&scenario);
    figure.shows("bubble", &format!("{} %", number::fixed(computing * 100.0, 1))).await;
    page.close().await;
}

#[tokio::test]
async fn the_sizes_are_the_shared_ones_and_the_figure_keeps_its_height() {
    for width in [360, 768, 1440] {
        let page = Visit::about("grid", "?v=4&gpus=64").wide(width).open().await;
        let figure = page.figure("grid");
        figure.approach().await;
        let before = page.script(HEIGHT, vec![]).await;
        figure.enter("Tensor parallel", "8").await;
        figure.enter("Pipeline parallel", "8").await;
        figure.shows("copy", "64 GPUs").await;
        page.until_query("v=4&gpus=64&tp=8&pp=8").await;
        page.until_script(&format!("the same height at {width}"), HEIGHT, before).await;
        page.close().await;
    }
}
