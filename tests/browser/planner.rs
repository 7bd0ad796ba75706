//! From the global batch to micro-batch, GPUs and accumulation steps.

use crate::support::{Page, expected};
use bmax::planner::{Accumulation, plan};
use bmax::{Scenario, b_max, link, number};

fn equation(plan: Accumulation) -> String {
    let [b, d, steps] = [plan.micro_batch, plan.data_parallel, plan.steps].map(|count| number::grouped(count.into()));
    format!("{} = {b} · {d} · {steps}", number::grouped(plan.global_batch() as f64))
}

fn preferred(scenario: &Scenario) -> Accumulation {
    let batch = b_max(scenario).batch().expect("something fits");
    plan(scenario.goal.sequences(scenario.recipe.sequence), scenario.cluster.data_parallel(), batch).preferred()
}

#[tokio::test]
async fn the_workshop_example_of_256_takes_8_steps_of_4_on_8_gpus() {
    let query = "?v=3&method=workshop&s=1536";
    assert_eq!(b_max(&expected::scenario(query)).batch(), Some(4));
    let page = Page::about("planner", query).await;
    let planner = page.figure("planner");
    planner.shows("planner-result", "256 = 4 · 8 · 8").await;
    planner.says("Hits the target exactly").await;
    assert_eq!(planner.text("planner-tokens").await, "393,216 tokens");
    page.close().await;
}

#[tokio::test]
async fn the_plan_follows_the_target_the_unit_and_the_configuration() {
    let page = Page::about("planner", "?v=4&method=ledger").await;
    let planner = page.figure("planner");
    planner.shows("planner-result", &equation(preferred(&Scenario::default()))).await;
    planner.enter("Target global batch B", "1,000").await;
    let query = "v=4&target=1000&method=ledger";
    page.until_query(query).await;
    planner.shows("planner-result", &equation(preferred(&expected::scenario(query)))).await;
    planner.choose("Counted in", "tokens").await;
    planner.enter("Target global batch B", "4,194,304").await;
    let query = "v=4&target=4194304&unit=tokens&method=ledger";
    page.until_query(query).await;
    planner.shows("planner-result", &equation(preferred(&expected::scenario(query)))).await;
    planner.says("2,048 sequences").await;
    let query = "v=4&gpus=64&target=4194304&unit=tokens&method=ledger";
    page.travel(query).await;
    planner.shows("planner-result", &equation(preferred(&expected::scenario(query)))).await;
    page.close().await;
}

#[tokio::test]
async fn the_plan_s_micro_batch_can_be_taken_over() {
    let page = Page::about("planner", "?v=3&method=workshop&s=1536").await;
    page.figure("planner").press("Use this micro-batch").await;
    page.until_query(&link::encode(&expected::scenario("v=3&s=1536&b=4&method=workshop"))).await;
    page.part("#answer-bar").says("b = 4").await;
    page.close().await;
}

#[tokio::test]
async fn a_target_nearby_is_hit_exactly_after_one_press() {
    let page = Page::about("planner", "?target=1000&method=ledger").await;
    let planner = page.figure("planner");
    let nearby = planner.find("group", "Targets nearby").await;
    let buttons = nearby.find_all(fantoccini::Locator::Css("button")).await.expect("buttons");
    assert!(!buttons.is_empty(), "1,000 sequences do not fill 8 GPUs evenly");
    page.reveal(&buttons[0]).await;
    buttons[0].click().await.expect("a button");
    planner.says("Hits the target exactly").await;
    let query = page.until("the address to follow", async || {
        let query = page.query().await;
        if query != "target=1000&method=ledger" { Ok(query) } else { Err(query) }
    });
    let scenario = expected::scenario(&query.await);
    let round = u64::from(b_max(&scenario).batch().expect("it fits")) * u64::from(scenario.cluster.gpus);
    assert_eq!(preferred(&scenario).global_batch(), u64::from(scenario.goal.global_batch));
    assert_eq!(u64::from(scenario.goal.global_batch) % round, 0);
    page.close().await;
}

#[tokio::test]
async fn without_a_sequence_that_fits_there_is_no_plan_and_the_reason_is_given() {
    let page = Page::about("planner", "?gpus=1&method=ledger").await;
    let planner = page.figure("planner");
    planner.shows("planner-result", "no plan").await;
    planner.says("Nothing can be planned, because not even one sequence fits").await;
    page.close().await;
}

#[tokio::test]
async fn the_plan_with_fewer_steps_says_by_how_much_it_overshoots() {
    let page = Page::about("planner", "?v=3&method=workshop").await;
    let planner = page.figure("planner");
    planner.shows("planner-result", "256 = 2 · 8 · 16").await;
    planner.press("With fewer steps: 264 = 3 · 8 · 11").await;
    planner
        .shows(
            "planner-words",
            "Overshoots the target of 256 sequences by 8 (3 %): \
             3 sequences on each of 8 data-parallel GPUs, 11 times before the optimizer steps.",
        )
        .await;
    planner.press("Exactly the target: 256 = 2 · 8 · 16").await;
    planner.says("Hits the target exactly").await;
    page.close().await;
}
