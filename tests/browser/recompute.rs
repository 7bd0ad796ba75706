//! Recomputation: the policies beside what the sources say, and the distance of checkpoints.

use crate::support::{Page, expected, key};
use bmax::course::recomputing::{best, curve, discard_all, layers_worth, policies};
use bmax::{Choice, Scenario, number};

/// Waits until the figure reads off one K.
async fn reads(page: &Page, scenario: &Scenario, every: u32) {
    let figure = page.figure("recompute");
    let curve = curve(scenario);
    figure.shows("chosen", &number::grouped(every.into())).await;
    figure.shows("worth", &number::fixed(layers_worth(scenario.model.layers, every), 1)).await;
    figure.shows("kept", &expected::memory(curve[every as usize - 1])).await;
    figure.shows("best", &best(&curve).to_string()).await;
}

#[tokio::test]
async fn every_policy_stands_beside_the_sources_with_the_library_s_numbers() {
    for query in ["", "?attn=eager&model=1b&gpus=1", "?model=70b&gpus=64&method=paper"] {
        let page = Page::about("recompute", query).await;
        let figure = page.figure("recompute");
        let scenario = expected::scenario(query);
        let policies = policies(&scenario);
        let none = policies[0].activations;
        for policy in &policies {
            let key = policy.recomputation.key();
            figure.shows(&format!("kept-{key}"), &expected::memory(policy.activations)).await;
            figure.shows(&format!("extra-{key}"), &format!("{} %", number::fixed(policy.extra * 100.0, 1))).await;
            let batch = policy.batch.map_or_else(|| "none fits".to_owned(), |batch| number::grouped(batch.into()));
            figure.shows(&format!("batch-{key}"), &batch).await;
            let saved = 100.0 * (1.0 - policy.activations.get() / none.get());
            figure.shows(&format!("saved-{key}"), &format!("{} %", number::fixed(saved, 0))).await;
        }
        let discard = discard_all(scenario.model.layers) * 100.0;
        figure.shows("discard", &format!("{} %", number::fixed(discard, 0))).await;
        page.close().await;
    }
}

#[tokio::test]
async fn arrows_home_and_end_read_off_every_k() {
    let page = Page::about("recompute", "").await;
    let scenario = Scenario::default();
    page.figure("recompute").focus("slider", "Layers per checkpoint K").await;
    reads(&page, &scenario, 4).await;
    for (pressed, every) in [(key::RIGHT, 5), (key::HOME, 1), (key::END, 32), (key::LEFT, 31)] {
        page.press(pressed).await;
        reads(&page, &scenario, every).await;
    }
    page.close().await;
}

#[tokio::test]
async fn the_pointer_moves_k_on_both_drawings() {
    let page = Page::about("recompute", "").await;
    let figure = page.figure("recompute");
    for drawing in ["lecture", "exact"] {
        figure.drag(drawing, 0.1, 0.95).await;
        let far = page.until("K to follow", async || {
            let every = number::parse(&figure.text("chosen").await).unwrap_or(0.0);
            if every > 24.0 { Ok(every) } else { Err(every) }
        });
        let far = far.await;
        reads(&page, &Scenario::default(), far as u32).await;
        figure.drag(drawing, 0.95, 0.2).await;
        page.until("K to follow back", async || {
            let every = number::parse(&figure.text("chosen").await).unwrap_or(99.0);
            if every < 12.0 { Ok(()) } else { Err(every) }
        })
        .await;
    }
    page.close().await;
}

#[tokio::test]
async fn one_press_applies_a_policy_and_the_best_k() {
    let page = Page::about("recompute", "").await;
    let figure = page.figure("recompute");
    figure.press("Use no recomputation").await;
    page.until_query("v=4&recompute=none").await;
    figure.press("Use full recomputation").await;
    page.until_query("v=4").await;
    figure.press("Use the best K").await;
    let best = best(&curve(&Scenario::default()));
    page.until_query(&format!("v=4&every={best}&recompute=every-k")).await;
    reads(&page, &Scenario::default(), best).await;
    figure.press("Use no recomputation").await;
    page.until_query(&format!("v=4&every={best}&recompute=none")).await;
    page.close().await;
}

#[tokio::test]
async fn the_table_holds_every_k() {
    let page = Page::about("recompute", "?model=llama-3.1-8b").await;
    let scenario = expected::scenario("?model=llama-3.1-8b");
    let figure = page.figure("recompute");
    figure.click("button", "Every K as a table").await;
    let rows = figure.table("every").await;
    let curve = curve(&scenario);
    assert_eq!(rows.len(), scenario.model.layers as usize);
    for (index, (row, bytes)) in rows.iter().zip(curve).enumerate() {
        let every = index as u32 + 1;
        assert_eq!(row[0], every.to_string());
        assert_eq!(row[1], number::fixed(layers_worth(scenario.model.layers, every), 1));
        assert_eq!(row[2], number::fixed(bytes.gib(), 2));
    }
    page.close().await;
}

#[tokio::test]
async fn a_method_without_moments_knows_no_k() {
    let page = Page::about("recompute", "?method=paper").await;
    page.figure("recompute").says("counts it like full recomputation").await;
    page.close().await;
}
