//! b_max against sequence length, model size and GPU memory: read off by keyboard and pointer, and as a table.

use crate::support::{Page, Scope, Visit, expected, key, tidy};
use bmax::chart::{Curves, OWN, batch_text, names, number_text, own_place, place_text, swept};
use bmax::{ChartAxis, Choice, Scenario, catalogue, largest_micro_batch, number, sweep};
use fantoccini::actions::{InputSource, MouseActions, PointerAction};
use fantoccini::elements::Element;
use serde_json::json;

const SLIDER: &str = "Sequence length read-out";

/// The reference models and the reader's own, in the order of the legend.
fn scenarios(scenario: &Scenario) -> Vec<(&'static str, Scenario)> {
    let reference = |slug: &str| sweep::reference(scenario, catalogue::model(slug).expect("listed").model);
    vec![
        ("1B", reference("1b")),
        ("7B", reference("7b")),
        ("13B", reference("13b")),
        ("70B", reference("70b")),
        ("yours", *scenario),
    ]
}

fn b_max_at(mut scenario: Scenario, length: u32) -> Option<u32> {
    scenario.recipe.sequence = length;
    largest_micro_batch(&scenario)
}

fn text(batch: Option<u32>) -> String {
    batch.map_or_else(|| "does not fit".to_owned(), |batch| number::grouped(batch.into()))
}

/// What the slider says at one length.
fn sentence(scenario: &Scenario, length: u32) -> String {
    let parts = scenarios(scenario).into_iter().map(|(name, at)| format!("{name} {}", text(b_max_at(at, length))));
    format!("{} tokens: {}", number::grouped(length.into()), parts.collect::<Vec<_>>().join(", "))
}

/// Waits until slider and legend agree with the library at one length.
async fn reads(page: &Page, slider: &Element, scenario: &Scenario, length: u32) {
    let wanted = sentence(scenario, length);
    page.until(&format!("the read-out to say “{wanted}”"), async || {
        let said = slider.attr("aria-valuetext").await.expect("an element").unwrap_or_default();
        if said == wanted { Ok(()) } else { Err(said) }
    })
    .await;
    assert_eq!(slider.attr("aria-valuenow").await.expect("an element"), Some(length.to_string()));
    let legend = page.figure("chart").text("chart-readout").await;
    assert!(legend.contains(&format!("At {} tokens", number::grouped(length.into()))), "{legend}");
    for (name, at) in scenarios(scenario) {
        let row = format!("{name} {}", text(b_max_at(at, length)));
        assert!(legend.contains(&row), "“{row}” is not in the legend: {legend}");
    }
}

#[tokio::test]
async fn curves_are_there_before_the_program_and_give_way_to_the_reader_s_own() {
    let curves = "const still = document.querySelector('.chart-still'); \
        return still.checkVisibility() ? still.querySelectorAll('path').length : 0;";
    let page = Visit::to("").untouched().open().await;
    page.lay_out().await;
    let paths = page.script(curves, vec![]).await;
    assert!(paths.as_u64() >= Some(5), "{paths} paths for five curves");
    page.wait_for_figures().await;
    assert_eq!(page.script(curves, vec![]).await, json!(0));
    page.close().await;
}

#[tokio::test]
async fn arrows_pages_home_and_end_read_off_the_library_s_numbers() {
    let page = Page::open("").await;
    let slider = page.figure("chart").focus("slider", SLIDER).await;
    let (scenario, lengths) = (Scenario::default(), sweep::sequence_lengths(64));
    let at = lengths.iter().position(|length| *length == 2048).expect("a power of two");
    reads(&page, &slider, &scenario, 2048).await;
    for (key, index) in [
        (key::RIGHT, at + 1),
        (key::UP, at + 2),
        (key::LEFT, at + 1),
        (key::DOWN, at),
        (key::PAGE_UP, at + 8),
        (key::PAGE_DOWN, at),
        (key::HOME, 0),
        (key::LEFT, 0),
        (key::END, lengths.len() - 1),
        (key::RIGHT, lengths.len() - 1),
    ] {
        page.press(key).await;
        reads(&page, &slider, &scenario, lengths[index]).await;
    }
    page.press(key::ESCAPE).await;
    reads(&page, &slider, &scenario, 2048).await;
    page.close().await;
}

#[tokio::test]
async fn the_first_view_has_a_curve_for_every_reference_model() {
    // Sixteen bytes for each of 70 billion parameters are 140 GB on each of eight GPUs.
    for (name, scenario) in scenarios(&Scenario::default()) {
        assert_eq!(b_max_at(scenario, 2048).is_some(), name != "70B", "{name} at 2048 tokens");
    }
    let page = Page::open("").await;
    let picture = page.figure("chart").find("img", "Largest micro-batch per GPU against sequence length").await;
    let described = picture.attr("aria-label").await.expect("an element").unwrap_or_default();
    for name in ["1B", "7B", "13B", "yours"] {
        assert!(described.contains(&format!("{name} falls from")), "{described}");
    }
    assert!(described.contains("70B does not fit at any of these lengths"), "{described}");
    page.close().await;
}

#[tokio::test]
async fn enter_makes_the_length_that_is_read_off_the_reader_s_own() {
    let page = Page::open("").await;
    let slider = page.figure("chart").focus("slider", SLIDER).await;
    page.press(key::END).await;
    reads(&page, &slider, &Scenario::default(), 131_072).await;
    page.press(key::ENTER).await;
    page.until_query("v=4&s=131072").await;
    page.part("#answer-bar").shows("bar-answer", &expected::answer(&expected::scenario("?s=131072"))).await;
    page.close().await;
}

#[tokio::test]
async fn gpus_and_recomputation_of_the_reference_curves_can_be_chosen() {
    let page = Page::open("").await;
    let chart = page.figure("chart");
    let slider = chart.find("slider", SLIDER).await;
    chart.enter("GPUs of the reference curves D", "64").await;
    chart.pick("Recomputation of the reference curves", "None").await;
    let query = "v=4&chart_gpus=64&chart_recompute=none";
    page.until_query(query).await;
    reads(&page, &slider, &expected::scenario(query), 2048).await;
    // On one device only the smallest model has a curve, and the others are said not to fit.
    chart.press("1 GPU").await;
    let query = "v=4&chart_gpus=1&chart_recompute=none";
    page.until_query(query).await;
    reads(&page, &slider, &expected::scenario(query), 2048).await;
    chart.find("img", "70B does not fit at any of these lengths").await;
    page.close().await;
}

#[tokio::test]
async fn the_pointer_reads_off_what_the_keyboard_does() {
    let page = Page::open("").await;
    let slider = page.figure("chart").find("slider", SLIDER).await;
    page.reveal(&slider).await;
    let (_, _, width, _) = slider.rectangle().await.expect("a box");
    let lengths = sweep::sequence_lengths(64);
    for (x, length) in [(-(width / 2.0) + 1.0, lengths[0]), (width / 2.0 - 2.0, lengths[lengths.len() - 1])] {
        let to = PointerAction::MoveToElement { element: slider.clone(), duration: None, x, y: 0.0 };
        page.client.perform_actions(MouseActions::new("mouse".into()).then(to)).await.expect("a pointer");
        reads(&page, &slider, &Scenario::default(), length).await;
    }
    page.close().await;
}

/// Rows of the open table: cells as text.
async fn rows(page: &Page, chart: &Scope<'_>) -> Vec<Vec<String>> {
    let table = chart.find("table", "Largest micro-batch, in sequences").await;
    let script = "return [...arguments[0].rows].map((row) => [...row.cells].map((cell) => cell.innerText));";
    let rows = page.script(script, vec![serde_json::to_value(&table).expect("a reference")]).await;
    let rows: Vec<Vec<String>> = serde_json::from_value(rows).expect("texts");
    rows.into_iter().map(|row| row.iter().map(|cell| tidy(cell)).collect()).collect()
}

#[tokio::test]
async fn the_table_holds_the_library_s_number_for_every_curve_and_length() {
    let query = "?model=llama-3.1-8b&gpus=16&method=paper&chart_gpus=32&chart_recompute=selective";
    let page = Page::open(query).await;
    let chart = page.figure("chart");
    chart.press("The curves as a table").await;
    let scenario = expected::scenario(query);
    let rows = rows(&page, &chart).await;
    assert_eq!(rows[0], ["Tokens S", "1B", "7B", "13B", "70B", "yours"]);
    assert_eq!(rows.len(), 1 + 11, "a row for each power of two from 128 to 131,072");
    for (row, length) in rows[1..].iter().zip((7..=17).map(|power| 1_u32 << power)) {
        assert_eq!(row[0], number::grouped(length.into()));
        for ((name, at), shown) in scenarios(&scenario).into_iter().zip(&row[1..]) {
            match b_max_at(at, length) {
                Some(batch) => assert_eq!(*shown, number::grouped(batch.into()), "{name} at {length}"),
                None => assert!(shown.contains("does not fit"), "{name} at {length}: {shown}"),
            }
        }
    }
    page.close().await;
}

#[tokio::test]
async fn the_picture_is_drawn_and_as_sharp_as_the_screen() {
    let page = Page::open("").await;
    // Whether there are many colours, and by how much the canvas is finer than its box.
    let script = "const canvas = document.querySelector('[data-figure=chart] canvas'); \
        canvas.scrollIntoView({ behavior: 'instant' }); \
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true }); \
        copy.drawImage(canvas, 0, 0); \
        const { data } = copy.getImageData(0, 0, canvas.width, canvas.height); \
        const colours = new Set(new Uint32Array(data.buffer)); \
        return [colours.size > 20, Math.round(100 * canvas.width / canvas.clientWidth)];";
    // A window that is taken to another screen, or zoomed, changes its size with its density.
    for (width, density) in [(1440, 1.0), (1000, 2.0), (1200, 1.5)] {
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": density, "mobile": false });
        page.devtools("Emulation.setDeviceMetricsOverride", size).await;
        // It is drawn only while it can be seen.
        page.reveal(&page.figure("chart").find("slider", SLIDER).await).await;
        let expected = json!([true, (density * 100.0) as i32]);
        page.until_script(&format!("a sharp picture at {density} pixels a pixel"), script, expected).await;
    }
    page.close().await;
}

#[tokio::test]
async fn one_press_sets_the_chart_as_in_the_workshop_and_one_goes_back() {
    let page = Page::open("?gpu=h200&b=5").await;
    let chart = page.figure("chart");
    chart.press("Set as in the workshop").await;
    let wanted = "v=4&gpu=a100-80&b=5&method=workshop&chart_gpus=1&chart_recompute=selective";
    let set = expected::scenario(wanted);
    page.until("the link to say so", async || {
        let query = page.query().await;
        if expected::scenario(&query) == set { Ok(()) } else { Err(query) }
    })
    .await;
    let slider = chart.focus("slider", SLIDER).await;
    reads(&page, &slider, &set, 2048).await;
    page.part("#answer-bar").says("Counted as the workshop does").await;
    chart.press("Back to my settings").await;
    page.until_query("v=4&gpu=h200&b=5").await;
    page.close().await;
}

/// What the slider says at a place of any axis, by the library's curves.
fn sentence_of(curves: &Curves, place: u32) -> String {
    let part = |(position, name)| format!("{name} {}", batch_text(curves.batch(position, place)));
    let parts: Vec<_> = names(curves.axis).into_iter().enumerate().map(part).collect();
    format!("{}: {}", place_text(curves.axis, place), parts.join(", "))
}

async fn says(slider: &Element, page: &Page, curves: &Curves, place: u32) {
    let wanted = sentence_of(curves, place);
    page.until(&format!("the read-out to say “{wanted}”"), async || {
        let said = slider.attr("aria-valuetext").await.expect("an element").unwrap_or_default();
        if said == wanted { Ok(()) } else { Err(said) }
    })
    .await;
    assert_eq!(slider.attr("aria-valuenow").await.expect("an element"), Some(place.to_string()));
}

#[tokio::test]
async fn one_control_draws_b_max_against_model_size_and_gpu_memory_and_the_link_says_so() {
    let page = Page::open("?gpus=64&recompute=full").await;
    let chart = page.figure("chart");
    for (axis, slider, title) in [
        (ChartAxis::Size, "Model size read-out", "Parameters N, your model’s shape"),
        (ChartAxis::Memory, "GPU memory read-out", "Memory M of one GPU in GiB"),
        (ChartAxis::Sequence, SLIDER, "Sequence length S in tokens"),
    ] {
        chart.choose("Against", axis.label()).await;
        let mut scenario = expected::scenario("?gpus=64&recompute=full");
        scenario.comparison.against = axis;
        page.until("the link to say so", async || {
            let query = page.query().await;
            if expected::scenario(&query) == scenario { Ok(()) } else { Err(query) }
        })
        .await;
        chart.says(title).await;
        let curves = Curves::along(swept(&scenario), None);
        let own = own_place(axis, &scenario);
        let slider = chart.focus("slider", slider).await;
        says(&slider, &page, &curves, own).await;
        assert!(sentence_of(&curves, own).ends_with(&format!("yours {}", text(largest_micro_batch(&scenario)))));
        page.press(key::HOME).await;
        says(&slider, &page, &curves, curves.places[0]).await;
        page.press(key::RIGHT).await;
        says(&slider, &page, &curves, curves.places[1]).await;
        page.press(key::END).await;
        says(&slider, &page, &curves, curves.places[curves.places.len() - 1]).await;
        page.press(key::ESCAPE).await;
        says(&slider, &page, &curves, own).await;
    }
    page.close().await;
}

#[tokio::test]
async fn a_link_opens_the_chart_with_its_axis_and_the_table_has_the_library_s_numbers() {
    for axis in [ChartAxis::Size, ChartAxis::Memory] {
        let query = format!("?model=llama-3.1-8b&gpus=16&chart_gpus=8&chart_axis={}", axis.key());
        let page = Page::open(&query).await;
        let chart = page.figure("chart");
        chart.press("The curves as a table").await;
        let curves = Curves::along(swept(&expected::scenario(&query)), None);
        let rows = rows(&page, &chart).await;
        assert_eq!(rows[0][1..], names(axis));
        assert_eq!(rows.len(), 1 + curves.stops().len());
        for (row, stop) in rows[1..].iter().zip(curves.stops()) {
            assert_eq!(row[0], number_text(axis, curves.places[stop]));
            for (position, shown) in row[1..].iter().enumerate() {
                match curves.batch(position, curves.places[stop]) {
                    Some(batch) => assert_eq!(*shown, batch_text(Some(batch))),
                    None => assert!(shown.contains("does not fit"), "{shown}"),
                }
            }
        }
        assert!(curves.batch(OWN, own_place(axis, &expected::scenario(&query))).is_some());
        page.close().await;
    }
}

#[tokio::test]
async fn a_model_size_and_a_memory_that_are_read_off_become_the_reader_s_own() {
    for (axis, slider) in [(ChartAxis::Size, "Model size read-out"), (ChartAxis::Memory, "GPU memory read-out")] {
        let query = format!("?gpus=64&chart_axis={}", axis.key());
        let page = Page::open(&query).await;
        let scenario = expected::scenario(&query);
        let curves = Curves::along(swept(&scenario), None);
        page.figure("chart").focus("slider", slider).await;
        page.press(key::HOME).await;
        page.press(key::ENTER).await;
        let taken = curves.at(scenario, curves.places[0]).expect("a place of the curves");
        page.until("the link to have it", async || {
            let query = page.query().await;
            let now = expected::scenario(&query);
            let same = now.device.memory == taken.device.memory && now.model.hidden == taken.model.hidden;
            if same && now.model.parameters == taken.model.parameters { Ok(()) } else { Err(query) }
        })
        .await;
        page.part("#answer-bar").shows("bar-answer", &expected::answer(&taken)).await;
        page.close().await;
    }
}
