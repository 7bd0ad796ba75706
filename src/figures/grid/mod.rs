//! One model on a grid of GPUs.

mod shown;

use bmax::course::splitting::Group;
use bmax::{Choice, Switch};
use bmax::{Field, setting};
use leptos::prelude::*;

use crate::components::{Column, DataTable, Key, Legend, NumberField, NumberInput, Segmented, SettingField, UseButton};
use crate::site::{State, derived, read};
use shown::{Replica, Shown, example};

static GROUPS: [(Group, &str); 5] = [
    (Group::Tensor, "tensor"),
    (Group::Context, "context"),
    (Group::Pipeline, "pipeline"),
    (Group::Expert, "expert"),
    (Group::Data, "data"),
];

static KEYS: [Key; 3] = [
    Key { class: "grid-key", name: "a GPU, with its number" },
    Key { class: "grid-key is-lit", name: "one of the marked group" },
    Key { class: "grid-key is-copy", name: "a copy of the model; each row is a stage, the first on top" },
];

static HELD: [Column; 9] = [
    Column::words("Stage"),
    Column::numbers("Layers"),
    Column::numbers("Billion parameters"),
    Column::numbers("Micro-batches kept"),
    Column::numbers("Model states"),
    Column::numbers("Activations"),
    Column::numbers("Everything else"),
    Column::numbers("Peak"),
    Column::words("Fits"),
];

static CROSSING: [Column; 5] = [
    Column::words("Parallelism"),
    Column::words("What crosses"),
    Column::words("Over a link"),
    Column::numbers("Exchanges a step"),
    Column::numbers("Bytes a step"),
];

/// Who is in which group, what each stage holds and what they send each other.
#[component]
pub fn Grid(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let group = RwSignal::new(Group::Tensor);
    let shown = Memo::new(move |_| state.asked(|scenario| Shown::of(scenario, group.get())));
    view! {
        <Controls state/>
        <Segmented id="grid-group" legend="Mark who shares with GPU 0" options=GROUPS value=group/>
        <div class="grid-layout">
            <Drawing shown/>
            <Words shown/>
        </div>
        <Legend keys=&KEYS/>
        <DataTable
            caption="What one GPU of each stage holds at its peak, by the ledger"
            name="stages"
            label="Memory of one GPU by stage"
            columns=&HELD
            rows=derived(shown, |shown| &shown.held)
            class="grid-table"
        />
        <DataTable
            caption="What one GPU of the fullest stage sends in an optimizer step, without recomputation"
            name="crossing"
            label="Communication by kind of parallelism"
            columns=&CROSSING
            rows=derived(shown, |shown| &shown.crossing)
            class="grid-table"
        />
    }
}

/// The sizes of the grid.
#[component]
fn Controls(state: State) -> impl IntoView {
    // D stands for the copies here.
    let gpus = NumberInput { symbol: "", ..state.field(Field::Gpus).into() };
    let number =
        |field: Field, id: &'static str| view! { <NumberField input=state.field(field) id help=field.help()/> };
    view! {
        <p class="live-note">
            "An example, 16 GPUs with T = 2, P = 4 and 8 micro-batches: "
            <UseButton what="the example" press=move |()| state.change(example)/>
        </p>
        <div class="live-controls">
            <NumberField input=gpus id="grid-gpus" help=const { Field::Gpus.help() }/>
            {number(Field::TensorParallel, "grid-t")}
            {number(Field::PipelineParallel, "grid-p")}
            {number(Field::ContextParallel, "grid-c")}
            {number(Field::ExpertParallel, "grid-x")}
            {number(Field::MicroBatches, "grid-m")}
            <SettingField handle=state.setting(&setting::SEQUENCE_PARALLEL, Switch::EFFECTS) id="grid-sp"/>
        </div>
    }
}

/// A box for each GPU, as far as there is room. The text says the same.
#[component]
fn Drawing(shown: Memo<Shown>) -> impl IntoView {
    let copies = Memo::new(move |_| shown.with(|shown| shown.copies.clone()));
    view! {
        <div class="grid-drawing" role="img" aria-label=read(shown, |shown| &shown.drawn) data-testid="drawing">
            {move || copies.get().into_iter().map(copy).collect_view()}
        </div>
    }
}

/// One copy of the model, a row for each stage.
fn copy(copy: Replica) -> impl IntoView {
    let row = |stage: Vec<shown::Gpu>| {
        let gpu = |gpu: shown::Gpu| {
            view! { <span class="grid-gpu" class:is-lit=gpu.lit class:is-apart=gpu.apart>{gpu.label}</span> }
        };
        view! { <div class="grid-stage">{stage.into_iter().map(gpu).collect_view()}</div> }
    };
    view! { <div class="grid-copy">{copy.stages.into_iter().map(row).collect_view()}</div> }
}

/// The grid in words.
#[component]
fn Words(shown: Memo<Shown>) -> impl IntoView {
    view! {
        <div class="grid-words">
            <p class="live-note">
                "One copy of the model takes " <strong class="num" data-testid="copy">{read(shown, |shown| &shown.copy)}</strong>
                ", and " <span class="num" data-testid="data">{read(shown, |shown| &shown.data)}</span>
                " at once, each with data of its own. " {read(shown, |shown| &shown.left)}
            </p>
            <p class="live-note">{read(shown, |shown| &shown.drawn)}</p>
            <p class="live-note">
                "The bubble of the pipeline: each stage waits " <strong class="num" data-testid="bubble">{read(shown, |shown| &shown.bubble)}</strong>
                " of the time it computes, " <span class="num" data-testid="idle">{read(shown, |shown| &shown.idle)}</span>
                " of the whole step. " {read(shown, |shown| &shown.full)}
            </p>
        </div>
    }
}
