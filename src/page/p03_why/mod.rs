//! Why only activations scale: the shapes of one linear layer while the batch changes.

mod drawing;
mod layer;

use layer::{Layer, size};

use super::p04_grow::batch_slider;
use crate::site::{Facts, Live, State, format, mount_prepared};

/// Mounts the figure of this section.
pub fn mount(state: State) {
    mount_prepared("shapes", state, batch_slider::listen, |live| live.facts(|facts| draw(live, facts)), |_, _| ());
}

/// The drawing, the slider that feeds it and the sizes as a table.
fn draw(live: &Live, facts: &Facts) {
    batch_slider::draw(live, facts);
    let layer = if live.word("layer") == "worked" { Layer::WORKED } else { Layer::of(&facts.scenario) };
    let batch = facts.scenario.recipe.batch;
    drawing::draw(live, layer, batch);
    let [b, s, h] = [batch, layer.sequence, layer.hidden].map(format::count);
    live.text("x-shape", &format!("[{b}, {s}, {h}]"));
    live.text("w-shape", &format!("[{h}, {h}]"));
    live.text("batch", &b);
    live.text("element", &format::count(layer.element_bytes));
    live.text("together", &size(layer.weights() + layer.gradient() + layer.moments()));
    // W and its gradient are alike.
    live.texts("w", &size(layer.weights()));
    live.texts("mv", &size(layer.moments()));
    for (name, batch) in [("x-1", 1), ("x-4", 4), ("x-8", 8), ("x-now", batch)] {
        live.texts(name, &size(layer.input(batch)));
    }
}
