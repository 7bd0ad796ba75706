//! What was read, in words, until it is sent away.

use bmax::read::{About, Model, Reading, Text, Told};
use bmax::{Scenario, link, number};
use js_sys::{Array, Object, Reflect};
use leptos::children::ViewFn;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos::wasm_split::SplitLoaderError;
use wasm_bindgen::{JsCast, JsValue};

use super::{NOT_FETCHED, reading, rewritten};
use crate::site::State;

/// What is said.
#[derive(Clone, Debug, PartialEq)]
struct Shown {
    /// What was given, and what the page has done.
    said: Vec<String>,
    /// What became of every key.
    told: Vec<Told>,
    /// The texts, each with its name, and the scenario that they made.
    given: Option<(Vec<(String, String)>, Scenario)>,
}

impl Shown {
    fn not_fetched() -> Self {
        Self { said: vec![NOT_FETCHED.to_owned()], told: Vec::new(), given: None }
    }

    fn of(reading: &Reading, scenario: Scenario, texts: &[(String, String)]) -> Self {
        let mut said = reading.what_texts_are();
        let model = reading.model_words();
        said.extend(Some(model).filter(|model| !model.is_empty()));
        match &reading.model {
            Model::File(config) => said.extend(config.notes.iter().map(ToString::to_string)),
            Model::Unknown { .. } => said.push("Until then the page goes on with the model that it has.".to_owned()),
            Model::NotNamed | Model::Listed(_) => {}
        }
        if reading.says_anything() {
            said.push("The page counts with it now; Undo gives back what was there before.".to_owned());
        }
        // What no text says stays as the page has it.
        let told = reading.told(Some(&scenario)).into_iter().filter(|told| told.about != About::Open);
        let has_keys = reading.texts.iter().any(|text| text.keys > 0);
        Self { said, told: told.collect(), given: has_keys.then(|| (texts.to_vec(), scenario)) }
    }
}

/// What was given last, and what became of it. The place is a live region, which announces it:
/// <https://www.w3.org/WAI/WCAG22/Techniques/aria/ARIA22>.
#[component]
pub fn Given(
    /// The shared state, which takes over what is said.
    state: State,
    /// Pairs of a name and a text.
    given: RwSignal<JsValue, LocalStorage>,
) -> impl IntoView {
    let shown = RwSignal::new(None::<Shown>);
    Effect::new(move |_| {
        let last = given.get();
        spawn_local(async move {
            let texts = texts(&last);
            let reading = read(&texts).await;
            // What waited for its reader is not taken over what was given since.
            if given.try_with_untracked(|now| Object::is(now, &last)) == Some(true) {
                shown.try_set(reading.map(|reading| take(state, &texts, reading)));
            }
        });
    });
    move || shown.get().map(|next| view! { <Notice state next dismiss=move |()| shown.set(None)/> })
}

/// The sentences, and every key where a reader asks for it.
#[component]
fn Notice(state: State, next: Shown, #[prop(into)] dismiss: Callback<()>) -> impl IntoView {
    let Shown { said, told, given } = next;
    view! {
        <div class="notice">
            <div>
                {said.into_iter().map(|line| view! { <p data-testid="given-said">{line}</p> }).collect_view()}
                {told.into_iter().map(|told| view! { <Section told/> }).collect_view()}
                {given.map(|(texts, taken)| view! { <GivenBack state texts taken/> })}
            </div>
            <button type="button" class="button button-quiet button-small" on:click=move |_| dismiss.run(())>
                "Dismiss"
            </button>
        </div>
    }
}

/// Sentences of one kind. What is wrong, or missing in the count, is unfolded.
#[component]
fn Section(told: Told) -> impl IntoView {
    let Told { about, rows } = told;
    let open =
        matches!(about, About::NotCounted | About::NotUnderstood | About::Missing | About::Memory | About::Explained);
    let count = number::grouped(rows.len() as f64);
    view! {
        <details open=open>
            <summary class="notice-title">{about.title()} " " <span class="soft num">{count}</span></summary>
            <ul>{rows.into_iter().map(|row| view! { <li>{row}</li> }).collect_view()}</ul>
        </details>
    }
}

/// Once the configuration is another one than the texts made: a button that writes the change into them.
#[component]
fn GivenBack(state: State, texts: Vec<(String, String)>, taken: Scenario) -> impl IntoView {
    let back = RwSignal::new(None::<ViewFn>);
    let changes = Memo::new(move |_| state.scenario.with(|now| bmax::read::changes(&taken, now)));
    // What was written is of another configuration now.
    Effect::new(move |_| {
        changes.track();
        back.set(None);
    });
    let write = move |_| {
        let (texts, wanted) = (texts.clone(), changes.get_untracked());
        spawn_local(async move {
            let next = rewritten(texts, wanted.clone()).await;
            let next = next.unwrap_or_else(|_| ViewFn::from(|| view! { <p>{NOT_FETCHED}</p> }));
            // The reader may have changed more meanwhile, or sent the message away.
            if changes.try_with_untracked(|now| *now == wanted) == Some(true) {
                back.try_set(Some(next));
            }
        });
    };
    view! {
        <div hidden=move || changes.with(Vec::is_empty)>
            <button type="button" class="button button-small" on:click=write>"Write the changes into the text"</button>
            {move || back.get().map(|back| back.run())}
        </div>
    }
}

/// The texts that were given, each with its name.
fn texts(given: &JsValue) -> Vec<(String, String)> {
    let of = |pair: &JsValue, at: u32| Reflect::get_u32(pair, at).ok()?.as_string();
    let pairs = given.dyn_ref::<Array>().into_iter().flat_map(|pairs| pairs.iter());
    pairs.filter_map(|pair| Some((of(&pair, 0)?, of(&pair, 1)?))).collect()
}

/// What texts say; nothing of empty ones.
async fn read(texts: &[(String, String)]) -> Option<Result<Reading, SplitLoaderError>> {
    let all: Vec<_> = texts.iter().map(|(name, text)| Text::file(name, text.as_bytes())).collect();
    if texts.iter().all(|(_, text)| text.trim().is_empty()) { None } else { Some(reading(&all).await) }
}

/// Takes over what texts say.
fn take(state: State, texts: &[(String, String)], reading: Result<Reading, SplitLoaderError>) -> Shown {
    let Ok(reading) = reading else { return Shown::not_fetched() };
    if reading.says_anything() {
        let now = state.scenario.get_untracked();
        let with_model = reading.own_model().map_or(now, |own| own.apply(now));
        let next = link::decode_onto(Some(&with_model), &reading.query()).scenario;
        // A micro-batch that a text says stays as it is said, even if it is the one of before.
        let after = now.then(next);
        let said = reading.inputs.get("b").map(|_| after.with_batch(next.recipe.batch));
        state.scenario.set(said.unwrap_or(after));
    }
    Shown::of(&reading, state.scenario.get_untracked(), texts)
}
