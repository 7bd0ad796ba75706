//! The answer for the current configuration, where the memory goes, and what would make more fit.

mod changes;
mod helps;
mod shown;

use leptos::prelude::*;

use crate::components::{BatchSlider, MemoryBar, MemoryLegend, Outlook, Slice};
use crate::site::{State, read};
use helps::Helps;
use shown::{Filled, Said};

/// The largest micro-batch, any other one on the bar, and the changes that make room. The inputs stand in the bar above.
#[component]
pub fn Answer(
    /// The shared state.
    state: State,
) -> impl IntoView {
    // While the slider moves, nothing is said anew.
    let asked = Memo::new(move |_| state.asked(|scenario| scenario.with_batch(1)));
    let said = Memo::new(move |_| {
        // A memo that is tracked and never read is never computed.
        asked.with(|_| ());
        state.peek(Said::of)
    });
    view! {
        <div class="opening">
            <Slice class="opening-answer">
                <Answers state said/>
            </Slice>
            <Slice class="opening-filled">
                <Memory state/>
            </Slice>
            <Slice class="opening-why">
                <div class="opening-words">
                    <p class="opening-growth" hidden=move || said.with(|said| said.growth.is_empty())>
                        {read(said, |said| &said.growth)}
                    </p>
                    <p class="opening-reason">{read(said, |said| &said.reason)}</p>
                </div>
                <Helps state/>
                <UseItIn/>
            </Slice>
        </div>
    }
}

/// The likely answer, the two that frame it, and the runs that it rests on.
#[component]
fn Answers(state: State, said: Memo<Said>) -> impl IntoView {
    view! {
        <Headline said/>
        <dl class="outlooks">
            <Outlook name="To be safe" test="answer-safe" of=|range| &range.safe state/>
            <Outlook name="At best" test="answer-optimistic" of=|range| &range.optimistic state/>
        </dl>
        <p class="opening-method soft small">{read(said, |said| &said.method)}</p>
    }
}

/// The memory of the micro-batch, and the slider that sets it. The numbers below the bar follow it a frame later.
#[component]
fn Memory(state: State) -> impl IntoView {
    let filled = Memo::new(move |_| state.read(Filled::of));
    let bar = Memo::new(move |_| filled.with(|filled| filled.bar.clone()));
    let after = state.later();
    let listed = Memo::new(move |_| after.read(shown::bar));
    view! {
        <div class="opening-bar">
            <Chosen filled/>
            <MemoryBar bar/>
            <MemoryLegend bar=listed/>
            <BatchSlider id="opening-batch" state/>
        </div>
    }
}

/// The number itself.
#[component]
fn Headline(said: Memo<Said>) -> impl IntoView {
    let none = move || said.with(|said| !said.fits);
    view! {
        <p class="headline">
            <span
                class="readout num"
                class:readout-s=none
                class:is-unanswered=move || said.with(|said| !said.answered)
                data-testid="opening-answer"
            >
                {read(said, |said| &said.answer)}
            </span>
            <span class="headline-unit" hidden=none>{move || said.with(|said| said.unit)} " per GPU"</span>
        </p>
    }
}

/// Which micro-batch the bar shows, and how that stands, where no slider says it.
#[component]
fn Chosen(filled: Memo<Filled>) -> impl IntoView {
    let standing = move || filled.with(|filled| filled.standing);
    view! {
        <p class="opening-chosen soft small">
            "The bar shows " <i>"b"</i> {read(filled, |filled| &filled.batch)}
            <span class=move || format!("badge badge-{}", standing().colour())>{move || standing().word()}</span>
        </p>
    }
}

/// The programs whose file is a press away, by the word that the desk knows each by (`bmax::export::Target::key`). The desk
/// has all of them.
const PROGRAMS: [(&str, &str); 7] = [
    ("trl", "trl"),
    ("axolotl", "axolotl"),
    ("llama-factory", "LLaMA-Factory"),
    ("transformers", "Trainer"),
    ("deepspeed", "DeepSpeed"),
    ("torchtitan", "torchtitan"),
    ("megatron", "Megatron"),
];

/// The configuration as a file of the reader's program.
#[component]
fn UseItIn() -> impl IntoView {
    let program = |(target, name): (&'static str, &'static str)| {
        view! {
            <button type="button" class="button button-quiet button-small" data-desk="export" data-target=target>
                {name}
            </button>
        }
    };
    view! {
        <div class="opening-programs" role="group" aria-label="Use it in">
            <span class="opening-label small">"Use it in"</span>
            {PROGRAMS.map(program).collect_view()}
        </div>
    }
}

#[cfg(test)]
mod tests {
    use bmax::export::Target;

    #[test]
    fn every_program_that_is_a_press_away_has_a_file() {
        for (key, _) in super::PROGRAMS {
            assert!(Target::ALL.iter().any(|target| target.key() == key), "{key}");
        }
    }
}
