//! A reader's own measurements, held against the prediction.

use crate::support::{Page, expected};
use bmax::course::calibration::{Counter, Measured, calibrate};
use bmax::{Bytes, Scenario, counters, number};

fn gib(bytes: Bytes, places: u32) -> String {
    number::with_commas(&number::fixed(bytes.gib(), places))
}

#[tokio::test]
async fn before_anything_is_measured_the_figure_says_what_the_counter_should_show() {
    let page = Page::about("calibration", "?gpus=16").await;
    let figure = page.figure("calibration");
    let seen = counters(&expected::scenario("?gpus=16"));
    figure.says(&format!("this counter should show {} GiB", gib(seen.allocated, 1))).await;
    figure.pick("Read from", "nvidia-smi").await;
    figure.says(&format!("this counter should show {} GiB", gib(seen.device, 1))).await;
    page.close().await;
}

#[tokio::test]
async fn it_opens_on_an_example_by_that_name_which_gives_way_to_what_is_typed_and_is_nobody_s_runs() {
    let page = Page::about("calibration", "?gpus=16").await;
    let figure = page.figure("calibration");
    figure.says("Example The three runs below were not measured").await;
    let rows = figure.table("runs").await;
    let names: Vec<_> = rows.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(names, ["e.g. b = 1", "e.g. b = 2", "e.g. b = 4"]);
    let kept =
        "return [localStorage.getItem('bmax-runs'), document.querySelector('#calibration-b1').value, location.search];";
    assert_eq!(page.script(kept, vec![]).await, serde_json::json!([null, "", "?gpus=16"]));
    let script = "const field = document.querySelector('#calibration-b1'); field.value = '2';\
                  field.dispatchEvent(new Event('input', { bubbles: true }));";
    page.script(script, vec![]).await;
    page.until("the example to go", async || {
        let rows = figure.table("runs").await;
        if rows.iter().all(|row| row[1..].iter().all(|cell| cell == "–")) { Ok(()) } else { Err(rows) }
    })
    .await;
    page.close().await;
}

#[tokio::test]
async fn one_run_moves_the_fixed_part_two_tell_the_slope_and_three_leave_a_residual() {
    let page = Page::about("calibration", "").await;
    let figure = page.figure("calibration");
    let readings = [(1, 22.0), (3, 43.0), (6, 72.0)];
    for (position, (batch, taken)) in readings.iter().enumerate() {
        for (field, text) in [("b", batch.to_string()), ("m", taken.to_string())] {
            let name = format!("#calibration-{field}{}", position + 1);
            let script = "const field = document.querySelector(arguments[0]); field.focus(); field.value = arguments[1];\
                          field.dispatchEvent(new Event('input', { bubbles: true }));";
            page.script(script, vec![name.into(), text.into()]).await;
        }
        let measured: Vec<Measured> = readings[..=position]
            .iter()
            .map(|(batch, taken)| Measured { batch: *batch, peak: Bytes::from_gib(*taken) })
            .collect();
        let found = calibrate(&Scenario::default(), Counter::Allocated, &measured).expect("something was measured");
        figure
            .says(&format!("is then {}; the prediction alone says {}", found.b_max.unwrap_or(0), found.predicted_b_max))
            .await;
        let rows = figure.table("runs").await;
        for (row, point) in rows.iter().zip(&found.points) {
            assert_eq!(row[0], format!("b = {}", point.measured.batch));
            assert_eq!(row[1..3], [gib(point.measured.peak, 2), gib(point.predicted, 2)]);
            let left = number::parse(&row[4]).expect("a number").abs();
            assert!((left - point.residual().gib().abs()).abs() <= 0.01, "{row:?}");
        }
        for row in &rows[position + 1..] {
            assert_eq!(row[1..], ["–", "–", "–", "–"], "a run that was not made");
        }
    }
    page.close().await;
}

#[tokio::test]
async fn a_reading_that_cannot_be_is_named_with_its_range_and_left_out() {
    let page = Page::about("calibration", "").await;
    let figure = page.figure("calibration");
    figure.says("Nothing is measured yet.").await;
    let script = "for (const [name, text] of [['b2', '0'], ['m2', '-4']]) {\
                  const field = document.querySelector(`#calibration-${name}`); field.value = text;\
                  field.dispatchEvent(new Event('input', { bubbles: true })); }";
    page.script(script, vec![]).await;
    figure.says("Second run: a micro-batch from 1 to 1,048,576 and its memory from 0.01 to 4,096 GiB, please.").await;
    figure.says("Nothing is measured yet.").await;
    page.close().await;
}

#[tokio::test]
async fn readings_that_fall_with_the_batch_are_not_believed() {
    let page = Page::about("calibration", "").await;
    let script = "for (const [name, text] of [['b1', '1'], ['m1', '60'], ['b2', '8'], ['m2', '20']]) {\
                  const field = document.querySelector(`#calibration-${name}`); field.value = text;\
                  field.dispatchEvent(new Event('input', { bubbles: true })); }";
    page.figure("calibration").says("Nothing is measured yet.").await;
    page.script(script, vec![]).await;
    page.figure("calibration").says("a larger micro-batch takes no more memory").await;
    page.close().await;
}
