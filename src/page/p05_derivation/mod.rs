//! The derivation with the reader's numbers in every line, and the worked example.

mod lines;
mod quantity;
mod steps;
mod worked;

use leptos::prelude::*;

use crate::site::State;
use lines::{EntryLine, FormulaLine};
use quantity::{amount, equation, fixed, gpu, one_sequence, usable};
use steps::Steps;
pub use worked::WorkedExample;

use leptos::math::{mi, mn, mo, mrow};

/// Each line of the derivation, in symbols and with the current numbers.
#[component]
pub fn Derivation(state: State) -> impl IntoView {
    let steps = Memo::new(move |_| Steps::of(&state.scenario.get()));
    view! {
        <ol class="derivation">
            {move || steps.with(everything_fits)}
            {move || steps.with(usable_memory)}
            {move || steps.with(fixed_part)}
            {move || steps.with(activations)}
            {move || steps.with(solved)}
        </ol>
    }
}

fn everything_fits(steps: &Steps) -> AnyView {
    let written = |usable: AnyView, fixed: AnyView, one: AnyView| {
        equation(vec![
            usable,
            mo().child("≥").into_any(),
            fixed,
            mo().child("+").into_any(),
            mi().child("b").into_any(),
            mo().child("·").into_any(),
            one,
        ])
    };
    let symbols = written(usable(), fixed(), one_sequence());
    let numbers = written(amount(steps.usable), amount(steps.fixed), amount(steps.one_sequence));
    view! { <FormulaLine title="Everything must fit.".into_any() symbols numbers /> }.into_any()
}

fn usable_memory(steps: &Steps) -> AnyView {
    let kept = |headroom: AnyView, memory: AnyView, times: &'static str| {
        let factor = mrow().child((mo().child("("), mn().child("1"), mo().child("−"), headroom, mo().child(")")));
        mrow().child((factor, mo().child(times), memory)).into_any()
    };
    let symbols = equation(vec![usable(), mo().child("=").into_any(), kept(mi().child("r").into_any(), gpu(), "·")]);
    let headroom = mn().child(steps.headroom_text()).into_any();
    let numbers =
        equation(vec![kept(headroom, amount(steps.memory), "×"), mo().child("=").into_any(), amount(steps.usable)]);
    let title = view! { "A share "<i>"r"</i>" of the GPU is kept free as headroom." };
    view! { <FormulaLine title=title.into_any() symbols numbers /> }.into_any()
}

fn fixed_part(steps: &Steps) -> AnyView {
    let entries =
        steps.fixed_entries().map(|entry| view! { <EntryLine entry=*entry values=steps.values /> }).collect_view();
    let total = equation(vec![fixed(), mo().child("=").into_any(), amount(steps.fixed)]);
    view! {
        <li class="derivation-line">
            <p class="derivation-title">"The fixed part, on each GPU: parameters, gradients and optimizer state."</p>
            <ul class="derivation-entries">{entries}</ul>
            <p class="derivation-total">{total}</p>
        </li>
    }
    .into_any()
}

fn activations(steps: &Steps) -> AnyView {
    let entries =
        steps.activations().map(|entry| view! { <EntryLine entry=*entry values=steps.values /> }).collect_view();
    let total = equation(vec![one_sequence(), mo().child("=").into_any(), amount(steps.one_sequence)]);
    view! {
        <li class="derivation-line">
            <p class="derivation-title">"The activations of one sequence, "<i>"b"</i>" = 1."</p>
            <ul class="derivation-entries">{entries}</ul>
            <p class="derivation-total">{total}</p>
        </li>
    }
    .into_any()
}

fn solved(steps: &Steps) -> AnyView {
    view! {
        <li class="derivation-line derivation-solved" data-fits=steps.fits().to_string()>
            <p class="derivation-title">"Solve for "<i>"b"</i>" and round down."</p>
            <div class="derivation-both">
                <div class="formula formula-long">{steps::solved_in_symbols()}</div>
                <div class="formula formula-long">{steps.solved_in_numbers()}</div>
            </div>
            <p class="derivation-result" data-testid="derivation-result">{steps.conclusion()}</p>
        </li>
    }
    .into_any()
}
