//! The folders for previews: people are led on to the page, and who has no scripts reads what is there.

use crate::support::{BLANK, FOLDER, Page, Visit, dist, expected};
use bmax::catalogue::{self, MODELS};
use bmax::{Scenario, b_max, link, preview};
use serde_json::json;

fn llama() -> Scenario {
    preview::of_model(catalogue::model("llama-3.1-8b").expect("listed"))
}

#[tokio::test]
async fn a_folder_leads_to_the_page_with_its_configuration_and_back_does_not_return_to_it() {
    let page = Visit::to_the_empty_page().open().await;
    let query = link::encode(&llama());
    for (folder, path, search, hash) in [
        ("model/llama-3.1-8b/", "", format!("?{query}"), ""),
        ("figure/sharding/", "gpus/", String::new(), "#sharding"),
    ] {
        // A page that is left before it has loaded is not one to come back to.
        let loaded = "return performance.getEntriesByType('navigation')[0].loadEventEnd > 0;";
        page.until_script("the empty page to have loaded", loaded, json!(true)).await;
        page.leave(&format!("location.href = '{FOLDER}{folder}';")).await;
        let there = "return [location.pathname, location.search, location.hash];";
        page.until_script("the page", there, json!([format!("{FOLDER}{path}"), search, hash])).await;
        page.wait_for_the_frame().await;
        page.leave("history.back();").await;
        page.until_script("what was there before", "return location.pathname;", json!(BLANK)).await;
    }
    page.close().await;
}

#[tokio::test]
async fn the_page_that_a_folder_opens_has_the_answer_that_the_folder_says() {
    let page = Page::open("model/llama-3.1-8b/").await;
    page.wait_for_the_frame().await;
    page.part("#answer-bar").shows("bar-answer", &expected::answer(&llama())).await;
    page.close().await;
}

#[tokio::test]
async fn without_javascript_a_folder_says_its_answer_shows_its_picture_and_leads_on() {
    let page = Visit::to("").without_scripts().open().await;
    page.go(&format!("{FOLDER}model/llama-3.1-8b/")).await;
    page.part("h1").says("Llama 3.1 8B").await;
    page.part("main").says(&preview::sentence(&llama(), &b_max(&llama()))).await;
    let picture =
        "const picture = document.images[0]; return [picture.complete, picture.naturalWidth, picture.naturalHeight];";
    page.until_script("the picture", picture, json!([true, 1_200, 630])).await;
    page.all().click("link", "Open it in bmax").await;
    page.until_script("the page", "return location.pathname;", json!(FOLDER)).await;
    assert_eq!(page.query().await, link::encode(&llama()));
    page.close().await;
}

#[test]
fn the_site_has_a_picture_for_every_model_and_without_its_address_nothing_that_needs_one() {
    for row in MODELS {
        let picture = format!("{}picture.png", preview::of_slug(row.slug));
        assert!(dist().contains_key(&picture), "{picture}");
    }
    // The site is tested as `make dist` builds it, which knows no address.
    for name in ["sitemap.xml", "robots.txt", "model/llama-3.1-8b/oembed.json"] {
        assert!(!dist().contains_key(name), "{name}");
    }
}

#[tokio::test]
async fn the_policy_refuses_no_structured_data() {
    let page = Page::open("").await;
    let kind =
        "return JSON.parse(document.querySelector('script[type=\"application/ld+json\"]').textContent)['@type'];";
    assert_eq!(page.script(kind, vec![]).await, json!("SoftwareApplication"));
    assert_eq!(page.complaints().await, Vec::<String>::new());
    page.close().await;
}
