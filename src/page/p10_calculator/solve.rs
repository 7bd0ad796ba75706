//! One input is sought, the others are given.

mod question;

use self::question::{lacking, solved};
use crate::site::Live;
use leptos::prelude::*;

/// The answer to the question that is asked, and whether it can be taken over.
pub fn draw(live: &Live) {
    let question = live.word("question");
    let scenario = live.facts(|facts| facts.scenario);
    let found = solved(&question, &scenario);
    live.say("answer", found.case, &found.texts);
    live.show("lacks", found.next.is_none());
    if found.next.is_none() {
        let (texts, at_instant) = lacking(&question, &scenario);
        live.show("lacks-at", at_instant);
        live.write("lacks", &texts);
    }
    let idle = found.next.is_none_or(|next| next == scenario);
    live.attr("use", "aria-disabled", if idle { "true" } else { "false" });
    // The answer is spoken when another question is asked; what follows from the inputs, the bar says.
    if live.word("spoken-for") != question {
        live.set("spoken-for", &question);
        live.text("spoken", &live.shown("sentence"));
    }
}

/// Takes the answer over.
pub fn press(live: &Live, _word: &str) {
    let scenario = live.state().scenario;
    if let Some(next) = solved(&live.word("question"), &scenario.get_untracked()).next {
        scenario.set(next);
    }
}
