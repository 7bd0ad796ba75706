//! The drawer of all settings, which opens over any page.

use leptos::ev::MouseEvent;
use leptos::prelude::*;

use super::{Said, Steps, Symbol, Verdict, shown::Shown};
use crate::components::{Dialog, Home, ScenarioForm};
#[cfg(feature = "hydrate")]
use crate::site::fetch_once;
use crate::site::{State, read};

/// What opens the drawer. Its form comes with the first press, in the part of the program that has the calculator.
#[derive(Clone, Copy)]
pub struct Drawer {
    open: RwSignal<bool>,
    /// What the bar says, which the drawer repeats.
    shown: Memo<Shown>,
    /// Whether the form is on its way.
    pub busy: RwSignal<bool>,
}

impl Drawer {
    /// A closed drawer for the bar that says `shown`.
    pub fn new(state: State, shown: Memo<Shown>) -> Self {
        let drawer = Self { open: RwSignal::new(false), shown, busy: RwSignal::new(false) };
        drawer.fetch_when_opened(state);
        drawer
    }

    /// Opens it in the place of following the link that was pressed, unless the reader wants a window of its own. The link has
    /// the focus then, so that a closed drawer gives it back.
    pub fn press(self, event: &MouseEvent) {
        if !(event.ctrl_key() || event.meta_key() || event.shift_key() || event.alt_key()) {
            event.prevent_default();
            _ = event_target::<web_sys::HtmlElement>(event).focus();
            self.open.set(true);
        }
    }

    #[cfg(feature = "hydrate")]
    fn fetch_when_opened(self, state: State) {
        fetch_once(
            move || self.open.get(),
            move || {
                self.busy.set(true);
                leptos::task::spawn_local(async move {
                    if mount(self, state).await.is_err() {
                        // The form of the first page is the same, where the link leads without scripts.
                        _ = window().location().assign("./#calculator-find");
                    }
                    self.busy.set(false);
                });
            },
        );
    }

    /// A program that does not run in a browser has nothing to fetch.
    #[cfg(not(feature = "hydrate"))]
    const fn fetch_when_opened(self, _: State) {}
}

#[cfg(feature = "hydrate")]
#[leptos::wasm_split::wasm_split(calculator, wasm_split_path = leptos::wasm_split, fallible)]
fn mount(drawer: Drawer, state: State) -> Result<(), leptos::wasm_split::SplitLoaderError> {
    leptos::mount::mount_to_body(move || view! { <Settings drawer state/> });
    Ok(())
}

/// All settings, and above them how the answer stands, which stays in sight while they are changed.
#[component]
fn Settings(drawer: Drawer, state: State) -> impl IntoView {
    let shown = drawer.shown;
    let spoken = RwSignal::new(String::new());
    view! {
        <Dialog open=drawer.open id="settings" class="drawer" labelled_by="settings-title">
            <div class="drawer-head">
                <h2 id="settings-title">"All settings"</h2>
                <span class="answer-figure"><Symbol shown/></span>
                <Verdict shown/>
                <span class="configuration-end">
                    <Steps state shown spoken/>
                    <button type="button" class="button button-small" on:click=move |_| drawer.open.set(false)>"Close"</button>
                </span>
                <p class="field-help">{read(shown, |shown| &shown.spoken)}</p>
                <Said shown spoken/>
            </div>
            <ScenarioForm state home=Home::Drawer/>
        </Dialog>
    }
}
