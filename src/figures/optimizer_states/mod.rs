//! What each optimizer remembers.

mod shown;

use bmax::chart::Tint;
use bmax::{Bucket, Choice, Precision, ZeroStage};
use bmax::{Field, Optimizer, setting};
use leptos::prelude::*;

use crate::components::{Column, DataTable, Fold, Key, Legend, NumberField, SettingField, UseButton};
use crate::site::{State, derived, format, read};
use shown::{COMPARED, Held, Shown};

/// The memory that all bars show.
const STATE: Tint = Tint::Bucket(Bucket::Optimizer);

static KEYS: [Key; 2] = [
    Key::of(STATE, "Optimizer state: what the optimizer remembers"),
    Key::of(STATE, "Optimizer state: fp32 master copy, which belongs to the recipe").drawn("state-master-legend"),
];

static COLUMNS: [Column; 6] = [
    Column::words("Optimizer"),
    Column::numbers("Bytes a weight"),
    Column::numbers("All GPUs"),
    Column::numbers("Each GPU"),
    Column::numbers("With master copy"),
    Column::numbers("Largest b"),
];

/// Every optimizer with a bar for what it remembers, and the press that puts it in use.
#[component]
pub fn OptimizerStates(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let shown = Memo::new(move |_| state.asked(Shown::of));
    let done = RwSignal::new(String::new());
    view! {
        <div class="live-controls">
            <SettingField handle=state.setting(&setting::PRECISION, Precision::EFFECTS) id="optimizer-states-precision"/>
            <SettingField handle=state.setting(&setting::ZERO, ZeroStage::EFFECTS) id="optimizer-states-zero"/>
            <NumberField
                input=state.field(Field::Gpus)
                id="optimizer-states-gpus"
                help=const { Field::Gpus.help() }
            />
        </div>
        <p class="live-note state-note">
            "Of "<strong class="num">{read(shown, |shown| &shown.weights)}</strong>
            " billion trained weights, yours remembers "
            <strong class="num" data-testid="own">{read(shown, |shown| &shown.own)}</strong>" on each GPU ("
            <span class="num">{read(shown, |shown| &shown.whole)}</span>" over all), beside "
            <span class="num">{read(shown, |shown| &shown.master)}</span>" of fp32 master copy."
            {read(shown, |shown| &shown.remark)}
        </p>
        <ul class="states">{(0..COMPARED.len()).map(|at| view! { <Item at state shown done/> }).collect_view()}</ul>
        <Legend keys=&KEYS/>
        <p class="visually-hidden" role="status" data-testid="done">{move || done.get()}</p>
        <Fold summary="The same as a table">
            <DataTable
                caption="Optimizer state, and the largest micro-batch with it"
                name="states"
                label="Optimizer state by optimizer"
                columns=&COLUMNS
                rows=derived(shown, |shown| &shown.rows)
            />
        </Fold>
    }
}

/// One optimizer.
#[component]
fn Item(at: usize, state: State, shown: Memo<Shown>, done: RwSignal<String>) -> impl IntoView {
    let compared = &COMPARED[at];
    let key = compared.key();
    let text = move |of: fn(&Held) -> &String| move || shown.with(|shown| of(&shown.held[at]).clone());
    let button = compared.optimizer.map(|optimizer| {
        let press = move |()| done.set(put_in_use(state, optimizer));
        view! { <UseButton what=compared.name press/> }
    });
    let without = button.is_none().then(|| view! { <span class="visually-hidden">"No setting on this page"</span> });
    view! {
        <li class="state" class:is-own=move || shown.with(|shown| shown.held[at].own) data-testid=format!("row-{key}")>
            <p class="state-name"><strong>{compared.name}</strong>" "<span class="soft">{compared.remembers}</span></p>
            <p class="state-size">
                <span class="num">{text(|held| &held.each)}</span>" B a weight · "
                <strong class="num" data-testid=format!("gpu-{key}")>{text(|held| &held.gpu)}</strong>
            </p>
            <div
                class="state-bar"
                data-testid=format!("bar-{key}")
                aria-hidden="true"
                style=("--moments", text(|held| &held.moments))
                style=("--master", text(|held| &held.master))
            >
                <span data-bucket=STATE.key()></span>
                <span data-bucket=STATE.key() class="state-master"></span>
            </div>
            <p class="state-batch">
                <math><msub><mi>"b"</mi><mi>"max"</mi></msub></math>" "
                <span class="num" data-testid=format!("batch-{key}")>{text(|held| &held.batch)}</span>
            </p>
            <div class="state-use">{button}{without}</div>
        </li>
    }
}

/// Puts an optimizer in use; what that does to the largest batch.
fn put_in_use(state: State, optimizer: Optimizer) -> String {
    let before = state.peek(|facts| format::answer(&facts.answer));
    state.change(|mut scenario| {
        scenario.recipe.optimizer = optimizer;
        scenario
    });
    state.peek(|facts| shown::done(optimizer, &before, facts))
}
