//! A tuning plan: six steps run on the configuration.

mod shown;

use bmax::{BatchUnit, Choice};
use bmax::{Field, Scenario, setting};
use leptos::prelude::*;

use crate::components::{Assumed, Column, DataTable, NumberField, NumberInput, Segmented, SettingField};
use crate::site::{State, derived, read};
use shown::{Devices, Lacking, Late, Plan, Shown, Tunings};

/// Billions of tokens and hours, as long as no others are entered.
const DEFAULTS: (f64, f64) = (1.0, 24.0);

static DEVICES: [(Devices, &str); 2] = [(Devices::One, "one GPU"), (Devices::All, "all of yours")];

static COLUMNS: [Column; 7] = [
    Column::words("Technique"),
    Column::numbers("B = b · D · steps"),
    Column::numbers("Largest b"),
    Column::numbers("Extra FLOPs"),
    Column::numbers("Waits"),
    Column::numbers("Optimizer step"),
    Column::numbers("Run"),
];

/// What the reader sets of the run itself.
#[derive(Clone, Copy)]
struct Inputs {
    devices: RwSignal<Devices>,
    tokens: RwSignal<f64>,
    hours: RwSignal<f64>,
}

/// Six steps from a batch to a setup, what comes of them, and every candidate.
#[component]
pub fn TuningPlan(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let devices = RwSignal::new(Devices::All);
    let inputs = Inputs { devices, tokens: RwSignal::new(DEFAULTS.0), hours: RwSignal::new(DEFAULTS.1) };
    let tunings = Memo::new(move |_| state.asked(Tunings::of));
    let shown = Memo::new(move |_| {
        tunings.with(|tunings| tunings.shown(devices.get(), inputs.tokens.get(), inputs.hours.get()))
    });
    let setup = Callback::new(move |()| tunings.with_untracked(|tunings| tunings.setup(devices.get_untracked())));
    view! {
        <Controls state inputs/>
        <div class="tuning-run">
            <ol class="tuning-steps">
                <FirstSteps shown/>
                <LastSteps shown/>
            </ol>
            <div class="tuning-outcome" data-time=move || shown.with(time)>
                {move || shown.with(|shown| shown.plan.clone()).map(plan)}
                {move || shown.with(|shown| shown.lacking.clone()).map(lacking)}
                {move || shown.with(|shown| shown.refused.clone()).map(|why| view! { <p>{why}</p> })}
                <Apply state shown setup/>
            </div>
            <Assumed text=derived(tunings, |tunings| &tunings.assumed)/>
            <p class="live-note tuning-other">
                {move || shown.with(|shown| shown.other)}
                <strong>{read(shown, |shown| &shown.summary)}</strong> "."
            </p>
        </div>
        <DataTable
            caption="Every candidate, cheapest first. The first that fits is taken"
            name="candidates"
            label="Candidates of the plan"
            columns=&COLUMNS
            rows=derived(shown, |shown| &shown.rows)
            cards=true
            class="tuning-table"
        />
    }
}

/// How the style sheet calls what comes of the steps.
fn time(shown: &Shown) -> &'static str {
    match &shown.plan {
        Some(Plan { late: None, .. }) => "ok",
        Some(_) => "late",
        None => "none",
    }
}

#[component]
fn Controls(state: State, inputs: Inputs) -> impl IntoView {
    let Inputs { devices, tokens, hours } = inputs;
    let tokens = NumberInput::of("Tokens to train on, in billions", (0.001, 1e6), DEFAULTS.0, tokens);
    let hours = NumberInput::of("Hours it may take", (0.01, 1e6), DEFAULTS.1, hours);
    view! {
        <div class="live-controls">
            <Segmented id="tuning-devices" legend="Run on" options=DEVICES value=devices/>
            <NumberField input=tokens id="tuning-tokens"/>
            <NumberField input=hours id="tuning-hours"/>
            <NumberField
                input=state.field(Field::GlobalBatch)
                id="tuning-target"
                help=const { Field::GlobalBatch.help() }
            />
            <SettingField handle=state.setting(&setting::BATCH_UNIT, BatchUnit::EFFECTS) id="tuning-unit"/>
            <NumberField input=state.field(Field::Sequence) id="tuning-s" help=const { Field::Sequence.help() }/>
        </div>
    }
}

/// Target, first try and halving.
#[component]
fn FirstSteps(shown: Memo<Shown>) -> impl IntoView {
    let exact = |exact: String| {
        view! { " The last of these fits; the largest that does is exactly " <strong class="num">{exact}</strong> "." }
    };
    view! {
        <li>
            <p>
                <strong>"Fix the global batch."</strong> " "
                <span class="num">{read(shown, |shown| &shown.start.target)}</span> " an optimizer step, "
                <span class="num">{read(shown, |shown| &shown.start.tokens)}</span> " "
                {move || shown.with(|shown| shown.start.noun)} ": "
                <strong class="num" data-testid="share">{read(shown, |shown| &shown.start.share)}</strong>
                " for each GPU or group with data of its own. No step below changes this batch."
            </p>
        </li>
        <li>
            <p>
                <strong>"Try it directly."</strong> " All at once need "
                <strong class="num">{read(shown, |shown| &shown.start.direct)}</strong> " of "
                <span class="num">{read(shown, |shown| &shown.start.usable)}</span> ". "
                {read(shown, |shown| &shown.start.verdict)}
            </p>
        </li>
        <li>
            <p>
                <strong>"Accumulate."</strong> " "
                <span class="num" data-testid="tries">{read(shown, |shown| &shown.start.halving)}</span>
                {move || shown.with(|shown| shown.start.exact.clone()).map(exact)}
            </p>
        </li>
    }
}

/// Remedies that cost something, and the time.
#[component]
fn LastSteps(shown: Memo<Shown>) -> impl IntoView {
    let timed = |plan: Plan| {
        view! {
            "An optimizer step takes " <span class="num">{plan.results.update}</span> ", the run of "
            <span class="num">{plan.updates}</span> " updates "
            <strong class="num" data-testid="run">{plan.results.run}</strong> " of the "
            <span class="num">{plan.allowed}</span> " it may take."
        }
    };
    let untimed = move || shown.with(|shown| shown.plan.is_none().then_some("There is nothing to time."));
    view! {
        <li>
            <p><strong>"Recompute."</strong> " " {move || shown.with(|shown| shown.recompute)}</p>
        </li>
        <li>
            <p><strong>"Swap to CPU memory."</strong> " " {move || shown.with(|shown| shown.swap)}</p>
        </li>
        <li>
            <p>
                <strong>"Check the time."</strong> " "
                {move || shown.with(|shown| shown.plan.clone()).map(timed)} {untimed}
            </p>
        </li>
    }
}

/// The setup that fits, and what it lacks where it takes too long.
fn plan(Plan { headline, equation, measure, results, late, .. }: Plan) -> impl IntoView {
    let late = late.map(|Late { factor, enough }| {
        view! {
            " That is " <span class="num">{factor}</span> " the time allowed. At least "
            <strong class="num" data-testid="enough">{enough}</strong>
            " GPUs like this one would be needed, without any loss to communication. Use parallelism."
        }
    });
    view! {
        <p>
            <strong>{headline}</strong> " " <span class="num">{equation}</span> ". " {measure} ", with up to "
            <span class="num">{results.most}</span> " at once, " <span class="num">{results.extra}</span>
            " more work and " <span class="num">{results.stall}</span> " of waiting in each optimizer step." {late}
        </p>
    }
}

/// Why nothing fits, and what would help.
fn lacking(Lacking { headline, over, instant, largest, fewest }: Lacking) -> impl IntoView {
    view! {
        <p>
            <strong>{headline}</strong> " With every technique the peak is "
            <strong class="num" data-testid="over">{over}</strong> " over, at the moment “"
            <span data-testid="none-instant">{instant}</span> "”; most of it is “"
            <span data-testid="none-largest">{largest}</span> "”. With the states divided as you have set, "
            <strong class="num" data-testid="fewest">{fewest}</strong>
            " GPUs would be enough. Try a higher ZeRO stage, more GPUs, layers or matrices divided among them, or smaller tensors."
        </p>
    }
}

/// Takes the setup over for the whole page, and gives back what was there before.
#[component]
fn Apply(state: State, shown: Memo<Shown>, setup: Callback<(), Option<Scenario>>) -> impl IntoView {
    let before = RwSignal::new(None);
    let done = RwSignal::new("");
    let apply = move |_| {
        if let Some(setup) = setup.run(()) {
            before.set(Some(state.scenario.get_untracked()));
            state.change(|_| setup);
            done.set("In use on all pages.");
        }
    };
    let undo = move |_| {
        if let Some(was) = before.get_untracked() {
            state.change(|_| was);
            before.set(None);
            done.set("As it was before.");
        }
    };
    view! {
        <div class="button-row">
            <button
                type="button"
                class="button"
                data-testid="apply"
                hidden=move || shown.with(|shown| shown.plan.is_none())
                on:click=apply
            >
                "Use this configuration"
            </button>
            <button
                type="button"
                class="button button-quiet"
                hidden=move || before.with(Option::is_none)
                on:click=undo
            >
                "Undo"
            </button>
            <span class="small" role="status" data-testid="done">{move || done.get()}</span>
        </div>
    }
}
