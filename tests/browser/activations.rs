//! Activations against the sequence length: eager against flash, and what is linear and what is not.

use crate::support::{Page, expected, key};
use bmax::course::length::{crossover, crossover_of, parts_at};
use bmax::{AttentionKernel, Recomputation, Scenario, number};

fn with(mut scenario: Scenario, recomputation: Recomputation, attention: AttentionKernel) -> Scenario {
    scenario.recipe.recomputation = recomputation;
    scenario.recipe.attention = attention;
    scenario
}

fn memory(bytes: bmax::Bytes) -> String {
    if bytes.get() == 0.0 { "0 GiB".to_owned() } else { expected::memory(bytes) }
}

/// Waits until the figure reads off one length.
async fn reads(page: &Page, scenario: &Scenario, recomputation: Recomputation, length: u32) {
    let figure = page.figure("activations");
    let eager = parts_at(&with(*scenario, recomputation, AttentionKernel::Eager), length);
    let flash = parts_at(&with(*scenario, recomputation, AttentionKernel::Flash), length);
    figure.shows("tokens", &number::grouped(length.into())).await;
    figure.shows("eager", &memory(eager.total())).await;
    figure.shows("linear", &memory(eager.linear)).await;
    figure.shows("quadratic", &memory(eager.quadratic)).await;
    figure.shows("flash", &memory(flash.total())).await;
}

#[tokio::test]
async fn arrows_home_and_end_read_off_the_library_s_numbers() {
    let page = Page::about("activations", "").await;
    let scenario = Scenario::default();
    page.figure("activations").focus("slider", "Sequence length S").await;
    reads(&page, &scenario, Recomputation::None, 8_192).await;
    for (pressed, length) in
        [(key::RIGHT, 9_742), (key::LEFT, 8_192), (key::HOME, 128), (key::LEFT, 128), (key::END, 131_072)]
    {
        page.press(pressed).await;
        reads(&page, &scenario, Recomputation::None, length).await;
    }
    page.close().await;
}

#[tokio::test]
async fn the_pointer_reads_off_what_the_keyboard_does() {
    let page = Page::about("activations", "").await;
    let figure = page.figure("activations");
    // From the left end past the right one: the drawing's area ends before its edge.
    figure.drag("lengths", 0.2, 0.995).await;
    reads(&page, &Scenario::default(), Recomputation::None, 131_072).await;
    figure.drag("lengths", 0.5, 0.01).await;
    reads(&page, &Scenario::default(), Recomputation::None, 128).await;
    page.close().await;
}

#[tokio::test]
async fn recomputation_and_the_shared_model_change_what_is_kept() {
    let page = Page::about("activations", "?model=llama-3.1-8b").await;
    let scenario = expected::scenario("?model=llama-3.1-8b");
    let figure = page.figure("activations");
    for (option, recomputation) in
        [("Full", Recomputation::Full), ("Selective", Recomputation::Selective), ("None", Recomputation::None)]
    {
        figure.choose("Recomputation", option).await;
        reads(&page, &scenario, recomputation, 8_192).await;
    }
    page.travel("v=4&model=llama-3.1-8b&b=1").await;
    reads(&page, &scenario.with_batch(1), Recomputation::None, 8_192).await;
    page.close().await;
}

#[tokio::test]
async fn the_crossover_is_the_paper_s_by_its_own_method() {
    let page = Page::about("activations", "?v=3&method=paper").await;
    let figure = page.figure("activations");
    let paper = crossover(&expected::scenario("?v=3&method=paper").model);
    assert_eq!(number::fixed(paper, 0), "870");
    figure.shows("paper", "870").await;
    figure.shows("cross", "870").await;
    figure.says("does not know flash attention").await;
    page.close().await;
    // The ledger's eager code keeps more for each score.
    let page = Page::about("activations", "").await;
    let stored = with(Scenario::default(), Recomputation::None, AttentionKernel::Eager);
    let cross = crossover_of(&stored).expect("scores are stored");
    page.figure("activations").shows("cross", &number::grouped(cross.round())).await;
    page.close().await;
}

#[tokio::test]
async fn the_table_holds_every_doubling() {
    let page = Page::about("activations", "").await;
    let figure = page.figure("activations");
    figure.click("button", "The same as a table").await;
    let rows = figure.table("lengths").await;
    assert_eq!(rows.len(), 11);
    for (row, power) in rows.iter().zip(7..=17) {
        let length = 1_u32 << power;
        assert_eq!(row[0], number::grouped(length.into()));
        let eager = parts_at(&with(Scenario::default(), Recomputation::None, AttentionKernel::Eager), length);
        let flash = parts_at(&with(Scenario::default(), Recomputation::None, AttentionKernel::Flash), length);
        let values = [eager.linear, eager.quadratic, eager.total(), flash.total()];
        for (cell, bytes) in row[1..].iter().zip(values) {
            assert_eq!(*cell, number::with_commas(&number::fixed(bytes.gib(), 2)), "at {length}");
        }
    }
    page.close().await;
}
