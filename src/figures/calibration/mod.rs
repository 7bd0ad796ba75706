//! The reader's own measurements beside the prediction.

mod shown;

use bmax::course::calibration::Counter;
use leptos::either::EitherOf4;
use leptos::prelude::*;

use crate::components::{Column, DataTable, Select};
use crate::site::{COUNTERS, Runs, State, Typed, derived};
use shown::{RUNS, Says, Shown};

static COLUMNS: [Column; 5] = [
    Column::words("Run"),
    Column::numbers("Measured"),
    Column::numbers("Predicted"),
    Column::numbers("Difference"),
    Column::numbers("Residual"),
];

/// A field of one run.
#[derive(Clone, Copy)]
struct Part {
    /// Its name.
    label: &'static str,
    /// What its id begins with.
    id: &'static str,
    /// Which keyboard a phone shows.
    keyboard: &'static str,
    /// Where its text is.
    text: fn(&mut Typed) -> &mut String,
    /// What stands there before anything is typed.
    example: fn(&[String; 2]) -> &String,
    /// Whether that can be refused, of the two that a run is told by.
    refused: fn([bool; 2]) -> bool,
}

static PARTS: [Part; 2] = [
    Part {
        label: "Micro-batch",
        id: "calibration-b",
        keyboard: "numeric",
        text: |typed| &mut typed.batch,
        example: |[batch, _]| batch,
        refused: |[batch, _]| batch,
    },
    Part {
        label: "Took, GiB",
        id: "calibration-m",
        keyboard: "decimal",
        text: |typed| &mut typed.peak,
        example: |[_, peak]| peak,
        refused: |[_, peak]| peak,
    },
];

/// Up to three runs, what they say about the prediction, and each beside it.
#[component]
pub fn Calibration(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let counter = RwSignal::new(Counter::Allocated);
    let typed = RwSignal::new([const { Typed::EMPTY }; 3]);
    keep(state, counter, typed);
    let shown =
        Memo::new(move |_| state.asked(|scenario| typed.with(|typed| Shown::of(scenario, counter.get(), typed))));
    let unit = Memo::new(move |_| state.asked(|scenario| scenario.unit().one()));
    view! {
        <p class="live-note">
            "A script for the configuration of this page builds the model from its dimensions, runs two steps and prints both numbers: "
            <button type="button" class="button button-small" data-desk="export" data-target="measure">"Get the script"</button>
        </p>
        <div class="calibration-runs">
            <Select id="calibration-counter" label="Read from" options=COUNTERS value=counter/>
            {(0..RUNS.len()).map(|run| view! { <Run run typed shown/> }).collect_view()}
        </div>
        {(0..RUNS.len()).map(|run| view! { <Refusal run shown/> }).collect_view()}
        <div class="calibration-says" role="status">{move || say(shown.with(|shown| shown.says.clone()), unit.get())}</div>
        <DataTable
            caption="In GiB. The residual is the difference between a run and the prediction with your line"
            name="runs"
            label="Measured and predicted"
            columns=&COLUMNS
            rows=derived(shown, |shown| &shown.rows)
        />
    }
}

/// Takes up the runs of this configuration that this browser has kept, and keeps what is typed.
fn keep(state: State, counter: RwSignal<Counter>, typed: RwSignal<[Typed; 3]>) {
    Effect::new(move |before: Option<bool>| {
        let runs = Runs { scenario: state.scenario.get(), counter: counter.get(), typed: typed.get() };
        let is_typed = !runs.is_empty();
        if before.is_none() {
            // Runs of another configuration stay kept until there are new ones.
            if let Some(kept) = Runs::kept().filter(|kept| kept.are_of(&runs.scenario)) {
                counter.set(kept.counter);
                typed.set(kept.typed);
            }
        } else if is_typed || before == Some(true) {
            runs.keep();
        }
        is_typed
    });
}

/// The two fields of a run.
#[component]
fn Run(run: usize, typed: RwSignal<[Typed; 3]>, shown: Memo<Shown>) -> impl IntoView {
    let field = move |part: &'static Part| {
        let id = format!("{}{}", part.id, run + 1);
        let invalid = move || (part.refused)(shown.with(|shown| shown.refused[run])).to_string();
        let example =
            move || shown.with(|shown| shown.examples.as_ref().map(|runs| (part.example)(&runs[run]).clone()));
        let text = move || {
            let mut typed = typed.get();
            std::mem::take((part.text)(&mut typed[run]))
        };
        let type_in = move |event| typed.update(|typed| *(part.text)(&mut typed[run]) = event_target_value(&event));
        view! {
            <div class="field">
                <label for=id.clone()>{part.label}</label>
                <input
                    type="text"
                    inputmode=part.keyboard
                    id=id
                    autocomplete="off"
                    aria-describedby=format!("calibration-bad{}", run + 1)
                    aria-invalid=invalid
                    placeholder=example
                    prop:value=text
                    on:input=type_in
                />
            </div>
        }
    };
    view! {
        <fieldset>
            <legend>{RUNS[run]}" run"</legend>
            {PARTS.iter().map(field).collect_view()}
        </fieldset>
    }
}

/// Says of a run that its fields hold what cannot be.
#[component]
fn Refusal(run: usize, shown: Memo<Shown>) -> impl IntoView {
    view! {
        <p
            class="field-error"
            id=format!("calibration-bad{}", run + 1)
            hidden=move || shown.with(|shown| shown.refused[run] == [false; 2])
        >
            {RUNS[run]}
            " run: a micro-batch from 1 to 1,048,576 and its memory from 0.01 to 4,096 GiB, please. It is left out."
        </p>
    }
}

/// What the runs say about the prediction, with the word for one of what the micro-batch counts.
fn say(says: Says, unit: &'static str) -> impl IntoView {
    match says {
        Says::Nothing { batch, expected, example } => EitherOf4::A(view! {
            <p>
                "Nothing is measured yet. With your micro-batch of " <span class="num">{batch}</span>
                " this counter should show " <strong class="num">{expected}</strong> "."
            </p>
            <p>
                <strong class="badge">"Example"</strong>
                " The three runs below were not measured: two are set 5 % above the prediction, and the third 6 %. "
                {example.map(|[fixed, slope, most]| {
                    view! {
                        "They would give " <span class="num">{fixed}</span> " at any batch and "
                        <span class="num">{slope}</span> " for each " {unit} ", so at most " <span class="num">{most}</span>
                        ". "
                    }
                })} "What you type takes their place."
            </p>
        }),
        Says::Fixed { off, way, most } => EitherOf4::B(view! {
            <p>
                "A run takes " <strong class="num">{off}</strong> " " {way}
                " than predicted. One micro-batch cannot show whether that grows with the batch, so all of it is added to the fixed part. "
                {answers(most)}
            </p>
        }),
        Says::Line { measured: [fixed, slope], predicted: [foreseen, each], most } => EitherOf4::C(view! {
            <p>
                "Measured: " <strong class="num">{fixed}</strong> " at any batch, and "
                <strong class="num">{slope}</strong> " for each " {unit} ". Predicted: "
                <span class="num">{foreseen}</span> " and " <span class="num">{each}</span> ". " {answers(most)}
            </p>
        }),
        Says::Shrinks => EitherOf4::D(view! {
            <p>
                "By these readings a larger micro-batch takes no more memory, so they cannot be of one and the same configuration. Was each run alone on the GPU, and was the counter reset in between?"
            </p>
        }),
    }
}

/// The largest micro-batch after the measurements, and by the prediction alone.
fn answers([calibrated, predicted]: [String; 2]) -> impl IntoView {
    view! {
        <math><msub><mi>"b"</mi><mi>"max"</mi></msub></math>
        " is then " <strong class="num">{calibrated}</strong> "; the prediction alone says "
        <span class="num">{predicted}</span> "."
    }
}
