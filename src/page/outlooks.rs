//! The answer three times: as the unknowns turn out badly, as expected, or well. And beside it, what
//! the other two methods say.

use bmax::{Answer, Choice, Method, Range};

use crate::site::dom::{El, el};
use crate::site::{State, format};

/// Safe, likely and optimistic, side by side; only the ledger knows unknowns. `likely` is how the
/// figure shows the answer itself.
pub fn outlooks(state: State, likely: El) -> El {
    let column = |name: &str, value: El| el("div").child(el("dt").text(name)).child(el("dd").child(value));
    let bound = |name: &'static str, test: &str, of: fn(&Range) -> &Answer| {
        let text = move || state.read(|facts| format::answer(of(&facts.range)));
        column(name, el("span").class("readout readout-s num").attr("data-testid", test).bind_text(text))
            .toggle("hidden", move || state.read(|facts| !facts.is_ledger()))
    };
    el("dl")
        .class("outlooks")
        .child(bound("Safe", "answer-safe", |range| &range.safe))
        .child(column("Likely", likely))
        .child(bound("Optimistic", "answer-optimistic", |range| &range.optimistic))
}

/// Both other methods' answers, and one sentence on why they differ.
pub fn beside(state: State) -> El {
    let other = |position: usize| {
        let text = move || state.read(|facts| format::answer(&facts.others[position].1));
        let name = move || state.read(|facts| format!("{}: ", facts.others[position].0.label()));
        let value = el("strong").class("num").attr("data-testid", &format!("other-answer-{position}")).bind_text(text);
        el("span").bind_text(name).child(value).text(". ")
    };
    el("p")
        .class("beside soft small")
        .child(other(0))
        .child(other(1))
        .bind_text(move || state.read(|facts| why_they_differ(facts.scenario.method)).to_owned())
}

/// What the chosen method counts otherwise than the other two.
const fn why_they_differ(method: Method) -> &'static str {
    match method {
        Method::Ledger => {
            "The workshop multiplies its 34, which is in bytes already, by the element size once more; the paper counts a plain GPT block, with no loss head, no overhead and no knowledge of your kernels."
        }
        Method::Workshop => {
            "This method multiplies its 34, which is in bytes already, by the element size once more; the paper does not, and the ledger counts what your kernels keep, the loss head and the overhead."
        }
        Method::Paper => {
            "This method counts a plain GPT block; the workshop doubles its 34, which is in bytes already, and the ledger counts what your kernels keep, the loss head and the overhead."
        }
    }
}
