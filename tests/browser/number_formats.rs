//! Number formats and training regimes.

use crate::support::{Page, expected, key};
use bmax::course::formats::{FORMATS, Regime};
use bmax::{Bucket, Bytes, GradientType, Precision, Scenario, estimate, number};

fn binary(bits: u32, from: u32, count: u32) -> String {
    (0..count).rev().map(|bit| if bits >> (from + bit) & 1 == 1 { '1' } else { '0' }).collect()
}

#[tokio::test]
async fn every_number_shows_the_bits_that_the_library_finds() {
    let page = Page::about("formats", "").await;
    let figure = page.figure("formats");
    for (typed, number) in [("65520", 65520.0), ("1e-8", 1e-8), ("-0.1", -0.1), ("1.001", 1.001)] {
        figure.fill("A number", typed).await;
        for format in FORMATS {
            let kept = format.keep(number, format.bits() == 8);
            let name = |part: &str| format!("{}-{part}", format.key);
            figure.shows(&name("fraction"), &binary(kept.bits, 0, format.fraction_bits)).await;
            figure.shows(&name("exponent"), &binary(kept.bits, format.fraction_bits, format.exponent_bits)).await;
            figure.shows(&name("sign"), &binary(kept.bits, format.bits() - 1, 1)).await;
        }
    }
    page.close().await;
}

#[tokio::test]
async fn scaling_the_loss_brings_back_what_fp16_loses() {
    let page = Page::about("formats", "").await;
    let figure = page.figure("formats");
    figure.press("1e-8").await;
    figure.shows("fp16-kept", "0").await;
    figure.shows("fp16-fate", "lost, off by 100 %").await;
    figure.focus("slider", "Loss scale").await;
    page.press(key::RIGHT).await;
    figure.shows("k", "1").await;
    for _ in 1..8 {
        page.press(key::RIGHT).await;
    }
    figure.shows("fp16-kept", "1.00117 × 10⁻⁸").await;
    // Scaled far enough, it is too large instead.
    figure.press("500").await;
    figure.shows("fp16-kept", "∞").await;
    figure.shows("fp16-fate", "overflow").await;
    figure.shows("bf16-kept", "500").await;
    page.close().await;
}

#[tokio::test]
async fn fp8_stops_at_its_largest_number_or_overflows() {
    let page = Page::about("formats", "").await;
    let figure = page.figure("formats");
    figure.press("65,520").await;
    figure.shows("e4m3-kept", "448").await;
    figure.shows("e5m2-kept", "57,344").await;
    figure.click("checkbox", "fp8 stops at its largest number").await;
    figure.shows("e4m3-kept", "NaN").await;
    figure.shows("e5m2-kept", "∞").await;
    page.close().await;
}

#[tokio::test]
async fn small_updates_stall_without_an_fp32_copy() {
    let page = Page::about("formats", "").await;
    let figure = page.figure("formats");
    for (typed, update) in [("0.01", 0.01), ("ten", 0.001)] {
        figure.fill("A weight of 1 changes each time by", typed).await;
        for (row, format) in figure.table("updates").await.iter().zip(FORMATS) {
            let after = (format.after_updates(1.0, update, 1000) * 1e6).round() / 1e6;
            assert_eq!(row[2], number::plain(after), "{}", format.key);
        }
    }
    let field = figure.find("textbox", "A weight of 1 changes each time by").await;
    assert_eq!(field.attr("aria-invalid").await.expect("an element").as_deref(), Some("true"));
    page.close().await;
}

/// GiB as the table writes them.
fn gib(bytes: Bytes) -> String {
    number::with_commas(&number::fixed(bytes.gib(), if bytes.gib() < 10.0 { 2 } else { 1 }))
}

#[tokio::test]
async fn regimes_show_the_library_s_bytes_and_can_be_used() {
    let page = Page::about("formats", "").await;
    let figure = page.figure("regimes");
    // Those of the weights that the ledger counts, as in the answer beside the table.
    let parameters = Scenario::default().model.derived_parameters() as f64;
    let rows = [
        ("fp32", Precision::Fp32, GradientType::Half),
        ("fp32 weights, 16-bit compute", Precision::Autocast, GradientType::Half),
        ("16-bit weights and gradients", Precision::Bf16, GradientType::Half),
        ("bf16, gradients in fp32", Precision::Bf16, GradientType::Full),
        ("fp16, gradients in both", Precision::Fp16, GradientType::Full),
        ("pure bf16", Precision::PureBf16, GradientType::Half),
    ];
    for (row, (_, precision, gradients)) in rows.into_iter().enumerate() {
        let regime = Regime::of(precision, gradients);
        figure.shows(&format!("sum-{row}"), &gib(Bytes::new(parameters * regime.with_adam()))).await;
        figure.shows(&format!("gradients-{row}"), &gib(Bytes::new(parameters * regime.gradients))).await;
        let mut scenario = Scenario::default();
        (scenario.recipe.precision, scenario.recipe.gradients) = (precision, gradients);
        // FSDP has its own mixed precision in the place of autocast.
        let scenario = scenario.mended().0;
        let activations = estimate(&scenario).bucket(Bucket::Activations);
        figure.shows(&format!("activations-{row}"), &gib(activations)).await;
        let batch =
            bmax::b_max(&scenario).batch().map_or_else(|| "does not fit".to_owned(), |b| number::grouped(b.into()));
        figure.shows(&format!("batch-{row}"), &batch).await;
    }
    figure.press("Use pure bf16").await;
    page.until_query("v=4&precision=bf16-pure").await;
    let answer = expected::answer(&expected::scenario("v=4&precision=bf16-pure"));
    page.part("#answer-bar").shows("bar-answer", &answer).await;
    page.close().await;
}
