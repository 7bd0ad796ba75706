//! The derivation with the reader's numbers in it, and the worked example.

use crate::support::{Page, expected, tidy};
use bmax::{Answer, Bucket, Scenario, b_max, estimate, number};

/// Everything written in a figure, formulas included.
async fn written(page: &Page, figure: &str) -> String {
    let script = "return document.querySelector(`[data-figure=${arguments[0]}]`).textContent;";
    tidy(page.script(script, vec![figure.into()]).await.as_str().unwrap_or_default())
}

/// The four quantities and the quotient, as the derivation writes them.
fn quantities(scenario: &Scenario) -> Vec<String> {
    let estimate = estimate(&scenario.with_batch(1));
    let one = estimate.bucket(Bucket::Activations);
    let fixed = estimate.peak().bytes - one;
    [estimate.usable(), fixed, one, estimate.usable() - fixed]
        .map(|bytes| number::with_commas(&number::fixed(bytes.gib(), if bytes.gib() >= 10.0 { 2 } else { 3 })))
        .to_vec()
}

#[tokio::test]
async fn every_line_carries_the_current_numbers_down_to_the_answer() {
    let page = Page::about("derivation", "?v=3&method=workshop").await;
    let calculator = page.figure("workshop-calculator");
    for (preset, query) in [("7B", ""), ("1B", "&model=1b"), ("13B", "&model=13b")] {
        calculator.press(preset).await;
        let scenario = expected::scenario(&format!("?v=3&method=workshop{query}"));
        let Answer::Fits(room) = b_max(&scenario) else { panic!("{preset} fits on eight GPUs") };
        let figure = page.figure("derivation");
        let fit = if room.batch == 1 { "1 sequence fits".into() } else { format!("{} sequences fit", room.batch) };
        figure
            .says(&format!(
                "⌋ = {}: {fit} on each GPU. One more is {} too much.",
                room.batch,
                expected::memory(room.next_lacks)
            ))
            .await;
        let text = written(&page, "derivation").await;
        for quantity in &quantities(&scenario)[..3] {
            assert!(text.contains(quantity), "{preset}: {quantity} is not in the derivation: {text}");
        }
        for entry in &estimate(&scenario).entries {
            assert!(text.contains(entry.name), "{preset}: “{}” is not in the derivation", entry.name);
        }
    }
    let formulas = "return document.querySelectorAll('[data-figure=derivation] math').length;";
    assert!(page.script(formulas, vec![]).await.as_u64() >= Some(10), "formulas are MathML");
    page.close().await;
}

#[tokio::test]
async fn the_worked_example_is_solved_for_the_chosen_number_of_gpus() {
    let page = Page::about("worked-example", "").await;
    let example = page.figure("worked-example");
    for (gpus, fixed, workshop) in
        [("8", "119.2 / 8 = 14.9 GiB", "3"), ("1", "119.2 / 1 = 119.2 GiB", "no sequence fits")]
    {
        example.choose("GPUs in the example", gpus).await;
        example.shows("worked-fixed", fixed).await;
        example.shows("worked-workshop", workshop).await;
    }
    page.close().await;
}

#[tokio::test]
async fn the_worked_example_can_be_taken_over_into_every_figure() {
    let page = Page::about("worked-example", "?method=paper&s=4096").await;
    page.figure("worked-example").press("Use this configuration").await;
    let query = "v=4&gpu=a100-80&method=paper&recompute=selective&dropout=on";
    page.until_query(query).await;
    page.part("#answer-bar").shows("bar-answer", &expected::answer(&expected::scenario(query))).await;
    page.close().await;
}
