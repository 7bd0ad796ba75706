//! What was applied here, and the way back.

use std::cell::RefCell;
use std::rc::Rc;

use bmax::Scenario;
use bmax::levers::Change;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::text::describe;
use crate::site::State;
use crate::site::dom::{El, el};

/// A change that was made here, and the one that takes it back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Applied {
    change: Change,
    inverse: Change,
}

/// Everything that was applied, in order. It is no signal, because the scenario changes whenever it
/// does. A copy is another handle on the same list.
#[derive(Clone)]
pub struct History {
    state: State,
    list: Rc<RefCell<Vec<Applied>>>,
    /// The region that takes the focus when a button disappears under it: without this the keyboard
    /// would start over at the top of the page.
    region: El,
}

impl History {
    /// Nothing applied yet; `region` is empty, too.
    pub fn new(state: State) -> Self {
        let region = el("div")
            .class("levers-applied")
            .attr("role", "group")
            .attr("aria-label", "Applied changes")
            .attr("tabindex", "-1");
        Self { state, list: Rc::default(), region }
    }

    /// Makes a change and remembers how to take it back.
    pub fn apply(&self, change: Change) {
        let inverse = change.undo(&self.state.scenario.get_untracked());
        remember(&mut self.list.borrow_mut(), Applied { change, inverse });
        self.state.change(|scenario| change.apply(scenario));
        self.focus();
    }

    fn undo(&self, entry: Applied) {
        self.list.borrow_mut().retain(|other| *other != entry);
        self.state.change(|scenario| entry.inverse.apply(scenario));
        self.focus();
    }

    fn shown(&self) -> Vec<Applied> {
        self.state.asked(|scenario| holding(&self.list.borrow(), scenario))
    }

    fn focus(&self) {
        _ = self.region.element().unchecked_ref::<HtmlElement>().focus();
    }
}

/// Only the last way to a setting is kept, so that no setting has two ways back.
fn remember(list: &mut Vec<Applied>, next: Applied) {
    list.retain(|earlier| earlier.change != next.change);
    list.push(next);
}

/// The changes that still hold: one that was overwritten elsewhere has nothing to take back.
fn holding(list: &[Applied], scenario: &Scenario) -> Vec<Applied> {
    list.iter().copied().filter(|entry| entry.change.holds_in(scenario)).collect()
}

/// The list of what was applied, each with its undo.
pub fn applied_changes(history: &History) -> El {
    let [any, none, rows] = [(); 3].map(|()| history.clone());
    let nothing = el("p")
        .class("soft")
        .toggle("hidden", move || !any.shown().is_empty())
        .text("Nothing applied yet. Each change is made to your configuration everywhere on this page.");
    let list = el("ul")
        .toggle("hidden", move || none.shown().is_empty())
        .live(move || rows.shown().into_iter().map(|entry| item(rows.clone(), entry)).collect());
    history.region.clone().child(nothing).child(list)
}

fn item(history: History, entry: Applied) -> El {
    let name = describe(entry.change);
    let undo = el("button")
        .attr("type", "button")
        .class("button button-quiet button-small")
        .attr("data-testid", "lever-undo")
        .attr("aria-label", &format!("Undo: {name}"))
        .on("click", move |_| history.undo(entry))
        .text("Undo");
    el("li").child(el("span").text(&name)).child(undo)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIXTEEN: Applied = Applied { change: Change::Gpus(16), inverse: Change::Gpus(8) };
    const THIRTY_TWO: Applied = Applied { change: Change::Gpus(32), inverse: Change::Gpus(16) };

    #[test]
    fn a_change_that_was_overwritten_offers_no_undo() {
        let scenario = THIRTY_TWO.change.apply(Scenario::default());
        assert_eq!(holding(&[SIXTEEN, THIRTY_TWO], &scenario), [THIRTY_TWO]);
        assert_eq!(holding(&[SIXTEEN, THIRTY_TWO], &Scenario::default()), []);
    }

    #[test]
    fn undoing_the_second_change_of_a_setting_uncovers_the_first() {
        let scenario = THIRTY_TWO.inverse.apply(THIRTY_TWO.change.apply(Scenario::default()));
        assert_eq!(holding(&[SIXTEEN], &scenario), [SIXTEEN]);
    }

    #[test]
    fn a_setting_reached_twice_has_one_way_back() {
        let mut list = vec![SIXTEEN];
        let again = Applied { change: Change::Gpus(16), inverse: Change::Gpus(4) };
        remember(&mut list, again);
        assert_eq!(list, [again]);
    }
}
