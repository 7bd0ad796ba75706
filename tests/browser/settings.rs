//! The form of all settings: what finds one, what lists those that are changed, and the order of the groups.

use bmax::{Field, Scenario, link};
use serde_json::json;

use crate::support::{FOLDER, Page, Visit, expected, key};

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
    calculator.explains("textbox", "Adapter rank r", "No effect without an adapter.").await;
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
    let listed = "return [...document.querySelectorAll('.form-changed li')].map((one) => one.innerText.replace('↺', '').replace(/\\s+/g, ' ').trim());";
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

/// What has the focus.
const FOCUS: &str = "return document.activeElement.id || document.activeElement.textContent;";

/// Whether the drawer is open.
const IS_OPEN: &str = "return document.querySelector('#settings').open;";

#[tokio::test]
async fn all_settings_open_over_any_page_and_give_the_focus_back() {
    for from in ["", "memory/", "plan/"] {
        let page = Page::open(&format!("{from}?v=4&s=1234&gpus=8")).await;
        let place = "return location.pathname + location.hash;";
        let before = page.script(place, vec![]).await;
        page.part("#answer-bar").click("link", "All settings").await;
        page.until_script("the field to have the focus", FOCUS, json!("settings-find")).await;
        let drawer = page.part("#settings");
        page.press("rank").await;
        drawer.says("“rank”.").await;
        page.press(&key::BACKSPACE.repeat(4)).await;
        drawer.enter(&expected::label(Field::TensorParallel), "2").await;
        let query = link::encode(&expected::scenario("v=4&s=1234&gpus=8&tp=2"));
        page.until_query(&query).await;
        let answer = expected::answer(&expected::scenario(&query));
        drawer.shows("bar-answer", &answer).await;
        page.part("#answer-bar").shows("bar-answer", &answer).await;
        page.press(key::ESCAPE).await;
        page.until_script("the drawer to close", IS_OPEN, json!(false)).await;
        let back = "return document.activeElement === document.querySelector('#answer-bar .configuration-end a');";
        page.until_script("the focus to come back", back, json!(true)).await;
        assert_eq!(page.script(place, vec![]).await, before, "the page stays where it was");
        page.close().await;
    }
}

#[tokio::test]
async fn the_drawer_opens_again_as_it_was_left_and_closes_by_its_button_and_by_a_press_beside_it() {
    let page = Page::open("memory/?v=4").await;
    let bar = page.part("#answer-bar");
    bar.click("link", "All settings").await;
    page.until_script("the field to have the focus", FOCUS, json!("settings-find")).await;
    let drawer = page.part("#settings");
    page.script("document.querySelector('#settings .form-more:not(.config-fold) > summary').click();", vec![]).await;
    drawer.says("Vocabulary").await;
    drawer.press("Close").await;
    page.until_script("the drawer to close", IS_OPEN, json!(false)).await;
    bar.click("link", "All settings").await;
    page.until_script("the drawer to open", IS_OPEN, json!(true)).await;
    drawer.says("Vocabulary").await;
    page.close().await;
}

#[tokio::test]
async fn a_config_json_is_read_in_the_drawer_and_in_the_form_of_the_page() {
    let page = Page::open("?v=4").await;
    page.part("#answer-bar").click("link", "All settings").await;
    page.until_script("the field to have the focus", FOCUS, json!("settings-find")).await;
    let within = "return document.querySelector('#config-text')?.closest('dialog, [data-figure]').id \
        || document.querySelector('#config-text')?.closest('dialog, [data-figure]').dataset.figure || null;";
    page.script("document.querySelector('#settings .config-fold > summary').click();", vec![]).await;
    page.until_script("the field in the drawer", within, json!("settings")).await;
    page.press(key::ESCAPE).await;
    page.until_script("the drawer to close", IS_OPEN, json!(false)).await;
    page.figure("calculator").approach().await;
    page.script("document.querySelector('[data-figure] .config-fold > summary').click();", vec![]).await;
    page.until_script("the field in the page", within, json!("calculator")).await;
    page.close().await;
}

#[tokio::test]
async fn without_the_program_the_bar_leads_to_the_form_of_the_first_page() {
    for from in ["", "memory/"] {
        let page = Visit::to(from).without_scripts().open().await;
        let way = "const way = new URL(document.querySelector('#answer-bar .configuration-end a').href); \
            return way.pathname + way.hash;";
        assert_eq!(page.script(way, vec![]).await, json!(format!("{FOLDER}#calculator-find")), "/{from}");
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
