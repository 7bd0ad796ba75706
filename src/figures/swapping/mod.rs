//! Swapping to the CPU.

mod shown;

use bmax::Field;
use bmax::course::swapping::Swapped;
use leptos::prelude::*;

use crate::components::{Assumed, Combobox, Key, Legend, Listed, NumberField, Plot, Select};
use crate::site::{State, derived, read};
use shown::{LINKS, Lanes, Link, Row, Shown, TENSORS, Tier};

static KEYS: [Key; 3] = [
    Key::new("series-own", "forward"),
    Key::new("swap-backward", "backward"),
    Key::new("swap-legend", "copies, in the colour of their bucket"),
];

/// The tiers of memory, every tensor of a layer over the reader's link, and six layers with their copies.
#[component]
pub fn Swapping(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let link = RwSignal::new(Link::Own);
    let what = RwSignal::new(Swapped::Kept);
    let shown = Memo::new(move |_| state.asked(|scenario| Shown::of(scenario, link.get(), what.get())));
    view! {
        <div class="live-controls">
            <Combobox listed=Listed::Gpu id="swapping-gpu" state/>
            <Select id="swapping-link" label="Link to CPU memory, each way" options=LINKS value=link/>
            <NumberField input=state.field(Field::Batch) id="swapping-b" help=const { Field::Batch.help() }/>
            <NumberField input=state.field(Field::Sequence) id="swapping-s" help=const { Field::Sequence.help() }/>
        </div>
        <p class="figure-part">"Each further memory is larger and slower"</p>
        <Tiers shown/>
        <p class="figure-part">"One layer, tensor by tensor, on each GPU"</p>
        <Tensors shown/>
        <Assumed text=derived(shown, |shown| &shown.assumed)/>
        <p class="live-note swap-note">
            "While one byte crosses the link your GPU does "
            <strong class="num" data-testid="even">{read(shown, |shown| &shown.even)}</strong>
            " floating-point operations. A tensor is free to swap if at least that much computing happens per byte. For the layer input:"
        </p>
        <Condition shown/>
        <p class="figure-part">"Six layers, forward and backward, with their copies"</p>
        <Select
            id="swapping-what"
            label="Swapped from every layer"
            options=TENSORS.iter().map(|tensor| (tensor.what, tensor.alone))
            value=what
        />
        <Schedule shown/>
    }
}

/// The tiers as bars on scales of powers of ten.
#[component]
fn Tiers(shown: Memo<Shown>) -> impl IntoView {
    let tier = |at: usize| {
        let Tier { key, name, class, .. } = shown.with_untracked(|shown| shown.tiers[at].clone());
        let text = move |of: fn(&Tier) -> &String| move || shown.with(|shown| of(&shown.tiers[at]).clone());
        view! {
            <li
                class=class
                data-testid=format!("tier-{key}")
                style=("--speed", text(|tier| &tier.speed_along))
                style=("--size", text(|tier| &tier.size_along))
            >
                <span class="tier-name">{name}</span>
                <span class="tier-speed">
                    <i></i><span data-testid=format!("{key}-speed")>{text(|tier| &tier.speed)}</span>
                </span>
                <span class="tier-size"><i></i><span>{text(|tier| &tier.size)}</span></span>
            </li>
        }
    };
    view! {
        <ul class="tiers">
            <li class="tier tier-head" aria-hidden="true">
                <span></span>
                <span>"Bandwidth, ×10 a step"</span>
                <span>"Capacity, ×10 a step"</span>
            </li>
            {[0, 1, 2, 3, 4].map(tier)}
        </ul>
    }
}

/// The tensors of a layer as rows.
#[component]
fn Tensors(shown: Memo<Shown>) -> impl IntoView {
    let rows = (0..TENSORS.len()).map(|at| view! { <Tensor at shown/> }).collect_view();
    view! {
        <div class="table-scroll" tabindex="0" role="region" aria-label="Swapping by tensor">
            <table class="data-table data-table-rows data-table-cards swap-table">
                <caption>"One layer and one micro-batch. A copy runs during the pass of the next layer"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Tensor"</th>
                        <th scope="col">"Size"</th>
                        <th scope="col">"T"<sub>"swap"</sub></th>
                        <th scope="col">"T"<sub>"compute"</sub></th>
                        <th scope="col">"FLOPs a byte"</th>
                        <th scope="col">"The GPU"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
}

/// One tensor.
#[component]
fn Tensor(at: usize, shown: Memo<Shown>) -> impl IntoView {
    let tensor = &TENSORS[at];
    let key = tensor.key;
    let is = move |of: fn(&Row) -> bool| move || shown.with(|shown| of(&shown.swaps[at]));
    let text = move |of: fn(&Row) -> &String| move || shown.with(|shown| of(&shown.swaps[at]).clone());
    view! {
        <tr hidden=is(|row| row.absent) class:is-late=is(|row| row.late) data-testid=format!("row-{key}")>
            <th scope="row" class=format!("bucket-{}", tensor.bucket.key())>
                <span class="swap-dot"></span><span class="swap-what">{tensor.name}</span>
            </th>
            <td class="num" data-label="Size" data-testid=format!("size-{key}")>{text(|row| &row.size)}</td>
            <td class="num" data-label="Copy">{text(|row| &row.copy)}</td>
            <td class="num" data-label="Compute"><span>{text(|row| &row.by)}</span>" "<span class="soft small">{tensor.pass}</span></td>
            <td class="num" data-label="FLOPs a byte" data-testid=format!("worth-{key}")>{text(|row| &row.worth)}</td>
            <td class="swap-verdict" data-testid=format!("verdict-{key}")>{text(|row| &row.verdict)}</td>
        </tr>
    }
}

/// The condition for a layer input, in symbols and in numbers.
#[component]
fn Condition(shown: Memo<Shown>) -> impl IntoView {
    view! {
        <div
            class="formula formula-long swap-formula"
            tabindex="0"
            role="group"
            aria-label="Formula"
        >
            <math display="block">
                <mfrac>
                    <mrow><mn>"2"</mn><mi>"b"</mi><mi>"S"</mi><mi>"H"</mi></mrow>
                    <mi>"bandwidth"</mi>
                </mfrac>
                <mo>"≤"</mo>
                <mfrac>
                    <mrow>
                        <mi>"b"</mi><mi>"S"</mi><mo>"·"</mo><mo>"("</mo>
                        <mn>"24"</mn><msup><mi>"H"</mi><mn>"2"</mn></msup>
                        <mo>"+"</mo><mn>"4"</mn><mi>"S"</mi><mi>"H"</mi><mo>")"</mo>
                    </mrow>
                    <mi>"FLOP/s"</mi>
                </mfrac>
                <mspace width="0.8em"></mspace><mo>"⇔"</mo><mspace width="0.8em"></mspace>
                <mfrac><mi>"FLOP/s"</mi><mi>"bandwidth"</mi></mfrac>
                <mo>"≤"</mo>
                <mn>"12"</mn><mi>"H"</mi><mo>"+"</mo><mn>"2"</mn><mi>"S"</mi>
            </math>
        </div>
        <div class="formula swap-numbers">
            <math display="block">
                <mn>{read(shown, |shown| &shown.even)}</mn>
                <mo>{move || shown.with(|shown| shown.sign)}</mo>
                <mn>{read(shown, |shown| &shown.worth)}</mn>
            </math>
        </div>
    }
}

/// Six layers, with their passes and copies on three lanes.
#[component]
fn Schedule(shown: Memo<Shown>) -> impl IntoView {
    let text = move |of: fn(&Lanes) -> &str| move || shown.with(|shown| of(&shown.lanes).to_owned());
    view! {
        <div class="swap-lanes">
            <Plot
                plot=Signal::derive(move || shown.with(|shown| shown.lanes.plot.clone()))
                name="lanes"
                label="Six layers, forward and backward, with their copies"
                described_by="swapping-lanes-note"
            />
            <span>"GPU"</span>
            <span>"to CPU"</span>
            <span>"from CPU"</span>
        </div>
        <Legend keys=&KEYS/>
        <p class="live-note swap-note" id="swapping-lanes-note">
            <strong class="num">{text(|lanes| &lanes.computing)}</strong>" of computing take "
            <strong class="num" data-testid="seconds">{text(|lanes| &lanes.seconds)}</strong>": "
            {text(|lanes| lanes.waits)}
            <strong class="num" data-testid="waiting">{text(|lanes| &lanes.waiting)}</strong>
            {text(|lanes| lanes.where_seen)}
            " The GPU has room for two tensors, one in use and one that is being copied. The tensors of the last two layers stay."
        </p>
    }
}
