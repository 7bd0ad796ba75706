//! Every bucket against the sequence length: what a length takes, and where it stops fitting.

use crate::support::{Page, expected, key};
use bmax::course::length::buckets_at;
use bmax::{Bucket, Bytes, Precision, Recomputation, Scenario, inverse::longest_sequence, number};

fn memory(bytes: Bytes) -> String {
    if bytes.get() == 0.0 { "0 GiB".to_owned() } else { expected::memory(bytes) }
}

/// Waits until the figure reads off one length.
async fn reads(page: &Page, scenario: &Scenario, length: u32) {
    let figure = page.figure("buckets-by-length");
    let sizes = buckets_at(scenario, length);
    let of = |bucket: Bucket| sizes[bucket as usize];
    let fixed = of(Bucket::Parameters) + of(Bucket::Gradients) + of(Bucket::Optimizer);
    figure.shows("stack-tokens", &number::grouped(length.into())).await;
    figure.shows("stack-total", &memory(sizes.into_iter().sum())).await;
    figure.shows("stack-fixed", &memory(fixed)).await;
    figure.shows("stack-activations", &memory(of(Bucket::Activations))).await;
}

/// Waits until the figure says where it stops fitting.
async fn stops(page: &Page, scenario: &Scenario) {
    let longest = longest_sequence(scenario, scenario.recipe.batch).expect("short sequences fit");
    let said = format!("it stops fitting beyond {} tokens.", number::grouped(longest.into()));
    page.figure("buckets-by-length").says(&said).await;
}

#[tokio::test]
async fn arrows_home_end_and_the_pointer_read_off_the_library_s_numbers() {
    let page = Page::about("buckets-by-length", "").await;
    let scenario = Scenario::default();
    let figure = page.figure("buckets-by-length");
    figure.focus("slider", "Sequence length S").await;
    reads(&page, &scenario, 4_096).await;
    stops(&page, &scenario).await;
    for (pressed, length) in [(key::RIGHT, 4_871), (key::LEFT, 4_096), (key::HOME, 128), (key::END, 131_072)] {
        page.press(pressed).await;
        reads(&page, &scenario, length).await;
    }
    figure.says("It does not fit, by").await;
    figure.drag("stack", 0.5, 0.01).await;
    reads(&page, &scenario, 128).await;
    figure.says("It fits, with").await;
    page.close().await;
}

#[tokio::test]
async fn recomputation_and_precision_are_the_figure_s_own() {
    let page = Page::about("buckets-by-length", "?b=1&gpus=64").await;
    let figure = page.figure("buckets-by-length");
    let mut scenario = expected::scenario("?b=1&gpus=64");
    for (option, policy) in [("None", Recomputation::None), ("Full", Recomputation::Full)] {
        figure.choose("Recomputation", option).await;
        scenario.recipe.recomputation = policy;
        reads(&page, &scenario, 4_096).await;
        stops(&page, &scenario).await;
    }
    figure.choose("Precision", "fp32").await;
    scenario.recipe.precision = Precision::Fp32;
    reads(&page, &scenario, 4_096).await;
    stops(&page, &scenario).await;
    assert_eq!(expected::scenario(&page.query().await), expected::scenario("?b=1&gpus=64"));
    page.close().await;
}

#[tokio::test]
async fn the_table_adds_up_to_the_peak_at_every_doubling() {
    let page = Page::about("buckets-by-length", "?method=workshop").await;
    let figure = page.figure("buckets-by-length");
    let rows = figure.table("stack-rows").await;
    assert_eq!(rows.len(), 11);
    for (row, power) in rows.iter().zip(7..=17) {
        let sizes = buckets_at(&expected::scenario("?method=workshop"), 1 << power);
        assert_eq!(row[0], number::grouped(f64::from(1_u32 << power)));
        let together = sizes.into_iter().sum::<Bytes>().gib();
        assert_eq!(row[9], number::with_commas(&number::fixed(together, 2)));
        let activations = sizes[Bucket::Activations as usize].gib();
        assert_eq!(row[4], number::with_commas(&number::fixed(activations, 2)));
    }
    page.close().await;
}
