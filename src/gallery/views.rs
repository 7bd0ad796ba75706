//! What the reader reads.

use bmax::chart::MemoryBar as Bar;
use bmax::plot::{Axis, Ink, Mark, Plot as Spec, Rule, Series};
use bmax::{Method, Scenario, estimate};
use leptos::prelude::*;

use super::controls::none_fits;
use super::{Case, Specimen};
use crate::components::{
    Assumed, Beside, Code, Column, ConfigurationBar, DataTable, Fold, Formula, Help, HelpList, Helps, Home, Key,
    Legend, MemoryBar, MemoryLegend, Outlook, Plot, ScenarioForm, mathml,
};
use crate::site::State;

/// A program with a piece of every kind.
const PROGRAM: &str = "for step in range(16):  # a comment that is much longer than the width of a phone or of this frame\n    \
    print(\"a text\", step)\n";

/// Every view.
#[component]
pub fn Views() -> impl IntoView {
    view! {
        <Texts/>
        <Answers/>
        <Numbers/>
        <Drawings/>
    }
}

#[component]
fn Texts() -> impl IntoView {
    let estimate = estimate(&Scenario::default());
    let largest = *estimate.largest()[0];
    let (expr, values) = (*largest.formula, estimate.values);
    view! {
        <Specimen name="assumed">
            <Case state="The device has no listed speed">
                <Assumed text=Signal::derive(|| Some("Its speed is assumed: 312 TFLOP/s.".to_owned()))/>
            </Case>
            <Case state="It has one: nothing is said"><Assumed text=Signal::derive(|| None::<String>)/></Case>
        </Specimen>
        <Specimen name="code">
            <Case state="Coloured; the long line is scrolled">
                <Code id="code-shown" label="A program" source=Signal::derive(|| PROGRAM.to_owned())/>
            </Case>
        </Specimen>
        <Specimen name="fold">
            <Case state="Folded"><Fold summary="The numbers as a table">"What is folded away"</Fold></Case>
        </Specimen>
        <Specimen name="formula">
            <Case state="In symbols"><Formula mathml=mathml(&expr, &values)/></Case>
        </Specimen>
    }
}

#[component]
fn Answers() -> impl IntoView {
    let usual = State::new();
    let none = none_fits();
    let workshop = State::of(Scenario { method: Method::Workshop, ..Scenario::default() });
    view! {
        <Specimen name="configuration_bar">
            <Case state="As it stands on every page"><ConfigurationBar state=usual/></Case>
        </Specimen>
        <Specimen name="scenario_form">
            <Case state="As it stands in the drawer, with another method"><ScenarioForm state=workshop home=Home::Drawer/></Case>
        </Specimen>
        <Specimen name="help_list">
            <Case state="A change with what fits then, one with its line of code, and the way to all of them">
                <HelpList helps=Memo::new(|_| helping()) place="#opening"/>
            </Case>
        </Specimen>
        <Specimen name="outlooks">
            <Case state="The ledger knows unknowns"><Outlooks state=usual/></Case>
            <Case state="None fits"><Outlooks state=none/></Case>
            <Case state="Another method knows none: only the other two methods are named">
                <Outlooks state=workshop/>
            </Case>
        </Specimen>
    }
}

/// Two changes, one of which makes the chosen micro-batch fit by itself.
fn helping() -> Helps {
    let help = |name: &str, after: Option<&str>, line: Option<&str>| Help {
        name: name.to_owned(),
        after: after.map(str::to_owned),
        line: line.map(str::to_owned),
        query: "?v=4".to_owned(),
    };
    let all = [
        help("4 × 2 accumulated", None, Some("gradient_accumulation_steps=2")),
        help("Train with LoRA", Some("18"), None),
    ];
    Helps { title: "Makes 8 sequences fit".to_owned(), helps: all.to_vec() }
}

/// What frames the likely answer, and what the other methods say.
#[component]
fn Outlooks(state: State) -> impl IntoView {
    view! {
        <dl class="outlooks">
            <Outlook name="Safe" test="answer-safe" of=|range| &range.safe state/>
            <Outlook name="Optimistic" test="answer-optimistic" of=|range| &range.optimistic state/>
        </dl>
        <Beside state/>
    }
}

const COLUMNS: &[Column] = &[Column::words("Stage"), Column::numbers("GiB"), Column::words("Why")];
const KEYS: &[Key] = &[Key::new("key key-own", "yours"), Key::new("key key-series-2", "another")];

#[component]
fn Numbers() -> impl IntoView {
    let rows = || {
        [["ZeRO 0", "104.3", "all of it on every GPU"], ["ZeRO 3", "13.0", "an eighth on each"]]
            .map(|row| row.map(str::to_owned).to_vec())
            .to_vec()
    };
    view! {
        <Specimen name="table">
            <Case state="Words and numbers">
                <DataTable caption="Model states of 7B on 8 GPUs." label="Model states" columns=COLUMNS
                    rows=Signal::derive(rows)/>
            </Case>
        </Specimen>
        <Specimen name="legend">
            <Case state="In columns"><Legend keys=KEYS/></Case>
        </Specimen>
    }
}

/// What is alive at the peak of the default.
fn at_peak() -> Signal<Bar> {
    Signal::stored(Bar::at_peak(&estimate(&Scenario::default()), None))
}

/// The bar of a micro-batch of the default.
fn bar(batch: u32) -> Signal<Bar> {
    let estimate = estimate(&Scenario::default().with_batch(batch));
    Signal::derive(move || Bar::of(&estimate, None))
}

#[component]
fn Drawings() -> impl IntoView {
    let curve = |factor: f64| (1..=16).map(|x| (f64::from(x), factor * f64::from(x).sqrt())).collect::<Vec<_>>();
    let spec = Spec {
        x: Axis::linear(1.0, 16.0, "micro-batch"),
        y: Axis::linear(0.0, 5.0, "time"),
        series: vec![
            Series::line(Ink::Own, curve(1.0)),
            Series::dashed(Ink::Series2, curve(0.8)),
            Series::dots(Ink::Series1, curve(0.6)),
        ],
        marks: vec![
            Mark::at(4.0, Rule::Main),
            Mark::named(9.0, Rule::Soft, "soft".to_owned()),
            Mark::at(12.0, Rule::Read),
        ],
    };
    view! {
        <Specimen name="memory_bar">
            <Case state="It fits"><MemoryBar bar=bar(3)/><MemoryLegend bar=bar(3)/></Case>
            <Case state="It does not"><MemoryBar bar=bar(12)/><MemoryLegend bar=bar(12)/></Case>
            <Case state="What is alive at the peak"><MemoryBar bar=at_peak()/><MemoryLegend bar=at_peak()/></Case>
        </Specimen>
        <Specimen name="plot">
            <Case state="Curves and marks of every kind">
                <Plot plot=Signal::derive(move || spec.clone()) label="Three curves"/>
            </Case>
        </Specimen>
    }
}
