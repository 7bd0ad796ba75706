//! The workshop's calculator: its inputs, its presets, and what fills the memory at the largest batch.

mod shown;

use bmax::Field;
use bmax::setting::{self, Setting};
use leptos::prelude::*;

use crate::components::{MemoryBar, MemoryLegend, NumberField, Presets, SettingField};
use crate::site::{State, read};
use shown::{Row, Shown, help};

/// The inputs on the GPU and the training.
const TRAINING: [Field; 2] = [Field::Memory, Field::Gpus];

/// The inputs on the model.
const MODEL: [Field; 5] = [Field::Parameters, Field::Hidden, Field::Layers, Field::Heads, Field::Sequence];

/// The form of the workshop, the answer, and the breakdown of the memory.
#[component]
pub fn WorkshopCalculator(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let shown = Memo::new(move |_| state.read(Shown::of));
    view! {
        <div class="workshop-calculator">
            <form class="workshop-form" aria-label="GPU and model" on:submit=|event| event.prevent_default()>
                <fieldset class="form-group">
                    <legend>"GPU and training"</legend>
                    <div class="controls">
                        {TRAINING.map(|field| number(state, field)).collect_view()}
                        {word(state, &setting::PRECISION)}
                        {word(state, &setting::RECOMPUTATION)}
                    </div>
                </fieldset>
                <fieldset class="form-group">
                    <legend>"Model"</legend>
                    <Presets state/>
                    <div class="controls">{MODEL.map(|field| number(state, field)).collect_view()}</div>
                </fieldset>
            </form>
            <Breakdown shown/>
        </div>
    }
}

fn number(state: State, field: Field) -> impl IntoView {
    let help = Signal::derive(move || state.asked(|scenario| help(field, scenario.method)));
    let idle = Signal::derive(move || state.asked(|scenario| shown::is_unread(field, scenario.method)));
    view! { <NumberField input=state.field(field) id=format!("workshop-{}", field.bound().key) help idle/> }
}

fn word(state: State, setting: &'static Setting) -> impl IntoView {
    let handle = state.setting(setting, setting.effects());
    view! { <SettingField handle id=format!("workshop-{}", setting.key)/> }
}

/// The answer, and what fills the memory with as many sequences as fit.
#[component]
fn Breakdown(shown: Memo<Shown>) -> impl IntoView {
    let bar = Memo::new(move |_| shown.with(|shown| shown.bar.clone()));
    let rows = move || shown.with(|shown| shown.rows.clone());
    let row = |Row { name, size }: Row| {
        view! {
            <div>
                <dt>{name}</dt>
                <dd class="num">{size}</dd>
            </div>
        }
    };
    view! {
        <div class="workshop-result" role="group" aria-label="The answer">
            <p class="soft small">"The largest batch on each GPU"</p>
            <p class="readout num" data-testid="workshop-most">{read(shown, |shown| &shown.most)}</p>
            <p class="workshop-told" data-testid="workshop-told">{read(shown, |shown| &shown.told)}</p>
            <dl class="workshop-rows" data-testid="workshop-rows">{move || rows().into_iter().map(row).collect_view()}</dl>
            <MemoryBar bar/>
            <MemoryLegend bar/>
        </div>
    }
}
