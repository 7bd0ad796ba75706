//! Single changes to the current configuration, ranked by what they gain, each applied and undone
//! with one press.

mod applied;
mod shown;
mod text;

use bmax::levers::Change;
use leptos::html::Div;
use leptos::prelude::*;
use web_sys::Element;

use crate::site::{Ranking, State, read};
use applied::{Applied, remember};
pub use shown::together;
use shown::{Gain, Idle, Now, Ranked};
pub use text::describe;

/// Where the configuration stands, the ranked list, what was applied from it, and what would gain
/// nothing.
#[component]
pub fn Levers(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let applied = RwSignal::new(Vec::new());
    let place = NodeRef::<Div>::new();
    let now = Memo::new(move |_| state.read(|facts| applied.with(|applied: &Vec<Applied>| Now::of(facts, applied))));
    let ranking = state.ranking();
    let ranked = Memo::new(move |_| ranking.with(Ranked::of));
    let make = move |change: Change| {
        state.change(|scenario| change.apply(scenario));
        // The pressed button may be gone: without this the keyboard would start over at the top of the page.
        if let Some(place) = place.get_untracked() {
            _ = place.focus();
        }
    };
    let apply = Callback::new(move |changes: Vec<Change>| {
        for change in changes {
            let inverse = change.undo(&state.scenario.get_untracked());
            applied.update(|list| remember(list, Applied { change, inverse }));
            make(change);
        }
    });
    let undo = Callback::new(move |entry: Applied| {
        applied.update(|list| list.retain(|other| *other != entry));
        make(entry.inverse);
    });
    view! {
        <div class="levers">
            <p class="levers-now">
                "Now, by the "<span class="levers-method">{read(now, |now| &now.method)}</span>" method: "
                <span hidden=move || !now.with(|now| now.fits)><i>"b"</i><sub>"max"</sub>" = "</span>
                <output class="num" data-testid="levers-now">{read(now, |now| &now.most)}</output>
                <span hidden=move || !now.with(|now| now.fits)>" " {move || now.with(|now| now.unit)} " per GPU"</span>
            </p>
            <div class="levers-applied" role="group" aria-label="Applied changes" tabindex="-1" node_ref=place>
                <AppliedChanges now undo/>
            </div>
            <GainingChanges ranked apply/>
            <IdleChanges ranking ranked apply/>
        </div>
    }
}

/// What was applied here, each with the way back.
#[component]
fn AppliedChanges(now: Memo<Now>, undo: Callback<Applied>) -> impl IntoView {
    let empty = move || now.with(|now| now.applied.is_empty());
    let row = move |(entry, name): (Applied, String)| {
        view! {
            <li>
                <span>{name.clone()}</span>
                <LeverButton does="Undo" name test="lever-undo" press=move |()| undo.run(entry)/>
            </li>
        }
    };
    view! {
        <p class="soft" hidden=move || !empty()>
            "Nothing applied yet. A technique that you apply changes your configuration on all pages."
        </p>
        <ul hidden=empty>{move || now.with(|now| now.applied.clone()).into_iter().map(row).collect_view()}</ul>
    }
}

/// The changes that make room, the strongest first. Those behind them are folded away, by the disclosure pattern with the
/// browser's own `details`: <https://www.w3.org/WAI/ARIA/apg/patterns/disclosure/>.
#[component]
fn GainingChanges(ranked: Memo<Ranked>, apply: Callback<Vec<Change>>) -> impl IntoView {
    let alone = move || ranked.with(Ranked::alone);
    let rows = move |list: fn(&Ranked) -> &[Gain]| {
        ranked.with(|ranked| list(ranked).to_vec()).into_iter().map(|gain| gaining(gain, apply)).collect_view()
    };
    view! {
        <div class="levers-gaining">
            <ol class="levers-list" aria-label="Changes that make room" hidden=alone>{move || rows(Ranked::first)}</ol>
            <details class="levers-more" data-testid="levers-more" hidden=move || ranked.with(|ranked| ranked.rest().is_empty())>
                <summary>{read(ranked, |ranked| &ranked.rest_count)}</summary>
                <ol class="levers-list" aria-label="More changes that make room">{move || rows(Ranked::rest)}</ol>
            </details>
            <p class="levers-none" hidden=move || !alone()>{read(ranked, |ranked| &ranked.none)}</p>
        </div>
    }
}

/// One of them: what it is and costs, what it leads to, and the press that makes it.
fn gaining(gain: Gain, apply: Callback<Vec<Change>>) -> impl IntoView {
    let Gain { changes, name, cost, tokens, before, after, gain, shares: [share_before, share_after] } = gain;
    view! {
        <li class="lever">
            <div class="lever-what">
                <p class="lever-name">{name.clone()}</p>
                <p class="field-help">{cost}</p>
                {tokens.map(|tokens| view! { <p class="field-help num">{tokens}</p> })}
            </div>
            <div class="lever-outcome">
                <p class="lever-numbers num">
                    <span class="soft">
                        {before}
                        <span aria-hidden="true">" → "</span>
                        <span class="visually-hidden">" becomes "</span>
                    </span>
                    <strong>{after}</strong>
                    <span class="badge badge-good">{gain}</span>
                </p>
                <div
                    class="lever-bar"
                    aria-hidden="true"
                    style=("--before", share_before)
                    style=("--after", share_after)
                ></div>
            </div>
            <LeverButton does="Apply" name test="lever-apply" press=move |()| apply.run(changes.clone())/>
        </li>
    }
}

/// The changes that would gain nothing, folded away: each costs an answer, which is found once they are shown. They
/// are open when there is nothing else, because together they may still help; and only a change of that opens or
/// closes what the reader may have opened. It follows the disclosure pattern with the browser's own `details`:
/// <https://www.w3.org/WAI/ARIA/apg/patterns/disclosure/>.
#[component]
fn IdleChanges(ranking: Memo<Ranking>, ranked: Memo<Ranked>, apply: Callback<Vec<Change>>) -> impl IntoView {
    let alone = Memo::new(move |_| ranked.with(Ranked::alone));
    let open = RwSignal::new(false);
    let idle = Memo::new(move |_| if open.get() || alone.get() { ranking.with(Idle::all) } else { Vec::new() });
    let row = move |Idle { change, name, why }| {
        view! {
            <li class="lever lever-idle">
                <div class="lever-what">
                    <p class="lever-name">{name.clone()}</p>
                    <p class="field-help num">{why}</p>
                </div>
                <LeverButton does="Apply" name test="lever-apply" press=move |()| apply.run(vec![change])/>
            </li>
        }
    };
    view! {
        <details
            class="levers-idle"
            data-testid="levers-idle"
            hidden=move || ranked.with(|ranked| ranked.idle == 0)
            open=move || alone.get()
            on:toggle=move |event| open.set(event_target::<Element>(&event).has_attribute("open"))
        >
            <summary>"No gain here: "<span>{read(ranked, |ranked| &ranked.idle_count)}</span>", and why"</summary>
            <ul class="levers-list">{move || idle.get().into_iter().map(row).collect_view()}</ul>
        </details>
    }
}

/// Makes a change or takes it back; its name says which one, because a list of buttons that are all called "Apply"
/// says nothing. It follows the button pattern with the browser's own button:
/// <https://www.w3.org/WAI/ARIA/apg/patterns/button/>.
#[component]
fn LeverButton(
    does: &'static str,
    name: String,
    test: &'static str,
    #[prop(into)] press: Callback<()>,
) -> impl IntoView {
    view! {
        <button
            type="button"
            class="button button-quiet button-small"
            data-testid=test
            aria-label=format!("{does}: {name}")
            on:click=move |_| press.run(())
        >
            {does}
        </button>
    }
}
