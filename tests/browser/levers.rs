//! Levers: ranked by gain, each applied and undone with one press, each keeping its promise.

use crate::support::{Page, Scope, expected, tidy};
use bmax::levers::{Change, ranked};
use bmax::{Field, Scenario};
use serde_json::Value;

/// Names and promised answers of the changes that make room.
async fn promises(page: &Page) -> Vec<(String, String)> {
    // Far from the window nothing is laid out, and what is not laid out has no text to be seen.
    page.figure("levers").approach().await;
    page.script("document.querySelector('[data-testid=levers-more]').open = true;", vec![]).await;
    let script = "return [...document.querySelectorAll('[data-figure=levers] .levers-gaining .lever')] \
        .map((row) => [row.querySelector('button').ariaLabel, row.querySelector('strong').innerText]);";
    let rows = page.script(script, vec![]).await;
    let text = |value: &Value| tidy(value.as_str().unwrap_or_default());
    rows.as_array().expect("a list").iter().map(|row| (text(&row[0]), text(&row[1]))).collect()
}

fn number(text: &str) -> u32 {
    text.replace(',', "").parse().unwrap_or(0)
}

#[tokio::test]
async fn applying_a_lever_changes_every_figure_and_undoing_it_brings_everything_back() {
    let page = Page::open("?recompute=none").await;
    let levers = page.figure("levers");
    let before = page.everything_shown().await;
    let [now, full] = ["?recompute=none", ""].map(|query| expected::answer(&expected::scenario(query)));
    levers.shows("levers-now", &now).await;
    levers.press("Apply: Recompute whole layers").await;
    levers.shows("levers-now", &full).await;
    page.part("#answer-bar").shows("bar-answer", &full).await;
    page.figure("calculator").shows("calculator-answer", &full).await;
    page.until_query("v=4").await;
    let inside = "return document.querySelector('.levers-applied').contains(document.activeElement);";
    page.until_script("the focus to stay with the levers", inside, true.into()).await;

    levers.press("Undo: Recompute whole layers").await;
    levers.shows("levers-now", &now).await;
    page.until_query("v=4&recompute=none").await;
    assert_eq!(page.everything_shown().await, before);
    page.until_script("the focus to stay with the levers", inside, true.into()).await;
    page.close().await;
}

/// Applies each lever that is offered, looks whether it leads where it said, and undoes it.
async fn all_keep_their_promise(query: &str) {
    let page = Page::open(query).await;
    let levers: Scope<'_> = page.figure("levers");
    let scenario = expected::scenario(query);
    let offered = promises(&page).await;
    let numbers: Vec<_> = offered.iter().map(|(_, after)| number(after)).collect();
    assert!(numbers.is_sorted_by(|a, b| a >= b), "the strongest comes first: {offered:?}");
    let gaining = ranked(&scenario, &[]).into_iter().filter(|lever| lever.gain() > 0);
    let mut missing: Vec<_> = gaining.filter_map(|lever| lever.after).collect();
    missing.retain(|after| !numbers.contains(after));
    assert!(missing.is_empty(), "{missing:?} can be reached, and {offered:?} is offered");
    for (name, after) in &offered {
        levers.press(name).await;
        levers.shows("levers-now", after).await;
        levers.press(&name.replace("Apply", "Undo")).await;
        levers.shows("levers-now", &expected::answer(&scenario)).await;
    }
    page.close().await;
}

#[tokio::test]
async fn every_lever_keeps_its_promise_by_the_workshop() {
    all_keep_their_promise("?method=workshop&recompute=none&precision=fp32&gpus=4").await;
}

#[tokio::test]
async fn every_lever_keeps_its_promise_by_the_paper() {
    all_keep_their_promise("?model=13b&method=paper&zero=1&recompute=none&gpus=64&tp=2&s=1024").await;
}

#[tokio::test]
async fn every_lever_keeps_its_promise_by_the_ledger() {
    all_keep_their_promise("?recompute=none&attn=eager&gpus=4").await;
}

#[tokio::test]
async fn levers_add_up_and_are_undone_in_any_order() {
    let page = Page::open("?gpus=4&recompute=none").await;
    let levers = page.figure("levers");
    levers.press("Apply: Recompute whole layers").await;
    levers.press("Apply: Halve the sequence to 1,024 tokens").await;
    let both = "v=4&s=1024&gpus=4";
    page.until_query(both).await;
    levers.shows("levers-now", &expected::answer(&expected::scenario(both))).await;
    levers.press("Undo: Recompute whole layers").await;
    page.until_query("v=4&s=1024&gpus=4&recompute=none").await;
    levers.press("Undo: Halve the sequence").await;
    page.until_query("v=4&gpus=4&recompute=none").await;
    page.close().await;
}

#[tokio::test]
async fn what_gains_nothing_alone_says_what_would_still_be_missing() {
    let page = Page::open("?model=70b&gpus=1&recompute=none").await;
    let levers = page.figure("levers");
    levers.shows("levers-now", "does not fit").await;
    page.unfold_everything().await;
    levers.says("Still does not fit: one sequence would be").await;
    let scenario = expected::scenario("?model=70b&gpus=1&recompute=none");
    let doubled = Change::Number(Field::Gpus, 2.0).apply(scenario);
    let bmax::Answer::Infeasible(reason) = bmax::b_max(&doubled) else { panic!("70B fits on two GPUs") };
    levers.says(&expected::memory(reason.over)).await;
    page.close().await;
}

#[tokio::test]
async fn the_default_offers_a_loss_that_keeps_no_logits_first() {
    let first = ranked(&Scenario::default(), &[]).into_iter().next().expect("there are levers");
    let page = Page::open("").await;
    assert_eq!(
        promises(&page).await[0],
        ("Apply: Fuse the output head with the loss".into(), first.after.expect("it fits").to_string())
    );
    page.close().await;
}
