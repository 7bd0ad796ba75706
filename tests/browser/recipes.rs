//! The memory of the machine, in the form and beside the ledger.

use crate::support::{Page, expected};
use bmax::estimate;

#[tokio::test]
async fn the_memory_of_the_machine_is_said_beside_the_ledger_once_something_is_in_it() {
    let page = Page::about("calculator", "").await;
    assert_eq!(page.figure("calculator").text("host-memory").await.trim(), "");
    page.close().await;
    let query = "?offload=parameters&precision=mixed&ram=512";
    let page = Page::about("calculator", query).await;
    let held = estimate(&expected::scenario(query)).host.peak().bytes;
    let said = page.figure("calculator").text("host-memory").await;
    assert!(said.contains(&expected::memory(held)), "{said}");
    page.close().await;
}
