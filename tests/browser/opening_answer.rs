//! The first figure: the answer before anything was asked, and the three controls that change it most.

use crate::support::{Page, expected};
use bmax::{Answer, Scenario, b_max};

#[tokio::test]
async fn the_first_view_shows_a_configuration_that_fits_and_the_other_method_beside_it() {
    let page = Page::open("").await;
    let opening = page.figure("answer");
    opening.shows("opening-answer", "3").await;
    opening.says("sequences per GPU").await;
    opening.says("Workshop method. Paper method: 6.").await;
    opening.says("The bar shows b = 3: fits").await;
    assert_eq!(expected::answer(&Scenario::default()), "3");
    page.close().await;
}

#[tokio::test]
async fn the_answer_bar_says_the_same_and_stays_in_view_while_reading() {
    let page = Page::open("").await;
    let bar = page.part("#answer-bar");
    bar.shows("bar-answer", "3").await;
    for part in ["b = 3", "64.0", "72.0 GiB", "fits", "next sequence lacks 9.04 GiB", "Workshop method"] {
        bar.says(part).await;
    }
    let in_view = "document.getElementById('takeaways').scrollIntoView({ behavior: 'instant' }); \
        const bar = document.getElementById('answer-bar').getBoundingClientRect(); \
        return bar.top >= 0 && bar.bottom <= innerHeight && bar.height > 0;";
    page.until_script("the bar to stay in view", in_view, true.into()).await;
    page.close().await;
}

#[tokio::test]
async fn picking_a_model_a_gpu_and_their_number_moves_every_figure() {
    let page = Page::open("").await;
    let opening = page.figure("answer");
    opening.pick("Model", "Llama 3.1 8B").await;
    opening.pick("GPU", "H200 141 GB").await;
    opening.enter("Number of GPUs D", "16").await;
    let wanted = "v=1&model=llama-3.1-8b&gpu=h200&gpus=16";
    let answer = expected::answer(&expected::scenario(wanted));
    opening.shows("opening-answer", &answer).await;
    page.part("#answer-bar").shows("bar-answer", &answer).await;
    let calculator = page.figure("calculator");
    calculator.shows("calculator-answer", &answer).await;
    assert_eq!(calculator.value("textbox", "Number of GPUs D").await, "16");
    assert_eq!(calculator.value("combobox", "Model").await, "llama-3.1-8b");
    page.until_query(wanted).await;
    page.close().await;
}

#[tokio::test]
async fn what_cannot_fit_is_said_in_words_with_what_would_be_enough() {
    let query = "?v=1&model=70b";
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
    page.figure("answer").fill("Number of GPUs D", "64").await;
    bar.shows("bar-answer", &expected::answer(&expected::scenario("?gpus=64"))).await;
    page.until_script("the answer to be spoken", spoken, "Workshop method: 4 sequences per GPU at most.".into()).await;
    page.close().await;
}
