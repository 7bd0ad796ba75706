//! Beyond transformers: a network of the reader's own as a list of layers.

mod shown;

use bmax::chart::Tint;
use bmax::course::networks::{Named, presets};
use bmax::setting;
use bmax::{Bucket, Choice, Optimizer, Precision};
use leptos::prelude::*;

use crate::components::{
    Column, Combobox, DataTable, Fold, Key, Legend, Listed, Model, NumberField, NumberInput, Plot, Scrub, Segmented,
    SettingField, Slider,
};
use crate::site::{State, network, read, tell_network};
use shown::{Asked, Counted, PARTS, Policy};

/// Examples at once, as long as no other number is entered.
const EXAMPLES: f64 = 32.0;

/// The list that is there at first.
const FIRST: &str = presets::ALL[0].2;

static FROZEN: [(bool, &str); 2] = [(false, "cached"), (true, "in memory")];

static AVERAGES: [(bool, &str); 2] = [(false, "none"), (true, "kept (EMA)")];

static POLICIES: [(Policy, &str); 3] =
    [(Policy::Nothing, "nothing"), (Policy::Root, "segments of √L"), (Policy::Every, "segments of K")];

static KEYS: [Key; 3] = [
    Key::of(Tint::Bucket(Bucket::Activations), "Activations kept, at the layer that made them"),
    Key::new("series-3 legend-line is-dashed", "the layer’s output"),
    Key::of(Tint::Bucket(Bucket::Parameters), "Parameters: weights"),
];

static COLUMNS: [Column; 6] = [
    Column::words("Layer"),
    Column::numbers("Line"),
    Column::numbers("Output of one example"),
    Column::numbers("Parameters"),
    Column::numbers("Output"),
    Column::numbers("Kept"),
];

static SIZES: [Column; 4] = [
    Column::numbers("Height, pixels"),
    Column::numbers("Largest batch"),
    Column::numbers("Patches half as large"),
    Column::numbers("Patches twice as large"),
];

/// What the reader sets of the network itself.
#[derive(Clone, Copy)]
struct Inputs {
    text: RwSignal<String>,
    batch: RwSignal<f64>,
    policy: RwSignal<Policy>,
    every: RwSignal<f64>,
    frozen: RwSignal<bool>,
    averages: RwSignal<bool>,
}

impl Inputs {
    fn new() -> Self {
        Self {
            text: RwSignal::new(FIRST.to_owned()),
            batch: RwSignal::new(EXAMPLES),
            policy: RwSignal::new(Policy::Nothing),
            every: RwSignal::new(1.0),
            frozen: RwSignal::new(false),
            averages: RwSignal::new(false),
        }
    }

    fn asked(self) -> Asked {
        Asked {
            text: self.text.get(),
            policy: self.policy.get(),
            every: self.every.get(),
            batch: self.batch.get(),
            frozen: self.frozen.get(),
            averages: self.averages.get(),
        }
    }

    /// Takes what a link says.
    fn take(self, named: &Named) {
        let (policy, every) = Policy::of(named.again);
        self.policy.set(policy);
        self.every.set(every);
        self.frozen.set(named.frozen);
        self.averages.set(named.averages);
        self.text.set(named.text());
    }

    /// The word of a link for what is set, where the list is a preset at any size.
    fn word(self) -> Option<String> {
        let text = self.text.get();
        let again = self.policy.get().again(self.every.get());
        let (frozen, averages) = (self.frozen.get(), self.averages.get());
        let list = bmax::course::networks::Network::read(&text);
        let side = list.input.height * list.pixels;
        let named = |preset: &'static presets::Preset| {
            let own = Named { preset, side: None, again, frozen, averages };
            let sized = Named { side: Some(side), ..own };
            [own, sized].into_iter().find(|named| named.text() == text)
        };
        let lines = text.lines().count();
        let is_near = |preset: &&presets::Preset| preset.2.lines().count() == lines;
        let word = presets::ALL.iter().filter(is_near).find_map(named).map(|named| named.word());
        // What is there at first needs no word.
        word.filter(|word| word != presets::ALL[0].0)
    }
}

/// Takes the network of the address, says what of its word is not known, and lets the address follow what the reader sets. A list of the reader’s own has
/// no word, and the address none then.
fn follow_address(state: State, inputs: Inputs) {
    Effect::new(move |told: Option<Option<String>>| {
        let Some(told) = told else {
            if let Some(word) = network() {
                if let Some(named) = Named::read(&word) {
                    inputs.take(&named);
                }
                state.notices.update(|all| all.extend(Named::notices(&word)));
            }
            return inputs.word();
        };
        let word = inputs.word();
        if word != told {
            tell_network(word.as_deref());
        }
        word
    });
}

/// A list of layers, and what depends on it: sums, the largest batch, a bar for each layer.
#[component]
pub fn NetworkList(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let inputs = Inputs::new();
    follow_address(state, inputs);
    let counted = Memo::new(move |_| {
        let asked = inputs.asked();
        state.asked(|scenario| Counted::of(scenario, &asked))
    });
    view! {
        <div class="network-top">
            <List text=inputs.text counted/>
            <Controls state inputs counted/>
        </div>
        <Answer counted/>
        <Legend keys=&KEYS/>
        <Drawings counted/>
        <Sizes counted/>
        <div class="network-sums">
            <Sums counted/>
            <Again counted/>
        </div>
        <Fold summary="Every layer as a table">
            <DataTable
                caption="Sizes for the whole batch; of very long networks the first 300 layers"
                name="layers"
                label="Every layer"
                columns=&COLUMNS
                rows=Signal::derive(move || counted.with(|counted| counted.rows.clone()))
                class="network-table"
            />
        </Fold>
    }
}

/// The list itself, with lists to start from above it and what is wrong with it below.
#[component]
fn List(text: RwSignal<String>, counted: Memo<Counted>) -> impl IntoView {
    let preset = move |&(_, name, list): &presets::Preset| {
        let press = move |_| text.set(list.to_owned());
        view! {
            <button type="button" class="button button-quiet button-small" on:click=press>
                {name}
            </button>
        }
    };
    let trouble = move || counted.with(|counted| counted.trouble.clone());
    view! {
        <div class="network-list">
            <div class="button-row" role="group" aria-label="Networks to start from">
                {presets::ALL.iter().map(preset).collect_view()}
            </div>
            <div class="field">
                <label for="network-layers">"Layers, one line each"</label>
                <textarea
                    id="network-layers"
                    rows="17"
                    spellcheck="false"
                    autocapitalize="off"
                    autocomplete="off"
                    aria-describedby="network-trouble"
                    prop:value=move || text.get()
                    on:input=move |event| text.set(event_target_value(&event))
                >
                    {FIRST}
                </textarea>
            </div>
            <p class="network-trouble" id="network-trouble" role="status">
                <span class="field-error" data-testid="trouble">{trouble}</span> " "
                <Show when=move || trouble().is_some()>
                    <span class="field-help">"This line is left out; the others count."</span>
                </Show>
            </p>
        </div>
    }
}

/// How the network is trained. Whoever moves the slider wants segments of so many pieces; whoever wants
/// segments begins with the number that it stands at.
#[component]
fn Controls(state: State, inputs: Inputs, counted: Memo<Counted>) -> impl IntoView {
    let Inputs { batch, policy, every, frozen, averages, .. } = inputs;
    let examples = NumberInput { symbol: "B", ..NumberInput::whole("Examples at once", (1.0, 1e6), EXAMPLES, batch) };
    let stands = Signal::derive(move || counted.with(|counted| counted.every));
    let pieces = Model::new(stands, move |pieces| {
        every.set(pieces);
        policy.set(Policy::Every);
    });
    let choice = Model::new(policy.into(), move |chosen| {
        every.set(stands.get_untracked());
        policy.set(chosen);
    });
    let ends = Signal::derive(move || counted.with(|counted| counted.every_ends));
    let text = Signal::derive(move || counted.with(|counted| counted.every_text.clone()));
    view! {
        <div class="network-controls">
            <Combobox listed=Listed::Gpu id="network-gpu" state/>
            <NumberField input=examples id="network-batch" help="A whole number from 1 to 1,000,000."/>
            <SettingField handle=state.setting(&setting::PRECISION, Precision::EFFECTS) id="network-precision"/>
            <SettingField handle=state.setting(&setting::OPTIMIZER, Optimizer::EFFECTS) id="network-optimizer"/>
            <Segmented id="network-policy" legend="Compute again" options=POLICIES value=choice/>
            <Slider id="network-every" value=pieces ends text>
                "Pieces per segment " <i>"K"</i> ": " <span data-testid="every">{move || text.get()}</span>
            </Slider>
            <Segmented id="network-frozen" legend="Frozen encoders and VAE" options=FROZEN value=frozen/>
            <Segmented id="network-averages" legend="Average of the weights" options=AVERAGES value=averages/>
        </div>
    }
}

/// Parameters, the largest batch, and the peak of the batch that is asked for.
#[component]
fn Answer(counted: Memo<Counted>) -> impl IntoView {
    view! {
        <p class="network-answer">
            <span class="network-count">
                <strong data-testid="parameters">{read(counted, |counted| &counted.parameters)}</strong> " parameters"
            </span>
            " "
            <span class="network-count">
                <i>"b"</i> <sub>"max"</sub> " = "
                <strong data-testid="fit">{read(counted, |counted| &counted.fit)}</strong> " "
                {move || counted.with(|counted| counted.unit)}
            </span>
        </p>
        <p class="live-note network-note">
            "On your GPU with " {read(counted, |counted| &counted.room)} " for tensors. At " <i>"B"</i> " = "
            <span data-testid="examples">{read(counted, |counted| &counted.examples)}</span> " the step needs "
            <strong>{read(counted, |counted| &counted.peak)}</strong> " at its highest, "
            {read(counted, |counted| &counted.moment)} "."
        </p>
    }
}

/// What each layer keeps and weighs, and one layer read off.
#[component]
fn Drawings(counted: Memo<Counted>) -> impl IntoView {
    let at = RwSignal::new(3.0);
    let ends = Signal::derive(move || counted.with(Counted::ends));
    let reading = Signal::derive(move || counted.with(|counted| counted.reading(at.get())));
    let scrub = Scrub { value: at.into(), ends, step: 1.0 };
    view! {
        <Plot
            plot=Signal::derive(move || counted.with(|counted| counted.kept_plot(at.get())))
            name="kept"
            label="Bytes that each layer keeps, from the first layer to the last; the table has the numbers"
            scrub
            class="network-plot"
        />
        <Plot
            plot=Signal::derive(move || counted.with(|counted| counted.weights_plot(at.get())))
            name="weights"
            label="Parameters of each layer, from the first layer to the last; the table has the numbers"
            scrub
            class="network-plot"
        />
        <Slider id="network-at" value=at ends text=reading>
            "Layer "<span class="soft">"(or drag across a drawing)"</span>
        </Slider>
        <p class="live-note network-read">{move || reading.get()}</p>
    }
}

/// The largest batch at other sizes of the picture and of its patches.
#[component]
fn Sizes(counted: Memo<Counted>) -> impl IntoView {
    view! {
        <Plot
            plot=Signal::derive(move || counted.with(Counted::sizes_plot))
            name="sizes"
            label="The largest batch against the height of the picture; the table has the numbers"
            class="network-plot"
        />
        <p class="live-note network-note" data-testid="sizes">{move || counted.with(Counted::sizes_text)}</p>
        <Fold summary="The largest batch at each size as a table">
            <DataTable
                caption="On your GPU, with the settings above; a dash where a size does not go through all layers, or none fits"
                name="sizes"
                label="The largest batch at each size"
                columns=&SIZES
                rows=Signal::derive(move || counted.with(|counted| counted.size_rows.clone()))
                class="network-table"
            />
        </Fold>
    }
}

/// The four sums beside what is counted.
#[component]
fn Sums(counted: Memo<Counted>) -> impl IntoView {
    let cell = move |row: usize, column: usize| {
        view! { <td class="num">{move || counted.with(|counted| counted.sums[row][column].clone())}</td> }
    };
    let row = |(at, (bucket, name)): (usize, (bmax::Bucket, &'static str))| {
        view! {
            <tr>
                <th scope="row">
                    <span class="bucket-swatch" data-bucket=bucket.key()></span>
                    {name}
                </th>
                {cell(at, 0)}
                {cell(at, 1)}
            </tr>
        }
    };
    view! {
        <div class="table-scroll" tabindex="0" role="region" aria-label="Sums for the batch">
            <table class="data-table">
                <caption>
                    "At this batch: the four sums in fp32, and what is counted in your precision with your optimizer"
                </caption>
                <thead>
                    <tr>
                        <th scope="col">"Part"</th>
                        <th scope="col" class="num">"Four sums"</th>
                        <th scope="col" class="num">"Counted"</th>
                    </tr>
                </thead>
                <tbody>{PARTS.into_iter().enumerate().map(row).collect_view()}</tbody>
            </table>
        </div>
    }
}

/// What recomputation saves and costs.
#[component]
fn Again(counted: Memo<Counted>) -> impl IntoView {
    view! {
        <div>
            <p class="live-note network-twice">
                "Recomputation: " {read(counted, |counted| &counted.units)} " pieces, segments: "
                {read(counted, |counted| &counted.segments)} ". Kept at once: "
                <strong>{read(counted, |counted| &counted.kept)}</strong> " of "
                {read(counted, |counted| &counted.all)} ". Done twice: "
                <strong>{read(counted, |counted| &counted.again)}</strong> " of the forward pass."
            </p>
            <p class="small soft">
                "A piece is a layer with weights and everything up to the next one, a pool, or a residual block. The input of each segment is kept, and its inside while it runs backward. The last segment is not computed again."
            </p>
        </div>
    }
}
