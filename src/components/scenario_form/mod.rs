//! The inputs, common ones first; the rest in folded groups that say what is inside.

mod agreement;
mod groups;
mod hidden;
mod sieve;
mod tells;
mod top;

use bmax::catalogue::{MODELS, ModelGroup, ModelRow};
use bmax::compare::Input::{self, Number, Word};
use bmax::{Choice, Method, Scenario};
use leptos::either::Either;
use leptos::ev::Event;
use leptos::prelude::*;
use web_sys::Element;

use super::{Combobox, Listed, Model, NumberField, Segmented, SettingField};
use crate::site::{Facts, State, format, read};
use groups::{Fold, GPUS, GROUPS, Group, MODEL};
use hidden::is_hidden;
use sieve::Sieve;
use top::{Changed, Finder};

/// Where the form stands: the identifiers of its fields differ, because both may be on one page.
#[derive(Clone, Copy, PartialEq)]
pub enum Home {
    /// In the figure of the calculator, whose fields addresses name.
    Calculator,
    /// In the drawer over any page.
    Drawer,
}

/// What every part of the form knows. It is a handful of handles and is passed by value.
#[derive(Clone, Copy)]
struct Form {
    state: State,
    /// The state behind the next paint: which inputs matter and what the folded groups come to are read from it, so that
    /// what is typed is shown first.
    after: State,
    sieve: Sieve,
    home: Home,
}

impl Form {
    /// One of two identifiers: as the calculator has it, and as the drawer has it.
    fn either(self, calculator: &'static str, drawer: &'static str) -> &'static str {
        match self.home {
            Home::Calculator => calculator,
            Home::Drawer => drawer,
        }
    }

    /// The identifier of the field of an input with this name in links.
    fn id(self, key: &str) -> String {
        format!("{}-{key}", self.either("calculator", "settings"))
    }
}

/// Every input of the scenario, in groups; above them what finds one, and which are changed.
#[component]
pub fn ScenarioForm(
    /// The shared state.
    state: State,
    /// Where it stands.
    home: Home,
) -> impl IntoView {
    let sieve = Sieve::new();
    let form = Form { state, after: state.later(), sieve, home };
    view! {
        <form class="scenario-form" aria-label="Configuration" on:submit=|event| event.prevent_default()>
            <Finder form/>
            <div hidden=move || sieve.hides(["method"])><MethodSwitch form/></div>
            <Changed state=form.after/>
            <ModelInputs form/>
            <DeviceInputs form/>
            {GROUPS.iter().map(|group| view! { <Inputs form group/> }).collect_view()}
        </form>
    }
}

/// The model: its row of the catalogue, its numbers, and how one comes in that is not listed.
#[component]
fn ModelInputs(form: Form) -> impl IntoView {
    let Form { state, sieve, .. } = form;
    let keys = || MODEL.all().map(Input::key);
    let id = form.either("model", "settings-model");
    view! {
        <fieldset class="form-group" hidden=move || sieve.hides(keys().chain(["model"]))>
            <legend>{MODEL.name}</legend>
            <div hidden=move || sieve.hides(["model"])><Combobox listed=Listed::Model id state/></div>
            <div hidden=move || sieve.is_on()><Presets state/></div>
            {controls(form, MODEL.inputs)}
            <div hidden=move || sieve.is_on()><Count state after=form.after/></div>
            <details class="form-more config-fold" data-desk="config" hidden=move || sieve.is_on()>
                <summary>"Paste a config.json"</summary>
                <p class="field-help" id=form.either("config-help", "settings-config-help")>
                    "Every model on Hugging Face has a config.json with its dimensions. Paste its text, choose the file or drop it here. This page reads it and sends it nowhere."
                </p>
            </details>
            {folds(form, &MODEL)}
        </fieldset>
    }
}

/// The GPUs: their row of the catalogue, their memory and their number.
#[component]
fn DeviceInputs(form: Form) -> impl IntoView {
    let Form { state, sieve, .. } = form;
    let keys = || GPUS.all().map(Input::key);
    let id = form.either("gpu", "settings-gpu");
    view! {
        <fieldset class="form-group" hidden=move || sieve.hides(keys().chain(["gpu"]))>
            <legend>{GPUS.name}</legend>
            <div hidden=move || sieve.hides(["gpu"])><Combobox listed=Listed::Gpu id state/></div>
            {controls(form, GPUS.inputs)}
            {folds(form, &GPUS)}
        </fieldset>
    }
}

/// A group of inputs.
#[component]
fn Inputs(form: Form, group: &'static Group) -> impl IntoView {
    view! {
        <fieldset class="form-group" hidden=move || form.sieve.hides(group.all().map(Input::key))>
            <legend>{group.name}</legend>
            {(!group.inputs.is_empty()).then(|| controls(form, group.inputs))}
            {folds(form, group)}
        </fieldset>
    }
}

/// Whose count answers.
#[component]
fn MethodSwitch(form: Form) -> impl IntoView {
    let state = form.state;
    let method = Signal::derive(move || state.asked(|scenario| scenario.method));
    let pick = move |method| state.change(|scenario| Scenario { method, ..scenario });
    view! {
        <Segmented
            id=form.either("method", "settings-method")
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

fn folds(form: Form, group: &'static Group) -> impl IntoView {
    group.folds.iter().map(|fold| view! { <FoldedInputs form fold/> }).collect_view()
}

fn controls(form: Form, inputs: &'static [Input]) -> impl IntoView {
    let controls = inputs.iter().map(|input| view! { <Control form input=*input/> }).collect_view();
    view! { <div class="controls" hidden=move || form.sieve.hides(inputs.iter().map(|input| input.key()))>{controls}</div> }
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
/// even made, unless one of them is sought.
#[component]
fn FoldedInputs(form: Form, fold: &'static Fold) -> impl IntoView {
    let Form { after, sieve, .. } = form;
    let found = Memo::new(move |_| sieve.finds(fold.inputs.iter().map(|input| input.key())));
    let matters = Memo::new(move |_| {
        after.read(|facts| fold.inputs.iter().any(|input| !is_hidden(*input, &facts.scenario, &facts.base)))
    });
    let made = Memo::new(move |before| before == Some(&true) || matters.get() || found.get() == Some(true));
    move || made.get().then(|| view! { <Unfolding form fold found/> })
}

/// The inputs of such a group are made when it is first unfolded: there are more of them than of all else in the form, and
/// most readers never ask for them. What is sought unfolds it; then it is again as the reader left it.
#[component]
fn Unfolding(form: Form, fold: &'static Fold, found: Memo<Option<bool>>) -> impl IntoView {
    let told = Memo::new(move |_| form.after.read(|facts| Told::of(fold, facts)));
    let (unfolded, left_open) = (RwSignal::new(false), RwSignal::new(false));
    let toggled = move |event: Event| {
        unfolded.set(true);
        if found.get_untracked().is_none() {
            left_open.set(event_target::<Element>(&event).has_attribute("open"));
        }
    };
    view! {
        <details
            class="form-more"
            hidden=move || found.get() == Some(false)
            prop:open=move || found.get().unwrap_or_else(|| left_open.get())
            on:toggle=toggled
        >
            <summary>
                {fold.name} <span class="soft num">": " {read(told, |told| &told.tell)}</span> " "
                {move || told.with(|told| told.changed.clone()).map(changed)}
            </summary>
            <Show when=move || unfolded.get()>{controls(form, fold.inputs)}</Show>
        </details>
    }
}

fn changed(text: String) -> impl IntoView {
    view! { <span class="fold-changed num">{text}</span> }
}

/// The count of parameters that follows from the shape: what the ledger counts with, or how the typed one agrees with
/// it, and the way to use it.
#[component]
fn Count(state: State, after: State) -> impl IntoView {
    let shown = Memo::new(move |_| after.asked(agreement::Shown::of));
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
/// it, unless it was changed: a changed value is never out of sight. Before something can, it is not even made. While
/// inputs are sought, those are in sight that are found.
#[component]
fn Control(form: Form, input: Input) -> impl IntoView {
    let Form { after, sieve, .. } = form;
    let found = Memo::new(move |_| sieve.finds([input.key()]));
    let idle = Memo::new(move |_| after.read(|facts| is_hidden(input, &facts.scenario, &facts.base)));
    let hidden = Memo::new(move |_| found.get().map_or_else(|| idle.get(), |found| !found));
    let made = Memo::new(move |before| before == Some(&true) || !hidden.get());
    move || made.get().then(|| control(form, input, hidden)).flatten()
}

/// None for the model and the GPU, which have lists of their own.
fn control(form: Form, input: Input, hidden: Memo<bool>) -> Option<impl IntoView> {
    let state = form.state;
    let why_idle = move || form.after.asked(|scenario| input.idle(scenario));
    let idle = Signal::derive(move || !why_idle().is_empty());
    let or_idle = move |help: &'static str| if idle.get() { why_idle() } else { help };
    Some(match input {
        Number(field) => {
            let help = Signal::derive(move || or_idle(field.help()));
            let id = form.id(field.bound().key);
            Either::Left(view! { <NumberField input=state.field(field) id help idle hidden/> })
        }
        Word(setting) => {
            let handle = state.setting(setting, setting.effects());
            let help = Signal::derive(move || or_idle(handle.effect()));
            let id = form.id(setting.key);
            Either::Right(view! { <SettingField handle id help idle hidden/> })
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::check::{any_scenario, texts_are_sound};
    use crate::site::facts_of;
    use groups::groups;
    use proptest::prelude::*;

    #[test]
    fn a_folded_group_says_what_is_inside_and_how_much_of_it_was_changed() {
        let told = |fold: &Fold, query: &str| Told::of(fold, &facts_of(bmax::link::decode(query).scenario));
        let fold = |name: &str| groups().flat_map(|group| group.folds).find(|fold| fold.name == name).expect("a fold");
        let parallelism = fold("How the work is divided");
        let divided = told(parallelism, "?tp=2&pp=4&gpus=16&zero=1");
        assert_eq!((divided.tell.as_str(), divided.changed.as_deref()), ("2 data × 2 tensor × 4 pipeline", None));
        let task = fold("DPO, GRPO, PPO, distillation");
        assert_eq!(told(task, "").tell, "next-token training");
        let dpo = told(task, "?task=dpo&ref=sharded");
        assert_eq!((dpo.tell.as_str(), dpo.changed.as_deref()), ("DPO, reference: a copy, sharded", Some("2 changed")));
        assert_eq!(told(task, "?task=grpo").tell, "GRPO, generated by the trained model");
        let mixture = told(fold("Mixture of experts"), "?model=mixtral-8x7b");
        assert_eq!((mixture.tell.as_str(), mixture.changed), ("8, of which 2 active", None));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_scenario_is_told_in_every_folded_group(scenario in any_scenario()) {
            let facts = facts_of(scenario);
            for fold in groups().flat_map(|group| group.folds) {
                texts_are_sound(&Told::of(fold, &facts));
            }
        }
    }
}
