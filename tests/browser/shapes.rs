//! One layer's tensors: W keeps its shape and X grows with the batch.

use crate::support::{Page, key};

#[tokio::test]
async fn the_worked_layer_stores_16_64_and_128_mib_while_its_weights_stay_at_256() {
    let page = Page::about("shapes", "").await;
    let shapes = page.figure("shapes");
    shapes.choose("Layer", "4,096 × 4,096 layer").await;
    shapes.focus("slider", "Micro-batch b").await;
    page.press(key::HOME).await;
    let mut batch = 1;
    for (wanted, size) in [(1, "16 MiB"), (4, "64 MiB"), (8, "128 MiB")] {
        while batch < wanted {
            page.press(key::RIGHT).await;
            batch += 1;
        }
        shapes.shows("shapes-input", size).await;
        shapes.shows("shapes-fixed", "256 MiB").await;
        shapes.says(&format!("[{batch}, 2,048, 4,096]")).await;
    }
    page.close().await;
}

#[tokio::test]
async fn the_reader_s_own_width_is_the_first_that_is_shown() {
    let page = Page::about("shapes", "?model=70b&gpus=64&b=1").await;
    let shapes = page.figure("shapes");
    shapes.says("[8,192, 8,192]").await;
    shapes.shows("shapes-input", "32 MiB").await;
    page.close().await;
}
