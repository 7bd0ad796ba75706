//! The form and its result: presets, every field, both methods, reset, and the reasons.

use crate::support::{Page, Scope, expected, tidy};
use bmax::catalogue::{MODELS, ModelGroup};
use bmax::{Answer, Field, Scenario, b_max, link};

const RECOMPUTATIONS: [&str; 3] = ["None", "Selective", "Full"];

/// The answers for no, selective and full recomputation.
async fn answers(calculator: &Scope<'_>, query: &str, shown: [&str; 3]) {
    for (label, expected) in RECOMPUTATIONS.into_iter().zip(shown) {
        calculator.pick("Activation recomputation", label).await;
        calculator.shows("calculator-answer", expected).await;
        let word = label.to_lowercase();
        assert_eq!(
            expected::answer(&expected::scenario(&format!("{query}&recompute={word}"))),
            expected,
            "{query} {word}"
        );
    }
}

#[tokio::test]
async fn the_presets_give_the_published_answers() {
    let page = Page::open("").await;
    let calculator = page.figure("calculator");
    for (preset, gpus, shown) in [
        ("1B", 1, ["2", "8", "304"]),
        ("3B", 1, ["does not fit", "2", "86"]),
        ("7B", 8, ["1", "3", "117"]),
        ("13B", 64, ["does not fit", "2", "88"]),
        ("70B", 64, ["does not fit", "does not fit", "22"]),
    ] {
        calculator.press(preset).await;
        calculator.enter("Number of GPUs D", &gpus.to_string()).await;
        answers(&calculator, &format!("?model={}&gpus={gpus}", preset.to_lowercase()), shown).await;
    }
    page.close().await;
}

#[tokio::test]
async fn the_method_switch_swaps_the_answer_with_the_one_beside_it() {
    let page = Page::open("").await;
    let calculator = page.figure("calculator");
    calculator.shows("calculator-answer", "3").await;
    calculator.shows("other-answer", "6").await;
    calculator.choose("Method", "Paper").await;
    calculator.shows("calculator-answer", "6").await;
    calculator.shows("other-answer", "3").await;
    page.part("#answer-bar").says("Paper method").await;
    answers(&calculator, "?method=paper", ["2", "6", "117"]).await;
    page.close().await;
}

#[tokio::test]
async fn the_pressed_preset_is_marked_until_a_number_of_it_is_edited() {
    let page = Page::open("").await;
    let calculator = page.figure("calculator");
    let pressed =
        async |name: &str| calculator.find("button", name).await.attr("aria-pressed").await.expect("an element");
    assert_eq!(pressed("7B").await.as_deref(), Some("true"));
    calculator.press("13B").await;
    assert_eq!(pressed("13B").await.as_deref(), Some("true"));
    assert_eq!(pressed("7B").await.as_deref(), Some("false"));
    calculator.enter("Layers L", "41").await;
    assert_eq!(pressed("13B").await.as_deref(), Some("false"));
    let list = calculator.find("combobox", "Model").await;
    assert_eq!(list.attr("value").await.expect("an element"), None, "a list has no such attribute");
    page.until_query("v=1&model=13b&layers=41").await;
    let chosen = "return document.querySelector('[data-figure=calculator] #model').selectedOptions[0].text;";
    page.until_script("the row to be marked", chosen, "13B (edited)".into()).await;
    page.close().await;
}

#[tokio::test]
async fn every_row_of_the_catalogue_can_be_picked_and_gives_the_library_s_answer() {
    let page = Page::open("?gpus=64").await;
    let calculator = page.figure("calculator");
    for row in MODELS.iter().filter(|row| row.group == ModelGroup::Published) {
        calculator.pick("Model", row.name).await;
        calculator
            .shows("calculator-answer", &expected::answer(&expected::scenario(&format!("?gpus=64&model={}", row.slug))))
            .await;
    }
    for row in bmax::catalogue::DEVICES {
        calculator.pick("GPU", row.name).await;
        let query = format!("?gpus=64&model={}&gpu={}", MODELS[MODELS.len() - 1].slug, row.slug);
        calculator.shows("calculator-answer", &expected::answer(&expected::scenario(&query))).await;
    }
    page.close().await;
}

/// Every numeric field of the form, with a value that is not its default.
const NUMBERS: [(Field, f64); 14] = [
    (Field::Memory, 96.0),
    (Field::Gpus, 32.0),
    (Field::Headroom, 5.0),
    (Field::TensorParallel, 4.0),
    (Field::Sequence, 1024.0),
    (Field::Batch, 5.0),
    (Field::Parameters, 6.5),
    (Field::Hidden, 4608.0),
    (Field::Layers, 36.0),
    (Field::Heads, 36.0),
    (Field::KvHeads, 12.0),
    (Field::HeadDim, 96.0),
    (Field::FeedForward, 12_288.0),
    (Field::Vocabulary, 50_000.0),
];

/// Every list of the form, with an entry that is not its default and the word of a link for it.
const LISTS: [(&str, &str, &str); 7] = [
    ("Training precision", "fp32", "precision=fp32"),
    ("Activation recomputation", "Full", "recompute=full"),
    ("ZeRO stage", "2: + gradients", "zero=2"),
    ("Sequence parallel", "on", "sp=on"),
    ("Dropout", "off", "dropout=off"),
    ("Feed-forward block", "SwiGLU or GeGLU, 3 matrices", "mlp=gated"),
    ("Tied embeddings", "off", "tied=off"),
];

#[tokio::test]
async fn every_field_changes_the_answer_the_library_s_way_is_marked_and_can_be_reset() {
    let page = Page::open("?method=paper").await;
    let calculator = page.figure("calculator");
    page.script(
        "document.querySelectorAll('[data-figure=calculator] details').forEach((one) => one.open = true);",
        vec![],
    )
    .await;
    for (field, value) in NUMBERS {
        let label = expected::label(field);
        calculator.enter(&label, &value.to_string()).await;
        let scenario = expected::scenario("?method=paper").with_number(field, value).expect("in range");
        page.until_query(&link::encode(&scenario)).await;
        calculator.shows("calculator-answer", &expected::answer(&scenario)).await;
        calculator.press(&format!("Reset {} to", field.bound().name)).await;
        page.until_query("v=1&method=paper").await;
        assert!(!calculator.value("textbox", &label).await.is_empty());
    }
    for (list, entry, word) in LISTS {
        calculator.pick(list, entry).await;
        let scenario = expected::scenario(&format!("?method=paper&{word}"));
        page.until_query(&link::encode(&scenario)).await;
        calculator.shows("calculator-answer", &expected::answer(&scenario)).await;
        calculator.press(&format!("Reset {list} to")).await;
        page.until_query("v=1&method=paper").await;
    }
    page.close().await;
}

#[tokio::test]
async fn everything_can_be_reset_at_once() {
    let page = Page::open("?v=1&model=13b&gpu=h200&gpus=64&method=paper&s=4096&recompute=full&b=7").await;
    let calculator = page.figure("calculator");
    calculator.press("Reset everything").await;
    calculator.shows("calculator-answer", "3").await;
    page.until_query(&link::encode(&Scenario::default())).await;
    page.close().await;
}

#[tokio::test]
async fn what_binds_and_what_would_help_follow_the_configuration() {
    let page = Page::open("").await;
    let calculator = page.figure("calculator");
    let Answer::Fits(room) = b_max(&Scenario::default()) else { panic!("the default fits") };
    let binds = calculator.text("what-binds").await;
    for number in [expected::memory(room.per_sequence), expected::memory(room.next_lacks), "72.0 GiB".to_owned()] {
        assert!(binds.contains(&number), "{number} is not in: {binds}");
    }
    let helps = calculator.text("what-helps").await;
    assert!(helps.contains("117"), "full recomputation holds 117: {helps}");

    calculator.enter("Number of GPUs D", "1").await;
    calculator.shows("calculator-answer", "does not fit").await;
    let binds = calculator.text("what-binds").await;
    assert!(binds.contains("optimizer state alone leave no room") && binds.contains("2 GPUs"), "{binds}");
    page.close().await;
}

#[tokio::test]
async fn the_ledger_shows_every_entry_with_its_formula_bytes_and_source() {
    let page = Page::open("").await;
    let calculator = page.figure("calculator");
    calculator.press("Every entry, with its formula and source").await;
    let table = calculator.find("table", "Entry").await;
    let text = tidy(&table.text().await.expect("text"));
    let estimate = bmax::estimate(&Scenario::default());
    for entry in &estimate.entries {
        assert!(text.contains(entry.name), "{} is not in: {text}", entry.name);
        assert!(text.contains(&expected::memory(entry.bytes)), "{} is not in: {text}", expected::memory(entry.bytes));
        assert!(text.contains(entry.source.short), "{} is not in: {text}", entry.source.short);
    }
    assert!(text.contains(&format!("Peak {}", expected::memory(estimate.peak().bytes))), "{text}");
    assert!(!table.find_all(fantoccini::Locator::Css("math")).await.expect("formulas").is_empty());
    page.close().await;
}

#[tokio::test]
async fn settings_that_contradict_each_other_are_named_and_mended_by_one_press() {
    let page = Page::open("?method=paper&gpus=10&tp=4").await;
    let calculator = page.figure("calculator");
    calculator.says("10 GPUs do not divide into tensor-parallel groups of 4; 12 do.").await;
    calculator.press("Set Number of GPUs to 12").await;
    page.until_query("v=1&gpus=12&tp=4&method=paper").await;
    assert!(!calculator.all_text().await.contains("do not divide"));
    page.close().await;
}
