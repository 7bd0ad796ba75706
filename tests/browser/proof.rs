//! Real runs beside the prediction: by setting, each with its source, and the reader's own among them.

use crate::support::{Page, Visit, expected, key};
use bmax::proof::{SAID, Setting, runs};
use bmax::{Bytes, number};
use serde_json::{Value, json};

fn gib(bytes: Bytes) -> String {
    number::with_commas(&number::fixed(bytes.gib(), 2))
}

/// Types a run into the figure that compares the reader's own.
async fn type_run(page: &Page, run: usize, batch: &str, peak: &str) {
    for (field, text) in [("b", batch), ("m", peak)] {
        let script = "const field = document.querySelector(arguments[0]); field.value = arguments[1]; \
            field.dispatchEvent(new Event('input', { bubbles: true }));";
        page.script(script, vec![format!("#calibration-{field}{run}").into(), text.into()]).await;
    }
}

/// What this browser has kept.
async fn kept(page: &Page) -> Value {
    page.script("return localStorage.getItem('bmax-runs');", vec![]).await
}

#[tokio::test]
async fn the_opening_says_how_far_off_the_ledger_is_in_the_reader_s_setting() {
    let page = Page::open("").await;
    let opening = page.figure("answer");
    opening.says("(the ledger)").await;
    opening.says(SAID[Setting::DataParallel as usize]).await;
    page.figure("calculator").choose("Method", "Paper").await;
    opening.says("Counted by the paper’s formula").await;
    let shown = opening.all_text().await;
    assert!(!shown.contains("real runs"), "the report's sentence is the ledger's: {shown}");
    page.close().await;
    let page = Page::open("?gpus=1&zero=0&adapter=qlora").await;
    page.figure("answer").says(SAID[Setting::Adapters as usize]).await;
    page.close().await;
}

#[tokio::test]
async fn every_run_of_the_chosen_setting_has_a_row_with_its_source_and_its_configuration() {
    let page = Page::about("proof", "").await;
    let figure = page.figure("proof");
    figure.shows("said", SAID[Setting::DataParallel as usize]).await;
    for setting in [Setting::Adapters, Setting::Pipeline] {
        figure.pick("Setting", setting.name()).await;
        figure.shows("said", SAID[setting as usize]).await;
        let mut wanted: Vec<_> = runs().filter(|run| run.setting == setting).collect();
        wanted.sort_by(|a, b| a.measured.get().total_cmp(&b.measured.get()));
        let rows = figure.table("proof-rows").await;
        assert_eq!(rows.len(), wanted.len());
        for (row, run) in rows.iter().zip(&wanted) {
            assert!(row[0].contains(run.model), "{row:?}");
            assert_eq!(row[2..4], [gib(run.measured), gib(run.predicted_for(&run.scenario()))]);
            assert_eq!(row[5], run.source);
        }
        let links = "return [...document.querySelectorAll('[data-testid=proof-rows] a')].map((one) => one.getAttribute('href'));";
        let links: Vec<String> = serde_json::from_value(page.script(links, vec![]).await).expect("links");
        for (link, run) in links.iter().step_by(2).zip(&wanted) {
            assert!(link.contains(run.query), "{link}");
        }
        assert!(links.iter().skip(1).step_by(2).all(|link| link.starts_with("https://")), "{links:?}");
    }
    page.close().await;
}

#[tokio::test]
async fn a_run_is_read_off_by_keyboard_and_by_pointer() {
    let page = Page::about("proof", "").await;
    let figure = page.figure("proof");
    let mut all: Vec<_> = runs().filter(|run| run.setting == Setting::DataParallel).collect();
    all.sort_by(|a, b| a.measured.get().total_cmp(&b.measured.get()));
    figure.shows("measured", &gib(all[0].measured)).await;
    figure.focus("slider", "Run, by what was measured").await;
    page.press(key::END).await;
    let last = all[all.len() - 1];
    figure.shows("measured", &gib(last.measured)).await;
    figure.shows("predicted", &gib(last.predicted_for(&last.scenario()))).await;
    figure.drag("runs", 0.5, 0.02).await;
    figure.shows("measured", &gib(all[0].measured)).await;
    page.close().await;
}

#[tokio::test]
async fn a_run_opens_its_configuration_in_the_calculator() {
    let page = Page::about("proof", "").await;
    let figure = page.figure("proof");
    figure.pick("Setting", "pipelines").await;
    figure.shows("said", SAID[Setting::Pipeline as usize]).await;
    let mut all: Vec<_> = runs().filter(|run| run.setting == Setting::Pipeline).collect();
    all.sort_by(|a, b| a.measured.get().total_cmp(&b.measured.get()));
    figure.press_marked("opens").await;
    // A script that asks for an answer later is lost where the page is left before it.
    let arrived = "return document.getElementById('calculator') !== null && document.readyState === 'complete';";
    page.until_script("the page with the calculator", arrived, json!(true)).await;
    page.figure("calculator").shows("calculator-answer", &expected::answer(&all[0].scenario())).await;
    page.close().await;
}

#[tokio::test]
async fn runs_that_a_reader_typed_are_kept_and_stand_among_the_real_ones_on_another_page() {
    let page = Page::about("calibration", "").await;
    page.figure("calibration").says("Nothing is measured yet.").await;
    type_run(&page, 1, "1", "22").await;
    type_run(&page, 2, "3", "43").await;
    page.figure("calibration").says("is then").await;
    page.until("the runs to be kept", async || match kept(&page).await {
        Value::String(text) if text.contains("3\t43") => Ok(()),
        other => Err(other),
    })
    .await;
    let trust = format!("{}trust/", crate::support::FOLDER);
    page.go(&trust).await;
    let figure = page.figure("proof");
    figure.says("Your 2 runs, the diamonds: predicted ").await;
    figure.says("2 runs of yours").await;
    figure.pick("Setting", "pipelines").await;
    figure.says("Your own runs are in the setting “FSDP, ZeRO and DDP alone”.").await;
    // Back where they were typed they stand in their fields, and taken away they are forgotten.
    page.go(&format!("{}plan/", crate::support::FOLDER)).await;
    page.figure("calibration").says("is then").await;
    type_run(&page, 1, "", "").await;
    type_run(&page, 2, "", "").await;
    page.until("them to be forgotten", async || match kept(&page).await {
        Value::Null => Ok(()),
        other => Err(other),
    })
    .await;
    page.close().await;
}

#[tokio::test]
async fn runs_of_another_configuration_are_neither_taken_up_nor_forgotten() {
    let page = Page::about("calibration", "?gpus=16").await;
    type_run(&page, 1, "1", "22").await;
    page.figure("calibration").says("A run takes").await;
    page.go(&format!("{}plan/?v=4&gpus=64", crate::support::FOLDER)).await;
    page.figure("calibration").says("Nothing is measured yet.").await;
    assert!(kept(&page).await.as_str().is_some_and(|text| text.contains("1\t22")));
    page.close().await;
}

#[tokio::test]
async fn a_study_draws_its_runs_on_the_computed_curve() {
    let page = Page::about("proof", "").await;
    let figure = page.figure("proof");
    // It opens on an example, and says so.
    let study = bmax::proof::STUDIES[0];
    figure.says("Example No run of yours is kept yet, so these are published ones.").await;
    figure.says(&format!("{} real runs; ", study.runs.len())).await;
    let source = study.runs()[0].source.split(' ').next().expect("a repository");
    let name = "return [...document.querySelectorAll('#proof-curve option')].map((one) => one.textContent);";
    // The list has its rows once somebody has come to it.
    figure.pick("Curve", "Your configuration, over the micro-batch").await;
    figure
        .shows("told", "Llama 3.1 8B on 8 × H100 SXM 80 GB, 2,048 tokens a sequence. No run of yours is kept yet.")
        .await;
    let names: Vec<String> = serde_json::from_value(page.script(name, vec![]).await).expect("names");
    assert!(
        names.len() == bmax::proof::STUDIES.len() + 1 && names[1].contains(&format!(", by {source}: ")),
        "{names:?}"
    );
    figure.pick("Curve", &names[1]).await;
    figure.says(&format!("{} real runs; ", study.runs.len())).await;
    let dots = "return document.querySelectorAll('[data-testid=curve] circle').length;";
    page.until_script("a dot for each run", dots, json!(study.runs.len())).await;
    page.close().await;
}

#[tokio::test]
async fn on_a_phone_nothing_of_the_figure_is_cut_off() {
    let page = Visit::about("proof", "").wide(360).open().await;
    page.figure("proof").approach().await;
    let wide = "return document.documentElement.scrollWidth <= innerWidth;";
    page.until_script("no sideways scrolling", wide, json!(true)).await;
    page.close().await;
}
