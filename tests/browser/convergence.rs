//! Is a larger batch better: steps and examples, the learning rate, the throughput of a device.

use crate::support::{Page, expected, key};
use bmax::Scenario;
use bmax::course::convergence::{Roofline, doubled, examples, in_examples, rates, scheduled, steps};
use bmax::number;

/// A number to three significant digits, as the figures write them.
fn significant(value: f64) -> String {
    let scale = 10.0_f64.powf(2.0 - value.log10().floor());
    number::grouped((value * scale).round() / scale)
}

fn times(factor: f64) -> String {
    significant(factor) + "×"
}

/// What doubling a batch saves, in whole percent.
fn saved(batch: f64, critical: f64) -> String {
    let part = 1.0 - doubled(batch, critical);
    if part < 0.01 { "< 1 %".to_owned() } else { number::fixed(part * 100.0, 0) + " %" }
}

/// The critical batch that the figure starts with, in sequences: 1.1 million tokens.
fn critical() -> f64 {
    in_examples(1.1e6, true, 2_048)
}

#[tokio::test]
async fn steps_and_examples_are_told_for_the_reader_s_batch_and_the_task() {
    let page = Page::about("convergence", "").await;
    let figure = page.figure("convergence");
    figure.shows("steps", &times(steps(256.0, critical()))).await;
    figure.shows("examples", &times(examples(256.0, critical()))).await;
    figure.says("You are near it").await;
    // A number without a unit: read as tokens and as sequences it gives opposite advice.
    figure.pick("Critical batch of", "often repeated, language: 65,536, if tokens").await;
    figure.shows("examples", &times(examples(256.0, in_examples(65_536.0, true, 2_048)))).await;
    figure.says("You are far above it").await;
    // The same number read as sequences turns the advice around.
    figure.pick("Critical batch of", "often repeated, language: 65,536, if sequences").await;
    figure.shows("steps", &times(steps(256.0, 65_536.0))).await;
    figure.says("You are far below it").await;
    figure.pick("Critical batch of", "often repeated, CIFAR-10: 256 images").await;
    figure.shows("steps", "2×").await;
    figure.shows("examples", "2×").await;
    figure.says("You are near it").await;
    // The batch is the shared one.
    figure.enter("Target global batch B", "2,048").await;
    page.until_query("v=4&target=2048").await;
    figure.shows("examples", &times(examples(2_048.0, 256.0))).await;
    page.close().await;
}

#[tokio::test]
async fn a_critical_batch_of_one_s_own_is_checked() {
    let page = Page::about("convergence", "").await;
    let figure = page.figure("convergence");
    figure.pick("Critical batch of", "your own task").await;
    figure.pick("Counted in", "examples").await;
    figure.enter("Its critical batch", "1,024").await;
    figure.shows("steps", &times(steps(256.0, 1_024.0))).await;
    figure.enter("Its critical batch", "many").await;
    figure.says("a number from 1 to 1,000,000,000, please").await;
    figure.shows("steps", &times(steps(256.0, 1e6))).await;
    page.close().await;
}

#[tokio::test]
async fn the_curves_are_read_off_by_key_and_by_pointer() {
    let page = Page::about("convergence", "").await;
    let figure = page.figure("convergence");
    let reads = async |batch: f64| {
        figure.shows("at-batch", &number::grouped(batch)).await;
        figure.shows("at-steps", &times(steps(batch, critical()))).await;
        figure.shows("at-examples", &times(examples(batch, critical()))).await;
        figure.shows("at-saved", &saved(batch, critical())).await;
    };
    // It starts about where both are twice their least.
    reads(512.0).await;
    let slider = figure.focus("slider", "Read off at").await;
    page.press(&key::RIGHT.repeat(4)).await;
    reads(1_024.0).await;
    let said = slider.attr("aria-valuetext").await.expect("an element").unwrap_or_default();
    assert!(said.starts_with("1,024 examples: steps 1.52×"), "{said}");
    page.press(key::HOME).await;
    reads(1.0).await;
    figure.drag("curves", 0.5, 0.99).await;
    reads(262_144.0).await;
    page.close().await;
}

#[tokio::test]
async fn the_table_of_batches_holds_the_formula() {
    let page = Page::about("convergence", "").await;
    let rows = page.figure("convergence").table("batches").await;
    let powers = -3..=3;
    assert_eq!(rows.len(), powers.clone().count());
    for (row, power) in rows.iter().zip(powers) {
        let batch = critical() * 4.0_f64.powi(power);
        let written = number::grouped(if batch < 10.0 { (batch * 10.0).round() / 10.0 } else { batch.round() });
        let wanted =
            [written, times(steps(batch, critical())), times(examples(batch, critical())), saved(batch, critical())];
        assert_eq!(row[..], wanted);
    }
    page.close().await;
}

#[tokio::test]
async fn the_learning_rate_lies_between_the_root_and_the_linear_rule() {
    let page = Page::about("convergence", "").await;
    let figure = page.figure("learning-rate");
    let (low, high) = rates(0.1, 8.0);
    figure.shows("low", &significant(low)).await;
    figure.shows("high", &significant(high)).await;
    // ImageNet in an hour: 0.1 at 256 becomes 3.2 at 8,192, after five epochs.
    figure.pick("Batch to scale to", "ImageNet in an hour: 8,192").await;
    figure.enter("Batch the rate was tuned for", "256").await;
    figure.shows("times", "32×").await;
    figure.shows("high", "3.2").await;
    figure.focus("slider", "Moment of the schedule").await;
    page.press(key::RIGHT).await;
    figure.shows("epoch", "3").await;
    figure.shows("fast", &significant(scheduled(0.1, 3.2, 3.0))).await;
    figure.drag("schedule", 0.2, 0.99).await;
    figure.shows("epoch", "90").await;
    figure.shows("fast", "0.0032").await;
    let rows = figure.table("rates").await;
    assert_eq!(rows[5], ["8,192", &significant(rates(0.1, 32.0).0), "3.2"]);
    figure.enter("Learning rate there", "0").await;
    figure.says("Learning rate there: a number from").await;
    page.close().await;
}

#[tokio::test]
async fn throughput_follows_the_micro_batch_and_the_model() {
    let page = Page::about("convergence", "?b=3").await;
    let figure = page.figure("saturation");
    let roofline = Roofline::of(&Scenario::default());
    figure.shows("ridge", &number::grouped(roofline.ridge.round())).await;
    figure.says("A larger one would only take more memory").await;
    figure.shows("at-speed", &significant(roofline.throughput(64.0).0)).await;
    figure.focus("slider", "Read off at").await;
    page.press(&key::RIGHT.repeat(4)).await;
    figure.shows("at-tokens", "128").await;
    figure.shows("at-speed", &significant(roofline.throughput(128.0).0)).await;
    figure.drag("roofline", 0.5, 0.99).await;
    figure.shows("at-tokens", "65,536").await;
    let rows = figure.table("tokens").await;
    assert_eq!((rows.len(), rows[3][0].as_str()), (9, "64"));
    assert_eq!(rows[3][2], significant(roofline.throughput(64.0).0));
    figure.enter("Sequence length S", "64").await;
    let query = "v=4&s=64&b=3";
    page.until_query(query).await;
    let shorter = Roofline::of(&expected::scenario(query));
    figure.shows("tokens", "192").await;
    figure.shows("ridge", &number::grouped(shorter.ridge.round())).await;
    figure.says("Here a larger micro-batch is faster").await;
    page.close().await;
}
