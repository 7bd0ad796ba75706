//! What other estimators say of a configuration, beside the ledger.

use crate::support::{Page, Visit, expected};
use bmax::others::{self, Largest};
use bmax::{estimate, number};
use serde_json::json;

/// How many rows have no number.
const SILENT: &str = "return document.querySelectorAll('[data-figure=others] tr.is-silent').length;";

#[tokio::test]
async fn every_estimator_says_its_number_or_that_it_cannot() {
    let query = "?model=llama-3.1-8b&gpu=h100-80&gpus=8&zero=3&s=4096&b=2&recompute=full";
    let scenario = expected::scenario(query);
    let page = Page::about("others", query).await;
    let figure = page.figure("others");
    figure.approach().await;
    let gib = |bytes: bmax::Bytes| format!("{} GiB", number::with_commas(&number::fixed(bytes.gib(), 2)));
    figure.shows("memory-bmax", &gib(estimate(&scenario).peak().bytes)).await;
    figure.shows("most-bmax", &expected::answer(&scenario)).await;
    let rows = others::all(&scenario);
    for row in &rows {
        let key = row.other.key;
        let memory = row.memory.as_ref().map_or_else(|_| "cannot say".to_owned(), |memory| gib(memory.total));
        let most = match row.largest {
            Err(_) => "cannot say".to_owned(),
            Ok(Largest::Fits { batch, .. }) => number::grouped(batch.into()),
            Ok(_) => "none fits".to_owned(),
        };
        figure.shows(&format!("memory-{key}"), &memory).await;
        figure.shows(&format!("most-{key}"), &most).await;
    }
    // Stage 3 is nothing that Megatron-LM's report knows, and full recomputation nothing that vram.asmirnov.xyz does.
    figure.says("It has no input for “ZeRO stage”, which is set to “3: + parameters (FSDP)” here.").await;
    figure.says("It has no input for “Activation recomputation”, which is set to “Full” here.").await;
    let silent = rows.iter().filter(|row| row.memory.is_err()).count();
    assert_eq!(page.script(SILENT, vec![]).await, json!(silent));
    page.close().await;
}

#[tokio::test]
async fn what_is_left_out_and_where_a_formula_is_can_be_unfolded() {
    let page = Page::about("others", "?model=llama-3.1-8b&gpu=h100-80&b=2&recompute=full").await;
    let figure = page.figure("others");
    figure.approach().await;
    figure.unfold().await;
    let rows = figure.table("formulas-rows").await;
    assert_eq!(rows.len(), others::ALL.len());
    for (row, other) in rows.iter().zip(others::ALL) {
        assert_eq!(row[0], other.name);
        assert!(row[2].contains(other.origin.date), "{row:?}");
    }
    page.close().await;
}

#[tokio::test]
async fn on_a_phone_a_row_is_a_card_and_nothing_is_cut_off() {
    let page = Visit::about("others", "?v=4&gpus=1&zero=0").wide(360).open().await;
    let figure = page.figure("others");
    figure.approach().await;
    let shape = "const row = document.querySelector('[data-testid=others-deepspeed]'); \
        const scroll = row.closest('.table-scroll'); \
        return [getComputedStyle(row).display, scroll.scrollWidth - scroll.clientWidth];";
    page.until_script("cards", shape, json!(["block", 0])).await;
    page.close().await;
}
