//! What was applied here, and the way back.

use bmax::Scenario;
use bmax::levers::Change;
use leptos::html;
use leptos::prelude::*;

use super::text::describe;
use crate::site::State;

/// A change that was made here, and the one that takes it back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Applied {
    change: Change,
    inverse: Change,
}

/// Makes a change and remembers how to take it back.
pub fn apply(state: State, applied: RwSignal<Vec<Applied>>, change: Change) {
    let inverse = change.undo(&state.scenario.get_untracked());
    applied.update(|list| remember(list, Applied { change, inverse }));
    state.change(|scenario| change.apply(scenario));
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
#[component]
pub fn AppliedChanges(
    state: State,
    /// Everything applied so far, in order.
    applied: RwSignal<Vec<Applied>>,
    /// The region that takes the focus when a button disappears under it.
    region: NodeRef<html::Div>,
) -> impl IntoView {
    let shown = Memo::new(move |_| applied.with(|list| state.scenario.with(|scenario| holding(list, scenario))));
    let undo = move |entry: Applied| {
        applied.update(|list| list.retain(|other| *other != entry));
        state.change(|scenario| entry.inverse.apply(scenario));
        if let Some(region) = region.get_untracked() {
            _ = region.focus();
        }
    };
    let item = move |entry: Applied| {
        let name = describe(entry.change);
        view! {
            <li>
                <span>{name.clone()}</span>
                <button
                    type="button"
                    class="button button-quiet button-small"
                    data-testid="lever-undo"
                    aria-label=format!("Undo: {name}")
                    on:click=move |_| undo(entry)
                >
                    "Undo"
                </button>
            </li>
        }
    };
    view! {
        <div class="levers-applied" role="group" aria-label="Applied changes" tabindex="-1" node_ref=region>
            <p class="soft" hidden=move || shown.with(|shown| !shown.is_empty())>"Nothing applied yet. Each change is made to your configuration everywhere on this page."</p>
            <ul hidden=move || shown.with(Vec::is_empty)>{move || shown.get().into_iter().map(item).collect_view()}</ul>
        </div>
    }
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
