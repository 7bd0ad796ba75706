//! The button that copies a link to the present configuration.

use leptos::either::Either;
use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::components::is_copied;
use crate::page;
use crate::present::Present;

/// What has become of the link.
#[derive(Clone)]
enum Outcome {
    Copied,
    /// The browser forbids that, and this is the link.
    Refused(String),
}

/// The link to the present configuration, on its way to the clipboard.
#[derive(Clone, Copy)]
pub struct LinkCopy {
    present: Present,
    outcome: RwSignal<Option<Outcome>>,
}

impl LinkCopy {
    /// Nothing has been pressed.
    pub fn new(present: Present) -> Self {
        Self { present, outcome: RwSignal::new(None) }
    }

    /// Copies the link.
    pub fn press(self) {
        self.present.ask_for(move |now| {
            let link = format!("{}?{}", page::address(), page::beginning().link(&now.scenario, &now.vs));
            spawn_local(async move {
                let copied = is_copied(&link).await;
                self.outcome.set(Some(if copied { Outcome::Copied } else { Outcome::Refused(link) }));
            });
        });
    }
}

/// Says beside the button that the link is copied; where the browser forbids that, the link is shown to be copied
/// by hand.
#[component]
pub fn CopiedLink(
    /// What the button has done.
    copy: LinkCopy,
) -> impl IntoView {
    let said = |outcome| match outcome {
        Outcome::Copied => Either::Left("Link copied."),
        Outcome::Refused(link) => Either::Right(view! {
            <label>"Copy it by hand: "<input type="text" readonly value=link/></label>
        }),
    };
    move || copy.outcome.get().map(said)
}
