//! The page of the workshop: it begins with the workshop's example in the workshop's count, its address says whose count it
//! shows, and its ways to other pages do not.

use bmax::link::{self, Beginning, Pinned};
use bmax::{Method, Scenario, b_max, estimate};
use serde_json::json;

use crate::share::{field, share};
use crate::support::{FOLDER, Page, Visit, expected};

/// A configuration that is not the page's own, as a link names it.
const OTHER: &str = "v=4&model=13b&gpus=64";

/// The workshop's example by a method, at the largest micro-batch of that.
fn example(method: Method) -> Scenario {
    let example = Beginning::Workshop.scenario();
    example.then(Scenario { method, ..example })
}

/// The other configuration by a method.
fn other(method: Method) -> Scenario {
    expected::scenario(&format!("method={}&{OTHER}", bmax::Choice::key(method)))
}

/// The bar, the switch and the slider show this scenario.
async fn shows(page: &Page, scenario: &Scenario) {
    page.part("#answer-bar").shows("bar-answer", &expected::answer(scenario)).await;
    let estimate = estimate(scenario);
    let [used, usable] = [estimate.peak().bytes, estimate.usable()].map(expected_gib);
    page.figure("grow").shows("grow-total", &format!("{used} / {usable} GiB")).await;
    let chosen = "return document.querySelector('.count[data-chosen=true]').dataset.testid;";
    page.until_script("the count", chosen, json!(format!("count-{}", bmax::Choice::key(scenario.method)))).await;
}

fn expected_gib(bytes: bmax::Bytes) -> String {
    format!("{:.1}", bytes.gib())
}

/// What every way to another page takes along.
async fn ways(page: &Page) -> Vec<String> {
    let ways = "return [...new Set([...document.querySelectorAll('a[data-way]')].map(({ search }) => search))];";
    serde_json::from_value(page.script(ways, vec![]).await).expect("queries")
}

#[tokio::test]
async fn without_a_configuration_it_shows_the_workshop_s_example_from_the_build_on() {
    assert_eq!(b_max(&example(Method::Workshop)).batch(), Some(3));
    let page = Visit::to("workshop/").without_scripts().open().await;
    let grow = "return document.querySelector('[data-testid=grow-total]').textContent;";
    assert_eq!(page.script(grow, vec![]).await, json!("64.0 / 72.0 GiB"));
    page.close().await;
    let page = Page::open("workshop/").await;
    shows(&page, &example(Method::Workshop)).await;
    assert_eq!(page.query().await, "");
    assert_eq!(ways(&page).await, [""]);
    page.close().await;
}

#[tokio::test]
async fn an_address_without_a_method_is_counted_as_the_workshop_counts_and_one_with_a_method_by_that() {
    let page = Visit::to_the_empty_page().open().await;
    for (query, method) in
        [("", Method::Workshop), ("&method=paper", Method::Paper), ("&method=ledger", Method::Ledger)]
    {
        let query = format!("{OTHER}{query}");
        page.go(&format!("{FOLDER}workshop/?{query}")).await;
        page.wait_for_figures().await;
        shows(&page, &other(method)).await;
        assert_eq!(page.query().await, query, "an address is not rewritten");
        assert_eq!(ways(&page).await, [format!("?{OTHER}")]);
    }
    page.close().await;
}

#[tokio::test]
async fn what_is_changed_is_written_with_its_method_and_nothing_is_left_at_the_example() {
    let page = Page::open("workshop/").await;
    let count = page.figure("count-switch");
    for (word, method) in [("Tensor by tensor", Method::Ledger), ("Paper", Method::Paper)] {
        count.choose("Counted by", word).await;
        let query = Beginning::Workshop.link(&example(method), &Pinned::NONE);
        assert!(query.contains("&method="), "{query}");
        page.until_query(&query).await;
        shows(&page, &example(method)).await;
        // Whose count it is stays a matter of this page.
        assert_eq!(ways(&page).await, [""]);
    }
    count.choose("Counted by", "Workshop").await;
    page.until_query("").await;
    page.figure("workshop-calculator").enter("Number of GPUs", "16").await;
    let mut changed = example(Method::Workshop);
    changed.cluster.gpus = 16;
    let changed = example(Method::Workshop).then(changed);
    page.until_query(&Beginning::Workshop.link(&changed, &Pinned::NONE)).await;
    shows(&page, &changed).await;
    let onward = link::encode(&changed.then(Scenario { method: Method::Ledger, ..changed }));
    assert_eq!(ways(&page).await, [format!("?{onward}")]);
    page.close().await;
}

#[tokio::test]
async fn the_reader_s_configuration_comes_along_and_goes_back_counted_tensor_by_tensor() {
    let page = Page::open(&format!("?{OTHER}")).await;
    page.script("document.querySelector('nav.pages a[href*=\"workshop/\"]').click();", vec![]).await;
    page.until_script("the workshop", "return location.pathname;", json!(format!("{FOLDER}workshop/"))).await;
    page.wait_for_figures().await;
    shows(&page, &other(Method::Workshop)).await;
    page.script("document.querySelector('nav.pages a').click();", vec![]).await;
    page.until_script("the first page", "return location.pathname;", json!(FOLDER)).await;
    page.wait_for_figures().await;
    page.part("#answer-bar").shows("bar-answer", &expected::answer(&expected::scenario(OTHER))).await;
    page.close().await;
}

#[tokio::test]
async fn a_figure_alone_is_counted_as_its_link_says_wherever_it_stands() {
    let page = Visit::to_the_empty_page().open().await;
    for (query, scenario) in [
        (String::new(), Scenario::default()),
        (format!("&{OTHER}"), expected::scenario(OTHER)),
        (format!("&{OTHER}&method=paper"), other(Method::Paper)),
    ] {
        page.go(&format!("{FOLDER}?embed=grow{query}")).await;
        page.wait_for_figures().await;
        let estimate = estimate(&scenario);
        let [used, usable] = [estimate.peak().bytes, estimate.usable()].map(expected_gib);
        page.figure("grow").shows("grow-total", &format!("{used} / {usable} GiB")).await;
    }
    page.close().await;
}

#[tokio::test]
async fn what_is_shared_names_all_that_it_needs() {
    let page = Page::open("workshop/").await;
    share(&page, "Share: Move the batch").await;
    let link = field(&page, "desk-short").await;
    let (_, query) = link.split_once('?').expect("a query");
    let read = link::decode(query.split('#').next().unwrap_or_default());
    assert_eq!((read.scenario, read.notices), (example(Method::Workshop), vec![]));
    assert!(link.contains("/workshop/?") && link.contains("&method=workshop"), "{link}");
    page.close().await;
    let page = Page::open(&format!("workshop/?{OTHER}&method=ledger")).await;
    share(&page, "Share: Move the batch").await;
    assert!(field(&page, "desk-short").await.contains(&format!("/workshop/?{OTHER}&method=ledger#")));
    page.close().await;
}

/// 2 and 0 of the workshop's presets on 64 GPUs, as the table of the three methods has them.
#[tokio::test]
async fn its_calculator_answers_for_a_preset() {
    let page = Page::open("workshop/?v=4&gpus=64").await;
    let calculator = page.figure("workshop-calculator");
    calculator.press("13B").await;
    calculator.shows("workshop-most", "2 sequences").await;
    calculator.press("70B").await;
    calculator.shows("workshop-most", "does not fit").await;
    page.until_query("v=4&model=70b&gpus=64&method=workshop").await;
    page.close().await;
}
