//! The empirical finder, attempt by attempt, beside the division that gives the same number.

mod closed_form;
mod player;
mod shown;
mod track;
mod words;

use std::time::Duration;

use leptos::html::Div;
use leptos::leptos_dom::helpers::{request_animation_frame, set_timeout_with_handle};
use leptos::prelude::*;

use crate::site::{State, prefers_less_motion, read};
use player::{Move, Player, Position};
use shown::{Attempt, Progress, Search};

/// Time that an attempt stays before the next one is made.
const PACE: Duration = Duration::from_millis(800);

/// The search on one side, the closed form on the other, and what both say.
#[component]
pub fn OomSearch(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let search = Memo::new(move |_| state.read(Search::of));
    let player = RwSignal::new(Player::default());
    let position = Memo::new(move |_| search.with(|search| player.with(|player| player.position(&search.trace))));
    let progress = Memo::new(move |_| search.with(|search| search.after(position.get().made)));
    let go = Callback::new(move |step: Move| {
        search.with_untracked(|search| player.update(|player| *player = player.after(step, &search.trace)));
    });
    Effect::new(move |_| {
        if position.get().playing {
            let next = set_timeout_with_handle(move || go.run(Move::Tick), PACE);
            on_cleanup(move || _ = next.map(|next| next.clear()));
        }
    });
    view! {
        <div class="oom">
            <div class="oom-body">
                <div class="oom-search">
                    <Buttons position progress go/>
                    <Said position progress/>
                    <Track search progress/>
                    <p class="oom-scale soft">
                        "The mark is the usable memory, " {read(search, |search| &search.usable_text)} "."
                    </p>
                    <Attempts position progress/>
                </div>
                <ClosedForm search progress/>
            </div>
        </div>
    }
}

/// The ways to walk through the attempts.
#[component]
fn Buttons(position: Memo<Position>, progress: Memo<Progress>, go: Callback<Move>) -> impl IntoView {
    let resting = move || position.get().resting;
    let is_over = Signal::derive(move || !resting() && progress.with(|progress| progress.is_over));
    let is_first = Signal::derive(move || position.get().made == 0);
    let play = move || match (position.get().playing, is_over.get()) {
        (true, _) => "Pause",
        (false, true) => "Play again",
        (false, false) => "Play",
    };
    let press = move |_| go.run(if prefers_less_motion() { Move::AllAtOnce } else { Move::Play });
    view! {
        <div class="button-row" role="group" aria-label="The search">
            <button type="button" class="button oom-play" on:click=press>{play}</button>
            <StepButton name="Step" title="One attempt on" step=Move::Step idle=is_over go/>
            <StepButton name="Back" title="One attempt back" step=Move::Back idle=is_first go/>
            <StepButton name="Restart" title="Restart the search" step=Move::Restart idle=is_first go/>
        </div>
    }
}

/// A button that makes one move. It keeps the focus when there is nothing left to do for it.
#[component]
fn StepButton(
    name: &'static str,
    title: &'static str,
    step: Move,
    idle: Signal<bool>,
    go: Callback<Move>,
) -> impl IntoView {
    view! {
        <button
            type="button"
            class="button button-quiet"
            title=title
            aria-disabled=move || idle.get().to_string()
            on:click=move |_| go.run(step)
        >
            {name}
        </button>
    }
}

/// The last attempt and what comes next. It is spoken when the reader steps, not while it plays and not when it
/// starts anew because something else on the page has changed.
#[component]
fn Said(position: Memo<Position>, progress: Memo<Progress>) -> impl IntoView {
    let live = move || match position.get() {
        Position { made: 0, .. } | Position { playing: true, .. } | Position { resting: true, .. } => "off",
        _ => "polite",
    };
    let said = move || {
        let resting = position.get().resting;
        progress.with(|progress| if resting { progress.whole.clone() } else { progress.said.clone() })
    };
    view! {
        <p class="oom-step" aria-live=live aria-atomic="true" data-testid="search-step">
            <span>{said}</span>
        </p>
    }
}

/// The open interval on an axis of micro-batches, closing in.
#[component]
fn Track(search: Memo<Search>, progress: Memo<Progress>) -> impl IntoView {
    let tried = move || progress.with(|progress| progress.track.tried.clone());
    let mark = |(number, at): (String, String)| view! { <span style=("--at", at)>{number}</span> };
    view! {
        <div class="oom-track" role="img" aria-label=read(progress, |progress| &progress.track.label)>
            <div
                class="oom-axis"
                style=("--low", read(progress, |progress| &progress.track.low))
                style=("--high", read(progress, |progress| &progress.track.high))
            >
                <span class="oom-runs"></span>
                <span class="oom-fails"></span>
                <span
                    class="oom-tried"
                    hidden=move || tried().is_none()
                    data-fits=move || tried().is_some_and(|(_, fits)| fits).to_string()
                    style=("--at", move || tried().map_or_else(|| "0".to_owned(), |(at, _)| at))
                ></span>
            </div>
            <div class="oom-marks num">
                {move || search.with(|search| search.marks.clone()).into_iter().map(mark).collect_view()}
            </div>
        </div>
    }
}

/// The attempts that have been made, the newest in view.
#[component]
fn Attempts(position: Memo<Position>, progress: Memo<Progress>) -> impl IntoView {
    let region = NodeRef::<Div>::new();
    Effect::new(move |_| {
        // A search that starts anew has nothing to scroll to, and one that is whole is read from its first attempt on.
        let position = position.get();
        if position.made > 0 && !position.resting {
            request_animation_frame(move || {
                if let Some(region) = region.get_untracked() {
                    region.set_scroll_top(region.scroll_height());
                }
            });
        }
    });
    let attempts = move || progress.with(|progress| progress.attempts.clone());
    view! {
        <div class="oom-attempts" tabindex="0" role="region" aria-label="Attempts" node_ref=region>
            <ol>{move || attempts().into_iter().map(attempt).collect_view()}</ol>
            <p class="oom-none soft" hidden=move || position.get().made != 0>
                "No attempt yet. Press Step for one at a time, or Play."
            </p>
        </div>
    }
}

fn attempt(attempt: Attempt) -> impl IntoView {
    let Attempt { batch, fits, is_last, fill, limit, peak, known } = attempt;
    view! {
        <li
            class="oom-attempt"
            aria-current=if is_last { "step" } else { "false" }
            data-fits=if fits { "true" } else { "false" }
        >
            <span class="oom-batch num">{batch}</span>
            <span class="oom-outcome">{if fits { "✓ runs" } else { "✕ out of memory" }}</span>
            <span class="oom-bar" aria-hidden="true" style=("--fill", fill) style=("--limit", limit)></span>
            <span class="oom-peak num">{peak}</span>
            <span class="oom-known soft num">{known}</span>
        </li>
    }
}

/// The division, and what both ways say.
#[component]
fn ClosedForm(search: Memo<Search>, progress: Memo<Progress>) -> impl IntoView {
    let is_over = move || progress.with(|progress| progress.is_over.to_string());
    view! {
        <section class="oom-closed" aria-label="Closed form">
            <h3>"Closed form"</h3>
            <div class="oom-formula">
                <math inner_html=SYMBOLS></math>
                <math inner_html=read(search, |search| &search.formula[0])></math>
                <math inner_html=read(search, |search| &search.formula[1])></math>
            </div>
            <p class="small soft">{read(search, |search| &search.explanation)}</p>
            <p class="oom-result" data-over=is_over data-testid="search-result">
                <span>{read(progress, |progress| &progress.result)}</span>
            </p>
        </section>
    }
}

/// The division in symbols, as MathML.
const SYMBOLS: &str = "<msub><mi>b</mi><mi>max</mi></msub><mo>=</mo><mrow><mo>⌊</mo><mfrac><mrow><msub><mi>M</mi><mtext>usable</mtext></msub><mo>−</mo><msub><mi>M</mi><mtext>fixed</mtext></msub></mrow><msub><mi>M</mi><mtext>act</mtext></msub></mfrac><mo>⌋</mo></mrow>";
