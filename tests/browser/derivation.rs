//! The derivation with the reader's numbers in it, and the worked example.

use crate::support::{Page, expected, tidy};
use bmax::{Answer, Bucket, Scenario, b_max, division, estimate, number};

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
    let page = Page::open("?method=workshop").await;
    let calculator = page.figure("calculator");
    for (preset, query) in [("7B", ""), ("1B", "&model=1b"), ("13B", "&model=13b")] {
        calculator.press(preset).await;
        let scenario = expected::scenario(&format!("?method=workshop{query}"));
        let Answer::Fits(room) = b_max(&scenario) else { panic!("{preset} fits on eight GPUs") };
        let figure = page.figure("derivation");
        let fit = if room.batch == 1 { "1 sequence fits".into() } else { format!("{} sequences fit", room.batch) };
        figure
            .says(&format!(
                "⌋ = {}: {fit} on each GPU. One more would lack {}.",
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
async fn a_fixed_part_that_is_too_large_ends_the_derivation_in_words() {
    let page = Page::open("?gpus=1").await;
    let figure = page.figure("derivation");
    figure.says("No sequence fits: the fixed part alone is 32.3").await;
    figure.says("With 2 GPUs one does.").await;
    page.close().await;
}

#[tokio::test]
async fn llama_3_1_8b_does_not_fit_on_one_a100_and_takes_3_sequences_on_each_of_eight() {
    let page = Page::open("").await;
    let example = page.figure("worked-example");
    for (gpus, fixed, workshop, paper) in [
        ("8", "119.2 / 8 = 14.9 GiB", "3", "6"),
        ("1", "119.2 / 1 = 119.2 GiB", "no sequence fits", "no sequence fits"),
        ("2", "119.2 / 2 = 59.6 GiB", "no sequence fits", "1"),
        ("4", "119.2 / 4 = 29.8 GiB", "2", "4"),
    ] {
        example.choose("GPUs in the example", gpus).await;
        example.shows("worked-fixed", fixed).await;
        // Where nothing fits, it may be said by how much.
        for (testid, answer) in [("worked-workshop", workshop), ("worked-paper", paper)] {
            let shown = example.text(testid).await;
            assert_eq!(shown.split(", ").next(), Some(answer), "{gpus} GPUs: {shown}");
        }
    }
    page.close().await;
}

#[tokio::test]
async fn the_worked_example_can_be_taken_over_into_every_figure() {
    let page = Page::open("?method=paper&s=4096").await;
    page.figure("worked-example").press("Use this configuration").await;
    let query = "v=3&model=llama-3.1-8b&method=paper&recompute=selective&dropout=on";
    page.until_query(query).await;
    page.part("#answer-bar").shows("bar-answer", &expected::answer(&expected::scenario(query))).await;
    page.close().await;
}

#[tokio::test]
async fn under_the_ledger_the_derivation_says_whose_it_is_and_ends_in_the_ledger_s_division() {
    let page = Page::open("").await;
    let ledger = expected::answer(&Scenario::default());
    let workshop = expected::answer(&expected::workshop());
    let whose = page.figure("derivation").text("derivation-whose").await;
    assert!(whose.contains(&format!("the workshop’s method with your numbers; its answer is {workshop}")), "{whose}");
    assert!(whose.contains(&format!("answers {ledger}")), "{whose}");
    let divided = division(&Scenario::default());
    let text = written(&page, "derivation").await;
    for part in [divided.instant.name, &number::fixed(divided.fixed.gib(), 2), &format!("⌋={ledger}")] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
    page.close().await;
}
