use bmax::{Bytes, Method, Scenario, line_at_peak};
use leptos::prelude::*;

use crate::site::dom::{El, el, math};
use crate::site::{State, format};

/// The sum of the buckets, in symbols and, below each symbol, in GiB.
pub fn total(state: State) -> El {
    el("div").class("bucket-total").children(vec![symbols(state), numbers(state), words()])
}

fn symbols(state: State) -> El {
    el("p").class("bucket-total-symbols").children(vec![
        el("span").child(math("math").child(subscripted("M", "total"))),
        el("span").text("="),
        el("span").child(fixed_part(state)),
        el("span").text("+"),
        el("span").child(activations_part()),
    ])
}

fn numbers(state: State) -> El {
    let size = move |test_id: &str, tag: &'static str, of: fn(&Scenario) -> Bytes| {
        let text = move || state.asked(|scenario| format::memory(of(scenario)));
        el(tag).attr("data-testid", test_id).bind_text(text)
    };
    el("p").class("bucket-total-numbers num").children(vec![
        el("strong")
            .attr("data-testid", "buckets-total")
            .bind_text(move || state.read(|facts| format::memory(facts.estimate.peak().bytes))),
        el("span").text("="),
        size("buckets-fixed", "span", |scenario| line_at_peak(scenario).fixed),
        el("span").text("+"),
        size("buckets-growing", "span", |scenario| {
            Bytes::new(line_at_peak(scenario).per_sequence.get() * f64::from(scenario.recipe.batch))
        }),
    ])
}

fn words() -> El {
    el("p").class("bucket-total-words soft small").children(vec![
        el("span").text("per GPU"),
        el("span"),
        el("span").text("fixed"),
        el("span"),
        el("span").text("scales with ").child(el("i").text("b")),
    ])
}

/// The first term: the workshop divides sixteen bytes a parameter over all GPUs; what is fixed by the
/// other two has no such short form.
fn fixed_part(state: State) -> El {
    let shared_evenly = Memo::new(move |_| state.read(|facts| facts.scenario.method == Method::Workshop));
    math("math").live(move || {
        if shared_evenly.get() {
            let over = math("mrow").child(math("mn").text("16")).child(math("mi").text("N"));
            vec![math("mfrac").child(over).child(math("mi").text("D"))]
        } else {
            vec![subscripted("M", "fixed")]
        }
    })
}

/// The second term: f(b, S, H, L).
fn activations_part() -> El {
    let part = |(tag, text): &(&'static str, &str)| math(tag).text(text);
    let parts = [
        ("mi", "f"),
        ("mo", "("),
        ("mi", "b"),
        ("mo", ","),
        ("mi", "S"),
        ("mo", ","),
        ("mi", "H"),
        ("mo", ","),
        ("mi", "L"),
        ("mo", ")"),
    ];
    math("math").children(parts.iter().map(part).collect())
}

/// A letter with words below its line.
fn subscripted(letter: &str, words: &str) -> El {
    math("msub").child(math("mi").text(letter)).child(math("mi").text(words))
}
