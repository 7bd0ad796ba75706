//! The inputs, common ones first; the rest in folded groups that say what is inside.

mod agreement;
mod groups;
mod input;
mod tells;

use bmax::catalogue::{MODELS, ModelGroup, ModelRow};
use bmax::{Choice, Method, Scenario};
use leptos::either::Either;
use leptos::prelude::*;

use crate::components::{Combobox, Listed, Model, NumberField, Segmented, SettingField};
use crate::site::{Facts, State, format, read};
use groups::{DETAILS, DEVICE, Fold, GPUS, MODEL, OUTSIDE, SHAPE, TASK, TRAINING};
use input::Input::{self, Number, Word};

/// Every input of the scenario, in groups.
#[component]
pub fn ScenarioForm(state: State) -> impl IntoView {
    let as_at_first = move || state.asked(|scenario| *scenario == Scenario::default()).to_string();
    view! {
        <form class="scenario-form" aria-label="Configuration" on:submit=|event| event.prevent_default()>
            <MethodSwitch state/>
            <fieldset class="form-group">
                <legend>"Model"</legend>
                <Combobox listed=Listed::Model id="model" state/>
                <Presets state/>
                <div class="controls">{controls(state, SHAPE)}</div>
                <Count state/>
                <details class="form-more config-fold" data-desk="config">
                    <summary>"Paste a config.json"</summary>
                    <p class="field-help" id="config-help">
                        "Every model on Hugging Face has a config.json with its dimensions. Paste its text, choose the file or drop it here. This page reads it and sends it nowhere."
                    </p>
                </details>
                {folds(state, &MODEL)}
            </fieldset>
            <fieldset class="form-group">
                <legend>"GPUs"</legend>
                <div class="controls">
                    <Combobox listed=Listed::Gpu id="gpu" state/>
                    {controls(state, DEVICE)}
                </div>
                {folds(state, &GPUS)}
            </fieldset>
            <fieldset class="form-group">
                <legend>"Training"</legend>
                <div class="controls">{controls(state, TRAINING)}</div>
                {folds(state, &TASK)}
                {folds(state, &DETAILS)}
                {folds(state, &OUTSIDE)}
            </fieldset>
            <button
                type="button"
                class="button button-quiet"
                aria-disabled=as_at_first
                on:click=move |_| state.change(|_| Scenario::default())
            >
                "Reset everything"
            </button>
        </form>
    }
}

/// Whose count answers.
#[component]
fn MethodSwitch(state: State) -> impl IntoView {
    let method = Signal::derive(move || state.asked(|scenario| scenario.method));
    let pick = move |method| state.change(|scenario| Scenario { method, ..scenario });
    view! {
        <Segmented
            id="method"
            legend="Method"
            options=Method::ALL.iter().map(|method| (*method, method.label()))
            value=Model::new(method, pick)
            effect=Signal::derive(move || method.get().effect())
            changed=Signal::derive(move || state.read(|facts| facts.scenario.method != facts.base.method))
        />
    }
}

/// The workshop's models, one of which may be in use.
#[component]
pub fn Presets(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let preset = |row: &'static ModelRow| {
        view! {
            <button
                type="button"
                class="button button-quiet button-small"
                aria-pressed=move || state.asked(|scenario| scenario.model == row.model).to_string()
                on:click=move |_| state.change(|scenario| row.apply(scenario))
            >
                {row.name}
            </button>
        }
    };
    let presets = MODELS.iter().filter(|row| row.group == ModelGroup::Workshop);
    view! {
        <div class="field" role="group" aria-label="Workshop presets">
            <span class="field-label" aria-hidden="true">"Workshop presets"</span>
            <div class="button-row">{presets.map(preset).collect_view()}</div>
        </div>
    }
}

fn folds(state: State, folds: &'static [Fold]) -> impl IntoView {
    folds.iter().map(|fold| view! { <FoldedInputs state fold/> }).collect_view()
}

fn controls(state: State, inputs: &'static [Input]) -> impl IntoView {
    inputs.iter().map(|input| view! { <Control state input=*input/> }).collect_view()
}

/// What a folded group says while it is closed.
#[derive(Clone, Debug, PartialEq)]
struct Told {
    /// What its inputs come to.
    tell: String,
    /// How many of them differ from their defaults, where any do.
    changed: Option<String>,
}

impl Told {
    fn of(fold: &Fold, facts: &Facts) -> Self {
        let changed = fold.inputs.iter().filter(|input| input.differs(&facts.scenario, &facts.base)).count();
        let changed = (changed > 0).then(|| format::count(changed as u32) + " changed");
        Self { tell: (fold.tell)(&facts.scenario), changed }
    }
}

/// A folded group of inputs. Where nothing can come of any of them, as with images of a model that sees none, it is not
/// even made.
#[component]
fn FoldedInputs(state: State, fold: &'static Fold) -> impl IntoView {
    let made = Memo::new(move |before| {
        let any = || state.read(|facts| fold.inputs.iter().any(|input| !input.hidden(&facts.scenario, &facts.base)));
        before == Some(&true) || any()
    });
    move || made.get().then(|| view! { <Unfolding state fold/> })
}

/// The inputs of such a group are made when it is first unfolded: there are more of them than of all else in the form, and
/// most readers never ask for them.
#[component]
fn Unfolding(state: State, fold: &'static Fold) -> impl IntoView {
    let told = Memo::new(move |_| state.read(|facts| Told::of(fold, facts)));
    let unfolded = RwSignal::new(false);
    view! {
        <details class="form-more" on:toggle=move |_| unfolded.set(true)>
            <summary>
                {fold.name} <span class="soft num">": " {read(told, |told| &told.tell)}</span> " "
                {move || told.with(|told| told.changed.clone()).map(changed)}
            </summary>
            <Show when=move || unfolded.get()>
                <div class="controls">{controls(state, fold.inputs)}</div>
            </Show>
        </details>
    }
}

fn changed(text: String) -> impl IntoView {
    view! { <span class="fold-changed num">{text}</span> }
}

/// The count of parameters that follows from the shape: what the ledger counts with, or how the typed one agrees with
/// it, and the way to use it.
#[component]
fn Count(state: State) -> impl IntoView {
    let shown = Memo::new(move |_| state.asked(agreement::Shown::of));
    view! {
        <div class="derived-count" data-agreement=move || shown.with(|shown| shown.word)>
            <p class="field-help num" data-testid="derived-count">{read(shown, |shown| &shown.sentence)}</p>
            <button
                type="button"
                class="button button-quiet button-small num"
                hidden=move || shown.with(|shown| shown.idle)
                on:click=move |_| state.change(agreement::with_derived_count)
            >
                {read(shown, |shown| &shown.press)}
            </button>
        </div>
    }
}

/// One input, with a note in place of the explanation while nothing reads it. It is hidden while nothing can come of
/// it, unless it was changed: a changed value is never out of sight. Before something can, it is not even made.
#[component]
fn Control(state: State, input: Input) -> impl IntoView {
    let hidden = Memo::new(move |_| state.read(|facts| input.hidden(&facts.scenario, &facts.base)));
    let made = Memo::new(move |before| before == Some(&true) || !hidden.get());
    move || made.get().then(|| control(state, input, hidden))
}

fn control(state: State, input: Input, hidden: Memo<bool>) -> impl IntoView {
    let why_idle = move || state.asked(|scenario| input.idle(scenario));
    let idle = Signal::derive(move || !why_idle().is_empty());
    let or_idle = move |help: &'static str| if idle.get() { why_idle() } else { help };
    match input {
        Number(field) => {
            let help = Signal::derive(move || or_idle(field.help()));
            let id = format!("calculator-{}", field.bound().key);
            Either::Left(view! { <NumberField input=state.field(field) id help idle hidden/> })
        }
        Word(setting) => {
            let handle = state.setting(setting, setting.effects());
            let help = Signal::derive(move || or_idle(handle.effect()));
            let id = format!("calculator-{}", setting.key);
            Either::Right(view! { <SettingField handle id help idle hidden/> })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use crate::site::facts_of;
    use proptest::prelude::*;

    #[test]
    fn a_folded_group_says_what_is_inside_and_how_much_of_it_was_changed() {
        let told = |fold: &Fold, query: &str| Told::of(fold, &facts_of(bmax::link::decode(query).scenario));
        let [parallelism, _] = &GPUS;
        let divided = told(parallelism, "?tp=2&pp=4&gpus=16&zero=1");
        assert_eq!(
            (divided.tell.as_str(), divided.changed.as_deref()),
            ("2 data × 2 tensor × 4 pipeline", Some("2 changed"))
        );
        let [task] = &TASK;
        assert_eq!(told(task, "").tell, "next-token training");
        let dpo = told(task, "?task=dpo&ref=sharded");
        assert_eq!((dpo.tell.as_str(), dpo.changed.as_deref()), ("DPO, reference: a copy, sharded", Some("2 changed")));
        assert_eq!(told(task, "?task=grpo").tell, "GRPO, generated by the trained model");
        let [_, experts, ..] = &MODEL;
        let mixture = told(experts, "?model=mixtral-8x7b");
        assert_eq!((mixture.tell.as_str(), mixture.changed), ("8, of which 2 active", None));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_is_told_in_every_folded_group(scenario in any_scenario()) {
            let facts = facts_of(scenario);
            for fold in MODEL.iter().chain(&GPUS).chain(&TASK).chain(&DETAILS).chain(&OUTSIDE) {
                texts_are_sound(&Told::of(fold, &facts));
            }
        }
    }
}
