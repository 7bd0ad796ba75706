//! Memory over two steps: read off by keyboard, pointer and table, and one step with and without recomputation.

use crate::support::{Page, expected, key};
use bmax::course::step::{Paced, Timeline, timeline};
use bmax::{Bucket, Bytes, Recomputation, Scenario, estimate, number};

fn memory(bytes: Bytes) -> String {
    if bytes == Bytes::ZERO { "0 GiB".to_owned() } else { expected::memory(bytes) }
}

/// Where the slider stands.
async fn place(page: &Page) -> f64 {
    let slider = page.figure("step").marked("at").await;
    number::parse(&slider.prop("value").await.expect("a property").unwrap_or_default()).expect("a number")
}

/// Waits until every bucket and their sum show what the library says is alive at a place of the slider.
async fn reads(page: &Page, curve: &Timeline, at: f64) {
    let step = page.figure("step");
    let (_, held) = curve.at(at);
    step.shows("total", &memory(held.total())).await;
    for &bucket in Bucket::ALL {
        step.shows(bucket.key(), &memory(held.of(bucket))).await;
    }
}

#[tokio::test]
async fn arrows_home_and_end_read_off_the_library_s_numbers() {
    let page = Page::about("step", "").await;
    let curve = timeline(&Scenario::default());
    let slider = page.figure("step").focus("slider", "Moment").await;
    for (pressed, at) in [(key::HOME, 0.0), (key::RIGHT, 1.0), (key::END, 400.0), (key::LEFT, 399.0)] {
        page.press(pressed).await;
        assert_eq!(place(&page).await, at);
        reads(&page, &curve, at).await;
    }
    let said = slider.attr("aria-valuetext").await.expect("an element").unwrap_or_default();
    assert!(said.starts_with("Step 2, after the update") && said.ends_with("GiB"), "{said}");
    page.close().await;
}

#[tokio::test]
async fn the_pointer_moves_the_moment() {
    let page = Page::about("step", "").await;
    let curve = timeline(&Scenario::default());
    page.figure("step").drag("memory", 0.3, 0.9).await;
    let at = page.until("the slider to follow", async || {
        let at = place(&page).await;
        if at > 340.0 { Ok(at) } else { Err(at) }
    });
    reads(&page, &curve, at.await).await;
    page.figure("step").drag("memory", 0.9, 0.2).await;
    let at = page.until("the slider to follow back", async || {
        let at = place(&page).await;
        if at < 90.0 { Ok(at) } else { Err(at) }
    });
    reads(&page, &curve, at.await).await;
    page.close().await;
}

#[tokio::test]
async fn buttons_go_from_moment_to_moment_and_to_the_peak() {
    let page = Page::about("step", "").await;
    let curve = timeline(&Scenario::default());
    let step = page.figure("step");
    step.press("Go to the peak").await;
    let peak = curve.highest(2);
    reads(&page, &curve, peak.at).await;
    let named: Vec<f64> = curve.moments.iter().filter(|m| m.instant.is_some()).map(|m| m.at).collect();
    let index = named.iter().position(|at| *at == peak.at).expect("the peak is named");
    step.press("Moment after").await;
    reads(&page, &curve, named[index + 1]).await;
    step.says("“backward, last layer”").await;
    step.press("Moment before").await;
    step.press("Moment before").await;
    reads(&page, &curve, named[index - 1]).await;
    page.close().await;
}

#[tokio::test]
async fn the_second_step_reaches_the_peak_of_the_answer_and_the_first_does_not() {
    for query in ["", "?recompute=full", "?model=llama-3.1-8b&gpus=16&recompute=none"] {
        let page = Page::about("step", query).await;
        let step = page.figure("step");
        let scenario = expected::scenario(query);
        let curve = timeline(&scenario);
        let peak = estimate(&scenario).peak();
        step.shows("peak", &memory(peak.bytes)).await;
        step.shows("peak-name", &format!("“{}”", peak.instant.name)).await;
        step.shows("first", &memory(curve.highest(1).held.total())).await;
        step.says("of optimizer state do not exist").await;
        page.close().await;
    }
}

#[tokio::test]
async fn without_recomputation_and_with_accumulation_the_curve_is_another() {
    let page = Page::about("step", "").await;
    let step = page.figure("step");
    let mut scenario = Scenario::default();
    step.choose("Recomputation", "Full").await;
    scenario.recipe.recomputation = Recomputation::Full;
    step.shows("peak", &memory(estimate(&scenario).peak().bytes)).await;
    step.choose("Micro-batches per step", "4").await;
    scenario.recipe.micro_batches = 4;
    step.shows("peak", &memory(estimate(&scenario).peak().bytes)).await;
    step.choose("Recomputation", "None").await;
    scenario.recipe.recomputation = Recomputation::None;
    step.shows("peak", &memory(estimate(&scenario).peak().bytes)).await;
    // The choices are the figure's own.
    assert_eq!(page.query().await, "");
    page.close().await;
}

#[tokio::test]
async fn the_table_holds_every_named_moment() {
    let page = Page::about("step", "?accum=2").await;
    let curve = timeline(&expected::scenario("?accum=2"));
    let step = page.figure("step");
    step.click("button", "The moments as a table").await;
    let named: Vec<_> = curve.moments.iter().filter(|moment| moment.instant.is_some()).collect();
    let rows = step.table("moments").await;
    assert_eq!((rows.len(), named.len()), (22, 22));
    for (row, moment) in rows.iter().zip(named) {
        let name = curve.instants[moment.instant.expect("named")].name;
        assert_eq!(row[0], format!("Step {}, micro-batch {}, “{name}”", moment.step, moment.micro_batch));
        assert_eq!(row[9], number::with_commas(&number::fixed(moment.held.total().gib(), 2)));
        let activations = moment.held.of(Bucket::Activations).gib();
        assert_eq!(row[4], number::with_commas(&number::fixed(activations, 2)), "{}", row[0]);
    }
    page.close().await;
}

#[tokio::test]
async fn a_method_without_moments_says_so() {
    let page = Page::about("step", "?method=workshop").await;
    let step = page.figure("step");
    let scenario = expected::scenario("?method=workshop");
    step.shows("peak", &memory(estimate(&scenario).peak().bytes)).await;
    step.says("adds up buckets and has no moments").await;
    page.close().await;
}

/// The same configuration with another recomputation.
fn with(policy: Recomputation) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.recipe.recomputation = policy;
    scenario
}

/// Waits until the overlay says both peaks and the gap between them.
async fn compares(page: &Page, own: Recomputation, other: Recomputation) {
    let step = page.figure("step");
    let [own, other] = [own, other].map(|policy| estimate(&with(policy)).peak().bytes);
    let gap = if own > other { own - other } else { other - own };
    for said in [memory(own), memory(other), format!("saves {}", memory(gap))] {
        page.until(&format!("the overlay to say “{said}”"), async || {
            let words = step.text("overlay-words").await;
            if words.contains(&said) { Ok(()) } else { Err(words) }
        })
        .await;
    }
}

#[tokio::test]
async fn one_drawing_has_a_step_with_and_without_recomputation_and_says_the_gap() {
    let page = Page::about("step", "").await;
    let step = page.figure("step");
    compares(&page, Recomputation::Full, Recomputation::None).await;
    // The curve above decides which step is compared, until the reader does.
    step.choose("Recomputation", "None").await;
    compares(&page, Recomputation::None, Recomputation::Full).await;
    step.choose("Compare it with recomputation", "None").await;
    step.says("Both curves are the same.").await;
    step.choose("Recomputation", "Full").await;
    compares(&page, Recomputation::Full, Recomputation::None).await;
    let script = "return document.querySelectorAll('[data-figure=step] [data-testid=overlay] .plot-line').length > 2;";
    page.until_script("both curves and the limit in one drawing", script, serde_json::json!(true)).await;
    page.close().await;
}

#[tokio::test]
async fn the_overlay_is_read_off_by_keyboard_and_as_a_table() {
    let page = Page::about("step", "?recompute=full").await;
    let step = page.figure("step");
    let [full, none] = [Recomputation::Full, Recomputation::None].map(|policy| Paced::of(&with(policy)));
    step.focus("slider", "Work done").await;
    page.press(key::HOME).await;
    step.says("After 0.00 forward passes of work.").await;
    page.press(key::END).await;
    step.says("None: the step is over").await;
    let rows = step.table("overlay-moments").await;
    assert_eq!((rows.len(), full.named.len(), none.named.len()), (6, 6, 6));
    for ((row, full), none) in rows.iter().zip(&full.named).zip(&none.named) {
        assert_eq!(row[0], format!("“{}”", full.instant.name));
        let cells = [full.at, full.held.gib(), none.at, none.held.gib()];
        assert_eq!(row[1..], cells.map(|value| number::with_commas(&number::fixed(value, 2))));
    }
    page.close().await;
}
