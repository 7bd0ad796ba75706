//! The form of all settings: what finds one, what lists those that are changed, and the order of the groups.

use bmax::{Field, Scenario, link};
use serde_json::json;

use crate::support::{Page, expected, key};

/// The settings that are in sight, by their names in links.
const IN_SIGHT: &str = "return [...document.querySelectorAll('#calculator .scenario-form :is(input, select, fieldset)[id]')] \
    .filter((one) => one.checkVisibility() && one.id !== 'calculator-find') \
    .map((one) => one.id.replace('calculator-', '')).sort();";

#[tokio::test]
async fn what_is_sought_is_in_sight_alone_unfolded_and_counted_and_all_comes_back_with_the_text_gone() {
    let page = Page::about("calculator", "?gpus=8").await;
    let calculator = page.figure("calculator");
    let before = page.script(IN_SIGHT, vec![]).await;
    let find = calculator.find("searchbox", "Find a setting").await;
    find.send_keys("checkpoint").await.expect("the field takes keys");
    calculator.says("settings have “checkpoint”.").await;
    let seen: Vec<String> = serde_json::from_value(page.script(IN_SIGHT, vec![]).await).expect("names");
    assert!(seen.contains(&"recompute".to_owned()) && !seen.contains(&"hidden".to_owned()), "{seen:?}");

    // A folded group is unfolded, and what waits for another setting is in sight with the reason.
    find.clear().await.expect("the field is emptied");
    find.send_keys("adapter rank").await.expect("the field takes keys");
    page.until_script("what has both words", IN_SIGHT, json!(["adapter", "rank"])).await;
    calculator.says("2 settings have “adapter rank”.").await;
    calculator.says("No effect without an adapter.").await;
    find.clear().await.expect("the field is emptied");
    find.send_keys("tensor parallel").await.expect("the field takes keys");
    calculator.enter(&expected::label(Field::TensorParallel), "2").await;
    page.until_query(&link::encode(&expected::scenario("?gpus=8&tp=2"))).await;
    calculator.press("Reset Tensor parallel to its default").await;

    find.clear().await.expect("the field is emptied");
    find.send_keys(" ").await.expect("the field takes keys");
    page.until_script("all that was there", IN_SIGHT, before).await;
    page.close().await;
}

#[tokio::test]
async fn a_text_that_finds_no_setting_says_so_and_the_nearest_name_finds_its_own() {
    let page = Page::about("calculator", "").await;
    let calculator = page.figure("calculator");
    let find = calculator.find("searchbox", "Find a setting").await;
    find.send_keys("optimiser").await.expect("the field takes keys");
    calculator.says("No setting has “optimiser” in its name or its description.").await;
    page.until_script("nothing in sight", IN_SIGHT, json!([])).await;
    calculator.press("Optimizer").await;
    let seen = async || {
        let seen: Vec<String> = serde_json::from_value(page.script(IN_SIGHT, vec![]).await).expect("names");
        if seen.contains(&"optimizer".to_owned()) { Ok(()) } else { Err(seen) }
    };
    page.until("the optimizer", seen).await;
    page.close().await;
}

#[tokio::test]
async fn each_changed_setting_is_listed_with_its_own_way_back_and_all_have_one() {
    let page = Page::about("calculator", "?s=1234&attn=eager&adapter=lora").await;
    let calculator = page.figure("calculator");
    calculator.says("3 changed:").await;
    let listed = "return [...document.querySelectorAll('.form-changed li')].map((one) => one.innerText.replace(/\\s+/g, ' ').replace(' ↺', ''));";
    let rows: Vec<String> = serde_json::from_value(page.script(listed, vec![]).await).expect("texts");
    assert!(rows.contains(&"Sequence length 1,234".to_owned()), "{rows:?}");
    calculator.press("Reset Sequence length to its default").await;
    page.until_query(&link::encode(&expected::scenario("?attn=eager&adapter=lora"))).await;
    calculator.says("2 changed:").await;
    calculator.press("Reset everything").await;
    page.until_query(&link::encode(&Scenario::default())).await;
    calculator.says("No setting is changed.").await;
    page.close().await;
}

#[tokio::test]
async fn the_bar_leads_to_where_a_setting_is_found_from_any_page() {
    for from in ["", "memory/"] {
        let page = Page::open(&format!("{from}?s=1234")).await;
        page.part("#answer-bar").click("link", "All settings").await;
        page.until_script("the field to have the focus", "return document.activeElement.id;", json!("calculator-find"))
            .await;
        let read = async || expected::scenario(&page.query().await).recipe.sequence;
        page.until("the length to stay", async || if read().await == 1234 { Ok(()) } else { Err(()) }).await;
        page.press("rank").await;
        page.press(key::TAB).await;
        page.figure("calculator").says("“rank”.").await;
        page.close().await;
    }
}

#[tokio::test]
async fn the_groups_stand_in_the_order_in_which_people_decide() {
    let page = Page::about("calculator", "").await;
    let names = "return [...document.querySelectorAll('#calculator .scenario-form .form-group > legend')].map((one) => one.textContent.trim());";
    let wanted = json!([
        "Model",
        "GPUs",
        "What is trained",
        "Length",
        "Precision and optimizer",
        "Recomputation and kernels",
        "Parallelism",
        "Task",
        "Outside the step",
        "The machine"
    ]);
    assert_eq!(page.script(names, vec![]).await, wanted);
    page.close().await;
}
