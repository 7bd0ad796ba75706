//! b_max against sequence length, model size or GPU memory: four reference curves and the reader's own.

mod canvas;
mod shown;
#[cfg(feature = "prerender")]
mod still;

use bmax::Recomputation;
use bmax::chart::{
    Curves, OWN, PAD, PATTERNS, Words, as_in_workshop, description, first, last, names, set_back, swept, words,
};
use bmax::{ChartAxis, Choice, Field, Scenario, number, setting};
use leptos::either::Either;
use leptos::ev::{KeyboardEvent, MouseEvent, PointerEvent};
use leptos::html::{Canvas, Div};
use leptos::prelude::*;
use leptos_use_device_pixel_ratio::use_device_pixel_ratio;
use leptos_use_resize_observer::use_resize_observer;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::components::{Fold, Model, NumberField, Segmented, SettingField};
use crate::site::{State, after_print, before_print, format, read};
use shown::{Label, Own, Shown, after_key, assumptions, axes, nearest, spec, table, workshop};

/// Numbers of GPUs offered as a press each.
const OFFERED: [u32; 5] = [1, 8, 64, 256, 1_024];

/// How the read-out is moved, by pointer and keys or by a finger; the style sheet shows what the reader has.
const HELP: &str = "<span class=\"chart-by-keys\">Point at the chart, or focus it and press <kbd>←</kbd> and <kbd>→</kbd>, \
                    <kbd>Page Up</kbd> and <kbd>Page Down</kbd>, <kbd>Home</kbd> and <kbd>End</kbd>, to read off other places. \
                    <kbd>Enter</kbd> or a click makes the place yours, <kbd>Esc</kbd> goes back to it.</span>\
                    <span class=\"chart-by-finger\">Touch the chart to read off other places. The button makes one yours.</span>";

/// The chart with its settings, its read-out and its table.
#[component]
pub fn Chart(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let curves = curves_of(state);
    let reader = Reader::new(state, curves);
    view! {
        <div class="chart">
            <Settings state/>
            <div class="chart-body">
                <Plot reader/>
                <div class="chart-panel">
                    <Legend reader/>
                    <UseButton reader/>
                    <p class="figure-note" id="chart-help" inner_html=HELP></p>
                </div>
            </div>
            <p class="figure-note">{move || state.asked(assumptions)}</p>
            <Fold summary="The curves as a table" class="chart-table">
                <Table reader/>
            </Fold>
        </div>
    }
}

/// The curves of a state. Against sequence length, moving the micro-batch or the length computes none of them, and
/// changing the reader's model only one.
fn curves_of(state: State) -> Memo<Curves> {
    Memo::new_owning(move |before: Option<Curves>| {
        let scenarios = state.asked(swept);
        match before {
            Some(curves) if curves.scenarios == scenarios => (curves, false),
            before => (Curves::along(scenarios, before), true),
        }
    })
}

/// Where the reader looks, and what is there.
#[derive(Clone, Copy)]
struct Reader {
    state: State,
    curves: Memo<Curves>,
    own: Memo<Own>,
    /// The place looked at; nothing as long as it is the reader's own.
    chosen: RwSignal<Option<(ChartAxis, u32)>>,
    shown: Memo<Shown>,
    words: Memo<&'static Words>,
}

impl Reader {
    /// A read-out that starts at the scenario's own place and follows it.
    fn new(state: State, curves: Memo<Curves>) -> Self {
        let chosen = RwSignal::new(None);
        let own = Memo::new(move |_| state.read(Own::of));
        let shown = Memo::new(move |_| {
            curves.with(|curves| {
                // A place of one axis is none of another.
                let here = chosen.get().filter(|(axis, _): &(ChartAxis, u32)| *axis == curves.axis);
                Shown::of(curves, own.get(), here.map(|(_, place)| place))
            })
        });
        let words = Memo::new(move |_| words(curves.with(|curves| curves.axis)));
        Self { state, curves, own, chosen, shown, words }
    }

    /// Looks at a place, or at the reader's own again.
    fn look_at(self, place: Option<u32>) {
        let chosen = place.map(|place| (self.curves.with_untracked(|curves| curves.axis), place));
        if self.chosen.get_untracked() != chosen {
            self.chosen.set(chosen);
        }
    }

    /// Makes the place that is read off the reader's own.
    fn take(self) {
        let place = self.shown.with_untracked(|shown| shown.place);
        self.state
            .change(|scenario| self.curves.with_untracked(|curves| curves.at(scenario, place)).unwrap_or(scenario));
        self.look_at(None);
    }

    /// A word of the axis.
    fn word(self, of: fn(&Words) -> &'static str) -> impl Fn() -> &'static str + Copy {
        move || of(self.words.get())
    }
}

/// What the reference curves assume. It is part of the scenario, so that a link shows the same chart.
#[component]
fn Settings(state: State) -> impl IntoView {
    let button = move |gpus: u32| {
        let pressed = move || state.asked(|scenario| (scenario.comparison.gpus == gpus).to_string());
        let press = move |_| {
            state.change(|scenario| scenario.with_number(Field::ComparisonGpus, gpus.into()).unwrap_or(scenario));
        };
        view! {
            <button
                type="button"
                class="button button-quiet button-small num"
                aria-label=format::counted(gpus, "GPU", "GPUs")
                aria-pressed=pressed
                on:click=press
            >
                {format::count(gpus)}
            </button>
        }
    };
    let against =
        Model::new(Signal::derive(move || state.asked(|scenario| scenario.comparison.against)), move |against| {
            state.change(|mut scenario| {
                scenario.comparison.against = against;
                scenario
            });
        });
    view! {
        <div class="chart-settings">
            <Segmented
                id="chart-axis"
                legend="Against"
                options=ChartAxis::ALL.iter().map(|axis| (*axis, axis.label()))
                value=against
            />
            <div class="chart-gpus">
                <NumberField input=state.field(Field::ComparisonGpus) id="chart-gpus"/>
                <div class="button-row" role="group" aria-label="Usual numbers of GPUs">
                    {OFFERED.map(button).into_iter().collect_view()}
                </div>
            </div>
            <SettingField handle=state.setting(&setting::COMPARISON_RECOMPUTATION, Recomputation::EFFECTS) id="chart-recomputation"/>
            <WorkshopButton state/>
        </div>
    }
}

/// Sets the chart as the workshop's own is set, and back to what was there before; to the defaults where that is not
/// known, because a link said it.
#[component]
fn WorkshopButton(state: State) -> impl IntoView {
    let before = StoredValue::new(Scenario::default());
    let is_set = Memo::new(move |_| state.asked(|scenario| as_in_workshop(scenario) == *scenario));
    let press = move |_| {
        state.change(|scenario| {
            if is_set.get_untracked() {
                return set_back(&scenario, &before.get_value());
            }
            before.set_value(scenario);
            as_in_workshop(&scenario)
        });
    };
    view! {
        <div class="chart-workshop">
            <button type="button" class="button button-quiet" data-testid="chart-workshop" on:click=press>
                {move || if is_set.get() { "Back to my settings" } else { "Set as in the workshop" }}
            </button>
            <p class="field-help">{move || workshop(is_set.get())}</p>
        </div>
    }
}

/// The picture: a canvas with the labels of its axes around it and the read-out's slider over it. Assistive
/// technology reads values, not axes.
#[component]
fn Plot(reader: Reader) -> impl IntoView {
    let Reader { curves, .. } = reader;
    let axes = Memo::new(move |_| curves.with(axes));
    let label = |Label { text, at }: Label| view! { <span style=("--at", at)>{text}</span> };
    view! {
        <div class="chart-plot">
            <p class="chart-up-title"><i>"b"</i><sub>"max"</sub>", "{move || curves.with(Curves::unit).many()}" per GPU"</p>
            <div class="chart-up" aria-hidden="true">
                {move || axes.with(|axes| axes.up.clone()).into_iter().map(label).collect_view()}
            </div>
            <p class="chart-band-label">"does not fit"</p>
            <Picture reader/>
            <div class="chart-across" aria-hidden="true">
                {move || axes.with(|axes| axes.across.clone()).into_iter().map(label).collect_view()}
            </div>
            <p class="chart-across-title">
                {reader.word(|words| words.title[0])} <i>{reader.word(|words| words.symbol)}</i>
                {reader.word(|words| words.title[1])}
            </p>
        </div>
    }
}

/// The curves on a canvas, drawn again when something they show, its size, the density of the screen or the
/// theme has changed, and the slider over it. It follows the slider pattern:
/// <https://www.w3.org/WAI/ARIA/apg/patterns/slider/>.
#[component]
fn Picture(reader: Reader) -> impl IntoView {
    let Reader { curves, own, shown, .. } = reader;
    let (place, surface) = (NodeRef::<Div>::new(), NodeRef::<Canvas>::new());
    let (size, theme, density) = (Trigger::new(), Trigger::new(), use_device_pixel_ratio());
    use_resize_observer(place, move |_, _| size.notify());
    // What is drawn for paper has its own colours (src/site/theme.rs). A print may be over before any colour has changed by
    // a visible step, and then no change of it ends.
    before_print(move || theme.notify());
    after_print(move || theme.notify());
    Effect::new(move |_| {
        size.track();
        theme.track();
        let (Some(surface), density) = (surface.get(), density.get()) else { return };
        canvas::paint(&surface, density, |frame, palette| {
            curves.with(|curves| shown.with(|shown| spec(frame, palette, curves, own.get(), shown)))
        });
    });
    view! {
        <div class="chart-canvas-place" node_ref=place>
            <div class="chart-still" inner_html=still(reader)></div>
            // The style sheet gives the canvas the ink as its colour and lets it change over an instant. The end
            // of that change says that the theme is another one, whoever asked for it.
            <canvas
                class="chart-canvas"
                role="img"
                aria-label=move || curves.with(description)
                node_ref=surface
                on:transitionend=move |_| theme.notify()
            ></canvas>
            <p
                class="chart-own-length num"
                aria-hidden="true"
                style=("--at", read(shown, |shown| &shown.own.at))
            >
                {read(shown, |shown| &shown.own.text)}
            </p>
            <PlaceSlider reader/>
        </div>
    }
}

/// The curves as they stand before the program has drawn them on the canvas: for readers without scripts, and on paper
/// for those who print the page before they have come to the chart. The browser's program leaves them as they were built.
#[cfg(feature = "prerender")]
fn still(Reader { curves, own, shown, .. }: Reader) -> String {
    still::drawn(|frame, palette| {
        curves.with_untracked(|curves| {
            shown.with_untracked(|shown| spec(frame, palette, curves, own.get_untracked(), shown))
        })
    })
}

/// What the browser's program leaves as it was built.
#[cfg(not(feature = "prerender"))]
fn still(_: Reader) -> &'static str {
    ""
}

/// The layer over the canvas that moves the read-out.
#[component]
fn PlaceSlider(reader: Reader) -> impl IntoView {
    let Reader { curves, shown, .. } = reader;
    let look = move |event: PointerEvent| {
        let width = event_target::<HtmlElement>(&event).client_width();
        let position = (f64::from(event.offset_x()) - PAD) / (f64::from(width) - 2.0 * PAD).max(1.0);
        reader.look_at(curves.with_untracked(|curves| nearest(&curves.places, curves.axes.across, position)));
    };
    let leave = move |event: PointerEvent| {
        if event.pointer_type() == "mouse" {
            reader.look_at(None);
        }
    };
    // A finger can only read by touching, so a touch must not change anything.
    let click = move |event: MouseEvent| {
        if event.dyn_ref::<PointerEvent>().is_none_or(|event| event.pointer_type() != "touch") {
            reader.take();
        }
    };
    view! {
        <div
            class="chart-slider"
            role="slider"
            tabindex="0"
            aria-label=reader.word(|words| words.read_out)
            aria-describedby="chart-help"
            aria-valuemin=move || curves.with(|curves| first(&curves.places).to_string())
            aria-valuemax=move || curves.with(|curves| last(&curves.places).to_string())
            aria-valuenow=move || shown.with(|shown| shown.place.to_string())
            aria-valuetext=read(shown, |shown| &shown.spoken)
            on:keydown=move |event| press(&event, reader)
            on:pointerdown=look
            on:pointermove=look
            on:pointerleave=leave
            on:click=click
        ></div>
    }
}

/// Moves the read-out by a key, or makes its place the reader's own.
fn press(event: &KeyboardEvent, reader: Reader) {
    let at = reader.shown.with_untracked(|shown| shown.place);
    match event.key().as_str() {
        _ if event.ctrl_key() || event.alt_key() || event.meta_key() => return,
        "Enter" => reader.take(),
        "Escape" => reader.look_at(None),
        key => match reader.curves.with_untracked(|curves| after_key(&curves.places, at, key)) {
            Some(place) => reader.look_at(Some(place)),
            None => return,
        },
    }
    event.prevent_default();
}

/// The legend, which is the read-out too: b_max of each curve where the reader looks, and where the curve ends.
#[component]
fn Legend(reader: Reader) -> impl IntoView {
    let Reader { shown, curves, .. } = reader;
    let axis = Memo::new(move |_| curves.with(|curves| curves.axis));
    let row = move |position: usize| {
        let cell = move |of: fn(&shown::Row) -> &String| move || shown.with(|shown| of(&shown.rows[position]).clone());
        view! {
            <tr class=(position == OWN).then_some("chart-own")>
                <th scope="row"><Sample position/>{move || names(axis.get())[position]}</th>
                <td class="num" class:chart-none=move || shown.with(|shown| !shown.rows[position].fits)>
                    {cell(|row| &row.batch)}
                </td>
                <td class="num soft">{cell(|row| &row.end)}</td>
            </tr>
        }
    };
    view! {
        <table class="chart-legend" data-testid="chart-readout">
            <caption>
                "At " <strong class="num">{read(shown, |shown| &shown.number)}</strong> " "
                {reader.word(|words| words.unit)}
                <span hidden=move || shown.with(|shown| !shown.is_own)>{reader.word(|words| words.own)}</span>
            </caption>
            <thead>
                <tr>
                    <th scope="col">{reader.word(|words| words.curves)}</th>
                    <th scope="col" class="num"><i>"b"</i><sub>"max"</sub></th>
                    <th scope="col" class="num">
                        {reader.word(|words| words.ends)} <i>{reader.word(|words| words.symbol)}</i> " ="
                    </th>
                </tr>
            </thead>
            <tbody>{(0..=OWN).map(row).collect_view()}</tbody>
        </table>
    }
}

/// Lengths of lines and gaps, as an attribute has them.
fn dash_array(pattern: &[f64]) -> String {
    pattern.iter().map(|length| number::plain(*length)).collect::<Vec<_>>().join(" ")
}

/// A piece of a curve, with its colour and its dashes.
#[component]
fn Sample(position: usize) -> impl IntoView {
    view! {
        <svg class="chart-sample" data-series=position + 1 width="36" height="10" aria-hidden="true">
            <line x1="0" y1="5" x2="36" y2="5" stroke-width=if position == OWN { 3 } else { 2 } stroke-dasharray=dash_array(PATTERNS[position])></line>
        </svg>
    }
}

/// Makes the place that is read off the reader's own; also where a tap only reads.
#[component]
fn UseButton(reader: Reader) -> impl IntoView {
    let Reader { shown, .. } = reader;
    view! {
        <button
            type="button"
            class="button button-quiet button-small"
            aria-disabled=move || shown.with(|shown| shown.is_own.to_string())
            on:click=move |_| reader.take()
        >
            {read(shown, |shown| &shown.take)}
        </button>
    }
}

/// b_max of every curve beside the ticks of the axis. Where nothing fits, a dash is seen and words are read out.
#[component]
fn Table(reader: Reader) -> impl IntoView {
    let Reader { curves, .. } = reader;
    let name = move |position: usize| move || names(curves.with(|curves| curves.axis))[position];
    let head = move |position: usize| view! { <th scope="col" class="num">{name(position)}</th> };
    let none = || view! { <span aria-hidden="true">"–"</span> <span class="visually-hidden">"does not fit"</span> };
    let cell = move |batch: Option<String>| {
        let batch = batch.map_or_else(|| Either::Right(none()), Either::Left);
        view! { <td class="num">{batch}</td> }
    };
    let row = move |(length, batches): (String, Vec<Option<String>>)| {
        view! {
            <tr>
                <th scope="row" class="num">{length}</th>
                {batches.into_iter().map(cell).collect_view()}
            </tr>
        }
    };
    view! {
        <div class="table-scroll" tabindex="0" role="region" aria-label="The curves as a table">
            <table class="data-table">
                <caption>
                    "Largest micro-batch, in " {move || curves.with(Curves::unit).many()} ". A dash: not even one fits."
                </caption>
                <thead>
                    <tr>
                        <th scope="col" class="num">
                            {reader.word(|words| words.column)} <i>{reader.word(|words| words.symbol)}</i>
                        </th>
                        {(0..=OWN).map(head).collect_view()}
                    </tr>
                </thead>
                <tbody>{move || curves.with(table).into_iter().map(row).collect_view()}</tbody>
            </table>
        </div>
    }
}
