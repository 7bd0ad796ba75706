//! Why only activations scale: the shapes of one linear layer while the batch changes.

mod drawing;
mod layer;
mod table;

use bmax::ChoiceOption;
use leptos::prelude::*;

use layer::{Layer, size};

use super::p04_grow::{BatchSlider, batch_text};
use crate::site::controls::Segmented;
use crate::site::{SettingHandle, State, format};

/// The drawing, the slider that feeds it and the sizes as a table.
#[component]
pub fn Shapes(state: State) -> impl IntoView {
    let worked = RwSignal::new(false);
    let layer = Memo::new(move |_| if worked.get() { Layer::WORKED } else { state.scenario.with(Layer::of) });
    let batch = Memo::new(move |_| state.scenario.with(|scenario| scenario.recipe.batch));
    let (layer, batch) = (Signal::from(layer), Signal::from(batch));
    view! {
        <div class="shapes">
            <LayerSwitch worked />
            <BatchSlider state id="shapes-batch" text=batch_text(state) />
            <div class="shapes-drawing">
                <drawing::Equation layer batch />
                <p class="shapes-caption"><InputSize layer batch /></p>
                <drawing::Companions />
                <p class="shapes-caption"><WeightSize layer /></p>
            </div>
            <table::SizesTable layer batch />
            <p class="soft small">{move || note(layer.get())}</p>
        </div>
    }
}

/// Your model's width or the worked layer of the text.
#[component]
fn LayerSwitch(worked: RwSignal<bool>) -> impl IntoView {
    static OPTIONS: [ChoiceOption; 2] = [
        ChoiceOption { key: "own", label: "Your model", effect: "" },
        ChoiceOption { key: "worked", label: "4096 × 4096 layer", effect: "" },
    ];
    let value = Signal::derive(move || if worked.get() { OPTIONS[1].key } else { OPTIONS[0].key });
    let handle = SettingHandle {
        name: "Layer",
        options: &OPTIONS,
        value,
        // A way of looking is no setting, so it is never marked as changed.
        default: value,
        write: Callback::new(move |word: String| worked.set(word == OPTIONS[1].key)),
    };
    view! { <Segmented handle id="shapes-layer" explained=false /> }
}

#[component]
fn InputSize(layer: Signal<Layer>, batch: Signal<u32>) -> impl IntoView {
    let shape = move || {
        let Layer { hidden, sequence, .. } = layer.get();
        format!("[{}, {}, {}]", format::count(batch.get()), format::count(sequence), format::count(hidden))
    };
    view! {
        <i>"X"</i>" "<span class="num">{shape}</span>": "
        <strong class="num" data-testid="shapes-input">{move || size(layer.get().input(batch.get()))}</strong>
        ", scales with "<i>"b"</i>
    }
}

#[component]
fn WeightSize(layer: Signal<Layer>) -> impl IntoView {
    let all = move || {
        let layer = layer.get();
        size(layer.weights() + layer.gradient() + layer.moments())
    };
    let shape = move || {
        let hidden = format::count(layer.get().hidden);
        format!("[{hidden}, {hidden}]")
    };
    view! {
        <i>"W"</i>", "<i>"dW"</i>", "<i>"m"</i>" and "<i>"v"</i>", each "<span class="num">{shape}</span>": "
        <strong class="num" data-testid="shapes-fixed">{all}</strong>
        " together, fixed"
    }
}

fn note(layer: Layer) -> String {
    format!(
        "One layer, whole, before any sharding. X at {} bytes an element, W and its three companions in fp32. Y is the next layer’s X. The drawing is not to scale.",
        layer.element_bytes
    )
}
