//! Worked problems: answers that unfold, and links that open their configuration.

use std::collections::BTreeSet;

use bmax::{course::problems, link};
use serde_json::json;

use crate::support::{FOLDER, PAGES, Page, Visit, html};

#[test]
fn every_problem_stands_on_one_page_with_its_answer_and_no_place_of_a_number_is_left() {
    let answers: usize = PAGES.iter().map(|page| html(page).matches("<details class=\"answer\">").count()).sum();
    assert_eq!(answers, problems::all().len());
    for problem in problems::all() {
        let id = format!(" id=\"problem-{}\"", problem.id);
        assert_eq!(PAGES.iter().filter(|page| html(page).contains(&id)).count(), 1, "{}", problem.id);
    }
}

#[tokio::test]
async fn without_javascript_an_answer_unfolds_and_shows_its_steps() {
    let page = Visit::to("room/").without_scripts().open().await;
    let seen = "return [...document.querySelectorAll('details.answer')] \
        .map((one) => [one.lastElementChild.checkVisibility(), one.firstElementChild.click(), \
            one.lastElementChild.checkVisibility()]);";
    let each = json!([false, null, true]);
    assert_eq!(page.script(seen, vec![]).await, json!([each, each, each, each]));
    page.close().await;
}

#[tokio::test]
async fn the_link_of_a_problem_opens_its_configuration_whatever_is_set_before() {
    let page = Page::open("room/?v=4&model=70b&gpus=512").await;
    let links =
        "return [...document.querySelectorAll('a[data-opens]')].map((one) => new URL(one.href).search.slice(1));";
    let queries: BTreeSet<String> =
        serde_json::from_value::<Vec<String>>(page.script(links, vec![]).await).expect("queries").into_iter().collect();
    let known: BTreeSet<String> = problems::all().iter().map(|problem| link::encode(&problem.scenario)).collect();
    assert!(queries.len() == 4 && queries.is_subset(&known), "{queries:?}");
    let swap = problems::find("swap-or-recompute").expect("it is listed");
    let press = "const link = document.querySelector('#problem-swap-or-recompute ~ details a[data-opens]'); \
        link.closest('details').open = true; link.click();";
    page.script(press, vec![]).await;
    page.until_query(&link::encode(&swap.scenario)).await;
    page.wait_for_the_frame().await;
    let there = "return [location.pathname, location.hash];";
    assert_eq!(page.script(there, vec![]).await, json!([format!("{FOLDER}room/"), "#swapping"]));
    page.close().await;
}
