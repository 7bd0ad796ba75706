//! Check yourself. What was checked is kept in the figure alone and is gone with the page.

mod shown;
mod words;

use bmax::course::quiz::{COUNT, DOUBLED_LENGTH, LARGEST_PART};
use leptos::html::Details;
use leptos::prelude::*;

use crate::site::{State, read};
use shown::{Checked, Mark, Shown};
use words::Words;

/// What the reader chose and checked, and what follows from it.
#[derive(Clone, Copy)]
struct Marking {
    /// The letter of the option that is chosen in each question.
    chosen: RwSignal<[Option<u8>; COUNT]>,
    /// What was checked.
    marks: RwSignal<[Mark; COUNT]>,
    /// The question that was checked last.
    last: RwSignal<Option<usize>>,
    shown: Memo<Shown>,
}

impl Marking {
    fn new(state: State) -> Self {
        let chosen = RwSignal::new([None; COUNT]);
        let marks = RwSignal::new([Mark::Open; COUNT]);
        let last = RwSignal::new(None);
        let shown = Memo::new(move |_| state.read(|facts| Shown::of(facts, &marks.get(), last.get())));
        Self { chosen, marks, last, shown }
    }

    /// Checks what is chosen in a question.
    fn check(self, place: usize) {
        let letter = self.chosen.with_untracked(|chosen| chosen[place]);
        self.marks.update(|marks| marks[place] = letter.map_or(Mark::Empty, Mark::Chosen));
        self.last.set(Some(place));
    }

    /// Forgets everything.
    fn clear(self) {
        self.chosen.set([None; COUNT]);
        self.marks.set([Mark::Open; COUNT]);
        self.last.set(None);
    }

    /// What is said about a question.
    fn said<T>(self, place: usize, read: impl FnOnce(&Checked) -> T) -> T {
        self.shown.with(|shown| read(&shown.questions[place]))
    }
}

/// The questions, each with a verdict and a worked answer once it is checked, and the score.
#[component]
pub fn Quiz(
    /// The shared state.
    state: State,
) -> impl IntoView {
    let marking = Marking::new(state);
    view! {
        <ol class="quiz-list">
            {(0..COUNT).map(|place| view! { <Question place marking/> }).collect_view()}
        </ol>
        <div class="button-row quiz-end">
            <p role="status" data-testid="score">{read(marking.shown, |shown| &shown.score)}</p>
            // The browser's own reset takes the choices back.
            <button class="button button-quiet button-small" type="reset" on:click=move |_| marking.clear()>
                "Start again"
            </button>
        </div>
    }
}

/// A question with its options as a radio group, the button that checks it, and what is said then.
#[component]
fn Question(place: usize, marking: Marking) -> impl IntoView {
    let Words { form, whys, .. } = Words::of(place);
    let choose = move |event| {
        let letter = event_target_value(&event).bytes().next();
        marking.chosen.update(|chosen| chosen[place] = letter);
    };
    let details = NodeRef::<Details>::new();
    let check = move |_| {
        marking.check(place);
        // A reader may fold the answer away again; only a check opens it.
        if let Some(details) = details.get_untracked() {
            details.set_open(true);
        }
    };
    let why = move |(letter, words): (u8, &'static str)| {
        view! {
            <p
                class="quiz-why"
                data-testid=format!("q{}-{}", place + 1, char::from(letter))
                hidden=move || marking.said(place, |said| said.letter != Some(letter))
                inner_html=words
            ></p>
        }
    };
    view! {
        <li class="quiz-item">
            <fieldset class="quiz-question" on:change=choose inner_html=form></fieldset>
            <p class="quiz-check">
                <button class="button button-quiet button-small" type="button" on:click=check>
                    "Check" <span class="visually-hidden">" question "{place + 1}</span>
                </button>
                " "
                <strong
                    class:is-right=move || marking.said(place, |said| said.is_right)
                    data-testid=format!("q{}-verdict", place + 1)
                >
                    {move || marking.said(place, |said| said.verdict.clone().unwrap_or_default())}
                </strong>
            </p>
            {(b'a'..).zip(whys).map(why).collect_view()}
            <details
                class="quiz-worked"
                data-testid=format!("q{}-worked", place + 1)
                hidden=move || marking.said(place, |said| said.letter.is_none())
                node_ref=details
            >
                <summary>"Worked answer"</summary>
                <Worked place marking/>
            </details>
        </li>
    }
}

/// The worked answer. Those of the last questions follow the configuration.
#[component]
fn Worked(place: usize, marking: Marking) -> impl IntoView {
    let words = move || match place {
        LARGEST_PART => marking.shown.with(|shown| shown.parts.clone()),
        DOUBLED_LENGTH => marking.shown.with(|shown| shown.doubling.clone()),
        _ => Words::of(place).worked.to_owned(),
    };
    view! { <p inner_html=words></p> }
}
