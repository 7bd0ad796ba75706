//! The derivation with the reader's numbers in every line.

mod quantity;
mod shown;
mod steps;

use leptos::prelude::*;

use crate::components::Formula;
use crate::site::{State, read};
use shown::{Line, Lines, Sum, whose};

/// Each line of the derivation, in symbols and with the current numbers.
#[component]
pub fn Derivation(
    /// The shared state.
    state: State,
) -> impl IntoView {
    // The micro-batch changes no line.
    let scenario = Memo::new(move |_| state.asked(|scenario| scenario.with_batch(1)));
    let lines = Memo::new(move |_| scenario.with(Lines::of));
    let whose = Memo::new(move |_| state.read(whose));
    view! {
        <div>
            <p class="figure-note derivation-whose" data-testid="derivation-whose">{move || whose.get()}</p>
            <ol class="derivation">
                <li class="derivation-line">
                    <p class="derivation-title">"Everything must fit."</p>
                    <Both symbols=FITS lines numbers=|lines| &lines.fits/>
                </li>
                <li class="derivation-line">
                    <p class="derivation-title">"A share "<i>"r"</i>" of the GPU is kept free as headroom."</p>
                    <Both symbols=USABLE lines numbers=|lines| &lines.usable/>
                </li>
                <li class="derivation-line">
                    <p class="derivation-title">
                        "The fixed part, on each GPU: parameters, gradients and optimizer state."
                    </p>
                    <Entries lines sum=|lines| &lines.fixed/>
                </li>
                <li class="derivation-line">
                    <p class="derivation-title">"The activations of one sequence, "<i>"b"</i>" = 1."</p>
                    <Entries lines sum=|lines| &lines.one/>
                </li>
                <Solved lines/>
                <Ledger lines/>
            </ol>
        </div>
    }
}

/// The division, and what it says in words.
#[component]
fn Solved(lines: Memo<Lines>) -> impl IntoView {
    view! {
        <li
            class="derivation-line derivation-solved"
            data-fits=move || lines.with(|lines| lines.has_answer.to_string())
        >
            <p class="derivation-title">"Solve for "<i>"b"</i>" and round down."</p>
            <Both symbols=SOLVED lines numbers=|lines| &lines.solved/>
            <p class="derivation-result" data-testid="derivation-result">{read(lines, |lines| &lines.conclusion)}</p>
        </li>
    }
}

/// The ledger's own division, where the ledger is in use.
#[component]
fn Ledger(lines: Memo<Lines>) -> impl IntoView {
    let of = |lines: &Lines, of: fn(&shown::Ledger) -> &String| lines.ledger.as_ref().map(|ledger| of(ledger).clone());
    view! {
        <li
            class="derivation-line"
            data-testid="derivation-ledger"
            hidden=move || lines.with(|lines| lines.ledger.is_none())
        >
            <p class="derivation-title">{move || lines.with(|lines| of(lines, |ledger| &ledger.title))}</p>
            {both(SOLVED, move || lines.with(|lines| of(lines, |ledger| &ledger.solved)).unwrap_or_default())}
        </li>
    }
}

/// A line in symbols and with numbers.
#[component]
fn Both(symbols: &'static str, lines: Memo<Lines>, numbers: fn(&Lines) -> &String) -> impl IntoView {
    both(symbols, read(lines, numbers))
}

fn both(symbols: &'static str, numbers: impl Fn() -> String + Send + Sync + 'static) -> impl IntoView {
    view! {
        <div class="derivation-both">
            <div class="formula formula-long">
                <math inner_html=symbols></math>
            </div>
            <div class="formula formula-long">
                <math inner_html=numbers></math>
            </div>
        </div>
    }
}

/// The entries that a total is the sum of.
#[component]
fn Entries(lines: Memo<Lines>, sum: fn(&Lines) -> &Sum) -> impl IntoView {
    let entries = move || lines.with(|lines| sum(lines).entries.clone());
    view! {
        <ul class="derivation-entries">{move || entries().into_iter().map(entry).collect_view()}</ul>
        <p class="derivation-total">
            <math inner_html=move || lines.with(|lines| sum(lines).total.clone())></math>
        </p>
    }
}

/// Name and size of an entry, and how the size comes about.
fn entry(Line { bucket, name, symbols, numbers, size }: Line) -> impl IntoView {
    view! {
        <li class="derivation-entry">
            <span class="derivation-name swatched" data-bucket=bucket>{name}</span>
            <div class="derivation-formulas">
                <span>
                    <Formula mathml=symbols/>
                </span>
                <span class="num">{numbers}</span>
            </div>
            <span class="derivation-memory num">{size}</span>
        </li>
    }
}

/// Everything must fit, as MathML.
const FITS: &str = "<msub><mi>M</mi><mi>usable</mi></msub><mo>≥</mo><msub><mi>M</mi><mi>fixed</mi></msub><mo>+</mo><mi>b</mi><mo>·</mo><msub><mi>M</mi><mi>act</mi></msub>";
/// What may be used.
const USABLE: &str = "<msub><mi>M</mi><mi>usable</mi></msub><mo>=</mo><mrow><mo>(</mo><mn>1</mn><mo>−</mo><mi>r</mi><mo>)</mo></mrow><mo>·</mo><msub><mi>M</mi><mi>GPU</mi></msub>";
/// The division.
const SOLVED: &str = "<msub><mi>b</mi><mi>max</mi></msub><mo>=</mo><mrow><mo>⌊</mo><mfrac><mrow><msub><mi>M</mi><mi>usable</mi></msub><mo>−</mo><msub><mi>M</mi><mi>fixed</mi></msub></mrow><msub><mi>M</mi><mi>act</mi></msub></mfrac><mo>⌋</mo></mrow>";
