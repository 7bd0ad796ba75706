//! The configuration for training frameworks and documents: a list, the text, copy and save.

use bmax::export::{self, Target};
use leptos::prelude::*;

use super::subject::Subject;
use crate::components::{CopyButton, Segmented};
use crate::{page, save};

/// The file of the chosen target.
#[component]
pub fn ExportPanel(
    /// What is shared.
    subject: Memo<Subject>,
    /// What the file is for.
    target: RwSignal<Target>,
    /// What a press has done.
    said: RwSignal<String>,
) -> impl IntoView {
    let file = Memo::new(move |_| {
        subject.with(|subject| export::write(target.get(), &subject.scenario, &page::plain_address()))
    });
    let name = Signal::derive(move || target.get().file_name().to_owned());
    let save = move |_| {
        let target = target.get_untracked();
        said.set(file.with_untracked(|file| save::text(target.file_name(), target.media_type(), file)));
    };
    let targets = Target::ALL.iter().map(|target| (*target, target.name()));
    view! {
        <div class="desk-choice">
            <Segmented legend="This configuration for" id="desk-target" options=targets value=target/>
        </div>
        <div class="desk-row desk-file">
            <p>{move || target.get().describe()}</p>
            <label for="desk-file" class="num">{move || name.get()}</label>
            <textarea id="desk-file" wrap="off" readonly spellcheck="false" prop:value=move || file.get()></textarea>
            <div class="button-row">
                <CopyButton of="desk-file" name label="Copy file" said/>
                <button type="button" class="button button-quiet button-small" on:click=save>"Save"</button>
            </div>
        </div>
    }
}
