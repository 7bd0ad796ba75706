//! One lever.

use std::rc::Rc;

use bmax::levers::{Change, Lever};

use super::text::describe;
use crate::site::dom::{El, el};
use crate::site::format;

/// Makes a change.
pub type Apply = Rc<dyn Fn(Change)>;

/// A change that makes room: what it is, what it costs, what it leads to. Its bar is drawn against
/// `most`, the largest micro-batch of all levers; `tokens` is what happens to the tokens of a step,
/// where the sequence changes.
pub fn lever_row(lever: Lever, most: u32, tokens: Option<String>, apply: Apply) -> El {
    let what = what(lever.change, el("p").class("field-help").text(lever.change.cost()));
    let outcome = el("div").class("lever-outcome").child(numbers(lever)).child(bar(lever, most));
    el("li").class("lever").children(vec![
        what.maybe(tokens.map(|tokens| el("p").class("field-help num").text(&tokens))),
        outcome,
        apply_button(lever.change, apply),
    ])
}

/// b_max before and after.
fn numbers(lever: Lever) -> El {
    let before = el("span")
        .class("soft")
        .text(&fits(lever.before))
        .child(el("span").attr("aria-hidden", "true").text(" → "))
        .child(el("span").class("visually-hidden").text(" becomes "));
    el("p").class("lever-numbers num").children(vec![
        before,
        el("strong").text(&fits(lever.after)),
        el("span").class("badge badge-good").text("+").text(&format::count(lever.gain())),
    ])
}

fn bar(lever: Lever, most: u32) -> El {
    let part = |name: &str, batch: Option<u32>| {
        let share = f64::from(batch.unwrap_or(0)) / f64::from(most.max(1));
        el("span").class(name).variable("--share", move || format::css_percent(share))
    };
    let parts = vec![part("lever-after", lever.after), part("lever-before", lever.before)];
    el("div").class("lever-bar").attr("aria-hidden", "true").children(parts)
}

/// A change that gains nothing by itself, and why.
pub fn idle_row(change: Change, why: &str, apply: Apply) -> El {
    let what = what(change, el("p").class("field-help num").text(why));
    el("li").class("lever lever-idle").child(what).child(apply_button(change, apply))
}

fn what(change: Change, help: El) -> El {
    el("div").class("lever-what").child(el("p").class("lever-name").text(&describe(change))).child(help)
}

fn apply_button(change: Change, apply: Apply) -> El {
    el("button")
        .attr("type", "button")
        .class("button button-quiet button-small")
        .attr("data-testid", "lever-apply")
        .attr("aria-label", &format!("Apply: {}", describe(change)))
        .on("click", move |_| apply(change))
        .text("Apply")
}

fn fits(batch: Option<u32>) -> String {
    batch.map_or_else(|| "does not fit".to_owned(), format::count)
}
