//! A choice from a list that opens.

use std::borrow::Cow;

use bmax::number;
use leptos::either::Either;
use leptos::prelude::*;

use super::Model;

/// A list that opens, with its name above it. It follows the listbox pattern with the browser's own `select`:
/// <https://www.w3.org/WAI/ARIA/apg/patterns/listbox/>.
#[component]
pub fn Select<T: Clone + PartialEq + Send + Sync + 'static, L: Into<Cow<'static, str>>>(
    /// Unique on the page.
    id: &'static str,
    /// The name of the choice.
    label: &'static str,
    /// The values in their order, each with its label.
    options: impl IntoIterator<Item = (T, L)>,
    /// The chosen value.
    #[prop(into)]
    value: Model<T>,
    /// A sentence below the list.
    #[prop(optional, into)]
    help: Signal<String>,
) -> impl IntoView {
    let (values, labels): (Vec<T>, Vec<L>) = options.into_iter().unzip();
    let values = StoredValue::new(values);
    let chosen = Signal::derive(move || {
        let position = values.with_value(|values| values.iter().position(|one| *one == value.get()));
        (position.unwrap_or(0).to_string(), "")
    });
    let pick = move |word: String| {
        let picked = number::parse(&word).ok().and_then(|at| values.with_value(|all| all.get(at as usize).cloned()));
        if let Some(picked) = picked {
            value.set(picked);
        }
    };
    let rows = labels.into_iter().enumerate().map(|(at, label)| (at.to_string(), label.into())).collect();
    view! {
        <div class="field">
            <label for=id>{label}</label>
            <div class="field-row">{list(id.to_owned(), Some(format!("{id}-help")), vec![("", rows)], chosen, Callback::new(pick))}</div>
            <p class="field-help" id=format!("{id}-help")>{move || help.get()}</p>
        </div>
    }
}

/// A row of a list: its word and its label.
pub(super) type Row = (String, Cow<'static, str>);
/// The rows under a heading, which may be empty.
pub(super) type Group = (&'static str, Vec<Row>);
/// The word of the chosen row, and what is said after its label.
pub(super) type Chosen = Signal<(String, &'static str)>;

/// The list itself. Options go by words, so that this is compiled once for all types of values. A row without a word is
/// only there while it is chosen.
///
/// Some lists are long and stand in several places, so that a list has the chosen row alone until the reader comes to
/// it: a press and the keyboard's focus are both there before it opens. `help` is the id of the sentence below it.
pub(super) fn list(
    id: String,
    help: Option<String>,
    groups: Vec<Group>,
    chosen: Chosen,
    pick: Callback<String>,
) -> impl IntoView {
    let whole = RwSignal::new(false);
    let come = move || {
        if !whole.get_untracked() {
            whole.set(true);
        }
    };
    let groups = StoredValue::new(groups);
    let label = move || {
        let (word, mark) = chosen.get();
        groups.with_value(|groups| {
            let mut rows = groups.iter().flat_map(|(_, rows)| rows);
            rows.find(|row| row.0 == word).map(|(_, label)| format!("{label}{mark}"))
        })
    };
    // The chosen row goes before all rows come: Safari would keep the choice of the one that stands last, and with it lose
    // the choice.
    let chosen_row =
        move || (!whole.get()).then(|| view! { <option value=move || chosen.get().0 selected=true>{label}</option> });
    let rows =
        move || whole.get().then(|| groups.get_value().into_iter().map(|group| options(group, chosen)).collect_view());
    // Safari compares what is picked by key with the place that the chosen row had as the focus came, when it was the only
    // one: it says nothing when the first row is picked.
    let look = move |word: String| {
        if whole.get_untracked() && chosen.with_untracked(|(chosen, _)| *chosen != word) {
            pick.run(word);
        }
    };
    view! {
        <select
            aria-describedby=help
            id=id
            on:pointerdown=move |_| come()
            on:focus=move |_| come()
            on:change=move |event| pick.run(event_target_value(&event))
            on:keyup=move |event| look(event_target_value(&event))
        >
            {chosen_row}
            {rows}
        </select>
    }
}

/// The rows under a heading. Each says itself whether it is chosen: what a `select` is told before it has the row is
/// lost.
fn options((heading, rows): Group, chosen: Chosen) -> impl IntoView {
    let option = |(word, label): Row| {
        let mark = {
            let word = word.clone();
            Memo::new(move |_| chosen.with(|(chosen, mark)| (*chosen == word).then_some(*mark)))
        };
        let hidden = word.is_empty().then_some(move || mark.get().is_none());
        let text = move || format!("{label}{}", mark.get().unwrap_or_default());
        view! { <option value=word prop:selected=move || mark.get().is_some() hidden=hidden>{text}</option> }
    };
    let rows = rows.into_iter().map(option).collect_view();
    if heading.is_empty() {
        Either::Left(rows)
    } else {
        Either::Right(view! { <optgroup label=heading>{rows}</optgroup> })
    }
}
