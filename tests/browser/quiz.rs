//! Questions that are checked where they stand: by keyboard and pointer, in words, without storage.

use crate::support::{Page, Scope, expected, key};
use bmax::course::quiz::{self, COUNT, DOUBLED_LENGTH, KEY, LARGEST_PART};
use bmax::{Scenario, b_max, estimate};
use fantoccini::elements::Element;
use serde_json::json;

/// The right letter of a question, for a configuration.
fn right(place: usize, query: &str) -> char {
    let scenario = if query.is_empty() { Scenario::default() } else { expected::scenario(query) };
    char::from(quiz::right(place, &scenario, &estimate(&scenario), &b_max(&scenario)))
}

/// A letter that is not this one.
fn another(letter: char) -> char {
    if letter == 'a' { 'b' } else { 'a' }
}

/// The radio button of an option.
async fn option(page: &Page, place: usize, letter: char) -> Element {
    let css = format!("input[name=q{}][value={letter}]", place + 1);
    page.client.find(fantoccini::Locator::Css(&css)).await.expect("an option")
}

async fn choose(page: &Page, place: usize, letter: char) {
    let option = option(page, place, letter).await;
    page.reveal(&option).await;
    option.click().await.expect("an option can be clicked");
}

async fn check(quiz: &Scope<'_>, place: usize) {
    quiz.press(&format!("Check question {}", place + 1)).await;
}

/// The verdict on a question, the word on the chosen option, and whether the worked answer is open.
const SEEN: &str = "const out = (name) => document.querySelector(`[data-testid='${name}']`); const n = arguments[0]; \
    return [out(`q${n}-verdict`).textContent.trim(), \
        [...'abcd'].filter((letter) => out(`q${n}-${letter}`).checkVisibility()).join(''), \
        out(`q${n}-worked`).checkVisibility() && out(`q${n}-worked`).open];";

async fn until_seen(page: &Page, place: usize, expected: serde_json::Value) {
    page.until("the verdict", async || {
        let seen = page.script(SEEN, vec![json!(place + 1)]).await;
        if seen == expected { Ok(()) } else { Err(seen) }
    })
    .await;
}

async fn until_score(page: &Page, expected: &str) {
    let score = "return document.querySelector('[data-testid=score]').textContent;";
    page.until_script("the score", score, json!(expected)).await;
}

#[tokio::test]
async fn a_right_answer_and_a_wrong_one_are_told_in_words_with_the_worked_answer() {
    let page = Page::about("quiz", "").await;
    let quiz = page.figure("quiz");
    quiz.approach().await;
    until_seen(&page, 0, json!(["", "", false])).await;
    until_score(&page, "None checked so far.").await;

    let letter = char::from(KEY[0]);
    choose(&page, 0, letter).await;
    // Choosing alone tells nothing.
    until_seen(&page, 0, json!(["", "", false])).await;
    check(&quiz, 0).await;
    until_seen(&page, 0, json!(["Right.", letter, true])).await;
    until_score(&page, "Question 1: Right. 1 of 1 right so far.").await;

    let letter = char::from(KEY[8]);
    choose(&page, 8, another(letter)).await;
    check(&quiz, 8).await;
    let verdict = format!("Wrong: it is {}.", letter.to_ascii_uppercase());
    until_seen(&page, 8, json!([verdict, another(letter), true])).await;
    until_score(&page, &format!("Question 9: {verdict} 1 of 2 right so far.")).await;
    page.close().await;
}

#[tokio::test]
async fn every_question_is_answered_right_by_its_letter() {
    let page = Page::about("quiz", "").await;
    let quiz = page.figure("quiz");
    quiz.approach().await;
    for place in 0..COUNT {
        choose(&page, place, right(place, "")).await;
        check(&quiz, place).await;
        until_seen(&page, place, json!(["Right.", right(place, ""), true])).await;
    }
    until_score(&page, &format!("Question {COUNT}: Right. {COUNT} of {COUNT} right so far.")).await;
    page.close().await;
}

#[tokio::test]
async fn the_keyboard_is_enough_and_enter_leaves_the_page_alone() {
    let page = Page::about("quiz", "").await;
    let quiz = page.figure("quiz");
    quiz.approach().await;
    let first = option(&page, 0, 'a').await;
    page.script("arguments[0].focus();", vec![serde_json::to_value(&first).expect("an element")]).await;
    // From the first option down to the last, on to the button, and press it.
    page.press(key::SPACE).await;
    for _ in 0..3 {
        page.press(key::DOWN).await;
    }
    page.press(key::ENTER).await;
    page.press(key::TAB).await;
    page.press(key::SPACE).await;
    assert_eq!(KEY[0], b'd');
    until_seen(&page, 0, json!(["Right.", "d", true])).await;
    assert_eq!(page.query().await, "");
    page.close().await;
}

#[tokio::test]
async fn a_check_without_a_choice_asks_for_one() {
    let page = Page::about("quiz", "").await;
    let quiz = page.figure("quiz");
    quiz.approach().await;
    check(&quiz, 2).await;
    until_seen(&page, 2, json!(["Choose one of the four answers first.", "", false])).await;
    until_score(&page, "Question 3: Choose one of the four answers first. None checked so far.").await;
    page.close().await;
}

#[tokio::test]
async fn start_again_forgets_everything_and_so_does_a_reload() {
    let page = Page::about("quiz", "").await;
    let quiz = page.figure("quiz");
    quiz.approach().await;
    let chosen = "return document.querySelectorAll('.quiz :checked').length;";
    choose(&page, 4, 'a').await;
    check(&quiz, 4).await;
    until_score(&page, "Question 5: Wrong: it is D. 0 of 1 right so far.").await;
    quiz.press("Start again").await;
    until_seen(&page, 4, json!(["", "", false])).await;
    until_score(&page, "None checked so far.").await;
    page.until_script("nothing to be chosen", chosen, json!(0)).await;

    choose(&page, 4, 'd').await;
    check(&quiz, 4).await;
    until_score(&page, "Question 5: Right. 1 of 1 right so far.").await;
    page.client.refresh().await.expect("the page loads");
    page.wait_for_figures().await;
    page.figure("quiz").approach().await;
    until_score(&page, "None checked so far.").await;
    assert_eq!(page.script("return Object.keys(sessionStorage).length;", vec![]).await, 0);
    page.close().await;
}

#[tokio::test]
async fn questions_on_the_configuration_follow_it() {
    let page = Page::about("quiz", "").await;
    let quiz = page.figure("quiz");
    quiz.approach().await;
    let [largest, doubled] = [LARGEST_PART, DOUBLED_LENGTH].map(|place| right(place, ""));
    choose(&page, LARGEST_PART, largest).await;
    check(&quiz, LARGEST_PART).await;
    choose(&page, DOUBLED_LENGTH, doubled).await;
    check(&quiz, DOUBLED_LENGTH).await;
    until_score(&page, "Question 19: Right. 2 of 2 right so far.").await;

    page.travel("v=4&gpus=1").await;
    quiz.approach().await;
    for (place, before) in [(LARGEST_PART, largest), (DOUBLED_LENGTH, doubled)] {
        let now = right(place, "v=4&gpus=1");
        assert_ne!(now, before, "one GPU is another case");
        let verdict = format!("Wrong: it is {}.", now.to_ascii_uppercase());
        until_seen(&page, place, json!([verdict, before, true])).await;
    }
    let states = quiz::parts(&estimate(&expected::scenario("v=4&gpus=1")))[0];
    quiz.says(&expected::memory(states)).await;
    page.close().await;
}

#[tokio::test]
async fn without_a_program_the_worked_answers_can_be_unfolded() {
    let page = crate::support::Visit::about("quiz", "").without_scripts().open().await;
    let seen = "return [...document.querySelectorAll('.quiz-worked')].filter((one) => one.checkVisibility()).length;";
    assert_eq!(page.script(seen, vec![]).await, json!(COUNT));
    let buttons = "return [...document.querySelectorAll('.quiz :is(input, button)')] \
        .filter((one) => one.checkVisibility()).length;";
    assert_eq!(page.script(buttons, vec![]).await, 0);
    page.close().await;
}
