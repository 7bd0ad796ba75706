use leptos::prelude::*;

use super::layer::{Layer, size};
use crate::site::format;

/// The batches that the text goes through; the current one follows them.
const WORKED: [u32; 3] = [1, 4, 8];

/// The sizes of the layer's tensors at a few batches: one column grows, three do not.
#[component]
pub fn SizesTable(
    /// The layer.
    layer: Signal<Layer>,
    /// The current micro-batch.
    batch: Signal<u32>,
) -> impl IntoView {
    let row = move |at: Signal<u32>, now: bool| {
        view! {
            <tr class:shapes-now=now>
                <th scope="row" class="num">{move || format::count(at.get())}{now.then_some(" (now)")}</th>
                <td class="num shapes-grows">{move || size(layer.get().input(at.get()))}</td>
                <td class="num">{move || size(layer.get().weights())}</td>
                <td class="num">{move || size(layer.get().gradient())}</td>
                <td class="num">{move || size(layer.get().moments())}</td>
            </tr>
        }
    };
    let head = |bucket: &'static str, name: AnyView| {
        view! { <th scope="col" class="num"><span class="bucket-swatch" data-bucket=bucket></span>" "{name}</th> }
    };
    view! {
        <div class="table-scroll" tabindex="0" role="region" aria-label="Sizes of the tensors of one layer">
            <table class="data-table" data-testid="shapes-table">
                <thead>
                    <tr>
                        <th scope="col" class="num">"Batch "<i>"b"</i></th>
                        {head("activations", view! { <i>"X"</i> }.into_any())}
                        {head("parameters", view! { <i>"W"</i> }.into_any())}
                        {head("gradients", view! { <i>"dW"</i> }.into_any())}
                        {head("optimizer", view! { <i>"m"</i>" + "<i>"v"</i> }.into_any())}
                    </tr>
                </thead>
                <tbody>{WORKED.map(|at| row(Signal::stored(at), false)).into_iter().collect_view()} {row(batch, true)}</tbody>
            </table>
        </div>
    }
}
