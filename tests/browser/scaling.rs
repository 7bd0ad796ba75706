//! More GPUs: what sharding takes apart, and what communication leaves of the speed.

use crate::support::{Page, expected, key};
use bmax::course::scaling::{STAGES, at_stage, exchange, parts, usual_efficiency};
use bmax::{Bytes, Scenario, largest_micro_batch, number};

fn significant(value: f64) -> String {
    let scale = 10.0_f64.powf(2.0 - value.log10().floor());
    number::grouped((value * scale).round() / scale)
}

fn range(low: f64, high: f64) -> String {
    let [low, high] = [low, high].map(significant);
    if low == high { low } else { format!("{low} to {high}") }
}

fn speed(scenario: &Scenario, gpus: u32, link: f64) -> String {
    let [low, high] = exchange(scenario, gpus, link * 1e9).efficiency().map(|part| part * f64::from(gpus));
    range(low, high)
}

#[tokio::test]
async fn each_stage_has_a_bar_and_a_row_with_the_library_s_bytes() {
    let query = "?model=llama-3.1-8b&gpus=16&b=2&s=4096";
    let scenario = expected::scenario(query);
    let page = Page::about("scaling", query).await;
    let figure = page.figure("sharding");
    figure.approach().await;
    let rows = figure.table("stages").await;
    assert_eq!(rows.len(), 4);
    for (index, stage) in STAGES.into_iter().enumerate() {
        let sharded = at_stage(&scenario, stage);
        let bytes = parts(&sharded);
        let peak: Bytes = bytes.into_iter().sum();
        let most = largest_micro_batch(&sharded).unwrap_or(0);
        let mut wanted = vec![index.to_string()];
        wanted.extend(bytes.map(|part| if part == Bytes::ZERO { "0 GiB".to_owned() } else { expected::memory(part) }));
        wanted.push(format!("{} GiB", number::with_commas(&number::fixed(peak.gib(), 1))));
        wanted.push(number::grouped(most.into()));
        assert_eq!(rows[index], wanted);
        let verdict = if peak <= scenario.usable() { "fits" } else { "too much" };
        assert!(figure.text(&format!("verdict-{index}")).await.ends_with(verdict));
        // The drawn parts have the proportions of the numbers.
        let script = "return [...document.querySelectorAll(`[data-testid=stage-${arguments[0]}] > span`)] \
            .map((part) => part.getBoundingClientRect().width);";
        let widths = page.script(script, vec![index.into()]).await;
        let widths: Vec<f64> = serde_json::from_value(widths).expect("widths");
        let drawn: f64 = widths.iter().sum();
        for (width, part) in widths.iter().zip(bytes) {
            assert!((width / drawn - part.share_of(peak)).abs() < 0.01, "stage {index}: {widths:?}");
        }
    }
    page.close().await;
}

#[tokio::test]
async fn the_number_of_gpus_is_the_shared_one_and_decides_the_effective_batch() {
    let page = Page::about("scaling", "?b=3").await;
    let figure = page.figure("sharding");
    figure.shows("at-once", "24").await;
    figure.shows("effective", "264").await;
    figure.enter("Number of GPUs", "64").await;
    page.until_query("v=4&b=3&gpus=64").await;
    figure.shows("at-once", "192").await;
    figure.shows("effective", "384").await;
    page.figure("scaling").shows("own", "64").await;
    page.close().await;
}

#[tokio::test]
async fn speed_follows_the_link_the_stage_and_the_read_out() {
    let page = Page::about("scaling", "").await;
    let figure = page.figure("scaling");
    let scenario = Scenario::default();
    figure.shows("speed", &speed(&scenario, 8, 25.0)).await;
    figure.says("At best, all of it overlaps with computing").await;
    figure.shows("at-gpus", "64").await;
    let (low, high) = usual_efficiency(64).expect("the rule of thumb reaches there");
    figure.shows("at-usual", &range(low * 64.0, high * 64.0)).await;
    figure.pick("Link of each GPU", "NVLink 4 (H100): 450 GB/s").await;
    figure.shows("speed", &speed(&scenario, 8, 450.0)).await;
    figure.focus("slider", "Read off at").await;
    page.press(key::RIGHT).await;
    figure.shows("at-gpus", "128").await;
    figure.shows("at-speed", &speed(&scenario, 128, 450.0)).await;
    figure.shows("at-usual", "nothing").await;
    figure.drag("efficiency", 0.9, 0.01).await;
    figure.shows("at-gpus", "1").await;
    figure.pick("ZeRO stage", "0: none").await;
    let query = "v=4&zero=0";
    page.until_query(query).await;
    figure.shows("speed", &speed(&expected::scenario(query), 8, 450.0)).await;
    page.close().await;
}

#[tokio::test]
async fn two_gpus_give_1_8_to_1_95_and_short_work_is_dominated_by_communication() {
    let query = "?s=128&b=1";
    let page = Page::about("scaling", query).await;
    let figure = page.figure("scaling");
    figure.says("Communication dominates").await;
    let rows = figure.table("gpus").await;
    assert_eq!(rows.len(), 11);
    assert_eq!(rows[1][..2], ["2", "1.8 to 1.95"]);
    let scenario = expected::scenario(query);
    for (row, power) in rows.iter().zip(0..) {
        assert_eq!(row[3], speed(&scenario, 1 << power, 25.0));
    }
    page.close().await;
}
