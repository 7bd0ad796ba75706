//! Why only activations scale: the shapes of one linear layer while the batch changes.

mod drawing;
mod layer;
mod shown;

use leptos::prelude::*;

use crate::components::{BatchSlider, Segmented};
use crate::site::{State, read};
use shown::{Shown, Width};

/// The drawing, the slider that feeds it and the sizes as a table.
#[component]
pub fn Shapes(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let width = RwSignal::new(Width::Own);
    let shown = Memo::new(move |_| state.read(|facts| Shown::of(facts, width.get())));
    view! {
        <div class="shapes">
            <Segmented
                id="shapes-layer"
                legend="Layer"
                options=[(Width::Own, "Your model"), (Width::Worked, "4,096 × 4,096 layer")]
                value=width
            />
            <BatchSlider id="shapes-batch" state/>
            <Drawing shown/>
            <Sizes shown/>
            <p class="soft small">
                "One layer, whole, before any sharding. X at " {read(shown, |shown| &shown.element)}
                " bytes an element, W and its three companions in fp32. Y is the next layer’s X. The drawing is not to scale."
            </p>
        </div>
    }
}

/// X · W = Y and what follows W, each with its sizes below.
#[component]
fn Drawing(shown: Memo<Shown>) -> impl IntoView {
    view! {
        <div class="shapes-drawing">
            <svg
                class="shapes-equation"
                viewBox="0 26 500 148"
                role="img"
                aria-label=read(shown, |shown| &shown.alternative)
            >
                <path class="shape" data-bucket="activations" d=read(shown, |shown| &shown.equation.input)></path>
                <path class="shape shape-open" data-bucket="activations" d=read(shown, |shown| &shown.equation.output)></path>
                <g inner_html=drawing::STILL></g>
                <g transform=read(shown, |shown| &shown.equation.aside)>
                    <text class="shape-side shape-count" x="120" y="156">"b"</text>
                    <text class="shape-side shape-count" x="448" y="156">"b"</text>
                </g>
            </svg>
            <p class="shapes-caption">
                <i>"X"</i> " " <span class="num">{read(shown, |shown| &shown.input_shape)}</span> ": "
                <strong class="num" data-testid="shapes-input">{read(shown, |shown| &shown.input)}</strong>
                ", scales with " <i>"b"</i>
            </p>
            <svg
                class="shapes-companions"
                viewBox="0 58 300 116"
                role="img"
                aria-label="The gradient dW and Adam’s m and v are squares of the same size as W."
                inner_html=drawing::COMPANIONS
            ></svg>
            <p class="shapes-caption">
                <i>"W"</i> ", " <i>"dW"</i> ", " <i>"m"</i> " and " <i>"v"</i> ", each "
                <span class="num">{read(shown, |shown| &shown.weights_shape)}</span> ": "
                <strong class="num" data-testid="shapes-fixed">{read(shown, |shown| &shown.together)}</strong>
                " together, fixed"
            </p>
        </div>
    }
}

/// The sizes at a few batches and at the chosen one, which is the last row.
#[component]
fn Sizes(shown: Memo<Shown>) -> impl IntoView {
    let rows = move || shown.with(|shown| shown.rows.clone());
    view! {
        <div class="table-scroll" tabindex="0" role="region" aria-label="Sizes of the tensors of one layer">
            <table class="data-table" data-testid="shapes-table">
                <thead>
                    <tr>
                        <th scope="col" class="num">"Batch " <i>"b"</i></th>
                        {head("activations", "X")}
                        {head("parameters", "W")}
                        {head("gradients", "dW")}
                        {head("optimizer", "m + v")}
                    </tr>
                </thead>
                <tbody>{move || rows().into_iter().map(row).collect_view()}</tbody>
            </table>
        </div>
    }
}

fn head(bucket: &'static str, name: &'static str) -> impl IntoView {
    view! { <th scope="col" class="num"><span class="bucket-swatch" data-bucket=bucket></span> " " <i>{name}</i></th> }
}

fn row([batch, input, weights, gradient, moments]: [String; 5]) -> impl IntoView {
    view! {
        <tr>
            <th scope="row" class="num">{batch}</th>
            <td class="num shapes-grows">{input}</td>
            <td class="num">{weights}</td>
            <td class="num">{gradient}</td>
            <td class="num">{moments}</td>
        </tr>
    }
}
