//! Real runs beside what is computed for them, setting by setting, and the reader's own among them.

mod curve;
mod shown;

use bmax::proof::Setting;
use leptos::ev::pageshow;
use leptos::prelude::*;

use crate::components::{Fold, Key, Legend, Model, Plot, Scrub, Select, Slider};
use crate::site::{Runs, State, derived, read};
use curve::{Curve, Which, choices};
use shown::{Point, Row, Shown, nearest};

static KEYS: [Key; 8] = [
    Key::new("series-1 proof-dot", "live tensors"),
    Key::new("series-2 proof-ring", "what the allocator holds"),
    Key::new("series-3 proof-cross", "what the driver shows"),
    Key::new("series-4 legend-line", "counter not named"),
    Key::new("series-own proof-diamond", "your own runs"),
    Key::new("step-usable legend-line is-dashed", "predicted as it was measured"),
    Key::new("proof-band", "nine of ten runs"),
    Key::new("legend-mark is-read", "read-out"),
];

static CURVE_KEYS: [Key; 3] = [
    Key::new("series-2 legend-line", "computed"),
    Key::new("series-1 proof-dot", "measured by others"),
    Key::new("series-own proof-diamond", "measured by you"),
];

/// Runs of a setting, measured against predicted, each with its source, and curves through runs that differ in one input.
#[component]
pub fn Proof(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let runs = RwSignal::new(None::<Runs>);
    Effect::new(move |_| {
        runs.set(Runs::kept());
        // Back from another page the browser may show this one as it was left.
        let back = window_event_listener(pageshow, move |_| runs.set(Runs::kept()));
        on_cleanup(move || back.remove());
    });
    let chosen = RwSignal::new(None);
    let own = Memo::new(move |_| state.asked(Setting::of));
    let setting = Memo::new(move |_| chosen.get().unwrap_or(own.get()));
    let points = Memo::new(move |_| Point::all(setting.get()));
    let at = RwSignal::new(0.0);
    let pick = move |setting| {
        chosen.set(Some(setting));
        at.set(0.0);
    };
    let shown = Memo::new(move |_| {
        runs.with(|runs| {
            points.with(|points| Shown::of(setting.get(), points, Option::as_ref(runs), at.get() as usize))
        })
    });
    let options = Setting::ALL.map(|setting| (setting, setting.name()));
    view! {
        <div class="live-controls">
            <Select id="proof-setting" label="Setting" options value=Model::new(setting.into(), pick)/>
            <ReadOff points shown at/>
        </div>
        <p class="live-note">
            <strong data-testid="said">{move || shown.with(|shown| shown.said)}</strong>" "
            <span data-testid="parts">{read(shown, |shown| &shown.parts)}</span>
        </p>
        <Plot
            plot=derived(shown, |shown| &shown.plot)
            name="runs"
            label="Real runs by what was measured, and how far the prediction is off"
            described_by="proof-read"
            scrub=scrub(points, shown, at)
        />
        <Legend keys=&KEYS/>
        <Reading shown/>
        <p class="live-note" data-testid="own">{read(shown, |shown| &shown.own)}</p>
        <Fold summary="Every run of this setting, with its source" name="all">
            <Table points/>
        </Fold>
        <p class="figure-part">"One input varied: runs on the computed curve"</p>
        <OneVaried state runs/>
    }
}

/// The pointer moves to the run whose measurement is nearest.
fn scrub(points: Memo<Vec<Point>>, shown: Memo<Shown>, at: RwSignal<f64>) -> Scrub<Signal<(f64, f64)>> {
    let measured = move || {
        let place = |points: &Vec<Point>| points.get(at.get() as usize).map(|point| point.run.measured.gib().log2());
        points.with(place).unwrap_or_default()
    };
    let follow = move |doublings| at.set(points.with_untracked(|points| nearest(points, doublings)) as f64);
    Scrub {
        value: Model::new(Signal::derive(measured), follow),
        ends: Signal::derive(move || shown.with(|shown| shown.ends)),
        step: 1e-6,
    }
}

/// The slider that goes from run to run.
#[component]
fn ReadOff(points: Memo<Vec<Point>>, shown: Memo<Shown>, at: RwSignal<f64>) -> impl IntoView {
    let ends = Signal::derive(move || (0.0, points.with(|points| points.len().saturating_sub(1)) as f64));
    let spoken = Signal::derive(move || shown.with(|shown| shown.reading.spoken()));
    view! {
        <Slider id="proof-at" value=at ends text=spoken>
            "Run, by what was measured"
        </Slider>
    }
}

/// The run that is read off, with its source and its configuration.
#[component]
fn Reading(shown: Memo<Shown>) -> impl IntoView {
    let text = move |of: fn(&Row) -> &str| move || shown.with(|shown| of(&shown.reading).to_owned());
    view! {
        <p class="live-note proof-read" id="proof-read">
            <a href=text(|row| &row.opens) data-testid="opens">{text(|row| &row.model)}</a>": measured "
            <strong class="num" data-testid="measured">{text(|row| &row.measured)}</strong>" GiB ("
            {text(|row| row.counter)}"), predicted "
            <strong class="num" data-testid="predicted">{text(|row| &row.predicted)}</strong>" GiB, "
            <span class="num" data-testid="off">{text(|row| &row.off)}</span>". Source: "
            <a href=text(|row| &row.address) class="proof-source">{text(|row| row.source)}</a>"."
        </p>
    }
}

/// Every run: the way to its configuration, its numbers, its source.
#[component]
fn Table(points: Memo<Vec<Point>>) -> impl IntoView {
    let row = |row: Row| {
        view! {
            <tr>
                <th scope="row"><a href=row.opens>{row.model}</a></th>
                <td data-label="What was read">{row.counter}</td>
                <td class="num" data-label="Measured">{row.measured}</td>
                <td class="num" data-label="Predicted">{row.predicted}</td>
                <td class="num" data-label="Off by">{row.off}</td>
                <td class="proof-source" data-label="Source"><a href=row.address>{row.source}</a></td>
            </tr>
        }
    };
    view! {
        <div class="table-scroll" tabindex="0" role="region" aria-label="Every run of the setting">
            <table class="data-table data-table-rows proof-table">
                <caption>"In GiB, from the smallest on. A name opens the configuration in the calculator"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Run"</th>
                        <th scope="col">"What was read"</th>
                        <th scope="col" class="num">"Measured"</th>
                        <th scope="col" class="num">"Predicted"</th>
                        <th scope="col" class="num">"Off by"</th>
                        <th scope="col">"Source"</th>
                    </tr>
                </thead>
                <tbody data-testid="proof-rows">
                    {move || points.with(|points| points.iter().map(|point| row(Row::of(point))).collect_view())}
                </tbody>
            </table>
        </div>
    }
}

/// A computed curve, and the runs on it.
#[component]
fn OneVaried(state: State, runs: RwSignal<Option<Runs>>) -> impl IntoView {
    let chosen = RwSignal::new(None);
    // Without runs of the reader's own there is nothing on their curve yet.
    let which =
        Memo::new(move |_| chosen.get().unwrap_or_else(|| runs.with(|runs| Which::opened(Option::as_ref(runs)))));
    let curve = Memo::new(move |_| {
        runs.with(|runs| state.asked(|scenario| Curve::of(which.get(), scenario, Option::as_ref(runs))))
    });
    let is_example = move || chosen.with(Option::is_none) && which.get() != Which::Own;
    view! {
        <div class="live-controls">
            <Select
                id="proof-curve"
                label="Curve"
                options=choices()
                value=Model::new(which.into(), move |which| chosen.set(Some(which)))
            />
        </div>
        <Plot
            plot=derived(curve, |curve| &curve.plot)
            name="curve"
            label="Computed memory over one input, with measured runs"
            described_by="proof-told"
        />
        <Legend keys=&CURVE_KEYS/>
        <p class="live-note proof-told" id="proof-told">
            <span hidden=move || !is_example()>
                <strong class="badge">"Example"</strong> " No run of yours is kept yet, so these are published ones. "
            </span>
            <span data-testid="told">{read(curve, |curve| &curve.told)}</span>
        </p>
    }
}
