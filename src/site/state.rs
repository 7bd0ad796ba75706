//! One scenario, one estimate.
//!
//! Every control writes the scenario and every figure reads it or what follows from it, so two
//! figures can never disagree. What only one figure needs to know (a hover, an open panel) is a
//! signal of that figure.

use bmax::chart::MemoryBar;
use bmax::compare::Input;
use bmax::embed::Embed;
use bmax::link::{Beginning, Notice, Pinned};
use bmax::{
    Answer, Entry, Estimate, Field, InputError, Instant, Method, Scenario, b_max,
    choice::ChoiceOption,
    estimate,
    range::{Range, range},
    setting::Setting,
};
use leptos::prelude::*;

use super::address;
use super::arrivals::Sight;
use super::behind_paint::behind_paint;
use super::changed::with_default;
use super::document::{beginning, built_with};
use super::ranking::Ranking;
use super::steps::{Steps, Told};

/// What is asked and all that follows from it, in one piece.
#[derive(Clone, Debug)]
pub struct Facts {
    /// What is asked.
    pub scenario: Scenario,
    /// The defaults of the chosen catalogue rows, against which controls are marked as changed.
    pub base: Scenario,
    /// The ledger at the scenario's micro-batch.
    pub estimate: Estimate,
    /// The largest micro-batch.
    pub answer: Answer,
    /// The methods that are not chosen, each with the largest micro-batch by it.
    pub others: [(Method, Answer); 2],
    /// The largest micro-batch under each outlook on what nobody can know beforehand.
    pub range: Range,
    /// What stops the next sequence.
    pub limit: Limit,
}

/// Everything else follows from the scenario and from what the page begins with, which is in the defaults.
impl PartialEq for Facts {
    fn eq(&self, other: &Self) -> bool {
        self.scenario == other.scenario && self.base == other.base
    }
}

/// Where one sequence more than the answer would not fit: on the device, or in CPU memory where the machine has too little.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The instant that needs most.
    pub instant: &'static Instant,
    /// The largest entry alive then.
    pub largest: Entry,
}

impl Facts {
    /// The facts of a scenario on a page that begins so. Only the estimate depends on the micro-batch; while a slider moves
    /// that, everything else is taken from `before`.
    fn of(scenario: Scenario, beginning: Beginning, before: Option<&Self>) -> Self {
        let estimate = estimate(&scenario);
        if let Some(before) = before.filter(|facts| facts.scenario.with_batch(scenario.recipe.batch) == scenario) {
            return Self { scenario, estimate, ..before.clone() };
        }
        let others = match scenario.method {
            Method::Ledger => [Method::Workshop, Method::Paper],
            Method::Workshop => [Method::Ledger, Method::Paper],
            Method::Paper => [Method::Ledger, Method::Workshop],
        };
        let range = range(&scenario);
        Self {
            scenario,
            base: beginning.base_of(&scenario, range.likely.batch().unwrap_or(1)),
            estimate,
            answer: range.likely.clone(),
            others: others.map(|method| (method, b_max(&Scenario { method, ..scenario }))),
            limit: Limit::of(&scenario, &range.likely),
            range,
        }
    }

    /// The memory of the micro-batch as a bar, as long as the largest that fits needs.
    pub fn bar(&self) -> MemoryBar {
        MemoryBar::of(&self.estimate, Some(MemoryBar::steady_length(&self.estimate, &self.answer)))
    }

    /// Whether the configuration has an answer: its settings go together, and all of it is counted.
    pub const fn is_answered(&self) -> bool {
        !matches!(self.answer, Answer::Refused(_))
    }

    /// Whether the ledger is in use, which alone knows instants, unknowns and overhead.
    pub fn is_ledger(&self) -> bool {
        self.scenario.method == Method::Ledger
    }
}

impl Limit {
    fn of(scenario: &Scenario, answer: &Answer) -> Self {
        let too_many = answer.batch().unwrap_or(0).saturating_add(1);
        let estimate = estimate(&scenario.with_batch(too_many));
        if let (true, Some(largest)) = (answer.by_host(), estimate.host.largest()) {
            let instant = estimate.host.peak().instant;
            return Self { instant, largest: *largest };
        }
        // A ledger always has its model states, so the list is never empty.
        let (position, _) = estimate.binding();
        Self { instant: estimate.instants[position], largest: *estimate.largest()[0] }
    }
}

/// How a figure keeps up with the scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pace {
    /// It shows what the page begins with, as the page was built.
    Built,
    /// It takes over what is asked now, wherever it is, so that whoever searches the page finds its numbers.
    Once,
    /// It follows every change.
    Follows,
    /// It follows behind the next paint.
    Behind,
    /// It is away from the window and stands still.
    Stands,
}

/// What a figure knows of `shared` at its pace; `after` is the same behind the next paint, and `built` what the page was
/// built with.
fn paced<T: Clone + PartialEq + Send + Sync + 'static>(
    pace: Memo<Pace>,
    shared: Memo<T>,
    after: Memo<T>,
    built: impl Fn() -> T + Send + Sync + 'static,
) -> Memo<T> {
    Memo::new_owning(move |before: Option<T>| match (pace.get(), before) {
        (Pace::Built | Pace::Stands, Some(before)) => (before, false),
        (Pace::Built, None) => (built(), true),
        (pace, before) => {
            // A figure that is not near takes what is asked once, and is not told of what comes after.
            let now = match pace {
                Pace::Follows => shared.get(),
                Pace::Behind => after.get(),
                _ => shared.get_untracked(),
            };
            let news = before.is_none_or(|before| before != now);
            (now, news)
        }
    })
}

/// A text of what a figure shows, as its view reads it.
pub fn read<S: Send + Sync + 'static>(shown: Memo<S>, of: fn(&S) -> &String) -> impl Fn() -> String + Copy {
    move || shown.with(|shown| of(shown).clone())
}

/// A part of what a figure shows, as components take it.
pub fn derived<S: Send + Sync + 'static, T: Clone + Send + Sync + 'static>(
    shown: Memo<S>,
    of: fn(&S) -> &T,
) -> Signal<T> {
    Signal::derive(move || shown.with(|shown| of(shown).clone()))
}

/// The facts of a scenario, as tests ask for them.
#[cfg(test)]
pub fn facts_of(scenario: Scenario) -> Facts {
    Facts::of(scenario, Beginning::Site, None)
}

/// The shared state. It is a handful of handles and is passed by value.
#[derive(Clone, Copy)]
pub struct State {
    /// What is asked.
    pub scenario: RwSignal<Scenario>,
    /// What follows from it.
    pub facts: Memo<Facts>,
    /// The configurations that the reader has pinned to compare with; the link carries them.
    pub pinned: RwSignal<Pinned>,
    /// The same, as the figure knows it.
    pub beside: Memo<Pinned>,
    /// The reader's own configuration while the tour shows another one: the address goes on telling this one.
    pub own: RwSignal<Option<Scenario>>,
    /// What was wrong with the link the page was opened by.
    pub notices: RwSignal<Vec<Notice>>,
    /// What was changed, step by step.
    pub steps: Steps,
}

/// A numeric input of the scenario, as controls take it.
#[derive(Clone, Copy)]
pub struct FieldHandle {
    /// Which input it is: its name, unit and range.
    pub field: Field,
    /// Its value.
    pub value: Signal<f64>,
    /// The value it has when nobody changed it.
    pub default: Signal<f64>,
    /// Writes what the reader typed; a refused text lets the default stand in and comes back as the
    /// problem to show.
    pub write: Callback<String, Result<(), InputError>>,
}

/// An input of the scenario that is picked from a list, as controls take it.
#[derive(Clone, Copy)]
pub struct SettingHandle {
    /// Its name and its options.
    pub setting: &'static Setting,
    /// What each option changes, in the same order.
    pub effects: &'static [&'static str],
    /// The word of the chosen option.
    pub value: Signal<&'static str>,
    /// The word it has when nobody changed it.
    pub default: Signal<&'static str>,
    /// Picks the option with this word; an unknown word changes nothing.
    pub write: Callback<String>,
}

impl SettingHandle {
    /// The option with this word.
    pub fn option(self, key: &str) -> Option<&'static ChoiceOption> {
        self.setting.option(key)
    }

    /// One sentence on what the chosen option changes.
    pub fn effect(self) -> &'static str {
        self.setting.effect_among(self.effects, self.value.get())
    }
}

impl State {
    /// The state of the default configuration, which is that of most pages as they are built.
    #[cfg(feature = "prerender")]
    pub fn new() -> Self {
        Self::of(Scenario::default())
    }

    /// The state of a configuration on a page like most.
    #[cfg(feature = "prerender")]
    pub fn of(scenario: Scenario) -> Self {
        Self::on(Beginning::Site, scenario)
    }

    /// The state of a configuration on a page that begins so.
    pub fn on(beginning: Beginning, scenario: Scenario) -> Self {
        let steps = Steps::new((scenario, Pinned::NONE));
        let scenario = RwSignal::new(scenario);
        let pinned = RwSignal::new(Pinned::NONE);
        Self {
            steps,
            scenario,
            pinned,
            beside: Memo::new(move |_| pinned.get()),
            facts: Memo::new(move |before: Option<&Facts>| Facts::of(scenario.get(), beginning, before)),
            own: RwSignal::new(None),
            notices: RwSignal::new(Vec::new()),
        }
    }

    /// The state that the address of the page describes.
    pub fn from_address() -> Self {
        let query = address::query();
        let beginning = beginning();
        let mut read = beginning.read(&query);
        read.notices.append(&mut Embed::read(&query).1);
        let state = Self::on(beginning, read.scenario);
        state.pinned.set(read.vs);
        state.notices.set(read.notices);
        Self { steps: Steps::new((read.scenario, read.vs)), ..state }
    }

    /// The same state for a figure that is taken over as the page was built: until `taken` it knows the
    /// configuration that the page begins with, then once what is asked, and from then on what is asked while it is near.
    /// `after` follows the facts behind the next paint.
    pub fn for_figure(self, sight: RwSignal<Sight>, taken: RwSignal<bool>, after: Memo<Facts>) -> Self {
        let Self { scenario, facts, beside, .. } = self;
        // Most pages are opened with that, of which the facts are there then.
        let built = move || {
            let (page, first) = (built_with(), built_with().scenario());
            let are_there = beginning() == page && scenario.get_untracked() == first;
            if are_there { facts.get_untracked() } else { Facts::of(first, page, None) }
        };
        let pace = Memo::new(move |before: Option<&Pace>| match (before, taken.get(), sight.get()) {
            (_, false, _) => Pace::Built,
            (_, _, Sight::Near) => Pace::Follows,
            (_, _, Sight::Beside) => Pace::Behind,
            (Some(Pace::Built), ..) | (None, ..) => Pace::Once,
            _ => Pace::Stands,
        });
        Self { facts: paced(pace, facts, after, built), beside: paced(pace, beside, beside, || Pinned::NONE), ..self }
    }

    /// This state with facts that follow its own behind the next paint: what reads them keeps no input from being shown.
    pub fn later(self) -> Self {
        Self { facts: behind_paint(self.facts), ..self }
    }

    /// The single changes that are open to the scenario, ranked; it does not depend on the micro-batch. It is made where
    /// it is shown, so that the parts of the program that show none need not carry it.
    pub fn ranking(self) -> Memo<Ranking> {
        Memo::new_owning(move |before| Ranking::next(self.asked(|scenario| *scenario), before))
    }

    /// Reads the facts; whatever reads them here runs again when they change.
    pub fn read<T>(self, read: impl FnOnce(&Facts) -> T) -> T {
        self.facts.with(read)
    }

    /// Reads the scenario as the figure knows it: away from the window, as it was when it was last near.
    pub fn asked<T>(self, read: impl FnOnce(&Scenario) -> T) -> T {
        self.read(|facts| read(&facts.scenario))
    }

    /// Reads the facts once, as an event handler does.
    pub fn peek<T>(self, read: impl FnOnce(&Facts) -> T) -> T {
        self.facts.with_untracked(read)
    }

    /// Changes the scenario by a function of its value. A micro-batch that is the largest one and is not changed itself
    /// stays the largest.
    pub fn change(self, change: impl FnOnce(Scenario) -> Scenario) {
        let now = self.scenario.get_untracked();
        self.scenario.set(now.then(change(now)));
    }

    /// Gives a setting its default back.
    pub fn reset(self, input: Input) {
        self.change(|scenario| self.peek(|facts| with_default(input, scenario, &facts.base)));
    }

    /// What the address tells: the reader's own configuration, and those that are pinned.
    pub fn told(self) -> Told {
        (self.own.get().unwrap_or_else(|| self.scenario.get()), self.pinned.get())
    }

    /// Pins what is asked, where there is a place for it, and says what has come of that.
    pub fn pin(self) -> &'static str {
        let now = self.scenario.get_untracked();
        let pinned = self.pinned.get_untracked().with(now);
        self.pinned.set(pinned);
        if pinned.has(&now) { "Pinned." } else { "Three are pinned: remove one first." }
    }

    /// Takes the last change back. What comes of it the answer says.
    pub fn undo(self) -> &'static str {
        self.walk(Steps::undo)
    }

    /// Makes the change again that was last taken back.
    pub fn redo(self) -> &'static str {
        self.walk(Steps::redo)
    }

    fn walk(self, step: fn(Steps) -> Option<Told>) -> &'static str {
        // The tour shows configurations of its own.
        if self.own.with_untracked(Option::is_some) {
            return "";
        }
        // What has not settled yet is a change too.
        self.steps.settle(untrack(|| self.told()), false);
        if let Some((scenario, pinned)) = step(self.steps) {
            self.scenario.set(scenario);
            self.pinned.set(pinned);
        }
        ""
    }

    /// The handle of a numeric input.
    pub fn field(self, field: Field) -> FieldHandle {
        FieldHandle {
            field,
            value: Memo::new(move |_| self.asked(|scenario| scenario.number(field))).into(),
            default: Memo::new(move |_| self.read(|facts| facts.base.number(field))).into(),
            write: Callback::new(move |text: String| {
                let now = self.scenario.get_untracked();
                let read = now.with_text(field, &text);
                // Both what was read and a default lie in the declared range.
                let usual = || now.with_number(field, self.peek(|facts| facts.base.number(field)));
                if let Ok(with) = read.clone().or_else(|_| usual()) {
                    self.change(|_| with);
                }
                read.map(|_| ())
            }),
        }
    }

    /// The handle of an input with a list of values, with what they change: a part of the program carries the sentences of
    /// those that it names.
    pub fn setting(self, setting: &'static Setting, effects: &'static [&'static str]) -> SettingHandle {
        SettingHandle {
            setting,
            effects,
            value: Memo::new(move |_| self.asked(|scenario| setting.get(scenario))).into(),
            default: Memo::new(move |_| self.read(|facts| setting.get(&facts.base))).into(),
            write: Callback::new(move |word: String| {
                if let Ok(changed) = setting.read(&word, self.scenario.get_untracked()) {
                    self.change(|_| changed);
                }
            }),
        }
    }
}
