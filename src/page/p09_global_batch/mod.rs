//! From the global batch a recipe asks for to micro-batch, GPUs and accumulation steps.

mod drawing;
mod planned;

use bmax::{BatchUnit, Choice, Field, estimate, setting};
use leptos::html;
use leptos::prelude::*;

use crate::site::controls::{NumberField, Segmented};
use crate::site::{SettingHandle, State, format};
use drawing::Drawing;
use planned::{Planned, equation, in_unit};

/// The target, the plan that reaches it, and what that plan looks like in time.
#[component]
pub fn Planner(state: State) -> impl IntoView {
    // The same amount in the other unit: 256 sequences do not become 256 tokens.
    let write = Callback::new(move |word: String| {
        if let Some(unit) = BatchUnit::from_key(&word) {
            state.change(|scenario| in_unit(scenario, unit));
        }
    });
    let unit = SettingHandle { write, ..state.setting(&setting::BATCH_UNIT) };
    // The reader may prefer the other of two plans; that is no part of the configuration.
    let other = RwSignal::new(false);
    let planned = Memo::new(move |_| Planned::of(&state.scenario.get(), &state.answer.get(), other.get()));
    let asked = move || planned.with(|planned| planned.as_ref().map(Planned::asked).unwrap_or_default());
    let chosen = move || planned.with(|planned| planned.as_ref().ok().map(Planned::chosen));
    let grouped = move || planned.with(|planned| planned.as_ref().is_ok_and(|planned| planned.group() > 1));
    let words = move || planned.with(|planned| planned.as_ref().map_or_else(Clone::clone, Planned::words));
    view! {
        <div class="planner">
            <div class="planner-target">
                <NumberField handle=state.field(Field::GlobalBatch) id="target-batch" explained=false />
                <Segmented handle=unit id="target-batch-unit" explained=false />
                <p class="field-help planner-asked">{asked}</p>
                <Nearby state planned />
            </div>
            <div class="planner-plan">
                <p class="planner-equation">
                    <output class="readout num" data-testid="planner-result">
                        {move || chosen().map_or_else(|| "no plan".to_owned(), equation)}
                    </output>
                    <span class="soft small"><i>"B"</i>" = "<i>"b"</i>" · "<i>"D"</i>" · steps"</span>
                </p>
                <p class="planner-words" data-testid="planner-words">{words}</p>
                <Alternatives planned other />
            </div>
            <Drawing plan=Memo::new(move |_| chosen()) grouped=Memo::new(move |_| grouped()) />
            <Facts state planned />
        </div>
    }
}

/// The other plan, where hitting the target exactly takes more steps than reaching it.
#[component]
fn Alternatives(planned: Memo<Result<Planned, String>>, other: RwSignal<bool>) -> impl IntoView {
    let offer = move || planned.with(|planned| planned.as_ref().ok().and_then(Planned::other_plan_text));
    view! {
        <p class="planner-other">
            <button type="button" class="button button-quiet button-small" hidden=move || offer().is_none() data-testid="planner-other"
                on:click=move |_| other.update(|other| *other = !*other)>{move || offer().unwrap_or_default()}</button>
        </p>
    }
}

/// Tokens a step, the micro-batch and its memory.
#[component]
fn Facts(state: State, planned: Memo<Result<Planned, String>>) -> impl IntoView {
    let plan = move || planned.with(|planned| planned.as_ref().ok().map(Planned::chosen));
    let text =
        move |of: fn(&Planned) -> String| planned.with(|planned| planned.as_ref().map_or_else(|_| "–".to_owned(), of));
    let peak = move || {
        let Some(plan) = plan() else { return "–".to_owned() };
        let at_plan = estimate(&state.scenario.get().with_batch(plan.micro_batch));
        format::memory(at_plan.peak().bytes)
    };
    let in_use =
        move || plan().is_none_or(|plan| state.scenario.with(|scenario| scenario.recipe.batch == plan.micro_batch));
    let take = move |_| {
        if let Some(plan) = plan() {
            state.change(|scenario| scenario.with_batch(plan.micro_batch));
        }
    };
    view! {
        <dl class="planner-facts">
            <div><dt>"Tokens per optimizer step"</dt><dd class="num" data-testid="planner-tokens">{move || text(Planned::tokens)}</dd></div>
            <div>
                <dt>"Micro-batch "<i>"b"</i></dt>
                <dd class="num"><span data-testid="planner-micro-batch">{move || text(Planned::micro_batch)}</span>
                    <button type="button" class="button button-quiet button-small" data-testid="planner-use" on:click=take aria-disabled=move || in_use().to_string()>"Use this micro-batch"</button></dd>
            </div>
            <div><dt>"Peak memory at this "<i>"b"</i></dt><dd class="num">{peak}</dd></div>
        </dl>
        <p class="field-help">
            "The optimizer steps once after all accumulation steps. More of them take more time and no more memory: gradients are added to the gradients that are there, and activations are freed before the next micro-batch."
        </p>
    }
}

/// Targets nearby that leave nothing over.
#[component]
fn Nearby(state: State, planned: Memo<Result<Planned, String>>) -> impl IntoView {
    let region = NodeRef::<html::Div>::new();
    let set = move |target: u32| {
        state.change(|scenario| scenario.with_number(Field::GlobalBatch, target.into()).unwrap_or(scenario));
        // The pressed button is gone now; the keyboard goes on from where it was.
        if let Some(region) = region.get_untracked() {
            _ = region.focus();
        }
    };
    let button = move |target: u32| {
        let text = format::count(target);
        let unit = state.scenario.with_untracked(|scenario| scenario.goal.unit.label());
        view! {
            <button type="button" class="button button-quiet button-small num" data-testid="planner-nearby"
                aria-label=format!("Set the target to {text} {unit}") on:click=move |_| set(target)>{text.clone()}</button>
        }
    };
    view! {
        <div class="planner-nearby" role="group" aria-label="Targets nearby" tabindex="-1" node_ref=region>
            <p class="small">{move || planned.with(|planned| planned.as_ref().map_or_else(|_| String::new(), Planned::nearby_text))}</p>
            <div class="button-row">{move || planned.with(|planned| planned.as_ref().map_or_else(|_| Vec::new(), |planned| planned.nearby.clone())).into_iter().map(button).collect_view()}</div>
        </div>
    }
}
