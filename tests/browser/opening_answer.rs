//! The first figure: the answer before anything was asked, the inputs that change it most, and the batch on the bar.

use crate::support::{Page, expected, key};
use bmax::{Answer, Scenario, b_max, estimate, range::range};

#[tokio::test]
async fn the_first_view_shows_a_configuration_that_fits_and_the_other_methods_beside_it() {
    let page = Page::open("").await;
    let opening = page.figure("answer");
    opening.shows("opening-answer", &expected::answer(&Scenario::default())).await;
    opening.says("sequences per GPU").await;
    opening.says("Counted tensor by tensor (the ledger)").await;
    opening.says("16 sequences, likely fits").await;
    page.close().await;
}

#[tokio::test]
async fn safe_likely_and_optimistic_answers_stand_side_by_side_where_they_differ() {
    let query = "?recompute=full&attn=eager";
    let scenario = expected::scenario(query);
    let range = range(&scenario);
    let [safe, likely, optimistic] =
        [range.safe, range.likely, range.optimistic].map(|answer| answer.batch().expect("it fits"));
    assert!(safe < likely && likely < optimistic);
    let page = Page::open(query).await;
    for figure in ["answer", "calculator"] {
        page.figure(figure).shows("answer-safe", &safe.to_string()).await;
        page.figure(figure).shows("answer-optimistic", &optimistic.to_string()).await;
    }
    page.figure("answer").shows("opening-answer", &likely.to_string()).await;
    page.figure("calculator").enter("Micro-batch b", &likely.to_string()).await;
    page.part("#answer-bar").says("likely fits").await;
    page.figure("calculator").choose("Method", "Paper").await;
    let shown = page.figure("answer").all_text().await;
    assert!(!shown.contains("At best"), "the paper knows no unknowns: {shown}");
    page.close().await;
}

#[tokio::test]
async fn the_moment_that_stops_the_next_sequence_is_named() {
    let page = Page::open("").await;
    let most = b_max(&Scenario::default()).batch().expect("the default fits");
    let too_many = estimate(&Scenario::default().with_batch(most + 1));
    let (position, _) = too_many.binding();
    let instant = too_many.instants[position];
    page.figure("answer").says(&format!("at “{}”.", instant.name)).await;
    page.figure("calculator").says(&format!("too much at “{}”. The largest entry there is", instant.name)).await;
    page.close().await;
}

#[tokio::test]
async fn the_answer_bar_says_the_same_and_stays_in_view_while_reading() {
    let page = Page::open("").await;
    let bar = page.part("#answer-bar");
    let Answer::Fits(room) = b_max(&Scenario::default()) else { panic!("the default fits") };
    bar.shows("bar-answer", &room.batch.to_string()).await;
    for part in [format!("b = {}", room.batch).as_str(), "fits"] {
        bar.says(part).await;
    }
    let in_view = "document.getElementById('calculator').scrollIntoView({ behavior: 'instant' }); \
        const bar = document.getElementById('answer-bar').getBoundingClientRect(); \
        return bar.top >= 0 && bar.bottom <= innerHeight && bar.height > 0;";
    page.until_script("the bar to stay in view", in_view, true.into()).await;
    page.close().await;
}

#[tokio::test]
async fn picking_a_model_a_gpu_and_their_number_moves_every_figure() {
    let page = Page::open("").await;
    let (opening, line) = (page.figure("answer"), page.part("#answer-bar"));
    line.pick("Model", "Qwen2.5 7B").await;
    line.pick("GPU", "H200 SXM 141 GB").await;
    line.enter("Number of GPUs", "16").await;
    let wanted = "v=4&model=qwen2.5-7b&gpu=h200&gpus=16";
    let answer = expected::answer(&expected::scenario(wanted));
    opening.shows("opening-answer", &answer).await;
    page.part("#answer-bar").shows("bar-answer", &answer).await;
    let calculator = page.figure("calculator");
    calculator.shows("calculator-answer", &answer).await;
    assert_eq!(calculator.value("textbox", "Number of GPUs").await, "16");
    assert_eq!(calculator.value("combobox", "Model").await, "Qwen2.5 7B");
    page.until_query(wanted).await;
    page.close().await;
}

#[tokio::test]
async fn its_slider_moves_the_batch_and_the_length_moves_the_answer() {
    let page = Page::open("").await;
    let opening = page.figure("answer");
    opening.focus("slider", "Micro-batch b").await;
    page.press(key::END).await;
    opening.says("64 sequences, does not fit").await;
    page.until_query("v=4&b=64").await;
    let line = page.part("#answer-bar");
    line.enter("Sequence length S", "4096").await;
    let wanted = "v=4&s=4096&b=64";
    page.until_query(wanted).await;
    opening.shows("opening-answer", &expected::answer(&expected::scenario(wanted))).await;
    page.close().await;
}

#[tokio::test]
async fn on_a_wide_screen_the_answer_the_slider_and_the_bar_are_seen_at_once() {
    let page = Page::open("").await;
    page.resize(1440, 900).await;
    let below = "return ['h1', '[data-testid=opening-answer]', '#opening-batch', '#embed-answer .memory-bar'] \
        .filter((one) => document.querySelector(one).getBoundingClientRect().bottom > 900);";
    page.until_script("all of it to be in the window", below, serde_json::json!([])).await;
    page.close().await;
}

#[tokio::test]
async fn what_cannot_fit_is_said_in_words_with_what_would_be_enough() {
    let query = "?model=70b";
    let page = Page::open(query).await;
    let Answer::Infeasible(reason) = b_max(&expected::scenario(query)) else { panic!("70B fits on eight GPUs") };
    let opening = page.figure("answer");
    opening.shows("opening-answer", "does not fit").await;
    opening.says("Parameters, gradients and optimizer state alone leave no room").await;
    opening.says(&format!("{} too much", expected::memory(reason.over))).await;
    match reason.fewest_gpus {
        Some(gpus) => opening.says(&format!("{gpus} GPUs would be enough")).await,
        None => opening.says("More GPUs alone do not help").await,
    }
    page.part("#answer-bar").shows("bar-answer", "does not fit").await;
    page.close().await;
}

#[tokio::test]
async fn the_answer_is_spoken_once_the_reader_has_stopped_changing_it() {
    let page = Page::open("").await;
    let bar = page.part("#answer-bar");
    let spoken = "return document.querySelector('[data-testid=\"spoken-answer\"]').textContent;";
    page.until_script("silence at first", spoken, "".into()).await;
    page.part("#answer-bar").fill("Number of GPUs", "64").await;
    bar.shows("bar-answer", &expected::answer(&expected::scenario("?gpus=64"))).await;
    let range = bmax::range::range(&expected::scenario("?gpus=64"));
    let [most, safe] = [range.likely, range.safe].map(|answer| answer.batch().expect("it fits"));
    assert_ne!(most, safe, "the safe answer is only spoken where it differs");
    let words = format!("Counted tensor by tensor: {most} sequences per GPU at most; to be safe, {safe}.");
    page.until_script("the answer to be spoken", spoken, words.into()).await;
    page.close().await;
}
