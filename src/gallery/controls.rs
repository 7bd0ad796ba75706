//! What the reader sets.

use bmax::Choice;
use bmax::{Field, Recomputation, Scenario, setting};
use leptos::attr::custom::custom_attribute;
use leptos::prelude::*;

use super::{Case, Specimen};
use crate::components::{
    BatchSlider, Checkbox, Combobox, CopyButton, Dialog, Drag, Listed, NumberField, NumberInput, ResetButton,
    Segmented, Select, SettingField, Slider, Tab, TabPanel, Tabs, UseButton,
};
use crate::site::State;

/// Every control.
#[component]
pub fn Controls() -> impl IntoView {
    view! {
        <Numbers/>
        <Lists/>
        <Comboboxes/>
        <Buttons/>
        <Panels/>
    }
}

#[component]
fn Numbers() -> impl IntoView {
    let usual = State::new();
    let changed = State::of(Scenario::default().with_batch(6));
    let small = changed.field(Field::Batch);
    let refused = NumberInput {
        write: Callback::new(|_| Err("Steps: a number from 1 to 10, please.".to_owned())),
        ..NumberInput::of("Steps", (1.0, 10.0), 5.0, RwSignal::new(5.0))
    };
    let share = RwSignal::new(0.4);
    let sequences = RwSignal::new(4.0);
    let text = Signal::derive(move || format!("{} %", share.get() * 100.0));
    view! {
        <Specimen name="number_field">
            <Case state="An input of the scenario at its default">
                <NumberField input=usual.field(Field::Sequence) id="usual-sequence" help=Field::Sequence.help()/>
            </Case>
            <Case state="Changed, without a help"><NumberField input=small id="changed-batch"/></Case>
            <Case state="A number of a figure; where a program runs, what is typed here is refused">
                <NumberField input=refused id="refused-steps"/>
            </Case>
        </Specimen>
        <Specimen name="slider">
            <Case state="With its value">
                <Slider id="slider-shown" value=share ends=(0.0, 1.0) step=0.1 text shown=true>"Share"</Slider>
            </Case>
            <Case state="Its value stands elsewhere">
                <Slider id="slider-hidden" value=share ends=(0.0, 1.0) step=0.1 text>"Share"</Slider>
            </Case>
        </Specimen>
        <Specimen name="drag">
            <Case state="In a sentence, which a program answers for">
                <p data-mounted="">
                    "With "<Drag label="Sequences" values=&[1.0, 4.0, 1_024.0] value=sequences spoken=text/>" sequences"
                </p>
            </Case>
            <Case state="Before that">
                <p data-sentence="">
                    "With "<Drag label="Sequences" values=&[1.0, 4.0, 1_024.0] value=sequences spoken=text/>" sequences"
                </p>
            </Case>
        </Specimen>
        <Specimen name="batch_slider">
            <Case state="Some values fit"><BatchSlider id="batch-some" state=usual/></Case>
            <Case state="None fits"><BatchSlider id="batch-none" state=none_fits()/></Case>
        </Specimen>
    }
}

/// A scenario in which not even one sequence fits.
pub fn none_fits() -> State {
    let alone = Scenario::default().with_number(Field::Gpus, 1.0);
    State::of(alone.unwrap_or_default())
}

#[component]
fn Lists() -> impl IntoView {
    let kind = RwSignal::new(Recomputation::Selective);
    let kinds = [(Recomputation::None, "none"), (Recomputation::Selective, "selective"), (Recomputation::Full, "full")];
    let usual = State::new();
    let other = State::new();
    other.setting(&setting::RECOMPUTATION, Recomputation::EFFECTS).write.run("full".to_owned());
    view! {
        <Specimen name="segmented">
            <Case state="A choice">
                <Segmented legend="Recomputation" id="segmented-plain" options=kinds value=kind/>
            </Case>
            <Case state="With a sentence on what is chosen">
                <Segmented legend="Recomputation" id="segmented-effect" options=kinds value=kind
                    effect=Signal::derive(|| "Keeps the matrix products and computes the rest again.")/>
            </Case>
        </Specimen>
        <Specimen name="select">
            <Case state="A choice"><Select id="select-plain" label="Recomputation" options=kinds value=kind/></Case>
            <Case state="With a sentence">
                <Select id="select-help" label="Recomputation" options=kinds value=kind
                    help=Signal::derive(|| "A sentence below the list.".to_owned())/>
            </Case>
        </Specimen>
        <Specimen name="setting_field">
            <Case state="At its default">
                <SettingField handle=usual.setting(&setting::RECOMPUTATION, Recomputation::EFFECTS) id="setting-usual"/>
            </Case>
            <Case state="Changed">
                <SettingField handle=other.setting(&setting::RECOMPUTATION, Recomputation::EFFECTS) id="setting-changed"/>
            </Case>
            <Case state="Nothing reads it">
                <SettingField handle=usual.setting(&setting::RECOMPUTATION, Recomputation::EFFECTS) id="setting-idle"
                    idle=Signal::derive(|| true)/>
            </Case>
        </Specimen>
        <Specimen name="checkbox">
            <Case state="Checked"><Checkbox label="Controls" checked=RwSignal::new(true)/></Case>
            <Case state="Not checked"><Checkbox label="Controls" checked=RwSignal::new(false)/></Case>
        </Specimen>
    }
}

#[component]
fn Comboboxes() -> impl IntoView {
    let usual = State::new();
    let edited = State::of(Scenario::default().with_number(Field::Layers, 41.0).unwrap_or_default());
    let own = State::of(Scenario::default().with_number(Field::Memory, 81.0).unwrap_or_default());
    view! {
        <Specimen name="combobox">
            <Case state="A model of the list"><Combobox listed=Listed::Model id="model-usual" state=usual/></Case>
            <Case state="A model of the list with another number"><Combobox listed=Listed::Model id="model-edited" state=edited/></Case>
            <Case state="A GPU of the list"><Combobox listed=Listed::Gpu id="gpu-usual" state=usual/></Case>
            <Case state="A GPU of the list with another memory"><Combobox listed=Listed::Gpu id="gpu-edited" state=own/></Case>
        </Specimen>
    }
}

#[component]
fn Buttons() -> impl IntoView {
    let said = RwSignal::new(String::new());
    let default = Signal::derive(|| "3".to_owned());
    view! {
        <Specimen name="reset">
            <Case state="Something to reset">
                <ResetButton name="Batch" changed=Signal::derive(|| true) default reset=|()| ()/>
            </Case>
            <Case state="Nothing to reset: it is not seen and keeps its place">
                <ResetButton name="Batch" changed=Signal::derive(|| false) default reset=|()| ()/>
            </Case>
        </Specimen>
        <Specimen name="use_button">
            <Case state="Its name is heard whole"><UseButton what="selective recomputation" press=|()| ()/></Case>
        </Specimen>
        <Specimen name="copy_button">
            <Case state="First among several">
                <div class="field-row">
                    <input type="text" id="copied" readonly value="https://example.org/?v=3"/>
                    <CopyButton of="copied" name="Link".to_owned() label="Copy" said/>
                </div>
            </Case>
            <Case state="Behind others">
                <CopyButton of="copied" name="Link".to_owned() label="Copy" quiet=true said/>
            </Case>
        </Specimen>
    }
}

#[component]
fn Panels() -> impl IntoView {
    let tabs = [("Link", "link"), ("Embed", "embed"), ("Export", "export")];
    let tabs = tabs.into_iter().enumerate().map(|(value, (label, key))| Tab { value, key, label });
    let chosen = RwSignal::new(1);
    // Without a program the browser's own command opens it.
    let opens = (custom_attribute("command", "show-modal"), custom_attribute("commandfor", "shown-dialog"));
    let seen = move |tab: usize| Signal::derive(move || chosen.get() == tab);
    view! {
        <Specimen name="tabs">
            <Case state="The second is chosen">
                <Tabs label="Ways" id="way" tabs chosen/>
                <TabPanel id="way" key="link" class="small" seen=seen(0)>"The first panel"</TabPanel>
                <TabPanel id="way" key="embed" class="small" seen=seen(1)>"The second panel"</TabPanel>
                <TabPanel id="way" key="export" class="small" seen=seen(2)>"The third panel"</TabPanel>
            </Case>
        </Specimen>
        <Specimen name="dialog">
            <Case state="Closed; the button opens it">
                <button type="button" class="button" {..opens}>"Open"</button>
                <Dialog open=RwSignal::new(false) id="shown-dialog" class="shown-dialog"
                    labelled_by="shown-dialog-title">
                    <h3 id="shown-dialog-title">"A dialog"</h3>
                    <p>"Esc, or a press beside it, closes it."</p>
                </Dialog>
            </Case>
        </Specimen>
    }
}
