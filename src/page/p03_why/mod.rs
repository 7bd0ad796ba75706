//! Why only activations scale: the shapes of one linear layer while the batch changes.

mod drawing;
mod layer;
mod table;

use bmax::ChoiceOption;
use leptos::prelude::*;

use layer::{Layer, size};

use super::p04_grow::batch_slider;
use crate::site::controls::segmented;
use crate::site::dom::{El, el};
use crate::site::{SettingHandle, State, format};

/// What the figure shows: a few handles, passed by value.
#[derive(Clone, Copy)]
pub struct Shown {
    /// The shared state.
    state: State,
    /// Whether the layer is the one of the text.
    worked: RwSignal<bool>,
    /// The micro-batch.
    batch: Memo<u32>,
}

impl Shown {
    /// The layer.
    fn layer(self) -> Layer {
        if self.worked.get() { Layer::WORKED } else { self.state.read(|facts| Layer::of(&facts.scenario)) }
    }
}

/// The drawing, the slider that feeds it and the sizes as a table.
pub fn shapes(state: State) -> El {
    let batch = Memo::new(move |_| state.read(|facts| facts.scenario.recipe.batch));
    let shown = Shown { state, worked: RwSignal::new(false), batch };
    el("div").class("shapes").children(vec![
        layer_switch(shown.worked),
        batch_slider(state, "shapes-batch"),
        el("div").class("shapes-drawing").children(vec![
            drawing::equation(shown),
            input_size(shown),
            drawing::companions(),
            weight_size(shown),
        ]),
        table::sizes_table(shown),
        el("p").class("soft small").bind_text(move || note(shown.layer())),
    ])
}

/// Your model's width or the worked layer of the text.
fn layer_switch(worked: RwSignal<bool>) -> El {
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
    segmented(handle, "shapes-layer", false)
}

fn input_size(shown: Shown) -> El {
    let shape = move || {
        let Layer { hidden, sequence, .. } = shown.layer();
        format!("[{}, {}, {}]", format::count(shown.batch.get()), format::count(sequence), format::count(hidden))
    };
    let all = move || size(shown.layer().input(shown.batch.get()));
    el("p")
        .class("shapes-caption")
        .child(el("i").text("X"))
        .text(" ")
        .child(el("span").class("num").bind_text(shape))
        .text(": ")
        .child(el("strong").class("num").attr("data-testid", "shapes-input").bind_text(all))
        .text(", scales with ")
        .child(el("i").text("b"))
}

fn weight_size(shown: Shown) -> El {
    let all = move || {
        let layer = shown.layer();
        size(layer.weights() + layer.gradient() + layer.moments())
    };
    let shape = move || {
        let hidden = format::count(shown.layer().hidden);
        format!("[{hidden}, {hidden}]")
    };
    el("p")
        .class("shapes-caption")
        .child(el("i").text("W"))
        .text(", ")
        .child(el("i").text("dW"))
        .text(", ")
        .child(el("i").text("m"))
        .text(" and ")
        .child(el("i").text("v"))
        .text(", each ")
        .child(el("span").class("num").bind_text(shape))
        .text(": ")
        .child(el("strong").class("num").attr("data-testid", "shapes-fixed").bind_text(all))
        .text(" together, fixed")
}

fn note(layer: Layer) -> String {
    format!(
        "One layer, whole, before any sharding. X at {} bytes an element, W and its three companions in fp32. Y is the next layer’s X. The drawing is not to scale.",
        layer.element_bytes
    )
}
