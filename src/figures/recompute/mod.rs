//! Recomputation trades time for memory.

mod shown;

use bmax::{Choice, Recomputation};
use leptos::prelude::*;

use crate::components::{DataTable, Fold, Model, Plot, Scrub, Slider, UseButton};
use crate::site::{State, behind_paint, derived, read};
use shown::{COLUMNS, Distances, Inside, NAMED, Policies, Reading, Row};

/// Where the slider starts: at the distance of the default configuration.
const START: f64 = 4.0;

/// The policies beside what the sources say, and how far apart checkpoints should be.
#[component]
pub fn Recompute(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let at = RwSignal::new(START);
    let distances = Memo::new(move |_| state.asked(Distances::of));
    let reading = Memo::new(move |_| distances.with(|distances| distances.reading(at.get())));
    let every = Memo::new(move |_| reading.with(|reading| reading.every));
    // Seven policies are counted for it, while the two curves below are read off.
    let counted_for = behind_paint(every);
    let policies = Memo::new(move |_| state.asked(|scenario| Policies::of(scenario, counted_for.get())));
    let done = RwSignal::new("");
    let apply = Callback::new(move |policy: Recomputation| {
        let every = every.get_untracked();
        state.change(|mut scenario| {
            scenario.recipe.recomputation = policy;
            if matches!(policy, Recomputation::EveryK | Recomputation::KthLayer) {
                scenario.recipe.every = every;
            }
            scenario
        });
        done.set(policy.effect());
    });
    let apply_best = move |_| {
        at.set(distances.with_untracked(|distances| distances.best).into());
        apply.run(Recomputation::EveryK);
    };
    view! {
        <Table policies apply/>
        <p class="live-note">
            "Your policy is marked. Discarding everything instead would add "
            <strong data-testid="discard">{read(policies, |policies| &policies.discard)}</strong>" to the work."
        </p>
        <Plot
            plot=derived(policies, |policies| &policies.plot)
            name="trade"
            label="Activations against extra work, a dot for each policy of the table"
            class="recompute-trade"
        />
        <p class="figure-part" id="recompute-k-title">"How far apart should checkpoints be?"</p>
        <Distance at distances reading/>
        <Notes distances reading/>
        <div class="button-row recompute-best">
            <button
                type="button"
                class="button button-small"
                hidden=move || distances.with(|distances| distances.inside.is_none())
                on:click=apply_best
            >
                "Use the best K"
            </button>
        </div>
        <p class="visually-hidden" role="status" data-testid="done">{move || done.get()}</p>
        <Fold summary="Every K as a table">
            <DataTable
                caption="Checkpoints every K layers"
                name="every"
                label="Activations for every K"
                columns=&COLUMNS
                rows=derived(distances, |distances| &distances.rows)
            />
        </Fold>
    }
}

/// The policies as rows; on a phone each is a card.
#[component]
fn Table(policies: Memo<Policies>, apply: Callback<Recomputation>) -> impl IntoView {
    let heads = ["Activations", "Saved here", "Sources", "Extra FLOPs here", "Sources"];
    let rows = (0..NAMED.len()).map(|at| view! { <Policy at policies apply/> }).collect_view();
    view! {
        <div class="table-scroll" tabindex="0" role="region" aria-label="Recomputation policies">
            <table class="data-table data-table-rows data-table-cards recompute-table">
                <caption>
                    "Activations at their highest, and floating-point operations of a step, beside what the sources say"
                </caption>
                <thead>
                    <tr>
                        <th scope="col">"Policy"</th>
                        {heads.map(|head| view! { <th scope="col" class="num">{head}</th> })}
                        <th scope="col" class="num"><i>"b"</i><sub>"max"</sub></th>
                        <th scope="col"><span class="visually-hidden">"Apply"</span></th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
}

/// One policy.
#[component]
fn Policy(at: usize, policies: Memo<Policies>, apply: Callback<Recomputation>) -> impl IntoView {
    let named = &NAMED[at];
    let key = named.policy.key();
    let row = move |of: fn(&Row) -> String| move || policies.with(|policies| of(&policies.rows[at]));
    let number = |label, name: &str, of: fn(&Row) -> String| {
        view! { <td class="num" data-label=label data-testid=format!("{name}-{key}")>{row(of)}</td> }
    };
    let source = |markup| view! { <td class="num" data-label="Sources say" inner_html=markup></td> };
    let letter = (named.policy == Recomputation::Block).then(|| view! { <i>"N"</i>" = " });
    view! {
        <tr class:is-own=move || policies.with(|policies| policies.rows[at].own)>
            <th scope="row">
                <span class=named.dot></span>
                {row(|row| row.name.clone())}
                {letter}
                {row(|row| row.layers.clone().unwrap_or_default())}
            </th>
            {number("Activations", "kept", |row| row.kept.clone())}
            {number("Saved here", "saved", |row| row.saved.clone())}
            {source(named.saved)}
            {number("More FLOPs", "extra", |row| row.extra.clone())}
            {source(named.extra)}
            {number("Largest batch", "batch", |row| row.batch.clone())}
            <td><UseButton what=named.what press=move |()| apply.run(named.policy)/></td>
        </tr>
    }
}

/// The distance of checkpoints on a slider, and two counts of what it keeps.
#[component]
fn Distance(at: RwSignal<f64>, distances: Memo<Distances>, reading: Memo<Reading>) -> impl IntoView {
    let count = move || distances.with(|distances| f64::from(distances.count()));
    let value = Model::new(Signal::derive(move || reading.with(|reading| reading.every.into())), move |to| at.set(to));
    // The pointer tells which part of the axis it is at: how long that is depends on the model.
    let part = Model::new(Signal::derive(|| 0.0), move |part| at.set((1.0 + part * (count() - 1.0)).round()));
    let scrub = Scrub { value: part, ends: (0.0, 1.0), step: 1e-6 };
    let plot = move |of: fn(&Distances, u32) -> bmax::plot::Plot| {
        Signal::derive(move || distances.with(|distances| of(distances, reading.with(|reading| reading.every))))
    };
    view! {
        <Slider
            id="recompute-k"
            value
            ends=Signal::derive(move || (1.0, count()))
            text=Signal::derive(move || reading.with(Reading::spoken))
        >
            "Layers per checkpoint "<math><mi>"K"</mi></math>" "
            <span class="soft">"(or drag across a drawing)"</span>
        </Slider>
        <div class="recompute-pair">
            <div>
                <p class="small soft">
                    "The lecture’s count, in layers: "
                    <math><mi>"L"</mi><mo>"/"</mo><mi>"K"</mi><mo>"+"</mo><mi>"K"</mi></math>
                </p>
                <Plot
                    plot=plot(Distances::lecture)
                    name="lecture"
                    label="The lecture’s count, lowest at the root of the number of layers"
                    described_by="recompute-notes"
                    scrub
                    class="recompute-plot"
                />
            </div>
            <div>
                <p class="small soft">"The ledger’s activations, in GiB"</p>
                <Plot
                    plot=plot(Distances::exact)
                    name="exact"
                    label="The ledger’s activations, lowest at a much smaller K"
                    described_by="recompute-notes"
                    scrub
                    class="recompute-plot"
                />
            </div>
        </div>
    }
}

/// What both counts say of the chosen distance, and why they differ.
#[component]
fn Notes(distances: Memo<Distances>, reading: Memo<Reading>) -> impl IntoView {
    let inside = move |of: fn(&Inside) -> &String| {
        move || {
            distances.with(|distances| distances.inside.as_ref().map(|inside| of(inside).clone()).unwrap_or_default())
        }
    };
    let known = move || distances.with(|distances| distances.inside.is_some());
    view! {
        <div class="recompute-notes" id="recompute-notes">
            <p class="live-note">
                <math><mi>"K"</mi></math>" = "
                <strong data-testid="chosen">{read(reading, |reading| &reading.chosen)}</strong>": the lecture counts "
                <strong data-testid="worth">{read(reading, |reading| &reading.worth)}</strong>
                " layers’ worth, the ledger "
                <strong data-testid="kept">{read(reading, |reading| &reading.kept)}</strong>". The lecture’s best is "
                <math><msqrt><mi>"L"</mi></msqrt></math>" = "
                <span>{read(distances, |distances| &distances.root)}</span>"; the ledger’s is "
                <math><mi>"K"</mi></math>" = "
                <strong data-testid="best">{read(distances, |distances| &distances.best_text)}</strong>" with "
                <strong>{read(distances, |distances| &distances.least)}</strong>"."
            </p>
            <Show when=known>
                <p class="live-note">
                    "A layer’s inside is "<strong>{inside(|inside| &inside.ratio)}</strong>
                    " times as large as its input ("<span>{inside(|inside| &inside.inside)}</span>" against "
                    <span>{inside(|inside| &inside.input)}</span>
                    "), and the lecture’s count assumes that the two are equal. With their real sizes the best distance is "
                    <math><msqrt><mrow><mi>"L"</mi><mo>"·"</mo><mi>"input"</mi><mo>"/"</mo><mi>"inside"</mi></mrow></msqrt></math>
                    " = "<span>{inside(|inside| &inside.smooth)}</span>"."
                </p>
            </Show>
            <Show when=move || !known()>
                <p class="live-note">
                    "The method you chose has no "<math><mi>"K"</mi></math>
                    " and counts it like full recomputation. Choose the ledger to see the difference."
                </p>
            </Show>
        </div>
    }
}
