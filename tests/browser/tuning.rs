//! The tuning plan: six steps run on the configuration, and the setup they end in.

use crate::support::{Page, expected, key};
use bmax::course::tuning::{Tuning, alone, gpus_for, job, tune};
use bmax::{Scenario, link, number, strategy::Rung};

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

fn chosen(tuning: &Tuning) -> &Rung {
    &tuning.candidates[tuning.chosen.expect("something fits")]
}

fn run(rung: &Rung, tokens: f64) -> f64 {
    job(rung, tokens).expect("it can be timed").update.run_seconds()
}

#[tokio::test]
async fn the_steps_and_the_table_are_those_of_the_library() {
    for query in ["", "?model=70b&gpus=16&target=64", "?method=paper"] {
        let tuning = tune(&expected::scenario(query));
        let page = Page::about("tuning", query).await;
        let figure = page.figure("tuning");
        figure.shows("share", &number::grouped(tuning.share.into())).await;
        let tries = figure.text("tries").await;
        for one in &tuning.tries {
            let size = number::with_commas(&number::fixed(one.peak.gib(), 1));
            assert!(tries.contains(&format!("{} ({size} GiB)", number::grouped(one.batch.into()))), "{tries}");
        }
        let rows = figure.table("candidates").await;
        assert_eq!(rows.len(), tuning.candidates.len());
        for (row, rung) in rows.iter().zip(&tuning.candidates) {
            match rung.b_max {
                Some(most) => {
                    assert_eq!(row[2], number::grouped(most.into()));
                    assert_eq!(row[6], duration(run(rung, 1e9)));
                }
                None => assert_eq!(row[2], "none fits"),
            }
        }
        match tuning.chosen {
            Some(_) => figure.shows("run", &duration(run(chosen(&tuning), 1e9))).await,
            None => figure.says("These devices are not enough.").await,
        }
        page.close().await;
    }
}

#[tokio::test]
async fn one_device_is_enough_or_not_by_the_time_that_is_allowed() {
    let page = Page::about("tuning", "").await;
    let figure = page.figure("tuning");
    figure.says("It fits and is done in time").await;
    figure.choose("Run on", "one GPU").await;
    let tuning = tune(&alone(&Scenario::default()));
    let seconds = run(chosen(&tuning), 1e9);
    figure.says("It fits, but takes too long").await;
    figure.shows("enough", &number::grouped(gpus_for(seconds, 86_400.0, 1))).await;
    figure.says("Optimizer state").await;
    figure.enter("Hours it may take", "200").await;
    figure.says("It fits and is done in time").await;
    figure.enter("Tokens to train on", "100").await;
    figure.says("It fits, but takes too long").await;
    figure.shows("run", &duration(run(chosen(&tuning), 100e9))).await;
    page.close().await;
}

#[tokio::test]
async fn what_fits_nowhere_is_named_with_entry_instant_and_amount() {
    let query = "?model=gpt-3-175b&gpus=1";
    let lacking = tune(&expected::scenario(query)).lacking.expect("a reason");
    let page = Page::about("tuning", query).await;
    let figure = page.figure("tuning");
    figure.shows("over", &expected::memory(lacking.over)).await;
    figure.shows("none-instant", lacking.instant.name).await;
    figure.shows("none-largest", lacking.largest.name).await;
    let fewest = lacking.fewest_gpus.map_or_else(|| "no number of".to_owned(), |gpus| number::grouped(gpus.into()));
    figure.shows("fewest", &fewest).await;
    let shown = "return document.querySelector('[data-figure=tuning] [data-testid=apply]').checkVisibility();";
    page.until_script("nothing to apply", shown, false.into()).await;
    page.close().await;
}

#[tokio::test]
async fn the_setup_is_applied_and_undone() {
    let page = Page::about("tuning", "").await;
    let figure = page.figure("tuning");
    figure.choose("Run on", "one GPU").await;
    figure.says("It fits, but takes too long").await;
    figure.press("Use this configuration").await;
    let setup = chosen(&tune(&alone(&Scenario::default()))).scenario;
    let setup = Scenario::default().then(setup);
    page.until_query(&link::encode(&setup)).await;
    figure.shows("done", "In use on all pages.").await;
    figure.focus("button", "Undo").await;
    page.press(key::ENTER).await;
    page.until_query(&link::encode(&Scenario::default())).await;
    figure.shows("done", "As it was before.").await;
    page.close().await;
}

#[tokio::test]
async fn a_field_without_a_number_says_what_it_wants_and_its_default_stands_in() {
    let page = Page::about("tuning", "").await;
    let figure = page.figure("tuning");
    let wanted = duration(run(chosen(&tune(&Scenario::default())), 1e9));
    figure.enter("Tokens to train on", "many").await;
    figure.says("a number from 0.001 to 1,000,000").await;
    figure.shows("run", &wanted).await;
    figure.enter("Tokens to train on", "2").await;
    figure.shows("run", &duration(run(chosen(&tune(&Scenario::default())), 2e9))).await;
    page.close().await;
}
