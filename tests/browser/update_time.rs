//! What accumulation costs in time.

use crate::support::{Page, expected, key};
use bmax::course::updates::{steps_to_goal, update};
use bmax::{Scenario, catalogue, number};

fn significant(value: f64) -> String {
    let scale = 10.0_f64.powf(2.0 - value.log10().floor());
    number::grouped((value * scale).round() / scale)
}

fn duration(seconds: f64) -> String {
    let (value, unit) = match seconds {
        time if time < 1.0 => (time * 1e3, "ms"),
        time if time < 120.0 => (time, "s"),
        time if time < 7_200.0 => (time / 60.0, "min"),
        time if time < 172_800.0 => (time / 3_600.0, "hours"),
        time => (time / 86_400.0, "days"),
    };
    significant(value) + " " + unit
}

#[tokio::test]
async fn an_update_takes_longer_and_a_sequence_and_the_run_do_not() {
    let page = Page::about("update-time", "").await;
    let figure = page.figure("update-time");
    let scenario = Scenario::default();
    let reads = async |steps: u32| {
        let now = update(&scenario, steps, 10e9);
        figure.shows("steps", &number::grouped(steps.into())).await;
        figure.shows("seconds", &duration(now.seconds)).await;
        figure.shows("each", &duration(now.seconds_per_sequence())).await;
        figure.shows("run", &duration(now.run_seconds())).await;
    };
    reads(8).await;
    figure.focus("slider", "Accumulation, in doublings").await;
    page.press(key::RIGHT).await;
    reads(16).await;
    page.press(key::HOME).await;
    reads(1).await;
    figure.drag("times", 0.2, 0.99).await;
    reads(1_024).await;
    page.close().await;
}

#[tokio::test]
async fn the_table_holds_the_library_s_times() {
    let query = "?gpu=h100-80&b=4&target=512";
    let scenario = expected::scenario(query);
    let page = Page::about("update-time", query).await;
    let figure = page.figure("update-time");
    figure.enter("Tokens of the run", "2").await;
    figure.shows("billions", "2").await;
    figure.shows("goal", &bmax::format::counted(steps_to_goal(&scenario), "step", "steps")).await;
    let rows = figure.table("steps").await;
    assert_eq!(rows.len(), 11);
    for (row, power) in rows.iter().zip(0..) {
        let at = update(&scenario, 1 << power, 2e9);
        let wanted = [
            number::grouped(f64::from(1_u32 << power)),
            number::grouped(at.sequences),
            duration(at.seconds),
            duration(at.seconds_per_sequence()),
            number::grouped(at.updates.ceil()),
            duration(at.run_seconds()),
        ];
        assert_eq!(row[..], wanted);
    }
    page.close().await;
}

#[tokio::test]
async fn a_run_that_is_no_number_is_refused_and_the_micro_batch_is_the_shared_one() {
    let page = Page::about("update-time", "").await;
    let figure = page.figure("update-time");
    figure.enter("Tokens of the run", "all of them").await;
    figure.says("Tokens of the run, in billions: a number from").await;
    figure.shows("billions", "10").await;
    figure.enter("Micro-batch b", "6").await;
    page.until_query("v=4&b=6").await;
    let scenario = expected::scenario("?b=6");
    figure.shows("goal", &bmax::format::counted(steps_to_goal(&scenario), "step", "steps")).await;
    figure.shows("seconds", &duration(update(&scenario, 8, 10e9).seconds)).await;
    page.close().await;
}

#[tokio::test]
async fn every_figure_with_times_says_where_they_are_assumed() {
    let query = "?gpu=dgx-spark";
    let text = catalogue::assumption(&expected::scenario(query)).expect("no speed is listed");
    for figure in ["swapping", "update-time", "saturation", "scaling", "tuning"] {
        let page = Page::about(figure, query).await;
        page.figure(figure).shows("assumed", &text).await;
        page.close().await;
    }
}
