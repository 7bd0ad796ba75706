//! What people type: whatever it is, a message names the field and its range, and nothing turns into a silent zero.

use std::collections::BTreeSet;

use crate::support::{PAGES, Page, Scope, WITHOUT_BAR, expected, figures_of, page_of};
use bmax::{Field, Scenario, link, number};
use fantoccini::elements::Element;
use serde::Deserialize;
use serde_json::json;

/// Where a numeric field stands. The calculator's are all visible once its folds are open.
const fn figure_of(field: Field) -> &'static str {
    match field {
        Field::GlobalBatch => "planner",
        Field::ComparisonGpus => "chart",
        _ => "calculator",
    }
}

async fn opened(query: &str) -> Page {
    let page = Page::open(query).await;
    page.unfold_everything().await;
    page
}

/// Presses the button beside a field that gives its default back; the list at the form's top has another one.
async fn reset(page: &Page, name: &str) {
    let press = "[...document.querySelectorAll('[data-figure=calculator] .field button')] \
        .find((one) => (one.ariaLabel ?? one.textContent).includes(`Reset ${arguments[0]} to`)).click();";
    page.script(press, vec![json!(name)]).await;
}

/// What is said about a field after a text was pasted into it.
#[derive(Deserialize)]
struct Said {
    /// The field is marked as invalid.
    invalid: bool,
    /// The message below it.
    message: String,
    /// The other fields that hold something else than before. A field goes while nothing can come of it.
    changed: Vec<String>,
}

/// Puts texts into a field one after another, each at once, as pasting does. What other fields hold is compared with what
/// they hold after the first one, but for the names of model and GPU, which say whether a number of them is edited.
async fn paste(page: &Page, field: &Element, texts: &[&str]) -> Vec<Said> {
    let script = "const [field, texts, done] = arguments; \
        const message = () => field.getAttribute('aria-describedby').split(' ').map((id) => document.getElementById(id)) \
            .filter((part) => part.matches('.field-error')).map((part) => part.innerText).join(' '); \
        const others = () => [...document.querySelectorAll('[data-figure] :is(input[type=text]:not([role]), select)')] \
            .filter((other) => other !== field); \
        const settled = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => setTimeout(done))))); \
        (async () => { \
            const said = []; \
            let before; \
            for (const text of texts) { \
                field.value = text; \
                field.dispatchEvent(new InputEvent('input', { bubbles: true, inputType: 'insertFromPaste' })); \
                await settled(); \
                before ??= new Map(others().map((other) => [other.id, other.value])); \
                const changed = others().filter(({ id, value }) => before.has(id) && before.get(id) !== value); \
                said.push({ \
                    invalid: field.getAttribute('aria-invalid') === 'true', \
                    message: message(), \
                    changed: changed.map((other) => other.id), \
                }); \
            } \
            return said; \
        })().then(done);";
    let field = serde_json::to_value(field).expect("a reference");
    serde_json::from_value(page.script_async(script, vec![field, json!(texts)]).await).expect("a list")
}

async fn answer_is_there(calculator: &Scope<'_>, query: &str) {
    calculator.shows("calculator-answer", &expected::answer(&expected::scenario(query))).await;
}

#[tokio::test]
async fn every_field_names_itself_and_its_range_and_leaves_the_other_fields_alone() {
    // Every other field differs from its default, so that a reset by accident would show.
    // Some are there only when they can matter: the number of parameters not by the ledger.
    let query = "?v=4&model=13b&gpu=h200&gpus=24&tp=2&s=3072&b=3&headroom=12&recompute=every-k&every=3&target=512\
        &chart_gpus=16&experts=8&active=2&kv_rank=512&loss=chunked&position=learned&positions=4096&adapter=lora\
        &pp=2&vpp=2&pp_first=18&pp_last=22&reshard=2&engine=deepspeed&bucket=100&workspace=32&imbalance=1.5\
        &recompute_layers=2&method=paper&teacher=70&engine_share=40&completion=512&generations=16&score_b=4\
        &len_median=300&len_p95=700&len_max=3000&len_multiple=8&eval_b=4&eval_n=64&eval_steps=2&eval_tokens=64&node_gpus=4\
        &ram=512&opt_rank=64&precond_dim=512&enc_layers=2&enc_positions=64&mels=80&source=512&images=2&image_h=600\
        &image_w=600&max_pixels=500000&tiles=2&vision_layers=2&vision_hidden=64&vision_heads=2&vision_ffn=64&patch=16\
        &image_side=224";
    let figures: BTreeSet<_> = Field::ALL.iter().map(|field| figure_of(*field)).collect();
    for figure in figures {
        // Alone, so that nothing else is drawn again each time.
        let page = opened(&format!("{}{query}&embed={figure}", page_of(figure))).await;
        let fields = Field::ALL.iter().copied().filter(|field| figure_of(*field) == figure);
        each_names_itself_and_its_range(&page, fields).await;
        page.close().await;
    }
    let page = opened(query).await;
    each_names_itself_and_its_range(&page, [Field::Gpus].into_iter()).await;
    page.part("#answer-bar").shows("bar-answer", &expected::answer(&expected::scenario(query))).await;
    page.close().await;
}

/// Texts that some program or other takes for a number, and some that none does.
const RARE: &[&str] = &["   ", "99999999999999999999", "NaN", "Infinity", "7,5", "1.5.2", "<b>8</b>", "٣"];

/// Types what cannot be into each of these fields of a page.
async fn each_names_itself_and_its_range(page: &Page, fields: impl Iterator<Item = Field>) {
    for field in fields {
        let bound = field.bound();
        let element = page.figure(figure_of(field)).find("textbox", &expected::label(field)).await;
        let before = element.prop("value").await.expect("a value").unwrap_or_default();
        // How a text is read is one function of the library for all fields, so that the rarest are tried on few.
        let rare: &[&str] = match field {
            Field::Gpus | Field::Headroom | Field::GlobalBatch => RARE,
            _ => &[],
        };
        let texts = ["", "abc", "-5", "0", "1e99"].into_iter().chain(rare.iter().copied());
        let refused = texts.filter(|text| field.read(text).is_err());
        let texts: Vec<_> = [&*before].into_iter().chain(refused).collect();
        for (text, said) in texts.iter().zip(paste(page, &element, &texts).await).skip(1) {
            assert!(said.invalid, "{}: “{text}” is not marked as invalid", bound.name);
            let range = format!("from {} to {}", number::grouped(bound.min), number::grouped(bound.max));
            for part in [bound.name, &range, "Until then"] {
                let message = &said.message;
                assert!(
                    message.contains(part),
                    "{}: “{text}” is answered by “{message}”, without “{part}”",
                    bound.name
                );
            }
            assert_eq!(said.changed, Vec::<String>::new(), "{}: “{text}” changes other fields", bound.name);
        }
        let mended = paste(page, &element, &[&before]).await;
        assert!(!mended[0].invalid && mended[0].message.is_empty(), "{}: “{before}” was refused", bound.name);
    }
}

#[tokio::test]
async fn a_refused_value_lets_the_default_stand_in_and_says_so_until_it_is_mended() {
    let page = opened("?s=1024").await;
    let calculator = page.figure("calculator");
    calculator.fill("Sequence length S", "-5").await;
    let message = "Sequence length: “-5” is too small; it takes a whole number from 1 to 4,194,304 tokens. Until then 2,048 is used.";
    calculator.says(message).await;
    answer_is_there(&calculator, "").await;
    calculator.enter("Sequence length S", "4096").await;
    answer_is_there(&calculator, "?s=4096").await;
    assert!(!calculator.all_text().await.contains("Until then"));
    assert_eq!(calculator.value("textbox", "Sequence length S").await, "4,096");
    page.close().await;
}

#[tokio::test]
async fn a_preset_takes_a_refused_text_away_with_its_message() {
    let page = opened("").await;
    let calculator = page.figure("calculator");
    calculator.fill("Layers L", "many").await;
    calculator.says("“many” is not a number").await;
    calculator.press("13B").await;
    assert_eq!(calculator.value("textbox", "Layers L").await, "40");
    assert!(!calculator.all_text().await.contains("is not a number"));
    page.close().await;
}

#[tokio::test]
async fn spaces_separators_and_units_are_accepted_as_people_paste_them() {
    let page = opened("?method=paper").await;
    let calculator = page.figure("calculator");
    // The ledger asks for no number of parameters.
    let start = expected::scenario("?method=paper");
    for (field, text, value) in [
        (Field::Sequence, "4,096", 4096.0),
        (Field::Sequence, " 8 192 ", 8192.0),
        (Field::Sequence, "1\u{a0}024", 1024.0),
        (Field::Sequence, "16_384 tokens", 16_384.0),
        (Field::Sequence, "2e3", 2000.0),
        (Field::Sequence, "8k", 8192.0),
        (Field::Memory, "141 GiB", 141.0),
        (Field::Memory, "96GB", 96.0),
        (Field::Parameters, "8B", 8.0),
        (Field::Headroom, "5%", 5.0),
        (Field::Parameters, "8.03 billion", 8.03),
        (Field::Vocabulary, "128'256", 128_256.0),
        (Field::Gpus, "+16", 16.0),
    ] {
        let element = calculator.find("textbox", &expected::label(field)).await;
        let said = paste(&page, &element, &[text]).await;
        assert!(!said[0].invalid, "{}: “{text}” was refused: {}", field.bound().name, said[0].message);
        let scenario = start.then(start.with_number(field, value).expect("in range"));
        page.until_query(&link::encode(&scenario)).await;
        reset(&page, field.bound().name).await;
    }
    page.close().await;
}

#[tokio::test]
async fn a_hundred_kilobytes_in_a_field_are_refused_in_a_short_sentence() {
    let page = opened("").await;
    let field = page.figure("calculator").find("textbox", "Number of GPUs").await;
    for said in paste(&page, &field, &[&"9".repeat(100_000), &"x".repeat(100_000)]).await {
        assert!(said.invalid && said.message.contains("GPUs") && said.message.len() < 300, "{}", said.message);
    }
    page.close().await;
}

#[tokio::test]
async fn the_ends_of_every_range_leave_no_figure_of_the_first_page_blank_and_no_number_broken() {
    // One field at its end at a time, then all of them at once.
    let one = |least: bool| Field::ALL.iter().map(move |field| (vec![*field], least));
    ends_are_sound("", [true, false].into_iter().flat_map(|least| one(least).chain([(Field::ALL.to_vec(), least)])))
        .await;
}

#[tokio::test]
async fn the_ends_of_all_ranges_leave_no_figure_of_the_other_pages_blank_and_no_number_broken() {
    for name in PAGES.into_iter().filter(|name| !name.is_empty() && !figures_of(name).is_empty()) {
        ends_are_sound(name, [true, false].into_iter().map(|least| (Field::ALL.to_vec(), least))).await;
    }
}

/// Goes to each query in turn, and tells of each the answer in the bar and what the figures in sight say; the figure of
/// formats shows what overflows on purpose. What has come into sight with a larger window is painted, and has text, from
/// the second frame on; until then it has the text that it holds. WebKit lets a page write a hundred addresses in ten seconds
/// and no more.
const SAID_AT_EACH: &str = "const [queries, resized, done] = arguments; \
    const next = resized ? requestAnimationFrame : setTimeout; \
    const step = () => new Promise((done) => next(done)); \
    const seen = (part) => { \
        const place = part.getBoundingClientRect(); \
        return place.bottom > 0 && place.top < innerHeight; \
    }; \
    const text = (part) => part.innerText.trim() || part.textContent; \
    const address = async (query) => { \
        try { \
            history.replaceState(null, '', `?${query}`); \
        } catch { \
            await new Promise((done) => setTimeout(done, 200)); \
            return address(query); \
        } \
    }; \
    (async () => { \
        const said = []; \
        for (const query of queries) { \
            await address(query); \
            dispatchEvent(new PopStateEvent('popstate')); \
            await step(); \
            await step(); \
            const parts = [...document.querySelectorAll('[data-figure]:not([data-figure=formats]), #answer-bar')].filter(seen); \
            said.push([ \
                document.querySelector('[data-testid=bar-answer]')?.innerText, \
                parts.map((part) => [part.dataset.figure ?? part.id, text(part)]), \
            ]); \
        } \
        return said; \
    })().then(done);";

/// The name of a figure, and what it says.
type Text = (String, String);

/// Opens a page and brings these fields to the least or the most that they take, by each method.
async fn ends_are_sound(name: &str, ends: impl Iterator<Item = (Vec<Field>, bool)>) {
    let page = opened(name).await;
    for (fields, least) in ends {
        let end = |field: &Field| if least { field.bound().min } else { field.bound().max };
        let scenario = fields.iter().try_fold(Scenario::default(), |all, field| all.with_number(*field, end(field)));
        let scenario = link::encode(&scenario.expect("the ends are in range"));
        // In a window that holds the whole page every figure follows; the last of each round does.
        let resized = fields.len() > 1;
        page.resize(1440, if resized { 60_000 } else { 900 }).await;
        let queries = ["ledger", "workshop", "paper"].map(|method| format!("{scenario}&method={method}"));
        let said = page.script_async(SAID_AT_EACH, vec![json!(queries), json!(resized)]).await;
        let said: Vec<(Option<String>, Vec<Text>)> = serde_json::from_value(said).expect("texts");
        assert_eq!(page.complaints().await, Vec::<String>::new(), "{scenario}");
        for (query, (answer, parts)) in queries.iter().zip(said) {
            let expected = (name != WITHOUT_BAR).then(|| expected::answer(&expected::scenario(query)));
            assert_eq!(answer.as_deref().map(str::trim), expected.as_deref(), "{query}");
            for (name, text) in parts {
                sound(&name, &text, query);
            }
        }
    }
    page.close().await;
}

/// No figure is empty, and none shows what a computer shows when it does not know.
fn sound(name: &str, text: &str, query: &str) {
    assert!(text.trim().len() > 2, "{name} is blank at {query}");
    for broken in ["NaN", "inf ", "Infinity", "undefined", "null"] {
        assert!(!text.contains(broken), "{name} shows “{broken}” at {query}: {text}");
    }
    // A date has such a piece behind its year.
    let negative_zero = text.match_indices("-0").any(|(at, _)| !text[..at].ends_with(|one: char| one.is_ascii_digit()));
    assert!(!negative_zero, "{name} shows “-0” at {query}: {text}");
}
