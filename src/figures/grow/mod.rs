//! The slider that fills the device, one sequence at a time.

mod shown;

use leptos::prelude::*;

use crate::components::{BatchSlider, MemoryBar, MemoryLegend};
use crate::site::State;
use shown::{Jump, Shown};

/// The micro-batch on a slider, the memory it takes as a bar, and the verdict in one sentence.
#[component]
pub fn Grow(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let shown = Memo::new(move |_| state.read(Shown::of));
    let bar = Memo::new(move |_| shown.with(|shown| shown.bar.clone()));
    let text = move |of: fn(&Shown) -> &String| move || shown.with(|shown| of(shown).clone());
    view! {
        <div class="grow">
            <BatchSlider id="grow-batch" state/>
            <div class="grow-head">
                <div class="grow-result" data-verdict=move || shown.with(|shown| shown.kind)>
                    <p class="grow-total">
                        <span class="readout num" data-testid="grow-total">{text(|shown| &shown.total)}</span>
                        <span class="soft small">" usable"</span>
                    </p>
                    <p class="grow-verdict" data-testid="grow-verdict">{text(|shown| &shown.verdict)}</p>
                </div>
                <div class="grow-jumps button-row">
                    <JumpButton state shown of=|shown| &shown.last name="grow-to-max" plus=""/>
                    <JumpButton state shown of=|shown| &shown.next name="grow-past-max" plus=" + 1"/>
                </div>
            </div>
            <MemoryBar bar/>
            <MemoryLegend bar/>
            <p class="soft small" data-testid="grow-other">{text(|shown| &shown.others)}</p>
        </div>
    }
}

/// A button that sets the micro-batch to b_max, or to what is `plus` it.
#[component]
fn JumpButton(
    state: State,
    shown: Memo<Shown>,
    of: fn(&Shown) -> &Jump,
    name: &'static str,
    plus: &'static str,
) -> impl IntoView {
    let press = move |_| {
        let batch = shown.with_untracked(|shown| of(shown).batch);
        state.change(|scenario| scenario.with_batch(batch));
    };
    view! {
        <button
            type="button"
            class="button button-quiet"
            data-testid=name
            aria-current=move || shown.with(|shown| of(shown).chosen.to_string())
            disabled=move || shown.with(|shown| of(shown).off)
            on:click=press
        >
            <span><span class="visually-hidden">"Set b to "</span><i>"b"</i><sub>"max"</sub>{plus}</span>
            <span class="num">{move || shown.with(|shown| of(shown).size.clone())}</span>
        </button>
    }
}
