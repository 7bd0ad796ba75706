//! The two-minute tour: cards that lead over the opening figure, as data.
//!
//! A card sets the configuration that its point needs, names the part of the figure that it is about, and says one or
//! two sentences with the numbers of what is then shown. A page shows the cards over its figure; the build writes the
//! same texts for the default configuration as a list, for readers without scripts.
//!
//! ```
//! use bmax::{Scenario, tour::{CARDS, Seen}};
//! let own = Seen::of(Scenario::workshop());
//! let next = CARDS.iter().find(|card| card.id == "next").expect("a card");
//! let shown = Seen::of((next.change)(&own));
//! assert_eq!(shown.scenario.recipe.batch, own.answer.batch().unwrap() + 1);
//! ```

mod cards;

use crate::{Answer, Estimate, Scenario, b_max, estimate};

pub use cards::CARDS;

/// A configuration and what follows from it, as the texts of the cards read it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// What is asked.
    pub scenario: Scenario,
    /// The ledger at its micro-batch.
    pub estimate: Estimate,
    /// The largest micro-batch.
    pub answer: Answer,
}

impl Seen {
    /// What follows from a scenario.
    #[must_use]
    pub fn of(scenario: Scenario) -> Self {
        Self { scenario, estimate: estimate(&scenario), answer: b_max(&scenario) }
    }
}

/// Everything else follows from the scenario.
impl PartialEq for Seen {
    fn eq(&self, other: &Self) -> bool {
        self.scenario == other.scenario
    }
}

/// One card.
#[derive(Debug)]
pub struct Card {
    /// A word for it that stays; links name a card by its number.
    pub id: &'static str,
    /// What it is about, in a few words.
    pub title: &'static str,
    /// The configuration that it shows, made from the reader's own.
    pub change: fn(&Seen) -> Scenario,
    /// What it says, of the reader's own configuration and of the one that is shown.
    pub text: fn(&Seen, &Seen) -> String,
    /// The part of the figure that it is about.
    pub part: Part,
}

impl Card {
    /// What it says where nobody has changed anything since.
    #[must_use]
    pub fn told(&self, own: &Seen) -> String {
        (self.text)(own, &Seen::of((self.change)(own)))
    }
}

/// A part of the opening figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The number itself.
    Answer,
    /// A bucket in the bar and in its legend.
    Parameters,
    /// The same.
    Gradients,
    /// The same.
    Optimizer,
    /// The same.
    Activations,
    /// The moment that needs most, in the words below the bar.
    Peak,
    /// Where logits and their gradients are counted.
    Logits,
    /// What is free.
    Free,
    /// What hangs out of the device, and the words at the slider that say so.
    Over,
    /// The field of recomputation, and the number that follows from it.
    Recomputation,
    /// The field of the number of GPUs, and the number that follows from it.
    Gpus,
    /// All fields.
    Inputs,
}

impl Part {
    /// The word by which a style sheet knows it.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Parameters => "parameters",
            Self::Gradients => "gradients",
            Self::Optimizer => "optimizer",
            Self::Activations => "activations",
            Self::Peak => "peak",
            Self::Logits => "logits",
            Self::Free => "free",
            Self::Over => "over",
            Self::Recomputation => "recomputation",
            Self::Gpus => "gpus",
            Self::Inputs => "inputs",
        }
    }
}

/// Where the last card leads: what a reader may want, where that is, and the id of the place.
pub const WAYS: [(&str, &str, &str); 3] = [
    ("You plan a run", "six steps to a configuration that fits", "plan"),
    ("You want to understand it", "what happens inside a step", "inside-a-step"),
    ("You want to teach it", "a lesson, figures and slides", "teach"),
];

/// The card that a fragment of an address names, without its sign: `tour` is the first, `tour-5` the fifth.
///
/// ```
/// use bmax::tour::named;
/// assert_eq!([named("tour"), named("tour-5"), named("tour-0"), named("tour-99"), named("tour-x")],
///            [Some(0), Some(4), None, None, None]);
/// ```
#[must_use]
pub fn named(fragment: &str) -> Option<usize> {
    match fragment.strip_prefix("tour")? {
        "" => Some(0),
        rest => (0..CARDS.len()).find(|at| rest.strip_prefix('-') == Some(&(at + 1).to_string())),
    }
}

/// The fragments that open a card, without their sign, and the name by which the tour is embedded.
pub fn places() -> impl Iterator<Item = String> {
    let numbered = (1..=CARDS.len()).map(|number| format!("tour-{number}"));
    ["tour", "embed-tour"].into_iter().map(str::to_owned).chain(numbered)
}
