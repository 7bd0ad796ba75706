//! The two-minute tour: by keyboard, by link, beside the figure that it leads over, and in somebody else's page.

use crate::support::host::{Host, sandboxed};
use crate::support::{FOLDER, Page, Visit, expected, key};
use bmax::tour::{CARDS, Seen};
use bmax::{Scenario, b_max, link};
use serde_json::{Value, json};

/// The link that opens the tour.
const LINK: &str = "a[href=\"#tour-1\"]";

/// What is marked in the figure: whether each thing is in sight, below the bar and not behind the card.
const MARKED: &str = "const card = document.querySelector('.tour').getBoundingClientRect(); \
    const bar = document.getElementById('answer-bar').getBoundingClientRect().bottom; \
    return [...document.querySelectorAll('#answer-bar *, .opening, .opening *')] \
        .filter((one) => getComputedStyle(one).outlineStyle === 'solid' && one !== document.activeElement) \
        .map((one) => [one, one.getBoundingClientRect()]).filter(([, at]) => at.width * at.height > 0) \
        .map(([one, at]) => { \
            const beside = at.right <= card.left || at.left >= card.right; \
            return [one.dataset.bucket ?? (one.id || one.className), \
                !!one.closest('#answer-bar') || (at.top >= bar - 1 && at.bottom <= (beside ? innerHeight : card.top) + 1)]; \
        });";

/// Opens the tour as a reader does, by keyboard.
async fn begun(page: &Page) {
    page.script("document.querySelector(arguments[0]).focus();", vec![json!(LINK)]).await;
    page.press(key::ENTER).await;
    page.part(".tour").says("1 of 12").await;
}

/// A card says what the library says of this configuration.
async fn says_card(page: &Page, at: usize, own: Scenario) {
    let card = &CARDS[at];
    let tour = page.part(".tour");
    // It may have to come first.
    tour.says(&format!("{} of 12", at + 1)).await;
    tour.shows("tour-title", card.title).await;
    tour.shows("tour-text", &card.told(&Seen::of(own))).await;
    let mark = "return document.documentElement.dataset.tour;";
    page.until_script("what the card is about", mark, json!(card.part.key())).await;
}

async fn is_over(page: &Page) {
    let left = "return [document.querySelectorAll('.tour').length, document.documentElement.dataset.tour ?? null, \
        location.hash];";
    page.until_script("the end of the tour", left, json!([0, null, ""])).await;
}

#[tokio::test]
async fn the_keyboard_leads_through_all_cards_and_escape_back_to_where_the_reader_was() {
    let page = Page::open("").await;
    let own = Scenario::default();
    let history = "return history.length;";
    let before = page.script(history, vec![]).await.as_u64().expect("a number");
    begun(&page).await;
    let focused = "return document.activeElement.className;";
    page.until_script("the focus on the card", focused, json!("tour")).await;
    for (at, card) in CARDS.iter().enumerate() {
        says_card(&page, at, own).await;
        let shown = (card.change)(&Seen::of(own));
        page.figure("answer").shows("opening-answer", &expected::answer(&shown)).await;
        page.press(key::RIGHT).await;
    }
    // The last card stays, and the one before comes back.
    says_card(&page, 11, own).await;
    page.press(key::LEFT).await;
    says_card(&page, 10, own).await;
    assert_eq!(page.script("return [location.search, location.hash];", vec![]).await, json!(["", "#tour-11"]));
    assert_eq!(page.script(history, vec![]).await, json!(before + 1), "the tour is one entry");
    page.press(key::ESCAPE).await;
    is_over(&page).await;
    let focused = "return document.activeElement.getAttribute('href');";
    page.until_script("the focus on the link", focused, json!("#tour-1")).await;
    page.figure("answer").says("16 sequences, likely fits").await;
    page.figure("answer").shows("opening-answer", &expected::answer(&own)).await;
    page.close().await;
}

#[tokio::test]
async fn buttons_do_the_same_as_keys_and_the_last_one_ends_the_tour() {
    let page = Page::open("").await;
    begun(&page).await;
    let tour = page.part(".tour");
    tour.press("Back").await;
    tour.shows("tour-progress", "1 of 12").await;
    for number in 2..=12 {
        tour.press("Next").await;
        tour.shows("tour-progress", &format!("{number} of 12")).await;
    }
    for id in ["plan", "inside-a-step", "teach"] {
        let ways = "return document.querySelectorAll(`.tour a[href='#${arguments[0]}']`).length;";
        assert_eq!(page.script(ways, vec![json!(id)]).await, 1, "{id}");
    }
    tour.press("Done").await;
    is_over(&page).await;
    page.close().await;
}

#[tokio::test]
async fn a_link_opens_a_card_with_the_configuration_that_it_names() {
    let query = "v=4&model=llama-3.1-8b&gpu=h100-80&recompute=selective";
    let own = expected::scenario(query);
    let page = Visit::to(&format!("?{query}#tour-9")).open().await;
    says_card(&page, 8, own).await;
    let most = b_max(&own).batch().expect("it fits");
    page.part("#answer-bar").says(&format!("b = {} ", most + 1)).await;
    // The address goes on telling the reader's own configuration.
    assert_eq!(page.query().await, query);
    page.part(".tour").press("End the tour").await;
    is_over(&page).await;
    page.part("#answer-bar").says(&format!("b = {} ", own.recipe.batch)).await;
    assert_eq!(link::decode(&page.query().await).scenario, own);
    // A card is found from any page.
    page.go(&format!("{FOLDER}teach/#tour-5")).await;
    says_card(&page, 4, Scenario::default()).await;
    page.close().await;
}

#[tokio::test]
async fn back_of_the_browser_ends_the_tour_and_forward_opens_it_where_it_was() {
    let page = Page::open("").await;
    begun(&page).await;
    page.press(key::RIGHT).await;
    page.part(".tour").shows("tour-progress", "2 of 12").await;
    page.leave("history.back();").await;
    is_over(&page).await;
    page.part("#answer-bar").says(&format!("b = {} ", Scenario::default().recipe.batch)).await;
    page.script("history.forward();", vec![]).await;
    says_card(&page, 1, Scenario::default()).await;
    page.close().await;
}

#[tokio::test]
async fn the_reader_s_own_configuration_comes_back_unless_the_shown_one_is_kept() {
    let page = Page::open("").await;
    page.part("#answer-bar").pick("Model", "13B").await;
    page.until_query("v=4&model=13b").await;
    let own = expected::scenario("v=4&model=13b");
    begun(&page).await;
    let tour = page.part(".tour");
    for _ in 0..9 {
        tour.press("Next").await;
    }
    says_card(&page, 9, own).await;
    page.press(key::ESCAPE).await;
    is_over(&page).await;
    page.until_query("v=4&model=13b").await;
    page.figure("answer").shows("opening-answer", &expected::answer(&own)).await;
    page.script("location.hash = 'tour-10';", vec![]).await;
    says_card(&page, 9, own).await;
    tour.press("Keep this").await;
    is_over(&page).await;
    let kept = (CARDS[9].change)(&Seen::of(own));
    page.until_query(&link::encode(&kept)).await;
    page.figure("answer").shows("opening-answer", &expected::answer(&kept)).await;
    page.close().await;
}

#[tokio::test]
async fn what_a_card_is_about_is_marked_and_in_sight_on_wide_and_narrow_windows() {
    for (width, height) in [(1440, 900), (768, 1024), (360, 640)] {
        let page = Visit::to("").preferring("prefers-reduced-motion", "reduce").open().await;
        page.resize(width, height).await;
        begun(&page).await;
        for (at, card) in CARDS.iter().enumerate() {
            says_card(&page, at, Scenario::default()).await;
            let seen = page
                .until(&format!("{} at {width} px", card.id), async || {
                    let seen: Vec<(String, bool)> =
                        serde_json::from_value(page.script(MARKED, vec![]).await).expect("names");
                    // What does not fit into a low window all at once is seen from its beginning.
                    let first = seen.first().is_some_and(|(_, in_sight)| *in_sight);
                    if first || (height < 700 && card.id == "ways") { Ok(seen) } else { Err(seen) }
                })
                .await;
            let has = |name: &str| seen.iter().any(|(marked, _)| marked.contains(name));
            let wanted = match card.id {
                "question" => "headline",
                "parameters" => "parameters",
                "gradients" => "gradients",
                "optimizer" => "optimizer",
                "forward" => "activations",
                "loss" => "logits",
                "peak" => "opening-reason",
                "left" => "free",
                "next" => "slider-value",
                "recompute" => "headline",
                "shard" => "line-gpus",
                _ => "field",
            };
            assert!(has(wanted), "{}: {seen:?}", card.id);
            page.press(key::RIGHT).await;
        }
        let wide = page.script("return document.documentElement.scrollWidth - innerWidth;", vec![]).await;
        assert!(wide.as_i64().is_some_and(|more| more <= 0), "{wide} px too wide at {width} px");
        page.close().await;
    }
}

#[tokio::test]
async fn the_page_beneath_stays_where_it_is_when_a_card_opens() {
    for width in [360, 1440] {
        let page = Visit::to("").wide(width).open().await;
        let places = "return [...document.querySelectorAll('main > section, main figure, .opening > *')] \
            .map((one) => Math.round(one.getBoundingClientRect().top + scrollY));";
        let before = page.script(places, vec![]).await;
        begun(&page).await;
        assert_eq!(page.script(places, vec![]).await, before, "{width} px");
        page.close().await;
    }
}

#[tokio::test]
async fn a_card_in_somebody_else_s_page_stands_above_the_figure_and_leaves_the_focus_alone() {
    let inside = "return [document.querySelector('.tour-progress')?.textContent ?? null, \
        document.querySelector('[data-testid=tour-text]')?.textContent ?? null, \
        [...document.querySelectorAll('[data-figure]')].map((one) => one.dataset.figure).join()];";
    let query = "v=4&gpus=64";
    let own = expected::scenario(query);
    let host = Host::with("").await;
    for (address, at) in [
        (format!("embed=tour&{query}"), 0),
        (format!("embed=tour&{query}#tour-5"), 4),
        (format!("embed=answer&controls=off&{query}#tour-9"), 8),
    ] {
        host.show(&sandboxed(&address)).await;
        let shown = |at: usize| json!([format!("{} of 12", at + 1), CARDS[at].told(&Seen::of(own)), "answer"]);
        let says = async |at: usize| {
            host.page
                .until(&address, async || {
                    let seen = host.inside(0, inside).await;
                    if seen == shown(at) { Ok(()) } else { Err(seen) }
                })
                .await;
        };
        says(at).await;
        let focus = host.page.script("return document.activeElement === document.body;", vec![]).await;
        assert_eq!(focus, json!(true), "{address}");
        host.inside(0, "[...document.querySelectorAll('.tour button')].at(-1).click();").await;
        says(at + 1).await;
        host.settled(0).await;
        let above = "const [card, figure] = ['.tour', '.opening'].map((one) => document.querySelector(one).getBoundingClientRect()); \
            return [card.bottom <= figure.top, getComputedStyle(document.querySelector('.tour')).position, \
                document.documentElement.scrollWidth <= innerWidth];";
        assert_eq!(host.inside(0, above).await, json!([true, "static", true]), "{address}");
        let told: Vec<Value> = host.heard(0, "answer").await;
        assert!(!told.is_empty(), "{address}");
    }
    host.close().await;
}

#[tokio::test]
async fn without_scripts_the_link_leads_to_the_cards_in_words() {
    let page = Visit::to("").without_scripts().open().await;
    page.script("document.querySelector('#opening a[href*=\"#tour\"]').click();", vec![]).await;
    let words = page.part("#tour-in-words");
    for card in &CARDS {
        words.says(card.title).await;
        words.says(&card.told(&Seen::of(Scenario::default()))).await;
    }
    page.close().await;
}
