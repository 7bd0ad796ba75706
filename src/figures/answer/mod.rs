//! The answer for the current configuration, where the memory goes, and what would make more fit.

mod changes;
mod helps;
mod shown;

use leptos::prelude::*;

use crate::components::{BatchSlider, MemoryBar, MemoryLegend, Outlook, Slice};
use crate::site::{Facts, Standing, State, read};
pub use changes::helps_of;
use helps::HelpsPlace;
use shown::Shown;

/// The largest micro-batch, any other one on the bar, and the changes that make room. The inputs stand in the bar above.
#[component]
pub fn Answer(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let shown = Memo::new(move |before: Option<&Shown>| state.read(|facts| Shown::of(facts, before)));
    view! {
        <div class="opening">
            <Slice class="opening-answer">
                <Answers state shown/>
            </Slice>
            <Slice class="opening-filled">
                <Filled state shown/>
            </Slice>
            <Slice class="opening-why">
                <div class="opening-words">
                    <p class="opening-growth" hidden=move || shown.with(|shown| shown.said.growth.is_empty())>
                        {read(shown, |shown| &shown.said.growth)}
                    </p>
                    <p class="opening-reason">{read(shown, |shown| &shown.said.reason)}</p>
                </div>
                <HelpsPlace state/>
                <UseItIn/>
            </Slice>
            <PasteField/>
        </div>
    }
}

/// The likely answer, the two that frame it, and the runs that it rests on.
#[component]
fn Answers(state: State, shown: Memo<Shown>) -> impl IntoView {
    view! {
        <Headline shown/>
        <dl class="outlooks">
            <Outlook name="To be safe" test="answer-safe" of=|range| &range.safe state/>
            <Outlook name="At best" test="answer-optimistic" of=|range| &range.optimistic state/>
        </dl>
        <p class="opening-method soft small">{read(shown, |shown| &shown.said.method)}</p>
    }
}

/// The memory of the micro-batch, and the slider that sets it. The numbers below the bar follow it a frame later.
#[component]
fn Filled(state: State, shown: Memo<Shown>) -> impl IntoView {
    let bar = Memo::new(move |_| shown.with(|shown| shown.bar.clone()));
    let after = state.later();
    let listed = Memo::new(move |_| after.read(Facts::bar));
    view! {
        <div class="opening-bar">
            <Chosen shown/>
            <MemoryBar bar/>
            <MemoryLegend bar=listed/>
            <BatchSlider id="opening-batch" state/>
        </div>
    }
}

/// The number itself.
#[component]
fn Headline(shown: Memo<Shown>) -> impl IntoView {
    let none = move || shown.with(|shown| !shown.said.fits);
    let unanswered = move || matches!(shown.with(|shown| shown.standing), Standing::Unanswered(_));
    view! {
        <p class="headline">
            <span class="readout num" class:readout-s=none class:is-unanswered=unanswered data-testid="opening-answer">
                {read(shown, |shown| &shown.said.answer)}
            </span>
            <span class="headline-unit" hidden=none>
                {move || shown.with(|shown| shown.said.unit)} " per GPU"
            </span>
        </p>
    }
}

/// Which micro-batch the bar shows, and how that stands, where no slider says it.
#[component]
fn Chosen(shown: Memo<Shown>) -> impl IntoView {
    let standing = move || shown.with(|shown| shown.standing);
    view! {
        <p class="opening-chosen soft small">
            "The bar shows " <i>"b"</i> {read(shown, |shown| &shown.batch)}
            <span class=move || format!("badge badge-{}", standing().colour())>{move || standing().word()}</span>
        </p>
    }
}

/// The field for what a reader has of a run. The page's inline script hears it, and src/site/given/ reads it.
#[component]
fn PasteField() -> impl IntoView {
    view! {
        <div class="opening-paste">
            <label class="opening-label small" for="paste">"Paste a config, a command or an error"</label>
            <textarea id="paste" rows="2" spellcheck="false" autocomplete="off" autocapitalize="off" aria-describedby="paste-help"></textarea>
            <p class="soft small" id="paste-help">"Or drop files anywhere. Nothing leaves your browser."</p>
        </div>
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
