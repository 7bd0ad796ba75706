//! A choice from a list that opens.

use std::borrow::Cow;

use bmax::number;
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
        position.unwrap_or(0).to_string()
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
            <div class="field-row">{list(id.to_owned(), format!("{id}-help"), rows, chosen, Callback::new(pick))}</div>
            <p class="field-help" id=format!("{id}-help")>{move || help.get()}</p>
        </div>
    }
}

/// A row of a list: its word and its label.
pub(super) type Row = (String, Cow<'static, str>);

/// The list itself. Options go by words, so that this is compiled once for all types of values.
///
/// Some lists stand in several places, so that a list has the chosen row alone until the reader comes to it: a press and
/// the keyboard's focus are both there before it opens. `help` is the id of the sentence below it.
pub(super) fn list(
    id: String,
    help: String,
    rows: Vec<Row>,
    chosen: Signal<String>,
    pick: Callback<String>,
) -> impl IntoView {
    let whole = RwSignal::new(false);
    let come = move || {
        if !whole.get_untracked() {
            whole.set(true);
        }
    };
    let rows = StoredValue::new(rows);
    let label = move || {
        let word = chosen.get();
        rows.with_value(|rows| rows.iter().find(|row| row.0 == word).map(|(_, label)| label.clone()))
    };
    // The chosen row goes before all rows come: Safari would keep the choice of the one that stands last, and with it lose
    // the choice.
    let chosen_row =
        move || (!whole.get()).then(|| view! { <option value=move || chosen.get() selected=true>{label}</option> });
    let options =
        move || whole.get().then(|| rows.get_value().into_iter().map(|row| option(row, chosen)).collect_view());
    // Safari compares what is picked by key with the place that the chosen row had as the focus came, when it was the only
    // one: it says nothing when the first row is picked.
    let look = move |word: String| {
        if whole.get_untracked() && chosen.with_untracked(|chosen| *chosen != word) {
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
            {options}
        </select>
    }
}

/// A row says itself whether it is chosen: what a `select` is told before it has the row is lost.
fn option((word, label): Row, chosen: Signal<String>) -> impl IntoView {
    let is_chosen = {
        let word = word.clone();
        Memo::new(move |_| chosen.with(|chosen| *chosen == word))
    };
    view! { <option value=word prop:selected=move || is_chosen.get()>{label}</option> }
}
