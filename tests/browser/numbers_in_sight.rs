//! No number of a figure lies under something else, from a phone to a wide desk.

use crate::support::{FOLDER, PAGES, Page, Visit};
use serde_json::{Value, json};

/// Scrolls to each number of every figure in turn, to the top, the middle and the foot of the window, and returns those
/// whose middle belongs to something that covers it, or never comes into the window: the number and what lies there. A
/// number is the text of one element, or what a field holds. What covers it is neither in that element nor around it; the
/// field of a label and the parts of one drawing do not cover each other, and an empty layer through which all is seen
/// covers nothing.
const COVERED: &str = "const root = document.scrollingElement; \
    const before = root.scrollTop; \
    const clips = (one) => { \
        for (let at = one; at && !at.matches('[data-figure], [data-sentence]'); at = at.parentElement) \
            if (getComputedStyle(at).clipPath !== 'none') return true; \
        return false; \
    }; \
    const digit = /[0-9]/; \
    const numbers = []; \
    for (const figure of document.querySelectorAll('[data-figure], [data-sentence]')) { \
        for (const field of figure.querySelectorAll('input[type=text]')) \
            if (digit.test(field.value)) numbers.push([field, field, field.value]); \
        const texts = document.createTreeWalker(figure, NodeFilter.SHOW_TEXT); \
        while (texts.nextNode()) { \
            const text = texts.currentNode; \
            if (!digit.test(text.data) || text.parentElement.closest('option, title, .visually-hidden')) continue; \
            const range = new Range(); \
            range.selectNodeContents(text); \
            numbers.push([text.parentElement, range, text.data.trim()]); \
        } \
    } \
    const covers = (hit, one) => !hit.contains(one) && !one.contains(hit) \
        && !(one.closest('label') ?? one.closest('svg'))?.contains(hit); \
    const is_clear = (one) => one.childNodes.length === 0 && !one.matches('input, canvas, img, svg *') \
        && getComputedStyle(one).backgroundImage === 'none' && getComputedStyle(one).backgroundColor === 'rgba(0, 0, 0, 0)'; \
    const found = []; \
    for (const [one, box, said] of numbers) { \
        if (!one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) || clips(one)) continue; \
        let looks = 0; \
        for (const block of ['start', 'center', 'end']) { \
            one.scrollIntoView({ block, inline: block, behavior: 'instant' }); \
            const lines = [...box.getClientRects()].filter(({ width, height }) => width > 1 && height > 1); \
            if (lines.length === 0) { looks += 1; break; } \
            const { left, top, width, height } = lines[Math.floor(lines.length / 2)]; \
            const [x, y] = [left + width / 2, top + height / 2]; \
            if (x < 0 || x >= innerWidth || y < 0 || y >= innerHeight) continue; \
            looks += 1; \
            const hit = document.elementsFromPoint(x, y).find((at) => !is_clear(at)); \
            if (hit && !covers(hit, one)) continue; \
            const name = (at) => at ? `${at.nodeName} .${at.getAttribute('class') ?? at.id}` : 'nothing'; \
            found.push(`“${said}” of ${name(one)}, scrolled to the ${block}, at ${Math.round(x)} × ${Math.round(y)}: ${name(hit)}`); \
            break; \
        } \
        if (looks === 0) found.push(`“${said}” never comes into the window`); \
    } \
    root.scrollTop = before; \
    return [numbers.length, found.length, found.slice(0, 8)];";

/// Holds that no number of a page is covered, whatever is folded away, at any of these widths.
async fn nothing_is_covered(page: &Page, name: &str) {
    page.unfold_everything().await;
    for width in [360, 768, 1024, 1440, 1920] {
        page.resize(width, 900).await;
        page.read_through().await;
        let seen: Value = page.script(COVERED, vec![]).await;
        assert_eq!(seen[1], json!(0), "/{name} at {width} px, of {} numbers: {:#}", seen[0], seen[2]);
    }
}

#[tokio::test]
async fn on_the_first_page_no_number_of_a_figure_is_covered() {
    let page = Page::open("").await;
    nothing_is_covered(&page, "").await;
    let numbers = page.script(COVERED, vec![]).await[0].as_u64();
    assert!(numbers > Some(500), "too few to be all of them: {numbers:?}");
    page.close().await;
}

#[tokio::test]
async fn on_no_other_page_a_number_of_a_figure_is_covered() {
    let page = Visit::to_the_empty_page().open().await;
    for name in &PAGES[1..] {
        page.go(&format!("{FOLDER}{name}")).await;
        if page.script("return !document.querySelector('[data-figure]');", vec![]).await == json!(true) {
            continue;
        }
        page.wait_for_figures().await;
        nothing_is_covered(&page, name).await;
    }
    page.close().await;
}
