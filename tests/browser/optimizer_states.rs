//! Optimizers side by side: what each remembers, and what using one does.

use crate::support::{Page, expected, key};
use bmax::course::states::states;
use bmax::{Bytes, Choice, Optimizer, Scenario, number};

fn memory(bytes: Bytes) -> String {
    if bytes == Bytes::ZERO { "0 GiB".to_owned() } else { expected::memory(bytes) }
}

fn most(batch: Option<u32>) -> String {
    batch.map_or_else(|| "none fits".to_owned(), |batch| number::grouped(batch.into()))
}

#[tokio::test]
async fn every_optimizer_has_a_bar_and_a_row_with_the_library_s_bytes() {
    for query in ["", "?model=llama-3.1-8b&gpus=2&precision=fp32", "?optimizer=adafactor&offload=optimizer&gpus=1"] {
        let scenario = expected::scenario(query);
        let states = states(&scenario);
        let page = Page::about("optimizer-states", query).await;
        let figure = page.figure("optimizer-states");
        let rows = figure.table("states").await;
        assert_eq!(rows.len(), states.len() + 1);
        for (row, held) in rows.iter().zip(&states) {
            let key = held.optimizer.key();
            let gpu = memory(held.per_gpu);
            assert_eq!(row[0], held.optimizer.label());
            let wanted = [memory(held.whole), gpu.clone(), memory(held.per_gpu + held.master), most(held.batch)];
            assert_eq!(row[2..], wanted);
            assert_eq!(figure.text(&format!("gpu-{key}")).await, gpu);
            assert_eq!(figure.text(&format!("batch-{key}")).await, most(held.batch));
            // The lengths of the bar have the proportions of the numbers, with Adam's as the whole.
            let script = "const bar = document.querySelector(`[data-figure=optimizer-states] [data-testid=bar-${arguments[0]}]`); \
                return [...bar.children].map((part) => \
                    part.getBoundingClientRect().width / bar.getBoundingClientRect().width);";
            let widths = page.script(script, vec![key.into()]).await;
            let widths: Vec<f64> = serde_json::from_value(widths).expect("widths");
            let full = states[0].per_gpu + states[0].master;
            for (width, bytes) in widths.iter().zip([held.per_gpu, held.master]) {
                assert!((width - bytes.share_of(full)).abs() < 0.01, "{key}: {widths:?}");
            }
        }
        // Adafactor with momentum is half of Adam.
        assert_eq!(rows[rows.len() - 1][0], "Adafactor with momentum");
        page.close().await;
    }
}

#[tokio::test]
async fn pressing_one_puts_it_in_use_everywhere_and_says_what_that_does() {
    let page = Page::about("optimizer-states", "").await;
    let figure = page.figure("optimizer-states");
    let own = "return document.querySelector('[data-figure=optimizer-states] .is-own')?.dataset.testid ?? '';";
    figure.approach().await;
    page.until_script("Adam to be marked", own, "row-adamw".into()).await;
    figure.press("Use Lion").await;
    page.until_query("v=4&optimizer=lion").await;
    page.until_script("Lion to be marked", own, "row-lion".into()).await;
    let [before, after] = ["", "?optimizer=lion"].map(|query| expected::answer(&expected::scenario(query)));
    figure.shows("done", &format!("Lion: largest b {before} → {after}")).await;
    page.part("#answer-bar").shows("bar-answer", &after).await;
    // The same by keyboard.
    figure.focus("button", "Use 8-bit Adam").await;
    page.press(key::ENTER).await;
    page.until_query("v=4&optimizer=adam8bit").await;
    let held = states(&Scenario::default())[Optimizer::Adam8bit as usize];
    figure.shows("own", &memory(held.per_gpu)).await;
    page.close().await;
}

#[tokio::test]
async fn a_method_that_knows_only_adam_is_named() {
    let page = Page::about("optimizer-states", "?method=workshop").await;
    page.figure("optimizer-states").says("here the ledger counts").await;
    page.close().await;
}
