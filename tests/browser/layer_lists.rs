//! Layer lists: a network of the reader's own, what it keeps and how large a batch fits.

use crate::support::{Page, key};
use bmax::course::networks::{Network, Setup, presets, room};
use bmax::{Bytes, Scenario, catalogue, number};
use serde_json::json;

const LIST: &str = "Layers, one line each";

fn fit(text: &str, scenario: &Scenario, every: usize) -> String {
    let fit = Network::read(text).fit(&Setup::of(scenario), every, room(scenario));
    fit.batch.map_or_else(|| "none fits".to_owned(), number::grouped)
}

#[tokio::test]
async fn the_published_networks_have_their_published_parameters_and_the_library_s_batch() {
    let page = Page::about("network", "").await;
    let figure = page.figure("network");
    for (name, text, parameters) in [
        ("ResNet-50", presets::RESNET_50, "25,557,032"),
        ("784–4096–4096–10", presets::DENSE, "20,037,642"),
        ("VGG-16", presets::VGG_16, "138,357,544"),
    ] {
        figure.press(name).await;
        figure.shows("parameters", parameters).await;
        figure.shows("fit", &fit(text, &Scenario::default(), usize::MAX)).await;
        assert_eq!(figure.value("textbox", LIST).await, text);
        assert_eq!(figure.text("trouble").await, "");
    }
    page.close().await;
}

#[tokio::test]
async fn the_table_holds_shape_parameters_and_bytes_of_every_layer() {
    let page = Page::about("network", "").await;
    let figure = page.figure("network");
    figure.press("ResNet-50").await;
    figure.shows("parameters", "25,557,032").await;
    let network = Network::read(presets::RESNET_50);
    let setup = Setup::of(&Scenario::default());
    let rows = figure.table("layers").await;
    assert_eq!(rows.len(), network.layers.len());
    for ((row, layer), kept) in rows.iter().zip(&network.layers).zip(network.kept(&setup)) {
        let cells = [number::grouped(layer.line as f64), number::grouped(layer.parameters())];
        assert_eq!([&row[1], &row[3]], [&cells[0], &cells[1]], "{row:?}");
        let channels = number::grouped(layer.output.channels);
        assert!(row[2] == channels || row[2].starts_with(&(channels + " × ")), "{row:?}");
        let kept = Bytes::new(kept * 32.0 + layer.once);
        let places = if kept.gib() < 10.0 { 2 } else { 1 };
        let (gib, mib) = (number::fixed(kept.gib(), places), number::fixed(kept.mib(), 1));
        assert!(row[5] == format!("{gib} GiB") || row[5] == format!("{mib} MiB") || kept == Bytes::ZERO, "{row:?}");
    }
    page.close().await;
}

#[tokio::test]
async fn a_list_of_one_s_own_is_counted_and_a_bad_line_named_while_the_rest_stays() {
    let page = Page::about("network", "").await;
    let figure = page.figure("network");
    figure.fill(LIST, "input 3 32 32\nconv 16 3x3 pad 1 norm relu\nflatten\ndense 10").await;
    figure.shows("parameters", &number::grouped(3.0 * 16.0 * 9.0 + 16.0 + 32.0 + 16.0 * 1024.0 * 10.0 + 10.0)).await;
    figure.fill(LIST, "input 3 32 32\nconv 16 40x40\nflatten\ndense 10").await;
    figure.shows("trouble", "Line 2, kernel “40”: write a whole number from 1 to 32.").await;
    figure.says("This line is left out; the others count.").await;
    figure.shows("parameters", &number::grouped(3.0 * 1024.0 * 10.0 + 10.0)).await;
    page.close().await;
}

#[tokio::test]
async fn recomputation_and_precision_change_what_fits() {
    let page = Page::about("network", "").await;
    let figure = page.figure("network");
    figure.press("ResNet-50").await;
    for (choice, every) in [("segments of √L", 4), ("nothing", usize::MAX)] {
        figure.choose("Compute again", choice).await;
        figure.shows("fit", &fit(presets::RESNET_50, &Scenario::default(), every)).await;
    }
    figure.choose("Compute again", "segments of K").await;
    figure.focus("slider", "Pieces per segment K").await;
    page.press(key::HOME).await;
    figure.shows("every", "1").await;
    figure.shows("fit", &fit(presets::RESNET_50, &Scenario::default(), 1)).await;
    page.press(key::RIGHT).await;
    figure.shows("fit", &fit(presets::RESNET_50, &Scenario::default(), 2)).await;
    figure.pick("Training precision", "fp32").await;
    let query = "v=4&precision=fp32";
    page.until_query(&("network=resnet-50.every-2&".to_owned() + query)).await;
    figure.shows("fit", &fit(presets::RESNET_50, &crate::support::expected::scenario(query), 2)).await;
    page.close().await;
}

#[tokio::test]
async fn a_layer_is_read_off_by_keys_and_by_pointer() {
    let page = Page::about("network", "").await;
    let figure = page.figure("network");
    figure.focus("slider", "Layer").await;
    page.press(key::HOME).await;
    figure.says("Layer 1 convolution, line 2: makes 64 × 224 × 224 for each example").await;
    page.press(key::END).await;
    figure.says("Layer 40 dense, line 15: makes 1,000 for each example").await;
    figure.drag("kept", 0.5, 0.101).await;
    figure.says("Layer 3 convolution").await;
    figure.says("36,928 parameters").await;
    // Bars are drawn, one band of each kind.
    let script = "return document.querySelectorAll('[data-figure=network] .plot-band').length;";
    page.until_script("two drawings", script, json!(2)).await;
    page.close().await;
}

#[tokio::test]
async fn a_batch_that_is_no_count_is_named() {
    let page = Page::about("network", "").await;
    let figure = page.figure("network");
    let field = figure.find("textbox", "Examples at once B").await;
    for (typed, invalid, shown) in
        [("64", "false", "64"), ("0", "true", "32"), ("many", "true", "32"), ("8", "false", "8")]
    {
        figure.fill("Examples at once B", typed).await;
        figure.shows("examples", shown).await;
        assert_eq!(field.attr("aria-invalid").await.expect("an element").as_deref(), Some(invalid), "{typed}");
    }
    page.close().await;
}

#[tokio::test]
async fn a_link_names_a_network_and_follows_what_is_set_of_it() {
    let query = "?network=sdxl.512.every-1.ema&v=4&gpu=rtx-4090&precision=bf16-pure&optimizer=adam8bit";
    let page = Page::about("network", query).await;
    let figure = page.figure("network");
    figure.shows("parameters", "2,567,463,684").await;
    figure.shows("every", "1").await;
    figure.says("At 256, 512 and 1,024 pixels along the height").await;
    figure.press("SD 1.5 U-Net").await;
    figure.shows("parameters", "859,520,964").await;
    page.until_query("network=sd-1.5.every-1.ema&v=4&gpu=rtx-4090&precision=bf16-pure&optimizer=adam8bit").await;
    figure.choose("Frozen encoders and VAE", "in memory").await;
    page.until_query("network=sd-1.5.every-1.frozen.ema&v=4&gpu=rtx-4090&precision=bf16-pure&optimizer=adam8bit").await;
    // A list of one's own has no word.
    figure.fill(LIST, "input 784\ndense 10").await;
    page.until_query("v=4&gpu=rtx-4090&precision=bf16-pure&optimizer=adam8bit").await;
    page.close().await;
}

#[tokio::test]
async fn the_page_has_one_answer_and_a_choice_of_the_gpu() {
    let page = Page::about("network", "?network=resnet-50&gpu=t4").await;
    // The bar of the other pages answers for a transformer.
    assert_eq!(page.script("return document.getElementById('answer-bar');", vec![]).await, json!(null));
    let figure = page.figure("network");
    for slug in ["t4", "rtx-3090"] {
        let row = catalogue::device(slug).expect("listed");
        figure.pick("GPU", row.name).await;
        let scenario = row.apply(Scenario::default());
        figure.shows("fit", &fit(presets::RESNET_50, &scenario, usize::MAX)).await;
    }
    page.close().await;
}

#[tokio::test]
async fn a_network_that_is_not_known_is_named_with_what_it_is_like() {
    let page = Page::about("network", "?network=resnet50").await;
    page.part("#notices").says("Network: “resnet50” is not known (nearest: resnet-50)").await;
    page.figure("network").shows("parameters", "138,357,544").await;
    page.close().await;
}
