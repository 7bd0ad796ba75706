//! One model on a grid of GPUs.

mod shown;

use bmax::course::splitting::Group;
use bmax::{Choice, Switch};
use bmax::{Field, setting};
use leptos::prelude::*;

use crate::components::{Column, DataTable, Key, Legend, NumberField, NumberInput, Segmented, SettingField};
use crate::site::{State, derived, read};
use shown::{Replica, Shown, Whose, example};

static GROUPS: [(Group, &str); 5] = [
    (Group::Tensor, "tensor"),
    (Group::Context, "context"),
    (Group::Pipeline, "pipeline"),
    (Group::Expert, "expert"),
    (Group::Data, "data"),
];

static KEYS: [Key; 3] = [
    Key::new("grid-key", "a GPU, with its number"),
    Key::new("grid-key is-lit", "one of the marked group"),
    Key::new("grid-key is-copy", "a copy of the model; each row is a stage, the first on top"),
];

static HELD: [Column; 10] = [
    Column::words("Stage"),
    Column::numbers("Layers"),
    Column::numbers("Billion parameters"),
    Column::numbers("Micro-batches kept"),
    Column::numbers("Model states"),
    Column::numbers("Activations"),
    Column::numbers("Logits and loss"),
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
    // Whether the reader asks for their own configuration, even if it splits nothing.
    let own = RwSignal::new(false);
    let shown = Memo::new(move |_| state.asked(|scenario| Shown::opened(scenario, own.get(), group.get())));
    view! {
        <Controls state own/>
        <DrawnOf state shown own/>
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
            cards=true
            class="grid-table"
        />
        <DataTable
            caption="What one GPU of the fullest stage sends in an optimizer step, without recomputation"
            name="crossing"
            label="Communication by kind of parallelism"
            columns=&CROSSING
            rows=derived(shown, |shown| &shown.crossing)
            cards=true
            class="grid-table"
        />
    }
}

/// The sizes of the grid. Whoever sets one wants to see their own.
#[component]
fn Controls(state: State, own: RwSignal<bool>) -> impl IntoView {
    // D stands for the copies here.
    let gpus = NumberInput { symbol: "", ..state.field(Field::Gpus).into() };
    let number =
        |field: Field, id: &'static str| view! { <NumberField input=state.field(field) id help=field.help()/> };
    view! {
        <div class="live-controls" on:input=move |_| own.set(true)>
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

/// Whether the reader's own or an example is drawn, and the way to the other one.
#[component]
fn DrawnOf(state: State, shown: Memo<Shown>, own: RwSignal<bool>) -> impl IntoView {
    let whose = Memo::new(move |_| shown.with(|shown| shown.whose));
    let is_example = move || whose.get() == Whose::Example;
    let about = move || match whose.get() {
        Whose::Example => "Your configuration splits no model, so this is another one: ",
        Whose::Unsplit => "This is your configuration, which splits no model. An example: ",
        Whose::Split => "This is your configuration. An example: ",
    };
    view! {
        <div class="grid-whose" data-testid="whose">
            <p class="live-note">
                <strong class="badge" hidden=move || !is_example()>"Example"</strong> " "
                {about} "16 GPUs with T = 2, P = 4 and 8 micro-batches."
            </p>
            <div class="button-row">
                <button
                    type="button"
                    class="button button-quiet button-small"
                    hidden=move || whose.get() == Whose::Split
                    on:click=move |_| own.update(|own| *own = !*own)
                >
                    {move || if is_example() { "Show mine" } else { "Show the example" }}
                </button>
                <button
                    type="button"
                    class="button button-quiet button-small"
                    on:click=move |_| state.change(example)
                >
                    "Use the example"
                </button>
            </div>
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
