//! The group of inputs outside the step, and a peak that it names.

use crate::support::Page;
use bmax::{Evaluation, Field, Scenario, estimate, link};

/// The default with an evaluation that needs more than training.
fn evaluated() -> Scenario {
    let mut scenario = Scenario::default();
    scenario.outside.evaluation = Evaluation::Logits;
    scenario.with_number(Field::EvalSequences, 4096.0).expect("in range")
}

#[tokio::test]
async fn the_answer_names_the_moment_of_an_evaluation_that_does_not_fit() {
    let scenario = evaluated();
    let peak = estimate(&scenario.with_batch(1)).peak();
    assert!(peak.instant.is_outside());
    let page = Page::about("calculator", &format!("?{}", link::encode(&scenario))).await;
    page.figure("calculator").says(peak.instant.name).await;
    page.figure("calculator").says("Training would fit").await;
    page.close().await;
}

#[tokio::test]
async fn a_switch_of_the_step_figure_shows_the_evaluation_behind_the_second_update() {
    let page = Page::about("step", "").await;
    let step = page.figure("step");
    step.choose("Outside the step", "Evaluation with logits").await;
    step.says("What is outside the step stands behind the second update").await;
    page.close().await;
}
