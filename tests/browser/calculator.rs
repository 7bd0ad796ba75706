//! The form and its result: presets, every field, both methods, reset, and the reasons.

use crate::support::{Page, Scope, expected};
use bmax::catalogue::MODELS;
use bmax::{
    Answer, Field, Scenario, b_max,
    choice::ChoiceOption,
    link, number,
    setting::{self, Setting},
};
use serde_json::json;

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
    let page = Page::open("?v=3&method=workshop").await;
    let calculator = page.figure("calculator");
    for (preset, gpus, shown) in [
        ("1B", 1, ["2", "8", "304"]),
        ("3B", 1, ["does not fit", "2", "86"]),
        ("7B", 8, ["1", "3", "117"]),
        ("13B", 64, ["does not fit", "2", "88"]),
        ("70B", 64, ["does not fit", "does not fit", "22"]),
    ] {
        calculator.press(preset).await;
        calculator.enter("Number of GPUs", &gpus.to_string()).await;
        answers(&calculator, &format!("?v=3&method=workshop&model={}&gpus={gpus}", preset.to_lowercase()), shown).await;
    }
    page.close().await;
}

#[tokio::test]
async fn the_method_switch_swaps_the_answer_with_those_beside_it() {
    let page = Page::open("?v=3").await;
    let calculator = page.figure("calculator");
    let ledger = expected::answer(&Scenario::workshop());
    calculator.shows("calculator-answer", &ledger).await;
    calculator.shows("other-answer-0", "3").await;
    calculator.shows("other-answer-1", "6").await;
    calculator.choose("Method", "Paper").await;
    calculator.shows("calculator-answer", "6").await;
    calculator.shows("other-answer-0", &ledger).await;
    calculator.shows("other-answer-1", "3").await;
    page.part("#answer-bar").says("Counted as the paper does").await;
    answers(&calculator, "?v=3&method=paper", ["2", "6", "117"]).await;
    page.close().await;
}

#[tokio::test]
async fn the_method_switch_changes_the_answer_and_what_the_fields_say() {
    let page = Page::open("").await;
    let calculator = page.figure("calculator");
    page.figure("calculator").unfold().await;
    calculator.says("It counts the weights of every matrix").await;
    for (method, word, counted) in [
        ("Paper", "paper", "Counted as the paper does"),
        ("Workshop", "workshop", "Counted as the workshop does"),
        ("Ledger", "ledger", "Counted tensor by tensor"),
    ] {
        calculator.choose("Method", method).await;
        calculator.shows("calculator-answer", &expected::answer(&expected::scenario(&format!("?method={word}")))).await;
        page.part("#answer-bar").says(counted).await;
        let idle = idle(&page).await;
        assert_eq!(idle.iter().any(|name| name.starts_with("Optimizer")), method != "Ledger", "{idle:?}");
        assert_eq!(idle.iter().any(|name| name.starts_with("Headroom")), method == "Ledger", "{idle:?}");
        assert_eq!(idle.iter().any(|name| name.starts_with("ZeRO stage")), method == "Workshop", "{idle:?}");
    }
    page.close().await;
}

/// The labels of the fields that say that nothing reads them.
async fn idle(page: &Page) -> Vec<String> {
    let script =
        "return [...document.querySelectorAll('.field-idle:not([hidden]) label')].map((label) => label.innerText);";
    let labels = page.script(script, vec![]).await;
    labels.as_array().into_iter().flatten().map(|label| label.as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn the_pressed_preset_is_marked_until_a_number_of_it_is_edited() {
    let page = Page::open("?model=7b").await;
    let calculator = page.figure("calculator");
    let pressed =
        async |name: &str| calculator.find("button", name).await.attr("aria-pressed").await.expect("an element");
    assert_eq!(pressed("7B").await.as_deref(), Some("true"));
    calculator.press("13B").await;
    assert_eq!(pressed("13B").await.as_deref(), Some("true"));
    assert_eq!(pressed("7B").await.as_deref(), Some("false"));
    page.figure("calculator").unfold().await;
    calculator.enter("Layers L", "41").await;
    assert_eq!(pressed("13B").await.as_deref(), Some("false"));
    page.until_query("v=4&model=13b&layers=41").await;
    let chosen = "return document.querySelector('[data-figure=calculator] #model').value;";
    page.until_script("the row to be marked", chosen, "13B (edited)".into()).await;
    page.close().await;
}

/// The calculator and nothing else, which is drawn again after each change.
const ALONE: &str = "embed=calculator";

/// Picks rows of a list one after another, as events of a reader do, and tells of each the answer that follows.
const PICKED: &str = "const [label, rows, done] = arguments; \
    const form = document.querySelector('[data-figure=calculator]'); \
    const settled = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => setTimeout(done))))); \
    const field = [...form.querySelectorAll('[role=combobox]')].find((one) => one.labels[0]?.textContent.trim() === label); \
    const first = () => document.getElementById(field.getAttribute('aria-activedescendant')); \
    (async () => { \
        const answers = []; \
        field.focus(); \
        for (const row of rows) { \
            field.value = row; \
            field.dispatchEvent(new InputEvent('input', { bubbles: true })); \
            for (let left = 200; left && !first(); left -= 1) await new Promise((done) => setTimeout(done, 20)); \
            await settled(); \
            first().click(); \
            await settled(); \
            answers.push(field.value === row ? form.querySelector('[data-testid=calculator-answer]').innerText : field.value); \
        } \
        return answers; \
    })().then(done);";

#[tokio::test]
async fn every_row_of_the_catalogue_can_be_picked_and_gives_the_library_s_answer() {
    let page = Page::open(&format!("?{ALONE}&gpus=64")).await;
    page.figure("calculator").unfold().await;
    let models = MODELS.iter().filter(|row| row.group.is_published());
    let models: Vec<_> = models.map(|row| (row.name, format!("?gpus=64&model={}", row.slug))).collect();
    let last = &models[models.len() - 1].1;
    // A card of a desk is one, and so is what is picked after it.
    let mut gpus = 64;
    let devices = bmax::catalogue::DEVICES.iter().map(|row| {
        if row.group != bmax::catalogue::DeviceGroup::DataCentre {
            gpus = 1;
        }
        (row.name, format!("{}&gpu={}", last.replace("gpus=64", &format!("gpus={gpus}")), row.slug))
    });
    for (list, rows) in [("Model", models.clone()), ("GPU", devices.collect())] {
        let (names, queries): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let answers = page.script_async(PICKED, vec![json!(list), json!(names)]).await;
        let answers: Vec<String> = serde_json::from_value(answers).expect("texts");
        for (query, answer) in queries.iter().zip(answers) {
            assert_eq!(answer.trim(), expected::answer(&expected::scenario(query)), "{query}");
        }
    }
    page.close().await;
}

/// Scenarios in one or the other of which every input of the form means something.
const MATTERS: [&str; 18] = [
    "?v=4&experts=8&active=2&kv_rank=512&recompute=every-k&recompute_layers=2&loss=chunked&position=learned\
        &adapter=qlora&tp=2&pp=2&ep=2&engine=deepspeed",
    "?v=4&attn=eager",
    // The ledger asks for no number of parameters.
    "?v=4&method=paper",
    // Groups that are there once something can come of them.
    "?v=4&task=grpo",
    "?v=4&task=distil",
    "?v=4&task=ppo&rollout=awake",
    "?v=4&lengths=padded",
    "?v=4&eval=logits",
    "?v=4&eval=loss&eval_generate=on",
    "?v=4&zero=3&gather=cpu",
    "?v=4&gpus=1&adapter=lora",
    "?v=4&offload=optimizer&ram=512",
    "?v=4&gpus=1&zero=0&optimizer=galore",
    "?v=4&gpus=1&zero=0&optimizer=soap",
    "?v=4&model=qwen2.5-vl-7b&gpus=1&s=8192",
    "?v=4&model=llava-next-mistral-7b&gpus=1&s=8192",
    "?v=4&model=whisper-large-v3&gpus=1",
    "?v=4&model=t5-base&gpus=1",
];

/// The query of a scenario there.
fn alone(scenario: &Scenario) -> String {
    format!("{ALONE}&{}", link::encode(scenario))
}

/// Another value of a numeric field than the one it has.
fn another(field: Field, scenario: &Scenario) -> f64 {
    let other = |value: &f64| *value != scenario.number(field) && field.check(*value).is_ok();
    [4.0, 6.0, 64.0, 1_000.0].into_iter().find(other).expect("a value in range")
}

/// Changes inputs one after another, as events of a reader do, and after each goes back to where it began. Tells of each
/// the answer, the sentence about it, and whether its button for resetting came and went; nothing where it is not in the form.
const IN_TURN: &str = "const [start, changes, done] = arguments; \
    const form = document.querySelector('[data-figure=calculator]'); \
    const tidy = (text) => text.replace(/\\s+/g, ' ').trim(); \
    const settled = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => setTimeout(done))))); \
    const named = (kind, name) => [...form.querySelectorAll(kind)].filter((one) => one.checkVisibility({ visibilityProperty: true }) && \
        [...one.labels].some((label) => tidy(label.textContent) === name)); \
    const reset = (name) => [...form.querySelectorAll('button')].find((one) => one.checkVisibility({ visibilityProperty: true }) && \
        (one.getAttribute('aria-label') ?? one.textContent).includes(`Reset ${name} to`)); \
    const change = async (kind, label, name, value) => { \
        const [input, another] = named(kind, label); \
        if (!input || another) return null; \
        const was = reset(name); \
        input.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true })); \
        await settled(); \
        input.focus(); \
        if (kind === 'select') input.selectedIndex = [...input.options].findIndex((option) => tidy(option.text) === value); \
        else input.value = value; \
        input.dispatchEvent(new Event('input', { bubbles: true })); \
        input.dispatchEvent(new Event('change', { bubbles: true })); \
        await settled(); \
        const about = (input.getAttribute('aria-describedby') ?? '').split(' ').map((id) => document.getElementById(id)?.innerText ?? ''); \
        const answer = form.querySelector('[data-testid=calculator-answer]').innerText; \
        const came = reset(name); \
        came?.click(); \
        await settled(); \
        const went = !reset(name); \
        if (was) { \
            history.replaceState(null, '', `?${start}`); \
            dispatchEvent(new PopStateEvent('popstate')); \
            await settled(); \
        } \
        return [tidy(answer), tidy(about.join(' ')), !!came && went]; \
    }; \
    (async () => { \
        const seen = []; \
        for (const one of changes) seen.push(await change(...one)); \
        return seen; \
    })().then(done);";

/// A change of one input: what it is, its label, its name, the text to give it, what it makes of the scenario, and words
/// of the sentence about it.
struct Turn {
    kind: &'static str,
    label: String,
    name: &'static str,
    text: String,
    scenario: Scenario,
    says: &'static str,
}

/// Makes each change where the form has its input in one of these scenarios, and holds that the answer is the library's.
/// The address follows the last one.
async fn each_in_turn<T: Copy>(mut inputs: Vec<T>, turn: impl Fn(T, &Scenario) -> Turn) -> Vec<T> {
    let page = Page::open(&format!("?{ALONE}")).await;
    let calculator = page.figure("calculator");
    let mut last = None;
    for query in MATTERS {
        let start = expected::scenario(query);
        page.travel(&alone(&start)).await;
        // The answer and the form follow a link together, behind the paint.
        calculator.shows("calculator-answer", &expected::answer(&start)).await;
        calculator.unfold().await;
        let turns: Vec<Turn> = inputs.iter().map(|input| turn(*input, &start)).collect();
        let changes: Vec<_> = turns.iter().map(|turn| json!([turn.kind, turn.label, turn.name, turn.text])).collect();
        let seen = page.script_async(IN_TURN, vec![json!(alone(&start)), json!(changes)]).await;
        let seen: Vec<Option<(String, String, bool)>> = serde_json::from_value(seen).expect("a list");
        for (turn, seen) in turns.into_iter().zip(&seen) {
            let Some((answer, about, reset)) = seen else { continue };
            let what = format!("{} set to {} from {query}", turn.name, turn.text);
            assert_eq!(*answer, expected::answer(&turn.scenario), "{what}");
            assert!(about.contains(turn.says), "{what}: “{about}” without “{}”", turn.says);
            assert!(*reset, "{what} cannot be reset");
            last = Some((query, turn));
        }
        let mut seen = seen.into_iter();
        inputs.retain(|_| seen.next().flatten().is_none());
    }
    let (query, turn) = last.expect("some change was made");
    page.travel(&alone(&expected::scenario(query))).await;
    match turn.kind {
        "select" => calculator.pick(turn.name, &turn.text).await,
        _ => calculator.enter(&turn.label, &turn.text).await,
    }
    page.until_query(&alone(&expected::scenario(query).then(turn.scenario))).await;
    page.close().await;
    inputs
}

#[tokio::test]
async fn every_number_of_a_scenario_is_in_the_form_changes_the_answer_the_library_s_way_and_can_be_reset() {
    let mut numbers: Vec<Field> = Field::ALL.to_vec();
    numbers.retain(|field| ![Field::GlobalBatch, Field::ComparisonGpus].contains(field));
    let missing = each_in_turn(numbers, |field, start| {
        let scenario = start.with_number(field, another(field, start)).expect("in range");
        let text = number::plain(scenario.number(field));
        Turn { kind: "input", label: expected::label(field), name: field.bound().name, text, scenario, says: "" }
    })
    .await;
    assert!(missing.is_empty(), "never seen: {missing:?}");
}

#[tokio::test]
async fn every_word_of_a_scenario_is_in_the_form_changes_the_answer_the_library_s_way_and_can_be_reset() {
    let elsewhere = [&setting::METHOD, &setting::BATCH_UNIT, &setting::COMPARISON_RECOMPUTATION, &setting::CHART_AXIS];
    let words: Vec<&Setting> = setting::ALL.iter().copied().filter(|word| !elsewhere.contains(word)).collect();
    let missing = each_in_turn(words, |word, start| {
        // WebDriver looks for a label by an expression that no apostrophe may stand in.
        let used = [word.get(start), word.get(&Scenario::default())];
        let other = |option: &&ChoiceOption| !used.contains(&option.key) && !option.label.contains('\'');
        let option = word.options.iter().find(other).expect("another option");
        let scenario = word.read(option.key, *start).expect("a word of its own");
        let (label, text) = (word.name.to_owned(), option.label.to_owned());
        Turn { kind: "select", label, name: word.name, text, scenario, says: word.effect(option.key) }
    })
    .await;
    assert!(missing.is_empty(), "never seen: {:?}", missing.iter().map(|word| word.name).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_folded_group_says_what_is_inside_and_how_much_of_it_was_changed() {
    let page = Page::open("?tp=2&pp=4&gpus=16&accum=8&zero=1").await;
    let calculator = page.figure("calculator");
    calculator.says("How the work is divided: 2 data × 2 tensor × 4 pipeline").await;
    calculator.says("More of precision and optimizer: gradients in 16 bits").await;
    calculator.says("Mixture of experts: none: a dense model").await;
    calculator.pick("Model", "Mixtral 8x7B").await;
    calculator.says("Mixture of experts: 8, of which 2 active").await;
    page.close().await;
}

#[tokio::test]
async fn the_numbers_of_the_shape_are_in_sight_and_that_of_parameters_where_it_means_something() {
    let page = Page::open("").await;
    let calculator = page.figure("calculator");
    let parameters = expected::label(Field::Parameters);
    for field in [Field::Hidden, Field::Layers, Field::Heads, Field::Sequence] {
        assert_eq!(calculator.matches("textbox", &expected::label(field)).await.len(), 1, "{field:?}");
    }
    assert!(calculator.matches("textbox", &parameters).await.is_empty());
    calculator.says("The ledger does not read the number of parameters N").await;
    for method in ["workshop", "paper"] {
        page.travel(&format!("v=4&method={method}")).await;
        calculator.enter(&parameters, "8").await;
        let scenario = expected::scenario(&format!("?method={method}&params=8"));
        calculator.shows("calculator-answer", &expected::answer(&scenario)).await;
    }
    page.close().await;
}

#[tokio::test]
async fn what_cannot_matter_is_out_of_sight_unless_it_was_changed() {
    let page = Page::open("").await;
    let calculator = page.figure("calculator");
    page.figure("calculator").unfold().await;
    assert!(calculator.matches("textbox", "Adapter rank r").await.is_empty());
    calculator.pick("Adapters", "LoRA").await;
    calculator.enter("Adapter rank r", "64").await;
    calculator.pick("Adapters", "None: all weights").await;
    calculator.explains("textbox", "Adapter rank r", "No effect without an adapter.").await;
    assert_eq!(calculator.value("textbox", "Adapter rank r").await, "64");
    page.until_query("v=4&rank=64").await;
    page.close().await;
}

#[tokio::test]
async fn kinds_of_recomputation_that_sound_alike_ask_for_different_numbers() {
    let page = Page::open("").await;
    let calculator = page.figure("calculator");
    let (every, first) = (expected::label(Field::Every), expected::label(Field::RecomputedLayers));
    for (kind, word, asks) in [
        ("Segments of K layers", "every-k", Some(&every)),
        ("Every K-th layer alone", "kth-layer", Some(&every)),
        ("First N layers of a stage", "block", Some(&first)),
        ("Full", "full", None),
    ] {
        calculator.pick("Activation recomputation", kind).await;
        let answer = expected::answer(&expected::scenario(&format!("?recompute={word}")));
        calculator.shows("calculator-answer", &answer).await;
        for field in [&every, &first] {
            let there = !calculator.matches("textbox", field).await.is_empty();
            assert_eq!(there, asks == Some(field), "{field} beside “{kind}”");
        }
    }
    page.close().await;
}

#[tokio::test]
async fn a_pipeline_brings_what_can_be_said_of_its_stages() {
    let page = Page::open("?zero=1&gpus=16&accum=8").await;
    let calculator = page.figure("calculator");
    page.figure("calculator").unfold().await;
    let chunks = expected::label(Field::VirtualStages);
    assert!(calculator.matches("textbox", &chunks).await.is_empty());
    calculator.enter(&expected::label(Field::PipelineParallel), "4").await;
    calculator.enter(&chunks, "2").await;
    let query = "?zero=1&gpus=16&accum=8&pp=4&vpp=2";
    calculator.shows("calculator-answer", &expected::answer(&expected::scenario(query))).await;
    // What was changed stays in sight, and says that it does nothing.
    calculator.enter(&expected::label(Field::PipelineParallel), "1").await;
    calculator.explains("textbox", &chunks, "No effect without a pipeline.").await;
    assert_eq!(calculator.value("textbox", &chunks).await, "2");
    page.close().await;
}

#[tokio::test]
async fn everything_can_be_reset_at_once() {
    let page = Page::open("?v=4&model=13b&gpu=h200&gpus=64&method=paper&s=4096&recompute=full&b=7").await;
    let calculator = page.figure("calculator");
    calculator.press("Reset everything").await;
    calculator.shows("calculator-answer", &expected::answer(&Scenario::default())).await;
    page.until_query(&link::encode(&Scenario::default())).await;
    page.close().await;
}

#[tokio::test]
async fn what_binds_and_what_would_help_follow_the_configuration() {
    let page = Page::open("?v=3&method=workshop").await;
    let calculator = page.figure("calculator");
    let Answer::Fits(room) = b_max(&expected::scenario("?v=3&method=workshop")) else { panic!("the default fits") };
    let binds = calculator.text("what-binds").await;
    for number in [expected::memory(room.per_sequence), expected::memory(room.next_lacks), "72.0 GiB".to_owned()] {
        assert!(binds.contains(&number), "{number} is not in: {binds}");
    }
    let helps = calculator.text("what-helps").await;
    let full = expected::answer(&expected::scenario("?v=3&method=workshop&recompute=full"));
    assert!(helps.contains(&full), "full recomputation holds {full}: {helps}");

    calculator.enter("Number of GPUs", "1").await;
    calculator.shows("calculator-answer", "does not fit").await;
    let binds = calculator.text("what-binds").await;
    assert!(binds.contains("optimizer state alone leave no room") && binds.contains("2 GPUs"), "{binds}");
    page.close().await;
}

#[tokio::test]
async fn settings_that_contradict_each_other_are_named_and_mended_by_one_press() {
    let page = Page::open("?method=paper&gpus=10&tp=4").await;
    let calculator = page.figure("calculator");
    calculator.says("Groups of 4 (4 tensor-parallel) cannot be made of 10 GPUs; 12 GPUs can.").await;
    calculator.press("Set Number of GPUs to 12").await;
    page.until_query("v=4&gpus=12&tp=4&method=paper").await;
    assert!(!calculator.all_text().await.contains("Groups of 4"));
    page.close().await;
}
