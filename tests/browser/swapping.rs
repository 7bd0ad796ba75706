//! Swapping to the host: tensor by tensor, over a link and on a GPU of the reader's choice.

use crate::support::{Page, expected, key};
use bmax::course::swapping::{Layer, Swapped, break_even};
use bmax::{Bytes, Scenario, catalogue, number};

const WORDS: [&str; 7] = ["input", "kept", "ffn", "scores", "weights", "gradients", "optimizer"];

fn significant(value: f64) -> String {
    let scale = 10.0_f64.powf(2.0 - value.log10().floor());
    number::grouped((value * scale).round() / scale)
}

fn whole(value: f64) -> String {
    number::with_commas(&number::fixed(value, 0))
}

/// Waits until the figure shows the library's swaps of a scenario over a link.
async fn shows(page: &Page, scenario: &Scenario, bandwidth: f64) {
    let figure = page.figure("swapping");
    let layer = Layer::of(scenario);
    figure.shows("even", &whole(break_even(layer.flops_per_second, bandwidth))).await;
    for (what, word) in Swapped::ALL.into_iter().zip(WORDS) {
        let swap = layer.swap(what, bandwidth);
        if swap.bytes == Bytes::ZERO {
            continue;
        }
        figure.shows(&format!("size-{word}"), &expected::memory(swap.bytes)).await;
        figure.shows(&format!("worth-{word}"), &whole(swap.flops_per_byte)).await;
        let verdict = figure.text(&format!("verdict-{word}")).await;
        if swap.wait > 0.0 {
            assert!(verdict.starts_with("waits ") && verdict.contains(&significant(swap.wait * 1e3)), "{verdict}");
        } else {
            assert_eq!(verdict, "no wait");
        }
    }
}

#[tokio::test]
async fn every_tensor_stands_with_its_size_its_worth_and_its_wait() {
    for query in ["", "?attn=eager&model=1b&gpus=1", "?model=70b&gpus=64&b=1&gpu=h100-80"] {
        let scenario = expected::scenario(query);
        let page = Page::about("swapping", query).await;
        shows(&page, &scenario, catalogue::speed(&scenario).host_bytes_per_second).await;
        let scores = "return !document.querySelector('[data-figure=swapping] [data-testid=row-scores]').hidden;";
        let eager = Layer::of(&scenario).size(Swapped::Scores) > Bytes::ZERO;
        page.until_script("scores to be listed where there are any", scores, eager.into()).await;
        page.close().await;
    }
}

#[tokio::test]
async fn the_link_is_the_figure_s_own_and_the_gpu_is_shared() {
    let page = Page::about("swapping", "").await;
    let figure = page.figure("swapping");
    let scenario = Scenario::default();
    figure.pick("Link to CPU memory, each way", "The lecture’s DRAM, 12.8 GB/s").await;
    shows(&page, &scenario, 12.8e9).await;
    // By keyboard: from the last entry to the one before, which is NVLink-C2C.
    figure.focus("combobox", "Link to CPU memory, each way").await;
    page.press(key::UP).await;
    shows(&page, &scenario, 450e9).await;
    page.press(key::HOME).await;
    figure.pick("GPU", "GH200 96 GB").await;
    page.until_query("v=4&gpu=gh200").await;
    let scenario = expected::scenario("?gpu=gh200");
    shows(&page, &scenario, 450e9).await;
    figure.shows("link-speed", "450 GB/s").await;
    figure.enter("Micro-batch b", "1").await;
    page.until_query("v=4&gpu=gh200&b=1").await;
    shows(&page, &scenario.with_batch(1), 450e9).await;
    page.close().await;
}

#[tokio::test]
async fn the_lanes_show_the_schedule_and_the_note_says_its_times() {
    let page = Page::about("swapping", "?v=3").await;
    let figure = page.figure("swapping");
    let layer = Layer::of(&Scenario::workshop());
    let bands = "return document.querySelectorAll('[data-figure=swapping] [data-testid=lanes] .plot-band').length;";
    for (what, name) in [
        (Swapped::Kept, "All that a layer keeps"),
        (Swapped::Input, "Layer input, the checkpoint"),
        (Swapped::Optimizer, "Moments and master copy"),
    ] {
        figure.pick("Swapped from every layer", name).await;
        let schedule = layer.schedule(what, 31.5e9, 6);
        figure.shows("seconds", &format!("{} ms", significant(schedule.seconds * 1e3))).await;
        page.until_script("every pass and copy to be drawn", bands, schedule.blocks.len().into()).await;
        if schedule.waiting() > schedule.computing * 1e-3 {
            figure.shows("waiting", &format!("{} ms", significant(schedule.waiting() * 1e3))).await;
        } else {
            figure.says("the GPU never waits for a copy").await;
        }
    }
    page.close().await;
}

#[tokio::test]
async fn the_tiers_are_bars_on_a_scale_of_tens() {
    let page = Page::about("swapping", "?v=3").await;
    page.figure("swapping").shows("own-speed", "2.04 TB/s").await;
    let script = "return ['sram', 'hbm', 'dram', 'own', 'link'].map((tier) => { \
            const part = document.querySelector(`[data-figure=swapping] [data-testid=tier-${tier}] > .tier-speed`); \
            return part.firstElementChild.getBoundingClientRect().width / part.getBoundingClientRect().width; \
        });";
    let widths: Vec<f64> = serde_json::from_value(page.script(script, vec![]).await).expect("widths");
    // From 1 GB/s to 100 TB/s in five steps of ten.
    for (width, speed) in widths.iter().zip([19e12, 1.5e12, 12.8e9, 2.039e12, 31.5e9]) {
        let place = (speed / 1e9_f64).log10() / 5.0;
        assert!((width - place).abs() < 0.01, "{widths:?}");
    }
    page.close().await;
}
