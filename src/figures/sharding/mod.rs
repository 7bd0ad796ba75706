//! The memory of one GPU at each ZeRO stage.

mod shown;

use bmax::chart::Tint;
use bmax::course::scaling::STAGES;
use bmax::{Bucket, Field};
use leptos::prelude::*;

use crate::components::{Column, DataTable, Fold, Key, Legend, NumberField};
use crate::site::{State, derived, read};
use shown::Shown;

/// The parts of a bar from its left.
const PARTS: [Tint; 6] = [
    Tint::Bucket(Bucket::Parameters),
    Tint::Bucket(Bucket::Gradients),
    Tint::Bucket(Bucket::Optimizer),
    Tint::Bucket(Bucket::Activations),
    Tint::Bucket(Bucket::Logits),
    Tint::Other,
];

static KEYS: [Key; PARTS.len()] = [
    Key::memory(PARTS[0]),
    Key::memory(PARTS[1]),
    Key::memory(PARTS[2]),
    Key::memory(PARTS[3]),
    Key::memory(PARTS[4]),
    Key::memory(PARTS[5]),
];

static COLUMNS: [Column; 9] = [
    Column::words("Stage"),
    Column::numbers("Parameters"),
    Column::numbers("Gradients"),
    Column::numbers("Optimizer state"),
    Column::numbers("Activations"),
    Column::numbers("Logits and loss"),
    Column::numbers("Everything else"),
    Column::numbers("Peak"),
    Column::numbers("Largest b"),
];

/// A bar for each stage, against what a step may use.
#[component]
pub fn Sharding(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let shown = Memo::new(move |_| state.asked(Shown::of));
    view! {
        <div class="live-controls">
            <NumberField input=state.field(Field::Gpus) id="sharding-gpus" help=const { Field::Gpus.help() }/>
            <NumberField input=state.field(Field::Batch) id="sharding-b" help=const { Field::Batch.help() }/>
        </div>
        <div class="shards" style=("--usable", read(shown, |shown| &shown.usable))>
            {(0..STAGES.len()).map(|stage| view! { <Bar shown stage/> }).collect_view()}
            <p class="shard-usable">
                "usable: " <span class="num">{read(shown, |shown| &shown.usable_text)}</span>
            </p>
        </div>
        <Legend keys=&KEYS/>
        <Effective shown/>
        <p class="field-help">
            "One GPU at the peak, with several micro-batches: then the gradients of the earlier ones are there, too."
        </p>
        <Fold summary="The same as a table">
            <DataTable
                caption="Memory of one GPU at its peak, and the largest micro-batch"
                name="stages"
                label="Memory of one GPU by ZeRO stage"
                columns=&COLUMNS
                rows=derived(shown, |shown| &shown.rows)
            />
        </Fold>
    }
}

/// One GPU at one stage: what it needs in words and as a bar. The table has its numbers.
#[component]
fn Bar(shown: Memo<Shown>, stage: usize) -> impl IntoView {
    let length = move |part: usize| move || shown.with(|shown| shown.bars[stage].lengths[part].clone());
    let part = |at: usize| view! { <span data-bucket=PARTS[at].key() style=("--share", length(at))></span> };
    view! {
        <div class="shard">
            <p>
                <strong>{format!("Stage {stage}")}</strong> " "
                <span
                    class="num"
                    class:is-over=move || shown.with(|shown| shown.bars[stage].over)
                    data-testid=format!("verdict-{stage}")
                >
                    {move || shown.with(|shown| shown.bars[stage].verdict.clone())}
                </span>
            </p>
            <div class="shard-bar" data-testid=format!("stage-{stage}")>
                {(0..PARTS.len()).map(part).collect_view()}
            </div>
        </div>
    }
}

/// How many sequences all GPUs together see.
#[component]
fn Effective(shown: Memo<Shown>) -> impl IntoView {
    view! {
        <p class="live-note batches-3">
            "Global batch: " <span class="num">{read(shown, |shown| &shown.batch)}</span> " · "
            <span class="num">{read(shown, |shown| &shown.replicas)}</span> " = "
            <strong class="num" data-testid="at-once">{read(shown, |shown| &shown.at_once)}</strong>
            " " {move || shown.with(|shown| shown.unit)} " at once; with " <span class="num">{read(shown, |shown| &shown.steps)}</span>
            ", as your target asks, "
            <strong class="num" data-testid="effective">{read(shown, |shown| &shown.effective)}</strong> "."
        </p>
    }
}
