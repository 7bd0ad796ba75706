//! A group of inputs behind a summary that says what is inside.

use super::groups::Group;
use super::input::Input;
use crate::site::State;
use crate::site::dom::{El, el};

/// The controls of some inputs.
pub fn controls(state: State, inputs: &'static [Input]) -> Vec<El> {
    inputs.iter().map(|input| input.control(state)).collect()
}

/// A folded group; `last` stands below its controls.
pub fn fold(state: State, group: &'static Group, last: Option<El>) -> El {
    let changed = move || {
        let differing = |input: &&Input| state.read(|facts| input.differs(&facts.scenario, &facts.base));
        match group.inputs.iter().filter(differing).count() {
            0 => String::new(),
            count => format!("{count} changed"),
        }
    };
    let summary = el("summary")
        .text(group.title)
        .child(
            el("span")
                .class("soft num")
                .text(": ")
                .bind_text(move || state.read(|facts| (group.tells)(&facts.scenario))),
        )
        .text(" ")
        .child(el("span").class("fold-changed num").bind_text(changed));
    el("details")
        .class("form-more")
        .child(summary)
        .child(el("div").class("controls").children(controls(state, group.inputs)))
        .maybe(last)
}

/// Folded groups below one another.
pub fn folds(state: State, groups: &'static [Group]) -> Vec<El> {
    groups.iter().map(|group| fold(state, group, None)).collect()
}
