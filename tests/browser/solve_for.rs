//! One input is sought and the others are given: the answers are the library's, and one press takes them.

use crate::support::{Page, expected};
use bmax::{
    Bytes, Scenario, catalogue, fewest_gpus,
    inverse::{largest_model, least_memory, longest_sequence},
    link, number,
};

const QUERY: &str = "?v=4&model=llama-3.1-8b&gpu=h100-80&b=2";

fn grouped(count: u32) -> String {
    number::grouped(count.into())
}

/// Asks a question, waits for a part of its answer, takes it and waits for its link.
async fn ask(question: &str, says: &[&str], next: &Scenario) {
    let page = Page::open(QUERY).await;
    let calculator = page.figure("calculator");
    calculator.choose("Solve for", question).await;
    for part in says {
        page.part("#solve-answer").says(part).await;
    }
    calculator.press("Use it").await;
    page.until_query(&link::encode(next)).await;
    // What is taken already cannot be taken again.
    let idle = "return [...document.querySelectorAll('.solve button')].map((button) => button.ariaDisabled);";
    page.until_script("the press to rest", idle, serde_json::json!(["true"])).await;
    assert_eq!(page.script("return document.activeElement.innerText;", vec![]).await, "Use it");
    page.close().await;
}

#[tokio::test]
async fn the_largest_micro_batch() {
    let scenario = expected::scenario(QUERY);
    let most = bmax::b_max(&scenario).batch().expect("it fits");
    ask("Micro-batch", &[&format!("At most {most} sequences")], &scenario.with_batch(most)).await;
}

#[tokio::test]
async fn the_longest_sequence() {
    let mut next = expected::scenario(QUERY);
    next.recipe.sequence = longest_sequence(&next, 2).expect("short ones fit");
    ask("Sequence length", &[&format!("may be {} tokens long", grouped(next.recipe.sequence))], &next).await;
}

#[tokio::test]
async fn the_fewest_gpus() {
    let mut next = expected::scenario(QUERY);
    next.cluster.gpus = fewest_gpus(&next, 2).expect("some number is enough");
    ask("Fewest GPUs", &[&format!("With {} GPU", grouped(next.cluster.gpus))], &next).await;
}

#[tokio::test]
async fn the_smallest_device_of_the_list() {
    let scenario = expected::scenario(QUERY);
    let least = least_memory(&scenario, 2).expect("some memory is enough") - scenario.device.driver;
    let enough = catalogue::DEVICES.iter().filter(|row| Bytes::from_mib(row.visible_mib.into()) >= least);
    let row = enough.min_by_key(|row| row.memory_mib).expect("one is large enough");
    ask("Smallest GPU", &[row.name, "sequences on each GPU need"], &row.apply(scenario)).await;
}

#[tokio::test]
async fn the_largest_model_of_a_shape() {
    let mut next = expected::scenario(QUERY);
    next.model = largest_model(&next, 2).expect("a small one fits");
    let billions = number::grouped((next.model.parameters as f64 / 1e7).round() / 100.0);
    ask("Largest model", &[&billions, &format!("L = {}", grouped(next.model.layers))], &next).await;
}

#[tokio::test]
async fn what_has_no_answer_is_explained_and_cannot_be_taken() {
    let page = Page::open("?model=70b&gpus=1&b=1000000&s=4000000").await;
    let calculator = page.figure("calculator");
    for question in ["Micro-batch", "Sequence length", "Fewest GPUs", "Smallest GPU", "Largest model"] {
        calculator.choose("Solve for", question).await;
        for part in ["too much", "The largest entry is"] {
            page.part("#solve-answer").says(part).await;
        }
        let button = calculator.find("button", "Use it").await;
        assert_eq!(button.attr("aria-disabled").await.expect("an element").as_deref(), Some("true"), "{question}");
        calculator.press("Use it").await;
    }
    let scenario = expected::scenario("?model=70b&gpus=1&b=1000000&s=4000000");
    calculator.shows("calculator-answer", &expected::answer(&scenario)).await;
    page.close().await;
}

#[tokio::test]
async fn the_answer_follows_the_inputs() {
    let page = Page::open("").await;
    let calculator = page.figure("calculator");
    calculator.choose("Solve for", "Sequence length").await;
    calculator.enter("Micro-batch b", "1").await;
    let longest = longest_sequence(&Scenario::default().with_batch(1), 1).expect("short ones fit");
    page.part("#solve-answer").says(&grouped(longest)).await;
    page.close().await;
}
