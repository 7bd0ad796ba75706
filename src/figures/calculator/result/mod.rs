//! The answer three times, the bar, what binds, what would help, and what nobody can know.

mod shown;

use bmax::{Change, Scenario};
use leptos::html::Section;
use leptos::prelude::*;

use crate::components::{Assumed, Beside, Fold, MemoryBar, MemoryLegend, Outlook};
use crate::site::{State, read};
use shown::{COUNTERS, Shown, UNKNOWNS, helpful};

/// Everything that follows from the form.
#[component]
pub fn ResultPanel(state: State) -> impl IntoView {
    let shown = Memo::new(move |_| state.read(Shown::of));
    let panel = NodeRef::<Section>::new();
    // The button of a conflict goes with it, so the keyboard goes on from the panel.
    let mended = Callback::new(move |()| {
        if let Some(panel) = panel.get_untracked() {
            _ = panel.focus();
        }
    });
    view! {
        <section class="result panel" aria-label="Result" tabindex="-1" node_ref=panel>
            <Answers state shown/>
            <Conflicts state shown mended/>
            <Remarks state shown mended/>
            <Assumed text=Signal::derive(move || shown.with(|shown| shown.without_cuda.map(str::to_owned)))/>
            <Memory state shown/>
            <Explanation state shown/>
            <Unknowns shown/>
            <Counters shown/>
            <div class="copy-link">
                <button type="button" class="button" data-desk="copy">"Copy link"</button>
                <span class="small" role="status"></span>
            </div>
        </section>
    }
}

/// The likely answer between the two that frame it, and those of the other methods.
#[component]
fn Answers(state: State, shown: Memo<Shown>) -> impl IntoView {
    view! {
        <div class="both-answers">
            <h3><span>{move || shown.with(|shown| shown.method)}</span> " method: the largest micro-batch"</h3>
            <dl class="outlooks">
                <Outlook name="Safe" test="answer-safe" of=|range| &range.safe state/>
                <div>
                    <dt>"Likely"</dt>
                    <dd>
                        <output
                            class="readout"
                            class:readout-s=move || shown.with(|shown| shown.in_words)
                            data-testid="calculator-answer"
                        >
                            {read(shown, |shown| &shown.answer)}
                        </output>
                    </dd>
                </div>
                <Outlook name="Optimistic" test="answer-optimistic" of=|range| &range.optimistic state/>
            </dl>
            <Beside state/>
        </div>
    }
}

/// Contradictory settings, each with the press that mends it.
#[component]
fn Conflicts(state: State, shown: Memo<Shown>, mended: Callback<()>) -> impl IntoView {
    let change = |scenario: &Scenario, at: usize| scenario.conflicts().get(at).map(|conflict| conflict.mend);
    let told =
        move |(at, (message, press))| told(state, mended, message, Some(press), move |scenario| change(scenario, at));
    view! {
        <ul class="conflicts" hidden=move || shown.with(|shown| shown.conflicts.is_empty())>
            {move || shown.with(|shown| shown.conflicts.clone()).into_iter().enumerate().map(told).collect_view()}
        </ul>
    }
}

/// What should be known of settings that go together, with the press that is better where there is one.
#[component]
fn Remarks(state: State, shown: Memo<Shown>, mended: Callback<()>) -> impl IntoView {
    let change = |scenario: &Scenario, at: usize| scenario.remarks().get(at).and_then(|remark| remark.mend);
    let told = move |(at, (message, press))| told(state, mended, message, press, move |scenario| change(scenario, at));
    view! {
        <ul class="conflicts remarks" data-testid="remarks" hidden=move || shown.with(|shown| shown.remarks.is_empty())>
            {move || shown.with(|shown| shown.remarks.clone()).into_iter().enumerate().map(told).collect_view()}
        </ul>
    }
}

/// A sentence and the press that changes what it is about; no press where nothing is better.
fn told(
    state: State,
    mended: Callback<()>,
    message: String,
    press: Option<String>,
    change: impl Fn(&Scenario) -> Option<Change> + 'static,
) -> impl IntoView {
    let mend = move |_| {
        if let Some(change) = state.peek(|facts| change(&facts.scenario)) {
            state.change(|scenario| change.apply(scenario));
            mended.run(());
        }
    };
    let button = press.map(|press| {
        view! { <button type="button" class="button button-quiet button-small" on:click=mend>{press}</button> }
    });
    view! { <li>{message} " " {button}</li> }
}

/// The memory of one GPU at the chosen micro-batch.
#[component]
fn Memory(state: State, shown: Memo<Shown>) -> impl IntoView {
    let bar = Memo::new(move |_| shown.with(|shown| shown.bar.clone()));
    let use_b_max = move |_| {
        if let Some(batch) = state.peek(|facts| facts.answer.batch()) {
            state.change(|scenario| scenario.with_batch(batch));
        }
    };
    view! {
        <div class="result-memory">
            <div class="result-memory-head">
                <p class="small">{read(shown, |shown| &shown.bar_title)}</p>
                <button
                    type="button"
                    class="button button-quiet button-small num"
                    data-testid="use-b-max"
                    aria-disabled=move || shown.with(|shown| shown.idle.to_string())
                    on:click=use_b_max
                >
                    {read(shown, |shown| &shown.use_b_max)}
                </button>
            </div>
            <MemoryBar bar/>
            <p class="result-balance num" data-testid="calculator-balance">
                <span class=move || shown.with(|shown| format!("badge badge-{}", shown.standing.colour()))>
                    {move || shown.with(|shown| shown.standing.word())}
                </span>
                " " {read(shown, |shown| &shown.balance)}
            </p>
            <MemoryLegend bar/>
        </div>
    }
}

/// What binds, and the single changes that would help most.
#[component]
fn Explanation(state: State, shown: Memo<Shown>) -> impl IntoView {
    let ranking = state.ranking();
    let helps = Memo::new(move |_| ranking.with(helpful));
    let help = |(change, leads_to): (String, String)| {
        view! { <li><span>{change}</span> " " <strong class="num">{leads_to}</strong></li> }
    };
    view! {
        <div class="explanation">
            <h3>"What binds"</h3>
            <p data-testid="what-binds">{read(shown, |shown| &shown.binds)}</p>
            <h3>"What would help most: the largest micro-batch with it"</h3>
            <ul data-testid="what-helps">{move || helps.get().into_iter().map(help).collect_view()}</ul>
            <p hidden=move || helps.with(|helps| !helps.is_empty())>
                "No single technique makes room. Combine several, or take a larger GPU: see "
                <a href="#levers">"the techniques"</a> "."
            </p>
        </div>
    }
}

/// What nobody can know before the run, with the values each outlook gives it. Only the ledger has any.
#[component]
fn Unknowns(shown: Memo<Shown>) -> impl IntoView {
    let cell = move |row: usize, column: usize| {
        view! { <td class="num">{move || shown.with(|shown| shown.unknowns[row][column].clone())}</td> }
    };
    let row = move |at: usize| {
        view! { <tr><th scope="row">{UNKNOWNS[at]}</th> {cell(at, 0)} {cell(at, 1)} {cell(at, 2)}</tr> }
    };
    view! {
        <Fold summary="What makes the range" class="form-more" name="unknowns" hidden=others(shown)>
            <table class="data-table unknowns">
                <caption>"These are only known once you run. They are the only difference between the three answers."</caption>
                <thead>
                    <tr>
                        <th scope="col">"Unknown"</th>
                        <th scope="col">"Safe"</th>
                        <th scope="col">"Likely"</th>
                        <th scope="col">"Optimistic"</th>
                    </tr>
                </thead>
                <tbody>{(0..UNKNOWNS.len()).map(row).collect_view()}</tbody>
            </table>
            <p class="field-help">
                "Safe assumes the context with all its kernels, eager operations, and gaps between tensors that nine of ten simulated runs stayed below. These are 35 % of the tensors that come and go, or 11 % if the allocator’s segments can grow. It is no upper limit: one run in ten may need more."
            </p>
        </Fold>
    }
}

/// The peak at the chosen micro-batch under the names of the counters that can be compared with it.
#[component]
fn Counters(shown: Memo<Shown>) -> impl IntoView {
    let counter = move |at: usize| {
        let (name, what) = COUNTERS[at];
        view! {
            <div>
                <dt><code>{name}</code><span>{what}</span></dt>
                <dd class="num">{move || shown.with(|shown| shown.counters[at].clone())}</dd>
            </div>
        }
    };
    view! {
        <Fold summary="What your tools would show" class="form-more" name="counters" hidden=others(shown)>
            <div>
                <p class="field-help">{read(shown, |shown| &shown.counted)}</p>
                <dl class="counters">{(0..COUNTERS.len()).map(counter).collect_view()}</dl>
            </div>
        </Fold>
    }
}

/// Whether one of the methods answers that know neither a range nor counters.
fn others(shown: Memo<Shown>) -> Signal<bool> {
    Signal::derive(move || shown.with(|shown| !shown.is_ledger))
}
