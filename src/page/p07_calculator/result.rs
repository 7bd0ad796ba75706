//! The answer, the bar, what binds, what would help, and the ledger behind it.

use bmax::levers::{self, Lever};
use bmax::{Answer, Balance, Choice, Estimate, Scenario};
use leptos::html;
use leptos::prelude::*;

use super::super::answer_bar::verdict;
use super::super::p08_levers::describe;
use crate::site::views::{Legend, MemoryBar};
use crate::site::{State, copy_link, format};

/// Everything that follows from the form.
#[component]
pub fn ResultPanel(state: State) -> impl IntoView {
    let panel = NodeRef::<html::Section>::new();
    view! {
        <section class="result panel" aria-label="Result" tabindex="-1" node_ref=panel>
            <BothAnswers state />
            <Conflicts state panel />
            <Memory state />
            <Explanation state />
            <copy_link::CopyLink state />
        </section>
    }
}

/// The chosen method's answer, and the other's beside it.
#[component]
fn BothAnswers(state: State) -> impl IntoView {
    let method = move || state.scenario.with(|scenario| scenario.method.label());
    let other = move || state.other_answer.get();
    // Words in place of a number would not fit beside the other answer at the size of a number.
    let fits = move || state.answer.with(|answer| answer.batch().is_some());
    view! {
        <div class="both-answers">
            <h3>"Largest micro-batch: sequences per GPU"</h3>
            <dl>
                <div>
                    <dt>{method}" method"</dt>
                    <dd>
                        <output class="readout" class:readout-s=move || !fits() data-testid="calculator-answer">
                            {move || format::answer(&state.answer.get())}
                        </output>
                    </dd>
                </div>
                <div>
                    <dt>{move || other().0.label()}" method"</dt>
                    <dd class="readout readout-s" data-testid="other-answer">{move || format::answer(&other().1)}</dd>
                </div>
            </dl>
            <p class="field-help">"The workshop counts 16-bit activations twice, except under full recomputation."</p>
        </div>
    }
}

/// Contradictory settings, each with the press that mends it.
#[component]
fn Conflicts(state: State, panel: NodeRef<html::Section>) -> impl IntoView {
    let rows = move || {
        let mend = |conflict: bmax::Conflict| {
            let press = move |_| {
                state.change(|scenario| scenario.with_number(conflict.field, conflict.nearest).unwrap_or(scenario));
                // The pressed button goes with its conflict; the keyboard goes on from the result.
                if let Some(panel) = panel.get_untracked() {
                    _ = panel.focus();
                }
            };
            view! {
                <li>
                    {conflict.message}
                    <button type="button" class="button button-quiet button-small" on:click=press>
                        {format!("Set {} to {}", conflict.field.bound().name, format::input(conflict.nearest))}
                    </button>
                </li>
            }
        };
        state.scenario.get().conflicts().into_iter().map(mend).collect_view()
    };
    let none = move || state.scenario.with(|scenario| scenario.conflicts().is_empty());
    view! { <ul class="conflicts" hidden=none>{rows}</ul> }
}

/// The memory of one GPU at the chosen micro-batch, and the press that chooses the largest.
#[component]
fn Memory(state: State) -> impl IntoView {
    let largest = move || state.answer.get().batch();
    let idle = move || largest().is_none_or(|batch| state.scenario.with(|scenario| scenario.recipe.batch == batch));
    let text = move || match largest() {
        Some(batch) => format!("Show b = {}", format::count(batch)),
        None => "Show b_max".to_owned(),
    };
    let take = move |_| {
        if let Some(batch) = largest() {
            state.change(|scenario| scenario.with_batch(batch));
        }
    };
    view! {
        <div class="result-memory">
            <div class="result-memory-head">
                <p class="small">{move || bar_title(&state.scenario.get())}</p>
                <button type="button" class="button button-quiet button-small num" data-testid="use-b-max" aria-disabled=move || idle().to_string() on:click=take>{text}</button>
            </div>
            <MemoryBar estimate=state.estimate />
            <p class="result-balance num" data-testid="calculator-balance">
                {move || state.estimate.with(|estimate| balance(estimate.balance()))}
            </p>
            <Legend estimate=state.estimate />
        </div>
    }
}

/// The verdict, and by how much.
fn balance(balance: Balance) -> impl IntoView + use<> {
    let (word, kind) = verdict(balance);
    let text = match balance {
        Balance::Free(free) => format!("{} left below the headroom", format::memory(free)),
        Balance::Close(over) => format!("{} into the headroom", format::memory(over)),
        Balance::Over(over) => format!("{} more than the GPU has", format::memory(over)),
    };
    view! { <span class=format!("badge badge-{kind}")>{word}</span>" "{text} }
}

fn bar_title(scenario: &Scenario) -> String {
    let batch = format::counted(scenario.recipe.batch, "sequence", "sequences");
    format!("Memory of one GPU at {batch} of {} tokens", format::count(scenario.recipe.sequence))
}

/// What binds, and the single changes that would help most.
#[component]
fn Explanation(state: State) -> impl IntoView {
    let helps = Memo::new(move |_| {
        let scenario = state.scenario.get();
        levers::ranked(&scenario, &[]).into_iter().filter(|lever| lever.gain() > 0).take(3).collect::<Vec<Lever>>()
    });
    let item = |lever: Lever| {
        let after = lever.after.map_or_else(|| "does not fit".to_owned(), format::count);
        view! { <li><span>{describe(lever.change)}</span>" "<strong class="num">{after}</strong></li> }
    };
    view! {
        <div class="explanation">
            <h3>"What binds"</h3>
            <p data-testid="what-binds">{move || what_binds(&state.answer.get(), &state.estimate.get())}</p>
            <h3>"What would help most: sequences per GPU"</h3>
            <ul data-testid="what-helps">{move || helps.get().into_iter().map(item).collect_view()}</ul>
            <p hidden=move || helps.with(|helps| !helps.is_empty())>
                "No single change makes room. Combine several, or take a larger GPU: see "<a href="#levers">"the levers"</a>"."
            </p>
        </div>
    }
}

/// The reason behind the answer, in whole sentences.
fn what_binds(answer: &Answer, estimate: &Estimate) -> String {
    match answer {
        Answer::Fits(room) if room.capped => "Nothing within the range of this page.".to_owned(),
        Answer::Fits(room) => format!(
            "Each sequence takes {} of activations. {} fit into {}; the next one would lack {}.",
            format::memory(room.per_sequence),
            format::count(room.batch),
            format::memory(estimate.usable()),
            format::memory(room.next_lacks)
        ),
        Answer::Infeasible(reason) => {
            let mend = reason.fewest_gpus.map_or_else(
                || "More GPUs alone do not mend that.".to_owned(),
                |gpus| format!("With {} one sequence fits.", format::counted(gpus, "GPU", "GPUs")),
            );
            // Where all buckets are counted at once there is no instant to speak of.
            let instant = match estimate.instants.len() {
                0 | 1 => String::new(),
                _ => format!(" at the {}", reason.instant.name),
            };
            format!(
                "{} The largest entry{instant} is “{}” with {}. {mend}",
                format::shortage(answer).unwrap_or_default(),
                reason.largest.name,
                format::memory(reason.largest.bytes)
            )
        }
    }
}
